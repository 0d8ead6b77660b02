"""The operators of tensors: x + y, x[i:j], -x, ... Each names its operation after the operator, and
what is not a tensor takes the type of what is one."""
from __future__ import annotations

from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.scope import name_scope
from leat._graph.tensor import LOADING, Tensor


def _binary(name, function):
  """(x op y, y op x)"""
  def left(x, y):
    if type(y) is Tensor and type(x) is Tensor and x.dtype_ == y.dtype_:
      return function(x, y, x.graph._new_scope(name))  # nothing is converted
    if getattr(y, '_is_ragged', False):
      return NotImplemented  # the operator of the ragged tensor is called
    with name_scope(None, name, [x, y]) as scope:
      if not getattr(y, '_is_composite', False):
        try:
          y = conversion.convert(y, None, 'y', preferred=x.dtype.base_dtype)
        except TypeError:
          if hasattr(type(y), '__r%s__' % name):
            return NotImplemented  # Python asks the other operand
          raise
      return function(x, y, scope)

  def right(y, x):
    with name_scope(None, name, [x, y]) as scope:
      x = conversion.convert(x, y.dtype.base_dtype, 'x')
      return function(x, y, scope)
  return left, right


def _op(op):
  return lambda x, y, name: apply_op(op, name=name, x=x, y=y)


def _add(x, y, name):
  if x.dtype == dtypes.string:
    return apply_op('Add', name=name, x=x, y=y)
  return apply_op('AddV2', name=name, x=x, y=y)


def _multiply(x, y, name):
  if getattr(y, '_is_composite', False):
    from leat._ops import sparse
    return sparse.dense_times_sparse(x, y, name)
  return apply_op('Mul', name=name, x=x, y=y)


_TRUE_DIVISION = {dtypes.uint8: dtypes.float32, dtypes.int8: dtypes.float32,
                  dtypes.uint16: dtypes.float32, dtypes.int16: dtypes.float32,
                  dtypes.int32: dtypes.float64, dtypes.int64: dtypes.float64,
                  dtypes.uint32: dtypes.float64, dtypes.uint64: dtypes.float64}


def true_divide(x, y, name):
  """Integers are divided as floats."""
  if x.dtype.base_dtype != y.dtype.base_dtype:
    raise TypeError('`x` and `y` must have the same dtype, got %r != %r.' % (
        x.dtype.base_dtype, y.dtype.base_dtype))
  wide = _TRUE_DIVISION.get(x.dtype.base_dtype)
  if wide is not None:
    with name_scope(name):
      x = apply_op('Cast', name='Cast', x=x, DstT=wide)
      y = apply_op('Cast', name='Cast_1', x=y, DstT=wide)
  return apply_op('RealDiv', name=name, x=x, y=y)


def _divide(x, y, name):
  """Python 2's division: integers are divided down, others as they are."""
  if x.dtype.is_floating or x.dtype.is_complex:
    return apply_op('RealDiv', name=name, x=x, y=y)
  return apply_op('FloorDiv', name=name, x=x, y=y)


def _logical(logical, bitwise):
  def function(x, y, name):
    if x.dtype.base_dtype == dtypes.bool:
      return apply_op(logical, name=name, x=x, y=y)
    return _bitwise(bitwise, x, y, name)
  return function


def _bitwise(op, x, y, name):
  """The operation is in a scope with the name of the operator: and/BitwiseAnd."""
  with name_scope(name):
    return apply_op(op, x=x, y=y)


def _xor(x, y, name):
  if x.dtype.base_dtype == dtypes.bool:
    from leat._ops import math
    return math.logical_xor(x, y, name)
  return _bitwise('BitwiseXor', x, y, name)


def _invert(x):
  return apply_op('LogicalNot' if x.dtype == dtypes.bool else 'Invert', x=x)


def _matmul(x, y, name):
  from leat._ops import matrix
  return matrix.matmul(x, y, name=name)


def _abs(x):
  from leat._ops import math
  return math.abs(x)


def _index(x, key):
  from leat._ops import slicing
  return slicing.index(x, key)


TABLE = {'__neg__': lambda x: apply_op('Neg', x=x), '__abs__': _abs, '__invert__': _invert,
         '__getitem__': _index}
for _left, _right, _name, _function in (
    ('__add__', '__radd__', 'add', _add), ('__sub__', '__rsub__', 'sub', _op('Sub')),
    ('__mul__', '__rmul__', 'mul', _multiply), ('__div__', '__rdiv__', 'div', _divide),
    ('__truediv__', '__rtruediv__', 'truediv', true_divide),
    ('__floordiv__', '__rfloordiv__', 'floordiv', _op('FloorDiv')),
    ('__mod__', '__rmod__', 'mod', _op('FloorMod')), ('__pow__', '__rpow__', 'pow', _op('Pow')),
    ('__and__', '__rand__', 'and', _logical('LogicalAnd', 'BitwiseAnd')),
    ('__or__', '__ror__', 'or', _logical('LogicalOr', 'BitwiseOr')),
    ('__xor__', '__rxor__', 'xor', _xor), ('__matmul__', '__rmatmul__', 'matmul', _matmul)):
  TABLE[_left], TABLE[_right] = _binary(_name, _function)
for _operator, _op_name in (('__lt__', 'Less'), ('__le__', 'LessEqual'), ('__gt__', 'Greater'),
                            ('__ge__', 'GreaterEqual')):
  TABLE[_operator] = (lambda op: lambda x, y: NotImplemented if getattr(
      y, '_is_ragged', False) else apply_op(op, x=x, y=y))(_op_name)


def install():
  """Makes the functions methods of Tensor, unless a program has set its own."""
  for name, loading in LOADING.items():
    if getattr(Tensor, name) is loading:
      setattr(Tensor, name, TABLE[name])
