"""More operations of random graphs, as in random_graph_ops.py: products and neural nets, matrices,
strings, random numbers, and what keeps a state."""
import math

from random_graph import EXACT, FLOATS, Info, Unfit, as_type, as_types, rounded, same_info, widest
from random_graph_ops import LARGE_TYPES, add_of, exactly, operation, product_rule


# ---- Products and nets -------------------------------------------------------------------------
@operation(weight=3)
def matrix_product(s):
  op = s.random.choice(['MatMul', 'MatMul', 'BatchMatMulV2', 'Einsum'])
  x = s.choose(LARGE_TYPES + ('half',) if op == 'MatMul' else LARGE_TYPES,
               rank=2 if op == 'MatMul' else (3,))
  rows, inner = x.shape[-2:]
  columns = s.random.randint(1, 4)
  if op == 'Einsum':
    y = s.like(x.dtype, [inner, columns])
    return s.emit(op, [[x, y]], [x.shape[:-1] + (columns,)], product_rule(x.dtype, inner),
                  equation='abc,cd->abd')
  turned, other = s.random.random() < 0.3, s.random.random() < 0.3
  if turned:
    rows, inner = inner, rows
  shape = (columns, inner) if other else (inner, columns)
  y = s.like(x.dtype, x.shape[:-2] + shape)
  names = ('transpose_a', 'transpose_b') if op == 'MatMul' else ('adj_x', 'adj_y')
  return s.emit(op, [x, y], [x.shape[:-2] + (rows, columns)], product_rule(x.dtype, inner),
                **dict(zip(names, (turned, other))))


def windowed(size, window, stride, padding):
  if padding == 'SAME':
    return -(-size // stride)
  if size < window:
    raise Unfit
  return (size - window) // stride + 1


@operation(weight=2)
def convolution(s):
  op = s.random.choice(['Conv2D', 'DepthwiseConv2dNative'])
  x = s.choose(LARGE_TYPES, rank=4)
  height, width = s.random.randint(1, 3), s.random.randint(1, 3)
  stride, padding = s.random.randint(1, 2), s.random.choice(['SAME', 'VALID'])
  depth, outputs = x.shape[3], s.random.randint(1, 3)
  y = s.like(x.dtype, [height, width, depth, outputs])
  channels, products = (outputs, depth) if op == 'Conv2D' else (outputs * depth, 1)
  shape = [x.shape[0], windowed(x.shape[1], height, stride, padding),
           windowed(x.shape[2], width, stride, padding), channels]
  return s.emit(op, [x, y], [shape], product_rule(x.dtype, height * width * products),
                strides=[1, stride, stride, 1], padding=padding)


@operation(weight=2)
def pooling(s):
  op = s.random.choice(['MaxPool', 'AvgPool'])
  x = s.choose('float', rank=4)
  stride, padding = s.random.randint(1, 2), s.random.choice(['SAME', 'VALID'])
  window = s.random.randint(stride, 3)  # a window that leaves gaps is TensorFlow's own trouble
  shape = [x.shape[0]] + [windowed(d, window, stride, padding) for d in x.shape[1:3]] + [x.shape[3]]
  rule = same_info if op == 'MaxPool' else lambda i: rounded(x.dtype, i.bound, i.error, ulps=16)
  return s.emit(op, [x], [shape], rule, ksize=[1, window, window, 1],
                strides=[1, stride, stride, 1], padding=padding)


@operation(weight=2)
def normalized(s):
  op = s.random.choice(['Softmax', 'LogSoftmax', 'L2Loss', 'BiasAdd'])
  ranks = {'BiasAdd': (2, 3, 4), 'L2Loss': None}.get(op, (1, 2))
  x = s.choose(LARGE_TYPES, rank=ranks)
  count = math.prod(x.shape)
  if op == 'BiasAdd':
    bias = s.like(x.dtype, x.shape[-1:])
    return s.emit(op, [x, bias], [x.shape], lambda a, b: rounded(
        x.dtype, a.bound + b.bound, a.error + b.error))
  if op == 'L2Loss':
    return s.emit(op, [x], [()], lambda i: rounded(
        x.dtype, count * i.bound**2 / 2, count * i.bound * i.error, ulps=4 + count))
  return s.emit(op, [x], [x.shape], lambda i: rounded(
      x.dtype, 1 if op == 'Softmax' else 2 * i.bound + 5, 2 * i.error, ulps=16 + 2 * int(i.bound)))


@operation()
def cross_entropy(s):
  x = s.choose(LARGE_TYPES, rank=2)
  sparse = s.random.random() < 0.5
  rows, classes = x.shape
  labels = (s.constant('int32', [s.random.randrange(classes) for _ in range(rows)]) if sparse
            else s.constant(x.dtype, [1 / classes] * (rows * classes), x.shape))
  op = ('Sparse' if sparse else '') + 'SoftmaxCrossEntropyWithLogits'
  def rule(i, _):
    loss = rounded(x.dtype, 2 * i.bound + 5, 2 * i.error, ulps=32)
    return [loss, rounded(x.dtype, 2, 2 * i.error, ulps=32 + 4 * int(i.bound))]
  return s.emit(op, [x, labels], [(rows,), x.shape], rule)


@operation()
def batch_norm(s):
  x = s.choose('float', rank=4)
  channels = x.shape[3]
  scale, offset, mean = (s.like('float', [channels]) for _ in range(3))
  variance = s.constant('float', [1.25] * channels)
  outputs = s.raw('FusedBatchNormV3', [x, scale, offset, mean, variance], [x.shape],
                  is_training=False, epsilon=0.001)[:1]
  def rule(i, a, b, m):
    error = (i.error + m.error) * a.bound + a.error * (i.bound + m.bound) + b.error
    return rounded('float', (i.bound + m.bound) * a.bound + b.bound, error, ulps=16)
  s.record([x, scale, offset, mean], outputs, rule)
  return outputs


@operation()
def gradient_ops(s):
  """Ops that gradients are made of: of a value and a gradient of its shape."""
  op = s.random.choice(['ReluGrad', 'Relu6Grad', 'TanhGrad', 'SigmoidGrad', 'SoftplusGrad'])
  jumps = op.startswith('Relu')
  x = s.choose('float', exact=jumps)
  g = s.like('float', x.shape)
  if jumps:
    return s.emit(op, [g, x], [x.shape], lambda a, b: exactly(b) and a)
  if op == 'SoftplusGrad':
    return s.emit(op, [g, x], [x.shape], lambda a, b: rounded(
        'float', a.bound, a.error + a.bound * b.error))
  y = s.emit('Tanh', [x], [x.shape], lambda i: rounded('float', 1, i.error))[0]
  return s.emit(op, [y, g], [x.shape], lambda a, b: rounded(
      'float', 2 * b.bound, 2 * b.error + 3 * b.bound * a.error))


@operation()
def top_k(s):
  x = s.choose(LARGE_TYPES + ('int32',), rank=(1, 2), exact=True)
  k = s.random.randint(1, x.shape[-1])
  shape = x.shape[:-1] + (k,)
  return s.emit('TopKV2', [x, s.constant('int32', k)], [shape, shape],
                lambda i, _: [exactly(i), Info(x.shape[-1], 0.0, 0)])


@operation()
def image(s):
  op = s.random.choice(['ResizeBilinear', 'ResizeNearestNeighbor', 'SpaceToDepth', 'DepthToSpace'])
  x = s.choose('float', rank=4)
  if op.startswith('Resize'):
    size = [s.random.randint(1, 4), s.random.randint(1, 4)]
    rule = (lambda i, _: i) if 'Nearest' in op else lambda i, _: rounded(
        'float', i.bound, i.error, ulps=64)
    return s.emit(op, [x, s.constant('int32', size)], [x.shape[:1] + tuple(size) + x.shape[3:]],
                  rule)
  n, h, w, d = x.shape
  if (h % 2 or w % 2) if op == 'SpaceToDepth' else d % 4:
    raise Unfit
  shape = (n, h // 2, w // 2, d * 4) if op == 'SpaceToDepth' else (n, h * 2, w * 2, d // 4)
  return s.emit(op, [x], [shape], same_info, block_size=2)


# ---- Matrices ----------------------------------------------------------------------------------
def well_conditioned(s, x):
  """2 I + sin(x) / n of a square matrix: its inverse is below 1."""
  n = x.shape[-1]
  part = s.emit('Sin', [x], [x.shape], lambda i: rounded(x.dtype, 1, i.error))[0]
  small = s.emit('Mul', [part, s.constant(x.dtype, 2.0**-n)], [x.shape], product_rule(x.dtype))[0]
  eye = s.constant(x.dtype, [2.0 * (i // n == i % n) for i in range(n * n)], [n, n])
  return add_of(s, small, eye)[0]


@operation(weight=2)
def linear_algebra(s):
  op = s.random.choice(['MatrixInverse', 'MatrixDeterminant', 'MatrixSolve',
                        'MatrixTriangularSolve', 'Cholesky', 'MatrixSolveLs'])
  x = s.choose(LARGE_TYPES, rank=(2, 3), fits=lambda v: 0 < v.shape[-1] == v.shape[-2])
  n, a = x.shape[-1], well_conditioned(s, x)
  exact_input = lambda scale: lambda i, *_: rounded(x.dtype, scale, scale * n * i.error, ulps=64)
  if op == 'MatrixInverse':
    return s.emit(op, [a], [a.shape], exact_input(2.0))
  if op == 'MatrixDeterminant':
    return s.emit(op, [a], [a.shape[:-2]], exact_input(3.0**n))
  if op == 'Cholesky':
    turned = s.raw('Transpose', [a, s.constant('int32', list(range(len(a.shape) - 2)) + [
        len(a.shape) - 1, len(a.shape) - 2])], [a.shape])[0]
    symmetric = s.raw('AddV2', [a, turned], [a.shape])[0]
    outputs = s.raw(op, [symmetric], [a.shape])
    s.record([a], outputs, exact_input(4.0))
    return outputs
  b = s.like(x.dtype, x.shape[:-2] + (n, s.random.randint(1, 2)))
  inputs = [a, b] + ([s.constant('double', 0.0)] if op == 'MatrixSolveLs' else [])
  return s.emit(op, inputs, [b.shape], lambda i, j, *_: rounded(
      x.dtype, 4 * n * j.bound, 4 * n * (j.error + n * j.bound * i.error), ulps=256))


@operation()
def fourier(s):
  x = s.choose('float', rank=(1, 2))
  count = x.shape[-1]
  z = s.raw('Complex', [x, s.like('float', x.shape)], [x.shape])
  z = s.raw(s.random.choice(['FFT', 'IFFT']), z, [x.shape])
  outputs = s.raw(s.random.choice(['Real', 'Imag']), z, [x.shape])
  s.record([x], outputs, lambda i: rounded('float', count * (i.bound + 1000), count * i.error,
                                           ulps=16))
  return outputs


# ---- Strings -----------------------------------------------------------------------------------
@operation(weight=4)
def string(s):
  op = s.random.choice(['StringJoin', 'StringUpper', 'StringLower', 'StringLength', 'Substr',
                        'RegexReplace', 'StringStrip', 'AsString', 'StringToHashBucketFast',
                        'EncodeBase64', 'ReduceJoin', 'RegexFullMatch', 'StringToNumber'])
  if op in ('AsString', 'StringToNumber'):
    x = s.choose(('int32', 'int64', 'int8', 'bool') if op == 'AsString' else ('int32',))
    text = s.emit('AsString', [x], [x.shape], lambda _: EXACT)
    if op == 'AsString':
      return text
    return s.emit(op, text, [x.shape], lambda _: Info(2.0**63, 0.0, 0), out_type=as_type('int64'))
  x = s.choose('string')
  exact = lambda *_: EXACT
  if op == 'StringJoin':
    return s.emit(op, [[x, s.like('string', x.shape)]], [x.shape], exact, separator='-')
  if op == 'Substr':
    return s.emit(op, [x, s.constant('int32', 0), s.constant('int32', s.random.randint(0, 4))],
                  [x.shape], exact)
  if op == 'RegexReplace':
    pattern, rewrite = s.random.choice([('[a-f]+', 'X'), ('(.)o', r'\1\1'), (r'\d', ''),
                                        ('^', '<')])
    return s.emit(op, [x, s.constant('string', pattern), s.constant('string', rewrite)], [x.shape],
                  exact, replace_global=s.random.random() < 0.5)
  if op == 'RegexFullMatch':
    return s.emit(op, [x, s.constant('string', '[a-zA-Z ]*')], [x.shape], exact)
  if op == 'StringToHashBucketFast':
    return s.emit(op, [x], [x.shape], lambda _: Info(7.0, 0.0, 0), num_buckets=7)
  if op == 'ReduceJoin':
    return s.emit(op, [x, s.constant('int32', list(range(len(x.shape))), [len(x.shape)])], [()],
                  exact, separator=',')
  return s.emit(op, [x], [x.shape], lambda _: Info(2.0**31, 0.0, 0))


@operation()
def split_strings(s):
  x = s.choose('string', rank=1)
  _, values, shape = s.raw('StringSplitV2', [x, s.constant('string', ' ')], [(), (), (2,)])
  s.record([x], [shape], lambda _: Info(2.0**31, 0.0, 0))
  return s.emit('ReduceJoin', [values, s.constant('int32', 0)], [()], lambda *_: EXACT,
                separator='|')


# ---- Random numbers from a seed ----------------------------------------------------------------
@operation()
def random_numbers(s):
  op = s.random.choice(['StatelessRandomUniform', 'StatelessRandomNormal',
                        'StatelessTruncatedNormal', 'StatelessRandomUniformInt'])
  shape = [s.random.randint(1, 4) for _ in range(s.random.randint(0, 2))]
  seed = s.constant('int32', [s.random.randint(0, 99), s.random.randint(0, 99)])
  inputs = [s.constant('int32', shape, [len(shape)]), seed]
  if op.endswith('Int'):
    return s.emit(op, inputs + [s.constant('int32', -4), s.constant('int32', 9)], [shape],
                  lambda *_: Info(9.0, 0.0, 0))
  dtype = s.random.choice(LARGE_TYPES)
  return s.emit(op, inputs, [shape], lambda *_: rounded(dtype, 8, 0, ulps=16),
                dtype=as_type(dtype))


# ---- State: at the top of a graph only, one node waiting for the other -------------------------
@operation(anywhere=False, weight=2)
def variable(s):
  x = s.choose(('float', 'double', 'int32', 'int64'))
  op = s.random.choice(['Assign', 'AssignAdd', 'AssignSub'])
  delta = s.like(x.dtype, x.shape)
  steps = lambda a, b: None if a.step is None or b.step is None else max(a.step, b.step)
  def rule(a, b):
    return b if op == 'Assign' else rounded(x.dtype, a.bound + b.bound, a.error + b.error,
                                            steps(a, b))
  name = s.name('shared')
  if s.random.random() < 0.5:
    place = s.raw('VariableV2', [], [x.shape], dtype=as_type(x.dtype), shape=x.shape,
                  shared_name=name)[0]
    first = s.raw('Assign', [place, x], [x.shape])[0]
    outputs = s.raw(op, [place, delta], [x.shape], controls=[first.node])
    outputs = s.raw('Identity', outputs, [x.shape])
  else:
    place = s.raw('VarHandleOp', [], dtype=as_type(x.dtype), shape=x.shape, shared_name=name)[0]
    first = s.raw('AssignVariableOp', [place, x])
    first, count = s.nodes[-1].name, len(s.nodes)
    s.raw(op + 'VariableOp', [place, delta], controls=[first])
    outputs = s.raw('ReadVariableOp', [place], [x.shape], controls=[s.nodes[count].name],
                    dtype=as_type(x.dtype))
  s.record([x, delta], outputs, rule)
  return outputs


@operation(anywhere=False)
def queue(s):
  x, y = s.choose(LARGE_TYPES + ('int32', 'string')), s.choose(LARGE_TYPES + ('int32',))
  types = as_types([x, y])
  place = s.raw('FIFOQueueV2', [], component_types=types, capacity=3, shared_name=s.name('shared'))
  s.raw('QueueEnqueueV2', [place[0], [x, y]])
  outputs = s.raw('QueueDequeueV2', place, [x.shape, y.shape], controls=[s.nodes[-1].name],
                  component_types=types)
  s.record([x, y], outputs, lambda a, b: [a, b])
  return outputs


@operation(anywhere=False)
def tensor_array(s):
  x = s.choose(LARGE_TYPES + ('int32',), rank=(0, 1, 2))
  y = s.like(x.dtype, x.shape)
  handle, flow = s.raw('TensorArrayV3', [s.constant('int32', 2)], dtype=as_type(x.dtype))
  order = [(x, 0), (y, 1)]
  s.random.shuffle(order)
  for value, place in order:
    flow = s.raw('TensorArrayWriteV3', [handle, s.constant('int32', place), value, flow])[0]
  inputs = [handle, s.constant('int32', [1, 0]), flow]
  outputs = s.raw('TensorArrayGatherV3', inputs, [(2,) + x.shape], dtype=as_type(x.dtype))
  s.record([x, y], outputs, widest)
  return outputs


@operation()
def tensor_list(s):
  x = s.choose(LARGE_TYPES + ('int32',), rank=(1, 2))
  shape = s.constant('int32', x.shape[1:], [len(x.shape) - 1])
  items = s.raw('TensorListFromTensor', [x, shape])[0]
  row = s.like(x.dtype, x.shape[1:])
  items = s.raw('TensorListSetItem', [items, s.constant('int32', 0), row])[0]
  outputs = s.raw('TensorListStack', [items, shape], [x.shape], element_dtype=as_type(x.dtype))
  s.record([x, row], outputs, widest)
  return outputs


@operation(weight=2)
def sparse(s):
  x = s.choose(LARGE_TYPES, rank=2)
  rows = s.random.randint(1, 3)
  places = [(r, c) for r in range(rows) for c in range(x.shape[0])]
  where = sorted(s.random.sample(places, s.random.randint(0, len(places))))
  indices = s.constant('int64', [list(p) for p in where], [len(where), 2])
  values, shape = s.like(x.dtype, [len(where)]), s.constant('int64', [rows, x.shape[0]])
  op = s.random.choice(['SparseTensorDenseMatMul', 'SparseToDense', 'SparseReduceSum'])
  if op == 'SparseTensorDenseMatMul':
    rule = product_rule(x.dtype, max(len(where), 1))
    return s.emit(op, [indices, values, shape, x], [(rows, x.shape[1])],
                  lambda _, v, __, i: rule(v, i))
  if op == 'SparseToDense':
    zero = s.constant(x.dtype, 0.25)
    return s.emit(op, [indices, shape, values, zero], [(rows, x.shape[0])],
                  lambda _, __, v, z: widest(v, z))
  return s.emit(op, [indices, values, shape, s.constant('int32', [1])], [(rows,)],
                lambda _, v, *__: rounded(x.dtype, len(where) * v.bound, len(where) * v.error))
