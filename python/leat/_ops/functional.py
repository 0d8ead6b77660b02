"""map_fn, foldl, foldr, scan: functions applied to the slices of tensors along the first dimension,
each by one while loop that reads the slices from TensorArrays."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._ops import nest
from leat._ops.control_flow import while_loop
from leat._ops.tensor_array import TensorArray


class _Elements:
  """The tensors of a structure, cut along their first dimension. `count` is a number where a shape
  says it, else a tensor."""

  def __init__(self, elems):
    from leat._ops import array
    self._structure = elems
    self.tensors = [convert(e, name='elem') for e in nest.flatten(elems)]
    if not self.tensors:
      raise ValueError('elems must be a Tensor or (possibly nested) sequence of Tensors. Got %s, '
                       'which does not contain any Tensors.' % (elems,))
    for tensor in self.tensors:
      if tensor.get_shape().ndims == 0:
        raise ValueError('Elements in elems must be 1+ dimensional Tensors, not scalars')
    self.size = self.tensors[0].get_shape().with_rank_at_least(1)[0]
    for tensor in self.tensors[1:]:
      self.size.assert_is_compatible_with(tensor.get_shape().with_rank_at_least(1)[0])
    self.count = self.size.value
    if self.count is None:
      self.count = array.shape(self.tensors[0])[0]
    self._arrays = [TensorArray(t.dtype, size=self.count, infer_shape=True).unstack(t)
                    for t in self.tensors]

  def read(self, index):
    """The structure of the slices there."""
    return nest.pack_sequence_as(self._structure, [a.read(index) for a in self._arrays])

  def packed(self, slices):
    """The structure of other tensors."""
    return nest.pack_sequence_as(self._structure, slices)

  def joined(self, arrays):
    """Each TensorArray as a tensor with as many slices as there are elements."""
    found = []
    for a in arrays:
      tensor = a.stack()
      tensor.set_shape(TensorShape([self.size]).concatenate(tensor.get_shape()[1:]))
      found.append(tensor)
    return found


def _check_callable(fn):
  if not callable(fn):
    raise TypeError('%s is not callable. Please provide a callable function.' %
                    getattr(fn, '__name__', fn))


@export('map_fn')
def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False,
           infer_shape=True, name=None, fn_output_signature=None):
  """fn of each slice, stacked. `dtype` is the structure of types that fn gives, where these are not
  the structure and types of elems; a RaggedTensorSpec in it says that slices differ in size."""
  _check_callable(fn)
  dtype = fn_output_signature if dtype is None else dtype
  if any(hasattr(item, 'ragged_rank') for item in nest.flatten(elems) + nest.flatten(dtype)):
    from leat._ops.ragged import map as ragged
    return ragged.map_fn(fn, elems, dtype, parallel_iterations, back_prop, swap_memory, infer_shape,
                         name)
  with name_scope(name, 'map', nest.flatten(elems)):
    elements = _Elements(elems)
    like = elems if dtype is None else dtype
    types = [t.dtype for t in elements.tensors] if dtype is None else \
        [dtypes.as_dtype(d) for d in nest.flatten(dtype)]
    index = constant_of(0)
    results = [TensorArray(t, size=elements.count, infer_shape=infer_shape) for t in types]

    def body(i, arrays):
      result = fn(elements.read(i))
      nest.assert_same_structure(like, result)
      return i + 1, [a.write(i, r) for a, r in zip(arrays, nest.flatten(result))]
    _, results = while_loop(lambda i, _: i < elements.count, body, (index, results),
                            parallel_iterations=parallel_iterations or 10, back_prop=back_prop,
                            swap_memory=swap_memory, maximum_iterations=elements.count)
    return nest.pack_sequence_as(like, elements.joined(results))


def _fold(fn, elems, initializer, name, is_reverse, **options):
  _check_callable(fn)
  with name_scope(name, 'foldr' if is_reverse else 'foldl', nest.flatten(elems)):
    elements = _Elements(elems)
    # i is how many slices are done; those of foldr are counted from the end.
    place = (lambda i: elements.count - 1 - i) if is_reverse else lambda i: i
    if initializer is None:
      start, value = constant_of(1), elements.read(place(0))
    else:
      start, value = constant_of(0), initializer
    return while_loop(lambda i, _: i < elements.count,
                      lambda i, a: [i + 1, fn(a, elements.read(place(i)))], [start, value],
                      maximum_iterations=elements.count, **options)[1]


@export('foldl')
def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False,
          name=None):
  """fn(... fn(fn(initializer, first), second) ..., last)."""
  return _fold(fn, elems, initializer, name, False, parallel_iterations=parallel_iterations,
               back_prop=back_prop, swap_memory=swap_memory)


@export('foldr')
def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False,
          name=None):
  """fn(... fn(fn(initializer, last), last but one) ..., first)."""
  return _fold(fn, elems, initializer, name, True, parallel_iterations=parallel_iterations,
               back_prop=back_prop, swap_memory=swap_memory)


@export('scan')
def scan(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False,
         infer_shape=True, reverse=False, name=None):
  """As foldl, or foldr in reverse; all values on the way, stacked."""
  _check_callable(fn)
  with name_scope(name, 'scan', nest.flatten(elems)):
    elements = _Elements(elems)
    like = elems if initializer is None else initializer
    place = (lambda i: elements.count - 1 - i) if reverse else lambda i: i
    first = elements.read(place(0)) if initializer is None else initializer
    values = [convert(v) for v in nest.flatten(first)]
    arrays = [TensorArray(v.dtype, size=elements.count, infer_shape=infer_shape,
                          element_shape=v.get_shape() if infer_shape else None) for v in values]
    if initializer is None:
      arrays = [a.write(place(0), v) for a, v in zip(arrays, values)]

    def body(i, values, arrays):
      result = fn(nest.pack_sequence_as(like, values), elements.read(place(i)))
      nest.assert_same_structure(like, result)
      flat = nest.flatten(result)
      return i + 1, flat, [a.write(place(i), v) for a, v in zip(arrays, flat)]
    start = 1 if initializer is None else 0
    _, _, arrays = while_loop(lambda i, *_: i < elements.count, body, (start, values, arrays),
                              parallel_iterations=parallel_iterations, back_prop=back_prop,
                              swap_memory=swap_memory, maximum_iterations=elements.count)
    return nest.pack_sequence_as(like, elements.joined(arrays))


@export('vectorized_map')
def vectorized_map(fn, elems, fallback_to_while_loop=True, warn=True):
  """fn of each slice, stacked, as map_fn does it, but fn may give any structure of tensors. The
  slices are handled one after the other by a loop of the graph; nothing is vectorized."""
  del fallback_to_while_loop, warn
  _check_callable(fn)
  with name_scope('vectorized_map', values=nest.flatten(elems)):
    elements = _Elements(elems)
    made = []   # [structure] of what fn gives, known once it is called

    def body(i, arrays):
      result = fn(elements.read(i))
      made.append(result)
      items = [convert(r) for r in nest.flatten(result)]
      return i + 1, [a.write(i, r) for a, r in zip(arrays, items)]
    types = [t.dtype.base_dtype for t in _traced(fn, elements)]
    arrays = [TensorArray(t, size=elements.count) for t in types]
    _, arrays = while_loop(lambda i, _: i < elements.count, body, (constant_of(0), arrays),
                           maximum_iterations=elements.count)
    return nest.pack_sequence_as(made[0], elements.joined(arrays))


def _traced(fn, elements):
  """The tensors that fn gives for a slice, in a graph that is thrown away."""
  from leat._graph.apply import apply_op
  from leat._graph.function_graph import FunctionGraph
  from leat._graph.graph import get_default_graph
  body = FunctionGraph(get_default_graph())
  with body.as_default():
    slices = [apply_op('Placeholder', dtype=t.dtype.base_dtype, shape=t.get_shape()[1:])
              for t in elements.tensors]
    return [convert(r) for r in nest.flatten(fn(elements.packed(slices)))]
