"""Hooks of monitored sessions that log, stop, wait, feed and fetch. Those that write checkpoints,
summaries and traces are in saver_hooks.py."""
from __future__ import annotations

import time

from leat._export import export
from leat._graph import errors
from leat._graph import graph as graphs
from leat._platform import log
from leat._train import step as steps
from leat._train.hook import SessionRunArgs, SessionRunHook


def required_step(what, read=True):
  """The tensor of the global step; RuntimeError where there is none."""
  found = steps.global_step_read() if read else steps.get_global_step()
  if found is None:
    raise RuntimeError('Global step should be created to use %s.' % what)
  return graphs.get_default_graph().as_graph_element(found)


@export('train.SecondOrStepTimer')
class SecondOrStepTimer:
  """Says at which steps something is due that happens every so many seconds or steps. It is due at
  the first step that it is asked of."""

  def __init__(self, every_secs=None, every_steps=None):
    if every_secs is None and every_steps is None:
      raise ValueError('Either every_secs or every_steps should be provided.')
    if every_secs is not None and every_steps is not None:
      raise ValueError('Can not provide both every_secs and every_steps.')
    self._every_secs, self._every_steps = every_secs, every_steps
    self.reset()

  def reset(self):
    """Forgets when it was due last."""
    self._last_triggered_step = self._last_triggered_time = None

  def should_trigger_for_step(self, step):
    """Whether it is due at the step; once for each step."""
    if self._last_triggered_step is None:
      return True
    if self._last_triggered_step == step:
      return False
    if self._every_secs is not None:
      return time.time() >= self._last_triggered_time + self._every_secs
    return step >= self._last_triggered_step + self._every_steps

  def update_last_triggered_step(self, step):
    """Notes that it was done at the step; gives the seconds and steps since the time before, None
    and None at the first time."""
    now, elapsed = time.time(), (None, None)
    if self._last_triggered_time is not None:
      elapsed = now - self._last_triggered_time, step - self._last_triggered_step
    self._last_triggered_time, self._last_triggered_step = now, step
    return elapsed

  def last_triggered_step(self):
    """The step at which it was due last, or None."""
    return self._last_triggered_step


class NeverTriggerTimer:
  """A timer that is never due."""

  def reset(self):
    pass

  def should_trigger_for_step(self, step):
    return False

  def update_last_triggered_step(self, step):
    return None, None

  def last_triggered_step(self):
    return None


def _as_graph_element(obj):
  """The tensor or operation that a hook was given, also by name: 'a' is 'a:0'."""
  graph = graphs.get_default_graph()
  if not isinstance(obj, str):
    if getattr(obj, 'graph', None) is not graph:
      raise ValueError('Passed %s should have graph attribute that is equal to current graph %s.' %
                       (obj, graph))
    return obj
  if ':' in obj:
    return graph.as_graph_element(obj)
  op = graph.operation(obj)
  if op is not None and len(op.outputs) > 1:
    raise ValueError('Name %s is ambiguous, as this `Operation` has multiple outputs (at least 2).'
                     % obj)
  return graph.as_graph_element(obj + ':0')


@export('train.LoggingTensorHook')
class LoggingTensorHook(SessionRunHook):
  """Logs values every so many steps or seconds, or at the end. `tensors` is a dict from tags to
  tensors or their names, or a list; `formatter` makes a text of the dict of values."""

  def __init__(self, tensors, every_n_iter=None, every_n_secs=None, at_end=False, formatter=None):
    only_at_end = at_end and every_n_iter is None and every_n_secs is None
    if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
      raise ValueError('either at_end and/or exactly one of every_n_iter and every_n_secs must be '
                       'provided.')
    if every_n_iter is not None and every_n_iter <= 0:
      raise ValueError('invalid every_n_iter=%s.' % every_n_iter)
    if isinstance(tensors, dict):
      self._tag_order = sorted(tensors)
    else:
      self._tag_order = list(tensors)
      tensors = {item: item for item in self._tag_order}
    self._tensors, self._formatter = tensors, formatter
    self._timer = NeverTriggerTimer() if only_at_end else SecondOrStepTimer(
        every_secs=every_n_secs, every_steps=every_n_iter)
    self._log_at_end = at_end
    self._iter_count, self._should_trigger = 0, False
    self._current_tensors = {}

  def begin(self):
    self._timer.reset()
    self._iter_count = 0
    self._current_tensors = {tag: _as_graph_element(tensor)
                             for tag, tensor in self._tensors.items()}

  def before_run(self, run_context):
    self._should_trigger = self._timer.should_trigger_for_step(self._iter_count)
    return SessionRunArgs(self._current_tensors) if self._should_trigger else None

  def after_run(self, run_context, run_values):
    if self._should_trigger:
      self._log_tensors(run_values.results)
    self._iter_count += 1

  def end(self, session):
    if self._log_at_end:
      self._log_tensors(session.run(self._current_tensors))

  def _log_tensors(self, values):
    import numpy as np
    elapsed, _ = self._timer.update_last_triggered_step(self._iter_count)
    with np.printoptions(suppress=True):
      if self._formatter:
        log.info(self._formatter(values))
        return
      text = ', '.join('%s = %s' % (tag, values[tag]) for tag in self._tag_order)
      if elapsed is None:
        log.info('%s', text)
      else:
        log.info('%s (%.3f sec)', text, elapsed)


@export('train.StopAtStepHook')
class StopAtStepHook(SessionRunHook):
  """Asks to stop after num_steps more steps, or at the global step last_step. ValueError unless one
  of both is given."""

  def __init__(self, num_steps=None, last_step=None):
    if num_steps is None and last_step is None:
      raise ValueError('One of num_steps or last_step must be specified.')
    if num_steps is not None and last_step is not None:
      raise ValueError('Only one of num_steps or last_step can be specified.')
    self._num_steps, self._last_step = num_steps, last_step
    self._global_step_tensor = None

  def begin(self):
    self._global_step_tensor = required_step('StopAtStepHook', read=False)

  def after_create_session(self, session, coord):
    if self._last_step is None:
      self._last_step = session.run(self._global_step_tensor) + self._num_steps

  def before_run(self, run_context):
    return SessionRunArgs(self._global_step_tensor)

  def after_run(self, run_context, run_values):
    # The step may have read the counter before or after it was raised: it is read once more.
    if run_values.results + 1 >= self._last_step and \
        run_context.session.run(self._global_step_tensor) >= self._last_step:
      run_context.request_stop()


@export('train.NanLossDuringTrainingError')
class NanLossDuringTrainingError(RuntimeError):
  """The loss is not a number."""

  def __str__(self):
    return 'NaN loss during training.'


@export('train.NanTensorHook')
class NanTensorHook(SessionRunHook):
  """Fails or asks to stop when the loss is not a number."""

  def __init__(self, loss_tensor, fail_on_nan_loss=True):
    self._loss_tensor, self._fail_on_nan_loss = loss_tensor, fail_on_nan_loss

  def before_run(self, run_context):
    return SessionRunArgs(self._loss_tensor)

  def after_run(self, run_context, run_values):
    import numpy as np
    if not np.isnan(run_values.results):
      return
    text = 'Model diverged with loss = NaN.'
    if self._fail_on_nan_loss:
      log.error(text)
      raise NanLossDuringTrainingError
    log.warning(text)
    run_context.request_stop()   # the loop ends without an error


@export('train.GlobalStepWaiterHook')
class GlobalStepWaiterHook(SessionRunHook):
  """Waits before the first step until the global step, which other processes raise, is so large."""

  def __init__(self, wait_until_step):
    self._wait_until_step = wait_until_step
    self._global_step_tensor = None
    self._worker_is_started = False

  def begin(self):
    self._worker_is_started = False
    self._global_step_tensor = required_step('GlobalStepWaiterHook')

  def before_run(self, run_context):
    if self._worker_is_started:
      return None
    if self._wait_until_step <= 0:
      self._worker_is_started = True
      return None
    log.info('Waiting for global step %d before starting training.', self._wait_until_step)
    logged = 0
    while True:
      current = run_context.session.run(self._global_step_tensor)
      if current >= self._wait_until_step:
        self._worker_is_started = True
        return None
      if current - logged > 1000:
        log.info('Waiting for global step %d before starting training. Current step is %d.',
                 self._wait_until_step, current)
        logged = current
      time.sleep(0.5)


@export('train.FinalOpsHook')
class FinalOpsHook(SessionRunHook):
  """Fetches something at the end; final_ops_values has it then."""

  def __init__(self, final_ops, final_ops_feed_dict=None):
    self._final_ops, self._final_ops_feed_dict = final_ops, final_ops_feed_dict
    self._final_ops_values = None

  @property
  def final_ops_values(self):
    return self._final_ops_values

  def end(self, session):
    if self._final_ops is None:
      return
    try:
      self._final_ops_values = session.run(self._final_ops, feed_dict=self._final_ops_feed_dict)
    except (errors.OutOfRangeError, StopIteration) as error:
      log.warning('An OutOfRangeError or StopIteration exception is raised by the code in '
                  'FinalOpsHook. This typically means the Ops running by the FinalOpsHook have a '
                  'dependency back to some input source, which should not happen. %s', error)
      raise


@export('train.FeedFnHook')
class FeedFnHook(SessionRunHook):
  """Feeds each step what a function gives."""

  def __init__(self, feed_fn):
    self.feed_fn = feed_fn
    self.hooks = None

  def before_run(self, run_context):
    return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
