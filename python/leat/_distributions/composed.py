"""Distributions made of others (contrib.distributions): several dimensions of a batch taken as one
event, mixtures, and distributions of a function of a random value, with such functions: bijectors.

A bijector has the forward function, its inverse, and the logarithm of how much the inverse changes
volumes. Bijectors are of single numbers, or of vectors along the last dimension (event_ndims 1);
the change of volume of the former is added up over the event that it is used on. """
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._distributions.discrete import Categorical
from leat._distributions.distribution import Distribution, RegisterKL, kl_divergence
from leat._ops import array, diagonal, math, matrix, nn

_log = lambda x: apply_op('Log', x=x)


class _Composed(Distribution):
  """What has the shapes of another distribution."""

  def _compose(self, base, arguments, dtype=None):
    self._base = base
    super().__init__(dtype or base.dtype, arguments, [], arguments['name'] or type(self).__name__,
                     arguments['validate_args'], base.allow_nan_stats)

  @property
  def batch_shape(self):
    return self._base.batch_shape

  @property
  def event_shape(self):
    return self._base.event_shape

  def batch_shape_tensor(self, name='batch_shape_tensor'):
    return self._base.batch_shape_tensor(name)

  def event_shape_tensor(self, name='event_shape_tensor'):
    return self._base.event_shape_tensor(name)


@export('contrib.distributions.Independent')
class Independent(_Composed):
  """A distribution whose last reinterpreted_batch_ndims dimensions of the batch, by default all but
  the first, are part of the event."""

  def __init__(self, distribution, reinterpreted_batch_ndims=None, validate_args=False, name=None):
    arguments = dict(locals())
    if reinterpreted_batch_ndims is None:
      rank = distribution.batch_shape.ndims
      if rank is None:
        raise ValueError('reinterpreted_batch_ndims is None, must be given: the rank of the batch '
                         'is not known')
      reinterpreted_batch_ndims = max(0, rank - 1)
    self._count = int(reinterpreted_batch_ndims)
    self._compose(distribution, {**arguments, 'name': name or 'Independent' + distribution.name})

  distribution = property(lambda self: self._base)
  reinterpreted_batch_ndims = property(lambda self: self._count)

  @property
  def batch_shape(self):
    shape = self._base.batch_shape
    return shape[:shape.ndims - self._count] if shape.ndims is not None else shape

  @property
  def event_shape(self):
    shape = self._base.batch_shape
    if shape.ndims is None:
      return shape
    return shape[shape.ndims - self._count:].concatenate(self._base.event_shape)

  def batch_shape_tensor(self, name='batch_shape_tensor'):
    shape = self._base.batch_shape_tensor(name)
    return shape[:array.size(shape) - self._count]

  def event_shape_tensor(self, name='event_shape_tensor'):
    shape = self._base.batch_shape_tensor(name)
    return array.concat([shape[array.size(shape) - self._count:],
                         self._base.event_shape_tensor()], 0)

  def _summed(self, x):
    return math.reduce_sum(x, list(range(-self._count, 0))) if self._count else x

  def _sample(self, count, seed):
    return self._base._sample(count, seed)

  def _log_prob(self, x):
    return self._summed(self._base._log_prob(x))

  def _entropy(self):
    return self._summed(self._base._entropy())

  def _mean(self):
    return self._base._mean()

  def _variance(self):
    return self._base._variance()

  def _mode(self):
    return self._base._mode()


# ---- Mixtures ------------------------------------------------------------------------------------


@export('contrib.distributions.MixtureSameFamily')
class MixtureSameFamily(_Composed):
  """One of the distributions along the last dimension of the batch of components_distribution,
  chosen by mixture_distribution, a Categorical."""

  def __init__(self, mixture_distribution, components_distribution, reparameterize=False,
               validate_args=False, allow_nan_stats=True, name='MixtureSameFamily'):
    self._compose(components_distribution, dict(locals()))
    self._mixture = mixture_distribution
    self._event_dims = components_distribution.event_shape.ndims

  mixture_distribution = property(lambda self: self._mixture)
  components_distribution = property(lambda self: self._base)

  @property
  def batch_shape(self):
    return self._base.batch_shape[:-1]

  def batch_shape_tensor(self, name='batch_shape_tensor'):
    return self._base.batch_shape_tensor(name)[:-1]

  def _beside(self, weights):
    """Weights of the components, with dimensions for the event."""
    for _ in range(self._event_dims):
      weights = array.expand_dims(weights, -1)
    return weights

  def _over(self, x):
    return math.reduce_sum(x, -1 - self._event_dims)

  def _sample(self, count, seed):
    values = self._base._sample(count, seed)   # [count] + batch + [components] + event
    other = None if seed is None else seed + 1
    chosen = self._mixture._sample(count, other)
    components = array.shape(values)[-1 - self._event_dims]
    mask = array.one_hot(chosen, components, dtype=values.dtype)
    return self._over(values * self._beside(mask))

  def _log_prob(self, x):
    x = array.expand_dims(x, -1 - self._event_dims)
    return math.reduce_logsumexp(self._base._log_prob(x) + nn.log_softmax(self._mixture.logits), -1)

  def _cdf(self, x):
    return math.reduce_sum(self._base._cdf(x[..., None]) * self._mixture.probs, -1)

  def _mean(self):
    return self._over(self._beside(self._mixture.probs) * self._base._mean())

  def _variance(self):
    probs, mean = self._beside(self._mixture.probs), self._mean()
    between = math.square(self._base._mean() - array.expand_dims(mean, -1 - self._event_dims))
    return self._over(probs * (self._base._variance() + between))


@export('contrib.distributions.Mixture')
class Mixture(_Composed):
  """One of the distributions of a list, chosen by `cat`, a Categorical."""

  def __init__(self, cat, components, validate_args=False, allow_nan_stats=True,
               use_static_graph=False, name='Mixture'):
    components = list(components)
    if not isinstance(cat, Categorical):
      raise TypeError('cat must be a Categorical distribution, but saw: %s' % (cat,))
    if not components:
      raise ValueError('components must be a non-empty list or tuple')
    if any(c.dtype != components[0].dtype for c in components):
      raise TypeError('All components must have the same dtype, but saw dtypes: %s' % [
          (c.name, c.dtype) for c in components])
    self._compose(components[0], dict(locals()))
    self._cat, self._components = cat, components

  cat = property(lambda self: self._cat)
  components = property(lambda self: list(self._components))
  num_components = property(lambda self: len(self._components))

  def _weights(self):
    return array.unstack(self._cat.probs, len(self._components), axis=-1)

  def _sample(self, count, seed):
    values = array.stack([c._sample(count, None if seed is None else seed + n)
                          for n, c in enumerate(self._components)], -1)
    chosen = self._cat._sample(count, None if seed is None else seed + len(self._components))
    mask = array.one_hot(chosen, len(self._components), dtype=values.dtype)
    for _ in range(self.event_shape.ndims):
      mask = array.expand_dims(mask, -2)
    return math.reduce_sum(values * mask, -1)

  def _log_prob(self, x):
    chances = array.unstack(nn.log_softmax(self._cat.logits), len(self._components), axis=-1)
    return math.reduce_logsumexp(array.stack(
        [p + c._log_prob(x) for p, c in zip(chances, self._components)], -1), -1)

  def _cdf(self, x):
    return matrix.add_n([p * c._cdf(x) for p, c in zip(self._weights(), self._components)])

  def _mean(self):
    event = self.event_shape.ndims
    widened = lambda p: p if not event else p[..., None]
    return matrix.add_n([widened(p) * c._mean()
                       for p, c in zip(self._weights(), self._components)])

  def _variance(self):
    event, mean = self.event_shape.ndims, self._mean()
    widened = lambda p: p if not event else p[..., None]
    return matrix.add_n([widened(p) * (c._variance() + math.square(c._mean() - mean))
                       for p, c in zip(self._weights(), self._components)])

  def entropy_lower_bound(self, name='entropy_lower_bound'):
    """The entropies of the components, by their weights."""
    with self._scope(name):
      return matrix.add_n([p * c._entropy() for p, c in zip(self._weights(), self._components)])


# ---- Bijectors -----------------------------------------------------------------------------------


@export('contrib.distributions.bijectors.Bijector')
class Bijector:
  """The parent: _forward, _inverse and _inverse_log_det_jacobian are what a bijector must have, or
  the forward one of the latter."""
  event_ndims = 0

  def __init__(self, event_ndims=None, validate_args=False, name=None, **unused):
    del unused
    self.name, self.validate_args = name or type(self).__name__.lower(), validate_args
    if event_ndims is not None:
      self.event_ndims = event_ndims

  forward_min_event_ndims = inverse_min_event_ndims = property(lambda self: self.event_ndims)

  def forward(self, x, name='forward'):
    with name_scope(self.name), name_scope(name, values=[x]):
      return self._forward(convert(x, name='x'))

  def inverse(self, y, name='inverse'):
    with name_scope(self.name), name_scope(name, values=[y]):
      return self._inverse(convert(y, name='y'))

  def _summed(self, x, event_ndims):
    more = 0 if event_ndims is None else int(event_ndims) - self.event_ndims
    return math.reduce_sum(x, list(range(-more, 0))) if more > 0 else x

  def inverse_log_det_jacobian(self, y, event_ndims=None, name='inverse_log_det_jacobian'):
    """The logarithm of how much the inverse changes volumes at y, added up over the last
    event_ndims dimensions."""
    with name_scope(self.name), name_scope(name, values=[y]):
      return self._summed(self._inverse_log_det_jacobian(convert(y, name='y')), event_ndims)

  def forward_log_det_jacobian(self, x, event_ndims=None, name='forward_log_det_jacobian'):
    with name_scope(self.name), name_scope(name, values=[x]):
      return self._summed(self._forward_log_det_jacobian(convert(x, name='x')), event_ndims)

  def _forward_log_det_jacobian(self, x):
    return -self._inverse_log_det_jacobian(self._forward(x))

  def _inverse_log_det_jacobian(self, y):
    return -self._forward_log_det_jacobian(self._inverse(y))


def _elementwise(label, forward, inverse, log_slope, words):
  """A bijector of single numbers; log_slope(x) is the logarithm of the derivative at x."""
  return type(label, (Bijector,), {
      '__doc__': words, '_forward': lambda self, x: forward(x),
      '_inverse': lambda self, y: inverse(y),
      '_forward_log_det_jacobian': lambda self, x: log_slope(x)})


def softplus_inverse(x, name=None):
  """y whose softplus is x."""
  with name_scope(name, 'softplus_inverse', [x]):
    x = convert(x, name='x')
    return x + _log(-apply_op('Expm1', x=-x))


Identity = _elementwise('Identity', lambda x: x, lambda y: y, array.zeros_like, 'y = x')
Exp = _elementwise('Exp', math.exp, _log, lambda x: x, 'y = exp(x)')
Sigmoid = _elementwise(
    'Sigmoid', math.sigmoid, lambda y: _log(y) - apply_op('Log1p', x=-y),
    lambda x: -math.softplus(-x) - math.softplus(x), 'y = sigmoid(x)')
Softplus = _elementwise('Softplus', math.softplus, softplus_inverse,
                        lambda x: -math.softplus(-x), 'y = log(1 + exp(x))')
Tanh = _elementwise(
    'Tanh', math.tanh, lambda y: apply_op('Atanh', x=y),
    lambda x: 2.0 * (0.6931471805599453 - x - math.softplus(-2.0 * x)), 'y = tanh(x)')
EXPORTS = {'contrib.distributions.bijectors.' + n: n for n in (
    'Identity', 'Exp', 'Sigmoid', 'Softplus', 'Tanh')}
EXPORTS['contrib.distributions.softplus_inverse'] = 'softplus_inverse'


@export('contrib.distributions.bijectors.AffineScalar')
class AffineScalar(Bijector):
  """y = scale * x + shift."""

  def __init__(self, shift=None, scale=None, validate_args=False, name='affine_scalar'):
    super().__init__(None, validate_args, name)
    self.shift = None if shift is None else convert(shift, name='shift')
    self.scale = None if scale is None else convert(scale, name='scale')

  def _forward(self, x):
    x = x if self.scale is None else x * self.scale
    return x if self.shift is None else x + self.shift

  def _inverse(self, y):
    y = y if self.shift is None else y - self.shift
    return y if self.scale is None else y / self.scale

  def _forward_log_det_jacobian(self, x):
    zeros = array.zeros_like(x)
    return zeros if self.scale is None else zeros + _log(math.abs(self.scale))


@export('contrib.distributions.bijectors.Affine')
class Affine(Bijector):
  """y = scale @ x + shift of vectors, where scale is the sum of scale_identity_multiplier times the
  identity, the diagonal scale_diag and the triangle scale_tril."""
  event_ndims = 1

  def __init__(self, shift=None, scale_identity_multiplier=None, scale_diag=None, scale_tril=None,
               validate_args=False, name='affine', event_ndims=None, **unused):
    if any(value is not None for value in unused.values()):
      raise NotImplementedError('Affine does not take %s' % sorted(unused))
    super().__init__(event_ndims, validate_args, name)
    to = lambda value, what: None if value is None else convert(value, name=what)
    self.shift, self._each = to(shift, 'shift'), to(scale_identity_multiplier, 'scale')
    self._diag, self._tril = to(scale_diag, 'scale_diag'), to(scale_tril, 'scale_tril')
    if self._each is not None and self._each.get_shape().ndims not in (0, None):
      self._each = self._each[..., None]

  def _diagonal(self):
    """The diagonal where there is no triangle; None for ones."""
    if self._each is None or self._diag is None:
      return self._each if self._diag is None else self._diag
    return self._diag + self._each

  def _triangle(self):
    diag = self._diagonal()
    triangle = apply_op('MatrixBandPart', input=self._tril, num_lower=-1, num_upper=0)
    if diag is None:
      return triangle
    return triangle + diagonal.matrix_diag(diag + array.zeros_like(triangle[..., 0]))

  def _forward(self, x):
    if self._tril is not None:
      x = math.reduce_sum(self._triangle() * x[..., None, :], -1)
    elif self._diagonal() is not None:
      x = x * self._diagonal()
    return x if self.shift is None else x + self.shift

  def _inverse(self, y):
    y = y if self.shift is None else y - self.shift
    if self._tril is not None:
      triangle = self._triangle() + array.zeros_like(y[..., None])
      return apply_op('MatrixTriangularSolve', matrix=triangle, rhs=y[..., None])[..., 0]
    return y if self._diagonal() is None else y / self._diagonal()

  def _forward_log_det_jacobian(self, x):
    diag = self._diagonal() if self._tril is None else \
        diagonal.matrix_diag_part(self._triangle())
    logs = array.zeros_like(x) if diag is None else _log(math.abs(diag)) + array.zeros_like(x)
    return math.reduce_sum(logs, -1) if self.event_ndims else logs


@export('contrib.distributions.bijectors.Invert')
class Invert(Bijector):
  """The inverse of a bijector."""

  def __init__(self, bijector, validate_args=False, name=None):
    super().__init__(bijector.event_ndims, validate_args, name or 'invert_' + bijector.name)
    self.bijector = bijector

  def _forward(self, x):
    return self.bijector._inverse(x)

  def _inverse(self, y):
    return self.bijector._forward(y)

  def _forward_log_det_jacobian(self, x):
    return self.bijector._inverse_log_det_jacobian(x)


@export('contrib.distributions.bijectors.Chain')
class Chain(Bijector):
  """Bijectors one after the other, the last of the list first."""

  def __init__(self, bijectors=None, validate_args=False, name=None):
    self.bijectors = list(bijectors or ())
    super().__init__(max([b.event_ndims for b in self.bijectors], default=0), validate_args,
                     name or 'chain_of_' + '_of_'.join(b.name for b in self.bijectors))

  def _forward(self, x):
    for bijector in reversed(self.bijectors):
      x = bijector._forward(x)
    return x

  def _inverse(self, y):
    for bijector in self.bijectors:
      y = bijector._inverse(y)
    return y

  def _forward_log_det_jacobian(self, x):
    total = math.reduce_sum(array.zeros_like(x), list(range(-self.event_ndims, 0))) \
        if self.event_ndims else array.zeros_like(x)
    for bijector in reversed(self.bijectors):
      total += bijector._summed(bijector._forward_log_det_jacobian(x), self.event_ndims)
      x = bijector._forward(x)
    return total


@export('contrib.distributions.bijectors.Permute')
class Permute(Bijector):
  """The elements of vectors in another order: y[i] = x[permutation[i]]."""
  event_ndims = 1

  def __init__(self, permutation, validate_args=False, name=None):
    super().__init__(None, validate_args, name or 'permute')
    self.permutation = convert(permutation, name='permutation')

  def _forward(self, x):
    return array.gather(x, self.permutation, axis=-1)

  def _inverse(self, y):
    return array.gather(y, apply_op('InvertPermutation', x=self.permutation), axis=-1)

  def _forward_log_det_jacobian(self, x):
    return array.zeros_like(x[..., 0])


@export('contrib.distributions.bijectors.Inline')
class Inline(Bijector):
  """A bijector of functions that are given."""

  def __init__(self, forward_fn=None, inverse_fn=None, inverse_log_det_jacobian_fn=None,
               forward_log_det_jacobian_fn=None, is_constant_jacobian=False, validate_args=False,
               forward_min_event_ndims=None, name='inline', **unused):
    del is_constant_jacobian
    super().__init__(forward_min_event_ndims, validate_args, name, **unused)
    self._forward, self._inverse = forward_fn, inverse_fn
    if inverse_log_det_jacobian_fn is not None:
      self._inverse_log_det_jacobian = inverse_log_det_jacobian_fn
    if forward_log_det_jacobian_fn is not None:
      self._forward_log_det_jacobian = forward_log_det_jacobian_fn


@export('contrib.distributions.TransformedDistribution')
class TransformedDistribution(_Composed):
  """bijector.forward of a value of `distribution`."""

  def __init__(self, distribution, bijector=None, batch_shape=None, event_shape=None,
               validate_args=False, name=None):
    if batch_shape is not None or event_shape is not None:
      raise NotImplementedError('TransformedDistribution does not change shapes: batch_shape and '
                                'event_shape must be None')
    arguments = dict(locals())
    self._bijector = bijector or Identity()
    self._compose(distribution, {**arguments,
                                 'name': name or self._bijector.name + distribution.name})

  distribution = property(lambda self: self._base)
  bijector = property(lambda self: self._bijector)

  @property
  def event_shape(self):
    shape = self._base.event_shape
    return shape if shape.ndims or not self._bijector.event_ndims else self._base.batch_shape[-1:]

  @property
  def batch_shape(self):
    shape = self._base.batch_shape
    moves = not self._base.event_shape.ndims and self._bijector.event_ndims and shape.ndims
    return TensorShape(shape[:-1]) if moves else shape

  def _sample(self, count, seed):
    return self._bijector._forward(self._base._sample(count, seed))

  def _log_prob(self, y):
    x = self._bijector._inverse(y)
    rank = self._base.event_shape.ndims
    log_prob = self._base._log_prob(x)
    if self._bijector.event_ndims > rank:   # numbers that the bijector takes as a vector
      log_prob = math.reduce_sum(log_prob, list(range(rank - self._bijector.event_ndims, 0)))
    volume = self._bijector._summed(self._bijector._inverse_log_det_jacobian(y), rank)
    return log_prob + volume

  def _cdf(self, y):
    return self._base._cdf(self._bijector._inverse(y))

  def _quantile(self, p):
    return self._bijector._forward(self._base._quantile(p))


@RegisterKL(Independent, Independent)
def _independent_independent(a, b, name=None):
  with name_scope(name, 'kl_independent'):
    return a._summed(kl_divergence(a.distribution, b.distribution))
