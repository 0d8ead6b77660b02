"""tf.parse_example and its kin: Examples and SequenceExamples as tensors.

A program says for each feature what it is to become: FixedLenFeature a dense tensor, VarLenFeature
a sparse one, FixedLenSequenceFeature a dense one of the longest list, SparseFeature a sparse tensor
whose indices are features too. `_Keys` sorts these by what the ops distinguish, sparse and dense
keys, in the order of their names.
"""
from __future__ import annotations

import collections
import re

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.shape import TensorShape, as_shape
from leat._ops import array, control_flow, math
from leat._ops.sparse import SparseTensor, sparse_reorder


@export('VarLenFeature', 'io.VarLenFeature')
class VarLenFeature(collections.namedtuple('VarLenFeature', ['dtype'])):
  """A feature with any number of values: a SparseTensor."""


@export('FixedLenFeature', 'io.FixedLenFeature')
class FixedLenFeature(collections.namedtuple('FixedLenFeature',
                                             ['shape', 'dtype', 'default_value'])):
  """How tf.parse_example reads a feature that has the values of a tensor of that shape in each
  example. Without a default_value an example without it fails."""

  def __new__(cls, shape, dtype, default_value=None):
    return super().__new__(cls, shape, dtype, default_value)


@export('FixedLenSequenceFeature', 'io.FixedLenSequenceFeature')
class FixedLenSequenceFeature(collections.namedtuple(
    'FixedLenSequenceFeature', ['shape', 'dtype', 'allow_missing', 'default_value'])):
  """A feature with any number of tensors of that shape, filled up to the longest in the batch with
  the default, or zeros. Without allow_missing it must be there."""

  def __new__(cls, shape, dtype, allow_missing=False, default_value=None):
    return super().__new__(cls, shape, dtype, allow_missing, default_value)


@export('SparseFeature', 'io.SparseFeature')
class SparseFeature(collections.namedtuple(
    'SparseFeature', ['index_key', 'value_key', 'dtype', 'size', 'already_sorted'])):
  """A SparseTensor: the feature value_key has its values, the feature index_key, or one for each
  dimension, their indices of int64. `size` is that of the dimension, or a list of sizes."""

  def __new__(cls, index_key, value_key, dtype, size, already_sorted=False):
    return super().__new__(cls, index_key, value_key, dtype, size, already_sorted)


# ---- What the features say ----------------------------------------------------------------------


class _Keys:
  """The keys of features, as ops take them: sparse ones with types, dense ones with types, shapes
  and defaults. `allowed` are the classes of features that the caller can have."""

  def __init__(self, features, allowed):
    self.sparse, self.dense = {}, {}      # {key: dtype}
    self.shapes, self.defaults = {}, {}   # of the dense keys
    self.variable = set()                 # dense keys with any number of tensors
    self.missing = []                     # those of them that need not be there
    for key in sorted(features or {}):
      feature = features[key]
      if not isinstance(feature, allowed):
        raise ValueError("Unsupported %s %s for key '%s'" % (
            type(feature).__name__, feature, key))
      _ADD[type(feature)](self, key, feature)
    both = set(self.sparse) & set(self.dense)
    if both:
      raise ValueError('Dense and sparse keys must not intersect; intersection: %s' % sorted(both))

  def add_sparse(self, key, dtype):
    if dtype is None:
      raise ValueError('Missing type for feature %s.' % key)
    dtype = dtypes.as_dtype(dtype)
    if self.sparse.setdefault(key, dtype) != dtype:
      raise ValueError('Conflicting type %s vs %s for feature %s.' % (
          self.sparse[key], dtype, key))

  def add_dense(self, key, feature, shape):
    if feature.dtype is None:
      raise ValueError('Missing type for feature %s.' % key)
    self.dense[key] = dtypes.as_dtype(feature.dtype)
    self.shapes[key] = shape
    self.defaults[key] = feature.default_value

  def dense_defaults(self):
    """A tensor for each dense key: the default in the feature's shape, what fills a sequence up, or
    nothing, where the feature must be there."""
    return [self._default(key) for key in sorted(self.dense)]

  def _default(self, key):
    dtype, shape, value = self.dense[key], self.shapes[key], self.defaults[key]
    name = re.sub(r'[^A-Za-z0-9_.\-/]', '_', key)
    if key in self.variable:
      if value is None:
        value = '' if dtype == dtypes.string else dtype.as_numpy_dtype()
      return array.reshape(convert(value, dtype, 'padding_' + name), constant_of([], dtypes.int32))
    if value is None:
      return constant_of([], dtype)
    return array.reshape(convert(value, dtype, 'key_' + name), shape)

  def sorted_sparse(self):
    return sorted(self.sparse), [self.sparse[k] for k in sorted(self.sparse)]

  def sorted_dense(self):
    """(keys, types, shapes); the first size of a variable one is not known."""
    keys = sorted(self.dense)
    shapes = [TensorShape([None]).concatenate(self.shapes[k]) if k in self.variable else
              self.shapes[k] for k in keys]
    return keys, [self.dense[k] for k in keys], shapes


def _add_fixed(keys, key, feature):
  if feature.shape is None:
    raise ValueError('Missing shape for feature %s.' % key)
  shape = as_shape(feature.shape)
  if shape.ndims and shape[0].value is None:
    raise ValueError('First dimension of shape for feature %s unknown. Consider using '
                     'FixedLenSequenceFeature.' % key)
  if not shape.is_fully_defined():
    raise ValueError('All dimensions of shape for feature %s need to be known but received %s.' % (
        key, shape))
  keys.add_dense(key, feature, shape)


def _add_sequence(keys, key, feature):
  if feature.shape is None:
    raise ValueError('Missing shape for feature %s.' % key)
  keys.add_dense(key, feature, as_shape(feature.shape))
  keys.variable.add(key)
  if feature.allow_missing:
    keys.missing.append(key)


def _index_keys(feature):
  single = isinstance(feature.index_key, (str, bytes))
  return [feature.index_key] if single else list(feature.index_key)


def _add_sparse_feature(keys, key, feature):
  for what in ('index_key', 'value_key', 'dtype'):
    if not getattr(feature, what):
      raise ValueError('Missing %s for SparseFeature %s.' % (what, feature))
  for index_key in sorted(_index_keys(feature)):
    keys.add_sparse(index_key, dtypes.int64)
  keys.add_sparse(feature.value_key, feature.dtype)


_ADD = {VarLenFeature: lambda keys, key, feature: keys.add_sparse(key, feature.dtype),
        FixedLenFeature: _add_fixed, FixedLenSequenceFeature: _add_sequence,
        SparseFeature: _add_sparse_feature}


def _of_sparse_feature(feature, tensors):
  """The SparseTensor of the features with indices and values."""
  indices = [tensors[k] for k in _index_keys(feature)]
  sizes = list(feature.size) if isinstance(feature.size, (list, tuple)) else [feature.size]
  if len(sizes) != len(indices):
    raise ValueError('SparseFeature %s must have a size for each index_key.' % (feature,))
  values = tensors[feature.value_key]
  with name_scope(None, 'SparseMerge', [values.values]):
    ahead = indices[0].indices[:, :-1]
    columns = [array.expand_dims(i.values, 1) for i in indices]
    shape = array.concat([indices[0].dense_shape[:-1], constant_of(sizes, dtypes.int64)], 0)
    merged = SparseTensor(array.concat([ahead] + columns, 1), values.values, shape)
    return merged if feature.already_sorted else sparse_reorder(merged)


def _results(features, tensors):
  """{key: tensor} of the features that the program named."""
  return {key: _of_sparse_feature(feature, tensors) if isinstance(feature, SparseFeature) else
          tensors[key] for key, feature in features.items()}


def _sparse_tensors(keys, indices, values, shapes):
  return dict(zip(keys, map(SparseTensor, indices, values, shapes)))


# ---- Examples -----------------------------------------------------------------------------------


_OF_EXAMPLE = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


def _example_keys(features):
  if not features:
    raise ValueError('Missing: features was %s.' % (features,))
  keys = _Keys(features, _OF_EXAMPLE)
  for key in keys.variable:
    if key not in keys.missing:
      raise ValueError('Unsupported: FixedLenSequenceFeature requires allow_missing to be True. '
                       'That of %s is False.' % key)
  return keys


@export('parse_example', 'io.parse_example')
def parse_example(serialized, features, name=None, example_names=None):
  """Examples as tensors.

  Args:
    serialized: string, [batch]: serialized Example messages.
    features: {key: FixedLenFeature, VarLenFeature, FixedLenSequenceFeature or SparseFeature}.
    example_names: string, [batch]: what errors call the examples.

  Returns:
    {key: Tensor [batch, ...] or SparseTensor [batch, ...]}.

  Raises:
    ValueError: if a feature has no type or shape, or there are none.
  """
  keys = _example_keys(features)
  with name_scope(name, 'ParseExample', [serialized, example_names]):
    return _results(features, _parsed(serialized, example_names, keys))


def _parsed(serialized, example_names, keys):
  names = constant_of([], dtypes.string) if example_names is None else \
      convert(example_names, dtypes.string, 'names')
  sparse_keys, sparse_types = keys.sorted_sparse()
  dense_keys, dense_types, dense_shapes = keys.sorted_dense()
  indices, values, shapes, dense = apply_op(
      'ParseExample', serialized=serialized, names=names, sparse_keys=sparse_keys,
      dense_keys=dense_keys, dense_defaults=keys.dense_defaults(), sparse_types=sparse_types,
      dense_shapes=dense_shapes)
  tensors = _sparse_tensors(sparse_keys, indices, values, shapes)
  tensors.update(zip(dense_keys, dense))
  return tensors


@export('parse_single_example', 'io.parse_single_example')
def parse_single_example(serialized, features, name=None, example_names=None):
  """One Example as tensors, without a dimension for the batch.

  Args:
    serialized: string scalar: a serialized Example message.
    features: {key: feature}, as of parse_example.
    example_names: string scalar: what errors call the example.
  """
  keys = _example_keys(features)
  with name_scope(name, 'ParseSingleExample', [serialized, example_names]):
    serialized = _scalar(serialized, 'serialized')
    if example_names is not None:
      names = array.expand_dims(_scalar(example_names, 'example_names'), 0)
      tensors = _parsed(array.expand_dims(serialized, 0), names, keys)
      return _results(features, {k: _first(t) for k, t in tensors.items()})
    sparse_keys, sparse_types = keys.sorted_sparse()
    dense_keys, _, dense_shapes = keys.sorted_dense()
    indices, values, shapes, dense = apply_op(
        'ParseSingleExample', serialized=serialized, dense_defaults=keys.dense_defaults(),
        num_sparse=len(sparse_keys), sparse_keys=sparse_keys, dense_keys=dense_keys,
        sparse_types=sparse_types, dense_shapes=dense_shapes)
    tensors = _sparse_tensors(sparse_keys, indices, values, shapes)
    tensors.update(zip(dense_keys, dense))
    return _results(features, tensors)


def _scalar(value, argument):
  """The string tensor, which is a scalar: ValueError, or checked in the step."""
  value = convert(value, dtypes.string, argument)
  if value.get_shape().ndims is None:
    check = control_flow.Assert(math.equal(array.rank(value), 0),
                                ['Input %s must be a scalar' % argument])
    with control_dependencies([check]):
      return array.identity(value)
  if value.get_shape().ndims != 0:
    raise ValueError('Input %s must be a scalar, has the shape %s' % (argument, value.get_shape()))
  return value


def _first(tensor):
  """The one example of a batch of one."""
  if isinstance(tensor, SparseTensor):
    return SparseTensor(tensor.indices[:, 1:], tensor.values, tensor.dense_shape[1:])
  return array.squeeze(tensor, [0])


# ---- SequenceExamples ---------------------------------------------------------------------------


_OF_CONTEXT = (VarLenFeature, FixedLenFeature, SparseFeature)
_OF_SEQUENCE = (VarLenFeature, FixedLenSequenceFeature, SparseFeature)


def _sequence_keys(context_features, sequence_features):
  if not (context_features or sequence_features):
    raise ValueError('Missing features: both context_features and sequence_features are empty.')
  context = _Keys(context_features, _OF_CONTEXT)
  lists = _Keys(sequence_features, _OF_SEQUENCE)
  for key, default in lists.defaults.items():
    if default is not None:
      raise ValueError('The default_value of the feature list %s is %s, must be left out.' %
                       (key, default))
  return context, lists


def _sequence_attributes(context, lists):
  """What both ops for SequenceExamples take."""
  context_dense, _, context_shapes = context.sorted_dense()
  list_dense, list_types, _ = lists.sorted_dense()
  return dict(
      context_sparse_keys=context.sorted_sparse()[0], context_dense_keys=context_dense,
      feature_list_sparse_keys=lists.sorted_sparse()[0], feature_list_dense_keys=list_dense,
      context_dense_defaults=context.dense_defaults(),
      context_sparse_types=context.sorted_sparse()[1], context_dense_shapes=context_shapes,
      feature_list_dense_types=list_types, feature_list_sparse_types=lists.sorted_sparse()[1],
      feature_list_dense_shapes=[lists.shapes[k] for k in list_dense])


def _sequence_results(context, lists, context_features, sequence_features, made):
  """({key: tensor} of the context, of the lists) of the first eight outputs."""
  both = []
  for keys, features, parts in ((context, context_features, made[:4]),
                                (lists, sequence_features, made[4:8])):
    tensors = _sparse_tensors(keys.sorted_sparse()[0], *parts[:3])
    tensors.update(zip(keys.sorted_dense()[0], parts[3]))
    both.append(_results(features or {}, tensors))
  return tuple(both)


@export('parse_single_sequence_example', 'io.parse_single_sequence_example')
def parse_single_sequence_example(serialized, context_features=None, sequence_features=None,
                                  example_name=None, name=None):
  """One SequenceExample as tensors.

  Args:
    serialized: string scalar: a serialized SequenceExample message.
    context_features: {key: FixedLenFeature, VarLenFeature or SparseFeature}.
    sequence_features: {key: FixedLenSequenceFeature, VarLenFeature or SparseFeature}, whose
      tensors have a first dimension: the place in the list.
    example_name: string scalar: what errors call the example.

  Returns:
    ({key: tensor} of the context, {key: tensor} of the lists).
  """
  context, lists = _sequence_keys(context_features, sequence_features)
  with name_scope(name, 'ParseSingleSequenceExample', [serialized, example_name]):
    made = apply_op(
        'ParseSingleSequenceExample', serialized=serialized,
        feature_list_dense_missing_assumed_empty=constant_of(lists.missing, dtypes.string),
        debug_name='' if example_name is None else example_name,
        **{k: _each_a_tensor(k, v) for k, v in _sequence_attributes(context, lists).items()})
    return _sequence_results(context, lists, context_features, sequence_features, made)


def _each_a_tensor(argument, values):
  """Keys of ParseSingleSequenceExample are scalars, which may be no Python strings."""
  if argument.endswith('_keys'):
    return [constant_of(v, dtypes.string) for v in values]
  return values


@export('io.parse_sequence_example')
def parse_sequence_example(serialized, context_features=None, sequence_features=None,
                           example_names=None, name=None):
  """SequenceExamples as tensors.

  Args:
    serialized: string, [batch].
    context_features, sequence_features, example_names: as of parse_single_sequence_example.

  Returns:
    ({key: tensor} of the context, {key: tensor} of the lists, {key: int64 [batch] with the length
    of the list} of the dense ones). Lists are filled up to the longest.
  """
  context, lists = _sequence_keys(context_features, sequence_features)
  with name_scope(name, 'ParseSequenceExample', [serialized, example_names]):
    names = constant_of([], dtypes.string) if example_names is None else example_names
    attributes = _sequence_attributes(context, lists)
    made = apply_op(
        'ParseSequenceExample', serialized=serialized, debug_name=names,
        feature_list_dense_missing_assumed_empty=list(lists.missing),
        Ncontext_sparse=len(context.sparse), Nfeature_list_sparse=len(lists.sparse),
        Nfeature_list_dense=len(lists.dense), Ncontext_dense=len(context.dense), **attributes)
    return _sequence_results(context, lists, context_features, sequence_features, made) + (
        dict(zip(lists.sorted_dense()[0], made[8])),)


# ---- Bytes and lines ----------------------------------------------------------------------------


@export('decode_raw', 'io.decode_raw')
def decode_raw(input_bytes=None, out_type=None, little_endian=True, name=None, bytes=None):
  """The bytes of strings as numbers of out_type: [...] -> [..., numbers of a string]. All strings
  must have one length, a multiple of the number's: InvalidArgumentError otherwise."""
  if input_bytes is None:
    input_bytes = bytes
  if input_bytes is None or out_type is None:
    raise ValueError('decode_raw needs input_bytes and out_type; they are %s and %s.' % (
        input_bytes, out_type))
  return apply_op('DecodeRaw', name=name, bytes=input_bytes, out_type=out_type,
                  little_endian=little_endian)


@export('decode_csv', 'io.decode_csv')
def decode_csv(records, record_defaults, field_delim=',', use_quote_delim=True, name=None,
               na_value='', select_cols=None):
  """Lines of fields, as RFC 4180 has them, as a tensor for each field.

  Args:
    records: string tensor.
    record_defaults: for each field a value of its type, [v] or v, or an empty tensor: the field
      must be there.
    na_value: a field like this counts as empty.
    select_cols: the fields that are wanted, in order; all, if None.

  Raises:
    ValueError: if the columns are not in order, negative, or not as many as defaults.
  """
  if select_cols is not None:
    if any(b <= a for a, b in zip(select_cols, select_cols[1:])):
      raise ValueError('select_cols is not strictly increasing. It is %s.' % (select_cols,))
    if select_cols and select_cols[0] < 0:
      raise ValueError('select_cols contains negative values. It is %s.' % (select_cols,))
    if len(select_cols) != len(record_defaults):
      raise ValueError('Length of select_cols and record_defaults do not match. They are %d and %d.'
                       % (len(select_cols), len(record_defaults)))
  return apply_op('DecodeCSV', name=name, records=records, record_defaults=record_defaults,
                  field_delim=field_delim, use_quote_delim=use_quote_delim, na_value=na_value,
                  select_cols=list(select_cols or []))
