"""Accumulators of gradients: tf.ConditionalAccumulator and tf.SparseConditionalAccumulator.

An accumulator is a resource of the graph: gradients are added to it by many workers, and taken out
as their mean (or sum) when enough have come. A gradient whose local step is older than the
accumulator's global step is dropped. All of this is the library's; here stand the operations.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.shape import TensorShape
from leat._ops import math
from leat._ops.sparse import IndexedSlices


def _int64(value):
  return math.cast(convert(value), dtypes.int64)


@export('ConditionalAccumulatorBase')
class ConditionalAccumulatorBase:
  """What both accumulators have."""

  def __init__(self, dtype, shape, accumulator_ref):
    self._dtype = dtypes.as_dtype(dtype)
    self._shape = TensorShape(shape)
    self._accumulator_ref = accumulator_ref
    self._name = accumulator_ref.op.name.rpartition('/')[2]

  @property
  def accumulator_ref(self):
    return self._accumulator_ref

  @property
  def name(self):
    return self._name

  @property
  def dtype(self):
    return self._dtype

  def num_accumulated(self, name=None):
    """How many gradients are in it."""
    return apply_op('AccumulatorNumAccumulated', name or '%s_NumAccumulated' % self._name,
                    handle=self._accumulator_ref)

  def set_global_step(self, new_global_step, name=None):
    """An operation that sets the step by which older gradients are dropped."""
    return apply_op('AccumulatorSetGlobalStep', name, handle=self._accumulator_ref,
                    new_global_step=_int64(new_global_step))


@export('ConditionalAccumulator')
class ConditionalAccumulator(ConditionalAccumulatorBase):
  """An accumulator of dense gradients."""

  def __init__(self, dtype, shape=None, shared_name=None, name='conditional_accumulator',
               reduction_type='MEAN'):
    super().__init__(dtype, shape, apply_op(
        'ConditionalAccumulator', name, dtype=dtype, shape=TensorShape(shape),
        shared_name=shared_name or '', reduction_type=reduction_type))

  def apply_grad(self, grad, local_step=0, name=None):
    """An operation that adds a gradient; ValueError where its shape cannot be the accumulator's."""
    grad = convert(grad, self._dtype)
    grad.get_shape().assert_is_compatible_with(self._shape)
    return apply_op('AccumulatorApplyGradient', name, handle=self._accumulator_ref,
                    local_step=_int64(local_step), gradient=grad)

  def take_grad(self, num_required, name=None):
    """The mean (or sum), when `num_required` gradients are there; empties the accumulator."""
    taken = apply_op('AccumulatorTakeGradient', name, handle=self._accumulator_ref,
                     num_required=num_required, dtype=self._dtype)
    taken.set_shape(self._shape)
    return taken


@export('SparseConditionalAccumulator', 'sparse.SparseConditionalAccumulator')
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
  """An accumulator of gradients that are rows: indices, values and perhaps the whole shape."""

  def __init__(self, dtype, shape=None, shared_name=None, name='sparse_conditional_accumulator',
               reduction_type='MEAN'):
    super().__init__(dtype, shape, apply_op(
        'SparseConditionalAccumulator', name, dtype=dtype, shape=TensorShape(shape),
        shared_name=shared_name or '', reduction_type=reduction_type))

  def apply_indexed_slices_grad(self, grad, local_step=0, name=None):
    return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

  def apply_grad(self, grad_indices, grad_values, grad_shape=None, local_step=0, name=None):
    """An operation that adds rows."""
    shape = convert([], dtypes.int64) if grad_shape is None else _int64(grad_shape)
    return apply_op('SparseAccumulatorApplyGradient', name, handle=self._accumulator_ref,
                    local_step=_int64(local_step), gradient_indices=_int64(grad_indices),
                    gradient_values=grad_values, gradient_shape=shape,
                    has_known_shape=grad_shape is not None)

  def take_grad(self, num_required, name=None):
    """(indices, values, shape) of the mean, when `num_required` gradients are there."""
    return apply_op('SparseAccumulatorTakeGradient', name, handle=self._accumulator_ref,
                    num_required=num_required, dtype=self._dtype)

  def take_indexed_slices_grad(self, num_required, name=None):
    indices, values, shape = self.take_grad(num_required, name)
    return IndexedSlices(values, indices, shape)
