"""contrib.framework: variables of models, of a step and global ones, lists of them by scope and
name, and values for them from arrays and checkpoints."""
from __future__ import annotations

import functools
import re

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys, colocate_with, control_dependencies, name_scope
from leat._ops import array, assign, control, variable_scope, variables
from leat._contrib.arg_scope import add_arg_scope
from leat._train import saver, step

# ---- Making -------------------------------------------------------------------------------------


@export('contrib.framework.assert_or_get_global_step')
def assert_or_get_global_step(graph=None, global_step_tensor=None):
  """`global_step_tensor`, which must be a scalar integer, or the global step of the graph."""
  if global_step_tensor is None:
    return step.get_global_step(graph)
  step.assert_global_step(global_step_tensor)
  return global_step_tensor


@export('contrib.framework.local_variable')
def local_variable(initial_value, validate_shape=True, name=None, use_resource=None):
  """A variable that is not saved and not trained."""
  return variables.Variable(initial_value, trainable=False,
                            collections=[GraphKeys.LOCAL_VARIABLES],
                            validate_shape=validate_shape, use_resource=use_resource, name=name)


@export('contrib.framework.global_variable')
def global_variable(initial_value, validate_shape=True, name=None, use_resource=None):
  """A variable that is saved and not trained."""
  return variables.Variable(initial_value, trainable=False,
                            collections=[GraphKeys.GLOBAL_VARIABLES],
                            validate_shape=validate_shape, use_resource=use_resource, name=name)


@export('contrib.framework.variable', 'contrib.slim.variable')
@add_arg_scope
def variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True,
             collections=None, caching_device=None, device=None, partitioner=None,
             custom_getter=None, use_resource=None, synchronization=None, aggregation=None):
  """get_variable on a device: its name, or a function of an operation. `custom_getter` is called
  instead of get_variable."""
  collections = list(collections if collections is not None else [GraphKeys.GLOBAL_VARIABLES])
  collections = list(dict.fromkeys(collections))
  getter = variable_scope.get_variable
  if custom_getter is not None:
    getter = functools.partial(custom_getter, reuse=variable_scope.get_variable_scope().reuse)
  with get_default_graph().device(device or ''):
    return getter(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                  trainable=trainable, collections=collections, caching_device=caching_device,
                  partitioner=partitioner, use_resource=use_resource,
                  synchronization=synchronization, aggregation=aggregation)


@export('contrib.framework.model_variable', 'contrib.slim.model_variable')
@add_arg_scope
def model_variable(name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None,
                   trainable=True, collections=None, caching_device=None, device=None,
                   partitioner=None, custom_getter=None, use_resource=None, synchronization=None,
                   aggregation=None):
  """`variable`, in the collection of the model's variables too."""
  collections = list(collections or []) + [GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
  return variable(name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                  trainable=trainable, collections=collections, caching_device=caching_device,
                  device=device, partitioner=partitioner, custom_getter=custom_getter,
                  use_resource=use_resource, synchronization=synchronization,
                  aggregation=aggregation)


@export('contrib.framework.add_model_variable', 'contrib.slim.add_model_variable')
def add_model_variable(var):
  """Adds a variable to the collection of the model's variables, once."""
  graph = get_default_graph()
  if not any(var is v for v in graph.get_collection(GraphKeys.MODEL_VARIABLES)):
    graph.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


@export('contrib.framework.zero_initializer')
def zero_initializer(ref, use_locking=True, name='zero_initializer'):
  """The value of a variable that has none yet, set to zeros. FailedPreconditionError in the step
  where it has one: the input is already initialized."""
  if not ref.get_shape().is_fully_defined():
    raise ValueError('input is not fully defined: the shape of %s is %s' % (ref.name,
                                                                           ref.get_shape()))
  from leat._ops import control_flow
  with name_scope(name, 'zero_initializer', [ref]) as scope, colocate_with(ref.op):
    done = control_flow.Assert(
        apply_op('LogicalNot', x=variables.is_variable_initialized(ref)),
        ['input is already initialized', ref.name])
    with control_dependencies([done]):
      zeros = array.zeros(ref.get_shape(), ref.dtype.base_dtype)
      return convert(assign.assign(ref, zeros, use_locking=use_locking, name=scope))


# ---- Finding ------------------------------------------------------------------------------------


@export('contrib.framework.get_variables', 'contrib.slim.get_variables')
def get_variables(scope=None, suffix=None, collection=GraphKeys.GLOBAL_VARIABLES):
  """The variables of a collection below a scope (a name or VariableScope), whose names end with the
  suffix."""
  if isinstance(scope, variable_scope.VariableScope):
    scope = scope.name
  if suffix is not None:
    suffix = suffix if ':' in suffix else suffix + ':'
    scope = (scope or '') + '.*' + suffix
  return get_default_graph().get_collection(collection, scope)


def _of_collection(key, what):
  def function(scope=None, suffix=None):
    return get_variables(scope, suffix, key)
  function.__doc__ = 'get_variables of the %s variables.' % what
  return function


get_model_variables = _of_collection(GraphKeys.MODEL_VARIABLES, "model's")
get_local_variables = _of_collection(GraphKeys.LOCAL_VARIABLES, 'local')
get_trainable_variables = _of_collection(GraphKeys.TRAINABLE_VARIABLES, 'trainable')
EXPORTS = {'contrib.' + space + '.' + name: name for space in ('framework', 'slim') for name in (
    'get_model_variables', 'get_local_variables', 'get_trainable_variables')}


@export('contrib.framework.get_variables_to_restore', 'contrib.slim.get_variables_to_restore')
def get_variables_to_restore(include=None, exclude=None):
  """The global variables in the scopes `include` (all where it is None) and in none of
  `exclude`."""
  if include is None:
    found = get_variables()
  else:
    _list_of('include', include)
    found = [v for scope in include for v in get_variables(scope)]
  if exclude is not None:
    _list_of('exclude', exclude)
    out = {id(v) for scope in exclude for v in get_variables(scope)}
    found = [v for v in found if id(v) not in out]
  return found


def _list_of(name, value):
  if not isinstance(value, (list, tuple)):
    raise TypeError('%s is provided but is not a list or a tuple: %r' % (name, value))


@export('contrib.framework.get_variables_by_suffix', 'contrib.slim.get_variables_by_suffix')
def get_variables_by_suffix(suffix, scope=None):
  """The global variables whose names, without ':0', end with `suffix`; with `scope`, only those in
  it."""
  return get_variables(scope=scope, suffix=suffix)


@export('contrib.framework.get_variables_by_name', 'contrib.slim.get_variables_by_name')
def get_variables_by_name(given_name, scope=None):
  """The variables whose name is `given_name`, in whatever scope below `scope`."""
  return get_variables(scope, '/' + given_name + ':|^' + given_name + ':')


@export('contrib.framework.get_unique_variable', 'contrib.slim.get_unique_variable')
def get_unique_variable(var_op_name):
  """The global variable of that full name; ValueError where there is not exactly one."""
  candidates = get_variables(var_op_name)
  if not candidates:
    raise ValueError('Couldnt find variable %s' % var_op_name)
  for candidate in candidates:
    if candidate.op.name == var_op_name:
      return candidate
  raise ValueError('Variable %s does not uniquely identify a variable' % var_op_name)


@export('contrib.framework.get_variable_full_name', 'contrib.slim.get_variable_full_name')
def get_variable_full_name(var):
  """The name in checkpoints: that of the whole for a part of a variable."""
  info = getattr(var, '_save_slice_info', None)
  return info.full_name if info is not None else var.op.name


@export('contrib.framework.filter_variables', 'contrib.slim.filter_variables')
def filter_variables(var_list, include_patterns=None, exclude_patterns=None, reg_search=True):
  """The variables whose name matches one of the regular expressions `include_patterns` (all where
  it is empty) and none of `exclude_patterns`: anywhere with `reg_search`, else from the start."""
  match = re.search if reg_search else re.match
  matches = lambda v, patterns: any(match(p, v.op.name) for p in patterns)
  found = list(var_list)
  if include_patterns:
    found = [v for p in include_patterns for v in var_list if match(p, v.op.name)]
  if exclude_patterns:
    found = [v for v in found if not matches(v, exclude_patterns)]
  return found


# ---- Values -------------------------------------------------------------------------------------


@export('contrib.framework.assign_from_values', 'contrib.slim.assign_from_values')
def assign_from_values(var_names_to_values):
  """(operation, feeds) that set variables to arrays: `sess.run(operation, feeds)`."""
  feeds, assignments = {}, []
  for name, value in var_names_to_values.items():
    var = get_unique_variable(name)
    holder = apply_op('Placeholder', dtype=var.dtype.base_dtype, shape=var.get_shape(),
                      name='placeholder/' + var.op.name)
    assignments.append(assign.assign(var, holder))
    feeds[holder] = value.reshape(var.get_shape().as_list()) if hasattr(value, 'reshape') else value
  return control.group(*assignments), feeds


@export('contrib.framework.assign_from_values_fn', 'contrib.slim.assign_from_values_fn')
def assign_from_values_fn(var_names_to_values):
  """The same as a function of a session."""
  operation, feeds = assign_from_values(var_names_to_values)
  return lambda session: session.run(operation, feeds)


def _by_name(var_list):
  """{name in the checkpoint: variable, or the parts of one}."""
  if not isinstance(var_list, (list, tuple)):
    return dict(var_list)
  grouped = {}
  for var in var_list:
    name = get_variable_full_name(var)
    if name in grouped and getattr(var, '_save_slice_info', None) is None:
      raise ValueError('Variables in var_list must have different names: %s' % name)
    grouped.setdefault(name, []).append(var)
  return grouped


@export('contrib.framework.assign_from_checkpoint', 'contrib.slim.assign_from_checkpoint')
def assign_from_checkpoint(model_path, var_list, ignore_missing_vars=False):
  """(operation, feeds) that set variables (a list, or a dict from names in the checkpoint) to what
  the checkpoint has. ValueError where it has no such name, unless these are ignored, or where the
  number of elements differs; a shape of as many elements fits."""
  reader, feeds, assignments = _reader(model_path), {}, []
  for name, parts in _by_name(var_list).items():
    if not reader.has_tensor(name):
      text = 'Checkpoint is missing variable [%s]' % name
      if not ignore_missing_vars:
        raise ValueError(text)
      from leat._platform import log
      log.warning(text)
      continue
    value = reader.get_tensor(name)
    for var in parts if isinstance(parts, (list, tuple)) else [parts]:
      own, info = value, getattr(var, '_save_slice_info', None)
      if info is not None:
        own = own[tuple(slice(o, o + s) for o, s in zip(info.var_offset, info.var_shape))]
      shape = var.get_shape()
      if not shape.is_fully_defined() or shape.num_elements() != own.size:
        raise ValueError('Total size of new array must be unchanged for %s lh_shape: [%s], '
                         'rh_shape: [%s]' % (name, own.shape, shape))
      holder = apply_op('Placeholder', dtype=var.dtype.base_dtype, shape=shape,
                        name='placeholder/' + var.op.name)
      assignments.append(assign.assign(var, holder))
      feeds[holder] = own.reshape(shape.as_list())
  return control.group(*assignments), feeds


@export('contrib.framework.assign_from_checkpoint_fn', 'contrib.slim.assign_from_checkpoint_fn')
def assign_from_checkpoint_fn(model_path, var_list, ignore_missing_vars=False,
                              reshape_variables=False):
  """A function of a session that restores the variables; None where none is to be restored.
  ValueError where `var_list` is empty."""
  if not var_list:
    raise ValueError('var_list cannot be empty')
  if ignore_missing_vars:
    from leat._platform import log
    reader = _reader(model_path)
    named = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
    var_list = {}
    for name, var in named.items():
      if reader.has_tensor(name):
        var_list[name] = var
      else:
        log.warning('Variable %s missing in checkpoint %s', name, model_path)
  if not var_list:
    from leat._platform import log
    log.warning('No Variables to restore')
    return None
  restorer = saver.Saver(var_list, reshape=reshape_variables)
  return lambda session: restorer.restore(session, model_path)


def _reader(model_path):
  from leat import train
  return train.NewCheckpointReader(model_path)


@export('contrib.framework.VariableDeviceChooser', 'contrib.slim.VariableDeviceChooser')
class VariableDeviceChooser:
  """A device function for variables: each one goes to the next of `num_tasks` tasks of a job, in
  turn, and to a device of that task. It is given as `device` to `variable`."""

  def __init__(self, num_tasks=0, job_name='ps', device_type='CPU', device_index=0, replica=None):
    self._tasks, self._job, self._type = num_tasks, job_name, device_type
    self._index, self._replica, self._next = device_index, replica, 0

  def __call__(self, op):
    del op
    place = '/job:%s' % self._job if self._tasks > 0 else ''
    if self._replica is not None:
      place += '/replica:%d' % self._replica
    if self._tasks > 0:
      place += '/task:%d' % self._next
      self._next = (self._next + 1) % self._tasks
    return place + '/device:%s:%d' % (self._type, self._index)
