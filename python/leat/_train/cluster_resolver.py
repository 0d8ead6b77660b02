"""tf.distribute.cluster_resolver: which cluster a program belongs to, and which of its tasks it is.

Where that is told in the environment, by TF_CONFIG or by Slurm, the library reads it
(`leat_cluster_resolve`), so that this package, `leat server` and `leat launch` never differ. A
resolver asks each time anew, but for Slurm's, whose variables do not change.
"""
from __future__ import annotations

import collections
import enum
import json
import os

from leat import _leat
from leat._export import export
from leat._graph import errors
from leat._graph import message
from leat._train.server import ClusterSpec


def find_cluster(source):
  """(ClusterSpec, job, index) that `source` tells; the job is '' where it does not say which task
  this process is. ValueError where it says something else than it must; the cluster is empty where
  it tells this process nothing."""
  try:
    cluster, job, index = _leat.resolve_cluster(source)
  except _leat.StatusError as error:
    failure = errors.of_status(error)
    if isinstance(failure, errors.NotFoundError):
      return ClusterSpec({}), '', 0
    if isinstance(failure, errors.InvalidArgumentError):
      raise ValueError(failure.message) from None
    raise failure from None
  return ClusterSpec(message.of('ClusterDef').FromString(cluster)), job, index


def _tf_config():
  return json.loads(os.environ.get('TF_CONFIG') or '{}')


def read_tf_config():
  """(TF_CONFIG as a dict, its ClusterSpec)."""
  config = _tf_config()
  return config, find_cluster('tf_config')[0] if config.get('cluster') else ClusterSpec({})


def _with_layer(address, rpc_layer):
  return '%s://%s' % (rpc_layer, address) if rpc_layer and address else address


@export('distribute.cluster_resolver.ClusterResolver', 'contrib.cluster_resolver.ClusterResolver')
class ClusterResolver:
  """Tells a cluster and this process's task in it."""

  task_type = task_id = None

  def cluster_spec(self):
    """The ClusterSpec."""
    raise NotImplementedError()

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    """What a Session names to have a task as its master, this process's own unless another one is
    named; '' for a session in this process."""
    raise NotImplementedError()

  def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
    """{kind: how many} of the devices of a task that are no CPUs."""
    del task_type, task_id, config_proto
    return collections.defaultdict(int)

  @property
  def environment(self):
    """Where the program runs, as whoever started it calls it."""
    return ''


@export('distribute.cluster_resolver.SimpleClusterResolver',
        'contrib.cluster_resolver.SimpleClusterResolver')
class SimpleClusterResolver(ClusterResolver):
  """A cluster that the program names itself."""

  def __init__(self, cluster_spec, master='', task_type=None, task_id=None, environment='',
               num_accelerators=None, rpc_layer=None):
    if not isinstance(cluster_spec, ClusterSpec):
      raise TypeError('cluster_spec must be a `tf.train.ClusterSpec`.')
    if not isinstance(master, str):
      raise TypeError('master must be a string.')
    self.task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
    self._cluster_spec, self._master, self._environment = cluster_spec, master, environment
    self._num_accelerators = num_accelerators

  def cluster_spec(self):
    return self._cluster_spec

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    address = self._master
    if task_type is not None and task_id is not None:
      address = self._cluster_spec.task_address(task_type, task_id)
    return _with_layer(address, rpc_layer or self.rpc_layer)

  def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
    return {} if self._num_accelerators is None else self._num_accelerators

  @property
  def environment(self):
    return self._environment


def _merge(specs):
  """One ClusterSpec of several. Lists of a job are joined; once one is a dict, all are, and no
  index may come twice."""
  lists, sparse = {}, set()
  for spec in specs:
    for job, tasks in spec.as_dict().items():
      lists.setdefault(job, []).append(tasks)
      if isinstance(tasks, dict):
        sparse.add(job)
  merged = {}
  for job, parts in lists.items():
    if job not in sparse:
      merged[job] = [address for tasks in parts for address in tasks]
      continue
    merged[job] = {}
    for tasks in parts:
      tasks = tasks if isinstance(tasks, dict) else dict(enumerate(tasks))
      twice = merged[job].keys() & tasks.keys()
      if twice:
        raise KeyError('Duplicate keys detected when merging two ClusterSpecs: %s' % twice)
      merged[job].update(tasks)
  return ClusterSpec(merged)


@export('distribute.cluster_resolver.UnionResolver',
        'contrib.cluster_resolver.UnionClusterResolver')
class UnionResolver(ClusterResolver):
  """The clusters of several resolvers as one. All else is the first one's."""

  def __init__(self, *args, **kwargs):
    if not args:
      raise ValueError('At least one ClusterResolver is required.')
    if not all(isinstance(resolver, ClusterResolver) for resolver in args):
      raise TypeError('All arguments must be a sub-class of `ClusterResolver.`')
    self._resolvers = args
    first = args[0]
    self.task_type = kwargs.get('task_type', first.task_type)
    self.task_id = kwargs.get('task_id', first.task_id)
    self.rpc_layer = kwargs.get('rpc_layer', getattr(first, 'rpc_layer', None))

  def cluster_spec(self):
    return _merge([resolver.cluster_spec() for resolver in self._resolvers])

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    if task_type is None or task_id is None:
      return self._resolvers[0].master(rpc_layer=rpc_layer)
    address = self.cluster_spec().task_address(task_type, task_id)
    return _with_layer(address, rpc_layer or self.rpc_layer)

  def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
    return self._resolvers[0].num_accelerators(task_type, task_id, config_proto)

  @property
  def environment(self):
    return self._resolvers[0].environment


@export('distribute.cluster_resolver.TFConfigClusterResolver',
        'contrib.cluster_resolver.TFConfigClusterResolver')
class TFConfigClusterResolver(ClusterResolver):
  """The cluster of the environment variable TF_CONFIG. What the arguments say goes first."""

  def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None):
    self._task_type, self._task_id = task_type, task_id
    self._rpc_layer, self._environment = rpc_layer, environment

  @staticmethod
  def _task(name):
    return _tf_config().get('task', {}).get(name)

  @property
  def task_type(self):
    """The job of this process; None where nobody says."""
    return self._task('type') if self._task_type is None else str(self._task_type)

  @task_type.setter
  def task_type(self, task_type):
    self._task_type = task_type

  @property
  def task_id(self):
    """The index of this process in its job; None where nobody says."""
    index = self._task('index') if self._task_id is None else self._task_id
    return None if index is None else int(index)

  @task_id.setter
  def task_id(self, task_id):
    self._task_id = task_id

  @property
  def rpc_layer(self):
    """What addresses of masters begin with."""
    return _tf_config().get('rpc_layer') if self._rpc_layer is None else self._rpc_layer

  @rpc_layer.setter
  def rpc_layer(self, rpc_layer):
    self._rpc_layer = rpc_layer

  @property
  def environment(self):
    return self._environment

  def cluster_spec(self):
    return read_tf_config()[1]

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    spec = self.cluster_spec()
    if not spec or spec.jobs and [spec.task_indices(job) for job in spec.jobs] == [[0]]:
      return ''  # the only task, or none
    task_type = self.task_type if task_type is None else task_type
    task_id = self.task_id if task_id is None else task_id
    return _with_layer(spec.task_address(task_type, task_id), rpc_layer or self.rpc_layer)


@export('distribute.cluster_resolver.SlurmClusterResolver',
        'contrib.cluster_resolver.SlurmClusterResolver')
class SlurmClusterResolver(ClusterResolver):
  """The processes that one srun started. jobs, {'ps': 1, 'worker': 2}, take them in that order; all
  are workers without it. Those on one host take the ports from port_base on. GPUs are told apart
  by CUDA_VISIBLE_DEVICES, for other libraries of the program: Leat has none."""

  def __init__(self, jobs=None, port_base=8888, gpus_per_node=None, gpus_per_task=None,
               tasks_per_node=None, auto_set_gpu=True, rpc_layer='grpc'):
    for name in ('SLURM_PROCID', 'SLURM_STEP_NODELIST') + (
        () if tasks_per_node is not None else ('SLURM_STEP_TASKS_PER_NODE',)):
      if name not in os.environ:
        raise RuntimeError('%s not found in environment. Not running inside a SLURM step?' % name)
    options = ['port=%d' % port_base]
    if tasks_per_node is not None:
      options.append('tasks_per_node=%d' % int(tasks_per_node))
    assigned = find_cluster('slurm:' + ','.join(options))[0].num_tasks('worker')
    requested = sum(jobs.values()) if jobs else int(
        os.environ.get('SLURM_STEP_NUM_TASKS', assigned))
    if requested != assigned:
      raise RuntimeError('Requested %d tasks but only %d were assigned.' % (requested, assigned))
    options += ['%s=%d' % item for item in (jobs or {}).items()]
    self.rpc_layer = rpc_layer
    self._cluster_spec, self.task_type, self.task_id = find_cluster('slurm:' + ','.join(options))
    self._set_gpus(gpus_per_node, gpus_per_task, auto_set_gpu)

  def _set_gpus(self, gpus_per_node, gpus_per_task, auto_set_gpu):
    address = self._cluster_spec.task_address(self.task_type, self.task_id)
    host = address.rpartition(':')[0]
    here = sorted((a for job in self._cluster_spec.jobs
                   for a in self._cluster_spec.job_tasks(job) if a.rpartition(':')[0] == host),
                  key=lambda a: int(a.rpartition(':')[2]))
    visible = [g for g in os.environ.get('CUDA_VISIBLE_DEVICES', '').split(',') if g]
    per_node = len(visible) if gpus_per_node is None else gpus_per_node
    self._gpus_per_task = per_node // len(here) if gpus_per_task is None else gpus_per_task
    if auto_set_gpu and self._gpus_per_task:
      first = self._gpus_per_task * here.index(address)
      os.environ['CUDA_VISIBLE_DEVICES'] = ','.join(
          str(gpu) for gpu in range(first, first + self._gpus_per_task))

  def cluster_spec(self):
    return self._cluster_spec

  def get_task_info(self):
    """(job, index) of this process."""
    return self.task_type, self.task_id

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    if task_type is None or task_id is None:
      task_type, task_id = self.task_type, self.task_id
    address = self._cluster_spec.task_address(task_type, task_id)
    return _with_layer(address, rpc_layer or self.rpc_layer)

  def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
    return {'GPU': self._gpus_per_task} if self._gpus_per_task else {}


@export('distribute.cluster_resolver.KubernetesExecutableLocation')
class KubernetesExecutableLocation(enum.Enum):
  """Where a program is that asks Kubernetes for its pods."""
  WITHIN_CLUSTER = 0
  OFF_CLUSTER = 1


@export('distribute.cluster_resolver.KubernetesClusterResolver',
        'contrib.cluster_resolver.KubernetesClusterResolver')
class KubernetesClusterResolver(ClusterResolver):
  """The pods that Kubernetes has under some labels: {job: [labels of a selector]}. It is asked by
  the package `kubernetes`, which must be installed, or by override_client. Pods of a StatefulSet
  need nobody to ask: `leat launch --cluster kubernetes:...` knows their names."""

  def __init__(self, job_to_label_mapping=None, tf_server_port=8470, rpc_layer='grpc',
               override_client=None,
               executable_location=KubernetesExecutableLocation.WITHIN_CLUSTER):
    self._labels = job_to_label_mapping or {'worker': ['job-name=tensorflow']}
    self._port, self.rpc_layer = tf_server_port, rpc_layer
    self._client = override_client or self._connect(executable_location)

  @staticmethod
  def _connect(location):
    try:
      from kubernetes import client, config
    except ImportError:
      raise ImportError('The Kubernetes Python client must be installed before using the '
                        'Kubernetes Cluster Resolver: pip install kubernetes') from None
    if location == KubernetesExecutableLocation.WITHIN_CLUSTER:
      config.load_incluster_config()
    elif location == KubernetesExecutableLocation.OFF_CLUSTER:
      config.load_kube_config()
    else:
      raise ValueError('Illegal executable location provided: %r' % (location,))
    return client.CoreV1Api()

  def cluster_spec(self):
    """The ClusterSpec of the pods, by their names. RuntimeError where one does not run."""
    jobs = {}
    for job, selectors in self._labels.items():
      pods = [pod for selector in selectors for pod in sorted(
          self._client.list_pod_for_all_namespaces(label_selector=selector).items,
          key=lambda pod: pod.metadata.name)]
      for pod in pods:
        if pod.status.phase != 'Running':
          raise RuntimeError('Pod "%s" is not running; phase: "%s"' % (
              pod.metadata.name, pod.status.phase))
      jobs[job] = ['%s:%s' % (pod.status.host_ip, self._port) for pod in pods]
    return ClusterSpec(jobs)

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    task_type = self.task_type if task_type is None else task_type
    task_id = self.task_id if task_id is None else task_id
    if task_type is not None and task_id is not None:
      address = self.cluster_spec().task_address(task_type, task_id)
      return _with_layer(address, rpc_layer or self.rpc_layer)
    return ''
