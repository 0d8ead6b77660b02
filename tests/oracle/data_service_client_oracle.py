"""Leat's ops of tf.data's service as clients of dispatchers and workers of both libraries. The
graphs are those that TensorFlow's own Python makes; TensorFlow runs the same beside Leat where the
order of elements does not decide."""
import functools
import os
import tempfile
import threading
import time

from data_service_kit import SERVICE, LeatService, Process, Service, quiet, tf
import numpy as np
from tensorflow.core.protobuf import snapshot_pb2
from tensorflow.python.saved_model import nested_structure_coder

import capi
from cluster import free_ports
from outcome import report

NUMBER = tf.TensorSpec([], tf.int64)
PAIR = (tf.TensorSpec([2], tf.int64), tf.TensorSpec([], tf.string))
Policy = SERVICE.ShardingPolicy


# ---- Datasets that workers make ------------------------------------------------------------------
def numbers():
  return tf.data.Dataset.range(20)


def pairs():
  return numbers().map(lambda x: (tf.stack([x, x * x]), tf.strings.as_string(x)))


def captured():
  """A map that captured a variable and a table, which travel with what they hold."""
  raw = tf.raw_ops
  variable = raw.VarHandleOp(dtype=tf.int64, shape=[], shared_name='base')
  table = raw.HashTableV2(key_dtype=tf.int64, value_dtype=tf.int64, shared_name='names')
  keys = tf.constant([3, 4], tf.int64)
  with tf.control_dependencies([
      raw.AssignVariableOp(resource=variable, value=tf.constant(1000, tf.int64)),
      raw.LookupTableImportV2(table_handle=table, keys=keys, values=keys * 7)]):
    variable, table = tf.identity(variable), tf.identity(table)
  return numbers().map(lambda x: raw.ReadVariableOp(resource=variable, dtype=tf.int64) +
                       raw.LookupTableFindV2(table_handle=table, keys=x,
                                             default_value=tf.constant(-1, tf.int64)))


def dividing():
  return tf.data.Dataset.range(3).map(lambda x: 10 // (x - 1))


def endless():
  return tf.data.Dataset.range(1000).repeat()


def rounds():
  """Elements of two consumers, whose lengths agree in each round."""
  return tf.data.Dataset.range(1000).map(lambda x: x // 2).repeat()


# ---- Readers -------------------------------------------------------------------------------------
def flat(element):
  return tuple(np.asarray(e).tolist() if not isinstance(e, bytes) else e for e in element)


class Reader:
  """An iterator over a registered dataset, which Leat or TensorFlow runs."""

  def __init__(self, runner, address, ident, spec=NUMBER, policy=Policy.OFF, change=lambda d: d,
               **options):
    self.graph = tf.Graph()
    with self.graph.as_default():
      dataset = SERVICE.from_dataset_id(policy, 'grpc://' + address, ident, element_spec=spec,
                                        **options)
      iterator = tf.data.make_initializable_iterator(change(dataset))
      self.initializer = iterator.initializer.name
      element = iterator.get_next()
      self.element = [e.name for e in (element if isinstance(element, tuple) else (element,))]
    if runner == 'leat':
      self.session = capi.Session(LEAT, self.graph.as_graph_def().SerializeToString())
      self.begin = lambda: self.session.run([], targets=[self.initializer])
    else:
      self.session = tf.Session(graph=self.graph)
      self.begin = lambda: self.session.run(self.initializer)

  def next(self):
    return flat(self.session.run(self.element))

  def rest(self, limit=10000):
    """All elements up to the end, or the code of the failure."""
    elements = []
    try:
      while len(elements) < limit:
        elements.append(self.next())
    except (capi.Error, tf.errors.OpError) as error:
      code = getattr(error, 'code', None) or error.error_code
      if code != tf.errors.OUT_OF_RANGE:
        return code
    return elements

  def read(self, limit=10000):
    try:
      self.begin()
    except (capi.Error, tf.errors.OpError) as error:
      return getattr(error, 'code', None) or error.error_code
    return self.rest(limit)

  def close(self):
    self.session.close()


def read(runner, *arguments, limit=10000, **options):
  reader = Reader(runner, *arguments, **options)
  try:
    return reader.read(limit)
  finally:
    reader.close()


def in_order(elements):
  return sorted(elements) if isinstance(elements, list) else elements


def difference(got, want):
  return '' if got == want else '%s, must be %s' % (str(got)[:300], str(want)[:300])


def same(*arguments, **options):
  """Both libraries read the same elements, in some order, or fail alike."""
  want, got = (in_order(read(runner, *arguments, **options)) for runner in ('tensorflow', 'leat'))
  return difference(got, want)


# ---- Comparisons ---------------------------------------------------------------------------------
def in_threads(run, count):
  threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
  for thread in threads:
    thread.start()
  for thread in threads:
    thread.join()


def shares_job(service, ident):
  """Two clients of one job get each element of it once."""
  readers = [Reader('leat', service.address, ident, policy=Policy.DYNAMIC, job_name='shared')
             for _ in range(2)]
  got = [None, None]

  def run(i):
    got[i] = readers[i].read()
    readers[i].close()
  in_threads(run, len(readers))
  return difference(in_order(got[0] + got[1]), [(i,) for i in range(20)])


def consume(pipe, runner, *arguments, **options):
  """The life of a process that reads: both libraries at once are too much for one, since each
  brings a gRPC."""
  quiet()
  tf.disable_eager_execution()
  pipe.send(read(runner, *arguments, **options))


def reads_together(service, ident, players):
  """Consumers of a coordinated read get elements of the same round in each step."""
  got = [None] * len(players)

  def run(i):
    got[i] = Process(functools.partial(
        consume, job_name='rounds' + ''.join(players), consumer_index=i, limit=100,
        num_consumers=len(players)), players[i], service.address, ident).said
  in_threads(run, len(players))
  if not all(isinstance(g, list) and len(g) == 100 for g in got):
    return 'got %s' % str(got)[:300]
  return difference(*got)


def survives_worker(make):
  """A worker is killed while it is read, and another one comes: the iteration ends, and elements
  of the others are all there."""
  service = Service(2)
  try:
    reader = Reader('leat', service.address, service.register(make))
    reader.begin()
    elements = [reader.next() for _ in range(5)]
    service.workers[0].kill()
    service.workers[0] = service.add_worker()
    elements += [reader.next() for _ in range(400)]
    reader.close()
    return '' if len(elements) == 405 else 'got %d elements' % len(elements)
  finally:
    service.stop()


def waits_for_dispatcher():
  """A client comes before its dispatcher, whose first answer is that it knows no such dataset."""
  port, = free_ports(1)
  reader = Reader('leat', 'localhost:%d' % port, '1000')
  got = []
  thread = threading.Thread(target=lambda: got.append(reader.read()))
  thread.start()
  time.sleep(.5)
  waited = thread.is_alive()
  service = Service(0, port=port)
  try:
    thread.join(120)
    reader.close()
    return difference((waited, got), (True, [tf.errors.NOT_FOUND]))
  finally:
    service.stop()


def ends_when_closed(ident, service):
  """A step that waits for an element ends with its session."""
  reader = Reader('leat', service.address, ident, change=lambda d: d.filter(lambda x: x < 0))
  reader.begin()
  caught = []

  def run():
    try:
      reader.next()
    except capi.Error as error:
      caught.append(error.code)
  thread = threading.Thread(target=run)
  thread.start()
  time.sleep(.3)
  LEAT.TF_CloseSession(reader.session.session, LEAT.status)
  thread.join(120)
  reader.close()
  return difference(caught, [tf.errors.CANCELLED])


def in_leat(build):
  """Runs what |build| makes, in a graph of its own; its value, or the code of a failure."""
  graph = tf.Graph()
  with graph.as_default():
    made = build()
  session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
  try:
    if isinstance(made, tf.Operation):
      session.run([], targets=[made.name])
      return None
    return np.asarray(session.run([made.name])[0], object).item()
  except capi.Error as error:
    return error.code
  finally:
    session.close()


def registers(service, make, spec, **options):
  """What Leat registers, both libraries read as what TensorFlow registers."""
  ident = in_leat(lambda: SERVICE.register_dataset('grpc://' + service.address, make(), **options))
  if isinstance(ident, int):
    return 'registering failed with code %d' % ident
  ident = ident.decode()
  if options.get('dataset_id', ident) != ident:
    return 'its id is %s' % ident
  want = in_order(read('tensorflow', service.address, service.register(make), spec=spec))
  return (difference(in_order(read('tensorflow', service.address, ident, spec=spec)), want) or
          difference(in_order(read('leat', service.address, ident, spec=spec)), want))


def registers_number(service):
  """The first version of the op gives the number of the dataset, of which nothing else is told."""
  def build():
    return tf.raw_ops.RegisterDataset(
        dataset=tf.data.Dataset.range(3)._variant_tensor, address=service.address, protocol='grpc',
        external_state_policy=1)
  return same(service.address, str(in_leat(build)))


def saves():
  """Workers write the snapshot that Leat asks for, which TensorFlow reads."""
  with tempfile.TemporaryDirectory(prefix='leat-service') as folder:
    service = Service(1, work_dir=os.path.join(folder, 'work'), fault_tolerant_mode=True)
    try:
      path = os.path.join(folder, 'snapshot')
      def build():
        dataset = numbers()
        spec = tf.raw_ops.DistributedSave
        return spec(dataset=dataset._variant_tensor, directory=path, address=service.address,
                    metadata=saved_metadata(dataset))
      failed = in_leat(build)
      if failed is not None:
        return 'saving failed with code %d' % failed
      deadline = time.monotonic() + 120
      while not os.path.exists(os.path.join(path, 'DONE')):
        if time.monotonic() > deadline:
          return 'the snapshot does not end: %s' % os.listdir(path)
        time.sleep(.1)
      graph = tf.Graph()
      with graph.as_default(), tf.Session() as session:
        loaded = tf.data.make_one_shot_iterator(
            tf.data.Dataset.load(path, element_spec=NUMBER).batch(100)).get_next()
        return difference(sorted(session.run(loaded).tolist()), list(range(20)))
    finally:
      service.stop()


def saved_metadata(dataset):
  """The metadata that tf.data's distributed_save makes."""
  coder = nested_structure_coder.encode_structure(dataset.element_spec)
  return snapshot_pb2.DistributedSnapshotMetadata(
      element_spec=coder.SerializeToString(), compression='AUTO').SerializeToString()


def static_shards():
  """Each worker makes its shard of the elements."""
  ports = free_ports(2)
  addresses = ['localhost:%d' % p for p in ports]
  service = Service(0, worker_addresses=addresses)
  try:
    service.workers = [service.add_worker(port=p, worker_address=a)
                       for p, a in zip(ports, addresses)]
    return same(service.address, service.register(numbers), policy=Policy.DATA)
  finally:
    service.stop()


def earlier_version(service, ident, version):
  """The versions before the fourth take a number for the dataset."""
  raw = tf.raw_ops
  inputs = dict(dataset_id=int(ident), processing_mode='parallel_epochs', address=service.address,
                protocol='grpc', job_name='', max_outstanding_requests=2,
                output_types=[tf.int64], output_shapes=[[]])
  results = []
  for _ in range(2):
    graph = tf.Graph()
    with graph.as_default():
      inputs['iteration_counter'] = raw.DummyIterationCounter()
      if version == 'DataServiceDatasetV2':
        inputs.update(consumer_index=-1, num_consumers=-1)
      made = getattr(raw, version)(**inputs)
      batch = raw.BatchDataset(input_dataset=made, batch_size=100, output_types=[tf.int64],
                               output_shapes=[[None]])
      fetch = raw.DatasetToSingleElement(dataset=batch, output_types=[tf.int64],
                                         output_shapes=[[None]])[0]
    if results:
      session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
      results.append(sorted(session.run([fetch.name])[0].tolist()))
    else:
      session = tf.Session(graph=graph)
      results.append(sorted(session.run(fetch).tolist()))
    session.close()
  return difference(results[1], results[0])


def compare_reads(service, prefix=''):
  """What a service of either library answers both clients; the numbers of its datasets."""
  named = {(make.__name__, compression): service.register(make, compression)
           for make, compression in ((numbers, 'AUTO'), (numbers, None), (pairs, 'AUTO'),
                                     (pairs, 'SNAPPY'), (pairs, None), (dividing, 'AUTO'),
                                     (endless, 'AUTO'), (rounds, 'AUTO'))}
  plain = named['numbers', 'AUTO']
  for (name, compression), ident in named.items():
    if name in ('numbers', 'pairs'):
      report('%sread %s %s' % (prefix, name, compression), lambda: same(
          service.address, ident, spec=NUMBER if name == 'numbers' else PAIR))
  report(prefix + 'dynamic', lambda: same(service.address, plain, policy=Policy.DYNAMIC))
  report(prefix + 'repeated', lambda: same(service.address, plain, change=lambda d: d.repeat(3)))
  report(prefix + 'limited', lambda: difference(len(read(
      'leat', service.address, named['endless', 'AUTO'], limit=500)), 500))
  report(prefix + 'shared job', shares_job, service, plain)
  report(prefix + 'failing element', lambda: same(service.address, named['dividing', 'AUTO']))
  report(prefix + 'unknown dataset', lambda: same(service.address, '4711'))
  for players in ('leat', 'leat'), ('leat', 'tensorflow'):
    report(prefix + 'rounds of ' + ' and '.join(players), reads_together, service,
           named['rounds', 'AUTO'], players)
  report(prefix + 'registered', registers, service, numbers, NUMBER)
  report(prefix + 'registered pairs', registers, service, pairs, PAIR)
  report(prefix + 'registered with what it captured', registers, service, captured, NUMBER)
  return named


def compare_all():
  leat = LeatService(2)
  compare_reads(leat, 'leat: ')
  leat.stop()
  service = Service(2)
  named = compare_reads(service)
  plain = named['numbers', 'AUTO']
  report('few outstanding', lambda: same(service.address, plain, max_outstanding_requests=1))
  report('any worker', lambda: same(service.address, plain, target_workers='any'))
  report('prefetched', lambda: same(service.address, plain, change=lambda d: d.prefetch(4)))
  report('wrong spec', lambda: same(service.address, plain, spec=tf.TensorSpec([], tf.string)))
  report('local workers', lambda: same(service.address, plain, target_workers='local'))
  report('unknown transfer', lambda: same(service.address, plain, data_transfer_protocol='pigeon'))
  for version in 'DataServiceDataset', 'DataServiceDatasetV2':
    report(version, earlier_version, service, named['numbers', None], version)
  report('registered by name', functools.partial(
      registers, service, numbers, NUMBER, dataset_id='mine', compression=None))
  report('registered by number', registers_number, service)
  report('closed session', ends_when_closed, named['endless', 'AUTO'], service)
  service.stop()
  report('static shards', static_shards)
  report('saved', saves)
  report('worker killed', survives_worker, endless)
  report('dispatcher not up', waits_for_dispatcher)


LEAT = capi.Library()
if __name__ == '__main__':
  compare_all()
