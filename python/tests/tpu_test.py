"""tf.contrib.tpu without a TPU: the estimator trains, evaluates, predicts and exports as
tf.estimator's does; batch sizes, metrics and host calls come in the way of TPUs."""
import os
import tempfile
import unittest

import numpy as np

import leat as tf


def _input_fn(params):
  size = params['batch_size']
  x = np.arange(24, dtype=np.float32).reshape(-1, 1) / 24
  dataset = tf.data.Dataset.from_tensor_slices((x, 2 * x + 1))
  return dataset.repeat().batch(size, drop_remainder=True)


def _model_fn(features, labels, mode, params):
  seen.append((mode, params.get('batch_size'), params['use_tpu'], features.shape[0].value))
  predictions = tf.layers.dense(features, 1)
  if mode == tf.estimator.ModeKeys.PREDICT:
    return tf.contrib.tpu.TPUEstimatorSpec(mode, predictions={'y': predictions})
  loss = tf.losses.mean_squared_error(labels, predictions)
  optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(params['rate']))
  train = optimizer.minimize(loss, tf.train.get_global_step())
  return tf.contrib.tpu.TPUEstimatorSpec(
      mode, loss=loss, train_op=train,
      eval_metrics=(lambda labels, p: {'error': tf.metrics.mean_absolute_error(labels, p)},
                    [labels, predictions]),
      host_call=(_host_call, [tf.reshape(loss, [1])]))


def _host_call(loss):
  return tf.py_func(lambda v: calls.append(float(v[0])), [loss], [])


seen, calls = [], []


class TPUEstimatorTest(unittest.TestCase):

  def setUp(self):
    del seen[:], calls[:]

  def _estimator(self, **named):
    config = tf.contrib.tpu.RunConfig(
        model_dir=tempfile.mkdtemp(), tf_random_seed=1,
        tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=10, num_shards=8))
    return tf.contrib.tpu.TPUEstimator(
        _model_fn, config=config, params={'rate': 0.05}, use_tpu=False, train_batch_size=8,
        eval_batch_size=6, predict_batch_size=4, **named)

  def test_it_trains_evaluates_and_predicts(self):
    estimator = self._estimator()
    estimator.train(_input_fn, steps=200)
    self.assertEqual(len(calls), 200)
    self.assertLess(calls[-1], calls[0] / 20)
    found = estimator.evaluate(_input_fn, steps=4)
    self.assertLess(found['error'], 0.3)
    self.assertEqual(found['global_step'], 200)
    rows = estimator.predict(_input_fn)
    self.assertEqual(next(rows)['y'].shape, (1,))
    rows.close()
    self.assertEqual(seen, [('train', 8, False, 8), ('eval', 6, False, 6),
                            ('infer', 4, False, 4)])

  def test_an_export_has_no_batch_size(self):
    estimator = self._estimator()
    estimator.train(_input_fn, steps=1)
    x = lambda: tf.estimator.export.TensorServingInputReceiver(
        tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32, [None, 1]))
    path = estimator.export_savedmodel(tempfile.mkdtemp(), x)
    self.assertTrue(os.path.exists(os.path.join(path.decode(), 'saved_model.pb')))
    self.assertEqual(seen[-1][:2], ('infer', None))

  def test_a_tpu_is_refused_when_it_is_to_run(self):
    config = tf.contrib.tpu.RunConfig(
        model_dir=tempfile.mkdtemp(), cluster=tf.contrib.cluster_resolver.TPUClusterResolver('t'))
    estimator = tf.contrib.tpu.TPUEstimator(_model_fn, config=config, params={'rate': 0.1},
                                            train_batch_size=8)
    with self.assertRaisesRegex(RuntimeError, 'use_tpu=False'):
      estimator.train(_input_fn, steps=1)
    with self.assertRaisesRegex(tf.errors.UnimplementedError, "'t'"):
      config.cluster.master()

  def test_what_the_spec_must_keep(self):
    with self.assertRaisesRegex(ValueError, 'should have two elements'):
      tf.contrib.tpu.TPUEstimatorSpec('train', eval_metrics=(lambda: 1,))
    with self.assertRaisesRegex(TypeError, r'host_call\[0\] should be callable'):
      tf.contrib.tpu.TPUEstimatorSpec('train', host_call=(1, []))
    with self.assertRaisesRegex(ValueError, 'reserved keys'):
      tf.contrib.tpu.TPUEstimator(_model_fn, config=tf.contrib.tpu.RunConfig(),
                                  params={'batch_size': 3}, use_tpu=False)
    with self.assertRaisesRegex(ValueError, 'must be provided with type'):
      tf.contrib.tpu.TPUEstimator(_model_fn, config=tf.estimator.RunConfig(), use_tpu=False)

  def test_bfloat16_variables_are_stored_as_float32(self):
    with tf.Graph().as_default(), tf.contrib.tpu.bfloat16_scope():
      v = tf.get_variable('v', [2], tf.bfloat16)
    self.assertEqual((v.dtype, v.op.type), (tf.bfloat16, 'Cast'))
    self.assertEqual(v.op.inputs[0].dtype.base_dtype, tf.float32)


if __name__ == '__main__':
  unittest.main()
