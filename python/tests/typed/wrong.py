"""Programs with a mistake in each line that says so, which type checkers must report."""
import leat as tf
import leat.contrib.slim as slim
from leat.train import GradientDecentOptimizer  # wrong

x = tf.placeholder(tf.float32, [None, 3])
y = tf.nn.rleu(x)  # wrong
y = tf.contrib.layer.fully_connected(x, 3)  # wrong
y = tf.layers.dense(x)  # wrong
y = tf.layers.dense(x, 3, activaton=tf.nn.relu)  # wrong
y = tf.matmul(x)  # wrong
y = tf.matmul(x, x, transpose=True)  # wrong
y = tf.nn.relu(x, 'relu', 3)  # wrong
y = tf.nn.relu(features=x, name=3)  # wrong
y = tf.placeholder(3.5)  # wrong
y = tf.cast(x, [tf.int32])  # wrong
y = tf.raw_ops.AddV2(x, x)  # wrong
y = tf.raw_ops.AddV2(x=x, z=x)  # wrong
y = slim.conv2d(x, kernel_size=3)  # wrong
print(x.nam)  # wrong
print(x.dtype.nam)  # wrong
print(tf.ones([2]).op.typ)  # wrong
tf.constant(1).run()  # wrong
tf.no_op().eval()  # wrong
session = tf.Session(grph=None)  # wrong
session.fetch(x)  # wrong
session.run()  # wrong
session.run(x, [1.0])  # wrong
session.graph.get_operation('x')  # wrong
tf.train.Saver().saves(session, '/tmp/x')  # wrong
tf.train.AdamOptimizer(0.1, beta3=0.5)  # wrong
tf.train.AdamOptimizer(0.1).minimise(x)  # wrong
tf.while_loop(lambda i: i < 3, lambda i: i + 1)  # wrong
tf.estimator.EstimatorSpec(los=x, mode='train')  # wrong
tf.ConfigProto(allow_soft_placements=True)  # wrong
tf.ConfigProto().gpu_options.growth = True  # wrong
tf.ConfigProto().inter_op_parallelism_threads = 'two'  # wrong
tf.errors.InvalidArgument  # wrong
tf.flags.DEFINE_number('x', 1, '')  # wrong
