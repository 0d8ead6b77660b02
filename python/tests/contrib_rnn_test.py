"""tf.contrib.rnn: cells against their formulas in numpy, and against each other."""
import unittest

import leat as tf

rnn = tf.contrib.rnn


def sigmoid(x):
  import numpy as np
  return 1 / (1 + np.exp(-x))


class CellsTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def run_cell(self, cell, x, state):
    """(output, new state, {name of a variable: value}) of a step with random variables."""
    with tf.variable_scope('c', initializer=tf.random_uniform_initializer(-1, 1, seed=3)):
      output, new = cell(tf.constant(x), state)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      names = [v.op.name[len('c/'):].partition('/')[2] for v in tf.global_variables()]
      output, new, values = session.run([output, new, tf.global_variables()])
      return output, new, dict(zip(names, values))

  def arrays(self, *shapes):
    import numpy as np
    random = np.random.RandomState(1)
    return [random.rand(*s).astype(np.float32) - 0.5 for s in shapes]

  def test_simple_recurrent_unit(self):
    import numpy as np
    x, c = self.arrays((2, 3), (2, 4))
    output, new, v = self.run_cell(rnn.SRUCell(4), x, tf.constant(c))
    new_x, f, r, through = np.split(x @ v['kernel'], 4, 1)
    f, r = sigmoid(f + v['bias'][:4]), sigmoid(r + v['bias'][4:])
    expected = f * c + (1 - f) * new_x
    np.testing.assert_allclose(new, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(output, r * np.tanh(expected) + (1 - r) * through, rtol=1e-4,
                               atol=1e-6)

  def test_architecture_search(self):
    import numpy as np
    x, c, m = self.arrays((2, 3), (2, 4), (2, 4))
    output, new, v = self.run_cell(rnn.NASCell(4), x, rnn.LSTMStateTuple(tf.constant(c),
                                                                        tf.constant(m)))
    i, h = np.split(x @ v['kernel'], 8, 1), np.split(m @ v['recurrent_kernel'], 8, 1)
    relu = lambda a: np.maximum(a, 0)
    a = [sigmoid(i[0] + h[0]), relu(i[1] + h[1]), sigmoid(i[2] + h[2]), relu(i[3] * h[3]),
         np.tanh(i[4] + h[4]), sigmoid(i[5] + h[5]), np.tanh(i[6] + h[6]), sigmoid(i[7] + h[7])]
    b = [np.tanh(a[0] * a[1]), np.tanh(a[2] + a[3]), np.tanh(a[4] * a[5]), sigmoid(a[6] + a[7])]
    memory = np.tanh(b[0] + c) * b[1]
    np.testing.assert_allclose(new.c, memory, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(output, np.tanh(memory * np.tanh(b[2] + b[3])), rtol=1e-4,
                               atol=1e-6)

  def test_normalised_weights(self):
    import numpy as np
    x, c, h = self.arrays((2, 3), (2, 4), (2, 4))
    output, new, v = self.run_cell(rnn.WeightNormLSTMCell(4), x, rnn.LSTMStateTuple(
        tf.constant(c), tf.constant(h)))
    rows = [v['kernel'][:3], v['kernel'][3:]]
    weights = [r / np.linalg.norm(r, axis=0) * v['norm_%d' % n] for n, r in enumerate(rows)]
    i, j, f, o = np.split(x @ weights[0] + h @ weights[1] + v['bias'], 4, 1)
    memory = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    np.testing.assert_allclose(new.c, memory, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(output, sigmoid(o) * np.tanh(memory), rtol=1e-4, atol=1e-6)

  def test_intersection(self):
    import numpy as np
    x, s = self.arrays((2, 4), (2, 4))
    output, new, v = self.run_cell(rnn.IntersectionRNNCell(4), x, tf.constant(s))
    gh, h, gy, y = np.split(np.concatenate([x, s], 1) @ v['kernel'] + v['bias'], 4, 1)
    gh, gy = sigmoid(gh + 1), sigmoid(gy + 1)
    np.testing.assert_allclose(new, gh * s + (1 - gh) * np.tanh(h), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(output, gy * x + (1 - gy) * np.maximum(y, 0), rtol=1e-4, atol=1e-6)

  def test_convolution_over_one_dimension(self):
    import numpy as np
    x, c, h = self.arrays((1, 5, 2), (1, 5, 3), (1, 5, 3))
    cell = rnn.Conv1DLSTMCell(input_shape=[5, 2], output_channels=3, kernel_shape=[3])
    output, new, v = self.run_cell(cell, x, rnn.LSTMStateTuple(tf.constant(c), tf.constant(h)))
    padded = np.pad(np.concatenate([x, h], 2), [(0, 0), (1, 1), (0, 0)])
    gates = sum(padded[:, k:k + 5] @ v['kernel'][k] for k in range(3)) + v['biases']
    i, j, f, o = np.split(gates, 4, 2)
    memory = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(j)
    np.testing.assert_allclose(new.c, memory, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(output, sigmoid(o) * np.tanh(memory), rtol=1e-4, atol=1e-6)

  def test_a_fused_cell_is_the_cell_over_a_sequence(self):
    import numpy as np
    x, = self.arrays((4, 2, 3))
    lengths = [4, 2]
    with tf.variable_scope('rnn', initializer=tf.random_uniform_initializer(-1, 1, seed=3)):
      fused, state = rnn.LSTMBlockFusedCell(5, use_peephole=True, name='lstm_cell')(
          tf.constant(x), dtype=tf.float32, sequence_length=lengths)
    plain, plain_state = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.LSTMCell(5, use_peepholes=True, reuse=True), tf.constant(x), lengths,
        dtype=tf.float32, time_major=True)
    reverse, _ = rnn.TimeReversedFusedRNN(rnn.FusedRNNCellAdaptor(
        tf.nn.rnn_cell.BasicRNNCell(5)))(tf.constant(x), dtype=tf.float32)
    self.assertEqual(reverse.shape.as_list(), [4, 2, 5])
    self.assertEqual([v.op.name for v in tf.global_variables()][:2], [
        'rnn/lstm_cell/kernel', 'rnn/lstm_cell/bias'])
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      found = session.run([fused, plain, state, plain_state])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found[2], found[3], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found[0][2:, 1], np.zeros((2, 5)))

  def test_stacks_in_both_directions(self):
    x, = self.arrays((2, 4, 3))
    cells = lambda: [tf.nn.rnn_cell.GRUCell(n) for n in (2, 3)]
    outputs, forward, backward = rnn.stack_bidirectional_dynamic_rnn(
        cells(), cells(), tf.constant(x), dtype=tf.float32)
    self.assertEqual(outputs.shape.as_list(), [2, 4, 6])
    self.assertEqual([s.shape.as_list() for s in forward + backward], [[2, 2], [2, 3]] * 2)
    self.assertIn('stack_bidirectional_rnn/cell_1/bidirectional_rnn/bw/gru_cell/gates/kernel',
                  [v.op.name for v in tf.global_variables()])
    with self.assertRaisesRegex(ValueError, 'same depth'):
      rnn.stack_bidirectional_dynamic_rnn(cells(), cells()[:1], tf.constant(x), dtype=tf.float32)

  def test_variational_dropout_drops_the_same_in_all_steps(self):
    import numpy as np
    cell = tf.nn.rnn_cell.DropoutWrapper(
        tf.nn.rnn_cell.BasicRNNCell(50), output_keep_prob=0.5, variational_recurrent=True,
        dtype=tf.float32)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.ones([2, 6, 3]), dtype=tf.float32)
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      dropped = session.run(outputs) == 0
    np.testing.assert_array_equal(dropped, np.broadcast_to(dropped[:1, :1], dropped.shape))
    self.assertTrue(0 < dropped[0, 0].sum() < 50)


if __name__ == '__main__':
  unittest.main()
