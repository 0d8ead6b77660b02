"""Queues: FIFOQueue and its kin, and barriers for readers of files."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op, make_op
from leat._graph.conversion import convert
from leat._graph.scope import get_seed, name_scope
from leat._graph.shape import TensorShape, as_shape


def _dtypes(values):
  if not isinstance(values, (list, tuple)):
    values = [values]
  return [dtypes.as_dtype(d) for d in values]


def _shapes(shapes, kinds):
  if shapes is None:
    return []
  if isinstance(shapes, TensorShape) or not isinstance(shapes, (list, tuple)) or not any(
      s is None or isinstance(s, (list, tuple, TensorShape)) for s in shapes) and len(kinds) == 1 \
      and not (len(shapes) == 1 and isinstance(shapes[0], (list, tuple, TensorShape))):
    shapes = [shapes]
  shapes = [as_shape(s) for s in shapes]
  if len(shapes) != len(kinds):
    raise ValueError('Queue shapes must have the same length as dtypes, received %d shapes, %d '
                     'dtypes' % (len(shapes), len(kinds)))
  return shapes


def _names(names, kinds):
  if names is None:
    return None
  names = [names] if isinstance(names, str) else list(names)
  if len(names) != len(kinds):
    raise ValueError('List of names, len: %s, must match the list of dtypes, len: %s' % (
        len(names), len(kinds)))
  return names


@export('QueueBase', 'queue.QueueBase')
class QueueBase:
  """The base of queues: elements are tuples of tensors of fixed types."""

  def __init__(self, dtypes, shapes, names, queue_ref):
    self._dtypes, self._names, self._queue_ref = dtypes, names, queue_ref
    self._shapes = list(shapes) if shapes else [TensorShape(None)] * len(dtypes)
    self._name = queue_ref.op.name.split('/')[-1]

  queue_ref = property(lambda self: self._queue_ref)
  name = property(lambda self: self._queue_ref.op.name)
  dtypes = property(lambda self: self._dtypes)
  shapes = property(lambda self: self._shapes)
  names = property(lambda self: self._names)

  @staticmethod
  def from_list(index, queues):
    """The queue of the list that a tensor says; all must be alike."""
    if not queues or not isinstance(queues, list) or not all(
        isinstance(q, QueueBase) for q in queues):
      raise TypeError('A list of queues expected')
    first = queues[0]
    if not all(first.dtypes == q.dtypes for q in queues[1:]):
      raise TypeError('Queues do not have matching component dtypes.')
    if not all(first.names == q.names for q in queues[1:]):
      raise TypeError('Queues do not have matching component names.')
    shapes = [q.shapes for q in queues]
    common = [_common(parts) for parts in zip(*shapes)]
    refs = [q.queue_ref for q in queues]
    chosen = apply_op('RefSelect', index=index, inputs=refs) if refs[0].dtype._is_ref_dtype else \
        apply_op('GatherV2', params=apply_op('Pack', values=refs), indices=index, axis=0)
    return QueueBase(first.dtypes, common, first.names, chosen)

  def _values(self, vals):
    """The tensors of an element, in order."""
    if isinstance(vals, dict):
      if not self._names:
        raise ValueError('Queue must have names to enqueue a dictionary')
      if sorted(self._names, key=str) != sorted(vals, key=str):
        raise ValueError('Keys in dictionary to enqueue do not match names of Queue.  Dictionary: '
                         '%s,'
                         'Queue: %s' % (sorted(vals), sorted(self._names)))
      vals = [vals[n] for n in self._names]
    else:
      if self._names:
        raise ValueError('You must enqueue a dictionary in a Queue with names')
      if not isinstance(vals, (list, tuple)):
        vals = [vals]
    found = []
    for i, (value, dtype) in enumerate(zip(vals, self._dtypes)):
      found.append(convert(value, dtype, 'component_%d' % i))
    if len(vals) != len(self._dtypes):
      raise ValueError('Queue expects %d components, but %d were given' % (
          len(self._dtypes), len(vals)))
    return found

  @property
  def _v2(self):
    return self._queue_ref.dtype == dtypes.resource

  def _op(self, name, own, **values):
    return make_op(name + ('V2' if self._v2 else ''), name=own, handle=self._queue_ref, **values)

  def enqueue(self, vals, name=None):
    """Adds an element; waits while the queue is full."""
    with name_scope(name, '%s_enqueue' % self._name, self._scope_values(vals)) as scope:
      found = self._values(vals)
      for value, shape in zip(found, self._shapes):
        value.get_shape().assert_is_compatible_with(shape)
      return self._op('QueueEnqueue', scope, components=found)

  def enqueue_many(self, vals, name=None):
    """Adds the slices of the first dimension as elements."""
    with name_scope(name, '%s_EnqueueMany' % self._name, self._scope_values(vals)) as scope:
      found = self._values(vals)
      batch = found[0].get_shape().with_rank_at_least(1)[0]
      for value, shape in zip(found, self._shapes):
        batch = batch.merge_with(value.get_shape().with_rank_at_least(1)[0])
        value.get_shape()[1:].assert_is_compatible_with(shape)
      return self._op('QueueEnqueueMany', scope, components=found)

  @staticmethod
  def _scope_values(vals):
    if isinstance(vals, (list, tuple)):
      return [v for v in vals if isinstance(v, _leat.Output)]
    return [vals] if isinstance(vals, _leat.Output) else list(vals.values()) if isinstance(
        vals, dict) else []

  def _returned(self, tensors):
    if self._names:
      return dict(zip(self._names, tensors))
    return tensors[0] if len(tensors) == 1 else list(tensors)

  def _dequeued(self, op, shapes):
    for output, shape in zip(op.outputs, shapes):
      output.set_shape(shape)
    return self._returned(op.outputs)

  def dequeue(self, name=None):
    """Takes an element; waits while there is none."""
    op = self._op('QueueDequeue', name or '%s_Dequeue' % self._name, component_types=self._dtypes)
    return self._dequeued(op, self._shapes)

  def dequeue_many(self, n, name=None):
    """Takes n elements, joined along a new first dimension."""
    op = self._op('QueueDequeueMany', name or '%s_DequeueMany' % self._name, n=n,
                  component_types=self._dtypes)
    from leat._graph.value import constant_value
    batch = constant_value(op.inputs[1])
    return self._dequeued(op, [TensorShape([None if batch is None else int(batch)]).concatenate(s)
                               for s in self._shapes])

  def dequeue_up_to(self, n, name=None):
    """The same; fewer where the queue is closed."""
    op = self._op('QueueDequeueUpTo', name or '%s_DequeueUpTo' % self._name, n=n,
                  component_types=self._dtypes)
    return self._dequeued(op, [TensorShape([None]).concatenate(s) for s in self._shapes])

  def close(self, cancel_pending_enqueues=False, name=None):
    """No element can be added any more."""
    return self._op('QueueClose', name or '%s_Close' % self._name,
                    cancel_pending_enqueues=cancel_pending_enqueues)

  def is_closed(self, name=None):
    """Whether the queue is closed, a scalar bool."""
    return apply_op('QueueIsClosedV2' if self._v2 else 'QueueIsClosed',
                    name=name or '%s_Is_Closed' % self._name, handle=self._queue_ref)

  def size(self, name=None):
    """How many elements there are."""
    return apply_op('QueueSizeV2' if self._v2 else 'QueueSize',
                    name=name or '%s_Size' % self._name, handle=self._queue_ref)


def _common(shapes):
  """The shape that all have, with what they differ in unknown."""
  result = shapes[0]
  for s in shapes[1:]:
    result = result.most_specific_compatible_shape(s)
  return result


@export('FIFOQueue', 'queue.FIFOQueue')
class FIFOQueue(QueueBase):
  """A queue of tuples of tensors, first in, first out. Enqueuing waits while `capacity` elements
  are in it, dequeuing while it is empty. `dtypes` and `shapes` are those of the parts; dequeue_many
  needs shapes. Sessions of one process share a queue of the same shared_name.

  >>> queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
  >>> fill, first = queue.enqueue_many([[1, 2]]), queue.dequeue()
  >>> sess = tf.Session()
  >>> sess.run(fill)
  >>> int(sess.run(first))
  1
  """

  def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None,
               name='fifo_queue'):
    kinds = _dtypes(dtypes)
    shapes, names = _shapes(shapes, kinds), _names(names, kinds)
    ref = apply_op('FIFOQueueV2', name=name, component_types=kinds, shapes=shapes,
                   capacity=capacity, shared_name=shared_name)
    super().__init__(kinds, shapes, names, ref)


@export('RandomShuffleQueue', 'queue.RandomShuffleQueue')
class RandomShuffleQueue(QueueBase):
  """A queue of tuples of tensors whose elements come out in a random order: dequeuing waits until
  more than min_after_dequeue are in it, or it is closed. Otherwise as FIFOQueue."""

  def __init__(self, capacity, min_after_dequeue, dtypes, shapes=None, names=None, seed=None,
               shared_name=None, name='random_shuffle_queue'):
    kinds = _dtypes(dtypes)
    shapes, names = _shapes(shapes, kinds), _names(names, kinds)
    first, second = get_seed(seed)
    if first is None and second is None:
      first, second = 0, 0
    elif seed is None and shared_name is not None:
      import hashlib
      text = (str(first) + shared_name).encode('utf-8')
      second = int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7fffffff
    ref = apply_op('RandomShuffleQueueV2', name=name, component_types=kinds, shapes=shapes,
                   capacity=capacity, min_after_dequeue=min_after_dequeue, seed=first,
                   seed2=second, shared_name=shared_name)
    super().__init__(kinds, shapes, names, ref)


@export('PaddingFIFOQueue', 'queue.PaddingFIFOQueue')
class PaddingFIFOQueue(QueueBase):
  """A FIFOQueue whose shapes may have sizes of None: where several elements are taken, shorter ones
  are padded with zeros."""

  def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None,
               name='padding_fifo_queue'):
    kinds = _dtypes(dtypes)
    if shapes is None:
      raise ValueError('When providing partial shapes, a list of shapes must be provided.')
    shapes, names = _shapes(shapes, kinds), _names(names, kinds)
    if len(kinds) != len(shapes):
      raise ValueError('Shapes must be provided for all components, but received %d dtypes and %d '
                       'shapes.' % (len(kinds), len(shapes)))
    for i, shape in enumerate(shapes):
      if shape.ndims is None:
        raise ValueError('shapes[%d] is %s, must have a defined rank.' % (i, shape))
    ref = apply_op('PaddingFIFOQueueV2', name=name, component_types=kinds, shapes=shapes,
                   capacity=capacity, shared_name=shared_name)
    super().__init__(kinds, shapes, names, ref)


@export('PriorityQueue', 'queue.PriorityQueue')
class PriorityQueue(QueueBase):
  """The element with the smallest int64, its first component, comes out first."""

  def __init__(self, capacity, types, shapes=None, names=None, shared_name=None,
               name='priority_queue'):
    kinds = _dtypes(types)
    shapes = _shapes(shapes, kinds)
    ref = apply_op('PriorityQueueV2', name=name, component_types=kinds, shapes=shapes,
                   capacity=capacity, shared_name=shared_name)
    all_kinds = [dtypes.int64] + kinds
    super().__init__(all_kinds, [TensorShape(())] + shapes if shapes else shapes,
                     _names(names, all_kinds), ref)
