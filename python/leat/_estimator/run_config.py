"""RunConfig: where an estimator runs and what it writes when. The environment variable TF_CONFIG, a
JSON object, says which task of which cluster this process is."""
from __future__ import annotations

import copy

from leat._export import export
from leat._graph import message
from leat._estimator import arguments
from leat._train import cluster_resolver

USE_DEFAULT = object()


class TaskType:
  """The jobs of a cluster."""
  MASTER, PS, WORKER, CHIEF, EVALUATOR = 'master', 'ps', 'worker', 'chief', 'evaluator'


# Property, rule that a value which is not None must keep, and the rule in words.
_RULES = (
    ('model_dir', bool, 'model_dir should be non-empty'),
    ('save_summary_steps', lambda n: n >= 0, 'save_summary_steps should be >= 0'),
    ('save_checkpoints_steps', lambda n: n >= 0, 'save_checkpoints_steps should be >= 0'),
    ('save_checkpoints_secs', lambda n: n >= 0, 'save_checkpoints_secs should be >= 0'),
    ('session_config', lambda c: isinstance(c, message.of('ConfigProto')),
     'session_config must be instance of ConfigProto'),
    ('keep_checkpoint_max', lambda n: n >= 0, 'keep_checkpoint_max should be >= 0'),
    ('keep_checkpoint_every_n_hours', lambda n: n > 0,
     'keep_checkpoint_every_n_hours should be > 0'),
    ('log_step_count_steps', lambda n: n > 0, 'log_step_count_steps should be > 0'),
    ('tf_random_seed', lambda n: isinstance(n, int) and not isinstance(n, bool),
     'tf_random_seed must be integer.'),
    ('device_fn', lambda f: callable(f) and arguments.names(f) == ('op',),
     'device_fn must be callable with exactly one argument "op".'),
    ('protocol', lambda p: p in ('grpc', 'grpc+verbs'), 'protocol should be grpc or grpc+verbs'))
PROPERTIES = ('model_dir', 'tf_random_seed', 'save_summary_steps', 'save_checkpoints_steps',
               'save_checkpoints_secs', 'session_config', 'keep_checkpoint_max',
               'keep_checkpoint_every_n_hours', 'log_step_count_steps', 'train_distribute',
               'device_fn', 'protocol', 'eval_distribute', 'experimental_distribute')


def check(values):
  for name, rule, words in _RULES:
    value = values.get(name)
    if value is not None and not rule(value):
      raise ValueError('%s, is %r' % (words, value))
  for name in ('train_distribute', 'eval_distribute'):
    value = values.get(name)
    if value is not None and getattr(value, 'num_replicas_in_sync', None) != 1:
      raise ValueError('%s is %r, must be a tf.distribute.Strategy of one replica' % (name, value))


# ---- The cluster --------------------------------------------------------------------------------


def _task_of(cluster, task):
  """(type, index) of this task in a cluster."""
  kind, index = task.get('type'), task.get('index')
  if not kind:
    raise ValueError('If "cluster" is set in TF_CONFIG, task type must be set.')
  if index is None:
    raise ValueError('If "cluster" is set in TF_CONFIG, task index must be set.')
  index = int(index)
  if index < 0:
    raise ValueError('Task index must be non-negative number.')
  jobs = cluster.as_dict()
  for job in (TaskType.CHIEF, TaskType.MASTER):
    if len(jobs.get(job, ())) > 1:
      raise ValueError('The "cluster" in TF_CONFIG must have only one "%s" node.' % job)
  if TaskType.MASTER in jobs:
    if TaskType.CHIEF in jobs:
      raise ValueError('If `master` node exists in `cluster`, job `chief` is not supported.')
    if kind == TaskType.EVALUATOR:
      raise ValueError('If `master` node exists in `cluster`, task_type `evaluator` is not '
                       'supported.')
  elif TaskType.CHIEF not in jobs:
    raise ValueError('If "cluster" is set in TF_CONFIG, it must have one "chief" node.')
  if kind != TaskType.EVALUATOR:
    if kind not in jobs:
      raise ValueError('%s is not a valid task_type in the cluster_spec:\n%s\n\nNote that these '
                       'values may be coming from the TF_CONFIG environment variable.' % (
                           kind, cluster))
    if not 0 <= index < len(jobs[kind]):
      raise ValueError('%d is not a valid task_id for task_type %s in the cluster_spec:\n%s\n\n'
                       'Note that these value may be coming from the TF_CONFIG environment '
                       'variable.' % (index, kind, cluster))
  return kind, index


def _global_id(jobs, kind, index):
  """The number of a task among all: chief, master, workers, servers; None for an evaluator."""
  if kind == TaskType.EVALUATOR:
    return None
  order = [TaskType.CHIEF, TaskType.MASTER, TaskType.WORKER, TaskType.PS]
  before = order[:order.index(kind)] if kind in order else order + sorted(
      j for j in jobs if j not in order and j < kind)
  return sum(len(jobs.get(job, ())) for job in before) + index


def default_session_config(kind=None, index=None):
  """The ConfigProto of a session: a task of a cluster talks to the servers and itself alone."""
  config = message.of('ConfigProto')(allow_soft_placement=True)
  # Gradients of whole models gain nothing from a second round of the optimizer.
  config.graph_options.rewrite_options.meta_optimizer_iterations = 1
  if kind == TaskType.MASTER:
    config.device_filters.extend(['/job:ps', '/job:master'])
  elif kind == TaskType.CHIEF:
    config.device_filters.extend(['/job:ps', '/job:chief'])
  elif kind == TaskType.WORKER:
    config.device_filters.extend(['/job:ps', '/job:worker/task:%d' % index])
  elif kind == TaskType.PS:
    config.device_filters.extend(['/job:ps', '/job:worker', '/job:chief', '/job:master'])
  return config


@export('estimator.RunConfig')
class RunConfig:
  """The settings of an estimator. Checkpoints are written every save_checkpoints_secs, 600 seconds
  unless something else is said, or every save_checkpoints_steps."""

  def __init__(self, model_dir=None, tf_random_seed=None, save_summary_steps=100,
               save_checkpoints_steps=USE_DEFAULT, save_checkpoints_secs=USE_DEFAULT,
               session_config=None, keep_checkpoint_max=5, keep_checkpoint_every_n_hours=10000,
               log_step_count_steps=100, train_distribute=None, device_fn=None, protocol=None,
               eval_distribute=None, experimental_distribute=None):
    if save_checkpoints_steps is USE_DEFAULT and save_checkpoints_secs is USE_DEFAULT:
      save_checkpoints_steps, save_checkpoints_secs = None, 600
    elif save_checkpoints_secs is USE_DEFAULT:
      save_checkpoints_secs = None
    elif save_checkpoints_steps is USE_DEFAULT:
      save_checkpoints_steps = None
    elif save_checkpoints_steps is not None and save_checkpoints_secs is not None:
      raise ValueError('`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.')
    environment, cluster_spec = cluster_resolver.read_tf_config()
    self._init_cluster(environment, cluster_spec)
    values = locals()
    self._values = {name: values[name] for name in PROPERTIES}
    for side in ('train', 'eval'):   # experimental_distribute says both at once
      chosen = getattr(experimental_distribute, side + '_distribute', None)
      if chosen is not None:
        self._values[side + '_distribute'] = chosen
    self._values['model_dir'] = self._model_dir(environment, model_dir)
    if session_config is None and self._cluster_spec:
      self._values['session_config'] = default_session_config(self._task_type, self._task_id)
    check(self._values)

  @staticmethod
  def _model_dir(environment, model_dir):
    if model_dir == '':
      raise ValueError('model_dir should be non-empty')
    other = environment.get('model_dir')
    if other == '':
      raise ValueError('model_dir in TF_CONFIG should be non-empty.')
    if other and model_dir and other != model_dir:
      raise ValueError('`model_dir` provided in RunConfig construct, if set, must have the same '
                       'value as the model_dir in TF_CONFIG. model_dir: %s\n'
                       'TF_CONFIG["model_dir"]: %s.\n' % (model_dir, other))
    return model_dir or other

  def _init_cluster(self, environment, cluster_spec):
    self._cluster_spec = cluster_spec
    self._service = environment.get('service')
    if self._service is not None and not isinstance(self._service, dict):
      raise TypeError('If "service" is set in TF_CONFIG, it must be a dict. Given %s' %
                      type(self._service))
    task = environment.get('task', {})
    session, evaluation = environment.get('session_master'), environment.get('eval_session_master')
    if self._cluster_spec:
      self._task_type, self._task_id = _task_of(self._cluster_spec, task)
      if evaluation and self._task_type not in (TaskType.EVALUATOR, TaskType.MASTER):
        raise ValueError('Key (eval_session_master) should not be set for task type other than '
                         'Evaluator and Master.')
      jobs = self._cluster_spec.as_dict()
      if self._task_type == TaskType.EVALUATOR:
        self._master = ''
        self._num_ps_replicas = self._num_worker_replicas = 0
      else:
        self._master = session or (
            '' if len(jobs) == 1 and len(next(iter(jobs.values()))) == 1 else
            'grpc://' + jobs[self._task_type][self._task_id])
        self._num_ps_replicas = len(jobs.get(TaskType.PS, ()))
        self._num_worker_replicas = sum(len(jobs.get(job, ())) for job in (
            TaskType.WORKER, TaskType.CHIEF, TaskType.MASTER))
      self._evaluation_master = evaluation or ''
      self._is_chief = self._task_type in (TaskType.CHIEF, TaskType.MASTER)
      self._global_id_in_cluster = _global_id(jobs, self._task_type, self._task_id)
      return
    self._task_type, self._task_id = task.get('type', TaskType.WORKER), int(task.get('index', 0))
    if self._task_type != TaskType.WORKER:
      raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
    if self._task_id != 0:
      raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')
    self._master, self._evaluation_master = session or '', evaluation or ''
    self._is_chief, self._num_ps_replicas, self._num_worker_replicas = True, 0, 1
    self._global_id_in_cluster = 0

  cluster_spec = property(lambda self: self._cluster_spec)
  task_type = property(lambda self: self._task_type)
  task_id = property(lambda self: self._task_id)
  global_id_in_cluster = property(lambda self: self._global_id_in_cluster)
  master = property(lambda self: self._master)
  evaluation_master = property(lambda self: self._evaluation_master)
  is_chief = property(lambda self: self._is_chief)
  num_ps_replicas = property(lambda self: self._num_ps_replicas)
  num_worker_replicas = property(lambda self: self._num_worker_replicas)
  service = property(lambda self: self._service)

  def replace(self, **kwargs):
    """A copy with other settings. To set one of the two save_checkpoints_* takes the other away."""
    for name in kwargs:
      if name not in PROPERTIES:
        raise ValueError('Replacing %s is not supported. Allowed properties are %s.' % (
            name, list(PROPERTIES)))
    if kwargs.get('model_dir', None) == '':
      raise ValueError('model_dir should be non-empty')
    both = ('save_checkpoints_steps', 'save_checkpoints_secs')
    if all(kwargs.get(name) is not None for name in both):
      raise ValueError('`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set.')
    new = copy.copy(self)
    new._values = dict(self._values)
    for name, other in (both, both[::-1]):
      if name in kwargs:
        new._values[other] = None
    new._values.update(kwargs)
    check(new._values)
    return new


def _setting(name):
  return property(lambda self: self._values[name])


for _name in PROPERTIES:
  setattr(RunConfig, _name, _setting(_name))
