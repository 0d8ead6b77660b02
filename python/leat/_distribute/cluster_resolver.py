"""Descriptions of clusters: one given by hand, that of TF_CONFIG, and a TPU's, which nothing here
can reach."""
from __future__ import annotations

import json
import os

from leat._export import export
from leat._graph import errors
from leat._train.server import ClusterSpec


@export('distribute.cluster_resolver.ClusterResolver', 'contrib.cluster_resolver.ClusterResolver')
class ClusterResolver:
  """The parent: cluster_spec() and master() are what a description must say."""
  task_type = task_id = environment = None

  def cluster_spec(self):
    raise NotImplementedError()

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    raise NotImplementedError()


def _address(cluster, task_type, task_id, rpc_layer):
  address = cluster.task_address(task_type, task_id)
  return '%s://%s' % (rpc_layer, address) if rpc_layer else address


@export('distribute.cluster_resolver.SimpleClusterResolver',
        'contrib.cluster_resolver.SimpleClusterResolver')
class SimpleClusterResolver(ClusterResolver):
  """A ClusterSpec, and where its master is."""

  def __init__(self, cluster_spec, master='', task_type=None, task_id=None, environment='',
               num_accelerators=None, rpc_layer=None):
    if not isinstance(cluster_spec, ClusterSpec):
      raise TypeError('cluster_spec must be a `tf.train.ClusterSpec`.')
    self._cluster, self._master, self._rpc_layer = cluster_spec, master, rpc_layer
    self.task_type, self.task_id, self.environment = task_type, task_id, environment
    self._num_accelerators = num_accelerators

  rpc_layer = property(lambda self: self._rpc_layer)

  def cluster_spec(self):
    return self._cluster

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    """The master that was given, or the address of a task."""
    if task_type is not None and task_id is not None:
      return _address(self._cluster, task_type, task_id, rpc_layer or self._rpc_layer)
    return self._master

  def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
    """{type of device: how many of them a task has}."""
    del task_type, task_id, config_proto
    return self._num_accelerators or {}


@export('distribute.cluster_resolver.TFConfigClusterResolver',
        'contrib.cluster_resolver.TFConfigClusterResolver')
class TFConfigClusterResolver(ClusterResolver):
  """The cluster and the task that the environment variable TF_CONFIG says."""

  def __init__(self, task_type=None, task_id=None, rpc_layer=None, environment=None):
    self._given = {'type': task_type, 'index': task_id}
    self._rpc_layer, self._environment = rpc_layer, environment

  @staticmethod
  def _config():
    return json.loads(os.environ.get('TF_CONFIG') or '{}')

  def _task(self, key):
    given = self._given[key]
    return self._config().get('task', {}).get(key) if given is None else given

  task_type = property(lambda self: self._task('type'))

  @property
  def task_id(self):
    found = self._task('index')
    return None if found is None else int(found)

  environment = property(lambda self: self._environment or self._config().get('environment', ''))
  rpc_layer = property(lambda self: self._rpc_layer or self._config().get('rpc_layer', 'grpc'))

  def cluster_spec(self):
    return ClusterSpec(self._config().get('cluster', {}))

  def master(self, task_type=None, task_id=None, rpc_layer=None):
    """The address of the task; '' without a cluster, or for one task."""
    cluster = self.cluster_spec()
    jobs = cluster.as_dict()
    if not jobs or len(jobs) == 1 and len(next(iter(jobs.values()))) == 1:
      return ''
    task_type = self.task_type if task_type is None else task_type
    task_id = self.task_id if task_id is None else task_id
    return _address(cluster, task_type, task_id, rpc_layer or self.rpc_layer)

  def num_accelerators(self, task_type=None, task_id=None, config_proto=None):
    del task_type, task_id, config_proto
    return {}


@export('contrib.cluster_resolver.TPUClusterResolver',
        'distribute.cluster_resolver.TPUClusterResolver')
class TPUClusterResolver(ClusterResolver):
  """The name of a TPU. It can be made, as programs do before they look whether they shall use it;
  to ask it for anything is an UnimplementedError."""

  def __init__(self, tpu=None, zone=None, project=None, job_name='worker', coordinator_name=None,
               coordinator_address=None, credentials='default', service=None, discovery_url=None,
               **kwargs):
    del zone, project, credentials, service, discovery_url, kwargs
    self._tpu, self.task_type = tpu, job_name
    self._coordinator = coordinator_name, coordinator_address
    self.task_id = 0

  def _refuse(self, *unused_args, **unused):
    raise errors.UnimplementedError(
        None, None, 'TPU %r cannot be reached: there is no code for TPUs here; a TPUEstimator '
        'with use_tpu=False runs on other devices' % (self._tpu,))

  cluster_spec = master = get_master = get_job_name = num_accelerators = _refuse
