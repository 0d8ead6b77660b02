"""MetricSpec: a metric function, and which features, labels and predictions it is given."""
from __future__ import annotations

import functools

from leat._export import export
from leat._estimator import arguments

_LABELS = ('labels', 'label', 'targets', 'target')
_PREDICTIONS = ('predictions', 'prediction')
_WEIGHTS = ('weights', 'weight')


def _only(names, candidates, what):
  """The only name of the candidates among an order of names, or None."""
  found = [n for n in names if n in candidates]
  if len(found) > 1:
    raise ValueError('metric_fn must provide only one of its arguments for the %s, has %s' % (
        what, found))
  return found[0] if found else None


def _chosen(values, key, what):
  """The value under a key of a dict, or the only one."""
  if key is not None:
    if not isinstance(values, dict):
      raise ValueError('MetricSpec with %s_key specified requires %ss dict, got %s.' % (
          what, what, values))
    if key not in values:
      raise KeyError("MetricSpec's %s_key %s is not in %s" % (what, key, list(values)))
    return values[key]
  if isinstance(values, dict):
    if len(values) != 1:
      raise ValueError('MetricSpec without specified %s_key requires %ss tensor or single element '
                       'dict, got %s' % (what, what, values))
    return next(iter(values.values()))
  return values


@export('contrib.learn.MetricSpec', 'contrib.learn.metric_spec.MetricSpec')
class MetricSpec:
  """metric_fn is called with predictions, labels and weights by the names that its arguments have
  (predictions or prediction; labels, label, targets or target; weights or weight). What is chosen
  by a key comes from a dict; weights are a feature."""

  def __init__(self, metric_fn, prediction_key=None, label_key=None, weight_key=None):
    self._metric_fn = metric_fn
    self._prediction_key, self._label_key = prediction_key, label_key
    self._weight_key = weight_key
    names = arguments.names(metric_fn)
    self._names = names
    self._label = _only(names, _LABELS, 'label')
    self._prediction = _only(names, _PREDICTIONS, 'prediction')
    self._weight = _only(names, _WEIGHTS, 'weight')
    if label_key is not None and self._label is None:
      raise ValueError('label_key is %s, but an argument for the label is missing in metric_fn' %
                       label_key)
    if weight_key is not None and self._weight is None:
      raise ValueError('weight_key is %s, but an argument for the weight is missing in metric_fn' %
                       weight_key)

  prediction_key = property(lambda self: self._prediction_key)
  label_key = property(lambda self: self._label_key)
  weight_key = property(lambda self: self._weight_key)
  metric_fn = property(lambda self: self._metric_fn)

  def create_metric_ops(self, inputs, labels, predictions):
    """What metric_fn gives for the features, labels and predictions of a model. TypeError where it
    does not take predictions."""
    given = {}
    predictions = _chosen(predictions, self._prediction_key, 'prediction')
    if self._label is not None:
      given[self._label] = _chosen(labels, self._label_key, 'label')
    if self._weight is not None and self._weight_key is not None:
      given[self._weight] = _chosen(inputs, self._weight_key, 'feature')
    name = self._prediction
    if name is None:   # the first argument that is not for anything else
      others = [n for n in self._names if n not in given and n != self._weight]
      if not others:
        raise TypeError('metric_fn %s takes no predictions' % self._function_name())
      name = others[0]
    given[name] = predictions
    return self._metric_fn(**given)

  def _function_name(self):
    function = self._metric_fn
    while isinstance(function, functools.partial):
      function = function.func
    return getattr(function, '__name__', str(function))

  def __str__(self):
    return 'MetricSpec(metric_fn=%s, prediction_key=%s, label_key=%s, weight_key=%s)' % (
        self._function_name(), self._prediction_key, self._label_key, self._weight_key)
