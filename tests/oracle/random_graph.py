"""Random graphs: a Scope gathers nodes of a graph, or of a function's body, and knows of each value
its type, its shape and how exactly two libraries must agree on it.

An Info bounds a value's elements and the distance between two correct computations of it. Each
node comes with a rule, which derives the infos of its outputs from those of its inputs, as in an
analysis of rounding errors: sums and products of small binary fractions stay exact (|step| bits
behind the point), and whatever is rounded carries an error from then on. Two things follow.
Operations that jump (Floor, Less, ArgMax) are applied to exact values alone, so that no rounding
error becomes a large difference. And the tolerance of a comparison is computed, not guessed. A
rule that finds a result too large or too inexact raises Unfit; the generator tries another then.
"""
import collections
import contextlib
import math

import numpy as np
from tensorflow.core.framework import graph_pb2, node_def_pb2, op_def_pb2, types_pb2

Info = collections.namedtuple('Info', 'bound error step')
EXACT = Info(0.0, 0.0, 0)  # of what has no rounding: strings, booleans
MANTISSA = {'float': 24, 'double': 53, 'half': 11, 'bfloat16': 8, 'complex64': 24}
FLOATS = ('float', 'double', 'half', 'bfloat16')
INTEGERS = ('int32', 'int64', 'uint8', 'int8', 'int16')
LARGEST = {'float': 2.0**20, 'double': 2.0**20, 'complex64': 2.0**20, 'half': 2.0**9,
           'bfloat16': 2.0**12}
NUMPY = {'float': 'f4', 'double': 'f8', 'int32': 'i4', 'int64': 'i8', 'uint8': 'u1', 'int8': 'i1',
         'int16': 'i2', 'bool': '?', 'half': 'f2'}
WORDS = ['', 'a', 'Leat', 'graph', 'one two', 'x,y,z', 'ABC', '12', '-3', 'tensor flow']
ELEMENTS = 96  # of a value, at most


class Unfit(Exception):
  """An operation cannot be applied here."""


class Value:
  """One output of a node."""

  def __init__(self, node, argument, place, index, dtype, shape):
    self.node, self.argument, self.place, self.index = node, argument, place, index
    self.dtype, self.shape, self.info = dtype, tuple(shape), EXACT
    if math.prod(self.shape) > ELEMENTS:
      raise Unfit

  def reference(self, in_function):
    """How a NodeDef names it as an input."""
    if not in_function:
      return '%s:%d' % (self.node, self.index)
    return '%s:%s:%d' % (self.node, self.argument, self.place) if self.argument else self.node


def enum(dtype):
  return types_pb2.DataType.Value('DT_' + dtype.upper())


def name_of(number):
  return types_pb2.DataType.Name(number)[3:].lower()


# ---- Infos -------------------------------------------------------------------------------------
def rounded(dtype, bound, error, step=None, ulps=4):
  """The info of a result. |error| is what the inputs' errors amount to; |step| is the number of
  binary places of the exact result, None if it has no such number; |ulps| is how much a correct
  computation may add, in units of the last place."""
  if dtype not in MANTISSA:
    return Info(min(bound, 2.0**63), 0.0, 0)
  if not bound <= LARGEST[dtype]:
    raise Unfit
  if error == 0 and step is not None and bound * 2.0**step <= 2.0**MANTISSA[dtype]:
    return Info(bound, 0.0, step)
  error += ulps * 2.0**(1 - MANTISSA[dtype]) * max(bound, 2.0**-8)
  if error > (bound + 1) / (4 if MANTISSA[dtype] < 12 else 256):
    raise Unfit
  return Info(bound, error, None)


def widest(*infos):
  """The info of a value that may be any of several."""
  exact = all(i.error == 0 for i in infos)
  return Info(max(i.bound for i in infos), max(i.error for i in infos),
              max(i.step for i in infos) if exact else None)


def same_info(*infos):
  """The rule of an operation that moves elements."""
  return widest(*infos)


# ---- Scopes ------------------------------------------------------------------------------------
class Scope:
  """A place where nodes are added: the graph, a branch or a loop's body in it, or a function."""

  def __init__(self, graph, nodes, values=(), control=None, in_function=False, depth=0):
    self.graph, self.nodes, self.values, self.records = graph, nodes, list(values), []
    self.control, self.in_function, self.depth = control, in_function, depth

  @property
  def random(self):
    return self.graph.random

  @property
  def is_top(self):
    return self.depth == 0

  def within(self, values, control):
    """A branch or a body among the same nodes; what reads nothing there waits for |control|."""
    return Scope(self.graph, self.nodes, values, control, self.in_function, self.depth + 1)

  def name(self, op):
    self.graph.count += 1
    return '%s_%d' % (op, self.graph.count)

  @contextlib.contextmanager
  def attempt(self):
    """What is added inside goes again when it ends with Unfit."""
    counts = [len(self.nodes), len(self.values), len(self.records), len(self.graph.functions)]
    try:
      yield
    except Unfit:
      del self.nodes[counts[0]:], self.values[counts[1]:], self.records[counts[2]:]
      del self.graph.functions[counts[3]:]
      for feed in set(self.graph.feeds) - {n.name for n in self.graph.nodes}:
        del self.graph.feeds[feed]
      raise

  def raw(self, op, inputs, shapes=(), controls=(), **attrs):
    """Adds a node; attributes of types and counts follow from the inputs. -> its outputs, in no
    record and not among the values that others choose from."""
    definition = self.graph.op_defs[op]
    node = node_def_pb2.NodeDef(name=self.name(op), op=op)
    for argument, given in zip(definition.input_arg, inputs):
      several = given if isinstance(given, list) else [given]
      node.input.extend(v.reference(self.in_function) for v in several)
      if argument.number_attr:
        node.attr[argument.number_attr].i = len(several)
      if argument.type_attr:
        node.attr[argument.type_attr].type = enum(several[0].dtype)
      if argument.type_list_attr:
        node.attr[argument.type_list_attr].list.SetInParent()
        del node.attr[argument.type_list_attr].list.type[:]
        node.attr[argument.type_list_attr].list.type.extend(enum(v.dtype) for v in several)
    if not node.input and self.control:
      node.input.append('^' + self.control)
    node.input.extend('^' + c for c in controls)
    for key, value in attrs.items():
      set_attr(node.attr[key], value)
    for attr in definition.attr:
      allowed = attr.allowed_values.list.type
      if attr.name not in node.attr and attr.HasField('default_value'):
        node.attr[attr.name].CopyFrom(attr.default_value)
      elif attr.type == 'type' and allowed and node.attr[attr.name].type not in allowed:
        raise Unfit
    outputs = outputs_of(definition, node, shapes)
    self.nodes.append(node)
    return outputs

  def emit(self, op, inputs, shapes, rule, **attrs):
    """Adds a node whose outputs others may choose. |rule| takes the infos of the inputs, and gives
    one for all outputs or a list of them."""
    outputs = self.raw(op, inputs, shapes, **attrs)
    self.record(flat(inputs), outputs, rule)
    return outputs

  def record(self, inputs, outputs, rule):
    infos = rule(*[v.info for v in inputs])
    for value, info in zip(outputs, spread(infos, outputs)):
      value.info = info
    self.records.append((inputs, outputs, rule))
    self.values += outputs

  def infos_of(self, results, given):
    """The infos of |results| were those of some values what |given| maps them to."""
    known = dict(given)
    for inputs, outputs, rule in self.records:
      infos = rule(*[known.get(v, v.info) for v in inputs])
      known.update(zip(outputs, spread(infos, outputs)))
    return [known.get(v, v.info) for v in results]

  def argument(self, name, like):
    """An argument of the function whose body this is, for a value of its caller's."""
    value = Value(name, '', 0, 0, like.dtype, like.shape)
    value.info = like.info
    self.values.append(value)
    return value

  # ---- Choosing ----
  def choose(self, dtypes=FLOATS, rank=None, fits=lambda v: True, exact=False):
    """A value that is there, else a new one. One without elements is given only to an operation
    that takes any rank."""
    if isinstance(dtypes, str):
      dtypes = (dtypes,)
    ranks = range(5) if rank is None else [rank] if isinstance(rank, int) else rank
    found = [v for v in self.values if v.dtype in dtypes and len(v.shape) in ranks and fits(v)
             and (rank is None or 0 not in v.shape) and (not exact or v.info.error == 0)]
    if found and self.random.random() < 0.9:
      return found[-1 - min(int(self.random.expovariate(0.2)), len(found) - 1)]
    for _ in range(20):
      shape = [self.random.choice([1, 2, 2, 3, 3, 4, 5]) for _ in range(self.random.choice(ranks))]
      dtype = self.random.choice(dtypes)
      if math.prod(shape) <= ELEMENTS and fits(Value('', '', 0, 0, dtype, shape)):
        return self.fresh(dtype, shape)
    raise Unfit

  def like(self, dtype, shape):
    """A value of just this type and shape."""
    shape = tuple(shape)
    found = [v for v in self.values if v.dtype == dtype and v.shape == shape]
    return self.random.choice(found) if found and self.random.random() < 0.8 else self.fresh(
        dtype, shape)

  def fresh(self, dtype, shape):
    """A constant, or a value that is fed."""
    size = math.prod(shape)
    if dtype in FLOATS:
      array = [self.random.randint(-8, 8) / 4 for _ in range(size)]
    elif dtype == 'string':
      array = [self.random.choice(WORDS) for _ in range(size)]
    elif dtype == 'bool':
      array = [self.random.random() < 0.5 for _ in range(size)]
    else:
      array = [self.random.randint(0 if dtype == 'uint8' else -8, 8) for _ in range(size)]
    fed = self.is_top and dtype in NUMPY and self.random.random() < 0.6
    return self.constant(dtype, array, shape, fed)

  def constant(self, dtype, array, shape=None, fed=False):
    """A Const, or a Placeholder with a value; its shape is that of |array| where none is given."""
    kind = {'string': object, 'bfloat16': 'f4'}.get(dtype) or NUMPY[dtype]
    array = np.array(array, kind)
    array = array.reshape(array.shape if shape is None else shape)
    if fed:
      unknown = self.random.random() < 0.3
      outputs = self.raw('Placeholder', [], [array.shape], dtype=as_type(dtype),
                         shape=None if unknown else array.shape)
      self.graph.feeds[outputs[0].node] = array
    else:
      outputs = self.raw('Const', [], [array.shape], dtype=as_type(dtype),
                         value=tensor_proto(dtype, array))
    bound = float(np.abs(array).max(initial=0)) if dtype not in ('string', 'bool') else 1.0
    info = Info(bound, 0.0, 2 if dtype in FLOATS else 0)
    self.record([], outputs, lambda: info)
    return outputs[0]


class Graph:
  """A graph that grows: its nodes, functions and feeds."""

  def __init__(self, op_defs, random):
    self.op_defs, self.random, self.count = op_defs, random, 0
    self.nodes, self.functions, self.feeds, self.fetches = [], [], {}, []
    self.top = Scope(self, self.nodes)

  def graph_def(self):
    graph = graph_pb2.GraphDef()
    graph.versions.producer = 1882  # that of TensorFlow 2.21: newer rules hold, such as for errors
    graph.node.extend(self.nodes)
    graph.library.function.extend(self.functions)
    return graph


def flat(inputs):
  return [v for given in inputs for v in (given if isinstance(given, list) else [given])]


def spread(infos, outputs):
  return [infos] * len(outputs) if isinstance(infos, Info) else infos


def outputs_of(definition, node, shapes):
  outputs = []
  for argument in definition.output_arg:
    if argument.type_list_attr:
      types = node.attr[argument.type_list_attr].list.type
    else:
      number = node.attr[argument.number_attr].i if argument.number_attr else 1
      types = [argument.type or node.attr[argument.type_attr].type] * number
    for place, number in enumerate(types):
      index = len(outputs)
      dtype = name_of(number)
      outputs.append(Value(node.name, argument.name, place, index, dtype,
                           shapes[index] if index < len(shapes) else ()))
  return outputs


def set_attr(attr, value):
  if isinstance(value, bool):
    attr.b = value
  elif isinstance(value, int):
    attr.i = value
  elif isinstance(value, float):
    attr.f = value
  elif isinstance(value, str):
    attr.s = value.encode()
  elif value is None:
    attr.shape.unknown_rank = True
  elif isinstance(value, tuple):
    attr.shape.SetInParent()
    for size in value:
      attr.shape.dim.add().size = size
  elif isinstance(value, list):
    attr.list.SetInParent()
    getattr(attr.list, 's' if value and isinstance(value[0], bytes) else 'i').extend(value)
  else:
    value(attr)


def as_type(dtype):
  """-> a function that sets an AttrValue to the type."""
  def put(attr):
    attr.type = enum(dtype)
  return put


def as_types(values):
  """-> a function that sets an AttrValue to the values' types."""
  def put(attr):
    attr.list.type.extend(enum(v.dtype) for v in values)
  return put


def tensor_proto(dtype, array):
  """-> a function that sets an AttrValue to the tensor."""
  def put(attr):
    attr.tensor.dtype = enum(dtype)
    attr.tensor.tensor_shape.SetInParent()
    for size in array.shape:
      attr.tensor.tensor_shape.dim.add().size = size
    if dtype == 'string':
      attr.tensor.string_val.extend(v.encode() for v in array.ravel())
    elif dtype == 'bfloat16':
      attr.tensor.tensor_content = (array.view('u4') >> 16).astype('u2').tobytes()
    else:
      attr.tensor.tensor_content = array.tobytes()
  return put


def op_defs_of(serialized):
  return {op.name: op for op in op_def_pb2.OpList.FromString(serialized).op}
