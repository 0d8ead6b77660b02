"""What a notebook shows of tensors, operations, variables, graphs and checkpoints: HTML.

Notebooks ask objects for `_repr_html_`, which calls the functions here. All is asked of the objects
at that time and nothing runs. The picture of a graph is drawn by the tool (`leat inspect graph
--svg`), which lays graphs out as the board does; without the tool there is a table of ops.
"""
from __future__ import annotations

import collections
import subprocess
from html import escape

from leat import _tool
from leat._graph.dtype import DType

MOST_ROWS = 200       # of a table
OPEN_NODES = 150      # graphs of at most so many nodes are drawn with what is in their scopes
DRAWING_SECONDS = 30  # then the table must do


def table(rows, heading=None):
  """Rows of texts as a table; `heading` are those of the first row."""
  lines = ['<table>']
  if heading:
    lines.append('<tr>%s</tr>' % ''.join('<th>%s</th>' % escape(str(c)) for c in heading))
  for row in rows[:MOST_ROWS]:
    lines.append('<tr>%s</tr>' % ''.join(
        '<td style="text-align:left">%s</td>' % escape(str(c)) for c in row))
  if len(rows) > MOST_ROWS:
    lines.append('<tr><td>and %d more</td></tr>' % (len(rows) - MOST_ROWS))
  return '\n'.join(lines + ['</table>'])


def _titled(kind, name, rows):
  return '<b>%s</b> <code>%s</code>\n%s' % (kind, escape(name), table(rows))


def _texts(items):
  return ', '.join(str(item) for item in items) or '–'


def of_tensor(tensor):
  """The name, type and shape of a tensor, and the operation that computes it."""
  rows = [('shape', tensor.shape), ('type', tensor.dtype.name), ('op', tensor.op.type)]
  if tensor.device:
    rows.append(('device', tensor.device))
  if tensor.op.graph._is_immediate:
    rows.append(('value', tensor.numpy()))
  return _titled('Tensor', tensor.name, rows)


def _attribute(op, name):
  value = op.get_attr(name)
  text = value.name if isinstance(value, DType) else ' '.join(str(value).split())
  return text if len(text) <= 100 else text[:100] + '…'


def of_operation(op):
  """The op, device, inputs, outputs and attributes of an operation."""
  tensors = lambda items: _texts('%s %s %s' % (t.name, t.dtype.name, t.shape) for t in items)
  rows = [('op', op.type), ('inputs', tensors(op.inputs)), ('outputs', tensors(op.outputs))]
  if op.control_inputs:
    rows.append(('waits for', _texts(o.name for o in op.control_inputs)))
  if op.device:
    rows.append(('device', op.device))
  rows += [(name, _attribute(op, name)) for name in sorted(op.attribute_names())]
  return _titled('Operation', op.name, rows)


def of_variable(variable):
  """The name, shape and type of a variable. Its value is in sessions, and not shown."""
  rows = [('shape', variable.shape), ('type', variable.dtype.base_dtype.name),
          ('trainable', variable.trainable)]
  if variable.device:
    rows.append(('device', variable.device))
  return _titled('Variable', variable.name, rows)


def of_graph(graph):
  """A drawing of a graph, or how often it has each op."""
  operations = graph.get_operations()
  count = '<b>Graph</b> of %d operations' % len(operations)
  drawing = draw(graph) if operations else ''
  if drawing:
    return '%s\n<div style="overflow:auto;max-height:40em">%s</div>' % (count, drawing)
  ops = collections.Counter(op.type for op in operations).most_common()
  return count + '\n' + table(ops, ('op', 'how often')) if ops else count


def draw(graph, open_scopes=()):
  """The graph as the text of an <svg> element; '' where the tool is missing or fails.

  Small graphs are drawn with all that is in their scopes, of others that of open_scopes.
  """
  if graph.count() <= OPEN_NODES:
    open_scopes = ('*',)
  command = [_tool.path(), 'inspect', 'graph', '/dev/stdin', '--svg']
  for scope in open_scopes:
    command += ['--open', scope]
  try:
    done = subprocess.run(command, input=graph.as_graph_def().SerializeToString(), check=False,
                          capture_output=True, timeout=DRAWING_SECONDS)
  except (OSError, subprocess.TimeoutExpired):
    return ''
  return done.stdout.decode() if done.returncode == 0 else ''


def of_checkpoint(reader):
  """The names, types and shapes of the tensors in a checkpoint."""
  types = reader.get_variable_to_dtype_map()
  rows, elements, size = [], 0, 0
  for name, shape in sorted(reader.get_variable_to_shape_map().items()):
    count = 1
    for length in shape:
      count *= length
    rows.append((name, types[name].name, shape))
    elements += count
    size += count * types[name].size
  return '<b>Checkpoint</b> <code>%s</code>: %d tensors, %s elements, %s bytes\n%s' % (
      escape(reader._prefix), len(rows), format(elements, ','), format(size, ','),
      table(rows, ('tensor', 'type', 'shape')))
