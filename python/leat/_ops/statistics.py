"""Means and variances with weights; batch normalization with given statistics."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, math, nn


@export('nn.weighted_moments')
def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
  """(the mean, the variance) over axes, where each element counts as often as its weight says.
  Weights are broadcast to x."""
  keep = bool(keep_dims if keepdims is None else keepdims)
  axes = [axes] if isinstance(axes, int) else axes
  with name_scope(name, 'weighted_moments', [x, frequency_weights, axes]):
    x = convert(x, name='x')
    weights = convert(frequency_weights, name='frequency_weights')
    half = x.dtype == dtypes.float16
    if half:
      x = math.cast(x, dtypes.float32)
    if weights.dtype != x.dtype:
      weights = math.cast(weights, x.dtype)
    weighted = math.reduce_sum(weights * x, axes, keepdims=True, name='weighted_input_sum')
    ones = weights + array.zeros_like(x)   # the weights in the shape of x
    total = math.reduce_sum(ones, axes, keepdims=True, name='sum_of_weights')
    mean = weighted * (1.0 / total)
    distance = apply_op('SquaredDifference', x=x, y=array.stop_gradient(mean))
    variance = math.reduce_sum(weights * distance, axes, keepdims=True) * (1.0 / total)
    if not keep:
      mean, variance = array.squeeze(mean, list(axes)), array.squeeze(variance, list(axes))
    if half:
      mean, variance = math.cast(mean, dtypes.float16), math.cast(variance, dtypes.float16)
    return mean, variance


@export('nn.batch_norm_with_global_normalization')
def batch_norm_with_global_normalization(t=None, m=None, v=None, beta=None, gamma=None,
                                         variance_epsilon=None, scale_after_normalization=None,
                                         name=None, input=None, mean=None, variance=None):
  """(t - m) / sqrt(v + epsilon), times gamma where scale_after_normalization says so, plus beta."""
  t = input if t is None else t
  m = mean if m is None else m
  v = variance if v is None else v
  return nn.batch_normalization(t, m, v, beta, gamma if scale_after_normalization else None,
                                variance_epsilon, name)
