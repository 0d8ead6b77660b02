"""tf.assert_*: operations that fail a step, or errors while building, where a condition is false.

A condition on values that are known while the graph is built is decided there: it raises, or leaves
a NoOp. Else an Assert is added, which shows the values of the step that fails. Callers put the
operation into `tf.control_dependencies`; it is not run by itself.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import errors
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.value import constant_value
from leat._ops import array, control_flow, math


def _prefix(message):
  return message + '.  ' if message else ''


def _text(part):
  value = constant_value(part) if isinstance(part, _leat.Output) else None
  return str(part if value is None else value)


def _compare(op, function_of_numpy, x, y, data, summarize):
  """The check that `op` holds for all pairs of elements: a NoOp where it is known to hold."""
  held = apply_op(op, x=x, y=y)  # comes first, since it refuses shapes that do not fit
  known_x, known_y = constant_value(x), constant_value(y)
  if known_x is None or known_y is None:
    return control_flow.Assert(math.reduce_all(held), data, summarize=summarize)
  import numpy
  if not numpy.all(getattr(numpy, function_of_numpy)(known_x, known_y)):
    raise errors.InvalidArgumentError(None, None, '\n'.join(_text(part) for part in data))
  return apply_op('NoOp', name='static_checks_determined_all_ok')


def _binary(op, symbol, function_of_numpy, default_name):
  def function(x, y, data=None, summarize=None, message=None, name=None):
    with name_scope(name, default_name, [x, y]):
      x, y = convert(x, name='x'), convert(y, name='y')
      if data is None:
        data = ['Condition x %s y did not hold element-wise:' % symbol,
                'x (%s) = ' % x.name, x, 'y (%s) = ' % y.name, y]
      if message:
        data = [message] + list(data)
      return _compare(op, function_of_numpy, x, y, data, summarize)
  function.__name__ = function.__qualname__ = default_name
  function.__doc__ = """An operation that fails where x %s y is false for a pair of elements.

  Raises:
    InvalidArgumentError: while building, if both values are known and one pair is wrong.
  """ % symbol
  return function


assert_equal = _binary('Equal', '==', 'equal', 'assert_equal')
assert_none_equal = _binary('NotEqual', '!=', 'not_equal', 'assert_none_equal')
assert_less = _binary('Less', '<', 'less', 'assert_less')
assert_less_equal = _binary('LessEqual', '<=', 'less_equal', 'assert_less_equal')
assert_greater = _binary('Greater', '>', 'greater', 'assert_greater')
assert_greater_equal = _binary('GreaterEqual', '>=', 'greater_equal', 'assert_greater_equal')


def _sign(op, symbol, function_of_numpy, default_name):
  def function(x, data=None, summarize=None, message=None, name=None):
    with name_scope(name, default_name, [x]):
      x = convert(x, name='x')
      if data is None:
        data = [_prefix(message), 'Condition x %s 0 did not hold element-wise:' % symbol,
                'x (%s) = ' % x.name, x]
      zero = convert(0, x.dtype.base_dtype, 'zero')
      return _compare(op, function_of_numpy, x, zero, data, summarize)
  function.__name__ = function.__qualname__ = default_name
  function.__doc__ = 'An operation that fails where x %s 0 is false for an element.' % symbol
  return function


assert_negative = _sign('Less', '<', 'less', 'assert_negative')
assert_positive = _sign('Greater', '>', 'greater', 'assert_positive')
assert_non_negative = _sign('GreaterEqual', '>=', 'greater_equal', 'assert_non_negative')
assert_non_positive = _sign('LessEqual', '<=', 'less_equal', 'assert_non_positive')


@export('assert_near', 'debugging.assert_near')
def assert_near(x, y, rtol=None, atol=None, data=None, summarize=None, message=None, name=None):
  """An operation that fails where |x - y| >= atol + rtol * |y| for a pair of elements. Both
  tolerances are ten times the type's epsilon where they are left out."""
  with name_scope(name, 'assert_near', [x, y, rtol, atol]):
    x = convert(x, name='x')
    y = convert(y, x.dtype.base_dtype, name='y')
    rtol, atol = [convert(_tolerance(x.dtype) if t is None else t, x.dtype.real_dtype, n)
                  for t, n in ((rtol, 'rtol'), (atol, 'atol'))]
    if data is None:
      data = [_prefix(message),
              'x and y not equal to tolerance rtol = %s, atol = %s' % (rtol, atol),
              'x (%s) = ' % x.name, x, 'y (%s) = ' % y.name, y]
    near = math.abs(x - y) < atol + rtol * math.abs(y)
    return control_flow.Assert(math.reduce_all(near), data, summarize=summarize)


def _tolerance(dtype):
  import numpy
  real = dtype.base_dtype.real_dtype
  return 10 * (2.0 ** -7 if real == dtypes.bfloat16 else
               float(numpy.finfo(real.as_numpy_dtype).eps))


# ---- Ranks and shapes ---------------------------------------------------------------------------


def _scalar_ranks(ranks):
  """The ranks as tensors of int32, their values where all are known, and checks of the others."""
  tensors, checks = [], []
  for rank in ranks:
    rank = convert(rank, name='rank')
    assert_type(rank, dtypes.int32)
    sizes = rank.get_shape()
    if sizes.ndims is None:
      checks.append(control_flow.Assert(
          math.equal(array.rank(rank), 0), ['Rank must be a scalar. Received rank: ', rank]))
    elif sizes.ndims != 0:
      raise ValueError('Rank must be a scalar. Received rank of shape %s.' % sizes)
    tensors.append(rank)
  values = [None if checks else constant_value(rank) for rank in tensors]
  return tensors, None if any(v is None for v in values) else [int(v) for v in values], checks


def _ranks(default_name, words, ranks, holds, x, data, summarize, message, name):
  """`holds(rank, ranks)` says whether a rank fits, for integers as for tensors."""
  with name_scope(name, default_name, [x] + list(ranks)):
    if not (hasattr(x, 'dense_shape') and hasattr(x, 'get_shape')):
      x = convert(x, name='x')
    ranks, wanted, checks = _scalar_ranks(ranks)
    found = x.get_shape().ndims
    if found is not None and wanted is not None:
      if not holds(found, wanted):
        raise ValueError('%sTensor %s must have rank %s%s.  Received rank %d, shape %s' % (
            _prefix(message), x.name, words,
            tuple(wanted) if words == 'in ' else wanted[0], found, x.get_shape()))
      return apply_op('NoOp', name='static_checks_determined_all_ok')
    if data is None:
      data = [_prefix(message), ('Tensor %s must have rank %s' % (x.name, words)).rstrip()]
      data += ranks + ['Received shape: ', array.shape(x)]
    with control_dependencies(checks):
      return control_flow.Assert(holds(array.rank(x), ranks), data, summarize=summarize)


def _one_of(rank, ranks):
  if isinstance(rank, int):
    return rank in ranks
  held = math.equal(rank, ranks[0])
  for other in ranks[1:]:
    held = apply_op('LogicalOr', x=held, y=math.equal(rank, other))
  return held


def _same(rank, ranks):
  return rank == ranks[0] if isinstance(rank, int) else math.equal(rank, ranks[0])


@export('assert_rank', 'debugging.assert_rank')
def assert_rank(x, rank, data=None, summarize=None, message=None, name=None):
  """An operation that fails if x has another rank. ValueError if that is known while building."""
  return _ranks('assert_rank', '', [rank], _same, x, data, summarize, message, name)


@export('assert_rank_at_least', 'debugging.assert_rank_at_least')
def assert_rank_at_least(x, rank, data=None, summarize=None, message=None, name=None):
  """An operation that fails if x has a lower rank. ValueError if that is known while building."""
  at_least = lambda found, wanted: found >= wanted[0]
  return _ranks('assert_rank_at_least', 'at least ', [rank], at_least, x, data, summarize, message,
                name)


@export('assert_rank_in', 'debugging.assert_rank_in')
def assert_rank_in(x, ranks, data=None, summarize=None, message=None, name=None):
  """An operation that fails if x has none of the ranks. ValueError if that is known before."""
  return _ranks('assert_rank_in', 'in ', list(ranks), _one_of, x, data, summarize, message, name)


@export('assert_scalar', 'debugging.assert_scalar')
def assert_scalar(tensor, name=None, message=None):
  """The tensor, which must be known to be a scalar: ValueError."""
  with name_scope(name, 'assert_scalar', [tensor]) as scope:
    tensor = convert(tensor, name=scope)
    if tensor.get_shape().ndims != 0:
      raise ValueError('%sExpected scalar shape for %s, saw shape: %s.' % (
          _prefix(message), tensor.name, tensor.get_shape()))
    return tensor


# ---- Types --------------------------------------------------------------------------------------


@export('assert_type', 'debugging.assert_type')
def assert_type(tensor, tf_type, message=None, name=None):
  """A NoOp; TypeError if the tensor has another type."""
  with name_scope(name, 'assert_type', [tensor]):
    if not hasattr(tensor, 'dense_shape'):
      tensor = convert(tensor, name='tensor')
    tf_type = dtypes.as_dtype(tf_type)
    if tensor.dtype.base_dtype != tf_type.base_dtype:
      raise TypeError('%s%s must be of type %r; got %r' % (
          _prefix(message), getattr(tensor, 'name', tensor), tf_type.base_dtype,
          tensor.dtype.base_dtype))
    return apply_op('NoOp', name='statically_determined_correct_type')


@export('assert_integer', 'debugging.assert_integer')
def assert_integer(x, message=None, name=None):
  """A NoOp; TypeError if x is of no integer type."""
  with name_scope(name, 'assert_integer', [x]):
    x = convert(x, name='x')
    if not x.dtype.is_integer:
      raise TypeError('%sExpected "x" to be integer type.  Found: %s of dtype %r' % (
          _prefix(message), x.name, x.dtype))
    return apply_op('NoOp', name='statically_determined_was_integer')


@export('assert_proper_iterable', 'debugging.assert_proper_iterable')
def assert_proper_iterable(values):
  """TypeError if values cannot be gone through item by item, or is a text, an array or a tensor,
  of which programs rarely mean the items."""
  from numpy import ndarray
  single = (_leat.Output, str, bytes, ndarray)
  if isinstance(values, single) or hasattr(values, 'dense_shape'):
    raise TypeError('Expected argument "values" to be a "proper" iterable.  Found: %s' %
                    type(values))
  if not hasattr(values, '__iter__'):
    raise TypeError('Expected argument "values" to be iterable.  Found: %s' % type(values))


@export('is_numeric_tensor', 'debugging.is_numeric_tensor')
def is_numeric_tensor(tensor):
  """Whether it is a tensor of numbers."""
  return isinstance(tensor, _leat.Output) and (
      tensor.dtype.is_floating or tensor.dtype.is_integer or tensor.dtype.is_complex or
      tensor.dtype.is_quantized)


@export('assert_same_float_dtype', 'debugging.assert_same_float_dtype')
def assert_same_float_dtype(tensors=None, dtype=None):
  """The type of floating point that all tensors have, and that `dtype` is; float32 of none."""
  expected = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
  first = None
  for tensor in tensors or ():
    found = tensor.dtype.base_dtype
    if expected is None:
      expected, first = found, tensor
    elif found != expected:
      raise ValueError('%s, type=%s, must be of the same type (%s)%s.' % (
          getattr(tensor, 'name', tensor), found, expected,
          '' if first is None else ' as %s' % getattr(first, 'name', first)))
  if expected is None:
    return dtypes.float32
  if not expected.is_floating:
    raise ValueError('Expected floating point type, got %s.' % expected)
  return expected


# ---- Order --------------------------------------------------------------------------------------


def _ordered(compare, words, default_name):
  def function(x, name=None):
    with name_scope(name, default_name, [x]):
      x = array.reshape(convert(x, name='x'), [-1])
      if not is_numeric_tensor(x):
        raise TypeError('Expected x to be numeric, instead found: %s' % x)
      # Of less than two elements both parts are empty, and all of nothing holds.
      return math.reduce_all(apply_op(compare, x=x[1:], y=x[:-1]))
  function.__name__ = function.__qualname__ = default_name
  function.__doc__ = 'Whether each element of x, as a list, is %s than the one before.' % words
  return function


is_non_decreasing = _ordered('GreaterEqual', 'not less', 'is_non_decreasing')
is_strictly_increasing = _ordered('Greater', 'greater', 'is_strictly_increasing')


# ---- Numbers ------------------------------------------------------------------------------------


@export('verify_tensor_all_finite', 'debugging.assert_all_finite')
def verify_tensor_all_finite(t=None, msg=None, name=None, x=None, message=None):
  """The tensor, which fails the step with the message if an element is infinite or no number."""
  tensor, text = t if x is None else x, msg if message is None else message
  with name_scope(name, 'VerifyFinite', [tensor]):
    tensor = convert(tensor, name='x')
    with tensor.graph.colocate_with(tensor):
      check = apply_op('CheckNumerics', tensor=tensor, message=text)
      with control_dependencies([check]):
        return array.identity(tensor)


@export('add_check_numerics_ops')
def add_check_numerics_ops():
  """An operation that fails if an element of any tensor of floating point in the graph is infinite
  or no number; the operations are checked in the order in which they were added. References to
  variables are left out, so that a check never runs what changes a variable; their values are
  checked where they are read.

  Raises:
    ValueError: if such an operation is part of a loop or conditional, which may not run.
  """
  from leat._ops import control
  made = []
  for op in graphs.get_default_graph().get_operations():
    for output in op.outputs:
      if output.dtype in (dtypes.float16, dtypes.float32, dtypes.float64):
        if _leat.flow_of(op) is not None:
          raise ValueError(
              '`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow '
              'operations such as `tf.cond()` or `tf.while_loop()`. %s is part of one.' % op.name)
        with control_dependencies(made[-1:]):
          made.append(apply_op('CheckNumerics', tensor=output, message='%s:%d' % (
              op.name, output.value_index)))
  return control.group(*made)


EXPORTS = {prefix + name: name for name in (
    'assert_equal', 'assert_none_equal', 'assert_less', 'assert_less_equal', 'assert_greater',
    'assert_greater_equal', 'assert_negative', 'assert_positive', 'assert_non_negative',
    'assert_non_positive', 'is_non_decreasing', 'is_strictly_increasing')
           for prefix in ('', 'debugging.', 'math.')}
