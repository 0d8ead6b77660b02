"""Linear algebra beyond products."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, math
from leat._ops import diagonal as diagonals
from leat._ops import matrix as products


@export('matrix_triangular_solve', 'linalg.triangular_solve')
def matrix_triangular_solve(matrix, rhs, lower=True, adjoint=False, name=None):
  """x with matrix * x = rhs, where matrix is triangular."""
  return apply_op('MatrixTriangularSolve', name=name, matrix=matrix, rhs=rhs, lower=lower,
                  adjoint=adjoint)


@export('self_adjoint_eig', 'linalg.eigh')
def self_adjoint_eig(tensor, name=None):
  """(eigenvalues [..., n], smallest first, eigenvectors [..., n, n] as columns) of symmetric or
  Hermitian matrices; only the lower triangle is read."""
  return tuple(apply_op('SelfAdjointEigV2', name=name, input=tensor, compute_v=True))


@export('self_adjoint_eigvals', 'linalg.eigvalsh')
def self_adjoint_eigvals(tensor, name=None):
  """The eigenvalues of symmetric or Hermitian matrices [..., n, n], smallest first: [..., n]. Only
  the lower triangle is read."""
  return apply_op('SelfAdjointEigV2', name=name, input=tensor, compute_v=False)[0]


@export('svd', 'linalg.svd')
def svd(tensor, full_matrices=False, compute_uv=True, name=None):
  """(singular values [..., k], largest first, u, v) of matrices [..., m, n] = u * diag(s) *
  adjoint(v), or the singular values alone where compute_uv is False. With full_matrices u and v are
  square."""
  s, u, v = apply_op('Svd', name=name, input=tensor, compute_uv=compute_uv,
                     full_matrices=full_matrices)
  return (math.real(s) if s.dtype.is_complex else s, u, v) if compute_uv else (
      math.real(s) if s.dtype.is_complex else s)


@export('cholesky_solve', 'linalg.cholesky_solve')
def cholesky_solve(chol, rhs, name=None):
  """x with A x = rhs, where chol is the Cholesky factor of A."""
  with name_scope(name, 'cholesky_solve', [chol, rhs]):
    y = matrix_triangular_solve(chol, rhs, adjoint=False, lower=True)
    return matrix_triangular_solve(chol, y, adjoint=True, lower=True)


@export('matrix_solve_ls', 'linalg.lstsq')
def matrix_solve_ls(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
  """The least squares solution of matrix * x = rhs."""
  with name_scope(name, 'matrix_solve_ls', [matrix, rhs, l2_regularizer]):
    if not fast:
      return apply_op('MatrixSolveLs', matrix=matrix, rhs=rhs, l2_regularizer=l2_regularizer,
                      fast=False)
    matrix, rhs = convert(matrix), convert(rhs)
    if matrix.get_shape().ndims is None:
      return apply_op('MatrixSolveLs', matrix=matrix, rhs=rhs, l2_regularizer=l2_regularizer,
                      fast=True)
    rows, columns = matrix.get_shape().as_list()[-2:]
    if rows is None or columns is None:
      return apply_op('MatrixSolveLs', matrix=matrix, rhs=rhs, l2_regularizer=l2_regularizer,
                      fast=True)
    over = rows >= columns
    size = columns if over else rows
    gram = products.matmul(matrix, matrix, adjoint_a=over, adjoint_b=not over)
    if isinstance(l2_regularizer, _leat.Output) or l2_regularizer != 0:
      shape = array.shape(matrix)
      eye = diagonals.eye(size, dtype=matrix.dtype, batch_shape=shape[:-2]
                          if matrix.get_shape().ndims > 2 else None)
      gram += math.cast(l2_regularizer, matrix.dtype) * eye
    chol = apply_op('Cholesky', input=gram)
    if over:
      return cholesky_solve(chol, products.matmul(matrix, rhs, adjoint_a=True))
    return products.matmul(matrix, cholesky_solve(chol, rhs), adjoint_a=True)


@export('norm', 'linalg.norm')
def norm(tensor, ord='euclidean', axis=None, keepdims=None, name=None, keep_dims=None):
  """The norm of vectors along `axis`, or of the whole tensor; of matrices where axis is a pair.
  `ord` is 'euclidean', 1, 2, inf or any positive number; 'fro' for matrices. ValueError for others.
  """
  keepdims = bool(keepdims if keep_dims is None else keep_dims)
  matrix = isinstance(axis, (tuple, list)) and len(axis) == 2
  supported = ['euclidean', 'fro', 1, 2, float('inf')] if matrix else ['euclidean', 1, 2,
                                                                      float('inf')]
  if isinstance(axis, (tuple, list)) and len(axis) not in (1, 2) or isinstance(
      axis, (tuple, list)) and len(axis) == 2 and axis[0] == axis[1]:
    raise ValueError("'axis' must be None, an integer, or a tuple of 2 unique integers")
  if isinstance(axis, (tuple, list)) and len(axis) == 1:
    axis = axis[0]
  good = ord in supported or not matrix and isinstance(ord, (int, float)) and ord > 0 or hasattr(
      ord, '__float__') and not isinstance(ord, str) and float(ord) > 0 and not matrix
  if not good:
    raise ValueError("'ord' must be a supported %s norm in %s, got %s" % (
        'matrix' if matrix else 'vector', supported, ord))
  with name_scope(name, 'norm', [tensor]):
    x = convert(tensor)
    if ord in ('fro', 'euclidean', 2, 2.0) and not (matrix and ord == 2):
      squares = math.real(x * math.conj(x)) if x.dtype.is_complex else x * x
      result = math.sqrt(math.reduce_sum(squares, axis, keepdims=True))
    elif matrix and ord == 2:
      rank = x.get_shape().ndims
      order = [i for i in range(rank) if i not in [a % rank for a in axis]] + [
          a % rank for a in axis]
      largest = math.reduce_max(svd(array.transpose(x, order), compute_uv=False), -1, keepdims=True)
      result = array.expand_dims(largest, -1)
      back = sorted(range(rank), key=order.__getitem__)
      result = array.transpose(result, back)
    else:
      result = math.abs(x)
      if ord == 1:
        result = math.reduce_sum(result, axis[0] if matrix else axis, keepdims=True)
        result = math.reduce_max(result, axis[-1], keepdims=True) if matrix else result
      elif ord == float('inf'):
        result = math.reduce_sum(result, axis[1], keepdims=True) if matrix else result
        result = math.reduce_max(result, axis[0] if matrix else axis, keepdims=True)
      else:
        result = math.pow(math.reduce_sum(math.pow(result, ord), axis, keepdims=True), 1.0 / ord)
    return result if keepdims else array.squeeze(result, axis)


@export('linalg.logdet')
def logdet(matrix, name=None):
  """The logarithm of the determinant of a positive definite matrix."""
  with name_scope(name, 'logdet', [matrix]):
    chol = apply_op('Cholesky', input=matrix)
    diagonal = math.real(diagonals.matrix_diag_part(chol)) if chol.dtype.is_complex else \
        diagonals.matrix_diag_part(chol)
    return 2.0 * math.reduce_sum(apply_op('Log', x=diagonal), [-1])


@export('linalg.adjoint')
def adjoint(matrix, name=None):
  """The conjugate transpose."""
  with name_scope(name, 'adjoint', [matrix]):
    return array.matrix_transpose(convert(matrix, name='matrix'), conjugate=True)
