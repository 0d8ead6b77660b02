"""Loops and branches as messages, which MetaGraphs have for TensorFlow's Python.

This library sees in a graph what is in a loop or a branch. TensorFlow's Python does not: to build
gradients of a graph that it imports it wants a WhileContextDef for each loop and a CondContextDef
for each branch. They are found here, in one walk over the operations:

    loop    Enter --> Merge --> Switch --> Exit          branch  X/Switch(p, p):1 --> X/switch_t
                        ^         | LoopCond                     X/Switch(p, p):0 --> X/switch_f
                   NextIteration <-- body                        X/pred_id

An operation is in the innermost context that its inputs are in. What an Exit gives is outside of
the loop, and a Merge of branches is outside of them. Names decide of branches only: a gradient that
passes the Switches of a conditional has a scope of its own and is in none of its branches.
"""
from __future__ import annotations

from leat._graph import message, wire

COLLECTIONS = ('cond_context', 'while_context')
_ENTERS, _EXITS = ('Enter', 'RefEnter'), ('Exit', 'RefExit')
_SWITCHES, _MERGES = ('Switch', 'RefSwitch'), ('Merge', 'RefMerge')


class _Context:
  """A loop, or a branch of a conditional."""

  def __init__(self, name, scope, outer, branch=None, pivot=None):
    self.name, self.scope, self.outer = name, scope, outer
    self.branch, self.pivot = branch, pivot   # None for a loop
    self.depth = 0 if outer is None else outer.depth + 1
    self.nested, self.members, self.captured = [], [], {}
    self.variables = []   # of a loop: its Merges
    if outer is not None:
      outer.nested.append(self)


def of_graph(graph):
  """{'cond_context': messages, 'while_context': messages} of the outermost contexts."""
  operations = graph.get_operations()
  found = {name: [] for name in COLLECTIONS}
  if any(op.type in _SWITCHES for op in operations):
    for context in _Walk().run(operations):
      proto = _message(context)
      if proto is not None:
        found['while_context' if context.branch is None else 'cond_context'].append(proto)
  return found


class _Walk:
  """Puts operations, in the order in which they were added, into contexts."""

  def __init__(self):
    self._contexts = {}   # operation -> context, where it is in one
    self._loops, self._branches = {}, {}   # by frame; by (name of the predicate, branch)
    self._outermost = []

  def run(self, operations):
    for op in operations:
      context = self._of(op)
      if context is not None:
        self._contexts[op] = context
        context.members += [t.name for t in op.outputs]
    return self._outermost

  def _made(self, context):
    if context.outer is None:
      self._outermost.append(context)
    return context

  def _around(self, ops):
    """The innermost context of what the operations give."""
    best = None
    for op in ops:
      context = self._contexts.get(op)
      if context is not None and op.type in _EXITS:
        context = context.outer
      if context is not None and (best is None or context.depth > best.depth):
        best = context
    return best

  def _of(self, op):
    inputs = op.inputs
    if op.type in _ENTERS:
      return self._of_enter(op)
    if op.type in _EXITS:
      return self._contexts.get(inputs[0].op)
    around = self._around([t.op for t in inputs] + op.control_inputs)
    if op.type in _MERGES:
      if around is not None and around.branch is None and inputs[0].op.type in _ENTERS:
        around.variables.append(op)
      elif around is not None and around.branch is not None:
        around = around.outer
    elif op.type in _SWITCHES:
      return self._of_switch(op, around)
    elif op.type == 'Identity' and inputs[0].op.type in _SWITCHES:
      around = self._pivot_of(op) or around
    while around is not None and around.branch is not None and not op.name.startswith(around.scope):
      around = around.outer
    return around

  def _of_enter(self, op):
    frame = op.get_attr('frame_name').decode()
    loop = self._loops.get(frame)
    if loop is None:
      outer = self._around([op.inputs[0].op] + op.control_inputs)
      loop = self._loops[frame] = self._made(_Context(frame, None, outer))
    if op.get_attr('is_constant'):
      loop.captured[op.inputs[0].name] = op.outputs[0].name
    return loop

  def _of_switch(self, op, around):
    """A Switch that takes a value into one branch is in that branch."""
    value, predicate = op.inputs
    used = [i for i in (0, 1) if op.outputs[i].consumers()]
    if len(used) == 1:
      branch = self._branches.get((predicate.name, used[0]))
      if branch is not None and op.name.startswith(branch.scope):
        branch.captured[value.name] = op.outputs[used[0]].name
        return branch
    return around

  def _pivot_of(self, op):
    """The branch that begins with the operation, or None."""
    switch = op.inputs[0].op
    scope, _, last = op.name.rpartition('/')
    if switch.inputs[0] is not switch.inputs[1] or last not in ('switch_t', 'switch_f'):
      return None
    branch, scope = int(last == 'switch_t'), scope + '/'
    predicate = scope + 'pred_id:0'
    context = self._made(_Context(scope + ('cond_text' if branch else 'cond_text_1'), scope,
                                  self._contexts.get(switch), branch, op.outputs[0].name))
    context.captured[predicate] = predicate
    self._branches[predicate, branch] = context
    return context


# ---- Messages -----------------------------------------------------------------------------------


def message_of(name):
  """The class of a message, of which the library has no descriptor."""
  for defined, fields in _MESSAGES.items():
    wire.define('tensorflow.' + defined, fields)
  return message.of(name)


def _field(name, number, kind='string', label='singular', of=None, oneof=-1):
  return [name, number, kind, label, of and 'tensorflow.' + of, oneof]


_MESSAGES = {
    'ValuesDef.external_values_entry': [_field('key', 1), _field('value', 2)],
    'ValuesDef': [
        _field('values', 1, label='repeated'),
        _field('external_values', 2, 'message', 'map', 'ValuesDef.external_values_entry')],
    'CondContextDef': [
        _field('context_name', 1), _field('pred_name', 2), _field('pivot_name', 3),
        _field('branch', 4, 'int32'), _field('values_def', 5, 'message', of='ValuesDef'),
        _field('nested_contexts', 6, 'message', 'repeated', 'ControlFlowContextDef')],
    'WhileContextDef': [
        _field('context_name', 1), _field('parallel_iterations', 2, 'int32'),
        _field('back_prop', 3, 'bool'), _field('swap_memory', 4, 'bool'), _field('pivot_name', 5),
        _field('pivot_for_pred_name', 6), _field('pivot_for_body_name', 7),
        _field('loop_exit_names', 8, label='repeated'),
        _field('values_def', 9, 'message', of='ValuesDef'),
        _field('loop_enter_names', 10, label='repeated'), _field('maximum_iterations_name', 11),
        _field('nested_contexts', 12, 'message', 'repeated', 'ControlFlowContextDef')],
    'ControlFlowContextDef': [
        _field('cond_ctxt', 1, 'message', of='CondContextDef', oneof=0),
        _field('while_ctxt', 2, 'message', of='WhileContextDef', oneof=0)],
}


def _message(context):
  """The message of a context; None for a loop of another form than tf.while_loop gives it."""
  proto = _loop_message(context) if context.branch is None else _branch_message(context)
  if proto is None:
    return None
  proto.context_name = context.name
  proto.values_def.values.extend(sorted(set(context.members) | set(context.captured)))
  for outside, inside in context.captured.items():
    proto.values_def.external_values[outside] = inside
  for inner in context.nested:
    inner_proto = _message(inner)
    if inner_proto is not None:
      nested = proto.nested_contexts.add()
      getattr(nested, 'while_ctxt' if inner.branch is None else 'cond_ctxt').CopyFrom(inner_proto)
  return proto


def _branch_message(context):
  return message_of('CondContextDef')(pred_name=context.scope + 'pred_id:0',
                                      pivot_name=context.pivot, branch=context.branch)


def _consumer(tensor, types):
  """The first consumer of a tensor with one of the types, or None."""
  return next((op for op in tensor.consumers() if op.type in types), None)


def _loop_message(context):
  proto = message_of('WhileContextDef')(back_prop=True)
  for merge in context.variables:
    enter, switch = merge.inputs[0], _consumer(merge.outputs[0], _SWITCHES)
    if switch is None or switch.inputs[1].op.type != 'LoopCond':
      return None
    body = _consumer(switch.outputs[1], ('Identity', 'RefIdentity'))
    if not proto.pivot_name:
      proto.pivot_name, proto.pivot_for_pred_name = switch.inputs[1].name, merge.outputs[0].name
      proto.parallel_iterations = enter.op.get_attr('parallel_iterations')
    if body is not None and not proto.pivot_for_body_name:
      proto.pivot_for_body_name = body.outputs[0].name
    left = _consumer(switch.outputs[0], _EXITS)
    if left is not None:
      proto.loop_exit_names.append(left.outputs[0].name)
    proto.loop_enter_names.append(enter.name)
  return proto if proto.pivot_for_body_name else None
