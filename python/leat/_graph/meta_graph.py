"""MetaGraphDefs: a graph with its collections and its saver, as files."""
from __future__ import annotations

import os

from leat import _leat
from leat._export import export
from leat._graph import graph as graphs
from leat._graph import flow_contexts, importing, message, message_text
from leat._platform import files, log, paths

_proto_functions = {}   # collection -> (class of the message, to_proto, from_proto)


@export('register_proto_function')
def register_proto_function(collection_name, proto_type=None, to_proto=None, from_proto=None):
  """How the items of a collection become messages and come back."""
  _proto_functions[collection_name] = (proto_type, to_proto, from_proto)


def _function(name):
  if name in _proto_functions:
    return _proto_functions[name]
  if name in ('variables', 'local_variables', 'model_variables', 'trainable_variables',
              'moving_average_variables', 'metric_variables', 'global_step'):
    from leat._ops import variables
    return (message.of('VariableDef'), lambda v, export_scope=None: v.to_proto(export_scope),
            variables.Variable.from_proto)
  if name == 'queue_runners':
    from leat._train import coordinator
    return (message.of('QueueRunnerDef'), lambda r, export_scope=None: r.to_proto(export_scope),
            coordinator.QueueRunner.from_proto)
  if name == 'savers':
    from leat._train import saver
    return (message.of('SaverDef'), lambda s, export_scope=None: s.to_proto(),
            saver.Saver.from_proto)
  return None, None, None


def _add_collection(meta, name, items, export_scope):
  """Items of one kind as a CollectionDef; collections of other things are left out."""
  definition = message.of('CollectionDef')()
  _, to_proto, _ = _function(name)
  if to_proto is not None:
    try:
      protos = [to_proto(item, export_scope=export_scope) for item in items]
    except (AttributeError, TypeError) as error:
      log.warning('The collection %s is left out of the meta graph: %s', name, error)
      return
    definition.bytes_list.value.extend([p.SerializeToString() for p in protos if p is not None])
  elif all(isinstance(i, (str, bytes)) for i in items):
    definition.bytes_list.value.extend([i.encode() if isinstance(i, str) else i for i in items])
  elif all(isinstance(i, int) for i in items):
    definition.int64_list.value.extend(items)
  elif all(isinstance(i, float) for i in items):
    definition.float_list.value.extend(items)
  elif all(isinstance(i, message.of('google.protobuf.Any')) for i in items):
    definition.any_list.value.extend(items)
  elif all(hasattr(i, 'name') for i in items):
    prefix = export_scope + '/' if export_scope else ''
    definition.node_list.value.extend(
        [i.name[len(prefix):] for i in items if i.name.startswith(prefix)])
  else:
    return
  meta.collection_def[name].CopyFrom(definition)


def _of_scope(graph_def, scope):
  """(the nodes of a scope, whose names lose it; the inputs from outside, which get a mark that
  import_meta_graph's input_map names them by)."""
  prefix, result, unbound = scope.rstrip('/') + '/', message.of('GraphDef')(), []
  result.versions.CopyFrom(graph_def.versions)
  result.library.CopyFrom(graph_def.library)
  for node in graph_def.node:
    if not node.name.startswith(prefix):
      continue
    copy = result.node.add()
    copy.CopyFrom(node)
    copy.name = node.name[len(prefix):]
    for i, name in enumerate(node.input):
      mark, plain = ('^', name[1:]) if name.startswith('^') else ('', name)
      if plain.startswith(prefix):
        copy.input[i] = mark + plain[len(prefix):]
      else:
        copy.input[i] = mark + '$unbound_inputs_' + plain
        unbound.append(copy.input[i].encode())
    if '_class' in node.attr:
      groups = ('loc:@' + prefix).encode()
      del copy.attr['_class'].list.s[:]
      copy.attr['_class'].list.s.extend(
          [b'loc:@' + g[len(groups):] if g.startswith(groups) else g
           for g in node.attr['_class'].list.s if g.startswith(groups) or g[:5] != b'loc:@'])
      if not copy.attr['_class'].list.s:
        del copy.attr['_class']
  return result, list(dict.fromkeys(unbound))


def make(graph, saver_def=None, collection_list=None, export_scope=None, clear_devices=False,
         graph_def=None, strip_default_attrs=False, without_savers=False):
  """The MetaGraphDef of a graph. Attributes that have the default of their op are left out with
  strip_default_attrs, the collection of savers without_savers."""
  meta = message.of('MetaGraphDef')()
  meta.meta_info_def.tensorflow_version = _leat.version()[1]
  meta.meta_info_def.tensorflow_git_version = 'leat'
  # Nodes of a large graph are not looked at where it is exported as it is.
  whole = graph_def is None and not export_scope
  graph_def = graph.as_graph_def(add_shapes=True) if graph_def is None else graph_def
  if clear_devices:
    for node in graph_def.node:
      node.device = ''
  if export_scope:
    graph_def, unbound = _of_scope(graph_def, export_scope)
    if unbound:
      meta.collection_def['unbound_inputs'].bytes_list.value.extend(unbound)
  if strip_default_attrs:
    _strip_defaults(graph, graph_def)
    meta.meta_info_def.stripped_default_attrs = True
  meta.graph_def.CopyFrom(graph_def)
  functions = {f.signature.name for f in graph_def.library.function}
  used = {op.type for op in graph.operations(0)} if whole else {n.op for n in graph_def.node}
  meta.meta_info_def.stripped_op_list.op.extend(
      _stripped(graph, name) for name in sorted(used - functions))
  names = graph.get_all_collection_keys() if collection_list is None else collection_list
  for name in sorted(names):
    items = graph.get_collection(name)
    if items and not (without_savers and name == 'savers'):
      _add_collection(meta, name, items, export_scope)
  if not export_scope:
    for name, contexts in flow_contexts.of_graph(graph).items():
      if contexts and (collection_list is None or name in collection_list):
        meta.collection_def[name].bytes_list.value.extend(
            [c.SerializeToString() for c in contexts])
  if saver_def is not None:
    meta.saver_def.CopyFrom(saver_def)
  return meta


_stripped_definitions = {}   # op -> its OpDef without documentation


def _stripped(graph, name):
  """The OpDef of an op without what is written for readers."""
  found = _stripped_definitions.get(name)
  if found is None:
    from leat._graph import definition
    found = definition.message_of(graph, name)
    for part in [found] + list(found.attr) + list(found.input_arg) + list(found.output_arg):
      part.ClearField('description')
    found.ClearField('summary')
    _stripped_definitions[name] = found
  return found


def _strip_defaults(graph, graph_def):
  """Removes attributes with the values that their ops give them."""
  for node in graph_def.node:
    op = graph.operation(node.name)
    if op is None:
      continue
    for attr in op.op_def.attr:
      if attr.HasField('default_value') and attr.name in node.attr and \
          node.attr[attr.name] == attr.default_value:
        del node.attr[attr.name]


def write(path, graph, saver_def, strip_default_attrs=False):
  meta = make(graph, saver_def, strip_default_attrs=strip_default_attrs)
  files.replace(files.local(path), meta.SerializeToString())


@export('train.export_meta_graph')
def export_meta_graph(filename=None, meta_info_def=None, graph_def=None, saver_def=None,
                      collection_list=None, as_text=False, graph=None, export_scope=None,
                      clear_devices=False, clear_extraneous_savers=False,
                      strip_default_attrs=False, save_debug_info=False):
  """The MetaGraphDef of a graph, also written to a file."""
  del save_debug_info
  graph = graph or graphs.get_default_graph()
  meta = make(graph, saver_def, collection_list, export_scope, clear_devices, graph_def,
              strip_default_attrs, clear_extraneous_savers)
  if meta_info_def is not None:
    meta.meta_info_def.MergeFrom(meta_info_def)
  if filename:
    paths.makedirs(os.path.dirname(filename) or '.', exist_ok=True)
    with paths.open_bytes(filename, 'wb') as f:
      f.write(message_text.for_file(meta, as_text))
  return meta


def read(path):
  """The MetaGraphDef in a file, of either form."""
  if isinstance(path, message.of('MetaGraphDef')):
    return path
  if not paths.exists(path):
    raise OSError('File %s does not exist.' % path)
  data = paths.read(path)
  try:
    return message.of('MetaGraphDef').FromString(data)
  except (message.DecodeError, UnicodeDecodeError):
    return message_text.parse('MetaGraphDef', data, path)


@export('train.import_meta_graph')
def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, graph=None,
                      input_map=None, unbound_inputs_col_name='unbound_inputs',
                      restore_collections_predicate=lambda key: True):
  """Adds the graph and the collections of a MetaGraphDef to a graph, below `import_scope` or the
  current name scope; gives its saver, or None where it has no variables. Collections are restored
  for whose names the predicate is true."""
  from leat._ops import variable_collections
  from leat._train import saver
  meta = read(meta_graph_or_file)
  graph = graphs.get_default_graph() if graph is None else graph
  with graph.as_default():
    _check_inputs(meta, unbound_inputs_col_name, input_map)
    if clear_devices:
      for node in meta.graph_def.node:
        node.device = ''
    scope = graph.unique_name(import_scope) if import_scope else graph.get_name_scope()
    importing.import_graph_def(meta.graph_def, name=scope + '/' if scope else '',
                               input_map=input_map)
    for name in sorted(meta.collection_def):
      # Loops and branches are seen in the graph itself.
      if name != unbound_inputs_col_name and name not in flow_contexts.COLLECTIONS and \
          restore_collections_predicate(name):
        _restore_collection(graph, name, meta.collection_def[name], scope)
    if meta.HasField('saver_def'):
      return saver.Saver(saver_def=meta.saver_def, name=scope)
    return saver.Saver() if variable_collections.global_variables() else None


def _check_inputs(meta, collection, input_map):
  """ValueError where an input from outside of an exported scope is not mapped."""
  if collection not in meta.collection_def:
    return
  wanted = {n.decode() for n in meta.collection_def[collection].bytes_list.value}
  given = {k.lstrip('^') if not k.startswith('^$') else k for k in input_map or {}}
  missing = sorted(n for n in wanted if n not in given and n.lstrip('^') not in given)
  if missing:
    raise ValueError('Graph contains unbound inputs: %s. Must provide these inputs through '
                     'input_map.' % ','.join(missing))


def _restore_collection(graph, name, definition, import_scope):
  proto_type, _, from_proto = _function(name)
  kind = [f.name for f, _ in definition.ListFields()]
  if not kind:
    return
  values = getattr(definition, kind[0]).value
  if kind[0] == 'bytes_list' and from_proto is not None:
    for data in values:
      graph.add_to_collection(name, from_proto(proto_type.FromString(data),
                                               import_scope=import_scope))
  elif kind[0] == 'node_list':
    for item in values:
      item = import_scope + '/' + item if import_scope else item
      graph.add_to_collection(name, graph.as_graph_element(item))
  else:
    for item in values:
      graph.add_to_collection(name, int(item) if kind[0] == 'int64_list' else item)
