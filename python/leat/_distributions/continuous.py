"""Distributions of real numbers: normal, uniform, exponential, Laplace, gamma, beta,
Student's."""
from __future__ import annotations

import math as numbers

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._distributions.distribution import (FULLY_REPARAMETERIZED, Distribution, RegisterKL,
                                              parameters_of)
from leat._ops import array, math, random

_log = lambda x: apply_op('Log', x=x)
_log1p = lambda x: apply_op('Log1p', x=x)
_lgamma = lambda x: apply_op('Lgamma', x=x)
_digamma = lambda x: apply_op('Digamma', x=x)


def _normal_cdf(z):
  return 0.5 * apply_op('Erfc', x=-z / numbers.sqrt(2.0))


def _log_normal_cdf(z):
  """The logarithm of the normal distribution's function, also where that rounds to 0 or 1: there it
  is the first terms of its series, and minus the other tail."""
  low, high = (-10.0, 5.0) if z.dtype.base_dtype.size <= 4 else (-20.0, 8.0)
  far = apply_op('Minimum', x=z, y=low)
  square = math.square(far)
  series = 1.0 - 1.0 / square + 3.0 / math.square(square) - 15.0 / (square * math.square(square))
  below = -0.5 * square - _log(-far) - 0.5 * numbers.log(2 * numbers.pi) + _log(series)
  between = _log(_normal_cdf(apply_op('Maximum', x=z, y=low)))
  return array.where(z > high, -_normal_cdf(-z), array.where(z > low, between, below))


class _Continuous(Distribution):
  """A distribution whose parameters have the shape of the batch."""
  reparameterization_type = property(lambda self: FULLY_REPARAMETERIZED)

  def _of(self, given, arguments, name):
    scope, tensors = parameters_of(name, given)
    super().__init__(tensors[0].dtype.base_dtype, arguments, tensors, scope,
                     arguments['validate_args'], arguments['allow_nan_stats'])
    return tensors

  def _shape(self, count):
    return array.concat([[count], self.batch_shape_tensor()], 0)

  def _filled(self, value):
    """The value, with the shape of the batch."""
    return value + array.zeros(self.batch_shape_tensor(), self._dtype)


@export('distributions.Normal')
class Normal(_Continuous):
  """The normal distribution with the mean `loc` and the standard deviation `scale`."""

  def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name='Normal'):
    self._loc, self._scale = self._of(dict(loc=loc, scale=scale), dict(locals()), name)

  loc = property(lambda self: self._loc)
  scale = property(lambda self: self._scale)

  def _sample(self, count, seed):
    found = random.random_normal(self._shape(count), dtype=self._dtype, seed=seed)
    return found * self._scale + self._loc

  def _standard(self, x):
    return (x - self._loc) / self._scale

  def _log_prob(self, x):
    return -0.5 * math.square(self._standard(x)) - (
        0.5 * numbers.log(2 * numbers.pi) + _log(self._scale))

  def _cdf(self, x):
    return _normal_cdf(self._standard(x))

  def _log_cdf(self, x):
    return _log_normal_cdf(self._standard(x))

  def _log_survival_function(self, x):
    return _log_normal_cdf(-self._standard(x))

  def _quantile(self, p):
    return apply_op('Ndtri', x=p) * self._scale + self._loc

  def _entropy(self):
    return self._filled(0.5 * numbers.log(2 * numbers.pi * numbers.e) + _log(self._scale))

  def _mean(self):
    return self._filled(self._loc)

  _mode = _mean

  def _stddev(self):
    return self._filled(self._scale)

  def _variance(self):
    return math.square(self._stddev())


@export('distributions.Uniform')
class Uniform(_Continuous):
  """All values of [low, high) alike."""

  def __init__(self, low=0.0, high=1.0, validate_args=False, allow_nan_stats=True, name='Uniform'):
    self._low, self._high = self._of(dict(low=low, high=high), dict(locals()), name)

  low = property(lambda self: self._low)
  high = property(lambda self: self._high)

  def range(self, name='range'):
    """high - low."""
    with self._scope(name):
      return self._high - self._low

  def _sample(self, count, seed):
    found = random.random_uniform(self._shape(count), dtype=self._dtype, seed=seed)
    return self._low + found * (self._high - self._low)

  def _prob(self, x):
    inside = apply_op('LogicalAnd', x=x >= self._low, y=x < self._high)
    density = array.ones_like(x) / (self._high - self._low)
    return apply_op('SelectV2', condition=inside, t=density, e=array.zeros_like(density))

  def _log_prob(self, x):
    return _log(self._prob(x))

  def _cdf(self, x):
    share = (x - self._low) / (self._high - self._low)
    return apply_op('Minimum', x=apply_op('Maximum', x=share, y=array.zeros_like(share)),
                    y=array.ones_like(share))

  def _quantile(self, p):
    return (1.0 - p) * self._low + p * self._high

  def _entropy(self):
    return _log(self._high - self._low)

  def _mean(self):
    return (self._low + self._high) / 2.0

  def _variance(self):
    return math.square(self._high - self._low) / 12.0


@export('distributions.Exponential')
class Exponential(_Continuous):
  """The time between events that come at a rate."""

  def __init__(self, rate, validate_args=False, allow_nan_stats=True, name='Exponential'):
    self._rate, = self._of(dict(rate=rate), dict(locals()), name)

  rate = property(lambda self: self._rate)

  def _sample(self, count, seed):
    import numpy as np
    least = float(np.finfo(self._dtype.as_numpy_dtype).tiny)   # its logarithm is a number
    return -_log(random.random_uniform(self._shape(count), least, 1.0, self._dtype, seed)) / \
        self._rate

  def _log_prob(self, x):
    return _log(self._rate) - self._rate * x

  def _cdf(self, x):
    return -apply_op('Expm1', x=-self._rate * x)

  def _log_survival_function(self, x):
    return -self._rate * x

  def _quantile(self, p):
    return -_log1p(-p) / self._rate

  def _entropy(self):
    return 1.0 - _log(self._rate)

  def _mean(self):
    return 1.0 / self._rate

  def _mode(self):
    # TensorFlow has it as a gamma distribution of the shape 1, and says that this has no mode.
    return self._where_defined(self._rate != self._rate, self._rate,
                               'the mode needs a concentration above 1')

  _stddev = _mean

  def _variance(self):
    return 1.0 / math.square(self._rate)


@export('distributions.Laplace')
class Laplace(_Continuous):
  """Two exponential distributions back to back, around `loc`."""

  def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name='Laplace'):
    self._loc, self._scale = self._of(dict(loc=loc, scale=scale), dict(locals()), name)

  loc = property(lambda self: self._loc)
  scale = property(lambda self: self._scale)

  def _sample(self, count, seed):
    import numpy as np
    kind = self._dtype.as_numpy_dtype
    least = float(np.nextafter(kind(-1), kind(0)))
    u = random.random_uniform(self._shape(count), least, 1.0, self._dtype, seed)
    return self._loc - self._scale * apply_op('Sign', x=u) * _log1p(-math.abs(u))

  def _standard(self, x):
    return (x - self._loc) / self._scale

  def _log_prob(self, x):
    return -math.abs(self._standard(x)) - numbers.log(2.0) - _log(self._scale)

  def _cdf(self, x):
    z = self._standard(x)
    return 0.5 + 0.5 * apply_op('Sign', x=z) * (1.0 - math.exp(-math.abs(z)))

  def _log_tail(self, z):
    """The logarithm of the probability of what lies below z, without rounding to 0 or 1."""
    return array.where(z < 0.0, z - numbers.log(2.0), _log1p(-0.5 * math.exp(-math.abs(z))))

  def _log_cdf(self, x):
    return self._log_tail(self._standard(x))

  def _log_survival_function(self, x):
    return self._log_tail(-self._standard(x))

  def _quantile(self, p):
    side = p - 0.5
    return self._loc - self._scale * apply_op('Sign', x=side) * _log1p(-2.0 * math.abs(side))

  def _entropy(self):
    return self._filled(numbers.log(2.0) + 1.0 + _log(self._scale))

  def _mean(self):
    return self._filled(self._loc)

  _mode = _mean

  def _stddev(self):
    return self._filled(numbers.sqrt(2.0) * self._scale)

  def _variance(self):
    return math.square(self._stddev())


@export('distributions.Gamma')
class Gamma(_Continuous):
  """The gamma distribution with the shape `concentration` and the inverse scale `rate`."""

  def __init__(self, concentration, rate, validate_args=False, allow_nan_stats=True, name='Gamma'):
    self._concentration, self._rate = self._of(
        dict(concentration=concentration, rate=rate), dict(locals()), name)

  concentration = property(lambda self: self._concentration)
  rate = property(lambda self: self._rate)

  def _sample(self, count, seed):
    return random.random_gamma([count], self._concentration, self._rate, self._dtype, seed)

  def _log_prob(self, x):
    a, b = self._concentration, self._rate
    return (a - 1.0) * _log(x) - b * x - (_lgamma(a) - a * _log(b))

  def _cdf(self, x):
    return apply_op('Igamma', a=self._concentration, x=self._rate * x)

  def _entropy(self):
    a = self._concentration
    return a - _log(self._rate) + _lgamma(a) + (1.0 - a) * _digamma(a)

  def _mean(self):
    return self._concentration / self._rate

  def _mode(self):
    return self._where_defined(self._filled(self._concentration) > 1.0,
                               (self._concentration - 1.0) / self._rate,
                               'the mode needs a concentration above 1')

  def _variance(self):
    return self._concentration / math.square(self._rate)

  def _stddev(self):
    return apply_op('Sqrt', x=self._concentration) / self._rate


@export('distributions.Beta')
class Beta(_Continuous):
  """The beta distribution with the shapes concentration1 and concentration0."""

  def __init__(self, concentration1=None, concentration0=None, validate_args=False,
               allow_nan_stats=True, name='Beta'):
    self._one, self._zero = self._of(
        dict(concentration1=concentration1, concentration0=concentration0), dict(locals()), name)

  concentration1 = property(lambda self: self._one)
  concentration0 = property(lambda self: self._zero)

  @property
  def total_concentration(self):
    return self._one + self._zero

  def _sample(self, count, seed):
    fill = array.zeros(self.batch_shape_tensor(), self._dtype)
    one = random.random_gamma([count], self._one + fill, dtype=self._dtype, seed=seed)
    other = None if seed is None else seed + 1
    zero = random.random_gamma([count], self._zero + fill, dtype=self._dtype, seed=other)
    return one / (one + zero)

  def _normalization(self):
    return _lgamma(self._one) + _lgamma(self._zero) - _lgamma(self._one + self._zero)

  def _log_prob(self, x):
    return (self._one - 1.0) * _log(x) + (self._zero - 1.0) * _log1p(-x) - self._normalization()

  def _cdf(self, x):
    fill = array.zeros_like(x + self._one + self._zero)
    return apply_op('Betainc', a=self._one + fill, b=self._zero + fill, x=x + fill)

  def _entropy(self):
    total = self._one + self._zero
    return (self._normalization() - (self._one - 1.0) * _digamma(self._one) -
            (self._zero - 1.0) * _digamma(self._zero) + (total - 2.0) * _digamma(total))

  def _mean(self):
    return self._one / (self._one + self._zero)

  def _mode(self):
    are_large = apply_op('LogicalAnd', x=self._filled(self._one) > 1.0,
                         y=self._filled(self._zero) > 1.0)
    return self._where_defined(are_large, (self._one - 1.0) / (self.total_concentration - 2.0),
                               'the mode needs concentrations above 1')

  def _variance(self):
    mean, total = self._mean(), self._one + self._zero
    return mean * (1.0 - mean) / (1.0 + total)


@export('distributions.StudentT')
class StudentT(_Continuous):
  """Student's distribution with df degrees of freedom."""

  def __init__(self, df, loc, scale, validate_args=False, allow_nan_stats=True, name='StudentT'):
    self._df, self._loc, self._scale = self._of(dict(df=df, loc=loc, scale=scale), dict(locals()),
                                                name)

  df = property(lambda self: self._df)
  loc = property(lambda self: self._loc)
  scale = property(lambda self: self._scale)

  def _sample(self, count, seed):
    normal = random.random_normal(self._shape(count), dtype=self._dtype, seed=seed)
    df = self._filled(self._df)
    squares = random.random_gamma([count], 0.5 * df, 0.5 * array.ones_like(df), self._dtype,
                                  None if seed is None else seed + 1)
    return normal * apply_op('Rsqrt', x=squares / df) * self._scale + self._loc

  def _standard(self, x):
    return (x - self._loc) / self._scale

  def _log_prob(self, x):
    df = self._df
    normal = (_log(math.abs(self._scale)) + 0.5 * _log(df) + 0.5 * numbers.log(numbers.pi) +
              _lgamma(0.5 * df) - _lgamma(0.5 * (df + 1.0)))
    return -0.5 * (df + 1.0) * _log1p(math.square(self._standard(x)) / df) - normal

  def _cdf(self, x):
    z = self._standard(x) + array.zeros_like(self._df)
    df = self._df + array.zeros_like(z)
    tail = 0.5 * apply_op('Betainc', a=0.5 * df, b=0.5 * array.ones_like(df),
                          x=df / (df + math.square(z)))
    return array.where(z < 0.0, tail, 1.0 - tail)

  def _entropy(self):
    half, more = 0.5 * self._filled(self._df), 0.5 * (self._filled(self._df) + 1.0)
    return (_log(math.abs(self._scale)) + 0.5 * _log(self._df) + _lgamma(half) +
            0.5 * numbers.log(numbers.pi) - _lgamma(more) +
            more * (_digamma(more) - _digamma(half)))

  def _mean(self):
    return self._where_defined(self._filled(self._df) > 1.0, self._filled(self._loc),
                               'the mean needs df above 1')

  def _mode(self):
    return self._filled(self._loc)

  def _variance(self):
    df = self._filled(self._df)
    many = array.where(df > 2.0, df, 3.0 * array.ones_like(df))   # no division by zero
    found = apply_op('SelectV2', condition=df > 2.0,
                     t=self._filled(math.square(self._scale) * many / (many - 2.0)),
                     e=convert(float('inf'), self._dtype))
    return self._where_defined(df > 1.0, found, 'the variance needs df above 1')


# ---- Divergences --------------------------------------------------------------------------------


@RegisterKL(Normal, Normal)
def _normal_normal(a, b, name=None):
  with name_scope(name, 'kl_normal_normal', [a.loc, b.loc]):
    ratio = math.square(a.scale) / math.square(b.scale)
    distance = math.square(a.loc - b.loc) / (2.0 * math.square(b.scale))
    return distance + 0.5 * (ratio - 1.0 - _log(ratio))


@RegisterKL(Gamma, Gamma)
def _gamma_gamma(a, b, name=None):
  with name_scope(name, 'kl_gamma_gamma', [a.concentration, b.concentration]):
    return ((a.concentration - b.concentration) * _digamma(a.concentration) +
            _lgamma(b.concentration) - _lgamma(a.concentration) +
            b.concentration * (_log(a.rate) - _log(b.rate)) +
            a.concentration * (b.rate / a.rate - 1.0))


@RegisterKL(Beta, Beta)
def _beta_beta(a, b, name=None):
  with name_scope(name, 'kl_beta_beta', [a.concentration1, b.concentration1]):
    one, zero = a.concentration1 - b.concentration1, a.concentration0 - b.concentration0
    return (b._normalization() - a._normalization() + one * _digamma(a.concentration1) +
            zero * _digamma(a.concentration0) -
            (one + zero) * _digamma(a.concentration1 + a.concentration0))
