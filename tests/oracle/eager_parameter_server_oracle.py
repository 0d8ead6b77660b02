"""TensorFlow's ParameterServerStrategy, as it is, on Leat's servers.

Its client makes variables on parameter servers and hands functions to workers, which read and
update the variables: calls that a worker gets as a whole and that need other tasks. Four clusters
train one model: all of TensorFlow, all of Leat, and one job of each. One worker runs at a time
where losses are compared, since concurrent updates have no order. Then a worker dies and comes
back, and a parameter server dies.
"""
import copy
import json
import os
import subprocess
import sys
import time

os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0')

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

from cluster import Cluster, free_ports  # noqa: E402
from outcome import report  # noqa: E402

SECONDS = 120  # a guard against hangs
STEPS = 30


# ---- The client ----------------------------------------------------------------------------------

def rows():
  """A pipeline with a function of its own, which the worker calls while a step asks for rows."""
  x = np.random.RandomState(0).rand(64, 10).astype('f4')
  return tf.data.Dataset.from_tensor_slices(x).repeat().map(
      lambda row: (row, row[:3] * 2.0)).batch(16).prefetch(1)


class Model:
  """A layer whose kernel and table lie in two pieces on two parameter servers."""

  def __init__(self, strategy):
    self.strategy = strategy
    with strategy.scope():
      self.kernel = tf.Variable(tf.zeros([10, 3]), name='kernel')
      self.table = tf.Variable(tf.ones([20, 3]), name='table')
      self.count = tf.Variable(0, dtype=tf.int64, name='count')

  def replica(self, x, y):
    with tf.GradientTape() as tape:
      bias = tf.nn.embedding_lookup(self.table, self.count % 20)
      error = tf.matmul(x, tf.convert_to_tensor(self.kernel)) + bias - y
      loss = tf.reduce_mean(error ** 2)
    variables = list(self.kernel.variables) + list(self.table.variables)
    for v, g in zip(variables, tape.gradient(loss, variables)):
      if isinstance(g, tf.IndexedSlices):
        v.scatter_sub(tf.IndexedSlices(g.values * 0.1, g.indices))
      else:
        v.assign_sub(0.1 * g)
    self.count.assign_add(1)
    return loss


class Loops:
  """Calls that train with a loop over several rows, as Keras makes them: the worker's iterator is
  one over its devices, and the rate is a variable that the first trace makes."""

  def __init__(self, strategy):
    self.model = Model(strategy)
    self.strategy = strategy
    self.rate = None

  def replica(self, x, y):
    if self.rate is None:
      self.rate = tf.Variable(0.5)
    self.model.count.assign_add(tf.cast(self.rate * 4, tf.int64))
    return self.model.replica(x, y)

  def call(self, iterator):
    loss = 0.0
    for _ in tf.range(3):
      loss = self.strategy.run(self.replica, next(iterator))
    return loss


def train_in_loops(strategy, coordinator):
  with strategy.scope():
    loops = Loops(strategy)
    step = tf.function(loops.call)
    iterator = iter(coordinator.create_per_worker_dataset(
        lambda: strategy.distribute_datasets_from_function(lambda context: rows())))
    losses = []
    for _ in range(10):
      loss = coordinator.schedule(step, args=(iterator,))
      coordinator.join()
      losses.append(float(loss.fetch()))
  return {'losses': losses, 'count': int(loops.model.count)}


def train(strategy, coordinator):
  """-> losses, and what the variables are at the end"""
  model = Model(strategy)

  @tf.function
  def step(iterator):
    x, y = next(iterator)
    return strategy.run(model.replica, (x, y))

  iterator = iter(coordinator.create_per_worker_dataset(rows))
  losses = []
  for _ in range(STEPS):
    loss = coordinator.schedule(step, args=(iterator,))
    coordinator.join()
    losses.append(float(loss.fetch()))
  for _ in range(STEPS):
    coordinator.schedule(step, args=(iterator,))
  coordinator.join()
  return {'losses': losses, 'count': int(model.count),
          'devices': [v.device for v in model.kernel.variables]}


def mistake(strategy, coordinator):
  """A function that fails on a parameter server; the next one runs."""
  with strategy.scope():
    v = tf.Variable(tf.zeros([8])).variables[1]

  @tf.function
  def add(indices):
    v.scatter_sub(tf.IndexedSlices(tf.ones([1]), indices))
    return v.read_value()

  code = 0
  try:
    coordinator.schedule(add, args=(tf.constant([9]),))
    coordinator.join()
  except tf.errors.OpError as e:
    code = e.error_code
  value = coordinator.schedule(add, args=(tf.constant([2]),))
  coordinator.join()
  return {'code': code, 'value': value.fetch().tolist()}


def say(word):
  print(json.dumps([word, 0]), flush=True)
  sys.stdin.readline()


def call_until(coordinator, step, names, count):
  """Calls until |count| workers have answered with their names, but not for ever. -> calls"""
  calls, begin, seen = 0, time.time(), set()
  while len(seen) < count and time.time() - begin < SECONDS / 4:
    results = [coordinator.schedule(step, args=(names,)) for _ in range(10)]
    coordinator.join()
    calls += len(results)
    seen |= {int(result.fetch()) for result in results}
  return calls if len(seen) == count else -1000000


def death_of_worker(strategy, coordinator):
  """What a dead worker had is run by another; one that comes back is given work again."""
  with strategy.scope():
    count = tf.Variable(0)

  @tf.function
  def step(names):
    count.assign_add(1)
    return next(names)

  # A worker draws a name when it makes its dataset.
  names = iter(coordinator.create_per_worker_dataset(
      lambda: tf.data.Dataset.from_tensors(
          tf.random.uniform([], maxval=1 << 60, dtype=tf.int64)).repeat()))
  calls = call_until(coordinator, step, names, 2)
  say('kill worker/1')
  calls += call_until(coordinator, step, names, 1)
  say('start worker/1')
  calls += call_until(coordinator, step, names, 2)
  # A call that was lost with the worker may have counted, and is made again.
  return calls <= int(count) <= calls + 3


def death_of_parameter_server(strategy, coordinator):
  """The client hears of it; only a new client can go on, as in TensorFlow."""
  with strategy.scope():
    count = tf.Variable(0)
  step = tf.function(lambda: count.assign_add(1))  # of a name that no node can have
  coordinator.schedule(step)
  coordinator.join()
  say('kill ps/0')
  try:
    coordinator.schedule(step)
    coordinator.join()
  except (tf.errors.UnavailableError, tf.errors.AbortedError):
    return True
  return False


WORKS = {w.__name__: w for w in (train, train_in_loops, mistake, death_of_worker,
                                 death_of_parameter_server)}
COMPARED = 'train', 'train_in_loops', 'mistake'


def client(jobs, works):
  resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
      tf.train.ClusterSpec(jobs), rpc_layer='grpc', task_type='chief', task_id=0)
  strategy = tf.distribute.ParameterServerStrategy(
      resolver, variable_partitioner=tf.distribute.experimental.partitioners
      .FixedShardsPartitioner(len(jobs['ps'])))
  coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
  for name in works:
    print(json.dumps([name, WORKS[name](strategy, coordinator)]), flush=True)
  sys.stdout.flush()
  os._exit(0)  # the strategy's threads wait for tasks that may be gone


# ---- The parent ----------------------------------------------------------------------------------

def run(cluster, *works):
  """Runs a client, and does to the tasks what its lines ask for. -> what came of its works"""
  jobs = dict(cluster.jobs, chief=['127.0.0.1:%d' % free_ports(1)[0]])
  process = subprocess.Popen(
      ['timeout', '-s', 'KILL', str(SECONDS), sys.executable, __file__, json.dumps(jobs), *works],
      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open('stderr', 'w'), text=True)
  found = {}
  for line in process.stdout:
    word, value = json.loads(line)
    if ' ' not in word:
      found[word] = value
      continue
    what, task = word.split()
    cluster.kill(task) if what == 'kill' else cluster.start()
    print(file=process.stdin, flush=True)
  if process.wait():
    raise RuntimeError('after %s: %s' % (sorted(found), open('stderr').read()[-300:]))
  return found


def compare_training(cluster, expected):
  found = run(cluster, *COMPARED)
  for work in COMPARED[:2]:
    losses = [each[work].pop('losses') for each in (found, expected)]
    if not np.allclose(*losses, rtol=1e-5):
      return 'losses of %s differ: %s' % (work, losses)
  return '' if found == expected else 'it is %s, must be %s' % (found, expected)


def compare_death(cluster, work):
  found = run(cluster, work)
  return '' if found == {work: True} else 'it is %s' % found


def main():
  if len(sys.argv) > 1:
    return client(json.loads(sys.argv[1]), sys.argv[2:])
  names = {'tensorflow': 'TT', 'leat': 'LL', 'workers': 'TL', 'servers': 'LT'}
  clusters = {n: Cluster({'ps': p[0] * 2, 'worker': p[1] * 2}) for n, p in names.items()}
  for cluster in clusters.values():
    cluster.start('T')
  try:
    for cluster in clusters.values():
      cluster.start('L')
    expected = run(clusters['tensorflow'], *COMPARED)
    for name in ('leat', 'workers', 'servers'):
      report('parameter_server_%s' % name, compare_training, clusters[name],
             copy.deepcopy(expected))
    for work in ('death_of_worker', 'death_of_parameter_server'):
      report('parameter_server_%s' % work, compare_death, clusters['leat'], work)
  finally:
    for cluster in clusters.values():
      cluster.stop()


if __name__ == '__main__':
  main()
