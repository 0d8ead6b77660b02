"""Ragged tensors and composite values in variants. But for one test TensorFlow passes them too."""
import os
import unittest

import numpy as np

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
else:
  import leat as tf

SPLITS = np.array([0, 2, 2, 5], np.int64)


def to_variant(splits, values, batched):
  return tf.raw_ops.RaggedTensorToVariant(rt_nested_splits=splits, rt_dense_values=values,
                                          batched_input=batched)


def from_variant(variant, inner_rank, rank, dtype=tf.float32):
  splits, values = tf.raw_ops.RaggedTensorFromVariant(
      encoded_ragged=variant, input_ragged_rank=inner_rank, output_ragged_rank=rank, Tvalues=dtype,
      Tsplits=tf.int64)
  return list(splits) + [values]


class RaggedVariantTest(unittest.TestCase):

  def _run(self, build):
    with tf.Graph().as_default(), tf.Session() as session:
      return [np.asarray(v).tolist() for v in session.run(build())]

  def test_there_and_back(self):
    values = [1., 2., 3., 4., 5.]
    outer = np.array([0, 2, 3], np.int64)
    whole = [outer.tolist(), SPLITS.tolist(), values]
    for batched in (False, True):
      with self.subTest(batched=batched):
        self.assertEqual(self._run(lambda: from_variant(
            to_variant([outer, SPLITS], values, batched), 1 if batched else 2, 2)), whole)
    self.assertEqual(self._run(lambda: from_variant(to_variant([SPLITS], values, True)[2], 0, 0)),
                     [[3., 4., 5.]])
    self.assertEqual(
        self._run(lambda: from_variant(tf.reshape(to_variant(
            [np.array([0, 1, 2, 3, 3], np.int64), SPLITS], values, True), [2, 2]), 1, 3)),
        [[0, 2, 4], [0, 1, 2, 3, 3], SPLITS.tolist(), values])

  def test_nothing(self):
    self.assertEqual(self._run(lambda: from_variant(
        to_variant([np.array([0], np.int64)], np.zeros([0, 3], np.float32), True), 0, 1)),
                     [[0], []])

  def test_sum(self):
    self.assertEqual(
        self._run(lambda: from_variant(tf.add_n(
            [to_variant([SPLITS], [1., 2., 3., 4., 5.], False)] * 2), 1, 1)),
        [SPLITS.tolist(), [2., 4., 6., 8., 10.]])
    with self.assertRaises(tf.errors.InvalidArgumentError):
      self._run(lambda: from_variant(tf.add_n(
          [to_variant([s], [1., 2.], False) for s in (np.array([0, 2], np.int64),
                                                      np.array([0, 1, 2], np.int64))]), 1, 1))

  def test_gradient(self):
    for batched in (False, True):
      with self.subTest(batched=batched), tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([1., 2., 3., 4., 5.])
        y = from_variant(to_variant([SPLITS], x, batched), 0 if batched else 1, 1)[-1]
        self.assertEqual(session.run(tf.gradients(y * y, x)[0]).tolist(), [2., 4., 6., 8., 10.])

  @unittest.skipIf(os.environ.get('LEAT_TEST_WITH') == 'tensorflow',
                   'TensorFlow reads outside of the row splits, which are a scalar here')
  def test_gradient_of_one_row(self):
    with tf.Graph().as_default(), tf.Session() as session:
      x = tf.placeholder_with_default([[1., 2.], [3., 4.]], [None, 2])
      y = from_variant(to_variant([], x, True)[1], 0, 0)[-1]
      self.assertEqual(session.run(tf.gradients(y * y, x)[0]).tolist(), [[0., 0.], [6., 8.]])

  def test_refusals(self):
    for build in (
        lambda: from_variant(to_variant([SPLITS], [1., 2., 3.], False), 1, 1),
        lambda: from_variant(to_variant([SPLITS], [1., 2., 3., 4., 5.], False), 1, 1, tf.int32),
        lambda: from_variant(tf.stack([to_variant([], [[1.]], False),
                                       to_variant([], [[1., 2.]], False)]), 0, 1)):
      with self.assertRaises(tf.errors.InvalidArgumentError):
        self._run(build)

  def test_components(self):
    def build(dtypes=(tf.int64, tf.float32)):
      encoded = tf.raw_ops.CompositeTensorVariantFromComponents(
          components=[tf.constant(SPLITS), tf.constant([1., 2.])], metadata='')
      return tf.raw_ops.CompositeTensorVariantToComponents(encoded=encoded, metadata='',
                                                           Tcomponents=list(dtypes))
    self.assertEqual(self._run(build), [SPLITS.tolist(), [1., 2.]])
    for wrong in ([tf.int64], [tf.int64, tf.int32]):
      with self.assertRaises(tf.errors.InvalidArgumentError):
        self._run(lambda: build(wrong))


if __name__ == '__main__':
  unittest.main()
