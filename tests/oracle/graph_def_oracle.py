"""GraphDefs: what Leat exports is what it imported and what TensorFlow takes; binary and text, both
ways; every kind of attribute."""
import glob
import os
import re

from google.protobuf import text_format
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.framework import attr_value_pb2, function_pb2, graph_pb2, node_def_pb2
from tensorflow.python.framework import op_def_registry

import capi
from outcome import report

tf.disable_eager_execution()
tf.disable_v2_behavior()
LEAT = capi.Library()


def training_graph():
  """Variables of both kinds, gradients, colocations, control edges, an optimizer, summaries off."""
  with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, [None, 8], 'x')
    with tf.name_scope('layer'), tf.device('/cpu:0'):
      w = tf.get_variable('w', [8, 3], initializer=tf.random_uniform_initializer(seed=1))
      b = tf.get_variable('b', [3], initializer=tf.zeros_initializer(), use_resource=True)
      y = tf.nn.relu(tf.matmul(x, w) + b, name='y')
    with tf.control_dependencies([y.op]):
      loss = tf.reduce_mean(tf.square(y), name='loss')
    tf.train.AdamOptimizer(.1).minimize(loss, name='train')
    tf.global_variables_initializer()
  return graph.as_graph_def()


def constants_graph():
  with tf.Graph().as_default() as graph:
    for i, value in enumerate([
        np.float32([1.5, np.nan, np.inf, -np.inf, -0., 1e-42]), np.float64(np.pi), np.array(True),
        np.int8([-128, 127]), np.int64([1 << 62, -1]), np.uint8(range(256)), np.zeros((0, 5), 'f4'),
        np.complex64([1 + 2j]), np.complex128([[1e300 - 2j]]), np.float16([65504, 6e-8]),
        np.uint32([1 << 31]), np.uint64([1 << 63]), np.int16(-5), np.uint16(65535),
        np.full((30, 30), 7, 'i4'), np.random.RandomState(1).randn(100, 10)]):
      tf.constant(value, name='c%d' % i)
    tf.constant(np.float32([1, 2, 3]), tf.bfloat16, name='bfloat16')
    tf.constant([b'', b'plain', b'\0\xff\n"\'\\', 'ünï'.encode()], name='strings')
    tf.constant(.5, shape=[100, 100], name='filled')
  return graph.as_graph_def()


def structure_graph():
  """Lists of every kind, unknown shapes, devices, an attribute that only its name explains."""
  with tf.Graph().as_default() as graph:
    tf.placeholder(tf.float32, None, 'any')
    tf.placeholder(tf.float32, [], 'scalar')
    tf.placeholder(tf.int32, [None, 3, None], 'partial')
    with tf.device('/job:localhost/replica:0/task:0/device:CPU:0'):
      a = tf.constant(np.zeros((1, 4, 4, 2), 'f4'), name='a')
      tf.nn.max_pool(a, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME', name='pool')
    tf.split(a, 2, 3, name='split')
    with tf.control_dependencies([a.op]):
      tf.no_op('last')
    tf.identity(a, 'x/y/z')
    tf.identity_n([a, tf.constant(1)], name='several')
    for i, value in enumerate([
        {'f': 1e-8}, {'i': -5}, {'b': True}, {'s': b'\xff\0"'}, {'type': 1},
        {'list': {'f': [1, float('nan')]}}, {'list': {'i': [1, -2]}}, {'list': {'b': [True]}},
        {'list': {'s': [b'', b'a\tb']}}, {'list': {'type': [1, 3]}}, {'list': {}}]):
      kind = attr_value_pb2.AttrValue(**{k: attr_value_pb2.AttrValue.ListValue(**v)
                                         if k == 'list' else v for k, v in value.items()})
      graph.get_operation_by_name('last')._set_attr('_extra%d' % i, kind)
  return graph.as_graph_def()


GRAPHS = {'training': training_graph, 'constants': constants_graph, 'structure': structure_graph}


def with_plain_constants(graph_def):
  """Constants written in one of the several ways that TensorProto has; no experimental types."""
  graph_def = graph_pb2.GraphDef.FromString(graph_def.SerializeToString())
  for node in graph_def.node:
    node.ClearField('experimental_type')
    for attr in node.attr.values():
      if attr.HasField('tensor') and not attr.tensor.string_val:
        value = tf.make_ndarray(attr.tensor)
        attr.tensor.Clear()
        attr.tensor.dtype = tf.as_dtype(value.dtype).as_datatype_enum
        attr.tensor.tensor_shape.CopyFrom(tf.TensorShape(value.shape).as_proto())
        attr.tensor.tensor_content = value.tobytes()
  return graph_def


def by_name(graph_def):
  return {n.name: n.SerializeToString(deterministic=True)
          for n in with_plain_constants(graph_def).node}


def first_difference(got, want):
  a, b = by_name(got), by_name(want)
  for name in b:
    if a.get(name) != b[name]:
      parts = [node_def_pb2.NodeDef.FromString(x.get(name, b'')) for x in (a, b)]
      return '%s is %s, must be %s' % (name, *[' '.join(str(p).split())[:150] for p in parts])
  if got.versions != want.versions:
    return 'versions are %s, must be %s' % (got.versions, want.versions)
  return 'more nodes' if len(a) != len(b) else ''


def exported(data):
  session = capi.Session(LEAT, data)
  result = graph_pb2.GraphDef.FromString(session.graph_def())
  session.close()
  return result


def round_trip(make):
  """Imported and exported: the same graph, and TensorFlow takes it."""
  want = make()
  got = exported(want.SerializeToString())
  difference = first_difference(got, want)
  if not difference:
    with tf.Graph().as_default() as graph:  # it resolves colocations into devices
      tf.import_graph_def(got, name='')
      if {n.name for n in graph.as_graph_def().node} != {n.name for n in want.node}:
        difference = 'TensorFlow takes other nodes'
  return difference


def stripped(make):
  """Attributes that have their default may be absent: they are filled in."""
  want = make()
  return first_difference(exported(strip_defaults(want).SerializeToString()), want)


def strip_defaults(graph_def):
  graph_def = graph_pb2.GraphDef.FromString(graph_def.SerializeToString())
  for node in graph_def.node:
    for attr in op_def_registry.get(node.op).attr:
      if attr.HasField('default_value') and node.attr[attr.name] == attr.default_value:
        del node.attr[attr.name]
  return graph_def


def text_written(make):
  """Leat's text is protobuf's own, line for line but for the order of a map, and parses back."""
  want = make()
  buffer = LEAT.leat_message_to_text(b'GraphDef', LEAT.buffer(want.SerializeToString()),
                                     LEAT.status)
  LEAT.check()
  text = LEAT.bytes_of(buffer)
  got = text_format.Parse(text, graph_pb2.GraphDef())
  if got.SerializeToString(deterministic=True) != want.SerializeToString(deterministic=True):
    return 'parsed, it differs: ' + first_difference(got, want)
  # Python's protobuf, other than C++'s, writes whole numbers as 1.0.
  lines = [sorted(re.sub(r'\.0$', '', line) for line in t.split('\n'))
           for t in (text.decode(), text_format.MessageToString(want))]
  for a, b in zip(*lines):
    if a != b:
      return 'a line is %r, must be %r' % (a, b)
  return '' if len(lines[0]) == len(lines[1]) else 'more or fewer lines'


FORMS = {'plain': {}, 'one line': {'as_one_line': True}, 'angles': {'pointy_brackets': True},
         'short lists': {'use_short_repeated_primitives': True}, 'utf8': {'as_utf8': True}}


def text_read(make):
  """Protobuf's text, in all of its forms, is read."""
  want = make()
  for form, options in FORMS.items():
    text = '# a comment\n' + text_format.MessageToString(want, **options)
    buffer = LEAT.leat_message_from_text(b'GraphDef', LEAT.buffer(text.encode()), LEAT.status)
    LEAT.check()
    got = graph_pb2.GraphDef.FromString(LEAT.bytes_of(buffer))
    if got.SerializeToString(deterministic=True) != want.SerializeToString(deterministic=True):
      return '%s: %s' % (form, first_difference(got, want))
  return ''


def function_library():
  """A library of functions and gradients is kept."""
  want = training_graph()
  body = function_pb2.FunctionDef()
  text_format.Parse('''signature { name: "Twice" input_arg { name: "x" type: DT_FLOAT }
      output_arg { name: "y" type: DT_FLOAT } }
      node_def { name: "add" op: "AddV2" input: "x" input: "x" attr { key: "T"
      value { type: DT_FLOAT } } } ret { key: "y" value: "add:z:0" }''', body)
  want.library.function.append(body)
  second = want.library.function.add()
  second.CopyFrom(body)
  second.signature.name = 'TwiceGrad'
  want.library.gradient.add(function_name='Twice', gradient_func='TwiceGrad')
  got = exported(want.SerializeToString())
  a, b = [sorted(f.SerializeToString(deterministic=True) for f in g.library.function)
          for g in (got, want)]
  if a != b or list(got.library.gradient) != list(want.library.gradient):
    return 'the library differs'
  return first_difference(got, want)


def exported_runs():
  """A graph built and differentiated by Leat runs in TensorFlow."""
  with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, [None, 8], 'x')
    y = tf.nn.softmax(tf.matmul(x, tf.constant(np.float32([[1, 2, 3]] * 8))), name='y')
    tf.reduce_sum(y * y, name='z')
  session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
  gradient = session.gradients(['z'], ['x'])[0]
  name = '%s:%d' % (LEAT.TF_OperationName(gradient.oper).decode(), gradient.index)
  feed = {'x:0': np.random.RandomState(1).randn(5, 8).astype('f4') / 8}
  want, data = session.run([gradient], feed)[0], session.graph_def()
  session.close()
  with tf.Graph().as_default() as graph:
    tf.import_graph_def(graph_pb2.GraphDef.FromString(data), name='')
    with tf.Session() as other:
      got = other.run(name, feed)
  return '' if np.allclose(got, want, 1e-5, 1e-7) else 'differs by %g' % np.abs(got - want).max()


def saved_graphs(folder):
  """Graphs of the benchmarks, made by another version."""
  names = ['feedfetch', 'chain1k', 'exec', 'addchain', 'wide', 'ew', 'softmax', 'reduce', 'adam',
           'matmul', 'mnist']
  paths = sorted(p for n in names for p in glob.glob(os.path.join(folder, n + '*.pb')))
  for path in paths:
    data = open(path, 'rb').read()
    difference = first_difference(exported(data), graph_pb2.GraphDef.FromString(data))
    if difference:
      return '%s: %s' % (os.path.basename(path), difference)
  return '' if paths else 'there is none'


for label, maker in GRAPHS.items():
  report('graph round trip, ' + label, round_trip, maker)
  report('graph without defaults, ' + label, stripped, maker)
  report('graph text written, ' + label, text_written, maker)
  report('graph text read, ' + label, text_read, maker)
report('graph with functions', function_library)
report('graph differentiated by Leat runs in TensorFlow', exported_runs)
if os.environ.get('LEAT_DATA_DIR'):
  report('graphs of the benchmarks', saved_graphs,
         os.path.join(os.environ['LEAT_DATA_DIR'], '..', 'bench', 'graphs'))
