"""tf.contrib.summary: summaries that a step writes by itself, to the writer that is the default.

Each function adds an operation that makes a summary and one that gives it to the writer, with the
step; all_summary_ops() are to be run. They are there where should_record_summaries() is true, or
may be, which always_record_summaries() and the like decide for a block. A writer is in this process
and begins its file when its initializer runs (initialize()); a graph that is saved does not hold
it.
"""
from __future__ import annotations

import contextlib
import os
import weakref

from leat import _leat
from leat._contrib.conditions import smart_cond
from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph import message
from leat._graph.apply import apply_op
from leat._graph.graph import get_default_graph
from leat._graph.scope import device, name_scope
from leat._graph.value import constant_value, make_tensor_proto
from leat._ops import array
from leat._ops import control
from leat._ops import math
from leat._ops.py_func import py_func
from leat._session.session import get_default_session
from leat._train import summary
from leat._train.events import FileWriter
from leat._train.step import get_or_create_global_step

_OPS, _INITIALIZERS = '_contrib_summary_ops', '_contrib_summary_initializers'   # collections


class _State:
  """What is said of a graph: its writers by name, which is the default, and what is recorded."""

  def __init__(self):
    self.writers, self.writer, self.records = {}, None, False


_states = weakref.WeakKeyDictionary()   # of graphs


def _state():
  return _states.setdefault(get_default_graph(), _State())


@contextlib.contextmanager
def _setting(name, value):
  state = _state()
  outer = getattr(state, name)
  setattr(state, name, value)
  try:
    yield value
  finally:
    setattr(state, name, outer)


# ---- What is recorded ----------------------------------------------------------------------------


@export('contrib.summary.should_record_summaries')
def should_record_summaries():
  """Whether summaries are recorded now: a bool, or a tensor where only a step can say."""
  return _state().records


@export('contrib.summary.always_record_summaries')
def always_record_summaries():
  """The `with` in which summaries are recorded."""
  return _setting('records', True)


@export('contrib.summary.never_record_summaries')
def never_record_summaries():
  """The `with` in which no summaries are recorded."""
  return _setting('records', False)


@export('contrib.summary.record_summaries_every_n_global_steps')
def record_summaries_every_n_global_steps(n, global_step=None):
  """The `with` in which summaries are recorded in steps whose number is a multiple of n."""
  step = get_or_create_global_step() if global_step is None else global_step
  with device('cpu:0'):
    return _setting('records', math.equal(apply_op('FloorMod', x=step, y=n), 0))


# ---- Writers -------------------------------------------------------------------------------------


class SummaryWriter:
  """A writer of the event file that its initializer begins; without a folder it writes nothing."""

  def __init__(self, logdir, **arguments):
    self._logdir, self._arguments = logdir, arguments
    self._file = None

  def set_as_default(self):
    """Lets summaries of the graph go to this writer from now on."""
    _state().writer = self if self._logdir is not None else None

  def as_default(self):
    """The `with` in which summaries go to this writer."""
    return _setting('writer', self if self._logdir is not None else None)

  def init(self):
    """The operation that begins the file, where that is not done."""
    return apply_op('NoOp') if self._logdir is None else py_func(self._begin, [], [])

  def flush(self):
    """The operation that waits until all is written."""
    return flush(self)

  def close(self):
    """The operation that ends the file."""
    return self._call(lambda file: file.close(), [])

  def _begin(self):
    if self._file is None:
      self._file = FileWriter(self._logdir, **self._arguments)

  def _call(self, function, tensors, name=None):
    """The operation that calls a function with the file and the values of tensors."""
    def call(*arrays):
      if self._file is None:
        raise ValueError('The summary writer for %r is not initialized: tf.contrib.summary.'
                         'initialize() must run first.' % (self._logdir,))
      function(self._file, *arrays)
    if self._logdir is None:
      return apply_op('NoOp', name=name)
    return py_func(call, tensors, [], name=name)


@export('contrib.summary.create_file_writer', 'contrib.summary.create_summary_file_writer')
def create_file_writer(logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None):
  """A SummaryWriter for an event file in the folder, a text; for None one that writes nothing. Up
  to max_queue events (10) wait for the thread that writes them, which does so at once, so that
  flush_millis has no effect. Writers of one `name`, which is that of the folder without, are
  one."""
  del flush_millis
  if logdir is None:
    return SummaryWriter(None)
  if isinstance(logdir, _leat.Output):
    logdir = constant_value(logdir)
    if logdir is None:
      raise ValueError('logdir is a tensor whose value a step makes, must be known before.')
  logdir = logdir.decode() if isinstance(logdir, bytes) else str(logdir)
  writers, name = _state().writers, 'logdir:' + logdir if name is None else name
  if name not in writers:
    writers[name] = SummaryWriter(
        logdir, max_queue=10 if max_queue is None else max_queue,
        filename_suffix='.v2' if filename_suffix is None else filename_suffix)
    get_default_graph().add_to_collection(_INITIALIZERS, writers[name].init())
  return writers[name]


@export('contrib.summary.summary_writer_initializer_op')
def summary_writer_initializer_op():
  """The operations that initialize the writers of the graph, a list."""
  return get_default_graph().get_collection(_INITIALIZERS)


@export('contrib.summary.initialize')
def initialize(graph=None, session=None):
  """Initializes the writers of the graph by a session, and gives `graph`, a Graph or GraphDef, to
  the default one. RuntimeError without a default writer, ValueError without a session."""
  if _state().writer is None:
    raise RuntimeError('No default tf.contrib.summary.SummaryWriter found')
  session = session or get_default_session()
  if session is None:
    raise ValueError('session must be passed if no default session exists')
  session.run(summary_writer_initializer_op())
  if graph is not None:
    definition = graph if not hasattr(graph, 'as_graph_def') else graph.as_graph_def(
        add_shapes=True)
    data = array.placeholder(dtypes.string, [])
    session.run(globals()['graph'](data, 0), feed_dict={data: definition.SerializeToString()})


@export('contrib.summary.flush')
def flush(writer=None, name=None):
  """The operation that waits until a writer, or the default one, has written all."""
  writer = writer or _state().writer
  return apply_op('NoOp') if writer is None else writer._call(lambda file: file.flush(), [], name)


@export('contrib.summary.eval_dir')
def eval_dir(model_dir, name=None):
  """The folder for summaries of an evaluation: eval, or eval_NAME, in that of the model."""
  return os.path.join(model_dir, 'eval' if not name else 'eval_' + name)


# ---- Summaries -----------------------------------------------------------------------------------


@export('contrib.summary.all_summary_ops')
def all_summary_ops():
  """The operations that write the summaries of the graph, a list."""
  return get_default_graph().get_collection(_OPS)


def _step(step):
  if step is None:
    return get_or_create_global_step()
  return conversion.convert(step, None if isinstance(step, _leat.Output) else dtypes.int64)


def _write(name, tensor, make, family, step):
  """The operation that writes the summary which make(tag) gives, where it is to be recorded."""
  writer, scope = _state().writer, get_default_graph().get_name_scope()
  if writer is None:
    return apply_op('NoOp')

  def record():
    with name_scope(scope + '/' if scope else None):
      with summary.scoped(name, family, [tensor]) as (tag, _):
        written = writer._call(lambda file, data, at: file.add_summary(data, at),
                               [make(tag), _step(step)])
        with control.control_dependencies([written]):
          return conversion.constant(True)

  with device('cpu:0'):
    op = smart_cond(_state().records, record, lambda: conversion.constant(False))
    get_default_graph().add_to_collection(_OPS, op)
  return op


@export('contrib.summary.scalar')
def scalar(name, tensor, family=None, step=None):
  """Writes a number, in the step `step`, that of the global step without."""
  return _write(name, tensor, lambda tag: apply_op('ScalarSummary', tags=tag, values=tensor),
                family, step)


@export('contrib.summary.histogram')
def histogram(name, tensor, family=None, step=None):
  """Writes the distribution of the values of a tensor."""
  return _write(name, tensor, lambda tag: apply_op('HistogramSummary', tag=tag, values=tensor),
                family, step)


@export('contrib.summary.image')
def image(name, tensor, bad_color=None, max_images=3, family=None, step=None):
  """Writes up to max_images pictures of a tensor [batch, height, width, channels]. Pixels that are
  not numbers get bad_color, four of uint8, which is known while building."""
  more = {}
  if bad_color is not None:
    color = bad_color if not isinstance(bad_color, _leat.Output) else constant_value(bad_color)
    if color is None:
      raise ValueError('bad_color is a tensor whose value a step makes, must be known before.')
    more['bad_color'] = make_tensor_proto(color, dtypes.uint8)
  return _write(name, tensor, lambda tag: apply_op(
      'ImageSummary', tag=tag, tensor=tensor, max_images=max_images, **more), family, step)


@export('contrib.summary.audio')
def audio(name, tensor, sample_rate, max_outputs, family=None, step=None):
  """Writes sound, [n, frames, channels], of that many frames a second."""
  return _write(name, tensor, lambda tag: apply_op(
      'AudioSummaryV2', tag=tag, tensor=tensor, sample_rate=sample_rate,
      max_outputs=max_outputs), family, step)


@export('contrib.summary.generic')
def generic(name, tensor, metadata=None, family=None, step=None):
  """Writes a tensor of any type; `metadata`, a SummaryMetadata or its bytes, says what shows it."""
  if isinstance(metadata, message.of('SummaryMetadata')):
    metadata = metadata.SerializeToString()
  return _write(name, tensor, lambda tag: apply_op(
      'TensorSummaryV2', tag=tag, tensor=tensor,
      serialized_summary_metadata=b'' if metadata is None else metadata), family, step)


@export('contrib.summary.graph')
def graph(param, step=None, name=None):
  """The operation that writes a graph, a tensor with the bytes of a GraphDef. TypeError of anything
  else."""
  if not isinstance(param, _leat.Output):
    raise TypeError('graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: %s' %
                    type(param))
  writer = _state().writer
  if writer is None:
    return apply_op('NoOp')
  definition = message.of('GraphDef')
  return writer._call(lambda file, data, at: file.add_graph(None, at, definition.FromString(data)),
                      [param, _step(step)], name)


@export('contrib.summary.import_event')
def import_event(tensor, name=None):
  """The operation that writes an event, a tensor with the bytes of an Event."""
  writer, event = _state().writer, message.of('Event')
  if writer is None:
    return apply_op('NoOp')
  return writer._call(lambda file, data: file.add_event(event.FromString(data)), [tensor], name)
