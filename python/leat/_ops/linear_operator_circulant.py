"""Circulant operators: convolutions with periodic ends, in one, two or three dimensions.

A circulant matrix is diagonal in the Fourier basis, A = F^H diag(H) F, with the spectrum H. Vectors
are brought there by an FFT, multiplied, and brought back; in two and three dimensions (block
circulant matrices) they are seen as tensors of the spectrum's shape meanwhile.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops import array, checks, linalg, math
from leat._ops.linear_operator import LinearOperator, check_dtype, check_rank

_TRANSFORMS = {1: ('FFT', 'IFFT'), 2: ('FFT2D', 'IFFT2D'), 3: ('FFT3D', 'IFFT3D')}


class _Circulant(LinearOperator):
  """A circulant operator of `block_depth` dimensions."""
  _depth = None

  def __init__(self, spectrum, input_output_dtype, hints, name):
    with self._constructing(name, [spectrum]):
      self._spectrum = convert(spectrum, name='spectrum')
      check_dtype(self._spectrum.dtype, 'spectrum', (dtypes.float32, dtypes.complex64,
                                                     dtypes.float64, dtypes.complex128))
      check_rank(self._spectrum, self._depth, 'spectrum')
    is_non_singular, is_self_adjoint, is_positive_definite, is_square = hints
    if is_square is False:
      raise ValueError('A [[nested] block] circulant operator is always square.')
    if not self._spectrum.dtype.is_complex:
      if is_self_adjoint is False:
        raise ValueError('A real spectrum always corresponds to a self-adjoint operator.')
      is_self_adjoint = True
    super().__init__(input_output_dtype, [self._spectrum], is_non_singular, is_self_adjoint,
                     is_positive_definite, True, name)

  block_depth = property(lambda self: self._depth)
  spectrum = property(lambda self: self._spectrum)
  block_shape = property(lambda self: self._spectrum.shape[-self._depth:])

  def block_shape_tensor(self):
    return array.shape(self._spectrum)[-self._depth:]

  def _shape(self):
    shape = self._spectrum.shape
    size = self.block_shape.num_elements() if shape.ndims is not None else None
    return shape[:-self._depth].concatenate([size, size])

  def _shape_tensor(self):
    sizes = array.shape(self._spectrum)
    size = math.reduce_prod(sizes[-self._depth:])
    return array.concat([sizes[:-self._depth], [size, size]], 0)

  def _complex_spectrum(self):
    """The spectrum in the complex type of the transforms."""
    is_double = self.dtype.real_dtype == dtypes.float64
    return math.cast(self._spectrum, dtypes.complex128 if is_double else dtypes.complex64)

  def _multiplied(self, x, spectrum):
    """F^H diag(spectrum) F x for matrices x [..., n, k]."""
    forward, back = _TRANSFORMS[self._depth]
    rows = array.matrix_transpose(math.cast(x, spectrum.dtype))   # [..., k, n]
    sizes = array.concat([array.shape(rows)[:-1], self.block_shape_tensor()], 0)
    moved = apply_op(forward, input=array.reshape(rows, sizes))
    moved *= array.expand_dims(spectrum, -1 - self._depth)
    made = apply_op(back, input=moved)
    flat = array.reshape(made, array.concat([array.shape(made)[:-self._depth], [-1]], 0))
    found = array.matrix_transpose(math.cast(flat, self.dtype))
    found.set_shape(found.shape[:-2].concatenate([self.shape[-1], x.shape[-1]]))
    return found

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    spectrum = self._complex_spectrum()
    return self._multiplied(linalg.adjoint(x) if adjoint_arg else x,
                            math.conj(spectrum) if adjoint else spectrum)

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    spectrum = self._complex_spectrum()
    spectrum = math.conj(spectrum) if adjoint else spectrum
    return self._multiplied(linalg.adjoint(rhs) if adjoint_arg else rhs, 1 / spectrum)

  def convolution_kernel(self, name='convolution_kernel'):
    """The kernel h with A u = h * u: the inverse transform of the spectrum."""
    with self._in_scope(name):
      made = apply_op(_TRANSFORMS[self._depth][1], input=self._complex_spectrum())
      return math.cast(made, self.dtype)

  def assert_hermitian_spectrum(self, name='assert_hermitian_spectrum'):
    """An operation that fails where the kernel is not real, up to 3 epsilon n of its type."""
    import numpy
    with self._in_scope(name):
      made = apply_op(_TRANSFORMS[self._depth][1], input=self._complex_spectrum())
      real = made.dtype.real_dtype
      limit = 3 * float(numpy.finfo(real.as_numpy_dtype).eps) * math.cast(
          math.reduce_prod(self.block_shape_tensor()), real)
      return checks.assert_less(math.abs(math.imag(made)), limit,
                                message='Spectrum was not Hermitian')

  def _axes(self):
    return list(range(-self._depth, 0))

  def _determinant(self):
    return math.cast(math.reduce_prod(self._complex_spectrum(), self._axes()), self.dtype)

  def _log_abs_determinant(self):
    found = math.reduce_sum(apply_op('Log', x=math.abs(self._complex_spectrum())), self._axes())
    return math.cast(found, self.dtype)

  def _trace(self):
    return math.cast(math.reduce_sum(self._complex_spectrum(), self._axes()), self.dtype)

  def _diag_part(self):
    """All elements of the diagonal are the mean of the spectrum."""
    mean = math.cast(math.reduce_mean(self._complex_spectrum(), self._axes()), self.dtype)
    sizes = self._sizes()[:-1]
    return array.ones(sizes, self.dtype) * array.expand_dims(mean, -1)


@export('linalg.LinearOperatorCirculant')
class LinearOperatorCirculant(_Circulant):
  """A circulant matrix, of a spectrum [B1, ..., Bb, N]."""
  _depth = 1

  def __init__(self, spectrum, input_output_dtype=dtypes.complex64, is_non_singular=None,
               is_self_adjoint=None, is_positive_definite=None, is_square=True,
               name='LinearOperatorCirculant'):
    super().__init__(spectrum, input_output_dtype,
                     (is_non_singular, is_self_adjoint, is_positive_definite, is_square), name)


@export('linalg.LinearOperatorCirculant2D')
class LinearOperatorCirculant2D(_Circulant):
  """A block circulant matrix with circulant blocks, of a spectrum [B1, ..., Bb, N0, N1]."""
  _depth = 2

  def __init__(self, spectrum, input_output_dtype=dtypes.complex64, is_non_singular=None,
               is_self_adjoint=None, is_positive_definite=None, is_square=True,
               name='LinearOperatorCirculant2D'):
    super().__init__(spectrum, input_output_dtype,
                     (is_non_singular, is_self_adjoint, is_positive_definite, is_square), name)


@export('linalg.LinearOperatorCirculant3D')
class LinearOperatorCirculant3D(_Circulant):
  """The same nested once more, of a spectrum [B1, ..., Bb, N0, N1, N2]."""
  _depth = 3

  def __init__(self, spectrum, input_output_dtype=dtypes.complex64, is_non_singular=None,
               is_self_adjoint=None, is_positive_definite=None, is_square=True,
               name='LinearOperatorCirculant3D'):
    super().__init__(spectrum, input_output_dtype,
                     (is_non_singular, is_self_adjoint, is_positive_definite, is_square), name)
