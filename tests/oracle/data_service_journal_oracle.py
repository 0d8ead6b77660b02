"""Dispatchers of both libraries that go on with each other's journals: one dies by SIGKILL while
a client reads, the other one is started in the same work directory and at the same port, and the
client and the workers, which live on, must not notice. Of a dataset that is divided dynamically no
element may come twice, and one may be missing for each worker and death: that of a split which was
written down and never answered, as TensorFlow promises. All other answers are exact."""
import os
import signal
import tempfile
import threading

from data_service_kit import SERVICE, SECONDS, Leat, Process, dispatch, register, tf, work

from cluster import free_ports
from data_service_client_oracle import Policy, Reader
from outcome import report

ELEMENTS = 3000


class LeatDispatcher(Leat):
  def __init__(self, work_dir, port):
    super().__init__('--dispatcher', '--port', str(port), '--work-dir', work_dir,
                     '--fault-tolerant')

  def kill(self):
    os.killpg(self.process.pid, signal.SIGKILL)  # with the program that limits its time
    self.process.wait()


class TensorFlowDispatcher(Process):
  def __init__(self, work_dir, port):
    super().__init__(dispatch, {'port': port, 'work_dir': work_dir, 'fault_tolerant_mode': True})


DISPATCHERS = {'tensorflow': TensorFlowDispatcher, 'leat': LeatDispatcher}
WORKERS = {'tensorflow': lambda address: Process(work, address, {}),
           'leat': lambda address: Leat('--worker', '--dispatcher_address', address, '--heartbeat',
                                        '100')}


class Scene:
  """A dispatcher and two workers; the dispatcher may be replaced."""

  def __init__(self, first, workers):
    self.work_dir = tempfile.mkdtemp(prefix='leat-oracle')
    self.port, = free_ports(1)
    self.address = 'localhost:%d' % self.port
    self.dispatcher = DISPATCHERS[first](self.work_dir, self.port)
    self.workers = [WORKERS[workers](self.address) for _ in range(2)]

  def replace(self, kind):
    self.dispatcher.kill()
    self.dispatcher = DISPATCHERS[kind](self.work_dir, self.port)

  def stop(self):
    for process in self.workers + [self.dispatcher]:
      process.kill()

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self.stop()

  def distribute(self, dataset, mode, **options):
    return dataset.apply(SERVICE.distribute(mode, 'grpc://' + self.address, **options))


def numbers(count=ELEMENTS):
  return tf.data.Dataset.range(count).map(lambda x: x * 2)


def files(scene):
  journal = os.path.join(scene.work_dir, 'tf_data_dispatcher_journal')
  return sorted(os.listdir(journal))


def check_once(seen):
  """Each element once, through two deaths of a dispatcher."""
  assert len(seen) == len(set(seen)), 'doubled: %s' % sorted(seen)[:20]
  missing = set(range(0, 2 * ELEMENTS, 2)) - set(seen)
  assert len(missing) <= 4, 'missing: %s' % sorted(missing)
  assert not set(seen) - set(range(0, 2 * ELEMENTS, 2))


def dynamic(first, second, workers):
  """The client is TensorFlow's; to the other library, and back."""
  with Scene(first, workers) as scene:
    seen = []
    for element in scene.distribute(numbers(), 'distributed_epoch').as_numpy_iterator():
      seen.append(int(element))
      if len(seen) == 10:
        scene.replace(second)
      if len(seen) == ELEMENTS // 2:
        scene.replace(first)
    check_once(seen)
    assert files(scene) == ['journal_0', 'journal_1', 'journal_2'], files(scene)


def client(first, second, workers):
  """The same, and the client is Leat's."""
  with Scene(first, workers) as scene:
    registered = Process(register, scene.address, numbers, None)
    registered.process.join()
    reader = Reader('leat', scene.address, registered.said, policy=Policy.DYNAMIC)
    reader.begin()
    seen = [reader.next() for _ in range(10)]
    scene.replace(second)
    seen += [reader.next() for _ in range(500)]
    scene.replace(first)
    rest = reader.rest()
    assert isinstance(rest, list), 'code %s' % rest
    check_once([element for element, in seen + rest])
    reader.close()


def whole(first, second, workers):
  """Every worker's elements, each once: splits are no matter of the dispatcher's here."""
  with Scene(first, workers) as scene:
    seen = []
    for element in scene.distribute(numbers(600), 'parallel_epochs').as_numpy_iterator():
      seen.append(int(element))
      if len(seen) == 10:
        scene.replace(second)
    assert sorted(seen) == sorted(2 * list(range(0, 1200, 2))), len(seen)


def names(first, second, workers):
  """Ids, jobs by name and their parameters, and pieces that are yet to come, are what they were."""
  with Scene(first, workers) as scene:
    target = 'grpc://' + scene.address
    dataset = numbers(50)
    named = SERVICE.register_dataset(target, dataset, dataset_id='mine')
    numbered = SERVICE.register_dataset(target, numbers(60))
    spec = tf.TensorSpec([], tf.int64)

    def read(ident, job):
      return sorted(int(e) for e in SERVICE.from_dataset_id(
          'distributed_epoch', target, ident, element_spec=spec,
          job_name=job).as_numpy_iterator())

    assert read(named, 'job') == list(range(0, 100, 2))
    scene.replace(second)
    # A dataset of another kind must not take the id; one of the same kind has it already.
    again = SERVICE.register_dataset(target, dataset, dataset_id='mine')
    assert again.numpy() == named.numpy()
    try:
      SERVICE.register_dataset(target, tf.data.Dataset.from_tensors('text'), dataset_id='mine')
      raise AssertionError('another dataset has the id')
    except tf.errors.InvalidArgumentError:
      pass
    # The job has been read to its end by this name, and has nothing more.
    assert read(named, 'job') == []
    assert read(numbered, 'other') == list(range(0, 120, 2))
    fresh = SERVICE.register_dataset(target, numbers(70))
    assert fresh.numpy() not in (named.numpy(), numbered.numpy())
    try:
      list(SERVICE.from_dataset_id('parallel_epochs', target, named, element_spec=spec,
                                   job_name='job'))
      raise AssertionError('the job has another mode')
    except tf.errors.InvalidArgumentError:
      pass


def rounds(first, second, workers):
  """Two consumers read in rounds, and go on in step."""
  count = 200
  with Scene(first, workers) as scene:
    seen = [[], []]
    barrier = threading.Barrier(2)

    def consume(index):
      dataset = tf.data.Dataset.range(1000).map(lambda x: x // 2).repeat()
      reader = iter(scene.distribute(dataset, 'parallel_epochs', job_name='rounds',
                                     consumer_index=index, num_consumers=2))
      for i in range(count):
        seen[index].append(int(next(reader)))
        if i in (20, 100) and barrier.wait(SECONDS) == 0:
          scene.replace(second if i == 20 else first)

    threads = [threading.Thread(target=consume, args=(i,), daemon=True) for i in range(2)]
    for thread in threads:
      thread.start()
    for thread in threads:
      thread.join(SECONDS)
    assert [len(s) for s in seen] == [count, count], [len(s) for s in seen]
    assert seen[0] == seen[1], [i for i in range(count) if seen[0][i] != seen[1][i]][:5]


def compare_all():
  for dispatchers in (('tensorflow', 'leat'), ('leat', 'tensorflow'), ('leat', 'leat')):
    for case in (dynamic, client, whole, names, rounds):
      for workers in ('tensorflow', 'leat'):
        report('%s: %s workers, %s dispatcher, then %s' % ((case.__name__, workers) + dispatchers),
               case, *dispatchers, workers)


if __name__ == '__main__':
  compare_all()
