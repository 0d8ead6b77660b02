"""contrib.gan models: a generator and the discriminator that judges it, as one tuple.

A generator makes data of noise, a discriminator tells them from real data. Each function is called
in a scope of its own, the discriminator twice with the same variables. What the functions gave,
with scopes, variables and the functions themselves, is a namedtuple that losses (losses.py) and
training (training.py) take.
"""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import graph as graphs
from leat._graph.conversion import convert
from leat._graph.scope import GraphKeys
from leat._ops.variable_scope import variable_scope

_MODEL = ('generator_inputs generated_data generator_variables generator_scope generator_fn '
          'real_data discriminator_real_outputs discriminator_gen_outputs '
          'discriminator_variables discriminator_scope discriminator_fn')


@export('contrib.gan.GANModel')
class GANModel(collections.namedtuple('GANModel', _MODEL)):
  """A generator and a discriminator."""


@export('contrib.gan.InfoGANModel')
class InfoGANModel(collections.namedtuple(
    'InfoGANModel', _MODEL + ' structured_generator_inputs predicted_distributions '
    'discriminator_and_aux_fn')):
  """A model whose discriminator also predicts a part of the generator's inputs."""


@export('contrib.gan.ACGANModel')
class ACGANModel(collections.namedtuple(
    'ACGANModel', _MODEL + ' one_hot_labels discriminator_real_classification_logits '
    'discriminator_gen_classification_logits')):
  """A model whose discriminator also classifies the data."""


@export('contrib.gan.GANLoss')
class GANLoss(collections.namedtuple('GANLoss', 'generator_loss discriminator_loss')):
  """The losses of both networks."""


@export('contrib.gan.GANTrainOps')
class GANTrainOps(collections.namedtuple(
    'GANTrainOps', 'generator_train_op discriminator_train_op global_step_inc_op train_hooks')):
  """What trains both networks, and what counts the steps."""

  def __new__(cls, generator_train_op, discriminator_train_op, global_step_inc_op,
              train_hooks=()):
    return super().__new__(cls, generator_train_op, discriminator_train_op, global_step_inc_op,
                           train_hooks)


@export('contrib.gan.GANTrainSteps')
class GANTrainSteps(collections.namedtuple(
    'GANTrainSteps', 'generator_train_steps discriminator_train_steps')):
  """How often each network is trained in one step."""


def _tensors(inputs):
  """The inputs as tensors: one, a list or a dict of them."""
  if isinstance(inputs, dict):
    return {k: convert(v) for k, v in inputs.items()}
  return [convert(v) for v in inputs] if isinstance(inputs, (list, tuple)) else convert(inputs)


def _variables(scope):
  return graphs.get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES,
                                                   scope.name + '/')


def _check_shapes(generated, real):
  if not generated.get_shape().is_compatible_with(real.get_shape()):
    raise ValueError('Generator output shape (%s) must be the same shape as real data (%s).' % (
        generated.get_shape(), real.get_shape()))


class _Parts:
  """What the two functions give, each in its scope."""

  def __init__(self, generator_fn, discriminator_fn, real_data, inputs, generator_scope,
               discriminator_scope, check_shapes):
    with variable_scope(generator_scope) as scope:
      self.generator_scope, self.inputs = scope, _tensors(inputs)
      self.generated = generator_fn(self.inputs)
    with variable_scope(discriminator_scope) as scope:
      self.discriminator_scope = scope
      self.of_generated = discriminator_fn(self.generated, self.inputs)
    self.real = convert(real_data)
    with variable_scope(scope, reuse=True):
      self.of_real = discriminator_fn(self.real, self.inputs)
    if check_shapes:
      _check_shapes(self.generated, self.real)
    self._functions = generator_fn, discriminator_fn

  def fields(self, of_real, of_generated, discriminator_fn=None):
    """The fields that all models have, in their order."""
    return (self.inputs, self.generated, _variables(self.generator_scope), self.generator_scope,
            self._functions[0], self.real, of_real, of_generated,
            _variables(self.discriminator_scope), self.discriminator_scope,
            discriminator_fn or self._functions[1])


@export('contrib.gan.gan_model')
def gan_model(generator_fn, discriminator_fn, real_data, generator_inputs,
              generator_scope='Generator', discriminator_scope='Discriminator', check_shapes=True):
  """A GANModel: generator_fn(inputs) gives data like real_data, discriminator_fn(data, inputs) the
  logits of their being real. generator_inputs are a tensor, a list or a dict of them. ValueError
  where check_shapes and the data have other shapes than the real ones."""
  parts = _Parts(generator_fn, discriminator_fn, real_data, generator_inputs, generator_scope,
                 discriminator_scope, check_shapes)
  return GANModel(*parts.fields(parts.of_real, parts.of_generated))


@export('contrib.gan.infogan_model')
def infogan_model(generator_fn, discriminator_fn, real_data, unstructured_generator_inputs,
                  structured_generator_inputs, generator_scope='Generator',
                  discriminator_scope='Discriminator'):
  """An InfoGANModel: discriminator_fn gives (logits, distributions that it predicts for the
  structured inputs). Both kinds of inputs are lists; the generator gets them behind each other."""
  structured = list(structured_generator_inputs)
  parts = _Parts(generator_fn, discriminator_fn, real_data,
                 list(unstructured_generator_inputs) + structured, generator_scope,
                 discriminator_scope, True)
  of_generated, predicted = parts.of_generated
  if len(predicted) != len(structured):
    raise ValueError('The discriminator predicts %d distributions, must be %d, one for each '
                     'structured input' % (len(predicted), len(structured)))
  logits_of = lambda data, inputs: discriminator_fn(data, inputs)[0]
  return InfoGANModel(*parts.fields(parts.of_real[0], of_generated, logits_of), structured,
                      predicted, discriminator_fn)


@export('contrib.gan.acgan_model')
def acgan_model(generator_fn, discriminator_fn, real_data, generator_inputs, one_hot_labels,
                generator_scope='Generator', discriminator_scope='Discriminator',
                check_shapes=True):
  """An ACGANModel: discriminator_fn gives (logits, logits of the classes)."""
  parts = _Parts(generator_fn, discriminator_fn, real_data, generator_inputs, generator_scope,
                 discriminator_scope, check_shapes)
  (of_real, classes_of_real), (of_generated, classes_of_generated) = \
      parts.of_real, parts.of_generated
  return ACGANModel(*parts.fields(of_real, of_generated), convert(one_hot_labels),
                    classes_of_real, classes_of_generated)
