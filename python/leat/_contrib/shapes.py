"""contrib.framework: checks of shapes and types, while building where they are known, else in the
step."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._ops import array, confusion, control_flow, math, matrix


@export('contrib.framework.assert_same_float_dtype')
def assert_same_float_dtype(tensors=None, dtype=None):
  """The floating type that all tensors have: `dtype`, else that of the first, else float32.
  ValueError where two differ or where it is not floating."""
  kind = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
  for tensor in tensors or ():
    if kind is None:
      kind = tensor.dtype.base_dtype
    if tensor.dtype.base_dtype != kind:
      raise ValueError('Tensor %s has the type %s, must be %s' % (
          tensor.name, tensor.dtype.base_dtype.name, kind.name))
  kind = dtypes.float32 if kind is None else kind
  if not kind.is_floating:
    raise ValueError('Expected floating point type, got %s.' % kind.name)
  return kind


@export('contrib.framework.assert_scalar_int')
def assert_scalar_int(tensor, name=None):
  """The tensor, which must be a scalar of int32 or int64; else ValueError."""
  with name_scope(name, 'assert_scalar_int', [tensor]):
    tensor = convert(tensor)
    if tensor.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
      raise ValueError('Expected integer type, got %s for %s.' % (tensor.dtype.base_dtype.name,
                                                                 tensor.name))
    return _scalar(tensor)


@export('contrib.framework.assert_scalar')
def assert_scalar(tensor, name=None):
  """The tensor, whose rank must be known to be 0; else ValueError."""
  with name_scope(name, 'assert_scalar', [tensor]):
    return _scalar(convert(tensor))


def _scalar(tensor):
  if tensor.get_shape().ndims != 0:
    raise ValueError('Expected scalar shape, saw shape %s for %s.' % (tensor.get_shape(),
                                                                     tensor.name))
  return tensor


@export('contrib.framework.reduce_sum_n')
def reduce_sum_n(tensors, name=None):
  """The sum of all elements of all tensors, a scalar. ValueError where there is no tensor."""
  if not tensors:
    raise ValueError('No tensors provided.')
  with name_scope(name, 'reduce_sum_n', tensors) as scope:
    sums = [math.reduce_sum(t, name='%s/sum' % t.op.name.rpartition('/')[2]) for t in tensors]
    return sums[0] if len(sums) == 1 else matrix.add_n(sums, name=scope)


@export('contrib.framework.remove_squeezable_dimensions')
def remove_squeezable_dimensions(predictions, labels, name=None):
  """(predictions, labels) without the last dimension of that one whose rank is larger by one. Where
  a rank is not known, the step compares them; a dimension that is not 1 is left to the operations
  that follow."""
  labels, predictions = confusion.remove_squeezable_dimensions(labels, predictions, name=name)
  return predictions, labels


@export('contrib.framework.with_same_shape')
def with_same_shape(expected_tensor, tensor):
  """The tensor, which must have the shape of the other one."""
  with name_scope('%s/' % tensor.op.name, values=[expected_tensor, tensor]):
    known = expected_tensor.get_shape()
    return with_shape(known.as_list() if known.is_fully_defined() else
                      array.shape(expected_tensor, name='expected_shape'), tensor)


def _compatible(tensor, expected):
  """Whether the shapes are the same, a scalar of the step: with one and the same rank the sizes are
  compared, without it nothing is."""
  actual = array.shape(tensor)
  expected = convert(expected, dtypes.int32) if not isinstance(expected, _leat.Output) else \
      math.cast(expected, dtypes.int32)
  same_rank = math.equal(array.size(actual), array.size(expected))
  return control_flow.cond(same_rank, lambda: math.reduce_all(math.equal(actual, expected)),
                           lambda: convert(False))


@export('contrib.framework.with_shape')
def with_shape(expected_shape, tensor):
  """The tensor, with the shape set as far as it is known, and compared with `expected_shape` (a
  list, a TensorShape or a vector of int32 or int64) in the step where it is not. ValueError where
  they differ."""
  if isinstance(expected_shape, TensorShape):
    tensor.get_shape().assert_is_compatible_with(expected_shape)
    if not expected_shape.is_fully_defined():
      tensor.set_shape(expected_shape)
      return tensor
    expected_shape = expected_shape.as_list()
  if not isinstance(expected_shape, _leat.Output):
    import numpy as np
    expected_shape = np.array(expected_shape)
    if expected_shape.size == 0:
      expected_shape = expected_shape.astype(np.int32)
    _check_vector(dtypes.as_dtype(expected_shape.dtype), expected_shape.ndim, expected_shape)
    static = expected_shape.tolist()
    if tensor.get_shape().is_fully_defined():
      if not tensor.get_shape().is_compatible_with(static):
        raise ValueError('Wrong shape for %s [expected] [actual]: %s %s' % (
            tensor.name, static, tensor.get_shape().as_list()))
      return tensor
    with name_scope('%s/' % tensor.op.name, values=[tensor]):
      tensor = _checked(tensor, expected_shape.astype(np.int32))
    tensor.set_shape(static)
    return tensor
  _check_vector(expected_shape.dtype.base_dtype, expected_shape.get_shape().ndims, expected_shape)
  with name_scope('%s/' % tensor.op.name, values=[tensor, expected_shape]):
    checked = _checked(tensor, expected_shape)
    static = constant_value(expected_shape)
    # A constant that cannot fit is left to the step, which tells the sizes.
    if static is not None and tensor.get_shape().is_compatible_with(static.tolist()):
      checked.set_shape(static.tolist())
    return checked


def _check_vector(dtype, rank, shape):
  if dtype not in (dtypes.int32, dtypes.int64):
    raise ValueError('Invalid dtype %s for shape %s expected of tensor.' % (dtype.name, shape))
  if rank not in (None, 1):
    raise ValueError('Invalid rank %d for shape %s expected of tensor.' % (rank, shape))


def _checked(tensor, expected):
  is_shape = _compatible(tensor, expected)
  check = control_flow.Assert(is_shape, [
      'Wrong shape for %s [expected] [actual].' % tensor.name, expected, array.shape(tensor)],
                              name='assert_shape')
  with control_dependencies([check]):
    return array.identity(tensor)
