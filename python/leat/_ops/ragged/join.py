"""Joining and repeating ragged tensors: concat, stack, tile, expand_dims, where, repeat."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import array, math
from leat._ops.ragged import elementwise, rows
from leat._ops.ragged.dispatch import for_ragged
from leat._ops.ragged.gather import pick
from leat._ops.ragged.tensor import (RaggedTensor, as_ragged, is_ragged, positive_axis,
                                     same_splits_dtype)


@for_ragged('concat', 'concat_v2')
def concat(values, axis, name=None):
  """Joined along a dimension; tensors among them are taken as ragged ones."""
  values = [values] if is_ragged(values) else values
  with name_scope(name, 'RaggedConcat'):
    return _combine(values, axis, False)


@export('ragged.stack')
@for_ragged('stack')
def stack(values, axis=0, name=None):
  """Joined along a new dimension, which is ragged where the sizes of the values differ."""
  values = [values] if is_ragged(values) or not isinstance(values, (list, tuple)) else values
  with name_scope(name, 'RaggedConcat'):
    return _combine(values, axis, True)


def _combine(values, axis, stacked):
  if not values:
    raise ValueError('rt_inputs may not be empty.')
  values = same_splits_dtype(*[as_ragged(v, name='rt_input') for v in values])
  rank = next((v.shape.ndims for v in values if v.shape.ndims is not None), None)
  if rank is not None:
    for value in values:
      value.shape.assert_has_rank(rank)
  axis = positive_axis(axis, None if rank is None else rank + stacked, 'axis', 'rank')
  if len(values) == 1 and not stacked:
    return values[0]
  dense = not any(isinstance(v, RaggedTensor) for v in values)
  if dense and (axis == rank or not stacked and axis == rank - 1 or
                stacked and rank == 0):
    return array.stack(values, axis) if stacked else array.concat(values, axis)
  if rank == 1:
    return _vectors(values)
  kind = next((v.row_splits.dtype for v in values if isinstance(v, RaggedTensor)), dtypes.int64)
  values = [v if isinstance(v, RaggedTensor) else RaggedTensor.from_tensor(
      v, row_splits_dtype=kind) for v in values]
  depth = max(v.ragged_rank for v in values)
  values = [elementwise._as_ragged_as(v, depth) for v in values]
  return _joined(values, axis, stacked)


def _vectors(values):
  """Vectors stacked along a new first dimension."""
  lengths = array.stack([rows.count(v, dtypes.int64) for v in values])
  return RaggedTensor.from_row_lengths(array.concat(values, 0), lengths, validate=False)


def _joined(values, axis, stacked):
  """Ragged tensors of the same ragged rank."""
  if axis == 0:
    whole = _below(values)
    if not stacked:
      return whole
    return RaggedTensor.from_row_lengths(whole, array.stack([v.nrows() for v in values]),
                                         validate=False)
  if axis == 1:
    return _row_by_row(values, stacked)
  splits = _common_splits(values)
  inside = [v.values for v in values]
  if isinstance(inside[0], RaggedTensor):
    made = _joined(inside, axis - 1, stacked)
  else:
    made = array.stack(inside, axis - 1) if stacked else array.concat(inside, axis - 1)
  return RaggedTensor.from_row_splits(made, splits, validate=False)


def _common_splits(values):
  splits = values[0].row_splits
  for other in values[1:]:
    if not rows.surely_equal(splits, other.row_splits):
      splits.get_shape().assert_is_compatible_with(other.row_splits.get_shape())
      splits = rows.checked(splits, rows.all_equal(splits, other.row_splits),
                            'Inputs must have identical ragged splits', splits, other.row_splits)
  return splits


def _below(values):
  """The rows of the second below those of the first, ..."""
  if not isinstance(values[0], RaggedTensor):
    return array.concat(values, 0)
  splits = [values[0].row_splits]
  end = splits[0][-1]
  for value in values[1:]:
    splits.append(value.row_splits[1:] + end)
    end = splits[-1][-1] if rows.static_rows(value.row_splits) != 0 else end
    if rows.static_rows(value.row_splits) is None:
      end = array.concat([splits[0]] + splits[1:], 0)[-1]
  return RaggedTensor.from_row_splits(_below([v.values for v in values]), array.concat(splits, 0),
                                      validate=False)


def _row_by_row(values, stacked):
  """Row i of all values one after the other, as one row, or as one row of rows."""
  count, number = values[0].nrows(), len(values)
  kind = count.dtype.base_dtype
  known = [rows.static_rows(v.row_splits) for v in values]
  for value, size in zip(values[1:], known[1:]):
    if size is None or known[0] is None:
      count = rows.checked(count, apply_op('Equal', x=count, y=value.nrows()),
                           'Input tensors must have the same number of rows', count,
                           value.nrows())
    elif size != known[0]:
      raise ValueError('Input tensors must have the same number of rows, but have %d and %d' % (
          known[0], size))
  size = next((k for k in known if k is not None), None)
  order = array.reshape(array.transpose(array.reshape(
      rows.numbers(count * constant_of(number, kind)), [number, -1])), [-1])
  if size is not None:
    order.set_shape([size * number])
  mixed = pick(_below(values), order)
  ends = rows.numbers(count + constant_of(1, kind)) * constant_of(number, kind)
  if size is not None:
    ends.set_shape([size + 1])
  if stacked:
    return RaggedTensor.from_row_splits(mixed, ends, validate=False)
  return RaggedTensor.from_row_splits(mixed.values, array.gather(mixed.row_splits, ends),
                                      validate=False)


@for_ragged('tile', 'manip.tile')
def tile(input, multiples, name=None):
  """Repeated multiples[i] times along dimension i."""
  with name_scope(name, 'RaggedTile'):
    value = as_ragged(input, name='rt_input')
    kind = value.row_splits.dtype.base_dtype
    multiples = rows.integer(multiples, 'multiples', kind)
    multiples.get_shape().assert_has_rank(1)
    known = constant_value(multiples)
    if known is not None and value.shape.ndims is not None and known.size != value.shape.ndims:
      raise ValueError('multiples has %d items, but rt_input has rank %d' % (known.size,
                                                                            value.shape.ndims))
    return _tiled(value, math.cast(multiples, kind), known)


def _tiled(value, multiples, known):
  if not isinstance(value, RaggedTensor):
    return value if known is not None and (known == 1).all() else apply_op(
        'Tile', input=value, multiples=multiples)
  kind = value.row_splits.dtype.base_dtype
  one = constant_of([1], kind)
  inside = None if known is None else [1] + known[2:].tolist()
  if inside is not None:
    import numpy as np
    inside = np.array(inside, known.dtype)
  value = value.with_values(_tiled(value.values, array.concat([one, multiples[2:]], 0), inside))
  if known is None or known[1] != 1:
    value = _longer(value, multiples[1])
  if known is None or known[0] != 1:
    count = value.nrows()
    places = apply_op('FloorMod', x=rows.numbers(count * multiples[0]),
                      y=apply_op('Maximum', x=count, y=constant_of(1, kind)))
    value = pick(value, places)
  return value


def _longer(value, times):
  """Each row repeated, as one row."""
  kind = value.row_splits.dtype.base_dtype
  count = value.nrows()
  places = apply_op('FloorDiv', x=rows.numbers(count * times),
                    y=apply_op('Maximum', x=times, y=constant_of(1, kind)))
  more = pick(value, places)
  ends = array.gather(more.row_splits, rows.numbers(count + constant_of(1, kind)) * times)
  return RaggedTensor.from_row_splits(more.values, ends, validate=False)


@for_ragged('expand_dims')
def expand_dims(input, axis=None, name=None, dim=None):
  """A dimension of size 1 more."""
  axis = dim if axis is None else axis
  with name_scope(name, 'RaggedExpandDims'):
    value = as_ragged(input, name='input')
    rank = value.shape.ndims
    axis = positive_axis(axis, None if rank is None else rank + 1, 'axis', 'rank(input)')
    return _expanded(value, axis)


def _expanded(value, axis):
  if not isinstance(value, RaggedTensor):
    return array.expand_dims(value, axis)
  kind = value.row_splits.dtype.base_dtype
  if axis == 0:
    return RaggedTensor.from_row_splits(value, array.stack([constant_of(0, kind), value.nrows()]),
                                        validate=False)
  if axis == 1:
    splits = rows.numbers(value.nrows() + constant_of(1, kind))
    splits.set_shape(value.row_splits.get_shape())
    return RaggedTensor.from_row_splits(value, splits, validate=False)
  return value.with_values(_expanded(value.values, axis - 1))


@for_ragged('where', 'where_v2')
def where(condition, x=None, y=None, name=None):
  """Where condition is true: the places, or of x there and of y elsewhere."""
  if (x is None) != (y is None):
    raise ValueError('x and y must be either both None or both non-None')
  with name_scope(name, 'RaggedWhere'):
    condition = as_ragged(condition, dtypes.bool, 'condition')
    if x is None:
      if not isinstance(condition, RaggedTensor):
        return array.where(condition)
      found = condition.to_sparse()
      return array.boolean_mask(found.indices, found.values)
    x, y = as_ragged(x, name='x'), as_ragged(y, name='y')
    condition, x, y = same_splits_dtype(condition, x, y)
    return _chosen(condition, x, y)


def _chosen(condition, x, y):
  if condition.shape.ndims is None or x.shape.ndims is None or y.shape.ndims is None:
    raise ValueError('condition, x and y must have known ranks')
  if condition.shape.ndims == 1 and x.shape.ndims > 1:
    return _chosen_rows(condition, x, y)
  if not all(isinstance(v, RaggedTensor) for v in (condition, x, y)):
    raise ValueError('Input shapes do not match.')
  return elementwise.map_flat_values(array.where, condition, x, y)


def _chosen_rows(condition, x, y):
  """Whole rows, of x where the condition of the row is true."""
  if isinstance(x, RaggedTensor) or isinstance(y, RaggedTensor):
    kind = (x if isinstance(x, RaggedTensor) else y).row_splits.dtype
  else:
    return array.where(condition, x, y)
  count = rows.count(condition, kind)
  for value in (x, y):
    size = value.shape[0].value
    if size is not None and condition.get_shape()[0].value not in (None, size):
      raise ValueError('condition has %s values, but x and y have %s rows' % (
          condition.get_shape()[0], size))
  places = rows.numbers(count)
  both = concat([x, y], 0)
  number = x.nrows() if isinstance(x, RaggedTensor) else rows.count(x, kind)
  return pick(both, array.where(condition, places, places + number))


@export('repeat')
def repeat(input, repeats, axis=None, name=None):
  """Each slice along a dimension as often as `repeats` says; without axis each element."""
  with name_scope(name, 'Repeat', [input, repeats]):
    value = convert(input, name='input')
    repeats = rows.integer(repeats, 'repeats', dtypes.int32)
    repeats.get_shape().with_rank_at_most(1)
    if axis is None:
      value, axis = array.reshape(value, [-1]), 0
    elif value.get_shape().ndims == 0:
      value = array.reshape(value, [1])
    rank = value.get_shape().ndims
    axis = positive_axis(axis, rank, 'axis', 'rank(data)')
    kind = repeats.dtype.base_dtype
    repeats = apply_op('Maximum', x=repeats, y=constant_of(0, kind))
    size = array.shape(value, out_type=kind)[axis]
    if repeats.get_shape().ndims == 0 or repeats.get_shape().num_elements() == 1:
      lengths = apply_op('Fill', dims=array.expand_dims(size, 0),
                         value=array.reshape(repeats, []))
    else:
      if rank is not None:
        value.get_shape()[axis].assert_is_compatible_with(repeats.get_shape()[0])
      lengths = repeats
    ids = rows.ids_of_splits(rows.of_lengths(lengths))
    made = array.gather(value, ids, axis=axis)
    return made
