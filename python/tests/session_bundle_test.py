"""Exported models from before SavedModel: signatures, versions, files, and estimators' exports."""
import os
import tempfile
import unittest

import leat as tf
import numpy as np

exporter = tf.contrib.session_bundle.exporter
learn = tf.contrib.learn


def signatures_of(folder):
  """(Signatures, names of the collections) of an exported version."""
  with tf.Graph().as_default():
    saver = tf.train.import_meta_graph(os.path.join(folder, 'export.meta'))
    collections = saver.export_meta_graph().collection_def
  found = tf.contrib.session_bundle.manifest_pb2.Signatures()
  packed, = collections['serving_signatures'].any_list.value
  assert packed.Unpack(found)
  return found, set(collections)


def run(folder, fetch, feeds):
  """A tensor of an exported model, by its name."""
  with tf.Graph().as_default(), tf.Session() as session:
    saver = tf.train.import_meta_graph(os.path.join(folder, 'export.meta'))
    saver.restore(session, os.path.join(folder, 'export'))
    return session.run(fetch, feeds)


class ExporterTest(unittest.TestCase):

  def setUp(self):
    self.folder = self.enterContext(tempfile.TemporaryDirectory())
    self.enterContext(tf.Graph().as_default())
    self.x = tf.placeholder(tf.float32, [None], name='x')
    self.y = tf.multiply(self.x, tf.get_variable('w', initializer=3.0), name='y')
    self.session = self.enterContext(tf.Session())
    self.session.run(tf.global_variables_initializer())

  def test_a_model(self):
    asset = os.path.join(self.folder, 'words')
    with open(asset, 'w') as f:
      f.write('a')
    made = exporter.Exporter(tf.train.Saver())
    made.init(init_op=tf.no_op(), default_graph_signature=exporter.regression_signature(
        self.x, self.y), named_graph_signatures={
            'both': exporter.generic_signature({'in': self.x, 'out': self.y})},
              assets_collection=[tf.constant(asset, name='path')])
    base = os.path.join(self.folder, 'models')
    folder = made.export(base, tf.constant(12), self.session)
    self.assertEqual(folder, os.path.join(base, '00000012').encode())
    folder = folder.decode()
    found, collections = signatures_of(folder)
    self.assertEqual(found.default_signature.regression_signature.output.tensor_name, 'y:0')
    self.assertEqual(found.default_signature.WhichOneof('type'), 'regression_signature')
    bindings = found.named_signatures['both'].generic_signature.map
    self.assertEqual({k: v.tensor_name for k, v in bindings.items()}, {'in': 'x:0', 'out': 'y:0'})
    self.assertLess({'serving_init_op', 'serving_assets'}, collections)
    with open(os.path.join(folder, 'assets', 'words')) as f:
      self.assertEqual(f.read(), 'a')
    self.assertEqual(run(folder, 'y:0', {'x:0': [2, 4]}).tolist(), [6, 12])
    with self.assertRaisesRegex(tf.errors.AlreadyExistsError, '00000012 exists already'):
      made.export(base, 12, self.session)

  def test_old_versions_go(self):
    made = exporter.Exporter(tf.train.Saver())
    with self.assertRaisesRegex(RuntimeError, 'init must be called first'):
      made.export(self.folder, 1, self.session)
    made.init()
    for step in (9, 10, 100, 20):
      made.export(self.folder, step, self.session, exports_to_keep=2)
    self.assertEqual(sorted(os.listdir(self.folder)), ['00000020', '00000100'])
    with self.assertRaisesRegex(RuntimeError, 'only once'):
      made.init()

  def test_signatures_of_classes(self):
    signature = exporter.classification_signature(self.x, scores_tensor=self.y)
    self.assertEqual(signature.classification_signature.scores.tensor_name, 'y:0')
    self.assertFalse(signature.classification_signature.HasField('classes'))
    utils = learn.utils.export
    signature, named = utils.classification_signature_fn(
        self.x, None, {'classes': self.y, 'probabilities': self.x})
    self.assertEqual((signature.classification_signature.classes.tensor_name,
                      signature.classification_signature.scores.tensor_name, named),
                     ('y:0', 'x:0', {}))
    signature, _ = utils.generic_signature_fn(self.x, None, self.y)
    self.assertEqual(sorted(signature.generic_signature.map), ['examples', 'outputs'])
    signature, _ = utils.logistic_regression_signature_fn(
        self.x, None, {'probabilities': tf.ones([2, 2])})
    self.assertEqual(signature.WhichOneof('type'), 'regression_signature')
    with self.assertRaisesRegex(ValueError, 'examples cannot be None'):
      utils.regression_signature_fn(None, None, self.y)


class EstimatorExportTest(unittest.TestCase):

  def setUp(self):
    tf.logging.set_verbosity(tf.logging.ERROR)
    self.addCleanup(tf.logging.set_verbosity, tf.logging.get_verbosity())
    self.folder = self.enterContext(tempfile.TemporaryDirectory())
    self.base = os.path.join(self.folder, 'export')
    self.columns = [tf.contrib.layers.real_valued_column('', dimension=1)]

  def test_a_monitor_exports_checkpoints(self):
    monitor = learn.monitors.ExportMonitor(1, self.base)
    regressor = learn.LinearRegressor(self.columns, os.path.join(self.folder, 'model'))
    x = np.linspace(0, 1, 50)[:, None]
    regressor.fit(x, 2 * x[:, 0] + 3, steps=10, monitors=[monitor])
    # There are checkpoints of the beginning and of the last step.
    self.assertEqual(sorted(os.listdir(self.base)), ['00000000', '00000010'])
    folder = os.path.join(self.base, '00000010')
    self.assertEqual(monitor.last_export_dir, folder.encode())
    signature = signatures_of(folder)[0].default_signature.regression_signature
    example = tf.train.Example(features=tf.train.Features(feature={
        '': tf.train.Feature(float_list=tf.train.FloatList(value=[0.5]))}))
    given = run(folder, signature.output.tensor_name, {
        signature.input.tensor_name: [example.SerializeToString()]})
    np.testing.assert_allclose(given.ravel(), list(regressor.predict(np.array([[0.5]]))),
                               rtol=1e-5)

  def test_versions_that_are_kept_and_signatures_of_the_program(self):
    seen = []

    def signature_fn(examples, features, predictions):
      seen.append((examples.op.name, features.dtype))
      return exporter.regression_signature(examples, predictions), {
          'more': exporter.generic_signature({'a': predictions})}
    monitor = learn.monitors.ExportMonitor(1, self.base, exports_to_keep=1,
                                           signature_fn=signature_fn)
    regressor = learn.LinearRegressor(self.columns, os.path.join(self.folder, 'model'))
    x = np.ones([4, 1])
    regressor.fit(x, x[:, 0], steps=3, monitors=[monitor])
    self.assertEqual(os.listdir(self.base), ['00000003'])
    self.assertEqual(seen[0], ('input_example_tensor', tf.float64))
    found, _ = signatures_of(os.path.join(self.base, '00000003'))
    self.assertEqual(list(found.named_signatures), ['more'])

  def test_an_input_function(self):
    classifier = learn.LinearClassifier(self.columns, os.path.join(self.folder, 'model'))
    with self.assertRaisesRegex(RuntimeError, "Couldn't find trained model"):
      classifier.export(self.base)
    x = np.ones([4, 1], 'f')
    classifier.fit(x, np.array([0, 1, 0, 1]), steps=2)

    def input_fn():
      serialized = tf.placeholder(tf.string, [None], name='serialized')
      parsed = tf.parse_example(serialized, {'x': tf.FixedLenFeature([1], tf.float32)})
      return {'': parsed['x'], 'raw': serialized}, None
    folder = classifier.export(self.base, input_fn=input_fn, input_feature_key='raw',
                               use_deprecated_input_fn=False)
    signature = signatures_of(folder.decode())[0].default_signature.classification_signature
    self.assertEqual(signature.input.tensor_name, 'serialized:0')
    example = tf.train.Example()
    example.features.feature['x'].float_list.value.append(1.0)
    chances = run(folder.decode(), signature.scores.tensor_name, {
        'serialized:0': [example.SerializeToString()] * 3})
    np.testing.assert_allclose(chances, [next(classifier.predict_proba(x))] * 3, rtol=1e-5)

  def test_sequences_of_classes(self):
    logits = [np.array([[1., 2.], [0., 0.]], 'f'), np.array([[3., 1.], [1., 1.]], 'f')]
    labels = [np.array([[1., 0.], [0., 1.]], 'f')] * 2
    with tf.Graph().as_default(), tf.Session() as session:
      classify = learn.ops.sequence_classifier
      chances, loss = session.run(classify(logits, labels))
      sampled, _ = session.run(classify(logits, labels, logits[::-1]))
    softmax = lambda z: np.exp(z) / np.exp(z).sum(1, keepdims=True)
    wanted = np.stack([softmax(z) for z in logits], 1)
    np.testing.assert_allclose(chances, wanted, rtol=1e-5)
    np.testing.assert_allclose(sampled, wanted[:, ::-1], rtol=1e-5)
    chosen = [wanted[i, step, i] for step in (0, 1) for i in (0, 1)]
    self.assertAlmostEqual(float(loss), -np.log(chosen).sum(), places=5)


if __name__ == '__main__':
  unittest.main()
