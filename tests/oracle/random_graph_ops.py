"""The operations of random graphs: each function below adds one operation, or the few that belong
together, to a Scope of random_graph.py, and says by a rule how exact the results are."""
import math

import numpy as np

from random_graph import (ELEMENTS, EXACT, FLOATS, INTEGERS, MANTISSA, Info, Unfit, as_type,
                          rounded, same_info, widest)

OPERATIONS = []  # (function, whether it may stand in a branch, a loop's body or a function)
ANY = FLOATS + INTEGERS + ('bool', 'string')
NUMBERS = FLOATS + INTEGERS


def operation(anywhere=True, weight=1):
  def add(function):
    OPERATIONS.extend([(function, anywhere)] * weight)
    return function
  return add


# ---- Element by element ------------------------------------------------------------------------
ONE = lambda bound: 1.0
# op: (the greatest slope where |x| <= bound, the bound of the result)
SMOOTH = {
    'Tanh': (ONE, ONE), 'Sigmoid': (ONE, ONE), 'Sin': (ONE, ONE), 'Cos': (ONE, ONE),
    'Softsign': (ONE, ONE), 'Atan': (ONE, lambda b: 1.6), 'Asinh': (ONE, lambda b: b),
    'Softplus': (ONE, lambda b: b + 0.7), 'Elu': (ONE, lambda b: max(b, 1)),
    'Selu': (lambda b: 1.76, lambda b: 1.76 * max(b, 1)), 'Erf': (lambda b: 1.13, ONE),
    'Erfc': (lambda b: 1.13, lambda b: 2.0), 'Exp': (math.exp, math.exp),
    'Expm1': (math.exp, math.exp), 'Sinh': (math.cosh, math.cosh), 'Cosh': (math.cosh, math.cosh),
    'BesselI0e': (ONE, ONE), 'BesselI1e': (ONE, ONE), 'Square': (lambda b: 2 * b, lambda b: b * b)}
LARGE_TYPES = ('float', 'double')
ONLY_LARGE = ('BesselI0e', 'BesselI1e')


@operation(weight=4)
def smooth(s):
  op = s.random.choice(sorted(SMOOTH))
  slope, result = SMOOTH[op]
  x = s.choose(LARGE_TYPES if op in ONLY_LARGE else FLOATS)
  def rule(i):
    if i.bound > 6 and op in ('Exp', 'Expm1', 'Sinh', 'Cosh'):
      raise Unfit
    step = 2 * i.step if op == 'Square' and i.step is not None else None
    return rounded(x.dtype, result(i.bound), slope(i.bound) * i.error, step)
  return s.emit(op, [x], [x.shape], rule)


# op: (slope, bound of the result) for arguments of at least 1/2
ABOVE_HALF = {
    'Log': (lambda b: 2, lambda b: 1 + math.log(b + 1)), 'Sqrt': (ONE, lambda b: b + 1),
    'Rsqrt': (lambda b: 1.5, lambda b: 1.5), 'Reciprocal': (lambda b: 4, lambda b: 2),
    'Inv': (lambda b: 4, lambda b: 2), 'Log1p': (ONE, lambda b: 1 + math.log(b + 1)),
    'Lgamma': (lambda b: 5 + math.log(b + 1), lambda b: 2 + b * math.log(b + 1)),
    'Digamma': (lambda b: 6, lambda b: 3 + math.log(b + 1))}


def at_least_half(s, x):
  """1/2 + x*x"""
  square = s.emit('Square', [x], [x.shape], lambda i: rounded(
      x.dtype, i.bound**2, 2 * i.bound * i.error, i.step and 2 * i.step))
  half = s.constant(x.dtype, 0.5)
  return add_of(s, square[0], half)[0]


@operation(weight=2)
def above_half(s):
  op = s.random.choice(sorted(ABOVE_HALF))
  slope, result = ABOVE_HALF[op]
  x = at_least_half(s, s.choose(LARGE_TYPES))
  return s.emit(op, [x], [x.shape], lambda i: rounded(
      x.dtype, result(i.bound), slope(i.bound) * i.error, ulps=16))


@operation()
def quotient(s):
  x = s.choose(LARGE_TYPES)
  y = at_least_half(s, s.like(x.dtype, x.shape))
  return s.emit(s.random.choice(['RealDiv', 'Div', 'DivNoNan']), [x, y], [x.shape], lambda a, b:
                rounded(x.dtype, 2 * a.bound, 2 * a.error + 4 * a.bound * b.error))


PIECEWISE = {'Neg': 1, 'Abs': 1, 'Relu': 1, 'Relu6': 1, 'Identity': 1, 'ZerosLike': 0,
             'OnesLike': 0, 'StopGradient': 1, 'Snapshot': 1, 'PreventGradient': 1}


@operation(weight=3)
def piecewise_linear(s):
  op = s.random.choice(sorted(PIECEWISE))
  signed = [d for d in NUMBERS if d != 'uint8']
  x = s.choose(FLOATS if op in ('Relu', 'Relu6') else signed)
  return s.emit(op, [x], [x.shape], lambda i: Info(max(i.bound, 1), i.error, i.step))


@operation(weight=2)
def jump(s):
  op = s.random.choice(['Floor', 'Ceil', 'Rint', 'Round', 'Sign'])
  x = s.choose(LARGE_TYPES if op == 'Rint' else FLOATS, exact=True)
  return s.emit(op, [x], [x.shape], lambda i: exactly(Info(i.bound + 1, i.error, 0)))


def exactly(info):
  if info.error:
    raise Unfit
  return info


def broadcast_pair(s, dtypes):
  """Two values that broadcast, in any order; and the shape of the result."""
  x = s.choose(dtypes)
  shape = list(x.shape[s.random.randint(0, len(x.shape)):] if s.random.random() < 0.4 else x.shape)
  shape = [1 if s.random.random() < 0.15 else size for size in shape]
  y = s.like(x.dtype, shape)
  return ([x, y] if s.random.random() < 0.7 else [y, x]), x.shape


def sum_rule(dtype):
  def rule(a, b):
    step = None if a.step is None or b.step is None else max(a.step, b.step)
    return rounded(dtype, a.bound + b.bound, a.error + b.error, step)
  return rule


def product_rule(dtype, times=1, square=False):
  """Of a sum of |times| products."""
  def rule(a, b):
    step = None if a.step is None or b.step is None else a.step + b.step
    return rounded(dtype, times * a.bound * b.bound,
                   times * (a.bound * b.error + b.bound * a.error), step, 4 + times)
  return rule


def add_of(s, x, y, op='AddV2'):
  shape = np.broadcast_shapes(x.shape, y.shape)
  return s.emit(op, [x, y], [shape], sum_rule(x.dtype))


@operation(weight=5)
def arithmetic(s):
  op = s.random.choice(['AddV2', 'Add', 'Sub', 'Mul', 'Mul', 'Maximum', 'Minimum',
                        'SquaredDifference'])
  pair, shape = broadcast_pair(s, FLOATS + ('int32', 'int64'))
  dtype = pair[0].dtype
  rule = {'Mul': product_rule(dtype), 'Maximum': widest, 'Minimum': widest,
          'SquaredDifference': lambda a, b: product_rule(dtype)(*[sum_rule(dtype)(a, b)] * 2)}
  return s.emit(op, pair, [shape], rule.get(op) or sum_rule(dtype))


@operation()
def sum_of_many(s):
  x = s.choose(FLOATS + ('int32', 'int64'))
  values = [x] + [s.like(x.dtype, x.shape) for _ in range(s.random.randint(1, 3))]
  def rule(*infos):
    steps = [i.step for i in infos]
    return rounded(x.dtype, sum(i.bound for i in infos), sum(i.error for i in infos),
                   None if None in steps else max(steps))
  return s.emit('AddN', [values], [x.shape], rule)


@operation(weight=2)
def whole_division(s):
  op = s.random.choice(['FloorDiv', 'FloorMod', 'Mod', 'TruncateDiv', 'TruncateMod', 'Div'])
  if op == 'Mod':
    x = s.choose(('int32', 'int64'))
  else:
    x = s.choose(('int32', 'int64', 'uint8', 'int16', 'int8'))
  divisors = [2, 3, 5, 7] + ([] if x.dtype == 'uint8' else [-1, -3, -4])
  shape = x.shape if s.random.random() < 0.5 else ()
  y = s.constant(x.dtype, [s.random.choice(divisors) for _ in range(math.prod(shape))], shape,
                 s.is_top)
  return s.emit(op, [x, y], [x.shape], lambda a, b: Info(max(a.bound, 7), 0.0, 0))


@operation(weight=2)
def bitwise(s):
  op = s.random.choice(['BitwiseAnd', 'BitwiseOr', 'BitwiseXor', 'Invert', 'LeftShift',
                        'RightShift', 'PopulationCount'])
  x = s.choose(INTEGERS)
  rule = lambda *_: Info(2.0**63, 0.0, 0)
  if op in ('Invert', 'PopulationCount'):
    return s.emit(op, [x], [x.shape], rule)
  y = s.constant(x.dtype, s.random.randint(0, 4)) if 'Shift' in op else s.like(x.dtype, x.shape)
  return s.emit(op, [x, y], [x.shape], rule)


@operation(weight=2)
def comparison(s):
  op = s.random.choice(['Less', 'LessEqual', 'Greater', 'GreaterEqual', 'Equal', 'NotEqual'])
  x = s.choose(NUMBERS, exact=True)
  y = s.fresh(x.dtype, x.shape if s.random.random() < 0.5 else ())
  return s.emit(op, [x, y], [x.shape], lambda a, b: exactly(widest(a, b)) and EXACT)


@operation()
def logic(s):
  op = s.random.choice(['LogicalAnd', 'LogicalOr', 'LogicalNot'])
  x = s.choose('bool')
  inputs = [x] if op == 'LogicalNot' else [x, s.like('bool', x.shape)]
  return s.emit(op, inputs, [x.shape], lambda *_: EXACT)


@operation(weight=2)
def selection(s):
  x = s.choose(ANY)
  y, op = s.like(x.dtype, x.shape), s.random.choice(['Select', 'SelectV2'])
  return s.emit(op, [s.like('bool', x.shape), x, y], [x.shape], lambda c, a, b: widest(a, b))


@operation(weight=2)
def cast(s):
  x = s.choose(NUMBERS + ('bool',))
  targets = ('float', 'double', 'int64') if x.dtype == 'int32' else FLOATS
  dtype = s.random.choice(targets if x.dtype in INTEGERS + ('bool',) else FLOATS + ('int32',
                                                                                     'int64'))
  def rule(i):
    if dtype in INTEGERS:
      return Info(exactly(i).bound, 0.0, 0)
    return rounded(dtype, i.bound or 1, i.error, i.step)
  return s.emit('Cast', [x], [x.shape], rule, DstT=as_type(dtype))


@operation()
def clipped(s):
  x = s.choose(FLOATS)
  low, high = s.constant(x.dtype, -1.5), s.constant(x.dtype, 2.25)
  return s.emit('ClipByValue', [x, low, high], [x.shape], widest)


# ---- Reductions --------------------------------------------------------------------------------
def some_axes(s, x):
  """-> the axes of a reduction and its shapes without them and with ones in their places."""
  axes = [a for a in range(len(x.shape)) if s.random.random() < 0.5]
  kept = s.random.random() < 0.3
  shape = [1 if a in axes else d for a, d in enumerate(x.shape) if kept or a not in axes]
  written = [a - len(x.shape) if s.random.random() < 0.3 else a for a in axes]
  return written, kept, shape, math.prod(x.shape[a] for a in axes)


@operation(weight=4)
def reduction(s):
  op = s.random.choice(['Sum', 'Mean', 'Max', 'Min', 'All', 'Any', 'Prod', 'EuclideanNorm'])
  types = {'All': 'bool', 'Any': 'bool', 'Prod': ('int32', 'int64'),
           'EuclideanNorm': LARGE_TYPES}.get(op) or FLOATS + ('int32', 'int64')
  x = s.choose(('float', 'double') if op == 'Mean' else types)
  axes, kept, shape, count = some_axes(s, x)
  if count == 0 and op in ('Max', 'Min', 'Mean'):
    raise Unfit  # infinities, and no number
  def rule(i, _):
    if op == 'Sum':
      return rounded(x.dtype, count * i.bound, count * i.error, i.step, 4 + count)
    if op == 'EuclideanNorm':  # whose slope is 1, but whose rounding is relative to a square
      return rounded(x.dtype, count * i.bound + 1, count * i.error, ulps=64)
    if op == 'Mean':
      return rounded(x.dtype, i.bound, i.error, ulps=4 + count)
    return i if x.dtype in MANTISSA else Info(2.0**63, 0.0, 0)
  kind = s.random.choice(['int32', 'int64'])
  return s.emit(op, [x, s.constant(kind, axes, [len(axes)])], [shape], rule, keep_dims=kept)


@operation()
def position(s):
  x = s.choose(NUMBERS, rank=(1, 2, 3, 4), exact=True)
  axis = s.random.randrange(len(x.shape))
  return s.emit(s.random.choice(['ArgMax', 'ArgMin']), [x, s.constant('int32', axis)],
                [x.shape[:axis] + x.shape[axis + 1:]], lambda i, _: exactly(i) and Info(
                    x.shape[axis], 0.0, 0))


@operation()
def running(s):
  op = s.random.choice(['Cumsum', 'Cumprod'])
  x = s.choose(FLOATS + ('int32', 'int64') if op == 'Cumsum' else ('int32', 'int64'),
               rank=(1, 2, 3))
  axis = s.random.randrange(len(x.shape))
  count = x.shape[axis]
  return s.emit(op, [x, s.constant('int32', axis)], [x.shape], lambda i, _: rounded(
      x.dtype, 2.0**63 if op == 'Cumprod' else count * i.bound, count * i.error, i.step,
      4 + count), exclusive=s.random.random() < 0.4, reverse=s.random.random() < 0.4)


@operation(weight=2)
def segments(s):
  op = s.random.choice(['SegmentSum', 'SegmentMax', 'SegmentMin', 'UnsortedSegmentSum',
                        'UnsortedSegmentMax', 'SparseSegmentSum'])
  x = s.choose(('float', 'double') if 'Sparse' in op else ('float', 'double', 'int32', 'int64'),
               rank=(1, 2, 3))
  rows = x.shape[0]
  if op.startswith('Unsorted'):
    ids = [s.random.randint(-1, 2) for _ in range(rows)]
    inputs, count = [x, s.constant('int32', ids), s.constant('int32', 3)], 3
    if 'Max' in op:
      ids[:3] = [0, 1, 2][:rows]
      if rows < 3:
        raise Unfit  # an empty segment holds the lowest number
      inputs[1] = s.constant('int32', ids)
  else:
    ids = sorted(s.random.randint(0, 2) for _ in range(rows))
    count, inputs = ids[-1] + 1, [x, s.constant('int32', ids)]
    if 'Sparse' in op:
      inputs.insert(1, s.constant('int32', [s.random.randrange(rows) for _ in ids]))
  def rule(i, *_):
    if 'Sum' in op:
      return rounded(x.dtype, rows * i.bound, rows * i.error, i.step, 4 + rows)
    return i
  return s.emit(op, inputs, [(count,) + x.shape[1:]], rule)


# ---- Shapes and places -------------------------------------------------------------------------
@operation(weight=3)
def reshaped(s):
  x, op = s.choose(ANY), s.random.choice(['Reshape', 'Reshape', 'ExpandDims', 'Squeeze'])
  if op == 'ExpandDims':
    axis = s.random.randint(0, len(x.shape))
    shape = x.shape[:axis] + (1,) + x.shape[axis:]
    return s.emit(op, [x, s.constant('int32', axis)], [shape], lambda i, _: i)
  if op == 'Squeeze':
    return s.emit(op, [x], [[d for d in x.shape if d != 1]], same_info)
  sizes, count = [], math.prod(x.shape)
  for factor in (2, 3, 2, 5):
    if count % factor == 0 and count and s.random.random() < 0.5:
      sizes.append(factor)
      count //= factor
  sizes.insert(s.random.randint(0, len(sizes)), count)
  shown = list(sizes)
  if s.random.random() < 0.4 and math.prod(sizes):
    shown[s.random.randrange(len(shown))] = -1
  return s.emit(op, [x, s.constant('int32', shown)], [sizes], lambda i, _: i)


@operation(weight=2)
def transposed(s):
  x = s.choose(ANY, rank=(2, 3, 4))
  order = list(range(len(x.shape)))
  s.random.shuffle(order)
  return s.emit('Transpose', [x, s.constant('int32', order)], [[x.shape[a] for a in order]],
                lambda i, _: i)


@operation(weight=2)
def joined(s):
  x = s.choose(ANY, rank=(1, 2, 3))
  axis = s.random.randrange(len(x.shape))
  others = []
  for _ in range(s.random.randint(1, 3)):
    shape = list(x.shape)
    shape[axis] = s.random.randint(1, 3)
    others.append(s.like(x.dtype, shape))
  values = [x] + others
  if s.random.random() < 0.3:
    same = [x, s.like(x.dtype, x.shape)]
    return s.emit('Pack', [same], [x.shape[:axis] + (2,) + x.shape[axis:]], widest, axis=axis)
  shape = list(x.shape)
  shape[axis] = sum(v.shape[axis] for v in values)
  if s.random.random() < 0.3:
    return s.emit('Concat', [s.constant('int32', axis), values], [shape], lambda _, *i: widest(*i))
  return s.emit('ConcatV2', [values, s.constant('int32', axis)], [shape],
                lambda *i: widest(*i[:-1]))


@operation(weight=2)
def parted(s):
  x = s.choose(ANY, rank=(1, 2, 3))
  axis = s.random.randrange(len(x.shape))
  size = x.shape[axis]
  with_axis = lambda n: x.shape[:axis] + (n,) + x.shape[axis + 1:]
  op = s.random.choice(['Unpack', 'Split', 'SplitV'])
  if op == 'Unpack':
    return s.emit(op, [x], [x.shape[:axis] + x.shape[axis + 1:]] * size, same_info, num=size,
                  axis=axis)
  if op == 'Split':
    count = s.random.choice([n for n in range(1, size + 1) if size % n == 0])
    return s.emit(op, [s.constant('int32', axis), x], [with_axis(size // count)] * count,
                  lambda _, i: i, num_split=count)
  first = s.random.randint(0, size)
  sizes = s.constant('int32', [first, size - first])
  return s.emit(op, [x, sizes, s.constant('int32', axis)], [with_axis(first), with_axis(
      size - first)], lambda i, *_: i, num_split=2)


@operation(weight=2)
def sliced(s):
  x = s.choose(ANY, rank=(1, 2, 3, 4))
  begin = [s.random.randrange(d) for d in x.shape]
  if s.random.random() < 0.5:
    sizes = [s.random.randint(1, d - b) for b, d in zip(begin, x.shape)]
    return s.emit('Slice', [x, s.constant('int32', begin), s.constant('int32', sizes)], [sizes],
                  lambda i, *_: i)
  strides = [s.random.choice([1, 1, 2, -1]) for _ in x.shape]
  end = [s.random.randrange(d + 1) for d in x.shape]
  shape = [len(range(d)[b:e:n]) for b, e, n, d in zip(begin, end, strides, x.shape)]
  return s.emit('StridedSlice', [x] + [s.constant('int32', v) for v in (begin, end, strides)],
                [shape], lambda i, *_: i)


@operation(weight=2)
def spread_out(s):
  op = s.random.choice(['Tile', 'Pad', 'PadV2', 'MirrorPad', 'BroadcastTo', 'Fill'])
  if op == 'Fill':
    x, shape = s.choose(ANY, rank=0), [s.random.randint(1, 4), 3]
    return s.emit(op, [s.constant('int32', shape), x], [shape], lambda _, i: i)
  x = s.choose(NUMBERS, rank=(1, 2, 3))
  if op == 'Tile':
    times = [s.random.randint(1, 2) for _ in x.shape]
    return s.emit(op, [x, s.constant('int32', times)], [np.multiply(x.shape, times).tolist()],
                  lambda i, _: i)
  if op == 'BroadcastTo':
    shape = [2] + list(x.shape)
    return s.emit(op, [x, s.constant('int32', shape)], [shape], lambda i, _: i)
  around = [[s.random.randint(0, 1), s.random.randint(0, 1)] for _ in x.shape]
  shape = [d + sum(p) for d, p in zip(x.shape, around)]
  inputs = [x, s.constant('int32', around)]
  if op == 'MirrorPad':
    return s.emit(op, inputs, [shape], lambda i, _: i, mode='SYMMETRIC')
  if op == 'PadV2':
    return s.emit(op, inputs + [s.like(x.dtype, ())], [shape], lambda i, _, v: widest(i, v))
  return s.emit(op, inputs, [shape], lambda i, _: i)


@operation()
def turned(s):
  x = s.choose(NUMBERS, rank=(1, 2, 3))
  axis = s.random.randrange(len(x.shape))
  if s.random.random() < 0.5:
    return s.emit('ReverseV2', [x, s.constant('int32', [axis])], [x.shape], lambda i, _: i)
  return s.emit('Roll', [x, s.constant('int32', [s.random.randint(-3, 3)]),
                         s.constant('int32', [axis])], [x.shape], lambda i, *_: i)


def indices_below(s, limit, shape):
  """Integers in [0, limit): a constant, or what is left of others by a division."""
  if s.random.random() < 0.5:
    count = math.prod(shape)
    return s.constant('int32', [s.random.randrange(limit) for _ in range(count)], shape, s.is_top)
  y = s.constant('int32', limit)
  return s.emit('FloorMod', [s.like('int32', shape), y], [shape], lambda a, b: Info(
      limit, 0.0, 0))[0]


@operation(weight=2)
def gathered(s):
  x = s.choose(ANY, rank=(1, 2, 3))
  op = s.random.choice(['GatherV2', 'Gather', 'GatherNd'])
  if op == 'GatherNd':
    ids = indices_below(s, x.shape[0], [s.random.randint(1, 3), 1])
    return s.emit(op, [x, ids], [ids.shape[:1] + x.shape[1:]], lambda i, _: i)
  axis = 0 if op == 'Gather' else s.random.randrange(len(x.shape))
  ids = indices_below(s, x.shape[axis], [s.random.randint(1, 3)] * s.random.randint(0, 2))
  shape = x.shape[:axis] + ids.shape + x.shape[axis + 1:]
  inputs = [x, ids] + ([s.constant('int32', axis)] if op == 'GatherV2' else [])
  return s.emit(op, inputs, [shape], lambda i, *_: i)


@operation()
def scattered(s):
  op = s.random.choice(['TensorScatterUpdate', 'TensorScatterAdd', 'ScatterNd'])
  x = s.choose(('float', 'double', 'int32', 'int64'), rank=(1, 2))
  ids = s.constant('int32', s.random.sample(range(x.shape[0]), 1), [1, 1])
  update = s.like(x.dtype, (1,) + x.shape[1:])
  if op == 'ScatterNd':
    return s.emit(op, [ids, update, s.constant('int32', x.shape)], [x.shape], lambda _, i, __: i)
  rule = sum_rule(x.dtype) if 'Add' in op else widest
  return s.emit(op, [x, ids, update], [x.shape], lambda a, _, b: rule(a, b))


@operation()
def one_hot(s):
  dtype = s.random.choice(['float', 'double', 'int32'])
  ids = s.choose('int32', rank=(0, 1, 2))
  return s.emit('OneHot', [ids, s.constant('int32', 4), s.like(dtype, ()), s.like(dtype, ())],
                [ids.shape + (4,)], lambda _, __, a, b: widest(a, b))


@operation()
def about_shape(s):
  op = s.random.choice(['Shape', 'Size', 'Rank', 'ShapeN'])
  x = s.choose(ANY)
  if op == 'ShapeN':
    return s.emit(op, [[x, x]], [[len(x.shape)]] * 2, lambda *_: Info(ELEMENTS, 0.0, 0))
  return s.emit(op, [x], [[len(x.shape)] if op == 'Shape' else ()], lambda _: Info(
      ELEMENTS, 0.0, 0))


@operation()
def matrix_part(s):
  op = s.random.choice(['MatrixDiag', 'MatrixDiagPart', 'MatrixBandPart', 'Diag'])
  x = s.choose(LARGE_TYPES + ('int32', 'int64'), rank=(1,) if op == 'Diag' else (1, 2)
               if op == 'MatrixDiag' else (2, 3))
  if op in ('Diag', 'MatrixDiag'):
    return s.emit(op, [x], [x.shape + x.shape[-1:]], same_info)
  if op == 'MatrixDiagPart':
    return s.emit(op, [x], [x.shape[:-2] + (min(x.shape[-2:]),)], same_info)
  return s.emit(op, [x, s.constant('int64', s.random.randint(-1, 2)), s.constant(
      'int64', s.random.randint(-1, 2))], [x.shape], lambda i, *_: i)


@operation()
def counted(s):
  """Ops whose result's shape depends on values: it is taken up by a Sum or a Size."""
  op = s.random.choice(['Where', 'Unique', 'UniqueWithCounts', 'Bincount'])
  one = lambda *_: Info(2.0**31, 0.0, 0)
  if op == 'Where':
    x = s.choose('bool', rank=(1, 2, 3))
    found = s.raw(op, [x])[0]
    return s.emit('Sum', [found, s.constant('int32', [0, 1])], [()], one)
  if op == 'Bincount':
    x = indices_below(s, 5, [4])
    weights = s.like('float', [4])
    return s.emit(op, [x, s.constant('int32', 5), weights], [[5]], lambda _, __, i: rounded(
        'float', 4 * i.bound, 4 * i.error, i.step))
  x = s.choose(('int32', 'int64', 'string'), rank=1)
  values, places, *counts = s.raw(op, [x], [(), x.shape])
  s.record([x], [places], one)
  if x.dtype == 'string':
    return s.emit('Size', [values], [()], one)
  return s.emit('Sum', [values, s.constant('int32', [0])], [()], one)
