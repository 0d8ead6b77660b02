"""Leat's tasks and TensorFlow's in one cluster, driven by TensorFlow's Python client.

Softmax regression with its variables on parameter servers and its gradients on two workers, with a
loop and a conditional that span tasks, trains in clusters of five kinds: TensorFlow alone, which is
the reference, Leat alone, and three mixtures, with either as the master. Losses and variables must
agree. Then Leat alone meets what befalls clusters: a worker that is killed in a step, two masters
at once on one parameter server, a step that nobody can end.

TensorFlow's servers are started first: they are forks of this process, which must not have run a
session by then."""
import contextlib
import os
import sys
import threading
import time

os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0')

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

from cluster import Cluster  # noqa: E402
from outcome import report  # noqa: E402

tf.disable_eager_execution()
tf.disable_control_flow_v2()
STEPS, BATCH, FLOW_EVERY = 30, 32, 5
TOLERANCE = 1e-5

# Who plays which task, and the task that the client speaks to, for ref and for resource variables.
CLUSTERS = {
    'all TensorFlow': ({'ps': 'T', 'worker': 'TT'}, 'worker/0', 'worker/0'),
    'all Leat': ({'ps': 'L', 'worker': 'LL'}, 'worker/0', 'ps/0'),
    'Leat master': ({'ps': 'T', 'worker': 'LT'}, 'worker/0', 'worker/0'),
    'TensorFlow master': ({'ps': 'L', 'worker': 'TL'}, 'worker/0', 'worker/0'),
    'two of each': ({'ps': 'LT', 'worker': 'TL'}, 'ps/0', 'worker/0'),
}



@contextlib.contextmanager
def leat_cluster():
  cluster = Cluster({'ps': 'L', 'worker': 'LL'})
  try:
    cluster.start()
    yield cluster
  finally:
    cluster.stop()


# ---- the model ---------------------------------------------------------------------------------
class Model:
  """Softmax regression over two workers and |ps_count| parameter servers."""

  def __init__(self, ps_count, use_resource):
    self.graph = tf.Graph()
    with self.graph.as_default():
      self.add_variables(ps_count, use_resource)
      losses, gradients = zip(*[self.add_worker(i) for i in range(2)])
      with tf.device('/job:worker/task:0'):
        self.loss = tf.add_n(losses) / 2
      optimizer = tf.train.GradientDescentOptimizer(.1)
      self.losses = losses
      self.train_alone = [optimizer.apply_gradients(zip(g, self.variables)) for g in gradients]
      means = []
      for variable, *parts in zip(self.variables, *gradients):
        with tf.device(variable.device):
          means.append(tf.add_n(parts) / 2)
      with tf.control_dependencies([self.loss]):
        self.train = optimizer.apply_gradients(zip(means, self.variables))
      self.flow = [self.add_loop(), self.add_conditional()]
      self.init = tf.global_variables_initializer()

  def add_variables(self, ps_count, use_resource):
    with tf.device('/job:ps/task:0'):
      self.w = tf.Variable(tf.zeros([784, 10]), name='w', use_resource=use_resource)
    with tf.device('/job:ps/task:%d' % (ps_count - 1)):
      self.b = tf.Variable(tf.zeros([10]), name='b', use_resource=use_resource)
      self.count = tf.Variable(0, name='count', use_resource=use_resource, trainable=False)
      self.count_up = tf.assign_add(self.count, 1, use_locking=True)
    self.variables = [self.w, self.b]

  def add_worker(self, index):
    """-> its loss and its gradients"""
    with tf.device('/job:worker/task:%d' % index):
      x = tf.placeholder(tf.float32, [BATCH, 784], 'x%d' % index)
      t = tf.placeholder(tf.int32, [BATCH], 't%d' % index)
      logits = tf.matmul(x, self.w) + self.b
      loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=t, logits=logits))
      return loss, tf.gradients(loss, self.variables)

  def add_loop(self):
    """Every iteration passes through worker 0, worker 1 and the parameter server."""
    def body(i, value):
      with tf.device('/job:worker/task:1'):
        halved = value * .5
      with tf.device('/job:ps/task:0'):
        return i + 1, halved + tf.reduce_max(self.b)

    with tf.device('/job:worker/task:0'):
      return tf.while_loop(lambda i, _: i < 6, body, [0, tf.reduce_sum(tf.square(self.w))])[1]

  def add_conditional(self):
    """Both branches are taken in 30 steps, each on another task than the one that chooses."""
    def high():
      with tf.device('/job:worker/task:1'):
        return self.loss * 2

    def low():
      with tf.device('/job:ps/task:0'):
        return tf.reduce_sum(self.b) - self.loss

    with tf.device('/job:worker/task:0'):
      return tf.cond(self.loss > 1.2, high, low)


def batches():
  """Feeds of each step: pictures of ten patterns, under noise."""
  random = np.random.RandomState(11)
  patterns = random.rand(10, 784).astype('f4')
  feeds = []
  for _ in range(STEPS):
    feed = {}
    for i in range(2):
      t = random.randint(0, 10, BATCH).astype('i4')
      x = .3 * patterns[t] + .3 * random.rand(BATCH, 784).astype('f4')
      feed.update({'x%d:0' % i: x, 't%d:0' % i: t})
    feeds.append(feed)
  return feeds


# ---- training ----------------------------------------------------------------------------------
def train(cluster, task, model):
  """-> losses, what the loop and the conditional gave, variables"""
  losses, flow = [], []
  with cluster.session(task, model.graph) as session:
    session.run(model.init)
    for step, feed in enumerate(batches()):
      losses.append(session.run([model.loss, model.train], feed)[0])
      if step % FLOW_EVERY == 0:
        flow += session.run(model.flow, feed)
    return losses, flow, session.run(model.variables)


def difference(results, reference):
  for what, got, want in zip(('losses', 'control flow', 'w', 'b'),
                             (*results[:2], *results[2]), (*reference[:2], *reference[2])):
    worst = np.abs(np.subtract(got, want)).max()
    if not worst <= TOLERANCE:
      return '%s differ by %.2g' % (what, worst)
  return ''


def check_reference(reference):
  """The comparison says something: the loss falls, and both branches were taken."""
  losses, flow, _ = reference
  if not losses[-1] < .7 * losses[0]:
    return 'the loss goes from %g to %g' % (losses[0], losses[-1])
  branches = {value > 0 for value in flow[1::2]}
  return '' if len(branches) == 2 else 'one branch only: %s' % flow[1::2]


def compare_training(clusters):
  references = {}
  for name, (players, *masters) in CLUSTERS.items():
    cluster = clusters[name]
    try:
      cluster.start()
      for kind, master in zip(('ref', 'resource'), masters):
        model = Model(len(players['ps']), kind == 'resource')

        def compare():
          results = train(cluster, master, model)
          if name != 'all TensorFlow':
            return difference(results, references[kind])
          references[kind] = results
          return check_reference(results)

        report('cluster %s, %s variables' % (name, kind), compare)
    finally:
      cluster.stop()


# ---- what befalls clusters -----------------------------------------------------------------------
def add_queue(model, queue_task, reader_task):
  """-> ops: put 7 into a queue of one task; a value of another that needs an element of it"""
  with model.graph.as_default():
    with tf.device(queue_task):
      queue = tf.FIFOQueue(4, tf.int32, shared_name='queue')
      put, element = queue.enqueue(7), queue.dequeue()
    with tf.device(reader_task):
      return put, element + 1


def failure_of(session, fetch):
  """-> the name of the error that a step ends with, and after how many seconds"""
  start = time.time()
  try:
    session.run(fetch)
  except tf.errors.OpError as error:
    return type(error).__name__, time.time() - start
  return 'none', time.time() - start


def kill_a_worker():
  """A step waits on worker 1, which is killed. After it is back, a new session finds the variables
  on the parameter server and goes on as if nothing had been."""
  model, feeds = Model(1, True), batches()
  _, waiting = add_queue(model, '/job:worker/task:1', '/job:worker/task:0')
  with model.graph.as_default(), tf.device('/job:ps/task:0'):
    begun = tf.FIFOQueue(1, tf.int32, shared_name='begun')
    begin, is_begun = begun.enqueue(1), begun.dequeue()
  with leat_cluster() as cluster:
    session = cluster.session('worker/0', model.graph)
    session.run(model.init)
    losses = [session.run([model.loss, model.train], feed)[0] for feed in feeds[:3]]
    is_killed = threading.Event()

    def kill():
      with cluster.session('worker/0', model.graph) as other:
        other.run(is_begun)
      is_killed.set()
      cluster.kill('worker/1')

    killer = threading.Thread(target=kill)
    killer.start()
    error, _ = failure_of(session, [waiting, begin])
    was_killed = is_killed.is_set()
    killer.join()
    if error not in ('UnavailableError', 'AbortedError') or not was_killed:
      return 'the step ends with %s, the worker was %skilled before' % (
          error, '' if was_killed else 'not ')
    error, _ = failure_of(session, model.count_up)  # of ps/0 alone
    if error != 'none':
      return 'a step without the dead worker ends with ' + error
    session.close()
    cluster.start()
    with cluster.session('worker/0', model.graph) as session:
      losses += [session.run([model.loss, model.train], feed)[0] for feed in feeds[3:6]]
    with cluster.session('ps/0', model.graph) as session:
      session.run(model.init)
      wanted = [session.run([model.loss, model.train], feed)[0] for feed in feeds[:6]]
    worst = np.abs(np.subtract(losses, wanted)).max()
    return '' if worst <= TOLERANCE else 'losses differ by %g' % worst


def train_from_two_masters():
  """Two clients, each with the master of another worker, change one parameter server at once."""
  model, feeds = Model(1, True), batches()
  failures = []

  def client(index):
    try:
      with cluster.session('worker/%d' % index, model.graph) as session:
        for feed in feeds:
          session.run([model.train_alone[index], model.count_up],
                      {k: v for k, v in feed.items() if k[1] == str(index)})
    except tf.errors.OpError as error:
      failures.append('client %d: %s' % (index, error.message))

  with leat_cluster() as cluster, cluster.session('ps/0', model.graph) as session:
    session.run(model.init)
    start = session.run(model.loss, feeds[0])
    clients = [threading.Thread(target=client, args=(i,)) for i in range(2)]
    for thread in clients:
      thread.start()
    for thread in clients:
      thread.join()
    if failures:
      return '; '.join(failures)
    count, end = session.run([model.count, model.loss], feeds[0])
    if count != 2 * STEPS:
      return 'of %d additions %d were kept' % (2 * STEPS, count)
    return '' if end < .7 * start else 'the loss goes from %g to %g' % (start, end)


def wait_in_vain():
  """A queue that nobody fills: the step ends by the client's deadline, the session works on, and
  the step that was given up takes no element that comes later."""
  model = Model(1, True)
  put, waiting = add_queue(model, '/job:ps/task:0', '/job:worker/task:1')
  with leat_cluster() as cluster, cluster.session('worker/0', model.graph) as patient, \
      cluster.session('worker/0', model.graph, 1000) as session:
    patient.run(model.init)
    error, seconds = failure_of(session, waiting)
    if error != 'DeadlineExceededError' or not .9 < seconds < 60:
      return 'the step ends with %s after %.1f s' % (error, seconds)
    patient.run(put)
    value = patient.run(waiting)
    if value != 8:
      return 'the next step gives %s' % value
    # On a busy machine a step may take its second.
    for _ in range(60):
      error, _ = failure_of(session, model.count_up)
      if error != 'DeadlineExceededError':
        break
    return '' if error == 'none' else 'a later step ends with %s' % error


def main():
  clusters = {name: Cluster(players) for name, (players, *_) in CLUSTERS.items()}
  for cluster in clusters.values():
    cluster.start('T')
  compare_training(clusters)
  report('cluster a worker is killed', kill_a_worker)
  report('cluster two masters', train_from_two_masters)
  report('cluster a step that nobody ends', wait_in_vain)
  sys.stdout.flush()
  os._exit(0)  # TensorFlow's channels to dead servers would be waited for


if __name__ == '__main__':
  main()
