"""Arithmetic, reductions, products of matrices. What is nothing but a wrapper of an op stands in
endpoints.txt; here is what TensorFlow's API adds to the ops."""
from __future__ import annotations

from builtins import range as builtins_range

from leat import _leat
from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.arguments import either
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._op_summaries import summary_of
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
  function.__doc__ = summary_of(op)
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
    'math.reduce_mean': 'reduce_mean', 'reduce_mean': 'reduce_mean',
    'math.reduce_prod': 'reduce_prod',
    'reduce_prod': 'reduce_prod', 'math.reduce_max': 'reduce_max', 'reduce_max': 'reduce_max',
    'math.reduce_min': 'reduce_min', 'reduce_min': 'reduce_min', 'math.reduce_all': 'reduce_all',
    'reduce_all': 'reduce_all', 'math.reduce_any': 'reduce_any', 'reduce_any': 'reduce_any',
    'math.reduce_euclidean_norm': 'reduce_euclidean_norm'}


@export('add', 'math.add')
def add(x, y, name=None):
  """x + y, element by element; texts are joined. Shapes are broadcast: sizes of 1, or missing ones
  at the front, are repeated. Both must have one type."""
  with name_scope(name, 'Add', [x]) as scope:
    x = convert(x, name='x')
    y = convert(y, x.dtype.base_dtype, 'y')
    return apply_op('Add' if x.dtype == dtypes.string else 'AddV2', name=scope, x=x, y=y)


@export('subtract', 'math.subtract')
def subtract(x, y, name=None):
  """x - y, element by element. Shapes are broadcast. Both must have one type."""
  return apply_op('Sub', name=name, x=x, y=y)


@export('multiply', 'math.multiply')
def multiply(x, y, name=None):
  """x * y, element by element (tf.matmul is the product of matrices). Shapes are broadcast. Both
  must have one type."""
  return apply_op('Mul', name=name, x=x, y=y)


def _pair(x, y):
  x = convert(x, name='x')
  return x, convert(y, x.dtype.base_dtype, 'y')


@export('divide', 'math.divide')
def divide(x, y, name=None):
  """x / y as Python 3 divides, element by element. Shapes are broadcast."""
  if name is None and (hasattr(x, '__truediv__') and not isinstance(x, (int, float)) or
                       isinstance(y, _leat.Output)):
    return x / y
  with name_scope(name, 'truediv', [x, y]) as scope:
    return operators.true_divide(*_pair(x, y), scope)


@export('truediv', 'math.truediv')
def truediv(x, y, name=None):
  """x / y as Python 3 divides, element by element; integers are divided as floats. ValueError where
  the types differ."""
  with name_scope(name, 'truediv', [x, y]) as scope:
    return operators.true_divide(*_pair(x, y), scope)


@export('div')
def div(x, y, name=None):
  """x / y as Python 2 divides, element by element: integers are rounded down."""
  with name_scope(name, 'div', [x, y]) as scope:
    return operators._divide(*_pair(x, y), scope)


@export('floordiv', 'math.floordiv')
def floordiv(x, y, name=None):
  """x / y rounded down, element by element, as Python's // does. Shapes are broadcast."""
  with name_scope(name, 'floordiv', [x, y]) as scope:
    return apply_op('FloorDiv', name=scope, x=x, y=y)


@export('div_no_nan', 'math.divide_no_nan')
def div_no_nan(x, y, name=None):
  """x / y, 0 where y is 0."""
  with name_scope(name, 'div_no_nan', [x, y]) as scope:
    return apply_op('DivNoNan', name=scope, x=x, y=y)


@export('math.erfcinv')
def erfcinv(x, name=None):
  """The inverse of erfc."""
  with name_scope(name, 'erfcinv', [x]):
    x = convert(x, name='start')
    return -ndtri(0.5 * x) * 0.5 ** 0.5


@export('math.xdivy')
def xdivy(x, y, name=None):
  """x / y, 0 where x is 0."""
  with name_scope(name, 'xdivy', [x]):
    return apply_op('Xdivy', x=x, y=y)


@export('math.xlog1py')
def xlog1py(x, y, name=None):
  """x * log(1 + y), 0 where x is 0."""
  with name_scope(name, 'xlog1py', [x]):
    return apply_op('Xlog1py', x=x, y=y)


@export('math.reciprocal_no_nan')
def reciprocal_no_nan(x, name=None):
  """1 / x, 0 where x is 0."""
  with name_scope(name, 'reciprocal_no_nan', [x]) as scope:
    x = convert(x, name='x')
    return apply_op('DivNoNan', name=scope, x=conversion.constant_of(1, x.dtype, 'one'), y=x)


@export('math.multiply_no_nan')
def multiply_no_nan(x, y, name=None):
  """x * y, 0 where y is 0."""
  with name_scope(name, 'multiply_no_nan', [x, y]) as scope:
    x, y = _pair(x, y)
    return apply_op('MulNoNan', name=scope, x=x, y=y)


@export('pow', 'math.pow')
def pow(x, y, name=None):
  """x to the power y, element by element. Shapes are broadcast."""
  with name_scope(name, 'Pow', [x]) as scope:
    return apply_op('Pow', name=scope, x=x, y=y)


@export('abs', 'math.abs')
def abs(x, name=None):
  """The absolute value, element by element; of complex numbers it is real."""
  if _is_sparse(x):
    return type(x)(x.indices, abs(x.values, name), x.dense_shape)
  with name_scope(name, 'Abs', [x]) as scope:
    x = convert(x, name='x')
    if x.dtype.is_complex:
      return apply_op('ComplexAbs', name=scope, x=x, Tout=x.dtype.real_dtype)
    return apply_op('Abs', name=scope, x=x)


@export('sign', 'math.sign')
def sign(x, name=None):
  """-1, 0 or 1 by the sign, element by element; x / |x| for complex numbers."""
  if _is_sparse(x):
    return _sparse_map(x, 'Sign', name)
  return apply_op('Sign', name=name, x=x)


@export('round', 'math.round')
def round(x, name=None):
  """The nearest integer, element by element, the even one of two; the type stays."""
  x = convert(x, name='x')
  return x if x.dtype.is_integer else apply_op('Round', name=name, x=x)


@export('sigmoid', 'nn.sigmoid', 'math.sigmoid')
def sigmoid(x, name=None):
  """1 / (1 + exp(-x)), element by element: between 0 and 1."""
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
  """Whether x == y, element by element, as bools. Shapes are broadcast. Both must have one type."""
  return apply_op('Equal', name=name, x=x, y=y)


@export('not_equal', 'math.not_equal')
def not_equal(x, y, name=None):
  """Whether x != y, element by element. Shapes are broadcast. Both must have one type."""
  return apply_op('NotEqual', name=name, x=x, y=y)


# ---- Types --------------------------------------------------------------------------------------


@export('cast', 'dtypes.cast')
def cast(x, dtype, name=None):
  """x as another type. Numbers with a fraction are cut towards 0 for integers, bools are 0 and 1,
  of complex numbers the real part stays. SparseTensors and IndexedSlices stay what they are."""
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


def _cast_to(dtype, name_default):
  def function(x, name=name_default):
    return cast(x, dtype, name)
  function.__doc__ = 'x as %s. `tf.cast(x, tf.%s)` says the same.' % (dtype.name, dtype.name)
  return function


to_float, to_double = _cast_to(dtypes.float32, 'ToFloat'), _cast_to(dtypes.float64, 'ToDouble')
to_int32, to_int64 = _cast_to(dtypes.int32, 'ToInt32'), _cast_to(dtypes.int64, 'ToInt64')
to_bfloat16 = _cast_to(dtypes.bfloat16, 'ToBFloat16')
to_complex64 = _cast_to(dtypes.complex64, 'ToComplex64')
to_complex128 = _cast_to(dtypes.complex128, 'ToComplex128')


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


def _part(op, what):
  def function(input, name=None):
    with name_scope(name, op, [input]) as scope:
      input = convert(input, name='input')
      if not input.dtype.is_complex:
        if op == 'Real':
          return input
        zeros = apply_op('ZerosLike', x=input)
        return zeros if op == 'Imag' else apply_op(
            'Select', condition=input < 0, t=apply_op('OnesLike', x=input) * 3.141592653589793,
            e=zeros)
      return apply_op(op, name=scope, input=input, Tout=input.dtype.real_dtype)
  function.__doc__ = 'The %s of complex numbers; of real numbers it is %s.' % what
  return function


real = _part('Real', ('real part', 'the numbers themselves'))
imag = _part('Imag', ('imaginary part', '0'))
angle = _part('Angle', ('angle in radians', '0, or pi below 0'))


@export('conj', 'math.conj')
def conj(x, name=None):
  """The complex conjugate, element by element; real numbers are given back."""
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


def _reduction(op, what, boolean=False):
  def function(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None,
               keep_dims=None):
    keepdims = _keep(keepdims, keep_dims)
    axis = _axis(axis, reduction_indices)
    boolean_only = boolean and not isinstance(input_tensor, _leat.Output)
    x = convert(input_tensor, dtypes.bool if boolean_only else None, name=None)
    result = apply_op(op, name=name, input=x, reduction_indices=_reduction_dims(x, axis),
                      keep_dims=keepdims)
    if axis is None and not keepdims:
      result.set_shape(())
    return result
  function.__doc__ = '''%s of the elements along the dimensions `axis`, an integer or a list.

  Without `axis` it is that of all elements, a scalar. Dimensions that were reduced are left out of
  the result; with keepdims they stay, of size 1. Negative numbers count from the last dimension.
  reduction_indices and keep_dims are older names of axis and keepdims.
  ''' % what
  return function


reduce_sum, reduce_mean = _reduction('Sum', 'The sum'), _reduction('Mean', 'The mean')
reduce_prod = _reduction('Prod', 'The product')
reduce_max, reduce_min = _reduction('Max', 'The largest'), _reduction('Min', 'The smallest')
reduce_all = _reduction('All', 'Whether all are true,', True)
reduce_any = _reduction('Any', 'Whether one is true,', True)
reduce_euclidean_norm = _reduction('EuclideanNorm', 'The square root of the sum of the squares')


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
  """The index of the largest element along `axis` (0 where it is None), the first of equal ones.
  The dimension is left out of the result. `dimension` is an older name of axis."""
  axis = either('axis', axis, 'dimension', dimension)
  return apply_op('ArgMax', name=name, input=input, dimension=0 if axis is None else axis,
                  output_type=output_type)


@export('argmin', 'math.argmin')
def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
  """The index of the smallest element along `axis` (0 where it is None), the first of equal ones.
  The dimension is left out of the result. `dimension` is an older name of axis."""
  axis = either('axis', axis, 'dimension', dimension)
  return apply_op('ArgMin', name=name, input=input, dimension=0 if axis is None else axis,
                  output_type=output_type)


@export('cumsum', 'math.cumsum')
def cumsum(x, axis=0, exclusive=False, reverse=False, name=None):
  """Running sums along `axis`: with `exclusive` without the element itself, with `reverse` from the
  end."""
  with name_scope(name, 'Cumsum', [x]) as scope:
    return apply_op('Cumsum', name=scope, x=convert(x, name='x'), axis=axis, exclusive=exclusive,
                    reverse=reverse)


@export('cumprod', 'math.cumprod')
def cumprod(x, axis=0, exclusive=False, reverse=False, name=None):
  """Running products."""
  with name_scope(name, 'Cumprod', [x]) as scope:
    return apply_op('Cumprod', name=scope, x=convert(x, name='x'), axis=axis, exclusive=exclusive,
                    reverse=reverse)


@export('math.cumulative_logsumexp')
def cumulative_logsumexp(x, axis=0, exclusive=False, reverse=False, name=None):
  """Running logarithms of sums of exponentials, without overflow."""
  with name_scope(name, 'CumulativeLogsumexp', [x]) as scope:
    return apply_op('CumulativeLogsumexp', name=scope, x=convert(x, name='x'), axis=axis,
                    exclusive=exclusive, reverse=reverse)


def _type_of_number(value):
  """The type of the tensor that a tensor or number is."""
  if hasattr(value, 'dtype'):
    return dtypes.as_dtype(value.dtype).base_dtype
  if isinstance(value, float):
    return dtypes.float32
  if isinstance(value, int):
    return dtypes.int32 if -2 ** 31 <= value < 2 ** 31 else dtypes.int64
  return convert(value).dtype.base_dtype


@export('range')
def range(start, limit=None, delta=1, dtype=None, name='range'):
  """The numbers from `start` to before `limit` by steps of `delta`, a vector. With one argument
  they begin at 0: tf.range(3) is [0, 1, 2]."""
  if limit is None:
    start, limit = 0, start
  with name_scope(name, 'Range', [start, limit, delta]) as scope:
    parts = ((start, 'start'), (limit, 'limit'), (delta, 'delta'))
    if dtype is None:
      order = [dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64]
      wide = max((_type_of_number(p) for p, _ in parts),
                 key=lambda d: order.index(d) if d in order else -1)
    else:
      wide = dtypes.as_dtype(dtype)
    # Numbers become constants of the type, so that the shape is known while building.
    parts = [cast(convert(p, name=n), wide) if conversion.is_tensor_like(p) else
             convert(p, wide, n) for p, n in parts]
    return apply_op('Range', name=scope, start=parts[0], limit=parts[1], delta=parts[2])


@export('linspace', 'lin_space')
def linspace(start, stop, num, name=None):
  """`num` numbers from start to stop, both included, with equal steps between them."""
  return apply_op('LinSpace', name=name, start=start, stop=stop, num=num)


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


@export('floor_mod')
def floor_mod(x, y, name=None):
  """The remainder of x / y, element by element, with the sign of y, as Python's % gives it.
  Integers fail with InvalidArgumentError where y is 0."""
  return apply_op('FloorMod', name=name, x=x, y=y)


@export('nn.softplus', 'math.softplus')
def softplus(features, name=None):
  """log(exp(x) + 1), element by element: relu without its corner."""
  return apply_op('Softplus', name=name, features=features)
