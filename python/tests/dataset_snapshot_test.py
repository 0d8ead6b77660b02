"""Snapshots of datasets: written once, read afterwards, and anew when the dataset is another."""
import os
import tempfile
import unittest

from dataset_test import D, elements, tf

X = tf.data.experimental


def _in_order(shards):
  return shards.flat_map(lambda shard: shard)


class SnapshotTest(unittest.TestCase):

  def setUp(self):
    directory = tempfile.TemporaryDirectory()
    self.addCleanup(directory.cleanup)
    self._path = os.path.join(directory.name, 'snapshots')
    self._calls = 0

  def _count(self, x):
    self._calls += 1
    return x * 10

  def _read(self, count=4, factor=1, **arguments):
    """The elements of one program, which calls Python for each that it makes."""
    with tf.Graph().as_default():
      dataset = D.range(count).map(lambda x: x * factor).map(
          lambda x: tf.py_func(self._count, [x], tf.int64))
      return elements(dataset.apply(X.snapshot(self._path, **arguments)))

  def test_a_pass_that_writes_makes_each_element_once(self):
    self.assertEqual(self._read(), [0, 10, 20, 30])
    self.assertEqual(self._calls, 4)

  def test_written_once(self):
    def make():
      with tf.Graph().as_default():
        dataset = D.range(4).map(lambda x: (x, tf.as_string(x)))
        return elements(dataset.apply(X.snapshot(
            self._path, shard_func=lambda x, text: x % 2, reader_func=_in_order)))
    pairs = [(x, b'%d' % x) for x in range(4)]
    self.assertEqual(make(), pairs)
    self.assertEqual(make(), [pairs[0], pairs[2], pairs[1], pairs[3]])
    self.assertEqual(len(os.listdir(self._path)), 1)

  def test_another_dataset_is_written_anew(self):
    def make(count, factor):
      with tf.Graph().as_default():
        dataset = D.range(count).map(lambda x: x * factor)
        return elements(dataset.apply(X.snapshot(self._path)))
    for number, (count, factor) in enumerate([(3, 1), (4, 1), (3, 2), (3, 1)]):
      self.assertEqual(sorted(make(count, factor)), [x * factor for x in range(count)])
      self.assertEqual(len(os.listdir(self._path)), min(number + 1, 3))

  def test_compressions(self):
    for number, kind in enumerate((None, 'GZIP', 'SNAPPY')):
      for _ in range(2):
        with tf.Graph().as_default():
          dataset = D.range(3 + number).apply(X.snapshot(self._path, compression=kind))
          self.assertEqual(sorted(elements(dataset)), list(range(3 + number)))
    with self.assertRaises(ValueError):
      X.snapshot(self._path, compression='RAR')


if __name__ == '__main__':
  unittest.main()
