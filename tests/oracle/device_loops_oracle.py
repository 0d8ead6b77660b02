"""Loops and conditionals that lie on several devices give TensorFlow's values: bodies, invariants,
nested loops and gradients on three CPU devices, the same session run again and again."""
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import config_pb2

import capi
from outcome import report

tf.disable_v2_behavior()
tf.disable_control_flow_v2()
LEAT = capi.Library()
CONFIG = config_pb2.ConfigProto(device_count={'CPU': 3}, allow_soft_placement=True)
IN_TIME = config_pb2.RunOptions(timeout_in_ms=60000).SerializeToString()


def on(index):
  return tf.device('/cpu:%d' % index)


def loop(count, body, *start):
  """The last variable of `count` iterations of body(i, *variables)."""
  variables = [tf.constant(0)] + [tf.constant(s) if isinstance(s, float) else s for s in start]
  return tf.while_loop(lambda i, *v: i < count, lambda i, *v: [i + 1] + body(i, *v), variables)[-1]


def body_elsewhere():
  def body(_, x):
    with on(1):
      return [x * 2.0]
  return loop(5, body, 1.0)


def three_devices():
  def body(_, x, y):
    with on(1):
      a = x + y
    with on(2):
      return [a * .5, a]
  return loop(7, body, 1.0, 2.0)


def invariant():
  with on(2):
    c = tf.constant(3.0) * tf.constant(1.5)

  def body(_, x):
    with on(1):
      return [x + c]
  return loop(5, body, 1.0)


def nested():
  def inner(_, x):
    with on(1):
      return [x + 1.0]

  def outer(_, x):
    with on(2):
      x = x * 1.5
    return [loop(3, inner, x)]
  return loop(4, outer, 1.0)


def conditional(taken):
  with on(1):
    x = tf.constant(2.0) * tf.constant(4.0)

  def yes():
    with on(2):
      return x * 2.0

  def no():
    with on(1):
      return x - 1.0
  return tf.cond(tf.placeholder_with_default(taken, []), yes, no)


def conditional_in_loop():
  def body(i, x):
    def even():
      with on(1):
        return x * 2.0

    def odd():
      with on(2):
        return x + 1.0
    return [tf.cond(tf.equal(i % 2, 0), even, odd)]
  with on(1):
    return loop(6, body, 1.0)


def loop_in_conditional(taken):
  return tf.cond(tf.placeholder_with_default(taken, []), body_elsewhere, lambda: tf.constant(7.0))


def gradient():
  x = tf.constant(1.5)

  def body(_, y):
    with on(1):
      return [y * x]
  return tf.gradients(loop(5, body, 2.0), x)[0]


def check(build, *arguments):
  graph = tf.Graph()
  with graph.as_default():
    y = tf.identity(build(*arguments), name='y')
  session = capi.Session(LEAT, graph.as_graph_def().SerializeToString(),
                         config=CONFIG.SerializeToString())
  with tf.Session(graph=graph, config=CONFIG) as tensorflow:
    want = tensorflow.run(y)
  for _ in range(5):
    got = session.run(['y:0'], run_options=IN_TIME)[0]
    if not np.array_equal(got, want):
      return 'gives %s, not %s' % (got, want)
  return ''


for make in (body_elsewhere, three_devices, invariant, nested, conditional_in_loop, gradient):
  report('over devices: ' + make.__name__.replace('_', ' '), check, make)
for make in (conditional, loop_in_conditional):
  for side in (True, False):
    report('over devices: %s, %s' % (make.__name__.replace('_', ' '), side), check, make, side)
