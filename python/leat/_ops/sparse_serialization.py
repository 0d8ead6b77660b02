"""Sparse tensors as strings, and back."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._ops.sparse import SparseTensor
from leat._ops.sparse_shape import sparse_of


@export('serialize_sparse', 'io.serialize_sparse')
def serialize_sparse(sp_input, name=None, out_type=dtypes.string):
  """A vector of three strings, or variants."""
  sp_input = sparse_of(sp_input)
  return apply_op('SerializeSparse', name=name, sparse_indices=sp_input.indices,
                  sparse_values=sp_input.values, sparse_shape=sp_input.dense_shape,
                  out_type=out_type)


@export('serialize_many_sparse', 'io.serialize_many_sparse')
def serialize_many_sparse(sp_input, name=None, out_type=dtypes.string):
  """A matrix: a row of three strings for each index of the first dimension."""
  sp_input = sparse_of(sp_input)
  return apply_op('SerializeManySparse', name=name, sparse_indices=sp_input.indices,
                  sparse_values=sp_input.values, sparse_shape=sp_input.dense_shape,
                  out_type=out_type)


def _known_rank(made, rank):
  indices, values, shape = made
  indices.set_shape([None, rank])
  shape.set_shape([rank])
  return SparseTensor(indices, values, shape)


@export('deserialize_many_sparse', 'io.deserialize_many_sparse')
def deserialize_many_sparse(serialized_sparse, dtype, rank=None, name=None):
  """The sparse tensors of the rows as one, with a first dimension for the rows. `rank` is that of
  each of them."""
  made = apply_op('DeserializeManySparse', name=name, serialized_sparse=serialized_sparse,
                  dtype=dtype)
  return _known_rank(made, None if rank is None else rank + 1)


@export('deserialize_sparse')
def deserialize_sparse(serialized_sparse, dtype, rank=None, name=None):
  """The sparse tensors of three strings each, joined along as many first dimensions as the strings
  have before their last."""
  made = apply_op('DeserializeSparse', name=name, serialized_sparse=serialized_sparse, dtype=dtype)
  return _known_rank(made, rank)
