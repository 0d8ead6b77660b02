"""tf.contrib.metrics and tf.contrib.lookup: against numpy; tables in checkpoints."""
import os
import tempfile
import unittest

import leat as tf

metrics = tf.contrib.metrics


class MetricsTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def after(self, metric, batches):
    """The value of a metric, which is a function of placeholders, after batches of them."""
    holders = [tf.placeholder(tf.float32, [None]) for _ in batches[0]]
    value, update = metric(*holders)
    with tf.Session() as session:
      session.run(tf.local_variables_initializer())
      for batch in batches:
        session.run(update, dict(zip(holders, batch)))
      return session.run(value)

  def batches(self):
    import numpy as np
    random = np.random.RandomState(5)
    return [(random.rand(n).astype(np.float32) + 100, random.rand(n).astype(np.float32) * 3,
             random.randint(0, 3, n).astype(np.float32)) for n in (4, 1, 7)]

  def test_covariance_with_weights(self):
    import numpy as np
    batches = self.batches()
    x, y, w = (np.concatenate(c).astype(np.float64) for c in zip(*batches))
    expected = np.cov(x, y, fweights=w.astype(int))
    np.testing.assert_allclose(self.after(metrics.streaming_covariance, batches), expected[0, 1],
                               rtol=1e-3)
    correlation = expected[0, 1] / np.sqrt(expected[0, 0] * expected[1, 1])
    np.testing.assert_allclose(self.after(metrics.streaming_pearson_correlation, batches),
                               correlation, rtol=1e-3)

  def test_exact_areas(self):
    import numpy as np
    labels = np.array([0, 0, 1, 1, 0, 1, 0], np.float32)
    scores = np.array([0.1, 0.4, 0.35, 0.8, 0.4, 0.4, -2.0], np.float32)
    pairs = [(p > n) + 0.5 * (p == n) for p in scores[labels == 1] for n in scores[labels == 0]]
    batches = [(labels[:3], scores[:3]), (labels[3:], scores[3:])]
    self.assertAlmostEqual(float(self.after(metrics.streaming_dynamic_auc, batches)),
                           np.mean(pairs), places=5)
    data = self.after(metrics.auc_with_confidence_intervals, batches)
    self.assertAlmostEqual(float(data.auc), np.mean(pairs), places=5)
    self.assertTrue(0 < data.lower < data.auc < data.upper < 1)

  def test_all_values_up_to_a_number(self):
    found = self.after(lambda x: metrics.streaming_concat(x, max_size=4),
                       [([1.0, 2.0],), ([3.0, 4.0, 5.0],), ([6.0],)])
    self.assertEqual(found.tolist(), [1, 2, 3, 4])

  def test_agreement_beyond_chance(self):
    labels, predictions = [0, 1, 2, 2, 1, 0], [0, 2, 2, 2, 1, 1]
    found = self.after(lambda l, p: metrics.cohen_kappa(tf.cast(l, tf.int64), tf.cast(p, tf.int64),
                                                        3), [(labels, predictions)])
    observed, chance = 4 / 6, (2 * 1 + 2 * 2 + 2 * 3) / 36
    self.assertAlmostEqual(found, (observed - chance) / (1 - chance), places=6)

  def test_precision_and_recall_where_one_is_given(self):
    labels = [0.0, 1.0, 1.0, 0.0, 1.0]
    scores = [0.2, 0.9, 0.6, 0.7, 0.3]
    found = self.after(lambda l, p: metrics.precision_at_recall(l, p, 0.6), [(labels, scores)])
    self.assertAlmostEqual(float(found), 2 / 3, places=5)  # the threshold lies below 0.6
    found = self.after(lambda l, p: metrics.recall_at_precision(l, p, 0.9, strict_mode=True),
                       [(labels, scores)])
    self.assertAlmostEqual(float(found), 1 / 3, places=5)

  def test_arguments_are_checked(self):
    with self.assertRaises(TypeError):
      metrics.streaming_mean_iou([1], [1])
    with self.assertRaisesRegex(ValueError, 'match'):
      metrics.accuracy(tf.constant([1]), tf.constant([True]))


class TablesTest(unittest.TestCase):

  def test_tables_are_saved(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'tables')

      def build():
        return tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1, name='t'), \
            tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0], name='u')
      with tf.Graph().as_default(), tf.Session() as session:
        t, u = build()
        session.run([t.insert(['a', 'b'], tf.constant([1, 2], tf.int64)),
                     u.insert(tf.constant([7], tf.int64), [[1.0, 2.0]])])
        tf.train.Saver().save(session, path)
      with tf.Graph().as_default(), tf.Session() as session:
        t, u = build()
        session.run(t.insert(['c'], tf.constant([3], tf.int64)))
        tf.train.Saver().restore(session, path)
        self.assertEqual(session.run(t.lookup(tf.constant(['a', 'b', 'c']))).tolist(), [1, 2, -1])
        self.assertEqual(session.run(u.lookup(tf.constant([7], tf.int64))).tolist(), [[1.0, 2.0]])

  def test_words_that_are_not_there_have_buckets(self):
    with tf.Graph().as_default(), tf.Session() as session:
      table = tf.contrib.lookup.index_table_from_tensor(['a', 'b'], num_oov_buckets=3)
      ids = table.lookup(tf.constant([['a', 'x'], ['b', 'y']]))
      session.run(tf.tables_initializer())
      found = session.run(ids)
      self.assertEqual(session.run(table.size()), 5)
    self.assertEqual(found[:, 0].tolist(), [0, 1])
    self.assertTrue(all(2 <= i < 5 for i in found[:, 1]))
    with self.assertRaisesRegex(TypeError, 'hasher_spec'):
      tf.contrib.lookup.IdTableWithHashBuckets(None, 2, hasher_spec='fast')


if __name__ == '__main__':
  unittest.main()
