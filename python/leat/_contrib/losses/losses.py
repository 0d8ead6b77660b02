"""contrib.losses: means of losses, in the collection of losses.

They differ from tf.losses in that predictions come before labels, and in their weights: these have
the first dimensions of the losses, and count for all elements in the others. Weights of [batch] or
[batch, 1] are weights of examples. """
from __future__ import annotations

from leat._contrib.arg_scope import add_arg_scope
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.arguments import either
from leat._graph.conversion import convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys, name_scope
from leat._ops import array, losses as losses_, math, nn

ALIASES = {'contrib.slim.losses.*': 'contrib.losses.*'}


def _float(x):
  return math.cast(x, dtypes.float32)


def _log(x):
  return apply_op('Log', x=x)


def _weights(weights, losses):
  """The weights as floats, without a last dimension of 1. ValueError where a rank is not known or
  larger than that of the losses."""
  weights = _float(convert(weights))
  for name, value in (('losses', losses), ('weights', weights)):
    if value.get_shape().ndims is None:
      raise ValueError('%s.get_shape().ndims cannot be None' % name)
  if weights.get_shape().ndims > 1 and weights.get_shape().as_list()[-1] in (1, None):
    weights = array.squeeze(weights, [-1])
  if weights.get_shape().ndims > losses.get_shape().ndims:
    raise ValueError('weights have the rank %d, must have at most that of the losses, %d' % (
        weights.get_shape().ndims, losses.get_shape().ndims))
  return weights


def _scaled(losses, weights):
  """The sum of losses times weights."""
  axes = list(range(weights.get_shape().ndims, losses.get_shape().ndims))
  return math.reduce_sum(math.reduce_sum(losses, axes) * weights)


def _present(losses, weights):
  """How many elements of each example have a weight that is not 0, [batch]."""
  rank = weights.get_shape().ndims
  nonzero = _float(math.not_equal(weights, 0.0))
  if rank > 1:
    nonzero = math.reduce_sum(nonzero, list(range(1, rank)))
  sizes = array.slice(array.shape(losses), [max(rank, 1)], [-1])
  count = nonzero * _float(math.reduce_prod(sizes))
  return count if rank else count * array.ones(array.slice(array.shape(losses), [0], [1]))


def _quotient(numerator, denominator, name='value'):
  """0 where the denominator is 0."""
  return apply_op('DivNoNan', x=numerator, y=denominator, name=name)


@export('contrib.losses.compute_weighted_loss')
def compute_weighted_loss(losses, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES):
  """The sum of losses times weights, divided by the number of weights that are not 0."""
  with name_scope(scope, 'weighted_loss', [losses, weights]):
    losses = convert(losses)
    dtype, losses = losses.dtype, _float(losses)
    weights = _weights(weights, losses)
    if losses.get_shape().ndims == 0:
      present = _float(math.not_equal(weights, 0.0))
    else:
      present = math.reduce_sum(_present(losses, weights))
    mean = math.cast(_quotient(_scaled(losses, weights), present), dtype)
    add_loss(mean, loss_collection)
    return mean


@export('contrib.losses.add_loss')
@add_arg_scope
def add_loss(loss, loss_collection=GraphKeys.LOSSES):
  """Keeps a loss in the collection."""
  if loss_collection:
    get_default_graph().add_to_collection(loss_collection, loss)


@export('contrib.losses.get_losses')
def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
  """The losses of the collection below the scope."""
  return losses_.get_losses(scope, loss_collection)


@export('contrib.losses.get_regularization_losses')
def get_regularization_losses(scope=None):
  """The regularization losses, as a list; with `scope`, only those whose names begin with it."""
  return losses_.get_regularization_losses(scope)


@export('contrib.losses.get_total_loss')
def get_total_loss(add_regularization_losses=True, name='total_loss'):
  """The sum of all losses."""
  return losses_.get_total_loss(add_regularization_losses, name)


def _pair(scope, name, predictions, labels, weights, function):
  """The weighted loss of a function of predictions and labels of one shape, both as floats."""
  with name_scope(scope, name, [predictions, labels, weights]) as scope:
    predictions, labels = convert(predictions), convert(labels)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    return compute_weighted_loss(function(_float(predictions), _float(labels)), weights,
                                 scope=scope)


@export('contrib.losses.absolute_difference')
def absolute_difference(predictions, labels=None, weights=1.0, scope=None):
  """The distances of predictions and labels."""
  return _pair(scope, 'absolute_difference', predictions, labels, weights,
               lambda p, l: math.abs(p - l))


@export('contrib.losses.mean_squared_error')
def mean_squared_error(predictions, labels=None, weights=1.0, scope=None):
  """Their squares."""
  return _pair(scope, 'mean_squared_error', predictions, labels, weights,
               lambda p, l: apply_op('SquaredDifference', x=p, y=l))


@export('contrib.losses.log_loss')
def log_loss(predictions, labels=None, weights=1.0, epsilon=1e-7, scope=None):
  """The cross entropy of probabilities and labels of 0 and 1; epsilon keeps the logarithm
  finite."""
  return _pair(scope, 'log_loss', predictions, labels, weights, lambda p, l: -(
      l * _log(p + epsilon)) - (1 - l) * _log(1 - p + epsilon))


@export('contrib.losses.hinge_loss')
def hinge_loss(logits, labels=None, scope=None):
  """The hinge losses of labels of 0 and 1, one for each element, in no collection."""
  with name_scope(scope, 'hinge_loss', [logits, labels]):
    logits, labels = convert(logits), _float(labels)
    logits.get_shape().assert_is_compatible_with(labels.get_shape())
    signs = 2 * labels - array.ones_like(labels)
    return apply_op('Relu', features=array.ones_like(labels) - signs * logits)


@export('contrib.losses.sigmoid_cross_entropy')
def sigmoid_cross_entropy(logits, multi_class_labels, weights=1.0, label_smoothing=0, scope=None):
  """The cross entropy of independent classes; smoothing draws labels towards 1/2."""
  with name_scope(scope, 'sigmoid_cross_entropy_loss', [logits, multi_class_labels,
                                                        weights]) as scope:
    logits = convert(logits)
    labels = math.cast(multi_class_labels, logits.dtype)
    logits.get_shape().assert_is_compatible_with(labels.get_shape())
    if label_smoothing > 0:
      labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
    losses = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name='xentropy')
    return compute_weighted_loss(losses, weights, scope=scope)


@export('contrib.losses.softmax_cross_entropy')
def softmax_cross_entropy(logits, onehot_labels, weights=1.0, label_smoothing=0, scope=None):
  """The cross entropy of classes [batch, classes]; smoothing draws labels towards 1 / classes."""
  with name_scope(scope, 'softmax_cross_entropy_loss', [logits, onehot_labels, weights]) as scope:
    logits = convert(logits)
    labels = math.cast(onehot_labels, logits.dtype)
    logits.get_shape().assert_is_compatible_with(labels.get_shape())
    if label_smoothing > 0:
      classes = math.cast(array.shape(labels)[1], logits.dtype)
      labels = labels * (1.0 - label_smoothing) + label_smoothing / classes
    losses = nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, name='xentropy')
    return compute_weighted_loss(losses, weights, scope=scope)


@export('contrib.losses.sparse_softmax_cross_entropy')
def sparse_softmax_cross_entropy(logits, labels, weights=1.0, scope=None):
  """The same of numbers of classes [batch] or [batch, 1]."""
  with name_scope(scope, 'sparse_softmax_cross_entropy_loss', [logits, labels, weights]) as scope:
    labels = convert(labels)
    labels = array.reshape(labels, array.slice(array.shape(labels), [0], [1]))
    losses = nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=convert(logits),
                                                         name='xentropy')
    return compute_weighted_loss(losses, weights, scope=scope)


@export('contrib.losses.cosine_distance')
def cosine_distance(predictions, labels=None, axis=None, weights=1.0, scope=None, dim=None):
  """1 minus the product of vectors along an axis, which must be of length 1."""
  axis = either('axis', axis, 'dim', dim)
  if axis is None:
    raise ValueError('You must specify axis.')
  return _pair(scope, 'cosine_distance_loss', predictions, labels, weights,
               lambda p, l: 1 - math.reduce_sum(p * l, (axis,)))


@export('contrib.losses.mean_pairwise_squared_error')
def mean_pairwise_squared_error(predictions, labels=None, weights=1.0, scope=None):
  """The squares of how the differences between elements of an example differ, over all pairs."""
  with name_scope(scope, 'mean_pairwise_squared_error', [predictions, labels, weights]):
    predictions, labels = _float(convert(predictions)), _float(convert(labels))
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    difference = predictions - labels
    weights = _weights(weights, difference)
    axes = list(range(1, difference.get_shape().ndims))
    present = _present(difference, weights)
    squares = math.reduce_sum(math.square(difference), axes)
    total = math.reduce_sum(difference, axes)
    pairs = 2.0 * _quotient(squares, present) - 2.0 * _quotient(math.square(total),
                                                               math.square(present))
    loss = _scaled(pairs, weights)
    mean = array.where(math.reduce_sum(present) > 0, loss, array.zeros_like(loss), name='value')
    add_loss(mean)
    return mean
