"""Functions of the graph that are made of functions of Python."""
import unittest

import leat as tf
from leat.python.framework import function


class DefunTest(unittest.TestCase):

  def setUp(self):
    default = tf.Graph().as_default()
    default.__enter__()
    self.addCleanup(default.__exit__, None, None, None)

  def _value(self, fetch, feed=None):
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      return session.run(fetch, feed)

  def test_a_call_is_one_operation(self):
    @function.Defun(tf.float32, tf.float32, func_name='Total')
    def total(a, b):
      return a + b
    y = total(1.0, 2.0)
    self.assertEqual(y.op.type, 'Total')
    self.assertEqual(self._value(y), 3)
    self.assertEqual(len(tf.get_default_graph().as_graph_def().library.function), 1)

  def test_what_is_around_is_captured_once_through_all_bodies(self):
    v = tf.Variable(3.0)
    w = tf.constant(2.0)

    @function.Defun(tf.float32)
    def outer(x):
      @function.Defun(tf.float32)
      def inner(y):
        return y * w + w
      return inner(x) + v + v
    self.assertEqual(self._value(outer(10.0)), 28)
    self.assertEqual([t.op.name for t in outer.captured_inputs], ['Const', 'Variable/read'])

  def test_gradients_go_through_calls(self):
    x = tf.placeholder(tf.float32, [])

    @function.Defun(tf.float32)
    def cube(a):
      return a * a * a

    @function.Defun(tf.float32, python_grad_func=lambda op, g: g * 100.0)
    def straight(a):
      return a * 1.0
    self.assertEqual(self._value(tf.gradients(cube(x), x), {x: 2.0}), [12])
    self.assertEqual(self._value(tf.gradients(straight(x), x), {x: 2.0}), [100])

  def test_a_body_is_not_checked_before_it_is_called(self):
    @function.Defun(tf.float32, tf.float32, func_name='Product')
    def product(a, b):
      return tf.matmul(a, b)
    y = product(1.0, 2.0)
    self.assertEqual(y.op.name, 'Product')
    self.assertIsNone(y.shape.ndims)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'at least rank 2'):
      self._value(y)
    self.assertEqual(product([[1.0, 2.0]], [[3.0], [4.0]]).shape.as_list(), [1, 1])

  def test_the_device_around_the_first_call_is_that_of_the_body(self):
    def product(a):
      @function.Defun(tf.float32)
      def body(a):
        with tf.device('/task:7'):
          b = a * a
        return b + a
      return body(a)
    with tf.Graph().as_default() as graph:
      with tf.device('/job:w/device:CPU:1'):
        product(1.0)
      product(1.0)
      functions = graph.as_graph_def().library.function
      devices = [[node.device for node in f.node_def] for f in functions]
    self.assertEqual(sorted(map(sorted, devices)),
                     [['', '/task:7'], ['/job:w/device:CPU:1', '/job:w/task:7/device:CPU:1']])

  def test_functions_of_one_name_must_be_the_same(self):
    @function.Defun(tf.float32, func_name='Twice')
    def twice(a):
      return a + a

    @function.Defun(tf.float32, func_name='Twice')
    def again(a):
      return a + a

    @function.Defun(tf.float32, func_name='Twice')
    def other(a):
      return a * 2.0
    self.assertEqual(self._value([twice(1.0), again(2.0)]), [2, 4])
    with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
      other(1.0)
    self.assertEqual(caught.exception.message, "Cannot add function 'Twice' because a different "
                     'function with the same name already exists.')

  def test_derivatives_between_tensors_of_the_graph_around(self):
    x = tf.placeholder(tf.float32, [])
    y = x * x

    @function.Defun(tf.float32)
    def of_captured(a):
      @function.Defun(tf.float32)
      def inner(b):
        return b * tf.gradients(y, x)[0]
      own = tf.gradients(a * x, x)[0]
      return a + tf.gradients(y, x, grad_ys=tf.gradients(y, x))[0], inner(a), own
    self.assertEqual(self._value(list(of_captured(5.0)), {x: 3.0}), [41, 30, 5])
    rows = tf.Variable([[1.0], [2.0]])
    picked = tf.gather(rows, [1, 1])

    @function.Defun()
    def of_rows():
      slices = tf.gradients(picked, rows)[0]
      return slices.values, slices.indices
    self.assertEqual([v.tolist() for v in self._value(list(of_rows()))], [[[1], [1]], [1, 1]])

  def test_a_gradient_function_with_too_many_results(self):
    @function.Defun(tf.float32, tf.float32, tf.float32)
    def grad(x, dy, dz):
      return x, dy + dz

    @function.Defun(tf.float32, grad_func=grad)
    def forward(x):
      return x, x
    x = tf.placeholder(tf.float32)
    dx = tf.gradients(tf.add_n(forward(x)), x)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                'SymGrad expects to return 1 values.* but get 2 instead'):
      self._value(dx, {x: 1.0})

  def test_definitions_follow_the_types_of_calls(self):
    @function.Defun()
    def double(x):
      return x + x
    found = self._value([double(tf.constant(2)), double(tf.constant(0.5))])
    self.assertEqual(found, [4, 1.0])

  def test_variables_are_made_once_in_the_scope_of_the_first_call(self):
    @function.Defun(tf.float32)
    def add(x):
      return x + tf.get_variable('v', [2], initializer=tf.ones_initializer())
    with tf.Graph().as_default(), tf.Session() as session:
      found = []
      for scope in ('first', 'second'):
        with tf.variable_scope(scope):
          found.append(add([1.0, 2.0]))
      self.assertEqual([v.name for v in tf.global_variables()], ['first/v:0'])
      session.run(tf.global_variables_initializer())
      self.assertEqual([v.tolist() for v in session.run(found)], [[2.0, 3.0]] * 2)

  def test_a_captured_variable_has_a_shape(self):
    with tf.Graph().as_default():
      v = tf.get_variable('v', [4, 3], use_resource=True)

      @function.Defun()
      def read():
        x = tf.identity(v)
        self.assertEqual(x.get_shape().as_list(), [4, 3])
        return x
      self.assertEqual(read().dtype, tf.float32)

  def test_wrong_calls_are_refused(self):
    @function.Defun(tf.float32)
    def one(x):
      return x
    with self.assertRaisesRegex(ValueError, 'Expected number of arguments: 1'):
      one(1.0, 2.0)
    with self.assertRaisesRegex(ValueError, 'number of types'):
      function.Defun(tf.float32, tf.float32)(lambda x: x)
    with tf.Graph().as_default():
      other = tf.constant(1.0)

    @function.Defun(tf.float32)
    def foreign(x):
      return x + other
    with self.assertRaisesRegex(ValueError, 'another graph'):
      foreign(1.0)

  def test_an_argument_that_is_not_used_has_the_gradient_zero(self):
    @function.Defun(tf.float32, tf.float32, tf.int32)
    def first(a, b, c):
      return a * 2.0
    x, v = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])
    other = tf.constant(1.0)
    by_x, by_v, by_i, by_other = tf.gradients(first(x, v, 3), [x, v, tf.constant(3), other])
    self.assertEqual(self._value([by_x, by_v])[0].tolist(), [2, 2])
    self.assertEqual(self._value(by_v).tolist(), [0, 0])
    self.assertEqual((by_i, by_other), (None, None))


if __name__ == '__main__':
  unittest.main()
