"""LinearOperatorInversion: the inverses of another operator's matrices."""
from __future__ import annotations

from leat._export import export
from leat._ops.linear_operator import LinearOperator


@export('linalg.LinearOperatorInversion')
class LinearOperatorInversion(LinearOperator):
  """A^-1 of the operator A: a product solves with A, a solution multiplies by it."""

  def __init__(self, operator, is_non_singular=None, is_self_adjoint=None,
               is_positive_definite=None, is_square=None, name=None):
    self._operator = operator
    if operator.is_square is False or is_square is False:
      raise ValueError('operator must be square, to have an inverse')
    if operator.is_non_singular is False or is_non_singular is False:
      raise ValueError('operator must be non-singular, to have an inverse')
    hints = [inner if given is None else given for given, inner in (
        (is_self_adjoint, operator.is_self_adjoint),
        (is_positive_definite, operator.is_positive_definite))]
    super().__init__(operator.dtype, operator.graph_parents, True, *hints, is_square=True,
                     name=name or operator.name + '_inv')

  operator = property(lambda self: self._operator)

  def _shape(self):
    return self._operator.shape

  def _shape_tensor(self):
    return self._operator.shape_tensor()

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    return self._operator.solve(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    return self._operator.matmul(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

  def _determinant(self):
    return 1 / self._operator.determinant()

  def _log_abs_determinant(self):
    return -self._operator.log_abs_determinant()

  def _cond(self):
    return self._operator.cond()

  def _inverse(self):
    return self._operator
