"""The device of Vulten, a library of others: its kernels in Leat's sessions, and training on it.

usage: program.py LIBRARY

Vulten (github.com/jswag180/Vulten) has a device VULK for what Vulkan finds, which may be a driver
that computes on the CPU. Each kernel and each step is compared with Leat's own on the CPU, to which
the kernels may not fall back."""
import sys

import numpy as np

import leat as tf

tf.load_pluggable_device_library(sys.argv[1])
RANDOM = np.random.RandomState(1)
A, B = (RANDOM.randn(3, 5).astype(np.float32) for _ in range(2))
IMAGES = RANDOM.randn(64, 20).astype(np.float32)
LABELS = np.argmax(IMAGES @ RANDOM.randn(20, 3), 1).astype(np.int32)


def kernels(device):
  """Placeholders for A and B, and a node of each kind on |device|."""
  with tf.device(device):
    a, b = (tf.placeholder(tf.float32, [3, 5]) for _ in range(2))
    steps = np.arange(5, dtype=np.float32)
    return a, b, [
        tf.nn.relu(a), a + b, a - b, a * b, a / b, -a, tf.exp(a), tf.sqrt(a * a), tf.nn.softmax(a),
        tf.pow(a, np.full([3, 5], 3, np.float32)), tf.matmul(a, b, transpose_b=True),
        tf.add_n([a, b, a]), tf.nn.bias_add(a, steps), tf.reduce_sum(a, 1), tf.identity(a),
        tf.cast(a, tf.int32), tf.broadcast_to(steps, [3, 5])]


def network(device):
  """Placeholders of images and labels, the loss, and a step of training."""
  with tf.device(device):
    weights = [tf.get_variable('%s%d' % (device[1:4], i), initializer=value, use_resource=True)
               for i, value in enumerate(START)]
    x, y = tf.placeholder(tf.float32, [64, 20]), tf.placeholder(tf.int32, [64])
    hidden = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weights[0]), weights[1]))
    logits = tf.nn.bias_add(tf.matmul(hidden, weights[2]), weights[3])
    each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    loss = tf.reduce_sum(each, 0) * np.float32(1 / 64)
    gradients = tf.gradients(loss, weights)
    step = tf.group(*[tf.assign_sub(w, g * np.float32(.3)) for w, g in zip(weights, gradients)])
  return x, y, loss, step


START = [RANDOM.randn(20, 16) * .3, np.zeros(16), RANDOM.randn(16, 3) * .3, np.zeros(3)]
START = [value.astype(np.float32) for value in START]

with tf.Graph().as_default():
  a, b, theirs = kernels('/VULK:0')
  c, d, ours = kernels('/CPU:0')
  with tf.Session(config=tf.ConfigProto(allow_soft_placement=False)) as session:
    values = session.run([theirs, ours], {a: A, b: B, c: A, d: B})
  for node, one, other in zip(theirs, *values):
    assert one.shape == other.shape and np.allclose(one, other, 1e-4, 1e-6), (node, one, other)

with tf.Graph().as_default():
  x, y, loss, step = network('/VULK:0')
  u, v, cpu_loss, cpu_step = network('/CPU:0')
  feeds = {x: IMAGES, y: LABELS, u: IMAGES, v: LABELS}
  trace, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
  with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
    session.run(tf.global_variables_initializer())
    losses = []
    for _ in range(40):
      losses.append(session.run([loss, cpu_loss], feeds))
      session.run([step, cpu_step], feeds)
    session.run(step, feeds, options=trace, run_metadata=metadata)
  losses = np.array(losses)
  assert losses[-1, 0] < .2 * losses[0, 0], losses
  assert np.allclose(losses[:, 0], losses[:, 1], 1e-4), losses
  ran = {node.timeline_label.split(' = ')[-1].split('(')[0]
         for device in metadata.step_stats.dev_stats if 'VULK' in device.device
         for node in device.node_stats}
  assert {'AssignSubVariableOp', 'MatMul', 'ReluGrad', 'BiasAddGrad'} <= ran, ran
print('ok')
