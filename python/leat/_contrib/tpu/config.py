"""tf.contrib.tpu's settings: TPUConfig and a RunConfig that holds one. They are kept for the model
function; without a TPU nothing else reads them."""
from __future__ import annotations

import collections

from leat._export import export
from leat._estimator import run_config as core


@export('contrib.tpu.InputPipelineConfig', 'estimator.tpu.InputPipelineConfig')
class InputPipelineConfig:
  """For whom the input function is called."""
  PER_SHARD_V1, PER_HOST_V1, PER_HOST_V2, BROADCAST, SLICED = 1, 2, 3, 4, 5


@export('contrib.tpu.TPUConfig', 'estimator.tpu.TPUConfig')
class TPUConfig(collections.namedtuple('TPUConfig', [
    'iterations_per_loop', 'num_shards', 'num_cores_per_replica', 'per_host_input_for_training',
    'tpu_job_name', 'initial_infeed_sleep_secs', 'input_partition_dims',
    'eval_training_input_configuration', 'experimental_host_call_every_n_steps',
    'experimental_allow_per_host_v2_parallel_get_next',
    'experimental_feed_hook'])):
  """How a TPU runs a model: iterations_per_loop steps without coming back, in num_shards parts."""

  def __new__(cls, iterations_per_loop=2, num_shards=None, num_cores_per_replica=None,
              per_host_input_for_training=True, tpu_job_name=None, initial_infeed_sleep_secs=None,
              input_partition_dims=None,
              eval_training_input_configuration=InputPipelineConfig.PER_HOST_V1,
              experimental_host_call_every_n_steps=1,
              experimental_allow_per_host_v2_parallel_get_next=False, experimental_feed_hook=None):
    for name, value in (('iterations_per_loop', iterations_per_loop), ('num_shards', num_shards)):
      if value is not None and (not isinstance(value, int) or value <= 0):
        raise ValueError('TPUConfig %s must be positive, is %r' % (name, value))
    if initial_infeed_sleep_secs is not None and initial_infeed_sleep_secs < 0:
      raise ValueError('TPUConfig initial_infeed_sleep_secs must be at least 0, is %r' % (
          initial_infeed_sleep_secs,))
    if num_cores_per_replica is not None and num_cores_per_replica not in (1, 2, 4, 8, 16, 32, 64,
                                                                          128):
      raise ValueError('num_cores_per_replica must be 1, 2, 4, 8, 16, 32, 64, 128; got %s' % (
          num_cores_per_replica,))
    if per_host_input_for_training is True:
      per_host_input_for_training = InputPipelineConfig.PER_HOST_V1
    elif per_host_input_for_training is False:
      per_host_input_for_training = InputPipelineConfig.PER_SHARD_V1
    return super().__new__(
        cls, iterations_per_loop, num_shards, num_cores_per_replica, per_host_input_for_training,
        tpu_job_name, initial_infeed_sleep_secs, input_partition_dims,
        eval_training_input_configuration, experimental_host_call_every_n_steps,
        experimental_allow_per_host_v2_parallel_get_next, experimental_feed_hook)


@export('contrib.tpu.RunConfig', 'estimator.tpu.RunConfig')
class RunConfig(core.RunConfig):
  """tf.estimator's RunConfig with a TPUConfig; `cluster` is a cluster resolver, which is asked for
  the master only by a session that is to run there."""

  def __init__(self, tpu_config=None, evaluation_master=None, master=None, cluster=None, **kwargs):
    super().__init__(**kwargs)
    if cluster is not None and master is not None:
      raise ValueError('Both cluster and master are set.')
    self._tpu_config, self._cluster = tpu_config or TPUConfig(), cluster
    if master is not None:
      self._master = master
    if evaluation_master is not None:
      self._evaluation_master = evaluation_master
    elif self._task_type != core.TaskType.EVALUATOR:
      self._evaluation_master = self._master

  tpu_config = property(lambda self: self._tpu_config)
  cluster = property(lambda self: self._cluster)
  evaluation_master = property(lambda self: self._evaluation_master)
  master = property(lambda self: self._master)

  def replace(self, **kwargs):
    """A copy with other settings, the TPUConfig among them."""
    tpu_config = kwargs.pop('tpu_config', self._tpu_config)
    new = super().replace(**kwargs)
    new._tpu_config = tpu_config
    return new
