"""tf.sets: the last dimension of a tensor as sets, one for each row of the other dimensions.

A dense tensor says the same element for a set as often as it likes; sets of different sizes are
sparse tensors, whose indices must be in order.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._ops.sparse import SparseTensor, convert_to_tensor_or_sparse_tensor

_TYPES = (dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8, dtypes.uint16,
          dtypes.string)


def _checked(argument, tensor):
  if tensor.dtype.base_dtype not in _TYPES:
    raise TypeError('`%s` invalid dtype %s, must be one of %s.' % (
        argument, tensor.dtype.name, ', '.join(t.name for t in _TYPES)))
  return tensor


@export('sets.size', 'sets.set_size')
def set_size(a, validate_indices=True):
  """How many different elements each set of the sparse tensor `a` has: int32, of its shape without
  the last dimension. A step fails on indices out of order unless validate_indices is False."""
  a = convert_to_tensor_or_sparse_tensor(a, name='a')
  if not isinstance(a, SparseTensor):
    raise TypeError('Expected `a` to be a SparseTensor, got %s.' % (a,))
  _checked('a', a)
  return apply_op('SetSize', set_indices=a.indices, set_values=a.values, set_shape=a.dense_shape,
                  validate_indices=validate_indices)


def _operation(a, b, operation, validate_indices):
  a = _checked('a', convert_to_tensor_or_sparse_tensor(a, name='a'))
  b = _checked('b', convert_to_tensor_or_sparse_tensor(b, name='b'))
  if a.dtype.base_dtype != b.dtype.base_dtype:
    raise TypeError("Types don't match: a is %s, b is %s." % (a.dtype.name, b.dtype.name))
  if isinstance(b, SparseTensor):
    parts = {'set2_indices': b.indices, 'set2_values': b.values, 'set2_shape': b.dense_shape}
    if isinstance(a, SparseTensor):
      op = 'SparseToSparseSetOperation'
      parts.update(set1_indices=a.indices, set1_values=a.values, set1_shape=a.dense_shape)
    else:
      op, parts['set1'] = 'DenseToSparseSetOperation', a
  else:
    op, parts = 'DenseToDenseSetOperation', {'set1': a, 'set2': b}
  indices, values, shape = apply_op(op, set_operation=operation, validate_indices=validate_indices,
                                    **parts)
  return SparseTensor(indices, values, shape)


def _ordered(a, b):
  """(a, b, whether they were exchanged): the op takes a sparse tensor only in the second place, or
  in both."""
  a = convert_to_tensor_or_sparse_tensor(a, name='a')
  b = convert_to_tensor_or_sparse_tensor(b, name='b')
  exchanged = isinstance(a, SparseTensor) and not isinstance(b, SparseTensor)
  return (b, a, True) if exchanged else (a, b, False)


@export('sets.intersection', 'sets.set_intersection')
def set_intersection(a, b, validate_indices=True):
  """The elements in both sets, as a sparse tensor; `a` and `b` are alike but for the last size."""
  a, b, _ = _ordered(a, b)
  return _operation(a, b, 'intersection', validate_indices)


@export('sets.difference', 'sets.set_difference')
def set_difference(a, b, aminusb=True, validate_indices=True):
  """The elements of `a` that are not in `b`, or of `b` not in `a` where aminusb is False."""
  a, b, exchanged = _ordered(a, b)
  return _operation(a, b, 'a-b' if bool(aminusb) != exchanged else 'b-a', validate_indices)


@export('sets.union', 'sets.set_union')
def set_union(a, b, validate_indices=True):
  """The elements of either set, as a sparse tensor."""
  a, b, _ = _ordered(a, b)
  return _operation(a, b, 'union', validate_indices)
