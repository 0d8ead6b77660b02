"""CheckpointManager: keeps the newest checkpoints of a tf.train.Checkpoint in a folder."""
from __future__ import annotations

import os
import time

from leat._export import export
from leat._train import checkpoint_state


@export('train.CheckpointManager')
class CheckpointManager:
  """Saves checkpoints and removes old ones: max_to_keep are kept (None: all), and one for each
  keep_checkpoint_every_n_hours. A new manager goes on with the folder's state file."""

  def __init__(self, checkpoint, directory, max_to_keep, keep_checkpoint_every_n_hours=None,
               checkpoint_name='ckpt'):
    if max_to_keep is not None and max_to_keep <= 0:
      raise ValueError('Expected a positive integer or `None` for `max_to_keep`, got %d.' %
                       max_to_keep)
    self._checkpoint, self._directory = checkpoint, directory
    self._max_to_keep, self._keep_hours = max_to_keep, keep_checkpoint_every_n_hours
    self._prefix = os.path.join(directory, checkpoint_name)
    self._kept = {}   # path -> when it was written, in the order of saving
    state = checkpoint_state.get_checkpoint_state(directory)
    now = time.time()
    self._latest = state.model_checkpoint_path if state is not None else None
    self._last_preserved = state.last_preserved_timestamp if state is not None else now
    self._last_preserved = self._last_preserved or now
    if state is not None:
      # Checkpoints that another writer made have no times, and are not removed by this one.
      self._kept.update(zip(state.all_model_checkpoint_paths,
                            state.all_model_checkpoint_timestamps))

  @property
  def directory(self):
    return self._directory

  @property
  def latest_checkpoint(self):
    """The path of the newest checkpoint, or None."""
    return self._latest

  @property
  def checkpoints(self):
    """The paths of those that are kept, the oldest first."""
    return list(self._kept)

  def save(self, checkpoint_number=None, session=None):
    """Writes a checkpoint, numbered by the saves or by checkpoint_number, a number or a variable;
    gives its path."""
    from leat._train.checkpoint import _session
    session = _session(session)
    with session.graph.as_default():
      number = self._checkpoint._next_number(session)
    if checkpoint_number is not None:
      number = checkpoint_number
      if not isinstance(number, int):
        number = session.run(number) if hasattr(number, 'graph') else number
    path = self._checkpoint.write('%s-%d' % (self._prefix, int(number)), session)
    self._kept.pop(path, None)
    self._kept[path] = time.time()
    self._latest = path
    self._write_state()   # before anything is removed: the newest counts after a crash
    self._remove_old()
    self._write_state()
    return path

  def restore_or_initialize(self):
    """Restores the newest checkpoint, where there is one, and gives its path."""
    self._checkpoint.restore(self._latest).initialize_or_restore()
    return self._latest

  def _remove_old(self):
    while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
      path, when = next(iter(self._kept.items()))
      del self._kept[path]
      if self._keep_hours and when - self._keep_hours * 3600 >= self._last_preserved:
        self._last_preserved = when
        continue
      checkpoint_state.remove_checkpoint(path)

  def _write_state(self):
    checkpoint_state.write(
        self._directory, self._latest, list(self._kept), relative=True,
        all_model_checkpoint_timestamps=list(self._kept.values()),
        last_preserved_timestamp=self._last_preserved)
