"""tf.layers: names, sharing, and values against numpy."""
import unittest

import leat as tf


class LayersTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def test_names_and_sharing(self):
    x = tf.ones([2, 3])
    a = tf.layers.dense(x, 4, tf.nn.relu)
    tf.layers.dense(x, 4)
    with tf.variable_scope('tower'):
      tf.layers.dense(x, 4, name='top')
    with tf.variable_scope('tower', reuse=True):
      tf.layers.dense(x, 4, name='top')
    self.assertEqual([v.name for v in tf.trainable_variables()], [
        'dense/kernel:0', 'dense/bias:0', 'dense_1/kernel:0', 'dense_1/bias:0',
        'tower/top/kernel:0', 'tower/top/bias:0'])
    self.assertEqual(a.name, 'dense/Relu:0')
    with self.assertRaisesRegex(ValueError, 'already exists'):
      with tf.variable_scope('tower'):
        tf.layers.dense(x, 4, name='top')

  def test_dense_is_a_product(self):
    import numpy as np
    x = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    layer = tf.layers.Dense(2, bias_initializer=tf.constant_initializer([1.0, -1.0]))
    y = layer(tf.constant(x))
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      found, kernel = session.run([y, layer.kernel])
    np.testing.assert_allclose(found, x @ kernel + [1, -1], rtol=1e-5)

  def test_convolution_and_pool(self):
    import numpy as np
    x = np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1)
    y = tf.layers.conv2d(x, 1, 2, kernel_initializer=tf.ones_initializer())
    z = tf.layers.max_pooling2d(y, 3, 1)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      found = session.run([y, z])
    np.testing.assert_allclose(found[0][0, :, :, 0],
                               [[10, 14, 18], [26, 30, 34], [42, 46, 50]])
    self.assertEqual(found[1].ravel().tolist(), [50])

  def test_batch_normalization(self):
    import numpy as np
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.layers.batch_normalization(x, momentum=0.5, epsilon=0.0, training=True)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      found = session.run([y] + updates, {x: [[1, 0], [3, 4]]})[0]
      moving = session.run(tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)[2:])
    np.testing.assert_allclose(found, [[-1, -1], [1, 1]], rtol=1e-5)
    np.testing.assert_allclose(moving, [[1, 1], [1, 2.5]])
    self.assertEqual(len(tf.trainable_variables()), 2)

  def test_a_regularizer_of_scale_zero_adds_no_loss(self):
    x = tf.ones([2, 3])
    tf.layers.dense(x, 4, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.0))
    self.assertEqual(tf.losses.get_regularization_losses(), [])
    tf.layers.dense(x, 4, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1))
    self.assertEqual(len(tf.losses.get_regularization_losses()), 1)

  def test_a_step_says_whether_it_trains(self):
    import numpy as np
    training = tf.placeholder(tf.bool, [])
    x = tf.placeholder(tf.float32, [None, 2])
    dropped = tf.layers.dropout(x, 0.999, training=training)
    images = tf.placeholder(tf.float32, [None, 1, 1, 2])
    options = dict(momentum=0.5, epsilon=0.0, training=training)
    plain = tf.layers.batch_normalization(x, name='plain', **options)
    fused = tf.layers.batch_normalization(images, name='fused', **options)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    rows = np.array([[1, 0], [3, 4]], np.float32)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      for is_training in (False, True):
        feed = {x: rows, images: rows.reshape(2, 1, 1, 2), training: is_training}
        found = session.run([dropped, plain, fused], feed)
        session.run(updates, feed)
        means = session.run(['plain/moving_mean:0', 'fused/moving_mean:0'])
        if is_training:
          self.assertFalse(np.any(found[0][1] == rows[1]))
          np.testing.assert_allclose(found[1], [[-1, -1], [1, 1]], rtol=1e-4)
          np.testing.assert_allclose(found[2].reshape(2, 2), [[-1, -1], [1, 1]], rtol=1e-4)
          np.testing.assert_allclose(means, [[1, 1], [1, 1]])
        else:
          for values in found:
            np.testing.assert_allclose(values.reshape(2, 2), rows, rtol=1e-4)
          np.testing.assert_allclose(means, [[0, 0], [0, 0]])


if __name__ == '__main__':
  unittest.main()
