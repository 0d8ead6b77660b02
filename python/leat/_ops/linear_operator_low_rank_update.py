"""LinearOperatorLowRankUpdate: an operator plus a matrix of low rank.

With L the operator [..., M, N], U [..., M, K], V [..., N, K] and D a diagonal of K elements this is
A = L + U D V^H. Solutions use the matrix inversion lemma and determinants the matrix determinant
lemma, by the "capacitance" C = D^-1 + V^H L^-1 U of size K.
"""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops import array, linalg, math
from leat._ops.diagonal import matrix_diag_part
from leat._ops.linear_operator import LinearOperator, broadcast_batches, check_dtype, solve_dense
from leat._ops.linear_operator_composition import joint_batch_shape
from leat._ops.linear_operator_diag import LinearOperatorDiag
from leat._ops.linear_operator_full_matrix import LinearOperatorFullMatrix
from leat._ops.linear_operator_identity import LinearOperatorIdentity
from leat._ops.matrix import matmul


@export('linalg.LinearOperatorLowRankUpdate')
class LinearOperatorLowRankUpdate(LinearOperator):
  """L + U D V^H. V is U where it is not given, D the identity."""

  def __init__(self, base_operator, u, diag_update=None, v=None, is_diag_update_positive=None,
               is_non_singular=None, is_self_adjoint=None, is_positive_definite=None,
               is_square=None, name='LinearOperatorLowRankUpdate'):
    self._base = base_operator
    check_dtype(base_operator.dtype, 'base_operator.dtype')
    with self._constructing(name, [u, diag_update, v]):
      self._u = self._part(u, 'u')
      self._v = self._u if v is None else self._part(v, 'v')
      self._diag_update = None if diag_update is None else self._part(diag_update, 'diag_update')
    self._is_diag_update_positive = True if diag_update is None else is_diag_update_positive
    if v is None and base_operator.is_self_adjoint and self._is_diag_update_positive and \
        base_operator.is_positive_definite:
      # What is added is self-adjoint and has no negative eigenvalue.
      for hint in (is_self_adjoint, is_positive_definite, is_non_singular):
        if hint is False:
          raise ValueError('A positive definite operator with a positive update of low rank is '
                           'self-adjoint, positive definite and non-singular.')
      is_self_adjoint = is_positive_definite = is_non_singular = True
    parents = base_operator.graph_parents + [self._u] + ([] if v is None else [self._v]) + (
        [] if diag_update is None else [self._diag_update])
    super().__init__(base_operator.dtype, parents, is_non_singular, is_self_adjoint,
                     is_positive_definite, is_square, name)
    base_operator.range_dimension.assert_is_compatible_with(self._u.shape[-2])
    base_operator.domain_dimension.assert_is_compatible_with(self._v.shape[-2])
    self._u.shape[-1].assert_is_compatible_with(self._v.shape[-1])
    if self._diag_update is None:
      rank = self._v.shape[-1].value
      self._diag_operator = LinearOperatorIdentity(
          array.shape(self._v)[-1] if rank is None else rank, dtype=self.dtype)
    else:
      self._u.shape[-1].assert_is_compatible_with(self._diag_update.shape[-1])
      self._diag_operator = LinearOperatorDiag(
          self._diag_update, is_positive_definite=self._is_diag_update_positive)
    self._u_operator = LinearOperatorFullMatrix(self._u)
    self._v_operator = LinearOperatorFullMatrix(self._v)

  def _part(self, value, name):
    tensor = convert(value, name=name)
    if tensor.dtype.base_dtype != self._base.dtype:
      raise TypeError('Argument %s must have dtype %s of the base operator, but has %s.' % (
          name, self._base.dtype.name, tensor.dtype.name))
    return tensor

  base_operator = property(lambda self: self._base)
  u = property(lambda self: self._u)
  v = property(lambda self: self._v)
  diag_update = property(lambda self: self._diag_update)
  diag_operator = property(lambda self: self._diag_operator)
  is_diag_update_positive = property(lambda self: self._is_diag_update_positive)

  def _shape(self):
    operators = [self._base, self._u_operator, self._v_operator, self._diag_operator]
    return joint_batch_shape(operators).concatenate(self._base.shape[-2:])

  def _shape_tensor(self):
    batch = self._base.batch_shape_tensor()
    for operator in (self._u_operator, self._v_operator, self._diag_operator):
      batch = array.broadcast_dynamic_shape(batch, operator.batch_shape_tensor())
    return array.concat([batch, self._base.shape_tensor()[-2:]], 0)

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    into, out = (self._u, self._v) if adjoint else (self._v, self._u)
    inner = matmul(into, x, adjoint_a=True, adjoint_b=adjoint_arg)
    low_rank = matmul(out, self._diag_operator.matmul(inner, adjoint=adjoint))
    return self._base.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg) + low_rank

  def _capacitance(self):
    """D^-1 + V^H L^-1 U."""
    product = matmul(self._v, self._base.solve(self._u), adjoint_a=True)
    return self._diag_operator.inverse().add_to_tensor(product)

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    """L^-1 rhs - L^-1 U C^-1 V^H L^-1 rhs."""
    into, out = (self._u, self._v) if adjoint else (self._v, self._u)
    solved = self._base.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
    inner = matmul(into, solved, adjoint_a=True)
    capacitance = self._capacitance()
    if self._uses_cholesky():
      inner = linalg.cholesky_solve(
          *broadcast_batches([apply_op('Cholesky', input=capacitance), inner]))
    else:
      inner = solve_dense(capacitance, inner, adjoint)
    return solved - self._base.solve(matmul(out, inner), adjoint=adjoint)

  def _determinant(self):
    return apply_op('MatrixDeterminant', input=self._capacitance()) * \
        self._diag_operator.determinant() * self._base.determinant()

  def _log_abs_determinant(self):
    if self._uses_cholesky():
      diagonal = matrix_diag_part(apply_op('Cholesky', input=self._capacitance()))
      inner = 2 * math.reduce_sum(apply_op('Log', x=diagonal), -1)
    else:
      inner = apply_op('Log', x=math.abs(apply_op('MatrixDeterminant', input=self._capacitance())))
    return inner + self._diag_operator.log_abs_determinant() + self._base.log_abs_determinant()
