"""bucket, bucket_by_sequence_length: examples that are batched with others like them.

Each bucket is a queue. Runners put each example into that of its bucket; others take whole batches
from each bucket's queue and put them into one queue at the top, from which the program takes them.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import errors
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._contrib.training.stored_sparse import restored, stored
from leat._ops import array, control, control_flow, math, queues
from leat._train import coordinator


def _no_op():
  return apply_op('NoOp')


def when(keep, action):
  """An operation that does what `action` adds, where `keep` (a bool or a scalar tensor) is true."""
  known = keep if isinstance(keep, bool) else constant_value(keep)
  if known is not None:
    return action() if known else _no_op()
  return control_flow.cond(keep, action, _no_op).op


def packed(tensors, like):
  """A dict, a list or a single tensor, as `like` is."""
  if isinstance(like, dict):
    return dict(zip(sorted(like), tensors))
  return tensors[0] if len(tensors) == 1 else list(tensors)


def _sizes(batch_size, num_buckets):
  """The batch size of each bucket, an int or a tensor."""
  if not isinstance(batch_size, (list, tuple)):
    return [batch_size] * num_buckets
  if len(batch_size) != num_buckets:
    raise ValueError('If batch_size is a list it must have num_buckets elements')
  return list(batch_size)


@export('contrib.training.bucket')
def bucket(tensors, which_bucket, batch_size, num_buckets, num_threads=1, capacity=32,
           bucket_capacities=None, shapes=None, dynamic_pad=False, allow_smaller_final_batch=False,
           keep_input=True, shared_name=None, name=None):
  """(bucket, tensors): a batch whose examples all belong to the bucket with that number, a scalar
  int32. `which_bucket` says to which one the example in `tensors` (a list or dict) belongs, and
  `keep_input` whether it is taken at all. `batch_size` may be one for each bucket; with
  `dynamic_pad`, examples of different shapes are padded with zeros."""
  sizes = _sizes(batch_size, num_buckets)
  if bucket_capacities is None:
    bucket_capacities = [capacity] * num_buckets
  if len(bucket_capacities) != num_buckets:
    raise ValueError('The list bucket_capacities (%s) must have exactly num_buckets (%d) '
                     'elements.' % (bucket_capacities, num_buckets))
  values = [tensors[k] for k in sorted(tensors)] if isinstance(tensors, dict) else list(tensors)
  if not values:
    raise ValueError('There must be at least one tensor to be put into buckets.')
  with name_scope(name, 'bucket', [v for v in values if isinstance(v, _leat.Output)]):
    found, sparse = zip(*[stored(v) for v in values])
    which_bucket = convert(which_bucket, dtypes.int32, 'which_bucket')
    which_bucket.get_shape().assert_is_compatible_with(TensorShape([]))
    kinds = [t.dtype.base_dtype for t in found]
    shapes = [t.get_shape() for t in found] if shapes is None else shapes
    make = queues.PaddingFIFOQueue if dynamic_pad else queues.FIFOQueue
    own = lambda n: shared_name and '%s_%d' % (shared_name, n)
    lower = [make(bucket_capacities[n], kinds, shapes, shared_name=own(n),
                  name='bucket_queue_%d' % n) for n in range(num_buckets)]
    front = batch_size if isinstance(batch_size, int) and not allow_smaller_final_batch else None
    # The queue at the top pads although nothing is padded in it: batches may differ in size.
    top = queues.PaddingFIFOQueue(
        capacity, [dtypes.int32] + kinds,
        [TensorShape([])] + [TensorShape([front]).concatenate(s) for s in lower[0].shapes],
        shared_name=shared_name, name='top_queue')

    def enqueue():
      return control.group(*[
          when(math.equal(which_bucket, n), lambda n=n: lower[n].enqueue(list(found)))
          for n in range(num_buckets)], name='group_enqueues')
    _run_queues(lower, top, when(keep_input, enqueue), sizes, num_threads,
                allow_smaller_final_batch)
    taken = top.dequeue(name='dequeue_top')
    batches = [restored(t, s) for t, s in zip(taken[1:], sparse)]
    return taken[0], packed(batches, tensors)


def _run_queues(lower, top, enqueue, sizes, num_threads, partial):
  """Adds the runners that fill the buckets and those that empty them."""
  upward = []
  for n, (queue, size) in enumerate(zip(lower, sizes)):
    take = queue.dequeue_up_to if partial else queue.dequeue_many
    batch = take(size, name='read_bucket_%d' % n)
    batch = batch if isinstance(batch, list) else [batch]
    upward.append(top.enqueue([constant_of(n)] + batch, name='enqueue_from_bucket_%d' % n))
  ends = (errors.OutOfRangeError, errors.CancelledError)
  coordinator.add_queue_runner(coordinator.QueueRunner(
      lower[0], [enqueue] * num_threads,
      close_op=control.group(*[q.close() for q in lower]),
      cancel_op=control.group(*[q.close(cancel_pending_enqueues=True) for q in lower]),
      queue_closed_exception_types=ends))
  coordinator.add_queue_runner(coordinator.QueueRunner(
      top, upward, queue_closed_exception_types=ends))


def _check_boundaries(boundaries):
  if not isinstance(boundaries, (list, tuple)):
    raise TypeError('bucket_boundaries must be a list or tuple, but received: %s' % (boundaries,))
  if not boundaries:
    raise ValueError('bucket_boundaries must not be empty')
  for low, high in zip(boundaries, boundaries[1:]):
    if not isinstance(low, int) or not isinstance(high, int):
      raise TypeError('bucket boundaries must be integers, but saw: %s and %s' % (low, high))
    if low >= high:
      raise ValueError('Buckets must contain sequential increasing lengths, but saw: %d before %d' %
                       (low, high))


@export('contrib.training.bucket_by_sequence_length')
def bucket_by_sequence_length(input_length, tensors, batch_size, bucket_boundaries, num_threads=1,
                              capacity=32, bucket_capacities=None, shapes=None, dynamic_pad=False,
                              allow_smaller_final_batch=False, keep_input=True, shared_name=None,
                              name=None):
  """(lengths [batch], tensors): batches of sequences whose lengths lie between the same two of the
  boundaries, before the first or behind the last. `input_length` is an int32 scalar."""
  _check_boundaries(bucket_boundaries)
  buckets = len(bucket_boundaries) + 1
  for value, what in ((batch_size, 'batch_size'), (bucket_capacities, 'bucket_capacities')):
    if isinstance(value, (list, tuple)) and len(value) != buckets:
      raise ValueError('If %s is a list it must have one element for each bucket, %d, has %d' % (
          what, buckets, len(value)))
  values = [tensors[k] for k in sorted(tensors)] if isinstance(tensors, dict) else list(tensors)
  if not values:
    raise ValueError('There must be at least one tensor to be put into buckets.')
  with name_scope(name, 'bucket_by_sequence_length', [input_length]):
    length = convert(input_length, dtypes.int32, 'input_length')
    low = constant_of([dtypes.int32.min] + list(bucket_boundaries), dtypes.int32)
    high = constant_of(list(bucket_boundaries) + [dtypes.int32.max], dtypes.int32)
    fits = apply_op('LogicalAnd', x=apply_op('LessEqual', x=low, y=length),
                    y=apply_op('Less', x=length, y=high))
    which = math.cast(math.reduce_min(array.where(fits)), dtypes.int32)
    if shapes is not None:
      shapes = [TensorShape([])] + list(shapes)
    _, taken = bucket(
        [length] + values, which, batch_size, buckets, num_threads, capacity, bucket_capacities,
        shapes, dynamic_pad, allow_smaller_final_batch, keep_input, shared_name)
    return taken[0], packed(taken[1:], tensors)
