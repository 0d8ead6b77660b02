"""Sequence columns: features that each step of a sequence has, as the input of a recurrent network.

A sequence column reads a SparseTensor [batch, steps] (or [batch, steps, values]), such as
parse_example and parse_single_sequence_example give, and becomes a tensor [batch, steps, width] and
the lengths [batch]. Categories are wrapped by embedding_column or indicator_column, as elsewhere:
these see each step as an example of its own, [batch * steps, values]. A step that a sequence does
not have is padding: zeros, or a numeric column's default.
"""
from __future__ import annotations

import collections
import math as plain_math

from leat._export import export
from leat._feature import categorical, column, numeric
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import control_dependencies
from leat._graph.shape import TensorShape
from leat._ops import array, control_flow, math
from leat._ops.sparse import SparseTensor


class SequenceCategoricalColumn(column.CategoricalColumn, collections.namedtuple(
    'SequenceCategoricalColumn', ['categorical_column'])):
  """The categories of each step, ids [batch, steps, values]."""
  __slots__ = ()
  name = property(lambda self: self.categorical_column.name)
  parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
  num_buckets = property(lambda self: self.categorical_column.num_buckets)

  def transform(self, features):
    pair = self.categorical_column.sparse(features)
    return column.IdWeightPair(*(None if x is None else _by_step(x) for x in pair))

  def sparse(self, features):
    return features.get(self)

  def steps(self, features):
    """(ids and weights of each step [batch * steps, values], [batch, steps], lengths [batch])."""
    pair = features.get(self)
    shape = pair.id_tensor.dense_shape
    flat = column.IdWeightPair(*(
        None if x is None else _reshaped(x, [shape[0] * shape[1], shape[2]]) for x in pair))
    return flat, math.cast(shape[:2], dtypes.int32), sequence_lengths(pair.id_tensor)


class SequenceNumericColumn(column.FeatureColumn, collections.namedtuple('SequenceNumericColumn', [
    'key', 'shape', 'default_value', 'dtype', 'normalizer_fn'])):
  """Numbers of each step, as floats."""
  __slots__ = ()
  name = property(lambda self: self.key)
  variable_shape = property(lambda self: TensorShape(self.shape))

  @property
  def parse_example_spec(self):
    from leat._ops import parsing
    return {self.key: parsing.VarLenFeature(self.dtype)}

  def transform(self, features):
    values = features.get(self.key)
    if not isinstance(values, SparseTensor):
      raise ValueError('The feature of a sequence_numeric_column must be a SparseTensor. key: %s, '
                       'given: %s' % (self.key, values))
    return values if self.normalizer_fn is None else self.normalizer_fn(values)

  def sequence(self, features, weight_collections=None, trainable=None):
    """(tensor [batch, steps] + shape, lengths [batch])."""
    del weight_collections, trainable
    values = features.get(self)
    dense = apply_op('SparseToDense', sparse_indices=values.indices,
                     output_shape=values.dense_shape, sparse_values=values.values,
                     default_value=constant_of(self.default_value, values.dtype))
    sizes = array.concat([array.shape(dense)[:1], [-1], list(self.shape)], 0)
    # Without a dimension of their own the values of a step follow each other in the row.
    rank = values.dense_shape.get_shape()[0].value
    each = plain_math.prod(self.shape) if rank == 2 else 1
    tensor = math.cast(array.reshape(dense, sizes), dtypes.float32)
    return tensor, sequence_lengths(values, each)


def _reshaped(sparse, shape):
  indices, shape = apply_op('SparseReshape', input_indices=sparse.indices,
                            input_shape=sparse.dense_shape, new_shape=array.stack(shape))
  return SparseTensor(indices, sparse.values, shape)


def _by_step(sparse):
  """The SparseTensor as [batch, steps, all values of a step]."""
  shape = sparse.dense_shape
  return _reshaped(sparse, [shape[0], shape[1], math.reduce_prod(shape[2:])])


def sequence_lengths(sparse, values_per_step=1):
  """How many steps each row of a SparseTensor has, [batch] int64: up to its last value."""
  rows, places = sparse.indices[:, 0], sparse.indices[:, 1]
  lengths = apply_op('SegmentMax', data=places + 1, segment_ids=rows)
  if values_per_step > 1:
    lengths = (lengths + (values_per_step - 1)) // values_per_step
  # The rows behind the last one that has a value.
  missing = sparse.dense_shape[:1] - array.shape(lengths, out_type=dtypes.int64)
  return array.concat([lengths, array.fill(missing, constant_of(0, dtypes.int64))], 0)


@export('feature_column.sequence_categorical_column_with_identity',
        'contrib.feature_column.sequence_categorical_column_with_identity')
def sequence_categorical_column_with_identity(key, num_buckets, default_value=None):
  """Steps whose categories are the numbers 0 to num_buckets - 1, as
  categorical_column_with_identity takes them; for an embedding_column or indicator_column in a
  sequence_input_layer."""
  return SequenceCategoricalColumn(categorical.categorical_column_with_identity(
      key, num_buckets, default_value))


@export('feature_column.sequence_categorical_column_with_hash_bucket',
        'contrib.feature_column.sequence_categorical_column_with_hash_bucket')
def sequence_categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=dtypes.string):
  """Steps whose categories are the hashes of strings or integers."""
  return SequenceCategoricalColumn(categorical.categorical_column_with_hash_bucket(
      key, hash_bucket_size, dtype))


@export('feature_column.sequence_categorical_column_with_vocabulary_file',
        'contrib.feature_column.sequence_categorical_column_with_vocabulary_file')
def sequence_categorical_column_with_vocabulary_file(
    key, vocabulary_file, vocabulary_size=None, num_oov_buckets=0, default_value=None,
    dtype=dtypes.string):
  """Steps whose categories are the lines of a file."""
  return SequenceCategoricalColumn(categorical.categorical_column_with_vocabulary_file(
      key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype))


@export('feature_column.sequence_categorical_column_with_vocabulary_list',
        'contrib.feature_column.sequence_categorical_column_with_vocabulary_list')
def sequence_categorical_column_with_vocabulary_list(
    key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0):
  """Steps whose categories are the items of a list."""
  return SequenceCategoricalColumn(categorical.categorical_column_with_vocabulary_list(
      key, vocabulary_list, dtype, default_value, num_oov_buckets))


@export('feature_column.sequence_numeric_column', 'contrib.feature_column.sequence_numeric_column')
def sequence_numeric_column(key, shape=(1,), default_value=0., dtype=dtypes.float32,
                            normalizer_fn=None):
  """Numbers of each step: a SparseTensor [batch, steps] or, where a step has several,
  [batch, steps * values] or [batch, steps] + shape. `default_value` pads, `normalizer_fn` changes
  the SparseTensor."""
  return SequenceNumericColumn(*numeric.checked(key, shape, default_value, dtype, normalizer_fn))


@export('contrib.feature_column.sequence_input_layer')
def sequence_input_layer(features, feature_columns, weight_collections=None, trainable=True):
  """(The sequence columns beside each other in the order of their names [batch, steps, width], the
  lengths [batch] of int64); `features` is {key: tensor}. The step fails where columns have other
  lengths than the first."""
  from leat._feature import layers
  columns = column.checked_list(feature_columns)
  for each in columns:
    if not hasattr(each, 'sequence'):
      raise ValueError('All feature_columns must be of type _SequenceDenseColumn. You can wrap a '
                       'sequence_categorical_column with an embedding_column or indicator_column. '
                       'Given (type %s): %s' % (type(each), each))
  collected = layers.collections_of(weight_collections)
  with layers.variable_scope(None, default_name='sequence_input_layer',
                             values=list(features.values())):
    found, tensors, lengths = column.Features(features), [], []
    for each in sorted(columns, key=lambda c: c.name):
      with layers.variable_scope(None, default_name=layers.scope_of(each)):
        tensor, length = each.sequence(found, collected, trainable)
        shape, width = array.shape(tensor), each.variable_shape.num_elements()
        tensors.append(array.reshape(tensor, [shape[0], shape[1], width]))
        lengths.append(length)
    layers.check_batch(tensors)
    layers.check_batch(lengths)
    return array.concat(tensors, -1), _equal(lengths)


def _equal(lengths):
  """The first of the lengths, once all others are known to be the same."""
  checks = [control_flow.Assert(math.reduce_all(apply_op('Equal', x=lengths[0], y=other)), [
      'Sequence columns must have the same lengths, have', lengths[0], other])
            for other in lengths[1:]]
  if not checks:
    return lengths[0]
  with control_dependencies(checks):
    return array.identity(lengths[0])


@export('contrib.feature_column.concatenate_context_input')
def concatenate_context_input(context_input, sequence_input):
  """What belongs to each whole sequence [batch, width] behind what its steps have
  [batch, steps, values], both of float32: [batch, steps, values + width]."""
  context, steps = convert(context_input), convert(sequence_input)
  for tensor, name, rank in ((steps, 'sequence_input', 3), (context, 'context_input', 2)):
    if tensor.get_shape().ndims not in (None, rank):
      raise ValueError('%s must have rank %d, is %s' % (name, rank, tensor))
    if tensor.dtype != dtypes.float32:
      raise TypeError('%s must have dtype float32, got %s' % (name, tensor.dtype))
  repeated = apply_op('Tile', input=array.expand_dims(context, 1), multiples=array.concat(
      [[1], array.shape(steps)[1:2], [1]], 0))
  return array.concat([steps, repeated], 2)
