"""Ragged constants and placeholders, and ranges, one a row."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._ops import array, math
from leat._ops.ragged import rows
from leat._ops.ragged.tensor import RaggedTensor
from leat._ops.ragged.value import of_nested


@export('ragged.constant')
def constant(pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None,
             row_splits_dtype=dtypes.int64):
  """Nested lists as a constant RaggedTensor, or as a tensor where no dimension is ragged.

  The outer `ragged_rank` dimensions after the first are ragged; without it all but the innermost
  are. `inner_shape` is the shape of what is inside of them.
  """
  kind = rows.splits_dtype(row_splits_dtype)
  with name_scope(name, 'RaggedConstant'):
    def values_of(items, shape):
      if 0 in shape and not items:
        return array.zeros(shape, dtype or dtypes.float32, 'values')
      return constant_of(items, None if dtype is None else dtypes.as_dtype(dtype),
                         'values' if ragged_rank != 0 else 'Const', shape, verify_shape=True)
    return of_nested(
        pylist, ragged_rank, inner_shape, values_of,
        lambda values, splits: RaggedTensor.from_row_splits(values, splits, validate=False),
        lambda ends: constant_of(ends, kind))


@export('ragged.placeholder')
def placeholder(dtype, ragged_rank, value_shape=None, name=None):
  """A ragged tensor that must be fed with a RaggedTensorValue; value_shape is the shape of each
  flat value."""
  if ragged_rank == 0:
    return array.placeholder(dtype, value_shape, name)
  with name_scope(name, 'RaggedPlaceholder'):
    inner = TensorShape([None]).concatenate(TensorShape(value_shape))
    result = array.placeholder(dtype, inner, 'flat_values')
    for i in reversed(range(ragged_rank)):
      splits = array.placeholder(dtypes.int64, [None], 'row_splits_%d' % i)
      result = RaggedTensor.from_row_splits(result, splits, validate=False)
    return result


@export('ragged.range')
def ragged_range(starts, limits=None, deltas=1, dtype=None, name=None,
                 row_splits_dtype=dtypes.int64):
  """A range a row, from starts[i] to limits[i] in steps of deltas[i]. With one argument, from 0."""
  kind = rows.splits_dtype(row_splits_dtype)
  if limits is None:
    starts, limits = 0, starts
  with name_scope(name, 'RaggedRange', [starts, limits, deltas]):
    parts = [convert(v, dtype, n) for v, n in (
        (starts, 'starts'), (limits, 'limits'), (deltas, 'deltas'))]
    if dtype is None:
      order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
      for part in parts:
        if part.dtype.base_dtype not in order:
          raise ValueError('Unsupported dtype for a range: %s' % part.dtype.name)
      widest = max((p.dtype.base_dtype for p in parts), key=order.index)
      parts = [math.cast(p, widest) for p in parts]
    made = apply_op('RaggedRange', starts=parts[0], limits=parts[1], deltas=parts[2], Tsplits=kind)
    return RaggedTensor.from_row_splits(made.rt_dense_values, made.rt_nested_splits,
                                        validate=False)
