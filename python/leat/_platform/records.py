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
  """How a reader or writer of records compresses the file. The arguments after the type are zlib's
  and hold for writing: flush_mode says what happens whenever input_buffer_size bytes have come in,
  window_bits has 16 added for GZIP, and None takes the usual value. The only compression_method is
  8, deflate. The size of the output's buffer changes nothing."""
  compression_type_map = {0: '', 1: 'ZLIB', 2: 'GZIP'}

  def __init__(self, compression_type=None, flush_mode=None, input_buffer_size=None,
               output_buffer_size=None, window_bits=None, compression_level=None,
               compression_method=None, mem_level=None, compression_strategy=None):
    if isinstance(compression_type, TFRecordOptions):
      compression_type = compression_type.compression_type
    if compression_type not in _NAMES:
      raise ValueError('Not a valid compression_type: %r' % (compression_type,))
    self.compression_type = compression_type
    self.flush_mode = flush_mode
    self.input_buffer_size = input_buffer_size
    self.output_buffer_size = output_buffer_size
    self.window_bits = window_bits
    self.compression_level = compression_level
    self.compression_method = compression_method
    self.mem_level = mem_level
    self.compression_strategy = compression_strategy

  def _zlib_arguments(self):
    """The arguments of RecordWriter that were given."""
    if self.compression_method not in (None, 8):
      raise ValueError('compression_method is %r, must be 8 (deflate)' % (self.compression_method,))
    given = dict(flush_mode=self.flush_mode, input_bytes=self.input_buffer_size,
                 window_bits=self.window_bits, level=self.compression_level,
                 memory_level=self.mem_level, strategy=self.compression_strategy)
    return {name: value for name, value in given.items() if value is not None}

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
    arguments = options._zlib_arguments() if isinstance(options, TFRecordOptions) else {}
    try:
      self._records = _leat.RecordWriter(path, _compression(options), **arguments)
    except _leat.StatusError as error:
      raise errors.of_status(error) from None

  def write(self, record):
    """Appends a record, bytes."""
    try:
      self._records.write(record if isinstance(record, bytes) else record.encode())
    except _leat.StatusError as error:
      raise errors.of_status(error) from None

  def flush(self):
    """Makes the records so far readable, also where the file is compressed."""
    try:
      self._records.flush()
    except _leat.StatusError as error:
      raise errors.of_status(error) from None

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
