"""Spectra over time: short-time Fourier transforms, cosine transforms, mel scale, cepstra."""
from __future__ import annotations

import math as numbers

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import array, math
from leat._ops.signal import fourier
from leat._ops.signal.frames import frame, overlap_and_add
from leat._ops.signal.windows import hann_window


def _enclosing_power(value):
  """The smallest power of two that is not less, a scalar tensor of int32."""
  known = constant_value(value)
  if known is not None:
    return constant_of(int(2 ** numbers.ceil(numbers.log2(max(int(known), 1)))), dtypes.int32)
  exponent = math.ceil(apply_op('Log', x=math.cast(value, dtypes.float32)) / numbers.log(2.0))
  return math.cast(math.pow(constant_of(2.0), exponent), dtypes.int32)


def _scalar(value, name):
  made = convert(value, dtypes.int32, name)
  made.get_shape().assert_has_rank(0)
  return made


@export('signal.stft')
def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end=False,
         name=None):
  """The transforms of frames: signals [..., samples] -> complex [..., frames, fft_length / 2 + 1].
  Without fft_length it is the power of two that holds a frame."""
  with name_scope(name, 'stft', [signals, frame_length, frame_step]):
    signals = convert(signals, name='signals')
    signals.get_shape().with_rank_at_least(1)
    frame_length = _scalar(frame_length, 'frame_length')
    frame_step = _scalar(frame_step, 'frame_step')
    length = _enclosing_power(frame_length) if fft_length is None else _scalar(fft_length,
                                                                              'fft_length')
    framed = frame(signals, frame_length, frame_step, pad_end)
    if window_fn is not None:
      framed *= window_fn(frame_length, dtype=framed.dtype)
    return fourier.rfft(framed, _vector(length))


def _vector(length):
  known = constant_value(length)
  return constant_of([int(known)], dtypes.int32) if known is not None else array.expand_dims(
      length, 0)


@export('signal.inverse_stft')
def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window,
                 name=None):
  """The signal of frames' transforms, times a window and added up."""
  with name_scope(name, 'inverse_stft', [stfts]):
    stfts = convert(stfts, name='stfts')
    stfts.get_shape().with_rank_at_least(2)
    frame_length = _scalar(frame_length, 'frame_length')
    frame_step = _scalar(frame_step, 'frame_step')
    length = _enclosing_power(frame_length) if fft_length is None else _scalar(fft_length,
                                                                              'fft_length')
    frames = fourier.irfft(stfts, _vector(length))
    known, wanted = constant_value(length), constant_value(frame_length)
    if known is None or wanted is None or known != wanted:
      frames = frames[..., :frame_length]
      behind = apply_op('Maximum', x=constant_of(0), y=frame_length - array.shape(frames)[-1])
      column = array.concat([array.zeros([array.rank(frames) - 1], dtypes.int32),
                             array.expand_dims(behind, 0)], 0)
      shape = frames.get_shape()
      frames = apply_op('Pad', input=frames, paddings=array.stack(
          [array.zeros_like(column), column], 1))
      if shape.ndims is not None:
        frames.set_shape(shape.as_list()[:-1] + [None if wanted is None else int(wanted)])
    if window_fn is not None:
      frames *= window_fn(frame_length, dtype=frames.dtype)
    return overlap_and_add(frames, frame_step)


@export('signal.inverse_stft_window_fn')
def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
  """A function for window_fn of inverse_stft, with which it gives the signal back."""
  with name_scope(name, 'inverse_stft_window_fn', [forward_window_fn]):
    frame_step = _scalar(frame_step, 'frame_step')

  def window(frame_length, dtype):
    """The window divided by the sum of the squares that overlap it."""
    with name_scope(name, 'inverse_stft_window_fn', [forward_window_fn]):
      length = _scalar(frame_length, 'frame_length')
      forward = forward_window_fn(length, dtype=dtype)
      squares = math.square(forward)
      overlaps = -(-length // frame_step)
      squares = array.pad(squares, [[0, overlaps * frame_step - length]])
      squares = array.reshape(squares, array.stack([overlaps, frame_step]))
      sums = math.reduce_sum(squares, 0, keepdims=True)
      sums = apply_op('Tile', input=sums, multiples=array.stack([overlaps, 1]))
      return forward / array.reshape(sums, array.stack([overlaps * frame_step]))[:length]
  return window


# ---- Cosine transforms --------------------------------------------------------------------------


@export('signal.dct')
def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
  """The discrete cosine transform of the last dimension, of types 1 to 4; `n` is the length to
  which the input is cut or filled up."""
  _check_dct(input, type, n, axis, norm)
  with name_scope(name, 'dct', [input]):
    x = convert(input, None, preferred=dtypes.float32)
    if n is not None:
      x = _of_length(x, n)
    return _DCT[type](x, norm)


def _check_dct(input, dct_type, n, axis, norm):
  if axis != -1:
    raise NotImplementedError('axis must be -1. Got: %s' % axis)
  if n is not None and n < 1:
    raise ValueError('n should be a positive integer or None')
  if dct_type not in _DCT:
    raise ValueError('Types I, II, III and IV (I)DCT are supported.')
  if dct_type == 1:
    if norm == 'ortho':
      raise ValueError('Normalization is not supported for the Type-I DCT.')
    size = convert(input, None, preferred=dtypes.float32).get_shape()
    size = n if n is not None else size[-1].value if size.ndims else None
    if size is not None and size < 2:
      raise ValueError('Type-I DCT requires the dimension to be greater than one.')
  if norm not in (None, 'ortho'):
    raise ValueError("Unknown normalization. Expected None or 'ortho', got: %s" % norm)


def _of_length(x, n):
  """The last dimension cut to n, or filled up with zeros."""
  x = x[..., :n]
  rank = x.get_shape().ndims
  behind = apply_op('Maximum', x=constant_of(0), y=n - array.shape(x)[-1])
  column = array.concat([array.zeros([rank - 1 if rank else array.rank(x) - 1], dtypes.int32),
                         array.expand_dims(behind, 0)], 0)
  shape = x.get_shape()
  x = apply_op('Pad', input=x, paddings=array.stack([array.zeros_like(column), column], 1))
  if shape.ndims is not None:
    x.set_shape(shape.as_list()[:-1] + [n])
  return x


def _size(x):
  """(the size of the last dimension as an int32 tensor, as a number of the type of x)."""
  known = x.get_shape()[-1].value if x.get_shape().ndims is not None else None
  size = array.shape(x)[-1] if known is None else constant_of(known)
  return size, math.cast(size, x.dtype)


def _turns(size, real, sign):
  """2 exp(sign pi i k / (2 size)) for k from 0 to size."""
  places = math.cast(math.range(size), real.dtype)
  angle = places * constant_of(sign * numbers.pi * 0.5, real.dtype) / real
  return 2.0 * math.complex(apply_op('Cos', x=angle), apply_op('Sin', x=angle))


def _dct_1(x, norm):
  del norm
  back = apply_op('ReverseV2', tensor=x[..., 1:-1], axis=[-1])
  return math.real(fourier.rfft(array.concat([x, back], -1)))


def _dct_2(x, norm):
  size, real = _size(x)
  whole = fourier.rfft(x, _vector(2 * size))[..., :size]
  made = math.real(whole * _turns(size, real, -1.0))
  if norm == 'ortho':
    made *= _first_apart(0.5 * math.rsqrt(real), 0.5 * math.rsqrt(real) * numbers.sqrt(2.0), size)
  return made


def _dct_3(x, norm):
  size, real = _size(x)
  if norm == 'ortho':
    x *= _first_apart(math.sqrt(real), math.sqrt(real) * numbers.sqrt(0.5), size)
  else:
    x *= real
  whole = _turns(size, real, 1.0) * math.complex(x, array.zeros_like(x))
  return fourier.irfft(whole, _vector(2 * size))[..., :size]


def _dct_4(x, norm):
  size, real = _size(x)
  zeros = array.zeros_like(x)
  made = _dct_2(array.concat([x, zeros], -1), None)[..., 1::2]
  return made * math.rsqrt(real) * numbers.sqrt(0.5) if norm == 'ortho' else made


def _first_apart(first, rest, size):
  """[size] the first number, then the other."""
  return array.concat([array.expand_dims(first, 0), array.fill(array.expand_dims(size - 1, 0),
                                                               rest)], 0)


_DCT = {1: _dct_1, 2: _dct_2, 3: _dct_3, 4: _dct_4}


@export('signal.idct')
def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
  """The inverse of the cosine transform of that type, up to a factor where norm is not 'ortho'."""
  return dct(input, {1: 1, 2: 3, 3: 2, 4: 4}.get(type, type), n, axis, norm, name or 'idct')


# ---- The mel scale ------------------------------------------------------------------------------


def _mel(hertz):
  """Frequencies on the scale of what is heard as equally far apart."""
  return 1127.0 * apply_op('Log', x=1.0 + hertz / 700.0)


@export('signal.linear_to_mel_weight_matrix')
def linear_to_mel_weight_matrix(num_mel_bins=20, num_spectrogram_bins=129, sample_rate=8000,
                                lower_edge_hertz=125.0, upper_edge_hertz=3800.0,
                                dtype=dtypes.float32, name=None):
  """[num_spectrogram_bins, num_mel_bins]: a spectrogram times it is one on the mel scale, whose
  bins are triangles that overlap by one half."""
  dtype = dtypes.as_dtype(dtype)
  if not isinstance(num_mel_bins, int) or num_mel_bins <= 0:
    raise ValueError('num_mel_bins must be positive. Got: %s' % num_mel_bins)
  if lower_edge_hertz < 0.0:
    raise ValueError('lower_edge_hertz must be non-negative. Got: %s' % lower_edge_hertz)
  if lower_edge_hertz >= upper_edge_hertz:
    raise ValueError('lower_edge_hertz %.1f >= upper_edge_hertz %.1f' % (lower_edge_hertz,
                                                                       upper_edge_hertz))
  rate = constant_value(sample_rate) if hasattr(sample_rate, 'op') else sample_rate
  if rate is not None:
    if rate <= 0.0:
      raise ValueError('sample_rate must be positive. Got: %s' % rate)
    if upper_edge_hertz > rate / 2:
      raise ValueError('upper_edge_hertz must not be larger than the Nyquist frequency '
                       '(sample_rate / 2). Got %s for sample_rate: %s' % (upper_edge_hertz, rate))
  if not dtype.is_floating:
    raise ValueError('dtype must be a floating point type. Got: %s' % dtype)
  with name_scope(name, 'linear_to_mel_weight_matrix'):
    nyquist = math.cast(convert(sample_rate), dtype) / 2.0
    zero = constant_of(0.0, dtype)
    # The lowest bin, of frequency 0, has no weight.
    heard = _mel(apply_op('LinSpace', start=zero, stop=nyquist, num=num_spectrogram_bins)[1:])
    heard = array.expand_dims(heard, 1)
    ends = [_mel(constant_of(v, dtype)) for v in (lower_edge_hertz, upper_edge_hertz)]
    edges = apply_op('LinSpace', start=ends[0], stop=ends[1], num=num_mel_bins + 2)
    lower, center, upper = edges[:-2], edges[1:-1], edges[2:]
    rising = (heard - lower) / (center - lower)
    falling = (upper - heard) / (upper - center)
    weights = apply_op('Maximum', x=zero, y=apply_op('Minimum', x=rising, y=falling))
    return array.pad(weights, [[1, 0], [0, 0]], name=name)


@export('signal.mfccs_from_log_mel_spectrograms')
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms, name=None):
  """The mel-frequency cepstral coefficients of logarithms of mel spectrograms [..., bins]."""
  with name_scope(name, 'mfccs_from_log_mel_spectrograms', [log_mel_spectrograms]):
    x = convert(log_mel_spectrograms)
    if x.get_shape().ndims and x.get_shape()[-1].value == 0:
      raise ValueError('num_mel_bins must be positive. Got: %s' % x)
    _, bins = _size(x)
    return dct(x, type=2) * math.rsqrt(bins * 2.0)
