"""tf.losses: means of losses over examples, kept in the collection of losses."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.arguments import either
from leat._graph.conversion import convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys, name_scope
from leat._graph.value import constant_value
from leat._ops import array, confusion, math, nn
from leat._ops.weights import fitting_weights as _fitting_weights


@export('losses.Reduction')
class Reduction:
  """How the losses of examples become one."""
  NONE, SUM, MEAN = 'none', 'weighted_sum', 'weighted_mean'
  SUM_OVER_BATCH_SIZE = 'weighted_sum_over_batch_size'
  SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS = 'weighted_sum_by_nonzero_weights'

  @classmethod
  def all(cls):
    return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS)

  @classmethod
  def validate(cls, key):
    if key not in cls.all():
      raise ValueError('Invalid Reduction Key %s.' % key)


def _safe_mean(losses, count):
  return apply_op('DivNoNan', name='value', x=math.reduce_sum(losses), y=count)


def _inner_axes(tensor):
  """All dimensions but the first."""
  rank = tensor.get_shape().ndims
  return math.range(1, array.rank(tensor)) if rank is None else list(range(1, rank))


def _present(losses, weights, per_batch=False):
  """How many elements have a weight that is not zero."""
  static = constant_value(weights) if weights.get_shape().ndims == 0 else None
  if static is not None and static == 0.0:
    return array.zeros([])
  with name_scope(None, 'num_present', (losses, weights)) as scope:
    weights = math.cast(weights, dtypes.float32)
    present = array.where(math.equal(weights, 0.0), array.zeros_like(weights),
                          array.ones_like(weights))
    present = present * array.ones_like(math.cast(losses, dtypes.float32))
    if per_batch:
      return math.reduce_sum(present, _inner_axes(present), keepdims=True, name=scope)
    return math.reduce_sum(present, name=scope)


@export('losses.compute_weighted_loss')
def compute_weighted_loss(losses, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
                          reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
  """The losses times weights, summed or averaged."""
  Reduction.validate(reduction)
  with name_scope(scope, 'weighted_loss', (losses, weights)):
    losses = convert(losses)
    dtype = losses.dtype
    losses = math.cast(losses, dtypes.float32)
    weights = math.cast(convert(weights, dtypes.float32 if not hasattr(weights, 'dtype') else None),
                        dtypes.float32)
    weights = _fitting_weights(weights, losses)
    loss = math.multiply(losses, weights)
    if reduction != Reduction.NONE:
      total = math.reduce_sum(loss)
      if reduction == Reduction.SUM:
        loss = total
      elif reduction == Reduction.MEAN:
        loss = _safe_mean(total, math.reduce_sum(array.ones_like(losses) * weights))
      elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        loss = _safe_mean(total, math.cast(array.size(losses), dtypes.float32))
      else:
        loss = _safe_mean(total, _present(losses, weights))
    loss = math.cast(loss, dtype)
    if loss_collection:
      add_loss(loss, loss_collection)
    return loss


@export('losses.add_loss')
def add_loss(loss, loss_collection=GraphKeys.LOSSES):
  """Adds a loss to the collection that get_losses and get_total_loss read."""
  if loss_collection:
    get_default_graph().add_to_collection(loss_collection, loss)


@export('losses.get_losses')
def get_losses(scope=None, loss_collection=GraphKeys.LOSSES):
  """The losses in the collection, as a list: those that the functions of tf.losses made, or
  add_loss added. With `scope`, only those whose names begin with it."""
  return get_default_graph().get_collection(loss_collection, scope)


@export('losses.get_regularization_losses')
def get_regularization_losses(scope=None):
  """The regularization losses of variables, as a list: what their regularizers gave. With `scope`,
  only those whose names begin with it."""
  return get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@export('losses.get_regularization_loss')
def get_regularization_loss(scope=None, name='total_regularization_loss'):
  """The sum of the regularization losses."""
  from leat._ops import matrix
  found = get_regularization_losses(scope)
  return matrix.add_n(found, name=name) if found else convert(0.0)


@export('losses.get_total_loss')
def get_total_loss(add_regularization_losses=True, name='total_loss', scope=None):
  """The sum of all losses."""
  from leat._ops import matrix
  found = get_losses(scope=scope)
  if add_regularization_losses:
    found += get_regularization_losses(scope=scope)
  return matrix.add_n(found, name=name)


def _pair(name, scope, first, second, weights, function, collection, reduction, what):
  """A loss of labels and predictions of one shape."""
  if first is None:
    raise ValueError('Argument `labels` must not be None.')
  if second is None:
    raise ValueError('Argument `%s` must not be None.' % what)
  with name_scope(scope, name, (second, first, weights)) as scope:
    predictions = math.cast(second, dtypes.float32)
    labels = math.cast(first, dtypes.float32)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    return compute_weighted_loss(function(labels, predictions), weights, scope, collection,
                                 reduction=reduction)


@export('losses.absolute_difference')
def absolute_difference(labels, predictions, weights=1.0, scope=None,
                        loss_collection=GraphKeys.LOSSES,
                        reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
  """The mean of weights * |labels - predictions|; both have one shape.

  `weights` is a number, or has the rank of the losses and in each dimension their size or 1. The
  mean is over elements with a weight that is not 0; `reduction` (tf.losses.Reduction) asks for
  another sum. The result is added to the collection loss_collection. ValueError where shapes do not
  match, labels or predictions are None, or reduction is none of those.
  """
  return _pair('absolute_difference', scope, labels, predictions, weights,
               lambda l, p: math.abs(p - l), loss_collection, reduction, 'predictions')


@export('losses.mean_squared_error')
def mean_squared_error(labels, predictions, weights=1.0, scope=None,
                       loss_collection=GraphKeys.LOSSES,
                       reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
  """The mean of weights * (labels - predictions)^2; both have one shape.

  `weights` is a number, or has the rank of the losses and in each dimension their size or 1. The
  mean is over elements with a weight that is not 0; `reduction` (tf.losses.Reduction) asks for
  another sum. The result is a scalar, which is added to the collection loss_collection. ValueError
  where shapes do not match, or labels or predictions are None.

  >>> loss = tf.losses.mean_squared_error([1.0, 2.0], [1.0, 4.0])
  >>> float(tf.Session().run(loss))
  2.0
  """
  return _pair('mean_squared_error', scope, labels, predictions, weights,
               lambda l, p: apply_op('SquaredDifference', x=p, y=l), loss_collection, reduction,
               'predictions')


@export('losses.log_loss')
def log_loss(labels, predictions, weights=1.0, epsilon=1e-7, scope=None,
             loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
  """The mean of weights * -(labels * log(p) + (1 - labels) * log(1 - p)) of probabilities p, to
  which epsilon is added. Weights, reduction and collection are those of absolute_difference."""
  def function(labels, predictions):
    log = lambda x: apply_op('Log', x=x)
    return -(labels * log(predictions + epsilon)) - (1 - labels) * log(1 - predictions + epsilon)
  return _pair('log_loss', scope, labels, predictions, weights, function, loss_collection,
               reduction, 'predictions')


@export('losses.huber_loss')
def huber_loss(labels, predictions, weights=1.0, delta=1.0, scope=None,
               loss_collection=GraphKeys.LOSSES, reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
  """The mean of weights * loss, where the loss is half the square of the error up to an error of
  `delta`, and grows linearly beyond. Weights, reduction and collection are those of
  absolute_difference."""
  def function(labels, predictions):
    error = math.abs(predictions - labels)
    quadratic = apply_op('Minimum', x=error, y=delta)
    return 0.5 * quadratic * quadratic + delta * (error - quadratic)
  return _pair('huber_loss', scope, labels, predictions, weights, function, loss_collection,
               reduction, 'predictions')


@export('losses.hinge_loss')
def hinge_loss(labels, logits, weights=1.0, scope=None, loss_collection=GraphKeys.LOSSES,
               reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
  """The mean of weights * max(0, 1 - labels * logits), where labels of 0 count as -1. Weights,
  reduction and collection are those of absolute_difference."""
  def function(labels, logits):
    signs = 2 * labels - array.ones_like(labels)
    return apply_op('Relu', features=array.ones_like(labels) - signs * logits)
  return _pair('hinge_loss', scope, labels, logits, weights, function, loss_collection, reduction,
               'logits')


@export('losses.cosine_distance')
def cosine_distance(labels, predictions, axis=None, weights=1.0, scope=None,
                    loss_collection=GraphKeys.LOSSES,
                    reduction=Reduction.SUM_BY_NONZERO_WEIGHTS, dim=None):
  """The mean of weights * (1 - the product of labels and predictions, summed along `axis`). Both
  must be of length 1 along that dimension already. Weights, reduction and collection are those of
  absolute_difference."""
  axis = either('axis', axis, 'dim', dim)
  if axis is None:
    raise ValueError('You must specify argument `axis`.')
  return _pair('cosine_distance_loss', scope, labels, predictions, weights,
               lambda l, p: 1 - math.reduce_sum(p * l, (axis,), keepdims=True), loss_collection,
               reduction, 'predictions')


@export('losses.mean_pairwise_squared_error')
def mean_pairwise_squared_error(labels, predictions, weights=1.0, scope=None,
                                loss_collection=GraphKeys.LOSSES):
  """The squared differences of all pairs of elements of an example."""
  if labels is None or predictions is None:
    raise ValueError('labels and predictions must not be None.')
  with name_scope(scope, 'mean_pairwise_squared_error', (predictions, labels, weights)):
    weights = math.cast(weights, dtypes.float32)
    labels = math.cast(labels, dtypes.float32)
    predictions = math.cast(predictions, dtypes.float32)
    weights = _fitting_weights(weights, labels)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    difference = predictions - labels
    axes = _inner_axes(difference)
    squares = math.reduce_sum(math.square(difference), axes, keepdims=True)
    present = _present(difference, weights, per_batch=True)
    positive = apply_op('Maximum', x=present - 1, y=array.zeros_like(present))
    first = 2.0 * apply_op('DivNoNan', x=squares, y=positive)
    total = math.reduce_sum(difference, axes, keepdims=True)
    second = 2.0 * apply_op('DivNoNan', x=math.square(total), y=present * positive)
    weighted = (first - second) * weights
    loss = math.reduce_sum(weighted)
    result = array.where(math.reduce_sum(present) > 0, loss, array.zeros_like(loss), name='value')
    add_loss(result, loss_collection)
    return result


def _smoothed(labels, logits, label_smoothing):
  if label_smoothing > 0:
    classes = math.cast(array.shape(labels)[1], logits.dtype)
    return labels * (1.0 - label_smoothing) + label_smoothing / classes
  return labels


@export('losses.softmax_cross_entropy')
def softmax_cross_entropy(onehot_labels, logits, weights=1.0, label_smoothing=0, scope=None,
                          loss_collection=GraphKeys.LOSSES,
                          reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
  """The mean over examples of weights * the cross entropy of softmax(logits) and onehot_labels,
  both [batch, classes]. label_smoothing > 0 moves labels towards 1/classes. `weights` is a number,
  [batch] or [batch, 1]. Reduction and collection are those of absolute_difference."""
  if onehot_labels is None or logits is None:
    raise ValueError('onehot_labels and logits must not be None.')
  with name_scope(scope, 'softmax_cross_entropy_loss', (logits, onehot_labels, weights)) as scope:
    logits = convert(logits)
    labels = math.cast(onehot_labels, logits.dtype)
    logits.get_shape().assert_is_compatible_with(labels.get_shape())
    labels = array.stop_gradient(_smoothed(labels, logits, label_smoothing),
                                 name='labels_stop_gradient')
    losses = nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name='xentropy')
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export('losses.sigmoid_cross_entropy')
def sigmoid_cross_entropy(multi_class_labels, logits, weights=1.0, label_smoothing=0, scope=None,
                          loss_collection=GraphKeys.LOSSES,
                          reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
  """The mean of weights * the cross entropy of sigmoid(logits) and multi_class_labels, both [batch,
  classes]: each class is there or not, independently of the others. label_smoothing > 0 moves
  labels towards 1/2. Weights, reduction and collection are those of absolute_difference."""
  if multi_class_labels is None or logits is None:
    raise ValueError('multi_class_labels and logits must not be None.')
  with name_scope(scope, 'sigmoid_cross_entropy_loss', (logits, multi_class_labels,
                                                        weights)) as scope:
    logits = convert(logits)
    labels = math.cast(multi_class_labels, logits.dtype)
    logits.get_shape().assert_is_compatible_with(labels.get_shape())
    if label_smoothing > 0:
      labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
    losses = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name='xentropy')
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)


@export('losses.sparse_softmax_cross_entropy')
def sparse_softmax_cross_entropy(labels, logits, weights=1.0, scope=None,
                                 loss_collection=GraphKeys.LOSSES,
                                 reduction=Reduction.SUM_BY_NONZERO_WEIGHTS):
  """The mean over examples of weights * the cross entropy of softmax(logits), [batch, classes], and
  the one class that labels, [batch] of int32 or int64, gives each example. `weights` is a number or
  [batch]. Reduction and collection are those of absolute_difference."""
  if labels is None or logits is None:
    raise ValueError('labels and logits must not be None.')
  with name_scope(scope, 'sparse_softmax_cross_entropy_loss', (logits, labels, weights)) as scope:
    labels, logits = confusion.remove_squeezable_dimensions(convert(labels), convert(logits), 1)
    weights = confusion.without_extra_dimension(convert(weights), labels)
    losses = nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits,
                                                         name='xentropy')
    return compute_weighted_loss(losses, weights, scope, loss_collection, reduction=reduction)
