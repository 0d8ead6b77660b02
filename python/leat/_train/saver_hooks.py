"""Hooks of monitored sessions that write files: checkpoints, summaries, the speed of steps, traces.

All of them ask for the global step in each step. Its value may be from before or after the step, so
that the counter is read once more when something may be due.
"""
from __future__ import annotations

import os

from leat._export import export
from leat._graph import graph as graphs
from leat._graph import message
from leat._graph.scope import GraphKeys
from leat._platform import log
from leat._train import events, hooks, step as steps
from leat._train.hook import SessionRunArgs, SessionRunHook


@export('train.CheckpointSaverListener')
class CheckpointSaverListener:
  """Is called by CheckpointSaverHook around each checkpoint. after_save() may give True, which asks
  to stop training."""

  def begin(self):
    pass

  def before_save(self, session, global_step_value):
    pass

  def after_save(self, session, global_step_value):
    pass

  def end(self, session, global_step_value):
    pass


@export('train.CheckpointSaverHook')
class CheckpointSaverHook(SessionRunHook):
  """Writes a checkpoint when a session is made, every so many seconds or steps, and at the end."""

  def __init__(self, checkpoint_dir, save_secs=None, save_steps=None, saver=None,
               checkpoint_basename='model.ckpt', scaffold=None, listeners=None,
               save_graph_def=True):
    if saver is not None and scaffold is not None:
      raise ValueError('You cannot provide both saver and scaffold.')
    self._saver, self._scaffold = saver, scaffold
    self._checkpoint_dir = checkpoint_dir
    self._save_path = os.path.join(checkpoint_dir, checkpoint_basename)
    self._timer = hooks.SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
    self._listeners = listeners or []
    self._save_graph_def = save_graph_def
    self._steps_per_run = 1
    self._summary_writer = self._global_step_tensor = None

  def _set_steps_per_run(self, steps_per_run):
    self._steps_per_run = steps_per_run

  def begin(self):
    self._summary_writer = events.FileWriterCache.get(self._checkpoint_dir)
    self._global_step_tensor = hooks.required_step('CheckpointSaverHook')
    for listener in self._listeners:
      listener.begin()

  def after_create_session(self, session, coord):
    global_step = session.run(self._global_step_tensor)
    graph = graphs.get_default_graph()
    if self._save_graph_def:
      steps.write_graph(graph.as_graph_def(add_shapes=True), self._checkpoint_dir, 'graph.pbtxt')
    self._summary_writer.add_graph(graph)
    self._summary_writer.add_meta_graph(_meta_graph(graph, self._get_saver()))
    self._save(session, global_step)
    self._timer.update_last_triggered_step(global_step)

  def before_run(self, run_context):
    return SessionRunArgs(self._global_step_tensor)

  def after_run(self, run_context, run_values):
    if not self._timer.should_trigger_for_step(run_values.results + self._steps_per_run):
      return
    global_step = run_context.session.run(self._global_step_tensor)
    if self._timer.should_trigger_for_step(global_step):
      self._timer.update_last_triggered_step(global_step)
      if self._save(run_context.session, global_step):
        run_context.request_stop()

  def end(self, session):
    last_step = session.run(self._global_step_tensor)
    if last_step != self._timer.last_triggered_step():
      self._save(session, last_step)
    for listener in self._listeners:
      listener.end(session, last_step)

  def _save(self, session, step):
    """Writes a checkpoint; whether a listener asks to stop."""
    log.info('Saving checkpoints for %d into %s.', step, self._save_path)
    for listener in self._listeners:
      listener.before_save(session, step)
    self._get_saver().save(session, self._save_path, global_step=int(step),
                           write_meta_graph=self._save_graph_def)
    SessionLog = message.of('SessionLog')
    self._summary_writer.add_session_log(
        SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path), step)
    stops = False
    for listener in self._listeners:
      if listener.after_save(session, step):
        log.info('A CheckpointSaverListener requested that training be stopped. listener: %s',
                 listener)
        stops = True
    return stops

  def _get_saver(self):
    if self._saver is not None:
      return self._saver
    if self._scaffold is not None:
      return self._scaffold.saver
    found = graphs.get_default_graph().get_collection(GraphKeys.SAVERS)
    if not found:
      raise RuntimeError('No items in collection %s. Please add a saver to the collection or '
                         'provide a saver or scaffold.' % GraphKeys.SAVERS)
    if len(found) > 1:
      raise RuntimeError('More than one item in collection %s. Please indicate which one to use by '
                         'passing it to the constructor.' % GraphKeys.SAVERS)
    self._saver = found[0]
    return self._saver


def _meta_graph(graph, saver):
  from leat._graph import meta_graph
  return meta_graph.make(graph, saver.saver_def if saver else None)


@export('train.StepCounterHook')
class StepCounterHook(SessionRunHook):
  """Logs how many steps a second are run, and writes it as a summary."""

  def __init__(self, every_n_steps=100, every_n_secs=None, output_dir=None, summary_writer=None):
    if (every_n_steps is None) == (every_n_secs is None):
      raise ValueError('exactly one of every_n_steps and every_n_secs should be provided.')
    self._timer = hooks.SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
    self._summary_writer, self._output_dir = summary_writer, output_dir
    self._last_global_step, self._warnings = None, 0
    self._steps_per_run = 1
    self._global_step_tensor = self._summary_tag = None

  def _set_steps_per_run(self, steps_per_run):
    self._steps_per_run = steps_per_run

  def begin(self):
    if self._summary_writer is None and self._output_dir:
      self._summary_writer = events.FileWriterCache.get(self._output_dir)
    self._global_step_tensor = hooks.required_step('StepCounterHook')
    self._summary_tag = steps.get_global_step().op.name + '/sec'

  def before_run(self, run_context):
    return SessionRunArgs(self._global_step_tensor)

  def after_run(self, run_context, run_values):
    stale = run_values.results
    if self._timer.should_trigger_for_step(stale + self._steps_per_run):
      global_step = run_context.session.run(self._global_step_tensor)
      if self._timer.should_trigger_for_step(global_step):
        elapsed_time, elapsed_steps = self._timer.update_last_triggered_step(global_step)
        if elapsed_time is not None:
          self._log_and_record(elapsed_steps, elapsed_time, global_step)
    self._warn_where_still(stale)
    self._last_global_step = stale

  def _warn_where_still(self, step):
    """Warns a few times where the global step is not raised."""
    if self._last_global_step != step or self._warnings >= 5:
      return
    self._warnings += 1
    log.warning('It seems that global step (tf.train.get_global_step) has not been increased. '
                'Current value (could be stable): %s vs previous value: %s. You could increase the '
                'global step by passing tf.train.get_global_step() to Optimizer.apply_gradients or '
                'Optimizer.minimize.', step, self._last_global_step)

  def _log_and_record(self, elapsed_steps, elapsed_time, global_step):
    rate = elapsed_steps / elapsed_time
    if self._summary_writer is not None:
      Summary = message.of('Summary')
      self._summary_writer.add_summary(
          Summary(value=[Summary.Value(tag=self._summary_tag, simple_value=rate)]), global_step)
    log.info('%s: %g', self._summary_tag, rate)


@export('train.SummarySaverHook')
class SummarySaverHook(SessionRunHook):
  """Writes summaries every so many steps or seconds: those of `summary_op`, a tensor or a list of
  them, or of a scaffold."""

  def __init__(self, save_steps=None, save_secs=None, output_dir=None, summary_writer=None,
               scaffold=None, summary_op=None):
    if (scaffold is None) == (summary_op is None):
      raise ValueError('Exactly one of scaffold or summary_op must be provided.')
    self._summary_op, self._scaffold = summary_op, scaffold
    self._summary_writer, self._output_dir = summary_writer, output_dir
    self._timer = hooks.SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
    self._next_step = self._global_step_tensor = None
    self._request_summary = False

  def begin(self):
    if self._summary_writer is None and self._output_dir:
      self._summary_writer = events.FileWriterCache.get(self._output_dir)
    self._next_step = None
    self._global_step_tensor = hooks.required_step('SummarySaverHook')

  def before_run(self, run_context):
    self._request_summary = self._next_step is None or self._timer.should_trigger_for_step(
        self._next_step)
    requests = {'global_step': self._global_step_tensor}
    if self._request_summary:
      summaries = self._get_summary_op()
      if summaries is not None:
        requests['summary'] = summaries
    return SessionRunArgs(requests)

  def after_run(self, run_context, run_values):
    if not self._summary_writer:
      return
    global_step = run_values.results['global_step'] + 1
    if self._next_step is None or self._request_summary:
      global_step = run_context.session.run(self._global_step_tensor)
    if self._next_step is None:
      SessionLog = message.of('SessionLog')
      self._summary_writer.add_session_log(SessionLog(status=SessionLog.START), global_step)
    if self._request_summary:
      self._timer.update_last_triggered_step(global_step)
      for item in run_values.results.get('summary', ()):
        self._summary_writer.add_summary(item, global_step)
    self._next_step = global_step + 1

  def end(self, session=None):
    if self._summary_writer:
      self._summary_writer.flush()

  def _get_summary_op(self):
    """A list of tensors, or None."""
    found = self._summary_op
    if found is None:
      found = self._scaffold.summary_op
    if found is None or isinstance(found, list):
      return found
    return [found]


@export('train.ProfilerHook')
class ProfilerHook(SessionRunHook):
  """Traces a step every so many steps or seconds, and writes output_dir/timeline-<step>.json, which
  the browser's chrome://tracing shows."""

  def __init__(self, save_steps=None, save_secs=None, output_dir='', show_dataflow=True,
               show_memory=False):
    self._output_file = os.path.join(output_dir, 'timeline-{}.json')
    self._file_writer_dir = output_dir
    self._show_dataflow, self._show_memory = show_dataflow, show_memory
    self._timer = hooks.SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
    self._next_step = self._global_step_tensor = None
    self._request_summary = False

  def begin(self):
    self._next_step = None
    self._file_writer = events.FileWriterCache.get(self._file_writer_dir)
    self._global_step_tensor = hooks.required_step('ProfilerHook')

  def before_run(self, run_context):
    self._request_summary = self._next_step is not None and self._timer.should_trigger_for_step(
        self._next_step)
    options = None
    if self._request_summary:
      RunOptions = message.of('RunOptions')
      options = RunOptions(trace_level=RunOptions.FULL_TRACE)
    return SessionRunArgs({'global_step': self._global_step_tensor}, options=options)

  def after_run(self, run_context, run_values):
    stale = run_values.results['global_step']
    if self._next_step is None:
      self._timer.update_last_triggered_step(stale)   # the first step is not traced
    global_step = stale + 1
    if self._request_summary:
      global_step = run_context.session.run(self._global_step_tensor)
      self._timer.update_last_triggered_step(global_step)
      self._save(global_step, self._output_file.format(global_step),
                 run_values.run_metadata.step_stats)
      self._file_writer.add_run_metadata(run_values.run_metadata, 'step_%d' % global_step)
    self._next_step = global_step + 1

  def _save(self, step, save_path, step_stats):
    from leat._train import timeline
    log.info('Saving timeline for %d into %r.', step, save_path)
    with open(save_path, 'w', encoding='utf-8') as f:
      f.write(timeline.Timeline(step_stats).generate_chrome_trace_format(
          show_dataflow=self._show_dataflow, show_memory=self._show_memory))
