"""contrib.learn.Experiment and its runner, and tables of examples in files."""
import os
import tempfile
import unittest

import numpy as np

import leat as tf

learn = tf.contrib.learn


def _model_fn(features, labels, mode):
  y = tf.contrib.layers.fully_connected(features, 1, activation_fn=None)
  loss = tf.losses.mean_squared_error(labels, y)
  train = tf.contrib.layers.optimize_loss(loss, tf.contrib.framework.get_global_step(), 0.1, 'Adam')
  return learn.ModelFnOps(mode, {'y': y}, loss, train)


def _input_fn():
  x = np.linspace(0, 1, 20, dtype=np.float32).reshape(10, 2)
  return tf.constant(x), tf.constant(x.sum(1, keepdims=True))


class ExperimentTest(unittest.TestCase):

  def _experiment(self, folder, **named):
    return learn.Experiment(
        learn.Estimator(_model_fn, folder), _input_fn, _input_fn, train_steps=60, eval_steps=1,
        eval_delay_secs=0, **named)

  def test_it_trains_evaluates_and_exports(self):
    calls = []
    strategy = learn.ExportStrategy('mine', lambda estimator, path: calls.append(path) or 'done')
    metric = learn.MetricSpec(tf.contrib.metrics.streaming_mean_absolute_error)
    folder = tempfile.mkdtemp()
    results, exports = learn.learn_runner.run(lambda output_dir: self._experiment(
        output_dir, eval_metrics={'error': metric}, export_strategies=strategy), folder)
    self.assertEqual((results['global_step'], exports), (60, ['done']))
    self.assertLess(results['error'], 0.5)
    self.assertEqual(calls, [os.path.join(folder, 'export', 'mine')])

  def test_iterations_and_single_steps(self):
    experiment = self._experiment(tempfile.mkdtemp(), train_steps_per_iteration=25)
    self.assertEqual(experiment.test()[0]['global_step'], 1)
    seen = []
    results, _ = experiment.continuous_train_and_eval(
        lambda found: seen.append(found and int(found['global_step'])) or True)
    self.assertEqual(results['global_step'], 60)
    self.assertEqual(seen, [None, 25, 50, 60])

  def test_what_it_refuses(self):
    with self.assertRaisesRegex(ValueError, '`estimator` must implement'):
      learn.Experiment(1, _input_fn, _input_fn)
    with self.assertRaisesRegex(TypeError, 'did not return an Experiment'):
      learn.learn_runner.run(lambda output_dir: 1, tempfile.mkdtemp())
    with self.assertRaisesRegex(ValueError, 'non-existent task other'):
      learn.learn_runner.run(self._experiment, tempfile.mkdtemp(), schedule='other')

  def test_tables_are_read_from_files(self):
    path = os.path.join(tempfile.mkdtemp(), 'iris.csv')
    with open(path, 'w', encoding='utf-8') as f:
      f.write('2,4,a,b,c\n5.1,3.5,1.4,0.2,0\n4.9,3.0,1.4,0.2,1\n')
    iris = learn.datasets.load_iris(path)
    self.assertEqual((iris.data.shape, iris.target.tolist()), ((2, 4), [0, 1]))
    self.assertEqual(learn.datasets.base.load_boston(path).target.dtype, float)


if __name__ == '__main__':
  unittest.main()
