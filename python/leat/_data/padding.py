"""Batches of tensors of different sizes, which are padded to a common shape."""
from __future__ import annotations

from leat._data import element as elements
from leat._data import nest
from leat._data.dataset import _int64, known_batch
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._graph.shape import TensorShape, as_shape
from leat._graph.value import constant_value


def padded_batch(dataset, batch_size, padded_shapes, padding_values, drop_remainder):
  """batch_size elements as one. `padded_shapes` has a shape for each component, in which None or -1
  is the largest size in the batch; `padding_values` a scalar for each, 0 or '' where there is
  none."""
  element = dataset._element
  specs = nest.flatten(element)
  for spec in specs:
    if not isinstance(spec, elements.TensorSpec):
      raise TypeError('Batching of padded sparse tensors is not currently supported')
  if padded_shapes is None:
    padded_shapes = dataset.output_shapes
    if any(spec.shape.ndims is None for spec in specs):
      raise ValueError('You must provide `padded_shapes` argument because component shapes are '
                       'unknown: %s.' % (padded_shapes,))
  shapes = [_shape_tensor(shape, spec.shape) for shape, spec in zip(
      nest.flatten_up_to(element, padded_shapes), specs)]
  if padding_values is None or not nest.is_nested(padding_values) and nest.is_nested(element):
    padding_values = [padding_values] * len(specs)
  else:
    padding_values = nest.flatten_up_to(element, padding_values)
  values = [_padding(value, spec.dtype) for value, spec in zip(padding_values, specs)]
  size = _int64(batch_size, 'batch_size')
  drop = convert(drop_remainder, dtypes.bool, 'drop_remainder')
  count = known_batch(size, drop)
  made = nest.pack_sequence_as(element, [
      elements.TensorSpec(TensorShape([count]).concatenate(_known(shape)), spec.dtype)
      for spec, shape in zip(specs, shapes)])
  return dataset._made('PaddedBatchDatasetV2', made, batch_size=size, padded_shapes=shapes,
                       padding_values=values, drop_remainder=drop)


def _shape_tensor(shape, component_shape):
  """The int64 vector of a shape, -1 for sizes that the batch decides."""
  tensor = None
  try:
    known = as_shape(shape)
    if known.ndims is not None:
      tensor = convert([-1 if d is None else d for d in known.as_list()], dtypes.int64)
  except (TypeError, ValueError):
    pass
  if tensor is None:
    tensor = convert(shape, preferred=dtypes.int64)
    if tensor.get_shape().ndims not in (None, 1):
      raise ValueError('Padded shape %s must be a 1-D tensor of tf.int64 values, but its shape was '
                       '%s.' % (shape, tensor.get_shape()))
    if tensor.dtype != dtypes.int64:
      raise TypeError('Padded shape %s must be a 1-D tensor of tf.int64 values, but its element '
                      'type was %s.' % (shape, tensor.dtype.name))
  padded = _known(tensor)
  if not _is_large_enough(padded, component_shape):
    raise ValueError('The padded shape %s is not compatible with the corresponding input component '
                     'shape %s.' % (padded, component_shape))
  return tensor


def _known(tensor):
  """What is known of the shape that a vector says."""
  value = constant_value(tensor)
  if value is not None:
    return TensorShape([None if d < 0 else int(d) for d in value])
  size = tensor.get_shape()[0].value if tensor.get_shape().ndims == 1 else None
  return TensorShape(None) if size is None else TensorShape([None] * size)


def _is_large_enough(padded, component):
  if padded.ndims is None or component.ndims is None:
    return True
  return padded.ndims == component.ndims and all(
      p is None or c is None or p >= c for p, c in zip(padded.as_list(), component.as_list()))


def _padding(value, dtype):
  if value is None:
    if dtype in (dtypes.variant, dtypes.resource):
      raise TypeError('Unable to create padding for field of type %s' % dtype.name)
    value = convert('' if dtype == dtypes.string else False if dtype == dtypes.bool else 0, dtype)
  value = convert(value, name='padding_value')
  if not value.get_shape().is_compatible_with([]):
    raise ValueError('Padding value should be a scalar, but is not: %s' % value)
  if value.dtype != dtype:
    raise TypeError('Padding value tensor (%s) does not match output type: %s' % (
        value, dtype.name))
  return value
