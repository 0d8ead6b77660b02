"""numeric_column, bucketized_column: numbers, and numbers as the ranges that they lie in."""
from __future__ import annotations

import collections

from leat._export import export
from leat._feature.column import CategoricalColumn, DenseColumn, IdWeightPair
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.shape import TensorShape
from leat._ops import array, math
from leat._ops.sparse import SparseTensor


def _filled(default, shape, dtype, key):
  """The default value as a nested tuple of the shape, or None."""
  if default is None:
    return None
  import numpy as np
  found = np.asarray(default)
  if found.dtype.kind not in 'iufb' or dtype.is_integer and found.dtype.kind == 'f':
    raise TypeError('default_value must be compatible with dtype. default_value: %s, dtype: %s, '
                    'key: %s' % (default, dtype, key))
  if found.ndim and found.shape != tuple(shape):
    raise ValueError('The shape of default_value must be equal to given shape. default_value: %s, '
                     'shape: %s, key: %s' % (default, shape, key))
  nested = lambda x: tuple(nested(i) for i in x) if isinstance(x, list) else x
  return nested(np.broadcast_to(found, shape).astype(dtype.as_numpy_dtype).tolist())


class NumericColumn(DenseColumn, collections.namedtuple('NumericColumn', [
    'key', 'shape', 'default_value', 'dtype', 'normalizer_fn'])):
  """Numbers, as floats."""
  __slots__ = ()
  name = property(lambda self: self.key)
  variable_shape = property(lambda self: TensorShape(self.shape))

  @property
  def parse_example_spec(self):
    from leat._ops import parsing
    return {self.key: parsing.FixedLenFeature(self.shape, self.dtype, self.default_value)}

  def transform(self, features):
    tensor = features.get(self.key)
    if isinstance(tensor, SparseTensor):
      raise ValueError('The corresponding Tensor of numerical column must be a Tensor. '
                       'SparseTensor is not supported. key: %s' % self.key)
    if self.normalizer_fn is not None:
      tensor = self.normalizer_fn(tensor)
    return math.cast(tensor, dtypes.float32)

  def dense(self, features, weight_collections=None, trainable=None):
    return features.get(self)


class BucketizedColumn(DenseColumn, CategoricalColumn, collections.namedtuple('BucketizedColumn', [
    'source_column', 'boundaries'])):
  """The range of each number: one-hot as a dense column, its number as a category."""
  __slots__ = ()
  name = property(lambda self: self.source_column.name + '_bucketized')
  parse_example_spec = property(lambda self: self.source_column.parse_example_spec)

  @property
  def variable_shape(self):
    return TensorShape(tuple(self.source_column.shape) + (len(self.boundaries) + 1,))

  @property
  def num_buckets(self):
    return (len(self.boundaries) + 1) * self.source_column.shape[0]

  def transform(self, features):
    return apply_op('Bucketize', input=features.get(self.source_column),
                    boundaries=list(self.boundaries))

  def dense(self, features, weight_collections=None, trainable=None):
    return array.one_hot(math.cast(features.get(self), dtypes.int64), len(self.boundaries) + 1,
                         on_value=1.0, off_value=0.0)

  def sparse(self, features):
    """Each number of an example has categories of its own."""
    buckets = features.get(self)
    batch, width = array.shape(buckets)[0], self.source_column.shape[0]
    rows = apply_op('Tile', input=array.expand_dims(math.range(batch), 1), multiples=[1, width])
    columns = apply_op('Tile', input=math.range(width), multiples=[batch])
    rows, flat = array.reshape(rows, [-1]), array.reshape(buckets, [-1])
    places = math.cast(array.transpose(array.stack([rows, columns])), dtypes.int64)
    ids = math.cast(flat + (len(self.boundaries) + 1) * columns, dtypes.int64)
    shape = math.cast(array.stack([batch, width]), dtypes.int64)
    return IdWeightPair(SparseTensor(places, ids, shape), None)


def checked(key, shape, default_value, dtype, normalizer_fn):
  """The arguments of a column of numbers, shape as a tuple, dtype as a DType."""
  if not isinstance(key, str):
    raise ValueError('key must be a string. Got type %s. Given: %s.' % (type(key), key))
  if not isinstance(shape, (list, tuple)):
    shape = [shape]
  shape = tuple(shape)
  for size in shape:
    if not isinstance(size, int):
      raise TypeError('shape dimensions must be integer. shape: %s, key: %s' % (shape, key))
    if size < 1:
      raise ValueError('shape dimensions must be greater than 0. shape: %s, key: %s' % (shape, key))
  dtype = dtypes.as_dtype(dtype)
  if not (dtype.is_integer or dtype.is_floating):
    raise ValueError('dtype must be convertible to float. dtype: %s, key: %s' % (dtype, key))
  if normalizer_fn is not None and not callable(normalizer_fn):
    raise TypeError('normalizer_fn must be a callable. Given: %s' % (normalizer_fn,))
  return key, shape, default_value, dtype, normalizer_fn


@export('feature_column.numeric_column')
def numeric_column(key, shape=(1,), default_value=None, dtype=dtypes.float32, normalizer_fn=None):
  """Numbers: a tensor [batch] + shape under `key`. `normalizer_fn(tensor)` is applied first."""
  key, shape, _, dtype, _ = given = checked(key, shape, default_value, dtype, normalizer_fn)
  return NumericColumn(*given)._replace(default_value=_filled(default_value, shape, dtype, key))


@export('feature_column.bucketized_column')
def bucketized_column(source_column, boundaries):
  """The ranges between sorted boundaries that the numbers of a numeric column lie in; a boundary
  belongs to the range behind it."""
  if not isinstance(source_column, NumericColumn):
    raise ValueError('source_column must be a column generated with numeric_column(). Given: %s' % (
        source_column,))
  if len(source_column.shape) > 1:
    raise ValueError('source_column must be one-dimensional column. Given: %s' % (source_column,))
  if not boundaries or not isinstance(boundaries, (list, tuple)):
    raise ValueError('boundaries must be a sorted list.')
  if any(low >= high for low, high in zip(boundaries, boundaries[1:])):
    raise ValueError('boundaries must be a sorted list.')
  return BucketizedColumn(source_column, tuple(boundaries))
