"""tf.distributions: shapes of samples, formulas that follow from others, divergences of classes."""
import unittest

import numpy as np

import leat as tf

d = tf.distributions


class DistributionTest(unittest.TestCase):

  def setUp(self):
    default = tf.Graph().as_default()
    default.__enter__()
    self.addCleanup(default.__exit__, None, None, None)

  def _value(self, fetch, feed=None):
    with tf.Session() as session:
      return session.run(fetch, feed)

  def test_shapes_of_samples(self):
    normal = d.Normal([[0.0], [1.0]], [1.0, 2.0, 3.0])
    self.assertEqual(normal.batch_shape.as_list(), [2, 3])
    for shape, wanted in ((), (2, 3)), (4, (4, 2, 3)), ([2, 5], (2, 5, 2, 3)):
      self.assertEqual(self._value(normal.sample(shape)).shape, wanted)
    rows = tf.placeholder(tf.float32, [None, 3])
    drawn = self._value(d.Categorical(rows).sample(7), {rows: np.zeros((2, 3))})
    self.assertEqual((drawn.shape, set(drawn.ravel()) <= {0, 1, 2}), ((7, 2), True))

  def test_moments_of_samples(self):
    for made in (d.Normal(1.0, 2.0), d.Uniform(-1.0, 2.0), d.Exponential(2.0), d.Laplace(1.0, 0.5),
                 d.Gamma(3.0, 2.0), d.Beta(2.0, 3.0)):
      drawn, mean, deviation = self._value([made.sample(20000, seed=3), made.mean(), made.stddev()])
      self.assertAlmostEqual(drawn.mean(), mean, delta=0.05, msg=made)
      self.assertAlmostEqual(drawn.std(), deviation, delta=0.05, msg=made)

  def test_a_density_is_the_slope_of_its_cdf(self):
    x = tf.constant([0.2, 0.6])
    for made in (d.Normal(1.0, 2.0), d.Uniform(-1.0, 2.0), d.Exponential(2.0), d.Laplace(0.3, 0.5),
                 d.Gamma(3.0, 2.0), d.Beta([2.0, 3.0], [3.0, 1.0])):
      slope, density = self._value([tf.gradients(made.cdf(x), x)[0], made.prob(x)])
      np.testing.assert_allclose(slope, density, rtol=1e-4)

  def test_gradients_go_through_samples(self):
    mean = tf.constant([1.0, 2.0])
    drawn = d.Normal(mean, 1.0).sample(5)
    self.assertEqual(self._value(tf.gradients(drawn, mean)[0]).tolist(), [5, 5])

  def test_divergences_of_classes(self):
    class Mine(d.Normal):
      pass
    a, b = Mine(0.0, 1.0), d.Normal(1.0, 1.0)
    self.assertEqual(self._value(a.kl_divergence(b)), 0.5)

    @d.RegisterKL(Mine, d.Normal)
    def nearer(a, b, name=None):
      return tf.constant(7.0)
    self.assertEqual(self._value(d.kl_divergence(a, b)), 7)
    with self.assertRaises(NotImplementedError):
      d.kl_divergence(a, d.Uniform())
    with self.assertRaises(ValueError):
      d.RegisterKL(Mine, d.Normal)(nearer)

  def test_a_copy_has_other_arguments(self):
    made = d.Bernoulli(probs=0.25).copy(dtype=tf.float32)
    self.assertEqual((made.dtype, self._value(made.probs)), (tf.float32, 0.25))


if __name__ == '__main__':
  unittest.main()
