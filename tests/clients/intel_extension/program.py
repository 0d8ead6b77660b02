"""Intel's extension for TensorFlow, a library of others: its kernels and its graph optimizer in
Leat's sessions.

usage: program.py LIBRARY

LIBRARY is tensorflow-plugins/libitex_cpu.so of the wheel, which finds the others beside itself. A
network is run and trained before the library is loaded and after that; both must agree, and the
second must consist of Intel's nodes."""
import sys

import numpy as np

import leat as tf

RANDOM = np.random.RandomState(1)
IMAGES = RANDOM.rand(16, 12, 12, 3).astype(np.float32)
LABELS = RANDOM.randint(0, 10, 16).astype(np.int32)
FILTERS = (RANDOM.randn(3, 3, 3, 8) * .3).astype(np.float32)
WEIGHTS = (RANDOM.randn(6 * 6 * 8, 10) * .1).astype(np.float32)
GRADIENTS = {'_ITEXConv2DBackpropFilter', '_ITEXConv2DBackpropFilterWithBias'}


def network():
  """A placeholder of pictures, what the network says of them, the loss and a step of training."""
  images = tf.placeholder(tf.float32, [None, 12, 12, 3])
  filters, weights = tf.Variable(FILTERS), tf.Variable(WEIGHTS)
  biases = tf.Variable(np.full(8, .1, np.float32)), tf.Variable(np.zeros(10, np.float32))
  seen = tf.nn.conv2d(images, filters, strides=[1, 1, 1, 1], padding='SAME')
  seen = tf.nn.relu(tf.nn.bias_add(seen, biases[0]))
  seen = tf.nn.max_pool(seen, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='VALID')
  logits = tf.nn.bias_add(tf.matmul(tf.reshape(seen, [-1, 6 * 6 * 8]), weights), biases[1])
  loss = tf.reduce_mean(
      tf.nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS, logits=logits))
  train = tf.train.MomentumOptimizer(.1, .9).minimize(loss)
  return images, tf.nn.softmax(logits), loss, train


def run():
  """Probabilities, the losses of ten steps, and the ops that ran in the first of each."""
  with tf.Graph().as_default(), tf.Session() as session:
    images, probabilities, loss, train = network()
    session.run(tf.global_variables_initializer())
    traces = [tf.RunMetadata(), tf.RunMetadata()]
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    said = session.run(probabilities, {images: IMAGES}, options, traces[0])
    losses = [session.run([loss, train], {images: IMAGES}, options, traces[1])[0]]
    losses += [session.run([loss, train], {images: IMAGES})[0] for _ in range(9)]
    ops = {node.timeline_label.split(' = ')[1].split('(')[0] for trace in traces
           for device in trace.step_stats.dev_stats for node in device.node_stats}
    return said, losses, ops


def refused():
  """A shape that a node refuses, in a branch that is not taken, for an optimizer that infers."""
  with tf.Graph().as_default(), tf.Session() as session:
    x = tf.placeholder(tf.float32)
    y = tf.cond(tf.greater(tf.rank(x), 1), lambda: tf.nn.relu(tf.matmul(x, np.eye(4, 2))),
                lambda: x * 2)
    assert list(session.run(y, {x: [1, 2, 3]})) == [2, 4, 6]


def main():
  said, losses, ops = run()
  assert not any(op.startswith('_ITEX') for op in ops), ops
  tf.load_pluggable_device_library(sys.argv[1])
  theirs, their_losses, their_ops = run()
  assert np.allclose(theirs, said, 1e-5, 1e-6), np.max(np.abs(theirs - said))
  assert np.allclose(their_losses, losses, 1e-5), (their_losses, losses)
  assert {'_ITEXFusedConv2D', '_ITEXMaxPool', '_ITEXSoftmax'} <= their_ops, their_ops
  assert GRADIENTS & their_ops, their_ops
  refused()
  print('ok: the losses are', np.round(their_losses, 4))


if __name__ == '__main__':
  main()
