"""TensorSpec: what is known of a tensor that need not be there yet: shape, type, name."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.shape import as_shape


@export('TensorSpec', 'contrib.framework.TensorSpec')
class TensorSpec:
  """Shape, type and name of a tensor. `shape` may be None, for any."""
  __slots__ = ('_shape', '_dtype', '_name')

  def __init__(self, shape, dtype=dtypes.float32, name=None):
    self._shape, self._dtype, self._name = as_shape(shape), dtypes.as_dtype(dtype), name

  @classmethod
  def from_spec(cls, spec, name=None):
    """The same shape and type, and the same name unless one is given."""
    return cls(spec.shape, spec.dtype, name or spec.name)

  @classmethod
  def from_tensor(cls, tensor, name=None):
    """Shape and type of a tensor; the name is that of its operation unless one is given."""
    if not isinstance(tensor, _leat.Output):
      raise ValueError('`tensor` should be a tf.Tensor, but got type %s.' % type(tensor))
    return cls(tensor.get_shape(), tensor.dtype, name or tensor.op.name)

  @property
  def shape(self):
    return self._shape

  @property
  def dtype(self):
    return self._dtype

  @property
  def name(self):
    return self._name

  def is_compatible_with(self, spec_or_tensor):
    """Whether a tensor, or one of that spec, may be of this one: the type is equal, and nothing
    that is known of the shapes differs."""
    dtype, shape = (getattr(spec_or_tensor, what, None) for what in ('dtype', 'shape'))
    return dtype is not None and self._dtype.is_compatible_with(dtype) and \
        self._shape.is_compatible_with(shape)

  def _fields(self):
    return self._shape, self._dtype, self._name

  def __eq__(self, other):
    if not isinstance(other, TensorSpec):
      return NotImplemented
    return self._key() == other._key()

  def __ne__(self, other):
    return not self == other

  def __hash__(self):
    return hash(self._key()[:2])

  def _key(self):
    """What equal ones have in common; shapes of which the same is known are equal here."""
    return self._shape._sizes(), self._dtype, self._name, type(self)

  def __reduce__(self):
    return type(self), self._fields()

  def __repr__(self):
    return 'TensorSpec(shape=%s, dtype=%r, name=%r)' % self._fields()


@export('contrib.framework.BoundedTensorSpec')
class BoundedTensorSpec(TensorSpec):
  """A TensorSpec with the least and the greatest value of its elements, arrays that broadcast with
  the shape."""
  __slots__ = ('_minimum', '_maximum')

  def __init__(self, shape, dtype, minimum, maximum, name=None):
    super().__init__(shape, dtype, name)
    self._minimum = self._bound('minimum', minimum)
    self._maximum = self._bound('maximum', maximum)

  def _bound(self, argument, value):
    import numpy as np
    if value is None:
      raise ValueError('`%s` can not be None.' % argument)
    array = np.array(value, dtype=self._dtype.as_numpy_dtype)
    sizes = self._shape.as_list() if self._shape.ndims is not None else []
    if any(size != wanted and size != 1 and wanted not in (1, None)
           for size, wanted in zip(reversed(array.shape), reversed(sizes))):
      raise ValueError('`%s` %s is not compatible with shape %s.' % (argument, value, self._shape))
    array.setflags(write=False)
    return array

  @classmethod
  def from_spec(cls, spec, name=None):
    """The same, with the limits of the type where the spec has none."""
    dtype = dtypes.as_dtype(spec.dtype)
    return cls(spec.shape, dtype, getattr(spec, 'minimum', dtype.min),
               getattr(spec, 'maximum', dtype.max), name or spec.name)

  @property
  def minimum(self):
    return self._minimum

  @property
  def maximum(self):
    return self._maximum

  def _fields(self):
    return self._shape, self._dtype, self._minimum, self._maximum, self._name

  def __eq__(self, other):
    import numpy as np
    return TensorSpec.__eq__(self, other) is True and np.allclose(
        self._minimum, other._minimum) and np.allclose(self._maximum, other._maximum)

  __hash__ = TensorSpec.__hash__

  def __repr__(self):
    return 'BoundedTensorSpec(shape=%s, dtype=%r, name=%r, minimum=%r, maximum=%r)' % (
        self._shape, self._dtype, self._name, self._minimum, self._maximum)
