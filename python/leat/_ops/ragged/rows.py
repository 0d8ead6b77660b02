"""Rows: what row splits, row ids and row lengths say of each other.

`splits` are where rows end: row i has the values from splits[i] to splits[i + 1]. `ids` say for
each value the row that it is in, and never decrease.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._ops import array, math


def checked(tensor, condition, text, *data):
  """The tensor; its step fails with an InvalidArgumentError where `condition` does not hold."""
  with control_dependencies([_assertion(condition, text, data)]):
    return apply_op('Identity', input=tensor)


def _assertion(condition, text, data):
  return apply_op('Assert', condition=condition, data=[constant_of(text, dtypes.string)] +
                  [convert(d) for d in data])


def all_equal(x, y):
  """A tensor: whether two tensors have the same shape and values."""
  x, y = convert(x), convert(y)
  known = x.get_shape().is_fully_defined() and y.get_shape().is_fully_defined()
  if known and x.get_shape().as_list() == y.get_shape().as_list():
    return math.reduce_all(apply_op('Equal', x=x, y=y))
  return math.reduce_all(apply_op('Equal', x=x, y=y, incompatible_shape_error=False))


def surely_equal(x, y):
  """Whether two tensors are known to be equal before the graph runs."""
  if x is y:
    return True
  first = constant_value(x)
  if first is None:
    return False
  second = constant_value(y)
  return second is not None and first.shape == second.shape and bool((first == second).all())


def splits_dtype(dtype):
  """int32 or int64; ValueError else."""
  dtype = dtypes.as_dtype(dtype)
  if dtype not in (dtypes.int32, dtypes.int64):
    raise ValueError('row_splits must have dtype int32 or int64')
  return dtype


def integer(value, name, default=dtypes.int64):
  """A tensor of int32 or int64."""
  found = convert(value, name=name, preferred=default)
  if found.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
    if found.dtype.base_dtype.is_integer:
      return math.cast(found, default)
    raise ValueError('%s must have dtype int32 or int64, but has %s' % (name, found.dtype.name))
  return found


def of_lengths(lengths):
  """Row splits of row lengths."""
  zero = constant_of([0], lengths.dtype.base_dtype)
  splits = array.concat([zero, cumsum(lengths)], 0)
  size = lengths.get_shape().with_rank(1)[0].value
  splits.set_shape([None if size is None else size + 1])
  return splits


def cumsum(x):
  return apply_op('Cumsum', x=x, axis=constant_of(0))


def count(tensor, dtype):
  """The size of the first dimension, a tensor of that type: a constant where it is known."""
  size = tensor.get_shape().with_rank_at_least(1)[0].value
  if size is not None:
    return constant_of(size, dtype)
  return array.shape(tensor, out_type=dtype)[0]


def numbers(limit):
  """0, 1, ... up to `limit`, in its type."""
  kind = limit.dtype.base_dtype
  return math.range(constant_of(0, kind), limit, constant_of(1, kind))


@export('ragged.row_splits_to_segment_ids')
def row_splits_to_segment_ids(splits, name=None, out_type=None):
  """The row of each value: [0, 3, 3, 5] gives [0, 0, 0, 2, 2]."""
  with name_scope(name, 'RaggedSplitsToSegmentIds', [splits]):
    splits = convert(splits, name='splits', preferred=dtypes.int64)
    if splits.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
      raise ValueError('splits must have dtype int32 or int64')
    splits.get_shape().assert_has_rank(1)
    if splits.get_shape()[0].value == 0:
      raise ValueError('Invalid row_splits: []')
    return ids_of_splits(splits, out_type)


def ids_of_splits(splits, out_type=None):
  """The row of each value, by a search of its number among the splits."""
  out_type = splits.dtype.base_dtype if out_type is None else dtypes.as_dtype(out_type)
  known = constant_value(splits)
  if known is not None and known.size:
    import numpy as np
    ends = known.ravel()
    return constant_of(np.repeat(np.arange(ends.size - 1), np.diff(ends)), out_type)
  places = numbers(splits[-1])
  found = apply_op('UpperBound', sorted_inputs=array.expand_dims(splits, 0),
                   values=array.expand_dims(places, 0), out_type=out_type)
  return array.squeeze(found, [0]) - constant_of(1, out_type)


@export('ragged.segment_ids_to_row_splits')
def segment_ids_to_row_splits(segment_ids, num_segments=None, out_type=None, name=None):
  """Where the rows end: [0, 0, 0, 2, 2] gives [0, 3, 3, 5]."""
  with name_scope(name, 'SegmentIdsToRaggedSplits', [segment_ids]):
    segment_ids = convert(segment_ids, name='segment_ids',
                          preferred=dtypes.as_dtype(out_type or dtypes.int64))
    if segment_ids.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
      raise ValueError('segment_ids must have dtype int32 or int64')
    segment_ids.get_shape().assert_has_rank(1)
    out_type = segment_ids.dtype.base_dtype if out_type is None else dtypes.as_dtype(out_type)
    return splits_of_ids(segment_ids, num_segments, out_type)


def splits_of_ids(ids, rows, out_type):
  """Row splits of row ids; without `rows` there are as many as the last id says."""
  if rows is None:
    top = math.reduce_max(array.concat([constant_of([-1], ids.dtype.base_dtype), ids], 0))
    rows = top + constant_of(1, ids.dtype.base_dtype)
  else:
    rows = integer(rows, 'num_segments', ids.dtype.base_dtype)
    rows.get_shape().assert_has_rank(0)
  ones = array.ones_like(ids, dtype=out_type)
  lengths = apply_op('UnsortedSegmentSum', data=ones, segment_ids=ids, num_segments=rows)
  number = constant_value(rows)
  if number is not None:
    lengths.set_shape([int(number)])
  return of_lengths(lengths)


def static_rows(splits):
  size = splits.get_shape()[0].value
  return None if size is None else size - 1


def merged(*shapes):
  """The first sizes of the shapes, which must agree."""
  found = TensorShape([None])
  for shape in shapes:
    found = found.merge_with(TensorShape([shape[0]]))
  return found
