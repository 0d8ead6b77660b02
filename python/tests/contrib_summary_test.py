"""tf.contrib.summary: what steps write to the default writer, and when."""
import glob
import os
import tempfile
import unittest

import leat as tf

summary = tf.contrib.summary


class ContribSummaryTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)

  def values(self):
    """(step, tag, number) of the scalars that were written, sorted."""
    path, = glob.glob(os.path.join(self.folder.name, '*.v2'))
    return sorted((event.step, value.tag, value.simple_value)
                  for event in tf.train.summary_iterator(path) for value in event.summary.value)

  def test_recorded_in_some_steps(self):
    with tf.Graph().as_default() as graph, tf.Session() as session:
      step = tf.train.get_or_create_global_step()
      writer = summary.create_file_writer(self.folder.name)
      self.assertIs(summary.create_file_writer(self.folder.name), writer)
      with writer.as_default():
        with tf.name_scope('outer'), summary.always_record_summaries():
          summary.scalar('always', 2.0)
          summary.scalar('always', 3.0, family='f', step=7)
        with summary.record_summaries_every_n_global_steps(2):
          summary.scalar('even', 1.0)
        summary.scalar('never', 1.0)
        session.run(tf.global_variables_initializer())
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'is not initialized'):
          session.run(summary.all_summary_ops()[0])
        summary.initialize(session=session)
        for _ in range(2):
          session.run(summary.all_summary_ops())
          session.run(tf.assign_add(step, 1))
        session.run(summary.flush())
      self.assertEqual(self.values(), [
          (0, 'even', 1.0), (0, 'outer/always', 2.0), (1, 'outer/always', 2.0),
          (7, 'f/outer/f/always', 3.0), (7, 'f/outer/f/always', 3.0)])
      session.run(writer.close())
      self.assertEqual(len(summary.summary_writer_initializer_op()), 1)
    self.assertIsNotNone(graph)

  def test_without_a_writer(self):
    with tf.Graph().as_default(), tf.Session() as session:
      with summary.always_record_summaries():
        self.assertEqual(summary.scalar('x', 1.0).type, 'NoOp')
      with summary.create_file_writer(None).as_default():
        self.assertEqual(summary.all_summary_ops(), [])
        with self.assertRaisesRegex(RuntimeError, 'No default'):
          summary.initialize(session=session)
      with self.assertRaisesRegex(TypeError, 'needs a tf.Tensor'):
        summary.graph(tf.get_default_graph())
    self.assertEqual(summary.eval_dir('m', 'x'), os.path.join('m', 'eval_x'))


if __name__ == '__main__':
  unittest.main()
