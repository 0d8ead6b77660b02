"""RaggedTensorValue, and nested lists of Python as flat values and row splits.

A nested list is taken apart level by level: the outer `ragged_rank` levels become row splits, and
what is left is one array. The same code makes constants of the graph and values of numpy; the two
functions that differ are given as arguments.
"""
from __future__ import annotations

from leat._export import export


@export('ragged.RaggedTensorValue')
class RaggedTensorValue:
  """The value of a RaggedTensor: numpy arrays. `values` may be a RaggedTensorValue again."""
  _is_ragged = True

  def __init__(self, values, row_splits):
    import numpy as np
    if not (isinstance(row_splits, (np.ndarray, np.generic)) and
            row_splits.dtype in (np.int64, np.int32)):
      raise TypeError('row_splits must be a numpy array of int32 or int64; got %r' % (row_splits,))
    if not isinstance(values, (np.ndarray, np.generic, RaggedTensorValue)):
      raise TypeError('values must be a numpy array or a RaggedTensorValue; got %r' % (values,))
    if isinstance(values, RaggedTensorValue) and row_splits.dtype != values.row_splits.dtype:
      raise ValueError('row_splits and values.row_splits must have the same dtype, but are %s and '
                       '%s' % (row_splits.dtype, values.row_splits.dtype))
    self._values, self._row_splits = values, row_splits

  values = property(lambda self: self._values)
  row_splits = property(lambda self: self._row_splits)
  dtype = property(lambda self: self._values.dtype)

  @property
  def flat_values(self):
    values = self._values
    while isinstance(values, RaggedTensorValue):
      values = values.values
    return values

  @property
  def nested_row_splits(self):
    """The row splits of each ragged dimension, the outermost first."""
    values, found = self, []
    while isinstance(values, RaggedTensorValue):
      found.append(values.row_splits)
      values = values.values
    return tuple(found)

  @property
  def ragged_rank(self):
    return len(self.nested_row_splits)

  @property
  def shape(self):
    """The sizes as a tuple, None for ragged dimensions."""
    return (self._row_splits.shape[0] - 1, None) + self._values.shape[1:]

  def to_list(self):
    """The value as nested lists."""
    rows = self._values.to_list() if isinstance(self._values, RaggedTensorValue) else \
        self._values.tolist()
    ends = self._row_splits.tolist()
    return [rows[begin:end] for begin, end in zip(ends[:-1], ends[1:])]

  def __str__(self):
    return '<tf.RaggedTensorValue %s>' % self.to_list()

  def __repr__(self):
    return 'tf.RaggedTensorValue(values=%r, row_splits=%r)' % (self._values, self._row_splits)


@export('ragged.constant_value')
def constant_value(pylist, dtype=None, ragged_rank=None, inner_shape=None,
                   row_splits_dtype='int64'):
  """Nested lists as a RaggedTensorValue, or as an array where no dimension is ragged."""
  import numpy as np
  splits_type = np.dtype(getattr(row_splits_dtype, 'as_numpy_dtype', row_splits_dtype))
  if splits_type not in (np.int32, np.int64):
    raise ValueError('row_splits_dtype must be int32 or int64, but is %s' % row_splits_dtype)
  dtype = getattr(dtype, 'as_numpy_dtype', dtype)

  def values_of(items, shape):
    array = np.array(items, dtype=dtype)
    return np.reshape(array, shape)
  return of_nested(pylist, ragged_rank, inner_shape, values_of, RaggedTensorValue,
                   lambda ends: np.array(ends, dtype=splits_type))


def _is_list(item):
  import numpy as np
  return isinstance(item, (list, tuple)) or isinstance(item, np.ndarray) and item.ndim > 0


def depths(item):
  """(depth of the scalars or None, depth of the deepest list); ValueError where scalars stand at
  different depths."""
  if not _is_list(item):
    return 0, 0
  scalars, deepest = None, 1
  for part in item:
    scalar, deep = depths(part)
    deepest = max(deepest, deep + 1)
    if scalar is not None:
      if scalars is not None and scalars != scalar + 1:
        raise ValueError('all scalar values must have the same nesting depth')
      scalars = scalar + 1
  return scalars, deepest


def of_nested(pylist, ragged_rank, inner_shape, values_of, ragged_of, splits_of):
  """Nested lists as what `ragged_of(values, splits)` makes of `values_of(items, shape)` and
  `splits_of(ends)`; ValueError where depth, ragged rank and inner shape contradict each other."""
  if ragged_rank is not None and ragged_rank < 0:
    raise ValueError('Invalid ragged_rank=%r: must be nonnegative' % ragged_rank)
  inner = () if inner_shape is None else tuple(inner_shape)
  if not _is_list(pylist):
    if ragged_rank:
      raise ValueError('Invalid pylist=%r: incompatible with ragged_rank=%d' % (pylist,
                                                                                ragged_rank))
    if inner:
      raise ValueError('Invalid pylist=%r: incompatible with dim(inner_shape)=%d' % (pylist,
                                                                                   len(inner)))
    return values_of(pylist, ())
  scalar_depth, deepest = depths(pylist)
  if scalar_depth is not None and deepest > scalar_depth:
    raise ValueError('Invalid pylist=%r: empty list nesting is greater than scalar value nesting' %
                     (pylist,))
  if inner_shape is not None and ragged_rank is not None:
    wanted = ragged_rank + len(inner) + 1
    if scalar_depth is not None and scalar_depth != wanted or \
        scalar_depth is None and deepest > wanted:
      raise ValueError('Invalid pylist=%r: incompatible with ragged_rank=%d and '
                       'dim(inner_shape)=%d' % (pylist, ragged_rank, len(inner)))
  if ragged_rank is None:
    ragged_rank = max(0, deepest - 1 - len(inner))
  if inner_shape is None:
    inner = _inner_shape(pylist, ragged_rank)
  if ragged_rank == 0:
    return values_of(pylist, inner if inner_shape is not None else
                     ((len(pylist),) + inner))
  if scalar_depth is not None and scalar_depth <= ragged_rank:
    raise ValueError('pylist has scalar values depth %d, but ragged_rank=%d requires scalar value '
                     'depth greater than %d' % (scalar_depth, ragged_rank, ragged_rank))
  all_splits, level = [], pylist
  for _ in range(ragged_rank):
    ends = [0]
    for row in level:
      ends.append(ends[-1] + len(row))
    all_splits.append(splits_of(ends))
    level = [item for row in level for item in row]
  made = values_of(level, (len(level),) + inner)
  for splits in reversed(all_splits):
    made = ragged_of(made, splits)
  return made


def _inner_shape(pylist, ragged_rank):
  """The shape of the items below the ragged dimensions."""
  level = pylist
  for _ in range(ragged_rank):
    level = [item for row in level if _is_list(row) for item in row]
  shape = []
  while level and _is_list(level[0]):
    size = len(level[0])
    if any(not _is_list(item) or len(item) != size for item in level):
      raise ValueError('inner values have inconsistent shape')
    shape.append(size)
    level = [item for row in level for item in row]
  if any(_is_list(item) for item in level):
    raise ValueError('inner values have inconsistent shape')
  return tuple(shape)
