"""tf.data.experimental: the elements that TensorFlow gives. The tests pass in TensorFlow too."""
import unittest

import numpy as np

from dataset_test import D, elements, filled, sparse_rows, tf

X = tf.data.experimental


class TransformationsTest(unittest.TestCase):

  def _check(self, cases):
    for i, (build, expected) in enumerate(cases):
      with self.subTest(number=i, line=build.__code__.co_firstlineno), tf.Graph().as_default():
        tf.set_random_seed(7)
        self.assertEqual(elements(build()), expected)

  def test_batches(self):
    self._check([
        (lambda: D.range(5).apply(X.map_and_batch(lambda x: (x, x * 2), 2)),
         [([0, 1], [0, 2]), ([2, 3], [4, 6]), ([4], [8])]),
        (lambda: D.range(5).apply(X.map_and_batch(lambda x: x, 2, 2, True)), [[0, 1], [2, 3]]),
        (lambda: D.range(3).apply(X.map_and_batch(
            lambda x: tf.SparseTensor([[0]], [x], [1]), 2, num_parallel_calls=2)),
         [[[[0, 0], [1, 0]], [0, 1], [2, 1]], [[[0, 0]], [2], [1, 1]]]),
        (lambda: D.from_tensors({'a': [1, 2], 'b': [[3.], [4.]]}).apply(X.unbatch()),
         [{'a': 1, 'b': [3.0]}, {'a': 2, 'b': [4.0]}]),
        (lambda: D.from_tensors((tf.SparseTensor([[0, 0], [1, 1]], [7, 8], [2, 2]), [5, 6])).apply(
            X.unbatch()), [([[[0]], [7], [2]], 5), ([[[1]], [8], [2]], 6)]),
        (lambda: filled(1, 2, 3).apply(X.dense_to_sparse_batch(2, [6])),
         [[[[0, 0], [1, 0], [1, 1]], [1, 2, 2], [2, 6]],
          [[[0, 0], [0, 1], [0, 2]], [3, 3, 3], [1, 6]]]),
        (lambda: filled(1, 2).apply(X.dense_to_sparse_batch(2, [None])),
         [[[[0, 0], [1, 0], [1, 1]], [1, 2, 2], [2, 2]]]),
        (lambda: D.range(3).apply(X.dense_to_sparse_batch(2, [])),
         [[[[0], [1]], [0, 1], [2]], [[[0]], [2], [1]]]),
    ])

  def test_groups(self):
    by_parity = lambda x: x % 2
    length = lambda x: tf.shape(x)[0]
    self._check([
        (lambda: D.range(7).apply(X.group_by_window(by_parity, lambda k, d: d.batch(3), 3)),
         [[0, 2, 4], [1, 3, 5], [6]]),
        (lambda: D.range(7).apply(X.group_by_window(
            by_parity, lambda k, d: D.zip((D.from_tensors(k), d.batch(4))),
            window_size_func=lambda k: k + 2)),
         [(0, [0, 2]), (1, [1, 3, 5]), (0, [4, 6])]),
        (lambda: filled(1, 5, 2, 3).apply(X.bucket_by_sequence_length(length, [3], [2, 2])),
         [[[1, 0], [2, 2]], [[5, 5, 5, 5, 5], [3, 3, 3, 0, 0]]]),
        (lambda: filled(1, 2).apply(X.bucket_by_sequence_length(
            length, [4, 6], [2, 2, 2], pad_to_bucket_boundary=True)), [[[1, 0, 0], [2, 2, 0]]]),
        (lambda: filled(1, 2, 1).apply(X.bucket_by_sequence_length(
            length, [3, 6], [2, 2, 2], padding_values=tf.constant(-1, tf.int64),
            drop_remainder=True)), [[[1, -1], [2, 2]]]),
        (lambda: D.range(10).apply(X.group_by_reducer(lambda x: 1 - x % 2, X.Reducer(
            lambda k: (k, np.int64(0)), lambda s, x: (s[0], s[1] + x), lambda k, t: (k, t * 10)))),
         [(0, 250), (1, 200)]),
        (lambda: D.range(6).apply(X.group_by_reducer(lambda x: x % 2, X.Reducer(
            lambda k: tf.zeros([0], tf.int64), lambda s, x: tf.concat([s, [x]], 0),
            lambda s: s))), [[0, 2, 4], [1, 3, 5]]),
        (lambda: D.from_tensor_slices([1, 2, 1, 3, 2]).apply(X.unique()), [1, 2, 3]),
        (lambda: D.from_tensor_slices([['a', 'bc'], ['ab', 'c'], ['a', 'bc']]).apply(X.unique()),
         [[b'a', b'bc'], [b'ab', b'c']]),
        (lambda: D.range(5).apply(X.bucket_by_sequence_length(
            lambda x: tf.cast(x, tf.int32), [3], [2, 2], no_padding=True)),
         [[0, 1], [3, 4], [2]]),
    ])

  def test_choices(self):
    self._check([
        (lambda: X.choose_from_datasets(
            [D.range(3), D.range(10, 12)], D.from_tensor_slices(np.array([0, 1, 1, 0, 1, 0]))),
         [0, 10, 11, 1, 2]),
        (lambda: X.sample_from_datasets([D.range(3), D.range(10, 12)], [0.25, 0.75], seed=3),
         [10, 0, 11, 1, 2]),
        (lambda: D.range(4).apply(X.shuffle_and_repeat(1, 2, seed=5)), [0, 1, 2, 3] * 2),
        (lambda: D.range(1, 4).apply(X.parallel_interleave(
            lambda x: D.from_tensors(x).repeat(x), 2, 1)), [1, 2, 2, 3, 3, 3]),
        (lambda: D.range(9).apply(X.take_while(lambda x: x < 4)), [0, 1, 2, 3]),
        (lambda: D.from_tensor_slices([1., 0., 2.]).map(
            lambda x: tf.check_numerics(1 / x, 'odd')).apply(X.ignore_errors()), [1.0, 0.5]),
        (lambda: X.Counter(5, -2).take(3), [5, 3, 1]),
        (lambda: X.Counter(dtype=tf.int32).take(2), [0, 1]),
        (lambda: D.range(5, 7).apply(X.enumerate_dataset(3)), [(3, 5), (4, 6)]),
    ])

  def test_states(self):
    self._check([
        (lambda: D.range(4).apply(X.scan(np.int64(0), lambda s, x: (s + x, s * x))), [0, 0, 2, 9]),
        (lambda: D.range(3).apply(X.scan(
            (np.int64(0), [1.0]), lambda s, x: ((s[0] + x, s[1] * 2), s[1]))),
         [[1.0], [2.0], [4.0]]),
        (lambda: D.range(2).apply(X.scan(
            tf.zeros([0], tf.int64), lambda s, x: (tf.concat([s, [x]], 0),) * 2)), [[0], [0, 1]]),
    ])

  def test_resampling(self):
    for initial in (None, [0.9, 0.1]):
      with tf.Graph().as_default():
        tf.set_random_seed(7)
        dataset = D.range(10).repeat().map(lambda x: tf.cast(tf.equal(x, 0), tf.int32))
        found = elements(dataset.apply(X.rejection_resample(
            lambda c: c, [0.4, 0.6], initial, seed=3)), 1000)
        self.assertTrue(all(a == b for a, b in found))
        self.assertAlmostEqual(sum(a for a, _ in found) / 1000., 0.6, delta=0.06)

  def test_whole_datasets(self):
    with tf.Graph().as_default(), tf.Session() as session:
      for dataset, count in (
          (D.range(5), 5), (D.range(5).repeat(), X.INFINITE_CARDINALITY), (D.range(5).batch(2), 3),
          (D.range(5).filter(lambda x: x > 2), X.UNKNOWN_CARDINALITY), (D.range(5).skip(2), 3),
          (D.zip((D.range(3), D.range(5))), 3), (D.range(7).window(3), 3)):
        self.assertEqual(session.run(X.cardinality(dataset)), count)
      self.assertEqual(session.run(X.get_single_element(D.range(5).skip(4))), 4)
      for count in (0, 2):
        with self.assertRaises(tf.errors.InvalidArgumentError):
          session.run(X.get_single_element(D.range(count)))

  def test_static_shapes(self):
    with tf.Graph().as_default():
      for dataset, shape in (
          (D.range(5).apply(X.map_and_batch(lambda x: x, 2, drop_remainder=True)), '(2,)'),
          (filled(1).apply(X.dense_to_sparse_batch(2, [6])), '(?, 6)'),
          (sparse_rows().batch(2).apply(X.unbatch()), '(1, 3)'),
          (D.from_tensors([[1, 2], [3, 4]]).apply(X.unbatch()), '(2,)'),
          (filled(1).apply(X.bucket_by_sequence_length(
              lambda x: tf.shape(x)[0], [3], [2, 2])), '(?, ?)')):
        self.assertEqual(str(tf.data.get_output_shapes(dataset)), shape)

  def test_errors(self):
    for build, error, text in (
        (lambda: X.map_and_batch(lambda x: x, 2, 3, num_parallel_calls=2), ValueError, 'only one'),
        (lambda: D.from_tensors(3).apply(X.unbatch()), ValueError, 'scalar'),
        (lambda: D.from_tensors(([1], [1, 2])).apply(X.unbatch()), ValueError, ''),
        (lambda: D.range(4).apply(X.scan(np.int64(0), lambda s, x: s)), TypeError, 'pair'),
        (lambda: D.range(4).apply(X.scan(0, lambda s, x: (x, x))), TypeError, 'state'),
        (lambda: D.range(4).apply(X.group_by_window(tf.to_float, lambda k, d: d, 2)), ValueError,
         ''),
        (lambda: D.range(4).apply(X.group_by_window(lambda x: x, lambda k, d: k, 2)), TypeError,
         'reduce_func'),
        (lambda: X.sample_from_datasets([D.range(3)] * 2, [1, 2]), TypeError, 'weights'),
        (lambda: X.sample_from_datasets([D.range(3)] * 2, [1., 2., 3.]), ValueError, 'weights'),
        (lambda: X.sample_from_datasets([D.range(3), D.from_tensors(1.0)]), TypeError, ''),
        (lambda: X.choose_from_datasets([D.range(3)], D.from_tensors(1.0)), TypeError, 'choice'),
        (lambda: D.range(3).apply(X.group_by_reducer(lambda x: x, X.Reducer(
            lambda k: 0, lambda s, x: x, lambda s: s))), TypeError, 'state'),
        (lambda: D.from_tensors(1.0).apply(X.unique()), TypeError, 'int32'),
        (lambda: X.get_single_element(3), TypeError, 'dataset')):
      with self.subTest(line=build.__code__.co_firstlineno):
        with tf.Graph().as_default(), self.assertRaisesRegex(error, text):
          build()


if __name__ == '__main__':
  unittest.main()
