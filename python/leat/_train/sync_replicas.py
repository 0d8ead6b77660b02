"""SyncReplicasOptimizer: many replicas compute gradients, and one update applies their mean.

    each replica     adds its gradients to accumulators beside the variables, marked with the step
                     at which it read them; then waits for a token and takes the step on it over
    the chief        a queue runner takes the mean once enough gradients are there, applies it,
                     which raises the global step, and puts a token for each replica into a queue

Gradients that are older than the global step are dropped by the accumulators, so that a replica
that is late does no harm.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.scope import (GraphKeys, colocate_with, control_dependencies, device, name_scope)
from leat._ops import accumulators, array, assign, control, queues, variable_collections, variables
from leat._platform import log
from leat._train import coordinator, ready_session
from leat._train.hook import SessionRunHook
from leat._train.optimizer import WrappingOptimizer


@export('train.SyncReplicasOptimizer')
class SyncReplicasOptimizer(WrappingOptimizer):
  """Applies the mean of the gradients of `replicas_to_aggregate` replicas by the optimizer `opt`.
  The chief's session needs the queue runner and the tokens that make_session_run_hook(True) starts.
  """

  def __init__(self, opt, replicas_to_aggregate, total_num_replicas=None, variable_averages=None,
               variables_to_average=None, use_locking=False, name='sync_replicas'):
    if total_num_replicas is None:
      total_num_replicas = replicas_to_aggregate
    super().__init__(opt, use_locking, name)
    log.info('SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s',
             replicas_to_aggregate, total_num_replicas)
    self._replicas_to_aggregate, self._total_num_replicas = (replicas_to_aggregate,
                                                             total_num_replicas)
    self._tokens_per_step = max(total_num_replicas, replicas_to_aggregate)
    self._variable_averages = variable_averages
    self._variables_to_average = variables_to_average
    self._gradients_applied = False
    self._global_step = self._sync_token_queue = self._chief_queue_runner = None
    self._accumulator_list = []   # (accumulator, device)

  def apply_gradients(self, grads_and_vars, global_step=None, name=None):
    """The operation of a replica: it adds the gradients and waits for the token of the next step.
    """
    grads_and_vars = list(grads_and_vars)
    if not grads_and_vars:
      raise ValueError('Must supply at least one variable')
    if global_step is None:
      raise ValueError('Global step is required to check staleness')
    self._global_step = global_step
    self._make_local_step(global_step)
    with name_scope(None, self._name):
      added, means = [], []
      for gradient, variable in grads_and_vars:
        with device(variable.device):
          means.append((self._accumulated(gradient, variable, added), variable))
      with device(global_step.device), name_scope(''):
        update = self._opt.apply_gradients(means, global_step)
        train = self._make_queues(global_step, added, update)
      self.chief_init_op = control.group(self.local_step_init_op, *self._set_steps(global_step))
      self._gradients_applied = True
      return train

  def _make_local_step(self, global_step):
    """The variable of each replica with the step of its gradients. An operation that is placed on
    the worker keeps it from being placed with the other variables."""
    with colocate_with(apply_op('NoOp')):
      self._local_step = variables.Variable(
          0, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES],
          dtype=global_step.dtype.base_dtype, name='sync_rep_local_step')
    self.local_step_init_op = assign.assign(self._local_step, global_step)
    self.ready_for_local_init_op = variable_collections.report_uninitialized_variables(
        variable_collections.global_variables())

  def _accumulated(self, gradient, variable, added):
    """The mean of the replicas' gradients; the operation that adds this one is put into `added`."""
    if gradient is None:
      return None
    shared = variable.name + '/grad_accum'
    if isinstance(gradient, _leat.Output):
      accumulator = accumulators.ConditionalAccumulator(
          gradient.dtype, shape=variable.get_shape(), shared_name=shared)
      added.append(accumulator.apply_grad(gradient, local_step=self._local_step))
      mean = accumulator.take_grad(self._replicas_to_aggregate)
    elif type(gradient).__name__ == 'IndexedSlices':
      accumulator = accumulators.SparseConditionalAccumulator(gradient.dtype, shape=(),
                                                              shared_name=shared)
      added.append(accumulator.apply_indexed_slices_grad(gradient, local_step=self._local_step))
      mean = accumulator.take_indexed_slices_grad(self._replicas_to_aggregate)
    else:
      raise ValueError('Unknown grad type: %r' % (gradient,))
    self._accumulator_list.append((accumulator, variable.device))
    return mean

  def _make_queues(self, global_step, added, update):
    """The replica's operation; also makes the queue of tokens, and the runner of the updates.

    The runner is given another queue than that of the tokens: it closes its queue when it ends, and
    what is closed on a parameter server stays so for the next session.
    """
    kind = global_step.dtype.base_dtype
    tokens = queues.FIFOQueue(-1, kind, shapes=(), name='sync_token_q', shared_name='sync_token_q')
    dummy = queues.FIFOQueue(1, kind, shapes=(), name='dummy_queue', shared_name='dummy_queue')
    self._sync_token_queue = tokens
    with control_dependencies(added):
      token = tokens.dequeue()
    train = assign.assign(self._local_step, token)
    with control_dependencies([update]):
      sync = tokens.enqueue_many((array.fill([self._tokens_per_step], global_step),))
    if self._variable_averages is not None:
      with control_dependencies([sync]):
        sync = self._variable_averages.apply(self._variables_to_average)
    self._chief_queue_runner = coordinator.QueueRunner(dummy, [sync])
    return train

  def _set_steps(self, global_step):
    """Operations that tell the accumulators from which step on gradients count."""
    found = []
    for accumulator, where in self._accumulator_list:
      with device(where):
        found.append(accumulator.set_global_step(global_step, name='SetGlobalStep'))
    return found

  def get_chief_queue_runner(self):
    """The QueueRunner of the updates, which the chief must start."""
    if not self._gradients_applied:
      raise ValueError('Should be called after apply_gradients().')
    return self._chief_queue_runner

  def get_init_tokens_op(self, num_tokens=-1):
    """An operation that puts the first tokens into the queue, replicas_to_aggregate unless
    num_tokens says otherwise."""
    if not self._gradients_applied:
      raise ValueError('get_init_tokens_op() should be called after apply_gradients().')
    needed = self._replicas_to_aggregate - self._total_num_replicas
    if num_tokens == -1:
      num_tokens = self._replicas_to_aggregate
    elif num_tokens < needed:
      raise ValueError('Too few tokens to finish the first step: %d (given) vs %d (needed)' % (
          num_tokens, needed))
    if num_tokens <= 0:
      return apply_op('NoOp', name='no_init_tokens')
    with device(self._global_step.device), name_scope(''):
      tokens = array.fill([num_tokens], self._global_step)
      return self._sync_token_queue.enqueue_many((tokens,))

  def make_session_run_hook(self, is_chief, num_tokens=-1):
    """A hook for a monitored session, which initializes the replica and, on the chief, the rest."""
    return _Hook(self, is_chief, num_tokens)


class _Hook(SessionRunHook):
  """Initializes a new session for the optimizer."""

  def __init__(self, optimizer, is_chief, num_tokens):
    self._optimizer, self._is_chief, self._num_tokens = optimizer, is_chief, num_tokens
    self._local_init_op = self._init_tokens_op = self._queue_runner = None

  def begin(self):
    optimizer = self._optimizer
    if not optimizer._gradients_applied:
      raise ValueError('SyncReplicasOptimizer.apply_gradient should be called before using the '
                       'hook.')
    if not self._is_chief:
      self._local_init_op = optimizer.local_step_init_op
      return
    self._local_init_op = optimizer.chief_init_op
    self._queue_runner = optimizer.get_chief_queue_runner()
    self._init_tokens_op = optimizer.get_init_tokens_op(self._num_tokens)

  def after_create_session(self, session, coord):
    ready, reason = ready_session.is_ready(
        self._optimizer.ready_for_local_init_op, session,
        'Model is not ready for SyncReplicasOptimizer local init.')
    if not ready:
      raise RuntimeError('Init operations did not make model ready for SyncReplicasOptimizer '
                         'local_init. Init op: %s, error: %s' % (self._local_init_op.name, reason))
    session.run(self._local_init_op)
    if self._init_tokens_op is not None:
      session.run(self._init_tokens_op)
    if self._queue_runner is not None:
      self._queue_runner.create_threads(session, coord=coord, daemon=True, start=True)
