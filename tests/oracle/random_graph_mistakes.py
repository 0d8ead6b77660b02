"""Mistakes for random graphs: each function adds one node that cannot run, or not always, to a
graph that is right otherwise. A graph gets one at most, so that there is one status to compare."""
from random_graph import as_type

MISTAKES = []


def mistake(function):
  MISTAKES.append(function)
  return function


def row(s, *values):
  return s.constant('int32', list(values), [len(values)], s.random.random() < 0.5)


@mistake
def index_out_of_range(s):
  x = s.choose(rank=(1, 2, 3))
  op = s.random.choice(['Gather', 'GatherNd', 'Slice', 'ScatterNd', 'Unpack'])
  far = s.random.choice([-1, x.shape[0], 1000, -2**31, 2**31 - 1])
  if op == 'Gather':
    return s.raw(op, [x, row(s, 0, far)])
  if op == 'GatherNd':
    return s.raw(op, [x, row(s, far)])
  if op == 'Slice':
    rank = len(x.shape)
    return s.raw(op, [x, row(s, *[far] * rank), row(s, *[1] * rank)])
  if op == 'ScatterNd':
    where = s.constant('int32', [[far]], [1, 1])
    return s.raw(op, [where, s.like(x.dtype, [1]), row(s, x.shape[0])])
  return s.raw(op, [x], num=x.shape[0] + 1, axis=0)


@mistake
def shapes_that_do_not_fit(s):
  x = s.choose(('float', 'double'), rank=2)
  rows, columns = x.shape
  op = s.random.choice(['MatMul', 'AddV2', 'ConcatV2', 'Reshape', 'Pack', 'MatrixInverse',
                        'SegmentSum', 'Select', 'BiasAdd', 'Transpose'])
  other = s.fresh(x.dtype, [columns + 1, rows + 2])
  if op in ('MatMul', 'AddV2', 'BiasAdd'):
    return s.raw(op, [x, other])
  if op == 'ConcatV2':
    return s.raw(op, [[x, s.fresh(x.dtype, [rows + 1, columns + 1])], s.constant('int32', 0)])
  if op == 'Reshape':
    return s.raw(op, [x, row(s, rows, columns + 1)])
  if op == 'Pack':
    return s.raw(op, [[x, other]])
  if op == 'MatrixInverse':
    return s.raw(op, [s.fresh(x.dtype, [2, 3])])
  if op == 'SegmentSum':
    return s.raw(op, [x, row(s, *range(rows + 1))])
  if op == 'Select':
    return s.raw(op, [s.fresh('bool', [rows + 1]), x, x])
  return s.raw(op, [x, row(s, 0, s.random.choice([0, 2, -5]))])


@mistake
def argument_out_of_range(s):
  x = s.choose(('float',), rank=(1, 2))
  op = s.random.choice(['ArgMax', 'ExpandDims', 'Split', 'TopKV2', 'OneHot', 'Tile', 'Cumsum',
                        'Range', 'Fill', 'ReverseV2', 'ConcatV2', 'Sum', 'Roll'])
  scalar = lambda value: s.constant('int32', value, (), s.random.random() < 0.5)
  if op in ('ArgMax', 'ExpandDims', 'Cumsum', 'Sum'):
    return s.raw(op, [x, scalar(s.random.choice([7, -9]))])
  if op == 'Split':
    return s.raw(op, [scalar(0), x], num_split=x.shape[0] + 1)
  if op == 'TopKV2':
    return s.raw(op, [x, scalar(s.random.choice([-1, 50]))])
  if op == 'OneHot':
    return s.raw(op, [row(s, 1), scalar(-3), s.like('float', ()), s.like('float', ())])
  if op == 'Tile':
    return s.raw(op, [x, row(s, *[-1] * len(x.shape))])
  if op == 'Range':
    return s.raw(op, [scalar(0), scalar(5), scalar(s.random.choice([0, -1]))])
  if op == 'Fill':
    return s.raw(op, [row(s, -2), s.like('float', ())])
  if op == 'ReverseV2':
    return s.raw(op, [x, row(s, 0, 0)])
  if op == 'ConcatV2':
    return s.raw(op, [[x, x], scalar(3)])
  return s.raw(op, [x, scalar(1), scalar(4)])


@mistake
def values_that_do_not_fit(s):
  op = s.random.choice(['FloorDiv', 'StringToNumber', 'DecodeBase64', 'InvertPermutation',
                        'SegmentSum', 'CheckNumerics', 'MatrixInverse', 'RegexReplace', 'Substr',
                        'SparseToDense', 'Assert', 'FloorMod', 'LogicalAnd'])
  if op in ('FloorDiv', 'FloorMod'):
    x = s.choose(('int32', 'int64'))
    return s.raw(op, [x, s.constant(x.dtype, 0, ())])
  if op == 'StringToNumber':
    return s.raw(op, [s.constant('string', s.random.choice(['x', '', '1e', '0x', ' 3 4']))])
  if op == 'DecodeBase64':
    return s.raw(op, [s.constant('string', s.random.choice(['a', '+++', 'ab=c']))])
  if op == 'InvertPermutation':
    return s.raw(op, [row(s, *s.random.choice([(0, 0), (1, 2), (-1, 0)]))])
  if op == 'SegmentSum':
    return s.raw(op, [s.fresh('float', [3]), row(s, *s.random.choice([(0, 2, 1), (-1, 0, 1)]))])
  if op == 'CheckNumerics':
    infinite = s.raw('Exp', [s.constant('float', 1000.0, ())])
    return s.raw(op, infinite, message='no number')
  if op == 'MatrixInverse':
    return s.raw(op, [s.constant('double', [-1.0, 0, 0, 0], [2, 2])])
  if op == 'RegexReplace':
    pattern, rewrite = s.random.choice([('(', ''), ('a', r'\9'), ('[z-a]', 'b'), ('x**', '')])
    return s.raw(op, [s.constant('string', v) for v in ('aa', pattern, rewrite)])
  if op == 'Substr':
    return s.raw(op, [s.constant('string', 'abc'), s.constant('int32', 9), s.constant('int32', 1)])
  if op == 'SparseToDense':
    where = s.constant('int64', [[0], [s.random.choice([-1, 0, 9])]], [2, 1])
    return s.raw(op, [where, s.constant('int64', [4], [1]), s.fresh('float', [2]),
                      s.like('float', ())])
  if op == 'Assert':
    x = s.choose('float')
    s.raw(op, [s.constant('bool', False), [x]])
    return s.raw('Identity', [x], controls=[s.nodes[-1].name])
  return s.raw(op, [s.fresh('bool', [2]), s.fresh('bool', [3])])


@mistake
def state_that_is_not_there(s):
  op = s.random.choice(['VariableV2', 'ReadVariableOp', 'QueueDequeueV2', 'Placeholder',
                        'TensorArrayReadV3', 'TensorListPopBack', 'StackPopV2'])
  dtype = as_type('float')
  if op == 'VariableV2':
    place = s.raw(op, [], [(2,)], dtype=dtype, shape=(2,), shared_name=s.name('shared'))
    return s.raw('Identity', place, [(2,)])
  if op == 'ReadVariableOp':
    place = s.raw('VarHandleOp', [], dtype=dtype, shape=(2,), shared_name=s.name('shared'))
    return s.raw(op, place, dtype=dtype)
  if op == 'QueueDequeueV2':
    types = lambda attr: attr.list.type.append(1)
    place = s.raw('FIFOQueueV2', [], component_types=types, shared_name=s.name('shared'))
    s.raw('QueueCloseV2', place)
    return s.raw(op, place, controls=[s.nodes[-1].name], component_types=types)
  if op == 'Placeholder':
    return s.raw(op, [], dtype=dtype, shape=None)
  if op == 'TensorArrayReadV3':
    handle, flow = s.raw('TensorArrayV3', [s.constant('int32', 2)], dtype=dtype)
    return s.raw(op, [handle, s.constant('int32', s.random.choice([0, 2, -1])), flow], dtype=dtype)
  if op == 'TensorListPopBack':
    shape = s.constant('int32', [], [0])
    items = s.raw('EmptyTensorList', [shape, s.constant('int32', 3)], element_dtype=dtype)[0]
    return s.raw(op, [items, shape], element_dtype=dtype)[1:]
  place = s.raw('StackV2', [s.constant('int32', 2)], elem_type=dtype)
  return s.raw(op, place, elem_type=dtype)
