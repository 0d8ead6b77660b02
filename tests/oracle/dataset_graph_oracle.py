"""Datasets as GraphDefs: what either library writes of a pipeline, the other must read and make the
same elements of. Both must write the same ops, and refuse the same pipelines with the same codes.
"""
from dataset_kit import (NUMBER, defun, difference, elements, numbers, raw, run_leat,
                         run_tensorflow, tf)
import numpy as np
from tensorflow.core.framework import graph_pb2

from outcome import report

WARN, IGNORE, FAIL = 0, 1, 2
PIPELINES = {}


def pipeline(build):
  """Registers a function that builds a dataset of numbers."""
  PIPELINES[build.__name__.replace('_', ' ')] = build
  return build


def mapped(dataset, name, body, captured=(), op=raw.MapDataset, **more):
  types = [tf.int64] + [tensor.dtype for tensor in captured]
  return op(input_dataset=dataset, other_arguments=list(captured), f=defun(name, body, *types),
            **{**NUMBER, **more})


@pipeline
def a_range():
  return numbers(3, 17)


@pipeline
def a_map_and_a_filter():
  dataset = mapped(numbers(0, 20), 'Squared', lambda x: x * x)
  return raw.FilterDataset(input_dataset=dataset, other_arguments=[],
                           predicate=defun('Odd', lambda x: tf.equal(x % 2, 1), tf.int64), **NUMBER)


@pipeline
def a_map_that_captures():
  return mapped(numbers(0, 5), 'AddAll', lambda x, y, z: x + y + tf.size(z, out_type=tf.int64),
                [tf.constant(40, tf.int64), tf.constant(['a', 'bc'])])


@pipeline
def a_function_that_calls_functions():
  inner = defun('Inner', lambda x: x + 1, tf.int64)
  middle = defun('Middle', lambda x: inner(x) * 2, tf.int64)
  return mapped(numbers(0, 5), 'Outer', lambda x: middle(x) + inner(x))


@pipeline
def a_function_that_makes_datasets():
  deeper = defun('Deeper', lambda x: x * 10, tf.int64)
  body = lambda x: raw.MapDataset(input_dataset=raw.RangeDataset(  # noqa: E731
      start=tf.constant(0, tf.int64), stop=x, step=tf.constant(1, tf.int64), **NUMBER),
                                  other_arguments=[], f=deeper, **NUMBER)
  return raw.FlatMapDataset(input_dataset=numbers(0, 5), other_arguments=[],
                            f=defun('Flat', body, tf.int64), **NUMBER)


@pipeline
def a_captured_dataset():
  flat = defun('Given', lambda x, given: tf.identity(given), tf.int64, tf.variant)
  return raw.FlatMapDataset(input_dataset=numbers(0, 3), other_arguments=[numbers(5, 8)], f=flat,
                            **NUMBER)


@pipeline
def parallel_forms():
  dataset = mapped(numbers(0, 30), 'Third', lambda x: x // 3, op=raw.ParallelMapDatasetV2,
                   num_parallel_calls=tf.constant(2, tf.int64), deterministic='true')
  return raw.PrefetchDataset(input_dataset=dataset, buffer_size=3, **NUMBER)


@pipeline
def map_and_batch():
  dataset = raw.MapAndBatchDataset(
      input_dataset=numbers(0, 9), other_arguments=[tf.constant(100, tf.int64)], batch_size=4,
      num_parallel_calls=2, drop_remainder=False,
      f=defun('PlusOne', lambda x, y: x + y, tf.int64, tf.int64), output_types=[tf.int64],
      output_shapes=[[None]])
  return raw.UnbatchDataset(input_dataset=dataset, **NUMBER)


@pipeline
def shuffled_by_a_resource():
  return raw.ShuffleDatasetV3(input_dataset=numbers(0, 1), buffer_size=1, seed=3, seed2=4,
                              seed_generator=raw.DummySeedGenerator(), **NUMBER)


@pipeline
def shuffled_by_numbers():
  return raw.ShuffleDataset(input_dataset=numbers(0, 12), buffer_size=5, seed=3, seed2=4,
                            reshuffle_each_iteration=False, **NUMBER)


@pipeline
def a_cache_in_memory():
  dataset = raw.CacheDatasetV2(input_dataset=numbers(0, 4), filename='',
                               cache=raw.DummyMemoryCache(), **NUMBER)
  return raw.RepeatDataset(input_dataset=dataset, count=3, **NUMBER)


@pipeline
def the_same_dataset_twice():
  one = mapped(numbers(0, 4), 'Minus', lambda x: -x)
  return raw.ConcatenateDataset(input_dataset=one, another_dataset=one, **NUMBER)


@pipeline
def slices_of_a_matrix():
  dataset = raw.TensorSliceDataset(components=[np.arange(12, dtype=np.int64).reshape(6, 2)],
                                   output_shapes=[[2]])
  return raw.UnbatchDataset(input_dataset=dataset, **NUMBER)


@pipeline
def groups_by_key():
  one = tf.constant(3, tf.int64)
  return raw.GroupByWindowDataset(
      input_dataset=numbers(0, 14), key_func_other_arguments=[one],
      reduce_func_other_arguments=[], window_size_func_other_arguments=[],
      key_func=defun('Key', lambda x, m: x % m, tf.int64, tf.int64),
      reduce_func=defun('Reduce', lambda key, window: tf.identity(window), tf.int64, tf.variant),
      window_size_func=defun('SizeOf', lambda key: key + 1, tf.int64), **NUMBER)


@pipeline
def options_and_a_shard():
  options = tf.data.Options()
  options.deterministic = False
  dataset = raw.OptionsDataset(
      input_dataset=numbers(0, 40), serialized_options=options._to_proto().SerializeToString(),
      **NUMBER)
  return raw.ShardDataset(input_dataset=dataset, num_shards=3, index=1, **NUMBER)


@pipeline
def random_numbers_of_a_function():
  return mapped(numbers(0, 3), 'Random', lambda x: x + 0 * tf.random.uniform(
      [], 0, 9, tf.int64), [])


def filled(table, keys, values):
  """The handle `table`, once it holds `keys` and `values`."""
  filler = raw.LookupTableImportV2(table_handle=table, keys=keys, values=values)
  with tf.control_dependencies([filler]):
    return tf.identity(table)


def looked_up(name, table, fallback, dtype=tf.int64):
  """A map that adds up what `table` says of the names of three numbers."""
  body = lambda x, table, fallback: tf.reduce_sum(raw.LookupTableFindV2(  # noqa: E731
      table_handle=table, keys=tf.strings.as_string([x, x * 2]), default_value=fallback))
  return mapped(numbers(0, 3), name, body, [table, tf.constant(fallback, dtype)])


@pipeline
def a_static_table():
  table = raw.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name='static')
  return looked_up('Static', filled(table, ['0', '2'], tf.constant([5, 7], tf.int64)), -1)


@pipeline
def a_mutable_table():
  table = raw.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name='mutable')
  return looked_up('Mutable', filled(table, ['1', '4'], tf.constant([50, 70], tf.int64)), -3)


@pipeline
def a_table_of_vectors():
  table = raw.MutableHashTableOfTensorsV2(key_dtype=tf.string, value_dtype=tf.int64,
                                          value_shape=[2], shared_name='vectors')
  values = tf.constant([[1, 2], [30, 40]], tf.int64)
  return looked_up('Vectors', filled(table, ['0', '2'], values), [100, 200])


@pipeline
def variables():
  """Two of one type, one of which is captured twice."""
  handles = []
  for name, value in (('one', 3), ('other', 1000)):
    handle = raw.VarHandleOp(dtype=tf.int64, shape=[], shared_name=name)
    with tf.control_dependencies([raw.AssignVariableOp(resource=handle,
                                                       value=tf.constant(value, tf.int64))]):
      handles.append(tf.identity(handle))
  read = lambda handle: raw.ReadVariableOp(resource=handle, dtype=tf.int64)  # noqa: E731
  return mapped(numbers(0, 3), 'Variables', lambda x, a, b, c: x + read(a) + read(b) * read(c),
                [handles[0], handles[1], handles[0]])


# ---- Writing and reading -------------------------------------------------------------------------
def written(build, policy, run):
  graph = tf.Graph()
  with graph.as_default():
    output = raw.DatasetToGraphV2(input_dataset=build(), external_state_policy=policy)
  result = (run_tensorflow(graph, [output.name]) if run is run_tensorflow else
            run_leat(graph.as_graph_def().SerializeToString(), [output.name]))
  return result if isinstance(result, int) else bytes(np.asarray(result[0]).item())


def reading(graph_def):
  """A graph of the elements of the dataset that `graph_def` makes."""
  graph = tf.Graph()
  with graph.as_default():
    dataset = graph.create_op('DatasetFromGraph', [tf.constant(graph_def)], [tf.variant]).outputs[0]
    fetch = elements(dataset)
  return graph, [fetch.name]


def read_by_tensorflow(graph_def):
  """Without its optimizer, which folds the dataset into a constant that it cannot read again."""
  graph, names = reading(graph_def)
  config = tf.ConfigProto()
  config.graph_options.rewrite_options.disable_meta_optimizer = True
  config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
  with tf.Session(graph=graph, config=config) as session:
    return session.run(names)


def read_by_leat(graph_def):
  graph, names = reading(graph_def)
  return run_leat(graph.as_graph_def().SerializeToString(), names)


def expected(build):
  graph = tf.Graph()
  with graph.as_default():
    fetch = elements(build())
  return run_tensorflow(graph, [fetch.name])


def exchanged(build, write, read):
  graph_def = written(build, WARN, write)
  if isinstance(graph_def, int):
    return 'writing ended with the code %d' % graph_def
  got, want = read(graph_def), expected(build)
  if not isinstance(got, int):
    got = [np.asarray(value) for value in got]
  return difference(got, want)


# Leat's tables belong to their handles, where TensorFlow's have names.
ANONYMOUS = {'AnonymousHashTable': 'HashTableV2', 'AnonymousMutableHashTable': 'MutableHashTableV2',
             'AnonymousMutableHashTableOfTensors': 'MutableHashTableOfTensorsV2'}
# Leat writes once what is captured, or stands below another dataset, twice, and TensorFlow passes
# the handle of a static table through two nodes.
WRITTEN_ONCE = (the_same_dataset_twice, variables, a_static_table)


def ops_of(graph_def):
  graph = graph_pb2.GraphDef.FromString(graph_def)
  ops = [ANONYMOUS.get(node.op, node.op) for node in graph.node if node.op != 'Const']
  return sorted(ops) + [graph.node[-1].name]


def same_ops(build):
  """But for functions that TensorFlow's session has expanded into their callers before."""
  got, want = (ops_of(written(build, WARN, run)) for run in (run_leat, run_tensorflow))
  same = set(got) == set(want) if build in WRITTEN_ONCE else got == want
  return '' if same else '%s, must be %s' % (got, want)


def same_code(build, policy):
  got, want = (written(build, policy, run) for run in (run_leat, run_tensorflow))
  codes = [result if isinstance(result, int) else 0 for result in (got, want)]
  return '' if codes[0] == codes[1] else '%s, must be %s' % tuple(codes)


# ---- What is no dataset --------------------------------------------------------------------------
def constant_graph():
  graph = tf.Graph()
  with graph.as_default():
    one = tf.constant(1.0, name='one')
    graph.create_op('_Retval', [one], [], attrs={
        'index': tf.compat.v1.AttrValue(i=0), 'T': tf.compat.v1.AttrValue(type=1)}, name='dataset')
  return graph.as_graph_def().SerializeToString()


def refused(graph_def):
  """Leat's code; TensorFlow aborts the process on some of these."""
  code = read_by_leat(graph_def)
  return '' if code == tf.errors.INVALID_ARGUMENT else '%s, must be INVALID_ARGUMENT' % code


def main():
  for name, build in PIPELINES.items():
    report('graph ops: ' + name, same_ops, build)
    report('graph of TensorFlow, read by Leat: ' + name, exchanged, build, run_tensorflow,
           read_by_leat)
    report('graph of Leat, read by TensorFlow: ' + name, exchanged, build, run_leat,
           read_by_tensorflow)
    report('graph of Leat, read by Leat: ' + name, exchanged, build, run_leat, read_by_leat)
    for policy in (IGNORE, FAIL):
      report('graph, external state %d: %s' % (policy, name), same_code, build, policy)
  wrong = {'no bytes': b'', 'no GraphDef': b'xx', 'a number': constant_graph()}
  for name, graph_def in wrong.items():
    report('no graph of a dataset: ' + name, refused, graph_def)


if __name__ == '__main__':
  main()
