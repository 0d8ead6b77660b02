"""contrib.rnn: cells that are no LSTMs, and convolutional ones."""
from __future__ import annotations

from leat._contrib.rnn.linear import depth_of, initialized, linear
from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.shape import TensorShape
from leat._ops import array, math, matrix, nn
from leat._ops.initializers import (constant_initializer, random_uniform_initializer,
                                    zeros_initializer)
from leat._ops.rnn_cells import LSTMStateTuple, RNNCell
from leat._ops.variable_scope import get_variable, variable_scope


class _Units(RNNCell):
  """A cell whose state and output have one size."""

  def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None):
    super().__init__(_reuse=reuse, name=name, dtype=dtype)
    self._num_units, self._activation = num_units, activation or math.tanh

  state_size = property(lambda self: self._num_units)
  output_size = property(lambda self: self._num_units)


@export('contrib.rnn.UGRNNCell')
class UGRNNCell(_Units):
  """A cell with one gate between the old state and the new one (arXiv:1611.09913)."""

  def __init__(self, num_units, initializer=None, forget_bias=1.0, activation=math.tanh,
               reuse=None):
    super().__init__(num_units, activation, reuse)
    self._initializer, self._forget_bias = initializer, forget_bias

  def call(self, inputs, state):
    with initialized(self._initializer):
      g, c = array.split(linear([inputs, state], 2 * self._num_units, True), 2, 1)
    gate = math.sigmoid(g + self._forget_bias)
    new = gate * state + (1.0 - gate) * self._activation(c)
    return new, new


@export('contrib.rnn.IntersectionRNNCell')
class IntersectionRNNCell(_Units):
  """The +RNN (arXiv:1611.09913): gates for the state and, between input and output, for depth.
  Inputs have as many features as there are units, or are projected (num_in_proj)."""

  def __init__(self, num_units, num_in_proj=None, initializer=None, forget_bias=1.0,
               y_activation=lambda x: apply_op('Relu', features=x), reuse=None):
    super().__init__(num_units, None, reuse)
    self._num_in_proj, self._initializer = num_in_proj, initializer
    self._forget_bias, self._y_activation = forget_bias, y_activation

  def call(self, inputs, state):
    with initialized(self._initializer):
      if depth_of(inputs) != self._num_units:
        if not self._num_in_proj:
          raise ValueError('Must have input size == output size for Intersection RNN. To fix, '
                           'num_in_proj should be set to num_units at cell init.')
        with variable_scope('in_projection'):
          inputs = linear(inputs, self._num_units, True)
      gh, h, gy, y = array.split(linear([inputs, state], 4 * self._num_units, True), 4, 1)
    gh, gy = math.sigmoid(gh + self._forget_bias), math.sigmoid(gy + self._forget_bias)
    new_state = gh * state + (1.0 - gh) * math.tanh(h)
    new_y = gy * inputs + (1.0 - gy) * self._y_activation(y)
    return new_y, new_state


@export('contrib.rnn.SRUCell')
class SRUCell(_Units):
  """The simple recurrent unit (arXiv:1709.02755), whose matrices are of the inputs alone."""

  def build(self, inputs_shape):
    units = self._num_units
    self._kernel = self.add_weight('kernel', [inputs_shape.as_list()[-1], 4 * units])
    self._bias = self.add_weight('bias', [2 * units], initializer=zeros_initializer())

  def call(self, inputs, state):
    new, f, r, through = array.split(matrix.matmul(inputs, self._kernel), 4, 1)
    gates = math.sigmoid(nn.bias_add(array.concat([f, r], 1), self._bias))
    f, r = array.split(gates, 2, 1)
    c = f * state + (1.0 - f) * new
    return r * self._activation(c) + (1.0 - r) * through, c


@export('contrib.rnn.IndRNNCell')
class IndRNNCell(_Units):
  """A cell whose units see of the state each its own element only (arXiv:1803.04831)."""

  def build(self, inputs_shape):
    units = self._num_units
    self._kernel_w = self.add_weight('w_kernel', [inputs_shape.as_list()[-1], units])
    self._kernel_u = self.add_weight('u_kernel', [1, units],
                                     initializer=random_uniform_initializer(-1, 1))
    self._bias = self.add_weight('bias', [units], initializer=zeros_initializer())

  def call(self, inputs, state):
    sums = matrix.matmul(inputs, self._kernel_w) + state * self._kernel_u
    output = self._activation(nn.bias_add(sums, self._bias))
    return output, output


@export('contrib.rnn.IndyGRUCell')
class IndyGRUCell(_Units):
  """A GRU whose units see of the state each its own element only."""

  def __init__(self, num_units, activation=None, reuse=None, kernel_initializer=None,
               bias_initializer=None, name=None, dtype=None):
    super().__init__(num_units, activation, reuse, name, dtype)
    self._initializers = kernel_initializer, bias_initializer

  def build(self, inputs_shape):
    units, depth = self._num_units, inputs_shape.as_list()[-1]
    kernel, bias = self._initializers
    even = random_uniform_initializer(-1, 1)
    self._gates = [
        self.add_weight('gates/w_kernel', [depth, 2 * units], initializer=kernel),
        self.add_weight('gates/u_kernel', [1, 2 * units], initializer=even),
        self.add_weight('gates/bias', [2 * units],
                        initializer=bias or constant_initializer(1.0, dtype=self._dtype))]
    self._candidate = [
        self.add_weight('candidate/w_kernel', [depth, units], initializer=kernel),
        self.add_weight('candidate/u_kernel', [1, units], initializer=even),
        self.add_weight('candidate/bias', [units], initializer=bias or zeros_initializer())]

  def call(self, inputs, state):
    w, u, b = self._gates
    gates = matrix.matmul(inputs, w) + array.concat([state, state], 1) * u
    r, update = array.split(math.sigmoid(nn.bias_add(gates, b)), 2, 1)
    w, u, b = self._candidate
    candidate = matrix.matmul(inputs, w) + r * state * u
    c = self._activation(nn.bias_add(candidate, b))
    new = update * state + (1 - update) * c
    return new, new


# ---- Convolutions -------------------------------------------------------------------------------


@export('contrib.rnn.ConvLSTMCell')
class ConvLSTMCell(RNNCell):
  """An LSTM whose matrices are convolutions (arXiv:1506.04214), over one to three dimensions;
  inputs [batch, ..., channels] have the shape `input_shape`. With skip_connection the output has
  the inputs behind it."""

  def __init__(self, conv_ndims, input_shape, output_channels, kernel_shape, use_bias=True,
               skip_connection=False, forget_bias=1.0, initializers=None, name='conv_lstm_cell'):
    super().__init__(name=name)
    if conv_ndims != len(input_shape) - 1:
      raise ValueError('Invalid input_shape %s for conv_ndims=%d.' % (input_shape, conv_ndims))
    self._dims, self._input_shape = conv_ndims, list(input_shape)
    self._channels, self._kernel_shape = output_channels, list(kernel_shape)
    self._use_bias, self._forget_bias, self._skip = use_bias, forget_bias, skip_connection
    del initializers
    place = self._input_shape[:-1]
    self._output_size = TensorShape(
        place + [output_channels + (self._input_shape[-1] if skip_connection else 0)])
    size = TensorShape(place + [output_channels])
    self._state_size = LSTMStateTuple(size, self._output_size)

  output_size = property(lambda self: self._output_size)
  state_size = property(lambda self: self._state_size)

  def call(self, inputs, state):
    c, h = state
    gates = self._convolution(array.concat([inputs, h], self._dims + 1), 4 * self._channels)
    i, j, f, o = array.split(gates, 4, self._dims + 1)
    c = math.sigmoid(f + self._forget_bias) * c + math.sigmoid(i) * math.tanh(j)
    output = math.tanh(c) * math.sigmoid(o)
    if self._skip:
      output = array.concat([output, inputs], self._dims + 1)
    return output, LSTMStateTuple(c, output)

  def _convolution(self, x, channels):
    kernel = convert(get_variable('kernel', self._kernel_shape + [depth_of(x), channels],
                                  dtype=x.dtype))
    if self._dims == 1:
      outputs = array.squeeze(apply_op(
          'Conv2D', input=array.expand_dims(x, 1), filter=array.expand_dims(kernel, 0),
          strides=[1, 1, 1, 1], padding='SAME'), [1])
    else:
      outputs = apply_op('Conv%dD' % self._dims, input=x, filter=kernel,
                         strides=[1] * (self._dims + 2), padding='SAME')
    if not self._use_bias:
      return outputs
    return outputs + get_variable('biases', [channels], dtype=x.dtype,
                                  initializer=zeros_initializer())


def _conv_cell(dims):
  def initialize(self, name='conv_%dd_lstm_cell' % dims, **kwargs):
    ConvLSTMCell.__init__(self, dims, name=name, **kwargs)
  return type('Conv%dDLSTMCell' % dims, (ConvLSTMCell,), {
      '__init__': initialize, '__module__': __name__,
      '__doc__': 'ConvLSTMCell over %d dimensions; its other arguments are named.' % dims})


Conv1DLSTMCell, Conv2DLSTMCell, Conv3DLSTMCell = _conv_cell(1), _conv_cell(2), _conv_cell(3)
EXPORTS = {'contrib.rnn.Conv%dDLSTMCell' % n: 'Conv%dDLSTMCell' % n for n in (1, 2, 3)}
