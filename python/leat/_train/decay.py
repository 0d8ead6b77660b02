"""Decays of learning rates: tensors that follow from the number of steps."""
from __future__ import annotations

import math as python_math

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, math



def _needs_step(step, name):
  if step is None:
    raise ValueError('global_step is required for %s.' % name)


@export('train.exponential_decay')
def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False,
                      name=None):
  """learning_rate * decay_rate ^ (global_step / decay_steps)."""
  _needs_step(global_step, 'exponential_decay')
  with name_scope(name, 'ExponentialDecay', [learning_rate, global_step, decay_steps,
                                             decay_rate]) as scope:
    rate = convert(learning_rate, name='learning_rate')
    steps, decay = math.cast(decay_steps, rate.dtype), math.cast(decay_rate, rate.dtype)
    p = math.cast(global_step, rate.dtype) / steps
    if staircase:
      p = math.floor(p)
    return math.multiply(rate, math.pow(decay, p), name=scope)


@export('train.piecewise_constant', 'train.piecewise_constant_decay')
def piecewise_constant(x, boundaries, values, name=None):
  """values[i] between boundaries[i - 1] and boundaries[i]."""
  if len(boundaries) != len(values) - 1:
    raise ValueError('The length of boundaries should be 1 less than the length of values')
  with name_scope(name, 'PiecewiseConstant', [x, boundaries, values]) as scope:
    x = convert(x)
    edges = [convert(b) for b in boundaries]
    for i, b in enumerate(edges):
      if b.dtype.base_dtype != x.dtype.base_dtype:
        if x.dtype.base_dtype == dtypes.int64 and b.dtype.base_dtype == dtypes.int32:
          edges[i] = math.cast(b, dtypes.int64)
        else:
          raise ValueError('Boundaries (%s) must have the same dtype as x (%s).' % (
              b.dtype.base_dtype, x.dtype.base_dtype))
    values = [convert(v) for v in values]
    for v in values[1:]:
      if v.dtype.base_dtype != values[0].dtype.base_dtype:
        raise ValueError('Values must have elements all with the same dtype (%s vs %s).' % (
            values[0].dtype.base_dtype, v.dtype.base_dtype))
    result = values[-1]
    for edge, value in reversed(list(zip(edges, values))):
      result = array.where(x <= edge, value, result)
    return array.identity(result, name=scope)


@export('train.polynomial_decay')
def polynomial_decay(learning_rate, global_step, decay_steps, end_learning_rate=0.0001, power=1.0,
                     cycle=False, name=None):
  """From learning_rate to end_learning_rate in decay_steps."""
  _needs_step(global_step, 'polynomial_decay')
  with name_scope(name, 'PolynomialDecay', [learning_rate, global_step]) as scope:
    rate = convert(learning_rate, name='learning_rate')
    end, power = (math.cast(v, rate.dtype) for v in (end_learning_rate, power))
    step, steps = math.cast(global_step, rate.dtype), math.cast(decay_steps, rate.dtype)
    if cycle:
      times = array.where(math.equal(step, 0), convert(1.0, rate.dtype),
                          math.ceil(step / steps))
      steps = steps * times
    else:
      step = apply_op('Minimum', x=step, y=steps)
    p = step / steps
    return math.add((rate - end) * math.pow(1 - p, power), end, name=scope)


@export('train.natural_exp_decay')
def natural_exp_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False,
                      name=None):
  """learning_rate * exp(-decay_rate * global_step / decay_steps)."""
  _needs_step(global_step, 'natural_exp_decay')
  with name_scope(name, 'NaturalExpDecay', [learning_rate, global_step]) as scope:
    rate = convert(learning_rate, name='learning_rate')
    p = math.cast(global_step, rate.dtype) / math.cast(decay_steps, rate.dtype)
    if staircase:
      p = math.floor(p)
    exponent = math.exp(math.multiply(-math.cast(decay_rate, rate.dtype), p))
    return math.multiply(rate, exponent, name=scope)


@export('train.inverse_time_decay')
def inverse_time_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False,
                       name=None):
  """learning_rate / (1 + decay_rate * global_step / decay_steps)."""
  _needs_step(global_step, 'inverse_time_decay')
  with name_scope(name, 'InverseTimeDecay', [learning_rate, global_step]) as scope:
    rate = convert(learning_rate, name='learning_rate')
    p = math.cast(global_step, rate.dtype) / math.cast(decay_steps, rate.dtype)
    if staircase:
      p = math.floor(p)
    return math.divide(rate, 1 + math.cast(decay_rate, rate.dtype) * p, name=scope)


@export('train.cosine_decay')
def cosine_decay(learning_rate, global_step, decay_steps, alpha=0.0, name=None):
  """Half a cosine from learning_rate to alpha times it."""
  _needs_step(global_step, 'cosine_decay')
  with name_scope(name, 'CosineDecay', [learning_rate, global_step]):
    rate = convert(learning_rate, name='learning_rate')
    steps = math.cast(decay_steps, rate.dtype)
    step = apply_op('Minimum', x=math.cast(global_step, rate.dtype), y=steps)
    cosine = 0.5 * (1.0 + apply_op('Cos', x=convert(python_math.pi, rate.dtype) * (step / steps)))
    return rate * ((1 - alpha) * cosine + alpha)
