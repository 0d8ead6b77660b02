"""batch_sequences_with_states: batches of segments of sequences, filled by runners. Sequences and
contexts may be sparse, and sequences are padded to a multiple of the length of a segment."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import errors
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._contrib.training.state_saver import SequenceQueueingStateSaver
from leat._contrib.training.stored_sparse import restored, stored
from leat._ops import array, control_flow, math, random
from leat._ops.sparse import SparseTensor
from leat._train import coordinator


def _steps(sequence):
  """How many steps a sequence has, an int32 scalar."""
  if isinstance(sequence, SparseTensor):
    return math.cast(sequence.dense_shape[0], dtypes.int32)
  return array.shape(sequence)[0]


def _with_steps(sequence, steps):
  """A sequence with zeros, or nothing, at its end, so that it has so many steps."""
  if isinstance(sequence, SparseTensor):
    shape = array.concat([[math.cast(steps, dtypes.int64)], sequence.dense_shape[1:]], 0)
    shape.set_shape(sequence.dense_shape.get_shape())
    return SparseTensor(sequence.indices, sequence.values, shape)
  sizes = array.concat([[steps - array.shape(sequence)[0]], array.shape(sequence)[1:]], 0)
  zeros = array.fill(sizes, convert('', dtypes.string)) \
      if sequence.dtype.base_dtype == dtypes.string else array.zeros(sizes, sequence.dtype)
  made = array.concat([sequence, zeros], 0)
  made.set_shape([None] + sequence.get_shape().as_list()[1:])
  return made


def _padded(sequences, num_unroll):
  """(length, sequences that are as long as the next multiple of num_unroll)."""
  if not sequences:
    return 0, {}
  if not isinstance(sequences, dict):
    raise TypeError('sequences must be a dict')
  names = list(sequences)
  lengths = [_steps(sequences[n]) for n in names]
  checks = [control_flow.Assert(math.equal(length, lengths[0]), [
      "Dimension 0 of '%s' must be that of '%s':" % (name, names[0]), length, lengths[0]])
            for name, length in zip(names[1:], lengths[1:])]
  with control_dependencies(checks):
    length = array.identity(lengths[0])
  unroll = convert(num_unroll, dtypes.int32)
  steps = apply_op('FloorDiv', x=length + unroll - 1, y=unroll) * unroll
  return length, {n: _with_steps(s, steps) for n, s in sequences.items()}


def _stored_steps(sequence):
  """(tensor, (type, rank) or None): each step of a sparse sequence as three strings."""
  if not isinstance(sequence, SparseTensor):
    return sequence, None
  made = apply_op('SerializeManySparse', sparse_indices=sequence.indices,
                  sparse_values=sequence.values, sparse_shape=sequence.dense_shape)
  made.set_shape([None, 3])
  return made, (sequence.dtype.base_dtype, sequence.dense_shape.get_shape()[0].value)


def _restored_steps(tensor, info, num_unroll):
  """The SparseTensor [batch, num_unroll, ...] of the strings [batch, num_unroll, 3]."""
  if info is None:
    return tensor
  kind, rank = info
  flat = restored(array.reshape(tensor, [-1, 3]), (kind, None if rank is None else rank - 1))
  front = [math.cast(array.shape(tensor)[0], dtypes.int64),
           math.cast(convert(num_unroll), dtypes.int64)]
  shape = array.concat([array.stack(front), flat.dense_shape[1:]], 0)
  indices, shape = apply_op('SparseReshape', input_indices=flat.indices,
                            input_shape=flat.dense_shape, new_shape=shape)
  return SparseTensor(indices, flat.values, shape)


class _Batch:
  """The next batch of a state saver, whose sparse parts are SparseTensors again."""

  def __init__(self, batch, sequences, context, num_unroll):
    self._batch = batch
    self._sequences, self._context = sequences, context
    self._num_unroll, self._found = num_unroll, {}

  def __getattr__(self, name):
    return getattr(self._batch, name)

  def _once(self, what, make):
    if what not in self._found:
      self._found[what] = make()
    return self._found[what]

  @property
  def sequences(self):
    return self._once('sequences', lambda: {
        n: _restored_steps(t, self._sequences[n], self._num_unroll)
        for n, t in self._batch.sequences.items()})

  @property
  def context(self):
    return self._once('context', lambda: {
        n: restored(t, self._context[n]) for n, t in self._batch.context.items()})


@export('contrib.training.batch_sequences_with_states')
def batch_sequences_with_states(input_key, input_sequences, input_context, input_length,
                                initial_states, num_unroll, batch_size, num_threads=3,
                                capacity=1000, allow_small_batch=True, pad=True,
                                make_keys_unique=False, make_keys_unique_seed=None, name=None):
  """The next batch (NextQueuedSequenceBatch) of a SequenceQueueingStateSaver that runners fill.
  With `pad`, sequences become as long as the next multiple of num_unroll; else they must be that
  long. An input_length of None is the length of the sequences. With `make_keys_unique`, a random
  number is put behind each key."""
  with name_scope(name, 'batch_sequences_with_states'):
    key = convert(input_key, dtypes.string, 'input_key')
    if make_keys_unique:
      number = random.random_uniform([], minval=0, maxval=dtypes.int64.max, dtype=dtypes.int64,
                                     seed=make_keys_unique_seed)
      key = apply_op('StringJoin', inputs=[key, apply_op('AsString', input=number)], separator='_')
    sequences = {n: s if isinstance(s, SparseTensor) else convert(s, name='sequence_' + n)
                 for n, s in input_sequences.items()}
    length = None
    if pad:
      length, sequences = _padded(sequences, num_unroll)
    if input_length is None:
      if not sequences:
        raise ValueError('input_length must be given where there are no input_sequences')
      input_length = length if length is not None else _steps(next(iter(sequences.values())))
    kept = {n: _stored_steps(s) for n, s in sequences.items()}
    context = {n: stored(c) for n, c in input_context.items()}
    saver = SequenceQueueingStateSaver(
        batch_size=batch_size, num_unroll=num_unroll, input_length=input_length, input_key=key,
        input_sequences={n: t for n, (t, _) in kept.items()},
        input_context={n: t for n, (t, _) in context.items()}, initial_states=initial_states,
        capacity=capacity, allow_small_batch=allow_small_batch)
    coordinator.add_queue_runner(coordinator.QueueRunner(
        saver, [saver.prefetch_op] * num_threads,
        queue_closed_exception_types=(errors.OutOfRangeError, errors.CancelledError)))
    return _Batch(saver.next_batch, {n: i for n, (_, i) in kept.items()},
                  {n: i for n, (_, i) in context.items()}, num_unroll)
