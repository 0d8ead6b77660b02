"""Evaluation of checkpoints: waiting for them, running a model on each, hooks that end and that
summarize.

evaluate_once restores a checkpoint in a monitored session, runs the evaluation ops until a hook or
the end of the input stops it, and fetches the final ops. evaluate_repeatedly does so for each new
checkpoint in a folder.
"""
from __future__ import annotations

import time

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.scope import GraphKeys
from leat._ops import assign, initializers, variable_scope
from leat._platform import log
from leat._train import events, monitored, step as steps, summary
from leat._train.checkpoint_reader import checkpoints_iterator
from leat._train.hook import SessionRunArgs, SessionRunHook
from leat._train.hooks import FinalOpsHook

EVAL_STEP = 'eval_step'


@export('contrib.training.get_or_create_eval_step', 'train.get_or_create_eval_step')
def get_or_create_eval_step():
  """The counter of evaluation steps, a local int64 variable that the collection eval_step has."""
  found = graphs.get_default_graph().get_collection(EVAL_STEP)
  if len(found) == 1:
    return found[0]
  if found:
    raise ValueError('Multiple tensors added to tf.GraphKeys.EVAL_STEP')
  return variable_scope.get_variable(
      'eval_step', shape=[], dtype=dtypes.int64, initializer=initializers.zeros_initializer(),
      trainable=False, collections=[GraphKeys.LOCAL_VARIABLES, EVAL_STEP])


@export('contrib.training.StopAfterNEvalsHook')
class StopAfterNEvalsHook(SessionRunHook):
  """Ends an evaluation after so many steps; None for no end."""

  def __init__(self, num_evals, log_progress=True):
    self._num_evals, self._log_progress = num_evals, log_progress
    self._evals_completed = None
    self._log_frequency = 1 if num_evals is None or num_evals < 20 else max(num_evals // 10, 1)

  def _set_evals_completed_tensor(self, updated_eval_step):
    self._evals_completed = updated_eval_step

  def before_run(self, run_context):
    return SessionRunArgs({'evals_completed': self._evals_completed})

  def after_run(self, run_context, run_values):
    done = run_values.results['evals_completed']
    if self._log_progress and (self._num_evals is None or done % self._log_frequency == 0 or
                               done == self._num_evals):
      log.info('Evaluation [%d/%s]', done, self._num_evals)
    if self._num_evals is not None and done >= self._num_evals:
      run_context.request_stop()


@export('contrib.training.SummaryAtEndHook')
class SummaryAtEndHook(SessionRunHook):
  """Writes the summaries, all or `summary_op`, once at the end of an evaluation."""

  def __init__(self, log_dir=None, summary_writer=None, summary_op=None, feed_dict=None):
    if not (log_dir is None) ^ (summary_writer is None):
      raise ValueError('Either log_dir or summary_writer must be provided')
    self._log_dir, self._summary_writer = log_dir, summary_writer
    self._summary_op, self._feed_dict = summary_op, feed_dict
    self._replaces_summary_op = summary_op is None
    self._global_step = None

  def begin(self):
    if self._replaces_summary_op:
      self._summary_op = summary.merge_all()
    self._global_step = steps.get_or_create_global_step()

  def after_create_session(self, session, coord):
    if self._summary_writer is None and self._log_dir:
      self._summary_writer = events.FileWriterCache.get(self._log_dir)
    if self._summary_writer:
      self._summary_writer.add_graph(session.graph)

  def end(self, session):
    if self._summary_op is None or self._summary_writer is None:
      return
    global_step = session.run(self._global_step)
    self._summary_writer.add_summary(session.run(self._summary_op, self._feed_dict), global_step)
    self._summary_writer.flush()


def _with_step(eval_ops, hooks):
  """(ops of an evaluation with the counter, hooks that know the counter)."""
  counter = get_or_create_eval_step()
  counted = assign.assign_add(counter, 1)
  if isinstance(eval_ops, dict):
    eval_ops = dict(eval_ops, update_eval_step=counted)
  elif isinstance(eval_ops, (tuple, list)):
    eval_ops = list(eval_ops) + [counted]
  elif eval_ops is not None:
    eval_ops = [eval_ops, counted]
  for hook in hooks:
    if isinstance(hook, StopAfterNEvalsHook):
      hook._set_evals_completed_tensor(counted)
  return eval_ops


def _run(path, eval_ops, feed_dict, hooks, **session):
  """Runs eval_ops on the model of a checkpoint until a hook stops it."""
  form = '%Y-%m-%d-%H:%M:%S'
  log.info('Starting evaluation at %s', time.strftime(form, time.gmtime()))
  creator = monitored.ChiefSessionCreator(checkpoint_filename_with_path=path, **session)
  with monitored.MonitoredSession(session_creator=creator, hooks=hooks) as running:
    if eval_ops is not None:
      while not running.should_stop():
        running.run(eval_ops, feed_dict)
  log.info('Finished evaluation at %s', time.strftime(form, time.gmtime()))


@export('contrib.training.evaluate_once')
def evaluate_once(checkpoint_path, master='', scaffold=None, eval_ops=None, feed_dict=None,
                  final_ops=None, final_ops_feed_dict=None, hooks=None, config=None):
  """The values of final_ops after eval_ops were run on the model of a checkpoint until a hook
  stopped it. With eval_ops of None, only the final ones are fetched."""
  final = FinalOpsHook(final_ops, final_ops_feed_dict)
  hooks = list(hooks or []) + [final]
  _run(checkpoint_path, _with_step(eval_ops, hooks), feed_dict, hooks, scaffold=scaffold,
       master=master, config=config)
  return final.final_ops_values


@export('contrib.training.evaluate_repeatedly')
def evaluate_repeatedly(checkpoint_dir, master='', scaffold=None, eval_ops=None, feed_dict=None,
                        final_ops=None, final_ops_feed_dict=None, eval_interval_secs=60,
                        hooks=None, config=None, max_number_of_evaluations=None, timeout=None,
                        timeout_fn=None):
  """evaluate_once for each new checkpoint in a folder, max_number_of_evaluations times or until no
  new one comes; the values of the last one."""
  final = FinalOpsHook(final_ops, final_ops_feed_dict)
  hooks = list(hooks or []) + [final]
  eval_ops = _with_step(eval_ops, hooks)
  paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
  for count, path in enumerate(paths, 1):
    _run(path, eval_ops, feed_dict, hooks, scaffold=scaffold, master=master, config=config)
    if max_number_of_evaluations is not None and count >= max_number_of_evaluations:
      break
  return final.final_ops_values
