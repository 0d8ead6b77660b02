"""A hook that shows how far training is. The bar is tqdm's where that is installed, which notebooks
show as a widget; otherwise it is a line on the standard error stream that is written over."""
from __future__ import annotations

import sys
import time

from leat._export import export
from leat._train.hook import SessionRunArgs, SessionRunHook
from leat._train.hooks import _as_graph_element, required_step


class Line:
  """Has the methods of a bar of tqdm that the hook calls."""

  def __init__(self, total=None, initial=0, desc=None, out=None, clock=time.monotonic):
    self._total, self._step, self._first, self._description = total, initial, initial, desc
    self._out, self._clock, self._values = out or sys.stderr, clock, ''
    self._start, self._written = clock(), None

  def set_postfix_str(self, text, refresh=True):
    """Sets what stands behind the numbers."""
    del refresh  # the next update writes it
    self._values = text

  def update(self, steps):
    """Counts steps, and writes the line if a tenth of a second has gone by."""
    self._step += steps
    if self._written is None or self._clock() - self._written >= 0.1:
      self._write('')

  def close(self):
    """Writes the line for the last time."""
    self._write('\n')

  def _write(self, ending):
    self._written = self._clock()
    words = [self._description + ':'] if self._description else []
    if self._total:
      words.append('%d%% %d/%d' % (100 * self._step // self._total, self._step, self._total))
    else:
      words.append(str(self._step))
    elapsed = self._written - self._start
    if elapsed > 0:
      words.append('%.1f steps/s' % ((self._step - self._first) / elapsed))
    self._out.write('\r%s%s' % (' '.join(words + [self._values]).rstrip(), ending))
    self._out.flush()


def _default_bar():
  try:
    from tqdm.auto import tqdm
  except ImportError:
    return Line
  return tqdm


@export('train.ProgressHook')
class ProgressHook(SessionRunHook):
  """Shows how far training is while a monitored session or an estimator trains.

  The bar goes from the global step at the start to last_step; without it, steps are only counted.
  `tensors`, a dict from short names to scalars or their names, are shown behind it. `bar` makes the
  bar, with the arguments of tqdm.tqdm; that is the default where tqdm is installed. RuntimeError
  where the graph has no global step.

  >>> hook = tf.train.ProgressHook(last_step=1000, tensors={'loss': 'loss:0'})
  """

  def __init__(self, last_step=None, tensors=None, description=None, bar=None):
    self._last_step, self._tensors, self._description = last_step, dict(tensors or {}), description
    self._make, self._bar = bar, None

  def begin(self):
    self._step_tensor = required_step('ProgressHook')
    self._elements = {name: _as_graph_element(t) for name, t in self._tensors.items()}

  def after_create_session(self, session, coord):
    self._close()  # that of a session that failed
    self._shown = int(session.run(self._step_tensor))
    make = self._make or _default_bar()
    self._bar = make(total=self._last_step, initial=self._shown, desc=self._description)

  def before_run(self, run_context):
    return SessionRunArgs((self._step_tensor, self._elements))

  def after_run(self, run_context, run_values):
    step, values = run_values.results
    if values:
      self._bar.set_postfix_str(', '.join('%s=%.4g' % item for item in values.items()),
                                refresh=False)
    self._show(int(step))

  def end(self, session):
    self._show(int(session.run(self._step_tensor)))
    self._close()

  def _show(self, step):
    if step > self._shown:
      self._bar.update(step - self._shown)
      self._shown = step

  def _close(self):
    if self._bar is not None:
      self._bar.close()
      self._bar = None
