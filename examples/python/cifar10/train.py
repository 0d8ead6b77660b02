"""Trains a network on CIFAR-10, on one device or on several.

With --towers N the graph has N copies of the model (section 7 of the white paper, synchronous data
parallelism): each takes a batch of its own on its own device, all use the same variables, and
one step follows the mean of their gradients, which are the gradients of the mean of their losses.

Moving averages of the variables are kept beside them, and evaluate.py takes those. A run continues
from the last checkpoint in --train_dir.

  python train.py --train_dir /tmp/cifar10 && python evaluate.py --train_dir /tmp/cifar10

The published network, with its distortions and learning rate (86 % after 100,000 steps with all
50,000 pictures):

  python train.py --network tutorial --steps 100000
"""
import time

import leat as tf

import network
import pictures

flags = tf.app.flags
flags.DEFINE_string('train_dir', '/tmp/leat-cifar10', 'folder of checkpoints and summaries')
flags.DEFINE_string('network', 'residual', 'residual or tutorial')
flags.DEFINE_integer('width', 32, "channels of the first convolution of 'residual'")
flags.DEFINE_integer('steps', 5000, 'steps in all')
flags.DEFINE_integer('batch_size', 0, 'pictures of a batch; 0: 64, for the tutorial 128')
flags.DEFINE_integer('towers', 1, 'copies of the model, each on a device of its own')
flags.DEFINE_integer('threads', 0, 'threads that compute; 0: as many as there are cores')
flags.DEFINE_bool('smoke', False, 'a trial of some seconds with a small network')
FLAGS = flags.FLAGS


def devices(count):
  """Names of |count| devices: GPUs where there are enough, else CPU devices."""
  gpus = [d.name for d in tf.Session(config=settings()).list_devices() if d.device_type == 'GPU']
  return gpus[:count] if len(gpus) >= count else ['/cpu:%d' % i for i in range(count)]


def settings():
  return tf.ConfigProto(device_count={'CPU': FLAGS.towers}, allow_soft_placement=True,
                        intra_op_parallelism_threads=FLAGS.threads,
                        inter_op_parallelism_threads=FLAGS.threads)


def tower_loss():
  """The loss of a batch of this tower's own."""
  with tf.device('/cpu:0'):    # where files and queues are
    images, labels = pictures.train_batch(FLAGS.batch_size, FLAGS.network == 'tutorial',
                                          smoke=FLAGS.smoke)
  outputs = network.logits(images, FLAGS.network, training=True, width=FLAGS.width)
  entropy, decay = network.loss(outputs, labels, FLAGS.network)
  accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(outputs, labels, 1), tf.float32))
  tf.summary.scalar('cross_entropy', entropy)
  tf.summary.scalar('accuracy', accuracy)
  tf.summary.image('pictures', images, max_outputs=3)
  return entropy + decay


def optimizer_of(global_step):
  """(optimizer, its learning rate, how much of a moving average each step keeps)."""
  if FLAGS.network == 'tutorial':    # a tenth of the rate after 350 epochs of 50,000 pictures
    rate = tf.train.exponential_decay(0.1, global_step, 350 * 50000 // FLAGS.batch_size, 0.1,
                                      staircase=True)
    return tf.train.GradientDescentOptimizer(rate), rate, 0.9999
  rate = tf.train.polynomial_decay(0.05, global_step, FLAGS.steps, 0.0)    # a straight line
  return tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True), rate, 0.99


def average_gradients(towers):
  """The mean of the towers' gradients; |towers| is a list of lists of (gradient, variable)."""
  average = []
  for pairs in zip(*towers):
    gradients = [gradient for gradient, _ in pairs]
    average.append((tf.add_n(gradients) / len(gradients), pairs[0][1]))
  return average


def build():
  """(train_op, the mean loss of the towers)."""
  global_step = tf.train.get_or_create_global_step()
  optimizer, learning_rate, kept = optimizer_of(global_step)

  losses, gradients = [], []
  for i, device in enumerate(devices(FLAGS.towers)):
    with tf.device(device), tf.name_scope('tower_%d' % i):
      with tf.variable_scope(tf.get_variable_scope(), reuse=i > 0):
        losses.append(tower_loss())
      gradients.append(optimizer.compute_gradients(losses[i]))
      if i == 0:    # the averages of batch normalization follow the batches of one tower
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
  loss = tf.add_n(losses) / len(losses)

  with tf.control_dependencies(updates):
    step = optimizer.apply_gradients(average_gradients(gradients), global_step=global_step)
  averages = tf.train.ExponentialMovingAverage(kept, global_step)
  with tf.control_dependencies([step]):
    train_op = averages.apply(tf.trainable_variables())

  tf.summary.scalar('loss', loss)
  tf.summary.scalar('learning_rate', learning_rate)
  for variable in tf.trainable_variables():
    tf.summary.histogram(variable.op.name, variable)
  return train_op, loss


class Progress(tf.train.SessionRunHook):
  """Prints the loss and the speed each |every| steps."""

  def __init__(self, loss, every):
    self._loss, self._every = loss, every

  def begin(self):
    self._global_step, self._step, self._then = tf.train.get_global_step(), None, time.time()

  def before_run(self, context):
    return tf.train.SessionRunArgs([self._loss, self._global_step])

  def after_run(self, context, values):
    loss, step = values.results
    if self._step is None:
      self._step = step
    if step - self._step >= self._every:
      now = time.time()
      speed = (step - self._step) * FLAGS.batch_size * FLAGS.towers / (now - self._then)
      print('step %d  loss %.3f  %.0f pictures/s' % (step, loss, speed), flush=True)
      self._step, self._then = step, now


def main(_):
  if FLAGS.network not in network.NETWORKS:
    raise ValueError('--network is %s, must be one of %s' % (FLAGS.network, network.NETWORKS))
  FLAGS.batch_size = FLAGS.batch_size or (128 if FLAGS.network == 'tutorial' else 64)
  if FLAGS.smoke:
    FLAGS.steps, FLAGS.batch_size, FLAGS.width = 10, 16, 4
  train_op, loss = build()
  hooks = [tf.train.StopAtStepHook(last_step=FLAGS.steps),
           tf.train.NanTensorHook(loss),
           Progress(loss, 5 if FLAGS.smoke else 50)]
  with tf.train.MonitoredTrainingSession(checkpoint_dir=FLAGS.train_dir, hooks=hooks,
                                         save_checkpoint_secs=300, save_summaries_steps=100,
                                         config=settings()) as session:
    while not session.should_stop():
      session.run(train_op)


if __name__ == '__main__':
  tf.app.run()
