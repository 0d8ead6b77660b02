"""Sparse tensors in another form: joined, cut, reshaped, transposed, filtered, filled up."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.arguments import either
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.shape import TensorShape, as_dimension
from leat._graph.value import constant_shape, constant_value
from leat._ops import array, math
from leat._ops.sparse import (SparseTensor, SparseTensorValue, sparse_reorder,
                              sparse_tensor_to_dense)


def sparse_of(value, name='sp_input'):
  """The SparseTensor that a value is; TypeError else."""
  if isinstance(value, SparseTensorValue):
    return SparseTensor.from_value(value)
  if not isinstance(value, SparseTensor):
    raise TypeError('Input must be a SparseTensor: %s is %r' % (name, value))
  return value


def rank_of(sparse):
  """The rank where it is known, else None."""
  shape = sparse.dense_shape.get_shape()
  if shape.ndims is not None and shape[0].value is not None:
    return shape[0].value
  shape = sparse.indices.get_shape()
  return None if shape.ndims is None else shape[1].value


def required(tensor, condition, text):
  """The tensor; a step fails with an InvalidArgumentError where the condition does not hold."""
  checked = apply_op('Assert', condition=condition, data=[constant_of(text, dtypes.string), tensor])
  with control_dependencies([checked]):
    return apply_op('Identity', input=tensor)


@export('sparse_concat', 'sparse.concat')
def sparse_concat(axis, sp_inputs, name=None, expand_nonconcat_dim=False, concat_dim=None,
                  expand_nonconcat_dims=None):
  """Joined along a dimension. With expand_nonconcat_dim the others may have different sizes, of
  which the result has the greatest."""
  axis = either('axis', axis, 'concat_dim', concat_dim)
  expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
  if isinstance(sp_inputs, (SparseTensor, SparseTensorValue)) or not isinstance(sp_inputs,
                                                                                 (list, tuple)):
    raise TypeError('sp_inputs must be a list of SparseTensors, but is %r' % (sp_inputs,))
  inputs = [sparse_of(s, 'sp_inputs') for s in sp_inputs]
  if len(inputs) == 1:
    return inputs[0]
  shapes = [s.dense_shape for s in inputs]
  if expand:
    shapes = _with_largest(shapes, axis)
  made = apply_op('SparseConcat', name=name, indices=[s.indices for s in inputs],
                  values=[s.values for s in inputs], shapes=shapes, concat_dim=axis)
  known = _joined_shape(inputs, axis, expand)
  return SparseTensor(made.output_indices, made.output_values,
                      made.output_shape if known is None else known)


def _with_largest(shapes, axis):
  """The shapes with the largest size that any has, except in the dimension `axis`."""
  largest = math.reduce_max(array.stack(shapes), 0)
  place = axis if axis >= 0 else array.shape(largest)[0] + axis
  here = apply_op('OneHot', indices=place, depth=array.shape(largest)[0], on_value=True,
                  off_value=False, axis=-1)
  return [array.where(here, shape, largest) for shape in shapes]


def _joined_shape(inputs, axis, expand):
  """The dense shape of the result as a constant, where all shapes are known and fit."""
  import numpy as np
  known = [constant_value(s.dense_shape) for s in inputs]
  if any(k is None for k in known):
    return None
  known = np.stack(known)
  others = np.delete(known, axis, 1)
  if not expand and (others != others[0]).any():
    return None
  total = known.max(0)
  total[axis] = known[:, axis].sum()
  return constant_of(total, dtypes.int64)


@export('sparse_slice', 'sparse.slice')
def sparse_slice(sp_input, start, size, name=None):
  """The part that begins at start, of that size, less where the tensor ends before."""
  sp_input = sparse_of(sp_input)
  with name_scope(name, 'SparseSlice', [sp_input.indices]) as scope:
    made = apply_op('SparseSlice', name=scope, indices=sp_input.indices, values=sp_input.values,
                    shape=sp_input.dense_shape, start=convert(start, dtypes.int64, 'start'),
                    size=convert(size, dtypes.int64, 'size'))
    return SparseTensor(*made)


@export('sparse_split', 'sparse.split')
def sparse_split(keyword_required=None, sp_input=None, num_split=None, axis=None, name=None,
                 split_dim=None):
  """num_split parts along a dimension; the first are larger by one where it does not divide."""
  if keyword_required is not None:
    raise ValueError('Keyword arguments are required for this function.')
  if sp_input is None:
    raise ValueError('sp_input is required')
  if num_split is None:
    raise ValueError('num_split is required')
  axis = either('axis', axis, 'split_dim', split_dim)
  if axis is None:
    raise ValueError('axis is required')
  sp_input = sparse_of(sp_input)
  made = apply_op('SparseSplit', name=name, split_dim=axis, indices=sp_input.indices,
                  values=sp_input.values, shape=sp_input.dense_shape, num_split=num_split)
  return [SparseTensor(*piece) for piece in zip(*made)]


@export('sparse_reshape', 'sparse.reshape')
def sparse_reshape(sp_input, shape, name=None):
  """The same elements in another dense shape, of which one size may be -1."""
  sp_input = sparse_of(sp_input)
  shape = math.cast(convert(shape, name='shape'), dtypes.int64)
  with name_scope(name, 'SparseReshape', [sp_input.indices]) as scope:
    wanted = constant_value(shape)
    old = constant_shape(sp_input.dense_shape)
    count = old.num_elements() if old.is_fully_defined() else None
    if wanted is not None:
      sizes = wanted.tolist()
      if count is not None and sizes.count(-1) > 1:
        raise ValueError('At most one dimension can be inferred (-1). Found: %s' % (wanted,))
      if count is not None:
        rest = 1
        for size in sizes:
          rest *= 1 if size == -1 else size
        if -1 not in sizes and rest != count or -1 in sizes and (
            rest == 0 and count != 0 or rest and count % rest):
          raise ValueError('Cannot reshape a tensor with %d elements to shape %s (%d elements).' % (
              count, sizes, rest))
        if rest or -1 not in sizes:
          sizes = [count // rest if s == -1 else s for s in sizes]
    indices, made = apply_op('SparseReshape', name=scope, input_indices=sp_input.indices,
                             input_shape=sp_input.dense_shape, new_shape=shape)
    if wanted is not None and -1 not in sizes:
      made = constant_of(sizes, dtypes.int64, 'Const') if count is not None else made
    return SparseTensor(indices, apply_op('Identity', input=sp_input.values), made)


@export('sparse_reset_shape', 'sparse.reset_shape')
def sparse_reset_shape(sp_input, new_shape=None):
  """The same elements in a larger dense shape, or in the smallest that holds them."""
  sp_input = sparse_of(sp_input)
  indices = apply_op('Identity', input=sp_input.indices)
  values = apply_op('Identity', input=sp_input.values)
  old = apply_op('Identity', input=sp_input.dense_shape)
  if new_shape is None:
    least = math.reduce_max(indices, 0) + constant_of(1, dtypes.int64)
    return SparseTensor(indices, values, apply_op('Maximum', x=constant_of(0, dtypes.int64),
                                                  y=least))
  new = math.cast(convert(new_shape), dtypes.int64)
  new.get_shape().assert_has_rank(1)
  rank = rank_of(sp_input)
  if rank is not None:
    new.get_shape().assert_is_compatible_with(TensorShape([rank]))
  first, second = constant_value(sp_input.dense_shape), constant_value(new)
  if first is not None and second is not None:
    if (second < first).any():
      raise ValueError('new_shape should have dimension sizes >= sp_input.shape. Found new_shape = '
                       '%s, sp_input.shape = %s.' % (second.tolist(), first.tolist()))
    return SparseTensor(indices, values, new)
  same = apply_op('Equal', x=array.shape(old), y=array.shape(new))
  new = required(new, math.reduce_all(same), 'Condition x == y did not hold element-wise: x is '
                 'the rank of sp_input, y that of new_shape')
  with control_dependencies([new]):
    new = required(new, math.reduce_all(old <= new),
                   'Condition x <= y did not hold element-wise: x is the old shape, y the new one')
  return SparseTensor(indices, values, new)


@export('sparse_transpose', 'sparse.transpose')
def sparse_transpose(sp_input, perm=None, name=None):
  """The dimensions in another order: reversed, or perm's."""
  with name_scope(name, 'SparseTranspose', [sp_input.indices]):
    sp_input = sparse_of(sp_input)
    if perm is None:
      rank = rank_of(sp_input)
      if rank is not None:
        perm = list(range(rank - 1, -1, -1))
      else:
        count = array.rank(sp_input)
        perm = (count - 1) - math.range(0, count, 1)
    indices = array.gather(sp_input.indices, perm, axis=1)
    known, order = constant_shape(sp_input.dense_shape), constant_value(convert(perm))
    if known.ndims is not None and known.is_fully_defined() and order is not None:
      sizes = known.as_list()
      dense_shape = constant_of([sizes[i] for i in order.tolist()], dtypes.int64)
    else:
      dense_shape = array.gather(sp_input.dense_shape, perm)
    return sparse_reorder(SparseTensor(indices, sp_input.values, dense_shape))


@export('sparse.expand_dims')
def sparse_expand_dims(sp_input, axis=None, name=None):
  """A dimension of size 1 more."""
  sp_input = sparse_of(sp_input)
  axis = -1 if axis is None else axis
  with name_scope(name, 'expand_dims', [sp_input.indices]):
    rank = rank_of(sp_input)
    if rank is None:
      raise ValueError('sp_input must have a known rank')
    if not -rank - 1 <= axis <= rank:
      raise ValueError('axis is %d, must be in [%d, %d]' % (axis, -rank - 1, rank))
    axis = axis + rank + 1 if axis < 0 else axis
    zeros = array.zeros_like(sp_input.indices[:, :1])
    indices = array.concat([sp_input.indices[:, :axis], zeros, sp_input.indices[:, axis:]], 1)
    one = constant_of([1], dtypes.int64)
    sizes = array.concat([sp_input.dense_shape[:axis], one, sp_input.dense_shape[axis:]], 0)
    return SparseTensor(indices, sp_input.values, sizes)


@export('sparse.eye')
def sparse_eye(num_rows, num_columns=None, dtype=dtypes.float32, name=None):
  """The identity matrix."""
  with name_scope(name, 'eye', [num_rows, num_columns]):
    rows = math.cast(convert(num_rows), dtypes.int64)
    columns = rows if num_columns is None else math.cast(convert(num_columns), dtypes.int64)
    count = apply_op('Minimum', x=rows, y=columns)
    numbers = math.range(constant_of(0, dtypes.int64), count, constant_of(1, dtypes.int64))
    return SparseTensor(array.stack([numbers, numbers], 1),
                        array.ones(array.expand_dims(count, 0), dtype),
                        array.stack([rows, columns]))


@export('sparse.from_dense')
def from_dense(tensor, name=None):
  """The elements that are not zero."""
  with name_scope(name, 'dense_to_sparse'):
    tensor = convert(tensor)
    zero = array.zeros([], tensor.dtype.base_dtype)
    indices = apply_op('Where', input=apply_op('NotEqual', x=tensor, y=zero))
    return SparseTensor(indices, array.gather_nd(tensor, indices),
                        array.shape(tensor, out_type=dtypes.int64))


@export('sparse_retain', 'sparse.retain')
def sparse_retain(sp_input, to_retain):
  """The elements where the vector to_retain is true."""
  sp_input = sparse_of(sp_input)
  to_retain = convert(to_retain)
  shape = to_retain.get_shape()
  shape.assert_has_rank(1)
  as_dimension(shape[0]).merge_with(sp_input.values.get_shape()[0])
  places = array.reshape(apply_op('Where', input=to_retain), [-1])
  return SparseTensor(array.gather(sp_input.indices, places),
                      array.gather(sp_input.values, places),
                      apply_op('Identity', input=sp_input.dense_shape))


@export('sparse_fill_empty_rows', 'sparse.fill_empty_rows')
def sparse_fill_empty_rows(sp_input, default_value, name=None):
  """(with default_value in column 0 of each empty row, a vector: which rows were empty)."""
  sp_input = sparse_of(sp_input)
  with name_scope(name, 'SparseFillEmptyRows', [sp_input.indices]):
    default = convert(default_value, sp_input.values.dtype.base_dtype)
    made = apply_op('SparseFillEmptyRows', indices=sp_input.indices, values=sp_input.values,
                    dense_shape=sp_input.dense_shape, default_value=default)
    return (SparseTensor(made.output_indices, made.output_values, sp_input.dense_shape),
            made.empty_row_indicator)


@export('sparse_merge', 'sparse.merge')
def sparse_merge(sp_ids, sp_values, vocab_size, name=None, already_sorted=False):
  """Values at the places that ids say: the last dimension of the ids becomes one of vocab_size, or
  several for a list of ids."""
  if isinstance(sp_ids, (SparseTensor, SparseTensorValue)):
    sp_ids, vocab_size = [sp_ids], [vocab_size]
  elif not isinstance(sp_ids, (list, tuple)):
    raise TypeError('sp_ids has to be a SparseTensor or list thereof. Found %s' % type(sp_ids))
  if not (isinstance(vocab_size, (list, tuple)) and all(
      isinstance(v, (_leat.Output, int)) or hasattr(v, '__index__') for v in vocab_size)):
    raise TypeError('vocab_size has to be a list of Tensors or Python ints. Found %s' %
                    type(vocab_size))
  if len(sp_ids) != len(vocab_size):
    raise ValueError('sp_ids and vocab_size have to have equal lengths.')
  sp_ids = [sparse_of(s, 'sp_ids') for s in sp_ids]
  sp_values = sparse_of(sp_values, 'sp_values')
  with name_scope(name, 'SparseMerge', [sp_values.indices]):
    columns = [array.expand_dims(math.cast(s.values, dtypes.int64), 1) for s in sp_ids]
    sizes = [math.cast(array.reshape(convert(v), [1]), dtypes.int64) for v in vocab_size]
    first = sp_ids[0]
    indices = array.concat([first.indices[:, :-1]] + columns, 1)
    shape = array.concat([first.dense_shape[:-1]] + sizes, 0)
    result = SparseTensor(indices, sp_values.values, shape)
    if already_sorted:
      return result
    return sparse_reorder(result)


@export('sparse_to_indicator', 'sparse.to_indicator')
def sparse_to_indicator(sp_input, vocab_size, name=None):
  """A tensor of bool: true at the ids that stand in each row."""
  sp_input = sparse_of(sp_input)
  with name_scope(name, 'SparseToIndicator', [sp_input.indices]) as scope:
    ones = SparseTensor(sp_input.indices, array.fill(array.shape(sp_input.values), True),
                        sp_input.dense_shape)
    merged = sparse_merge(sp_input, ones, vocab_size)
    return sparse_tensor_to_dense(merged, False, validate_indices=False, name=scope)
