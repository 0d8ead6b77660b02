"""SessionManager: makes sessions whose model is ready, by initializing it, by restoring it from a
checkpoint, or by waiting until another process has done so."""
from __future__ import annotations

import time

from leat._export import export
from leat._graph import errors
from leat._graph import graph as graphs
from leat._platform import log


def is_ready(op, session, what):
  """(whether the model is ready, the reason if not). `op` gives the names of what is not
  initialized, or fails where something is not."""
  if op is None:
    return True, None
  try:
    value = session.run(op)
  except errors.FailedPreconditionError as error:
    if 'uninitialized' not in str(error):
      log.warning('%s : error [%s]', what, error)
      raise
    return False, str(error)
  if value is None or value.dtype.kind == 'i' or value.size == 0:
    return True, None
  names = ', '.join(name.decode() for name in value)
  return False, 'Variables not initialized: ' + names


def _close_quietly(session):
  try:
    session.close()
  except Exception:  # pylint: disable=broad-except
    pass   # the peer may be gone, which is why the session is given up


@export('train.SessionManager')
class SessionManager:
  """Makes sessions of a graph and checks that they are ready.

  `ready_op` gives the names of variables that are not initialized (report_uninitialized_variables).
  Once `ready_for_local_init_op` gives none, `local_init_op` is run in each new session.
  """

  def __init__(self, local_init_op=None, ready_op=None, ready_for_local_init_op=None, graph=None,
               recovery_wait_secs=30, local_init_run_options=None, local_init_feed_dict=None):
    if ready_for_local_init_op is not None and local_init_op is None:
      raise ValueError('If you pass a ready_for_local_init_op you must also pass a local_init_op '
                       '(ready_for_local_init_op is [%s])' % ready_for_local_init_op)
    self._graph = graphs.get_default_graph() if graph is None else graph
    self._local_init_op, self._ready_op = local_init_op, ready_op
    self._ready_for_local_init_op = ready_for_local_init_op
    self._recovery_wait_secs = recovery_wait_secs
    self._local_init_run_options = local_init_run_options
    self._local_init_feed_dict = local_init_feed_dict
    self._target = None

  def _session(self, master, config):
    from leat._session import session
    self._target = master
    return session.Session(master, graph=self._graph, config=config)

  def _restored(self, master, saver, checkpoint_dir, checkpoint_filename_with_path,
                wait_for_checkpoint, max_wait_secs, config):
    """(a session, whether it was restored)."""
    from leat._train import checkpoint_state
    if checkpoint_dir and checkpoint_filename_with_path:
      raise ValueError('Can not provide both checkpoint_dir and checkpoint_filename_with_path.')
    session = self._session(master, config)
    if not saver or not (checkpoint_dir or checkpoint_filename_with_path):
      return session, False
    if checkpoint_filename_with_path:
      saver.restore(session, checkpoint_filename_with_path)
      return session, True
    waited = 0
    state = checkpoint_state.get_checkpoint_state(checkpoint_dir)
    while not state or not state.model_checkpoint_path:
      if not wait_for_checkpoint or waited >= max_wait_secs:
        return session, False
      log.info('Waiting for checkpoint to be available.')
      time.sleep(self._recovery_wait_secs)
      waited += self._recovery_wait_secs
      state = checkpoint_state.get_checkpoint_state(checkpoint_dir)
    saver.restore(session, state.model_checkpoint_path)
    saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
    return session, True

  def prepare_session(self, master, init_op=None, saver=None, checkpoint_dir=None,
                      checkpoint_filename_with_path=None, wait_for_checkpoint=False,
                      max_wait_secs=7200, config=None, init_feed_dict=None, init_fn=None):
    """A session that is ready: restored from a checkpoint where there is one, else initialized by
    `init_op` and then `init_fn(session)`. RuntimeError where it is not ready afterwards."""
    session, loaded = self._restored(master, saver, checkpoint_dir, checkpoint_filename_with_path,
                                     wait_for_checkpoint, max_wait_secs, config)
    if not loaded:
      if init_op is None and not init_fn and self._local_init_op is None:
        raise RuntimeError('Model is not initialized and no init_op or init_fn or local_init_op '
                           'was given')
      if init_op is not None:
        session.run(init_op, feed_dict=init_feed_dict)
      if init_fn:
        init_fn(session)
    done, reason = self._try_local_init(session)
    if not done:
      raise RuntimeError('Init operations did not make model ready for local_init.  Init op: %s, '
                         'init fn: %s, error: %s' % (_name(init_op), init_fn, reason))
    ready, reason = is_ready(self._ready_op, session, 'Model not ready')
    if not ready:
      raise RuntimeError('Init operations did not make model ready.  Init op: %s, init fn: %s, '
                         'local_init_op: %s, error: %s' % (
                             _name(init_op), init_fn, self._local_init_op, reason))
    return session

  def recover_session(self, master, saver=None, checkpoint_dir=None,
                      checkpoint_filename_with_path=None, wait_for_checkpoint=False,
                      max_wait_secs=7200, config=None):
    """(a session, whether it was restored from a checkpoint and is ready)."""
    session, loaded = self._restored(master, saver, checkpoint_dir, checkpoint_filename_with_path,
                                     wait_for_checkpoint, max_wait_secs, config)
    done, reason = self._try_local_init(session)
    if not loaded:
      return session, False
    source = checkpoint_dir or checkpoint_filename_with_path
    if not done:
      log.info('Restoring model from %s did not make model ready for local init: %s', source,
               reason)
      return session, False
    ready, reason = is_ready(self._ready_op, session, 'Model not ready')
    if not ready:
      log.info('Restoring model from %s did not make model ready: %s', source, reason)
      return session, False
    log.info('Restored model from %s', source)
    return session, True

  def wait_for_session(self, master, config=None, max_wait_secs=float('Inf')):
    """A session of a model that another process initializes. It looks again after a while, which
    grows up to recovery_wait_secs; DeadlineExceededError once max_wait_secs have passed."""
    wait = min(0.25, self._recovery_wait_secs)
    end = time.time() + (float('Inf') if max_wait_secs is None else max_wait_secs)
    while True:
      session = self._session(master, config)
      reason = None
      done, local_reason = self._try_local_init(session)
      if done:
        ready, reason = is_ready(self._ready_op, session, 'Model not ready')
        if ready:
          return session
      _close_quietly(session)
      if end - time.time() < self._recovery_wait_secs:
        raise errors.DeadlineExceededError(
            None, None, 'Session was not ready after waiting %s secs.' % (max_wait_secs,))
      log.info('Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s',
               local_reason, reason)
      time.sleep(wait)
      wait = min(2 * wait, self._recovery_wait_secs)

  def _try_local_init(self, session):
    """Runs local_init_op where the model is ready for it: (whether it may go on, the reason if
    not)."""
    if self._local_init_op is None:
      return True, None
    ready, reason = is_ready(self._ready_for_local_init_op, session,
                              'Model not ready for local init')
    if not ready:
      return False, reason
    log.info('Running local_init_op.')
    session.run(self._local_init_op, feed_dict=self._local_init_feed_dict,
                options=self._local_init_run_options)
    log.info('Done running local_init_op.')
    return True, None


def _name(op):
  return getattr(op, 'name', None) if op is not None else None
