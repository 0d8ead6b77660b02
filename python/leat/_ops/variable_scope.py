"""get_variable and variable_scope: variables that are shared by their names."""
from __future__ import annotations

import contextlib
import inspect
import threading

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph import value as values
from leat._graph.conversion import convert
from leat._graph.scope import GraphKeys, name_scope as graph_name_scope
from leat._graph.shape import as_shape
from leat._ops import initializers, variable_sharing, variables

_STORE, _SCOPE = '__variable_store', '__varscope'


class _Reuse:
  """tf.AUTO_REUSE."""

  def __repr__(self):
    return '_ReuseMode.AUTO_REUSE'


AUTO_REUSE = _Reuse()
EXPORTS = {'AUTO_REUSE': 'AUTO_REUSE'}


def _graph_item(key, make):
  items = graphs.get_default_graph().get_collection_ref((key,))
  if not items:
    items.append(make())
  return items[0]


class _Use:
  """How often the name of a scope was used, and the same for the names below it."""
  __slots__ = ('count', 'below')

  def __init__(self):
    self.count, self.below = 0, {}   # part of a name -> _Use

  def copy(self):
    made = _Use()
    made.count, made.below = self.count, {name: use.copy() for name, use in self.below.items()}
    return made


class _State(threading.local):
  """The current scope of a thread, and how often the name of each scope was used."""

  def __init__(self):
    self.current = VariableScope(False)
    self.uses = _Use()

  def use_of(self, name):
    use = self.uses
    for part in name.split('/') if name else ():
      found = use.below.get(part)
      if found is None:
        found = use.below[part] = _Use()
      use = found
    return use


class VariableStore:
  """The variables of a graph by name."""

  def __init__(self):
    self.variables, self.partitioned = {}, {}

  def get(self, name, shape, dtype, initializer, regularizer, reuse, trainable, collections,
          caching_device, partitioner, validate_shape, use_resource, constraint,
          synchronization=None, aggregation=None):
    if partitioner is not None and shape is not None and as_shape(shape).ndims:
      return self._get_partitioned(name, as_shape(shape), dtype, initializer, regularizer, reuse,
                                   trainable, collections, caching_device, partitioner,
                                   validate_shape, use_resource, constraint)
    if reuse is True and partitioner is None and name in self.partitioned:
      return self._get_partitioned(name, as_shape(shape), dtype, initializer, regularizer, reuse,
                                   trainable, collections, caching_device, None, validate_shape,
                                   use_resource, constraint)
    if '%s/part_0' % name in self.variables:
      raise ValueError('No partitioner was provided, but a partitioned version of the variable was '
                       'found: %s/part_0. Perhaps a variable of the same name was already created '
                       'with partitioning?' % name)
    return self.get_single(name, shape, dtype, initializer, regularizer, reuse, trainable,
                           collections, caching_device, validate_shape, use_resource, constraint,
                           synchronization=synchronization, aggregation=aggregation)

  def get_single(self, name, shape, dtype, initializer, regularizer, reuse, trainable, collections,
                 caching_device, validate_shape, use_resource, constraint, partition_info=None,
                 synchronization=None, aggregation=None):
    given = initializer is not None and not callable(initializer)
    if given and shape is not None:
      raise ValueError('If initializer is a constant, do not specify shape.')
    dtype = dtypes.as_dtype(dtype)
    shape = as_shape(shape)
    found = self.variables.get(name)
    if found is not None:
      if reuse is False:
        where = found.op._where()
        raise ValueError('Variable %s already exists, disallowed. Did you mean to set reuse=True '
                         'or '
                         'reuse=tf.AUTO_REUSE in VarScope?%s' % (
                             name, ' Originally defined at:\n\n' + where if where else ''))
      if not shape.is_compatible_with(found.get_shape()):
        raise ValueError('Trying to share variable %s, but specified shape %s and found shape %s.' %
                         (name, shape, found.get_shape()))
      if not dtype.is_compatible_with(found.dtype):
        raise ValueError('Trying to share variable %s, but specified dtype %s and found dtype %s.' %
                         (name, dtype.name, found.dtype.name))
      return found
    if reuse is True:
      raise ValueError('Variable %s does not exist, or was not created with tf.get_variable(). Did '
                       'you mean to set reuse=tf.AUTO_REUSE in VarScope?' % name)
    if initializer is None:
      initializer = _default_initializer(name, dtype)
    if given:
      initial, kind = initializer, None   # the type of the value
    else:
      if isinstance(initializer, type):
        initializer = initializer()
      if shape.is_fully_defined() or not validate_shape:
        initial = _call_initializer(initializer, shape, dtype, partition_info)
        kind = dtype.base_dtype
      elif _needs_nothing(initializer):
        initial, kind = initializer, None
      else:
        raise ValueError('Shape of a new variable (%s) must be fully defined, but instead was %s.' %
                         (name, shape))
    variable = variables.Variable(
        initial_value=initial, name=name, trainable=trainable, collections=collections,
        caching_device=caching_device, dtype=kind, validate_shape=validate_shape,
        constraint=constraint, use_resource=use_resource, synchronization=synchronization,
        aggregation=aggregation)
    self.variables[name] = variable
    if regularizer:
      _regularize(variable, name, regularizer)
    return variable

  def _get_partitioned(self, name, shape, dtype, initializer, regularizer, reuse, trainable,
                       collections, caching_device, partitioner, validate_shape, use_resource,
                       constraint):
    from leat._ops import partitioned
    return partitioned.get(self, name, shape, dtype, initializer, regularizer, reuse, trainable,
                           collections, caching_device, partitioner, validate_shape, use_resource,
                           constraint)


def _type_of(value):
  """The type of the constant or tensor that a variable begins with."""
  found = getattr(value, 'dtype', None)
  if found is None:
    found = values.make(value).dtype_ if _is_constant(value) else convert(value).dtype
  return dtypes.as_dtype(found).base_dtype


def _is_constant(value):
  """Whether it holds no tensors."""
  if isinstance(value, (list, tuple)):
    return all(map(_is_constant, value))
  return not isinstance(value, _leat.Output) and not hasattr(value, '_as_graph_element')


def _call_initializer(initializer, shape, dtype, partition_info):
  sizes = shape.as_list() if shape.ndims is not None else None

  def call():
    try:
      if partition_info is not None:
        return initializer(sizes, dtype=dtype, partition_info=partition_info)
      return initializer(sizes, dtype=dtype)
    except TypeError as error:
      if "argument: 'partition_info'" in str(error):   # it has no default
        return initializer(sizes, dtype=dtype, partition_info=None)
      if 'dtype' not in str(error) and 'positional' not in str(error):
        raise
      return initializer() if 'positional' in str(error) else initializer(sizes)
  return call


def _needs_nothing(initializer):
  """Whether it is a function without arguments, which gives a value with a shape of its own."""
  try:
    parameters = inspect.signature(initializer).parameters.values()
  except (TypeError, ValueError):
    return False
  return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
             for p in parameters)


def _default_initializer(name, dtype):
  if dtype.is_floating:
    return initializers.glorot_uniform_initializer()
  if dtype.is_integer or dtype.is_unsigned or dtype.is_bool or dtype == dtypes.string:
    return initializers.zeros_initializer()
  raise ValueError('An initializer for variable %s of %s is required' % (name, dtype.base_dtype))


def _regularize(variable, name, regularizer):
  graph = graphs.get_default_graph()
  with graph.colocate_with(variable.op), graph_name_scope(name + '/Regularizer/'):
    loss = regularizer(variable)
  if loss is not None:
    graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


@export('VariableScope')
class VariableScope:
  """Where get_variable looks for variables, and the defaults for those that it makes."""

  def __init__(self, reuse, name='', initializer=None, regularizer=None, caching_device=None,
               partitioner=None, custom_getter=None, name_scope='', dtype=dtypes.float32,
               use_resource=None, constraint=None):
    self._name, self._reuse = name, reuse
    self._initializer, self._regularizer = initializer, regularizer
    self._caching_device, self._partitioner = caching_device, partitioner
    self._custom_getter, self._name_scope = custom_getter, name_scope
    self._dtype, self._use_resource, self._constraint = dtype, use_resource, constraint

  name = property(lambda self: self._name)
  original_name_scope = property(lambda self: self._name_scope)
  reuse = property(lambda self: self._reuse)
  initializer = property(lambda self: self._initializer)
  regularizer = property(lambda self: self._regularizer)
  dtype = property(lambda self: self._dtype)
  use_resource = property(lambda self: self._use_resource)
  caching_device = property(lambda self: self._caching_device)
  partitioner = property(lambda self: self._partitioner)
  custom_getter = property(lambda self: self._custom_getter)
  constraint = property(lambda self: self._constraint)

  def reuse_variables(self):
    self._reuse = True

  def set_initializer(self, initializer):
    self._initializer = initializer

  def set_regularizer(self, regularizer):
    self._regularizer = regularizer

  def set_caching_device(self, caching_device):
    self._caching_device = caching_device

  def set_partitioner(self, partitioner):
    self._partitioner = partitioner

  def set_custom_getter(self, custom_getter):
    self._custom_getter = custom_getter

  def set_dtype(self, dtype):
    self._dtype = dtype

  def set_use_resource(self, use_resource):
    self._use_resource = use_resource

  def get_collection(self, name):
    scope = self._name + '/' if self._name else self._name
    return graphs.get_default_graph().get_collection(name, scope)

  def trainable_variables(self):
    return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

  def global_variables(self):
    return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

  def local_variables(self):
    return self.get_collection(GraphKeys.LOCAL_VARIABLES)

  def get_variable(self, store, name, shape=None, dtype=None, initializer=None, regularizer=None,
                   reuse=None, trainable=None, collections=None, caching_device=None,
                   partitioner=None, validate_shape=True, use_resource=None, custom_getter=None,
                   constraint=None, synchronization=None, aggregation=None):
    """The variable of that name in the scope."""
    synchronization, aggregation, trainable = variable_sharing.shared_settings(
        synchronization, aggregation, trainable)
    regularizer = self._regularizer if regularizer is None else regularizer
    caching_device = self._caching_device if caching_device is None else caching_device
    partitioner = self._partitioner if partitioner is None else partitioner
    custom_getter = self._custom_getter if custom_getter is None else custom_getter
    if custom_getter is not None and not callable(custom_getter):
      raise ValueError('Passed a custom_getter which is not callable: %s' % (custom_getter,))
    reuse = self._reuse if reuse is None or self._reuse is True else reuse
    use_resource = self._use_resource if use_resource is None else use_resource
    constraint = self._constraint if constraint is None else constraint
    full = self._name + '/' + name if self._name else name
    with graph_name_scope(None):
      is_own = initializer is not None
      if not is_own:
        initializer = self._initializer
      if initializer is not None and not callable(initializer):
        given = _type_of(initializer)
        if is_own and dtype is not None and given != dtypes.as_dtype(dtype).base_dtype:
          raise ValueError("Initializer type '%s' and explicit dtype '%s' don't match." % (
              given, dtypes.as_dtype(dtype)))
        dtype = given
      elif dtype is None:
        dtype = self._dtype
      named = dict(shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
                   reuse=reuse, trainable=trainable, collections=collections,
                   caching_device=caching_device, partitioner=partitioner,
                   validate_shape=validate_shape, use_resource=use_resource, constraint=constraint,
                   synchronization=synchronization, aggregation=aggregation)
      if custom_getter is None:
        return store.get(full, **named)

      def getter(name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None,
                 reuse=None, trainable=None, collections=None, caching_device=None,
                 partitioner=None, validate_shape=True, use_resource=None, constraint=None,
                 synchronization=None, aggregation=None):
        return store.get(name, shape, dtype, initializer, regularizer, reuse, trainable,
                         collections, caching_device, partitioner, validate_shape, use_resource,
                         constraint, synchronization, aggregation)
      return custom_getter(getter, name=full, **named)


def _store():
  return _graph_item(_STORE, VariableStore)


def _state():
  return _graph_item(_SCOPE, _State)


@export('get_variable_scope')
def get_variable_scope():
  """The variable scope that get_variable works in now. `reuse_variables()` on it lets it give
  variables that exist."""
  return _state().current


@export('get_variable')
def get_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None,
                 collections=None, caching_device=None, partitioner=None, validate_shape=True,
                 use_resource=None, custom_getter=None, constraint=None, synchronization=None,
                 aggregation=None):
  """The variable of that name in the current variable scope: the one that is there where the scope
  says `reuse`, else a new one.

  A new one needs a shape, or an initializer that is a value. Without `initializer` it is that of
  the scope, or glorot_uniform_initializer. `regularizer` is a function of the variable, whose
  result is added to the collection REGULARIZATION_LOSSES. With a `partitioner` the variable is made
  of several. ValueError where the variable exists and may not be reused, does not exist and must
  be, or has another shape or type.

  >>> with tf.variable_scope('layer'):
  ...   w = tf.get_variable('w', [3, 2])
  >>> with tf.variable_scope('layer', reuse=True):
  ...   tf.get_variable('w', [3, 2]) is w
  True
  """
  return get_variable_scope().get_variable(
      _store(), name, shape, dtype, initializer, regularizer, None, trainable, collections,
      caching_device, partitioner, validate_shape, use_resource, custom_getter, constraint,
      synchronization, aggregation)


@export('get_local_variable')
def get_local_variable(name, shape=None, dtype=None, initializer=None, regularizer=None,
                       trainable=False, collections=None, **named):
  """The same for a local variable."""
  collections = (collections or []) + [GraphKeys.LOCAL_VARIABLES]
  return get_variable(name, shape, dtype, initializer, regularizer, False, collections, **named)


@export('variable_scope')
class variable_scope:
  """Names the variables of get_variable, and operations, that are made in a `with` block:
  'layer/w'.

  `name_or_scope` is a name, or a scope to enter again. default_name is used where it is None, with
  a number where it is taken. With `reuse` True variables must be there already, with tf.AUTO_REUSE
  they may be. The other arguments are defaults of get_variable inside; what is left out comes from
  the scope around it.
  """

  def __init__(self, name_or_scope, default_name=None, values=None, initializer=None,
               regularizer=None, caching_device=None, partitioner=None, custom_getter=None,
               reuse=None, dtype=None, use_resource=None, constraint=None,
               auxiliary_name_scope=True):
    if default_name is None and name_or_scope is None:
      raise TypeError('If default_name is None then name_or_scope is required')
    if default_name is not None and not isinstance(default_name, str):
      raise TypeError('`default_name` must be a string')
    if reuse is False:
      reuse = None
    if not (reuse is True or reuse is None or reuse is AUTO_REUSE):
      raise ValueError('The reuse parameter must be True or False or None.')
    if not isinstance(auxiliary_name_scope, bool):
      raise TypeError('The auxiliary_name_scope must be `True` or `False`, while get %s' %
                      auxiliary_name_scope)
    self._name_or_scope, self._default_name, self._values = name_or_scope, default_name, values
    self._settings = dict(initializer=initializer, regularizer=regularizer,
                          caching_device=caching_device, partitioner=partitioner,
                          custom_getter=custom_getter, dtype=dtype, use_resource=use_resource,
                          constraint=constraint)
    self._reuse, self._auxiliary = reuse, auxiliary_name_scope

  def __enter__(self):
    self._exit = contextlib.ExitStack()
    try:
      self._exit.enter_context(graphs.of_inputs(self._values or ()).as_default())
      return self._enter()
    except BaseException:
      self._exit.close()
      raise

  def _enter(self):
    given = self._name_or_scope
    if given is not None:
      if not isinstance(given, (VariableScope, str)):
        raise TypeError('VariableScope: name_or_scope must be a string or VariableScope.')
      short = given if isinstance(given, str) else given.name.split('/')[-1]
      scope_name = self._names(short, given)
      return self._pure(given, scope_name)
    if self._reuse is True:
      raise ValueError('reuse=True cannot be used without a name_or_scope')
    scope_name = self._names(self._default_name, None)
    return self._pure(self._unique(self._default_name), scope_name)

  def _names(self, short, given):
    """Enters the scope of names of operations; what it is called."""
    graph = graphs.get_default_graph()
    if not self._auxiliary or not short:
      scope = graph._building.scope
      return given.original_name_scope if isinstance(given, VariableScope) else scope
    scope = self._exit.enter_context(graph.name_scope(short))
    return given.original_name_scope if isinstance(given, VariableScope) else scope

  @staticmethod
  def _unique(prefix):
    state = _state()
    current = state.current.name
    full = current + '/' + prefix if current else prefix
    if state.use_of(full).count == 0:
      return prefix
    number = 1
    while state.use_of('%s_%d' % (full, number)).count > 0:
      number += 1
    return '%s_%d' % (prefix, number)

  def _pure(self, given, scope_name):
    """Makes the new scope the current one."""
    state = _state()
    old = self._old = state.current
    settings = self._settings
    if isinstance(given, VariableScope):
      base, name = given, given.name
      reuse = given.reuse if not self._reuse else self._reuse
    else:
      base, name = old, old.name + '/' + given if old.name else given
      reuse = self._reuse or old.reuse
    new = VariableScope(reuse, name, base.initializer, base.regularizer, base.caching_device,
                        base.partitioner, base.custom_getter, scope_name, base.dtype,
                        base.use_resource, base.constraint)
    for key, value in settings.items():
      if value is not None and key != 'custom_getter':
        setattr(new, '_' + key, value)
    getter = settings['custom_getter']
    if getter is not None:
      new._custom_getter = _chain(getter, base.custom_getter)
    use = self._use = state.use_of(name)
    # What was used below a scope is forgotten when it is left; below the scope without a name are
    # all others, which stay. In a scope that is entered again names count from the beginning, and
    # what was used there before is known again afterwards.
    self._below_after = {} if name else use.below
    if isinstance(given, VariableScope):
      self._below_after = use.below
      use.below = {} if name else use.copy().below
    else:
      use.count += 1
    state.current = new
    self._state = state
    return new

  def __exit__(self, kind, value, traceback):
    self._use.below = self._below_after
    self._state.current = self._old
    self._exit.__exit__(kind, value, traceback)
    return False


def _chain(getter, outer):
  """A getter inside a scope that has one: the outer one is the getter that it sees."""
  if outer is None:
    return getter

  def both(inner, *args, **named):
    def middle(*a, **k):
      return outer(inner, *a, **k)
    return getter(middle, *args, **named)
  return both


@export('variable_op_scope')
@contextlib.contextmanager
def variable_op_scope(values, name_or_scope, default_name=None, **named):
  """variable_scope with the arguments in another order; deprecated."""
  with variable_scope(name_or_scope, default_name, values, **named) as scope:
    yield scope


@export('no_regularizer')
def no_regularizer(_):
  """A regularizer that adds nothing."""
  return None
