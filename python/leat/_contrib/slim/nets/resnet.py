"""contrib.slim.nets: residual networks, versions 1 and 2 (arXiv:1512.03385, 1603.05027).

A network is blocks of units. A unit adds to its input, or to a convolution of it, what three
convolutions make of it. The last unit of a block has the block's stride. With `output_stride`,
strides beyond it become rates: the map stays as large, and filters reach as far. """
from __future__ import annotations

import collections

from leat._contrib.arg_scope import add_arg_scope, arg_scope
from leat._contrib.layers import initializers, regularizers
from leat._contrib.layers.batch_normalization import batch_norm
from leat._contrib.layers.convolutions import conv2d, max_pool2d
from leat._contrib.layers.dense import relu_function, softmax
from leat._contrib.layers.outputs import (collect_named_outputs, convert_collection_to_dict,
                                          last_dimension)
from leat._export import export
from leat._graph.scope import GraphKeys
from leat._ops import array, math
from leat._ops.variable_scope import variable_scope


@export('contrib.slim.nets.resnet_utils.Block')
class Block(collections.namedtuple('Block', ['scope', 'unit_fn', 'args'])):
  """A block: its scope, the function of its units, and their arguments, a dict for each."""


@export('contrib.slim.nets.resnet_utils.subsample')
def subsample(inputs, factor, scope=None):
  """Every factor-th element of rows and columns."""
  return inputs if factor == 1 else max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


@export('contrib.slim.nets.resnet_utils.conv2d_same')
def conv2d_same(inputs, num_outputs, kernel_size, stride, rate=1, scope=None):
  """A convolution padded by the kernel's size alone: with a stride, SAME would pad as the image's
  size says too, and a filter would stand elsewhere than without the stride."""
  if stride == 1:
    return conv2d(inputs, num_outputs, kernel_size, stride=1, rate=rate, padding='SAME',
                  scope=scope)
  total = kernel_size + (kernel_size - 1) * (rate - 1) - 1
  pads = [total // 2, total - total // 2]
  inputs = array.pad(inputs, [[0, 0], pads, pads, [0, 0]])
  return conv2d(inputs, num_outputs, kernel_size, stride=stride, rate=rate, padding='VALID',
                scope=scope)


@export('contrib.slim.nets.resnet_utils.stack_blocks_dense')
@add_arg_scope
def stack_blocks_dense(net, blocks, output_stride=None, outputs_collections=None):
  """The output of the blocks. ValueError where `output_stride` is not among the strides that units
  reach."""
  stride, rate = 1, 1
  text = 'The target output_stride cannot be reached.'
  for block in blocks:
    with variable_scope(block.scope, 'block', [net]) as found:
      for number, unit in enumerate(block.args, 1):
        if output_stride is not None and stride > output_stride:
          raise ValueError(text)
        with variable_scope('unit_%d' % number, values=[net]):
          if stride == output_stride:
            net = block.unit_fn(net, rate=rate, **dict(unit, stride=1))
            rate *= unit.get('stride', 1)
          else:
            net = block.unit_fn(net, rate=1, **unit)
            stride *= unit.get('stride', 1)
      net = collect_named_outputs(outputs_collections, found.name, net)
  if output_stride is not None and stride != output_stride:
    raise ValueError(text)
  return net


@export('contrib.slim.nets.resnet_utils.resnet_arg_scope',
        'contrib.slim.nets.resnet_v1.resnet_arg_scope',
        'contrib.slim.nets.resnet_v2.resnet_arg_scope')
def resnet_arg_scope(weight_decay=0.0001, batch_norm_decay=0.997, batch_norm_epsilon=1e-5,
                     batch_norm_scale=True):
  """The arguments that residual networks were trained with."""
  params = {'decay': batch_norm_decay, 'epsilon': batch_norm_epsilon, 'scale': batch_norm_scale,
            'updates_collections': GraphKeys.UPDATE_OPS}
  with arg_scope([conv2d], weights_regularizer=regularizers.l2_regularizer(weight_decay),
                 weights_initializer=initializers.variance_scaling_initializer(),
                 activation_fn=relu_function, normalizer_fn=batch_norm, normalizer_params=params):
    with arg_scope([batch_norm], **params):
      with arg_scope([max_pool2d], padding='SAME') as scope:
        return scope


@export('contrib.slim.nets.resnet_v1.bottleneck')
@add_arg_scope
def bottleneck_v1(inputs, depth, depth_bottleneck, stride, rate=1, outputs_collections=None,
                  scope=None):
  """A unit of version 1: normalised after each convolution."""
  with variable_scope(scope, 'bottleneck_v1', [inputs]) as found:
    if depth == last_dimension(inputs.get_shape(), min_rank=4):
      shortcut = subsample(inputs, stride, 'shortcut')
    else:
      shortcut = conv2d(inputs, depth, [1, 1], stride=stride, activation_fn=None, scope='shortcut')
    residual = conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope='conv1')
    residual = conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope='conv2')
    residual = conv2d(residual, depth, [1, 1], stride=1, activation_fn=None, scope='conv3')
    return collect_named_outputs(outputs_collections, found.name,
                                 relu_function(shortcut + residual))


@export('contrib.slim.nets.resnet_v2.bottleneck')
@add_arg_scope
def bottleneck_v2(inputs, depth, depth_bottleneck, stride, rate=1, outputs_collections=None,
                  scope=None):
  """A unit of version 2: normalised before each convolution, so that inputs pass unchanged."""
  with variable_scope(scope, 'bottleneck_v2', [inputs]) as found:
    before = batch_norm(inputs, activation_fn=relu_function, scope='preact')
    plain = dict(normalizer_fn=None, activation_fn=None)
    if depth == last_dimension(inputs.get_shape(), min_rank=4):
      shortcut = subsample(inputs, stride, 'shortcut')
    else:
      shortcut = conv2d(before, depth, [1, 1], stride=stride, scope='shortcut', **plain)
    residual = conv2d(before, depth_bottleneck, [1, 1], stride=1, scope='conv1')
    residual = conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope='conv2')
    residual = conv2d(residual, depth, [1, 1], stride=1, scope='conv3', **plain)
    return collect_named_outputs(outputs_collections, found.name, shortcut + residual)


def _network(version, bottleneck):
  default_scope = 'resnet_v%d' % version

  def network(inputs, blocks, num_classes=None, is_training=True, global_pool=True,
              output_stride=None, include_root_block=True, reuse=None, scope=None):
    """(output, end points): logits [batch, 1, 1, classes], or features where num_classes is None;
    they are a map without global_pool."""
    with variable_scope(scope, default_scope, [inputs], reuse=reuse) as found:
      collection = found.original_name_scope + '_end_points'
      with arg_scope([conv2d, bottleneck, stack_blocks_dense], outputs_collections=collection):
        with arg_scope([batch_norm], is_training=is_training):
          net = inputs
          if include_root_block:
            if output_stride is not None:
              if output_stride % 4:
                raise ValueError('The output_stride needs to be a multiple of 4.')
              output_stride //= 4
            plain = dict(activation_fn=None, normalizer_fn=None) if version == 2 else {}
            with arg_scope([conv2d], **plain):
              net = conv2d_same(net, 64, 7, stride=2, scope='conv1')
            net = max_pool2d(net, [3, 3], stride=2, scope='pool1')
          net = stack_blocks_dense(net, blocks, output_stride)
          if version == 2:
            net = batch_norm(net, activation_fn=relu_function, scope='postnorm')
          if global_pool:
            net = math.reduce_mean(net, [1, 2], name='pool5', keepdims=True)
          if num_classes is not None:
            net = conv2d(net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None,
                         scope='logits')
      end_points = convert_collection_to_dict(collection)
      if num_classes is not None:
        end_points['predictions'] = softmax(net, scope='predictions')
      return net, end_points
  network.__name__ = network.__qualname__ = default_scope
  return network


def _block(bottleneck):
  def block(scope, base_depth, num_units, stride):
    """A block of that many units, of which the last one has the stride."""
    unit = {'depth': base_depth * 4, 'depth_bottleneck': base_depth}
    return Block(scope, bottleneck, [dict(unit, stride=1)] * (num_units - 1)
                 + [dict(unit, stride=stride)])
  return block


_UNITS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3), 200: (3, 24, 36, 3)}


def _with_layers(network, block, layers):
  default_scope = '%s_%d' % (network.__name__, layers)

  def function(inputs, num_classes=None, is_training=True, global_pool=True, output_stride=None,
               reuse=None, scope=default_scope):
    blocks = [block('block%d' % number, depth, units, stride) for number, depth, units, stride in
              zip((1, 2, 3, 4), (64, 128, 256, 512), _UNITS[layers], (2, 2, 2, 1))]
    return network(inputs, blocks, num_classes, is_training, global_pool, output_stride,
                   include_root_block=True, reuse=reuse, scope=scope)
  function.__name__ = function.__qualname__ = default_scope
  function.__doc__ = 'The residual network of version and layers %s.' % default_scope[8:]
  function.default_image_size = 224
  return function


resnet_v1, resnet_v2 = _network(1, bottleneck_v1), _network(2, bottleneck_v2)
resnet_v1_block, resnet_v2_block = _block(bottleneck_v1), _block(bottleneck_v2)
resnet_v1.default_image_size = resnet_v2.default_image_size = 224
resnet_v1_50, resnet_v1_101, resnet_v1_152, resnet_v1_200 = (
    _with_layers(resnet_v1, resnet_v1_block, n) for n in (50, 101, 152, 200))
resnet_v2_50, resnet_v2_101, resnet_v2_152, resnet_v2_200 = (
    _with_layers(resnet_v2, resnet_v2_block, n) for n in (50, 101, 152, 200))
EXPORTS = {'contrib.slim.nets.resnet_v%d.resnet_v%d%s' % (v, v, tail): 'resnet_v%d%s' % (v, tail)
           for v in (1, 2) for tail in ('', '_block', '_50', '_101', '_152', '_200')}
