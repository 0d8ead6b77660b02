"""Datasets of what iterators of Python give. The tests pass in TensorFlow too."""
import threading
import threading
import unittest

import numpy as np

from dataset_test import D, elements, tf


def three():
  for i in range(3):
    yield {'a': i, 'b': ('x%d' % i, [i] * i)}


class GeneratorTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def test_elements(self):
    for make, types, expected in (
        (lambda: iter(range(3)), tf.int64, [0, 1, 2]), (lambda: [1, 2], tf.float32, [1.0, 2.0]),
        (lambda: np.arange(3), tf.int32, [0, 1, 2]), (lambda: [True, False], tf.bool, [1, 0]),
        (lambda: [[1, 2], [3]], tf.int64, [[1, 2], [3]]),
        (lambda: ['foo', b'bar', u'b\xe4z'], tf.string, [b'foo', b'bar', u'b\xe4z'.encode()]),
        (lambda: [], tf.int64, [])):
      self.assertEqual(elements(D.from_generator(make, types)), expected)

  def test_structures(self):
    dataset = D.from_generator(three, {'a': tf.int32, 'b': (tf.string, tf.int64)},
                               {'a': [], 'b': ([], [None])})
    self.assertEqual(elements(dataset), [{'a': 0, 'b': (b'x0', [])}, {'a': 1, 'b': (b'x1', [1])},
                                         {'a': 2, 'b': (b'x2', [2, 2])}])
    self.assertEqual(str(tf.data.get_output_shapes(dataset)['b']),
                     '(TensorShape([]), TensorShape([Dimension(None)]))')
    unknown = D.from_generator(three, {'a': tf.int32, 'b': (tf.string, tf.int64)})
    self.assertEqual(str(tf.data.get_output_shapes(unknown)['a']), '<unknown>')

  def test_passes(self):
    made = []

    def numbers():
      made.append(threading.current_thread())
      return iter(range(2))
    dataset = D.from_generator(numbers, tf.int64, [])
    self.assertEqual(elements(dataset.repeat(3).batch(4)), [[0, 1, 0, 1], [0, 1]])
    self.assertEqual(len(made), 3)
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
      self.assertEqual([session.run(following) for _ in range(2)], [0, 1])

  def test_arguments(self):
    def numbered(n, text):
      for i in range(n):
        yield text + str(i).encode()
    dataset = D.from_generator(numbered, tf.string, [], args=(2, 'q'))
    self.assertEqual(elements(dataset), [b'q0', b'q1'])
    nested = D.range(4).flat_map(lambda n: D.from_generator(
        lambda k: iter([k] * int(k)), tf.int64, [], args=(n,)))
    self.assertEqual(elements(nested), [1, 2, 2, 3, 3, 3])

  def test_interleaved(self):
    dataset = D.range(3).interleave(
        lambda n: D.from_generator(lambda: iter(range(2)), tf.int64, []).repeat(2), 3)
    self.assertEqual(elements(dataset), [0, 0, 0, 1, 1, 1] * 2)

  def _failures(self, dataset):
    """The elements, and the codes of errors in their place."""
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    found = []
    with tf.Session() as session:
      while True:
        try:
          found.append(session.run(following))
        except tf.errors.OutOfRangeError:
          return found
        except tf.errors.OpError as error:
          found.append(error.error_code)

  def test_wrong_elements(self):
    invalid = tf.errors.INVALID_ARGUMENT
    self.assertEqual(self._failures(D.from_generator(lambda: [1, 'a', 3], tf.int64, [])),
                     [1, invalid, 3])
    self.assertEqual(self._failures(D.from_generator(lambda: [1, [2], 3], tf.int64, [])),
                     [1, invalid, 3])
    self.assertEqual(
        [f for f in self._failures(D.from_generator(
            lambda: [(1, 2), 3, (4, 5)], (tf.int64, tf.int64)))], [(1, 2), invalid, (4, 5)])

  def test_an_iterator_that_is_given_up_is_let_go(self):
    gone = threading.Event()

    class Endless:
      def __iter__(self):
        return self

      def __next__(self):
        return 42

      def __del__(self):
        gone.set()

    dataset = D.from_generator(Endless, tf.int64).take(2)
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
      self.assertEqual([session.run(following) for _ in range(2)], [42, 42])
      self.assertFalse(gone.is_set())
      with self.assertRaises(tf.errors.OutOfRangeError):
        session.run(following)
      self.assertTrue(gone.wait(60))

  def test_a_generator_that_fails(self):
    def broken():
      yield 1
      raise KeyError('no')
    self.assertEqual(self._failures(D.from_generator(broken, tf.int64, [])),
                     [1, tf.errors.UNKNOWN])
    self.assertRaises(TypeError, D.from_generator, 3, tf.int64)


if __name__ == '__main__':
  unittest.main()
