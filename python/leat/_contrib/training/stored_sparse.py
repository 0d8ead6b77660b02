"""SparseTensors on their way through queues, as vectors of three strings."""
from __future__ import annotations

from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops.sparse import SparseTensor, SparseTensorValue


def stored(value):
  """(tensor, (type, rank) or None): a SparseTensor as strings [3], another value as it is."""
  if isinstance(value, SparseTensorValue):
    value = SparseTensor.from_value(value)
  if not isinstance(value, SparseTensor):
    return convert(value), None
  made = apply_op('SerializeSparse', sparse_indices=value.indices, sparse_values=value.values,
                  sparse_shape=value.dense_shape)
  made.set_shape([3])
  return made, (value.dtype.base_dtype, value.dense_shape.get_shape()[0].value)


def restored(tensor, info):
  """The SparseTensor [batch, ...] of serialized ones [batch, 3]."""
  if info is None:
    return tensor
  kind, rank = info
  indices, values, shape = apply_op('DeserializeManySparse', serialized_sparse=tensor, dtype=kind)
  if rank is not None:
    indices.set_shape([None, rank + 1])
    shape.set_shape([rank + 1])
  return SparseTensor(indices, values, shape)


def int32_ids(labels):
  """A scalar tensor or a vector of them as int32."""
  labels = convert(labels, name='labels')
  return labels if labels.dtype.base_dtype == dtypes.int32 else apply_op(
      'Cast', x=labels, DstT=dtypes.int32)
