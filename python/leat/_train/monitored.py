"""MonitoredSession: a session that initializes itself, calls hooks around each step, starts queue
runners, and is made anew when a peer is lost.

Each of these is a session around another one, the outermost first:

    _RecoverableSession    makes a new session when a step fails because a process was preempted
    _CoordinatedSession    ends with the threads of a Coordinator, and raises what they failed with
    _HookedSession         calls the hooks before and after a step
    Session                runs the step
"""
from __future__ import annotations

from leat._export import export
from leat._graph import errors
from leat._graph import graph as graphs
from leat._graph import message
from leat._graph.scope import GraphKeys
from leat._platform import log
from leat._train import coordinator, hook as hooks_
from leat._train.scaffold import Scaffold

# A step fails with these when a process of the cluster was restarted; a new session may succeed.
_PREEMPTION_ERRORS = (errors.AbortedError, errors.UnavailableError)
_DEFAULT = object()


@export('train.SessionCreator')
class SessionCreator:
  """Makes sessions that are ready to train."""

  def create_session(self):
    raise NotImplementedError('create_session is not implemented for %s.' % type(self).__name__)


class _CreatorOfScaffold(SessionCreator):

  def __init__(self, scaffold, master, config):
    self._scaffold = scaffold or Scaffold()
    self._master, self._config = master, config
    self._session_manager = None

  def _manager(self):
    """The SessionManager of the finalized scaffold, which is made once."""
    from leat._train import ready_session
    self._scaffold.finalize()
    if self._session_manager is None:
      scaffold = self._scaffold
      self._session_manager = ready_session.SessionManager(
          local_init_op=scaffold.local_init_op, local_init_feed_dict=scaffold.local_init_feed_dict,
          ready_op=scaffold.ready_op, ready_for_local_init_op=scaffold.ready_for_local_init_op,
          graph=graphs.get_default_graph())
    return self._session_manager


@export('train.ChiefSessionCreator')
class ChiefSessionCreator(_CreatorOfScaffold):
  """Makes sessions for the process that initializes the model or restores it."""

  def __init__(self, scaffold=None, master='', config=None, checkpoint_dir=None,
               checkpoint_filename_with_path=None):
    super().__init__(scaffold, master, config)
    self._checkpoint_dir = checkpoint_dir
    self._checkpoint_filename_with_path = checkpoint_filename_with_path

  def create_session(self):
    manager = self._manager()
    return manager.prepare_session(
        self._master, saver=self._scaffold.saver, checkpoint_dir=self._checkpoint_dir,
        checkpoint_filename_with_path=self._checkpoint_filename_with_path, config=self._config,
        init_op=self._scaffold.init_op, init_feed_dict=self._scaffold.init_feed_dict,
        init_fn=self._scaffold.init_fn)


@export('train.WorkerSessionCreator')
class WorkerSessionCreator(_CreatorOfScaffold):
  """Makes sessions for a process that waits until the chief has made the model ready."""

  def __init__(self, scaffold=None, master='', config=None, max_wait_secs=30 * 60):
    super().__init__(scaffold, master, config)
    self._max_wait_secs = max_wait_secs

  def create_session(self):
    return self._manager().wait_for_session(self._master, config=self._config,
                                            max_wait_secs=self._max_wait_secs)


# ---- Sessions around sessions -------------------------------------------------------------------


class _WrappedSession:
  """A session around another one."""

  def __init__(self, sess):
    self._sess = sess
    self._wrapped_is_stoppable = isinstance(sess, _WrappedSession)

  @property
  def graph(self):
    return self._sess.graph

  @property
  def sess_str(self):
    return self._sess.sess_str

  def should_stop(self):
    if self._check_stop():
      return True
    if self._sess is None:
      return True
    return self._wrapped_is_stoppable and self._sess.should_stop()

  def _check_stop(self):
    """Whether this session, apart from the one inside, wants to stop."""
    return False

  def close(self):
    if self._sess is None:
      return
    try:
      self._sess.close()
    except _PREEMPTION_ERRORS as error:
      log.error('An error occurred when attempting to close the session. This may be due to a '
                'preemption in a connected worker or parameter server. Error: %s', error)
    finally:
      self._sess = None

  def run(self, *args, **kwargs):
    return self._sess.run(*args, **kwargs)

  def run_step_fn(self, step_fn, raw_session, run_with_hooks):
    return step_fn(_MonitoredSession.StepContext(raw_session, run_with_hooks or self.run))


def _raise_if_both_feed(some, others, text):
  both = [k for k in some if any(k is o for o in others)]
  if both:
    raise RuntimeError('%s Conflict(s): %s' % (text, both))


def _merge_options(options, more):
  """Asks for whatever `options` or `more` ask for."""
  for field in ('trace_level', 'timeout_in_ms', 'inter_op_thread_pool'):
    setattr(options, field, max(getattr(options, field), getattr(more, field)))
  for field in ('output_partition_graphs', 'report_tensor_allocations_upon_oom'):
    if getattr(more, field):
      setattr(options, field, True)
  if more.HasField('debug_options'):
    options.debug_options.debug_tensor_watch_opts.extend(
        more.debug_options.debug_tensor_watch_opts)


class _HookedSession(_WrappedSession):
  """Calls the hooks before and after each step."""

  def __init__(self, sess, hooks):
    super().__init__(sess)
    self._hooks = hooks
    self._should_stop = False

  def _check_stop(self):
    return self._should_stop

  def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
    if self.should_stop():
      raise RuntimeError('Run called even after should_stop requested.')
    # A list, whose plan a session keeps where it has tensors and operations alone.
    wanted, asking = [fetches], []
    context = hooks_.SessionRunContext(hooks_.SessionRunArgs(fetches, feed_dict), self._sess)
    requests = [hook.before_run(context) for hook in self._hooks]
    asked = options is not None or any(r is not None and r.options for r in requests)
    options = options or message.of('RunOptions')()
    feed_dict = self._merged(requests, wanted, asking, feed_dict, options)
    collects = run_metadata is not None or asked
    if run_metadata is None:
      run_metadata = message.of('RunMetadata')()
    found = self._sess.run(wanted, feed_dict=feed_dict, options=options if asked else None,
                           run_metadata=run_metadata if collects else None)
    results = dict(zip(asking, found[1:]))
    for hook in self._hooks:
      hook.after_run(context, hooks_.SessionRunValues(results=results.get(hook), options=options,
                                                      run_metadata=run_metadata))
    self._should_stop = self._should_stop or context.stop_requested
    return found[0]

  def _merged(self, requests, wanted, asking, feed_dict, options):
    """Adds what the hooks ask for to the fetches, with the hooks in `asking`, and to the options;
    gives all feeds."""
    feeds = {}
    for hook, request in zip(self._hooks, requests):
      if request is None:
        continue
      if request.fetches is not None:
        wanted.append(request.fetches)
        asking.append(hook)
      if request.feed_dict:
        _raise_if_both_feed(feeds, request.feed_dict, 'Same tensor is fed by two hooks.')
        feeds.update(request.feed_dict)
      if request.options:
        _merge_options(options, request.options)
    if not feeds:
      return feed_dict
    if feed_dict:
      _raise_if_both_feed(feed_dict, feeds,
                          'Same tensor is fed by a SessionRunHook and user.')
      feeds.update(feed_dict)
    return feeds


class _CoordinatedSession(_WrappedSession):
  """Ends with the threads of a coordinator."""

  def __init__(self, sess, coord, stop_grace_period_secs=120):
    super().__init__(sess)
    self._coord = coord
    self._stop_grace_period_secs = stop_grace_period_secs

  def _check_stop(self):
    self._coord.raise_requested_exception()
    return self._coord.should_stop()

  def close(self):
    self._coord.request_stop()
    try:
      self._coord.join(stop_grace_period_secs=self._stop_grace_period_secs,
                       ignore_live_threads=True)
    finally:
      try:
        super().close()
      except Exception:  # pylint: disable=broad-except
        pass   # the error of a thread tells more than one of closing

  def run(self, *args, **kwargs):
    """The step; where a thread failed with a preemption error, that is raised instead of the error
    that it led to here."""
    try:
      return self._sess.run(*args, **kwargs)
    except _PREEMPTION_ERRORS:
      raise
    except Exception as error:  # pylint: disable=broad-except
      try:
        self._coord.raise_requested_exception()
      except _PREEMPTION_ERRORS:
        raise
      except Exception:  # pylint: disable=broad-except
        pass   # the step's own error is raised
      raise error


class _RecoverableSession(_WrappedSession):
  """Makes a new session when one failed with a preemption error."""

  def __init__(self, sess_creator):
    self._sess_creator = sess_creator
    super().__init__(self._create_session())

  def _create_session(self):
    while True:
      try:
        return self._sess_creator.create_session()
      except _PREEMPTION_ERRORS as error:
        log.info('An error was raised while a session was being created. This may be due to a '
                 'preemption of a connected worker or parameter server. A new session will be '
                 'created. Error: %s', error)

  def _check_stop(self):
    try:
      return self._sess._check_stop() if self._sess is not None else True
    except _PREEMPTION_ERRORS as error:
      log.info('An error was raised while considering whether the session is complete. This may '
               'be due to a preemption in a connected worker or parameter server. The current '
               'session will be closed and a new session will be created. Error: %s', error)
      self._give_up()
      self._sess = self._create_session()
      return False
    except Exception:  # pylint: disable=broad-except
      return True   # close() raises it

  def _give_up(self):
    """Closes a session that failed."""
    try:
      self.close()
    except _PREEMPTION_ERRORS:
      pass   # it is the reason for closing

  def _recovering(self, call):
    while True:
      try:
        if self._sess is None:
          self._sess = self._create_session()
        return call()
      except _PREEMPTION_ERRORS as error:
        log.info('An error was raised. This may be due to a preemption in a connected worker or '
                 'parameter server. The current session will be closed and a new session will be '
                 'created. Error: %s', error)
        self._give_up()
        self._sess = None

  def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
    return self._recovering(lambda: self._sess.run(
        fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata))

  def run_step_fn(self, step_fn, raw_session, run_with_hooks):
    del raw_session, run_with_hooks   # those of the session of each try are used
    return self._recovering(lambda: self._sess.run_step_fn(
        step_fn, self._sess_creator.tf_sess, self._sess.run))


class _CoordinatedSessionCreator(SessionCreator):
  """Makes a session with hooks and a coordinator around one of another creator."""

  def __init__(self, session_creator, hooks, stop_grace_period_secs):
    self._session_creator, self._hooks = session_creator, hooks
    self._stop_grace_period_secs = stop_grace_period_secs
    self.coord = self.tf_sess = None

  def create_session(self):
    self.tf_sess = self._session_creator.create_session()
    self.coord = coordinator.Coordinator(clean_stop_exception_types=[])
    if graphs.get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
      coordinator.start_queue_runners(sess=self.tf_sess, coord=self.coord)
    for hook in self._hooks:
      hook.after_create_session(self.tf_sess, self.coord)
    return _CoordinatedSession(_HookedSession(self.tf_sess, self._hooks), self.coord,
                               self._stop_grace_period_secs)


# ---- What programs use --------------------------------------------------------------------------


def _arguments_of(function):
  """The names of the positional arguments of a function."""
  import inspect
  return tuple(inspect.getfullargspec(function).args)


class _MonitoredSession:
  """What MonitoredSession and SingularMonitoredSession have in common."""

  def __init__(self, session_creator, hooks, should_recover, stop_grace_period_secs=120):
    self._graph_was_finalized = graphs.get_default_graph().finalized
    self._hooks = list(hooks or [])
    for hook in self._hooks:
      hook.begin()
    self._coordinated_creator = _CoordinatedSessionCreator(
        session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs)
    if should_recover:
      self._sess = _RecoverableSession(self._coordinated_creator)
    else:
      self._sess = self._coordinated_creator.create_session()

  @property
  def graph(self):
    """The graph, or None once it is closed."""
    return None if self._is_closed() else self._coordinated_creator.tf_sess.graph

  def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
    """A step as Session.run does it, with the hooks."""
    if self._sess is None:
      raise RuntimeError('Session is already closed.')
    return self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata)

  def run_step_fn(self, step_fn):
    """Calls step_fn(step_context), which may run several steps by step_context.run_with_hooks and,
    without hooks, by step_context.session.run. It is called again after a preemption."""
    if _arguments_of(step_fn) not in (('step_context',), ('self', 'step_context')):
      raise ValueError('`step_fn` may either have one `step_context` argument, or two arguments '
                       'with names `self` and `step_context` if it is an instance method. Got {} '
                       'instead.'.format(_arguments_of(step_fn)))
    return self._sess.run_step_fn(step_fn, self._tf_sess(), None)

  class StepContext:
    """What a step function is given."""

    def __init__(self, session, run_with_hooks_fn):
      self._session, self._run_with_hooks_fn = session, run_with_hooks_fn

    @property
    def session(self):
      return self._session

    def run_with_hooks(self, *args, **kwargs):
      return self._run_with_hooks_fn(*args, **kwargs)

    def request_stop(self):
      """Ends the step function and the loop by StopIteration."""
      raise StopIteration('step_fn has requested the iterations to stop.')

  def should_stop(self):
    """Whether the loop of steps shall end: a hook or a thread asked for it, or the session is
    closed."""
    return self._sess is None or self._sess.should_stop()

  def close(self):
    """Calls end() of the hooks, stops the threads and closes the session."""
    self._close_internal()

  def __enter__(self):
    return self

  def __exit__(self, exception_type, exception_value, traceback):
    if exception_type in (errors.OutOfRangeError, StopIteration):
      exception_type = None   # the end of the input ends the loop
    self._close_internal(exception_type)
    return exception_type is None

  def _close_internal(self, exception_type=None):
    try:
      if not exception_type:
        if self._sess is None:
          raise RuntimeError('Session is already closed.')
        for hook in self._hooks:
          hook.end(self._coordinated_creator.tf_sess)
    finally:
      try:
        if self._sess is None:
          raise RuntimeError('Session is already closed.')
        self._sess.close()
      finally:
        self._sess = None
        self._coordinated_creator.tf_sess = self._coordinated_creator.coord = None
        if not self._graph_was_finalized:
          graphs.get_default_graph()._unsafe_unfinalize()

  def _is_closed(self):
    return self._coordinated_creator.tf_sess is None

  def _tf_sess(self):
    return self._coordinated_creator.tf_sess


@export('train.MonitoredSession')
class MonitoredSession(_MonitoredSession):
  """A session that initializes or restores the model, calls hooks, starts queue runners, and
  recovers from AbortedError and UnavailableError. OutOfRangeError inside of its `with` ends it
  without an error."""

  def __init__(self, session_creator=None, hooks=None, stop_grace_period_secs=120):
    super().__init__(session_creator, hooks, True, stop_grace_period_secs)


@export('train.SingularMonitoredSession')
class SingularMonitoredSession(_MonitoredSession):
  """The same without recovery, for one process: raw_session() gives the session inside."""

  def __init__(self, hooks=None, scaffold=None, master='', config=None, checkpoint_dir=None,
               stop_grace_period_secs=120, checkpoint_filename_with_path=None):
    creator = ChiefSessionCreator(
        scaffold=scaffold, master=master, config=config, checkpoint_dir=checkpoint_dir,
        checkpoint_filename_with_path=checkpoint_filename_with_path)
    super().__init__(creator, hooks, False, stop_grace_period_secs)

  def raw_session(self):
    return self._tf_sess()


def _one_of(first, second, default_first):
  """The pair where a default is meant by _DEFAULT: the first one has it, unless one is given."""
  if first is _DEFAULT and second is _DEFAULT:
    return default_first, None
  return (None if first is _DEFAULT else first), (None if second is _DEFAULT else second)


@export('train.MonitoredTrainingSession')
def MonitoredTrainingSession(
    master='', is_chief=True, checkpoint_dir=None, scaffold=None, hooks=None, chief_only_hooks=None,
    save_checkpoint_secs=_DEFAULT, save_summaries_steps=_DEFAULT, save_summaries_secs=_DEFAULT,
    config=None, stop_grace_period_secs=120, log_step_count_steps=100, max_wait_secs=7200,
    save_checkpoint_steps=_DEFAULT, summary_dir=None, save_graph_def=True):
  """A MonitoredSession for training. The chief restores from checkpoint_dir, saves there every
  save_checkpoint_secs (600) or save_checkpoint_steps, and writes summaries every
  save_summaries_steps (100) or save_summaries_secs; the others wait for it."""
  from leat._train import saver_hooks
  summaries_steps, summaries_secs = _one_of(save_summaries_steps, save_summaries_secs, 100)
  checkpoint_secs, checkpoint_steps = _one_of(save_checkpoint_secs, save_checkpoint_steps, 600)
  scaffold = scaffold or Scaffold()
  if not is_chief:
    creator = WorkerSessionCreator(scaffold=scaffold, master=master, config=config,
                                   max_wait_secs=max_wait_secs)
    return MonitoredSession(session_creator=creator, hooks=hooks or [],
                            stop_grace_period_secs=stop_grace_period_secs)
  all_hooks = list(chief_only_hooks or [])
  creator = ChiefSessionCreator(scaffold=scaffold, checkpoint_dir=checkpoint_dir, master=master,
                                config=config)
  summary_dir = summary_dir or checkpoint_dir
  if summary_dir and log_step_count_steps and log_step_count_steps > 0:
    all_hooks.append(saver_hooks.StepCounterHook(output_dir=summary_dir,
                                                 every_n_steps=log_step_count_steps))
  if summary_dir and ((summaries_steps and summaries_steps > 0) or
                      (summaries_secs and summaries_secs > 0)):
    all_hooks.append(saver_hooks.SummarySaverHook(
        scaffold=scaffold, save_steps=summaries_steps, save_secs=summaries_secs,
        output_dir=summary_dir))
  if checkpoint_dir and ((checkpoint_secs and checkpoint_secs > 0) or
                         (checkpoint_steps and checkpoint_steps > 0)):
    all_hooks.append(saver_hooks.CheckpointSaverHook(
        checkpoint_dir, save_steps=checkpoint_steps, save_secs=checkpoint_secs, scaffold=scaffold,
        save_graph_def=save_graph_def))
  all_hooks.extend(hooks or [])
  return MonitoredSession(session_creator=creator, hooks=all_hooks,
                          stop_grace_period_secs=stop_grace_period_secs)
