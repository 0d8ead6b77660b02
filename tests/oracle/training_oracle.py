"""Training graphs that TensorFlow builds in Python give the same numbers through Leat: initial
values bit for bit, losses over 20 steps, gradients by TF_AddGradients."""
import numpy as np
import tensorflow.compat.v1 as tf

import capi
from outcome import report

tf.disable_eager_execution()
tf.disable_v2_behavior()
STEPS, BATCH = 20, 32


def variable(shape, scale, seed, name):
  return tf.Variable(tf.random_uniform(shape, -scale, scale, seed=seed), name=name)


def inputs():
  return (tf.placeholder(tf.float32, [None, 784], name='x'),
          tf.placeholder(tf.int32, [None], name='t'))


def loss_of(logits, labels):
  losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
  return tf.reduce_mean(losses, name='loss')


def perceptron():
  x, t = inputs()
  h = tf.nn.relu(tf.matmul(x, variable([784, 128], .05, 1, 'w1')) + variable([128], .05, 2, 'b1'))
  z = tf.matmul(h, variable([128, 10], .05, 3, 'w2')) + variable([10], .05, 4, 'b2')
  return loss_of(z, t)


def convolutional():
  x, t = inputs()
  h = tf.reshape(x, [-1, 28, 28, 1])
  for i, (cin, cout) in enumerate([(1, 8), (8, 16)]):
    w = variable([5, 5, cin, cout], .1, 10 + i, 'conv%d' % i)
    h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(h, w, [1, 1, 1, 1], 'SAME'),
                                  variable([cout], .1, 20 + i, 'bias%d' % i)))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')
  h = tf.reshape(h, [-1, 7 * 7 * 16])
  h = tf.nn.relu(tf.matmul(h, variable([7 * 7 * 16, 64], .05, 30, 'w3')))
  h = tf.nn.dropout(h, rate=.4, seed=3)
  return loss_of(tf.matmul(h, variable([64, 10], .05, 31, 'w4')), t)


OPTIMIZERS = {
    'sgd': lambda: tf.train.GradientDescentOptimizer(.1),
    'momentum': lambda: tf.train.MomentumOptimizer(.05, .9),
    'nesterov': lambda: tf.train.MomentumOptimizer(.05, .9, use_nesterov=True),
    'adam': lambda: tf.train.AdamOptimizer(1e-3),
    'adagrad': lambda: tf.train.AdagradOptimizer(.05),
    'rmsprop': lambda: tf.train.RMSPropOptimizer(1e-3),
}
CASES = [('mlp', perceptron, name) for name in OPTIMIZERS] + [
    ('cnn', convolutional, 'adam'), ('cnn', convolutional, 'sgd')]


def batches():
  random = np.random.RandomState(5)
  return [{'x:0': random.rand(BATCH, 784).astype('f4'),
           't:0': random.randint(0, 10, BATCH).astype('i4')} for _ in range(STEPS)]


def by_tensorflow(graph, names, feeds, train, init):
  options = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
  with tf.Session(graph=graph, config=options) as session:
    session.run(init)
    initial = session.run(names)
    return initial, [session.run(['loss:0', train], feed)[0] for feed in feeds]


def by_leat(graph_def, names, feeds, train, init):
  session = capi.Session(capi.Library(), graph_def)
  session.run(targets=[init])
  initial = session.run(names)
  losses = [session.run(['loss:0'], feed, targets=[train])[0] for feed in feeds]
  session.close()
  return initial, losses


def compare_training(kind, build, optimizer):
  """-> '' or what differs"""
  with tf.Graph().as_default() as graph:
    train = OPTIMIZERS[optimizer]().minimize(build()).name
    init = tf.global_variables_initializer().name
    names = [v.name for v in tf.global_variables()]
    feeds, graph_def = batches(), graph.as_graph_def().SerializeToString()
    want_initial, want = by_tensorflow(graph, names, feeds, train, init)
  initial, losses = by_leat(graph_def, names, feeds, train, init)
  for name, a, b in zip(names, initial, want_initial):
    if a.tobytes() != b.tobytes():
      return 'initial value of %s differs' % name
  worst = max(abs(a - b) / abs(b) for a, b in zip(losses, want))
  return '' if worst <= 1e-4 else 'losses differ by %.2g' % worst


def compare_gradients(build):
  """TF_AddGradients on the forward graph against tf.gradients."""
  with tf.Graph().as_default() as graph:
    loss = build()
    init = tf.global_variables_initializer().name
    variables = tf.trainable_variables()
    names = [v.op.name for v in variables]
    forward, feed = graph.as_graph_def().SerializeToString(), batches()[0]
    wanted = tf.gradients(loss, variables)
    with tf.Session(graph=graph) as session:
      session.run(init)
      want = session.run(wanted, feed)
  session = capi.Session(capi.Library(), forward)
  session.run(targets=[init])
  got = session.run(session.gradients(['loss:0'], names), feed)
  session.close()
  for name, a, b in zip(names, got, want):
    if a.shape != b.shape or np.abs(a - b).max() > 1e-4 * np.abs(b).max() + 1e-7:
      return 'gradient of %s differs' % name
  return ''


for kind, build, optimizer in CASES:
  report('training %s %s' % (kind, optimizer), compare_training, kind, build, optimizer)
for kind, build in [('mlp', perceptron), ('cnn', convolutional)]:
  report('gradients %s' % kind, compare_gradients, build)
