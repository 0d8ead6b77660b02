"""tf.data.Dataset: sequences of elements, and what makes new ones of them.

A Dataset is a variant tensor of the graph and the specs of its elements' components (element.py).
Each method adds the operation of the new dataset. Nothing is computed until an iterator over it is
set to its start, in a step.
"""
from __future__ import annotations

from leat._data import element as elements
from leat._data import nest
from leat._data.function import traced
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import get_seed, name_scope
from leat._graph.value import constant_value


def _int64(value, name):
  return convert(value, dtypes.int64, name)


def seeds_of(seed):
  """Two int64 seeds for an operation, of the program's and the graph's."""
  first, second = get_seed(None) if seed is None or hasattr(seed, 'op') else get_seed(seed)
  if hasattr(seed, 'op'):
    first, second = 87654321 if first is None else first, apply_op('Cast', x=seed, DstT='int64')
  if first is None:
    first, second = 0, 0
  return _int64(first, 'seed'), second if hasattr(second, 'op') else _int64(second, 'seed2')


@export('data.Dataset')
class Dataset:
  """A sequence of elements, which are structures (tuples, dicts) of tensors, sparse tensors and
  datasets."""

  def __init__(self, variant, element, inputs=(), settings=None):
    self._variant, self._element = variant, element
    self._inputs, self._own_settings = tuple(inputs), settings
    self._device = None   # where an iterator's elements are brought to

  output_types = property(lambda self: elements.types_of(self._element))
  output_shapes = property(lambda self: elements.shapes_of(self._element))
  output_classes = property(lambda self: elements.classes_of(self._element))
  element_spec = property(lambda self: self._element)

  def __repr__(self):
    shapes = nest.map_structure(str, self.output_shapes)
    types = nest.map_structure(repr, self.output_types)
    return ('<%s shapes: %s, types: %s>' % (type(self).__name__, shapes, types)).replace("'", '')

  __str__ = __repr__

  def __iter__(self):
    raise RuntimeError('__iter__() is only supported inside of tf.function or when eager execution '
                       'is enabled; use make_one_shot_iterator() or make_initializable_iterator()')

  # Making -------------------------------------------------------------------------------------

  def _check_graph(self):
    graph = graphs.get_default_graph()
    if self._variant.graph is not graph and not graph._is_function:
      raise ValueError('The dataset %s must be from the same graph as the default one.' % self)

  def _made(self, op, element=None, others=(), **values):
    """The dataset of an operation that takes this one, with further `others` that it is made of."""
    self._check_graph()
    element = self._element if element is None else element
    described = elements.described(element)
    if op.startswith('PaddedBatch'):
      del described['output_types']
    variant = apply_op(op, input_dataset=self._variant, **described, **values)
    return Dataset(variant, element, (self,) + tuple(others))

  def _operations(self):
    """The operations that make this dataset and those that it reads or captures."""
    found, pending = set(), [self._variant.op]
    while pending:
      op = pending.pop()
      if op not in found:
        found.add(op)
        pending += [i.op for i in op.inputs if i.dtype == dtypes.variant]
    return found

  # Sources ------------------------------------------------------------------------------------

  @staticmethod
  def from_tensors(tensors):
    """One element, the structure of the tensors."""
    components, element = elements.normalized(tensors, 'tensors')
    return Dataset(apply_op('TensorDataset', components=elements.carriers(element, components),
                            output_shapes=elements.flat_shapes(element)), element)

  @staticmethod
  def from_tensor_slices(tensors):
    """The slices of the tensors along their first dimension, which must be of one size."""
    components, whole = elements.normalized(tensors, 'tensors')
    size = None
    for spec in nest.flatten(whole):
      if spec.shape.ndims == 0:
        raise ValueError('Unbatching a tensor is only supported for rank >= 1')
      if spec.shape.ndims is None:
        continue
      size = spec.shape[0] if size is None else size
      size.assert_is_compatible_with(spec.shape[0])
      size = size.merge_with(spec.shape[0])
    element = elements.unbatched(whole)
    if not nest.flatten(element):
      raise ValueError('Invalid `tensors`: they must hold one tensor at least.')
    return Dataset(apply_op('TensorSliceDataset',
                            components=elements.batched_carriers(whole, components),
                            output_shapes=elements.flat_shapes(element)), element)

  @staticmethod
  def from_sparse_tensor_slices(sparse_tensor):
    """The rows of a sparse tensor, whose indices must be in order, as (indices, values, shape)."""
    from leat._data.sparse import sparse_slices
    return sparse_slices(sparse_tensor)

  @staticmethod
  def from_generator(generator, output_types, output_shapes=None, args=None):
    """What the iterator gives that `generator(*args)` makes; a new one for each pass. `args` are
    tensors, which the generator gets as arrays."""
    from leat._data.generator import from_generator
    return from_generator(generator, output_types, output_shapes, args)

  @staticmethod
  def range(*args, **kwargs):
    """The numbers of Python's range, as int64 scalars or `output_type`."""
    output_type = dtypes.as_dtype(kwargs.pop('output_type', dtypes.int64))
    kwargs.pop('name', None)
    if kwargs:
      raise TypeError('Unknown keyword arguments: %s' % list(kwargs))
    if not 1 <= len(args) <= 3:
      raise ValueError('Invalid `args`. The length of `args` should be between 1 and 3 but was %d.'
                       % len(args))
    start, stop = (0, args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) == 3 else 1
    element = elements.TensorSpec([], output_type)
    return Dataset(apply_op('RangeDataset', start=_int64(start, 'start'), stop=_int64(stop, 'stop'),
                            step=_int64(step, 'step'), **elements.described(element)), element)

  @staticmethod
  def zip(*args, datasets=None, name=None):
    """Elements side by side: a structure of datasets gives elements of that structure."""
    del name
    if datasets is None:
      datasets = args[0] if len(args) == 1 else tuple(args)
    flat = nest.flatten(datasets)
    for item in flat:
      if not isinstance(item, Dataset):
        raise TypeError('The argument to `Dataset.zip()` must be a nested structure of `Dataset` '
                        'objects%s. Got %s' % (
                            ', not Python lists: use a tuple instead' if isinstance(item, list)
                            else '', item))
      item._check_graph()
    element = nest.pack_sequence_as(datasets, [d._element for d in flat])
    variant = apply_op('ZipDataset', input_datasets=[d._variant for d in flat],
                       **elements.described(element))
    return Dataset(variant, element, flat)

  @staticmethod
  def list_files(file_pattern, shuffle=None, seed=None):
    """The names of files that match the patterns, in a random order unless shuffle is False."""
    with name_scope('list_files'):
      shuffle = True if shuffle is None else shuffle
      pattern = convert(file_pattern, dtypes.string, 'file_pattern')
      found = _some_files(pattern)
      dataset = Dataset.from_tensor_slices(found)
      if shuffle:
        size = apply_op('Maximum', x=apply_op('Size', input=found, out_type='int64'),
                        y=_int64(1, 'least'))
        dataset = dataset.shuffle(size, seed=seed)
      return dataset

  # Order and number ---------------------------------------------------------------------------

  def concatenate(self, dataset):
    """The elements of this one, then those of another, which must be of the same types."""
    ours, theirs = self._element, dataset._element
    for what, mine, other in (('types', self.output_types, dataset.output_types),
                              ('classes', self.output_classes, dataset.output_classes)):
      if mine != other:
        raise TypeError('Two datasets to concatenate have different %s %s and %s' % (
            what, mine, other))
    return self._made('ConcatenateDataset', elements.joined(ours, theirs), (dataset,),
                      another_dataset=dataset._variant)

  def repeat(self, count=None):
    """The elements `count` times over, without end for None or -1."""
    return self._made('RepeatDataset', count=_int64(-1 if count is None else count, 'count'))

  def take(self, count):
    """The first `count` elements; all for -1."""
    return self._made('TakeDataset', count=_int64(count, 'count'))

  def skip(self, count):
    """All but the first `count` elements; none for -1."""
    return self._made('SkipDataset', count=_int64(count, 'count'))

  def shard(self, num_shards, index):
    """Every num_shards-th element, from the one of the number `index` on."""
    for value, name, least in ((num_shards, 'num_shards', 1), (index, 'index', 0)):
      known = constant_value(convert(value, dtypes.int64, name))
      if known is not None and known < least:
        raise ValueError('`%s` must be >= %d, got %s' % (name, least, known))
    known = [constant_value(convert(v, dtypes.int64)) for v in (num_shards, index)]
    if None not in known and known[1] >= known[0]:
      raise ValueError('`index` must be < `num_shards`, got index = %s, num_shards = %s' % (
          known[1], known[0]))
    return self._made('ShardDataset', num_shards=_int64(num_shards, 'num_shards'),
                      index=_int64(index, 'index'))

  def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration=None):
    """The elements in a random order, chosen among buffer_size that wait. A further pass has
    another order unless reshuffle_each_iteration is False."""
    size = _int64(buffer_size, 'buffer_size')
    first, second = seeds_of(seed)
    return self._made('ShuffleDataset', buffer_size=size, seed=first, seed2=second,
                      reshuffle_each_iteration=reshuffle_each_iteration is not False)

  def cache(self, filename=''):
    """The elements, remembered in memory, or in files whose names begin with `filename`."""
    return self._made('CacheDataset', filename=convert(filename, dtypes.string, 'filename'))

  def prefetch(self, buffer_size):
    """The elements; up to buffer_size are made before they are asked for."""
    return self._made('PrefetchDataset', buffer_size=_int64(
        -1 if buffer_size is None else buffer_size, 'buffer_size'))

  def enumerate(self, start=0):
    """Pairs of a number, counted from `start`, and an element."""
    return Dataset.zip((Dataset.range(start, 2 ** 63 - 1), self))

  def apply(self, transformation_func):
    """What the function makes of this dataset; it must be a dataset."""
    made = transformation_func(self)
    if not isinstance(made, Dataset):
      raise TypeError('`transformation_func` must return a `Dataset`, got %s.' % type(made))
    return made

  def cardinality(self):
    """How many elements there are, a scalar int64; -1: without end, -2: not known."""
    return apply_op('DatasetCardinality', input_dataset=self._variant)

  # Batches ------------------------------------------------------------------------------------

  def batch(self, batch_size, drop_remainder=False, num_parallel_calls=None, deterministic=None):
    """batch_size elements as one, with a further first dimension; the last may be smaller unless
    drop_remainder."""
    del num_parallel_calls, deterministic  # for speed alone
    size = _int64(batch_size, 'batch_size')
    drop = convert(drop_remainder, dtypes.bool, 'drop_remainder')
    return self._made('BatchDatasetV2', elements.batched(self._element, known_batch(size, drop)),
                      batch_size=size, drop_remainder=drop)

  def padded_batch(self, batch_size, padded_shapes=None, padding_values=None,
                   drop_remainder=False):
    """As batch, of tensors that are padded to a common shape."""
    from leat._data.padding import padded_batch
    return padded_batch(self, batch_size, padded_shapes, padding_values, drop_remainder)

  def unbatch(self):
    """The slices of the elements along their first dimension."""
    from leat._data.sparse import unbatched
    return unbatched(self)

  def window(self, size, shift=None, stride=1, drop_remainder=False):
    """`size` elements that follow each other as a dataset for each component; the next window
    begins `shift` elements later."""
    element = nest.map_structure(elements.DatasetSpec, self._element)
    return self._made('WindowDataset', element, size=_int64(size, 'size'),
                      shift=_int64(size if shift is None else shift, 'shift'),
                      stride=_int64(stride, 'stride'),
                      drop_remainder=convert(drop_remainder, dtypes.bool, 'drop_remainder'))

  # Functions ----------------------------------------------------------------------------------

  def map(self, map_func, num_parallel_calls=None, deterministic=None):
    """What the function gives for each element. It is called once, while building; the components
    of an element that is a tuple are arguments of their own."""
    made = traced(map_func, 'map', self._element)
    values = {'other_arguments': made.captured, 'f': made.name}
    if num_parallel_calls is None:
      return self._made('MapDataset', made.element, **values)
    return self._made('ParallelMapDatasetV2', made.element, deterministic=_word(deterministic),
                      num_parallel_calls=_int64(num_parallel_calls, 'num_parallel_calls'), **values)

  def flat_map(self, map_func):
    """The elements of the datasets that the function gives, one after the other."""
    made = traced(map_func, 'flat_map', self._element)
    return self._made('FlatMapDataset', _inner(made), other_arguments=made.captured, f=made.name)

  def interleave(self, map_func, cycle_length=None, block_length=None, num_parallel_calls=None,
                 deterministic=None):
    """The elements of the datasets that the function gives: block_length of each of cycle_length
    that are open at once, in turns."""
    made = traced(map_func, 'interleave', self._element)
    if cycle_length is None:
      import os
      cycle_length = -1 if num_parallel_calls is not None else os.cpu_count() or 1
    values = {'other_arguments': made.captured, 'f': made.name,
              'cycle_length': _int64(cycle_length, 'cycle_length'),
              'block_length': _int64(1 if block_length is None else block_length, 'block_length')}
    if num_parallel_calls is None:
      return self._made('InterleaveDataset', _inner(made), **values)
    return self._made('ParallelInterleaveDatasetV3', _inner(made),
                      deterministic=_word(deterministic),
                      num_parallel_calls=_int64(num_parallel_calls, 'num_parallel_calls'), **values)

  def filter(self, predicate):
    """The elements for which the function gives True, a scalar bool."""
    made = traced(predicate, 'filter', self._element)
    if not elements.is_compatible(elements.TensorSpec([], dtypes.bool), made.element):
      raise ValueError('`predicate` must return a scalar boolean tensor, got %s.' % (made.element,))
    return self._made('FilterDataset', other_arguments=made.captured, predicate=made.name)

  def take_while(self, predicate):
    """The elements before the first for which the function gives False."""
    from leat._data.grouping import take_while
    return self.apply(take_while(predicate))

  def scan(self, initial_state, scan_func):
    """The second of what the function of (state, element) gives; the first is the next state."""
    from leat._data.folding import scan
    return self.apply(scan(initial_state, scan_func))

  def reduce(self, initial_state, reduce_func):
    """The last state of a function of (state, element), called for one element after the other."""
    from leat._data.folding import reduce
    return reduce(self, initial_state, reduce_func)

  # Settings -----------------------------------------------------------------------------------

  def options(self):
    """The settings of this dataset and those that it is made of."""
    from leat._data.options import Options
    found = Options()
    for dataset in self._inputs:
      found = found.merge(dataset.options())
    return found if self._own_settings is None else found.merge(self._own_settings)

  def with_options(self, options):
    """The same elements with settings, which win over those of before."""
    found = Dataset(self._variant, self._element, (self,), options)
    found._device = self._device
    return found

  def _with_settings(self):
    """The dataset with what its settings ask of the library."""
    options = self.options()
    threading = options.threading
    dataset = self
    if options.deterministic is False:
      dataset = dataset._made('OptionsDataset', serialized_options=_ANY_ORDER)
    if threading.max_intra_op_parallelism is not None:
      dataset = dataset._made('MaxIntraOpParallelismDataset', max_intra_op_parallelism=_int64(
          threading.max_intra_op_parallelism, 'max_intra_op_parallelism'))
    if threading.private_threadpool_size is not None:
      dataset = dataset._made('PrivateThreadPoolDataset', num_threads=_int64(
          threading.private_threadpool_size, 'num_threads'))
    if options.experimental_stats.aggregator is not None:
      from leat._data.stats import aggregated
      dataset = aggregated(dataset, options.experimental_stats)
    dataset._device = self._device
    return dataset

  # Iterators ----------------------------------------------------------------------------------

  def make_one_shot_iterator(self):
    """An iterator that starts by itself."""
    from leat._data import iterator
    return iterator.make_one_shot_iterator(self)

  def make_initializable_iterator(self, shared_name=None):
    """An iterator that must be initialized, and can be so again."""
    from leat._data import iterator
    return iterator.make_initializable_iterator(self, shared_name)


def known_batch(size, drop):
  """The size of all batches where constants say it, else None."""
  if not constant_value(drop):
    return None
  known = constant_value(size)
  return None if known is None else int(known)


# A serialized tensorflow.data.Options whose field 1, deterministic, is false.
_ANY_ORDER = b'\x08\x00'


def _word(deterministic):
  return 'default' if deterministic is None else 'true' if deterministic else 'false'


def _inner(made):
  """The specs of the elements of the dataset that a function gives."""
  if not isinstance(made.element, elements.DatasetSpec) or isinstance(
      made.element, elements.OptionalSpec):
    raise TypeError('`map_func` must return a `Dataset` object. Got %s.' % (made.element,))
  return made.element.element_spec


def _some_files(pattern):
  """The files that match; the step fails with InvalidArgumentError where there are none."""
  from leat._graph.scope import control_dependencies
  from leat._ops.control_flow import Assert
  found = apply_op('MatchingFiles', pattern=pattern)
  count = apply_op('Size', input=found)
  message = apply_op('Add', x=_text('No files matched pattern: '),
                     y=apply_op('ReduceJoin', inputs=apply_op('Reshape', tensor=pattern,
                                                              shape=[-1]),
                                reduction_indices=[0], separator=', '))
  with control_dependencies([Assert(apply_op('Greater', x=count, y=0), [message])]):
    return apply_op('Identity', input=found)


def _text(value):
  return convert(value, dtypes.string)
