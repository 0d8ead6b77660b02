"""contrib.learn.Estimator: a model function with fit, evaluate and predict, on arrays or on input
functions. The loops are those of tf.estimator; what differs is what goes in and comes out."""
from __future__ import annotations

import copy

from leat._export import export
from leat._contrib.learn import arrays
from leat._contrib.learn.metric_spec import MetricSpec
from leat._contrib.learn.model_fn import ModeKeys, ModelFnOps
from leat._contrib.learn.monitor_hooks import replace_monitors_with_hooks
from leat._contrib.learn.monitors import BaseMonitor
from leat._contrib.learn.run_config import RunConfig
from leat._estimator import arguments, estimator as core
from leat._estimator.model_fn import EstimatorSpec
from leat._platform import log
from leat._train import monitored


@export('contrib.learn.NotFittedError')
class NotFittedError(ValueError, AttributeError):
  """An estimator was used before it was fitted."""


class _Core(core.Estimator):
  """The loops of tf.estimator, with the inputs of contrib.learn."""

  def _call_input_fn(self, input_fn, mode):
    del mode
    return input_fn()


@export('contrib.learn.BaseEstimator')
class BaseEstimator:
  """The base of estimators: a subclass or a model function makes the model.

  model_fn(features, labels, mode, params, config, model_dir), of which the first two are positional
  and the others may be left out, gives (predictions, loss, train_op) or ModelFnOps."""

  def __init__(self, model_dir=None, config=None):
    if config is None:
      config = RunConfig()
    self._features_signature = self._labels_signature = None
    self._metrics = None
    self._core = _Core(self._core_model_fn, model_dir, config)
    self._config = self._core._config

  model_dir = property(lambda self: self._core.model_dir)
  config = property(lambda self: copy.deepcopy(self._config))

  def _ops(self, features, labels, mode):
    """The ModelFnOps or the EstimatorSpec of a mode."""
    raise NotImplementedError

  def _spec(self, ops):
    return ops if isinstance(ops, EstimatorSpec) else ops.estimator_spec(self._default_alternative)

  def _core_model_fn(self, features, labels, mode, config):
    del config
    ops = self._ops(features, labels, mode)
    if mode == ModeKeys.EVAL:
      found = dict(ops.eval_metric_ops)
      for name, spec in (self._metrics or {}).items():
        if not isinstance(spec, MetricSpec):
          raise ValueError('The metric %s must be a MetricSpec, is %s' % (name, spec))
        found[name] = spec.create_metric_ops(features, labels, ops.predictions)
      ops = ops._replace(eval_metric_ops=found)
    return self._spec(ops)

  _default_alternative = None

  # ---- What is learned -------------------------------------------------------------------------

  def fit(self, x=None, y=None, input_fn=None, steps=None, batch_size=None, monitors=None,
          max_steps=None):
    """Trains on arrays, `batch_size` rows at a time (all where it is None), or on what input_fn
    gives. Monitors may be hooks."""
    arrays.check(x, y, input_fn, batch_size)
    if steps is not None and max_steps is not None:
      raise ValueError('Can not provide both steps and max_steps.')
    monitors = [monitors] if isinstance(monitors, BaseMonitor) else list(monitors or [])
    hooks = replace_monitors_with_hooks(monitors, self)
    self._core.train(self._checked(input_fn or arrays.input_fn(x, y, batch_size, None, True)),
                     hooks=hooks, steps=steps, max_steps=max_steps)
    return self

  partial_fit = fit

  def _checked(self, input_fn):
    """The same input function, which must give what the first one gave."""
    def call():
      found = input_fn()
      features, labels = found if isinstance(found, tuple) else (found, None)
      self._features_signature = arrays.same(self._features_signature, features, 'Features')
      if labels is not None:
        self._labels_signature = arrays.same(self._labels_signature, labels, 'Labels')
      return features, labels
    return call

  def evaluate(self, x=None, y=None, input_fn=None, feed_fn=None, batch_size=None, steps=None,
               metrics=None, name=None, checkpoint_path=None, hooks=None, log_progress=True):
    """{name: value} of the metrics, {name: MetricSpec} besides those of the model, over the arrays
    or the input."""
    del log_progress
    arrays.check(x, y, input_fn, batch_size)
    if feed_fn is not None:
      raise NotImplementedError('feed_fn is not available: give x or input_fn')
    self._check_fitted(checkpoint_path)
    self._metrics = metrics
    try:
      return self._core.evaluate(input_fn or arrays.input_fn(x, y, batch_size, 1, False),
                                 steps=steps, hooks=hooks, checkpoint_path=checkpoint_path,
                                 name=name)
    finally:
      self._metrics = None

  def _check_fitted(self, checkpoint_path=None):
    if not (checkpoint_path or self._core.latest_checkpoint()):
      raise NotFittedError("Couldn't find trained model at %s." % self.model_dir)

  def predict(self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True,
              iterate_batches=False):
    """The predictions of each example, or of each batch, as an iterable, or all of them as arrays
    without as_iterable. `outputs` names those that are wanted."""
    arrays.check(x, None, input_fn, batch_size)
    self._check_fitted()
    graph = self._core._new_graph()
    with graph.as_default():
      self._core._create_and_assert_global_step(graph)
      function = input_fn or arrays.input_fn(x, None, batch_size, 1, False)
      found = function()
      features = found[0] if isinstance(found, tuple) else found
      # A model function may use the labels in every mode; nothing is computed from them here.
      ops = self._ops(features, arrays.placeholders(self._labels_signature), ModeKeys.INFER)
      spec = self._spec(ops)
      predictions = _filtered(ops.predictions, outputs)
      endless = input_fn is not None and not graph.get_collection('queue_runners')
      creator = monitored.ChiefSessionCreator(
          checkpoint_filename_with_path=self._core.latest_checkpoint(), scaffold=spec.scaffold,
          config=self._core._session_config)
      session = monitored.MonitoredSession(session_creator=creator)
    batches = _batches(graph, session, predictions, endless and not as_iterable)
    if as_iterable:
      return batches if iterate_batches else _rows(batches)
    return _joined(list(batches))

  def get_variable_value(self, name):
    return self._core.get_variable_value(name)

  def get_variable_names(self):
    return self._core.get_variable_names()

  def _predictions_of(self, features):
    """The predictions for features, in the default graph."""
    return self._ops(features, arrays.placeholders(self._labels_signature),
                     ModeKeys.INFER).predictions

  def export(self, export_dir, input_fn=None, input_feature_key=None,
             use_deprecated_input_fn=True, signature_fn=None, prediction_key=None,
             default_batch_size=1, exports_to_keep=None, checkpoint_path=None):
    """Writes the model below export_dir in the format of contrib.session_bundle, and gives the
    folder; signature_fn(examples, features, predictions) gives (default signature, {name:
    signature}).

    The model is fed with Examples, default_batch_size of them (None for any number), that hold what
    it was fitted with; or input_fn() gives (features, labels), of which the feature
    input_feature_key is that input; with use_deprecated_input_fn it is input_fn(estimator,
    examples), which gives the features. prediction_key is the one of several predictions."""
    from leat._contrib.learn import exports
    return exports.write(
        self, export_dir, input_fn, input_feature_key, use_deprecated_input_fn,
        signature_fn or exports.generic_signature_fn, prediction_key, default_batch_size,
        exports_to_keep, checkpoint_path)

  def export_savedmodel(self, export_dir_base, serving_input_fn,
                        default_output_alternative_key=None, assets_extra=None, as_text=False,
                        checkpoint_path=None,
                        strip_default_attrs=False):
    """Writes the model as a SavedModel; serving_input_fn gives InputFnOps."""
    from leat._estimator.receivers import ServingInputReceiver

    def receiver():
      features, _, inputs = serving_input_fn()
      return ServingInputReceiver(features, inputs)
    self._default_alternative = default_output_alternative_key
    try:
      return self._core.export_savedmodel(
          export_dir_base, receiver, assets_extra=assets_extra, as_text=as_text,
          checkpoint_path=checkpoint_path, strip_default_attrs=strip_default_attrs)
    finally:
      self._default_alternative = None


@export('contrib.learn.Estimator')
class Estimator(BaseEstimator):
  """A model function with its parameters. feature_engineering_fn(features, labels) changes what
  goes into it."""

  def __init__(self, model_fn=None, model_dir=None, config=None, params=None,
               feature_engineering_fn=None):
    if model_fn is not None:
      taken = arguments.names(model_fn)
      if params is not None and 'params' not in taken:
        raise ValueError('Estimator\'s model_fn (%s) does not have a params argument, but params '
                         '(%s) were passed to the Estimator\'s constructor.' % (model_fn, params))
      if params is None and 'params' in taken:
        log.warning('Estimator\'s model_fn (%s) includes params argument, but params are not '
                    'passed to Estimator.', model_fn)
    self._model_fn, self.params = model_fn, params
    self._feature_engineering_fn = feature_engineering_fn
    super().__init__(model_dir, config)

  def _ops(self, features, labels, mode):
    if self._feature_engineering_fn is not None:
      features, labels = self._feature_engineering_fn(features, labels)
    given = arguments.chosen(self._model_fn, mode=mode, params=self.params, config=self.config,
                             model_dir=self.model_dir)
    found = self._model_fn(features, labels, **given)
    if isinstance(found, ModelFnOps):
      return found
    if not isinstance(found, tuple) or len(found) != 3:
      raise ValueError('Unrecognized value returned by model_fn, please return ModelFnOps.')
    return ModelFnOps(mode, *found)


def _filtered(predictions, outputs):
  if not outputs:
    return predictions
  if not isinstance(predictions, dict):
    raise ValueError('outputs argument is not valid in case of non-dict predictions.')
  found = {k: v for k, v in predictions.items() if k in outputs}
  if not found:
    raise ValueError('Expected to run at least one output from %s, provided %s.' % (
        list(predictions), list(outputs)))
  return found


def _batches(graph, session, predictions, only_one):
  """Yields the predictions of each batch."""
  with graph.as_default(), session:
    while not session.should_stop():
      yield session.run(predictions)
      if only_one:
        return


def _rows(batches):
  """Yields the predictions of each example."""
  for batch in batches:
    if isinstance(batch, dict):
      for n in range(len(next(iter(batch.values())))):
        yield {k: v[n] for k, v in batch.items()}
    else:
      yield from batch


def _joined(batches):
  """The predictions of all batches as arrays."""
  import numpy as np
  if isinstance(batches[0], dict):
    return {k: np.concatenate([b[k] for b in batches], 0) for k in batches[0]}
  return np.concatenate(batches, 0)


@export('contrib.learn.SKCompat')
class SKCompat:
  """An estimator as scikit-learn has them: arrays in, arrays out."""

  def __init__(self, estimator):
    self._estimator = estimator

  def fit(self, x, y, batch_size=128, steps=None, max_steps=None, monitors=None):
    self._estimator.fit(x, y, batch_size=batch_size, steps=steps, max_steps=max_steps,
                        monitors=monitors)
    return self

  def score(self, x, y, batch_size=128, steps=None, metrics=None, name=None):
    """The metrics, {name: value}."""
    return self._estimator.evaluate(x, y, batch_size=batch_size, steps=steps, metrics=metrics,
                                    name='score' if name is None else 'score_' + name)

  def predict(self, x, batch_size=128, outputs=None):
    """The predictions of all examples, an array or {name: array}."""
    return self._estimator.predict(x, batch_size=batch_size, outputs=outputs, as_iterable=False)
