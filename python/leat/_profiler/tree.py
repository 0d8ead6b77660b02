"""The views of a profile: what nodes cost, by scope, by input, by op and by line of the program.

A view is a tree of `Item`s. An item has counts of its own and totals, which are those of all that
is below it. A view by scope has the names as its tree; one by graph goes from the nodes that nobody
reads to their inputs, and shows each node once; one by code has the calls of the program; one by op
is a list in which each op is the child of the one before, so that a total is an op's own count and
those of all ops behind it. Options say which items are shown and which counts are added up.
"""
from __future__ import annotations

import math
import os
import re

from leat._profiler import float_operations

ROOT = '_TFProfRoot'
COUNTS = ('params', 'float_ops', 'occurrence', 'run_count', 'micros', 'cpu_micros',
          'accelerator_micros', 'bytes', 'peak_bytes', 'residual_bytes', 'output_bytes')
_SCOPE_TYPE, _GRAPH_ROOT_TYPE = '_kTFScopeParent', '_TFGraphParent'


class Item:
  """A node, a scope, an op or a line."""

  def __init__(self, name, types=(), shape=None):
    self.name, self.types, self.shape = name, list(types), shape
    self.children, self.nodes, self.devices, self.input_shapes = [], [], [], []
    self.accounted = False
    self.own = dict.fromkeys(COUNTS, 0)
    self.total = dict.fromkeys(COUNTS, 0)

  def add(self, counts):
    for key, number in counts.items():
      self.own[key] += number


def nodes_of(graph, options, steps, op_log):
  """[(Operation, Item)] of all nodes; those whose type is not accounted count nothing. `steps` are
  the Steps that were traced, op_log an OpLogProto with further types and counts, or None."""
  costs = steps.costs(options['step'])
  trainable = {v.op.name for v in graph.get_collection('trainable_variables')}
  logged = {entry.name: entry for entry in op_log.log_entries} if op_log is not None else {}
  found = []
  for op in graph.get_operations():
    counts, devices = costs.get(op.name, ({}, []))
    entry = logged.get(op.name)
    types = devices + [op.type] + ['_trainable_variables'] * (op.name in trainable)
    types += [t for t in entry.types if t not in types] if entry else []
    node = Item(op.name, types, _shape_of(op))
    node.devices = devices or [op.device] * bool(op.device)
    node.input_shapes = [(i, steps.shape(x)) for i, x in enumerate(op.inputs)]
    node.accounted = any(_matches(t, options['account_type_regexes']) for t in types)
    if node.accounted:
      node.add(counts)
      node.add({'occurrence': 1, 'params': math.prod(node.shape) if node.shape is not None else 0,
                'float_ops': (entry and entry.float_ops) or
                             float_operations.count(op, steps.shape)})
    found.append((op, node))
  return found


def _shape_of(op):
  """The sizes of what an operation holds for the whole session, or is fed with; None where it holds
  nothing or a size is unknown."""
  if op.attribute('shape') is None:
    return None
  shape = [d.size for d in op.get_attr('shape').dim] if op.type == 'VarHandleOp' \
      else op.outputs[0].shape_
  return None if shape is None or min(shape, default=0) < 0 else tuple(shape)


def _matches(text, patterns):
  return any(re.fullmatch(pattern, text) for pattern in patterns)


# ---- Views --------------------------------------------------------------------------------------


def by_scope(nodes, options):
  """The tree of names."""
  root = Item(ROOT, [_SCOPE_TYPE])
  places = {'': root}
  is_accounted = _matches(_SCOPE_TYPE, options['account_type_regexes'])

  def place(name):
    if name not in places:
      made = places[name] = Item(name, [_SCOPE_TYPE])
      place(name.rpartition('/')[0]).children.append(made)
    return places[name]

  for op, node in nodes:
    made = place(op.name)
    made.add(node.own)
    made.types, made.devices, made.shape = node.types, node.devices, node.shape
    made.input_shapes, made.accounted = node.input_shapes, node.accounted
  for made in places.values():
    if made.types == [_SCOPE_TYPE] and made is not root and is_accounted:
      made.accounted = True
      made.own['occurrence'] = 1
  return _finished(root, options)


def by_graph(nodes, options):
  """The tree of inputs, below the nodes that no other reads."""
  root = Item(ROOT, [_GRAPH_ROOT_TYPE])
  items = {op: node for op, node in nodes}
  inputs = {op: sorted({x.op for x in op.inputs} | set(op.control_inputs), key=lambda o: o.name)
            for op in items}
  read = {source for sources in inputs.values() for source in sources}
  ends = sorted((op for op in items if op not in read), key=lambda o: o.name)
  root.own['occurrence'] = int(_matches(_GRAPH_ROOT_TYPE, options['account_type_regexes']))
  seen, waiting = set(), [(root, iter(ends))]
  while waiting:   # depth first, each node below the first that reads it
    item, left = waiting[-1]
    op = next((o for o in left if o not in seen), None)
    if op is None:
      waiting.pop()
      continue
    seen.add(op)
    item.children.append(items[op])
    waiting.append((items[op], iter(inputs[op])))
  return _finished(root, options)


def by_code(nodes, options):
  """The tree of the program's calls, the outermost first."""
  root = Item(ROOT)
  places = {(): root}
  for op, node in nodes:
    calls, item = (), root
    for file, line, function, text in op.traceback:
      calls += ('%s:%d:%s%s' % (os.path.basename(file), line, function,
                                ':' + text if text else ''),)
      if calls not in places:
        places[calls] = Item(calls[-1])
        item.children.append(places[calls])
      item = places[calls]
    if node.accounted and item is not root:
      item.accounted = True
      item.add(node.own)
      node.total = node.own
      item.nodes.append(node)
      item.devices += [d for d in node.devices if d not in item.devices]
      item.types += [t for t in node.types if t not in item.types]
  for item in places.values():
    item.accounted = item is not root
  return _finished(root, options)


def by_op(nodes, options):
  """One item for each op."""
  root, places = Item(ROOT), {}
  for op, node in nodes:
    if node.accounted:
      place = places.setdefault(op.type, Item(op.type))
      place.accounted = True
      place.add(node.own)
      place.nodes.append(node)
      place.types += [t for t in node.types if t not in place.types]
      place.devices += [d for d in node.devices if d not in place.devices]
      node.total = node.own
  for item in places.values():
    item.total = dict(item.own)
  items = _ordered([item for item in places.values() if _is_shown(item, options)], options)
  for outer, inner in zip([root] + items, items):
    outer.children = [inner]
  for item in reversed([root] + items):
    _add_up(item)
  return root


# ---- What is shown ------------------------------------------------------------------------------


def _finished(root, options):
  """The tree with what options show of it, totals and order."""
  if not options['account_displayed_op_only']:
    _add_up_all(root)
  root.children = _shown(_beginnings(root.children, options), options, 2)
  if options['account_displayed_op_only']:
    _add_up_all(root)
  for item in below(root):
    item.children = _ordered(item.children, options)
  return root


def below(root):
  """The items of a tree, each before its children. A graph may be deeper than Python's stack."""
  found = [root]
  for item in found:
    found += item.children
  return found


def _beginnings(items, options):
  """The outermost items whose names are those that the tree shall begin with."""
  found, left = [], list(items)
  while left:
    item = left.pop(0)
    if _matches(item.name, options['start_name_regexes']):
      found.append(item)
    else:
      left = item.children + left
  return found


def _shown(items, options, depth):
  """The items that options show, with what is shown below them. What is shown below a hidden item
  comes up in its place. The root has the depth 1."""
  tops = Item('')
  tops.children = list(items)
  order, depths = [tops], {tops: depth - 1}
  for item in order:   # cut the tree where it ends
    if depths[item] >= options['max_depth'] or item is not tops and _matches(
        item.name, options['trim_name_regexes']):
      item.children = []
    order += item.children
    depths.update(dict.fromkeys(item.children, depths[item] + 1))
  for item in reversed(order):
    kept = []
    for child in item.children:
      is_shown = (child.accounted or child.children) and _is_shown(child, options)
      kept += [child] if is_shown else child.children
    item.children = kept
  return tops.children


def _is_shown(item, options):
  counts = item.own if options['account_displayed_op_only'] else item.total
  return all(counts[key] >= options.get('min_' + key, 0) for key in COUNTS) and _matches(
      item.name, options['show_name_regexes']) and not _matches(
          item.name, options['hide_name_regexes'])


def _ordered(items, options):
  key = options['order_by']
  return sorted(items, key=lambda item: (-item.total[key] if key in COUNTS else 0, item.name))


def _add_up(item):
  for key in COUNTS:
    item.total[key] = item.own[key] + sum(child.total[key] for child in item.children)


def _add_up_all(root):
  """Makes the totals of an item and of all below it."""
  for item in reversed(below(root)):
    _add_up(item)
