"""SavedModelBuilder: writes a SavedModel, a folder with

    saved_model.pb (or .pbtxt)   a MetaGraphDef for each set of tags
    variables/variables*         a checkpoint, which all graphs share
    assets/*                     files that the graphs read, such as vocabularies

The variables are those of the first graph; further graphs are added without values.
"""
from __future__ import annotations

import os

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph import message
from leat._graph import message_text
from leat._graph import value as values
from leat._graph.scope import GraphKeys, control_dependencies
from leat._ops import control, lookup, variable_collections
from leat._platform import files, log, paths
from leat._saved_model import constants, signature


def _text(path):
  return path.decode() if isinstance(path, bytes) else os.fspath(path)


def _check_info(info):
  """AssertionError where a TensorInfo does not say which tensors it means, or of which type."""
  if info is None:
    raise AssertionError('All TensorInfo protos used in the SignatureDefs must have the name and '
                         'dtype fields set.')
  encoding = info.WhichOneof('encoding')
  named = encoding is not None
  if encoding == 'name':
    named = bool(info.name)
  elif encoding == 'coo_sparse':
    names = info.coo_sparse
    named = bool(names.values_tensor_name and names.indices_tensor_name and
                 names.dense_shape_tensor_name)
  if not named:
    raise AssertionError('All TensorInfo protos used in the SignatureDefs must have the name field '
                         '(or coo_sparse) set: %s' % info)
  if info.dtype == 0:
    raise AssertionError('All TensorInfo protos used in the SignatureDefs must have the dtype '
                         'field set: %s' % info)


def _check_signatures(signature_def_map):
  for name, definition in (signature_def_map or {}).items():
    if name in (constants.INIT_OP_SIGNATURE_KEY, constants.TRAIN_OP_SIGNATURE_KEY):
      raise KeyError("SignatureDef map key '%s' is reserved for internal use." % name)
    for infos in (definition.inputs, definition.outputs):
      for key in infos:
        _check_info(infos[key])


def _asset_path(tensor):
  """The path in a constant scalar string."""
  if not isinstance(tensor, _leat.Output):
    raise TypeError('Unknown asset tensor %s: it must be a Tensor' % (tensor,))
  if tensor.op.type != 'Const' or tensor.dtype is not dtypes.string:
    raise TypeError('Unknown asset tensor %s: it must be a constant string' % tensor.name)
  value = values.constant_value(tensor)
  if value is None or value.size != 1:
    raise TypeError('Unknown asset tensor %s: it must be a scalar' % tensor.name)
  return _text(value.reshape(-1)[0])


def _asset_names(tensors):
  """{path: name in the folder of assets}, which differ where paths do."""
  found = {}
  for path in (_asset_path(t) for t in tensors or ()):
    if path in found:
      continue
    base = name = os.path.basename(path)
    number = 1
    while name in found.values():
      name, number = '%s_%d' % (base, number), number + 1
    found[path] = name
  return found


@export('saved_model.builder.SavedModelBuilder', 'saved_model.Builder')
class SavedModelBuilder:
  """Writes graphs of sessions to a new or empty folder. Call add_meta_graph_and_variables() once,
  add_meta_graph() for each further graph, and save()."""

  def __init__(self, export_dir):
    self._export_dir = _text(export_dir)
    self._saved_model = message.of('SavedModel')(
        saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
    if paths.exists(self._export_dir):
      if paths.listdir(self._export_dir):
        raise AssertionError("Export directory already exists, and isn't empty. Please choose a "
                             'different export directory, or delete all the contents of the '
                             'specified directory: %s' % self._export_dir)
    else:
      paths.makedirs(self._export_dir)
    self._has_saved_variables = False

  def add_meta_graph_and_variables(self, sess, tags, signature_def_map=None,
                                   assets_collection=None, legacy_init_op=None,
                                   clear_devices=False, main_op=None, strip_default_attrs=False,
                                   saver=None, assets_list=None, init_op=None, train_op=None):
    """Adds the graph of a session and writes the values of its variables. `main_op` (init_op,
    legacy_init_op) is run after a load has restored the variables."""
    if self._has_saved_variables:
      raise AssertionError('Graph state including variables and assets has already been saved. '
                           'Please invoke `add_meta_graph()` instead.')
    _check_signatures(signature_def_map)
    with sess.graph.as_default():
      assets = self._add_collections(assets_collection or assets_list, main_op or init_op,
                                     legacy_init_op, train_op)
      saver = self._saver(saver)
    folder = os.path.join(self._export_dir, constants.VARIABLES_DIRECTORY)
    paths.makedirs(folder, exist_ok=True)
    saver.save(sess, os.path.join(folder, constants.VARIABLES_FILENAME), write_meta_graph=False,
               write_state=False)
    self._add(saver, sess.graph, tags, signature_def_map, assets, clear_devices,
              strip_default_attrs)
    self._has_saved_variables = True

  def add_meta_graph(self, tags, signature_def_map=None, assets_collection=None,
                     legacy_init_op=None, clear_devices=False, main_op=None,
                     strip_default_attrs=False, saver=None, assets_list=None, init_op=None,
                     train_op=None):
    """Adds the default graph, whose variables must be among those that were saved."""
    if not self._has_saved_variables:
      raise AssertionError('Graph state including variables and assets has not been saved yet. '
                           'Please invoke `add_meta_graph_and_variables()` first.')
    _check_signatures(signature_def_map)
    assets = self._add_collections(assets_collection or assets_list, main_op or init_op,
                                   legacy_init_op, train_op)
    self._add(self._saver(saver), graphs.get_default_graph(), tags, signature_def_map, assets,
              clear_devices, strip_default_attrs)

  def save(self, as_text=False):
    """Writes saved_model.pb, or saved_model.pbtxt; gives its path."""
    paths.makedirs(self._export_dir, exist_ok=True)
    name = constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
    path = os.path.join(self._export_dir, name)
    files.replace(path, message_text.for_file(self._saved_model, as_text))
    log.info('SavedModel written to: %s', path)
    return path.encode()

  @staticmethod
  def _saver(saver):
    """The saver given, or a new one of all variables."""
    if saver is not None:
      return saver
    from leat._train.saver import Saver
    graph = graphs.get_default_graph()
    saved = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(
        GraphKeys.SAVEABLE_OBJECTS)
    return Saver(saved or None, sharded=True, allow_empty=True)

  def _add_collections(self, assets, main_op, legacy_init_op, train_op):
    """Puts assets and operations into collections of the default graph; copies the assets. Gives
    the AssetFileDefs."""
    _add_main_op(main_op, constants.MAIN_OP_KEY, 'main_op')
    _add_main_op(legacy_init_op, constants.LEGACY_INIT_OP_KEY, 'legacy_init_op')
    graph = graphs.get_default_graph()
    if train_op is not None:
      if not isinstance(train_op, (_leat.Output, _leat.Operation)):
        raise TypeError('train_op needs to be a Tensor or Op: %r' % (train_op,))
      graph.add_to_collection(constants.TRAIN_OP_KEY, train_op)
    names, found = _asset_names(assets), []
    for tensor in assets or ():
      definition = message.of('AssetFileDef')(filename=names[_asset_path(tensor)])
      definition.tensor_info.name = tensor.name
      held = message.of('google.protobuf.Any')()
      held.Pack(definition)
      graph.add_to_collection(constants.ASSETS_KEY, held)
      found.append(definition)
    self._copy_assets(names)
    return found

  def _copy_assets(self, names):
    if not names:
      log.info('No assets to write.')
      return
    folder = os.path.join(self._export_dir, constants.ASSETS_DIRECTORY)
    paths.makedirs(folder, exist_ok=True)
    for path, name in names.items():
      to = os.path.join(folder, name)
      if paths.abspath(path) != paths.abspath(to):
        paths.copyfile(path, to)
    log.info('Assets written to: %s', folder)

  def _add(self, saver, graph, tags, signature_def_map, assets, clear_devices,
           strip_default_attrs):
    with graph.as_default():
      meta = saver.export_meta_graph(clear_devices=clear_devices, clear_extraneous_savers=True,
                                     strip_default_attrs=strip_default_attrs)
    meta.meta_info_def.tags.extend(list(tags))
    meta.asset_file_def.extend(assets)
    for name, definition in (signature_def_map or {}).items():
      meta.signature_def[name].CopyFrom(definition)
    self._saved_model.meta_graphs.add().CopyFrom(meta)


def _add_main_op(op, key, what):
  """Keeps an operation that a load shall run; there may be one in a graph."""
  if op is None:
    return
  if not isinstance(op, _leat.Operation):
    raise TypeError('%s needs to be an Operation: %r' % (what, op))
  graph = graphs.get_default_graph()
  for used in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
    if graph.get_collection(used):
      raise ValueError('Graph already contains one or more main ops under the collection %s.' %
                       used)
  graph.add_to_collection(key, op)


@export('saved_model.simple_save')
def simple_save(session, export_dir, inputs, outputs, legacy_init_op=None):
  """Writes a SavedModel for serving, with one signature from {name: tensor} to {name: tensor}."""
  definition = signature.predict_signature_def(inputs, outputs)
  builder = SavedModelBuilder(export_dir)
  builder.add_meta_graph_and_variables(
      session, [constants.SERVING],
      {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: definition},
      assets_collection=session.graph.get_collection(GraphKeys.ASSET_FILEPATHS),
      legacy_init_op=legacy_init_op, clear_devices=True)
  builder.save()


@export('saved_model.main_op.main_op')
def main_op():
  """An operation that initializes variables, local variables and tables."""
  return control.group(variable_collections.global_variables_initializer(),
                       variable_collections.local_variables_initializer(),
                       lookup.tables_initializer())


@export('saved_model.main_op.main_op_with_restore', 'saved_model.main_op_with_restore')
def main_op_with_restore(restore_op_name):
  """The same, and then the operation of that name, which restores the variables."""
  with control_dependencies([main_op()]):
    return control.group(graphs.get_default_graph().as_graph_element(restore_op_name))
