"""Initializers: objects that make initial values of a shape."""
from __future__ import annotations

import math as python_math

from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.shape import as_shape


class Initializer:
  """Called with a shape it gives a tensor."""

  def __call__(self, shape, dtype=None, partition_info=None):
    raise NotImplementedError

  def get_config(self):
    """The arguments that make the same initializer again."""
    return {}

  @classmethod
  def from_config(cls, config):
    """The initializer that get_config describes."""
    config.pop('dtype', None)
    return cls(**config)


def _float(dtype):
  dtype = dtypes.as_dtype(dtype)
  if not dtype.is_floating:
    raise ValueError('Argument `dtype` expected to be numeric or boolean. Received %s.' % dtype)
  return dtype


@export('zeros_initializer', 'initializers.zeros')
class zeros_initializer(Initializer):
  """An initializer that gives zeros of the variable's shape."""

  def __init__(self, dtype=dtypes.float32):
    self.dtype = dtypes.as_dtype(dtype)

  def __call__(self, shape, dtype=None, partition_info=None):
    from leat._ops import array
    return array.zeros(shape, dtype or self.dtype)

  def get_config(self):
    return {'dtype': self.dtype.name}


@export('ones_initializer', 'initializers.ones')
class ones_initializer(zeros_initializer):
  """An initializer that gives ones of the variable's shape."""

  def __call__(self, shape, dtype=None, partition_info=None):
    from leat._ops import array
    return array.ones(shape, dtype or self.dtype)


@export('constant_initializer', 'initializers.constant')
class constant_initializer(Initializer):
  """An initializer that gives a value. A number fills the shape; a list or array is laid out in it,
  and its last element is repeated where it is too short. With verify_shape it must have the shape.
  TypeError where the value is something else."""

  def __init__(self, value=0, dtype=dtypes.float32, verify_shape=False):
    if not (isinstance(value, (int, float, bool, str, bytes, list, tuple)) or hasattr(
        value, '__array__')) :
      raise TypeError('Invalid type for initial value=%s of type: %s. Expected Python scalar, list '
                      'or tuple of values, or numpy.ndarray.' % (value, type(value).__name__))
    self.value, self.dtype, self._verify_shape = value, dtypes.as_dtype(dtype), verify_shape

  def __call__(self, shape, dtype=None, partition_info=None, verify_shape=None):
    verify = self._verify_shape if verify_shape is None else verify_shape
    return conversion.constant_of(self.value, dtype or self.dtype, shape=as_shape(shape),
                                  verify_shape=verify)

  def get_config(self):
    return {'value': self.value, 'dtype': self.dtype.name}


class _Random(Initializer):
  def _draw(self, name, shape, dtype, first, second):
    from leat._ops import random
    return getattr(random, name)(shape, first, second, dtype or self.dtype, seed=self.seed)


@export('random_uniform_initializer', 'initializers.random_uniform')
class random_uniform_initializer(_Random):
  """An initializer that draws numbers evenly from minval to below maxval (1 where it is None)."""

  def __init__(self, minval=0.0, maxval=None, seed=None, dtype=dtypes.float32):
    self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, dtypes.as_dtype(dtype)

  def __call__(self, shape, dtype=None, partition_info=None):
    return self._draw('random_uniform', shape, dtype, self.minval, self.maxval)

  def get_config(self):
    return {'minval': self.minval, 'maxval': self.maxval, 'seed': self.seed,
            'dtype': self.dtype.name}


@export('random_normal_initializer', 'initializers.random_normal')
class random_normal_initializer(_Random):
  """An initializer that draws numbers from a normal distribution."""

  def __init__(self, mean=0.0, stddev=1.0, seed=None, dtype=dtypes.float32):
    self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _float(dtype)

  def __call__(self, shape, dtype=None, partition_info=None):
    return self._draw('random_normal', shape, dtype, self.mean, self.stddev)

  def get_config(self):
    return {'mean': self.mean, 'stddev': self.stddev, 'seed': self.seed, 'dtype': self.dtype.name}


@export('truncated_normal_initializer', 'initializers.truncated_normal')
class truncated_normal_initializer(random_normal_initializer):
  """An initializer that draws numbers from a normal distribution, and draws again what is further
  than two standard deviations from the mean. It is the usual one of weights."""

  def __call__(self, shape, dtype=None, partition_info=None):
    return self._draw('truncated_normal', shape, dtype, self.mean, self.stddev)


def _fans(shape):
  """(fan in, fan out) of a matrix or the filter of a convolution."""
  shape = as_shape(shape).as_list()
  if not shape:
    return 1, 1
  if len(shape) == 1:
    return shape[0], shape[0]
  field = 1
  for size in shape[:-2]:
    field *= size
  return shape[-2] * field, shape[-1] * field


@export('variance_scaling_initializer', 'initializers.variance_scaling',
        'uniform_scaling_variance_initializer')
class variance_scaling_initializer(_Random):
  """An initializer that draws numbers with the variance scale / n, so that signals keep their size
  from layer to layer. n is the number of inputs of a unit ('fan_in'), of its outputs ('fan_out'),
  or the mean of both ('fan_avg'), which follow from the shape. `distribution` is
  'truncated_normal', 'untruncated_normal' or 'uniform'. ValueError for other words, or a scale that
  is not positive."""

  def __init__(self, scale=1.0, mode='fan_in', distribution='truncated_normal', seed=None,
               dtype=dtypes.float32):
    if scale <= 0.:
      raise ValueError('Argument `scale` must be a positive float. Received: %s' % scale)
    if mode not in ('fan_in', 'fan_out', 'fan_avg'):
      raise ValueError("Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). "
                       'Received: %s' % mode)
    distribution = distribution.lower()
    if distribution not in ('normal', 'uniform', 'truncated_normal', 'untruncated_normal'):
      raise ValueError('Invalid `distribution` argument: %s' % distribution)
    self.scale, self.mode, self.distribution = scale, mode, distribution
    self.seed, self.dtype = seed, _float(dtype)

  def __call__(self, shape, dtype=None, partition_info=None):
    fan_in, fan_out = _fans(shape if partition_info is None else partition_info.full_shape)
    fan = {'fan_in': fan_in, 'fan_out': fan_out, 'fan_avg': (fan_in + fan_out) / 2.}[self.mode]
    scale = self.scale / max(1., fan)
    if self.distribution in ('normal', 'truncated_normal'):
      return self._draw('truncated_normal', shape, dtype, 0.0,
                        python_math.sqrt(scale) / .87962566103423978)
    if self.distribution == 'untruncated_normal':
      return self._draw('random_normal', shape, dtype, 0.0, python_math.sqrt(scale))
    limit = python_math.sqrt(3.0 * scale)
    return self._draw('random_uniform', shape, dtype, -limit, limit)

  def get_config(self):
    return {'scale': self.scale, 'mode': self.mode, 'distribution': self.distribution,
            'seed': self.seed, 'dtype': self.dtype.name}


@export('uniform_unit_scaling_initializer', 'initializers.uniform_unit_scaling')
class uniform_unit_scaling_initializer(_Random):
  """Even in a range that keeps the scale of inputs."""

  def __init__(self, factor=1.0, seed=None, dtype=dtypes.float32):
    self.factor, self.seed, self.dtype = factor, seed, _float(dtype)

  def __call__(self, shape, dtype=None, partition_info=None):
    full = shape if partition_info is None else partition_info.full_shape
    size = 1.0
    for dim in list(as_shape(full).as_list())[:-1]:
      size *= float(dim)
    limit = python_math.sqrt(3 / max(size, 1.0)) * self.factor
    return self._draw('random_uniform', shape, dtype, -limit, limit)

  def get_config(self):
    return {'factor': self.factor, 'seed': self.seed, 'dtype': self.dtype.name}


def _scaled(scale, mode, distribution, note):
  class Scaled(variance_scaling_initializer):
    __doc__ = note

    def __init__(self, seed=None, dtype=dtypes.float32):
      super().__init__(scale, mode, distribution, seed, dtype)

    def get_config(self):
      return {'seed': self.seed, 'dtype': self.dtype.name}
  return Scaled


glorot_uniform_initializer = _scaled(
    1.0, 'fan_avg', 'uniform',
    """An initializer: uniform between -limit and limit = sqrt(6 / (inputs + outputs)) of a unit,
    which follow from the shape (Glorot and Bengio, 2010). get_variable uses it by default.""")
glorot_normal_initializer = _scaled(
    1.0, 'fan_avg', 'truncated_normal',
    """An initializer: a truncated normal distribution with the variance 2 / (inputs + outputs) of a
    unit, which follow from the shape (Glorot and Bengio, 2010).""")


def he_normal(seed=None):
  """An initializer: a truncated normal distribution with the variance 2 / fan in, for layers with
  relu (He et al., 2015)."""
  return variance_scaling_initializer(2., 'fan_in', 'truncated_normal', seed)


def he_uniform(seed=None):
  """An initializer: uniform between -limit and limit = sqrt(6 / fan in), for layers with relu (He
  et al., 2015)."""
  return variance_scaling_initializer(2., 'fan_in', 'uniform', seed)


def lecun_normal(seed=None):
  """An initializer: a truncated normal distribution with the variance 1 / fan in (LeCun et al.,
  1998)."""
  return variance_scaling_initializer(1., 'fan_in', 'truncated_normal', seed)


def lecun_uniform(seed=None):
  """An initializer: uniform between -limit and limit = sqrt(3 / fan in) (LeCun et al., 1998)."""
  return variance_scaling_initializer(1., 'fan_in', 'uniform', seed)


@export('orthogonal_initializer', 'initializers.orthogonal')
class orthogonal_initializer(Initializer):
  """An initializer that gives a matrix with orthogonal rows or columns of length `gain`. Further
  dimensions count as rows. ValueError where the shape has less than two dimensions."""

  def __init__(self, gain=1.0, seed=None, dtype=dtypes.float32):
    self.gain, self.seed, self.dtype = gain, seed, _float(dtype)

  def __call__(self, shape, dtype=None, partition_info=None):
    from leat._graph.apply import apply_op
    from leat._ops import array, diagonal, math, random
    shape = as_shape(shape).as_list()
    if len(shape) < 2:
      raise ValueError('The tensor to initialize, specified by argument `shape` must be at least '
                       'two-dimensional. Received shape=%s' % shape)
    rows = 1
    for dim in shape[:-1]:
      rows *= dim
    columns = shape[-1]
    flat = (columns, rows) if rows < columns else (rows, columns)
    drawn = random.random_normal(flat, dtype=dtype or self.dtype, seed=self.seed)
    q, r = apply_op('Qr', input=drawn, full_matrices=False)
    q *= math.sign(diagonal.diag_part(r))
    if rows < columns:
      q = array.matrix_transpose(q)
    return self.gain * array.reshape(q, shape)

  def get_config(self):
    return {'gain': self.gain, 'seed': self.seed, 'dtype': self.dtype.name}


@export('initializers.identity')
class identity_initializer(Initializer):
  """The identity matrix."""

  def __init__(self, gain=1.0, dtype=dtypes.float32):
    self.gain, self.dtype = gain, _float(dtype)

  def __call__(self, shape, dtype=None, partition_info=None):
    from leat._ops import array, diagonal
    full = list(shape if partition_info is None else partition_info.full_shape)
    if len(full) != 2:
      raise ValueError('The tensor to initialize, specified by argument `shape` must be at least '
                       'two-dimensional. Received shape=%s' % (shape,))
    made = diagonal.eye(*full, dtype=dtype or self.dtype)
    if partition_info is not None:
      made = array.slice(made, partition_info.var_offset, shape)
    return self.gain * made

  def get_config(self):
    return {'gain': self.gain, 'dtype': self.dtype.name}


EXPORTS = {'glorot_uniform_initializer': 'glorot_uniform_initializer',
           'initializers.glorot_uniform': 'glorot_uniform_initializer',
           'glorot_normal_initializer': 'glorot_normal_initializer',
           'initializers.glorot_normal': 'glorot_normal_initializer',
           'initializers.he_normal': 'he_normal', 'initializers.he_uniform': 'he_uniform',
           'initializers.lecun_normal': 'lecun_normal',
           'initializers.lecun_uniform': 'lecun_uniform'}
