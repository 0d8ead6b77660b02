"""Names of the nodes that tf.gradients adds, as TensorFlow 1 gives them."""
import unittest

import leat as tf


def _names(graph, op_type):
  return [op.name for op in graph.get_operations() if op.type == op_type]


class GradientNamesTest(unittest.TestCase):

  def test_sums_are_numbered_in_the_scope_of_all_gradients(self):
    with tf.Graph().as_default() as graph:
      x = tf.placeholder(tf.float32, [2], name='x')
      y = tf.exp(x, name='y')
      tf.gradients(y * x + tf.sin(y), x)
    self.assertEqual(_names(graph, 'AddN'), ['gradients/AddN', 'gradients/AddN_1'])

  def test_a_scope_around_the_gradients_is_before_their_own(self):
    with tf.Graph().as_default() as graph, tf.name_scope('train'):
      x = tf.placeholder(tf.float32, [2], name='x')
      tf.gradients(x * x, x, name='slopes')
    self.assertEqual(_names(graph, 'AddN'), ['train/slopes/AddN'])

  def test_sums_of_rows_are_there_too(self):
    with tf.Graph().as_default() as graph:
      table = tf.Variable(tf.zeros([5, 2]), name='table')
      y = tf.gather(table, [0, 1]) + tf.gather(table, [1, 2])
      tf.gradients(y, table)
    self.assertEqual([name.rpartition('/')[0] for name in _names(graph, 'ConcatV2')],
                     ['gradients/GatherV2_grad', 'gradients/GatherV2_1_grad', 'gradients',
                      'gradients'])


if __name__ == '__main__':
  unittest.main()
