"""Datasets that are saved and loaded. The bytes of files are those that TensorFlow 2.21 wrote of
D.range(3).map(lambda x: (x, as_string(x))) with shard_func = x % 2."""
import os
import tempfile
import unittest

from dataset_test import D, elements, tf

X = tf.data.experimental

_SPEC = (b'\xa2\x03\x12\n\x07\x8a\x02\x04\x12\x00\x18\t\n\x07\x8a\x02\x04\x12\x00\x18\x07')
_SHARD_1 = (b'\x0e\x00\x00\x00\x00\x00\x00\x00\xc5\xe5i?\x08\t\x12\x00"\x08\x01\x00\x00\x00\x00\x00'
            b'\x00\x00\xa0\xbd\xdfT\x08\x00\x00\x00\x00\x00\x00\x00\xff\x86$\x0f\x08\x07\x12\x00"'
            b'\x02\x011\xbbgO\xe6')
# The same with Snappy, of another run.
_PACKED = {
    'dataset_spec.pb': _SPEC,
    'snapshot.metadata': b'\x12\x132659691036762975201\x18\xc9\xa1\x8d\xa9\xba\xab\x98\x03 \x02*'
                         b'\x02\t\x070\x03\xc0>\x01',
    '2659691036762975201/00000000.shard/00000000.snapshot':
        b'\x00\x00\x00Bl\x04\x0e\x00\t\x01$\xc5\xe5i?\x08\t\x12\x00"\x08\t\x10\x14\x00\x00\x88+\x95'
        b'\xea\x11\r<\xff\x86$\x0f\x08\x07\x12\x00"\x02\x010\x0c\x83N\xe8F6\x00\x00\x02\r7\x0c\x19O'
        b'\x12_J6\x00\x102\x1aE\xa7F',
    '2659691036762975201/00000001.shard/00000000.snapshot':
        b'\x00\x00\x00.6\x04\x0e\x00\t\x01(\xc5\xe5i?\x08\t\x12\x00"\x08\x01\t\x11\x14\x00\xa0\xbd'
        b'\xdfT\x08\r\x0c<\xff\x86$\x0f\x08\x07\x12\x00"\x02\x011\xbbgO\xe6'}
# Metadata of a dataset of -5 elements.
_MINUS_FIVE = b'\x12\x04none \x020\xfb' + b'\xff' * 8 + b'\x01'
_NUMBER = tf.TensorSpec([], tf.int64)


def _pairs():
  return D.range(3).map(lambda x: (x, tf.as_string(x)))


def _one_after_the_other(shards):
  return shards.flat_map(lambda shard: shard)


class SavedTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)
    directory = tempfile.TemporaryDirectory()
    self.addCleanup(directory.cleanup)
    self._path = os.path.join(directory.name, 'saved')

  def _save(self, dataset, **arguments):
    with tf.Session() as session:
      session.run(X.save(dataset, self._path, **arguments))

  def _load(self, *arguments, **others):
    return elements(X.load(self._path, *arguments, **others))

  def _content(self):
    """The names of the files, the number of the run left out, and their bytes."""
    found = {}
    for folder, _, names in os.walk(self._path):
      for name in names:
        with open(os.path.join(folder, name), 'rb') as file:
          found['/'.join(os.path.join(folder, name).split('/')[-2:])] = file.read()
    return found

  def test_files_are_tensorflows(self):
    self._save(_pairs(), shard_func=lambda x, y: x % 2)
    content = self._content()
    self.assertEqual(sorted(content), ['00000000.shard/00000000.snapshot',
                                       '00000001.shard/00000000.snapshot',
                                       'saved/dataset_spec.pb', 'saved/snapshot.metadata'])
    self.assertEqual(content['saved/dataset_spec.pb'], _SPEC)
    self.assertEqual(content['00000001.shard/00000000.snapshot'], _SHARD_1)

  def test_files_of_tensorflow_are_read(self):
    for name, content in _PACKED.items():
      path = os.path.join(self._path, name)
      os.makedirs(os.path.dirname(path), exist_ok=True)
      with open(path, 'wb') as file:
        file.write(content)
    pairs = [(0, b'0'), (1, b'1'), (2, b'2')]
    self.assertEqual(self._load(compression='SNAPPY'), pairs)
    self.assertEqual(self._load(compression='SNAPPY', reader_func=_one_after_the_other),
                     [pairs[0], pairs[2], pairs[1]])
    with self.assertRaises(tf.errors.DataLossError):
      self._load()

  def test_structures(self):
    def structure(x):
      return {'a': (x, tf.as_string(x)), 'b': tf.ones([x, 2], tf.float16)}

    for compression in (None, 'GZIP', 'ZLIB', 'SNAPPY'):
      self._save(D.range(3).map(structure), compression=compression)
      found = self._load(compression=compression)
      self.assertEqual([one['a'] for one in found], [(0, b'0'), (1, b'1'), (2, b'2')])
      self.assertEqual([one['b'] for one in found], [[], [[1, 1]], [[1, 1], [1, 1]]])

  def test_functions_capture(self):
    three, one = tf.constant(3, tf.int64), tf.constant(1, tf.int64)
    self._save(D.range(7), shard_func=lambda x: x % three)
    self.assertEqual(self._load(), [0, 1, 3, 4, 6, 2, 5])
    self.assertEqual(self._load(reader_func=lambda shards: shards.skip(one).flat_map(lambda s: s)),
                     [1, 4, 2, 5])

  def test_specs(self):
    self._save(D.range(5))
    self.assertEqual(self._load((_NUMBER, _NUMBER)), [(0, 1), (2, 3)])  # what is left is left out
    for spec in (tf.TensorSpec([], tf.float32), tf.TensorSpec([2], tf.int64)):
      with self.assertRaises(tf.errors.InvalidArgumentError):
        self._load(spec)

  def test_cardinality(self):
    for count in (0, 5):
      self._save(D.range(count))
      with tf.Session() as session:
        self.assertEqual(session.run(X.cardinality(X.load(self._path))), count)
      self.assertEqual(self._load(), list(range(count)))

  def test_a_save_that_fails_changes_nothing(self):
    self._save(D.range(3))

    def faulty(x):
      with tf.control_dependencies([tf.assert_less(x, tf.constant(2, tf.int64))]):
        return tf.identity(x)

    with self.assertRaises(tf.errors.InvalidArgumentError):
      self._save(D.range(4).map(faulty))
    self.assertEqual(self._load(), [0, 1, 2])

  def test_what_is_refused(self):
    with self.assertRaises(tf.errors.NotFoundError):
      X.load(self._path)
    with self.assertRaises(tf.errors.NotFoundError):
      self._load(_NUMBER)
    with self.assertRaises(tf.errors.InvalidArgumentError):
      self._save(D.range(2), shard_func=lambda x: tf.cast(x, tf.float32))
    with self.assertRaises(ValueError):
      X.save(D.range(2), self._path, compression='RAR')
    with self.assertRaises(TypeError):
      X.save(D.range(2).window(1), self._path)

  def test_broken_metadata(self):
    self._save(D.range(2))
    metadata = os.path.join(self._path, 'snapshot.metadata')
    for content, error in ((b'\x12\xff', tf.errors.InvalidArgumentError),
                           (b'\x12\x04none \x02', tf.errors.NotFoundError),
                           (b'\x12\x04none \x01', tf.errors.NotFoundError),
                           (b'\x12\x04none \x03', tf.errors.UnimplementedError),
                           (_MINUS_FIVE, tf.errors.InvalidArgumentError)):
      if content == _MINUS_FIVE and os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
        continue  # serves as the cardinality there
      with open(metadata, 'wb') as file:
        file.write(content)
      with self.assertRaises(error, msg=content):
        self._load()

  def test_a_restored_iterator_goes_on(self):
    self._save(D.range(6), shard_func=lambda x: x % 2)
    iterator = tf.data.make_initializable_iterator(X.load(self._path))
    following = iterator.get_next()
    saver = tf.train.Saver([X.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
      session.run(iterator.initializer)
      self.assertEqual([session.run(following) for _ in range(3)], [0, 1, 2])
      saver.save(session, self._path + '-state')
      session.run(following)
      saver.restore(session, self._path + '-state')
      self.assertEqual(session.run(following), 3)


if __name__ == '__main__':
  unittest.main()
