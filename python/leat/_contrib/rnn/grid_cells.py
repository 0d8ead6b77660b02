"""contrib.rnn: LSTMs over time and frequency (Li et al., arXiv:1602.03001).

The features of a step are windows of neighbouring frequencies, which overlap. An LSTM goes from
window to window, beside the one that goes from step to step; both share what they see. """
from __future__ import annotations

import collections

from leat._contrib.rnn.linear import initialized
from leat._contrib.rnn.lstm_cells import concat_variable
from leat._export import export
from leat._ops import array, clip, math, matrix
from leat._ops.initializers import zeros_initializer
from leat._ops.rnn_cells import RNNCell
from leat._ops.variable_scope import get_variable, variable_scope


def _windows(x, start, size, feature_size, skip):
  """Windows of `size` features from `start` on."""
  count = int((size - feature_size) / skip) + 1
  return [array.slice(x, [0, start + n * skip], [-1, feature_size]) for n in range(count)]


def _affine(values, kernel, bias):
  return matrix.matmul(values, kernel) + bias


class _Frequencies(RNNCell):
  """What cells over frequencies have in common."""

  def __init__(self, num_units, use_peepholes, cell_clip, initializer, num_unit_shards, forget_bias,
               feature_size, frequency_skip, reuse):
    super().__init__(_reuse=reuse)
    self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
    self._initializer, self._shards, self._forget_bias = initializer, num_unit_shards, forget_bias
    self._feature_size, self._skip = feature_size, frequency_skip

  def _clipped(self, c):
    if self._cell_clip is None:
      return c
    return clip.clip_by_value(c, -self._cell_clip, self._cell_clip)

  def _zeros_like(self, x):
    return array.zeros(array.stack([array.shape(x)[0], self._num_units]), x.dtype)


@export('contrib.rnn.TimeFreqLSTMCell')
class TimeFreqLSTMCell(_Frequencies):
  """One LSTM for time and frequency (Sainath and Li, Interspeech 2016): each window sees the output
  of the window before. Its state has memory and output of all windows, one behind the other."""

  def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None,
               num_unit_shards=1, forget_bias=1.0, feature_size=None, frequency_skip=1, reuse=None):
    super().__init__(num_units, use_peepholes, cell_clip, initializer, num_unit_shards, forget_bias,
                     feature_size, frequency_skip, reuse)

  state_size = property(lambda self: 2 * self._num_units)
  output_size = property(lambda self: self._num_units)

  def call(self, inputs, state):
    units, dtype = self._num_units, inputs.dtype
    width = inputs.get_shape().as_list()[-1]
    if width is None:
      raise ValueError('Cannot infer input_size from static shape inference.')
    windows = _windows(inputs, 0, width, self._feature_size, self._skip)
    with initialized(self._initializer):
      kernel = concat_variable('W', [self._feature_size + 2 * units, 4 * units], dtype,
                               self._shards)
      bias = get_variable('B', [4 * units], dtype=dtype, initializer=zeros_initializer())
      diagonal = [get_variable('W_%s_diag' % gate, [units], dtype=dtype) for gate in 'FIO'] \
          if self._use_peepholes else None
    before, found = self._zeros_like(inputs), []
    for number, window in enumerate(windows):
      c, m = [array.slice(state, [0, (2 * number + part) * units], [-1, units]) for part in (0, 1)]
      gates = _affine(array.concat([window, m, before], 1), kernel, bias)
      i, j, f, o = array.split(gates, 4, 1)
      if diagonal:
        f, i = f + diagonal[0] * c, i + diagonal[1] * c
      c = self._clipped(math.sigmoid(f + self._forget_bias) * c + math.sigmoid(i) * math.tanh(j))
      if diagonal:
        o = o + diagonal[2] * c
      before = math.sigmoid(o) * math.tanh(c)
      found.append((c, before))
    return array.concat([m for _, m in found], 1), array.concat(
        [part for pair in found for part in pair], 1)


@export('contrib.rnn.GridLSTMCell')
class GridLSTMCell(_Frequencies):
  """Two LSTMs, over time and over frequency, whose weights may be shared. Windows are in blocks, by
  default one, each with weights of its own: num_frequency_blocks says how many windows each has,
  and start_freqindex_list and end_freqindex_list which features. A state is a named tuple of
  memories and outputs by window, or one tensor of them where state_is_tuple is False."""
  _directions = ('state',)

  def __init__(self, num_units, use_peepholes=False, share_time_frequency_weights=False,
               cell_clip=None, initializer=None, num_unit_shards=1, forget_bias=1.0,
               feature_size=None, frequency_skip=None, num_frequency_blocks=None,
               start_freqindex_list=None, end_freqindex_list=None, couple_input_forget_gates=False,
               state_is_tuple=True, reuse=None):
    super().__init__(num_units, use_peepholes, cell_clip, initializer, num_unit_shards, forget_bias,
                     feature_size, frequency_skip, reuse)
    if num_frequency_blocks is None:
      raise ValueError('Must specify num_frequency_blocks')
    self._share, self._couple = share_time_frequency_weights, couple_input_forget_gates
    self._blocks, self._state_is_tuple = num_frequency_blocks, state_is_tuple
    self._starts, self._ends = start_freqindex_list, end_freqindex_list
    self._total = sum(num_frequency_blocks) * len(self._directions)
    names = ['%s_f%02d_b%02d_%s' % (direction, window, block, part)
             for direction in self._directions for block, count in enumerate(num_frequency_blocks)
             for window in range(count) for part in 'cm']
    self._tuple = collections.namedtuple('GridLSTMStateTuple', names) if state_is_tuple else None

  output_size = property(lambda self: self._num_units * self._total * 2)
  state_tuple_type = property(lambda self: self._tuple)

  @property
  def state_size(self):
    if self._state_is_tuple:
      return self._tuple(*[self._num_units] * (self._total * 2))
    return self._num_units * self._total * 2

  def call(self, inputs, state):
    found = []
    with initialized(self._initializer):
      for number, windows in enumerate(self._make_windows(inputs)):
        found += self._block(windows, number, state, 'state')
    return self._joined(found)

  def _joined(self, found):
    """(output, state) of [(memory, output of time, output of frequency)] of all windows."""
    output = array.concat([m for _, m_time, m_freq in found for m in (m_time, m_freq)], 1)
    state = [part for c, m_time, _ in found for part in (c, m_time)]
    return output, self._tuple(*state) if self._state_is_tuple else array.concat(state, 1)

  def _make_windows(self, x, slice_offset=0):
    """A list of windows for each block. With an offset, features are that many places off, and
    those that come in are zeros."""
    width = x.get_shape().as_list()[-1]
    if width is None:
      raise ValueError('Cannot infer input_size from static shape inference.')
    if slice_offset > 0:
      x = array.slice(array.pad(x, [[0, 0], [0, slice_offset]]), [0, slice_offset], [-1, width])
    elif slice_offset < 0:
      x = array.slice(array.pad(x, [[0, 0], [-slice_offset, 0]]), [0, 0], [-1, width])
    if not self._starts:
      if len(self._blocks) != 1:
        raise ValueError('Length of num_frequency_blocks is not 1, but instead is %d' %
                         len(self._blocks))
      places = [(0, width)]
    else:
      if len(self._starts) != len(self._ends):
        raise ValueError('Length of start and end freqindex_list does not match %d %d' % (
            len(self._starts), len(self._ends)))
      if len(self._blocks) != len(self._starts):
        raise ValueError('Length of num_frequency_blocks is not equal to start_freqindex_list '
                         '%d %d' % (len(self._blocks), len(self._starts)))
      places = [(start, end - start) for start, end in zip(self._starts, self._ends)]
    found = [_windows(x, start, size, self._feature_size, self._skip) for start, size in places]
    for windows, count in zip(found, self._blocks):
      if len(windows) != count:
        raise ValueError('Invalid num_frequency_blocks, requires %d but gets %d, please check the '
                         'input size and filter config are correct.' % (count, len(windows)))
    return found

  def _peepholes(self, number, dtype):
    """{(gate, of which LSTM, from which LSTM): diagonal}."""
    if not self._use_peepholes:
      return {}
    gates = 'IO' if self._couple else 'FIO'
    found = {}
    for own in ('freq',) if self._share else ('freq', 'time'):
      for gate in gates:
        for source in 'ft':
          found[gate, own, source] = get_variable(
              'W_%s_diag_%s%s_%d' % (gate, own, source, number), [self._num_units], dtype=dtype)
    if self._share:
      found.update({(gate, 'time', source): d for (gate, _, source), d in list(found.items())})
    return found

  def _block(self, windows, number, state, prefix):
    """[(memory, output of time, output of frequency)] of the windows of a block."""
    units, dtype = self._num_units, windows[0].dtype
    gates = 3 if self._couple else 4
    shape = [windows[0].get_shape().as_list()[-1] + 2 * units, gates * units]

    def weights(letter):
      return (concat_variable('W_%s_%d' % (letter, number), shape, dtype, self._shards),
              get_variable('B_%s_%d' % (letter, number), shape[1:], dtype=dtype,
                           initializer=zeros_initializer()))
    of_freq = weights('f')
    of_time = of_freq if self._share else weights('t')
    diagonals = self._peepholes(number, dtype)
    m_freq, c_freq = self._zeros_like(windows[0]), self._zeros_like(windows[0])
    found = []
    for window, x in enumerate(windows):
      if self._state_is_tuple:
        name = '%s_f%02d_b%02d_' % (prefix, window, number)
        c_time, m_time = getattr(state, name + 'c'), getattr(state, name + 'm')
      else:
        c_time, m_time = [array.slice(state, [0, (2 * window + part) * units], [-1, units])
                          for part in (0, 1)]
      values = array.concat([x, m_time, m_freq], 1)
      memories = c_freq, c_time
      c_freq, o_freq = self._memory(_affine(values, *of_freq), 'freq', memories, 0, diagonals)
      c_time, o_time = self._memory(_affine(values, *of_time), 'time', memories, 1, diagonals)
      outputs = []
      for own, o, c in (('freq', o_freq, c_freq), ('time', o_time, c_time)):
        if diagonals:
          o = o + diagonals['O', own, 'f'] * c_freq + diagonals['O', own, 't'] * c_time
        outputs.append(math.sigmoid(o) * math.tanh(c))
      m_freq = outputs[0]
      found.append((c_time, outputs[1], m_freq))
    return found

  def _memory(self, gates, own, memories, which, diagonals):
    """(the new memory of one of both LSTMs, its output gate)."""
    seen = lambda gate: diagonals[gate, own, 'f'] * memories[0] + \
        diagonals[gate, own, 't'] * memories[1] if diagonals else 0.
    if self._couple:  # what is taken in is forgotten
      i, j, o = array.split(gates, 3, 1)
      take = math.sigmoid(i + seen('I'))
      f = 1 - take
    else:
      i, j, f, o = array.split(gates, 4, 1)
      take, f = math.sigmoid(i + seen('I')), math.sigmoid(f + self._forget_bias + seen('F'))
    return self._clipped(f * memories[which] + take * math.tanh(j)), o


@export('contrib.rnn.BidirectionalGridLSTMCell')
class BidirectionalGridLSTMCell(GridLSTMCell):
  """A grid over frequencies in both directions, each with weights of its own; the backward one sees
  the features `backward_slice_offset` places off."""
  _directions = ('fwd_state', 'bwd_state')

  def __init__(self, num_units, use_peepholes=False, share_time_frequency_weights=False,
               cell_clip=None, initializer=None, num_unit_shards=1, forget_bias=1.0,
               feature_size=None, frequency_skip=None, num_frequency_blocks=None,
               start_freqindex_list=None, end_freqindex_list=None, backward_slice_offset=0,
               reuse=None):
    super().__init__(num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer,
                     num_unit_shards, forget_bias, feature_size, frequency_skip,
                     num_frequency_blocks, start_freqindex_list, end_freqindex_list, True, True,
                     reuse)
    self._couple = False
    self._offset = backward_slice_offset

  def call(self, inputs, state):
    forward = self._make_windows(inputs)
    backward = forward if self._offset == 0 else self._make_windows(inputs, self._offset)
    found = []
    with initialized(self._initializer):
      for scope, blocks in (('fwd', forward), ('bwd', [list(reversed(b)) for b in backward])):
        with variable_scope(scope):
          for number, windows in enumerate(blocks):
            found += self._block(windows, number, state, scope + '_state')
    return self._joined(found)
