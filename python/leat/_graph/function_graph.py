"""Graphs that become functions of another graph's library.

The body of a function is a graph of its own. Its arguments are placeholders. What its operations
read of graphs around it is captured: it becomes a further argument, once for each tensor, and
whoever calls the function passes the tensor. A body within a body captures through the one around
it.
"""
from __future__ import annotations

from leat import _leat
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.scope import control_dependencies, name_scope


class FunctionGraph(graphs.Graph):
  """The body of a function that is made in the graph `outer`."""
  _is_function = True

  def __init__(self, outer):
    super().__init__()
    self.outer = outer
    self.arguments = []    # placeholders
    self.captures = {}     # tensor of any graph around -> placeholder
    self.captured = []     # [(tensor of `outer`, placeholder)] in the order of capturing
    self._seed = outer._seed
    self._collections = outer._collections
    self.copy_functions_(outer)

  def argument(self, dtype, shape=None, name='arg'):
    """A placeholder for a further argument."""
    with self.as_default():
      found = apply_op('Placeholder', name=name, dtype=dtype, shape=shape)
    self.arguments.append(found)
    return found

  def capture(self, tensor):
    """What stands here for a tensor of a graph around."""
    found = self.captures.get(tensor)
    if found is not None:
      return found
    source = tensor
    if tensor.graph is not self.outer:
      if not isinstance(self.outer, FunctionGraph):
        raise ValueError('%s is used in a function of another graph than its own.' % tensor)
      source = self.outer.capture(tensor)
    with self.as_default(), name_scope(None), control_dependencies(None):
      found = apply_op('Placeholder', name=tensor.op.name.rpartition('/')[2],
                       dtype=source.dtype.base_dtype, shape=source.get_shape())
    data = source.handle_data_()   # what the handle of a variable stands for
    if data is not None:
      found.set_handle_data_(data)
    self.captures[tensor] = found
    self.captured.append((source, found))
    return found

  def _own(self, item):
    return item if item.op.graph is self else self.capture(item)

  def _add_or_refuse(self, op_type, name, inputs, attributes):
    inputs = [[self._own(i) for i in item] if type(item) is list else self._own(item)
              for item in inputs]
    building = self._building
    outer = building.colocations
    building.colocations = [op for op in outer if op.graph is self]
    try:
      return super()._add_or_refuse(op_type, name, inputs, attributes)
    finally:
      building.colocations = outer



class Function:
  """A function of a graph's library: its name, and what a call passes besides the arguments."""

  def __init__(self, name, body, outputs):
    self.name, self.body, self.outputs = name, body, outputs

  @property
  def captured(self):
    """The tensors around that a call passes behind the arguments."""
    return [source for source, _ in self.body.captured]


def define(body, name, outputs, output_names=None, attributes=(), gradient=None, control_outputs=(),
           description=None):
  """Makes the body a function of the graph around, with `outputs`, tensors of the body."""
  inputs = body.arguments + [found for _, found in body.captured]
  outputs = [body._own(o) for o in outputs]
  inputs = body.arguments + [found for _, found in body.captured]
  placeholders = {i.op for i in inputs}
  operations = [op for op in body.get_operations() if op not in placeholders]
  try:
    made = body.outer.define_(body, name, operations, inputs, outputs, output_names,
                              list(control_outputs), list(attributes), gradient, description)
  except _leat.StatusError as error:
    from leat._graph import errors
    raise errors.of_status(error) from None
  return Function(made, body, outputs)


def call(graph, function, arguments, name=None, attributes=(), takes_any_shapes=False):
  """The operation that calls the function, with what it captured; `graph` is where it is called.
  A body that does not take the shapes of the arguments is an error, or with takes_any_shapes one
  only in a step."""
  passed = list(arguments) + function.captured
  if isinstance(graph, FunctionGraph):
    passed = [graph._own(p) for p in passed]
  name = graph._op_name(function.name, name)
  try:
    return graph._add(function.name, name, passed, list(attributes))
  except ValueError:
    if not takes_any_shapes:
      raise
    unchecked = ('_disable_call_shape_inference', 'b', True)
    return graph._add(function.name, name, passed, [*attributes, unchecked])
