"""Sums of many tensors, products of matrices."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import diagonal, math


@export('add_n', 'math.add_n')
def add_n(inputs, name=None):
  """The sum of tensors of one shape and type, element by element. ValueError where `inputs` is
  empty."""
  message = 'inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype ' \
            'and shape'
  if not inputs or not hasattr(inputs, '__iter__'):
    raise ValueError(message)
  try:
    inputs = [i if type(i).__name__ == 'IndexedSlices' else convert(i) for i in inputs]
  except TypeError:
    raise ValueError(message) from None
  inputs = [convert(i) for i in inputs]
  if len(inputs) == 1:
    return apply_op('Identity', name=name, input=inputs[0]) if name else inputs[0]
  return apply_op('AddN', name=name, inputs=inputs)


@export('accumulate_n', 'math.accumulate_n')
def accumulate_n(inputs, shape=None, tensor_dtype=None, name=None):
  """The sum of all inputs, of one shape."""
  message = 'inputs must be a list of at least one Tensor with the same dtype and shape'
  if not inputs or not isinstance(inputs, (list, tuple)):
    raise ValueError(message)
  inputs = [conversion.convert_to_tensor_or_indexed_slices(i) for i in inputs]
  if not all(isinstance(i, _leat.Output) for i in inputs) or not all(
      i.dtype == inputs[0].dtype for i in inputs):
    raise ValueError(message)
  from leat._graph.shape import TensorShape, as_shape
  known = TensorShape(None) if shape is None else as_shape(shape)
  for i in inputs:
    known = known.merge_with(i.get_shape())
  if tensor_dtype is not None and tensor_dtype != inputs[0].dtype:
    raise TypeError('tensor_dtype is %s, but input is of type %s' % (tensor_dtype, inputs[0].dtype))
  if len(inputs) == 1 and name is None:
    return inputs[0]
  if len(inputs) == 1:
    return apply_op('Identity', name=name, input=inputs[0])
  return apply_op('AddN', name=name, inputs=inputs)


@export('matmul', 'linalg.matmul')
def matmul(a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False,
           a_is_sparse=False, b_is_sparse=False, output_type=None, name=None):
  """The product of matrices [..., n, k] and [..., k, m]: [..., n, m]; of more than two dimensions
  the matrices are paired. transpose_a and transpose_b transpose a factor first, adjoint_a and
  adjoint_b also conjugate it. Factors with many zeros may be faster with a_is_sparse or
  b_is_sparse. ValueError where sizes do not fit.

  >>> tf.Session().run(tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]))
  array([[11.]], dtype=float32)
  """
  del output_type
  with name_scope(name, 'MatMul', [a, b]) as scope:
    if transpose_a and adjoint_a:
      raise ValueError('Only one of `transpose_a` and `adjoint_a` can be True.')
    if transpose_b and adjoint_b:
      raise ValueError('Only one of `transpose_b` and `adjoint_b` can be True.')
    a = convert(a, name='a')
    b = convert(b, None, 'b', preferred=a.dtype.base_dtype)
    kinds = {a.dtype.base_dtype, b.dtype.base_dtype}
    sparse = a_is_sparse or b_is_sparse or len(kinds) > 1 and dtypes.bfloat16 in kinds
    ranks = [None if x.shape_ is None else len(x.shape_) for x in (a, b)]
    if None in ranks or max(ranks) > 2:
      if transpose_a:
        a, adjoint_a = math.conj(a), True
      if transpose_b:
        b, adjoint_b = math.conj(b), True
      return apply_op('BatchMatMulV2', name=scope, x=a, y=b, adj_x=adjoint_a, adj_y=adjoint_b)
    if adjoint_a:
      a, transpose_a = math.conj(a), True
    if adjoint_b:
      b, transpose_b = math.conj(b), True
    if sparse:
      return sparse_matmul(a, b, transpose_a, transpose_b, a_is_sparse, b_is_sparse, scope)
    return apply_op('MatMul', name=scope, a=a, b=b, transpose_a=transpose_a,
                    transpose_b=transpose_b)


@export('tensordot', 'linalg.tensordot')
def tensordot(a, b, axes, name=None):
  """The sum of products over pairs of dimensions. `axes` is a number n, for the last n of `a` and
  the first n of `b`, or two lists of dimensions. The result has the other dimensions of `a`, then
  those of `b`."""
  from leat._ops import array
  with name_scope(name, 'Tensordot', [a, b, axes]) as scope:
    a, b = convert(a, name='a'), convert(b, name='b')
    a_axes, b_axes = _tensordot_axes(a, axes)
    a_flat, a_free = _tensordot_matrix(a, a_axes, False)
    b_flat, b_free = _tensordot_matrix(b, b_axes, True)
    product = matmul(a_flat, b_flat)
    if isinstance(a_free, list) and isinstance(b_free, list) and None not in a_free + b_free:
      return array.reshape(product, a_free + b_free, name=scope)
    a_free = convert(a_free, dtypes.int32)
    b_free = convert(b_free, dtypes.int32)
    return array.reshape(product, array.concat([a_free, b_free], 0), name=scope)


def _tensordot_axes(a, axes):
  from leat._ops import array
  if isinstance(axes, _leat.Output):
    known = constant_value(axes)
    if known is None:
      return axes[0], axes[1]
    axes = known.tolist()
  if isinstance(axes, int):
    if axes < 0:
      raise ValueError('`axes` must be at least 0. Received: %s.' % axes)
    if a.shape_ is None:
      rank = array.rank(a)
      return math.range(rank - axes, rank), math.range(axes)
    rank = len(a.shape_)
    if axes > rank:
      raise ValueError('`axes` must not be larger than the number of dimensions of tensor %s. '
                       'Received: %s, vs tensor dimensions %s.' % (a, axes, rank))
    return list(range(rank - axes, rank)), list(range(axes))
  if len(axes) != 2:
    raise ValueError('`axes` must be an integer or have length 2. Received: %s.' % (axes,))
  first, second = axes
  first = [first] if isinstance(first, int) else [int(i) for i in first]
  second = [second] if isinstance(second, int) else [int(i) for i in second]
  if len(first) != len(second):
    raise ValueError('Different number of contraction axes `a` and `b`, %s != %s.' % (
        len(first), len(second)))
  return first, second


def _tensordot_matrix(x, axes, flipped):
  """x as a matrix whose columns (rows, if flipped) are the dimensions `axes`; the other sizes."""
  from leat._ops import array
  if x.shape_ is None or isinstance(axes, _leat.Output):
    return _tensordot_matrix_unknown(x, axes, flipped)
  rank = len(x.shape_)
  axes = [i + rank if i < 0 else i for i in axes]
  free = [i for i in range(rank) if i not in axes]
  sizes = x.get_shape().as_list()
  order = axes + free if flipped else free + axes
  if None not in sizes:
    inner = outer = 1
    for i in axes:
      inner *= sizes[i]
    for i in free:
      outer *= sizes[i]
    shape = [inner, outer] if flipped else [outer, inner]
    if order != list(range(rank)):
      x = array.transpose(x, order)
    return array.reshape(x, shape), [sizes[i] for i in free]
  shape = array.shape(x)
  inner = math.reduce_prod(array.gather(shape, axes))
  outer = math.reduce_prod(array.gather(shape, free))
  x = array.transpose(x, order)
  flat = array.reshape(x, array.stack([inner, outer] if flipped else [outer, inner]))
  return flat, array.gather(shape, free)


def _tensordot_matrix_unknown(x, axes, flipped):
  """The same where the rank, or which dimensions, is known in the step only."""
  from leat._ops import array
  shape, rank = array.shape(x), array.rank(x)
  axes = convert(axes, dtypes.int32)
  axes = array.where(axes >= 0, axes, axes + rank)
  free, _ = array.setdiff1d(math.range(rank), axes)
  inner = math.reduce_prod(array.gather(shape, axes))
  outer = math.reduce_prod(array.gather(shape, free))
  x = array.transpose(x, array.concat([axes, free] if flipped else [free, axes], 0))
  flat = array.reshape(x, array.stack([inner, outer] if flipped else [outer, inner]))
  return flat, array.gather(shape, free)


@export('trace', 'linalg.trace')
def trace(x, name=None):
  """The sum of the main diagonal of each inner matrix."""
  from leat._ops import array
  with name_scope(name, 'Trace', [x]) as scope:
    return math.reduce_sum(diagonal.matrix_diag_part(convert(x, name='x')), [-1], name=scope)


@export('sparse_matmul')
def sparse_matmul(a, b, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False,
                  name=None):
  """The product of two matrices. That many elements are zeros changes nothing here: the library
  multiplies all. Of bfloat16 the product is float32."""
  del a_is_sparse, b_is_sparse
  with name_scope(name, 'SparseMatMul', [a, b]) as scope:
    a, b = [math.cast(x, dtypes.float32) if x.dtype.base_dtype == dtypes.bfloat16 else x
            for x in (convert(a, name='a'), convert(b, name='b'))]
    return apply_op('MatMul', name=scope, a=a, b=b, transpose_a=transpose_a,
                    transpose_b=transpose_b)
