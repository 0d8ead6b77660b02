"""LinearOperatorBlockDiag: operators along a diagonal, zeros elsewhere."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._ops import array, linalg
from leat._ops.linear_operator import broadcast_batches
from leat._ops.linear_operator_composition import (
    OperatorOfOperators, check_operators, hints_of, joint_batch_shape, joint_batch_sizes,
    parents_of, summed)


@export('linalg.LinearOperatorBlockDiag')
class LinearOperatorBlockDiag(OperatorOfOperators):
  """The matrix with the operators, which must be square, in blocks along its diagonal."""

  def __init__(self, operators, is_non_singular=None, is_self_adjoint=None,
               is_positive_definite=None, is_square=True, name=None):
    self._operators = check_operators(operators)
    if any(o.is_square is False for o in self._operators):
      raise ValueError('Can only represent a block diagonal of square matrices.')
    hints = hints_of(self._operators, 'direct sum', is_non_singular=is_non_singular,
                     is_self_adjoint=is_self_adjoint, is_positive_definite=is_positive_definite)
    super().__init__(self._operators[0].dtype, parents_of(self._operators), *hints,
                     is_square=is_square,
                     name=name or '_ds_'.join(o.name for o in self._operators))

  def _shape(self):
    sizes = [o.domain_dimension.value for o in self._operators]
    size = None if None in sizes else sum(sizes)
    return joint_batch_shape(self._operators).concatenate([size, size])

  def _shape_tensor(self):
    size = sum(o.domain_dimension_tensor() for o in self._operators)
    return array.concat([joint_batch_sizes(self._operators), [size, size]], 0)

  def _blocks(self, x):
    """The rows of x for each operator."""
    sizes = [o.domain_dimension.value for o in self._operators]
    if None in sizes:
      sizes = apply_op('Pack', values=[o.domain_dimension_tensor() for o in self._operators])
    return array.split(x, sizes, axis=-2, num=len(self._operators))

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    x = linalg.adjoint(x) if adjoint_arg else x
    found = [o.matmul(part, adjoint=adjoint) for o, part in zip(self._operators, self._blocks(x))]
    return array.concat(broadcast_batches(found), -2)

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
    found = [o.solve(part, adjoint=adjoint) for o, part in zip(self._operators, self._blocks(rhs))]
    return array.concat(broadcast_batches(found), -2)

  def _diag_part(self):
    parts = [array.expand_dims(o.diag_part(), -1) for o in self._operators]
    return array.squeeze(array.concat(broadcast_batches(parts), -2), axis=[-1])

  def _trace(self):
    return summed(o.trace() for o in self._operators)
