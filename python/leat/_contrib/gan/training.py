"""contrib.gan training: the losses of a model, what trains both networks, and loops of training."""
from __future__ import annotations

from leat._contrib.gan import models, tuple_losses
from leat._contrib.training import training
from leat._export import export
from leat._graph import graph as graphs
from leat._graph.scope import GraphKeys, name_scope
from leat._ops import assign, losses as plain_losses, matrix
from leat._ops.variable_scope import variable_scope
from leat._train import step as steps
from leat._train.hook import SessionRunHook
from leat._train.sync_replicas import SyncReplicasOptimizer


@export('contrib.gan.gan_loss')
def gan_loss(model, generator_loss_fn=tuple_losses.modified_generator_loss,
             discriminator_loss_fn=tuple_losses.modified_discriminator_loss,
             gradient_penalty_weight=None, gradient_penalty_epsilon=1e-10,
             gradient_penalty_target=1.0, gradient_penalty_one_sided=False,
             mutual_information_penalty_weight=None, aux_cond_generator_weight=None,
             aux_cond_discriminator_weight=None, tensor_pool_fn=None, add_summaries=True):
  """The GANLoss of a model, with the regularization losses of each network's scope.

  The functions take (model, add_summaries=). gradient_penalty_weight is that of
  wasserstein_gradient_penalty; mutual_information_penalty_weight is for an InfoGANModel, the
  weights aux_cond_* for an ACGANModel. tensor_pool_fn((generated data, inputs)) gives those that
  the discriminator is trained with, from earlier steps too. ValueError for weights of another
  model, or below zero."""
  for weight, name in ((gradient_penalty_weight, 'gradient_penalty_weight'),
                       (mutual_information_penalty_weight, 'mutual_information_penalty_weight'),
                       (aux_cond_generator_weight, 'aux_cond_generator_weight'),
                       (aux_cond_discriminator_weight, 'aux_cond_discriminator_weight')):
    if isinstance(weight, (int, float)) and weight < 0:
      raise ValueError('%s is %s, must not be negative' % (name, weight))
  if mutual_information_penalty_weight is not None and not isinstance(model, models.InfoGANModel):
    raise ValueError('mutual_information_penalty_weight needs an InfoGANModel')
  if (aux_cond_generator_weight is not None or aux_cond_discriminator_weight is not None) and \
      not isinstance(model, models.ACGANModel):
    raise ValueError('aux_cond_generator_weight and aux_cond_discriminator_weight need an '
                     'ACGANModel')
  of_generator = generator_loss_fn(model, add_summaries=add_summaries)
  of_discriminator = discriminator_loss_fn(
      _pooled(model, tensor_pool_fn), add_summaries=add_summaries)
  if gradient_penalty_weight is not None:
    of_discriminator += gradient_penalty_weight * tuple_losses.wasserstein_gradient_penalty(
        model, epsilon=gradient_penalty_epsilon, target=gradient_penalty_target,
        one_sided=gradient_penalty_one_sided, add_summaries=add_summaries)
  if mutual_information_penalty_weight is not None:
    penalty = mutual_information_penalty_weight * tuple_losses.mutual_information_penalty(
        model, add_summaries=add_summaries)
    of_generator, of_discriminator = of_generator + penalty, of_discriminator + penalty
  if aux_cond_generator_weight is not None:
    of_generator += aux_cond_generator_weight * tuple_losses.acgan_generator_loss(
        model, add_summaries=add_summaries)
  if aux_cond_discriminator_weight is not None:
    of_discriminator += aux_cond_discriminator_weight * tuple_losses.acgan_discriminator_loss(
        model, add_summaries=add_summaries)
  return models.GANLoss(_regularized(of_generator, model.generator_scope),
                        _regularized(of_discriminator, model.discriminator_scope))


def _regularized(loss, scope):
  found = plain_losses.get_regularization_losses(scope.name + '/')
  return matrix.add_n([loss] + found) if found else loss


def _pooled(model, tensor_pool_fn):
  """The model with generated data of the pool, which the discriminator judges anew."""
  if tensor_pool_fn is None:
    return model
  data, inputs = tensor_pool_fn((model.generated_data, model.generator_inputs))
  function = getattr(model, 'discriminator_and_aux_fn', model.discriminator_fn)
  with variable_scope(model.discriminator_scope, reuse=True):
    outputs = function(data, inputs)
  changed = dict(generated_data=data, generator_inputs=inputs)
  if isinstance(model, models.InfoGANModel):
    changed.update(discriminator_gen_outputs=outputs[0], predicted_distributions=outputs[1])
  elif isinstance(model, models.ACGANModel):
    changed.update(discriminator_gen_outputs=outputs[0],
                   discriminator_gen_classification_logits=outputs[1])
  else:
    changed.update(discriminator_gen_outputs=outputs)
  return model._replace(**changed)


@export('contrib.gan.gan_train_ops')
def gan_train_ops(model, loss, generator_optimizer, discriminator_optimizer,
                  check_for_unused_update_ops=True, is_chief=True, **kwargs):
  """The GANTrainOps of a model and its GANLoss; kwargs are those of training.create_train_op. The
  updates of UPDATE_OPS run with the network in whose scope they are; ValueError where one is in
  neither, and check_for_unused_update_ops. The global step is raised once for both."""
  of_generator, of_discriminator = _updates(model, kwargs.pop('update_ops', None),
                                            check_for_unused_update_ops)
  with name_scope('generator_train'):
    train_generator = training.create_train_op(
        loss.generator_loss, generator_optimizer, global_step=None, update_ops=of_generator,
        variables_to_train=model.generator_variables, **kwargs)
  with name_scope('discriminator_train'):
    train_discriminator = training.create_train_op(
        loss.discriminator_loss, discriminator_optimizer, global_step=None,
        update_ops=of_discriminator, variables_to_train=model.discriminator_variables, **kwargs)
  step = steps.get_or_create_global_step()
  hooks = [optimizer.make_session_run_hook(is_chief) for optimizer in (
      generator_optimizer, discriminator_optimizer) if isinstance(optimizer, SyncReplicasOptimizer)]
  return models.GANTrainOps(train_generator, train_discriminator, assign.assign_add(step, 1),
                            hooks)


def _updates(model, update_ops, check):
  """(updates of the generator, of the discriminator)"""
  graph = graphs.get_default_graph()
  known = set(graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops)
  of = lambda scope: [op for op in graph.get_collection(GraphKeys.UPDATE_OPS, scope.name + '/')
                      if op in known]
  found = of(model.generator_scope), of(model.discriminator_scope)
  unused = known - set(found[0]) - set(found[1])
  if check and unused:
    raise ValueError('There are unused update ops: %s' % sorted(op.name for op in unused))
  return found


# ---- Loops --------------------------------------------------------------------------------------


@export('contrib.gan.RunTrainOpsHook')
class RunTrainOpsHook(SessionRunHook):
  """Runs operations a number of times before each step."""

  def __init__(self, train_ops, train_steps):
    self._train_ops = list(train_ops) if isinstance(train_ops, (list, tuple)) else [train_ops]
    self._train_steps = train_steps

  def before_run(self, run_context):
    for _ in range(self._train_steps):
      run_context.session.run(self._train_ops)


@export('contrib.gan.get_sequential_train_hooks')
def get_sequential_train_hooks(train_steps=models.GANTrainSteps(1, 1)):
  """A function of GANTrainOps that gives hooks: the generator is trained first, then the
  discriminator, each as often as train_steps says."""
  def hooks_of(train_ops):
    return [RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
            RunTrainOpsHook(train_ops.discriminator_train_op,
                            train_steps.discriminator_train_steps), *train_ops.train_hooks]
  return hooks_of


@export('contrib.gan.get_joint_train_hooks')
def get_joint_train_hooks(train_steps=models.GANTrainSteps(1, 1)):
  """The same, but both networks are trained at once, as often as both are to be, and then the one
  that is to be trained more often alone."""
  generator, discriminator = train_steps
  both = min(generator, discriminator)

  def hooks_of(train_ops):
    pair = [train_ops.generator_train_op, train_ops.discriminator_train_op]
    alone = [RunTrainOpsHook(op, count - both) for op, count in zip(pair, train_steps)
             if count > both]
    return [RunTrainOpsHook(pair, both), *alone, *train_ops.train_hooks]
  return hooks_of


@export('contrib.gan.gan_train')
def gan_train(train_ops, logdir, get_hooks_fn=get_sequential_train_hooks(), master='',
              is_chief=True, scaffold=None, hooks=None, chief_only_hooks=None,
              save_checkpoint_secs=600, save_summaries_steps=100, config=None):
  """Trains until a hook ends it, as training.train does, and gives the global step. Of train_ops
  the hooks of get_hooks_fn(train_ops) run."""
  return training.train(
      train_ops.global_step_inc_op, logdir, master, is_chief, scaffold,
      list(get_hooks_fn(train_ops)) + list(hooks or ()), chief_only_hooks, save_checkpoint_secs,
      save_summaries_steps, config)


@export('contrib.gan.get_sequential_train_steps')
def get_sequential_train_steps(train_steps=models.GANTrainSteps(1, 1)):
  """A train_step_fn of slim.learning.train, whose train_op is GANTrainOps."""
  def train_step(session, train_ops, global_step, train_step_kwargs):
    total = 0.0
    for op, count in zip((train_ops.generator_train_op, train_ops.discriminator_train_op),
                         train_steps):
      for _ in range(count):
        found = session.run(op)
      total += found if count else 0.0
    session.run(train_ops.global_step_inc_op)
    should_stop = train_step_kwargs.get('should_stop')
    return total, bool(session.run(should_stop)) if should_stop is not None else False
  return train_step
