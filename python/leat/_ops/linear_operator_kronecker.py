"""LinearOperatorKronecker: the Kronecker product of operators.

Seen as tensors with a dimension for each factor, vectors are multiplied by one factor along each
dimension; the large matrix is never made for products, solutions and determinants.
"""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._ops import array, linalg, math
from leat._ops.linear_operator import LinearOperator
from leat._ops.linear_operator_composition import (
    check_operators, hints_of, joint_batch_shape, joint_batch_sizes, parents_of)


@export('linalg.LinearOperatorKronecker')
class LinearOperatorKronecker(LinearOperator):
  """operators[0] (x) operators[1] (x) ..., whose sizes are the products of the factors' sizes."""

  def __init__(self, operators, is_non_singular=None, is_self_adjoint=None,
               is_positive_definite=None, is_square=None, name=None):
    self._operators = check_operators(operators)
    hints = hints_of(self._operators, 'Kronecker product', is_non_singular=is_non_singular,
                     is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite,
                     is_square=is_square)
    super().__init__(self._operators[0].dtype, parents_of(self._operators), *hints,
                     name=name or '_x_'.join(o.name for o in self._operators))

  operators = property(lambda self: self._operators)

  def _shape(self):
    sizes = []
    for dimension in ('range_dimension', 'domain_dimension'):
      size = 1
      for operator in self._operators:
        factor = getattr(operator, dimension).value
        size = None if size is None or factor is None else size * factor
      sizes.append(size)
    return joint_batch_shape(self._operators).concatenate(sizes)

  def _shape_tensor(self):
    rows = columns = 1
    for operator in self._operators:
      rows *= operator.range_dimension_tensor()
      columns *= operator.domain_dimension_tensor()
    return array.concat([joint_batch_sizes(self._operators), [rows, columns]], 0)

  def _apply(self, x, method, adjoint, adjoint_arg):
    """Each factor's `method` along its dimension of x [batch, n1 * n2 * ..., k].

    The first dimension of the product that is still to be done is brought to the rows: of
    [batch, n1, rest * k] come [batch, m1, rest * k], and then [batch, rest * k, m1] goes on with
    rest in front. After all factors the columns k are in front, and are brought back last."""
    x = linalg.adjoint(x) if adjoint_arg else x
    batch = array.broadcast_dynamic_shape(joint_batch_sizes(self._operators), array.shape(x)[:-2])
    x = apply_op('BroadcastTo', input=x, shape=array.concat([batch, array.shape(x)[-2:]], 0))
    columns = array.shape(x)[-1]
    for operator in self._operators:
      rows = operator.range_dimension_tensor() if adjoint else operator.domain_dimension_tensor()
      x = array.reshape(x, array.concat([batch, [rows, -1]], 0))
      x = array.matrix_transpose(getattr(operator, method)(x, adjoint=adjoint))
    x = array.reshape(x, array.concat([batch, [columns, -1]], 0))
    return array.matrix_transpose(x)

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    return self._apply(x, 'matmul', adjoint, adjoint_arg)

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    return self._apply(rhs, 'solve', adjoint, adjoint_arg)

  def _power(self, operator):
    """How often each eigenvalue of the factor counts: the size of the others together."""
    return math.cast(self._dimension(-1) // operator.domain_dimension_tensor(), self.dtype)

  def _determinant(self):
    found = 1
    for operator in self._operators:
      found *= math.pow(operator.determinant(), self._power(operator))
    return found

  def _log_abs_determinant(self):
    found = 0
    for operator in self._operators:
      found += operator.log_abs_determinant() * self._power(operator)
    return found

  def _trace(self):
    found = 1
    for operator in self._operators:
      found *= operator.trace()
    return found

  def _diag_part(self):
    found = self._operators[0].diag_part()
    for operator in self._operators[1:]:
      product = array.expand_dims(found, -1) * array.expand_dims(operator.diag_part(), -2)
      found = array.reshape(product, array.concat([array.shape(product)[:-2], [-1]], 0))
    return found
