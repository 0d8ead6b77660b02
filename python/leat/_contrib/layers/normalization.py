"""contrib.layers: normalization over layers, instances and groups of channels, without averages."""
from __future__ import annotations

from leat._contrib import variables
from leat._contrib.arg_scope import add_arg_scope
from leat._contrib.layers.outputs import get_variable_collections
from leat._contrib.layers.scopes import finished
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, nn
from leat._ops.initializers import ones_initializer, zeros_initializer
from leat._ops.variable_scope import variable_scope


def _parameters(shape, dtype, center, scale, initializers, trainable, variables_collections):
  """(beta, gamma), each None where it is not asked for."""
  def parameter(name, wanted, initializer):
    if not wanted:
      return None
    return variables.model_variable(
        name, shape=shape, dtype=dtype, initializer=(initializers or {}).get(name, initializer()),
        trainable=trainable, collections=get_variable_collections(variables_collections, name))
  return (parameter('beta', center, zeros_initializer),
          parameter('gamma', scale, ones_initializer))


def _rank(inputs):
  if inputs.get_shape().ndims is None:
    raise ValueError('Inputs %s has undefined rank.' % inputs.name)
  return inputs.get_shape().ndims


@export('contrib.layers.layer_norm')
@add_arg_scope
def layer_norm(inputs, center=True, scale=True, activation_fn=None, reuse=None,
               variables_collections=None, outputs_collections=None, trainable=True,
               begin_norm_axis=1, begin_params_axis=-1, scope=None):
  """Layer normalization (arXiv:1607.06450): each example by its own mean and variance, over the
  dimensions from begin_norm_axis on. beta and gamma have those from begin_params_axis on.
  ValueError where an axis is not smaller than the rank, or where the parameters' sizes are not
  known."""
  with variable_scope(scope, 'LayerNorm', [inputs], reuse=reuse) as found:
    inputs = convert(inputs)
    known, rank = inputs.get_shape(), _rank(inputs)
    begin = begin_norm_axis + rank if begin_norm_axis < 0 else begin_norm_axis
    if begin_params_axis >= rank or begin >= rank:
      raise ValueError('begin_params_axis (%d) and begin_norm_axis (%d) must be < rank(inputs) '
                       '(%d)' % (begin_params_axis, begin, rank))
    shape = known[begin_params_axis:]
    if not shape.is_fully_defined():
      raise ValueError('Inputs %s: shape(inputs)[%s:] is not fully defined: %s' % (
          inputs.name, begin_params_axis, known))
    dtype = inputs.dtype.base_dtype
    beta, gamma = _parameters(shape.as_list(), dtype, center, scale, None, trainable,
                              variables_collections)
    mean, variance = nn.moments(inputs, list(range(begin, rank)), keep_dims=True)
    epsilon = 1e-3 if dtype == dtypes.float16 else 1e-12
    outputs = nn.batch_normalization(inputs, mean, variance, offset=beta, scale=gamma,
                                     variance_epsilon=epsilon)
    outputs.set_shape(known)
    return finished(outputs, activation_fn, outputs_collections, found.name)


@export('contrib.layers.instance_norm')
@add_arg_scope
def instance_norm(inputs, center=True, scale=True, epsilon=1e-6, activation_fn=None,
                  param_initializers=None, reuse=None, variables_collections=None,
                  outputs_collections=None, trainable=True, data_format='NHWC', scope=None):
  """Instance normalization (arXiv:1607.08022): each channel of each example by itself. Channels are
  last (NHWC) or second (NCHW), for any rank of at least 2."""
  inputs = convert(inputs)
  rank, known = _rank(inputs), inputs.get_shape()
  if data_format not in ('NCHW', 'NHWC'):
    raise ValueError('data_format has to be either NCHW or NHWC.')
  with variable_scope(scope, 'InstanceNorm', [inputs], reuse=reuse) as found:
    axis = 1 if data_format == 'NCHW' else rank - 1
    channels = known.as_list()[axis]
    if channels is None:
      raise ValueError('Inputs %s has undefined channels dimension %s.' % (inputs.name, known))
    beta, gamma = _parameters([channels], inputs.dtype.base_dtype, center, scale,
                              param_initializers, trainable, variables_collections)
    spread = [channels if i == axis else 1 for i in range(rank)]
    wide = lambda v: v if v is None or axis == rank - 1 else array.reshape(v, spread)
    mean, variance = nn.moments(inputs, [i for i in range(1, rank) if i != axis], keep_dims=True)
    outputs = nn.batch_normalization(inputs, mean, variance, wide(beta), wide(gamma), epsilon,
                                     name='instancenorm')
    outputs.set_shape(known)
    return finished(outputs, activation_fn, outputs_collections, found.name)


def _group_axes(channels_axis, reduction_axes, rank):
  """The axes, not negative. ValueError where one is out of bounds or in both."""
  if not isinstance(reduction_axes, (list, tuple)):
    reduction_axes = (reduction_axes,)
  axes = [a + rank if a < 0 else a for a in reduction_axes]
  channels = channels_axis + rank if channels_axis < 0 else channels_axis
  if not all(0 <= a < rank for a in axes + [channels]):
    raise ValueError('Axis is out of bounds.')
  if channels in axes:
    raise ValueError('reduction_axes must be mutually exclusive with channels_axis')
  return channels, axes


@export('contrib.layers.group_norm')
@add_arg_scope
def group_norm(inputs, groups=32, channels_axis=-1, reduction_axes=(-3, -2), center=True,
               scale=True, epsilon=1e-6, activation_fn=None, param_initializers=None, reuse=None,
               variables_collections=None, outputs_collections=None, trainable=True, scope=None,
               mean_close_to_zero=False):
  """Group normalization (arXiv:1803.08494): channels are taken in groups of neighbours, each
  normalised over its channels and the reduction axes. The sizes of all these must be known.

  mean_close_to_zero has no effect: the variance is the mean square of what differs from the mean,
  which is as exact for all means."""
  del mean_close_to_zero
  inputs = convert(inputs)
  rank, known = _rank(inputs), inputs.get_shape().as_list()
  axis, axes = _group_axes(channels_axis, reduction_axes, rank)
  channels = known[axis]
  if channels is None:
    raise ValueError('Inputs %s has undefined channel dimension: %d. %s' % (inputs.name, axis,
                                                                            inputs.get_shape()))
  if any(known[a] is None for a in axes):
    raise ValueError('Inputs %s has undefined dimensions among axes %s: %s' % (
        inputs.name, axes, inputs.get_shape()))
  if groups > channels:
    raise ValueError('Invalid groups %d for %d channels.' % (groups, channels))
  if channels % groups:
    raise ValueError('%d channels is not commensurate with %d groups.' % (channels, groups))
  with variable_scope(scope, 'GroupNorm', [inputs], reuse=reuse) as found:
    sizes = array.shape(inputs)
    full = [sizes[i] if n is None else n for i, n in enumerate(known)]
    grouped = array.reshape(inputs, array.stack(
        full[:axis] + [groups, channels // groups] + full[axis + 1:]))
    reduced = [axis + 1] + [a if a < axis else a + 1 for a in axes]
    beta, gamma = _parameters([channels], inputs.dtype.base_dtype, center, scale,
                              param_initializers, trainable, variables_collections)
    spread = [1] * axis + [groups, channels // groups] + [1] * (rank - axis - 1)
    wide = lambda v: None if v is None else array.reshape(v, spread)
    with name_scope('groupnorm'):
      mean, variance = nn.moments(grouped, sorted(reduced), keep_dims=True)
      outputs = nn.batch_normalization(grouped, mean, variance, wide(beta), wide(gamma), epsilon)
      outputs = array.reshape(outputs, array.stack(full))
    outputs.set_shape(inputs.get_shape())
    return finished(outputs, activation_fn, outputs_collections, found.name)
