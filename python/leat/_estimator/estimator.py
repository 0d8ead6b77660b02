"""Estimator: a model function with the loops around it.

Each call of train, evaluate, predict or export builds a graph of its own: a global step, what the
input function gives, and what the model function makes of it for that mode. The variables live in
the checkpoints of model_dir, by which the calls know of each other. Sessions are monitored ones, so
that hooks, recovery and the work of several tasks are those of tf.train.
"""
from __future__ import annotations

import contextlib
import copy
import os
import tempfile

from leat._export import export
from leat._graph import graph as graphs
from leat._graph.scope import GraphKeys, set_random_seed
from leat._contrib.training.evaluation import StopAfterNEvalsHook, evaluate_once
from leat._estimator import arguments, inputs
from leat._estimator.model_fn import LOSS_METRIC_KEY, EstimatorSpec, ModeKeys
from leat._estimator.run_config import RunConfig, default_session_config
from leat._ops import control, metrics
from leat._platform import log
from leat._train import (checkpoint_state, events, hooks as train_hooks, monitored, saver as savers,
                         saver_hooks, server, step as steps, summary)
from leat._train.hook import SessionRunHook

_MODEL_FN_ARGUMENTS = ('features', 'labels', 'mode', 'params', 'config')
_MAY_BE_OVERRIDDEN = ('_create_and_assert_global_step', '_tf_api_names', '_estimator_api_names',
                      '_call_input_fn', '_create_global_step')
_IS_OWN = '_is_own_kind'   # of the classes of this package, which may override what they need


def _check_model_fn(model_fn, params):
  taken = arguments.names(model_fn)
  if 'features' not in taken:
    raise ValueError('model_fn (%s) must include features argument.' % model_fn)
  if params is not None and 'params' not in taken:
    raise ValueError('model_fn (%s) does not include params argument, but params (%s) is passed to '
                     'Estimator.' % (model_fn, params))
  if params is None and 'params' in taken:
    log.warning('Estimator\'s model_fn (%s) includes params argument, but params are not passed to '
                'Estimator.', model_fn)
  others = sorted(set(taken) - set(_MODEL_FN_ARGUMENTS) - {'self'})
  if others:
    raise ValueError('model_fn (%s) has following not expected args: %s' % (model_fn, others))


def _check_hooks(hooks):
  hooks = list(hooks or [])
  for hook in hooks:
    if not isinstance(hook, SessionRunHook):
      raise TypeError('Hooks must be a SessionRunHook, given: %s' % (hook,))
  return hooks


def _check_listeners(listeners):
  listeners = list(listeners or [])
  for listener in listeners:
    if not isinstance(listener, saver_hooks.CheckpointSaverListener):
      raise TypeError('saving_listeners must be a list of CheckpointSaverListener, given: %s' % (
          listener,))
  return listeners


def _configuration(config, model_dir):
  """A RunConfig with a model_dir and a session_config."""
  if config is None:
    config = RunConfig()
  elif not isinstance(config, RunConfig):
    raise ValueError('config must be an instance of RunConfig, but provided %s.' % (config,))
  if config.session_config is None:
    config = config.replace(session_config=default_session_config())
  if model_dir is not None:
    if config.model_dir is not None and config.model_dir != model_dir:
      raise ValueError('`model_dir` are set both in constructor and `RunConfig`, but with '
                       "different values. In constructor: '%s', in `RunConfig`: '%s' " % (
                           model_dir, config.model_dir))
    return config.replace(model_dir=model_dir)
  if config.model_dir is None:
    model_dir = tempfile.mkdtemp()
    log.warning('Using temporary folder as model directory: %s', model_dir)
    return config.replace(model_dir=model_dir)
  return config


def _device_function(config):
  """Variables go to the parameter servers of a cluster."""
  if not config.num_ps_replicas:
    return None
  worker = '/job:%s/task:%d' % (config.task_type, config.task_id)
  return server.replica_device_setter(ps_tasks=config.num_ps_replicas, worker_device=worker,
                                      merge_devices=True, cluster=config.cluster_spec)


def _replica(strategy):
  """The `with` in which a model function is the one replica of a strategy; None: of none."""
  return contextlib.nullcontext() if strategy is None else strategy.replica()


@export('estimator.Estimator')
class Estimator:
  """A model that is trained, evaluated and used. model_fn(features, labels, mode, params, config),
  of which only features must be there, gives an EstimatorSpec; `params` are handed to it. With
  warm_start_from, the path of a checkpoint or WarmStartSettings, training begins with the variables
  of another model."""

  def __init__(self, model_fn, model_dir=None, config=None, params=None, warm_start_from=None):
    self._check_members()
    self._config = _configuration(config, model_dir)
    self._model_dir = self._config.model_dir
    self._session_config = self._config.session_config
    self._device_fn = self._config.device_fn or _device_function(self._config)
    if model_fn is None:
      raise ValueError('model_fn must be provided to Estimator.')
    _check_model_fn(model_fn, params)
    self._model_fn = model_fn
    self._params = copy.deepcopy(params or {})
    self._warm_start_settings = self._warm_start(warm_start_from)

  def _check_members(self):
    """ValueError where a subclass takes the place of what the loops are made of."""
    names = {m for m in Estimator.__dict__ if not m.startswith('__')} - set(_MAY_BE_OVERRIDDEN)
    for cls in type(self).__mro__:
      if cls is Estimator:
        return
      if _IS_OWN in cls.__dict__:
        continue
      overridden = sorted(names & set(cls.__dict__))
      if overridden:
        raise ValueError('Subclasses of Estimator cannot override members of Estimator. %s does '
                         'override %s' % (cls, overridden))

  @staticmethod
  def _warm_start(settings):
    if settings is None:
      return None
    from leat._estimator.warm_start import WarmStartSettings
    if isinstance(settings, WarmStartSettings):
      return settings
    if not isinstance(settings, str):
      raise ValueError('warm_start_from must be a string or a WarmStartSettings, is %r' % (
          settings,))
    return WarmStartSettings(ckpt_to_initialize_from=settings)

  model_dir = property(lambda self: self._model_dir)
  config = property(lambda self: copy.deepcopy(self._config))
  params = property(lambda self: copy.deepcopy(self._params))

  @property
  def model_fn(self):
    """The model function without `params`."""
    return lambda features, labels, mode, config: self._call_model_fn(
        features, labels, mode, config)

  def get_variable_value(self, name):
    """The value of a variable in the last checkpoint, an array."""
    return self._reader().get_tensor(name)

  def get_variable_names(self):
    """The names of the variables in the newest checkpoint. ValueError where there is none."""
    return sorted(self._reader().get_variable_to_shape_map())

  def _reader(self):
    from leat import train
    path = self.latest_checkpoint()
    if not path:
      raise ValueError('Could not find trained model in model_dir: %s.' % self._model_dir)
    return train.NewCheckpointReader(path)

  def latest_checkpoint(self):
    """The path of the newest checkpoint, or None."""
    return checkpoint_state.latest_checkpoint(self._model_dir)

  def eval_dir(self, name=None):
    """The folder of the summaries of an evaluation."""
    return os.path.join(self._model_dir, 'eval' if not name else 'eval_' + name)

  # Building graphs ------------------------------------------------------------------------------

  def _call_input_fn(self, input_fn, mode):
    return inputs.call(input_fn, mode=mode, params=self.params, config=self.config)

  def _inputs(self, input_fn, mode):
    """(features, labels, hooks)."""
    with graphs.get_default_graph().device('/cpu:0'):
      return inputs.parsed(self._call_input_fn(input_fn, mode))

  def _call_model_fn(self, features, labels, mode, config):
    taken = arguments.names(self._model_fn)
    if 'labels' not in taken and labels is not None:
      raise ValueError('model_fn does not take labels, but input_fn returns labels.')
    given = arguments.chosen(self._model_fn, labels=labels, mode=mode, params=self.params,
                             config=config)
    log.info('Calling model_fn.')
    spec = self._model_fn(features=features, **given)
    log.info('Done calling model_fn.')
    if not isinstance(spec, EstimatorSpec):
      raise ValueError('model_fn should return an EstimatorSpec.')
    return spec

  def _create_global_step(self, graph):
    return steps.create_global_step(graph)

  def _create_and_assert_global_step(self, graph):
    step = self._create_global_step(graph)
    assert step is steps.get_global_step()
    assert step.dtype.is_integer
    return step

  def _new_graph(self):
    """A graph with its seed and device; the caller enters it."""
    graph = graphs.Graph()
    with graph.as_default():
      set_random_seed(self._config.tf_random_seed)
    return graph

  # Training -------------------------------------------------------------------------------------

  def train(self, input_fn, hooks=None, steps=None, max_steps=None, saving_listeners=None):
    """Trains for so many more steps, up to the global step max_steps, or until the input ends;
    gives the estimator."""
    if steps is not None and max_steps is not None:
      raise ValueError('Can not provide both steps and max_steps.')
    for name, value in (('steps', steps), ('max_steps', max_steps)):
      if value is not None and value <= 0:
        raise ValueError('Must specify %s > 0, given: %s' % (name, value))
    if max_steps is not None and self._saved_step() >= max_steps:
      log.info('Skipping training since max_steps has already saved.')
      return self
    hooks = _check_hooks(hooks)
    if steps is not None or max_steps is not None:
      hooks.append(train_hooks.StopAtStepHook(steps, max_steps))
    loss = self._train_model(input_fn, hooks, _check_listeners(saving_listeners))
    log.info('Loss for final step: %s.', loss)
    return self

  def _saved_step(self):
    """The global step of the last checkpoint, 0 without one."""
    return int(self.get_variable_value(GraphKeys.GLOBAL_STEP)) if self.latest_checkpoint() else 0

  def _train_model(self, input_fn, hooks, listeners):
    graph = self._new_graph()
    with graph.as_default(), graph.device(self._device_fn):
      step = self._create_and_assert_global_step(graph)
      steps.global_step_read(graph)
      features, labels, input_hooks = self._inputs(input_fn, ModeKeys.TRAIN)
      with _replica(self._config.train_distribute):
        spec = self._call_model_fn(features, labels, ModeKeys.TRAIN, self.config)
      return self._train_with_spec(spec, hooks + input_hooks, step, listeners)

  def _train_with_spec(self, spec, worker_hooks, step, listeners):
    config, graph = self._config, graphs.get_default_graph()
    if self._warm_start_settings is not None:
      from leat._estimator import warm_start
      log.info('Warm-starting with WarmStartSettings: %s', self._warm_start_settings)
      warm_start.warm_start(self._warm_start_settings)
    if not any(t.op.name == 'loss' for t in graph.get_collection(GraphKeys.SUMMARIES)):
      summary.scalar('loss', spec.loss)
    graph.add_to_collection(GraphKeys.LOSSES, spec.loss)
    worker_hooks = worker_hooks + [train_hooks.NanTensorHook(spec.loss)]
    if config.log_step_count_steps is not None:
      worker_hooks.append(train_hooks.LoggingTensorHook(
          {'loss': spec.loss, 'step': step}, every_n_iter=config.log_step_count_steps))
    worker_hooks.extend(spec.training_hooks)
    if not (spec.scaffold.saver or graph.get_collection(GraphKeys.SAVERS)):
      graph.add_to_collection(GraphKeys.SAVERS, savers.Saver(
          sharded=True, max_to_keep=config.keep_checkpoint_max, defer_build=True,
          keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
          save_relative_paths=True))
    chief_hooks = list(spec.training_chief_hooks) + self._saver_hooks(
        spec, worker_hooks + list(spec.training_chief_hooks), listeners)
    loss = None
    with monitored.MonitoredTrainingSession(
        master=config.master, is_chief=config.is_chief, checkpoint_dir=self._model_dir,
        scaffold=spec.scaffold, hooks=worker_hooks, chief_only_hooks=chief_hooks,
        save_checkpoint_secs=0, save_summaries_steps=config.save_summary_steps,
        config=self._session_config, log_step_count_steps=config.log_step_count_steps) as session:
      while not session.should_stop():
        _, loss = session.run([spec.train_op, spec.loss])
    return loss

  def _saver_hooks(self, spec, given, listeners):
    """A hook that saves checkpoints, unless one is given; listeners are told of what it saves."""
    config = self._config
    found = [h for h in given if isinstance(h, saver_hooks.CheckpointSaverHook)]
    made = []
    if not found and (config.save_checkpoints_secs or config.save_checkpoints_steps):
      made = found = [saver_hooks.CheckpointSaverHook(
          self._model_dir, save_secs=config.save_checkpoints_secs,
          save_steps=config.save_checkpoints_steps, scaffold=spec.scaffold)]
    if listeners and not found:
      raise ValueError('There should be a CheckpointSaverHook to use saving_listeners. Please set '
                       'one of the RunConfig.save_checkpoints_steps or '
                       'RunConfig.save_checkpoints_secs.')
    if listeners:
      found[0]._listeners.extend(listeners)
    return made

  # Evaluating and predicting --------------------------------------------------------------------

  def evaluate(self, input_fn, steps=None, hooks=None, checkpoint_path=None, name=None):
    """{name of metric: value}, with the loss and the global_step, of the last checkpoint or another
    one, over so many steps or the whole input. They are written as summaries into
    eval_dir(name)."""
    hooks = _check_hooks(hooks)
    if steps is not None:
      if steps <= 0:
        raise ValueError('Must specify steps > 0, given: %s' % steps)
      hooks.append(StopAfterNEvalsHook(num_evals=steps))
    path = checkpoint_path or self.latest_checkpoint()
    if not path:
      log.info('Could not find trained model in model_dir: %s, running initialization to evaluate.',
               self._model_dir)
    graph = self._new_graph()
    with graph.as_default(), graph.device(self._device_fn):
      step = self._create_and_assert_global_step(graph)
      features, labels, input_hooks = self._inputs(input_fn, ModeKeys.EVAL)
      with _replica(self._config.eval_distribute):
        spec = self._call_model_fn(features, labels, ModeKeys.EVAL, self.config)
      update, values = _metrics_of(spec, step)
      results = evaluate_once(
          path, master=self._config.evaluation_master, scaffold=spec.scaffold, eval_ops=update,
          final_ops=values, hooks=hooks + input_hooks + list(spec.evaluation_hooks),
          config=self._session_config)
    _write_results(self.eval_dir(name), results)
    return results

  def predict(self, input_fn, predict_keys=None, hooks=None, checkpoint_path=None,
              yield_single_examples=True):
    """Yields the predictions of each example, an array or {name: array}, or of each batch without
    yield_single_examples, until the input ends."""
    hooks = _check_hooks(hooks)
    path = checkpoint_path or self.latest_checkpoint()
    if not path:
      log.info('Could not find trained model in model_dir: %s, running initialization to predict.',
               self._model_dir)
    graph = self._new_graph()
    with graph.as_default(), graph.device(self._device_fn):
      self._create_and_assert_global_step(graph)
      features, _, input_hooks = self._inputs(input_fn, ModeKeys.PREDICT)
      spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self.config)
      predictions = _chosen_predictions(spec.predictions, predict_keys)
      creator = monitored.ChiefSessionCreator(
          checkpoint_filename_with_path=path, master=self._config.master, scaffold=spec.scaffold,
          config=self._session_config)
      with monitored.MonitoredSession(
          session_creator=creator,
          hooks=hooks + input_hooks + list(spec.prediction_hooks)) as session:
        while not session.should_stop():
          batch = session.run(predictions)
          if yield_single_examples:
            yield from _examples(batch)
          else:
            yield batch

  # Exporting ------------------------------------------------------------------------------------

  def export_savedmodel(self, export_dir_base, serving_input_receiver_fn, assets_extra=None,
                        as_text=False, checkpoint_path=None, strip_default_attrs=False):
    """Writes the model as a SavedModel into a new folder in export_dir_base, named by the time;
    gives its path as bytes."""
    from leat._estimator import exporting
    return exporting.export_models(self, export_dir_base,
                                   {ModeKeys.PREDICT: serving_input_receiver_fn}, assets_extra,
                                   as_text, checkpoint_path, strip_default_attrs)

  export_saved_model = export_savedmodel


# ---- Parts of the loops -------------------------------------------------------------------------


def _metrics_of(spec, step):
  """(an operation that updates all metrics, {name: value})."""
  pairs = dict(spec.eval_metric_ops)
  for name in (LOSS_METRIC_KEY, GraphKeys.GLOBAL_STEP):
    if name in pairs:
      raise ValueError('Metric with name "%s" is not allowed, because Estimator already defines a '
                       'default metric with the same name.' % name)
  pairs[LOSS_METRIC_KEY] = metrics.mean(spec.loss)
  update = control.group(*[u for _, u in pairs.values()])
  values = {name: value for name, (value, _) in pairs.items()}
  values[GraphKeys.GLOBAL_STEP] = step
  return update, values


def _write_results(folder, results):
  """The numbers of an evaluation as summaries."""
  from leat._graph import message
  log.info('Saving dict for global step %d: %s', results[GraphKeys.GLOBAL_STEP],
           ', '.join('%s = %s' % item for item in sorted(results.items())))
  made = message.of('Summary')()
  for name, value in sorted(results.items()):
    if value is None or name == GraphKeys.GLOBAL_STEP:
      continue
    if isinstance(value, bytes):
      made.MergeFrom(message.of('Summary').FromString(value))
    elif getattr(value, 'ndim', 0) == 0 and not isinstance(value, str):
      made.value.add(tag=name, simple_value=float(value))
    else:
      log.warning('Skipping summary for %s, must be a float, an integer or a serialized Summary.',
                  name)
  writer = events.FileWriterCache.get(folder)
  writer.add_summary(made, results[GraphKeys.GLOBAL_STEP])
  writer.flush()


def _chosen_predictions(predictions, keys):
  if not keys:
    return predictions
  keys = [keys] if isinstance(keys, str) else keys
  if not isinstance(predictions, dict):
    raise ValueError('predict_keys argument is not valid in case of non-dict predictions.')
  found = {name: value for name, value in predictions.items() if name in keys}
  if not found:
    raise ValueError('Expected to run at least one output from %s, provided %s.' % (
        list(predictions), list(keys)))
  return found


def _examples(batch):
  """The rows of a batch of predictions."""
  if not isinstance(batch, dict):
    yield from batch
    return
  sizes = {name: len(value) for name, value in batch.items()}
  if len(set(sizes.values())) > 1:
    raise ValueError('Batch length of predictions should be same. Sizes: %s' % sizes)
  for n in range(next(iter(sizes.values()))):
    yield {name: value[n] for name, value in batch.items()}
