"""Snapshots that the workers of a data service write together (distributed_save), asked for and
loaded by TensorFlow's client. The services are TensorFlow's, Leat's and mixtures: 'LTL' is Leat's
dispatcher with a worker of TensorFlow's and one of Leat's. What is loaded must be what the dataset
gives, in any order, whoever wrote it. Then dispatchers and workers die by SIGKILL while they write,
and others go on: no element may be lost or come twice."""
import os
import signal
import sys
import tempfile
import time

from data_service_kit import Leat, Process, dispatch, work

import numpy as np
import tensorflow as tf

from cluster import free_ports
from data_service_client_oracle import in_leat, saved_metadata
from outcome import report

Dataset = tf.data.Dataset
PATIENCE = 180


# ---- services ----------------------------------------------------------------------------------
class LeatProcess(Leat):
  def kill(self):
    """By SIGKILL, with the program that limits its time."""
    os.killpg(self.process.pid, signal.SIGKILL)
    self.process.wait()


def start_dispatcher(kind, work_dir, port):
  if kind == 'L':
    return LeatProcess('--dispatcher', '--port', str(port), '--work-dir', work_dir,
                       '--fault-tolerant')
  return Process(dispatch, {'port': port, 'work_dir': work_dir, 'fault_tolerant_mode': True})


def start_worker(kind, dispatcher, port):
  if kind == 'L':
    return LeatProcess('--worker', '--dispatcher_address', dispatcher, '--port', str(port),
                       '--heartbeat', '100')
  return Process(work, dispatcher, {'port': port})


class Service:
  """|players| are the dispatcher and the workers; each may be killed and replaced."""

  def __init__(self, players):
    self.work_dir = tempfile.mkdtemp(prefix='leat-oracle')
    self.path = os.path.join(tempfile.mkdtemp(prefix='leat-oracle'), 'snapshot')
    self.ports = free_ports(len(players))
    self.address = 'localhost:%d' % self.ports[0]
    self.processes = [start_dispatcher(players[0], self.work_dir, self.ports[0])]
    for player, port in zip(players[1:], self.ports[1:]):
      self.processes.append(start_worker(player, self.address, port))

  def kill(self, index):
    self.processes[index].kill()
    self.processes[index] = None

  def restart(self, index, kind):
    if index:
      self.processes[index] = start_worker(kind, self.address, self.ports[index])
    else:
      self.processes[0] = start_dispatcher(kind, self.work_dir, self.ports[0])

  def __enter__(self):
    return self

  def __exit__(self, *_):
    for process in self.processes:
      if process:
        process.kill()

  def save(self, dataset, compression='AUTO'):
    tf.data.experimental.distributed_save(dataset, self.path, self.address,
                                          compression=compression)

  def wait(self, name='DONE'):
    deadline = time.monotonic() + PATIENCE
    while not os.path.exists(os.path.join(self.path, name)):
      assert time.monotonic() < deadline, 'no %s: %s' % (name, self.files())
      time.sleep(.05)

  def files(self):
    return sorted(os.path.relpath(os.path.join(top, name), self.path)
                  for top, _, names in os.walk(self.path) for name in names)

  def load(self, **options):
    return list(Dataset.load(self.path, **options))


# ---- what is saved -----------------------------------------------------------------------------
def plain(value):
  """An element as lists, numbers and texts, which compare."""
  if isinstance(value, dict):
    return [(key, plain(value[key])) for key in sorted(value)]
  if isinstance(value, (tuple, list)):
    return [plain(item) for item in value]
  if isinstance(value, tf.RaggedTensor):
    return value.to_list()
  if isinstance(value, tf.sparse.SparseTensor):
    return plain([value.indices, value.values, value.dense_shape])
  return [str(value.dtype), np.asarray(value).tolist()]


def described(number):
  return {'number': number, 'text': tf.strings.as_string(number),
          'matrix': tf.fill([2, 3], tf.cast(number, tf.float32)),
          'inner': (tf.cast(number, tf.uint8), number % 2 == 0)}


DATASETS = {
    'range': lambda: Dataset.range(50),
    'none': lambda: Dataset.range(0),
    'map': lambda: Dataset.range(50).map(lambda x: x * x),
    'dict': lambda: Dataset.range(30).map(described),
    'rows': lambda: Dataset.from_tensor_slices((np.arange(20.), ['a', 'bb'] * 10)),
    'tensors': lambda: Dataset.from_tensors(np.eye(3)),
    'bytes': lambda: Dataset.range(10).map(lambda x: tf.strings.join(['\0\xff', 'x'])),
    'ragged': lambda: Dataset.range(9).map(lambda x: tf.ragged.range([x, 2, 0])),
    'sparse': lambda: Dataset.range(9).map(lambda x: tf.sparse.from_dense([x, 0, x * 2])),
    'large': lambda: Dataset.range(20).map(lambda x: tf.fill([50000], x)),
    'repeat': lambda: Dataset.range(10).repeat(3),
    'shuffle': lambda: Dataset.range(40).shuffle(20),
    'concatenate': lambda: Dataset.range(10).concatenate(Dataset.range(100, 110)),
    'flat_map': lambda: Dataset.range(8).flat_map(lambda x: Dataset.range(x)),
    'filter': lambda: Dataset.range(60).filter(lambda x: x % 3 == 0).prefetch(2),
}
# Elements of these depend on which worker gets which piece, so that one worker writes them.
ALONE = {
    'zip': lambda: Dataset.zip((Dataset.range(12), Dataset.range(100, 120))),
    'zip of repeated': lambda: Dataset.zip((Dataset.range(12), Dataset.range(5).repeat())),
    'batch': lambda: Dataset.range(23).map(float_of).batch(4),
    'take': lambda: Dataset.range(100).take(7),
}


def float_of(number):
  return tf.cast(number, tf.float32) / 3


def saved(players, make, compression):
  with Service(players) as service:
    dataset = make()
    service.save(dataset, compression)
    service.wait()
    loaded = service.load()
    assert Dataset.load(service.path).element_spec == dataset.element_spec
  key = str
  want = sorted((plain(e) for e in dataset), key=key)
  got = sorted((plain(e) for e in loaded), key=key)
  assert want == got, 'want %s, got %s' % (str(want)[:300], str(got)[:300])


def by_leat(players):
  """Leat asks for the snapshot, and reads it: the number and the sum of the elements."""
  with Service(players) as service:
    def save():
      dataset = Dataset.range(100).map(lambda x: x * 3)
      return tf.raw_ops.DistributedSave(
          dataset=dataset._variant_tensor, directory=service.path, address=service.address,
          metadata=saved_metadata(dataset))

    def load():
      dataset = Dataset.load(service.path, element_spec=tf.TensorSpec([], tf.int64))
      return dataset.reduce(np.int64(0), lambda sum, x: sum + 1000000 + x)

    assert in_leat(save) is None
    service.wait()
    assert in_leat(save) == tf.errors.ALREADY_EXISTS
    got = in_leat(load)
    assert got == 100 * 1000000 + 3 * 4950, got


def code_of(call):
  try:
    call()
    return 'OK'
  except tf.errors.OpError as error:
    return type(error).__name__


def refused(players):
  """A path that is taken, and datasets that cannot be divided or never end."""
  with Service(players) as service:
    dataset = Dataset.range(5)
    service.save(dataset)
    assert code_of(lambda: service.save(dataset)) == 'AlreadyExistsError'
    service.path = tempfile.mkdtemp(prefix='leat-oracle')
    assert code_of(lambda: service.save(dataset)) == 'AlreadyExistsError'
    service.path = os.path.join(service.path, 'new')
    assert code_of(lambda: service.save(dataset.repeat())) == 'InvalidArgumentError'
    lines = tf.data.experimental.from_variant(
        tf.raw_ops.TextLineDataset(filenames=['x'], compression_type='', buffer_size=100),
        tf.TensorSpec([], tf.string))
    assert code_of(lambda: service.save(lines)) == 'UnimplementedError'


def failed(players):
  """An error in a function ends the snapshot, and who loads it is told."""
  with Service(players) as service:
    service.save(Dataset.range(10).map(lambda x: tf.debugging.check_numerics(
        1 / tf.cast(x, tf.float32), 'not a number here')))
    service.wait('ERROR')
    with open(os.path.join(service.path, 'ERROR')) as file:
      text = file.read()
    assert 'code: INVALID_ARGUMENT' in text and 'not a number here' in text, text
    assert not os.path.exists(os.path.join(service.path, 'DONE'))
    try:
      service.load()
      raise AssertionError('it can be loaded')
    except ValueError as error:
      assert 'not a number here' in str(error), error


# ---- deaths ------------------------------------------------------------------------------------
COUNT = 400


def slowed(dataset):
  """An element takes some milliseconds, without Python in the graph."""
  specs = tf.nest.flatten(dataset.element_spec)
  delayed = tf.raw_ops.SleepDataset(
      input_dataset=dataset._variant_tensor, sleep_microseconds=10000,
      output_types=[spec.dtype for spec in specs], output_shapes=[spec.shape for spec in specs])
  return tf.data.experimental.from_variant(delayed, dataset.element_spec)


def check_numbers(service):
  service.wait()
  got = sorted(int(e) for e in service.load())
  missing = sorted(set(range(0, 2 * COUNT, 2)) - set(got))
  assert len(got) == len(set(got)), 'doubled: %s' % [e for e in got if got.count(e) > 1][:20]
  assert not missing, 'missing: %s' % missing[:20]


def given(service):
  return sum('split_' in name and name.startswith('streams') for name in service.files())


def wait_for_splits(service, count):
  deadline = time.monotonic() + PATIENCE
  while given(service) < count:
    assert time.monotonic() < deadline, service.files()
    time.sleep(.02)


def replace(service, index, successors, splits):
  """Process |index| dies as often as there are successors, when so many splits were given out."""
  for i, successor in enumerate(successors):
    wait_for_splits(service, splits * (i + 1))
    service.kill(index)
    time.sleep(.3)
    service.restart(index, successor)


def deaths(players, index, successors):
  with Service(players) as service:
    service.save(slowed(Dataset.range(COUNT).map(lambda x: x * 2)))
    replace(service, index, successors, 60)
    check_numbers(service)


def deaths_of_passes(players, index, successors, make):
  """The sources are passed over several times, and not always to their ends, by one worker."""
  with Service(players) as service:
    dataset = make()
    service.save(slowed(dataset))
    replace(service, index, successors, 60)
    service.wait()
    got = sorted(plain(e) for e in service.load())
    want = sorted(plain(e) for e in dataset)
    assert got == want, 'want %d, got %d: %s' % (len(want), len(got), str(got)[:200])


PASSES = {
    'repeated beside': lambda: Dataset.zip((Dataset.range(200), Dataset.range(7).repeat())),
    'ended early': lambda: Dataset.zip((Dataset.range(5), Dataset.range(90))).repeat(40),
}


def meanwhile(players):
  """Who loads the snapshot while it is written waits for its end."""
  with Service(players) as service:
    service.save(slowed(Dataset.range(100)))
    assert sorted(int(e) for e in service.load(wait=True)) == list(range(100))
    assert os.path.exists(os.path.join(service.path, 'DONE'))


def together(players):
  """Several snapshots go on at a time; a worker has at most three."""
  with Service(players) as service:
    top, paths = service.path, []
    for i in range(5):
      service.path = '%s-%d' % (top, i)
      paths.append(service.path)
      service.save(Dataset.range(i * 10, i * 10 + 10))
    for i, path in enumerate(paths):
      service.path = path
      service.wait()
      assert sorted(int(e) for e in service.load()) == list(range(i * 10, i * 10 + 10))


def compare_all(kinds):
  for players in kinds:
    for name, make in DATASETS.items():
      for compression in ('AUTO', None):
        if compression is None and name not in ('range', 'dict', 'large', 'ragged'):
          continue
        report('%s: %s, compression %s' % (players, name, compression), saved, players, make,
               compression)
    for name, make in ALONE.items():
      report('%s: %s' % (players[:2], name), saved, players[:2], make, 'AUTO')
    report('%s: errors' % players, failed, players)
    report('%s: five at a time' % players, together, players)
    report('%s: loaded meanwhile' % players, meanwhile, players)


DEATHS = (
    # The players, who dies, and who comes in its place.
    ('LTT', 0, 'LTL'), ('LLL', 0, 'LLL'), ('LLT', 0, 'TLT'), ('TLL', 0, 'LL'),
    ('LLL', 1, 'LL'), ('TLL', 1, 'LL'), ('LTT', 1, 'TT'), ('LLL', 1, 'TL'), ('LTL', 1, 'LT'),
)


if __name__ == '__main__':
  compare_all(sys.argv[1:] or ['TTTT', 'LTTT', 'TLLL', 'LLLL', 'LTL'])
  for players in ('LT', 'LL', 'TL'):
    report('%s: refused' % players, refused, players)
    report('%s: saved and loaded by Leat' % players, by_leat, players)
  for players, index, successors in DEATHS:
    report('%s: %d dies, then %s' % (players, index, successors), deaths, players, index,
           successors)
  for players, index, successors in (('LL', 0, 'LL'), ('LL', 0, 'LT'), ('LL', 1, 'LL'),
                                     ('LL', 1, 'TL'), ('TL', 1, 'LL')):
    for name, make in PASSES.items():
      # TensorFlow's dispatcher that is started again takes each pass for one that went to its end.
      if name == 'ended early' and index == 0 and 'T' in successors:
        continue
      report('%s, %s: %d dies, then %s' % (name, players, index, successors), deaths_of_passes,
             players, index, successors, make)
