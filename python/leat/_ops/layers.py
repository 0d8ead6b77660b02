"""tf.layers: layers as objects that make their variables when they are first called, and as
functions."""
from __future__ import annotations

import contextlib
import re

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys, colocate_with, name_scope
from leat._graph.shape import TensorShape
from leat._ops import array, initializers, matrix, nn, variable_scope


def _snake(name):
  name = re.sub('(.)([A-Z][a-z0-9]+)', r'\1_\2', name)
  return re.sub('([a-z])([A-Z])', r'\1_\2', name).lower()


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
    self._name = name
    if _scope is not None:
      with variable_scope.variable_scope(_scope) as scope:
        self._scope = scope

  # What the layer has ---------------------------------------------------------------------------

  @property
  def name(self):
    return self._name or self._base_name

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
    del input_shape
    self.built = True

  def call(self, inputs, **kwargs):
    return inputs

  def compute_output_shape(self, input_shape):
    """The shape of what call() gives for an input of that shape."""
    raise NotImplementedError('%s has no compute_output_shape' % type(self).__name__)

  def _enter_scope(self, scope):
    if self._scope is None:
      if self._reuse:
        opened = variable_scope.variable_scope(scope if scope is not None else self._base_name)
      else:
        opened = variable_scope.variable_scope(scope, default_name=self._base_name)
      with opened as found:
        self._scope = found
      if self._name is None:
        self._name = self._scope.name.rpartition('/')[2] or self._base_name

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
      raise ValueError('You tried to call `count_params` on %s, but the layer isn\'t built. You can '
                       'build it manually via: `%s.build(batch_input_shape)`.' % (self.name,
                                                                                 self.name))
    return sum(v.get_shape().num_elements() for v in self.weights)


@export('layers.Dense')
class Dense(Layer):
  """activation(inputs * kernel + bias)."""

  def __init__(self, units, activation=None, use_bias=True, kernel_initializer=None,
               bias_initializer=None, kernel_regularizer=None, bias_regularizer=None,
               activity_regularizer=None, kernel_constraint=None, bias_constraint=None,
               trainable=True, name=None, **kwargs):
    super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer,
                     **kwargs)
    self.units, self.activation, self.use_bias = int(units), activation, use_bias
    self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
    self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
    self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
    self._kernel = kernel_initializer, kernel_regularizer, kernel_constraint
    self._bias = bias_initializer or initializers.zeros_initializer(), bias_regularizer, \
        bias_constraint
    self.kernel = self.bias = None
    self.input_spec = InputSpec(min_ndim=2)

  def build(self, input_shape):
    last = TensorShape(input_shape).as_list()[-1]
    if last is None:
      raise ValueError('The last dimension of the inputs to `Dense` should be defined. Found '
                       '`None`.')
    self.input_spec = InputSpec(min_ndim=2, axes={-1: last})
    self.kernel = self.add_weight('kernel', [last, self.units], self._dtype, *self._kernel[:2],
                                  constraint=self._kernel[2])
    if self.use_bias:
      self.bias = self.add_weight('bias', [self.units], self._dtype, *self._bias[:2],
                                  constraint=self._bias[2])
    self.built = True

  def compute_output_shape(self, input_shape):
    return TensorShape(input_shape).with_rank_at_least(2)[:-1].concatenate(self.units)

  def call(self, inputs):
    rank = inputs.get_shape().ndims
    if rank > 2:
      outputs = matrix.tensordot(inputs, self.kernel, [[rank - 1], [0]])
      outputs.set_shape(inputs.get_shape().as_list()[:-1] + [self.units])
    else:
      outputs = matrix.matmul(inputs, self.kernel)
    if self.use_bias:
      outputs = nn.bias_add(outputs, self.bias)
    return outputs if self.activation is None else self.activation(outputs)

  def compute_output_shape(self, input_shape):
    shape = TensorShape(input_shape).with_rank_at_least(2)
    if shape[-1].value is None:
      raise ValueError('The innermost dimension of input_shape must be defined, but saw: %s' %
                       input_shape)
    return shape[:-1].concatenate(self.units)


class _Conv(Layer):
  """Convolutions of one to three dimensions."""

  def __init__(self, rank, filters, kernel_size, strides=1, padding='valid',
               data_format='channels_last', dilation_rate=1, activation=None, use_bias=True,
               kernel_initializer=None, bias_initializer=None, kernel_regularizer=None,
               bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
               bias_constraint=None, trainable=True, name=None, **kwargs):
    super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer,
                     **kwargs)
    self.rank, self.filters = rank, filters
    self.kernel_size = _tuple(kernel_size, rank, 'kernel_size')
    self.strides = _tuple(strides, rank, 'strides')
    self.dilation_rate = _tuple(dilation_rate, rank, 'dilation_rate')
    self.padding = _padding(padding)
    self.data_format = _data_format(data_format)
    self.activation, self.use_bias = activation, use_bias
    self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
    self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
    self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
    self._kernel = kernel_initializer, kernel_regularizer, kernel_constraint
    self._bias = bias_initializer or initializers.zeros_initializer(), bias_regularizer, \
        bias_constraint
    self.input_spec = InputSpec(ndim=rank + 2)

  def _channels(self, input_shape):
    axis = 1 if self.data_format == 'channels_first' else -1
    channels = TensorShape(input_shape).as_list()[axis]
    if channels is None:
      raise ValueError('The channel dimension of the inputs should be defined. Found `None`.')
    self.input_spec = InputSpec(ndim=self.rank + 2, axes={axis: channels})
    return channels

  def build(self, input_shape):
    channels = self._channels(input_shape)
    self.kernel = self.add_weight('kernel', list(self.kernel_size) + [channels, self.filters],
                                  self._dtype, *self._kernel[:2], constraint=self._kernel[2])
    self.bias = self.add_weight('bias', [self.filters], self._dtype, *self._bias[:2],
                                constraint=self._bias[2]) if self.use_bias else None

  def _full(self, values):
    values = list(values)
    return [1, 1] + values if self.data_format == 'channels_first' else [1] + values + [1]

  def call(self, inputs):
    if self.rank == 1:
      axis = 2 if self.data_format == 'channels_first' else 1
      inputs = array.expand_dims(inputs, axis)
      spread = lambda v: self._full((1,) + v)
      outputs = apply_op('Conv2D', input=inputs, filter=array.expand_dims(self.kernel, 0),
                         strides=spread(self.strides), padding=self.padding,
                         dilations=spread(self.dilation_rate),
                         data_format=_format(2, self.data_format))
      outputs = array.squeeze(outputs, [axis])
    else:
      outputs = apply_op('Conv%dD' % self.rank, input=inputs, filter=self.kernel,
                         strides=self._full(self.strides), padding=self.padding,
                         dilations=self._full(self.dilation_rate),
                         data_format=_format(self.rank, self.data_format))
    if self.use_bias:
      outputs = nn.bias_add(outputs, self.bias, _format(2, self.data_format))
    return outputs if self.activation is None else self.activation(outputs)


def _tuple(value, n, name):
  if isinstance(value, int):
    return (value,) * n
  try:
    found = tuple(v.__index__() for v in value)  # numpy's integers too
  except (TypeError, AttributeError):
    found = ()
  if len(found) != n:
    raise ValueError('The `%s` argument must be a tuple of %d integers. Received: %s' % (name, n,
                                                                                       value))
  return found


def _padding(padding):
  if padding.lower() not in ('valid', 'same'):
    raise ValueError('The `padding` argument must be one of "valid", "same". Received: %s' %
                     padding)
  return padding.upper()


def _data_format(data_format):
  if data_format.lower() not in ('channels_first', 'channels_last'):
    raise ValueError('The `data_format` argument must be one of "channels_first", "channels_last". '
                     'Received: %s' % data_format)
  return data_format.lower()


def _format(rank, data_format):
  first = data_format == 'channels_first'
  return {1: 'NCW' if first else 'NWC', 2: 'NCHW' if first else 'NHWC',
          3: 'NCDHW' if first else 'NDHWC'}[rank]


@export('layers.Conv1D')
class Conv1D(_Conv):
  def __init__(self, filters, kernel_size, *args, **kwargs):
    super().__init__(1, filters, kernel_size, *args, **kwargs)


@export('layers.Conv2D')
class Conv2D(_Conv):
  def __init__(self, filters, kernel_size, *args, **kwargs):
    super().__init__(2, filters, kernel_size, *args, **kwargs)


@export('layers.Conv3D')
class Conv3D(_Conv):
  def __init__(self, filters, kernel_size, *args, **kwargs):
    super().__init__(3, filters, kernel_size, *args, **kwargs)


@export('layers.Conv2DTranspose')
class Conv2DTranspose(_Conv):
  """The gradient of a convolution, as a layer."""

  def __init__(self, filters, kernel_size, *args, **kwargs):
    super().__init__(2, filters, kernel_size, *args, **kwargs)

  def build(self, input_shape):
    channels = self._channels(input_shape)
    self.kernel = self.add_weight('kernel', list(self.kernel_size) + [self.filters, channels],
                                  self._dtype, *self._kernel[:2], constraint=self._kernel[2])
    self.bias = self.add_weight('bias', [self.filters], self._dtype, *self._bias[:2],
                                constraint=self._bias[2]) if self.use_bias else None

  def call(self, inputs):
    first = self.data_format == 'channels_first'
    places = (2, 3) if first else (1, 2)
    sizes, known = array.shape(inputs), inputs.get_shape().as_list()
    grown = lambda n, k, s: n * s if self.padding == 'SAME' else n * s + max(k - s, 0)
    spatial = [grown(known[p] if known[p] is not None else sizes[p], k, s)
               for p, k, s in zip(places, self.kernel_size, self.strides)]
    shape = [sizes[0], self.filters] + spatial if first else [sizes[0]] + spatial + [self.filters]
    outputs = nn.conv2d_transpose(inputs, self.kernel, array.stack(shape),
                                  self._full(self.strides), self.padding,
                                  _format(2, self.data_format))
    static = [d if isinstance(d, int) else None for d in shape]
    outputs.set_shape([known[0]] + static[1:])
    if self.use_bias:
      outputs = nn.bias_add(outputs, self.bias, _format(2, self.data_format))
    return outputs if self.activation is None else self.activation(outputs)


@export('layers.Flatten')
class Flatten(Layer):
  """All dimensions but the first as one."""

  def __init__(self, data_format='channels_last', name=None, **kwargs):
    super().__init__(name=name, **kwargs)
    self.input_spec = InputSpec(min_ndim=2)

  def call(self, inputs):
    known = inputs.get_shape().as_list()
    size = TensorShape(known[1:]).num_elements()
    rows = known[0] if known[0] is not None else array.shape(inputs)[0]
    if size is not None:
      return array.reshape(inputs, [known[0] if known[0] is not None else -1, size])
    return array.reshape(inputs, array.stack([rows, -1]))


def _known_training(training):
  """Python's bool of `training`, or the tensor where only a step can say."""
  from leat._graph.value import constant_value
  if not hasattr(training, 'op'):
    return bool(training)
  value = constant_value(training)
  return training if value is None else bool(value)


def _choose(training, yes, no):
  """yes() while training, else no(); these are branches where only a step can say."""
  if isinstance(training, bool):
    return yes() if training else no()
  from leat._ops import control_flow, math
  return control_flow.cond(math.cast(training, dtypes.bool), yes, no)


@export('layers.Dropout')
class Dropout(Layer):
  """tf.nn.dropout while training."""

  def __init__(self, rate=0.5, noise_shape=None, seed=None, name=None, **kwargs):
    super().__init__(name=name, **kwargs)
    self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

  def call(self, inputs, training=False):
    return _choose(_known_training(training), lambda: self._dropped(inputs),
                   lambda: array.identity(inputs))

  def _dropped(self, inputs):
    noise = self.noise_shape
    if noise is not None and not hasattr(noise, 'op'):
      sizes = array.shape(inputs)
      noise = array.stack([sizes[i] if n is None else n for i, n in enumerate(noise)])
    return nn.dropout(inputs, rate=self.rate, noise_shape=noise, seed=self.seed)


@export('layers.BatchNormalization')
class BatchNormalization(Layer):
  """Normalised by the batch while training, else by moving averages, which UPDATE_OPS bring up to
  date."""

  def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True,
               beta_initializer=None, gamma_initializer=None, moving_mean_initializer=None,
               moving_variance_initializer=None, beta_regularizer=None, gamma_regularizer=None,
               beta_constraint=None, gamma_constraint=None, trainable=True, name=None,
               fused=None, **kwargs):
    for option in ('renorm', 'virtual_batch_size', 'adjustment'):
      if kwargs.pop(option, None):
        raise NotImplementedError('BatchNormalization: %s is not available yet' % option)
    super().__init__(name=name, trainable=trainable, **kwargs)
    self.axis = axis[0] if isinstance(axis, (list, tuple)) else axis
    self.momentum, self.epsilon = momentum, epsilon
    self.center, self.scale, self._fused = center, scale, fused
    zeros, ones = initializers.zeros_initializer(), initializers.ones_initializer()
    self._beta = beta_initializer or zeros, beta_regularizer, beta_constraint
    self._gamma = gamma_initializer or ones, gamma_regularizer, gamma_constraint
    self._mean, self._variance = moving_mean_initializer or zeros, \
        moving_variance_initializer or ones

  def build(self, input_shape):
    rank = input_shape.ndims
    if rank is None:
      raise ValueError('Input has undefined rank:', input_shape)
    self.axis = self.axis + rank if self.axis < 0 else self.axis
    size = input_shape.as_list()[self.axis]
    if size is None:
      raise ValueError('Input has undefined `axis` dimension. Input shape: ', input_shape)
    self.input_spec = InputSpec(ndim=rank, axes={self.axis: size})
    if self._fused is None:
      self._fused = rank == 4 and self.axis in (1, 3)
    kind = dtypes.float32 if self._dtype in (dtypes.float16, dtypes.bfloat16) else self._dtype
    self.gamma = self.add_weight('gamma', [size], kind, *self._gamma[:2],
                                 constraint=self._gamma[2]) if self.scale else None
    self.beta = self.add_weight('beta', [size], kind, *self._beta[:2],
                                constraint=self._beta[2]) if self.center else None
    self.moving_mean = self.add_weight('moving_mean', [size], kind, self._mean, trainable=False)
    self.moving_variance = self.add_weight('moving_variance', [size], kind, self._variance,
                                           trainable=False)

  def _update(self, mean, variance):
    """Moves the averages. Where a step does not train, they are what they move to."""
    from leat._train.average import assign_moving_average
    for average, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
      self.add_update(assign_moving_average(average, value, self.momentum, zero_debias=False))

  def call(self, inputs, training=False):
    training = _known_training(training)
    if self._fused:
      return self._call_fused(inputs, training)
    axes = [i for i in range(inputs.get_shape().ndims) if i != self.axis]
    averages = lambda: (convert(self.moving_mean), convert(self.moving_variance))
    if training is False:
      mean, variance = averages()
    else:
      batch = nn.moments(inputs, axes)
      mean, variance = _choose(training, lambda: tuple(batch), averages)
      self._update(mean, variance)
    spread = [1] * inputs.get_shape().ndims
    spread[self.axis] = inputs.get_shape().as_list()[self.axis]
    wide = lambda v: v if v is None or self.axis == len(spread) - 1 else array.reshape(v, spread)
    return nn.batch_normalization(inputs, wide(mean), wide(variance), wide(self.beta),
                                  wide(self.gamma), self.epsilon)

  def _call_fused(self, inputs, training):
    size = self.moving_mean.get_shape().as_list()
    gamma = array.ones(size) if self.gamma is None else self.gamma
    beta = array.zeros(size) if self.beta is None else self.beta

    def normalised(is_training):
      averages = (None, None) if is_training else (self.moving_mean, self.moving_variance)
      return nn.fused_batch_norm(inputs, gamma, beta, *averages, self.epsilon,
                                 'NCHW' if self.axis == 1 else 'NHWC', is_training)
    outputs, mean, variance = _choose(training, lambda: normalised(True),
                                      lambda: normalised(False))
    if training is not False:
      self._update(mean, variance)
    return outputs


# ---- Functions ----------------------------------------------------------------------------------


def _function(cls, leading, apply_arguments=()):
  """The function of a layer: makes one and calls it. `leading` names its positional arguments."""
  def function(inputs, *args, **kwargs):
    kwargs.update(zip(leading, args))
    reuse, name = kwargs.pop('reuse', None), kwargs.pop('name', None)
    rest = {n: kwargs.pop(n) for n in apply_arguments if n in kwargs}
    layer = cls(name=name, _reuse=reuse, _scope=name, **kwargs)
    return layer(inputs, **rest)
  function.__doc__ = 'The layer %s, made and called.' % cls.__name__
  return function


_CONV = ('filters kernel_size strides padding data_format dilation_rate activation use_bias '
         'kernel_initializer bias_initializer').split()
dense = _function(Dense, 'units activation use_bias kernel_initializer bias_initializer'.split())
conv1d, conv2d, conv3d = (_function(c, _CONV) for c in (Conv1D, Conv2D, Conv3D))
conv2d_transpose = _function(Conv2DTranspose, [n for n in _CONV if n != 'dilation_rate'])
flatten = _function(Flatten, ['name'])
dropout = _function(Dropout, 'rate noise_shape seed training name'.split(), ['training'])
batch_normalization = _function(
    BatchNormalization, 'axis momentum epsilon center scale beta_initializer gamma_initializer '
    'moving_mean_initializer moving_variance_initializer'.split(), ['training'])
EXPORTS = {'layers.' + n: n for n in (
    'dense', 'conv1d', 'conv2d', 'conv3d', 'conv2d_transpose', 'flatten', 'dropout',
    'batch_normalization')}
