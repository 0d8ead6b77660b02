"""Two front ends that build conditionals and loops, with the same methods, so that a program is
written once: TensorFlow's own, with its first control flow, and a small one over the C API with
leat/control_flow.h. That one has what is a front end's business, names, devices and control
dependencies, and keeps no account of contexts."""
import contextlib
import ctypes

import numpy as np
import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function

import capi

tf.disable_eager_execution()
tf.disable_control_flow_v2()
tf.disable_resource_variables()
LEAT = capi.Library()
P, Output = capi.P, capi.Output


class Options(ctypes.Structure):
  _fields_ = [('device', ctypes.c_char_p), ('control_inputs', P),
              ('control_input_count', ctypes.c_int), ('parallel_iterations', ctypes.c_int),
              ('maximum_iterations', Output), ('ranks', P), ('dims', P)]


for name, result, *arguments in (
    ('leat_while_begin', P, P, ctypes.c_char_p, P, ctypes.c_int, P, P, P),
    ('leat_while_body', None, P, Output, P, P),
    ('leat_while_end', None, P, P, ctypes.c_int, P, P),
    ('leat_cond_begin', P, P, ctypes.c_char_p, Output, P, P),
    ('leat_cond_else', P, P, P, ctypes.c_int, P),
    ('leat_cond_end', None, P, P, ctypes.c_int, P, P),
    ('leat_flow_enter', None, P, P, P), ('leat_flow_leave', None, P),
    ('TF_NewOperation', P, P, ctypes.c_char_p, ctypes.c_char_p), ('TF_FinishOperation', P, P, P),
    ('TF_AddInput', None, P, Output), ('TF_AddInputList', None, P, P, ctypes.c_int),
    ('TF_AddControlInput', None, P, P), ('TF_ColocateWith', None, P, P),
    ('TF_SetDevice', None, P, ctypes.c_char_p),
    ('TF_SetAttrType', None, P, ctypes.c_char_p, ctypes.c_int),
    ('TF_SetAttrString', None, P, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t),
    ('TF_GraphGetTensorNumDims', ctypes.c_int, P, Output, P),
    ('TF_GraphGetTensorShape', None, P, Output, P, ctypes.c_int, P),
    ('TF_ImportGraphDefOptionsSetPrefix', None, P, ctypes.c_char_p),
    ('TF_ImportGraphDefOptionsAddInputMapping', None, P, ctypes.c_char_p, ctypes.c_int, Output),
    ('TF_ImportGraphDefOptionsAddReturnOutput', None, P, ctypes.c_char_p, ctypes.c_int),
    ('TF_GraphImportGraphDefWithReturnOutputs', None, P, P, P, P, ctypes.c_int, P),
    ('TF_SetAttrBool', None, P, ctypes.c_char_p, ctypes.c_ubyte),
    ('TF_SetAttrTensor', None, P, ctypes.c_char_p, P, P),
    ('TF_SetAttrShape', None, P, ctypes.c_char_p, P, ctypes.c_int)):
  foreign = getattr(LEAT.handle, name)
  foreign.restype, foreign.argtypes = result, arguments
  setattr(LEAT, name, foreign)


def triple():
  """A graph to be imported: 3 x, and a node that reads nothing else but what x is mapped to."""
  with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, (), 'x')
    tf.raw_ops.Mul(x=tf.raw_ops.Neg(x=x), y=tf.constant(3.))
    return graph.as_graph_def()


@function.Defun(tf.float32, func_name='Increase')
def increase(v):
  return v + 1.


class TensorFlow:
  """The programs' operations, by TensorFlow."""
  scope, device = staticmethod(tf.name_scope), staticmethod(tf.device)
  after = staticmethod(tf.control_dependencies)

  def constant(self, value, name='Const'):
    return tf.constant(value, name=name)

  def feed(self, name, dtype, shape=()):
    return tf.placeholder(dtype, shape, name)

  def op(self, op, name=None, **arguments):
    return getattr(tf.raw_ops, op)(**arguments, **({'name': name} if name else {}))

  def variable(self, name):
    return tf.raw_ops.VariableV2(shape=(), dtype=tf.float32, name=name)

  def resource(self, name):
    return tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=(), shared_name=name, name=name)

  def read(self, resource):
    return tf.raw_ops.ReadVariableOp(resource=resource, dtype=tf.float32)

  def call(self, x):
    return increase(x)

  def importing(self, x):
    return tf.import_graph_def(triple(), {'x:0': x}, ['Mul:0'], name='import')[0]

  def array(self, size):
    return tf.raw_ops.TensorArrayV3(size=size, dtype=tf.float32)

  def gather(self, handle, indices, flow):
    return tf.raw_ops.TensorArrayGatherV3(handle=handle, indices=indices, flow_in=flow,
                                          dtype=tf.float32)

  def conditional(self, predicate, true, false, name=None):
    merged = tf.cond(predicate, true, false, name=name)
    return list(merged) if isinstance(merged, (list, tuple)) else [merged]

  def loop(self, condition, body, start, name=None, shapes=None, **options):
    if shapes is not None:
      options['shape_invariants'] = [tf.TensorShape(s) for s in shapes]
    ends = tf.while_loop(condition, body, start, name=name, **options)
    return list(ends) if isinstance(ends, (list, tuple)) else [ends]


class Leat:
  """The same by Leat: names, devices and control dependencies are a front end's business, contexts
  are not."""

  def __init__(self):
    self.graph = LEAT.TF_NewGraph()
    self.prefix, self.used, self.devices, self.groups, self.calls = '', set(), [], [], False

  def unique(self, name):
    """A name under the scope that is new to the front end and to the graph."""
    full = self.prefix + name
    tried, i = full, 0
    while tried in self.used or LEAT.TF_GraphOperationByName(self.graph, tried.encode()):
      i += 1
      tried = '%s_%d' % (full, i)
    self.used.add(tried)
    return tried

  @contextlib.contextmanager
  def scope(self, name):
    before, self.prefix = self.prefix, self.unique(name) + '/'
    yield
    self.prefix = before

  @contextlib.contextmanager
  def device(self, name):
    self.devices.append(name)
    yield
    self.devices.pop()

  @contextlib.contextmanager
  def after(self, operations):
    before = self.groups
    if operations is None:
      self.groups = []
      LEAT.leat_flow_enter(self.graph, None, LEAT.status)
    else:
      self.groups = before + [([o.oper if isinstance(o, Output) else o for o in operations], set())]
    yield
    if operations is None:
      LEAT.leat_flow_leave(self.graph)
    self.groups = before

  def controls(self, inputs):
    """Of the groups of control inputs, those that no input has waited for."""
    found = []
    for members, seen in self.groups:
      if not seen & set(inputs):
        found += [m for m in members if m not in inputs and m not in found]
    return found

  def see(self, operations):
    for _, seen in self.groups:
      seen.update(operations)

  def add(self, op, name, inputs, attrs=None, references=()):
    desc = LEAT.TF_NewOperation(self.graph, op.encode(), self.unique(name or op).encode())
    for value in inputs:
      if isinstance(value, list):
        LEAT.TF_AddInputList(desc, (Output * len(value))(*value), len(value))
      else:
        LEAT.TF_AddInput(desc, value)
    flat = [v for value in inputs for v in (value if isinstance(value, list) else [value])]
    for control in self.controls([v.oper for v in flat]):
      LEAT.TF_AddControlInput(desc, control)
    if 'ref' in references:  # as TensorFlow's front end does
      LEAT.TF_ColocateWith(desc, references['ref'].oper)
    if self.devices:
      LEAT.TF_SetDevice(desc, self.devices[-1].encode())
    if attrs:
      attrs(desc)
    operation = LEAT.TF_FinishOperation(desc, LEAT.status)
    LEAT.check()
    self.see([operation])
    return Output(operation, 0)

  def constant(self, value, name='Const'):
    def attrs(desc):
      tensor = LEAT.tensor(value)
      LEAT.TF_SetAttrType(desc, b'dtype', LEAT.TF_TensorType(tensor))
      LEAT.TF_SetAttrTensor(desc, b'value', tensor, LEAT.status)
      LEAT.TF_DeleteTensor(tensor)
    value = np.asarray(value)
    value = value.astype({'f8': 'f4', 'i8': 'i4'}.get(value.dtype.str[1:], value.dtype))
    return self.add('Const', name, [], attrs)

  def typed(self, op, name, dtype, shape):
    def attrs(desc):
      LEAT.TF_SetAttrType(desc, b'dtype', dtype.as_datatype_enum)
      dims = [-1 if d is None else d for d in shape]
      LEAT.TF_SetAttrShape(desc, b'shape', (ctypes.c_int64 * max(len(dims), 1))(*dims), len(dims))
    return self.add(op, name, [], attrs)

  def feed(self, name, dtype, shape=()):
    return self.typed('Placeholder', name, dtype, shape)

  def variable(self, name):
    return self.typed('VariableV2', name, tf.float32, ())

  def resource(self, name):
    def attrs(desc):
      LEAT.TF_SetAttrType(desc, b'dtype', capi.FLOAT)
      LEAT.TF_SetAttrShape(desc, b'shape', None, 0)
      LEAT.TF_SetAttrString(desc, b'shared_name', name.encode(), len(name))
    return self.add('VarHandleOp', name, [], attrs)

  def of_floats(self, op, inputs):
    return self.add(op, None, inputs,
                    lambda desc: LEAT.TF_SetAttrType(desc, b'dtype', capi.FLOAT))

  def read(self, resource):
    return self.of_floats('ReadVariableOp', [resource])

  def call(self, x):
    if not self.calls:  # the definition comes with the first call
      library = tf.GraphDef()
      library.library.function.add().CopyFrom(increase.definition)
      definition, options = LEAT.buffer(library.SerializeToString()), \
          LEAT.TF_NewImportGraphDefOptions()
      LEAT.TF_GraphImportGraphDef(self.graph, definition, options, LEAT.status)
      LEAT.check()
      LEAT.TF_DeleteImportGraphDefOptions(options)
      LEAT.TF_DeleteBuffer(definition)
      self.calls = True
    return self.add('Increase', None, [x])

  def importing(self, x):
    y, options = (Output * 1)(), LEAT.TF_NewImportGraphDefOptions()
    definition = LEAT.buffer(triple().SerializeToString())
    LEAT.TF_ImportGraphDefOptionsSetPrefix(options, self.unique('import').encode())
    LEAT.TF_ImportGraphDefOptionsAddInputMapping(options, b'x', 0, x)
    LEAT.TF_ImportGraphDefOptionsAddReturnOutput(options, b'Mul', 0)
    LEAT.TF_GraphImportGraphDefWithReturnOutputs(self.graph, definition, options, y, 1,
                                                 LEAT.status)
    LEAT.TF_DeleteImportGraphDefOptions(options)
    LEAT.TF_DeleteBuffer(definition)
    LEAT.check()
    return Output(y[0].oper, 0)

  def array(self, size):
    handle = self.of_floats('TensorArrayV3', [size])
    return handle, Output(handle.oper, 1)

  def gather(self, handle, indices, flow):
    return self.of_floats('TensorArrayGatherV3', [handle, indices, flow])

  def op(self, op, name=None, **arguments):
    inputs = [v for v in arguments.values() if not isinstance(v, bool)]
    flags = {k: v for k, v in arguments.items() if isinstance(v, bool)}
    def attrs(desc):
      for k, v in flags.items():
        LEAT.TF_SetAttrBool(desc, k.encode(), v)
    made = self.add(op, name, inputs, attrs, arguments)
    return made.oper if op in ('NoOp', 'AssignVariableOp', 'AssignAddVariableOp') else made

  def options(self, inputs=(), **fields):
    controls = self.controls([v.oper for v in inputs])
    self.kept = (P * max(len(controls), 1))(*controls)
    fields.update(control_inputs=ctypes.cast(self.kept, P), control_input_count=len(controls),
                  device=self.devices[-1].encode() if self.devices else None)
    return Options(**fields)

  def results(self, values):
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    values = [v if isinstance(v, Output) else Output(v, -1) for v in values]
    return (Output * len(values))(*values)

  def conditional(self, predicate, true, false, name=None):
    with self.scope(name or 'cond'):
      options = self.options([predicate])
      branch = LEAT.leat_cond_begin(self.graph, self.prefix[:-1].encode(), predicate,
                                    ctypes.byref(options), LEAT.status)
      LEAT.check()
      results = self.results(true())
      branch = LEAT.leat_cond_else(branch, results, len(results), LEAT.status)
      LEAT.check()
      results = self.results(false())
      merged = (Output * len(results))()
      LEAT.leat_cond_end(branch, results, len(results), merged, LEAT.status)
      LEAT.check()
    self.see([m.oper for m in merged])
    return list(merged)

  def loop(self, condition, body, start, name=None, shapes=None, maximum_iterations=None,
           parallel_iterations=10, **unused):
    with self.scope(name or 'while'):
      fields = {'parallel_iterations': parallel_iterations}
      if maximum_iterations is not None:
        fields['maximum_iterations'] = self.constant(maximum_iterations, 'maximum_iterations')
      if shapes is not None:
        dims = [-1 if d is None else d for s in shapes for d in s or ()]
        self.ranks = (ctypes.c_int * len(shapes))(*[-1 if s is None else len(s) for s in shapes])
        self.dims = (ctypes.c_int64 * max(len(dims), 1))(*dims)
        fields.update(ranks=ctypes.cast(self.ranks, P), dims=ctypes.cast(self.dims, P))
      inputs, variables = (Output * len(start))(*start), (Output * len(start))()
      options = self.options(**fields)
      loop = LEAT.leat_while_begin(self.graph, self.prefix[:-1].encode(), inputs, len(start),
                                   ctypes.byref(options), variables, LEAT.status)
      LEAT.check()
      self.see([v.oper for v in variables])
      decision = condition(*list(variables))
      LEAT.leat_while_body(loop, decision, variables, LEAT.status)
      LEAT.check()
      self.see([v.oper for v in variables])
      results = self.results(body(*[Output(v.oper, v.index) for v in variables]))
      ends = (Output * len(start))()
      LEAT.leat_while_end(loop, results, len(results), ends, LEAT.status)
      LEAT.check()
    self.see([e.oper for e in ends])
    return list(ends)
