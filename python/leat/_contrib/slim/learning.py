"""contrib.slim.learning: the training step of a loss, and the loop that runs it under a Supervisor,
which saves checkpoints and summaries and takes training up again where it ended."""
from __future__ import annotations

import os
import sys
import time

from leat._contrib.training import training
from leat._export import export
from leat._graph import errors
from leat._graph import graph as graphs
from leat._graph import message
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._ops import control, lookup, math, variable_collections
from leat._platform import log
from leat._train import saver as savers, step as steps, summary
from leat._train.optimizer import Optimizer
from leat._train.supervisor import Supervisor

ALIASES = {'contrib.slim.learning.' + n: 'contrib.training.' + n for n in (
    'add_gradients_summaries', 'clip_gradient_norms', 'multiply_gradients')}
_USE_DEFAULT = 0


@export('contrib.slim.learning.create_train_op')
def create_train_op(total_loss, optimizer, global_step=training._USE_GLOBAL_STEP, update_ops=None,
                    variables_to_train=None, clip_gradient_norm=0, summarize_gradients=False,
                    gate_gradients=Optimizer.GATE_OP, aggregation_method=None,
                    colocate_gradients_with_ops=False, gradient_multipliers=None,
                    check_numerics=True):
  """contrib.training.create_train_op, with gradients that are multiplied and then clipped to a
  norm, each where it is asked for."""
  def transform(pairs):
    if gradient_multipliers:
      with name_scope('multiply_grads'):
        pairs = training.multiply_gradients(pairs, gradient_multipliers)
    if clip_gradient_norm > 0:
      with name_scope('clip_grads'):
        pairs = training.clip_gradient_norms(pairs, clip_gradient_norm)
    return pairs
  return training.create_train_op(
      total_loss, optimizer, global_step=global_step, update_ops=update_ops,
      variables_to_train=variables_to_train, transform_grads_fn=transform,
      summarize_gradients=summarize_gradients, gate_gradients=gate_gradients,
      aggregation_method=aggregation_method, check_numerics=check_numerics,
      colocate_gradients_with_ops=colocate_gradients_with_ops)


def _write_trace(step_stats, logdir, step, summary_writer, metadata):
  """The timeline of a step as a file that Chrome shows, and in the event file."""
  from leat._train import timeline
  path = os.path.join(logdir, 'tf_trace-%d.json' % step)
  log.info('Writing trace to %s', path)
  with open(path, 'w', encoding='utf-8') as f:
    f.write(timeline.Timeline(step_stats).generate_chrome_trace_format())
  if summary_writer is not None:
    summary_writer.add_run_metadata(metadata, 'run_metadata-%d' % step)


@export('contrib.slim.learning.train_step')
def train_step(sess, train_op, global_step, train_step_kwargs):
  """(loss, whether to stop) of one step. train_step_kwargs has tensors of bools that say what to
  do: 'should_stop', 'should_log', 'should_trace' (which needs 'logdir', and may have
  'summary_writer')."""
  start, options, metadata = time.monotonic(), None, None
  if 'should_trace' in train_step_kwargs:
    if 'logdir' not in train_step_kwargs:
      raise ValueError('logdir must be present in train_step_kwargs when should_trace is present')
    if sess.run(train_step_kwargs['should_trace']):
      options = message.of('RunOptions')(trace_level=3)  # FULL_TRACE
      metadata = message.of('RunMetadata')()
  loss, step = sess.run([train_op, global_step], options=options, run_metadata=metadata)
  seconds = time.monotonic() - start
  if metadata is not None:
    _write_trace(metadata.step_stats, train_step_kwargs['logdir'], step,
                 train_step_kwargs.get('summary_writer'), metadata)
  if 'should_log' in train_step_kwargs and sess.run(train_step_kwargs['should_log']):
    log.info('global step %d: loss = %.4f (%.3f sec/step)', step, loss, seconds)
  should_stop = 'should_stop' in train_step_kwargs and sess.run(train_step_kwargs['should_stop'])
  return loss, should_stop


def _wait_for_step(sess, global_step, step):
  """Waits until other workers have done so many steps."""
  while steps.global_step(sess, global_step) < step:
    time.sleep(1.0)


def _check(train_op, logdir, summary_op, saver, trace_every_n_steps, sync_optimizer,
           startup_delay_steps, number_of_steps):
  if train_op is None:
    raise ValueError('train_op cannot be None.')
  if logdir is None:
    for name, given in (('summary_op', summary_op is not _USE_DEFAULT and summary_op is not None),
                        ('saver', saver is not None),
                        ('trace_every_n_steps', trace_every_n_steps is not None)):
      if given:
        raise ValueError('Cannot provide %s because logdir=None' % name)
  if sync_optimizer is not None and startup_delay_steps > 0:
    raise ValueError('startup_delay_steps must be zero when sync_optimizer is supplied.')
  if number_of_steps is not None and number_of_steps <= 0:
    raise ValueError('`number_of_steps` must be either None or a positive number.')


def _step_arguments(global_step, number_of_steps, log_every_n_steps, trace_every_n_steps, is_chief,
                    logdir):
  """The default of train_step_kwargs."""
  every = lambda n: math.equal(apply_op('FloorMod', x=global_step, y=n), 0)
  with name_scope('train_step'):
    found = {'should_stop': apply_op('GreaterEqual', x=global_step, y=number_of_steps)
                            if number_of_steps else convert(False)}
    if log_every_n_steps > 0:
      found['should_log'] = every(log_every_n_steps)
    if is_chief and trace_every_n_steps is not None:
      found.update(should_trace=every(trace_every_n_steps), logdir=logdir)
  return found


def _operations(sync_optimizers, is_chief, init_op, ready_op, local_init_op):
  """(init_op, ready_op, ready_for_local_init_op, local_init_op), made where they are not given."""
  ready_for_local_init_op = None
  with name_scope('init_ops'):
    if init_op is _USE_DEFAULT:
      init_op = variable_collections.global_variables_initializer()
    if ready_op is _USE_DEFAULT:
      ready_op = variable_collections.report_uninitialized_variables()
    if local_init_op is _USE_DEFAULT:
      local_init_op = control.group(variable_collections.local_variables_initializer(),
                                    lookup.tables_initializer())
    for optimizer in sync_optimizers:
      if not hasattr(optimizer, 'chief_init_op'):
        raise ValueError('`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.')
      ready_for_local_init_op = optimizer.ready_for_local_init_op
      own = optimizer.chief_init_op if is_chief else optimizer.local_step_init_op
      with control_dependencies([local_init_op] if local_init_op is not None else []):
        local_init_op = control.group(own)
  return init_op, ready_op, ready_for_local_init_op, local_init_op


@export('contrib.slim.learning.train')
def train(train_op, logdir, train_step_fn=train_step, train_step_kwargs=_USE_DEFAULT,
          log_every_n_steps=1, graph=None, master='', is_chief=True, global_step=None,
          number_of_steps=None, init_op=_USE_DEFAULT, init_feed_dict=None,
          local_init_op=_USE_DEFAULT, init_fn=None, ready_op=_USE_DEFAULT,
          summary_op=_USE_DEFAULT, save_summaries_secs=600, summary_writer=_USE_DEFAULT,
          startup_delay_steps=0, saver=None, save_interval_secs=600, sync_optimizer=None,
          session_config=None, session_wrapper=None, trace_every_n_steps=None,
          ignore_live_threads=False):
  """Runs train_op until the global step is `number_of_steps`, input ends, or train_step_fn says so;
  the last loss.

  train_step_fn(session, train_op, global_step, train_step_kwargs) does a step and gives (loss,
  whether to stop). Checkpoints and summaries go into `logdir`; with None there are none. init_fn is
  called with the session where no checkpoint is found. A worker that is no chief begins when
  `startup_delay_steps` steps were done. ValueError where arguments contradict each other."""
  _check(train_op, logdir, summary_op, saver, trace_every_n_steps, sync_optimizer,
         startup_delay_steps, number_of_steps)
  sync = [] if sync_optimizer is None else sync_optimizer if isinstance(sync_optimizer, list) else \
      [sync_optimizer]
  graph = graph or graphs.get_default_graph()
  with graph.as_default():
    if global_step is None:
      global_step = steps.get_or_create_global_step()
    saver = saver or savers.Saver()
    init_op, ready_op, ready_for_local_init_op, local_init_op = _operations(
        sync, is_chief, init_op, ready_op, local_init_op)
    if summary_op is _USE_DEFAULT:
      summary_op = summary.merge_all()
    if train_step_kwargs is _USE_DEFAULT:
      train_step_kwargs = _step_arguments(global_step, number_of_steps, log_every_n_steps,
                                          trace_every_n_steps, is_chief, logdir)
    sync_inits, runners = [], []
    if is_chief and sync:
      sync_inits = [o.get_init_tokens_op() for o in sync]
      runners = [o.get_chief_queue_runner() for o in sync]
  sv = Supervisor(
      graph=graph, is_chief=is_chief, logdir=logdir, init_op=init_op,
      init_feed_dict=init_feed_dict, local_init_op=local_init_op, ready_op=ready_op,
      ready_for_local_init_op=ready_for_local_init_op, summary_op=summary_op,
      summary_writer=summary_writer, global_step=global_step, saver=saver,
      save_summaries_secs=save_summaries_secs, save_model_secs=save_interval_secs, init_fn=init_fn)
  if summary_writer is not None:
    train_step_kwargs['summary_writer'] = sv.summary_writer

  def once():
    """Trains in one session; the last loss."""
    loss = None
    with sv.managed_session(master, start_standard_services=False, config=session_config) as sess:
      log.info('Starting Session.')
      if session_wrapper is not None:
        sess = session_wrapper(sess)
      if is_chief:
        if logdir:
          sv.start_standard_services(sess)
      elif startup_delay_steps > 0:
        _wait_for_step(sess, global_step, min(startup_delay_steps, number_of_steps or sys.maxsize))
      threads = sv.start_queue_runners(sess)
      log.info('Starting Queues.')
      if runners:
        sv.start_queue_runners(sess, runners)
        sess.run(sync_inits)
      try:
        while not sv.should_stop():
          loss, should_stop = train_step_fn(sess, train_op, global_step, train_step_kwargs)
          if should_stop:
            log.info('Stopping Training.')
            sv.request_stop()
            break
      except errors.OutOfRangeError as error:
        log.info('Caught OutOfRangeError. Stopping Training. %s', error)
      if logdir and sv.is_chief:
        log.info('Finished training! Saving model to disk.')
        sv.saver.save(sess, sv.save_path, global_step=sv.global_step)
        sv.stop(threads, close_summary_writer=True, ignore_live_threads=ignore_live_threads)
    return loss
  while True:
    try:
      return once()
    except errors.AbortedError as error:  # a server was started anew: so is the session
      log.info('Retrying training: %s', error)
