"""tf.gather, tf.gather_nd, tf.batch_gather and masks of ragged tensors."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._ops import array, math, sorting
from leat._ops.ragged import rows
from leat._ops.ragged.dispatch import for_ragged
from leat._ops.ragged.tensor import (RaggedTensor, as_ragged, positive_axis, same_splits_dtype)


@for_ragged('gather')
def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
  """The slices of params at indices; the result is ragged where params or indices are."""
  del validate_indices
  with name_scope(name, 'RaggedGather'):
    params = as_ragged(params, name='params')
    indices = as_ragged(indices, name='indices')
    params, indices = same_splits_dtype(params, indices)
    if batch_dims and indices.shape.ndims is not None and batch_dims < 0:
      batch_dims += indices.shape.ndims
    axis = batch_dims if axis is None else positive_axis(axis, params.shape.ndims)
    if axis < batch_dims:
      raise ValueError('axis must be at least batch_dims, but they are %d and %d' % (axis,
                                                                                   batch_dims))
    if batch_dims:
      if axis != batch_dims or indices.shape.ndims != batch_dims + 1:
        raise ValueError('gather of ragged tensors with batch_dims=%d needs axis=%d and indices of '
                         'rank %d' % (batch_dims, batch_dims, batch_dims + 1))
      return batch_gather(params, indices)
    return _along(params, indices, axis)


def _along(params, indices, axis):
  if axis == 0:
    return _rows(params, indices)
  if not isinstance(params, RaggedTensor):
    if isinstance(indices, RaggedTensor):
      raise ValueError('gather along axis %d with ragged indices needs ragged params' % axis)
    return array.gather(params, indices, axis=axis)
  if axis > 1:
    return params.with_values(_along(params.values, indices, axis - 1))
  if isinstance(indices, RaggedTensor) or indices.get_shape().ndims != 1:
    raise ValueError('gather along axis 1 of a ragged tensor needs a vector of indices, but they '
                     'have shape %s' % indices.shape)
  kind = params.row_splits.dtype.base_dtype
  repeated = apply_op('BroadcastTo', input=indices, shape=array.stack(
      [params.nrows(), array.shape(indices, out_type=kind)[0]]))
  return batch_gather(params, repeated)


def _rows(params, indices):
  """The rows of params at indices of any rank."""
  if isinstance(indices, RaggedTensor):
    return indices.with_values(_rows(params, indices.values))
  if not isinstance(params, RaggedTensor):
    return array.gather(params, indices)
  rank = indices.get_shape().ndims
  if rank is None:
    raise ValueError('indices must have a known rank')
  if rank == 0:
    return params[indices]
  if rank > 1:
    flat = _rows(params, array.reshape(indices, [-1]))
    sizes = array.shape(indices, out_type=params.row_splits.dtype)
    known = indices.get_shape().as_list()
    for i in reversed(range(1, rank)):
      count = math.reduce_prod(sizes[:i])
      flat = RaggedTensor.from_uniform_row_length(
          flat, constant_of(known[i], sizes.dtype) if known[i] is not None else sizes[i],
          nrows=count, validate=False)
      first = TensorShape(known[:i]).num_elements()
      if first is not None:
        flat.row_splits.set_shape([first + 1])
    return flat
  return pick(params, indices)


def pick(params, indices):
  """The rows of a ragged tensor at a vector of indices."""
  if not isinstance(params, RaggedTensor):
    return array.gather(params, indices)
  splits, values = apply_op(
      'RaggedGather', params_nested_splits=list(params.nested_row_splits),
      params_dense_values=params.flat_values, indices=indices,
      OUTPUT_RAGGED_RANK=params.ragged_rank)
  size = indices.get_shape()[0].value
  splits[0].set_shape([None if size is None else size + 1])
  return RaggedTensor.from_nested_row_splits(values, splits, validate=False)


@for_ragged('batch_gather')
def batch_gather(params, indices, name=None):
  """In each batch the slices of params at indices. All dimensions of indices but the last are those
  of the batch."""
  with name_scope(name, 'RaggedBatchGather'):
    params = as_ragged(params, name='params')
    indices = as_ragged(indices, name='indices')
    params, indices = same_splits_dtype(params, indices)
    rank = indices.shape.ndims
    if rank is None:
      raise ValueError('batch_gather does not allow indices with unknown shape.')
    if rank == 0:
      raise ValueError('indices.rank must be at least 1.')
    return _in_batches(params, indices)


def _in_batches(params, indices):
  rank = indices.shape.ndims
  if rank == 1:
    return _rows(params, indices)
  ragged = isinstance(params, RaggedTensor), isinstance(indices, RaggedTensor)
  if not any(ragged):
    return sorting.batch_gather(params, indices)
  if params.shape.ndims is not None and params.shape.ndims < rank:
    raise ValueError('batch shape from indices does not match params shape')
  try:
    params.shape[:1].assert_is_compatible_with(indices.shape[:1])
  except ValueError:
    raise ValueError('Dimensions %s and %s are not compatible' % (params.shape[0],
                                                                  indices.shape[0])) from None
  dense = not ragged[1]
  if dense:
    indices = RaggedTensor.from_tensor(indices, ragged_rank=1,
                                       row_splits_dtype=params.row_splits.dtype)
  if not ragged[0]:
    if indices.shape.ndims == 2:
      params = RaggedTensor.from_tensor(params, row_splits_dtype=indices.row_splits.dtype)
    else:
      params = RaggedTensor.from_tensor(params, ragged_rank=1,
                                        row_splits_dtype=indices.row_splits.dtype)
  if rank == 2:
    result = _in_rows(params, indices)
  else:
    splits = _same_splits(params, indices)
    inside = _in_batches(params.values, indices.values)
    result = RaggedTensor.from_row_splits(inside, splits, validate=False)
  if dense and not isinstance(result.values, RaggedTensor):
    from leat._ops.ragged.dense import whole
    return whole(result)
  return result


def _same_splits(params, indices):
  if rows.surely_equal(params.row_splits, indices.row_splits):
    return indices.row_splits
  first, second = constant_value(params.row_splits), constant_value(indices.row_splits)
  if first is not None and second is not None:
    raise ValueError('batch shape from indices does not match params shape')
  return rows.checked(indices.row_splits, rows.all_equal(params.row_splits, indices.row_splits),
                      'batch shape from indices does not match params shape')


def _in_rows(params, indices):
  """params [batch, (slices), ...], indices [batch, (i)]."""
  ids = indices.value_rowids()
  kind = params.row_splits.dtype.base_dtype
  places = math.cast(indices.values, kind)
  lengths = array.gather(params.row_lengths(), ids)
  good = apply_op('LogicalAnd', x=math.reduce_all(places >= constant_of(0, kind)),
                  y=math.reduce_all(places < lengths))
  places = rows.checked(places, good, 'indices of batch_gather must be in their rows', places,
                        lengths)
  return indices.with_values(pick(params.values, places + array.gather(params.row_starts(), ids)))


@for_ragged('gather_nd', 'manip.gather_nd')
def gather_nd(params, indices, name=None, batch_dims=0):
  """The slices of params at the places that the last dimension of indices says."""
  if not isinstance(batch_dims, int) or batch_dims != 0:
    raise ValueError('batch_dims != 0 is not supported for ragged gather yet.')
  with name_scope(name, 'RaggedGatherNd'):
    params = as_ragged(params, name='params')
    indices = as_ragged(indices, name='indices')
    params, indices = same_splits_dtype(params, indices)
    shape = indices.shape
    if shape.ndims is None:
      raise ValueError('indices.rank must be statically known.')
    if shape.ndims == 0:
      raise ValueError('indices.rank must be at least 1.')
    if isinstance(indices, RaggedTensor) and indices.ragged_rank == shape.ndims - 1:
      raise ValueError('The innermost dimension of indices may not be ragged')
    depth = shape[-1].value
    if depth is None:
      raise ValueError('indices.shape[-1] must be statically known.')
    return _at(params, indices, depth)


def _at(params, indices, depth):
  if isinstance(indices, RaggedTensor):
    return indices.with_values(_at(params, indices.values, depth))
  if not isinstance(params, RaggedTensor):
    return array.gather_nd(params, indices)
  if depth == 0:
    from leat._ops.ragged import join
    sizes = array.shape(indices, out_type=params.row_splits.dtype)[:-1]
    result = params
    for _ in range(indices.get_shape().ndims - 1):
      result = join.expand_dims(result, 0)
    ones = array.ones([params.shape.ndims], sizes.dtype)
    return join.tile(result, array.concat([sizes, ones], 0))
  if depth == 1:
    return _rows(params, array.squeeze(indices, [-1]))
  kind = params.row_splits.dtype.base_dtype
  indices = math.cast(indices, kind)
  row, place = indices[..., 0], indices[..., 1]
  lengths = array.gather(params.row_lengths(), row)
  good = apply_op('LogicalAnd', x=math.reduce_all(place >= constant_of(0, kind)),
                  y=math.reduce_all(place < lengths))
  place = rows.checked(place, good, 'indices of gather_nd must be in their rows', place, lengths)
  first = array.expand_dims(array.gather(params.row_starts(), row) + place, -1)
  return _at(params.values, array.concat([first, indices[..., 2:]], -1), depth - 1)


@export('ragged.boolean_mask')
@for_ragged('boolean_mask')
def boolean_mask(data, mask, name=None, axis=None):
  """What of data is at places where mask is true; rows of a mask of rank 2 or more stay rows."""
  if axis not in (None, 0):
    raise ValueError('boolean_mask of ragged tensors needs axis=0, but it is %s' % (axis,))
  with name_scope(name, 'RaggedMask'):
    mask = as_ragged(mask, dtypes.bool, 'mask')
    data = as_ragged(data, name='data')
    data, mask = same_splits_dtype(data, mask)
    if mask.shape.ndims is None:
      raise ValueError('mask.shape.ndims must be known statically.')
    if mask.shape.ndims == 0:
      raise ValueError('mask cannot be scalar.')
    return _masked(data, mask)


def _masked(data, mask):
  rank = mask.shape.ndims
  if rank == 1:
    if not isinstance(data, RaggedTensor):
      return array.boolean_mask(data, mask)
    data.shape[:1].assert_is_compatible_with(mask.get_shape())
    places = array.squeeze(apply_op('Where', input=mask), [1])
    return pick(data, places)
  kind = [v.row_splits.dtype for v in (data, mask) if isinstance(v, RaggedTensor)]
  kind = kind[0] if kind else dtypes.int64
  if not isinstance(mask, RaggedTensor):
    mask = RaggedTensor.from_tensor(mask, row_splits_dtype=kind)
  if not isinstance(data, RaggedTensor):
    data = RaggedTensor.from_tensor(data, row_splits_dtype=kind)
  splits = mask.row_splits
  if not rows.surely_equal(splits, data.row_splits):
    splits = rows.checked(splits, rows.all_equal(splits, data.row_splits),
                          'data and mask must have rows of the same lengths')
  inside = _masked(data.values, mask.values)
  if rank > 2:
    return RaggedTensor.from_row_splits(inside, splits, validate=False)
  kept = rows.cumsum(math.cast(mask.values, kind))
  kept = array.concat([constant_of([0], kind), kept], 0)
  return RaggedTensor.from_row_splits(inside, array.gather(kept, splits), validate=False)

