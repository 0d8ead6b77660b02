"""Initial values that depend on other variables.

A variable may begin with what follows from another one, and both are initialized by one operation,
in any order. So the initial value is computed by a copy of its operations, in which each reading of
a variable becomes one of its initial value until it is initialized. What depends on no variable is
not copied.
"""
from __future__ import annotations

from leat._graph.scope import GraphKeys

_VARIABLES = ('Variable', 'VariableV2', 'VarHandleOp')
# These ask about a variable, or read it by its handle: they stay as they are.
_KEPT = ('IsVariableInitialized', 'VarIsInitializedOp', 'ReadVariableOp')


def _sources(op):
  return [i.op for i in op.inputs_] + list(op.control_inputs)


def _in_order(op):
  """All operations that `op` depends on and itself, each after its sources; None where they are in
  a loop."""
  order, state = [], {op: 1}   # 1: its sources are being visited, 2: they were
  path = [(op, iter(_sources(op)))]
  while path:
    current, rest = path[-1]
    source = next(rest, None)
    if source is None:
      path.pop()
      state[current] = 2
      order.append(current)
    elif state.get(source) == 1:
      return None
    elif source not in state:
      state[source] = 1
      path.append((source, iter(_sources(source))))
  return order


def _variable_of(op):
  """The variable that the operation holds, or None."""
  for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
    for v in op.graph.get_collection(key):
      if getattr(v, 'op', None) is op:
        return v
  return None


def guarded(scope, value):
  """The value computed of initialized variables. `scope`, the name of the variable that is made and
  a slash, ends the names of copies."""
  order = _in_order(value.op)
  if order is None or not any(op.type in _VARIABLES for op in order):
    return value
  copies = {}   # output -> the output that takes its place
  for op in order:
    if op.type in _KEPT:
      continue
    if op.type in _VARIABLES:
      variable = _variable_of(op)
      if variable is not None:
        copies[op.outputs[0]] = variable.initialized_value()
    elif any(i in copies for i in op.inputs_):
      kind = 'Switch' if op.type == 'RefSwitch' else op.type
      attributes = op.node_def.attr
      new = op.graph.create_op(kind, [copies.get(i, i) for i in op.inputs_],
                               name='%s_%s' % (op.name, scope),
                               attrs={key: attributes[key] for key in attributes})
      copies.update(zip(op.outputs, new.outputs))
  return copies.get(value, value)
