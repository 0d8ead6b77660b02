"""Decays of learning rates: tensors that follow from the number of steps."""
from __future__ import annotations

import math as python_math

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, control_flow, math, random



def _needs_step(step, name):
  if step is None:
    raise ValueError('global_step is required for %s.' % name)


@export('train.exponential_decay')
def exponential_decay(learning_rate, global_step, decay_steps, decay_rate, staircase=False,
                      name=None):
  """learning_rate * decay_rate ^ (global_step / decay_steps), a scalar; with `staircase` the
  quotient is rounded down, so that the rate falls in steps."""
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


@export('train.cosine_decay_restarts')
def cosine_decay_restarts(learning_rate, global_step, first_decay_steps, t_mul=2.0, m_mul=1.0,
                          alpha=0.0, name=None):
  """Cosine decays one after the other, the first over first_decay_steps; each is t_mul times as
  long and begins with m_mul times the rate of the one before."""
  _needs_step(global_step, 'cosine decay restarts')
  with name_scope(name, 'SGDRDecay', [learning_rate, global_step]):
    rate = convert(learning_rate, name='initial_learning_rate')
    first, alpha, t_mul, m_mul = (math.cast(v, rate.dtype) for v in (
        first_decay_steps, alpha, t_mul, m_mul))
    done = math.cast(global_step, rate.dtype) / first

    def growing():
      restarts = math.floor(apply_op('Log', x=1.0 - done * (1.0 - t_mul)) /
                            apply_op('Log', x=t_mul))
      before = (1.0 - math.pow(t_mul, restarts)) / (1.0 - t_mul)
      return restarts, (done - before) / math.pow(t_mul, restarts)

    def equal():
      restarts = math.floor(done)
      return restarts, done - restarts

    restarts, part = control_flow.cond(math.equal(t_mul, 1.0), equal, growing)
    cosine = 0.5 * math.pow(m_mul, restarts) * (1.0 + _cosine(part))
    return math.multiply(rate, (1 - alpha) * cosine + alpha, name=name)


@export('train.linear_cosine_decay')
def linear_cosine_decay(learning_rate, global_step, decay_steps, num_periods=0.5, alpha=0.0,
                        beta=0.001, name=None):
  """A cosine over num_periods whose height falls to alpha, above beta times the rate."""
  _needs_step(global_step, 'linear cosine decay')
  with name_scope(name, 'LinearCosineDecay', [learning_rate, global_step]):
    return _linear_cosine(learning_rate, global_step, decay_steps, num_periods, alpha, beta, name)


@export('train.noisy_linear_cosine_decay')
def noisy_linear_cosine_decay(learning_rate, global_step, decay_steps, initial_variance=1.0,
                              variance_decay=0.55, num_periods=0.5, alpha=0.0, beta=0.001,
                              name=None):
  """linear_cosine_decay with noise on the height, whose variance falls from initial_variance as
  (1 + step) ^ -variance_decay."""
  _needs_step(global_step, 'noisy linear cosine decay')

  def noise(step, like):
    variance = initial_variance / math.pow(1.0 + step, math.cast(variance_decay, like.dtype))
    return random.random_normal(like.get_shape(), stddev=apply_op('Sqrt', x=variance),
                                dtype=like.dtype)
  with name_scope(name, 'NoisyLinearCosineDecay', [learning_rate, global_step]):
    return _linear_cosine(learning_rate, global_step, decay_steps, num_periods, alpha, beta, name,
                          noise)


def _cosine(part):
  """The cosine of `part` half periods."""
  return apply_op('Cos', x=convert(python_math.pi, part.dtype) * part)


def _linear_cosine(learning_rate, global_step, decay_steps, num_periods, alpha, beta, name,
                   noise=None):
  rate = convert(learning_rate, name='initial_learning_rate')
  steps, periods, alpha, beta = (math.cast(v, rate.dtype) for v in (
      decay_steps, num_periods, alpha, beta))
  step = apply_op('Minimum', x=math.cast(global_step, rate.dtype), y=steps)
  linear = (steps - step) / steps
  if noise is not None:
    linear = linear + noise(step, linear)
  cosine = 0.5 * (1.0 + _cosine(2.0 * periods * (step / steps)))
  return math.multiply(rate, (alpha + linear) * cosine + beta, name=name)
