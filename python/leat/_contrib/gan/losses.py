"""contrib.gan.losses: what a generator and a discriminator lose, of tensors (`losses.wargs`).

All are averages over the examples, times weights, and are added to `loss_collection`. The outputs
of a discriminator are logits: high for data that it takes for real. tuple_losses.py has the same of
models.
"""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.gradients import gradients
from leat._graph.scope import GraphKeys, name_scope
from leat._ops import array, clip, losses, math, random
from leat._ops.losses import Reduction
from leat._ops.variable_scope import variable_scope
from leat._train import summary

_LOSSES, _MEAN = GraphKeys.LOSSES, Reduction.SUM_BY_NONZERO_WEIGHTS


def _summarized(loss, add_summaries, **parts):
  if add_summaries:
    for name, value in parts.items():
      summary.scalar(name, value)
  return loss


def _difference(on_real, on_generated, name, loss_collection, add_summaries, sign=1):
  """The sum (or difference) of the losses on both kinds of data."""
  loss = on_generated + on_real if sign > 0 else on_generated - on_real
  losses.add_loss(loss, loss_collection)
  return _summarized(loss, add_summaries, **{
      'discriminator_gen_%s_loss' % name: on_generated,
      'discriminator_real_%s_loss' % name: on_real, 'discriminator_%s_loss' % name: loss})


# ---- Wasserstein --------------------------------------------------------------------------------


@export('contrib.gan.losses.wargs.wasserstein_generator_loss')
def wasserstein_generator_loss(discriminator_gen_outputs, weights=1.0, scope=None,
                               loss_collection=_LOSSES, reduction=_MEAN, add_summaries=False):
  """The mean of the negative outputs for generated data."""
  with name_scope(scope, 'generator_wasserstein_loss', (discriminator_gen_outputs, weights)) as s:
    loss = losses.compute_weighted_loss(-convert(discriminator_gen_outputs), weights, s,
                                        loss_collection, reduction)
    return _summarized(loss, add_summaries, generator_wass_loss=loss)


@export('contrib.gan.losses.wargs.wasserstein_discriminator_loss')
def wasserstein_discriminator_loss(
    discriminator_real_outputs, discriminator_gen_outputs, real_weights=1.0, generated_weights=1.0,
    scope=None, loss_collection=_LOSSES, reduction=_MEAN, add_summaries=False):
  """The mean of the outputs for generated data minus that for real data."""
  with name_scope(scope, 'discriminator_wasserstein_loss',
                  (discriminator_real_outputs, discriminator_gen_outputs)) as s:
    mean = lambda x, weights: losses.compute_weighted_loss(convert(x), weights, s, None, reduction)
    return _difference(mean(discriminator_real_outputs, real_weights),
                       mean(discriminator_gen_outputs, generated_weights), 'wass',
                       loss_collection, add_summaries, -1)


@export('contrib.gan.losses.wargs.wasserstein_gradient_penalty')
def wasserstein_gradient_penalty(
    real_data, generated_data, generator_inputs, discriminator_fn, discriminator_scope,
    epsilon=1e-10, target=1.0, one_sided=False, weights=1.0, scope=None, loss_collection=_LOSSES,
    reduction=_MEAN, add_summaries=False):
  """The mean squared distance from `target` of the norm of the discriminator's gradient, at random
  places between real and generated data; where one_sided, norms below the target cost nothing."""
  with name_scope(scope, 'wasserstein_gradient_penalty', (real_data, generated_data)) as s:
    real, generated = convert(real_data), convert(generated_data)
    rank = generated.get_shape().ndims
    if rank is None:
      raise ValueError('generated_data can\'t have unknown rank.')
    count = generated.get_shape()[0].value
    share = random.random_uniform([array.shape(generated)[0] if count is None else count] +
                                  [1] * (rank - 1), dtype=generated.dtype)
    between = real + share * (generated - real)
    with name_scope(None), variable_scope(discriminator_scope, reuse=True):
      outputs = discriminator_fn(between, generator_inputs)
    outputs = outputs[0] if isinstance(outputs, tuple) else outputs
    slope, = gradients(outputs, between)
    norm = math.sqrt(math.reduce_sum(math.square(slope), list(range(1, rank))) + epsilon)
    excess = norm / target - 1.0
    excess = apply_op('Maximum', x=excess, y=0.0) if one_sided else excess
    loss = losses.compute_weighted_loss(math.square(excess), weights, s, loss_collection,
                                        reduction)
    return _summarized(loss, add_summaries, gradient_penalty_loss=loss)


# ---- Cross entropies ----------------------------------------------------------------------------


@export('contrib.gan.losses.wargs.minimax_discriminator_loss')
def minimax_discriminator_loss(
    discriminator_real_outputs, discriminator_gen_outputs, label_smoothing=0.25, real_weights=1.0,
    generated_weights=1.0, scope=None, loss_collection=_LOSSES, reduction=_MEAN,
    add_summaries=False):
  """The cross entropies of real data with ones, smoothed, and of generated data with zeros."""
  with name_scope(scope, 'discriminator_minimax_loss',
                  (discriminator_real_outputs, discriminator_gen_outputs)) as s:
    on_real = losses.sigmoid_cross_entropy(
        array.ones_like(discriminator_real_outputs), discriminator_real_outputs, real_weights,
        label_smoothing, s, None, reduction)
    on_generated = losses.sigmoid_cross_entropy(
        array.zeros_like(discriminator_gen_outputs), discriminator_gen_outputs, generated_weights,
        0, s, None, reduction)
    return _difference(on_real, on_generated, 'minimax', loss_collection, add_summaries)


@export('contrib.gan.losses.wargs.modified_discriminator_loss')
def modified_discriminator_loss(
    discriminator_real_outputs, discriminator_gen_outputs, label_smoothing=0.25, real_weights=1.0,
    generated_weights=1.0, scope=None, loss_collection=_LOSSES, reduction=_MEAN,
    add_summaries=False):
  """The same as minimax_discriminator_loss."""
  return minimax_discriminator_loss(
      discriminator_real_outputs, discriminator_gen_outputs, label_smoothing, real_weights,
      generated_weights, scope or 'discriminator_modified_loss', loss_collection, reduction,
      add_summaries)


@export('contrib.gan.losses.wargs.minimax_generator_loss')
def minimax_generator_loss(discriminator_gen_outputs, label_smoothing=0.0, weights=1.0, scope=None,
                           loss_collection=_LOSSES, reduction=_MEAN, add_summaries=False):
  """The negative loss of the discriminator."""
  with name_scope(scope, 'generator_minimax_loss', (discriminator_gen_outputs,)) as s:
    loss = -minimax_discriminator_loss(
        array.ones_like(discriminator_gen_outputs), discriminator_gen_outputs, label_smoothing,
        weights, weights, s, None, reduction)
    losses.add_loss(loss, loss_collection)
    return _summarized(loss, add_summaries, generator_minimax_loss=loss)


@export('contrib.gan.losses.wargs.modified_generator_loss')
def modified_generator_loss(discriminator_gen_outputs, label_smoothing=0.0, weights=1.0,
                            scope=None, loss_collection=_LOSSES, reduction=_MEAN,
                            add_summaries=False):
  """The cross entropy of generated data with ones: strong where the discriminator is sure."""
  with name_scope(scope, 'generator_modified_loss', (discriminator_gen_outputs,)) as s:
    loss = losses.sigmoid_cross_entropy(
        array.ones_like(discriminator_gen_outputs), discriminator_gen_outputs, weights,
        label_smoothing, s, loss_collection, reduction)
    return _summarized(loss, add_summaries, generator_modified_loss=loss)


# ---- Least squares ------------------------------------------------------------------------------


@export('contrib.gan.losses.wargs.least_squares_generator_loss')
def least_squares_generator_loss(discriminator_gen_outputs, real_label=1, weights=1.0, scope=None,
                                 loss_collection=_LOSSES, reduction=_MEAN, add_summaries=False):
  """Half the squared distance of the outputs for generated data from real_label."""
  with name_scope(scope, 'lsq_generator_loss', (discriminator_gen_outputs, real_label)) as s:
    outputs = convert(discriminator_gen_outputs)
    squares = math.square(outputs - math.cast(real_label, outputs.dtype)) / 2.0
    loss = losses.compute_weighted_loss(squares, weights, s, loss_collection, reduction)
    return _summarized(loss, add_summaries, generator_lsq_loss=loss)


@export('contrib.gan.losses.wargs.least_squares_discriminator_loss')
def least_squares_discriminator_loss(
    discriminator_real_outputs, discriminator_gen_outputs, real_label=1, fake_label=0,
    real_weights=1.0, generated_weights=1.0, scope=None, loss_collection=_LOSSES, reduction=_MEAN,
    add_summaries=False):
  """Half the squared distances of the outputs from real_label and from fake_label."""
  with name_scope(scope, 'lsq_discriminator_loss', (discriminator_gen_outputs, real_label)) as s:
    def half_square(outputs, label, weights):
      outputs = convert(outputs)
      squares = math.square(outputs - math.cast(label, outputs.dtype)) / 2.0
      return losses.compute_weighted_loss(squares, weights, s, None, reduction)
    return _difference(half_square(discriminator_real_outputs, real_label, real_weights),
                       half_square(discriminator_gen_outputs, fake_label, generated_weights),
                       'lsq', loss_collection, add_summaries)


# ---- Classes, structure, cycles -----------------------------------------------------------------


@export('contrib.gan.losses.wargs.acgan_discriminator_loss')
def acgan_discriminator_loss(
    discriminator_real_classification_logits, discriminator_gen_classification_logits,
    one_hot_labels, label_smoothing=0.0, real_weights=1.0, generated_weights=1.0, scope=None,
    loss_collection=_LOSSES, reduction=_MEAN, add_summaries=False):
  """The cross entropies of the classes of real and of generated data."""
  with name_scope(scope, 'acgan_discriminator_loss', (one_hot_labels,)) as s:
    on = lambda logits, weights: losses.softmax_cross_entropy(
        one_hot_labels, logits, weights, label_smoothing, s, None, reduction)
    return _difference(on(discriminator_real_classification_logits, real_weights),
                       on(discriminator_gen_classification_logits, generated_weights), 'ac',
                       loss_collection, add_summaries)


@export('contrib.gan.losses.wargs.acgan_generator_loss')
def acgan_generator_loss(discriminator_gen_classification_logits, one_hot_labels, weights=1.0,
                         scope=None, loss_collection=_LOSSES, reduction=_MEAN,
                         add_summaries=False):
  """The cross entropy of the classes of generated data."""
  with name_scope(scope, 'acgan_generator_loss', (one_hot_labels,)) as s:
    loss = losses.softmax_cross_entropy(
        one_hot_labels, discriminator_gen_classification_logits, weights, 0, s, loss_collection,
        reduction)
    return _summarized(loss, add_summaries, generator_ac_loss=loss)


@export('contrib.gan.losses.wargs.mutual_information_penalty')
def mutual_information_penalty(structured_generator_inputs, predicted_distributions, weights=1.0,
                               scope=None, loss_collection=_LOSSES, reduction=_MEAN,
                               add_summaries=False):
  """How little the predicted distributions tell of the structured inputs: the negative logarithms
  of their probabilities."""
  with name_scope(scope, 'mutual_information_loss') as s:
    logarithms = [math.reduce_mean(distribution.log_prob(value)) for distribution, value in zip(
        predicted_distributions, structured_generator_inputs)]
    loss = -losses.compute_weighted_loss(array.stack(logarithms), weights, s, None, reduction)
    losses.add_loss(loss, loss_collection)
    return _summarized(loss, add_summaries, mutual_information_penalty=loss)


@export('contrib.gan.losses.wargs.cycle_consistency_loss')
def cycle_consistency_loss(data_x, reconstructed_data_x, data_y, reconstructed_data_y, scope=None,
                           add_summaries=False):
  """The mean of the absolute errors of both reconstructions."""
  with name_scope(scope, 'cycle_consistency_loss', (data_x, data_y)):
    error = lambda data, made: losses.absolute_difference(data, made)
    on_x, on_y = error(data_x, reconstructed_data_x), error(data_y, reconstructed_data_y)
    loss = (on_x + on_y) / 2.0
    return _summarized(loss, add_summaries, cycle_consistency_loss_x=on_x,
                       cycle_consistency_loss_y=on_y, cycle_consistency_loss=loss)


@export('contrib.gan.losses.wargs.combine_adversarial_loss')
def combine_adversarial_loss(main_loss, adversarial_loss, weight_factor=None, gradient_ratio=None,
                             gradient_ratio_epsilon=1e-6, variables=None, scalar_summaries=True,
                             gradient_summaries=True, scope=None):
  """The main loss and the adversarial one, which is weighted by weight_factor, or so that the norm
  of the main loss's gradient by the variables is gradient_ratio times that of the other's.
  ValueError unless one of the two is given."""
  if (weight_factor is None) == (gradient_ratio is None):
    raise ValueError('Must set one of weight_factor and gradient_ratio, and not both')
  with name_scope(scope, 'adversarial_loss', [main_loss, adversarial_loss]):
    if gradient_ratio is not None:
      norm = lambda loss: clip.global_norm(
          [g for g in gradients(loss, list(variables)) if g is not None])
      main_norm, other_norm = norm(main_loss), norm(adversarial_loss)
      weight_factor = array.stop_gradient(
          main_norm / (other_norm + gradient_ratio_epsilon) / gradient_ratio)
      _summarized(None, gradient_summaries, main_loss_gradient_norm=main_norm,
                  adversarial_loss_gradient_norm=other_norm)
    total = main_loss + weight_factor * adversarial_loss
    return _summarized(total, scalar_summaries, main_loss=main_loss,
                       adversarial_loss=adversarial_loss, total_loss=total)
