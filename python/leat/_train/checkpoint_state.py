"""The file that says which checkpoints of a folder there are, and the files of a checkpoint."""
from __future__ import annotations

import os
import re

from leat._export import export
from leat._graph import message, message_text
from leat._platform import files, paths


def meta_name(prefix, suffix='meta'):
  return re.sub(r'-[\d\?]+-of-\d+$', '', prefix) + '.' + suffix


@export('train.generate_checkpoint_state_proto')
def generate_checkpoint_state_proto(save_dir, model_checkpoint_path,
                                    all_model_checkpoint_paths=None,
                                    all_model_checkpoint_timestamps=None,
                                    last_preserved_timestamp=None):
  """The message of the state file, with paths relative to save_dir where that is relative."""
  # A list that was given grows by the newest checkpoint, as callers of TensorFlow may rely on.
  prefixes = [] if all_model_checkpoint_paths is None else all_model_checkpoint_paths
  if not prefixes or prefixes[-1] != model_checkpoint_path:
    prefixes.append(model_checkpoint_path)
  times = list(all_model_checkpoint_timestamps or [])
  if times and len(times) != len(prefixes):
    raise ValueError('Checkpoint timestamps, if provided, must match checkpoint paths (got paths '
                     '%s and timestamps %s)' % (prefixes, times))
  if not os.path.isabs(save_dir):
    relative = lambda p: p if os.path.isabs(p) else os.path.relpath(p, save_dir or '.')
    model_checkpoint_path = relative(model_checkpoint_path)
    prefixes = [relative(p) for p in prefixes]
  return message.of('CheckpointState')(
      model_checkpoint_path=model_checkpoint_path, all_model_checkpoint_paths=prefixes,
      all_model_checkpoint_timestamps=times, last_preserved_timestamp=last_preserved_timestamp)


def write(save_dir, path, prefixes, latest_filename=None, relative=False, **times):
  """Replaces the state file."""
  folder = save_dir or '.'
  if relative:
    strip = lambda p: os.path.relpath(p, folder) if os.path.isabs(p) or save_dir else p
    path, prefixes = strip(path), [strip(p) for p in prefixes]
    state = message.of('CheckpointState')(model_checkpoint_path=path,
                                          all_model_checkpoint_paths=prefixes or [path], **times)
  else:
    state = generate_checkpoint_state_proto(save_dir, path, prefixes, **times)
  name = os.path.join(files.local(folder), latest_filename or 'checkpoint')
  files.replace(name, str(state).encode())


@export('train.update_checkpoint_state')
def update_checkpoint_state(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None,
                            latest_filename=None, all_model_checkpoint_timestamps=None,
                            last_preserved_timestamp=None):
  """Replaces the state file of a folder."""
  write(save_dir, model_checkpoint_path, all_model_checkpoint_paths or [],
                         latest_filename,
                         all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
                         last_preserved_timestamp=last_preserved_timestamp)


@export('train.get_checkpoint_state')
def get_checkpoint_state(checkpoint_dir, latest_filename=None):
  """The state file of a folder as a message CheckpointState, with full paths in
  model_checkpoint_path and all_model_checkpoint_paths; None where there is none."""
  name = os.path.join(files.local(checkpoint_dir), latest_filename or 'checkpoint')
  try:
    state = message_text.parse('CheckpointState', paths.read(name), name)
  except OSError:
    return None
  if not state.model_checkpoint_path:
    raise ValueError('Invalid checkpoint state loaded from %s' % checkpoint_dir)
  full = lambda p: (p if os.path.isabs(p) or paths.is_remote(p)
                    else os.path.join(checkpoint_dir, p))
  state.model_checkpoint_path = full(state.model_checkpoint_path)
  for i, p in enumerate(list(state.all_model_checkpoint_paths)):
    state.all_model_checkpoint_paths[i] = full(p)
  return state


@export('train.latest_checkpoint')
def latest_checkpoint(checkpoint_dir, latest_filename=None):
  """The path of the newest checkpoint in a folder, as its state file says, or None."""
  state = get_checkpoint_state(checkpoint_dir, latest_filename)
  if state is not None and checkpoint_exists(state.model_checkpoint_path):
    return state.model_checkpoint_path
  return None


@export('train.checkpoint_exists')
def checkpoint_exists(checkpoint_prefix):
  """Whether there is a checkpoint of that name, of either version."""
  pattern = re.sub(r'-\?\?\?\?\?-of-', '-*-of-', files.local(checkpoint_prefix))
  return bool(paths.glob(pattern + '.index') or paths.glob(pattern))


@export('train.remove_checkpoint')
def remove_checkpoint(checkpoint_prefix, checkpoint_format_version=2, meta_graph_suffix='meta'):
  """Removes the files of a checkpoint."""
  del checkpoint_format_version
  prefix = files.local(checkpoint_prefix)
  names = paths.glob(prefix + '.index') + paths.glob(prefix + '.data-?????-of-?????')
  if not names:
    names = paths.glob(prefix)
  for name in names + paths.glob(meta_name(prefix, meta_graph_suffix)):
    paths.remove(name)


@export('train.get_checkpoint_mtimes')
def get_checkpoint_mtimes(checkpoint_prefixes):
  """When each checkpoint was written."""
  found = []
  for prefix in map(files.local, checkpoint_prefixes):
    names = paths.glob(prefix + '.index') or paths.glob(prefix)
    if names:
      found.append(paths.getmtime_ns(names[0]) / 1e9)
  return found
