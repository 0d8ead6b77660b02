"""TFRecord files, plain and compressed: written by Leat and read by TensorFlow, the reverse, and
damaged."""
import ctypes
import os
import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

import capi
from outcome import report

LEAT = capi.Library()
RECORDS = [b'', b'x', b'\0' * 100, bytes(range(256)) * 4096] + [
    np.random.RandomState(n).bytes(n * 37) for n in range(300)]


def write_leat(path, records, kind=''):
  writer = LEAT.leat_records_create_compressed(path.encode(), kind.encode(), LEAT.status)
  LEAT.check()
  for record in records:
    LEAT.leat_records_write(writer, record, len(record), LEAT.status)
    LEAT.check()
  LEAT.leat_records_finish(writer, LEAT.status)
  LEAT.check()


def read_leat(path, kind=''):
  """-> (records, code of the error at the end, 0 when there was none)"""
  size, records = ctypes.c_size_t(), []
  reader = LEAT.leat_records_open_compressed(path.encode(), kind.encode(), LEAT.status)
  LEAT.check()
  while True:
    data = LEAT.leat_records_next(reader, ctypes.byref(size), LEAT.status)
    code = LEAT.TF_GetCode(LEAT.status)
    if code:
      LEAT.leat_records_close(reader)
      return records, 0 if code == tf.errors.OUT_OF_RANGE else code
    records.append(ctypes.string_at(data, size.value))


def write_tensorflow(path, records, kind=''):
  with tf.io.TFRecordWriter(path, kind) as writer:
    for record in records:
      writer.write(record)


def read_tensorflow(path, kind=''):
  records = []
  options = tf.io.TFRecordOptions(kind)
  try:
    for record in tf.io.tf_record_iterator(path, options):
      records.append(record)
  except tf.errors.OpError as error:
    return records, error.error_code
  return records, 0


def round_trip(write, read, kind, folder):
  for records in (RECORDS, []):
    path = os.path.join(folder, 'records%d' % len(records))
    write(path, records, kind)
    if read(path, kind) != (records, 0):
      return '%d records come back otherwise' % len(records)
  return ''


def same_bytes(kind, folder):
  """Plain ones: what zlib makes of the same bytes is its version's business."""
  paths = [os.path.join(folder, n) for n in 'ab']
  write_leat(paths[0], RECORDS, kind)
  write_tensorflow(paths[1], RECORDS, kind)
  a, b = [open(p, 'rb').read() for p in paths]
  return '' if a == b else 'they differ'


def damaged(kind, folder):
  """Truncated anywhere, or one byte changed anywhere: the same records, then the same code."""
  whole, path = os.path.join(folder, 'whole'), os.path.join(folder, 'damaged')
  write_tensorflow(whole, [b'first', b'the second', b'third'], kind)
  data = open(whole, 'rb').read()
  cases = [(n, data[:n]) for n in range(len(data) + 1)]
  cases += [(n, data[:n] + bytes([data[n] ^ 0x55]) + data[n + 1:]) for n in range(len(data))]
  for n, case in cases:
    open(path, 'wb').write(case)
    want, got = read_tensorflow(path, kind), read_leat(path, kind)
    if got != want:
      return 'at byte %d of %d: %s, must be %s' % (n, len(case), got, want)
  return ''


for name, compare, *arguments in [
    ('written by Leat', round_trip, write_leat, read_tensorflow),
    ('written by TensorFlow', round_trip, write_tensorflow, read_leat),
    ('the same bytes', same_bytes), ('damaged', damaged)]:
  for kind in ('', 'ZLIB', 'GZIP') if compare != same_bytes else ('',):
    with tempfile.TemporaryDirectory(prefix='leat-records') as place:
      report(' '.join(['records', name, kind]).strip(), compare, *arguments, kind, place)
