"""CrossShardOptimizer and the calls that programs make around code for TPUs, for one shard: sums
over shards are the values themselves. What only a TPU could do is refused where it is called."""
from __future__ import annotations

import contextlib

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import errors
from leat._ops import array, math, variable_scope
from leat._ops.losses import Reduction
from leat._platform import log
from leat._train.hook import SessionRunHook
from leat._train.optimizer import Optimizer, WrappingOptimizer


@export('contrib.tpu.CrossShardOptimizer', 'tpu.CrossShardOptimizer')
class CrossShardOptimizer(WrappingOptimizer):
  """An optimizer that adds the gradients of all shards before it gives them to another one. There
  is one shard here, so that it is the other one under another name."""

  def __init__(self, opt, reduction=Reduction.MEAN, name='CrossShardOptimizer',
               group_assignment=None):
    if reduction not in (Reduction.SUM, Reduction.MEAN):
      raise ValueError('Unsupported reduction: %s.' % reduction)
    if not isinstance(opt, Optimizer):
      raise TypeError('CrossShardOptimizer only works with tf.training.Optimizer and not Keras '
                      'Optimizer, is %r' % (opt,))
    super().__init__(opt, False, name)
    self._reduction, self._group_assignment = reduction, group_assignment

  def compute_gradients(self, loss, var_list=None, **kwargs):
    log.warning('CrossShardOptimizer should be used within a tpu_shard_context, but got unset '
                'number_of_shards. Assuming 1.')
    return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)


@export('contrib.tpu.cross_replica_sum', 'tpu.cross_replica_sum')
def cross_replica_sum(x, group_assignment=None, name=None):
  """The sum over all replicas: of one replica x."""
  del group_assignment
  return array.identity(x, name=name)


@export('contrib.tpu.outside_compilation', 'tpu.outside_compilation')
def outside_compilation(computation, *args, **kwargs):
  """computation(*args): what runs beside a TPU runs beside everything else here."""
  return computation(*args, **kwargs)


@export('contrib.tpu.bfloat16_scope', 'tpu.bfloat16_scope')
@contextlib.contextmanager
def bfloat16_scope(name=None):
  """A variable scope in which variables that are asked for as bfloat16 are stored as float32 and
  given as bfloat16."""
  def getter(inner, name, shape, dtype, *args, **kwargs):
    if dtype != dtypes.bfloat16:
      return inner(name, shape, dtype, *args, **kwargs)
    return math.cast(inner(name, shape, dtypes.float32, *args, **kwargs), dtypes.bfloat16)
  with variable_scope.variable_scope('' if name is None else name, custom_getter=getter) as scope:
    yield scope


@export('contrib.tpu.AsyncCheckpointSaverHook')
class AsyncCheckpointSaverHook(SessionRunHook):
  """A CheckpointSaverHook; checkpoints are written in the step after which they are due."""

  def __new__(cls, checkpoint_dir, save_secs=None, save_steps=None, saver=None,
              checkpoint_basename='model.ckpt', scaffold=None, listeners=None):
    from leat._train.saver_hooks import CheckpointSaverHook
    return CheckpointSaverHook(checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename,
                               scaffold, listeners)


def _refused(what):
  def refuse(*unused_args, **unused):
    raise errors.UnimplementedError(None, None, 'tpu.%s: there is no code for TPUs here' % what)
  refuse.__doc__ = 'UnimplementedError: there is no code for TPUs here.'
  return refuse


initialize_system, shutdown_system = _refused('initialize_system'), _refused('shutdown_system')
replicate, rewrite, shard = _refused('replicate'), _refused('rewrite'), _refused('shard')
batch_parallel = _refused('batch_parallel')
EXPORTS = {prefix + 'tpu.' + name: name for prefix in ('', 'contrib.') for name in (
    'initialize_system', 'shutdown_system', 'replicate', 'rewrite', 'shard', 'batch_parallel')}
