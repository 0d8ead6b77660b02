"""LinearOperatorHouseholder: reflections at a hyperplane."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops import array, linalg, math
from leat._ops.linear_operator import LinearOperator, check_dtype, check_rank
from leat._ops.matrix import matmul


@export('linalg.LinearOperatorHouseholder')
class LinearOperatorHouseholder(LinearOperator):
  """I - 2 u u^H, where u is `reflection_axis` [B1, ..., Bb, N] divided by its length. It is its own
  inverse, with determinant -1."""

  def __init__(self, reflection_axis, is_non_singular=None, is_self_adjoint=None,
               is_positive_definite=None, is_square=None, name='LinearOperatorHouseholder'):
    with self._constructing(name, [reflection_axis]):
      self._axis = convert(reflection_axis, name='reflection_axis')
    check_rank(self._axis, 1, 'reflection_axis')
    check_dtype(self._axis.dtype, 'reflection_axis')
    for hint, wrong, text in ((is_self_adjoint, False, 'is always self adjoint'),
                              (is_non_singular, False, 'is always non-singular'),
                              (is_positive_definite, True, 'is always non-positive definite'),
                              (is_square, False, 'is always square')):
      if hint is wrong:
        raise ValueError('A Householder operator %s.' % text)
    super().__init__(self._axis.dtype, [self._axis], True, True, False, True, name)

  reflection_axis = property(lambda self: self._axis)

  def _shape(self):
    return self._axis.shape.concatenate(self._axis.shape[-1:])

  def _shape_tensor(self):
    sizes = array.shape(self._axis)
    return array.concat([sizes, sizes[-1:]], 0)

  def _unit(self):
    squares = math.reduce_sum(math.real(self._axis * math.conj(self._axis)), -1, keepdims=True)
    return self._axis / math.cast(apply_op('Sqrt', x=squares), self.dtype)

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    x = linalg.adjoint(x) if adjoint_arg else x
    axis = array.expand_dims(self._unit(), -1)
    return x - 2 * axis * matmul(axis, x, adjoint_a=True)

  _solve = _matmul

  def _assert_positive_definite(self):
    raise NotImplementedError('A Householder operator is never positive definite.')

  def _assert_self_adjoint(self):
    return apply_op('NoOp', name='assert_self_adjoint')

  _assert_non_singular = _assert_self_adjoint

  def _determinant(self):
    return -array.ones(self._sizes()[:-2], self.dtype)

  def _log_abs_determinant(self):
    return array.zeros(self._sizes()[:-2], self.dtype)

  def _diag_part(self):
    unit = self._unit()
    return 1 - 2 * unit * math.conj(unit)

  def _trace(self):
    return math.cast(self._dimension(-1), self.dtype) - 2 * array.ones(
        self._sizes()[:-2], self.dtype)

  def _cond(self):
    return array.ones(self._sizes()[:-2], self.dtype)

  def _inverse(self):
    return self
