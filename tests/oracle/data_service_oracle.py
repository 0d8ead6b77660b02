"""Leat's dispatcher and workers (`leat data-service`), asked by TensorFlow's own client.

Each case reads a dataset through services of several kinds: TensorFlow's dispatcher and workers,
which are the reference, Leat's, and mixtures. What is read must be the same, in any order, and so
must the code of what is refused. Then Leat's alone meet what befalls a service: a worker that is
killed and comes back, a dispatcher that is started late, a client that goes away."""
import contextlib
import json
import os
import subprocess
import tempfile
import threading
import time

os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0', TF_CPP_MIN_LOG_LEVEL='3')

import tensorflow as tf  # noqa: E402
from tensorflow.core.protobuf import service_config_pb2  # noqa: E402
from tensorflow.python.data.experimental.ops.data_service_ops import _distribute  # noqa: E402
from tensorflow.python.data.experimental.service import _pywrap_server_lib  # noqa: E402

from cluster import free_ports  # noqa: E402
from outcome import report  # noqa: E402

LEAT = os.path.join(os.environ['LEAT_BUILD_DIR'], 'bin', 'leat')
SERVICE = tf.data.experimental.service
POLICY = SERVICE.ShardingPolicy
Dataset = tf.data.Dataset
RANGE = Dataset.range
SECONDS, HEARTBEAT_MS = 900, 200


# ---- services ----------------------------------------------------------------------------------
class Leat:
  """A process of Leat's; its events are the lines of its output."""

  def __init__(self, *arguments):
    self.process = subprocess.Popen(
        ['timeout', '-s', 'KILL', str(SECONDS), LEAT, 'data-service', '--json', *arguments],
        stdout=subprocess.PIPE, text=True)
    self.address = json.loads(self.process.stdout.readline())['address']

  def stop(self, is_killed=False):
    """Ends it; returns its exit code."""
    # timeout(1) hands the signal on, but not SIGKILL.
    if is_killed:
      subprocess.run(['pkill', '-KILL', '-P', str(self.process.pid)], check=True)
    else:
      self.process.terminate()
    return self.process.wait(timeout=120)


class Service:
  """|players| are the dispatcher and the workers: 'LTL' is Leat's dispatcher with a worker of
  TensorFlow's and one of Leat's. They know each other's addresses, as static sharding asks for."""

  def __init__(self, players):
    self.ports = free_ports(len(players) - 1)
    self.addresses = ['localhost:%d' % port for port in self.ports]
    self.servers = []
    if players[0] == 'L':
      self.dispatcher = Leat('--dispatcher', '--worker-addresses', ','.join(self.addresses))
      self.address = self.dispatcher.address
    else:
      config = service_config_pb2.DispatcherConfig(protocol='grpc',
                                                   worker_addresses=self.addresses)
      self.dispatcher = _pywrap_server_lib.TF_DATA_NewDispatchServer(config.SerializeToString())
      self.dispatcher.start()
      self.address = 'localhost:%d' % self.dispatcher.bound_port()
    for index, player in enumerate(players[1:]):
      self.servers.append(self.add_worker(player, index))

  def add_worker(self, player, index):
    if player == 'L':
      return Leat('--worker', '--dispatcher_address', self.address, '--port',
                  str(self.ports[index]), '--heartbeat', str(HEARTBEAT_MS))
    return SERVICE.WorkerServer(SERVICE.WorkerConfig(
        dispatcher_address=self.address, port=self.ports[index],
        heartbeat_interval_ms=HEARTBEAT_MS))

  def distribute(self, dataset, mode=POLICY.OFF, **options):
    return dataset.apply(_distribute(mode, 'grpc://' + self.address,
                                     task_refresh_interval_hint_ms=20, **options))

  def stop(self):
    return [s.stop() for s in [self.dispatcher] + self.servers if isinstance(s, Leat)]


@contextlib.contextmanager
def service(players):
  it = Service(players)
  try:
    yield it
  finally:
    it.stop()


def plain(element):
  return repr(tf.nest.map_structure(lambda x: x.numpy().tolist() if hasattr(x.numpy(), 'tolist')
                                    else x.numpy(), element))


def read(dataset):
  """The elements in an order of their own, or the code of the failure."""
  try:
    return sorted(plain(element) for element in dataset)
  except tf.errors.OpError as error:
    return type(error).__name__


# ---- datasets ----------------------------------------------------------------------------------
def write_files(folder):
  names = []
  for i in range(4):
    names.append(os.path.join(folder, 'part%d' % i))
    with tf.io.TFRecordWriter(names[-1]) as writer:
      for k in range(3):
        writer.write(b'%d.%d' % (i, k))
  return names


def make_table():
  keys, values = tf.constant([0, 1, 2], tf.int64), tf.constant(['a', 'b', 'c'])
  return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), '?')


def cases(names):
  """name: (dataset, policy, options)"""
  slices = Dataset.from_tensor_slices
  records = tf.data.TFRecordDataset
  pattern = os.path.join(os.path.dirname(names[0]), 'part*')
  endless = RANGE(4).repeat()
  hint = tf.data.experimental.SHARD_HINT
  half = lambda files: slices(files).flat_map(records)
  table = make_table()
  bad = RANGE(3).map(lambda x: tf.debugging.check_numerics(1 / tf.cast(x, tf.float32), 'bad'))
  # Not zip: two workers that zip split sources lose an element when one of them meets the end of
  # the first source and takes a split of the second with it, TensorFlow's as much as Leat's.
  twice = lambda d: d.concatenate(d)
  off = {
      'components': RANGE(6).map(lambda x: {'n': x * x, 't': tf.strings.as_string(x)}),
      'batches': RANGE(10).batch(3).map(lambda x: tf.cast(x, tf.bfloat16)),
      'strings': slices(['a', 'bb', '']),
      'files': records(names),
      'table': RANGE(4).map(table.lookup),
      'shuffle and cache': RANGE(5).shuffle(5, seed=1).cache(),
      'none': RANGE(0),
      'failure': bad,
  }
  dynamic = {
      'range': RANGE(3, 20, 4),
      'floats': RANGE(0, 5, output_type=tf.float32),
      'slices': slices({'a': [1, 2, 3], 'b': ['x', 'y', 'z']}),
      'tensors': Dataset.from_tensors([1, 2]),
      'repeat': RANGE(3).repeat(2).map(lambda x: x + 1),
      'concatenation': RANGE(3).concatenate(RANGE(5, 8)),
      'itself twice': twice(RANGE(4)),
      'flat_map': RANGE(4).flat_map(RANGE),
      'interleave': slices(names).interleave(records, num_parallel_calls=2),
      'shuffle': RANGE(6).shuffle(6).batch(1),
      'cache': RANGE(4).cache(),
      'window': RANGE(4).window(2).flat_map(lambda w: w),
      'files': records(names),
      'choice': Dataset.choose_from_datasets([RANGE(3), RANGE(10, 13)], RANGE(2).repeat(3)),
  }
  static = {
      'range by data': (RANGE(7), POLICY.DATA),
      'prefetch by data': (RANGE(7).map(lambda x: x).prefetch(3), POLICY.DATA),
      'range by file': (RANGE(7), POLICY.FILE),
      'range by either': (RANGE(7), POLICY.FILE_OR_DATA),
      'too few': (RANGE(1), POLICY.DATA),
      'range by hint': (RANGE(7), POLICY.HINT),
      'hint': (RANGE(8).shard(hint, hint).map(lambda x: x * 2), POLICY.HINT),
      'interleave by file': (slices(names).interleave(records), POLICY.FILE),
      'interleave by either': (slices(names).interleave(records).batch(2), POLICY.FILE_OR_DATA),
      'shuffled names by file': (
          Dataset.list_files(pattern, shuffle=True, seed=3).flat_map(records).batch(2),
          POLICY.FILE),
      'records by file': (records(names), POLICY.FILE),
      'concatenation by file': (half(names[:2]).concatenate(half(names[2:])), POLICY.FILE),
      'asserted number by file': (
          half(names).apply(tf.data.experimental.assert_cardinality(12)), POLICY.FILE),
  }
  result = {'off: ' + name: (dataset, POLICY.OFF, {}) for name, dataset in off.items()}
  result['off: not compressed'] = (RANGE(4), POLICY.OFF, {'compression': None})
  result['off: not endless in rounds'] = (RANGE(4), POLICY.OFF, {
      'job_name': 'rounds', 'consumer_index': 0, 'num_consumers': 1})
  result['off: taken'] = (endless, POLICY.OFF, {'job_name': 'taken'})
  result.update({'dynamic: ' + n: (d, POLICY.DYNAMIC, {}) for n, d in dynamic.items()})
  result.update({'static: ' + n: (d, p, {}) for n, (d, p) in static.items()})
  return result


def read_case(it, case):
  dataset, policy, options = case
  if options.get('job_name') == 'taken':  # a client that leaves before the end
    return read(it.distribute(dataset, policy, **options).take(3).map(lambda x: x >= 0))
  return read(it.distribute(dataset, policy, **options))


def compare_case(name, expected, it, case):
  actual = read_case(it, case)
  if actual != expected:
    return 'reads %s, TensorFlow %s' % (str(actual)[:200], str(expected)[:200])


# ---- Leat's alone --------------------------------------------------------------------------------
def ids(it):
  """Datasets by their ids, and a job that two clients share."""
  address = 'grpc://' + it.address
  first = SERVICE.register_dataset(address, RANGE(5))
  named = SERVICE.register_dataset(address, RANGE(5), dataset_id='mine')
  again = SERVICE.register_dataset(address, RANGE(7), dataset_id='mine')
  if (first.numpy(), named.numpy(), again.numpy()) != (b'1000', b'mine', b'mine'):
    return 'ids are %s, %s, %s' % (first, named, again)
  by_id = SERVICE.from_dataset_id(POLICY.DYNAMIC, address, 'mine')
  if sorted(x.numpy() for x in by_id) != list(range(5)):
    return 'what id mine names is not RANGE(5)'
  for wrong in (lambda: SERVICE.register_dataset(address, Dataset.from_tensors('x'),
                                                 dataset_id='mine'),
                lambda: list(SERVICE.from_dataset_id(
                    POLICY.OFF, address, 'none', element_spec=tf.TensorSpec((), tf.int64)))):
    try:
      return 'takes %s' % wrong()
    except (tf.errors.InvalidArgumentError, tf.errors.NotFoundError):
      pass


def shared_job(it):
  clients = [iter(it.distribute(RANGE(6), POLICY.DYNAMIC, job_name='shared')) for _ in range(2)]
  elements = sorted(x.numpy() for client in clients for x in client)
  if elements != list(range(6)):
    return 'two clients read %s' % elements
  try:
    list(it.distribute(RANGE(6), POLICY.OFF, job_name='shared'))
    return 'takes the job with another policy'
  except tf.errors.InvalidArgumentError:
    pass


def rounds(it):
  """Two consumers read in rounds: element 2r and 2r + 1 of one worker go to round r."""
  seen, dataset = {}, RANGE(1000).repeat()

  def consume(index):
    consumer = iter(it.distribute(dataset, job_name='in rounds', consumer_index=index,
                                  num_consumers=2))
    seen[index] = [next(consumer).numpy() for _ in range(10)]
  threads = [threading.Thread(target=consume, args=(i,)) for i in range(2)]
  [t.start() for t in threads]
  [t.join(120) for t in threads]
  if len(seen) < 2 or [a // 2 for a in seen[0]] != [b // 2 for b in seen[1]]:
    return 'the consumers read %s' % seen
  if sorted(seen[0] + seen[1])[:4] != [0, 0, 1, 1]:
    return 'two workers give %s' % sorted(seen[0] + seen[1])


def shared_elements(it):
  cache = lambda i: SERVICE.CrossTrainerCache(trainer_id=str(i))
  trainers = [iter(it.distribute(RANGE(1000).repeat(), job_name='trainers',
                                 cross_trainer_cache=cache(i))) for i in range(2)]
  seen = [sorted(next(t).numpy() for _ in range(8)) for t in trainers]
  if len(set(seen[0]) & set(seen[1])) < 3:
    return 'the trainers share too few of %s' % seen


def restarted_worker(it):
  """An endless job goes on when one of its workers was killed, and when it is back."""
  elements = iter(it.distribute(RANGE(1000).repeat()))
  [next(elements) for _ in range(10)]
  it.servers[1].stop(is_killed=True)
  [next(elements) for _ in range(20)]
  it.servers[1] = it.add_worker('L', 1)
  [next(elements) for _ in range(20)]


def late_dispatcher():
  """A worker that is started first registers when the dispatcher is there."""
  port, = free_ports(1)
  address = 'localhost:%d' % port
  worker = Leat('--worker', '--dispatcher_address', address)
  time.sleep(.3)
  dispatcher = Leat('--dispatcher', '--port', str(port))
  dataset = RANGE(3).apply(SERVICE.distribute(POLICY.OFF, 'grpc://' + address))
  actual = read(dataset)
  codes = worker.stop(), dispatcher.stop()
  if actual != ['0', '1', '2'] or codes != (0, 0):
    return 'reads %s, exit codes %s' % (actual, codes)


def abandoned_job():
  """An iteration that nobody reads ends, and its worker is told."""
  dispatcher = Leat('--dispatcher', '--gc-interval', '100', '--gc-timeout', '200')
  worker = Leat('--worker', '--dispatcher_address', dispatcher.address, '--heartbeat', '100')
  elements = iter(RANGE(9).repeat().apply(SERVICE.distribute(
      POLICY.OFF, 'grpc://' + dispatcher.address)))
  next(elements)
  del elements
  events = [json.loads(dispatcher.process.stdout.readline())['event'] for _ in range(2)]
  codes = worker.stop(), dispatcher.stop()
  if events != ['worker_registered', 'iteration_collected'] or codes != (0, 0):
    return 'events are %s, exit codes %s' % (events, codes)


def work_directory(folder):
  """Workers read datasets from the dispatcher's directory."""
  dispatcher = Leat('--dispatcher', '--work-dir', folder)
  worker = Leat('--worker', '--dispatcher_address', dispatcher.address)
  id_ = SERVICE.register_dataset('grpc://' + dispatcher.address, RANGE(3), dataset_id='kept')
  actual = read(SERVICE.from_dataset_id(POLICY.OFF, 'grpc://' + dispatcher.address, id_))
  is_kept = os.path.exists(os.path.join(folder, 'datasets', 'kept'))
  worker.stop(), dispatcher.stop()
  if actual != ['0', '1', '2'] or not is_kept:
    return 'reads %s, the file %s there' % (actual, 'is' if is_kept else 'is not')


def exit_codes(it):
  codes = it.stop()
  if any(codes):
    return 'exit codes are %s' % codes


def main():
  with tempfile.TemporaryDirectory() as folder:
    all_cases = cases(write_files(folder))
    with service('TTT') as it:
      expected = {name: read_case(it, case) for name, case in all_cases.items()}
    for players in 'LLL', 'LTL', 'TLL':
      with service(players) as it:
        for name, case in all_cases.items():
          report('%s %s' % (players, name), compare_case, name, expected[name], it, case)
    report('work directory', work_directory, os.path.join(folder, 'work'))
  with service('LLL') as it:
    for part in ids, shared_job, rounds, shared_elements, restarted_worker, exit_codes:
      report(part.__name__.replace('_', ' '), part, it)
  report('late dispatcher', late_dispatcher)
  report('abandoned job', abandoned_job)


main()
