"""tf.metrics of yes and no: true and false positives and negatives, and what is computed of them.

A prediction is yes or no (`precision`), or a number that is yes above a threshold
(`precision_at_thresholds`, `auc`). For thresholds the four counts are vectors, an element for each.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies
from leat._ops import array, checks, math
from leat._ops.assign import assign_add
from leat._ops.metrics import collected, fitted, metric_variable, safe_div
from leat._ops.variable_scope import variable_scope
from leat._ops.weights import broadcast_weights

_EPSILON = 1e-7


def _and(x, y):
  return apply_op('LogicalAnd', x=x, y=y)


def _not(x):
  return apply_op('LogicalNot', x=x)


# Of booleans (labels, predictions), where each of the four is counted.
_COUNTED = {
    'true_positives': lambda labels, predictions: _and(labels, predictions),
    'false_positives': lambda labels, predictions: _and(_not(labels), predictions),
    'true_negatives': lambda labels, predictions: _and(_not(labels), _not(predictions)),
    'false_negatives': lambda labels, predictions: _and(labels, _not(predictions)),
}


def _count(which, labels, predictions, weights, metrics_collections, updates_collections, name):
  """One of the four counts: (value, update), scalars of float32."""
  with variable_scope(name, which, (predictions, labels, weights)):
    predictions, labels, weights = fitted(math.cast(predictions, dtypes.bool),
                                          math.cast(labels, dtypes.bool), weights)
    counted = math.cast(_COUNTED[which](labels, predictions), dtypes.float32)
    count = metric_variable([], dtypes.float32, name='count')
    if weights is not None:
      counted = counted * broadcast_weights(math.cast(weights, dtypes.float32), counted)
    value = array.identity(count)
    return collected(value, assign_add(count, math.reduce_sum(counted)), metrics_collections,
                     updates_collections)


def _counter(which):
  def function(labels, predictions, weights=None, metrics_collections=None,
               updates_collections=None, name=None):
    return _count(which, labels, predictions, weights, metrics_collections, updates_collections,
                  name)
  function.__name__ = function.__qualname__ = which
  function.__doc__ = 'The sum of the weights of the %s so far.' % which.replace('_', ' ')
  return function


true_positives, false_positives = _counter('true_positives'), _counter('false_positives')
true_negatives, false_negatives = _counter('true_negatives'), _counter('false_negatives')


def _share(default_name, other, labels, predictions, weights, metrics_collections,
           updates_collections, name):
  """true positives / (true positives + the other count)."""
  with variable_scope(name, default_name, (predictions, labels, weights)):
    predictions, labels, weights = fitted(math.cast(predictions, dtypes.bool),
                                          math.cast(labels, dtypes.bool), weights)
    positives = _count('true_positives', labels, predictions, weights, None, None, None)
    others = _count(other, labels, predictions, weights, None, None, None)
    value, update = [safe_div(p, p + o, n) for p, o, n in zip(
        positives, others, ('value', 'update_op'))]
    return collected(value, update, metrics_collections, updates_collections)


@export('metrics.precision')
def precision(labels, predictions, weights=None, metrics_collections=None,
              updates_collections=None, name=None):
  """The share of right ones among the predictions that say yes."""
  return _share('precision', 'false_positives', labels, predictions, weights, metrics_collections,
                updates_collections, name)


@export('metrics.recall')
def recall(labels, predictions, weights=None, metrics_collections=None, updates_collections=None,
           name=None):
  """The share of those with label yes that are predicted so."""
  return _share('recall', 'false_negatives', labels, predictions, weights, metrics_collections,
                updates_collections, name)


# ---- At thresholds ------------------------------------------------------------------------------


def _counts_at(thresholds, labels, predictions, weights, wanted):
  """({count: variable}, {count: its update}) of the counts `wanted`, [len(thresholds)] each."""
  predictions = math.cast(predictions, dtypes.float32)
  zero, one = [convert(v, dtypes.float32) for v in (0.0, 1.0)]
  bounds = [check(predictions, bound, message='predictions must be in [0, 1]') for check, bound in (
      (checks.assert_greater_equal, zero), (checks.assert_less_equal, one))]
  with control_dependencies(bounds):
    predictions, labels, weights = fitted(predictions, math.cast(labels, dtypes.bool), weights)
  yes = array.reshape(predictions, [1, -1]) > array.reshape(
      convert(thresholds, dtypes.float32), [-1, 1])
  labels = apply_op('LogicalAnd', x=array.reshape(labels, [1, -1]), y=array.ones_like(yes))
  if weights is not None:
    weights = broadcast_weights(math.cast(weights, dtypes.float32), predictions)
    weights = array.reshape(weights, [1, -1])
  variables, updates = {}, {}
  for which in wanted:
    counted = math.cast(_COUNTED[which](labels, yes), dtypes.float32)
    if weights is not None:
      counted = counted * weights
    variables[which] = metric_variable([len(thresholds)], dtypes.float32, name=which)
    updates[which] = assign_add(variables[which], math.reduce_sum(counted, 1))
  return variables, updates


def _counter_at(which):
  def function(labels, predictions, thresholds, weights=None, metrics_collections=None,
               updates_collections=None, name=None):
    with variable_scope(name, which, (predictions, labels, weights)):
      variables, updates = _counts_at(thresholds, labels, predictions, weights, (which,))
      return collected(array.identity(variables[which]), updates[which], metrics_collections,
                       updates_collections)
  function.__name__ = function.__qualname__ = which + '_at_thresholds'
  function.__doc__ = 'The sum of the weights of the %s so far, for each threshold.' % \
      which.replace('_', ' ')
  return function


true_positives_at_thresholds = _counter_at('true_positives')
false_positives_at_thresholds = _counter_at('false_positives')
true_negatives_at_thresholds = _counter_at('true_negatives')
false_negatives_at_thresholds = _counter_at('false_negatives')


def _share_at(which, other, labels, predictions, thresholds, weights, metrics_collections,
              updates_collections, name):
  with variable_scope(name, which + '_at_thresholds', (predictions, labels, weights)):
    variables, updates = _counts_at(thresholds, labels, predictions, weights,
                                    ('true_positives', other))
    value, update = [c['true_positives'] / (_EPSILON + c['true_positives'] + c[other])
                     for c in (variables, updates)]
    return collected(array.identity(value, which + '_value'),
                     array.identity(update, which + '_update_op'), metrics_collections,
                     updates_collections)


@export('metrics.precision_at_thresholds')
def precision_at_thresholds(labels, predictions, thresholds, weights=None,
                            metrics_collections=None, updates_collections=None, name=None):
  """The precision for each threshold; predictions are in [0, 1]."""
  return _share_at('precision', 'false_positives', labels, predictions, thresholds, weights,
                   metrics_collections, updates_collections, name)


@export('metrics.recall_at_thresholds')
def recall_at_thresholds(labels, predictions, thresholds, weights=None, metrics_collections=None,
                         updates_collections=None, name=None):
  """The recall for each threshold; predictions are in [0, 1]."""
  return _share_at('recall', 'false_negatives', labels, predictions, thresholds, weights,
                   metrics_collections, updates_collections, name)


# ---- Curves -------------------------------------------------------------------------------------


def _even_thresholds(number):
  """Thresholds at even distances in [0, 1], the first and last just outside."""
  inner = [(i + 1) / (number - 1) for i in range(number - 2)]
  return [0.0 - _EPSILON] + inner + [1.0 + _EPSILON]


def _points(curve, c):
  """(x, y) of the points of a curve, of the four counts."""
  small = 1.0e-6
  tp, fp, tn, fn = [c[n] for n in ('true_positives', 'false_positives', 'true_negatives',
                                   'false_negatives')]
  sensitivity = (tp + small) / (tp + fn + small)
  if curve == 'ROC':
    return fp / (fp + tn + small), sensitivity
  return sensitivity, (tp + small) / (tp + fp + small)


def _area_between(c):
  """The area below the curve of precision over recall, where the counts between two thresholds are
  taken to change linearly, not the precision.

  Between two points true positives grow by `slope` for each positive p, so that with tp = slope * p
  + base the area is the integral of tp / p over tp: slope * (difference of tp + base * log(ratio of
  p)). It is that of J. Davis and M. Goadrich, The relationship between Precision-Recall and ROC
  curves, 2006.
  """
  tp, fn = c['true_positives'], c['false_negatives']
  positives = tp + c['false_positives']
  zero = array.zeros_like(positives[1:])
  more = tp[:-1] - tp[1:]
  slope = safe_div(more, apply_op('Maximum', x=positives[:-1] - positives[1:], y=zero))
  base = tp[1:] - slope * positives[1:]
  some = _and(positives[:-1] > 0, positives[1:] > 0)
  ratio = array.where(some, safe_div(positives[:-1], apply_op(
      'Maximum', x=positives[1:], y=zero)), array.ones_like(positives[1:]))
  return math.reduce_sum(safe_div(slope * (more + base * apply_op('Log', x=ratio)), apply_op(
      'Maximum', x=tp[1:] + fn[1:], y=zero)))


_HEIGHTS = {
    'trapezoidal': lambda a, b: (a + b) / 2.0,
    'minoring': lambda a, b: apply_op('Minimum', x=a, y=b),
    'majoring': lambda a, b: apply_op('Maximum', x=a, y=b),
}


def _area(curve, method, c, name):
  if method == 'careful_interpolation':
    if curve == 'PR':
      return array.identity(_area_between(c), name)
    method = 'trapezoidal'  # of a ROC curve linear interpolation is right
  x, y = _points(curve, c)
  return math.reduce_sum((x[:-1] - x[1:]) * _HEIGHTS[method](y[:-1], y[1:]), name=name)


@export('metrics.auc')
def auc(labels, predictions, weights=None, num_thresholds=200, metrics_collections=None,
        updates_collections=None, curve='ROC', name=None, summation_method='trapezoidal',
        thresholds=None):
  """The area below the curve 'ROC' (sensitivity over 1 - specificity) or 'PR' (precision over
  recall), approximated by thresholds.

  Args:
    labels, predictions, weights: of one shape; predictions are in [0, 1].
    num_thresholds: how many, at even distances, where `thresholds` are not given.
    summation_method: 'trapezoidal', 'minoring' or 'majoring' for the heights between thresholds, or
      'careful_interpolation', which interpolates counts for 'PR'.
    thresholds: those between 0 and 1, which are added.

  Raises:
    ValueError: of another curve or method.
  """
  with variable_scope(name, 'auc', (labels, predictions, weights)):
    if curve not in ('ROC', 'PR'):
      raise ValueError('Curve must be either ROC or PR. Curve %s is unknown.' % (curve,))
    if summation_method != 'careful_interpolation' and summation_method not in _HEIGHTS:
      raise ValueError('Invalid summation_method: %s, must be careful_interpolation, %s.' % (
          summation_method, ', '.join(_HEIGHTS)))
    if thresholds is None:
      thresholds = _even_thresholds(num_thresholds)
    else:
      thresholds = [0.0 - _EPSILON] + sorted(thresholds) + [1.0 + _EPSILON]
    variables, updates = _counts_at(thresholds, labels, predictions, weights, tuple(_COUNTED))
    return collected(_area(curve, summation_method, variables, 'value'),
                     _area(curve, summation_method, updates, 'update_op'), metrics_collections,
                     updates_collections)


def _last_nearest(values, wanted):
  """The index of the last of the values that are nearest to the wanted one."""
  distance = math.abs(values - wanted)
  nearest = math.cast(math.equal(distance, math.reduce_min(distance)), dtypes.int64)
  return math.cast(math.argmax(math.cumsum(nearest), 0), dtypes.int32)


def _specificity_at_sensitivity(c, wanted, name):
  sensitivity = c['true_positives'] / (c['true_positives'] + c['false_negatives'] + _EPSILON)
  at = _last_nearest(sensitivity, wanted)
  negatives = c['true_negatives'][at]
  return math.div(negatives, negatives + c['false_positives'][at] + _EPSILON, name)


def _sensitivity_at_specificity(c, wanted, name):
  specificity = c['true_negatives'] / (c['true_negatives'] + c['false_positives'] + _EPSILON)
  at = math.cast(math.argmin(math.abs(specificity - wanted), 0), dtypes.int32)
  positives = c['true_positives'][at]
  return math.div(positives, positives + c['false_negatives'][at] + _EPSILON, name)


def _one_at_other(default_name, argument, function, wanted, labels, predictions, weights,
                  num_thresholds, metrics_collections, updates_collections, name):
  if wanted < 0 or wanted > 1:
    raise ValueError('`%s` must be in the range [0, 1]. It is %s.' % (argument, wanted))
  with variable_scope(name, default_name, (predictions, labels, weights)):
    variables, updates = _counts_at(_even_thresholds(num_thresholds), labels, predictions, weights,
                                    tuple(_COUNTED))
    return collected(function(variables, wanted, 'value'), function(updates, wanted, 'update_op'),
                     metrics_collections, updates_collections)


@export('metrics.specificity_at_sensitivity')
def specificity_at_sensitivity(labels, predictions, sensitivity, weights=None, num_thresholds=200,
                               metrics_collections=None, updates_collections=None, name=None):
  """The share of negatives that are predicted so, at the threshold at which the share of positives
  that are predicted so is nearest to `sensitivity`."""
  return _one_at_other('specificity_at_sensitivity', 'sensitivity', _specificity_at_sensitivity,
                       sensitivity, labels, predictions, weights, num_thresholds,
                       metrics_collections, updates_collections, name)


@export('metrics.sensitivity_at_specificity')
def sensitivity_at_specificity(labels, predictions, specificity, weights=None, num_thresholds=200,
                               metrics_collections=None, updates_collections=None, name=None):
  """The share of positives that are predicted so, at the threshold at which the share of negatives
  that are predicted so is nearest to `specificity`."""
  return _one_at_other('sensitivity_at_specificity', 'specificity', _sensitivity_at_specificity,
                       specificity, labels, predictions, weights, num_thresholds,
                       metrics_collections, updates_collections, name)


EXPORTS = {'metrics.' + name: name for name in (
    'true_positives', 'false_positives', 'true_negatives', 'false_negatives',
    'true_positives_at_thresholds', 'false_positives_at_thresholds',
    'true_negatives_at_thresholds', 'false_negatives_at_thresholds')}
