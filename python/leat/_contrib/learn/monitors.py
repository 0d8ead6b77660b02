"""contrib.learn.monitors: what watched training before there were hooks.

A monitor is asked before each step which tensors it wants, gets their values after it, and may end
training. RunHookAdapterForMonitors lets monitors be used where hooks are.
"""
from __future__ import annotations

import os
import time

from leat._export import export
from leat._graph import graph as graphs
from leat._graph import message
from leat._graph.scope import GraphKeys
from leat._platform import log
from leat._train import events



@export('contrib.learn.monitors.BaseMonitor')
class BaseMonitor:
  """The base of monitors: checks the order of calls."""

  def __init__(self):
    self._begun = False
    self._current_epoch = self._current_step = None
    self._max_steps = self._estimator = None
    self._estimator_locked = False

  @property
  def run_on_all_workers(self):
    """Whether it is used by others than the chief."""
    return False

  def set_estimator(self, estimator):
    """Called by the estimator before begin()."""
    if self._estimator_locked:
      return
    if estimator is None:
      raise ValueError('Missing estimator.')
    self._estimator = estimator

  def _lock_estimator(self):
    self._estimator_locked = True

  def _unlock_estimator(self):
    self._estimator_locked = False

  def begin(self, max_steps=None):
    """Called once before training."""
    if self._begun:
      raise ValueError('begin called twice without end.')
    self._max_steps, self._begun = max_steps, True

  def end(self, session=None):
    """Called once after training."""
    del session
    if not self._begun:
      raise ValueError('end called without begin.')
    self._max_steps, self._begun = None, False

  def epoch_begin(self, epoch):
    if self._current_epoch is not None:
      raise ValueError('epoch_begin called twice without epoch_end.')
    if epoch < 0:
      raise ValueError('Invalid epoch %s.' % epoch)
    self._current_epoch = epoch

  def epoch_end(self, epoch):
    if self._current_epoch != epoch:
      raise ValueError('epoch_end expected %s but got %s.' % (self._current_epoch, epoch))
    self._current_epoch = None

  def step_begin(self, step):
    """The tensors, or their names, that the monitor wants of the step."""
    if step < 0:
      raise ValueError('Invalid step %s.' % step)
    self._current_step = step
    return []

  def step_end(self, step, output):
    """Gets {name: value}; whether training shall end."""
    del output
    if self._current_step != step:
      raise ValueError('This is bad. Expected step %s but got %s.' % (self._current_step, step))
    self._current_step = None
    return False

  def post_step(self, step, session):
    """Called after each step, when what it did is in the session."""


def step_name(output_name):
  """The name of an operation, of that of a tensor."""
  return output_name.rpartition(':')[0] or output_name


@export('contrib.learn.monitors.EveryN')
class EveryN(BaseMonitor):
  """Calls every_n_* in each of the first steps, every n steps, and in the last one."""

  def __init__(self, every_n_steps=100, first_n_steps=1):
    super().__init__()
    self._every_n_steps, self._first_n_steps = every_n_steps, first_n_steps
    self._last_successful_step = self._last_active_step = 0
    self._is_active = False

  def begin(self, max_steps=None):
    super().begin(max_steps)

  def every_n_step_begin(self, step):
    """The tensors that are wanted."""
    return []

  def every_n_step_end(self, step, outputs):
    """Gets their values; whether training shall end."""
    return False

  def every_n_post_step(self, step, session):
    """Called after such a step."""

  def step_begin(self, step):
    super().step_begin(step)
    if step <= self._first_n_steps or step == self._max_steps or \
        step >= self._every_n_steps + self._last_successful_step:
      self._is_active = True
      return self.every_n_step_begin(step)
    return []

  def step_end(self, step, output):
    super().step_end(step, output)
    return self.every_n_step_end(step, output) if self._is_active else False

  def post_step(self, step, session):
    super().post_step(step, session)
    if self._is_active:
      self.every_n_post_step(step, session)
      self._last_successful_step = step
    self._last_active_step, self._is_active = step, False

  def end(self, session=None):
    super().end(session=session)
    if self._last_successful_step != self._last_active_step:
      self.every_n_post_step(self._last_active_step, session)


@export('contrib.learn.monitors.StopAtStep')
class StopAtStep(BaseMonitor):
  """Ends training after num_steps, or with the step last_step."""

  def __init__(self, num_steps=None, last_step=None):
    super().__init__()
    if (num_steps is None) == (last_step is None):
      raise ValueError('One of num_steps and last_step must be specified.')
    self._num_steps, self._last_step = num_steps, last_step

  run_on_all_workers = property(lambda self: True)

  def step_begin(self, step):
    super().step_begin(step)
    if self._last_step is None:
      self._last_step = step + self._num_steps - 1
    return []

  def step_end(self, step, output):
    super().step_end(step, output)
    return step >= self._last_step


@export('contrib.learn.monitors.PrintTensor')
class PrintTensor(EveryN):
  """Logs the values of tensors, a list of names or {label: name}."""

  def __init__(self, tensor_names, every_n=100, first_n=1):
    super().__init__(every_n, first_n)
    self._names = tensor_names if isinstance(tensor_names, dict) else {
        name: name for name in tensor_names}

  def every_n_step_begin(self, step):
    super().every_n_step_begin(step)
    return list(self._names.values())

  def every_n_step_end(self, step, outputs):
    super().every_n_step_end(step, outputs)
    found = ['%s = %s' % (label, outputs[name]) for label, name in self._names.items()
             if name in outputs]
    log.info('Step %d: %s', step, ', '.join(found))
    return False


@export('contrib.learn.monitors.LoggingTrainable')
class LoggingTrainable(EveryN):
  """Logs the values of the trainable variables of a scope."""

  def __init__(self, scope=None, every_n=100, first_n=1):
    super().__init__(every_n, first_n)
    self._scope = scope

  def every_n_step_begin(self, step):
    super().every_n_step_begin(step)
    self._names = [v.name for v in graphs.get_default_graph().get_collection(
        GraphKeys.TRAINABLE_VARIABLES, self._scope)]
    return self._names

  def every_n_step_end(self, step, outputs):
    super().every_n_step_end(step, outputs)
    log.info('Logging Trainable: Step %d: %s', step, ', '.join(
        '%s = %s' % (n, outputs[n]) for n in self._names if n in outputs))
    return False


@export('contrib.learn.monitors.CaptureVariable')
class CaptureVariable(EveryN):
  """Keeps the values of a tensor, {step: value}."""

  def __init__(self, var_name, every_n=100, first_n=1):
    super().__init__(every_n, first_n)
    self._var_name, self._values = var_name, {}

  values = property(lambda self: self._values)

  def every_n_step_begin(self, step):
    super().every_n_step_begin(step)
    return [self._var_name]

  def every_n_step_end(self, step, outputs):
    super().every_n_step_end(step, outputs)
    self._values[step] = outputs[self._var_name]
    return False


@export('contrib.learn.monitors.NanLoss')
class NanLoss(EveryN):
  """Raises NanLossDuringTrainingError, or ends training, where the loss is not a number."""

  def __init__(self, loss_tensor, every_n_steps=100, fail_on_nan_loss=True):
    super().__init__(every_n_steps)
    self._loss_tensor, self._fails = loss_tensor, fail_on_nan_loss

  run_on_all_workers = property(lambda self: True)

  def every_n_step_begin(self, step):
    super().every_n_step_begin(step)
    return [self._loss_tensor]

  def every_n_step_end(self, step, outputs):
    import numpy as np
    from leat._train.hooks import NanLossDuringTrainingError
    super().every_n_step_end(step, outputs)
    name = self._loss_tensor if isinstance(self._loss_tensor, str) else self._loss_tensor.name
    if not np.isnan(outputs[name]):
      return False
    log.error('Model diverged with loss = NaN.')
    if self._fails:
      raise NanLossDuringTrainingError
    return True


@export('contrib.learn.monitors.SummarySaver')
class SummarySaver(EveryN):
  """Writes a summary, of summary_op or of a scaffold, every save_steps."""

  def __init__(self, summary_op, save_steps=100, output_dir=None, summary_writer=None,
               scaffold=None):
    super().__init__(save_steps)
    self._summary_op, self._scaffold = summary_op, scaffold
    self._writer = summary_writer
    if summary_writer is None and output_dir:
      self._writer = events.FileWriterCache.get(output_dir)

  def every_n_step_begin(self, step):
    super().every_n_step_begin(step)
    found = self._summary_op
    if found is None and self._scaffold is not None:
      found = self._scaffold.summary_op
    return [] if found is None else [found]

  def every_n_step_end(self, step, outputs):
    super().every_n_step_end(step, outputs)
    if self._writer is not None:
      for value in (outputs or {}).values():
        self._writer.add_summary(value, step)
    return False

  def end(self, session=None):
    super().end(session=session)
    if self._writer is not None:
      self._writer.flush()


@export('contrib.learn.monitors.StepCounter')
class StepCounter(EveryN):
  """Writes how many steps a second are run as the summary global_step/sec."""

  def __init__(self, every_n_steps=100, output_dir=None, summary_writer=None):
    super().__init__(every_n_steps)
    self._summary_writer = summary_writer
    if summary_writer is None and output_dir:
      self._summary_writer = events.FileWriterCache.get(output_dir)
    self._last_reported = None

  def every_n_step_end(self, step, outputs):
    super().every_n_step_end(step, outputs)
    now = time.monotonic()
    if self._last_reported is not None and self._summary_writer is not None:
      before, then = self._last_reported
      Summary = message.of('Summary')
      self._summary_writer.add_summary(Summary(value=[Summary.Value(
          tag='global_step/sec', simple_value=(step - before) / (now - then))]), step)
    self._last_reported = step, now
    return False


@export('contrib.learn.monitors.GraphDump')
class GraphDump(BaseMonitor):
  """Keeps the values of all tensors of each step in `data`, {step: {name: value}}."""

  IGNORE_OPS = ['Const', 'Assign', 'Identity', 'Placeholder', 'RandomUniform', 'Cast',
                'RestoreSlice']

  def __init__(self, ignore_ops=None):
    super().__init__()
    self._ignore_ops = self.IGNORE_OPS if ignore_ops is None else ignore_ops
    self._data = {}

  data = property(lambda self: self._data)

  def step_begin(self, step):
    super().step_begin(step)
    return [t.name for op in graphs.get_default_graph().get_operations()
            if op.type not in self._ignore_ops for t in op.outputs]

  def step_end(self, step, output):
    super().step_end(step, output)
    self._data[step] = output
    return False


@export('contrib.learn.monitors.CheckpointSaver')
class CheckpointSaver(BaseMonitor):
  """Writes a checkpoint in the first step, every save_secs or save_steps, and at the end."""

  def __init__(self, checkpoint_dir, save_secs=None, save_steps=None, saver=None,
               checkpoint_basename='model.ckpt', scaffold=None):
    super().__init__()
    if (save_secs is None) == (save_steps is None):
      raise ValueError('Exactly one of save_secs and save_steps should be provided.')
    self._saver, self._scaffold = saver, scaffold
    self._checkpoint_dir = checkpoint_dir
    self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
    self._save_secs, self._save_steps = save_secs, save_steps
    self._last_saved_time = self._last_saved_step = self._last_begin_step = None

  def begin(self, max_steps=None):
    super().begin(max_steps)
    self._last_saved_time = self._last_saved_step = self._last_begin_step = None

  def step_begin(self, step):
    super().step_begin(step)
    self._last_begin_step = step
    return []

  def post_step(self, step, session):
    super().post_step(step, session)
    due = self._last_saved_time is None or \
        self._save_steps is not None and step >= self._last_saved_step + self._save_steps or \
        self._save_secs is not None and time.monotonic() >= self._last_saved_time + self._save_secs
    if due:
      self._save(step, session)

  def end(self, session=None):
    super().end(session)
    if self._last_begin_step is not None and self._last_begin_step != self._last_saved_step:
      self._save(self._last_begin_step, session)

  def _save(self, step, session):
    log.info('Saving checkpoints for %d into %s.', step, self._save_path)
    self._last_saved_time, self._last_saved_step = time.monotonic(), step
    saver = self._saver or self._scaffold.saver
    saver.save(session, self._save_path, global_step=step)


@export('contrib.learn.monitors.get_default_monitors')
def get_default_monitors(loss_op=None, summary_op=None, save_summary_steps=100, output_dir=None,
                         summary_writer=None):
  """Monitors that print the loss and save summaries, for those that are given."""
  found = []
  if loss_op is not None:
    found.append(PrintTensor({'loss': loss_op.name}))
  if summary_op is not None:
    found.append(SummarySaver(summary_op, save_summary_steps, output_dir, summary_writer))
  return found
