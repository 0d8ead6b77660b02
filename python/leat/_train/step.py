"""The global step, decays of learning rates, moving averages."""
from __future__ import annotations

import math as python_math

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import GraphKeys, colocate_with, init_scope, name_scope
from leat._ops import array, assign, control, initializers, math, variable_scope, variables


@export('train.get_global_step')
def get_global_step(graph=None):
  """The variable that counts steps, or None."""
  graph = graph or graphs.get_default_graph()
  found = graph.get_collection(GraphKeys.GLOBAL_STEP)
  if len(found) == 1:
    step = found[0]
  elif not found:
    try:
      step = graph.get_tensor_by_name('global_step:0')
    except KeyError:
      return None
  else:
    raise TypeError('Multiple tensors in global_step collection.')
  assert_global_step(step)
  return step


@export('train.assert_global_step')
def assert_global_step(global_step_tensor):
  """TypeError or ValueError where it cannot be a step: it must be a scalar integer."""
  if not (isinstance(global_step_tensor, variables.Variable) or hasattr(global_step_tensor, 'op')):
    raise TypeError('Existing "global_step" must be a Variable or Tensor: %s.' % global_step_tensor)
  if not global_step_tensor.dtype.base_dtype.is_integer:
    raise TypeError('Existing "global_step" does not have integer type: %s' %
                    global_step_tensor.dtype)
  if global_step_tensor.get_shape().ndims not in (0, None):
    raise TypeError('Existing "global_step" is not scalar: %s' % global_step_tensor.get_shape())


@export('train.create_global_step')
def create_global_step(graph=None):
  """Makes the variable that counts steps; ValueError where there is one."""
  graph = graph or graphs.get_default_graph()
  if get_global_step(graph) is not None:
    raise ValueError('"global_step" already exists.')
  with graph.as_default(), graph.name_scope(None):
    return variable_scope.get_variable(
        GraphKeys.GLOBAL_STEP, shape=[], dtype=dtypes.int64,
        initializer=initializers.zeros_initializer(), trainable=False,
        collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP])


@export('train.get_or_create_global_step')
def get_or_create_global_step(graph=None):
  graph = graph or graphs.get_default_graph()
  found = get_global_step(graph)
  return create_global_step(graph) if found is None else found


@export('train.global_step')
def global_step(sess, global_step_tensor):
  """The number of steps in a session."""
  return int(sess.run(global_step_tensor))


# ---- Decays -------------------------------------------------------------------------------------


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


# ---- Moving averages ----------------------------------------------------------------------------


def assign_moving_average(variable, value, decay, zero_debias=True, name=None):
  """variable -= (1 - decay) * (variable - value)."""
  with name_scope(name, 'AssignMovingAvg', [variable, value, decay]) as scope:
    with colocate_with(variable.op):
      rest = convert(1.0 - decay, name='decay')
      rest = math.cast(rest, variable.dtype.base_dtype)
      if zero_debias:
        return _assign_without_bias(variable, value, rest, scope)
      return assign.assign_sub(variable, (variable - value) * rest, name=scope)


def _assign_without_bias(variable, value, rest, name):
  """Sets the variable to the average since the first step, as if it had not begun at 0: another
  variable has the average from 0, which is divided by how much of it is of values."""
  with variable_scope.variable_scope(variable.op.name, values=[variable, value, rest]):
    with init_scope():
      make = lambda name, shape: variable_scope.get_variable(
          name, shape=shape, dtype=variable.dtype.base_dtype, trainable=False,
          initializer=initializers.zeros_initializer())
      biased, steps = make('biased', variable.get_shape()), make('local_step', [])
    biased = assign.assign_sub(biased, (biased - value) * rest)
    counted = assign.assign_add(steps, 1)
    return assign.assign(variable, biased / (1 - math.pow(1.0 - rest, counted)), name=name)


@export('train.ExponentialMovingAverage')
class ExponentialMovingAverage:
  """Keeps averages of variables, that follow them with a delay."""

  def __init__(self, decay, num_updates=None, zero_debias=False, name='ExponentialMovingAverage'):
    self._decay, self._num_updates, self._name = decay, num_updates, name
    self._zero_debias, self._averages = zero_debias, {}

  name = property(lambda self: self._name)

  @staticmethod
  def _key(var):
    return var.experimental_ref()

  def apply(self, var_list=None):
    """An operation that brings the averages nearer to the values."""
    from leat._train import optimizer
    if var_list is None:
      var_list = variables.trainable_variables()
    for var in var_list:
      if var.dtype.base_dtype not in (dtypes.float16, dtypes.float32, dtypes.float64,
                                      dtypes.bfloat16):
        raise TypeError('The variables must be half, float, or double: %s' % var.name)
      if self._key(var) in self._averages:
        raise ValueError('Moving average already computed for: %s' % var.name)
      with init_scope():
        if isinstance(var, variables.Variable):
          average = optimizer.create_slot(var, lambda v=var: _initialized(v), self._name)
          graphs.get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
        else:
          average = optimizer.create_slot(var, lambda v=var: array.zeros(
              v.get_shape(), v.dtype.base_dtype), self._name)
      self._averages[self._key(var)] = average
    with name_scope(self._name) as scope:
      decay = convert(self._decay, dtypes.float32, 'decay')
      if self._num_updates is not None:
        n = math.cast(self._num_updates, dtypes.float32, name='num_updates')
        decay = apply_op('Minimum', x=decay, y=(1.0 + n) / (10.0 + n))
      updates = [assign_moving_average(
          self._averages[self._key(v)], v, decay,
          zero_debias=self._zero_debias and not isinstance(v, variables.Variable))
                 for v in var_list]
      return control.group(*updates, name=scope)

  def average(self, var):
    """The variable with the average of var, or None."""
    return self._averages.get(self._key(var))

  def average_name(self, var):
    if self._key(var) in self._averages:
      return self._averages[self._key(var)].op.name
    return graphs.get_default_graph().unique_name_(var.op.name + '/' + self._name, False)

  def variables_to_restore(self, moving_avg_variables=None):
    """{name in a checkpoint: variable}, with the averages for the variables."""
    names = {}
    if moving_avg_variables is None:
      moving_avg_variables = variables.trainable_variables() + variables.moving_average_variables()
    moving = list({id(v): v for v in moving_avg_variables}.values())
    for v in moving:
      names[self.average_name(v)] = v
    rest = {v.op.name for v in moving}
    for v in variables.global_variables():
      if v.op.name not in rest and v.op.name not in names:
        names[v.op.name] = v
    return names


def _initialized(variable):
  return variable.initial_value
