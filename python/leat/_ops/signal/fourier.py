"""Fourier transforms of real numbers, and what moves the zero frequency to the middle."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import array


def _lengths(tensor, rank, inverse):
  """The lengths of a transform where none are given: the sizes, of the last what they come from."""
  known = tensor.get_shape()[-rank:] if tensor.get_shape().ndims is not None else None
  if known is not None and known.is_fully_defined():
    sizes = known.as_list()
    if inverse:
      sizes[-1] = max(0, 2 * (sizes[-1] - 1))
    return constant_of(sizes, dtypes.int32)
  sizes = array.shape(tensor)[-rank:]
  if not inverse:
    return sizes
  last = apply_op('Maximum', x=constant_of(0), y=2 * (sizes[-1:] - 1))
  return array.concat([sizes[:-1], last], 0)


def _padded(tensor, rank, lengths, inverse):
  """The tensor with zeros behind its last dimensions where they are shorter than is read."""
  wanted = constant_value(lengths)
  known = tensor.get_shape()
  if wanted is not None and known.ndims is not None:
    need = wanted.tolist()
    if inverse:
      need[-1] = need[-1] // 2 + 1 if need[-1] else 0
    have = known.as_list()[-rank:]
    if all(h is not None and h >= n for h, n in zip(have, need)) or known.num_elements() == 0:
      return tensor
  need = lengths
  if inverse:
    last = lengths[-1:]
    last = array.where(last > 0, last // 2 + 1, array.zeros_like(last))
    need = array.concat([lengths[:-1], last], 0)
  sizes = array.shape(tensor)
  behind = apply_op('Maximum', x=constant_of(0), y=need - sizes[-rank:])
  behind = array.concat([array.zeros_like(sizes[:-rank]), behind], 0)
  made = apply_op('Pad', input=tensor, paddings=array.stack([array.zeros_like(behind), behind], 1))
  if known.ndims is not None:
    made.set_shape([d for d in known.as_list()[:-rank]] + [None] * rank)
  return made


def _prepared(input_tensor, fft_length, rank, preferred, inverse):
  tensor = convert(input_tensor, None, 'input', preferred=preferred)
  tensor.get_shape().with_rank_at_least(rank)
  if fft_length is None:
    lengths = _lengths(tensor, rank, inverse)
  else:
    lengths = convert(fft_length, dtypes.int32, 'fft_length')
    lengths.get_shape().assert_has_rank(1)
    size = lengths.get_shape()[0].value
    if size is not None and size != rank:
      raise ValueError('fft_length: Dimension must be %d but is %d' % (rank, size))
  return _padded(tensor, rank, lengths, inverse), lengths


def _real(rank):
  op = 'RFFT' + ('' if rank == 1 else '%dD' % rank)

  def function(input_tensor, fft_length=None, name=None):
    with name_scope(name, op.lower(), [input_tensor, fft_length]) as scope:
      tensor, lengths = _prepared(input_tensor, fft_length, rank, dtypes.float32, False)
      wide = tensor.dtype == dtypes.float64
      return apply_op(op, name=scope, input=tensor, fft_length=lengths,
                      Tcomplex=dtypes.complex128 if wide else dtypes.complex64)
  function.__doc__ = 'Half of the transform of real numbers over the last %d dimensions. ' \
      'fft_length [%d]: sizes to which the input is cut or filled up.' % (rank, rank)
  return function


def _inverse_real(rank):
  op = 'IRFFT' + ('' if rank == 1 else '%dD' % rank)

  def function(input_tensor, fft_length=None, name=None):
    with name_scope(name, op.lower(), [input_tensor, fft_length]) as scope:
      tensor, lengths = _prepared(input_tensor, fft_length, rank, dtypes.complex64, True)
      wide = tensor.dtype == dtypes.complex128
      return apply_op(op, name=scope, input=tensor, fft_length=lengths,
                      Treal=dtypes.float64 if wide else dtypes.float32)
  function.__doc__ = 'The real numbers of which the input is half of the transform, over the ' \
      'last %d dimensions; fft_length [%d] is their sizes.' % (rank, rank)
  return function


rfft, rfft2d, rfft3d = _real(1), _real(2), _real(3)
irfft, irfft2d, irfft3d = _inverse_real(1), _inverse_real(2), _inverse_real(3)
EXPORTS = {
    'signal.rfft': 'rfft', 'signal.rfft2d': 'rfft2d', 'signal.rfft3d': 'rfft3d',
    'signal.irfft': 'irfft', 'signal.irfft2d': 'irfft2d', 'signal.irfft3d': 'irfft3d',
    'spectral.rfft': 'rfft', 'spectral.rfft2d': 'rfft2d', 'spectral.rfft3d': 'rfft3d',
    'spectral.irfft': 'irfft', 'spectral.irfft2d': 'irfft2d', 'spectral.irfft3d': 'irfft3d'}


def _shifted(x, axes, name, scope, shift_of):
  with name_scope(name, scope):
    x = convert(x)
    rank = x.get_shape().ndims
    if axes is None:
      if rank is None:
        raise ValueError('axes must be given where the rank of x is not known')
      axes = list(range(rank))
    axes = [axes] if isinstance(axes, int) else list(axes)
    sizes = array.shape(x)
    shifts = array.stack([shift_of(sizes[a]) for a in axes])
    return apply_op('Roll', input=x, shift=shifts, axis=convert(axes, dtypes.int32))


@export('signal.fftshift')
def fftshift(x, axes=None, name=None):
  """The halves of each dimension exchanged, so that the zero frequency comes to the middle."""
  return _shifted(x, axes, name, 'fftshift', lambda size: size // 2)


@export('signal.ifftshift')
def ifftshift(x, axes=None, name=None):
  """What undoes fftshift."""
  return _shifted(x, axes, name, 'ifftshift', lambda size: -(size // 2))
