"""LinearOperatorLowerTriangular: matrices that are zero above the diagonal."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops import array, checks, linalg, math
from leat._ops.diagonal import matrix_diag_part
from leat._ops.linear_operator import LinearOperator, broadcast_batches, check_dtype, check_rank


@export('linalg.LinearOperatorLowerTriangular')
class LinearOperatorLowerTriangular(LinearOperator):
  """The lower triangles of a tensor [B1, ..., Bb, N, N]; what is above the diagonal is not looked
  at. Solutions take O(N^2), determinants O(N)."""

  def __init__(self, tril, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
               is_square=None, name='LinearOperatorLowerTriangular'):
    if is_square is False:
      raise ValueError('Only square lower triangular operators supported at this time.')
    with self._constructing(name, [tril]):
      given = convert(tril, name='tril')
      check_rank(given, 2, 'tril')
      check_dtype(given.dtype, 'tril')
      self._tril = apply_op('MatrixBandPart', input=given, num_lower=-1, num_upper=0)
      self._diagonal = matrix_diag_part(self._tril)
    super().__init__(given.dtype, [given], is_non_singular, is_self_adjoint,
                     is_positive_definite, True, name)

  def _shape(self):
    return self._tril.shape

  def _shape_tensor(self):
    return array.shape(self._tril)

  def _to_dense(self):
    return self._tril

  def _assert_non_singular(self):
    return checks.assert_positive(
        math.reduce_min(math.abs(self._diagonal), -1),
        message='Singular operator: Diagonal contained zero values.')

  def _diag_part(self):
    return self._diagonal

  def _determinant(self):
    return math.reduce_prod(self._diagonal, -1)

  def _log_abs_determinant(self):
    return math.reduce_sum(apply_op('Log', x=math.abs(self._diagonal)), -1)

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
    matrix, rhs = broadcast_batches([self._tril, rhs])
    return linalg.matrix_triangular_solve(matrix, rhs, lower=True, adjoint=adjoint)
