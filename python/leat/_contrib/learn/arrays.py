"""Arrays as the input of contrib.learn's estimators, and what the input must look like."""
from __future__ import annotations

from leat import _leat
from leat._estimator.array_inputs import queue_of
from leat._ops.array import placeholder


def check(x, y, input_fn, batch_size):
  """ValueError where neither arrays nor an input function are given, or both."""
  if input_fn is None:
    if x is None:
      raise ValueError('Either x or input_fn must be provided.')
    if isinstance(x, _leat.Output) or isinstance(y, _leat.Output):
      raise ValueError('Inputs cannot be tensors. Please provide input_fn.')
    return
  if x is not None or y is not None:
    raise ValueError('Can not provide both input_fn and x or y.')
  if batch_size is not None:
    raise ValueError('Can not provide both input_fn and batch_size.')


def _array(values):
  import numpy as np
  return np.asarray(list(values) if hasattr(values, '__next__') else values)


def input_fn(x, y, batch_size, num_epochs, shuffle):
  """The input function of arrays x and y or dicts of them, in batches, all rows at once where
  batch_size is None. Of iterators x and y the longer one is read as far as the other goes."""
  if hasattr(x, '__next__') and y is not None:
    rows = list(zip(x, y))
    x, y = [row[0] for row in rows], [row[1] for row in rows]
  listed = lambda v: {k: _array(a) for k, a in v.items()} if isinstance(v, dict) else _array(v)
  features = listed(x)
  labels = None if y is None else listed(y)

  def call():
    columns = [features[k] for k in sorted(features)] if isinstance(features, dict) else [features]
    targets = [] if labels is None else \
        [labels[k] for k in sorted(labels)] if isinstance(labels, dict) else [labels]
    count = len(columns[0])
    for found in columns + targets:
      if len(found) != count:
        raise ValueError('x and y must have as many rows: %s' % [
            a.shape for a in columns + targets])
    size = min(batch_size or count, count)
    queue = queue_of(columns + targets, max(1000, 2 * size), shuffle and size < count, size,
                     num_epochs, 1)
    taken = queue.dequeue_many(size) if num_epochs is None else queue.dequeue_up_to(size)
    taken = taken if isinstance(taken, list) else [taken]
    packed = lambda given, found: dict(zip(sorted(given), found)) if isinstance(given, dict) \
        else found[0]
    made = packed(features, taken[:len(columns)])
    return made if labels is None else (made, packed(labels, taken[len(columns):]))
  return call


def _signature(value):
  if isinstance(value, dict):
    return {k: _signature(v) for k, v in value.items()}
  shape = value.get_shape()
  return value.dtype.base_dtype, None if shape.ndims is None else tuple(shape.as_list()[1:])


def _fits(old, new):
  if isinstance(old, dict) or isinstance(new, dict):
    return isinstance(old, dict) and isinstance(new, dict) and all(
        k in new and _fits(v, new[k]) for k, v in old.items())
  if old[0] != new[0] or None in (old[1], new[1]):
    return old[0] == new[0]
  return len(old[1]) == len(new[1]) and all(
      None in pair or pair[0] == pair[1] for pair in zip(old[1], new[1]))


def same(signature, value, what):
  """The signature of the input; ValueError where it is not the one before."""
  found = _signature(value)
  if signature is not None and not _fits(signature, found):
    raise ValueError('%s are incompatible with given information. Given: %s, required '
                     'signatures: %s.' % (what, value, signature))
  return found if signature is None else signature


def placeholders(signature):
  """What stands for an input with the signature: its types and shapes, but any number of rows."""
  if isinstance(signature, dict):
    return {k: placeholders(v) for k, v in signature.items()}
  if signature is None:
    return None
  dtype, row = signature
  return placeholder(dtype, None if row is None else (None,) + row)
