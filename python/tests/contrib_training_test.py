"""contrib.training: the loops that train and evaluate, gradients that are changed, segments of
sequences with their states, classes that are drawn in their proportions, balanced servers."""
import os
import tempfile
import unittest

import leat as tf
import numpy as np

training = tf.contrib.training


class TrainingTest(unittest.TestCase):

  def setUp(self):
    self._enter_graph()

  def _enter_graph(self):
    entered = tf.Graph().as_default()
    entered.__enter__()
    self.addCleanup(entered.__exit__, None, None, None)

  def _folder(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    return folder.name

  def _loss(self):
    x = tf.get_variable('x', [], initializer=tf.constant_initializer(4.0))
    return x, tf.square(x)

  def test_a_loop_trains_and_another_evaluates_its_checkpoints(self):
    folder = self._folder()
    _, loss = self._loss()
    train_op = training.create_train_op(loss, tf.train.GradientDescentOptimizer(0.25))
    last = training.train(train_op, folder, hooks=[tf.train.StopAtStepHook(3)])
    self.assertEqual(last, 1.0)   # 4, 2, 1: the third step begins at 1
    self.assertEqual(os.path.basename(training.wait_for_new_checkpoint(folder)), 'model.ckpt-3')
    self._enter_graph()
    x, _ = self._loss()
    seen = tf.get_local_variable('seen', [], initializer=tf.zeros_initializer())
    tf.summary.scalar('x', x)
    arguments = dict(eval_ops=tf.assign_add(seen, x), final_ops={'seen': seen.value()}, hooks=[
        training.StopAfterNEvalsHook(4), training.SummaryAtEndHook(folder + '/eval')])
    values = training.evaluate_once(training.wait_for_new_checkpoint(folder), **arguments)
    self.assertEqual(values, {'seen': 2.0})
    values = training.evaluate_repeatedly(folder, max_number_of_evaluations=1, **arguments)
    self.assertEqual(values, {'seen': 2.0})
    event_file, = os.listdir(folder + '/eval')
    found = [(e.step, v.simple_value) for e in tf.train.summary_iterator(
        os.path.join(folder, 'eval', event_file)) for v in e.summary.value]
    self.assertEqual(found, [(3, 0.5), (3, 0.5)])

  def test_no_new_checkpoint_ends_the_iterator(self):
    asked = []
    found = list(training.checkpoints_iterator(
        self._folder(), timeout=0, timeout_fn=lambda: asked.append(0) or len(asked) == 3))
    self.assertEqual((found, len(asked)), ([], 3))

  def test_gradients_are_clipped_and_multiplied(self):
    x, loss = self._loss()
    change = lambda pairs: training.multiply_gradients(
        training.clip_gradient_norms(pairs, 2.0), {x: 0.5})
    train_op = training.create_train_op(loss, tf.train.GradientDescentOptimizer(1.0),
                                        transform_grads_fn=change)
    self.assertIn(train_op, tf.get_collection(tf.GraphKeys.TRAIN_OP))
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      self.assertEqual(session.run(train_op), 16.0)
      self.assertEqual(session.run([x, tf.train.get_global_step()]), [3.0, 1])

  def test_updates_run_with_the_loss_and_bad_losses_fail(self):
    x, loss = self._loss()
    other = tf.get_variable('other', [], trainable=False)
    tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, tf.assign(other, 1e30))
    train_op = training.create_train_op(loss / (x - x), tf.train.GradientDescentOptimizer(0.0))
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'LossTensor is inf or nan'):
        session.run(train_op)
      self.assertEqual(session.run(other), np.float32(1e30))

  def test_states_reach_the_next_segment_of_their_sequence(self):
    key, length = tf.placeholder(tf.string, []), tf.placeholder(tf.int32, [])
    values = tf.placeholder(tf.float32, [None])
    saver = training.SequenceQueueingStateSaver(
        batch_size=2, num_unroll=2, input_length=length, input_key=key,
        input_sequences={'values': values}, input_context={'twice': 2 * length},
        initial_states={'sum': tf.constant(0.0)}, capacity=4)
    batch = saver.next_batch
    total = batch.state('sum') + tf.reduce_sum(batch.sequences['values'], 1)
    fetches = [batch.key, batch.next_key, batch.length, batch.context['twice'], total,
               batch.save_state('sum', total)]
    with tf.Session() as session:
      for name, row in (('a', [1, 2, 3, 0]), ('b', [10, 20, 30, 40])):
        session.run(saver.prefetch_op, {key: name, values: row, length: np.count_nonzero(row)})
      found = []
      for _ in range(2):
        taken = session.run(fetches)[:5]
        found.append(sorted(zip(*[v.tolist() for v in taken])))
    self.assertEqual(found, [
        [(b'00000_of_00002:a', b'00001_of_00002:a', 2, 6, 3.0),
         (b'00000_of_00002:b', b'00001_of_00002:b', 2, 8, 30.0)],
        [(b'00001_of_00002:a', b'STOP:a', 1, 6, 6.0),
         (b'00001_of_00002:b', b'STOP:b', 2, 8, 100.0)]])

  def test_capacity_is_checked(self):
    arguments = dict(num_unroll=2, input_length=2, input_key='k', input_context={},
                     input_sequences={'s': tf.zeros([2])}, initial_states={'t': tf.zeros([])},
                     capacity=3)
    with self.assertRaisesRegex(ValueError, 'capacity needs to be >= batch_size'):
      training.SequenceQueueingStateSaver(batch_size=4, **arguments)
    saver = training.SequenceQueueingStateSaver(batch_size=tf.constant(4), **arguments)
    with tf.Session() as session:
      session.run(saver.prefetch_op)
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'capacity needs to be'):
        session.run(saver.next_batch.key)

  def test_classes_come_in_their_proportions(self):
    label = tf.random_uniform([], maxval=4, dtype=tf.int32, seed=1)
    tf.set_random_seed(1)
    values, labels = training.stratified_sample(
        [tf.cast(label, tf.float32) * 2], label, [0, 0.5, 0.25, 0.25], 100, [0.25] * 4)
    with tf.Session() as session:
      coordinator = tf.train.Coordinator()
      threads = tf.train.start_queue_runners(session, coordinator)
      got, found = session.run([values[0], labels])
      counts = np.bincount(np.concatenate([found] + [session.run(labels) for _ in range(9)]),
                           minlength=4)
      coordinator.request_stop()
      coordinator.join(threads)
    np.testing.assert_array_equal(got, found * 2)
    np.testing.assert_allclose(counts / 1000, [0, 0.5, 0.25, 0.25], atol=0.06)

  def test_rows_are_repeated(self):
    rates = tf.constant([0.0, 40.0, 10.0])
    rows, = training.resample_at_rate([tf.constant([5, 6, 7])], rates, seed=1)
    with tf.Session() as session:
      counts = np.bincount(session.run(rows), minlength=8)
    self.assertEqual(counts[:6].sum(), 0)
    self.assertTrue(20 < counts[6] < 60 and 1 < counts[7] < 25, counts)

  def test_variables_are_spread_by_their_size(self):
    strategy = training.GreedyLoadBalancingStrategy(2, training.byte_size_load_fn)
    with tf.device(tf.train.replica_device_setter(ps_tasks=2, ps_strategy=strategy)):
      found = [tf.get_variable(n, s).device for n, s in (
          ('a', [9]), ('b', [2]), ('c', [3]), ('d', [1]))]
    self.assertEqual([d[-1] for d in found], list('0111'))

  def test_hyperparameters(self):
    found = training.HParams(rate=0.5, units=[1, 2], name='relu')
    found.parse('rate=1,units=[3,4],name=tanh')
    self.assertEqual(str(found), "[('name', 'tanh'), ('rate', 1.0), ('units', [3, 4])]")
    copied = training.HParams(hparam_def=type(found.to_proto()).FromString(
        found.to_proto().SerializeToString()))
    self.assertEqual(copied.values(), {'rate': 1.0, 'units': [3, 4], 'name': 'tanh'})
    self.assertEqual(found.get('rate', 2.0), 1.0)
    self.assertEqual(found.get('other', 2.0), 2.0)
    with self.assertRaisesRegex(ValueError, 'incompatible with default'):
      found.get('rate', [2.0])


if __name__ == '__main__':
  unittest.main()
