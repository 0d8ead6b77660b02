"""tf.distribute with one replica: contexts, strategies on one device, and estimators with one."""
import tempfile
import unittest

import numpy as np

import leat as tf


class StrategyTest(unittest.TestCase):

  def test_without_a_strategy_there_is_a_default_one(self):
    strategy = tf.distribute.get_strategy()
    self.assertEqual(strategy.num_replicas_in_sync, 1)
    self.assertFalse(tf.distribute.has_strategy())
    self.assertFalse(tf.distribute.in_cross_replica_context())
    self.assertIs(tf.distribute.get_replica_context().strategy, strategy)

  def test_contexts_of_a_strategy(self):
    strategy = tf.distribute.MirroredStrategy(['/cpu:0'])
    found = []

    def replica(x):
      context = tf.distribute.get_replica_context()
      found.append((tf.distribute.get_strategy() is strategy,
                    tf.distribute.in_cross_replica_context(), context.num_replicas_in_sync))
      found.append(context.merge_call(
          lambda s, y: (s is strategy, tf.distribute.in_cross_replica_context(), y), [7]))
      return x + 1
    with tf.Graph().as_default():
      with strategy.scope():
        self.assertTrue(tf.distribute.has_strategy())
        self.assertIsNone(tf.distribute.get_replica_context())
        v = tf.get_variable('v', [])
      total = strategy.reduce('SUM', strategy.run(replica, [tf.constant([1, 2])]), axis=0)
      self.assertEqual(v.device, '/device:CPU:0')
      with tf.Session() as session:
        self.assertEqual(session.run(total), 5)
    self.assertEqual(found, [(True, False, 1), (True, True, 7)])
    self.assertFalse(tf.distribute.has_strategy())

  def test_several_devices_are_refused(self):
    with self.assertRaisesRegex(NotImplementedError, 'must be one'):
      tf.distribute.MirroredStrategy(['/gpu:0', '/gpu:1'])
    with self.assertRaisesRegex(NotImplementedError, 'must be one'):
      tf.contrib.distribute.MirroredStrategy(num_gpus=2)

  def test_an_estimator_is_the_replica_of_its_strategy(self):
    strategy = tf.contrib.distribute.MirroredStrategy(devices=['/cpu:0'])
    seen = []

    def model_fn(features, labels, mode):
      seen.append((tf.distribute.get_strategy() is strategy,
                   tf.distribute.in_cross_replica_context()))
      loss = tf.losses.mean_squared_error(labels, tf.layers.dense(features, 1))
      train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
      return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)
    config = tf.estimator.RunConfig(model_dir=tempfile.mkdtemp(), train_distribute=strategy)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    x = np.ones([4, 1], np.float32)
    estimator.train(lambda: tf.data.Dataset.from_tensors((x, x)).repeat(3))
    self.assertEqual(estimator.evaluate(lambda: tf.data.Dataset.from_tensors((x, x)))[
        'global_step'], 3)
    self.assertEqual(seen, [(True, False), (False, False)])
    with self.assertRaisesRegex(ValueError, 'train_distribute'):
      tf.estimator.RunConfig(train_distribute='mirrored')


class ConfigurationTest(unittest.TestCase):

  def test_devices_and_settings(self):
    cpus = tf.config.list_physical_devices('CPU')
    self.assertEqual([tuple(d) for d in cpus], [('/physical_device:CPU:0', 'CPU')])
    with self.assertRaisesRegex(ValueError, 'Unrecognized device'):
      tf.config.experimental.set_visible_devices([('x', 'GPU')], 'GPU')
    from leat._platform import configuration
    self.assertIsNone(configuration.default())
    try:
      tf.config.experimental.set_visible_devices([], 'GPU')
      tf.config.threading.set_inter_op_parallelism_threads(3)
      self.assertEqual(tf.config.experimental.list_logical_devices('GPU'), [])
      with tf.Graph().as_default(), tf.Session() as session:
        self.assertEqual(session._config.inter_op_parallelism_threads, 3)
        self.assertEqual([d.device_type for d in session.list_devices()], ['CPU'])
    finally:
      configuration._settings.config = configuration._settings.visible = None


if __name__ == '__main__':
  unittest.main()
