"""Weights of examples: what has the rank of the values, and in each dimension their size or 1.

Losses and metrics multiply values by weights. A scalar weighs all values alike.
"""
from __future__ import annotations

from leat._graph.apply import apply_op
from leat._graph.scope import control_dependencies, name_scope
from leat._ops import array, control_flow, math


def _check_weights(weights, values):
  """The weights must be a scalar, or have the rank of the values and be 1 or equal in each size."""
  w, v = weights.get_shape(), values.get_shape()
  if w.ndims == 0 or w.ndims is None or v.ndims is None:
    return
  if w.ndims != v.ndims:
    raise ValueError('weights can not be broadcast to values. values.rank=%s. weights.rank=%s. '
                     'values.shape=%s. weights.shape=%s.' % (v.ndims, w.ndims, v, w))
  for a, b in zip(w.as_list(), v.as_list()):
    if a is not None and b is not None and a != 1 and a != b:
      raise ValueError('weights can not be broadcast to values. values.shape=%s. '
                       'weights.shape=%s.' % (v, w))


def fitting_weights(weights, values):
  """The weights, which are compared with the values in each step where their shapes are not known
  before: without this, the product would be broadcast in both directions."""
  _check_weights(weights, values)
  w, v = weights.get_shape(), values.get_shape()
  if w.ndims == 0 or w.ndims is not None and v.ndims is not None and all(
      a == 1 or a is not None and a == b for a, b in zip(w.as_list(), v.as_list())):
    return weights
  with name_scope(None, 'assert_broadcastable', [weights, values]):
    taken, sizes = array.shape(weights), array.shape(values)
    scalar = math.equal(array.rank(weights), 0)
    # Of another rank, the sizes are not compared: they are taken to be 1 and 0, which differ.
    same_rank = math.equal(array.rank(weights), array.rank(values))
    length = array.where(same_rank, array.rank(values), 0)
    taken, sizes = array.slice(taken, [0], [length]), array.slice(sizes, [0], [length])
    equal = math.equal(taken, sizes)
    fits = math.reduce_all(apply_op('LogicalOr', x=math.equal(taken, 1), y=equal))
    fine = apply_op('LogicalOr', x=scalar, y=apply_op('LogicalAnd', x=same_rank, y=fits))
    check = control_flow.Assert(fine, [
        'weights can not be broadcast to values.', 'weights.shape=', array.shape(weights),
        'values.shape=', array.shape(values)])
    with control_dependencies([check]):
      return array.identity(weights)


def broadcast_weights(weights, values):
  """The weights in the shape of the values."""
  with name_scope(None, 'broadcast_weights', [weights, values]) as scope:
    weights = fitting_weights(weights, values)
    a, b = weights.get_shape(), values.get_shape()
    if a.is_fully_defined() and b.is_fully_defined() and a.as_list() == b.as_list():
      return weights
    return apply_op('Mul', name=scope, x=weights, y=array.ones_like(values, weights.dtype))
