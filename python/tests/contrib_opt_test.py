"""Optimizers of tf.contrib.opt, against their formulas in numpy, and optimizers around others."""
import unittest

import numpy as np

import leat as tf

opt = tf.contrib.opt


class ContribOptTest(unittest.TestCase):

  def _steps(self, make, gradients, start=(1., -2.), use_resource=False):
    """The variable after steps with these gradients."""
    with tf.Graph().as_default(), tf.Session() as session:
      w = tf.Variable(np.array(start, np.float32), use_resource=use_resource)
      g = tf.placeholder(tf.float32, [len(start)])
      step = make().apply_gradients([(g, w)], global_step=tf.train.get_or_create_global_step())
      session.run(tf.global_variables_initializer())
      for gradient in gradients:
        session.run(step, {g: gradient})
      return session.run(w)

  def test_nadam(self):
    w, m, v = np.array([1., -2.]), 0., 0.
    gradients = np.array([[1., 2.], [.5, -1.], [3., 1.]])
    for t, g in enumerate(gradients, 1):
      m, v = .9 * m + .1 * g, .999 * v + .001 * g * g
      w = w - .1 * np.sqrt(1 - .999 ** t) / (1 - .9 ** t) * (.9 * m + .1 * g) / (np.sqrt(v) + 1e-8)
    for resource in (False, True):
      np.testing.assert_allclose(self._steps(lambda: opt.NadamOptimizer(.1), gradients,
                                             use_resource=resource), w, rtol=1e-5)

  def test_adamax(self):
    w, m, v = np.array([1., -2.]), 0., np.zeros(2)
    gradients = np.array([[1., 2.], [.5, -1.], [3., 1.]])
    for t, g in enumerate(gradients, 1):
      m, v = .9 * m + .1 * g, np.maximum(.999 * v, np.abs(g))
      w = w - .1 / (1 - .9 ** t) * m / (v + 1e-8)
    for resource in (False, True):
      np.testing.assert_allclose(self._steps(lambda: opt.AdaMaxOptimizer(.1), gradients,
                                             use_resource=resource), w, rtol=1e-5)

  def test_signs_of_gradients_and_averages(self):
    gradients = np.array([[1., 2.], [.5, -1.], [-3., 1.]])
    for kind in ('add', 'power'):
      w, m = np.array([1., -2.]), 0.
      for g in gradients:
        m = .9 * m + .1 * g
        agree = np.sign(g) * np.sign(m)
        w = w - .1 * g * (1. + .5 * agree if kind == 'add' else np.e ** (.5 * agree))
      make = {'add': opt.AddSignOptimizer, 'power': opt.PowerSignOptimizer}[kind]
      found = self._steps(lambda: make(.1, sign_decay_fn=lambda step: .5), gradients)
      np.testing.assert_allclose(found, w, rtol=1e-5)

  def test_weights_decay_outside_of_the_gradients(self):
    w, v = np.array([1., -2.]), 0.
    gradients = np.array([[1., 2.], [.5, -1.]])
    for g in gradients:
      w = w - .01 * w
      v = .9 * v + g
      w = w - .1 * v
    for resource in (False, True):
      found = self._steps(lambda: opt.MomentumWOptimizer(.01, .1, .9), gradients,
                          use_resource=resource)
      np.testing.assert_allclose(found, w, rtol=1e-5)
    kind = opt.extend_with_decoupled_weight_decay(tf.train.MomentumOptimizer)
    np.testing.assert_allclose(self._steps(lambda: kind(.01, .1, momentum=.9), gradients), w,
                               rtol=1e-5)

  def test_lars_scales_by_norms(self):
    w, g = np.array([3., 4.]), np.array([1., 0.])
    trust = .001 * 5 / (1 + .0001 * 5)
    expected = w - .1 * trust * (g + .0001 * w)
    np.testing.assert_allclose(self._steps(lambda: opt.LARSOptimizer(.1), [g], (3., 4.)), expected,
                               rtol=1e-5)
    np.testing.assert_allclose(
        self._steps(lambda: opt.LARSOptimizer(.1, skip_list=['Variable']), [g], (3., 4.)),
        w - .1 * g, rtol=1e-5)

  def test_lazy_adam_leaves_other_rows_alone(self):
    for resource in (False, True):
      with tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable(tf.ones([4, 2]), use_resource=resource)
        lazy = opt.LazyAdamOptimizer(.1)
        step = lazy.minimize(tf.reduce_sum(tf.gather(table, [1]) * 2.))
        session.run(tf.global_variables_initializer())
        session.run(step)
        first = session.run(table)
        np.testing.assert_allclose(first[1], [.9, .9], rtol=1e-5)
        np.testing.assert_array_equal(first[[0, 2, 3]], np.ones([3, 2]))
        np.testing.assert_array_equal(session.run(lazy.get_slot(table, 'm'))[0], [0, 0])

  def _sparse_steps(self, optimizer, rows, use_resource):
    """A table of [4, 2] and both slots after steps with the gradients {row: gradient}."""
    with tf.Graph().as_default(), tf.Session() as session:
      table = tf.Variable(tf.ones([4, 2]), use_resource=use_resource)
      values, indices = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
      step = optimizer.apply_gradients([(tf.IndexedSlices(values, indices, [4, 2]), table)])
      session.run(tf.global_variables_initializer())
      for some in rows:
        session.run(step, {values: list(some.values()), indices: list(some)})
      return session.run([table, optimizer.get_slot(table, 'm'), optimizer.get_slot(table, 'v')])

  def test_sparse_gradients_of_nadam_and_adamax(self):
    rows = [{1: [1., 2.], 3: [.5, -1.]}, {1: [3., 1.]}, {0: [-2., .25], 3: [1., 1.]}]
    for is_nadam in (True, False):
      w, m, v = np.ones([4, 2]), np.zeros([4, 2]), np.zeros([4, 2])
      for t, some in enumerate(rows, 1):
        i, g = list(some), np.array(list(some.values()))
        if is_nadam:   # the means of all rows go on
          m, v = .9 * m, .999 * v
          m[i] += .1 * g
          v[i] += .001 * g * g
          w[i] -= .1 * np.sqrt(1 - .999 ** t) / (1 - .9 ** t) * (.9 * m[i] + .1 * g) / (
              np.sqrt(v[i]) + 1e-8)
        else:
          m[i], v[i] = .9 * m[i] + .1 * g, np.maximum(.999 * v[i], np.abs(g))
          w[i] -= .1 / (1 - .9 ** t) * m[i] / (v[i] + 1e-8)
      for resource in (False, True):
        found = self._sparse_steps(
            (opt.NadamOptimizer if is_nadam else opt.AdaMaxOptimizer)(.1), rows, resource)
        for name, one, expected in zip('wmv', found, (w, m, v)):
          np.testing.assert_allclose(one, expected, rtol=3e-5, err_msg='%s %s' % (is_nadam, name))

  def test_lars_accumulates_steps(self):
    """A rate that changes counts for the steps after that."""
    g, w, accumulated = np.array([1., 0.]), np.array([3., 4.]), 0.
    for rate in (.1, .01):
      trust = .001 * np.linalg.norm(w) / (1 + .0001 * np.linalg.norm(w))
      accumulated = .9 * accumulated + rate * trust * (g + .0001 * w)
      w = w - accumulated
    make = lambda: opt.LARSOptimizer(
        tf.where(tf.train.get_or_create_global_step() < 1, .1, .01))
    for resource in (False, True):
      np.testing.assert_allclose(self._steps(make, [g, g], (3., 4.), use_resource=resource), w,
                                 rtol=1e-6)

  def test_averages_are_saved_in_the_place_of_variables(self):
    import tempfile
    with tf.Graph().as_default(), tf.Session() as session:
      w = tf.Variable([1., 2.], name='w')
      average = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(1.), .5)
      step = average.minimize(tf.reduce_sum(w))
      saver = average.swapping_saver()
      session.run(tf.global_variables_initializer())
      session.run(step)
      path = saver.save(session, tempfile.mkdtemp() + '/model')
      np.testing.assert_allclose(session.run(w), [0., 1.])
      np.testing.assert_allclose(tf.train.load_variable(path, 'w'), [.5, 1.5])

  def test_clipped_variables_and_tasks(self):
    with tf.Graph().as_default(), tf.Session() as session:
      w = tf.Variable([[3., 4.], [.3, .4]])
      still = tf.Variable([1.])
      clipping = opt.VariableClippingOptimizer(tf.train.GradientDescentOptimizer(0.), {w: [1]}, 1.)
      tasks = opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(1., .9))
      step = clipping.minimize(tf.reduce_sum(w))
      both = tasks.apply_gradients([(tf.constant([0.]), still)])
      session.run(tf.global_variables_initializer())
      session.run([step, both])
      np.testing.assert_allclose(session.run(w), [[.6, .8], [.3, .4]], rtol=1e-6)
      np.testing.assert_array_equal(session.run(still), [1.])

  def test_an_optimizer_outside_of_the_graph_sees_one_vector(self):
    class Descent(opt.ExternalOptimizerInterface):
      def _minimize(self, initial_val, loss_grad_func, packed_bounds, optimizer_kwargs, **unused):
        x = initial_val
        for _ in range(optimizer_kwargs['steps']):
          _, slope = loss_grad_func(x)
          x = x - .25 * slope
        return x
    with tf.Graph().as_default(), tf.Session() as session:
      a, b = tf.Variable([1., 2.]), tf.Variable([[3.]])
      loss = tf.reduce_sum((a - 5.) ** 2) + tf.reduce_sum((b + 1.) ** 2)
      losses = []
      external = Descent(loss, steps=30)
      session.run(tf.global_variables_initializer())
      external.minimize(session, fetches=[loss], loss_callback=losses.append)
      np.testing.assert_allclose(session.run(a), [5., 5.], rtol=1e-5)
      np.testing.assert_allclose(session.run(b), [[-1.]], rtol=1e-5)
      self.assertEqual(len(losses), 30)
      self.assertLess(losses[-1], losses[0])

  def test_minimize_calls_the_halves_by_name(self):
    class Own(tf.train.GradientDescentOptimizer):
      def compute_gradients(self, loss, var_list=None, **kwargs):
        return super().compute_gradients(loss, var_list=var_list, **kwargs)

      def apply_gradients(self, grads_and_vars, **kwargs):
        return super().apply_gradients(grads_and_vars, **kwargs)
    with tf.Graph().as_default(), tf.Session() as session:
      w = tf.Variable(1.)
      step = Own(.5).minimize(w * w, global_step=tf.train.get_or_create_global_step())
      session.run(tf.global_variables_initializer())
      session.run(step)
      self.assertEqual(session.run(w), 0.)


if __name__ == '__main__':
  unittest.main()
