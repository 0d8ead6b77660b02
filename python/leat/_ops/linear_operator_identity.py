"""Operators without elements: the identity, its multiples, and zero.

Their batch shape is an argument and may be a tensor, so that a dimension may be unknown while the
graph is built.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._ops import array, checks, linalg, math
from leat._ops.diagonal import eye, matrix_diag, matrix_diag_part, matrix_set_diag
from leat._ops.linear_operator import LinearOperator, check_dtype


def _integers(value, name, rank):
  """An integer tensor of the rank, and its value where that is known."""
  tensor = convert(value, name=name)
  if not tensor.dtype.base_dtype.is_integer:
    raise TypeError('Argument %s must be integer type. Found: %s' % (name, value))
  if tensor.shape.ndims not in (None, rank):
    raise ValueError('Argument %s must be a %d-D Tensor. Found: %s' % (name, rank, value))
  known = constant_value(tensor)
  if known is not None and (known < 0).any():
    raise ValueError('Argument %s must be non-negative. Found: %s' % (name, value))
  return math.cast(tensor, dtypes.int32), None if known is None else known.tolist()


class _Sized(LinearOperator):
  """An operator whose rows and batch shape are numbers that the program gives."""

  def _set_sizes(self, num_rows, num_columns=None, batch_shape=None):
    self._rows, rows = _integers(num_rows, 'num_rows', 0)
    self._columns, columns = (self._rows, rows) if num_columns is None else _integers(
        num_columns, 'num_columns', 0)
    self._batch, batch = (None, []) if batch_shape is None else _integers(
        batch_shape, 'batch_shape', 1)
    if batch is None:
      rank = self._batch.shape[0].value
      batch = None if rank is None else [None] * rank
    self._static = TensorShape(None if batch is None else batch + [rows, columns])

  def _shape(self):
    return self._static

  def _shape_tensor(self):
    matrix = apply_op('Pack', values=[self._rows, self._columns])
    return matrix if self._batch is None else array.concat([self._batch, matrix], 0)

  def _over_batch(self, x):
    """x, repeated for the batch dimensions that it lacks."""
    if self._batch is None:
      return x
    batch = array.broadcast_dynamic_shape(self._batch, array.shape(x)[:-2])
    return apply_op('BroadcastTo', input=x, shape=array.concat([batch, array.shape(x)[-2:]], 0))

  def _diagonals(self):
    """What the shape of all diagonals is."""
    sizes = self._sizes()
    return array.concat([sizes[:-2], [apply_op('Minimum', x=sizes[-2], y=sizes[-1])]], 0)


@export('linalg.LinearOperatorIdentity')
class LinearOperatorIdentity(_Sized):
  """The identity matrices [batch_shape..., num_rows, num_rows], of float32 where no dtype is given.
  """

  def __init__(self, num_rows, batch_shape=None, dtype=None, is_non_singular=True,
               is_self_adjoint=True, is_positive_definite=True, is_square=True,
               assert_proper_shapes=False, name='LinearOperatorIdentity'):
    del assert_proper_shapes   # shapes are always checked: when they are known, or when ops run
    for hint, what in ((is_self_adjoint, 'self adjoint'), (is_non_singular, 'non-singular'),
                       (is_positive_definite, 'positive-definite')):
      if not hint:
        raise ValueError('An identity operator is always %s.' % what)
    dtype = dtypes.as_dtype(dtype or dtypes.float32)
    with self._constructing(name):
      self._set_sizes(num_rows, batch_shape=batch_shape)
    super().__init__(dtype, None, True, True, True, is_square, name)

  def _assert_non_singular(self):
    return apply_op('NoOp', name='assert_non_singular')

  _assert_positive_definite = _assert_self_adjoint = _assert_non_singular

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    return self._over_batch(linalg.adjoint(x) if adjoint_arg else x)

  _solve = _matmul

  def _determinant(self):
    return array.ones(self._sizes()[:-2], self.dtype)

  def _log_abs_determinant(self):
    return array.zeros(self._sizes()[:-2], self.dtype)

  def _diag_part(self):
    return array.ones(self._diagonals(), self.dtype)

  def _trace(self):
    rows = math.cast(self._dimension(-2), self.dtype)
    return rows * array.ones(self._sizes()[:-2], self.dtype)

  def _to_dense(self):
    return eye(self._dimension(-2), batch_shape=self._sizes()[:-2], dtype=self.dtype)

  def _add_to_tensor(self, x):
    x = self._over_batch(x)
    return matrix_set_diag(x, 1 + matrix_diag_part(x))

  def _eigvals(self):
    return self._diag_part()

  def _cond(self):
    return array.ones(self._sizes()[:-2], self.dtype)

  def _inverse(self):
    return self

  _cholesky = _inverse


@export('linalg.LinearOperatorScaledIdentity')
class LinearOperatorScaledIdentity(_Sized):
  """`multiplier` [B1, ..., Bb] times the identity matrix of num_rows rows."""

  def __init__(self, num_rows, multiplier, is_non_singular=None, is_self_adjoint=None,
               is_positive_definite=None, is_square=True, assert_proper_shapes=False,
               name='LinearOperatorScaledIdentity'):
    del assert_proper_shapes   # shapes are always checked: when they are known, or when ops run
    with self._constructing(name, [multiplier, num_rows]):
      self._multiplier = convert(multiplier, name='multiplier')
      check_dtype(self._multiplier.dtype, 'multiplier')
      self._set_sizes(num_rows)
    if not self._multiplier.dtype.is_complex:
      is_self_adjoint = True
    if not is_square:
      raise ValueError('A ScaledIdentity operator is always square.')
    super().__init__(self._multiplier.dtype, [self._multiplier], is_non_singular, is_self_adjoint,
                     is_positive_definite, True, name)

  multiplier = property(lambda self: self._multiplier)

  def _shape(self):
    return self._multiplier.shape.concatenate(self._static)

  def _shape_tensor(self):
    return array.concat([array.shape(self._multiplier), super()._shape_tensor()], 0)

  def _factor(self, dimensions, adjoint=False):
    """The multiplier with further dimensions of size 1."""
    factor = math.conj(self._multiplier) if adjoint else self._multiplier
    for _ in range(dimensions):
      factor = array.expand_dims(factor, -1)
    return factor

  def _assert_non_singular(self):
    return checks.assert_positive(math.abs(self._multiplier), message='LinearOperator was singular')

  def _assert_positive_definite(self):
    real = math.real(self._multiplier) if self.dtype.is_complex else self._multiplier
    return checks.assert_positive(real, message='LinearOperator was not positive definite.')

  def _assert_self_adjoint(self):
    imaginary = math.imag(self._multiplier) if self.dtype.is_complex else array.zeros_like(
        self._multiplier)
    return checks.assert_equal(imaginary, array.zeros_like(imaginary),
                               message='LinearOperator was not self-adjoint')

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    return (linalg.adjoint(x) if adjoint_arg else x) * self._factor(2, adjoint)

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    return (linalg.adjoint(rhs) if adjoint_arg else rhs) / self._factor(2, adjoint)

  def _determinant(self):
    return math.pow(self._multiplier, math.cast(self._dimension(-2), self.dtype))

  def _log_abs_determinant(self):
    real = self.dtype.real_dtype
    return math.cast(self._dimension(-2), real) * apply_op('Log', x=math.abs(self._multiplier))

  def _diag_part(self):
    return self._factor(1) * array.ones(self._diagonals(), self.dtype)

  def _trace(self):
    return self._multiplier * math.cast(self._dimension(-2), self.dtype)

  def _to_dense(self):
    return matrix_diag(self._diag_part())

  def _add_to_tensor(self, x):
    return matrix_set_diag(x, matrix_diag_part(x) + self._factor(1))

  def _eigvals(self):
    return self._diag_part()

  def _cond(self):
    return array.ones(self._sizes()[:-2], self.dtype)

  def _like(self, multiplier):
    return LinearOperatorScaledIdentity(self._rows, multiplier, self._is_non_singular,
                                        self._is_self_adjoint, self._is_positive_definite)

  def _adjoint(self):
    return self._like(math.conj(self._multiplier))

  def _inverse(self):
    return self._like(1 / self._multiplier)

  def _cholesky(self):
    return self._like(apply_op('Sqrt', x=self._multiplier))


@export('linalg.LinearOperatorZeros')
class LinearOperatorZeros(_Sized):
  """Zero matrices [batch_shape..., num_rows, num_columns], square where num_columns is None."""

  def __init__(self, num_rows, num_columns=None, batch_shape=None, dtype=None,
               is_non_singular=False, is_self_adjoint=True, is_positive_definite=False,
               is_square=True, assert_proper_shapes=False, name='LinearOperatorZeros'):
    del assert_proper_shapes   # shapes are always checked: when they are known, or when ops run
    if is_non_singular or is_positive_definite:
      raise ValueError('A zero operator is always singular and never positive-definite.')
    dtype = dtypes.as_dtype(dtype or dtypes.float32)
    with self._constructing(name):
      self._set_sizes(num_rows, num_columns, batch_shape)
    super().__init__(dtype, None, False, is_self_adjoint and is_square, False, is_square, name)

  def _assert_self_adjoint(self):
    return apply_op('NoOp', name='assert_self_adjoint')

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    x = self._over_batch(linalg.adjoint(x) if adjoint_arg else x)
    sizes = array.shape(x)
    return array.zeros(array.concat([sizes[:-2], [self._dimension(-1 if adjoint else -2),
                                                  sizes[-1]]], 0), self.dtype)

  def _determinant(self):
    return array.zeros(self._sizes()[:-2], self.dtype)

  _trace = _determinant

  def _diag_part(self):
    return array.zeros(self._diagonals(), self.dtype)

  def _eigvals(self):
    return self._diag_part()

  def _to_dense(self):
    return array.zeros(self._sizes(), self.dtype)

  def _add_to_tensor(self, x):
    return self._over_batch(x)
