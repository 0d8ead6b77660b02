"""A profile as text, as a message, and as events of a timeline."""
from __future__ import annotations

import json

from leat._profiler import messages
from leat._profiler.tree import ROOT

# What can be selected, in the order in which it is shown: (name, what the table calls it).
_COLUMNS = (
    ('params', '# parameters'), ('float_ops', '# float_ops'), ('bytes', 'requested bytes'),
    ('peak_bytes', 'peak bytes'), ('residual_bytes', 'residual bytes'),
    ('output_bytes', 'output bytes'),
    ('micros', 'total execution time | accelerator execution time | cpu execution time'),
    ('accelerator_micros', 'accelerator execution time'), ('cpu_micros', 'cpu execution time'),
    ('device', 'assigned devices'), ('op_types', 'op types'),
    ('occurrence', 'op count (run|defined)'), ('input_shapes', 'input shapes'))
SELECTED = frozenset(name for name, _ in _COLUMNS)
_TIMES = ('micros', 'accelerator_micros', 'cpu_micros')
_OPTIONS = ('max_depth min_bytes min_peak_bytes min_residual_bytes min_output_bytes min_micros '
            'min_accelerator_micros min_cpu_micros min_params min_float_ops min_occurrence step '
            'order_by account_type_regexes start_name_regexes trim_name_regexes show_name_regexes '
            'hide_name_regexes account_displayed_op_only select output').split()


def _scaled(value, units):
  size, unit = next((size, unit) for size, unit in units if value >= size)
  return '%.2f%s' % (value / size, unit) if size else '%d%s' % (value, unit)


def amount(key, value):
  """A count with its unit."""
  if key.endswith('bytes'):
    return _scaled(value, ((1e6, 'MB'), (1e3, 'KB'), (0, 'B')))
  if key.endswith('micros'):
    return _scaled(value, ((1e6, 'sec'), (1e3, 'ms'), (0, 'us')))
  return _scaled(value, ((1e9, 'b'), (1e6, 'm'), (1e3, 'k'), (0, '')))


def _shape(sizes):
  if sizes is None or min(sizes, default=0) < 0:
    return 'unknown'
  return 'x'.join(map(str, sizes)) or '1'


def _in_tree(item, column):
  """The columns of an item of a tree: own counts and totals."""
  own = lambda key: amount(key, item.own[key]) if item.accounted else '--'
  both = lambda key: '%s/%s' % (own(key), amount(key, item.total[key]))
  if column == 'params':
    shape = _shape(item.shape) + ', ' if item.shape is not None else ''
    return shape + both(column) + ' params'
  if column == 'float_ops':
    return both(column) + ' flops'
  if column == 'micros':
    return ', '.join(map(both, _TIMES))
  if column == 'occurrence':
    return both('run_count') + '|' + both(column)
  words = _words(item, column)
  return both(column) if words is None else words


def _words(item, column):
  """The columns that are no counts; None for those that are."""
  if column == 'device':
    return '|'.join(item.devices)
  if column == 'op_types':
    return '|'.join(item.types)
  return '|'.join('%d:%s' % (i, _shape(s)) for i, s in item.input_shapes) \
      if column == 'input_shapes' else None


def _in_list(item, column, whole):
  """The columns of an op: its count, the shares of its total and of itself."""
  def part(key):
    share = [100.0 * p / whole[key] if whole[key] else 0.0
             for p in (item.total[key], item.own[key])]
    unit = ' ' + key if key in ('params', 'float_ops') else ''
    return '%30s' % ('%s%s (%.2f%%, %.2f%%)' % (amount(key, item.own[key]), unit, *share))
  if column == 'micros':
    return ', '.join(map(part, _TIMES))
  if column == 'occurrence':
    return '%10s' % ('%d|%d' % (item.own['run_count'], item.own['occurrence']))
  if column in ('device', 'op_types'):
    return '|'.join(item.devices if column == 'device' else item.types)
  return part(column)


def _inputs_of_nodes(item):
  """Lines of how often the nodes of an op have inputs of which shapes."""
  kinds = {}
  for node in item.nodes:
    text = ',\t'.join('%d:%s' % (i, _shape(s)) for i, s in node.input_shapes)
    kind = kinds.setdefault(text, [0, 0, 0])
    for i, key in enumerate(('micros', 'run_count', 'occurrence')):
      kind[i] += node.own[key]
  yield ''
  for text, (micros, runs, defined) in sorted(kinds.items(), key=lambda k: (-k[1][0], k[0])):
    yield 'input_type: %s\t(run*%d|defined*%d)\texec_time: %s' % (text, runs, defined,
                                                                  amount('micros', micros))
  yield ''


def _lines(root, cmd, columns):
  left = [(root, 0)]
  while left:
    item, indent = left.pop()
    if cmd != 'op':
      yield '%s%s (%s)' % ('  ' * indent, item.name, ', '.join(
          _in_tree(item, c) for c in columns if c != 'device' or item.devices))
    elif item.name != ROOT:
      yield '%-25s%s' % (item.name, ', '.join(
          _in_list(item, c, root.total) for c in columns if c != 'input_shapes'))
      if 'input_shapes' in columns:
        yield from _inputs_of_nodes(item)
    left += [(child, indent + 1) for child in reversed(item.children)]


def _option(value):
  if isinstance(value, bool):
    return str(value).lower()
  return ','.join(value) if isinstance(value, (list, tuple)) else str(value)


def text_of(root, cmd, options):
  """The options and the table."""
  shown = dict(options, select=sorted(options['select']))
  lines = ['', '=========================Options=============================']
  for name in _OPTIONS:
    value = _option(shown.get(name, 0))
    lines.append('-%-27s%s' % (name, value if name != 'output' or ':' in value else value + ':'))
  columns = [name for name, _ in _COLUMNS if name in options['select']]
  names = [text for name, text in _COLUMNS if name in options['select']]
  header = 'node name | ' + ' | '.join(names)
  lines += ['', '==================Model Analysis Report======================', '', 'Profile:',
            header.replace('op count', 'op occurrence') if cmd == 'op' else header]
  lines += _lines(root, cmd, columns)
  return '\n'.join(lines + ['', '======================End of Report=========================='])


def timeline_of(root):
  """The items as a trace for chrome://tracing: each is as long as all below it took."""
  events, left = [], [(root, 0)]
  while left:
    item, start = left.pop()
    if item is not root:
      events.append({'ph': 'X', 'cat': 'Op', 'name': item.name, 'pid': 0, 'tid': 0, 'ts': start,
                     'dur': item.total['micros'], 'args': {'name': item.name}})
    for child in item.children:
      left.append((child, start))
      start += child.total['micros']
  return json.dumps({'traceEvents': events})


# ---- Messages -----------------------------------------------------------------------------------


def message_of(root, cmd):
  """The tree as a GraphNodeProto or, by op and by code, a MultiGraphNodeProto."""
  made = messages.GraphNodeProto() if cmd in ('scope', 'graph') else \
      messages.MultiGraphNodeProto()
  left = [(root, made)]
  while left:
    item, proto = left.pop()
    proto.name = item.name
    for field, (count, is_total, _, multi) in messages.NUMBERS.items():
      number = (item.total if is_total else item.own)[count]
      if number and (multi or hasattr(proto, 'devices')):
        setattr(proto, field, number)
    if hasattr(proto, 'devices'):
      proto.devices.extend(item.devices)
      if item.shape is not None:
        shape = proto.shapes.add()
        for size in item.shape:
          shape.dim.add().size = size
    left += [(node, proto.graph_nodes.add()) for node in item.nodes]
    left += [(child, proto.children.add()) for child in item.children]
  return made
