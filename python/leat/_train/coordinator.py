"""Coordinator and QueueRunner: threads that fill queues and stop together."""
from __future__ import annotations

import contextlib
import threading
import time
import weakref

from leat._export import export
from leat._graph import errors
from leat._graph import graph as graphs
from leat._graph.scope import GraphKeys


@export('train.Coordinator')
class Coordinator:
  """Lets threads end together: each asks should_stop() in its loop, one calls request_stop(), and
  join() waits for all, and raises what one of them failed with."""

  def __init__(self, clean_stop_exception_types=None):
    if clean_stop_exception_types is None:
      clean_stop_exception_types = (errors.OutOfRangeError,)
    self._clean = tuple(clean_stop_exception_types)
    self._lock, self._event = threading.Lock(), threading.Event()
    self._error = None
    self._joined = False
    self._threads = set()

  def _filtered(self, error):
    """The error, or None for one that means a clean stop."""
    if isinstance(error, tuple):
      return None if isinstance(error[1], self._clean) else error
    return None if isinstance(error, self._clean) else error

  def request_stop(self, ex=None):
    """All threads shall stop; `ex` is raised by join()."""
    with self._lock:
      error = self._filtered(ex)
      if self._joined:
        if isinstance(error, tuple):
          raise error[1].with_traceback(error[2])
        if error is not None:
          raise error
      if not self._event.is_set():
        if error and self._error is None:
          self._error = error if isinstance(error, tuple) else (type(error), error,
                                                                error.__traceback__)
        self._event.set()

  def clear_stop(self):
    with self._lock:
      self._joined, self._error = False, None
      self._event.clear()

  def should_stop(self):
    return self._event.is_set()

  @contextlib.contextmanager
  def stop_on_exception(self):
    """Errors inside stop all threads."""
    try:
      yield
    except BaseException as error:  # pylint: disable=broad-except
      self.request_stop(error)

  def wait_for_stop(self, timeout=None):
    return self._event.wait(timeout)

  def register_thread(self, thread):
    with self._lock:
      self._threads.add(thread)

  def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
    """Waits until all threads have stopped; raises what one of them failed with."""
    with self._lock:
      threads = self._threads if threads is None else self._threads.union(set(threads))
      threads = list(threads)
    while any(t.is_alive() for t in threads) and not self.wait_for_stop(1.0):
      pass
    end = time.monotonic() + stop_grace_period_secs
    while any(t.is_alive() for t in threads) and time.monotonic() < end:
      for t in threads:
        t.join(0.01)
    with self._lock:
      self._joined = True
      self._threads = set()
      if self._error:
        raise self._error[1].with_traceback(self._error[2])
      alive = [t.name for t in threads if t.is_alive()]
      if alive and not ignore_live_threads:
        raise RuntimeError('Coordinator stopped with threads still running: %s' % ' '.join(alive))

  @property
  def joined(self):
    return self._joined

  def raise_requested_exception(self):
    with self._lock:
      if self._error:
        raise self._error[1].with_traceback(self._error[2])


@export('train.LooperThread')
class LooperThread(threading.Thread):
  """Calls a function again and again until the coordinator says stop."""

  def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
    if not isinstance(coord, Coordinator):
      raise ValueError("'coord' argument must be a Coordinator: %s" % coord)
    super().__init__(daemon=True)
    self._coord, self._interval = coord, timer_interval_secs
    self._looped = target
    if target:
      self._call = args or (), kwargs or {}
    elif args or kwargs:
      raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
    else:
      self._call = (), {}
    coord.register_thread(self)

  @staticmethod
  def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
    looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
    looper.start()
    return looper

  def run(self):
    with self._coord.stop_on_exception():
      self.start_loop()
      if self._interval is None:
        while not self._coord.should_stop():
          self.run_loop()
      else:
        next_time = time.time()
        while not self._coord.wait_for_stop(max(0, next_time - time.time())):
          next_time += self._interval
          self.run_loop()
      self.stop_loop()

  def start_loop(self):
    pass

  def stop_loop(self):
    pass

  def run_loop(self):
    if self._looped:
      self._looped(*self._call[0], **self._call[1])


@export('train.QueueRunner', 'train.queue_runner.QueueRunner')
class QueueRunner:
  """Operations that fill a queue, each run by a thread of its own over and over until the input
  ends or a Coordinator asks it to stop. tf.train.start_queue_runners starts those of the graph."""

  def __init__(self, queue=None, enqueue_ops=None, close_op=None, cancel_op=None,
               queue_closed_exception_types=None, queue_runner_def=None, import_scope=None):
    if queue_runner_def:
      if queue or enqueue_ops:
        raise ValueError('queue_runner_def and queue are mutually exclusive.')
      self._of_message(queue_runner_def, import_scope)
    else:
      if not queue or not enqueue_ops:
        raise ValueError('Must provide queue and enqueue_ops.')
      self._queue, self._enqueue_ops = queue, enqueue_ops
      self._close_op = queue.close() if close_op is None else close_op
      self._cancel_op = cancel_op
      if cancel_op is None:
        self._cancel_op = queue.close(cancel_pending_enqueues=True)
      kinds = queue_closed_exception_types
      if kinds is not None and (not isinstance(kinds, tuple) or not kinds or not all(
          issubclass(t, errors.OpError) for t in kinds)):
        raise TypeError('queue_closed_exception_types, when provided, must be a tuple of tf.errors '
                        'subclasses, but saw: %s' % (kinds,))
      self._closed_types = kinds or (errors.OutOfRangeError,)
    self._lock = threading.Lock()
    self._runs = weakref.WeakKeyDictionary()
    self._raised = []

  def _of_message(self, definition, import_scope):
    graph = graphs.get_default_graph()
    scope = lambda name: import_scope + '/' + name if import_scope else name
    self._queue = graph.as_graph_element(scope(definition.queue_name))
    self._enqueue_ops = [graph.as_graph_element(scope(n)) for n in definition.enqueue_op_name]
    self._close_op = graph.as_graph_element(scope(definition.close_op_name))
    self._cancel_op = graph.as_graph_element(scope(definition.cancel_op_name))
    self._closed_types = tuple(errors.exception_type_from_error_code(c)
                               for c in definition.queue_closed_exception_types) or (
                                   errors.OutOfRangeError,)

  queue = property(lambda self: self._queue)
  enqueue_ops = property(lambda self: self._enqueue_ops)
  close_op = property(lambda self: self._close_op)
  cancel_op = property(lambda self: self._cancel_op)
  queue_closed_exception_types = property(lambda self: self._closed_types)
  exceptions_raised = property(lambda self: self._raised)
  name = property(lambda self: getattr(self._queue, 'name', ''))

  def _callable(self, sess, enqueue_op):
    """What a thread calls again and again."""
    return sess.make_callable(enqueue_op)

  def _run(self, sess, enqueue_op, coord=None):
    counted = True
    try:
      enqueue = self._callable(sess, enqueue_op)
      while not (coord and coord.should_stop()):
        try:
          enqueue()
        except self._closed_types:
          with self._lock:
            self._runs[sess] -= 1
            counted = False
            last = self._runs[sess] == 0
          if last:
            try:
              sess.run(self._close_op)
            except Exception:  # pylint: disable=broad-except
              pass  # the session may be closed already
          return
    except Exception as error:  # pylint: disable=broad-except
      if coord and coord.joined and isinstance(error, errors.CancelledError):
        return  # the session was closed under a thread that nobody waits for any more
      if coord:
        coord.request_stop(error)
      else:
        with self._lock:
          self._raised.append(error)
        raise
    finally:
      if counted:
        with self._lock:
          self._runs[sess] -= 1

  def _close_on_stop(self, sess, cancel_op, coord):
    coord.wait_for_stop()
    try:
      sess.run(cancel_op)
    except Exception:  # pylint: disable=broad-except
      pass  # the session may be closed already

  def create_threads(self, sess, coord=None, daemon=False, start=False):
    """A thread for each operation, and one that ends them when the coordinator stops."""
    with self._lock:
      if self._runs.get(sess, 0) > 0:
        return []
      self._runs[sess] = len(self._enqueue_ops)
      self._raised = []
    found = []
    for op in self._enqueue_ops:
      found.append(threading.Thread(target=self._run, args=(sess, op, coord),
                                    name='QueueRunnerThread-%s-%s' % (self.name, op.name)))
    if coord:
      found.append(threading.Thread(target=self._close_on_stop, args=(sess, self._cancel_op, coord),
                                    name='QueueRunnerThread-%s-close_on_stop' % self.name))
    for t in found:
      if coord:
        coord.register_thread(t)
      if daemon:
        t.daemon = True
      if start:
        t.start()
    return found

  def to_proto(self, export_scope=None):
    """The message QueueRunnerDef; None where its names are not in export_scope."""
    from leat._graph import message
    strip = lambda n: n[len(export_scope) + 1:] if export_scope else n
    return message.of('QueueRunnerDef')(
        queue_name=strip(self._queue.name), close_op_name=strip(self._close_op.name),
        enqueue_op_name=[strip(op.name) for op in self._enqueue_ops],
        cancel_op_name=strip(self._cancel_op.name),
        queue_closed_exception_types=[errors.error_code_from_exception_type(t)
                                      for t in self._closed_types])

  @staticmethod
  def from_proto(queue_runner_def, import_scope=None):
    """The runner of a QueueRunnerDef, with import_scope before its names."""
    return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


@export('train.add_queue_runner', 'train.queue_runner.add_queue_runner')
def add_queue_runner(qr, collection=GraphKeys.QUEUE_RUNNERS):
  """Keeps a runner for start_queue_runners."""
  graphs.get_default_graph().add_to_collection(collection, qr)


@export('train.start_queue_runners', 'train.queue_runner.start_queue_runners')
def start_queue_runners(sess=None, coord=None, daemon=True, start=True,
                        collection=GraphKeys.QUEUE_RUNNERS):
  """Starts the threads of all queue runners of the graph in `sess`, or the default session, and
  gives them. Without it, a program that reads from input queues waits for ever. `coord` is the
  Coordinator that ends them."""
  from leat._session import session as sessions
  if sess is None:
    sess = sessions.get_default_session()
    if not sess:
      raise ValueError('Cannot start queue runners: No default session is registered. Use `with '
                       'sess.as_default()` or pass an explicit session to '
                       'tf.start_queue_runners(sess=sess)')
  if not isinstance(sess, sessions.BaseSession):
    if not hasattr(sess, 'run'):
      raise TypeError('sess must be a `tf.Session` object. Given class: %s' % sess.__class__)
    return []
  found = []
  for runner in sess.graph.get_collection(collection):
    found += runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
  return found
