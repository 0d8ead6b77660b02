"""tf.nn.rnn_cell: the cells of recurrent networks. A cell makes (output, new state) of an input and
a state; _ops/rnn.py runs one over the steps of a sequence. A state is a tensor, or a nest of
tensors with the structure of `state_size`."""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert, is_tensor_like
from leat._graph.graph import get_default_graph
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._ops import array, clip, initializers, math, matrix, nest, nn, partitioned, random
from leat._ops.layers import Layer
from leat._ops.variable_scope import variable_scope


@export('nn.rnn_cell.LSTMStateTuple', 'contrib.rnn.LSTMStateTuple')
class LSTMStateTuple(collections.namedtuple('LSTMStateTuple', ('c', 'h'))):
  """The state of an LSTM: the memory and the last output."""
  __slots__ = ()


def state_shape(batch_size, size):
  """The shape of a part of a state: a list, or a tensor where the batch is one."""
  rest = TensorShape(size).as_list() if not isinstance(size, int) else [size]
  if hasattr(batch_size, 'get_shape'):
    return array.concat([array.expand_dims(math.cast(batch_size, dtypes.int32), 0),
                         convert(rest, dtypes.int32)], 0)
  return [batch_size] + rest


@export('nn.rnn_cell.RNNCell', 'contrib.rnn.RNNCell')
class RNNCell(Layer):
  """The base of cells of recurrent networks. cell(inputs, state) gives (output, new state) of one
  step; state_size and output_size say their sizes, zero_state makes the first state."""

  def __call__(self, inputs, state, scope=None):
    return super().__call__(inputs, state, scope=scope)

  @property
  def state_size(self):
    """The size of the state: an integer, a TensorShape, or a tuple of them."""
    raise NotImplementedError('Abstract method')

  @property
  def output_size(self):
    """The size of the output: an integer or a TensorShape."""
    raise NotImplementedError('Abstract method')

  def zero_state(self, batch_size, dtype):
    """A state of zeros for `batch_size` (an int or a scalar tensor) sequences."""
    with name_scope(type(self).__name__ + 'ZeroState'):
      sizes = self.state_size
      return nest.map_structure(
          lambda size: _zeros(batch_size, size, dtype), sizes)

  def get_initial_state(self, inputs=None, batch_size=None, dtype=None):
    """zero_state for the batch and the type of `inputs`, or those that are given."""
    if inputs is not None:
      inputs = convert(inputs)
      known = inputs.get_shape().as_list()[0] if inputs.get_shape().ndims else None
      own = array.shape(inputs)[0] if known is None else known
      given = constant_value(batch_size) if is_tensor_like(batch_size) else batch_size
      if batch_size is not None and (None if given is None else int(given)) != known:
        raise ValueError('batch size from input tensor is different from the batch_size given: '
                         'they are %s and %s.' % (known, batch_size))
      if dtype is not None and dtypes.as_dtype(dtype) != inputs.dtype:
        raise ValueError('dtype from input tensor is different from the dtype given: they are %s '
                         'and %s.' % (inputs.dtype, dtype))
      batch_size, dtype = own, inputs.dtype
    if batch_size is None or dtype is None:
      raise ValueError('batch_size and dtype cannot be None where inputs are: they are %s and %s.' %
                       (batch_size, dtype))
    return self.zero_state(batch_size, dtype)


def _zeros(batch_size, size, dtype):
  zeros = array.zeros(state_shape(batch_size, size), dtype)
  known = batch_size if isinstance(batch_size, int) else None
  zeros.set_shape([known] + (TensorShape(size).as_list() if not isinstance(size, int) else [size]))
  return zeros


def _input_size(shape):
  shape = shape[0] if isinstance(shape, list) else shape
  last = shape.as_list()[-1]
  if last is None:
    raise ValueError('Expected inputs.shape[-1] to be known, saw shape: %s' % shape)
  return last


@export('nn.rnn_cell.BasicRNNCell', 'contrib.rnn.BasicRNNCell')
class BasicRNNCell(RNNCell):
  """output = new state = activation(W * [inputs, state] + b), inputs [batch, n], state [batch,
  num_units]."""

  def __init__(self, num_units, activation=None, reuse=None, name=None, dtype=None, **kwargs):
    super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
    self._num_units, self._activation = num_units, activation or math.tanh

  state_size = property(lambda self: self._num_units)
  output_size = property(lambda self: self._num_units)

  def build(self, inputs_shape):
    width = _input_size(inputs_shape) + self._num_units
    self._kernel = self.add_weight('kernel', [width, self._num_units])
    self._bias = self.add_weight('bias', [self._num_units],
                                 initializer=initializers.zeros_initializer(dtype=self._dtype))

  def call(self, inputs, state):
    product = matrix.matmul(array.concat([inputs, state], 1), self._kernel)
    output = self._activation(nn.bias_add(product, self._bias))
    return output, output


@export('nn.rnn_cell.GRUCell', 'contrib.rnn.GRUCell')
class GRUCell(RNNCell):
  """The gated recurrent unit (Cho et al., arXiv:1406.1078): inputs [batch, n], output and state
  [batch, num_units]."""

  def __init__(self, num_units, activation=None, reuse=None, kernel_initializer=None,
               bias_initializer=None, name=None, dtype=None, **kwargs):
    super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
    self._num_units, self._activation = num_units, activation or math.tanh
    self._initializers = kernel_initializer, bias_initializer

  state_size = property(lambda self: self._num_units)
  output_size = property(lambda self: self._num_units)

  def build(self, inputs_shape):
    width, units = _input_size(inputs_shape) + self._num_units, self._num_units
    kernel, bias = self._initializers
    self._gate_kernel = self.add_weight('gates/kernel', [width, 2 * units], initializer=kernel)
    self._gate_bias = self.add_weight(
        'gates/bias', [2 * units],
        initializer=bias or initializers.constant_initializer(1.0, dtype=self._dtype))
    self._candidate_kernel = self.add_weight('candidate/kernel', [width, units],
                                             initializer=kernel)
    self._candidate_bias = self.add_weight(
        'candidate/bias', [units],
        initializer=bias or initializers.zeros_initializer(dtype=self._dtype))

  def call(self, inputs, state):
    gates = matrix.matmul(array.concat([inputs, state], 1), self._gate_kernel)
    r, u = array.split(math.sigmoid(nn.bias_add(gates, self._gate_bias)), 2, 1)
    candidate = matrix.matmul(array.concat([inputs, r * state], 1), self._candidate_kernel)
    c = self._activation(nn.bias_add(candidate, self._candidate_bias))
    new = u * state + (1 - u) * c
    return new, new


def _halves(state, units, is_tuple):
  """(c, h) of a state of an LSTM."""
  if is_tuple:
    return state
  return array.split(state, 2, 1) if units is None else (
      array.slice(state, [0, 0], [-1, units[0]]),
      array.slice(state, [0, units[0]], [-1, units[1]]))


@export('nn.rnn_cell.BasicLSTMCell', 'contrib.rnn.BasicLSTMCell')
class BasicLSTMCell(RNNCell):
  """The LSTM of Zaremba et al. (arXiv:1409.2329), without peepholes. Inputs [batch, n], output
  [batch, num_units]; the state is a tuple (c, h) of two such tensors, or both joined where
  state_is_tuple is False. forget_bias is added to the forget gate, so that it begins open."""

  def __init__(self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None,
               name=None, dtype=None, **kwargs):
    super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
    self._num_units, self._forget_bias = num_units, forget_bias
    self._state_is_tuple, self._activation = state_is_tuple, activation or math.tanh

  @property
  def state_size(self):
    units = self._num_units
    return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

  output_size = property(lambda self: self._num_units)

  def build(self, inputs_shape):
    width = _input_size(inputs_shape) + self._num_units
    self._kernel = self.add_weight('kernel', [width, 4 * self._num_units])
    self._bias = self.add_weight('bias', [4 * self._num_units],
                                 initializer=initializers.zeros_initializer(dtype=self._dtype))

  def call(self, inputs, state):
    c, h = _halves(state, None, self._state_is_tuple)
    gates = matrix.matmul(array.concat([inputs, h], 1), self._kernel)
    i, j, f, o = array.split(nn.bias_add(gates, self._bias), 4, 1)
    new_c = c * math.sigmoid(f + self._forget_bias) + math.sigmoid(i) * self._activation(j)
    new_h = self._activation(new_c) * math.sigmoid(o)
    new = LSTMStateTuple(new_c, new_h) if self._state_is_tuple else array.concat([new_c, new_h], 1)
    return new_h, new


@export('nn.rnn_cell.LSTMCell', 'contrib.rnn.LSTMCell')
class LSTMCell(RNNCell):
  """The LSTM of Sak et al. (Interspeech 2014): peepholes, clipping and a projection, each if
  asked for."""

  def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None,
               num_proj=None, proj_clip=None, num_unit_shards=None, num_proj_shards=None,
               forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None,
               dtype=None, **kwargs):
    super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
    self._partitioner, self._proj_partitioner = [
        None if n is None else partitioned.fixed_size_partitioner(n)
        for n in (num_unit_shards, num_proj_shards)]
    self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
    self._initializer, self._num_proj, self._proj_clip = initializer, num_proj, proj_clip
    self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
    self._activation = activation or math.tanh

  output_size = property(lambda self: self._num_proj or self._num_units)

  @property
  def state_size(self):
    sizes = self._num_units, self.output_size
    return LSTMStateTuple(*sizes) if self._state_is_tuple else sum(sizes)

  def build(self, inputs_shape):
    units = self._num_units
    width = _input_size(inputs_shape) + self.output_size
    self._kernel = self.add_weight('kernel', [width, 4 * units], initializer=self._initializer,
                                   partitioner=self._partitioner)
    self._bias = self.add_weight('bias', [4 * units],
                                 initializer=initializers.zeros_initializer(dtype=self._dtype))
    if self._use_peepholes:
      self._f_diag, self._i_diag, self._o_diag = (
          self.add_weight('w_%s_diag' % gate, [units], initializer=self._initializer)
          for gate in 'fio')
    if self._num_proj is not None:
      self._projection = self.add_weight('projection/kernel', [units, self._num_proj],
                                         initializer=self._initializer,
                                         partitioner=self._proj_partitioner)

  def call(self, inputs, state):
    c, h = _halves(state, (self._num_units, self.output_size), self._state_is_tuple)
    gates = matrix.matmul(array.concat([inputs, h], 1), self._kernel)
    i, j, f, o = array.split(nn.bias_add(gates, self._bias), 4, 1)
    peeps = self._use_peepholes
    forget = math.sigmoid(f + self._forget_bias + (self._f_diag * c if peeps else 0.0))
    take = math.sigmoid(i + self._i_diag * c if peeps else i)
    c = forget * c + take * self._activation(j)
    if self._cell_clip is not None:
      c = clip.clip_by_value(c, -self._cell_clip, self._cell_clip)
    m = math.sigmoid(o + self._o_diag * c if peeps else o) * self._activation(c)
    if self._num_proj is not None:
      m = matrix.matmul(m, self._projection)
      if self._proj_clip is not None:
        m = clip.clip_by_value(m, -self._proj_clip, self._proj_clip)
    return m, LSTMStateTuple(c, m) if self._state_is_tuple else array.concat([c, m], 1)


@export('nn.rnn_cell.MultiRNNCell', 'contrib.rnn.MultiRNNCell')
class MultiRNNCell(RNNCell):
  """Cells one above the other; each has the output of the one below as its input. The state is a
  tuple of theirs. ValueError where `cells` is empty."""

  def __init__(self, cells, state_is_tuple=True):
    super().__init__()
    if not cells:
      raise ValueError('Must specify at least one cell for MultiRNNCell.')
    if not isinstance(cells, (list, tuple)):
      raise TypeError('cells must be a list or tuple, but saw: %s.' % cells)
    self._cells, self._state_is_tuple = cells, state_is_tuple
    if not state_is_tuple and any(nest.is_nested(c.state_size) for c in cells):
      raise ValueError('Some cells return tuples of states, but the flag state_is_tuple is not set.'
                       '  State sizes are: %s' % str([c.state_size for c in cells]))

  output_size = property(lambda self: self._cells[-1].output_size)

  @property
  def state_size(self):
    sizes = tuple(cell.state_size for cell in self._cells)
    return sizes if self._state_is_tuple else sum(sizes)

  def zero_state(self, batch_size, dtype):
    with name_scope(type(self).__name__ + 'ZeroState'):
      if self._state_is_tuple:
        return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
    return super().zero_state(batch_size, dtype)

  @property
  def trainable_weights(self):
    return [w for cell in self._cells for w in cell.trainable_weights] if self.trainable else []

  @property
  def non_trainable_weights(self):
    return [w for cell in self._cells for w in cell.non_trainable_weights]

  def call(self, inputs, state):
    current, new, position = inputs, [], 0
    for number, cell in enumerate(self._cells):
      with variable_scope('cell_%d' % number):
        if self._state_is_tuple:
          own = state[number]
        else:
          own = array.slice(state, [0, position], [-1, cell.state_size])
          position += cell.state_size
        current, own = cell(current, own)
        new.append(own)
    return current, tuple(new) if self._state_is_tuple else array.concat(new, 1)


def check_cell(name, cell):
  """TypeError where the argument `name` is no cell."""
  absent = [a for a in ('output_size', 'state_size', 'zero_state') if not hasattr(cell, a)]
  if absent or not callable(cell):
    raise TypeError('%s is %r, must be an RNNCell: it %s' % (
        name, cell, 'has no ' + ', '.join(absent) if absent else 'cannot be called'))


class _Wrapper(RNNCell):
  """A cell around another one, with that one's sizes."""

  def __init__(self, cell):
    check_cell('cell', cell)
    super().__init__()
    self._cell = cell

  state_size = property(lambda self: self._cell.state_size)
  output_size = property(lambda self: self._cell.output_size)

  def zero_state(self, batch_size, dtype):
    with name_scope(type(self).__name__ + 'ZeroState'):
      return self._cell.zero_state(batch_size, dtype)


@export('nn.rnn_cell.DropoutWrapper', 'contrib.rnn.DropoutWrapper')
class DropoutWrapper(_Wrapper):
  """A cell whose input, output and state are dropped out with the probabilities that remain.

  With `variational_recurrent` the same elements are dropped in all steps, and for all sequences of
  a batch (arXiv:1512.05287); `dtype` and, where inputs are dropped, their `input_size` must be
  given. dropout_state_filter_visitor(state) says which parts of a state may be dropped, as bools in
  its structure, or one for all; by default the memory of an LSTM is kept whole."""

  def __init__(self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0,
               variational_recurrent=False, input_size=None, dtype=None, seed=None,
               dropout_state_filter_visitor=None):
    super().__init__(cell)
    if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
      raise TypeError('dropout_state_filter_visitor must be callable')
    self._filter = dropout_state_filter_visitor or _all_but_memory
    self._seed = seed
    self._keep = [self._checked(*item) for item in (
        ('input_keep_prob', input_keep_prob), ('output_keep_prob', output_keep_prob),
        ('state_keep_prob', state_keep_prob))]
    self._noise = {}
    if variational_recurrent:
      self._noise = self._make_noise(input_size, dtype)

  @staticmethod
  def _checked(name, keep):
    if isinstance(keep, (int, float)) and not 0 <= keep <= 1:
      raise ValueError('Parameter %s must be between 0 and 1: %s' % (name, keep))
    return keep

  wrapped_cell = property(lambda self: self._cell)

  def _seed_of(self, which, index):
    """A seed for each dropped tensor, of the wrapper's."""
    if self._seed is None:
      return None
    import hashlib
    text = '%s%s_%d' % (self._seed, which, index)
    return int(hashlib.md5(text.encode()).hexdigest()[:8], 16) & 0x7fffffff

  def _make_noise(self, input_size, dtype):
    """{what: [random numbers from 0 to 1 for each tensor of it]}."""
    if dtype is None:
      raise ValueError('When variational_recurrent=True, dtype must be provided')
    sizes = {'state': self._cell.state_size, 'output': self._cell.output_size}
    if not self._keeps_all(self._keep[0]):
      if input_size is None:
        raise ValueError('When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, '
                         'input_size must be provided')
      sizes['input'] = input_size
    return {which: [random.random_uniform([1] + state_shape(1, size)[1:], dtype=dtype,
                                          seed=self._seed_of(which, i))
                    for i, size in enumerate(nest.flatten(size))] for which, size in sizes.items()}

  @staticmethod
  def _keeps_all(keep):
    return isinstance(keep, (int, float)) and keep >= 1

  def _drop(self, which, structure, keep, chosen=None):
    """The structure with elements dropped, of all tensors or of those chosen."""
    if self._keeps_all(keep):
      return structure
    items = nest.flatten(structure)
    found = []
    for i, (x, drop) in enumerate(zip(items, chosen or [True] * len(items))):
      if drop and which in self._noise:
        kept = math.floor(self._noise[which][i] + keep)
        dropped = x / keep * kept
        dropped.set_shape(x.get_shape())
        x = dropped
      elif drop:
        x = nn.dropout(x, keep_prob=keep, seed=self._seed_of(which, i))
      found.append(x)
    return nest.pack_sequence_as(structure, found)

  def _chosen(self, state):
    chosen = self._filter(state)
    if isinstance(chosen, bool):
      return [chosen] * len(nest.flatten(state))
    found = []
    for part, drop in zip(state if isinstance(chosen, (list, tuple)) else [state], chosen):
      found += [drop] * len(nest.flatten(part)) if isinstance(drop, bool) else [
          bool(d) for d in nest.flatten(drop)]
    return found

  def __call__(self, inputs, state, scope=None):
    keep_input, keep_output, keep_state = self._keep
    output, new = self._cell(self._drop('input', inputs, keep_input), state, scope=scope)
    if not self._keeps_all(keep_state):
      new = self._drop('state', new, keep_state, self._chosen(new))
    return self._drop('output', output, keep_output), new


def _all_but_memory(state):
  """Which parts of a state may be dropped: not the memory of an LSTM."""
  if isinstance(state, LSTMStateTuple):
    return LSTMStateTuple(False, True)
  if isinstance(state, (list, tuple)):
    return [_all_but_memory(s) for s in state]
  return True


@export('nn.rnn_cell.ResidualWrapper', 'contrib.rnn.ResidualWrapper')
class ResidualWrapper(_Wrapper):
  """A cell whose input is added to its output, or `residual_fn` of both is the output."""

  def __init__(self, cell, residual_fn=None):
    super().__init__(cell)
    self._residual = residual_fn or self._sum

  @staticmethod
  def _sum(inputs, outputs):
    nest.assert_same_structure(inputs, outputs)
    for i, o in zip(nest.flatten(inputs), nest.flatten(outputs)):
      i.get_shape().assert_is_compatible_with(o.get_shape())
    return nest.map_structure(lambda i, o: i + o, inputs, outputs)

  def __call__(self, inputs, state, scope=None):
    outputs, new = self._cell(inputs, state, scope=scope)
    return self._residual(inputs, outputs), new


@export('nn.rnn_cell.DeviceWrapper', 'contrib.rnn.DeviceWrapper')
class DeviceWrapper(_Wrapper):
  """A cell whose operations are asked for on a device."""

  def __init__(self, cell, device):
    super().__init__(cell)
    self._device = device

  def __call__(self, inputs, state, scope=None):
    with get_default_graph().device(self._device):
      return self._cell(inputs, state, scope=scope)


@export('contrib.rnn.CompiledWrapper')
class CompiledWrapper(_Wrapper):
  """A cell that XLA compiles in TensorFlow; here it runs as it is."""

  def __init__(self, cell, compile_stateful=False):
    del compile_stateful
    super().__init__(cell)

  def __call__(self, inputs, state, scope=None):
    return self._cell(inputs, state, scope=scope)
