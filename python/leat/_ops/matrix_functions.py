"""Functions of matrices: exp, products with vectors, tridiagonal systems, pseudo-inverse, rank."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._ops import array, diagonal, linalg, math, matrix
from leat._ops.control_flow import while_loop

# The order of the Padé approximant of exp, and the greatest norm for which it is exact to the
# precision of the type (Higham 2005, "The scaling and squaring method for the matrix exponential
# revisited", table 2.3 and its single-precision counterpart).
_PADE = {dtypes.float32: (7, 3.925724783138660), dtypes.float64: (13, 5.371920351148152)}


@export('linalg.expm')
def expm(input, name=None):
  """exp of square matrices [..., n, n]: the matrix is divided by a power of two until a quotient of
  polynomials is exact enough, and the result squared as often."""
  with name_scope(name, 'matrix_exponential', [input]):
    x = convert(input, name='input')
    shape = x.get_shape()
    if shape.ndims is not None and shape.ndims < 2:
      raise ValueError('input must have rank at least 2, but has shape %s' % shape)
    if shape.is_fully_defined() and 0 in shape.as_list():
      return array.identity(x)
    kind = x.dtype
    if kind == dtypes.float16:
      x = math.cast(x, dtypes.float32)
    size = array.shape(x)
    flat = array.reshape(x, array.concat([[-1], size[-2:]], 0))
    real = x.dtype.real_dtype.base_dtype
    order, limit = _PADE[real]
    norm = math.reduce_max(math.reduce_sum(math.abs(flat), 1), 1)
    halvings = apply_op('Maximum', x=constant_of(0.0, real), y=math.ceil(
        apply_op('Log', x=norm / limit) / constant_of(0.6931471805599453, real)))
    halvings = array.stop_gradient(halvings)
    scale = array.reshape(math.pow(constant_of(2.0, real), halvings), [-1, 1, 1])
    made = _pade(flat / math.cast(scale, flat.dtype), order)
    made = _squared(made, halvings)
    made = math.cast(array.reshape(made, size), kind)
    made.set_shape(shape)
    return made


def _pade(x, order):
  """The Padé approximant of exp: (V + U) / (V - U), U the odd powers and V the even ones."""
  n = array.shape(x)[-1]
  unit = diagonal.eye(n, batch_shape=array.shape(x)[:1], dtype=x.dtype)
  square = matrix.matmul(x, x)
  coefficients = [1.0]
  for k in range(1, order + 1):
    coefficients.append(coefficients[-1] * (order - k + 1) / ((2 * order - k + 1) * k))
  scalar = lambda value: constant_of(value, x.dtype)
  odd, even, power = scalar(coefficients[1]) * unit, scalar(coefficients[0]) * unit, None
  for k in range(2, order + 1, 2):
    power = square if power is None else matrix.matmul(power, square)
    even += scalar(coefficients[k]) * power
    if k + 1 <= order:
      odd += scalar(coefficients[k + 1]) * power
  odd = matrix.matmul(x, odd)
  return apply_op('MatrixSolve', matrix=even - odd, rhs=even + odd)


def _squared(x, times):
  """Each matrix squared as often as its number in `times` says."""
  most = math.reduce_max(times)

  def body(i, made):
    again = array.reshape(i < times, [-1, 1, 1])
    return i + 1.0, array.where_v2(again, matrix.matmul(made, made), made)
  _, x = while_loop(lambda i, _: i < most, body, [constant_of(0.0, times.dtype), x])
  return x


@export('linalg.matvec')
def matvec(a, b, transpose_a=False, adjoint_a=False, a_is_sparse=False, b_is_sparse=False,
           name=None):
  """Matrices [..., m, n] times vectors [..., n]."""
  with name_scope(name, 'MatVec', [a, b]):
    b = array.expand_dims(convert(b), -1)
    made = matrix.matmul(a, b, transpose_a=transpose_a, adjoint_a=adjoint_a,
                         a_is_sparse=a_is_sparse, b_is_sparse=b_is_sparse)
    return array.squeeze(made, axis=[-1])


def _three_diagonals(diagonals, diagonals_format):
  """[..., 3, m]: the diagonals above, on and below the main one."""
  if diagonals_format == 'compact':
    return convert(diagonals)
  if diagonals_format == 'sequence':
    if len(diagonals) != 3:
      raise ValueError('Expected diagonals to be a sequence of length 3.')
    upper, main, lower = [convert(d) for d in diagonals]
    if not upper.get_shape()[:-1].is_compatible_with(main.get_shape()[:-1]):
      raise ValueError('Diagonals must have the same batch shape, but have %s and %s' % (
          upper.get_shape(), main.get_shape()))
    m = main.get_shape()[-1].value

    def padded(diagonal, before, after):
      size = diagonal.get_shape()[-1].value
      if m is not None and size is not None and size == m - 1:
        rank = diagonal.get_shape().ndims
        return array.pad(diagonal, [[0, 0]] * (rank - 1) + [[before, after]])
      return diagonal
    return array.stack([padded(upper, 0, 1), main, padded(lower, 1, 0)], -2)
  if diagonals_format == 'matrix':
    full = convert(diagonals)
    zero = array.zeros_like(full[..., :1, 0])
    main = diagonal.matrix_diag_part(full)
    upper = array.concat([diagonal.matrix_diag_part(full[..., :-1, 1:]), zero], -1)
    lower = array.concat([zero, diagonal.matrix_diag_part(full[..., 1:, :-1])], -1)
    return array.stack([upper, main, lower], -2)
  raise ValueError('Unrecognized diagonals_format: %s' % diagonals_format)


@export('linalg.tridiagonal_solve')
def tridiagonal_solve(diagonals, rhs, diagonals_format='compact', transpose_rhs=False,
                      conjugate_rhs=False, name=None, partial_pivoting=True,
                      perturb_singular=False):
  """x with A x = rhs, A given by three diagonals; rhs [..., m] or [..., m, k]."""
  with name_scope(name, 'tridiagonal_solve'):
    diagonals, rhs = _three_diagonals(diagonals, diagonals_format), convert(rhs)
    vector = rhs.get_shape().ndims == diagonals.get_shape().ndims - 1
    if vector:
      rhs = array.expand_dims(rhs, -1)
    elif transpose_rhs:
      rhs = array.matrix_transpose(rhs)
    if conjugate_rhs:
      rhs = math.conj(rhs)
    made = apply_op('TridiagonalSolve', diagonals=diagonals, rhs=rhs,
                    partial_pivoting=partial_pivoting, perturb_singular=perturb_singular)
    if vector:
      return array.squeeze(made, [-1])
    return array.matrix_transpose(made) if transpose_rhs else made


@export('linalg.tridiagonal_matmul')
def tridiagonal_matmul(diagonals, rhs, diagonals_format='compact', name=None):
  """A rhs, A given by three diagonals."""
  with name_scope(name, 'tridiagonal_matmul'):
    parts = _three_diagonals(diagonals, diagonals_format)
    rows = [array.expand_dims(parts[..., i, :], -2) for i in range(3)]
    return apply_op('TridiagonalMatMul', superdiag=rows[0], maindiag=rows[1], subdiag=rows[2],
                    rhs=rhs)


@export('linalg.pinv')
def pinv(a, rcond=None, validate_args=False, name=None):
  """The pseudo-inverse of matrices; singular values below rcond times the greatest count as 0."""
  del validate_args
  with name_scope(name, 'pinv', [a]):
    a = convert(a, name='a')
    rows, columns = a.get_shape().as_list()[-2:]
    kind = a.dtype.real_dtype.base_dtype
    if rcond is None:
      larger = max(rows, columns) if None not in (rows, columns) else math.reduce_max(
          array.shape(a)[-2:])
      rcond = 10.0 * _epsilon(kind) * (larger if isinstance(larger, int) else math.cast(
          larger, kind))
    rcond = convert(rcond, kind, 'rcond')
    values, left, right = linalg.svd(a)
    cutoff = rcond * math.reduce_max(values, -1)
    small = values <= array.expand_dims(cutoff, -1)
    inverse = array.where_v2(small, array.zeros_like(values), math.divide(
        array.ones_like(values), array.where_v2(small, array.ones_like(values), values)))
    inverse = math.cast(array.expand_dims(inverse, -2), a.dtype)
    made = matrix.matmul(right * inverse, left, adjoint_b=True)
    shape = a.get_shape()
    made.set_shape(shape[:-2].concatenate([columns, rows]))
    return made


def _epsilon(dtype):
  return 2.0 ** -52 if dtype == dtypes.float64 else 2.0 ** -23


@export('linalg.matrix_rank')
def matrix_rank(a, tol=None, validate_args=False, name=None):
  """How many singular values are greater than tol."""
  del validate_args
  with name_scope(name, 'matrix_rank', [a]):
    a = convert(a, name='a')
    values = linalg.svd(a, compute_uv=False)
    if tol is None:
      larger = math.cast(math.reduce_max(array.shape(a)[-2:]), values.dtype)
      tol = _epsilon(values.dtype) * larger * math.reduce_max(values, -1, keepdims=True)
    return math.reduce_sum(math.cast(values > tol, dtypes.int32), -1)


@export('linalg.normalize')
def normalize(tensor, ord='euclidean', axis=None, name=None):
  """(the tensor divided by its norm, the norm)."""
  with name_scope(name, 'normalize', [tensor]):
    tensor = convert(tensor)
    norm = linalg.norm(tensor, ord, axis, keepdims=True)
    norm = math.cast(norm, tensor.dtype)
    return tensor / norm, norm


# ---- LU decompositions --------------------------------------------------------------------------


@export('linalg.lu_solve')
def lu_solve(lower_upper, perm, rhs, validate_args=False, name=None):
  """x with A x = rhs, where A was decomposed by tf.linalg.lu; rhs [..., n, k]."""
  del validate_args
  with name_scope(name, 'lu_solve'):
    lower_upper, rhs = convert(lower_upper), convert(rhs, name='rhs')
    perm = convert(perm, dtypes.int32, 'perm')
    rank = perm.get_shape().ndims
    if rank is None or rhs.get_shape().ndims is None:
      raise ValueError('perm and rhs must have known ranks')
    batch = array.shape(lower_upper)[:-2]
    rhs = apply_op('BroadcastTo', input=rhs, shape=array.concat([batch, array.shape(rhs)[-2:]], 0))
    moved = array.gather(rhs, perm, axis=rank - 1, batch_dims=rank - 1)
    unit = diagonal.matrix_set_diag(apply_op('MatrixBandPart', input=lower_upper, num_lower=-1,
                                          num_upper=0),
                                 array.ones(array.shape(lower_upper)[:-1], lower_upper.dtype))
    return linalg.matrix_triangular_solve(
        lower_upper, linalg.matrix_triangular_solve(unit, moved), lower=False)


@export('linalg.lu_reconstruct')
def lu_reconstruct(lower_upper, perm, validate_args=False, name=None):
  """The matrices that tf.linalg.lu decomposed."""
  del validate_args
  with name_scope(name, 'lu_reconstruct'):
    lower_upper = convert(lower_upper)
    perm = convert(perm, dtypes.int32, 'perm')
    lower = diagonal.matrix_set_diag(
        apply_op('MatrixBandPart', input=lower_upper, num_lower=-1, num_upper=0),
        array.ones(array.shape(lower_upper)[:-1], lower_upper.dtype))
    upper = apply_op('MatrixBandPart', input=lower_upper, num_lower=0, num_upper=-1)
    product = matrix.matmul(lower, upper)
    rank = perm.get_shape().ndims
    back = apply_op('TopKV2', input=-perm, k=array.shape(perm)[-1]).indices
    made = array.gather(product, back, axis=rank - 1, batch_dims=rank - 1)
    made.set_shape(lower_upper.get_shape())
    return made


@export('linalg.lu_matrix_inverse')
def lu_matrix_inverse(lower_upper, perm, validate_args=False, name=None):
  """The inverses of the matrices that tf.linalg.lu decomposed."""
  with name_scope(name, 'lu_matrix_inverse'):
    lower_upper = convert(lower_upper)
    size = array.shape(lower_upper)
    unit = diagonal.eye(size[-1], batch_shape=size[:-2], dtype=lower_upper.dtype)
    return lu_solve(lower_upper, perm, unit, validate_args)
