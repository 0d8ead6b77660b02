"""tf.GradientTape: which operations it records, and the derivatives along them. What is expected
is what TensorFlow 2 gives in graph mode, but for loops and conditionals, which it does not take."""
import unittest

import leat as tf


class GradientTapeTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def values(self, found):
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      return [None if x is None else session.run(tf.convert_to_tensor(x)).tolist()
              for x in tf.nest.flatten(found)]

  def test_only_what_is_watched_and_recorded_counts(self):
    x = tf.constant(3.0)
    u = x * 5.0
    with tf.GradientTape(persistent=True) as tape:
      early = x * x
      tape.watch(x)
      y = x * x
      product = x * u
      with tape.stop_recording():
        unseen = x * 7.0
      total = y + unseen * x + early
    later = y * 2.0
    sources = (product, y, total, later, early)
    self.assertEqual([self.values([tape.gradient(t, x)]) for t in sources],
                     [[15.0], [6.0], [27.0], [None], [None]])
    self.assertEqual(self.values([tape.gradient(y, u), tape.gradient(x, x)]), [None, 1.0])
    with tape:
      again = y * 5.0 + later
    self.assertEqual(self.values(tape.gradient(again, x)), [30.0])

  def test_gradients_of_gradients(self):
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
      tape.watch(x)
      y = x * x * x
      slope = tape.gradient(y, x)
    self.assertEqual(self.values([slope, tape.gradient(slope, x)]), [27.0, 18.0])
    with tf.GradientTape() as outer:
      outer.watch(x)
      with tf.GradientTape() as inner:
        inner.watch(x)
        y = x * x * x
      slope = inner.gradient(y, x)
    self.assertEqual(self.values(outer.gradient(slope, x)), [18.0])

  def test_variables(self):
    for resource in (False, True):
      with tf.variable_scope('resource' if resource else 'reference', use_resource=resource):
        v = tf.get_variable('v', [2], initializer=tf.constant_initializer(3.0))
        w = tf.get_variable('w', [], initializer=tf.constant_initializer(4.0), trainable=False)
        tf.get_variable('unused', [])
      with tf.GradientTape(persistent=True) as tape:
        y = v * v * w
      with tf.GradientTape(persistent=True, watch_accessed_variables=False) as other:
        other.watch(w)
        z = v * v * w
      self.assertEqual(tape.watched_variables(), (v,))
      self.assertEqual(other.watched_variables(), (w,))
      self.assertEqual(self.values([tape.gradient(y, v), tape.gradient(y, w)]), [[24.0] * 2, None])
      self.assertEqual(self.values([other.gradient(z, v), other.gradient(z, w)]), [None, 18.0])

  def test_structures_and_options(self):
    x, u, v = tf.constant([1.0, 2.0]), tf.constant(2.0), tf.constant(0.0)
    with tf.GradientTape(persistent=True) as tape:
      tape.watch([x, {'u': (u, v)}])
      y = x * x * u
    found = tape.gradient({'a': y, 'b': y}, {'p': x, 'q': [u]})
    self.assertEqual(self.values([found['p'], found['q'][0]]), [[8.0, 16.0], 10.0])
    self.assertEqual(self.values(tape.gradient(y, x, output_gradients=tf.constant([1.0, 10.0]))),
                     [[4.0, 80.0]])
    self.assertEqual(self.values(tape.gradient(y, [v])), [None])
    self.assertEqual(self.values(tape.gradient(y, [v], unconnected_gradients='zero')), [0.0])

  def test_control_flow(self):
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
      tape.watch(x)
      _, grown = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x + 1.0),
                               [0, tf.constant(1.0)])
      chosen = tf.cond(x > 1.0, lambda: x * x, lambda: x)
    self.assertEqual(self.values([tape.gradient(grown, x), tape.gradient(chosen, x)]), [17.0, 4.0])

  def test_reset_forgets(self):
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
      tape.watch(x)
      y = x * x
      tape.reset()
      tape.watch(x)
      z = x * x * x + y
    self.assertEqual(self.values(tape.gradient(z, x)), [12.0])

  def test_errors(self):
    x = tf.constant(2.0)
    tape = tf.GradientTape()
    with self.assertRaisesRegex(RuntimeError, 'not recording'), tape.stop_recording():
      pass
    with self.assertRaisesRegex(ValueError, 'not tf.Tensor'):
      tape.watch('x')
    with tape:
      with self.assertRaisesRegex(ValueError, 'already recording'), tape:
        pass
      tape.watch(x)
      y = x * x
    tape.gradient(y, x)
    with self.assertRaisesRegex(RuntimeError, 'persistent'):
      tape.gradient(y, x)


if __name__ == '__main__':
  unittest.main()
