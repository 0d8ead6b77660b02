"""Strategies for replica_device_setter: on which task of the parameter servers a variable lies."""
from __future__ import annotations

import hashlib

from leat._export import export


@export('contrib.training.RandomStrategy')
class RandomStrategy:
  """A task that follows from the name of the operation and a seed, the same in each process."""

  def __init__(self, num_ps_tasks, seed=0):
    self._num_tasks, self._seed = num_ps_tasks, seed

  def __call__(self, op):
    key = '%s_%d' % (op.name, self._seed)
    return int(hashlib.md5(key.encode('utf-8')).hexdigest(), 16) % self._num_tasks


@export('contrib.training.GreedyLoadBalancingStrategy')
class GreedyLoadBalancingStrategy:
  """The task that has the least load; `load_fn(op)` says how much an operation adds."""

  def __init__(self, num_tasks, load_fn):
    self._load_fn, self._loads = load_fn, [0.0] * num_tasks

  def __call__(self, op):
    task = min(range(len(self._loads)), key=self._loads.__getitem__)
    self._loads[task] += self._load_fn(op)
    return task


@export('contrib.training.byte_size_load_fn')
def byte_size_load_fn(op):
  """The size of an operation's only output in bytes; that of one element where the shape is not
  known."""
  if len(op.outputs) != 1:
    raise ValueError('Op %s must have a single output' % op)
  output = op.outputs[0]
  count = output.get_shape().num_elements() if output.get_shape().is_fully_defined() else 1
  return output.dtype.base_dtype.size * count
