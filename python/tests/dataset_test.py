"""Datasets: the elements that TensorFlow gives for pipelines. The tests pass in TensorFlow too."""
import collections
import os
import unittest

import numpy as np

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
else:
  import leat as tf

D = tf.data.Dataset
Point = collections.namedtuple('Point', ['x', 'y'])


def plain(value):
  """Tuples, dicts and lists of numbers and strings; a sparse tensor as a list of three lists."""
  if hasattr(value, 'dense_shape'):
    return [np.asarray(part).tolist() for part in value]
  if isinstance(value, dict):
    return {key: plain(item) for key, item in value.items()}
  if isinstance(value, tuple):
    return tuple(plain(item) for item in value)
  return np.asarray(value).tolist()


def elements(dataset, most=20, feed=None):
  """All elements, or the first `most`."""
  iterator = tf.data.make_initializable_iterator(dataset)
  following = iterator.get_next()
  found = []
  with tf.Session() as session:
    session.run(iterator.initializer, feed)
    try:
      while len(found) < most:
        found.append(plain(session.run(following)))
    except tf.errors.OutOfRangeError:
      pass
  return found


def filled(*sizes):
  """A vector of n times the number n for each n."""
  return D.from_tensor_slices(np.array(sizes, np.int64)).map(lambda n: tf.fill([n], n))


def sparse_rows():
  return D.range(3).map(lambda x: tf.SparseTensor([[0, x]], [x], [1, 3]))


class ElementsTest(unittest.TestCase):

  def _check(self, cases):
    for i, (build, expected) in enumerate(cases):
      with self.subTest(number=i, line=build.__code__.co_firstlineno), tf.Graph().as_default():
        self.assertEqual(elements(build()), expected)

  def test_sources(self):
    self._check([
        (lambda: D.from_tensors((1, [2.0, 3.0], {'a': 'x', 'b': (4, 5)})),
         [(1, [2.0, 3.0], {'a': b'x', 'b': (4, 5)})]),
        (lambda: D.from_tensor_slices(Point([1, 2], [3.0, 4.0])), [(1, 3.0), (2, 4.0)]),
        (lambda: D.from_tensor_slices({'z': [1, 2], 'a': [[3], [4]]}),
         [{'a': [3], 'z': 1}, {'a': [4], 'z': 2}]),
        (lambda: D.from_tensors(tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 3])),
         [[[[0, 0], [1, 2]], [1, 2], [2, 3]]]),
        (lambda: D.from_tensor_slices(tf.SparseTensor([[0, 0], [1, 2]], [1, 2], [2, 3])),
         [[[[0]], [1], [3]], [[[2]], [2], [3]]]),
        (lambda: D.from_tensors(tf.SparseTensorValue(
            np.array([[0]]), np.array([7]), np.array([2]))), [[[[0]], [7], [2]]]),
        (lambda: D.range(5, 0, -2), [5, 3, 1]),
        (lambda: D.range(3, output_type=tf.float32), [0.0, 1.0, 2.0]),
        (lambda: D.zip({'q': D.range(3), 'r': (D.range(5).batch(2), D.range(9))}),
         [{'q': 0, 'r': ([0, 1], 0)}, {'q': 1, 'r': ([2, 3], 1)}, {'q': 2, 'r': ([4], 2)}]),
        (lambda: D.zip((D.range(2),)), [(0,), (1,)]),
        (lambda: D.from_sparse_tensor_slices(
            tf.SparseTensor([[0, 0], [0, 2], [2, 1]], [1., 2., 3.], [3, 3])),
         [([[0], [2]], [1.0, 2.0], [3]), ([], [], [3]), ([[1]], [3.0], [3])]),
    ])

  def test_order_and_number(self):
    self._check([
        (lambda: D.range(2).concatenate(D.range(5, 7)), [0, 1, 5, 6]),
        (lambda: D.range(2).repeat(2), [0, 1, 0, 1]),
        (lambda: D.range(2).repeat(0), []),
        (lambda: D.range(0).repeat(), []),
        (lambda: D.range(5).take(-1).skip(-1), []),
        (lambda: D.range(5).skip(3), [3, 4]),
        (lambda: D.range(10).shard(3, 1), [1, 4, 7]),
        (lambda: D.range(5, 7).enumerate(3), [(3, 5), (4, 6)]),
        (lambda: D.range(3).cache().repeat(2), [0, 1, 2, 0, 1, 2]),
        (lambda: D.range(3).prefetch(None).prefetch(0), [0, 1, 2]),
    ])

  def test_batches(self):
    self._check([
        (lambda: D.range(5).batch(2), [[0, 1], [2, 3], [4]]),
        (lambda: D.range(5).batch(2, drop_remainder=True).batch(2), [[[0, 1], [2, 3]]]),
        (lambda: filled(1, 2, 3).padded_batch(2, [None]), [[[1, 0], [2, 2]], [[3, 3, 3]]]),
        (lambda: filled(1, 2, 3).padded_batch(2, [-1], tf.constant(-1, tf.int64), True),
         [[[1, -1], [2, 2]]]),
        (lambda: filled(1, 2).map(lambda x: {'a': x, 'b': tf.as_string(x)}).padded_batch(
            2, {'a': [3], 'b': [None]}, {'a': tf.constant(9, tf.int64), 'b': '-'}),
         [{'a': [[1, 9, 9], [2, 2, 9]], 'b': [[b'1', b'-'], [b'2', b'2']]}]),
        (lambda: sparse_rows().batch(2),
         [[[[0, 0, 0], [1, 0, 1]], [0, 1], [2, 1, 3]], [[[0, 0, 2]], [2], [1, 1, 3]]]),
        (lambda: D.range(7).window(3).flat_map(lambda x: x.batch(3)),
         [[0, 1, 2], [3, 4, 5], [6]]),
        (lambda: D.range(7).window(3, 1, 2, True).flat_map(lambda x: x.batch(3)),
         [[0, 2, 4], [1, 3, 5], [2, 4, 6]]),
        (lambda: D.zip((D.range(4), D.range(5, 9))).window(2).flat_map(
            lambda a, b: D.zip((a.batch(2), b))), [([0, 1], 5), ([2, 3], 7)]),
        (lambda: D.from_tensor_slices({'a': [1, 2, 3]}).window(2).flat_map(
            lambda w: w['a'].batch(2)), [[1, 2], [3]]),
    ])

  def test_functions(self):
    self._check([
        (lambda: D.range(2).map(lambda x: (x, {'a': [x, x]})), [(0, {'a': [0, 0]}),
                                                                (1, {'a': [1, 1]})]),
        (lambda: D.range(2).map(lambda x: ('a', 2.5, np.array([1, 2]))), [(b'a', 2.5, [1, 2])] * 2),
        (lambda: D.zip((D.range(3), (D.range(3), D.range(3)))).map(
            lambda a, b: a + b[0] * b[1]), [0, 2, 6]),
        (lambda: D.from_tensor_slices(Point([1, 2], [3, 4])).map(lambda p: p.x * p.y), [3, 8]),
        (lambda: sparse_rows().map(tf.sparse_tensor_to_dense), [[[0, 0, 0]], [[0, 1, 0]],
                                                                [[0, 0, 2]]]),
        (lambda: D.range(5).map(lambda x: x * x, num_parallel_calls=3), [0, 1, 4, 9, 16]),
        (lambda: D.range(4).map(lambda x: tf.cond(x > 1, lambda: x * 10, lambda: x - 1)),
         [-1, 0, 20, 30]),
        (lambda: D.range(4).map(lambda x: tf.while_loop(
            lambda i, total: i < x, lambda i, total: (i + 1, total + i),
            [tf.constant(0, tf.int64), tf.constant(0, tf.int64)])[1]), [0, 0, 1, 3]),
        (lambda: D.range(6).filter(lambda x: tf.equal(x % 2, 0)), [0, 2, 4]),
        (lambda: D.range(3).flat_map(lambda x: D.from_tensors(x).repeat(x)), [1, 2, 2]),
        (lambda: D.range(2).flat_map(lambda x: D.range(3).map(lambda y: y + x)),
         [0, 1, 2, 1, 2, 3]),
        (lambda: D.range(1, 5).interleave(lambda x: D.from_tensors(x).repeat(x), 2, 2),
         [1, 2, 2, 3, 3, 3, 4, 4, 4, 4]),
        (lambda: D.range(1, 4).interleave(lambda x: D.from_tensors(x).repeat(x), 3, 1, 2),
         [1, 2, 3, 2, 3, 3]),
        (lambda: D.range(3).apply(lambda d: d.skip(1)), [1, 2]),
    ])

  def test_an_error_is_that_of_one_element(self):
    with tf.Graph().as_default(), tf.Session() as session:
      dataset = D.from_tensor_slices([1., 0., 2.]).map(lambda x: tf.check_numerics(1 / x, 'odd'))
      following = tf.data.make_one_shot_iterator(dataset).get_next()
      self.assertEqual(session.run(following), 1.0)
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'odd'):
        session.run(following)
      self.assertEqual(session.run(following), 0.5)

  def test_reduce(self):
    with tf.Graph().as_default(), tf.Session() as session:
      self.assertEqual(session.run(D.range(5).reduce(
          (np.int64(0), 1), lambda s, x: (s[0] + x, s[1] + 1))), (10, 6))
      joined = D.range(3).reduce(np.zeros([0], np.int64), lambda s, x: tf.concat([s, [x]], 0))
      self.assertEqual(joined.get_shape().as_list(), [None])
      self.assertEqual(session.run(joined).tolist(), [0, 1, 2])

  def test_orders_of_seeds(self):
    with tf.Graph().as_default():
      tf.set_random_seed(7)
      self.assertEqual(elements(D.range(9).shuffle(4, seed=3)), [3, 0, 1, 4, 6, 5, 7, 8, 2])
      numbers = [elements(D.range(3).map(lambda x: tf.random_uniform([], seed=11)))
                 for _ in range(2)]
      self.assertEqual(numbers[0], numbers[1])
      self.assertEqual(len(set(numbers[0])), 3)
      same = D.range(5).shuffle(9, seed=3, reshuffle_each_iteration=False).repeat(2)
      found = elements(same)
      self.assertEqual(found[:5], found[5:])
      self.assertEqual(sorted(found[:5]), [0, 1, 2, 3, 4])

  def test_placeholders_and_variables(self):
    with tf.Graph().as_default():
      size, rows = tf.placeholder(tf.int64, []), tf.placeholder(tf.float32, [None, 2])
      dataset = D.from_tensor_slices(rows).repeat(2).batch(size)
      self.assertEqual(elements(dataset, feed={size: 3, rows: [[1, 2], [3, 4]]}),
                       [[[1, 2], [3, 4], [1, 2]], [[3, 4]]])
      variable = tf.get_variable('v', initializer=tf.constant(5, tf.int64))
      iterator = tf.data.make_initializable_iterator(D.range(3).map(lambda x: x + variable))
      following = iterator.get_next()
      with tf.Session() as session:
        session.run(variable.initializer)
        session.run(iterator.initializer)
        self.assertEqual(session.run(following), 5)


class DescriptionTest(unittest.TestCase):

  def _described(self, dataset):
    """(types, shapes) as texts."""
    return str(tf.data.get_output_types(dataset)), str(tf.data.get_output_shapes(dataset))

  def test_static_shapes(self):
    with tf.Graph().as_default():
      unknown = tf.placeholder(tf.int32)
      for dataset, shape in (
          (D.range(5).batch(2), '(?,)'), (D.range(5).batch(2, drop_remainder=True), '(2,)'),
          (filled(1, 2).padded_batch(2, [6], drop_remainder=True), '(2, 6)'),
          (D.from_tensors(unknown).padded_batch(2, [None, 3]), '(?, ?, 3)'),
          (D.from_tensors([1, 2]).concatenate(D.from_tensors([1])), '(?,)'),
          (D.from_tensors([1, 2]).concatenate(D.from_tensors([[1]])), '<unknown>'),
          (sparse_rows().batch(2), '(?, 1, 3)'), (sparse_rows(), '(1, 3)')):
        self.assertEqual(self._described(dataset)[1], shape)

  def test_structures(self):
    with tf.Graph().as_default():
      ordered = D.from_tensors(collections.OrderedDict([('z', 1), ('a', 2.0)]))
      self.assertEqual(list(tf.data.get_output_types(ordered)), ['z', 'a'])
      point = D.from_tensor_slices(Point([1, 2], [3.0, 4.0]))
      self.assertEqual(tf.data.get_output_types(point), Point(tf.int32, tf.float32))
      window = tf.data.get_output_types(D.range(3).window(2))
      self.assertEqual(window, tf.data.DatasetSpec(tf.TensorSpec([], tf.int64)))
      self.assertEqual(tf.data.get_output_classes(sparse_rows()), tf.SparseTensor)

  def test_errors_while_building(self):
    for build, error, text in (
        (lambda: D.from_tensor_slices(3), ValueError, 'rank >= 1'),
        (lambda: D.from_tensor_slices(([1, 2], [3])), ValueError, 'not compatible'),
        (lambda: D.from_tensors(()), ValueError, ''), (D.range, ValueError, 'length of `args`'),
        (lambda: D.zip([D.range(2), D.range(2)]), TypeError, 'tuple'),
        (lambda: D.zip((D.range(2), 3)), TypeError, 'structure'),
        (lambda: D.range(2).concatenate(D.from_tensors(1.0)), TypeError, ''),
        (lambda: D.from_tensors([1, 2]).padded_batch(2, [None, None]), ValueError, 'padded shape'),
        (lambda: D.from_tensors([1, 2]).padded_batch(2, [1]), ValueError, 'padded shape'),
        (lambda: D.from_tensors([1, 2]).padded_batch(2, [None], 1.5), TypeError, 'type'),
        (lambda: D.from_tensors([1, 2]).padded_batch(2, [None], [1]), ValueError, 'scalar'),
        (lambda: sparse_rows().padded_batch(2, [None]), TypeError, 'padded'),
        (lambda: D.range(3).filter(lambda x: x), ValueError, 'predicate'),
        (lambda: D.range(3).map(lambda x: D), TypeError,
         r'Unsupported return value from function passed to Dataset.map\(\)'),
        (lambda: D.range(3).apply(lambda d: 3), TypeError, 'transformation_func'),
        (lambda: D.range(5).reduce(0, lambda s, x: s + 1.0), (TypeError, ValueError), ''),
        (lambda: tf.data.TFRecordDataset(D.range(3)), TypeError, 'filenames')):
      with self.subTest(line=build.__code__.co_firstlineno if hasattr(build, '__code__') else 0):
        with tf.Graph().as_default(), self.assertRaisesRegex(error, text):
          build()

  def test_errors_of_steps(self):
    for build in (lambda: D.range(1, 5, 0), lambda: D.range(5).batch(0),
                  lambda: D.range(9).shuffle(0), lambda: D.range(7).window(0).flat_map(lambda x: x),
                  lambda: D.range(3).interleave(D.from_tensors, 0), lambda: D.range(3).prefetch(-2),
                  lambda: D.range(1, 4).map(lambda n: tf.fill([n], n)).batch(2)):
      with tf.Graph().as_default(), self.assertRaises(tf.errors.InvalidArgumentError):
        elements(build())

  def test_sparse_rows_are_in_order(self):
    with tf.Graph().as_default():
      rows = tf.SparseTensor([[1, 0], [0, 2]], [1., 2.], [2, 3])
      with self.assertRaises(tf.errors.UnimplementedError):
        elements(D.from_sparse_tensor_slices(rows))

  def test_options(self):
    with tf.Graph().as_default():
      first, second = tf.data.Options(), tf.data.Options()
      first.experimental_deterministic = False
      second.experimental_threading.private_threadpool_size = 2
      dataset = D.range(3).with_options(first).map(lambda x: x).with_options(second)
      self.assertIs(dataset.options().experimental_deterministic, False)
      self.assertEqual(dataset.options().experimental_threading.private_threadpool_size, 2)
      self.assertEqual(elements(dataset), [0, 1, 2])
      self.assertNotEqual(first, second)
      with self.assertRaisesRegex(TypeError, 'bool'):
        first.experimental_deterministic = 3
      with self.assertRaises(AttributeError):
        first.wrong = 3


if __name__ == '__main__':
  unittest.main()
