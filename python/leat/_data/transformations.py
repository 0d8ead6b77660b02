"""tf.data.experimental: functions for Dataset.apply, and further sources."""
from __future__ import annotations

from leat._data import element as elements
from leat._data.dataset import Dataset, _inner, _int64, known_batch, seeds_of
from leat._data.function import traced
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert

_INFINITE, _UNKNOWN = -1, -2
EXPORTS = {'data.experimental.INFINITE_CARDINALITY': '_INFINITE',
           'data.INFINITE_CARDINALITY': '_INFINITE',
           'data.experimental.UNKNOWN_CARDINALITY': '_UNKNOWN',
           'data.UNKNOWN_CARDINALITY': '_UNKNOWN'}


@export('data.experimental.map_and_batch')
def map_and_batch(map_func, batch_size, num_parallel_batches=None, drop_remainder=False,
                  num_parallel_calls=None):
  """map, then batch, by one operation."""
  if num_parallel_batches is not None and num_parallel_calls is not None:
    raise ValueError('`map_and_batch` allows only one of `num_parallel_batches` and '
                     '`num_parallel_calls` to be set, but `num_parallel_batches` was set to %r and '
                     '`num_parallel_calls` was set to %r.' % (num_parallel_batches,
                                                              num_parallel_calls))
  size = _int64(batch_size, 'batch_size')
  drop = convert(drop_remainder, dtypes.bool, 'drop_remainder')
  if num_parallel_calls is not None:
    calls = _int64(num_parallel_calls, 'num_parallel_calls')
  else:
    calls = size * _int64(1 if num_parallel_batches is None else num_parallel_batches,
                          'num_parallel_batches')

  def apply(dataset):
    made = traced(map_func, 'map_and_batch', dataset._element)
    return dataset._made('MapAndBatchDataset', elements.batched(
        made.element, known_batch(size, drop)), other_arguments=made.captured, f=made.name,
                         batch_size=size, num_parallel_calls=calls, drop_remainder=drop)
  return apply


@export('data.experimental.parallel_interleave')
def parallel_interleave(map_func, cycle_length, block_length=1, sloppy=False,
                        buffer_output_elements=None, prefetch_input_elements=None):
  """interleave with cycle_length datasets read at once; sloppy allows another order."""
  def apply(dataset):
    made = traced(map_func, 'parallel_interleave', dataset._element)
    sizes = {name: _int64(-1 if value is None else value, name) for name, value in (
        ('buffer_output_elements', buffer_output_elements),
        ('prefetch_input_elements', prefetch_input_elements))}
    return dataset._made(
        'ParallelInterleaveDataset', _inner(made), other_arguments=made.captured, f=made.name,
        cycle_length=_int64(cycle_length, 'cycle_length'),
        block_length=_int64(block_length, 'block_length'),
        sloppy=convert(sloppy, dtypes.bool, 'sloppy'), **sizes)
  return apply


@export('data.experimental.shuffle_and_repeat')
def shuffle_and_repeat(buffer_size, count=None, seed=None):
  """shuffle, then repeat; elements of two passes may be in the buffer at once."""
  def apply(dataset):
    first, second = seeds_of(seed)
    return dataset._made('ShuffleAndRepeatDataset', buffer_size=_int64(buffer_size, 'buffer_size'),
                         seed=first, seed2=second, count=_int64(-1 if count is None else count,
                                                                'count'))
  return apply


@export('data.experimental.unbatch')
def unbatch():
  """The slices of the elements along their first dimension."""
  return lambda dataset: dataset.unbatch()


@export('data.experimental.enumerate_dataset')
def enumerate_dataset(start=0):
  """Pairs of a number and an element."""
  return lambda dataset: dataset.enumerate(start)


@export('data.experimental.ignore_errors')
def ignore_errors(log_warning=False):
  """The elements that can be made; others are left out."""
  return lambda dataset: dataset._made('IgnoreErrorsDataset', log_warning=log_warning)


@export('data.experimental.cardinality')
def cardinality(dataset):
  """How many elements there are, a scalar int64; -1: without end, -2: not known."""
  return dataset.cardinality()


@export('data.experimental.assert_cardinality')
def assert_cardinality(expected_cardinality):
  """Says how many elements there are; a step fails with FailedPreconditionError at the end where
  there were more or fewer."""
  return lambda dataset: dataset._made('AssertCardinalityDataset', cardinality=_int64(
      expected_cardinality, 'cardinality'))


@export('data.experimental.Counter')
def Counter(start=0, step=1, dtype=dtypes.int64):
  """Numbers from `start` on, without end."""
  found = Dataset.range(start, 2 ** 63 - 1 if step > 0 else -2 ** 63, step)
  if dtypes.as_dtype(dtype) == dtypes.int64:
    return found
  return found.map(lambda x: apply_op('Cast', x=x, DstT=dtype))


@export('data.experimental.RandomDataset')
class RandomDataset(Dataset):
  """Random int64 numbers of at least 0, without end."""

  def __init__(self, seed=None):
    first, second = seeds_of(seed)
    element = elements.TensorSpec([], dtypes.int64)
    super().__init__(apply_op('RandomDataset', seed=first, seed2=second,
                              **elements.described(element)), element)


@export('data.experimental.choose_from_datasets')
def choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset=False):
  """The next element of the dataset whose number the next element of choice_dataset, an int64
  scalar, is."""
  if not elements.is_compatible(elements.TensorSpec([], dtypes.int64), choice_dataset._element):
    raise TypeError('`choice_dataset` must be a dataset of scalar `tf.int64` tensors.')
  return _directed(datasets, choice_dataset, stop_on_empty_dataset)


def _directed(datasets, choice, stop_on_empty):
  if not datasets:
    raise ValueError('Invalid `datasets`. `datasets` should not be empty.')
  element = datasets[0]._element
  for dataset in datasets[1:]:
    if dataset.output_types != datasets[0].output_types:
      raise TypeError('Each dataset must have the same types: %s and %s' % (
          datasets[0].output_types, dataset.output_types))
    element = elements.joined(element, dataset._element)
  variant = apply_op('DirectedInterleaveDataset', selector_input_dataset=choice._variant,
                     data_input_datasets=[d._variant for d in datasets],
                     stop_on_empty_dataset=stop_on_empty, **elements.described(element))
  return Dataset(variant, element, [choice] + list(datasets))


@export('data.experimental.sample_from_datasets')
def sample_from_datasets(datasets, weights=None, seed=None, stop_on_empty_dataset=False):
  """The next element of a dataset that is chosen at random, with a probability in proportion to
  its weight. `weights` is a list, a vector, or a dataset of vectors."""
  if isinstance(weights, Dataset):
    chances = weights.map(lambda *p: apply_op('Log', x=p[0] if len(p) == 1 else p))
  else:
    if weights is None:
      weights = [1.0 / len(datasets)] * len(datasets)
    weights = convert(weights, name='weights')
    if not weights.dtype.is_floating:
      raise TypeError('Invalid `weights`: they must be of a floating type, got %s.' %
                      weights.dtype.name)
    if not weights.get_shape().is_compatible_with([len(datasets)]):
      raise ValueError('Invalid `weights`. The shape of `weights` should be compatible with `[len('
                       'datasets)]` but is %s.' % weights.get_shape())
    chances = Dataset.from_tensors(apply_op('Log', x=weights)).repeat()

  def number(logits, seeds):
    found = apply_op('StatelessMultinomial', logits=logits[None], num_samples=1, seed=seeds)
    return found[0, 0]
  choice = Dataset.zip((chances, RandomDataset(seed).batch(2))).map(number)
  return _directed(list(datasets), choice, stop_on_empty_dataset)
