"""_FusedMatMul and _FusedConv2D give what TensorFlow's own kernels give: every list of ops that
both take, over shapes, types and paddings, and the code of the error for what neither takes. A
graph that TensorFlow's remapper rewrote gives what it gave before, and so does a dense layer with
tf.nn.gelu, which Leat's optimizer makes one node."""
import os

os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'  # oneDNN's kernels take other lists and hide NaNs

import numpy as np
import tensorflow.compat.v1 as tf
import tensorflow.compat.v2 as v2
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.python.grappler import tf_optimizer

import capi
from outcome import report

tf.disable_v2_behavior()
LEAT = capi.Library()
TYPES = {np.dtype(capi.NUMPY[t]): t for t in (1, 2, 14, 19)}
CONFIG = config_pb2.ConfigProto()
CONFIG.graph_options.rewrite_options.disable_meta_optimizer = True
CONFIG.graph_options.optimizer_options.opt_level = -1
RANDOM = np.random.RandomState(0)
CONV = dict(strides=[1, 1, 1, 1], padding='SAME')
# Half and bfloat16 are rounded in other places than by this library, which rounds after each op.
TOLERANCE = {1: 1e-5, 2: 1e-12, 14: 4e-2, 19: 4e-3}


def numbers(*shape):
  return RANDOM.uniform(-2, 2, shape).astype('f4')


def graph_of(op, inputs, attrs):
  graph = graph_pb2.GraphDef()
  node = graph_pb2.GraphDef().node.add()
  node.name, node.op = 'y', op
  for i, value in enumerate(inputs):
    x = graph.node.add()
    x.name, x.op = 'x%d' % i, 'Placeholder'
    x.attr['dtype'].type = TYPES[value.dtype]
    node.input.append(x.name)
  for name, value in attrs.items():
    attr = node.attr[name]
    if name == 'T':
      attr.type = value
    elif name == 'TArgs':
      attr.list.type.extend(value)
    elif isinstance(value, list):
      attr.list.SetInParent()
      for item in value:
        if isinstance(item, str):
          attr.list.s.append(item.encode())
        else:
          attr.list.i.append(item)
    elif isinstance(value, str):
      attr.s = value.encode()
    elif isinstance(value, float):
      attr.f = value
    else:
      attr.i = value
  graph.node.append(node)
  return graph


def tensorflow(graph, inputs):
  with tf.Graph().as_default():
    tf.import_graph_def(graph, name='')
    with tf.Session(config=CONFIG) as session:
      try:
        return session.run('y:0', {'x%d:0' % i: x for i, x in enumerate(inputs)})
      except tf.errors.OpError as error:
        return error.error_code


def leat(graph, inputs):
  session = None
  try:
    session = capi.Session(LEAT, graph.SerializeToString())
    return session.run(['y'], {'x%d' % i: x for i, x in enumerate(inputs)})[0]
  except capi.Error as error:
    return error.code
  finally:
    if session:
      session.close()


def compare(op, inputs, attrs):
  graph = graph_of(op, inputs, attrs)
  want, got = tensorflow(graph, inputs), leat(graph, inputs)
  if isinstance(want, int) or isinstance(got, int):
    return '' if want is got or want == got else 'is %s, must be %s' % (got, want)
  if want.shape != got.shape or want.dtype != got.dtype:
    return 'is %s %s, must be %s %s' % (got.dtype, got.shape, want.dtype, want.shape)
  want, got = want.astype('f8'), got.astype('f8')
  bound = TOLERANCE[attrs['T']] * np.maximum(1, np.abs(want))
  wrong = ~((np.abs(got - want) <= bound) | (np.isnan(got) & np.isnan(want)))
  if wrong.any():
    return '%d differ: %r, must be %r' % (wrong.sum(), got[wrong][0], want[wrong][0])


def matmul(name, a, b, args, ops, dtype='f4', **attrs):
  inputs = [x.astype(dtype) for x in [a, b] + args]
  attrs = dict(dict(T=TYPES[inputs[0].dtype], num_args=len(args), fused_ops=ops), **attrs)
  report('_FusedMatMul %s %s %s' % (np.dtype(dtype), ','.join(ops), name), compare, '_FusedMatMul',
         inputs, attrs)


def conv(name, x, f, args, ops, dtype='f4', **attrs):
  inputs = [v.astype(dtype) for v in [x, f] + args]
  t = TYPES[inputs[0].dtype]
  attrs = dict(dict(CONV, T=t, TArgs=[t] * len(args), num_args=len(args), fused_ops=ops), **attrs)
  report('_FusedConv2D %s %s %s' % (np.dtype(dtype), ','.join(ops), name), compare,
         '_FusedConv2D', inputs, attrs)


def vectors(n):
  return [numbers(n), numbers(n), numbers(n), np.abs(numbers(n)) + np.float32(0.1)]


a, b, x, f = numbers(5, 33), numbers(33, 17), numbers(2, 7, 8, 5), numbers(3, 3, 5, 17)
nan = a.copy()
nan[2, 3] = np.nan
for dtype in ('f4', 'f2', capi.NUMPY[14]):
  for activation in ('', 'Relu', 'Relu6', 'Elu', 'Tanh', 'Sigmoid', 'LeakyRelu'):
    ops = ['BiasAdd'] + [activation] * bool(activation)
    matmul('', a / 8, b / 8, [numbers(17)], ops, dtype)
for activation in ('Relu', 'Relu6', 'Elu', 'LeakyRelu'):
  matmul('of a NaN', nan, b, [numbers(17)], ['BiasAdd', activation])
  matmul('a slope', a, b, [numbers(17)], ['BiasAdd', activation], leakyrelu_alpha=0.7)
matmul('one row', a[:1], b, [numbers(17)], ['BiasAdd', 'Relu'])
matmul('no rows', a[:0], b, [numbers(17)], ['BiasAdd', 'Relu'])
matmul('large', numbers(700, 40), numbers(40, 300), [numbers(300)], ['BiasAdd', 'Elu'])
# What both refuse, with the same code.
matmul('a bias for each row', a, b, [numbers(5, 17)], ['BiasAdd'])
matmul('a scalar bias', a, b, [np.float32(1).reshape(())], ['BiasAdd'])
matmul('inner sizes', a, numbers(32, 17), [numbers(17)], ['BiasAdd'])
matmul('no list', a, b, [numbers(17)], [])
matmul('an unknown op', a, b, [numbers(17)], ['BiasAdd', 'Softplus'])
matmul('another order', a, b, [numbers(17)], ['Relu', 'BiasAdd'])
matmul('no argument', a, b, [], ['BiasAdd'])
matmul('two arguments', a, b, [numbers(17), numbers(17)], ['BiasAdd'])

PLACES = {'': {}, 'VALID': dict(padding='VALID'), 'strides': dict(strides=[1, 2, 2, 1]),
          'dilations': dict(dilations=[1, 2, 2, 1]),
          'EXPLICIT': dict(padding='EXPLICIT', explicit_paddings=[0, 0, 1, 2, 3, 0, 0, 0])}
for place, attrs in PLACES.items():
  for dtype in ('f4', 'f8'):
    for activation in ('', 'Relu', 'Relu6', 'Elu', 'LeakyRelu'):
      last = [activation] * bool(activation)
      conv(place, x, f / 8, [numbers(17)], ['BiasAdd'] + last, dtype, **attrs)
      conv(place, x, f / 8, vectors(17), ['FusedBatchNorm'] + last, dtype, epsilon=0.01, **attrs)
conv('no images', x[:0], f, [numbers(17)], ['BiasAdd', 'Relu'])
conv('1x1', x, numbers(1, 1, 5, 9), [numbers(9)], ['BiasAdd', 'Relu'])
conv('large', numbers(4, 90, 90, 3), numbers(3, 3, 3, 64) / 8, vectors(64),
     ['FusedBatchNorm', 'Relu'])
conv('no list', x, f, [numbers(17)], [])
conv('an unknown op', x, f, [numbers(17)], ['BiasAdd', 'Softplus'])
conv('no argument', x, f, [numbers(17)], ['BiasAdd'], num_args=0)
conv('two arguments', x, f, [numbers(17), numbers(17)], ['BiasAdd'])
conv('three vectors', x, f, vectors(17)[:3], ['FusedBatchNorm'])
conv('strides over images', x, f, [numbers(17)], ['BiasAdd'], strides=[2, 1, 1, 1])
conv('a bias for each image', x, f, [numbers(2, 17)], ['BiasAdd'])


# ---- Graphs of the remapper ---------------------------------------------------------------------
def remapped(graph_def):
  config = config_pb2.ConfigProto()
  config.graph_options.rewrite_options.optimizers.append('remap')
  config.graph_options.rewrite_options.min_graph_nodes = -1
  meta = meta_graph_pb2.MetaGraphDef()
  meta.graph_def.CopyFrom(graph_def)
  meta.collection_def['train_op'].node_list.value.append('y')
  return tf_optimizer.OptimizeGraph(config, meta)


def compare_remapped(build, fused, shape):
  """|build| makes a graph of the placeholder x that ends in y."""
  value = numbers(*shape)
  # The remapper leaves nodes alone that are on no device.
  with tf.Graph().as_default() as graph, tf.device('/device:CPU:0'):
    tf.identity(build(tf.placeholder('float32', shape, 'x')), 'y')
    with tf.Session(config=CONFIG) as session:
      want = session.run('y:0', {'x:0': value})
    rewritten = remapped(graph.as_graph_def())
  ops = [node.op for node in rewritten.node]
  if fused not in ops:
    return 'the remapper made no %s, but %s' % (fused, ops)
  session = capi.Session(LEAT, rewritten.SerializeToString())
  got = session.run(['y'], {'x': value})[0]
  session.close()
  worst = np.abs(got - want).max() / np.abs(want).max()
  return 'the two differ by %g' % worst if not worst <= 1e-6 else ''


def dense(v):
  return tf.nn.tanh(tf.nn.bias_add(tf.matmul(v, tf.constant(b)), tf.constant(b[0])))


def biased(v):
  return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(v, tf.constant(f), 2, 'SAME'), f[0, 0, 0]))


def normalized(v):
  y = tf.nn.conv2d(v, tf.constant(f), 1, 'VALID')
  return tf.nn.leaky_relu(tf.raw_ops.FusedBatchNormV3(
      x=y, scale=f[0, 0, 0], offset=f[0, 0, 1], mean=f[0, 0, 2], variance=np.abs(f[0, 0, 3]) + 1,
      is_training=False, epsilon=0.01)[0])


for build, fused, shape in ((dense, '_FusedMatMul', a.shape), (biased, '_FusedConv2D', x.shape),
                            (normalized, '_FusedConv2D', x.shape)):
  report('remapped ' + build.__name__, compare_remapped, build, fused, shape)


# ---- GELU ---------------------------------------------------------------------------------------
def compare_gelu(approximate, dtype, shape, bound):
  value = numbers(*shape)
  with tf.Graph().as_default() as graph:
    v = tf.cast(tf.placeholder('float32', shape, 'x'), dtype)
    w, bias = tf.cast(tf.constant(b / 8), dtype), tf.cast(tf.constant(b[0]), dtype)
    y = tf.nn.bias_add(tf.tensordot(v, w, 1), bias)
    tf.identity(tf.cast(v2.nn.gelu(y, approximate=approximate), 'float32'), 'y')
    with tf.Session(config=CONFIG) as session:
      want = session.run('y:0', {'x:0': value})
    session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
  got = session.run(['y'], {'x': value})[0]
  session.close()
  worst = (np.abs(got - want) / np.maximum(1, np.abs(want))).max()
  return '' if worst <= bound else 'the two differ by %g' % worst


for approximate in (False, True):
  for dtype, bound in (('float32', 2e-6), ('float16', 4e-3), ('bfloat16', 4e-2)):
    for shape in ((5, 33), (2, 3, 33)):
      name = 'gelu %s %s %s' % ('tanh' if approximate else 'erf', dtype, shape)
      report(name, compare_gelu, approximate, dtype, shape, bound)
