"""Moving averages of variables and tensors."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import GraphKeys, colocate_with, device, init_scope, name_scope
from leat._ops import (assign, control, initializers, math, variable_collections, variable_scope,
                       variables)



@export('python.training.moving_averages.assign_moving_average')
def assign_moving_average(variable, value, decay, zero_debias=True, name=None):
  """variable -= (1 - decay) * (variable - value). With zero_debias the variable, which begins with
  zeros, becomes the average of the values alone, without that beginning."""
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
  with variable_scope.variable_scope(variable.op.name, values=[variable, value, rest]) as scope:
    with init_scope(), colocate_with(variable.op):
      make = lambda name, shape: variable_scope.get_variable(
          _free_name(scope, name), shape=shape, dtype=variable.dtype.base_dtype, trainable=False,
          initializer=initializers.zeros_initializer())
      biased, steps = make('biased', variable.get_shape()), make('local_step', [])
  biased = assign.assign_sub(biased, (biased - value) * rest)
  counted = assign.assign_add(steps, 1)
  return assign.assign(variable, biased / (1 - math.pow(1.0 - rest, counted)), name=name)


def _free_name(scope, name):
  """`name`, with a number where the scope has such a variable and does not reuse variables."""
  used = {v.op.name for v in scope.global_variables()}
  candidate, number = name, 0
  while not scope.reuse and scope.name + '/' + candidate in used:
    number += 1
    candidate = '%s_%d' % (name, number)
  return candidate


@export('python.training.moving_averages.weighted_moving_average')
def weighted_moving_average(value, decay, weight, truediv=True, collections=None, name=None):
  """A tensor with the average of value * weight divided by that of weight; both averages are
  variables that each step moves."""
  if collections is None:
    collections = [GraphKeys.GLOBAL_VARIABLES]
  with variable_scope.variable_scope(name, 'WeightedMovingAvg', [value, weight, decay]) as scope:
    make = lambda name, like: variable_scope.get_variable(
        name, shape=like.get_shape(), dtype=like.dtype, trainable=False, collections=collections,
        initializer=initializers.zeros_initializer())
    value, weight = convert(value), convert(weight)
    products, weights = make('value_x_weight', value), make('weight', weight)
    above = assign_moving_average(products, value * weight, decay, zero_debias=False)
    below = assign_moving_average(weights, weight, decay, zero_debias=False)
    divide = math.truediv if truediv else math.divide
    return divide(above, below, name=scope.name)


@export('train.ExponentialMovingAverage')
class ExponentialMovingAverage:
  """Keeps running averages of variables: average = decay * average + (1 - decay) * value. `apply`
  makes the operation that updates them, to run after each step of training, `average` gives the one
  of a variable. With num_updates early averages follow faster."""

  def __init__(self, decay, num_updates=None, zero_debias=False, name='ExponentialMovingAverage'):
    self._decay, self._num_updates, self._name = decay, num_updates, name
    self._zero_debias, self._averages = zero_debias, {}

  name = property(lambda self: self._name)

  @staticmethod
  def _key(var):
    return var.experimental_ref()

  def apply(self, var_list=None):
    """An operation that brings the averages nearer to the values."""
    if var_list is None:
      var_list = variable_collections.trainable_variables()
    for var in var_list:
      if var.dtype.base_dtype not in (dtypes.float16, dtypes.float32, dtypes.float64,
                                      dtypes.bfloat16):
        raise TypeError('The variables must be half, float, or double: %s' % var.name)
      if self._key(var) in self._averages:
        raise ValueError('Moving average already computed for: %s' % var.name)
      with init_scope():
        average = self._made(var)
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

  def _made(self, var):
    """The variable for the average: of a variable it begins with its initial value, of a tensor
    with zeros."""
    from leat._train import optimizer
    if isinstance(var, variables.Variable):
      with device(var.device):
        initial = var.initialized_value()
      graphs.get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
      return optimizer.create_slot(var, initial, self._name)
    holds_state = var.op.type in ('Variable', 'VariableV2', 'VarHandleOp')
    return optimizer.create_zeros_slot(var, self._name, colocate_with_primary=holds_state)

  def average(self, var):
    """The variable with the average of var, or None."""
    return self._averages.get(self._key(var))

  def average_name(self, var):
    """The name that the average of a variable is saved under."""
    if self._key(var) in self._averages:
      return self._averages[self._key(var)].op.name
    return graphs.get_default_graph().unique_name(var.op.name + '/' + self._name, False)

  def variables_to_restore(self, moving_avg_variables=None):
    """{name in a checkpoint: variable}, with the averages for the variables."""
    names = {}
    if moving_avg_variables is None:
      moving_avg_variables = variable_collections.trainable_variables() + \
          variable_collections.moving_average_variables()
    moving = list({id(v): v for v in moving_avg_variables}.values())
    for v in moving:
      names[self.average_name(v)] = v
    rest = {v.op.name for v in moving}
    for v in variable_collections.global_variables():
      if v.op.name not in rest and v.op.name not in names:
        names[v.op.name] = v
    return names
