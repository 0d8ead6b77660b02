"""Functions that datasets call for their elements.

A function of Python is called once, with a structure of components that stand for any element; the
operations that it adds become a function of the graph's library, as those of Defun do. Tensors
around it are captured: the operation of the dataset takes them as further inputs.
"""
from __future__ import annotations

import hashlib
import re

from leat._data import element as elements
from leat._graph import function_graph
from leat._graph import graph as graphs
from leat._graph.defun import _BodyGraph
from leat._graph.scope import GraphKeys

_METHODS = ('map', 'flat_map', 'interleave', 'filter', 'reduce', 'unbatch')


class Traced:
  """A function of the library: its `name`, the specs `element` of what it gives, and the tensors
  around it that it has `captured`."""

  def __init__(self, name, element, captured):
    self.name, self.element, self.captured = name, element, captured


def _normalized(result):
  """A list is taken as a tuple: it is most often what an operation with several outputs gave."""
  return elements.normalized(tuple(result) if isinstance(result, list) else result)


def traced(function, where, element, convert=_normalized):
  """The function as one of the default graph's library. It is called with the components of an
  element, where they are a tuple each as an argument of its own. `where` is the transformation that
  it is passed to, and `convert` makes (components, specs) of what it gives; TypeError where it
  cannot."""
  from leat._ops import variable_scope
  outer = graphs.get_default_graph()
  body = _BodyGraph(outer, where)
  scope = variable_scope.get_variable_scope()
  arguments = [body.argument(spec.flat_type, spec.flat_shape)
               for spec in elements.nest.flatten(element)]
  tables = len(outer.get_collection(GraphKeys.TABLE_INITIALIZERS))
  with body.as_default(), variable_scope.variable_scope(scope, custom_getter=body.getvar):
    value = elements.value_of(element, arguments)
    result = function(*value) if type(value) is tuple else function(value)
    components, specs = _converted(convert, result, where)
    outputs = [body._own(t) for t in elements.carriers(specs, components)]
  if len(outer.get_collection(GraphKeys.TABLE_INITIALIZERS)) != tables:
    import warnings
    warnings.warn('Creating lookup tables inside a function passed to %s is not supported: their '
                  'initializers belong to no session. Create each table outside the function.' %
                  _transformation(where))
  name = _name_of(function, where, body, outputs)
  made = function_graph.define(body, name, outputs, output_names=[
      'output_%d' % i for i in range(len(outputs))])
  return Traced(name, specs, made.captured)


def _transformation(where):
  return ('Dataset.%s()' if where in _METHODS else 'tf.data.experimental.%s()') % where


def _converted(convert, result, where):
  try:
    return convert(result)
  except (TypeError, ValueError) as error:
    raise TypeError('Unsupported return value from function passed to %s: %s. (%s)' % (
        _transformation(where), result, error)) from None


def _name_of(function, where, body, outputs):
  """Names of functions are told apart by what is in their bodies. Those with a state are not
  shared: where in the graph they are used tells them apart too."""
  own = re.sub('[^A-Za-z0-9_]', '', getattr(function, '__name__', type(function).__name__))
  text = body.as_graph_def().SerializeToString() + repr([o.name for o in outputs]).encode()
  if any(op.op_def.is_stateful for op in body.get_operations()):
    text += b'%d' % len(body.outer.get_operations())
  return 'Dataset_%s_%s_%s' % (where, own or 'function', hashlib.sha1(text).hexdigest()[:12])


class ByValueGraph(function_graph.FunctionGraph):
  """A body without captured arguments: the operations around that it needs are copied into it."""

  def __init__(self, outer, allowed=()):
    super().__init__(outer)
    self._copies, self._allowed = {}, allowed

  def capture(self, tensor):
    op = self._copy(tensor.op)
    return op.outputs[tensor.value_index]

  def _copy(self, op):
    """The operation, here; ValueError where it stands for a value that only its graph has."""
    pending = [op]
    while pending:
      current = pending[-1]
      missing = [i.op for i in current.inputs if i.op not in self._copies]
      if current in self._copies or missing:
        pending = pending + missing if current not in self._copies else pending[:-1]
        continue
      self._copies[current] = self._copy_one(current)
      pending.pop()
    return self._copies[op]

  def _copy_one(self, op):
    if op.type.startswith('Placeholder') and op.type != 'PlaceholderWithDefault':
      raise ValueError('Cannot capture a placeholder (name:%s, type:%s) by value.' % (
          op.name, op.type))
    if op.op_def.is_stateful and op not in self._allowed:
      raise ValueError('Cannot capture a stateful node (name:%s, type:%s) by value.' % (
          op.name, op.type))
    inputs = [self._copies[i.op].outputs[i.value_index] for i in op.inputs]
    attributes = {key: value for key, value in op.node_def.attr.items() if key != '_class'}
    with self.as_default():
      return self.create_op(op.type, inputs, name=op.name.rpartition('/')[2], attrs=attributes)


def by_value(tensor, where, allowed=()):
  """The name of a function without arguments, in the library of the tensor's graph, that gives
  what the tensor is. `allowed` are operations with a state that may be copied."""
  body = ByValueGraph(tensor.graph, allowed)
  output = body.capture(tensor)
  text = body.as_graph_def().SerializeToString() + output.name.encode()
  name = '%s_%s' % (where, hashlib.sha1(text).hexdigest()[:12])
  function_graph.define(body, name, [output], output_names=['handle'])
  return name
