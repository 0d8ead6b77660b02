"""tf.contrib.layers: feature columns, against sums by hand."""
import tempfile
import unittest

import leat as tf
from leat._contrib.layers.feature_columns import Features

layers = tf.contrib.layers


class ColumnsTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)
    self.features = {
        'age': tf.constant([[5.0], [15.0], [25.0]]),
        'word': tf.constant([['a', 'b'], ['b', ''], ['other', '']]),
        'count': tf.constant([[2.0, 3.0], [4.0, 9.0], [5.0, 9.0]])}
    self.age = layers.real_valued_column('age', normalizer=lambda x: x / 10.0)
    self.word = layers.sparse_column_with_keys('word', ['a', 'b', 'c'])

  def run_with(self, fetches, values):
    """The fetches with variables set to values, by the ends of their names."""
    with tf.Session() as session:
      session.run([tf.global_variables_initializer(), tf.tables_initializer()])
      for variable in tf.global_variables():
        for end, value in values.items():
          if variable.op.name.endswith(end):
            variable.load(value, session)
      return session.run(fetches)

  def test_weighted_sum(self):
    import numpy as np
    weighted = layers.weighted_sparse_column(self.word, 'count')
    predictions, variables, bias = layers.weighted_sum_from_feature_columns(
        self.features, [self.age, self.word, weighted], 1)
    self.assertEqual(set(variables), {self.age, self.word, weighted})
    self.assertEqual(bias.op.name, 'weighted_sum_from_feature_columns/bias_weight')
    found = self.run_with(predictions, {
        'age/weight': [[100.0]], 'columns/word/weights': [[1.0], [2.0], [4.0]],
        'word_weighted_by_count/weights': [[10.0], [20.0], [40.0]], 'bias_weight': [0.5]})
    np.testing.assert_allclose(found[:, 0], [
        50 + (1 + 2) + (2 * 10 + 3 * 20) + 0.5, 150 + 2 + 4 * 20 + 0.5, 250 + 0.5])

  def test_buckets_of_each_number_have_weights_of_their_own(self):
    buckets = layers.bucketized_column(layers.real_valued_column('two', 2), [10.0])
    predictions, _, _ = layers.weighted_sum_from_feature_columns(
        {'two': tf.constant([[5.0, 5.0], [15.0, 5.0], [5.0, 15.0]])}, [buckets], 1)
    found = self.run_with(predictions * 2.0 ** 0.5, {
        'two_bucketized/weights': [[1.0], [2.0], [4.0], [8.0]]})
    # The mean is by the root of the number of ids.
    self.assertEqual([round(float(v), 4) for v in found[:, 0]], [5.0, 6.0, 9.0])

  def test_numbers_for_a_network(self):
    import numpy as np
    buckets = layers.bucketized_column(layers.real_valued_column('age'), [10.0, 20.0])
    embedded = layers.embedding_column(self.word, 2, combiner='sum')
    weighted = layers.one_hot_column(layers.weighted_sparse_column(self.word, 'count'))
    outputs = {}
    layers.input_from_feature_columns(
        self.features, [buckets, layers.one_hot_column(self.word), embedded, weighted],
        cols_to_outs=outputs)
    found = self.run_with(outputs, {'word_embedding/weights': [[1.0, 2.0], [10.0, 20.0], [0, 0]]})
    np.testing.assert_array_equal(found[buckets], np.eye(3))
    np.testing.assert_array_equal(found[layers.one_hot_column(self.word)],
                                  [[1, 1, 0], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(found[weighted], [[2, 3, 0], [0, 4, 0], [0, 0, 0]])
    np.testing.assert_array_equal(found[embedded], [[11, 22], [10, 20], [0, 0]])
    with self.assertRaisesRegex(ValueError, 'not supported in DNN'):
      layers.input_from_feature_columns(self.features, [self.word])

  def test_crosses_tell_combinations_apart(self):
    other = layers.sparse_column_with_hash_bucket('other', 100)
    features = {'word': tf.constant([['a'], ['a'], ['b'], ['a']]),
                'other': tf.constant([['x'], ['y'], ['x'], ['x']])}
    column = layers.crossed_column([self.word, other], 10 ** 6)
    self.assertEqual(column.name, 'other_X_word')
    with tf.Session() as session:
      ids = session.run(Features(features).of(column).values)
    self.assertEqual(len(set(ids)), 3)
    self.assertEqual(ids[0], ids[3])

  def test_values_of_a_checkpoint(self):
    import os
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'model')
      with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name='table')
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, path)
      column = layers.embedding_column(self.word, 2, ckpt_to_load_from=path,
                                       tensor_name_in_ckpt='table')
      output = layers.input_from_feature_columns({'word': tf.constant([['b'], ['c']])}, [column])
      self.assertEqual(self.run_with(output, {}).tolist(), [[3, 4], [5, 6]])

  def test_parsing(self):
    column = layers.weighted_sparse_column(self.word, 'count')
    spec = layers.create_feature_spec_for_parsing([self.age, column])
    self.assertEqual(spec, {'age': tf.FixedLenFeature([1], tf.float32),
                            'word': tf.VarLenFeature(tf.string),
                            'count': tf.VarLenFeature(tf.float32)})
    with self.assertRaisesRegex(ValueError, 'is wanted as'):
      layers.create_feature_spec_for_parsing(
          [self.age, layers.real_valued_column('age', dimension=2)])

  def test_what_is_refused(self):
    for dimension in (0, -1):
      with self.assertRaisesRegex(ValueError, 'greater than 0'):
        layers.real_valued_column('x', dimension)
    with self.assertRaisesRegex(ValueError, 'length of default_value'):
      layers.real_valued_column('x', 2, default_value=[1.0])
    with self.assertRaisesRegex(ValueError, 'sorted'):
      layers.bucketized_column(self.age, [2.0, 1.0])
    with self.assertRaisesRegex(TypeError, 'crossed|columns must'):
      layers.crossed_column([self.word, self.age], 10)
    with self.assertRaisesRegex(ValueError, 'Duplicate'):
      layers.weighted_sum_from_feature_columns(
          self.features, [self.age, layers.real_valued_column('age')], 1)


if __name__ == '__main__':
  unittest.main()
