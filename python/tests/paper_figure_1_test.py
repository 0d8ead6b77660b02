"""Figure 1 of the white paper, as printed but for three lines.

The figure leaves out that variables are initialized by an operation, which is run here. Its `...`
are filled, and `xrange` and `print step, result` are Python 2's. A placeholder without a type, as
the figure has it, is one of float32 here; TensorFlow's own releases refuse it. W x + b adds up for
inputs of 100 columns.
"""
import unittest

import leat as tf


class Figure1Test(unittest.TestCase):

  def test_runs(self):
    import numpy as np
    with tf.Graph().as_default():
      b = tf.Variable(tf.zeros([100]))                        # 100-d vector, init to zeroes
      W = tf.Variable(tf.random_uniform([784, 100], -1, 1))   # 784x100 matrix w/rnd vals
      x = tf.placeholder(name="x")                            # Placeholder for input
      relu = tf.nn.relu(tf.matmul(W, x) + b)                  # Relu(Wx+b)
      C = tf.reduce_sum(relu)                                 # Cost computed as a function of Relu

      s = tf.Session()
      s.run(tf.global_variables_initializer())
      for step in range(0, 10):
        input = np.random.random((100, 100))                  # Create 100-d vector for input
        result = s.run(C, feed_dict={x: input})               # Fetch cost, feeding x=input
        w, bias = s.run([W, b])
        expected = np.maximum(w @ input.astype(np.float32) + bias, 0).sum()
        self.assertTrue(np.allclose(result, expected, rtol=1e-4), (step, result, expected))
        self.assertEqual((bias != 0).sum(), 0)
        self.assertTrue((w >= -1).all() and (w < 1).all() and w.std() > 0.5)
      names = [v.name for v in tf.trainable_variables()]
    self.assertEqual(names, ['Variable:0', 'Variable_1:0'])

  def test_gradients(self):
    """Section 4.1: [db, dW, dx] = tf.gradients(C, [b, W, x])."""
    import numpy as np
    with tf.Graph().as_default(), tf.Session() as s:
      b = tf.Variable(tf.zeros([3]))
      W = tf.Variable([[1., -2., 3.], [0.5, 1., -1.]])
      x = tf.placeholder(tf.float32, [1, 2], name="x")
      C = tf.reduce_sum(tf.nn.relu(tf.matmul(x, W) + b))
      [db, dW, dx] = tf.gradients(C, [b, W, x])
      s.run(tf.global_variables_initializer())
      db, dW, dx = s.run([db, dW, dx], {x: [[2., 1.]]})
    # x W = [2.5, -3, 5]: the second unit is off.
    np.testing.assert_allclose(db, [1, 0, 1])
    np.testing.assert_allclose(dW, [[2, 0, 2], [1, 0, 1]])
    np.testing.assert_allclose(dx, [[4, -0.5]])


  def test_gradients_see_every_reader(self):
    with tf.Graph().as_default(), tf.Session() as s:
      for use_resource in (False, True):
        v = tf.Variable(3.0, use_resource=use_resource)
        y = v * 2.0 + v.read_value() * 5.0
        s.run(v.initializer)
        self.assertEqual(s.run(tf.gradients(y, v)[0]), 7.0)


if __name__ == '__main__':
  unittest.main()
