"""Attention mechanisms: how much a query belongs to each place of a memory.

A mechanism holds the memory [batch, time, depth], zeroed behind the length of each sequence
(`values`), and the keys that a layer makes of it. Called with a query [batch, depth] it scores each
key, and a probability function turns scores, masked behind the lengths, into alignments
[batch, time]. The mechanisms differ in the score: a product (Luong et al., arXiv:1508.04025) or a
small network (Bahdanau et al., arXiv:1409.0473); and in the probability function: softmax, or what
only moves forward (monotonic).
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._contrib.seq2seq import monotonic
from leat._contrib.seq2seq.decoder import known_batch, zeros_for
from leat._ops import array, control_flow, initializers, math, matrix, nest, nn, sequences
from leat._ops.layers import Dense
from leat._ops.variable_scope import get_variable, variable_scope


@export('contrib.seq2seq.AttentionMechanism')
class AttentionMechanism:
  """The base of mechanisms."""

  @property
  def alignments_size(self):
    raise NotImplementedError

  @property
  def state_size(self):
    raise NotImplementedError


def _masked_memory(memory, lengths, check_inner_dims_defined):
  """The memory as tensors, with zeros behind the lengths."""
  memory = nest.map_structure(lambda m: convert(m, name='memory'), memory)
  if check_inner_dims_defined:
    for m in nest.flatten(memory):
      if not m.get_shape()[2:].is_fully_defined():
        raise ValueError('Expected memory %s to have fully defined inner dims, but saw shape: %s' %
                         (m.name, m.get_shape()))
  if lengths is None:
    return memory
  first = nest.flatten(memory)[0]
  mask = sequences.sequence_mask(lengths, maxlen=array.shape(first)[1], dtype=first.dtype)

  def masked(m):
    rank = m.get_shape().ndims
    extra = array.ones([(rank if rank is not None else array.rank(m)) - 2], dtypes.int32)
    sizes, given = array.shape(m)[0], array.shape(lengths)[0]
    same = control_flow.Assert(math.equal(sizes, given), [
        'memory_sequence_length has another batch size than memory', given, sizes])
    with control_dependencies([same]):
      return m * array.reshape(mask, array.concat([array.shape(mask), extra], 0))
  known = lengths.get_shape()[0].value
  for m in nest.flatten(memory):
    size = m.get_shape()[0].value
    if None not in (known, size) and known != size:
      raise ValueError('The batch of memory_sequence_length is %d, must be that of memory, %d' % (
          known, size))
  return nest.map_structure(masked, memory)


def _masked_score(score, lengths, value):
  """The score, and `value` behind the lengths."""
  if lengths is None:
    return score
  text = 'All values in memory_sequence_length must greater than zero.'
  positive = control_flow.Assert(math.reduce_all(lengths > 0), [text, lengths])
  with control_dependencies([positive]):
    mask = sequences.sequence_mask(lengths, maxlen=array.shape(score)[1])
    return array.where(mask, score, value * array.ones_like(score))


class _BaseAttentionMechanism(AttentionMechanism):
  """A memory, layers for the query and the memory, and a probability function of (score, previous
  alignments)."""

  def __init__(self, query_layer, memory, probability_fn, memory_sequence_length=None,
               memory_layer=None, check_inner_dims_defined=True, score_mask_value=None,
               custom_key_value_fn=None, name=None):
    if not callable(probability_fn):
      raise TypeError('probability_fn must be callable, saw type: %s' %
                      type(probability_fn).__name__)
    for layer, what in ((query_layer, 'query_layer'), (memory_layer, 'memory_layer')):
      if layer is not None and not (hasattr(layer, 'dtype') and callable(layer)):
        raise TypeError('%s is not a Layer: %s' % (what, type(layer).__name__))
    self._query_layer, self._memory_layer = query_layer, memory_layer
    kinds = [layer._dtype for layer in (memory_layer, query_layer) if layer is not None]
    self.dtype = kinds[0] if kinds else nest.flatten(memory)[0].dtype
    if len(kinds) == 2 and kinds[0] != kinds[1]:
      raise TypeError('query_layer and memory_layer have the types %s and %s' % (
          kinds[1], kinds[0]))
    if score_mask_value is None:
      score_mask_value = dtypes.as_dtype(self.dtype).as_numpy_dtype(-float('inf'))
    with name_scope(name, 'BaseAttentionMechanismInit', nest.flatten(memory)):
      if memory_sequence_length is not None:
        memory_sequence_length = convert(memory_sequence_length, name='memory_sequence_length')
      self._lengths = memory_sequence_length
      self._probability_fn = lambda score, previous: probability_fn(
          _masked_score(score, memory_sequence_length, score_mask_value), previous)
      self._values = _masked_memory(memory, memory_sequence_length, check_inner_dims_defined)
      self._keys = self._values if memory_layer is None else memory_layer(self._values)
      if custom_key_value_fn is not None:
        self._keys, self._values = custom_key_value_fn(self._keys, self._values)
      first = nest.flatten(self._keys)[0]
      sizes = first.get_shape().as_list()
      self._batch_size = array.shape(first)[0] if sizes[0] is None else sizes[0]
      self._alignments_size = array.shape(first)[1] if sizes[1] is None else sizes[1]

  memory_layer = property(lambda self: self._memory_layer)
  query_layer = property(lambda self: self._query_layer)
  values = property(lambda self: self._values)
  keys = property(lambda self: self._keys)
  batch_size = property(lambda self: self._batch_size)
  alignments_size = property(lambda self: self._alignments_size)
  state_size = property(lambda self: self._alignments_size)

  def initial_alignments(self, batch_size, dtype):
    """The alignments [batch, time] before the first step: zeros."""
    return zeros_of(self._alignments_size, batch_size, dtype)

  def initial_state(self, batch_size, dtype):
    """The state before the first step; that of these mechanisms is the previous alignments."""
    return self.initial_alignments(batch_size, dtype)

  def __call__(self, query, state):
    """(alignments, next state) for a query [batch, depth]."""
    with variable_scope(None, self._scope, [query]):
      alignments = self._probability_fn(self._score(query), state)
    return alignments, alignments


def zeros_of(size, batch_size, dtype):
  """Zeros [batch, size], where the size may be a tensor."""
  if isinstance(size, int):
    return zeros_for(size, batch_size, dtype)
  zeros = array.zeros(array.stack([batch_size, size]), dtype)
  zeros.set_shape([known_batch(batch_size), None])
  return zeros


class _Luong(_BaseAttentionMechanism):
  """The score is the product of the query and the keys, times a variable where it is scaled."""

  def _score(self, query):
    keys = self._keys
    depth, units = query.get_shape()[-1], keys.get_shape()[-1]
    if depth.value != units.value:
      raise ValueError(
          'Incompatible or unknown inner dimensions between query and keys.  Query (%s) has units: '
          "%s.  Keys (%s) have units: %s.  Perhaps you need to set num_units to the keys' "
          'dimension (%s)?' % (query, depth, keys, units, units))
    products = matrix.matmul(array.expand_dims(query, 1), keys, transpose_b=True)
    return self._finished_score(array.squeeze(products, [1]), query.dtype)

  def _finished_score(self, score, dtype):
    if not self._scale:
      return score
    return get_variable('attention_g', dtype=dtype, shape=(),
                        initializer=initializers.ones_initializer()) * score


class _Bahdanau(_BaseAttentionMechanism):
  """The score is v * tanh(keys + query); where it is normalized, the length of v is a variable and
  a bias is added."""

  def _score(self, query):
    query = self._query_layer(query) if self._query_layer is not None else query
    dtype, units = query.dtype, self._keys.get_shape()[2].value
    units = array.shape(self._keys)[2] if units is None else units
    query = array.expand_dims(query, 1)
    v = get_variable('attention_v', [units], dtype=dtype)
    if not self._normalize:
      return math.reduce_sum(v * math.tanh(self._keys + query), [2])
    g = get_variable('attention_g', dtype=dtype, shape=(), initializer=
                     initializers.constant_initializer((1.0 / units) ** 0.5, dtype=dtype))
    b = get_variable('attention_b', [units], dtype=dtype,
                     initializer=initializers.zeros_initializer())
    unit = g * v * math.rsqrt(math.reduce_sum(math.square(v)))
    return math.reduce_sum(unit * math.tanh(self._keys + query + b), [2])


class _Monotonic(_BaseAttentionMechanism):
  """Starts at the first place; a bias is added to the score."""

  def _score(self, query):
    score = super()._score(query)
    return score + get_variable('attention_score_bias', dtype=score.dtype, shape=(), initializer=
                                initializers.constant_initializer(self._bias, dtype=score.dtype))

  def initial_alignments(self, batch_size, dtype):
    """All attention on the first place."""
    return array.one_hot(array.zeros([batch_size], dtypes.int32), self._alignments_size,
                         dtype=dtype)


def _dense(num_units, name, dtype):
  return Dense(num_units, name=name, use_bias=False, dtype=dtype)


def _only_score(probability_fn):
  """A probability function that is not interested in the previous alignments."""
  function = nn.softmax if probability_fn is None else probability_fn
  return lambda score, _: function(score)


def _check_mode(mode):
  if mode not in ('recursive', 'parallel', 'hard'):
    raise ValueError("mode must be 'recursive', 'parallel', or 'hard', is %r" % (mode,))


@export('contrib.seq2seq.LuongAttention')
class LuongAttention(_Luong):
  """Multiplicative attention; num_units is the depth of the queries and of the keys."""
  _scope = 'luong_attention'

  def __init__(self, num_units, memory, memory_sequence_length=None, scale=False,
               probability_fn=None, score_mask_value=None, dtype=None, custom_key_value_fn=None,
               name='LuongAttention'):
    dtype = dtypes.float32 if dtype is None else dtype
    super().__init__(None, memory, _only_score(probability_fn), memory_sequence_length,
                     _dense(num_units, 'memory_layer', dtype), score_mask_value=score_mask_value,
                     custom_key_value_fn=custom_key_value_fn, name=name)
    self._num_units, self._scale, self._name = num_units, scale, name


@export('contrib.seq2seq.BahdanauAttention')
class BahdanauAttention(_Bahdanau):
  """Additive attention; num_units is the depth of the network inside. With `normalize` it is
  weight-normalized (Salimans and Kingma, arXiv:1602.07868)."""
  _scope = 'bahdanau_attention'

  def __init__(self, num_units, memory, memory_sequence_length=None, normalize=False,
               probability_fn=None, score_mask_value=None, dtype=None, custom_key_value_fn=None,
               name='BahdanauAttention'):
    dtype = dtypes.float32 if dtype is None else dtype
    super().__init__(_dense(num_units, 'query_layer', dtype), memory, _only_score(probability_fn),
                     memory_sequence_length, _dense(num_units, 'memory_layer', dtype),
                     score_mask_value=score_mask_value, custom_key_value_fn=custom_key_value_fn,
                     name=name)
    self._num_units, self._normalize, self._name = num_units, normalize, name


@export('contrib.seq2seq.LuongMonotonicAttention')
class LuongMonotonicAttention(_Monotonic, _Luong):
  """Monotonic attention with Luong's score."""
  _scope = 'luong_monotonic_attention'

  def __init__(self, num_units, memory, memory_sequence_length=None, scale=False,
               score_mask_value=None, sigmoid_noise=0., sigmoid_noise_seed=None,
               score_bias_init=0., mode='parallel', dtype=None, name='LuongMonotonicAttention'):
    _check_mode(mode)
    dtype = dtypes.float32 if dtype is None else dtype
    super().__init__(
        None, memory, lambda score, previous: monotonic.monotonic_probabilities(
            score, previous, sigmoid_noise, mode, sigmoid_noise_seed),
        memory_sequence_length, _dense(num_units, 'memory_layer', dtype),
        score_mask_value=score_mask_value, name=name)
    self._num_units, self._scale, self._bias = num_units, scale, score_bias_init
    self._name = name


@export('contrib.seq2seq.BahdanauMonotonicAttention')
class BahdanauMonotonicAttention(_Monotonic, _Bahdanau):
  """Monotonic attention with Bahdanau's score."""
  _scope = 'bahdanau_monotonic_attention'

  def __init__(self, num_units, memory, memory_sequence_length=None, normalize=False,
               score_mask_value=None, sigmoid_noise=0., sigmoid_noise_seed=None,
               score_bias_init=0., mode='parallel', dtype=None, name='BahdanauMonotonicAttention'):
    _check_mode(mode)
    dtype = dtypes.float32 if dtype is None else dtype
    super().__init__(
        _dense(num_units, 'query_layer', dtype), memory,
        lambda score, previous: monotonic.monotonic_probabilities(
            score, previous, sigmoid_noise, mode, sigmoid_noise_seed),
        memory_sequence_length, _dense(num_units, 'memory_layer', dtype),
        score_mask_value=score_mask_value, name=name)
    self._num_units, self._normalize, self._bias = num_units, normalize, score_bias_init
    self._name = name
