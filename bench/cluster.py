#!/usr/bin/env python3
"""Leat's cluster beside TensorFlow's: bench/cluster.py [--rows REGEX] [--rounds N] [--quick]
[--inside] [--ucx | --hosts] [--spare N]

Both clusters have one parameter server and two workers, each a process on this machine, and are
driven by TensorFlow's Python client, which is a process of its own and speaks to worker 0. The
client's own time is therefore in every row, and makes the ratios smaller than those of the servers.
Rounds of the two alternate, so that a disturbance of the machine meets both. Shown are the minimum
and the median over all rounds; the ratio is TensorFlow's median over Leat's. With --ucx there are
three clusters: Leat's with the protocol grpc+ucx comes first, then Leat's with grpc and
TensorFlow's, each with the ratio of its median to the first one's. With --hosts
both are Leat's with four workers: two on each of two hosts, whose reductions go by hosts, and each
on one of its own, whose reductions go around a ring; all are on this machine, so that the network
between hosts, which the first way spares, costs the two alike. With --inside the client is a part
of worker 0's process, and runs steps through the C API of the library that serves there
(bench/client_in_master.py); how long a byte takes there and back by TCP, between two processes that
wait for each other, is shown beside. With --spare there are so many more tasks, and null steps
alone are timed, over one other task up to all. Steps fetch nothing: what is measured is the
cluster's work and not the way of a value into Python.
"""
import argparse
import functools
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
for folder in ('dev', 'tests/oracle'):
  sys.path.insert(0, os.path.join(ROOT, folder))
import oracle_venv  # noqa: E402

os.environ.setdefault('LEAT_BUILD_DIR', os.path.join(ROOT, 'build'))
os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0', TF_CPP_MIN_LOG_LEVEL='3')
PS, WORKER0, WORKER1 = '/job:ps/task:0', '/job:worker/task:0', '/job:worker/task:1'
HOSTS = 'aabb', 'abcd'  # of the workers, with --hosts
MASTER = 'worker/0'
HOPS, LARGE, TABLE, GATHERED = 20, 25_000_000, (1_000_000, 128), 32
REDUCED = (('4 kB', 1_000, 50, 'us'), ('64 kB', 16_000, 50, 'us'), ('8 MB', 2_000_000, 5, 'ms'),
           ('100 MB', LARGE, 3, 'ms'))
IDLE_SECONDS = 1.0  # a server is left alone for so long before its memory is read
# A server of TensorFlow as its users start it, for the rows about a single server.
TENSORFLOW_SERVER = '''
import sys, tensorflow.compat.v1 as tf
tf.train.Server({'ps': [sys.argv[1]]}, job_name='ps', task_index=0).join()
'''


# ---- what the steps do ---------------------------------------------------------------------------
def build_null_steps(tf, spare):
  """-> {row: (ops, how many steps a round, unit)}, over one task besides worker 0, two, ..."""
  nothing = []
  for device in [WORKER0, PS, WORKER1] + ['/job:spare/task:%d' % i for i in range(spare)]:
    with tf.device(device):
      nothing.append(tf.no_op())
  return {'null step, %d remote tasks' % remote: (nothing[:remote + 1], 200, 'us')
          for remote in range(len(nothing))}


def build_steps(tf, workers, spare):
  """-> graph, op that initializes, {row: (ops, how many steps a round, unit)}"""
  from tensorflow.python.ops import collective_ops
  with tf.Graph().as_default() as graph:
    steps = build_null_steps(tf, spare)
    if spare:
      return graph, tf.no_op(), steps
    with tf.device(PS):
      start = tf.Variable(0.0, use_resource=True, name='start')
      large = tf.Variable(tf.zeros([LARGE]), use_resource=True, name='large')
      table = tf.Variable(tf.zeros(TABLE), use_resource=True, name='table')
    with tf.device(WORKER0):
      mine = tf.Variable(tf.ones([LARGE]), use_resource=True, name='mine')
    value = start.read_value()
    for hop in range(HOPS):  # from the parameter server to worker 0 and back
      with tf.device(PS if hop % 2 else WORKER0):
        value = value + 1.0
    steps['%d hops between two tasks' % HOPS] = ([value.op], 30, 'us')
    with tf.device(WORKER0):
      steps['pull 100 MB'] = ([tf.reduce_sum(large).op], 3, 'ms')
    steps['push 100 MB'] = ([tf.assign(large, mine).op], 3, 'ms')
    with tf.device(PS):
      rows = tf.gather(table, tf.range(0, TABLE[0], TABLE[0] // GATHERED))
    with tf.device(WORKER0):
      steps['%d rows of a table' % GATHERED] = ([tf.reduce_sum(rows).op], 50, 'us')
    for key, (size, count, times, unit) in enumerate(REDUCED):
      summed = []
      for worker in range(workers):
        with tf.device('/job:worker/task:%d' % worker):
          summand = tf.Variable(tf.ones([count]), use_resource=True)
          summed.append(collective_ops.all_reduce(summand, workers, 1, key).op)
      steps['all-reduce %s, %d workers' % (size, workers)] = (summed, times, unit)
    return graph, tf.global_variables_initializer(), steps


def time_steps(step, count):
  """-> seconds of each step"""
  seconds = []
  for _ in range(count):
    start = time.perf_counter()
    step()
    seconds.append(time.perf_counter() - start)
  return seconds


def life_of_a_session(tf, cluster):
  """-> a function: a session is made, runs a first step on three tasks, and ends"""
  with tf.Graph().as_default() as graph:
    nothing = build_null_steps(tf, 0)['null step, 2 remote tasks'][0]

  def live():
    with cluster.session(MASTER, graph) as session:
      session.run(nothing)
  return live


# ---- a client in the master's process ------------------------------------------------------------
class InsideClient:
  """The process of worker 0, and a session of its own client over |graph|."""

  def __init__(self, tf, cluster, graph):
    from cluster import free_ports
    player = cluster.players.pop(MASTER)
    cluster.jobs['worker'][0] = '127.0.0.1:%d' % free_ports(1)[0]
    cluster.start()
    spec = tf.train.ClusterSpec(cluster.jobs)
    protocol = 'grpc+ucx' if player == 'U' else 'grpc'
    server = tf.train.ServerDef(cluster=spec.as_cluster_def(), job_name='worker', task_index=0,
                                protocol=protocol, default_session_config=cluster.config)
    library = (os.path.join(tf.sysconfig.get_lib(), 'libtensorflow_cc.so.2')
               if player == 'T' else
               os.path.join(os.environ['LEAT_BUILD_DIR'], 'lib', 'libtensorflow.so'))
    self.folder = tempfile.TemporaryDirectory()
    files = [os.path.join(self.folder.name, name) for name in ('server', 'graph', 'config')]
    for name, message in zip(files, (server, graph.as_graph_def(), tf.ConfigProto())):
      with open(name, 'wb') as file:
        file.write(message.SerializeToString())
    script = os.path.join(ROOT, 'bench', 'client_in_master.py')
    self.process = subprocess.Popen([sys.executable, script, library, *files],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    text=True)

  def time(self, what, names, times):
    print(json.dumps([what, names, times]), file=self.process.stdin, flush=True)
    answer = self.process.stdout.readline()
    if not answer:
      raise RuntimeError('the client ended with %d' % self.process.wait())
    return json.loads(answer)

  def close(self):
    self.process.kill()
    self.process.wait()
    self.folder.cleanup()


def measure_tcp(count):
  """-> seconds of round trips, each of one byte"""
  here, there = socket.create_server(('127.0.0.1', 0)), socket.socket()
  there.connect(here.getsockname())
  near, _ = here.accept()
  process = os.fork()
  if process == 0:
    there.close()
    while near.recv(1):
      near.send(b'x')
    os._exit(0)
  near.close()

  def trip():
    there.send(b'x')
    there.recv(1)
  seconds = time_steps(trip, count)
  there.close()
  here.close()
  os.waitpid(process, 0)
  return seconds


def measure_inside(tf, clusters, options):
  """Yields row, ([Leat's seconds], [TensorFlow's]), unit."""
  graph, init, steps = build_steps(tf, 2, options.spare)
  clients = [InsideClient(tf, cluster, graph) for cluster in clusters]

  def timers_of(targets, what='step'):
    names = [op.name for op in targets]
    return [functools.partial(client.time, what, names) for client in clients]
  try:
    for client in clients:
      client.time('step', [init.name], 1)
    yield from measure_rows(steps, timers_of, options)
    if not options.spare:
      yield from measure_lives(lambda: timers_of(steps['null step, 2 remote tasks'][0], 'life'),
                               options)
  finally:
    for client in clients:
      client.close()


# ---- a single server -----------------------------------------------------------------------------
def start_server(command, port):
  """-> seconds until the port answers, and how many MB an idle server holds"""
  start = time.perf_counter()
  server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
  try:
    while True:
      try:
        socket.create_connection(('127.0.0.1', port), 1).close()
        break
      except OSError:
        if server.poll() is not None:
          raise RuntimeError('a server ended with %d' % server.returncode)
        time.sleep(.0005)
    seconds = time.perf_counter() - start
    time.sleep(IDLE_SECONDS)
    status = open('/proc/%d/status' % server.pid).read()
    return seconds, int(re.search(r'VmRSS:\s+(\d+)', status).group(1)) / 1024
  finally:
    server.kill()
    server.wait()


def measure_servers(options):
  """-> {row: ([Leat], [TensorFlow], unit)}"""
  from cluster import LEAT, free_ports
  starts, sizes = ([], []), ([], [])
  for _ in range(options.rounds):
    for player in range(2):
      port, = free_ports(1)
      address = '127.0.0.1:%d' % port
      command = [sys.executable, '-c', TENSORFLOW_SERVER, address] if player else [
          LEAT, 'server', '--cluster', 'ps=' + address, '--job', 'ps', '--task', '0']
      seconds, megabytes = start_server(command, port)
      starts[player].append(seconds)
      sizes[player].append(megabytes)
  return {'server start to port': (*starts, 'ms'), 'memory of an idle server': (*sizes, 'MB')}


# ---- rounds --------------------------------------------------------------------------------------
def measure_steps(tf, clusters, options):
  """Yields row, ([Leat's seconds], [TensorFlow's]), unit."""
  graph, init, steps = build_steps(tf, len(HOSTS[0]) if options.hosts else 2, options.spare)
  sessions = [cluster.session(MASTER, graph) for cluster in clusters]
  for session in sessions:
    session.run(init)
  yield from measure_rows(
      steps, lambda targets: [functools.partial(time_steps, session.make_callable(targets))
                              for session in sessions], options)
  for session in sessions:
    session.close()
  if options.spare:
    return
  yield from measure_lives(
      lambda: [functools.partial(time_steps, life_of_a_session(tf, cluster))
               for cluster in clusters], options)


def measure_rows(steps, timers_of, options):
  """timers_of(targets) -> for each cluster a function: how often -> seconds of each time"""
  for row, (targets, count, unit) in steps.items():
    if re.search(options.rows, row):
      count = max(3, count // 10) if options.quick else count
      yield row, measure(timers_of(targets), count, options.rounds), unit


def measure_lives(timers, options):
  row = 'session: create, first step, close'
  if re.search(options.rows, row):
    yield row, measure(timers(), 3 if options.quick else 20, options.rounds), 'ms'


def measure(timers, count, rounds):
  seconds = [[] for _ in timers]
  for timer in timers:  # the first steps of a signature register its graphs
    timer(2)
  for _ in range(rounds):
    for of_one, timer in zip(seconds, timers):
      of_one += timer(count)
  return seconds


def show(row, values, unit):
  scale = {'us': 1e6, 'ms': 1e3, 'MB': 1}[unit]
  cells = ['%10.1f%10.1f' % (min(v) * scale, statistics.median(v) * scale) for v in values]
  first, *others = map(statistics.median, values)
  cells += ['%8.2f' % (other / first) for other in others]
  print('%-38s%3s%s' % (row, unit, ''.join(cells)), flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--rows', default='.', help='regular expression of rows')
  parser.add_argument('--rounds', type=int, default=5)
  parser.add_argument('--quick', action='store_true', help='fewer steps a round')
  way = parser.add_mutually_exclusive_group()
  way.add_argument('--ucx', action='store_true',
                   help="values by UCX beside Leat's and TensorFlow's by gRPC")
  way.add_argument('--hosts', action='store_true',
                   help='reductions of four workers by hosts beside those around a ring')
  parser.add_argument('--inside', action='store_true',
                      help='the client is in the process of the master')
  parser.add_argument('--spare', type=int, default=0,
                      help='so many more tasks, for null steps alone')
  options = parser.parse_args()
  if options.inside and options.hosts:
    parser.error('--inside goes with --ucx alone')
  python = oracle_venv.python()
  if os.path.realpath(sys.prefix) != os.path.realpath(oracle_venv.folder()):
    os.execv(python, [python] + sys.argv)
  import tensorflow.compat.v1 as tf
  from cluster import Cluster
  tf.disable_eager_execution()
  config = tf.ConfigProto()
  config.experimental.collective_group_leader = '/job:worker/replica:0/task:0'
  if options.hosts:
    names = 'by hosts min, median', 'around a ring'
    clusters = [Cluster({'ps': 'L', 'worker': 'L' * len(h)}, config, {'worker': h}) for h in HOSTS]
  else:
    names = 'Leat min, median', 'TensorFlow'
    if options.ucx:
      names = 'by UCX min, median', 'by gRPC', 'TensorFlow'
    jobs = {'ps': 1, 'worker': 2, 'spare': options.spare}
    clusters = [Cluster({job: p * count for job, count in jobs.items() if count}, config)
                for p in ('ULT' if options.ucx else 'LT')]
  try:
    if not options.inside:
      for cluster in reversed(clusters):  # TensorFlow's are forks, and come before all threads
        cluster.start()
    print(' ' * 41 + ''.join('%20s' % name for name in names) + '   ratio' * (len(names) - 1))
    if options.inside and re.search(options.rows, 'round trip by TCP'):
      show('round trip by TCP', [measure_tcp(5000)], 'us')
    rows = (measure_inside if options.inside else measure_steps)(tf, clusters, options)
    for row in rows:
      show(*row)
  finally:
    for cluster in clusters:
      cluster.stop()
  is_beside_tensorflow = names[1] == 'TensorFlow' and not options.inside and not options.spare
  if is_beside_tensorflow and re.search(options.rows,
                                        'server start to port, memory of an idle server'):
    for row, (*values, unit) in measure_servers(options).items():
      show(row, values, unit)
  sys.stdout.flush()
  os._exit(0)  # TensorFlow's channels to servers that have ended would be waited for


if __name__ == '__main__':
  main()
