"""tf.distributions: shapes of samples, formulas that follow from others, divergences of classes."""
import math
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

  def _check(self, made, at, **wanted):
    """Compares with what TensorFlow gave for the same arguments."""
    names = sorted(wanted)
    found = self._value([getattr(made, n)(at) if n.endswith('prob') else getattr(made, n)()
                         for n in names])
    for name, value in zip(names, found):
      np.testing.assert_allclose(value, wanted[name], rtol=2e-5, err_msg=name)

  def test_dirichlet(self):
    self._check(d.Dirichlet([[1.5, 2., 3.], [.5, 4., 2.]]), [[.2, .3, .5], [.1, .6, .3]],
                mean=[[.2307692, .3076923, .4615385], [.07692308, .6153846, .3076923]],
                variance=[[.02366864, .02840237, .03313609], [.009467455, .03155818, .02840237]],
                entropy=[-1.1016045, -2.1961398], log_prob=[1.6952109, 1.7132807],
                mode=[[.14285715, .2857143, .5714286], [np.nan] * 3])
    self._check(d.Dirichlet([2., 3.]), [[.25, .75], [.5, .5]], mode=[1 / 3, 2 / 3],
                covariance=[[.04, -.04], [-.04, .04]], prob=[1.6875, 1.5],
                stddev=[.2, .2], entropy=-.2349062)

  def test_multinomial(self):
    self._check(d.Multinomial([4., 5.], logits=[[.1, .2, .3], [0., -1., 1.]]),
                [[1., 2., 1.], [0., 2., 3.]], log_prob=[-1.9228649, -3.7354445],
                mean=[[1.2024384, 1.3289, 1.4686615], [1.2236423, .4501529, 3.3262048]],
                variance=[[.8409739, .8874062, .9294199], [.9241822, .4096254, 1.1134773]])
    self._check(d.Multinomial(3., probs=[.2, .3, .5]), [[1., 1., 1.], [0., 0., 3.]],
                prob=[.18, .125], covariance=[[.48, -.18, -.3], [-.18, .63, -.45],
                                              [-.3, -.45, .75]])

  def test_counts_of_dirichlet(self):
    self._check(d.DirichletMultinomial(3., [[1., 2., 3.], [.5, .5, 2.]]),
                [[1., 1., 1.], [2., 0., 1.]], log_prob=[-2.2335916, -2.5902672],
                mean=[[.5, 1., 1.5], [.5, .5, 2.]],
                variance=[[.5357143, .8571429, .9642857], [.625, .625, 1.]])

  def test_student(self):
    self._check(d.StudentT([3., 5., 2.5], [0., 1., -1.], [1., 2., .5]),
                [[.3, .4, .5], [-2., 0., 3.]], mean=[0, 1, -1], mode=[0, 1, -1],
                variance=[3., 6.6666665, 1.25], entropy=[1.7734773, 2.3206489, 1.1546129],
                log_prob=[[-1.0600064, -1.7152863, -2.994091],
                          [-2.6954846, -1.8081371, -6.0650873]])
    self._check(d.StudentT([1., 2., 1.5], 0., 1.), 0., mean=[np.nan, 0, 0],
                variance=[np.nan, np.inf, np.inf])

  def test_modes(self):
    self._check(d.Beta([1.5, 2., 1.], [3., 4., 3.]), .2, mode=[.2, .25, np.nan])
    self._check(d.Gamma([1.5, 2., 1.], [3., 4., 2.]), .2, mode=[1 / 6, .25, np.nan])
    self._check(d.Exponential([1.5]), .2, mode=[np.nan])

  def test_what_is_not_defined_fails_where_nan_is_not_allowed(self):
    for value, rule in (
        (d.Gamma(.5, 1., allow_nan_stats=False).mode(), 'concentration above 1'),
        (d.Beta(.5, 2., allow_nan_stats=False).mode(), 'concentrations above 1'),
        (d.Dirichlet([.5, 2.], allow_nan_stats=False).mode(), 'concentrations above 1'),
        (d.StudentT(1., 0., 1., allow_nan_stats=False).mean(), 'mean needs df above 1'),
        (d.StudentT(1., 0., 1., allow_nan_stats=False).variance(), 'variance needs df above 1')):
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, rule):
        self._value(value)
    self.assertEqual(self._value(d.Gamma(3., 2., allow_nan_stats=False).mode()), 1)

  def test_what_is_known_of_a_distribution(self):
    for made, batch, event, is_full in (
        (d.Normal(0., 1.), True, True, True), (d.Beta([1.], 2.), False, True, True),
        (d.Dirichlet([1., 2.]), True, False, True), (d.Bernoulli([.5]), False, True, False),
        (d.Multinomial([3.], probs=[[.5, .5]]), False, False, False)):
      self.assertEqual(self._value([made.is_scalar_batch(), made.is_scalar_event()]),
                       [batch, event])
      self.assertIs(made.reparameterization_type, d.FULLY_REPARAMETERIZED if is_full else
                    d.NOT_REPARAMETERIZED)
    unknown = tf.placeholder(tf.float32, None)
    self.assertTrue(self._value(d.Normal(unknown, 1.).is_scalar_batch(), {unknown: 1}))
    with self.assertRaises(NotImplementedError):
      d.Normal(0., 1.).covariance()

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

  def test_logarithms_of_tails(self):
    """Where a cdf rounds to 0 or 1, its logarithm and that of the rest do not."""
    z = np.array([-30., -20.5, -19.5, -9., 0., 3., 8.5, 11.])
    exact = np.array([math.log(.5 * math.erfc(-x / math.sqrt(2))) if x < 5 else
                      -.5 * math.erfc(x / math.sqrt(2)) for x in z])
    normal, laplace = tf.distributions.Normal(1., 2.), tf.distributions.Laplace(1., 2.)
    double = tf.distributions.Normal(np.float64(1), np.float64(2))
    x = tf.constant(2 * z + 1)
    with tf.Session() as session:
      found = session.run([double.log_cdf(x), double.log_survival_function(2 - x),
                           normal.log_cdf(tf.cast(x, tf.float32)),
                           tf.gradients(double.log_cdf(x), x)[0]])
      for one, rtol in zip(found, (1e-9, 1e-9, 1e-4)):
        np.testing.assert_allclose(one, exact, rtol=rtol)
      # The slope of log F is f / F; far below it is nearly -z.
      self.assertAlmostEqual(found[3][0], 30.0332 / 2, delta=1e-3)
      below, above = session.run([laplace.log_cdf([-399., 401.]),
                                  laplace.log_survival_function([401., -399.])])
      for one in (below, above):
        np.testing.assert_allclose(one, [-200 - math.log(2), 0], rtol=1e-6)
      alone = session.run(tf.distributions.Exponential(2.).log_survival_function([.5, 200.]))
      np.testing.assert_allclose(alone, [-1, -400], rtol=1e-6)


if __name__ == '__main__':
  unittest.main()
