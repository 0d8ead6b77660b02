"""Functions of images that are composed of several ops, against what they shall compute."""
import colorsys
import unittest

import numpy as np

import leat as tf


class ImageCase(unittest.TestCase):

  def setUp(self):
    tf.reset_default_graph()
    self.random = np.random.RandomState(3)

  def run_of(self, fetches, feed=None):
    with tf.Session() as session:
      return session.run(fetches, feed)


def area_of_line(line, size):
  """The means of a line's pixels over `size` intervals of one length, by many small steps."""
  steps = 840
  fine = np.repeat(line, steps, axis=0)
  return fine.reshape((size, len(line) * steps // size) + line.shape[1:]).mean(1)


class ResizeTest(ImageCase):

  def test_area_is_the_mean_of_what_a_pixel_covers(self):
    image = self.random.rand(2, 7, 6, 3).astype(np.float32)
    found = self.run_of(tf.image.resize_images(image, [5, 8], tf.image.ResizeMethod.AREA))
    rows = np.stack([area_of_line(i.astype(np.float64), 5) for i in image])
    wanted = np.stack([area_of_line(i.swapaxes(0, 1), 8).swapaxes(0, 1) for i in rows])
    np.testing.assert_allclose(found, wanted, atol=1e-5)

  def test_area_of_one_size_is_the_image(self):
    image = tf.placeholder(tf.float32, [None, None, None, 1])
    resized = tf.image.resize_area(image, tf.shape(image)[1:3])
    pixels = self.random.rand(1, 4, 5, 1)
    np.testing.assert_allclose(self.run_of(resized, {image: pixels}), pixels, atol=1e-6)

  def test_ratio_is_kept(self):
    image = tf.zeros([10, 20, 1])
    self.assertEqual(self.run_of(tf.shape(tf.image.resize_images(
        image, [15, 16], preserve_aspect_ratio=True))).tolist(), [8, 16, 1])

  def test_sizes_that_do_not_fit(self):
    image = tf.zeros([4, 4, 1])
    for make, words in (
        (lambda: tf.image.resize_images(image, [1, 2, 3]), '1-D Tensor of 2 elements'),
        (lambda: tf.image.resize_images(image, [2, 2], method=7), 'not implemented: 7'),
        (lambda: tf.image.crop_to_bounding_box(image, 3, 0, 2, 2), 'height must be >='),
        (lambda: tf.image.pad_to_bounding_box(image, 0, 0, 3, 9), 'height must be <=')):
      with self.assertRaisesRegex(ValueError, words):
        make()

  def test_sizes_that_are_found_in_the_step(self):
    image = tf.placeholder(tf.float32)
    crop = tf.image.crop_to_bounding_box(image, 3, 0, 2, 2)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'height must be >='):
      self.run_of(crop, {image: np.zeros((4, 4, 1))})


class ColorTest(ImageCase):

  def test_hue_saturation_value(self):
    rgb = self.random.rand(50, 3).astype(np.float32)
    rgb[0], rgb[1], rgb[2] = 0, 1, (0.5, 0.5, 0.2)
    hsv = self.run_of(tf.image.rgb_to_hsv(rgb))
    np.testing.assert_allclose(hsv, [colorsys.rgb_to_hsv(*map(float, c)) for c in rgb], atol=1e-5)
    np.testing.assert_allclose(self.run_of(tf.image.hsv_to_rgb(hsv)), rgb, atol=1e-5)

  def test_hue_turns_around(self):
    rgb = self.random.rand(9, 3).astype(np.float32)
    hsv = [colorsys.rgb_to_hsv(*map(float, c)) for c in rgb]
    wanted = [colorsys.hsv_to_rgb((h + 0.7) % 1, s, v) for h, s, v in hsv]
    np.testing.assert_allclose(self.run_of(tf.image.adjust_hue(rgb, 0.7)), wanted, atol=1e-5)

  def test_integers_do_not_overflow(self):
    image = np.array([[[250, 0, 3]]], np.uint8)
    self.assertEqual(self.run_of(tf.image.adjust_brightness(image, 0.1)).ravel().tolist(),
                     [255, 25, 28])

  def test_gradient_of_hue(self):
    rgb = tf.constant(self.random.rand(2, 2, 3), tf.float32)
    gradient = tf.gradients(tf.image.adjust_hue(rgb, 0.2), rgb)[0]
    self.assertTrue(np.isfinite(self.run_of(gradient)).all())


class BoxTest(ImageCase):

  def test_a_sampled_box_covers_what_it_must(self):
    boxes = np.array([[[0.2, 0.3, 0.4, 0.6], [0.7, 0.1, 0.9, 0.9]]], np.float32)
    begin, size, box = tf.image.sample_distorted_bounding_box(
        [60, 80, 3], boxes, min_object_covered=0.8, area_range=(0.1, 0.9))
    with tf.Session() as session:
      for _ in range(20):
        (top, left, _), (height, width, depth), found = session.run([begin, size, box])
        self.assertEqual(depth, -1)
        self.assertTrue(0 <= top <= 60 - height and 0 <= left <= 80 - width)
        np.testing.assert_allclose(found[0, 0], [top / 60, left / 80, (top + height) / 60,
                                                 (left + width) / 80], atol=1e-6)
        whole = (height, width) == (60, 80)
        self.assertTrue(whole or 0.1 <= height * width / 4800 <= 0.9)
        shares = [self.share(found[0, 0], b) for b in boxes[0]]
        self.assertGreaterEqual(max(shares), 0.8 - 1e-5)

  @staticmethod
  def share(box, other):
    """Which part of `other` the box covers."""
    height = min(box[2], other[2]) - max(box[0], other[0])
    width = min(box[3], other[3]) - max(box[1], other[1])
    return max(height, 0) * max(width, 0) / ((other[2] - other[0]) * (other[3] - other[1]))

  def test_without_boxes(self):
    none = tf.placeholder(tf.float32, [None, None, 4])
    boxes = np.zeros((1, 0, 4))
    strict = tf.image.sample_distorted_bounding_box([6, 8, 3], none)[0]
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'No bounding boxes'):
      self.run_of(strict, {none: boxes})
    free = tf.image.sample_distorted_bounding_box([6, 8, 3], none,
                                                  use_image_if_no_bounding_boxes=True)[0]
    self.assertEqual(self.run_of(free, {none: boxes}).shape, (3,))

  def test_a_glimpse_outside_has_noise_of_the_image(self):
    image = (100 + np.arange(80)).reshape(1, 8, 10, 1).astype(np.float32)
    glimpse = self.run_of(tf.image.extract_glimpse(
        image, [3, 4], [[9, 9]], centered=False, normalized=False))[0, :, :, 0]
    self.assertEqual(glimpse[0, :3].tolist(), [177, 178, 179])
    noise = glimpse.ravel()[3:]
    self.assertTrue((noise >= 100).all() and (noise <= 179).all())
    self.assertGreater(len(set(noise.tolist())), 5)


if __name__ == '__main__':
  unittest.main()
