"""contrib.crf: a layer over the scores of tags that knows which tags follow each other.

Scores ("inputs", "potentials") are [batch, time, tags], lengths [batch], transition parameters
[tags, tags]: from which tag to which. The norm is a sum over all sequences, the best sequence a
maximum over them; both go through time once, with a vector of tags as their state. """
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._ops import array, math, rnn, rnn_cells, sequences
from leat._ops.variable_scope import get_variable


def _lengths(sequence_lengths):
  return math.cast(convert(sequence_lengths), dtypes.int32)


def _mask(lengths, steps, dtype):
  """1 for each step of a sequence, 0 behind its end: [batch, steps]."""
  inside = array.expand_dims(math.range(steps), 0) < array.expand_dims(lengths, 1)
  return math.cast(inside, dtype)


@export('contrib.crf.crf_unary_score')
def crf_unary_score(tag_indices, sequence_lengths, inputs):
  """The sum of the scores of tags [batch, time], for each sequence."""
  inputs = convert(inputs)
  picked = array.one_hot(tag_indices, array.shape(inputs)[2], dtype=inputs.dtype)
  scores = math.reduce_sum(inputs * picked, 2)
  return math.reduce_sum(scores * _mask(_lengths(sequence_lengths), array.shape(inputs)[1],
                                        inputs.dtype), 1)


@export('contrib.crf.crf_binary_score')
def crf_binary_score(tag_indices, sequence_lengths, transition_params):
  """The sum of the parameters of transitions between tags [batch, time], for each sequence."""
  transition_params, tags = convert(transition_params), convert(tag_indices)
  count = transition_params.get_shape().as_list()[0]
  steps = array.shape(tags)[1] - 1
  first = array.slice(tags, [0, 0], [-1, steps])
  second = array.slice(tags, [0, 1], [-1, steps])
  scores = array.gather(array.reshape(transition_params, [-1]), first * count + second)
  return math.reduce_sum(scores * _mask(_lengths(sequence_lengths) - 1, steps,
                                        transition_params.dtype.base_dtype), 1)


@export('contrib.crf.crf_sequence_score')
def crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params):
  """The scores of sequences of tags, not normalised: [batch]."""
  return (crf_unary_score(tag_indices, sequence_lengths, inputs)
          + crf_binary_score(tag_indices, sequence_lengths, transition_params))


@export('contrib.crf.crf_multitag_sequence_score')
def crf_multitag_sequence_score(inputs, tag_bitmap, sequence_lengths, transition_params):
  """The logarithm of the sum over all sequences that have only tags of tag_bitmap [batch, time,
  tags]: [batch]."""
  inputs = convert(inputs)
  low = array.fill(array.shape(inputs), convert(float('-inf'), inputs.dtype))
  return crf_log_norm(array.where(math.cast(tag_bitmap, dtypes.bool), inputs, low),
                      sequence_lengths, transition_params)


def _split(inputs):
  """(the scores of the first step, those of the others)."""
  return array.squeeze(array.slice(inputs, [0, 0, 0], [-1, 1, -1]), [1]), \
      array.slice(inputs, [0, 1, 0], [-1, -1, -1])


@export('contrib.crf.crf_forward')
def crf_forward(inputs, state, transition_params, sequence_lengths):
  """The alphas of each step, [batch, time, tags]: logarithms of sums over all sequences that end
  with a tag, given those of the step before, `state` [batch, tags]."""
  outputs, _ = rnn.dynamic_rnn(CrfForwardRnnCell(transition_params), inputs,
                               sequence_length=_lengths(sequence_lengths), initial_state=state)
  return outputs


@export('contrib.crf.crf_log_norm')
def crf_log_norm(inputs, sequence_lengths, transition_params):
  """The logarithm of the sum over all sequences of tags, [batch]; 0 for a sequence without
  steps."""
  inputs, lengths = convert(inputs), _lengths(sequence_lengths)
  first, rest = _split(inputs)
  _, alphas = rnn.dynamic_rnn(CrfForwardRnnCell(transition_params), rest, initial_state=first,
                              sequence_length=array.where(lengths > 0, lengths - 1,
                                                          array.zeros_like(lengths)))
  norm = math.reduce_logsumexp(alphas, [1])
  return array.where(lengths <= 0, array.zeros_like(norm), norm)


@export('contrib.crf.crf_log_likelihood')
def crf_log_likelihood(inputs, tag_indices, sequence_lengths, transition_params=None):
  """(the logarithms of the probabilities of tags [batch, time], transition parameters), which are
  the variable 'transitions' where none are given."""
  inputs = convert(inputs)
  if transition_params is None:
    tags = inputs.get_shape().as_list()[2]
    transition_params = get_variable('transitions', [tags, tags])
  score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
  return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


class _TagCell(rnn_cells.RNNCell):
  """A step through time; a state is a vector of tags."""

  def __init__(self, transition_params):
    super().__init__()
    transition_params = convert(transition_params)
    self._transitions = array.expand_dims(transition_params, 0)
    self._tags = transition_params.get_shape().as_list()[0]

  state_size = property(lambda self: self._tags)
  output_size = property(lambda self: self._tags)


@export('contrib.crf.CrfForwardRnnCell')
class CrfForwardRnnCell(_TagCell):
  """The alphas of a step of those of the step before."""

  def __call__(self, inputs, state, scope=None):
    sums = array.expand_dims(state, 2) + self._transitions
    alphas = inputs + math.reduce_logsumexp(sums, [1])
    return alphas, alphas


# ---- The best sequence --------------------------------------------------------------------------


@export('contrib.crf.viterbi_decode')
def viterbi_decode(score, transition_params):
  """(the best sequence of tags, a list; its score) of one sequence of scores [time, tags], in
  numpy."""
  import numpy as np
  best, back = np.asarray(score[0]), []
  for step in score[1:]:
    sums = np.expand_dims(best, 1) + transition_params
    best = step + np.max(sums, 0)
    back.append(np.argmax(sums, 0))
  tags = [int(np.argmax(best))]
  for pointers in reversed(back):
    tags.append(int(pointers[tags[-1]]))
  return tags[::-1], np.max(best)


@export('contrib.crf.CrfDecodeForwardRnnCell')
class CrfDecodeForwardRnnCell(_TagCell):
  """The best scores of sequences that end with a tag; the output is the tag before it."""

  def __call__(self, inputs, state, scope=None):
    sums = array.expand_dims(state, 2) + self._transitions
    before = math.argmax(sums, 1, output_type=dtypes.int32)
    return before, inputs + math.reduce_max(sums, [1])


@export('contrib.crf.CrfDecodeBackwardRnnCell')
class CrfDecodeBackwardRnnCell(rnn_cells.RNNCell):
  """The tag of a step, of the tag behind it (the state, [batch, 1]) and the tags before each."""

  def __init__(self, num_tags):
    super().__init__()
    self._tags = num_tags

  state_size = property(lambda self: 1)
  output_size = property(lambda self: 1)

  def __call__(self, inputs, state, scope=None):
    rows = math.range(array.shape(inputs)[0])
    picked = array.gather_nd(inputs, array.stack([rows, array.squeeze(state, [1])], 1))
    tag = array.expand_dims(picked, 1)
    return tag, tag


@export('contrib.crf.crf_decode')
def crf_decode(potentials, transition_params, sequence_length):
  """(the best sequences of tags [batch, time] of int32, their scores [batch])."""
  potentials = convert(potentials)
  tags = potentials.get_shape().as_list()[2]
  lengths = _lengths(sequence_length)
  less = array.where(lengths > 0, lengths - 1, array.zeros_like(lengths))
  first, rest = _split(potentials)
  before, best = rnn.dynamic_rnn(CrfDecodeForwardRnnCell(transition_params), rest,
                                 sequence_length=less, initial_state=first,
                                 dtype=dtypes.int32)
  before = sequences.reverse_sequence(before, less, seq_axis=1)
  last = array.expand_dims(math.argmax(best, 1, output_type=dtypes.int32), 1)
  found, _ = rnn.dynamic_rnn(CrfDecodeBackwardRnnCell(tags), before, sequence_length=less,
                             initial_state=last, dtype=dtypes.int32, scope='decode')
  found = array.concat([last, array.squeeze(found, [2])], 1)
  return sequences.reverse_sequence(found, lengths, seq_axis=1), math.reduce_max(best, 1)
