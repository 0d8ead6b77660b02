"""Readers: they take work, mostly names of files, from a queue, and give records one by one.

A reader is a resource of the session; its operations say so by a handle. `read` gives (key, value);
when the work is used up, the reader takes the next from the queue.
"""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op


def _queue_ref(queue):
  return getattr(queue, 'queue_ref', queue)


@export('ReaderBase')
class ReaderBase:
  """The base of readers, of the handle that an op gives."""

  def __init__(self, reader_ref, supports_serialize=False):
    self._reader_ref, self._supports_serialize = reader_ref, supports_serialize

  reader_ref = property(lambda self: self._reader_ref)
  supports_serialize = property(lambda self: self._supports_serialize)

  def _apply(self, op, name, **arguments):
    suffix = 'V2' if self._reader_ref.dtype.name == 'resource' else ''
    return apply_op(op + suffix, name=name, reader_handle=self._reader_ref, **arguments)

  def read(self, queue, name=None):
    """(key, value) of the next record: two strings."""
    return self._apply('ReaderRead', name, queue_handle=_queue_ref(queue))

  def read_up_to(self, queue, num_records, name=None):
    """(keys, values) of at most so many records: two vectors of strings."""
    return self._apply('ReaderReadUpTo', name, queue_handle=_queue_ref(queue),
                       num_records=num_records)

  def num_records_produced(self, name=None):
    """How many records were read: int64."""
    return self._apply('ReaderNumRecordsProduced', name)

  def num_work_units_completed(self, name=None):
    """How much work was used up: int64."""
    return self._apply('ReaderNumWorkUnitsCompleted', name)

  def serialize_state(self, name=None):
    """The state as a string, of readers that support it."""
    return self._apply('ReaderSerializeState', name)

  def restore_state(self, state, name=None):
    """An operation that sets a state that serialize_state gave."""
    return self._apply('ReaderRestoreState', name, state=state)

  def reset(self, name=None):
    """An operation that makes the reader as it was at the beginning."""
    return self._apply('ReaderReset', name)


@export('WholeFileReader')
class WholeFileReader(ReaderBase):
  """Gives each file as one record: (name, content)."""

  def __init__(self, name=None):
    super().__init__(apply_op('WholeFileReaderV2', name=name), supports_serialize=True)


@export('TextLineReader')
class TextLineReader(ReaderBase):
  """A reader of lines of files: `read(queue)` takes names of files from a queue and gives
  (name:line, the line without its end). skip_header_lines are left out of each file."""

  def __init__(self, skip_header_lines=None, name=None):
    super().__init__(apply_op('TextLineReaderV2', name=name, skip_header_lines=skip_header_lines))


@export('FixedLengthRecordReader')
class FixedLengthRecordReader(ReaderBase):
  """Gives records of one length: (name:number, bytes). hop_bytes, if not 0, is how far the next
  record begins behind the one before; `encoding` is '', 'ZLIB' or 'GZIP'."""

  def __init__(self, record_bytes, header_bytes=None, footer_bytes=None, hop_bytes=None, name=None,
               encoding=None):
    super().__init__(apply_op(
        'FixedLengthRecordReaderV2', name=name, record_bytes=record_bytes,
        header_bytes=header_bytes, footer_bytes=footer_bytes, hop_bytes=hop_bytes,
        encoding=encoding))


@export('TFRecordReader')
class TFRecordReader(ReaderBase):
  """A reader of TFRecord files: `read(queue)` takes names of files from a queue and gives
  (name:position, record)."""

  def __init__(self, name=None, options=None):
    from leat._platform.records import TFRecordOptions
    compression = TFRecordOptions.get_compression_type_string(options)
    super().__init__(apply_op('TFRecordReaderV2', name=name, compression_type=compression))


@export('IdentityReader')
class IdentityReader(ReaderBase):
  """Gives the work itself: (work, work)."""

  def __init__(self, name=None):
    super().__init__(apply_op('IdentityReaderV2', name=name), supports_serialize=True)
