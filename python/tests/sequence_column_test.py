"""Sequence columns: what each kind becomes for each step, how long sequences are, what is refused.
Expected values of single columns are what TensorFlow's columns gave for the same batches."""
import unittest

import leat as tf
import numpy as np

columns = tf.feature_column
contrib = tf.contrib.feature_column


def words(key='c'):
  return columns.sequence_categorical_column_with_vocabulary_list(key, ['x', 'y', 'z'])


class SequenceColumnTest(unittest.TestCase):

  def setUp(self):
    self.enterContext(tf.Graph().as_default())

  def _run(self, fetches, **variables):
    with tf.Session() as session:
      session.run([tf.global_variables_initializer(), tf.tables_initializer()])
      for v in tf.global_variables():
        v.load(np.array(variables[v.op.name.split('/')[-1]], 'f'), session)
      return session.run(fetches)

  def _layer(self, features, *found, **variables):
    sparse = {key: tf.SparseTensor(*value) for key, value in features.items()}
    tensor, lengths = self._run(contrib.sequence_input_layer(sparse, found), **variables)
    return tensor.tolist(), lengths.tolist()

  def test_numbers(self):
    n = [[0, 0], [0, 1], [1, 0]], [1., 2., 3.], [3, 4]
    self.assertEqual(self._layer({'n': n}, columns.sequence_numeric_column('n', default_value=-1.)),
                     ([[[1], [2], [-1], [-1]], [[3], [-1], [-1], [-1]], [[-1]] * 4], [2, 1, 0]))

  def test_several_numbers_a_step(self):
    m = [[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1], [1, 2]], np.arange(1., 8), [3, 4]
    column = columns.sequence_numeric_column('m', shape=2)
    self.assertEqual(self._layer({'m': m}, column),
                     ([[[1, 2], [3, 4]], [[5, 6], [7, 0]], [[0, 0], [0, 0]]], [2, 2, 0]))
    m = [[0, 0, 0], [0, 0, 1], [0, 1, 0]], [1., 2., 3.], [2, 3, 2]
    self.assertEqual(self._layer({'m': m}, column),
                     ([[[1, 2], [3, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]]], [2, 0]))

  def test_categories(self):
    c = [[0, 0], [0, 1], [2, 0]], ['x', 'z', 'w'], [4, 3]
    none = [[0] * 3] * 3
    self.assertEqual(self._layer({'c': c}, columns.indicator_column(words())),
                     ([[[1, 0, 0], [0, 0, 1], [0, 0, 0]], none, none, none], [2, 0, 1, 0]))

  def test_several_categories_a_step(self):
    c = [[0, 0, 0], [0, 1, 0], [0, 1, 1], [2, 0, 0]], ['x', 'y', 'y', 'z'], [3, 2, 2]
    self.assertEqual(self._layer({'c': c}, columns.indicator_column(words())),
                     ([[[1, 0, 0], [0, 2, 0]], [[0] * 3] * 2, [[0, 0, 1], [0, 0, 0]]], [2, 0, 1]))
    c = [[0, 0, 0], [0, 1, 0], [0, 1, 1]], ['x', 'y', 'z'], [1, 2, 2]
    for combiner, second in (('sum', 30), ('mean', 15)):
      with tf.Graph().as_default():
        column = columns.embedding_column(words(), 1, combiner)
        self.assertEqual(self._layer({'c': c}, column, embedding_weights=[[1], [10], [20]]),
                         ([[[1], [second]]], [2]))

  def test_columns_are_in_the_order_of_their_names(self):
    b = columns.sequence_numeric_column('b', normalizer_fn=lambda x: tf.SparseTensor(
        x.indices, x.values * 2, x.dense_shape))
    a = columns.embedding_column(columns.sequence_categorical_column_with_identity('a', 3), 2)
    places, shape = [[0, 0], [0, 1], [1, 0]], [2, 2]
    features = {'b': (places, [1., 2., 3.], shape), 'a': (places, [0, 2, 1], shape)}
    tensor, lengths = self._layer(features, b, a,
                                  embedding_weights=[[10, 11], [20, 21], [30, 31]])
    self.assertEqual(tensor, [[[10, 11, 2], [30, 31, 4]], [[20, 21, 6], [0, 0, 0]]])
    self.assertEqual(lengths, [2, 1])
    self.assertEqual([v.op.name for v in tf.trainable_variables()],
                     ['sequence_input_layer/a_embedding/embedding_weights'])

  def test_lengths_that_differ_fail(self):
    features = {'a': ([[0, 0], [0, 1]], [1., 2.], [1, 2]), 'b': ([[0, 0]], [1.], [1, 2])}
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'must have the same lengths'):
      self._layer(features, *map(columns.sequence_numeric_column, features))

  def test_examples(self):
    hashed = columns.sequence_categorical_column_with_hash_bucket('c', 5, tf.int64)
    self.assertEqual(columns.make_parse_example_spec(
        [columns.indicator_column(hashed), columns.sequence_numeric_column('n')]),
        {'c': tf.VarLenFeature(tf.int64), 'n': tf.VarLenFeature(tf.float32)})

  def test_a_recurrent_network_takes_it(self):
    features = {'c': tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ['x', 'y', 'z'], [2, 2])}
    inputs, lengths = contrib.sequence_input_layer(features, columns.embedding_column(words(), 4))
    inputs = contrib.concatenate_context_input(tf.ones([2, 3]), inputs)
    self.assertEqual(inputs.get_shape().as_list(), [2, None, 7])
    cell = tf.nn.rnn_cell.BasicRNNCell(5)
    outputs, _ = tf.nn.dynamic_rnn(cell, inputs, lengths, dtype=tf.float32)
    with tf.Session() as session:
      session.run([tf.global_variables_initializer(), tf.tables_initializer()])
      self.assertEqual(session.run(outputs)[1, 1].tolist(), [0] * 5)

  def test_what_is_refused(self):
    plain = columns.categorical_column_with_identity('c', 3)
    layer, sequence = columns.input_layer, contrib.sequence_input_layer
    one = {'c': tf.SparseTensor([[0, 0]], [1], [1, 1])}
    for call, error, message in (
        (lambda: sequence(one, [columns.indicator_column(plain)]), ValueError,
         'must be of type _SequenceCategoricalColumn'),
        (lambda: sequence(one, [columns.embedding_column(plain, 2)]), ValueError,
         'must be of type _SequenceCategoricalColumn'),
        (lambda: layer(one, [columns.embedding_column(words(), 2)]), ValueError,
         'must not be of type'),
        (lambda: layer(one, [columns.indicator_column(words())]), ValueError,
         'must not be of type'),
        (lambda: sequence(one, [words()]), ValueError, 'You can wrap'),
        (lambda: sequence(one, [columns.numeric_column('c')]), ValueError, 'You can wrap'),
        (lambda: sequence({'n': [[1.]]}, [columns.sequence_numeric_column('n')]), ValueError,
         'must be a SparseTensor. key: n'),
        (lambda: columns.sequence_numeric_column('n', shape=[0]), ValueError, 'greater than 0'),
        (lambda: columns.sequence_numeric_column('n', dtype=tf.string), ValueError, 'float'),
        (lambda: columns.sequence_numeric_column('n', normalizer_fn=3), TypeError, 'callable'),
        (lambda: contrib.concatenate_context_input(tf.ones([2]), tf.ones([2, 3, 4])), ValueError,
         'context_input must have rank 2'),
        (lambda: contrib.concatenate_context_input(
            tf.ones([2, 1]), tf.ones([2, 3, 4], tf.float64)), TypeError, 'float32')):
      with self.assertRaisesRegex(error, message):
        call()


if __name__ == '__main__':
  unittest.main()
