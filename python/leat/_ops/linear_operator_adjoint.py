"""LinearOperatorAdjoint: the conjugate transposes of another operator's matrices."""
from __future__ import annotations

from leat._export import export
from leat._ops import array, linalg, math
from leat._ops.linear_operator import LinearOperator


@export('linalg.LinearOperatorAdjoint')
class LinearOperatorAdjoint(LinearOperator):
  """A^H of the operator A. What is known of A holds for it too."""

  def __init__(self, operator, is_non_singular=None, is_self_adjoint=None,
               is_positive_definite=None, is_square=None, name=None):
    self._operator = operator
    hints = [
        inner if given is None else given for given, inner in (
            (is_non_singular, operator.is_non_singular),
            (is_self_adjoint, operator.is_self_adjoint),
            (is_positive_definite, operator.is_positive_definite),
            (is_square, operator.is_square))]
    super().__init__(operator.dtype, operator.graph_parents, *hints,
                     name=name or operator.name + '_adjoint')

  operator = property(lambda self: self._operator)

  def _shape(self):
    shape = self._operator.shape
    return shape[:-2].concatenate([shape[-1], shape[-2]])

  def _shape_tensor(self):
    sizes = self._operator.shape_tensor()
    return array.concat([sizes[:-2], [sizes[-1], sizes[-2]]], 0)

  def _to_dense(self):
    return linalg.adjoint(self._operator.to_dense())

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    return self._operator.matmul(x, adjoint=not adjoint, adjoint_arg=adjoint_arg)

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    return self._operator.solve(rhs, adjoint=not adjoint, adjoint_arg=adjoint_arg)

  def _determinant(self):
    return math.conj(self._operator.determinant())

  def _log_abs_determinant(self):
    return self._operator.log_abs_determinant()

  def _diag_part(self):
    return math.conj(self._operator.diag_part())

  def _cond(self):
    return self._operator.cond()

  def _adjoint(self):
    return self._operator
