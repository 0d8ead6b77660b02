"""LinearOperatorComposition: the product of several operators as one; what operators that are made
of others share."""
from __future__ import annotations

import functools
import operator as python_operator

from leat._export import export
from leat._ops import array
from leat._ops.linear_operator import LinearOperator


def check_operators(operators):
  """The operators as a list. ValueError where there are none, TypeError where dtypes differ."""
  operators = list(operators)
  if not operators:
    raise ValueError('Expected a non-empty list of operators. Found: %s' % operators)
  for operator in operators:
    if operator.dtype != operators[0].dtype:
      raise TypeError('Expected all operators to have the same dtype. Found %s' % ', '.join(
          '(%s, %s)' % (o.name, o.dtype.name) for o in operators))
  return operators


def hints_of(operators, made, **given):
  """The values of is_... hints of what is made of the operators. One that is None is True where all
  operators have it; ValueError where one is False nonetheless."""
  hints = []
  for name, value in given.items():
    known = all(getattr(o, name) for o in operators) or None
    if known and value is False:
      what = name.removeprefix('is_').replace('_', '-')
      raise ValueError('The %s of %s operators is always %s.' % (made, what, what))
    hints.append(value if value is not None else known)
  return hints


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


def summed(values):
  """The sum of tensors, of which there is at least one."""
  return functools.reduce(python_operator.add, values)


class OperatorOfOperators(LinearOperator):
  """An operator whose determinant is the product of those of the operators that it is made of."""

  operators = property(lambda self: self._operators)

  def _determinant(self):
    return functools.reduce(python_operator.mul, (o.determinant() for o in self._operators))

  def _log_abs_determinant(self):
    return summed(o.log_abs_determinant() for o in self._operators)


@export('linalg.LinearOperatorComposition')
class LinearOperatorComposition(OperatorOfOperators):
  """operators[0] operators[1] ...: x is multiplied by the last one first."""

  def __init__(self, operators, is_non_singular=None, is_self_adjoint=None,
               is_positive_definite=None, is_square=None, name=None):
    self._operators = check_operators(operators)
    for left, right in zip(self._operators, self._operators[1:]):
      left.domain_dimension.assert_is_compatible_with(right.range_dimension)
    is_non_singular, = hints_of(self._operators, 'composition', is_non_singular=is_non_singular)
    super().__init__(self._operators[0].dtype, parents_of(self._operators), is_non_singular,
                     is_self_adjoint, is_positive_definite, is_square,
                     name or '_o_'.join(o.name for o in self._operators))

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
