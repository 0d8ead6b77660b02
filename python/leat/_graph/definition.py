"""Definitions of ops, asked of the library once for each op: what the wrappers are made of."""
from __future__ import annotations

import collections
import importlib

from leat import _leat
from leat._graph import dtype as dtypes

Argument = collections.namedtuple(
    'Argument', 'name type type_attr number_attr type_list_attr is_ref is_list')
Attribute = collections.namedtuple('Attribute', 'name type default minimum allowed inferred')


class Definition:
  """Inputs, outputs and attributes of an op, in the order of its definition."""

  def __init__(self, name, inputs, outputs, attributes, stateful, summary, deprecation):
    self.name, self.stateful, self.summary = name, stateful, summary
    self.deprecation = deprecation
    self.inputs = [_argument(a) for a in inputs]
    self.outputs = [_argument(a) for a in outputs]
    inferred = set()
    for a in self.inputs:
      inferred.update((a.type_attr, a.number_attr, a.type_list_attr))
    self.attributes = [
        Attribute(n, t, default, minimum, _allowed(t, allowed), n in inferred)
        for n, t, default, minimum, allowed in attributes]
    self.by_name = {a.name: a for a in self.attributes}
    self.given = [a for a in self.attributes if a.name not in inferred]   # by a program
    self.needs_attributes = any(a.default is None for a in self.given)
    self.has_container = stateful and 'container' in self.by_name
    self.input_names = frozenset(a.name for a in self.inputs)
    self.takes_references = any(a.is_ref for a in self.inputs)
    self.default_types = {
        a.name: dtypes.as_dtype(a.default[1]) for a in self.attributes
        if a.type == 'type' and a.default is not None}

  def parameters(self):
    """[(name, default or None where it must be given)] in the order of TensorFlow's wrappers:
    inputs, attributes without default, attributes with one."""
    required = [(a.name, None) for a in self.inputs]
    rest = [a for a in self.attributes if not a.inferred]
    return required + [(a.name, None) for a in rest if a.default is None] + \
        [(a.name, a.default) for a in rest if a.default is not None]

  def group_inputs(self, flat, attributes):
    """A flat list of tensors as one item for each input: lists stand in a list."""
    grouped, position = [], 0
    for argument in self.inputs:
      if not argument.is_list:
        grouped.append(flat[position])
        position += 1
        continue
      if argument.number_attr:
        count = attributes[argument.number_attr].i if argument.number_attr in attributes else \
            len(flat) - position - sum(1 for a in self.inputs[self.inputs.index(argument) + 1:])
      else:
        count = len(attributes[argument.type_list_attr].list.type) if \
            argument.type_list_attr in attributes else len(flat) - position
      grouped.append(list(flat[position:position + count]))
      position += count
    return grouped


def _argument(a):
  name, number, type_attr, number_attr, type_list_attr, is_ref = a
  return Argument(name, dtypes._by_number.get(number), type_attr or None, number_attr or None,
                  type_list_attr or None, is_ref, bool(number_attr or type_list_attr))


def _allowed(kind, allowed):
  if not allowed:
    return None
  if 'type' in kind:
    return [dtypes.as_dtype(t) for t in allowed]
  return allowed


_definitions = {}
_registry = []


def register_py_func():
  """Registers the ops that call Python, which the extension adds when they are first needed."""
  importlib.import_module('leat._ops.py_func')


def of(graph, name):
  """The Definition of a registered op, or of a function of the graph. KeyError for others."""
  found = _definitions.get(name)
  if found is not None:
    return found
  if not _registry:
    _registry.append(_leat.Graph())
  if 'PyFunc' in name:
    register_py_func()
  try:
    found = _definitions[name] = Definition(name, *_registry[0].op_definition(name))
    return found
  except _leat.StatusError:
    pass
  if graph is None:
    raise KeyError(name)
  try:
    return Definition(name, *graph.op_definition(name))
  except _leat.StatusError:
    raise KeyError(name) from None


def message_of(graph, name):
  """The OpDef message."""
  from leat._graph import message
  text = graph.op_def_(name)
  return message.of('OpDef').FromString(text)
