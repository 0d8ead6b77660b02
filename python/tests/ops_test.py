"""Checks, tables, dilated windows and losses over samples."""
import os
import tempfile
import unittest

import numpy as np

import leat as tf


class OpsCase(unittest.TestCase):

  def setUp(self):
    tf.reset_default_graph()

  def run_of(self, fetches, feed=None):
    with tf.Session() as session:
      return session.run(fetches, feed)


class CheckTest(OpsCase):

  def test_known_values_are_decided_while_building(self):
    self.assertEqual(tf.assert_less(1, 2).type, 'NoOp')
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'mine(.|\n)*x < y did not hold'):
      tf.assert_less([1, 3], 2, message='mine')

  def test_others_are_decided_in_the_step(self):
    x = tf.placeholder(tf.int32, name='x')
    with tf.control_dependencies([tf.assert_positive(x, message='mine')]):
      y = tf.identity(x)
    self.assertEqual(self.run_of(y, {x: [1]}).tolist(), [1])
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'mine.*x > 0 did not hold.*x:0'):
      self.run_of(y, {x: [0]})

  def test_ranks(self):
    x = tf.placeholder(tf.float32)
    with tf.control_dependencies([tf.assert_rank_in(x, (1, 2))]):
      y = tf.identity(x)
    self.run_of(y, {x: [1]})
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'must have rank in'):
      self.run_of(y, {x: 1})
    with self.assertRaisesRegex(ValueError, 'must have rank at least 2'):
      tf.assert_rank_at_least(tf.zeros([3]), 2)

  def test_numbers_in_a_loop_cannot_be_checked(self):
    tf.while_loop(lambda i: i < 3.0, lambda i: i + 1, [0.0])
    with self.assertRaisesRegex(ValueError, 'not compatible'):
      tf.add_check_numerics_ops()

  def test_checks_of_numbers_change_no_variable(self):
    """The initializer gives a reference too: a check of it would start the variable anew."""
    v = tf.Variable(1.0, use_resource=False)
    more = tf.assign_add(v, 1.0)
    with tf.control_dependencies([more]):
      bad = tf.log(v.read_value() - 4.0, name='bad')
    checks = tf.add_check_numerics_ops()
    with tf.Session() as s:
      s.run(v.initializer)
      s.run(more)
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'bad:0'):
        s.run([bad, checks])
      self.assertEqual(s.run(v), 3.0)


class TableTest(OpsCase):

  def test_words_of_a_file(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'words')
      with open(path, 'w') as f:
        f.write('a\nb\nc\n')
      table = tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(
          path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
          tf.lookup.TextFileIndex.LINE_NUMBER), -1)
      found = table.lookup(tf.SparseTensor([[0], [2]], ['c', 'x'], [3]))
      with tf.Session() as session:
        session.run(tf.tables_initializer())
        self.assertEqual(session.run(found).values.tolist(), [2, -1])
        self.assertEqual(session.run(table.size()), 3)
      self.assertEqual(len(tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)), 1)

  def test_unknown_words_get_buckets(self):
    words = tf.lookup.KeyValueTensorInitializer(['a', 'b'], [0, 1], value_dtype=tf.int64)
    table = tf.lookup.StaticVocabularyTable(words, 3)
    with tf.Session() as session:
      session.run(tf.tables_initializer())
      known, ids = session.run([table.lookup(tf.constant(['b', 'a'])), table.lookup(
          tf.constant([str(i) for i in range(40)]))])
      self.assertEqual(session.run(table.size()), 5)
    self.assertEqual(known.tolist(), [1, 0])
    self.assertEqual(set(ids), {2, 3, 4})

  def test_a_table_that_changes(self):
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, [-1.0, -2.0], 0, -1)
    with tf.Session() as session:
      session.run(table.insert([4, 5], [[1.0, 2.0], [3.0, 4.0]]))
      session.run(table.remove([5]))
      self.assertEqual(session.run(table.lookup([4, 5])).tolist(), [[1, 2], [-1, -2]])
      self.assertEqual(session.run(table.size()), 1)

  def test_keys_of_another_type(self):
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    with self.assertRaisesRegex(TypeError, 'must be string, received: int32'):
      table.lookup(tf.constant([1]))


class WindowTest(OpsCase):

  def test_a_dilated_window_is_one_with_zeros_between(self):
    random = np.random.RandomState(1)
    image, kernel = random.rand(2, 9, 8, 3), random.rand(3, 2, 3, 4)
    wide = np.zeros((5, 4, 3, 4))
    wide[::2, ::3] = kernel
    for padding in ('VALID', 'SAME'):
      dilated = tf.nn.convolution(image, kernel, padding, dilation_rate=[2, 3])
      plain = tf.nn.conv2d(image, wide, [1, 1, 1, 1], padding)
      a, b = self.run_of([dilated, plain])
      np.testing.assert_allclose(a, b, rtol=1e-9)

  def test_atrous_transpose_is_the_gradient(self):
    random = np.random.RandomState(1)
    image, kernel = tf.constant(random.rand(1, 9, 8, 2)), tf.constant(random.rand(3, 3, 2, 4))
    for padding in ('VALID', 'SAME'):
      out = tf.nn.atrous_conv2d(image, kernel, 2, padding)
      weights = tf.constant(random.rand(*out.shape.as_list()))
      wanted = tf.gradients(out, image, weights)[0]
      found = tf.nn.atrous_conv2d_transpose(weights, kernel, image.shape.as_list(), 2, padding)
      a, b = self.run_of([found, wanted])
      np.testing.assert_allclose(a, b, rtol=1e-9)

  def test_strides_and_dilation(self):
    with self.assertRaisesRegex(ValueError, 'strides > 1'):
      tf.nn.pool(tf.zeros([1, 8, 8, 1]), [3, 3], 'MAX', 'SAME', [2, 2], [2, 2])


class LossTest(OpsCase):

  def test_a_sample_of_all_classes_is_the_softmax(self):
    random = np.random.RandomState(2)
    weights, biases = tf.constant(random.rand(6, 3)), tf.constant(random.rand(6))
    inputs, labels = tf.constant(random.rand(4, 3)), tf.constant([[0], [3], [5], [3]], tf.int64)
    ones = tf.ones([6], tf.float64)
    sampled = (tf.range(6, dtype=tf.int64), tf.ones([4, 1], tf.float64), ones)
    found = tf.nn.sampled_softmax_loss(weights, biases, labels, inputs, 6, 6,
                                       sampled_values=sampled)
    logits = tf.matmul(inputs, weights, transpose_b=True) + biases
    wanted = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels[:, 0], logits=logits)
    a, b = self.run_of([found, wanted])
    np.testing.assert_allclose(a, b, rtol=1e-9)

  def test_the_blank_may_be_any_class(self):
    random = np.random.RandomState(2)
    logits = random.rand(7, 2, 5).astype(np.float32)
    labels = np.array([[1, 2, 2], [4, 1, 0]], np.int32)
    last = tf.nn.ctc_loss_v2(labels, logits, [3, 2], [7, 6], blank_index=3)
    moved = logits[:, :, [0, 1, 2, 4, 3]]
    renamed = np.where(labels == 4, 3, labels)
    wanted = tf.nn.ctc_loss_v2(renamed, moved, [3, 2], [7, 6], blank_index=-1)
    a, b = self.run_of([last, wanted])
    np.testing.assert_allclose(a, b, rtol=1e-6)


class ImmutableConstTest(OpsCase):

  def test_the_bytes_of_a_file_are_a_tensor(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'weights')
      np.arange(7, dtype=np.float32).tofile(path)
      value = tf.raw_ops.ImmutableConst(dtype=tf.float32, shape=[2, 3], memory_region_name=path)
      bools = tf.raw_ops.ImmutableConst(dtype=tf.bool, shape=[8], memory_region_name=path)
      self.assertEqual(value.shape.as_list(), [2, 3])
      np.testing.assert_array_equal(self.run_of(value), [[0, 1, 2], [3, 4, 5]])
      # Any byte but 0 is true; a float of 1 is 00 00 80 3f.
      np.testing.assert_array_equal(self.run_of(bools), [False] * 6 + [True] * 2)


class DecompositionTest(unittest.TestCase):

  def test_thousands_of_rotations_leave_vectors_orthogonal(self):
    # The bound is that of the tests of TensorFlow, whose own error is half of it.
    a = np.random.RandomState(1).uniform(-1, 1, [100, 100])
    symmetric = a + a.T
    with tf.Graph().as_default(), tf.Session() as session:
      (s, u, v), (e, w) = session.run([tf.svd(a), tf.self_adjoint_eig(symmetric)])
    for vectors in (u, v, w):
      np.testing.assert_allclose(vectors.T @ vectors, np.eye(100), rtol=0, atol=1e-14)
    np.testing.assert_allclose(u @ np.diag(s) @ v.T, a, rtol=0, atol=1e-14)
    np.testing.assert_allclose(w @ np.diag(e) @ w.T, symmetric, rtol=0, atol=4e-14)


class PoolTest(unittest.TestCase):

  def test_a_window_over_the_batch_is_refused_before_the_step(self):
    with tf.Graph().as_default(), tf.Session() as session:
      for pool in (tf.nn.avg_pool, tf.nn.max_pool):
        y = pool(tf.placeholder(tf.float32), [1, 1, 1, 1], [2, 1, 1, 1], 'SAME')  # nothing is fed
        with self.assertRaisesRegex(tf.errors.UnimplementedError,
                                    'Pooling is not yet supported on the batch'):
          session.run(y)


if __name__ == '__main__':
  unittest.main()
