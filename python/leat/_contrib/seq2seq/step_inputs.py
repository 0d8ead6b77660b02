"""Helpers: what a decoder takes from its outputs, and which inputs the next step has.

A helper draws `sample_ids` of the outputs of a step (`sample`) and makes the inputs of the next one
of them, or of what is known of the sequences (`next_inputs`). While training, inputs are those of
the examples (TrainingHelper), now and then replaced by what the model says (the Scheduled helpers);
else they are the embeddings of what was drawn, until a token says that the sequence ends.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._ops import array, control_flow, embedding as embeddings, math, nest, random
from leat._ops.rnn import _transposed
from leat._ops.tensor_array import TensorArray


def drawn(logits, seed=None):
  """A class for each row of logits, int32 [batch]."""
  ids = random.multinomial(logits, 1, seed=seed, output_dtype=dtypes.int32)
  return array.squeeze(ids, [-1])


def chosen(probability, shape, seed=None):
  """True with that probability, bool of that shape."""
  probability = convert(probability, dtypes.float32)
  return random.random_uniform(shape, dtype=dtypes.float32, seed=seed) < probability


def _unstacked(tensor):
  """A TensorArray of the slices of the first dimension."""
  return TensorArray(tensor.dtype, size=array.shape(tensor)[0],
                     element_shape=tensor.get_shape()[1:]).unstack(tensor)


def lookup(embedding):
  """The function from ids to inputs, of a function or of params for embedding_lookup."""
  return embedding if callable(embedding) and not hasattr(embedding, 'op') else \
      lambda ids: embeddings.embedding_lookup(embedding, ids)


@export('contrib.seq2seq.Helper')
class Helper:
  """The base of helpers."""

  @property
  def batch_size(self):
    """How many sequences there are: a scalar int32 tensor."""
    raise NotImplementedError('batch_size has not been implemented')

  @property
  def sample_ids_shape(self):
    """The shape of what is drawn for one sequence in a step."""
    raise NotImplementedError('sample_ids_shape has not been implemented')

  @property
  def sample_ids_dtype(self):
    raise NotImplementedError('sample_ids_dtype has not been implemented')

  def initialize(self, name=None):
    """(finished [batch], first inputs)."""
    raise NotImplementedError('initialize has not been implemented')

  def sample(self, time, outputs, state, name=None):
    """sample_ids of the outputs of a step."""
    raise NotImplementedError('sample has not been implemented')

  def next_inputs(self, time, outputs, state, sample_ids, name=None):
    """(finished [batch], next inputs, next state)."""
    raise NotImplementedError('next_inputs has not been implemented')


class _ClassHelper(Helper):
  """A helper that draws one class, an int32, for each sequence."""

  sample_ids_shape = property(lambda self: TensorShape([]))
  sample_ids_dtype = property(lambda self: dtypes.int32)


@export('contrib.seq2seq.CustomHelper')
class CustomHelper(Helper):
  """A helper made of three functions."""

  def __init__(self, initialize_fn, sample_fn, next_inputs_fn, sample_ids_shape=None,
               sample_ids_dtype=None):
    self._initialize_fn, self._sample_fn = initialize_fn, sample_fn
    self._next_inputs_fn, self._batch_size = next_inputs_fn, None
    self._shape = TensorShape(sample_ids_shape or [])
    self._dtype = sample_ids_dtype or dtypes.int32

  sample_ids_shape = property(lambda self: self._shape)
  sample_ids_dtype = property(lambda self: self._dtype)

  @property
  def batch_size(self):
    if self._batch_size is None:
      raise ValueError('batch_size accessed before initialize was called')
    return self._batch_size

  def initialize(self, name=None):
    with name_scope(name, 'CustomHelperInitialize'):
      finished, inputs = self._initialize_fn()
      if self._batch_size is None:
        self._batch_size = array.size(finished)
    return finished, inputs

  def sample(self, time, outputs, state, name=None):
    with name_scope(name, 'CustomHelperSample', [time, outputs]):
      return self._sample_fn(time=time, outputs=outputs, state=state)

  def next_inputs(self, time, outputs, state, sample_ids, name=None):
    with name_scope(name, 'CustomHelperNextInputs', [time, outputs]):
      return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


@export('contrib.seq2seq.TrainingHelper')
class TrainingHelper(_ClassHelper):
  """The inputs are those of the examples: `inputs` is a structure of [batch, time, ...], or
  [time, batch, ...] where `time_major`, and `sequence_length` [batch]. The largest output of each
  sequence is what is drawn."""

  def __init__(self, inputs, sequence_length, time_major=False, name=None):
    with name_scope(name, type(self).__name__, [inputs, sequence_length]):
      inputs = nest.map_structure(lambda i: convert(i, name='inputs'), inputs)
      self._inputs = inputs
      if not time_major:
        inputs = nest.map_structure(_transposed, inputs)
      self._input_arrays = nest.map_structure(_unstacked, inputs)
      self._sequence_length = convert(sequence_length, name='sequence_length')
      if self._sequence_length.get_shape().ndims != 1:
        raise ValueError('Expected sequence_length to be a vector, but received shape: %s' %
                         self._sequence_length.get_shape())
      # What a step after the last one reads.
      self._zero_inputs = nest.map_structure(lambda i: array.zeros_like(i[0, :]), inputs)
      self._batch_size = array.size(self._sequence_length)

  inputs = property(lambda self: self._inputs)
  sequence_length = property(lambda self: self._sequence_length)
  batch_size = property(lambda self: self._batch_size)

  def initialize(self, name=None):
    with name_scope(name, 'TrainingHelperInitialize'):
      finished = math.equal(0, self._sequence_length)
      inputs = control_flow.cond(
          math.reduce_all(finished), lambda: self._zero_inputs,
          lambda: nest.map_structure(lambda a: a.read(0), self._input_arrays))
      return finished, inputs

  def sample(self, time, outputs, state=None, name=None):
    with name_scope(name, 'TrainingHelperSample', [time, outputs]):
      return math.cast(math.argmax(outputs, axis=-1), dtypes.int32)

  def next_inputs(self, time, outputs, state, sample_ids=None, name=None):
    with name_scope(name, 'TrainingHelperNextInputs', [time, outputs]):
      following = time + 1
      finished = following >= self._sequence_length
      inputs = control_flow.cond(
          math.reduce_all(finished), lambda: self._zero_inputs,
          lambda: nest.map_structure(lambda a: a.read(following), self._input_arrays))
      return finished, inputs, state


def _check_probability(probability):
  probability = convert(probability, name='sampling_probability')
  if probability.get_shape().ndims not in (0, 1):
    raise ValueError('sampling_probability must be either a scalar or a vector. saw shape: %s' %
                     probability.get_shape())
  return probability


def _merged(is_first, first, second):
  """The rows of `first` where is_first [batch], else those of `second`: only these rows are
  computed, each by its function of the positions [n]."""
  places = math.cast(array.where(is_first), dtypes.int32)
  others = math.cast(array.where(apply_op('LogicalNot', x=is_first)), dtypes.int32)
  places, others = (array.reshape(p, [-1]) for p in (places, others))
  return apply_op('DynamicStitch', indices=[places, others], data=[first(places), second(others)])


@export('contrib.seq2seq.ScheduledEmbeddingTrainingHelper')
class ScheduledEmbeddingTrainingHelper(TrainingHelper):
  """With sampling_probability, the next input of a sequence is the embedding of a class that is
  drawn of its output; else that of the example. sample_ids are -1 where nothing was drawn."""

  def __init__(self, inputs, sequence_length, embedding, sampling_probability, time_major=False,
               seed=None, scheduling_seed=None, name=None):
    with name_scope(name, 'ScheduledEmbeddingSamplingWrapper', [sampling_probability]):
      self._embedding_fn = lookup(embedding)
      self._sampling_probability = _check_probability(sampling_probability)
      self._seed, self._scheduling_seed = seed, scheduling_seed
      super().__init__(inputs=inputs, sequence_length=sequence_length, time_major=time_major,
                       name=name)

  def sample(self, time, outputs, state=None, name=None):
    with name_scope(name, 'ScheduledEmbeddingTrainingHelperSample', [time, outputs]):
      is_drawn = chosen(self._sampling_probability, [self.batch_size], self._scheduling_seed)
      return array.where(is_drawn, drawn(outputs, self._seed), array.fill([self.batch_size], -1))

  def next_inputs(self, time, outputs, state, sample_ids, name=None):
    with name_scope(name, 'ScheduledEmbeddingTrainingHelperNextInputs', [time, outputs]):
      finished, inputs, state = super().next_inputs(time, outputs, state, sample_ids)

      def mixed():
        made = _merged(sample_ids > -1,
                       lambda places: self._embedding_fn(array.gather(sample_ids, places)),
                       lambda places: array.gather(inputs, places))
        made.set_shape(inputs.get_shape())
        return made
      return finished, control_flow.cond(math.reduce_all(finished), lambda: inputs, mixed), state


@export('contrib.seq2seq.ScheduledOutputTrainingHelper')
class ScheduledOutputTrainingHelper(TrainingHelper):
  """With sampling_probability, the next input of a sequence is its output, or what
  `next_inputs_fn` makes of it; else that of the example. `auxiliary_inputs` are put behind both.
  sample_ids [batch] are 1 where the output was taken."""

  def __init__(self, inputs, sequence_length, sampling_probability, time_major=False, seed=None,
               next_inputs_fn=None, auxiliary_inputs=None, name=None):
    with name_scope(name, 'ScheduledOutputTrainingHelper', [inputs, auxiliary_inputs,
                                                            sampling_probability]):
      self._sampling_probability = _check_probability(sampling_probability)
      self._seed, self._next_inputs_fn = seed, next_inputs_fn
      self._auxiliary = None
      if auxiliary_inputs is None:
        both = inputs
      else:
        inputs = convert(inputs, name='inputs')
        auxiliary = convert(auxiliary_inputs, name='auxiliary_inputs')
        both = array.concat([inputs, auxiliary], -1)
        self._auxiliary = _unstacked(auxiliary if time_major else _transposed(auxiliary))
      super().__init__(inputs=both, sequence_length=sequence_length, time_major=time_major,
                       name=name)

  def sample(self, time, outputs, state=None, name=None):
    with name_scope(name, 'ScheduledOutputTrainingHelperSample', [time, outputs]):
      return math.cast(chosen(self._sampling_probability, [self.batch_size], self._seed),
                       dtypes.int32)

  def next_inputs(self, time, outputs, state, sample_ids, name=None):
    with name_scope(name, 'ScheduledOutputTrainingHelperNextInputs', [time, outputs]):
      finished, inputs, state = super().next_inputs(time, outputs, state, sample_ids)
      sampled = math.cast(sample_ids, dtypes.bool)

      def mixed():
        def taken(places):
          rows = array.gather(outputs, places)
          if self._next_inputs_fn is not None:
            rows = self._next_inputs_fn(rows)
          if self._auxiliary is not None:
            rows = array.concat([rows, array.gather(self._auxiliary.read(time + 1), places)], -1)
          return rows
        made = _merged(sampled, taken, lambda places: array.gather(inputs, places))
        made.set_shape(inputs.get_shape())
        return made
      nothing = apply_op('LogicalOr', x=math.reduce_all(finished),
                         y=apply_op('LogicalNot', x=math.reduce_any(sampled)))
      return finished, control_flow.cond(nothing, lambda: inputs, mixed), state


@export('contrib.seq2seq.GreedyEmbeddingHelper')
class GreedyEmbeddingHelper(_ClassHelper):
  """The next input is the embedding of the largest output, until that is `end_token`. `embedding`
  is a function of ids [batch], or params for embedding_lookup."""

  def __init__(self, embedding, start_tokens, end_token):
    self._embedding_fn = lookup(embedding)
    self._start_tokens = convert(start_tokens, dtypes.int32, 'start_tokens')
    self._end_token = convert(end_token, dtypes.int32, 'end_token')
    if self._start_tokens.get_shape().ndims != 1:
      raise ValueError('start_tokens must be a vector')
    if self._end_token.get_shape().ndims != 0:
      raise ValueError('end_token must be a scalar')
    self._batch_size = array.size(self._start_tokens)
    self._start_inputs = self._embedding_fn(self._start_tokens)

  batch_size = property(lambda self: self._batch_size)

  def initialize(self, name=None):
    return apply_op('Tile', input=[False], multiples=[self._batch_size]), self._start_inputs

  def sample(self, time, outputs, state, name=None):
    del time, state
    return math.argmax(convert(outputs), axis=-1, output_type=dtypes.int32)

  def next_inputs(self, time, outputs, state, sample_ids, name=None):
    del time, outputs
    finished = math.equal(sample_ids, self._end_token)
    inputs = control_flow.cond(math.reduce_all(finished), lambda: self._start_inputs,
                               lambda: self._embedding_fn(sample_ids))
    return finished, inputs, state


@export('contrib.seq2seq.SampleEmbeddingHelper')
class SampleEmbeddingHelper(GreedyEmbeddingHelper):
  """The same with a class that is drawn by the probabilities softmax(outputs / softmax_temperature)
  in place of the largest."""

  def __init__(self, embedding, start_tokens, end_token, softmax_temperature=None, seed=None):
    super().__init__(embedding, start_tokens, end_token)
    self._temperature, self._seed = softmax_temperature, seed

  def sample(self, time, outputs, state, name=None):
    del time, state
    logits = convert(outputs)
    return drawn(logits if self._temperature is None else logits / self._temperature, self._seed)


@export('contrib.seq2seq.InferenceHelper')
class InferenceHelper(Helper):
  """`sample_fn(outputs)` draws, `end_fn(sample_ids)` says which sequences have ended, and
  `next_inputs_fn(sample_ids)`, where there is one, makes the next inputs."""

  def __init__(self, sample_fn, sample_shape, sample_dtype, start_inputs, end_fn,
               next_inputs_fn=None):
    self._sample_fn, self._end_fn, self._next_inputs_fn = sample_fn, end_fn, next_inputs_fn
    self._shape, self._dtype = TensorShape(sample_shape), sample_dtype
    self._start_inputs = convert(start_inputs, name='start_inputs')
    self._batch_size = array.shape(self._start_inputs)[0]

  batch_size = property(lambda self: self._batch_size)
  sample_ids_shape = property(lambda self: self._shape)
  sample_ids_dtype = property(lambda self: self._dtype)

  def initialize(self, name=None):
    return apply_op('Tile', input=[False], multiples=[self._batch_size]), self._start_inputs

  def sample(self, time, outputs, state, name=None):
    del time, state
    return self._sample_fn(outputs)

  def next_inputs(self, time, outputs, state, sample_ids, name=None):
    del time, outputs
    inputs = sample_ids if self._next_inputs_fn is None else self._next_inputs_fn(sample_ids)
    return self._end_fn(sample_ids), inputs, state
