"""Trains Inception on flowers with tf.contrib.slim, or counts what its graph consists of.

    python train.py --network v3 --train_dir /tmp/inception       trains, and goes on where it ended
    python train.py --network v3 --train_dir /tmp/inception --evaluate
    python train.py --network v3 --count                       parameters and nodes, 1,000 classes
"""
import os
import sys

import leat as tf

import networks

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import flowers  # noqa: E402, the module beside this folder

slim = tf.contrib.slim
flags = tf.app.flags
flags.DEFINE_enum('network', 'v3', sorted(networks.NETWORKS), 'The version of Inception.')
flags.DEFINE_string('data', '', 'Folder with a folder for each class, in place of the flowers.')
flags.DEFINE_string('train_dir', '/tmp/leat-inception', 'Folder of checkpoints and summaries.')
flags.DEFINE_integer('steps', 200, 'Steps in all, those of earlier runs included.')
flags.DEFINE_integer('batch_size', 8, 'Pictures a step.')
flags.DEFINE_integer('size', 0, 'Height and width of the pictures; 0 is the smallest that will do.')
flags.DEFINE_float('learning_rate', 0.003, 'Of RMSProp.')
flags.DEFINE_bool('evaluate', False, 'Classifies the pictures for validation instead of training.')
flags.DEFINE_bool('count', False, 'Prints counts of the graph that trains, and ends.')
flags.DEFINE_bool('smoke', False, 'Two steps with small pictures, to see that all works.')
FLAGS = flags.FLAGS

AUXILIARY_WEIGHT = 0.4
AVERAGE_DECAY = 0.99  # of the variables that are evaluated; 0.9999 where a run takes days


def training_graph(pictures, labels, classes):
  """The operation of a step, whose value is the loss."""
  logits, auxiliary = networks.network(FLAGS.network, pictures, classes, training=True)
  tf.losses.sparse_softmax_cross_entropy(labels, logits)
  for further in auxiliary:
    tf.losses.sparse_softmax_cross_entropy(labels, further, weights=AUXILIARY_WEIGHT)
  loss = tf.losses.get_total_loss()
  step = tf.train.get_or_create_global_step()
  averages = tf.train.ExponentialMovingAverage(AVERAGE_DECAY, step)
  tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, averages.apply(tf.trainable_variables()))
  optimizer = tf.train.RMSPropOptimizer(FLAGS.learning_rate, decay=0.9, momentum=0.9, epsilon=1.0)
  tf.summary.scalar('loss', loss)
  tf.summary.image('pictures', pictures)
  # The operations of UPDATE_OPS, moving means of batch normalization among them, run in each step.
  return slim.learning.create_train_op(loss, optimizer, step, summarize_gradients=True)


def count():
  """Prints how many parameters and nodes the graph has that trains on ImageNet."""
  size = networks.NETWORKS[FLAGS.network][1]
  pictures = tf.placeholder(tf.float32, [32, size, size, 3])
  networks.network(FLAGS.network, pictures, 1000, training=True)
  forward = len(tf.get_default_graph().get_operations())
  tf.reset_default_graph()
  pictures = tf.placeholder(tf.float32, [32, size, size, 3])
  training_graph(pictures, tf.placeholder(tf.int32, [32]), 1000)
  weights = sum(v.shape.num_elements() for v in tf.trainable_variables())
  print('inception %s: %.1f million parameters, %d nodes, %d with training'
        % (FLAGS.network, weights / 1e6, forward, len(tf.get_default_graph().get_operations())))


def train(data, size):
  pictures, labels = flowers.batches(data.training, size, FLAGS.batch_size)
  train_op = training_graph(pictures, labels, len(data.classes))
  tf.logging.set_verbosity(tf.logging.INFO)  # slim tells its steps there
  loss = slim.learning.train(train_op, FLAGS.train_dir, number_of_steps=FLAGS.steps,
                             log_every_n_steps=10, save_summaries_secs=30)
  print('loss %.3f' % loss)


def evaluate(data, size):
  """Prints how many pictures for validation are classified rightly by the averaged variables."""
  pictures, labels = flowers.whole(data.validation, size)
  logits, _ = networks.network(FLAGS.network, pictures, len(data.classes), training=False)
  hits = tf.nn.in_top_k(logits, labels, 1)
  averages = tf.train.ExponentialMovingAverage(AVERAGE_DECAY)
  with tf.Session() as session:
    tf.train.Saver(averages.variables_to_restore()).restore(
        session, tf.train.latest_checkpoint(FLAGS.train_dir))
    found = session.run(hits)
  print('right: %d of %d' % (found.sum(), len(found)))


def main(_):
  if FLAGS.smoke:
    FLAGS.steps, FLAGS.batch_size = 2, 2
  size = FLAGS.size or networks.NETWORKS[FLAGS.network][2]
  tf.set_random_seed(1)
  if FLAGS.count:
    count()
  elif FLAGS.evaluate:
    evaluate(flowers.Flowers(FLAGS.data, FLAGS.smoke), size)
  else:
    train(flowers.Flowers(FLAGS.data, FLAGS.smoke), size)


if __name__ == '__main__':
  tf.app.run()
