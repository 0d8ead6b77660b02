"""contrib.layers.batch_norm: normalised by the batch while training, else by moving averages.

The usual case is tf.layers.BatchNormalization. What that has not is here: updates in another
collection, or done by the output itself (updates_collections=None); averages without the bias of
their start; examples with weights; matrices through the fused kernel.
"""
from __future__ import annotations

from leat._contrib import variables
from leat._contrib.arg_scope import add_arg_scope
from leat._contrib.layers.outputs import (add_variable_to_collections, constant_value,
                                          get_variable_collections, smart_cond)
from leat._contrib.layers.scopes import finished, layer_scope
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys, control_dependencies
from leat._ops import array, layers, math, nn
from leat._ops.initializers import ones_initializer, zeros_initializer
from leat._ops.variable_scope import variable_scope
from leat._train.average import assign_moving_average

_INITIAL = {'beta': zeros_initializer, 'gamma': ones_initializer, 'moving_mean': zeros_initializer,
            'moving_variance': ones_initializer}


@export('contrib.layers.batch_norm')
@add_arg_scope
def batch_norm(inputs, decay=0.999, center=True, scale=False, epsilon=0.001, activation_fn=None,
               param_initializers=None, param_regularizers=None,
               updates_collections=GraphKeys.UPDATE_OPS, is_training=True, reuse=None,
               variables_collections=None, outputs_collections=None, trainable=True,
               batch_weights=None, fused=None, data_format='NHWC', zero_debias_moving_mean=False,
               scope=None, renorm=False, renorm_clipping=None, renorm_decay=0.99, adjustment=None):
  """Batch normalization (arXiv:1502.03167) of inputs whose channels are last (NHWC) or second
  (NCHW).

  param_initializers and param_regularizers are dicts with 'beta', 'gamma', 'moving_mean' and
  'moving_variance'. is_training is a bool or a tensor of one. Operations that bring the averages up
  to date are added to `updates_collections`, or done before the output where that is None."""
  if data_format not in ('NCHW', 'NHWC'):
    raise ValueError('data_format has to be either NCHW or NHWC.')
  inputs = convert(inputs)
  rank = inputs.get_shape().ndims
  if rank is None:
    raise ValueError('Inputs %s has undefined rank' % inputs.name)
  can_fuse = batch_weights is None and not renorm and rank in (2, 4) and adjustment is None
  fused = can_fuse if fused is None else fused and can_fuse
  named = dict(decay=decay, center=center, scale=scale, epsilon=epsilon, is_training=is_training,
               initializers=param_initializers or {}, regularizers=param_regularizers or {},
               trainable=trainable, fused=fused, data_format=data_format,
               variables_collections=variables_collections)
  plain = (batch_weights is None and updates_collections == GraphKeys.UPDATE_OPS
           and not zero_debias_moving_mean and not (fused and rank == 2))
  if not plain and (renorm or adjustment is not None):
    raise ValueError('renorm and adjustment need the default of updates_collections, no '
                     'batch_weights and no zero_debias_moving_mean')
  if plain:
    with layer_scope(scope, 'BatchNorm', inputs, reuse) as found:
      outputs = _of_layer(inputs, found, reuse, renorm=renorm, renorm_clipping=renorm_clipping,
                          renorm_momentum=renorm_decay, adjustment=adjustment, **named)
      return finished(outputs, activation_fn, outputs_collections, found.name)
  with variable_scope(scope, 'BatchNorm', [inputs], reuse=reuse) as found:
    outputs = _own(inputs, found, updates_collections, batch_weights, zero_debias_moving_mean,
                   **named)
    return finished(outputs, activation_fn, outputs_collections, found.name)


def _of_layer(inputs, found, reuse, decay, initializers, regularizers, is_training, data_format,
              variables_collections, renorm, renorm_clipping, renorm_momentum, adjustment, **named):
  """The output of tf.layers.BatchNormalization."""
  named.update({name + '_initializer': initializers.get(name, make())
                for name, make in _INITIAL.items()})
  named.update({name + '_regularizer': regularizers.get(name) for name in ('beta', 'gamma')})
  if renorm:
    named.update(renorm=True, renorm_clipping=renorm_clipping, renorm_momentum=renorm_momentum)
  if adjustment is not None:
    named.update(adjustment=adjustment)
  layer = layers.BatchNormalization(axis=1 if data_format == 'NCHW' else -1, momentum=decay,
                                    name=found.name, _scope=found, _reuse=reuse, **named)
  outputs = layer(inputs, training=is_training)
  for name in _INITIAL:
    if getattr(layer, name, None) is not None:
      add_variable_to_collections(getattr(layer, name), variables_collections, name)
  return outputs


def _own(inputs, found, updates_collections, batch_weights, zero_debias, decay, center, scale,
         epsilon, is_training, initializers, regularizers, trainable, fused, data_format,
         variables_collections):
  known, given = inputs.get_shape(), inputs
  axis = 1 if data_format == 'NCHW' else known.ndims - 1
  channels = known.as_list()[axis]
  if channels is None:
    raise ValueError('Inputs %s has undefined channels dimension %s.' % (inputs.name, known))
  kind = dtypes.float32 if inputs.dtype.base_dtype in (dtypes.float16, dtypes.bfloat16) else \
      inputs.dtype.base_dtype

  def parameter(name, trained=True):
    return variables.model_variable(
        name, shape=[channels], dtype=kind, initializer=initializers.get(name, _INITIAL[name]()),
        regularizer=regularizers.get(name) if trained else None, trainable=trained and trainable,
        collections=get_variable_collections(variables_collections, name))
  beta = parameter('beta') if center else None
  gamma = parameter('gamma') if scale else None
  partitioner = found.partitioner  # the averages are whole, for their updates
  found.set_partitioner(None)
  mean, variance = parameter('moving_mean', False), parameter('moving_variance', False)
  found.set_partitioner(partitioner)

  if fused and known.ndims == 2:
    inputs = array.reshape(inputs, [-1, channels, 1, 1] if data_format == 'NCHW' else
                           [-1, 1, 1, channels])
  normalise = _fused(inputs, gamma, beta, mean, variance, epsilon, data_format, channels) \
      if fused else _plain(inputs, gamma, beta, mean, variance, epsilon, axis, batch_weights)
  training = constant_value(is_training)
  training = is_training if training is None else bool(training)
  outputs, batch_mean, batch_variance = smart_cond(
      training, lambda: normalise(True), lambda: normalise(False))

  def updates():
    return [assign_moving_average(average, value, decay, zero_debias=debias)
            for average, value, debias in ((mean, batch_mean, zero_debias),
                                           (variance, batch_variance, False))]
  if training is not False:
    outputs = _updated(outputs, updates, (mean, variance), training, updates_collections)
  if outputs.get_shape().ndims != known.ndims:
    outputs = array.reshape(outputs, array.shape(given))
  outputs.set_shape(known)
  return outputs


def _updated(outputs, updates, averages, training, updates_collections):
  """The outputs; updates of the averages are kept in the collections, or done before."""
  if updates_collections is None:
    if training is True:
      with control_dependencies(updates()):
        return array.identity(outputs)

    def forced():
      with control_dependencies(updates()):
        return array.identity(outputs)
    return smart_cond(training, forced, lambda: array.identity(outputs))
  if training is True:
    found = updates()
  else:
    found = smart_cond(training, lambda: [convert(u) for u in updates()],
                       lambda: [array.identity(convert(a)) for a in averages])
  for update in found:
    get_default_graph().add_to_collections(updates_collections, update)
  return outputs


def _fused(inputs, gamma, beta, mean, variance, epsilon, data_format, channels):
  gamma = array.ones([channels]) if gamma is None else gamma
  beta = array.zeros([channels]) if beta is None else beta

  def normalise(training):
    averages = (None, None) if training else (mean, variance)
    return tuple(nn.fused_batch_norm(inputs, gamma, beta, *averages, epsilon, data_format,
                                     training))
  return normalise


def _plain(inputs, gamma, beta, mean, variance, epsilon, axis, batch_weights):
  rank = inputs.get_shape().ndims
  axes = [i for i in range(rank) if i != axis]
  spread = [inputs.get_shape().as_list()[axis] if i == axis else 1 for i in range(rank)]
  wide = lambda v: v if v is None or axis == rank - 1 else array.reshape(v, spread)

  def normalise(training):
    if not training:
      used = convert(mean), convert(variance)
    elif batch_weights is None:
      used = nn.moments(inputs, axes)
    else:
      used = _weighted_moments(inputs, axes, batch_weights)
    outputs = nn.batch_normalization(inputs, wide(used[0]), wide(used[1]), wide(beta), wide(gamma),
                                     epsilon)
    return outputs, used[0], used[1]
  return normalise


def _weighted_moments(inputs, axes, batch_weights):
  """(mean, variance) of examples [batch, ...] that count as often as their weights [batch] say."""
  rank = inputs.get_shape().ndims
  weights = convert(batch_weights, inputs.dtype.base_dtype)
  weights = array.reshape(weights, array.concat([array.shape(weights), [1] * (rank - 1)], 0))
  total = math.reduce_sum(weights * array.ones_like(inputs), axes)
  mean = math.reduce_sum(weights * inputs, axes, keepdims=True)
  shape = array.shape(mean)
  mean = mean / array.reshape(total, shape)
  squares = math.reduce_sum(weights * math.square(inputs - mean), axes)
  return array.reshape(mean, array.shape(total)), squares / total
