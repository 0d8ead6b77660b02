"""Collectives of several masters: each worker is a process with a server and a session of its own.

Run without arguments this file is the tests; with the description of a cluster it is one worker,
which plays one of the scenes below and prints what it saw, a line of JSON at a time. The steps of
all workers are one step each time: they wait for each other in their collectives.
"""
import json
import os
import signal
import subprocess
import sys
import unittest

import numpy as np

from free_ports import free_ports
import leat as tf
from leat.python.ops import collective_ops

WORKERS, STEPS, BATCH, FEATURES = 3, 6, 12, 5
PATIENCE = 60   # seconds, after which a worker counts as stuck


# ---- Workers ------------------------------------------------------------------------------------

class Worker:
  """One process of the cluster: its place, its server and its session."""

  def __init__(self, cluster, number):
    config = tf.ConfigProto(device_count={'CPU': cluster.get('cpus', 1)})
    leader = '/job:worker/replica:0/task:%d' % cluster['leader']
    config.experimental.collective_group_leader = leader
    config.experimental.coordination_config.heartbeat_timeout_in_ms = 1000 * cluster['heartbeat']
    jobs = {name: addresses for name, addresses in cluster['jobs'].items()}
    self.number = number
    self.size = len(jobs['worker'])
    self.server = tf.train.Server(jobs, 'worker', number, config=config)
    filters = ['/job:ps', '/job:worker/task:%d' % number]
    self.session = tf.Session(self.server.target, config=tf.ConfigProto(
        device_filters=filters, operation_timeout_in_ms=1000 * PATIENCE))
    self.device = '/job:worker/task:%d' % number

  def tell(self, **seen):
    print(json.dumps(seen), flush=True)

  def wait(self):
    sys.stdin.readline()

  def attempt(self, fetches, feeds=None, options=None):
    """Runs a step and tells its value, or its error."""
    try:
      value = self.session.run(fetches, feeds, options)
      self.tell(value=np.asarray(value).tolist())
    except tf.errors.OpError as error:
      self.tell(error=type(error).__name__, text=error.message)


def batches(steps):
  random = np.random.RandomState(7)
  weights = random.randn(FEATURES, 1)
  for _ in range(steps):
    x = random.randn(BATCH, FEATURES)
    yield x.astype('float32'), (x @ weights + 0.1 * random.randn(BATCH, 1)).astype('float32')


def model(reduce):
  """Linear regression whose loss and gradients go through `reduce`."""
  x = tf.placeholder(tf.float32, [None, FEATURES])
  y = tf.placeholder(tf.float32, [None, 1])
  weights = tf.Variable(tf.zeros([FEATURES, 1]))
  bias = tf.Variable(tf.zeros([1]))
  loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) + bias - y))
  gradients = tf.gradients(loss, [weights, bias])
  pairs = [(reduce(g, i + 2), v) for i, (g, v) in enumerate(zip(gradients, [weights, bias]))]
  train = tf.train.MomentumOptimizer(0.05, 0.9).apply_gradients(pairs)
  return x, y, reduce(loss, 1), train, weights


def mean_of(worker, form):
  def reduce(value, instance):
    if form == 'attributes':
      return collective_ops.all_reduce(value, worker.size, 1, instance, 'Add', 'Div')
    return collective_ops.all_reduce_v2(value, worker.size, 1, tf.constant(instance), 'Add', 'Div')
  return reduce


def train(worker, form):
  with tf.device(worker.device):
    x, y, loss, step, weights = model(mean_of(worker, form))
    initialize = tf.global_variables_initializer()
  counted = tf.no_op()
  if form == 'ps':
    # The others go to the parameter server when the first worker's step is over there.
    with tf.device(worker.device), tf.control_dependencies([loss]):
      turns = 20000 * worker.number
      one = tf.while_loop(lambda i: i < turns, lambda i: i + 1, [tf.constant(0)]) // max(turns, 1)
      one = one if turns else tf.constant(1)
    with tf.device('/job:ps'):
      counter = tf.Variable(0, name='counter')
      counted = tf.assign_add(counter, one, use_locking=True)
      first = counter.initializer
  if form == 'key':   # which must be said, since no two workers have the same collectives
    with tf.device(worker.device):
      counted = collective_ops.all_reduce(loss, 1, 100 + worker.number, 50 + worker.number)
  worker.session.run(initialize)
  if form == 'ps' and worker.number == 0:
    worker.session.run(first)
    worker.tell(ready=True)
  if form == 'ps':
    worker.wait()
  options = tf.RunOptions()
  if form == 'key':
    options.experimental.collective_graph_key = 4711
  share = BATCH // worker.size
  losses = []
  for xs, ys in batches(STEPS):
    part = slice(worker.number * share, (worker.number + 1) * share)
    value = worker.session.run([loss, step, counted], {x: xs[part], y: ys[part]}, options)[0]
    losses.append(float(value))
  worker.tell(losses=losses, weights=worker.session.run(weights).ravel().tolist())
  if form == 'ps':
    worker.wait()
    worker.tell(counter=int(worker.session.run(counter)))


def sum_of(worker, value, **options):
  with tf.device(worker.device):
    return collective_ops.all_reduce_v2(value, worker.size, 1, 9, **options)


def fail(worker):
  """The second worker's input is bad in every other step."""
  fed = tf.placeholder(tf.float32, [2])
  with tf.device(worker.device):
    value = tf.debugging.check_numerics(fed, 'bad input') if worker.number == 1 else fed * 1
  total = sum_of(worker, value)
  for step in range(6):
    worker.attempt(total, {fed: [1, np.nan if step % 2 else worker.number]})


def broadcast(worker):
  """The source is the first worker; the last one, from which nobody takes, fails before it takes
  part and, once more, before the source comes; then it works, and then it dies."""
  fed = tf.placeholder(tf.float32, [2])
  with tf.device(worker.device):
    if worker.number == 0:
      out = collective_ops.broadcast_send_v2(fed * 1, worker.size, 2, 3)
    else:
      with tf.control_dependencies([tf.debugging.check_numerics(fed, 'bad input')]):
        shape = tf.constant([2])
      out = collective_ops.broadcast_recv_v2(shape, tf.float32, worker.size, 2, 3)
  is_last = worker.number == worker.size - 1
  worker.attempt(out, {fed: [1, 2]})
  worker.attempt(out, {fed: [3, np.nan if is_last else 4]})
  if worker.number == 0:
    worker.wait()
  worker.attempt(out, {fed: [3, np.nan if is_last else 4]})
  worker.attempt(out, {fed: [5, 6]})
  if is_last:
    worker.wait()   # for its death
  worker.attempt(out, {fed: [7, 8]})


def hesitate(worker):
  """The source, which is the last worker, does not come to the first two broadcasts."""
  fed = tf.placeholder(tf.float32, [2])
  with tf.device(worker.device):
    if worker.number == worker.size - 1:
      value = tf.debugging.check_numerics(fed, 'bad input')
      out = collective_ops.broadcast_send_v2(value, worker.size, 2, 3)
    else:
      out = collective_ops.broadcast_recv_v2([2], tf.float32, worker.size, 2, 3)
  options = tf.RunOptions()   # one sequence, which all know from the first step on
  options.experimental.collective_graph_key = 1
  worker.attempt(sum_of(worker, fed * 1), {fed: [1, 2]}, options)
  for step in range(4):
    worker.attempt(out, {fed: [step, np.nan if step < 2 else 1]}, options)


def die(worker):
  """The last worker dies in the second step, in which the others wait for it."""
  total = sum_of(worker, tf.constant([1., worker.number]))
  worker.attempt(total)
  if worker.number == worker.size - 1:
    worker.wait()
  worker.attempt(total)


def be_late(worker):
  """The last worker comes to the second step when the others have given it up."""
  value = tf.constant([1., worker.number])
  patient, timed = sum_of(worker, value), sum_of(worker, value, timeout=1)
  worker.attempt(patient)
  if worker.number == worker.size - 1:
    worker.wait()
  worker.attempt(timed if worker.number == 0 else patient)
  worker.attempt(patient)


MEMBERS = (1, 12, 8)   # of each worker: what goes from rank 1 to 20, and from 12 to 0, is "120"


def many(worker):
  """All-to-all, and communicators with places that go down, of many CPUs of all workers."""
  size, before = sum(MEMBERS), sum(MEMBERS[:worker.number])
  crossed, placed, reduced, scattered = [], [], [], []
  for cpu in range(MEMBERS[worker.number]):
    rank = before + cpu
    rows = np.arange(size, dtype='float32').reshape(size, 1) + 100 * rank
    with tf.device(worker.device + '/cpu:%d' % cpu):
      crossed.append(collective_ops.all_to_all_v2(rows, size, 5, 1))
      handle = collective_ops.initialize_communicator(6, size - 1 - rank, size)
      placed.append(collective_ops.all_to_all_v3(handle, rows))
      other = collective_ops.initialize_communicator(7, rank, size)
      reduced.append(collective_ops.all_reduce_v3(other, rows[:, 0], 'Max'))
      scattered.append(tf.raw_ops.CollectiveReduceScatterV2(
          input=rows, group_size=size, group_key=5, instance_key=2, merge_op='Add', final_op='Id',
          ordering_token=[]))
  for _ in range(2):
    for made in (crossed, placed, reduced, scattered):
      worker.tell(value=[np.ravel(v).tolist() for v in worker.session.run(made)])
  with tf.device(worker.device + '/cpu:0'):
    twice = collective_ops.initialize_communicator(8, 1, worker.size)
  worker.attempt(twice.op)


SCENES = {each.__name__: each for each in (train, fail, broadcast, hesitate, die, be_late, many)}


def main(description, number, scene, *arguments):
  worker = Worker(json.loads(description), int(number))
  SCENES[scene](worker, *arguments)
  worker.tell(done=True)
  worker.wait()   # its server is needed until all are done


# ---- Tests --------------------------------------------------------------------------------------

class Cluster:
  """Workers in processes, and perhaps a parameter server in this one."""

  def __init__(self, test, scene, *arguments, workers=WORKERS, leader=0, ps=False, cpus=1,
               heartbeat=PATIENCE):
    addresses = ['localhost:%d' % port for port in free_ports(workers + ps)]
    jobs = {'worker': addresses[:workers]}
    if ps:
      jobs['ps'] = addresses[workers:]
      test.ps = tf.train.Server(jobs, 'ps', 0)
    description = json.dumps({'jobs': jobs, 'leader': leader, 'cpus': cpus,
                              'heartbeat': heartbeat})
    self.processes = [subprocess.Popen(
        ['timeout', '-s', 'KILL', str(2 * PATIENCE), sys.executable, os.path.abspath(__file__),
         description, str(n), scene, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
                      for n in range(workers)]
    for number in range(workers):
      test.addCleanup(self.kill, number)

  def read(self, number):
    line = self.processes[number].stdout.readline()
    if not line:
      raise AssertionError('worker %d ended early' % number)
    return json.loads(line)

  def read_all(self):
    return [self.read(n) for n in range(len(self.processes))]

  def go_on(self, number):
    self.processes[number].stdin.write('\n')
    self.processes[number].stdin.flush()

  def kill(self, number):
    process = self.processes[number]
    if process.poll() is None:
      os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()


def reference():
  """The losses and weights of one machine that has the whole batch."""
  with tf.Graph().as_default(), tf.Session() as session:
    x, y, loss, step, weights = model(lambda value, instance: tf.identity(value))
    session.run(tf.global_variables_initializer())
    losses = [session.run([loss, step], {x: xs, y: ys})[0] for xs, ys in batches(STEPS)]
    return losses, session.run(weights).ravel()


class ReplicasTest(unittest.TestCase):

  def check_training(self, results):
    losses, weights = reference()
    for result in results:
      self.assertEqual(result, results[0])   # to the bit
    np.testing.assert_allclose(results[0]['losses'], losses, rtol=1e-4)
    np.testing.assert_allclose(results[0]['weights'], weights, rtol=1e-4, atol=1e-6)

  def test_training_is_that_of_one_machine(self):
    for form, leader in (('attributes', 0), ('inputs', 2), ('key', 1)):
      with self.subTest(form):
        self.check_training(Cluster(self, 'train', form, leader=leader).read_all())

  def test_a_parameter_server_serves_all_masters_in_the_same_step(self):
    cluster = Cluster(self, 'train', 'ps', ps=True)
    self.assertEqual(cluster.read(0), {'ready': True})
    for number in range(WORKERS):
      cluster.go_on(number)
    self.check_training(cluster.read_all())
    for number in range(WORKERS):
      cluster.go_on(number)
    self.assertEqual(cluster.read_all(), [{'counter': STEPS * WORKERS}] * WORKERS)

  def test_a_failure_ends_the_step_of_all_and_the_next_one_works(self):
    cluster = Cluster(self, 'fail')
    for step in range(6):
      for number, seen in enumerate(cluster.read_all()):
        if step % 2 == 0:
          self.assertEqual(seen, {'value': [3, 3]})
        elif number == 1:
          self.assertEqual(seen['error'], 'InvalidArgumentError')
          self.assertIn('bad input', seen['text'])
        else:
          self.assertIn(seen['error'], ('InvalidArgumentError', 'AbortedError'), seen)

  def test_the_source_of_a_broadcast_learns_that_a_receiver_fails_or_dies(self):
    # The source learns of a death by a heartbeat alone.
    cluster = Cluster(self, 'broadcast', heartbeat=10)
    self.assertEqual(cluster.read_all(), [{'value': [1, 2]}] * WORKERS)
    failed = cluster.read_all()   # but the second worker may have got its value before
    for seen in (failed[0], failed[2]):
      self.assertEqual(seen.get('error'), 'InvalidArgumentError', failed)
    self.assertIn('task:2', failed[0]['text'])
    self.assertEqual(cluster.read(2).get('error'), 'InvalidArgumentError')
    self.assertEqual(cluster.read(1).get('error'), 'InvalidArgumentError')
    cluster.go_on(0)
    self.assertEqual(cluster.read(0).get('error'), 'InvalidArgumentError')
    self.assertEqual(cluster.read_all(), [{'value': [5, 6]}] * WORKERS)
    cluster.kill(2)
    seen = cluster.read(0)
    self.assertEqual(seen.get('error'), 'UnavailableError', seen)
    self.assertIn('task:2', seen['text'])

  def test_a_source_may_fail_before_it_was_ever_known(self):
    cluster = Cluster(self, 'hesitate')
    self.assertEqual(cluster.read_all(), [{'value': [3, 6]}] * WORKERS)
    for step in range(2):
      for seen in cluster.read_all():
        self.assertIn(seen.get('error'), ('InvalidArgumentError', 'AbortedError'), seen)
    for step in (2, 3):
      self.assertEqual(cluster.read_all(), [{'value': [step, 1]}] * WORKERS)

  def test_the_death_of_a_worker_reaches_all(self):
    cluster = Cluster(self, 'die')
    self.assertEqual(cluster.read_all(), [{'value': [3, 3]}] * WORKERS)
    cluster.kill(2)
    for number in range(2):
      self.assertIn(cluster.read(number).get('error'), ('UnavailableError', 'AbortedError'))

  def test_a_timeout_reaches_all_also_who_comes_later(self):
    cluster = Cluster(self, 'be_late')
    self.assertEqual(cluster.read_all(), [{'value': [3, 3]}] * WORKERS)
    for number in range(2):
      self.assertIn(cluster.read(number).get('error'), ('DeadlineExceededError', 'AbortedError'))
    cluster.go_on(2)
    self.assertIn(cluster.read(2).get('error'), ('DeadlineExceededError', 'AbortedError'))
    self.assertEqual(cluster.read_all(), [{'value': [3, 3]}] * WORKERS)

  def test_groups_of_more_than_ten_members_and_communicators(self):
    cluster = Cluster(self, 'many', cpus=max(MEMBERS))
    ranks = np.arange(sum(MEMBERS))
    for _ in range(2):
      crossed = np.concatenate([seen['value'] for seen in cluster.read_all()])
      np.testing.assert_array_equal(crossed, ranks[:, None] + 100 * ranks)
      placed = np.concatenate([seen['value'] for seen in cluster.read_all()])
      np.testing.assert_array_equal(placed, ranks[:, None] + 100 * ranks[::-1])
      for members, seen in zip(MEMBERS, cluster.read_all()):
        self.assertEqual(seen['value'], [(ranks + 100 * ranks[-1]).tolist()] * members)
      scattered = np.concatenate([seen['value'] for seen in cluster.read_all()])
      np.testing.assert_array_equal(scattered.ravel(), len(ranks) * ranks + 100 * ranks.sum())
    for seen in cluster.read_all():
      self.assertEqual(seen.get('error'), 'InvalidArgumentError')
      self.assertIn('Duplicate ranks', seen['text'])


if __name__ == '__main__':
  if len(sys.argv) > 3 and sys.argv[1].startswith('{'):
    main(*sys.argv[1:])
  else:
    unittest.main()
