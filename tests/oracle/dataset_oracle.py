"""Datasets that few programs use, in both libraries: ragged features of Examples, the datasets that
choose the fastest of several ways, sparse batches, options, elements by index, by two indices and
in a global random order, and tables that a dataset fills. Each case is a graph, built by TensorFlow
and run by both; the values, or the codes of the errors, must be the same."""
import functools

from dataset_kit import NUMBER, compare, defun, elements, examples, function, numbers, raw, tf
import numpy as np
from tensorflow.core.framework import dataset_options_pb2 as options_pb

from outcome import report

SLOW = 300000  # elements of a range that are passed over for one of the slow dataset
CASES = {}


def case(build):
  """Registers a function that builds a graph and returns the tensors to fetch."""
  CASES[build.__name__.replace('_', ' ')] = build
  return build


# ---- Examples ------------------------------------------------------------------------------------
def examples():
  """Two elements of two Examples each; the features differ in length, and some are not there."""
  def encode(**features):
    example = tf.train.Example()
    for name, values in features.items():
      kind = 'bytes_list' if isinstance(values[0], bytes) else (
          'float_list' if isinstance(values[0], float) else 'int64_list')
      getattr(example.features.feature[name], kind).value.extend(values)
    return example.SerializeToString()
  return np.array([[encode(a=[5, 7], t=[b'x', b'']), encode(a=[9], f=[.5])],
                   [encode(t=[b'yz']), encode(a=[1, 2, 3], f=[1.5, 2.5], t=[b'w'])]], object)


def parse(op, keys, types, splits, **more):
  """The components of the elements that an op parses: ragged ones, and a sparse one in between."""
  dataset = raw.TensorSliceDataset(components=[examples()], output_shapes=[[2]])
  count = len(keys) + 1
  return op(input_dataset=dataset, num_parallel_calls=1, dense_defaults=[], sparse_keys=['b'],
            dense_keys=[], sparse_types=[tf.int64], dense_shapes=[], ragged_keys=keys,
            ragged_value_types=types, ragged_split_types=splits,
            output_types=[tf.variant] * count, output_shapes=[None] * count, **more)


def taken_apart(dataset, keys, types, splits):
  count = len(keys) + 1
  spec = dict(output_types=[tf.variant] * count, output_shapes=[None] * count)
  order = sorted(keys + ['b'])
  for skipped in (0, 1):
    one = raw.TakeDataset(count=1, input_dataset=raw.SkipDataset(
        input_dataset=dataset, count=skipped, **spec), **spec)
    element = raw.DatasetToSingleElement(dataset=one, **spec)
    for key, dtype, split in zip(keys, types, splits):
      ragged = raw.RaggedTensorFromVariant(
          encoded_ragged=element[order.index(key)], input_ragged_rank=1, output_ragged_rank=1,
          Tvalues=dtype, Tsplits=split)
      yield ragged.output_nested_splits[0]
      yield ragged.output_dense_values


RAGGED = (['t', 'a', 'f'], [tf.string, tf.int64, tf.float32], [tf.int32, tf.int64, tf.int32])


@case
def ragged_features_of_ParseExampleDataset():
  return list(taken_apart(parse(raw.ParseExampleDataset, *RAGGED), *RAGGED))


@case
def ragged_features_of_ParseExampleDatasetV2():
  return list(taken_apart(parse(raw.ParseExampleDatasetV2, *RAGGED), *RAGGED))


@case
def a_ragged_feature_of_another_type():
  wanted = (['a'], [tf.float32], [tf.int64])
  return list(taken_apart(parse(raw.ParseExampleDatasetV2, *wanted), *wanted))


@case
def a_ragged_feature_that_is_sparse_too():
  wanted = (['b'], [tf.int64], [tf.int64])
  return [raw.DatasetCardinality(input_dataset=parse(raw.ParseExampleDatasetV2, *wanted))]


# ---- The fastest dataset -------------------------------------------------------------------------
def slow_numbers():
  return raw.ShardDataset(input_dataset=numbers(0, 5 * SLOW), num_shards=SLOW, index=SLOW - 1,
                          **NUMBER)


def fastest(first, second, experiments, op=raw.ChooseFastestDataset):
  dataset = op(input_datasets=[first, second], num_experiments=experiments, **NUMBER)
  return [elements(dataset), raw.DatasetCardinality(input_dataset=dataset)]


@case
def the_second_input_is_fastest():
  return fastest(slow_numbers(), numbers(10, 15), 2)


@case
def the_first_input_is_fastest():
  return fastest(numbers(10, 15), slow_numbers(), 2)


@case
def the_former_name_of_ChooseFastestDataset():
  return fastest(slow_numbers(), numbers(10, 15), 1, raw.ExperimentalChooseFastestDataset)


@case
def more_experiments_than_elements():
  return fastest(numbers(0, 3), numbers(7, 10), 9)


@case
def inputs_of_different_sizes():
  return fastest(numbers(0, 3), numbers(0, 4), 2)


@case
def an_input_that_fails():
  failing = raw.AssertCardinalityDataset(input_dataset=numbers(0, 2), cardinality=3, **NUMBER)
  return fastest(failing, numbers(0, 3), 9)


@case
def another_input_that_fails():
  failing = raw.AssertCardinalityDataset(input_dataset=numbers(0, 2), cardinality=3, **NUMBER)
  return fastest(numbers(0, 3), failing, 9)


# ---- The fastest branch --------------------------------------------------------------------------
def branch(name, body, *captured):
  """A function of a dataset and of the types |captured|."""
  defined = function.Defun(tf.variant, *captured, func_name=name)(body)
  defined.add_to_graph(tf.get_default_graph())
  return defined


def same():
  return branch('Same', lambda d: tf.identity(d))


def slow():
  """Negative numbers."""
  def slowly(a):
    return -a + tf.minimum(tf.reduce_sum(tf.range(a, a + 2000000)), 0)
  inner = function.Defun(tf.int64, func_name='Slowly')(slowly)
  inner.add_to_graph(tf.get_default_graph())
  return branch('Slow', lambda d: raw.MapDataset(input_dataset=d, other_arguments=[], f=inner,
                                                 **NUMBER))


def even():
  return branch('Even', lambda d: raw.ShardDataset(input_dataset=d, num_shards=2, index=0,
                                                   **NUMBER))


def skipped():
  return branch('Skipped', lambda d, n: raw.SkipDataset(input_dataset=d, count=n, **NUMBER),
                tf.int64)


def twice():
  return branch('Twice', lambda d: raw.RepeatDataset(input_dataset=d, count=2, **NUMBER))


def fastest_branch(branches, per_branch, numerator=1, denominator=1, captured=(), lengths=None):
  dataset = raw.ChooseFastestBranchDataset(
      input_dataset=numbers(0, 10), ratio_numerator=numerator, ratio_denominator=denominator,
      other_arguments=[np.int64(c) for c in captured], num_elements_per_branch=per_branch,
      branches=branches, other_arguments_lengths=lengths or [0] * len(branches), **NUMBER)
  return [elements(dataset), raw.DatasetCardinality(input_dataset=dataset)]


@case
def the_second_branch_is_fastest():
  return fastest_branch([slow(), same()], 3)


@case
def the_first_branch_is_fastest():
  return fastest_branch([same(), slow()], 3)


@case
def one_element_a_branch():
  return fastest_branch([slow(), same()], 1)


@case
def branches_that_leave_elements():
  both = even()
  return fastest_branch([both, both], 2, numerator=2)


@case
def branches_that_want_more_elements():
  both = even()
  return fastest_branch([both, both], 3)


@case
def a_fraction_as_ratio():
  both = same()
  return fastest_branch([both, both], 4, denominator=2)


@case
def branches_that_capture():
  both = skipped()
  return fastest_branch([both, both], 3, numerator=3, captured=(2, 1), lengths=[1, 1])


@case
def branches_that_read_twice():
  both = twice()
  return fastest_branch([both, both], 11)


@case
def a_ratio_of_nothing():
  both = same()
  return fastest_branch([both, both], 3, numerator=0)


@case
def a_ratio_that_does_not_divide():
  both = same()
  return fastest_branch([both, both], 3, denominator=2)


# ---- Sparse batches, sizes of batches, options ---------------------------------------------------
VARIANT = dict(output_types=[tf.variant], output_shapes=[None])
ROWS = dict(output_types=[tf.int64], output_shapes=[[None]])


def batches(dataset, size, drop_remainder=False):
  return raw.BatchDatasetV2(input_dataset=dataset, batch_size=size, drop_remainder=drop_remainder,
                            **ROWS)


def sparse_batch(dataset, size, row_shape, op=raw.DenseToSparseBatchDataset):
  """The first element, taken apart, and the number of elements."""
  dataset = op(input_dataset=dataset, batch_size=size, row_shape=np.array(row_shape, 'i8'),
               **VARIANT)
  first = raw.TakeDataset(input_dataset=dataset, count=1, **VARIANT)
  sparse = raw.DeserializeSparse(serialized_sparse=raw.DatasetToSingleElement(
      dataset=first, **VARIANT)[0], dtype=tf.int64)
  return list(sparse) + [raw.DatasetCardinality(input_dataset=dataset)]


@case
def a_sparse_batch():
  return sparse_batch(batches(numbers(0, 8), 3), 3, [4])


@case
def a_sparse_batch_as_wide_as_its_rows():
  return sparse_batch(batches(numbers(0, 8), 3), 9, [-1],
                      raw.ExperimentalDenseToSparseBatchDataset)


@case
def a_sparse_batch_of_scalars():
  return sparse_batch(numbers(5, 9), 3, [])


@case
def a_row_that_is_too_wide():
  return sparse_batch(batches(numbers(0, 8), 3), 3, [2])


@case
def a_row_of_another_rank():
  return sparse_batch(numbers(0, 8), 3, [2])


@case
def sizes_of_batches():
  three, four = batches(numbers(0, 9), 3), batches(numbers(0, 9), 4)
  datasets = [numbers(0, 9), three, raw.TakeDataset(input_dataset=three, count=1, **ROWS),
              raw.ConcatenateDataset(input_dataset=three, another_dataset=three, **ROWS),
              raw.ConcatenateDataset(input_dataset=three, another_dataset=four, **ROWS),
              raw.CacheDataset(input_dataset=four, filename='', **ROWS),
              raw.UnbatchDataset(input_dataset=four, **NUMBER)]
  return [raw.ComputeBatchSize(input_dataset=d) for d in datasets]


@case
def options_of_several_datasets():
  def said(dataset, **options):
    message = options_pb.Options(**options)
    return raw.OptionsDataset(input_dataset=dataset, serialized_options=(
        message.SerializeToString()), **NUMBER)
  inner = said(numbers(0, 3), slack=True, deterministic=False, framework_type=['a'],
               threading_options=options_pb.ThreadingOptions(private_threadpool_size=3))
  outer = said(raw.TakeDataset(input_dataset=inner, count=2, **NUMBER), slack=False,
               dataset_name='name', framework_type=['b'],
               threading_options=options_pb.ThreadingOptions(max_intra_op_parallelism=7))
  both = raw.ConcatenateDataset(input_dataset=outer, another_dataset=inner, **NUMBER)
  return [raw.GetOptions(input_dataset=d) for d in (numbers(0, 3), inner, outer, both)]


# ---- Elements by index ---------------------------------------------------------------------------
def global_order(dataset, reshuffle=True, times=2):
  shuffled = raw.GlobalShuffleDataset(
      input_dataset=dataset, seed=5, seed2=6, seed_generator=raw.DummySeedGenerator(),
      reshuffle_each_iteration=reshuffle, **NUMBER)
  return [elements(raw.RepeatDataset(input_dataset=shuffled, count=times, **NUMBER))]


@case
def a_global_order_for_each_pass():
  return global_order(numbers(0, 30))


@case
def the_same_global_order_for_each_pass():
  return global_order(numbers(0, 17), reshuffle=False)


@case
def a_global_order_of_what_is_selected():
  rest = raw.SkipDataset(input_dataset=raw.RangeDataset(start=90, stop=-20, step=-3, **NUMBER),
                         count=4, **NUMBER)
  some = raw.TakeDataset(input_dataset=raw.ShardDataset(
      input_dataset=rest, num_shards=2, index=1, **NUMBER), count=11, **NUMBER)
  square = function.Defun(tf.int64, func_name='Squares')(lambda x: x * x)
  square.add_to_graph(tf.get_default_graph())
  return global_order(raw.MapDataset(input_dataset=some, other_arguments=[], f=square,
                                     preserve_cardinality=True, **NUMBER))


@case
def a_global_order_of_a_shuffled_dataset():
  return global_order(raw.ShuffleDataset(input_dataset=numbers(0, 9), buffer_size=3, seed=1,
                                         seed2=2, **NUMBER))


@case
def weighted_inputs():
  dataset = raw.WeightedFlatMapDataset(input_datasets=[numbers(0, 10), numbers(50, 59)],
                                       weights=[np.float64(2), np.float64(5)], **NUMBER)
  return [elements(dataset), raw.DatasetCardinality(input_dataset=dataset)]


def at(dataset, index):
  return [raw.GetElementAtIndex(dataset=dataset, index=index, **NUMBER)[0]]


@case
def an_element_by_index():
  return at(raw.ConcatenateDataset(input_dataset=numbers(0, 3), another_dataset=numbers(7, 9),
                                   **NUMBER), 4)


@case
def an_index_behind_the_end():
  return at(numbers(0, 3), 3)


# ---- Tables --------------------------------------------------------------------------------------
def table_of(keys, values):
  table = raw.HashTableV2(key_dtype=tf.int64, value_dtype=tf.int64)
  pairs_of = raw.TensorSliceDataset(components=[np.array(keys, 'i8'), np.array(values, 'i8')],
                                    output_shapes=[[], []])
  with tf.control_dependencies([raw.InitializeTableFromDataset(table_handle=table,
                                                               dataset=pairs_of)]):
    return [raw.LookupTableFindV2(table_handle=table, keys=np.array([2, 9], 'i8'),
                                  default_value=np.int64(-1)),
            raw.LookupTableSizeV2(table_handle=table)]


@case
def a_table_of_a_dataset():
  return table_of([1, 2, 3, 2], [5, 6, 7, 6])


@case
def a_table_with_two_values_for_a_key():
  return table_of([1, 2, 1], [5, 6, 7])


@case
def a_table_of_nothing():
  return table_of([], [])


# ---- Elements by two indices ---------------------------------------------------------------------
def flat(index, split=lambda x: tf.fill([2], x * 10) + tf.constant([0, 1], tf.int64), count=3,
         cardinality=-2, **more):
  made = raw.IndexFlatMapDataset(
      input_dataset=numbers(0, count), map_func_other_args=[], index_map_func_other_args=[],
      output_cardinality=cardinality, map_func=defun('SplitUp', split, tf.int64),
      index_map_func=defun('FindIndex', index, tf.int64), **{**NUMBER, **more})
  taken = raw.TakeDataset(input_dataset=made, count=12, **NUMBER)
  return [elements(taken), raw.DatasetCardinality(input_dataset=made)]


def in_pairs(i):
  return i // 2, i % 2


for title, arguments in {
    'in order': dict(index=in_pairs),
    'and their number': dict(index=in_pairs, cardinality=6),
    'and another number': dict(index=in_pairs, cardinality=4),
    'and an impossible number': dict(index=in_pairs, cardinality=-3),
    'with small numbers': dict(index=lambda i: (tf.cast(i, tf.int32), tf.cast(i * 0, tf.int32))),
    'with gaps': dict(index=lambda i: (2 * i, i % 2)),
    'backwards': dict(index=lambda i: (2 - i, i % 2)),
    'below the first': dict(index=lambda i: (i - 1, i * 0)),
    'as scalars': dict(index=lambda i: (i, i * 0 + 1), split=lambda x: x),
    'as several tensors': dict(index=lambda i: (i // 3, i % 3),
                               split=lambda x: (x, x + 100, x + 200)),
    'behind several tensors': dict(index=lambda i: (i // 4, i % 4),
                                   split=lambda x: (x, x + 100, x + 200)),
    'before the first row': dict(index=lambda i: (i, i * 0 - 1)),
    'by one number': dict(index=lambda i: i),
    'by three numbers': dict(index=lambda i: (i, i, i)),
    'by fractions': dict(index=lambda i: (tf.cast(i, tf.float32), i)),
    'of another type': dict(index=in_pairs, split=lambda x: tf.fill([2], tf.cast(x, tf.int32))),
    'of an empty dataset': dict(index=in_pairs, count=0),
}.items():
  CASES['flat elements ' + title] = functools.partial(flat, **arguments)


def shuffled_flat(cardinality):
  made = raw.IndexFlatMapDataset(
      input_dataset=numbers(0, 3), map_func_other_args=[], index_map_func_other_args=[],
      output_cardinality=cardinality, map_func=defun(
          'SplitUp', lambda x: tf.fill([2], x * 10) + tf.constant([0, 1], tf.int64), tf.int64),
      index_map_func=defun('FindIndex', in_pairs, tf.int64), **NUMBER)
  return [elements(raw.GlobalShuffleDataset(
      input_dataset=made, seed=1, seed2=2, seed_generator=raw.DummySeedGenerator(),
      reshuffle_each_iteration=True, **NUMBER))]


for number in 6, 4, 9, -2:
  CASES['flat elements shuffled, %d of them' % number] = functools.partial(shuffled_flat, number)


for name, build in CASES.items():
  report('datasets ' + name, compare, build)
