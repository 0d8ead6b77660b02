"""tf.lookup: tables from keys to values, which live in the session.

A table that is initialized once (StaticHashTable) has an initializer, which is run by
`tf.tables_initializer`; one that changes (MutableHashTable, DenseHashTable) is filled by `insert`.
Operations say by a handle which table they mean. Keys that are not there have the table's default.
"""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import GraphKeys, name_scope
from leat._graph.shape import TensorShape
from leat._ops import array, control
from leat._ops.sparse import SparseTensor


class Table:
  """What all tables have: types, the handle, its name, size, lookup."""

  def __init__(self, handle, key_dtype, value_dtype, default_value):
    self._resource_handle = handle
    self._key_dtype, self._value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
    self._default_value = default_value

  key_dtype = property(lambda self: self._key_dtype)
  value_dtype = property(lambda self: self._value_dtype)
  default_value = property(lambda self: self._default_value)
  resource_handle = property(lambda self: self._resource_handle)
  table_ref = resource_handle
  name = property(lambda self: self._resource_handle.op.name.split('/')[-1])
  _lookup_suffix, _export_suffix = '_Lookup', '_Export'
  _key_shape = TensorShape([])

  def _scope(self, name, suffix):
    return name_scope(name, self.name + suffix, [self._resource_handle])

  def _checked_keys(self, keys):
    found = keys.dtype if hasattr(keys, 'dtype') and isinstance(keys.dtype, dtypes.DType) else None
    if found is not None and found.base_dtype != self._key_dtype.base_dtype:
      raise TypeError('Dtype of argument `keys` must be %s, received: %s' % (
          self._key_dtype.name, found.base_dtype.name))
    return keys if isinstance(keys, SparseTensor) else convert(keys, self._key_dtype, 'keys')

  def lookup(self, keys, name=None):
    """The values of keys: of the keys' shape, and a SparseTensor of one. TypeError of keys of
    another type."""
    keys = self._checked_keys(keys)
    sparse = isinstance(keys, SparseTensor)
    wanted = keys.values if sparse else keys
    with self._scope(name, self._lookup_suffix) as scope:
      values = apply_op('LookupTableFindV2', name=scope, table_handle=self._resource_handle,
                        keys=wanted, default_value=self._default_value)
    if self._default_value.get_shape().ndims == 0:
      values.set_shape(wanted.get_shape())
    return SparseTensor(keys.indices, values, keys.dense_shape) if sparse else values

  def size(self, name=None):
    """How many keys there are: int64 scalar."""
    with self._scope(name, '_Size') as scope:
      return apply_op('LookupTableSizeV2', name=scope, table_handle=self._resource_handle)

  def export(self, name=None):
    """(all keys, their values), in any order."""
    with self._scope(name, self._export_suffix) as scope:
      keys, values = apply_op('LookupTableExportV2', name=scope,
                              table_handle=self._resource_handle, Tkeys=self._key_dtype,
                              Tvalues=self._value_dtype)
    keys.set_shape(TensorShape([None]).concatenate(self._key_shape))
    values.set_shape(keys.get_shape()[:1].concatenate(self._default_value.get_shape()))
    return keys, values


# ---- What fills a table -------------------------------------------------------------------------


class TableInitializer:
  """What a table is filled with: `initialize(table)` gives the operation that does it."""

  def __init__(self, key_dtype, value_dtype):
    self._key_dtype, self._value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)

  key_dtype = property(lambda self: self._key_dtype)
  value_dtype = property(lambda self: self._value_dtype)

  def initialize(self, table):
    raise NotImplementedError('initialize of %s' % type(self).__name__)


def _checked_types(initializer, table):
  for what in ('key_dtype', 'value_dtype'):
    wanted, found = getattr(table, what), getattr(initializer, what)
    if wanted.base_dtype != found.base_dtype:
      raise TypeError('Invalid %s of the table, expected %s but got %s.' % (
          what, found.name, wanted.name))


def _added(operation):
  """The operation, which tables_initializer runs too."""
  graphs.get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, operation)
  return operation


@export('lookup.KeyValueTensorInitializer', 'contrib.lookup.KeyValueTensorInitializer')
class KeyValueTensorInitializer(TableInitializer):
  """Keys and values as tensors [n]."""

  def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
    self._name = name
    with name_scope(name, 'key_value_init', [keys, values]):
      self._keys = convert(keys, key_dtype, 'keys')
      self._values = convert(values, value_dtype, 'values')
    super().__init__(self._keys.dtype.base_dtype, self._values.dtype.base_dtype)

  def initialize(self, table):
    _checked_types(self, table)
    with name_scope(self._name, 'key_value_init', [table.resource_handle, self._keys]) as scope:
      return _added(apply_op('InitializeTableV2', name=scope, table_handle=table.resource_handle,
                             keys=self._keys, values=self._values))


@export('lookup.TextFileIndex', 'contrib.lookup.TextFileIndex')
class TextFileIndex:
  """What of a line is the key or the value, besides the number of a column."""
  WHOLE_LINE = -2
  LINE_NUMBER = -1


def _checked_column(what, index, dtype):
  if index < TextFileIndex.WHOLE_LINE:
    raise ValueError('`%s_index` should be >= -2, received: %s.' % (what, index))
  if index == TextFileIndex.LINE_NUMBER and dtype != dtypes.int64:
    raise ValueError('`%s_dtype` must be int64 if `%s_index` is -1, received: %s' % (
        what, what, dtype.name))
  if index == TextFileIndex.WHOLE_LINE and not (dtype.is_integer or dtype == dtypes.string):
    raise ValueError('`%s_dtype` must be an integer or string if `%s_index` is -2, received: %s' % (
        what, what, dtype.name))


@export('lookup.TextFileInitializer', 'contrib.lookup.TextFileInitializer')
class TextFileInitializer(TableInitializer):
  """A file with a key and a value in each line.

  Args:
    filename: a string or a string scalar; the file is one of the graph's assets.
    key_dtype, value_dtype: int64 for LINE_NUMBER, an integer or string for WHOLE_LINE.
    key_index, value_index: a column, or one of TextFileIndex.
    vocab_size: how many lines; counted when the table is initialized, if None.
    delimiter: what is between columns.
  """

  def __init__(self, filename, key_dtype, key_index, value_dtype, value_index, vocab_size=None,
               delimiter='\t', name=None, value_index_offset=0):
    if filename is None or isinstance(filename, (str, bytes)) and not filename:
      raise ValueError('`filename` is %r, must be the name of a file.' % (filename,))
    super().__init__(key_dtype, value_dtype)
    _checked_column('key', key_index, self._key_dtype)
    _checked_column('value', value_index, self._value_dtype)
    if vocab_size is not None and vocab_size <= 0:
      raise ValueError('`vocab_size` should be > 0, received: %s' % vocab_size)
    self._key_index, self._value_index, self._vocab_size = key_index, value_index, vocab_size
    self._delimiter, self._name, self._filename_arg = delimiter, name, filename
    self._offset = value_index_offset
    self._filename = convert(filename, dtypes.string, 'asset_filepath')

  def initialize(self, table):
    _checked_types(self, table)
    with name_scope(self._name, 'text_file_init', [table.resource_handle]) as scope:
      made = apply_op(
          'InitializeTableFromTextFileV2', name=scope, table_handle=table.resource_handle,
          filename=self._filename, key_index=self._key_index, value_index=self._value_index,
          vocab_size=-1 if self._vocab_size is None else self._vocab_size,
          delimiter=self._delimiter, offset=self._offset)
    graph = graphs.get_default_graph()
    if not graph.get_collection_ref(GraphKeys.ASSET_FILEPATHS).count(self._filename):
      graph.add_to_collection(GraphKeys.ASSET_FILEPATHS, self._filename)
    return _added(made)


@export('tables_initializer', 'initializers.tables_initializer', 'initialize_all_tables')
def tables_initializer(name='init_all_tables'):
  """An operation that initializes all tables of the graph."""
  found = graphs.get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
  return control.group(*found, name=name) if found else apply_op('NoOp', name=name)


# ---- Tables -------------------------------------------------------------------------------------


class InitializableTable(Table):
  """A table that an initializer fills."""

  def __init__(self, initializer, default_value, shared_name=None, name=None):
    with name_scope(name, 'hash_table', []) as scope:
      default = convert(default_value, initializer.value_dtype)
      default.get_shape().assert_is_compatible_with([])
      handle = apply_op('HashTableV2', name=scope, shared_name=shared_name or '',
                        key_dtype=initializer.key_dtype, value_dtype=initializer.value_dtype)
    super().__init__(handle, initializer.key_dtype, initializer.value_dtype, default)
    self._init_op = initializer.initialize(self)

  initializer = property(lambda self: self._init_op)
  init = initializer


@export('lookup.StaticHashTable')
class StaticHashTable(InitializableTable):
  """A table that is filled once, by its initializer."""

  def __init__(self, initializer, default_value, name=None):
    super().__init__(initializer, default_value, None, name)


@export('lookup.StaticVocabularyTable')
class StaticVocabularyTable:
  """A table of ids; keys that are not in it get one of num_oov_buckets ids behind, by their hash.

  Args:
    initializer: its values are int64, 0 to the size - 1; None for a table of buckets alone.
    lookup_key_dtype: the type of the keys that are looked up, where it is not the initializer's.
  """

  def __init__(self, initializer, num_oov_buckets, lookup_key_dtype=None, name=None):
    if num_oov_buckets <= 0:
      raise ValueError('`num_oov_buckets` is %s, must be > 0; use StaticHashTable.' %
                       num_oov_buckets)
    self._buckets, self._table = num_oov_buckets, None
    if initializer is not None:
      for what, dtype in (('value_dtype', initializer.value_dtype),
                          ('key_dtype', initializer.key_dtype)):
        if dtype != dtypes.int64 and (what == 'value_dtype' or dtype != dtypes.string):
          raise TypeError('Invalid `%s`, expected int64%s but got %s.' % (
              what, ' or string' if what == 'key_dtype' else '', dtype.name))
      self._table = StaticHashTable(initializer, -1)
    self._key_dtype = dtypes.as_dtype(
        lookup_key_dtype or (dtypes.string if initializer is None else initializer.key_dtype))
    if initializer is not None and self._key_dtype.is_integer != initializer.key_dtype.is_integer:
      raise TypeError('Invalid `key_dtype`, expected %s but got %s.' % (
          'integer' if self._key_dtype.is_integer else 'string', initializer.key_dtype.name))
    self._name = (name or (self._table.name if self._table else 'hash_bucket')).split('/')[-1]

  key_dtype = property(lambda self: self._key_dtype)
  value_dtype = property(lambda self: dtypes.int64)
  name = property(lambda self: self._name)
  resource_handle = property(lambda self: self._table.resource_handle if self._table else None)

  @property
  def initializer(self):
    return self._table.initializer if self._table else apply_op('NoOp')

  init = initializer

  def size(self, name=None):
    """How many ids there are, with those of the buckets."""
    with name_scope(name, self._name + '_Size'):
      if self._table is None:
        return convert(self._buckets, dtypes.int64)
      return self._table.size() + self._buckets

  def lookup(self, keys, name=None):
    """The ids of keys, of their shape; a SparseTensor of one."""
    sparse = isinstance(keys, SparseTensor)
    wanted = keys.values if sparse else convert(keys, self._key_dtype)
    if wanted.dtype.base_dtype != self._key_dtype:
      raise TypeError('Dtype of argument `keys` must be %s, received: %s' % (
          self._key_dtype.name, wanted.dtype.name))
    if self._key_dtype.is_integer:
      wanted = apply_op('Cast', x=wanted, DstT=dtypes.int64)
    with name_scope(name, self._name + '_Lookup'):
      text = apply_op('AsString', input=wanted) if self._key_dtype.is_integer else wanted
      ids = apply_op('StringToHashBucketFast', name='hash_bucket', input=text,
                     num_buckets=self._buckets)
      if self._table is not None:
        found = self._table.lookup(wanted)
        behind = ids + self._table.size()
        there = apply_op('NotEqual', x=found, y=self._table.default_value)
        ids = array.where_v2(there, found, behind)
    return SparseTensor(keys.indices, ids, keys.dense_shape) if sparse else ids


_Spec = collections.namedtuple('_Spec', ['tensor', 'slice_spec', 'name'])


class _TableInCheckpoint:
  """What Saver saves of a table: its keys and its values, as they are in the step."""

  def __init__(self, table):
    keys, values = table.export()
    self.op, self._table = table.resource_handle.op, table
    self.name = self.op.name
    self.specs = [_Spec(keys, '', self.name + '-keys'), _Spec(values, '', self.name + '-values')]

  def restore(self, restored_tensors, restored_shapes):
    """The operation that sets the table to what was read."""
    del restored_shapes
    keys, values = restored_tensors
    return apply_op('LookupTableImportV2', table_handle=self._table.resource_handle, keys=keys,
                    values=values)


class MutableTable(Table):
  """What tables that change have. With `checkpoint`, Saver saves them."""
  _lookup_suffix, _export_suffix = '_lookup_table_find', '_lookup_table_export_values'

  def __init__(self, handle, key_dtype, value_dtype, default_value, checkpoint):
    super().__init__(handle, key_dtype, value_dtype, default_value)
    if checkpoint:
      graphs.get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS,
                                                   _TableInCheckpoint(self))

  def insert(self, keys, values, name=None):
    """An operation that sets the values of keys."""
    with self._scope(name, '_lookup_table_insert') as scope:
      keys = self._checked_keys(keys)
      values = convert(values, self._value_dtype, 'values')
      return apply_op('LookupTableInsertV2', name=scope, table_handle=self._resource_handle,
                      keys=keys, values=values)

  def remove(self, keys, name=None):
    """An operation that takes keys out; those that are not there are ignored."""
    with self._scope(name, '_lookup_table_remove') as scope:
      return apply_op('LookupTableRemoveV2', name=scope, table_handle=self._resource_handle,
                      keys=self._checked_keys(keys))


@export('lookup.experimental.MutableHashTable')
class MutableHashTable(MutableTable):
  """A table whose values are scalars, or tensors in the shape of the default."""

  def __init__(self, key_dtype, value_dtype, default_value, name='MutableHashTable',
               checkpoint=True, shared_name=None):
    default = convert(default_value, value_dtype)
    shape = default.get_shape()
    types = dict(key_dtype=key_dtype, value_dtype=value_dtype, shared_name=shared_name or '',
                 use_node_name_sharing=checkpoint and shared_name is None)
    if shape.ndims == 0:
      handle = apply_op('MutableHashTableV2', name=name, **types)
    else:
      handle = apply_op('MutableHashTableOfTensorsV2', name=name, value_shape=shape, **types)
    super().__init__(handle, key_dtype, value_dtype, default, checkpoint)


@export('lookup.experimental.DenseHashTable')
class DenseHashTable(MutableTable):
  """A table that is faster, and uses more memory. empty_key and deleted_key, of the shape of a key,
  mark places that are free: they may not be keys."""

  def __init__(self, key_dtype, value_dtype, default_value, empty_key, deleted_key,
               initial_num_buckets=None, name='MutableDenseHashTable', checkpoint=True,
               shared_name=None):
    default = convert(default_value, value_dtype, 'default_value')
    empty = convert(empty_key, key_dtype, 'empty_key')
    handle = apply_op(
        'MutableDenseHashTableV2', name=name, empty_key=empty,
        deleted_key=convert(deleted_key, key_dtype, 'deleted_key'), value_dtype=value_dtype,
        value_shape=default.get_shape(), shared_name=shared_name or '',
        initial_num_buckets=initial_num_buckets,
        use_node_name_sharing=checkpoint and shared_name is None)
    self._key_shape = empty.get_shape()
    super().__init__(handle, key_dtype, value_dtype, default, checkpoint)

  def lookup(self, keys, name=None):
    """The values of keys [..., of a key]."""
    keys = self._checked_keys(keys)
    with self._scope(name, self._lookup_suffix) as scope:
      return apply_op('LookupTableFindV2', name=scope, table_handle=self._resource_handle,
                      keys=keys, default_value=self._default_value)
