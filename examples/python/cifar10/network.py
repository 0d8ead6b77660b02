"""The networks of the CIFAR-10 example, and their losses.

'tutorial' is the network of TensorFlow's first tutorial: two convolutions with local response
normalization and two dense layers. It sees 24 x 24 pixels. 'residual' is one for fewer pictures:
batch normalization, and two blocks whose input is added to their output.

Variables are made by tf.get_variable, so that towers in one reused scope share them.
"""
import leat as tf

import pictures

NETWORKS = ('residual', 'tutorial')


def logits(images, network, training, width=32):
  """Logits [batch, 10] of images [batch, size, size, 3]. |width| is the number of channels after
  the first convolution of 'residual'."""
  if network == 'tutorial':
    return _tutorial(images)
  return _residual(images, training, width)


def loss(outputs, labels, network):
  """(the mean cross entropy, what the size of the weights costs): two scalars."""
  published = network == 'tutorial'
  entropy = tf.losses.softmax_cross_entropy(tf.one_hot(labels, pictures.CLASSES), outputs,
                                            label_smoothing=0.0 if published else 0.1)
  kernels = [v for v in tf.trainable_variables()
             if 'kernel' in v.name and (v.name.startswith('local') or not published)]
  decay = 0.004 if published else 5e-4
  return entropy, decay * tf.add_n([tf.nn.l2_loss(v) for v in kernels])


# ---- residual -----------------------------------------------------------------------------------

def _residual(images, training, width):
  x = _convolution(images, width, training, 'convolution1')           # 32 x 32
  x = _pool(_convolution(x, 2 * width, training, 'convolution2'))     # 16 x 16
  x = _pool(_convolution(x, 4 * width, training, 'convolution3'))     # 8 x 8
  x = _block(x, 4 * width, training, 'block1')
  x = _pool(_convolution(x, 8 * width, training, 'convolution4'))     # 4 x 4
  x = _block(x, 8 * width, training, 'block2')
  x = tf.reduce_mean(x, [1, 2])
  x = tf.layers.dropout(x, 0.2, training=training)
  return tf.layers.dense(x, pictures.CLASSES, name='softmax')


def _convolution(x, channels, training, name):
  with tf.variable_scope(name):
    x = tf.layers.conv2d(x, channels, 3, padding='same', use_bias=False, name='conv',
                         kernel_initializer=tf.variance_scaling_initializer(2.0))
    x = tf.layers.batch_normalization(x, momentum=0.95, training=training, name='norm')
    return tf.nn.relu(x)


def _block(x, channels, training, name):
  with tf.variable_scope(name):
    y = _convolution(x, channels, training, 'first')
    return x + _convolution(y, channels, training, 'second')


def _pool(x):
  return tf.layers.max_pooling2d(x, 2, 2)


# ---- tutorial -----------------------------------------------------------------------------------

def _tutorial(images):
  x = tf.layers.conv2d(images, 64, 5, padding='same', activation=tf.nn.relu, name='conv1',
                       kernel_initializer=tf.truncated_normal_initializer(stddev=0.05))
  x = tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], 'SAME')
  x = tf.nn.lrn(x, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
  x = tf.layers.conv2d(x, 64, 5, padding='same', activation=tf.nn.relu, name='conv2',
                       kernel_initializer=tf.truncated_normal_initializer(stddev=0.05),
                       bias_initializer=tf.constant_initializer(0.1))
  x = tf.nn.lrn(x, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
  x = tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], 'SAME')
  x = tf.layers.flatten(x)
  for name, units in (('local3', 384), ('local4', 192)):
    x = tf.layers.dense(x, units, tf.nn.relu, name=name,
                        kernel_initializer=tf.truncated_normal_initializer(stddev=0.04),
                        bias_initializer=tf.constant_initializer(0.1))
  return tf.layers.dense(x, pictures.CLASSES, name='softmax',
                         kernel_initializer=tf.truncated_normal_initializer(stddev=1 / 192.0))
