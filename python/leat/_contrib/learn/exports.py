"""Exports of contrib.learn's estimators for serving: signatures, and a monitor that exports the
checkpoints of a training. The files are those of contrib.session_bundle.exporter."""
from __future__ import annotations

from leat._contrib.learn.monitors import EveryN
from leat._contrib.session_bundle import exporter
from leat._export import export
from leat._graph import dtype as dtypes
from leat._ops import array, lookup, math, parsing
from leat._platform import log
from leat._session import session as sessions
from leat._train import checkpoint_state, saver as savers, step as steps

_CLASSES, _PROBABILITIES = ('classes', 'class_ids'), ('probabilities',)


@export('contrib.learn.utils.export.generic_signature_fn')
def generic_signature_fn(examples, unused_features, predictions):
  """(default signature, {name: signature}) of predictions, a tensor or a dict of tensors."""
  tensors = {'examples': _needed(examples)}
  tensors.update(predictions if isinstance(predictions, dict) else {'outputs': predictions})
  return exporter.generic_signature(tensors), {}


@export('contrib.learn.utils.export.regression_signature_fn')
def regression_signature_fn(examples, unused_features, predictions):
  """(default signature, {name: signature}) of a model that predicts values."""
  return exporter.regression_signature(_needed(examples), predictions), {}


@export('contrib.learn.utils.export.classification_signature_fn')
def classification_signature_fn(examples, unused_features, predictions):
  """(default signature, {name: signature}) of a model that predicts classes, a tensor, or a dict
  with 'classes' and 'probabilities'."""
  _needed(examples)
  if not isinstance(predictions, dict):
    return exporter.classification_signature(examples, classes_tensor=predictions), {}
  return exporter.classification_signature(
      examples, classes_tensor=_first(predictions, _CLASSES),
      scores_tensor=_first(predictions, _PROBABILITIES)), {}


@export('contrib.learn.utils.export.classification_signature_fn_with_prob')
def classification_signature_fn_with_prob(examples, unused_features, predictions):
  """(default signature, {name: signature}) of a model that predicts probabilities of classes."""
  if isinstance(predictions, dict):
    predictions = _first(predictions, _PROBABILITIES)
  return exporter.classification_signature(_needed(examples), scores_tensor=predictions), {}


@export('contrib.learn.utils.export.logistic_regression_signature_fn')
def logistic_regression_signature_fn(examples, unused_features, predictions):
  """(default signature, {name: signature}) of a logistic regression: the probability of the second
  class as a value."""
  if isinstance(predictions, dict):
    predictions = _first(predictions, _PROBABILITIES)
  positive = array.expand_dims(predictions[:, 1], 1)
  return exporter.regression_signature(_needed(examples), positive), {}


def _needed(examples):
  if examples is None:
    raise ValueError('examples cannot be None when using this signature fn.')
  return examples


def _first(predictions, keys):
  return next((predictions[k] for k in keys if k in predictions), None)


def parsed(signature, examples):
  """The features with a signature (arrays.py), parsed from Examples. Without a name a feature is
  the only one."""
  single = not isinstance(signature, dict)
  wanted = {'': signature} if single else signature
  found = parsing.parse_example(examples, {
      key: parsing.FixedLenFeature(row or (), dtypes.float32 if dtype.is_floating else
                                   dtypes.int64 if dtype.is_integer else dtypes.string)
      for key, (dtype, row) in wanted.items()})
  # Examples have but one type of float and one of integers.
  found = {key: value if value.dtype == wanted[key][0] else math.cast(value, wanted[key][0])
           for key, value in found.items()}
  return found[''] if single else found


def write(estimator, export_dir, input_fn, input_feature_key, is_function_of_examples,
          signature_fn, prediction_key, batch_size, exports_to_keep, checkpoint_path):
  """Writes the estimator's checkpoint as a version below export_dir and gives its folder."""
  checkpoint_path = checkpoint_path or checkpoint_state.latest_checkpoint(estimator.model_dir)
  if checkpoint_path is None:
    raise RuntimeError("Couldn't find trained model at %s." % estimator.model_dir)
  graph = estimator._core._new_graph()
  with graph.as_default():
    step = estimator._core._create_and_assert_global_step(graph)
    if input_fn is None or is_function_of_examples:
      examples = array.placeholder(dtypes.string, [batch_size], 'input_example_tensor')
      features = parsed(estimator._features_signature, examples) if input_fn is None else \
          input_fn(estimator, examples)
    else:
      features, _ = input_fn()
      examples = None if input_feature_key is None else features.pop(input_feature_key)
    predictions = estimator._predictions_of(features)
    if prediction_key is not None:
      predictions = predictions[prediction_key]
    default, named = signature_fn(examples, features, predictions)
    with sessions.Session(graph=graph) as session:
      saver = savers.Saver(sharded=True)
      saver.restore(session, checkpoint_path)
      made = exporter.Exporter(saver)
      made.init(init_op=lookup.tables_initializer(), default_graph_signature=default,
                named_graph_signatures=named,
                assets_collection=graph.get_collection('asset_filepaths'))
      return made.export(export_dir, step, session, exports_to_keep)


@export('contrib.learn.monitors.ExportMonitor')
class ExportMonitor(EveryN):
  """Exports the newest checkpoint every n steps and at the end, where it was not exported yet."""

  def __init__(self, every_n_steps, export_dir, input_fn=None, input_feature_key=None,
               exports_to_keep=5, signature_fn=None, default_batch_size=1):
    super().__init__(every_n_steps=every_n_steps)
    self._arguments = dict(
        export_dir=export_dir, input_fn=input_fn, input_feature_key=input_feature_key,
        exports_to_keep=exports_to_keep, signature_fn=signature_fn,
        default_batch_size=default_batch_size, use_deprecated_input_fn=input_fn is None)
    self._last_export_dir = self._exported = None

  export_dir = property(lambda self: self._arguments['export_dir'])
  exports_to_keep = property(lambda self: self._arguments['exports_to_keep'])
  signature_fn = property(lambda self: self._arguments['signature_fn'])
  last_export_dir = property(lambda self: self._last_export_dir)

  def every_n_step_end(self, step, outputs):
    super().every_n_step_end(step, outputs)
    self._export()
    return False

  def end(self, session=None):
    super().end(session)
    self._export()

  def _export(self):
    path = checkpoint_state.latest_checkpoint(self._estimator.model_dir)
    if path is None or path == self._exported:
      log.info('Skipping export: there is no new checkpoint in %s', self._estimator.model_dir)
      return
    self._exported = path
    self._last_export_dir = self._estimator.export(checkpoint_path=path, **self._arguments)
