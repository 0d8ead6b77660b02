"""Feature columns: what each kind becomes in an input layer and in a linear model, how variables
are named, and what examples are parsed as."""
import os
import tempfile
import unittest

import leat as tf
import numpy as np

columns = tf.feature_column


class FeatureColumnTest(unittest.TestCase):

  def setUp(self):
    entered = tf.Graph().as_default()
    entered.__enter__()
    self.addCleanup(entered.__exit__, None, None, None)

  def _run(self, fetches, **variables):
    with tf.Session() as session:
      session.run([tf.global_variables_initializer(), tf.tables_initializer()])
      for v in tf.global_variables():
        for name, value in variables.items():
          if v.op.name.endswith('/' + name):
            v.load(np.array(value, 'f'), session)
      return session.run(fetches)

  def _layer(self, features, *found, **variables):
    return self._run(columns.input_layer(features, found), **variables).tolist()

  def test_numbers(self):
    a = columns.numeric_column('a', normalizer_fn=lambda x: x * 2)
    b = columns.numeric_column('b', shape=[2, 1], dtype=tf.int64)
    self.assertEqual(self._layer({'a': [1., 2.], 'b': [[[3], [4]], [[5], [6]]]}, b, a),
                     [[2, 3, 4], [4, 5, 6]])

  def test_a_boundary_belongs_to_the_range_behind_it(self):
    a = columns.bucketized_column(columns.numeric_column('a', shape=2), [0, 10])
    self.assertEqual(a.name, 'a_bucketized')
    features = {'a': [[-1., 0.], [9.9, 10.]]}
    self.assertEqual(self._layer(features, a), [[1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 0, 1]])
    weights = [[1], [2], [3], [10], [20], [30]]
    self.assertEqual(self._run(columns.linear_model(features, [a]), weights=weights).tolist(),
                     [[21], [32]])

  def test_categories_by_their_names(self):
    c = columns.categorical_column_with_vocabulary_list('c', ['x', 'y', 'z'])
    features = {'c': [['x', 'z'], ['other', ''], ['y', 'y']]}
    self.assertEqual(self._layer(features, columns.indicator_column(c)),
                     [[1, 0, 1], [0, 0, 0], [0, 2, 0]])
    for combiner, expected in (('sum', [101, 0, 20]), ('mean', [50.5, 0, 10]),
                               ('sqrtn', [101 / 2 ** 0.5, 0, 20 / 2 ** 0.5])):
      with self.subTest(combiner):
        total = columns.linear_model(features, [c], sparse_combiner=combiner)
        np.testing.assert_allclose(self._run(total, weights=[[1], [10], [100]])[:, 0], expected,
                                   rtol=1e-6)

  def test_names_that_are_not_in_the_vocabulary(self):
    path = os.path.join(tempfile.mkdtemp(), 'words')
    with open(path, 'w') as f:
      f.write('x\ny\nz\n')
    for c, size in (
        (columns.categorical_column_with_vocabulary_list('c', ['x', 'y'], default_value=1), 2),
        (columns.categorical_column_with_vocabulary_list('c', ['x', 'y'], num_oov_buckets=2), 4),
        (columns.categorical_column_with_vocabulary_file('c', path, 2, default_value=1), 2),
        (columns.categorical_column_with_vocabulary_file('c', path, num_oov_buckets=1), 4)):
      layer = self._layer({'c': ['x', 'y', 'w']}, columns.indicator_column(c))
      self.assertEqual([len(r) for r in layer], [size] * 3)
      self.assertEqual([r[:2] for r in layer[:2]], [[1, 0], [0, 1]])
      self.assertEqual(np.argmax(layer[2]) if size == 2 else sum(layer[2][2:]), 1)

  def test_numbers_as_categories(self):
    c = columns.categorical_column_with_identity('c', 3, default_value=0)
    self.assertEqual(self._layer({'c': [1, 7, 2]}, columns.indicator_column(c)),
                     [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    c = columns.categorical_column_with_identity('c', 3)
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'must be from 0 to 2'):
      self._layer({'c': [1, 7, 2]}, columns.indicator_column(c))

  def test_weighted_categories(self):
    c = columns.weighted_categorical_column(columns.categorical_column_with_identity('c', 3), 'w')
    sparse = lambda values: tf.SparseTensor([[0, 0], [0, 1], [1, 0]], values, [2, 2])
    features = {'c': sparse([0, 2, 1]), 'w': sparse([0.5, 2., 4.])}
    self.assertEqual(self._layer(features, columns.indicator_column(c)), [[0.5, 0, 2], [0, 4, 0]])
    self.assertEqual(self._run(columns.linear_model(features, [c]),
                               weights=[[1], [10], [100]]).tolist(), [[200.5], [40]])

  def test_embeddings(self):
    c = columns.categorical_column_with_identity('c', 3)
    e = columns.embedding_column(c, 2)
    table = [[1, 2], [3, 4], [5, 6]]
    features = {'c': [[0, 2], [1, -1], [-1, -1]]}
    self.assertEqual(self._layer(features, e, embedding_weights=table), [[3, 4], [3, 4], [0, 0]])
    self.assertEqual([v.name for v in tf.trainable_variables()],
                     ['input_layer/c_embedding/embedding_weights:0'])

  def test_shared_embeddings(self):
    found = columns.shared_embedding_columns(
        [columns.categorical_column_with_identity(k, 3) for k in 'ab'], 1)
    layer = self._layer({'a': [0, 1], 'b': [2, 2]}, *found, embedding_weights=[[1], [2], [3]])
    self.assertEqual(layer, [[1, 3], [2, 3]])
    self.assertEqual([v.name for v in tf.trainable_variables()],
                     ['input_layer/a_b_shared_embedding/embedding_weights:0'])

  def test_crosses_and_hashes(self):
    a = columns.bucketized_column(columns.numeric_column('a'), [0])
    cross = columns.crossed_column([a, 'c'], 1000)
    self.assertEqual(cross.name, 'a_bucketized_X_c')
    layer = np.array(self._layer({'a': [1., -1., 2.], 'c': ['x', 'x', 'x']},
                                 columns.indicator_column(cross)))
    self.assertEqual(layer.sum(1).tolist(), [1, 1, 1])
    self.assertEqual(np.argmax(layer[0]), np.argmax(layer[2]))
    self.assertNotEqual(np.argmax(layer[0]), np.argmax(layer[1]))
    h = columns.categorical_column_with_hash_bucket('c', 7, tf.int64)
    layer = np.array(self._layer({'c': [5, 5, 6]}, columns.indicator_column(h)))
    self.assertEqual((layer[0] == layer[1]).all(), True)

  def test_variables_of_a_linear_model(self):
    a, b = columns.numeric_column('a', shape=2), columns.numeric_column('b')
    found = {}
    columns.linear_model({'a': [[1., 2.]], 'b': [1.]}, [b, a], units=3, cols_to_vars=found)
    self.assertEqual([(v.name, v.shape.as_list()) for v in tf.global_variables()], [
        ('linear_model/a/weights:0', [2, 3]), ('linear_model/b/weights:0', [1, 3]),
        ('linear_model/bias_weights:0', [3])])
    self.assertEqual({k if k == 'bias' else k.name: [v.name for v in vs]
                      for k, vs in found.items()}, {
                          'a': ['linear_model/a/weights:0'], 'b': ['linear_model/b/weights:0'],
                          'bias': ['linear_model/bias_weights:0']})

  def test_examples(self):
    a = columns.numeric_column('a', shape=2, default_value=0.5)
    c = columns.categorical_column_with_hash_bucket('c', 7)
    cross = columns.crossed_column(['c', 'd'], 7)
    self.assertEqual(columns.make_parse_example_spec([a, columns.indicator_column(c), cross]), {
        'a': tf.FixedLenFeature((2,), tf.float32, (0.5, 0.5)), 'c': tf.VarLenFeature(tf.string),
        'd': tf.VarLenFeature(tf.string)})
    self.assertEqual(a, columns.numeric_column('a', shape=2, default_value=0.5))

  def test_wrong_columns(self):
    a = columns.numeric_column('a')
    for words, make in (
        ('sorted list', lambda: columns.bucketized_column(a, [3, 1])),
        ('length > 1', lambda: columns.crossed_column(['a'], 5)),
        ('collision', lambda: columns.crossed_column(
            ['a', columns.categorical_column_with_hash_bucket('b', 5)], 5)),
        ('Duplicate', lambda: columns.linear_model({'a': [1.]}, [a, columns.numeric_column('a')])),
        ('not in features', lambda: columns.linear_model({'b': [1.]}, [a])),
        ('embedding_column or indicator_column', lambda: columns.input_layer(
            {'c': ['x']}, [columns.categorical_column_with_hash_bucket('c', 5)]))):
      with self.subTest(words), self.assertRaisesRegex(ValueError, words):
        make()


if __name__ == '__main__':
  unittest.main()
