"""Exporters: which of the models that train_and_evaluate makes become SavedModels."""
from __future__ import annotations

import contextlib
import os

from leat._export import export
from leat._platform import log, paths


@export('estimator.Exporter')
class Exporter:
  """The base of exporters."""

  @property
  def name(self):
    """The name of the folder of the exports."""
    raise NotImplementedError

  def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
    """Exports the model of a checkpoint, or not; gives the path, or None."""
    raise NotImplementedError


class _SavedModelExporter(Exporter):
  """Writes SavedModels by a serving input receiver."""

  def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False):
    self._name, self._receiver_fn = name, serving_input_receiver_fn
    self._assets_extra, self._as_text = assets_extra, as_text

  name = property(lambda self: self._name)

  def _write(self, estimator, export_path, checkpoint_path):
    return estimator.export_savedmodel(export_path, self._receiver_fn,
                                       assets_extra=self._assets_extra, as_text=self._as_text,
                                       checkpoint_path=checkpoint_path)


def _remove_old(folder, keep):
  """Removes all but the newest exports, whose names are times."""
  if keep is None or not paths.isdir(folder):
    return
  names = sorted((n for n in paths.listdir(folder) if n.isdigit()), key=int)
  for name in names[:-keep]:
    with contextlib.suppress(OSError):
      paths.rmtree(os.path.join(folder, name))


def _check_keep(exports_to_keep):
  if exports_to_keep is not None and exports_to_keep <= 0:
    raise ValueError('`exports_to_keep`, if provided, must be positive number')


@export('estimator.FinalExporter')
class FinalExporter(_SavedModelExporter):
  """Exports the model at the end."""

  def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
    if not is_the_final_export:
      return None
    log.info('Performing the final export in the end of training.')
    return self._write(estimator, export_path, checkpoint_path)


@export('estimator.LatestExporter')
class LatestExporter(_SavedModelExporter):
  """Exports every model that is evaluated, and keeps the newest exports_to_keep (None for all)."""

  def __init__(self, name, serving_input_receiver_fn, assets_extra=None, as_text=False,
               exports_to_keep=5):
    super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
    _check_keep(exports_to_keep)
    self._exports_to_keep = exports_to_keep

  def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
    path = self._write(estimator, export_path, checkpoint_path)
    _remove_old(export_path, self._exports_to_keep)
    return path


def _loss_smaller(best_eval_result, current_eval_result):
  """Whether the current loss is below the best one."""
  for result, what in ((best_eval_result, 'best_eval_result'),
                       (current_eval_result, 'current_eval_result')):
    if not result or 'loss' not in result:
      raise ValueError('%s cannot be empty or no loss is found in it.' % what)
  return best_eval_result['loss'] > current_eval_result['loss']


@export('estimator.BestExporter')
class BestExporter(_SavedModelExporter):
  """Exports a model that is better than all before: compare_fn(best_eval_result=...,
  current_eval_result=...) says so, by default a smaller loss. `event_file_pattern` names, below the
  model's folder, the events of evaluations from which the best one so far is read first."""

  def __init__(self, name='best_exporter', serving_input_receiver_fn=None,
               event_file_pattern='eval/*.tfevents.*', compare_fn=_loss_smaller,
               assets_extra=None, as_text=False, exports_to_keep=5):
    super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
    if compare_fn is None:
      raise ValueError('`compare_fn` must not be None.')
    _check_keep(exports_to_keep)
    self._compare_fn, self._event_file_pattern = compare_fn, event_file_pattern
    self._exports_to_keep, self._best, self._has_exported = exports_to_keep, None, False

  def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
    if not self._has_exported and self._best is None and self._event_file_pattern:
      self._best = self._best_of_events(os.path.join(
          estimator.model_dir, self._event_file_pattern), eval_result.get('global_step'))
    if self._best is not None and not self._compare_fn(best_eval_result=self._best,
                                                       current_eval_result=eval_result):
      return None
    log.info('Performing best model export.')
    self._best, self._has_exported = eval_result, True
    path = self._write(estimator, export_path, checkpoint_path)
    _remove_old(export_path, self._exports_to_keep)
    return path

  def _best_of_events(self, pattern, step):
    """The best result in the summaries of evaluations, or None. That of the step is the result
    which it is compared with."""
    from leat._train.events import summary_iterator
    best = None
    for path in paths.glob(pattern):
      for event in summary_iterator(path):
        found = {v.tag: v.simple_value for v in event.summary.value
                 if v.WhichOneof('value') == 'simple_value'}
        if found and event.step != step and (best is None or self._compare_fn(
            best_eval_result=best, current_eval_result=found)):
          best = found
    return best
