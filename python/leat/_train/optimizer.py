"""Optimizer: gradients of a loss by variables, and the operations that apply them."""
from __future__ import annotations

import contextlib

from leat import _leat
from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph import gradients as gradient_functions
from leat._graph import graph as graphs
from leat._graph.apply import apply_op, make_op
from leat._graph.conversion import convert
from leat._graph.scope import (GraphKeys, colocate_with, control_dependencies, init_scope,
                               name_scope)
from leat._ops import (array, assign, control, initializers, variable_collections, variable_scope,
                       variables)


def _is_resource(variable):
  return getattr(variable, '_handle', None) is not None


@export('train.Optimizer')
class Optimizer:
  """What optimizers have in common: operations that change variables by gradients. A new one
  derives from it and defines _apply_dense and its kin.

  >>> w = tf.Variable(1.0)
  >>> train = tf.train.GradientDescentOptimizer(0.1).minimize(w * w)
  >>> sess = tf.Session()
  >>> sess.run(tf.global_variables_initializer())
  >>> sess.run(train)
  >>> round(float(sess.run(w)), 3)
  0.8
  """
  GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

  def __init__(self, use_locking, name):
    if not name:
      raise ValueError('Must specify the optimizer name')
    self._use_locking, self._name = use_locking, name
    self._slots = {}           # slot name -> {key of the variable: its slot}
    self._non_slots = {}

  def get_name(self):
    """The name of the operations that it adds."""
    return self._name

  # The two halves of minimize -------------------------------------------------------------------

  def minimize(self, loss, global_step=None, var_list=None, gate_gradients=GATE_OP,
               aggregation_method=None, colocate_gradients_with_ops=False, name=None,
               grad_loss=None):
    """An operation that changes variables so that `loss`, a scalar, becomes smaller:
    compute_gradients, then apply_gradients. var_list are the variables, all trainable ones by
    default. One is added to global_step, a variable, each time. ValueError where no variable has a
    gradient."""
    # By their names, since a program's optimizer may take any of them as **kwargs.
    pairs = self.compute_gradients(
        loss, var_list=var_list, gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops, grad_loss=grad_loss)
    if not any(g is not None for g, _ in pairs):
      raise ValueError('No gradients provided for any variable, check your graph for ops that do '
                       'not support gradients, between variables %s and loss %s.' % (
                           [str(v) for _, v in pairs], loss))
    return self.apply_gradients(pairs, global_step=global_step, name=name)

  def compute_gradients(self, loss, var_list=None, gate_gradients=GATE_OP, aggregation_method=None,
                        colocate_gradients_with_ops=False, grad_loss=None):
    """A list of (gradient, variable), gradients None where the loss does not depend on the
    variable. They can be changed, clipped say, before apply_gradients."""
    if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
      raise ValueError('gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, '
                       'Optimizer.GATE_GRAPH.  Not %s' % gate_gradients)
    if callable(loss):
      loss = loss()
    self._check_dtypes([loss])
    if grad_loss is not None:
      self._check_dtypes([grad_loss])
    if var_list is None:
      var_list = variable_collections.trainable_variables()
    else:
      var_list = list(control._flat([var_list]))
    if not var_list:
      raise ValueError('No variables to optimize.')
    for v in var_list:
      if not isinstance(v, variables.Variable) and not (isinstance(
          v, _leat.Output) and v.dtype == dtypes.resource) and not isinstance(v, _leat.Output):
        raise NotImplementedError('Trying to optimize unsupported type %s' % v)
    sources = [v._ref() if isinstance(v, variables.Variable) else v for v in var_list]
    found = gradient_functions.gradients(
        loss, sources, grad_ys=grad_loss, gate_gradients=gate_gradients == Optimizer.GATE_OP,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops)
    if gate_gradients == Optimizer.GATE_GRAPH:
      found = control.tuple_(found)
    pairs = list(zip(found, var_list))
    self._check_dtypes([v for g, v in pairs if g is not None])
    return pairs

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    """An operation that changes each variable by its gradient, and adds one to global_step.
    ValueError where all gradients are None."""
    pairs = tuple(grads_and_vars)
    if not pairs:
      raise ValueError('No variables provided.')
    converted = []
    for g, v in pairs:
      if g is not None:
        try:
          g = conversion.convert_to_tensor_or_indexed_slices(g)
        except TypeError:
          raise TypeError('Gradient must be convertible to a Tensor or IndexedSlices, or None: %s' %
                          g) from None
        if not isinstance(g, _leat.Output) and type(g).__name__ != 'IndexedSlices':
          raise TypeError('Gradient must be a Tensor, IndexedSlices, or None: %s' % g)
      converted.append((g, v))
    var_list = [v for g, v in converted if g is not None]
    if not var_list:
      raise ValueError('No gradients provided for any variable: %s.' % (
          [str(v) for _, v in converted],))
    with init_scope():
      self._create_slots(var_list)
    updates = []
    with name_scope(name, self._name) as scope:
      self._prepare()
      for g, v in converted:
        if g is None:
          continue
        with name_scope('update_' + v.op.name), colocate_with(v.op):
          updates.append(self._update(g, v))
      if global_step is None:
        done = self._finish(updates, scope)
      else:
        with control_dependencies([self._finish(updates, 'update')]), colocate_with(
            global_step.op):
          if isinstance(global_step, variables.Variable) and not _is_resource(global_step):
            done = global_step.assign_add(1, name=scope).op
          elif isinstance(global_step, variables.Variable):
            done = make_op('AssignAddVariableOp', name=scope, resource=global_step.handle,
                           value=convert(1, global_step.dtype))
          else:
            done = assign.assign_add(global_step, 1, name=scope).op
    ops = graphs.get_default_graph().get_collection_ref(GraphKeys.TRAIN_OP)
    if done not in ops:
      ops.append(done)
    return done

  def _update(self, gradient, variable):
    """Applies one gradient, then the variable's constraint."""
    if isinstance(variable, _leat.Output) and variable.op.type not in ('Variable', 'VariableV2'):
      raise NotImplementedError('Trying to update a Tensor %s' % variable)
    if isinstance(gradient, _leat.Output):
      apply = self._resource_apply_dense if _is_resource(variable) else self._apply_dense
      op = apply(gradient, variable)
    elif _is_resource(variable):
      op = self._resource_apply_sparse_duplicate_indices(gradient.values, variable,
                                                         gradient.indices)
    else:
      op = self._apply_sparse_duplicate_indices(gradient, variable)
    constraint = getattr(variable, 'constraint', None)
    if constraint is not None:
      with control_dependencies([op]):
        return variable.assign(constraint(variable)).op
    return op

  # What subclasses define -----------------------------------------------------------------------

  def _valid_dtypes(self):
    return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

  def _check_dtypes(self, tensors):
    for t in tensors:
      dtype = t.dtype.base_dtype
      if dtype not in self._valid_dtypes():
        raise ValueError('Invalid type %r for %s, expected: %s.' % (
            dtype, t.name, [d for d in self._valid_dtypes()]))

  def _create_slots(self, var_list):
    """Makes the slots of the variables."""

  def _prepare(self):
    """Makes tensors of the settings."""

  def _apply_dense(self, grad, var):
    raise NotImplementedError()

  def _resource_apply_dense(self, grad, handle):
    raise NotImplementedError()

  def _apply_sparse(self, grad, var):
    raise NotImplementedError()

  def _resource_apply_sparse(self, grad, handle, indices):
    raise NotImplementedError()

  def _apply_sparse_duplicate_indices(self, grad, var):
    values, indices = deduplicated(grad.values, grad.indices)
    return self._apply_sparse(type(grad)(values, indices, grad.dense_shape), var)

  def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
    values, indices = deduplicated(grad, indices)
    return self._resource_apply_sparse(values, handle, indices)

  def _finish(self, update_ops, name_scope):
    return control.group(*update_ops, name=name_scope)

  def _call_if_callable(self, value):
    return value() if callable(value) else value

  # Slots ----------------------------------------------------------------------------------------

  @staticmethod
  def _key(variable):
    return variable.graph, variable.op.name

  def get_slot_names(self, *args, **kwargs):
    """The names of what it keeps for each variable: 'momentum', say."""
    return sorted(self._slots)

  def get_slot(self, var, name):
    """The variable of that name that it keeps for a variable, or None."""
    return self._slots.get(name, {}).get(self._key(var))

  def _slot_dict(self, slot_name):
    return self._slots.setdefault(slot_name, {})

  def _zeros_slot(self, var, slot_name, op_name):
    return self._slot(var, slot_name, lambda: create_zeros_slot(var, op_name))

  def _get_or_make_slot(self, var, val, slot_name, op_name):
    return self._slot(var, slot_name, lambda: create_slot(var, val, op_name))

  def _get_or_make_slot_with_initializer(self, var, initializer, shape, dtype, slot_name, op_name):
    return self._slot(var, slot_name, lambda: create_slot_with_initializer(
        var, initializer, shape, dtype, op_name))

  def _constant_slot(self, var, slot_name, value, op_name):
    """A slot of the variable's shape and type that begins with that number everywhere."""
    dtype, shape = var.dtype.base_dtype, var.get_shape()
    if shape.is_fully_defined():
      return self._get_or_make_slot_with_initializer(
          var, initializers.constant_initializer(value), shape, dtype, slot_name, op_name)
    return self._slot(var, slot_name, lambda: create_slot(
        var, lambda: array.fill(array.shape(var.initial_value), convert(value, dtype)), op_name))

  def _slot(self, var, slot_name, make):
    """The slot of that name, which `make` makes where the variable has none."""
    slots = self._slot_dict(slot_name)
    key = self._key(var)
    if key not in slots:
      slots[key] = make()
    return slots[key]

  def _create_non_slot_variable(self, initial_value, name, colocate_with):
    """A variable of the optimizer's own, once for each graph."""
    key = name, colocate_with.graph
    found = self._non_slots.get(key)
    if found is None:
      with _colocated(colocate_with):
        found = variables.Variable(initial_value, name=name, trainable=False,
                                   use_resource=_is_resource(colocate_with))
      self._non_slots[key] = found
    return found

  def _get_non_slot_variable(self, name, graph=None):
    return self._non_slots.get((name, graph))

  def variables(self):
    """The variables of the optimizer in the default graph."""
    graph = graphs.get_default_graph()
    found = [v for (_, g), v in self._non_slots.items() if g is graph]
    for slots in self._slots.values():
      found += [v for (g, _), v in slots.items() if g is graph]
    return sorted(found, key=lambda v: v.name)


class WrappingOptimizer(Optimizer):
  """An optimizer that is another one, `opt`, but for what a subclass changes."""

  def __init__(self, opt, use_locking, name):
    super().__init__(use_locking, name)
    self._opt = opt

  def compute_gradients(self, *args, **kwargs):
    return self._opt.compute_gradients(*args, **kwargs)

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    return self._opt.apply_gradients(grads_and_vars, global_step=global_step, name=name)

  def get_slot(self, *args, **kwargs):
    return self._opt.get_slot(*args, **kwargs)

  def get_slot_names(self, *args, **kwargs):
    return self._opt.get_slot_names(*args, **kwargs)

  def variables(self):
    return self._opt.variables()


def _colocated(variable):
  return colocate_with(variable.op)


@export('python.training.slot_creator.create_slot')
def create_slot(primary, val, name, colocate_with_primary=True):
  """A variable named '<primary>/<name>' that training leaves alone, beside the primary one where
  colocate_with_primary. `val` is its initial value or a function that makes it."""
  with variable_scope.variable_scope(None, primary.op.name + '/' + name), _beside(
      primary, colocate_with_primary):
    initial = val() if callable(val) else val
    is_tensor = isinstance(initial, _leat.Output)
    return _slot_of(primary, name, initializer=initial,
                    dtype=(initial if is_tensor else primary).dtype.base_dtype,
                    validate_shape=not is_tensor or initial.get_shape().is_fully_defined())


@export('python.training.slot_creator.create_slot_with_initializer')
def create_slot_with_initializer(primary, initializer, shape, dtype, name,
                                 colocate_with_primary=True):
  """A slot of that shape and type whose initial value the initializer makes."""
  with variable_scope.variable_scope(None, primary.op.name + '/' + name), _beside(
      primary, colocate_with_primary):
    return _slot_of(primary, name, initializer=initializer, dtype=dtype, shape=shape)


@export('python.training.slot_creator.create_zeros_slot')
def create_zeros_slot(primary, name, dtype=None, colocate_with_primary=True):
  """A slot that begins with zeros, of the shape that the primary one has then."""
  kind = primary.dtype.base_dtype if dtype is None else dtype
  shape = primary.get_shape()
  if shape.is_fully_defined():
    return create_slot_with_initializer(primary, initializers.zeros_initializer(), shape, kind,
                                        name, colocate_with_primary)
  is_variable = getattr(primary, 'initial_value', None) is not None
  like = primary.initial_value if is_variable else primary
  return create_slot(primary, lambda: array.zeros(array.shape(like), kind), name,
                     colocate_with_primary)


def _beside(primary, colocate):
  return colocate_with(primary.op) if colocate else contextlib.nullcontext()


def _slot_of(primary, name, **arguments):
  """The variable of the current scope; one of a part of a variable is such a part too."""
  scope = variable_scope.get_variable_scope()
  scope.set_partitioner(None)   # a slot is whole, or one of the parts that the primary is
  slot = variable_scope.get_variable('', trainable=False, use_resource=_is_resource(primary),
                                     **arguments)
  info = primary._get_save_slice_info() if hasattr(primary, '_get_save_slice_info') else None
  if info is not None:
    part = primary.op.name.split('/')[-1]
    slot._set_save_slice_info(variables.Variable.SaveSliceInfo(
        scope.name.replace('/' + part, '', 1) if part.startswith('part_') else
        info.full_name + '/' + name, info.full_shape, info.var_offset, info.var_shape))
  return slot


def deduplicated(values, indices):
  """(sums of the values of equal indices, distinct indices)."""
  distinct, places = array.unique(indices)
  summed = apply_op('UnsortedSegmentSum', data=values, segment_ids=places,
                    num_segments=array.shape(distinct)[0])
  return summed, distinct
