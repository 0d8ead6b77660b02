"""RaggedTensor: a tensor with dimensions whose slices have different lengths.

It is a pair: `values`, the slices of all rows one after the other, and `row_splits`, where rows
end. `values` may be a RaggedTensor again, so that several dimensions may be ragged; what is left
inside, `flat_values`, is a tensor. Nothing here computes but the conversions between ways to say
where rows end; these are in rows.py.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._ops import array, math
from leat._ops.ragged import rows
from leat._ops.ragged.value import RaggedTensorValue
from leat._session import fetch as fetches

_KEY = object()


def is_ragged(value):
  """Whether it is a RaggedTensor or a RaggedTensorValue."""
  return isinstance(value, (RaggedTensor, RaggedTensorValue))


@export('RaggedTensor')
class RaggedTensor:
  """values [n, ...] and row_splits [rows + 1]: a tensor of shape [rows, (lengths), ...].

  Made by the class methods: from_row_splits, from_row_lengths, from_tensor, ...
  """
  _is_ragged = True
  __array_priority__ = 101

  def __init__(self, values, row_splits, key=None, uniform_row_length=None, value_rowids=None):
    if key is not _KEY:
      raise ValueError('RaggedTensor constructor is private; please use one of the factory methods '
                       'instead (e.g., RaggedTensor.from_row_lengths())')
    self._values, self._row_splits = values, row_splits
    self._uniform, self._ids = uniform_row_length, value_rowids

  # How it is made ------------------------------------------------------------------------------

  @classmethod
  def from_row_splits(cls, values, row_splits, name=None, validate=True):
    """Rows that end at row_splits, which begins with 0 and never decreases."""
    with name_scope(name, 'RaggedFromRowSplits', _tensors(values, row_splits)):
      splits = _splits(row_splits)
      values = _values(values, splits.dtype.base_dtype)
      if validate:
        splits = _validated(values, splits)
      return _made(values, splits)

  @classmethod
  def from_row_lengths(cls, values, row_lengths, name=None, validate=True):
    """Rows of these lengths."""
    with name_scope(name, 'RaggedFromRowLengths', _tensors(values, row_lengths)):
      lengths = _vector(row_lengths, 'row_lengths')
      splits = rows.of_lengths(lengths)
      values = _values(values, splits.dtype.base_dtype)
      return _made(values, _validated(values, splits) if validate else splits)

  @classmethod
  def from_row_starts(cls, values, row_starts, name=None, validate=True):
    """Rows that begin at row_starts."""
    with name_scope(name, 'RaggedFromRowStarts', _tensors(values, row_starts)):
      starts = _vector(row_starts, 'row_starts')
      values = _values(values, starts.dtype.base_dtype)
      total = array.expand_dims(_total(values, starts.dtype.base_dtype), 0)
      splits = _grown(array.concat([starts, total], 0), starts)
      return _made(values, _validated(values, splits) if validate else splits)

  @classmethod
  def from_row_limits(cls, values, row_limits, name=None, validate=True):
    """Rows that end at row_limits; the first begins at 0."""
    with name_scope(name, 'RaggedFromRowLimits', _tensors(values, row_limits)):
      limits = _vector(row_limits, 'row_limits')
      splits = _grown(array.concat([constant_of([0], limits.dtype.base_dtype), limits], 0), limits)
      values = _values(values, splits.dtype.base_dtype)
      return _made(values, _validated(values, splits) if validate else splits)

  @classmethod
  def from_value_rowids(cls, values, value_rowids, nrows=None, name=None, validate=True):
    """Rows of which each value says the number, which never decreases."""
    with name_scope(name, 'RaggedFromValueRowIds', _tensors(values, value_rowids, nrows)):
      ids = _vector(value_rowids, 'value_rowids')
      values = _values(values, ids.dtype.base_dtype)
      _first(values).assert_is_compatible_with(ids.get_shape())
      if nrows is not None:
        nrows = rows.integer(nrows, 'nrows', ids.dtype.base_dtype)
        nrows.get_shape().assert_has_rank(0)
        known = constant_value(nrows)
        if known is not None and known < 0:
          raise ValueError('Expected nrows >= 0; got %d' % known)
        nrows = math.cast(nrows, ids.dtype.base_dtype)
        last = constant_value(ids)
        if known is not None and last is not None and last.size and last[-1] >= known:
          raise ValueError('Expected nrows >= value_rowids[-1] + 1; got nrows=%d, '
                           'value_rowids[-1]=%d' % (known, last[-1]))
      if validate:
        ids = _validated_ids(ids, nrows)
      splits = rows.splits_of_ids(ids, nrows, ids.dtype.base_dtype)
      return _made(values, splits, value_rowids=ids)

  @classmethod
  def from_uniform_row_length(cls, values, uniform_row_length, nrows=None, validate=True,
                              name=None):
    """Rows of one length."""
    with name_scope(name, 'RaggedFromUniformRowLength',
                    _tensors(values, uniform_row_length, nrows)):
      kind = values.row_splits.dtype.base_dtype if is_ragged(values) else dtypes.int64
      values = _values(values, kind)
      length = math.cast(rows.integer(uniform_row_length, 'uniform_row_length'), kind)
      length.get_shape().assert_has_rank(0)
      known = constant_value(length)
      if known is not None and known < 0:
        raise ValueError('uniform_row_length must be non-negative, but is %d' % known)
      if nrows is None:
        total = _total(values, kind)
        if known == 0:
          number = constant_of(0, kind)
        else:
          number = apply_op('FloorDiv', x=total, y=length)
      else:
        number = math.cast(rows.integer(nrows, 'nrows'), kind)
      splits = rows.numbers(number + constant_of(1, kind)) * length
      number = constant_value(number)
      if number is not None:
        splits.set_shape([int(number) + 1])
      if validate:
        splits = _validated(values, splits)
      return _made(values, splits, uniform_row_length=length)

  @classmethod
  def from_nested_row_splits(cls, flat_values, nested_row_splits, name=None, validate=True):
    """Several ragged dimensions, the outermost first."""
    return cls._nested(flat_values, nested_row_splits, 'nested_row_splits', name,
                       'RaggedFromNestedRowSplits', cls.from_row_splits, validate)

  @classmethod
  def from_nested_row_lengths(cls, flat_values, nested_row_lengths, name=None, validate=True):
    """Several ragged dimensions, the outermost first."""
    return cls._nested(flat_values, nested_row_lengths, 'nested_row_lengths', name,
                       'RaggedFromNestedRowlengths', cls.from_row_lengths, validate)

  @classmethod
  def from_nested_value_rowids(cls, flat_values, nested_value_rowids, nested_nrows=None, name=None,
                               validate=True):
    """Several ragged dimensions, the outermost first."""
    _check_nested(nested_value_rowids, 'nested_value_rowids')
    if nested_nrows is None:
      nested_nrows = [None] * len(nested_value_rowids)
    else:
      _check_nested(nested_nrows, 'nested_nrows')
      if len(nested_nrows) != len(nested_value_rowids):
        raise ValueError('Argument `nested_nrows` must have the same length as argument '
                         '`nested_value_rowids`. len(nested_nrows) = %d vs. '
                         'len(nested_values_rowids) = %d.' % (len(nested_nrows),
                                                              len(nested_value_rowids)))
    with name_scope(name, 'RaggedFromNestedValueRowIds', _tensors(flat_values)):
      result = flat_values
      for ids, number in reversed(list(zip(nested_value_rowids, nested_nrows))):
        result = cls.from_value_rowids(result, ids, number, validate=validate)
      return result

  @staticmethod
  def _nested(flat_values, parts, argument, name, scope, function, validate):
    _check_nested(parts, argument)
    with name_scope(name, scope, _tensors(flat_values)):
      result = flat_values
      for part in reversed(parts):
        result = function(result, part, validate=validate)
      return result

  @classmethod
  def from_tensor(cls, tensor, lengths=None, padding=None, ragged_rank=1, name=None,
                  row_splits_dtype=dtypes.int64):
    """A tensor as a ragged one. The rows are whole, or cut to `lengths`, or end before a tail of
    `padding`."""
    from leat._ops.ragged import dense
    return dense.from_tensor(tensor, lengths, padding, ragged_rank, name, row_splits_dtype)

  @classmethod
  def from_sparse(cls, st_input, name=None, row_splits_dtype=dtypes.int64):
    """A sparse matrix whose rows have no gaps before their values."""
    from leat._ops.ragged import dense
    return dense.from_sparse(st_input, name, row_splits_dtype)

  # What it is ----------------------------------------------------------------------------------

  values = property(lambda self: self._values)
  row_splits = property(lambda self: self._row_splits)
  dtype = property(lambda self: self._values.dtype)
  graph = property(lambda self: self._row_splits.graph)
  op = property(lambda self: self.flat_values.op)
  uniform_row_length = property(lambda self: self._uniform)
  _graph_element = property(lambda self: self.flat_values)

  @property
  def shape(self):
    """The sizes, None for ragged dimensions."""
    uniform = None if self._uniform is None else constant_value(self._uniform)
    rest = self._values.shape
    first = [rows.static_rows(self._row_splits), None if uniform is None else int(uniform)]
    return TensorShape(None) if rest.ndims is None else TensorShape(first).concatenate(rest[1:])

  def get_shape(self):
    """The TensorShape, with None for dimensions whose sizes differ."""
    return self.shape

  @property
  def flat_values(self):
    """The elements, without any ragged dimension."""
    values = self._values
    while isinstance(values, RaggedTensor):
      values = values.values
    return values

  @property
  def nested_row_splits(self):
    """The row splits of each ragged dimension, the outermost first."""
    return tuple(level.row_splits for level in self._levels())

  @property
  def ragged_rank(self):
    """How many of its dimensions are ragged."""
    return len(self._levels())

  def _levels(self):
    """This ragged tensor, its values, their values, ... as far as they are ragged."""
    found, values = [], self
    while isinstance(values, RaggedTensor):
      found.append(values)
      values = values.values
    return found

  def value_rowids(self, name=None):
    """The row of each value."""
    if self._ids is not None:
      return self._ids
    with name_scope(name, 'RaggedValueRowIds', [self._row_splits]):
      return rows.ids_of_splits(self._row_splits)

  def nested_value_rowids(self, name=None):
    """The row of each value, for each ragged dimension."""
    with name_scope(name, 'RaggedNestedValueRowIds', [self._row_splits]):
      return tuple(level.value_rowids() for level in self._levels())

  def nrows(self, out_type=None, name=None):
    """How many rows there are."""
    kind = self._row_splits.dtype.base_dtype if out_type is None else dtypes.as_dtype(out_type)
    with name_scope(name, 'RaggedNRows', [self._row_splits]):
      known = rows.static_rows(self._row_splits)
      if known is not None:
        return constant_of(known, kind)
      return array.shape(self._row_splits, out_type=kind)[0] - constant_of(1, kind)

  def row_starts(self, name=None):
    """Where each row begins among the values."""
    with name_scope(name, 'RaggedRowStarts', [self._row_splits]):
      return self._row_splits[:-1]

  def row_limits(self, name=None):
    """Where each row ends among the values."""
    with name_scope(name, 'RaggedRowLimits', [self._row_splits]):
      return self._row_splits[1:]

  def row_lengths(self, axis=1, name=None):
    """The lengths of the rows along a dimension; ragged beyond the first."""
    with name_scope(name, 'RaggedRowLengths', [self._row_splits]):
      kind = self._row_splits.dtype.base_dtype
      axis = positive_axis(axis, self.shape.ndims, 'axis', 'rank(self)')
      if axis == 0:
        return self.nrows()
      if axis == 1:
        return self._row_splits[1:] - self._row_splits[:-1]
      if isinstance(self._values, RaggedTensor):
        return self.with_values(self._values.row_lengths(axis - 1))
      sizes = array.shape(self._values, out_type=kind)
      return self.with_values(array.ones(sizes[:axis - 1], kind) * sizes[axis - 1])

  def nested_row_lengths(self, name=None):
    """The lengths of the rows, for each ragged dimension."""
    with name_scope(name, 'RaggedNestedRowLengths', [self._row_splits]):
      return tuple(level.row_lengths() for level in self._levels())

  def bounding_shape(self, axis=None, name=None, out_type=None):
    """The sizes of the smallest tensor that it fits into, or those at `axis`."""
    from leat._ops.ragged import dense
    kind = self._row_splits.dtype.base_dtype if out_type is None else dtypes.as_dtype(out_type)
    with name_scope(name, 'RaggedBoundingBox', [self._row_splits]):
      sizes = math.cast(dense.bounding_shape(self), kind)
      return sizes if axis is None else array.gather(sizes, axis)

  # What becomes of it --------------------------------------------------------------------------

  def with_values(self, new_values):
    """The same rows with other values: as many of them."""
    new_values = _values(new_values, self._row_splits.dtype.base_dtype)
    new_values.shape.with_rank_at_least(1)
    _first(self._values).assert_is_compatible_with(_first(new_values))
    return _made(new_values, self._row_splits, self._uniform, self._ids)

  def with_flat_values(self, new_values):
    """The same rows of rows with other flat values."""
    if isinstance(self._values, RaggedTensor):
      return self.with_values(self._values.with_flat_values(new_values))
    return self.with_values(new_values)

  def with_row_splits_dtype(self, dtype):
    """The same with row splits of int32 or int64."""
    dtype = rows.splits_dtype(dtype)
    if dtype == self._row_splits.dtype.base_dtype:
      return self
    values = self._values.with_row_splits_dtype(dtype) if isinstance(
        self._values, RaggedTensor) else self._values
    return _made(values, math.cast(self._row_splits, dtype),
                 None if self._uniform is None else math.cast(self._uniform, dtype))

  def merge_dims(self, outer_axis, inner_axis):
    """The dimensions from outer_axis to inner_axis as one."""
    from leat._ops.ragged import dense
    return dense.merge_dims(self, outer_axis, inner_axis)

  def to_tensor(self, default_value=None, name=None, shape=None):
    """A tensor of the bounding shape, or of `shape`, filled up with default_value."""
    from leat._ops.ragged import dense
    return dense.to_tensor(self, default_value, name, shape)

  def to_sparse(self, name=None):
    """A SparseTensor of the same elements."""
    from leat._ops.ragged import dense
    return dense.to_sparse(self, name)

  def eval(self, feed_dict=None, session=None):
    """Its RaggedTensorValue, computed in the default session."""
    from leat._session import session as sessions
    return sessions.of_run(session, self.graph, 'eval').run(self, feed_dict)

  def consumers(self):
    """The operations that read it."""
    found = []
    for tensor in (self.flat_values,) + self.nested_row_splits:
      found += [op for op in tensor.consumers() if op not in found]
    return found

  def _map(self, function):
    return self.with_flat_values(function(self.flat_values))

  def __getitem__(self, key):
    from leat._ops.ragged import index
    return index.index(self, key)

  def __bool__(self):
    raise TypeError('RaggedTensor may not be used as a boolean.')

  __nonzero__ = __bool__

  def __repr__(self):
    return 'tf.RaggedTensor(values=%s, row_splits=%s)' % (self._values, self._row_splits)

  __str__ = __repr__

  @staticmethod
  def _override_operator(operator, function):
    setattr(RaggedTensor, operator, function)


# ---- Arguments ----------------------------------------------------------------------------------


def _made(values, splits, uniform_row_length=None, value_rowids=None):
  return RaggedTensor(values, splits, _KEY, uniform_row_length, value_rowids)


def _tensors(*values):
  return [v for v in values if isinstance(v, _leat.Output)]


def positive_axis(axis, rank, name='axis', of='rank'):
  """The axis counted from 0; TypeError or ValueError where there is no such axis."""
  if not isinstance(axis, int):
    raise TypeError('%s must be an int; got %s' % (name, type(axis).__name__))
  if axis < 0 and rank is None:
    raise ValueError('%s=%d may only be negative if %s is statically known.' % (name, axis, of))
  if rank is not None and not -rank <= axis < rank:
    raise ValueError('%s=%d out of bounds: expected %d<=%s<%d' % (name, axis, -rank, name, rank))
  return axis + rank if axis < 0 else axis


def as_ragged(value, dtype=None, name=None):
  """The RaggedTensor, or the tensor where nothing is ragged, that a value becomes."""
  if isinstance(value, RaggedTensor):
    if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
      raise ValueError('Tensor conversion requested dtype %s for RaggedTensor with dtype %s: %r' % (
          dtypes.as_dtype(dtype).name, value.dtype.name, value))
    return value
  if isinstance(value, RaggedTensorValue):
    with name_scope(name, 'ConvertToTensorOrRaggedTensor'):
      made = convert(value.flat_values, dtype, 'flat_values')
      for splits in reversed(value.nested_row_splits):
        made = _made(made, convert(splits, name='row_splits'))
      return made
  return convert(value, dtype, name)


def same_splits_dtype(*values):
  """The values; where their row splits are of two types, all have int64."""
  kinds = {v.row_splits.dtype.base_dtype for v in values if isinstance(v, RaggedTensor)}
  if len(kinds) < 2:
    return list(values)
  return [v.with_row_splits_dtype(dtypes.int64) if isinstance(v, RaggedTensor) else v
          for v in values]


def _check_nested(parts, name):
  if isinstance(parts, _leat.Output):
    raise TypeError('Argument `%s` must be a list of Tensors. Received %s.' % (name, parts))
  len(parts)


def _values(values, splits_dtype):
  values = as_ragged(values, name='values')
  if isinstance(values, RaggedTensor):
    return values.with_row_splits_dtype(splits_dtype)
  values.get_shape().with_rank_at_least(1)
  return values


def _splits(value):
  splits = convert(value, name='row_splits', preferred=dtypes.int64)
  splits.get_shape().assert_has_rank(1)
  if splits.get_shape()[0].value == 0:
    raise ValueError('row_splits tensor may not be empty.')
  if splits.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
    raise ValueError('row_splits must have dtype int32 or int64')
  return splits


def _vector(value, name):
  found = rows.integer(value, name)
  found.get_shape().assert_has_rank(1)
  return found


def _first(values):
  return values.shape[:1]


def _total(values, kind):
  return values.nrows(kind) if isinstance(values, RaggedTensor) else rows.count(values, kind)


def _grown(splits, parts):
  """The shape of splits that are one longer than what they were made of."""
  size = parts.get_shape()[0].value
  splits.set_shape([None if size is None else size + 1])
  return splits


def _validated(values, splits):
  """The splits, checked now where they are known, else by an operation in each step."""
  known, size = constant_value(splits), _first(values)[0].value
  kind = splits.dtype.base_dtype
  zero = constant_of(0, kind)
  steps = splits[1:] - splits[:-1] if known is None else None
  if known is None:
    splits = rows.checked(splits, apply_op('Equal', x=splits[0], y=zero),
                          'Arguments to from_row_splits do not form a valid RaggedTensor: '
                          'row_splits[0] must be 0', splits)
    splits = rows.checked(splits, math.reduce_all(steps >= zero),
                          'Arguments do not form a valid RaggedTensor: row_splits must not '
                          'decrease', splits)
  if known is None or size is None or known[0] != 0 or (known[1:] < known[:-1]).any() or \
      known[-1] != size:
    total = _total(values, kind)
    text = 'Arguments do not form a valid RaggedTensor: row_splits must begin with 0, must not ' \
           'decrease and must end with the number of values'
    fits = apply_op('Equal', x=splits[-1], y=total)
    if known is not None and (known[0] != 0 or (known[1:] < known[:-1]).any()):
      fits = constant_of(False)
    splits = rows.checked(splits, fits, text, splits, total)
  return splits


def _validated_ids(ids, nrows):
  known = constant_value(ids)
  ordered = known is not None and not (known[1:] < known[:-1]).any() and (
      not known.size or known[0] >= 0)
  if not ordered:
    zero = constant_of(0, ids.dtype.base_dtype)
    good = apply_op('LogicalAnd', x=math.reduce_all(ids >= zero),
                    y=math.reduce_all(ids[1:] >= ids[:-1]))
    ids = rows.checked(ids, good, 'Arguments to from_value_rowids do not form a valid '
                       'RaggedTensor: value_rowids must not be negative and must not decrease', ids)
  if nrows is not None and (known is None or constant_value(nrows) is None):
    ids = rows.checked(ids, math.reduce_all(ids < nrows),
                       'Arguments to from_value_rowids do not form a valid RaggedTensor: '
                       'value_rowids must be less than nrows', ids, nrows)
  return ids


# ---- Sessions -----------------------------------------------------------------------------------


def _elements(ragged):
  return [ragged.flat_values] + list(ragged.nested_row_splits)


def _value_of(parts):
  made = parts[0]
  for splits in reversed(parts[1:]):
    made = RaggedTensorValue(made, splits)
  return made


def _fed(ragged, value):
  elements = _elements(ragged)
  if value is None:
    return [(e, None) for e in elements]
  if not isinstance(value, RaggedTensorValue):
    raise TypeError('A RaggedTensor is fed with a tf.ragged.RaggedTensorValue, but got %r' %
                    (value,))
  return list(zip(elements, [value.flat_values] + list(value.nested_row_splits)))


fetches.conversions.append((RaggedTensor, lambda f: (_elements(f), _value_of)))
fetches.feed_conversions.append((RaggedTensor, _fed))


# ---- Operators ----------------------------------------------------------------------------------


def _operator(name, swapped):
  def call(x, *y):
    import importlib
    function = getattr(importlib.import_module('leat.math'), name)
    if not y:
      return function(x)
    return function(y[0], x) if swapped else function(x, y[0])
  return call


for _name, _function in (('add', 'add'), ('sub', 'subtract'), ('mul', 'multiply'),
                         ('div', 'divide'), ('truediv', 'truediv'), ('floordiv', 'floordiv'),
                         ('mod', 'floormod'), ('pow', 'pow'), ('and', 'logical_and'),
                         ('or', 'logical_or'), ('xor', 'logical_xor')):
  setattr(RaggedTensor, '__%s__' % _name, _operator(_function, False))
  setattr(RaggedTensor, '__r%s__' % _name, _operator(_function, True))
for _name, _function in (('lt', 'less'), ('le', 'less_equal'), ('gt', 'greater'),
                         ('ge', 'greater_equal'), ('neg', 'negative'), ('abs', 'abs'),
                         ('invert', 'logical_not')):
  setattr(RaggedTensor, '__%s__' % _name, _operator(_function, False))
