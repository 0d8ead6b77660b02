"""contrib.session_bundle.exporter: writes a model for serving, in the format before SavedModel.

    export_dir/00000010/     the number is the global step
      export.meta            a MetaGraphDef, whose collections hold the signatures
      export-00000-of-...    the variables, a checkpoint
      assets/                files that the graph reads

A version is written beside the others and then renamed, so that a server sees whole ones only.
"""
from __future__ import annotations

import os

from leat._contrib.session_bundle import manifest
from leat._export import export
from leat._graph import graph as graphs
from leat._graph import message
from leat._ops import control
from leat._platform import files, log
from leat._session import session as sessions
from leat._train import saver as savers

EXPORTS = {'contrib.session_bundle.constants.ASSETS_DIRECTORY': 'ASSETS_DIRECTORY',
           'contrib.session_bundle.constants.ASSETS_KEY': 'ASSETS_KEY',
           'contrib.session_bundle.constants.GRAPH_KEY': 'GRAPH_KEY',
           'contrib.session_bundle.constants.INIT_OP_KEY': 'INIT_OP_KEY',
           'contrib.session_bundle.constants.SIGNATURES_KEY': 'SIGNATURES_KEY',
           'contrib.session_bundle.constants.META_GRAPH_DEF_FILENAME': 'META_GRAPH_DEF_FILENAME'}
ASSETS_DIRECTORY, META_GRAPH_DEF_FILENAME = 'assets', 'export.meta'
ASSETS_KEY, GRAPH_KEY = 'serving_assets', 'serving_graph'
INIT_OP_KEY, SIGNATURES_KEY = 'serving_init_op', 'serving_signatures'
_VARIABLES = 'export'


@export('contrib.session_bundle.exporter.gfile_copy_callback')
def gfile_copy_callback(files_to_copy, export_dir_path):
  """Copies files, {path: name in the folder}, into the folder."""
  files.MakeDirs(export_dir_path)
  for path, name in files_to_copy.items():
    files.Copy(path, os.path.join(export_dir_path, name), overwrite=True)


def _bind(binding, tensor):
  binding.tensor_name = tensor.name


@export('contrib.session_bundle.exporter.regression_signature')
def regression_signature(input_tensor, output_tensor):
  """The Signature of a model that gives a value for each of its examples."""
  made = manifest.Signature()
  _bind(made.regression_signature.input, input_tensor)
  _bind(made.regression_signature.output, output_tensor)
  return made


@export('contrib.session_bundle.exporter.classification_signature')
def classification_signature(input_tensor, classes_tensor=None, scores_tensor=None):
  """The Signature of a model that gives classes, their scores, or both."""
  made = manifest.Signature()
  _bind(made.classification_signature.input, input_tensor)
  if classes_tensor is not None:
    _bind(made.classification_signature.classes, classes_tensor)
  if scores_tensor is not None:
    _bind(made.classification_signature.scores, scores_tensor)
  return made


@export('contrib.session_bundle.exporter.generic_signature')
def generic_signature(name_tensor_map):
  """The Signature of tensors by names of the program's own."""
  made = manifest.Signature()
  for name, tensor in name_tensor_map.items():
    _bind(made.generic_signature.map[name], tensor)
  return made


def _packed(content):
  made = message.of('google.protobuf.Any')()
  made.Pack(content)
  return made


@export('contrib.session_bundle.exporter.Exporter')
class Exporter:
  """Writes versions of a model: init() says what, export() writes one. `saver` is the Saver of the
  variables."""

  def __init__(self, saver):
    self._saver, self._has_init = saver, False
    self._assets, self._copy = {}, None

  def init(self, graph_def=None, init_op=None, clear_devices=False, default_graph_signature=None,
           named_graph_signatures=None, assets_collection=None,
           assets_callback=gfile_copy_callback):
    """Puts into the default graph's collections what servers ask for: the graph_def for serving
    (else that of the graph), the operation init_op that runs when the model is loaded, signatures.
    Tensors of assets_collection hold paths of files, which assets_callback({path: name}, folder)
    copies. RuntimeError where it was called before."""
    if self._has_init:
      raise RuntimeError('init should be called only once')
    self._has_init = True
    graph = graphs.get_default_graph()
    self._clear_devices, self._copy = clear_devices, assets_callback
    if graph_def is not None:
      self._collect(GRAPH_KEY, _packed(graph_def))
    if init_op is not None:
      self._collect(INIT_OP_KEY, control.group(init_op, name='serving_init'))
    if default_graph_signature is not None or named_graph_signatures:
      signatures = manifest.Signatures()
      if default_graph_signature is not None:
        signatures.default_signature.CopyFrom(default_graph_signature)
      for name, signature in (named_graph_signatures or {}).items():
        signatures.named_signatures[name].CopyFrom(signature)
      self._collect(SIGNATURES_KEY, _packed(signatures))
    for tensor in assets_collection or ():
      path = _path_of(tensor)
      self._assets[path] = os.path.basename(path)
      asset = manifest.AssetFile()
      _bind(asset.tensor_binding, tensor)
      asset.filename = self._assets[path]
      graph.add_to_collection(ASSETS_KEY, _packed(asset))

  def _collect(self, key, item):
    graphs.get_default_graph().get_collection_ref(key)[:] = [item]

  def export(self, export_dir_base, global_step_tensor, sess=None, exports_to_keep=None):
    """Writes the version of the global step and gives its folder, as bytes; one that is
    there already is an AlreadyExistsError. Of the versions the newest exports_to_keep stay."""
    if not self._has_init:
      raise RuntimeError('init must be called first')
    session = sess or sessions.get_default_session()
    step = int(session.run(global_step_tensor)) if hasattr(global_step_tensor, 'graph') else int(
        global_step_tensor)
    folder = os.path.join(export_dir_base, '%08d' % step)
    if files.Exists(folder):
      from leat._graph.errors import AlreadyExistsError
      raise AlreadyExistsError(None, None, 'Exporting failed: %s exists already' % folder)
    partial = folder + '-tmp'
    files.MakeDirs(partial)
    path = os.path.join(partial, _VARIABLES)
    self._saver.save(session, path, write_meta_graph=False, write_state=False)
    self._saver.export_meta_graph(path + '.meta', clear_devices=self._clear_devices)
    if self._assets:
      self._copy(self._assets, os.path.join(partial, ASSETS_DIRECTORY))
    files.Rename(partial, folder)
    if exports_to_keep is not None:
      for old in _versions(export_dir_base)[:-exports_to_keep or None]:
        log.info('Removing the exported model %s', old)
        files.DeleteRecursively(os.path.join(export_dir_base, old))
    return folder.encode()


def _path_of(tensor):
  """The path that a constant tensor holds."""
  from leat._graph.value import constant_value
  value = constant_value(tensor)
  if value is None:
    raise ValueError('The asset %s must be a constant that holds a path' % tensor.name)
  value = value.item() if hasattr(value, 'item') else value
  return value.decode() if isinstance(value, bytes) else value


def _versions(folder):
  """The names of the versions in a folder, the oldest first."""
  return sorted((name.rstrip('/') for name in files.ListDirectory(folder)
                 if name.rstrip('/').isdigit()), key=int)
