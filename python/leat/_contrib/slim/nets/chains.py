"""contrib.slim.nets: networks that are one chain of layers: AlexNet (the second version,
arXiv:1404.5997), OverFeat (arXiv:1312.6229) and VGG (arXiv:1409.1556).

A row of a table is a convolution (scope, channels, kernel, arguments), several of them (scope,
channels, kernel, how many), or a pool (scope, kernel). The layers that were fully connected are
convolutions too, the first of which has a kernel as large as its input, so that larger images give
a map of logits. """
from __future__ import annotations

from leat._contrib.arg_scope import arg_scope
from leat._contrib.layers import regularizers
from leat._contrib.layers.convolutions import conv2d, max_pool2d
from leat._contrib.layers.dense import dropout, fully_connected, relu_function, repeat
from leat._contrib.layers.outputs import convert_collection_to_dict
from leat._ops import array
from leat._ops.initializers import (constant_initializer, truncated_normal_initializer,
                                    zeros_initializer)
from leat._ops.variable_scope import variable_scope


def _vgg(*repetitions):
  rows = []
  for i, (channels, times) in enumerate(zip((64, 128, 256, 512, 512), repetitions), 1):
    rows += [('conv%d' % i, channels, 3, times), ('pool%d' % i, 2)]
  return rows


_STRIDE_4 = {'stride': 4, 'padding': 'VALID'}
_ALEXNET = [('conv1', 64, 11, _STRIDE_4), ('pool1', 3), ('conv2', 192, 5, {}), ('pool2', 3),
            ('conv3', 384, 3, {}), ('conv4', 384, 3, {}), ('conv5', 256, 3, {}), ('pool5', 3)]
_OVERFEAT = [('conv1', 64, 11, _STRIDE_4), ('pool1', 2), ('conv2', 256, 5, {'padding': 'VALID'}),
             ('pool2', 2), ('conv3', 512, 3, {}), ('conv4', 1024, 3, {}), ('conv5', 1024, 3, {}),
             ('pool5', 2)]


def _chain(net, rows):
  for scope, *row in rows:
    if len(row) == 1:
      net = max_pool2d(net, [row[0]] * 2, 2, scope=scope)
    elif isinstance(row[2], dict):
      net = conv2d(net, row[0], [row[1]] * 2, scope=scope, **row[2])
    else:
      net = repeat(net, row[2], conv2d, row[0], [row[1]] * 2, scope=scope)
  return net


def _network(default_scope, rows, image_size, fc6, fc6_channels=4096, fc_arguments=None):
  """The function of a network: the rows, then fc6 (with a kernel of that size), fc7 and fc8."""
  def network(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.5,
              spatial_squeeze=True, scope=default_scope):
    """(logits, end points): logits are [batch, classes], or a map of them [batch, height, width,
    classes] without spatial_squeeze; end points are the outputs of layers by name."""
    with variable_scope(scope, default_scope, [inputs]) as found:
      collection = found.original_name_scope + '_end_points'
      with arg_scope([conv2d, fully_connected, max_pool2d], outputs_collections=[collection]):
        net = _chain(inputs, rows)
        with arg_scope([conv2d], **(fc_arguments or {})):
          net = conv2d(net, fc6_channels, [fc6, fc6], padding='VALID', scope='fc6')
          net = dropout(net, dropout_keep_prob, is_training=is_training, scope='dropout6')
          net = conv2d(net, 4096, [1, 1], scope='fc7')
          net = dropout(net, dropout_keep_prob, is_training=is_training, scope='dropout7')
          last = {'biases_initializer': zeros_initializer()} if fc_arguments else {}
          net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None,
                       scope='fc8', **last)
      end_points = convert_collection_to_dict(collection)
      if spatial_squeeze:
        net = array.squeeze(net, [1, 2], name='fc8/squeezed')
        end_points[found.name + '/fc8'] = net
      return net, end_points
  network.__name__ = network.__qualname__ = default_scope
  network.default_image_size = image_size
  return network


_SMALL = {'weights_initializer': truncated_normal_initializer(0.0, 0.005),
          'biases_initializer': constant_initializer(0.1)}
alexnet_v2 = _network('alexnet_v2', _ALEXNET, 224, 5, fc_arguments=_SMALL)
overfeat = _network('overfeat', _OVERFEAT, 231, 6, fc6_channels=3072, fc_arguments=_SMALL)
vgg_a = _network('vgg_a', _vgg(1, 1, 2, 2, 2), 224, 7)
vgg_16 = vgg_d = _network('vgg_16', _vgg(2, 2, 3, 3, 3), 224, 7)
vgg_19 = vgg_e = _network('vgg_19', _vgg(2, 2, 4, 4, 4), 224, 7)


def _arguments(weight_decay, biases_initializer, pool_padding):
  with arg_scope([conv2d, fully_connected], activation_fn=relu_function,
                 biases_initializer=biases_initializer,
                 weights_regularizer=regularizers.l2_regularizer(weight_decay)):
    with arg_scope([conv2d], padding='SAME') as scope:
      if pool_padding is None:
        return scope
      with arg_scope([max_pool2d], padding=pool_padding) as scope:
        return scope


def vgg_arg_scope(weight_decay=0.0005):
  """The arguments that VGG was trained with."""
  return _arguments(weight_decay, zeros_initializer(), None)


def alexnet_v2_arg_scope(weight_decay=0.0005):
  """The arguments that AlexNet was trained with."""
  return _arguments(weight_decay, constant_initializer(0.1), 'VALID')


def overfeat_arg_scope(weight_decay=0.0005):
  """The arguments that OverFeat was trained with."""
  return _arguments(weight_decay, zeros_initializer(), None)


EXPORTS = {'contrib.slim.nets.' + module + '.' + name: name for module, name in (
    ('alexnet', 'alexnet_v2'), ('alexnet', 'alexnet_v2_arg_scope'), ('overfeat', 'overfeat'),
    ('overfeat', 'overfeat_arg_scope'), ('vgg', 'vgg_a'), ('vgg', 'vgg_16'), ('vgg', 'vgg_19'),
    ('vgg', 'vgg_d'), ('vgg', 'vgg_e'), ('vgg', 'vgg_arg_scope'))}
