"""Convolutions and poolings of any number of dimensions, with holes (dilation), by channel.

A dilated window over an input is a window without holes over each of the inputs that consist of
every rate-th element. Where an op has no dilation of its own, space_to_batch makes these inputs a
batch, and batch_to_space puts the results together.
"""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._ops import array, blocks, nn


def _channels_first(data_format):
  return data_format is not None and data_format.startswith('NC')


def _full(sizes, first):
  """Sizes of spatial dimensions as sizes of all."""
  sizes = list(sizes)
  return [1, 1] + sizes if first else [1] + sizes + [1]


def _strides_and_rates(count, strides, dilation_rate):
  """Both as lists of `count` numbers; ValueError where they do not go together."""
  rates = [1] * count if dilation_rate is None else _numbers(dilation_rate, count)
  strides = [1] * count if strides is None else _numbers(strides, count)
  if len(rates) != count:
    raise ValueError('len(dilation_rate)=%d but should be %d' % (len(rates), count))
  if len(strides) != count:
    raise ValueError('len(strides)=%d but should be %d' % (len(strides), count))
  if min(rates) < 1:
    raise ValueError('all values of dilation_rate must be positive, but are %s' % rates)
  if min(strides) < 1:
    raise ValueError('all values of strides must be positive, but are %s' % strides)
  if max(strides) > 1 and max(rates) > 1:
    raise ValueError('strides > 1 not supported in conjunction with dilation_rate > 1')
  return strides, rates


def _numbers(values, count):
  if isinstance(values, int):
    return [values] * count
  known = constant_value(values) if hasattr(values, 'op') else values
  return [int(v) for v in known]


@export('nn.with_space_to_batch')
def with_space_to_batch(input, dilation_rate, padding, op, filter_shape=None, spatial_dims=None,
                        data_format=None):
  """op(input, number of spatial dimensions, padding) applied with holes of dilation_rate."""
  input = convert(input, name='input')
  rates = convert(dilation_rate, name='dilation_rate')
  count = rates.get_shape().with_rank(1)[0].value
  known = constant_value(rates)
  first = _channels_first(data_format)
  spatial = list(spatial_dims) if spatial_dims is not None else [
      i + (2 if first else 1) for i in range(count)]
  if sorted(set(spatial)) != spatial or any(d < 1 for d in spatial):
    raise ValueError('spatial_dims must be a monotonically increasing sequence of positive '
                     'integers, but is %s' % spatial)
  input.get_shape().with_rank_at_least(spatial[-1] + 1)
  if known is not None:
    if (known < 1).any():
      raise ValueError('dilation_rate must be positive, but is %s' % known.tolist())
    if (known == 1).all():
      return op(input, count, padding)
  if padding not in ('SAME', 'VALID'):
    raise ValueError("padding is %r, must be 'SAME' or 'VALID'" % (padding,))
  base = _same_paddings(filter_shape, known, rates, count) if padding == 'SAME' else \
      [[0, 0]] * count
  span = range(1, spatial[-1] + 1)   # what blocks are taken of; dimensions between have rate 1
  places = {d: i for i, d in enumerate(spatial)}
  sizes = array.shape(input)
  shape = input.get_shape().as_list() if input.get_shape().ndims is not None else None
  if known is not None and shape is not None and None not in [shape[d] for d in span]:
    wanted = constant_of([shape[d] for d in span])
  else:
    wanted = array.stack([sizes[d] for d in span])
  one = constant_of(1)
  if known is not None:
    block = constant_of([int(known[places[d]]) if d in places else 1 for d in span])
  else:
    block = array.stack([rates[places[d]] if d in places else one for d in span])
  around = [base[places[d]] if d in places else [0, 0] for d in span]
  paddings, crops = blocks.required_space_to_batch_paddings(
      wanted, block, base_paddings=around if padding == 'VALID' or known is not None else
      array.stack([array.stack(a) for a in around]))
  batched = apply_op('SpaceToBatchND', input=input, block_shape=block, paddings=paddings)
  made = op(batched, count, 'VALID')
  result = apply_op('BatchToSpaceND', input=made, block_shape=block, crops=crops)
  if shape is not None and made.get_shape().ndims is not None:
    result.set_shape([shape[0]] + [None] * (result.get_shape().ndims - 1))
  return result


def _same_paddings(filter_shape, known, rates, count):
  """How much each side of each dimension is padded, so that the result has the input's size."""
  if filter_shape is None:
    raise ValueError('filter_shape must be specified for SAME padding')
  sizes = constant_value(convert(filter_shape, name='filter_shape'))
  if sizes is not None and known is not None:
    found = []
    for size, rate in zip(sizes[:count].tolist(), known.tolist()):
      extra = (size - 1) * rate
      found.append([extra // 2, extra - extra // 2])
    return found
  sizes = convert(filter_shape)[:count]
  extra = (sizes - 1) * rates
  return [[extra[i] // 2, extra[i] - extra[i] // 2] for i in range(count)]


@export('nn.convolution')
def convolution(input, filter=None, padding=None, strides=None, dilation_rate=None, name=None,
                data_format=None, filters=None, dilations=None):
  """A convolution over one to three spatial dimensions, with steps or with holes."""
  filter = filters if filter is None else filter
  dilation_rate = dilations if dilation_rate is None else dilation_rate
  with name_scope(name, 'convolution', [input, filter]):
    input = convert(input, name='input')
    filter = convert(filter, name='filter')
    rank = filter.get_shape().ndims
    if rank is None:
      rank = input.get_shape().ndims
    if rank is None:
      raise ValueError('Cannot perform convolution with an input and a filter of unknown rank')
    count = rank - 2
    if not 1 <= count <= 3:
      raise ValueError('num_spatial_dims must be one of 1, 2 or 3 but saw %d.' % count)
    input.get_shape().with_rank(rank)
    filter.get_shape().with_rank(rank)
    first = _channels_first(data_format)
    if data_format is not None and not first and data_format[-1] != 'C':
      raise ValueError('data_format must be either channels-last or channels-first, but is %r' %
                       (data_format,))
    channels = input.get_shape()[1 if first else rank - 1]
    if not channels.is_compatible_with(filter.get_shape()[count]):
      raise ValueError('number of input channels does not match corresponding dimension of '
                       'filter, %s != %s' % (channels, filter.get_shape()[count]))
    strides, rates = _strides_and_rates(count, strides, dilation_rate)
    if count == 3 and max(rates) > 1:
      return with_space_to_batch(
          input, rates, padding, lambda x, _, pad: _convolved(
              x, filter, pad, strides, [1] * 3, first), array.shape(filter),
          data_format=data_format)
    return _convolved(input, filter, padding, strides, rates, first)


def _convolved(input, filter, padding, strides, rates, first):
  """The op for one, two or three dimensions; one dimension is two of which the first has size 1."""
  count = len(strides)
  if count == 1:
    axis = 2 if first else 1
    made = _convolved(array.expand_dims(input, axis), array.expand_dims(filter, 0), padding,
                      [1] + strides, [1] + rates, first)
    return array.squeeze(made, [axis])
  formats = {2: ('NHWC', 'NCHW'), 3: ('NDHWC', 'NCDHW')}[count]
  return apply_op('Conv%dD' % count, input=input, filter=filter, strides=_full(strides, first),
                  padding=padding, dilations=_full(rates, first), data_format=formats[first])


@export('nn.atrous_conv2d')
def atrous_conv2d(value, filters, rate, padding, name=None):
  """conv2d with rate - 1 holes between the elements of the filters."""
  return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


@export('nn.atrous_conv2d_transpose')
def atrous_conv2d_transpose(value, filters, output_shape, rate, padding, name=None):
  """The gradient of atrous_conv2d by its input."""
  with name_scope(name, 'atrous_conv2d_transpose', [value, filters, output_shape]):
    value, filters = convert(value, name='value'), convert(filters, name='filters')
    if not value.get_shape()[3].is_compatible_with(filters.get_shape()[3]):
      raise ValueError("value's input channels does not match filters' input channels, %s != %s" % (
          value.get_shape()[3], filters.get_shape()[3]))
    if rate < 1:
      raise ValueError('rate %d cannot be less than one' % rate)
    return nn.conv2d_transpose(value, filters, output_shape, [1, 1, 1, 1], padding,
                               dilations=[1, rate, rate, 1])


@export('nn.conv1d')
def conv1d(value=None, filters=None, stride=None, padding=None, use_cudnn_on_gpu=None,
           data_format=None, name=None, input=None, dilations=None):
  """A convolution over one dimension: value [batch, width, in], filters [width, in, out]."""
  value = input if value is None else value
  del use_cudnn_on_gpu
  with name_scope(name, 'conv1d', [value, filters]):
    data_format = data_format or 'NWC'
    if data_format not in ('NHWC', 'NWC', 'NCHW', 'NCW'):
      raise ValueError("data_format is %r, must be 'NWC' or 'NCW'" % (data_format,))
    first = _channels_first(data_format)
    value, filters = convert(value, name='value'), convert(filters, name='filters')
    stride = [stride] if isinstance(stride, int) else _spatial(stride, first)
    rates = [1] if dilations is None else [dilations] if isinstance(dilations, int) else \
        _spatial(dilations, first)
    return _convolved(value, filters, padding, stride, rates, first)


@export('nn.conv1d_transpose')
def conv1d_transpose(input, filters, output_shape, strides, padding='SAME', data_format='NWC',
                     dilations=None, name=None):
  """The gradient of conv1d by its input; filters [width, out, in]."""
  with name_scope(name, 'conv1d_transpose', [input, filters, output_shape]) as scope:
    if data_format not in ('NWC', 'NCW'):
      raise ValueError("data_format is %r, must be 'NWC' or 'NCW'" % (data_format,))
    first = _channels_first(data_format)
    axis = 2 if first else 1
    wide = lambda v: _full([1] + ([v] if isinstance(v, int) else _spatial(v, first)), first)
    sizes = convert(output_shape, name='output_shape')
    sizes = array.concat([sizes[:axis], [1], sizes[axis:]], 0)
    outputs = apply_op(
        'Conv2DBackpropInput', input_sizes=sizes, filter=array.expand_dims(filters, 0),
        out_backprop=array.expand_dims(input, axis), strides=wide(strides), padding=padding,
        data_format='NCHW' if first else 'NHWC',
        dilations=wide(1 if dilations is None else dilations))
    return array.squeeze(outputs, [axis], name=scope)


def _spatial(sizes, first):
  sizes = list(sizes)
  return sizes if len(sizes) == 1 else sizes[2:3] if first else sizes[1:2]


@export('nn.conv3d_transpose')
def conv3d_transpose(value, filter=None, output_shape=None, strides=None, padding='SAME',
                     data_format='NDHWC', name=None, input=None, filters=None, dilations=None):
  """The gradient of conv3d by its input."""
  value = input if value is None else value
  filter = filters if filter is None else filter
  with name_scope(name, 'conv3d_transpose', [value, filter, output_shape]) as scope:
    value, filter = convert(value, name='value'), convert(filter, name='filter')
    axis = 1 if data_format == 'NCDHW' else 4
    if not value.get_shape().with_rank(5)[axis].is_compatible_with(
        filter.get_shape().with_rank(5)[4]):
      raise ValueError("input channels does not match filter's input channels, %s != %s" % (
          value.get_shape()[axis], filter.get_shape()[4]))
    sizes = convert(output_shape, name='output_shape')
    if not sizes.get_shape().is_compatible_with(TensorShape([5])):
      raise ValueError('output_shape must have shape (5,), got %s' % sizes.get_shape())
    known = constant_value(sizes)
    if known is not None and not filter.get_shape()[3].is_compatible_with(int(known[axis])):
      raise ValueError('output_shape does not match filter\'s output channels, %d != %s' % (
          known[axis], filter.get_shape()[3]))
    if padding not in ('VALID', 'SAME'):
      raise ValueError("padding must be either VALID or SAME: %s" % padding)
    return apply_op('Conv3DBackpropInputV2', name=scope, input_sizes=sizes, filter=filter,
                    out_backprop=value, strides=_five(strides, axis == 1), padding=padding,
                    data_format=data_format,
                    dilations=[1] * 5 if dilations is None else _five(dilations, axis == 1))


def _five(sizes, first):
  if isinstance(sizes, int):
    return _full([sizes] * 3, first)
  return list(sizes) if len(sizes) == 5 else _full(
      [sizes[0]] * 3 if len(sizes) == 1 else sizes, first)


@export('nn.depthwise_conv2d')
def depthwise_conv2d(input, filter, strides, padding, rate=None, name=None, data_format=None,
                     dilations=None):
  """Each channel convolved by itself; filter [height, width, in, multiplier]."""
  rate = dilations if rate is None else rate
  with name_scope(name, 'depthwise', [input, filter]) as scope:
    input = convert(input, name='tensor_in')
    filter = convert(filter, name='filter_in')
    rates = [1, 1] if rate is None else _numbers(rate, 2)
    rates = rates[2:] if len(rates) == 4 and _channels_first(data_format) else \
        rates[1:3] if len(rates) == 4 else rates
    return with_space_to_batch(
        input, rates, padding, lambda x, _, pad: nn.depthwise_conv2d_native(
            x, filter, strides, pad, data_format or 'NHWC', name=scope), array.shape(filter),
        data_format=data_format)


@export('nn.separable_conv2d')
def separable_conv2d(input, depthwise_filter, pointwise_filter, strides, padding, rate=None,
                     name=None, data_format=None, dilations=None):
  """A convolution of each channel by itself, then one of size 1 that mixes the channels."""
  rate = dilations if rate is None else rate
  with name_scope(name, 'separable_conv2d', [input, depthwise_filter, pointwise_filter]) as scope:
    depthwise = depthwise_conv2d(convert(input, name='tensor_in'), depthwise_filter, strides,
                                 padding, rate, 'depthwise', data_format)
    pointwise = convert(pointwise_filter, name='pointwise_filter')
    shape = pointwise.get_shape().with_rank(4)
    shape[0].assert_is_compatible_with(1)
    shape[1].assert_is_compatible_with(1)
    return apply_op('Conv2D', name=scope, input=depthwise, filter=pointwise, strides=[1, 1, 1, 1],
                    padding='VALID', data_format=data_format or 'NHWC')


@export('nn.pool')
def pool(input, window_shape, pooling_type, padding, dilation_rate=None, strides=None, name=None,
         data_format=None, dilations=None):
  """The mean ('AVG') or greatest ('MAX') of windows over one to three spatial dimensions."""
  dilation_rate = dilations if dilation_rate is None else dilation_rate
  kind = pooling_type.upper()
  with name_scope(name, '%s_pool' % kind.lower(), [input]):
    input = convert(input, name='input')
    count = len(window_shape)
    if not 1 <= count <= 3:
      raise ValueError('num_spatial_dims must be 1, 2, or 3, but is %d' % count)
    input.get_shape().with_rank(count + 2)
    strides, rates = _strides_and_rates(count, strides, dilation_rate)
    if padding == 'SAME' and max(rates) > 1:
      raise ValueError('pooling with SAME padding is not implemented for dilation_rate > 1')
    if any(s > w for s, w in zip(strides, window_shape)):
      raise ValueError('strides > window_shape not supported due to inconsistency between CPU and '
                       'GPU implementations')
    if kind not in ('AVG', 'MAX'):
      raise ValueError('pooling_type is %r, must be AVG or MAX' % (pooling_type,))
    first = _channels_first(data_format)
    return with_space_to_batch(
        input, rates, padding, lambda x, _, pad: _pooled(
            x, kind, list(window_shape), strides, pad, first), window_shape,
        data_format=data_format)


def _pooled(x, kind, window, strides, padding, first):
  """The op for two or three dimensions; of one dimension the other has size 1."""
  count = len(window)
  if count == 1:
    axis = 3 if first else 2
    made = _pooled(array.expand_dims(x, axis), kind, window + [1], strides + [1], padding, first)
    return array.squeeze(made, [axis])
  op = ('AvgPool' if kind == 'AVG' else 'MaxPool') + ('3D' if count == 3 else '')
  formats = {2: ('NHWC', 'NCHW'), 3: ('NDHWC', 'NCDHW')}[count]
  key = 'value' if op == 'AvgPool' else 'input'
  return apply_op(op, ksize=_full(window, first), strides=_full(strides, first), padding=padding,
                  data_format=formats[first], **{key: x})


def _pool_of(kind, count, default_name):
  def function(input, ksize, strides, padding, data_format=None, name=None):
    with name_scope(name, default_name, [input]) as scope:
      first = _channels_first(data_format)
      sizes = [_numbers(v, count) for v in (ksize, strides)]
      sizes = [v * count if len(v) == 1 else v if len(v) == count else
               v[2:] if first else v[1:-1] for v in sizes]
      return array.identity(_pooled(convert(input, name='input'), kind, *sizes, padding, first),
                            name=scope)
  function.__name__ = function.__qualname__ = default_name
  function.__doc__ = 'The %s of windows of %d spatial dimensions.' % (kind.lower(), count)
  return function


max_pool1d, avg_pool1d = _pool_of('MAX', 1, 'max_pool1d'), _pool_of('AVG', 1, 'avg_pool1d')
max_pool2d = _pool_of('MAX', 2, 'max_pool2d')
EXPORTS = {'nn.max_pool1d': 'max_pool1d', 'nn.avg_pool1d': 'avg_pool1d',
           'nn.max_pool2d': 'max_pool2d'}


@export('nn.erosion2d')
def erosion2d(value, kernel, strides, rates, padding, name=None):
  """The least difference of value and kernel over each window (grayscale erosion)."""
  with name_scope(name, 'erosion2d', [value, kernel]) as scope:
    turned = apply_op('ReverseV2', tensor=kernel, axis=[0, 1])
    made = apply_op('Dilation2D', input=-convert(value), filter=turned, strides=strides,
                    rates=rates, padding=padding)
    return apply_op('Neg', name=scope, x=made)


@export('nn.fractional_max_pool')
def fractional_max_pool(value, pooling_ratio, pseudo_random=False, overlapping=False,
                        deterministic=False, seed=0, seed2=0, name=None):
  """(the greatest of windows of random sizes, where the windows begin in rows, in columns)."""
  return _fractional('FractionalMaxPool', value, pooling_ratio, pseudo_random, overlapping,
                     deterministic, seed, seed2, name)


@export('nn.fractional_avg_pool')
def fractional_avg_pool(value, pooling_ratio, pseudo_random=False, overlapping=False,
                        deterministic=False, seed=0, seed2=0, name=None):
  """(the mean of windows of random sizes, where the windows begin in rows, in columns)."""
  return _fractional('FractionalAvgPool', value, pooling_ratio, pseudo_random, overlapping,
                     deterministic, seed, seed2, name)


def _fractional(op, value, ratio, pseudo_random, overlapping, deterministic, seed, seed2, name):
  return apply_op(op, name=name, value=value, pooling_ratio=ratio, pseudo_random=pseudo_random,
                  overlapping=overlapping, deterministic=deterministic, seed=seed, seed2=seed2)
