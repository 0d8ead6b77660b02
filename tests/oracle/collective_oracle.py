"""Collectives of tasks of which some run Leat and some TensorFlow.

The clusters have two or three workers, whose first one leads the groups; 'LT' is Leat and then
TensorFlow, and 'U' is Leat with the protocol grpc+ucx, whose chunks go by UCX to others of that
kind. In the first part each worker has a master and a client session of its own, whose steps
meet by the numbers that the leader begins (between-graph replication). In the second one a single
session has several devices of each task in one group, whose rings and trees must fit together. In
the third one all workers run Leat, on hosts of several each, whose sums are those of numpy in the
order in which members of a host come first.
"""
import os
import sys
import threading

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.ops import collective_ops

from cluster import Cluster
from outcome import report

tf.disable_eager_execution()

PLAYERS = ('LT', 'TL', 'LTL', 'UU', 'UTU')
CPUS, STEPS = 2, 4
FORMS = ('attributes', 'inputs', 'key', 'callable')


def config(cpus):
  made = tf.ConfigProto(device_count={'CPU': cpus})
  made.experimental.collective_group_leader = '/job:worker/replica:0/task:0'
  return made


# ---- Several masters ----------------------------------------------------------------------------

def batch(worker, step):
  random = np.random.RandomState(100 * step + worker)
  x = random.randn(8, 4).astype('float32')
  return x, x.sum(1, keepdims=True)


def train(cluster, worker, size, form, out):
  """Trains with the gradients' means, and puts the losses and the weights into out[worker]."""
  def mean(value, instance):
    key = 10 * (FORMS.index(form) + 1) + instance
    if form == 'inputs':
      return collective_ops.all_reduce_v2(value, size, 1, tf.constant(key), 'Add', 'Div')
    return collective_ops.all_reduce(value, size, 1, key, 'Add', 'Div')

  task = '/job:worker/task:%d' % worker
  with tf.Graph().as_default() as graph, tf.device(task):
    x, y = tf.placeholder(tf.float32, [8, 4]), tf.placeholder(tf.float32, [8, 1])
    weights = tf.Variable(tf.zeros([4, 1]), use_resource=True)
    loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - y))
    gradient = tf.gradients(loss, [weights])[0]
    update = tf.train.GradientDescentOptimizer(.1).apply_gradients([(mean(gradient, 1), weights)])
    total = mean(loss, 2)
    first = tf.global_variables_initializer()
    if form == 'key':   # which must be said, since no two workers have the same collectives
      total += 0 * collective_ops.all_reduce(loss, 1, 500 + worker, 500 + worker)
  options = tf.RunOptions()
  if form == 'key':
    options.experimental.collective_graph_key = 42
  filtered = tf.ConfigProto(device_filters=[task], operation_timeout_in_ms=120000)
  with tf.Session('grpc://' + cluster.address('worker/%d' % worker), graph=graph,
                  config=filtered) as session:
    session.run(first)
    losses = []
    kept = config_pb2.CallableOptions(fetch=[total.name], feed=[x.name, y.name],
                                      target=[update.name])
    run = session._make_callable_from_options(kept) if form == 'callable' else (
        lambda xs, ys: session.run([total, update], {x: xs, y: ys}, options))
    for step in range(STEPS):
      losses.append(run(*batch(worker, step))[0])
    out[worker] = losses, session.run(weights)


def want_training(size):
  weights = np.zeros([4, 1])
  losses = []
  for step in range(STEPS):
    gradients, seen = [], []
    for worker in range(size):
      x, y = batch(worker, step)
      error = x @ weights - y
      seen.append(np.mean(error ** 2))
      gradients.append(2 * x.T @ error / 8)
    losses.append(np.mean(seen))
    weights = weights - .1 * np.mean(gradients, 0)
  return losses, weights


def compare_masters(cluster, players, form):
  out = {}
  threads = [threading.Thread(target=train, args=(cluster, n, len(players), form, out))
             for n in range(len(players))]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()
  if len(out) < len(players):
    return 'only the workers %s ended' % sorted(out)
  losses, weights = want_training(len(players))
  for worker, (seen, values) in sorted(out.items()):
    if not np.allclose(seen, losses, rtol=1e-4) or not np.allclose(values, weights, rtol=1e-4):
      return 'worker %d has the losses %s, not %s' % (worker, seen, losses)
    if seen != out[0][0] or not np.array_equal(values, out[0][1]):
      return 'worker %d differs from worker 0' % worker
  return ''


# ---- Several devices of a task ------------------------------------------------------------------

def on_devices(size, make):
  made = []
  for rank in range(size):
    with tf.device('/job:worker/task:%d/cpu:%d' % (rank // CPUS, rank % CPUS)):
      made.append(make(rank))
  return made


def reduction(size, count, instance, **options):
  """All-reduce of vectors that each rank makes, and the sum that is wanted."""
  made = on_devices(size, lambda rank: collective_ops.all_reduce(
      tf.range(count, dtype=tf.float32) % 97. + rank, size, 3, instance, **options))
  wanted = size * (np.arange(count) % 97) + sum(range(size))
  return made, [wanted] * size


def large_reduction(size, limit, instance):
  """The same with chunks of 12 MB, which are divided; some elements stand for all."""
  count = size * 3 << 20
  def pick(rank):
    made = collective_ops.all_reduce_v2(tf.cast(tf.range(count) % 97 + rank, tf.float32), size, 3,
                                        tf.constant(instance), max_subdivs_per_device=limit)
    return tf.stack([made[0], made[count // 2 + 5], made[-1], tf.reduce_max(made)])
  wanted = size * np.array([0, (count // 2 + 5) % 97, (count - 1) % 97, 96]) + sum(range(size))
  return on_devices(size, pick), [wanted] * size


def broadcast(size, source, instance):
  made = on_devices(size, lambda rank: (
      collective_ops.broadcast_send(tf.constant([1.5, source]), [2], tf.float32, size, 3, instance)
      if rank == source else
      collective_ops.broadcast_recv([2], tf.float32, size, 3, instance)))
  return made, [[1.5, source]] * size


def broadcast_v2(size, source, instance):
  made = on_devices(size, lambda rank: (
      collective_ops.broadcast_send_v2(tf.constant([2.5, source]), size, 3, instance)
      if rank == source else
      collective_ops.broadcast_recv_v2([2], tf.float32, size, 3, instance)))
  return made, [[2.5, source]] * size


def gather(size, instance):
  made = on_devices(size, lambda rank: collective_ops.all_gather_v2(
      tf.constant([[rank, 2. * rank]]), size, 3, tf.constant(instance)))
  return made, [[[rank, 2 * rank] for rank in range(size)]] * size


def assigned(size, instance):
  made = on_devices(size, lambda rank: collective_ops.all_reduce_v2(
      tf.constant([1. + rank]),
      *collective_ops.assign_group_v2([list(range(size))], rank, 900), instance))
  return made, [[size + sum(range(size))]] * size


def scenes(size):
  """{name: function that makes the fetches and the wanted values}"""
  made = {}
  for offsets in ([], [0], [1], [-1], [0, -1], [1, 0, -2, 7]):
    made['subdiv_offsets %s' % offsets] = (
        lambda n, o=offsets: reduction(size, 4001, n, subdiv_offsets=o))
  for hint in ('ring', 'nccl', 'auto', 'whatever'):
    made['hint %s' % hint] = lambda n, h=hint: reduction(size, 10, n, communication_hint=h)
  for limit in (-1, 0, 3):
    made['max_subdivs_per_device %d' % limit] = lambda n, l=limit: large_reduction(size, l, n)
  for source in range(size):
    made['broadcast from %d' % source] = lambda n, s=source: broadcast(size, s, n)
  made['broadcast with inputs'] = lambda n: broadcast_v2(size, size - 1, n)
  made['gather'] = lambda n: gather(size, n)
  made['assigned group'] = lambda n: assigned(size, n)
  return made


def compare_devices(cluster, instance, make):
  with tf.Graph().as_default() as graph:
    fetches, wanted = make(instance)
  with cluster.session('worker/0', graph) as session:
    for _ in range(2):
      for rank, (got, want) in enumerate(zip(session.run(fetches), wanted)):
        if not np.array_equal(got, np.asarray(want, got.dtype)):
          return 'rank %d has %s, not %s' % (rank, np.ravel(got)[:4], np.ravel(want)[:4])
  return ''


# ---- Several tasks of a host --------------------------------------------------------------------

# The hosts of four tasks, and the sum by hosts of the summands of their members. The two of a host
# are added, and then the hosts; the members of a host with three are added from the last rank on.
HOSTS = {
    'aabb': lambda x: (x[0] + x[1]) + (x[2] + x[3]),
    'abab': lambda x: (x[0] + x[2]) + (x[1] + x[3]),
    'abbb': lambda x: x[0] + (x[1] + (x[2] + x[3])),
}


def compare_hosts(cluster, hosts, count, instance):
  """Sums of numbers between 1 and 2, whose last bits tell the order in which they were added."""
  summands = [np.random.RandomState(rank).uniform(1, 2, count).astype('float32')
              for rank in range(len(hosts))]
  wanted = HOSTS[hosts](summands)
  with tf.Graph().as_default() as graph:
    fed, fetches = [], []
    for rank in range(len(hosts)):
      with tf.device('/job:worker/task:%d' % rank):
        fed.append(tf.placeholder(tf.float32, [count]))
        fetches.append(collective_ops.all_reduce(fed[-1], len(hosts), 3, instance))
  with cluster.session('worker/0', graph) as session:
    for _ in range(3):
      for rank, got in enumerate(session.run(fetches, dict(zip(fed, summands)))):
        if not np.array_equal(got, wanted):
          return 'rank %d has %d other values' % (rank, np.sum(got != wanted))
  return ''


def main():
  masters = {p: Cluster({'worker': p}, config(1)) for p in PLAYERS}
  devices = {p: Cluster({'worker': p}, config(CPUS)) for p in PLAYERS}
  grouped = {h: Cluster({'worker': 'L' * len(h)}, config(1), {'worker': h}) for h in HOSTS}
  clusters = list(masters.values()) + list(devices.values()) + list(grouped.values())
  for cluster in clusters:
    cluster.start('T')
  for cluster in clusters:
    cluster.start('LU')
  for players, cluster in masters.items():
    for form in FORMS:
      report('collective %s masters, keys are %s' % (players, form), compare_masters, cluster,
             players, form)
  for players, cluster in devices.items():
    for number, (name, make) in enumerate(scenes(CPUS * len(players)).items()):
      report('collective %s %s' % (players, name), compare_devices, cluster, 100 + number, make)
  for hosts, cluster in grouped.items():
    for instance, count in enumerate((20_000, 800_001)):
      report('collective of tasks on the hosts %s, %d elements' % (hosts, count), compare_hosts,
             cluster, hosts, count, instance)
  for cluster in clusters:
    cluster.stop()
  sys.stdout.flush()
  os._exit(0)  # TensorFlow's channels to dead servers would be waited for


if __name__ == '__main__':
  main()
