"""contrib.metrics.streaming_*: tf.metrics with predictions before labels, and those it has not.

A metric is a pair: a tensor with its value, and one that takes a batch in and has the value after
it. """
from __future__ import annotations

import inspect

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._ops import embedding, math, metrics, threshold_metrics, top_k_metrics
from leat._ops.metrics import collected, fitted, safe_div
from leat._ops.variable_scope import variable_scope

_EPSILON = 1e-7
_DEFAULTS = {'weights': None, 'num_thresholds': 200, 'class_id': None, 'curve': 'ROC',
             'metrics_collections': None, 'updates_collections': None, 'name': None}


def _streaming(metric, parameters, **renamed):
  """A metric with its parameters in another order; `renamed` are those that it calls
  differently."""
  names = parameters.split()
  signature = inspect.Signature([
      inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                        default=_DEFAULTS.get(n, inspect.Parameter.empty)) for n in names])

  def function(*args, **kwargs):
    given = signature.bind(*args, **kwargs)
    given.apply_defaults()
    return metric(**{renamed.get(n, n): value for n, value in given.arguments.items()})
  function.__signature__, function.__doc__ = signature, metric.__doc__
  return function


_END = ' weights metrics_collections updates_collections name'
_PAIR = 'predictions labels' + _END
_TOP = dict(top_k_predictions='predictions_idx')
streaming_mean = _streaming(metrics.mean, 'values' + _END)
streaming_mean_tensor = _streaming(metrics.mean_tensor, 'values' + _END)
streaming_accuracy = _streaming(metrics.accuracy, _PAIR)
streaming_percentage_less = _streaming(metrics.percentage_below, 'values threshold' + _END)
streaming_mean_absolute_error = _streaming(metrics.mean_absolute_error, _PAIR)
streaming_mean_squared_error = _streaming(metrics.mean_squared_error, _PAIR)
streaming_root_mean_squared_error = _streaming(metrics.root_mean_squared_error, _PAIR)
streaming_mean_relative_error = _streaming(metrics.mean_relative_error,
                                           'predictions labels normalizer' + _END)
streaming_mean_cosine_distance = _streaming(metrics.mean_cosine_distance,
                                            'predictions labels dim' + _END)
streaming_mean_iou = _streaming(metrics.mean_iou, 'predictions labels num_classes' + _END)
streaming_true_positives = _streaming(threshold_metrics.true_positives, _PAIR)
streaming_true_negatives = _streaming(threshold_metrics.true_negatives, _PAIR)
streaming_false_positives = _streaming(threshold_metrics.false_positives, _PAIR)
streaming_false_negatives = _streaming(threshold_metrics.false_negatives, _PAIR)
streaming_precision = _streaming(threshold_metrics.precision, _PAIR)
streaming_recall = _streaming(threshold_metrics.recall, _PAIR)
streaming_precision_at_thresholds = _streaming(threshold_metrics.precision_at_thresholds,
                                               'predictions labels thresholds' + _END)
streaming_recall_at_thresholds = _streaming(threshold_metrics.recall_at_thresholds,
                                            'predictions labels thresholds' + _END)
streaming_auc = _streaming(
    threshold_metrics.auc, 'predictions labels weights num_thresholds metrics_collections '
    'updates_collections curve name')
streaming_specificity_at_sensitivity = _streaming(
    threshold_metrics.specificity_at_sensitivity, 'predictions labels sensitivity weights '
    'num_thresholds metrics_collections updates_collections name')
streaming_sensitivity_at_specificity = _streaming(
    threshold_metrics.sensitivity_at_specificity, 'predictions labels specificity weights '
    'num_thresholds metrics_collections updates_collections name')
streaming_sparse_recall_at_k = _streaming(top_k_metrics.recall_at_k,
                                          'predictions labels k class_id' + _END)
streaming_sparse_precision_at_k = _streaming(top_k_metrics.precision_at_k,
                                             'predictions labels k class_id' + _END)
streaming_sparse_precision_at_top_k = _streaming(
    top_k_metrics.precision_at_top_k, 'top_k_predictions labels class_id' + _END, **_TOP)
sparse_recall_at_top_k = _streaming(
    top_k_metrics.recall_at_top_k, 'labels top_k_predictions class_id' + _END, **_TOP)
streaming_sparse_average_precision_at_k = _streaming(
    top_k_metrics.average_precision_at_k, 'predictions labels k' + _END)
streaming_sparse_average_precision_at_top_k = _streaming(
    top_k_metrics.average_precision_at_top_k, 'top_k_predictions labels' + _END, **_TOP)


@export('contrib.metrics.streaming_recall_at_k')
def streaming_recall_at_k(predictions, labels, k, weights=None, metrics_collections=None,
                          updates_collections=None, name=None):
  """The share of labels [batch] that are among the k highest predictions [batch, classes]."""
  found = math.cast(embedding.in_top_k(predictions, labels, k), dtypes.float32)
  return metrics.mean(found, weights, metrics_collections, updates_collections,
                      name or 'recall_at_%d' % k)


# ---- Rates --------------------------------------------------------------------------------------


def _rate(default_name, first, second, predictions, labels, weights, metrics_collections,
          updates_collections, name):
  """first / (first + second), of counts of threshold_metrics; 0 where both are."""
  with variable_scope(name, default_name, (predictions, labels, weights)):
    predictions, labels, weights = fitted(math.cast(predictions, dtypes.bool),
                                          math.cast(labels, dtypes.bool), weights)
    value, update = [safe_div(a, a + b, which) for a, b, which in zip(
        first(labels, predictions, weights), second(labels, predictions, weights),
        ('value', 'update_op'))]
    return collected(value, update, metrics_collections, updates_collections)


@export('contrib.metrics.streaming_false_positive_rate')
def streaming_false_positive_rate(predictions, labels, weights=None, metrics_collections=None,
                                  updates_collections=None, name=None):
  """The share of those with label no that are predicted yes."""
  return _rate('false_positive_rate', threshold_metrics.false_positives,
               threshold_metrics.true_negatives, predictions, labels, weights,
               metrics_collections, updates_collections, name)


@export('contrib.metrics.streaming_false_negative_rate')
def streaming_false_negative_rate(predictions, labels, weights=None, metrics_collections=None,
                                  updates_collections=None, name=None):
  """The share of those with label yes that are predicted no."""
  return _rate('false_negative_rate', threshold_metrics.false_negatives,
               threshold_metrics.true_positives, predictions, labels, weights,
               metrics_collections, updates_collections, name)


def _counter_at(which):
  def function(predictions, labels, thresholds, weights=None):
    counts, updates = threshold_metrics._counts_at(thresholds, labels, predictions, weights,
                                                   (which,))
    return convert(counts[which]), updates[which]
  function.__doc__ = 'The sum of the weights of the %s so far, for each threshold.' % \
      which.replace('_', ' ')
  return function


streaming_true_positives_at_thresholds = _counter_at('true_positives')
streaming_true_negatives_at_thresholds = _counter_at('true_negatives')
streaming_false_positives_at_thresholds = _counter_at('false_positives')
streaming_false_negatives_at_thresholds = _counter_at('false_negatives')


def _rate_at(which, first, second, predictions, labels, thresholds, weights, metrics_collections,
             updates_collections, name):
  with variable_scope(name, which + '_at_thresholds', (predictions, labels, weights)):
    both = threshold_metrics._counts_at(thresholds, labels, predictions, weights, (first, second))
    value, update = [math.div(c[first], _EPSILON + c[first] + c[second], name=part)
                     for c, part in zip(both, ('value', 'update_op'))]
    return collected(value, update, metrics_collections, updates_collections)


@export('contrib.metrics.streaming_false_positive_rate_at_thresholds')
def streaming_false_positive_rate_at_thresholds(predictions, labels, thresholds, weights=None,
                                                metrics_collections=None,
                                                updates_collections=None, name=None):
  """The rate of false positives for each threshold; predictions are in [0, 1]."""
  return _rate_at('false_positive_rate', 'false_positives', 'true_negatives', predictions, labels,
                  thresholds, weights, metrics_collections, updates_collections, name)


@export('contrib.metrics.streaming_false_negative_rate_at_thresholds')
def streaming_false_negative_rate_at_thresholds(predictions, labels, thresholds, weights=None,
                                                metrics_collections=None,
                                                updates_collections=None, name=None):
  """The rate of false negatives for each threshold; predictions are in [0, 1]."""
  return _rate_at('false_negative_rate', 'false_negatives', 'true_positives', predictions, labels,
                  thresholds, weights, metrics_collections, updates_collections, name)


EXPORTS = {'contrib.metrics.' + n: n for n in (
    'streaming_mean', 'streaming_mean_tensor', 'streaming_accuracy', 'streaming_percentage_less',
    'streaming_mean_absolute_error', 'streaming_mean_squared_error',
    'streaming_root_mean_squared_error', 'streaming_mean_relative_error',
    'streaming_mean_cosine_distance', 'streaming_mean_iou', 'streaming_true_positives',
    'streaming_true_negatives', 'streaming_false_positives', 'streaming_false_negatives',
    'streaming_precision', 'streaming_recall', 'streaming_precision_at_thresholds',
    'streaming_recall_at_thresholds', 'streaming_auc', 'streaming_specificity_at_sensitivity',
    'streaming_sensitivity_at_specificity', 'streaming_sparse_recall_at_k',
    'streaming_sparse_precision_at_k', 'streaming_sparse_precision_at_top_k',
    'sparse_recall_at_top_k', 'streaming_sparse_average_precision_at_k',
    'streaming_sparse_average_precision_at_top_k', 'streaming_true_positives_at_thresholds',
    'streaming_true_negatives_at_thresholds', 'streaming_false_positives_at_thresholds',
    'streaming_false_negatives_at_thresholds')}
ALIASES = {'contrib.metrics.set_difference': 'sets.difference',
           'contrib.metrics.set_intersection': 'sets.intersection',
           'contrib.metrics.set_size': 'sets.size', 'contrib.metrics.set_union': 'sets.union',
           'contrib.metrics.confusion_matrix': 'confusion_matrix',
           'contrib.slim.metrics.*': 'contrib.metrics.*'}
