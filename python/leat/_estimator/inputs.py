"""What an input function gives: features, or features and labels, as tensors or as a data set."""
from __future__ import annotations

from leat._estimator import arguments
from leat._train.hook import SessionRunHook


class _IteratorHook(SessionRunHook):
  """Starts the iterator of a data set anew in each session."""

  def __init__(self, iterator):
    self._iterator = iterator
    self._initializer = None

  def begin(self):
    self._initializer = self._iterator.initializer

  def after_create_session(self, session, coord):
    del coord
    session.run(self._initializer)


def call(input_fn, **values):
  """The result of an input function, which is given those of `values` that it takes."""
  return input_fn(**arguments.chosen(input_fn, **values))


def parsed(result):
  """(features, labels or None, hooks) of the result of an input function."""
  hooks = []
  if hasattr(result, 'make_initializable_iterator'):
    iterator = result.make_initializable_iterator()
    hooks.append(_IteratorHook(iterator))
    result = iterator.get_next()
  if isinstance(result, (list, tuple)):
    if len(result) != 2:
      raise ValueError('input_fn should return (features, labels) as a len 2 tuple.')
    return result[0], result[1], hooks
  return result, None, hooks
