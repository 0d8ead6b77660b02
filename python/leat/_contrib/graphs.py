"""contrib.framework: the graph of tensors, the current name scope, nodes of a GraphDef as one."""
from __future__ import annotations

import re

from leat._export import export
from leat._graph import graph as graphs


@export('contrib.framework.get_name_scope')
def get_name_scope():
  """The scope that operations are named in, without a slash at its end."""
  with graphs.get_default_graph().name_scope('x') as scope:
    return scope[:-1].rpartition('/')[0]


@export('contrib.framework.get_graph_from_inputs')
def get_graph_from_inputs(op_input_list, graph=None):
  """The graph of the tensors, variables and operations: `graph` where it is given, which all must
  be in; the default graph where none of them has one. ValueError where two graphs meet."""
  first = None
  for item in op_input_list:
    if not hasattr(item, 'graph') and hasattr(item, '_graph_element'):
      item = item._graph_element
    found = getattr(item, 'graph', None)
    if found is None:
      continue
    if graph is not None and found is not graph:
      raise ValueError('%s is not from the passed-in graph.' % (item,))
    if first is not None and found is not first.graph:
      raise ValueError('%s must be from the same graph as %s.' % (item, first))
    first = item if first is None else first
  return graph or (graphs.get_default_graph() if first is None else first.graph)


@export('contrib.framework.strip_name_scope')
def strip_name_scope(name, export_scope):
  """A name of an operation, a tensor, an input or a colocation without the scope that it begins
  with."""
  if not export_scope:
    return name
  scope = export_scope[:-1] if export_scope.endswith('/') else export_scope
  return re.sub(r'^([\^]|loc:@|)%s/' % re.escape(scope), r'\1', str(name), count=1)


@export('contrib.framework.prepend_name_scope')
def prepend_name_scope(name, import_scope):
  """Such a name within a scope."""
  if not import_scope:
    return name
  scope = import_scope[:-1] if import_scope.endswith('/') else import_scope
  return re.sub(r'^([\^]|loc:@|)', lambda m: m.group(1) + scope + '/', str(name), count=1)


@export('contrib.framework.get_placeholders')
def get_placeholders(graph):
  """The tensors of all placeholders of a graph, in the order of its operations."""
  return [op.outputs[0] for op in graph.get_operations() if op.type == 'Placeholder']


def _node_name(name):
  """The node of an input: 'a' of '^a' and of 'a:1'."""
  return name.lstrip('^').partition(':')[0]


def _reached(starts, inputs):
  """The names of the nodes that lead to `starts`, and these themselves."""
  found, todo = set(), list(starts)
  while todo:
    name = todo.pop()
    if name not in inputs:
      raise KeyError('%s is not in graph' % name)
    if name not in found:
      found.add(name)
      todo += inputs[name]
  return found


@export('contrib.framework.fuse_op')
def fuse_op(graph_def, input_nodes, output_nodes, output_dtypes, output_quantized, op_name,
            op_type):
  """A copy of a GraphDef in which the nodes between `input_nodes` and `output_nodes` (lists of
  names) are one node `op_name` of type `op_type`.

  Input and output nodes stay; the i-th output node, which must have one input, has the fused node's
  i-th output as its input. The attributes _output_types and _output_quantized of that node say what
  these are. TypeError where an argument is no message or list, or where a node in between has an
  input from before `input_nodes` that is none of these."""
  if not hasattr(graph_def, 'node'):
    raise TypeError('graph_def must be a GraphDef: %r' % (graph_def,))
  for what, value in (('input_nodes', input_nodes), ('output_nodes', output_nodes)):
    if isinstance(value, str):
      raise TypeError('%s must be a list: %r' % (what, value))
  nodes = {n.name: n for n in graph_def.node}
  inputs = {n.name: [_node_name(i) for i in n.input] for n in graph_def.node}
  before, up_to_outputs = _reached(input_nodes, inputs), _reached(output_nodes, inputs)
  for name in up_to_outputs - before:
    for source in inputs[name]:
      if source in before and source not in input_nodes:
        raise TypeError('Node %s uses input %s not in input_nodes.' % (name, source))

  out = type(graph_def)()
  out.node.extend([n for n in graph_def.node if n.name in before])
  fused = out.node.add()
  fused.op, fused.name = op_type, op_name
  fused.input.extend(input_nodes)
  fused.attr['_output_types'].list.type.extend(output_dtypes)
  fused.attr['_output_quantized'].b = output_quantized
  for index, name in enumerate(output_nodes):
    if len(nodes[name].input) != 1:
      raise ValueError('Node %s has %d inputs, an output node must have 1' % (
          name, len(nodes[name].input)))
    node = out.node.add()
    node.CopyFrom(nodes[name])
    del node.input[:]
    node.input.append(op_name if index == 0 else '%s:%d' % (op_name, index))
  out.node.extend([n for n in graph_def.node if n.name not in before | up_to_outputs])
  out.library.CopyFrom(graph_def.library)
  out.versions.CopyFrom(graph_def.versions)
  return out
