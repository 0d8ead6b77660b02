"""What TensorFlow's tools do that programs import: a graph with the values of a checkpoint as
constants, and the tensors of a checkpoint on the standard output."""
from __future__ import annotations

from leat._export import export
from leat._graph import graph as graphs
from leat._graph import importing
from leat._graph import message
from leat._graph import message_text
from leat._graph import meta_graph
from leat._graph.apply import apply_op
from leat._platform.files import GFile
from leat._saved_model import loader
from leat._session import session as sessions
from leat._train import checkpoint_reader
from leat._train import saver as savers

_VARIABLES = ('Variable', 'VariableV2', 'VarHandleOp')


def _names(text):
  return [n.strip() for n in (text or '').split(',') if n.strip()]


def _read(kind, path, is_binary):
  """The message in a file."""
  with GFile(path, 'rb') as f:
    data = f.read()
  return message.of(kind).FromString(data) if is_binary else message_text.parse(kind, data, path)


def _restore(session, graph_def, saver_def, checkpoint, restore_op, filename_tensor):
  """Gives the variables their values, by the saver, by the operation of the graph that restores, or
  by the names that they have in the checkpoint."""
  if saver_def is not None:
    savers.Saver(saver_def=saver_def).restore(session, checkpoint)
  elif restore_op in (node.name for node in graph_def.node):
    session.run([restore_op], {filename_tensor: checkpoint})
  else:
    saved = checkpoint_reader.NewCheckpointReader(checkpoint).get_variable_to_dtype_map()
    session.run([_restored(session.graph.get_tensor_by_name(node.name + ':0'), node, checkpoint,
                           saved[node.name])
                 for node in graph_def.node if node.op in _VARIABLES and node.name in saved])


def _restored(variable, node, checkpoint, dtype):
  """The operation that gives a variable its value in the checkpoint."""
  value, = apply_op('RestoreV2', None, prefix=checkpoint, tensor_names=[node.name],
                    shape_and_slices=[''], dtypes=[dtype])
  if node.op == 'VarHandleOp':
    return apply_op('AssignVariableOp', None, resource=variable, value=value)
  return apply_op('Assign', None, ref=variable, value=value).op


@export('python.tools.freeze_graph.freeze_graph_with_def_protos')
def freeze_graph_with_def_protos(input_graph_def, input_saver_def, input_checkpoint,
                                 output_node_names, restore_op_name, filename_tensor_name,
                                 output_graph, clear_devices, initializer_nodes,
                                 variable_names_whitelist='', variable_names_blacklist=''):
  """The part of the graph that the outputs need, with the variables of a checkpoint as constants.
  It is also written to the file `output_graph`, unless that is empty. `output_node_names` and other
  lists of names are separated by commas."""
  if not _names(output_node_names):
    raise ValueError('You need to supply the name of a node to --output_node_names.')
  if clear_devices:
    for node in input_graph_def.node:
      node.device = ''
  with graphs.Graph().as_default() as graph:
    importing.import_graph_def(input_graph_def, name='')
    with sessions.Session(graph=graph) as session:
      _restore(session, input_graph_def, input_saver_def, input_checkpoint, restore_op_name,
               filename_tensor_name)
      if _names(initializer_nodes):
        session.run(_names(initializer_nodes))
      frozen = importing.convert_variables_to_constants(
          session, input_graph_def, _names(output_node_names),
          _names(variable_names_whitelist) or None, _names(variable_names_blacklist) or None)
  if output_graph:
    with GFile(output_graph, 'wb') as f:
      f.write(frozen.SerializeToString())
  return frozen


@export('python.tools.freeze_graph.freeze_graph')
def freeze_graph(input_graph, input_saver, input_binary, input_checkpoint, output_node_names,
                 restore_op_name, filename_tensor_name, output_graph, clear_devices,
                 initializer_nodes, variable_names_whitelist='', variable_names_blacklist='',
                 input_meta_graph=None, input_saved_model_dir=None, saved_model_tags='serve',
                 checkpoint_version=2):
  """Reads a graph and a checkpoint and does freeze_graph_with_def_protos. The graph is that of the
  file `input_graph`, of a MetaGraphDef or of a SavedModel, which has its own checkpoint."""
  del checkpoint_version  # a checkpoint says itself which it is
  saver = None
  if input_saved_model_dir:
    folder = input_saved_model_dir.rstrip('/')
    meta = loader.with_tags(loader.read(folder), _names(saved_model_tags))
    input_checkpoint = folder + '/variables/variables'
  elif input_meta_graph:
    meta = meta_graph.read(input_meta_graph)
  if input_saved_model_dir or input_meta_graph:
    graph_def, saver = meta.graph_def, meta.saver_def if meta.HasField('saver_def') else None
  else:
    graph_def = _read('GraphDef', input_graph, input_binary)
  if input_saver:
    saver = _read('SaverDef', input_saver, input_binary)
  return freeze_graph_with_def_protos(
      graph_def, saver, input_checkpoint, output_node_names, restore_op_name, filename_tensor_name,
      output_graph, clear_devices, initializer_nodes, variable_names_whitelist,
      variable_names_blacklist)


@export('python.tools.inspect_checkpoint.print_tensors_in_checkpoint_file')
def print_tensors_in_checkpoint_file(file_name, tensor_name, all_tensors=False,
                                     all_tensor_names=False):
  """Prints the value of a tensor, of all tensors, or the names of all; without any of these a line
  for each tensor with its type and shape."""
  reader = checkpoint_reader.NewCheckpointReader(file_name)
  if all_tensors or all_tensor_names:
    for name in sorted(reader.get_variable_to_shape_map()):
      print('tensor_name: ', name)
      if all_tensors:
        print(reader.get_tensor(name))
  elif tensor_name:
    print('tensor_name: ', tensor_name)
    print(reader.get_tensor(tensor_name))
  else:
    print(reader.debug_string().decode('utf-8'))
