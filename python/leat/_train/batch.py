"""Batches: tensors that the threads of a queue runner put into a queue one by one, and that are
taken out many at a time.

The functions are eight of one kind: with one list of tensors or several, in order or shuffled, of
all elements or of those that `keep_input` chooses. A sparse tensor is kept aside under a number,
which goes through the queue in its place.
"""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import value as values
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import name_scope
from leat._ops import array, control_flow, math, queues, sparse
from leat._train import coordinator, summary


# ---- What is given ------------------------------------------------------------------------------


def _listed(tensors):
  """The tensors of a list or, in the order of its keys, of a dict."""
  return [tensors[key] for key in sorted(tensors)] if isinstance(tensors, dict) else list(tensors)


def _listed_all(tensors_list):
  """A list for each thread; ValueError where there is none or dicts have not the same keys."""
  tensors_list = list(tensors_list)
  if not tensors_list:
    raise ValueError('Expected at least one set of tensors')
  first = tensors_list[0]
  if isinstance(first, dict):
    for other in tensors_list[1:]:
      if set(other) != set(first):
        raise ValueError('All dictionaries in tensors_list must have the same keys')
  return [_listed(t) for t in tensors_list]


def _converted(tensor_list, what):
  found = [sparse.convert_to_tensor_or_sparse_tensor(t) for t in tensor_list]
  if not found:
    raise ValueError('Expected at least one tensor in %s().' % what)
  return found


def _keep(keep_input, enqueue_many):
  """keep_input as a tensor: a scalar, or with enqueue_many also [number of elements]."""
  keep_input = convert(keep_input)
  rank = keep_input.get_shape().ndims
  if rank is None:
    raise ValueError('`keep_input` dimensions must be known at graph construction.')
  if not enqueue_many and rank == 1:
    raise ValueError('`keep_input` cannot be a vector when `enqueue_many=False`.')
  if rank > 1:
    raise ValueError('`keep_input` must be 0 or 1 dimensions.')
  return keep_input


def _types(lists):
  """The types of the components; TypeError where the lists differ."""
  found = [[t.dtype.base_dtype for t in tensors] for tensors in lists]
  for other in found[1:]:
    if other != found[0]:
      raise TypeError('Expected types to be consistent: %s vs. %s.' % (
          ', '.join(t.name for t in found[0]), ', '.join(t.name for t in other)))
  return found[0]


def _shapes(lists, shapes, enqueue_many):
  """The shapes of the elements: what the lists have in common, unless they are given."""
  if shapes is not None:
    return shapes
  found = []
  for parts in zip(*lists):
    for t in parts:
      if t.get_shape().ndims is None:
        raise ValueError("Cannot infer Tensor's rank: %s" % t)
    parts = [t.get_shape().with_rank_at_least(1)[1:] if enqueue_many else t.get_shape()
             for t in parts]
    common = parts[0]
    for other in parts[1:]:
      common = common.most_specific_compatible_shape(other)
      common.assert_has_rank(other.ndims)
    found.append(common)
  return found


# ---- Sparse tensors -----------------------------------------------------------------------------

# A component that is sparse: the name of the map that keeps it, its type, and its rank or None.
_Sparse = collections.namedtuple('_Sparse', ['map_name', 'dtype', 'rank'])


def _choose(keep_input, make, otherwise):
  """What make() gives where the scalar keep_input is true, else what otherwise() gives."""
  known = values.constant_value(keep_input)
  if known is not None:
    return make() if known else otherwise()
  return control_flow.cond(keep_input, make, otherwise)


def _rows_to_keep(t, keep_input):
  """The sparse tensor without the values of rows that are not kept."""
  kept = array.gather(keep_input, t.indices[:, 0])
  places = array.reshape(apply_op('Where', input=kept), [-1])
  return sparse.SparseTensor(array.gather(t.indices, places), array.gather(t.values, places),
                             t.dense_shape)


def _stored(t, map_name, enqueue_many, keep_input):
  """The number, or one for each row, under which a map keeps a sparse tensor; -1 where it is not
  kept."""
  def store(t, op='AddManySparseToTensorsMap' if enqueue_many else 'AddSparseToTensorsMap'):
    return apply_op(op, sparse_indices=t.indices, sparse_values=t.values,
                    sparse_shape=t.dense_shape, shared_name=map_name)
  if keep_input.get_shape().ndims == 1:
    return store(_rows_to_keep(t, keep_input))
  if enqueue_many:
    nothing = lambda: -1 * array.ones(array.reshape(
        math.cast(t.dense_shape[0], dtypes.int32), [1]), dtypes.int64)
  else:
    nothing = lambda: constant_of(-1, dtypes.int64)
  return _choose(keep_input, lambda: store(t), nothing)


def _store_sparse(lists, enqueue_many, keep_input):
  """(the lists with numbers for sparse tensors, for each component _Sparse or None)."""
  kinds = [isinstance(t, sparse.SparseTensor) for t in lists[0]]
  for tensors in lists[1:]:
    if [isinstance(t, sparse.SparseTensor) for t in tensors] != kinds:
      raise ValueError('Inconsistent sparse and dense tensors in tensors_list')
  found = []
  for i, is_sparse in enumerate(kinds):
    if not is_sparse:
      found.append(None)
      continue
    ranks = {_rank(tensors[i], enqueue_many) for tensors in lists}
    name = get_default_graph().unique_name('sparse_tensors_map')
    found.append(_Sparse(name, lists[0][i].dtype.base_dtype,
                         ranks.pop() if len(ranks) == 1 else None))
  lists = [[t if info is None else _stored(t, info.map_name, enqueue_many, keep_input)
            for t, info in zip(tensors, found)] for tensors in lists]
  return lists, found


def _rank(t, enqueue_many):
  """The rank of an element, or None."""
  rank = t.dense_shape.get_shape().with_rank(1).as_list()[0]
  return rank if rank is None or not enqueue_many else rank - 1


def _take_sparse(numbers, info):
  """The sparse tensors with these numbers as rows of one."""
  found = apply_op('TakeManySparseFromTensorsMap', sparse_handles=numbers, dtype=info.dtype,
                   shared_name=info.map_name)
  rank = None if info.rank is None else info.rank + 1
  indices, items, shape = found
  indices.set_shape([None, rank])
  shape.set_shape([rank])
  return sparse.SparseTensor(indices, items, shape)


# ---- The queue ----------------------------------------------------------------------------------


def _enqueues(queue, tensors, enqueue_many, keep_input):
  """An operation that adds the tensors, or those that are kept, to the queue."""
  add = queue.enqueue_many if enqueue_many else queue.enqueue
  if keep_input.get_shape().ndims == 1:
    chosen = math.cast(keep_input, dtypes.int32)
    return add([apply_op('DynamicPartition', data=t, partitions=chosen, num_partitions=2)[1]
                for t in tensors])
  return _choose(keep_input, lambda: add(tensors), lambda: apply_op('NoOp'))


class _Order:
  """How elements come out: as they came, or shuffled."""

  def __init__(self, name, capacity, dynamic_pad=False, min_after_dequeue=None, seed=None):
    if min_after_dequeue is not None and capacity <= min_after_dequeue:
      raise ValueError('capacity %d must be bigger than min_after_dequeue %d.' % (
          capacity, min_after_dequeue))
    self.name, self._capacity = name, capacity
    self._min, self._seed, self._pads = min_after_dequeue, seed, dynamic_pad

  def queue(self, kinds, shapes, shared_name):
    if self._min is not None:
      return queues.RandomShuffleQueue(self._capacity, self._min, kinds, shapes, seed=self._seed,
                                       shared_name=shared_name)
    cls = queues.PaddingFIFOQueue if self._pads else queues.FIFOQueue
    return cls(self._capacity, kinds, shapes, shared_name=shared_name)

  def summarize(self, queue):
    """Adds a summary of how full the queue is, above what must stay in it."""
    size = queue.size()
    if self._min is None:
      summary.scalar('fraction_of_%d_full' % self._capacity,
                     math.cast(size, dtypes.float32) * (1. / self._capacity))
      return
    room = self._capacity - self._min
    full = math.cast(apply_op('Maximum', x=0, y=size - self._min), dtypes.float32) * (1. / room)
    summary.scalar('fraction_over_%d_of_%d_full' % (self._min, room), full)


def _batch(order, lists, batch_size, keep_input, threads, enqueue_many, shapes, partial,
           shared_name, name):
  """The batches as a list of tensors. `threads` is how often the only list is added, or None where
  each list has a thread."""
  values_ = [t for tensors in lists for t in tensors if hasattr(t, 'graph')]
  with name_scope(name, order.name, values_ + [keep_input]) as scope:
    lists = [_converted(tensors, order.name) for tensors in lists]
    keep_input = _keep(keep_input, enqueue_many)
    lists, infos = _store_sparse(lists, enqueue_many, keep_input)
    queue = order.queue(_types(lists), _shapes(lists, shapes, enqueue_many), shared_name)
    operations = [_enqueues(queue, tensors, enqueue_many, keep_input) for tensors in lists]
    coordinator.add_queue_runner(coordinator.QueueRunner(queue, operations * (threads or 1)))
    order.summarize(queue)
    take = queue.dequeue_up_to if partial else queue.dequeue_many
    found = take(batch_size, name=scope)
    found = found if isinstance(found, list) else [found]
    return [t if info is None else _take_sparse(t, info) for t, info in zip(found, infos)]


def _as_given(given, found):
  """The batches in the form of what was given: a dict, a list, or the only tensor."""
  if isinstance(given, dict):
    return dict(zip(sorted(given), found))
  return found[0] if len(found) == 1 else found


@export('train.maybe_batch')
def maybe_batch(tensors, keep_input, batch_size, num_threads=1, capacity=32, enqueue_many=False,
                shapes=None, dynamic_pad=False, allow_smaller_final_batch=False,
                shared_name=None, name=None):
  """Batches of the elements for which keep_input is true: a scalar bool, or with enqueue_many one
  for each element."""
  found = _batch(_Order('batch', capacity, dynamic_pad), [_listed(tensors)], batch_size,
                 keep_input, num_threads, enqueue_many, shapes, allow_smaller_final_batch,
                 shared_name, name)
  return _as_given(tensors, found)


@export('train.batch')
def batch(tensors, batch_size, num_threads=1, capacity=32, enqueue_many=False, shapes=None,
          dynamic_pad=False, allow_smaller_final_batch=False, shared_name=None, name=None):
  """Batches of the elements that `tensors`, a list or dict, gives each time it is run: each tensor,
  or sparse tensor, gets a new first dimension of batch_size. A queue of `capacity` elements is
  filled by num_threads threads, which begin with tf.train.start_queue_runners.

  With enqueue_many each run gives many elements, along the first dimension. With dynamic_pad
  elements of different sizes are padded; otherwise ValueError where shapes are not known. With
  allow_smaller_final_batch the last batch can have fewer.
  """
  return maybe_batch(tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes,
                     dynamic_pad, allow_smaller_final_batch, shared_name, name)


@export('train.maybe_batch_join')
def maybe_batch_join(tensors_list, keep_input, batch_size, capacity=32, enqueue_many=False,
                     shapes=None, dynamic_pad=False, allow_smaller_final_batch=False,
                     shared_name=None, name=None):
  """Batches of the kept elements of several lists, each run by a thread of its own."""
  found = _batch(_Order('batch_join', capacity, dynamic_pad), _listed_all(tensors_list),
                 batch_size, keep_input, None, enqueue_many, shapes, allow_smaller_final_batch,
                 shared_name, name)
  return _as_given(tensors_list[0], found)


@export('train.batch_join')
def batch_join(tensors_list, batch_size, capacity=32, enqueue_many=False, shapes=None,
               dynamic_pad=False, allow_smaller_final_batch=False, shared_name=None, name=None):
  """Batches of the elements of several lists, each run by a thread of its own."""
  return maybe_batch_join(tensors_list, True, batch_size, capacity, enqueue_many, shapes,
                          dynamic_pad, allow_smaller_final_batch, shared_name, name)


@export('train.maybe_shuffle_batch')
def maybe_shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, keep_input,
                        num_threads=1, seed=None, enqueue_many=False, shapes=None,
                        allow_smaller_final_batch=False, shared_name=None, name=None):
  """Shuffled batches of the kept elements."""
  order = _Order('shuffle_batch', capacity, min_after_dequeue=min_after_dequeue, seed=seed)
  found = _batch(order, [_listed(tensors)], batch_size, keep_input, num_threads, enqueue_many,
                 shapes, allow_smaller_final_batch, shared_name, name)
  return _as_given(tensors, found)


@export('train.shuffle_batch')
def shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, num_threads=1, seed=None,
                  enqueue_many=False, shapes=None, allow_smaller_final_batch=False,
                  shared_name=None, name=None):
  """`batch` in a random order: each element is drawn of at least min_after_dequeue that wait.
  Larger numbers mix better and start more slowly; `capacity` must be larger."""
  return maybe_shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, True, num_threads,
                             seed, enqueue_many, shapes, allow_smaller_final_batch, shared_name,
                             name)


@export('train.maybe_shuffle_batch_join')
def maybe_shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, keep_input,
                             seed=None, enqueue_many=False, shapes=None,
                             allow_smaller_final_batch=False, shared_name=None, name=None):
  """Shuffled batches of the kept elements of several lists."""
  order = _Order('shuffle_batch_join', capacity, min_after_dequeue=min_after_dequeue, seed=seed)
  found = _batch(order, _listed_all(tensors_list), batch_size, keep_input, None, enqueue_many,
                 shapes, allow_smaller_final_batch, shared_name, name)
  return _as_given(tensors_list[0], found)


@export('train.shuffle_batch_join')
def shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, seed=None,
                       enqueue_many=False, shapes=None, allow_smaller_final_batch=False,
                       shared_name=None, name=None):
  """Shuffled batches of the elements of several lists."""
  return maybe_shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, True, seed,
                                  enqueue_many, shapes, allow_smaller_final_batch, shared_name,
                                  name)
