"""Distributions that tf.contrib alone has: of numbers, of counts of events, of classes as vectors
and their relaxations. They are under contrib.distributions only."""
from __future__ import annotations

import math as numbers

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._distributions.continuous import (Exponential, Gamma, Laplace, Normal, StudentT,
                                            _Continuous)
from leat._distributions.discrete import Categorical, _Choice
from leat._distributions.distribution import (FULLY_REPARAMETERIZED, NOT_REPARAMETERIZED,
                                              RegisterKL)
from leat._distributions.vectors import Vector
from leat._ops import array, math, nn, random

_log = lambda x: apply_op('Log', x=x)
_log1p = lambda x: apply_op('Log1p', x=x)
_lgamma = lambda x: apply_op('Lgamma', x=x)
_EULER = 0.5772156649015329


def _uniform(distribution, count, seed):
  """Numbers between 0 and 1, without 0."""
  import numpy as np
  least = float(np.finfo(distribution.dtype.as_numpy_dtype).tiny)
  return random.random_uniform(distribution._shape(count), least, 1.0, distribution.dtype, seed)


class _LocationScale(_Continuous):
  """A distribution of loc + scale * standard."""

  def __init__(self, loc, scale, validate_args=False, allow_nan_stats=True, name=None):
    name = name or type(self).__name__
    self._loc, self._scale = self._of(dict(loc=loc, scale=scale), dict(
        loc=loc, scale=scale, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
        name=name), name)

  loc = property(lambda self: self._loc)
  scale = property(lambda self: self._scale)

  def _standard(self, x):
    return (x - self._loc) / self._scale

  def _sample(self, count, seed):
    return self._quantile(_uniform(self, count, seed))

  def _mode(self):
    return self._filled(self._loc)


@export('contrib.distributions.Logistic')
class Logistic(_LocationScale):
  """The logistic distribution, whose cdf is the sigmoid."""

  def _log_prob(self, x):
    z = self._standard(x)
    return -z - 2.0 * math.softplus(-z) - _log(self._scale)

  def _cdf(self, x):
    return math.sigmoid(self._standard(x))

  def _quantile(self, p):
    return self._loc + self._scale * (_log(p) - _log1p(-p))

  def _entropy(self):
    return self._filled(2.0 + _log(self._scale))

  _mean = _LocationScale._mode

  def _stddev(self):
    return self._filled(self._scale * numbers.pi / numbers.sqrt(3.0))

  def _variance(self):
    return math.square(self._stddev())


@export('contrib.distributions.Gumbel')
class Gumbel(_LocationScale):
  """The distribution of the largest of many numbers."""

  def _log_prob(self, x):
    z = self._standard(x)
    return -(z + math.exp(-z)) - _log(self._scale)

  def _cdf(self, x):
    return math.exp(-math.exp(-self._standard(x)))

  def _quantile(self, p):
    return self._loc - self._scale * _log(-_log(p))

  def _entropy(self):
    return self._filled(1.0 + _log(self._scale) + _EULER)

  def _mean(self):
    return self._filled(self._loc + self._scale * _EULER)

  def _stddev(self):
    return self._filled(self._scale * numbers.pi / numbers.sqrt(6.0))

  def _variance(self):
    return math.square(self._stddev())


@export('contrib.distributions.Cauchy')
class Cauchy(_LocationScale):
  """The Cauchy distribution, which has no mean."""

  def _log_prob(self, x):
    return -numbers.log(numbers.pi) - _log(self._scale) - _log1p(math.square(self._standard(x)))

  def _cdf(self, x):
    return apply_op('Atan', x=self._standard(x)) / numbers.pi + 0.5

  def _quantile(self, p):
    return self._loc + self._scale * apply_op('Tan', x=numbers.pi * (p - 0.5))

  def _entropy(self):
    return self._filled(numbers.log(4 * numbers.pi) + _log(self._scale))


@export('contrib.distributions.HalfNormal')
class HalfNormal(_Continuous):
  """The absolute value of a normal number."""

  def __init__(self, scale, validate_args=False, allow_nan_stats=True, name='HalfNormal'):
    self._scale, = self._of(dict(scale=scale), dict(locals()), name)

  scale = property(lambda self: self._scale)

  def _sample(self, count, seed):
    return math.abs(random.random_normal(self._shape(count), dtype=self._dtype, seed=seed) *
                    self._scale)

  def _log_prob(self, x):
    return 0.5 * numbers.log(2 / numbers.pi) - _log(self._scale) - 0.5 * math.square(
        x / self._scale)

  def _cdf(self, x):
    return apply_op('Erf', x=x / self._scale / numbers.sqrt(2.0))

  def _quantile(self, p):
    return apply_op('Erfinv', x=p) * self._scale * numbers.sqrt(2.0)

  def _entropy(self):
    return 0.5 * numbers.log(numbers.pi / 2.0) + 0.5 + _log(self._scale)

  def _mean(self):
    return self._scale * numbers.sqrt(2.0 / numbers.pi)

  def _mode(self):
    return array.zeros_like(self._scale)

  def _variance(self):
    return math.square(self._scale) * (1.0 - 2.0 / numbers.pi)


@export('contrib.distributions.InverseGamma')
class InverseGamma(_Continuous):
  """One by a number with a gamma distribution; `rate` is its rate."""

  def __init__(self, concentration, rate, validate_args=False, allow_nan_stats=True,
               name='InverseGamma'):
    self._concentration, self._rate = self._of(
        dict(concentration=concentration, rate=rate), dict(locals()), name)

  concentration = property(lambda self: self._concentration)
  rate = property(lambda self: self._rate)

  def _sample(self, count, seed):
    return 1.0 / random.random_gamma([count], self._concentration, self._rate, self._dtype, seed)

  def _log_prob(self, x):
    a, b = self._concentration, self._rate
    return a * _log(b) - _lgamma(a) - (a + 1.0) * _log(x) - b / x

  def _cdf(self, x):
    return apply_op('Igammac', a=self._concentration, x=self._rate / x)

  def _mode(self):
    return self._rate / (self._concentration + 1.0)

  def _mean(self):
    return self._rate / (self._concentration - 1.0)


@export('contrib.distributions.Chi2')
class Chi2(Gamma):
  """The sum of df squares of standard normal numbers."""

  def __init__(self, df, validate_args=False, allow_nan_stats=True, name='Chi2'):
    df = convert(df, name='df')
    super().__init__(0.5 * df, convert(0.5, df.dtype.base_dtype), validate_args, allow_nan_stats,
                     name)
    self._df = df
    self._parameters = dict(df=df, validate_args=validate_args, allow_nan_stats=allow_nan_stats,
                            name=name)

  df = property(lambda self: self._df)


def _softplus_kind(parent, names, label):
  """The class with softplus(x) in the place of the positive parameters x."""
  def __init__(self, *args, **named):
    import inspect
    bound = inspect.signature(parent.__init__).bind(self, *args, **named)
    bound.apply_defaults()
    given = {k: v for k, v in bound.arguments.items() if k != 'self'}
    if 'name' not in named:
      given['name'] = label
    positive = {n: math.softplus(convert(given[n], name=n)) for n in names}
    parent.__init__(self, **{**given, **positive})
    self._parameters = given
  return type(label, (parent,), {'__init__': __init__, '__doc__': '%s with softplus(%s).' % (
      parent.__name__, ', '.join(names))})


NormalWithSoftplusScale = _softplus_kind(Normal, ['scale'], 'NormalWithSoftplusScale')
LaplaceWithSoftplusScale = _softplus_kind(Laplace, ['scale'], 'LaplaceWithSoftplusScale')
ExponentialWithSoftplusRate = _softplus_kind(Exponential, ['rate'], 'ExponentialWithSoftplusRate')
GammaWithSoftplusConcentrationRate = _softplus_kind(
    Gamma, ['concentration', 'rate'], 'GammaWithSoftplusConcentrationRate')
StudentTWithAbsDfSoftplusScale = _softplus_kind(
    StudentT, ['scale'], 'StudentTWithAbsDfSoftplusScale')
EXPORTS = {'contrib.distributions.' + n: n for n in (
    'NormalWithSoftplusScale', 'LaplaceWithSoftplusScale', 'ExponentialWithSoftplusRate',
    'GammaWithSoftplusConcentrationRate', 'StudentTWithAbsDfSoftplusScale')}


# ---- Single values -------------------------------------------------------------------------------


@export('contrib.distributions.Deterministic')
class Deterministic(_Continuous):
  """Always `loc`; a value within atol + rtol * |loc| counts as it."""

  def __init__(self, loc, atol=None, rtol=None, validate_args=False, allow_nan_stats=True,
               name='Deterministic'):
    self._loc, = self._of(dict(loc=loc), dict(locals()), name)
    self._atol, self._rtol = atol or 0.0, rtol or 0.0

  loc = property(lambda self: self._loc)

  def _sample(self, count, seed):
    return self._loc + array.zeros(self._shape(count), self._dtype)

  def _prob(self, x):
    return math.cast(math.abs(x - self._loc) <= self._atol + self._rtol * math.abs(self._loc),
                     self._dtype)

  def _log_prob(self, x):
    return _log(self._prob(x))

  def _cdf(self, x):
    return math.cast(x >= self._loc, self._dtype)

  def _mean(self):
    return array.identity(self._loc)

  _mode = _mean

  def _variance(self):
    return array.zeros_like(self._loc)

  _entropy = _variance


# ---- Counts of events ----------------------------------------------------------------------------


@export('contrib.distributions.Poisson')
class Poisson(_Continuous):
  """How many events come, of `rate` on the average."""
  reparameterization_type = property(lambda self: NOT_REPARAMETERIZED)

  def __init__(self, rate=None, log_rate=None, interpolate_nondiscrete=True, validate_args=False,
               allow_nan_stats=True, name='Poisson'):
    arguments = dict(locals())
    if (rate is None) == (log_rate is None):
      raise ValueError('Must specify exactly one of `rate` and `log_rate`.')
    given = dict(log_rate=log_rate) if rate is None else dict(rate=rate)
    tensor, = self._of(given, arguments, name)
    self._rate = tensor if rate is not None else math.exp(tensor)
    self._log_rate = tensor if rate is None else _log(tensor)

  rate = property(lambda self: self._rate)
  log_rate = property(lambda self: self._log_rate)

  def _sample(self, count, seed):
    return random.random_poisson(self._rate, array.reshape(count, [1]), self._dtype, seed)

  def _log_prob(self, x):
    return x * self._log_rate - _lgamma(x + 1.0) - self._rate

  def _cdf(self, x):
    return apply_op('Igammac', a=1.0 + apply_op('Floor', x=x) + array.zeros_like(self._rate),
                    x=self._rate + array.zeros_like(x))

  def _mean(self):
    return array.identity(self._rate)

  _variance = _mean

  def _mode(self):
    return apply_op('Floor', x=self._rate)


class _Trials(_Continuous):
  """A count of independent trials that succeed with a probability."""
  reparameterization_type = property(lambda self: NOT_REPARAMETERIZED)

  def _of_chance(self, logits, probs, others, arguments, name):
    if (logits is None) == (probs is None):
      raise ValueError('Must pass probs or logits, but not both.')
    given = dict(probs=probs) if logits is None else dict(logits=logits)
    tensors = self._of({**others, **given}, arguments, name)
    self._probs = tensors[-1] if probs is not None else math.sigmoid(tensors[-1])
    self._logits = tensors[-1] if logits is not None else _log(tensors[-1]) - _log1p(-tensors[-1])
    return tensors

  logits = property(lambda self: self._logits)
  probs = property(lambda self: self._probs)


@export('contrib.distributions.Binomial')
class Binomial(_Trials):
  """How many of total_count trials succeed."""

  def __init__(self, total_count, logits=None, probs=None, validate_args=False,
               allow_nan_stats=True, name='Binomial'):
    self._total = self._of_chance(logits, probs, dict(total_count=total_count), dict(locals()),
                                  name)[0]

  total_count = property(lambda self: self._total)

  def _sample(self, count, seed):
    whole = self._filled(self._probs)
    seeds = random.random_uniform([2], maxval=2 ** 31 - 1, dtype=dtypes.int32, seed=seed)
    return apply_op('StatelessRandomBinomial', shape=array.concat([[count], array.shape(whole)], 0),
                    seed=seeds, counts=self._filled(self._total), probs=whole, dtype=self._dtype)

  def _log_prob(self, k):
    n = self._total
    ways = _lgamma(1.0 + n) - _lgamma(1.0 + k) - _lgamma(1.0 + n - k)
    return ways + k * _log(self._probs) + (n - k) * _log1p(-self._probs)

  def _mean(self):
    return self._total * self._probs

  def _variance(self):
    return self._mean() * (1.0 - self._probs)

  def _mode(self):
    return apply_op('Floor', x=(1.0 + self._total) * self._probs)


@export('contrib.distributions.NegativeBinomial')
class NegativeBinomial(_Trials):
  """How many trials succeed before total_count of them have failed."""

  def __init__(self, total_count, logits=None, probs=None, validate_args=False,
               allow_nan_stats=True, name='NegativeBinomial'):
    self._total = self._of_chance(logits, probs, dict(total_count=total_count), dict(locals()),
                                  name)[0]

  total_count = property(lambda self: self._total)

  def _sample(self, count, seed):
    rate = random.random_gamma([count], self._filled(self._total),
                               math.exp(-self._filled(self._logits)), self._dtype, seed)
    return random.random_poisson(rate, [], self._dtype, None if seed is None else seed + 1)

  def _log_prob(self, x):
    n = self._total
    ways = _lgamma(n + x) - _lgamma(n) - _lgamma(1.0 + x)
    return ways - n * math.softplus(self._logits) - x * math.softplus(-self._logits)

  def _mean(self):
    return self._total * math.exp(self._logits)

  def _variance(self):
    return self._mean() / (1.0 - self._probs)


@export('contrib.distributions.Geometric')
class Geometric(_Trials):
  """How many trials fail before the first succeeds."""

  def __init__(self, logits=None, probs=None, validate_args=False, allow_nan_stats=True,
               name='Geometric'):
    self._of_chance(logits, probs, {}, dict(locals()), name)

  def _sample(self, count, seed):
    return apply_op('Floor', x=_log(_uniform(self, count, seed)) / _log1p(-self._probs))

  def _log_prob(self, k):
    return k * _log1p(-self._probs) + _log(self._probs)

  def _cdf(self, k):
    return -apply_op('Expm1', x=(apply_op('Floor', x=k) + 1.0) * _log1p(-self._probs))

  def _entropy(self):
    p = self._probs
    return -((1.0 - p) * _log1p(-p) + p * _log(p)) / p

  def _mean(self):
    return math.exp(-self._logits)

  def _variance(self):
    return self._mean() / self._probs

  def _mode(self):
    return array.zeros_like(self._probs)


# ---- Classes as vectors, and their relaxations ---------------------------------------------------


class _ClassVector(Vector, _Choice):
  pass


@export('contrib.distributions.OneHotCategorical')
class OneHotCategorical(_ClassVector):
  """One of several classes, as a vector that is 1 at the class and 0 elsewhere."""

  def __init__(self, logits=None, probs=None, dtype=dtypes.int32, validate_args=False,
               allow_nan_stats=True, name='OneHotCategorical'):
    self._choose(logits, probs, dtype, dict(locals()), _log, nn.softmax)

  @property
  def event_size(self):
    return array.shape(self._logits)[-1]

  def _sample(self, count, seed):
    classes = Categorical(logits=self._logits)._sample(count, seed)
    return array.one_hot(classes, self.event_size, dtype=self._dtype)

  def _log_prob(self, x):
    return math.reduce_sum(math.cast(x, self._logits.dtype) * nn.log_softmax(self._logits), -1)

  def _entropy(self):
    return Categorical(logits=self._logits)._entropy()

  def _mean(self):
    return array.identity(self._probs)

  def _variance(self):
    return self._probs * (1.0 - self._probs)

  def _mode(self):
    return array.one_hot(math.argmax(self._logits, -1), self.event_size, dtype=self._dtype)


@export('contrib.distributions.ExpRelaxedOneHotCategorical')
class ExpRelaxedOneHotCategorical(_ClassVector):
  """The logarithm of a RelaxedOneHotCategorical, which does not underflow."""

  def __init__(self, temperature, logits=None, probs=None, dtype=None, validate_args=False,
               allow_nan_stats=True, name='ExpRelaxedOneHotCategorical'):
    self._relax(temperature, logits, probs, dtype, dict(locals()))

  def _relax(self, temperature, logits, probs, dtype, arguments):
    kind = dtype or convert(probs if logits is None else logits).dtype.base_dtype
    self._choose(logits, probs, kind, arguments, _log, nn.softmax)
    self._temperature = convert(temperature, self._dtype, 'temperature')

  temperature = property(lambda self: self._temperature)

  def _sample(self, count, seed):
    gumbel = -_log(-_log(_uniform(self, count, seed)))
    return nn.log_softmax((gumbel + self._logits) / self._temperature)

  def _log_prob(self, x):
    size = math.cast(array.shape(self._logits)[-1], self._dtype)
    normal = _lgamma(size) + (size - 1.0) * _log(self._temperature)
    moved = nn.log_softmax(self._logits - x * self._temperature)
    return math.reduce_sum(moved, -1) + normal


@export('contrib.distributions.RelaxedOneHotCategorical')
class RelaxedOneHotCategorical(ExpRelaxedOneHotCategorical):
  """A vector of positive numbers whose sum is one and which is nearer to a OneHotCategorical the
  lower the temperature is."""

  def __init__(self, temperature, logits=None, probs=None, dtype=None, validate_args=False,
               allow_nan_stats=True, name='RelaxedOneHotCategorical'):
    self._relax(temperature, logits, probs, dtype, dict(locals()))

  def _sample(self, count, seed):
    return math.exp(super()._sample(count, seed))

  def _log_prob(self, x):
    return super()._log_prob(_log(x)) - math.reduce_sum(_log(x), -1)


@export('contrib.distributions.RelaxedBernoulli')
class RelaxedBernoulli(_Trials):
  """A number between 0 and 1 that is nearer to a Bernoulli's the lower the temperature is."""
  reparameterization_type = property(lambda self: FULLY_REPARAMETERIZED)

  def __init__(self, temperature, logits=None, probs=None, validate_args=False,
               allow_nan_stats=True, name='RelaxedBernoulli'):
    self._of_chance(logits, probs, {}, dict(locals()), name)
    self._temperature = convert(temperature, self._dtype, 'temperature')

  temperature = property(lambda self: self._temperature)

  def _sample(self, count, seed):
    u = _uniform(self, count, seed)
    return math.sigmoid((self._logits + _log(u) - _log1p(-u)) / self._temperature)

  def _log_prob(self, x):
    t = self._temperature
    y = _log(x) - _log1p(-x)
    z = t * y - self._logits
    return _log(t) - z - 2.0 * math.softplus(-z) - _log(x) - _log1p(-x)


# ---- Divergences ---------------------------------------------------------------------------------


@RegisterKL(OneHotCategorical, OneHotCategorical)
def _one_hot_one_hot(a, b, name=None):
  with name_scope(name, 'kl_one_hot_categorical', [a.logits, b.logits]):
    difference = nn.log_softmax(a.logits) - nn.log_softmax(b.logits)
    return math.reduce_sum(nn.softmax(a.logits) * difference, -1)


@RegisterKL(HalfNormal, HalfNormal)
def _half_half(a, b, name=None):
  with name_scope(name, 'kl_half_normal', [a.scale, b.scale]):
    return _log(b.scale) - _log(a.scale) + 0.5 * math.square(a.scale / b.scale) - 0.5
