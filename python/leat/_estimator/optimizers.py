"""Optimizers of canned models: by their name, by a function, or themselves."""
from __future__ import annotations

from leat._train import optimizers as found
from leat._train.optimizer import Optimizer

_BY_NAME = {'Adagrad': found.AdagradOptimizer, 'Adam': found.AdamOptimizer,
            'Ftrl': found.FtrlOptimizer, 'RMSProp': found.RMSPropOptimizer,
            'SGD': found.GradientDescentOptimizer}


def instance(optimizer, learning_rate=None):
  """The Optimizer that is meant; one by its name has that learning rate."""
  if isinstance(optimizer, str):
    if optimizer not in _BY_NAME:
      raise ValueError('Unsupported optimizer name: %s. Supported names are: %s' % (
          optimizer, tuple(sorted(_BY_NAME))))
    if learning_rate is None:
      raise ValueError('learning_rate must be specified when opt is string.')
    return _BY_NAME[optimizer](learning_rate=learning_rate)
  if callable(optimizer):
    optimizer = optimizer()
  if not isinstance(optimizer, Optimizer):
    raise ValueError('The given object is not an Optimizer instance. Given: %s' % (optimizer,))
  return optimizer
