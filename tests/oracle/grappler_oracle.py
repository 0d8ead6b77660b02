"""The ops that TensorFlow's own rewriting puts into graphs give here what its CPU kernels give.
Most graphs are written by hand, since no Python function makes such nodes; at the end stand graphs
that its remapper rewrote. Where TensorFlow refuses, the code of the error is the same."""
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.python.grappler import tf_optimizer

import capi
from outcome import report

tf.disable_v2_behavior()
LEAT = capi.Library()
CONFIG = config_pb2.ConfigProto()
CONFIG.graph_options.rewrite_options.disable_meta_optimizer = True
CONFIG.graph_options.optimizer_options.opt_level = -1
RANDOM = np.random.RandomState(0)
SHAPE = tf.TensorShape
BFLOAT16 = capi.NUMPY[14]


def numbers(*shape):
  return RANDOM.uniform(-2, 2, shape).astype('f4')


# ---- Graphs -------------------------------------------------------------------------------------
def add_item(items, value):
  if isinstance(value, bool):
    items.b.append(value)
  elif isinstance(value, int):
    items.i.append(value)
  elif isinstance(value, str):
    items.s.append(value.encode())
  elif isinstance(value, tf.DType):
    items.type.append(value.as_datatype_enum)
  else:
    items.shape.add().CopyFrom(value.as_proto())


def attr_of(value):
  attr = attr_value_pb2.AttrValue()
  if isinstance(value, bool):
    attr.b = value
  elif isinstance(value, int):
    attr.i = value
  elif isinstance(value, float):
    attr.f = value
  elif isinstance(value, str):
    attr.s = value.encode()
  elif isinstance(value, tf.DType):
    attr.type = value.as_datatype_enum
  elif isinstance(value, (np.ndarray, np.generic)):
    attr.tensor.CopyFrom(tf.make_tensor_proto(value))
  elif isinstance(value, dict):
    attr.func.name = value['func']
  else:
    attr.list.SetInParent()
    for item in value:
      add_item(attr.list, item)
  return attr


class Graph:
  """A GraphDef under way. Inputs of op() are names, or values that become placeholders."""

  def __init__(self):
    self.graph_def, self.feeds = graph_pb2.GraphDef(), {}

  def op(self, name, op, inputs=(), **attrs):
    names = [v if isinstance(v, str) else self.feed('%s_%d' % (name, i), np.asarray(v))
             for i, v in enumerate(inputs)]
    self.add(self.graph_def.node.add(), name, op, names, attrs)
    return name

  @staticmethod
  def add(node, name, op, inputs, attrs):
    node.name, node.op = name, op
    node.input.extend(inputs)
    for key, value in attrs.items():
      node.attr[key].CopyFrom(attr_of(value))

  def feed(self, name, value):
    self.feeds[name] = value
    return self.op(name, 'Placeholder', dtype=tf.as_dtype(value.dtype))

  def function(self, name, arguments, result, *nodes, result_type=tf.float32):
    """|nodes|: (name, op, inputs, attributes)."""
    function = self.graph_def.library.function.add()
    function.signature.name = name
    for argument in arguments:
      arg = function.signature.input_arg.add()
      arg.name, arg.type = argument, tf.float32.as_datatype_enum
    out = function.signature.output_arg.add()
    out.name, out.type = 'result', result_type.as_datatype_enum
    function.ret['result'] = result
    for node in nodes:
      self.add(function.node_def.add(), *node)


def tensorflow(graph, fetches):
  try:
    with tf.Graph().as_default():
      tf.import_graph_def(graph.graph_def, name='')
      with tf.Session(config=CONFIG) as session:
        return session.run([f if ':' in f else f + ':0' for f in fetches],
                           {name + ':0': value for name, value in graph.feeds.items()})
  except ValueError:  # what the shape function refuses
    return 3
  except tf.errors.OpError as error:
    return error.error_code


def leat(graph, fetches):
  session = None
  try:
    session = capi.Session(LEAT, graph.graph_def.SerializeToString())
    return session.run(fetches, graph.feeds)
  except capi.Error as error:
    return error.code
  finally:
    if session:
      session.close()


def differ(want, got, tolerance):
  want = np.asarray(want)
  if want.shape != got.shape or want.dtype != got.dtype:
    return 'is %s %s, must be %s %s' % (got.dtype, got.shape, want.dtype, want.shape)
  if want.dtype == object:
    return '' if (want == got).all() else 'is %r, must be %r' % (got, want)
  want, got = want.astype('f8'), got.astype('f8')
  bound = tolerance * np.maximum(1, np.abs(want))
  wrong = ~((np.abs(got - want) <= bound) | (np.isnan(got) & np.isnan(want)))
  return '%r, must be %r' % (got[wrong][:3], want[wrong][:3]) if wrong.any() else ''


def compare(graph, fetches, tolerance):
  want, got = tensorflow(graph, fetches), leat(graph, fetches)
  if isinstance(want, int) or isinstance(got, int):
    return '' if want is got or want == got else 'is %s, must be %s' % (got, want)
  return '; '.join(filter(None, (differ(w, g, tolerance) for w, g in zip(want, got))))


def check(name, graph, fetches, tolerance=1e-5):
  report(name, compare, graph, fetches, tolerance)


# ---- Batch normalisation and convolution --------------------------------------------------------
def batch_norm(name, x, tolerance=1e-5, fetches=('y', 'y:1', 'y:2', 'y:3', 'y:4'), channels=None,
               **attrs):
  graph = Graph()
  channels = channels or x.shape[-1]
  vectors = [numbers(channels), numbers(channels), numbers(channels),
             np.abs(numbers(channels)) + np.float32(0.1)]
  given = dict(T=tf.as_dtype(x.dtype), U=tf.float32, num_side_inputs=0, activation_mode='Relu',
               is_training=False)
  graph.op('y', '_FusedBatchNormEx', [x] + vectors, **dict(given, **attrs))
  check('_FusedBatchNormEx ' + name, graph, list(fetches), tolerance)


batch_norm('inference', numbers(2, 5, 3, 8))
batch_norm('epsilon', numbers(2, 5, 3, 8), epsilon=0.3)
batch_norm('bfloat16', numbers(2, 5, 3, 8).astype(BFLOAT16), 2e-2)
batch_norm('channels first', numbers(2, 4, 3, 3), channels=4, data_format='NCHW')
batch_norm('training', numbers(2, 5, 3, 8), 1e-4, is_training=True)
batch_norm('training with averages', numbers(2, 5, 3, 8), 1e-4, is_training=True,
           exponential_avg_factor=0.25)
batch_norm('channels that fill no vector', numbers(2, 5, 3, 6), fetches=['y'])


def convolution(name, ops, arguments, tolerance=1e-5, x=None, f=None, dtype='f4', **attrs):
  x = numbers(2, 4, 5, 3, 6) if x is None else x
  f = numbers(2, 3, 2, 6, 5) / 4 if f is None else f
  inputs = [v.astype(dtype) for v in [x, f] + arguments]
  given = dict(T=tf.as_dtype(inputs[0].dtype), num_args=len(arguments), strides=[1] * 5,
               padding='SAME', fused_ops=ops)
  graph = Graph()
  graph.op('y', '_FusedConv3D', inputs, **dict(given, **attrs))
  check('_FusedConv3D ' + name, graph, ['y'], tolerance)


PADS = [0, 0, 1, 2, 0, 1, 3, 0, 0, 0]
for activation in ('', 'Relu', 'Relu6', 'Elu', 'LeakyRelu'):
  last = [activation] * bool(activation)
  convolution(activation or 'bias', ['BiasAdd'] + last, [numbers(5)])
  convolution('Add ' + activation, ['BiasAdd', 'Add'] + last, [numbers(5), numbers(2, 4, 5, 3, 5)])
convolution('slope', ['BiasAdd', 'LeakyRelu'], [numbers(5)], leakyrelu_alpha=0.7)
convolution('VALID', ['BiasAdd'], [numbers(5)], padding='VALID')
convolution('strides', ['BiasAdd'], [numbers(5)], strides=[1, 2, 1, 3, 1])
convolution('dilations', ['BiasAdd'], [numbers(5)], dilations=[1, 1, 2, 1, 1])
convolution('paddings', ['BiasAdd'], [numbers(5)], padding='VALID', padding_list=PADS)
convolution('a Pad alone', [], [], padding='VALID', padding_list=PADS)
convolution('channels first', ['BiasAdd', 'Add'], [numbers(5), numbers(2, 5, 4, 5, 3)],
            x=numbers(2, 6, 4, 5, 3), data_format='NCDHW')
convolution('bfloat16', ['BiasAdd', 'Relu'], [numbers(5)], 5e-2, dtype=BFLOAT16)
convolution('no list', [], [])
convolution('an unknown op', ['BiasAdd', 'Cos'], [numbers(5)])
convolution('channels that do not fit', ['BiasAdd'], [numbers(5)], f=numbers(2, 2, 2, 4, 5))


# ---- Functions of one operand -------------------------------------------------------------------
def composition(name, ops, x, tolerance=3e-6):
  graph = Graph()
  graph.op('y', '_UnaryOpsComposition', [x], T=tf.as_dtype(x.dtype), op_names=ops)
  check('_UnaryOpsComposition ' + name, graph, ['y'], tolerance)


FUNCTIONS = ('Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Exp Expm1 Floor Inv Log Log1p '
             'Neg Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sin Sinh Sqrt Square Tan '
             'Tanh').split()
WITHOUT_HALF = ('Acos', 'Acosh', 'Asin', 'Asinh', 'Atan', 'Atanh', 'Cosh', 'Rint', 'Sinh', 'Tan')
for function in FUNCTIONS:
  composition(function, [function], numbers(7, 9) / 2)
  composition(function + ' of doubles', [function], numbers(7, 9).astype('f8'), 1e-13)
  if function not in WITHOUT_HALF:
    composition(function + ' of halves', [function, 'Square'], numbers(7, 9).astype('f2'), 2e-3)
composition('chain', ['Abs', 'Sqrt', 'Sin', 'Exp', 'Log1p', 'Tanh'], numbers(50, 77))
composition('nothing', ['Abs'], numbers(0, 3))
composition('no ops', [], numbers(3))
composition('an op that is none', ['Exp', 'Exp2'], numbers(3))
composition('an op of two operands', ['ReluGrad'], numbers(3))
composition('another type', ['Exp'], np.arange(3, dtype='i4'))


# ---- Conditionals and loops ---------------------------------------------------------------------
def branches(name, condition, **attrs):
  graph = Graph()
  graph.function('double', ['x'], 's:z:0', ('s', 'AddV2', ['x', 'x'], dict(T=tf.float32)))
  graph.function('halve', ['x'], 's:z:0', ('c', 'Const', [], dict(
      dtype=tf.float32, value=np.float32(0.5))),
                 ('s', 'Mul', ['x', 'c:output:0'], dict(T=tf.float32)))
  graph.op('y', '_If', [condition, numbers(3)], Tcond=tf.as_dtype(condition.dtype),
           Tin=[tf.float32], Tout=[tf.float32], then_branch={'func': 'double'},
           else_branch={'func': 'halve'}, **attrs)
  check('_If ' + name, graph, ['y'], 0)


for lowered in (False, True):
  how = ' lowered' * lowered
  branches('true' + how, np.array(True), _lower_using_switch_merge=lowered)
  branches('false' + how, np.array(False), _lower_using_switch_merge=lowered)
  branches('a number' + how, np.array(3), _lower_using_switch_merge=lowered)
  branches('an empty vector' + how, np.zeros(0, 'f4'), _lower_using_switch_merge=lowered)


def loop(name, limit, **attrs):
  graph = Graph()
  graph.function('cond', ['n', 'x'], 's:z:0',
                 ('c', 'Const', [], dict(dtype=tf.float32, value=np.float32(limit))),
                 ('s', 'Less', ['n', 'c:output:0'], dict(T=tf.float32)), result_type=tf.bool)
  graph.function('body', ['n', 'x'], 's:z:0',
                 ('c', 'Const', [], dict(dtype=tf.float32, value=np.float32(1))),
                 ('s', 'AddV2', ['n', 'c:output:0'], dict(T=tf.float32)),
                 ('t', 'AddV2', ['x', 's:z:0'], dict(T=tf.float32)))
  body = graph.graph_def.library.function[1]
  out = body.signature.output_arg.add()
  out.name, out.type = 'sum', tf.float32.as_datatype_enum
  body.ret['sum'] = 't:z:0'
  graph.op('y', '_While', [np.float32(0), numbers(3)], T=[tf.float32] * 2,
           cond={'func': 'cond'}, body={'func': 'body'}, **attrs)
  check('_While ' + name, graph, ['y', 'y:1'])


for lowered in (False, True):
  how = ' lowered' * lowered
  loop('ten times' + how, 10, _lower_using_switch_merge=lowered)
  loop('never' + how, 0, _lower_using_switch_merge=lowered)


def switch(name, index, count=3, fetches=('y', 'y:1')):
  """Each output is multiplied by a power of ten, and a node without inputs runs behind one."""
  graph = Graph()
  graph.op('s', '_SwitchN', [numbers(2), np.array(index, 'i4')], num_outs=count, T=tf.float32)
  for k in range(count):
    graph.op('c%d' % k, 'Const', ['^s'], dtype=tf.float32, value=np.float32(10 ** k))
    graph.op('m%d' % k, 'Mul', ['s:%d' % k, 'c%d' % k], T=tf.float32)
  graph.op('y', 'Merge', ['m%d' % k for k in range(count)], N=count, T=tf.float32)
  check('_SwitchN ' + name, graph, list(fetches))


for i in range(-1, 5):
  switch('%d of 3' % i, i)
switch('one output', 0, 1)
switch('a dead output', 0, fetches=['s:1'])
switch('the live output', 1, fetches=['s:1'])
switch('a vector', [0])


# ---- Variables ----------------------------------------------------------------------------------
def variables(name, read=(tf.float32, tf.int32), assigned=2, **attrs):
  graph = Graph()
  given = dict(containers=['', ''], shared_names=['a', 'b'], N=2, dtypes=[tf.float32, tf.int32],
               shapes=[SHAPE([3]), SHAPE([])])
  graph.op('h', '_VarHandlesOp', **dict(given, **attrs))
  values = [numbers(3), np.array(7, 'i4')]
  for i in range(assigned):
    graph.op('a%d' % i, 'AssignVariableOp', ['h:%d' % i, values[i]],
             dtype=tf.as_dtype(values[i].dtype))
  graph.op('r', '_ReadVariablesOp', ['h', 'h:1'] + ['^a%d' % i for i in range(assigned)], N=2,
           dtypes=list(read))
  check('_ReadVariablesOp ' + name, graph, ['r', 'r:1'])


variables('of _VarHandlesOp')
variables('without a value', assigned=1)
variables('of another type', read=(tf.float32, tf.float32))
variables('too few names', shared_names=['a'])
variables('too few containers', containers=[])
variables('too few types', dtypes=[tf.float32])
variables('too few shapes', shapes=[SHAPE([3])])


# ---- MapDefun -----------------------------------------------------------------------------------
def map_defun(name, arguments, shape, captured=(), op='AddV2', **attrs):
  graph = Graph()
  if op == 'Range':  # a result whose length depends on the row
    graph.function('f', ['a', 'b'], 's:output:0',
                   ('zero', 'Const', [], dict(dtype=tf.float32, value=np.float32(0))),
                   ('one', 'Const', [], dict(dtype=tf.float32, value=np.float32(1))),
                   ('s', 'Range', ['zero:output:0', 'a', 'one:output:0'], dict(Tidx=tf.float32)))
  else:
    out = {'AddV2': 's:z:0', 'MatMul': 's:product:0'}[op]
    graph.function('f', ['a', 'b'], out, ('s', op, ['a', 'b'], dict(T=tf.float32)))
  captured = list(captured)
  given = dict(Targuments=[tf.float32] * len(arguments), Tcaptured=[tf.float32] * len(captured),
               output_types=[tf.float32], output_shapes=[SHAPE(shape)], f={'func': 'f'})
  graph.op('y', 'MapDefun', arguments + captured, **dict(given, **attrs))
  check('MapDefun ' + name, graph, ['y'])


rows = numbers(100, 3)
map_defun('two arguments', [rows, numbers(100)], [3])
map_defun('a captured input', [rows], [3], [numbers(3)])
map_defun('a size that is not said', [rows, numbers(100)], [None])
map_defun('a rank that is not said', [rows, numbers(100)], None)
map_defun('matrices', [numbers(9, 4, 5), numbers(9, 5, 2)], [4, 2], op='MatMul')
map_defun('no rows', [rows[:0], numbers(0)], [3])
map_defun('no rows and no shape', [rows[:0], numbers(0)], [None])
map_defun('one thread', [rows, numbers(100)], [3], max_intra_op_parallelism=0)
map_defun('ranges', [np.full(5, 3, 'f4'), numbers(5)], [None], op='Range')
map_defun('ranges of other lengths', [np.arange(5, dtype='f4'), numbers(5)], [None], op='Range')
map_defun('another shape', [rows, numbers(100)], [4])
map_defun('another type', [rows, numbers(100)], [3], output_types=[tf.int32])
map_defun('a call that fails', [rows, rows], [3], op='MatMul')
map_defun('other numbers of rows', [rows, numbers(99)], [3])
map_defun('a scalar', [rows, np.float32(1)], [3])
map_defun('too few arguments', [rows], [3])
map_defun('two shapes', [rows, numbers(100)], [3], output_shapes=[SHAPE([3])] * 2)


# ---- What passes values on ----------------------------------------------------------------------
def single(name, op, inputs, fetches=('y',), **attrs):
  graph = Graph()
  graph.op('y', op, inputs, **attrs)
  check('%s %s' % (op, name), graph, list(fetches), 0)


single('to integers', '_HostCast', [numbers(9)], SrcT=tf.float32, DstT=tf.int32)
single('truncates', '_HostCast', [numbers(9)], SrcT=tf.float32, DstT=tf.bfloat16, Truncate=True)
single('nothing to do', '_HostCast', [numbers(9)], SrcT=tf.float32, DstT=tf.float32)
single('a vector', 'HostConst', [], dtype=tf.float32, value=numbers(3))
single('another type', 'HostConst', [], dtype=tf.int32, value=numbers(3))
single('a vector', '_EagerConst', [numbers(3)], T=tf.float32)
PAIR = [numbers(2), numbers(3, 1)]
TYPES = [tf.float32] * 2
single('two', '_ListToArray', PAIR, ('y', 'y:1'), Tin=TYPES, T=tf.float32, N=2)
single('three of two', '_ListToArray', PAIR, ('y',), Tin=TYPES, T=tf.float32, N=3)
single('of two types', '_ListToArray', [PAIR[0], np.arange(3, dtype='i4')], ('y', 'y:1'),
       Tin=[tf.float32, tf.int32], T=tf.float32, N=2)
single('two', '_ArrayToList', PAIR, ('y', 'y:1'), out_types=TYPES, T=tf.float32, N=2)
single('three of two', '_ArrayToList', PAIR, ('y',), out_types=TYPES + [tf.float32], T=tf.float32,
       N=2)
single('to another type', '_ArrayToList', PAIR, ('y', 'y:1'), out_types=[tf.float32, tf.int32],
       T=tf.float32, N=2)
for dtype in ('i1', 'i2', 'i4', 'i8'):
  limits = np.iinfo(dtype)
  values = np.array([0, 1, -1, 9, 10, -10, 99, 127, limits.min, limits.max], dtype)
  single(dtype, '_TensorToHashBucketFast', [values], T=tf.as_dtype(values.dtype), num_buckets=1009)
single('outside a function', '_DeviceArg', [], T=tf.float32, index=0)


# ---- Graphs of the remapper ---------------------------------------------------------------------
def remapped(graph_def, optimizer):
  config = config_pb2.ConfigProto()
  config.graph_options.rewrite_options.optimizers.append(optimizer)
  config.graph_options.rewrite_options.min_graph_nodes = -1
  meta = meta_graph_pb2.MetaGraphDef()
  meta.graph_def.CopyFrom(graph_def)
  meta.collection_def['train_op'].node_list.value.append('y')
  return tf_optimizer.OptimizeGraph(config, meta)


def compare_remapped(build, optimizer, fused, value, tolerance):
  """|build| makes a graph of the placeholder x that ends in y."""
  with tf.Graph().as_default() as graph, tf.device('/device:CPU:0'):
    tf.identity(build(tf.placeholder(value.dtype, value.shape, 'x')), 'y')
    with tf.Session(config=CONFIG) as session:
      want = session.run('y:0', {'x:0': value})
    rewritten = remapped(graph.as_graph_def(), optimizer)
  ops = [node.op for node in rewritten.node]
  if fused not in ops:
    return 'the optimizer made no %s, but %s' % (fused, ops)
  session = capi.Session(LEAT, rewritten.SerializeToString())
  got = session.run(['y'], {'x': value})[0]
  session.close()
  return differ(want, got, tolerance)


def volumes(v):
  f = tf.constant(numbers(2, 2, 2, 6, 5) / 4)
  return tf.nn.relu(tf.nn.bias_add(tf.nn.conv3d(v, f, [1] * 5, 'SAME'), numbers(5)))


def normalized(v):
  return tf.nn.relu(tf.raw_ops.FusedBatchNormV3(
      x=v, scale=numbers(8), offset=numbers(8), mean=numbers(8), variance=np.abs(numbers(8)) + 1,
      is_training=False, epsilon=0.01)[0])


def hashed(v):
  return tf.strings.to_hash_bucket_fast(tf.as_string(v), 1000)


for build, fused, value in ((volumes, '_FusedConv3D', numbers(2, 4, 5, 3, 6)),
                            (normalized, '_FusedBatchNormEx', numbers(2, 5, 3, 8)),
                            (hashed, '_TensorToHashBucketFast', np.arange(-50, 50, dtype='i4'))):
  report('remapped ' + build.__name__, compare_remapped, build, 'remap', fused, value, 1e-5)
