"""x[...] of ragged tensors.

The first item of a key is for rows, each further one for a dimension inside of them. A slice of a
ragged dimension is a slice of each row; a single index of one is refused, because rows may be too
short for it.
"""
from __future__ import annotations

from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._ops import array, math, slicing
from leat._ops.ragged import join, rows
from leat._ops.ragged.gather import pick
from leat._ops.ragged.tensor import RaggedTensor


def index(ragged, key):
  """The part of a ragged tensor that a key says."""
  with name_scope(None, 'RaggedGetItem', [ragged.row_splits]):
    if getattr(key, '_is_ragged', False):
      from leat._ops.ragged.gather import boolean_mask
      return boolean_mask(ragged, key)
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    return _of_rows(ragged, _without_ellipsis(keys, ragged))


def _without_ellipsis(keys, ragged):
  """... as as many full slices as there are dimensions without a key."""
  places = [i for i, k in enumerate(keys) if k is Ellipsis]
  if not places:
    return keys
  if ragged.shape.ndims is None:
    raise ValueError('Ellipsis not supported for unknown shape RaggedTensors')
  count = ragged.shape.ndims - sum(1 for k in keys if k is not None and k is not Ellipsis)
  keys = keys[:places[0]] + [slice(None)] * max(count, 0) + keys[places[0] + 1:]
  return [k for k in keys if k is not Ellipsis]


def _of_rows(ragged, keys):
  if not keys:
    return ragged
  if not isinstance(ragged, RaggedTensor):
    return slicing.index(ragged, tuple(keys))
  first, rest = keys[0], keys[1:]
  if first is None:
    return join.expand_dims(_of_rows(ragged, rest), 0)
  if isinstance(first, slice):
    return _inside(_slice_of_rows(ragged, first), rest)
  slicing._check_index(first)
  starts, limits = ragged.row_splits[:-1], ragged.row_splits[1:]
  return _of_rows(_between(ragged.values, starts[first], limits[first]), rest)


def _between(values, start, limit):
  if isinstance(values, RaggedTensor):
    return _slice_of_rows(values, slice(start, limit))
  return slicing.index(values, slice(start, limit))


def _slice_of_rows(ragged, part):
  if part == slice(None):
    return ragged
  for value in (part.start, part.stop, part.step):
    if value is not None:
      slicing._check_index(value)
  if part.step is None or isinstance(part.step, int) and part.step == 1:
    return _rows_in_order(ragged, part)
  return pick(ragged, rows.numbers(ragged.nrows())[part])


def _rows_in_order(ragged, part):
  """Rows that follow each other: their values do as well."""
  starts, limits = ragged.row_splits[:-1][part], ragged.row_splits[1:][part]
  kind = starts.dtype.base_dtype
  zero = constant_of([0], kind)
  begin = array.concat([starts, zero], 0)[0]
  ends = limits - begin
  splits = array.concat([zero, ends], 0)
  size = limits.get_shape()[0].value
  splits.set_shape([None if size is None else size + 1])
  return RaggedTensor.from_row_splits(_between(ragged.values, begin, begin + splits[-1]), splits,
                                      validate=False)


def _inside(ragged, keys):
  """Keys for the dimensions after the first."""
  if not keys:
    return ragged
  if not isinstance(ragged, RaggedTensor):
    return slicing.index(ragged, (slice(None),) + tuple(keys))
  first, rest = keys[0], keys[1:]
  if first is None:
    return join.expand_dims(_inside(ragged, rest), 1)
  if isinstance(first, slice):
    sliced = _slice_of_each_row(ragged, first)
    if not rest:
      return sliced
    return sliced.with_values(_inside(sliced.values, rest))
  slicing._check_index(first)
  raise ValueError('Cannot index into an inner ragged dimension.')


def _bound(value, lengths, least, most):
  """A begin or end of a slice, for each row: counted from the end where it is negative, and kept
  inside of least and most."""
  kind = lengths.dtype.base_dtype
  value = math.cast(convert(value, None, preferred=kind), kind)
  counted = array.where_v2(value < constant_of(0, kind), lengths + value,
                           array.zeros_like(lengths) + value)
  return apply_op('Maximum', x=least, y=apply_op('Minimum', x=counted, y=most))


def _slice_of_each_row(ragged, part):
  if part == slice(None):
    return ragged
  for value in (part.start, part.stop, part.step):
    if value is not None:
      slicing._check_index(value)
  if part.step is not None and not isinstance(part.step, int):
    raise TypeError('slice step of a ragged dimension must be an int, but is %r' % (part.step,))
  step = 1 if part.step is None else part.step
  if step == 0:
    raise ValueError('slice step must not be 0')
  lengths, starts = ragged.row_lengths(), ragged.row_starts()
  kind = lengths.dtype.base_dtype
  if step > 0:
    least, most = constant_of(0, kind), lengths
    first, last = least, most
  else:
    least, most = constant_of(-1, kind), lengths - constant_of(1, kind)
    first, last = most, least
  begin = first if part.start is None else _bound(part.start, lengths, least, most)
  end = last if part.stop is None else _bound(part.stop, lengths, least, most)
  made = apply_op('RaggedRange', starts=starts + begin, limits=starts + end,
                  deltas=constant_of(step, kind), Tsplits=kind)
  splits = made.rt_nested_splits
  splits.set_shape(ragged.row_splits.get_shape())
  return RaggedTensor.from_row_splits(pick(ragged.values, made.rt_dense_values), splits,
                                      validate=False)
