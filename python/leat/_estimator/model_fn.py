"""ModeKeys, EstimatorSpec: what a model function is asked for and what it gives."""
from __future__ import annotations

import collections

from leat import _leat
from leat._export import export
from leat._graph import graph as graphs
from leat._estimator.export_outputs import (DEFAULT_SIGNATURE, ExportOutput, PredictOutput,
                                            is_tensor)
from leat._ops import array
from leat._train.hook import SessionRunHook
from leat._train.scaffold import Scaffold

LOSS_METRIC_KEY = 'loss'
EXPORTS = {'python.estimator.model_fn.LOSS_METRIC_KEY': 'LOSS_METRIC_KEY'}


@export('estimator.ModeKeys')
class ModeKeys:
  """For what a model function builds a graph: TRAIN, EVAL or PREDICT."""
  TRAIN, EVAL, PREDICT = 'train', 'eval', 'infer'


def _check_tensor(value, what):
  if not is_tensor(value):
    raise TypeError('%s must be Tensor, given: %s' % (what, value))
  return value


def _checked_loss(loss, mode):
  if loss is None:
    if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
      raise ValueError('Missing loss.')
    return None
  shape = _check_tensor(loss, 'loss').get_shape()
  if shape.num_elements() not in (None, 1):
    raise ValueError('Loss must be scalar, given: %s' % loss)
  return loss if shape.is_compatible_with([]) else array.reshape(loss, [])


def _checked_predictions(predictions, mode):
  if predictions is None:
    if mode == ModeKeys.PREDICT:
      raise ValueError('Missing predictions.')
    return {}
  if isinstance(predictions, dict):
    return {k: _check_tensor(v, 'predictions[%s]' % k) for k, v in predictions.items()}
  return _check_tensor(predictions, 'predictions')


def _checked_metrics(metrics):
  if metrics is None:
    return {}
  if not isinstance(metrics, dict):
    raise TypeError('eval_metric_ops must be a dict, given: %s' % (metrics,))
  for key, pair in metrics.items():
    if not isinstance(pair, tuple) or len(pair) != 2:
      raise TypeError('Values of eval_metric_ops must be (metric_value, update_op) tuples, given: '
                      '%s for key: %s' % (pair, key))
    value, update = pair
    for item, what in ((value, 'value of the metric'), (update, 'update_op of the metric')):
      if not is_tensor(item) and not isinstance(item, _leat.Operation):
        raise TypeError('The %s %s must be Operation or Tensor, given: %s' % (what, key, item))
  return metrics


def _checked_outputs(outputs, predictions, mode):
  """The export outputs; a single one is the default one too."""
  if outputs is None and mode == ModeKeys.PREDICT:
    outputs = {DEFAULT_SIGNATURE: PredictOutput(predictions)}
  if not outputs:
    return outputs
  if not isinstance(outputs, dict):
    raise TypeError('export_outputs must be dict, given: %s' % (outputs,))
  if not all(isinstance(v, ExportOutput) for v in outputs.values()):
    raise TypeError('Values in export_outputs must be ExportOutput objects. Given: %s' % (outputs,))
  if len(outputs) == 1:
    (name, only), = outputs.items()
    return outputs if name == DEFAULT_SIGNATURE else dict(outputs, **{DEFAULT_SIGNATURE: only})
  if DEFAULT_SIGNATURE not in outputs:
    raise ValueError(
        'Multiple export_outputs were provided, but none of them is specified as the default.  Do '
        'this by naming one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY.')
  return outputs


def _checked_hooks(hooks):
  hooks = tuple(hooks or ())
  for hook in hooks:
    if not isinstance(hook, SessionRunHook):
      raise TypeError('All hooks must be SessionRunHook instances, given: %s' % (hook,))
  return hooks


def _check_graph(values):
  """ValueError where something is of another graph than the default one."""
  graph = graphs.get_default_graph()
  for value in values:
    if value is not None and value.graph is not graph:
      raise ValueError(
          '%s must be from the default graph. Possible causes of this error include: \n\n1) %s was '
          'created outside the context of the default graph.\n\n2) The object passed through to '
          'EstimatorSpec was not created in the most recent call to "model_fn".' % (value, value))


@export('estimator.EstimatorSpec')
class EstimatorSpec(collections.namedtuple('EstimatorSpec', [
    'mode', 'predictions', 'loss', 'train_op', 'eval_metric_ops', 'export_outputs',
    'training_chief_hooks', 'training_hooks', 'scaffold', 'evaluation_hooks',
    'prediction_hooks'])):
  """What a model function gives. Which fields must be there depends on the mode: predictions to
  predict, the loss to evaluate, the loss and train_op to train."""
  __slots__ = ()

  def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metric_ops=None,
              export_outputs=None, training_chief_hooks=None, training_hooks=None, scaffold=None,
              evaluation_hooks=None, prediction_hooks=None):
    if train_op is None:
      if mode == ModeKeys.TRAIN:
        raise ValueError('Missing train_op.')
    elif not is_tensor(train_op) and not isinstance(train_op, _leat.Operation):
      raise TypeError('train_op must be Operation or Tensor, given: %s' % (train_op,))
    loss = _checked_loss(loss, mode)
    predictions = _checked_predictions(predictions, mode)
    metrics = _checked_metrics(eval_metric_ops)
    outputs = _checked_outputs(export_outputs, predictions, mode)
    hooks = [_checked_hooks(h) for h in (training_chief_hooks, training_hooks, evaluation_hooks,
                                         prediction_hooks)]
    if scaffold is not None and not isinstance(scaffold, Scaffold):
      raise TypeError('scaffold must be tf.train.Scaffold. Given: %s' % (scaffold,))
    predicted = list(predictions.values()) if isinstance(predictions, dict) else [predictions]
    _check_graph([train_op, loss] + predicted + [v for pair in metrics.values() for v in pair])
    return super().__new__(cls, mode, predictions, loss, train_op, metrics, outputs, hooks[0],
                           hooks[1], scaffold or Scaffold(), hooks[2], hooks[3])

  def _replace(self, **kwds):
    """A copy with other fields; the mode stays."""
    if kwds.get('mode', self.mode) != self.mode:
      raise ValueError('mode of EstimatorSpec cannot be changed.')
    return EstimatorSpec(**dict(self._asdict(), **kwds))
