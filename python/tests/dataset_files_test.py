"""Datasets of what is in files. The tests pass in TensorFlow too."""
import gzip
import os
import tempfile
import unittest

from dataset_test import D, elements, tf

X = tf.data.experimental
TABLE = 'a,b,c,d\n1,2.5,x,10000000000\n4,,"y,z",5\n7,8.5,,6\n'
FEATURES = {'a': tf.FixedLenFeature([], tf.int64), 'w': tf.VarLenFeature(tf.string),
            'y': tf.FixedLenFeature([1], tf.float32)}


class FilesTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def _file(self, name, content):
    path = os.path.join(self.folder, name)
    with open(path, 'wb') as f:
      f.write(content.encode() if isinstance(content, str) else content)
    return path

  def _check(self, *cases):
    for i, (dataset, expected) in enumerate(cases):
      with self.subTest(number=i):
        self.assertEqual(elements(dataset), expected)

  def test_paths_that_match_patterns(self):
    def matching(*patterns):
      """The elements, by the ops alone, since no function makes this dataset."""
      dataset = tf.raw_ops.MatchingFilesDataset(
          patterns=[os.path.join(self.folder, p) for p in patterns])
      types = dict(output_types=[tf.string], output_shapes=[[]])
      iterator = tf.raw_ops.Iterator(shared_name='', container='', **types)
      following = tf.raw_ops.IteratorGetNext(iterator=iterator, **types)
      found = []
      with tf.Session() as session:
        session.run(tf.raw_ops.MakeIterator(dataset=dataset, iterator=iterator))
        while True:
          try:
            found.append(os.path.relpath(session.run(following)[0].decode(), self.folder))
          except tf.errors.OutOfRangeError:
            return found

    for name in ('b.txt', 'a.txt', 'c.rec', '.h.txt', 's/d.txt', 's/a.txt'):
      os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
      self._file(name, '')
    self.assertEqual(matching('c*', '*.txt'), ['c.rec', '.h.txt', 'a.txt', 'b.txt'])
    self.assertEqual(matching('*'), ['.h.txt', 'a.txt', 'b.txt', 'c.rec'])
    self.assertEqual(matching('*/*', 'a*'), ['s/a.txt', 's/d.txt', 'a.txt'])
    self.assertEqual(matching('none*', 'c*', 'c*'), ['c.rec', 'c.rec'])
    with self.assertRaises(tf.errors.NotFoundError):
      matching('none*', 'z*')

  def test_lines(self):
    first, second = self._file('1', 'a\nbb\r\n\nccc'), self._file('2', 'z\n')
    packed = self._file('3', gzip.compress(b'p\nq'))
    names = D.from_tensor_slices([first, second])
    lines = [b'a', b'bb', b'', b'ccc']
    self._check(
        (tf.data.TextLineDataset(first), lines),
        (tf.data.TextLineDataset([first, second]), lines + [b'z']),
        (tf.data.TextLineDataset(names), lines + [b'z']),
        (tf.data.TextLineDataset([first, second], num_parallel_reads=2),
         [b'a', b'z', b'bb', b'', b'ccc']),
        (tf.data.TextLineDataset(packed, compression_type='GZIP'), [b'p', b'q']),
        (names.interleave(tf.data.TextLineDataset, cycle_length=2),
         [b'a', b'z', b'bb', b'', b'ccc']))

  def test_records_of_one_size(self):
    path = self._file('1', b'HHaabbccF')
    self._check((tf.data.FixedLengthRecordDataset(path, 2, 2, 1), [b'aa', b'bb', b'cc']),
                (tf.data.FixedLengthRecordDataset(path, 3), [b'HHa', b'abb', b'ccF']))
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'record length'):
      elements(tf.data.FixedLengthRecordDataset(path, 2))

  def test_names(self):
    paths = [self._file(name, '').encode() for name in ('b', 'a', 'c')]
    self._check((D.list_files(os.path.join(self.folder, '*'), shuffle=False), sorted(paths)),
                (D.list_files([p.decode() for p in paths[:2]], shuffle=False), sorted(paths[:2])))
    self.assertEqual(sorted(elements(D.list_files(os.path.join(self.folder, '*')))), sorted(paths))
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'No files matched'):
      elements(D.list_files(os.path.join(self.folder, 'x*')))

  def test_a_missing_file(self):
    with self.assertRaises(tf.errors.NotFoundError):
      elements(tf.data.TextLineDataset(os.path.join(self.folder, 'none')))

  def test_cache(self):
    name = os.path.join(self.folder, 'cache')
    variable = tf.Variable(0, dtype=tf.int64)
    dataset = D.range(3).map(lambda x: (x + variable, ['a', tf.as_string(x)])).cache(name)
    iterator = tf.data.make_initializable_iterator(dataset)
    number, texts = iterator.get_next()
    with tf.Session() as session:
      session.run(variable.initializer)
      session.run(iterator.initializer)
      self.assertEqual(session.run(number), 0)
      self.assertFalse(os.path.exists(name + '.index'))
      other = tf.data.make_initializable_iterator(D.range(3).cache(name))
      session.run(other.initializer)
      with self.assertRaises(tf.errors.AlreadyExistsError):
        session.run(other.get_next())
      for _ in range(2):
        session.run(number)
      with self.assertRaises(tf.errors.OutOfRangeError):
        session.run(number)
      session.run([variable.assign(10), iterator.initializer])
      self.assertEqual([session.run(number) for _ in range(2)], [0, 1])
      self.assertEqual(session.run(texts).tolist(), [b'a', b'2'])
    self.assertEqual(sorted(os.listdir(self.folder)),
                     ['cache.data-00000-of-00001', 'cache.index'])

  def test_written_records(self):
    path = os.path.join(self.folder, 'records')
    for compression in (None, 'GZIP', 'ZLIB'):
      writer = X.TFRecordWriter(path, compression)
      with tf.Session() as session:
        session.run(writer.write(D.range(3).map(tf.as_string)))
      self._check((tf.data.TFRecordDataset(path, compression), [b'0', b'1', b'2']))
    odd = D.from_tensor_slices([1., 0.]).map(
        lambda x: tf.as_string(tf.check_numerics(1 / x, 'odd')))
    with tf.Session() as session, self.assertRaises(tf.errors.InvalidArgumentError):
      session.run(writer.write(odd))
    with tf.Session() as session, self.assertRaises(tf.errors.NotFoundError):
      session.run(X.TFRecordWriter(os.path.join(self.folder, 'none', 'y')).write(
          D.range(3).map(tf.as_string)))
    with self.assertRaisesRegex(TypeError, 'string'):
      writer.write(D.range(3))

  def test_rows(self):
    path = self._file('1', TABLE)
    self._check(
        (X.CsvDataset(path, [tf.int32, [0.5], [''], tf.int64], header=True),
         [(1, 2.5, b'x', 10000000000), (4, 0.5, b'y,z', 5), (7, 8.5, b'', 6)]),
        (X.CsvDataset([path, path], [tf.int32], header=True, select_cols=[0]),
         [(1,), (4,), (7,), (1,), (4,), (7,)]),
        (X.make_csv_dataset(path, 2, num_epochs=1, shuffle=False),
         [{'a': [1, 4], 'b': [2.5, 0.0], 'c': [b'x', b'y,z'], 'd': [10000000000, 5]},
          {'a': [7], 'b': [8.5], 'c': [b''], 'd': [6]}]),
        (X.make_csv_dataset(path, 2, num_epochs=2, shuffle=False, label_name='a',
                            select_columns=['c', 'a']),
         [({'c': [b'x', b'y,z']}, [1, 4]), ({'c': [b'', b'x']}, [7, 1]),
          ({'c': [b'y,z', b'']}, [4, 7])]))
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'required'):
      elements(X.CsvDataset(path, [tf.float32], header=True, select_cols=[1]))

  def test_types_of_columns(self):
    path = self._file('1', 'a,b,c,d,e\n1,,1e50,,q\n,3000000000,2,1.5,2\n')
    types = tf.data.get_output_types(X.make_csv_dataset(path, 2))
    self.assertEqual(list(types.items()), [('a', tf.int32), ('b', tf.int64), ('c', tf.float64),
                                           ('d', tf.float32), ('e', tf.string)])
    few = tf.data.get_output_types(X.make_csv_dataset(path, 2, num_rows_for_inference=1))
    self.assertEqual([few['a'], few['b']], [tf.int32, tf.string])

  def test_errors_of_columns(self):
    path = self._file('1', TABLE)
    for text, values in (('label_name', {'label_name': 'q'}),
                         ('match', {'file_pattern': path + 'q'}),
                         ('duplicate', {'column_names': ['a', 'a', 'c', 'd']}),
                         ('header', {'header': False}), ('q', {'select_columns': ['a', 'q']})):
      with self.assertRaisesRegex(ValueError, text):
        X.make_csv_dataset(**dict({'file_pattern': path, 'batch_size': 2}, **values))

  def _examples(self):
    path = os.path.join(self.folder, 'examples')
    with tf.python_io.TFRecordWriter(path) as writer:
      for i in range(3):
        example = tf.train.Example()
        features = example.features.feature
        features['a'].int64_list.value.append(i)
        features['w'].bytes_list.value.extend([b'x'] * i)
        features['y'].float_list.value.append(i / 2)
        writer.write(example.SerializeToString())
    return path

  def test_examples(self):
    path = self._examples()
    first = {'a': [0, 1], 'w': [[[1, 0]], [b'x'], [2, 1]], 'y': [[0.0], [0.5]]}
    second = {'a': [2], 'w': [[[0, 0], [0, 1]], [b'x', b'x'], [1, 2]], 'y': [[1.0]]}
    self._check(
        (X.make_batched_features_dataset(path, 2, FEATURES, num_epochs=1, shuffle=False),
         [first, second]),
        (tf.data.TFRecordDataset(path).batch(2).apply(X.parse_example_dataset(FEATURES)),
         [first, second]),
        (X.make_batched_features_dataset(
            path, 2, {'a': FEATURES['a'], 'y': FEATURES['y']}, label_key='y', num_epochs=1,
            shuffle=False, drop_final_batch=True), [({'a': [0, 1]}, [[0.0], [0.5]])]))
    endless = X.make_batched_features_dataset(path, 2, FEATURES)
    self.assertEqual(str(tf.data.get_output_shapes(endless)['y']), '(2, 1)')
    with self.assertRaisesRegex(ValueError, 'label_key'):
      X.make_batched_features_dataset(path, 2, FEATURES, label_key='q')
    with self.assertRaisesRegex(TypeError, 'vectors of strings'):
      tf.data.TFRecordDataset(path).apply(X.parse_example_dataset(FEATURES))


if __name__ == '__main__':
  unittest.main()
