"""What all distributions have, and the divergences between them.

A distribution is a batch of independent random variables, whose parameters are tensors that are
broadcast. A kind of distribution gives formulas, methods with a leading underscore, of values that
have the shape sample + batch + event. The methods without one open the name scopes and convert;
prob follows from log_prob, log_cdf from cdf, stddev from variance, where there is no other formula.
"""
from __future__ import annotations

import contextlib

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert, convert_to_tensor
from leat._graph.graph import get_default_graph
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.shape import TensorShape
from leat._ops import array, control_flow, math

_divergences = {}   # (class, class) -> function


@export('distributions.ReparameterizationType')
class ReparameterizationType:
  """Whether samples are a differentiable function of the parameters, so that gradients flow through
  them; there are two, FULLY_REPARAMETERIZED and NOT_REPARAMETERIZED."""

  def __init__(self, rep_type):
    self._name = rep_type

  def __repr__(self):
    return '<Reparameterization Type: %s>' % self._name


EXPORTS = {'distributions.FULLY_REPARAMETERIZED': 'FULLY_REPARAMETERIZED',
           'distributions.NOT_REPARAMETERIZED': 'NOT_REPARAMETERIZED'}
FULLY_REPARAMETERIZED = ReparameterizationType('FULLY_REPARAMETERIZED')
NOT_REPARAMETERIZED = ReparameterizationType('NOT_REPARAMETERIZED')


@export('distributions.Distribution')
class Distribution:
  """The parent of all distributions. `parameters` are the arguments that it was made of."""
  _event_rank = 0

  def __init__(self, dtype, parameters, tensors, name, validate_args=False, allow_nan_stats=True):
    self._dtype, self._name = dtype, name
    self._parameters = {k: v for k, v in parameters.items() if k not in ('self', '__class__')}
    self._tensors = tensors   # their shapes, broadcast, are that of the batch
    self.validate_args, self.allow_nan_stats = validate_args, allow_nan_stats

  reparameterization_type = property(lambda self: NOT_REPARAMETERIZED)
  name = property(lambda self: self._name)
  dtype = property(lambda self: self._dtype)
  parameters = property(lambda self: dict(self._parameters))

  @property
  def batch_shape(self):
    """The TensorShape of the parameters without that of an event."""
    shape = TensorShape([])
    for tensor in self._tensors:
      shape = array.broadcast_static_shape(shape, self._without_event(tensor.get_shape()))
    return shape

  def _without_event(self, shape):
    return shape if not self._event_rank or shape.ndims is None else shape[:-self._event_rank]

  @property
  def event_shape(self):
    return TensorShape([])

  def batch_shape_tensor(self, name='batch_shape_tensor'):
    with self._scope(name):
      if self.batch_shape.is_fully_defined():
        return convert(self.batch_shape.as_list(), 'int32', 'batch_shape')
      shapes = [array.shape(t) for t in self._tensors]
      shapes = [s[:-self._event_rank] for s in shapes] if self._event_rank else shapes
      found = shapes[0]
      for shape in shapes[1:]:
        found = array.broadcast_dynamic_shape(found, shape)
      return found

  def event_shape_tensor(self, name='event_shape_tensor'):
    with self._scope(name):
      return convert(self.event_shape.as_list(), 'int32', 'event_shape')

  def is_scalar_batch(self, name='is_scalar_batch'):
    """A bool tensor: whether there is one distribution and no batch of them."""
    return self._is_scalar(name, self.batch_shape, self.batch_shape_tensor)

  def is_scalar_event(self, name='is_scalar_event'):
    """A bool tensor: whether a sample is one number."""
    return self._is_scalar(name, self.event_shape, self.event_shape_tensor)

  def _is_scalar(self, name, shape, shape_tensor):
    with self._scope(name):
      if shape.ndims is not None:
        return convert(shape.ndims == 0, dtypes.bool, 'is_scalar')
      return apply_op('Equal', x=array.shape(shape_tensor())[0], y=0)

  def copy(self, **overrides):
    """The same distribution with other arguments."""
    return type(self)(**{**self._parameters, **overrides})

  @contextlib.contextmanager
  def _scope(self, name, values=()):
    with name_scope(self._name), name_scope(name, values=list(values)):
      yield

  def __repr__(self):
    return '<tf.distributions.%s %r batch_shape=%s event_shape=%s dtype=%s>' % (
        type(self).__name__, self._name, self.batch_shape, self.event_shape, self._dtype.name)

  # Samples and probabilities -------------------------------------------------------------------

  def sample(self, sample_shape=(), seed=None, name='sample'):
    """Values of the shape sample_shape + batch_shape + event_shape."""
    with self._scope(name, [sample_shape]):
      shape = convert(sample_shape, dtypes.int32, 'sample_shape')
      known = shape.get_shape().ndims == 0
      count = shape if known else math.reduce_prod(shape)
      found = self._sample(count, seed)   # [count] + batch + event
      rows = array.reshape(shape, [-1]) if known else shape
      result = array.reshape(found, array.concat([rows, array.shape(found)[1:]], 0))
      return result

  def _value(self, value):
    """The value as a tensor of its own type; a number is of this distribution's where it can."""
    return convert_to_tensor(value, name='value', preferred_dtype=self._dtype)

  def _call(self, name, formula, *values):
    with self._scope(name, values):
      return formula(*[self._value(v) for v in values])

  def prob(self, value, name='prob'):
    return self._call(name, self._prob, value)

  def log_prob(self, value, name='log_prob'):
    return self._call(name, self._log_prob, value)

  def cdf(self, value, name='cdf'):
    return self._call(name, self._cdf, value)

  def log_cdf(self, value, name='log_cdf'):
    return self._call(name, self._log_cdf, value)

  def survival_function(self, value, name='survival_function'):
    return self._call(name, lambda x: 1.0 - self._cdf(x), value)

  def log_survival_function(self, value, name='log_survival_function'):
    return self._call(name, self._log_survival_function, value)

  def quantile(self, value, name='quantile'):
    return self._call(name, self._quantile, value)

  def _prob(self, x):
    return math.exp(self._log_prob(x))

  def _log_cdf(self, x):
    return apply_op('Log', x=self._cdf(x))

  def _log_survival_function(self, x):
    return apply_op('Log1p', x=-self._cdf(x))

  # Moments ---------------------------------------------------------------------------------------

  def entropy(self, name='entropy'):
    return self._call(name, self._entropy)

  def mean(self, name='mean'):
    return self._call(name, self._mean)

  def mode(self, name='mode'):
    return self._call(name, self._mode)

  def variance(self, name='variance'):
    return self._call(name, self._variance)

  def covariance(self, name='covariance'):
    """The matrix of the covariances of the components of an event."""
    return self._call(name, self._covariance)

  def stddev(self, name='stddev'):
    return self._call(name, self._stddev)

  def _stddev(self):
    return apply_op('Sqrt', x=self._variance())

  def kl_divergence(self, other, name='kl_divergence'):
    with self._scope(name):
      return kl_divergence(self, other)

  def cross_entropy(self, other, name='cross_entropy'):
    """The entropy of this distribution and its divergence from another one."""
    with self._scope(name):
      return kl_divergence(self, other) + self._entropy()

  def _where_defined(self, is_defined, value, rule):
    """The value, NaN where it is not defined; where NaN is not allowed the step fails instead, and
    says the rule."""
    if self.allow_nan_stats:
      return apply_op('SelectV2', condition=is_defined, t=value,
                      e=convert(float('nan'), value.dtype))
    check = control_flow.Assert(math.reduce_all(is_defined), ['%s: %s' % (self._name, rule)])
    with control_dependencies([check]):
      return array.identity(value)

  def _absent(self, *unused):
    raise NotImplementedError('%s has no formula for this' % type(self).__name__)

  _log_prob = _cdf = _quantile = _entropy = _mean = _mode = _variance = _covariance = _absent


def parameters_of(distribution_name, given):
  """(name of the scope, tensors) of the arguments {name: value}; ValueError where their types
  differ or are no floats."""
  with get_default_graph().as_default(), name_scope(distribution_name,
                                                    values=list(given.values())) as scope:
    tensors = [convert(v, name=n) for n, v in given.items()]
  for (name, _), tensor in zip(given.items(), tensors):
    if not tensor.dtype.is_floating:
      raise ValueError('%s of %s is %s, must be a floating-point number' % (
          name, distribution_name, tensor.dtype.name))
    if tensor.dtype.base_dtype != tensors[0].dtype.base_dtype:
      raise ValueError('%s of %s is %s, must be %s as the others are' % (
          name, distribution_name, tensor.dtype.name, tensors[0].dtype.name))
  return scope, tensors


# ---- Divergences --------------------------------------------------------------------------------


@export('distributions.RegisterKL')
class RegisterKL:
  """A decorator for a function (a, b, name) that is the divergence of two classes."""

  def __init__(self, dist_cls_a, dist_cls_b):
    self._key = dist_cls_a, dist_cls_b

  def __call__(self, kl_fn):
    if not callable(kl_fn):
      raise TypeError('kl_fn must be callable, received: %s' % kl_fn)
    if self._key in _divergences:
      raise ValueError('KL(%s || %s) has already been registered' % tuple(
          c.__name__ for c in self._key))
    _divergences[self._key] = kl_fn
    return kl_fn


@export('distributions.kl_divergence')
def kl_divergence(distribution_a, distribution_b, allow_nan_stats=True, name=None):
  """KL(a || b), the expected log(a(x) / b(x)) under a; with allow_nan_stats=False a step fails
  where it is no number. NotImplementedError where there is no formula for the two."""
  function = _find_divergence(type(distribution_a), type(distribution_b))
  if function is None:
    raise NotImplementedError('No KL(a || b) is registered for a of type %s and b of type %s' % (
        type(distribution_a).__name__, type(distribution_b).__name__))
  with name_scope('KullbackLeibler'):
    value = function(distribution_a, distribution_b, name=name)
    if allow_nan_stats:
      return value
    return apply_op('CheckNumerics', tensor=value, message='KL divergence is not a number')


def _find_divergence(a, b):
  """The function for the nearest of the classes that the two classes come from."""
  found = [(a.mro().index(x) + b.mro().index(y), f) for (x, y), f in _divergences.items()
           if issubclass(a, x) and issubclass(b, y)]
  return min(found, key=lambda item: item[0])[1] if found else None
