"""Ragged tensors as tensors and sparse tensors, and back."""
from __future__ import annotations

from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._ops import array, math, sequences
from leat._ops.ragged import rows
from leat._ops.ragged.tensor import RaggedTensor, positive_axis


def bounding_shape(ragged):
  """The sizes of the smallest tensor that it fits into, of the type of the row splits."""
  kind = ragged.row_splits.dtype.base_dtype
  sizes = [ragged.nrows()]
  for lengths in ragged.nested_row_lengths():
    longest = math.reduce_max(array.concat([constant_of([0], kind), lengths], 0))
    sizes.append(longest)
  inner = array.shape(ragged.flat_values, out_type=kind)[1:]
  return array.concat([array.stack(sizes), inner], 0)


def coordinates(ragged):
  """For each flat value its row, its place in the row, its place there, ...: a list of vectors."""
  found = []
  for splits in ragged.nested_row_splits:
    ids = rows.ids_of_splits(splits)
    places = rows.numbers(splits[-1]) - array.gather(splits, ids)
    found = [array.gather(f, ids) for f in found] if found else [ids]
    found.append(places)
  return found


def to_sparse(ragged, name):
  """A SparseTensor of the same elements, in order."""
  from leat._ops.sparse import SparseTensor
  with name_scope(name, 'RaggedToSparse', [ragged.row_splits]) as scope:
    made = apply_op('RaggedTensorToSparse', name=scope,
                    rt_nested_splits=list(ragged.nested_row_splits),
                    rt_dense_values=ragged.flat_values)
    return SparseTensor(*made)


def to_tensor(ragged, default_value, name, shape):
  """A tensor, default_value where no row reaches. Of `shape` the sizes that are not None hold;
  what does not fit is cut off."""
  with name_scope(name, 'RaggedToTensor', [ragged.row_splits]):
    flat, splits = ragged.flat_values, list(ragged.nested_row_splits)
    default = array.zeros([], flat.dtype.base_dtype) if default_value is None else convert(
        default_value, flat.dtype.base_dtype, 'default_value')
    array.broadcast_static_shape(default.get_shape(), flat.get_shape()[1:])
    result = apply_op('RaggedTensorToTensor', shape=_wanted(ragged, shape), values=flat,
                      default_value=default, row_partition_tensors=splits,
                      row_partition_types=['ROW_SPLITS'] * len(splits))
    return _known_shape(result, ragged, shape)


def _wanted(ragged, shape):
  """`shape` as the op takes it: -1 for a size that is free, or alone for all of them."""
  if hasattr(shape, 'op'):
    return shape
  known = TensorShape(shape)
  if known.ndims is None:
    return constant_of(-1, dtypes.int64)
  known.assert_has_rank(ragged.shape.ndims)
  return constant_of([-1 if s is None else s for s in known.as_list()], dtypes.int64)


def _known_shape(result, ragged, shape):
  known = TensorShape(None) if shape is None or hasattr(shape, 'op') else TensorShape(shape)
  if known.ndims is None:
    first = ragged.shape[:1]
    known = first.concatenate([None] * ragged.ragged_rank).concatenate(
        ragged.flat_values.get_shape()[1:])
  result.set_shape(known)
  return result


def from_tensor(tensor, lengths, padding, ragged_rank, name, row_splits_dtype):
  """A tensor as a ragged one; see RaggedTensor.from_tensor."""
  kind = rows.splits_dtype(row_splits_dtype)
  if lengths is not None and padding is not None:
    raise ValueError('Specify argument `lengths` or `padding`, but not both.')
  if not isinstance(ragged_rank, int):
    raise TypeError('Argument `ragged_rank` must be an int. Received %s.' % (ragged_rank,))
  if ragged_rank <= 0:
    raise ValueError('Argument `ragged_rank` must be greater than 0. Received %d.' % ragged_rank)
  with name_scope(name, 'RaggedFromTensor'):
    tensor = convert(tensor, name='tensor')
    rank = tensor.get_shape().ndims
    if rank is not None and rank < 2:
      raise ValueError("The rank of a RaggedTensor must be greater than 1, i.e., a list of scalars "
                       "won't have ragged dimensions. Received argument `tensor` with rank %d." %
                       rank)
    tensor.get_shape().with_rank_at_least(ragged_rank + 1)
    if isinstance(lengths, (list, tuple)) and lengths and not isinstance(
        lengths[0], (int, float)) or isinstance(lengths, tuple) and lengths == ():
      return _by_nested_lengths(tensor, lengths, kind)
    if ragged_rank > 1:
      return _below_outer(tensor, lengths, padding, ragged_rank, kind)
    if padding is not None:
      lengths = _lengths_of_padding(tensor, padding, kind)
    if lengths is not None:
      return _by_lengths(tensor, lengths, kind)
    sizes = array.shape(tensor, out_type=kind)
    return _uniform(_joined(tensor, sizes), sizes[1], sizes[0], tensor.get_shape())


def _joined(tensor, sizes):
  """The first two dimensions as one."""
  values = array.reshape(tensor, array.concat([[sizes[0] * sizes[1]], sizes[2:]], 0))
  known = tensor.get_shape()
  if known.ndims is not None:
    first = known[:2].num_elements()
    values.set_shape(TensorShape([first]).concatenate(known[2:]))
  return values


def _uniform(values, length, count, known):
  """Rows of one length, as from_tensor makes them: the length shows in no shape."""
  kind = length.dtype.base_dtype
  splits = rows.numbers(count + constant_of(1, kind)) * length
  if known.ndims is not None and known[0].value is not None:
    splits.set_shape([known[0].value + 1])
  made = RaggedTensor.from_row_splits(values, splits, validate=False)
  return made


def _below_outer(tensor, lengths, padding, ragged_rank, kind):
  """With several ragged dimensions the outer ones are whole: only the innermost is cut."""
  sizes, known = array.shape(tensor, out_type=kind), tensor.get_shape()
  flat = array.reshape(tensor, array.concat(
      [[math.reduce_prod(sizes[:ragged_rank])], sizes[ragged_rank:]], 0))
  if known.ndims is not None:
    flat.set_shape(TensorShape([known[:ragged_rank].num_elements()]).concatenate(
        known[ragged_rank:]))
  result = from_tensor(flat, lengths, padding, 1, None, kind)
  for i in reversed(range(1, ragged_rank)):
    count = math.reduce_prod(sizes[:i])
    first = known[:i].num_elements() if known.ndims is not None else None
    result = _uniform(result, sizes[i], count, TensorShape([first]))
  return result


def _lengths_of_padding(tensor, padding, kind):
  """How much of each row is left without the padding at its end."""
  padding = convert(padding, tensor.dtype.base_dtype, 'padding')
  padding.get_shape().assert_is_compatible_with(tensor.get_shape()[2:])
  differs = apply_op('NotEqual', x=tensor, y=padding)
  rank = tensor.get_shape().ndims
  if rank is None:
    differs = math.reduce_any(array.reshape(differs, array.concat(
        [array.shape(tensor)[:2], [-1]], 0)), 2)
  elif rank > 2:
    differs = math.reduce_any(differs, list(range(2, rank)))
  size = array.shape(tensor, out_type=kind)[1]
  places = rows.numbers(size) + constant_of(1, kind)
  ends = math.cast(differs, kind) * places
  zeros = array.zeros(array.stack([array.shape(tensor, out_type=kind)[0], 1]), kind)
  return math.reduce_max(array.concat([zeros, ends], 1), 1)


def _by_lengths(tensor, lengths, kind):
  """The first lengths[i] slices of each row."""
  lengths = convert(lengths, name='lengths', preferred=kind)
  if not lengths.dtype.base_dtype.is_integer:
    raise TypeError('Argument `tensor` (name: lengths) must be of type integer. Received `tensor` '
                    '= %s of dtype: %r' % (lengths, lengths.dtype))
  lengths.get_shape().assert_has_rank(1)
  tensor.get_shape()[:1].assert_is_compatible_with(lengths.get_shape()[:1])
  size = array.shape(tensor, out_type=kind)[1]
  lengths = apply_op('Maximum', x=constant_of(0, kind), y=apply_op(
      'Minimum', x=math.cast(lengths, kind), y=size))
  mask = sequences.sequence_mask(lengths, size)
  mask.set_shape(tensor.get_shape()[:2] if tensor.get_shape().ndims is not None else [None, None])
  return RaggedTensor.from_row_lengths(array.boolean_mask(tensor, mask), lengths, validate=False)


def _by_nested_lengths(tensor, lengths, kind):
  """Lengths for each of the ragged dimensions: each cuts what the one before has left."""
  lengths = [convert(v, kind, 'lengths_%d' % i) if not hasattr(v, 'dtype') else convert(
      v, name='lengths') for i, v in enumerate(lengths)]
  tensor.get_shape().with_rank_at_least(len(lengths) + 1)
  values, made = tensor, []
  for part in lengths:
    cut = _by_lengths(values, part, kind)
    made.append(cut.row_splits)
    values = cut.values
  return RaggedTensor.from_nested_row_splits(values, made, validate=False)


def from_sparse(st_input, name, row_splits_dtype):
  """A sparse matrix as a ragged one; see RaggedTensor.from_sparse."""
  kind = rows.splits_dtype(row_splits_dtype)
  from leat._ops.sparse import SparseTensor, SparseTensorValue
  if not isinstance(st_input, (SparseTensor, SparseTensorValue)):
    raise TypeError('Argument `st_input` must be of type SparseTensor, but is of type %s.' %
                    type(st_input).__name__)
  if isinstance(st_input, SparseTensorValue):
    st_input = SparseTensor.from_value(st_input)
  with name_scope(name, 'RaggedFromSparse', [st_input.indices]):
    sizes = st_input.dense_shape.get_shape()
    rank = st_input.indices.get_shape().ndims and st_input.indices.get_shape()[1].value or \
        sizes.ndims and sizes[0].value
    if rank != 2:
      raise ValueError('rank(st_input) must be 2.')
    indices = _right_ragged(st_input.indices)
    ids = math.cast(indices[:, 0], kind)
    return RaggedTensor.from_value_rowids(st_input.values, ids, math.cast(
        st_input.dense_shape[0], kind), validate=False)


def _right_ragged(indices):
  """The indices, checked: each begins a row, or stands beside the one before it."""
  ids, places = indices[:, 0], indices[:, 1]
  one = constant_of(1, dtypes.int64)
  starts = array.concat([[True], apply_op('NotEqual', x=ids[1:], y=ids[:-1])], 0)
  after = array.concat([[constant_of(0, dtypes.int64)], places[:-1] + one], 0)
  wanted = array.where(starts[:array.shape(ids)[0]], array.zeros_like(places),
                       after[:array.shape(ids)[0]])
  good = math.reduce_all(apply_op('Equal', x=places, y=wanted))
  return rows.checked(indices, good, 'SparseTensor is not right-ragged')


def merge_dims(value, outer_axis, inner_axis):
  """The dimensions from outer_axis to inner_axis as one; a tensor where none is ragged then."""
  rank = value.shape.ndims
  outer = positive_axis(outer_axis, rank, 'outer_axis', 'rank(self)')
  inner = positive_axis(inner_axis, rank, 'inner_axis', 'rank(self)')
  if outer > inner:
    raise ValueError('Expected outer_axis (%d) to be less than or equal to inner_axis (%d)' %
                     (outer_axis, inner_axis))
  if outer == inner:
    return value
  if not isinstance(value, RaggedTensor):
    sizes = array.shape(value)
    return array.reshape(value, array.concat([sizes[:outer], [-1], sizes[inner + 1:]], 0))
  if outer > 1:
    return value.with_values(merge_dims(value.values, outer - 1, inner - 1))
  if outer == 1:
    inside = value.values
    if not isinstance(inside, RaggedTensor):
      sizes = array.shape(inside, out_type=value.row_splits.dtype)
      factor = math.reduce_prod(sizes[1:inner])
      return RaggedTensor.from_row_splits(merge_dims(inside, 0, inner - 1),
                                          value.row_splits * factor, validate=False)
    joined = RaggedTensor.from_row_splits(
        inside.values, array.gather(inside.row_splits, value.row_splits), validate=False)
    return merge_dims(joined, 1, inner - 1)
  return merge_dims(value.values, 0, inner - 1)


def whole(value):
  """A ragged tensor whose rows are known to be of one length as a tensor."""
  shape = array.concat([array.expand_dims(value.nrows(), 0), [-1],
                        array.shape(value.values, out_type=value.row_splits.dtype)[1:]], 0)
  return array.reshape(value.values, shape)

