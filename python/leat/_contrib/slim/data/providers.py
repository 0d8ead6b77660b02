"""contrib.slim.data: datasets, what provides their items, and files read by several readers at
once.

A dataset says where examples are, how they are read and decoded. Readers put records into a common
queue, from which a provider decodes one after the other into tensors by name.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes_
from leat._graph.scope import name_scope
from leat._ops import math, queues
from leat._platform import files
from leat._train import coordinator, input as inputs, summary


@export('contrib.slim.dataset.Dataset')
class Dataset:
  """Where data are (files or patterns of them), the class of their reader, their decoder (what has
  list_items and decode), how many there are, and what the items are. Further arguments are further
  attributes."""

  def __init__(self, data_sources, reader, decoder, num_samples, items_to_descriptions, **kwargs):
    kwargs.update(data_sources=data_sources, reader=reader, decoder=decoder,
                  num_samples=num_samples, items_to_descriptions=items_to_descriptions)
    self.__dict__.update(kwargs)


@export('contrib.slim.data_provider.DataProvider')
class DataProvider:
  """Tensors by the names of items; `get` gives some of them."""

  def __init__(self, items_to_tensors, num_samples):
    self._items_to_tensors, self._num_samples = items_to_tensors, num_samples

  def list_items(self):
    """The names of all items."""
    return self._items_to_tensors.keys()

  def num_samples(self):
    return self._num_samples

  def get(self, items):
    """The tensors of a list of items; ValueError of one that is not there."""
    self._check(items)
    return [self._items_to_tensors[item] for item in items]

  def _check(self, items):
    if not isinstance(items, (list, tuple)):
      raise ValueError('items must be a list or tuple')
    for item in items:
      if item not in self._items_to_tensors:
        raise ValueError('Item [%s] is invalid among entries in the provider: %s.' % (
            item, sorted(self._items_to_tensors)))


@export('contrib.slim.data_decoder.DataDecoder')
class DataDecoder:
  """The base of decoders: `list_items()`, and `decode(data, items)`, a list of tensors."""

  def decode(self, data, items):
    raise NotImplementedError('decode of %s' % type(self).__name__)

  def list_items(self):
    raise NotImplementedError('list_items of %s' % type(self).__name__)


@export('contrib.slim.dataset_data_provider.DatasetDataProvider')
class DatasetDataProvider(DataProvider):
  """The items of a dataset, read by `num_readers` readers, in an order that changes if `shuffle`,
  for so many epochs (for ever, if None). The item `record_key` is the name of the record."""

  def __init__(self, dataset, num_readers=1, reader_kwargs=None, shuffle=True, num_epochs=None,
               common_queue_capacity=256, common_queue_min=128, record_key='record_key', seed=None,
               scope=None):
    key, data = parallel_read(
        dataset.data_sources, reader_class=dataset.reader, num_epochs=num_epochs,
        num_readers=num_readers, reader_kwargs=reader_kwargs, shuffle=shuffle,
        capacity=common_queue_capacity, min_after_dequeue=common_queue_min, seed=seed, scope=scope)
    items = dataset.decoder.list_items()
    tensors = dict(zip(items, dataset.decoder.decode(data, items)))
    if record_key in tensors:
      raise ValueError('The item name used for `record_key` cannot also be used for a dataset '
                       'item: %s' % record_key)
    tensors[record_key] = key
    super().__init__(tensors, num_samples=dataset.num_samples)


# ---- Reading ------------------------------------------------------------------------------------


@export('contrib.slim.parallel_reader.get_data_files')
def get_data_files(data_sources):
  """The files of a name, a pattern, or a list of them. ValueError where there is none."""
  if isinstance(data_sources, (list, tuple)):
    found = [f for source in data_sources for f in get_data_files(source)]
  elif any(c in data_sources for c in '*?['):
    found = files.Glob(data_sources)
  else:
    found = [data_sources]
  if not found:
    raise ValueError('No data files found in %s' % (data_sources,))
  return found


@export('contrib.slim.parallel_reader.ParallelReader')
class ParallelReader:
  """Several readers, each in a thread of its own, that put records into one queue."""

  def __init__(self, reader_class, common_queue, num_readers=4, reader_kwargs=None):
    if len(common_queue.dtypes) != 2:
      raise TypeError('common_queue must have 2 components, a key and a value')
    for dtype in common_queue.dtypes:
      if not dtype.is_compatible_with(dtypes_.string):
        raise TypeError('common_queue must have two strings, has %s' % (common_queue.dtypes,))
    self._readers = [reader_class(**(reader_kwargs or {})) for _ in range(num_readers)]
    self._queue = common_queue

  num_readers = property(lambda self: len(self._readers))
  common_queue = property(lambda self: self._queue)

  def _add_threads(self, operations):
    coordinator.add_queue_runner(coordinator.QueueRunner(self._queue, operations))

  def read(self, queue, name=None):
    """(key, value) of the next record of the common queue; readers take files from `queue`."""
    self._add_threads([self._queue.enqueue(reader.read(queue)) for reader in self._readers])
    return self._queue.dequeue(name=name)

  def read_up_to(self, queue, num_records, name=None):
    """(keys, values) of at most so many records."""
    self._add_threads([self._queue.enqueue_many(reader.read_up_to(queue, num_records))
                       for reader in self._readers])
    return self._queue.dequeue_up_to(num_records, name)

  def _sum(self, of, name):
    with name_scope(name, 'num'):
      from leat._ops import matrix
      return matrix.add_n([of(reader) for reader in self._readers])

  def num_records_produced(self, name=None):
    """How many records were read."""
    return self._sum(lambda r: r.num_records_produced(), name)

  def num_work_units_completed(self, name=None):
    """How many files were read to their end."""
    return self._sum(lambda r: r.num_work_units_completed(), name)


@export('contrib.slim.parallel_reader.parallel_read')
def parallel_read(data_sources, reader_class, num_epochs=None, num_readers=4, reader_kwargs=None,
                  shuffle=True, dtypes=None, capacity=256, min_after_dequeue=128, seed=None,
                  scope=None):
  """(key, value) of records of files, read by several readers at once. With `shuffle` files and
  records come in an order that changes, at least `min_after_dequeue` records waiting to be chosen
  from."""
  data_files = get_data_files(data_sources)
  with name_scope(scope, 'parallel_read'):
    names = inputs.string_input_producer(data_files, num_epochs=num_epochs, shuffle=shuffle,
                                         seed=seed, name='filenames')
    kinds = dtypes or [dtypes_.string, dtypes_.string]
    if shuffle:
      common = queues.RandomShuffleQueue(capacity=capacity, min_after_dequeue=min_after_dequeue,
                                         dtypes=kinds, seed=seed, name='common_queue')
    else:
      common = queues.FIFOQueue(capacity=capacity, dtypes=kinds, name='common_queue')
    _summarize_fullness(common, capacity)
    return ParallelReader(reader_class, common, num_readers=num_readers,
                          reader_kwargs=reader_kwargs).read(names)


def _summarize_fullness(queue, capacity):
  """A scalar summary of how full a queue is, from 0 to 1."""
  summary.scalar('fraction_of_%d_full' % capacity,
                 math.cast(queue.size(), dtypes_.float32) * (1. / capacity))


@export('contrib.slim.parallel_reader.single_pass_read')
def single_pass_read(data_sources, reader_class, reader_kwargs=None, scope=None):
  """(key, value) of all records, each once and in their order."""
  with name_scope(scope, 'single_pass_read'):
    names = inputs.string_input_producer(get_data_files(data_sources), num_epochs=1,
                                         shuffle=False, capacity=1, name='filenames')
    return reader_class(**(reader_kwargs or {})).read(names)


@export('contrib.slim.prefetch_queue.prefetch_queue')
def prefetch_queue(tensors, capacity=8, num_threads=1, dynamic_pad=False, shared_name=None,
                   name=None):
  """A queue of what the tensors (a list or a dict) give, computed by threads ahead of their use.
  With dynamic_pad shapes may differ, and what is taken together is padded."""
  if isinstance(tensors, dict):
    names, values = sorted(tensors), [tensors[n] for n in sorted(tensors)]
    enqueued = tensors
  else:
    names, values = None, list(tensors)
    enqueued = values
  with name_scope(name, 'prefetch_queue', values):
    kinds, shapes = [t.dtype for t in values], [t.get_shape() for t in values]
    if dynamic_pad:
      queue = queues.PaddingFIFOQueue(capacity=capacity, dtypes=kinds, shapes=shapes, names=names,
                                      shared_name=shared_name)
    else:
      queue = queues.FIFOQueue(capacity=capacity, dtypes=kinds, shapes=shapes, names=names,
                               shared_name=shared_name)
    operation = queue.enqueue(enqueued)
    coordinator.add_queue_runner(coordinator.QueueRunner(queue, [operation] * num_threads))
    _summarize_fullness(queue, capacity)
    return queue
