"""import_graph_def and functions on GraphDefs."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import conversion
from leat._graph import definition
from leat._graph import graph as graphs
from leat._graph import message
from leat._graph.scope import name_scope


def _names(elements, what):
  if elements is None:
    return None
  if not isinstance(elements, (list, tuple)) or not all(isinstance(e, (str, bytes))
                                                        for e in elements):
    raise TypeError('return_elements must be a list of strings.')
  del what
  return [e.decode() if isinstance(e, bytes) else e for e in elements]


def _split(name):
  """(operation, output) of 'name:1'; the output is None where none is said."""
  op, colon, index = name.partition(':')
  if not colon:
    return op, None
  if not index.isdigit():
    raise ValueError('Cannot convert %r to a tensor name.' % name)
  return op, int(index)


@export('import_graph_def', 'graph_util.import_graph_def')
def import_graph_def(graph_def, input_map=None, return_elements=None, name=None, op_dict=None,
                     producer_op_list=None):
  """Adds the operations of a GraphDef to the default graph, below `name`; gives those of
  return_elements."""
  del op_dict, producer_op_list
  if not isinstance(graph_def, message.of('GraphDef')):
    try:
      made = message.of('GraphDef')()
      made.CopyFrom(graph_def)
      graph_def = made
    except TypeError:
      raise TypeError('Argument `graph_def` must be a GraphDef proto.') from None
  if input_map is None:
    input_map = {}
  elif not isinstance(input_map, dict) or not all(isinstance(k, (str, bytes)) for k in input_map):
    raise TypeError('Argument `input_map` must be a dictionary mapping strings to Tensor objects.')
  returns = _names(return_elements, 'return_elements')
  graph = graphs.get_default_graph()
  with name_scope(name, 'import', input_map.values()) as scope:
    prefix = scope[:-1] if scope else ''
    mappings = []
    if input_map:
      if not scope and not all(isinstance(v, _leat.Output) for v in input_map.values()):
        raise ValueError('tf.import_graph_def() requires a non-empty `name` if `input_map` '
                         'contains '
                         'non-Tensor values. Try calling tf.convert_to_tensor() on `input_map` '
                         'values before calling tf.import_graph_def().')
      with name_scope('_inputs'):
        for key, value in input_map.items():
          key = key.decode() if isinstance(key, bytes) else key
          target = value.op if key.startswith('^') and isinstance(value, _leat.Output) else value
          if key.startswith('^'):
            mappings.append((key[1:], -1, target))
          else:
            op, index = _split(key)
            mappings.append((op, index or 0, conversion.convert(value)))
    wanted = [(op, -1 if index is None else index) for op, index in map(_split, returns or ())]
    controls = [op for c in graph._building.controls for op in c.operations]
    graph._check_not_finalized()
    before = graph.count()
    serialized = graph_def.SerializeToString()
    if b'PyFunc' in serialized:
      definition.register_py_func()
    try:
      outputs, operations, missing = graph.import_(
          serialized, prefix=prefix, mappings=mappings, returns=wanted,
          control_inputs=controls)
    except _leat.StatusError as error:
      raise ValueError(error.args[1]) from None
    graph._adopt(before)
  unused = [m for m in missing if m]
  if unused:
    raise ValueError('Attempted to map inputs that were not found in graph_def: [%s]' % ', '.join(
        '%s:%d' % m for m in unused))
  if returns is None:
    return None
  outputs, operations = iter(outputs), iter(operations)
  return [next(operations) if index < 0 else next(outputs) for _, index in wanted]


# ---- graph_util ---------------------------------------------------------------------------------


def _node_name(name):
  if name.startswith('^'):
    return name[1:]
  return name.partition(':')[0]


@export('graph_util.extract_sub_graph')
def extract_sub_graph(graph_def, dest_nodes):
  """The nodes that dest_nodes depend on."""
  if not isinstance(graph_def, message.of('GraphDef')):
    raise TypeError('graph_def must be a graph_pb2.GraphDef proto, but got type %s.' %
                    type(graph_def))
  if isinstance(dest_nodes, str):
    raise TypeError('dest_nodes must be an iterable of strings, but got type %s.' %
                    type(dest_nodes))
  inputs = {n.name: [_node_name(i) for i in n.input] for n in graph_def.node}
  for name in dest_nodes:
    if name not in inputs:
      raise AssertionError('%s is not in graph' % name)
  needed, todo = set(), list(dest_nodes)
  while todo:
    name = todo.pop()
    if name not in needed:
      needed.add(name)
      todo += inputs[name]
  result = message.of('GraphDef')()
  result.node.extend([n for n in graph_def.node if n.name in needed])
  result.library.CopyFrom(graph_def.library)
  result.versions.CopyFrom(graph_def.versions)
  return result


@export('graph_util.must_run_on_cpu')
def must_run_on_cpu(node, pin_variables_on_cpu=False):
  """Whether a node cannot run on an accelerator."""
  node_def = node if isinstance(node, message.Message) else node.node_def
  if pin_variables_on_cpu and node_def.op in ('Variable', 'VariableV2', 'VarHandleOp'):
    return True
  if node_def.op == 'Const' and node_def.attr['dtype'].type in (3, 7):
    return True
  if node_def.op in ('DynamicStitch', 'ParallelDynamicStitch') and node_def.attr['T'].type == 3:
    return True
  return False


@export('graph_util.remove_training_nodes')
def remove_training_nodes(input_graph, protected_nodes=None):
  """Without nodes that only pass values on."""
  protected = set(protected_nodes or ())
  passing = {'CheckNumerics', 'Identity'}
  control_targets = {i[1:] for n in input_graph.node for i in n.input if i.startswith('^')}
  through = {}
  for n in input_graph.node:
    if n.op in passing and n.name not in protected and n.name not in control_targets and \
        n.op in ('CheckNumerics', 'Identity') and n.input and not any(
            i.startswith('^') for i in n.input):
      through[n.name] = n.input[0]
  result = message.of('GraphDef')()
  for n in input_graph.node:
    if n.name in through:
      continue
    copy = result.node.add()
    copy.CopyFrom(n)
    del copy.input[:]
    for i in n.input:
      while i.partition(':')[0] in through:
        i = through[i.partition(':')[0]]
      copy.input.append(i)
  return result


@export('graph_util.convert_variables_to_constants')
def convert_variables_to_constants(sess, input_graph_def, output_node_names,
                                   variable_names_whitelist=None, variable_names_blacklist=None):
  """The part of a GraphDef that the outputs need, with the values that variables have in a session
  as constants."""
  from leat._graph import value as values
  inference = extract_sub_graph(input_graph_def, output_node_names)
  kinds = {}
  for node in inference.node:
    if node.op in ('Variable', 'VariableV2', 'VarHandleOp'):
      name = node.name
      if variable_names_whitelist is not None and name not in variable_names_whitelist or \
          variable_names_blacklist is not None and name in variable_names_blacklist:
        continue
      kinds[name] = node
  names = list(kinds)
  fetched = [n + ':0' if kinds[n].op != 'VarHandleOp' else n + '/Read/ReadVariableOp:0'
             for n in names]
  found = dict(zip(names, sess.run(fetched))) if names else {}
  result = message.of('GraphDef')()
  for node in inference.node:
    made = result.node.add()
    if node.name in found:
      made.op, made.name = 'Const', node.name
      made.attr['dtype'].CopyFrom(node.attr['dtype'])
      made.attr['value'].tensor.CopyFrom(values.make_tensor_proto(
          found[node.name], dtype=node.attr['dtype'].type, shape=found[node.name].shape))
    elif node.op == 'ReadVariableOp' and _node_name(node.input[0]) in found:
      made.op, made.name = 'Identity', node.name
      made.input.extend([node.input[0]])
      made.attr['T'].CopyFrom(node.attr['dtype'])
    elif node.op == 'ResourceGather' and _node_name(node.input[0]) in found:
      made.op, made.name = 'Gather', node.name
      made.input.extend(node.input)
      made.attr['Tparams'].CopyFrom(node.attr['dtype'])
      made.attr['Tindices'].CopyFrom(node.attr['Tindices'])
    else:
      made.CopyFrom(node)
  result.library.CopyFrom(inference.library)
  result.versions.CopyFrom(inference.versions)
  return result


@export('graph_util.tensor_shape_from_node_def_name')
def tensor_shape_from_node_def_name(graph, input_name):
  """The shape of a tensor given by name."""
  return graph.get_tensor_by_name(input_name if ':' in input_name else input_name + ':0'
                                  ).get_shape()
