"""StagingArea: a buffer of tuples of tensors on a device, which a step fills for a later one."""
from __future__ import annotations

from leat._export import export
from leat._graph import graph as graphs
from leat._graph.apply import apply_op, make_op
from leat._graph.building import device_of
from leat._graph.conversion import convert
from leat._graph.scope import device, name_scope
from leat._graph.shape import TensorShape
from leat._ops.queues import _dtypes, _names, _shapes


@export('contrib.staging.StagingArea', 'python.ops.data_flow_ops.StagingArea')
class StagingArea:
  """A buffer of tuples of tensors of the `dtypes`, given by `names` where it has any. put() waits
  while it is full, of `capacity` tuples or memory_limit bytes, get() while it is empty. It is on
  the device on which it was made; areas with one shared_name are one."""

  def __init__(self, dtypes, shapes=None, names=None, shared_name=None, capacity=0,
               memory_limit=0):
    self._dtypes = _dtypes(dtypes)
    self._shapes = _shapes(shapes, self._dtypes) or [TensorShape(None)] * len(self._dtypes)
    self._names = _names(names, self._dtypes)
    for what, value in (('capacity', capacity), ('memory_limit', memory_limit)):
      if value < 0:
        raise ValueError('%s must be >= 0, is %d' % (what, value))
    graph = graphs.get_default_graph()
    self._shared_name = shared_name or graph.unique_name('StagingArea').replace('/', '_')
    self._capacity, self._memory_limit = capacity, memory_limit
    self._device = device_of(graph._building)

  name = property(lambda self: self._shared_name)
  dtypes = property(lambda self: self._dtypes)
  shapes = property(lambda self: self._shapes)
  names = property(lambda self: self._names)
  capacity = property(lambda self: self._capacity)
  memory_limit = property(lambda self: self._memory_limit)

  def _settings(self):
    return dict(container='', shared_name=self._shared_name, capacity=self._capacity,
                memory_limit=self._memory_limit)

  def _typed(self):
    return dict(self._settings(), dtypes=self._dtypes)

  def _values(self, values):
    """The tensors of a tuple, in the order of the types."""
    if isinstance(values, dict):
      if not self._names:
        raise ValueError('Staging areas must have names to enqueue a dictionary')
      unknown = sorted(set(values) - set(self._names))
      if unknown or len(values) != len(self._names):
        raise ValueError('values have the names %s, must have %s' % (sorted(values), self._names))
      values = [values[name] for name in self._names]
    elif self._names:
      raise ValueError('You must enqueue a dictionary in a staging area with names')
    elif not isinstance(values, (list, tuple)):
      values = [values]
    if len(values) != len(self._dtypes):
      raise ValueError('values has %d tensors, must have %d' % (len(values), len(self._dtypes)))
    found = [convert(v, d, 'component') for v, d in zip(values, self._dtypes)]
    for tensor, shape in zip(found, self._shapes):
      tensor.get_shape().assert_is_compatible_with(shape)
    return found

  def put(self, values, name=None):
    """The operation that puts a tuple, a list or dict of tensors, into the area."""
    with name_scope(name, self._shared_name + '_put') as scope, device(self._device or None):
      return make_op('Stage', name=scope, values=self._values(values), **self._settings())

  def _given(self, tensors):
    tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    for tensor, shape in zip(tensors, self._shapes):
      tensor.set_shape(shape)
    return dict(zip(self._names, tensors)) if self._names else tensors

  def get(self, name=None):
    """The tensors of the oldest tuple, which leaves the area, as a list, or as a dict where they
    have names."""
    with name_scope(name, self._shared_name + '_get') as scope, device(self._device or None):
      return self._given(apply_op('Unstage', name=scope, **self._typed()))

  def peek(self, index, name=None):
    """The tensors of the tuple with that number, which stays."""
    with name_scope(name, self._shared_name + '_peek') as scope, device(self._device or None):
      return self._given(apply_op('StagePeek', name=scope, index=index, **self._typed()))

  def size(self, name=None):
    """How many tuples there are, as a tensor."""
    with name_scope(name, self._shared_name + '_size') as scope, device(self._device or None):
      return apply_op('StageSize', name=scope, **self._typed())

  def clear(self, name=None):
    """The operation that empties the area."""
    with name_scope(name, self._shared_name + '_clear') as scope, device(self._device or None):
      return make_op('StageClear', name=scope, **self._typed())
