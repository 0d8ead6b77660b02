"""contrib.slim.evaluation: a model that is evaluated at a checkpoint, or at each new one."""
from __future__ import annotations

from leat._contrib.training import evaluation
from leat._export import export
from leat._train import saver as savers, summary
from leat._train.scaffold import Scaffold

ALIASES = {'contrib.slim.evaluation.' + n: 'contrib.training.' + n for n in (
    'wait_for_new_checkpoint', 'checkpoints_iterator')}
_USE_DEFAULT = 0


def _hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks):
  """The hooks that end an evaluation, write its summaries, and those of the caller."""
  found = [evaluation.StopAfterNEvalsHook(num_evals)]
  if summary_op is _USE_DEFAULT:
    summary_op = summary.merge_all()
  if summary_op is not None:
    found.append(evaluation.SummaryAtEndHook(log_dir=logdir, summary_op=summary_op,
                                             feed_dict=summary_op_feed_dict))
  return found + list(hooks or [])


def _saver(variables_to_restore):
  return None if variables_to_restore is None else savers.Saver(variables_to_restore)


@export('contrib.slim.evaluation.evaluate_once')
def evaluate_once(master, checkpoint_path, logdir, num_evals=1, initial_op=None,
                  initial_op_feed_dict=None, eval_op=None, eval_op_feed_dict=None, final_op=None,
                  final_op_feed_dict=None, summary_op=_USE_DEFAULT, summary_op_feed_dict=None,
                  variables_to_restore=None, session_config=None, hooks=None):
  """Runs eval_op `num_evals` times on the model of a checkpoint; the value of final_op after that.
  Summaries are written into `logdir` at the end."""
  return evaluation.evaluate_once(
      checkpoint_path, master=master,
      scaffold=Scaffold(init_op=initial_op, init_feed_dict=initial_op_feed_dict,
                        saver=_saver(variables_to_restore)),
      eval_ops=eval_op, feed_dict=eval_op_feed_dict, final_ops=final_op,
      final_ops_feed_dict=final_op_feed_dict, config=session_config,
      hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks))


@export('contrib.slim.evaluation.evaluation_loop')
def evaluation_loop(master, checkpoint_dir, logdir, num_evals=1, initial_op=None,
                    initial_op_feed_dict=None, init_fn=None, eval_op=None, eval_op_feed_dict=None,
                    final_op=None, final_op_feed_dict=None, summary_op=_USE_DEFAULT,
                    summary_op_feed_dict=None, variables_to_restore=None, eval_interval_secs=60,
                    max_number_of_evaluations=None, session_config=None, timeout=None,
                    timeout_fn=None, hooks=None):
  """The same for each new checkpoint of a folder, `max_number_of_evaluations` times, or until none
  came within `timeout` seconds and timeout_fn says that it is over."""
  return evaluation.evaluate_repeatedly(
      checkpoint_dir, master=master,
      scaffold=Scaffold(init_op=initial_op, init_feed_dict=initial_op_feed_dict, init_fn=init_fn,
                        saver=_saver(variables_to_restore)),
      eval_ops=eval_op, feed_dict=eval_op_feed_dict, final_ops=final_op,
      final_ops_feed_dict=final_op_feed_dict, eval_interval_secs=eval_interval_secs,
      hooks=_hooks(num_evals, logdir, summary_op, summary_op_feed_dict, hooks),
      config=session_config, max_number_of_evaluations=max_number_of_evaluations, timeout=timeout,
      timeout_fn=timeout_fn)
