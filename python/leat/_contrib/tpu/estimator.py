"""TPUEstimator: an estimator for programs that run with a TPU or without one.

There is no code for TPUs here, so that use_tpu=True is refused when the estimator is to run. With
use_tpu=False it is tf.estimator's Estimator, and differs as TensorFlow's does: input and model
functions must take `params`, in which they find the batch size of the mode ('batch_size') and
whether they run on a TPU ('use_tpu'); what a TPUEstimatorSpec gives as functions of tensors
(metrics and the host call) is called at once. """
from __future__ import annotations

import collections

from leat._export import export
from leat._contrib.tpu.config import RunConfig
from leat._estimator import arguments
from leat._estimator.estimator import Estimator
from leat._estimator.model_fn import EstimatorSpec, ModeKeys
from leat._graph.conversion import convert
from leat._ops import nest
from leat._platform import log
from leat._train.hook import SessionRunArgs, SessionRunHook

_BATCH_SIZE, _USE_TPU = 'batch_size', 'use_tpu'


class _HostCallHook(SessionRunHook):
  """Runs what a host call has given, with the writers of its summaries begun and ended."""

  def __init__(self, tensors):
    self._tensors = tensors

  def begin(self):
    from leat._contrib import summary
    self._initializers = summary.summary_writer_initializer_op()

  def after_create_session(self, session, coord):
    session.run(self._initializers)

  def before_run(self, run_context):
    return SessionRunArgs(self._tensors)


def _called(name, pair):
  """What the function of (function, tensors) gives; the tensors are a list or a dict of
  arguments."""
  function, tensors = pair
  if isinstance(tensors, dict):
    return function(**tensors)
  try:
    return function(*tensors)
  except TypeError as error:
    log.error('%s: %s could not be called with %s', name, function, tensors)
    raise error


def _check_pair(name, pair):
  if pair is None:
    return
  if not isinstance(pair, (tuple, list)):
    raise ValueError('{} should be tuple or list'.format(name))
  if len(pair) != 2:
    raise ValueError('{} should have two elements.'.format(name))
  if not callable(pair[0]):
    raise TypeError('{}[0] should be callable.'.format(name))
  if not isinstance(pair[1], (tuple, list, dict)):
    raise ValueError('{}[1] should be tuple or list, or dict.'.format(name))
  taken = arguments.names(pair[0])
  if isinstance(pair[1], (tuple, list)) and taken and len(taken) < len(pair[1]):
    raise RuntimeError('In TPUEstimatorSpec.{}, length of tensors {} does not match method args of '
                       'the function, which takes {}.'.format(name, len(pair[1]), len(taken)))


@export('contrib.tpu.TPUEstimatorSpec', 'estimator.tpu.TPUEstimatorSpec')
class TPUEstimatorSpec(collections.namedtuple('TPUEstimatorSpec', [
    'mode', 'predictions', 'loss', 'train_op', 'eval_metrics', 'export_outputs', 'scaffold_fn',
    'host_call', 'training_hooks', 'evaluation_hooks', 'prediction_hooks'])):
  """What a model function gives. eval_metrics and host_call are (function, tensors), since on a TPU
  they run elsewhere than the model; scaffold_fn makes the scaffold."""

  def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metrics=None,
              export_outputs=None, scaffold_fn=None, host_call=None, training_hooks=None,
              evaluation_hooks=None, prediction_hooks=None):
    _check_pair('eval_metrics', eval_metrics)
    _check_pair('host_call', host_call)
    hooks = [tuple(h or ()) for h in (training_hooks, evaluation_hooks, prediction_hooks)]
    for hook in (h for some in hooks for h in some):
      if not isinstance(hook, SessionRunHook):
        raise TypeError('All hooks must be SessionRunHook instances, given: %s' % (hook,))
    return super().__new__(cls, mode, predictions, loss, train_op, eval_metrics, export_outputs,
                           scaffold_fn, host_call, *hooks)

  def as_estimator_spec(self):
    """The same as an EstimatorSpec."""
    metrics = None if self.eval_metrics is None else _called('eval_metrics', self.eval_metrics)
    hooks = ()
    if self.host_call is not None:
      given = _called('host_call', self.host_call)
      hooks = (_HostCallHook([convert(t) if not hasattr(t, 'op') and not hasattr(t, 'inputs') else t
                              for t in nest.flatten(given)]),)
    return EstimatorSpec(
        mode=self.mode, predictions=self.predictions, loss=self.loss, train_op=self.train_op,
        eval_metric_ops=metrics, export_outputs=self.export_outputs,
        scaffold=self.scaffold_fn() if self.scaffold_fn else None,
        training_hooks=self.training_hooks + hooks,
        evaluation_hooks=self.evaluation_hooks + hooks,
        prediction_hooks=self.prediction_hooks + hooks)


def _with(params, name, value):
  """Sets one of the params, which are a dict or HParams."""
  if hasattr(params, 'add_hparam'):
    if hasattr(params, name):
      params.set_hparam(name, value)
    else:
      params.add_hparam(name, value)
  else:
    params[name] = value


@export('contrib.tpu.TPUEstimator', 'estimator.tpu.TPUEstimator')
class TPUEstimator(Estimator):
  """An Estimator that gives its functions params['batch_size']: train_batch_size, eval_batch_size
  or predict_batch_size, by the mode. The batch is whole, since without a TPU it is not divided."""
  _is_own_kind = True

  def __init__(self, model_fn=None, model_dir=None, config=None, params=None, use_tpu=True,
               train_batch_size=None, eval_batch_size=None, predict_batch_size=None,
               batch_axis=None, eval_on_tpu=True, export_to_tpu=True, export_to_cpu=True,
               warm_start_from=None, **unused):
    del batch_axis, eval_on_tpu, export_to_tpu, export_to_cpu, unused
    if config is None or not isinstance(config, RunConfig):
      raise ValueError('`config` must be provided with type `tpu_config.RunConfig`')
    if params is not None and any(k in params for k in (_BATCH_SIZE, 'context')):
      raise ValueError('%s are reserved keys but existed in params %s.' % (
          (_BATCH_SIZE, 'context'), params))
    if use_tpu:
      if train_batch_size is None:
        raise ValueError('`train_batch_size` cannot be `None`')
      if config.tpu_config.num_shards and train_batch_size % config.tpu_config.num_shards:
        raise ValueError('train batch size %d must be divisible by number of shards %d' % (
            train_batch_size, config.tpu_config.num_shards))
    self._use_tpu = use_tpu
    self._batch_sizes = {ModeKeys.TRAIN: train_batch_size, ModeKeys.EVAL: eval_batch_size,
                         ModeKeys.PREDICT: predict_batch_size}
    if model_fn is None:
      raise ValueError('model_fn must be provided to Estimator.')
    if 'params' not in arguments.names(model_fn):
      raise ValueError("model_fn (%s) does not include params argument, required by TPUEstimator "
                       "to pass batch size as params['batch_size']" % (model_fn,))
    self._given_model_fn, self._is_exporting = model_fn, False
    super().__init__(self._adapted_model_fn, model_dir, config,
                     params if params is not None else {}, warm_start_from)

  def _adapted_model_fn(self, features, labels, mode, params, config):
    """The model function as Estimator calls one."""
    taken = arguments.names(self._given_model_fn)
    if labels is not None and 'labels' not in taken:
      raise ValueError('model_fn does not take labels, but input_fn returns labels.')
    size = None if self._is_exporting else self._batch_sizes[mode]
    if size is not None:
      _with(params, _BATCH_SIZE, size)
    _with(params, _USE_TPU, False)
    given = arguments.chosen(self._given_model_fn, labels=labels, mode=mode, params=params,
                             config=config)
    spec = self._given_model_fn(features=features, **given)
    return spec.as_estimator_spec() if isinstance(spec, TPUEstimatorSpec) else spec

  def _call_input_fn(self, input_fn, mode, input_context=None):
    del input_context
    self._refuse_tpu()
    if 'params' not in arguments.names(input_fn):
      raise ValueError('input_fn (%s) does not include params argument, required by TPUEstimator '
                       'to pass batch size as params["batch_size"]' % (input_fn,))
    params = self.params   # a copy
    if self._batch_sizes[mode] is not None:
      _with(params, _BATCH_SIZE, self._batch_sizes[mode])
    return input_fn(**arguments.chosen(input_fn, params=params, config=self.config, mode=mode))

  def _refuse_tpu(self):
    if self._use_tpu:
      raise RuntimeError('Cannot find any TPU cores in the system (master address %s): there is no '
                         'code for TPUs here. With use_tpu=False the model runs on other devices.' %
                         self._config.master)

  def export_savedmodel(self, *args, **kwargs):
    """As Estimator's; the model function is called without a batch size."""
    self._is_exporting = True
    try:
      return super().export_savedmodel(*args, **kwargs)
    finally:
      self._is_exporting = False

  export_saved_model = export_savedmodel
