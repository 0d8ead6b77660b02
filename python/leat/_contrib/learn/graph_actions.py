"""contrib.learn.graph_actions: training, evaluation and inference over a graph that is built."""
from __future__ import annotations

import os

from leat._contrib import variables as global_step
from leat._contrib.learn import monitors as monitors_of
from leat._export import export
from leat._graph import errors
from leat._graph import graph as graphs
from leat._graph.scope import GraphKeys
from leat._ops import lookup
from leat._ops import variable_collections
from leat._platform import log
from leat._session.session import Session
from leat._train import coordinator, events, ready_session, saver, scaffold, summary, supervisor
from leat._train.checkpoint_reader import load_variable
from leat._train.hooks import NanLossDuringTrainingError

EXPORTS = {'contrib.learn.graph_actions.coordinator.Coordinator': 'Coordinator'}
Coordinator = coordinator.Coordinator


@export('contrib.learn.graph_actions.clear_summary_writers')
def clear_summary_writers():
  """Closes and forgets the writers that get_summary_writer gave."""
  events.FileWriterCache.clear()


@export('contrib.learn.graph_actions.get_summary_writer')
def get_summary_writer(logdir):
  """The writer of event files in a folder, one for each folder."""
  return events.FileWriterCache.get(logdir)


# ---- Inference ----------------------------------------------------------------------------------


@export('contrib.learn.graph_actions.run_feeds_iter')
def run_feeds_iter(output_dict, feed_dicts, restore_checkpoint_path=None):
  """Yields the values of a dict of tensors for each of the feed_dicts. Variables are restored from
  the checkpoint where one is given, else initialized."""
  if not output_dict:
    raise ValueError('output_dict is invalid: %s.' % output_dict)
  if not feed_dicts:
    raise ValueError('feed_dicts is invalid: %s.' % feed_dicts)
  graph = graphs.of_inputs(list(output_dict.values()))
  with graph.as_default(), Session(graph=graph) as session:
    session.run(_initializer_of_resources())
    if restore_checkpoint_path:
      _saver_of(graph).restore(session, restore_checkpoint_path)
    else:
      session.run(variable_collections.global_variables_initializer())
    session.run(variable_collections.local_variables_initializer())
    session.run(lookup.tables_initializer())
    with _queue_runners(session):
      for feed_dict in feed_dicts:
        yield session.run(output_dict, feed_dict)


def _initializer_of_resources():
  graph = graphs.get_default_graph()
  return scaffold.initialize_resources(
      graph.get_collection(GraphKeys.RESOURCES) + graph.get_collection(GraphKeys.LOCAL_RESOURCES))


class _queue_runners:
  """The threads of the graph's queue runners, for the time of a `with`."""

  def __init__(self, session):
    self._session, self._coordinator = session, coordinator.Coordinator()

  def __enter__(self):
    self._threads = coordinator.start_queue_runners(self._session, self._coordinator)

  def __exit__(self, *unused):
    self._coordinator.request_stop()
    if self._threads:
      self._coordinator.join(self._threads, stop_grace_period_secs=120)


@export('contrib.learn.graph_actions.run_feeds')
def run_feeds(*args, **kwargs):
  """The same as a list."""
  return list(run_feeds_iter(*args, **kwargs))


@export('contrib.learn.graph_actions.run_n')
def run_n(output_dict, feed_dict=None, restore_checkpoint_path=None, n=1):
  """The values of a dict of tensors in each of n steps, as a list."""
  return run_feeds(output_dict, [feed_dict] * n, restore_checkpoint_path)


@export('contrib.learn.graph_actions.infer')
def infer(restore_checkpoint_path, output_dict, feed_dict=None):
  """The values of a dict of tensors."""
  return run_n(output_dict, feed_dict, restore_checkpoint_path)[0]


# ---- Training -----------------------------------------------------------------------------------


@export('contrib.learn.graph_actions.train')
def train(graph, output_dir, train_op, loss_op, global_step_tensor=None, init_op=None,
          init_feed_dict=None, init_fn=None, log_every_steps=10, supervisor_is_chief=True,
          supervisor_master='', supervisor_save_model_secs=600, keep_checkpoint_max=5,
          supervisor_save_summaries_steps=100, feed_fn=None, steps=None, fail_on_nan_loss=True,
          monitors=None, max_steps=None):
  """Runs train_op until `steps` steps are done, or the global step is max_steps, or the input ends,
  with a checkpoint and summaries in output_dir. Gives the last loss, None where no step ran."""
  if steps is not None and max_steps is not None:
    raise ValueError('Can not provide both steps and max_steps.')
  for missing, text in ((not output_dir, 'Output directory should be non-empty %s.' % output_dir),
                        (train_op is None, 'Missing train_op.'),
                        (loss_op is None, 'Missing loss_op.')):
    if missing:
      raise ValueError(text)
  with graph.as_default():
    counter = _global_step_of(graph, global_step_tensor)
    if steps:
      max_steps = _step_of_checkpoint(output_dir, counter) + steps
    writer = get_summary_writer(output_dir) if supervisor_is_chief else None
    monitors = _monitors(monitors, loss_op, supervisor_is_chief, supervisor_save_summaries_steps,
                         writer)
    for monitor in monitors:
      monitor.begin(max_steps=max_steps)
    default = supervisor.Supervisor.USE_DEFAULT
    overseer = supervisor.Supervisor(
        graph, init_op=default if init_op is None else init_op, init_feed_dict=init_feed_dict,
        is_chief=supervisor_is_chief, logdir=output_dir, global_step=counter, summary_op=None,
        saver=_saver_of(graph, keep_checkpoint_max), summary_writer=writer,
        save_model_secs=supervisor_save_model_secs, init_fn=init_fn)
    session = overseer.prepare_or_wait_for_session(supervisor_master, start_standard_services=True)
    overseer.start_queue_runners(session)
  with session:
    training = _Training(session, overseer, [train_op, loss_op], counter, monitors)
    try:
      training.run(max_steps, feed_fn, fail_on_nan_loss, log_every_steps)
    except (errors.OutOfRangeError, StopIteration) as error:
      log.info('Training ends with its input: %s', error)
    finally:
      overseer.stop(close_summary_writer=False)
    if supervisor_is_chief:
      overseer.saver.save(session, os.path.join(output_dir, 'model.ckpt'),
                          global_step=training.step)
    for monitor in monitors:
      monitor.end()
  return training.loss


def _global_step_of(graph, given):
  found = global_step.assert_or_get_global_step(graph, given)
  if found is None:
    raise ValueError('No "global_step" was provided or created.')
  return found


def _step_of_checkpoint(output_dir, counter):
  try:
    return load_variable(output_dir, counter.name)
  except (errors.NotFoundError, ValueError):
    return 0


def _monitors(given, loss_op, is_chief, save_summary_steps, writer):
  """Those that this worker runs; the chief has some of its own where none are given."""
  if not given and is_chief:
    return monitors_of.get_default_monitors(
        loss_op=loss_op,
        summary_op=supervisor._kept(GraphKeys.SUMMARY_OP, summary.merge_all),
        save_summary_steps=save_summary_steps, summary_writer=writer)
  return [m for m in given or [] if is_chief or m.run_on_all_workers]


class _Training:
  """Steps with monitors. `step` and `loss` are those of the last."""

  def __init__(self, session, overseer, fetches, counter, monitors):
    self._session, self._overseer, self._fetches = session, overseer, fetches
    self._counter, self._monitors = counter, monitors
    self.step, self.loss = session.run(counter), None

  def run(self, max_steps, feed_fn, fail_on_nan_loss, log_every_steps):
    logged = self.step
    while not self._overseer.should_stop() and (max_steps is None or self.step < max_steps):
      ends = self._run_step(feed_fn() if feed_fn is not None else None)
      self._check_loss(fail_on_nan_loss)
      if ends:
        return
      before, self.step = self.step, self._session.run(self._counter)
      if self.step <= before:
        log.error('Global step was not incremented by train op at step %s: new step %d', before,
                  self.step)
      if self.step - logged >= log_every_steps or self.step == max_steps:
        log.info('training step %d, loss = %.5f', self.step, self.loss)
        logged = self.step

  def _run_step(self, feed_dict):
    """One step; whether a monitor ends the training."""
    number, fetches = self.step + 1, list(self._fetches)
    for monitor in self._monitors:
      fetches += monitor.step_begin(number) or []
    names = [f if isinstance(f, str) else f.name for f in fetches]
    outputs = dict(zip(names, self._session.run(fetches, feed_dict)))
    self.loss = outputs[self._fetches[1].name]
    ends = [monitor.step_end(number, outputs) for monitor in self._monitors]
    for monitor in self._monitors:
      monitor.post_step(number, self._session)
    return any(ends)

  def _check_loss(self, fails):
    if self.loss == self.loss:
      return
    if fails:
      raise NanLossDuringTrainingError()
    log.warning('Model diverged with loss = NaN.')


# ---- Evaluation ---------------------------------------------------------------------------------


@export('contrib.learn.graph_actions.evaluate')
def evaluate(graph, output_dir, checkpoint_path, eval_dict, update_op=None, global_step_tensor=None,
             supervisor_master='', log_every_steps=10, feed_fn=None, max_steps=None):
  """Runs update_op, or eval_dict where there is none, until the input ends, at most max_steps
  times. Gives (the last values of eval_dict, the global step), which are written as summaries."""
  if not output_dir:
    raise ValueError('Output directory should be non-empty %s.' % output_dir)
  with graph.as_default():
    counter = _global_step_of(graph, global_step_tensor)
    saver_of = _saver_of(graph)
    manager = ready_session.SessionManager(
        local_init_op=supervisor._kept(GraphKeys.LOCAL_INIT_OP,
                                       scaffold.Scaffold.default_local_init_op),
        ready_op=supervisor._kept(GraphKeys.READY_OP,
                                  variable_collections.report_uninitialized_variables),
        ready_for_local_init_op=supervisor._first(GraphKeys.READY_FOR_LOCAL_INIT_OP))
    session, initialized = manager.recover_session(
        master=supervisor_master, saver=saver_of, checkpoint_dir=checkpoint_path)
    with session:
      if not initialized:
        log.warning('Failed to initialize from %s.', checkpoint_path)
        session.run(variable_collections.global_variables_initializer())
        if checkpoint_path:
          saver_of.restore(session, checkpoint_path)
      current = session.run(counter)
      with _queue_runners(session):
        values = _evaluated(session, eval_dict, update_op, feed_fn, max_steps, log_every_steps)
  _write(output_dir, values, current)
  return values, current


def _evaluated(session, eval_dict, update_op, feed_fn, max_steps, log_every_steps):
  values, step, feed_dict = None, 0, None
  try:
    while max_steps is None or step < max_steps:
      feed_dict = feed_fn() if feed_fn is not None else None
      found = session.run(eval_dict if update_op is None else update_op, feed_dict)
      step += 1
      if update_op is None:
        values = found
      if step % log_every_steps == 0:
        log.info('Evaluated %d steps', step)
  except (errors.OutOfRangeError, StopIteration) as error:
    log.info('Evaluation ends with its input: %s', error)
  return session.run(eval_dict, feed_dict) if values is None else values


def _write(output_dir, values, step):
  """Writes those of the values that are numbers, or summaries, as an event."""
  from leat._graph import message
  made = message.of('Summary')()
  for name, value in sorted((values or {}).items()):
    if isinstance(value, bytes):
      made.MergeFromString(value)
    elif hasattr(value, 'dtype') and not value.shape and value.dtype.kind in 'iufb':
      made.value.add(tag=name, simple_value=float(value))
    else:
      log.warning('Skipping summary for %s, which is no number and no summary.', name)
  writer = get_summary_writer(output_dir)
  writer.add_summary(made, step)
  writer.flush()


def _saver_of(graph, max_to_keep=5):
  """The saver of the graph's collection, made where there is none and there is what to save."""
  found = graph.get_collection(GraphKeys.SAVERS)
  if found:
    return found[0]
  with graph.as_default():
    if not variable_collections.global_variables():
      return None
    made = saver.Saver(sharded=True, max_to_keep=max_to_keep)
    graph.add_to_collection(GraphKeys.SAVERS, made)
  return made
