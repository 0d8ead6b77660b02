"""A residual network of 50 layers (He et al. 2015) learns flowers, and says what pictures show.

    python resnet50.py --train_dir /tmp/resnet50                  trains, and goes on where it ended
    python resnet50.py --train_dir /tmp/resnet50 --classify a.jpg,b.jpg

The network is written with tf.layers. Pictures have 64 pixels a side unless --size says otherwise,
so that one core trains the network within minutes; the paper has 224. The flowers are far too few
for so large a network: the loss falls, but it learns little about pictures that it has not seen.
"""
import time

import leat as tf

import flowers

flags = tf.app.flags
flags.DEFINE_string('data', '', 'Folder with a folder for each class, in place of the flowers.')
flags.DEFINE_string('train_dir', '/tmp/leat-resnet50', 'Folder of checkpoints and summaries.')
flags.DEFINE_integer('steps', 300, 'Steps in all, those of earlier runs included.')
flags.DEFINE_integer('batch_size', 16, 'Pictures a step.')
flags.DEFINE_integer('size', 64, 'Height and width of the pictures.')
flags.DEFINE_integer('width', 64, 'Channels of the first layer.')
flags.DEFINE_float('learning_rate', 0.02, 'Of momentum, at first; it falls to none at the end.')
flags.DEFINE_integer('report', 50, 'Steps between two reports.')
flags.DEFINE_string('classify', '', 'Pictures to classify, with commas between them.')
flags.DEFINE_bool('smoke', False, 'Two steps of a narrow network, to see that all works.')
FLAGS = flags.FLAGS

BLOCKS = 3, 4, 6, 3  # units of each block; the first unit of a block, but not of the first, halves
WEIGHT_DECAY = 1e-4


def convolve(x, channels, kernel, stride, training, scale=1.0):
  """A convolution without bias, and batch normalization, which scales by |scale| at first."""
  x = tf.layers.conv2d(x, channels, kernel, stride, 'same', use_bias=False,
                       kernel_initializer=tf.variance_scaling_initializer(2.0))
  return tf.layers.batch_normalization(x, momentum=0.95, fused=True, training=training,
                                       gamma_initializer=tf.constant_initializer(scale))


def unit(x, channels, stride, training):
  """Three convolutions beside a path that goes straight on, or through one where sizes change.
  The convolutions add nothing to the path at first, so that the deep network begins as a flat one.
  """
  with tf.variable_scope('path'):
    changes = stride != 1 or x.shape[3] != 4 * channels
    path = convolve(x, 4 * channels, 1, stride, training) if changes else x
  with tf.variable_scope('residual'):
    x = tf.nn.relu(convolve(x, channels, 1, 1, training))
    x = tf.nn.relu(convolve(x, channels, 3, stride, training))
    x = convolve(x, 4 * channels, 1, 1, training, scale=0.0)
  return tf.nn.relu(path + x)


def resnet50(pictures, classes, training):
  """Logits [batch, classes] of pictures [batch, height, width, 3]; |training| is a bool."""
  with tf.variable_scope('resnet50', reuse=tf.AUTO_REUSE):
    with tf.variable_scope('root'):
      x = tf.nn.relu(convolve(pictures, FLAGS.width, 7, 2, training))
      x = tf.layers.max_pooling2d(x, 3, 2, 'same')
    for i, units in enumerate(BLOCKS):
      for j in range(units):
        with tf.variable_scope('block_%d/unit_%d' % (i + 1, j + 1)):
          stride = 2 if i > 0 and j == 0 else 1
          x = unit(x, FLAGS.width << i, stride, training)
    return tf.layers.dense(tf.reduce_mean(x, [1, 2]), classes, name='logits')


def training_graph(data):
  """(global step, loss, train_op) of the pictures for training."""
  pictures, labels = flowers.batches(data.training, FLAGS.size, FLAGS.batch_size)
  logits = resnet50(pictures, len(data.classes), training=True)
  loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
  weights = [v for v in tf.trainable_variables() if 'kernel' in v.op.name]
  penalty = WEIGHT_DECAY * tf.add_n([tf.nn.l2_loss(v) for v in weights])

  step = tf.train.get_or_create_global_step()
  rate = tf.train.cosine_decay(FLAGS.learning_rate, step, FLAGS.steps)
  optimizer = tf.train.MomentumOptimizer(rate, 0.9, use_nesterov=True)
  # The moving means of batch normalization are updated by operations of their own.
  with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = optimizer.minimize(loss + penalty, step)
  tf.summary.scalar('loss', loss)
  tf.summary.scalar('learning_rate', rate)
  tf.summary.image('pictures', pictures, max_outputs=4)
  return step, loss, train_op


def train(data):
  step, loss, train_op = training_graph(data)
  pictures, labels = flowers.whole(data.validation, FLAGS.size)
  predicted = tf.argmax(resnet50(pictures, len(data.classes), training=False), 1,
                        output_type=tf.int32)
  accuracy = tf.reduce_mean(tf.cast(tf.equal(predicted, labels), tf.float32))
  hooks = [tf.train.StopAtStepHook(last_step=FLAGS.steps)]
  with tf.train.MonitoredTrainingSession(
      checkpoint_dir=FLAGS.train_dir, save_summaries_steps=FLAGS.report, hooks=hooks) as session:
    start = time.time()
    number = session.run_step_fn(lambda step_context: step_context.session.run(step))
    while not session.should_stop():
      value, _ = session.run([loss, train_op])
      number += 1
      if number % FLAGS.report == 0:
        right = session.run_step_fn(lambda step_context: step_context.session.run(accuracy))
        print('step %d, loss %.3f, accuracy of validation %.3f, %.0f s'
              % (number, value, right, time.time() - start), flush=True)


def classify(data, paths):
  """Prints the likeliest class of each picture."""
  path = tf.placeholder(tf.string, [])
  logits = resnet50(flowers.read(path, FLAGS.size)[tf.newaxis], len(data.classes), training=False)
  likelihoods = tf.nn.softmax(logits)[0]
  with tf.Session() as session:
    tf.train.Saver().restore(session, tf.train.latest_checkpoint(FLAGS.train_dir))
    for name in paths:
      found = session.run(likelihoods, {path: name})
      print('%s: %s, %.3f' % (name, data.classes[found.argmax()], found.max()))


def main(_):
  if FLAGS.smoke:
    FLAGS.steps, FLAGS.batch_size, FLAGS.size, FLAGS.width, FLAGS.report = 2, 2, 32, 4, 1
  tf.set_random_seed(1)
  data = flowers.Flowers(FLAGS.data, FLAGS.smoke)
  if FLAGS.classify:
    classify(data, FLAGS.classify.split(','))
  else:
    train(data)


if __name__ == '__main__':
  tf.app.run()
