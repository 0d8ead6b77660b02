"""CsvDataset: fields in quotes, defaults, columns, and where the reader goes on after a fault. The
elements are what TensorFlow 2.21 gives."""
import gzip
import os
import tempfile
import unittest

import leat as tf

X = tf.data.experimental
_COLUMNS = [[0], ['none'], [1.5]]

# A file, and its elements in _COLUMNS; None stands for an InvalidArgumentError.
_FILES = (
    (b'1,a,2.5\n2,b,3', [(1, b'a', 2.5), (2, b'b', 3.)]),
    (b'1,a,2\r2,b,3\r\n', [(1, b'a', 2.), (2, b'b', 3.)]),
    (b',,\n1,,\n,x,\n', [(0, b'none', 1.5), (1, b'none', 1.5), (0, b'x', 1.5)]),
    (b'1,a,1\n\n2,b,2\n\n', [(1, b'a', 1.), None, (2, b'b', 2.), None]),
    (b'1,"a,b",2\n2,"c""d","3"\n3,"e\r\nf",4\n4,"",5',
     [(1, b'a,b', 2.), (2, b'c"d', 3.), (3, b'e\r\nf', 4.), (4, b'none', 5.)]),
    (b'1,a\0b,\n', [(1, b'a\0b', 1.5)]),
    (b'', []),
    # Faults: of a field, of the number of fields, and of quotes.
    (b'x,"q\nr",1\n2,b,3\n', [None, (2, b'b', 3.)]),
    (b'99999999999,a,1\n2,b,3\n', [None, (2, b'b', 3.)]),
    (b'1,a\n2,b,3,4\n5,c,6\n', [None, None, (5, b'c', 6.)]),
    (b'1,a"b,"x\ny"\n2,b,3\n', [None, (2, b'b', 3.)]),
    (b'1,"ab"c,2\n2,"b",3\n4,d,5\n', [None, (4, b'd', 5.)]),
    (b'1,"ab"c,2\n2,b,3\n', [None]),
    (b'1,a,"2', [None]),
)


def _elements(dataset):
  """The elements of a dataset, with None where one fails."""
  iterator = tf.data.make_initializable_iterator(dataset)
  following = iterator.get_next()
  found = []
  with tf.Session() as session:
    session.run(iterator.initializer)
    while True:
      try:
        found.append(session.run(following))
      except tf.errors.OutOfRangeError:
        return found
      except tf.errors.InvalidArgumentError:
        found.append(None)


class CsvDatasetTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)
    directory = tempfile.TemporaryDirectory()
    self.addCleanup(directory.cleanup)
    self._directory = directory.name

  def _write(self, content, name='table'):
    path = os.path.join(self._directory, name)
    with open(path, 'wb') as file:
      file.write(content)
    return path

  def test_records(self):
    for i, (content, wanted) in enumerate(_FILES):
      with self.subTest(content=content):
        path = self._write(content, 'file%d' % i)
        self.assertEqual(_elements(X.CsvDataset(path, _COLUMNS)), wanted)

  def test_columns(self):
    path = self._write(b'0,1,2,"x\ny",4\n5,6,7,8,9\n')
    whole = [[0]] * 2
    self.assertEqual(_elements(X.CsvDataset(path, whole, select_cols=[1, 4])), [(1, 4), (6, 9)])
    with self.assertRaises(tf.errors.InvalidArgumentError):
      _elements(X.CsvDataset(path, whole, select_cols=[2, 1]))
    with self.assertRaises(tf.errors.InvalidArgumentError):
      _elements(X.CsvDataset(path, whole, select_cols=[1]))
    with self.assertRaises(ValueError):
      X.CsvDataset(path, [[0, 1]])

  def test_excluded_columns(self):
    path = self._write(b'0,1,2\n3,4,5\n')
    for excluded, wanted in (([1], [(0, 2), (3, 5)]), ([0, 1], [None, None])):
      variant = tf.raw_ops.CSVDatasetV2(
          filenames=path, compression_type='', buffer_size=9, header=False, field_delim=',',
          use_quote_delim=True, na_value='', select_cols=tf.constant([], tf.int64),
          record_defaults=[tf.constant(0), tf.constant(0)], output_shapes=[[], []],
          exclude_cols=tf.constant(excluded, tf.int64))
      kind = tf.data.DatasetSpec((tf.TensorSpec([], tf.int32),) * 2)
      self.assertEqual(_elements(kind.value(variant)), wanted)

  def test_required_fields(self):
    path = self._write(b',a\n2,NA\n')
    self.assertEqual(_elements(X.CsvDataset(path, [tf.int32, tf.string])), [None, (2, b'NA')])
    self.assertEqual(_elements(X.CsvDataset(path, [[7], ['-']], na_value='NA')),
                     [(7, b'a'), (2, b'-')])

  def test_headers(self):
    paths = [self._write(b'"a\nb",c,d\n1,x,2\n', 'one'), self._write(b'a,b', 'only'),
             self._write(b'', 'empty'), self._write(b'h\n3,y,4\n', 'other')]
    self.assertEqual(_elements(X.CsvDataset(paths, _COLUMNS, header=True)),
                     [(1, b'x', 2.), None, (3, b'y', 4.)])

  def test_how_files_are_read(self):
    path = self._write(gzip.compress(b"1\t'\t3\n"), 'packed')
    self.assertEqual(_elements(X.CsvDataset(path, _COLUMNS, 'GZIP', 1, field_delim='\t')),
                     [(1, b"'", 3.)])
    for arguments in ({'compression_type': 'RAR'}, {'field_delim': 'ab'}, {'field_delim': ''},
                      {'buffer_size': 0}):
      with self.assertRaises(tf.errors.InvalidArgumentError, msg=arguments):
        _elements(X.CsvDataset(path, _COLUMNS, **arguments))

  def test_a_restored_iterator_goes_on(self):
    path = self._write(b'1\nx\n"2\n"\n3\n4\n')
    iterator = tf.data.make_initializable_iterator(X.CsvDataset(path, [['']]))
    following = iterator.get_next()
    saver = tf.train.Saver([X.make_saveable_from_iterator(iterator)])
    state = os.path.join(self._directory, 'state')
    with tf.Session() as session:
      session.run(iterator.initializer)
      for _ in range(2):
        session.run(following)
      saver.save(session, state)
      session.run(following)
      saver.restore(session, state)
      self.assertEqual(session.run(following), (b'2\n',))


if __name__ == '__main__':
  unittest.main()
