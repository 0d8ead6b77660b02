"""Structures of components, which are elements of datasets, and of the specs that describe them.

A function here has a structure of specs (spec.py) as its first argument, which is called `element`
as in the rest of the package.
"""
from __future__ import annotations

from leat._data import nest
from leat._data.spec import DatasetSpec, OptionalSpec, SparseTensorSpec, TensorSpec, TypeSpec
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.tensor import Tensor
from leat._ops.sparse import SparseTensor, SparseTensorValue


def _spec_of(item):
  """The spec of a component, None for what is to become a tensor."""
  from leat._data.dataset import Dataset
  from leat._data.optional import Optional
  if isinstance(item, SparseTensor):
    return SparseTensorSpec(item.get_shape(), item.dtype)
  if isinstance(item, Dataset):
    return DatasetSpec(item._element)
  if isinstance(item, Optional):
    return OptionalSpec(item._element)
  return None


def normalized(value, name=None):
  """(structure of components, structure of their specs) of what a program gives as an element."""
  components, specs = [], []
  with name_scope(name or 'normalize_element'):
    for i, item in enumerate(nest.flatten(value)):
      if isinstance(item, SparseTensorValue):
        item = SparseTensor.from_value(item)
      spec = _spec_of(item)
      if spec is None:
        item = convert(item, name='component_%d' % i)
        spec = TensorSpec(item.get_shape(), item.dtype.base_dtype)
      components.append(item)
      specs.append(spec)
  return nest.pack_sequence_as(value, components), nest.pack_sequence_as(value, specs)


def carriers(element, value):
  """The tensors that carry a structure of components, in order."""
  return [s.carrier(v) for s, v in zip(nest.flatten(element), nest.flatten(value))]


def batched_carriers(element, value):
  """The same, of components whose first dimension counts elements."""
  return [s.batched_carrier(v) for s, v in zip(nest.flatten(element), nest.flatten(value))]


def value_of(element, tensors):
  """The structure of components that tensors carry."""
  return nest.pack_sequence_as(element, [
      s.value(t) for s, t in zip(nest.flatten(element), tensors)])


def flat_shapes(element):
  """The shapes of the tensors that carry an element."""
  return [s.flat_shape for s in nest.flatten(element)]


def described(element):
  """The attributes `output_types` and `output_shapes` of operations."""
  return {'output_types': [s.flat_type for s in nest.flatten(element)],
          'output_shapes': flat_shapes(element)}


def types_of(element):
  return nest.map_structure(lambda s: s.dtype, element)


def shapes_of(element):
  return nest.map_structure(lambda s: s.legacy_shape, element)


def classes_of(element):
  return nest.map_structure(lambda s: s if isinstance(s, (DatasetSpec, OptionalSpec)) else
                            s.value_type, element)


def of_types(types, shapes=None, classes=None):
  """The specs of components with these types, shapes and classes, structures as a program says
  them."""
  if classes is None:
    classes = nest.map_structure(lambda _: Tensor, types)
  else:
    nest.assert_same_structure(types, classes)
  if shapes is None:
    flat = [None] * len(nest.flatten(types))
  else:
    flat = nest.flatten_up_to(types, shapes)
  made = [_of_type(t, s, c) for t, s, c in zip(nest.flatten(types), flat, nest.flatten(classes))]
  return nest.pack_sequence_as(types, made)


def _of_type(dtype, shape, value_type):
  if isinstance(dtype, TypeSpec):
    return dtype
  if value_type is SparseTensor:
    return SparseTensorSpec(shape, dtype)
  if value_type is Tensor:
    return TensorSpec(shape, dtype)
  raise TypeError('%s is no class of components: it must be tf.Tensor or tf.SparseTensor' % (
      value_type,))


def is_compatible(element, other):
  """Whether values of the specs `other` may be used where `element` is asked for."""
  try:
    nest.assert_same_structure(element, other)
  except (TypeError, ValueError):
    return False
  return all(a.is_compatible_with(b) for a, b in zip(nest.flatten(element), nest.flatten(other)))


def joined(element, other):
  """The specs that values of both are of: sizes that differ are unknown."""
  return nest.map_structure(
      lambda a, b: a.with_shape(a.shape.most_specific_compatible_shape(b.shape)), element, other)


def batched(element, count):
  """The specs of `count` elements (None: any number) as one."""
  return nest.map_structure(lambda s: s.batched(count), element)


def unbatched(element):
  """The specs of a slice of each component."""
  return nest.map_structure(lambda s: s.unbatched(), element)
