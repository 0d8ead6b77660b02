"""Ways to change a recorded case of one op: another type, other attributes, sizes and values.

A Seed is a case as the archive holds it: constants, the node "op" that reads them, and at times
nodes around it. Each function of CHANGES takes a seed's copy, the op's definition, a random
generator and the op's other seeds, and says whether it changed something. What results may be
wrong, since the answer to wrong input is compared too."""
import ml_dtypes
import numpy as np
from tensorflow.core.framework import graph_pb2
from tensorflow.python.framework import tensor_util

# The types a graph's numbers are of, and strings; each with NumPy's.
TYPES = {1: 'f4', 2: 'f8', 3: 'i4', 4: 'u1', 5: 'i2', 6: 'i1', 7: object, 8: 'c8', 9: 'i8',
         10: '?', 11: 'i1', 12: 'u1', 13: 'i4', 14: ml_dtypes.bfloat16, 15: 'i2', 16: 'u2',
         17: 'u2', 18: 'c16', 19: 'f2', 22: 'u4', 23: 'u8'}
STRING = 7
WORDS = [b'', b'a', b'hello world', b'1', b'-1', b'3.5', b'\xe2\x82\xac', b'\xff', b'a/b']
MOST_ELEMENTS = 5000


class Seed:
  def __init__(self, data):
    graph = graph_pb2.GraphDef.FromString(data)
    self.graph, self.inputs = graph_pb2.GraphDef(), {}
    self.graph.versions.CopyFrom(graph.versions)
    self.graph.library.CopyFrom(graph.library)
    for node in graph.node:
      if node.name == 'case':
        self.case = node.attr
      elif node.name == 'op':
        self.op = node
      elif node.op == 'Const' and node.name.startswith('in/'):
        tensor = node.attr['value'].tensor
        self.inputs[node.name] = tensor.dtype, np.asarray(tensor_util.MakeNdarray(tensor)).astype(
            TYPES.get(tensor.dtype, 'u1'))
      elif not node.name.startswith('want'):
        self.graph.node.add().CopyFrom(node)

  def is_comparable(self):
    """Whether all types are among TYPES, of which NumPy knows what they hold."""
    return all(attr.type in TYPES for attr in self.op.attr.values() if attr.type)

  def copy(self):
    other = Seed.__new__(Seed)
    other.__dict__.update(self.__dict__, inputs=dict(self.inputs), op=type(self.op)())
    other.op.CopyFrom(self.op)
    return other

  def graph_def(self):
    graph = graph_pb2.GraphDef()
    graph.CopyFrom(self.graph)
    graph.node.add().CopyFrom(self.op)
    for name, (dtype, array) in self.inputs.items():
      node = graph.node.add(name=name, op='Const')
      node.attr['dtype'].type = dtype
      tensor = node.attr['value'].tensor
      tensor.dtype = dtype
      tensor.tensor_shape.SetInParent()
      for size in array.shape:
        tensor.tensor_shape.dim.add().size = size
      if dtype == STRING:
        tensor.string_val.extend(array.ravel())
      else:
        tensor.tensor_content = array.tobytes()
    return graph.SerializeToString()

  def fetches(self, op_def):
    """What the case fetches, or all outputs."""
    if '_fetch' in self.case:
      return [name.decode() for name in self.case['_fetch'].list.s]
    count = sum(self.count(argument) for argument in op_def.output_arg)
    return ['op:%d' % i for i in range(count)]

  def count(self, argument):
    if argument.number_attr:
      return self.op.attr[argument.number_attr].i
    if argument.type_list_attr:
      return len(self.op.attr[argument.type_list_attr].list.type)
    return 1

  def inputs_of(self, op_def, attr):
    """Names of the constants whose type is the attribute |attr|."""
    place = 0
    for argument in op_def.input_arg:
      count = self.count(argument)
      for name in self.op.input[place:place + count]:
        if argument.type_attr == attr and name in self.inputs:
          yield name
      place += count


def cast(array, dtype, chance):
  if dtype == STRING:
    strings = np.empty(array.shape, object)
    for i in np.ndindex(array.shape):
      strings[i] = b's%d' % chance.randrange(5)
    return strings
  if array.dtype == object:
    return np.array([chance.randrange(4) for _ in range(array.size)]).reshape(array.shape).astype(
        TYPES[dtype])
  with np.errstate(all='ignore'):
    real = array.real if array.dtype.kind == 'c' and dtype not in (8, 18) else array
    wanted = np.dtype(TYPES[dtype])
    if wanted.kind in 'iu':
      limits = np.iinfo(wanted)
      low, high = max(limits.min, -2**31), min(limits.max, 2**31 - 1)
      real = np.clip(np.nan_to_num(real.astype('f8')), low, high)
    return real.astype(wanted)


def change_type(seed, op_def, chance, pool):
  attrs = [a for a in op_def.attr if a.type == 'type']
  if not attrs:
    return False
  attr = chance.choice(attrs)
  allowed = [t for t in attr.allowed_values.list.type or TYPES if t in TYPES]
  if not allowed:
    return False
  dtype = chance.choice(allowed)
  seed.op.attr[attr.name].type = dtype
  for name in seed.inputs_of(op_def, attr.name):
    seed.inputs[name] = dtype, cast(seed.inputs[name][1], dtype, chance)
  return True


def change_attr(seed, op_def, chance, pool):
  """Takes an attribute of another seed, or exchanges a bool or one of a few words."""
  counts = {a.number_attr for a in op_def.input_arg}
  attrs = [a for a in op_def.attr if 'type' not in a.type and a.type not in ('func', 'tensor') and
           a.name not in counts and a.name not in ('shared_name', 'container')]
  if not attrs:
    return False
  attr = chance.choice(attrs)
  if attr.type == 'bool':
    seed.op.attr[attr.name].b = not seed.op.attr[attr.name].b
  elif attr.allowed_values.list.s:
    seed.op.attr[attr.name].s = chance.choice(attr.allowed_values.list.s)
  else:
    seed.op.attr[attr.name].CopyFrom(chance.choice(pool).op.attr[attr.name])
  return True


def some_input(seed, chance):
  name = chance.choice(sorted(seed.inputs)) if seed.inputs else None
  return (name, *seed.inputs[name]) if name else (None, None, np.empty(0))


def change_value(seed, op_def, chance, pool):
  name, dtype, array = some_input(seed, chance)
  if array.size == 0:
    return False
  array = array.copy()
  flat, place = array.reshape(-1), chance.randrange(array.size)
  if dtype == STRING:
    flat[place] = chance.choice(WORDS)
  elif array.dtype.kind in 'iu':
    limits = np.iinfo(array.dtype)
    value = chance.choice([0, 1, 2, -1, -2, 3, int(flat[place]) + 1, int(flat[place]) - 1])
    flat[place] = min(max(value, limits.min), limits.max)
  else:
    flat[place] = chance.choice([0, 1, 0.5, -0.5, 1.5, 2.5, -3, 0.25])
  seed.inputs[name] = dtype, array
  return True


def change_order(seed, op_def, chance, pool):
  name, dtype, array = some_input(seed, chance)
  if array.size < 2:
    return False
  order = list(range(array.size))
  chance.shuffle(order)
  seed.inputs[name] = dtype, array.reshape(-1)[order].reshape(array.shape)
  return True


def change_rank(seed, op_def, chance, pool):
  name, dtype, array = some_input(seed, chance)
  if name is None:
    return False
  if array.ndim == 0 or chance.random() < 0.5:
    array = np.expand_dims(array, chance.randrange(array.ndim + 1))
  else:
    axis = chance.randrange(array.ndim)
    sizes = array.shape[:axis] + array.shape[axis + 1:]
    array = array.reshape(-1)[:int(np.prod(sizes))]
    if array.size != int(np.prod(sizes)):
      return False
    array = array.reshape(sizes)
  seed.inputs[name] = dtype, np.array(array)
  return True


def change_size(seed, op_def, chance, pool):
  """One size becomes another wherever it stands, so that inputs which fit still fit."""
  sizes = sorted({n for _, array in seed.inputs.values() for n in array.shape if n > 0})
  if not sizes:
    return False
  old = chance.choice(sizes)
  new = chance.choice([0, 1, 2, 3, 5, 7, old + 1])
  for name, (dtype, array) in seed.inputs.items():
    for axis in range(array.ndim):
      if array.shape[axis] == old:
        array = np.take(array, [i % old for i in range(new)], axis=axis)
    if array.size > MOST_ELEMENTS:
      return False
    seed.inputs[name] = dtype, np.array(array)
  return True


CHANGES = [change_type, change_type, change_attr, change_attr, change_size, change_size,
           change_value, change_order, change_rank]


def changed(pool, op_def, chance):
  """A copy of one of the seeds with one to three changes; what was changed, in words."""
  seed, words = chance.choice(pool).copy(), []
  for _ in range(chance.choice([1, 1, 2, 3])):
    before = seed.copy()
    change = chance.choice(CHANGES)
    if change(seed, op_def, chance, pool):
      words.append(change.__name__[7:])
    else:
      seed = before
  return seed, ' and '.join(words) or 'nothing'
