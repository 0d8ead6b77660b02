"""estimator.inputs: input functions of arrays in memory. Threads of Python feed slices of the
arrays into a queue, from which the model takes its batches."""
from __future__ import annotations

import random as python_random

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import errors
from leat._ops import array, queues
from leat._train import coordinator


class _ArrayRunner(coordinator.QueueRunner):
  """A runner that feeds each of its operations with the slices of an iterator."""

  def __init__(self, queue, enqueue_ops, feeds):
    super().__init__(queue, enqueue_ops, queue_closed_exception_types=(
        errors.OutOfRangeError, errors.CancelledError))
    self._feeds = dict(zip(enqueue_ops, feeds))

  def _callable(self, sess, enqueue_op):
    slices = self._feeds[enqueue_op]()

    def step():
      feed = next(slices, None)
      if feed is None:
        raise errors.OutOfRangeError(None, enqueue_op, 'All epochs have been fed')
      sess.run(enqueue_op, feed_dict=feed)
    return step

  def to_proto(self, export_scope=None):
    """None: what the threads feed is in no graph, so that a meta graph leaves the runner out."""
    return None


def _slices(placeholders, arrays, size, num_epochs, shuffle):
  """Yields feeds: rows of all arrays, `size` at a time, num_epochs times or for ever. Where they
  are shuffled, an iterator begins at a row of its own."""
  count = len(arrays[0])
  start = python_random.randrange(count) if shuffle else 0
  epoch = 0
  while num_epochs is None or epoch < num_epochs:
    for begin in range(0, count, size):
      rows = [(start + n) % count for n in range(begin, min(begin + size, count))]
      yield {p: a[rows] for p, a in zip(placeholders, arrays)}
    epoch += 1


def queue_of(arrays, capacity, shuffle, size, num_epochs, num_threads):
  """A queue that threads fill with the rows of arrays of the same length."""
  kinds = [dtypes.as_dtype(a.dtype) for a in arrays]
  shapes = [list(a.shape[1:]) for a in arrays]
  if shuffle:
    queue = queues.RandomShuffleQueue(capacity, int(capacity / 4), kinds, shapes)
  else:
    queue = queues.FIFOQueue(capacity, kinds, shapes)
  ops, feeds = [], []
  for _ in range(num_threads):
    placeholders = [array.placeholder(k, [None] + s) for k, s in zip(kinds, shapes)]
    ops.append(queue.enqueue_many(placeholders))
    feeds.append(lambda p=placeholders: _slices(p, arrays, size, num_epochs, shuffle))
  coordinator.add_queue_runner(_ArrayRunner(queue, ops, feeds))
  return queue


def _columns(x, y):
  """([names or None of x, of y], arrays): a dict by its names, an array alone."""
  structures, arrays = [], []
  for values in (x, y):
    if isinstance(values, dict):
      structures.append(sorted(values))
      arrays += [values[name] for name in sorted(values)]
    else:
      structures.append(None)
      arrays += [] if values is None else [values]
  return structures, arrays


def _check_inputs(x, y, shuffle):
  import numpy as np
  if not isinstance(shuffle, bool):
    raise ValueError('shuffle must be provided and explicitly set as boolean (it is recommended to '
                     'set it as True for training); got %s' % (shuffle,))
  if not isinstance(x, (dict, np.ndarray)):
    raise TypeError('x must be a dict or array; got %s' % type(x).__name__)
  if not (x if isinstance(x, dict) else x.size):
    raise ValueError('x cannot be an empty %s' % ('dict' if isinstance(x, dict) else 'array'))
  if isinstance(y, dict) and not y:
    raise ValueError('y cannot be empty dict, use None instead.')


@export('estimator.inputs.numpy_input_fn')
def numpy_input_fn(x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000,
                   num_threads=1):
  """An input function over numpy arrays: x, an array or a dict of arrays, are the features, and y,
  the same or None, the labels. It gives batches of batch_size rows; after num_epochs (None for no
  end) the input ends, with a smaller batch where rows remain. Each of num_threads threads feeds all
  epochs."""
  if not isinstance(shuffle, bool):
    raise ValueError('shuffle must be provided and explicitly set as boolean (it is recommended to '
                     'set it as True for training); got %s' % (shuffle,))

  def input_fn():
    import numpy as np
    _check_inputs(x, y, shuffle)
    (features, labels), found = _columns(x, y)
    arrays = [np.asarray(a) for a in found]
    if len({len(a) for a in arrays}) != 1:
      raise ValueError(
          'Length of tensors in x and y is mismatched. All elements in x and y must have the same '
          'length.\nShapes in x and y: %s\n' % [a.shape for a in arrays])
    queue = queue_of(arrays, queue_capacity, shuffle, batch_size, num_epochs, num_threads)
    batch = queue.dequeue_many(batch_size) if num_epochs is None else \
        queue.dequeue_up_to(batch_size)
    batch = batch if isinstance(batch, list) else [batch]
    count = 1 if features is None else len(features)
    made = batch[0] if features is None else dict(zip(features, batch[:count]))
    if y is None:
      return made
    return made, batch[count] if labels is None else dict(zip(labels, batch[count:]))
  return input_fn


@export('estimator.inputs.pandas_input_fn')
def pandas_input_fn(x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000,
                    num_threads=1, target_column='target'):
  """The same for a DataFrame of features and a Series or DataFrame of labels, whose index must be
  that of the features."""
  try:
    import pandas as pd
  except ImportError:
    raise TypeError('pandas_input_fn should not be called without pandas installed') from None
  import numpy as np
  if not isinstance(shuffle, bool):
    raise ValueError('shuffle must be provided and explicitly set as boolean (it is recommended to '
                     'set it as True for training); got %s' % (shuffle,))
  features = {name: np.asarray(x[name]) for name in x.columns}
  labels = None
  if y is not None:
    if not (x.index == y.index).all():
      raise ValueError('Index for x and y are mismatched.\nIndex for x: %s\nIndex for y: %s\n' % (
          x.index, y.index))
    if isinstance(y, pd.DataFrame):
      labels = {name: np.asarray(y[name]) for name in y.columns}
    else:
      if target_column in x:
        raise ValueError('Cannot use name %s for target column: DataFrame already has a column '
                         'with that name: %s' % (target_column, list(x.columns)))
      labels = np.asarray(y)
  return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle, queue_capacity,
                        num_threads)
