"""Clusters: tf.train.ClusterSpec, tf.train.Server and tf.train.replica_device_setter.

A ClusterSpec is a ClusterDef with questions. A Server is the library's (`_leat.Server`): it serves
one task in this process, as a worker to masters and as a master to sessions that name its target.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import device as devices
from leat._graph import errors
from leat._graph import message


def _text(value, what):
  if isinstance(value, bytes):
    return value.decode()
  if not isinstance(value, str):
    raise TypeError('The %s %r must be bytes or unicode' % (what, value))
  return value


def _tasks_of(addresses):
  """{index: address} of a list or a dict of addresses."""
  if isinstance(addresses, (list, tuple)):
    addresses = dict(enumerate(addresses))
  if not isinstance(addresses, dict):
    raise TypeError('The tasks for a job must be a list or a dictionary, not %r' % (addresses,))
  for index in addresses:
    if isinstance(index, bool) or not isinstance(index, int):
      raise TypeError('The task key %r must be an integer' % (index,))
  return {index: _text(addresses[index], 'task address') for index in sorted(addresses)}


@export('train.ClusterSpec')
class ClusterSpec:
  """The jobs of a cluster: for each the addresses of its tasks, by index. Made of
  {'ps': ['host:port', ...], 'worker': {0: 'host:port', 7: ...}}, a ClusterDef or a ClusterSpec."""

  def __init__(self, cluster):
    definition = message.of('ClusterDef')
    if isinstance(cluster, ClusterSpec):
      cluster = cluster.as_cluster_def()
    if isinstance(cluster, definition):
      cluster = {job.name: dict(job.tasks) for job in cluster.job}
    if not isinstance(cluster, dict):
      raise TypeError('`cluster` must be a dictionary mapping one or more job names to lists of '
                      'network addresses, or a `ClusterDef` protocol buffer')
    self._jobs = {_text(name, 'job name'): _tasks_of(cluster[name]) for name in sorted(cluster)}

  def as_cluster_def(self):
    """The message ClusterDef."""
    definition = message.of('ClusterDef')()
    for name, tasks in self._jobs.items():
      job = definition.job.add()
      job.name = name
      for index, address in tasks.items():
        job.tasks[index] = address
    return definition

  def as_dict(self):
    """{job: [addresses]}, or {job: {index: address}} where indices are missing."""
    return {name: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for name, tasks in self._jobs.items()}

  def _job(self, job_name):
    try:
      return self._jobs[job_name]
    except KeyError:
      raise ValueError('No such job in cluster: %r' % job_name) from None

  @property
  def jobs(self):
    """The names of the jobs."""
    return list(self._jobs)

  def num_tasks(self, job_name):
    """How many tasks a job has. ValueError where there is no such job."""
    return len(self._job(job_name))

  def task_indices(self, job_name):
    """The numbers of a job's tasks. ValueError where there is no such job."""
    return list(self._job(job_name))

  def task_address(self, job_name, task_index):
    """The address of a task. ValueError where there is no such job or task."""
    try:
      return self._job(job_name)[task_index]
    except KeyError:
      raise ValueError('No task with index %r in job %r' % (task_index, job_name)) from None

  def job_tasks(self, job_name):
    """The addresses by index, with None where there is no task."""
    tasks = self._job(job_name)
    return [tasks.get(index) for index in range(max(tasks, default=-1) + 1)]

  def __bool__(self):
    return bool(self._jobs)

  def __eq__(self, other):
    if isinstance(other, ClusterSpec):
      return self._jobs == other._jobs
    return self.as_dict() == other

  __hash__ = None

  def __repr__(self):
    return 'ClusterSpec(%r)' % self.as_dict()


def _server_def(server_or_cluster_def, job_name, task_index, protocol, config):
  """The ServerDef of the arguments, of which those that are given count."""
  definition = message.of('ServerDef')()
  if isinstance(server_or_cluster_def, type(definition)):
    definition.CopyFrom(server_or_cluster_def)
  else:
    definition.cluster.CopyFrom(ClusterSpec(server_or_cluster_def).as_cluster_def())
  if job_name is not None:
    definition.job_name = job_name
  if task_index is not None:
    definition.task_index = task_index
  if protocol is not None:
    definition.protocol = protocol
  if config is not None:
    definition.default_session_config.MergeFrom(config)
  if isinstance(server_or_cluster_def, type(definition)):
    if not definition.job_name:
      raise ValueError('Must specify an explicit `job_name`.')
    return definition
  cluster = ClusterSpec(definition.cluster)
  if job_name is None:
    if len(cluster.jobs) != 1:
      raise ValueError('Must specify an explicit `job_name`.')
    definition.job_name = cluster.jobs[0]
  if task_index is None:
    indices = cluster.task_indices(definition.job_name)
    if len(indices) != 1:
      raise ValueError('Must specify an explicit `task_index`.')
    definition.task_index = indices[0]
  if protocol is None:
    definition.protocol = 'grpc'
  return definition


# What Server.start() started. TensorFlow's servers do not stop when their Python object goes, and
# programs count on it: they make a server in a function and return its target alone.
_started = []


@export('train.Server')
class Server:
  """A task of a cluster, which this process is from when it is made (or start()) to its end.
  server_or_cluster_def is a ServerDef, a ClusterSpec or a dict of addresses by jobs; job_name and
  task_index say which of them this is. `join()` waits for ever, `target` is what sessions connect
  to."""

  def __init__(self, server_or_cluster_def, job_name=None, task_index=None, protocol=None,
               config=None, start=True):
    self._server_def = _server_def(server_or_cluster_def, job_name, task_index, protocol, config)
    self._server = self._call(_leat.Server, self._server_def.SerializeToString())
    if start:
      self.start()

  @staticmethod
  def _call(function, *arguments):
    try:
      return function(*arguments)
    except _leat.StatusError as error:
      raise errors.of_status(error) from None

  def start(self):
    """Listens on the task's address; UnknownError where that is in use, as TensorFlow says it."""
    try:
      self._call(self._server.start)
    except errors.UnavailableError as error:
      raise errors.UnknownError(None, None, error.message) from None
    _started.append(self._server)

  def join(self):
    """Waits for the end of the server, which a signal brings."""
    self._call(self._server.join)

  @property
  def server_def(self):
    """The message ServerDef that describes it."""
    return self._server_def

  @property
  def target(self):
    """What a Session names to have this server as its master."""
    return self._server.target

  @staticmethod
  def create_local_server(config=None, start=True):
    """A cluster of this one task, on a free port."""
    return Server({'local': ['localhost:0']}, config=config, start=start)


def _free_ports(count):
  """Ports of this machine that nothing listens on."""
  import socket
  sockets = [socket.socket() for _ in range(count)]
  try:
    for s in sockets:
      s.bind(('localhost', 0))
    return [s.getsockname()[1] for s in sockets]
  finally:
    for s in sockets:
      s.close()


@export('test.create_local_cluster')
def create_local_cluster(num_workers, num_ps, protocol='grpc', worker_config=None, ps_config=None):
  """([Server of each worker], [Server of each parameter server]) of a cluster in this process."""
  ports = ['localhost:%d' % p for p in _free_ports(num_workers + num_ps)]
  cluster = ClusterSpec({'worker': ports[:num_workers], 'ps': ports[num_workers:]})
  make = lambda job, count, config: [
      Server(cluster, job_name=job, task_index=i, protocol=protocol, config=config)
      for i in range(count)]
  return make('worker', num_workers, worker_config), make('ps', num_ps, ps_config)


# Ops whose state belongs to the parameter servers.
_PS_OPS = ('Variable', 'VariableV2', 'VarHandleOp', 'AutoReloadVariable', 'MutableHashTable',
           'MutableHashTableV2', 'MutableHashTableOfTensors', 'MutableHashTableOfTensorsV2',
           'MutableDenseHashTable', 'MutableDenseHashTableV2',
           'BoostedTreesEnsembleResourceHandleOp', 'BoostedTreesQuantileStreamResourceHandleOp')


@export('train.replica_device_setter')
def replica_device_setter(ps_tasks=0, ps_device='/job:ps', worker_device='/job:worker',
                          merge_devices=True, cluster=None, ps_ops=None, ps_strategy=None):
  """A device function: variables go to the tasks of the ps job in turn, or as `ps_strategy` says,
  everything else to the worker. None where there is no ps job. What an operation asks for itself
  counts, in part with `merge_devices`, else alone."""
  if cluster is not None:
    cluster = ClusterSpec(cluster).as_dict()
    ps_tasks = len(cluster.get(devices.DeviceSpec.from_string(ps_device).job, ()))
  if ps_tasks == 0:
    return None
  ps_ops = _PS_OPS if ps_ops is None else ps_ops
  ps_strategy = _RoundRobin(ps_tasks) if ps_strategy is None else ps_strategy
  if not callable(ps_strategy):
    raise TypeError('ps_strategy must be callable')

  def choose(op):
    if not merge_devices and op.device:
      return op.device
    node = op if isinstance(op, message.of('NodeDef')) else op.node_def
    chosen = devices.DeviceSpec.from_string(worker_device or '')
    own = devices.DeviceSpec.from_string(op.device or '')
    if ps_device and node.op in ps_ops:
      chosen = devices.DeviceSpec.from_string(ps_device)
      if chosen.job and own.job in (None, chosen.job):
        chosen.task = ps_strategy(op)
    return devices.merge(chosen.to_string(), own.to_string())
  return choose


class _RoundRobin:
  def __init__(self, count):
    self._count, self._next = count, 0

  def __call__(self, op):
    del op
    task = self._next
    self._next = (task + 1) % self._count
    return task
