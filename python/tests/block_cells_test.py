"""The recurrent cells that are one operation: values and gradients are those of the ordinary cells
with the same variables."""
import unittest

import leat as tf

rnn = tf.contrib.rnn


class BlockCellsTest(unittest.TestCase):

  def setUp(self):
    tf.reset_default_graph()

  def arrays(self, *shapes):
    import numpy as np
    random = np.random.RandomState(7)
    return [random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]

  def check(self, one, other, variables, *inputs):
    """The outputs `one` and `other`, and what they give the variables and the inputs, are equal."""
    import numpy as np
    one, other = [tf.concat([tf.reshape(x, [-1]) for x in outputs], 0) for outputs in (one, other)]
    weights = tf.cos(tf.range(tf.cast(tf.size(one), tf.float32)))
    pairs = [(one, other)] + list(zip(*(tf.gradients(tf.reduce_sum(weights * outputs),
                                                     list(variables) + list(inputs))
                                        for outputs in (one, other))))
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      for found, expected in session.run(pairs):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)

  def run_cell(self, make_cell, x, state):
    """(output, new state) of a new cell, whose variables are those of the cell before it."""
    random = tf.random_uniform_initializer(-1, 1, seed=3)
    with tf.variable_scope('rnn', initializer=random, reuse=tf.AUTO_REUSE):
      return make_cell()(x, state)

  def test_lstm_cell(self):
    for peepholes in (False, True):
      tf.reset_default_graph()
      x, c, h = map(tf.constant, self.arrays((3, 4), (3, 5), (3, 5)))
      state = tf.nn.rnn_cell.LSTMStateTuple(c, h)
      outputs = [self.run_cell(make, x, state) for make in (
          lambda: rnn.LSTMBlockCell(5, forget_bias=0.5, use_peephole=peepholes, name='lstm_cell'),
          lambda: tf.nn.rnn_cell.LSTMCell(5, forget_bias=0.5, use_peepholes=peepholes))]
      self.assertEqual(len(tf.global_variables()), 5 if peepholes else 2)
      flat = [[y, *after] for y, after in outputs]
      self.check(*flat, tf.global_variables(), x, c, h)
      self.assertTrue(any(op.type == 'LSTMBlockCellGrad'
                          for op in tf.get_default_graph().get_operations()))

  def test_gru_cell(self):
    x, h = map(tf.constant, self.arrays((3, 4), (3, 5)))
    outputs = [self.run_cell(make, x, h) for make in (
        lambda: rnn.GRUBlockCellV2(5), lambda: tf.nn.rnn_cell.GRUCell(5))]
    self.assertEqual(len(tf.global_variables()), 4)
    self.check(*[[y] for y, _ in outputs], tf.global_variables(), x, h)

  def test_lstm_over_a_sequence(self):
    x, c, h = map(tf.constant, self.arrays((4, 3, 2), (3, 5), (3, 5)))
    state = tf.nn.rnn_cell.LSTMStateTuple(c, h)
    for lengths in (None, [4, 0, 2], [1, 2, 3]):
      outputs = [self.run_cell(make, x, state) for make in (
          lambda: lambda x, state: rnn.LSTMBlockFusedCell(5, use_peephole=True, name='lstm_cell')(
              x, state, sequence_length=lengths),
          lambda: lambda x, state: tf.nn.dynamic_rnn(
              tf.nn.rnn_cell.LSTMCell(5, use_peepholes=True, name='lstm_cell'), x, lengths, state,
              time_major=True, scope=tf.get_variable_scope()))]
      self.check(*[[y, *after] for y, after in outputs], tf.global_variables(), x, c, h)

  def test_limit_of_the_memory(self):
    import numpy as np
    x, c, h = map(tf.constant, self.arrays((3, 4), (3, 5), (3, 5)))
    y, (memory, _) = rnn.LSTMBlockCell(5, cell_clip=0.25)(x, (c, h))
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      found = session.run(memory)
    self.assertLessEqual(np.abs(found).max(), 0.25)

  def test_other_types_are_refused(self):
    x, h = tf.zeros([3, 4], tf.float64), tf.zeros([3, 5], tf.float64)
    with self.assertRaises(TypeError):
      rnn.GRUBlockCell(5)(x, h)


if __name__ == '__main__':
  unittest.main()
