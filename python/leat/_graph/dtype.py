"""DType: the types of tensors' elements. The numbers are those of the library's TF_DataType."""
from __future__ import annotations

from leat._export import export

# number, name, numpy's name (None: object), bytes, minimum and maximum of integers
_TYPES = [
    (1, 'float32', 'float32'), (2, 'float64', 'float64'), (3, 'int32', 'int32'),
    (4, 'uint8', 'uint8'), (5, 'int16', 'int16'), (6, 'int8', 'int8'), (7, 'string', 'object'),
    (8, 'complex64', 'complex64'), (9, 'int64', 'int64'), (10, 'bool', 'bool'),
    (11, 'qint8', 'qint8'), (12, 'quint8', 'quint8'), (13, 'qint32', 'qint32'),
    (14, 'bfloat16', 'bfloat16'), (15, 'qint16', 'qint16'), (16, 'quint16', 'quint16'),
    (17, 'uint16', 'uint16'), (18, 'complex128', 'complex128'), (19, 'float16', 'float16'),
    (20, 'resource', 'object'), (21, 'variant', 'object'), (22, 'uint32', 'uint32'),
    (23, 'uint64', 'uint64'), (24, 'float8_e5m2', 'float8_e5m2'),
    (25, 'float8_e4m3fn', 'float8_e4m3fn'), (29, 'int4', 'int4'), (30, 'uint4', 'uint4'),
]
_QUANTIZED = {'qint8': 'int8', 'quint8': 'uint8', 'qint32': 'int32', 'qint16': 'int16',
              'quint16': 'uint16'}
_SIZES = {'float32': 4, 'float64': 8, 'int32': 4, 'uint8': 1, 'int16': 2, 'int8': 1, 'string': 1,
          'complex64': 8, 'int64': 8, 'bool': 1, 'qint8': 1, 'quint8': 1, 'qint32': 4,
          'bfloat16': 2, 'qint16': 2, 'quint16': 2, 'uint16': 2, 'complex128': 16, 'float16': 2,
          'uint32': 4, 'uint64': 8, 'resource': 1, 'variant': 1}
_FLOATS = {'float16', 'float32', 'float64', 'bfloat16', 'float8_e5m2', 'float8_e4m3fn'}
_INTEGERS = {'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'int4',
             'uint4'}
_FLOAT_LIMITS = {'float16': 65504.0, 'float32': 3.4028234663852886e+38,
                 'float64': 1.7976931348623157e+308, 'bfloat16': 3.3895313892515355e+38}


@export('DType', 'dtypes.DType')
class DType:
  """The type of a tensor's elements; one object for each type."""
  __slots__ = ('_number', '_name', '_numpy', '_base', '_ref', '__weakref__')

  def __new__(cls, type_enum):
    return as_dtype(type_enum)

  @property
  def as_datatype_enum(self):
    """The number of the type in messages."""
    return self._number

  @property
  def name(self):
    """Its name: 'float32'."""
    return self._name

  @property
  def base_dtype(self):
    """The type itself, of a reference to it."""
    return self._base

  @property
  def _is_ref_dtype(self):
    return self._number > 100

  @property
  def _as_ref(self):
    return self._ref

  @property
  def real_dtype(self):
    """The type of the real part, of a complex type; otherwise the type itself."""
    name = self._base._name
    if name == 'complex64':
      return float32
    return float64 if name == 'complex128' else self

  @property
  def as_numpy_dtype(self):
    """The class that numpy has for it (loads numpy)."""
    if self._numpy is None:
      self._numpy = _numpy_class(self._base._name)
    return self._numpy

  @property
  def element_class_(self):
    """The class of the elements of fetched arrays: quantized numbers are plain ones there."""
    plain = _QUANTIZED.get(self._base._name)
    return self.as_numpy_dtype if plain is None else _numpy_class(plain)

  @property
  def is_numpy_compatible(self):
    """Whether numpy has arrays of it."""
    return self._base._name not in ('resource', 'variant')

  @property
  def is_bool(self):
    """Whether it is bool."""
    return self._base._name == 'bool'

  @property
  def is_integer(self):
    """Whether it is an integer that is not quantized, with a sign or without."""
    return self._base._name in _INTEGERS

  @property
  def is_floating(self):
    """Whether it is a number with a fraction that is not complex."""
    return self._base._name in _FLOATS

  @property
  def is_complex(self):
    """Whether it is complex."""
    return self._base._name in ('complex64', 'complex128')

  @property
  def is_quantized(self):
    """Whether it is one of the quantized types."""
    return self._base._name in _QUANTIZED

  @property
  def is_unsigned(self):
    """Whether it is an integer without a sign."""
    return self._base._name.startswith('uint')

  @property
  def size(self):
    """The size of an element in bytes."""
    return _SIZES.get(self._base._name, 1)

  def _limit(self, lowest):
    name = _QUANTIZED.get(self._base._name, self._base._name)
    if name in _FLOAT_LIMITS:
      value = -_FLOAT_LIMITS[name] if lowest else _FLOAT_LIMITS[name]
      if name == 'bfloat16':
        return value
      return self.as_numpy_dtype(value)
    if name in _INTEGERS:
      bits = 8 * _SIZES[name]
      if name.startswith('u'):
        return 0 if lowest else 2 ** bits - 1
      return -2 ** (bits - 1) if lowest else 2 ** (bits - 1) - 1
    raise TypeError('Cannot find %s value of %s.' % ('minimum' if lowest else 'maximum', self))

  @property
  def min(self):
    """The smallest number; TypeError where the type has none."""
    return self._limit(True)

  @property
  def max(self):
    """The largest number of the type. TypeError for types without numbers."""
    return self._limit(False)

  @property
  def limits(self):
    """The range that images of the type have."""
    if self is float32 or self is float16 or self is float64 or self is bfloat16:
      return 0, 1
    return self.min, self.max

  def is_compatible_with(self, other):
    """Whether both are the same type, or one is a reference to the other."""
    other = as_dtype(other)
    return self._number in (other._number, other._base._number)

  def __eq__(self, other):
    if other is self:
      return True
    if other is None:
      return False
    if not isinstance(other, DType):
      try:
        other = as_dtype(other)
      except TypeError:
        return False
    return self._number == other._number

  def __ne__(self, other):
    return not self == other

  def __hash__(self):
    return self._number

  def __int__(self):
    return self._number

  def __index__(self):
    return self._number

  def __repr__(self):
    return 'tf.' + self._name

  def __str__(self):
    return "<dtype: '%s'>" % self._name

  def __reduce__(self):
    return as_dtype, (self._name,)


_by_number = {}
_by_name = {}


def _make(number, name, base):
  dtype = object.__new__(DType)
  dtype._number, dtype._name, dtype._numpy = number, name, None
  dtype._base = base or dtype
  dtype._ref = dtype
  _by_number[number] = _by_name[name] = dtype
  return dtype


for _number, _name, _numpy_name in _TYPES:
  _dtype = _make(_number, _name, None)
  _dtype._ref = _make(_number + 100, _name + '_ref', _dtype)
float32, float64, float16 = _by_name['float32'], _by_name['float64'], _by_name['float16']
bfloat16, string, bool = _by_name['bfloat16'], _by_name['string'], _by_name['bool']
int8, int16, int32, int64 = (_by_name['int%d' % bits] for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (_by_name['uint%d' % bits] for bits in (8, 16, 32, 64))
complex64, complex128 = _by_name['complex64'], _by_name['complex128']
qint8, qint16, qint32 = _by_name['qint8'], _by_name['qint16'], _by_name['qint32']
quint8, quint16 = _by_name['quint8'], _by_name['quint16']
resource, variant = _by_name['resource'], _by_name['variant']
half, double = float16, float64
_by_name.update(half=half, double=double, float=float32, half_ref=half._ref,
                double_ref=double._ref, float_ref=float32._ref)
QUANTIZED_DTYPES = frozenset(
    d for q in (qint8, quint8, qint16, quint16, qint32) for d in (q, q._ref))
EXPORTS = {name: name.rpartition('.')[2] for name in (
    'float32', 'float64', 'float16', 'bfloat16', 'string', 'bool', 'int8', 'int16', 'int32',
    'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'complex64', 'complex128', 'qint8', 'qint16',
    'qint32', 'quint8', 'quint16', 'resource', 'variant', 'half', 'double', 'QUANTIZED_DTYPES',
    'dtypes.float32', 'dtypes.float64', 'dtypes.float16', 'dtypes.bfloat16', 'dtypes.string',
    'dtypes.bool', 'dtypes.int8', 'dtypes.int16', 'dtypes.int32', 'dtypes.int64', 'dtypes.uint8',
    'dtypes.uint16', 'dtypes.uint32', 'dtypes.uint64', 'dtypes.complex64', 'dtypes.complex128',
    'dtypes.qint8', 'dtypes.qint16', 'dtypes.qint32', 'dtypes.quint8', 'dtypes.quint16',
    'dtypes.resource', 'dtypes.variant', 'dtypes.half', 'dtypes.double',
    'dtypes.QUANTIZED_DTYPES')}

_numpy_classes = {}   # our name -> class
_from_numpy = {}      # numpy's dtype -> DType


def _numpy_class(name):
  if not _numpy_classes:
    import numpy as np
    for n in ('float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 '
              'complex64 complex128').split():
      _numpy_classes[n] = getattr(np, n)
    _numpy_classes['bool'] = np.bool_
    for n in ('string', 'resource', 'variant'):
      _numpy_classes[n] = np.object_
    for n, of in _QUANTIZED.items():
      _numpy_classes[n] = np.dtype([(n, getattr(np, of), (1,))])
    try:
      import ml_dtypes
      for n in ('bfloat16', 'float8_e5m2', 'float8_e4m3fn', 'int4', 'uint4'):
        _numpy_classes[n] = getattr(ml_dtypes, n)
    except ImportError:
      _numpy_classes['bfloat16'] = np.uint16
  return _numpy_classes.get(name)


def _numpy_dtype(value):
  """The DType of numpy's dtype or scalar class; None where there is none."""
  import numpy as np
  try:
    dtype = np.dtype(value)
  except TypeError:
    return None
  if not _from_numpy:
    _numpy_class('float32')
    for name, item in _numpy_classes.items():
      if name not in ('resource', 'variant') and item is not np.uint16:
        _from_numpy.setdefault(np.dtype(item), _by_name[name])
    _from_numpy[np.dtype(np.uint16)] = uint16
  found = _from_numpy.get(dtype)
  if found is None and dtype.kind in 'SU':
    return string
  if found is None and dtype.kind in 'iu' and dtype.itemsize in (1, 2, 4, 8):
    return _by_name['%sint%d' % ('u' if dtype.kind == 'u' else '', 8 * dtype.itemsize)]
  return found


@export('as_dtype', 'dtypes.as_dtype')
def as_dtype(type_value):
  """The DType of a DType, its name ('float32'), its number in messages, a numpy or a Python type.
  TypeError where there is none."""
  if isinstance(type_value, DType):
    return type_value
  if isinstance(type_value, int):
    found = _by_number.get(type_value)
    if found is not None:
      return found
  elif isinstance(type_value, str):
    found = _by_name.get(type_value)
    if found is not None:
      return found
  python = _PYTHON.get(type_value) if isinstance(type_value, type) else None
  if python is not None:
    return python
  if type_value is not None and not isinstance(type_value, (str, int)):
    found = _numpy_dtype(type_value if isinstance(type_value, type) else
                         getattr(type_value, 'dtype', type_value))
    if found is not None:
      return found
  raise TypeError('Cannot convert value %r to a TensorFlow DType.' % (type_value,))


_PYTHON = {float: float32, int: int64, type(True): bool, str: string, bytes: string,
           complex: complex128, object: string}
