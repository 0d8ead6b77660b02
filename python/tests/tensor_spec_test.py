"""What is known of tensors before they are there."""
import pickle
import unittest

import numpy as np

import leat as tf

Bounded = tf.contrib.framework.BoundedTensorSpec


class TensorSpecTest(unittest.TestCase):

  def test_equality(self):
    spec = tf.TensorSpec([1, None], tf.float32, 'a')
    self.assertEqual(spec, tf.TensorSpec((1, None), np.float32, 'a'))
    self.assertEqual(pickle.loads(pickle.dumps(spec)), spec)
    self.assertEqual(hash(spec), hash(tf.TensorSpec([1, None], tf.float32)))
    for other in (tf.TensorSpec([1, None], tf.float32), tf.TensorSpec([1, 2], tf.float32, 'a'),
                  tf.TensorSpec([1, None], tf.int32, 'a'), 3):
      self.assertNotEqual(spec, other)
    self.assertIn("dtype=tf.float32, name='a')", repr(spec))

  def test_compatibility(self):
    spec = tf.TensorSpec([None, 2])
    for other in (tf.TensorSpec([1, 2]), tf.TensorSpec(None), np.zeros((3, 2), np.float32)):
      self.assertTrue(spec.is_compatible_with(other))
    for other in (tf.TensorSpec([1, 2], tf.int32), tf.TensorSpec([2]), 3):
      self.assertFalse(spec.is_compatible_with(other))
    with self.assertRaisesRegex(ValueError, 'should be a tf.Tensor'):
      tf.TensorSpec.from_tensor(3)

  def test_bounds(self):
    spec = Bounded((3,), tf.int32, 0, [1, 2, 3], 'n')
    self.assertEqual(spec.minimum.dtype, np.int32)
    self.assertFalse(spec.minimum.flags.writeable)
    self.assertEqual(pickle.loads(pickle.dumps(spec)), spec)
    self.assertEqual(Bounded.from_spec(spec), spec)
    self.assertNotEqual(spec, Bounded((3,), tf.int32, 0, [1, 2, 4], 'n'))
    self.assertNotEqual(spec, tf.TensorSpec((3,), tf.int32, 'n'))
    self.assertEqual(Bounded((3,), tf.int32, 0, 1), Bounded((3,), tf.int32, [0] * 3, [1] * 3))
    self.assertEqual(Bounded.from_spec(tf.TensorSpec([1], tf.uint8)).maximum, 255)
    with self.assertRaisesRegex(ValueError, r'`maximum` \[1, 1\] is not compatible'):
      Bounded((3,), tf.int32, 0, [1, 1])
    with self.assertRaisesRegex(ValueError, 'can not be None'):
      Bounded((3,), tf.int32, None, 1)


if __name__ == '__main__':
  unittest.main()
