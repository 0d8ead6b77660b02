"""Estimators: the modes of a model function, what reaches it, checkpoints between calls, canned
models that learn, evaluation on the way, exporters, settings of a cluster."""
import json
import os
import tempfile
import unittest
from unittest import mock

import leat as tf
import numpy as np

estimator = tf.estimator
columns = tf.feature_column


def line_fn(features, labels, mode, params):
  """w * x with the loss (w * x - y)^2."""
  w = tf.get_variable('w', [], initializer=tf.constant_initializer(params['start']))
  y = features['x'] * w
  if mode == estimator.ModeKeys.PREDICT:
    return estimator.EstimatorSpec(mode, predictions={'y': y, 'x': features['x']})
  loss = tf.reduce_mean(tf.square(y - labels))
  train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
  return estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops={
      'error': tf.metrics.mean_absolute_error(labels, y)})


class EstimatorTest(unittest.TestCase):

  def setUp(self):
    tf.logging.set_verbosity(tf.logging.ERROR)
    self.addCleanup(tf.logging.set_verbosity, tf.logging.get_verbosity())
    self.x = np.array([1, 2, 3, 4], 'f')

  def _line(self, **config):
    config.setdefault('save_checkpoints_steps', 10)
    return estimator.Estimator(line_fn, config=estimator.RunConfig(
        model_dir=tempfile.mkdtemp(), **config), params={'start': 0.0})

  def _input(self, epochs=None, y=3):
    return estimator.inputs.numpy_input_fn({'x': self.x}, self.x * y, batch_size=4,
                                           num_epochs=epochs, shuffle=False)

  def test_calls_know_of_each_other_by_checkpoints(self):
    line = self._line()
    self.assertIs(line.train(self._input(), steps=2), line)
    self.assertEqual(os.path.basename(line.latest_checkpoint()), 'model.ckpt-2')
    line.train(self._input(), steps=20)
    results = line.evaluate(self._input(1), name='all')
    self.assertEqual(sorted(results), ['error', 'global_step', 'loss'])
    self.assertEqual(results['global_step'], 22)
    self.assertLess(results['error'], 0.01)
    found = list(line.predict(self._input(1)))
    np.testing.assert_allclose([p['y'] for p in found], self.x * 3, atol=0.01)
    self.assertEqual([p['x'] for p in found], self.x.tolist())
    again = estimator.Estimator(line_fn, line.model_dir, params={'start': 9.0})
    keys = next(again.predict(self._input(1), predict_keys=['y'], yield_single_examples=False))
    np.testing.assert_allclose(keys['y'], self.x * 3, atol=0.01)
    self.assertEqual(list(keys), ['y'])
    events = os.path.join(line.model_dir, 'eval_all')
    tags = {v.tag for name in os.listdir(events) for e in tf.train.summary_iterator(
        os.path.join(events, name)) for v in e.summary.value}
    self.assertEqual(tags, {'error', 'loss'})

  def test_the_end_of_the_input_ends_training(self):
    line = self._line()
    line.train(self._input(3))
    self.assertEqual(os.path.basename(line.latest_checkpoint()), 'model.ckpt-3')

  def test_functions_get_what_they_ask_for(self):
    seen = []

    def model_fn(features, mode, config):
      seen.append((mode, config.tf_random_seed, tf.get_default_graph().seed))
      return line_fn(features, features['x'], mode, {'start': 0.0})

    def input_fn(params, mode):
      seen.append((params, mode))
      return {'x': tf.constant(self.x)}
    found = estimator.Estimator(model_fn, config=estimator.RunConfig(tf_random_seed=3))
    found.train(input_fn, steps=1)
    self.assertEqual(seen, [({}, 'train'), ('train', 3, 3)])
    with self.assertRaisesRegex(ValueError, 'not expected args'):
      estimator.Estimator(lambda features, other: None)
    with self.assertRaisesRegex(ValueError, 'does not take labels'):
      found.train(self._input(), steps=1)

  def test_parts_of_the_loops_are_not_overridden(self):
    class Wrong(estimator.Estimator):
      def train(self, *unused):
        pass
    with self.assertRaisesRegex(ValueError, 'cannot override members'):
      Wrong(line_fn)

  def test_evaluation_on_the_way(self):
    line = self._line()
    exported = []

    class Kept(estimator.Exporter):
      name = 'kept'

      def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        exported.append((os.path.relpath(export_path, estimator.model_dir),
                         os.path.basename(checkpoint_path), is_the_final_export))
        return checkpoint_path
    results, paths = estimator.train_and_evaluate(
        line, estimator.TrainSpec(self._input(), max_steps=25),
        estimator.EvalSpec(self._input(1), steps=None, exporters=Kept(), throttle_secs=0))
    self.assertEqual(results['global_step'], 25)
    self.assertEqual(exported, [('export/kept', 'model.ckpt-10', False),
                                ('export/kept', 'model.ckpt-20', False),
                                ('export/kept', 'model.ckpt-25', True)])
    self.assertEqual(len(paths), 1)

  def test_the_best_model_is_exported(self):
    exporter = estimator.BestExporter(serving_input_receiver_fn=lambda: None, exports_to_keep=2)
    written = mock.Mock(side_effect=lambda *unused: len(written.mock_calls))
    exporter._write = written
    model = mock.Mock(model_dir=tempfile.mkdtemp())
    found = [exporter.export(model, '/nowhere', 'c', {'loss': loss}, False)
             for loss in (3.0, 5.0, 2.0, 2.0)]
    self.assertEqual(found, [1, None, 2, None])
    # Another process reads what was the best so far from the events of evaluations.
    folder = tempfile.mkdtemp()
    for step, loss in ((10, 2.0), (20, 1.0)):
      with tf.summary.FileWriter(os.path.join(folder, 'eval'), filename_suffix=str(step)) as writer:
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag='loss', simple_value=loss)]),
                           step)
    model = mock.Mock(model_dir=folder)
    for step, loss, is_exported in ((20, 1.0, True), (30, 1.5, False)):
      exporter = estimator.BestExporter(serving_input_receiver_fn=lambda: None)
      exporter._write = mock.Mock(return_value='path')
      found = exporter.export(model, '/nowhere', 'c', {'loss': loss, 'global_step': step}, False)
      self.assertEqual(found, 'path' if is_exported else None)

  def test_canned_models_learn(self):
    random = np.random.RandomState(0)
    x = {'a': random.randn(200).astype('f'), 'c': random.choice(['u', 'v'], 200)}
    y = ((x['a'] > 0) ^ (x['c'] == 'u')).astype('i8')
    a, c = columns.numeric_column('a'), columns.categorical_column_with_hash_bucket('c', 10)
    both = columns.crossed_column([columns.bucketized_column(a, [0]), 'c'], 100)
    dense, seeded = [a, columns.indicator_column(c)], estimator.RunConfig(tf_random_seed=1)
    for number, model in enumerate((
        estimator.LinearClassifier([a, c, both], config=seeded),
        estimator.DNNClassifier([16], dense, n_classes=3, config=seeded, dropout=0.1,
                                optimizer=lambda: tf.train.AdamOptimizer(0.02)),
        estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=[both], linear_optimizer=lambda: tf.train.AdamOptimizer(0.02),
            dnn_feature_columns=dense, dnn_hidden_units=[4], config=seeded))):
      with self.subTest(number):
        train = estimator.inputs.numpy_input_fn(x, y, 50, None, False)
        every = estimator.inputs.numpy_input_fn(x, y, num_epochs=1, shuffle=False)
        model.train(train, steps=300 if number else 60)
        self.assertGreater(model.evaluate(every)['accuracy'], 0.9)
        row = next(model.predict(every))
        self.assertEqual(row['classes'].tolist(), [str(row['class_ids'][0]).encode()])
        np.testing.assert_allclose(row['probabilities'].sum(), 1, rtol=1e-5)

  def test_weights_and_vocabularies(self):
    model = estimator.BaselineClassifier(n_classes=2, weight_column='w', optimizer='SGD',
                                         label_vocabulary=['no', 'yes'])
    x = {'w': np.array([3, 1], 'f')}
    data = estimator.inputs.numpy_input_fn(x, np.array(['yes', 'no']), 2, None, False)
    model.train(data, steps=200)
    found = model.evaluate(data, steps=1)
    self.assertAlmostEqual(found['prediction/mean'], 0.75, places=2)
    self.assertEqual((found['label/mean'], found['accuracy']), (0.75, 0.75))
    self.assertEqual(next(model.predict(data))['classes'].tolist(), [b'yes'])

  def test_regression_with_several_values(self):
    x = {'a': self.x}
    y = np.stack([self.x * 2 + 1, -self.x], 1)
    data = estimator.inputs.numpy_input_fn(x, y, 4, None, False)
    model = estimator.LinearRegressor([columns.numeric_column('a')], label_dimension=2,
                                      optimizer=lambda: tf.train.AdamOptimizer(0.3))
    model.train(data, steps=300)
    np.testing.assert_allclose([p['predictions'] for _, p in zip(range(4), model.predict(data))],
                               y, atol=0.1)
    self.assertLess(model.evaluate(data, steps=1)['average_loss'], 0.01)

  def test_an_exported_model_is_served(self):
    model = estimator.LinearClassifier([columns.numeric_column('a')], n_classes=3,
                                       label_vocabulary=['n', 'o', 'p'])
    data = estimator.inputs.numpy_input_fn({'a': self.x}, np.array(['n', 'n', 'p', 'p']), 4, None,
                                           False)
    model.train(data, steps=20)
    spec = columns.make_parse_example_spec([columns.numeric_column('a')])
    path = model.export_savedmodel(
        tempfile.mkdtemp(), estimator.export.build_parsing_serving_input_receiver_fn(spec),
        assets_extra={'notes/why': __file__})
    self.assertTrue(os.path.exists(os.path.join(path.decode(), 'assets.extra', 'notes', 'why')))
    expected = [p['probabilities'] for _, p in zip(range(4), model.predict(data))]
    with tf.Graph().as_default(), tf.Session() as session:
      signatures = tf.saved_model.loader.load(session, ['serve'], path.decode()).signature_def
      self.assertEqual(sorted(signatures), ['classification', 'predict', 'serving_default'])
      signature = signatures['serving_default']
      self.assertEqual(signature.method_name, 'tensorflow/serving/classify')
      examples = []
      for value in self.x:
        example = tf.train.Example()
        example.features.feature['a'].float_list.value.append(value)
        examples.append(example.SerializeToString())
      scores, classes = session.run(
          [signature.outputs['scores'].name, signature.outputs['classes'].name],
          {signature.inputs['inputs'].name: examples})
    np.testing.assert_allclose(scores, expected, rtol=1e-5)
    self.assertEqual(classes.tolist(), [[b'n', b'o', b'p']] * 4)

  def test_examples_of_canned_models(self):
    a = columns.numeric_column('a')
    self.assertEqual(estimator.classifier_parse_example_spec([a], 'y', weight_column='w'), {
        'a': tf.FixedLenFeature((1,), tf.float32), 'y': tf.FixedLenFeature((1,), tf.int64),
        'w': tf.FixedLenFeature((1,), tf.float32)})
    self.assertEqual(
        estimator.regressor_parse_example_spec([a], 'y', label_dimension=2)['y'],
        tf.FixedLenFeature((2,), tf.float32))
    with self.assertRaisesRegex(ValueError, 'label should not be used as feature'):
      estimator.regressor_parse_example_spec([a], 'a')

  def test_tasks_of_a_cluster(self):
    cluster = {'chief': ['a:1'], 'ps': ['b:1', 'c:1'], 'worker': ['d:1']}
    for task, index, expected in (
        ('chief', 0, ('grpc://a:1', True, 0)), ('ps', 1, ('grpc://c:1', False, 3)),
        ('worker', 0, ('grpc://d:1', False, 1)), ('evaluator', 0, ('', False, None))):
      found = json.dumps({'cluster': cluster, 'task': {'type': task, 'index': index}})
      with mock.patch.dict(os.environ, {'TF_CONFIG': found}):
        config = estimator.RunConfig()
        self.assertEqual((config.master, config.is_chief, config.global_id_in_cluster), expected)
        self.assertEqual((config.num_ps_replicas, config.num_worker_replicas),
                         (0, 0) if task == 'evaluator' else (2, 2))
    alone = {'cluster': {'ps': ['a:1']}, 'task': {'type': 'ps', 'index': 0}}
    with mock.patch.dict(os.environ, {'TF_CONFIG': json.dumps(alone)}):
      with self.assertRaisesRegex(ValueError, 'must have one "chief" node'):
        estimator.RunConfig()
    with self.assertRaisesRegex(ValueError, 'train_distribute'):
      estimator.RunConfig(train_distribute=object())


if __name__ == '__main__':
  unittest.main()
