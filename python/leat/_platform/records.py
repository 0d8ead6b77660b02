"""tf.python_io: files of records."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import errors


@export('python_io.TFRecordCompressionType', 'io.TFRecordCompressionType')
class TFRecordCompressionType:
  """How the whole file is compressed."""
  NONE, ZLIB, GZIP = 0, 1, 2


_NAMES = {0: '', 1: 'ZLIB', 2: 'GZIP', None: '', '': '', 'ZLIB': 'ZLIB', 'GZIP': 'GZIP'}


@export('python_io.TFRecordOptions', 'io.TFRecordOptions')
class TFRecordOptions:
  """How a reader or writer of records compresses the file."""
  compression_type_map = {0: '', 1: 'ZLIB', 2: 'GZIP'}

  def __init__(self, compression_type=None, **unused):
    if isinstance(compression_type, TFRecordOptions):
      compression_type = compression_type.compression_type
    if compression_type not in _NAMES:
      raise ValueError('Not a valid compression_type: %r' % (compression_type,))
    self.compression_type = compression_type

  @classmethod
  def get_compression_type_string(cls, options):
    """'ZLIB', 'GZIP' or ''."""
    return _NAMES[getattr(options, 'compression_type', options)]


def _compression(options):
  return TFRecordOptions.get_compression_type_string(options)


@export('python_io.TFRecordWriter', 'io.TFRecordWriter')
class TFRecordWriter:
  """Writes records, bytes each, to a TFRecord file, which it replaces. `options` or a
  compression_type ('GZIP', 'ZLIB') says how the whole file is compressed. Close it, or use it in
  `with`."""

  def __init__(self, path, options=None):
    try:
      self._records = _leat.RecordWriter(path, _compression(options))
    except _leat.StatusError as error:
      raise errors.of_status(error) from None

  def write(self, record):
    """Appends a record, bytes."""
    try:
      self._records.write(record if isinstance(record, bytes) else record.encode())
    except _leat.StatusError as error:
      raise errors.of_status(error) from None

  def flush(self):
    """Records do not wait."""

  def close(self):
    """Writes what waits, and closes the file."""
    try:
      self._records.close()
    except _leat.StatusError as error:
      raise errors.of_status(error) from None

  def __enter__(self):
    return self

  def __exit__(self, *unused):
    self.close()


@export('python_io.tf_record_iterator', 'io.tf_record_iterator')
def tf_record_iterator(path, options=None):
  """The records of a TFRecord file, bytes, one after the other. DataLossError where one is damaged.
  """
  try:
    yield from _leat.RecordReader(path, _compression(options))
  except _leat.StatusError as error:
    raise errors.of_status(error) from None
