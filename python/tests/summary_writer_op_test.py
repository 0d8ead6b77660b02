"""The ops that write summaries to event files while a step runs."""
from __future__ import annotations

import glob
import os
import shutil
import tempfile
import unittest

import leat as tf


class SummaryWriterOpTest(unittest.TestCase):

  def setUp(self):
    self.directory = tempfile.mkdtemp()
    self.addCleanup(shutil.rmtree, self.directory)
    self.graph = tf.Graph()
    self.enterContext(self.graph.as_default())
    self.writer = tf.raw_ops.SummaryWriter(shared_name='writer')
    self.step = tf.constant(7, tf.int64)
    self.session = tf.Session(graph=self.graph)
    self.addCleanup(self.session.close)

  def create(self, max_queue=10):
    return tf.raw_ops.CreateSummaryFileWriter(
        writer=self.writer, logdir=os.path.join(self.directory, 'run'), max_queue=max_queue,
        flush_millis=1000000, filename_suffix='.end')

  def scalar(self, value):
    return tf.raw_ops.WriteScalarSummary(writer=self.writer, step=self.step, tag='loss',
                                         value=value)

  def events(self):
    (path,) = glob.glob(os.path.join(self.directory, 'run', 'events.out.tfevents.*.end'))
    return list(tf.train.summary_iterator(path))[1:]

  def test_events_reach_the_file_with_a_flush(self):
    create, write = self.create(), self.scalar(2.5)
    flush = tf.raw_ops.FlushSummaryWriter(writer=self.writer)
    self.session.run(create)
    self.session.run(create)  # finds the writer open
    self.session.run(write)
    self.assertEqual(self.events(), [])
    self.session.run(flush)
    (event,) = self.events()
    self.assertEqual(event.step, 7)
    self.assertEqual(event.summary.value[0].tag, 'loss')
    self.assertEqual(event.summary.value[0].simple_value, 2.5)

  def test_events_reach_the_file_when_the_queue_is_full(self):
    create, write = self.create(max_queue=1), self.scalar(1.0)
    self.session.run(create)
    self.session.run(write)
    self.assertEqual(len(self.events()), 0)
    self.session.run(write)
    self.assertEqual(len(self.events()), 2)

  def test_all_kinds_of_values(self):
    raw = tf.raw_ops
    event = dict(writer=self.writer, step=self.step)
    summary = tf.Summary(value=[tf.Summary.Value(tag='raw', simple_value=3)])
    writes = [
        raw.WriteHistogramSummary(tag='histogram', values=tf.constant([True, False, True]),
                                  **event),
        raw.WriteImageSummary(tag='image', tensor=tf.ones([1, 2, 2, 3]), max_images=1,
                              bad_color=tf.constant([255, 0, 0], tf.uint8), **event),
        raw.WriteAudioSummary(tag='audio', tensor=tf.zeros([1, 4]), sample_rate=8000.0,
                              max_outputs=1, **event),
        raw.WriteSummary(tag='tensor', tensor=tf.constant([1, 2]), summary_metadata=b'', **event),
        raw.WriteRawProtoSummary(tensor=summary.SerializeToString(), **event),
    ]
    create = self.create()
    close = raw.CloseSummaryWriter(writer=self.writer)
    self.session.run(create)
    for write in writes:
      self.session.run(write)
    self.session.run(close)
    values = [e.summary.value[0] for e in self.events()]
    self.assertEqual([v.tag for v in values],
                     ['histogram', 'image/image', 'audio/audio', 'tensor', 'raw'])
    self.assertEqual(values[0].histo.sum, 2)
    self.assertFalse(values[3].HasField('metadata'))

  def test_a_writer_that_is_not_open(self):
    write = self.scalar(1.0)
    close = tf.raw_ops.CloseSummaryWriter(writer=self.writer)
    for operation in write, close:
      with self.assertRaises(tf.errors.NotFoundError):
        self.session.run(operation)

  def test_bytes_that_are_no_message(self):
    create = self.create()
    event = tf.raw_ops.ImportEvent(writer=self.writer, event=b'\xff')
    graph = tf.raw_ops.WriteGraphSummary(writer=self.writer, step=self.step, tensor=b'\xff')
    self.session.run(create)
    for operation in event, graph:
      with self.assertRaises(tf.errors.DataLossError):
        self.session.run(operation)


if __name__ == '__main__':
  unittest.main()
