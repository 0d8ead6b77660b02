"""tf.profiler.profile: the parameters and floating-point operations of a graph, by scope or by op.

The scopes of names are a tree, whose leaves are nodes; ops are a list. What a tree has below a name
is added up on the way to its root. Times and bytes are not counted here: tf.RunMetadata has them,
and timeline.Timeline shows them.
"""
from __future__ import annotations

import math
import re

from leat._export import export
from leat._graph import graph as graphs
from leat._graph import message, wire
from leat._profiler import float_operations
from leat._profiler.options import ProfileOptionBuilder

_VARIABLES = ('Variable', 'VariableV2', 'VarHandleOp')
_ROOT = '_TFProfRoot'
_COUNTS = ('params', 'float_ops', 'occurrence')
_UNIT_NAMES = {'float_ops': 'flops'}
_UNITS = ((1e9, 'b'), (1e6, 'm'), (1e3, 'k'))


class _Counted:
  """A node, a scope or an op: its own counts, and those of all that is below it."""

  def __init__(self, name, shape=None):
    self.name, self.shape, self.children, self.nodes = name, shape, [], []
    self.accounted = False
    self.own = dict.fromkeys(_COUNTS, 0)
    self.total = dict.fromkeys(_COUNTS, 0)

  def add(self, counts):
    for key, number in counts.items():
      self.own[key] += number


@export('profiler.profile')
def profile(graph=None, run_meta=None, op_log=None, cmd='scope',
            options=ProfileOptionBuilder.trainable_variables_parameter()):
  """Counts, prints as `options` say, and gives a GraphNodeProto ('scope') or MultiGraphNodeProto
  ('op'). run_meta and op_log add nothing to what is counted. ValueError for other views."""
  del run_meta, op_log
  graph = graphs.get_default_graph() if graph is None else graph
  unknown = [s for s in options['select'] if s not in _COUNTS]
  if cmd not in ('scope', 'op') or unknown:
    raise ValueError('Cannot profile %s by %r: the views are scope and op, of %s' % (
        unknown or 'a graph', cmd, ', '.join(_COUNTS)))
  nodes = _nodes_of(graph, options)
  root = _by_scope(nodes, options) if cmd == 'scope' else _by_op(nodes, options)
  _print(root, cmd, options)
  return _message(root, cmd)


def _nodes_of(graph, options):
  """[(Operation, _Counted)] of all nodes; those whose type is not accounted count nothing."""
  trainable = {v.op.name for v in graph.get_collection('trainable_variables')}
  found = []
  for op in graph.get_operations():
    is_variable = op.type in _VARIABLES
    shape = _shape_of(op) if is_variable else None
    node = _Counted(op.name, shape)
    types = [op.type] + ['_trainable_variables'] * (op.name in trainable)
    node.accounted = any(_matches(t, options['account_type_regexes']) for t in types)
    if node.accounted:
      node.add({'occurrence': 1, 'float_ops': float_operations.count(op),
                'params': math.prod(shape) if shape else int(shape is not None)})
    found.append((op, node))
  return found


def _shape_of(op):
  """The sizes of a variable; None where one is unknown."""
  shape = [d.size for d in op.get_attr('shape').dim] if op.type == 'VarHandleOp' \
      else op.outputs[0].shape_
  return None if shape is None or min(shape, default=0) < 0 else tuple(shape)


def _matches(text, patterns):
  return any(re.fullmatch(pattern, text) for pattern in patterns)


def _by_scope(nodes, options):
  """The tree of names."""
  root = _Counted(_ROOT)
  places = {'': root}

  def place(name):
    if name not in places:
      made = places[name] = _Counted(name)
      place(name.rpartition('/')[0]).children.append(made)
    return places[name]

  for op, node in nodes:
    made = place(op.name)
    made.add(node.own)
    made.shape, made.accounted = node.shape, made.accounted or node.accounted
  if not options['account_displayed_op_only']:
    _add_up_all(root)
  root.children = _shown(_beginnings(root.children, options), options, 2)
  if options['account_displayed_op_only']:
    _add_up_all(root)
  _order_all(root, options)
  return root


def _beginnings(items, options):
  """The outermost items whose names are those that the tree shall begin with."""
  found = []
  for item in items:
    begins = _matches(item.name, options['start_name_regexes'])
    found += [item] if begins else _beginnings(item.children, options)
  return found


def _shown(items, options, depth):
  """The items that options show, with what is shown below them. What is shown below a hidden item
  comes up in its place. The root has the depth 1."""
  if depth > options['max_depth']:
    return []
  kept = []
  for item in items:
    trimmed = _matches(item.name, options['trim_name_regexes'])
    item.children = [] if trimmed else _shown(item.children, options, depth + 1)
    if (item.accounted or item.children) and _is_shown(item, options):
      kept.append(item)
    else:
      kept += item.children
  return kept


def _is_shown(item, options):
  return all(item.own[key] >= options.get('min_' + key, 0) for key in _COUNTS) and _matches(
      item.name, options['show_name_regexes']) and not _matches(
          item.name, options['hide_name_regexes'])


def _ordered(items, options):
  key = options['order_by']
  return sorted(items, key=lambda item: (-item.total[key] if key in _COUNTS else 0, item.name))


def _order_all(item, options):
  item.children = _ordered(item.children, options)
  for child in item.children:
    _order_all(child, options)


def _add_up_all(item):
  """Makes the totals of an item and of all below it."""
  for child in item.children:
    _add_up_all(child)
  for key in _COUNTS:
    item.total[key] = item.own[key] + sum(child.total[key] for child in item.children)


def _by_op(nodes, options):
  """One item for each op, each the child of the one before: a total is an item's own count and
  those of all items behind it."""
  root, places = _Counted(_ROOT), {}
  for op, node in nodes:
    if node.accounted:
      place = places.setdefault(op.type, _Counted(op.type))
      place.accounted = True
      place.add(node.own)
      place.nodes.append(node)
      node.total = node.own
  for item in places.values():
    item.total = dict(item.own)
  items = _ordered([item for item in places.values() if _is_shown(item, options)], options)
  for outer, inner in zip([root] + items, items):
    outer.children = [inner]
  _add_up_all(root)
  return root


# ---- Texts --------------------------------------------------------------------------------------


def _number(value):
  for unit, letter in _UNITS:
    if value >= unit:
      return '%.2f%s' % (value / unit, letter)
  return '%d' % value


def _in_scope(item, key):
  """'3x4, 12/12 params': the shape of a variable, the item's own number, its total."""
  shape = ''
  if key == 'params' and item.shape is not None:
    shape = ('x'.join(map(str, item.shape)) or '1') + ', '
  own = _number(item.own[key]) if item.accounted else '--'
  return '%s%s/%s %s' % (shape, own, _number(item.total[key]), _UNIT_NAMES.get(key, key))


def _of_op(item, key, whole):
  """'48 float_ops (1.67%, 0.48%)': the number, the shares of the total and of the number."""
  share = [100.0 * part / whole[key] if whole[key] else 0.0
           for part in (item.total[key], item.own[key])]
  return '%10s %s (%.2f%%, %.2f%%)' % (_number(item.own[key]), key, *share)


def _lines(item, cmd, options, indent, whole):
  if cmd == 'scope':
    texts = ', '.join(_in_scope(item, key) for key in options['select'])
    yield '%s%s (%s)' % ('  ' * indent, item.name, texts)
  elif item.name != _ROOT:
    yield '%-20s%s' % (item.name, ', '.join(_of_op(item, k, whole) for k in options['select']))
  for child in item.children:
    yield from _lines(child, cmd, options, indent + 1, whole)


def _print(root, cmd, options):
  """Writes the table where options['output'] says."""
  kind, _, where = options['output'].partition(':')
  if kind == 'none':
    return
  names = [{'params': 'parameters'}.get(key, key) for key in options['select']]
  lines = ['', '==================Model Analysis Report======================',
           'node name | # ' + '|# '.join(names)]
  lines += _lines(root, cmd, options, 0, root.total)
  text = '\n'.join(lines + ['', '======================End of Report=========================='])
  if kind == 'file':
    with open(where.partition('=')[2], 'w', encoding='utf-8') as f:
      f.write(text + '\n')
  else:
    print(text)


# ---- Messages -----------------------------------------------------------------------------------


def _message(root, cmd):
  """The tree as a message, of which the library has no descriptor."""
  single, multiple = 'tensorflow.tfprof.GraphNodeProto', 'tensorflow.tfprof.MultiGraphNodeProto'
  number = lambda name, position: [name, position, 'int64', 'singular', None, -1]
  name = ['name', 1, 'string', 'singular', None, -1]
  children = lambda field, position, of: [field, position, 'message', 'repeated', of, -1]
  wire.define(single, [name, number('parameters', 4), number('float_ops', 13),
                       number('total_definition_count', 23), number('total_parameters', 8),
                       number('total_float_ops', 14), children('children', 12, single)])
  wire.define(multiple, [name, number('parameters', 4), number('float_ops', 5),
                         number('total_parameters', 8), number('total_float_ops', 9),
                         children('graph_nodes', 10, single), children('children', 11, multiple)])
  made = message.of('tfprof.GraphNodeProto' if cmd == 'scope' else 'tfprof.MultiGraphNodeProto')()
  _fill(made, root)
  return made


def _fill(proto, item):
  proto.name = item.name
  proto.parameters, proto.float_ops = item.own['params'], item.own['float_ops']
  proto.total_parameters = item.total['params']
  proto.total_float_ops = item.total['float_ops']
  if hasattr(proto, 'total_definition_count'):
    proto.total_definition_count = item.total['occurrence']
  for node in item.nodes:
    _fill(proto.graph_nodes.add(), node)
  for child in item.children:
    _fill(proto.children.add(), child)
