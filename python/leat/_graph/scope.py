"""The functions that set how operations of the default graph are made, and its collections."""
from __future__ import annotations

from leat._export import export
from leat._graph import graph as graphs
from leat._graph.graph import get_default_graph


@export('name_scope')
class name_scope:
  """Puts a common beginning before the names of operations that are added in a `with` block.

  The value of `with` is the scope with a slash at its end; a name that is taken already gets a
  number. A `name` that ends with a slash is entered as it is. Where `name` is None, default_name is
  used. With `values`, a list of tensors, their graph becomes the default one.

  >>> with tf.name_scope('layer') as scope:
  ...   x = tf.constant(1.0, name='x')
  >>> scope, x.name
  ('layer/', 'layer/x:0')
  """

  def __init__(self, name, default_name=None, values=None):
    if not (default_name is None or isinstance(default_name, str)):
      raise TypeError('`default_name` type (%s) is not a string type. You likely meant to pass '
                      'this into the `values` kwarg.' % type(default_name))
    self._name = default_name if name is None else name
    self._given, self._default_name, self._values = name, default_name, values

  @property
  def name(self):
    """The name that was asked for."""
    return self._name

  def __enter__(self):
    if self._name is None and self._values is not None:
      raise ValueError('At least one of name (%s) and default_name (%s) must be provided.' %
                       (self._given, self._default_name))
    graph = graphs.of_inputs(self._values or ())
    self._scope, self._default = graph.name_scope(self._name), graph.as_default()
    scope = self._scope.__enter__()
    self._default.__enter__()
    return scope

  def __exit__(self, *unused):
    self._default.__exit__()
    self._scope.__exit__()


@export('op_scope')
def op_scope(values, name, default_name=None):
  """name_scope with the arguments in another order; deprecated."""
  return name_scope(name, default_name=default_name, values=values)


@export('device')
def device(device_name_or_function):
  """Places the operations that are added in a `with` block.

  The argument is the name of a device ('/cpu:0', '/job:ps/task:1'), of which parts that are left
  out stay open, a function that gives the name for an operation, or None, which takes away what the
  blocks around it say. Inner blocks win over outer ones, part by part.

  >>> with tf.device('/cpu:0'):
  ...   x = tf.constant(1.0)
  >>> x.device
  '/device:CPU:0'
  """
  return get_default_graph().device(device_name_or_function)


@export('container')
def container(container_name):
  """Keeps the variables and queues that are made in a `with` block in the container of that name,
  which `tf.Session.reset` can empty. The empty name is the default container."""
  return get_default_graph().container(container_name)


@export('colocate_with')
def colocate_with(op, ignore_existing=False):
  """Places the operations that are added in a `with` block on the device of `op`, an operation,
  tensor or variable. With ignore_existing the blocks around it are not regarded."""
  return get_default_graph().colocate_with(op, ignore_existing)


@export('control_dependencies')
def control_dependencies(control_inputs):
  """Operations that are added in a `with` block run after control_inputs, a list of operations and
  tensors. None instead of a list takes away the dependencies of the blocks around it.

  An operation must be added inside of the block: one that existed before does not wait.

  >>> count = tf.Variable(0)
  >>> with tf.control_dependencies([tf.assign_add(count, 1)]):
  ...   after = tf.identity(count)
  """
  return get_default_graph().control_dependencies(control_inputs)


@export('init_scope')
def init_scope():
  """Operations inside depend on nothing that is being built around them."""
  return get_default_graph().control_dependencies(None)


@export('add_to_collection')
def add_to_collection(name, value):
  """Appends a value to the collection `name` of the default graph; get_collection gives them all.
  Names of collections that the library itself reads are in tf.GraphKeys."""
  get_default_graph().add_to_collection(name, value)


@export('add_to_collections')
def add_to_collections(names, value):
  """Appends a value to each of the collections `names` (a name or several) of the default graph."""
  get_default_graph().add_to_collections(names, value)


@export('get_collection')
def get_collection(key, scope=None):
  """The values in the collection `key` of the default graph, as a new list; empty where there is no
  such collection. With `scope`, a regular expression, only values whose names begin with a match of
  it."""
  return get_default_graph().get_collection(key, scope)


@export('get_collection_ref')
def get_collection_ref(key):
  """The list that is the collection `key` of the default graph: what is appended to it is in the
  collection. It is made where there is none."""
  return get_default_graph().get_collection_ref(key)


@export('executing_eagerly')
def executing_eagerly():
  """Leat runs graphs only."""
  return False


@export('disable_eager_execution')
def disable_eager_execution():
  """There is none."""


@export('disable_tensor_equality')
def disable_tensor_equality():
  """Tensors are compared by identity, always."""


@export('disable_v2_tensorshape')
def disable_v2_tensorshape():
  """Sizes of a TensorShape are Dimensions, always."""


@export('disable_v2_behavior')
def disable_v2_behavior():
  """There is none."""


_resource_variables = [False]   # the kind of variables for which no use_resource is said


@export('enable_resource_variables')
def enable_resource_variables():
  """Variables are behind handles from now on, unless `use_resource` says otherwise."""
  _resource_variables[0] = True


@export('disable_resource_variables')
def disable_resource_variables():
  """Variables are references, as from the start, unless `use_resource` says otherwise."""
  _resource_variables[0] = False


@export('resource_variables_enabled')
def resource_variables_enabled():
  """Whether variables are behind handles where `use_resource` does not say."""
  return _resource_variables[0]


@export('executing_eagerly_outside_functions')
def executing_eagerly_outside_functions():
  """Leat runs graphs only."""
  return False


@export('set_random_seed', 'random.set_random_seed', 'random.set_seed')
def set_random_seed(seed):
  """Sets the seed of the default graph, from which the seeds of its random operations follow. It
  holds for operations that are added afterwards: the same program gives the same numbers at each
  start."""
  get_default_graph().seed = seed


@export('get_seed', 'random.get_seed')
def get_seed(op_seed):
  """The pair of seeds for an operation with the seed `op_seed`."""
  graph = get_default_graph()
  if graph.seed is not None:
    if op_seed is None:
      op_seed = graph._next_op_seed()
    seeds = graph.seed, op_seed
  else:
    seeds = (87654321, op_seed) if op_seed is not None else (None, None)
  seeds = tuple(None if s is None else s % (2 ** 31 - 1) for s in seeds)
  return (0, 2 ** 31 - 1) if seeds == (0, 0) else seeds


@export('GraphKeys')
class GraphKeys:
  """Names of the collections of a graph that the library fills or reads, such as
  `GraphKeys.GLOBAL_VARIABLES` and `GraphKeys.UPDATE_OPS`."""
  GLOBAL_VARIABLES = 'variables'
  LOCAL_VARIABLES = 'local_variables'
  METRIC_VARIABLES = 'metric_variables'
  MODEL_VARIABLES = 'model_variables'
  TRAINABLE_VARIABLES = 'trainable_variables'
  SUMMARIES = 'summaries'
  QUEUE_RUNNERS = 'queue_runners'
  TABLE_INITIALIZERS = 'table_initializer'
  ASSET_FILEPATHS = 'asset_filepaths'
  MOVING_AVERAGE_VARIABLES = 'moving_average_variables'
  REGULARIZATION_LOSSES = 'regularization_losses'
  CONCATENATED_VARIABLES = 'concatenated_variables'
  TRAINABLE_RESOURCE_VARIABLES = 'trainable_resource_variables'
  SAVERS = 'savers'
  WEIGHTS = 'weights'
  BIASES = 'biases'
  ACTIVATIONS = 'activations'
  UPDATE_OPS = 'update_ops'
  LOSSES = 'losses'
  SAVEABLE_OBJECTS = 'saveable_objects'
  RESOURCES = 'resources'
  LOCAL_RESOURCES = 'local_resources'
  TRAIN_OP = 'train_op'
  INIT_OP = 'init_op'
  LOCAL_INIT_OP = 'local_init_op'
  READY_OP = 'ready_op'
  READY_FOR_LOCAL_INIT_OP = 'ready_for_local_init_op'
  SUMMARY_OP = 'summary_op'
  GLOBAL_STEP = 'global_step'
  EVAL_STEP = 'eval_step'
  COND_CONTEXT = 'cond_context'
  WHILE_CONTEXT = 'while_context'
  VARIABLES = 'variables'
  _SUMMARY_COLLECTION = '_SUMMARY_V2'
