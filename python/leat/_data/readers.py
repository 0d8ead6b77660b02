"""Datasets of what is in files: lines, TFRecords, records of one size; and a file of records."""
from __future__ import annotations

from leat._data import element as elements
from leat._data.dataset import Dataset, _int64
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op, make_op
from leat._graph.conversion import convert

_BUFFER_BYTES = 256 * 1024
_RECORD = elements.TensorSpec([], dtypes.string)


class _Files(Dataset):
  """The records of files, which are given as a tensor of names or as a dataset of names. Each
  subclass says in `_read` how those of one tensor of names are read."""

  def _open(self, filenames, num_parallel_reads):
    if isinstance(filenames, Dataset):
      if not elements.is_compatible(_RECORD, filenames._element):
        raise TypeError('`filenames` must be a `tf.data.Dataset` of scalar `tf.string` elements. '
                        'Got %s.' % (filenames,))
      names = filenames
    else:
      filenames = convert(filenames, dtypes.string, 'filenames')
      if num_parallel_reads is None:
        return super().__init__(self._read(filenames), _RECORD)
      names = Dataset.from_tensor_slices(apply_op('Reshape', tensor=filenames, shape=[-1]))
    read = lambda name: Dataset(self._read(name), _RECORD)
    found = names.flat_map(read) if num_parallel_reads is None else names.interleave(
        read, num_parallel_reads, 1, num_parallel_reads)
    return super().__init__(found._variant, _RECORD, found._inputs)


def _compression(name):
  return convert('' if name is None else name, dtypes.string, 'compression_type')


@export('data.TextLineDataset')
class TextLineDataset(_Files):
  """The lines of files, without their ends. compression_type is '', 'ZLIB' or 'GZIP'."""

  def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
    self._compression_type = compression_type
    self._buffer_size = _BUFFER_BYTES if buffer_size is None else buffer_size
    self._open(filenames, num_parallel_reads)

  def _read(self, names):
    return apply_op('TextLineDataset', filenames=names,
                    compression_type=_compression(self._compression_type),
                    buffer_size=_int64(self._buffer_size, 'buffer_size'))


@export('data.TFRecordDataset')
class TFRecordDataset(_Files):
  """The records of TFRecord files. compression_type is '', 'ZLIB' or 'GZIP'."""

  def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None):
    self._compression_type = compression_type
    self._buffer_size = _BUFFER_BYTES if buffer_size is None else buffer_size
    self._open(filenames, num_parallel_reads)

  def _read(self, names):
    return apply_op('TFRecordDataset', filenames=names,
                    compression_type=_compression(self._compression_type),
                    buffer_size=_int64(self._buffer_size, 'buffer_size'))


@export('data.FixedLengthRecordDataset')
class FixedLengthRecordDataset(_Files):
  """The records of record_bytes bytes of files, between a header and a footer of so many bytes."""

  def __init__(self, filenames, record_bytes, header_bytes=None, footer_bytes=None,
               buffer_size=None, compression_type=None, num_parallel_reads=None):
    self._sizes = {'record_bytes': record_bytes, 'header_bytes': header_bytes or 0,
                   'footer_bytes': footer_bytes or 0,
                   'buffer_size': _BUFFER_BYTES if buffer_size is None else buffer_size}
    self._compression_type = compression_type
    self._open(filenames, num_parallel_reads)

  def _read(self, names):
    return apply_op('FixedLengthRecordDatasetV2', filenames=names,
                    compression_type=_compression(self._compression_type),
                    **{name: _int64(size, name) for name, size in self._sizes.items()})


@export('data.experimental.TFRecordWriter')
class TFRecordWriter:
  """Writes a dataset of scalar strings to a TFRecord file. compression_type is '', 'ZLIB' or
  'GZIP'."""

  def __init__(self, filename, compression_type=None):
    self._filename = convert(filename, dtypes.string, 'filename')
    self._compression_type = _compression(compression_type)

  def write(self, dataset):
    """The operation that writes all elements of the dataset. TypeError where they are no scalar
    strings."""
    if not isinstance(dataset, Dataset):
      raise TypeError('`dataset` must be a `tf.data.Dataset` object. Got %s.' % type(dataset))
    if not elements.is_compatible(_RECORD, dataset._element):
      raise TypeError('`dataset` must produce scalar `tf.string` tensors. Got %s.' % (dataset,))
    return make_op('DatasetToTFRecord', input_dataset=dataset._variant, filename=self._filename,
                   compression_type=self._compression_type)
