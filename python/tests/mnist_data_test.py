"""The files of MNIST as contrib.learn.datasets.mnist and the tutorials' input_data read them."""
import gzip
import os
import struct
import tempfile
import unittest

import leat as tf
import numpy as np

mnist = tf.contrib.learn.datasets.mnist


def write(folder, name, sizes, data):
  with gzip.open(os.path.join(folder, name), 'wb') as f:
    f.write(struct.pack('>%dI' % (1 + len(sizes)), 0x800 + len(sizes), *sizes) + data.tobytes())


class MnistDataTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.folder = tempfile.mkdtemp()
    for name, count in (('train', 7), ('t10k', 3)):
      images = np.arange(count * 6, dtype=np.uint8).reshape(count, 2, 3)
      write(cls.folder, name + '-images-idx3-ubyte.gz', images.shape, images)
      write(cls.folder, name + '-labels-idx1-ubyte.gz', (count,),
            np.arange(count, dtype=np.uint8))

  def test_sets(self):
    found = mnist.read_data_sets(self.folder, validation_size=2)
    self.assertEqual([s.images.shape for s in found], [(5, 6), (2, 6), (3, 6)])
    self.assertEqual([s.num_examples for s in found], [5, 2, 3])
    self.assertEqual(found.train.labels.tolist(), [2, 3, 4, 5, 6])
    self.assertEqual(found.train.images.dtype, np.float32)
    self.assertTrue(np.allclose(found.validation.images[1] * 255, range(6, 12)))
    with self.assertRaisesRegex(ValueError, 'between 0 and 7. Received: 8'):
      mnist.read_data_sets(self.folder, validation_size=8)

  def test_forms(self):
    found = mnist.read_data_sets(self.folder, one_hot=True, dtype=tf.uint8, reshape=False,
                                 validation_size=0).test
    self.assertEqual((found.images.shape, found.images.dtype), ((3, 2, 3, 1), np.uint8))
    self.assertEqual((found.labels.dtype, found.labels.tolist()),
                     (np.float64, np.eye(10)[:3].tolist()))
    with self.assertRaisesRegex(TypeError, 'expected uint8 or float32'):
      mnist.read_data_sets(self.folder, dtype=tf.int32, validation_size=0)

  def test_batches(self):
    train = mnist.read_data_sets(self.folder, validation_size=2).train
    plain = [train.next_batch(2, shuffle=False)[1].tolist() for _ in range(3)]
    self.assertEqual((plain, train.epochs_completed), ([[2, 3], [4, 5], [6, 2]], 1))
    train = mnist.read_data_sets(self.folder, validation_size=2, seed=3).train
    first = np.concatenate([train.next_batch(2)[1] for _ in range(5)]).tolist()
    self.assertEqual(sorted(first[:5]), [2, 3, 4, 5, 6])
    self.assertEqual(sorted(first[5:]), [2, 3, 4, 5, 6])
    images, labels = train.next_batch(5)
    self.assertTrue(np.allclose(images[:, 0] * 255, labels * 6.))

  def test_made_up(self):
    found = mnist.read_data_sets('nowhere', fake_data=True, one_hot=True).train
    images, labels = found.next_batch(2, fake_data=True)
    self.assertEqual((len(images[0]), labels[0]), (784, [1] + [0] * 9))

  def test_other_files(self):
    path = os.path.join(self.folder, 'train-labels-idx1-ubyte.gz')
    with open(path, 'rb') as f, self.assertRaisesRegex(ValueError, 'magic number 2049'):
      mnist.extract_images(f)

  def test_names(self):
    self.assertIs(tf.examples.tutorials.mnist.input_data.read_data_sets, mnist.read_data_sets)
    with self.assertRaisesRegex(ValueError, 'not found: x'):
      tf.contrib.learn.datasets.load_dataset('x')


if __name__ == '__main__':
  unittest.main()
