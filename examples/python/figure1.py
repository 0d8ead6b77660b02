"""Figure 1 of the TensorFlow white paper (arXiv 1603.04467), as it is printed.

The figure builds one layer of rectified linear units and a cost, and fetches the cost for ten
inputs. Here are three things that it leaves out: an operation initializes the variables before the
first step, a sum is the cost where the figure has `...`, and summaries let the board show it.
The figure adds b, of size 100, to the columns of W x: the input has 100 columns for that.

  python figure1.py --log_dir /tmp/figure1 && leat board --logdir /tmp/figure1
"""
import leat as tf
import numpy as np

tf.app.flags.DEFINE_string('log_dir', '/tmp/leat-figure1', 'folder of the graph and the costs')
tf.app.flags.DEFINE_bool('smoke', False, 'changes nothing: the program takes a moment')


def main(_):
  b = tf.Variable(tf.zeros([100]))                         # 100-d vector, init to zeroes
  W = tf.Variable(tf.random_uniform([784, 100], -1, 1))    # 784x100 matrix w/rnd vals
  x = tf.placeholder(name="x")                             # Placeholder for input
  relu = tf.nn.relu(tf.matmul(W, x) + b)                   # Relu(Wx+b)
  C = tf.reduce_sum(relu)                                  # Cost computed as a function of Relu
  cost = tf.summary.scalar('C', C)                         # (for the board)

  s = tf.Session()
  s.run(tf.global_variables_initializer())
  writer = tf.summary.FileWriter(tf.app.flags.FLAGS.log_dir, s.graph)
  for step in range(0, 10):
    input = np.random.random((100, 100))                   # Create 100-d vector for input
    result, summary = s.run([C, cost], feed_dict={x: input})    # Fetch cost, feeding x=input
    writer.add_summary(summary, step)
    print(step, result)
  writer.close()


if __name__ == '__main__':
  tf.app.run()
