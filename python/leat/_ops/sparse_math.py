"""Arithmetic of sparse tensors: sums, reductions, softmax, maximum, crosses of features."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import array, math
from leat._ops.sparse import SparseTensor, SparseTensorValue, sparse_reorder
from leat._ops.sparse_shape import rank_of, required, sparse_of


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


@export('sparse_reduce_sum', 'sparse.reduce_sum')
def sparse_reduce_sum(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
  """The sums along dimensions, or of all, as a tensor."""
  axis, keepdims = _arguments(axis, keepdims, reduction_axes, keep_dims)
  sp_input = sparse_of(sp_input)
  return apply_op('SparseReduceSum', input_indices=sp_input.indices, input_values=sp_input.values,
                  input_shape=sp_input.dense_shape,
                  reduction_axes=math._reduction_dims(sp_input, axis), keep_dims=keepdims)


def _groups(sparse, axis):
  """(for each element the number of what is left of its index without the axes, the sizes of what
  is left and their product, the axes)."""
  rank = rank_of(sparse)
  if rank is None:
    raise ValueError('sp_input must have a known rank')
  axes = list(range(rank)) if axis is None else constant_value(convert(axis))
  if axes is None:
    raise ValueError('axis must be known when the graph is built')
  axes = axes if isinstance(axes, list) else axes.ravel().tolist()
  for a in axes:
    if not -rank <= a < rank:
      raise ValueError('Invalid reduction dimension %d for a sparse tensor of rank %d' % (a, rank))
  axes = sorted({a % rank for a in axes})
  kept = [i for i in range(rank) if i not in axes]
  sizes = array.gather(sparse.dense_shape, convert(kept, dtypes.int32))
  strides = apply_op('Cumprod', x=sizes, axis=0, exclusive=True, reverse=True)
  places = array.gather(sparse.indices, convert(kept, dtypes.int32), axis=1)
  return math.reduce_sum(places * strides, 1), sizes, axes, rank


def _with_ones(sizes, axes, rank):
  """The sizes with a one at each axis."""
  kept = iter(range(rank))
  parts = [constant_of(1, dtypes.int64) if i in axes else sizes[next(kept)] for i in range(rank)]
  return array.stack(parts)


def _segment(op, values, groups, count):
  return apply_op(op, data=values, segment_ids=groups, num_segments=count)


@export('sparse_reduce_max', 'sparse.reduce_max')
def sparse_reduce_max(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
  """The greatest of the elements that are there along dimensions, 0 where there is none."""
  axis, keepdims = _arguments(axis, keepdims, reduction_axes, keep_dims)
  sp_input = sparse_of(sp_input)
  with name_scope(None, 'SparseReduceMax', [sp_input.values]):
    groups, sizes, axes, rank = _groups(sp_input, axis)
    count = math.reduce_prod(sizes)
    highest = _segment('UnsortedSegmentMax', sp_input.values, groups, count)
    number = _segment('UnsortedSegmentSum', array.ones_like(groups), groups, count)
    highest = array.where(number > 0, highest, array.zeros_like(highest))
    return array.reshape(highest, _with_ones(sizes, axes, rank) if keepdims else sizes)


def _reduced_to_sparse(op, scope, what):
  def function(sp_input, axis=None, keepdims=None, reduction_axes=None, keep_dims=None):
    axis, keepdims = _arguments(axis, keepdims, reduction_axes, keep_dims)
    sp_input = sparse_of(sp_input)
    with name_scope(None, scope, [sp_input.values]):
      groups, sizes, axes, rank = _groups(sp_input, axis)
      found, numbers = array.unique(groups, dtypes.int64)
      made = _segment(op, sp_input.values, numbers, array.size(found, out_type=dtypes.int64))
      shape = _with_ones(sizes, axes, rank) if keepdims else sizes
      return sparse_reorder(SparseTensor(_unraveled(found, shape), made, shape))
  function.__doc__ = """The %s of the elements of a SparseTensor along `axis`, or all dimensions
  where it is None, as a SparseTensor. Elements that are not there do not count.""" % what
  return function


sparse_reduce_sum_sparse = _reduced_to_sparse(
    'UnsortedSegmentSum', 'SparseReduceSumSparse', 'sum')
sparse_reduce_max_sparse = _reduced_to_sparse(
    'UnsortedSegmentMax', 'SparseReduceMaxSparse', 'largest')
EXPORTS = {
    'sparse_maximum': 'sparse_maximum', 'sparse.maximum': 'sparse_maximum',
    'sparse_minimum': 'sparse_minimum', 'sparse.minimum': 'sparse_minimum',
    'sparse_reduce_sum_sparse': 'sparse_reduce_sum_sparse',
    'sparse.reduce_sum_sparse': 'sparse_reduce_sum_sparse',
    'sparse_reduce_max_sparse': 'sparse_reduce_max_sparse',
    'sparse.reduce_max_sparse': 'sparse_reduce_max_sparse'}


def _unraveled(numbers, shape):
  """[n, rank]: the index of each number of an element."""
  strides = apply_op('Cumprod', x=shape, axis=0, exclusive=True, reverse=True)
  one = constant_of(1, dtypes.int64)
  column = array.expand_dims(numbers, 1)
  return apply_op('FloorMod', x=column // apply_op('Maximum', x=strides, y=one),
                  y=apply_op('Maximum', x=shape, y=one))


# ---- Element by element -------------------------------------------------------------------------


@export('sparse_softmax', 'sparse.softmax')
def sparse_softmax(sp_input, name=None):
  """The softmax along the last dimension of the elements that are there."""
  sp_input = sparse_of(sp_input)
  with name_scope(name, 'SparseSoftmax', [sp_input.indices, sp_input.values]):
    strides = apply_op('Cumprod', x=sp_input.dense_shape[:-1], axis=0, exclusive=True, reverse=True)
    groups = math.reduce_sum(sp_input.indices[:, :-1] * strides, 1)
    found, rows = array.unique(groups, dtypes.int64)
    count = array.size(found, out_type=dtypes.int64)
    highest = _segment('UnsortedSegmentMax', sp_input.values, rows, count)
    highest = apply_op('StopGradient', input=highest)
    powers = math.exp(sp_input.values - array.gather(highest, rows))
    total = _segment('UnsortedSegmentSum', powers, rows, count)
    return SparseTensor(sp_input.indices, powers / array.gather(total, rows), sp_input.dense_shape)


def _either(segment, joined, scope):
  def function(sp_a, sp_b, name=None):
    a, b = sparse_of(sp_a, 'sp_a'), sparse_of(sp_b, 'sp_b')
    with name_scope(name, scope, [a.indices, a.values, b.indices, b.values]):
      shape = required(a.dense_shape, apply_op('Equal', x=array.size(a.dense_shape), y=array.size(
          b.dense_shape)), 'Operands do not have the same ranks')
      same = apply_op('Equal', x=shape, y=b.dense_shape, incompatible_shape_error=False)
      shape = required(shape, math.reduce_all(same), "Operands' shapes do not match")
      strides = apply_op('Cumprod', x=shape, axis=0, exclusive=True, reverse=True)
      numbers = array.concat([math.reduce_sum(s.indices * strides, 1) for s in (a, b)], 0)
      values = array.concat([a.values, b.values], 0)
      found, places = array.unique(numbers, dtypes.int64)
      count = array.size(found, out_type=dtypes.int64)
      made = _segment(segment, values, places, count)
      number = _segment('UnsortedSegmentSum', array.ones_like(numbers), places, count)
      zero = array.zeros_like(made)
      made = array.where(number > 1, made, apply_op(joined, x=made, y=zero))
      return sparse_reorder(SparseTensor(_unraveled(found, shape), made, shape))
  function.__doc__ = 'Of both at each place, an element that is not there being 0.'
  return function


sparse_maximum = _either('UnsortedSegmentMax', 'Maximum', 'SparseSparseMaximum')
sparse_minimum = _either('UnsortedSegmentMin', 'Minimum', 'SparseSparseMinimum')


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
