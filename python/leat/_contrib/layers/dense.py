"""contrib.layers: fully connected layers, and small ones."""
from __future__ import annotations

import functools

from leat._contrib.arg_scope import add_arg_scope
from leat._contrib import variables
from leat._contrib.layers import initializers
from leat._contrib.layers.outputs import (add_variable_to_collections, collect_named_outputs,
                                          get_variable_collections)
from leat._contrib.layers.scopes import finished, layer_scope, normalized
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys, name_scope
from leat._ops import array, layers, math, matrix, nn, sparse
from leat._ops.initializers import zeros_initializer
from leat._ops.variable_scope import get_variable, variable_scope


def relu_function(x):
  return apply_op('Relu', features=x)


@export('contrib.layers.fully_connected')
@add_arg_scope
def fully_connected(inputs, num_outputs, activation_fn=relu_function, normalizer_fn=None,
                    normalizer_params=None, weights_initializer=initializers.xavier_initializer(),
                    weights_regularizer=None, biases_initializer=zeros_initializer(),
                    biases_regularizer=None, reuse=None, variables_collections=None,
                    outputs_collections=None, trainable=True, scope=None):
  """activation_fn(inputs weights + biases) of inputs [..., n]: [..., num_outputs]. With a
  normalizer there are no biases. ValueError where the last size is not known or num_outputs is no
  integer."""
  try:
    num_outputs = num_outputs.__index__()
  except AttributeError:
    raise ValueError('num_outputs is %r, must be an integer' % (num_outputs,)) from None
  with layer_scope(scope, 'fully_connected', inputs, reuse) as found:
    inputs = convert(inputs)
    layer = layers.Dense(
        num_outputs, use_bias=normalizer_fn is None and biases_initializer is not None,
        kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
        kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer,
        trainable=trainable, name=found.name, dtype=inputs.dtype.base_dtype, _scope=found,
        _reuse=reuse)
    outputs = layer(inputs)
    add_variable_to_collections(layer.kernel, variables_collections, 'weights')
    if layer.bias is not None:
      add_variable_to_collections(layer.bias, variables_collections, 'biases')
    outputs = normalized(outputs, normalizer_fn, normalizer_params)
    return finished(outputs, activation_fn, outputs_collections, found.name)


def _connected(activation):
  return functools.partial(fully_connected, activation_fn=activation)


relu, relu6 = _connected(relu_function), _connected(nn.relu6)
elu = _connected(lambda x: apply_op('Elu', features=x))
linear = _connected(None)


@export('contrib.layers.bias_add')
@add_arg_scope
def bias_add(inputs, activation_fn=None, initializer=zeros_initializer(), regularizer=None,
             reuse=None, variables_collections=None, outputs_collections=None, trainable=True,
             data_format='NHWC', scope=None):
  """inputs + biases, which are one for each channel."""
  if data_format not in ('NCHW', 'NHWC'):
    raise ValueError('data_format has to be either NCHW or NHWC.')
  with variable_scope(scope, 'BiasAdd', [inputs], reuse=reuse) as found:
    inputs = convert(inputs)
    rank = inputs.get_shape().ndims
    if rank is None:
      raise ValueError('Dims of shape must be known but is None')
    if rank != 4 and data_format == 'NCHW':
      raise ValueError('Data format NCHW only supports 4D Tensor')
    channels = inputs.get_shape().as_list()[1 if data_format == 'NCHW' else -1]
    if channels is None:
      raise ValueError('`C` dimension must be known but is None')
    biases = variables.model_variable(
        'biases', shape=[channels], dtype=inputs.dtype.base_dtype, initializer=initializer,
        regularizer=regularizer, trainable=trainable,
        collections=get_variable_collections(variables_collections, 'biases'))
    outputs = nn.bias_add(inputs, biases, data_format=data_format)
    return finished(outputs, activation_fn, outputs_collections, found.name)


@export('contrib.layers.dropout')
@add_arg_scope
def dropout(inputs, keep_prob=0.5, noise_shape=None, is_training=True, outputs_collections=None,
            scope=None, seed=None):
  """tf.nn.dropout while training; keep_prob is the probability to stay."""
  with layer_scope(scope, 'Dropout', inputs, None) as found:
    inputs = convert(inputs)
    layer = layers.Dropout(rate=1 - keep_prob, noise_shape=noise_shape, seed=seed, name=found.name,
                           _scope=found)
    outputs = layer(inputs, training=is_training)
    return collect_named_outputs(outputs_collections, found.name, outputs)


@export('contrib.layers.flatten')
@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
  """The inputs [batch, ...] as [batch, n]. ValueError where the rank is not known or below 2."""
  with name_scope(scope, 'Flatten', [inputs]) as found:
    outputs = layers.flatten(convert(inputs))
    return collect_named_outputs(outputs_collections, found, outputs)


@export('contrib.layers.dense_to_sparse')
@add_arg_scope
def dense_to_sparse(tensor, eos_token=0, outputs_collections=None, scope=None):
  """A SparseTensor of the elements that are not `eos_token`."""
  with variable_scope(scope, 'dense_to_sparse', [tensor]) as found:
    tensor = convert(tensor)
    indices = array.where(math.not_equal(tensor, convert(eos_token, tensor.dtype)))
    values = array.gather_nd(tensor, indices)
    outputs = sparse.SparseTensor(indices, values, array.shape(tensor, out_type=dtypes.int64))
    return collect_named_outputs(outputs_collections, found.name, outputs)


@export('contrib.layers.one_hot_encoding')
@add_arg_scope
def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None,
                     scope=None):
  """tf.one_hot of integers."""
  with name_scope(scope, 'OneHotEncoding', [labels, num_classes]) as found:
    labels = convert(labels)
    if labels.dtype == dtypes.int32:
      labels = math.cast(labels, dtypes.int64)
    outputs = array.one_hot(labels, num_classes, on_value=on_value, off_value=off_value)
    return collect_named_outputs(outputs_collections, found, outputs)


@export('contrib.layers.softmax')
@add_arg_scope
def softmax(logits, scope=None):
  """The softmax over the last dimension, which must be known."""
  with variable_scope(scope, 'softmax', [logits]):
    size = convert(logits).get_shape().as_list()[-1]
    if size is None:
      raise ValueError('dimension -1 shape must be known but is None')
    predictions = nn.softmax(array.reshape(logits, [-1, size]))
    predictions = array.reshape(predictions, array.shape(logits))
    predictions.set_shape(convert(logits).get_shape())
    return predictions


@export('contrib.layers.maxout')
@add_arg_scope
def maxout(inputs, num_units, axis=-1, scope=None):
  """The largest of each group of neighbours of an axis, which becomes `num_units` groups.
  ValueError where they do not divide the axis."""
  with variable_scope(scope, 'MaxOut', [inputs]):
    inputs = convert(inputs)
    known, sizes = inputs.get_shape().as_list(), array.shape(inputs)
    axis = axis + len(known) if axis < 0 else axis
    if known[axis] is None or known[axis] % num_units:
      raise ValueError('number of features(%s) is not a multiple of num_units(%d)' % (known[axis],
                                                                                   num_units))
    full = [n if n is not None else sizes[i] for i, n in enumerate(known)]
    full[axis:axis + 1] = [num_units, known[axis] // num_units]
    return math.reduce_max(array.reshape(inputs, array.stack(full)), axis + 1)


@export('contrib.layers.unit_norm')
@add_arg_scope
def unit_norm(inputs, dim, epsilon=1e-7, scope=None):
  """Inputs divided by their length along a dimension."""
  with variable_scope(scope, 'UnitNorm', [inputs]):
    inputs = convert(inputs)
    rank = inputs.get_shape().ndims
    if rank is None:
      raise ValueError('The input rank must be known.')
    if dim < 0 or dim >= rank:
      raise ValueError('dim must be positive but smaller than the input rank.')
    lengths = math.sqrt(epsilon + math.reduce_sum(math.square(inputs), dim, True))
    return math.divide(inputs, lengths)


@export('contrib.layers.poincare_normalize')
def poincare_normalize(x, axis=1, epsilon=1e-5, name=None):
  """x, where it is as long as 1 or longer along the axis shortened to 1 - epsilon: into the
  ball."""
  with name_scope(name, 'poincare_normalize', [x]) as scope:
    x = convert(x)
    squares = math.reduce_sum(math.square(x), axis, keepdims=True)
    inverse = (1. - epsilon) * apply_op('Rsqrt', x=squares)
    return math.multiply(x, apply_op('Minimum', x=inverse, y=1.), name=scope)


@export('contrib.layers.scale_gradient')
def scale_gradient(inputs, gradient_multiplier):
  """Inputs, whose gradient is multiplied."""
  with name_scope(None, 'scale_gradient', [inputs]):
    inputs = convert(inputs)
    passed = inputs * gradient_multiplier
    return array.stop_gradient(inputs - passed) + passed


def _name_of(layer, default):
  return getattr(layer, '__name__', None) or getattr(getattr(layer, 'func', None), '__name__',
                                                     default)


@export('contrib.layers.repeat')
@add_arg_scope
def repeat(inputs, repetitions, layer, *args, **kwargs):
  """The same layer several times, each on the output of the one before; scopes are 'name_1', ..."""
  scope = kwargs.pop('scope', None)
  with variable_scope(scope, 'Repeat', [inputs]):
    outputs = convert(inputs)
    scope = _name_of(layer, 'repeat') if scope is None else scope
    for i in range(repetitions):
      kwargs['scope'] = '%s_%d' % (scope, i + 1)
      outputs = layer(outputs, *args, **kwargs)
    return outputs


@export('contrib.layers.stack')
@add_arg_scope
def stack(inputs, layer, stack_args, **kwargs):
  """The layer once for each item of `stack_args` (an argument, or a list of them)."""
  scope = kwargs.pop('scope', None)
  if not isinstance(stack_args, (list, tuple)):
    raise ValueError('stack_args need to be a list or tuple')
  with variable_scope(scope, 'Stack', [inputs]):
    outputs = convert(inputs)
    scope = _name_of(layer, 'stack') if scope is None else scope
    for i, own in enumerate(stack_args):
      kwargs['scope'] = '%s_%d' % (scope, i + 1)
      outputs = layer(outputs, *(own if isinstance(own, (list, tuple)) else [own]), **kwargs)
    return outputs


@export('contrib.layers.legacy_fully_connected')
@add_arg_scope
def legacy_fully_connected(x, num_output_units, activation_fn=None,
                           weight_init=initializers.xavier_initializer(),
                           bias_init=zeros_initializer(), name=None,
                           weight_collections=(GraphKeys.WEIGHTS,),
                           bias_collections=(GraphKeys.BIASES,),
                           output_collections=(GraphKeys.ACTIVATIONS,), trainable=True,
                           weight_regularizer=None, bias_regularizer=None):
  """The older fully_connected, whose variables are not the model's. Without `bias_init` there is no
  bias."""
  with variable_scope(name, 'fully_connected', [x]):
    x = convert(x)
    known = x.get_shape()
    if known.ndims is None or known.ndims < 2:
      raise ValueError('rank of x must be at least 2 not: %s' % known.ndims)
    size = known.as_list()[-1]
    if size is None:
      raise ValueError('last dimension of x must be known but is None')
    kind = x.dtype.base_dtype

    def own(name, shape, initializer, collections, regularizer):
      collections = dict.fromkeys(list(collections or []) + [GraphKeys.GLOBAL_VARIABLES])
      return get_variable(name, shape=shape, dtype=kind, initializer=initializer,
                          collections=list(collections), regularizer=regularizer,
                          trainable=trainable)
    weights = own('weights', [size, num_output_units], weight_init, weight_collections,
                  weight_regularizer)
    flat = x if known.ndims == 2 else array.reshape(x, [-1, size])
    y = matrix.matmul(flat, weights)
    if bias_init is not None:
      y = nn.bias_add(y, own('bias', [num_output_units], bias_init, bias_collections,
                             bias_regularizer))
    if known.ndims > 2:
      y = array.reshape(y, array.concat([array.shape(x)[:-1], [num_output_units]], 0))
      y.set_shape(known.as_list()[:-1] + [num_output_units])
    y = y if activation_fn is None else activation_fn(y)
    for key in output_collections or ():
      get_default_graph().add_to_collection(key, y)
    return y


legacy_linear = functools.partial(legacy_fully_connected, activation_fn=None)
legacy_relu = functools.partial(legacy_fully_connected, activation_fn=relu_function)
EXPORTS = {'contrib.layers.' + n: n for n in ('relu', 'relu6', 'elu', 'linear', 'legacy_linear',
                                              'legacy_relu')}
