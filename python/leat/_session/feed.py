"""What run() is given: a dict from tensors, names or composites to values, as flat lists."""
from __future__ import annotations

from leat import _leat
from leat._graph import dtype as dtypes
from leat._graph import value as values
from leat._graph.tensor import Tensor
from leat._session import fetch as fetches


def _leaves(pairs):
  """The pairs, those with a tuple of keys taken apart along it."""
  for feed, value in pairs:
    if isinstance(feed, tuple) and not any(
        isinstance(feed, cls) for cls, _ in fetches.feed_conversions):
      if not isinstance(value, (list, tuple)) or len(value) != len(feed):
        raise ValueError('The value fed for %s must be a list or tuple of %d values, but got %r' %
                         (feed, len(feed), value))
      yield from _leaves(zip(feed, value))
    else:
      yield feed, value


def _of_graph(graph, target):
  """The tensor that a key of a feed_dict stands for."""
  try:
    return graph.as_graph_element(target, allow_operation=False)
  except Exception as error:
    raise TypeError('Cannot interpret feed_dict key as Tensor: ' + str(
        error.args[0] if error.args else error)) from None


def flat(graph, feed_dict):
  """[(tensor, value)] of a feed_dict."""
  found = []
  for item in feed_dict.items():
    if type(item[0]) is Tensor and item[0].op.graph is graph:
      found.append(item)
      continue
    for feed, value in _leaves((item,)):
      for cls, function in fetches.feed_conversions:
        if isinstance(feed, cls):
          pairs = function(feed, value)
          break
      else:
        pairs = [(feed, value)]
      found += [(_of_graph(graph, target), part) for target, part in pairs]
  return found


def _fits(known, shape):
  """Whether a value of the shape may be fed to a tensor of which that much is known."""
  if known is None or known == shape:
    return True
  if len(known) != len(shape):
    return False
  for k, s in zip(known, shape):
    if k != s and k >= 0:
      return False
  return True


def value_of(graph, tensor, value):
  """The Value that is fed; TypeError or ValueError where it does not fit the tensor."""
  if isinstance(value, values.array_classes) and not graph._unfeedable:
    found = _leat.Value.fed(tensor, value)
    if found is not None:
      return found
  if isinstance(value, _leat.Output):
    raise TypeError('The value of a feed cannot be a tf.Tensor object. Acceptable feed values '
                    'include Python scalars, strings, lists, numpy ndarrays, or TensorHandles. For '
                    'reference, the tensor object was %s which was passed to the argument '
                    '`feed_dict`'
                    ' with key %s.' % (value, tensor))
  if type(value).__name__ == 'TensorHandle':
    from leat._session import handle
    value = handle.value_to_feed(graph, tensor, value)
  if graph._unfeedable and not graph.is_feedable(tensor):
    raise ValueError('Tensor %s may not be fed.' % tensor)
  if isinstance(value, _leat.Value):
    return value
  dtype = tensor.dtype._base
  kind = type(value)
  if kind is float or kind is int or kind is bool:
    quick = values._quick(value, dtype)
    if kind is int and dtype is dtypes.bool and value not in (0, 1):
      raise TypeError('Type of feed value %s with type %s is not compatible with Tensor type %s.' %
                      (value, kind, dtype.as_numpy_dtype))
    if quick is not None and tensor.shape_ in (None, ()):
      return quick
    if kind is int and dtype.is_integer and quick is None:
      raise TypeError('Type of feed value %s with type %s is not compatible with Tensor type %s. '
                      'Try explicitly setting the type of the feed tensor to a larger type (e.g. '
                      'int64).' % (value, kind, dtype.as_numpy_dtype))
  import numpy as np
  if dtype in (dtypes.resource, dtypes.variant):
    raise TypeError('Values of type %s are fed as they were fetched.' % dtype.name)
  if dtype is dtypes.string:
    array = np.asarray(value, dtype=object)
  elif dtype is dtypes.bfloat16:
    array = values.bfloat16_bits(value)
  else:
    try:
      array = np.asarray(value, dtype=dtype.as_numpy_dtype)
    except OverflowError:
      array = np.asarray(value).astype(dtype.as_numpy_dtype)   # what wraps around
    except (TypeError, ValueError) as error:
      if hasattr(value, 'name') and hasattr(value, 'eval'):
        raise TypeError('The value of a feed cannot be a tf.Tensor object.') from None
      raise type(error)(str(error)) from None
  if not _fits(tensor.shape_, array.shape):
    raise ValueError('Cannot feed value of shape %r for Tensor %s, which has shape %s' % (
        array.shape, tensor.name, tensor.get_shape()))
  return values.of_array(array, dtype)
