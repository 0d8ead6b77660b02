"""contrib.learn: estimators on arrays, canned models, monitors, metric specs, words as numbers."""
import os
import tempfile
import unittest

import leat as tf
import numpy as np

learn = tf.contrib.learn


def line_fn(features, labels, mode, params):
  """(w * x, squared error, train op)."""
  w = tf.get_variable('w', [], initializer=tf.zeros_initializer())
  predictions = features[:, 0] * w
  if mode == learn.ModeKeys.INFER:
    return predictions, None, None
  loss = tf.reduce_mean(tf.square(predictions - labels))
  train_op = tf.train.GradientDescentOptimizer(params['rate']).minimize(
      loss, tf.train.get_global_step())
  return predictions, loss, train_op


class LearnTest(unittest.TestCase):

  def setUp(self):
    tf.logging.set_verbosity(tf.logging.ERROR)
    self.addCleanup(tf.logging.set_verbosity, tf.logging.get_verbosity())
    self.x = np.array([[1], [2], [3], [4]], 'f')

  def _line(self):
    return learn.Estimator(line_fn, model_dir=tempfile.mkdtemp(), params={'rate': 0.05})

  def test_arrays_in_and_out(self):
    line = self._line()
    with self.assertRaises(learn.NotFittedError):
      line.evaluate(self.x, self.x[:, 0])
    self.assertIs(line.fit(self.x, self.x[:, 0] * 3, steps=50), line)
    self.assertAlmostEqual(line.get_variable_value('w'), 3, places=3)
    found = line.evaluate(self.x, self.x[:, 0] * 3, batch_size=2, metrics={
        'error': learn.MetricSpec(tf.metrics.mean_absolute_error)})
    self.assertEqual(sorted(found), ['error', 'global_step', 'loss'])
    self.assertLess(found['error'], 0.01)
    np.testing.assert_allclose(list(line.predict(self.x)), self.x[:, 0] * 3, atol=0.01)
    both = learn.SKCompat(line).predict(self.x, batch_size=3)
    np.testing.assert_allclose(both, self.x[:, 0] * 3, atol=0.01)
    with self.assertRaisesRegex(ValueError, 'Features are incompatible'):
      line.fit(np.zeros([4, 2], 'f'), self.x[:, 0], steps=1)

  def test_monitors_and_hooks(self):
    line = self._line()
    capture = learn.monitors.CaptureVariable('w:0', every_n=10)
    line.fit(self.x, self.x[:, 0], steps=21, monitors=[capture, tf.train.StopAtStepHook(15)])
    self.assertEqual(sorted(capture.values), [1, 11])
    self.assertEqual(line.get_variable_value('global_step'), 15)
    stop = learn.monitors.StopAtStep(num_steps=5)
    line.fit(self.x, self.x[:, 0], monitors=stop)
    self.assertEqual(line.get_variable_value('global_step'), 20)

  def test_validation_ends_training(self):
    line = learn.Estimator(line_fn, params={'rate': 0.0}, config=learn.RunConfig(
        model_dir=tempfile.mkdtemp(), save_checkpoints_steps=1, save_checkpoints_secs=None))
    monitor = learn.monitors.ValidationMonitor(
        self.x, self.x[:, 0], every_n_steps=5, early_stopping_rounds=20, check_interval_secs=None)
    line.fit(self.x, self.x[:, 0], steps=100, monitors=[monitor])
    self.assertTrue(monitor.early_stopped)
    self.assertEqual(monitor.best_value, 7.5)
    self.assertLess(line.get_variable_value('global_step'), 40)

  def test_canned_models(self):
    random = np.random.RandomState(0)
    x = random.randn(200, 3).astype('f')
    y = (x[:, 0] + x[:, 1] > 0).astype('i8')
    columns = learn.infer_real_valued_columns_from_input(x)
    seeded = learn.RunConfig(tf_random_seed=1)
    self.assertEqual([(c.name, c.dimension) for c in columns], [('', 3)])
    for number, model in enumerate((
        learn.LinearClassifier(columns, config=seeded),
        learn.DNNClassifier([16], columns, n_classes=3, gradient_clip_norm=5.0, config=seeded),
        learn.DNNLinearCombinedClassifier(
            linear_feature_columns=columns, dnn_feature_columns=columns, dnn_hidden_units=[8],
            config=seeded))):
      with self.subTest(number):
        model.fit(x, y, steps=300)
        self.assertGreater(model.evaluate(x, y)['accuracy'], 0.9)
        classes = list(model.predict(x))
        self.assertGreater(np.mean(classes == y), 0.9)
        np.testing.assert_array_equal(
            np.argmax(model.predict_proba(x, as_iterable=False), 1), classes)
    values = learn.DNNRegressor([16], columns, config=seeded,
                                optimizer=lambda: tf.train.AdamOptimizer(0.02))
    values.fit(x, x.sum(1), steps=300)
    error = np.mean(np.square(values.predict(x, as_iterable=False) - x.sum(1)))
    self.assertLess(error, 0.2)

  def test_words(self):
    words = learn.preprocessing.VocabularyProcessor(4, min_frequency=0)
    ids = np.array(list(words.fit_transform(['a b a', 'c a b b c'])))
    self.assertEqual(ids.tolist(), [[1, 2, 1, 0], [3, 1, 2, 2]])
    self.assertEqual(len(words.vocabulary_), 4)
    self.assertEqual(list(words.reverse(ids[:1])), ['a b a <UNK>'])
    path = os.path.join(tempfile.mkdtemp(), 'words')
    words.save(path)
    again = learn.preprocessing.VocabularyProcessor.restore(path)
    self.assertEqual(next(again.transform(['c d'])).tolist(), [3, 0, 0, 0])
    data = learn.preprocessing.ByteProcessor(4)
    self.assertEqual([b.tolist() for b in data.fit_transform(['\u00e4b'])], [[195, 164, 98, 0]])

  def test_records_of_files(self):
    folder = tempfile.mkdtemp()
    for name, words in (('a', 'p\nq\nr\n'), ('b', 's\n')):
      with open(os.path.join(folder, name), 'w') as f:
        f.write(words)
    with tf.Graph().as_default(), tf.Session() as session:
      keys, records = learn.read_keyed_batch_examples(
          os.path.join(folder, '*'), 3, tf.TextLineReader, randomize_input=False, num_epochs=1,
          queue_capacity=10, parse_fn=lambda record: {'word': record, 'twice': record + record})
      shuffled = learn.read_batch_examples([os.path.join(folder, 'a')], 3, tf.TextLineReader,
                                           num_epochs=1, queue_capacity=10)
      session.run(tf.local_variables_initializer())
      coordinator = tf.train.Coordinator()
      threads = tf.train.start_queue_runners(session, coordinator)
      found = [session.run([keys, records]) for _ in range(2)]
      self.assertEqual(sorted(session.run(shuffled).tolist()), [b'p', b'q', b'r'])
      with self.assertRaises(tf.errors.OutOfRangeError):
        session.run(keys)
      coordinator.request_stop()
      coordinator.join(threads)
    self.assertEqual([f[1]['word'].tolist() for f in found], [[b'p', b'q', b'r'], [b's']])
    self.assertEqual([f[1]['twice'].tolist() for f in found], [[b'pp', b'qq', b'rr'], [b'ss']])
    self.assertEqual(found[1][0].tolist(), [os.path.join(folder, 'b').encode() + b':1'])
    with self.assertRaisesRegex(ValueError, 'No files match'):
      learn.read_batch_examples(os.path.join(folder, 'no*'), 1, tf.TextLineReader)

  def test_tables_in_files(self):
    path = os.path.join(tempfile.mkdtemp(), 'table.csv')
    with open(path, 'w') as f:
      f.write('2,2,x,y\n1.5,2.5,0\n3.5,4.5,1\n')
    found = learn.datasets.base.load_csv_with_header(path, np.int64, np.float32)
    self.assertEqual((found.data.tolist(), found.target.tolist()), ([[1.5, 2.5], [3.5, 4.5]],
                                                                    [0, 1]))

  def test_prediction_of_a_model_that_uses_its_labels(self):
    def model(features, labels, mode):
      del mode
      w = tf.get_variable('w', [], features.dtype)
      loss = tf.reduce_mean(tf.square(features * w - labels['y']))
      train = tf.train.GradientDescentOptimizer(.1).minimize(loss, tf.train.get_global_step())
      return {'p': features * w}, loss, train
    estimator = learn.Estimator(model)
    x = np.array([1., 2., 3.])
    with self.assertRaisesRegex(ValueError, 'as many rows'):
      estimator.fit(x, {'y': np.zeros(2)}, steps=1)
    estimator.fit(x, {'y': 2 * x}, steps=60)
    found = list(estimator.predict(x))
    self.assertEqual(found[0]['p'].dtype, np.float64)
    self.assertLess(abs(found[2]['p'] - 6), .1)

  def test_iterators_end_with_the_shorter(self):
    rows = []
    def model(features, labels, mode):
      rows.append((features.shape[0].value, labels.dtype.name, mode))
      w = tf.get_variable('w', [], features.dtype)
      loss = tf.reduce_sum(features * w) + tf.cast(tf.reduce_sum(labels), features.dtype)
      return features * w, loss, tf.assign_add(tf.train.get_global_step(), 1)
    learn.Estimator(model).fit(iter([1., 2., 3.]), (v for v in [1, 2, 3, 4]), steps=1)
    self.assertEqual(rows, [(3, 'int64', 'train')])


if __name__ == '__main__':
  unittest.main()
