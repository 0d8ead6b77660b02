"""Categorical columns: categories by their numbers, by a hash, or by their place in a list."""
from __future__ import annotations

import collections

from leat._export import export
from leat._feature.column import (CategoricalColumn, IdWeightPair, check_type, to_sparse)
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of
from leat._graph.scope import control_dependencies
from leat._ops import array, control_flow, math
from leat._ops.sparse import SparseTensor


def _with_values(sparse, values):
  return SparseTensor(sparse.indices, values, sparse.dense_shape)


def _check_key(key):
  if not isinstance(key, str):
    raise ValueError('key must be a string. Got type %s. Given: %s.' % (type(key), key))


class _KeyColumn(CategoricalColumn):
  """A column of one feature, whose name is its key; `kind` is its type in examples."""
  __slots__ = ()
  name = property(lambda self: self.key)

  @property
  def parse_example_spec(self):
    from leat._ops import parsing
    return {self.key: parsing.VarLenFeature(self.kind)}

  def transform(self, features):
    sparse = to_sparse(features.get(self.key))
    check_type(sparse.dtype, 'feature %s:' % self.key)
    return _with_values(sparse, self._ids(sparse.values))


class IdentityColumn(_KeyColumn, collections.namedtuple('IdentityColumn', [
    'key', 'number', 'default_value'])):
  """Numbers that are the ids."""
  __slots__ = ()
  kind = property(lambda self: dtypes.int64)
  num_buckets = property(lambda self: self.number)

  def _ids(self, values):
    if not values.dtype.is_integer:
      raise ValueError('Invalid input, not integer. key: %s dtype: %s' % (self.key, values.dtype))
    ids = math.cast(values, dtypes.int64)
    inside = apply_op('LogicalAnd', x=ids >= 0, y=ids < self.number)
    if self.default_value is not None:
      default = array.fill(array.shape(ids), constant_of(self.default_value, dtypes.int64))
      return array.where(inside, ids, default)
    check = control_flow.Assert(math.reduce_all(inside), [
        'The ids of the column %s must be from 0 to %d, are' % (self.key, self.number - 1), ids])
    with control_dependencies([check]):
      return array.identity(ids)


class HashColumn(_KeyColumn, collections.namedtuple('HashColumn', ['key', 'number', 'kind'])):
  """The hash of each value."""
  __slots__ = ()
  num_buckets = property(lambda self: self.number)

  def _ids(self, values):
    if values.dtype.is_integer != self.kind.is_integer:
      raise ValueError('Column dtype and SparseTensors dtype must be compatible. key: %s, column '
                       'dtype: %s, tensor dtype: %s' % (self.key, self.kind, values.dtype))
    text = apply_op('AsString', input=values) if values.dtype.is_integer else values
    return apply_op('StringToHashBucketFast', input=text, num_buckets=self.number)


class _VocabularyColumn(_KeyColumn):
  """The place of each value in a vocabulary; others have a default, or ids behind it."""
  __slots__ = ()

  def _ids(self, values):
    from leat._ops import lookup
    if values.dtype.is_integer != self.kind.is_integer:
      raise ValueError('Column dtype and SparseTensors dtype must be compatible. key: %s, column '
                       'dtype: %s, tensor dtype: %s' % (self.key, self.kind, values.dtype))
    values = math.cast(values, dtypes.int64) if values.dtype.is_integer else values
    table = lookup.StaticVocabularyTable(self._initializer(), self.num_oov_buckets) \
        if self.num_oov_buckets else lookup.StaticHashTable(self._initializer(),
                                                            self.default_value)
    return table.lookup(values)


class VocabularyListColumn(_VocabularyColumn, collections.namedtuple('VocabularyListColumn', [
    'key', 'vocabulary_list', 'kind', 'default_value', 'num_oov_buckets'])):
  """The vocabulary is a list."""
  __slots__ = ()
  num_buckets = property(lambda self: len(self.vocabulary_list) + self.num_oov_buckets)

  def _initializer(self):
    from leat._ops import lookup
    keys = dtypes.int64 if self.kind.is_integer else dtypes.string
    return lookup.KeyValueTensorInitializer(
        constant_of(list(self.vocabulary_list), keys),
        constant_of(list(range(len(self.vocabulary_list))), dtypes.int64))


class VocabularyFileColumn(_VocabularyColumn, collections.namedtuple('VocabularyFileColumn', [
    'key', 'vocabulary_file', 'vocabulary_size', 'num_oov_buckets', 'kind', 'default_value'])):
  """The vocabulary is a file with a value in each line."""
  __slots__ = ()
  num_buckets = property(lambda self: self.vocabulary_size + self.num_oov_buckets)

  def _initializer(self):
    from leat._ops import lookup
    keys = dtypes.int64 if self.kind.is_integer else dtypes.string
    place = lookup.TextFileIndex
    return lookup.TextFileInitializer(self.vocabulary_file, keys, place.WHOLE_LINE, dtypes.int64,
                                      place.LINE_NUMBER, self.vocabulary_size)


class WeightedColumn(CategoricalColumn, collections.namedtuple('WeightedColumn', [
    'categorical_column', 'weight_feature_key', 'dtype'])):
  """Categories with weights, which are another feature."""
  __slots__ = ()
  num_buckets = property(lambda self: self.categorical_column.num_buckets)

  @property
  def name(self):
    return '%s_weighted_by_%s' % (self.categorical_column.name, self.weight_feature_key)

  @property
  def parse_example_spec(self):
    from leat._ops import parsing
    found = dict(self.categorical_column.parse_example_spec)
    if self.weight_feature_key in found:
      raise ValueError('Parse config %s already exists for %s.' % (
          found[self.weight_feature_key], self.weight_feature_key))
    found[self.weight_feature_key] = parsing.VarLenFeature(self.dtype)
    return found

  def transform(self, features):
    weights = features.get(self.weight_feature_key)
    if weights.dtype.base_dtype != self.dtype:
      raise ValueError('Bad dtype, expected %s, but got %s.' % (self.dtype, weights.dtype))
    if not isinstance(weights, SparseTensor):
      # The weight 0 is one: it is not taken for a value that is not there.
      weights = to_sparse(weights, ignored=0.0)
    if not weights.dtype.is_floating:
      weights = math.cast(weights, dtypes.float32)
    return features.get(self.categorical_column), weights

  def sparse(self, features):
    return IdWeightPair(*features.get(self))


# ---- Functions ----------------------------------------------------------------------------------


@export('feature_column.categorical_column_with_identity')
def categorical_column_with_identity(key, num_buckets, default_value=None):
  """Categories that are the numbers 0 to num_buckets - 1; others are `default_value`, or an error
  of the step."""
  _check_key(key)
  if num_buckets < 1:
    raise ValueError('num_buckets %s < 1, column_name %s' % (num_buckets, key))
  if default_value is not None and not 0 <= default_value < num_buckets:
    raise ValueError('default_value %s not in range [0, %s), column_name %s' % (
        default_value, num_buckets, key))
  return IdentityColumn(key, num_buckets, default_value)


@export('feature_column.categorical_column_with_hash_bucket')
def categorical_column_with_hash_bucket(key, hash_bucket_size, dtype=dtypes.string):
  """Strings or integers by their hash, which some of them share."""
  _check_key(key)
  if hash_bucket_size is None:
    raise ValueError('hash_bucket_size must be set. key: %s' % key)
  if hash_bucket_size < 1:
    raise ValueError('hash_bucket_size must be at least 1. hash_bucket_size: %s, key: %s' % (
        hash_bucket_size, key))
  dtype = dtypes.as_dtype(dtype)
  check_type(dtype, 'column_name: %s' % key)
  return HashColumn(key, hash_bucket_size, dtype)


def _check_oov(default_value, num_oov_buckets, key):
  if num_oov_buckets:
    if default_value not in (None, -1):
      raise ValueError("Can't specify both num_oov_buckets and default_value in %s." % key)
    if num_oov_buckets < 0:
      raise ValueError('Invalid num_oov_buckets %s in %s.' % (num_oov_buckets, key))


@export('feature_column.categorical_column_with_vocabulary_list')
def categorical_column_with_vocabulary_list(key, vocabulary_list, dtype=None, default_value=-1,
                                            num_oov_buckets=0):
  """Strings or integers by their place in a list. Others have the id `default_value` (-1 is no
  category), or, by their hash, one of num_oov_buckets ids behind the list."""
  import numpy as np
  _check_key(key)
  if vocabulary_list is None or len(vocabulary_list) < 1:
    raise ValueError('vocabulary_list %s must be non-empty, column_name: %s' % (
        vocabulary_list, key))
  if len(set(vocabulary_list)) != len(vocabulary_list):
    raise ValueError('Duplicate keys in vocabulary_list %s, column_name: %s' % (
        vocabulary_list, key))
  found = dtypes.as_dtype(np.array(vocabulary_list).dtype)
  _check_oov(default_value, num_oov_buckets, key)
  check_type(found, 'column_name: %s vocabulary' % key)
  dtype = found if dtype is None else dtypes.as_dtype(dtype)
  if dtype.is_integer != found.is_integer:
    raise ValueError('dtype %s and vocabulary dtype %s do not match, column_name: %s' % (
        dtype, found, key))
  items = tuple(v.item() if hasattr(v, 'item') else v for v in vocabulary_list)
  return VocabularyListColumn(key, items, dtype, default_value, num_oov_buckets)


@export('feature_column.categorical_column_with_vocabulary_file')
def categorical_column_with_vocabulary_file(key, vocabulary_file, vocabulary_size=None,
                                            num_oov_buckets=0, default_value=None,
                                            dtype=dtypes.string):
  """The same with a file that has a value in each line, of which the first vocabulary_size are
  used."""
  _check_key(key)
  if not vocabulary_file:
    raise ValueError('Missing vocabulary_file in %s.' % key)
  if vocabulary_size is None:
    with open(vocabulary_file, 'rb') as f:
      vocabulary_size = sum(1 for _ in f)
  if vocabulary_size < 1:
    raise ValueError('Invalid vocabulary_size in %s.' % key)
  _check_oov(default_value, num_oov_buckets, key)
  dtype = dtypes.as_dtype(dtype)
  check_type(dtype, 'column_name: %s' % key)
  return VocabularyFileColumn(key, vocabulary_file, vocabulary_size, num_oov_buckets or 0, dtype,
                              -1 if default_value is None else default_value)


@export('feature_column.weighted_categorical_column')
def weighted_categorical_column(categorical_column, weight_feature_key, dtype=dtypes.float32):
  """The categories of a column with the weights of the feature `weight_feature_key`."""
  if not isinstance(weight_feature_key, str):
    raise ValueError('weight_feature_key must be a string, is %r' % (weight_feature_key,))
  dtype = dtypes.as_dtype(dtype)
  if not (dtype.is_integer or dtype.is_floating):
    raise ValueError('dtype %s is not convertible to float.' % dtype)
  return WeightedColumn(categorical_column, weight_feature_key, dtype)
