"""Event files of leat/files.h are read by TensorBoard's own reader and by TensorFlow; those of
TensorFlow's writer by Leat."""
import ctypes
import os
import tempfile

from google.protobuf import text_format
import numpy as np
import tensorflow.compat.v1 as tf
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.backend.event_processing import event_file_loader
from tensorboard.backend.event_processing import io_wrapper

import capi
from outcome import report

tf.disable_eager_execution()
tf.disable_v2_behavior()
LEAT = capi.Library()
SCALARS = [(0, 'loss', 2.5), (1, 'loss', 0.125), (2, 'loss', 1e-30), (7, 'accuracy/test', 0.97),
           (1 << 40, 'loss', -3e38)]
HISTOGRAMS = [('normal', np.random.RandomState(1).randn(1000)), ('constant', np.full(7, 3.)),
              ('wide', np.array([0., -1e300, 1e300, 1e-13, -1e-13, 5])), ('empty', np.zeros(0))]


class Writer:
  """leat_events_* on a folder."""

  def __init__(self, folder):
    self.events = LEAT.leat_events_open(folder.encode(), LEAT.status)
    LEAT.check()

  def scalar(self, step, tag, value):
    LEAT.leat_events_add_scalar(self.events, step, tag.encode(), value, LEAT.status)
    LEAT.check()

  def histogram(self, step, tag, values):
    data = (ctypes.c_double * max(len(values), 1))(*values)
    LEAT.leat_events_add_histogram(self.events, step, tag.encode(), data, len(values), LEAT.status)
    LEAT.check()

  def graph(self, graph):
    LEAT.leat_events_add_graph(self.events, graph, LEAT.status)
    LEAT.check()

  def summary(self, step, data):
    LEAT.leat_events_add_summary(self.events, step, data, len(data), LEAT.status)
    LEAT.check()

  def close(self):
    LEAT.leat_events_close(self.events, LEAT.status)
    LEAT.check()


def event_file(folder):
  names = os.listdir(folder)
  assert len(names) == 1 and io_wrapper.IsSummaryEventsFile(names[0]), names
  return os.path.join(folder, names[0])


def tensor_of(node):
  return tf.make_ndarray(node.attr['value'].tensor) if 'value' in node.attr else None


def small_graph():
  with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, [None, 4], 'x')
    with tf.name_scope('layer'):
      w = tf.get_variable('w', [4, 2], initializer=tf.ones_initializer())
      tf.nn.relu(tf.matmul(x, w), name='y')
  return graph.as_graph_def()


def scalars(folder):
  writer = Writer(folder)
  for item in SCALARS:
    writer.scalar(*item)
  writer.close()
  seen = []
  for event in tf.train.summary_iterator(event_file(folder)):
    if event.HasField('file_version'):
      seen.append(event.file_version)
    for value in event.summary.value:
      seen.append((event.step, value.tag, value.simple_value))
    if not 1e9 < event.wall_time < 1e11:
      return 'the time is %g' % event.wall_time
  want = [(step, tag, np.float32(v)) for step, tag, v in SCALARS]
  return '' if seen == ['brain.Event:2'] + want else 'TensorFlow reads %s' % seen


def tensorboard_scalars(folder):
  """Through the loader, which turns scalars into tensors, and the accumulator."""
  writer = Writer(folder)
  for item in SCALARS:
    writer.scalar(*item)
  writer.close()
  loaded = list(event_file_loader.EventFileLoader(event_file(folder)).Load())
  got = [(e.step, v.tag, v.tensor.float_val[0]) for e in loaded for v in e.summary.value]
  if got != [(step, tag, np.float32(v)) for step, tag, v in SCALARS]:
    return 'the loader reads %s' % got
  accumulator = event_accumulator.EventAccumulator(folder)
  accumulator.Reload()
  got = [(s.step, s.value) for s in accumulator.Scalars('loss')]
  return '' if len(got) == 4 and got[1] == (1, 0.125) else 'the accumulator reads %s' % got


def histograms(folder):
  """As TensorFlow's HistogramSummary makes them, field for field."""
  writer = Writer(folder)
  for step, (tag, values) in enumerate(HISTOGRAMS):
    writer.histogram(step, tag, values)
  writer.close()
  read = [v for e in tf.train.summary_iterator(event_file(folder)) for v in e.summary.value]
  for (tag, values), got in zip(HISTOGRAMS, read):
    with tf.Graph().as_default(), tf.Session() as session:
      data = session.run(tf.raw_ops.HistogramSummary(tag=tag, values=tf.constant(values)))
    want = tf.Summary.FromString(data).value[0]
    if got.tag != tag or got.histo != want.histo:
      return '%s is %s, must be %s' % (tag, str(got)[:120], str(want)[:120])
  accumulator = event_accumulator.EventAccumulator(folder)
  accumulator.Reload()
  seen = accumulator.Histograms('normal')[0].histogram_value
  if len(read) != len(HISTOGRAMS) or seen.num != 1000 or abs(
      seen.sum - HISTOGRAMS[0][1].sum()) > 1e-9:
    return 'the accumulator reads %s' % str(seen)[:200]
  return ''


def graph(folder):
  """The graph that is shown is the graph."""
  want = small_graph()
  session = capi.Session(LEAT, want.SerializeToString())
  writer = Writer(folder)
  writer.graph(session.graph)
  writer.close()
  session.close()
  accumulator = event_accumulator.EventAccumulator(folder)
  accumulator.Reload()
  got = tf.GraphDef.FromString(accumulator.Graph().SerializeToString())
  shown, here = [{n.name: n for n in g.node} for g in (got, want)]
  for name, node in here.items():
    other = shown.pop(name)
    if tensor_of(other) is not None and np.array_equal(tensor_of(other), tensor_of(node)):
      other.attr['value'].CopyFrom(node.attr['value'])  # the same constant, written otherwise
    if other != node:
      return '%s differs' % name
  return 'more nodes: %s' % list(shown) if shown else ''


def summaries(folder):
  """What TensorFlow's summary ops made is passed through."""
  with tf.Graph().as_default(), tf.Session() as session:
    data = session.run(tf.summary.merge([
        tf.summary.scalar('a', 1.5), tf.summary.histogram('h', [1., 2.]),
        tf.summary.image('i', np.zeros((1, 4, 4, 3), 'u1')),
        tf.summary.text('t', tf.constant('words'))]))
  writer = Writer(folder)
  writer.summary(3, data)
  writer.close()
  events = [e for e in tf.train.summary_iterator(event_file(folder)) if e.HasField('summary')]
  if len(events) != 1 or events[0].step != 3:
    return '%d events' % len(events)
  return '' if events[0].summary == tf.Summary.FromString(data) else 'it differs'


def unfinished(folder):
  """A file that is still written is read up to where it is; TensorBoard then follows it."""
  writer = Writer(folder)
  writer.scalar(1, 'a', 1)
  LEAT.handle.leat_events_flush(ctypes.c_void_p(writer.events), ctypes.c_void_p(LEAT.status))
  loader = event_file_loader.EventFileLoader(event_file(folder))
  first = [e.step for e in loader.Load() if e.HasField('summary')]
  writer.scalar(2, 'a', 1)
  writer.close()
  second = [e.step for e in loader.Load() if e.HasField('summary')]
  return '' if (first, second) == ([1], [2]) else 'read %s, then %s' % (first, second)


def read_with_leat(path):
  """-> the events, each by way of Leat's text."""
  records, size, events = LEAT.leat_records_open(path.encode(), LEAT.status), ctypes.c_size_t(), []
  LEAT.check()
  while True:
    data = LEAT.leat_records_next(records, ctypes.byref(size), LEAT.status)
    if LEAT.TF_GetCode(LEAT.status) == tf.errors.OUT_OF_RANGE:
      break
    LEAT.check()
    text = LEAT.leat_message_to_text(b'Event', LEAT.buffer(ctypes.string_at(data, size.value)),
                                     LEAT.status)
    LEAT.check()
    events.append(tf.Event())
    text_format.Parse(LEAT.bytes_of(text), events[-1])
  LEAT.leat_records_close(records)
  return events


def by_tensorflow(folder):
  """tf.summary.FileWriter's file, event by event."""
  with tf.Graph().as_default(), tf.Session() as session:
    writer = tf.summary.FileWriter(folder)
    writer.add_graph(tf.get_default_graph())
    data = session.run(tf.summary.merge([tf.summary.scalar('a', 1.5),
                                         tf.summary.histogram('h', np.random.rand(99))]))
    writer.add_summary(data, 5)
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.STOP), 6)
    writer.close()
  path = event_file(folder)
  want = list(tf.train.summary_iterator(path))
  return '' if read_with_leat(path) == want and len(want) >= 4 else 'they differ'


for compare in (scalars, tensorboard_scalars, histograms, graph, summaries, unfinished,
                by_tensorflow):
  with tempfile.TemporaryDirectory(prefix='leat-events') as place:
    report('events ' + compare.__name__.replace('_', ' '), compare, place)
