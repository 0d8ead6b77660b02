"""contrib.rnn: variants of the LSTM."""
from __future__ import annotations

from leat._contrib.rnn.linear import (depth_of, initialized, joined, linear,
                                      normalized)
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._ops import array, clip, math, matrix, nn, random
from leat._ops.initializers import (constant_initializer, random_uniform_initializer,
                                    zeros_initializer)
from leat._ops.rnn_cells import LSTMStateTuple, RNNCell
from leat._ops.variable_scope import get_variable, variable_scope


class LSTM(RNNCell):
  """What variants have in common: sizes, peepholes, clipping, a projection, normalization."""

  def __init__(self, num_units, initializer=None, num_proj=None, proj_clip=None, forget_bias=1.0,
               use_peepholes=False, cell_clip=None, state_is_tuple=True, activation=None,
               layer_norm=False, norm_gain=1.0, norm_shift=0.0, reuse=None, name=None, dtype=None):
    super().__init__(_reuse=reuse, name=name, dtype=dtype)
    self._num_units, self._initializer, self._num_proj = num_units, initializer, num_proj
    self._proj_clip, self._forget_bias = proj_clip, forget_bias
    self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
    self._state_is_tuple, self._activation = state_is_tuple, activation or math.tanh
    self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift

  output_size = property(lambda self: self._num_proj or self._num_units)

  @property
  def state_size(self):
    sizes = self._num_units, self.output_size
    return LSTMStateTuple(*sizes) if self._state_is_tuple else sum(sizes)

  def _parts(self, state):
    """(memory, last output) of a state."""
    if self._state_is_tuple:
      return state
    return (array.slice(state, [0, 0], [-1, self._num_units]),
            array.slice(state, [0, self._num_units], [-1, self.output_size]))

  def _state(self, c, m):
    return LSTMStateTuple(c, m) if self._state_is_tuple else array.concat([c, m], 1)

  def _clipped(self, c):
    if self._cell_clip is None:
      return c
    return clip.clip_by_value(c, -self._cell_clip, self._cell_clip)

  def _norm(self, tensor, scope):
    return normalized(tensor, scope, self._norm_gain, self._norm_shift) if self._layer_norm \
        else tensor

  def _diagonal(self, name, dtype):
    return get_variable(name, [self._num_units], dtype=dtype)


@export('contrib.rnn.CoupledInputForgetGateLSTMCell')
class CoupledInputForgetGateLSTMCell(LSTM):
  """An LSTM that takes in as much as it forgets (arXiv:1503.04069)."""

  def __init__(self, num_units, use_peepholes=False, initializer=None, num_proj=None,
               proj_clip=None, num_unit_shards=1, num_proj_shards=1, forget_bias=1.0,
               state_is_tuple=True, activation=math.tanh, reuse=None, layer_norm=False,
               norm_gain=1.0, norm_shift=0.0):
    super().__init__(num_units, initializer, num_proj, proj_clip, forget_bias, use_peepholes, None,
                     state_is_tuple, activation, layer_norm, norm_gain, norm_shift, reuse)
    self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards

  def call(self, inputs, state):
    c, m = self._parts(state)
    with initialized(self._initializer):
      values, dtype = joined([inputs, m]), inputs.dtype
      kernel = concat_variable('W', [depth_of(values), 3 * self._num_units], dtype,
                               self._num_unit_shards)
      gates = matrix.matmul(values, kernel)
      if not self._layer_norm:
        gates = nn.bias_add(gates, get_variable('B', [3 * self._num_units], dtype=dtype,
                                                initializer=zeros_initializer()))
      j, f, o = array.split(gates, 3, 1)
      j, f, o = self._norm(j, 'transform'), self._norm(f, 'forget'), self._norm(o, 'output')
      if self._use_peepholes:
        f = f + self._diagonal('W_F_diag', dtype) * c
      forget = math.sigmoid(f + self._forget_bias)
      c = self._norm(forget * c + (1 - forget) * self._activation(j), 'state')
      if self._use_peepholes:
        o = o + self._diagonal('W_O_diag', dtype) * c
      m = math.sigmoid(o) * self._activation(c)
      if self._num_proj is not None:
        m = matrix.matmul(m, concat_variable('W_P', [self._num_units, self._num_proj], dtype,
                                             self._num_proj_shards))
        if self._proj_clip is not None:
          m = clip.clip_by_value(m, -self._proj_clip, self._proj_clip)
    return m, self._state(c, m)


def concat_variable(name, shape, dtype, num_shards):
  """A variable in parts 'name_0', ..., of rows as equal as they can be."""
  rows, rest = divmod(shape[0], num_shards)
  parts = [get_variable('%s_%d' % (name, i), [rows + (1 if i < rest else 0)] + shape[1:],
                        dtype=dtype) for i in range(num_shards)]
  return parts[0] if num_shards == 1 else array.concat(parts, 0)


@export('contrib.rnn.LayerNormBasicLSTMCell')
class LayerNormBasicLSTMCell(LSTM):
  """An LSTM whose gates and memory are normalised (arXiv:1607.06450), and whose new values are
  dropped out (arXiv:1603.05118)."""

  def __init__(self, num_units, forget_bias=1.0, input_size=None, activation=math.tanh,
               layer_norm=True, norm_gain=1.0, norm_shift=0.0, dropout_keep_prob=1.0,
               dropout_prob_seed=None, reuse=None):
    super().__init__(num_units, forget_bias=forget_bias, activation=activation,
                     layer_norm=layer_norm, norm_gain=norm_gain, norm_shift=norm_shift, reuse=reuse)
    del input_size  # it is that of the inputs
    self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

  def call(self, inputs, state):
    c, h = state
    gates = linear([inputs, h], 4 * self._num_units, not self._layer_norm)
    i, j, f, o = [self._norm(gate, scope) for gate, scope in zip(
        array.split(gates, 4, 1), ('input', 'transform', 'forget', 'output'))]
    g = self._activation(j)
    if not isinstance(self._keep_prob, (int, float)) or self._keep_prob < 1:
      g = nn.dropout(g, self._keep_prob, seed=self._seed)
    c = c * math.sigmoid(f + self._forget_bias) + math.sigmoid(i) * g
    c = self._norm(c, 'state')
    h = self._activation(c) * math.sigmoid(o)
    return h, LSTMStateTuple(c, h)


def _peephole_step(cell, gates, c, dtype):
  """(memory, output) of four gates, with what a cell asks for."""
  i, j, f, o = [cell._norm(gate, scope) for gate, scope in zip(
      array.split(gates, 4, 1), ('input', 'transform', 'forget', 'output'))]
  if cell._use_peepholes:
    f, i = f + cell._diagonal('w_f_diag', dtype) * c, i + cell._diagonal('w_i_diag', dtype) * c
  c = math.sigmoid(f + cell._forget_bias) * c + math.sigmoid(i) * cell._activation(j)
  c = cell._clipped(cell._norm(c, 'state'))
  if cell._use_peepholes:
    o = o + cell._diagonal('w_o_diag', dtype) * c
  return c, math.sigmoid(o) * cell._activation(c)


@export('contrib.rnn.LayerNormLSTMCell')
class LayerNormLSTMCell(LSTM):
  """LSTMCell with normalised gates and memory."""

  def __init__(self, num_units, use_peepholes=False, cell_clip=None, initializer=None,
               num_proj=None, proj_clip=None, forget_bias=1.0, activation=None, layer_norm=False,
               norm_gain=1.0, norm_shift=0.0, reuse=None):
    super().__init__(num_units, initializer, num_proj, proj_clip, forget_bias, use_peepholes,
                     cell_clip, True, activation, layer_norm, norm_gain, norm_shift, reuse)

  def call(self, inputs, state):
    c, m = state
    with initialized(self._initializer):
      gates = linear([inputs, m], 4 * self._num_units, not self._layer_norm)
      c, m = _peephole_step(self, gates, c, inputs.dtype)
      if self._num_proj is not None:
        with variable_scope('projection'):
          m = linear(m, self._num_proj, False)
        if self._proj_clip is not None:
          m = clip.clip_by_value(m, -self._proj_clip, self._proj_clip)
    return m, LSTMStateTuple(c, m)


@export('contrib.rnn.WeightNormLSTMCell')
class WeightNormLSTMCell(LSTM):
  """LSTMCell whose weights are directions times lengths (arXiv:1602.07868)."""

  def __init__(self, num_units, norm=True, use_peepholes=False, cell_clip=None, initializer=None,
               num_proj=None, proj_clip=None, forget_bias=1, activation=None, reuse=None):
    super().__init__(num_units, initializer, num_proj, proj_clip, forget_bias, use_peepholes,
                     cell_clip, True, activation, reuse=reuse)
    self._weight_norm = norm

  def _linear(self, tensors, size, bias):
    depths = [depth_of(t) for t in tensors]
    dtype = tensors[0].dtype
    kernel = get_variable('kernel', [sum(depths), size], dtype=dtype)
    if self._weight_norm:
      parts, start = [], 0
      for number, depth in enumerate(depths):
        length = get_variable('norm_%d' % number, [size], dtype=dtype)
        rows = array.slice(kernel, [start, 0], [depth, -1])
        parts.append(nn.l2_normalize(rows, 0) * length)
        start += depth
      kernel = array.concat(parts, 0)
    product = matrix.matmul(joined(tensors), kernel)
    if not bias:
      return product
    return nn.bias_add(product, get_variable('bias', [size], dtype=dtype,
                                             initializer=zeros_initializer()))

  def call(self, inputs, state):
    c, h = state
    with initialized(self._initializer):
      c, h = _peephole_step(self, self._linear([inputs, h], 4 * self._num_units, True), c,
                            inputs.dtype)
      if self._num_proj is not None:
        with variable_scope('projection'):
          h = self._linear([h], self._num_proj, False)
        if self._proj_clip is not None:
          h = clip.clip_by_value(h, -self._proj_clip, self._proj_clip)
    return h, LSTMStateTuple(c, h)


def _random_exp_initializer(minval, maxval):
  """Values whose logarithm is even between those of two limits."""
  def initializer(shape, dtype=dtypes.float32, partition_info=None):
    del partition_info
    log = lambda x: apply_op('Log', x=math.cast(x, dtype))
    return math.exp(random.random_uniform(shape, log(minval), log(maxval), dtype))
  return initializer


@export('contrib.rnn.PhasedLSTMCell')
class PhasedLSTMCell(LSTM):
  """An LSTM each unit of which is open in a part of a period of its own (arXiv:1610.09513). Its
  inputs are (time [batch, 1], features [batch, n])."""

  def __init__(self, num_units, use_peepholes=False, leak=0.001, ratio_on=0.1,
               trainable_ratio_on=True, period_init_min=1.0, period_init_max=1000.0, reuse=None):
    super().__init__(num_units, use_peepholes=use_peepholes, reuse=reuse)
    self._leak, self._ratio_on, self._trainable_ratio_on = leak, ratio_on, trainable_ratio_on
    self._limits = period_init_min, period_init_max

  def _openness(self, time, dtype):
    """How open each unit is at a time: rising, falling, and closed but for a leak."""
    units = [self._num_units]
    period = get_variable('period', units, dtype=dtype,
                          initializer=_random_exp_initializer(*self._limits))
    phase = get_variable('phase', units, dtype=dtype, initializer=random_uniform_initializer(
        0., period.initial_value))
    ratio_on = get_variable('ratio_on', units, dtype=dtype, trainable=self._trainable_ratio_on,
                            initializer=constant_initializer(self._ratio_on))
    period_, phase_ = math.cast(period, time.dtype), math.cast(phase, time.dtype)
    ratio = math.cast(apply_op('FloorMod', x=time - phase_, y=period_) / period_, dtype)
    rising = 2 * ratio / ratio_on
    on = ratio_on * array.ones_like(ratio)
    found = array.where(ratio < on, 2 - rising, self._leak * ratio)
    return array.where(ratio < 0.5 * on, rising, found)

  def call(self, inputs, state):
    (c_prev, h_prev), (time, x) = state, inputs
    peeps = [c_prev] if self._use_peepholes else []
    with variable_scope('mask_gates'):
      gates = math.sigmoid(linear([x, h_prev] + peeps, 2 * self._num_units, True))
      take, forget = array.split(gates, 2, 1)
    with variable_scope('new_input'):
      new = math.tanh(linear([x, h_prev], self._num_units, True))
    c = c_prev * forget + take * new
    with variable_scope('output_gate'):
      o = linear([x, h_prev] + ([c] if self._use_peepholes else []), self._num_units, True)
    h = math.tanh(c) * math.sigmoid(o)
    k = self._openness(time, x.dtype)
    c, h = k * c + (1 - k) * c_prev, k * h + (1 - k) * h_prev
    return h, LSTMStateTuple(c, h)


@export('contrib.rnn.GLSTMCell')
class GLSTMCell(LSTM):
  """An LSTM of groups, each of a part of the inputs and the state (arXiv:1703.10722)."""

  def __init__(self, num_units, initializer=None, num_proj=None, number_of_groups=1,
               forget_bias=1.0, activation=math.tanh, reuse=None):
    super().__init__(num_units, initializer, num_proj, forget_bias=forget_bias,
                     activation=activation, reuse=reuse)
    for name, size in (('num_units', num_units), ('num_proj', num_proj or number_of_groups)):
      if size % number_of_groups:
        raise ValueError('%s must be divisible by number_of_groups: %d, %d' % (name, size,
                                                                             number_of_groups))
    self._groups = number_of_groups

  def call(self, inputs, state):
    (c, m), groups = state, self._groups
    size = inputs.get_shape().as_list()[-1]
    if size is None:
      raise ValueError('input size must be statically known')
    if size % groups:
      raise ValueError('input size (%d) must be divisible by number_of_groups (%d)' % (size,
                                                                                     groups))
    with initialized(self._initializer):
      parts = []
      for number, (x, own) in enumerate(zip(array.split(inputs, groups, 1),
                                            array.split(m, groups, 1))):
        with variable_scope('group%d' % number):
          gates = linear([x, own], 4 * self._num_units // groups, False)
          parts.append(array.split(gates, 4, 1))
      i, j, f, o = [joined(list(gate)) + get_variable(
          'bias_' + name, [self._num_units], dtype=inputs.dtype, initializer=zeros_initializer())
                    for gate, name in zip(zip(*parts), 'ijfo')]
      c = math.sigmoid(f + self._forget_bias) * c + math.sigmoid(i) * math.tanh(j)
      m = math.sigmoid(o) * self._activation(c)
      if self._num_proj is not None:
        with variable_scope('projection'):
          m = linear(m, self._num_proj, False)
    return m, LSTMStateTuple(c, m)


@export('contrib.rnn.NASCell')
class NASCell(LSTM):
  """The cell that neural architecture search found (arXiv:1611.01578)."""

  def __init__(self, num_units, num_proj=None, use_bias=False, reuse=None):
    super().__init__(num_units, num_proj=num_proj, reuse=reuse)
    self._use_bias = use_bias

  def call(self, inputs, state):
    c, m = state
    units, dtype = self._num_units, inputs.dtype
    recurrent = get_variable('recurrent_kernel', [self.output_size, 8 * units], dtype=dtype)
    kernel = get_variable('kernel', [depth_of(inputs), 8 * units], dtype=dtype)
    of_m = matrix.matmul(m, recurrent)
    if self._use_bias:
      of_m = nn.bias_add(of_m, get_variable('bias', [8 * units], dtype=dtype,
                                            initializer=zeros_initializer()))
    x, h = array.split(matrix.matmul(inputs, kernel), 8, 1), array.split(of_m, 8, 1)
    relu, sigmoid, tanh = lambda v: apply_op('Relu', features=v), math.sigmoid, math.tanh
    first = [sigmoid(x[0] + h[0]), relu(x[1] + h[1]), sigmoid(x[2] + h[2]), relu(x[3] * h[3]),
             tanh(x[4] + h[4]), sigmoid(x[5] + h[5]), tanh(x[6] + h[6]), sigmoid(x[7] + h[7])]
    second = [tanh(first[0] * first[1]), tanh(first[2] + first[3]), tanh(first[4] * first[5]),
              sigmoid(first[6] + first[7])]
    c = tanh(second[0] + c) * second[1]
    m = tanh(c * tanh(second[2] + second[3]))
    if self._num_proj is not None:
      m = matrix.matmul(m, get_variable('projection_weights', [units, self._num_proj],
                                        dtype=dtype))
    return m, LSTMStateTuple(c, m)


@export('contrib.rnn.IndyLSTMCell')
class IndyLSTMCell(LSTM):
  """An LSTM whose units see of the state each its own element only (arXiv:1903.08023)."""

  def __init__(self, num_units, forget_bias=1.0, activation=None, reuse=None,
               kernel_initializer=None, bias_initializer=None, name=None, dtype=None):
    super().__init__(num_units, forget_bias=forget_bias, activation=activation, reuse=reuse,
                     name=name, dtype=dtype)
    self._initializers = kernel_initializer, bias_initializer

  def build(self, inputs_shape):
    units, (kernel, bias) = self._num_units, self._initializers
    self._kernel_w = self.add_weight('w_kernel', [inputs_shape.as_list()[-1], 4 * units],
                                     initializer=kernel)
    self._kernel_u = self.add_weight('u_kernel', [1, 4 * units],
                                     initializer=random_uniform_initializer(-1, 1))
    self._bias = self.add_weight('bias', [4 * units], initializer=bias or zeros_initializer())

  def call(self, inputs, state):
    c, h = state
    gates = matrix.matmul(inputs, self._kernel_w) + array.concat([h] * 4, 1) * self._kernel_u
    i, j, f, o = array.split(nn.bias_add(gates, self._bias), 4, 1)
    c = c * math.sigmoid(f + self._forget_bias) + math.sigmoid(i) * self._activation(j)
    h = self._activation(c) * math.sigmoid(o)
    return h, LSTMStateTuple(c, h)
