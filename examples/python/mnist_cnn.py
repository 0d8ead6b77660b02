"""A convolutional network on handwritten digits: more than 99 % of the test pictures.

  [28, 28, 1] -> conv 5x5, pool -> [14, 14, 32] -> conv 5x5, pool -> [7, 7, 64] -> 512 -> 10

Dropout keeps half of the 512 units in each step; the learning rate is halved over each epoch.

  python mnist_cnn.py --train_dir /tmp/cnn

tf.train.MonitoredTrainingSession initializes or restores the variables, saves checkpoints and
writes summaries into --train_dir, so that a run continues where another ended.
"""
import leat as tf
import numpy as np

import data_files

flags = tf.app.flags
flags.DEFINE_string('train_dir', '/tmp/leat-mnist-cnn', 'folder of checkpoints and summaries')
flags.DEFINE_float('epochs', 3.0, 'epochs in all')
flags.DEFINE_integer('batch_size', 64, 'pictures of a batch')
flags.DEFINE_integer('threads', 0, 'threads that compute; 0: as many as there are cores')
flags.DEFINE_bool('smoke', False, 'a trial of some seconds')
FLAGS = flags.FLAGS


def network(images, keep):
  """Logits [batch, 10] of images [batch, 784]; |keep| is the share of units that dropout keeps."""
  x = tf.reshape(images, [-1, 28, 28, 1])
  for name, channels in (('conv1', 32), ('conv2', 64)):
    x = tf.layers.conv2d(x, channels, 5, padding='same', activation=tf.nn.relu, name=name)
    x = tf.layers.max_pooling2d(x, 2, 2)
  x = tf.layers.dense(tf.layers.flatten(x), 512, tf.nn.relu, name='hidden')
  x = tf.nn.dropout(x, keep)
  return tf.layers.dense(x, 10, name='softmax')


def accuracy_of(session, accuracy, feeds, images, labels):
  """The share of pictures that are recognized, 1,000 at a time."""
  x, y = feeds
  parts = range(0, len(images), 1000)
  return np.mean([session.run(accuracy, {x: images[i:i + 1000], y: labels[i:i + 1000]})
                  for i in parts])


def main(_):
  images, labels = data_files.mnist('train', FLAGS.smoke)
  test_images, test_labels = data_files.mnist('t10k', FLAGS.smoke)
  if FLAGS.smoke:
    test_images, test_labels = test_images[:1000], test_labels[:1000]
  steps_per_epoch = len(images) // FLAGS.batch_size
  steps = 30 if FLAGS.smoke else int(FLAGS.epochs * steps_per_epoch)

  x = tf.placeholder(tf.float32, [None, 784], name='x')
  y = tf.placeholder(tf.int64, [None], name='y')
  keep = tf.placeholder_with_default(1.0, [], name='keep')
  logits = network(x, keep)
  loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
  accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))

  global_step = tf.train.get_or_create_global_step()
  learning_rate = tf.train.exponential_decay(1e-3, global_step, steps_per_epoch, 0.5)
  train_op = tf.train.AdamOptimizer(learning_rate).minimize(loss, global_step)
  tf.summary.scalar('loss', loss)
  tf.summary.scalar('accuracy', accuracy)
  tf.summary.scalar('learning_rate', learning_rate)
  for variable in tf.trainable_variables():
    tf.summary.histogram(variable.op.name, variable)

  hooks = [tf.train.StopAtStepHook(last_step=steps)]
  settings = tf.ConfigProto(intra_op_parallelism_threads=FLAGS.threads,
                            inter_op_parallelism_threads=FLAGS.threads)
  with tf.train.MonitoredTrainingSession(checkpoint_dir=FLAGS.train_dir, hooks=hooks,
                                         save_checkpoint_secs=60, save_summaries_steps=100,
                                         config=settings) as session:
    while not session.should_stop():
      batch = np.random.randint(0, len(images), FLAGS.batch_size)
      feed_dict = {x: images[batch], y: labels[batch], keep: 0.5}
      _, value, step = session.run([train_op, loss, global_step], feed_dict)
      if step % 100 == 0:
        print('step %d  loss %.3f' % (step, value), flush=True)

  with tf.Session(config=settings) as session:
    tf.train.Saver().restore(session, tf.train.latest_checkpoint(FLAGS.train_dir))
    print('test accuracy %.2f %%' % (
        100 * accuracy_of(session, accuracy, (x, y), test_images, test_labels)))


if __name__ == '__main__':
  tf.app.run()
