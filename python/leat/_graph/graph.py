"""Graph: the C graph under TensorFlow's names, and what a program sets while it builds one.

Operations are added at one place, `Graph._add`: there the settings of the builder (Building) become
control inputs, device, colocation and attributes of the new operation, and there it learns the line
of the program that built it. Names are made unique by the library.
"""
from __future__ import annotations

import contextlib
import re
import threading

from leat import _leat
from leat._export import export
from leat._graph import device as device_names
from leat._graph.building import (
    Building, ControlDependencies, NameScope, caller, control_inputs, device_of)

_OP_NAME = re.compile(r'^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$')
_SCOPE_NAME = re.compile(r'^[A-Za-z0-9_.\\/>-]*$')
_WAITED_FOR = '_has_manual_control_dependencies'
_TRUE = b'\x28\x01'   # an AttrValue with b: true


@export('Graph')
class Graph(_leat.Graph):
  """A dataflow graph: operations, and tensors from one to another. Functions like tf.add add
  operations to the default graph, which `with graph.as_default():` makes this one.

  >>> graph = tf.Graph()
  >>> with graph.as_default():
  ...   c = tf.constant(3.0, name='c')
  >>> graph.get_tensor_by_name('c:0') is c
  True
  """
  _is_function = False    # whether it is the body of a function (function_graph.py)
  _is_immediate = False   # whether its tensors have values (immediate.py)

  def __init__(self):
    super().__init__()
    self._building = Building()
    self._collections = {}
    self._seed = None
    self._finalized = False
    self._unfeedable, self._unfetchable = set(), set()
    self._handle_feeders, self._handle_readers = {}, {}
    self._seedless = 0       # how many operations took their seed of the graph's
    self._lock = threading.RLock()
    self._functions_python = {}
    self._gradient_functions = {}   # of tf.custom_gradient, by names in gradient_override_map
    self._py_functions = []         # of tf.py_func; the operations know them by tokens only

  # Adding -------------------------------------------------------------------------------------

  def _add(self, op_type, name, inputs, attributes):
    """A new Operation. `name` is unique already; `inputs` are Tensors and lists of them."""
    try:
      return self._add_or_refuse(op_type, name, inputs, attributes)
    except _leat.StatusError as error:
      raise _build_error(error) from None

  def _add_or_refuse(self, op_type, name, inputs, attributes):
    """The same, but what the library refuses is its StatusError."""
    building = self._building
    if self._finalized:
      raise RuntimeError('Graph is finalized and cannot be modified.')
    controls = ()
    if building.controls:
      sources = set()
      for item in inputs:
        if type(item) is list:
          sources.update(i.op for i in item)
        else:
          sources.add(item.op)
      controls = control_inputs(building, sources)
    if building.attributes:
      attributes = attributes + [(n,) + value for n, value in building.attributes.items()
                                 if value is not None]
    label = building.kernel_labels.get(op_type) if building.kernel_labels else None
    if label:
      attributes = attributes + [('_kernel', 's', label.encode())]
    gradient = building.gradient_types.get(op_type) if building.gradient_types else None
    if gradient:
      attributes = attributes + [('_gradient_op_type', 's', gradient.encode())]
    device = device_of(building)
    if building.colocations:
      attributes, device = self._colocate(building, attributes, device)
    op = self.add(op_type, name, inputs, attributes, controls, device or '')
    frame = caller()
    if frame is not None:
      op._come_from(frame)
    if building.original_op is not None:
      op._original_op = building.original_op
    for controls in building.controls:
      controls._seen.add(op)
    if device is None:
      self._apply_device_functions(op)
    return op

  def _adopt(self, start):
    """Does for the operations from the number `start` on what _add does for one, but for those
    that came through it while the library was adding the others."""
    building, frame = self._building, caller()
    for op in self.operations(start):
      if op._code is not None:
        continue
      for source in control_inputs(building, {i.op for i in op.inputs_}):
        if source not in op.control_inputs:
          op.add_control_input_(source)
      for controls in building.controls:
        controls._seen.add(op)
      if building.colocations:
        attributes, device = self._colocate(building, [], '')
        _, _, groups = attributes[0]
        op._set_groups(groups)
        if device:
          op._set_device(device)
      elif building.devices:
        self._apply_device_functions(op)
      if frame is not None:
        op._come_from(frame)
      if building.original_op is not None:
        op._original_op = building.original_op

  def _colocate(self, building, attributes, device):
    groups = set()
    for op in building.colocations:
      groups.update(op.colocation_groups())
      device = op.device or device
    attributes = attributes + [('_class', 'ls', sorted(groups))]
    return attributes, device

  def _apply_device_functions(self, op):
    """Device functions see the operation with the device of those inside of them."""
    for setting in reversed(self._building.devices):
      if setting is None:
        break
      if callable(setting):
        op._set_device(setting(op))
      else:
        op._set_device(device_names.merge(setting, op.device))

  def create_op(self, op_type, inputs, dtypes=None, input_types=None, name=None, attrs=None,
                op_def=None, compute_shapes=True, compute_device=True):
    """An Operation from converted inputs and AttrValue messages (by name)."""
    from leat._graph import definition
    self._check_not_finalized()
    try:
      op_definition = definition.of(self, op_type)
    except KeyError:
      raise RuntimeError("Op type not registered '%s': neither the library nor a plugin that was "
                         'loaded has it' % op_type) from None
    name = self._op_name(op_type, name)
    attributes = [(key, 'P', value.SerializeToString()) for key, value in (attrs or {}).items()]
    grouped = op_definition.group_inputs(list(inputs), attrs or {})
    del dtypes, input_types, op_def, compute_shapes, compute_device
    return self._add(op_type, name, grouped, attributes)

  def _op_name(self, op_type, name):
    name = name.decode('utf-8') if isinstance(name, bytes) else name
    name = name[:-1] if name and name[-1] == '/' else self.unique_name(name or op_type)
    if not _OP_NAME.match(name):
      raise ValueError("'%s' is not a valid node name" % name)
    return name

  # Names --------------------------------------------------------------------------------------

  def unique_name(self, name, mark_as_used=True):
    """`name` in the current scope, with a number where it is in use."""
    return self.unique_name_(self._building.scope + name, mark_as_used)

  def name_scope(self, name):
    """New operations have names that begin with `name`/; '' or None leaves all scopes, a name
    with a slash at the end is taken as it is."""
    return NameScope(self, name)

  def _new_scope(self, name):
    """The scope that `name` stands for inside the current one, with a slash at the end, or ''."""
    if not name:
      return ''
    if not isinstance(name, str):
      raise TypeError("'name' must be a string, not %r" % (name,))
    if self._building.scope:
      if not _SCOPE_NAME.match(name):
        raise ValueError("'%s' is not a valid scope name" % name)
    elif not _OP_NAME.match(name):
      raise ValueError("'%s' is not a valid root scope name. A root scope name has to match the "
                       'following pattern: %s' % (name, _OP_NAME.pattern))
    return name if name[-1] == '/' else self.unique_name(name) + '/'

  def get_name_scope(self):
    """The name scope that operations are added in now, without a slash at its end."""
    return self._building.scope[:-1]

  # Settings -----------------------------------------------------------------------------------

  @contextlib.contextmanager
  def device(self, device_name_or_function):
    """New operations ask for the device, given as a text, a DeviceSpec or a function of an
    operation; None forgets the outer devices."""
    setting = device_name_or_function
    if setting is not None and not callable(setting):
      setting = device_names.canonical(setting)
    building = self._building
    outer = building.devices
    building.devices = outer + [setting]
    try:
      yield
    finally:
      building.devices = outer

  @contextlib.contextmanager
  def colocate_with(self, op, ignore_existing=False):
    """New operations are placed where `op` is."""
    if op is None and not ignore_existing:
      raise ValueError('Trying to reset colocation (op is None) but ignore_existing is not True')
    building = self._building
    outer, devices = building.colocations, building.devices
    building.colocations = [] if ignore_existing else outer
    if op is not None:
      op = _operation_of(op)
      building.colocations = building.colocations + [op]
      building.devices = []
    try:
      yield
    finally:
      building.colocations, building.devices = outer, devices

  def control_dependencies(self, control_inputs):
    """New operations wait for these; None forgets the outer ones."""
    if control_inputs is None:
      return ControlDependencies(self, None)
    operations = []
    for item in control_inputs:
      item = self.as_graph_element(getattr(item, '_as_graph_element_of_control', item))
      operations.append(item if isinstance(item, _leat.Operation) else item.op)
    for op in operations:   # TensorFlow 2 marks what a program lets others wait for
      if op.attribute(_WAITED_FOR) is None:
        op.set_attribute(_WAITED_FOR, _TRUE)
    return ControlDependencies(self, list(dict.fromkeys(operations)))

  @contextlib.contextmanager
  def container(self, container_name):
    """See tf.container."""
    building = self._building
    outer, building.container = building.container, container_name
    try:
      yield container_name
    finally:
      building.container = outer

  @property
  def _container(self):
    return self._building.container

  @contextlib.contextmanager
  def _setting(self, name, values):
    building = self._building
    outer = getattr(building, name)
    setattr(building, name, {**outer, **values})
    try:
      yield
    finally:
      setattr(building, name, outer)

  def gradient_override_map(self, op_type_map):
    """New operations of these ops have the gradient of the name given."""
    if not isinstance(op_type_map, dict):
      raise TypeError('op_type_map must be a dictionary mapping strings to strings')
    for key, value in op_type_map.items():
      if not isinstance(key, str) or not isinstance(value, str):
        raise TypeError('op_type_map must be a dictionary mapping strings to strings')
    return self._setting('gradient_types', op_type_map)

  def _kernel_label_map(self, op_to_kernel_label_map):
    return self._setting('kernel_labels', op_to_kernel_label_map)

  def _attr_scope(self, attr_map):
    return self._setting('attributes', {
        name: None if value is None else ('P', value.SerializeToString())
        for name, value in attr_map.items()})

  @contextlib.contextmanager
  def _original_op(self, op):
    building = self._building
    outer, building.original_op = building.original_op, op
    try:
      yield
    finally:
      building.original_op = outer

  # Finding ------------------------------------------------------------------------------------

  def get_operations(self):
    """All operations, in the order in which they were added."""
    return self.operations()

  def get_operation_by_name(self, name):
    """The operation of that name. KeyError where there is none, TypeError where the name is no
    string."""
    if not isinstance(name, (str, bytes)):
      raise TypeError('Operation names are strings (or similar), not %s.' % type(name).__name__)
    return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

  def get_tensor_by_name(self, name):
    """The tensor of a name as 'op:0', output 0 of the operation `op`. KeyError where there is none,
    ValueError where the name is not of that form."""
    if not isinstance(name, (str, bytes)):
      raise TypeError('Tensor names are strings (or similar), not %s.' % type(name).__name__)
    return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

  def as_graph_element(self, obj, allow_tensor=True, allow_operation=True):
    """The Tensor or Operation that `obj`, one of them, a name, or a variable, stands for."""
    if allow_tensor and isinstance(obj, _leat.Output) and obj.op.graph is self:
      return obj
    if not allow_tensor and not allow_operation:
      raise ValueError("allow_tensor and allow_operation can't both be False.")
    what = ' or '.join(['Tensor'] * allow_tensor + ['Operation'] * allow_operation)
    convert = getattr(obj, '_as_graph_element', None)
    if convert is not None:
      found = convert()
      obj = obj if found is None else found
    if isinstance(obj, bytes):
      obj = obj.decode('utf-8')
    if isinstance(obj, str):
      return self._by_name(obj, allow_tensor, allow_operation, what)
    if isinstance(obj, _leat.Output) and allow_tensor or \
        isinstance(obj, _leat.Operation) and allow_operation:
      if obj.graph is not self:
        kind = 'Tensor' if isinstance(obj, _leat.Output) else 'Operation'
        raise ValueError('%s %s is not an element of this graph.' % (kind, obj))
      return obj
    raise TypeError('Can not convert a %s into a %s.' % (type(obj).__name__, what))

  def _by_name(self, name, allow_tensor, allow_operation, what):
    if ':' in name and allow_tensor:
      op_name, _, index = name.partition(':')
      if not index.isdigit() or not op_name:
        raise ValueError('The name %r looks a like a Tensor name, but is not a valid one. Tensor '
                         'names must be of the form "<op_name>:<output_index>".' % name)
      op = self.operation(op_name)
      if op is None:
        raise KeyError("The name %r refers to a Tensor which does not exist. The operation, %r, "
                       'does not exist in the graph.' % (name, op_name))
      try:
        return op.outputs[int(index)]
      except IndexError:
        raise KeyError('The name %r refers to a Tensor which does not exist. The operation, %r, '
                       'exists but only has %s outputs.' % (name, op_name, len(op.outputs))
                       ) from None
    if ':' in name and not allow_tensor:
      raise ValueError('Name %r appears to refer to a Tensor, not a %s.' % (name, what))
    if not allow_operation:
      if self.operation(name) is not None:
        raise ValueError('The name %r refers to an Operation, not a %s. Tensor names must be of '
                         'the form "<op_name>:<output_index>".' % (name, what))
      raise ValueError('The name %r looks like an (invalid) Operation name, not a %s. Tensor names '
                       'must be of the form "<op_name>:<output_index>".' % (name, what))
    op = self.operation(name)
    if op is None:
      raise KeyError("The name %r refers to an Operation not in the graph." % name)
    return op

  def is_feedable(self, tensor):
    """Whether a tensor may be fed."""
    return tensor not in self._unfeedable

  def prevent_feeding(self, tensor):
    """Lets sessions refuse feeds of a tensor."""
    self._unfeedable.add(tensor)

  def is_fetchable(self, tensor_or_op):
    """Whether it is there when a step ends: what is inside of a loop or a branch is not."""
    if tensor_or_op in self._unfetchable:
      return False
    op = tensor_or_op if isinstance(tensor_or_op, _leat.Operation) else tensor_or_op.op
    while op.type in ('Exit', 'RefExit'):
      # It is where the first value of its variable is: behind Switch, Merge and Enter.
      for _ in range(4):
        if not op.inputs_:
          return True
        op = op.inputs_[0].op
    return _leat.flow_of(op) is None

  def prevent_fetching(self, op):
    """Lets sessions refuse fetches of an operation and its tensors."""
    self._unfetchable.add(op)

  # Collections --------------------------------------------------------------------------------

  def add_to_collection(self, name, value):
    """Appends a value to the collection `name`."""
    self._check_not_finalized()
    self._collections.setdefault(name, []).append(value)

  def add_to_collections(self, names, value):
    """Appends a value to each of several collections, or to one."""
    names = (names,) if isinstance(names, str) or not hasattr(names, '__iter__') else dict.fromkeys(
        names)
    for name in names:
      self.add_to_collection(name, value)

  def get_collection_ref(self, name):
    """The list that is the collection; it is made where there is none."""
    return self._collections.setdefault(name, [])

  def get_collection(self, name, scope=None):
    """The values in a collection, as a new list; with `scope`, a regular expression, only those
    whose names begin with a match."""
    items = self._collections.get(name, [])
    if scope is None:
      return list(items)
    pattern = re.compile(scope)
    return [i for i in items if hasattr(i, 'name') and pattern.match(i.name)]

  def get_all_collection_keys(self):
    """The names of all collections that are not empty."""
    return [key for key in self._collections if isinstance(key, str)]

  @property
  def collections(self):
    """The names of all collections."""
    return list(self._collections)

  def clear_collection(self, name):
    """Empties a collection."""
    self._check_not_finalized()
    self._collections.pop(name, None)

  # The whole graph ----------------------------------------------------------------------------

  def _check_not_finalized(self):
    if self._finalized:
      raise RuntimeError('Graph is finalized and cannot be modified.')

  def finalize(self):
    """Operations cannot be added any more."""
    self._finalized = True

  def _unsafe_unfinalize(self):
    self._finalized = False

  @property
  def finalized(self):
    """Whether finalize() was called."""
    return self._finalized

  @property
  def version(self):
    """The number of operations."""
    return self.count()

  @property
  def seed(self):
    """The seed of tf.set_random_seed, or None."""
    return self._seed

  @seed.setter
  def seed(self, seed):
    self._seed = seed

  def _next_op_seed(self):
    """The seed of an operation without one: how many had none before."""
    self._seedless += 1
    return self._seedless - 1

  @property
  def building_function(self):
    """Whether the graph is the body of a function."""
    return False

  @property
  def graph_def_versions(self):
    """The message VersionDef of the graph."""
    from leat._graph import message
    return message.of('VersionDef').FromString(self.versions_())

  def as_graph_def(self, from_version=None, add_shapes=False):
    """The GraphDef message of the graph."""
    from leat._graph import message
    data = self.graph_def_()
    if add_shapes:
      from leat._graph import output_shapes
      data = output_shapes.added(self, data)
    graph_def = message.of('GraphDef').FromString(data)
    if not graph_def.library.function:
      graph_def.ClearField('library')
    if from_version:
      del graph_def.node[:from_version]
    return graph_def

  def _repr_html_(self):
    from leat._platform import notebook
    return notebook.of_graph(self)

  def switch_to_thread_local(self):
    """Settings are always those of a thread."""

  def as_default(self):
    """`with graph.as_default():` makes it the graph that functions add operations to."""
    return DefaultGraph(self)


class DefaultGraph:
  """The `with` that makes a graph the default one."""
  __slots__ = ('_graph',)

  def __init__(self, graph):
    self._graph = graph

  def __enter__(self):
    _stack.graphs.append(self._graph)
    return self._graph

  def __exit__(self, *unused):
    graphs = _stack.graphs
    if not graphs or graphs[-1] is not self._graph:
      raise AssertionError(
          'Nesting violated for default stack of %s objects' % type(self._graph))
    graphs.pop()


def _operation_of(item):
  convert = getattr(item, '_as_graph_element', None)
  if convert is not None:
    found = convert()
    item = item if found is None else found
  if isinstance(item, _leat.Operation):
    return item
  if isinstance(item, _leat.Output):
    return item.op
  if getattr(item, '_graph_element', None) is not None:
    return item._graph_element.op
  from leat._graph import conversion
  return conversion.convert(item, as_ref=True).op


def _build_error(error):
  """What building raises: ValueError for what a program did wrong, as TensorFlow does."""
  from leat._graph import errors
  if error.args[0] == errors.INVALID_ARGUMENT or error.args[0] == errors.OUT_OF_RANGE:
    return ValueError(error.args[1])
  return errors.of_status(error)


class _Stack(threading.local):
  def __init__(self):
    self.graphs = []


_stack = _Stack()
_global = [None]


@export('get_default_graph')
def get_default_graph():
  """The graph that functions add operations to now: that of the innermost `with
  graph.as_default():`, or the one of the whole process."""
  if _stack.graphs:
    return _stack.graphs[-1]
  if _global[0] is None:
    _global[0] = Graph()
  return _global[0]


@export('reset_default_graph')
def reset_default_graph():
  """Forgets the default graph of the process; a new one is made when it is needed. AssertionError
  inside of `with graph.as_default():`."""
  if _stack.graphs:
    raise AssertionError('Do not use tf.reset_default_graph() to clear nested graphs. If you need '
                         'a cleared graph, exit the nesting and create a new graph.')
  _global[0] = None


_HANDLES = (_leat.Output, _leat.Operation)


def of_inputs(inputs, graph=None):
  """The graph that all of `inputs` are in: ValueError where they differ. The body of a function
  that is being built captures what is not its own."""
  stack = _stack.graphs
  if graph is None and stack and stack[-1]._is_function:
    return stack[-1]
  found, first = graph, None
  for item in inputs:
    if not isinstance(item, _HANDLES):
      item = getattr(item, '_graph_element', None) if not isinstance(
          item, (int, float, str, bytes)) else None
      if item is None:
        continue
    if found is None:
      found, first = item.graph, item
    elif item.graph is not found:
      if first is not None:
        raise ValueError('%s must be from the same graph as %s.' % (item, first))
      raise ValueError('%s is not from the passed-in graph.' % item)
  return found or get_default_graph()
