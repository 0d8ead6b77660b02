"""contrib.slim.nets.inception: GoogLeNet and its successors, versions 1 to 3 (arXiv:1409.4842,
1502.03167, 1512.00567).

A network is a list of (end point, what makes it). A layer is a step; a block is branches, of steps
in series, that end in one tensor, one behind the other. A step is written

    64:0a_1x1        64 channels, the scope Conv2d_0a_1x1, and a kernel as the scope says
    max:0a_3x3       a pool, with the scope MaxPool_0a_3x3; avg: likewise
    96:1a_3x3/2      with a stride of 2; with v behind it, padding is VALID, else SAME
    96:1a_1x1=3x3    the kernel is another than the scope says
    64~.09:0a_1x1    initial weights are normal with that deviation, cut at two
    64:Conv_1_0c_5x5 the whole scope where it does not begin with Conv2d_
    a+b              both of the same input, one behind the other

Scopes are those of the published checkpoints, with all their irregularities.
"""
from __future__ import annotations

import collections
import re

from leat._contrib.arg_scope import arg_scope
from leat._contrib.layers import dense, initializers, regularizers
from leat._contrib.layers.batch_normalization import batch_norm
from leat._contrib.layers.convolutions import avg_pool2d, conv2d, max_pool2d, separable_conv2d
from leat._contrib.layers.dense import dropout, fully_connected, relu_function
from leat._export import export
from leat._graph.scope import GraphKeys
from leat._ops import array
from leat._ops.initializers import truncated_normal_initializer
from leat._ops.variable_scope import variable_scope

_V1 = [('Conv2d_1a_7x7', '64/2'), ('MaxPool_2a_3x3', '/2'), ('Conv2d_2b_1x1', '64'),
       ('Conv2d_2c_3x3', '192'), ('MaxPool_3a_3x3', '/2')]
_V2 = [('Conv2d_1a_7x7', 'separable'), ('MaxPool_2a_3x3', '/2'), ('Conv2d_2b_1x1', '64~.1'),
       ('Conv2d_2c_3x3', '192'), ('MaxPool_3a_3x3', '/2')]
_V3 = [('Conv2d_1a_3x3', '32/2v'), ('Conv2d_2a_3x3', '32v'), ('Conv2d_2b_3x3', '64'),
       ('MaxPool_3a_3x3', '/2v'), ('Conv2d_3b_1x1', '80v'), ('Conv2d_4a_3x3', '192v'),
       ('MaxPool_5a_3x3', '/2v')]


def _v1(name, a, b, c, d, e, f, odd='0b'):
  """A block of version 1 by the channels of its convolutions."""
  return ('Mixed_' + name, ['%d:0a_1x1' % a, '%d:0a_1x1 %d:0b_3x3' % (b, c),
                            '%d:0a_1x1 %d:%s_3x3' % (d, e, odd), 'max:0a_3x3 %d:0b_1x1' % f])


def _v2(name, a, b, c, d, e, f, pool='avg'):
  return ('Mixed_' + name, ['%d:0a_1x1' % a, '%d~.09:0a_1x1 %d:0b_3x3' % (b, c),
                            '%d~.09:0a_1x1 %d:0b_3x3 %d:0c_3x3' % (d, e, e),
                            '%s:0a_3x3 %d~.1:0b_1x1' % (pool, f)])


def _v2_halves(name, a, b, c, d):
  """A block that halves the image."""
  return ('Mixed_' + name, ['%d~.09:0a_1x1 %d:1a_3x3/2' % (a, b),
                            '%d~.09:0a_1x1 %d:0b_3x3 %d:1a_3x3/2' % (c, d, d), 'max:1a_3x3/2'])


def _v3_5(name, pooled, second='48:0a_1x1 64:0b_5x5'):
  return ('Mixed_' + name, ['64:0a_1x1', second, '64:0a_1x1 96:0b_3x3 96:0c_3x3',
                            'avg:0a_3x3 %d:0b_1x1' % pooled])


def _v3_6(name, n):
  return ('Mixed_' + name, [
      '192:0a_1x1', '%d:0a_1x1 %d:0b_1x7 192:0c_7x1' % (n, n),
      '%d:0a_1x1 %d:0b_7x1 %d:0c_1x7 %d:0d_7x1 192:0e_1x7' % (n, n, n, n),
      'avg:0a_3x3 192:0b_1x1'])


def _v3_7(name, odd):
  return ('Mixed_' + name, [
      '320:0a_1x1', '384:0a_1x1 384:0b_1x3+384:%s_3x1' % odd,
      '448:0a_1x1 384:0b_3x3 384:0c_1x3+384:0d_3x1', 'avg:0a_3x3 192:0b_1x1'])


_V1 += [_v1('3b', 64, 96, 128, 16, 32, 32), _v1('3c', 128, 128, 192, 32, 96, 64),
        ('MaxPool_4a_3x3', '/2'),
        _v1('4b', 192, 96, 208, 16, 48, 64), _v1('4c', 160, 112, 224, 24, 64, 64),
        _v1('4d', 128, 128, 256, 24, 64, 64), _v1('4e', 112, 144, 288, 32, 64, 64),
        _v1('4f', 256, 160, 320, 32, 128, 128), ('MaxPool_5a_2x2', '/2'),
        _v1('5b', 256, 160, 320, 32, 128, 128, odd='0a'), _v1('5c', 384, 192, 384, 48, 128, 128)]
_V2 += [_v2('3b', 64, 64, 64, 64, 96, 32), _v2('3c', 64, 64, 96, 64, 96, 64),
        _v2_halves('4a', 128, 160, 64, 96),
        _v2('4b', 224, 64, 96, 96, 128, 128), _v2('4c', 192, 96, 128, 96, 128, 128),
        _v2('4d', 160, 128, 160, 128, 160, 96), _v2('4e', 96, 128, 192, 160, 192, 96),
        _v2_halves('5a', 128, 192, 192, 256),
        _v2('5b', 352, 192, 320, 160, 224, 128), _v2('5c', 352, 192, 320, 192, 224, 128, 'max')]
_V3 += [_v3_5('5b', 32), _v3_5('5c', 64, '48:0b_1x1 64:Conv_1_0c_5x5'), _v3_5('5d', 64),
        ('Mixed_6a', ['384:1a_1x1=3x3/2v', '64:0a_1x1 96:0b_3x3 96:1a_1x1=3x3/2v',
                      'max:1a_3x3/2v']),
        _v3_6('6b', 128), _v3_6('6c', 160), _v3_6('6d', 160), _v3_6('6e', 192),
        ('Mixed_7a', ['192:0a_1x1 320:1a_3x3/2v',
                      '192:0a_1x1 192:0b_1x7 192:0c_7x1 192:1a_3x3/2v', 'max:1a_3x3/2v']),
        _v3_7('7b', '0b'), _v3_7('7c', '0c')]

_STEP = re.compile(r'(max|avg|\d+)(?:~(\.\d+))?:(\w+?)(?:=(\d+x\d+))?(?:/(\d))?(v?)$')
_POOLS = {'max': (max_pool2d, 'MaxPool_'), 'avg': (avg_pool2d, 'AvgPool_')}


def _run_step(net, text, depth):
  if '+' in text:
    return array.concat([_run_step(net, part, depth) for part in text.split('+')], 3)
  kind, deviation, name, kernel, stride, valid = _STEP.match(text).groups()
  kernel = [int(n) for n in (kernel or name.rpartition('_')[2]).split('x')]
  named = dict(stride=int(stride or 1), padding='VALID' if valid else 'SAME')
  if kind in _POOLS:
    pool, prefix = _POOLS[kind]
    return pool(net, kernel, scope=prefix + name, **named)
  if deviation:
    named['weights_initializer'] = truncated_normal_initializer(0.0, float(deviation))
  scope = name if name.startswith('Conv') else 'Conv2d_' + name
  return conv2d(net, depth(int(kind)), kernel, scope=scope, **named)


def _run_layer(net, end_point, text, depth):
  """A layer whose scope is the end point itself."""
  kind, _, name = end_point.partition('_')
  if text == 'separable':
    channels = depth(64)
    return separable_conv2d(net, channels, [7, 7], depth_multiplier=min(int(channels / 3), 8),
                            stride=2, padding='SAME', scope=end_point,
                            weights_initializer=truncated_normal_initializer(0.0, 1.0))
  size, more = re.match(r'([\d~.]*)(.*)', text).groups()
  return _run_step(net, '%s:%s%s' % (size or 'max', name, more), depth)


def _run_block(net, end_point, branches, depth):
  with variable_scope(end_point):
    ends = []
    for number, steps in enumerate(branches):
      with variable_scope('Branch_%d' % number):
        end = net
        for text in steps.split():
          end = _run_step(end, text, depth)
        ends.append(end)
    return array.concat(ends, 3)


def _depth(depth_multiplier, min_depth):
  if depth_multiplier <= 0:
    raise ValueError('depth_multiplier is not greater than zero.')
  return lambda d: max(int(d * depth_multiplier), min_depth)


def _base(default_scope, rows, inputs, final_endpoint, depth, scope):
  """(the output at the final end point, the outputs up to it by their names)."""
  if final_endpoint not in [name for name, _ in rows]:
    raise ValueError('Unknown final endpoint %s' % final_endpoint)
  end_points = collections.OrderedDict()
  net = inputs
  with variable_scope(scope, default_scope, [inputs]):
    for name, what in rows:
      net = (_run_layer if isinstance(what, str) else _run_block)(net, name, what, depth)
      end_points[name] = net
      if name == final_endpoint:
        return net, end_points


@export('contrib.slim.nets.inception.inception_v1_base')
def inception_v1_base(inputs, final_endpoint='Mixed_5c', scope='InceptionV1'):
  """The convolutions of version 1, up to an end point."""
  with arg_scope([conv2d, fully_connected],
                 weights_initializer=truncated_normal_initializer(0.0, 0.01)):
    return _base('InceptionV1', _V1, inputs, final_endpoint, lambda d: d, scope)


@export('contrib.slim.nets.inception.inception_v2_base')
def inception_v2_base(inputs, final_endpoint='Mixed_5c', min_depth=16, depth_multiplier=1.0,
                      scope=None):
  """The convolutions of version 2. Channels are multiplied, and at least `min_depth`."""
  return _base('InceptionV2', _V2, inputs, final_endpoint, _depth(depth_multiplier, min_depth),
               scope)


@export('contrib.slim.nets.inception.inception_v3_base')
def inception_v3_base(inputs, final_endpoint='Mixed_7c', min_depth=16, depth_multiplier=1.0,
                      scope=None):
  """The convolutions of version 3."""
  return _base('InceptionV3', _V3, inputs, final_endpoint, _depth(depth_multiplier, min_depth),
               scope)


# ---- Classification -----------------------------------------------------------------------------


def _kernel(net, largest):
  """The kernel of a pool over the whole image, where the image is smaller than usual."""
  sizes = net.get_shape().as_list()[1:3]
  return [largest] * 2 if None in sizes else [min(s, largest) for s in sizes]


def _classified(net, end_points, pool, names, num_classes, dropout_keep_prob, prediction_fn,
                spatial_squeeze, **last):
  """(logits, end points): the mean of the map, without some channels, times a matrix."""
  pool_name, dropout_name, conv_name = names
  with variable_scope('Logits'):
    net = avg_pool2d(net, pool, stride=1, padding='VALID', scope=pool_name)
    net = dropout(net, keep_prob=dropout_keep_prob, scope=dropout_name)
    end_points['PreLogits'] = net
    logits = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None,
                    scope=conv_name, **last)
    if spatial_squeeze:
      logits = array.squeeze(logits, [1, 2], name='SpatialSqueeze')
  end_points['Logits'] = logits
  end_points['Predictions'] = prediction_fn(logits, scope='Predictions')
  return logits, end_points


@export('contrib.slim.nets.inception.inception_v1')
def inception_v1(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.8,
                 prediction_fn=dense.softmax, spatial_squeeze=True, reuse=None,
                 scope='InceptionV1'):
  """(logits [batch, classes], end points) of images [batch, 224, 224, 3]."""
  with variable_scope(scope, 'InceptionV1', [inputs, num_classes], reuse=reuse) as found:
    with arg_scope([batch_norm, dropout], is_training=is_training):
      net, end_points = inception_v1_base(inputs, scope=found)
      logits, end_points = _classified(
          net, end_points, [7, 7], ('MaxPool_0a_7x7', 'Dropout_0b', 'Conv2d_0c_1x1'), num_classes,
          dropout_keep_prob, prediction_fn, spatial_squeeze)
      del end_points['PreLogits']
      return logits, end_points


@export('contrib.slim.nets.inception.inception_v2')
def inception_v2(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.8, min_depth=16,
                 depth_multiplier=1.0, prediction_fn=dense.softmax, spatial_squeeze=True,
                 reuse=None, scope='InceptionV2'):
  """(logits [batch, classes], end points) of images [batch, 224, 224, 3]. ValueError where
  depth_multiplier is not positive."""
  _depth(depth_multiplier, min_depth)
  with variable_scope(scope, 'InceptionV2', [inputs, num_classes], reuse=reuse) as found:
    with arg_scope([batch_norm, dropout], is_training=is_training):
      net, end_points = inception_v2_base(inputs, min_depth=min_depth, scope=found,
                                          depth_multiplier=depth_multiplier)
      pool = _kernel(net, 7)
      logits, end_points = _classified(
          net, end_points, pool, ('AvgPool_1a_%dx%d' % tuple(pool), 'Dropout_1b', 'Conv2d_1c_1x1'),
          num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze)
      del end_points['PreLogits']
      return logits, end_points


@export('contrib.slim.nets.inception.inception_v3')
def inception_v3(inputs, num_classes=1000, is_training=True, dropout_keep_prob=0.8, min_depth=16,
                 depth_multiplier=1.0, prediction_fn=dense.softmax, spatial_squeeze=True,
                 reuse=None, scope='InceptionV3'):
  """(logits [batch, classes], end points) of images [batch, 299, 299, 3]. The end point AuxLogits
  is a second classifier, of the middle of the network, for training."""
  depth = _depth(depth_multiplier, min_depth)
  with variable_scope(scope, 'InceptionV3', [inputs, num_classes], reuse=reuse) as found:
    with arg_scope([batch_norm, dropout], is_training=is_training):
      net, end_points = inception_v3_base(inputs, min_depth=min_depth, scope=found,
                                          depth_multiplier=depth_multiplier)
      end_points['AuxLogits'] = _auxiliary(end_points['Mixed_6e'], num_classes, depth,
                                           spatial_squeeze)
      pool = _kernel(net, 8)
      return _classified(
          net, end_points, pool, ('AvgPool_1a_%dx%d' % tuple(pool), 'Dropout_1b', 'Conv2d_1c_1x1'),
          num_classes, dropout_keep_prob, prediction_fn, spatial_squeeze)


def _auxiliary(net, num_classes, depth, spatial_squeeze):
  with variable_scope('AuxLogits'):
    net = avg_pool2d(net, [5, 5], stride=3, padding='VALID', scope='AvgPool_1a_5x5')
    net = conv2d(net, depth(128), [1, 1], padding='SAME', scope='Conv2d_1b_1x1')
    size = _kernel(net, 5)
    net = conv2d(net, depth(768), size, padding='VALID', scope='Conv2d_2a_%dx%d' % tuple(size),
                 weights_initializer=truncated_normal_initializer(0.0, 0.01))
    logits = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None,
                    weights_initializer=truncated_normal_initializer(0.0, 0.001),
                    scope='Conv2d_2b_1x1')
    return array.squeeze(logits, [1, 2], name='SpatialSqueeze') if spatial_squeeze else logits


inception_v1.default_image_size = inception_v2.default_image_size = 224
inception_v3.default_image_size = 299


@export('contrib.slim.nets.inception.inception_v3_arg_scope')
def inception_v3_arg_scope(weight_decay=0.00004, batch_norm_var_collection='moving_vars',
                           batch_norm_decay=0.9997, batch_norm_epsilon=0.001,
                           updates_collections=GraphKeys.UPDATE_OPS, use_fused_batchnorm=True):
  """The arguments that version 3 was trained with."""
  normalizer_params = {
      'decay': batch_norm_decay, 'epsilon': batch_norm_epsilon,
      'updates_collections': updates_collections, 'fused': use_fused_batchnorm,
      'variables_collections': {'beta': None, 'gamma': None,
                                'moving_mean': [batch_norm_var_collection],
                                'moving_variance': [batch_norm_var_collection]}}
  with arg_scope([conv2d, fully_connected],
                 weights_regularizer=regularizers.l2_regularizer(weight_decay)):
    with arg_scope([conv2d], weights_initializer=initializers.variance_scaling_initializer(),
                   activation_fn=relu_function, normalizer_fn=batch_norm,
                   normalizer_params=normalizer_params) as scope:
      return scope


@export('contrib.slim.nets.inception.inception_v2_arg_scope')
def inception_v2_arg_scope(weight_decay=0.00004, batch_norm_var_collection='moving_vars'):
  """The arguments that version 2 was trained with."""
  return inception_v3_arg_scope(weight_decay, batch_norm_var_collection)


@export('contrib.slim.nets.inception.inception_v1_arg_scope')
def inception_v1_arg_scope(weight_decay=0.00004, use_batch_norm=True,
                           batch_norm_var_collection='moving_vars'):
  """The arguments that version 1 was trained with."""
  scope = inception_v3_arg_scope(weight_decay, batch_norm_var_collection)
  if use_batch_norm:
    return scope
  with arg_scope(scope), arg_scope([conv2d], normalizer_fn=None, normalizer_params=None) as scope:
    return scope
