"""contrib.learn.Experiment: an estimator with its input, trained, evaluated and exported by one
call; and learn_runner.run, which makes one and calls what the task of this process is to do.

A task of a cluster trains or serves parameters as TF_CONFIG says. One process alone trains and
evaluates by turns (train_and_evaluate). Estimators are those of contrib.learn and of tf.estimator.
"""
from __future__ import annotations

import collections
import os
import time

from leat._export import export
from leat._contrib.learn.estimator import BaseEstimator
from leat._contrib.learn.monitor_hooks import ValidationMonitor, replace_monitors_with_hooks
from leat._contrib.learn.monitors import BaseMonitor
from leat._contrib.learn.run_config import RunConfig, TaskType
from leat._estimator.estimator import Estimator
from leat._graph.scope import GraphKeys
from leat._platform import log
from leat._train import server as servers


@export('contrib.learn.ExportStrategy')
class ExportStrategy(collections.namedtuple('ExportStrategy', [
    'name', 'export_fn', 'strip_default_attrs'])):
  """How a trained model is exported: export_fn(estimator, folder, checkpoint_path, eval_result)."""

  def __new__(cls, name, export_fn, strip_default_attrs=None):
    return super().__new__(cls, name, export_fn, strip_default_attrs)

  def export(self, estimator, export_path, checkpoint_path=None, eval_result=None):
    from leat._estimator import arguments
    given = arguments.chosen(self.export_fn, checkpoint_path=checkpoint_path,
                             eval_result=eval_result, strip_default_attrs=self.strip_default_attrs)
    return self.export_fn(estimator, export_path, **given)


@export('contrib.learn.make_export_strategy',
        'contrib.learn.utils.saved_model_export_utils.make_export_strategy')
def make_export_strategy(serving_input_fn, default_output_alternative_key=None, assets_extra=None,
                         as_text=False, exports_to_keep=5, strip_default_attrs=None):
  """An ExportStrategy 'Servo' that writes SavedModels and keeps the newest exports_to_keep."""
  def export_fn(estimator, export_dir_base, checkpoint_path=None, strip_default_attrs=False):
    common = dict(assets_extra=assets_extra, as_text=as_text, checkpoint_path=checkpoint_path,
                  strip_default_attrs=bool(strip_default_attrs))
    if isinstance(estimator, BaseEstimator):
      common['default_output_alternative_key'] = default_output_alternative_key
    path = estimator.export_savedmodel(export_dir_base, serving_input_fn, **common)
    _keep_newest(export_dir_base, exports_to_keep)
    return path
  return ExportStrategy('Servo', export_fn, strip_default_attrs)


def _keep_newest(folder, count):
  import shutil
  if count is None:
    return
  for name in sorted((n for n in os.listdir(folder) if n.isdigit()), key=int)[:-count or None]:
    shutil.rmtree(os.path.join(folder, name))


@export('contrib.learn.Experiment')
class Experiment:
  """An estimator, what it is trained and evaluated on, for how many steps, and how it is
  exported. eval_metrics are MetricSpecs; monitors may be hooks."""

  def __init__(self, estimator, train_input_fn, eval_input_fn, eval_metrics=None, train_steps=None,
               eval_steps=100, train_monitors=None, eval_hooks=None, local_eval_frequency=None,
               eval_delay_secs=120, continuous_eval_throttle_secs=60, min_eval_frequency=None,
               delay_workers_by_global_step=False, export_strategies=None,
               train_steps_per_iteration=None, checkpoint_and_export=False, saving_listeners=None,
               check_interval_secs=5):
    if not isinstance(estimator, (BaseEstimator, Estimator)):
      raise ValueError('`estimator` must implement `tf.contrib.learn.Evaluable`and '
                       '`tf.contrib.learn.Trainable`or `tf.estimator.Estimator`.')
    if isinstance(estimator, Estimator) and eval_metrics is not None:
      raise ValueError('`eval_metrics` must be `None` with `tf.estimator.Estimator`. Use '
                       '`eval_metric_ops` in EstimatorSpec instead.')
    if train_steps_per_iteration is not None and not isinstance(train_steps_per_iteration, int):
      raise ValueError('`train_steps_per_iteration` must be an integer.')
    del delay_workers_by_global_step, checkpoint_and_export, check_interval_secs
    self._estimator = estimator
    self._train_input_fn, self._eval_input_fn = train_input_fn, eval_input_fn
    self._eval_metrics, self._eval_hooks = eval_metrics, list(eval_hooks or [])
    self._train_steps, self._eval_steps = train_steps, eval_steps
    self._train_monitors = list(train_monitors or [])
    self._frequency = local_eval_frequency if min_eval_frequency is None else min_eval_frequency
    self._delay_secs, self._throttle_secs = eval_delay_secs, continuous_eval_throttle_secs
    self._steps_per_iteration = train_steps_per_iteration
    self._listeners = list(saving_listeners or [])
    self.reset_export_strategies(export_strategies)

  estimator = property(lambda self: self._estimator)
  eval_metrics = property(lambda self: self._eval_metrics)
  train_steps = property(lambda self: self._train_steps)
  eval_steps = property(lambda self: self._eval_steps)

  def reset_export_strategies(self, new_export_strategies=None):
    """Other export strategies from now on; gives the former ones."""
    former = getattr(self, '_export_strategies', ())
    new = new_export_strategies or ()
    self._export_strategies = tuple([new] if isinstance(new, ExportStrategy) else new)
    return former

  def extend_train_hooks(self, additional_hooks):
    """Hooks, or monitors, besides those that it has."""
    self._train_monitors.extend(additional_hooks)

  # What it does -----------------------------------------------------------------------------------

  def train(self, delay_secs=None):
    """Trains up to train_steps. A worker of a cluster waits delay_secs, or 5 seconds for each
    worker before it."""
    config = self._estimator.config
    server = self._start_server() if config.cluster_spec and config.master else None
    if delay_secs is None:
      delay_secs = min(60, config.task_id * 5) if config.cluster_spec else 0
    if delay_secs > 0:
      time.sleep(delay_secs)
    found = self._fit(self._train_monitors, self._train_steps)
    del server
    return found

  def _fit(self, monitors, max_steps):
    if isinstance(self._estimator, Estimator):
      if any(isinstance(m, BaseMonitor) for m in monitors):
        monitors = replace_monitors_with_hooks(monitors, self._estimator)
      return self._estimator.train(self._train_input_fn, hooks=monitors, max_steps=max_steps,
                                   saving_listeners=self._listeners)
    return self._estimator.fit(input_fn=self._train_input_fn, monitors=monitors,
                               max_steps=max_steps)

  def evaluate(self, delay_secs=None, name=None):
    """The metrics of the newest checkpoint, after delay_secs, or eval_delay_secs where it is
    None."""
    delay_secs = self._delay_secs if delay_secs is None else delay_secs
    if delay_secs:
      time.sleep(delay_secs)
    return self._evaluate(self._eval_steps, name)

  def _evaluate(self, steps, name=None, checkpoint_path=None):
    given = dict(input_fn=self._eval_input_fn, steps=steps, hooks=list(self._eval_hooks),
                 name=name, checkpoint_path=checkpoint_path)
    if isinstance(self._estimator, BaseEstimator):
      given['metrics'] = self._eval_metrics
    return self._estimator.evaluate(**given)

  def train_and_evaluate(self):
    """Trains up to train_steps, evaluates on the way every min_eval_frequency steps, then
    evaluates and exports. Gives (metrics, exports)."""
    monitors = list(self._train_monitors)
    if self._frequency and isinstance(self._estimator, BaseEstimator):
      monitors.append(ValidationMonitor(
          input_fn=self._eval_input_fn, eval_steps=self._eval_steps, metrics=self._eval_metrics,
          every_n_steps=self._frequency, name='eval' if not self._eval_hooks else None,
          hooks=self._eval_hooks or None))
    self._fit(monitors, self._train_steps)
    results = self.evaluate(delay_secs=0)
    return results, self._export(results)

  def local_run(self):
    """train_and_evaluate, of a process that is no task of a cluster."""
    return self.train_and_evaluate()

  def continuous_train_and_eval(self, continuous_eval_predicate_fn=None):
    """Trains train_steps_per_iteration steps, evaluates, and so on until train_steps or until
    continuous_eval_predicate_fn(results) is false. Gives (metrics, exports)."""
    results, exports = None, []
    each = self._steps_per_iteration or self._frequency or self._train_steps or 1000
    while continuous_eval_predicate_fn is None or continuous_eval_predicate_fn(results):
      done = 0 if results is None else int(results[GraphKeys.GLOBAL_STEP])
      if self._train_steps is not None and done >= self._train_steps:
        break
      goal = done + each if self._train_steps is None else min(done + each, self._train_steps)
      self._fit(self._train_monitors, goal)
      results = self._evaluate(self._eval_steps)
      exports = self._export(results)
    return results, exports

  def continuous_eval(self, delay_secs=None, throttle_delay_secs=None,
                      evaluate_checkpoint_only_once=True, continuous_eval_predicate_fn=None,
                      name='continuous'):
    """Evaluates each new checkpoint until one has reached train_steps, or until
    continuous_eval_predicate_fn(results) is false. Gives the last metrics."""
    from leat._train import checkpoint_state
    time.sleep(self._delay_secs if delay_secs is None else delay_secs)
    throttle = self._throttle_secs if throttle_delay_secs is None else throttle_delay_secs
    results, former = None, None
    while continuous_eval_predicate_fn is None or continuous_eval_predicate_fn(results):
      start = time.monotonic()
      path = checkpoint_state.latest_checkpoint(self._estimator.model_dir)
      if path and (path != former or not evaluate_checkpoint_only_once):
        results, former = self._evaluate(self._eval_steps, name, path), path
        self._export(results, path)
        if self._train_steps is not None and results[GraphKeys.GLOBAL_STEP] >= self._train_steps:
          break
      time.sleep(max(0, throttle - (time.monotonic() - start)))
    return results

  def test(self):
    """One step of training and one of evaluation, to see that both run."""
    if isinstance(self._estimator, Estimator):
      self._estimator.train(self._train_input_fn, hooks=self._train_monitors, steps=1)
    else:
      self._estimator.fit(input_fn=self._train_input_fn, steps=1, monitors=self._train_monitors)
    results = self._evaluate(1, 'one_pass')
    return results, self._export(results)

  def _export(self, results, checkpoint_path=None):
    return [strategy.export(
        self._estimator, os.path.join(self._estimator.model_dir, 'export', strategy.name),
        checkpoint_path, results) for strategy in self._export_strategies]

  # Clusters ---------------------------------------------------------------------------------------

  def _start_server(self):
    config = self._estimator.config
    if not config.cluster_spec or not config.task_type or config.task_id is None:
      raise ValueError('Could not start server; be sure to specify cluster_spec, master, '
                       'task_type, and task in RunConfig or set the TF_CONFIG environment '
                       'variable.')
    server = servers.Server(config.cluster_spec, job_name=config.task_type,
                            task_index=config.task_id, config=getattr(config, 'tf_config', None),
                            start=False)
    server.start()
    return server

  def run_std_server(self):
    """Serves this task's part of the cluster, and does not come back."""
    self._start_server().join()


# ---- learn_runner --------------------------------------------------------------------------------


def _schedule(config):
  """What the task of this process does."""
  if config is None or not config.cluster_spec:
    return 'train_and_evaluate'
  if config.task_type == TaskType.PS:
    return 'run_std_server'
  return 'local_run' if config.task_type == TaskType.MASTER else 'train'


@export('contrib.learn.learn_runner.run')
def run(experiment_fn, output_dir=None, schedule=None, run_config=None, hparams=None):
  """Makes an experiment, by experiment_fn(output_dir) or experiment_fn(run_config, hparams), and
  calls its method of the name `schedule`: by default what the task of this process is for."""
  if output_dir is not None and run_config is not None:
    raise ValueError('Cannot provide both `output_dir` and `run_config`')
  if not output_dir and run_config is None:
    raise ValueError('Must specify an output directory')
  if run_config is not None:
    if not isinstance(run_config, RunConfig) and not hasattr(run_config, 'model_dir'):
      raise ValueError('`run_config` must be `tf.contrib.learn.RunConfig` instance')
    if not run_config.model_dir:
      raise ValueError('Must specify a model directory `model_dir` in `run_config`.')
    experiment = experiment_fn(run_config=run_config, hparams=hparams)
  else:
    experiment = experiment_fn(output_dir)
  if not isinstance(experiment, Experiment):
    raise TypeError('Experiment builder did not return an Experiment instance, got %s instead.' %
                    type(experiment))
  task = getattr(experiment, schedule or _schedule(experiment.estimator.config), None)
  if not callable(task):
    raise ValueError('Schedule references non-existent task %s' % schedule)
  log.info('Running %s', getattr(task, '__name__', task))
  return task()


@export('contrib.learn.learn_runner.tune')
def tune(experiment_fn, tuner):
  """Runs the experiments that a tuner asks for, and tells it what came of each."""
  while tuner.next_trial():
    tuner.run_experiment(experiment_fn)
