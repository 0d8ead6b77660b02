"""convert_to_tensor: what becomes a tensor when it is given where a tensor is wanted."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import value as values
from leat._graph.graph import get_default_graph
from leat._graph.shape import Dimension, TensorShape
from leat._graph.tensor import Tensor


def constant_of(value, dtype=None, name='Const', shape=None, verify_shape=False):
  """A Const operation's tensor."""
  made, repeated_in = values.given(value, dtype, shape, verify_shape)
  graph = get_default_graph()
  return graph._add('Const', graph._op_name('Const', name), (),
                    [values.attribute_of(made, repeated_in), ('dtype', 't', made.dtype_)]
                    ).outputs_[0]


def _of_tensor(value, dtype=None, name=None, as_ref=False):
  del name
  if dtype is not None and not dtype.is_compatible_with(value.dtype):
    raise ValueError('Tensor conversion requested dtype %s for Tensor with dtype %s: %r' %
                     (dtype.name, value.dtype.name, value))
  del as_ref
  return value


def _of_constant(value, dtype=None, name=None, as_ref=False):
  del as_ref
  return constant_of(value, dtype, name or 'Const')


def _has_tensor(value):
  for item in value:
    if isinstance(item, Tensor) or hasattr(item, '_as_graph_element') or \
        isinstance(item, (list, tuple)) and _has_tensor(item) or hasattr(item, '_tensor_like'):
      return True
  return False


def _of_sequence(value, dtype=None, name=None, as_ref=False):
  """A list with tensors in it is stacked."""
  del as_ref
  if not _has_tensor(value):
    return constant_of(value, dtype, name or 'Const')
  found = _dtype_in(value)
  if dtype is not None and found is not None and found != dtype:
    value = _cast_tensors(value, dtype)
  return _pack(value, dtype or found, name or 'packed')


def _cast_tensors(value, dtype):
  """The list with its tensors, at any depth, as tensors of the type."""
  from leat._graph.apply import apply_op
  if isinstance(value, (list, tuple)):
    return [_cast_tensors(item, dtype) for item in value]
  if not (isinstance(value, Tensor) or hasattr(value, '_as_graph_element')):
    return value
  tensor = convert(value)
  return tensor if tensor.dtype.base_dtype == dtype else apply_op('Cast', x=tensor, DstT=dtype)


def _dtype_in(value):
  for item in value:
    if isinstance(item, (list, tuple)):
      found = _dtype_in(item)
      if found is not None:
        return found
    elif hasattr(item, 'dtype') and not values._is_array(item):
      return item.dtype.base_dtype
  return None


def _pack(value, dtype, name):
  from leat._graph.apply import apply_op
  from leat._graph.scope import name_scope
  with name_scope(name) as scope:
    converted, needed = [], False
    for i, item in enumerate(value):
      if isinstance(item, Tensor) or hasattr(item, '_as_graph_element'):
        item = convert(item)
        if dtype is not None and item.dtype.base_dtype != dtype:
          raise TypeError('Cannot convert a list containing a tensor of dtype %s to %s (Tensor is: '
                          '%r)' % (item.dtype, dtype, item))
        converted.append(item)
        needed = True
      elif isinstance(item, (list, tuple)) and _has_tensor(item):
        converted.append(_pack(item, dtype, str(i)))
        needed = True
      else:
        converted.append(item)
    if needed:
      converted = [c if isinstance(c, Tensor) else constant_of(c, dtype, str(i))
                   for i, c in enumerate(converted)]
    return apply_op('Pack', name=scope, values=converted)


def _of_shape(value, dtype=None, name=None, as_ref=False):
  del as_ref
  if not value.is_fully_defined():
    raise ValueError('Cannot convert a partially known TensorShape %s to a Tensor.' % (value,))
  if dtype is None:
    dtype = dtypes.int32 if all(d < 2 ** 31 for d in value.as_list()) else dtypes.int64
  elif dtype not in (dtypes.int32, dtypes.int64):
    raise TypeError('Cannot convert a TensorShape to dtype %s.' % dtype.name)
  return constant_of(value.as_list(), dtype, name or 'shape_as_tensor')


def _of_dimension(value, dtype=None, name=None, as_ref=False):
  del as_ref
  if value.value is None:
    raise ValueError('Cannot convert unknown Dimension %s to a Tensor.' % (value,))
  if dtype not in (None, dtypes.int32, dtypes.int64):
    raise TypeError('Cannot convert a TensorShape to dtype: %s' % dtype)
  return constant_of(value.value, dtype or dtypes.int32, name or 'shape_as_tensor')


_registered = {0: [(Tensor, _of_tensor)],
               100: [((list, tuple), _of_sequence), (TensorShape, _of_shape),
                     (Dimension, _of_dimension), (object, _of_constant)]}
_by_type = {}


@export('register_tensor_conversion_function')
def register_tensor_conversion_function(base_type, conversion_func, priority=100):
  """`conversion_func(value, dtype, name, as_ref)` makes tensors of `base_type` from now on; those
  of a lower priority are asked first."""
  if not (isinstance(base_type, type) or isinstance(base_type, tuple) and all(
      isinstance(x, type) for x in base_type)):
    raise TypeError('base_type must be a type or a tuple of types.')
  if not callable(conversion_func):
    raise TypeError('conversion_func must be callable.')
  found = _registered.setdefault(priority, [])
  if found and found[-1][0] is object and priority == 100:
    found.insert(len(found) - 1, (base_type, conversion_func))
  else:
    found.append((base_type, conversion_func))
  _by_type.clear()


def _functions(kind):
  found = _by_type.get(kind)
  if found is None:
    found = _by_type[kind] = [
        (base, function) for priority in sorted(_registered)
        for base, function in _registered[priority] if issubclass(kind, base)]
  return found


def convert(value, dtype=None, name=None, as_ref=False, preferred=None):
  """The tensor that `value` becomes. A reference stays one only with `as_ref`."""
  if isinstance(value, Tensor) and type(value) is Tensor:
    graph = get_default_graph()
    if value.op.graph is not graph:
      if graph._is_function:
        return _of_tensor(graph.capture(value), dtype)
      raise ValueError('%s must be from the same graph as the default one.' % value)
    return _of_tensor(value, dtype)
  if dtype is not None:
    dtype = dtypes.as_dtype(dtype)
  prefix = '' if name is None else 'Error converting %s: ' % name
  for base, function in _functions(type(value)):
    made = NotImplemented
    if dtype is None and preferred is not None:
      try:
        made = function(value, dtype=preferred, name=name, as_ref=as_ref)
      except (TypeError, ValueError):
        made = NotImplemented
      else:
        if made is not NotImplemented and made.dtype.base_dtype != dtypes.as_dtype(
            preferred).base_dtype:
          raise TypeError('convert_to_tensor did not convert to the preferred dtype: %s vs %s ' %
                          (made.dtype.base_dtype, dtypes.as_dtype(preferred).base_dtype))
    if made is NotImplemented:
      made = function(value, dtype=dtype, name=name, as_ref=as_ref)
    if made is NotImplemented:
      continue
    if not isinstance(made, Tensor):
      raise RuntimeError('%sConversion function %r for type %s returned non-Tensor: %r' %
                         (prefix, function, base, made))
    if dtype is not None and not dtype.is_compatible_with(made.dtype):
      raise RuntimeError('%sConversion function %r for type %s returned incompatible dtype: '
                         'requested = %s, actual = %s' %
                         (prefix, function, base, dtype.name, made.dtype.name))
    return made
  raise TypeError('%sCannot convert %r with type %s to Tensor: no conversion function registered.'
                  % (prefix, value, type(value)))


@export('convert_to_tensor')
def convert_to_tensor(value, dtype=None, name=None, preferred_dtype=None, dtype_hint=None):
  """The tensor for a number, a list, an array, a variable or a tensor, which is given back. With
  `dtype` it must have or take that type: TypeError or ValueError where it does not. preferred_dtype
  is taken where the value allows it."""
  preferred = dtype_hint or preferred_dtype
  if dtype is not None:
    dtype = dtypes.as_dtype(dtype)
  return convert(value, dtype, name, preferred=None if preferred is None else
                 dtypes.as_dtype(preferred))


@export('convert_to_tensor_or_indexed_slices')
def convert_to_tensor_or_indexed_slices(value, dtype=None, name=None):
  """The value as a tensor, as convert_to_tensor gives it; IndexedSlices are given back as they are.
  TypeError where their type is not `dtype`."""
  if type(value).__name__ in ('IndexedSlices', 'SparseTensor'):
    if dtype and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
      raise ValueError('Tensor conversion requested dtype %s for Tensor with dtype %s: %r' %
                       (dtypes.as_dtype(dtype).name, value.dtype.name, str(value)))
    return value
  return convert(value, dtype, name)


@export('constant')
def constant(value, dtype=None, shape=None, name='Const', verify_shape=False):
  """A tensor with a value that is part of the graph.

  `value` is a number, a text, a list of them (nested as the dimensions are) or an array. Without
  `dtype` it follows from the value: int32, float32, string or bool, or the type of the array. With
  `shape` the values are laid out in it; the last one is repeated where there are too few, but with
  verify_shape they must fit. TypeError or ValueError where a value does not fit the type or the
  shape.

  >>> tf.constant([[1, 2], [3, 4]])
  <tf.Tensor 'Const:0' shape=(2, 2) dtype=int32>
  >>> tf.constant(0.5, shape=[3])
  <tf.Tensor 'Const_1:0' shape=(3,) dtype=float32>
  """
  return constant_of(value, dtype, name, shape, verify_shape)


def is_tensor_like(value):
  return isinstance(value, _leat.Output) or hasattr(value, '_as_graph_element')
