"""Measures the last checkpoint of train.py on the test pictures of CIFAR-10.

The moving averages of the variables are restored in place of the variables. The logits of a
picture and of its mirror image are added.

  python evaluate.py --train_dir /tmp/cifar10
"""
import leat as tf

import network
import pictures

flags = tf.app.flags
flags.DEFINE_string('train_dir', '/tmp/leat-cifar10', 'folder of the checkpoints')
flags.DEFINE_string('network', 'residual', 'as it was trained')
flags.DEFINE_integer('width', 32, 'as it was trained')
flags.DEFINE_integer('batch_size', 200, 'pictures of a batch')
flags.DEFINE_bool('smoke', False, 'measures what train.py --smoke trained')
FLAGS = flags.FLAGS


def main(_):
  width = 4 if FLAGS.smoke else FLAGS.width
  images, labels = pictures.test_batch(FLAGS.batch_size, FLAGS.network == 'tutorial', FLAGS.smoke)
  with tf.variable_scope('', reuse=tf.AUTO_REUSE):
    outputs = (network.logits(images, FLAGS.network, False, width) +
               network.logits(tf.image.flip_left_right(images), FLAGS.network, False, width))
  right = tf.reduce_sum(tf.cast(tf.nn.in_top_k(outputs, labels, 1), tf.int32))
  count = tf.size(labels)

  global_step = tf.train.get_or_create_global_step()
  averages = tf.train.ExponentialMovingAverage(0.99)
  saver = tf.train.Saver(averages.variables_to_restore())
  checkpoint = tf.train.latest_checkpoint(FLAGS.train_dir)
  if not checkpoint:
    raise ValueError('--train_dir is %s, must be a folder with a checkpoint' % FLAGS.train_dir)

  with tf.Session() as session:
    session.run(tf.local_variables_initializer())    # num_epochs of the input is one
    saver.restore(session, checkpoint)
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    total_right = total = 0
    try:
      while True:
        step, n, batch = session.run([global_step, right, count])
        total_right, total = total_right + n, total + batch
    except tf.errors.OutOfRangeError:
      pass    # the queue is closed after the last picture
    coordinator.request_stop()
    coordinator.join(threads)

  precision = total_right / total
  writer = tf.summary.FileWriter(FLAGS.train_dir)
  writer.add_summary(tf.Summary(value=[
      tf.Summary.Value(tag='test_accuracy', simple_value=precision)]), step)
  writer.close()
  print('step %d: %d of %d test pictures right, %.2f %%' % (
      step, total_right, total, 100 * precision))


if __name__ == '__main__':
  tf.app.run()
