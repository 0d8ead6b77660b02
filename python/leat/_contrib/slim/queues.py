"""contrib.slim.queues: the queue runners of a graph around a block."""
from __future__ import annotations

import contextlib
import threading

from leat._export import export
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys
from leat._train import coordinator

_inside = threading.local()


@export('contrib.slim.queues.NestedQueueRunnerError')
class NestedQueueRunnerError(Exception):
  """Queue runners are entered within a block that has them."""


@export('contrib.slim.queues.QueueRunners')
@contextlib.contextmanager
def QueueRunners(session):
  """Starts the threads of all queue runners, and stops them at the end of the block. A session may
  be entered once at a time."""
  running = _inside.__dict__.setdefault('sessions', [])
  if any(session is s for s in running):
    raise NestedQueueRunnerError()
  running.append(session)
  try:
    coord, threads = coordinator.Coordinator(), []
    for runner in get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS):
      threads += runner.create_threads(session, coord=coord, daemon=True, start=True)
    yield
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=120)
  finally:
    running.remove(session)
