"""What TensorFlow does in corners that are easily forgotten: gradients of rows, what a finalized
graph refuses, seeds, arguments that contradict each other. The numbers are TensorFlow's."""
import unittest

import numpy as np

import leat as tf


class GraphCase(unittest.TestCase):
  """Each test has a graph of its own."""

  def setUp(self):
    self._default = tf.Graph().as_default()
    self.graph = self._default.__enter__()
    self.addCleanup(self._default.__exit__, None, None, None)

  def run_all(self, *fetches, feed=None):
    """The values of the fetches, with variables initialized."""
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      return [session.run(f, feed) for f in fetches]


class RowGradientTest(GraphCase):

  def test_gathers_have_gradients_of_rows(self):
    for resource in (False, True):
      v = tf.Variable(np.ones((3, 2), np.float32), use_resource=resource)
      ids = tf.placeholder(tf.int32, [None])
      for y in (tf.gather(v, ids), tf.nn.embedding_lookup(v, ids)):
        g = tf.gradients(y * 3.0, v)[0]
        self.assertIsInstance(g, tf.IndexedSlices)
        found = self.run_all(g, tf.convert_to_tensor(g), feed={ids: [2, 0, 2]})
        self.assertEqual(found[0].indices.tolist(), [2, 0, 2])
        self.assertEqual(found[0].values.tolist(), [[3, 3]] * 3)
        self.assertEqual(found[0].dense_shape.tolist(), [3, 2])
        self.assertEqual(found[1].tolist(), [[3, 3], [0, 0], [6, 6]])
      both = tf.gradients(tf.gather(v, [0]) + tf.gather(v, [1]), v)[0]
      self.assertIsInstance(both, tf.IndexedSlices)
      self.assertIsInstance(tf.gradients(tf.gather(v, [0]) + v, v)[0], tf.Tensor)

  def test_a_segment_sum_of_the_program_stays_dense(self):
    x = tf.placeholder(tf.float32, [3, 1])
    y = tf.gather(tf.unsorted_segment_sum(x, [0, 1, 0], 2), [0, 0])
    self.assertIsInstance(tf.gradients(y, x)[0], tf.Tensor)

  def test_optimizers_leave_other_rows_alone(self):
    for resource in (False, True):
      v = tf.Variable(np.ones((3, 1), np.float32), use_resource=resource)
      ids = tf.placeholder(tf.int32, [None])
      step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(tf.gather(v, ids)))
      gated = tf.train.GradientDescentOptimizer(0.1).compute_gradients(
          tf.reduce_sum(tf.gather(v, ids)), [v], gate_gradients=tf.train.Optimizer.GATE_GRAPH)
      self.assertIsInstance(gated[0][0], tf.IndexedSlices)
      with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for row in (0, 1):
          session.run(step, {ids: [row]})
        np.testing.assert_allclose(session.run(v).ravel(), [0.9, 0.9, 1.0], rtol=1e-6)


class LibraryOperationsTest(GraphCase):
  """Operations that the library adds by itself are made as the program's are."""

  def test_a_finalized_graph_refuses_them(self):
    x = tf.placeholder(tf.float32, [2])
    y = tf.tanh(x)
    graph_def = self.graph.as_graph_def()
    self.graph.finalize()
    with self.assertRaisesRegex(RuntimeError, 'finalized'):
      tf.gradients(y, x)
    with self.assertRaisesRegex(RuntimeError, 'finalized'):
      tf.import_graph_def(graph_def)

  def test_the_settings_hold_for_them(self):
    first, x = tf.no_op(name='first'), tf.placeholder(tf.float32, [2])
    y = tf.tanh(x)
    start = len(self.graph.get_operations())
    with tf.control_dependencies([first]), tf.device('/cpu:0'):
      tf.gradients(y, x)
    added = self.graph.get_operations()[start:]
    self.assertTrue(added)
    self.assertEqual({op.device for op in added}, {'/device:CPU:0'})
    self.assertTrue(any(first in op.control_inputs for op in added))
    self.assertTrue(all('semantics_test' in op.traceback[0][0] for op in added))
    with tf.colocate_with(first):
      g = tf.gradients(y, x)[0]
    self.assertEqual(g.op.colocation_groups(), [b'loc:@first'])
    with tf.Graph().as_default() as other:
      tf.constant(1.0, name='c')
    with tf.control_dependencies([first]), tf.colocate_with(first):
      tf.import_graph_def(other.as_graph_def(), name='i')
    op = self.graph.get_operation_by_name('i/c')
    self.assertEqual([c.name for c in op.control_inputs], ['first'])
    self.assertEqual(op.colocation_groups(), [b'loc:@first'])
    self.assertIn('semantics_test', op.traceback[0][0])

  def test_the_version_is_the_number_of_operations(self):
    x = tf.placeholder(tf.float32, [2])
    tf.gradients(tf.tanh(x), x)
    self.assertEqual(self.graph.version, len(self.graph.get_operations()))

  def test_arguments_are_checked(self):
    x = tf.placeholder(tf.float32, [2])
    with self.assertRaisesRegex(ValueError, 'aggregation_method'):
      tf.gradients(x * x, x, aggregation_method=77)
    with tf.Graph().as_default():
      stranger = tf.no_op()
    with self.assertRaisesRegex(ValueError, 'same graph'):
      tf.no_op()._add_control_input(stranger)

  def test_control_dependencies_on_what_stands_for_tensors(self):
    v = tf.Variable(1.0, name='v', use_resource=True)
    slices = tf.IndexedSlices(tf.constant([1.0], name='values'), tf.constant([0]))
    with tf.control_dependencies([v, slices]):
      op = tf.no_op()
    self.assertEqual(sorted(c.name for c in op.control_inputs), ['v', 'values'])


class SeedTest(GraphCase):

  def test_seeds_are_tensorflows(self):
    tf.set_random_seed(2 ** 31 + 4)
    self.assertEqual(tf.get_seed(2 ** 31 - 1), (5, 0))
    tf.set_random_seed(0)
    self.assertEqual(tf.get_seed(2 ** 31 - 1), (0, 2 ** 31 - 1))
    tf.set_random_seed(7)
    tf.constant(1)
    seeds = []
    for make in (tf.random_normal, tf.random_uniform, tf.random_normal):
      make([2])
      seeds.append([op for op in self.graph.get_operations()
                    if op.type.startswith('Random')][-1].get_attr('seed2'))
    self.assertEqual(seeds, [0, 1, 2])


if __name__ == '__main__':
  unittest.main()
