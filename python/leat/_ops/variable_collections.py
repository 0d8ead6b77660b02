"""The variables of a graph by their collections, and operations on all of them: initialization, and
which have no value yet."""
from __future__ import annotations

from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.scope import GraphKeys, colocate_with, device, name_scope
from leat._ops import array
from leat._ops import control
from leat._ops import variables


def _collection(key):
  def function(scope=None):
    return graphs.get_default_graph().get_collection(key, scope)
  function.__doc__ = """The variables of the collection '%s', as a list; with `scope`, a regular
  expression, only those whose names begin with a match of it.""" % key
  return function


global_variables = _collection(GraphKeys.GLOBAL_VARIABLES)
local_variables = _collection(GraphKeys.LOCAL_VARIABLES)
model_variables = _collection(GraphKeys.MODEL_VARIABLES)
trainable_variables = _collection(GraphKeys.TRAINABLE_VARIABLES)
moving_average_variables = _collection(GraphKeys.MOVING_AVERAGE_VARIABLES)
EXPORTS = {'global_variables': 'global_variables', 'local_variables': 'local_variables',
           'model_variables': 'model_variables', 'trainable_variables': 'trainable_variables',
           'moving_average_variables': 'moving_average_variables'}


@export('all_variables')
def all_variables():
  """The variables of the collection 'variables'; the older name of global_variables."""
  return global_variables()


@export('variables_initializer', 'initializers.variables', 'initialize_variables')
def variables_initializer(var_list, name='init'):
  """An operation that gives the variables of a list their initial values."""
  if var_list:
    return control.group(*[v.initializer for v in var_list], name=name)
  return control.group(name=name)


@export('global_variables_initializer', 'initializers.global_variables',
        'initialize_all_variables')
def global_variables_initializer():
  """An operation that gives all global variables of the graph their initial values. Run it once in
  each session, before training."""
  return variables_initializer(global_variables())


@export('local_variables_initializer', 'initializers.local_variables',
        'initialize_local_variables')
def local_variables_initializer():
  """An operation that initializes all local variables: those of tf.metrics, and counters of epochs.
  """
  return variables_initializer(local_variables())


@export('report_uninitialized_variables')
def report_uninitialized_variables(var_list=None, name='report_uninitialized_variables'):
  """The names of the variables without a value."""
  if var_list is None:
    var_list = global_variables() + local_variables()
  with name_scope(name):
    names = [v.op.name for v in var_list]
    if not names:
      return conversion.constant_of([], dtypes.string)
    initialized = [variables.is_variable_initialized(v) for v in var_list]
    with device('/cpu:0'):
      missing = apply_op('LogicalNot', x=array.stack(initialized))
      return array.boolean_mask(conversion.constant_of(names), missing)


@export('assert_variables_initialized')
def assert_variables_initialized(var_list=None):
  """Fails where a variable has no value."""
  if var_list is None:
    var_list = global_variables() + local_variables()
  if not var_list:
    return None
  ranks = []
  for v in var_list:
    with colocate_with(v.op):
      ranks.append(apply_op('Rank', input=v._ref() if v._handle is None else v))
  return ranks[0] if len(ranks) == 1 else array.stack(ranks)
