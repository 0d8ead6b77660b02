"""Decoders: beam search beside the search over all sequences, sequences read back along parents,
lengths, losses, and monotonic attention beside its recurrence."""
import itertools
import unittest

import leat as tf
import numpy as np

seq2seq = tf.contrib.seq2seq
WORDS, END = 4, 0


class Chain(tf.nn.rnn_cell.RNNCell):
  """A cell whose outputs are the logarithms of the next word's probabilities, by the word that is
  its input; its state counts the steps."""
  state_size = property(lambda self: 1)
  output_size = property(lambda self: WORDS)

  def __init__(self, logits):
    super().__init__()
    self._logits = tf.constant(logits)

  def call(self, inputs, state):
    return tf.matmul(inputs, self._logits), state + 1


def best_sequences(log_probs, start, steps):
  """All sequences of at most `steps` words by their log probabilities, the best first; after the
  end token there are only end tokens."""
  found = {}
  for words in itertools.product(range(WORDS), repeat=steps):
    total, last, words = 0.0, start, list(words)
    for n, word in enumerate(words):
      total += log_probs[last, word]
      last = word
      if word == END:
        words[n:] = [END] * (steps - n)
        break
    found[tuple(words)] = total
  return sorted(found.items(), key=lambda item: -item[1])


class Seq2SeqTest(unittest.TestCase):

  def setUp(self):
    entered = tf.Graph().as_default()
    entered.__enter__()
    self.addCleanup(entered.__exit__, None, None, None)

  def _run(self, fetches):
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      return session.run(fetches)

  def test_beams_are_the_best_sequences(self):
    # A beam as wide as there are prefixes loses nothing.
    logits = np.random.RandomState(1).randn(WORDS, WORDS).astype('f')
    cell, width, steps, starts = Chain(logits), WORDS ** 2, 3, [1, 3]
    state = cell.zero_state(2 * width, tf.float32)
    decoder = seq2seq.BeamSearchDecoder(cell, np.eye(WORDS, dtype='f'), starts, END, state, width)
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    words, scores, lengths = self._run([
        outputs.predicted_ids, outputs.beam_search_decoder_output.scores, lengths])
    log_probs = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    for row, start in enumerate(starts):
      expected = best_sequences(log_probs, start, steps)[:width]
      np.testing.assert_allclose(scores[row, -1], [s for _, s in expected], atol=1e-4)
      self.assertEqual([tuple(words[row, :, n]) for n in range(width)], [w for w, _ in expected])
    self.assertEqual(lengths.shape, (2, width))

  def test_long_sequences_win_with_a_length_penalty(self):
    logits = np.full((WORDS, WORDS), -3.0, 'f')
    logits[:, END], logits[:, 2] = 0.2, 0.0
    first = []
    for weight in (0.0, 5.0):
      cell = Chain(logits)
      decoder = seq2seq.BeamSearchDecoder(
          cell, np.eye(WORDS, dtype='f'), [1], END, cell.zero_state(4, tf.float32), 4,
          length_penalty_weight=weight)
      outputs, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
      first.append(self._run(outputs.predicted_ids)[0, :, 0].tolist())
    self.assertEqual(first, [[END] * 4, [2, 2, 2, 2]])

  def test_sequences_are_read_along_their_parents(self):
    words = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[9, 9, 9]]], 'i')
    parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]], 'i')
    found = seq2seq.gather_tree(words, parents, [3], 10)
    self.assertEqual(found.shape.as_list(), [4, 1, 3])
    self.assertEqual(self._run(found)[:, 0].tolist(),
                     [[2, 2, 2], [6, 5, 6], [7, 8, 9], [10, 10, 10]])
    parents[1, 0, 2] = 3
    with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                r'parent id 3 at \(batch, time, beam\) == \(0, 0, 0\)'):
      self._run(seq2seq.gather_tree(words, parents, [3], 10))

  def test_alignments_follow_their_beams(self):
    # The history of alignments has the order of the whole sequences, as the words have.
    memory = np.random.RandomState(2).randn(1, 3, 5).astype('f')
    width = 2
    mechanism = seq2seq.LuongAttention(6, seq2seq.tile_batch(memory, width))
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.LSTMCell(6), mechanism, attention_layer_size=4,
                                    alignment_history=True)
    decoder = seq2seq.BeamSearchDecoder(
        cell, np.random.RandomState(3).randn(WORDS, 4).astype('f'), [1], END,
        cell.zero_state(width, tf.float32), width, output_layer=tf.layers.Dense(WORDS))
    _, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
    history = self._run(state.cell_state.alignment_history)
    self.assertEqual(history.shape[1:], (width, 3))
    np.testing.assert_allclose(history.sum(-1), 1, atol=1e-5)
    self.assertEqual([v.name for v in tf.trainable_variables()][:4], [
        'memory_layer/kernel:0', 'decoder/attention_wrapper/lstm_cell/kernel:0',
        'decoder/attention_wrapper/lstm_cell/bias:0',
        'decoder/attention_wrapper/attention_layer/kernel:0'])

  def test_ended_sequences_keep_their_state(self):
    inputs = np.random.RandomState(0).randn(3, 5, 4).astype('f')
    lengths = [2, 5, 1]
    cell = tf.nn.rnn_cell.GRUCell(6)
    decoder = seq2seq.BasicDecoder(cell, seq2seq.TrainingHelper(inputs, lengths),
                                   cell.zero_state(3, tf.float32))
    with tf.variable_scope('same') as scope:
      outputs, state, found = seq2seq.dynamic_decode(decoder, impute_finished=True, scope=scope)
    with tf.variable_scope(scope, reuse=True):
      expected, last = tf.nn.dynamic_rnn(cell, inputs, lengths, dtype=tf.float32, scope=scope)
    got = self._run([outputs.rnn_output, state, found, expected, last])
    np.testing.assert_allclose(got[0], got[3], atol=1e-6)
    np.testing.assert_allclose(got[1], got[4], atol=1e-6)
    self.assertEqual(got[2].tolist(), lengths)

  def test_greedy_decoding_ends_with_the_token(self):
    logits = np.full((WORDS, WORDS), -9.0, 'f')
    logits[1, 2] = logits[2, 3] = logits[3, END] = 9.0
    cell = Chain(logits)
    helper = seq2seq.GreedyEmbeddingHelper(np.eye(WORDS, dtype='f'), [1, 3], END)
    outputs, _, lengths = seq2seq.dynamic_decode(seq2seq.BasicDecoder(
        cell, helper, cell.zero_state(2, tf.float32)), impute_finished=True)
    words, lengths = self._run([outputs.sample_id, lengths])
    self.assertEqual(words.tolist(), [[2, 3, END], [END, 0, 0]])
    self.assertEqual(lengths.tolist(), [3, 1])

  def test_losses_are_weighted(self):
    random = np.random.RandomState(0)
    logits, targets = random.randn(2, 3, 5).astype('f'), random.randint(0, 5, [2, 3])
    weights = np.array([[1, 2, 0], [1, 0, 0]], 'f')
    losses = -np.take_along_axis(logits - np.log(np.exp(logits).sum(-1, keepdims=True)),
                                 targets[..., None], 2)[..., 0] * weights
    args = [tf.constant(v) for v in (logits, targets, weights)]
    got = self._run([
        seq2seq.sequence_loss(*args), seq2seq.sequence_loss(*args, average_across_batch=False),
        seq2seq.sequence_loss(*args, average_across_timesteps=False),
        seq2seq.sequence_loss(*args, False, False),
        seq2seq.sequence_loss(*args, False, False, sum_over_timesteps=True, sum_over_batch=True)])
    np.testing.assert_allclose(got[0], losses.sum() / 4, rtol=1e-5)
    np.testing.assert_allclose(got[1], losses.sum(1) / [3, 1], rtol=1e-5)
    np.testing.assert_allclose(got[2], losses.sum(0) / [2, 2, 1], rtol=1e-5)
    np.testing.assert_allclose(got[3], losses, rtol=1e-5)
    np.testing.assert_allclose(got[4], losses.sum() / 3, rtol=1e-5)

  def test_attention_is_zero_behind_the_length(self):
    random = np.random.RandomState(0)
    for make in (seq2seq.LuongAttention, seq2seq.BahdanauAttention):
      mechanism = make(6, random.randn(2, 4, 3).astype('f'), memory_sequence_length=[4, 2])
      query = tf.constant(random.randn(2, 6).astype('f'))
      alignments, state = mechanism(query, mechanism.initial_state(2, tf.float32))
      got = self._run(alignments)
      np.testing.assert_allclose(got.sum(1), 1, atol=1e-6)
      self.assertEqual(got[1, 2:].tolist(), [0, 0])
      self.assertIs(state, alignments)

  def test_wrong_arguments(self):
    with self.assertRaisesRegex(TypeError, 'cell must be an RNNCell'):
      seq2seq.BasicDecoder(3, None, None)
    with self.assertRaisesRegex(ValueError, "mode must be 'recursive', 'parallel', or 'hard'"):
      seq2seq.LuongMonotonicAttention(3, tf.zeros([1, 2, 3]), mode='soft')
    with self.assertRaisesRegex(ValueError, 'start_tokens must be a vector'):
      seq2seq.GreedyEmbeddingHelper(tf.zeros([3, 2]), 1, 0)
    with self.assertRaisesRegex(ValueError, 'tile_batch'):
      cell = tf.nn.rnn_cell.GRUCell(2)
      seq2seq.BeamSearchDecoder(cell, tf.zeros([3, 2]), [1, 1], 0, cell.zero_state(2, tf.float32),
                                4)


if __name__ == '__main__':
  unittest.main()
