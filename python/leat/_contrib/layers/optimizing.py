"""contrib.layers.optimize_loss: the training step of a loss, with decay of the rate, noise and
clipping of gradients, and summaries."""
from __future__ import annotations

from leat import _leat
from leat._contrib import shapes
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys
from leat._ops import array, clip, control, math, random, variable_collections
from leat._ops.initializers import constant_initializer, zeros_initializer
from leat._ops.sparse import IndexedSlices
from leat._ops.variable_scope import get_variable, variable_scope
from leat._train import optimizer as optimizer_, optimizers, step, summary
from leat._train.average import assign_moving_average

OPTIMIZER_CLS_NAMES = {
    'Adagrad': optimizers.AdagradOptimizer,
    'Adam': optimizers.AdamOptimizer,
    'Ftrl': optimizers.FtrlOptimizer,
    'Momentum': lambda learning_rate: optimizers.MomentumOptimizer(learning_rate, momentum=0.9),
    'RMSProp': optimizers.RMSPropOptimizer,
    'SGD': optimizers.GradientDescentOptimizer}
OPTIMIZER_SUMMARIES = ['learning_rate', 'loss', 'gradients', 'gradient_norm',
                       'global_gradient_norm']
EXPORTS = {'contrib.layers.OPTIMIZER_CLS_NAMES': 'OPTIMIZER_CLS_NAMES',
           'contrib.layers.OPTIMIZER_SUMMARIES': 'OPTIMIZER_SUMMARIES'}


@export('contrib.layers.optimize_loss')
def optimize_loss(loss, global_step, learning_rate, optimizer, gradient_noise_scale=None,
                  gradient_multipliers=None, clip_gradients=None, learning_rate_decay_fn=None,
                  update_ops=None, variables=None, name=None, summaries=None,
                  colocate_gradients_with_ops=False, increment_global_step=True):
  """The loss, a scalar, which when it is run does a step of training first.

  `optimizer` is a key of OPTIMIZER_CLS_NAMES, a class, an object, or a function of the learning
  rate. `learning_rate` is a float, which becomes a variable, a scalar tensor, or None where the
  optimizer has its own; learning_rate_decay_fn(rate, global_step) changes it. Gradients have normal
  noise of `gradient_noise_scale` added, are multiplied by `gradient_multipliers` ({variable or its
  name: factor}), and clipped to the global norm `clip_gradients`, or given to it where it is a
  function. `update_ops` (the collection UPDATE_OPS where it is None) run before the loss.
  `summaries` are some of OPTIMIZER_SUMMARIES. ValueError where an argument is none of these."""
  loss = shapes.assert_scalar(convert(loss))
  if global_step is None:
    global_step = step.get_global_step()
  else:
    step.assert_global_step(global_step)
  for item in summaries or ():
    if item not in OPTIMIZER_SUMMARIES:
      raise ValueError('Summaries should be one of [%s], you provided %s.' % (
          ', '.join(OPTIMIZER_SUMMARIES), item))
  summaries = ['loss', 'learning_rate', 'global_gradient_norm'] if summaries is None else summaries
  with variable_scope(name, 'OptimizeLoss', [loss, global_step]):
    if update_ops is None:
      update_ops = get_default_graph().get_collection(GraphKeys.UPDATE_OPS)
    if update_ops:
      loss = control.with_dependencies(list(dict.fromkeys(update_ops)), loss)
    rate = _rate(learning_rate)
    if rate is not None and learning_rate_decay_fn is not None:
      if global_step is None:
        raise ValueError('global_step is required for learning_rate_decay_fn.')
      rate = learning_rate_decay_fn(rate, global_step)
      if 'learning_rate' in summaries:
        summary.scalar('learning_rate', rate)
    made = _optimizer(optimizer, rate)
    pairs = made.compute_gradients(
        loss, variable_collections.trainable_variables() if variables is None else variables,
        colocate_gradients_with_ops=colocate_gradients_with_ops)
    if gradient_noise_scale is not None:
      pairs = _with_noise(pairs, gradient_noise_scale)
    if gradient_multipliers is not None:
      pairs = _multiplied(pairs, gradient_multipliers)
    pairs = _clipped(pairs, clip_gradients, summaries)
    if 'loss' in summaries:
      summary.scalar('loss', loss)
    _summarize(pairs, clip_gradients, summaries)
    trained = made.apply_gradients(pairs, name='train',
                                   global_step=global_step if increment_global_step else None)
    return control.with_dependencies([trained], loss)


def _rate(learning_rate):
  if learning_rate is None:
    return None
  if isinstance(learning_rate, _leat.Output) and learning_rate.get_shape().ndims == 0:
    return learning_rate
  if not isinstance(learning_rate, float):
    raise ValueError('Learning rate should be 0d Tensor or float. Got %s of type %s' % (
        learning_rate, type(learning_rate)))
  if learning_rate < 0.0:
    raise ValueError('Invalid learning_rate %s.' % learning_rate)
  return get_variable('learning_rate', [], trainable=False,
                      initializer=constant_initializer(learning_rate))


def _optimizer(optimizer, rate):
  is_class = isinstance(optimizer, type) and issubclass(optimizer, optimizer_.Optimizer)
  if isinstance(optimizer, str) or is_class:
    if rate is None:
      raise ValueError('Learning rate is None, but should be specified if optimizer is a name or a '
                       'class (%s).' % (optimizer,))
    if not is_class and optimizer not in OPTIMIZER_CLS_NAMES:
      raise ValueError('Optimizer name should be one of [%s], you provided %s.' % (
          ', '.join(OPTIMIZER_CLS_NAMES), optimizer))
    return (optimizer if is_class else OPTIMIZER_CLS_NAMES[optimizer])(learning_rate=rate)
  if isinstance(optimizer, optimizer_.Optimizer):
    return optimizer
  if not callable(optimizer) or isinstance(optimizer, type):
    raise ValueError('Unrecognized optimizer: should be string, subclass of Optimizer, instance of '
                     'subclass of Optimizer or function with one argument. Got %s.' % (optimizer,))
  made = optimizer(rate) if rate is not None else optimizer()
  if not isinstance(made, optimizer_.Optimizer):
    raise ValueError('Unrecognized optimizer: function should return subclass of Optimizer. Got '
                     '%s.' % (made,))
  return made


def _changed(gradient, function):
  """A function of the values of a gradient."""
  if isinstance(gradient, IndexedSlices):
    return IndexedSlices(function(gradient.values), gradient.indices, gradient.dense_shape)
  return function(gradient)


def _with_noise(pairs, scale):
  def noisy(gradient):
    shape = gradient.dense_shape if isinstance(gradient, IndexedSlices) else gradient.get_shape()
    return gradient + random.truncated_normal(shape) * scale
  return [(None if g is None else noisy(g), v) for g, v in pairs]


def _multiplied(pairs, multipliers):
  found = []
  for gradient, variable in pairs:
    factor = multipliers.get(variable, multipliers.get(variable.name))
    if gradient is not None and factor is not None:
      gradient = _changed(gradient, lambda g: g * math.cast(factor, g.dtype))
    found.append((gradient, variable))
  if not found:
    raise ValueError('Empty list of (gradient, var) pairs encountered. This is most likely to be '
                     'caused by an improper value of gradient_multipliers.')
  return found


def _norms_wanted(summaries):
  return 'global_gradient_norm' in summaries or 'gradient_norm' in summaries


def _clipped(pairs, clip_gradients, summaries):
  gradients = [g for g, _ in pairs]
  if _norms_wanted(summaries):
    summary.scalar('global_norm/gradient_norm', clip.global_norm(gradients))
  if clip_gradients is None:
    return pairs
  if isinstance(clip_gradients, float):
    clipped, _ = clip.clip_by_global_norm(gradients, clip_gradients)
    return list(zip(clipped, [v for _, v in pairs]))
  if callable(clip_gradients):
    return clip_gradients(pairs)
  raise ValueError('Unknown type %s for clip_gradients' % type(clip_gradients))


def _summarize(pairs, clip_gradients, summaries):
  for gradient, variable in pairs:
    if gradient is None:
      continue
    values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
    name = variable.name.replace(':', '_')
    if 'gradients' in summaries:
      summary.histogram('gradients/%s' % name, values)
    if 'gradient_norm' in summaries:
      summary.scalar('gradient_norm/%s' % name, clip.global_norm([values]))
  if clip_gradients is not None and _norms_wanted(summaries):
    summary.scalar('global_norm/clipped_gradient_norm', clip.global_norm([g for g, _ in pairs]))


@export('contrib.layers.adaptive_clipping_fn')
def adaptive_clipping_fn(std_factor=2., decay=0.95, static_max_norm=None, global_step=None,
                         report_summary=False, epsilon=1e-8, name=None):
  """A function for `clip_gradients`: gradients whose global norm is beyond `std_factor` standard
  deviations of the norms before it are scaled to their mean. Both are of the norm's logarithm, and
  moving averages, which follow more quickly at the beginning where the global step is given."""
  def clipping(pairs):
    gradients = [g for g, _ in pairs]
    norm = clip.global_norm(gradients)
    limit, log_mean = _adaptive_limit(norm, std_factor, decay, global_step, epsilon, name)
    if report_summary:
      summary.scalar('global_norm/adaptive_max_gradient_norm', limit)
    factor = array.where(norm < limit, array.ones_like(norm), math.exp(log_mean) / norm)
    if static_max_norm is not None:
      factor = apply_op('Minimum', x=static_max_norm / norm, y=factor)
    return [(None if g is None else _changed(g, lambda values: values * factor), v)
            for g, v in pairs]
  return clipping


def _log(x):
  return apply_op('Log', x=x)


def _adaptive_limit(norm, std_factor, decay, global_step, epsilon, name):
  with variable_scope(name, 'AdaptiveMaxNorm', [norm]):
    log_norm = _log(norm + epsilon)
    if global_step is not None:
      n = math.cast(global_step, dtypes.float32)
      decay = apply_op('Minimum', x=decay, y=n / (n + 1.))

    def average(name, value):
      kept = get_variable(name, shape=value.get_shape(), dtype=value.dtype,
                          initializer=zeros_initializer(), trainable=False)
      return assign_moving_average(kept, value, decay, zero_debias=False)
    mean = average('mean', log_norm)
    squares = average('sq_mean', math.square(log_norm))
    deviation = math.sqrt(apply_op('Maximum', x=epsilon, y=squares - math.square(mean)))
    return math.exp(mean + std_factor * deviation), mean
