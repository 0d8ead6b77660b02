"""Event files, TFRecords, Examples and other messages."""
import glob
import os

import numpy as np

from exchange_checkpoints import started


# ---- Events -------------------------------------------------------------------------------------
def write_events(tf, folder):
  values = tf.placeholder_with_default(np.linspace(-3, 5, 40).astype('f4'), [40])
  tf.summary.scalar('loss', values[3])
  with tf.name_scope('scope'):
    tf.summary.histogram('h', values)
    tf.summary.image('i', tf.reshape(tf.range(2 * 4 * 4 * 3, dtype=tf.float32), [2, 4, 4, 3]),
                     max_outputs=2)
    tf.summary.audio('a', tf.reshape(tf.sin(values), [1, 40, 1]), 100.)
    tf.summary.text('t', tf.constant(['one', 'two']))
  tf.summary.tensor_summary('tensor', tf.constant([[1, 2], [3, 4]]), display_name='shown',
                            summary_description='what')
  merged = tf.summary.merge_all()
  with tf.Session() as session:
    writer = tf.summary.FileWriter('logs', session.graph, filename_suffix='.mine')
    metadata = tf.RunMetadata()
    summary = session.run(merged, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
                          run_metadata=metadata)
    writer.add_summary(summary, 1)
    writer.add_summary(summary, 1 << 40)
    writer.add_run_metadata(metadata, 'step1', 1)
    writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START, checkpoint_path='p', msg='m'),
                           2)
    writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag='own', simple_value=2.5)]), 3)
    writer.add_event(
        tf.Event(wall_time=7., step=9,
                 summary=tf.Summary(value=[tf.Summary.Value(tag='event', simple_value=1e-30)])))
    writer.add_meta_graph(tf.train.export_meta_graph(), 4)
    writer.close()


def plain_value(tf, value):
  """A value of a summary: tag, kind and what is in it."""
  kind = value.WhichOneof('value')
  found = [
      value.tag, kind, value.metadata.plugin_data.plugin_name, value.metadata.display_name,
      value.metadata.summary_description
  ]
  if kind == 'simple_value':
    return found + [value.simple_value]
  if kind == 'histo':
    h = value.histo
    return found + [h.min, h.max, h.num, h.sum, h.sum_squares, list(h.bucket), list(h.bucket_limit)]
  if kind == 'image':
    with tf.Graph().as_default(), tf.Session() as session:
      pixels = session.run(tf.image.decode_png(value.image.encoded_image_string))
    return found + [value.image.height, value.image.width, value.image.colorspace, pixels]
  if kind == 'audio':
    return found + [
        value.audio.sample_rate, value.audio.num_channels, value.audio.length_frames,
        value.audio.content_type, value.audio.encoded_audio_string
    ]
  return found + [tf.make_ndarray(value.tensor)]


def read_events(tf, folder):
  path, = glob.glob('logs/*')
  found = [path.endswith('.mine'), os.path.basename(path).startswith('events.out.tfevents.')]
  for event in tf.train.summary_iterator(path):
    what = event.WhichOneof('what')
    found.append([event.step, what])
    if what == 'summary':
      found.append([plain_value(tf, v) for v in event.summary.value])
    elif what == 'graph_def':
      graph = tf.GraphDef.FromString(event.graph_def)
      found.append([[n.name, n.op, list(n.input)] for n in graph.node if n.op.endswith('Summary')])
    elif what == 'meta_graph_def':
      found.append(sorted(tf.MetaGraphDef.FromString(event.meta_graph_def).collection_def))
    elif what == 'session_log':
      found.append(
          [event.session_log.status, event.session_log.checkpoint_path, event.session_log.msg])
    elif what == 'tagged_run_metadata':
      stats = tf.RunMetadata.FromString(event.tagged_run_metadata.run_metadata).step_stats
      found.append([event.tagged_run_metadata.tag, len(stats.dev_stats) > 0])
  return found


# ---- Records ------------------------------------------------------------------------------------
KINDS = ('NONE', 'ZLIB', 'GZIP')


def options_of(tf, kind):
  return tf.python_io.TFRecordOptions(getattr(tf.python_io.TFRecordCompressionType, kind))


def write_records(tf, folder):
  for kind in KINDS:
    with tf.python_io.TFRecordWriter(kind, options_of(tf, kind)) as writer:
      for record in (b'one', b'', b'\x00\xff' * 5000, b'last'):
        writer.write(record)


def read_records(tf, folder):
  found = [list(tf.python_io.tf_record_iterator(kind, options_of(tf, kind))) for kind in KINDS]
  reader = tf.TFRecordReader(options=options_of(tf, 'GZIP'))
  queue = tf.train.string_input_producer(['GZIP'], num_epochs=1, shuffle=False)
  keys, values = reader.read_up_to(queue, 4)
  with tf.Session() as session:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    threads = tf.train.start_queue_runners(session, tf.train.Coordinator())
    found.append([k.split(b':')[-1] for k in session.run(keys)])
  for thread in threads:
    thread.join(10)
  return found


def example_of(tf, i):
  feature, lists = tf.train.Feature, tf.train
  return lists.Example(features=lists.Features(
      feature={
          'ints': feature(int64_list=lists.Int64List(value=[i, -i, 1 << 40])), 'floats': feature(
              float_list=lists.FloatList(value=[i + .5, 1e30])), 'bytes': feature(
                  bytes_list=lists.BytesList(value=[b'a%d' % i, b'\x00']))
      }))


def sequence_of(tf, i):
  sequence = tf.train.SequenceExample()
  sequence.context.feature['n'].int64_list.value.append(i)
  steps = sequence.feature_lists.feature_list['steps']
  for step in range(i + 1):
    steps.feature.add().float_list.value.extend([step, step + .5])
  words = sequence.feature_lists.feature_list['words']
  for step in range(2):
    words.feature.add().bytes_list.value.extend([b'w'] * step)
  return sequence


def write_examples(tf, folder):
  for name, function in (('examples', example_of), ('sequences', sequence_of)):
    with tf.python_io.TFRecordWriter(name) as writer:
      for i in range(3):
        writer.write(function(tf, i).SerializeToString())


def read_examples(tf, folder):
  records = list(tf.python_io.tf_record_iterator('examples'))
  parsed = tf.parse_example(
      records, {
          'ints': tf.FixedLenFeature([3], tf.int64), 'floats': tf.FixedLenFeature([2], tf.float32),
          'bytes': tf.VarLenFeature(tf.string), 'none': tf.FixedLenFeature([], tf.int64, 9)
      })
  sequences = list(tf.python_io.tf_record_iterator('sequences'))
  context, lists = tf.parse_single_sequence_example(
      sequences[2], {'n': tf.FixedLenFeature([], tf.int64)},
      {'steps': tf.FixedLenSequenceFeature([2], tf.float32), 'words': tf.VarLenFeature(tf.string)})
  with tf.Session() as session:
    found = [session.run(parsed), session.run([context, lists])]
  read = [tf.train.Example.FromString(r) for r in records]
  found.append([[
      sorted(e.features.feature),
      list(e.features.feature['ints'].int64_list.value),
      list(e.features.feature['floats'].float_list.value),
      list(e.features.feature['bytes'].bytes_list.value)
  ] for e in read])
  read = [tf.train.SequenceExample.FromString(r) for r in sequences]
  found.append(
      [[len(l.feature) for _, l in sorted(e.feature_lists.feature_list.items())] for e in read])
  found.append([e == tf.train.SequenceExample.FromString(r) for e, r in zip(read, sequences)])
  return found


# ---- Messages -----------------------------------------------------------------------------------
def write_messages(tf, folder):
  config = tf.ConfigProto(
      allow_soft_placement=True, inter_op_parallelism_threads=3, device_count={'CPU': 2},
      gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=.5, allow_growth=True),
      graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(
          opt_level=tf.OptimizerOptions.L0)))
  config.device_filters.extend(['/job:a', '/job:b'])
  cluster = tf.train.ClusterSpec({'ps': ['h:1', 'h:2'], 'worker': {3: 'w:3'}})
  metadata = tf.RunMetadata()
  with tf.Session() as session:
    x = tf.placeholder(tf.float32, [2, 2])
    session.run(
        tf.matmul(x, x), {x: np.eye(2)}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE,
                                                               output_partition_graphs=True),
        run_metadata=metadata)
  messages = {
      'config': config, 'metadata': metadata, 'cluster': cluster.as_cluster_def(),
      'tensor': tf.make_tensor_proto([[1.5, 2.], [3., 4.]]),
      'texts': tf.make_tensor_proto(['a', 'b']), 'shape': tf.TensorShape([None, 3]).as_proto(),
      'attribute': tf.AttrValue(list=tf.AttrValue.ListValue(i=[1, 2], s=[b'x']))
  }
  for name, message in messages.items():
    with open(name, 'wb') as f:
      f.write(message.SerializeToString())
    with open(name + '.txt', 'w') as f:
      f.write(str(message))


def data_of(name):
  with open(name, 'rb') as f:
    return f.read()


def read_messages(tf, folder):
  config = tf.ConfigProto.FromString(data_of('config'))
  options = config.graph_options.optimizer_options
  metadata = tf.RunMetadata.FromString(data_of('metadata'))
  cluster = tf.train.ClusterSpec(tf.train.ClusterDef.FromString(data_of('cluster')))
  attribute = tf.AttrValue.FromString(data_of('attribute'))
  return [
      config.allow_soft_placement, config.inter_op_parallelism_threads,
      dict(config.device_count), config.gpu_options.per_process_gpu_memory_fraction,
      options.opt_level,
      list(config.device_filters),
      data_of('config.txt'),
      data_of('tensor'),
      data_of('tensor.txt'),
      data_of('texts.txt'),
      data_of('shape'),
      data_of('shape.txt'),
      data_of('attribute.txt'),
      list(attribute.list.i),
      cluster.as_dict(),
      cluster.job_tasks('ps'),
      sorted({
          n.node_name for d in metadata.step_stats.dev_stats for n in d.node_stats
          if n.node_name == 'MatMul'
      }),
      len(metadata.partition_graphs) > 0
  ]


CASES = {
    'events': (write_events, read_events),
    'records': (write_records, read_records),
    'Examples': (write_examples, read_examples),
    'messages': (write_messages, read_messages),
}
