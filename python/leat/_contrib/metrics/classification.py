"""contrib.metrics of classifications: accuracy of a batch, F1, precision and recall where one of
them is given, curves, Cohen's kappa."""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, confusion, control, diagonal, math, metrics, threshold_metrics
from leat._ops.assign import assign_add
from leat._ops.metrics import collected, metric_variable, safe_div
from leat._ops.variable_scope import variable_scope

_EPSILON = 1e-7


@export('contrib.metrics.accuracy')
def accuracy(predictions, labels, weights=None, name=None):
  """The share of equal predictions and labels of a batch, a scalar. ValueError where labels are no
  integers, bools or strings, or predictions of another type."""
  labels, predictions = convert(labels), convert(predictions)
  if not (labels.dtype.is_integer or labels.dtype in (dtypes.bool, dtypes.string)):
    raise ValueError('Labels should have bool, integer or string dtype, given: %s' % labels.dtype)
  if not labels.dtype.is_compatible_with(predictions.dtype):
    raise ValueError('Dtypes of predictions and labels should match. Given: predictions (%s) and '
                     'labels (%s)' % (predictions.dtype, labels.dtype))
  with name_scope(name, 'accuracy', [predictions, labels]):
    right = math.cast(math.equal(predictions, labels), dtypes.float32)
    if weights is None:
      return math.reduce_mean(right)
    weights = math.cast(weights, dtypes.float32)
    return math.divide(math.reduce_sum(right * weights),
                       math.reduce_sum(weights * array.ones_like(right)))


def _over_counts(default_name, function, labels, predictions, weights, num_thresholds,
                 metrics_collections, updates_collections, name):
  """A metric that is a function of the four counts at even thresholds, and of a name."""
  with variable_scope(name, default_name, (labels, predictions, weights)):
    both = threshold_metrics._counts_at(
        threshold_metrics._even_thresholds(num_thresholds), labels, predictions, weights,
        ('true_positives', 'false_negatives', 'true_negatives', 'false_positives'))
    value, update = [function(c, part) for c, part in zip(both, ('value', 'update_op'))]
    return collected(value, update, metrics_collections, updates_collections)


def _precision_and_recall(c):
  tp = c['true_positives']
  return tp / (_EPSILON + tp + c['false_positives']), tp / (_EPSILON + tp + c['false_negatives'])


@export('contrib.metrics.f1_score')
def f1_score(labels, predictions, weights=None, num_thresholds=200, metrics_collections=None,
             updates_collections=None, name=None):
  """The largest harmonic mean of precision and recall over the thresholds."""
  def best(c, part):
    both = 2.0 * c['true_positives']
    return math.reduce_max(both / (_EPSILON + both + c['false_positives'] + c['false_negatives']),
                           name=part)
  return _over_counts('f1', best, labels, predictions, weights, num_thresholds,
                      metrics_collections, updates_collections, name)


@export('contrib.metrics.recall_at_precision')
def recall_at_precision(labels, predictions, precision, weights=None, num_thresholds=200,
                        metrics_collections=None, updates_collections=None, name=None,
                        strict_mode=False):
  """The recall at the threshold whose precision is nearest to `precision`; with strict_mode,
  nearest among those that are not less, and 0 where there is none."""
  if not 0 <= precision <= 1:
    raise ValueError('`precision` must be in the range [0, 1].')

  def function(c, part):
    precisions, recalls = _precision_and_recall(c)
    difference = precisions - precision
    if not strict_mode:
      return array.gather(recalls, math.argmin(math.abs(difference), 0), name=part)
    # A precision that should equal the wanted one may have been rounded below it.
    enough = apply_op('GreaterEqual', x=difference, y=-1e-5)
    far = array.where(enough, math.abs(difference), 2.0 * array.ones_like(difference))
    recall = array.gather(recalls, math.argmin(far, 0))
    return array.where(math.reduce_any(enough), recall, array.zeros_like(recall), name=part)
  return _over_counts('recall_at_precision', function, labels, predictions, weights,
                      num_thresholds, metrics_collections, updates_collections, name)


@export('contrib.metrics.precision_at_recall')
def precision_at_recall(labels, predictions, target_recall, weights=None, num_thresholds=200,
                        metrics_collections=None, updates_collections=None, name=None):
  """The precision at the largest threshold whose recall is at least `target_recall`."""
  if not 0 <= target_recall <= 1:
    raise ValueError('`target_recall` must be in the range [0, 1].')

  def function(c, part):
    tp, fp = c['true_positives'], c['false_positives']
    _, recalls = _precision_and_recall(c)
    # Recalls fall with the threshold.
    enough = math.cast(apply_op('GreaterEqual', x=recalls, y=target_recall), dtypes.int64)
    at = math.reduce_sum(enough) - 1
    return math.div(array.gather(tp, at) + _EPSILON, array.gather(tp + fp, at) + _EPSILON,
                    name=part)
  return _over_counts('precision_at_recall', function, labels, predictions, weights,
                      num_thresholds, metrics_collections, updates_collections, name)


@export('contrib.metrics.streaming_curve_points')
def streaming_curve_points(labels=None, predictions=None, weights=None, num_thresholds=200,
                           metrics_collections=None, updates_collections=None, curve='ROC',
                           name=None):
  """The points [num_thresholds, 2] of the curve ROC (rate of false positives, recall) or PR
  (recall, precision)."""
  if curve not in ('ROC', 'PR'):
    raise ValueError('curve must be either ROC or PR, %s unknown' % (curve,))
  return _over_counts('curve_points', lambda c, part: array.stack(
      threshold_metrics._points(curve, c), axis=1, name=part), labels, predictions, weights,
                      num_thresholds, metrics_collections, updates_collections, name)


PrecisionRecallData = collections.namedtuple(
    'PrecisionRecallData', ['tp', 'fp', 'tn', 'fn', 'precision', 'recall', 'thresholds'])


@export('contrib.metrics.precision_recall_at_equal_thresholds')
def precision_recall_at_equal_thresholds(labels, predictions, weights=None, num_thresholds=None,
                                         use_locking=None, name=None):
  """(the four counts, precision and recall at even thresholds from 0 to 1, vectors; the update).

  An example is counted once, in the bucket of the largest threshold that it reaches; sums over the
  buckets behind are the counts. labels are bools, predictions in [0, 1] in their shape, and all
  results have the predictions' type. ValueError where num_thresholds (201) is less than 2."""
  labels, predictions = convert(labels), convert(predictions)
  if labels.dtype.base_dtype != dtypes.bool:
    raise TypeError('labels have the type %s, must be bool' % labels.dtype.name)
  predictions.get_shape().assert_is_compatible_with(labels.get_shape())
  num_thresholds = 201 if num_thresholds is None else num_thresholds
  if num_thresholds <= 1:
    raise ValueError('num_thresholds must be at least 2, is %d' % num_thresholds)
  dtype = predictions.dtype.base_dtype
  with variable_scope(name, 'precision_recall_at_equal_thresholds', (labels, predictions, weights)):
    ones = array.ones_like(predictions)
    weights = ones if weights is None else math.cast(weights, dtype) * ones
    right = math.cast(labels, dtype) * weights
    places = math.cast(math.floor(predictions * (num_thresholds - 1)), dtypes.int32)
    buckets = [metric_variable([num_thresholds], dtype, name=n) for n in ('tp_buckets',
                                                                         'fp_buckets')]
    flat = lambda x: array.reshape(x, [-1])
    updates = [apply_op('ScatterAdd', ref=bucket, indices=flat(places), updates=flat(values),
                        use_locking=bool(use_locking))
               for bucket, values in zip(buckets, (right, weights - right))]
    tp, fp = [math.cumsum(convert(b), reverse=True, name=n) for b, n in zip(buckets, ('tp', 'fp'))]
    tn, fn = math.subtract(fp[0], fp, name='tn'), math.subtract(tp[0], tp, name='fn')
    small = convert(1e-6 if dtype == dtypes.float16 else 1e-30, dtype)
    share = lambda whole, n: math.divide(tp, apply_op('Maximum', x=small, y=whole), name=n)
    data = PrecisionRecallData(
        tp, fp, tn, fn, share(tp + fp, 'precision'), share(tp + fn, 'recall'),
        math.cast(math.linspace(0.0, 1.0, num_thresholds), dtype, name='thresholds'))
    return data, control.group(*updates)


@export('contrib.metrics.cohen_kappa')
def cohen_kappa(labels, predictions_idx, num_classes, weights=None, metrics_collections=None,
                updates_collections=None, name=None):
  """How much more two raters agree than by chance: (observed - expected) / (all - expected), of
  classes [batch]. ValueError where num_classes is less than 2."""
  if num_classes < 2:
    raise ValueError('`num_classes` must be >= 2. Found: %s' % num_classes)
  with variable_scope(name, 'cohen_kappa', (labels, predictions_idx, weights)):
    labels = convert(labels)
    if labels.get_shape().ndims == 2:
      labels = array.squeeze(labels, [-1])
    predictions_idx, labels, weights = metrics.fitted(predictions_idx, labels, weights)
    kind = dtypes.int64 if weights is None else dtypes.float32
    po, row, column = [metric_variable([num_classes], kind, name=n)
                       for n in ('po', 'pe_row', 'pe_col')]
    matrix = confusion.confusion_matrix(labels, predictions_idx, num_classes, dtype=kind,
                                        weights=weights)
    updates = [assign_add(po, diagonal.diag_part(matrix)),
               assign_add(row, math.reduce_sum(matrix, 0)),
               assign_add(column, math.reduce_sum(matrix, 1))]

    def kappa(observed, row, column, part):
      observed, row, column = [math.cast(v, dtypes.float64) for v in (observed, row, column)]
      observed, total = math.reduce_sum(observed), math.reduce_sum(row)
      chance = safe_div(math.reduce_sum(row * column), total)
      return safe_div(observed - chance, total - chance, part)
    return collected(kappa(po, row, column, 'value'), kappa(*updates, 'update_op'),
                     metrics_collections, updates_collections)
