"""contrib.lookup: tables, and tables between words and ids.

A table of ids has the words of a file or a tensor, numbered from 0. Words that it does not have get
a default, or one of some buckets behind, as their hash says. """
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import lookup, math
from leat._ops.lookup import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from leat._ops.sparse import SparseTensor


@export('contrib.lookup.HashTable')
class HashTable(lookup.InitializableTable):
  """A table that is filled once, by its initializer. Tables with one `shared_name` are one."""

  def __init__(self, initializer, default_value, shared_name=None, name=None):
    super().__init__(initializer, default_value, shared_name, name)


@export('contrib.lookup.MutableHashTable')
class MutableHashTable(lookup.MutableHashTable):
  """A table that changes, which Saver saves where `checkpoint` is True."""

  def __init__(self, key_dtype, value_dtype, default_value, shared_name=None,
               name='MutableHashTable', checkpoint=True):
    super().__init__(key_dtype, value_dtype, default_value, name, checkpoint, shared_name)


@export('contrib.lookup.MutableDenseHashTable')
class MutableDenseHashTable(lookup.DenseHashTable):
  """A faster table that changes; `empty_key` and `deleted_key` may not be keys."""

  def __init__(self, key_dtype, value_dtype, default_value, empty_key, deleted_key,
               initial_num_buckets=None, shared_name=None, name='MutableDenseHashTable',
               checkpoint=True):
    super().__init__(key_dtype, value_dtype, default_value, empty_key, deleted_key,
                     initial_num_buckets, name, checkpoint, shared_name)


@export('contrib.lookup.TextFileStringTableInitializer')
class TextFileStringTableInitializer(TextFileInitializer):
  """From the numbers of lines (int64) to the lines."""

  def __init__(self, filename, key_column_index=TextFileIndex.LINE_NUMBER,
               value_column_index=TextFileIndex.WHOLE_LINE, vocab_size=None, delimiter='\t',
               name='text_file_string_table_init'):
    super().__init__(filename, dtypes.int64, key_column_index, dtypes.string, value_column_index,
                     vocab_size, delimiter, name)


@export('contrib.lookup.TextFileIdTableInitializer')
class TextFileIdTableInitializer(TextFileInitializer):
  """From lines to their numbers (int64)."""

  def __init__(self, filename, key_column_index=TextFileIndex.WHOLE_LINE,
               value_column_index=TextFileIndex.LINE_NUMBER, vocab_size=None, delimiter='\t',
               name='text_file_id_table_init', key_dtype=dtypes.string):
    super().__init__(filename, key_dtype, key_column_index, dtypes.int64, value_column_index,
                     vocab_size, delimiter, name)


# ---- Ids of what a table has not ----------------------------------------------------------------


@export('contrib.lookup.HasherSpec')
class HasherSpec(collections.namedtuple('HasherSpec', ['hasher', 'key'])):
  """A hash: its name ('fasthash', 'stronghash') and its key, two integers or None."""
  __slots__ = ()


FastHashSpec = HasherSpec('fasthash', None)
LookupInterface, TableInitializerBase = lookup.Table, lookup.TableInitializer
InitializableLookupTableBase = lookup.InitializableTable
EXPORTS = {'contrib.lookup.' + name: name for name in (
    'FastHashSpec', 'LookupInterface', 'TableInitializerBase', 'InitializableLookupTableBase')}


@export('contrib.lookup.StrongHashSpec')
class StrongHashSpec(HasherSpec):
  """A hash with a secret key, two integers of 64 bits without sign, which makes it hard to find
  words for one bucket."""
  __slots__ = ()

  def __new__(cls, key):
    if len(key) != 2:
      raise ValueError('key must have size 2, got %s.' % len(key))
    for number in key:
      if not isinstance(number, int) or number < 0:
        raise TypeError('Invalid key %s. Must be unsigned integer values.' % (key,))
    return super().__new__(cls, 'stronghash', key)


@export('contrib.lookup.IdTableWithHashBuckets')
class IdTableWithHashBuckets:
  """A table of ids, or None for none, and buckets behind it. ValueError or TypeError where the hash
  is not a HasherSpec, where the table does not give int64, or where no id is possible."""

  def __init__(self, table, num_oov_buckets, hasher_spec=FastHashSpec, name=None, key_dtype=None):
    if name:
      name = name.rstrip('/')
    key_dtype = key_dtype or (dtypes.string if table is None else table.key_dtype)
    self._key_dtype = dtypes.as_dtype(key_dtype)
    if not (self._key_dtype.is_integer or self._key_dtype == dtypes.string):
      raise TypeError('Invalid key_dtype, expected integer or string but got %s.' % key_dtype)
    if table is not None:
      if self._key_dtype.is_integer != table.key_dtype.is_integer:
        raise TypeError('Invalid key dtype, expected %s but got %s.' % (
            'integer' if table.key_dtype.is_integer else 'string', key_dtype))
      if table.value_dtype != dtypes.int64:
        raise TypeError('Invalid value dtype, expected int64 but got %s.' % table.value_dtype)
    elif num_oov_buckets <= 0:
      raise ValueError('oov_buckets must be > 0 if no table is supplied.')
    if not isinstance(hasher_spec, HasherSpec):
      raise TypeError('hasher_spec must be of type HasherSpec, got %s' % (hasher_spec,))
    if hasher_spec.hasher not in ('fasthash', 'stronghash'):
      raise ValueError('Unsupported hasher %s' % hasher_spec.hasher)
    self._table, self._buckets, self._hash = table, num_oov_buckets, hasher_spec
    self._name = name or (table.name if table is not None else 'hash_bucket')

  key_dtype = property(lambda self: self._key_dtype)
  value_dtype = property(lambda self: dtypes.int64)
  name = property(lambda self: self._name)
  resource_handle = property(lambda self: self._table and self._table.resource_handle)

  @property
  def initializer(self):
    return self._table.initializer if self._table is not None else apply_op('NoOp')

  init = initializer

  def size(self, name=None):
    """How many ids there are, with those of the buckets: a scalar of int64."""
    with name_scope(name, '%s_Size' % self._name):
      own = self._table.size() if self._table is not None else convert(0, dtypes.int64)
      return own + self._buckets

  def lookup(self, keys, name=None):
    """The ids of keys, of their shape; a SparseTensor of one."""
    if keys.dtype.base_dtype != self._key_dtype:
      raise TypeError('Signature mismatch. Keys must be dtype %s, got %s.' % (self._key_dtype,
                                                                             keys.dtype))
    values = keys.values if isinstance(keys, SparseTensor) else keys
    if self._table is not None and self._table.key_dtype.base_dtype == dtypes.int64:
      values = math.cast(values, dtypes.int64)
    if not self._buckets:
      ids = self._table.lookup(values, name=name)
    else:
      with name_scope(name, '%s_Lookup' % self.name):
        buckets = self._hashed(values)
        ids = buckets if self._table is None else self._both(values, buckets)
    return SparseTensor(keys.indices, ids, keys.dense_shape) if isinstance(
        keys, SparseTensor) else ids

  def _hashed(self, values):
    text = apply_op('AsString', input=values) if values.dtype.is_integer else values
    named = dict(name='hash_bucket', input=text, num_buckets=self._buckets)
    if self._hash.hasher == 'fasthash':
      return apply_op('StringToHashBucketFast', **named)
    return apply_op('StringToHashBucketStrong', key=self._hash.key, **named)

  def _both(self, values, buckets):
    ids, behind = self._table.lookup(values), buckets + self._table.size()
    return apply_op('Select', condition=math.not_equal(ids, self._table.default_value), t=ids,
                    e=behind)


# ---- Tables of words and ids --------------------------------------------------------------------


def _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype, scope):
  if not num_oov_buckets:
    return table
  return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec=hasher_spec, name=scope,
                                key_dtype=key_dtype)


def _check_size(vocab_size, vocabulary_file):
  if not vocabulary_file:
    raise ValueError('vocabulary_file must be specified and must not be empty.')
  if vocab_size is not None and vocab_size < 1:
    vocab = vocabulary_file if isinstance(vocabulary_file, str) else vocabulary_file.name
    raise ValueError('vocab_size must be greater than 0, got %s. vocabulary_file: %s' % (
        vocab_size, vocab))


def _check_buckets(num_oov_buckets):
  if num_oov_buckets < 0:
    raise ValueError('num_oov_buckets must be greater or equal than 0, got %d.' % num_oov_buckets)


@export('contrib.lookup.index_table_from_file')
def index_table_from_file(vocabulary_file=None, num_oov_buckets=0, vocab_size=None,
                          default_value=-1, hasher_spec=FastHashSpec, key_dtype=dtypes.string,
                          name=None, key_column_index=TextFileIndex.WHOLE_LINE,
                          value_column_index=TextFileIndex.LINE_NUMBER, delimiter='\t'):
  """A table from the lines of a file, or from columns, to their numbers. Keys are strings or
  integers."""
  if vocabulary_file is None or isinstance(vocabulary_file, str) and not vocabulary_file:
    raise ValueError('vocabulary_file must be specified and must not be empty.')
  _check_buckets(num_oov_buckets)
  _check_size(vocab_size, vocabulary_file if isinstance(vocabulary_file, str) else 'a tensor')
  key_dtype = dtypes.as_dtype(key_dtype)
  if not (key_dtype.is_integer or key_dtype == dtypes.string):
    raise TypeError('Only integer and string keys are supported.')
  with name_scope(name, 'string_to_index'):
    with name_scope(None, 'hash_table'):
      # An integer table is one of int64 inside.
      init = TextFileIdTableInitializer(
          vocabulary_file, vocab_size=vocab_size, name='table_init',
          key_dtype=dtypes.int64 if key_dtype.is_integer else key_dtype,
          key_column_index=key_column_index, value_column_index=value_column_index,
          delimiter=delimiter)
      shared = ''
      if isinstance(vocabulary_file, str):
        size = '' if vocab_size is None else '%s_' % vocab_size
        shared = 'hash_table_%s_%s%s_%s' % (vocabulary_file, size, key_column_index,
                                            value_column_index)
      table = HashTable(init, default_value, shared_name=shared)
    return _with_buckets(table, num_oov_buckets, hasher_spec, key_dtype, None)


@export('contrib.lookup.index_table_from_tensor')
def index_table_from_tensor(mapping, num_oov_buckets=0, default_value=-1, hasher_spec=FastHashSpec,
                            dtype=dtypes.string, name=None):
  """A table from the strings or integers of a tensor [n] to their numbers."""
  if mapping is None:
    raise ValueError('mapping must be specified.')
  _check_buckets(num_oov_buckets)
  dtype = dtypes.as_dtype(dtype)
  if not (dtype.is_integer or dtype == dtypes.string):
    raise TypeError('Only integer and string keys are supported.')
  with name_scope(name, 'string_to_index'):
    keys = convert(mapping)
    if keys.dtype.is_integer != dtype.is_integer:
      raise ValueError('Expected %s, got %s.' % ('integer' if dtype.is_integer else 'non-integer',
                                                keys.dtype))
    if not dtype.is_integer and keys.dtype.base_dtype != dtype:
      raise ValueError('Expected %s, got %s.' % (dtype, keys.dtype))
    keys = math.cast(keys, dtypes.int64) if keys.dtype.is_integer else keys
    init = KeyValueTensorInitializer(keys, _numbers(keys), name='table_init')
    with name_scope(None, 'hash_table'):
      table = HashTable(init, default_value)
    return _with_buckets(table, num_oov_buckets, hasher_spec, dtype, None)


def _numbers(values):
  from leat._ops import array
  return math.cast(math.range(array.size(values)), dtypes.int64)


@export('contrib.lookup.index_to_string_table_from_file')
def index_to_string_table_from_file(vocabulary_file, vocab_size=None, default_value='UNK',
                                    name=None, key_column_index=TextFileIndex.LINE_NUMBER,
                                    value_column_index=TextFileIndex.WHOLE_LINE, delimiter='\t'):
  """A table from the numbers of lines, or from columns of int64, to the lines."""
  _check_size(vocab_size, vocabulary_file)
  with name_scope(name, 'index_to_string'):
    shared = ''
    if isinstance(vocabulary_file, str):
      size = '' if vocab_size is None else '%s_' % vocab_size
      shared = 'hash_table_%s_%s%s_%s' % (vocabulary_file, size, key_column_index,
                                          value_column_index)
    init = TextFileStringTableInitializer(
        vocabulary_file, vocab_size=vocab_size, name='table_init',
        key_column_index=key_column_index, value_column_index=value_column_index,
        delimiter=delimiter)
    return HashTable(init, default_value, shared_name=shared)


@export('contrib.lookup.index_to_string_table_from_tensor')
def index_to_string_table_from_tensor(mapping, default_value='UNK', name=None):
  """A table from numbers (int64) to the strings of a tensor [n]."""
  if mapping is None:
    raise ValueError('mapping must be specified.')
  with name_scope(name, 'index_to_string'):
    values = convert(mapping, dtypes.string)
    init = KeyValueTensorInitializer(_numbers(values), values, dtypes.int64, dtypes.string,
                                     name='table_init')
    return HashTable(init, default_value)


@export('contrib.lookup.string_to_index')
def string_to_index(tensor, mapping, default_value=-1, name=None):
  """The numbers of strings in a tensor [n]; deprecated for index_table_from_tensor."""
  return index_table_from_tensor(mapping, default_value=default_value, name=name).lookup(
      convert(tensor))


@export('contrib.lookup.index_to_string')
def index_to_string(tensor, mapping, default_value='UNK', name=None):
  """The strings of numbers; deprecated for index_to_string_table_from_tensor."""
  return index_to_string_table_from_tensor(mapping, default_value=default_value,
                                           name=name).lookup(convert(tensor))


ALIASES = {'contrib.lookup.tables_initializer': 'tables_initializer',
           'contrib.lookup.initialize_all_tables': 'tables_initializer'}
