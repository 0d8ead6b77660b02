"""Datasets of the rows of CSV files: CsvDataset, and make_csv_dataset, which finds names and types.
"""
from __future__ import annotations

import collections

from leat._data import element as elements, files
from leat._data.dataset import Dataset, _int64
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert

_BUFFER_BYTES = 4 * 1024 * 1024
_TYPES = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.string)


def _defaults(record_defaults, argument='record_defaults'):
  """Tensors of defaults. A type stands for an empty tensor: the field must be there."""
  found = []
  for value in record_defaults:
    try:
      value = constant_of([], dtypes.as_dtype(value))
    except TypeError:
      value = convert(value)
    if value.dtype not in _TYPES:
      raise TypeError('Invalid `%s`: %s is of a type that fields of CSV files do not have; it must '
                      'be one of %s.' % (argument, value, [t.name for t in _TYPES]))
    found.append(value)
  return found


@export('data.experimental.CsvDataset')
class CsvDataset(Dataset):
  """The rows of CSV files, tuples of a scalar for each field.

  Args:
    filenames: string tensor.
    record_defaults: for each field its type, where it must be there, or its default.
    compression_type: '', 'ZLIB' or 'GZIP'.
    buffer_size: a number of bytes to read at a time; it must be positive.
    header: whether the first line of each file is passed over.
    na_value: a field like this counts as missing.
    select_cols: the numbers of the fields that are wanted, in order; None: all.
  """

  def __init__(self, filenames, record_defaults, compression_type=None, buffer_size=None,
               header=False, field_delim=',', use_quote_delim=True, na_value='', select_cols=None):
    defaults = _defaults(record_defaults)
    variant = apply_op(
        'CSVDataset', filenames=convert(filenames, dtypes.string, 'filenames'),
        compression_type='' if compression_type is None else compression_type,
        buffer_size=_int64(_BUFFER_BYTES if buffer_size is None else buffer_size, 'buffer_size'),
        header=convert(header, dtypes.bool, 'header'), field_delim=field_delim,
        use_quote_delim=use_quote_delim, na_value=na_value,
        select_cols=_int64([] if select_cols is None else select_cols, 'select_cols'),
        record_defaults=defaults, output_shapes=[[]] * len(defaults))
    super().__init__(variant, tuple(elements.TensorSpec([], d.dtype) for d in defaults))


class _Table:
  """The names and types of the columns of CSV files, read from the files where the program does not
  say them."""

  def __init__(self, names, field_delim, use_quote_delim, na_value, header, compression_type):
    import csv
    self._names, self._na_value, self._header = names, na_value, header
    self._compression_type = compression_type
    self._dialect = {'delimiter': field_delim,
                     'quoting': csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE}

  def _rows(self, name):
    """The rows of a file, without its header."""
    import csv
    import gzip
    import io
    import zlib
    from leat._platform import files as platform_files
    with platform_files.GFile(name, 'rb') as file:
      content = file.read()
    if self._compression_type == 'GZIP':
      content = gzip.decompress(content)
    elif self._compression_type == 'ZLIB':
      content = zlib.decompress(content)
    return csv.reader(io.StringIO(content.decode(), newline=''), **self._dialect)

  def column_names(self):
    """The first row, which must be that of each file."""
    found = next(self._rows(self._names[0]))
    for name in self._names[1:]:
      other = next(self._rows(name))
      if other != found:
        raise ValueError('The CSV files have different column names: %s of %s and %s of %s.' % (
            found, self._names[0], other, name))
    return found

  def defaults(self, columns, count):
    """The types of the columns, found from the first `count` rows, as defaults of 0 or ''."""
    # Numbers of the narrowest type in _WIDENING that all fields fit. A column without fields has
    # strings.
    numbers = [None] * len(columns)
    for row in self._sample(count):
      if not row:
        continue
      for i, column in enumerate(columns):
        if column < len(row) and row[column] not in ('', self._na_value):
          numbers[i] = next(n for n in range(numbers[i] or 0, len(_WIDENING))
                            if _fits(row[column], _WIDENING[n]))
    types = [dtypes.string if n is None else _WIDENING[n] for n in numbers]
    return [constant_of(['' if t == dtypes.string else 0], t) for t in types]

  def _sample(self, count):
    import itertools
    rows = (row for name in self._names
            for row in itertools.islice(self._rows(name), 1 if self._header else 0, None))
    return itertools.islice(rows, count)


_WIDENING = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64, dtypes.string)


def _fits(text, dtype):
  """Whether a field can be read as a value of the type."""
  import numpy as np
  if dtype == dtypes.string:
    return True
  try:
    if dtype.is_integer:
      number = int(text)
      return dtype.min <= number <= dtype.max
    number = float(text)
  except ValueError:
    return False
  return dtype == dtypes.float64 or not np.isfinite(number) or abs(number) <= float(dtype.max)


def _selected(columns, names):
  """The numbers of columns that are given by numbers or names, in order."""
  found = []
  for column in columns:
    if isinstance(column, str):
      if column not in names:
        raise ValueError('Column %r is not among the columns, which are %s.' % (column, names))
      column = names.index(column)
    if not 0 <= column < len(names):
      raise ValueError('Column %d does not exist: there are %d.' % (column, len(names)))
    found.append(column)
  if len(set(found)) != len(found):
    raise ValueError('`select_columns` contains duplicate columns: %s.' % (columns,))
  return sorted(found)


@export('data.experimental.make_csv_dataset')
def make_csv_dataset(file_pattern, batch_size, column_names=None, column_defaults=None,
                     label_name=None, select_columns=None, field_delim=',', use_quote_delim=True,
                     na_value='', header=True, num_epochs=None, shuffle=True,
                     shuffle_buffer_size=10000, shuffle_seed=None, prefetch_buffer_size=1,
                     num_parallel_reads=1, sloppy=False, num_rows_for_inference=100,
                     compression_type=None, ignore_errors=False):
  """Batches of the rows of CSV files, as an OrderedDict of a tensor for each column, or a pair of
  that and the column `label_name`.

  Args:
    file_pattern: the pattern of the files' names, or a list of such.
    column_names: None: those in the first line of the files.
    column_defaults: for each wanted column its type, where a field must be there, or its default;
      None: found from the first num_rows_for_inference rows (None: all), with defaults of 0 and ''.
    select_columns: the wanted columns, by number or name; None: all.
    header: whether the first line of each file is no row.
    num_epochs: how often the rows are read; None: without end, in batches of one size.
    shuffle: whether they come in a random order, among shuffle_buffer_size that wait.
    sloppy: whether the files' rows may come in another order where that is faster.
    ignore_errors: whether rows that cannot be read are left out.

  Raises:
    ValueError: where no file matches, or the names of columns are not there, not unique, or not as
      many as the defaults.
  """
  from leat._data import transformations
  names = files.matching(file_pattern)
  table = _Table(names, field_delim, use_quote_delim, na_value, header, compression_type)
  if column_names is None:
    if not header:
      raise ValueError('Expected `column_names` or `header` arguments: neither is provided.')
    column_names = table.column_names()
  if len(set(column_names)) != len(column_names):
    raise ValueError('Cannot have duplicate column names: %s.' % (column_names,))
  columns = list(range(len(column_names))) if select_columns is None else _selected(
      select_columns, column_names)
  if column_defaults is None:
    column_defaults = table.defaults(columns, num_rows_for_inference)
  column_defaults = _defaults(column_defaults, 'column_defaults')
  if len(columns) != len(column_defaults):
    raise ValueError('There are %d wanted columns and %d `column_defaults`; there must be one for '
                     'each.' % (len(columns), len(column_defaults)))
  wanted = [column_names[c] for c in columns]
  if label_name is not None and label_name not in wanted:
    raise ValueError('`label_name` %r must be one of the columns %s.' % (label_name, wanted))

  def read(name):
    rows = CsvDataset(name, column_defaults, compression_type, None, header, field_delim,
                      use_quote_delim, na_value, None if select_columns is None else columns)
    return rows.apply(transformations.ignore_errors()) if ignore_errors else rows

  def named(*values):
    found = collections.OrderedDict(zip(wanted, values))
    if label_name is None:
      return found
    label = found.pop(label_name)
    return found, label
  dataset = files.examples_in(names, read, shuffle, shuffle_seed, num_parallel_reads, sloppy)
  dataset = files.epochs_of(dataset, num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
  dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(named)
  return dataset.prefetch(prefetch_buffer_size)
