"""Numbers as integers of few bits, and graphs that compute with such integers.

A network whose layers were quantized for inference is compared with the same network in floats: the
two may differ by the rounding of each layer.
"""
import unittest

import numpy as np

import leat as tf

raw = tf.raw_ops


def quantized(x):
  """x as bytes over the range that it covers: the bytes and the ends of the range."""
  return tf.quantize(x, tf.reduce_min(x), tf.reduce_max(x), tf.quint8, mode='MIN_FIRST')


def narrowed(x, x_min, x_max):
  """Integers of 32 bits as bytes over the range that they cover."""
  low, high = raw.RequantizationRange(input=x, input_min=x_min, input_max=x_max)
  return raw.Requantize(input=x, input_min=x_min, input_max=x_max, requested_output_min=low,
                        requested_output_max=high, out_type=tf.quint8)


def float_network(x, filters, bias, weights):
  y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, filters, [1, 2, 2, 1], 'SAME'), bias))
  y = tf.concat([y, tf.nn.max_pool(y, [1, 3, 3, 1], [1, 1, 1, 1], 'SAME')], 3)
  return tf.matmul(tf.reshape(y, [-1, weights.shape[0]]), weights)


def quantized_network(x, filters, bias, weights):
  x, f, b, w = (quantized(value) for value in (x, filters, bias, weights))
  y = narrowed(*tf.nn.quantized_conv2d(x[0], f[0], x[1], x[2], f[1], f[2], [1, 2, 2, 1], 'SAME'))
  y = narrowed(*raw.QuantizedBiasAdd(input=y[0], bias=b[0], min_input=y[1], max_input=y[2],
                                     min_bias=b[1], max_bias=b[2], out_type=tf.qint32))
  y = raw.QuantizedRelu(features=y[0], min_features=y[1], max_features=y[2])
  p = tf.nn.quantized_max_pool(y[0], y[1], y[2], [1, 3, 3, 1], [1, 1, 1, 1], 'SAME')
  y = tf.quantized_concat(3, [y[0], p[0]], [y[1], p[1]], [y[2], p[2]])
  y = raw.QuantizedReshape(tensor=y[0], shape=[-1, weights.shape[0]], input_min=y[1],
                           input_max=y[2])
  y = narrowed(*raw.QuantizedMatMul(a=y[0], b=w[0], min_a=y[1], max_a=y[2], min_b=w[1],
                                    max_b=w[2]))
  return tf.dequantize(y[0], y[1], y[2], mode='MIN_FIRST')


class QuantizationTest(unittest.TestCase):

  def test_a_quantized_network_is_close_to_that_in_floats(self):
    random = np.random.RandomState(3)
    images, filters, bias, weights = (random.randn(*shape).astype(np.float32) for shape in
                                      ((2, 8, 8, 3), (3, 3, 3, 8), (8,), (4 * 4 * 16, 5)))
    with tf.Graph().as_default(), tf.Session() as session:
      wanted, got = session.run([float_network(tf.constant(images), filters, bias, weights),
                                 quantized_network(tf.constant(images), filters, bias, weights)])
    self.assertLess(np.abs(wanted - got).max(), 0.03 * np.ptp(wanted))

  def test_quantize_takes_the_arguments_of_both_names(self):
    with tf.Graph().as_default(), tf.Session() as session:
      new = tf.quantize([0., 1., 2.], 0., 4., tf.quint8, 'SCALED', 'HALF_TO_EVEN', 'new')
      old = tf.quantize_v2([0., 1., 2.], 0., 4., tf.quint8, 'SCALED', 'old', 'HALF_TO_EVEN')
      self.assertEqual([new.output.op.name, old.output.op.name], ['new', 'old'])
      got = session.run([tf.bitcast(q.output, tf.uint8) for q in (new, old)])
    np.testing.assert_array_equal(got, [[0, 64, 128]] * 2)

  def test_the_gradient_of_the_second_version_stops_outside_the_range(self):
    with tf.Graph().as_default(), tf.Session() as session:
      x = tf.constant([-3., 0.2, 3.])
      for function, wanted in ((tf.quantization.quantize_and_dequantize, [1, 1, 1]),
                               (tf.quantization.quantize_and_dequantize_v2, [0, 1, 0])):
        y = function(x, -1., 1., range_given=True, num_bits=3)
        np.testing.assert_array_equal(session.run(tf.gradients(y, x)[0]), wanted)


if __name__ == '__main__':
  unittest.main()
