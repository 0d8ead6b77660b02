"""What tf.board writes into event files (pr_curve, layout, hparams, session_end, experiment), and
what it refuses. What the board shows of these files is tested in board/summary_test.c."""
import glob
import os
import tempfile
import unittest

import numpy as np

import leat as tf


class BoardSummariesTest(unittest.TestCase):
  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.logdir = folder.name
    self.writer = tf.summary.FileWriter(self.logdir)
    self.addCleanup(self.writer.close)

  def events(self):
    self.writer.close()
    path, = glob.glob(os.path.join(self.logdir, 'events.*'))
    return list(tf.train.summary_iterator(path))[1:]

  def only_value(self):
    event, = self.events()
    value, = event.summary.value
    return event, value

  def test_pr_curve(self):
    # 0.9 reaches the thresholds 0 and 0.5, the others 0 alone.
    tf.board.pr_curve(self.writer, 'c', np.array([[True, False], [True, False]]),
                      np.array([[0.9, 0.2], [0.4, 0.4]], np.float32), step=7,
                      weights=[1, 1, 2, 1], num_thresholds=3)
    event, value = self.only_value()
    self.assertEqual((event.step, value.tag), (7, 'c'))
    self.assertEqual(value.metadata.plugin_data.plugin_name, 'pr_curves')
    np.testing.assert_allclose(tf.make_ndarray(value.tensor), [
        [3, 1, 0], [2, 0, 0], [0, 2, 2], [0, 2, 3], [0.6, 1, 0], [1, 1 / 3, 0]], rtol=1e-6)

  def test_curves_are_refused(self):
    def write(labels=(0, 1), predictions=(0, 1), **more):
      tf.board.pr_curve(self.writer, 'c', labels, predictions, **more)
    with self.assertRaisesRegex(ValueError, 'have 2, 3 elements, must have equally many'):
      write(predictions=[0, 0.5, 1])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'label 1 is 2, must be 0 or 1'):
      write(labels=[0, 2])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'prediction 0 is nan'):
      write(predictions=[float('nan'), 0])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'weight 1 is inf'):
      write(weights=[1, 1e300])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'number of thresholds is 1'):
      write(num_thresholds=1)
    self.assertEqual(self.events(), [])

  def test_layout(self):
    tf.board.layout(self.writer, {'A': {'c': ['lo.s', 'x'], 'm': [('v', 'l', 'u')]}, 'B': {}},
                    closed=['B'])
    _, value = self.only_value()
    self.assertEqual(value.tag, 'custom_scalars__config__')
    # A Layout, whose field 2 are its categories.
    self.assertEqual(tf.make_ndarray(value.tensor).item(), (
        b'\x12\x25\x0a\x01A' b'\x12\x0e\x0a\x01c\x12\x09\x0a\x04lo.s\x0a\x01x'
        b'\x12\x10\x0a\x01m\x1a\x0b\x0a\x09\x0a\x01v\x12\x01l\x1a\x01u'
        b'\x12\x05\x0a\x01B\x18\x01'))

  def test_layouts_are_refused(self):
    with self.assertRaisesRegex(ValueError, "closed has 'C', must be titles of categories"):
      tf.board.layout(self.writer, {'A': {}}, closed=['C'])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "chart 'c': it has 0 tags and 0"):
      tf.board.layout(self.writer, {'A': {'c': []}})
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'it has 1 tags and 1 margins'):
      tf.board.layout(self.writer, {'A': {'c': ['x', ('v', 'l', 'u')]}})
    with self.assertRaises(TypeError):
      tf.board.layout(self.writer, {'A': {'c': [('v', 'l')]}})
    self.assertEqual(self.events(), [])

  def test_sessions(self):
    tf.board.hparams(self.writer, {'lr': np.float32(0.25), 'n': 3, 'opt': 'adam', 'big': True}, 'G')
    tf.board.session_end(self.writer, 'failure')
    start, end = self.events()
    self.assertEqual([e.summary.value[0].tag for e in (start, end)],
                     ['_hparams_/session_start_info', '_hparams_/session_end_info'])
    content = start.summary.value[0].metadata.plugin_data.content
    for entry in (b'\x0a\x02lr\x12\x09\x11\0\0\0\0\0\0\xd0\x3f', b'\x0a\x03opt\x12\x06\x1a\x04adam',
                  b'\x0a\x01n\x12\x09\x11\0\0\0\0\0\0\x08\x40', b'\x0a\x03big\x12\x02\x20\x01',
                  b'\x22\x01G'):
      self.assertIn(entry, content)
    self.assertIn(b'\x08\x02', end.summary.value[0].metadata.plugin_data.content)

  def test_sessions_are_refused(self):
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "'lr': the number is inf"):
      tf.board.hparams(self.writer, {'lr': float('inf')})
    with self.assertRaises(TypeError):
      tf.board.hparams(self.writer, {'lr': [1, 2]})
    with self.assertRaisesRegex(ValueError, "status is 'well', must be one of failure"):
      tf.board.session_end(self.writer, 'well')
    self.assertEqual(self.events(), [])

  def test_experiment(self):
    tf.board.experiment(self.writer, {'lr': (0.5, 2), 'opt': ['sgd', 'adam'], 'big': bool,
                                      'x': str},
                        ['loss', ('acc', 'eval')], 'What it is')
    _, value = self.only_value()
    content = value.metadata.plugin_data.content
    for part in (b'\x0a\x0aWhat it is', b'\x0a\x02lr\x20\x03\x32\x12\x09\0\0\0\0\0\0\xe0\x3f',
                 b'\x0a\x03opt\x20\x01\x2a\x0f\x0a\x05\x1a\x03sgd\x0a\x06\x1a\x04adam',
                 b'\x0a\x01x\x20\x01', b'\x12\x04loss', b'\x0a\x04eval\x12\x03acc'):
      self.assertIn(part, content)

  def test_experiments_are_refused(self):
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "'lr': low is 2"):
      tf.board.experiment(self.writer, {'lr': (2, 1)}, [])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "metric 'loss' .* twice"):
      tf.board.experiment(self.writer, {}, ['loss', 'loss'])
    self.assertEqual(self.events(), [])


if __name__ == '__main__':
  unittest.main()
