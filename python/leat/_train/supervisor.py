"""Supervisor: a session of a training program together with the threads that serve it: queue
runners, and on the chief those that write checkpoints, summaries and the speed of steps.

The chief initializes the model or restores it from its folder; other processes wait until it is
ready. Where the program gives none, the operations for this are made by the constructor and kept in
collections of the graph, which is finalized then.
"""
from __future__ import annotations

import contextlib
import os
import time

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import errors
from leat._graph import graph as graphs
from leat._graph import message
from leat._graph.scope import GraphKeys
from leat._ops import control, lookup, variable_collections
from leat._platform import log
from leat._train import coordinator, events, ready_session, step as steps, summary


def _first(collection):
  found = graphs.get_default_graph().get_collection(collection)
  return found[0] if found else None


def _kept(collection, make):
  """The first item of a collection; made and added where it is empty, unless it is made None."""
  found = _first(collection)
  if found is None:
    found = make()
    if found is not None:
      graphs.get_default_graph().add_to_collection(collection, found)
  return found


def _default_saver():
  from leat._train import saver
  return saver.Saver() if variable_collections.global_variables() else None


def _default_step():
  """The scalar integer tensor 'global_step:0', or None."""
  try:
    found = graphs.get_default_graph().get_tensor_by_name('global_step:0')
  except KeyError:
    return None
  if found.dtype.base_dtype in (dtypes.int32, dtypes.int64):
    return found
  log.warning("Found 'global_step' is not an int type: %s", found.dtype)
  return None


@export('train.Supervisor')
class Supervisor:
  """Prepares a session of a model, starts the threads around it and stops them.

  `with sv.managed_session(master) as sess:` does all of this around a loop that runs until
  should_stop(). Arguments that are left at USE_DEFAULT are made; None means that there is none.
  """
  USE_DEFAULT = 0

  def __init__(self, graph=None, ready_op=USE_DEFAULT, ready_for_local_init_op=USE_DEFAULT,
               is_chief=True, init_op=USE_DEFAULT, init_feed_dict=None, local_init_op=USE_DEFAULT,
               logdir=None, summary_op=USE_DEFAULT, saver=USE_DEFAULT, global_step=USE_DEFAULT,
               save_summaries_secs=120, save_model_secs=600, recovery_wait_secs=30,
               stop_grace_secs=120, checkpoint_basename='model.ckpt', session_manager=None,
               summary_writer=USE_DEFAULT, init_fn=None, local_init_run_options=None):
    graph = graphs.get_default_graph() if graph is None else graph
    self._graph = graph
    with graph.as_default():
      self._make_operations(ready_op, ready_for_local_init_op, init_op, local_init_op, saver,
                            summary_op, global_step)
    self._init_feed_dict, self._init_fn = init_feed_dict, init_fn
    self._is_chief = is_chief
    self._coord = coordinator.Coordinator()
    self._recovery_wait_secs, self._stop_grace_secs = recovery_wait_secs, stop_grace_secs
    self._local_init_run_options = local_init_run_options
    self._graph_added_to_summary = False
    self._logdir = self._save_path = self._summary_writer = None
    self._save_summaries_secs = self._save_model_secs = None
    if is_chief:
      self._set_services(logdir, save_summaries_secs, save_model_secs, checkpoint_basename,
                         summary_writer)
    self._session_manager = session_manager or ready_session.SessionManager(
        local_init_op=self._local_init_op, ready_op=self._ready_op,
        ready_for_local_init_op=self._ready_for_local_init_op, graph=graph,
        recovery_wait_secs=recovery_wait_secs, local_init_run_options=local_init_run_options)
    self._verify_setup()
    graph.finalize()

  def _make_operations(self, ready_op, ready_for_local_init_op, init_op, local_init_op, saver,
                       summary_op, global_step):
    """Sets the operations to those given, or to those of the graph's collections."""
    def of(given, collection, make):
      return _kept(collection, make) if given is Supervisor.USE_DEFAULT else given
    self._ready_op = of(ready_op, GraphKeys.READY_OP,
                        variable_collections.report_uninitialized_variables)
    self._ready_for_local_init_op = of(ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP,
                                       lambda: None)
    self._init_op = of(init_op, GraphKeys.INIT_OP,
                       variable_collections.global_variables_initializer)
    self._local_init_op = of(local_init_op, GraphKeys.LOCAL_INIT_OP, lambda: control.group(
        variable_collections.local_variables_initializer(), lookup.tables_initializer()))
    self._saver = of(saver, GraphKeys.SAVERS, _default_saver)
    self._summary_op = of(summary_op, GraphKeys.SUMMARY_OP, summary.merge_all)
    self._global_step = of(global_step, GraphKeys.GLOBAL_STEP, _default_step)

  def _set_services(self, logdir, save_summaries_secs, save_model_secs, basename, summary_writer):
    """What only a chief has: it alone writes files."""
    self._logdir = logdir
    self._save_summaries_secs, self._save_model_secs = save_summaries_secs, save_model_secs
    if logdir:
      self._save_path = os.path.join(logdir, basename)
    if summary_writer is not Supervisor.USE_DEFAULT:
      self._summary_writer = summary_writer
    elif logdir:
      self._summary_writer = events.FileWriter(logdir)

  def _verify_setup(self):
    """Where there are replicas, each variable must have a device: else each worker would have its
    own."""
    if self._is_chief:
      return
    for op in self._graph.get_operations():
      if op.type in ('Variable', 'VariableV2') and not op.device:
        raise ValueError('When using replicas, all Variables must have their device set: %s' % op)

  is_chief = property(lambda self: self._is_chief)
  session_manager = property(lambda self: self._session_manager)
  coord = property(lambda self: self._coord)
  init_op = property(lambda self: self._init_op)
  init_feed_dict = property(lambda self: self._init_feed_dict)
  ready_op = property(lambda self: self._ready_op)
  ready_for_local_init_op = property(lambda self: self._ready_for_local_init_op)
  summary_writer = property(lambda self: self._summary_writer)
  summary_op = property(lambda self: self._summary_op)
  save_summaries_secs = property(lambda self: self._save_summaries_secs)
  global_step = property(lambda self: self._global_step)
  saver = property(lambda self: self._saver)
  save_model_secs = property(lambda self: self._save_model_secs)
  save_path = property(lambda self: self._save_path)

  # Sessions -----------------------------------------------------------------------------------

  def prepare_or_wait_for_session(self, master='', config=None, wait_for_checkpoint=False,
                                  max_wait_secs=7200, start_standard_services=True):
    """A session of the ready model, with the threads started."""
    self._coord.clear_stop()
    if self._summary_writer:
      self._summary_writer.reopen()
    if self._is_chief:
      session = self._session_manager.prepare_session(
          master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir,
          wait_for_checkpoint=wait_for_checkpoint, max_wait_secs=max_wait_secs, config=config,
          init_feed_dict=self._init_feed_dict, init_fn=self._init_fn)
      self._write_graph()
      if start_standard_services:
        log.info('Starting standard services.')
        self.start_standard_services(session)
    else:
      session = self._session_manager.wait_for_session(master, config=config,
                                                       max_wait_secs=max_wait_secs)
    if start_standard_services:
      log.info('Starting queue runners.')
      self.start_queue_runners(session)
    return session

  def _write_graph(self):
    from leat._graph import meta_graph
    if not self._logdir:
      return
    steps.write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, 'graph.pbtxt')
    if self._summary_writer and not self._graph_added_to_summary:
      self._summary_writer.add_graph(self._graph)
      self._summary_writer.add_meta_graph(
          meta_graph.make(self._graph, self._saver.saver_def if self._saver else None))
      self._graph_added_to_summary = True

  @contextlib.contextmanager
  def managed_session(self, master='', config=None, start_standard_services=True,
                      close_summary_writer=True):
    """A session that is prepared before and closed after the `with`, whose error is raised once
    the threads have stopped. The end of an input (OutOfRangeError) ends it without an error."""
    session = None
    try:
      session = self.prepare_or_wait_for_session(master=master, config=config,
                                                 start_standard_services=start_standard_services)
      yield session
    except Exception as error:  # pylint: disable=broad-except
      self.request_stop(error)
    finally:
      try:
        self.stop(close_summary_writer=close_summary_writer)
      finally:
        try:
          if session is not None:
            session.close()
        except Exception:  # pylint: disable=broad-except
          pass   # what the threads failed with tells more

  # Threads ------------------------------------------------------------------------------------

  def start_standard_services(self, sess):
    """Starts the threads of a chief that write files; gives them. RuntimeError elsewhere."""
    if not self._is_chief:
      raise RuntimeError('Only chief supervisor can start standard services. Because only chief '
                         'supervisors can write events.')
    if not self._logdir:
      log.warning("Standard services need a 'logdir' passed to the SessionManager")
      return None
    if self._global_step is not None and self._summary_writer:
      SessionLog = message.of('SessionLog')
      self._summary_writer.add_session_log(SessionLog(status=SessionLog.START),
                                           steps.global_step(sess, self._global_step))
    threads = []
    if self._save_summaries_secs and self._summary_writer:
      if self._summary_op is not None:
        threads.append(SVSummaryThread(self, sess))
      if self._global_step is not None:
        threads.append(SVStepCounterThread(self, sess))
    if self._saver and self._save_model_secs:
      threads.append(SVTimerCheckpointThread(self, sess))
    for thread in threads:
      thread.start()
    return threads

  def start_queue_runners(self, sess, queue_runners=None):
    """Starts the threads of queue runners, those of the graph where none are given."""
    if queue_runners is None:
      queue_runners = self._graph.get_collection(GraphKeys.QUEUE_RUNNERS)
    threads = []
    for runner in queue_runners:
      threads += runner.create_threads(sess, coord=self._coord, daemon=True, start=True)
    return threads

  def loop(self, timer_interval_secs, target, args=None, kwargs=None):
    """Starts a thread that calls target(*args, **kwargs) every so many seconds until the stop."""
    looper = coordinator.LooperThread(self._coord, timer_interval_secs, target=target, args=args,
                                      kwargs=kwargs)
    looper.start()
    return looper

  def stop(self, threads=None, close_summary_writer=True, ignore_live_threads=False):
    """Stops the threads and waits for them; raises what one of them failed with."""
    self._coord.request_stop()
    try:
      self._coord.join(threads, stop_grace_period_secs=self._stop_grace_secs,
                       ignore_live_threads=ignore_live_threads)
    finally:
      # A program may stop within managed_session(), which stops once more at its end.
      closed = getattr(self._summary_writer, '_closed', False)
      if close_summary_writer and self._summary_writer and not closed:
        SessionLog = message.of('SessionLog')
        self._summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
        self._summary_writer.close()
        self._graph_added_to_summary = False

  def request_stop(self, ex=None):
    """Tells the threads to stop; `ex` is what one failed with."""
    self._coord.request_stop(ex=ex)

  def should_stop(self):
    """Whether the threads shall stop."""
    return self._coord.should_stop()

  def stop_on_exception(self):
    """`with sv.stop_on_exception():` tells all threads to stop where the block fails."""
    return self._coord.stop_on_exception()

  def wait_for_stop(self):
    """Waits until somebody asks the threads to stop."""
    self._coord.wait_for_stop()

  def summary_computed(self, sess, summary, global_step=None):
    """Writes a summary at the global step."""
    if not self._summary_writer:
      raise RuntimeError('Writing a summary requires a summary writer.')
    if global_step is None and self._global_step is not None:
      global_step = steps.global_step(sess, self._global_step)
    self._summary_writer.add_summary(summary, global_step)

  PrepareSession = prepare_or_wait_for_session
  StartQueueRunners = start_queue_runners
  StartStandardServices = start_standard_services
  Stop = stop
  RequestStop = request_stop
  Loop = loop
  ShouldStop = should_stop
  StopOnException = stop_on_exception
  WaitForStop = wait_for_stop
  SummaryComputed = summary_computed


class SVSummaryThread(coordinator.LooperThread):
  """Writes the summaries of the graph."""

  def __init__(self, sv, sess):
    super().__init__(sv.coord, sv.save_summaries_secs)
    self._sv, self._sess = sv, sess

  def run_loop(self):
    sv = self._sv
    if sv.global_step is None:
      found, step = self._sess.run(sv.summary_op), None
    else:
      found, step = self._sess.run([sv.summary_op, sv.global_step])
    if sv.summary_writer:
      log.info('Recording summary at step %s.', step)
      sv.summary_writer.add_summary(found, step)


class SVStepCounterThread(coordinator.LooperThread):
  """Writes how many steps a second are run."""

  def __init__(self, sv, sess, step_counter=None):
    super().__init__(sv.coord, sv.save_summaries_secs)
    self._sv, self._sess = sv, sess
    self._step_counter = sv.global_step if step_counter is None else step_counter
    self._summary_tag = '%s/sec' % self._step_counter.op.name
    self._last_time, self._last_step = 0.0, 0
    self._logged = 0

  def start_loop(self):
    self._last_time = time.time()
    self._last_step = steps.global_step(self._sess, self._step_counter)

  def run_loop(self):
    step, now = steps.global_step(self._sess, self._step_counter), time.time()
    added, elapsed = step - self._last_step, now - self._last_time
    self._last_step, self._last_time = step, now
    rate = added / elapsed if elapsed > 0 else float('inf')
    if self._sv.summary_writer:
      Summary = message.of('Summary')
      self._sv.summary_writer.add_summary(
          Summary(value=[Summary.Value(tag=self._summary_tag, simple_value=rate)]), step)
    if self._logged < 10:
      self._logged += 1
      log.info('%s: %g', self._summary_tag, rate)


class SVTimerCheckpointThread(coordinator.LooperThread):
  """Writes checkpoints."""

  def __init__(self, sv, sess):
    super().__init__(sv.coord, sv.save_model_secs)
    self._sv, self._sess = sv, sess

  def run_loop(self):
    sv = self._sv
    log.info('Saving checkpoint to path %s', sv.save_path)
    sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
    if sv.summary_writer and sv.global_step is not None:
      SessionLog = message.of('SessionLog')
      sv.summary_writer.add_session_log(
          SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=sv.save_path),
          steps.global_step(self._sess, sv.global_step))


@export('train.basic_train_loop')
def basic_train_loop(supervisor, train_step_fn, args=None, kwargs=None, master=''):
  """Calls train_step_fn(session, *args, **kwargs) until the supervisor stops, in a new session
  after each AbortedError."""
  again = True
  while again:
    again = False
    try:
      with supervisor.managed_session(master) as session:
        while not supervisor.should_stop():
          train_step_fn(session, *(args or []), **(kwargs or {}))
    except errors.AbortedError:
      again = True
