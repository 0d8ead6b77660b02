"""Loading a SavedModel into a session: the graph with the given tags, the values of its variables,
and its assets."""
from __future__ import annotations

import os

from leat._export import export
from leat._graph import message, message_text
from leat._platform import log, paths
from leat._saved_model import constants
from leat._saved_model.builder import _text


@export('saved_model.loader.maybe_saved_model_directory',
        'saved_model.maybe_saved_model_directory', 'saved_model.contains_saved_model')
def maybe_saved_model_directory(export_dir):
  """Whether the folder has a file saved_model.pb or saved_model.pbtxt."""
  return any(paths.exists(os.path.join(_text(export_dir), name)) for name in (
      constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT))


def read(export_dir):
  """The SavedModel message in a folder; OSError where there is none or it is malformed."""
  folder, kind = _text(export_dir), message.of('SavedModel')
  binary = os.path.join(folder, constants.SAVED_MODEL_FILENAME_PB)
  text = os.path.join(folder, constants.SAVED_MODEL_FILENAME_PBTXT)
  path = next((p for p in (binary, text) if paths.exists(p)), None)
  if path is None:
    raise OSError('SavedModel file does not exist at: %s/{%s|%s}' % (
        folder, constants.SAVED_MODEL_FILENAME_PBTXT, constants.SAVED_MODEL_FILENAME_PB))
  data = paths.read(path)
  try:
    return kind.FromString(data) if path == binary else message_text.parse('SavedModel', data, path)
  except (message.DecodeError, UnicodeDecodeError) as error:
    raise OSError('Cannot parse file %s: %s.' % (path, error)) from None


def with_tags(saved_model, tags):
  """The MetaGraphDef whose tags are exactly these."""
  for meta in saved_model.meta_graphs:
    if set(meta.meta_info_def.tags) == set(tags):
      return meta
  raise RuntimeError('MetaGraphDef associated with tags %s could not be found in SavedModel, which '
                     'has %s' % (', '.join(repr(t) for t in tags), [
                         sorted(m.meta_info_def.tags) for m in saved_model.meta_graphs]))


def _asset_feeds(folder, meta, import_scope):
  """{name of a tensor: the path of the asset that it stands for}."""
  definitions = list(meta.asset_file_def)
  if not definitions and constants.ASSETS_KEY in meta.collection_def:
    for held in meta.collection_def[constants.ASSETS_KEY].any_list.value:
      definition = message.of('AssetFileDef')()
      held.Unpack(definition)
      definitions.append(definition)
  prefix = import_scope + '/' if import_scope else ''
  return {prefix + d.tensor_info.name: os.path.join(folder, constants.ASSETS_DIRECTORY, d.filename)
          for d in definitions}


def _main_op(meta, import_scope):
  """The name of the operation that a load runs, or None."""
  prefix = import_scope + '/' if import_scope else ''
  if constants.INIT_OP_SIGNATURE_KEY in meta.signature_def:
    outputs = meta.signature_def[constants.INIT_OP_SIGNATURE_KEY].outputs
    return prefix + outputs[constants.INIT_OP_SIGNATURE_KEY].name
  for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
    if key in meta.collection_def:
      names = list(meta.collection_def[key].node_list.value)
      if len(names) != 1:
        raise RuntimeError('Expected exactly one SavedModel init op. Found %d: %s' % (len(names),
                                                                                      names))
      return prefix + names[0]
  return None


@export('saved_model.loader.load', 'saved_model.load')
def load(sess, tags, export_dir, import_scope=None, **saver_kwargs):
  """Adds the graph with these tags to that of the session, restores its variables, and runs its
  main operation with the paths of the assets. Gives the MetaGraphDef."""
  from leat._graph import meta_graph
  folder = _text(export_dir)
  meta = with_tags(read(folder), tags)
  with sess.graph.as_default():
    saver = meta_graph.import_meta_graph(meta, import_scope=import_scope, **saver_kwargs)
  if saver is None:
    log.info('The specified SavedModel has no variables; no checkpoints were restored.')
  else:
    saver.restore(sess, os.path.join(folder, constants.VARIABLES_DIRECTORY,
                                     constants.VARIABLES_FILENAME))
  main_op = _main_op(meta, import_scope)
  if main_op is not None:
    sess.run(sess.graph.as_graph_element(main_op),
             feed_dict=_asset_feeds(folder, meta, import_scope))
  return meta
