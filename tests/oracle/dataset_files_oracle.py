"""Elements that one library has written and the other must read: snapshots of both versions, saved
datasets, and elements that were compressed into a message."""
import os
import tempfile

from dataset_kit import (NUMBER, compare, defun, elements, in_leat, in_tensorflow, numbers, raw, tf)
import numpy as np

from outcome import report

PAIR = dict(output_types=[tf.int64, tf.string], output_shapes=[[], [None]])


def described(count, size):
  """`count` numbers, each with as many strings of about `size` bytes as it says."""
  def describe(x):
    text = tf.strings.reduce_join(tf.as_string(tf.random.stateless_uniform(
        [size // 8], [x, 7], 0, 99999999, tf.int64)))
    return x, tf.fill([x], text)
  return raw.MapDataset(input_dataset=numbers(0, count), other_arguments=[],
                        f=defun('Describe', describe, tf.int64), **PAIR)


def snapshot(dataset, folder, compression):
  """A snapshot in two shards, read one after the other, and a digest of each of its elements."""
  itself = defun('Itself', lambda d: tf.identity(d), tf.variant)
  shards = raw.SnapshotDatasetV2(
      input_dataset=dataset, path=folder, reader_func_other_args=[], shard_func_other_args=[],
      compression=compression, hash_valid=True, hash=-5, reader_func=defun(
          'Read', lambda shards: raw.FlatMapDataset(input_dataset=shards, other_arguments=[],
                                                    f=itself, **PAIR), tf.variant),
      shard_func=defun('Shard', lambda x, text: x % 2, tf.int64, tf.string), **PAIR)
  return digests(shards)


def first_snapshot(dataset, folder, compression):
  """A snapshot of the first version in files of a few elements each, under a name."""
  return digests(raw.SnapshotDataset(input_dataset=dataset, path=folder, compression=compression,
                                     shard_size_bytes=100, snapshot_name='leat', **PAIR))


def first_snapshot_in_turn(runs, compression, count, size):
  """The first of `runs` writes, the second must read that, although its dataset has no elements."""
  with tempfile.TemporaryDirectory(prefix='leat-snapshot') as folder:
    results = []
    for run, elements_of in zip(runs, (count, 0)):
      graph = tf.Graph()
      with graph.as_default():
        fetch = first_snapshot(described(elements_of, size), folder, compression)
      results.append(run(graph, fetch.name))
  written, read = results
  return '' if len(read) == count and np.array_equal(read, written) else '%s, must be %s' % (
      read, written)


def digests(dataset):
  digest = defun('Digest', lambda x, text: x * 1000003 + tf.strings.to_hash_bucket_fast(
      tf.strings.reduce_join(text), 1000003), tf.int64, tf.string)
  return elements(raw.MapDataset(input_dataset=dataset, other_arguments=[], f=digest, **NUMBER))


def saving(dataset, folder, compression):
  """The elements' digests, which are saved as they are given, in two shards."""
  saved = raw.SaveDatasetV2(
      input_dataset=dataset, path=folder, shard_func_other_args=[], compression=compression,
      shard_func=defun('Shard', lambda x, text: x % 2, tf.int64, tf.string), **PAIR)
  return digests(saved)


def loading(folder, compression):
  """What was saved, one shard after the other."""
  itself = defun('Itself', lambda d: tf.identity(d), tf.variant)
  loaded = raw.LoadDataset(
      path=folder, reader_func_other_args=[], compression=compression, reader_func=defun(
          'Read', lambda shards: raw.FlatMapDataset(input_dataset=shards, other_arguments=[],
                                                    f=itself, **PAIR), tf.variant), **PAIR)
  return digests(loaded)


def save_in_turn(runs, compression, count, size):
  """The first of `runs` saves, the second must load that."""
  with tempfile.TemporaryDirectory(prefix='leat-saved') as folder:
    results = []
    for run, build in zip(runs, (lambda: saving(described(count, size), folder, compression),
                                 lambda: loading(folder, compression))):
      graph = tf.Graph()
      with graph.as_default():
        fetch = build()
      results.append(run(graph, fetch.name))
  written, read = results
  wanted = np.concatenate([written[0::2], written[1::2]])
  return '' if np.array_equal(read, wanted) else '%s, must be %s' % (read, wanted)


def compressed_in_turn(runs, size):
  """The first of `runs` compresses an element, the second must take it out of the message."""
  element = [np.arange(size, dtype='i8').reshape(2, -1), np.array([b'ab', b'', b'x' * size]),
             np.zeros([0, 3], 'f4'), np.float32(2.5)]
  graph = tf.Graph()
  with graph.as_default():
    message = raw.SerializeTensor(tensor=raw.CompressElement(components=element))
  message = runs[0](graph, message.name)
  graph = tf.Graph()
  with graph.as_default():
    compressed = raw.ParseTensor(serialized=np.asarray(message, object).item(),
                                 out_type=tf.variant)
    parts = raw.UncompressElement(compressed=compressed, output_types=[e.dtype if e.dtype.kind in (
        'i', 'f') else tf.string for e in element], output_shapes=[e.shape for e in element])
    names = [part.name for part in parts]
  for name, part in zip(names, element):
    got = runs[1](graph, name)
    if not np.array_equal(got, part):
      return '%s is %s, must be %s' % (name, got, part)
  return ''


def snapshot_in_turn(runs, compression, count, size):
  """The first of `runs` writes, the second must read that, although its dataset has no elements."""
  with tempfile.TemporaryDirectory(prefix='leat-snapshot') as folder:
    results = []
    for run, elements_of in zip(runs, (count, 0)):
      graph = tf.Graph()
      with graph.as_default():
        fetch = snapshot(described(elements_of, size), folder, compression)
      results.append(run(graph, fetch.name))
  written, read = results
  wanted = np.concatenate([written[0::2], written[1::2]])
  return '' if np.array_equal(read, wanted) else '%s, must be %s' % (read, wanted)


def chunks_listed(names, files):
  """The files of a snapshot of several processes: how many, and their names in order."""
  with tempfile.TemporaryDirectory(prefix='leat-chunks') as folder:
    os.mkdir(os.path.join(folder, 'chunks'))
    for name in ['chunks/' + name for name in names]:
      open(os.path.join(folder, name), 'w').close()
    for name, text in files.items():
      with open(os.path.join(folder, name), 'w') as file:
        file.write(text)

    def listed():
      spec = dict(output_types=[tf.string], output_shapes=[[]])
      chunks = raw.ListSnapshotChunksDataset(snapshot_path=folder, **spec)
      batch = raw.BatchDataset(input_dataset=chunks, batch_size=64, output_types=[tf.string],
                               output_shapes=[[None]])
      return [raw.DatasetCardinality(input_dataset=chunks), raw.DatasetToSingleElement(
          dataset=batch, output_types=[tf.string], output_shapes=[[None]])[0]]
    return compare(listed)


for kind in '', 'GZIP', 'SNAPPY':
  for length in 40, 100000:
    for names, runs in (('Leat, read by TensorFlow', (in_leat, in_tensorflow)),
                        ('TensorFlow, read by Leat', (in_tensorflow, in_leat))):
      report('datasets snapshot %s of %d bytes by %s' % (kind or 'plain', length, names),
             snapshot_in_turn, runs, kind, 7, length)
      report('datasets saved %s of %d bytes by %s' % (kind or 'plain', length, names),
             save_in_turn, runs, kind, 7, length)
      report('datasets first snapshot %s of %d bytes by %s' % (kind or 'plain', length, names),
             first_snapshot_in_turn, runs, kind, 7, length)
for length in 6, 100000:
  for names, runs in (('Leat, read by TensorFlow', (in_leat, in_tensorflow)),
                      ('TensorFlow, read by Leat', (in_tensorflow, in_leat))):
    report('datasets element of %d numbers compressed by %s' % (length, names),
           compressed_in_turn, runs, length)
SIX = ['chunk_1_0_5', 'chunk_0_10_5', 'chunk_0_2_5', 'chunk_10_0_1', 'other', 'chunk_2_0_1']
for title, names, files in (('of a snapshot', SIX, {'DONE': ''}),
                            ('of none', [], {'DONE': ''}),
                            ('of a failed snapshot', SIX, {'ERROR': 'code: DATA_LOSS'}),
                            ('of a snapshot that failed badly', SIX, {'ERROR': 'bad'})):
  report('datasets files ' + title, chunks_listed, names, files)
