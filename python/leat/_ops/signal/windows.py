"""Windows: weights that fade a piece of a signal in and out."""
from __future__ import annotations

import math as numbers

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import array, math


def _length(window_length, dtype):
  if not dtypes.as_dtype(dtype).is_floating:
    raise ValueError('dtype must be a floating point type. Found %s' % (dtype,))
  length = convert(window_length, dtypes.int32, 'window_length')
  length.get_shape().assert_has_rank(0)
  return length


def _wide(dtype):
  """The type that a window is computed in."""
  return dtypes.float32 if dtype in (dtypes.float16, dtypes.bfloat16) else dtype


def _raised_cosine(name, scope, window_length, periodic, dtype, a, b):
  """a - b cos(2 pi n / N): N is the length where the window is periodic or odd, else one less."""
  with name_scope(name, scope, [window_length, periodic]):
    dtype = dtypes.as_dtype(dtype)
    length = _length(window_length, dtype)
    if constant_value(length) == 1:
      return array.ones([1], dtype)
    wide = _wide(dtype)
    periodic = math.cast(convert(periodic, dtypes.bool), dtypes.int32)
    even = 1 - length % 2
    n = math.cast(length + periodic * even - 1, wide)
    places = math.cast(math.range(length), wide)
    if constant_value(length) is None:
      n = apply_op('Maximum', x=n, y=constant_of(1, wide))
    window = a - b * apply_op('Cos', x=constant_of(2 * numbers.pi, wide) * places / n)
    if constant_value(length) is None:
      alone = apply_op('Equal', x=length, y=constant_of(1))
      window = array.where_v2(alone, array.ones_like(window), window)
    return math.cast(window, dtype)


@export('signal.hann_window')
def hann_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
  """0.5 - 0.5 cos(2 pi n / N)."""
  return _raised_cosine(name, 'hann_window', window_length, periodic, dtype, 0.5, 0.5)


@export('signal.hamming_window')
def hamming_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
  """0.54 - 0.46 cos(2 pi n / N)."""
  return _raised_cosine(name, 'hamming_window', window_length, periodic, dtype, 0.54, 0.46)


@export('signal.kaiser_window')
def kaiser_window(window_length, beta=12.0, dtype=dtypes.float32, name=None):
  """A window by the Bessel function I0; a greater beta makes it narrower."""
  with name_scope(name, 'kaiser_window'):
    dtype = dtypes.as_dtype(dtype)
    length, wide = _length(window_length, dtype), _wide(dtype)
    if constant_value(length) == 1:
      return array.ones([1], dtype)
    half = (math.cast(length, wide) - 1) / 2
    places = (math.cast(math.range(length), wide) - half) / half
    inside = apply_op('Maximum', x=constant_of(0.0, wide), y=1 - places * places)
    beta = constant_of(beta, wide)
    return math.cast(math.bessel_i0(beta * math.sqrt(inside)) / math.bessel_i0(beta), dtype)


@export('signal.kaiser_bessel_derived_window')
def kaiser_bessel_derived_window(window_length, beta=12.0, dtype=dtypes.float32, name=None):
  """The roots of the running sums of a Kaiser window, and the same backwards."""
  with name_scope(name, 'kaiser_bessel_derived_window'):
    half = _length(window_length, dtype) // 2
    sums = apply_op('Cumsum', x=kaiser_window(half + 1, beta, dtype), axis=constant_of(0))
    one = math.sqrt(sums[:-1] / sums[-1])
    return array.concat([one, apply_op('ReverseV2', tensor=one, axis=[0])], 0)


@export('signal.vorbis_window')
def vorbis_window(window_length, dtype=dtypes.float32, name=None):
  """sin(pi / 2 sin^2(pi (n + 1 / 2) / N))."""
  with name_scope(name, 'vorbis_window'):
    dtype = dtypes.as_dtype(dtype)
    length, wide = _length(window_length, dtype), _wide(dtype)
    places = math.cast(math.range(length), wide)
    inner = apply_op('Sin', x=constant_of(numbers.pi, wide) / math.cast(length, wide) * (
        places + 0.5))
    return math.cast(apply_op('Sin', x=constant_of(numbers.pi / 2, wide) * inner * inner), dtype)
