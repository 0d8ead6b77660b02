"""What is in a checkpoint, read from its index: the names, types and shapes of the tensors.

The index of a checkpoint of version 2, and a whole checkpoint of version 1, is a table of sorted
keys in blocks, as LevelDB writes it:

    block    entries (bytes shared with the key before, other bytes, length of the value; those
             bytes; the value), then the offsets at which keys are written whole, and their number
    after    a byte for the compression (0 none, 1 Snappy), a checksum of four bytes
    footer   the last 48 bytes: where the blocks of metadata and of the index are, a magic number

The values of tensors are read by the library's RestoreV2.
"""
from __future__ import annotations

import glob
import os

from leat._graph import dtype as dtypes
from leat._graph import errors
from leat._graph import message
from leat._graph.wire import read_varint

_MAGIC = (0xdb4775248b80fb57).to_bytes(8, 'little')


def _damaged(path, what):
  return errors.DataLossError(None, None, 'Reading a checkpoint failed: %s in %s' % (what, path))


def _uncompressed(data):
  """Bytes that Snappy compressed: literals, and copies of what came before."""
  size, at = read_varint(data, 0)
  out = bytearray()
  while at < len(data):
    tag, at = data[at], at + 1
    kind, length = tag & 3, tag >> 2
    if kind == 0:
      if length >= 60:
        count = length - 59
        length, at = int.from_bytes(data[at:at + count], 'little'), at + count
      out += data[at:at + length + 1]
      at += length + 1
      continue
    if kind == 1:
      offset, at = (tag >> 5) << 8 | data[at], at + 1
      length = (length & 7) + 4
    else:
      count = 2 if kind == 2 else 4
      offset, at = int.from_bytes(data[at:at + count], 'little'), at + count
      length += 1
    for _ in range(length):
      out.append(out[-offset])
  if len(out) != size:
    raise IndexError('a block has %d bytes, must have %d' % (len(out), size))
  return bytes(out)


def _block(data, offset, size):
  """[(key, value)] of a block."""
  block = data[offset:offset + size]
  if data[offset + size] == 1:
    block = _uncompressed(block)
  end = len(block) - 4 - 4 * int.from_bytes(block[-4:], 'little')
  at, key, found = 0, b'', []
  while at < end:
    shared, at = read_varint(block, at)
    own, at = read_varint(block, at)
    length, at = read_varint(block, at)
    key = key[:shared] + block[at:at + own]
    at += own
    found.append((key, block[at:at + length]))
    at += length
  return found


def _handle(data, at):
  """(offset, size, where the next begins) of a block."""
  offset, at = read_varint(data, at)
  size, at = read_varint(data, at)
  return offset, size, at


def entries(path):
  """[(key, value)] of a table, as bytes; DataLossError where it is malformed."""
  with open(path, 'rb') as f:
    data = f.read()
  if len(data) < 48 or data[-8:] != _MAGIC:
    raise _damaged(path, 'no table')
  try:
    footer = data[-48:]
    _, _, at = _handle(footer, 0)
    offset, size, _ = _handle(footer, at)
    found = []
    for _, handle in _block(data, offset, size):
      offset, size, _ = _handle(handle, 0)
      found += _block(data, offset, size)
    return found
  except IndexError as error:
    raise _damaged(path, str(error)) from None


def _of_version_2(path):
  """{name: (type, shape)}; the key '' has the header, keys with a NUL are slices of tensors."""
  found = {}
  for key, value in entries(path):
    if key and not key.startswith(b'\x00'):
      entry = message.of('BundleEntryProto').FromString(value)
      found[key.decode()] = dtypes.as_dtype(entry.dtype), [d.size for d in entry.shape.dim]
  return found


def _of_version_1(paths):
  """The same of files of version 1: the key '' of each has the list of its tensors."""
  found = {}
  for path in paths:
    for key, value in entries(path):
      if key == b'':
        slices = message.of('SavedTensorSlices').FromString(value)
        for item in slices.meta.tensor:
          found[item.name] = dtypes.as_dtype(item.type), [d.size for d in item.shape.dim]
  return found


def tensors(prefix):
  """{name: (DType, [sizes])} of the checkpoint of that prefix, of either version."""
  if os.path.exists(prefix + '.index'):
    return _of_version_2(prefix + '.index')
  paths = [p for p in glob.glob(prefix) if os.path.isfile(p)] or glob.glob(prefix + '-?????-of-*')
  if not paths:
    raise errors.NotFoundError(
        None, None, 'Unsuccessful TensorSliceReader constructor: Failed to find any matching files '
        'for %s' % prefix)
  return _of_version_1(paths)
