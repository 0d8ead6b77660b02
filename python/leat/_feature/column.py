"""Columns of data as inputs of a model: what every kind of column can do.

A column says which features it reads and what they become: a dense column a tensor [batch, ...], a
categorical one the ids (and weights) of the categories of each example, as SparseTensors. A column
may be made of others (a bucketized one of a numeric one). `Features` computes each column once for
a batch, and brings the features that a program gives into a form that columns can use.
"""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops import array, math
from leat._ops.sparse import SparseTensor, SparseTensorValue

IdWeightPair = collections.namedtuple('IdWeightPair', ['id_tensor', 'weight_tensor'])


class FeatureColumn:
  """The base of columns; each is a namedtuple too, so that equal ones are equal."""
  __slots__ = ()

  @property
  def name(self):
    """The name, which is that of a scope of variables."""
    raise NotImplementedError

  @property
  def parse_example_spec(self):
    """{key: what parse_example reads} of the features of the column."""
    raise NotImplementedError

  def transform(self, features):
    """The column for a batch of Features."""
    raise NotImplementedError


class DenseColumn(FeatureColumn):
  """A column that is a tensor [batch] + variable_shape."""
  __slots__ = ()

  @property
  def variable_shape(self):
    raise NotImplementedError

  def dense(self, features, weight_collections=None, trainable=None):
    """The tensor of a batch."""
    raise NotImplementedError


class CategoricalColumn(FeatureColumn):
  """A column of categories with the ids 0 to num_buckets - 1."""
  __slots__ = ()

  @property
  def num_buckets(self):
    raise NotImplementedError

  def sparse(self, features):
    """The IdWeightPair of a batch."""
    return IdWeightPair(features.get(self), None)


class Features:
  """The features of a batch, {key: tensor}, and the columns that were computed of them."""

  def __init__(self, features):
    self._given, self._made = features, {}

  def get(self, column):
    """The tensor of a column, or of a feature by its key, [batch, ...]."""
    if column not in self._made:
      self._made[column] = self._feature(column) if isinstance(column, str) else \
          column.transform(self)
    return self._made[column]

  def _feature(self, key):
    if key not in self._given:
      raise ValueError('Feature %s is not in features dictionary.' % key)
    value = self._given[key]
    if isinstance(value, SparseTensorValue):
      value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
      return value
    value = convert(value)
    rank = value.get_shape().ndims
    if rank == 0:
      raise ValueError('Feature (key: %s) cannot have rank 0. Give: %s' % (key, value))
    return array.expand_dims(value, -1) if rank == 1 else value


def to_sparse(value, ignored=None):
  """A SparseTensor of a dense tensor, without '' or -1 (or `ignored`)."""
  if isinstance(value, SparseTensor):
    return value
  value = convert(value)
  if ignored is None:
    ignored = '' if value.dtype.base_dtype == dtypes.string else -1
  kept = apply_op('NotEqual', x=value, y=convert(ignored, value.dtype.base_dtype))
  places = array.where(kept)
  shape = math.cast(array.shape(value), dtypes.int64)
  shape.set_shape([value.get_shape().ndims])
  return SparseTensor(places, array.gather_nd(value, places), shape)


def check_type(dtype, what):
  """ValueError where the type is no string and no integer."""
  if not (dtype.is_integer or dtype.base_dtype == dtypes.string):
    raise ValueError('%s dtype must be string or integer. dtype: %s.' % (what, dtype))


def checked_list(columns):
  """The columns as a list of different ones; ValueError where two have a name."""
  if isinstance(columns, dict):
    raise ValueError('Expected feature_columns to be iterable, found dict.')
  columns = [columns] if isinstance(columns, FeatureColumn) else list(columns)
  if not columns:
    raise ValueError('feature_columns must not be empty.')
  names = {}
  for column in columns:
    if not isinstance(column, FeatureColumn):
      raise ValueError('Items of feature_columns must be a _FeatureColumn. Given (type %s): %s.' % (
          type(column), column))
    if column.name in names:
      raise ValueError('Duplicate feature column name found for columns: %s and %s. This usually '
                       'means that these columns refer to same base feature. Either one must be '
                       'discarded or a duplicated but renamed item must be inserted in features '
                       'dict.' % (column, names[column.name]))
    names[column.name] = column
  return columns


@export('feature_column.make_parse_example_spec')
def make_parse_example_spec(feature_columns):
  """{key: FixedLenFeature or VarLenFeature} of all features that the columns read."""
  result = {}
  for column in feature_columns:
    if not isinstance(column, FeatureColumn):
      raise ValueError('All feature_columns must be _FeatureColumn instances. Given: %s' % (
          column,))
    for key, spec in column.parse_example_spec.items():
      if result.get(key, spec) != spec:
        raise ValueError('feature_columns contain different parse_spec for key %s. Given %s and '
                         '%s' % (key, spec, result[key]))
      result[key] = spec
  return result
