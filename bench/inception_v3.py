"""The training graph of Inception-v3 in TensorFlow 1's plain operations: build(tf).

The network is that of "Rethinking the Inception Architecture for Computer Vision" as TensorFlow's
users trained it: convolutions without a bias, batch normalization made of its parts with moving
averages, an auxiliary classifier, label smoothing, weight decay, RMSProp, averages of the
variables, and summaries. Two towers compute gradients of halves of a batch, of which the mean is
applied. It has about the 36,000 nodes that TensorFlow's white paper gives for Inception-v3.
"""
TOWERS, CLASSES, BATCH, SIDE = 2, 1000, 32, 299
WEIGHT_DECAY, AVERAGE_DECAY, EPSILON = 0.00004, 0.9997, 0.001

# A branch is a list of layers: (height, width, channels), further a stride and padding. 'avg' and
# 'max' are pools of 3 x 3, a tuple of branches forks once more.
REDUCED = (2, 'VALID')
STEM = [(3, 3, 32, *REDUCED), (3, 3, 32, 1, 'VALID'), (3, 3, 64), 'max', (1, 1, 80, 1, 'VALID'),
        (3, 3, 192, 1, 'VALID'), 'max']


def _mixed_5(pooled):
  return [[(1, 1, 64)], [(1, 1, 48), (5, 5, 64)], [(1, 1, 64), (3, 3, 96), (3, 3, 96)],
          ['avg', (1, 1, pooled)]]


def _mixed_6(n):
  return [[(1, 1, 192)], [(1, 1, n), (1, 7, n), (7, 1, 192)],
          [(1, 1, n), (7, 1, n), (1, 7, n), (7, 1, n), (1, 7, 192)], ['avg', (1, 1, 192)]]


MIXED_7 = [[(1, 1, 320)], [(1, 1, 384), ([(1, 3, 384)], [(3, 1, 384)])],
           [(1, 1, 448), (3, 3, 384), ([(1, 3, 384)], [(3, 1, 384)])], ['avg', (1, 1, 192)]]
BLOCKS = [
    ('5b', _mixed_5(32)), ('5c', _mixed_5(64)), ('5d', _mixed_5(64)),
    ('6a', [[(3, 3, 384, *REDUCED)], [(1, 1, 64), (3, 3, 96), (3, 3, 96, *REDUCED)], ['max']]),
    ('6b', _mixed_6(128)), ('6c', _mixed_6(160)), ('6d', _mixed_6(160)), ('6e', _mixed_6(192)),
    ('7a', [[(1, 1, 192), (3, 3, 320, *REDUCED)],
            [(1, 1, 192), (1, 7, 192), (7, 1, 192), (3, 3, 192, *REDUCED)], ['max']]),
    ('7b', MIXED_7), ('7c', MIXED_7)]


class Network:
  """What the layers add on the way: operations that update moving averages, and losses."""

  def __init__(self, tf):
    self.tf, self.updates, self.losses, self.layers = tf, [], [], 0

  def variable(self, name, shape, initializer, trainable=True):
    return self.tf.get_variable(name, shape, initializer=initializer, trainable=trainable)

  def weights(self, shape, deviation):
    tf = self.tf
    made = self.variable('weights', shape, tf.truncated_normal_initializer(stddev=deviation))
    self.losses.append(tf.multiply(WEIGHT_DECAY, tf.nn.l2_loss(made), name='regularizer'))
    return made

  def normalized(self, x):
    """Batch normalization over all but the channels."""
    tf = self.tf
    with tf.variable_scope('BatchNorm'):
      shape = x.shape[-1:]
      beta = self.variable('beta', shape, tf.zeros_initializer())
      moving = [self.variable('moving_mean', shape, tf.zeros_initializer(), False),
                self.variable('moving_variance', shape, tf.ones_initializer(), False)]
      moments = tf.nn.moments(x, [0, 1, 2])
      for average, value in zip(moving, moments):
        change = (average - value) * (1 - AVERAGE_DECAY)
        self.updates.append(tf.assign_sub(average, change))
      return tf.nn.batch_normalization(x, *moments, beta, None, EPSILON)

  def convolution(self, x, height, width, channels, stride=1, padding='SAME', deviation=0.1):
    tf = self.tf
    self.layers += 1
    with tf.variable_scope('Conv_%d' % self.layers):
      shape = [height, width, x.shape[-1], channels]
      made = tf.nn.conv2d(x, self.weights(shape, deviation), [1, stride, stride, 1], padding)
      made = tf.nn.relu(self.normalized(made))
      tf.summary.histogram('activations', made)
      tf.summary.scalar('sparsity', tf.nn.zero_fraction(made))
      return made

  def branch(self, x, layers):
    tf = self.tf
    for layer in layers:
      if layer == 'avg':
        x = tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], 'SAME')
      elif layer == 'max':
        x = tf.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], 'VALID')
      elif isinstance(layer[0], list):
        x = tf.concat([self.branch(x, inner) for inner in layer], 3)
      else:
        x = self.convolution(x, *layer)
    return x

  def classifier(self, x, name):
    """Logits of features [batch, 1, 1, channels]."""
    tf = self.tf
    with tf.variable_scope(name):
      weights = self.weights([1, 1, x.shape[-1], CLASSES], 0.001)
      biases = self.variable('biases', [CLASSES], tf.zeros_initializer())
      logits = tf.nn.bias_add(tf.nn.conv2d(x, weights, [1, 1, 1, 1], 'SAME'), biases)
      return tf.squeeze(logits, [1, 2])

  def auxiliary(self, x):
    tf = self.tf
    with tf.variable_scope('Aux'):
      x = tf.nn.avg_pool(x, [1, 5, 5, 1], [1, 3, 3, 1], 'VALID')
      x = self.convolution(x, 1, 1, 128)
      x = self.convolution(x, 5, 5, 768, padding='VALID', deviation=0.01)
      return self.classifier(x, 'Logits')

  def loss(self, logits, labels, weight):
    """Cross entropy with smoothed labels."""
    tf = self.tf
    smooth = labels * 0.9 + 0.1 / CLASSES
    losses = tf.nn.softmax_cross_entropy_with_logits_v2(labels=smooth, logits=logits)
    self.losses.append(tf.reduce_mean(losses) * weight)

  def build(self, images, labels):
    """Adds the network and its losses; gives the total loss."""
    tf = self.tf
    x = self.branch(images, STEM)
    for name, branches in BLOCKS:
      with tf.variable_scope('Mixed_' + name):
        x = tf.concat([self.branch(x, layers) for layers in branches], 3)
      if name == '6e':
        self.loss(self.auxiliary(x), labels, 0.4)
    x = tf.nn.dropout(tf.nn.avg_pool(x, [1, 8, 8, 1], [1, 1, 1, 1], 'VALID'), keep_prob=0.8)
    self.loss(self.classifier(x, 'Logits'), labels, 1.0)
    return tf.add_n(self.losses, name='total_loss')


def mean_of_towers(tf, towers):
  """[(gradient, variable)] with the mean gradient over those of all towers."""
  return [(tf.add_n([gradient for gradient, _ in pairs]) / float(TOWERS), pairs[0][1])
          for pairs in zip(*towers)]


def build(tf):
  """Adds one step of training to the default graph; gives its operation."""
  step = tf.train.get_or_create_global_step()
  rate = tf.train.exponential_decay(0.1, step, 30000, 0.16, staircase=True)
  optimizer = tf.train.RMSPropOptimizer(rate, 0.9, momentum=0.9, epsilon=1.0)
  towers, updates = [], []
  for i in range(TOWERS):
    with tf.device('/cpu:0'), tf.name_scope('tower_%d' % i), \
        tf.variable_scope(tf.get_variable_scope(), reuse=i > 0):
      images = tf.placeholder(tf.float32, [BATCH, SIDE, SIDE, 3])
      labels = tf.one_hot(tf.placeholder(tf.int32, [BATCH]), CLASSES)
      network = Network(tf)
      towers.append(optimizer.compute_gradients(network.build(images, labels)))
      updates = updates or network.updates   # those of the first tower do
  gradients = mean_of_towers(tf, towers)
  for gradient, variable in gradients:
    tf.summary.histogram(variable.op.name + '/gradient', gradient)
    tf.summary.histogram(variable.op.name, variable)
  applied = optimizer.apply_gradients(gradients, step)
  averages = tf.train.ExponentialMovingAverage(AVERAGE_DECAY, step).apply(tf.trainable_variables())
  tf.summary.merge_all()
  tf.train.Saver()
  return tf.group(applied, averages, *updates)
