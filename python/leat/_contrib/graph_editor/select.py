"""contrib.graph_editor: operations and tensors found by names, by walks, and by where a part of a
graph ends."""
from __future__ import annotations

import re

from leat import _leat
from leat._export import export
from leat._graph import graph as graphs


def flat(items):
  """The items of nested lists, tuples, dicts' values and views, in their order."""
  if isinstance(items, dict):
    items = items.values()
  if hasattr(items, 'ops') and not isinstance(items, _leat.Operation):
    items = items.ops
  if isinstance(items, (_leat.Operation, _leat.Output, graphs.Graph, str)) or \
      not hasattr(items, '__iter__'):
    yield items
    return
  for item in items:
    yield from flat(item)


def operations_of(items):
  """The operations, without repeats; a graph stands for all of its. TypeError for others."""
  found = []
  for item in flat(items):
    if isinstance(item, graphs.Graph):
      found += item.get_operations()
    elif isinstance(item, _leat.Operation):
      found.append(item)
    else:
      raise TypeError('Expected a tf.Operation, got: %s' % type(item))
  return list(dict.fromkeys(found))


def tensors_of(items):
  """The tensors, without repeats; a graph stands for all of its. TypeError for others."""
  found = []
  for item in flat(items):
    if isinstance(item, graphs.Graph):
      found += get_tensors(item)
    elif isinstance(item, _leat.Output):
      found.append(item)
    else:
      raise TypeError('Expected a tf.Tensor, got: %s' % type(item))
  return list(dict.fromkeys(found))


@export('contrib.graph_editor.get_tensors')
def get_tensors(graph):
  """All tensors of a graph."""
  if not isinstance(graph, graphs.Graph):
    raise TypeError('Expected a graph, got: %s' % type(graph))
  return [t for op in graph.get_operations() for t in op.outputs]


@export('contrib.graph_editor.get_generating_ops')
def get_generating_ops(ts):
  """The operations that make the tensors."""
  return list(dict.fromkeys(t.op for t in tensors_of(ts)))


@export('contrib.graph_editor.get_consuming_ops')
def get_consuming_ops(ts):
  """The operations that take the tensors."""
  return list(dict.fromkeys(op for t in tensors_of(ts) for op in t.consumers()))


@export('contrib.graph_editor.ControlOutputs')
class ControlOutputs:
  """Which operations wait for an operation, for all of a graph as it is now."""

  def __init__(self, graph):
    self.graph, self._outputs = graph, {}
    for op in graph.get_operations():
      for source in op.control_inputs:
        self._outputs.setdefault(source, []).append(op)

  def get(self, op):
    """The operations that wait for it."""
    return self._outputs.get(op, [])

  def get_all(self):
    """{operation: those that wait for it}"""
    return self._outputs


# ---- By names -----------------------------------------------------------------------------------


@export('contrib.graph_editor.filter_ops')
def filter_ops(ops, positive_filter):
  """The operations for which the function is true; True takes all."""
  return [op for op in operations_of(ops) if positive_filter is True or positive_filter(op)]


@export('contrib.graph_editor.filter_ops_from_regex')
def filter_ops_from_regex(ops, regex):
  """The operations in whose name the expression is found."""
  return filter_ops(ops, lambda op: re.search(regex, op.name))


@export('contrib.graph_editor.filter_ts')
def filter_ts(ops, positive_filter):
  """The inputs and outputs of operations for which the function is true; True takes all."""
  ops = operations_of(ops)
  ts = dict.fromkeys(_inputs(ops) + _outputs(ops))
  return [t for t in ts if positive_filter is True or positive_filter(t)]


@export('contrib.graph_editor.filter_ts_from_regex')
def filter_ts_from_regex(ops, regex):
  """The inputs and outputs of operations that come from one in whose name the expression is
  found."""
  return filter_ts(ops, lambda t: re.search(regex, t.op.name))


def _selected(args, graph, kind, everything):
  """The items that arguments name, or are, or hold; texts are expressions."""
  found = []
  for arg in flat(args):
    if isinstance(arg, str) or isinstance(arg, re.Pattern):
      if graph is None:
        raise ValueError('Use the keyword argument \'graph\' to use regex.')
      found += [item for item in everything(graph) if re.search(arg, item.name)]
    elif isinstance(arg, kind):
      found.append(arg)
    else:
      raise TypeError('Expected %s or regular expressions, got: %s' % (kind.__name__, type(arg)))
  return list(dict.fromkeys(found))


@export('contrib.graph_editor.select_ops')
def select_ops(*args, graph=None, positive_filter=None, restrict_ops_regex=False):
  """The operations in the arguments, and those of `graph` in whose names expressions, texts, are
  found; with restrict_ops_regex only expressions that begin with (?#ops) count."""
  args = [a for a in flat(args) if not (restrict_ops_regex and isinstance(a, str) and
                                        not a.startswith('(?#ops)'))]
  found = _selected(args, graph, _leat.Operation, lambda g: g.get_operations())
  return [op for op in found if positive_filter is None or positive_filter(op)]


@export('contrib.graph_editor.select_ts')
def select_ts(*args, graph=None, positive_filter=None, restrict_ts_regex=False):
  """The same for tensors; with restrict_ts_regex only expressions that begin with (?#ts) count."""
  args = [a for a in flat(args) if not (restrict_ts_regex and isinstance(a, str) and
                                        not a.startswith('(?#ts)'))]
  found = _selected(args, graph, _leat.Output, get_tensors)
  return [t for t in found if positive_filter is None or positive_filter(t)]


@export('contrib.graph_editor.get_name_scope_ops')
def get_name_scope_ops(ops, scope):
  """Those of the operations that are in a name scope."""
  if scope and scope[-1] == '/':
    scope = scope[:-1]
  return filter_ops_from_regex(ops, '^%s(/.*)?$' % re.escape(scope))


# ---- By walks -----------------------------------------------------------------------------------


def _walk(seeds, inclusive, within_ops, within_ops_fn, next_of):
  """Breadth first from the seeds, each operation once."""
  within = None if not within_ops else set(operations_of(within_ops))
  allowed = lambda op: (within is None or op in within) and (
      within_ops_fn is None or within_ops_fn(op))
  seeds = [op for op in seeds if within is None or op in within]
  found = dict.fromkeys(seeds)
  wave = list(found)
  for op in wave:
    for other in next_of(op):
      if other not in found and allowed(other):
        found[other] = None
        wave.append(other)
  return list(found) if inclusive else wave[len(seeds):]


def _seeds(items, of_tensors):
  items = list(flat(items))
  if items and isinstance(items[0], _leat.Output):
    return of_tensors(items)
  return operations_of(items)


@export('contrib.graph_editor.get_forward_walk_ops')
def get_forward_walk_ops(seed_ops, inclusive=True, within_ops=None, within_ops_fn=None,
                         stop_at_ts=(), control_outputs=None):
  """The operations that depend on the seeds, operations or tensors, the seeds themselves where
  inclusive. The walk stays within_ops, and where within_ops_fn is true, and does not pass
  stop_at_ts; with ControlOutputs it goes along control edges too."""
  stops = set(tensors_of(stop_at_ts))

  def next_of(op):
    for t in op.outputs:
      if t not in stops:
        yield from t.consumers()
    if control_outputs is not None:
      yield from control_outputs.get(op)
  return _walk(_seeds(seed_ops, get_consuming_ops), inclusive, within_ops, within_ops_fn, next_of)


@export('contrib.graph_editor.get_backward_walk_ops')
def get_backward_walk_ops(seed_ops, inclusive=True, within_ops=None, within_ops_fn=None,
                          stop_at_ts=(), control_inputs=False):
  """The operations on which the seeds depend; along control edges too with control_inputs."""
  stops = set(tensors_of(stop_at_ts))

  def next_of(op):
    for t in op.inputs:
      if t not in stops:
        yield t.op
    if control_inputs:
      yield from op.control_inputs
  return _walk(_seeds(seed_ops, get_generating_ops), inclusive, within_ops, within_ops_fn, next_of)


def _both(forward_seed_ops, backward_seed_ops, within_ops, within_ops_fn, control_inputs,
          control_outputs, control_ios, forward_inclusive, backward_inclusive):
  if control_ios is not None:
    control_inputs, control_outputs = True, control_ios
  return (get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops, within_ops_fn,
                               control_outputs=control_outputs),
          get_backward_walk_ops(backward_seed_ops, backward_inclusive, within_ops, within_ops_fn,
                                control_inputs=control_inputs))


@export('contrib.graph_editor.get_walks_intersection_ops')
def get_walks_intersection_ops(
    forward_seed_ops, backward_seed_ops, forward_inclusive=True, backward_inclusive=True,
    within_ops=None, within_ops_fn=None, control_inputs=False, control_outputs=None,
    control_ios=None):
  """The operations between the seeds: those of both walks."""
  forward, backward = _both(forward_seed_ops, backward_seed_ops, within_ops, within_ops_fn,
                            control_inputs, control_outputs, control_ios, forward_inclusive,
                            backward_inclusive)
  backward = set(backward)
  return [op for op in forward if op in backward]


@export('contrib.graph_editor.get_walks_union_ops')
def get_walks_union_ops(
    forward_seed_ops, backward_seed_ops, forward_inclusive=True, backward_inclusive=True,
    within_ops=None, within_ops_fn=None, control_inputs=False, control_outputs=None,
    control_ios=None):
  """The operations of either walk."""
  forward, backward = _both(forward_seed_ops, backward_seed_ops, within_ops, within_ops_fn,
                            control_inputs, control_outputs, control_ios, forward_inclusive,
                            backward_inclusive)
  return list(dict.fromkeys(forward + backward))


# ---- Boundaries ---------------------------------------------------------------------------------


def _inputs(ops):
  return list(dict.fromkeys(t for op in ops for t in op.inputs))


def _outputs(ops):
  return [t for op in ops for t in op.outputs]


@export('contrib.graph_editor.compute_boundary_ts')
def compute_boundary_ts(ops):
  """(tensors that the operations take from others, that others or nobody take from them, that pass
  between them)."""
  ops = operations_of(ops)
  inside, inputs, outputs = set(ops), _inputs(ops), _outputs(ops)
  between = [t for t in inputs if t.op in inside]
  hidden = {t for t in between if inside.issuperset(t.consumers())}
  return ([t for t in inputs if t.op not in inside], [t for t in outputs if t not in hidden],
          between)
