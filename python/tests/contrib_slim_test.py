"""tf.contrib.slim: training that goes on where it ended, evaluation, datasets from files."""
import os
import tempfile
import unittest

import leat as tf

slim = tf.contrib.slim


class FolderTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name

  def path(self, name):
    return os.path.join(self.folder, name)


class LearningTest(FolderTest):

  def train(self, steps, **named):
    """The loss of a line through points after so many steps, in a graph of its own."""
    with tf.Graph().as_default():
      tf.set_random_seed(1)
      x = tf.constant([[1.0], [2.0], [3.0]])
      y = slim.fully_connected(x, 1, activation_fn=None,
                               weights_initializer=tf.zeros_initializer())
      slim.losses.mean_squared_error(y, tf.constant([[2.0], [4.0], [6.0]]))
      train_op = slim.learning.create_train_op(
          slim.losses.get_total_loss(), tf.train.GradientDescentOptimizer(0.05))
      # No thread saves beside the loop, which saves at its end.
      return slim.learning.train(train_op, number_of_steps=steps, log_every_n_steps=0,
                                 save_interval_secs=0, **named)

  def test_training_goes_on_where_it_ended(self):
    logdir = self.path('log')
    first = self.train(5, logdir=logdir)
    latest = tf.train.latest_checkpoint(logdir)
    self.assertEqual(os.path.basename(latest), 'model.ckpt-5')
    second = self.train(10, logdir=logdir)
    self.assertEqual(os.path.basename(tf.train.latest_checkpoint(logdir)), 'model.ckpt-10')
    self.assertLess(second, first)
    self.assertAlmostEqual(second, self.train(10, logdir=self.path('other')), places=6)

  def test_without_a_folder_nothing_is_written(self):
    self.assertIsNotNone(self.train(3, logdir=None))
    self.assertEqual(os.listdir(self.folder), [])
    with self.assertRaisesRegex(ValueError, 'logdir=None'):
      self.train(3, logdir=None, trace_every_n_steps=1)
    with self.assertRaisesRegex(ValueError, 'positive number'):
      self.train(0, logdir=None)

  def test_steps_of_the_program_end_the_loop(self):
    calls = []

    def step(session, train_op, global_step, arguments):
      calls.append(session.run(global_step))
      return session.run(train_op), len(calls) == 4
    self.train(100, logdir=None, train_step_fn=step)
    self.assertEqual(calls, [0, 1, 2, 3])

  def test_steps_are_traced(self):
    logdir = self.path('traced')
    self.train(3, logdir=logdir, trace_every_n_steps=2)
    names = sorted(n for n in os.listdir(logdir) if n.startswith('tf_trace'))
    self.assertEqual(names, ['tf_trace-1.json', 'tf_trace-3.json'])

  def test_evaluation(self):
    checkpoint = self.path('model')
    with tf.Graph().as_default(), tf.Session() as session:
      tf.train.create_global_step()
      tf.Variable(3.0, name='v')
      session.run(tf.global_variables_initializer())
      tf.train.Saver().save(session, checkpoint)
    with tf.Graph().as_default():
      tf.train.create_global_step()
      v = tf.Variable(0.0, name='v')
      mean, update = slim.metrics.streaming_mean(v * 2.0)
      found = slim.evaluation.evaluate_once(
          '', checkpoint, self.path('eval'), num_evals=3, eval_op=update, final_op=mean)
    self.assertEqual(found, 6.0)


class DataTest(FolderTest):

  def setUp(self):
    super().setUp()
    for i in range(2):
      with tf.python_io.TFRecordWriter(self.path('data-%d' % i)) as writer:
        for j in range(3):
          feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[10 * i + j]))
          writer.write(tf.train.Example(features=tf.train.Features(
              feature={'n': feature})).SerializeToString())
    decoder = slim.tfexample_decoder.TFExampleDecoder(
        {'n': tf.FixedLenFeature([], tf.int64)}, {'number': slim.tfexample_decoder.Tensor('n')})
    self.dataset = slim.dataset.Dataset(self.path('data-*'), tf.TFRecordReader, decoder, 6, {})

  def items(self, provider_of):
    found = []
    with tf.Graph().as_default():
      number = provider_of()
      with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        try:
          with slim.queues.QueueRunners(session):
            while True:
              found.append(int(session.run(number)))
        except tf.errors.OutOfRangeError:
          return found

  def test_all_examples_come_once_an_epoch(self):
    def provide():
      provider = slim.dataset_data_provider.DatasetDataProvider(
          self.dataset, num_readers=2, num_epochs=1, common_queue_min=1)
      self.assertEqual(sorted(provider.list_items()), ['number', 'record_key'])
      with self.assertRaisesRegex(ValueError, 'invalid'):
        provider.get(['other'])
      return provider.get(['number'])[0]
    self.assertEqual(sorted(self.items(provide)), [0, 1, 2, 10, 11, 12])

  def test_one_pass_keeps_the_order(self):
    def provide():
      _, value = slim.parallel_reader.single_pass_read(
          [self.path('data-%d' % i) for i in (1, 0, 0, 1, 1)], tf.TFRecordReader)
      return self.dataset.decoder.decode(value)[0]
    first, second = [0, 1, 2], [10, 11, 12]
    self.assertEqual(self.items(provide), second + first + first + second + second)

  def test_queue_runners_do_not_nest(self):
    with tf.Graph().as_default(), tf.Session() as session:
      with slim.queues.QueueRunners(session):
        with self.assertRaises(slim.queues.NestedQueueRunnerError):
          with slim.queues.QueueRunners(session):
            pass

  def test_how_large_a_model_is(self):
    with tf.Graph().as_default():
      tf.Variable(tf.zeros([3, 4]))
      tf.Variable(tf.zeros([5], tf.float64))
      self.assertEqual(slim.model_analyzer.analyze_vars(tf.global_variables()), (17, 88))


if __name__ == '__main__':
  unittest.main()
