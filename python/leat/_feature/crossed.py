"""crossed_column: combinations of the categories of several columns, by their hash."""
from __future__ import annotations

import collections

from leat._export import export
from leat._feature.categorical import HashColumn
from leat._feature.column import CategoricalColumn
from leat._feature.numeric import BucketizedColumn
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._ops import math
from leat._ops.sparse import SparseTensor

_HASH_KEY = 0xDECAFCAFFE


class CrossedColumn(CategoricalColumn, collections.namedtuple('CrossedColumn', [
    'keys', 'hash_bucket_size', 'hash_key'])):
  """The hash of each combination."""
  __slots__ = ()
  num_buckets = property(lambda self: self.hash_bucket_size)
  name = property(lambda self: '_X_'.join(sorted(_leaf_names(self))))

  @property
  def parse_example_spec(self):
    from leat._ops import parsing
    found = {}
    for key in self.keys:
      found.update({key: parsing.VarLenFeature(dtypes.string)} if isinstance(key, str) else
                   key.parse_example_spec)
    return found

  def transform(self, features):
    found = []
    for key in _leaves(self):
      if isinstance(key, str):
        found.append(features.get(key))
        continue
      pair = key.sparse(features)
      if pair.weight_tensor is not None:
        raise ValueError('crossed_column does not support weight_tensor, but the given column '
                         'populates weight_tensor. Given column: %s' % key.name)
      found.append(pair.id_tensor)
    return crossed(found, self.hash_bucket_size, self.hash_key)


def crossed(tensors, num_buckets, hash_key=None):
  """The SparseTensor of the hashes of all combinations of the values in each row of the tensors,
  which are dense or sparse."""
  wide = lambda t: math.cast(t, dtypes.int64) if t.dtype.is_integer else t
  sparse = [t for t in tensors if isinstance(t, SparseTensor)]
  made = apply_op(
      'SparseCross', indices=[t.indices for t in sparse], values=[wide(t.values) for t in sparse],
      shapes=[t.dense_shape for t in sparse],
      dense_inputs=[wide(t) for t in tensors if not isinstance(t, SparseTensor)],
      hashed_output=True, num_buckets=num_buckets,
      hash_key=_HASH_KEY if hash_key is None else hash_key, out_type=dtypes.int64,
      internal_type=dtypes.int64)
  return SparseTensor(*made)


def _leaves(column):
  """What is crossed: keys and columns that are not crossed ones."""
  found = []
  for key in column.keys:
    found += _leaves(key) if isinstance(key, CrossedColumn) else [key]
  return found


def _leaf_names(column):
  return [leaf if isinstance(leaf, str) else leaf.name for leaf in _leaves(column)]


@export('feature_column.crossed_column')
def crossed_column(keys, hash_bucket_size, hash_key=None):
  """All combinations of the values of at least two features (by key) or categorical columns."""
  if not hash_bucket_size or hash_bucket_size < 1:
    raise ValueError('hash_bucket_size must be > 1. hash_bucket_size: %s' % hash_bucket_size)
  if not keys or len(keys) < 2:
    raise ValueError('keys must be a list with length > 1. Given: %s' % (keys,))
  for key in keys:
    if not isinstance(key, (str, CategoricalColumn)):
      raise ValueError('Unsupported key type. All keys must be either string, or categorical '
                       'column except _HashedCategoricalColumn. Given: %s' % (key,))
    if isinstance(key, HashColumn) and not isinstance(key, BucketizedColumn):
      raise ValueError('categorical_column_with_hash_bucket is not supported for crossing. Hashing '
                       'before crossing will increase probability of collision. Instead, use the '
                       'feature name as a string. Given: %s' % (key,))
  return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
