"""tf.test, used as programs use it."""
import contextlib
import io
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


class BenchmarkTest(unittest.TestCase):

  def test_an_operation_is_measured(self):
    runs, printed = [], io.StringIO()
    with tf.Graph().as_default(), tf.Session() as session:
      op = tf.py_func(lambda: runs.append(1), [], [], name='op')
      with contextlib.redirect_stdout(printed):
        found = tf.test.Benchmark().run_op_benchmark(
            session, op, burn_iters=1, min_iters=4, name='mine', extras={'a': 1}, mbs=2.)
    self.assertEqual(len(runs), 5)
    self.assertEqual((found['iters'], found['extras']['a']), (4, 1))
    self.assertAlmostEqual(found['throughput'] * found['wall_time'], 2.)
    self.assertRegex(printed.getvalue(), r'^mine: iters 4, wall_time ')

  def test_graphs_are_compared_by_their_nodes(self):
    def graph(value):
      with tf.Graph().as_default() as g:
        tf.constant(value, name='c')
      return g.as_graph_def()
    tf.test.assert_equal_graph_def(graph(1.), graph(1.))
    with self.assertRaisesRegex(AssertionError, 'Node c differs'):
      tf.test.assert_equal_graph_def(graph(1.), graph(2.))
    with self.assertRaisesRegex(AssertionError, "only one of the graphs has: .'c'"):
      tf.test.assert_equal_graph_def(graph(1.), tf.GraphDef())


if __name__ == '__main__':
  unittest.main()
