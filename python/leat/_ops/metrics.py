"""tf.metrics: values that are summed up over many steps.

Each metric has local variables that hold what is needed of all batches so far, a tensor with the
value of the metric, and one that adds a batch and has the value after that. The variables are in
the collections of local and of metric variables; `tf.local_variables_initializer` sets them back
to zero. This module has the means, and how every metric here keeps its variables and fits the
shapes of its arguments; `threshold_metrics` and `top_k_metrics` have the others.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import GraphKeys, control_dependencies
from leat._ops import array, confusion, diagonal, math
from leat._ops.assign import assign_add
from leat._ops.variable_scope import variable_scope
from leat._ops.variables import Variable
from leat._ops.weights import broadcast_weights


def metric_variable(shape, dtype, validate_shape=True, name=None):
  """A variable of zeros that training does not change and checkpoints do not hold."""
  return Variable(lambda: array.zeros(shape, dtype), trainable=False, name=name,
                  collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
                  validate_shape=validate_shape)


def collected(value, update, metrics_collections, updates_collections):
  """(value, update), which are added to the collections."""
  graph = graphs.get_default_graph()
  for item, names in ((value, metrics_collections), (update, updates_collections)):
    if names:
      graph.add_to_collections(names, item)
  return value, update


def safe_div(numerator, denominator, name=None):
  """numerator / denominator, 0 where the denominator is 0."""
  return apply_op('DivNoNan', name=name, x=numerator, y=denominator)


def fitted(predictions, labels, weights):
  """(predictions, labels, weights) of one rank: a last dimension of 1 is taken away or added where
  the others have it. Scalar weights stay as they are."""
  predictions = convert(predictions)
  if labels is not None:
    labels, predictions = confusion.remove_squeezable_dimensions(labels, predictions)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
  if weights is None:
    return predictions, labels, None
  weights = convert(weights)
  a, b = weights.get_shape().ndims, predictions.get_shape().ndims
  if a == 0:
    return predictions, labels, weights
  if a is None or b is None:
    return predictions, labels, _fitted_in_step(weights, predictions)
  if a == b + 1:
    weights = array.squeeze(weights, [-1])
  elif a + 1 == b:
    weights = array.expand_dims(weights, [-1])
  return predictions, labels, weights


def _fitted_in_step(weights, predictions):
  """What `fitted` does with the weights, where a rank is known only when the step runs."""
  from leat._ops import control_flow
  difference = array.rank(weights) - array.rank(predictions)

  def expanded():
    return control_flow.cond(math.equal(difference, -1),
                             lambda: array.expand_dims(weights, [-1]),
                             lambda: array.identity(weights))

  def fits():
    if weights.get_shape().ndims in (None, 1) or weights.get_shape()[-1].is_compatible_with(1):
      return control_flow.cond(math.equal(difference, 1),
                               lambda: array.squeeze(weights, [-1]), expanded)
    return expanded()
  return control_flow.cond(math.equal(array.rank(weights), 0), lambda: array.identity(weights),
                           fits)


# ---- Means --------------------------------------------------------------------------------------


@export('metrics.mean')
def mean(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
  """The mean of all values, each counted with its weight: (value, update), scalars of float32."""
  with variable_scope(name, 'mean', (values, weights)):
    values = math.cast(values, dtypes.float32)
    total = metric_variable([], dtypes.float32, name='total')
    count = metric_variable([], dtypes.float32, name='count')
    if weights is None:
      number = math.cast(array.size(values), dtypes.float32)
    else:
      values, _, weights = fitted(values, None, weights)
      weights = broadcast_weights(math.cast(weights, dtypes.float32), values)
      values = values * weights
      number = math.reduce_sum(weights)
    new_total = assign_add(total, math.reduce_sum(values))
    with control_dependencies([values]):
      new_count = assign_add(count, number)
    return collected(safe_div(total, count, 'value'), safe_div(new_total, new_count, 'update_op'),
                     metrics_collections, updates_collections)


@export('metrics.mean_tensor')
def mean_tensor(values, weights=None, metrics_collections=None, updates_collections=None,
                name=None):
  """The mean of the values of each place: (value, update) of float32, in the shape of `values`,
  which must be known."""
  with variable_scope(name, 'mean', (values, weights)):
    values = math.cast(values, dtypes.float32)
    total = metric_variable(values.get_shape(), dtypes.float32, name='total_tensor')
    count = metric_variable(values.get_shape(), dtypes.float32, name='count_tensor')
    number = array.ones_like(values)
    if weights is not None:
      values, _, weights = fitted(values, None, weights)
      weights = broadcast_weights(math.cast(weights, dtypes.float32), values)
      values, number = values * weights, number * weights
    new_total = assign_add(total, values)
    with control_dependencies([values]):
      new_count = assign_add(count, number)
    return collected(safe_div(total, count, 'value'), safe_div(new_total, new_count, 'update_op'),
                     metrics_collections, updates_collections)


@export('metrics.accuracy')
def accuracy(labels, predictions, weights=None, metrics_collections=None,
             updates_collections=None, name=None):
  """(the share of predictions that equal labels, an operation that adds a batch to it).

  The share is that of all batches so far, which two local variables hold: run
  tf.local_variables_initializer() first. With `weights` examples count as much as they say.
  """
  predictions, labels, weights = fitted(predictions, labels, weights)
  if labels.dtype.base_dtype != predictions.dtype.base_dtype:
    predictions = math.cast(predictions, labels.dtype.base_dtype)
  right = math.cast(math.equal(predictions, labels), dtypes.float32)
  return mean(right, weights, metrics_collections, updates_collections, name or 'accuracy')


@export('metrics.percentage_below')
def percentage_below(values, threshold, weights=None, metrics_collections=None,
                     updates_collections=None, name=None):
  """The share of the values that are below the threshold."""
  below = math.cast(apply_op('Less', x=values, y=threshold), dtypes.float32)
  return mean(below, weights, metrics_collections, updates_collections,
              name or 'percentage_below_threshold')


@export('metrics.mean_absolute_error')
def mean_absolute_error(labels, predictions, weights=None, metrics_collections=None,
                        updates_collections=None, name=None):
  """The mean of |prediction - label|."""
  predictions, labels, weights = fitted(predictions, labels, weights)
  return mean(math.abs(predictions - labels), weights, metrics_collections, updates_collections,
              name or 'mean_absolute_error')


@export('metrics.mean_squared_error')
def mean_squared_error(labels, predictions, weights=None, metrics_collections=None,
                       updates_collections=None, name=None):
  """The mean of (label - prediction) ** 2."""
  predictions, labels, weights = fitted(predictions, labels, weights)
  error = apply_op('SquaredDifference', x=labels, y=predictions)
  return mean(error, weights, metrics_collections, updates_collections,
              name or 'mean_squared_error')


@export('metrics.root_mean_squared_error')
def root_mean_squared_error(labels, predictions, weights=None, metrics_collections=None,
                            updates_collections=None, name=None):
  """The root of the mean of (label - prediction) ** 2."""
  value, update = mean_squared_error(labels, predictions, weights, None, None,
                                     name or 'root_mean_squared_error')
  value = math.sqrt(value)
  with control_dependencies([value]):
    update = math.sqrt(update)
  return collected(value, update, metrics_collections, updates_collections)


@export('metrics.mean_relative_error')
def mean_relative_error(labels, predictions, normalizer, weights=None, metrics_collections=None,
                        updates_collections=None, name=None):
  """The mean of |label - prediction| / normalizer, 0 where the normalizer is 0."""
  predictions, labels, weights = fitted(predictions, labels, weights)
  predictions, normalizer = confusion.remove_squeezable_dimensions(predictions, normalizer)
  predictions.get_shape().assert_is_compatible_with(normalizer.get_shape())
  error = array.where(math.equal(normalizer, 0), array.zeros_like(labels),
                      math.abs(labels - predictions) / normalizer)
  return mean(error, weights, metrics_collections, updates_collections,
              name or 'mean_relative_error')


@export('metrics.mean_cosine_distance')
def mean_cosine_distance(labels, predictions, dim, weights=None, metrics_collections=None,
                         updates_collections=None, name=None):
  """The mean of 1 - the product of label and prediction along `dim`; both have the length 1."""
  predictions, labels, weights = fitted(predictions, labels, weights)
  products = math.reduce_sum(predictions * labels, [dim], keepdims=True)
  value, update = mean(products, weights, None, None, name or 'mean_cosine_distance')
  return collected(1 - value, 1 - update, metrics_collections, updates_collections)


# ---- Of classes ---------------------------------------------------------------------------------


def _flat(tensor):
  return array.reshape(tensor, [-1]) if (tensor.get_shape().ndims or 2) > 1 else tensor


@export('metrics.mean_iou')
def mean_iou(labels, predictions, num_classes, weights=None, metrics_collections=None,
             updates_collections=None, name=None):
  """The mean over the classes that occur of intersection / union: true positives / (true positives
  + false positives + false negatives). The update is the matrix of confusion so far."""
  with variable_scope(name, 'mean_iou', (predictions, labels, weights)):
    predictions, labels = convert(predictions), convert(labels)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    total = metric_variable([num_classes, num_classes], dtypes.float64,
                            name='total_confusion_matrix')
    predictions = _flat(math.cast(predictions, dtypes.int64))
    labels = _flat(math.cast(labels, dtypes.int64))
    if weights is not None:
      weights = _flat(convert(weights))
    update = assign_add(total, confusion.confusion_matrix(
        labels, predictions, num_classes, dtype=dtypes.float64, weights=weights))
    counts = math.cast(total, dtypes.float32)
    both = diagonal.diag_part(counts)
    union = math.reduce_sum(counts, 0) + math.reduce_sum(counts, 1) - both
    present = math.reduce_sum(math.cast(math.not_equal(union, 0), dtypes.float32))
    value = safe_div(math.reduce_sum(safe_div(both, union)), present, 'mean_iou')
    return collected(value, update, metrics_collections, updates_collections)


@export('metrics.mean_per_class_accuracy')
def mean_per_class_accuracy(labels, predictions, num_classes, weights=None,
                            metrics_collections=None, updates_collections=None, name=None):
  """The mean over the classes of how often a label of the class was predicted. The update is a
  vector: the accuracy of each class."""
  with variable_scope(name, 'mean_accuracy', (predictions, labels, weights)):
    labels = math.cast(labels, dtypes.int64)
    predictions, labels, weights = fitted(predictions, labels, weights)
    total = metric_variable([num_classes], dtypes.float32, name='total')
    count = metric_variable([num_classes], dtypes.float32, name='count')
    labels, predictions = _flat(labels), _flat(math.cast(predictions, dtypes.int64))
    ones = array.ones_like(labels, dtypes.float32)
    right = math.cast(math.equal(predictions, labels), dtypes.float32)
    if weights is not None:
      weights = math.cast(_flat(weights), dtypes.float32)
      ones, right = ones * weights, right * weights
    new_total = apply_op('ScatterAdd', ref=total, indices=labels, updates=ones)
    new_count = apply_op('ScatterAdd', ref=count, indices=labels, updates=right)
    value = math.reduce_mean(safe_div(count, total), name='mean_accuracy')
    return collected(value, safe_div(new_count, new_total, 'update_op'), metrics_collections,
                     updates_collections)
