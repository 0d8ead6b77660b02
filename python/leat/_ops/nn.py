"""Neural networks: activations, convolutions, losses, normalisation, embeddings."""
from __future__ import annotations

from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.arguments import either
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape, as_shape
from leat._graph.value import constant_value
from leat._ops import array, math, matrix


# ---- Activations --------------------------------------------------------------------------------


@export('nn.relu6')
def relu6(features, name=None):
  """min(max(x, 0), 6), element by element."""
  with name_scope(name, 'Relu6', [features]) as scope:
    return apply_op('Relu6', name=scope, features=convert(features, name='features'))


@export('nn.leaky_relu')
def leaky_relu(features, alpha=0.2, name=None):
  """x, or alpha * x where x is below 0."""
  with name_scope(name, 'LeakyRelu', [features, alpha]) as scope:
    features = convert(features, name='features')
    if features.dtype.is_integer:
      features = math.cast(features, dtypes.float32)
    return apply_op('LeakyRelu', name=scope, features=features, alpha=float(alpha))


@export('nn.crelu')
def crelu(features, name=None, axis=-1):
  """relu(x) and relu(-x), joined."""
  with name_scope(name, 'CRelu', [features]) as scope:
    features = convert(features, name='features')
    joined = array.concat([features, -features], axis, name=scope)
    return apply_op('Relu', features=joined)


@export('nn.swish', 'nn.silu')
def swish(features):
  """x * sigmoid(x)."""
  features = convert(features, name='features')
  return features * math.sigmoid(features)


@export('nn.relu_layer')
def relu_layer(x, weights, biases, name=None):
  """relu(x * weights + biases)."""
  with name_scope(name, 'relu_layer', [x, weights, biases]) as scope:
    product = apply_op('BiasAdd', value=matrix.matmul(x, weights), bias=biases)
    return apply_op('Relu', name=scope, features=product)


def _softmax(op, logits, dim, name):
  logits = convert(logits)
  if not logits.dtype.is_floating:
    raise TypeError("Value passed to parameter 'logits' has DataType %s, must be a float" %
                    logits.dtype.name)
  rank = logits.get_shape().ndims
  last = dim == -1 or rank is not None and dim == rank - 1
  if rank is not None and not -rank <= dim < rank:
    raise _invalid('`dim` must be in the range [{0}, {1}) where {1} is the number of dimensions in '
                   'the input. Received: dim={2}'.format(-rank, rank, dim))
  if last:
    return apply_op(op, name=name, logits=logits)
  if rank is None:
    raise NotImplementedError('softmax over an inner dimension of unknown rank')
  order = list(range(rank))
  order[dim], order[-1] = order[-1], order[dim]
  result = apply_op(op, logits=array.transpose(logits, order))
  return array.transpose(result, order, name=name or op)


def _invalid(text):
  from leat._graph import errors
  return errors.InvalidArgumentError(None, None, text)


def _old_axis(axis, dim, default=-1):
  if dim is not None:
    if axis is not None:
      raise ValueError("Cannot specify both 'axis' and 'dim'.")
    return dim
  return default if axis is None else axis


@export('nn.softmax', 'math.softmax')
def softmax(logits, axis=None, name=None, dim=None):
  """exp(x) / sum(exp(x)) over the dimension `axis` (the last one): numbers from 0 to 1 whose sum is
  1."""
  return _softmax('Softmax', logits, _old_axis(axis, dim), name)


@export('nn.log_softmax', 'math.log_softmax')
def log_softmax(logits, axis=None, name=None, dim=None):
  """The logarithm of softmax over the dimension `axis` (the last one), without the loss of small
  numbers."""
  return _softmax('LogSoftmax', logits, _old_axis(axis, dim), name)


# ---- Losses -------------------------------------------------------------------------------------


def _named_only(name, sentinel, labels, logits):
  if sentinel is not None:
    raise ValueError('Only call `%s` with named arguments (labels=..., logits=..., ...)' % name)
  if labels is None or logits is None:
    raise ValueError('Both labels and logits must be provided.')


@export('nn.softmax_cross_entropy_with_logits_v2')
def softmax_cross_entropy_with_logits_v2(labels, logits, axis=None, name=None, dim=None):
  """The cross entropy of softmax(logits) and the probabilities `labels`, both [..., classes]:
  [...]. The logits are not to be softmaxed before. Gradients flow into labels too."""
  dim = _old_axis(axis, dim)
  with name_scope(name, 'softmax_cross_entropy_with_logits', [logits, labels]) as scope:
    logits, labels = convert(logits, name='logits'), convert(labels, name='labels')
    exact = logits
    if logits.dtype in (dtypes.float16, dtypes.bfloat16):
      exact = math.cast(logits, dtypes.float32)
    labels = math.cast(labels, exact.dtype)
    rank = exact.get_shape().ndims
    if dim not in (-1, None if rank is None else rank - 1):
      order = [i for i in range(rank) if i != dim % rank] + [dim % rank]
      exact, labels = array.transpose(exact, order), array.transpose(labels, order)
    sizes = array.shape(exact)
    known = exact.get_shape()
    flat = [_flat_outer(x) for x in (exact, labels)]
    cost = apply_op('SoftmaxCrossEntropyWithLogits', name=scope, features=flat[0],
                    labels=flat[1]).loss
    result = array.reshape(cost, array.slice(sizes, [0], [array.rank(exact) - 1]))
    if known.ndims is not None:
      result.set_shape(known[:-1])
    return math.cast(result, logits.dtype) if exact.dtype != logits.dtype else result


def _flat_outer(x):
  """As a matrix: all dimensions but the last are one."""
  known = x.get_shape()
  last = array.slice(array.shape(x), [array.rank(x) - 1], [1])
  result = array.reshape(x, array.concat([[-1], last], 0))
  if known.ndims is not None:
    rows = 1
    for d in known.as_list()[:-1]:
      rows = None if rows is None or d is None else rows * d
    result.set_shape([rows, known.as_list()[-1]])
  return result


@export('nn.softmax_cross_entropy_with_logits')
def softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, dim=-1, name=None,
                                      axis=None):
  """The cross entropy of softmax(logits) and the probabilities `labels`, both [..., classes]:
  [...]. Labels and logits must be given by name. Gradients do not flow into labels; the _v2
  function lets them."""
  _named_only('softmax_cross_entropy_with_logits', _sentinel, labels, logits)
  with name_scope(name, 'softmax_cross_entropy_with_logits_sg', [logits, labels]) as scope:
    labels = array.stop_gradient(labels, name='labels_stop_gradient')
    return softmax_cross_entropy_with_logits_v2(labels, logits, dim if axis is None else axis,
                                                name=scope)


@export('nn.sparse_softmax_cross_entropy_with_logits')
def sparse_softmax_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
  """The cross entropy of softmax(logits), [..., classes], and the one class that labels [...],
  int32 or int64, say: [...]. Both must be given by name. A label outside of the classes fails, or
  gives NaN."""
  _named_only('sparse_softmax_cross_entropy_with_logits', _sentinel, labels, logits)
  with name_scope(name, 'SparseSoftmaxCrossEntropyWithLogits', [labels, logits]):
    labels, logits = convert(labels), convert(logits)
    exact = math.cast(logits, dtypes.float32) if logits.dtype == dtypes.float16 else logits
    rank = labels.get_shape().ndims
    if logits.get_shape().ndims == 0:
      raise ValueError('`logits` cannot be a scalar. Received logits=%s' % logits)
    if logits.get_shape().ndims is not None and rank is not None and \
        rank != logits.get_shape().ndims - 1:
      raise ValueError('`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: '
                       'labels.shape=%s of rank %s and logits.shape=%s of rank %s' % (
                           labels.get_shape(), rank, logits.get_shape(), logits.get_shape().ndims))
    if logits.get_shape().ndims == 2:
      cost = apply_op('SparseSoftmaxCrossEntropyWithLogits', name=name, features=exact,
                      labels=labels).loss
    else:
      sizes, known = array.shape(labels), labels.get_shape()
      classes = array.shape(logits)[array.rank(logits) - 1]
      cost = apply_op('SparseSoftmaxCrossEntropyWithLogits', name=name,
                      features=array.reshape(exact, [-1, classes]),
                      labels=array.reshape(labels, [-1])).loss
      cost = array.reshape(cost, sizes)
      cost.set_shape(known)
    return math.cast(cost, dtypes.float16) if exact is not logits else cost


@export('nn.sigmoid_cross_entropy_with_logits')
def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
  """The cross entropy of sigmoid(logits) and labels from 0 to 1, element by element, for classes
  that do not exclude each other. Both must be given by name."""
  _named_only('sigmoid_cross_entropy_with_logits', _sentinel, labels, logits)
  with name_scope(name, 'logistic_loss', [logits, labels]) as scope:
    logits, labels = convert(logits, name='logits'), convert(labels, name='labels')
    try:
      labels.get_shape().merge_with(logits.get_shape())
    except ValueError:
      raise ValueError('`logits` and `labels` must have the same shape, received (%s vs %s).' % (
          logits.get_shape(), labels.get_shape())) from None
    zeros = array.zeros_like(logits)
    positive = logits >= zeros
    relu = array.where(positive, logits, zeros)
    below = array.where(positive, -logits, logits)
    return math.add(relu - logits * labels, apply_op('Log1p', x=math.exp(below)), name=scope)


@export('nn.weighted_cross_entropy_with_logits')
def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None,
                                       targets=None):
  """sigmoid_cross_entropy_with_logits where the part of the positive labels is multiplied by
  pos_weight: above 1 it favors recall, below 1 precision."""
  labels = targets if labels is None else labels
  with name_scope(name, 'logistic_loss', [logits, labels]) as scope:
    logits, labels = convert(logits, name='logits'), convert(labels, name='labels')
    try:
      labels.get_shape().merge_with(logits.get_shape())
    except ValueError:
      raise ValueError('`logits` and `labels` must have the same shape, received (%s vs %s).' % (
          logits.get_shape(), labels.get_shape())) from None
    weight = 1 + (pos_weight - 1) * labels
    return math.add((1 - labels) * logits,
                    weight * (apply_op('Log1p', x=math.exp(-math.abs(logits))) +
                              apply_op('Relu', features=-logits)), name=scope)


@export('nn.log_poisson_loss')
def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
  """exp(log_input) - log_input * targets."""
  with name_scope(name, 'log_poisson_loss', [log_input, targets]):
    log_input, targets = convert(log_input, name='log_input'), convert(targets, name='targets')
    try:
      targets.get_shape().merge_with(log_input.get_shape())
    except ValueError:
      raise ValueError('`log_input` and `targets` must have the same shape, received (%s vs %s).' %
                       (log_input.get_shape(), targets.get_shape())) from None
    result = math.exp(log_input) - log_input * targets
    if compute_full_loss:
      half, two_pi = (convert(v, targets.dtype) for v in (0.5, 6.283185307179586))
      log = apply_op('Log', x=targets)
      stirling = targets * log - targets + half * apply_op('Log', x=two_pi * targets)
      zeros, ones = array.zeros_like(targets), array.ones_like(targets)
      small = apply_op('LogicalAnd', x=targets >= zeros, y=targets <= ones)
      result += array.where(small, zeros, stirling)
    return result


# ---- Convolutions and pools ---------------------------------------------------------------------


@export('nn.bias_add')
def bias_add(value, bias, data_format=None, name=None):
  """The bias, a vector, added to the last dimension of `value`, or to that of the channels with
  data_format 'NCHW'."""
  with name_scope(name, 'BiasAdd', [value, bias]) as scope:
    if data_format is not None:
      if data_format.startswith('NC'):
        data_format = 'NCHW'
      elif data_format.startswith('N') and data_format.endswith('C'):
        data_format = 'NHWC'
      else:
        raise ValueError('`data_format` must be of the form `N...C` or `NC...`. Received: %s' %
                         data_format)
    value = convert(value, name='input')
    bias = convert(bias, value.dtype, 'bias')
    return apply_op('BiasAdd', name=scope, value=value, bias=bias, data_format=data_format)


@export('nn.conv2d')
def conv2d(input, filter=None, strides=None, padding=None, use_cudnn_on_gpu=True,
           data_format='NHWC', dilations=[1, 1, 1, 1], name=None, filters=None):
  """A convolution: input [batch, height, width, in], filter [height, width, in, out], result
  [batch, new height, new width, out].

  `strides` is [1, rows, columns, 1]. padding 'SAME' adds zeros around, so that sizes are only
  divided by the strides; 'VALID' adds none; a list [[0, 0], [top, bottom], [left, right], [0, 0]]
  says how many. Filters with `dilations` have holes. With data_format 'NCHW' channels stand before
  height.
  """
  filter = filters if filter is None else filter
  padding, explicit = _padding(padding)
  return apply_op('Conv2D', name=name, input=input, filter=filter,
                  strides=_four(strides, data_format), padding=padding,
                  use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit,
                  data_format=data_format, dilations=_four(dilations, data_format))


def _padding(padding):
  if isinstance(padding, (list, tuple)):
    return 'EXPLICIT', [int(n) for pair in padding for n in pair]
  return padding, []


def _four(values, data_format):
  if isinstance(values, int):
    values = [values] * 2
  values = list(values)
  if len(values) == 1:
    values = values * 2
  if len(values) == 2:
    return [1] + values + [1] if data_format == 'NHWC' else [1, 1] + values
  return values


@export('nn.conv2d_backprop_filter')
def conv2d_backprop_filter(input, filter_sizes, out_backprop, strides, padding,
                           use_cudnn_on_gpu=True, data_format='NHWC', dilations=[1, 1, 1, 1],
                           name=None):
  """The gradient of conv2d by its filter, of shape filter_sizes [height, width, in, out]; input and
  out_backprop are conv2d's input and the gradient of its output."""
  padding, explicit = _padding(padding)
  return apply_op('Conv2DBackpropFilter', name=name, input=input, filter_sizes=filter_sizes,
                  out_backprop=out_backprop, strides=strides, padding=padding,
                  use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit,
                  data_format=data_format, dilations=dilations)


@export('nn.conv2d_backprop_input')
def conv2d_backprop_input(input_sizes, filter=None, out_backprop=None, strides=None, padding=None,
                          use_cudnn_on_gpu=True, data_format='NHWC', dilations=[1, 1, 1, 1],
                          name=None, filters=None):
  """The gradient of conv2d by its input, of shape input_sizes [batch, height, width, in]; filter
  and out_backprop are conv2d's filter and the gradient of its output."""
  padding, explicit = _padding(padding)
  return apply_op('Conv2DBackpropInput', name=name, input_sizes=input_sizes,
                  filter=filters if filter is None else filter, out_backprop=out_backprop,
                  strides=strides, padding=padding, use_cudnn_on_gpu=use_cudnn_on_gpu,
                  explicit_paddings=explicit, data_format=data_format, dilations=dilations)


@export('nn.conv2d_transpose')
def conv2d_transpose(value=None, filter=None, output_shape=None, strides=None, padding='SAME',
                     data_format='NHWC', name=None, input=None, filters=None, dilations=None):
  """The gradient of conv2d by its input, used to enlarge: value [batch, height, width, in], filter
  [height, width, out, in], result output_shape [batch, height * stride, width * stride, out]."""
  value = input if value is None else value
  filter = filters if filter is None else filter
  padding, explicit = _padding(padding)
  with name_scope(name, 'conv2d_transpose', [value, filter, output_shape]) as scope:
    return apply_op('Conv2DBackpropInput', name=scope, input_sizes=output_shape, filter=filter,
                    out_backprop=value, strides=_four(strides, data_format), padding=padding,
                    data_format=data_format, explicit_paddings=explicit,
                    dilations=[1, 1, 1, 1] if dilations is None else _four(dilations, data_format))


@export('nn.conv3d')
def conv3d(input, filter=None, strides=None, padding=None, data_format='NDHWC',
           dilations=[1, 1, 1, 1, 1], name=None, filters=None):
  """A convolution over three dimensions: input [batch, depth, height, width, in], filter [depth,
  height, width, in, out], strides [1, depth, height, width, 1], padding 'SAME' or 'VALID'."""
  return apply_op('Conv3D', name=name, input=input, filter=filters if filter is None else filter,
                  strides=strides, padding=padding, data_format=data_format, dilations=dilations)


@export('nn.depthwise_conv2d_native')
def depthwise_conv2d_native(input, filter, strides, padding, data_format='NHWC',
                            dilations=[1, 1, 1, 1], name=None):
  """A convolution of each channel by itself: input [batch, height, width, in], filter [height,
  width, in, multiplier], result [batch, height, width, in * multiplier]."""
  padding, explicit = _padding(padding)
  return apply_op('DepthwiseConv2dNative', name=name, input=input, filter=filter, strides=strides,
                  padding=padding, explicit_paddings=explicit, data_format=data_format,
                  dilations=dilations)


def _pool(op, value, ksize, strides, padding, data_format, name, more=None):
  with name_scope(name, op, [value]) as scope:
    key = 'value' if op == 'AvgPool' else 'input'
    data_format = data_format or 'NHWC'
    return apply_op(op, name=scope, ksize=_four(ksize, data_format),
                    strides=_four(strides, data_format), padding=padding, data_format=data_format,
                    **{key: convert(value, name='value' if op == 'AvgPool' else 'input')},
                    **(more or {}))


@export('nn.max_pool')
def max_pool(value=None, ksize=None, strides=None, padding=None, data_format='NHWC', name=None,
             input=None):
  """The largest of each window of value [batch, height, width, channels]. ksize and strides are [1,
  rows, columns, 1]; padding 'SAME' lets windows reach over the border, 'VALID' does not."""
  padding, explicit = _padding(padding)
  return _pool('MaxPool', input if value is None else value, ksize, strides, padding, data_format,
               name, {'explicit_paddings': explicit})


@export('nn.avg_pool', 'nn.avg_pool2d')
def avg_pool(value=None, ksize=None, strides=None, padding=None, data_format='NHWC', name=None,
             input=None):
  """The mean of each window of value [batch, height, width, channels]. ksize and strides are [1,
  rows, columns, 1]; padding 'SAME' lets windows reach over the border, 'VALID' does not."""
  return _pool('AvgPool', input if value is None else value, ksize, strides, padding, data_format,
               name)


@export('nn.max_pool_with_argmax')
def max_pool_with_argmax(input, ksize, strides, padding, data_format='NHWC', Targmax=None,
                         name=None, output_dtype=None, include_batch_in_index=False):
  """(the largest of each window, where it is)."""
  if data_format != 'NHWC':
    raise ValueError("`data_format` values other than 'NHWC' are not supported. Received: "
                     'data_format=%s' % data_format)
  return apply_op('MaxPoolWithArgmax', name=name, input=input, ksize=ksize, strides=strides,
                  padding=padding, Targmax=Targmax or output_dtype,
                  include_batch_in_index=include_batch_in_index)


# ---- Dropout, normalisation ---------------------------------------------------------------------


@export('nn.dropout')
def dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, rate=None):
  """Each element becomes 0 with the probability `rate`, and the others are divided by 1 - rate, so
  that the expected sum stays. keep_prob is the older argument, 1 - rate. noise_shape has 1 for
  dimensions that share their fate. Apply it in training only. ValueError where a known rate is not
  from 0 to below 1."""
  if keep_prob is not None:
    rate = either('rate', rate, 'keep_prob',
                  keep_prob if isinstance(keep_prob, (list, tuple)) else 1 - keep_prob)
  if rate is None:
    raise ValueError('`rate` must be provided')
  with name_scope(name, 'dropout', [x]):
    x = convert(x, name='x')
    if not x.dtype.is_floating:
      raise ValueError('`x.dtype` must be a floating point tensor as `x` will be scaled. Received: '
                       'x.dtype=%s' % x.dtype)
    plain = isinstance(rate, (int, float))
    if isinstance(rate, (list, tuple)):
      raise ValueError('`rate` must be a scalar. Received: rate=%s' % (rate,))
    if plain and not 0 <= rate < 1:
      raise ValueError('`rate` must be a scalar tensor or a float in the range [0, 1). Received: '
                       'rate=%s' % rate)
    if plain and rate == 0:
      return x
    if not plain:
      rate = convert(rate, x.dtype, 'rate')
      rate.get_shape().assert_has_rank(0)
      known = constant_value(rate)
      if known is not None and known == 0:
        return x
    if plain:
      scaled = apply_op('Mul', x=x, y=conversion.constant(1 / (1 - rate), x.dtype))
    else:
      kept_share = apply_op('Sub', x=conversion.constant(1, x.dtype), y=rate)
      scaled = apply_op('RealDiv', x=x, y=kept_share)
    noise_shape = _noise_shape(x, noise_shape)
    from leat._ops import random
    uniform = random.random_uniform(noise_shape, seed=seed, dtype=x.dtype)
    kept = uniform >= rate
    result = array.where_v2(kept, scaled, conversion.constant(0, x.dtype))
    result.set_shape(x.get_shape())
    return result


def _noise_shape(x, noise_shape):
  """The shape of the choices: that of x, also where an item of it is None."""
  if noise_shape is None:
    return array.shape(x)
  if isinstance(noise_shape, (list, tuple, TensorShape)):
    sizes = as_shape(noise_shape).as_list() if not any(
        hasattr(s, '_as_graph_element') or hasattr(s, 'op') for s in noise_shape) else noise_shape
    if any(s is None for s in sizes):
      known = x.get_shape().as_list()
      own = array.shape(x) if None in known else None
      return [s if s is not None else known[i] if known[i] is not None else own[i]
              for i, s in enumerate(sizes)]
  return noise_shape


@export('nn.l2_normalize', 'math.l2_normalize', 'linalg.l2_normalize')
def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
  """x / sqrt(max(sum(x^2), epsilon)) with the sum over `axis`: vectors of length 1."""
  axis = either('axis', axis, 'dim', dim)
  with name_scope(name, 'l2_normalize', [x]) as scope:
    x = convert(x, name='x')
    total = math.reduce_sum(math.square(x), axis, keepdims=True)
    return math.multiply(x, math.rsqrt(apply_op('Maximum', x=total, y=epsilon)), name=scope)


@export('nn.zero_fraction', 'math.zero_fraction')
def zero_fraction(value, name=None):
  """The share of zeros."""
  with name_scope(name, 'zero_fraction', [value]):
    value = convert(value, name='value')
    zero = conversion.constant_of(0, value.dtype, 'zero')
    return math.reduce_mean(math.cast(math.equal(value, zero), dtypes.float32), name='fraction')


@export('nn.moments')
def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
  """(the mean, the variance) over the dimensions `axes`, which stay, of size 1, with keep_dims."""
  del shift
  keep = bool(keepdims if keep_dims is None else keep_dims)
  with name_scope(name, 'moments', [x, axes]):
    x = convert(x)
    y = math.cast(x, dtypes.float32) if x.dtype == dtypes.float16 else x
    mean = math.reduce_mean(y, axes, keepdims=True, name='mean')
    squares = apply_op('SquaredDifference', x=y, y=array.stop_gradient(mean))
    variance = math.reduce_mean(squares, axes, keepdims=True, name='variance')
    if not keep:
      axes_list = axes if isinstance(axes, (list, tuple)) else [axes] if isinstance(
          axes, int) else [int(a) for a in axes]
      mean, variance = array.squeeze(mean, list(axes_list)), array.squeeze(variance,
                                                                           list(axes_list))
    if x.dtype == dtypes.float16:
      return math.cast(mean, dtypes.float16), math.cast(variance, dtypes.float16)
    return mean, variance


@export('nn.sufficient_statistics')
def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
  """(count, sum, sum of squares, shift) over axes."""
  keep = bool(keepdims if keep_dims is None else keep_dims)
  axes = list(dict.fromkeys(axes))
  with name_scope(name, 'sufficient_statistics', [x, shift]):
    x = convert(x, name='x')
    sizes = x.get_shape()
    if sizes.ndims is not None and all(sizes.as_list()[d] is not None for d in axes):
      count = 1
      for d in axes:
        count *= sizes.as_list()[d]
      count = conversion.constant_of(count, x.dtype, 'count')
    else:
      found = array.gather(math.cast(array.shape(x), x.dtype), axes)
      count = math.reduce_prod(found, name='count')
    if shift is not None:
      shift = convert(shift, name='shift')
      first, second = x - shift, apply_op('SquaredDifference', x=x, y=shift)
    else:
      first, second = x, math.square(x)
    return (count, math.reduce_sum(first, axes, keepdims=keep, name='mean_ss'),
            math.reduce_sum(second, axes, keepdims=keep, name='var_ss'), shift)


@export('nn.normalize_moments')
def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
  """(mean, variance) of sufficient statistics."""
  with name_scope(name, 'normalize', [counts, mean_ss, variance_ss, shift]):
    divisor = apply_op('Reciprocal', name='divisor', x=counts)
    if shift is not None:
      shifted = math.multiply(mean_ss, divisor, name='shifted_mean')
      mean = math.add(shifted, shift, name='mean')
    else:
      shifted = mean = math.multiply(mean_ss, divisor, name='mean')
    return mean, math.subtract(math.multiply(variance_ss, divisor), math.square(shifted),
                               name='variance')


@export('nn.batch_normalization')
def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
  """scale * (x - mean) / sqrt(variance + variance_epsilon) + offset. Mean and variance are those of
  tf.nn.moments, or averages of them. scale and offset may be None."""
  with name_scope(name, 'batchnorm', [x, mean, variance, scale, offset]):
    inverse = math.rsqrt(variance + variance_epsilon)
    if scale is not None:
      inverse *= scale
    shift = offset - mean * inverse if offset is not None else -mean * inverse
    return x * math.cast(inverse, x.dtype) + math.cast(shift, x.dtype)


@export('nn.fused_batch_norm')
def fused_batch_norm(x, scale, offset, mean=None, variance=None, epsilon=0.001, data_format='NHWC',
                     is_training=True, name=None, exponential_avg_factor=1.0):
  """(normalised, batch mean, batch variance)."""
  if is_training and exponential_avg_factor == 1.0 and (mean is not None or variance is not None):
    raise ValueError('Both `mean` and `variance` must be None when `is_training` is True and '
                     '`exponential_avg_factor == 1.0`.')
  if not is_training and (mean is None or variance is None):
    raise ValueError('Both `mean` and `variance` must be a 1D tensor when `is_training` is False '
                     'or '
                     '`exponential_avg_factor` != 1.0.')
  x = convert(x, name='input')
  scale, offset = convert(scale, dtypes.float32, 'scale'), convert(offset, dtypes.float32, 'offset')
  mean = conversion.constant_of([], dtypes.float32) if mean is None else mean
  variance = conversion.constant_of([], dtypes.float32) if variance is None else variance
  result = apply_op('FusedBatchNormV3', name=name, x=x, scale=scale, offset=offset, mean=mean,
                    variance=variance, epsilon=max(epsilon, 1.001e-5),
                    exponential_avg_factor=exponential_avg_factor, data_format=data_format,
                    is_training=is_training)
  return result[0], result[1], result[2]


@export('nn.xw_plus_b')
def xw_plus_b(x, weights, biases, name=None):
  """The product of x [batch, in] and weights [in, out], plus biases [out]."""
  with name_scope(name, 'xw_plus_b', [x, weights, biases]) as scope:
    return bias_add(matrix.matmul(x, weights), biases, name=scope)
