"""Signals: what TensorFlow gives for each expression. The tests pass in TensorFlow too."""
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


class SignalTest(unittest.TestCase):

  def _check(self, cases):
    with tf.Graph().as_default(), tf.Session() as session:
      for i, (build, expected) in enumerate(cases):
        with self.subTest(number=i, line=build.__code__.co_firstlineno):
          self.assertEqual(plain(session.run(build())), expected)

  def test_values(self):
    self._check([
        (lambda: tf.signal.frame([1, 2, 3, 4, 5], 3, 2), [[1, 2, 3], [3, 4, 5]]),
        (lambda: tf.signal.frame([1, 2, 3, 4, 5], 3, 2, pad_end=True),
         [[1, 2, 3], [3, 4, 5], [5, 0, 0]]),
        (lambda: tf.signal.overlap_and_add([[1, 2, 3], [4, 5, 6]], 2), [1, 2, 7, 5, 6]),
        (lambda: tf.round(1000*tf.signal.hann_window(4)), [0.0, 500.0, 1000.0, 500.0]),
        (lambda: tf.round(1000*tf.signal.hann_window(4, periodic=False)), [0.0, 750.0, 750.0, 0.0]),
        (lambda: tf.round(1000*tf.signal.kaiser_window(4)), [0.0, 519.0, 519.0, 0.0]),
        (lambda: tf.round(1000*tf.signal.kaiser_bessel_derived_window(4)),
         [7.0, 1000.0, 1000.0, 7.0]),
        (lambda: tf.round(1000*tf.signal.vorbis_window(4)), [228.0, 974.0, 974.0, 228.0]),
        (lambda: tf.round(1000*tf.signal.dct([1., 2., 3.])), [12000.0, -3464.0, 0.0]),
        (lambda: tf.round(1000*tf.signal.dct([1., 2., 3.], norm='ortho')), [3464.0, -1414.0, 0.0]),
        (lambda: tf.round(1000*tf.signal.dct([1., 2., 3.], type=3, norm='ortho')),
         [3216.0, -1872.0, 388.0]),
        (lambda: tf.round(1000*tf.signal.dct([1., 2., 3.], type=4)), [6313.0, -5657.0, 3485.0]),
        (lambda: tf.round(1000*tf.signal.dct([1., 2., 3.], type=4, norm='ortho')),
         [2577.0, -2309.0, 1423.0]),
        (lambda: tf.round(1000*tf.signal.dct([1., 2., 3.], n=2)), [6000.0, -1414.0]),
        (lambda: tf.round(1000*tf.signal.idct([1., 2., 3.], norm='ortho')),
         [3216.0, -1872.0, 388.0]),
        (lambda: tf.signal.fftshift([1, 2, 3, 4, 5]), [4, 5, 1, 2, 3]),
        (lambda: tf.signal.ifftshift([1, 2, 3, 4, 5]), [3, 4, 5, 1, 2]),
        (lambda: tf.signal.rfft([1., 2., 3.], [4]), [(6+0j), (-2-2j), (2+0j)]),
        (lambda: tf.signal.irfft([10.+0j, -2.+2j, -2.+0j]), [1.0, 2.0, 3.0, 4.0]),
        (lambda: tf.round(1000*tf.signal.linear_to_mel_weight_matrix(2, 5, 8000, 125., 3800.)),
         [[0.0, 0.0], [721.0, 279.0], [0.0, 903.0], [0.0, 346.0], [0.0, 0.0]]),
        (lambda: tf.round(1000*tf.signal.mfccs_from_log_mel_spectrograms([[1., 2., 3.]])),
         [[4899.0, -1414.0, 0.0]]),
        (lambda: tf.round(1000*tf.abs(tf.signal.stft([1., 2., 3., 4.], 2, 1))),
         [[2000.0, 2000.0], [3000.0, 3000.0], [4000.0, 4000.0]]),
    ])

  def test_a_signal_comes_back(self):
    with tf.Graph().as_default(), tf.Session() as session:
      signal = tf.constant(np.sin(np.arange(64) * 0.3).astype(np.float32))
      spectrum = tf.signal.stft(signal, 16, 4)
      back = tf.signal.inverse_stft(spectrum, 16, 4,
                                    window_fn=tf.signal.inverse_stft_window_fn(4))
      first, second = session.run([signal, back])
      np.testing.assert_allclose(first[16:48], second[16:48], atol=1e-5)

  def test_gradients(self):
    with tf.Graph().as_default(), tf.Session() as session:
      x = tf.constant([1.0, 2.0, 3.0])
      power = tf.reduce_sum(tf.square(tf.abs(tf.signal.fft(tf.cast(x, tf.complex64)))))
      np.testing.assert_allclose(session.run(tf.gradients(power, x)[0]), [6.0, 12.0, 18.0],
                                 rtol=1e-5)


if __name__ == '__main__':
  unittest.main()
