"""Figure 1 of the white paper, for the type checkers."""
import numpy as np

import leat as tf

b = tf.Variable(tf.zeros([100]), name='b')
W = tf.Variable(tf.random_uniform([784, 100], -1, 1))
x = tf.placeholder(tf.float32, [100, 784], name='x')
relu = tf.nn.relu(tf.matmul(x, W) + b)
C = tf.reduce_sum(relu)
[db, dW, dx] = tf.gradients(C, [b, W, x])
with tf.Session(config=tf.ConfigProto(log_device_placement=False)) as s:
  s.run(tf.global_variables_initializer())
  for step in range(10):
    result = s.run(C, feed_dict={x: np.ones((100, 784), np.float32)})
    print(step, result, s.run([db, dW], {x: np.ones((100, 784))})[0])
print(x.name.upper(), x.op.name, x.dtype.name, x.shape.as_list(), x.graph.get_operations())
