"""contrib.graph_editor: parts of graphs as views, tensors rerouted, parts copied.

A view is a list of operations with the tensors that go in and out. A copy is made operation by
operation, the inputs first; what it takes from outside of the view stays as it is, is replaced, or,
in another graph, becomes a placeholder. Loops, whose operations depend on themselves, are refused.
"""
from __future__ import annotations

from leat import _leat
from leat._contrib.graph_editor import select
from leat._export import export
from leat._graph import graph as graphs
from leat._graph.scope import name_scope
from leat._ops import array


@export('contrib.graph_editor.SubGraphView')
class SubGraphView:
  """Operations of one graph, and the tensors that go into them and come out; passthrough_ts do
  both, without an operation."""

  def __init__(self, inside_ops=(), passthrough_ts=()):
    self._ops = select.operations_of(inside_ops)
    self._passthroughs = select.tensors_of(passthrough_ts)
    owners = {item.graph for item in self._ops + self._passthroughs}
    if len(owners) > 1:
      raise ValueError('The operations and tensors of a view must be of one graph')
    self._graph = owners.pop() if owners else None
    inputs, outputs, _ = select.compute_boundary_ts(self._ops)
    extra = [t for t in self._passthroughs if t not in inputs and t not in outputs]
    self._inputs, self._outputs = inputs + extra, outputs + extra

  graph = property(lambda self: self._graph)
  ops = property(lambda self: list(self._ops))
  inputs = property(lambda self: list(self._inputs))
  outputs = property(lambda self: list(self._outputs))
  passthroughs = property(lambda self: list(self._passthroughs))

  def __len__(self):
    return len(self._ops)

  def __bool__(self):
    return self._graph is not None

  def op(self, op_id):
    """An operation by its number."""
    return self._ops[op_id]

  def find_op_by_name(self, op_name):
    """An operation by its name; ValueError where it is not there."""
    for op in self._ops:
      if op.name == op_name:
        return op
    raise ValueError('%s not found in subgraph.' % op_name)

  def input_index(self, t):
    """The number of an input; ValueError where it is none."""
    return self._index(self._inputs, t, 'input')

  def output_index(self, t):
    """The number of an output; ValueError where it is none."""
    return self._index(self._outputs, t, 'output')

  @staticmethod
  def _index(tensors, t, what):
    if t not in tensors:
      raise ValueError('Can\'t find %s in %s list.' % (getattr(t, 'name', t), what))
    return tensors.index(t)

  def consumers(self):
    """The operations outside that take outputs."""
    inside = set(self._ops)
    return [op for op in select.get_consuming_ops(self._outputs) if op not in inside]

  def copy(self):
    """A view of the same."""
    return SubGraphView(self._ops, self._passthroughs)


@export('contrib.graph_editor.make_view', 'contrib.graph_editor.sgv')
def make_view(*args, graph=None):
  """A view of operations, of tensors that pass through, and of the operations of `graph` in whose
  names expressions are found; a view is given back."""
  if len(args) == 1 and isinstance(args[0], SubGraphView):
    return args[0]
  items = list(select.flat(args))
  return SubGraphView(select.select_ops([i for i in items if not isinstance(i, _leat.Output)],
                                        graph=graph),
                      [i for i in items if isinstance(i, _leat.Output)])


@export('contrib.graph_editor.make_view_from_scope', 'contrib.graph_editor.sgv_scope')
def make_view_from_scope(scope, graph):
  """A view of the operations in a name scope."""
  return SubGraphView(select.get_name_scope_ops(graph, scope))


# ---- Rerouting ----------------------------------------------------------------------------------


def _moved(source, target, consumers):
  """Gives `source` to the consumers of `target`; how many inputs that were."""
  count = 0
  for op in consumers:
    for i, x in enumerate(list(op.inputs)):
      if x is target:
        op._update_input(i, source)
        count += 1
  return count


def _pairs(ts0, ts1):
  ts0, ts1 = list(select.flat(ts0)), list(select.flat(ts1))
  if len(ts0) != len(ts1):
    raise ValueError('ts0 and ts1 have different sizes: %d != %d' % (len(ts0), len(ts1)))
  for a, b in zip(ts0, ts1):
    if not a.dtype.is_compatible_with(b.dtype) or not a.get_shape().is_compatible_with(
        b.get_shape()):
      raise ValueError('%s cannot take the place of %s' % (a, b))
  return list(zip(ts0, ts1))


def _changeable(ops, can_modify, cannot_modify):
  can = None if can_modify is None else set(select.operations_of(can_modify))
  cannot = set() if cannot_modify is None else set(select.operations_of(cannot_modify))
  return [op for op in ops if (can is None or op in can) and op not in cannot]


@export('contrib.graph_editor.reroute_ts')
def reroute_ts(ts0, ts1, can_modify=None, cannot_modify=None):
  """Gives each of ts0 to the operations that take the one of ts1 in its place, of can_modify (all)
  without cannot_modify; how many inputs were changed. ValueError where types or shapes differ, or a
  loop would come of it."""
  return sum(_moved(a, b, _changeable(b.consumers(), can_modify, cannot_modify))
             for a, b in _pairs(ts0, ts1) if a is not b)


@export('contrib.graph_editor.swap_ts')
def swap_ts(ts0, ts1, can_modify=None, cannot_modify=None):
  """Exchanges the operations that take ts0 and ts1; how many inputs were changed."""
  count = 0
  for a, b in _pairs(ts0, ts1):
    of_a = _changeable(a.consumers(), can_modify, cannot_modify)
    of_b = _changeable(b.consumers(), can_modify, cannot_modify)
    places = [[(op, i) for op in ops for i, x in enumerate(op.inputs) if x is t]
              for t, ops in ((a, of_a), (b, of_b))]
    for (op, i), t in [(p, b) for p in places[0]] + [(p, a) for p in places[1]]:
      op._update_input(i, t)
      count += 1
  return count


@export('contrib.graph_editor.add_control_inputs')
def add_control_inputs(op, cops):
  """Lets an operation wait for others. ValueError where it does already."""
  cops = select.operations_of(cops)
  for other in cops:
    if other in op.control_inputs:
      raise ValueError('%s is already a control_input of %s' % (other.name, op.name))
  op._add_control_inputs(cops)


@export('contrib.graph_editor.remove_control_inputs')
def remove_control_inputs(op, cops):
  """Lets an operation wait for others no longer. ValueError where it does not."""
  cops = select.operations_of(cops)
  for other in cops:
    if other not in op.control_inputs:
      raise ValueError('%s is not a control_input of %s' % (other.name, op.name))
  kept = [other for other in op.control_inputs if other not in cops]
  op._remove_all_control_inputs()
  op._add_control_inputs(kept)


@export('contrib.graph_editor.detach_inputs')
def detach_inputs(sgv, control_inputs=False):
  """(the view, placeholders): the operations of a view take placeholders in place of its inputs."""
  sgv = make_view(sgv)
  made = []
  with sgv.graph.as_default(), name_scope(None):
    for t in sgv.inputs:
      made.append(make_placeholder_from_tensor(t))
      _moved(made[-1], t, [op for op in t.consumers() if op in set(sgv.ops)])
  if control_inputs:
    inside = set(sgv.ops)
    for op in sgv.ops:
      outside = [other for other in op.control_inputs if other not in inside]
      if outside:
        remove_control_inputs(op, outside)
  return SubGraphView(sgv.ops, sgv.passthroughs), made


@export('contrib.graph_editor.make_placeholder_from_tensor', 'contrib.graph_editor.ph')
def make_placeholder_from_tensor(t, scope=None, prefix='geph'):
  """A placeholder of the type and shape of a tensor, named '<scope>/geph__<name of the op>_0'."""
  name = '%s__%s_%d' % (prefix, t.op.name.rpartition('/')[2], t.value_index)
  return array.placeholder(t.dtype.base_dtype, t.get_shape(),
                           '%s/%s' % (scope.rstrip('/'), name) if scope else name)


# ---- Copies -------------------------------------------------------------------------------------


@export('contrib.graph_editor.TransformerInfo')
class TransformerInfo:
  """What became of each operation and tensor of a copied view."""

  def __init__(self, ops, tensors):
    self._transformed_ops, self._transformed_ts = ops, tensors

  def transformed(self, original_top, missing_fn=None):
    """The copies of operations and tensors, in the same structure; of what has none None, or what
    missing_fn gives."""
    return self._mapped(original_top, {**self._transformed_ops, **self._transformed_ts},
                        missing_fn)

  def original(self, transformed_top, missing_fn=None):
    """What operations and tensors are copies of."""
    copies = {**self._transformed_ops, **self._transformed_ts}
    return self._mapped(transformed_top, {made: of for of, made in copies.items()}, missing_fn)

  def _mapped(self, items, table, missing_fn):
    if isinstance(items, dict):
      return {k: self._mapped(v, table, missing_fn) for k, v in items.items()}
    if isinstance(items, (list, tuple)):
      return type(items)(self._mapped(i, table, missing_fn) for i in items)
    if items in table:
      return table[items]
    return None if missing_fn is None else missing_fn(items)


@export('contrib.graph_editor.copy')
def copy(sgv, dst_graph=None, dst_scope='', src_scope='', reuse_dst_scope=False):
  """(a view of the copies, TransformerInfo): copies the operations of a view into dst_graph, the
  same by default. Names lose the scope src_scope and get dst_scope, which is made new unless
  reuse_dst_scope."""
  return copy_with_input_replacements(sgv, {}, dst_graph, dst_scope, src_scope, reuse_dst_scope)


@export('contrib.graph_editor.copy_with_input_replacements')
def copy_with_input_replacements(sgv, replacement_ts, dst_graph=None, dst_scope='', src_scope='',
                                 reuse_dst_scope=False):
  """The same with tensors, {original: replacement}, in place of those that the operations take from
  outside."""
  sgv = make_view(sgv)
  target = sgv.graph if dst_graph is None else dst_graph
  if not isinstance(target, graphs.Graph):
    raise TypeError('Expected a tf.Graph, got: %s' % type(target))
  ops, tensors = {}, {}
  with target.as_default(), name_scope(None), target.device(None), \
      target.control_dependencies(None):
    if dst_scope and not reuse_dst_scope:
      dst_scope = target.unique_name(dst_scope.rstrip('/'))
    scopes = [s.rstrip('/') + '/' if s else '' for s in (dst_scope, src_scope)]
    for op in _inputs_first(sgv.ops):
      _copy_op(op, target, scopes, ops, tensors, replacement_ts)
  return SubGraphView(list(ops.values())), TransformerInfo(ops, tensors)


def _inputs_first(ops):
  """The operations in an order in which each comes behind its inputs."""
  inside, order, entered, done = set(ops), [], set(), set()
  stack = []

  def enter(op):
    entered.add(op)
    stack.append((op, iter([x.op for x in op.inputs] + op.control_inputs)))

  for start in ops:
    if start not in entered:
      enter(start)
    while stack:
      op, left = stack[-1]
      other = next((o for o in left if o in inside and o not in done), None)
      if other is None:
        done.add(op)
        order.append(op)
        stack.pop()
      elif other in entered:
        raise ValueError('Copying failed for node %r (%s): it is in a loop' % (
            other.name, other.type))
      else:
        enter(other)
  return order


def _copy_op(op, target, scopes, ops, tensors, replacements):
  dst_scope, src_scope = scopes
  name = op.name
  if src_scope and not name.startswith(src_scope):
    raise ValueError('%s does not belong to source scope: %s.' % (name, src_scope))

  def outside(t):
    if t in replacements:
      return replacements[t]
    if t.graph is target:
      return t
    tensors[t] = make_placeholder_from_tensor(t, dst_scope)
    return tensors[t]
  inputs = [tensors[t] if t in tensors else outside(t) for t in op.inputs]
  node = op.node_def
  made = target.create_op(op.type, inputs, [t.dtype for t in op.outputs],
                          name=dst_scope + name[len(src_scope):],
                          attrs={k: v for k, v in node.attr.items() if k != '_class'})
  if node.device:
    made._set_device(node.device)
  waits = [ops.get(o, o) for o in op.control_inputs if o in ops or o.graph is target]
  made._add_control_inputs(waits)
  ops[op] = made
  tensors.update(zip(op.outputs, made.outputs))


@export('contrib.graph_editor.graph_replace')
def graph_replace(target_ts, replacement_ts, dst_scope='', src_scope='', reuse_dst_scope=False):
  """The targets, a structure of tensors, computed anew with tensors, {original: replacement},
  replaced: what is between is copied. ValueError where no target depends on one of them."""
  targets = list(select.flat(target_ts))
  ios = select.ControlOutputs(targets[0].graph)
  ops = select.get_walks_intersection_ops(list(replacement_ts), targets, control_ios=ios)
  if not ops:
    raise ValueError('Targets and replacements are not connected!')
  _, info = copy_with_input_replacements(ops, replacement_ts, None, dst_scope, src_scope,
                                         reuse_dst_scope)
  return info.transformed(target_ts, lambda t: replacement_ts.get(t, t))
