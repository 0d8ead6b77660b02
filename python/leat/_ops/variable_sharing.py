"""How a variable is shared by several devices: when its copies are made equal, and how updates
become one."""
from __future__ import annotations

import enum

from leat._export import export


@export('VariableSynchronization')
class VariableSynchronization(enum.Enum):
  """When the copies of a variable on several devices are made equal."""
  AUTO, NONE, ON_WRITE, ON_READ = 0, 1, 2, 3


@export('VariableAggregation')
class VariableAggregation(enum.Enum):
  """How updates of several devices become one."""
  NONE, SUM, MEAN, ONLY_FIRST_REPLICA = 0, 1, 2, 3
  ONLY_FIRST_TOWER = 3


def shared_settings(synchronization, aggregation, trainable):
  """(synchronization, aggregation, trainable) with the defaults for those that are None: what is
  made equal when it is read is not trained."""
  synchronization = VariableSynchronization.AUTO if synchronization is None else synchronization
  aggregation = VariableAggregation.NONE if aggregation is None else aggregation
  if not isinstance(synchronization, VariableSynchronization):
    raise ValueError('Invalid variable synchronization mode: %s' % (synchronization,))
  if not isinstance(aggregation, VariableAggregation):
    raise ValueError('Invalid variable aggregation mode: %s' % (aggregation,))
  on_read = synchronization is VariableSynchronization.ON_READ
  if trainable is None:
    trainable = not on_read
  elif on_read and trainable:
    raise ValueError('Synchronization value can be set to VariableSynchronization.ON_READ only for '
                     'non-trainable variables. You have specified trainable=True and '
                     'synchronization=VariableSynchronization.ON_READ.')
  return synchronization, aggregation, trainable
