"""The gradient of StatelessParameterizedTruncatedNormal: a sample moves with its parameters so that
the share of the distribution below it stays."""
import math
import unittest

import leat as tf


def below(x):
  """The distribution of normal numbers."""
  return math.erfc(-x / math.sqrt(2)) / 2


def share(y, mean, deviation, low, high):
  """How much of the distribution between the bounds is below y."""
  y, low, high = ((x - mean) / deviation for x in (y, low, high))
  return (below(y) - below(low)) / (below(high) - below(low))


def moved(wanted, *parameters):
  """The number that has the share `wanted`, by bisection."""
  first, last = parameters[2:]
  for _ in range(60):
    middle = (first + last) / 2
    first, last = (middle, last) if share(middle, *parameters) < wanted else (first, middle)
  return first


class BoundedNormalTest(unittest.TestCase):

  def test_gradient(self):
    import numpy as np
    values = [0.5, 1.5, -1.0, 2.5]
    with tf.Graph().as_default(), tf.Session() as session:
      parameters = [tf.constant(x, tf.float64) for x in values]
      y = tf.raw_ops.StatelessParameterizedTruncatedNormal(
          shape=[4], seed=[1, 2], means=parameters[0], stddevs=parameters[1],
          minvals=parameters[2], maxvals=parameters[3])
      gradients = [tf.gradients(y[i], parameters) for i in range(4)]
      samples, found = session.run([y, gradients])
    for sample, row in zip(samples, found):
      wanted = share(sample, *values)
      for k in range(4):
        if k < 2:  # the bounds move with mean and deviation
          low, high = ((x - values[0]) / values[1] for x in values[2:])
          make = lambda mean, deviation: (
              mean, deviation, mean + deviation * low, mean + deviation * high)
        else:
          make = lambda *changed: changed
        step = np.zeros(2 if k < 2 else 4)
        step[k] = 1e-4
        base = np.array(values[:len(step)])
        more, less = (moved(wanted, *make(*(base + sign * step))) for sign in (1, -1))
        self.assertAlmostEqual((more - less) / 2e-4, row[k], places=5)

  def test_parameters_that_are_repeated(self):
    with tf.Graph().as_default(), tf.Session() as session:
      mean, deviation = tf.constant([0.0, 1.0]), tf.constant([[1.0], [2.0], [3.0]])
      y = tf.raw_ops.StatelessParameterizedTruncatedNormal(
          shape=[5, 3, 2], seed=[1, 2], means=mean, stddevs=deviation, minvals=-2.0, maxvals=2.0)
      found = session.run(tf.gradients(y, [mean, deviation]))
    self.assertEqual(found[0].tolist(), [15.0, 15.0])
    self.assertEqual(found[1].shape, (3, 1))


if __name__ == '__main__':
  unittest.main()
