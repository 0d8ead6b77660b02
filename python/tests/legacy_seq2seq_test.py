"""Sequence to sequence models over lists: what is fed back, names of variables, attention, losses,
buckets, and a model that learns to reverse."""
import unittest

import leat as tf
import numpy as np

legacy = tf.contrib.legacy_seq2seq


class LegacySeq2SeqTest(unittest.TestCase):

  def setUp(self):
    entered = tf.Graph().as_default()
    entered.__enter__()
    self.addCleanup(entered.__exit__, None, None, None)
    tf.set_random_seed(1)

  def _run(self, fetches, feeds=None):
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      return session.run(fetches, feeds)

  def _ids(self, rows):
    return [tf.constant(column) for column in np.transpose(rows).tolist()]

  def test_the_largest_output_is_the_next_input(self):
    cell = tf.nn.rnn_cell.GRUCell(4)
    with tf.variable_scope('model') as scope:
      outputs, _ = legacy.embedding_rnn_seq2seq(
          self._ids([[1, 2], [3, 4]]), self._ids([[0, 0, 0]] * 2), cell, 5, 6, 3,
          feed_previous=True)
      ids = [tf.zeros([2], tf.int32)] + [
          tf.cast(tf.argmax(o, 1), tf.int32) for o in outputs[:-1]]
    with tf.variable_scope(scope, reuse=True):
      same, _ = legacy.embedding_rnn_seq2seq(self._ids([[1, 2], [3, 4]]), ids, cell, 5, 6, 3)
    names = [v.op.name[len('model/embedding_rnn_seq2seq/'):] for v in tf.global_variables()]
    encoder = 'rnn/embedding_wrapper/'
    decoder = 'embedding_rnn_decoder/rnn_decoder/output_projection_wrapper/'
    gates = ['gru_cell/%s/%s' % (g, v) for g in ('gates', 'candidate') for v in ('kernel', 'bias')]
    self.assertEqual(names, [encoder + n for n in ['embedding'] + gates] + [
        'embedding_rnn_decoder/embedding'] + [decoder + n for n in gates + ['kernel', 'bias']])
    got, expected = self._run([outputs, same])
    np.testing.assert_allclose(got, expected, atol=1e-6)

  def test_a_tensor_chooses_what_is_fed(self):
    chosen = tf.placeholder(tf.bool, [])
    for function in (legacy.embedding_rnn_seq2seq, legacy.embedding_attention_seq2seq):
      outputs, state = function(
          self._ids([[1, 2]]), self._ids([[0, 4, 1]]), tf.nn.rnn_cell.BasicLSTMCell(4), 5, 6, 3,
          feed_previous=chosen, scope=function.__name__)
      self.assertEqual(len(outputs), 3)
      with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        fed, given = (session.run([outputs, state], {chosen: c}) for c in (True, False))
      np.testing.assert_allclose(fed[0][0], given[0][0], atol=1e-6)
      self.assertGreater(np.abs(fed[0][2] - given[0][2]).max(), 1e-6)
      self.assertEqual(type(fed[1]).__name__, 'LSTMStateTuple')

  def test_attention(self):
    random = np.random.RandomState(0)
    memory = random.randn(2, 3, 4).astype('f')
    inputs = [tf.constant(random.randn(2, 2).astype('f')) for _ in range(2)]
    outputs, _ = legacy.attention_decoder(
        inputs, tf.constant(random.randn(2, 5).astype('f')), memory, tf.nn.rnn_cell.GRUCell(5),
        output_size=3, num_heads=2, initial_state_attention=True)
    self.assertEqual([o.shape.as_list() for o in outputs], [[2, 3], [2, 3]])
    names = {v.op.name for v in tf.global_variables()}
    self.assertTrue({'attention_decoder/' + n for n in (
        'AttnW_0', 'AttnV_1', 'Attention_1/kernel', 'Attention_0/bias', 'kernel', 'bias',
        'gru_cell/gates/kernel', 'AttnOutputProjection/kernel')} <= names, names)
    self._run(outputs)
    with self.assertRaisesRegex(ValueError, 'at least 1 input'):
      legacy.attention_decoder([], None, memory, None)

  def test_losses(self):
    random = np.random.RandomState(0)
    logits, targets = random.randn(2, 3, 5).astype('f'), random.randint(0, 5, [2, 3])
    weights = np.array([[1, 1, 0], [2, 1, 0]], 'f')
    losses = weights * -np.take_along_axis(
        logits - np.log(np.exp(logits).sum(-1, keepdims=True)), targets[..., None], 2)[..., 0]
    lists = [[tf.constant(a) for a in arrays] for arrays in (logits, targets, weights)]
    got = self._run([legacy.sequence_loss_by_example(*lists), legacy.sequence_loss(*lists),
                     legacy.sequence_loss_by_example(*lists, average_across_timesteps=False)])
    np.testing.assert_allclose(got[0], losses.sum(0) / [3, 2, 1], rtol=1e-5)
    np.testing.assert_allclose(got[1], (losses.sum(0) / [3, 2, 1]).sum() / 3, rtol=1e-5)
    np.testing.assert_allclose(got[2], losses.sum(0), rtol=1e-5)

  def test_a_model_with_buckets_learns_to_reverse(self):
    random = np.random.RandomState(0)
    rows = random.randint(1, 5, [64, 3])
    inputs = self._ids(rows)
    decoder_inputs = self._ids(np.concatenate([np.zeros([64, 1], int), rows[:, :0:-1]], 1))
    targets = self._ids(rows[:, ::-1])
    weights = [tf.ones([64])] * 3
    cell = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.GRUCell(16)])
    outputs, losses = legacy.model_with_buckets(
        inputs, decoder_inputs, targets, weights, [(2, 1), (3, 3)],
        lambda x, y: legacy.embedding_attention_seq2seq(x, y, cell, 5, 5, 8))
    self.assertEqual(len(tf.trainable_variables()), 20)
    self.assertEqual([len(o) for o in outputs], [1, 3])
    train_op = tf.train.AdamOptimizer(0.02).minimize(losses[1])
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      first = session.run(losses[1])
      for _ in range(120):
        session.run(train_op)
      self.assertLess(session.run(losses[1]), first / 4)


if __name__ == '__main__':
  unittest.main()
