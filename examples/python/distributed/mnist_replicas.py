"""Data parallelism on a cluster: workers compute gradients, parameter servers keep the variables.

    leat launch -n 3 --ps 1 -- python mnist_replicas.py              all workers in step
    leat launch -n 3 --ps 1 -- python mnist_replicas.py --backup 1   in step with the fastest two
    leat launch -n 3 --ps 1 -- python mnist_replicas.py --nosync     each at its own pace
    python mnist_replicas.py --shards 3                              the first, on one machine

In step, an update is the mean of the gradients of one shard of pictures from each worker, which is
the gradient of one large batch. One machine that takes the same shards gets the same weights. With
two workers the weights are equal to the last bit; three or more gradients are summed in the order
in which they come, and sums of floats depend on it. With backup workers the gradients that come
too late are dropped.
"""
import hashlib
import time

import leat as tf

import digits
import place

flags = tf.app.flags
flags.DEFINE_string('train_dir', '/tmp/leat-replicas', 'Folder of checkpoints and summaries.')
flags.DEFINE_bool('sync', True, 'Whether the workers take each step together.')
flags.DEFINE_integer('backup', 0, 'Of the workers in step, how many an update does not wait for.')
flags.DEFINE_integer('shards', 1, 'Shards of a step, where there is no cluster.')
flags.DEFINE_integer('steps', 3000, 'Updates in all, those of earlier runs included.')
flags.DEFINE_integer('batch_size', 50, 'Pictures a shard.')
flags.DEFINE_float('learning_rate', 0.3, 'Of gradient descent.')
flags.DEFINE_integer('report', 500, 'Updates between two reports.')
flags.DEFINE_bool('smoke', False, 'A few steps with made digits, to see that all works.')
FLAGS = flags.FLAGS


def losses_and_hits(images, labels):
  """The mean loss and the part of the pictures that are classified rightly, both scalars."""
  with tf.variable_scope('perceptron', reuse=tf.AUTO_REUSE):
    hidden = tf.layers.dense(images, 128, tf.nn.relu, name='hidden',
                             kernel_initializer=tf.truncated_normal_initializer(0.0, 0.05, seed=1))
    logits = tf.layers.dense(hidden, 10, name='output',
                             kernel_initializer=tf.truncated_normal_initializer(0.0, 0.05, seed=2))
  loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
  hits = tf.equal(tf.argmax(logits, 1, output_type=tf.int32), labels)
  return loss, tf.reduce_mean(tf.cast(hits, tf.float32))


class Model:
  """The graph: a placeholder of each shard's images and labels, loss, accuracy, train_op, hooks.

  next_shard, run before a step, is the number of the first shard that no step has taken.
  """

  def __init__(self, here):
    shards = FLAGS.shards if here.cluster is None else 1
    self.images = [tf.placeholder(tf.float32, [None, 784]) for _ in range(shards)]
    self.labels = [tf.placeholder(tf.int32, [None]) for _ in range(shards)]
    counter = tf.get_variable('batches_taken', [], tf.int64, tf.zeros_initializer(),
                              trainable=False)
    # CountUpTo gives the number that it counted. The result of AssignAdd is the variable, which
    # another worker may have counted up again before this one reads it.
    self.next_shard = tf.count_up_to(counter, 2**62) * shards
    self.global_step = tf.train.get_or_create_global_step()

    optimizer, self.hooks = tf.train.GradientDescentOptimizer(FLAGS.learning_rate), []
    if FLAGS.sync:
      optimizer, self.hooks = here.synchronous(optimizer, FLAGS.backup)
    losses, hits = zip(*(losses_and_hits(*shard) for shard in zip(self.images, self.labels)))
    self.loss, self.accuracy = tf.add_n(losses) / shards, hits[0]
    gradients = [optimizer.compute_gradients(loss) for loss in losses]
    means = [(tf.add_n([g for g, _ in row]) / shards, row[0][1]) for row in zip(*gradients)]
    self.train_op = optimizer.apply_gradients(means, self.global_step)
    self.weights = tf.trainable_variables()
    tf.summary.scalar('loss', self.loss)

  def feed(self, shards):
    feed = {}
    for i, (images, labels) in enumerate(shards):
      feed[self.images[i]], feed[self.labels[i]] = images, labels
    return feed


def train(here):
  """Takes steps until the last; returns the model."""
  with tf.device(here.device()):
    model = Model(here)
  data, start = digits.Digits('train', FLAGS.smoke), time.time()
  model.hooks.append(tf.train.StopAtStepHook(last_step=FLAGS.steps))
  with here.session(FLAGS.train_dir, model.hooks, FLAGS.report) as session:
    reported = 0
    while not session.should_stop():
      first = session.run_step_fn(lambda step_context: step_context.session.run(model.next_shard))
      shards = [data.shard(first + i, FLAGS.batch_size) for i in range(len(model.images))]
      step, loss, _ = session.run([model.global_step, model.loss, model.train_op],
                                  model.feed(shards))
      if step >= reported + FLAGS.report:
        reported = step - step % FLAGS.report
        print('step %d, loss %.4f, %.0f s' % (step, loss, time.time() - start), flush=True)
  return model


def report(here, model):
  """Prints the accuracy, and a digest of the weights by which runs can be compared."""
  data = digits.Digits('t10k', FLAGS.smoke)
  with tf.Session(here.target, config=here.config()) as session:
    if here.cluster is None:
      tf.train.Saver().restore(session, tf.train.latest_checkpoint(FLAGS.train_dir))
    accuracy = session.run(model.accuracy,
                           {model.images[0]: data.images, model.labels[0]: data.labels})
    digest = hashlib.sha256(b''.join(w.tobytes() for w in session.run(model.weights)))
  print('accuracy %.4f, weights %s' % (accuracy, digest.hexdigest()[:16]))


def main(_):
  if FLAGS.smoke:
    FLAGS.steps, FLAGS.learning_rate, FLAGS.report = min(FLAGS.steps, 20), 0.1, 5
  here = place.Place()
  here.serve()
  model = train(here)
  if here.is_chief:
    report(here, model)


if __name__ == '__main__':
  tf.app.run()
