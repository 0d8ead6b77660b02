"""Event files: what TensorBoard shows. FileWriter and its cache write them, summary_iterator reads
them."""
from __future__ import annotations

import os
import queue
import socket
import threading
import time
import warnings
import weakref

from leat import _leat
from leat._export import export
from leat._graph import graph as graphs
from leat._graph import message
from leat._platform import paths
from leat._platform.log import get_logger

_count = [0]   # of the files that this process has begun


class _EventFile:
  """A file that events are added to, and the thread that writes them. reopen() after close() begins
  another file."""

  def __init__(self, folder, suffix, max_queue):
    self._folder, self._suffix, self._max_queue = folder, suffix, max_queue
    paths.makedirs(folder, exist_ok=True)
    self._open()

  def _open(self):
    _count[0] += 1
    name = 'events.out.tfevents.%010d.%s.%d.%d%s' % (
        time.time(), socket.gethostname(), os.getpid(), _count[0], self._suffix)
    self._records = _leat.RecordWriter(os.path.join(self._folder, name))
    self._queue = queue.Queue(self._max_queue)
    self.closed = False
    self._thread = threading.Thread(target=self._write, daemon=True)
    self._thread.start()
    self.add(message.of('Event')(wall_time=time.time(), file_version='brain.Event:2'))

  def _write(self):
    while True:
      item = self._queue.get()
      try:
        if item is None:
          return
        self._records.write(item)
      except _leat.StatusError as error:
        get_logger().error('An event is lost: %s', error.args[1])
      finally:
        self._queue.task_done()

  def add(self, event):
    if not self.closed:
      self._queue.put(event.SerializeToString())

  def flush(self):
    if not self.closed:
      self._queue.join()

  def close(self):
    if not self.closed:
      self.flush()
      self.closed = True
      self._queue.put(None)
      self._thread.join()
      self._records.close()

  def reopen(self):
    if self.closed:
      self._open()


_files_of_sessions = weakref.WeakKeyDictionary()   # session -> {folder: _EventFile}


def _file_of(session, folder, suffix, max_queue):
  """The file of a writer; writers that are given the same session and folder share one."""
  if session is None:
    return _EventFile(folder, suffix, max_queue)
  files = _files_of_sessions.setdefault(session, {})
  if folder not in files:
    files[folder] = _EventFile(folder, suffix, max_queue)
  return files[folder]


@export('summary.FileWriter', 'train.SummaryWriter')
class FileWriter:
  """Writes summaries, and the graph where it is given, to an event file in the folder `logdir`,
  which `leat board` and TensorBoard read. A thread writes each event as its turn comes, so that
  flush_secs has no effect; `flush` waits for it. Writers with the same `session` share their file.
  """

  def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None,
               filename_suffix=None, session=None):
    del flush_secs
    if graph is not None and graph_def is not None:
      raise ValueError('Please pass only graph, or graph_def (deprecated), but not both.')
    definition = _definition_of(graph if graph_def is None else graph_def)
    self._logdir = logdir
    self._file = _file_of(session, logdir, filename_suffix or '', max_queue)
    self._closed = False
    self._seen_tags, self._run_tags = set(), set()
    if definition is not None:
      from leat._graph import meta_graph
      self._add_graph_def(definition, None)
      self.add_meta_graph(meta_graph.make(graphs.get_default_graph(), graph_def=definition))

  def get_logdir(self):
    """The folder that it writes to."""
    return self._logdir

  def _add(self, event, global_step=None):
    """Adds an event of now; a closed writer drops it and warns."""
    if self._closed:
      warnings.warn('Attempting to use a closed FileWriter. The operation will be a noop unless '
                    'the FileWriter is explicitly reopened.')
      return
    event.wall_time = time.time()
    if global_step is not None:
      event.step = int(global_step)
    self._file.add(event)

  def add_event(self, event):
    """Adds an event as it is."""
    if self._closed:
      self._add(event)
    else:
      self._file.add(event)

  def add_summary(self, summary, global_step=None):
    """A Summary, or its bytes as the summary operations give them. The metadata of a tag is written
    once."""
    event = message.of('Event')()
    if isinstance(summary, bytes):
      event.summary.ParseFromString(summary)
    else:
      event.summary.CopyFrom(summary)
    for value in event.summary.value:
      if not value.HasField('metadata'):
        continue
      if value.tag in self._seen_tags:
        value.ClearField('metadata')
      self._seen_tags.add(value.tag)
    self._add(event, global_step)

  def add_session_log(self, session_log, global_step=None):
    """Adds a SessionLog, which says that a session started, say."""
    self._add(message.of('Event')(session_log=session_log), global_step)

  def add_graph(self, graph, global_step=None, graph_def=None):
    """A Graph, or a GraphDef in its place."""
    if graph is not None and graph_def is not None:
      raise ValueError('Please pass only graph, or graph_def (deprecated), but not both.')
    definition = _definition_of(graph if graph_def is None else graph_def)
    if definition is None:
      raise ValueError('The passed graph must be an instance of `Graph` or the deprecated '
                       '`GraphDef`')
    self._add_graph_def(definition, global_step)

  def _add_graph_def(self, definition, global_step):
    self._add(message.of('Event')(graph_def=definition.SerializeToString()), global_step)

  def add_meta_graph(self, meta_graph_def, global_step=None):
    """Adds a MetaGraphDef. TypeError for anything else."""
    if not isinstance(meta_graph_def, message.of('MetaGraphDef')):
      raise TypeError('meta_graph_def must be type MetaGraphDef, saw type: %s' %
                      type(meta_graph_def))
    self._add(message.of('Event')(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

  def add_run_metadata(self, run_metadata, tag, global_step=None):
    """The RunMetadata of a step, under a tag of its own."""
    if tag in self._run_tags:
      raise ValueError('The provided tag was already used for this event type')
    self._run_tags.add(tag)
    tagged = message.of('TaggedRunMetadata')(tag=tag,
                                             run_metadata=run_metadata.SerializeToString())
    self._add(message.of('Event')(tagged_run_metadata=tagged), global_step)

  def flush(self):
    """Waits until all events are on their way to the file."""
    self._file.flush()

  def close(self):
    """Writes what waits, and closes the file."""
    if not self._closed:
      self._closed = True
      self._file.close()

  def reopen(self):
    """Lets a closed writer begin another file."""
    if self._closed:
      self._closed = False
      self._file.reopen()

  def __enter__(self):
    return self

  def __exit__(self, *unused):
    self.close()


def _definition_of(graph):
  """The GraphDef of a Graph with shapes, or of itself; None of None."""
  if graph is None or isinstance(graph, message.of('GraphDef')):
    return graph
  if isinstance(graph, _leat.Graph):
    return graph.as_graph_def(add_shapes=True)
  raise TypeError('The passed graph must be an instance of `Graph` or the deprecated `GraphDef`, '
                  'but got %s' % type(graph))


@export('summary.FileWriterCache')
class FileWriterCache:
  """The writers of folders: one for each, which all parts of a program share."""
  _cache = {}
  _lock = threading.RLock()

  @staticmethod
  def clear():
    """Closes and forgets all writers."""
    with FileWriterCache._lock:
      for writer in FileWriterCache._cache.values():
        writer.close()
      FileWriterCache._cache.clear()

  @staticmethod
  def get(logdir):
    """The writer of a folder, which begins with the default graph."""
    with FileWriterCache._lock:
      if logdir not in FileWriterCache._cache:
        FileWriterCache._cache[logdir] = FileWriter(logdir, graph=graphs.get_default_graph())
      return FileWriterCache._cache[logdir]


@export('train.summary_iterator')
def summary_iterator(path):
  """The events of a file, one after the other."""
  for data in _leat.RecordReader(path):
    yield message.of('Event').FromString(data)
