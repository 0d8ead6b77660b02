"""contrib.learn.read_batch_examples and its kin: batches of what is in files.

A queue of names of files feeds readers, whose records, with their keys and parsed where a function
is given, go through a second queue, from which batches are taken. The variant with a shared queue
has the names of the files of all tasks of a cluster in one queue, and those that parse features
have a third queue behind, of parsed batches.
"""
from __future__ import annotations

import glob

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import errors
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._ops import functional, nest, parsing, queues
from leat._ops.sparse import SparseTensor
from leat._train import batch as batching, coordinator, input as producers


def _files(file_pattern):
  """The names that patterns stand for; ValueError where there is none."""
  if isinstance(file_pattern, (list, tuple)):
    if not file_pattern:
      raise ValueError('No files given to dequeue_examples.')
    names = [n for p in file_pattern for n in glob.glob(p)]
  else:
    names = glob.glob(file_pattern)
  if not names:
    raise ValueError('No files match %s.' % (file_pattern,))
  return sorted(names)


def _check_sizes(batch_size, queue_capacity, num_threads, read_batch_size, num_epochs):
  if not batch_size or batch_size <= 0:
    raise ValueError('Invalid batch_size %s.' % batch_size)
  if not queue_capacity or queue_capacity <= batch_size:
    raise ValueError('Invalid queue_capacity %s, with batch_size %s.' % (
        queue_capacity, batch_size))
  if not read_batch_size or read_batch_size <= 0:
    raise ValueError('Invalid read_batch_size %s.' % read_batch_size)
  if not num_threads or num_threads <= 0:
    raise ValueError('Invalid num_threads %s.' % num_threads)
  if num_epochs is not None and num_epochs <= 0:
    raise ValueError('Invalid num_epochs %s.' % num_epochs)


def _name_queue(names, randomize, num_epochs, seed):
  with name_scope('file_name_queue') as scope:
    return producers.string_input_producer(
        constant_of(names, dtypes.string, 'input'), shuffle=randomize, num_epochs=num_epochs,
        name=scope, seed=seed)


def _records(queue, reader, read_batch_size, parse_fn):
  """(keys, records) of one read, whose records are several where read_batch_size is not 1."""
  with name_scope('read'):
    if read_batch_size == 1:
      keys, records = reader().read(queue)
    else:
      keys, records = reader().read_up_to(queue, read_batch_size)
    if parse_fn is None:
      return keys, records
    if read_batch_size == 1:
      return keys, parse_fn(records)
    kinds = nest.map_structure(lambda t: t.dtype, parse_fn(records[0]))
    return keys, functional.map_fn(parse_fn, records, dtype=kinds)


@export('contrib.learn.read_keyed_batch_examples')
def read_keyed_batch_examples(file_pattern, batch_size, reader, randomize_input=True,
                              num_epochs=None, queue_capacity=10000, num_threads=1,
                              read_batch_size=1, parse_fn=None, name=None, seed=None):
  """(keys [batch], records) of files: strings [batch], or what parse_fn gives for a record, a
  tensor or {name: tensor}. `reader` is a class such as tf.TextLineReader."""
  names = _files(file_pattern)
  _check_sizes(batch_size, queue_capacity, num_threads, read_batch_size, num_epochs)
  with name_scope(name, 'read_batch_examples', [file_pattern]) as scope:
    queue = _name_queue(names, randomize_input, num_epochs, seed)
    reads = [_records(queue, reader, read_batch_size, parse_fn) for _ in range(num_threads)]
    listed = [_listed(keys, records) for keys, records in reads]
    options = dict(capacity=queue_capacity, enqueue_many=read_batch_size > 1, name=scope,
                   allow_smaller_final_batch=num_epochs is not None)
    if randomize_input:
      minimum = max(queue_capacity - (3 + num_threads) * batch_size, 1) \
          if num_epochs is None else max(queue_capacity - batch_size * 4, queue_capacity // 2, 1)
      found = batching.shuffle_batch_join(listed, batch_size, min_after_dequeue=minimum, seed=seed,
                                          **options)
    else:
      found = batching.batch_join(listed, batch_size, **options)
    return _unlisted(found, reads[0][1])


def _listed(keys, records):
  """The keys and all tensors of the records in a list."""
  if isinstance(records, dict):
    return [keys] + [records[k] for k in sorted(records)]
  return [keys, records]


def _unlisted(found, records):
  if isinstance(records, dict):
    return found[0], dict(zip(sorted(records), found[1:]))
  return found[0], found[1]


@export('contrib.learn.read_batch_examples')
def read_batch_examples(file_pattern, batch_size, reader, randomize_input=True, num_epochs=None,
                        queue_capacity=10000, num_threads=1, read_batch_size=1, parse_fn=None,
                        name=None, seed=None):
  """The same without the keys."""
  return read_keyed_batch_examples(file_pattern, batch_size, reader, randomize_input, num_epochs,
                                   queue_capacity, num_threads, read_batch_size, parse_fn, name,
                                   seed)[1]


@export('contrib.learn.read_keyed_batch_examples_shared_queue')
def read_keyed_batch_examples_shared_queue(file_pattern, batch_size, reader, randomize_input=True,
                                           num_epochs=None, queue_capacity=10000, num_threads=1,
                                           read_batch_size=1, parse_fn=None, name=None, seed=None):
  """read_keyed_batch_examples with a queue of names that all tasks of a cluster share, so that each
  file is read by one of them."""
  names = _files(file_pattern)
  _check_sizes(batch_size, queue_capacity, num_threads, read_batch_size, num_epochs)
  with name_scope(name, 'read_batch_examples', [file_pattern]) as scope:
    with name_scope('file_name_queue'):
      shared_names = producers.string_input_producer(
          constant_of(names, dtypes.string, 'input'), shuffle=randomize_input,
          num_epochs=num_epochs, seed=seed, shared_name='shared_file_name_queue')
      # A task takes one name at a time, so that all tasks get their share.
      queue = queues.FIFOQueue(1, [dtypes.string], [[]])
      coordinator.add_queue_runner(coordinator.QueueRunner(
          queue, [queue.enqueue(shared_names.dequeue())]))
    keys, records = _records(queue, reader, read_batch_size, parse_fn)
    found = _listed(keys, records)
    many = read_batch_size > 1
    shapes = [t.get_shape()[1:] if many else t.get_shape() for t in found]
    records_queue = queues.FIFOQueue(queue_capacity, [t.dtype.base_dtype for t in found], shapes)
    enqueue = (records_queue.enqueue_many if many else records_queue.enqueue)(found)
    coordinator.add_queue_runner(coordinator.QueueRunner(records_queue, [enqueue] * num_threads))
    take = records_queue.dequeue_many if num_epochs is None else records_queue.dequeue_up_to
    taken = take(batch_size, name=scope)
    return _unlisted(taken, records)


def _parsed(keys, examples, features, capacity, threads, name):
  """(keys, features) of serialized Examples, through a queue of parsed batches."""
  found = parsing.parse_example(examples, features)
  return queue_parsed_features(found, keys, capacity, threads, name)


@export('contrib.learn.queue_parsed_features')
def queue_parsed_features(parsed_features, keys=None, feature_queue_capacity=100,
                          num_enqueue_threads=2, name=None):
  """(keys, {name: tensor}): parsed batches that threads put into a queue."""
  names = sorted(parsed_features)
  with name_scope(name, 'queue_parsed_features'):
    parts, kinds = [], []
    for key in names:
      value = parsed_features[key]
      kinds.append(isinstance(value, SparseTensor))
      parts += [value.indices, value.values, value.dense_shape] if kinds[-1] else [value]
    if keys is not None:
      parts.append(convert(keys))
    queue = queues.FIFOQueue(feature_queue_capacity, [p.dtype.base_dtype for p in parts])
    enqueue = queue.enqueue(parts)
    coordinator.add_queue_runner(coordinator.QueueRunner(
        queue, [enqueue] * num_enqueue_threads,
        queue_closed_exception_types=(errors.OutOfRangeError, errors.CancelledError)))
    taken = queue.dequeue()
    taken = taken if isinstance(taken, list) else [taken]
    for got, part in zip(taken, parts):
      got.set_shape(part.get_shape())
    result, place = {}, 0
    for key, is_sparse in zip(names, kinds):
      result[key] = SparseTensor(*taken[place:place + 3]) if is_sparse else taken[place]
      place += 3 if is_sparse else 1
    return (taken[-1] if keys is not None else None), result


@export('contrib.learn.read_keyed_batch_features')
def read_keyed_batch_features(file_pattern, batch_size, features, reader, randomize_input=True,
                              num_epochs=None, queue_capacity=10000, reader_num_threads=1,
                              feature_queue_capacity=100, num_enqueue_threads=2, parse_fn=None,
                              name=None, read_batch_size=None):
  """(keys [batch], {name: tensor or SparseTensor}): what parse_example reads of the records of
  files by `features`. parse_fn makes a serialized Example of a record."""
  with name_scope(name, 'read_batch_features', [file_pattern]) as scope:
    keys, examples = read_keyed_batch_examples(
        file_pattern, batch_size, reader, randomize_input, num_epochs, queue_capacity,
        reader_num_threads, read_batch_size or batch_size, parse_fn, scope)
    return _parsed(keys, examples, features, feature_queue_capacity, num_enqueue_threads, scope)


@export('contrib.learn.read_batch_features')
def read_batch_features(file_pattern, batch_size, features, reader, randomize_input=True,
                        num_epochs=None, queue_capacity=10000, feature_queue_capacity=100,
                        reader_num_threads=1, num_enqueue_threads=2, parse_fn=None, name=None,
                        read_batch_size=None):
  """The same without the keys."""
  return read_keyed_batch_features(
      file_pattern, batch_size, features, reader, randomize_input, num_epochs, queue_capacity,
      reader_num_threads, feature_queue_capacity, num_enqueue_threads, parse_fn, name,
      read_batch_size)[1]
