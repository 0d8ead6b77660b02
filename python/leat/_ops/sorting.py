"""Sorting along a dimension, and searching in what is sorted."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import array, math


@export('sort')
def sort(values, axis=-1, direction='ASCENDING', name=None):
  """The values in order along a dimension."""
  with name_scope(name, 'sort'):
    return _sorted(values, axis, direction, False)


@export('argsort')
def argsort(values, axis=-1, direction='ASCENDING', stable=False, name=None):
  """The indices that bring the values into order; equal ones stay in their order."""
  del stable  # it always is
  with name_scope(name, 'argsort'):
    return _sorted(values, axis, direction, True)


def _sorted(values, axis, direction, indices):
  if direction not in ('ASCENDING', 'DESCENDING'):
    raise ValueError("direction is %r, must be 'ASCENDING' or 'DESCENDING'" % (direction,))
  known = constant_value(axis) if hasattr(axis, 'op') else axis
  if known is None or isinstance(known, float):
    raise ValueError('axis must be a constant scalar')
  axis = int(known)
  values = convert(values, name='values')
  rank = values.get_shape().ndims
  if rank is not None and not -rank <= axis < rank:
    raise ValueError('axis is %d, must be in [%d, %d)' % (axis, -rank, rank))
  if axis == -1 or rank is not None and axis == rank - 1:
    return _last(values, direction, indices)
  order = _exchange(values, axis, rank)
  made = _last(array.transpose(values, order), direction, indices)
  made = array.transpose(made, order)
  made.set_shape(values.get_shape())
  return made


def _exchange(values, axis, rank):
  """The permutation that exchanges a dimension with the last."""
  if rank is not None:
    axis %= rank
    order = list(range(rank))
    order[axis], order[-1] = order[-1], order[axis]
    return order
  count = array.rank(values)
  place = axis if axis >= 0 else count + axis
  numbers = math.range(count)
  last = count - 1
  order = array.where_v2(math.equal(numbers, place), last, numbers)
  return array.where_v2(math.equal(numbers, last), place, order)


def _last(values, direction, indices):
  """In order along the last dimension: the greatest first, of values turned about to ascend."""
  size = array.shape(values)[-1]
  if direction == 'DESCENDING':
    found = apply_op('TopKV2', input=values, k=size)
    return found.indices if indices else found.values
  dtype = values.dtype.base_dtype
  if dtype.is_unsigned:
    turned = math.cast(dtype.max, dtype) - values
  elif dtype.is_integer:
    turned = -values - math.cast(1, dtype)   # the least value has no opposite
  else:
    turned = -values
  found = apply_op('TopKV2', input=turned, k=size)
  if indices:
    return found.indices
  if dtype.is_unsigned:
    return math.cast(dtype.max, dtype) - found.values
  return -found.values - math.cast(1, dtype) if dtype.is_integer else -found.values


@export('searchsorted')
def searchsorted(sorted_sequence, values, side='left', out_type=dtypes.int32, name=None):
  """Where in the sorted rows each value belongs: before equal ones on the left side, else after."""
  ops = {'left': 'LowerBound', 'right': 'UpperBound'}
  if side not in ops:
    raise ValueError("side must be either 'right' or 'left'.  Saw: %s." % side)
  sorted_sequence = convert(sorted_sequence, name='sorted_sequence')
  values = convert(values, sorted_sequence.dtype.base_dtype, 'values')
  width = array.shape(sorted_sequence)[-1:]
  flat = array.reshape(sorted_sequence, array.concat([[-1], width], 0))
  flat_values = array.reshape(values, array.concat([[-1], array.shape(values)[-1:]], 0))
  made = apply_op(ops[side], name=name, sorted_inputs=flat, values=flat_values, out_type=out_type)
  return array.reshape(made, array.shape(values))


@export('batch_gather')
def batch_gather(params, indices, name=None):
  """In each batch the slices of params at indices; all dimensions of indices but the last are those
  of the batch."""
  with name_scope(name, 'BatchGather', [params, indices]):
    indices = convert(indices, name='indices')
    params = convert(params, name='params')
    rank = indices.get_shape().ndims
    if rank is None:
      raise ValueError('batch_gather does not allow indices with unknown shape.')
    if rank == 0:
      raise ValueError('indices.rank must be at least 1.')
    return array.gather(params, indices, axis=rank - 1, batch_dims=rank - 1)


@export('batch_scatter_update')
def batch_scatter_update(ref, indices, updates, use_locking=True, name=None):
  """Writes updates into a variable, in each batch at indices; gives the variable."""
  with name_scope(name):
    indices = convert(indices, name='indices')
    rank = indices.get_shape().ndims
    if rank is None:
      raise ValueError('batch_scatter_update does not allow indices with unknown shape.')
    from leat._ops import assign
    sizes = array.shape(indices)
    parts, kind = [], indices.dtype.base_dtype
    for i in range(rank - 1):
      numbers = math.cast(math.range(sizes[i]), kind)
      numbers = array.reshape(numbers, [-1 if j == i else 1 for j in range(rank)])
      parts.append(numbers + array.zeros_like(indices))
    index = array.stack(parts + [indices], -1)
    return assign.scatter_nd_update(ref, index, updates, use_locking)
