"""tf.layers: dense layers, convolutions, dropout, batch normalization, as objects and functions."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.shape import TensorShape
from leat._ops import array, initializers, matrix, nn, variable_scope
from leat._ops.layer import InputSpec, Layer


@export('layers.Dense')
class Dense(Layer):
  """A layer: activation(inputs * kernel + bias). Inputs [..., n], outputs [..., units]; the
  variables 'kernel' [n, units] and 'bias' [units] are made when it is first called. ValueError
  where n is not known."""

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
    """Makes the variables for inputs of that shape. ValueError where the last size is not known."""
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
    """The outputs for inputs."""
    rank = inputs.get_shape().ndims
    if rank > 2:
      outputs = matrix.tensordot(inputs, self.kernel, [[rank - 1], [0]])
      outputs.set_shape(inputs.get_shape().as_list()[:-1] + [self.units])
    else:
      outputs = matrix.matmul(inputs, self.kernel)
    if self.use_bias:
      outputs = nn.bias_add(outputs, self.bias)
    return outputs if self.activation is None else self.activation(outputs)


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
  """A layer: `filters` convolutions over one dimension, with a bias and an activation. Inputs
  [batch, steps, channels], outputs [batch, new steps, filters]."""
  def __init__(self, filters, kernel_size, *args, **kwargs):
    super().__init__(1, filters, kernel_size, *args, **kwargs)


@export('layers.Conv2D')
class Conv2D(_Conv):
  """A layer: `filters` convolutions over height and width, with a bias and an activation. Inputs
  [batch, height, width, channels], or [batch, channels, height, width] where data_format is
  'channels_first'; outputs [batch, new height, new width, filters]."""
  def __init__(self, filters, kernel_size, *args, **kwargs):
    super().__init__(2, filters, kernel_size, *args, **kwargs)


@export('layers.Conv3D')
class Conv3D(_Conv):
  """A layer: `filters` convolutions over depth, height and width, with a bias and an activation.
  Inputs [batch, depth, height, width, channels], outputs the same with `filters` channels."""
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
  """A layer: inputs [batch, ...] as [batch, n]."""

  def __init__(self, data_format='channels_last', name=None, **kwargs):
    super().__init__(name=name, **kwargs)
    self.input_spec = InputSpec(min_ndim=2)

  def compute_output_shape(self, input_shape):
    shape = TensorShape(input_shape).with_rank_at_least(2)
    return TensorShape([shape[0], shape[1:].num_elements()])

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
  """A layer: sets a share `rate` of the elements to 0 and divides the others by 1 - rate, where
  `training` is true; otherwise inputs are given back. noise_shape has 1 for dimensions that share
  their fate."""

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
  """A layer: scales inputs to mean 0 and variance 1 along `axis`, then multiplies by gamma and adds
  beta, which are trained. Where `training` is true mean and variance are those of the batch, else
  averages of them, which operations in the collection UPDATE_OPS keep: run them with each step of
  training."""

  def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True,
               beta_initializer=None, gamma_initializer=None, moving_mean_initializer=None,
               moving_variance_initializer=None, beta_regularizer=None, gamma_regularizer=None,
               beta_constraint=None, gamma_constraint=None, trainable=True, name=None,
               fused=None, adjustment=None, **kwargs):
    for option in ('renorm', 'virtual_batch_size'):
      if kwargs.pop(option, None):
        raise NotImplementedError('BatchNormalization: %s is not available yet' % option)
    super().__init__(name=name, trainable=trainable, **kwargs)
    self.axis = list(axis) if isinstance(axis, (list, tuple)) else axis
    if not isinstance(self.axis, (list, int)):
      raise TypeError('axis must be int or list, type given: %s' % type(axis))
    if fused and adjustment is not None:
      raise ValueError('Passing fused=True is not supported when adjustment is specified.')
    self.adjustment = adjustment
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
    axes = [self.axis] if isinstance(self.axis, int) else self.axis
    self.axis = [a + rank if a < 0 else a for a in axes]
    if any(not 0 <= a < rank for a in self.axis):
      raise ValueError('Invalid axis: %s' % (axes,))
    if len(set(self.axis)) != len(self.axis):
      raise ValueError('Duplicate axis: %s' % self.axis)
    sizes = {a: input_shape.as_list()[a] for a in self.axis}
    if None in sizes.values():
      raise ValueError('Input has undefined `axis` dimension. Input shape: ', input_shape)
    self.input_spec = InputSpec(ndim=rank, axes=sizes)
    if self._fused is None:
      self._fused = rank == 4 and self.axis in ([1], [3]) and self.adjustment is None
    elif self._fused and (rank != 4 or self.axis not in ([1], [3])):
      raise ValueError('Fused batch norm needs an input of rank 4 and axis 1 or 3, but rank is %d '
                       'and axis %s' % (rank, self.axis))
    kind = dtypes.float32 if self._dtype in (dtypes.float16, dtypes.bfloat16) else self._dtype
    # Parameters of one axis are vectors, those of several have the rank of the input.
    size = list(sizes.values()) if len(sizes) == 1 else [sizes.get(i, 1) for i in range(rank)]
    self.gamma = self.add_weight('gamma', size, kind, *self._gamma[:2],
                                 constraint=self._gamma[2]) if self.scale else None
    self.beta = self.add_weight('beta', size, kind, *self._beta[:2],
                                constraint=self._beta[2]) if self.center else None
    with variable_scope.variable_scope(variable_scope.get_variable_scope(),
                                       auxiliary_name_scope=False) as scope:
      scope.set_partitioner(None)   # the averages are assigned as a whole
      self.moving_mean = self.add_weight('moving_mean', size, kind, self._mean, trainable=False)
      self.moving_variance = self.add_weight('moving_variance', size, kind, self._variance,
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
    rank = inputs.get_shape().ndims
    axes = [i for i in range(rank) if i not in self.axis]
    several = len(self.axis) > 1
    averages = lambda: (convert(self.moving_mean), convert(self.moving_variance))
    if training is False:
      mean, variance = averages()
    else:
      batch = nn.moments(inputs, axes, keep_dims=several)
      mean, variance = _choose(training, lambda: tuple(batch), averages)
      self._update(mean, variance)
    spread = [d if i in self.axis else 1 for i, d in enumerate(inputs.get_shape().as_list())]
    wide = lambda v: v if v is None or several or self.axis == [rank - 1] else array.reshape(
        v, spread)
    gamma, beta = wide(self.gamma), wide(self.beta)
    if self.adjustment is not None and training is not False:
      gamma, beta = self._adjusted(inputs, training, gamma, beta)
    return nn.batch_normalization(inputs, wide(mean), wide(variance), beta, gamma, self.epsilon)

  def _adjusted(self, inputs, training, gamma, beta):
    """gamma and beta with the scale and the bias of the function `adjustment` while training."""
    scale, bias = self.adjustment(array.shape(inputs))
    scale = _choose(training, lambda: array.identity(scale), lambda: array.ones_like(scale))
    bias = _choose(training, lambda: array.identity(bias), lambda: array.zeros_like(bias))
    if gamma is None:
      return scale, bias if beta is None else bias + beta
    return scale * gamma, bias * gamma if beta is None else bias * gamma + beta

  def _call_fused(self, inputs, training):
    size = self.moving_mean.get_shape().as_list()
    gamma = array.ones(size) if self.gamma is None else self.gamma
    beta = array.zeros(size) if self.beta is None else self.beta

    def normalised(is_training):
      averages = (None, None) if is_training else (self.moving_mean, self.moving_variance)
      return nn.fused_batch_norm(inputs, gamma, beta, *averages, self.epsilon,
                                 'NCHW' if self.axis == [1] else 'NHWC', is_training)
    outputs, mean, variance = _choose(training, lambda: normalised(True),
                                      lambda: normalised(False))
    if training is not False:
      self._update(mean, variance)
    return outputs


# ---- Functions ----------------------------------------------------------------------------------


def _function(cls, leading, apply_arguments=()):
  """The function of a layer: makes one and calls it. `leading` names its positional arguments."""
  parameters = _parameters(cls, leading, apply_arguments)

  def function(inputs, *args, **kwargs):
    if len(args) > len(leading):
      raise TypeError('%s takes at most %d positional arguments (inputs, %s), not %d' % (
          cls.__name__, len(leading) + 1, ', '.join(leading), len(args) + 1))
    for name in kwargs:
      if name not in parameters:
        raise TypeError("%s got an unexpected keyword argument '%s'" % (cls.__name__, name))
    kwargs.update(zip(leading, args))
    reuse, name = kwargs.pop('reuse', None), kwargs.pop('name', None)
    rest = {n: kwargs.pop(n) for n in apply_arguments if n in kwargs}
    layer = cls(name=name, _reuse=reuse, _scope=name, **kwargs)
    return layer(inputs, **rest)
  function.__doc__ = '''Makes the layer tf.layers.%s and applies it to inputs.

  With `reuse` it uses the variables of the layer that was made under the same name.

  %s''' % (cls.__name__, cls.__doc__)
  words = [n if d is _REQUIRED else '%s=%r' % (n, d if isinstance(d, (str, int, float)) else None)
           for n, d in parameters.items()]
  words.insert(len(leading), '*')
  function.__text_signature__ = '(inputs, %s)' % ', '.join(words)
  return function


_REQUIRED = object()


def _parameters(cls, leading, apply_arguments):
  """{parameter: default} of the function of a layer: of its constructor and those of its bases."""
  found = dict.fromkeys(apply_arguments, False)
  for base in reversed(cls.__mro__):
    code = getattr(base.__init__, '__code__', None)
    if code:
      names = code.co_varnames[1:code.co_argcount]
      defaults = base.__init__.__defaults__ or ()
      required = (_REQUIRED,) * (len(names) - len(defaults))
      found.update(zip(names, required + defaults))
  found.update(name=None, reuse=None)
  rest = [n for n, default in found.items()
          if n not in leading and not n.startswith('_') and default is not _REQUIRED]
  return {name: found[name] for name in (*leading, *rest)}


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
