"""contrib.gan.losses: the losses of models, whose fields are the arguments of those names."""
from __future__ import annotations

import functools
import inspect

from leat._contrib.gan import losses
from leat._export import export

EXPORTS = {'contrib.gan.losses.wasserstein_generator_loss': 'wasserstein_generator_loss',
           'contrib.gan.losses.wasserstein_discriminator_loss': 'wasserstein_discriminator_loss',
           'contrib.gan.losses.wasserstein_gradient_penalty': 'wasserstein_gradient_penalty',
           'contrib.gan.losses.minimax_discriminator_loss': 'minimax_discriminator_loss',
           'contrib.gan.losses.minimax_generator_loss': 'minimax_generator_loss',
           'contrib.gan.losses.modified_discriminator_loss': 'modified_discriminator_loss',
           'contrib.gan.losses.modified_generator_loss': 'modified_generator_loss',
           'contrib.gan.losses.least_squares_generator_loss': 'least_squares_generator_loss',
           'contrib.gan.losses.least_squares_discriminator_loss':
               'least_squares_discriminator_loss',
           'contrib.gan.losses.acgan_discriminator_loss': 'acgan_discriminator_loss',
           'contrib.gan.losses.acgan_generator_loss': 'acgan_generator_loss',
           'contrib.gan.losses.mutual_information_penalty': 'mutual_information_penalty'}


def _of_model(loss_fn):
  """The loss with a model in place of the arguments that are its fields."""
  names = list(inspect.signature(loss_fn).parameters)

  @functools.wraps(loss_fn)
  def of_model(gan_model, **kwargs):
    given = [n for n in names if n in gan_model._fields and n in kwargs]
    if given:
      raise ValueError('%s of the loss %s is the model\'s, must not be given' % (
          ', '.join(given), loss_fn.__name__))
    return loss_fn(**{n: getattr(gan_model, n) for n in names if n in gan_model._fields}, **kwargs)
  del of_model.__wrapped__   # whose arguments are others
  of_model.__doc__ = 'losses.wargs.%s of a model; its other arguments are by their names.' % (
      loss_fn.__name__)
  return of_model


wasserstein_generator_loss = _of_model(losses.wasserstein_generator_loss)
wasserstein_discriminator_loss = _of_model(losses.wasserstein_discriminator_loss)
wasserstein_gradient_penalty = _of_model(losses.wasserstein_gradient_penalty)
minimax_discriminator_loss = _of_model(losses.minimax_discriminator_loss)
minimax_generator_loss = _of_model(losses.minimax_generator_loss)
modified_discriminator_loss = _of_model(losses.modified_discriminator_loss)
modified_generator_loss = _of_model(losses.modified_generator_loss)
least_squares_generator_loss = _of_model(losses.least_squares_generator_loss)
least_squares_discriminator_loss = _of_model(losses.least_squares_discriminator_loss)
acgan_discriminator_loss = _of_model(losses.acgan_discriminator_loss)
acgan_generator_loss = _of_model(losses.acgan_generator_loss)
mutual_information_penalty = _of_model(losses.mutual_information_penalty)


@export('contrib.gan.losses.combine_adversarial_loss')
def combine_adversarial_loss(gan_loss, gan_model, non_adversarial_loss, weight_factor=None,
                             gradient_ratio=None, gradient_ratio_epsilon=1e-6,
                             scalar_summaries=True, gradient_summaries=True):
  """The GANLoss whose generator_loss is that of the generator and another one together."""
  combined = losses.combine_adversarial_loss(
      non_adversarial_loss, gan_loss.generator_loss, weight_factor, gradient_ratio,
      gradient_ratio_epsilon, gan_model.generator_variables, scalar_summaries, gradient_summaries)
  return gan_loss._replace(generator_loss=combined)
