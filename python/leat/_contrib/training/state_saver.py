"""SequenceQueueingStateSaver: long sequences in segments, with the state of a network between them.

A sequence is cut into segments of num_unroll steps, which wait in a barrier under the keys
'00000_of_00003:key', '00001_of_00003:key', ... A segment is complete, and can be taken as part of a
batch, once it has its states: the first one has the initial states, and each next one those that
the program saves when it has processed the one before (`save_state`). So a batch has segments of
different sequences, each with its own state, and sequences are processed in the order in which they
came.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._contrib.training.barrier import Barrier
from leat._ops import array, control, control_flow, math, queues


def _text(number):
  return apply_op('AsString', input=number, width=5, fill='0')


def _joined(*parts):
  return apply_op('StringJoin', inputs=list(parts))


def _segment_keys(numbers, counts, keys):
  """'00001_of_00003:key' of vectors, or of scalars together with one vector."""
  return _joined(_text(numbers), '_of_', _text(counts), ':', keys)


def check_multiple_of(value, factor):
  """`value`, where it is a multiple of `factor`; else an InvalidArgumentError."""
  rest = apply_op('FloorMod', x=value, y=factor)
  text = _joined('Tensor %s should be a multiple of: ' % value.op.name,
                 apply_op('AsString', input=convert(factor)), ', but saw value: ',
                 apply_op('AsString', input=value), '. Consider setting pad=True.')
  with control_dependencies([control_flow.Assert(math.equal(rest, 0), [text])]):
    return array.identity(value)


def _check_size(tensor, axis, expected, label):
  """`tensor`, where its size along the axis is the expected one."""
  sizes = array.shape(tensor)
  received = apply_op('ReduceJoin', inputs=apply_op('AsString', input=sizes), reduction_indices=[0],
                      separator=' ')
  text = _joined('Dimension %d of tensor labeled %s should be: ' % (axis, label),
                 apply_op('AsString', input=convert(expected)), ', shape received: ', received)
  with control_dependencies([control_flow.Assert(math.equal(sizes[axis], expected), [text])]):
    return array.identity(tensor)


def _sorted(values, what):
  """[(name, tensor)] of a dict, by name."""
  for name in values:
    if not isinstance(name, str):
      raise TypeError('%s key is not a string: %s' % (what, name))
    if not name or ':' in name:
      raise ValueError('%s key must not be empty and must not have a colon: %r' % (what, name))
  return [(name, convert(values[name], name='%s_%s' % (what, name))) for name in sorted(values)]


@export('contrib.training.NextQueuedSequenceBatch')
class NextQueuedSequenceBatch:
  """A batch of segments. Fetching any of its tensors takes the batch; states that are saved make
  the next segments complete."""

  def __init__(self, state_saver):
    self._saver, self._taken = state_saver, None

  def _part(self, name):
    if self._taken is None:
      self._taken = self._saver._take()
    return self._taken[name]

  batch_size = property(lambda self: self._saver.batch_size)
  key = property(lambda self: self._part('key'),
                 doc="The keys of the segments, string [batch], '00000_of_00003:key'.")
  next_key = property(lambda self: self._part('next_key'),
                      doc="The keys of the segments after them, 'STOP:key' after the last.")
  insertion_index = property(lambda self: self._part('index'),
                             doc='In which order the sequences came, int64 [batch].')
  length = property(lambda self: self._part('length'),
                    doc='How many steps of each segment there are, int32 [batch].')
  total_length = property(lambda self: self._part('total_length'),
                          doc='The lengths of the whole sequences, int32 [batch].')
  sequence = property(lambda self: self._part('sequence'),
                      doc='Which segment of its sequence it is, int32 [batch].')
  sequence_count = property(lambda self: self._part('sequence_count'),
                            doc='How many segments its sequence has, int32 [batch].')
  sequences = property(lambda self: self._part('sequences'),
                       doc='{name: [batch, num_unroll, ...]}.')
  context = property(lambda self: self._part('context'), doc='{name: [batch, ...]}.')

  def state(self, state_name):
    """The state [batch, ...] before the segments."""
    return self._part('states')[state_name]

  def save_state(self, state_name, value, name=None):
    """An operation that saves the state [batch, ...] after the segments for the next ones. States
    after the last segment of a sequence are dropped."""
    if state_name not in self._saver._state_index:
      raise KeyError('State was not declared: %s' % state_name)
    with name_scope(name, 'InputQueueingStateSaver_SaveState') as scope:
      keys = self.next_key
      goes_on = self.sequence + 1 < self.sequence_count
      value = convert(value)
      return self._saver.barrier.insert_many(
          self._saver._state_index[state_name], array.boolean_mask(keys, goes_on),
          array.boolean_mask(value, goes_on), name=scope + 'BarrierInsertState')


@export('contrib.training.SequenceQueueingStateSaver')
class SequenceQueueingStateSaver:
  """The segments of one input at a time: `input_sequences` {name: [padded length, ...]}, of which
  the first input_length steps are real, `input_context` {name: [...]}, which all segments have, and
  `initial_states` {name: [...]}. At most `capacity` sequences wait or are in work."""

  def __init__(self, batch_size, num_unroll, input_length, input_key, input_sequences,
               input_context, initial_states, capacity=None, allow_small_batch=False, name=None):
    if not input_sequences and not initial_states:
      raise ValueError('input_sequences and initial_states must not both be empty')
    if capacity is not None and isinstance(batch_size, int) and isinstance(capacity, int) and \
        batch_size > capacity:
      raise ValueError('capacity needs to be >= batch_size. They are %d and %d' % (
          capacity, batch_size))
    with name_scope(name, 'SequenceQueueingStateSaver') as scope:
      self._scope = scope
      self._sequences = _sorted(input_sequences, 'sequence')
      self._context = _sorted(input_context, 'context')
      self._states = _sorted(initial_states, 'state')
      if not self._states:
        raise ValueError('initial_states must not be empty: without states, use tf.train.batch')
      self._num_unroll = self._positive(num_unroll, 'num_unroll')
      self._batch_size = convert(batch_size, dtypes.int32, 'batch_size')
      self._length = convert(input_length, dtypes.int32, 'length')
      self._key = convert(input_key, dtypes.string, 'key')
      self._small, self._capacity = allow_small_batch, capacity
      self._capacity_queue = self._make_capacity_queue(capacity)
      self._make_barrier()
      self._prefetch_op = None
      self._next_batch = NextQueuedSequenceBatch(self)

  @staticmethod
  def _positive(value, what):
    known = constant_value(value) if isinstance(value, _leat.Output) else value
    if known is not None and known <= 0:
      raise ValueError('%s must be a positive number, is %s' % (what, known))
    return convert(value, dtypes.int32, what)

  def _make_capacity_queue(self, capacity):
    """A queue with an element for each sequence that waits or is in work."""
    if capacity is None:
      return None
    check = control_flow.Assert(self._batch_size <= capacity,
                                ['capacity needs to be >= batch_size.'])
    with control_dependencies([check]):
      self._batch_size = array.identity(self._batch_size)
    return queues.FIFOQueue(capacity, [dtypes.int32], [[]], name='capacity_queue')

  def _make_barrier(self):
    scalar = TensorShape([])
    unroll = constant_value(self._num_unroll)
    unroll = None if unroll is None else int(unroll)
    parts = [(dtypes.string, scalar)] + [(dtypes.int32, scalar)] * 4
    parts += [(t.dtype, TensorShape([unroll]).concatenate(t.get_shape()[1:]))
              for _, t in self._sequences]
    parts += [(t.dtype, t.get_shape()) for _, t in self._context + self._states]
    self._barrier = Barrier([p.base_dtype for p, _ in parts], [s for _, s in parts])
    self._shapes = [s for _, s in parts]
    first_state = 5 + len(self._sequences) + len(self._context)
    self._state_index = {name: first_state + n for n, (name, _) in enumerate(self._states)}

  name = property(lambda self: self._scope.rstrip('/'))
  barrier = property(lambda self: self._barrier)
  batch_size = property(lambda self: self._batch_size)
  num_unroll = property(lambda self: self._num_unroll)

  @property
  def prefetch_op(self):
    """An operation that puts the input's segments into the barrier; it waits where that is full."""
    if self._prefetch_op is None:
      with name_scope(self._scope), name_scope('prefetch'):
        self._prefetch_op = self._insert()
    return self._prefetch_op

  @property
  def next_batch(self):
    return self._next_batch

  def close(self, cancel_pending_enqueues=False, name=None):
    """An operation that ends the input."""
    with name_scope(name, 'SQSSClose'):
      closed = [self._barrier.close(cancel_pending_enqueues, name='BarrierClose')]
      if self._capacity_queue is not None:
        closed.append(self._capacity_queue.close(cancel_pending_enqueues))
      return control.group(*closed)

  # Into the barrier -----------------------------------------------------------------------------

  def _insert(self):
    unroll = self._num_unroll
    if self._sequences:
      padded = check_multiple_of(array.shape(self._sequences[0][1])[0], unroll)
    else:
      padded = apply_op('FloorDiv', x=self._length + unroll - 1, y=unroll) * unroll
    fits = control_flow.Assert(self._length <= padded, [
        'The length of the input must not be above its padded length:', self._length, padded])
    with control_dependencies([fits]):
      count = apply_op('FloorDiv', x=padded, y=unroll)
    numbers = math.range(count)
    counts = array.fill(array.expand_dims(count, 0), count)
    keys = _segment_keys(numbers, counts, self._key)
    rest = math.saturate_cast(self._length, dtypes.int32) - numbers * unroll
    lengths = apply_op('Maximum', x=0, y=apply_op('Minimum', x=rest, y=unroll))
    rows = lambda t: apply_op('Tile', input=array.expand_dims(t, 0), multiples=array.concat(
        [[count], array.ones([array.rank(t)], dtypes.int32)], 0))
    values = [rows(self._key), lengths, rows(self._length), numbers, counts]
    for name, sequence in self._sequences:
      sequence = _check_size(sequence, 0, padded, 'sorted_sequences_%s' % name)
      values.append(array.reshape(sequence, array.concat(
          [[count], [unroll], array.shape(sequence)[1:]], 0)))
    values += [rows(t) for _, t in self._context]
    before = [] if self._capacity_queue is None else [self._capacity_queue.enqueue(0)]
    # All is checked before any of it is in the barrier.
    with control_dependencies([v.op for v in values] + before):
      inserted = [self._barrier.insert_many(n, keys, v) for n, v in enumerate(values)]
    # The barrier gives all keys of the first of these calls one number. A call with the first key
    # alone must not come before, or an example would have two numbers.
    with control_dependencies(inserted):
      states = [self._barrier.insert_many(self._state_index[name], keys[:1],
                                          array.expand_dims(state, 0))
                for name, state in self._states]
    return control.group(*inserted, *states, name='prefetch')

  # Out of the barrier ---------------------------------------------------------------------------

  def _take(self):
    with name_scope(self._scope), name_scope('next_batch'):
      index, keys, values = self._barrier.take_many(self._batch_size, self._small)
      size = constant_value(self._batch_size)
      size = None if size is None or self._small else int(size)
      for tensor, shape in zip([index, keys] + values, [TensorShape([])] * 2 + self._shapes):
        tensor.set_shape(TensorShape([size]).concatenate(shape))
      number, count = values[3], values[4]
      is_last = number + 1 >= count
      done = [] if self._capacity_queue is None else [self._capacity_queue.dequeue_many(
          math.reduce_sum(math.cast(is_last, dtypes.int32))).op]
      with control_dependencies(done):
        values = [array.identity(v) for v in values]
        keys = array.identity(keys, name='key')
      following = array.where(is_last, _joined('STOP:', values[0]),
                              _segment_keys(number + 1, count, values[0]))
      sequences = len(self._sequences)
      named = lambda items, start: {name: values[start + n] for n, (name, _) in enumerate(items)}
      return {'key': keys, 'next_key': following, 'index': index, 'length': values[1],
              'total_length': values[2], 'sequence': values[3], 'sequence_count': values[4],
              'sequences': named(self._sequences, 5),
              'context': named(self._context, 5 + sequences),
              'states': named(self._states, 5 + sequences + len(self._context))}
