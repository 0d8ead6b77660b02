"""Arithmetic, reductions, products of matrices. What is nothing but a wrapper of an op stands in
endpoints.txt; here is what TensorFlow's API adds to the ops."""
from __future__ import annotations

from builtins import range as builtins_range

from leat import _leat
from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import operators


def _is_sparse(x):
  return getattr(x, '_is_composite', False) and hasattr(x, 'dense_shape')


def _sparse_map(x, op, name):
  from leat._ops.sparse import SparseTensor
  with name_scope(name, op, [x]) as scope:
    return SparseTensor(x.indices, apply_op(op, name=scope, x=x.values), x.dense_shape)


def _unary(op, sparse=False):
  def function(x, name=None):
    if sparse and _is_sparse(x):
      return _sparse_map(x, op, name)
    return apply_op(op, name=name, x=x)
  function.__doc__ = 'The op %s, element by element.' % op
  return function


def _binary(op, name_default=None):
  def function(x, y, name=None):
    with name_scope(name, name_default or op, [x, y]) as scope:
      return apply_op(op, name=scope, x=x, y=y)
  function.__doc__ = 'The op %s, element by element.' % op
  return function


exp, sqrt, rsqrt = _unary('Exp'), _unary('Sqrt', True), _unary('Rsqrt')
floor, ceil = _unary('Floor'), _unary('Ceil')
square, negative = _unary('Square', True), _unary('Neg', True)
tanh, erf = _unary('Tanh', True), _unary('Erf', True)
erfinv, ndtri = _unary('Erfinv'), _unary('Ndtri')
bessel_i0, bessel_i1 = _unary('BesselI0'), _unary('BesselI1')
bessel_i0e, bessel_i1e = _unary('BesselI0e'), _unary('BesselI1e')
digamma, lgamma = _unary('Digamma'), _unary('Lgamma')
EXPORTS = {
    'exp': 'exp', 'math.exp': 'exp', 'sqrt': 'sqrt', 'math.sqrt': 'sqrt', 'rsqrt': 'rsqrt',
    'math.rsqrt': 'rsqrt', 'floor': 'floor', 'math.floor': 'floor', 'ceil': 'ceil',
    'math.ceil': 'ceil', 'square': 'square', 'math.square': 'square', 'negative': 'negative',
    'math.negative': 'negative', 'tanh': 'tanh', 'math.tanh': 'tanh', 'nn.tanh': 'tanh',
    'math.erfinv': 'erfinv', 'math.ndtri': 'ndtri', 'math.bessel_i0': 'bessel_i0',
    'math.bessel_i1': 'bessel_i1', 'math.bessel_i0e': 'bessel_i0e', 'math.bessel_i1e': 'bessel_i1e',
    'erf': 'erf', 'math.erf': 'erf',
    'to_float': 'to_float', 'to_double': 'to_double', 'to_int32': 'to_int32',
    'to_int64': 'to_int64', 'to_bfloat16': 'to_bfloat16', 'to_complex64': 'to_complex64',
    'to_complex128': 'to_complex128', 'math.real': 'real', 'real': 'real',
    'math.imag': 'imag', 'imag': 'imag', 'math.angle': 'angle',
    'angle': 'angle', 'math.reduce_sum': 'reduce_sum', 'reduce_sum': 'reduce_sum',
    'math.reduce_mean': 'reduce_mean', 'reduce_mean': 'reduce_mean', 'math.reduce_prod': 'reduce_prod',
    'reduce_prod': 'reduce_prod', 'math.reduce_max': 'reduce_max', 'reduce_max': 'reduce_max',
    'math.reduce_min': 'reduce_min', 'reduce_min': 'reduce_min', 'math.reduce_all': 'reduce_all',
    'reduce_all': 'reduce_all', 'math.reduce_any': 'reduce_any', 'reduce_any': 'reduce_any',
    'math.reduce_euclidean_norm': 'reduce_euclidean_norm'}


@export('add', 'math.add')
def add(x, y, name=None):
  """x + y, element by element."""
  with name_scope(name, 'Add', [x]) as scope:
    x = convert(x, name='x')
    y = convert(y, x.dtype.base_dtype, 'y')
    return apply_op('Add' if x.dtype == dtypes.string else 'AddV2', name=scope, x=x, y=y)


@export('subtract', 'math.subtract')
def subtract(x, y, name=None):
  """x - y, element by element."""
  return apply_op('Sub', name=name, x=x, y=y)


@export('multiply', 'math.multiply')
def multiply(x, y, name=None):
  """x * y, element by element."""
  return apply_op('Mul', name=name, x=x, y=y)


def _pair(x, y):
  x = convert(x, name='x')
  return x, convert(y, x.dtype.base_dtype, 'y')


@export('divide', 'math.divide')
def divide(x, y, name=None):
  """x / y as Python divides."""
  if name is None and hasattr(x, '__truediv__') and not isinstance(x, (int, float)):
    return x / y
  with name_scope(name, 'truediv', [x, y]) as scope:
    return operators.true_divide(*_pair(x, y), scope)


@export('truediv', 'math.truediv')
def truediv(x, y, name=None):
  """x / y; integers are divided as floats."""
  with name_scope(name, 'truediv', [x, y]) as scope:
    return operators.true_divide(*_pair(x, y), scope)


@export('div')
def div(x, y, name=None):
  """x / y as Python 2 divides: integers down."""
  with name_scope(name, 'div', [x, y]) as scope:
    return operators._divide(*_pair(x, y), scope)


@export('floordiv', 'math.floordiv')
def floordiv(x, y, name=None):
  """x // y."""
  with name_scope(name, 'floordiv', [x, y]) as scope:
    return apply_op('FloorDiv', name=scope, x=x, y=y)


@export('div_no_nan', 'math.divide_no_nan')
def div_no_nan(x, y, name=None):
  """x / y, 0 where y is 0."""
  with name_scope(name, 'div_no_nan', [x, y]) as scope:
    return apply_op('DivNoNan', name=scope, x=x, y=y)


@export('math.multiply_no_nan')
def multiply_no_nan(x, y, name=None):
  """x * y, 0 where y is 0."""
  with name_scope(name, 'multiply_no_nan', [x, y]) as scope:
    x, y = _pair(x, y)
    return apply_op('MulNoNan', name=scope, x=x, y=y)


@export('pow', 'math.pow')
def pow(x, y, name=None):
  """x to the power y."""
  with name_scope(name, 'Pow', [x]) as scope:
    return apply_op('Pow', name=scope, x=x, y=y)


@export('abs', 'math.abs')
def abs(x, name=None):
  """The absolute value, of complex numbers too."""
  if _is_sparse(x):
    return _sparse_map(x, 'Abs', name)
  with name_scope(name, 'Abs', [x]) as scope:
    x = convert(x, name='x')
    if x.dtype.is_complex:
      return apply_op('ComplexAbs', name=scope, x=x, Tout=x.dtype.real_dtype)
    return apply_op('Abs', name=scope, x=x)


@export('sign', 'math.sign')
def sign(x, name=None):
  """-1, 0 or 1; x / |x| for complex numbers."""
  if _is_sparse(x):
    return _sparse_map(x, 'Sign', name)
  return apply_op('Sign', name=name, x=x)


@export('round', 'math.round')
def round(x, name=None):
  """To the nearest integer, halves to the even one."""
  x = convert(x, name='x')
  return x if x.dtype.is_integer else apply_op('Round', name=name, x=x)


@export('sigmoid', 'nn.sigmoid', 'math.sigmoid')
def sigmoid(x, name=None):
  """1 / (1 + exp(-x))."""
  with name_scope(name, 'Sigmoid', [x]) as scope:
    return apply_op('Sigmoid', name=scope, x=convert(x, name='x'))


@export('log_sigmoid', 'math.log_sigmoid', 'nn.log_sigmoid')
def log_sigmoid(x, name=None):
  """log(1 / (1 + exp(-x)))."""
  with name_scope(name, 'LogSigmoid', [x]) as scope:
    x = convert(x, name='x')
    return apply_op('Neg', name=scope, x=apply_op('Softplus', features=-x))


@export('logical_xor', 'math.logical_xor')
def logical_xor(x, y, name='LogicalXor'):
  """Whether one of the two is true."""
  return apply_op('LogicalAnd', name=name, x=apply_op('LogicalOr', x=x, y=y),
                  y=apply_op('LogicalNot', x=apply_op('LogicalAnd', x=x, y=y)))


@export('equal', 'math.equal')
def equal(x, y, name=None):
  """x == y, element by element."""
  return apply_op('Equal', name=name, x=x, y=y)


@export('not_equal', 'math.not_equal')
def not_equal(x, y, name=None):
  """x != y, element by element."""
  return apply_op('NotEqual', name=name, x=x, y=y)


# ---- Types --------------------------------------------------------------------------------------


@export('cast', 'dtypes.cast')
def cast(x, dtype, name=None):
  """x as another type."""
  base = dtypes.as_dtype(dtype).base_dtype
  if isinstance(x, _leat.Output) and base == x.dtype:
    return x
  with name_scope(name, 'Cast', [x]) as scope:
    if _is_sparse(x):
      from leat._ops.sparse import SparseTensor
      return SparseTensor(x.indices, cast(x.values, base, name=scope), x.dense_shape)
    if type(x).__name__ == 'IndexedSlices':
      return type(x)(cast(x.values, base, name=scope), x.indices, x.dense_shape)
    x = convert(x, name='x')
    if x.dtype.base_dtype == base:
      return x
    return apply_op('Cast', name=scope, x=x, DstT=base)


to_float = lambda x, name='ToFloat': cast(x, dtypes.float32, name)
to_double = lambda x, name='ToDouble': cast(x, dtypes.float64, name)
to_int32 = lambda x, name='ToInt32': cast(x, dtypes.int32, name)
to_int64 = lambda x, name='ToInt64': cast(x, dtypes.int64, name)
to_bfloat16 = lambda x, name='ToBFloat16': cast(x, dtypes.bfloat16, name)
to_complex64 = lambda x, name='ToComplex64': cast(x, dtypes.complex64, name)
to_complex128 = lambda x, name='ToComplex128': cast(x, dtypes.complex128, name)


@export('saturate_cast', 'dtypes.saturate_cast')
def saturate_cast(value, dtype, name=None):
  """x as another type; what does not fit becomes the nearest that does."""
  with name_scope(name, 'saturate_cast', [value]) as scope:
    value = convert(value, name='value')
    dtype = dtypes.as_dtype(dtype).base_dtype
    if value.dtype.min < dtype.min:
      value = apply_op('Maximum', x=value, y=convert(dtype.min, value.dtype, 'min'))
    if value.dtype.max > dtype.max:
      value = apply_op('Minimum', x=value, y=convert(dtype.max, value.dtype, 'max'))
    return cast(value, dtype, scope)


@export('complex', 'dtypes.complex')
def complex(real, imag, name=None):
  """A complex number of two reals."""
  real, imag = convert(real, name='real'), convert(imag, name='imag')
  with name_scope(name, 'Complex', [real, imag]) as scope:
    wide = {(dtypes.float64, dtypes.float64): dtypes.complex128,
            (dtypes.float32, dtypes.float32): dtypes.complex64}.get((real.dtype, imag.dtype))
    if wide is None:
      raise TypeError('The `real` and `imag` components have incorrect types: %s %s. They must be '
                      'consistent, and one of %s' % (real.dtype.name, imag.dtype.name,
                                                     [dtypes.float32, dtypes.float64]))
    return apply_op('Complex', name=scope, real=real, imag=imag, Tout=wide)


def _part(op):
  def function(input, name=None):
    with name_scope(name, op, [input]) as scope:
      input = convert(input, name='input')
      if not input.dtype.is_complex:
        return input if op == 'Real' else apply_op('ZerosLike', x=input) if op == 'Imag' else \
            apply_op('Select', condition=input < 0, t=apply_op('OnesLike', x=input) * 3.141592653589793,
                     e=apply_op('ZerosLike', x=input))
      return apply_op(op, name=scope, input=input, Tout=input.dtype.real_dtype)
  return function


real, imag, angle = _part('Real'), _part('Imag'), _part('Angle')


@export('conj', 'math.conj')
def conj(x, name=None):
  """The complex conjugate."""
  if isinstance(x, _leat.Output) and (x.dtype.is_floating or x.dtype.is_integer):
    return x
  with name_scope(name, 'Conj', [x]) as scope:
    x = convert(x, name='x')
    if x.dtype.is_complex or x.dtype == dtypes.variant:
      return apply_op('Conj', name=scope, input=x)
    if x.dtype.is_floating or x.dtype.is_integer:
      return x
    raise TypeError('Expected numeric or variant tensor, got dtype %r' % x.dtype)


# ---- Reductions ---------------------------------------------------------------------------------


def _reduction_dims(x, axis):
  """All dimensions where `axis` is None."""
  if axis is not None:
    return axis
  rank = len(x.shape_) if isinstance(x, _leat.Output) and x.shape_ is not None else None
  if rank is not None:
    return conversion.constant_of(list(builtins_range(rank)), dtypes.int32)
  if _is_sparse(x) and x.dense_shape.get_shape().is_fully_defined():
    rank = x.dense_shape.get_shape()[0].value
    return conversion.constant_of(list(builtins_range(rank)), dtypes.int32)
  from leat._ops import array
  return range(0, array.rank(x))


def _keep(keepdims, keep_dims):
  if keep_dims is not None:
    if keepdims is not None:
      raise ValueError("Cannot specify both 'keep_dims' and 'keepdims'")
    return keep_dims
  return False if keepdims is None else keepdims


def _axis(axis, reduction_indices):
  if reduction_indices is not None:
    if axis is not None:
      raise ValueError("Cannot specify both 'axis' and 'reduction_indices'.")
    return reduction_indices
  return axis


def _reduction(op, boolean=False):
  def function(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None,
               keep_dims=None):
    keepdims = _keep(keepdims, keep_dims)
    axis = _axis(axis, reduction_indices)
    x = convert(input_tensor, dtypes.bool if boolean else None, name=None)
    result = apply_op(op, name=name, input=x, reduction_indices=_reduction_dims(x, axis),
                      keep_dims=keepdims)
    if axis is None and not keepdims:
      result.set_shape(())
    return result
  function.__doc__ = 'The op %s over the dimensions `axis`, or all.' % op
  return function


reduce_sum, reduce_mean = _reduction('Sum'), _reduction('Mean')
reduce_prod, reduce_max, reduce_min = _reduction('Prod'), _reduction('Max'), _reduction('Min')
reduce_all, reduce_any = _reduction('All', True), _reduction('Any', True)
reduce_euclidean_norm = _reduction('EuclideanNorm')


@export('reduce_logsumexp', 'math.reduce_logsumexp')
def reduce_logsumexp(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None,
                     keep_dims=None):
  """log(sum(exp(x))), without overflow."""
  from leat._ops import array
  keepdims, axis = _keep(keepdims, keep_dims), _axis(axis, reduction_indices)
  with name_scope(name, 'ReduceLogSumExp', [input_tensor]) as scope:
    x = convert(input_tensor)
    highest = reduce_max(x, axis, keepdims=True)
    highest = apply_op('StopGradient', input=apply_op(
        'Select', condition=apply_op('IsFinite', x=highest), t=highest,
        e=apply_op('ZerosLike', x=highest)))
    result = apply_op('Log', x=reduce_sum(exp(x - highest), axis, keepdims=keepdims))
    if not keepdims:
      highest = array.reshape(highest, array.shape(result))
    return add(result, highest, name=scope)


@export('math.reduce_variance')
def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
  """The mean of the squared distances from the mean."""
  with name_scope(name or 'reduce_variance'):
    x = convert(input_tensor)
    return reduce_mean(square(x - reduce_mean(x, axis, keepdims=True)), axis, keepdims=keepdims)


@export('math.reduce_std')
def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
  """The root of the variance."""
  with name_scope(name or 'reduce_std'):
    return sqrt(reduce_variance(input_tensor, axis, keepdims))


@export('count_nonzero', 'math.count_nonzero')
def count_nonzero(input_tensor=None, axis=None, keepdims=None, dtype=dtypes.int64, name=None,
                  reduction_indices=None, keep_dims=None, input=None):
  """How many elements are not zero."""
  keepdims, axis = _keep(keepdims, keep_dims), _axis(axis, reduction_indices)
  x = input_tensor if input is None else input
  with name_scope(name, 'count_nonzero', [x]):
    x = convert(x, name='input')
    zero = '' if x.dtype == dtypes.string else x.dtype.as_numpy_dtype()
    found = apply_op('NotEqual', x=x, y=zero)
    return cast(reduce_sum(cast(found, dtypes.int64), axis, keepdims=keepdims), dtype)


@export('argmax', 'math.argmax')
def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
  """Where the largest element is."""
  axis = dimension if axis is None else axis
  return apply_op('ArgMax', name=name, input=input, dimension=0 if axis is None else axis,
                  output_type=output_type)


@export('argmin', 'math.argmin')
def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
  """Where the smallest element is."""
  axis = dimension if axis is None else axis
  return apply_op('ArgMin', name=name, input=input, dimension=0 if axis is None else axis,
                  output_type=output_type)


@export('cumsum', 'math.cumsum')
def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
  """Running sums."""
  with name_scope(name, 'Cumsum', [x]) as scope:
    return apply_op('Cumsum', name=scope, x=convert(x, name='x'), axis=axis, exclusive=exclusive,
                    reverse=reverse)


@export('cumprod', 'math.cumprod')
def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
  """Running products."""
  with name_scope(name, 'Cumprod', [x]) as scope:
    return apply_op('Cumprod', name=scope, x=convert(x, name='x'), axis=axis, exclusive=exclusive,
                    reverse=reverse)


@export('range')
def range(start, limit=None, delta=1, dtype=None, name='range'):
  """Numbers from start to before limit."""
  if limit is None:
    start, limit = 0, start
  with name_scope(name, 'Range', [start, limit, delta]) as scope:
    parts = [p if isinstance(p, _leat.Output) else conversion.convert(p, dtype, n)
             for p, n in ((start, 'start'), (limit, 'limit'), (delta, 'delta'))]
    if dtype is None:
      order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
      wide = max((p.dtype.base_dtype for p in parts),
                 key=lambda d: order.index(d) if d in order else -1)
    else:
      wide = dtypes.as_dtype(dtype)
    parts = [cast(p, wide) for p in parts]
    return apply_op('Range', name=scope, start=parts[0], limit=parts[1], delta=parts[2])


@export('linspace', 'lin_space')
def linspace(start, stop, num, name=None):
  """num numbers from start to stop."""
  return apply_op('LinSpace', name=name, start=start, stop=stop, num=num)


# ---- Sums of many, products of matrices ---------------------------------------------------------


@export('add_n', 'math.add_n')
def add_n(inputs, name=None):
  """The sum of all inputs."""
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
  """The product of matrices, or of each pair of them where there are more dimensions."""
  del output_type
  with name_scope(name, 'MatMul', [a, b]) as scope:
    if transpose_a and adjoint_a:
      raise ValueError('Only one of `transpose_a` and `adjoint_a` can be True.')
    if transpose_b and adjoint_b:
      raise ValueError('Only one of `transpose_b` and `adjoint_b` can be True.')
    a = convert(a, name='a')
    b = convert(b, a.dtype.base_dtype, 'b')
    ranks = [None if x.shape_ is None else len(x.shape_) for x in (a, b)]
    if (ranks[0] is None or ranks[0] > 2) and (ranks[1] is None or ranks[1] > 2) or \
        None not in ranks and max(ranks) > 2 and min(ranks) >= 2:
      if transpose_a:
        a, adjoint_a = conj(a), True
      if transpose_b:
        b, adjoint_b = conj(b), True
      return apply_op('BatchMatMulV2', name=scope, x=a, y=b, adj_x=adjoint_a, adj_y=adjoint_b)
    if adjoint_a:
      a, transpose_a = conj(a), True
    if adjoint_b:
      b, transpose_b = conj(b), True
    sparse_types = (dtypes.bfloat16, dtypes.float32)
    if (a_is_sparse or b_is_sparse) and a.dtype in sparse_types and b.dtype in sparse_types:
      result = apply_op('SparseMatMul', name=scope, a=a, b=b, transpose_a=transpose_a,
                        transpose_b=transpose_b, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse)
      return result
    return apply_op('MatMul', name=scope, a=a, b=b, transpose_a=transpose_a,
                    transpose_b=transpose_b)


@export('tensordot', 'linalg.tensordot')
def tensordot(a, b, axes, name=None):
  """The sum of products over the dimensions `axes` of both."""
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
  if isinstance(axes, int):
    if axes < 0:
      raise ValueError('`axes` must be at least 0. Received: %s.' % axes)
    rank = len(a.shape_)
    if axes > rank:
      raise ValueError('`axes` must not be larger than the number of dimensions of tensor %s. '
                       'Received: %s, vs tensor dimensions %s.' % (a, axes, rank))
    return list(builtins_range(rank - axes, rank)), list(builtins_range(axes))
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
  rank = len(x.shape_)
  axes = [i + rank if i < 0 else i for i in axes]
  free = [i for i in builtins_range(rank) if i not in axes]
  sizes = x.get_shape().as_list()
  order = axes + free if flipped else free + axes
  if None not in sizes:
    inner = outer = 1
    for i in axes:
      inner *= sizes[i]
    for i in free:
      outer *= sizes[i]
    shape = [inner, outer] if flipped else [outer, inner]
    if order != list(builtins_range(rank)):
      x = array.transpose(x, order)
    return array.reshape(x, shape), [sizes[i] for i in free]
  shape = array.shape(x)
  inner = reduce_prod(array.gather(shape, axes))
  outer = reduce_prod(array.gather(shape, free))
  x = array.transpose(x, order)
  flat = array.reshape(x, array.stack([inner, outer] if flipped else [outer, inner]))
  return flat, array.gather(shape, free)


@export('trace', 'linalg.trace')
def trace(x, name=None):
  """The sum of the main diagonal of each inner matrix."""
  from leat._ops import array
  with name_scope(name, 'Trace', [x]) as scope:
    return reduce_sum(array.matrix_diag_part(convert(x, name='x')), [-1], name=scope)


@export('clip_by_value')
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
  """What is outside of the two values becomes the nearer of them."""
  with name_scope(name, 'clip_by_value', [t, clip_value_min, clip_value_max]) as scope:
    if type(t).__name__ == 'IndexedSlices':
      return type(t)(clip_by_value(t.values, clip_value_min, clip_value_max), t.indices,
                     t.dense_shape)
    t = convert(t, name='t')
    low = apply_op('Minimum', x=t, y=clip_value_max)
    t.get_shape().assert_is_compatible_with(low.get_shape())
    result = apply_op('Maximum', name=scope, x=low, y=clip_value_min)
    t.get_shape().assert_is_compatible_with(result.get_shape())
    return result


@export('clip_by_norm')
def clip_by_norm(t, clip_norm, axes=None, name=None):
  """Scaled so that the norm is at most clip_norm."""
  with name_scope(name, 'clip_by_norm', [t, clip_norm]) as scope:
    slices = type(t).__name__ == 'IndexedSlices'
    values = convert(t.values if slices else t, name='t')
    squares = reduce_sum(values * values, axes, keepdims=True)
    positive = squares > 0
    safe = apply_op('Select', condition=positive, t=squares, e=apply_op('OnesLike', x=squares))
    norm = apply_op('Select', condition=positive, t=sqrt(safe), e=squares)
    scaled = values * clip_norm
    values.get_shape().assert_is_compatible_with(scaled.get_shape())
    clipped = apply_op('Identity', name=scope,
                       input=scaled / apply_op('Maximum', x=norm, y=clip_norm))
    return type(t)(clipped, t.indices, t.dense_shape) if slices else clipped


@export('global_norm', 'linalg.global_norm')
def global_norm(t_list, name=None):
  """The root of the sum of all squares."""
  if not isinstance(t_list, (list, tuple)):
    raise TypeError('`t_list` should be a sequence of tensors. Received %s.' % type(t_list))
  with name_scope(name, 'global_norm', [t for t in t_list if isinstance(t, _leat.Output)]):
    halves = []
    for t in t_list:
      if t is not None:
        values = convert(t.values if type(t).__name__ == 'IndexedSlices' else t)
        with _beside(values):
          halves.append(apply_op('L2Loss', t=values))
    from leat._ops import array
    total = reduce_sum(array.stack(halves))
    return sqrt(total * convert(2.0, total.dtype), name='global_norm')


def _beside(tensor):
  from leat._graph.scope import colocate_with
  return colocate_with(tensor)


@export('clip_by_global_norm')
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
  """(all scaled so that their common norm is at most clip_norm, the norm)."""
  if not isinstance(t_list, (list, tuple)):
    raise TypeError('`t_list` should be a sequence of tensors. Received %s.' % type(t_list))
  norm = global_norm(t_list, name) if use_norm is None else use_norm
  with name_scope(name, 'clip_by_global_norm',
                  [t for t in t_list if isinstance(t, _leat.Output)] + [clip_norm]):
    one = convert(1.0, norm.dtype)
    scale = clip_norm * apply_op('Minimum', x=1.0 / norm, y=one / clip_norm)
    scale = scale + (norm - norm)  # a norm that is no number shows in what is clipped
    result = []
    for i, t in enumerate(t_list):
      if t is None:
        result.append(None)
        continue
      slices = type(t).__name__ == 'IndexedSlices'
      values = convert(t.values if slices else t)
      with _beside(values):
        clipped = apply_op('Identity', name='clip_by_global_norm_%d' % i,
                           input=values * cast(scale, values.dtype.base_dtype))
      result.append(type(t)(clipped, t.indices, t.dense_shape) if slices else clipped)
  return result, norm


@export('bincount', 'math.bincount')
def bincount(arr, weights=None, minlength=None, maxlength=None, dtype=dtypes.int32):
  """How often each number occurs."""
  from leat._ops import array
  arr = convert(arr, dtypes.int32, 'arr')
  size = cast(reduce_prod(array.shape(arr)) > 0, dtypes.int32) * (reduce_max(arr) + 1)
  if minlength is not None:
    size = apply_op('Maximum', x=convert(minlength, dtypes.int32), y=size)
  if maxlength is not None:
    size = apply_op('Minimum', x=convert(maxlength, dtypes.int32), y=size)
  weights = convert(weights) if weights is not None else conversion.constant_of([], dtype)
  return apply_op('Bincount', arr=arr, size=size, weights=weights)


@export('sparse_matmul')
def sparse_matmul(a, b, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False,
                  name=None):
  return apply_op('SparseMatMul', name=name, a=a, b=b, transpose_a=transpose_a,
                  transpose_b=transpose_b, a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse)


@export('floor_mod')
def floor_mod(x, y, name=None):
  return apply_op('FloorMod', name=name, x=x, y=y)


@export('nn.softplus', 'math.softplus')
def softplus(features, name=None):
  """log(exp(x) + 1)."""
  return apply_op('Softplus', name=name, features=features)
