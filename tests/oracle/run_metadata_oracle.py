"""RunMetadata: step statistics parse, name every node that ran, and are what TensorFlow's timeline
shows."""
import json
import time

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.client import timeline

import capi
from outcome import report

tf.disable_eager_execution()
tf.disable_v2_behavior()
LEAT = capi.Library()
TRACE = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
OFF = tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)


def as_written(devices=1):
  """A config with which the graph runs as it is written."""
  config = tf.ConfigProto(device_count={'CPU': devices})
  config.graph_options.optimizer_options.CopyFrom(OFF)
  config.graph_options.rewrite_options.disable_meta_optimizer = True
  return config


def training(devices=1):
  with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, [None, 64], 'x')
    with tf.device('/cpu:%d' % (devices - 1)):
      w = tf.get_variable('w', [64, 32], initializer=tf.random_uniform_initializer(-1, 1, seed=1))
      y = tf.nn.relu(tf.matmul(x, w), name='y')
    with tf.device('/cpu:0'):
      loss = tf.reduce_mean(tf.square(y), name='loss')
      train = tf.train.GradientDescentOptimizer(.1).minimize(loss).name
    init = tf.global_variables_initializer().name
  return graph, init, train


FEED = {'x:0': np.ones((16, 64), 'f4')}


def by_leat(graph, init, train, config, options=TRACE):
  session = capi.Session(LEAT, graph.as_graph_def().SerializeToString(),
                         config.SerializeToString())
  session.run(targets=[init])
  session.run(['loss:0'], FEED, targets=[train], run_options=options.SerializeToString())
  session.close()
  return tf.RunMetadata.FromString(session.run_metadata)


def by_tensorflow(graph, init, train, config):
  with tf.Session(graph=graph, config=config) as session:
    session.run(init)
    metadata = tf.RunMetadata()
    session.run(['loss:0', train], FEED, options=TRACE, run_metadata=metadata)
  return metadata


def nodes_by_device(metadata, graph):
  """Nodes of the graph that ran, and its constants: not those that the runtime adds."""
  there = {op.name for op in graph.get_operations()}
  return {d.device: {s.node_name.split(':')[0] for s in d.node_stats} & there
          for d in metadata.step_stats.dev_stats}


def nodes(metadata, graph):
  return set().union(*nodes_by_device(metadata, graph).values())


def every_node():
  graph, *ends = training()
  got, want = [nodes(run(graph, *ends, as_written()), graph) for run in (by_leat, by_tensorflow)]
  if got != want:
    return 'missing %s, in excess %s' % (sorted(want - got), sorted(got - want))
  return '' if len(got) > 15 else 'only %s' % got


def devices():
  """Each device's nodes are in its own DeviceStepStats, under TensorFlow's names."""
  graph, *ends = training(2)
  got, want = [nodes_by_device(run(graph, *ends, as_written(2)), graph)
               for run in (by_leat, by_tensorflow)]
  return '' if got == want else 'devices: %s, must be %s' % (
      {d: len(n) for d, n in got.items()}, {d: len(n) for d, n in want.items()})


def times():
  """Starts lie within the run, in order of the graph; durations, labels and outputs are there."""
  graph, *ends = training()
  before = time.time() * 1e6
  metadata = by_leat(graph, *ends, as_written())
  after = time.time() * 1e6
  stats = {s.node_name: s for s in metadata.step_stats.dev_stats[0].node_stats}
  for name, s in stats.items():
    if not before - 1e3 <= s.all_start_micros <= after + 1e3:
      return '%s starts at %d, not in %d..%d' % (name, s.all_start_micros, before, after)
    if abs(s.all_start_nanos - s.all_start_micros * 1000) >= 1000 or not (
        0 <= s.op_start_rel_nanos <= s.op_end_rel_nanos <= s.all_end_rel_nanos):
      return '%s: %s' % (name, s)
    if s.scheduled_micros > s.all_start_micros + 1:
      return '%s is scheduled after it starts' % name
  matmul = stats['MatMul']
  if '= MatMul(' not in matmul.timeline_label:
    return 'the label is %r' % matmul.timeline_label
  shape = matmul.output[0].tensor_description
  if [d.size for d in shape.shape.dim] != [16, 32] or shape.dtype != 1:
    return 'the output is %s' % shape
  if shape.allocation_description.requested_bytes != 16 * 32 * 4:
    return 'the output has %d bytes' % shape.allocation_description.requested_bytes
  return '' if matmul.all_start_micros <= stats['loss'].all_start_micros else 'not in order'


def in_timeline():
  """TensorFlow's timeline makes a trace of it, with every node and its inputs."""
  graph, *ends = training()
  metadata = by_leat(graph, *ends, as_written())
  trace = json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(
      show_memory=True))
  events = {e['args']['name']: e for e in trace['traceEvents'] if e.get('ph') == 'X'}
  missing = nodes(metadata, graph) - set(events)
  if missing:
    return 'missing %s' % sorted(missing)
  inputs = {v for k, v in events['MatMul']['args'].items() if k.startswith('input')}
  return '' if {i.split(':')[0] for i in inputs} >= {'w/read'} else 'inputs are %s' % inputs


def only_on_request():
  graph, *ends = training()
  metadata = by_leat(graph, *ends, as_written(), tf.RunOptions())
  return 'it is traced' if metadata.step_stats.dev_stats else ''


for compare in (every_node, devices, times, in_timeline, only_on_request):
  report('run metadata, ' + compare.__name__.replace('_', ' '), compare)
