"""The statistics that datasets tell an aggregator, in both libraries: the tags, the values where
they depend on no times, and the events of the second version."""
import os
import tempfile

from dataset_kit import LEAT, NUMBER, capi, defun, examples, function, numbers, raw, tf
import numpy as np

from outcome import report


def strings():
  rows = np.array([[b'ab', b''], [b'x' * 100, b'yy'], [b'z', b'z']], object)
  spec = dict(output_types=[tf.string], output_shapes=[[2]])
  return raw.TensorSliceDataset(components=[rows], output_shapes=[[2]]), spec


def windows():
  spec = dict(output_types=[tf.variant], output_shapes=[[]])
  return raw.WindowDataset(input_dataset=numbers(0, 6), size=2, shift=2, stride=1,
                           drop_remainder=True, **spec), spec


def pairs():
  spec = dict(output_types=[tf.float32, tf.int32], output_shapes=[[3], []])
  return raw.TensorSliceDataset(components=[np.ones((4, 3), 'f4'), np.arange(4, dtype='i4')],
                                output_shapes=spec['output_shapes']), spec


def nothing():
  spec = dict(output_types=[tf.float64], output_shapes=[[0]])
  return raw.TensorSliceDataset(components=[np.ones((2, 0))], output_shapes=[[0]]), spec


def statistics(make, version, tags, op=None):
  """The names of: what sets up, what makes all elements, the Summary. The aggregators are set one
  above the other, the first of them nearest."""
  names = dict(container='', shared_name='')
  dataset, spec = make()
  dataset = (op or raw.BytesProducedStatsDataset)(input_dataset=dataset, tag='by', **spec)
  handles = []
  for tag in tags:
    handles.append(version(**names))
    dataset = raw.SetStatsAggregatorDataset(input_dataset=dataset, stats_aggregator=handles[-1],
                                            tag=tag, counter_prefix='', **spec)
  count = raw.ReduceDataset(input_dataset=dataset, initial_state=[np.int64(0)], other_arguments=[],
                            f=counter(spec), output_types=[tf.int64], output_shapes=[[]])[0]
  return [count.name] + [raw.StatsAggregatorSummary(iterator=h).name for h in handles], handles


def counter(spec):
  made = function.Defun(tf.int64, *spec['output_types'], func_name='Counted')(
      lambda n, *element: n + 1)
  made.add_to_graph(tf.get_default_graph())
  return made


def summaries(run, names):
  """How many elements there were, and what each aggregator says, with sorted tags."""
  count = int(run([names[0]])[0])
  return [count] + [sorted(
      (v.tag, v.WhichOneof('value'), str(v.histo)) for v in tf.Summary.FromString(
          np.asarray(value, object).item()).value) for value in run(names[1:])]


def compare_statistics(make, *arguments):
  graph = tf.Graph()
  with graph.as_default():
    names, _ = statistics(make, raw.StatsAggregatorHandle, *arguments)
  with tf.Session(graph=graph) as session:
    want = summaries(session.run, names)
  session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
  got = summaries(session.run, names)
  session.close()
  return '' if got == want else '%s, must be %s' % (got, want)


def told(summary):
  """What a Summary says that does not depend on times: the value of Examples' histograms, and of
  others which there are and how many values are in them."""
  return sorted((v.tag, v.WhichOneof('value'),
                 str(v.histo) if '::feature' in v.tag else v.histo.num) for v in
                tf.Summary.FromString(np.asarray(summary, object).item()).value)


def compare_told(make):
  """The names and kinds of what datasets tell of themselves."""
  graph = tf.Graph()
  with graph.as_default():
    dataset, spec = make()
    handle = raw.StatsAggregatorHandle(container='', shared_name='')
    dataset = raw.SetStatsAggregatorDataset(input_dataset=dataset, stats_aggregator=handle, tag='T',
                                            counter_prefix='', **spec)
    count = raw.ReduceDataset(input_dataset=dataset, initial_state=[np.int64(0)],
                              other_arguments=[], f=counter(spec), output_types=[tf.int64],
                              output_shapes=[[]])[0]
    names = [count.name, raw.StatsAggregatorSummary(iterator=handle).name]
  with tf.Session(graph=graph) as session:
    session.run(names[0])
    want = told(session.run(names[1]))
  session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
  session.run(names[:1])
  got = told(session.run(names[1:])[0])
  session.close()
  # TensorFlow's thread may have done all its work before it tells how busy it is.
  if not any('thread_utilization' in value[0] for value in want):
    got = [value for value in got if 'thread_utilization' not in value[0]]
  return '' if got == want else '%s, must be %s' % (got, want)


def prefetched():
  def ahead(dataset):
    return raw.PrefetchDataset(input_dataset=dataset, buffer_size=2, **NUMBER)
  seeds = raw.DummySeedGenerator()
  shuffled = raw.ShuffleDatasetV3(input_dataset=ahead(numbers(0, 9)), buffer_size=2, seed=1,
                                  seed2=1, seed_generator=seeds, **NUMBER)
  return raw.ConcatenateDataset(input_dataset=ahead(shuffled), another_dataset=ahead(numbers(0, 7)),
                                **NUMBER), NUMBER


def called_in_parallel():
  square = defun('Squared', lambda x: x * x, tf.int64)
  first = raw.ParallelMapDataset(input_dataset=numbers(0, 9), other_arguments=[],
                                 num_parallel_calls=2, f=square, **NUMBER)
  return raw.ParallelMapDatasetV2(input_dataset=first, other_arguments=[], num_parallel_calls=3,
                                  f=square, deterministic='true', **NUMBER), NUMBER


def mapped_in_batches():
  spec = dict(output_types=[tf.int64], output_shapes=[[None]])
  return raw.MapAndBatchDataset(
      input_dataset=numbers(0, 9), other_arguments=[], batch_size=2, num_parallel_calls=3,
      drop_remainder=False, f=defun('Squared', lambda x: x * x, tf.int64), **spec), spec


def parsed_examples():
  spec = dict(output_types=[tf.variant] * 2, output_shapes=[None] * 2)
  dataset = raw.TensorSliceDataset(components=[examples()], output_shapes=[[2]])
  return raw.ParseExampleDatasetV2(
      input_dataset=dataset, num_parallel_calls=1, dense_defaults=[], sparse_keys=['a', 't'],
      dense_keys=[], sparse_types=[tf.int64, tf.string], dense_shapes=[], **spec), spec


def events(run, folder, names, targets):
  for target in targets:
    run([], target)
  run([names[0]])
  run([], targets[-1])
  found = []
  for path in os.listdir(folder):
    for event in tf.train.summary_iterator(os.path.join(folder, path)):
      found += [(event.step, v.tag, str(v.histo)) for v in event.summary.value]
  return found, run(names[1:])


def compare_events():
  """The events of the second version, in files of both libraries."""
  results = []
  for which in ('tensorflow', 'leat'):
    graph = tf.Graph()
    with graph.as_default(), tempfile.TemporaryDirectory(prefix='leat-events') as folder:
      names, (handle,) = statistics(pairs, raw.StatsAggregatorHandleV2, ['T'])
      writer = raw.SummaryWriter(shared_name='', container='')
      targets = [raw.CreateSummaryFileWriter(writer=writer, logdir=folder, max_queue=10,
                                             flush_millis=100000, filename_suffix=''),
                 raw.StatsAggregatorSetSummaryWriter(stats_aggregator=handle, summary=writer),
                 raw.FlushSummaryWriter(writer=writer)]
      if which == 'tensorflow':
        with tf.Session(graph=graph) as session:
          results.append(events(lambda fetches, *more: session.run(fetches + list(more)), folder,
                                names, targets))
      else:
        session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
        results.append(events(lambda fetches, *more: session.run(
            fetches, targets=[t.name for t in more]), folder, names, targets))
        session.close()
  want, got = results
  return '' if got == want and len(want[0]) == 4 else '%s, must be %s' % (got, want)


for make, tags in ((strings, ['']), (windows, ['']), (pairs, ['T']), (nothing, ['']),
                   (pairs, ['T', 'U'])):
  report('datasets statistics of %s under %s' % (make.__name__, tags), compare_statistics, make,
         tags)
report('datasets statistics as events', compare_events)
for make in prefetched, called_in_parallel, mapped_in_batches, parsed_examples:
  report('datasets statistics of %s themselves' % make.__name__, compare_told, make)
