"""ValidationMonitor, and monitors in the place of hooks."""
from __future__ import annotations

import time

from leat._export import export
from leat._contrib.learn.monitors import BaseMonitor, EveryN
from leat._graph import graph as graphs
from leat._platform import log
from leat._train import checkpoint_state, step as steps
from leat._train.hook import SessionRunArgs, SessionRunHook


@export('contrib.learn.monitors.ValidationMonitor')
class ValidationMonitor(EveryN):
  """Evaluates each new checkpoint while a model is trained, and ends training where the metric has
  not become better for early_stopping_rounds steps."""

  def __init__(self, x=None, y=None, input_fn=None, batch_size=None, eval_steps=None,
               every_n_steps=100, metrics=None, hooks=None, early_stopping_rounds=None,
               early_stopping_metric='loss', early_stopping_metric_minimize=True, name=None,
               check_interval_secs=5):
    super().__init__(every_n_steps=every_n_steps, first_n_steps=-1)
    if x is None and input_fn is None:
      raise ValueError('Either x or input_fn should be provided.')
    self._arguments = dict(x=x, y=y, input_fn=input_fn, batch_size=batch_size, steps=eval_steps,
                           metrics=metrics, hooks=hooks, name=name)
    self._rounds, self._metric = early_stopping_rounds, early_stopping_metric
    self._minimizes, self._interval_secs = early_stopping_metric_minimize, check_interval_secs
    self._best_value = self._best_step = self._best_metrics = None
    self._early_stopped, self._checkpoint, self._last_check = False, None, None

  early_stopped = property(lambda self: self._early_stopped)
  best_step = property(lambda self: self._best_step)
  best_value = property(lambda self: self._best_value)
  best_metrics = property(lambda self: self._best_metrics)

  def _evaluate(self):
    """The metrics of a checkpoint that was not evaluated yet, or None."""
    path = checkpoint_state.latest_checkpoint(self._estimator.model_dir)
    if path is None or path == self._checkpoint:
      log.debug('Skipping evaluation: there is no new checkpoint in %s', self._estimator.model_dir)
      return None
    self._checkpoint = path
    return self._estimator.evaluate(**self._arguments)

  def _is_better(self, value):
    if self._best_value is None:
      return True
    return value < self._best_value if self._minimizes else value > self._best_value

  def every_n_step_end(self, step, outputs):
    super().every_n_step_end(step, outputs)
    if self._estimator is None:
      raise ValueError('Missing call to set_estimator.')
    now = time.monotonic()
    if self._interval_secs is not None and self._last_check is not None and \
        now < self._last_check + self._interval_secs:
      return False
    self._last_check = now
    found = self._evaluate()
    if not found:
      return False
    log.info('Validation (step %d): %s', step, ', '.join('%s = %s' % i for i in found.items()))
    if self._rounds is None:
      return False
    if self._metric not in found:
      raise ValueError('Metric %s missing from outputs %s.' % (self._metric, set(found)))
    if self._is_better(found[self._metric]):
      self._best_value, self._best_step = found[self._metric], step
      self._best_metrics = dict(found)
    self._early_stopped = step - self._best_step >= self._rounds
    if self._early_stopped:
      log.info('Stopping. Best step: %s with %s = %s.', self._best_step, self._metric,
               self._best_value)
    return self._early_stopped


class RunHookAdapterForMonitors(SessionRunHook):
  """Monitors as a hook: their steps are those of the global step."""

  def __init__(self, monitors):
    self._monitors, self._last_step = monitors, None
    self._global_step = None

  def begin(self):
    self._last_step = None
    self._global_step = steps.get_global_step()
    for monitor in self._monitors:
      monitor.begin(max_steps=None)

  def before_run(self, run_context):
    if self._last_step is None:
      self._last_step = int(run_context.session.run(self._global_step)) + 1
    graph = graphs.get_default_graph()
    wanted = {}
    for monitor in self._monitors:
      for item in monitor.step_begin(self._last_step) or ():
        tensor = graph.as_graph_element(item) if isinstance(item, str) else item
        wanted[tensor.name] = tensor
    return SessionRunArgs(wanted)

  def after_run(self, run_context, run_values):
    stops = [monitor.step_end(step=self._last_step, output=dict(run_values.results or {}))
             for monitor in self._monitors]
    if any(stops):
      run_context.request_stop()
    for monitor in self._monitors:
      monitor.post_step(step=self._last_step, session=run_context.session)
    self._last_step += 1

  def end(self, session):
    self._last_step = None
    for monitor in self._monitors:
      monitor.end(session) if _takes_session(monitor.end) else monitor.end()


def _takes_session(function):
  from leat._estimator import arguments
  return bool(arguments.names(function))


@export('contrib.learn.monitors.replace_monitors_with_hooks')
def replace_monitors_with_hooks(monitors_or_hooks, estimator):
  """The hooks of a list, and one hook for all its monitors."""
  monitors_or_hooks = monitors_or_hooks or []
  hooks = [m for m in monitors_or_hooks if isinstance(m, SessionRunHook)]
  monitors = [m for m in monitors_or_hooks if not isinstance(m, SessionRunHook)]
  for monitor in monitors:
    if isinstance(monitor, BaseMonitor):
      monitor.set_estimator(estimator)
  if monitors:
    hooks.append(RunHookAdapterForMonitors(monitors))
  return hooks
