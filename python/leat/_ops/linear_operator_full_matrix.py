"""LinearOperatorFullMatrix: a tensor as an operator."""
from __future__ import annotations

from leat._export import export
from leat._graph.conversion import convert
from leat._ops import array
from leat._ops.linear_operator import LinearOperator, check_dtype, check_rank


@export('linalg.LinearOperatorFullMatrix')
class LinearOperatorFullMatrix(LinearOperator):
  """The matrices of a tensor [B1, ..., Bb, R, C]."""

  def __init__(self, matrix, is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
               is_square=None, name='LinearOperatorFullMatrix'):
    with self._constructing(name, [matrix]):
      self._matrix = convert(matrix, name='matrix')
    check_rank(self._matrix, 2, 'matrix')
    check_dtype(self._matrix.dtype, 'matrix')
    super().__init__(self._matrix.dtype, [self._matrix], is_non_singular, is_self_adjoint,
                     is_positive_definite, is_square, name)

  def _shape(self):
    return self._matrix.shape

  def _shape_tensor(self):
    return array.shape(self._matrix)

  def _to_dense(self):
    return self._matrix
