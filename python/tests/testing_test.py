"""tf.test, used as programs use it."""
import unittest

import numpy as np

import leat as tf


class Case(tf.test.TestCase):
  """Each test is one of a program's test case."""

  def test_sessions(self):
    with self.cached_session() as first:
      self.assertIs(tf.get_default_session(), first)
      variable = tf.Variable([1.0, 2.0])
      self.evaluate(tf.global_variables_initializer())
    with self.test_session() as second:
      self.assertIs(first, second)
      self.assertAllClose(variable, [1.0, 2.0])
    with self.session() as other:
      self.assertIsNot(other, first)

  def test_values(self):
    self.assertAllClose({'a': [1.0, 2.0]}, {'a': np.array([1, 2 + 1e-7])})
    self.assertAllEqual([1, np.nan], np.array([1, np.nan]))
    self.assertAllCloseAccordingToType(np.float16(1), np.float16(1.0005))
    for wrong in (lambda: self.assertAllClose([1.0], [1.1]),
                  lambda: self.assertAllClose([1.0], 1.0),
                  lambda: self.assertAllEqual([1], [2]),
                  lambda: self.assertNear(1, 2, 0.5),
                  lambda: self.assertShapeEqual(np.zeros(2), tf.zeros([3])),
                  lambda: self.assertDeviceEqual('/gpu:0', '/cpu:0')):
      with self.assertRaises(AssertionError):
        wrong()

  def test_errors(self):
    with self.cached_session():
      with self.assertRaisesOpError('is not in'):
        tf.gather(tf.constant([1]), tf.placeholder_with_default([3], [1])).eval()
      with self.assertRaises(AssertionError):
        with self.assertRaisesOpError('no such text'):
          tf.gather(tf.constant([1]), tf.placeholder_with_default([3], [1])).eval()

  def test_gradients(self):
    with self.cached_session():
      x = tf.constant([[1.0, 2.0], [3.0, 4.0]], tf.float64)
      good = x * x * x
      self.assertLess(tf.test.compute_gradient_error(x, [2, 2], good, [2, 2]), 1e-5)
      wrong = x * x + tf.stop_gradient(x)
      self.assertGreater(tf.test.compute_gradient_error(x, [2, 2], wrong, [2, 2]), 0.9)
      rows = tf.gather(x, [1, 1])
      self.assertLess(tf.test.compute_gradient_error(x, [2, 2], rows, [2, 2]), 1e-5)

  def test_messages(self):
    self.assertProtoEquals('name: "x"  op: "NoOp"', tf.NodeDef(name='x', op='NoOp'))
    with self.assertRaises(AssertionError):
      self.assertProtoEquals('name: "y"', tf.NodeDef(name='x'))


if __name__ == '__main__':
  unittest.main()
