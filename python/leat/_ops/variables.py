"""Variable: state that outlives a step, as a reference (Variable's ops of TensorFlow 1) or, with
use_resource=True, behind a handle."""
from __future__ import annotations

from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph import tensor as tensors
from leat._graph.apply import apply_op, make_op
from leat._graph.conversion import convert
from leat._graph.scope import (GraphKeys, colocate_with, control_dependencies, device, init_scope,
                               name_scope, resource_variables_enabled)
from leat._graph.shape import TensorShape, as_shape
from leat._ops import initial_value as initial_value_
from leat._ops import variable_sharing


class _VariableMeta(type):
  def __call__(cls, *args, use_resource=None, **named):
    if cls is Variable:
      if use_resource is None:
        from leat._ops import variable_scope
        use_resource = variable_scope.get_variable_scope().use_resource
        if use_resource is None:
          use_resource = resource_variables_enabled()
      cls = ResourceVariable if use_resource else RefVariable
    return type.__call__(cls, *args, **named)


@export('Variable')
class Variable(metaclass=_VariableMeta):
  """State that a session keeps from step to step, with an initial value. It can be used wherever a
  tensor can.

  `Variable(initial_value, trainable=True, name=None, dtype=None, ...)`: the value is a tensor, or
  what becomes one, or a function that makes it; it gives the shape, which stays unless
  validate_shape is False. A variable has its value once `initializer`, or the operation of
  tf.global_variables_initializer, has run in the session: reading it before fails with
  FailedPreconditionError. Optimizers change variables that are `trainable`. `collections` are those
  of the graph that it is added to, GLOBAL_VARIABLES by default. With use_resource it is of the kind
  that each read copies.

  >>> w = tf.Variable(tf.zeros([2]), name='w')
  >>> grow = tf.assign_add(w, [1.0, 2.0])
  >>> sess = tf.Session()
  >>> sess.run(tf.global_variables_initializer())
  >>> sess.run(grow)
  array([1., 2.], dtype=float32)
  """
  __array_priority__ = 100

  def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True,
               caching_device=None, name=None, variable_def=None, dtype=None,
               expected_shape=None, import_scope=None, constraint=None, shape=None,
               synchronization=None, aggregation=None):
    del expected_shape
    if variable_def is not None:
      if initial_value is not None:
        raise ValueError('variable_def and initial_value are mutually exclusive.')
      self._of_message(variable_def, import_scope)
      return
    self._synchronization, self._aggregation, self._trainable = variable_sharing.shared_settings(
        synchronization, aggregation, trainable)
    self._constraint, self._save_slice_info = constraint, None
    if initial_value is None:
      raise ValueError('initial_value must be specified.')
    if constraint is not None and not callable(constraint):
      raise ValueError('The `constraint` argument must be a callable.')
    if collections is None:
      collections = [GraphKeys.GLOBAL_VARIABLES]
    if not isinstance(collections, (list, tuple, set)):
      raise ValueError('collections argument to Variable constructor must be a list, tuple, or set.'
                       ' Got %s of type %s' % (collections, type(collections)))
    if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
      collections = list(collections) + [GraphKeys.TRAINABLE_VARIABLES]
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    with init_scope():
      made = callable(initial_value)
      with name_scope(name, 'Variable', [] if made else [initial_value]) as scope:
        self._build(scope, initial_value, made, dtype, validate_shape, caching_device, shape)
    graphs.get_default_graph().add_to_collections(collections, self)

  # What the variable is -----------------------------------------------------------------------

  @property
  def name(self):
    """The name of its tensor, 'w:0'; that of its operation is `op.name`."""
    return self._variable.name if self._handle is None else self._handle_name + ':0'

  @property
  def _shared_name(self):
    return self.name[:-2]

  @property
  def op(self):
    """The operation that holds it."""
    return self._variable.op

  @property
  def graph(self):
    """The graph that it is in."""
    return self._variable.graph

  @property
  def device(self):
    """The device that its operation asks for."""
    return self._variable.device

  @property
  def dtype(self):
    """The type of its elements; of a reference variable a reference to it, whose `base_dtype` is
    the type."""
    return self._dtype

  @property
  def shape(self):
    """The shape, a TensorShape."""
    return self._shape()

  def get_shape(self):
    """The shape, a TensorShape."""
    return self._shape()

  @property
  def initializer(self):
    """The operation that gives it its initial value."""
    return self._initializer

  @property
  def initial_value(self):
    """The tensor that it is initialized with."""
    return self._initial_value

  @property
  def trainable(self):
    """Whether optimizers change it unless they are given a list of variables."""
    return self._trainable

  @property
  def synchronization(self):
    """How copies on several devices are kept the same; one copy here."""
    return self._synchronization

  @property
  def aggregation(self):
    """How changes of copies on several devices are joined; one copy here."""
    return self._aggregation

  @property
  def constraint(self):
    """The function that optimizers put its new value through, or None."""
    return self._constraint

  def _set_save_slice_info(self, info):
    self._save_slice_info = info

  def _get_save_slice_info(self):
    return self._save_slice_info

  def initialized_value(self):
    """A tensor with the variable's value, or its initial value where it is not initialized, for the
    initial values of others."""
    from leat._ops.control_flow import cond
    with init_scope():
      return cond(is_variable_initialized(self), self.read_value, lambda: self.initial_value)

  def load(self, value, session=None):
    """Sets the value in `session`, or the default one, to an array; nothing is added to the graph.
    """
    from leat._session import session as sessions
    session = session or sessions.get_default_session()
    if session is None:
      raise ValueError('Either session argument should be provided or default session should be '
                       'established')
    session.run(self.initializer, {self.initializer.inputs[1]: value})

  def eval(self, session=None):
    """The value in `session`, or the default one."""
    return self._as_tensor().eval(session=session)

  def set_shape(self, shape):
    """Adds what is known of the shape. ValueError where it contradicts what is known already."""
    self._ref().set_shape(shape)
    self.value().set_shape(shape)

  def experimental_ref(self):
    """An object that compares and hashes by the variable itself, for keys of dicts; its deref() is
    the variable."""
    return tensors.Reference(self)

  ref = experimental_ref

  def __iter__(self):
    raise TypeError("'Variable' object is not iterable.")

  __hash__ = object.__hash__

  def __eq__(self, other):
    return self is other

  def __ne__(self, other):
    return self is not other

  def __repr__(self):
    return "<tf.Variable '%s' shape=%s dtype=%s>" % (self.name, self.get_shape(), self.dtype.name)

  def _repr_html_(self):
    from leat._platform import notebook
    return notebook.of_variable(self)

  def __getitem__(self, key):
    from leat._ops import slicing
    return slicing.index(self._as_tensor(), key, self)

  def to_proto(self, export_scope=None):
    """A VariableDef, or None for a variable outside of export_scope."""
    from leat._graph import message
    if export_scope and not self.name.startswith(export_scope + '/'):
      return None
    strip = lambda name: name[len(export_scope) + 1:] if export_scope else name
    proto = message.of('VariableDef')()
    proto.variable_name = strip(self._variable.name)
    if self._initial_value is not None:
      proto.initial_value_name = strip(self._initial_value.name)
    proto.trainable = self._trainable
    proto.initializer_name = strip(self._initializer.name)
    proto.snapshot_name = strip(self._snapshot.name)
    proto.is_resource = self._handle is not None
    proto.synchronization = self._synchronization.value
    proto.aggregation = self._aggregation.value
    if self._save_slice_info:
      proto.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto())
    return proto

  @staticmethod
  def from_proto(variable_def, import_scope=None):
    """The variable of the default graph that a VariableDef tells of, with import_scope before its
    names."""
    if variable_def.is_resource:
      return ResourceVariable(variable_def=variable_def, import_scope=import_scope)
    return RefVariable(variable_def=variable_def, import_scope=import_scope)

  def _of_message(self, proto, import_scope):
    graph = graphs.get_default_graph()
    find = lambda name: graph.as_graph_element(
        import_scope + '/' + name if import_scope else name)
    self._variable = find(proto.variable_name)
    self._handle = self._variable if proto.is_resource else None
    self._handle_name = self._variable.op.name
    self._initializer = find(proto.initializer_name)
    self._initial_value = find(proto.initial_value_name) if proto.initial_value_name else None
    self._snapshot = find(proto.snapshot_name)
    self._synchronization, self._aggregation, self._trainable = variable_sharing.shared_settings(
        variable_sharing.VariableSynchronization(proto.synchronization),
        variable_sharing.VariableAggregation(proto.aggregation), proto.trainable)
    self._constraint = self._caching_device = self._save_slice_info = None
    if proto.HasField('save_slice_info_def'):
      self._save_slice_info = Variable.SaveSliceInfo(
          save_slice_info_def=proto.save_slice_info_def, import_scope=import_scope)
    self._dtype = self._snapshot.dtype if proto.is_resource else self._variable.dtype

  class SaveSliceInfo:
    """Where a part of a partitioned variable lies in the whole."""

    def __init__(self, full_name=None, full_shape=None, var_offset=None, var_shape=None,
                 save_slice_info_def=None, import_scope=None):
      if save_slice_info_def is not None:
        name = save_slice_info_def.full_name
        self.full_name = import_scope + '/' + name if import_scope else name
        self.full_shape = list(save_slice_info_def.full_shape)
        self.var_offset = list(save_slice_info_def.var_offset)
        self.var_shape = list(save_slice_info_def.var_shape)
      else:
        self.full_name, self.full_shape = full_name, full_shape
        self.var_offset, self.var_shape = var_offset, var_shape

    @property
    def spec(self):
      sizes = ' '.join(['%d' % d for d in self.full_shape]) + ' '
      return sizes + ':'.join(['%d,%d' % p for p in zip(self.var_offset, self.var_shape)])

    def to_proto(self, export_scope=None):
      del export_scope
      from leat._graph import message
      return message.of('SaveSliceInfoDef')(
          full_name=self.full_name, full_shape=self.full_shape, var_offset=self.var_offset,
          var_shape=self.var_shape)


def _check_slices(slices):
  if type(slices).__name__ != 'IndexedSlices':
    raise TypeError('sparse_delta is not IndexedSlices: %s' % (slices,))


class RefVariable(Variable):
  """A variable whose tensor is a reference, which assignments change."""
  _handle = None

  def _build(self, scope, initial_value, made, dtype, validate_shape, caching_device, shape):
    if made:
      attributes = [('_class', 'ls', [('loc:@' + scope[:-1]).encode()])]
      building = graphs.get_default_graph()._building
      outer = building.attributes
      building.attributes = {**outer, '_class': attributes[0][1:]}
      try:
        with name_scope('Initializer'), graphs.get_default_graph().device(None):
          value = convert(initial_value(), dtype, 'initial_value')
      finally:
        building.attributes = outer
    else:
      value = convert(initial_value, dtype, 'initial_value')
    if shape is None:
      shape = value.get_shape() if validate_shape else TensorShape(None)
    else:
      shape = as_shape(shape)
    if validate_shape and not value.get_shape().is_fully_defined() and not \
        shape.is_fully_defined():
      raise ValueError('initial_value must have a shape specified: %s' % value)
    self._initial_value = value
    self._variable = apply_op('VariableV2', name=scope, shape=shape, dtype=value.dtype.base_dtype,
                              container=graphs.get_default_graph()._container)
    self._dtype = self._variable.dtype
    self._initializer = apply_op('Assign', ref=self._variable,
                                 value=initial_value_.guarded(scope, value),
                                 validate_shape=validate_shape).op
    if caching_device is not None:
      with graphs.get_default_graph().device(caching_device):
        self._snapshot = apply_op('Identity', name='read', input=self._variable)
    else:
      with colocate_with(self._variable.op):
        self._snapshot = apply_op('Identity', name='read', input=self._variable)
    self._caching_device = caching_device

  def _shape(self):
    return self._variable.get_shape()

  def _as_graph_element(self):
    return self._variable

  def _as_tensor(self):
    return self._snapshot

  def _ref(self):
    return self._variable

  def value(self):
    return self._snapshot

  def read_value(self):
    """The value when this is computed."""
    return apply_op('Identity', name='read', input=self._variable)

  def assign(self, value, use_locking=False, name=None, read_value=True):
    result = apply_op('Assign', name=name, ref=self._variable, value=value,
                      use_locking=use_locking)
    return result if read_value else result.op

  def assign_add(self, delta, use_locking=False, name=None, read_value=True):
    result = apply_op('AssignAdd', name=name, ref=self._variable, value=delta,
                      use_locking=use_locking)
    return result if read_value else result.op

  def assign_sub(self, delta, use_locking=False, name=None, read_value=True):
    result = apply_op('AssignSub', name=name, ref=self._variable, value=delta,
                      use_locking=use_locking)
    return result if read_value else result.op

  def count_up_to(self, limit):
    return apply_op('CountUpTo', ref=self._variable, limit=limit)

  def _scatter(self, op, slices, use_locking, name):
    _check_slices(slices)
    return apply_op(op, name=name, ref=self._variable, indices=slices.indices,
                    updates=slices.values, use_locking=use_locking)

  def scatter_sub(self, sparse_delta, use_locking=False, name=None):
    return self._scatter('ScatterSub', sparse_delta, use_locking, name)

  def scatter_add(self, sparse_delta, use_locking=False, name=None):
    return self._scatter('ScatterAdd', sparse_delta, use_locking, name)

  def scatter_update(self, sparse_delta, use_locking=False, name=None):
    return self._scatter('ScatterUpdate', sparse_delta, use_locking, name)

  def scatter_nd_sub(self, indices, updates, name=None):
    return apply_op('ScatterNdSub', name=name, ref=self._variable, indices=indices, updates=updates)

  def scatter_nd_add(self, indices, updates, name=None):
    return apply_op('ScatterNdAdd', name=name, ref=self._variable, indices=indices, updates=updates)

  def scatter_nd_update(self, indices, updates, name=None):
    return apply_op('ScatterNdUpdate', name=name, ref=self._variable, indices=indices,
                    updates=updates)

  def _assign_slice(self, begin, end, strides, value, name, masks):
    return apply_op('StridedSliceAssign', name=name, ref=self._variable, begin=begin, end=end,
                    strides=strides, value=value, **masks)


class ResourceVariable(Variable):
  """A variable behind a handle: reads and assignments are operations of their own."""

  def _build(self, scope, initial_value, made, dtype, validate_shape, caching_device, shape):
    self._handle_name = scope[:-1]
    if made:
      with name_scope('Initializer'), graphs.get_default_graph().device(None):
        value = convert(initial_value(), dtype, 'initial_value')
    else:
      value = convert(initial_value, dtype, 'initial_value')
    self._initial_value = value
    if shape is None:
      shape = value.get_shape() if validate_shape else TensorShape(None)
    self._dtype = value.dtype.base_dtype
    graph = graphs.get_default_graph()
    self._variable = self._handle = apply_op(
        'VarHandleOp', name=scope, shape=as_shape(shape), dtype=self._dtype,
        shared_name=self._handle_name, container=graph._container)
    with name_scope('IsInitialized'):
      self._is_initialized = apply_op('VarIsInitializedOp', resource=self._handle)
    with name_scope('Assign') as assign:
      self._initializer = make_op('AssignVariableOp', name=assign, resource=self._handle,
                                  value=value)
    with name_scope('Read'), colocate_with(self._handle.op):
      self._snapshot = self._read(caching_device)
    self._caching_device = caching_device

  def _read(self, device=None):
    if device is not None:
      with graphs.get_default_graph().device(device):
        return apply_op('ReadVariableOp', resource=self._handle, dtype=self._dtype)
    return apply_op('ReadVariableOp', resource=self._handle, dtype=self._dtype)

  @property
  def handle(self):
    return self._handle

  @property
  def create(self):
    return self._initializer

  def _shape(self):
    kind, sizes = self._handle.op.attribute('shape')
    del kind
    return TensorShape._known(sizes)

  def _as_graph_element(self):
    return self._snapshot

  @property
  def _as_graph_element_of_control(self):
    return self._handle   # waiting for the variable reads nothing

  def _as_tensor(self):
    return self.value()

  def _ref(self):
    return self._handle

  def value(self):
    if self._caching_device is not None:
      return self._snapshot
    with colocate_with(None, ignore_existing=True):
      return self._read()

  def read_value(self):
    with name_scope('Read'):
      value = self._read()
    return apply_op('Identity', input=value)

  def sparse_read(self, indices, name=None):
    with name_scope('Gather' if name is None else name) as scope:
      value = apply_op('ResourceGather', name=scope, resource=self._handle, indices=indices,
                       dtype=self._dtype)
    return apply_op('Identity', input=value)

  def gather_nd(self, indices, name=None):
    with name_scope('GatherNd' if name is None else name) as scope:
      value = apply_op('ResourceGatherNd', name=scope, resource=self._handle, indices=indices,
                       dtype=self._dtype)
    return apply_op('Identity', input=value)

  def is_initialized(self, name=None):
    return apply_op('VarIsInitializedOp', name=name, resource=self._handle)

  def _changed(self, op, read_value):
    if not read_value:
      return op
    with control_dependencies([op]):
      value = self._read()
      result = apply_op('Identity', input=value)
    return result

  def _assign(self, op_name, value, name, read_value):
    value = convert(value, self._dtype)
    self._shape().assert_is_compatible_with(value.get_shape())
    return self._changed(make_op(op_name, name=name, resource=self._handle, value=value),
                         read_value)

  def assign(self, value, use_locking=None, name=None, read_value=True):
    del use_locking
    return self._assign('AssignVariableOp', value, name, read_value)

  def assign_add(self, delta, use_locking=None, name=None, read_value=True):
    del use_locking
    return self._assign('AssignAddVariableOp', delta, name, read_value)

  def assign_sub(self, delta, use_locking=None, name=None, read_value=True):
    del use_locking
    return self._assign('AssignSubVariableOp', delta, name, read_value)

  def count_up_to(self, limit):
    return apply_op('ResourceCountUpTo', resource=self._handle, limit=limit, T=self._dtype)

  def _scatter(self, op, slices, use_locking, name):
    del use_locking
    _check_slices(slices)
    return self._changed(make_op(op, name=name, resource=self._handle, indices=slices.indices,
                                 updates=convert(slices.values, self._dtype)), True)

  def scatter_sub(self, sparse_delta, use_locking=False, name=None):
    return self._scatter('ResourceScatterSub', sparse_delta, use_locking, name)

  def scatter_add(self, sparse_delta, use_locking=False, name=None):
    return self._scatter('ResourceScatterAdd', sparse_delta, use_locking, name)

  def scatter_update(self, sparse_delta, use_locking=False, name=None):
    return self._scatter('ResourceScatterUpdate', sparse_delta, use_locking, name)

  def _scatter_nd(self, op, indices, updates, name):
    return self._changed(make_op(op, name=name, ref=self._handle, indices=indices,
                                 updates=convert(updates, self._dtype)), True)

  def scatter_nd_sub(self, indices, updates, name=None):
    return self._scatter_nd('ResourceScatterNdSub', indices, updates, name)

  def scatter_nd_add(self, indices, updates, name=None):
    return self._scatter_nd('ResourceScatterNdAdd', indices, updates, name)

  def scatter_nd_update(self, indices, updates, name=None):
    return self._scatter_nd('ResourceScatterNdUpdate', indices, updates, name)

  def _assign_slice(self, begin, end, strides, value, name, masks):
    return self._changed(make_op('ResourceStridedSliceAssign', name=name, ref=self._handle,
                                 begin=begin, end=end, strides=strides,
                                 value=convert(value, self._dtype), **masks), True)


def _of_variable(value, dtype=None, name=None, as_ref=False):
  del name
  if dtype is not None and not dtype.is_compatible_with(value.dtype):
    raise ValueError("Incompatible type conversion requested to type '%s' for variable of type '%s'"
                     % (dtype.name, value.dtype.name))
  return value._ref() if as_ref and value._handle is None else value._as_tensor()


conversion.register_tensor_conversion_function(Variable, _of_variable)


def _operator(name):
  def call(self, *operands):
    return getattr(tensors.Tensor, name)(self._as_tensor(), *operands)
  call.__name__ = name
  return call


for _name in tensors.OPERATORS:
  if _name != '__getitem__':
    setattr(Variable, _name, _operator(_name))


@export('is_variable_initialized')
def is_variable_initialized(variable):
  """Whether the variable has a value."""
  if isinstance(variable, ResourceVariable):
    return variable.is_initialized()
  return apply_op('IsVariableInitialized', ref=variable)
