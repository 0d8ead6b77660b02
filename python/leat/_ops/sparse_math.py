"""Arithmetic of sparse tensors: sums, reductions, softmax, maximum, crosses of features."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import math
from leat._ops.sparse import SparseTensor, SparseTensorValue
from leat._ops.sparse_shape import sparse_of


@export('sparse_add', 'sparse.add')
def sparse_add(a, b, threshold=None, thresh=None):
  """a + b, of which at least one is sparse. Sums of two sparse tensors whose absolute value is less
  than threshold are left out."""
  if threshold is not None and thresh is not None:
    raise ValueError("Cannot specify both 'threshold' and 'thresh'.")
  threshold = thresh if threshold is None else threshold
  kinds = (SparseTensor, SparseTensorValue)
  if not any(isinstance(v, kinds) for v in (a, b)):
    raise TypeError('At least one input should be SparseTensor; do you mean to use tf.add()?')
  if all(isinstance(v, kinds) for v in (a, b)):
    a, b = sparse_of(a, 'a'), sparse_of(b, 'b')
    limit = convert(0 if threshold is None else threshold, a.values.dtype.real_dtype.base_dtype,
                    'threshold')
    made = apply_op('SparseAdd', a_indices=a.indices, a_values=a.values, a_shape=a.dense_shape,
                    b_indices=b.indices, b_values=b.values, b_shape=b.dense_shape, thresh=limit)
    made.sum_shape.set_shape(a.dense_shape.get_shape().merge_with(b.dense_shape.get_shape()))
    return SparseTensor(made.sum_indices, made.sum_values, made.sum_shape)
  sparse, dense = (a, b) if isinstance(a, kinds) else (b, a)
  sparse = sparse_of(sparse)
  return apply_op('SparseTensorDenseAdd', a_indices=sparse.indices, a_values=sparse.values,
                  a_shape=sparse.dense_shape, b=dense)


# ---- Reductions ---------------------------------------------------------------------------------


def _arguments(axis, keepdims, reduction_axes, keep_dims):
  if reduction_axes is not None:
    if axis is not None:
      raise ValueError("Cannot specify both 'axis' and 'reduction_axes'.")
    axis = reduction_axes
  if keep_dims is not None:
    if keepdims is not None:
      raise ValueError("Cannot specify both 'keepdims' and 'keep_dims'.")
    keepdims = keep_dims
  return axis, bool(keepdims)


def _reduction(op, is_sparse, what):
  def function(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    axis, keepdims = _arguments(axis, keepdims, reduction_axes, keep_dims)
    sp_input = sparse_of(sp_input)
    made = apply_op(op, input_indices=sp_input.indices, input_values=sp_input.values,
                    input_shape=sp_input.dense_shape,
                    reduction_axes=math._reduction_dims(sp_input, axis), keep_dims=keepdims)
    return SparseTensor(*made) if is_sparse else made
  function.__doc__ = """The %s of the elements of a SparseTensor along `axis`, or all dimensions
  where it is None, as a %s. Elements that are not there do not count%s.""" % (
      what, 'SparseTensor' if is_sparse else 'tensor',
      '' if is_sparse else '; where there is none at all, the result is 0')
  return function


sparse_reduce_sum = _reduction('SparseReduceSum', False, 'sum')
sparse_reduce_max = _reduction('SparseReduceMax', False, 'largest')
sparse_reduce_sum_sparse = _reduction('SparseReduceSumSparse', True, 'sum')
sparse_reduce_max_sparse = _reduction('SparseReduceMaxSparse', True, 'largest')
EXPORTS = {
    'sparse_maximum': 'sparse_maximum', 'sparse.maximum': 'sparse_maximum',
    'sparse_minimum': 'sparse_minimum', 'sparse.minimum': 'sparse_minimum',
    'sparse_reduce_sum': 'sparse_reduce_sum', 'sparse.reduce_sum': 'sparse_reduce_sum',
    'sparse_reduce_max': 'sparse_reduce_max', 'sparse.reduce_max': 'sparse_reduce_max',
    'sparse_reduce_sum_sparse': 'sparse_reduce_sum_sparse',
    'sparse.reduce_sum_sparse': 'sparse_reduce_sum_sparse',
    'sparse_reduce_max_sparse': 'sparse_reduce_max_sparse',
    'sparse.reduce_max_sparse': 'sparse_reduce_max_sparse'}


# ---- Element by element -------------------------------------------------------------------------


@export('sparse_softmax', 'sparse.softmax')
def sparse_softmax(sp_input, name=None):
  """The softmax along the last dimension of the elements that are there."""
  sp_input = sparse_of(sp_input)
  with name_scope(name, 'SparseSoftmax', [sp_input.indices, sp_input.values]) as scope:
    made = apply_op('SparseSoftmax', name=scope, sp_indices=sp_input.indices,
                    sp_values=sp_input.values, sp_shape=sp_input.dense_shape)
    return SparseTensor(sp_input.indices, made, sp_input.dense_shape)


def _either(op, what):
  def function(sp_a, sp_b, name=None):
    a, b = sparse_of(sp_a, 'sp_a'), sparse_of(sp_b, 'sp_b')
    with name_scope(name, op, [a.indices, a.values, b.indices, b.values]) as scope:
      made = apply_op(op, name=scope, a_indices=a.indices, a_values=a.values,
                      a_shape=a.dense_shape, b_indices=b.indices, b_values=b.values,
                      b_shape=b.dense_shape)
      return SparseTensor(made.output_indices, made.output_values, a.dense_shape)
  function.__doc__ = """The %s of the elements of two SparseTensors of one shape at each place.
  Elements that are not there count as 0.""" % what
  return function


sparse_maximum = _either('SparseSparseMaximum', 'larger')
sparse_minimum = _either('SparseSparseMinimum', 'smaller')


# ---- Crosses ------------------------------------------------------------------------------------


def _crossed(inputs, hashed, num_buckets, hash_key, name):
  if not isinstance(inputs, (tuple, list)):
    raise TypeError('Inputs must be a list')
  kinds = (SparseTensor, SparseTensorValue)
  sparse = [sparse_of(i) for i in inputs if isinstance(i, kinds)]
  dense = [convert(i) for i in inputs if not isinstance(i, kinds)]
  internal = dtypes.string

  def known(tensor):
    nonlocal internal
    if tensor.dtype == dtypes.string:
      return tensor
    if not tensor.dtype.is_integer:
      raise TypeError('Inputs of a cross must be integers or strings, but one has %s' %
                      tensor.dtype.name)
    if hashed:
      internal = dtypes.int64
    return math.cast(tensor, dtypes.int64)
  values, dense = [known(s.values) for s in sparse], [known(d) for d in dense]
  made = apply_op('SparseCross', name=name, indices=[s.indices for s in sparse], values=values,
                  shapes=[s.dense_shape for s in sparse], dense_inputs=dense, hashed_output=hashed,
                  num_buckets=num_buckets, hash_key=hash_key,
                  out_type=dtypes.int64 if hashed else dtypes.string, internal_type=internal)
  return SparseTensor(made.output_indices, made.output_values, made.output_shape)


_HASH_KEY = 0xDECAFCAFFE


@export('sparse.cross')
def sparse_cross(inputs, name=None, separator=None):
  """All combinations of the features of each row, as strings joined by separator."""
  if separator in (None, '_X_'):
    return _crossed(inputs, False, 0, _HASH_KEY, name)
  raise ValueError("separator is %r, must be '_X_'" % (separator,))


@export('sparse.cross_hashed')
def sparse_cross_hashed(inputs, num_buckets=0, hash_key=None, name=None):
  """All combinations of the features of each row, as hashes."""
  return _crossed(inputs, True, num_buckets, _HASH_KEY if hash_key is None else hash_key, name)
