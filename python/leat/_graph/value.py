"""Values of constants, feeds and fetches: between Python's numbers, numpy's arrays and the
library's Values. numpy is loaded where an array comes or goes, not before."""
from __future__ import annotations

import functools
import struct
import sys

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.shape import TensorShape, as_shape

_SCALARS = {dtypes.float32: 'f', dtypes.float64: 'd', dtypes.int32: 'i', dtypes.int64: 'q',
            dtypes.bool: '?', dtypes.int8: 'b', dtypes.uint8: 'B', dtypes.int16: 'h',
            dtypes.uint16: 'H', dtypes.float16: 'e', dtypes.uint32: 'I', dtypes.uint64: 'Q'}


_by_number = dtypes._by_number


def _numpy():
  import numpy
  return numpy


def _is_array(value):
  numpy = sys.modules.get('numpy')
  return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def of_array(array, dtype):
  """The Value of a numpy array whose elements are of `dtype` already."""
  np = _numpy()
  if dtype._base is dtypes.string:
    flat = [s if type(s) is bytes else _as_bytes(s) for s in array.ravel().tolist()]
    return _leat.Value.from_strings(flat, array.shape)
  shape = array.shape
  array = np.ascontiguousarray(array).reshape(shape)
  if dtype.is_quantized and array.dtype.names:
    array = array[array.dtype.names[0]].reshape(shape)  # a struct of one integer each
  array = np.ascontiguousarray(array)
  if dtype._number == 14 or dtype._number > 23:  # the buffer protocol has no letter for it
    array = array.view('u%d' % array.dtype.itemsize)
  if not array.flags.c_contiguous:
    array = array.copy()
  return _leat.Value.from_buffer(array, dtype._number, shape)


def _as_bytes(item):
  if isinstance(item, str):
    return item.encode('utf-8', 'surrogateescape')
  if isinstance(item, bytes):
    return bytes(item)
  raise TypeError('Expected binary or unicode string, got %r' % (item,))


# ---- Python's values ----------------------------------------------------------------------------


def _first_mismatch(values, fits):
  """The first item of nested lists that does not fit; a marker when all do."""
  if isinstance(values, (list, tuple)):
    for item in values:
      found = _first_mismatch(item, fits)
      if found is not _FITS:
        return found
    return _FITS
  return _FITS if fits(values) else values


_FITS = object()


def _is_int(v):
  return isinstance(v, int) and not isinstance(v, bool) or hasattr(v, '__index__') and \
      not isinstance(v, bool) and not hasattr(v, '_as_graph_element') or \
      type(v).__name__ == 'Dimension'


def _fits(dtype):
  """What Python's values may become the type."""
  def integer(v):
    return _is_int(v) or isinstance(v, bool) or _is_array(v) and v.dtype.kind in 'iu'

  def real(v):
    return isinstance(v, (int, float)) or _is_int(v) or \
        _is_array(v) and v.dtype.kind in 'iuf' or hasattr(v, '__float__') and _is_array(v)
  if dtype.is_integer or dtype.is_quantized:
    return integer
  if dtype.is_floating:
    return lambda v: real(v) or _is_array(v) and v.dtype.kind == 'V'
  if dtype.is_complex:
    return lambda v: real(v) or isinstance(v, complex) or _is_array(v) and v.dtype.kind in 'iufc'
  if dtype.is_bool:
    return lambda v: isinstance(v, bool) or _is_array(v) and v.dtype.kind == 'b'
  if dtype == dtypes.string:
    return lambda v: isinstance(v, (str, bytes)) or _is_array(v) and v.dtype.kind in 'SUO'
  return lambda v: True


def _check(values, dtype):
  """TypeError where values of Python cannot be of `dtype`, or hold None or tensors."""
  if dtype is None:
    wrong = _first_mismatch(values, lambda v: v is not None)
    if wrong is None:
      raise ValueError('None values not supported.')
    wrong = _first_mismatch(values, lambda v: not isinstance(v, _leat.Output))
    if wrong is not _FITS:
      raise TypeError("Expected any non-tensor type, but got a tensor instead.")
    return
  wrong = _first_mismatch(values, _fits(dtype))
  if wrong is _FITS:
    return
  if wrong is None:
    raise ValueError('None values not supported.')
  raise TypeError("Expected %s, but got %s of type '%s'." % (
      dtype.name, repr(wrong) if not isinstance(wrong, _leat.Output) else wrong,
      type(wrong).__name__))


def _quick(value, dtype):
  """A scalar or a flat list without numpy; None where numpy has to do it."""
  kind = type(value)
  if kind is float:
    letter = _SCALARS.get(dtype or dtypes.float32)
    if letter in ('f', 'd', 'e'):
      return _packed(letter, (value,), dtype or dtypes.float32, ())
  elif kind is int:
    if dtype is None:
      dtype = dtypes.int32 if -2 ** 31 <= value < 2 ** 31 else dtypes.int64
    letter = _SCALARS.get(dtype)
    if letter is not None and letter != '?':
      return _packed(letter, (value,), dtype, ())
  elif kind is bool:
    if dtype is None or dtype is dtypes.bool:
      return _packed('?', (value,), dtypes.bool, ())
  elif kind is str or kind is bytes:
    if dtype is None or dtype is dtypes.string:
      return _leat.Value.from_strings([_as_bytes(value)], ())
  elif kind is list or kind is tuple:
    kinds = set(map(type, value))
    if kinds == {int}:
      if dtype is None:
        small = all(-2 ** 31 <= v < 2 ** 31 for v in value)
        dtype = dtypes.int32 if small else dtypes.int64
      letter = _SCALARS.get(dtype)
      if letter is not None and letter != '?':
        return _packed(letter, value, dtype, (len(value),))
    elif kinds == {float}:
      letter = _SCALARS.get(dtype or dtypes.float32)
      if letter in ('f', 'd', 'e'):
        return _packed(letter, value, dtype or dtypes.float32, (len(value),))
  return None


def _packed(letter, values, dtype, shape):
  try:
    data = struct.pack('=%d%s' % (len(values), letter), *values)
  except (struct.error, OverflowError):
    return None
  return _leat.Value.from_buffer(data, dtype._number, shape)


def bfloat16_bits(values):
  """The bits of numbers as bfloat16, as uint16, rounded to even; uint16 are bits already."""
  np = _numpy()
  array = np.asarray(values)
  if array.dtype == np.uint16:
    return array
  bits = np.asarray(array, np.float32)
  nan = np.isnan(bits)
  bits = bits.view(np.uint32).astype(np.uint64)
  bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16
  return np.where(nan, 0x7fc0, bits).astype(np.uint16)


def _array_of(values, dtype):
  """The numpy array of any value, of the type that constants of it have."""
  np = _numpy()
  if dtype is dtypes.bfloat16:
    if not _is_array(values):
      _check(values, dtype)
    return bfloat16_bits(values), dtype
  if _is_array(values):
    values = np.asarray(values)  # a np.matrix would stay one, of two dimensions
    if dtype is not None and dtype.is_quantized and values.dtype.names is None:
      return values.astype(np.dtype(dtype.as_numpy_dtype)[0].base), dtype
    array = values.astype(dtype.as_numpy_dtype) if dtype is not None and \
        dtype is not dtypes.string and not dtype.is_quantized else values
    return array, dtype
  _check(values, dtype)
  if dtype is not None and dtype.is_numpy_compatible:
    np_type = dtype.as_numpy_dtype
    if dtype is dtypes.string:
      array = _array_of_strings(values)
    elif dtype.is_quantized:
      array = np.array(values, dtype=np.dtype(np_type)[0].base) if not _has_tuples(
          values) else np.array(values, dtype=np_type)
    else:
      try:
        array = np.array(values, dtype=np_type)
      except OverflowError:
        array = np.array(values).astype(np_type)   # of the number that wraps around
      except (TypeError, ValueError) as error:
        if 'inhomogeneous' in str(error) or 'sequence' in str(error):
          raise ValueError('Argument must be a dense tensor: %s - got shape that is not '
                           'rectangular.' % (values,)) from None
        raise
    return array, dtype
  try:
    array = np.array(values)
  except ValueError:
    raise ValueError('Argument must be a dense tensor: %s - got shape that is not rectangular.' %
                     (values,)) from None
  if array.dtype.kind == 'O':
    wrong = _first_mismatch(values, lambda v: v is not None)
    if wrong is None:
      raise ValueError('None values not supported.')
  if array.dtype == np.float64:
    array = array.astype(np.float32)
  elif array.dtype.kind == 'i' and array.dtype.itemsize == 8:
    small = array.astype(np.int32)
    if np.array_equal(small, array):
      array = small
  elif array.dtype.kind in 'SUO' and array.dtype != object or array.dtype == object:
    array = _array_of_strings(values)
  return array, None


def _has_tuples(values):
  return isinstance(values, (list, tuple)) and any(isinstance(v, tuple) for v in values)


def _array_of_strings(values):
  np = _numpy()
  array = np.array(values, dtype=object)
  flat = array.ravel()
  for item in flat:
    if not isinstance(item, (str, bytes)):
      raise TypeError("Failed to convert elements of %r to Tensor. Consider casting elements to a "
                      'supported type.' % (values,) if not isinstance(item, (int, float)) else
                      "Expected string, but got %r of type '%s'." % (item, type(item).__name__))
  return array


def make(values, dtype=None, shape=None, verify_shape=False):
  """The Value of a constant."""
  return _filled(*given(values, dtype, shape, verify_shape))


def given(values, dtype=None, shape=None, verify_shape=False):
  """The Value of what is given for a constant, and None; where `shape` has more elements, which
  repeat the last one, the Value is a vector, and beside it is the shape as a list."""
  if dtype is not None:
    dtype = dtypes.as_dtype(dtype)._base
    if dtype.is_quantized:
      _check_quantized(values, dtype)
  if shape is None:
    quick = _quick(values, dtype)
    if quick is not None:
      return quick, None
  if values is None:
    raise ValueError('None values not supported.')
  if isinstance(values, _leat.Value):
    return values, None
  if not _is_array(values) and not isinstance(values, (list, tuple, str, bytes)) and \
      hasattr(values, '__array__') and not isinstance(values, (_leat.Output,)):
    values = _numpy().asarray(values)
  array, wanted = _array_of(values, dtype)
  found = wanted or dtypes._numpy_dtype(array.dtype)
  if found is None:
    raise TypeError('Unrecognized data type: %s' % array.dtype)
  if shape is not None:
    array, shape = _shaped(array, shape, verify_shape)
  return of_array(array, found), shape


def _check_quantized(values, dtype):
  """TypeError for plain numbers, of which nothing says how they were quantized; arrays, and tuples
  of one number for each element, are taken."""
  while isinstance(values, list) and values:
    values = values[0]
  if isinstance(values, (int, float)):
    raise TypeError("Expected %s, got %s of type '%s' instead." % (
        dtype.name, values, type(values).__name__))


def _shaped(array, shape, verify_shape):
  """The array of the shape, and None; or a vector of too few elements and the shape."""
  shape = as_shape(shape).as_list() if not isinstance(shape, list) else shape
  shape = [int(d) for d in shape]
  if verify_shape and list(array.shape) != shape:
    raise TypeError("Expected Tensor's shape: %s, got %s." % (tuple(shape), array.shape))
  size = 1
  for d in shape:
    size *= d
  if array.size == size:
    return array.reshape(shape), None
  if array.size > size and not (size == 0 and array.size == 1):
    raise ValueError('Too many elements provided. Needed at most %d, but received %d' %
                     (size, array.size))
  if array.size == 0:
    raise ValueError('There are no values to fill the shape %s with.' % (shape,))
  if size == 0:
    return array.ravel()[:0].reshape(shape), None
  return array.ravel(), shape


def _filled(value, shape):
  """The Value of a vector made as large as `shape`; its last element is repeated."""
  return value if shape is None else of_proto(to_proto(value, shape))


def to_numpy(value):
  """The numpy array of a Value, over its own memory; a scalar becomes numpy's scalar, a string
  bytes. Anything else, such as what the library has made of a Value already, is given back."""
  if type(value) is not _leat.Value:
    return value
  load_arrays()
  if _by_number[value.dtype_] is not dtypes.string:
    return value.array()
  items, shape = value.strings(), value.shape
  if not shape:
    return items[0]
  array = _numpy().empty(len(items), object)
  array[:] = items
  return array.reshape(shape)


# The classes of numpy's arrays and numbers; empty before numpy is loaded.
array_classes = ()


def load_arrays():
  """Loads numpy, and tells the library what the elements of its Values are there."""
  global array_classes
  if array_classes:
    return
  np = _numpy()
  _leat.set_arrays(np.ndarray, {
      number: dtype.element_class_ for number, dtype in _by_number.items()
      if number < 100 and dtype not in (dtypes.string, dtypes.resource, dtypes.variant)
      and dtype.as_numpy_dtype is not None})
  array_classes = (np.ndarray, np.generic)


# ---- Messages -----------------------------------------------------------------------------------


# The list of a TensorProto that holds the elements of a type, and as what they are read for it.
_LISTS = {dtypes.float32: ('float_val', 'f4'), dtypes.float64: ('double_val', 'f8'),
          dtypes.int8: ('int_val', 'i1'), dtypes.int16: ('int_val', 'i2'),
          dtypes.int32: ('int_val', 'i4'), dtypes.int64: ('int64_val', 'i8'),
          dtypes.uint8: ('int_val', 'u1'), dtypes.uint16: ('int_val', 'u2'),
          dtypes.uint32: ('uint32_val', 'u4'), dtypes.uint64: ('uint64_val', 'u8'),
          dtypes.bool: ('bool_val', '?'), dtypes.float16: ('half_val', 'u2'),
          dtypes.bfloat16: ('half_val', 'u2'), dtypes.qint8: ('int_val', 'i1'),
          dtypes.quint8: ('int_val', 'u1'), dtypes.qint16: ('int_val', 'i2'),
          dtypes.quint16: ('int_val', 'u2'), dtypes.qint32: ('int_val', 'i4'),
          # Pairs of the real and the imaginary part.
          dtypes.complex64: ('scomplex_val', 'f4'), dtypes.complex128: ('dcomplex_val', 'f8')}
_ALWAYS_LISTED = (dtypes.bool, dtypes.uint16, dtypes.complex64, dtypes.complex128)


def to_proto(value, shape=None):
  """A TensorProto of a Value, or of the larger `shape` that repeats the last of its elements. One
  element, or elements to be repeated, are in the list of the type, more in tensor_content."""
  from leat._graph import message
  proto = message.of('TensorProto')()
  dtype = dtypes._by_number[value.dtype_]
  proto.dtype = dtype._number
  proto.tensor_shape.CopyFrom(TensorShape(shape or value.shape).as_proto())
  if dtype is dtypes.string:
    proto.string_val.extend(value.strings())
    return proto
  flat = _numpy().ravel(to_numpy(value))
  if dtype in _LISTS and (flat.size == 1 or shape or dtype in _ALWAYS_LISTED):
    field, element = _LISTS[dtype]
    getattr(proto, field).extend(flat.view(element).tolist())
  else:
    proto.tensor_content = flat.tobytes()
  return proto


@export('make_tensor_proto')
def make_tensor_proto(values, dtype=None, shape=None, verify_shape=False,
                      allow_broadcast=False):
  """A TensorProto message of a value of Python or numpy. TypeError or ValueError where type or
  shape do not fit."""
  del allow_broadcast
  from leat._graph import message
  if isinstance(values, message.of('TensorProto')):
    return values
  return to_proto(*given(values, dtype, shape, verify_shape))


def attribute_of(value, shape):
  """The attribute `value` of the constant that given() describes, as Graph.add takes it. The graph
  keeps what is repeated as one element."""
  if shape is None:
    return 'value', 'v', value
  from leat._graph import message
  attribute = message.of('AttrValue')()
  attribute.tensor.CopyFrom(to_proto(value, shape))
  return 'value', 'P', attribute.SerializeToString()


def of_proto(proto):
  """The Value of a TensorProto: the library reads it, as the constant of a graph."""
  return to_value_of_constant(proto.SerializeToString(), proto.dtype)


def to_value_of_constant(serialized, dtype):
  from leat._graph import message
  attribute = message.of('AttrValue')()
  attribute.tensor.ParseFromString(serialized)
  graph = _leat.Graph()
  op = graph.add('Const', 'c', [], [('value', 'P', attribute.SerializeToString()),
                                    ('dtype', 't', dtype)])
  return op.attribute('value')[1]


@export('make_ndarray')
def make_ndarray(tensor):
  """The array of a TensorProto, which may be changed; strings are bytes in an array of objects."""
  value, dtype = to_numpy(of_proto(tensor)), dtypes.as_dtype(tensor.dtype)
  if dtype.is_quantized:
    return _numpy().asarray(value).view(dtype.as_numpy_dtype)
  return _numpy().array(value, dtype=object if isinstance(value, bytes) else None)


@export('get_static_value', 'contrib.util.constant_value')
def constant_value(tensor, partial=False):
  """The value of a tensor where it is known before the graph runs, else None. With `partial` a
  tensor packed along the first axis may be known in part: an array of objects with None for the
  rest. One packed along another axis is not known, as in TensorFlow."""
  if not isinstance(tensor, _leat.Output):
    return _numpy().asarray(tensor)
  if tensor.op.type == 'Pack' and tensor.op.get_attr('axis'):
    return None
  try:
    value = tensor.constant_value_()
  except _leat.StatusError:
    return None
  if value is None and partial and tensor.op.type == 'Pack' and not tensor.op.get_attr('axis'):
    known = [constant_value(i) for i in tensor.op.inputs]
    found = _numpy().empty(len(known), object)
    found[:] = known
    return found if any(v is not None for v in known) else None
  return None if value is None else _numpy().asarray(to_numpy(value))


def constant_shape(tensor):
  """The TensorShape that a tensor of sizes stands for, as far as it is known."""
  value = constant_value(tensor)
  if value is not None:
    return TensorShape([None if d < 0 else int(d) for d in value.ravel().tolist()])
  op = tensor.op
  if op.type == 'Shape':
    return op.inputs[0].get_shape()
  if op.type == 'Pack':
    sizes = [constant_value(i) for i in op.inputs]
    return TensorShape([None if s is None or s < 0 else int(s) for s in sizes])
  if op.type == 'ConcatV2':
    parts = [constant_shape(i) for i in op.inputs[:-1]]
    return functools.reduce(TensorShape.concatenate, parts, TensorShape([]))
  if op.type in ('Cast', 'Identity'):
    return constant_shape(op.inputs[0])
  return TensorShape([None] * tensor.get_shape()[0].value) if tensor.get_shape().ndims == 1 and \
      tensor.get_shape()[0].value is not None else TensorShape(None)
