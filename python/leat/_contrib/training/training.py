"""create_train_op, train: a train op that computes the loss and updates everything, and the loop
that runs it in a monitored session. Between the gradients and their application a program may
change them: clip their norms, multiply them, or what `transform_grads_fn` does."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import GraphKeys, control_dependencies, name_scope
from leat._ops import clip, control, variable_collections
from leat._ops.sparse import IndexedSlices
from leat._platform import log
from leat._train import monitored, step as steps, summary
from leat._train.optimizer import Optimizer

_USE_GLOBAL_STEP = 0


def _values(gradient):
  return gradient.values if isinstance(gradient, IndexedSlices) else gradient


@export('contrib.training.add_gradients_summaries')
def add_gradients_summaries(grads_and_vars):
  """A histogram and the norm of each gradient as summaries, in a list."""
  made = []
  for gradient, variable in grads_and_vars:
    if gradient is None:
      log.info('Var %s has no gradient', variable.op.name)
      continue
    values = _values(gradient)
    made.append(summary.histogram(variable.op.name + '_gradient', values))
    made.append(summary.scalar(variable.op.name + '_gradient_norm', clip.global_norm([values])))
  return made


@export('contrib.training.clip_gradient_norms')
def clip_gradient_norms(gradients_to_variables, max_norm):
  """[(gradient, variable)] with no gradient longer than max_norm."""
  def clipped(gradient):
    if isinstance(gradient, IndexedSlices):
      return IndexedSlices(clip.clip_by_norm(gradient.values, max_norm), gradient.indices,
                           gradient.dense_shape)
    return None if gradient is None else clip.clip_by_norm(gradient, max_norm)
  return [(clipped(g), v) for g, v in gradients_to_variables]


@export('contrib.training.clip_gradient_norms_fn')
def clip_gradient_norms_fn(max_norm):
  """clip_gradient_norms for that norm, as a transform_grads_fn."""
  return lambda pairs: clip_gradient_norms(pairs, max_norm)


@export('contrib.training.multiply_gradients')
def multiply_gradients(grads_and_vars, gradient_multipliers):
  """[(gradient, variable)] with the gradient of each variable in the dict (by variable or by its
  name) multiplied."""
  if not isinstance(grads_and_vars, list):
    raise ValueError('`grads_and_vars` must be a list.')
  if not gradient_multipliers:
    raise ValueError('`gradient_multipliers` is empty.')
  if not isinstance(gradient_multipliers, dict):
    raise ValueError('`gradient_multipliers` must be a dict.')
  made = []
  for gradient, variable in grads_and_vars:
    key = variable if variable in gradient_multipliers else variable.op.name
    if key in gradient_multipliers:
      if gradient is None:
        raise ValueError('Requested multiple of `None` gradient.')
      factor = convert(gradient_multipliers[key], dtypes.as_dtype(gradient.dtype.base_dtype))
      gradient = IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape) \
          if isinstance(gradient, IndexedSlices) else gradient * factor
    made.append((gradient, variable))
  return made


@export('contrib.training.create_train_op')
def create_train_op(total_loss, optimizer, global_step=_USE_GLOBAL_STEP, update_ops=None,
                    variables_to_train=None, transform_grads_fn=None, summarize_gradients=False,
                    gate_gradients=Optimizer.GATE_OP, aggregation_method=None,
                    colocate_gradients_with_ops=False, check_numerics=True):
  """A tensor: the loss, whose computation runs the updates (those of UPDATE_OPS unless they are
  given), applies the gradients and raises the global step (None for no step). With
  `check_numerics`, a loss that is not finite is an InvalidArgumentError."""
  if global_step is _USE_GLOBAL_STEP:
    global_step = steps.get_or_create_global_step()
  graph = graphs.get_default_graph()
  collected = set(graph.get_collection(GraphKeys.UPDATE_OPS))
  update_ops = collected if update_ops is None else set(update_ops)
  if not collected.issubset(update_ops):
    log.warning('update_ops in create_train_op does not contain all the update_ops in '
                'GraphKeys.UPDATE_OPS')
  if update_ops:
    ordered = sorted(update_ops, key=lambda u: control.op_of(u).name)
    with control_dependencies(ordered):
      barrier = apply_op('NoOp', name='update_barrier')
    total_loss = control.with_dependencies([barrier], total_loss)
  if variables_to_train is None:
    variables_to_train = variable_collections.trainable_variables()
  else:
    for variable in variables_to_train:
      assert variable in variable_collections.trainable_variables()
  assert variables_to_train
  pairs = optimizer.compute_gradients(
      total_loss, variables_to_train, gate_gradients=gate_gradients,
      aggregation_method=aggregation_method,
      colocate_gradients_with_ops=colocate_gradients_with_ops)
  if transform_grads_fn is not None:
    pairs = transform_grads_fn(pairs)
  if summarize_gradients:
    with name_scope('summarize_grads'):
      add_gradients_summaries(pairs)
  applied = optimizer.apply_gradients(pairs, global_step=global_step)
  with name_scope('train_op'):
    if check_numerics:
      total_loss = apply_op('CheckNumerics', tensor=total_loss, message='LossTensor is inf or nan')
    train_op = control.with_dependencies([applied], total_loss)
  if train_op not in graph.get_collection_ref(GraphKeys.TRAIN_OP):
    graph.add_to_collection(GraphKeys.TRAIN_OP, train_op)
  return train_op


@export('contrib.training.train')
def train(train_op, logdir, master='', is_chief=True, scaffold=None, hooks=None,
          chief_only_hooks=None, save_checkpoint_secs=600, save_summaries_steps=100, config=None,
          max_wait_secs=7200):
  """Runs train_op until a hook stops the session; the last value of it, or None where no step was
  run. Checkpoints and summaries are written into logdir."""
  if logdir is None and is_chief:
    if save_summaries_steps:
      raise ValueError('logdir cannot be None when save_summaries_steps is not None')
    if save_checkpoint_secs:
      raise ValueError('logdir cannot be None when save_checkpoint_secs is not None')
  loss = None
  with monitored.MonitoredTrainingSession(
      master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold, hooks=hooks,
      chief_only_hooks=chief_only_hooks, save_checkpoint_secs=save_checkpoint_secs,
      save_summaries_steps=save_summaries_steps, config=config,
      max_wait_secs=max_wait_secs) as session:
    while not session.should_stop():
      loss = session.run(train_op)
  return loss
