"""tf.nn.max_pool_v2, avg_pool_v2 and conv_transpose: pools and transposed convolutions of one, two
or three dimensions, as the rank of the input says; and means of losses over a batch."""
from __future__ import annotations

from leat._export import export
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import convolution, math, nn


def _rank(input, data_format):
  """How many dimensions a window has."""
  rank = input.get_shape().ndims
  if rank is None and data_format is not None:
    rank = len(data_format)
  if rank not in (3, 4, 5):
    raise ValueError('input has rank %s, must be 3, 4 or 5: a batch of one to three dimensions '
                     'with channels' % rank)
  return rank - 2


def _pool_of(kind, rank):
  from leat import nn as public
  return getattr(public, '%s_pool%s' % (kind, {1: '1d', 2: '', 3: '3d'}[rank]))


def _pooled(kind, input, ksize, strides, padding, data_format, name):
  input = convert(input, name='input')
  rank = _rank(input, data_format)
  channels_first = data_format is not None and data_format.startswith('NC')
  formats = {1: ('NWC', 'NCW'), 2: ('NHWC', 'NCHW'), 3: ('NDHWC', 'NCDHW')}[rank]

  def full(sizes):
    sizes = [sizes] if isinstance(sizes, int) else list(sizes)
    sizes = sizes * rank if len(sizes) == 1 else sizes
    if len(sizes) == rank + 2:
      return sizes
    return [1, 1] + sizes if channels_first else [1] + sizes + [1]
  return _pool_of(kind, rank)(input, full(ksize), full(strides), padding,
                              data_format=formats[channels_first], name=name)


@export('nn.max_pool_v2')
def max_pool_v2(input, ksize, strides, padding, data_format=None, name=None):
  """The largest of each window of one to three dimensions."""
  return _pooled('max', input, ksize, strides, padding, data_format, name)


@export('nn.avg_pool_v2')
def avg_pool_v2(input, ksize, strides, padding, data_format=None, name=None):
  """The mean of each window of one to three dimensions."""
  return _pooled('avg', input, ksize, strides, padding, data_format, name)


@export('nn.conv_transpose')
def conv_transpose(input, filters, output_shape, strides, padding='SAME', data_format=None,
                   dilations=None, name=None):
  """The gradient of a convolution of one to three dimensions by its input."""
  with name_scope(name, 'conv_transpose', [input, filters, output_shape]):
    input = convert(input, name='input')
    rank = _rank(input, data_format)
    formats = {1: 'NWC', 2: 'NHWC', 3: 'NDHWC'}
    common = dict(output_shape=output_shape, strides=strides, padding=padding,
                  data_format=data_format or formats[rank])
    if rank == 1:
      return convolution.conv1d_transpose(input, filters, dilations=dilations, **common)
    function = nn.conv2d_transpose if rank == 2 else convolution.conv3d_transpose
    return function(input, filters, **common)


# ---- Means over a batch --------------------------------------------------------------------------


@export('nn.compute_average_loss')
def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
  """The sum of the losses of examples, divided by how many examples all replicas have."""
  from leat._ops.losses import compute_weighted_loss, Reduction
  losses = convert(per_example_loss)
  if sample_weight is not None:
    losses = compute_weighted_loss(losses, sample_weight, loss_collection=None,
                                   reduction=Reduction.NONE)
  if global_batch_size is None:
    from leat._ops import array
    global_batch_size = array.shape(losses)[0]
  return math.reduce_sum(losses) / math.cast(global_batch_size, losses.dtype)


@export('nn.scale_regularization_loss')
def scale_regularization_loss(regularization_loss):
  """The sum of the losses, divided by the number of replicas: one."""
  return math.reduce_sum(regularization_loss)
