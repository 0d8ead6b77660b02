"""LinearOperatorDiag: diagonal matrices."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops import array, checks, linalg, math
from leat._ops.diagonal import matrix_diag, matrix_diag_part, matrix_set_diag
from leat._ops.linear_operator import LinearOperator, check_dtype, check_rank


@export('linalg.LinearOperatorDiag')
class LinearOperatorDiag(LinearOperator):
  """The diagonal matrices [B1, ..., Bb, N, N] of a tensor `diag` [B1, ..., Bb, N]."""

  def __init__(self, diag, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
               is_square=None, name='LinearOperatorDiag'):
    with self._constructing(name, [diag]):
      self._diag = convert(diag, name='diag')
    check_rank(self._diag, 1, 'diag')
    check_dtype(self._diag.dtype, 'diag')
    if not self._diag.dtype.is_complex:
      if is_self_adjoint is False:
        raise ValueError('A real diagonal operator is always self adjoint.')
      is_self_adjoint = True
    if is_square is False:
      raise ValueError('Only square diagonal operators currently supported.')
    super().__init__(self._diag.dtype, [self._diag], is_non_singular, is_self_adjoint,
                     is_positive_definite, True, name)

  diag = property(lambda self: self._diag)

  def _shape(self):
    return self._diag.shape.concatenate(self._diag.shape[-1:])

  def _shape_tensor(self):
    sizes = array.shape(self._diag)
    return array.concat([sizes, sizes[-1:]], 0)

  def _assert_non_singular(self):
    return checks.assert_positive(
        math.reduce_min(math.abs(self._diag), -1),
        message='Singular operator: Diagonal contained zero values.')

  def _assert_positive_definite(self):
    return checks.assert_positive(
        math.real(self._diag) if self.dtype.is_complex else self._diag,
        message='Diagonal operator had diagonal entries with non-positive real part, thus was not '
        'positive definite.')

  def _assert_self_adjoint(self):
    imaginary = math.imag(self._diag) if self.dtype.is_complex else array.zeros_like(self._diag)
    return checks.assert_equal(
        imaginary, array.zeros_like(imaginary),
        message='This diagonal operator contained non-zero imaginary values. Thus it was not '
        'self-adjoint.')

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    diag = math.conj(self._diag) if adjoint else self._diag
    return array.expand_dims(diag, -1) * (linalg.adjoint(x) if adjoint_arg else x)

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    diag = math.conj(self._diag) if adjoint else self._diag
    return (linalg.adjoint(rhs) if adjoint_arg else rhs) / array.expand_dims(diag, -1)

  def _determinant(self):
    return math.reduce_prod(self._diag, -1)

  def _log_abs_determinant(self):
    found = math.reduce_sum(apply_op('Log', x=math.abs(self._diag)), -1)
    return math.cast(found, self.dtype) if self.dtype.is_complex else found

  def _to_dense(self):
    return matrix_diag(self._diag)

  def _diag_part(self):
    return self._diag

  def _add_to_tensor(self, x):
    return matrix_set_diag(x, matrix_diag_part(x) + self._diag)

  def _eigvals(self):
    return self._diag

  def _cond(self):
    size = math.abs(self._diag)
    return math.reduce_max(size, -1) / math.reduce_min(size, -1)

  def _adjoint(self):
    return LinearOperatorDiag(math.conj(self._diag), self._is_non_singular, self._is_self_adjoint,
                              self._is_positive_definite)

  def _inverse(self):
    return LinearOperatorDiag(1 / self._diag, self._is_non_singular, self._is_self_adjoint,
                              self._is_positive_definite)

  def _cholesky(self):
    return LinearOperatorDiag(apply_op('Sqrt', x=self._diag), True, True, True)
