"""Fused products of 8-bit numbers give what TensorFlow's kernels (oneDNN's) give, bit for bit: all
names and all lists of fused ops, over random shapes, windows, types and ranges, and the code of the
error for what neither takes. Exempt from the last bit are activations other than Relu, which oneDNN
approximates. What TensorFlow cannot do without a crash, or without reading beyond its arrays, is
left out here and named in src/ops/quantize/quantized_fused_test.c."""
import os

os.environ['TF_ENABLE_ONEDNN_OPTS'] = '1'  # without it TensorFlow has no kernels for these ops

import ml_dtypes
import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2

import capi
from outcome import report

tf.disable_v2_behavior()
LEAT = capi.Library()
CONFIG = config_pb2.ConfigProto()
CONFIG.graph_options.rewrite_options.disable_meta_optimizer = True
RANDOM = np.random.RandomState(0)
# Each type: its number, that of plain numbers of the same bits, and NumPy's.
TYPES = {'float': (1, 1, 'f4'), 'bfloat16': (14, 14, ml_dtypes.bfloat16), 'qint8': (11, 6, 'i1'),
         'quint8': (12, 4, 'u1'), 'qint32': (13, 3, 'i4'), 'int32': (3, 3, 'i4')}


# ---- One node in both libraries -----------------------------------------------------------------
def graph_of(op, inputs, attrs, outputs):
  """|inputs| are (type, value, kind): 'fed', 'const', or 'fresh' for what TensorFlow overwrites.
  Quantised numbers pass the feeds and fetches as plain ones."""
  graph, node = graph_pb2.GraphDef(), graph_pb2.GraphDef().node.add()
  graph.versions.producer = 2000
  node.name, node.op = 'y', op

  def add(name, kind, reads=(), **types):
    made = graph.node.add()
    made.name, made.op = name, kind
    made.input.extend(reads)
    for attr, value in types.items():
      made.attr[attr].type = value
    return made

  def constant(name, dtype, value):
    tensor = add(name, 'Const', dtype=dtype).attr['value'].tensor
    tensor.dtype = dtype
    tensor.tensor_shape.SetInParent()
    for size in value.shape:
      tensor.tensor_shape.dim.add().size = size
    tensor.tensor_content = value.tobytes()

  for i, (name, value, kind) in enumerate(inputs):
    dtype, plain, _ = TYPES[name]
    source = 'x%d' % i
    if kind == 'const':
      constant(source, dtype, value)
    else:
      shape = add(source, 'Placeholder', dtype=plain).attr['shape'].shape
      shape.SetInParent()
      for size in value.shape:
        shape.dim.add().size = size
      if kind == 'fresh':
        constant('zero%d' % i, plain, np.zeros((), value.dtype))
        add('sum%d' % i, 'AddV2', [source, 'zero%d' % i], T=plain)
        source = 'sum%d' % i
      if plain != dtype:
        add('bits%d' % i, 'Bitcast', [source], T=plain, type=dtype)
        source = 'bits%d' % i
    node.input.append(source)
  for name, value in attrs.items():
    attr = node.attr[name]
    if isinstance(value, bool):
      attr.b = value
    elif isinstance(value, int):
      attr.i = value
    elif isinstance(value, str):
      if value in TYPES:
        attr.type = TYPES[value][0]
      else:
        attr.s = value.encode()
    else:
      attr.list.SetInParent()
      for item in value:
        if not isinstance(item, str):
          attr.list.i.append(item)
        elif item in TYPES:
          attr.list.type.append(TYPES[item][0])
        else:
          attr.list.s.append(item.encode())
  graph.node.append(node)
  for i, name in enumerate(outputs):
    dtype, plain, _ = TYPES[name]
    add('out%d' % i, 'Bitcast', ['y:%d' % i], T=dtype, type=plain)
  return graph


def feeds(inputs):
  return {'x%d' % i: value for i, (_, value, kind) in enumerate(inputs) if kind != 'const'}


def tensorflow(graph, inputs, outputs):
  with tf.Graph().as_default():
    try:
      tf.import_graph_def(graph, name='')
    except ValueError:
      return 3
    with tf.Session(config=CONFIG) as session:
      try:
        return session.run(['out%d:0' % i for i in range(len(outputs))],
                           {name + ':0': value for name, value in feeds(inputs).items()})
      except tf.errors.OpError as error:
        return error.error_code


def leat(graph, inputs, outputs):
  session = None
  try:
    session = capi.Session(LEAT, graph.SerializeToString())
    return session.run(['out%d' % i for i in range(len(outputs))], feeds(inputs))
  except capi.Error as error:
    return error.code
  finally:
    if session:
      session.close()


def compare(op, inputs, attrs, outputs, steps, numbers):
  """Integers may differ by |steps|, floats by |numbers| of their size."""
  inputs = [(name, np.asarray(value).astype(TYPES[name][2]), kind) for name, value, kind in inputs]
  graph = graph_of(op, inputs, attrs, outputs)
  want, got = tensorflow(graph, inputs, outputs), leat(graph, inputs, outputs)
  if isinstance(want, int) or isinstance(got, int):
    return '' if want is got or want == got else 'is %s, must be %s' % (got, want)
  for i, (a, b) in enumerate(zip(want, got)):
    if a.shape != b.shape or a.dtype != b.dtype:
      return 'output %d is %s %s, must be %s %s' % (i, b.dtype, b.shape, a.dtype, a.shape)
    is_real = outputs[i] in ('float', 'bfloat16')
    a, b = a.astype('f8'), b.astype('f8')
    bound = numbers * np.maximum(1, np.abs(a)) if is_real else steps
    wrong = ~(np.abs(a - b) <= bound)
    if wrong.any():
      return 'output %d: %d of %d differ: %r, must be %r' % (i, wrong.sum(), a.size, b[wrong][0],
                                                            a[wrong][0])
  return ''


def check(name, op, inputs, attrs, outputs, steps=0, numbers=0):
  report('%s %s' % (op, name), compare, op, inputs, attrs, outputs, steps, numbers)


# ---- Convolutions -------------------------------------------------------------------------------
def integers(dtype, *shape):
  low, high = {'quint8': (0, 256), 'qint8': (-128, 128), 'qint32': (-30000, 30000)}[dtype]
  return RANDOM.randint(low, high, shape)


def const(value):
  return 'float', value, 'const'


WINDOWS = [dict(strides=[1, 1, 1, 1], padding='SAME'),
           dict(strides=[1, 2, 1, 1], padding='VALID'),
           dict(strides=[1, 2, 3, 1], padding='SAME'),
           dict(strides=[1, 1, 1, 1], padding='VALID', dilations=[1, 2, 1, 1]),
           dict(strides=[1, 1, 1, 1], padding='SAME', dilations=[1, 1, 2, 1]),
           dict(strides=[1, 4, 4, 1], padding='SAME')]
LEGACY = {  # name: parts, types of the input, of the output, whether the op has padding_list
    'QuantizedConv2D': ('', ['quint8'], 'qint32', False),
    'QuantizedConv2DPerChannel': ('v', ['quint8'], 'qint32', False),
    'QuantizedConv2DAndRelu': ('rv', ['quint8'], 'qint32', True),
    'QuantizedConv2DAndReluAndRequantize': ('rqv', ['quint8'], 'quint8', True),
    'QuantizedConv2DAndRequantize': ('q', ['quint8'], 'qint8', True),
    'QuantizedConv2DWithBias': ('bv', ['quint8', 'qint8'], 'qint32', True),
    'QuantizedConv2DWithBiasAndRelu': ('brv', ['quint8', 'qint8'], 'qint32', True),
    'QuantizedConv2DWithBiasAndReluAndRequantize': ('brqv', ['quint8', 'qint8'], 'quint8', True),
    'QuantizedConv2DWithBiasAndRequantize': ('bqv', ['quint8', 'qint8'], 'qint8', True),
    'QuantizedConv2DWithBiasSumAndRelu': ('bsrv', ['quint8'], 'qint32', True),
    'QuantizedConv2DWithBiasSumAndReluAndRequantize': ('bsrqv', ['quint8'], 'quint8', True),
    'QuantizedConv2DWithBiasSignedSumAndReluAndRequantize': ('bsrqv', ['quint8'], 'quint8', True),
    'QuantizedDepthwiseConv2D': ('dv', ['quint8'], 'qint32', False),
    'QuantizedDepthwiseConv2DWithBias': ('dbv', ['quint8'], 'qint32', False),
    'QuantizedDepthwiseConv2DWithBiasAndRelu': ('dbrv', ['quint8'], 'qint32', True),
    'QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize': ('dbrqv', ['quint8'], 'quint8', True),
}


def out_size(size, window, axis, filter_size):
  stride = window['strides'][1 + axis]
  dilation = window.get('dilations', [1] * 4)[1 + axis]
  explicit = window.get('padding_list') or window.get('explicit_paddings')
  if explicit and len(explicit) == 8 and any(explicit):
    size += explicit[2 + 2 * axis] + explicit[3 + 2 * axis]
  elif window['padding'] == 'SAME':
    return -(-size // stride)
  return (size - (filter_size - 1) * dilation - 1) // stride + 1


class Convolution:
  """Random inputs of a convolution with |parts|: b bias, s sum, r Relu, q Requantize, d depthwise,
  v: the filter's range may be a vector."""

  def __init__(self, parts, in_type, out_type, bias_type, summand_type, window, groups=1):
    self.parts, self.in_type, self.out_type = parts, in_type, out_type
    self.bias_type, self.summand_type = bias_type, summand_type
    depth, out, size = RANDOM.randint(1, 12) * groups, RANDOM.randint(1, 9) * groups, 3
    height, width, batch = RANDOM.randint(5, 9), RANDOM.randint(5, 9), RANDOM.randint(1, 3)
    self.columns = depth * out if 'd' in parts else out
    self.input = in_type, integers(in_type, batch, height, width, depth), 'fed'
    filter_depth = depth // groups
    self.filter = 'qint8', integers('qint8', size, size, filter_depth, out), 'const'
    shape = batch, out_size(height, window, 0, size), out_size(width, window, 1, size), self.columns
    low = -RANDOM.uniform(1, 4) if in_type == 'qint8' else 0
    self.ranges = [const(low), const(RANDOM.uniform(1, 4))]
    count = self.columns if 'v' in parts and RANDOM.randint(2) else None
    self.ranges += [const(-RANDOM.uniform(.3, 2, count)), const(RANDOM.uniform(.3, 2, count))]
    self.bias = [(bias_type, RANDOM.uniform(-3, 3, out and self.columns) if bias_type == 'float'
                  else integers(bias_type, self.columns), 'const')] if 'b' in parts else []
    self.summand, self.summand_range = [], []
    if 's' in parts:
      value = (RANDOM.uniform(-3, 3, shape) if summand_type == 'float'
               else integers(summand_type, *shape))
      self.summand = [(summand_type, value, 'fresh')]
      if summand_type != 'float':
        low = -RANDOM.uniform(1, 6) if summand_type == 'qint8' else 0
        self.summand_range = [const(low), const(RANDOM.uniform(1, 6))]
    low = -RANDOM.uniform(5, 60) if out_type == 'qint8' else 0
    self.requested = [const(low), const(RANDOM.uniform(5, 60))] if 'q' in parts else []

  def legacy_inputs(self):
    return ([self.input, self.filter] + self.bias + self.ranges + self.requested + self.summand +
            self.summand_range)

  def listed_inputs(self):
    return ([self.input, self.filter] + self.bias + self.summand + self.ranges +
            self.summand_range + self.requested)


def legacy_convolution(op, in_type, bias_type, window, name='', groups=1):
  parts, _, out_type, has_list = LEGACY[op]
  summand = ('float' if out_type == 'qint32' else 'qint8' if 'Signed' in op else 'quint8')
  made = Convolution(parts, in_type, out_type, bias_type, summand, window, groups)
  attrs = dict(window, Tinput=in_type, Tfilter='qint8', out_type=out_type)
  if 'b' in parts and 'q' in parts:
    attrs['Tbias'] = bias_type
  if 's' in parts and 'q' in parts:
    attrs['Tsummand'] = summand
  check('%s %s %s %s' % (in_type, bias_type, window, name), op, made.legacy_inputs(), attrs,
        [out_type, 'float', 'float'])


for op, (parts, in_types, out_type, has_list) in LEGACY.items():
  for in_type in in_types:
    for bias_type in ['float', 'qint32'] if 'b' in parts and 'q' in parts else ['float']:
      for window in WINDOWS[:3] if 'd' in parts else WINDOWS:
        legacy_convolution(op, in_type, bias_type, window)
      if has_list and 'd' not in parts:
        window = dict(strides=[1, 1, 2, 1], padding='VALID', padding_list=[0, 0, 1, 2, 0, 1, 0, 0])
        legacy_convolution(op, in_type, bias_type, window)
legacy_convolution('QuantizedConv2DAndRelu', 'quint8', 'float', WINDOWS[0], 'groups', 3)
for strides in ([2, 1, 1, 1], [1, 1, 1, 2]):
  legacy_convolution('QuantizedConv2DAndRelu', 'quint8', 'float',
                     dict(strides=strides, padding='SAME'), 'refused')
legacy_convolution('QuantizedConv2DAndRelu', 'quint8', 'float',
                   dict(WINDOWS[0], padding_list=[1, 2, 3]), 'refused')

NAMES = {'b': 'BiasAdd', 's': 'Sum', 'r': 'Relu', 'q': 'Requantize'}


def listed_convolution(op, parts, in_type, bias_type, out_type, summand, window, **more):
  made = Convolution(parts + 'v' + 'd' * ('Depthwise' in op), in_type, out_type, bias_type, summand,
                     window)
  inputs = made.listed_inputs()
  attrs = dict(window, Tinput=in_type, Tfilter='qint8', Tbias=bias_type, Tsummand=summand,
               out_type=out_type, fused_ops=[NAMES[p] for p in parts],
               Tdevice_inputs=[i[0] for i in inputs], Thost_inputs=[],
               Tdevice_outputs=[out_type, 'float', 'float'], Thost_outputs=[])
  attrs.update(more)
  if more.get('data_format') == 'NCHW':
    name, value, kind = inputs[0]
    inputs[0] = name, np.ascontiguousarray(np.moveaxis(value, 3, 1)), kind
    for i, (name, value, kind) in enumerate(inputs):
      if kind == 'fresh':
        inputs[i] = name, np.ascontiguousarray(np.moveaxis(value, 3, 1)), kind
  check('%s %s' % ([in_type, bias_type, out_type, summand], dict(window, parts=parts, **more)), op,
        inputs, attrs, [out_type, 'float', 'float'])


for op in ('_FusedQuantizedConv2D', '_FusedQuantizedDepthwiseConv2D'):
  for parts in ('', 'b', 'r', 'q', 'br', 'bq', 'rq', 'brq', 'bsr', 'bsrq'):
    for in_type in ('quint8', 'qint8'):
      for bias_type in ('float', 'qint32') if 'b' in parts else ('qint32',):
        out_types = ['qint32'] if 'q' not in parts else ['quint8'] if 's' in parts else [
            'quint8', 'qint8']
        for out_type in out_types:
          for summand in ([out_type] if 's' not in parts else
                          ['float'] if out_type == 'qint32' else ['quint8', 'qint8']):
            listed_convolution(op, parts, in_type, bias_type, out_type, summand,
                               WINDOWS[RANDOM.randint(3)])
  explicit = dict(strides=[1, 1, 1, 1], padding='EXPLICIT',
                  explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0])
  listed_convolution(op, 'brq', 'quint8', 'float', 'quint8', 'quint8', explicit)
  listed_convolution(op, 'r', 'quint8', 'float', 'qint32', 'qint32', WINDOWS[0],
                     is_filter_const=False)
  for ops in (['Relu', 'BiasAdd'], ['Relu6'], ['BiasAdd', 'Sum'], ['Requantize', 'Relu']):
    listed_convolution(op, 'b', 'quint8', 'float', 'qint32', 'qint32', WINDOWS[0], fused_ops=ops)
  listed_convolution(op, 'r', 'quint8', 'float', 'qint32', 'float', WINDOWS[0])
for parts, out_type in (('', 'qint32'), ('brq', 'quint8')):
  listed_convolution('_FusedQuantizedConv2D', parts, 'quint8', 'float', out_type, out_type,
                     dict(strides=[1, 1, 1, 1], padding='SAME'), data_format='NCHW')


# ---- Products of matrices -----------------------------------------------------------------------
def matmul(op, out_type, bias_type, mode, low, requested, **more):
  rows, depth, columns = RANDOM.randint(1, 9), RANDOM.randint(1, 60), RANDOM.randint(1, 40)
  bias = (RANDOM.uniform(-3, 3, columns) if bias_type == 'float' else integers('qint32', columns))
  inputs = [('quint8', integers('quint8', rows, depth), 'fed'),
            ('qint8', integers('qint8', depth, columns), 'const'), (bias_type, bias, 'const'),
            const(low), const(RANDOM.uniform(.5, 3)), const(-RANDOM.uniform(.3, 2)),
            const(RANDOM.uniform(.3, 2))]
  if requested:
    inputs += [const(-RANDOM.uniform(0, 2)), const(RANDOM.uniform(2, 30))]
  attrs = dict(T1='quint8', T2='qint8', Toutput=out_type, input_quant_mode=mode, **more)
  if op != 'QuantizedMatMulWithBiasAndRelu':
    attrs['Tbias'] = bias_type
  check('%s %s from %g' % (bias_type, mode, low), op, inputs, attrs,
        [out_type] + ([] if out_type == 'float' else ['float', 'float']))


for end, out_type, requested in (('', 'qint32', False), ('AndRelu', 'qint32', False),
                                 ('AndRequantize', 'quint8', True),
                                 ('AndReluAndRequantize', 'quint8', True),
                                 ('AndDequantize', 'float', True)):
  for bias_type in ('float', 'qint32') if end != 'AndRelu' else ('float',):
    for mode in ('MIN_FIRST', 'SCALED'):
      for low in (0, -.4, -2):
        matmul('QuantizedMatMulWithBias' + end, out_type, bias_type, mode, low, requested)

ACTIVATIONS = ['Relu', 'Relu6', 'Elu', 'LeakyRelu', 'Tanh', 'Sigmoid', 'GeluExact',
               'GeluApproximate']


def listed_matmul(ops, a_type, bias_type, out_type, mode='SCALED', out_mode='SCALED', vector=False,
                  transposes=False):
  rows, depth, columns = RANDOM.randint(1, 9), RANDOM.randint(1, 60), RANDOM.randint(1, 40)
  b = integers('qint8', depth, columns)
  bias = (integers('qint32', columns) if bias_type == 'qint32'
          else RANDOM.uniform(-3, 3, columns))
  count = columns if vector else None
  low = -.4 if mode == 'MIN_FIRST' else -1 if a_type == 'qint8' else 0
  addend = 'bfloat16' if out_type == 'bfloat16' else 'float'
  inputs = [(a_type, integers(a_type, rows, depth), 'fed'),
            ('qint8', np.ascontiguousarray(b.T) if transposes else b, 'const'),
            (bias_type, bias, 'const')]
  if 'Add' in ops:
    inputs.append((addend, RANDOM.uniform(-3, 3, (rows, columns)), 'fed'))
  inputs += [const(low), const(RANDOM.uniform(.5, 2)), const(-RANDOM.uniform(.1, 1, count)),
             const(RANDOM.uniform(.1, 1, count))]
  if 'Requantize' in ops:
    inputs += [const(-RANDOM.uniform(0, 2)), const(RANDOM.uniform(2, 30))]
  outputs = [out_type] + ([] if out_type in ('float', 'bfloat16') else ['float', 'float'])
  attrs = dict(T1=a_type, T2='qint8', Tbias=bias_type, U=addend, Tout=out_type, fused_ops=ops,
               input_quant_mode=mode, output_quant_mode=out_mode, transpose_b=transposes,
               Tdevice_inputs=[i[0] for i in inputs], Thost_inputs=[], Tdevice_outputs=outputs,
               Thost_outputs=[])
  exact = not set(ops) & set(ACTIVATIONS[2:])
  narrow = 4e-3 if out_type == 'bfloat16' else 2e-5
  check('%s %s' % ([a_type, bias_type, out_type], [mode, out_mode, vector, transposes] + ops),
        '_QuantizedMatMul', inputs, attrs, outputs, 0 if exact else 1,
        0 if exact and 'Add' not in ops else narrow)


for a_type in ('quint8', 'qint8'):
  for bias_type in ('float', 'bfloat16', 'qint32'):
    for mode in ('SCALED', 'MIN_FIRST'):
      # TensorFlow writes beyond its arrays (bfloat16, MIN_FIRST), or scales the bias the wrong way
      # round (qint32, SCALED); qint8 has no minimum that could come first.
      if (bias_type, mode) in (('bfloat16', 'MIN_FIRST'), ('qint32', 'SCALED')):
        continue
      if (a_type, mode) == ('qint8', 'MIN_FIRST'):
        continue
      for vector in (False, True):
        for ops in ([], ['Relu']):
          listed_matmul(['BiasAdd'] + ops, a_type, bias_type, 'qint32', mode, vector=vector)
        for out_type in ('float', 'bfloat16'):
          listed_matmul(['BiasAdd', 'Dequantize'], a_type, bias_type, out_type, mode, vector=vector)
          listed_matmul(['BiasAdd', 'Add', 'Dequantize'], a_type, bias_type, out_type, mode,
                        vector=vector)
        for out_type, out_mode in (('quint8', 'SCALED'), ('quint8', 'MIN_FIRST'),
                                   ('qint8', 'SCALED')):
          listed_matmul(['BiasAdd', 'Requantize'], a_type, bias_type, out_type, mode, out_mode,
                        vector)
for activation in ACTIVATIONS:
  listed_matmul(['BiasAdd', activation, 'Dequantize'], 'quint8', 'float', 'float')
  listed_matmul(['BiasAdd', activation, 'Requantize'], 'quint8', 'float', 'quint8')
  listed_matmul(['BiasAdd', activation, 'Requantize'], 'quint8', 'float', 'qint8', 'MIN_FIRST')
listed_matmul(['BiasAdd', 'Requantize'], 'quint8', 'float', 'quint8', transposes=True)
for ops in ([], ['Relu'], ['BiasAdd', 'Relu6'], ['BiasAdd', 'Add'], ['BiasAdd', 'Softplus']):
  listed_matmul(ops, 'quint8', 'float', 'qint32')
listed_matmul(['BiasAdd'], 'quint8', 'float', 'float')


# ---- Pools and concatenations -------------------------------------------------------------------
for dtype in ('quint8', 'qint8'):
  for padding in ('SAME', 'VALID'):
    volume = integers(dtype, 2, 5, 6, 7, 3)
    check('%s %s' % (dtype, padding), '_QuantizedMaxPool3D',
          [(dtype, volume, 'fed'), const(-1.5), const(2)],
          dict(T=dtype, ksize=[1, 2, 3, 2, 1], strides=[1, 2, 1, 2, 1], padding=padding),
          [dtype, 'float', 'float'])
  for axis in (0, 1, -1):
    for ranges in (((0, 1), (0, 1), (0, 1)), ((0, 1), (0, 2), (-1, 3)), ((-1, 1),) * 3,
                   ((1, 1), (1, 2), (0, 2)), ((0, 0),) * 3, ((-3, .2), (-.1, .3), (0, 0))):
      values = [(dtype, integers(dtype, 3, 4, 5), 'fed') for _ in ranges]
      check('%s %d %s' % (dtype, axis, ranges), 'QuantizedConcatV2',
            values + [('int32', axis, 'const')] + [const(low) for low, _ in ranges] +
            [const(high) for _, high in ranges],
            dict(T=dtype, N=len(ranges), Tidx='int32'), [dtype, 'float', 'float'])
