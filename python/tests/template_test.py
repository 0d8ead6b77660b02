"""Templates and accumulators, which pass in TensorFlow too."""
import os
import unittest

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
else:
  import leat as tf


class TemplateTest(unittest.TestCase):

  def setUp(self):
    self._graph = tf.Graph()
    self._entered = self._graph.as_default()
    self._entered.__enter__()
    self.addCleanup(self._entered.__exit__, None, None, None)

  @staticmethod
  def _layer(x, size=2):
    return x * tf.get_variable('w', [size], initializer=tf.ones_initializer())

  def test_variables_are_used_again(self):
    layer = tf.make_template('layer', self._layer)
    self.assertIsNone(layer.variable_scope)
    first, second = layer(1.0), layer(2.0)
    self.assertEqual([v.name for v in tf.global_variables()], ['layer/w:0'])
    self.assertEqual([first.name, second.name], ['layer/mul:0', 'layer_1/mul:0'])
    other = tf.make_template('layer', self._layer)
    other(1.0)
    self.assertEqual([v.name for v in other.variables], ['layer_1/w:0'])
    self.assertEqual(layer.variable_scope_name, 'layer/')

  def test_the_scope_can_be_made_at_once(self):
    layer = tf.make_template('a', self._layer, create_scope_now_=True, size=3)
    with tf.variable_scope('b'):
      layer(1.0)
    self.assertEqual([v.name for v in layer.trainable_variables], ['a/w:0'])
    self.assertEqual(layer.variables[0].shape.as_list(), [3])

  def test_later_variables_are_refused(self):
    layer = tf.make_template('a', lambda: tf.Variable(1.0))
    layer()
    with self.assertRaisesRegex(ValueError, 'after the first time'):
      layer()

  def test_dense_accumulator(self):
    total = tf.ConditionalAccumulator(tf.float32, shape=[2])
    add, late = total.apply_grad([1.0, 2.0], local_step=1), total.apply_grad([9.0, 9.0])
    with tf.Session() as session:
      session.run(total.set_global_step(1))
      session.run([add, late])
      session.run(total.apply_grad([3.0, 4.0], local_step=1))
      self.assertEqual(session.run(total.num_accumulated()), 2)
      self.assertEqual(list(session.run(total.take_grad(2))), [2.0, 3.0])
      self.assertEqual(session.run(total.num_accumulated()), 0)
    with self.assertRaises(ValueError):
      total.apply_grad([1.0])

  def test_accumulator_of_rows(self):
    total = tf.SparseConditionalAccumulator(tf.float32, reduction_type='SUM')
    with tf.Session() as session:
      session.run(total.apply_grad([0, 2], [[1.0], [2.0]]))
      session.run(total.apply_indexed_slices_grad(
          tf.IndexedSlices(tf.constant([[5.0]]), tf.constant([2]))))
      slices = session.run(total.take_indexed_slices_grad(2))
      self.assertEqual([list(slices.indices), [list(v) for v in slices.values]],
                       [[0, 2], [[1.0], [7.0]]])


if __name__ == '__main__':
  unittest.main()
