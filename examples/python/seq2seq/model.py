"""Sequence to sequence with attention: an encoder of two LSTM layers, a decoder of two more.

The first layer of the decoder looks at all outputs of the encoder (Luong's attention), so nothing
has to be squeezed through the last state. Training feeds the decoder the right characters, and
translating feeds it its own.

Each layer may have a device of its own, as in figure 8 of the white paper: then one layer works on
one character while the layer below is ahead of it by some characters, and only the activations
travel between the devices. The layers are given their devices by DeviceWrapper, and their
variables are made there too.
"""
import leat as tf

import dates

seq2seq, rnn_cell = tf.contrib.seq2seq, tf.nn.rnn_cell
LAYERS = 4


class Model:
  """The graph: placeholders source, length, target; tensors loss, translation, accuracy, train_op.

  Args:
    units: int, of each layer.
    devices: a list of LAYERS names of devices, or of None where the placer decides.
  """

  def __init__(self, units, devices=(None,) * LAYERS, learning_rate=0.003):
    self.source = tf.placeholder(tf.int32, [None, dates.SOURCE_LENGTH], 'source')
    self.length = tf.placeholder(tf.int32, [None], 'length')
    self.target = tf.placeholder(tf.int32, [None, dates.TARGET_LENGTH], 'target')
    self.embedding = tf.get_variable('embedding', [dates.VOCABULARY, units])
    layers = [self._layer(units, device) for device in devices]
    self._batch = tf.shape(self.source)[0]

    memory, self._encoded = self._encode(layers[:2])
    with tf.variable_scope('decoder'), tf.device(devices[2]):
      attention = seq2seq.LuongAttention(units, memory, self.length)
      attending = seq2seq.AttentionWrapper(layers[2], attention, attention_layer_size=units)
    self._decoder_cell = rnn_cell.MultiRNNCell([attending, layers[3]])
    self._output = tf.layers.Dense(dates.VOCABULARY, name='output')

    logits = self._decode(self._teacher()).rnn_output
    with tf.name_scope('cross_entropy'):
      losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.target, logits=logits)
      self.loss = tf.reduce_mean(losses)
    self.translation = self._decode(self._own_characters(), reuse=True).sample_id
    with tf.name_scope('accuracy'):
      exact = tf.reduce_all(tf.equal(self.translation, self.target), axis=1)
      self.accuracy = tf.reduce_mean(tf.cast(exact, tf.float32))

    self.global_step = tf.train.get_or_create_global_step()
    optimizer = tf.train.AdamOptimizer(learning_rate)
    gradients, variables = zip(*optimizer.compute_gradients(
        self.loss, colocate_gradients_with_ops=True))
    gradients, norm = tf.clip_by_global_norm(gradients, 5.0)
    self.train_op = optimizer.apply_gradients(zip(gradients, variables), self.global_step)
    tf.summary.scalar('loss', self.loss)
    tf.summary.scalar('gradient_norm', norm)

  @staticmethod
  def _layer(units, device):
    cell = rnn_cell.LSTMCell(units)
    return rnn_cell.DeviceWrapper(cell, device) if device else cell

  def _encode(self, layers):
    """The outputs of the last layer, [batch, SOURCE_LENGTH, units], and the layers' last states."""
    with tf.variable_scope('encoder'):
      inputs = tf.nn.embedding_lookup(self.embedding, self.source)
      return tf.nn.dynamic_rnn(rnn_cell.MultiRNNCell(layers), inputs, self.length,
                               dtype=tf.float32)

  def _teacher(self):
    """What gives the decoder the target, one character late."""
    first = tf.fill([self._batch, 1], dates.GO)
    inputs = tf.concat([first, self.target[:, :-1]], axis=1)
    lengths = tf.fill([self._batch], dates.TARGET_LENGTH)
    return seq2seq.TrainingHelper(tf.nn.embedding_lookup(self.embedding, inputs), lengths)

  def _own_characters(self):
    """What gives the decoder its own last character. No character ends a text early."""
    return seq2seq.GreedyEmbeddingHelper(self.embedding, tf.fill([self._batch], dates.GO),
                                         end_token=-1)

  def _decode(self, helper, reuse=None):
    with tf.variable_scope('decoder', reuse=reuse):
      attending, _ = self._decoder_cell.zero_state(self._batch, tf.float32)
      state = (attending.clone(cell_state=self._encoded[0]), self._encoded[1])
      decoder = seq2seq.BasicDecoder(self._decoder_cell, helper, state, self._output)
      outputs, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=dates.TARGET_LENGTH)
    return outputs
