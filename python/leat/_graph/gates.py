"""Gates behind gradients: a gradient is not there before the operations that need the old value of
its variable have run.

    u ──► dx = dy · uᵀ     reads u                dx ┄┄┐ control edge
     └──► du = xᵀ · dy     changes u at once          ▼
                                              du ──► gate ──► ApplyGradientDescent

Tensors of a reference variable are the variable's own memory, and so are reshaped ones. Without the
gate a step may change u while dx is still being computed of it. What resource variables are read
as does not change, so they need no gate.
"""
from __future__ import annotations

# Ops whose output may be the memory of their input.
_ALIASES = {'Identity', 'RefIdentity', 'Reshape', 'Squeeze', 'ExpandDims', 'StopGradient',
            'Enter', 'RefEnter', 'Switch', 'RefSwitch'}
# What is within a loop or a conditional must not be waited for from outside.
_CONTROL_FLOW = {'Enter', 'RefEnter', 'Switch', 'RefSwitch', 'Merge', 'RefMerge'}


def gated(graph, gradients, sources, start):
  """The gradients, each behind a gate where its source is a reference that others of the
  operations from the number |start| on read too. Where these have loops or conditionals of their
  own, the gate opens when all gradients are there."""
  from leat._ops import control
  ends = [control.op_of(g) for g in gradients if g is not None]
  added = _needed(ends, set(graph.operations(start)))
  inside = any(op.type in _CONTROL_FLOW for op in added)
  found, gates = [], []
  for gradient, source in zip(gradients, sources):
    if gradient is not None and source.dtype._is_ref_dtype:
      readers = _readers(source, added) - {control.op_of(gradient)}
      if readers and inside:
        gates = gates or [control.group(*ends)]
        gradient = control.with_dependencies(gates, gradient)
      elif readers:
        gradient = control.with_dependencies(sorted(readers, key=lambda op: op.name), gradient)
    found.append(gradient)
  return found


def _needed(ends, added):
  """Those of the added operations on which |ends| depend. A gate must not make a step run others,
  such as the gradient of the input of the first layer."""
  needed, left = set(), list(ends)
  while left:
    op = left.pop()
    if op in added and op not in needed:
      needed.add(op)
      left += [x.op for x in op.inputs_] + op.control_inputs
  return needed


def _readers(source, added):
  """Those of the added operations that read the memory of |source|."""
  readers, seen, tensors = set(), set(), [source]
  while tensors:
    consumers = set(tensors.pop().consumers()) - seen
    seen |= consumers
    readers |= consumers & added
    tensors += [y for op in consumers if op.type in _ALIASES for y in op.outputs]
  return readers
