"""Distributions of vectors: normal ones with a covariance, Dirichlet, and counts of classes.

A parameter has the shape batch + [event], and parameters are broadcast as wholes. A matrix of
scale is lower triangular: a sample is loc + scale @ standard, and a density needs the triangular
solve and the diagonal alone. """
from __future__ import annotations

import math as numbers

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._distributions.distribution import (FULLY_REPARAMETERIZED, Distribution, RegisterKL,
                                              parameters_of)
from leat._ops import array, diagonal, math, matrix, nn, random

_log = lambda x: apply_op('Log', x=x)
_lgamma = lambda x: apply_op('Lgamma', x=x)
_digamma = lambda x: apply_op('Digamma', x=x)


class Vector(Distribution):
  """A distribution whose parameters have the shape of the batch and, last, of the event."""
  _event_rank = 1

  @property
  def event_shape(self):
    shape = TensorShape([None])
    for tensor in self._tensors:
      known = tensor.get_shape()
      if known.ndims is not None and known[-1].value not in (None, 1):
        return known[-1:]
      shape = known[-1:] if known.ndims is not None else shape
    return shape

  def event_shape_tensor(self, name='event_shape_tensor'):
    with self._scope(name):
      known = self.event_shape
      if known.is_fully_defined():
        return convert(known.as_list(), 'int32', 'event_shape')
      return array.shape(self._whole(self._tensors[0]))[-1:]

  def _whole(self, tensor):
    """The tensor, with the shape of all parameters."""
    for other in self._tensors:
      if other is not tensor:
        tensor = tensor + array.zeros_like(other)
    return tensor

  def _shape(self, count):
    return array.concat([[count], array.shape(self._whole(self._tensors[0]))], 0)


# ---- Normal --------------------------------------------------------------------------------------


class _MultivariateNormal(Vector):
  """loc + scale @ standard; scale is a diagonal (_diag) or a lower triangle (_tril)."""
  _tril = None
  reparameterization_type = property(lambda self: FULLY_REPARAMETERIZED)

  def _make(self, dtype, arguments, loc, diag, scope):
    self._loc, self._diag = loc, diag
    super().__init__(dtype, arguments, [diag] if loc is None else [loc, diag], scope,
                     arguments['validate_args'], arguments['allow_nan_stats'])

  @property
  def loc(self):
    return self._loc

  @property
  def scale(self):
    """The scale as a linear operator."""
    from leat import linalg
    return linalg.LinearOperatorDiag(self._diag) if self._tril is None else \
        linalg.LinearOperatorLowerTriangular(self._tril)

  def _scaled(self, x):
    if self._tril is None:
      return x * self._diag
    return math.reduce_sum(self._tril * x[..., None, :], -1)

  def _standard(self, x):
    x = x if self._loc is None else x - self._loc
    if self._tril is None:
      return x / self._diag
    fill = array.zeros_like(x[..., None])
    whole = self._tril + array.zeros_like(fill)   # solves do not broadcast
    return apply_op('MatrixTriangularSolve', matrix=whole,
                    rhs=x[..., None] + array.zeros_like(whole[..., :1]))[..., 0]

  def _sample(self, count, seed):
    found = self._scaled(random.random_normal(self._shape(count), dtype=self._dtype, seed=seed))
    return found if self._loc is None else found + self._loc

  def _log_determinant(self):
    """Of the scale, for each member of the batch."""
    return math.reduce_sum(_log(math.abs(self._whole(self._diag))), -1)

  def _log_prob(self, x):
    size = math.cast(self.event_shape_tensor()[0], self._dtype)
    return -0.5 * (math.reduce_sum(math.square(self._standard(x)), -1) +
                   size * numbers.log(2 * numbers.pi)) - self._log_determinant()

  def _entropy(self):
    size = math.cast(self.event_shape_tensor()[0], self._dtype)
    return 0.5 * size * (1.0 + numbers.log(2 * numbers.pi)) + self._log_determinant()

  def _mean(self):
    zeros = array.zeros_like(self._whole(self._diag))
    return zeros if self._loc is None else self._loc + zeros

  _mode = _mean

  def _triangle(self):
    return diagonal.matrix_diag(self._diag) if self._tril is None else self._tril

  def _covariance(self):
    fill = array.zeros_like(self._mean())[..., None]
    triangle = self._triangle() + fill
    return matrix.matmul(triangle, triangle, transpose_b=True)

  def _variance(self):
    return math.reduce_sum(math.square(self._triangle()), -1) + array.zeros_like(self._mean())


def _given(loc, **scales):
  found = {} if loc is None else {'loc': loc}
  return {**found, **{k: v for k, v in scales.items() if v is not None}}


@export('contrib.distributions.MultivariateNormalDiag')
class MultivariateNormalDiag(_MultivariateNormal):
  """Independent normal elements with the deviations scale_diag, or scale_identity_multiplier, or
  their sum; both may be left out for ones, and loc for zeros."""

  def __init__(self, loc=None, scale_diag=None, scale_identity_multiplier=None,
               validate_args=False, allow_nan_stats=True, name='MultivariateNormalDiag'):
    arguments = dict(locals())
    given = _given(loc, scale_diag=scale_diag, scale_identity_multiplier=scale_identity_multiplier)
    if not given:
      raise ValueError('MultivariateNormalDiag has neither loc nor a scale, must have one')
    scope, tensors = parameters_of(name, given)
    found = dict(zip(given, tensors))
    with name_scope(scope):
      diag = found.get('scale_diag')
      each = found.get('scale_identity_multiplier')
      if each is not None:
        ones = array.ones_like(found['loc'] if diag is None else diag)
        diag = each[..., None] * ones if diag is None else diag + each[..., None]
      if diag is None:
        diag = array.ones_like(found['loc'])
    self._make(tensors[0].dtype.base_dtype, arguments, found.get('loc'), diag, scope)


@export('contrib.distributions.MultivariateNormalDiagWithSoftplusScale')
class MultivariateNormalDiagWithSoftplusScale(MultivariateNormalDiag):
  """MultivariateNormalDiag with the deviations softplus(scale_diag)."""

  def __init__(self, loc, scale_diag, validate_args=False, allow_nan_stats=True,
               name='MultivariateNormalDiagWithSoftplusScale'):
    with name_scope(name):
      positive = math.softplus(convert(scale_diag))
    super().__init__(loc, positive, None, validate_args, allow_nan_stats, name)
    self._parameters = dict(loc=loc, scale_diag=scale_diag, validate_args=validate_args,
                            allow_nan_stats=allow_nan_stats, name=name)


@export('contrib.distributions.MultivariateNormalTriL')
class MultivariateNormalTriL(_MultivariateNormal):
  """A normal vector with the covariance scale_tril @ scale_tril^T; the upper triangle is not
  read."""

  def __init__(self, loc=None, scale_tril=None, validate_args=False, allow_nan_stats=True,
               name='MultivariateNormalTriL'):
    self._of_triangle(loc, scale_tril, dict(locals()), name)

  def _of_triangle(self, loc, scale_tril, arguments, name):
    given = _given(loc, scale_tril=scale_tril)
    if not given:
      raise ValueError('%s has neither loc nor a scale, must have one' % name)
    scope, tensors = parameters_of(name, given)
    found = dict(zip(given, tensors))
    with name_scope(scope):
      if 'scale_tril' in found:
        self._tril = apply_op('MatrixBandPart', input=found['scale_tril'], num_lower=-1,
                              num_upper=0)
        diag = diagonal.matrix_diag_part(self._tril)
      else:
        diag = array.ones_like(found['loc'])
    self._make(tensors[0].dtype.base_dtype, arguments, found.get('loc'), diag, scope)


@export('contrib.distributions.MultivariateNormalFullCovariance')
class MultivariateNormalFullCovariance(MultivariateNormalTriL):
  """A normal vector with the covariance_matrix, which must be positive definite."""

  def __init__(self, loc=None, covariance_matrix=None, validate_args=False, allow_nan_stats=True,
               name='MultivariateNormalFullCovariance'):
    arguments = dict(locals())
    triangle = None
    if covariance_matrix is not None:
      with name_scope(name):
        triangle = apply_op('Cholesky', input=convert(covariance_matrix))
    self._of_triangle(loc, triangle, arguments, name)


# ---- Dirichlet and counts ------------------------------------------------------------------------


@export('distributions.Dirichlet')
class Dirichlet(Vector):
  """Vectors of positive numbers whose sum is one."""
  reparameterization_type = property(lambda self: FULLY_REPARAMETERIZED)

  def __init__(self, concentration, validate_args=False, allow_nan_stats=True, name='Dirichlet'):
    arguments = dict(locals())
    scope, (self._concentration,) = parameters_of(name, dict(concentration=concentration))
    super().__init__(self._concentration.dtype.base_dtype, arguments, [self._concentration], scope,
                     validate_args, allow_nan_stats)

  concentration = property(lambda self: self._concentration)

  @property
  def total_concentration(self):
    return math.reduce_sum(self._concentration, -1)

  def _sample(self, count, seed):
    found = random.random_gamma([count], self._concentration, dtype=self._dtype, seed=seed)
    return found / math.reduce_sum(found, -1, keepdims=True)

  def _normalization(self):
    return math.reduce_sum(_lgamma(self._concentration), -1) - _lgamma(self.total_concentration)

  def _log_prob(self, x):
    return math.reduce_sum((self._concentration - 1.0) * _log(x), -1) - self._normalization()

  def _entropy(self):
    total, classes = self.total_concentration, math.cast(self.event_shape_tensor()[0], self._dtype)
    return (self._normalization() + (total - classes) * _digamma(total) -
            math.reduce_sum((self._concentration - 1.0) * _digamma(self._concentration), -1))

  def _mean(self):
    return self._concentration / self.total_concentration[..., None]

  def _variance(self):
    mean = self._mean()
    return mean * (1.0 - mean) / (1.0 + self.total_concentration[..., None])

  def _mode(self):
    classes = math.cast(self.event_shape_tensor()[0], self._dtype)
    mode = (self._concentration - 1.0) / (self.total_concentration[..., None] - classes)
    inside = math.reduce_all(self._concentration > 1.0, -1, keepdims=True)
    return self._where_defined(inside, mode, 'the mode needs concentrations above 1')

  def _covariance(self):
    mean = self._mean()
    scale = 1.0 / (1.0 + self.total_concentration[..., None, None])
    return scale * (diagonal.matrix_diag(mean) - mean[..., None] * mean[..., None, :])


class _Counts(Vector):
  """How often each class came in total_count draws."""

  def _log_combinations(self, counts):
    return _lgamma(self._total + 1.0) - math.reduce_sum(_lgamma(counts + 1.0), -1)

  def _drawn(self, logits, count, seed):
    """[count] + batch + [classes]: counts of draws from logits [count] + batch + [classes]."""
    shape = array.shape(logits)
    classes = shape[-1]
    most = math.cast(math.reduce_max(self._total), dtypes.int32)
    rows = random.multinomial(array.reshape(logits, array.stack([-1, classes])), most, seed=seed,
                              output_dtype=dtypes.int32)
    one = array.one_hot(rows, classes, dtype=self._dtype)   # [rows, draws, classes]
    totals = array.reshape(self._total + array.zeros_like(logits[..., 0]), [-1])
    used = math.cast(math.cast(math.range(most), self._dtype)[None, :] < totals[:, None],
                     self._dtype)
    return array.reshape(math.reduce_sum(one * used[..., None], 1), shape)


@export('distributions.Multinomial')
class Multinomial(_Counts):
  """total_count draws of classes with the probabilities `probs`, or softmax(logits)."""

  def __init__(self, total_count, logits=None, probs=None, validate_args=False,
               allow_nan_stats=True, name='Multinomial'):
    arguments = dict(locals())
    if (logits is None) == (probs is None):
      raise ValueError('Must pass probs or logits, but not both.')
    given = dict(probs=probs) if logits is None else dict(logits=logits)
    scope, (tensor,) = parameters_of(name, given)
    with name_scope(scope):
      self._logits = tensor if logits is not None else _log(tensor)
      self._probs = tensor if probs is not None else nn.softmax(tensor)
      self._total = convert(total_count, tensor.dtype.base_dtype, 'total_count')
    super().__init__(tensor.dtype.base_dtype, arguments, [tensor], scope, validate_args,
                     allow_nan_stats)

  total_count = property(lambda self: self._total)
  logits = property(lambda self: self._logits)
  probs = property(lambda self: self._probs)

  def _sample(self, count, seed):
    shape = array.concat([[count], array.shape(self._logits)], 0)
    return self._drawn(self._logits + array.zeros(shape, self._dtype), count, seed)

  def _log_prob(self, counts):
    return self._log_combinations(counts) + math.reduce_sum(
        counts * nn.log_softmax(self._logits), -1)

  def _mean(self):
    return self._total[..., None] * self._probs

  def _variance(self):
    return self._total[..., None] * self._probs * (1.0 - self._probs)

  def _covariance(self):
    p = self._probs
    return self._total[..., None, None] * (
        diagonal.matrix_diag(p) - p[..., None] * p[..., None, :])


@export('distributions.DirichletMultinomial')
class DirichletMultinomial(_Counts):
  """total_count draws of classes whose probabilities have a Dirichlet distribution."""

  def __init__(self, total_count, concentration, validate_args=False, allow_nan_stats=True,
               name='DirichletMultinomial'):
    arguments = dict(locals())
    scope, (self._total, self._concentration) = parameters_of(
        name, dict(total_count=total_count, concentration=concentration))
    super().__init__(self._concentration.dtype.base_dtype, arguments, [self._concentration], scope,
                     validate_args, allow_nan_stats)

  total_count = property(lambda self: self._total)
  concentration = property(lambda self: self._concentration)

  @property
  def total_concentration(self):
    return math.reduce_sum(self._concentration, -1)

  def _sample(self, count, seed):
    gamma = random.random_gamma([count], self._concentration, dtype=self._dtype, seed=seed)
    return self._drawn(_log(gamma), count, None if seed is None else seed + 1)

  def _log_prob(self, counts):
    a = self._concentration
    beta = lambda v: math.reduce_sum(_lgamma(v), -1) - _lgamma(math.reduce_sum(v, -1))
    return beta(a + counts) - beta(a) + self._log_combinations(counts)

  def _mean(self):
    return self._total[..., None] * self._concentration / self.total_concentration[..., None]

  def _spread(self):
    a, n = self.total_concentration, self._total
    return (n + a) / (1.0 + a)

  def _variance(self):
    share = self._concentration / self.total_concentration[..., None]
    return self._mean() * (1.0 - share) * self._spread()[..., None]

  def _covariance(self):
    p = self._concentration / self.total_concentration[..., None]
    whole = diagonal.matrix_diag(p) - p[..., None] * p[..., None, :]
    return (self._total * self._spread())[..., None, None] * whole


# ---- Divergences ---------------------------------------------------------------------------------


@RegisterKL(_MultivariateNormal, _MultivariateNormal)
def _normal_normal(a, b, name=None):
  with name_scope(name, 'kl_mvn'):
    difference = b._mean() - a._mean()
    moved = math.reduce_sum(math.square(b._standard(b._mean() + difference)), -1)
    if a._tril is None and b._tril is None:
      trace = math.reduce_sum(math.square(a._diag / b._diag) + array.zeros_like(difference), -1)
    else:
      fill = array.zeros_like(difference)[..., None]
      solved = apply_op('MatrixTriangularSolve', matrix=b._triangle() + fill,
                        rhs=a._triangle() + fill)
      trace = math.reduce_sum(math.square(solved), [-2, -1])
    size = math.cast(a.event_shape_tensor()[0], a.dtype)
    return b._log_determinant() - a._log_determinant() + 0.5 * (trace + moved - size)


@RegisterKL(Dirichlet, Dirichlet)
def _dirichlet_dirichlet(a, b, name=None):
  with name_scope(name, 'kl_dirichlet_dirichlet', [a.concentration, b.concentration]):
    expected = _digamma(a.concentration) - _digamma(a.total_concentration)[..., None]
    return math.reduce_sum((a.concentration - b.concentration) * expected, -1) - \
        a._normalization() + b._normalization()
