"""Dimension and TensorShape: what is known of sizes before a graph runs. The graph keeps the
shapes; these are values that a program computes with."""
from __future__ import annotations

from leat._export import export


@export('Dimension')
class Dimension:
  """A size, or an unknown one (value None)."""
  __slots__ = ('_value',)

  def __init__(self, value):
    if isinstance(value, Dimension):
      self._value = value._value
    elif value is None:
      self._value = None
    else:
      try:
        self._value = value.__index__()
      except AttributeError:
        try:
          self._value = int(value)
        except (TypeError, ValueError):
          raise TypeError('Dimension value must be integer or None or have an __index__ method, '
                          "got value '%r' with type '%r'" % (value, type(value))) from None
        if not isinstance(value, (str, bytes)) and self._value != value:
          raise ValueError('Ambiguous dimension: %s' % value) from None
      if self._value < 0:
        raise ValueError('Dimension %d must be >= 0' % self._value)

  @property
  def value(self):
    """The size, or None where it is not known."""
    return self._value

  def __repr__(self):
    return 'Dimension(%r)' % self._value

  def __str__(self):
    return '?' if self._value is None else str(self._value)

  def __eq__(self, other):
    try:
      other = as_dimension(other)
    except (TypeError, ValueError):
      return NotImplemented
    if self._value is None or other._value is None:
      return None
    return self._value == other._value

  def __ne__(self, other):
    try:
      other = as_dimension(other)
    except (TypeError, ValueError):
      return NotImplemented
    if self._value is None or other._value is None:
      return None
    return self._value != other._value

  __hash__ = None

  def __bool__(self):
    return bool(self._value)

  def __int__(self):
    return self._value

  def __index__(self):
    return self._value

  def __long__(self):
    return self._value

  def is_compatible_with(self, other):
    """Whether both could be the same size."""
    other = as_dimension(other)
    return self._value is None or other._value is None or self._value == other._value

  def assert_is_compatible_with(self, other):
    """ValueError unless both could be the same size."""
    if not self.is_compatible_with(other):
      raise ValueError('Dimensions %s and %s are not compatible' % (self, other))

  def merge_with(self, other):
    """What is known of a size that is both. ValueError where they differ."""
    other = as_dimension(other)
    self.assert_is_compatible_with(other)
    return Dimension(other._value if self._value is None else self._value)

  def _with(self, other, function):
    try:
      other = as_dimension(other)
    except (TypeError, ValueError):
      return NotImplemented
    if self._value is None or other._value is None:
      return Dimension(None)
    return Dimension(function(self._value, other._value))

  def _compare(self, other, function):
    other = as_dimension(other)
    if self._value is None or other._value is None:
      return None
    return function(self._value, other._value)

  def __add__(self, other):
    return self._with(other, lambda a, b: a + b)

  def __radd__(self, other):
    return self._with(other, lambda a, b: b + a)

  def __sub__(self, other):
    return self._with(other, lambda a, b: a - b)

  def __rsub__(self, other):
    return self._with(other, lambda a, b: b - a)

  def __mul__(self, other):
    return self._with(other, lambda a, b: a * b)

  def __rmul__(self, other):
    return self._with(other, lambda a, b: b * a)

  def __floordiv__(self, other):
    return self._with(other, lambda a, b: a // b)

  def __rfloordiv__(self, other):
    return self._with(other, lambda a, b: b // a)

  def __div__(self, other):
    return self // other

  def __truediv__(self, other):
    raise TypeError("unsupported operand type(s) for /: 'Dimension' and '%s', please use // instead"
                    % type(other).__name__)

  def __rtruediv__(self, other):
    raise TypeError("unsupported operand type(s) for /: '%s' and 'Dimension', please use // instead"
                    % type(other).__name__)

  def __mod__(self, other):
    return self._with(other, lambda a, b: a % b)

  def __rmod__(self, other):
    return self._with(other, lambda a, b: b % a)

  def __lt__(self, other):
    return self._compare(other, lambda a, b: a < b)

  def __le__(self, other):
    return self._compare(other, lambda a, b: a <= b)

  def __gt__(self, other):
    return self._compare(other, lambda a, b: a > b)

  def __ge__(self, other):
    return self._compare(other, lambda a, b: a >= b)

  def __reduce__(self):
    return Dimension, (self._value,)


@export('python.framework.tensor_shape.as_dimension')
def as_dimension(value):
  """The value as a Dimension."""
  return value if isinstance(value, Dimension) else Dimension(value)


@export('dimension_value', 'compat.dimension_value')
def dimension_value(dimension):
  """The size of a Dimension; other things as they are."""
  return dimension.value if isinstance(dimension, Dimension) else dimension


@export('dimension_at_index', 'compat.dimension_at_index')
def dimension_at_index(shape, index):
  """The Dimension at a place of a TensorShape; one of unknown size where the rank is not known."""
  assert isinstance(shape, TensorShape)
  return Dimension(None) if shape.ndims is None else shape.dims[index]


@export('TensorShape')
class TensorShape:
  """A shape of which the rank, or some sizes, may be unknown: TensorShape([None, 3]),
  TensorShape(None)."""
  __slots__ = ('_dims', '__weakref__')   # a tuple of int or None; None: unknown rank

  def __init__(self, dims):
    if dims is None:
      self._dims = None
    elif isinstance(dims, TensorShape):
      self._dims = dims._dims
    elif isinstance(dims, (str, bytes)):
      raise TypeError('A string has ambiguous TensorShape, please wrap in a list or convert to an '
                      'int: %s' % dims)
    elif hasattr(dims, 'unknown_rank') and hasattr(dims, 'dim'):  # a TensorShapeProto
      self._dims = None if dims.unknown_rank else tuple(
          None if d.size == -1 else d.size for d in dims.dim)
    else:
      try:
        items = iter(dims)
      except TypeError:
        self._dims = (Dimension(dims)._value,)
      else:
        self._dims = tuple(Dimension(d)._value for d in items)

  @classmethod
  def _known(cls, sizes):
    """Of a tuple of sizes with -1 for unknown, or None, as the library has it."""
    shape = object.__new__(cls)
    shape._dims = None if sizes is None else tuple(None if s < 0 else s for s in sizes)
    return shape

  def _sizes(self):
    """The form that the library takes."""
    return None if self._dims is None else tuple(-1 if d is None else d for d in self._dims)

  @property
  def dims(self):
    """The sizes as a list of Dimension, or None where the rank is not known."""
    return None if self._dims is None else [Dimension(d) for d in self._dims]

  @property
  def ndims(self):
    """The rank, or None where it is not known."""
    return None if self._dims is None else len(self._dims)

  rank = ndims

  def __len__(self):
    if self._dims is None:
      raise ValueError('Cannot take the length of Shape with unknown rank.')
    return len(self._dims)

  def __bool__(self):
    return self._dims is not None

  def __iter__(self):
    if self._dims is None:
      raise ValueError('Cannot iterate over a shape with unknown rank.')
    return iter([Dimension(d) for d in self._dims])

  def __getitem__(self, key):
    if self._dims is not None:
      if isinstance(key, slice):
        return TensorShape(self._dims[key])
      return Dimension(self._dims[key])
    if isinstance(key, slice):
      start = key.start if key.start is not None else 0
      stop = key.stop
      if key.step is not None:
        raise ValueError('Steps are not yet handled')
      if stop is None:
        return TensorShape(None)
      if start < 0 or stop < 0:
        return TensorShape(None)
      return TensorShape([None] * max(0, stop - start))
    return Dimension(None)

  def num_elements(self):
    """How many elements a tensor has, or None where that is not known."""
    if self._dims is None or None in self._dims:
      return None
    size = 1
    for d in self._dims:
      size *= d
    return size

  def is_fully_defined(self):
    """Whether the rank and all sizes are known."""
    return self._dims is not None and None not in self._dims

  def assert_is_fully_defined(self):
    """ValueError unless the rank and all sizes are known."""
    if not self.is_fully_defined():
      raise ValueError('Shape %s is not fully defined' % self)

  def is_compatible_with(self, other):
    """Whether a tensor could have both shapes."""
    other = as_shape(other)
    if self._dims is None or other._dims is None:
      return True
    return len(self._dims) == len(other._dims) and all(
        a is None or b is None or a == b for a, b in zip(self._dims, other._dims))

  def assert_is_compatible_with(self, other):
    """ValueError unless a tensor could have both shapes."""
    if not self.is_compatible_with(other):
      raise ValueError('Shapes %s and %s are incompatible' % (self, other))

  def most_specific_compatible_shape(self, other):
    """What is known of a tensor that has one of both shapes."""
    other = as_shape(other)
    if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
      return TensorShape(None)
    return TensorShape([a if a == b else None for a, b in zip(self._dims, other._dims)])

  def merge_with(self, other):
    """What is known of a tensor that has both shapes. ValueError where none can."""
    other = as_shape(other)
    if self._dims is None:
      return other
    if other._dims is None:
      return self
    try:
      self.assert_same_rank(other)
      return TensorShape([a.merge_with(b) for a, b in zip(self.dims, other.dims)])
    except ValueError:
      raise ValueError('Shapes %s and %s are not compatible' % (self, other)) from None

  def concatenate(self, other):
    """The sizes of both, one behind the other."""
    other = as_shape(other)
    if self._dims is None or other._dims is None:
      return TensorShape(None)
    return TensorShape(self._dims + other._dims)

  def assert_same_rank(self, other):
    """ValueError where both ranks are known and differ."""
    other = as_shape(other)
    if self._dims is not None and other._dims is not None and len(self._dims) != len(other._dims):
      raise ValueError('Shapes %s and %s must have the same rank' % (self, other))

  def assert_has_rank(self, rank):
    """ValueError where the rank is known and another one."""
    if self.ndims not in (None, rank):
      raise ValueError('Shape %s must have rank %d' % (self, rank))

  def with_rank(self, rank):
    """The shape with that rank. ValueError where it has another one."""
    try:
      return self.merge_with(TensorShape([None] * rank))
    except ValueError:
      raise ValueError('Shape %s must have rank %d' % (self, rank)) from None

  def with_rank_at_least(self, rank):
    """The shape. ValueError where its rank is known and smaller."""
    if self.ndims is not None and self.ndims < rank:
      raise ValueError('Shape %s must have rank at least %d' % (self, rank))
    return self

  def with_rank_at_most(self, rank):
    """The shape. ValueError where its rank is known and larger."""
    if self.ndims is not None and self.ndims > rank:
      raise ValueError('Shape %s must have rank at most %d' % (self, rank))
    return self

  def as_list(self):
    """The sizes, None for those that are not known. ValueError where the rank is not known."""
    if self._dims is None:
      raise ValueError('as_list() is not defined on an unknown TensorShape.')
    return list(self._dims)

  def as_proto(self):
    """A TensorShapeProto."""
    from leat._graph import message
    proto = message.of('TensorShapeProto')()
    if self._dims is None:
      proto.unknown_rank = True
    else:
      for d in self._dims:
        proto.dim.add().size = -1 if d is None else d
    return proto

  def __repr__(self):
    if self._dims is None:
      return 'TensorShape(None)'
    return 'TensorShape(%r)' % ([Dimension(d) for d in self._dims],)

  def __str__(self):
    if self._dims is None:
      return '<unknown>'
    if len(self._dims) == 1:
      return '(%s,)' % ('?' if self._dims[0] is None else self._dims[0])
    return '(%s)' % ', '.join('?' if d is None else str(d) for d in self._dims)

  def __eq__(self, other):
    try:
      other = as_shape(other)
    except (TypeError, ValueError):
      return NotImplemented
    return self._dims == other._dims

  def __ne__(self, other):
    try:
      other = as_shape(other)
    except (TypeError, ValueError):
      return NotImplemented
    if self._dims is None or other._dims is None:
      raise ValueError('The inequality of unknown TensorShapes is undefined.')
    return self._dims != other._dims

  def __hash__(self):
    return hash(self._dims)

  def __add__(self, other):
    return self.concatenate(other)

  def __radd__(self, other):
    return as_shape(other).concatenate(self)

  def __reduce__(self):
    return TensorShape, (self._dims,)


@export('python.framework.tensor_shape.as_shape')
def as_shape(shape):
  """The value as a TensorShape."""
  return shape if isinstance(shape, TensorShape) else TensorShape(shape)


@export('python.framework.tensor_shape.unknown_shape')
def unknown_shape(rank=None, ndims=None, **kwargs):
  """The shape of which nothing is known, or the rank alone."""
  if kwargs:
    raise TypeError('Unknown argument: %s' % sorted(kwargs))
  rank = ndims if rank is None else rank
  return TensorShape(None if rank is None else [None] * rank)


@export('python.framework.tensor_shape.scalar')
def scalar():
  """The shape of a single value."""
  return TensorShape([])


@export('python.framework.tensor_shape.vector')
def vector(length):
  """The shape of a vector."""
  return TensorShape([length])


@export('python.framework.tensor_shape.matrix')
def matrix(rows, cols):
  """The shape of a matrix."""
  return TensorShape([rows, cols])
