"""Loops, conditionals, raw ops, messages and contrib, for the type checkers."""
import leat as tf
import leat.contrib.slim as slim
from leat.contrib import layers

with tf.Graph().as_default() as graph:
  i, total = tf.while_loop(lambda i, _: i < 10, lambda i, t: [i + 1, t + tf.cast(i, tf.float32)],
                           [tf.constant(0), tf.constant(0.0)], back_prop=False)
  small = tf.cond(total < 3.0, lambda: total * 2.0, lambda: -total)
  array = tf.TensorArray(tf.float32, size=3).write(0, small)
  y = tf.raw_ops.AddV2(x=small, y=total) / 2 - array.stack()[0]
  z = 1.0 + tf.square(y) ** 2
  net = slim.fully_connected(tf.ones([2, 3]), 4, scope='fc')
  net = layers.batch_norm(net, is_training=True)
  with tf.control_dependencies([z]), tf.name_scope('last'):
    done = tf.no_op(name='done')
  cell = tf.nn.rnn_cell.BasicLSTMCell(4)
  outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 3]), dtype=tf.float32)
  print(done.name, done.type, [n.name for n in graph.as_graph_def().node])
ragged = tf.ragged.constant([[1, 2], [3]])
print(tf.add(ragged, 1).values, tf.reduce_sum(ragged, axis=1))
definition = tf.GraphDef()
definition.ParseFromString(b'')
del definition.node[:]
options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
options.timeout_in_ms = 100
config = tf.ConfigProto()
config.gpu_options.allow_growth = True
config.graph_options.optimizer_options.global_jit_level = 1
tf.flags.DEFINE_integer('steps', 10, 'How many.')
print(tf.flags.FLAGS.steps, tf.__version__)
tf.logging.set_verbosity(tf.logging.INFO)
