"""Trains a linear model on a cluster from outside: variables on the ps, gradients on the workers.

The program is a client of one task, its master, which places the graph on all of them. Each worker
computes the gradient of a shard of made data, and the ps applies the mean. Variables live on the
ps: a second run goes on where the first one ended, but for --restart.
"""
import leat as tf

flags = tf.app.flags
flags.DEFINE_string('target', 'grpc://worker-0.leat:2222', 'The master, any task of the cluster.')
flags.DEFINE_integer('workers', 2, 'How many workers the cluster has.')
flags.DEFINE_integer('steps', 100, 'Updates of this run.')
flags.DEFINE_bool('restart', True, 'Whether the variables begin anew.')
FLAGS = flags.FLAGS


def main(_):
  with tf.device('/job:ps/task:0'):
    weights = tf.get_variable('weights', [4, 1], initializer=tf.zeros_initializer())
    truth = tf.constant([[1.0], [-2.0], [3.0], [0.5]])
  losses = []
  for i in range(FLAGS.workers):
    with tf.device('/job:worker/task:%d' % i):
      x = tf.random_normal([64, 4], seed=i + 1)
      losses.append(tf.reduce_mean(tf.square(tf.matmul(x, weights) - tf.matmul(x, truth))))
  loss = tf.add_n(losses) / FLAGS.workers
  update = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
  with tf.Session(FLAGS.target) as session:
    if FLAGS.restart:
      session.run(tf.global_variables_initializer())
    for step in range(1, FLAGS.steps + 1):
      value, _ = session.run([loss, update])
      if step % 10 == 0:
        print('step %d, loss %.6f' % (step, value), flush=True)


if __name__ == '__main__':
  tf.app.run(main)
