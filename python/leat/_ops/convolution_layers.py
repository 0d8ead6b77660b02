"""tf.layers: separable convolutions, and the gradient of a three-dimensional one as a layer."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.shape import TensorShape
from leat._ops import array, convolution, initializers, nn
from leat._ops.layers import _Conv, _data_format, _format, _function


class _SeparableConv(_Conv):
  """A convolution of each channel by itself, then one of size 1 that mixes the channels."""

  def __init__(self, rank, filters, kernel_size, strides=1, padding='valid',
               data_format='channels_last', dilation_rate=1, depth_multiplier=1, activation=None,
               use_bias=True, depthwise_initializer=None, pointwise_initializer=None,
               bias_initializer=None, depthwise_regularizer=None, pointwise_regularizer=None,
               bias_regularizer=None, activity_regularizer=None, depthwise_constraint=None,
               pointwise_constraint=None, bias_constraint=None, trainable=True, name=None,
               **kwargs):
    super().__init__(rank, filters, kernel_size, strides, padding, data_format, dilation_rate,
                     activation, use_bias,
                     bias_initializer=bias_initializer or initializers.zeros_initializer(),
                     bias_regularizer=bias_regularizer, activity_regularizer=activity_regularizer,
                     bias_constraint=bias_constraint, trainable=trainable, name=name, **kwargs)
    self.depth_multiplier = depth_multiplier
    self.depthwise_initializer = depthwise_initializer
    self.pointwise_initializer = pointwise_initializer
    self.depthwise_regularizer = depthwise_regularizer
    self.pointwise_regularizer = pointwise_regularizer
    self.depthwise_constraint, self.pointwise_constraint = depthwise_constraint, \
        pointwise_constraint

  def build(self, input_shape):
    channels = self._channels(input_shape)
    self.depthwise_kernel = self.add_weight(
        'depthwise_kernel', list(self.kernel_size) + [channels, self.depth_multiplier],
        self._dtype, self.depthwise_initializer, self.depthwise_regularizer,
        constraint=self.depthwise_constraint)
    self.pointwise_kernel = self.add_weight(
        'pointwise_kernel', [1] * self.rank + [self.depth_multiplier * channels, self.filters],
        self._dtype, self.pointwise_initializer, self.pointwise_regularizer,
        constraint=self.pointwise_constraint)
    self.bias = self.add_weight('bias', [self.filters], self._dtype, *self._bias[:2],
                                constraint=self._bias[2]) if self.use_bias else None
    self.built = True

  def call(self, inputs):
    first = self.data_format == 'channels_first'
    depthwise, pointwise = self.depthwise_kernel, self.pointwise_kernel
    strides, rate, padding = self.strides, self.dilation_rate, self.padding
    if self.rank == 1:
      axis = 2 if first else 1
      inputs = array.expand_dims(inputs, axis)
      depthwise, pointwise = array.expand_dims(depthwise, 0), array.expand_dims(pointwise, 0)
      strides, rate = strides * 2, (1,) + rate
    outputs = convolution.separable_conv2d(
        inputs, depthwise, pointwise, self._full(strides), padding, rate,
        data_format=_format(2, self.data_format))
    if self.rank == 1:
      outputs = array.squeeze(outputs, [axis])
    if self.use_bias:
      outputs = nn.bias_add(outputs, self.bias, _format(2, self.data_format))
    return outputs if self.activation is None else self.activation(outputs)


@export('layers.SeparableConv1D')
class SeparableConv1D(_SeparableConv):
  """A layer: a convolution over one dimension within each channel, then one of size 1 across
  channels. Inputs [batch, steps, channels], outputs [batch, new steps, filters]."""
  def __init__(self, filters, kernel_size, *args, **kwargs):
    super().__init__(1, filters, kernel_size, *args, **kwargs)


@export('layers.SeparableConv2D')
class SeparableConv2D(_SeparableConv):
  """A layer: a convolution over height and width within each channel, then one of size 1 by 1
  across channels. Inputs [batch, height, width, channels], outputs [batch, new height, new width,
  filters]."""
  def __init__(self, filters, kernel_size, *args, **kwargs):
    super().__init__(2, filters, kernel_size, *args, **kwargs)


@export('layers.Conv3DTranspose')
class Conv3DTranspose(_Conv):
  """The gradient of a convolution over three dimensions, as a layer."""

  def __init__(self, filters, kernel_size, strides=(1, 1, 1), padding='valid',
               data_format='channels_last', activation=None, use_bias=True, *args, **kwargs):
    super().__init__(3, filters, kernel_size, strides, padding, _data_format(data_format), 1,
                     activation, use_bias, *args, **kwargs)

  def build(self, input_shape):
    shape = TensorShape(input_shape)
    if shape.ndims != 5:
      raise ValueError('Inputs should have rank 5, received input shape: %s' % shape)
    channels = self._channels(shape)
    self.kernel = self.add_weight('kernel', list(self.kernel_size) + [self.filters, channels],
                                  self._dtype, *self._kernel[:2], constraint=self._kernel[2])
    self.bias = self.add_weight('bias', [self.filters], self._dtype, *self._bias[:2],
                                constraint=self._bias[2]) if self.use_bias else None
    self.built = True

  def call(self, inputs):
    first = self.data_format == 'channels_first'
    places = (2, 3, 4) if first else (1, 2, 3)
    sizes, known = array.shape(inputs), inputs.get_shape().as_list()
    grown = lambda n, k, s: n * s if self.padding == 'SAME' else n * s + max(k - s, 0)
    spatial = [grown(known[p] if known[p] is not None else sizes[p], k, s)
               for p, k, s in zip(places, self.kernel_size, self.strides)]
    shape = [sizes[0], self.filters] + spatial if first else [sizes[0]] + spatial + [self.filters]
    outputs = apply_op('Conv3DBackpropInputV2', input_sizes=array.stack(shape), filter=self.kernel,
                       out_backprop=inputs, strides=self._full(self.strides), padding=self.padding,
                       data_format=_format(3, self.data_format))
    outputs.set_shape([known[0]] + [d if isinstance(d, int) else None for d in shape[1:]])
    if self.use_bias:
      outputs = nn.bias_add(outputs, self.bias, _format(2, self.data_format))
    return outputs if self.activation is None else self.activation(outputs)


_SEPARABLE = ('filters kernel_size strides padding data_format dilation_rate depth_multiplier '
              'activation use_bias depthwise_initializer pointwise_initializer bias_initializer '
              'depthwise_regularizer pointwise_regularizer bias_regularizer').split()
_TRANSPOSE = ('filters kernel_size strides padding data_format activation use_bias '
              'kernel_initializer bias_initializer').split()
separable_conv1d = _function(SeparableConv1D, _SEPARABLE)
separable_conv2d = _function(SeparableConv2D, _SEPARABLE)
conv3d_transpose = _function(Conv3DTranspose, _TRANSPOSE)
EXPORTS = {'layers.' + n: n for n in ('separable_conv1d', 'separable_conv2d', 'conv3d_transpose')}
