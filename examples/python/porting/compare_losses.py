"""Compares two implementations of a model by their losses, step by step.

Section 6 of the white paper: always ensure that the objective matches between two systems when
learning is turned off. Both implementations here start from the same variables and are fed the same
batches.

 1. With a learning rate of zero the variables stay as they are: where the losses differ, the model
    or the loss itself is wrong. Randomness such as dropout has to be off.
 2. With a small learning rate, losses that agree at first and differ later tell that the gradients
    or the optimizer are wrong.

--flaw builds a fault into the second implementation, to see how it is found:

  python compare_losses.py
  python compare_losses.py --flaw decay       the weight decay is forgotten: differs at rate zero
  python compare_losses.py --flaw momentum    momentum is 0.8, not 0.9: differs when it learns
"""
import leat as tf
import numpy as np

flags = tf.app.flags
flags.DEFINE_string('flaw', 'none', 'none, decay or momentum')
flags.DEFINE_integer('steps', 20, 'steps of each comparison')
flags.DEFINE_float('learning_rate', 0.05, 'of the second comparison')
flags.DEFINE_float('tolerance', 1e-4, 'greatest difference, as a share of the loss')
flags.DEFINE_string('log_dir', '/tmp/leat-compare', 'folder of both losses, as two runs')
flags.DEFINE_bool('smoke', False, 'changes nothing: the program takes a moment')
FLAGS = flags.FLAGS

SIZES = [20, 30, 5]
DECAY = 1e-3


class Implementation:
  """A graph of its own with a model, and a session.

  Attributes of the subclasses:
    x, y, rate: placeholders.
    loss, train_op: of a step.
    variables: in the order that both implementations agree on.
  """

  def __init__(self):
    self.graph = tf.Graph()
    with self.graph.as_default():
      tf.set_random_seed(1)
      self.x = tf.placeholder(tf.float32, [None, SIZES[0]])
      self.y = tf.placeholder(tf.int64, [None])
      self.rate = tf.placeholder(tf.float32, [])
      self.build()
      self.variables = tf.trainable_variables()
      self.initializer = tf.global_variables_initializer()
      self.values = [tf.placeholder(v.dtype.base_dtype, v.get_shape()) for v in self.variables]
      self.set_values = tf.group(*[tf.assign(v, value)
                                   for v, value in zip(self.variables, self.values)])
    self.session = tf.Session(graph=self.graph)

  def start(self, values=None):
    """Initializes all variables, and gives the trainable ones |values|. Their values after that."""
    self.session.run(self.initializer)
    if values:
      self.session.run(self.set_values, dict(zip(self.values, values)))
    return self.session.run(self.variables)

  def step(self, x, y, rate):
    return self.session.run([self.loss, self.train_op], {self.x: x, self.y: y, self.rate: rate})[0]


class ByHand(Implementation):
  """Every formula is written out, the optimizer's too."""

  def build(self):
    h, weights = self.x, []
    for i in range(2):
      w = tf.Variable(tf.truncated_normal(SIZES[i:i + 2], stddev=0.3))
      h = tf.matmul(h, w) + tf.Variable(tf.zeros(SIZES[i + 1:i + 2]))
      h = tf.maximum(h, 0) if i == 0 else h
      weights.append(w)
    likelihood = tf.reduce_sum(h * tf.one_hot(self.y, SIZES[-1]), 1) - tf.reduce_logsumexp(h, 1)
    decay = tf.add_n([tf.reduce_sum(w * w) / 2 for w in weights])
    self.loss = -tf.reduce_mean(likelihood) + DECAY * decay

    variables = tf.trainable_variables()
    gradients = tf.gradients(self.loss, variables)
    speeds = [tf.Variable(tf.zeros_like(v.initialized_value()), trainable=False)
              for v in variables]
    faster = [tf.assign(s, 0.9 * s + g) for s, g in zip(speeds, gradients)]
    self.train_op = tf.group(*[tf.assign_sub(v, self.rate * s) for v, s in zip(variables, faster)])


class ByLayers(Implementation):
  """The same with the layers, losses and optimizers of the library."""

  def build(self):
    regularizer = tf.contrib.layers.l2_regularizer(0.0 if FLAGS.flaw == 'decay' else DECAY)
    h = tf.layers.dense(self.x, SIZES[1], tf.nn.relu, kernel_regularizer=regularizer)
    h = tf.layers.dense(h, SIZES[2], kernel_regularizer=regularizer)
    tf.losses.sparse_softmax_cross_entropy(self.y, h)
    self.loss = tf.losses.get_total_loss()
    momentum = 0.8 if FLAGS.flaw == 'momentum' else 0.9
    self.train_op = tf.train.MomentumOptimizer(self.rate, momentum).minimize(self.loss)


def compare(first, second, rate):
  """The first step in which the losses differ; None where all agree."""
  second.start(first.start())
  random = np.random.RandomState(1)
  writers = [tf.summary.FileWriter('%s/%s_rate_%g' % (FLAGS.log_dir, type(i).__name__, rate))
             for i in (first, second)]
  for step in range(FLAGS.steps):
    x, y = random.standard_normal([16, SIZES[0]]), random.randint(0, SIZES[-1], 16)
    losses = [implementation.step(x, y, rate) for implementation in (first, second)]
    for writer, loss in zip(writers, losses):
      writer.add_summary(
          tf.Summary(value=[tf.Summary.Value(tag='loss', simple_value=loss)]), step)
    if abs(losses[0] - losses[1]) > FLAGS.tolerance * abs(losses[0]):
      print('learning rate %g: the losses differ in step %d: %.6f and %.6f' % (
          rate, step, losses[0], losses[1]))
      return step
  print('learning rate %g: the losses agree in %d steps, in the last %.6f and %.6f' % (
      rate, FLAGS.steps, losses[0], losses[1]))
  return None


def main(_):
  first, second = ByHand(), ByLayers()
  if compare(first, second, 0.0) is None:
    compare(first, second, FLAGS.learning_rate)


if __name__ == '__main__':
  tf.app.run()
