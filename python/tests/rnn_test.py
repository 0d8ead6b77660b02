"""Recurrent networks: cells beside the same in numpy, sequences of several lengths, both
directions, and a model that learns."""
import unittest

import leat as tf
import numpy as np


def sigmoid(x):
  return 1 / (1 + np.exp(-x))


def lstm(x, c, h, kernel, bias):
  i, j, f, o = np.split(np.concatenate([x, h], 1) @ kernel + bias, 4, 1)
  c = c * sigmoid(f + 1) + sigmoid(i) * np.tanh(j)
  return c, np.tanh(c) * sigmoid(o)


def gru(x, h, gates, gate_bias, candidate, candidate_bias):
  r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ gates + gate_bias), 2, 1)
  new = np.tanh(np.concatenate([x, r * h], 1) @ candidate + candidate_bias)
  return u * h + (1 - u) * new


class RnnTest(unittest.TestCase):

  def setUp(self):
    entered = tf.Graph().as_default()
    entered.__enter__()
    self.addCleanup(entered.__exit__, None, None, None)
    random = np.random.RandomState(0)
    self.inputs = random.randn(3, 5, 4).astype('f')
    self.lengths = [5, 2, 0]
    self.random = random

  def _session(self):
    session = tf.Session()
    self.addCleanup(session.close)
    for v in tf.global_variables():
      v.load(self.random.randn(*v.shape.as_list()).astype('f') * 0.5, session)
    return session

  def test_lstm_with_lengths(self):
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(6), self.inputs,
                                       sequence_length=self.lengths, dtype=tf.float32)
    names = [v.name for v in tf.global_variables()]
    self.assertEqual(names, ['rnn/basic_lstm_cell/kernel:0', 'rnn/basic_lstm_cell/bias:0'])
    self.assertEqual(outputs.shape.as_list(), [3, 5, 6])
    session = self._session()
    kernel, bias = session.run(tf.global_variables())
    got, last = session.run([outputs, state])
    for row, length in enumerate(self.lengths):
      c = h = np.zeros((1, 6), 'f')
      for step in range(5):
        if step < length:
          c, h = lstm(self.inputs[row:row + 1, step], c, h, kernel, bias)
        np.testing.assert_allclose(got[row, step], h[0] if step < length else 0, atol=1e-5)
      np.testing.assert_allclose(last.c[row], c[0], atol=1e-5)
      np.testing.assert_allclose(last.h[row], h[0], atol=1e-5)

  def test_gru(self):
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(6), self.inputs, dtype=tf.float32)
    self.assertEqual([v.name for v in tf.global_variables()],
                     ['rnn/gru_cell/' + n for n in ('gates/kernel:0', 'gates/bias:0',
                                                    'candidate/kernel:0', 'candidate/bias:0')])
    session = self._session()
    weights = session.run(tf.global_variables())
    got, h = session.run(outputs), np.zeros((3, 6), 'f')
    for step in range(5):
      h = gru(self.inputs[:, step], h, *weights)
      np.testing.assert_allclose(got[:, step], h, atol=1e-5)

  def test_static_and_dynamic_agree(self):
    for make in (lambda: tf.nn.rnn_cell.BasicRNNCell(3),
                 lambda: tf.nn.rnn_cell.LSTMCell(6, use_peepholes=True, num_proj=3, cell_clip=0.3),
                 lambda: tf.nn.rnn_cell.BasicLSTMCell(3, state_is_tuple=False),
                 lambda: tf.nn.rnn_cell.MultiRNNCell(
                     [tf.nn.rnn_cell.BasicLSTMCell(6), tf.nn.rnn_cell.GRUCell(3)])):
      with tf.Graph().as_default():
        with tf.variable_scope('both') as scope:
          one, one_state = tf.nn.dynamic_rnn(make(), self.inputs, self.lengths, dtype=tf.float32,
                                             scope=scope)
        with tf.variable_scope('both', reuse=True) as scope:
          two, two_state = tf.nn.static_rnn(make(), tf.unstack(self.inputs, axis=1),
                                            dtype=tf.float32, sequence_length=self.lengths,
                                            scope=scope)
        variables = tf.global_variables()
        gradients = [tf.gradients(tf.reduce_sum(o * o), variables)
                     for o in (one, tf.stack(two, 1))]
        session = self._session()
        a, b = session.run([[one, one_state, gradients[0]],
                            [tf.stack(two, 1), two_state, gradients[1]]])
        for x, y in zip(tf.nest.flatten(a), tf.nest.flatten(b)):
          np.testing.assert_allclose(x, y, atol=1e-4)

  def test_both_directions(self):
    cells = tf.nn.rnn_cell.BasicRNNCell(3), tf.nn.rnn_cell.BasicRNNCell(3)
    outputs, _ = tf.nn.bidirectional_dynamic_rnn(*cells, self.inputs, self.lengths,
                                                 dtype=tf.float32)
    turned = tf.reverse_sequence(self.inputs, self.lengths, seq_axis=1, batch_axis=0)
    with tf.variable_scope('bidirectional_rnn/bw', reuse=True) as scope:
      again, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(3, name='basic_rnn_cell'), turned,
                                   self.lengths, dtype=tf.float32, scope=scope)
    again = tf.reverse_sequence(again, self.lengths, seq_axis=1, batch_axis=0)
    a, b = self._session().run([outputs[1], again])
    np.testing.assert_allclose(a, b, atol=1e-6)
    self.assertGreater(np.abs(a).sum(), 0.1)

  def test_time_major_and_unknown_sizes(self):
    fed = tf.placeholder(tf.float32, [None, None, 4])
    cell = tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.BasicRNNCell(4))
    outputs, state = tf.nn.dynamic_rnn(cell, fed, dtype=tf.float32, time_major=True)
    self.assertEqual(outputs.shape.as_list(), [None, None, 4])
    session = self._session()
    for steps in (1, 4):
      got, last = session.run([outputs, state], {fed: self.inputs.transpose(1, 0, 2)[:steps]})
      np.testing.assert_allclose(got[-1], last + self.inputs[:, steps - 1], atol=1e-6)

  def test_dropout_keeps_the_memory(self):
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.BasicLSTMCell(50), output_keep_prob=0.5,
                                         state_keep_prob=0.5, seed=1)
    outputs, state = tf.nn.dynamic_rnn(cell, self.inputs[:, :1], dtype=tf.float32)
    got, last = self._session().run([outputs, state])
    self.assertTrue(20 < (got == 0).sum() < 130)
    self.assertTrue(20 < (last.h == 0).sum() < 130)
    self.assertTrue((last.c != 0).all())
    with self.assertRaises(ValueError):
      tf.nn.rnn_cell.DropoutWrapper(cell, input_keep_prob=1.5)

  def test_a_model_learns(self):
    # The sum of a sequence of bits.
    bits = self.random.randint(0, 2, (64, 8, 1)).astype('f')
    _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(8), bits, dtype=tf.float32)
    sums = tf.layers.dense(state, 1)
    loss = tf.reduce_mean(tf.square(sums - bits.sum(1)))
    train = tf.train.AdamOptimizer(0.02).minimize(loss)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      first = session.run(loss)
      for _ in range(200):
        session.run(train)
      self.assertLess(session.run(loss), first / 20)


if __name__ == '__main__':
  unittest.main()
