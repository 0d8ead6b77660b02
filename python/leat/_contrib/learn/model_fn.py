"""ModelFnOps, ModeKeys: what a model function of contrib.learn gives."""
from __future__ import annotations

import collections

from leat._export import export
from leat._estimator import export_outputs as outputs
from leat._estimator.model_fn import EstimatorSpec
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._ops import array


@export('contrib.learn.ModeKeys')
class ModeKeys:
  """For what a graph is built."""
  TRAIN, EVAL, INFER = 'train', 'eval', 'infer'

  @classmethod
  def validate(cls, key):
    if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
      raise ValueError('Invalid mode %s.' % key)


@export('contrib.learn.ProblemType')
class ProblemType:
  """What a model predicts."""
  UNSPECIFIED, CLASSIFICATION, LINEAR_REGRESSION, LOGISTIC_REGRESSION = 0, 1, 2, 3


@export('contrib.learn.PredictionKey')
class PredictionKey:
  """The names of predictions."""
  CLASSES, PROBABILITIES, LOGITS, LOGISTIC = 'classes', 'probabilities', 'logits', 'logistic'
  SCORES, TOP_K, GENERIC = 'scores', 'top_k', 'output'


def _scalar(loss):
  loss = convert(loss)
  if loss.get_shape().num_elements() not in (None, 1):
    raise ValueError('Loss must be scalar: %s.' % loss)
  return loss if loss.get_shape().is_compatible_with([]) else array.reshape(loss, [])


@export('contrib.learn.ModelFnOps')
class ModelFnOps(collections.namedtuple('ModelFnOps', [
    'predictions', 'loss', 'train_op', 'eval_metric_ops', 'output_alternatives',
    'training_chief_hooks', 'training_hooks', 'scaffold', 'mode'])):
  """The predictions (to evaluate and to predict), the loss (to train and to evaluate) and train_op
  (to train). output_alternatives is {name: (ProblemType, {name: tensor})}."""
  __slots__ = ()

  def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metric_ops=None,
              output_alternatives=None, training_chief_hooks=None, training_hooks=None,
              scaffold=None):
    ModeKeys.validate(mode)
    if train_op is None and mode == ModeKeys.TRAIN:
      raise ValueError('Missing train_op.')
    if loss is not None:
      loss = _scalar(loss)
    elif mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
      raise ValueError('Missing loss.')
    if predictions is None:
      if mode in (ModeKeys.INFER, ModeKeys.EVAL):
        raise ValueError('Missing predictions.')
    elif isinstance(predictions, dict):
      predictions = {k: v if hasattr(v, 'dense_shape') else convert(v)
                     for k, v in predictions.items()}
    elif not hasattr(predictions, 'dense_shape'):
      predictions = convert(predictions)
    return super().__new__(cls, predictions, loss, train_op, eval_metric_ops or {},
                           output_alternatives, list(training_chief_hooks or []),
                           list(training_hooks or []), scaffold, mode)

  def estimator_spec(self, default_serving_output_alternative_key=None):
    """The same for tf.estimator. Of several alternatives the one with that key is the default."""
    exported = None
    if self.output_alternatives:
      exported = {name: _export_output(*pair) for name, pair in self.output_alternatives.items()}
      if len(exported) > 1:
        if default_serving_output_alternative_key not in exported:
          raise ValueError('default_serving_output_alternative_key is %s, must be one of %s' % (
              default_serving_output_alternative_key, sorted(exported)))
        exported[outputs.DEFAULT_SIGNATURE] = exported[default_serving_output_alternative_key]
    metrics = {k: v for k, v in self.eval_metric_ops.items() if k != 'loss'}
    return EstimatorSpec(
        mode=self.mode, predictions=self.predictions, loss=self.loss, train_op=self.train_op,
        eval_metric_ops=metrics, export_outputs=exported, scaffold=self.scaffold,
        training_chief_hooks=self.training_chief_hooks, training_hooks=self.training_hooks)


def _export_output(problem_type, predictions):
  """The output for a server: the scores, or the probabilities, of a known problem."""
  score = predictions.get(PredictionKey.SCORES)
  score = predictions.get(PredictionKey.PROBABILITIES) if score is None else score
  classes = predictions.get(PredictionKey.CLASSES)
  if problem_type == ProblemType.LINEAR_REGRESSION and score is not None:
    return outputs.RegressionOutput(score)
  if problem_type in (ProblemType.CLASSIFICATION, ProblemType.LOGISTIC_REGRESSION):
    if classes is not None and classes.dtype.base_dtype != dtypes.string:
      classes = None
    if score is not None or classes is not None:
      return outputs.ClassificationOutput(score, classes)
  return outputs.PredictOutput(predictions)
