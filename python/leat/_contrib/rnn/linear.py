"""The matrix that most cells of contrib.rnn begin with, and normalization of layers inside of
cells."""
from __future__ import annotations

from leat._graph.conversion import convert
from leat._ops import array, matrix, nn
from leat._ops.initializers import constant_initializer, zeros_initializer
from leat._ops.variable_scope import get_variable, get_variable_scope, variable_scope


def depth_of(tensor):
  """The last size, which must be known."""
  size = tensor.get_shape().as_list()[-1]
  if size is None:
    raise ValueError('linear expects shape[1] to be provided for shape %s, but saw None' %
                     tensor.get_shape())
  return size


def joined(tensors):
  """A tensor of several [batch, n], one behind the other."""
  tensors = [convert(t) for t in (tensors if isinstance(tensors, (list, tuple)) else [tensors])]
  return tensors[0] if len(tensors) == 1 else array.concat(tensors, 1)


def linear(tensors, size, bias, bias_initializer=None, kernel_initializer=None):
  """[tensors] kernel + bias, with the variables 'kernel' and 'bias' of the scope: [batch, size]."""
  inputs = joined(tensors)
  dtype = inputs.dtype.base_dtype
  kernel = get_variable('kernel', [depth_of(inputs), size], dtype=dtype,
                        initializer=kernel_initializer)
  product = matrix.matmul(inputs, kernel)
  if not bias:
    return product
  return nn.bias_add(product, get_variable('bias', [size], dtype=dtype,
                                           initializer=bias_initializer or zeros_initializer()))


def initialized(initializer):
  """The current scope, with another default of initializers where one is given."""
  return variable_scope(get_variable_scope(), initializer=initializer, auxiliary_name_scope=False)


def normalized(tensor, scope, gain, shift):
  """Each row by its mean and variance, times 'gamma' plus 'beta' of the scope, which begin as gain
  and shift."""
  size, dtype = tensor.get_shape().as_list()[-1:], tensor.dtype.base_dtype
  with variable_scope(scope):
    gamma = get_variable('gamma', size, dtype=dtype, initializer=constant_initializer(gain))
    beta = get_variable('beta', size, dtype=dtype, initializer=constant_initializer(shift))
  mean, variance = nn.moments(tensor, [-1], keep_dims=True)
  return nn.batch_normalization(tensor, mean, variance, beta, gamma, 1e-12)
