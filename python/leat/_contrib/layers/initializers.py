"""contrib.layers: initializers whose variance follows from the numbers of inputs and outputs."""
from __future__ import annotations

import math as python_math

from leat._export import export
from leat._graph import dtype as dtypes
from leat._ops import random


@export('contrib.layers.xavier_initializer', 'contrib.layers.xavier_initializer_conv2d')
def xavier_initializer(uniform=True, seed=None, dtype=dtypes.float32):
  """Glorot and Bengio's initializer: the variance is 2 / (inputs + outputs)."""
  return variance_scaling_initializer(factor=1.0, mode='FAN_AVG', uniform=uniform, seed=seed,
                                      dtype=dtype)


def _fans(shape):
  """(inputs, outputs) of a weight; the sizes before the last two are those of a filter."""
  if not shape:
    return 1.0, 1.0
  fan_in, fan_out = float(shape[-2] if len(shape) > 1 else shape[-1]), float(shape[-1])
  field = python_math.prod(shape[:-2])
  return fan_in * field, fan_out * field


@export('contrib.layers.variance_scaling_initializer')
def variance_scaling_initializer(factor=2.0, mode='FAN_IN', uniform=False, seed=None,
                                 dtype=dtypes.float32):
  """A function that makes values with the variance factor / n; n is the number of inputs (FAN_IN),
  of outputs (FAN_OUT) or their mean (FAN_AVG). Even between two limits with `uniform`, else normal,
  cut at two standard deviations. TypeError where the type is not floating or the mode another
  one."""
  dtype = _floating(dtype)
  if mode not in ('FAN_IN', 'FAN_OUT', 'FAN_AVG'):
    raise TypeError('Unknown mode %s [FAN_IN, FAN_OUT, FAN_AVG]' % mode)

  def initializer(shape, dtype=dtype, partition_info=None):
    dtype = _floating(dtype)
    full = partition_info.full_shape if partition_info is not None else shape
    fan_in, fan_out = _fans([int(n) for n in full])
    n = {'FAN_IN': fan_in, 'FAN_OUT': fan_out, 'FAN_AVG': (fan_in + fan_out) / 2.0}[mode]
    if uniform:
      limit = python_math.sqrt(3.0 * factor / n)
      return random.random_uniform(shape, -limit, limit, dtype, seed=seed)
    # Cutting takes a part of the variance away, which 1.3 gives back.
    return random.truncated_normal(shape, 0.0, python_math.sqrt(1.3 * factor / n), dtype, seed=seed)
  return initializer


def _floating(dtype):
  dtype = dtypes.as_dtype(dtype)
  if not dtype.is_floating:
    raise TypeError('Cannot create initializer for non-floating point type %s.' % dtype.name)
  return dtype
