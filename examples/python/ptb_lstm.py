"""A language model of words: an LSTM on the Penn Treebank, as Zaremba, Sutskever and Vinyals
published it ("Recurrent neural network regularization", 2014).

The text is cut into |batch_size| columns that are read side by side, |num_steps| words at a time.
The state in which one piece ends is fed as the state in which the next begins, so that the model
sees its column as one long text, while gradients go back through |num_steps| words only. The
learning rate is kept for some epochs and then divided in each; gradients are clipped by their
norm. The model is measured by its perplexity: e to the power of the mean cross entropy of a word.

  python ptb_lstm.py --train_dir /tmp/ptb --config small

A run continues after the last epoch that was saved in --train_dir, where the summaries are too.
"""
import collections
import os
import time

import leat as tf
import numpy as np

import data_files

flags = tf.app.flags
flags.DEFINE_string('train_dir', '/tmp/leat-ptb', 'folder of checkpoints and summaries')
flags.DEFINE_string('config', 'small', 'small, medium or large')
flags.DEFINE_integer('epochs', 0, 'epochs in all; 0: as many as the configuration has')
flags.DEFINE_integer('threads', 0, 'threads that compute; 0: as many as there are cores')
flags.DEFINE_bool('smoke', False, 'a trial of some seconds with a small model')
FLAGS = flags.FLAGS

Config = collections.namedtuple('Config', [
    'init_scale',      # weights begin between -init_scale and init_scale
    'learning_rate',   # of the first epochs
    'max_grad_norm',   # to which the gradients are clipped together
    'layers', 'hidden',
    'num_steps',       # words through which gradients go back
    'full_epochs',     # epochs with the first learning rate
    'epochs',          # in all
    'keep',            # what dropout keeps
    'decay',           # of the learning rate in each later epoch
    'batch_size'])

CONFIGS = {
    #                scale rate norm  l   hidden  steps full epochs keep decay   batch
    'small': Config(0.10, 1.0, 5.0, 2, 200, 20, 4, 13, 1.00, 0.5, 20),
    'medium': Config(0.05, 1.0, 5.0, 2, 650, 35, 6, 39, 0.50, 0.8, 20),
    'large': Config(0.04, 1.0, 10.0, 2, 1500, 35, 14, 55, 0.35, 1 / 1.15, 20),
    'smoke': Config(0.10, 1.0, 5.0, 2, 16, 5, 1, 2, 0.90, 0.5, 10),
}


class Model:
  """The graph that reads one piece of text; it trains where |training|. Models made in one
  variable scope with reuse share their variables.

  Attributes:
    words, targets: placeholders, int32 [batch, steps].
    initial_state, final_state: tuples of an LSTMStateTuple a layer.
    loss: the sum of the words' cross entropy over the piece, the mean over the columns.
  """

  def __init__(self, config, vocabulary_size, batch_size, num_steps, training):
    self.batch_size, self.num_steps = batch_size, num_steps
    self.words = tf.placeholder(tf.int32, [batch_size, num_steps])
    self.targets = tf.placeholder(tf.int32, [batch_size, num_steps])
    cell = tf.nn.rnn_cell.MultiRNNCell([self._layer(config, training)
                                        for _ in range(config.layers)])
    self.initial_state = cell.zero_state(batch_size, tf.float32)

    embedding = tf.get_variable('embedding', [vocabulary_size, config.hidden])
    inputs = tf.nn.embedding_lookup(embedding, self.words)    # [batch, steps, hidden]
    if training and config.keep < 1:
      inputs = tf.nn.dropout(inputs, config.keep)
    outputs, self.final_state = tf.nn.static_rnn(cell, tf.unstack(inputs, axis=1),
                                                 initial_state=self.initial_state)

    output = tf.reshape(tf.stack(outputs, axis=1), [-1, config.hidden])
    softmax_w = tf.get_variable('softmax_w', [config.hidden, vocabulary_size])
    softmax_b = tf.get_variable('softmax_b', [vocabulary_size])
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=tf.reshape(self.targets, [-1]), logits=tf.matmul(output, softmax_w) + softmax_b)
    self.loss = tf.reduce_sum(losses) / batch_size
    self.train_op = self._train_op(config) if training else tf.no_op()

  def _layer(self, config, training):
    cell = tf.nn.rnn_cell.BasicLSTMCell(config.hidden, forget_bias=0.0)
    if training and config.keep < 1:
      cell = tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=config.keep)
    return cell

  def _train_op(self, config):
    self.learning_rate = tf.placeholder(tf.float32, [])
    variables = tf.trainable_variables()
    gradients, self.norm = tf.clip_by_global_norm(tf.gradients(self.loss, variables),
                                                  config.max_grad_norm)
    optimizer = tf.train.GradientDescentOptimizer(self.learning_rate)
    return optimizer.apply_gradients(zip(gradients, variables),
                                     global_step=tf.train.get_or_create_global_step())


def pieces(ids, batch_size, num_steps):
  """Yields (words, targets), int32 [batch_size, num_steps]: the targets are the next words."""
  length = len(ids) // batch_size
  columns = ids[:length * batch_size].reshape(batch_size, length)
  for start in range(0, length - num_steps, num_steps):
    yield (columns[:, start:start + num_steps], columns[:, start + 1:start + num_steps + 1])


def run_epoch(session, model, ids, feeds=None, on_step=None):
  """Runs the model over the text once; the perplexity. on_step(steps, perplexity) is called after
  each 100 steps."""
  loss, words = 0.0, 0
  state = session.run(model.initial_state)
  for step, (x, y) in enumerate(pieces(ids, model.batch_size, model.num_steps), 1):
    feed_dict = {model.words: x, model.targets: y, model.initial_state: state, **(feeds or {})}
    piece_loss, state, _ = session.run([model.loss, model.final_state, model.train_op], feed_dict)
    loss += piece_loss
    words += model.num_steps
    if on_step and step % 100 == 0:
      on_step(step, np.exp(loss / words))
  return float(np.exp(loss / words))


def build(config, vocabulary_size):
  """(a model that trains, one that reads the same pieces, one that reads word by word)."""
  initializer = tf.random_uniform_initializer(-config.init_scale, config.init_scale)
  with tf.variable_scope('model', initializer=initializer):
    train = Model(config, vocabulary_size, config.batch_size, config.num_steps, training=True)
  with tf.variable_scope('model', reuse=True):
    valid = Model(config, vocabulary_size, config.batch_size, config.num_steps, training=False)
    test = Model(config, vocabulary_size, 1, 1, training=False)
  return train, valid, test


def write_scalars(writer, step, **values):
  writer.add_summary(tf.Summary(value=[
      tf.Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]), step)


def main(_):
  config = CONFIGS['smoke' if FLAGS.smoke else FLAGS.config]
  epochs = FLAGS.epochs or config.epochs
  train_ids, valid_ids, test_ids, vocabulary = data_files.ptb(FLAGS.smoke)
  train, valid, test = build(config, len(vocabulary))
  epoch_done = tf.Variable(0, trainable=False, name='epoch_done')
  next_epoch = tf.assign_add(epoch_done, 1)
  global_step = tf.train.get_global_step()
  saver = tf.train.Saver()
  prefix = os.path.join(FLAGS.train_dir, 'model')
  settings = tf.ConfigProto(intra_op_parallelism_threads=FLAGS.threads,
                            inter_op_parallelism_threads=FLAGS.threads)

  with tf.Session(config=settings) as session:
    checkpoint = tf.train.latest_checkpoint(FLAGS.train_dir)
    if checkpoint:
      saver.restore(session, checkpoint)
    else:
      session.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter(FLAGS.train_dir, session.graph)
    begun = time.time()

    def report(step, perplexity):
      write_scalars(writer, session.run(global_step), train_perplexity=perplexity)
      print('  step %d  perplexity %.2f  %.0f s' % (step, perplexity, time.time() - begun),
            flush=True)

    for epoch in range(session.run(epoch_done), epochs):
      rate = config.learning_rate * config.decay ** max(epoch + 1 - config.full_epochs, 0)
      train_perplexity = run_epoch(session, train, train_ids, {train.learning_rate: rate}, report)
      valid_perplexity = run_epoch(session, valid, valid_ids)
      session.run(next_epoch)
      saver.save(session, prefix, global_step=global_step)
      write_scalars(writer, session.run(global_step), valid_perplexity=valid_perplexity,
                    learning_rate=rate)
      print('epoch %d: rate %.4f, train perplexity %.2f, valid %.2f, %.0f s' % (
          epoch + 1, rate, train_perplexity, valid_perplexity, time.time() - begun), flush=True)
    print('test perplexity %.2f' % run_epoch(session, test, test_ids))
    writer.close()


if __name__ == '__main__':
  tf.app.run()
