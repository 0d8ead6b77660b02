"""Functions put together of several operations: what TensorFlow gives for each expression. The
tests pass in TensorFlow too."""
import os
import unittest

import numpy as np

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
else:
  import leat as tf


def plain(value):
  if hasattr(value, 'dense_shape'):
    return [np.asarray(part).tolist() for part in value]
  return value.to_list() if hasattr(value, 'to_list') else np.asarray(value).tolist()


def F(values):
  return tf.constant(values, tf.float32)


class FunctionsTest(unittest.TestCase):

  def _check(self, cases):
    with tf.Graph().as_default(), tf.Session() as session:
      for i, (build, expected) in enumerate(cases):
        with self.subTest(number=i, line=build.__code__.co_firstlineno):
          self.assertEqual(plain(session.run(build())), expected)

  def test_values(self):
    self._check([
        (lambda: tf.sort([3, 1, 2]), [1, 2, 3]),
        (lambda: tf.sort([[3, 1], [0, 2]], axis=0, direction='DESCENDING'), [[3, 2], [0, 1]]),
        (lambda: tf.argsort([3., 1., 2.]), [1, 2, 0]),
        (lambda: tf.sort(tf.constant([3, -128, 127], tf.int8)), [-128, 3, 127]),
        (lambda: tf.sort(tf.constant([3, 0, 255], tf.uint8)), [0, 3, 255]),
        (lambda: tf.searchsorted([[1, 3, 5], [2, 4, 6]], [[0, 3], [4, 9]]), [[0, 1], [1, 3]]),
        (lambda: tf.searchsorted([1, 3, 3, 5], [3], side='right'), [3]),
        (lambda: tf.batch_gather([[1, 2], [3, 4]], [[1, 0], [0, 0]]), [[2, 1], [3, 3]]),
        (lambda: tf.linalg.matvec([[1., 2.], [3., 4.]], [1., 1.]), [3.0, 7.0]),
        (lambda: tf.linalg.matrix_rank([[1., 2.], [2., 4.]]), 1),
        (lambda: tf.round(tf.linalg.pinv([[1., 2.], [3., 4.], [5., 6.]])*1000),
         [[-1333.0, -333.0, 667.0], [1083.0, 333.0, -417.0]]),
        (lambda: tf.linalg.normalize([3., 4.])[0], [0.6000000238418579, 0.800000011920929]),
        (lambda: tf.math.polyval([1., 2., 3.], 2.), 11.0),
        (lambda: tf.histogram_fixed_width_bins([0., 1., 4.9, 5., -1., 9.], [0., 5.], nbins=5),
         [0, 1, 4, 4, 0, 4]),
        (lambda: tf.math.unsorted_segment_mean([1., 2., 6.], [0, 0, 2], 3), [1.5, 0.0, 6.0]),
        (lambda: tf.math.lbeta([1., 1.]), 0.0),
        (lambda: tf.nn.collapse_repeated([[1, 1, 2, 0], [3, 3, 3, 3]], [3, 4])[0],
         [[1, 2], [3, 0]]),
        (lambda: tf.nn.collapse_repeated([[1, 1, 2, 0], [3, 3, 3, 3]], [3, 4])[1], [2, 1]),
        (lambda: tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 1, 2, 1]])[0],
         [[3, 4, 0, 0], [1, 2, 0, 0]]),
        (lambda: tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 1, 2, 1]])[1],
         [[0, 1, 1, 0], [0, 0, 1, 0]]),
        (lambda: tf.round(1000*tf.nn.ctc_loss_v2([[1, 2]], tf.constant([[[1., 2., 3.]], [[3., 1.,
          2.]], [[0., 1., 0.]]]), [2], [3])),
         [2714.0]),
        (lambda: tf.nn.ctc_greedy_decoder(tf.constant([[[1., 2., 3.]], [[3., 1., 2.]], [[0., 1.,
          0.]]]), [3])[0][0],
         [[[0, 0], [0, 1]], [0, 1], [1, 2]]),
        (lambda: tf.nn.pool([[[1.], [2.], [3.], [4.]]], [2], 'MAX', 'VALID'),
         [[[2.0], [3.0], [4.0]]]),
        (lambda: tf.nn.pool([[[1.], [2.], [3.], [4.]]], [2], 'AVG', 'SAME', strides=[2]),
         [[[1.5], [3.5]]]),
        (lambda: tf.nn.pool([[[1.], [2.], [3.], [4.]]], [2], 'MAX', 'VALID', dilation_rate=[2]),
         [[[3.0], [4.0]]]),
        (lambda: tf.nn.convolution([[[1.], [2.], [3.], [4.]]], [[[1.]], [[10.]]], 'SAME'),
         [[[21.0], [32.0], [43.0], [4.0]]]),
        (lambda: tf.nn.convolution([[[1.], [2.], [3.], [4.]]], [[[1.]], [[10.]]], 'VALID',
          dilation_rate=[2]),
         [[[31.0], [42.0]]]),
        (lambda: tf.nn.conv1d([[[1.], [2.], [3.], [4.]]], [[[1.]], [[10.]]], 2, 'VALID'),
         [[[21.0], [43.0]]]),
        (lambda: tf.nn.erosion2d([[[[1.], [2.]], [[3.], [4.]]]], [[[1.], [0.]]], [1, 1, 1, 1], [1,
          1, 1, 1], 'VALID'),
         [[[[1.0]], [[3.0]]]]),
        (lambda: tf.cast(tf.constant([1.5, 2.5], tf.bfloat16), tf.float32), [1.5, 2.5]),
        (lambda: tf.nn.weighted_moments([1., 2., 3.], [0], [1., 0., 1.])[1], 1.0),
        (lambda: tf.clip_by_average_norm([3., 4.], 1.), [1.2000000476837158, 1.600000023841858]),
        (lambda: tf.scalar_mul(2, tf.constant([1, 2])), [2, 4]),
        (lambda: tf.einsum('ij,jk->ik', F([[1, 2], [3, 4]]), F([[1, 0], [1, 1]])),
         [[3.0, 2.0], [7.0, 4.0]]),
        (lambda: tf.einsum('ab,bc,cd->ad', F([[1, 2]]), F([[1], [2]]), F([[3, 4]])),
         [[15.0, 20.0]]),
        (lambda: tf.einsum('...ij->...ji', F([[[1, 2]]])), [[[1.0], [2.0]]]),
        (lambda: tf.einsum('ij,ij->', F([[1, 2]]), F([[3, 4]])), 11.0),
        (lambda: tf.round(tf.linalg.tridiagonal_solve(
            F([[1, 1, 0], [4, 4, 4], [0, 1, 1]]), F([5, 6, 5]))), [1.0, 1.0, 1.0]),
        (lambda: tf.round(1000 * tf.linalg.expm(F([[0, 1], [-1, 0]]))),
         [[540.0, 841.0], [-841.0, 540.0]]),
        (lambda: tf.round(1000 * tf.linalg.expm(F([[[0, 1], [-1, 0]], [[1, 0], [0, 2]]]))),
         [[[540.0, 841.0], [-841.0, 540.0]], [[2718.0, 0.0], [0.0, 7389.0]]]),
    ])


if __name__ == '__main__':
  unittest.main()
