"""Settings of TensorBoard's projector, which draws the rows of an embedding as points.

They are a message, ProjectorConfig, with the name of each embedding's variable and the files with
labels and pictures of its rows. It lies as text beside the event files of a run, where TensorBoard
looks for it. The library does not know these messages, so they are defined here.
"""
from __future__ import annotations

import os

from leat._export import export
from leat._graph import message, wire
from leat._platform.files import GFile

_MESSAGES = {
    'SpriteMetadata': ((1, 'image_path', 'string', 'singular'),
                       (2, 'single_image_dim', 'uint32', 'packed')),
    'EmbeddingInfo': ((1, 'tensor_name', 'string', 'singular'),
                      (2, 'metadata_path', 'string', 'singular'),
                      (3, 'bookmarks_path', 'string', 'singular'),
                      (4, 'tensor_shape', 'uint32', 'packed'),
                      (5, 'sprite', 'SpriteMetadata', 'singular'),
                      (6, 'tensor_path', 'string', 'singular')),
    'ProjectorConfig': ((1, 'model_checkpoint_path', 'string', 'singular'),
                        (2, 'embeddings', 'EmbeddingInfo', 'repeated'),
                        (3, 'model_checkpoint_dir', 'string', 'singular')),
}
EXPORTS = {'contrib.tensorboard.plugins.projector.' + name: name
           for name in ('SpriteMetadata', 'EmbeddingInfo', 'ProjectorConfig')}


def _define(name):
  """Makes one of the messages known."""
  fields = []
  for number, field, kind, label in _MESSAGES[name]:
    is_message = kind in _MESSAGES
    fields.append([field, number, 'message' if is_message else kind, label,
                   'tensorflow.' + kind if is_message else None, -1])
  wire.define('tensorflow.' + name, fields)


for _name in _MESSAGES:
  _define(_name)


def __getattr__(name):
  if name not in _MESSAGES:
    raise AttributeError("module '%s' has no attribute '%s'" % (__name__, name))
  return message.of(name)


@export('contrib.tensorboard.plugins.projector.visualize_embeddings')
def visualize_embeddings(summary_writer, config):
  """Writes the ProjectorConfig into the folder of a FileWriter, as projector_config.pbtxt.
  ValueError where the writer has no folder."""
  folder = summary_writer.get_logdir()
  if folder is None:
    raise ValueError('summary_writer has no folder, must be a FileWriter with a logdir.')
  with GFile(os.path.join(folder, 'projector_config.pbtxt'), 'w') as f:
    f.write(str(config))
