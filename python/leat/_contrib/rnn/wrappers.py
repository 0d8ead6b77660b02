"""contrib.rnn: cells around a cell."""
from __future__ import annotations

import math as python_math

from leat._contrib.rnn.linear import depth_of, linear
from leat._export import export
from leat._graph.graph import get_default_graph
from leat._ops import array, embedding, math, nest, nn
from leat._ops.initializers import constant_initializer, random_uniform_initializer
from leat._ops.rnn_cells import RNNCell
from leat._ops.variable_scope import get_variable, get_variable_scope, variable_scope


class _Around(RNNCell):
  """A cell with the state of another one."""

  def __init__(self, cell, reuse=None):
    super().__init__(_reuse=reuse)
    self._cell = cell

  state_size = property(lambda self: self._cell.state_size)
  output_size = property(lambda self: self._cell.output_size)

  def zero_state(self, batch_size, dtype):
    return self._cell.zero_state(batch_size, dtype)


@export('contrib.rnn.InputProjectionWrapper')
class InputProjectionWrapper(_Around):
  """A cell whose inputs are projected to num_proj features first."""

  def __init__(self, cell, num_proj, activation=None, input_size=None, reuse=None):
    super().__init__(cell, reuse)
    del input_size  # it is that of the inputs
    self._num_proj, self._activation = num_proj, activation

  def call(self, inputs, state):
    projected = linear(inputs, self._num_proj, True)
    return self._cell(self._activation(projected) if self._activation else projected, state)


@export('contrib.rnn.OutputProjectionWrapper')
class OutputProjectionWrapper(_Around):
  """A cell whose output is projected to output_size features. ValueError where that is less than
  1."""

  def __init__(self, cell, output_size, activation=None, reuse=None):
    super().__init__(cell, reuse)
    if output_size < 1:
      raise ValueError('Parameter output_size must be > 0: %d.' % output_size)
    self._output_size, self._activation = output_size, activation

  output_size = property(lambda self: self._output_size)

  def call(self, inputs, state):
    output, state = self._cell(inputs, state)
    projected = linear(output, self._output_size, True)
    return self._activation(projected) if self._activation else projected, state


@export('contrib.rnn.EmbeddingWrapper')
class EmbeddingWrapper(_Around):
  """A cell whose inputs are ids, which it looks up in the variable 'embedding'. ValueError where a
  size is not positive."""

  def __init__(self, cell, embedding_classes, embedding_size, initializer=None, reuse=None):
    super().__init__(cell, reuse)
    if embedding_classes <= 0 or embedding_size <= 0:
      raise ValueError('Both embedding_classes and embedding_size must be > 0: %d, %d.' % (
          embedding_classes, embedding_size))
    self._shape, self._initializer = [embedding_classes, embedding_size], initializer

  def call(self, inputs, state):
    limit = python_math.sqrt(3)  # for a variance of 1
    with get_default_graph().device('/cpu:0'):
      initializer = self._initializer or get_variable_scope().initializer or \
          random_uniform_initializer(-limit, limit)
      table = get_variable('embedding', self._shape, initializer=initializer,
                           dtype=nest.flatten(state)[0].dtype)
      embedded = embedding.embedding_lookup(table, array.reshape(inputs, [-1]))
    return self._cell(embedded, state)


@export('contrib.rnn.HighwayWrapper')
class HighwayWrapper(_Around):
  """A cell whose output is carried over from its input as far as a gate says (arXiv:1505.00387)."""

  def __init__(self, cell, couple_carry_transform_gates=True, carry_bias_init=1.0):
    super().__init__(cell)
    self._couple, self._carry_bias_init = couple_carry_transform_gates, carry_bias_init

  def _gate(self, name, x, bias):
    size = depth_of(x)
    weights = get_variable(name + '_w', [size, size])
    return math.sigmoid(nn.xw_plus_b(x, weights, get_variable(
        name + '_b', [size], initializer=constant_initializer(bias))))

  def _highway(self, x, output):
    carry = self._gate('carry', x, self._carry_bias_init)
    transform = 1 - carry if self._couple else self._gate('transform', x, -self._carry_bias_init)
    return x * carry + output * transform

  def __call__(self, inputs, state, scope=None):
    outputs, new = self._cell(inputs, state, scope=scope)
    nest.assert_same_structure(inputs, outputs)
    for x, output in zip(nest.flatten(inputs), nest.flatten(outputs)):
      x.get_shape().assert_is_compatible_with(output.get_shape())
    return nest.map_structure(self._highway, inputs, outputs), new


@export('contrib.rnn.AttentionCellWrapper')
class AttentionCellWrapper(_Around):
  """A cell that attends to its last `attn_length` outputs (arXiv:1601.06733). Its state is (the
  cell's, what it attended to, the outputs). ValueError where the length is not positive, or where
  the cell's state is a tuple and state_is_tuple is False."""

  def __init__(self, cell, attn_length, attn_size=None, attn_vec_size=None, input_size=None,
               state_is_tuple=True, reuse=None):
    super().__init__(cell, reuse)
    if nest.is_nested(cell.state_size) and not state_is_tuple:
      raise ValueError('Cell returns tuple of states, but the flag state_is_tuple is not set. '
                       'State size is: %s' % str(cell.state_size))
    if attn_length <= 0:
      raise ValueError('attn_length should be greater than zero, got %s' % attn_length)
    self._length, self._size = attn_length, attn_size or cell.output_size
    self._vec_size, self._input_size = attn_vec_size or self._size, input_size
    self._state_is_tuple = state_is_tuple

  output_size = property(lambda self: self._size)

  @property
  def state_size(self):
    sizes = self._cell.state_size, self._size, self._size * self._length
    return sizes if self._state_is_tuple else sum(sizes)

  def zero_state(self, batch_size, dtype):
    return RNNCell.zero_state(self, batch_size, dtype)

  def call(self, inputs, state):
    if self._state_is_tuple:
      state, attended, outputs = state
    else:
      state, attended, outputs = array.split(
          state, [self._cell.state_size, self._size, self._size * self._length], 1)
    outputs = array.reshape(outputs, [-1, self._length, self._size])
    inputs = linear([inputs, attended], self._input_size or depth_of(inputs), True)
    output, new = self._cell(inputs, state)
    query = array.concat(nest.flatten(new), 1) if self._state_is_tuple else new
    attended, outputs = self._attention(query, outputs)
    with variable_scope('attn_output_projection'):
      output = linear([output, attended], self._size, True)
    outputs = array.concat([outputs, array.expand_dims(output, 1)], 1)
    outputs = array.reshape(outputs, [-1, self._length * self._size])
    new = (new, attended, outputs)
    return output, new if self._state_is_tuple else array.concat(list(new), 1)

  def _attention(self, query, outputs):
    """(the mean of the outputs by how well they fit the query, the outputs without the oldest)."""
    with variable_scope('attention'):
      k = get_variable('attn_w', [1, 1, self._size, self._vec_size])
      v = get_variable('attn_v', [self._vec_size])
      hidden = array.reshape(outputs, [-1, self._length, 1, self._size])
      features = nn.conv2d(hidden, k, [1, 1, 1, 1], 'SAME')
      y = array.reshape(linear(query, self._vec_size, True), [-1, 1, 1, self._vec_size])
      weights = nn.softmax(math.reduce_sum(v * math.tanh(features + y), [2, 3]))
      weights = array.reshape(weights, [-1, self._length, 1, 1])
      attended = array.reshape(math.reduce_sum(weights * hidden, [1, 2]), [-1, self._size])
      return attended, array.slice(outputs, [0, 1, 0], [-1, -1, -1])
