"""Softmax regression on handwritten digits: the first model of TensorFlow's tutorials.

A picture of 784 pixels is multiplied with a matrix of weights, one column for each digit. The
training changes the weights so that the softmax of the products gives the right digit a high
probability. About 92 % of the test pictures are then recognized.

  python mnist_softmax.py --train_dir /tmp/softmax

A run continues from the last checkpoint in --train_dir, where the summaries are too.
"""
import os

import leat as tf
import numpy as np

import data_files

flags = tf.app.flags
flags.DEFINE_string('train_dir', '/tmp/leat-mnist-softmax', 'folder of checkpoints and summaries')
flags.DEFINE_integer('steps', 3000, 'steps in all')
flags.DEFINE_integer('batch_size', 100, 'pictures of a batch')
flags.DEFINE_float('learning_rate', 0.5, 'of gradient descent')
flags.DEFINE_bool('smoke', False, 'a trial of a second')
FLAGS = flags.FLAGS


def main(_):
  steps = 50 if FLAGS.smoke else FLAGS.steps
  images, labels = data_files.mnist('train', FLAGS.smoke)
  test_images, test_labels = data_files.mnist('t10k', FLAGS.smoke)

  x = tf.placeholder(tf.float32, [None, 784], name='x')
  y = tf.placeholder(tf.int64, [None], name='y')
  W = tf.Variable(tf.zeros([784, 10]), name='W')
  b = tf.Variable(tf.zeros([10]), name='b')
  logits = tf.matmul(x, W) + b
  loss = tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
  accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), y), tf.float32))

  global_step = tf.train.get_or_create_global_step()
  train_op = tf.train.GradientDescentOptimizer(FLAGS.learning_rate).minimize(
      loss, global_step=global_step)
  tf.summary.scalar('loss', loss)
  tf.summary.scalar('accuracy', accuracy)
  tf.summary.histogram('W', W)
  # A picture for each digit: where its ink speaks for it, and where against it.
  tf.summary.image('weights', tf.reshape(tf.transpose(W), [10, 28, 28, 1]), max_outputs=10)
  summaries = tf.summary.merge_all()
  saver = tf.train.Saver()
  prefix = os.path.join(FLAGS.train_dir, 'model')

  with tf.Session() as session:
    checkpoint = tf.train.latest_checkpoint(FLAGS.train_dir)
    if checkpoint:
      saver.restore(session, checkpoint)
    else:
      session.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter(FLAGS.train_dir, session.graph)

    for step in range(session.run(global_step), steps):
      batch = np.random.randint(0, len(images), FLAGS.batch_size)
      feed_dict = {x: images[batch], y: labels[batch]}
      if step % 100 == 0:
        value, text = session.run([loss, summaries], feed_dict)
        writer.add_summary(text, step)
        print('step %d  loss %.3f' % (step, value))
      session.run(train_op, feed_dict)

    saver.save(session, prefix, global_step=global_step)
    writer.close()
    print('test accuracy %.2f %%' % (
        100 * session.run(accuracy, {x: test_images, y: test_labels})))


if __name__ == '__main__':
  tf.app.run()
