"""LinearOperatorComposition: the product of several operators as one."""
from __future__ import annotations

from leat._export import export
from leat._ops import array
from leat._ops.linear_operator import LinearOperator


def check_operators(operators):
  """The operators as a list, all of one dtype: its name is in the second value."""
  operators = list(operators)
  if not operators:
    raise ValueError('Expected a non-empty list of operators. Found: %s' % operators)
  for operator in operators:
    if operator.dtype != operators[0].dtype:
      raise TypeError('Expected all operators to have the same dtype. Found %s' % ', '.join(
          '(%s, %s)' % (o.name, o.dtype.name) for o in operators))
  return operators


def parents_of(operators):
  return [parent for operator in operators for parent in operator.graph_parents]


def joint_batch_shape(operators):
  """The batch shape of all, by the rules of broadcasting."""
  batch = operators[0].batch_shape
  for operator in operators[1:]:
    batch = array.broadcast_static_shape(batch, operator.batch_shape)
  return batch


def joint_batch_sizes(operators):
  """The same as a tensor."""
  batch = operators[0].batch_shape_tensor()
  for operator in operators[1:]:
    batch = array.broadcast_dynamic_shape(batch, operator.batch_shape_tensor())
  return batch


@export('linalg.LinearOperatorComposition')
class LinearOperatorComposition(LinearOperator):
  """operators[0] operators[1] ...: x is multiplied by the last one first."""

  def __init__(self, operators, is_non_singular=None, is_self_adjoint=None,
               is_positive_definite=None, is_square=None, name=None):
    self._operators = check_operators(operators)
    for left, right in zip(self._operators, self._operators[1:]):
      left.domain_dimension.assert_is_compatible_with(right.range_dimension)
    if all(o.is_non_singular for o in self._operators):
      if is_non_singular is False:
        raise ValueError('The composition of non-singular operators is always non-singular.')
      is_non_singular = True
    super().__init__(self._operators[0].dtype, parents_of(self._operators), is_non_singular,
                     is_self_adjoint, is_positive_definite, is_square,
                     name or '_o_'.join(o.name for o in self._operators))

  operators = property(lambda self: self._operators)

  def _shape(self):
    return joint_batch_shape(self._operators).concatenate(
        [self._operators[0].range_dimension, self._operators[-1].domain_dimension])

  def _shape_tensor(self):
    return array.concat([joint_batch_sizes(self._operators),
                         [self._operators[0].range_dimension_tensor(),
                          self._operators[-1].domain_dimension_tensor()]], 0)

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    for operator in self._operators if adjoint else reversed(self._operators):
      x = operator.matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)
      adjoint_arg = False
    return x

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    for operator in reversed(self._operators) if adjoint else self._operators:
      rhs = operator.solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)
      adjoint_arg = False
    return rhs

  def _determinant(self):
    found = self._operators[0].determinant()
    for operator in self._operators[1:]:
      found *= operator.determinant()
    return found

  def _log_abs_determinant(self):
    found = self._operators[0].log_abs_determinant()
    for operator in self._operators[1:]:
      found += operator.log_abs_determinant()
    return found
