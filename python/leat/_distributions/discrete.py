"""Distributions of whole numbers: one of two, one of several."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._distributions.distribution import Distribution, RegisterKL, parameters_of
from leat._ops import array, math, nn, random


class _Choice(Distribution):
  """A distribution whose parameter is either probabilities or logits."""

  def _choose(self, logits, probs, dtype, arguments, to_logits, to_probs):
    if (logits is None) == (probs is None):
      raise ValueError('Must pass probs or logits, but not both.')
    given = dict(probs=probs) if logits is None else dict(logits=logits)
    scope, (tensor,) = parameters_of(arguments['name'], given)
    super().__init__(dtypes.as_dtype(dtype), arguments, [tensor], scope,
                     arguments['validate_args'], arguments['allow_nan_stats'])
    with name_scope(scope):
      self._logits = tensor if logits is not None else to_logits(tensor)
      self._probs = tensor if probs is not None else to_probs(tensor)

  logits = property(lambda self: self._logits)
  probs = property(lambda self: self._probs)


@export('distributions.Bernoulli')
class Bernoulli(_Choice):
  """1 with the probability `probs`, or sigmoid(logits), else 0."""

  def __init__(self, logits=None, probs=None, dtype=dtypes.int32, validate_args=False,
               allow_nan_stats=True, name='Bernoulli'):
    self._choose(logits, probs, dtype, dict(locals()),
                 lambda p: apply_op('Log', x=p) - apply_op('Log1p', x=-p),
                 lambda z: apply_op('Sigmoid', x=z, name='probs'))

  def _sample(self, count, seed):
    shape = array.concat([[count], self.batch_shape_tensor()], 0)
    uniform = random.random_uniform(shape, dtype=self._probs.dtype, seed=seed)
    return math.cast(uniform < self._probs, self._dtype)

  def _log_prob(self, event):
    event = math.cast(event, self._logits.dtype)
    fill = array.zeros_like(event + self._logits)
    return -nn.sigmoid_cross_entropy_with_logits(labels=event + fill, logits=self._logits + fill)

  def _entropy(self):
    return -self._logits * (apply_op('Sigmoid', x=self._logits) - 1.0) + apply_op(
        'Softplus', features=-self._logits)

  def _mean(self):
    return array.identity(self._probs)

  def _variance(self):
    return self._probs * (1.0 - self._probs)

  def _mode(self):
    return math.cast(self._probs > 0.5, self._dtype)


@export('distributions.Categorical')
class Categorical(_Choice):
  """One of the classes of the last dimension, with the probabilities `probs`, or
  softmax(logits)."""
  _event_rank = 1

  def __init__(self, logits=None, probs=None, dtype=dtypes.int32, validate_args=False,
               allow_nan_stats=True, name='Categorical'):
    self._choose(logits, probs, dtype, dict(locals()), lambda p: apply_op('Log', x=p),
                 lambda z: nn.softmax(z, name='probs'))

  @property
  def event_size(self):
    """How many classes there are, as a tensor."""
    with name_scope(self._name):
      return array.shape(self._logits, name='shape')[-1]

  def _sample(self, count, seed):
    classes = self.event_size
    rows = array.reshape(self._logits, array.stack([-1, classes]))
    drawn = random.multinomial(rows, count, seed=seed, output_dtype=self._dtype)
    shape = array.concat([[count], self.batch_shape_tensor()], 0)
    result = array.reshape(array.transpose(drawn), shape)
    result.set_shape(TensorShape([None]).concatenate(self.batch_shape))
    return result

  def _log_prob(self, k):
    logits = self._logits
    if k.get_shape().ndims != self.batch_shape.ndims or k.get_shape() != self.batch_shape:
      one = math.cast(k, logits.dtype)[..., None]
      logits = logits + array.zeros_like(one)
      k = k + array.zeros_like(logits[..., 0], k.dtype)
    return -nn.sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

  def _cdf(self, k):
    """The probability of a smaller class. TensorFlow's leaves k itself out, too."""
    classes = math.cast(math.range(self.event_size), k.dtype)
    below = math.cast(classes < k[..., None], self._probs.dtype)
    return math.reduce_sum(below * self._probs, -1)

  def _entropy(self):
    return -math.reduce_sum(nn.log_softmax(self._logits) * self._probs, -1)

  def _mode(self):
    return math.cast(math.argmax(self._logits, -1), self._dtype)


# ---- Divergences --------------------------------------------------------------------------------


@RegisterKL(Bernoulli, Bernoulli)
def _bernoulli_bernoulli(a, b, name=None):
  with name_scope(name, 'kl_bernoulli_bernoulli', [a.logits, b.logits]):
    softplus = lambda x: apply_op('Softplus', features=x)
    zero = softplus(b.logits) - softplus(a.logits)
    one = softplus(-b.logits) - softplus(-a.logits)
    return a.probs * one + (1.0 - a.probs) * zero


@RegisterKL(Categorical, Categorical)
def _categorical_categorical(a, b, name=None):
  with name_scope(name, 'kl_categorical_categorical', [a.logits, b.logits]):
    difference = nn.log_softmax(a.logits) - nn.log_softmax(b.logits)
    return math.reduce_sum(nn.softmax(a.logits) * difference, -1)
