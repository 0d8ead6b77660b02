"""tf.contrib.estimator: heads, and estimators with further metrics or features in what they
give."""
from __future__ import annotations

from leat._export import export
from leat._estimator import arguments
from leat._estimator.estimator import Estimator
from leat._estimator.head import BinaryHead, MultiClassHead, RegressionHead
from leat._estimator.model_fn import ModeKeys
from leat._ops.losses import Reduction
from leat._train.hook import SessionRunHook


@export('contrib.estimator.binary_classification_head')
def binary_classification_head(weight_column=None, thresholds=None, label_vocabulary=None,
                               loss_reduction=Reduction.SUM_OVER_BATCH_SIZE, loss_fn=None,
                               name=None):
  """The head for two classes."""
  _check_no_loss(loss_fn)
  return BinaryHead(thresholds=thresholds, weight_column=weight_column, name=name,
                    label_vocabulary=label_vocabulary, loss_reduction=loss_reduction)


@export('contrib.estimator.multi_class_head')
def multi_class_head(n_classes, weight_column=None, label_vocabulary=None,
                     loss_reduction=Reduction.SUM_OVER_BATCH_SIZE, loss_fn=None, name=None):
  """The head for more than two classes."""
  _check_no_loss(loss_fn)
  return MultiClassHead(n_classes, weight_column=weight_column, name=name,
                        label_vocabulary=label_vocabulary, loss_reduction=loss_reduction)


@export('contrib.estimator.regression_head')
def regression_head(weight_column=None, label_dimension=1,
                    loss_reduction=Reduction.SUM_OVER_BATCH_SIZE, loss_fn=None,
                    inverse_link_fn=None, name=None):
  """The head for values."""
  _check_no_loss(loss_fn)
  return RegressionHead(label_dimension, inverse_link_fn, weight_column=weight_column, name=name,
                        loss_reduction=loss_reduction)


def _check_no_loss(loss_fn):
  if loss_fn is not None:
    raise NotImplementedError('loss_fn is %r, must be None: heads have their own losses' % (
        loss_fn,))


@export('contrib.estimator.add_metrics')
def add_metrics(estimator, metric_fn):
  """An Estimator that is this one, with the metrics {name: (value, update)} of metric_fn(labels,
  predictions, features, config), of which it takes those that it names."""
  unknown = set(arguments.names(metric_fn)) - {'labels', 'predictions', 'features', 'config'}
  if unknown:
    raise ValueError('metric_fn has unexpected arguments: %s' % sorted(unknown))

  def model_fn(features, labels, mode, config):
    spec = estimator.model_fn(features, labels, mode, config)
    if mode != ModeKeys.EVAL:
      return spec
    found = metric_fn(**arguments.chosen(metric_fn, features=features, labels=labels,
                                         predictions=spec.predictions, config=config))
    return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **found})
  return Estimator(model_fn, model_dir=estimator.model_dir, config=estimator.config)


@export('contrib.estimator.forward_features')
def forward_features(estimator, keys=None, sparse_default_values=None):
  """An Estimator that is this one, whose predictions have these features too: those that `keys`
  name, or all."""
  keys = [keys] if isinstance(keys, str) else keys

  def model_fn(features, labels, mode, config):
    spec = estimator.model_fn(features, labels, mode, config)
    if mode != ModeKeys.PREDICT:
      return spec
    if not isinstance(spec.predictions, dict):
      raise ValueError('Predictions should be a dict to be able to forward features, is %s' % (
          type(spec.predictions),))
    found = dict(spec.predictions)
    for key in keys if keys is not None else sorted(features):
      if key not in features:
        raise ValueError('keys should be exist in features. Key "%s" is not in features dict: %s' %
                         (key, sorted(features)))
      if key in found:
        raise ValueError('Cannot forward feature key (%s). Since it does exist in predictions.' %
                         key)
      feature = features[key]
      if hasattr(feature, 'dense_shape'):
        from leat._ops.sparse import sparse_tensor_to_dense
        feature = sparse_tensor_to_dense(feature, (sparse_default_values or {}).get(key, 0))
      found[key] = feature
    return spec._replace(predictions=found)
  return Estimator(model_fn, model_dir=estimator.model_dir, config=estimator.config)


# ---- Stopping early ------------------------------------------------------------------------------


class _StopHook(SessionRunHook):
  """Stops training when a function without arguments says so, asked every so many steps."""

  def __init__(self, should_stop, every_secs, every_steps):
    from leat._train.hooks import SecondOrStepTimer
    self._should_stop = should_stop
    self._timer = SecondOrStepTimer(every_secs, every_steps)

  def begin(self):
    from leat._train import step
    self._timer.reset()
    self._step = step.get_global_step()

  def before_run(self, run_context):
    from leat._train.hook import SessionRunArgs
    return SessionRunArgs(self._step)

  def after_run(self, run_context, run_values):
    step = int(run_values.results)
    if self._timer.should_trigger_for_step(step):
      self._timer.update_last_triggered_step(step)
      if self._should_stop():
        run_context.request_stop()


@export('contrib.estimator.make_early_stopping_hook',
        'estimator.experimental.make_early_stopping_hook')
def make_early_stopping_hook(estimator, should_stop_fn, run_every_secs=60, run_every_steps=None):
  """A hook that stops training when should_stop_fn() is true."""
  del estimator
  if run_every_secs is not None and run_every_steps is not None:
    raise ValueError('Only one of `run_every_secs` and `run_every_steps` must be set.')
  return _StopHook(should_stop_fn, run_every_secs, run_every_steps)


@export('contrib.estimator.read_eval_metrics', 'estimator.experimental.read_eval_metrics')
def read_eval_metrics(eval_dir):
  """{global step: {metric: value}} of the event files of evaluations, in order."""
  import collections
  import glob
  import os
  from leat._train.events import summary_iterator
  found = {}
  for path in sorted(glob.glob(os.path.join(eval_dir, '*tfevents*'))):
    for event in summary_iterator(path):
      if not event.HasField('summary'):
        continue
      values = {v.tag: v.simple_value for v in event.summary.value if v.HasField('simple_value')}
      if values:
        found.setdefault(event.step, {}).update(values)
  return collections.OrderedDict(sorted(found.items()))


def _improves(estimator, metric_name, max_steps, min_steps, eval_dir, is_better, timing):
  """A hook that stops when the metric has not become better for max_steps."""
  folder = eval_dir or estimator.eval_dir()

  def should_stop():
    best, best_step = None, None
    for step, metrics in read_eval_metrics(folder).items():
      if step < min_steps or metric_name not in metrics:
        continue
      value = metrics[metric_name]
      if best is None or is_better(value, best):
        best, best_step = value, step
      if step - best_step >= max_steps:
        return True
    return False
  return make_early_stopping_hook(estimator, should_stop, *timing)


@export('contrib.estimator.stop_if_no_decrease_hook',
        'estimator.experimental.stop_if_no_decrease_hook')
def stop_if_no_decrease_hook(estimator, metric_name, max_steps_without_decrease, eval_dir=None,
                             min_steps=0, run_every_secs=60, run_every_steps=None):
  """A hook that stops training when a metric of the evaluations has not become smaller for so many
  steps."""
  return _improves(estimator, metric_name, max_steps_without_decrease, min_steps, eval_dir,
                   lambda new, old: new < old, (run_every_secs, run_every_steps))


@export('contrib.estimator.stop_if_no_increase_hook',
        'estimator.experimental.stop_if_no_increase_hook')
def stop_if_no_increase_hook(estimator, metric_name, max_steps_without_increase, eval_dir=None,
                             min_steps=0, run_every_secs=60, run_every_steps=None):
  """A hook that stops training when a metric of the evaluations has not become larger for so many
  steps."""
  return _improves(estimator, metric_name, max_steps_without_increase, min_steps, eval_dir,
                   lambda new, old: new > old, (run_every_secs, run_every_steps))
