"""Gates behind gradients: a gradient is not there before the operations that need the old value of
its variable have run.

    u ──► dx = dy · uᵀ     reads u                dx ┄┄┐ control edge
     └──► du = xᵀ · dy     changes u at once          ▼
                                              du ──► gate ──► ApplyGradientDescent

Tensors of a reference variable are the variable's own memory, and so are reshaped ones. Without the
gate a step may change u while dx is still being computed of it. What resource variables are read
as does not change, so they need no gate.

TensorFlow puts a gate behind each operation that has gradients for several inputs, and programs
know these gates by name: `gradients/MatMul_grad/tuple/control_dependency_1` is the gradient of a
weight. So the gradients that are asked for have such names here too, as Identity operations, which
cost nothing in a step where they do not wait.
"""
from __future__ import annotations

# Ops whose output may be the memory of their input.
_ALIASES = {'Identity', 'RefIdentity', 'Reshape', 'Squeeze', 'ExpandDims', 'StopGradient',
            'Enter', 'RefEnter', 'Switch', 'RefSwitch'}
# Ops that read a variable.
_READS = {'Identity', 'ReadVariableOp'}
# What is within a loop or a conditional must not be waited for from outside.
_CONTROL_FLOW = {'Enter', 'RefEnter', 'Switch', 'RefSwitch', 'Merge', 'RefMerge'}


# The inputs of an op that are real numbers and yet have no gradient, by their places.
_CONSTANT_INPUTS = {
    'FusedBatchNorm': (3, 4), 'FusedBatchNormV2': (3, 4), 'FusedBatchNormV3': (3, 4)}


def gated(graph, prefix, targets, gradients, sources, start):
  """The gradients, each behind a gate where its source is a reference that others of the
  operations from the number |start| on read too. Where these have loops or conditionals of their
  own, the gate opens when all gradients are there. |prefix| is the scope of all, with its "/"."""
  from leat._ops import control
  walk = _Walk(graph, prefix, targets, [control.op_of(g) for g in gradients if g is not None],
               start)
  return [None if gradient is None else walk.gated(gradient, source)
          for gradient, source in zip(gradients, sources)]


class _Walk:
  """What the gates of one call of tf.gradients share."""

  def __init__(self, graph, prefix, targets, ends, start):
    self._graph, self._prefix, self._targets, self._ends = graph, prefix, targets, ends
    self._added = _needed(ends, set(graph.operations(start)))
    self._inside = any(op.type in _CONTROL_FLOW for op in self._added)
    self._forward = None   # what the targets depend on
    self._groups = {}      # (name, operations that it waits for): the operation

  def gated(self, gradient, source):
    from leat._ops import control
    waits = []
    if source.dtype._is_ref_dtype:
      waits = _readers(source, self._added) - {control.op_of(gradient)}
      waits = self._ends if waits and self._inside else sorted(waits, key=lambda op: op.name)
    uses = self._uses(source)
    if len(uses) == 1:
      name = self._name(gradient, *uses[0])
      if name:
        return self._named(name, gradient, waits)
    if not waits:
      return gradient
    if self._may_wait(gradient, waits):
      gradient.op._add_control_inputs(waits)
      return gradient
    return control.with_dependencies([self._group('', waits)] if self._inside else waits, gradient)

  def _named(self, name, gradient, waits):
    """The gradient by the name of TensorFlow's gate."""
    from leat._graph.scope import name_scope
    from leat._ops import control
    scope, _, last = name.rpartition('/')
    gates = [self._group('' if self._inside else scope + '/', waits)] if waits else []
    with name_scope(scope + '/'):
      return control.with_dependencies(gates, gradient, name=last)

  def _group(self, scope, waits):
    """An operation that waits for those, made once for each scope."""
    from leat._graph.scope import name_scope
    from leat._ops import control
    key = scope, *waits
    if key not in self._groups:
      with name_scope(scope or self._prefix):
        self._groups[key] = control.group(*waits)
    return self._groups[key]

  def _uses(self, source):
    """[(operation, number of the input)] of the operations before the targets that take the
    source, or what it is read as."""
    uses = _places(source, [op for op in source.consumers() if not self._is_added(op)])
    if len(uses) > 1:
      uses = [use for use in uses if self._is_before_targets(use[0])]
    if len(uses) == 1 and uses[0][0].type in _READS:
      return self._uses(uses[0][0].outputs[0])
    return uses

  def _is_added(self, op):
    return op in self._added or op.name.startswith(self._prefix)

  def _is_before_targets(self, op):
    if self._forward is None:
      self._forward = _needed([t.op for t in self._targets], None)
    return op in self._forward

  def _name(self, gradient, op, index):
    """TensorFlow's name of the gate of an operation's input; None where it has none."""
    constant = _CONSTANT_INPUTS.get(op.type, ())
    places = [i for i, x in enumerate(op.inputs_) if i not in constant and (
        x.dtype.is_floating or x.dtype.is_complex)]
    if len(places) < 2 or index not in places or op.type in _CONTROL_FLOW:
      return None
    scope = '%s%s_grad' % (self._prefix, op.name)
    number = places.index(index)
    return scope + '/tuple/control_dependency' + ('_%d' % number if number else '')

  def _may_wait(self, gradient, waits):
    """Whether the operation of a sum of gradients may itself wait: nothing that was added reads
    it, so that no circle can come of it."""
    op = getattr(gradient, 'op', None)
    return (not self._inside and op is not None and op.type == 'AddN' and op in self._added and
            not any(c in self._added for y in op.outputs for c in y.consumers()))


def _places(tensor, consumers):
  """[(operation, number of the input)] where the consumers take the tensor."""
  return [(op, i) for op in consumers for i, x in enumerate(op.inputs_) if x is tensor]


def _needed(ends, added):
  """Those of the added operations, or for None of all, on which |ends| depend. A gate must not make
  a step run others, such as the gradient of the input of the first layer."""
  needed, left = set(), list(ends)
  while left:
    op = left.pop()
    if op not in needed and (added is None or op in added):
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
