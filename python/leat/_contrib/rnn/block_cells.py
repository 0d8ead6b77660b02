"""contrib.rnn: cells that TensorFlow has a kernel for, and cells over a whole sequence.

A step of such a cell is one operation: GRUBlockCell or LSTMBlockCell, of half or float values. Its
gradient takes clipped values of the memory for unclipped ones, as TensorFlow's does. A fused cell
takes inputs [time, batch, n], or a list of them, and all its steps are one operation, BlockLSTM."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops import array, math, nest, rnn, sequences
from leat._ops.initializers import constant_initializer, zeros_initializer
from leat._ops.layers import Layer
from leat._ops.rnn_cells import LSTMStateTuple, RNNCell
from leat._ops.variable_scope import variable_scope


def _depth(inputs_shape):
  size = inputs_shape.as_list()[-1]
  if size is None:
    raise ValueError('Expected inputs.shape[-1] to be known, saw shape: %s' % inputs_shape)
  return size


@export('contrib.rnn.GRUBlockCell')
class GRUBlockCell(RNNCell):
  """GRUCell with other names of variables: w_ru, b_ru, w_c, b_c."""
  _names = ('w_ru', 'b_ru', 'w_c', 'b_c')

  def __init__(self, num_units=None, cell_size=None, reuse=None, name='gru_cell'):
    super().__init__(_reuse=reuse, name=name)
    if (num_units is None) == (cell_size is None):
      raise ValueError('Exactly one of num_units or cell_size must be provided.')
    self._size = num_units if num_units is not None else cell_size

  state_size = property(lambda self: self._size)
  output_size = property(lambda self: self._size)

  def build(self, inputs_shape):
    size, width = self._size, _depth(inputs_shape) + self._size
    shapes = [[width, 2 * size], [2 * size], [width, size], [size]]
    initial = [None, constant_initializer(1.0), None, constant_initializer(0.0)]
    self._variables = [self.add_weight(n, shape, initializer=i)
                       for n, shape, i in zip(self._names, shapes, initial)]

  def call(self, inputs, state):
    w_ru, b_ru, w_c, b_c = self._variables
    new = apply_op('GRUBlockCell', x=inputs, h_prev=state, w_ru=w_ru, w_c=w_c, b_ru=b_ru, b_c=b_c).h
    return new, new


@export('contrib.rnn.GRUBlockCellV2')
class GRUBlockCellV2(GRUBlockCell):
  """The same with the names of GRUCell."""
  _names = ('gates/kernel', 'gates/bias', 'candidate/kernel', 'candidate/bias')


class _Weights:
  """The variables of an LSTM, and the operations that take them."""

  def __init__(self, layer, units, depth, peepholes):
    kernel = layer.add_weight('kernel', [depth + units, 4 * units])
    bias = layer.add_weight('bias', [4 * units],
                            initializer=zeros_initializer(dtype=layer._dtype))
    self._units, self._peepholes = units, peepholes
    self._values = dict(w=kernel, b=bias)
    if peepholes:
      self._values.update((name, layer.add_weight('w_%s_diag' % name[-1], [units]))
                          for name in ('wci', 'wcf', 'wco'))

  def apply(self, op, inputs, c, h, forget_bias, cell_clip, **others):
    """(memory, output) that `op` gives: of one step, or of all steps of a sequence."""
    unused = {} if self._peepholes else dict.fromkeys(
        ('wci', 'wcf', 'wco'), array.zeros([self._units], dtype=inputs.dtype))
    result = apply_op(op, x=inputs, cs_prev=c, h_prev=h, forget_bias=float(forget_bias),
                      cell_clip=-1.0 if cell_clip is None else float(cell_clip),
                      use_peephole=bool(self._peepholes), **self._values, **unused, **others)
    return result.cs, result.h


@export('contrib.rnn.LSTMBlockCell')
class LSTMBlockCell(RNNCell):
  """BasicLSTMCell with clipping of the memory (where cell_clip is positive) and peepholes."""

  def __init__(self, num_units, forget_bias=1.0, cell_clip=None, use_peephole=False, dtype=None,
               reuse=None, name='lstm_cell'):
    super().__init__(_reuse=reuse, dtype=dtype, name=name)
    self._num_units, self._forget_bias = num_units, forget_bias
    self._cell_clip, self._use_peephole = cell_clip, use_peephole

  state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units))
  output_size = property(lambda self: self._num_units)

  def build(self, inputs_shape):
    self._weights = _Weights(self, self._num_units, _depth(inputs_shape), self._use_peephole)

  def call(self, inputs, state):
    if len(state) != 2:
      raise ValueError('Expecting state to be a tuple with length 2.')
    c, h = self._weights.apply('LSTMBlockCell', inputs, *state, self._forget_bias, self._cell_clip)
    return h, LSTMStateTuple(c, h)


@export('contrib.rnn.FusedRNNCell')
class FusedRNNCell:
  """The base of fused cells: called with inputs, an initial state or a type, and lengths, one gives
  (outputs, last state)."""

  def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    raise NotImplementedError('__call__ of %s' % type(self).__name__)


@export('contrib.rnn.LSTMBlockFusedCell')
class LSTMBlockFusedCell(Layer, FusedRNNCell):
  """An LSTM over a whole sequence. Outputs behind the end of a sequence are zeros, and the last
  state is that at its end."""

  def __init__(self, num_units, forget_bias=1.0, cell_clip=None, use_peephole=False, reuse=None,
               dtype=None, name='lstm_fused_cell'):
    super().__init__(_reuse=reuse, name=name, dtype=dtype)
    self._num_units, self._forget_bias = num_units, forget_bias
    self._cell_clip, self._use_peephole = cell_clip, use_peephole

  num_units = property(lambda self: self._num_units)

  def build(self, input_shape):
    self._weights = _Weights(self, self._num_units, _depth(input_shape), self._use_peephole)

  def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    """(outputs [time, batch, units], or a list of them where inputs are one; LSTMStateTuple).
    Either an initial state or the type of one of zeros is given."""
    is_list = isinstance(inputs, (list, tuple))
    stacked = array.stack(list(inputs)) if is_list else convert(inputs)
    if stacked.get_shape().ndims != 3:
      raise ValueError('inputs must have the shape [time, batch, n], have %s' %
                       stacked.get_shape())
    if initial_state is None and dtype is None:
      raise ValueError('Either initial_state or dtype needs to be specified')
    outputs, state = super().__call__(stacked, initial_state, dtype, sequence_length, scope=scope)
    return (array.unstack(outputs, len(inputs)) if is_list else outputs), state

  def call(self, inputs, initial_state=None, dtype=None, sequence_length=None):
    steps, batch = array.unstack(array.shape(inputs)[:2])
    if initial_state is None:
      zeros = array.zeros(array.stack([batch, self._num_units]), dtype)
      initial_state = (zeros, zeros)
    elif len(initial_state) != 2:
      raise ValueError('Expecting initial_state to be a tuple with length 2 or None')
    length = steps if sequence_length is None else math.reduce_max(sequence_length)
    all_c, all_h = self._weights.apply(
        'BlockLSTM', inputs, *initial_state, self._forget_bias, self._cell_clip,
        seq_len_max=math.cast(length, 'int64'))
    if sequence_length is None:
      return all_h, LSTMStateTuple(all_c[-1], all_h[-1])
    mask = array.transpose(sequences.sequence_mask(sequence_length, steps, dtype=all_h.dtype))
    all_h = all_h * array.expand_dims(mask, -1)
    # Row t of these is the state after t steps.
    last = array.stack([math.cast(sequence_length, 'int32'), math.range(batch)], axis=1)
    c, h = (array.gather_nd(array.concat([array.expand_dims(first, 0), later], 0), last)
            for first, later in zip(initial_state, (all_c, all_h)))
    return all_h, LSTMStateTuple(c, h)


@export('contrib.rnn.FusedRNNCellAdaptor')
class FusedRNNCellAdaptor(FusedRNNCell):
  """A cell as a fused one, by static_rnn, or dynamic_rnn where use_dynamic_rnn is True."""

  def __init__(self, cell, use_dynamic_rnn=False):
    self._cell, self._use_dynamic_rnn = cell, use_dynamic_rnn

  def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    is_list = isinstance(inputs, (list, tuple))
    named = dict(sequence_length=sequence_length, initial_state=initial_state, dtype=dtype,
                 scope=scope)
    if self._use_dynamic_rnn:
      outputs, state = rnn.dynamic_rnn(self._cell, array.stack(list(inputs)) if is_list else inputs,
                                       time_major=True, **named)
      return (array.unstack(outputs, len(inputs)) if is_list else outputs), state
    outputs, state = rnn.static_rnn(self._cell, inputs if is_list else array.unstack(inputs),
                                    **named)
    return (outputs if is_list else array.stack(outputs)), state


@export('contrib.rnn.TimeReversedFusedRNN')
class TimeReversedFusedRNN(FusedRNNCell):
  """A fused cell from the end to the beginning; outputs are in the order of time."""

  def __init__(self, cell):
    self._cell = cell

  @staticmethod
  def _reversed(items, lengths):
    if lengths is None:
      return list(reversed(items)) if isinstance(items, (list, tuple)) else rnn._reversed(
          items, None, 0, 1)
    turned = sequences.reverse_sequence(convert(array.stack(list(items)) if isinstance(
        items, (list, tuple)) else items), lengths, seq_axis=0, batch_axis=1)
    return array.unstack(turned, len(items)) if isinstance(items, (list, tuple)) else turned

  def __call__(self, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
    outputs, state = self._cell(self._reversed(inputs, sequence_length), initial_state, dtype,
                                sequence_length, scope)
    return self._reversed(outputs, sequence_length), state


# ---- Stacks -------------------------------------------------------------------------------------


def _checked(cells_fw, cells_bw, states_fw, states_bw):
  for cells, what in ((cells_fw, 'fw'), (cells_bw, 'bw')):
    if not cells:
      raise ValueError('Must specify at least one %s cell for BidirectionalRNN.' % what)
    if not isinstance(cells, list):
      raise ValueError('cells_%s must be a list of RNNCells (one per layer).' % what)
  if len(cells_fw) != len(cells_bw):
    raise ValueError('Forward and Backward cells must have the same depth.')
  for states, what in ((states_fw, 'fw'), (states_bw, 'bw')):
    if states is not None and (not isinstance(states, list) or len(states) != len(cells_fw)):
      raise ValueError('initial_states_%s must be a list of state tensors (one per layer).' % what)
  none = [None] * len(cells_fw)
  return zip(cells_fw, cells_bw, states_fw or none, states_bw or none)


@export('contrib.rnn.stack_bidirectional_rnn')
def stack_bidirectional_rnn(cells_fw, cells_bw, inputs, initial_states_fw=None,
                            initial_states_bw=None, dtype=None, sequence_length=None, scope=None):
  """(outputs, states, states) of static_bidirectional_rnn in layers, each over the outputs of both
  directions of the one below."""
  layers = _checked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
  states_fw, states_bw = [], []
  with variable_scope(scope or 'stack_bidirectional_rnn'):
    for number, (fw, bw, state_fw, state_bw) in enumerate(layers):
      with variable_scope('cell_%d' % number):
        inputs, state_fw, state_bw = rnn.static_bidirectional_rnn(
            fw, bw, inputs, state_fw, state_bw, dtype, sequence_length)
      states_fw.append(state_fw)
      states_bw.append(state_bw)
  return inputs, tuple(states_fw), tuple(states_bw)


@export('contrib.rnn.stack_bidirectional_dynamic_rnn')
def stack_bidirectional_dynamic_rnn(cells_fw, cells_bw, inputs, initial_states_fw=None,
                                    initial_states_bw=None, dtype=None, sequence_length=None,
                                    parallel_iterations=None, time_major=False, scope=None,
                                    swap_memory=False):
  """The same of bidirectional_dynamic_rnn."""
  layers = _checked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
  states_fw, states_bw = [], []
  with variable_scope(scope or 'stack_bidirectional_rnn'):
    for number, (fw, bw, state_fw, state_bw) in enumerate(layers):
      with variable_scope('cell_%d' % number):
        outputs, (state_fw, state_bw) = rnn.bidirectional_dynamic_rnn(
            fw, bw, inputs, sequence_length, state_fw, state_bw, dtype, parallel_iterations,
            swap_memory, time_major)
        inputs = array.concat(nest.flatten(outputs), 2)
      states_fw.append(state_fw)
      states_bw.append(state_bw)
  return inputs, tuple(states_fw), tuple(states_bw)


@export('contrib.rnn.transpose_batch_time')
def transpose_batch_time(x):
  """The first two dimensions change places; a tensor of rank 0 or 1 stays as it is."""
  x = convert(x)
  return x if x.get_shape().ndims in (0, 1) else rnn._transposed(x)


@export('contrib.rnn.best_effort_input_batch_size')
def best_effort_input_batch_size(flat_input):
  """The size of the batch of inputs [time, batch, ...]: an int where one of them knows it."""
  for x in flat_input:
    if x.get_shape().ndims is not None and x.get_shape().ndims >= 2 and \
        x.get_shape().as_list()[1] is not None:
      return x.get_shape().as_list()[1]
  return array.shape(flat_input[0])[1]
