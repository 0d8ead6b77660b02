"""contrib.layers: convolutions and pools."""
from __future__ import annotations

import functools

from leat._contrib import variables
from leat._contrib.arg_scope import add_arg_scope
from leat._contrib.layers import initializers
from leat._contrib.layers.dense import relu_function
from leat._contrib.layers.outputs import (add_variable_to_collections, channel_dimension,
                                          collect_named_outputs, get_variable_collections,
                                          n_positive_integers, two_element_tuple)
from leat._contrib.layers.scopes import finished, layer_scope, normalized
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, convolution as convolution_, convolution_layers, layers, math, nn
from leat._ops.initializers import ones_initializer, zeros_initializer
from leat._ops.variable_scope import variable_scope


def _check_format(data_format, formats=('NCHW', 'NHWC')):
  if data_format not in formats:
    raise ValueError('data_format is %s, has to be either %s.' % (data_format,
                                                                  ' or '.join(formats)))


def _run_layer(make, inputs, reuse, found, use_bias, weights_initializer, weights_regularizer,
               biases_initializer, biases_regularizer, trainable, variables_collections, **named):
  """The output of a layer of tf.layers with the arguments of contrib."""
  layer = make(use_bias=use_bias, kernel_initializer=weights_initializer,
               bias_initializer=biases_initializer, kernel_regularizer=weights_regularizer,
               bias_regularizer=biases_regularizer, activation=None, trainable=trainable,
               name=found.name, dtype=inputs.dtype.base_dtype, _scope=found, _reuse=reuse, **named)
  outputs = layer(inputs)
  add_variable_to_collections(layer.kernel, variables_collections, 'weights')
  if layer.bias is not None:
    add_variable_to_collections(layer.bias, variables_collections, 'biases')
  return outputs


@export('contrib.layers.convolution')
@add_arg_scope
def convolution(inputs, num_outputs, kernel_size, stride=1, padding='SAME', data_format=None,
                rate=1, activation_fn=relu_function, normalizer_fn=None, normalizer_params=None,
                weights_initializer=initializers.xavier_initializer(), weights_regularizer=None,
                biases_initializer=zeros_initializer(), biases_regularizer=None, reuse=None,
                variables_collections=None, outputs_collections=None, trainable=True, scope=None,
                conv_dims=None):
  """A convolution over one, two or three dimensions, as the rank of the inputs says (3, 4, 5),
  which must be conv_dims + 2 where that is given. `rate` is the distance of a filter's elements.
  With a normalizer there are no biases."""
  if data_format not in (None, 'NWC', 'NCW', 'NHWC', 'NCHW', 'NDHWC', 'NCDHW'):
    raise ValueError('Invalid data_format: %r' % (data_format,))
  with layer_scope(scope, 'Conv', inputs, reuse) as found:
    inputs = convert(inputs)
    rank = inputs.get_shape().ndims
    if conv_dims is not None and conv_dims + 2 != rank:
      raise ValueError('Convolution expects input with rank %d, got %s' % (conv_dims + 2, rank))
    if rank not in (3, 4, 5):
      raise ValueError('Convolution not supported for input with rank %s' % rank)
    kind = {3: layers.Conv1D, 4: layers.Conv2D, 5: layers.Conv3D}[rank]
    first = data_format is not None and data_format.startswith('NC')
    outputs = _run_layer(
        functools.partial(kind, num_outputs, kernel_size), inputs, reuse, found,
        normalizer_fn is None and biases_initializer is not None, weights_initializer,
        weights_regularizer, biases_initializer, biases_regularizer, trainable,
        variables_collections, strides=stride, padding=padding, dilation_rate=rate,
        data_format='channels_first' if first else 'channels_last')
    outputs = normalized(outputs, normalizer_fn, normalizer_params)
    return finished(outputs, activation_fn, outputs_collections, found.name)


def _convolution_of(name, dims):
  def function(inputs, num_outputs, kernel_size, stride=1, padding='SAME', data_format=None, rate=1,
               activation_fn=relu_function, normalizer_fn=None, normalizer_params=None,
               weights_initializer=initializers.xavier_initializer(), weights_regularizer=None,
               biases_initializer=zeros_initializer(), biases_regularizer=None, reuse=None,
               variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    return convolution(
        inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn,
        normalizer_fn, normalizer_params, weights_initializer, weights_regularizer,
        biases_initializer, biases_regularizer, reuse, variables_collections, outputs_collections,
        trainable, scope, conv_dims=dims)
  function.__name__ = function.__qualname__ = name
  function.__doc__ = 'contrib.layers.convolution of inputs of rank %d.' % (dims + 2)
  return add_arg_scope(function)


convolution1d = conv1d = _convolution_of('convolution1d', 1)
convolution2d = conv2d = _convolution_of('convolution2d', 2)
convolution3d = conv3d = _convolution_of('convolution3d', 3)


@add_arg_scope
def convolution2d_transpose(inputs, num_outputs, kernel_size, stride=1, padding='SAME',
                            data_format='NHWC', activation_fn=relu_function, normalizer_fn=None,
                            normalizer_params=None,
                            weights_initializer=initializers.xavier_initializer(),
                            weights_regularizer=None, biases_initializer=zeros_initializer(),
                            biases_regularizer=None, reuse=None, variables_collections=None,
                            outputs_collections=None, trainable=True, scope=None):
  """The gradient of a convolution as a layer: the output is `stride` times as large."""
  _check_format(data_format)
  with layer_scope(scope, 'Conv2d_transpose', inputs, reuse) as found:
    inputs = convert(inputs)
    outputs = _run_layer(
        functools.partial(layers.Conv2DTranspose, num_outputs, kernel_size), inputs, reuse, found,
        normalizer_fn is None and biases_initializer is not None, weights_initializer,
        weights_regularizer, biases_initializer, biases_regularizer, trainable,
        variables_collections, strides=stride, padding=padding,
        data_format='channels_first' if data_format == 'NCHW' else 'channels_last')
    outputs = normalized(outputs, normalizer_fn, normalizer_params)
    return finished(outputs, activation_fn, outputs_collections, found.name)


conv2d_transpose = convolution2d_transpose


@add_arg_scope
def convolution3d_transpose(inputs, num_outputs, kernel_size, stride=1, padding='SAME',
                            data_format='NDHWC', activation_fn=relu_function, normalizer_fn=None,
                            normalizer_params=None,
                            weights_initializer=initializers.xavier_initializer(),
                            weights_regularizer=None, biases_initializer=zeros_initializer(),
                            biases_regularizer=None, reuse=None, variables_collections=None,
                            outputs_collections=None, trainable=True, scope=None):
  """The same over three dimensions."""
  _check_format(data_format, ('NCDHW', 'NDHWC'))
  with layer_scope(scope, 'Conv3d_transpose', inputs, reuse) as found:
    inputs = convert(inputs)
    outputs = _run_layer(
        functools.partial(convolution_layers.Conv3DTranspose, num_outputs, kernel_size), inputs,
        reuse, found, normalizer_fn is None and biases_initializer is not None,
        weights_initializer, weights_regularizer, biases_initializer, biases_regularizer,
        trainable, variables_collections, strides=stride, padding=padding,
        data_format='channels_first' if data_format == 'NCDHW' else 'channels_last')
    outputs = normalized(outputs, normalizer_fn, normalizer_params)
    return finished(outputs, activation_fn, outputs_collections, found.name)


conv3d_transpose = convolution3d_transpose


def _own(name, shape, inputs, initializer, regularizer, trainable, variables_collections):
  """A variable of the model that no layer of tf.layers makes."""
  return variables.model_variable(
      name, shape=shape, dtype=inputs.dtype.base_dtype, initializer=initializer,
      regularizer=regularizer, trainable=trainable,
      collections=get_variable_collections(variables_collections, name))


@add_arg_scope
def convolution2d_in_plane(inputs, kernel_size, stride=1, padding='SAME',
                           activation_fn=relu_function, normalizer_fn=None, normalizer_params=None,
                           weights_initializer=initializers.xavier_initializer(),
                           weights_regularizer=None, biases_initializer=zeros_initializer(),
                           biases_regularizer=None, reuse=None, variables_collections=None,
                           outputs_collections=None, trainable=True, scope=None):
  """One filter of one channel, applied to each channel alone: a blur, a derivative."""
  with variable_scope(scope, 'ConvInPlane', [inputs], reuse=reuse) as found:
    inputs = convert(inputs)
    channels = channel_dimension(inputs.get_shape(), 'NHWC', min_rank=4)
    weights = _own('weights', list(two_element_tuple(kernel_size)) + [1, 1], inputs,
                   weights_initializer, weights_regularizer, trainable, variables_collections)
    outputs = nn.depthwise_conv2d_native(
        inputs, apply_op('Tile', input=weights, multiples=[1, 1, channels, 1]),
        [1, *two_element_tuple(stride), 1], padding)
    if normalizer_fn is not None:
      outputs = normalized(outputs, normalizer_fn, normalizer_params)
    elif biases_initializer is not None:
      outputs = nn.bias_add(outputs, _own('biases', [channels], inputs, biases_initializer,
                                          biases_regularizer, trainable, variables_collections))
    return finished(outputs, activation_fn, outputs_collections, found.name)


conv2d_in_plane = convolution2d_in_plane


@add_arg_scope
def separable_convolution2d(inputs, num_outputs, kernel_size, depth_multiplier=1, stride=1,
                            padding='SAME', data_format='NHWC', rate=1,
                            activation_fn=relu_function, normalizer_fn=None,
                            normalizer_params=None,
                            weights_initializer=initializers.xavier_initializer(),
                            pointwise_initializer=None, weights_regularizer=None,
                            biases_initializer=zeros_initializer(), biases_regularizer=None,
                            reuse=None, variables_collections=None, outputs_collections=None,
                            trainable=True, scope=None):
  """`depth_multiplier` filters on each channel alone, then a convolution of 1 by 1 over the results
  to `num_outputs` channels, which is left out where that is None."""
  _check_format(data_format)
  with layer_scope(scope, 'SeparableConv2d', inputs, reuse) as found:
    inputs = convert(inputs)
    channels = channel_dimension(inputs.get_shape(), data_format, min_rank=4)
    first = data_format == 'NCHW'
    four = lambda pair: [1, 1, *pair] if first else [1, *pair, 1]
    depthwise = _own('depthwise_weights',
                     list(two_element_tuple(kernel_size)) + [channels, depth_multiplier], inputs,
                     weights_initializer, weights_regularizer, trainable, variables_collections)
    outputs = apply_op('DepthwiseConv2dNative', name='depthwise', input=inputs, filter=depthwise,
                       strides=four(two_element_tuple(stride)), padding=padding.upper(),
                       data_format=data_format, dilations=four(two_element_tuple(rate)))
    if num_outputs is not None:
      pointwise = _own('pointwise_weights', [1, 1, depth_multiplier * channels, num_outputs],
                       inputs, pointwise_initializer or weights_initializer, weights_regularizer,
                       trainable, variables_collections)
      outputs = apply_op('Conv2D', name='separable_conv2d', input=outputs, filter=pointwise,
                         strides=[1, 1, 1, 1], padding='VALID', data_format=data_format)
    size = num_outputs if num_outputs is not None else depth_multiplier * channels
    if normalizer_fn is not None:
      outputs = normalized(outputs, normalizer_fn, normalizer_params)
    elif biases_initializer is not None:
      outputs = nn.bias_add(outputs, _own('biases', [size], inputs, biases_initializer,
                                          biases_regularizer, trainable, variables_collections),
                            data_format)
    return finished(outputs, activation_fn, outputs_collections, found.name)


separable_conv2d = separable_convolution2d

# ---- Pools --------------------------------------------------------------------------------------


def _pool(op, dims, inputs, kernel_size, stride, padding, data_format, outputs_collections, scope):
  _check_format(data_format, ('NCHW', 'NHWC') if dims == 2 else ('NCDHW', 'NDHWC'))
  full = lambda v: [1, 1, *v] if data_format[1] == 'C' else [1, *v, 1]
  with name_scope(scope, '%sPool%dD' % (op[:3], dims), [inputs]) as found:
    inputs = convert(inputs)
    if inputs.get_shape().ndims not in (None, dims + 2):
      raise ValueError('Input 0 of layer is incompatible with the layer: expected ndim=%d, found '
                       'ndim=%d. Full shape received: %s' % (
                           dims + 2, inputs.get_shape().ndims, inputs.get_shape()))
    key = 'value' if op == 'AvgPool' and dims == 2 else 'input'
    outputs = apply_op(op + ('3D' if dims == 3 else ''),
                       ksize=full(n_positive_integers(dims, kernel_size)),
                       strides=full(n_positive_integers(dims, stride)), padding=padding.upper(),
                       data_format=data_format, **{key: inputs})
    return collect_named_outputs(outputs_collections, found, outputs)


@export('contrib.layers.avg_pool2d')
@add_arg_scope
def avg_pool2d(inputs, kernel_size, stride=2, padding='VALID', data_format='NHWC',
               outputs_collections=None, scope=None):
  """The mean of each window of two dimensions."""
  return _pool('AvgPool', 2, inputs, kernel_size, stride, padding, data_format,
               outputs_collections, scope)


@export('contrib.layers.avg_pool3d')
@add_arg_scope
def avg_pool3d(inputs, kernel_size, stride=2, padding='VALID', data_format='NDHWC',
               outputs_collections=None, scope=None):
  """The mean of each window of three dimensions."""
  return _pool('AvgPool', 3, inputs, kernel_size, stride, padding, data_format,
               outputs_collections, scope)


@export('contrib.layers.max_pool2d')
@add_arg_scope
def max_pool2d(inputs, kernel_size, stride=2, padding='VALID', data_format='NHWC',
               outputs_collections=None, scope=None):
  """The largest of each window of two dimensions."""
  return _pool('MaxPool', 2, inputs, kernel_size, stride, padding, data_format,
               outputs_collections, scope)


@export('contrib.layers.max_pool3d')
@add_arg_scope
def max_pool3d(inputs, kernel_size, stride=2, padding='VALID', data_format='NDHWC',
               outputs_collections=None, scope=None):
  """The largest of each window of three dimensions."""
  return _pool('MaxPool', 3, inputs, kernel_size, stride, padding, data_format,
               outputs_collections, scope)


@export('contrib.layers.pool')
@add_arg_scope
def pool(inputs, kernel_size, pooling_type, padding='VALID', data_format=None, dilation_rate=1,
         stride=1, outputs_collections=None, scope=None):
  """tf.nn.pool ('MAX' or 'AVG') over as many dimensions as the rank of the inputs says. ValueError
  where that is not known, or less than 3."""
  with name_scope(scope, '%s_pool' % pooling_type.lower(), [inputs]) as found:
    inputs = convert(inputs)
    rank = inputs.get_shape().ndims
    if rank is None:
      raise ValueError('Rank of inputs must be known')
    if rank < 3:
      raise ValueError('Rank of inputs must be >= 3')
    each = lambda value: n_positive_integers(rank - 2, value)
    outputs = convolution_.pool(input=inputs, window_shape=each(kernel_size),
                                pooling_type=pooling_type, padding=padding,
                                data_format=data_format, dilation_rate=each(dilation_rate),
                                strides=each(stride), name=found)
    return collect_named_outputs(outputs_collections, found, outputs)


# ---- Images -------------------------------------------------------------------------------------


@export('contrib.layers.images_to_sequence')
@add_arg_scope
def images_to_sequence(inputs, data_format='NHWC', outputs_collections=None, scope=None):
  """Images as sequences of columns: [width, batch * height, channels]."""
  _check_format(data_format)
  with name_scope(scope, 'ImagesToSequence', [inputs]) as found:
    inputs = convert(inputs)
    known = inputs.get_shape().as_list()
    sizes = array.shape(inputs)
    height, width, channels = (2, 3, 1) if data_format == 'NCHW' else (1, 2, 3)
    order = [width, 0, height, channels]
    rows = [sizes[i] if known[i] is None else known[i] for i in (0, height)]
    full = [sizes[width] if known[width] is None else known[width], rows[0] * rows[1],
            known[channels]]
    outputs = array.reshape(array.transpose(inputs, order), array.stack(full))
    outputs.set_shape([n if isinstance(n, int) else None for n in full])
    return collect_named_outputs(outputs_collections, found, outputs)


@export('contrib.layers.sequence_to_images')
@add_arg_scope
def sequence_to_images(inputs, height, output_data_format='channels_last', outputs_collections=None,
                       scope=None):
  """The other way: sequences [width, batch * height, channels] as images."""
  with name_scope(scope, 'SequenceToImages', [inputs]) as found:
    inputs = convert(inputs)
    width, rows, channels = inputs.get_shape().as_list()
    batch = array.shape(inputs)[1] // height if rows is None else rows // height
    width = array.shape(inputs)[0] if width is None else width
    outputs = array.reshape(inputs, array.stack([width, batch, height, channels]))
    order = [1, 3, 2, 0] if output_data_format == 'channels_first' else [1, 2, 0, 3]
    return collect_named_outputs(outputs_collections, found, array.transpose(outputs, order))


@export('contrib.layers.spatial_softmax')
@add_arg_scope
def spatial_softmax(features, temperature=None, name=None, variables_collections=None,
                    trainable=True, data_format='NHWC'):
  """Where each channel of images is active: (x, y) of all channels, [batch, channels * 2], each
  from -1 to 1, the mean of places under a softmax over them. `temperature` divides the features; it
  is a variable where it is None."""
  _check_format(data_format)
  with variable_scope(name, 'spatial_softmax'):
    features = convert(features)
    sizes, known = array.shape(features), features.get_shape().as_list()
    places = (2, 3) if data_format == 'NCHW' else (1, 2)
    height, width = (sizes[p] if known[p] is None else known[p] for p in places)
    channels = known[1 if data_format == 'NCHW' else 3]
    if temperature is None:
      temperature = variables.model_variable(
          'temperature', shape=[], dtype=dtypes.float32, initializer=ones_initializer(),
          trainable=trainable,
          collections=get_variable_collections(variables_collections, 'temperature'))
    if data_format == 'NHWC':
      features = array.transpose(features, [0, 3, 1, 2])
    weights = nn.softmax(array.reshape(features, [-1, height * width]) / temperature)
    x, y = array.meshgrid(math.linspace(-1., 1., num=height), math.linspace(-1., 1., num=width),
                          indexing='ij')
    expected = [math.reduce_sum(array.reshape(v, [height * width]) * weights, [1], keepdims=True)
                for v in (x, y)]
    keypoints = array.reshape(array.concat(expected, 1), [-1, channels * 2])
    keypoints.set_shape([None, channels * 2])
    return keypoints


EXPORTS = {'contrib.layers.' + n: n for n in (
    'convolution1d', 'conv1d', 'convolution2d', 'conv2d', 'convolution3d', 'conv3d',
    'convolution2d_transpose', 'conv2d_transpose', 'convolution2d_in_plane', 'conv2d_in_plane',
    'separable_convolution2d', 'separable_conv2d', 'convolution3d_transpose', 'conv3d_transpose')}
