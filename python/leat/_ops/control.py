"""What runs before what: group, tuple, printing."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.graph import get_default_graph
from leat._graph.scope import colocate_with, control_dependencies, device, name_scope


def _flat(items):
  for item in items:
    if isinstance(item, (list, tuple)) and not hasattr(item, 'op'):
      yield from _flat(item)
    elif isinstance(item, dict):
      yield from _flat(item.values())
    else:
      yield item


def op_of(item):
  """The operation that an operation, a tensor or what stands for one is made by."""
  if isinstance(item, _leat.Operation):
    return item
  if hasattr(item, 'op') and item.op is not None:
    return item.op
  convert_to = getattr(item, '_as_graph_element', None)
  if convert_to is not None:
    return convert_to().op
  raise TypeError("'inputs' should be zero or more (nested) Tensors. Received '%s' with type "
                  "'%s'." %
                  (item, type(item)))


@export('group')
def group(*inputs, **kwargs):
  """An operation that is done when all inputs have run. It has no value."""
  name = kwargs.pop('name', None)
  if kwargs:
    raise ValueError('Received unknown keyword arguments: %s.' % list(kwargs))
  with name_scope(name, 'group_deps', [i for i in _flat(inputs) if i is not None]) as scope:
    by_device = {}
    for item in _flat(inputs):
      if item is None:
        raise TypeError("'inputs' should be zero or more (nested) Tensors. Received 'None' with "
                        "type '%s'." % type(item))
      op = op_of(item)
      by_device.setdefault(op.device, []).append(op)
    if not by_device:
      return apply_op('NoOp', name=scope)
    if len(by_device) == 1:
      (where, ops), = by_device.items()
      with device(where or None) if where else _nothing(), control_dependencies(ops):
        return apply_op('NoOp', name=scope)
    parts = []
    with get_default_graph().device(None):
      for where in sorted(by_device):
        with _device_or_nothing(where), control_dependencies(by_device[where]):
          parts.append(apply_op('NoOp'))
      with control_dependencies(parts):
        return apply_op('NoOp', name=scope)


class _nothing:
  def __enter__(self):
    return None

  def __exit__(self, *unused):
    return False


def _device_or_nothing(where):
  return device(where) if where else _nothing()


EXPORTS = {'tuple': 'tuple_'}


def tuple_(tensors, name=None, control_inputs=None):
  """The same tensors, none of which is there before all are."""
  with name_scope(name, 'tuple', [t for t in tensors if isinstance(t, _leat.Output)]):
    gates = [op_of(t) for t in tensors if t is not None]
    for item in control_inputs or ():
      if not isinstance(item, (_leat.Operation, _leat.Output)):
        raise TypeError('`control_inputs` must only contain Operation or Tensor. Received: %s' %
                        (item,))
      gates.append(op_of(item))
    if not gates:
      raise ValueError("`tensors` must have at least one Tensor. Received: %s." % (tensors,))
    gate = group(*dict.fromkeys(gates))
    return [None if t is None else with_dependencies([gate], t) for t in tensors]


@export('python.ops.control_flow_ops.with_dependencies')
def with_dependencies(dependencies, output_tensor, name=None):
  """output_tensor, once dependencies have run."""
  with name_scope(name, 'control_dependency', list(dependencies) + [output_tensor]) as scope:
    with colocate_with(output_tensor), control_dependencies(dependencies):
      if type(output_tensor).__name__ == 'IndexedSlices':
        return type(output_tensor)(apply_op('Identity', name=scope, input=output_tensor.values),
                                   output_tensor.indices, output_tensor.dense_shape)
      if getattr(output_tensor, '_is_composite', False):
        return output_tensor._map(lambda t: apply_op('Identity', input=t))
      return apply_op('Identity', name=scope, input=output_tensor)


@export('Print')
def Print(input_, data, message=None, first_n=None, summarize=None, name=None):
  """input_, printing data each time it is computed."""
  return apply_op('Print', name=name, input=input_, data=data, message=message, first_n=first_n,
                  summarize=summarize)


@export('identity_n')
def identity_n(input, name=None):
  """All inputs at once."""
  return apply_op('IdentityN', name=name, input=input)
