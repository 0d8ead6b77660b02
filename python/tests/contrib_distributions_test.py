"""Distributions of vectors, mixtures and transformed ones (contrib.distributions), against their
formulas in numpy."""
import math
import unittest

import numpy as np

import leat as tf

ds = tf.contrib.distributions


def _normal(x, loc, scale):
  return np.exp(-0.5 * ((x - loc) / scale) ** 2) / (scale * math.sqrt(2 * math.pi))


class ContribDistributionsTest(unittest.TestCase):

  def _run(self, *tensors):
    with tf.Session() as session:
      return session.run(list(tensors))

  def setUp(self):
    tf.reset_default_graph()

  def test_a_normal_vector_with_a_triangle(self):
    triangle, loc = np.array([[1., 9.], [.5, 2.]], np.float32), np.array([1., 2.], np.float32)
    d = ds.MultivariateNormalTriL(loc, triangle)
    lower = np.tril(triangle)
    covariance = lower @ lower.T
    x = np.array([[0., 0.], [3., -1.]], np.float32)
    z = np.linalg.solve(lower, (x - loc).T)
    expected = -0.5 * (z ** 2).sum(0) - math.log(2 * math.pi) - math.log(2)
    found, given, entropy, samples = self._run(
        d.log_prob(x), d.covariance(), d.entropy(), d.sample(20000, seed=3))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(given, covariance, rtol=1e-6)
    self.assertAlmostEqual(
        float(entropy), 0.5 * math.log(np.linalg.det(2 * math.pi * math.e * covariance)), 4)
    np.testing.assert_allclose(np.cov(samples.T), covariance, atol=0.15)
    full = ds.MultivariateNormalFullCovariance(loc, covariance.astype(np.float32))
    np.testing.assert_allclose(self._run(full.log_prob(x))[0], expected, rtol=1e-5)

  def test_a_diagonal_broadcasts_over_a_batch(self):
    d = ds.MultivariateNormalDiag(tf.zeros([4, 1, 3]), [1., 2., 3.], scale_identity_multiplier=1.)
    self.assertEqual((d.batch_shape, d.event_shape), ([4, 1], [3]))
    self.assertEqual(d.sample(5).shape, [5, 4, 1, 3])
    log_prob, = self._run(d.log_prob([1., 1., 1.]))
    expected = sum(math.log(_normal(1., 0., s)) for s in (2., 3., 4.))
    np.testing.assert_allclose(log_prob, np.full([4, 1], expected), rtol=1e-5)

  def test_divergence_of_normal_vectors(self):
    a = ds.MultivariateNormalTriL([1., 2.], [[1., 0.], [.5, 2.]])
    b = ds.MultivariateNormalDiag([0., 1.], [2., 3.])
    s, t = np.array([[1., .5], [.5, 4.25]]), np.diag([4., 9.])
    m = np.array([-1., -1.])
    expected = 0.5 * (np.trace(np.linalg.solve(t, s)) + m @ np.linalg.solve(t, m) - 2 +
                      math.log(np.linalg.det(t) / np.linalg.det(s)))
    self.assertAlmostEqual(float(self._run(ds.kl_divergence(a, b))[0]), expected, 5)

  def test_mixtures(self):
    components = ds.Normal([-1., 1.], [.1, .5])
    same = ds.MixtureSameFamily(ds.Categorical(probs=[.3, .7]), components)
    listed = ds.Mixture(ds.Categorical(probs=[.3, .7]), [ds.Normal(-1., .1), ds.Normal(1., .5)])
    x = np.array([-1., 0.4, 2.])
    expected = .3 * _normal(x, -1., .1) + .7 * _normal(x, 1., .5)
    variance = .3 * (.01 + 1.4 ** 2) + .7 * (.25 + .6 ** 2)
    for d in (same, listed):
      prob, mean, found, samples = self._run(
          d.prob(tf.constant(x, tf.float32)), d.mean(), d.variance(), d.sample(20000, seed=1))
      np.testing.assert_allclose(prob, expected, rtol=1e-4)
      self.assertAlmostEqual(float(mean), .4, 6)
      self.assertAlmostEqual(float(found), variance, 5)
      self.assertAlmostEqual(samples.mean(), .4, 1)

  def test_independent_adds_up_an_event(self):
    d = ds.Independent(ds.Bernoulli(logits=[[0., 1.], [2., 3.], [4., 5.]]), 1)
    self.assertEqual((d.batch_shape, d.event_shape), ([3], [2]))
    found, = self._run(d.log_prob(tf.ones([3, 2])))   # floats: the type need not be that of samples
    logits = np.array([[0., 1.], [2., 3.], [4., 5.]])
    np.testing.assert_allclose(found, -np.log1p(np.exp(-logits)).sum(1), rtol=1e-5)
    other = ds.Independent(ds.Normal([0., 0.], 1.), 1)
    self.assertAlmostEqual(float(self._run(ds.kl_divergence(
        ds.Independent(ds.Normal([1., 2.], 1.), 1), other))[0]), 2.5, 5)

  def test_bijectors_are_inverse_and_know_their_volume(self):
    b = ds.bijectors
    x = np.array([-1.3, -.2, .4, 2.], np.float32)
    for bijector in (b.Exp(), b.Sigmoid(), b.Softplus(), b.Tanh(), b.Identity(),
                     b.AffineScalar(1., -2.), b.Chain([b.Exp(), b.AffineScalar(.5, 3.)]),
                     b.Invert(b.Chain([b.AffineScalar(1., 2.)]))):
      given = tf.constant(x)
      y = bijector.forward(given)
      slope = tf.gradients(y, given)[0]
      back, volume, inverse_volume, expected = self._run(
          bijector.inverse(y), bijector.forward_log_det_jacobian(given, 0),
          bijector.inverse_log_det_jacobian(y, 0), tf.log(tf.abs(slope)))
      np.testing.assert_allclose(back, x, rtol=1e-4, err_msg=bijector.name)
      np.testing.assert_allclose(volume, expected, rtol=1e-4, atol=1e-5, err_msg=bijector.name)
      np.testing.assert_allclose(inverse_volume, -expected, rtol=1e-4, atol=1e-4)

  def test_a_transformed_vector(self):
    triangle = [[1., 0.], [.5, 2.]]
    affine = ds.bijectors.Affine(shift=[1., 2.], scale_tril=triangle)
    standard = ds.MultivariateNormalDiag(tf.zeros([2]), tf.ones([2]))
    found, expected = self._run(
        ds.TransformedDistribution(standard, affine).log_prob([.3, .4]),
        ds.MultivariateNormalTriL([1., 2.], triangle).log_prob([.3, .4]))
    self.assertAlmostEqual(float(found), float(expected), 5)

  def test_densities_integrate_to_one(self):
    x = np.linspace(-60, 60, 240001)[1::2]
    positive = np.linspace(0, 200, 200001)[1:]
    inside = np.linspace(0, 1, 20001)[1:-1]
    counts = np.arange(400.)
    for d, points in ((ds.Logistic(.3, 1.2), x), (ds.Gumbel(.3, 1.2), x),
                      (ds.HalfNormal(2.), positive), (ds.InverseGamma(4., 2.), positive),
                      (ds.Chi2(3.), positive), (ds.RelaxedBernoulli(.8, probs=.4), inside),
                      (ds.Poisson(3.), counts), (ds.Geometric(probs=.1), counts),
                      (ds.NegativeBinomial(3., probs=.6), counts)):
      prob, = self._run(d.prob(tf.constant(points, tf.float32)))
      total = prob.astype(float).sum() * (points[1] - points[0])
      self.assertAlmostEqual(total, 1.0, 2, d.name)

  def test_samples_have_the_mean(self):
    for d in (ds.Logistic(.3, 1.), ds.Gumbel(.3, 1.), ds.HalfNormal(2.), ds.Poisson(3.),
              ds.Geometric(probs=.3), ds.NegativeBinomial(3., probs=.4), ds.Binomial(9., probs=.3),
              ds.InverseGamma(6., 2.), ds.OneHotCategorical(probs=[.2, .3, .5])):
      samples, mean = self._run(d.sample(20000, seed=7), d.mean())
      np.testing.assert_allclose(samples.mean(0), mean, rtol=0.06, err_msg=d.name)

  def test_the_shape_of_samples_may_be_a_tensor(self):
    shape = tf.placeholder(tf.int32, [2])
    with tf.Session() as session:
      found = session.run(ds.Normal([0., 1., 2.], 1.).sample(shape), {shape: [4, 5]})
    self.assertEqual(found.shape, (4, 5, 3))

  def test_triangles_and_percentiles(self):
    found = self._run(ds.fill_triangular([1., 2., 3., 4., 5., 6.]), ds.percentile(
        [[4., 1.], [3., 2.]], 50., axis=0, interpolation='lower', keep_dims=True),
                      ds.percentile([5., 1., 3., 2., 4.], 75.))
    np.testing.assert_array_equal(found[0], [[4, 0, 0], [6, 5, 0], [3, 2, 1]])
    np.testing.assert_array_equal(found[1], [[3, 1]])
    self.assertEqual(found[2], 4.)


if __name__ == '__main__':
  unittest.main()
