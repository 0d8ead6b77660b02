"""tf.metrics of the k classes that are predicted first: precision, recall and average precision.

Labels are [..., number of labels] or, with one label each, [...] of int64, dense or sparse (where
examples have different numbers of labels). Predictions are scores [..., classes], of which the
highest k are taken, or for `*_at_top_k` the classes [..., k] themselves. The last dimension is
treated as a set. Counts are variables of float64.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, embedding, math, sets
from leat._ops.assign import assign_add
from leat._ops.metrics import collected, metric_variable, safe_div
from leat._ops.sparse import SparseTensor, convert_to_tensor_or_sparse_tensor, \
    sparse_tensor_to_dense
from leat._ops.weights import broadcast_weights, fitting_weights


def _name_at(which, k, class_id=None):
  name = '%s_at_k' % which if k is None else '%s_at_%d' % (which, k)
  return name if class_id is None else '%s_class%d' % (name, class_id)


def _expanded(labels, predictions):
  """The labels as [..., number of labels]: a dimension of 1 is added where they have one less than
  the predictions."""
  labels = convert_to_tensor_or_sparse_tensor(labels)
  if isinstance(labels, SparseTensor):
    if labels.dtype.base_dtype != dtypes.int64:
      labels = math.cast(labels, dtypes.int64)
    rank = labels.dense_shape.get_shape()[0].value
    if rank is not None and predictions.get_shape().ndims == rank + 1:
      return _expanded_sparse(labels)
    return labels
  labels = math.cast(labels, dtypes.int64)
  known, wanted = labels.get_shape().ndims, predictions.get_shape().ndims
  if known is not None and wanted is not None:
    return array.expand_dims(labels, -1) if known + 1 == wanted else labels
  from leat._ops import control_flow
  return control_flow.cond(
      math.equal(array.rank(predictions), array.rank(labels) + 1),
      lambda: array.expand_dims(labels, -1), lambda: array.identity(labels))


def _expanded_sparse(labels):
  one = convert([1], dtypes.int64)
  zeros = array.zeros_like(labels.indices[:, :1])
  return SparseTensor(array.concat([labels.indices, zeros], 1), labels.values,
                      array.concat([labels.dense_shape, one], 0))


def _only(class_id, ids):
  """The sets of ids without all but one class, as a sparse tensor."""
  wanted = convert(class_id, dtypes.int64)
  if isinstance(ids, SparseTensor):
    places = array.reshape(array.where(math.equal(ids.values, wanted)), [-1])
    return SparseTensor(array.gather(ids.indices, places), array.gather(ids.values, places),
                        ids.dense_shape)
  filled = array.fill(array.concat([array.shape(ids)[:-1], [1]], 0), wanted)
  return sets.set_intersection(filled, ids)


# How each count is made of the sets (predicted, labels).
_COUNTED = {
    'true_positive': lambda predicted, labels: sets.set_intersection(predicted, labels),
    'false_positive': lambda predicted, labels: sets.set_difference(predicted, labels),
    'false_negative': lambda predicted, labels: sets.set_difference(predicted, labels,
                                                                    aminusb=False),
}


def _count(which, labels, predicted, k, class_id, weights):
  """(variable, update) of one of the counts."""
  with name_scope(None, _name_at(which, k, class_id), (predicted, weights)) as scope:
    with name_scope(None, which + 's', (predicted, weights)):
      if class_id is not None:
        labels, predicted = _only(class_id, labels), _only(class_id, predicted)
      found = math.cast(sets.set_size(_COUNTED[which](predicted, labels)), dtypes.float64)
      if weights is not None:
        found = found * fitting_weights(math.cast(weights, dtypes.float64), found)
    variable = metric_variable([], dtypes.float64, name=scope)
    return variable, assign_add(variable, math.reduce_sum(found), name='update')


def _share(which, other, labels, predictions_idx, k, class_id, weights, metrics_collections,
           updates_collections, name):
  """true positives / (true positives + the other count), of classes predicted."""
  with name_scope(name, _name_at(which, k, class_id), (predictions_idx, labels, weights)) as scope:
    predictions_idx = convert(predictions_idx)
    labels = _expanded(labels, predictions_idx)
    top = math.cast(predictions_idx, dtypes.int64)
    positives = _count('true_positive', labels, top, k, class_id, weights)
    others = _count(other, labels, top, k, class_id, weights)
    value, update = [math.div(p, p + o, n) for p, o, n in zip(
        positives, others, (scope, 'update'))]
    return collected(value, update, metrics_collections, updates_collections)


def _share_of_scores(which, other, labels, predictions, k, class_id, weights, metrics_collections,
                     updates_collections, name):
  with name_scope(name, _name_at(which, k, class_id), (predictions, labels, weights)) as scope:
    _, top = embedding.top_k(predictions, k)
    return _share(which, other, labels, top, k, class_id, weights, metrics_collections,
                  updates_collections, scope)


@export('metrics.recall_at_k')
def recall_at_k(labels, predictions, k, class_id=None, weights=None, metrics_collections=None,
                updates_collections=None, name=None):
  """The share of labels (or of those of one class) that are among the k highest predictions."""
  return _share_of_scores('recall', 'false_negative', labels, predictions, k, class_id, weights,
                          metrics_collections, updates_collections, name)


@export('metrics.recall_at_top_k')
def recall_at_top_k(labels, predictions_idx, k=None, class_id=None, weights=None,
                    metrics_collections=None, updates_collections=None, name=None):
  """recall_at_k where the k classes are given."""
  return _share('recall', 'false_negative', labels, predictions_idx, k, class_id, weights,
                metrics_collections, updates_collections, name)


@export('metrics.precision_at_k', 'metrics.sparse_precision_at_k')
def precision_at_k(labels, predictions, k, class_id=None, weights=None, metrics_collections=None,
                   updates_collections=None, name=None):
  """The share of the k highest predictions (or of those of one class) that are labels."""
  return _share_of_scores('precision', 'false_positive', labels, predictions, k, class_id, weights,
                          metrics_collections, updates_collections, name)


@export('metrics.precision_at_top_k')
def precision_at_top_k(labels, predictions_idx, k=None, class_id=None, weights=None,
                       metrics_collections=None, updates_collections=None, name=None):
  """precision_at_k where the k classes are given."""
  return _share('precision', 'false_positive', labels, predictions_idx, k, class_id, weights,
                metrics_collections, updates_collections, name)


def _average_precision(labels, top):
  """[...] of float64: the mean over the labels of the precision at the place of each."""
  with name_scope(None, 'average_precision', (top,)) as scope:
    k = math.cast(array.shape(top)[-1], dtypes.int32)
    if isinstance(labels, SparseTensor):
      number = math.cast(sets.set_size(labels), dtypes.int32)
      labels = sparse_tensor_to_dense(labels, default_value=-1)
    else:
      number = array.fill(array.shape(labels)[:-1], array.shape(labels)[-1])
    number = apply_op('Minimum', x=number, y=k)
    relevant = math.reduce_any(math.equal(array.expand_dims(top, -1),
                                          array.expand_dims(labels, -2)), -1)
    relevant = math.cast(relevant, dtypes.float64)
    precision = math.cumsum(relevant, -1) / math.cumsum(array.ones_like(relevant), -1)
    total = math.reduce_sum(precision * relevant, -1)
    return math.div(total, math.cast(number, dtypes.float64), scope)


@export('metrics.average_precision_at_k', 'metrics.sparse_average_precision_at_k')
def average_precision_at_k(labels, predictions, k, weights=None, metrics_collections=None,
                           updates_collections=None, name=None):
  """The mean over the examples of the average precision: for each label among the k highest
  predictions the precision of the predictions up to it, summed up and divided by the number of
  labels, or k if that is less."""
  with name_scope(name, _name_at('average_precision', k), (predictions, labels, weights)) as scope:
    if k < 1:
      raise ValueError('k is %d, must be at least 1.' % k)
    predictions = convert(predictions)
    _, top = embedding.top_k(predictions, k)
    return _mean_average_precision(labels, top, weights, metrics_collections, updates_collections,
                                   scope)


def average_precision_at_top_k(labels, predictions_idx, weights=None, metrics_collections=None,
                               updates_collections=None, name=None):
  """average_precision_at_k where the classes, from the first to the last, are given."""
  predictions_idx = convert(predictions_idx)
  k = predictions_idx.get_shape().as_list()[-1]
  with name_scope(name, _name_at('average_precision', k), (predictions_idx, labels,
                                                           weights)) as scope:
    return _mean_average_precision(labels, predictions_idx, weights, metrics_collections,
                                   updates_collections, scope)


def _mean_average_precision(labels, top, weights, metrics_collections, updates_collections, scope):
  average = _average_precision(_expanded(labels, top), math.cast(top, dtypes.int64))
  if weights is not None:
    weights = broadcast_weights(math.cast(weights, dtypes.float64), average)
    average = average * weights
  with name_scope(None, 'max', (average,)) as max_scope:
    most = metric_variable([], dtypes.float64, name=max_scope)
    batch = math.cast(array.size(average), dtypes.float64) if weights is None else \
        math.reduce_sum(weights, name='batch_max')
    most_update = assign_add(most, batch, name='update')
  with name_scope(None, 'total', (average,)) as total_scope:
    total = metric_variable([], dtypes.float64, name=total_scope)
    total_update = assign_add(total, math.reduce_sum(average, name='batch_total'),
                              name='update')
  return collected(safe_div(total, most, 'mean'), safe_div(total_update, most_update, scope),
                   metrics_collections, updates_collections)
