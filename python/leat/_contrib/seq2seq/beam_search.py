"""BeamSearchDecoder: a decoder that keeps the best few sequences (beams) of each batch entry.

A step scores each beam with each word after it, and keeps the beam_width best; a beam that has
ended is only followed by end tokens, which cost nothing. Scores are log probabilities, divided by a
length penalty, with a penalty for places of the memory that attention did not cover (Wu et al.,
arXiv:1609.08144). At the end, gather_tree puts words and the beams that they come from together.

The cell sees batch and beams as one dimension; elsewhere they are two.
"""
from __future__ import annotations

import collections

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._contrib.seq2seq import attention_wrapper, basic_decoder, decoder, step_inputs
from leat._contrib.seq2seq.gather_tree import gather_tree, gather_tree_from_array
from leat._ops import array, control_flow, embedding as embeddings, math, matrix, nest, nn
from leat._ops.tensor_array import TensorArray


@export('contrib.seq2seq.BeamSearchDecoderState')
class BeamSearchDecoderState(collections.namedtuple('BeamSearchDecoderState', (
    'cell_state', 'log_probs', 'finished', 'lengths', 'accumulated_attention_probs'))):
  """The state of the cell [batch, beam, ...], and of each beam [batch, beam] its log probability,
  whether it has ended, its length, and where it attended to, or ()."""
  __slots__ = ()


@export('contrib.seq2seq.BeamSearchDecoderOutput')
class BeamSearchDecoderOutput(collections.namedtuple('BeamSearchDecoderOutput', (
    'scores', 'predicted_ids', 'parent_ids'))):
  """Of a step, [batch, beam] each: scores, words, and the beams of the step before."""
  __slots__ = ()


@export('contrib.seq2seq.FinalBeamSearchDecoderOutput')
class FinalBeamSearchDecoderOutput(collections.namedtuple('FinalBeamDecoderOutput', (
    'predicted_ids', 'beam_search_decoder_output'))):
  """The words of whole sequences, best beam first, and what the steps gave."""
  __slots__ = ()


def _tiled(t, multiplier):
  t = convert(t, name='t')
  known = t.get_shape()
  if known.ndims is None:
    raise ValueError('t must have statically known rank')
  shape = array.shape(t)
  tiled = apply_op('Tile', input=array.expand_dims(t, 1),
                   multiples=[1, multiplier] + [1] * (known.ndims - 1))
  tiled = array.reshape(tiled, array.concat([[shape[0] * multiplier], shape[1:]], 0))
  tiled.set_shape(TensorShape([known[0] * multiplier if known[0].value is not None and
                               isinstance(multiplier, int) else None]).concatenate(known[1:]))
  return tiled


@export('contrib.seq2seq.tile_batch')
def tile_batch(t, multiplier, name=None):
  """Each entry of the batch `multiplier` times, one behind the other, in all tensors of a
  structure: [batch, ...] becomes [batch * multiplier, ...]."""
  with name_scope(name, 'tile_batch', nest.flatten(t) + [multiplier]):
    return nest.map_structure(lambda item: _tiled(item, multiplier), t)


# ---- Scores -------------------------------------------------------------------------------------


def _is_zero(weight):
  value = constant_value(weight) if isinstance(weight, _leat.Output) else weight
  return value is not None and value == 0


def _length_penalty(lengths, weight):
  """((5 + length) / 6) ** weight."""
  if _is_zero(weight):
    return 1.0
  weight = convert(weight, dtypes.float32, 'length_penalty_weight')
  if weight.get_shape().ndims != 0:
    raise ValueError('length_penalty_weight must be a scalar, has shape %s' % weight.get_shape())
  return math.pow((5.0 + math.cast(lengths, dtypes.float32)) / 6.0, weight)


def _scores(log_probs, lengths, length_penalty_weight, coverage_penalty_weight, covered):
  """Scores [batch, beam, words]; `covered` [batch, beam, time] is what was attended to."""
  scores = log_probs / _length_penalty(lengths, length_penalty_weight)
  if covered is None:
    return scores
  weight = convert(coverage_penalty_weight, dtypes.float32, 'coverage_penalty_weight')
  if weight.get_shape().ndims != 0:
    raise ValueError('coverage_penalty_weight must be a scalar, has shape %s' % weight.get_shape())
  penalty = math.reduce_sum(apply_op('Log', x=apply_op('Minimum', x=covered, y=1.0)), 2) * weight
  return scores + array.expand_dims(penalty, 2)


def _attention_of(state, weight):
  """The sum of the alignments of all attention in a state, divided by their number; None where
  coverage has no weight."""
  if _is_zero(weight):
    return None
  found = []

  def collect(item):
    if isinstance(item, attention_wrapper.AttentionWrapperState):
      found.extend(item.alignments if isinstance(item.alignments, tuple) else [item.alignments])
    elif isinstance(item, (tuple, list)):
      for part in item:
        collect(part)
  collect(state)
  if not found:
    raise ValueError('coverage_penalty_weight must be 0.0 when none of the cells is wrapped with '
                     'attention: there is no AttentionWrapperState in the state')
  return matrix.add_n(found) / len(found) if len(found) > 1 else found[0]


def _masked(log_probs, end_token, finished):
  """Of beams that have ended, only the end token can follow, with probability 1."""
  words = array.shape(log_probs)[2]
  row = array.one_hot(end_token, words, dtype=log_probs.dtype, on_value=0.0,
                      off_value=log_probs.dtype.min)
  sizes = array.shape(log_probs)
  after_end = apply_op('Tile', input=array.reshape(row, [1, 1, -1]),
                       multiples=array.stack([sizes[0], sizes[1], 1]))
  is_over = apply_op('Tile', input=array.expand_dims(finished, 2),
                     multiples=array.stack([1, 1, words]))
  return array.where(is_over, after_end, log_probs)


def _rows(values, beams, batch, beam_width):
  """values [batch, beam, ...] of the beams [batch, beam_width]."""
  first = array.expand_dims(math.range(batch) * beam_width, 1)
  shape = array.shape(values)
  flat = array.reshape(values, array.concat([[batch * beam_width], shape[2:]], 0))
  found = array.gather(flat, beams + first)
  found.set_shape(values.get_shape())
  return found


# ---- The decoder --------------------------------------------------------------------------------


@export('contrib.seq2seq.BeamSearchDecoder')
class BeamSearchDecoder(decoder.Decoder):
  """`initial_state` is that of the cell for batch * beam_width sequences (tile_batch); start_tokens
  are [batch]. With `reorder_tensor_arrays`, TensorArrays in the last state (histories of
  alignments) become tensors in the order of the whole sequences."""

  def __init__(self, cell, embedding, start_tokens, end_token, initial_state, beam_width,
               output_layer=None, length_penalty_weight=0.0, coverage_penalty_weight=0.0,
               reorder_tensor_arrays=True):
    basic_decoder.check_cell(cell)
    basic_decoder.check_output_layer(output_layer)
    self._cell, self._output_layer = cell, output_layer
    self._reorders = reorder_tensor_arrays
    self._embedding_fn = step_inputs.lookup(embedding)
    self._start_tokens = convert(start_tokens, dtypes.int32, 'start_tokens')
    if self._start_tokens.get_shape().ndims != 1:
      raise ValueError('start_tokens must be a vector')
    self._end_token = convert(end_token, dtypes.int32, 'end_token')
    if self._end_token.get_shape().ndims != 0:
      raise ValueError('end_token must be a scalar')
    self._batch_size = array.size(self._start_tokens)
    self._known_batch = self._start_tokens.get_shape()[0].value
    self._beam_width = beam_width
    self._length_weight, self._coverage_weight = length_penalty_weight, coverage_penalty_weight
    self._initial_state = nest.map_structure(self._split, initial_state)
    self._start_tokens = apply_op('Tile', input=array.expand_dims(self._start_tokens, 1),
                                  multiples=[1, beam_width])
    self._start_inputs = self._embedding_fn(self._start_tokens)
    # Only the first beam may be continued in the first step: all are the same.
    self._finished = array.one_hot(array.zeros([self._batch_size], dtypes.int32), beam_width,
                                   on_value=False, off_value=True, dtype=dtypes.bool)

  batch_size = property(lambda self: self._batch_size)
  tracks_own_finished = property(lambda self: True)

  @property
  def output_size(self):
    shape = TensorShape([self._beam_width])
    return BeamSearchDecoderOutput(shape, shape, shape)

  @property
  def output_dtype(self):
    kind = nest.flatten(self._initial_state)[0].dtype
    return BeamSearchDecoderOutput(kind, dtypes.int32, dtypes.int32)

  def _split(self, t):
    """[batch * beam, ...] as [batch, beam, ...]; scalars and TensorArrays as they are."""
    if isinstance(t, TensorArray):
      return t
    t = convert(t, name='t')
    shape = t.get_shape()
    if shape.ndims is None:
      raise ValueError('Expected tensor (%s) to have known rank, but ndims == None.' % t.name)
    if shape.ndims == 0:
      return t
    if None not in (shape[0].value, self._known_batch) and \
        shape[0].value != self._known_batch * self._beam_width:
      raise ValueError('The first dimension of %s is %d, must be batch * beam_width, %d: use '
                       'tf.contrib.seq2seq.tile_batch' % (
                           t.name, shape[0].value, self._known_batch * self._beam_width))
    return self._reshaped(t, [self._batch_size, self._beam_width], 1,
                          [self._known_batch, self._beam_width])

  def _merge(self, t):
    """[batch, beam, ...] as [batch * beam, ...]."""
    if isinstance(t, TensorArray):
      return t
    t = convert(t, name='t')
    if t.get_shape().ndims == 0:
      return t
    known = None if self._known_batch is None else self._known_batch * self._beam_width
    return self._reshaped(t, [self._batch_size * self._beam_width], 2, [known])

  @staticmethod
  def _reshaped(t, front, kept_from, known):
    rest = array.shape(t)[kept_from:]
    result = array.reshape(t, array.concat([array.stack(front), rest], 0))
    result.set_shape(TensorShape(known).concatenate(t.get_shape()[kept_from:]))
    return result

  def initialize(self, name=None):
    zeros = array.zeros([self._batch_size], dtypes.int32)
    kind = nest.flatten(self._initial_state)[0].dtype
    log_probs = array.one_hot(zeros, self._beam_width, on_value=convert(0.0, kind),
                              off_value=convert(-float('inf'), kind), dtype=kind)
    covered = _attention_of(self._initial_state, self._coverage_weight)
    return self._finished, self._start_inputs, BeamSearchDecoderState(
        cell_state=self._initial_state, log_probs=log_probs, finished=self._finished,
        lengths=array.zeros([self._batch_size, self._beam_width], dtypes.int64),
        accumulated_attention_probs=() if covered is None else covered)

  def step(self, time, inputs, state, name=None):
    with name_scope(name, 'BeamSearchDecoderStep', [time]):
      inputs = nest.map_structure(self._merge, inputs)
      cell_state = nest.map_structure(self._merge, state.cell_state)
      logits, cell_state = self._cell(inputs, cell_state)
      logits = nest.map_structure(self._split, logits)
      cell_state = nest.map_structure(self._split, cell_state)
      if self._output_layer is not None:
        logits = self._output_layer(logits)
      output, state = self._best(logits, cell_state, state)
      inputs = control_flow.cond(
          math.reduce_all(state.finished), lambda: self._start_inputs,
          lambda: self._embedding_fn(output.predicted_ids))
      return output, state, inputs, state.finished

  def _best(self, logits, cell_state, state):
    """(output, new state) of a step whose words have these logits [batch, beam, words]."""
    batch, width, finished = self._batch_size, self._beam_width, state.finished
    words = logits.get_shape()[-1].value
    words = array.shape(logits)[-1] if words is None else words
    log_probs = _masked(nn.log_softmax(logits), self._end_token, finished)
    totals = array.expand_dims(state.log_probs, 2) + log_probs
    # A beam that has not ended becomes longer by each word but the end token.
    is_longer = array.expand_dims(1 - math.cast(finished, dtypes.int64), 2) * array.one_hot(
        self._end_token, words, on_value=convert(0, dtypes.int64),
        off_value=convert(1, dtypes.int64), dtype=dtypes.int64)
    covered = _attention_of(cell_state, self._coverage_weight)
    if covered is not None:
      covered = state.accumulated_attention_probs + covered * array.expand_dims(
          1 - math.cast(finished, covered.dtype), 2)
    scores = _scores(totals, is_longer + array.expand_dims(state.lengths, 2), self._length_weight,
                     self._coverage_weight, covered)
    flat = array.reshape(scores, [batch, -1])
    best, places = embeddings.top_k(flat, k=width)
    first = array.expand_dims(math.range(batch), 1) * (width * words)
    chosen = array.gather(array.reshape(totals, [-1]), places + first, name='next_beam_probs')
    for tensor in (best, places, chosen):
      tensor.set_shape([self._known_batch, width])
    word_ids = apply_op('FloorMod', name='next_beam_word_ids', x=places, y=words)
    beam_ids = apply_op('FloorDiv', name='next_beam_parent_ids', x=places, y=words)
    rows = lambda values: _rows(values, beam_ids, batch, width)
    was_finished = rows(finished)
    lengths = rows(state.lengths) + math.cast(apply_op('LogicalNot', x=was_finished), dtypes.int64)
    cell_state = nest.map_structure(
        lambda t: t if isinstance(t, TensorArray) or t.get_shape().ndims == 0 else rows(t),
        cell_state)
    new = BeamSearchDecoderState(
        cell_state=cell_state, log_probs=chosen, lengths=lengths,
        finished=apply_op('LogicalOr', name='next_beam_finished', x=was_finished,
                          y=math.equal(word_ids, self._end_token)),
        accumulated_attention_probs=() if covered is None else rows(covered))
    return BeamSearchDecoderOutput(scores=best, predicted_ids=word_ids, parent_ids=beam_ids), new

  def finalize(self, outputs, final_state, sequence_lengths):
    """The words of whole sequences. The lengths of the loop are not used: those of the beams are in
    the state."""
    del sequence_lengths
    longest = math.cast(math.reduce_max(final_state.lengths, axis=1), dtypes.int32)
    words = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
    if self._reorders:
      def ordered(t):
        return gather_tree_from_array(t.stack(), outputs.parent_ids, final_state.lengths) \
            if isinstance(t, TensorArray) else t
      final_state = final_state._replace(
          cell_state=nest.map_structure(ordered, final_state.cell_state))
    return FinalBeamSearchDecoderOutput(
        beam_search_decoder_output=outputs, predicted_ids=words), final_state
