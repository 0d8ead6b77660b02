"""tf.distribute: strategies that run a model on one device.

A strategy says where variables are and runs a function once for each replica of a model. Here there
is one replica, on one device: MirroredStrategy and OneDeviceStrategy take one, and refuse several.
Programs that are written for strategies thus run as they do with TensorFlow on a machine with one
device; towers, SyncReplicasOptimizer and clusters (docs/cluster.md) serve several.

A thread is in one of two contexts. In a strategy's scope() it sees all replicas (cross-replica); in
a function that run() calls it sees its own (ReplicaContext). Without a strategy it is always in the
replica of the default one.
"""
from __future__ import annotations

import collections
import contextlib
import enum
import threading

from leat._export import export
from leat._graph import device as device_names
from leat._graph import graph as graphs
from leat._graph.conversion import constant_of
from leat._ops import math, nest


@export('distribute.ReduceOp')
class ReduceOp(enum.Enum):
  """How the values of replicas become one."""
  SUM, MEAN = 'SUM', 'MEAN'

  @staticmethod
  def from_variable_aggregation(aggregation):
    """The reduction of an aggregation of variables."""
    name = getattr(aggregation, 'name', str(aggregation))
    return ReduceOp.MEAN if 'MEAN' in name else ReduceOp.SUM


@export('distribute.InputReplicationMode')
class InputReplicationMode(enum.Enum):
  """For whom an input function is called: each worker has one input pipeline."""
  PER_WORKER, PER_REPLICA = 'PER_WORKER', 'PER_REPLICA'


@export('distribute.InputContext')
class InputContext:
  """What an input function is told of the pipelines beside its own."""

  def __init__(self, num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=1):
    self.num_input_pipelines, self.input_pipeline_id = num_input_pipelines, input_pipeline_id
    self.num_replicas_in_sync = num_replicas_in_sync

  def get_per_replica_batch_size(self, global_batch_size):
    """The part of a batch that one replica has; ValueError where it is no whole number."""
    if global_batch_size % self.num_replicas_in_sync:
      raise ValueError('The `global_batch_size` %r is not divisible by `num_replicas_in_sync` %r' %
                       (global_batch_size, self.num_replicas_in_sync))
    return global_batch_size // self.num_replicas_in_sync


# ---- The context of a thread ---------------------------------------------------------------------


class _Contexts(threading.local):
  def __init__(self):
    self.entered = []   # [(strategy, its replica's context or None)]


_contexts = _Contexts()


@contextlib.contextmanager
def _entered(strategy, replica):
  _contexts.entered.append((strategy, replica))
  try:
    yield strategy
  finally:
    _contexts.entered.pop()


def _current():
  if _contexts.entered:
    return _contexts.entered[-1]
  return _default, _default_replica


@export('distribute.get_strategy', 'contrib.distribute.get_strategy')
def get_strategy():
  """The strategy in whose scope the thread is; the default one outside of all."""
  return _current()[0]


@export('distribute.has_strategy', 'contrib.distribute.has_strategy')
def has_strategy():
  """Whether the thread is in the scope of a strategy that a program made."""
  return get_strategy() is not _default


@export('distribute.in_cross_replica_context', 'contrib.distribute.in_cross_replica_context')
def in_cross_replica_context():
  """Whether the thread sees all replicas."""
  return _current()[1] is None


@export('distribute.get_replica_context', 'contrib.distribute.get_replica_context')
def get_replica_context():
  """The ReplicaContext of the thread; None where it sees all replicas."""
  return _current()[1]


@export('distribute.get_loss_reduction', 'contrib.distribute.get_loss_reduction')
def get_loss_reduction():
  """How losses of replicas are to be added: the mean, as losses are means over a batch."""
  return ReduceOp.MEAN


@export('distribute.experimental_set_strategy')
def experimental_set_strategy(strategy):
  """Makes a strategy that of the thread from now on, outside of all scopes; None for the default
  one."""
  if len(_contexts.entered) > 1:
    raise RuntimeError('Must not be called inside a `tf.distribute.Strategy` scope.')
  _contexts.entered[:] = [] if strategy is None else [(strategy, None)]


@export('distribute.ReplicaContext', 'contrib.distribute.ReplicaContext')
class ReplicaContext:
  """What the replica of a model knows of its strategy."""

  def __init__(self, strategy, replica_id_in_sync_group=0):
    self._strategy, self._replica_id = strategy, replica_id_in_sync_group

  strategy = distribution_strategy = property(lambda self: self._strategy)
  num_replicas_in_sync = property(lambda self: self._strategy.num_replicas_in_sync)
  devices = property(lambda self: self._strategy.extended.worker_devices)

  @property
  def replica_id_in_sync_group(self):
    """The number of the replica, as a tensor."""
    return constant_of(self._replica_id)

  def merge_call(self, merge_fn, args=(), kwargs=None):
    """merge_fn(strategy, *args) once, for all replicas."""
    with _entered(self._strategy, None):
      return merge_fn(self._strategy, *args, **(kwargs or {}))

  def all_reduce(self, reduce_op, value, options=None):
    """The sum or mean of the replicas' values: of one replica the value."""
    del options
    _check_reduction(reduce_op)
    return nest.map_structure(lambda v: v, value)

  def __enter__(self):
    _contexts.entered.append((self._strategy, self))

  def __exit__(self, *error):
    _contexts.entered.pop()


def _check_reduction(reduce_op):
  name = reduce_op.upper() if isinstance(reduce_op, str) else reduce_op
  return ReduceOp(name)


# ---- Strategies ----------------------------------------------------------------------------------


class _Extended:
  """strategy.extended: the calls that libraries make."""

  def __init__(self, strategy):
    self._strategy = strategy
    self.worker_devices = self.parameter_devices = (strategy._device or '/device:CPU:0',)
    self.experimental_require_static_shapes = False

  def colocate_vars_with(self, colocate_with_variable):
    return graphs.get_default_graph().colocate_with(colocate_with_variable.op)

  def call_for_each_replica(self, fn, args=(), kwargs=None):
    return self._strategy.run(fn, args, kwargs)

  def reduce_to(self, reduce_op, value, destinations, options=None):
    del destinations, options
    _check_reduction(reduce_op)
    return value

  def batch_reduce_to(self, reduce_op, value_destination_pairs, options=None):
    del options
    _check_reduction(reduce_op)
    return [value for value, _ in value_destination_pairs]

  def update(self, var, fn, args=(), kwargs=None, group=True):
    del group
    return fn(var, *args, **(kwargs or {}))

  def update_non_slot(self, colocate_with, fn, args=(), kwargs=None, group=True):
    del colocate_with, group
    return fn(*args, **(kwargs or {}))

  def non_slot_devices(self, var_list):
    return min(var_list, key=lambda v: v.name) if self._strategy is _default \
        else self.worker_devices

  def read_var(self, v):
    return v.value() if hasattr(v, 'value') else v

  def broadcast_to(self, tensor, destinations):
    del destinations
    return tensor


@export('distribute.Strategy', 'contrib.distribute.DistributionStrategy')
class Strategy:
  """One replica of a model on one device; '' for the device that operations ask for themselves."""

  def __init__(self, device=''):
    self._device = device_names.canonical(device) if device else ''
    self._replica = ReplicaContext(self)
    self.extended = _Extended(self)
    self.cluster_resolver = None

  num_replicas_in_sync = property(lambda self: 1)
  worker_devices = property(lambda self: self.extended.worker_devices)
  parameter_devices = property(lambda self: self.extended.parameter_devices)

  @contextlib.contextmanager
  def scope(self):
    """The `with` in which variables are made for the strategy."""
    with _entered(self, None), self._placed():
      yield self

  @contextlib.contextmanager
  def replica(self):
    """The `with` in which the thread is the one replica."""
    with _entered(self, self._replica), self._placed():
      yield

  def _placed(self):
    return graphs.get_default_graph().device(self._device) if self._device \
        else contextlib.nullcontext()

  def run(self, fn, args=(), kwargs=None, options=None):
    """fn(*args, **kwargs) in each replica; gives what it gives."""
    del options
    with self.replica():
      return fn(*args, **(kwargs or {}))

  experimental_run_v2 = run

  def call_for_each_replica(self, fn, *args, **kwargs):
    return self.run(fn, args, kwargs)

  def experimental_run(self, fn, input_iterator=None):
    """fn of the next element of an iterator."""
    return self.run(fn, () if input_iterator is None else (input_iterator.get_next(),))

  def reduce(self, reduce_op, value, axis=None):
    """One value of those of all replicas; with an axis also over that dimension."""
    reduction = _check_reduction(reduce_op)
    if axis is None:
      return value
    over = math.reduce_sum if reduction == ReduceOp.SUM else math.reduce_mean
    return nest.map_structure(lambda v: over(v, axis), value)

  def experimental_local_results(self, value):
    """The values of the replicas of this process, a tuple."""
    return (value,)

  unwrap = experimental_local_results

  def group(self, value, name=None):
    from leat._ops import control
    return control.group(value, name=name)

  def experimental_distribute_dataset(self, dataset, options=None):
    """The dataset of which each replica gets its part: for one the dataset."""
    del options
    return dataset

  def distribute_datasets_from_function(self, dataset_fn, options=None):
    """The dataset that dataset_fn(InputContext) gives."""
    del options
    return dataset_fn(InputContext())

  experimental_distribute_datasets_from_function = distribute_datasets_from_function

  def distribute_dataset(self, dataset_fn):
    """The dataset that a function gives."""
    return dataset_fn() if callable(dataset_fn) else dataset_fn

  def make_dataset_iterator(self, dataset):
    """An iterator over the dataset, with an initializer."""
    return dataset.make_initializable_iterator()

  def make_input_fn_iterator(self, input_fn, replication_mode=InputReplicationMode.PER_WORKER):
    """An iterator over the dataset that input_fn(InputContext) gives."""
    del replication_mode
    return input_fn(InputContext()).make_initializable_iterator()

  def experimental_make_numpy_dataset(self, numpy_input, session=None):
    """A dataset of the slices of arrays."""
    del session
    from leat._data.dataset import Dataset
    return Dataset.from_tensor_slices(numpy_input)

  def broadcast(self, tensor, destinations=None):
    return self.extended.broadcast_to(tensor, destinations)

  def update_config_proto(self, config_proto):
    return config_proto

  def __deepcopy__(self, memo):
    return self   # a RunConfig that is copied keeps its strategy


@export('distribute.OneDeviceStrategy', 'contrib.distribute.OneDeviceStrategy')
class OneDeviceStrategy(Strategy):
  """A strategy that puts everything on the device."""

  def __init__(self, device):
    if not device:
      raise ValueError('device of OneDeviceStrategy is %r, must be the name of a device' % (
          device,))
    super().__init__(device)


def _one_device(what, devices, num_gpus):
  """The only device of a list; of this machine's GPUs where there is no list; else the CPU."""
  if devices is None:
    from leat._platform.testing import gpu_device_name
    if num_gpus is None or num_gpus == 1:
      return gpu_device_name() or '/device:CPU:0'
    devices = ['/device:GPU:%d' % n for n in range(num_gpus)] or ['/device:CPU:0']
  devices = [devices] if isinstance(devices, str) else list(devices)
  if len(devices) != 1:
    raise NotImplementedError('%s has the devices %s, must be one: models are not replicated over '
                              'devices' % (what, devices))
  return devices[0]


@export('distribute.MirroredStrategy')
class MirroredStrategy(Strategy):
  """A strategy for all devices of a machine, of which there may be one. NotImplementedError for
  more."""

  def __init__(self, devices=None, cross_device_ops=None):
    del cross_device_ops
    super().__init__(_one_device(type(self).__name__, devices, None))


@export('contrib.distribute.MirroredStrategy')
class MirroredStrategyV1(MirroredStrategy):
  """MirroredStrategy with the arguments of tf.contrib."""

  def __init__(self, devices=None, num_gpus=None, num_gpus_per_worker=None, cross_device_ops=None,
               auto_shard_dataset=False, cross_tower_ops=None):
    del cross_device_ops, auto_shard_dataset, cross_tower_ops
    count = num_gpus if num_gpus is not None else num_gpus_per_worker
    Strategy.__init__(self, _one_device('MirroredStrategy', devices, count))


@export('contrib.distribute.DistributeConfig')
class DistributeConfig(collections.namedtuple('DistributeConfig', [
    'train_distribute', 'eval_distribute', 'remote_cluster'])):
  """The strategies of a RunConfig (experimental_distribute) for training and evaluation."""
  __slots__ = ()

  def __new__(cls, train_distribute=None, eval_distribute=None, remote_cluster=None):
    return super().__new__(cls, train_distribute, eval_distribute, remote_cluster)


_default = Strategy()
_default_replica = _default._replica
