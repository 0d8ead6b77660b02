"""Libraries of ops that a program loads."""
import os
import tempfile
import unittest

import leat as tf

DEVICES = os.path.join(tf.sysconfig.get_lib(), 'npu_plugin.so')
PLUGIN = os.path.join(tf.sysconfig.get_lib(), 'zero_out_plugin.so')


class OpLibraryTest(unittest.TestCase):

  def test_the_ops_of_a_library_are_functions(self):
    library = tf.load_op_library(PLUGIN)
    self.assertIs(tf.load_op_library(PLUGIN), library)
    name = library.OP_LIST.op[0].name
    self.assertIn('ZeroOut', [op.name for op in library.OP_LIST.op], name)
    with tf.Graph().as_default(), tf.Session() as session:
      y = library.zero_out([[5, 4], [3, 2]], name='y')
      self.assertEqual((y.op.type, y.op.name), ('ZeroOut', 'y'))
      self.assertEqual(session.run(y).tolist(), [[5, 0], [0, 0]])

  def test_the_devices_of_a_library_are_in_sessions(self):
    with self.assertRaisesRegex(ValueError, "Unknown attribute: 'NPU'"):
      with tf.Graph().as_default(), tf.device('/NPU:0'):
        tf.constant(1)
    tf.load_pluggable_device_library(DEVICES)
    tf.load_pluggable_device_library(DEVICES)   # a second time is no error
    with tf.Graph().as_default(), tf.Session() as session:
      self.assertIn('NPU', [d.device_type for d in session.list_devices()])
      for name in ('/NPU:0', '/npu:0', 'NPU:0', '/device:NPU:0'):
        with tf.device(name):
          y = tf.square(tf.constant([2., -3.]))
        self.assertEqual(y.device, '/device:NPU:0', name)
        self.assertEqual(session.run(y).tolist(), [4, 9])
      self.assertEqual(tf.DeviceSpec.from_string('/job:a/NPU:1').to_string(),
                       '/job:a/device:NPU:1')

  def test_what_cannot_be_loaded(self):
    with self.assertRaises(tf.errors.NotFoundError):
      tf.load_op_library('/no/such/library.so')
    with self.assertRaisesRegex(tf.errors.NotFoundError, 'does not exist'):
      tf.load_library('/no/such/folder')
    with self.assertRaisesRegex(tf.errors.NotFoundError, 'device libraries'):
      tf.load_pluggable_device_library('/no/such/folder')
    tf.load_library(tempfile.mkdtemp())   # no library, no error


if __name__ == '__main__':
  unittest.main()
