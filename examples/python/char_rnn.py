"""A model of text by characters: two LSTM layers read Shakespeare, and write some: char_rnn.py

    python char_rnn.py --train_dir /tmp/char_rnn             trains, and goes on where it ended
    python char_rnn.py --train_dir /tmp/char_rnn --sample 500 --start 'ROMEO:'

The text is cut into as many rows as a batch has. A step reads the next characters of all rows, and
begins with the state in which the step before ended, so that the layers remember more than the
characters through which a step's gradients flow.
"""
import time

import leat as tf
import numpy as np

import characters

flags = tf.app.flags
flags.DEFINE_string('text', '', 'The file to learn from, in place of tinyshakespeare.txt.')
flags.DEFINE_string('train_dir', '/tmp/leat-char_rnn', 'Folder of checkpoints and summaries.')
flags.DEFINE_integer('steps', 1500, 'Steps in all, those of earlier runs included.')
flags.DEFINE_integer('batch_size', 32, 'Rows.')
flags.DEFINE_integer('length', 64, 'Characters of a row that a step reads.')
flags.DEFINE_integer('units', 128, 'Units of each layer.')
flags.DEFINE_float('learning_rate', 0.005, 'Of Adam, at first; it is a tenth at the last step.')
flags.DEFINE_integer('report', 250, 'Steps between two reports.')
flags.DEFINE_integer('sample', 0, 'Writes so many characters instead of training.')
flags.DEFINE_string('start', 'The ', 'What the sample begins with.')
flags.DEFINE_float('temperature', 0.8, 'Below 1 the sample is more careful, above 1 wilder.')
flags.DEFINE_integer('seed', 1, 'Of the initial values and the sample.')
flags.DEFINE_bool('smoke', False, 'A few steps of a small model, to see that all works.')
FLAGS = flags.FLAGS


class CharRNN:
  """The graph: placeholders inputs and targets, both int32 [batch, length]; state_in and state_out,
  nested tuples of the same structure; logits, loss, train_op."""

  def __init__(self, alphabet, batch):
    self.inputs = tf.placeholder(tf.int32, [batch, None], 'inputs')
    self.targets = tf.placeholder(tf.int32, [batch, None], 'targets')
    cell = tf.nn.rnn_cell.MultiRNNCell(
        [tf.nn.rnn_cell.LSTMCell(FLAGS.units) for _ in range(2)])
    self.state_in = cell.zero_state(batch, tf.float32)
    embedding = tf.get_variable('embedding', [alphabet, FLAGS.units])
    outputs, self.state_out = tf.nn.dynamic_rnn(
        cell, tf.nn.embedding_lookup(embedding, self.inputs), initial_state=self.state_in)
    self.logits = tf.layers.dense(outputs, alphabet, name='output')
    self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=self.targets, logits=self.logits))

    self.global_step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(FLAGS.learning_rate, self.global_step, FLAGS.steps, 0.1)
    optimizer = tf.train.AdamOptimizer(rate)
    gradients, variables = zip(*optimizer.compute_gradients(self.loss))
    gradients, norm = tf.clip_by_global_norm(gradients, 5.0)
    self.train_op = optimizer.apply_gradients(zip(gradients, variables), self.global_step)
    tf.summary.scalar('loss', self.loss)
    tf.summary.scalar('gradient_norm', norm)
    for variable in variables:
      tf.summary.histogram(variable.op.name, variable)


def pieces(ids):
  """(inputs, targets, whether the rows begin here) of each step of one pass through the text."""
  columns = (len(ids) - 1) // FLAGS.batch_size
  if columns < FLAGS.length:
    raise ValueError('%d characters are too few for %d rows of %d'
                     % (len(ids), FLAGS.batch_size, FLAGS.length))
  rows = [ids[i:i + FLAGS.batch_size * columns].reshape(FLAGS.batch_size, columns) for i in (0, 1)]
  for i in range(0, columns - FLAGS.length + 1, FLAGS.length):
    yield rows[0][:, i:i + FLAGS.length], rows[1][:, i:i + FLAGS.length], i == 0


def endless(ids):
  while True:
    yield from pieces(ids)


def validation_loss(session, model, ids):
  """The mean of -log p of each character, in nats."""
  losses, state = [], None
  for inputs, targets, first in pieces(ids):
    feed = {model.inputs: inputs, model.targets: targets}
    if not first:
      feed[model.state_in] = state
    loss, state = session.run([model.loss, model.state_out], feed)
    losses.append(loss)
  return np.mean(losses)


def train(text):
  model = CharRNN(len(text.alphabet), FLAGS.batch_size)
  hooks = [tf.train.StopAtStepHook(last_step=FLAGS.steps)]
  with tf.train.MonitoredTrainingSession(checkpoint_dir=FLAGS.train_dir, hooks=hooks,
                                         save_summaries_steps=FLAGS.report) as session:

    def first_step(step_context):
      return step_context.session.run(model.global_step)

    def validate(step_context):
      return validation_loss(step_context.session, model, text.validation)

    state, start, data = None, time.time(), endless(text.training)
    step = session.run_step_fn(first_step)
    while not session.should_stop():
      inputs, targets, first = next(data)
      feed = {model.inputs: inputs, model.targets: targets}
      if not first:
        feed[model.state_in] = state
      loss, state, _ = session.run([model.loss, model.state_out, model.train_op], feed)
      step += 1
      if step % FLAGS.report == 0:
        print('step %d, loss %.3f, validation %.3f nats a character, %.0f s'
              % (step, loss, session.run_step_fn(validate), time.time() - start), flush=True)


def sample(text):
  """Writes: each character is drawn by the probabilities that the last ones give."""
  model = CharRNN(len(text.alphabet), batch=1)
  drawn = tf.multinomial(model.logits[:, -1] / FLAGS.temperature, 1, output_dtype=tf.int32)
  with tf.Session() as session:
    tf.train.Saver().restore(session, tf.train.latest_checkpoint(FLAGS.train_dir))
    ids, feed = [], {model.inputs: [text.encode(FLAGS.start)]}
    for _ in range(FLAGS.sample):
      state, character = session.run([model.state_out, drawn], feed)
      ids.append(character[0, 0])
      feed = {model.inputs: character, model.state_in: state}
  print(FLAGS.start + text.decode(ids))


def main(_):
  if FLAGS.smoke:
    FLAGS.steps, FLAGS.batch_size, FLAGS.length, FLAGS.units, FLAGS.report = 4, 4, 8, 16, 2
  tf.set_random_seed(FLAGS.seed)
  text = characters.Characters(FLAGS.text, FLAGS.smoke)
  if FLAGS.sample:
    sample(text)
  else:
    train(text)


if __name__ == '__main__':
  tf.app.run()
