"""tf.summary: operations that make summaries, and the writer of event files."""
from __future__ import annotations

import os
import queue
import socket
import threading
import time

from leat import _leat
from leat._export import export
from leat._graph import message
from leat._graph.apply import apply_op
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys, name_scope
from leat._platform.log import get_logger


def _collect(value, collections):
  collections = [GraphKeys.SUMMARIES] if collections is None else collections
  get_default_graph().add_to_collections(list(collections), value)
  return value


def _clean(name):
  """A name that operations can have."""
  import re
  return re.sub(r'[^-/\w\.]', '_', name).lstrip('/')


def _scoped(name, family, values, default):
  name = _clean(name) if name else default
  if family:
    family = _clean(family)
    return name_scope('%s/%s' % (family, name), default, values), family
  return name_scope(name, default, values), None


def _tag(scope, family):
  """What TensorBoard calls a summary: the name in the graph, below the family."""
  return '%s/%s' % (family, scope[:-1]) if family else scope[:-1]


@export('summary.scalar')
def scalar(name, tensor, collections=None, family=None):
  """A number over time."""
  context, family = _scoped(name, family, [tensor], None)
  with context as scope:
    return _collect(apply_op('ScalarSummary', name=scope, tags=_tag(scope, family), values=tensor),
                    collections)


@export('summary.histogram')
def histogram(name, values, collections=None, family=None):
  """The distribution of values over time."""
  context, family = _scoped(name, family, [values], 'HistogramSummary')
  with context as scope:
    return _collect(apply_op('HistogramSummary', name=scope, tag=_tag(scope, family),
                             values=values), collections)


@export('summary.image')
def image(name, tensor, max_outputs=3, collections=None, family=None):
  """Pictures, [n, height, width, 1, 3 or 4]."""
  context, family = _scoped(name, family, [tensor], None)
  with context as scope:
    return _collect(apply_op('ImageSummary', name=scope, tag=_tag(scope, family), tensor=tensor,
                             max_images=max_outputs), collections)


@export('summary.audio')
def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
  """Sound, [n, frames, channels]."""
  context, family = _scoped(name, family, [tensor], None)
  with context as scope:
    return _collect(apply_op('AudioSummaryV2', name=scope, tag=_tag(scope, family), tensor=tensor,
                             max_outputs=max_outputs, sample_rate=sample_rate), collections)


@export('summary.tensor_summary')
def tensor_summary(name, tensor, summary_description=None, collections=None,
                   summary_metadata=None, family=None, display_name=None):
  """A tensor as it is. summary_metadata, a SummaryMetadata, says what TensorBoard makes of it;
  display_name and summary_description are set in it."""
  metadata = message.of('SummaryMetadata')()
  if summary_metadata is not None:
    metadata.CopyFrom(summary_metadata)
  if display_name is not None:
    metadata.display_name = display_name
  if summary_description is not None:
    metadata.summary_description = summary_description
  context, family = _scoped(name, family, [tensor], None)
  with context as scope:
    return _collect(apply_op('TensorSummaryV2', name=scope, tag=_tag(scope, family), tensor=tensor,
                             serialized_summary_metadata=metadata.SerializeToString()),
                    collections)


@export('summary.text')
def text(name, tensor, collections=None):
  """Strings, which TensorBoard shows as text."""
  if tensor.dtype.name != 'string':
    raise ValueError('Expected tensor %s to have dtype string, got %s' % (
        tensor.name, tensor.dtype.name))
  metadata = message.of('SummaryMetadata')()
  metadata.plugin_data.plugin_name = 'text'
  return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


@export('summary.merge')
def merge(inputs, collections=None, name=None):
  """One summary of several."""
  with name_scope(name, 'Merge', inputs) as scope:
    value = apply_op('MergeSummary', name=scope, inputs=list(inputs))
    if collections:
      _collect(value, collections)
    return value


@export('summary.merge_all')
def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
  """One summary of all in the graph, or None."""
  found = get_default_graph().get_collection(key, scope=scope)
  return merge(found, name=name) if found else None


# ---- Event files --------------------------------------------------------------------------------

_writers = [0]


@export('summary.FileWriter', 'train.SummaryWriter')
class FileWriter:
  """Writes events to a file, on a thread of its own."""

  def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None,
               filename_suffix=None, session=None):
    del session
    self._logdir = logdir
    os.makedirs(logdir, exist_ok=True)
    self._suffix = filename_suffix or ''
    self._max_queue = max_queue
    del flush_secs  # each event is written when its turn comes
    self._open()
    if graph is not None:
      self.add_graph(graph)
    if graph_def is not None:
      self.add_event(message.of('Event')(wall_time=time.time(),
                                         graph_def=graph_def.SerializeToString()))

  def _open(self):
    _writers[0] += 1
    name = 'events.out.tfevents.%010d.%s.%d.%d%s' % (
        time.time(), socket.gethostname(), os.getpid(), _writers[0], self._suffix)
    self._records = _leat.RecordWriter(os.path.join(self._logdir, name))
    self._queue = queue.Queue(self._max_queue)
    self._closed = False
    self._thread = threading.Thread(target=self._write, daemon=True)
    self._thread.start()
    self.add_event(message.of('Event')(wall_time=time.time(), file_version='brain.Event:2'))

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

  def get_logdir(self):
    return self._logdir

  def add_event(self, event):
    if not self._closed:
      self._queue.put(event.SerializeToString())

  def _stamped(self, event, global_step):
    event.wall_time = time.time()
    if global_step is not None:
      event.step = int(global_step)
    self.add_event(event)

  def add_summary(self, summary, global_step=None):
    """A Summary, or its bytes as the summary operations give them."""
    event = message.of('Event')()
    if isinstance(summary, bytes):
      event.summary.ParseFromString(summary)
    else:
      event.summary.CopyFrom(summary)
    self._stamped(event, global_step)

  def add_session_log(self, session_log, global_step=None):
    self._stamped(message.of('Event')(session_log=session_log), global_step)

  def add_graph(self, graph, global_step=None, graph_def=None):
    definition = graph_def if graph_def is not None else graph.as_graph_def(add_shapes=True) \
        if hasattr(graph, 'as_graph_def') else graph
    self._stamped(message.of('Event')(graph_def=definition.SerializeToString()), global_step)

  def add_meta_graph(self, meta_graph_def, global_step=None):
    self._stamped(message.of('Event')(meta_graph_def=meta_graph_def.SerializeToString()),
                  global_step)

  def add_run_metadata(self, run_metadata, tag, global_step=None):
    tagged = message.of('TaggedRunMetadata')(tag=tag,
                                             run_metadata=run_metadata.SerializeToString())
    self._stamped(message.of('Event')(tagged_run_metadata=tagged), global_step)

  def flush(self):
    if not self._closed:
      self._queue.join()

  def close(self):
    if not self._closed:
      self.flush()
      self._closed = True
      self._queue.put(None)
      self._thread.join()
      self._records.close()

  def reopen(self):
    if self._closed:
      self._open()

  def __enter__(self):
    return self

  def __exit__(self, *unused):
    self.close()


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
        FileWriterCache._cache[logdir] = FileWriter(logdir, graph=get_default_graph())
      return FileWriterCache._cache[logdir]


@export('train.summary_iterator')
def summary_iterator(path):
  """The events of a file, one after the other."""
  for data in _leat.RecordReader(path):
    yield message.of('Event').FromString(data)
