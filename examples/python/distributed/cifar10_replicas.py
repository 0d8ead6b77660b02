"""Data parallelism with pictures: each worker reads and distorts its own by queues.

    leat launch -n 2 --ps 1 -- python cifar10_replicas.py            all workers in step
    leat launch -n 2 --ps 1 -- python cifar10_replicas.py --nosync   each at its own pace

Network and input are those of cifar10/. The queues of a worker and the threads that fill them are
on the worker; the parameter servers have the variables, moving means of batch normalization among
them. The chief classifies the test pictures at the end.
"""
import os
import sys
import time

import leat as tf

import place

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cifar10'))
import network  # noqa: E402, modules of the folder beside this one
import pictures  # noqa: E402

flags = tf.app.flags
flags.DEFINE_string('train_dir', '/tmp/leat-cifar10-replicas', 'Folder of checkpoints.')
flags.DEFINE_bool('sync', True, 'Whether the workers take each step together.')
flags.DEFINE_integer('steps', 1000, 'Updates in all, those of earlier runs included.')
flags.DEFINE_integer('batch_size', 64, 'Pictures a worker takes a step.')
flags.DEFINE_integer('width', 16, 'Channels of the first convolution.')
flags.DEFINE_float('learning_rate', 0.1, 'Of momentum, at first; it falls to none at the end.')
flags.DEFINE_integer('report', 100, 'Steps between two reports.')
flags.DEFINE_bool('smoke', False, 'A few steps of a small network, to see that all works.')
FLAGS = flags.FLAGS


def logits(images, training):
  with tf.variable_scope('model'):
    return network.logits(images, 'residual', training, FLAGS.width)


def training_graph(here):
  """(loss, train_op, hooks) of this worker."""
  images, labels = pictures.train_batch(FLAGS.batch_size, smoke=FLAGS.smoke)
  entropy, decay = network.loss(logits(images, training=True), labels, 'residual')
  step = tf.train.get_or_create_global_step()
  rate = tf.train.polynomial_decay(FLAGS.learning_rate, step, FLAGS.steps, 0.0)
  optimizer, hooks = tf.train.MomentumOptimizer(rate, 0.9), []
  if FLAGS.sync:
    optimizer, hooks = here.synchronous(optimizer)
  with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = optimizer.minimize(entropy + decay, step)
  tf.summary.scalar('loss', entropy)
  return entropy, train_op, hooks


def train(here):
  with tf.device(here.device()):
    loss, train_op, hooks = training_graph(here)
  step = tf.train.get_global_step()
  hooks.append(tf.train.StopAtStepHook(last_step=FLAGS.steps))
  with here.session(FLAGS.train_dir, hooks, FLAGS.report) as session:
    start, reported = time.time(), 0
    while not session.should_stop():
      number, value, _ = session.run([step, loss, train_op])
      if number >= reported + FLAGS.report:
        reported = number - number % FLAGS.report
        print('step %d, loss %.3f, %.0f s' % (number, value, time.time() - start), flush=True)


def evaluate():
  """Prints the accuracy for the test pictures, by the last checkpoint, without the cluster."""
  with tf.Graph().as_default():
    images, labels = pictures.test_batch(100, smoke=FLAGS.smoke)
    right = tf.nn.in_top_k(logits(images, training=False), labels, 1)
    creator = tf.train.ChiefSessionCreator(
        checkpoint_filename_with_path=tf.train.latest_checkpoint(FLAGS.train_dir))
    found = []
    # The end of the input ends the session.
    with tf.train.MonitoredSession(creator) as session:
      while not session.should_stop():
        found.extend(session.run(right))
  print('accuracy %.4f of %d pictures' % (sum(found) / len(found), len(found)))


def main(_):
  if FLAGS.smoke:
    FLAGS.steps, FLAGS.batch_size, FLAGS.width, FLAGS.report = 4, 8, 4, 2
  here = place.Place()
  here.serve()
  train(here)
  if here.is_chief:
    evaluate()


if __name__ == '__main__':
  tf.app.run()
