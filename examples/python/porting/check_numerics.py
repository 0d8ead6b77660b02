"""Finds the operation that gave the first number that is none.

Section 6 of the white paper: guard against numerical errors. tf.add_check_numerics_ops() adds a
check behind each operation of the graph that gives floating-point numbers. A step that runs the
checks fails at the first infinity or NaN, and says which operation gave it. Without them a NaN
goes through the whole model, and only the loss shows that something is wrong somewhere.

The model here takes the logarithm of a softmax as two operations. The softmax of an unlikely class
becomes 0 as the model grows sure of itself, its logarithm is minus infinity, and 0 times that
is no number. tf.nn.softmax_cross_entropy_with_logits computes both at once and has no such step:
try --loss joint.

  python check_numerics.py --log_dir /tmp/numerics
"""
import leat as tf
import numpy as np

flags = tf.app.flags
flags.DEFINE_string('loss', 'separate', 'separate: log(softmax(x)); joint: one operation')
flags.DEFINE_float('learning_rate', 50.0, 'of gradient descent')
flags.DEFINE_integer('steps', 200, 'steps in all')
flags.DEFINE_string('log_dir', '/tmp/leat-numerics', 'folder of the summaries')
flags.DEFINE_bool('smoke', False, 'changes nothing: the program takes a moment')
FLAGS = flags.FLAGS


def loss_of(logits, labels):
  one_hot = tf.one_hot(labels, 3)
  if FLAGS.loss == 'joint':
    losses = tf.nn.softmax_cross_entropy_with_logits(labels=one_hot, logits=logits)
  else:
    probability = tf.nn.softmax(logits, name='probability')
    losses = -tf.reduce_sum(one_hot * tf.log(probability, name='log_probability'), 1)
  return tf.reduce_mean(losses)


def batch(random):
  """Points around three centres: (float [30, 2], int [30])."""
  labels = random.randint(0, 3, 30)
  centres = np.array([[0, 10], [-10, -10], [10, -10]])
  return centres[labels] + random.standard_normal([30, 2]), labels


def main(_):
  points = tf.placeholder(tf.float32, [None, 2], name='points')
  labels = tf.placeholder(tf.int32, [None], name='labels')
  logits = tf.layers.dense(points, 3, kernel_initializer=tf.zeros_initializer(), name='dense')
  loss = loss_of(logits, labels)
  optimizer = tf.train.GradientDescentOptimizer(FLAGS.learning_rate)
  gradients = optimizer.compute_gradients(loss)
  # The model and its gradients are in the graph now, and are checked. The variables change after
  # the checks, so that a step that fails leaves them as they were.
  with tf.control_dependencies([tf.add_check_numerics_ops()]):
    train_op = optimizer.apply_gradients(gradients)
  tf.summary.scalar('loss', loss)
  summaries = tf.summary.merge_all()

  random = np.random.RandomState(1)
  with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    writer = tf.summary.FileWriter(FLAGS.log_dir, session.graph)
    for step in range(FLAGS.steps):
      x, y = batch(random)
      try:
        value, text, _ = session.run([loss, summaries, train_op], {points: x, labels: y})
      except tf.errors.InvalidArgumentError as error:
        print('step %d: %s' % (step, error.message.splitlines()[0]))
        break
      writer.add_summary(text, step)
    else:
      print('%d steps, loss %.4f: every number of every step is finite' % (FLAGS.steps, value))
    writer.close()


if __name__ == '__main__':
  tf.app.run()
