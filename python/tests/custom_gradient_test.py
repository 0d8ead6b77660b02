"""Functions with gradients of their own. The tests pass in TensorFlow too, but for those that say
that they are Leat's."""
import os
import unittest

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
else:
  import leat as tf


class CustomGradientTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def _check(self, expected, tensors):
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      self.assertEqual([None if t is None else session.run(t).tolist() for t in tensors], expected)

  def test_structures(self):
    @tf.custom_gradient
    def f(x, y):
      return (x * y, {'a': x + y}), lambda d1, d2: (d1 * 10.0, d2 * 20.0)
    x, y = tf.constant(3.0), tf.constant(4.0)
    product, rest = f(x, y)
    self.assertEqual(product.op.type, 'IdentityN')
    self._check([12, 7, 10, 20], [product, rest['a']] + tf.gradients([product, rest['a']], [x, y]))

    @tf.custom_gradient
    def g(pair):
      return pair[0] * pair[1], lambda d: [[d * 2.0, d * 3.0]]
    self._check([12, 2, 3], [g([x, y])] + tf.gradients(g([x, y]), [x, y]))

  def test_arguments_without_gradients(self):
    @tf.custom_gradient
    def f(x, n):
      return x * tf.cast(n, tf.float32), lambda d: (d * 3.0, None)
    x = tf.constant(1.0)
    n = tf.constant(3)
    self._check([3, 3], [f(x, n)] + tf.gradients(f(x, n), x))

  def test_nested(self):
    @tf.custom_gradient
    def outer(x):
      @tf.custom_gradient
      def inner(x):
        return x * x, lambda d: d * 3.0
      y = inner(x)
      return y, lambda d: tf.gradients(y, x, d)[0] * 10.0
    x = tf.constant(3.0)
    self._check([9, 30], [outer(x)] + tf.gradients(outer(x), x))

  def test_second_derivative(self):
    @tf.custom_gradient
    def f(x):
      return x * x, lambda d: d * x * x * x
    x = tf.constant(3.0)
    first = tf.gradients(f(x), x)[0]
    self._check([27, 27], [first] + tf.gradients(first, x))

  def test_loops_and_conditionals(self):
    @tf.custom_gradient
    def f(x):
      return x * 2.0, lambda d: d * 3.0
    x = tf.constant(1.0)
    y = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, f(a)), [0, x])[1]
    z = tf.cond(x > 0, lambda: f(x), lambda: x)
    self._check([8, 27, 2, 3], [y] + tf.gradients(y, x) + [z] + tf.gradients(z, x))

  def test_methods(self):
    class Scale:
      factor = 2.0

      @tf.custom_gradient
      def apply(self, x):
        """Scales."""
        return x * self.factor, lambda d: d * 5.0
    x = tf.constant(3.0)
    y = Scale().apply(x)
    self._check([6, 5], [y] + tf.gradients(y, x))
    self.assertEqual(Scale.apply.__name__, 'apply')

  def test_variables(self):
    with tf.variable_scope('s', use_resource=True):
      v = tf.get_variable('v', initializer=2.0)

      @tf.custom_gradient
      def f(x):
        def gradient(d, variables=None):
          self.assertEqual([w.name for w in variables], ['s/v:0'])
          return d * 100.0, [d * 200.0]
        return x * v, gradient
      x = tf.constant(3.0)
      self._check([6, 100, 200], [f(x)] + tf.gradients(f(x), [x, v]))

      @tf.custom_gradient
      def square(x):
        return x * x, lambda d: d * 50.0
      self._check([4, 50], [square(v)] + tf.gradients(square(v), v))
      with self.assertRaisesRegex(TypeError, "'variables'"):
        tf.custom_gradient(lambda x: (x * v, lambda d: d))(x)
      wrong = tf.custom_gradient(lambda x: (x * v, lambda d, variables: (d, [])))(x)
      with self.assertRaisesRegex(ValueError, 'gradient for each'):
        tf.gradients(wrong, x)

  def test_new_variables_must_be_resources(self):
    def f(x):
      v = tf.get_variable('v', initializer=2.0, use_resource=False)
      return x * v, lambda d, variables: (d, variables)
    with self.assertRaisesRegex(TypeError, 'must be `ResourceVariable`s'):
      tf.custom_gradient(f)(tf.constant(1.0))

  def test_wrong_number_of_gradients(self):
    y = tf.custom_gradient(lambda x, y: (x * y, lambda d: d))(tf.constant(1.0), tf.constant(2.0))
    with self.assertRaisesRegex(ValueError, 'Num gradients'):
      tf.gradients(y, y.op.inputs[1])

  def test_what_is_made_of_it(self):
    x = tf.constant(1.5)
    y = tf.grad_pass_through(tf.round)(x)
    self._check([2, 1], [y] + tf.gradients(y, x))
    with tf.variable_scope('s', use_resource=True):
      v = tf.get_variable('v', initializer=2.0)
      f = tf.recompute_grad(lambda x: x * x * v)
      x = tf.constant(3.0)
      self._check([18, 12, 9], [f(x)] + tf.gradients(f(x), [x, v]))


@unittest.skipIf(tf.__name__ != 'leat', 'TensorFlow refuses keyword arguments')
class KeywordTest(unittest.TestCase):

  def test_keyword_arguments(self):
    @tf.custom_gradient
    def f(x, factor=2.0):
      return x * factor, lambda d: d * factor * 100.0
    with tf.Graph().as_default(), tf.Session() as session:
      x = tf.constant(3.0)
      y = f(x, factor=5.0)
      self.assertEqual(session.run([y, tf.gradients(y, x)[0]]), [15.0, 500.0])
      with self.assertRaisesRegex(ValueError, r"\['factor'\]"):
        f(x, factor=x)


if __name__ == '__main__':
  unittest.main()
