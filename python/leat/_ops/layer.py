"""The base of tf.layers: objects that make their variables when they are first called."""
from __future__ import annotations

import contextlib
import re
import weakref

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys, colocate_with, name_scope
from leat._ops import variable_scope


def _snake(name):
  name = re.sub('(.)([A-Z][a-z0-9]+)', r'\1_\2', name)
  return re.sub('([a-z])([A-Z])', r'\1_\2', name).lower()


_names = weakref.WeakKeyDictionary()   # graph -> {name of a class: how many layers have it}


def _unique_name(base):
  """The name of a layer that is given none: the first of a graph is dense_1."""
  counts = _names.setdefault(get_default_graph(), {})
  counts[base] = counts.get(base, 0) + 1
  return '%s_%d' % (base, counts[base])


@export('layers.InputSpec')
class InputSpec:
  """What a layer wants of its input."""

  def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None):
    self.dtype, self.shape, self.ndim = dtype, shape, ndim
    self.max_ndim, self.min_ndim, self.axes = max_ndim, min_ndim, axes or {}

  def check(self, name, x):
    """ValueError where the input does not fit."""
    known = x.get_shape()
    if self.dtype is not None and x.dtype != dtypes.as_dtype(self.dtype):
      raise ValueError('Input 0 of layer %s is incompatible with the layer: expected dtype=%s, '
                       'found dtype=%s' % (name, self.dtype, x.dtype.name))
    if known.ndims is None:
      if self.ndim is not None or self.min_ndim is not None or self.axes:
        raise ValueError('Input 0 of layer %s is incompatible with the layer: its rank is '
                         'undefined, but the layer requires a defined rank.' % name)
      return
    if self.ndim is not None and known.ndims != self.ndim:
      raise ValueError('Input 0 of layer %s is incompatible with the layer: expected ndim=%d, '
                       'found ndim=%d. Full shape received: %s' % (
                           name, self.ndim, known.ndims, known.as_list()))
    if self.min_ndim is not None and known.ndims < self.min_ndim:
      raise ValueError('Input 0 of layer %s is incompatible with the layer: : expected '
                       'min_ndim=%d, found ndim=%d. Full shape received: %s' % (
                           name, self.min_ndim, known.ndims, known.as_list()))
    for axis, value in self.axes.items():
      if value is not None and known.as_list()[int(axis)] not in (value, None):
        raise ValueError('Input 0 of layer %s is incompatible with the layer: expected axis %s of '
                         'input shape to have value %s but received input with shape %s' % (
                             name, axis, value, known.as_list()))


@export('layers.Layer')
class Layer:
  """The base of layers: build() makes the variables, call() the operations."""

  def __init__(self, trainable=True, name=None, dtype=None, _scope=None, _reuse=None,
               activity_regularizer=None, **unused):
    self.trainable, self.built = trainable, False
    self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
    self._trainable_weights, self._other_weights = [], []
    self._losses, self._updates = [], []
    self._reuse, self._scope, self.input_spec = _reuse, None, None
    self.activity_regularizer = activity_regularizer
    self._base_name = name or _snake(type(self).__name__)
    self._name = name or _unique_name(self._base_name)
    if _scope is not None:
      with variable_scope.variable_scope(_scope) as scope:
        self._scope = scope

  # What the layer has ---------------------------------------------------------------------------

  @property
  def name(self):
    return self._name

  @property
  def scope_name(self):
    if self._scope is None:
      raise ValueError('No name available for layer scope because the layer "%s" has not been used '
                       'yet. The scope name  is determined the first time the layer instance is '
                       'called. You must therefore call the layer before querying `scope_name`.' %
                       self.name)
    return self._scope.name

  @property
  def dtype(self):
    return None if self._dtype is None else self._dtype.name

  @property
  def trainable_weights(self):
    return list(self._trainable_weights) if self.trainable else []

  @property
  def non_trainable_weights(self):
    return list(self._other_weights) if self.trainable else self._trainable_weights + \
        self._other_weights

  trainable_variables = property(lambda self: self.trainable_weights)
  non_trainable_variables = property(lambda self: self.non_trainable_weights)
  weights = property(lambda self: self.trainable_weights + self.non_trainable_weights)
  variables = property(lambda self: self.weights)
  losses = property(lambda self: list(self._losses))
  updates = property(lambda self: list(self._updates))

  @property
  def graph(self):
    return get_default_graph()

  def add_loss(self, losses, inputs=None):
    del inputs
    for loss in losses if isinstance(losses, (list, tuple)) else [losses]:
      if loss is None:    # what a regularizer of scale zero gives
        continue
      self._losses.append(loss)
      get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

  def add_update(self, updates, inputs=None):
    del inputs
    for update in updates if isinstance(updates, (list, tuple)) else [updates]:
      self._updates.append(update)
      get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, update)

  def add_weight(self, name, shape, dtype=None, initializer=None, regularizer=None, trainable=None,
                 constraint=None, use_resource=None, partitioner=None, synchronization=None,
                 **unused):
    """A variable of the layer."""
    if getattr(synchronization, 'name', None) == 'ON_READ':
      if trainable:
        raise ValueError('Synchronization value can be set to VariableSynchronization.ON_READ only '
                         'for non-trainable variables. You have specified trainable=True and '
                         'synchronization=VariableSynchronization.ON_READ.')
      trainable = False
    trainable = True if trainable is None else trainable
    dtype = dtypes.as_dtype(dtype or self._dtype or dtypes.float32)
    known = len(get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES))
    with self._inside():
      variable = variable_scope.get_variable(
          name, shape=shape, dtype=dtype, initializer=initializer, constraint=constraint,
          trainable=trainable and self.trainable, use_resource=use_resource,
          partitioner=partitioner)
    fresh = len(get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)) > known
    if regularizer is not None and fresh:
      with colocate_with(variable.op), name_scope(name + '/Regularizer'):
        self.add_loss(regularizer(variable))
    (self._trainable_weights if trainable else self._other_weights).append(variable)
    return variable

  add_variable = add_weight

  # Calling --------------------------------------------------------------------------------------

  def build(self, input_shape):
    """Makes the variables for inputs of that shape, at the first call."""
    del input_shape
    self.built = True

  def call(self, inputs, **kwargs):
    """Adds the operations for inputs; gives the outputs."""
    return inputs

  def _enter_scope(self, scope):
    if self._scope is None:
      if self._reuse:
        opened = variable_scope.variable_scope(scope if scope is not None else self._base_name)
      else:
        opened = variable_scope.variable_scope(scope, default_name=self._base_name)
      with opened as found:
        self._scope = found

  @contextlib.contextmanager
  def _inside(self):
    """The scopes of variables and names of the layer."""
    if self._scope is None:
      self._enter_scope(None)
    reuse = True if self.built or self._reuse is True else self._reuse or None
    with variable_scope.variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False):
      with name_scope(self._scope.original_name_scope):
        yield

  def __call__(self, inputs, *args, **kwargs):
    self._enter_scope(kwargs.pop('scope', None))
    with self._inside():
      items = inputs if isinstance(inputs, (list, tuple)) else [inputs]
      items = [convert(i) for i in items]
      if self.input_spec is not None:
        self.input_spec.check(self.name, items[0])
      inputs = items if isinstance(inputs, (list, tuple)) else items[0]
      if not self.built:
        if self._dtype is None:
          self._dtype = items[0].dtype.base_dtype
        self.build([i.get_shape() for i in items] if isinstance(inputs, list) else
                   inputs.get_shape())
        self.built = True
      outputs = self.call(inputs, *args, **kwargs)
      if self.activity_regularizer is not None:
        with name_scope('ActivityRegularizer'):
          self.add_loss(self.activity_regularizer(outputs))
    return outputs

  apply = __call__

  def count_params(self):
    """The number of elements of all variables; ValueError before they are made."""
    if not self.built:
      raise ValueError('You tried to call `count_params` on %s, but the layer isn\'t built. You '
                       'can build it manually via: `%s.build(batch_input_shape)`.' % (self.name,
                                                                                 self.name))
    return sum(v.get_shape().num_elements() for v in self.weights)
