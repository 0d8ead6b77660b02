"""contrib.layers: feature columns, which say what a model makes of the features of examples.

A column is a value, equal to another one with the same settings. It knows which features it reads
(`config`, for parsing), makes of them ids, a SparseTensor [batch, n] with a number of `length` that
are possible, or numbers, a dense tensor [batch, n]. What is made of a column is kept in `Features`,
so that columns over one column share it.
"""
from __future__ import annotations

import collections

from leat._contrib.layers.dense import dense_to_sparse
from leat._contrib.lookup import tables
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops import array, math, parsing, sparse_math
from leat._ops.sparse import SparseTensor, sparse_tensor_to_dense


class Features:
  """Tensors of features by name, and what columns made of them."""

  def __init__(self, columns_to_tensors):
    self._tensors, self._made = columns_to_tensors, {}

  def raw(self, name):
    if name not in self._tensors:
      raise KeyError('The feature %s is not among %s' % (name, sorted(map(str, self._tensors))))
    return self._tensors[name]

  def sparse(self, name):
    """A feature as a SparseTensor; of a dense one, '' and -1 are no values."""
    tensor = self.raw(name)
    if isinstance(tensor, SparseTensor):
      return tensor
    tensor = convert(tensor)
    if tensor.get_shape().ndims == 1:
      tensor = array.expand_dims(tensor, 1)
    return dense_to_sparse(tensor, '' if tensor.dtype == dtypes.string else -1)

  def of(self, column):
    """What the column makes of the features."""
    if column in self._tensors:
      return self._tensors[column]
    if column not in self._made:
      self._made[column] = column.transformed(self)
    return self._made[column]


class _Column:
  """The base of columns. `key` orders them; `ids` gives (SparseTensor of ids, of weights or
  None)."""
  __slots__ = ()
  key = property(lambda self: '%s' % (self,))

  def ids(self, features):
    raise NotImplementedError('%s has no ids' % self.name)

  def dense(self, features):
    """Numbers [batch, dimension]."""
    raise ValueError('Column %s is not supported in DNN. Please use embedding_column or '
                     'one_hot_column.' % self.name)


def _ids_as_numbers(column, features):
  """How often, or with which weight, each id is there: [batch, length]."""
  ids, weights = column.ids(features)
  dense = sparse_tensor_to_dense(ids, default_value=-1, validate_indices=False)
  hot = array.one_hot(dense, column.length, dtype=dtypes.float32)
  if weights is not None:
    hot = hot * array.expand_dims(sparse_tensor_to_dense(weights, validate_indices=False), -1)
  return math.reduce_sum(hot, 1)


# ---- Numbers ------------------------------------------------------------------------------------


class _RealValuedColumn(_Column, collections.namedtuple('_RealValuedColumn', [
    'column_name', 'dimension', 'default_value', 'dtype', 'normalizer'])):
  """A feature of numbers."""
  __slots__ = ()
  name = property(lambda self: self.column_name)

  @property
  def config(self):
    default = None if self.default_value is None else list(self.default_value)
    return {self.column_name: parsing.FixedLenFeature([self.dimension], self.dtype, default)}

  def transformed(self, features):
    tensor = features.raw(self.column_name)
    return self.normalizer(tensor) if self.normalizer else tensor

  def dense(self, features):
    return array.reshape(math.cast(features.of(self), dtypes.float32), [-1, self.dimension])


@export('contrib.layers.real_valued_column')
def real_valued_column(column_name, dimension=1, default_value=None, dtype=dtypes.float32,
                       normalizer=None):
  """A feature of `dimension` numbers, which a function may normalise. ValueError or TypeError where
  the dimension is not positive, the type no number, or the default does not fit."""
  if not isinstance(dimension, int) or isinstance(dimension, bool):
    raise TypeError('dimension must be an integer. dimension: %s, column_name: %s' % (dimension,
                                                                                    column_name))
  if dimension < 1:
    raise ValueError('dimension must be greater than 0. dimension: %s, column_name: %s' % (
        dimension, column_name))
  dtype = dtypes.as_dtype(dtype)
  if not (dtype.is_integer or dtype.is_floating):
    raise ValueError('dtype must be convertible to float. dtype: %s, column_name: %s' % (
        dtype, column_name))
  if normalizer is not None and not callable(normalizer):
    raise TypeError('normalizer must be a callable. normalizer: %s' % (normalizer,))
  default_value = _default(default_value, dimension, dtype, column_name)
  return _RealValuedColumn(column_name, dimension, default_value, dtype, normalizer)


def _default(value, dimension, dtype, column_name):
  """The default as a tuple of so many numbers, None where there is none."""
  if value is None:
    return None
  values = value.tolist() if hasattr(value, 'tolist') else value
  if not isinstance(values, (list, tuple)):
    values = [values] * dimension
  if len(values) != dimension:
    raise ValueError('The length of default_value must be equal to dimension. default_value: %s, '
                     'dimension: %s, column_name: %s' % (value, dimension, column_name))
  for v in values:
    if isinstance(v, bool) or not isinstance(v, (int, float)) or (
        dtype.is_integer and not isinstance(v, int)):
      raise TypeError('default_value must be compatible with dtype. default_value: %s, dtype: %s, '
                      'column_name: %s' % (value, dtype, column_name))
  return tuple(float(v) if dtype.is_floating else v for v in values)


class _BucketizedColumn(_Column, collections.namedtuple('_BucketizedColumn', ['source_column',
                                                                            'boundaries'])):
  """Between which boundaries numbers are: for each number as many ids as there are buckets."""
  __slots__ = ()
  name = property(lambda self: '%s_bucketized' % self.source_column.name)
  config = property(lambda self: self.source_column.config)
  buckets = property(lambda self: len(self.boundaries) + 1)
  length = property(lambda self: self.buckets * self.source_column.dimension)
  combiner = 'sqrtn'

  def transformed(self, features):
    return apply_op('Bucketize', input=self.source_column.dense(features),
                    boundaries=list(self.boundaries))

  def ids(self, features):
    places = features.of(self)
    offsets = [self.buckets * i for i in range(self.source_column.dimension)]
    ids = math.cast(places + convert([offsets]), dtypes.int64)
    return dense_to_sparse(ids, -1), None

  def dense(self, features):
    hot = array.one_hot(features.of(self), self.buckets, dtype=dtypes.float32)
    return array.reshape(hot, [-1, self.length])


@export('contrib.layers.bucketized_column')
def bucketized_column(source_column, boundaries):
  """Numbers of a real-valued column as buckets between sorted boundaries."""
  if not isinstance(source_column, _RealValuedColumn):
    raise TypeError('source_column must be an instance of _RealValuedColumn. source_column: %s' % (
        source_column,))
  if not isinstance(boundaries, (list, tuple)):
    raise ValueError('boundaries must be a list or tuple. boundaries: %s' % (boundaries,))
  if list(boundaries) != sorted(boundaries):
    raise ValueError('boundaries must be a sorted list. boundaries: %s' % (boundaries,))
  return _BucketizedColumn(source_column, tuple(dict.fromkeys(boundaries)))


# ---- Ids ----------------------------------------------------------------------------------------


class _SparseColumn(_Column, collections.namedtuple('_SparseColumn', [
    'column_name', 'length', 'combiner', 'dtype', 'kind', 'settings'])):
  """A feature of ids, or of strings or integers that become ids: by a hash, by keys, by the lines
  of a file. `settings` are those of the kind."""
  __slots__ = ()
  name = property(lambda self: self.column_name)
  config = property(lambda self: {self.column_name: parsing.VarLenFeature(self.dtype)})

  def transformed(self, features):
    tensor = features.sparse(self.column_name)
    return SparseTensor(tensor.indices, _ID_OF[self.kind](self, tensor.values), tensor.dense_shape)

  def ids(self, features):
    return features.of(self), None

  def crossed(self, features):
    """What a cross reads of the column: the feature itself."""
    return features.sparse(self.column_name)


def _hashed(column, values):
  text = values if values.dtype == dtypes.string else apply_op('AsString', input=values)
  return apply_op('StringToHashBucketFast', input=text, num_buckets=column.length, name='lookup')


def _integerized(column, values):
  if not values.dtype.is_integer:
    raise ValueError('Column %s must have integers, has %s' % (column.name, values.dtype.name))
  return apply_op('FloorMod', x=math.cast(values, dtypes.int64), y=column.length, name='mod')


def _keyed(column, values):
  keys, default = column.settings
  return tables.index_table_from_tensor(list(keys), default_value=default, dtype=column.dtype,
                                        name='lookup').lookup(values)


def _of_file(column, values):
  file, buckets, size, default = column.settings
  return tables.index_table_from_file(file, buckets, size, default, key_dtype=column.dtype,
                                      name='%s_lookup' % column.name).lookup(values)


_ID_OF = {'hash': _hashed, 'integer': _integerized, 'keys': _keyed, 'file': _of_file}


def _sparse(kind, column_name, length, combiner, dtype, settings=()):
  dtype = dtypes.as_dtype(dtype)
  if length < 1:
    raise ValueError('A column must have at least 1 id, %s has %s' % (column_name, length))
  if not (dtype.is_integer or dtype == dtypes.string):
    raise ValueError('dtype must be string or integer. dtype: %s, column_name: %s' % (
        dtype, column_name))
  return _SparseColumn(column_name, length, combiner, dtype, kind, settings)


@export('contrib.layers.sparse_column_with_integerized_feature')
def sparse_column_with_integerized_feature(column_name, bucket_size, combiner='sum',
                                           dtype=dtypes.int64):
  """A feature of ids from 0 to bucket_size - 1."""
  if not dtypes.as_dtype(dtype).is_integer:
    raise ValueError('dtype must be an integer. dtype is %s, column_name: %s' % (dtype,
                                                                                 column_name))
  return _sparse('integer', column_name, bucket_size, combiner, dtype)


@export('contrib.layers.sparse_column_with_hash_bucket')
def sparse_column_with_hash_bucket(column_name, hash_bucket_size, combiner='sum',
                                   dtype=dtypes.string):
  """A feature of strings or integers, whose ids are hashes."""
  return _sparse('hash', column_name, hash_bucket_size, combiner, dtype)


@export('contrib.layers.sparse_column_with_keys')
def sparse_column_with_keys(column_name, keys, default_value=-1, combiner='sum',
                            dtype=dtypes.string):
  """A feature of strings or integers, whose ids are their places in `keys`."""
  keys = tuple(keys)
  return _sparse('keys', column_name, len(keys), combiner, dtype, (keys, default_value))


@export('contrib.layers.sparse_column_with_vocabulary_file')
def sparse_column_with_vocabulary_file(column_name, vocabulary_file, num_oov_buckets=0,
                                       vocab_size=None, default_value=-1, combiner='sum',
                                       dtype=dtypes.string):
  """A feature of strings or integers, whose ids are the numbers of `vocab_size` lines of a file,
  with buckets behind for others."""
  if vocab_size is None:
    raise ValueError('vocab_size should be defined. column_name: %s' % column_name)
  return _sparse('file', column_name, vocab_size + num_oov_buckets, combiner, dtype,
                 (vocabulary_file, num_oov_buckets, vocab_size, default_value))


class _WeightedSparseColumn(_Column, collections.namedtuple('_WeightedSparseColumn', [
    'sparse_id_column', 'weight_column_name', 'dtype'])):
  """A sparse column whose ids have weights, of another feature."""
  __slots__ = ()
  name = property(lambda self: '%s_weighted_by_%s' % (self.sparse_id_column.name,
                                                     self.weight_column_name))
  length = property(lambda self: self.sparse_id_column.length)
  combiner = property(lambda self: self.sparse_id_column.combiner)

  @property
  def config(self):
    return dict(self.sparse_id_column.config, **{
        self.weight_column_name: parsing.VarLenFeature(self.dtype)})

  def transformed(self, features):
    ids = features.of(self.sparse_id_column)
    weights = features.raw(self.weight_column_name)
    if not isinstance(weights, SparseTensor):
      values = array.gather_nd(convert(weights), ids.indices)
      weights = SparseTensor(ids.indices, values, ids.dense_shape)
    values = math.cast(weights.values, dtypes.float32)
    return ids, SparseTensor(weights.indices, values, weights.dense_shape)

  def ids(self, features):
    return features.of(self)


@export('contrib.layers.weighted_sparse_column')
def weighted_sparse_column(sparse_id_column, weight_column_name, dtype=dtypes.float32):
  """The ids of a sparse column, each with the weight at its place in another feature."""
  dtype = dtypes.as_dtype(dtype)
  if not (dtype.is_integer or dtype.is_floating):
    raise ValueError('dtype is not convertible to float. dtype: %s' % dtype)
  return _WeightedSparseColumn(sparse_id_column, weight_column_name, dtype)


class _CrossedColumn(_Column, collections.namedtuple('_CrossedColumn', [
    'columns', 'hash_bucket_size', 'hash_key', 'combiner', 'ckpt_to_load_from',
    'tensor_name_in_ckpt'])):
  """Combinations of values of columns, hashed."""
  __slots__ = ()
  name = property(lambda self: '_X_'.join(sorted(c.name for c in self.columns)))
  length = property(lambda self: self.hash_bucket_size)

  @property
  def config(self):
    return {name: feature for c in self.columns for name, feature in c.config.items()}

  def _leaves(self):
    for column in self.columns:
      if isinstance(column, _CrossedColumn):
        yield from column._leaves()
      else:
        yield column

  def transformed(self, features):
    inputs = [c.crossed(features) if isinstance(c, _SparseColumn) else c.ids(features)[0]
              for c in sorted(self._leaves(), key=lambda c: c.name)]
    return sparse_math.sparse_cross_hashed(inputs, self.hash_bucket_size, self.hash_key)

  def ids(self, features):
    return features.of(self), None


@export('contrib.layers.crossed_column')
def crossed_column(columns, hash_bucket_size, combiner='sum', ckpt_to_load_from=None,
                   tensor_name_in_ckpt=None, hash_key=None):
  """Combinations of the values of sparse, bucketized and crossed columns, by a hash."""
  columns = tuple(sorted(columns, key=lambda c: c.name))
  if len(columns) < 2:
    raise ValueError('columns must contain at least 2 elements. columns: %s' % (columns,))
  for column in columns:
    if not isinstance(column, (_SparseColumn, _CrossedColumn, _BucketizedColumn)):
      raise TypeError('columns must be a set of _SparseColumn, _CrossedColumn, or '
                      '_BucketizedColumn instances (column: %s)' % (column,))
  if hash_bucket_size < 2:
    raise ValueError('hash_bucket_size must be at least 2. hash_bucket_size: %s' %
                     hash_bucket_size)
  _check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
  return _CrossedColumn(columns, hash_bucket_size, hash_key, combiner, ckpt_to_load_from,
                        tensor_name_in_ckpt)


def _check_checkpoint(path, tensor_name):
  if (path is None) != (tensor_name is None):
    raise ValueError('Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of '
                     'them.')


# ---- Numbers of ids -----------------------------------------------------------------------------


def _check_ids(column):
  if not isinstance(column, (_SparseColumn, _WeightedSparseColumn, _CrossedColumn)):
    raise TypeError('sparse_id_column must be a sparse, weighted or crossed column: %s' % (column,))


class _OneHotColumn(_Column, collections.namedtuple('_OneHotColumn', ['sparse_id_column'])):
  """A number for each id that is possible."""
  __slots__ = ()
  name = property(lambda self: '%s_one_hot' % self.sparse_id_column.name)
  config = property(lambda self: self.sparse_id_column.config)

  def dense(self, features):
    return _ids_as_numbers(self.sparse_id_column, features)


@export('contrib.layers.one_hot_column')
def one_hot_column(sparse_id_column):
  """How often each id is there, or the sum of its weights."""
  _check_ids(sparse_id_column)
  return _OneHotColumn(sparse_id_column)


class EmbeddingColumn(_Column, collections.namedtuple('_EmbeddingColumn', [
    'sparse_id_column', 'dimension', 'combiner', 'initializer', 'ckpt_to_load_from',
    'tensor_name_in_ckpt', 'max_norm', 'trainable', 'shared_name'])):
  """Embeddings of ids, combined; their variable is made by input_from_feature_columns."""
  __slots__ = ()
  name = property(lambda self: '%s_embedding' % self.sparse_id_column.name)
  config = property(lambda self: self.sparse_id_column.config)
  length = property(lambda self: self.sparse_id_column.length)


@export('contrib.layers.embedding_column')
def embedding_column(sparse_id_column, dimension, combiner='mean', initializer=None,
                     ckpt_to_load_from=None, tensor_name_in_ckpt=None, max_norm=None,
                     trainable=True):
  """Embeddings of a sparse, weighted or crossed column; values are read from a checkpoint where one
  is named."""
  _check_ids(sparse_id_column)
  if initializer is not None and not callable(initializer):
    raise ValueError('initializer must be callable if specified. Embedding of column_name: %s' %
                     sparse_id_column.name)
  _check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
  return EmbeddingColumn(sparse_id_column, dimension, combiner, initializer, ckpt_to_load_from,
                         tensor_name_in_ckpt, max_norm, trainable, None)


@export('contrib.layers.shared_embedding_columns')
def shared_embedding_columns(sparse_id_columns, dimension, combiner='mean',
                             shared_embedding_name=None, initializer=None, ckpt_to_load_from=None,
                             tensor_name_in_ckpt=None, max_norm=None, trainable=True):
  """embedding_column of several columns with one variable; they must have as many ids."""
  columns = list(sparse_id_columns)
  if not columns:
    raise ValueError('The input sparse_id_columns should have at least one element.')
  for column in columns:
    _check_ids(column)
    if column.length != columns[0].length:
      raise ValueError('The input list of sparse_id_columns should have the same number of ids: '
                       '%s' % columns)
  name = shared_embedding_name or '_'.join(sorted(c.name for c in columns)) + '_shared_embedding'
  _check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
  return [EmbeddingColumn(c, dimension, combiner, initializer, ckpt_to_load_from,
                          tensor_name_in_ckpt, max_norm, trainable, name) for c in columns]


@export('contrib.layers.create_feature_spec_for_parsing')
def create_feature_spec_for_parsing(feature_columns):
  """{name of a feature: what tf.parse_example makes of it} for columns, a list or the values of a
  dict. ValueError where two columns want different things of one feature."""
  columns = feature_columns.values() if isinstance(feature_columns, dict) else feature_columns
  found = {}
  for column in columns:
    for name, feature in column.config.items():
      if name in found and found[name] != feature:
        raise ValueError('feature %s is wanted as %s and as %s' % (name, found[name], feature))
      found[name] = feature
  return found


@export('contrib.layers.infer_real_valued_columns')
def infer_real_valued_columns(features):
  """A real-valued column for each tensor of a dict, or one named '' of a tensor. ValueError where a
  shape is not [batch, n], or where something is no dense tensor of numbers."""
  if not isinstance(features, dict):
    return [_inferred(features, '')]
  return [_inferred(tensor, name) for name, tensor in sorted(features.items())]


def _inferred(tensor, name):
  if isinstance(tensor, SparseTensor):
    raise ValueError('SparseTensor is not supported for auto detection. Please define '
                     'corresponding FeatureColumn for tensor %s %s.' % (name, tensor))
  if not (tensor.dtype.is_integer or tensor.dtype.is_floating):
    raise ValueError('Non integer or non floating types are not supported for auto detection. '
                     'Please define corresponding FeatureColumn for tensor %s %s.' % (name, tensor))
  sizes = tensor.get_shape().as_list()
  if len(sizes) not in (1, 2):
    raise ValueError('Expected a vector or matrix, got %s for tensor %s' % (sizes, name))
  if len(sizes) == 2 and sizes[1] is None:
    raise ValueError('The second dimension of tensor %s must be known' % name)
  return real_valued_column(name, dimension=sizes[1] if len(sizes) == 2 else 1, dtype=tensor.dtype)
