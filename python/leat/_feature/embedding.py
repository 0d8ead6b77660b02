"""indicator_column, embedding_column, shared_embedding_columns: categories as vectors."""
from __future__ import annotations

import collections
import math as plain_math

from leat._export import export
from leat._feature.column import CategoricalColumn, DenseColumn
from leat._feature.sequence import SequenceCategoricalColumn
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.shape import TensorShape
from leat._ops import array, embedding as embeddings, initializers, math
from leat._ops.variable_scope import get_variable


def combined(weights, pair, combiner, max_norm=None):
  """The rows of `weights` [categories, width] at the ids of each example, [batch, width], combined
  by 'sum', 'mean' or 'sqrtn'; ids below 0 count as not there, and an example without any has
  zeros."""
  if combiner not in ('sum', 'mean', 'sqrtn'):
    raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum', is %r" % (combiner,))
  ids, places = pair.id_tensor.values, pair.id_tensor.indices[:, 0]
  kept = ids >= 0
  factors = None if pair.weight_tensor is None else array.boolean_mask(
      math.cast(pair.weight_tensor.values, dtypes.float32), kept)
  ids, rows = array.boolean_mask(ids, kept), array.boolean_mask(places, kept)
  batch = math.cast(pair.id_tensor.dense_shape[0], dtypes.int32)
  total = lambda data: apply_op('UnsortedSegmentSum', data=data, segment_ids=rows,
                                num_segments=batch)
  found = embeddings.embedding_lookup(weights, ids, partition_strategy='div', max_norm=max_norm)
  if factors is not None:
    found = found * array.expand_dims(factors, 1)
  result = total(found)
  if combiner == 'sum':
    return result
  factors = array.ones_like(ids, dtype=dtypes.float32) if factors is None else factors
  size = total(factors) if combiner == 'mean' else math.sqrt(total(math.square(factors)))
  return math.div_no_nan(result, array.expand_dims(size, 1))


def _check_kind(column, is_sequence):
  """ValueError where a column is for sequences and the layer is not, or the reverse."""
  inner = column.categorical_column
  if isinstance(inner, SequenceCategoricalColumn) != is_sequence:
    wrong, right = ('not be', 'input_layer, use categorical_column_with_*; or use '
                    'sequence_input_layer') if not is_sequence else (
                        'be', 'sequence_input_layer, use sequence_categorical_column_with_*')
    raise ValueError('In the column %s: categorical_column must %s of type '
                     '_SequenceCategoricalColumn. For %s. Given: %s' % (
                         column.name, wrong, right, inner))


class IndicatorColumn(DenseColumn, collections.namedtuple('IndicatorColumn', [
    'categorical_column'])):
  """How often each category is there, [batch, categories]."""
  __slots__ = ()
  name = property(lambda self: self.categorical_column.name + '_indicator')
  parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
  variable_shape = property(lambda self: TensorShape([self.categorical_column.num_buckets]))

  def transform(self, features):
    _check_kind(self, False)
    return self._counts(self.categorical_column.sparse(features))

  def _counts(self, pair):
    ids, weights = pair
    count = self.categorical_column.num_buckets
    values = ids.values
    hot = array.one_hot(values, count, on_value=1.0, off_value=0.0)
    if weights is not None:
      hot = hot * array.expand_dims(weights.values, 1)
    made = apply_op('UnsortedSegmentSum', data=hot, segment_ids=ids.indices[:, 0],
                    num_segments=math.cast(ids.dense_shape[0], dtypes.int32))
    made.set_shape([None, count])
    return made

  def dense(self, features, weight_collections=None, trainable=None):
    return features.get(self)

  def sequence(self, features, weight_collections=None, trainable=None):
    """(How often each category is in each step [batch, steps, categories], lengths [batch])."""
    _check_kind(self, True)
    flat, outer, lengths = self.categorical_column.steps(features)
    return _unflattened(self._counts(flat), outer, self.variable_shape), lengths


def _unflattened(tensor, outer, inner):
  """A tensor [batch * steps, width] as [batch, steps, width]."""
  made = array.reshape(tensor, array.concat([outer, inner.as_list()], 0))
  made.set_shape([None, None] + inner.as_list())
  return made


class EmbeddingColumn(DenseColumn, collections.namedtuple('EmbeddingColumn', [
    'categorical_column', 'dimension', 'combiner', 'initializer', 'ckpt_to_load_from',
    'tensor_name_in_ckpt', 'max_norm', 'trainable', 'shared_name', 'suffix'])):
  """The rows of a variable at the categories, combined. With `shared_name`, columns of that name
  have one variable."""
  __slots__ = ()
  name = property(lambda self: self.categorical_column.name + self.suffix)
  parse_example_spec = property(lambda self: self.categorical_column.parse_example_spec)
  variable_shape = property(lambda self: TensorShape([self.dimension]))

  @property
  def scope_name(self):
    """The scope of the variable."""
    return self.shared_name or self.name

  def transform(self, features):
    return self.categorical_column.sparse(features)

  def _weights(self, weight_collections, trainable):
    shape = [self.categorical_column.num_buckets, self.dimension]
    graph = graphs.get_default_graph()
    if self.shared_name:
      shared = graph.get_collection_ref('_shared_embedding:' + self.shared_name)
      if shared:
        if shared[0].get_shape().as_list() != shape:
          raise ValueError('Shared embedding %s has the shape %s, must be %s' % (
              self.shared_name, shared[0].get_shape(), shape))
        return shared[0]
    made = get_variable('embedding_weights', shape, dtypes.float32, self.initializer,
                        trainable=self.trainable and trainable is not False,
                        collections=weight_collections)
    if self.shared_name:
      graph.add_to_collection('_shared_embedding:' + self.shared_name, made)
    if self.ckpt_to_load_from is not None:
      from leat import train
      train.init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: made})
    return made

  def sequence(self, features, weight_collections=None, trainable=None):
    """(The vectors of each step [batch, steps, dimension], lengths [batch])."""
    _check_kind(self, True)
    flat, outer, lengths = self.categorical_column.steps(features)
    weights = self._weights(weight_collections, trainable)
    found = combined(weights, flat, self.combiner, self.max_norm)
    return _unflattened(found, outer, self.variable_shape), lengths

  def dense(self, features, weight_collections=None, trainable=None):
    _check_kind(self, False)
    weights = self._weights(weight_collections, trainable)
    found = combined(weights, features.get(self), self.combiner, self.max_norm)
    found.set_shape([None, self.dimension])
    return found


@export('feature_column.indicator_column')
def indicator_column(categorical_column):
  """A categorical column as how often each category is there."""
  return IndicatorColumn(categorical_column)


def _check_embedding(dimension, initializer, checkpoint, tensor_name):
  if dimension is None or dimension < 1:
    raise ValueError('Invalid dimension %s.' % dimension)
  if (checkpoint is None) != (tensor_name is None):
    raise ValueError('Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of '
                     'them.')
  if initializer is not None and not callable(initializer):
    raise ValueError('initializer must be callable if specified, is %s' % (initializer,))
  return initializer or initializers.truncated_normal_initializer(
      mean=0.0, stddev=1 / plain_math.sqrt(dimension))


@export('feature_column.embedding_column')
def embedding_column(categorical_column, dimension, combiner='mean', initializer=None,
                     ckpt_to_load_from=None, tensor_name_in_ckpt=None, max_norm=None,
                     trainable=True):
  """A categorical column as vectors of that dimension, which are learned, or taken from a
  checkpoint; those of several categories of an example are combined."""
  initializer = _check_embedding(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
  if not isinstance(categorical_column, CategoricalColumn):
    raise ValueError('categorical_column must be a categorical column. Given: %s' % (
        categorical_column,))
  return EmbeddingColumn(categorical_column, dimension, combiner, initializer, ckpt_to_load_from,
                         tensor_name_in_ckpt, max_norm, trainable, None, '_embedding')


@export('feature_column.shared_embedding_columns')
def shared_embedding_columns(categorical_columns, dimension, combiner='mean', initializer=None,
                             shared_embedding_collection_name=None, ckpt_to_load_from=None,
                             tensor_name_in_ckpt=None, max_norm=None, trainable=True):
  """An embedding column for each of the categorical columns, all with one variable."""
  initializer = _check_embedding(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
  columns = sorted(categorical_columns, key=lambda c: c.name)
  first = columns[0]
  for column in columns[1:]:
    if type(column) is not type(first) or column.num_buckets != first.num_buckets:
      raise ValueError('To use shared_embedding_column, all categorical_columns must have the same '
                       'type and number of buckets. Given: %s and %s' % (first, column))
  name = shared_embedding_collection_name or \
      '_'.join(c.name for c in columns) + '_shared_embedding'
  return [EmbeddingColumn(c, dimension, combiner, initializer, ckpt_to_load_from,
                          tensor_name_in_ckpt, max_norm, trainable, name, '_shared_embedding')
          for c in categorical_columns]
