"""BoundedTensorSpec: a TensorSpec that also says between which values the elements are."""
from __future__ import annotations

from leat._data.spec import TensorSpec
from leat._export import export
from leat._graph import dtype as dtypes


@export('contrib.framework.BoundedTensorSpec')
class BoundedTensorSpec(TensorSpec):
  """A TensorSpec with the least and the greatest value of its elements, arrays that broadcast with
  the shape."""

  def __init__(self, shape, dtype, minimum, maximum, name=None):
    super().__init__(shape, dtype, name)
    self._minimum = self._bound('minimum', minimum)
    self._maximum = self._bound('maximum', maximum)

  def _bound(self, argument, value):
    import numpy as np
    if value is None:
      raise ValueError('`%s` can not be None.' % argument)
    array = np.array(value, dtype=self.dtype.as_numpy_dtype)
    sizes = self.shape.as_list() if self.shape.ndims is not None else []
    if any(size != wanted and size != 1 and wanted not in (1, None)
           for size, wanted in zip(reversed(array.shape), reversed(sizes))):
      raise ValueError('`%s` %s is not compatible with shape %s.' % (argument, value, self.shape))
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
    return self.shape, self.dtype, self._minimum, self._maximum, self.name

  def __eq__(self, other):
    import numpy as np
    return TensorSpec.__eq__(self, other) is True and np.allclose(
        self._minimum, other._minimum) and np.allclose(self._maximum, other._maximum)

  __hash__ = TensorSpec.__hash__

  def __repr__(self):
    return 'BoundedTensorSpec(shape=%s, dtype=%r, name=%r, minimum=%r, maximum=%r)' % (
        self.shape, self.dtype, self.name, self._minimum, self._maximum)
