"""contrib.layers: regularizers, functions from weights to a loss."""
from __future__ import annotations

import numbers

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys, name_scope
from leat._ops import math, matrix


def _checked(scale, name='scale'):
  """ValueError where a scale is an integer or negative; whether it is zero."""
  if isinstance(scale, numbers.Integral):
    raise ValueError('%s cannot be an integer: %s' % (name, scale))
  if not isinstance(scale, numbers.Real):
    return False
  if scale < 0.:
    raise ValueError('Setting a scale less than 0 on a regularizer: %g' % scale)
  if scale == 0.:
    from leat._platform import log
    log.info('Scale of 0 disables regularizer.')
  return scale == 0.


def _scaled(scale, scope, default_name, norm):
  if _checked(scale):
    return lambda _, name=None: None

  def regularizer(weights):
    with name_scope(scope, default_name, [weights]) as name:
      factor = convert(scale, weights.dtype.base_dtype, name='scale')
      return math.multiply(factor, norm(weights), name=name)
  return regularizer


@export('contrib.layers.l1_regularizer')
def l1_regularizer(scale, scope=None):
  """scale times the sum of absolute values. With a scale of 0 nothing is added. ValueError where
  the scale is an integer or negative."""
  return _scaled(scale, scope, 'l1_regularizer', lambda w: math.reduce_sum(math.abs(w)))


@export('contrib.layers.l2_regularizer')
def l2_regularizer(scale, scope=None):
  """scale times half the sum of squares; scales as for l1_regularizer."""
  return _scaled(scale, scope, 'l2_regularizer', lambda w: apply_op('L2Loss', t=w))


@export('contrib.layers.l1_l2_regularizer')
def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
  """The sum of both."""
  for name, scale in (('scale_l1', scale_l1), ('scale_l2', scale_l2)):
    if isinstance(scale, numbers.Integral):
      raise ValueError('%s cannot be an integer: %s' % (name, scale))
  scope = scope or 'l1_l2_regularizer'
  if scale_l1 == 0.:
    return l2_regularizer(scale_l2, scope)
  if scale_l2 == 0.:
    return l1_regularizer(scale_l1, scope)
  return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope=scope)


@export('contrib.layers.sum_regularizer')
def sum_regularizer(regularizer_list, scope=None):
  """The sum of regularizers, those that are None left out; None where none is left."""
  found = [r for r in regularizer_list if r is not None]
  if not found:
    return None

  def regularizer(weights):
    with name_scope(scope, 'sum_regularizer', [weights]) as name:
      losses = [loss for loss in (r(weights) for r in found) if loss is not None]
      return matrix.add_n(losses, name=name) if losses else None
  return regularizer


@export('contrib.layers.apply_regularization')
def apply_regularization(regularizer, weights_list=None):
  """The sum of the losses of weights (of the collection WEIGHTS where there is no list), which is
  kept in the collection of regularization losses. ValueError where there is no weight, or where a
  loss is no scalar."""
  weights_list = weights_list or get_default_graph().get_collection(GraphKeys.WEIGHTS)
  if not weights_list:
    raise ValueError('No weights to regularize.')
  with name_scope('get_regularization_penalty', values=weights_list) as scope:
    penalties = [regularizer(w) for w in weights_list]
    penalties = [convert(0.0) if p is None else p for p in penalties]
    for p in penalties:
      if p.get_shape().ndims != 0:
        raise ValueError('regularizer must return a scalar Tensor instead of a Tensor with rank '
                         '%s.' % p.get_shape().ndims)
    total = matrix.add_n(penalties, name=scope)
    get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total
