"""What a component of an element is, and which tensor carries it.

In the library an element is a flat list of tensors. A program sees a structure of components: a
tensor is carried by itself, a sparse tensor by a vector of three variants, a dataset or an Optional
by a variant. A TypeSpec stands for a component: it says its type and shape, and turns a component
into its carrier and back. Structures of them describe elements (element.py).
"""
from __future__ import annotations

from leat._data import nest
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.shape import TensorShape, as_shape
from leat._graph.tensor import Tensor
from leat._ops.sparse import SparseTensor


@export('TypeSpec', 'data.experimental.Structure')
class TypeSpec:
  """What a component is. `dtype`, `shape`, `value_type` are what the dataset's `output_types`,
  `output_shapes`, `output_classes` tell; `flat_type` and `flat_shape` are those of the carrier."""

  def __init__(self, shape, dtype, value_type):
    self.shape, self.dtype, self.value_type = shape, dtype, value_type
    self.flat_type, self.flat_shape = dtypes.variant, TensorShape([])

  legacy_shape = property(lambda self: self.shape)   # what `output_shapes` tells

  def __repr__(self):
    return '%s(%s, %r)' % (type(self).__name__, self.shape, self.dtype)

  def __eq__(self, other):
    return type(self) is type(other) and self.dtype == other.dtype and \
        self.shape.ndims == other.shape.ndims and (
            self.shape.ndims is None or self.shape.as_list() == other.shape.as_list())

  def __hash__(self):
    return hash((type(self), str(self.dtype)))

  def is_compatible_with(self, other):
    """Whether a component of the spec `other` may be one of this."""
    return type(self) is type(other) and self.dtype == other.dtype and \
        self.shape.is_compatible_with(other.shape)

  def with_shape(self, shape):
    """The same with another shape."""
    return type(self)(shape, self.dtype)

  def batched(self, count):
    """The spec of `count` (None: any number) components as one."""
    return self.with_shape(TensorShape([count]).concatenate(self.shape))

  def unbatched(self):
    """The spec of a slice along the first dimension."""
    return self.with_shape(self.shape[1:] if self.shape.ndims is not None else TensorShape(None))


@export('TensorSpec', 'contrib.framework.TensorSpec')
class TensorSpec(TypeSpec):
  """Shape, type and name of a tensor, which need not be there yet. `shape` may be None, for any."""

  def __init__(self, shape, dtype=dtypes.float32, name=None):
    super().__init__(as_shape(shape), dtypes.as_dtype(dtype), Tensor)
    self.flat_type, self.flat_shape, self.name = self.dtype, self.shape, name

  @classmethod
  def from_spec(cls, spec, name=None):
    """The same shape and type, and the same name unless one is given."""
    return cls(spec.shape, spec.dtype, name or spec.name)

  @classmethod
  def from_tensor(cls, tensor, name=None):
    """Shape and type of a tensor; the name is that of its operation unless one is given."""
    if not isinstance(tensor, Tensor):
      raise ValueError('`tensor` should be a tf.Tensor, but got type %s.' % type(tensor))
    return cls(tensor.get_shape(), tensor.dtype.base_dtype, name or tensor.op.name)

  def is_compatible_with(self, spec_or_tensor):
    """Whether a tensor, or one of that spec, may be of this one: the type is equal, and nothing
    that is known of the shapes differs."""
    if isinstance(spec_or_tensor, TypeSpec) and not isinstance(spec_or_tensor, TensorSpec):
      return False
    dtype, shape = (getattr(spec_or_tensor, what, None) for what in ('dtype', 'shape'))
    return dtype is not None and self.dtype.is_compatible_with(dtype) and \
        self.shape.is_compatible_with(shape)

  def with_shape(self, shape):
    return TensorSpec(shape, self.dtype)

  def _fields(self):
    return self.shape, self.dtype, self.name

  def __eq__(self, other):
    return super().__eq__(other) and self.name == other.name

  __hash__ = TypeSpec.__hash__

  def __reduce__(self):
    return type(self), self._fields()

  def __repr__(self):
    return 'TensorSpec(shape=%s, dtype=%r, name=%r)' % self._fields()

  def carrier(self, value):
    return value

  batched_carrier = carrier

  def value(self, carrier):
    if carrier.dtype.base_dtype != dtypes.resource:
      carrier.set_shape(self.shape)
    return carrier


@export('SparseTensorSpec')
class SparseTensorSpec(TypeSpec):
  """A sparse tensor. The variants are its indices, values and shape."""

  def __init__(self, shape=None, dtype=dtypes.float32):
    super().__init__(as_shape(shape), dtypes.as_dtype(dtype), SparseTensor)
    self.flat_shape = TensorShape(None)  # [3] for one, [n, 3] for n of them

  def carrier(self, value):
    return apply_op('SerializeSparse', sparse_indices=value.indices, sparse_values=value.values,
                    sparse_shape=value.dense_shape, out_type=dtypes.variant)

  def batched_carrier(self, value):
    """The variants of each row of the sparse tensor."""
    return apply_op('SerializeManySparse', sparse_indices=value.indices, sparse_values=value.values,
                    sparse_shape=value.dense_shape, out_type=dtypes.variant)

  def value(self, carrier):
    indices, values, shape = apply_op('DeserializeSparse', serialized_sparse=carrier,
                                      dtype=self.dtype)
    indices.set_shape([None, self.shape.ndims])
    shape.set_shape([self.shape.ndims])
    values.set_shape([None])
    return _Sparse(indices, values, shape, self.shape)


class _Sparse(SparseTensor):
  """A sparse tensor with a static shape that its parts do not tell."""

  def __init__(self, indices, values, dense_shape, static_shape):
    super().__init__(indices, values, dense_shape)
    self._static_shape = static_shape

  def get_shape(self):
    found = super().get_shape()
    known = self._static_shape
    return found.merge_with(known) if found.is_compatible_with(known) else found

  shape = property(get_shape)


class _NestedSpec(TypeSpec):
  """What holds elements, which the structure of specs `element_spec` describes. Its type, shape and
  class are the spec itself, as TensorFlow's output_types, output_shapes and output_classes are."""

  def __init__(self, element_spec, shape, value_type):
    super().__init__(as_shape(shape), self, value_type)
    self.element_spec = element_spec
    self.flat_shape = self.shape

  legacy_shape = property(lambda self: self)

  def __repr__(self):
    return '%s(%s)' % (type(self).__name__, self.element_spec)

  def __eq__(self, other):
    return type(self) is type(other) and self.element_spec == other.element_spec

  def __hash__(self):
    return hash((type(self), tuple(nest.flatten(self.element_spec))))

  def is_compatible_with(self, other):
    from leat._data import element
    return type(self) is type(other) and element.is_compatible(
        self.element_spec, other.element_spec)

  def with_shape(self, shape):
    return type(self)(self.element_spec, shape)

  def carrier(self, value):
    return value._variant

  batched_carrier = carrier


@export('data.DatasetSpec', 'data.experimental.DatasetStructure')
class DatasetSpec(_NestedSpec):
  """A dataset."""

  def __init__(self, element_spec, dataset_shape=()):
    from leat._data.dataset import Dataset
    super().__init__(element_spec, dataset_shape, Dataset)

  def value(self, carrier):
    from leat._data.dataset import Dataset
    return Dataset(carrier, self.element_spec)


@export('OptionalSpec', 'data.experimental.OptionalStructure')
class OptionalSpec(_NestedSpec):
  """An Optional."""

  def __init__(self, element_spec, shape=()):
    from leat._data.optional import Optional
    super().__init__(element_spec, shape, Optional)

  def value(self, carrier):
    from leat._data.optional import Optional
    return Optional(carrier, self.element_spec)


@export('data.experimental.TensorStructure')
def TensorStructure(dtype, shape):
  """The spec of a tensor, by its older name."""
  return TensorSpec(shape, dtype)


@export('data.experimental.SparseTensorStructure')
def SparseTensorStructure(dtype, shape):
  """The spec of a sparse tensor, by its older name."""
  return SparseTensorSpec(shape, dtype)
