"""A small transformer that continues text (Vaswani et al. 2017, the decoder alone), by characters.

    python transformer_lm.py --train_dir /tmp/transformer    trains, and goes on where it ended
    python transformer_lm.py --train_dir /tmp/transformer --sample 500

A block is attention to the characters so far and two dense layers, each behind a layer norm and
beside a path that nothing interrupts. A mask keeps a place from looking at the places after it, so
that one step learns from each place of a row.
"""
import time

import leat as tf
import numpy as np

import characters

flags = tf.app.flags
flags.DEFINE_string('text', '', 'The file to learn from, in place of tinyshakespeare.txt.')
flags.DEFINE_string('train_dir', '/tmp/leat-transformer', 'Folder of checkpoints and summaries.')
flags.DEFINE_integer('steps', 2000, 'Steps in all, those of earlier runs included.')
flags.DEFINE_integer('batch_size', 16, 'Rows a step.')
flags.DEFINE_integer('context', 64, 'Characters a row, and the most that a place can look back.')
flags.DEFINE_integer('units', 96, 'Width of the path.')
flags.DEFINE_integer('heads', 4, 'Of each attention; they share the units.')
flags.DEFINE_integer('blocks', 3, 'How deep the network is.')
flags.DEFINE_float('learning_rate', 0.002, 'The highest of Adam.')
flags.DEFINE_integer('warm_up', 200, 'Steps until the rate is the highest; then it falls.')
flags.DEFINE_integer('report', 250, 'Steps between two reports.')
flags.DEFINE_integer('sample', 0, 'Writes so many characters instead of training.')
flags.DEFINE_string('start', 'The ', 'What the sample begins with.')
flags.DEFINE_integer('seed', 1, 'Of the initial values, the rows and the sample.')
flags.DEFINE_bool('smoke', False, 'A few steps of a small model, to see that all works.')
FLAGS = flags.FLAGS


def norm(x, scope):
  return tf.contrib.layers.layer_norm(x, begin_norm_axis=-1, scope=scope)


def attention(x):
  """Each place's sum of values of the places before it and its own; [batch, length, units]."""
  length = tf.shape(x)[1]
  size = FLAGS.units // FLAGS.heads

  def heads(name):  # [batch, heads, length, size]
    y = tf.reshape(tf.layers.dense(x, FLAGS.units, use_bias=False, name=name),
                   [-1, length, FLAGS.heads, size])
    return tf.transpose(y, [0, 2, 1, 3])

  scores = tf.matmul(heads('query'), heads('key'), transpose_b=True) / size ** 0.5
  causal = tf.matrix_band_part(tf.ones([length, length]), -1, 0)
  weights = tf.nn.softmax(scores - 1e9 * (1.0 - causal))
  y = tf.transpose(tf.matmul(weights, heads('value')), [0, 2, 1, 3])
  return tf.layers.dense(tf.reshape(y, [-1, length, FLAGS.units]), FLAGS.units, name='output')


def dense_layers(x):
  hidden = tf.layers.dense(x, 4 * FLAGS.units, tf.nn.relu, name='wide')
  return tf.layers.dense(hidden, FLAGS.units, name='narrow')


def transformer(inputs, alphabet):
  """Logits of the next character at each place, [batch, length, alphabet], of ids int32."""
  characters_of = tf.get_variable('characters', [alphabet, FLAGS.units],
                                  initializer=tf.random_normal_initializer(stddev=0.02))
  places = tf.get_variable('places', [FLAGS.context, FLAGS.units],
                           initializer=tf.random_normal_initializer(stddev=0.02))
  x = tf.nn.embedding_lookup(characters_of, inputs) + places[:tf.shape(inputs)[1]]
  for i in range(FLAGS.blocks):
    with tf.variable_scope('block_%d' % i):
      x += attention(norm(x, 'norm_1'))
      x += dense_layers(norm(x, 'norm_2'))
  # The same table reads characters and writes them.
  return tf.tensordot(norm(x, 'norm'), characters_of, [[2], [1]])


class Model:
  """The graph: placeholders inputs and targets, int32 [batch, length]; logits, loss, train_op."""

  def __init__(self, alphabet):
    self.inputs = tf.placeholder(tf.int32, [None, None], 'inputs')
    self.targets = tf.placeholder(tf.int32, [None, None], 'targets')
    self.logits = transformer(self.inputs, alphabet)
    self.loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=self.targets, logits=self.logits))

    self.global_step = tf.train.get_or_create_global_step()
    step = tf.cast(self.global_step + 1, tf.float32)
    rate = FLAGS.learning_rate * tf.minimum(step / FLAGS.warm_up,
                                            tf.sqrt(FLAGS.warm_up / step))
    optimizer = tf.train.AdamOptimizer(rate, beta2=0.98, epsilon=1e-9)
    gradients, variables = zip(*optimizer.compute_gradients(self.loss))
    gradients, gradient_norm = tf.clip_by_global_norm(gradients, 1.0)
    self.train_op = optimizer.apply_gradients(zip(gradients, variables), self.global_step)
    tf.summary.scalar('loss', self.loss)
    tf.summary.scalar('learning_rate', rate)
    tf.summary.scalar('gradient_norm', gradient_norm)


def rows(ids, beginnings):
  """(inputs, targets) of the rows that begin at these places of the text."""
  block = np.stack([ids[i:i + FLAGS.context + 1] for i in beginnings])
  return block[:, :-1], block[:, 1:]


def validation_loss(session, model, ids):
  """The mean of -log p of each character, in nats, over rows that follow one another."""
  beginnings, losses = np.arange(0, len(ids) - FLAGS.context, FLAGS.context), []
  for i in range(0, len(beginnings), 4 * FLAGS.batch_size):
    inputs, targets = rows(ids, beginnings[i:i + 4 * FLAGS.batch_size])
    losses.append(len(inputs) * session.run(
        model.loss, {model.inputs: inputs, model.targets: targets}))
  return np.sum(losses) / len(beginnings)


def train(text):
  model = Model(len(text.alphabet))
  hooks = [tf.train.StopAtStepHook(last_step=FLAGS.steps)]
  with tf.train.MonitoredTrainingSession(checkpoint_dir=FLAGS.train_dir, hooks=hooks,
                                         save_summaries_steps=FLAGS.report) as session:

    def first_step(step_context):
      return step_context.session.run(model.global_step)

    def validate(step_context):
      return validation_loss(step_context.session, model, text.validation)

    step, start = session.run_step_fn(first_step), time.time()
    # A run that goes on draws other rows than the first run did.
    random = np.random.RandomState(FLAGS.seed + step)
    while not session.should_stop():
      beginnings = random.randint(len(text.training) - FLAGS.context, size=FLAGS.batch_size)
      inputs, targets = rows(text.training, beginnings)
      loss, _ = session.run([model.loss, model.train_op],
                            {model.inputs: inputs, model.targets: targets})
      step += 1
      if step % FLAGS.report == 0:
        print('step %d, loss %.3f, validation %.3f nats a character, %.0f s'
              % (step, loss, session.run_step_fn(validate), time.time() - start), flush=True)


def sample(text):
  """Writes: each character is drawn by the probabilities that the last ones give."""
  model = Model(len(text.alphabet))
  drawn = tf.multinomial(model.logits[:, -1], 1, output_dtype=tf.int32)
  with tf.Session() as session:
    tf.train.Saver().restore(session, tf.train.latest_checkpoint(FLAGS.train_dir))
    ids = list(text.encode(FLAGS.start))
    for _ in range(FLAGS.sample):
      ids.append(session.run(drawn, {model.inputs: [ids[-FLAGS.context:]]})[0, 0])
  print(text.decode(ids))


def main(_):
  if FLAGS.smoke:
    FLAGS.steps, FLAGS.batch_size, FLAGS.context, FLAGS.units, FLAGS.report = 4, 2, 8, 16, 2
    FLAGS.blocks = 1
  tf.set_random_seed(FLAGS.seed)
  text = characters.Characters(FLAGS.text, FLAGS.smoke)
  if FLAGS.sample:
    sample(text)
  else:
    train(text)


if __name__ == '__main__':
  tf.app.run()
