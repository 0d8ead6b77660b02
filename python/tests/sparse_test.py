"""Sparse tensors: what TensorFlow gives for each expression. The tests pass in TensorFlow too."""
import os
import unittest

import numpy as np

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
else:
  import leat as tf


def S(indices, values, shape):
  return tf.SparseTensor(indices, values, shape)


def A():
  return S([[0, 0], [0, 2], [1, 3]], [1, 2, 3], [3, 4])


def B():
  return S([[0, 1], [2, 0]], [8, 9], [3, 4])


def plain(value):
  if hasattr(value, 'dense_shape'):
    return [np.asarray(part).tolist() for part in value]
  return value.to_list() if hasattr(value, 'to_list') else np.asarray(value).tolist()


class SparseTest(unittest.TestCase):

  def _check(self, cases):
    with tf.Graph().as_default(), tf.Session() as session:
      for i, (build, expected) in enumerate(cases):
        with self.subTest(number=i, line=build.__code__.co_firstlineno):
          self.assertEqual(plain(session.run(build())), expected)

  def test_values(self):
    self._check([
        (lambda: A(), [[[0, 0], [0, 2], [1, 3]], [1, 2, 3], [3, 4]]),
        (lambda: tf.sparse.concat(1, [A(), B()]),
         [[[0, 0], [0, 2], [0, 5], [1, 3], [2, 4]], [1, 2, 8, 3, 9], [3, 8]]),
        (lambda: tf.sparse.concat(-1, [A(), B()]),
         [[[0, 0], [0, 2], [0, 5], [1, 3], [2, 4]], [1, 2, 8, 3, 9], [3, 8]]),
        (lambda: tf.sparse.concat(0, [A(), A()]),
         [[[0, 0], [0, 2], [1, 3], [3, 0], [3, 2], [4, 3]], [1, 2, 3, 1, 2, 3], [6, 4]]),
        (lambda: tf.sparse.concat(0, [A(), S([[0, 0]], [9], [1, 5])], expand_nonconcat_dim=True),
         [[[0, 0], [0, 2], [1, 3], [3, 0]], [1, 2, 3, 9], [4, 5]]),
        (lambda: tf.sparse.split(sp_input=A(), num_split=2, axis=1)[0], [[[0, 0]], [1], [3, 2]]),
        (lambda: tf.sparse.split(sp_input=A(), num_split=2, axis=1)[1],
         [[[0, 0], [1, 1]], [2, 3], [3, 2]]),
        (lambda: tf.sparse.split(sp_input=A(), num_split=3, axis=0)[2], [[], [], [1, 4]]),
        (lambda: tf.sparse.slice(A(), [0, 1], [2, 2]), [[[0, 1]], [2], [2, 2]]),
        (lambda: tf.sparse.slice(A(), [1, 0], [9, 9]), [[[0, 3]], [3], [2, 4]]),
        (lambda: tf.sparse.reshape(A(), [4, -1]), [[[0, 0], [0, 2], [2, 1]], [1, 2, 3], [4, 3]]),
        (lambda: tf.sparse.reset_shape(A()), [[[0, 0], [0, 2], [1, 3]], [1, 2, 3], [2, 4]]),
        (lambda: tf.sparse.reset_shape(A(), [5, 5]), [[[0, 0], [0, 2], [1, 3]], [1, 2, 3], [5, 5]]),
        (lambda: tf.sparse.transpose(A()), [[[0, 0], [2, 0], [3, 1]], [1, 2, 3], [4, 3]]),
        (lambda: tf.sparse.transpose(A(), [0, 1]), [[[0, 0], [0, 2], [1, 3]], [1, 2, 3], [3, 4]]),
        (lambda: tf.sparse.expand_dims(A(), 1),
         [[[0, 0, 0], [0, 0, 2], [1, 0, 3]], [1, 2, 3], [3, 1, 4]]),
        (lambda: tf.sparse.expand_dims(A()),
         [[[0, 0, 0], [0, 2, 0], [1, 3, 0]], [1, 2, 3], [3, 4, 1]]),
        (lambda: tf.sparse.eye(2, 3), [[[0, 0], [1, 1]], [1.0, 1.0], [2, 3]]),
        (lambda: tf.sparse.from_dense([[0, 1], [2, 0]]), [[[0, 1], [1, 0]], [1, 2], [2, 2]]),
        (lambda: tf.sparse.retain(A(), [True, False, True]), [[[0, 0], [1, 3]], [1, 3], [3, 4]]),
        (lambda: tf.sparse.fill_empty_rows(A(), -1)[0],
         [[[0, 0], [0, 2], [1, 3], [2, 0]], [1, 2, 3, -1], [3, 4]]),
        (lambda: tf.sparse.fill_empty_rows(A(), -1)[1], [False, False, True]),
        (lambda: tf.sparse.merge(S([[0, 0], [0, 1], [2, 0]], tf.constant([3, 1, 2], tf.int64), [3,
          2]), S([[0, 0], [0, 1], [2, 0]], [0.5, 0.25, 2.], [3, 2]), 5),
         [[[0, 1], [0, 3], [2, 2]], [0.25, 0.5, 2.0], [3, 5]]),
        (lambda: tf.sparse.to_indicator(S([[0, 0], [0, 1], [2, 0]], tf.constant([3, 1, 2],
          tf.int64), [3, 2]), 4),
         [[False, True, False, True], [False, False, False, False], [False, False, True, False]]),
        (lambda: tf.sparse.add(A(), A()), [[[0, 0], [0, 2], [1, 3]], [2, 4, 6], [3, 4]]),
        (lambda: tf.sparse.add(A(), B()),
         [[[0, 0], [0, 1], [0, 2], [1, 3], [2, 0]], [1, 8, 2, 3, 9], [3, 4]]),
        (lambda: tf.sparse.add(A(), S([[0, 0], [1, 1]], [-1, 4], [3, 4])),
         [[[0, 0], [0, 2], [1, 1], [1, 3]], [0, 2, 4, 3], [3, 4]]),
        (lambda: tf.sparse.add(A(), S([[0, 0], [1, 1]], [-1, 4], [3, 4]), threshold=1),
         [[[0, 2], [1, 1], [1, 3]], [2, 4, 3], [3, 4]]),
        (lambda: tf.sparse.add(A(), tf.ones([3, 4], tf.int32)),
         [[2, 1, 3, 1], [1, 1, 1, 4], [1, 1, 1, 1]]),
        (lambda: tf.sparse.reduce_sum(A()), 6),
        (lambda: tf.sparse.reduce_sum(A(), 1), [3, 3, 0]),
        (lambda: tf.sparse.reduce_sum(A(), [0], keepdims=True), [[1, 0, 2, 3]]),
        (lambda: tf.sparse.reduce_max(A()), 3),
        (lambda: tf.sparse.reduce_max(A(), 0), [1, 0, 2, 3]),
        (lambda: tf.sparse.reduce_max(S([[0, 0], [1, 1]], [-3, -4], [3, 2]), -1), [-3, -4, 0]),
        (lambda: tf.sparse.reduce_max(A(), 1, keepdims=True), [[2], [3], [0]]),
        (lambda: tf.sparse.reduce_sum_sparse(A(), 0), [[[0], [2], [3]], [1, 2, 3], [4]]),
        (lambda: tf.sparse.reduce_sum_sparse(A(), 1), [[[0], [1]], [3, 3], [3]]),
        (lambda: tf.sparse.reduce_sum_sparse(A(), 1, keepdims=True),
         [[[0, 0], [1, 0]], [3, 3], [3, 1]]),
        (lambda: tf.sparse.reduce_max_sparse(A(), 0), [[[0], [2], [3]], [1, 2, 3], [4]]),
        (lambda: tf.sparse.softmax(S([[0, 0], [0, 2], [1, 1]], [1., 1., 5.], [2, 3])),
         [[[0, 0], [0, 2], [1, 1]], [0.5, 0.5, 1.0], [2, 3]]),
        (lambda: tf.sparse.maximum(A(), S([[0, 0], [2, 2]], [-1, 7], [3, 4])),
         [[[0, 0], [0, 2], [1, 3], [2, 2]], [1, 2, 3, 7], [3, 4]]),
        (lambda: tf.sparse.minimum(A(), S([[0, 0], [2, 2]], [-1, 7], [3, 4])),
         [[[0, 0], [0, 2], [1, 3], [2, 2]], [-1, 0, 0, 0], [3, 4]]),
        (lambda: tf.sparse.cross([S([[0, 0], [1, 0], [1, 1]], ['a', 'b', 'c'], [2, 2]),
          tf.constant([['x'], ['y']])]),
         [[[0, 0], [1, 0], [1, 1]], [b'a_X_x', b'b_X_y', b'c_X_y'], [2, 2]]),
        (lambda: tf.sparse.cross_hashed([S([[0, 0], [1, 0], [1, 1]], ['a', 'b', 'c'], [2, 2]),
          tf.constant([['x'], ['y']])], num_buckets=100),
         [[[0, 0], [1, 0], [1, 1]], [92, 5, 60], [2, 2]]),
        (lambda: tf.sparse.to_dense(A(), 9), [[1, 9, 2, 9], [9, 9, 9, 3], [9, 9, 9, 9]]),
        (lambda: tf.deserialize_many_sparse(tf.serialize_many_sparse(A()), tf.int32, 1),
         [[[0, 0], [0, 2], [1, 3]], [1, 2, 3], [3, 4]]),
    ])

  def test_shapes_that_do_not_fit(self):
    with tf.Graph().as_default(), tf.Session() as session:
      other = S([[0, 0]], [9], [1, 5])
      for wrong in (lambda: tf.sparse.concat(0, [A(), other]),
                    lambda: tf.sparse.maximum(A(), other)):
        with self.assertRaises(tf.errors.InvalidArgumentError):
          session.run(wrong())
      with self.assertRaises(ValueError):
        tf.sparse.concat(0, [A(), S([[0]], [1], [1])])
      with self.assertRaises(ValueError):
        tf.sparse.reshape(A(), [5, 5])
      with self.assertRaises(TypeError):
        tf.sparse.reshape(tf.constant([1]), [1])

  def test_gradients_reach_the_values(self):
    with tf.Graph().as_default(), tf.Session() as session:
      values = tf.constant([1.0, 2.0, 3.0])
      sparse = S([[0, 0], [0, 2], [1, 3]], values, [3, 4])
      part = tf.sparse.slice(tf.sparse.transpose(sparse), [0, 0], [3, 2])
      total = tf.reduce_sum(part.values * part.values)
      self.assertEqual(session.run(tf.gradients(total, values)[0]).tolist(), [2.0, 4.0, 0.0])


if __name__ == '__main__':
  unittest.main()
