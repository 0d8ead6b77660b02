"""tf.map_fn where elements or results are ragged.

A loop over the numbers of the rows: the function is given the row of each ragged element. A ragged
result of a row is written to TensorArrays in parts, the flat values and the lengths of its rows,
which are joined when the loop has ended; so rows may have any length.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import constant_of
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._ops import array, nest
from leat._ops.control_flow import while_loop
from leat._ops.ragged import rows
from leat._ops.ragged.tensor import RaggedTensor, as_ragged
from leat._ops.tensor_array import TensorArray


@export('RaggedTensorSpec')
class RaggedTensorSpec:
  """The type of a ragged tensor: shape, dtype, ragged rank, type of the row splits."""

  def __init__(self, shape=None, dtype=dtypes.float32, ragged_rank=None,
               row_splits_dtype=dtypes.int64, flat_values_spec=None):
    del flat_values_spec
    self._shape, self._dtype = TensorShape(shape), dtypes.as_dtype(dtype)
    self._row_splits_dtype = rows.splits_dtype(row_splits_dtype)
    if ragged_rank is None:
      if self._shape.ndims is None:
        raise ValueError('Must specify ragged_rank or a shape with a known rank.')
      ragged_rank = self._shape.ndims - 1
    if not isinstance(ragged_rank, int):
      raise TypeError('Argument `ragged_rank` must be an int. Received %s.' % (ragged_rank,))
    if self._shape.ndims is not None and ragged_rank >= self._shape.ndims:
      raise ValueError('Argument `ragged_rank` (%d) must be less than rank (%d).' % (
          ragged_rank, self._shape.ndims))
    self._ragged_rank = ragged_rank

  shape = property(lambda self: self._shape)
  dtype = property(lambda self: self._dtype)
  ragged_rank = property(lambda self: self._ragged_rank)
  row_splits_dtype = property(lambda self: self._row_splits_dtype)

  def __repr__(self):
    return 'RaggedTensorSpec(%s, %r, %d, %r)' % (self._shape, self._dtype, self._ragged_rank,
                                                 self._row_splits_dtype)


class _Result:
  """What the function gives for one item of its structure, over all rows."""

  def __init__(self, spec, count, infer_shape):
    self.rank = spec.ragged_rank if isinstance(spec, RaggedTensorSpec) else 0
    self.splits = spec.row_splits_dtype if self.rank else None
    self.dtype = dtypes.as_dtype(spec.dtype if hasattr(spec, 'ragged_rank') else spec)
    if not self.rank:
      self.arrays = [TensorArray(self.dtype, size=count, infer_shape=infer_shape)]
    else:
      self.arrays = [TensorArray(self.dtype, size=count, infer_shape=False)] + [
          TensorArray(self.splits, size=count, infer_shape=False) for _ in range(self.rank)]

  def write(self, arrays, i, value):
    if not self.rank:
      return [arrays[0].write(i, value)]
    value = as_ragged(value)
    found = value.ragged_rank if isinstance(value, RaggedTensor) else 0
    if found != self.rank - 1:
      raise ValueError('The declared ragged rank (%d) mismatches the result (%d)' % (self.rank,
                                                                                    found + 1))
    if not found:
      parts = [value, rows.count(value, self.splits)]
    else:
      value = value.with_row_splits_dtype(self.splits)
      parts = [value.flat_values, value.nrows()] + list(value.nested_row_lengths())
    self.inner = parts[0].get_shape()[1:]
    return [a.write(i, p) for a, p in zip(arrays, parts)]

  def joined(self, arrays, size):
    if not self.rank:
      made = arrays[0].stack()
      made.set_shape(TensorShape([size]).concatenate(made.get_shape()[1:]))
      return made
    flat = arrays[0].concat()
    flat.set_shape(TensorShape([None]).concatenate(self.inner))
    first = arrays[1].stack()
    first.set_shape([size])
    return RaggedTensor.from_nested_row_lengths(
        flat, [first] + [a.concat() for a in arrays[2:]], validate=False)


def map_fn(fn, elems, dtype=None, parallel_iterations=None, back_prop=True, swap_memory=False,
           infer_shape=True, name=None, fn_output_signature=None):
  """fn of each row; see tf.map_fn. Results are ragged where dtype has a RaggedTensorSpec."""
  if not callable(fn):
    raise TypeError('fn must be callable, but is %r' % (fn,))
  dtype = fn_output_signature if dtype is None else dtype
  with name_scope(name, 'map'):
    values = [as_ragged(e, name='elem') for e in nest.flatten(elems)]
    size = rows.merged(*[v.shape for v in values])[0].value
    first = values[0]
    count = size
    if count is None:
      count = first.nrows(dtypes.int32) if isinstance(first, RaggedTensor) else \
          array.shape(first)[0]
    specs = [_spec(v) for v in values] if dtype is None else nest.flatten(dtype)
    like = elems if dtype is None else dtype
    results = [_Result(s, count, infer_shape) for s in specs]

    def body(i, arrays):
      made = fn(nest.pack_sequence_as(elems, [v[i] for v in values]))
      parts = nest.flatten(made)
      if len(parts) != len(results):
        raise ValueError('fn gives %d values, but dtype says %d' % (len(parts), len(results)))
      return i + 1, [r.write(a, i, p) for r, a, p in zip(results, arrays, parts)]
    _, arrays = while_loop(lambda i, _: i < count, body,
                           (constant_of(0), [r.arrays for r in results]),
                           parallel_iterations=parallel_iterations or 10, back_prop=back_prop,
                           swap_memory=swap_memory)
    return nest.pack_sequence_as(like, [r.joined(a, size) for r, a in zip(results, arrays)])


def _spec(value):
  if isinstance(value, RaggedTensor):
    return RaggedTensorSpec(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)
  return value.dtype

