"""tf.py_func: values both ways, errors, threads, gradients, the end of the interpreter."""
import gc
import queue
import threading
import unittest

import numpy as np

import leat as tf
import program
from leat.python.framework import function


class PyFuncTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)
    self.session = tf.Session()
    self.addCleanup(self.session.close)

  def _fails(self, code, text, function, inp=(), Tout=tf.int64):
    with self.assertRaises(code) as caught:
      self.session.run(tf.py_func(function, inp, Tout))
    self.assertIn(text, str(caught.exception))
    return str(caught.exception)

  def test_types(self):
    for dtype in (tf.float16, tf.float32, tf.float64, tf.uint8, tf.int8, tf.uint16, tf.int16,
                  tf.int32, tf.int64, tf.uint32, tf.uint64, tf.complex64, tf.complex128):
      with self.subTest(dtype.name):
        x = tf.cast(tf.constant([3, 4]), dtype) if dtype.is_integer else tf.constant([3, 4], dtype)
        found = self.session.run(tf.py_func(lambda v: v + v[::-1], [x], dtype))
        self.assertEqual(found.dtype, dtype.as_numpy_dtype)
        self.assertEqual(found.tolist(), [7, 7])
    negated = tf.py_func(np.logical_not, [[True, False]], tf.bool)
    self.assertEqual(self.session.run(negated).tolist(), [False, True])
    half = tf.py_func(lambda v: v, [tf.constant(1.5, tf.bfloat16)], tf.bfloat16)
    self.assertEqual(self.session.run(tf.cast(half, tf.float32)), 1.5)

  def test_strings(self):
    for made in (b'a\0', 'a\0', [[b'a\0', b'bc']], [['a\0', 'bc']],
                 np.array(['a\0', b'bc'], object), [np.array([b'a\0', b'bc'], object)]):
      found = self.session.run(tf.py_func(lambda: made, [], tf.string))
      self.assertEqual(found if isinstance(found, bytes) else found.tolist(),
                       b'a\0' if isinstance(made, (bytes, str)) else [b'a\0', b'bc'])
    self.assertEqual(self.session.run(tf.py_func(lambda: np.array(['\xe4']), [], tf.string)),
                     ['\xe4'.encode()])
    self.assertEqual(self.session.run(tf.py_func(lambda x, y: x + y[1], [b'x\xff', ['y', 'z']],
                                                 tf.string)), b'x\xffz')

  def test_orders_of_elements(self):
    for array in (np.arange(6).reshape(2, 3).T, np.arange(12)[::-2], np.zeros((0, 3), np.int64),
                  np.array([1, 2], '>i8'), np.asfortranarray(np.arange(6).reshape(2, 3))):
      found = self.session.run(tf.py_func(lambda: array, [], tf.int64))
      self.assertEqual(found.tolist(), array.tolist())
      self.assertEqual(found.shape, array.shape)

  def test_the_function_owns_its_arguments(self):
    kept = []

    def increment(x):
      x += 1
      kept.append(x)
      return x
    variable = tf.Variable([1, 2])
    self.session.run(variable.initializer)
    constant = tf.constant([5])
    results = tf.py_func(increment, [variable], [tf.int32]) + \
        tf.py_func(increment, [constant], [tf.int32])
    self.assertEqual([r.tolist() for r in self.session.run(results)], [[2, 3], [6]])
    self.session.run(tf.assign(variable, [7, 8]))
    self.assertEqual(self.session.run(constant).tolist(), [5])
    self.assertEqual(sorted(k.tolist() for k in kept), [[2, 3], [6]])

  def test_outputs(self):
    one, = tf.py_func(lambda x: x, [1.0], [tf.float32])
    self.assertEqual(one.op.type, 'PyFunc')
    self.assertEqual(one.op.name, 'PyFunc')
    self.assertIsNone(one.get_shape().ndims)
    two = tf.py_func(lambda x: (x, 2), [1.0], (tf.float32, tf.int64), name='two')
    self.assertEqual(self.session.run(two), [1.0, 2])
    self.assertEqual(two[1].name, 'two:1')
    calls = []
    op = tf.py_func(calls.append, [3], [])
    self.assertIsInstance(op, tf.Operation)
    self.assertIsNone(self.session.run(op))
    self.assertEqual(calls, [3])
    self.assertEqual(tf.py_func(calls.append, [3], [], stateful=False), [])
    self.assertEqual(self.session.run(tf.numpy_function(lambda x: x, [2], tf.int32)), 2)
    with self.assertRaisesRegex(ValueError, 'Expected func to be callable'):
      tf.py_func(3, [], tf.int32)
    with self.assertRaises(TypeError):
      tf.py_func(len, [[1]], None)

  def test_state(self):
    numbers = iter(range(10))
    x = tf.py_func(lambda: next(numbers), [], tf.int64)
    self.assertEqual([self.session.run(x) for _ in range(3)], [0, 1, 2])
    calls = []

    def note(value):
      calls.append(value)
      return value
    same = [tf.py_func(note, [4], tf.int32, stateful=False) for _ in range(2)]
    self.assertEqual(same[0].op.type, 'PyFuncStateless')
    self.assertEqual(self.session.run(same), [4, 4])
    self.assertEqual(self.session.make_callable(same)(), [4, 4])

  def test_loops(self):
    _, total = tf.while_loop(lambda i, _: i < 5, lambda i, total: (
        i + 1, total + tf.reshape(tf.py_func(lambda v: v * v, [i], tf.int32), [])), [0, 0])
    self.assertEqual(self.session.run(total), 30)

  def test_wrong_results(self):
    invalid, internal = tf.errors.InvalidArgumentError, tf.errors.InternalError
    self._fails(invalid, 'is double, but expects int64', lambda: 1.0)
    self._fails(invalid, '1-th value returned by pyfunc_', lambda: (1, 2.0), [], [tf.int64] * 2)
    self._fails(invalid, 'returns 2 values, but expects to see 1 values.', lambda: (1, 2))
    self._fails(invalid, 'returns 0 values, but expects to see 1 values.', lambda: None)
    self._fails(invalid, 'returns 1 values, but expects to see 0 values.', lambda: 1, [], [])
    self._fails(internal, 'Unsupported object type dict', lambda: {})
    self._fails(internal, 'Unsupported object type NoneType', lambda: np.array([None]))
    self._fails(internal, 'Unsupported numpy type', lambda: np.datetime64('2015-11-09'))
    self._fails(tf.errors.UnimplementedError, 'symbolic', lambda: tf.constant(1))

  def test_exceptions(self):
    class Odd(Exception):
      pass
    cases = [(ValueError, tf.errors.InvalidArgumentError), (Odd, tf.errors.UnknownError),
             (TypeError, tf.errors.InvalidArgumentError), (MemoryError,
                                                           tf.errors.ResourceExhaustedError),
             (UnicodeError, tf.errors.InvalidArgumentError), (KeyError, tf.errors.UnknownError),
             (StopIteration, tf.errors.OutOfRangeError), (SystemExit, tf.errors.UnknownError),
             (NotImplementedError, tf.errors.UnimplementedError)]
    for raised, expected in cases:
      def inner():
        raise raised('bl\xe4h\0')

      def outer():
        inner()
      with self.subTest(raised.__name__):
        text = self._fails(expected, raised.__name__ + ': ', outer)
        self.assertIn('in outer', text)
        self.assertIn('in inner', text)
        self.assertIn('bl\xe4h', text)
        self.assertNotIn('_ops/py_func.py', text)

  def test_functions_go_with_their_graph(self):
    with tf.Graph().as_default() as graph:
      tf.py_func(lambda: 1, [], tf.int64, name='f')
    definition = graph.as_graph_def()
    y, = tf.import_graph_def(definition, return_elements=['f:0'])
    self.assertEqual(self.session.run(y), 1)
    del graph
    gc.collect()
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'callback pyfunc_[0-9]* is not'):
      self.session.run(y)

  def test_in_the_body_of_a_function(self):
    @function.Defun(tf.float32)
    def twice(x):
      return tf.py_func(lambda v: v * 2, [x], tf.float32)
    self.assertEqual(self.session.run(twice(3.0)), 6.0)


class ThreadsTest(unittest.TestCase):

  def test_functions_that_wait_for_one_another(self):
    with tf.Graph().as_default(), tf.Session() as session:
      items = queue.Queue(1)

      def put():
        items.put(42)
        items.join()
        return 1

      def get():
        item = items.get()
        items.task_done()
        return item
      pairs = [tf.py_func(f, [], tf.int64) for f in (put, get)]
      self.assertEqual(session.run(pairs), [1, 42])
      barrier = threading.Barrier(20)
      many = [tf.py_func(barrier.wait, [], tf.int64) for _ in range(20)]
      for _ in range(3):
        self.assertEqual(sorted(session.run(many)), list(range(20)))

  def test_a_function_that_runs_a_session(self):
    with tf.Graph().as_default() as inner:
      x = tf.placeholder(tf.float32)
      y = tf.py_func(lambda v: v + 1, [tf.reduce_sum(tf.ones([8, 8]) * x)], tf.float32)
    with tf.Graph().as_default(), tf.Session(graph=inner) as inner_session, tf.Session() as session:
      many = [tf.py_func(lambda v: inner_session.run(y, {x: v}), [float(i)], tf.float32)
              for i in range(10)]
      self.assertEqual(session.run(many), [64.0 * i + 1 for i in range(10)])

  def test_exceptions_in_several_threads(self):
    with tf.Graph().as_default(), tf.Session() as session:
      number = tf.placeholder(tf.int32)

      def fail(n):
        if n % 2:
          raise ValueError('number %d' % n)
        return n
      y = tf.py_func(fail, [number], tf.int32)
      seen = {}

      def run(n):
        for _ in range(20):
          try:
            seen.setdefault(n, set()).add(int(session.run(y, {number: n})))
          except tf.errors.InvalidArgumentError as error:
            seen[n].add('number %d\n' % n in str(error))
      threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
      for thread in threads:
        thread.start()
      for thread in threads:
        thread.join()
      self.assertEqual(seen, {n: {True if n % 2 else n} for n in range(8)})


class GradientTest(unittest.TestCase):

  def test_registered_gradient(self):
    def square(x, name=None):
      name = 'SquareGradient%d' % id(square)
      tf.RegisterGradient(name)(lambda op, grad: grad * 20 * op.inputs[0])
      with tf.get_default_graph().gradient_override_map({'PyFunc': name}):
        return tf.py_func(np.square, [x], [tf.float32], name='Square')[0]
    with tf.Graph().as_default(), tf.Session() as session:
      x = tf.constant([1.0, 2.0])
      y = square(x)
      self.assertEqual(session.run(tf.gradients(y, x)[0]).tolist(), [20.0, 40.0])
      self.assertIsNone(tf.gradients(tf.py_func(np.square, [x], tf.float32), x)[0])


class TensorsWithValuesTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)
    self.session = tf.Session()
    self.addCleanup(self.session.close)

  def _check(self, expected, function, inp, Tout):
    found = self.session.run(tf.py_function(function, inp, Tout))
    self.assertEqual(found if isinstance(found, (list, bytes)) else found.tolist(), expected)

  def test_values(self):
    self._check([2.0, 4.0], lambda x: x.numpy() * 2, [[1.0, 2.0]], tf.float32)
    self._check(b'ab!', lambda x: x.numpy() + b'!', ['ab'], tf.string)
    self._check(3.0, lambda x: x if x > 0 else -x, [-3.0], tf.float32)
    self._check(4.0, lambda x: float(x) + int(x), [2.0], tf.float32)
    self._check(3, len, [[5, 6, 7]], tf.int32)
    self._check([1, 2], lambda x: [i for i in x], [[1, 2]], [tf.int32] * 2)
    self._check([0.0, 1.0], lambda x: np.sqrt(x), [[0.0, 1.0]], tf.float32)
    self._check(3.5, lambda _: 3.5, [1], tf.float32)
    self._check([[2]], lambda x: tf.matmul(x, x + 1), [[[1]]], tf.int32)
    self._check(6.0, lambda x: tf.cond(x > 1, lambda: x * 2, lambda: x), [3.0], tf.float32)
    self.assertIsNone(self.session.run(tf.py_function(lambda x: None, [1], [])))
    self.assertFalse(hasattr(tf.constant(1), 'numpy'))
    with self.assertRaises(TypeError):
      float(tf.constant(1))

  def test_operations_with_state_run_once(self):
    def difference(x):
      numbers = tf.random.uniform([2]) + x
      return numbers.numpy() - numbers
    self._check([0.0, 0.0], difference, [1.0], tf.float32)
    calls = []

    def count(x):
      y = tf.py_func(lambda v: calls.append(1) or v, [x], tf.float32)
      return float(y) + y
    self._check(4.0, count, [2.0], tf.float32)
    self.assertEqual(calls, [1])

  def test_a_variable_of_the_function(self):
    def double(x):
      v = tf.get_variable('v', initializer=x, use_resource=True)
      v.assign_add(v)
      return v.read_value()
    self._check(6.0, double, [3.0], tf.float32)

  def test_errors(self):
    def fail(_):
      raise ValueError('bad')
    for function, text in ((fail, 'ValueError: bad\nTraceback'), (lambda x: x, 'dtype float32'),
                           (lambda x: (1.0, 2.0), 'returns 2 values, but expects to see 1'),
                           (lambda x: None, 'returns 0 values, but expects to see 1')):
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, text):
        self.session.run(tf.py_function(function, [1], tf.float32))

  def test_gradients(self):
    x = tf.constant([1.0, 2.0])
    y = tf.py_function(lambda a, n: a * a * tf.cast(n, tf.float32), [x, 3], tf.float32)
    self.assertEqual(self.session.run(tf.gradients(y, x)[0]).tolist(), [6.0, 12.0])
    y = tf.py_function(lambda a: a.numpy() * a, [x], tf.float32)
    self.assertEqual(self.session.run(tf.gradients(y, x)[0]).tolist(), [1.0, 2.0])
    a, b = tf.py_function(lambda a: (a * 2, a.numpy()), [x], [tf.float32] * 2)
    self.assertEqual(self.session.run(tf.gradients(a + b, x, x)[0]).tolist(), [2.0, 4.0])
    self.assertEqual(self.session.run(tf.gradients(b, x)[0]).tolist(), [0.0, 0.0])


# Programs that end while `f` runs, or is about to.
_BEGIN = '''
import threading, time, leat as tf
begun = threading.Event()
def call():
  begun.set()
  return f()
y = [tf.py_func(call, [], tf.int64) for _ in range(3)]
session = tf.Session()
'''
_STEPS = '''
def run():
  while True: session.run(y)
threading.Thread(target=run, daemon=True).start()
begun.wait()
'''
_PART = '''
x = tf.placeholder(tf.int32)
z = x + 1
part = session.partial_run_setup([z] + y, [x])
session.partial_run(part, z, {x: 1})
begun.wait()
'''
_IMPORT = '''
import leat as tf
definition = tf.GraphDef()
node = definition.node.add(name='f', op='PyFunc')
node.attr['token'].s = b'pyfunc_0'
node.attr['Tin'].list.SetInParent()
node.attr['Tout'].list.type.append(1)
f, = tf.import_graph_def(definition, return_elements=['f:0'])
try:
  tf.Session().run(f)
except tf.errors.InvalidArgumentError as error:
  assert 'callback pyfunc_0 is not found' in str(error), error
'''
_FORK = '''
import os, leat as tf
session = tf.Session()
y = tf.py_func(lambda: 1, [], tf.int64)
assert session.run(y) == 1
child = os.fork()
assert session.run(y) == 1
if child:
  _, status = os.waitpid(child, 0)
  assert status == 0, status
'''
_EXITS = {
    'the process is forked': _FORK,
    'a graph of another process is imported': _IMPORT,
    'a function sleeps': _BEGIN + 'f = lambda: time.sleep(1000)' + _STEPS,
    'a function waits': _BEGIN + 'f = threading.Event().wait' + _STEPS,
    'a step in parts waits': _BEGIN + 'f = threading.Event().wait' + _PART,
    'functions are called all the time': _BEGIN + 'f = lambda: 1' + _STEPS,
}


class ExitTest(unittest.TestCase):

  def test_the_interpreter_ends(self):
    for name, text in _EXITS.items():
      with self.subTest(name):
        program.run(self, text, frees=False)


if __name__ == '__main__':
  unittest.main()
