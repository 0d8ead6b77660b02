"""Gradient functions of Python: tf.RegisterGradient, gradient_override_map, stop_gradients."""
import unittest

import numpy as np

import leat as tf


@tf.RegisterGradient('TestTripled')
def _tripled(op, gradient):
  return 3.0 * gradient * op.inputs[0]


@tf.RegisterGradient('TestFails')
def _fails(op, gradient):
  del gradient
  raise KeyError('no slope of %s' % op.name)


@tf.RegisterGradient('TestTooMany')
def _too_many(op, gradient):
  return gradient, gradient


@tf.RegisterGradient('TestUnstacked')
def _unstacked(op, *of_outputs):
  return tf.stack([g * 10.0 for g in of_outputs])


@tf.RegisterGradient('TestRows')
def _rows(op, gradient):
  del op
  return tf.IndexedSlices(tf.reshape(gradient, [1, 2]), tf.constant([1])), None


class GradientFunctionTest(unittest.TestCase):

  def setUp(self):
    self._default = tf.Graph().as_default()
    self.graph = self._default.__enter__()
    self.addCleanup(self._default.__exit__, None, None, None)
    self.x = tf.placeholder(tf.float32, [])

  def _marked(self, entry, x):
    with self.graph.gradient_override_map({'Identity': entry}):
      return tf.identity(x, name='marked')

  def _slope(self, y, at):
    with tf.Session() as session:
      return session.run(tf.gradients(y, self.x)[0], {self.x: at})

  def test_in_place_of_the_library(self):
    y = self._marked('TestTripled', self.x * 5.0) * 2.0
    self.assertEqual(self._slope(y, 1.0), 3 * 5 * 2 * 5)
    added = [op for op in self.graph.get_operations() if 'marked_grad' in op.name]
    self.assertTrue(added)
    for op in added:
      self.assertEqual(op._original_op.name, 'marked')

  def test_in_a_loop_it_reads_the_values_of_all_iterations(self):
    def body(i, v):
      return i + 1, self._marked('TestTripled', v)
    _, y = tf.while_loop(lambda i, v: i < 3, body, [0, self.x])
    self.assertEqual(self._slope(y, 2.0), 6.0 ** 3)

  def test_an_error_is_raised_as_it_is(self):
    with self.assertRaisesRegex(KeyError, 'no slope of marked'):
      tf.gradients(self._marked('TestFails', self.x), self.x)
    with self.assertRaisesRegex(ValueError, 'Num gradients 2 generated'):
      tf.gradients(self._marked('TestTooMany', self.x), self.x)

  def test_outputs_that_nobody_reads_have_gradients_of_zeros(self):
    with self.graph.gradient_override_map({'Unpack': 'TestUnstacked'}):
      _, second = tf.unstack(tf.stack([self.x, self.x]), name='both')
    self.assertEqual(self._slope(second, 1.0), 10)

  def test_rows_take_the_shape_of_their_input(self):
    with self.graph.gradient_override_map({'Sum': 'TestRows'}):
      table = tf.placeholder(tf.float32, [3, 2])
      gradient = tf.gradients(tf.reduce_sum(table, 0), table)[0]
    self.assertIsInstance(gradient, tf.IndexedSlices)
    with tf.Session() as session:
      dense = session.run(tf.convert_to_tensor(gradient), {table: np.zeros((3, 2), np.float32)})
    self.assertEqual(dense.tolist(), [[0, 0], [1, 1], [0, 0]])

  def test_stops_and_colocation(self):
    square = self.x * self.x
    stopped = tf.gradients(square * self.x, self.x, stop_gradients=[square],
                           colocate_gradients_with_ops=True)[0]
    with tf.Session() as session:
      self.assertEqual(session.run(stopped, {self.x: 3.0}), 9)
    self.assertEqual(stopped.op.colocation_groups(), [b'loc:@mul_1'])


if __name__ == '__main__':
  unittest.main()
