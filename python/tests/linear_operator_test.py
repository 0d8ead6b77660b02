"""Linear operators: each method against numpy on the matrix that the operator stands for."""
import functools
import unittest

import numpy as np
import leat as tf

la = tf.linalg
RANDOM = np.random.RandomState(1)


def matrix(*shape):
  return RANDOM.randn(*shape)


def positive(*shape):
  a = matrix(*shape)
  return a @ np.swapaxes(a, -1, -2) + 3 * np.eye(shape[-1])


def diagonal(d):
  return d[..., None] * np.eye(d.shape[-1])


def block_diagonal(*blocks):
  size, done = sum(b.shape[-1] for b in blocks), 0
  batch = np.broadcast_shapes(*(b.shape[:-2] for b in blocks))
  found = np.zeros(batch + (size, size))
  for b in blocks:
    found[..., done:done + b.shape[-1], done:done + b.shape[-1]] = b
    done += b.shape[-1]
  return found


def circulant(spectrum, depth):
  """F^H diag(spectrum) F by the definition: column j is the image of the unit vector j."""
  n = int(np.prod(spectrum.shape))
  columns = [np.fft.ifftn(spectrum * np.fft.fftn(e.reshape(spectrum.shape))).reshape(n)
             for e in np.eye(n)]
  assert spectrum.ndim == depth
  return np.stack(columns, -1)


class LinearOperatorTest(unittest.TestCase):
  """`check` takes the arrays of which `build` makes the operator, and the matrix that it is. The
  operator is built twice: of constants, and of placeholders without a shape."""

  def check(self, build, arrays, dense):
    for static in (True, False):
      with self.subTest(static=static), tf.Graph().as_default(), tf.Session() as session:
        given = [tf.constant(a) if static else tf.placeholder_with_default(a, None) for a in arrays]
        operator = build(*given)
        self.methods(operator, dense, session, static)

  def methods(self, operator, dense, session, static):
    batch, (rows, columns) = dense.shape[:-2], dense.shape[-2:]
    if static:
      self.assertEqual(operator.shape.as_list(), list(dense.shape))
    self.equal(session, operator.shape_tensor(), dense.shape)
    self.equal(session, operator.batch_shape_tensor(), batch)
    self.equal(session, operator.domain_dimension_tensor(), columns)
    self.equal(session, operator.range_dimension_tensor(), rows)
    self.equal(session, operator.tensor_rank_tensor(), dense.ndim)
    self.equal(session, operator.to_dense(), dense)
    self.equal(session, operator.diag_part(), np.diagonal(dense, axis1=-2, axis2=-1))
    self.equal(session, operator.trace(), np.trace(dense, axis1=-2, axis2=-1))
    self.equal(session, operator.add_to_tensor(np.ones(dense.shape, dense.dtype)), dense + 1)
    adjoint = np.conj(np.swapaxes(dense, -1, -2))
    self.equal(session, operator.adjoint().to_dense(), adjoint)
    for is_adjoint, a in ((False, dense), (True, adjoint)):
      x = matrix(*(a.shape[-1], 2)).astype(dense.dtype)
      self.equal(session, operator.matmul(x, adjoint=is_adjoint), a @ x)
      self.equal(session, operator.matmul(np.conj(x.T), is_adjoint, adjoint_arg=True), a @ x)
      self.equal(session, operator.matvec(x[:, 0], adjoint=is_adjoint), (a @ x)[..., 0])
      if rows == columns:
        self.equal(session, operator.solve(x, adjoint=is_adjoint), np.linalg.inv(a) @ x)
        self.equal(session, operator.solvevec(x[:, 0], adjoint=is_adjoint),
                   (np.linalg.inv(a) @ x)[..., 0])
    if rows == columns:
      self.equal(session, operator.determinant(), np.linalg.det(dense))
      self.equal(session, operator.log_abs_determinant(), np.linalg.slogdet(dense)[1])
      self.equal(session, operator.inverse().to_dense(), np.linalg.inv(dense))
      self.equal(session, operator.cond(), np.linalg.cond(dense))
      session.run(operator.assert_non_singular())
    if operator.is_self_adjoint and operator.is_positive_definite:
      self.equal(session, operator.cholesky().to_dense(), np.linalg.cholesky(dense))
      self.equal(session, tf.sort(operator.eigvals()), np.linalg.eigvalsh(dense))
      session.run(operator.assert_positive_definite())

  def equal(self, session, found, wanted):
    found = session.run(found)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)
    self.assertEqual(found.shape, np.shape(wanted))

  def test_full_matrix(self):
    for shape in ((3, 3), (2, 4, 4), (2, 3, 5)):
      a = matrix(*shape)
      self.check(la.LinearOperatorFullMatrix, [a], a)
    a = positive(2, 3, 3)
    self.check(functools.partial(la.LinearOperatorFullMatrix, is_self_adjoint=True,
                                 is_positive_definite=True), [a], a)

  def test_lower_triangular(self):
    a = matrix(2, 3, 3) + 3 * np.eye(3)
    self.check(la.LinearOperatorLowerTriangular, [a], np.tril(a))

  def test_diagonal(self):
    d = matrix(2, 3)
    self.check(la.LinearOperatorDiag, [d], diagonal(d))
    self.check(functools.partial(la.LinearOperatorDiag, is_positive_definite=True), [abs(d)],
               diagonal(abs(d)))
    d = d + 1j
    self.check(la.LinearOperatorDiag, [d], diagonal(d))

  def test_identity(self):
    self.check(lambda n: la.LinearOperatorIdentity(n, dtype=tf.float64), [np.int32(3)], np.eye(3))
    self.check(lambda n: la.LinearOperatorIdentity(n, [2], tf.float64), [np.int32(3)],
               np.stack([np.eye(3)] * 2))
    m = np.array([2.0, -3.0])
    self.check(la.LinearOperatorScaledIdentity, [np.int32(3), m], m[:, None, None] * np.eye(3))
    self.check(functools.partial(la.LinearOperatorScaledIdentity, is_positive_definite=True),
               [np.int32(3), np.float64(2)], 2 * np.eye(3))

  def test_zeros(self):
    with tf.Graph().as_default(), tf.Session() as session:
      operator = la.LinearOperatorZeros(3, 2, [4], tf.float64, is_square=False)
      self.equal(session, operator.to_dense(), np.zeros([4, 3, 2]))
      self.equal(session, operator.matmul(matrix(2, 5)), np.zeros([4, 3, 5]))
      self.equal(session, operator.matmul(matrix(3, 5), adjoint=True), np.zeros([4, 2, 5]))

  def test_composition(self):
    a, b = matrix(3, 3), matrix(2, 3, 3)
    full = la.LinearOperatorFullMatrix
    self.check(lambda x, y: la.LinearOperatorComposition([full(x), full(y)]), [a, b], a @ b)
    self.check(lambda x, y: full(x).matmul(full(y)), [a, b], a @ b)
    self.check(lambda x, y: full(x).solve(full(y)), [a, b], np.linalg.inv(a) @ b)

  def test_block_diagonal(self):
    a, b = matrix(2, 2, 2), matrix(3, 3)
    full = la.LinearOperatorFullMatrix
    self.check(lambda x, y: la.LinearOperatorBlockDiag([full(x), full(y)]), [a, b],
               block_diagonal(a, b))

  def test_kronecker(self):
    a, b = matrix(2, 2, 2), matrix(3, 3)
    full = functools.partial(la.LinearOperatorFullMatrix, is_square=True)
    self.check(lambda x, y: la.LinearOperatorKronecker([full(x), full(y)]), [a, b], np.kron(a, b))
    a, b = matrix(2, 3), matrix(4, 2)
    full = la.LinearOperatorFullMatrix
    with tf.Graph().as_default(), tf.Session() as session:
      operator = la.LinearOperatorKronecker([full(a), full(b)])
      self.equal(session, operator.to_dense(), np.kron(a, b))
      self.equal(session, operator.matmul(matrix(8, 2) * 0 + 1, adjoint=True),
                 np.kron(a, b).T @ np.ones([8, 2]))

  def test_householder(self):
    v = matrix(2, 3)
    unit = v / np.linalg.norm(v, axis=-1, keepdims=True)
    self.check(la.LinearOperatorHouseholder, [v],
               np.eye(3) - 2 * unit[..., None] * unit[..., None, :])

  def test_low_rank_update(self):
    base, u, v, d = positive(2, 4, 4), matrix(4, 2), matrix(2, 4, 2), matrix(2)
    full = functools.partial(la.LinearOperatorFullMatrix, is_self_adjoint=True,
                             is_positive_definite=True)
    update = la.LinearOperatorLowRankUpdate
    transposed = lambda x: np.swapaxes(x, -1, -2)
    self.check(lambda a, u, v, d: update(full(a), u, d, v), [base, u, v, d],
               base + u @ np.diag(d) @ transposed(v))
    self.check(lambda a, u, v: update(full(a), u, v=v), [base, u, v], base + u @ transposed(v))
    self.check(lambda a, u: update(full(a), u), [base, u], base + u @ u.T)
    self.check(lambda a, u, d: update(full(a), u, d, is_diag_update_positive=True),
               [base, u, abs(d)], base + u @ np.diag(abs(d)) @ u.T)

  def test_circulant(self):
    for depth, make in ((1, la.LinearOperatorCirculant), (2, la.LinearOperatorCirculant2D),
                        (3, la.LinearOperatorCirculant3D)):
      shape = (2, 3, 2)[:depth]
      build = functools.partial(make, input_output_dtype=tf.complex128)
      spectrum = matrix(*shape) + 1j * matrix(*shape) + 4
      self.check(build, [spectrum], circulant(spectrum, depth))
      kernel = matrix(*shape)
      kernel.flat[0] += 5
      spectrum = np.fft.fftn(kernel)
      self.check(functools.partial(make, input_output_dtype=tf.float64), [spectrum],
                 circulant(spectrum, depth).real)
      with tf.Graph().as_default(), tf.Session() as session:
        operator = make(spectrum, tf.float64)
        self.equal(session, operator.convolution_kernel(), kernel)
        session.run(operator.assert_hermitian_spectrum())

  def test_hints(self):
    full = la.LinearOperatorFullMatrix
    with tf.Graph().as_default():
      a = tf.placeholder(tf.float32, [None, None])
      self.assertIsNone(full(a).is_square)
      self.assertTrue(full(a, is_non_singular=True).is_square)
      self.assertTrue(full(a, is_positive_definite=True).is_non_singular)
      with self.assertRaisesRegex(ValueError, 'always non-singular'):
        full(a, is_positive_definite=True, is_non_singular=False)
      with self.assertRaisesRegex(ValueError, 'always self adjoint'):
        la.LinearOperatorDiag([1.0], is_self_adjoint=False)
      with self.assertRaisesRegex(NotImplementedError, 'singular'):
        full(a, is_non_singular=False).solve(a)
      wide = full(tf.zeros([2, 3]))
      with self.assertRaisesRegex(NotImplementedError, 'not be square'):
        wide.determinant()
      with self.assertRaisesRegex(ValueError, 'not compatible'):
        wide.matmul(tf.zeros([2, 3]))
      with self.assertRaisesRegex(TypeError, 'dtype float32'):
        wide.matmul(tf.zeros([3, 3], tf.float64))
      with self.assertRaisesRegex(TypeError, 'integer'):
        la.LinearOperatorIdentity(2.0)
      with self.assertRaisesRegex(ValueError, 'at least 2 dimensions'):
        full([1.0])

  def test_assertions_fail(self):
    full = la.LinearOperatorFullMatrix
    with tf.Graph().as_default(), tf.Session() as session:
      for holds in (la.LinearOperatorFullMatrix([[1.0, 2.0], [2.0, 1.0]]),
                    la.LinearOperatorDiag([1j, 2]).matmul(la.LinearOperatorDiag([1j, 2]))):
        session.run(holds.assert_self_adjoint())
      failing = (lambda: full([[1.0, 1.0], [1.0, 1.0]]).assert_non_singular(),
                 lambda: full([[1.0, 2.0], [2.0, 1.0]]).assert_positive_definite(),
                 lambda: full([[1.0, 2.0], [0.0, 1.0]]).assert_self_adjoint())
      for make in failing:
        with self.assertRaises(tf.errors.InvalidArgumentError):
          session.run(make())

  def test_names(self):
    with tf.Graph().as_default():
      operator = la.LinearOperatorLowerTriangular(tf.ones([2, 2]))
      self.assertEqual(operator.determinant().op.name.rpartition('/')[0],
                       'LinearOperatorLowerTriangular/det')


if __name__ == '__main__':
  unittest.main()
