"""train_and_evaluate: training with an evaluation of the checkpoints on the way.

One process does both: each time a checkpoint is saved and enough time has passed, a listener
evaluates it. In a cluster (TF_CONFIG), this process is a parameter server, trains as chief or
worker, or evaluates what others train until that has ended.
"""
from __future__ import annotations

import collections
import os
import time

from leat._export import export
from leat._graph.scope import GraphKeys
from leat._estimator.estimator import Estimator
from leat._estimator.exporters import Exporter
from leat._estimator.run_config import TaskType
from leat._platform import log
from leat._train import server as servers
from leat._train.hook import SessionRunHook
from leat._train.hooks import SecondOrStepTimer
from leat._train.saver_hooks import CheckpointSaverListener


def _check_spec(input_fn, hooks, steps, what):
  if not callable(input_fn):
    raise TypeError('`input_fn` must be callable, given: %s' % (input_fn,))
  if steps is not None and steps <= 0:
    raise ValueError('Must specify %s > 0, given: %s' % (what, steps))
  hooks = tuple(hooks or ())
  for hook in hooks:
    if not isinstance(hook, SessionRunHook):
      raise TypeError('All hooks must be `SessionRunHook` instances, given: %s' % (hook,))
  return hooks


def _check_exporters(exporters):
  if not exporters:
    return ()
  exporters = (exporters,) if isinstance(exporters, Exporter) else tuple(exporters)
  names = set()
  for exporter in exporters:
    if not isinstance(exporter, Exporter):
      raise TypeError('`exporters` must be an Exporter, an iterable of Exporter, or `None`, found '
                      '%s.' % (exporter,))
    if not exporter.name or not isinstance(exporter.name, str):
      raise ValueError('An Exporter must have a name that is a string, found %r' % (
          exporter.name,))
    if exporter.name in names:
      raise ValueError('`exporters` must have unique names. Such a name is given: %s' %
                       exporter.name)
    names.add(exporter.name)
  return exporters


@export('estimator.TrainSpec')
class TrainSpec(collections.namedtuple('TrainSpec', ['input_fn', 'max_steps', 'hooks'])):
  """What is trained on, up to which global step (None for the end of the input)."""
  __slots__ = ()

  def __new__(cls, input_fn, max_steps=None, hooks=None):
    hooks = _check_spec(input_fn, hooks, max_steps, 'max_steps')
    return super().__new__(cls, input_fn, max_steps, hooks)


@export('estimator.EvalSpec')
class EvalSpec(collections.namedtuple('EvalSpec', [
    'input_fn', 'steps', 'name', 'hooks', 'exporters', 'start_delay_secs', 'throttle_secs'])):
  """What is evaluated on, for how many steps (None for the whole input), and how often: not before
  start_delay_secs, and throttle_secs apart."""
  __slots__ = ()

  def __new__(cls, input_fn, steps=100, name=None, hooks=None, exporters=None,
              start_delay_secs=120, throttle_secs=600):
    hooks = _check_spec(input_fn, hooks, steps, 'steps')
    if name is not None and not isinstance(name, str):
      raise TypeError('`name` must be string, given: %s' % (name,))
    if start_delay_secs < 0:
      raise ValueError('Must specify start_delay_secs >= 0, given: %s' % start_delay_secs)
    if throttle_secs < 0:
      raise ValueError('Must specify throttle_secs >= 0, given: %s' % throttle_secs)
    return super().__new__(cls, input_fn, steps, name, hooks, _check_exporters(exporters),
                           start_delay_secs, throttle_secs)


class _Evaluator:
  """Evaluates the newest checkpoint, once, and exports it."""

  def __init__(self, estimator, spec, max_steps):
    self._estimator, self._spec, self._max_steps = estimator, spec, max_steps
    self._checkpoint = None
    self.is_final = False

  def evaluate(self):
    """(metrics, exports), or (None, []) where no checkpoint is new."""
    path = self._estimator.latest_checkpoint()
    if not path or path == self._checkpoint:
      log.info('No new checkpoint to evaluate in %s', self._estimator.model_dir)
      return None, []
    spec = self._spec
    results = self._estimator.evaluate(spec.input_fn, steps=spec.steps, name=spec.name,
                                       checkpoint_path=path, hooks=spec.hooks)
    self._checkpoint = path
    self.is_final = self._max_steps is not None and \
        results[GraphKeys.GLOBAL_STEP] >= self._max_steps
    return results, self.export(path, results, self.is_final)

  def export(self, path, results, is_final):
    exports = []
    for exporter in self._spec.exporters:
      folder = os.path.join(self._estimator.model_dir, 'export', exporter.name)
      exports.append(exporter.export(self._estimator, folder, path, results, is_final))
    return exports


class _Listener(CheckpointSaverListener):
  """Evaluates checkpoints as they are saved."""

  def __init__(self, evaluator, throttle_secs):
    self._evaluator = evaluator
    self._timer = SecondOrStepTimer(every_secs=throttle_secs)
    self._is_first, self.result = True, (None, [])

  def begin(self):
    self._timer.reset()
    self._is_first = True

  def after_save(self, session, global_step_value):
    if self._is_first:   # the model before the first step
      self._is_first = False
      self._timer.update_last_triggered_step(global_step_value)
      return
    if self._timer.should_trigger_for_step(global_step_value):
      self._evaluate(global_step_value)
      self._timer.update_last_triggered_step(global_step_value)

  def end(self, session, global_step_value):
    if self._timer.last_triggered_step() != global_step_value:
      self._evaluate(global_step_value)

  def _evaluate(self, step):
    found = self._evaluator.evaluate()
    if found[0] is not None:
      self.result = found
    self._timer.update_last_triggered_step(step)


def _local(estimator, train_spec, eval_spec):
  evaluator = _Evaluator(estimator, eval_spec, train_spec.max_steps)
  listener = _Listener(evaluator, eval_spec.throttle_secs)
  estimator.train(train_spec.input_fn, hooks=train_spec.hooks, max_steps=train_spec.max_steps,
                  saving_listeners=[listener])
  return listener.result


def _continuous(estimator, train_spec, eval_spec):
  """Evaluates each new checkpoint until one has reached max_steps."""
  evaluator = _Evaluator(estimator, eval_spec, train_spec.max_steps)
  time.sleep(eval_spec.start_delay_secs)
  while True:
    start = time.monotonic()
    results, _ = evaluator.evaluate()
    if results is not None and evaluator.is_final:
      log.info('Exiting evaluation, global_step=%s >= train max_steps=%s',
               results[GraphKeys.GLOBAL_STEP], train_spec.max_steps)
      return
    rest = start + eval_spec.throttle_secs - time.monotonic()
    if rest > 0:
      time.sleep(rest)


def _start_server(config):
  """The server of this task of a cluster, or None where the master is another process."""
  if not config.cluster_spec or not config.master:
    return None
  server = servers.Server(config.cluster_spec, job_name=config.task_type,
                          task_index=config.task_id, config=config.session_config, start=False)
  server.start()
  return server


@export('estimator.train_and_evaluate')
def train_and_evaluate(estimator, train_spec, eval_spec):
  """Trains as train_spec says and evaluates the checkpoints as eval_spec says. Gives (metrics of
  the last evaluation, exports) where one process does both."""
  for value, kind, what in ((estimator, Estimator, 'estimator'),
                            (train_spec, TrainSpec, 'train_spec'),
                            (eval_spec, EvalSpec, 'eval_spec')):
    if not isinstance(value, kind):
      raise TypeError('`%s` must have type `tf.estimator.%s`, given %s' % (
          what, kind.__name__, type(value)))
  config = estimator.config
  if not config.cluster_spec and config.task_type != TaskType.EVALUATOR:
    return _local(estimator, train_spec, eval_spec)
  if config.task_type == TaskType.EVALUATOR:
    return _continuous(estimator, train_spec, eval_spec)
  server = _start_server(config)
  if config.task_type == TaskType.PS:
    server.join()
    return None
  if config.task_type == TaskType.MASTER:
    return _local(estimator, train_spec, eval_spec)
  if config.task_type == TaskType.WORKER:
    # Workers that come one after the other do not spoil each other's first steps.
    time.sleep(min(60, (config.task_id + 1) * 5))
  estimator.train(train_spec.input_fn, hooks=train_spec.hooks, max_steps=train_spec.max_steps)
  del server
  return None
