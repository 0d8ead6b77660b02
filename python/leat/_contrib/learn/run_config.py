"""contrib.learn.RunConfig: the settings of an estimator of contrib.learn. TF_CONFIG says which task
of which cluster this process is; it may lack parts that tf.estimator wants."""
from __future__ import annotations

import copy

from leat._export import export
from leat._graph import message
from leat._estimator import run_config as core
from leat._train import cluster_resolver
from leat._train.server import ClusterSpec


@export('contrib.learn.TaskType')
class TaskType:
  """The jobs of a cluster."""
  MASTER, PS, WORKER = 'master', 'ps', 'worker'


class Environment:
  """Where a process runs."""
  CLOUD, LOCAL, GOOGLE = 'cloud', 'local', 'google'


def _checked_task(cluster, kind, index):
  jobs = cluster.as_dict()
  if kind and kind not in jobs:
    raise ValueError('%s is not a valid task_type in the cluster_spec:\n%s\n\nNote that these '
                     'values may be coming from the TF_CONFIG environment variable.' % (
                         kind, cluster))
  if kind and not 0 <= index < len(jobs[kind]):
    raise ValueError('%d is not a valid task_id for task_type %s in the cluster_spec:\n%s' % (
        index, kind, cluster))


@export('contrib.learn.RunConfig')
class RunConfig(core.RunConfig):
  """The settings; those that tf.estimator's RunConfig has too mean the same."""

  def __init__(self, master=None, num_cores=0, log_device_placement=False, gpu_memory_fraction=1,
               tf_random_seed=None, save_summary_steps=100, save_checkpoints_secs=core.USE_DEFAULT,
               save_checkpoints_steps=None, keep_checkpoint_max=5,
               keep_checkpoint_every_n_hours=10000, log_step_count_steps=100, protocol=None,
               evaluation_master='', model_dir=None, session_config=None,
               session_creation_timeout_secs=7200):
    if save_checkpoints_secs is core.USE_DEFAULT:
      save_checkpoints_secs = 600 if save_checkpoints_steps is None else None
    environment, self._cluster_spec = cluster_resolver.read_tf_config()
    task = environment.get('task', {})
    self._task_type, self._task_id = task.get('type'), int(task.get('index', 0))
    jobs = self._cluster_spec.as_dict()
    if self._cluster_spec:
      _checked_task(self._cluster_spec, self._task_type, self._task_id)
    self._environment = environment.get('environment', Environment.LOCAL)
    self._master = master if master is not None else self._default_master(jobs)
    self._evaluation_master = evaluation_master or ''
    self._num_ps_replicas = len(jobs.get(TaskType.PS, ()))
    self._num_worker_replicas = len(jobs.get(TaskType.WORKER, ())) + len(
        jobs.get(TaskType.MASTER, ()))
    self._is_chief = self._task_type in (None, TaskType.MASTER) or \
        self._task_type == TaskType.WORKER and self._task_id == 0 and TaskType.MASTER not in jobs
    self._service, self._global_id_in_cluster = None, self._task_id
    self._tf_config = session_config or self._session_config(
        num_cores, log_device_placement, gpu_memory_fraction)
    self._session_creation_timeout_secs = session_creation_timeout_secs
    self._values = dict.fromkeys(core.PROPERTIES)
    self._values.update(
        model_dir=self._model_dir(environment, model_dir), tf_random_seed=tf_random_seed,
        save_summary_steps=save_summary_steps, save_checkpoints_secs=save_checkpoints_secs,
        save_checkpoints_steps=save_checkpoints_steps, keep_checkpoint_max=keep_checkpoint_max,
        keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours, protocol=protocol,
        log_step_count_steps=log_step_count_steps, session_config=session_config)
    core.check(self._values)

  def _default_master(self, jobs):
    """The address of this task; '' where it is the only one or has no job."""
    if not self._task_type or sum(map(len, jobs.values())) <= 1:
      return ''
    return 'grpc://' + jobs[self._task_type][self._task_id]

  @staticmethod
  def _session_config(num_cores, log_device_placement, gpu_memory_fraction):
    config = message.of('ConfigProto')(
        log_device_placement=log_device_placement, inter_op_parallelism_threads=num_cores,
        intra_op_parallelism_threads=num_cores)
    config.gpu_options.per_process_gpu_memory_fraction = gpu_memory_fraction
    return config

  environment = property(lambda self: self._environment)
  tf_config = property(lambda self: self._tf_config)
  session_creation_timeout_secs = property(lambda self: self._session_creation_timeout_secs)

  def uid(self, whitelist=None):
    """A text that is the same for equal settings; those in the whitelist do not count."""
    left_out = {n.lstrip('_') for n in (
        whitelist if whitelist is not None else ['cluster_spec', 'task_type', 'task_id', 'master',
                                                 'environment', 'is_chief', 'evaluation_master',
                                                 'num_ps_replicas', 'num_worker_replicas'])}
    found = {k.lstrip('_'): v for k, v in self.__dict__.items() if k != '_values'}
    found.update(self._values)
    return ', '.join('%s=%r' % (k, v.as_dict() if isinstance(v, ClusterSpec) else v)
                     for k, v in sorted(found.items()) if k not in left_out)

  def get_task_id(self):
    return self._task_id

  def __deepcopy__(self, memo):
    new = copy.copy(self)
    new._values = dict(self._values)
    return new
