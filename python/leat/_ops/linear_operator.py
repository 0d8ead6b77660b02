"""LinearOperator: a batch of matrices that is known by what it does, not by its elements.

An operator of shape [B1, ..., Bb, R, C] acts like a tensor of that shape, but a class of operators
may compute products, solutions and determinants by the structure of its matrices: of a diagonal in
O(n), say. This base class computes everything of the dense matrix; a class gives `_shape`,
`_shape_tensor` and `_to_dense` or `_matmul`, and replaces what its structure makes cheaper.

Hints (is_non_singular, ...) are promises of the program. True or False is relied on without a
check, None means that nothing is known.
"""
from __future__ import annotations

import contextlib

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.tensor import is_tensor
from leat._ops import array, checks, linalg, math
from leat._ops.diagonal import eye, matrix_diag_part
from leat._ops.matrix import matmul

FLOATING = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


def check_dtype(dtype, what, allowed=FLOATING):
  if dtype not in allowed:
    raise TypeError('Argument %s must have dtype in [%s], but has %s.' % (
        what, ', '.join(d.name for d in allowed), dtype.name))


def check_rank(tensor, least, what):
  if tensor.shape.ndims is not None and tensor.shape.ndims < least:
    raise ValueError('Argument %s must have at least %d dimension%s, but is %s.' % (
        what, least, 's' if least > 1 else '', tensor))


def broadcast_batches(tensors):
  """Tensors [..., m, n] with the batch dimensions of all of them."""
  shapes = [t.shape[:-2] for t in tensors]
  if all(s.is_fully_defined() and s == shapes[0] for s in shapes):
    return tensors
  if all(s.is_fully_defined() for s in shapes):
    batch = shapes[0]
    for s in shapes[1:]:
      batch = array.broadcast_static_shape(batch, s)
    batch = constant_of(batch.as_list(), dtypes.int32)
  else:
    batch = array.shape(tensors[0])[:-2]
    for t in tensors[1:]:
      batch = array.broadcast_dynamic_shape(batch, array.shape(t)[:-2])
  return [apply_op('BroadcastTo', input=t, shape=array.concat([batch, array.shape(t)[-2:]], 0))
          for t in tensors]


def solve_dense(matrix, rhs, adjoint=False):
  """x with matrix @ x = rhs, over common batch dimensions."""
  matrix, rhs = broadcast_batches([matrix, rhs])
  return apply_op('MatrixSolve', matrix=matrix, rhs=rhs, adjoint=adjoint)


@export('linalg.LinearOperator')
class LinearOperator:
  """A batch of matrices [B1, ..., Bb, R, C] that maps tensors [..., C, K] to [..., R, K]."""
  _scope = None   # with a slash at the end

  def __init__(self, dtype, graph_parents=None, is_non_singular=None, is_self_adjoint=None,
               is_positive_definite=None, is_square=None, name=None):
    if is_positive_definite and is_non_singular is False:
      raise ValueError('A positive definite matrix is always non-singular.')
    is_non_singular = True if is_positive_definite else is_non_singular
    for implies, what in ((is_non_singular, 'non-singular'), (is_self_adjoint, 'self-adjoint')):
      if implies and is_square is False:
        raise ValueError('A %s matrix is always square.' % what)
      is_square = True if implies else is_square
    for i, parent in enumerate(graph_parents or ()):
      if parent is None or not is_tensor(parent):
        raise ValueError('Graph parent item %d is not a Tensor; %s.' % (i, parent))
    self._dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    self._graph_parents = list(graph_parents or ())
    self._is_square_hint = is_square
    self._is_non_singular = is_non_singular
    self._is_self_adjoint = is_self_adjoint
    self._is_positive_definite = is_positive_definite
    self._name = name or type(self).__name__
    if self._scope is None:
      with self._constructing(self._name):
        pass

  @contextlib.contextmanager
  def _constructing(self, name, values=()):
    """The scope of the operator: of what the constructor adds, and of all methods."""
    with name_scope(name, values=values) as scope:
      self._scope = scope
      yield

  @contextlib.contextmanager
  def _in_scope(self, name, values=()):
    """The operations of a method are named operator/method/..."""
    with name_scope(self._scope), name_scope(name, values=self._graph_parents + list(values)):
      yield

  # ---- What is known without running -----------------------------------------------------------

  dtype = property(lambda self: self._dtype)
  name = property(lambda self: self._name)
  graph_parents = property(lambda self: self._graph_parents)
  is_non_singular = property(lambda self: self._is_non_singular)
  is_self_adjoint = property(lambda self: self._is_self_adjoint)
  is_positive_definite = property(lambda self: self._is_positive_definite)
  shape = property(lambda self: self._shape())
  batch_shape = property(lambda self: self.shape[:-2])
  tensor_rank = property(lambda self: self.shape.ndims)
  domain_dimension = property(lambda self: self.shape[-1])
  range_dimension = property(lambda self: self.shape[-2])

  @property
  def is_square(self):
    """Whether range and domain have the same dimension, or None."""
    rows, columns = self.range_dimension.value, self.domain_dimension.value
    known = None if rows is None or columns is None else rows == columns
    if self._is_square_hint is False and known:
      raise ValueError('User set is_square hint to False, but the operator was square.')
    return known if self._is_square_hint is None else self._is_square_hint

  def _shape(self):
    raise NotImplementedError('_shape is not implemented.')

  def _shape_tensor(self):
    raise NotImplementedError('_shape_tensor is not implemented.')

  # ---- Dimensions as tensors -------------------------------------------------------------------

  def _sizes(self):
    """The shape as a tensor, a constant where it is known."""
    if self.shape.is_fully_defined():
      return constant_of(self.shape.as_list(), dtypes.int32)
    return self._shape_tensor()

  def shape_tensor(self, name='shape_tensor'):
    with self._in_scope(name):
      return self._sizes()

  def batch_shape_tensor(self, name='batch_shape_tensor'):
    with self._in_scope(name):
      return self._sizes()[:-2]

  def tensor_rank_tensor(self, name='tensor_rank_tensor'):
    with self._in_scope(name):
      if self.tensor_rank is not None:
        return constant_of(self.tensor_rank, dtypes.int32)
      return array.size(self._sizes())

  def _dimension(self, axis):
    known = self.shape[axis].value
    return self._sizes()[axis] if known is None else constant_of(known, dtypes.int32)

  def domain_dimension_tensor(self, name='domain_dimension_tensor'):
    with self._in_scope(name):
      return self._dimension(-1)

  def range_dimension_tensor(self, name='range_dimension_tensor'):
    with self._in_scope(name):
      return self._dimension(-2)

  # ---- Assertions ------------------------------------------------------------------------------

  def assert_non_singular(self, name='assert_non_singular'):
    """An operation that fails where the matrix is singular to the precision of its type."""
    with self._in_scope(name):
      return self._assert_non_singular()

  def _assert_non_singular(self):
    import numpy
    real = self.dtype.real_dtype
    greatest = 1.0 / numpy.finfo(real.as_numpy_dtype).eps
    return checks.assert_less(self.cond(), constant_of(greatest, real),
                              message='Singular matrix up to precision epsilon.')

  def assert_positive_definite(self, name='assert_positive_definite'):
    """An operation that fails unless x^H A x > 0 for all x other than 0, with A self-adjoint."""
    with self._in_scope(name):
      return self._assert_positive_definite()

  def _assert_positive_definite(self):
    return checks.assert_positive(linalg.self_adjoint_eigvals(self._to_dense()),
                                  message='The matrix was not positive definite.')

  def assert_self_adjoint(self, name='assert_self_adjoint'):
    """An operation that fails unless the matrix is its own conjugate transpose."""
    with self._in_scope(name):
      return self._assert_self_adjoint()

  def _assert_self_adjoint(self):
    dense = self._to_dense()
    return checks.assert_equal(dense, linalg.adjoint(dense),
                               message='Matrix was not equal to its adjoint.')

  # ---- Products --------------------------------------------------------------------------------

  def _argument(self, x, name, dimension, axis):
    """A checked tensor, whose dimension `axis` must be one of the operator's."""
    x = convert(x, name=name)
    if x.dtype.base_dtype != self.dtype:
      raise TypeError('Expected argument to have dtype %s. Found: %s in tensor %s' % (
          self.dtype.name, x.dtype.name, x))
    if x.shape.ndims is not None:
      dimension.assert_is_compatible_with(x.shape[axis])
    return x

  def matmul(self, x, adjoint=False, adjoint_arg=False, name='matmul'):
    """The product with matrices x [..., C, K], or with an operator: an operator then."""
    if isinstance(x, LinearOperator):
      return self._compose(self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x)
    with self._in_scope(name, [x]):
      x = self._argument(x, 'x', self.shape[-2 if adjoint else -1], -1 if adjoint_arg else -2)
      return self._matmul(x, adjoint, adjoint_arg)

  @staticmethod
  def _compose(left, right):
    from leat._ops.linear_operator_composition import LinearOperatorComposition
    return LinearOperatorComposition([left, right])

  def __matmul__(self, other):
    return self.matmul(other)

  def _matmul(self, x, adjoint=False, adjoint_arg=False):
    return matmul(self._to_dense(), x, adjoint_a=adjoint, adjoint_b=adjoint_arg)

  def matvec(self, x, adjoint=False, name='matvec'):
    """The product with vectors x [..., C]."""
    with self._in_scope(name, [x]):
      x = self._argument(x, 'x', self.shape[-2 if adjoint else -1], -1)
      return array.squeeze(self._matmul(array.expand_dims(x, -1), adjoint), axis=[-1])

  # ---- Solutions -------------------------------------------------------------------------------

  def _check_solvable(self, verb):
    if self.is_non_singular is False:
      raise NotImplementedError('%s not implemented for an operator that is expected to be '
                                'singular.' % verb)
    if self.is_square is False:
      raise NotImplementedError('%s not implemented for an operator that is expected to not be '
                                'square.' % verb)

  def solve(self, rhs, adjoint=False, adjoint_arg=False, name='solve'):
    """X [..., C, K] with A X = rhs."""
    self._check_solvable('Exact solve')
    if isinstance(rhs, LinearOperator):
      inverse = self.inverse()
      return self._compose(inverse.adjoint() if adjoint else inverse,
                           rhs.adjoint() if adjoint_arg else rhs)
    with self._in_scope(name, [rhs]):
      rhs = self._argument(rhs, 'rhs', self.shape[-1 if adjoint else -2],
                           -1 if adjoint_arg else -2)
      return self._solve(rhs, adjoint, adjoint_arg)

  def _uses_cholesky(self):
    return self.is_self_adjoint and self.is_positive_definite

  def _solve(self, rhs, adjoint=False, adjoint_arg=False):
    rhs = linalg.adjoint(rhs) if adjoint_arg else rhs
    dense = self._to_dense()
    if self._uses_cholesky():
      return linalg.cholesky_solve(*broadcast_batches([apply_op('Cholesky', input=dense), rhs]))
    return solve_dense(dense, rhs, adjoint)

  def solvevec(self, rhs, adjoint=False, name='solve'):
    """x [..., C] with A x = rhs."""
    self._check_solvable('Exact solve')
    with self._in_scope(name, [rhs]):
      rhs = self._argument(rhs, 'rhs', self.shape[-1 if adjoint else -2], -1)
      return array.squeeze(self._solve(array.expand_dims(rhs, -1), adjoint), axis=[-1])

  # ---- Properties of the matrix ----------------------------------------------------------------

  def _check_square(self, what):
    if self.is_square is False:
      raise NotImplementedError('%s not implemented for an operator that is expected to not be '
                                'square.' % what)

  def determinant(self, name='det'):
    self._check_square('Determinant')
    with self._in_scope(name):
      return self._determinant()

  def _determinant(self):
    if self._uses_cholesky():
      return apply_op('Exp', x=self._log_abs_determinant())
    return apply_op('MatrixDeterminant', input=self._to_dense())

  def log_abs_determinant(self, name='log_abs_det'):
    self._check_square('Determinant')
    with self._in_scope(name):
      return self._log_abs_determinant()

  def _log_abs_determinant(self):
    if self._uses_cholesky():
      diagonal = matrix_diag_part(apply_op('Cholesky', input=self._to_dense()))
      return 2 * math.reduce_sum(apply_op('Log', x=diagonal), -1)
    return apply_op('LogMatrixDeterminant', input=self._to_dense())[1]

  def trace(self, name='trace'):
    with self._in_scope(name):
      return self._trace()

  def _trace(self):
    return math.reduce_sum(self._diag_part(), -1)

  def diag_part(self, name='diag_part'):
    with self._in_scope(name):
      return self._diag_part()

  def _diag_part(self):
    return matrix_diag_part(self._to_dense())

  def eigvals(self, name='eigvals'):
    """The eigenvalues of a self-adjoint operator, in rising order."""
    if not self.is_self_adjoint:
      raise NotImplementedError('Only self-adjoint matrices are supported.')
    with self._in_scope(name):
      return self._eigvals()

  def _eigvals(self):
    return linalg.self_adjoint_eigvals(self._to_dense())

  def cond(self, name='cond'):
    """The greatest singular value over the least."""
    with self._in_scope(name):
      return self._cond()

  def _cond(self):
    values = linalg.svd(self._to_dense(), compute_uv=False)
    return math.reduce_max(values, -1) / math.reduce_min(values, -1)

  # ---- Other forms -----------------------------------------------------------------------------

  def to_dense(self, name='to_dense'):
    """The matrices as a tensor."""
    with self._in_scope(name):
      return self._to_dense()

  def _to_dense(self):
    unit = eye(self._dimension(-1), batch_shape=self._sizes()[:-2], dtype=self.dtype)
    dense = self._matmul(unit)
    dense.set_shape(self.shape)
    return dense

  def add_to_tensor(self, x, name='add_to_tensor'):
    """The sum with a tensor [..., R, C]."""
    with self._in_scope(name, [x]):
      return self._add_to_tensor(self._argument(x, 'x', self.shape[-1], -1))

  def _add_to_tensor(self, x):
    return self._to_dense() + x

  def adjoint(self, name='adjoint'):
    """The operator of the conjugate transposes."""
    if self.is_self_adjoint:
      return self
    with self._in_scope(name):
      return self._adjoint()

  H = property(adjoint)

  def _adjoint(self):
    from leat._ops.linear_operator_adjoint import LinearOperatorAdjoint
    return LinearOperatorAdjoint(self)

  def inverse(self, name='inverse'):
    """The operator of the inverses."""
    if self.is_square is False:
      raise ValueError('Cannot take the Inverse: This operator represents a non square matrix.')
    if self.is_non_singular is False:
      raise ValueError('Cannot take the Inverse: This operator represents a singular matrix.')
    with self._in_scope(name):
      return self._inverse()

  def _inverse(self):
    from leat._ops.linear_operator_inversion import LinearOperatorInversion
    return LinearOperatorInversion(self)

  def cholesky(self, name='cholesky'):
    """The operator L of a lower triangle with A = L L^H."""
    if not self._uses_cholesky():
      raise ValueError('Cannot take the Cholesky decomposition: Not a positive definite self '
                       'adjoint matrix.')
    with self._in_scope(name):
      return self._cholesky()

  def _cholesky(self):
    from leat._ops.linear_operator_lower_triangular import LinearOperatorLowerTriangular
    return LinearOperatorLowerTriangular(apply_op('Cholesky', input=self._to_dense()),
                                         is_non_singular=True, is_square=True)
