"""tf.cond, tf.while_loop, tf.case: structures of Python around the library's control flow.

The library (`leat/control_flow.h`) knows which context is open, puts each new operation into it and
lets values from outside in. What is done here is what only Python has: functions that build a
branch or a body are called at the right time, nested structures become flat lists of tensors and
back, and types of arguments are checked as TensorFlow checks them. A construct that is not finished
because a function raised is abandoned, so that the graph is outside of it again.
"""
from __future__ import annotations

import collections
import functools

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.building import caller, control_inputs, device_of
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.shape import TensorShape
from leat._ops import nest
from leat._ops.sparse import IndexedSlices, SparseTensor, SparseTensorValue
from leat._ops.tensor_array import TensorArray

# ---- Structures ----------------------------------------------------------------------------------


def _parts(item):
  """The tensors that an item of a structure consists of."""
  if isinstance(item, TensorArray):
    return [item.flow]
  if isinstance(item, SparseTensor):
    return [item.indices, item.values, item.dense_shape]
  if isinstance(item, IndexedSlices):
    found = [item.values, item.indices]
    return found if item.dense_shape is None else found + [item.dense_shape]
  return [item]


def _flat(structure):
  return [part for item in nest.flatten(structure) for part in _parts(item)]


def _packed(structure, tensors):
  """The structure with other tensors: the inverse of _flat."""
  tensors, items = iter(tensors), []
  for item in nest.flatten(structure):
    parts = [next(tensors) for _ in _parts(item)]
    if isinstance(item, TensorArray):
      items.append(item._next(parts[0]))
    elif isinstance(item, (SparseTensor, IndexedSlices)):
      items.append(type(item)(*parts))
    else:
      items.append(parts[0])
  return nest.pack_sequence_as(structure, items)


def _assert_same(first, second):
  """As nest.assert_same_structure, where a SparseTensor also is of a kind of its own."""
  nest.assert_same_structure(first, second)
  for a, b in zip(nest.flatten(first), nest.flatten(second)):
    if len(_parts(a)) != len(_parts(b)) or \
        isinstance(a, (SparseTensor, IndexedSlices)) and type(a) is not type(b):
      raise TypeError("The two structures don't have the same nested structure: %s is not of the "
                      'type of %s.' % (a, b))


def _converted(item):
  """A tensor, or what consists of tensors."""
  if isinstance(item, SparseTensorValue):
    return SparseTensor.from_value(item)
  if isinstance(item, (TensorArray, SparseTensor, IndexedSlices)):
    return item
  return convert(item)


# ---- Constructs ----------------------------------------------------------------------------------


def _built(graph, outputs):
  """Notes the line of the program for the operations of a construct, and that they wait already for
  the control inputs around it."""
  frame = caller()
  for output in outputs:
    if frame is not None:
      output.op._code, output.op._line = frame.f_code, frame.f_lineno
    for controls in graph._building.controls:
      controls._seen.add(output.op)
  return outputs


def _call(function, *arguments):
  try:
    return function(*arguments)
  except _leat.StatusError as error:
    raise graphs._build_error(error) from None


def _bool(value, argument, op):
  """What decides, with TensorFlow's error where it is no bool."""
  value = convert(value, name=argument)
  if value.dtype.base_dtype.name != 'bool':
    raise TypeError("Input '%s' of '%s' Op has type %s that does not match expected type of bool." %
                    (argument, op, value.dtype.name))
  return value


def _unpack(result):
  return result[0] if isinstance(result, (list, tuple)) and len(result) == 1 else result


def _branch(function, what):
  """What the function of a branch gives, as it is and as a list of tensors and operations."""
  original = function()
  if original is None:
    raise ValueError("'%s' must have a return value." % what)
  results = []
  for item in _flat(original):
    results.append(item if isinstance(item, _leat.Operation) else convert(item))
  if not results:
    raise ValueError("'true_fn' and 'false_fn' must return at least one result.")
  return original, results


def _check_branches(original_t, original_f):
  try:
    _assert_same(original_t, original_f)
  except TypeError as error:
    raise TypeError("Incompatible return types of 'true_fn' and 'false_fn': %s" % error) from None
  except ValueError as error:
    raise ValueError("Incompatible return values of 'true_fn' and 'false_fn': %s" %
                     error) from None


def _two_functions(true_fn, false_fn, fn1, fn2):
  for given, old, new_name, old_name in ((true_fn, fn1, 'true_fn', 'fn1'),
                                         (false_fn, fn2, 'false_fn', 'fn2')):
    if given is not None and old is not None:
      raise TypeError("cond(): '%s' and '%s' may not be set simultaneously." % (new_name, old_name))
    if given is None and old is None:
      raise TypeError("cond(): '%s' argument required" % new_name)
    if not callable(old if given is None else given):
      raise TypeError("'%s' must be callable." % new_name)
  return fn1 if true_fn is None else true_fn, fn2 if false_fn is None else false_fn


@export('cond')
def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
  """What true_fn() gives where `pred`, a scalar bool, is true, else what false_fn() gives. Both
  must give the same structure of tensors of the same types.

  Only operations that are added inside of the function that is chosen wait for the choice: what was
  made outside runs in any case.

  >>> x = tf.constant(3.0)
  >>> y = tf.cond(x > 2.0, lambda: x * 10.0, lambda: x)
  >>> float(tf.Session().run(y))
  30.0
  """
  true_fn, false_fn = _two_functions(true_fn, false_fn, fn1, fn2)
  with name_scope(name, 'cond', [pred]) as scope:
    if isinstance(pred, bool):
      raise TypeError("'pred' must not be a Python bool.")
    pred = _bool(pred, 'pred', 'Switch')
    graph = pred.graph
    graph._check_not_finalized()
    building = graph._building
    context = _call(_leat.cond_begin, graph, scope[:-1], pred, device_of(building),
                    control_inputs(building, (pred.op,)))
    try:
      original_t, results_t = _branch(true_fn, 'true_fn')
      context = _call(_leat.cond_else, context, results_t)
      original_f, results_f = _branch(false_fn, 'false_fn')
      if not strict:
        original_t, original_f = _unpack(original_t), _unpack(original_f)
      _check_branches(original_t, original_f)
      merged = _call(_leat.cond_end, context, results_f)
    finally:
      _leat.flow_abandon(context)
    merged = _packed(original_t, _built(graph, merged))
    return merged if strict else _unpack(merged)


# ---- Loops ---------------------------------------------------------------------------------------


def _invariants(item, shape):
  """The shapes that the tensors of a loop variable have in every iteration. As in TensorFlow, that
  of a SparseTensor is given by the shape of its dense_shape, that of IndexedSlices by the shape of
  their values."""
  parts = _parts(item)
  if isinstance(item, SparseTensor):
    rank = item.get_shape().ndims if shape is None else shape.with_rank(1)[0].value
    return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]
  if shape is None:
    return [part.get_shape() for part in parts]
  if isinstance(item, IndexedSlices):
    return [shape, shape[:1], TensorShape([shape.ndims])][:len(parts)]
  return [shape]


def _shapes(loop_vars, shape_invariants):
  """An invariant for each tensor, or None where those that the tensors have hold."""
  items = nest.flatten(loop_vars)
  if shape_invariants is None:
    if not any(isinstance(i, (SparseTensor, IndexedSlices)) for i in items):
      return None
    shapes = [None] * len(items)
  else:
    shapes = [_shape_of(i) for i in _invariant_items(loop_vars, shape_invariants)]
  return [s._sizes() for item, shape in zip(items, shapes) for s in _invariants(item, shape)]


def _shape_of(invariant):
  """The TensorShape of an invariant, which may be a TensorSpec or None."""
  found = invariant if isinstance(invariant, TensorShape) else getattr(invariant, 'shape', None)
  if invariant is not None and not isinstance(found, TensorShape):
    raise TypeError("'shape' must be one of TypeSpec, TensorShape or None. Received: %s" %
                    type(invariant))
  return found


def _invariant_items(loop_vars, invariants):
  """Those of shape_invariants in the order of the variables."""
  if not nest.is_nested(loop_vars):
    return [invariants]
  nest.assert_same_structure(list(loop_vars) if isinstance(loop_vars, tuple) else loop_vars,
                             list(invariants) if isinstance(invariants, tuple) else invariants,
                             check_types=False)
  return nest.flatten(invariants)


class _Loop:
  """One loop while it is built. `wrapped` says that there is a bound, with which TensorFlow counts
  in a variable before the others, so that these are one structure of their own."""

  def __init__(self, loop_vars, single, wrapped):
    self._single, self._wrapped = single, wrapped
    self._vars = loop_vars[0] if single and wrapped else loop_vars
    self._vars = nest.map_structure(_converted, self._vars)

  def start(self, graph, scope, invariants, parallel_iterations, maximum):
    graph._check_not_finalized()
    self._graph = graph
    inputs = _flat(self._vars)
    self._count = len(inputs)
    if invariants is not None and self._single and self._wrapped:
      invariants = invariants[0]
    building = graph._building
    self._context, variables = _call(
        _leat.while_begin, graph, scope, inputs, _shapes(self._vars, invariants),
        device_of(building), control_inputs(building, ()), parallel_iterations, maximum)
    self._variables = _built(graph, variables)

  def _apply(self, function):
    packed = _packed(self._vars, self._variables)
    return function(packed) if self._single and self._wrapped else function(*packed)

  def condition(self, function):
    condition = _bool(self._apply(function), 'input', 'LoopCond')
    self._variables = _built(self._graph, _call(
        _leat.while_body, self._context, condition, self._count))

  def body(self, function):
    """Gives the last values in the structure of what the body gives."""
    packed = self._vars
    result = self._apply(function)
    if self._wrapped:
      _assert_same([packed], [result])
    else:
      result = result if nest.is_nested(result) else [result]
      _assert_same(list(packed), list(result))
    results = [convert(r) for r in _flat(result)]
    exits = _call(_leat.while_end, self._context, results)
    return result, _built(self._graph, exits)

  def abandon(self):
    _leat.flow_abandon(self._context)


@export('while_loop')
def while_loop(cond, body, loop_vars, shape_invariants=None, parallel_iterations=10,
               back_prop=True, swap_memory=False, name=None, maximum_iterations=None,
               return_same_structure=False):
  """Repeats body(*loop_vars) while cond(*loop_vars), a scalar bool, is true, and gives the last
  values.

  `loop_vars` is a list, tuple or nested structure of tensors and TensorArrays; the body gives the
  same structure. Shapes must stay what they were, unless shape_invariants says which sizes may
  change: ValueError otherwise. Up to parallel_iterations rounds run at a time where their values
  allow it. With maximum_iterations the loop ends after so many rounds. tf.gradients goes through
  loops, unless `back_prop` is False.

  >>> i, total = tf.while_loop(lambda i, total: i < 5, lambda i, total: (i + 1, total + i), [0, 0])
  >>> int(tf.Session().run(total))
  10
  """
  del swap_memory
  if not callable(cond):
    raise TypeError("'cond' must be callable.")
  if not callable(body):
    raise TypeError("'body' must be callable.")
  if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
    raise TypeError("'parallel_iterations' must be a positive integer.")
  with name_scope(name, 'while', nest.flatten(loop_vars)) as scope:
    if not loop_vars:
      raise ValueError("'loop_vars' must be provided.")
    if maximum_iterations is not None:
      maximum_iterations = convert(maximum_iterations, name='maximum_iterations')
      if maximum_iterations.get_shape().ndims != 0:
        raise ValueError("'maximum_iterations' must be a scalar. Received shape: %s" %
                         maximum_iterations.get_shape())
    bounded = maximum_iterations is not None
    loop = _Loop(loop_vars, len(loop_vars) == 1 and not return_same_structure, bounded)
    loop.start(graphs.get_default_graph(), scope[:-1], shape_invariants, parallel_iterations,
               maximum_iterations)
    try:
      loop.condition(cond)
      result, exits = loop.body(body)
    finally:
      loop.abandon()
    if not back_prop:
      exits = [apply_op('StopGradient', input=e) for e in exits]
    packed = _packed(result, exits)
    return packed[0] if not bounded and len(exits) == 1 and not return_same_structure else packed


@export('disable_control_flow_v2')
def disable_control_flow_v2():
  """There is no other kind of control flow than the first."""


@export('control_flow_v2_enabled')
def control_flow_v2_enabled():
  """Whether loops and conditionals are calls of functions: False, they are TensorFlow's first kind.
  """
  return False


# ---- Made of conditionals ------------------------------------------------------------------------


@export('Assert', 'debugging.Assert')
def Assert(condition, data, summarize=None, name=None):
  """An operation that fails, showing data, where condition is false."""
  summarize = 3 if summarize is None else summarize
  with name_scope(name, 'Assert', [condition, *data]):
    shown = [convert(d) for d in data]
    if all(d.dtype.base_dtype.name in ('string', 'int32') for d in shown):
      return apply_op('Assert', name='Assert', condition=condition, data=shown,
                      summarize=summarize)
    # Data that may lie on another device are copied only where they are shown.
    condition = convert(condition, name='Condition')
    return cond(condition, lambda: apply_op('NoOp'), lambda: apply_op(
        'Assert', name='Assert', condition=condition, data=data, summarize=summarize),
                name='AssertGuard').op


def _case_pairs(pairs):
  if not isinstance(pairs, (list, tuple, dict)):
    raise TypeError("'pred_fn_pairs' must be a list, tuple, or dict. Received: %s" % type(pairs))
  if isinstance(pairs, collections.OrderedDict):
    pairs = list(pairs.items())
  elif isinstance(pairs, dict):
    pairs = sorted(pairs.items(), key=lambda item: item[0].name)
  for pair in pairs:
    if not isinstance(pair, tuple) or len(pair) != 2:
      raise TypeError("Each entry in 'pred_fn_pairs' must be a 2-tuple. Received %s." % (pair,))
    pred, function = pair
    if not isinstance(pred, _leat.Output):
      raise TypeError('pred must be a Tensor, got: %s' % (pred,))
    if pred.dtype.name != 'bool':
      raise TypeError('pred must be Tensor of type bool: %s' % pred.name)
    if not callable(function):
      raise TypeError('fn for pred %s must be callable.' % pred.name)
  return pairs


def _at_most(predicates, n, message):
  stacked = apply_op('Pack', name='preds_c', values=predicates)
  from leat._ops import math
  count = math.reduce_sum(math.cast(stacked, 'int32'), name='num_true_conds')
  few = apply_op('LessEqual', x=count, y=constant_of(n, name='n_true_conds'))
  text = '%s: more than %d conditions (%s) evaluated as True:' % (
      message, n, ', '.join(p.name for p in predicates))
  return Assert(few, [text, stacked], summarize=len(predicates))


def _last_as_default(predicates, actions):
  """Without a default one of the predicates must be true: the last, if no other is."""
  others, last = predicates[:-1], len(predicates) - 1

  def action():
    text = 'Implementation error: selected default action #%d was called, but some of other ' \
        'predicates are True: ' % last
    stacked = apply_op('Pack', name='preds_c', values=predicates)
    checks = [_at_most(others, 0, text)] if others else []
    checks.append(Assert(predicates[last],
                         ['Input error: None of conditions evaluated as True:', stacked]))
    with control_dependencies(checks):
      return actions[last]()
  return action, others, actions[:-1]


@export('case')
def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name='case'):
  """What the function of the first pair gives whose predicate is true, else what default gives."""
  pairs = _case_pairs(pred_fn_pairs)
  if default is not None and not callable(default):
    raise TypeError('default must be callable.')
  predicates, actions = [p for p, _ in pairs], [f for _, f in pairs]
  with name_scope(name, 'case', predicates):
    if default is None:
      default, predicates, actions = _last_as_default(predicates, actions)
    function = default
    for predicate, action in reversed(list(zip(predicates, actions))):
      function = functools.partial(cond, predicate, true_fn=action, false_fn=function,
                                   strict=strict)
    if not exclusive:
      return function()
    with control_dependencies([_at_most(predicates, 1, 'Input error: exclusive=True')]):
      return function()


@export('switch_case')
def switch_case(branch_index, branch_fns, default=None, name='switch_case'):
  """What the function with that number gives, of a list of functions or a list or dict of (number,
  function); `default`, or the function with the largest number, where there is none."""
  from leat._ops import math
  pairs = list(branch_fns.items()) if isinstance(branch_fns, dict) else [
      f if isinstance(f, (list, tuple)) else (n, f) for n, f in enumerate(branch_fns)]
  if not pairs:
    raise ValueError('Argument `branch_fns` should not be empty.')
  for number, function in pairs:
    if not isinstance(number, int) or not callable(function):
      raise TypeError('branch_fns must be callables or (int, callable), has (%r, %r)' % (
          number, function))
  if len({n for n, _ in pairs}) != len(pairs):
    raise ValueError('branch_fns has a number twice: %s' % sorted(n for n, _ in pairs))
  pairs.sort(key=lambda pair: pair[0])
  with name_scope(name, 'switch_case', [branch_index]):
    index = convert(branch_index, dtypes.int32, 'branch_index')
    function = default
    if function is None:
      function = pairs.pop()[1]
    for number, action in reversed(pairs):
      function = functools.partial(cond, math.equal(index, number), true_fn=action,
                                   false_fn=function)
    return function()
