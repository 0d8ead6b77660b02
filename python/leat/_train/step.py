"""The global step: the variable that counts steps."""
from __future__ import annotations

import os

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph import message_text
from leat._graph.scope import GraphKeys, name_scope
from leat._ops import control_flow, initializers, variable_scope, variables
from leat._platform import files, paths

# The collection that keeps the tensor of global_step_read().
_READ_KEY = 'global_step_read_op_cache'


@export('train.get_global_step')
def get_global_step(graph=None):
  """The variable that counts steps, or None where the graph has none. It is the one in the
  collection GLOBAL_STEP, or the variable 'global_step'. TypeError where it is no integer scalar."""
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
  """The variable that counts steps (an int64 scalar of the name 'global_step'); it is made where
  the graph has none."""
  graph = graph or graphs.get_default_graph()
  found = get_global_step(graph)
  return create_global_step(graph) if found is None else found


@export('train.global_step')
def global_step(sess, global_step_tensor):
  """The number of steps in a session."""
  return int(sess.run(global_step_tensor))


def global_step_read(graph=None):
  """A tensor with the value of the global step, with its first value where it is not initialized
  yet; None where there is no global step. It is made once for a graph."""
  graph = graph or graphs.get_default_graph()
  found = graph.get_collection(_READ_KEY)
  if len(found) > 1:
    raise RuntimeError('There are multiple items in collection %s. There should be only one.' %
                       _READ_KEY)
  if found:
    return found[0]
  step = get_global_step(graph)
  if step is None:
    return None
  with graph.as_default(), name_scope(None), name_scope(step.op.name + '/'):
    value = step
    if isinstance(step, variables.Variable):
      value = control_flow.cond(variables.is_variable_initialized(step), step.read_value,
                                lambda: step.initial_value)
    value = value + 0   # a copy: the variable may change while the step runs
  graph.add_to_collection(_READ_KEY, value)
  return value


@export('train.write_graph', 'io.write_graph')
def write_graph(graph_or_graph_def, logdir, name, as_text=True):
  """Writes a GraphDef to logdir/name, which replaces the file at once; gives the path."""
  graph_def = graph_or_graph_def
  if isinstance(graph_or_graph_def, graphs.Graph):
    graph_def = graph_or_graph_def.as_graph_def()
  paths.makedirs(logdir, exist_ok=True)
  path = os.path.join(logdir, name)
  files.replace(path, message_text.for_file(graph_def, as_text))
  return path
