"""Defun: functions of Python whose operations become a function of the graph's library.

The body is built when it is first needed, in a graph of its own (function_graph.py), and is defined
in each graph that calls it. A call is one operation, whose type is the function's name. Variables
that the body asks for by tf.get_variable are made in the graph around, and captured.
"""
from __future__ import annotations

import collections
import hashlib
import inspect

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import function_graph
from leat._graph import graph as graphs
from leat._graph.conversion import convert
from leat._graph.scope import name_scope

_EXPERIMENTAL = 'experimental_'


def _attribute(value):
  """A serialised AttrValue of a string, bool, number."""
  from leat._graph import message
  made = message.of('AttrValue')()
  if isinstance(value, bool):
    made.b = value
  elif isinstance(value, int):
    made.i = value
  elif isinstance(value, float):
    made.f = value
  elif isinstance(value, (str, bytes)):
    made.s = value.encode() if isinstance(value, str) else value
  else:
    raise ValueError('Unsupported attr type for %r: it must be a string, a number or a bool.' % (
        value,))
  return made.SerializeToString()


def _flags(options):
  """The attributes of the definition that the keyword arguments of Defun ask for."""
  found = [('_noinline', _attribute(bool(options['noinline'])))] if 'noinline' in options else []
  return found + [(key, _attribute(value)) for key, value in options.items()
                  if key.startswith(_EXPERIMENTAL)]


def _arguments_of(function):
  """The names of the positional arguments, and whether there are any number of them."""
  spec = inspect.getfullargspec(function)
  names = spec.args[1:] if inspect.ismethod(function) else spec.args
  return names, spec.varargs is not None


def _flat_results(value):
  """(whether the body returns no value, the values as a list)."""
  if value is None or isinstance(value, _leat.Operation):
    return True, []
  return False, list(value) if isinstance(value, (list, tuple)) else [value]


class _BodyGraph(function_graph.FunctionGraph):
  """A body that asks the graph around for variables."""

  def __init__(self, outer, name):
    super().__init__(outer)
    self.name = name
    self.extra_vars = []

  def getvar(self, getter, *args, **kwargs):
    """The custom getter of tf.get_variable: the variable is one of the graph around."""
    with self.outer.as_default(), name_scope(None):
      found = getter(*args, **kwargs)
    if found not in self.extra_vars:
      self.extra_vars.append(found)
    return found


class _DefinedFunction:
  """A function with known types of arguments."""

  def __init__(self, function, argument_types, names, options):
    self._function, self._types, self._names = function, argument_types, names
    self._options = dict(options)
    self._shape_func = options.get('shape_func')
    self._grad_func, self._python_grad_func = options.get('grad_func'), options.get(
        'python_grad_func')
    if self._grad_func and self._python_grad_func:
      raise ValueError('Gradient defined twice for function %s' % function.__name__)
    self._body, self._outputs, self._is_empty = None, [], False
    self._name = options.get('func_name')
    self._grad_name = None

  # What programs look at.

  @property
  def name(self):
    self._build()
    return self._name

  @property
  def definition(self):
    """The FunctionDef."""
    from leat._graph import message
    self._build()
    scratch = graphs.Graph()
    self._define_in(scratch)
    library = scratch.as_graph_def().library.function
    return next(f for f in library if f.signature.name == self._name)

  @property
  def declared_input_types(self):
    return [t._number for t in self._types]

  @property
  def captured_inputs(self):
    """Tensors around that a call passes besides the arguments."""
    self._build()
    return [source for source, _ in self._body.captured]

  @property
  def stateful_ops(self):
    """[(name, type)] of the operations of the body that have a state or an effect."""
    self._build()
    return [(op.name, op.type) for op in self._body.get_operations() if op.op_def.is_stateful]

  @property
  def grad_func_name(self):
    self._build()
    return self._grad_name

  @property
  def python_grad_func(self):
    return self._python_grad_func

  # Making.

  def _build(self):
    if self._body is not None:
      return
    from leat._ops import variable_scope
    outer = graphs.get_default_graph()
    body = _BodyGraph(outer, self._name or self._function.__name__)
    scope = variable_scope.get_variable_scope()
    body._building.devices = list(outer._building.devices)   # those around the first call
    arguments = [body.argument(dtype, name=name) for name, dtype in zip(self._names, self._types)]
    with body.as_default(), variable_scope.variable_scope(scope, custom_getter=body.getvar):
      self._is_empty, results = _flat_results(self._function(*arguments))
      self._outputs = [body._own(convert(r)) for r in results]
    if self._options.get('out_names') and len(self._options['out_names']) != len(self._outputs):
      from leat._graph import errors
      raise errors.InvalidArgumentError(
          None, None, 'output names must be either empty or equal in size to outputs. output names '
          'size = %d outputs size = %d' % (len(self._options['out_names']), len(self._outputs)))
    self._body = body
    if self._name is None:
      self._name = '%s_%s' % (self._function.__name__.strip('<>'), self._digest())

  def _digest(self):
    """A number for the body: functions of one name with other bodies are told apart by it."""
    text = self._body.as_graph_def().SerializeToString() + repr(
        [o.name for o in self._outputs]).encode() + repr(sorted(
            (k, v) for k, v in self._options.items()
            if isinstance(v, (str, int, float, bool)))).encode()
    return hashlib.sha1(text).hexdigest()[:8]

  def add_to_graph(self, graph):
    """Defines the function in the library of a graph, with those that it calls. Another one of its
    name must be the same: InvalidArgumentError."""
    self._build()
    known = graph._functions_python.get(self._name)
    if known is not self:
      self._define_in(graph)
      graph._functions_python.setdefault(self._name, self)

  def _define_in(self, graph):
    gradient = self._gradient_in(graph)
    body, names = self._body, self._options.get('out_names')
    outer, body.outer = body.outer, graph
    try:
      function_graph.define(body, self._name, self._outputs,
                            output_names=list(names) if names else self._output_names(),
                            attributes=_flags(self._options), gradient=gradient,
                            description=inspect.getdoc(self._function))
    finally:
      body.outer = outer

  def _output_names(self):
    """Names of the outputs: those of their operations, with a number where one comes again."""
    found, counts = [], collections.Counter()
    for output in self._outputs:
      base = output.op.name.rpartition('/')[2].lower()
      base = base if base[:1].isalpha() else 'output_' + base
      counts[base] += 1
      found.append(base if counts[base] == 1 else '%s_%d' % (base, counts[base] - 1))
    return found

  def _gradient_in(self, graph):
    if self._grad_func is None:
      return None
    function = self._grad_func
    if isinstance(function, _OverloadedFunction):
      function = function.instantiate([*self._types, *(o.dtype for o in self._outputs)])
    function.add_to_graph(graph)
    self._grad_name = function.name
    return function.name

  def __call__(self, *args, **kwargs):
    graph = graphs.get_default_graph()
    self.add_to_graph(graph)
    name = kwargs.pop('name', None)
    kwargs.pop('noinline', None)
    if kwargs:
      raise ValueError('Unknown keyword arguments: %s' % kwargs.keys())
    if len(args) != len(self._types):
      raise ValueError('Expected number of arguments: %d, received: %d' % (
          len(self._types), len(args)))
    values = [convert(a, dtype) for a, dtype in zip(args, self._types)]
    function = function_graph.Function(self._name, self._body, self._outputs)
    op = function_graph.call(graph, function, values, name, takes_any_shapes=True)
    if self._shape_func is not None:
      for output, shape in zip(op.outputs, self._shape_func(op)):
        output.set_shape(shape)
    if not op.outputs or self._is_empty:
      return op
    return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)


class _OverloadedFunction:
  """A function for arguments of any types: one definition for each list of types."""

  def __init__(self, function, names, options):
    self._function, self._names, self._options = function, names, options
    self._defined = {}

  def instantiate(self, types):
    """The function for arguments of these types."""
    types = tuple(t.base_dtype for t in types)
    if types not in self._defined:
      options = dict(self._options)
      if options.get('func_name'):
        options['func_name'] = '%s_%s' % (options['func_name'], '_'.join(t.name for t in types))
      names = self._names[:len(types)] + [
          'arg%d' % i for i in range(len(self._names), len(types))]
      self._defined[types] = _DefinedFunction(self._function, types, names, options)
    return self._defined[types]

  def __call__(self, *args, **kwargs):
    values = [convert(a) for a in args]
    return self.instantiate([v.dtype for v in values])(*values, **kwargs)


@export('python.framework.function.Defun')
class Defun:
  """Decorates a function of Python that becomes one of the graph: Defun(tf.float32)(f).

  Without types of arguments, there is a definition for the types of each call. Keyword arguments:
  func_name; grad_func, a function of the arguments and the derivatives of the outputs, or
  python_grad_func(op, *derivatives); out_names; shape_func(op), the shapes of the outputs;
  noinline; experimental_*, which become attributes.
  """

  def __init__(self, *input_types, **kwargs):
    self._types = [dtypes.as_dtype(t) for t in input_types]
    self._options = kwargs

  def __call__(self, func):
    if not callable(func):
      raise ValueError('function %s must be callable' % func)
    names, any_number = _arguments_of(func)
    if not self._types:
      if not names and not any_number:
        return _DefinedFunction(func, [], [], self._options)
      return _OverloadedFunction(func, names, self._options)
    if len(names) > len(self._types) or len(names) < len(self._types) and not any_number:
      raise ValueError('The function has %d arguments, which must be the number of types, %d' % (
          len(names), len(self._types)))
    names = names + ['arg%d' % i for i in range(len(names), len(self._types))]
    return _DefinedFunction(func, self._types, names, self._options)


@export('python.framework.function.Declare')
class Declare:
  """A function that is defined elsewhere by a name: its arguments and outputs, [(name, type)]."""

  def __init__(self, func_name, inputs, outputs):
    self._name = func_name
    self._inputs, self._outputs = list(inputs), list(outputs)

  def __call__(self, *args, **kwargs):
    graph = graphs.get_default_graph()
    if len(args) != len(self._inputs):
      raise ValueError('Expected number of arguments: %d' % len(self._inputs))
    values = [convert(a, dtypes.as_dtype(t)) for a, (_, t) in zip(args, self._inputs)]
    op = graph._add(self._name, graph._op_name(self._name, kwargs.get('name')), values, [])
    return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs) or op


def _innermost():
  graph = graphs.get_default_graph()
  return graph if isinstance(graph, _BodyGraph) else None


@export('python.framework.function.get_extra_vars')
def get_extra_vars():
  """Variables that the function being built asked for by tf.get_variable."""
  body = _innermost()
  return list(body.extra_vars) if body else []


@export('python.framework.function.get_extra_inputs')
def get_extra_inputs():
  """Tensors around that the function being built has captured."""
  body = _innermost()
  return [source for source, _ in body.captured] if body else []


@export('python.framework.function.get_extra_args')
def get_extra_args():
  """What stands for these tensors in the function."""
  body = _innermost()
  return [found for _, found in body.captured] if body else []
