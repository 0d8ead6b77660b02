"""Gradients of the ops that resample images, against differences."""
import unittest

import leat as tf


class ResampleTest(unittest.TestCase):

  def check(self, resample):
    """The gradient of resample(images) is that of the differences; it is linear in the images."""
    import numpy as np
    random = np.random.RandomState(5)
    with tf.Graph().as_default(), tf.Session() as session:
      images = tf.placeholder(tf.float32, [2, 3, 4, 2])
      resized = resample(images)
      weights = tf.constant(random.uniform(-1, 1, resized.shape.as_list()).astype(np.float32))
      loss = tf.reduce_sum(resized * weights)
      gradient, = tf.gradients(loss, images)
      value = random.uniform(-1, 1, (2, 3, 4, 2)).astype(np.float32)
      found = session.run(gradient, {images: value})
      self.assertTrue(np.any(found))
      for at in np.ndindex(*value.shape):
        step = np.zeros_like(value)
        step[at] = 1
        more, less = (session.run(loss, {images: value + sign * step}) for sign in (1, -1))
        self.assertAlmostEqual((more - less) / 2, found[at], places=4)

  def test_scale_and_translate(self):
    for kernel in ('lanczos3', 'triangle'):
      for antialias in (True, False):
        self.check(lambda images: tf.raw_ops.ScaleAndTranslate(
            images=images, size=[5, 3], scale=[1.5, 0.5], translation=[-0.25, 0.5],
            kernel_type=kernel, antialias=antialias))

  def test_projective_transform(self):
    # The gradient is the inverse transform, which is exact for moves by whole pixels.
    moves = [[1, 0, -1, 0, 1, 1, 0, 0], [0, 1, 0, 1, 0, 0, 0, 0]]
    self.check(lambda images: tf.raw_ops.ImageProjectiveTransformV2(
        images=images, transforms=tf.constant(moves, tf.float32), output_shape=[4, 4],
        interpolation='BILINEAR'))
    self.check(lambda images: tf.raw_ops.ImageProjectiveTransformV3(
        images=images, transforms=tf.constant(moves[:1], tf.float32), output_shape=[3, 5],
        fill_value=2.0, interpolation='NEAREST'))


if __name__ == '__main__':
  unittest.main()
