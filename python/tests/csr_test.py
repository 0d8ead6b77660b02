"""CSR sparse matrices in variants: conversions, products, Cholesky factors and their gradients. The
tests pass in TensorFlow too."""
import os
import unittest

import numpy as np

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
else:
  import leat as tf

A = np.array([[0, 1, 0], [2, 0, 3]], np.float64)
B = np.array([[1, 2], [0, 4], [5, 0]], np.float64)
# Positive definite: products of it with its adjoint.
C = np.array([[4, 1, 0, 0], [1, 5, 2, 0], [0, 2, 6, 1], [0, 0, 1, 7]], np.float64)


def numbers(shape, dtype, seed=1):
  """Random numbers of which some are 0."""
  random = np.random.RandomState(seed)
  made = random.randn(*shape) * (random.rand(*shape) < .6)
  if np.dtype(dtype).kind == 'c':
    made = made + 1j * random.randn(*shape) * (made != 0)
  return made.astype(dtype)


def csr(value):
  return tf.raw_ops.DenseToCSRSparseMatrix(
      dense_input=value, indices=tf.where(tf.not_equal(value, tf.zeros_like(value))))


def dense(matrix, dtype):
  return tf.raw_ops.CSRSparseMatrixToDense(sparse_input=matrix, type=dtype)


class CSRTest(unittest.TestCase):

  def _run(self, build):
    with tf.Graph().as_default(), tf.Session() as session:
      return session.run(build())

  def _near(self, build, expected):
    np.testing.assert_allclose(self._run(build), expected, rtol=1e-5, atol=1e-6)

  def test_components(self):
    def build():
      matrix = csr(tf.constant(np.stack([A, A * 0, A + 1])))
      return [tf.raw_ops.SparseMatrixNNZ(sparse_matrix=matrix)] + [
          tuple(tf.raw_ops.CSRSparseMatrixComponents(csr_sparse_matrix=matrix, index=i,
                                                     type=tf.float64)) for i in (0, 1)]
    count, first, second = self._run(build)
    self.assertEqual(count.tolist(), [3, 0, 6])
    self.assertEqual([v.tolist() for v in first], [[0, 1, 3], [1, 0, 2], [1, 2, 3]])
    self.assertEqual([v.tolist() for v in second], [[0, 0, 0], [], []])

  def test_sparse_tensors(self):
    def build():
      matrix = tf.raw_ops.SparseTensorToCSRSparseMatrix(
          indices=[[0, 1, 0], [2, 0, 1]], values=[5., 6.],
          dense_shape=tf.constant([3, 2, 2], tf.int64))
      return tuple(tf.raw_ops.CSRSparseMatrixToSparseTensor(sparse_matrix=matrix,
                                                            type=tf.float32))
    self.assertEqual([v.tolist() for v in self._run(build)],
                     [[[0, 1, 0], [2, 0, 1]], [5, 6], [3, 2, 2]])

  def test_dense_products(self):
    for dtype in (np.float32, np.complex64):
      for flip_a, flip_b in ((None, None), ('transpose', None), ('adjoint', 'transpose'),
                             (None, 'adjoint')):
        for swapped in (False, True):
          a = numbers((3, 2, 4), dtype)
          b = numbers((3, 2 if flip_a else 4, 5), dtype, 2)
          if flip_b:
            b = np.swapaxes(b, 1, 2)
          flip = lambda x, how: x if not how else np.swapaxes(
              x.conj() if how == 'adjoint' else x, 1, 2)
          wanted = flip(a, flip_a) @ flip(b, flip_b)
          attrs = {'%s_%s' % (how, letter): True
                   for how, letter in ((flip_a, 'a'), (flip_b, 'b')) if how}
          if swapped:
            wanted = np.swapaxes(wanted.conj(), 1, 2)
            attrs.update(transpose_output=True, conjugate_output=True)
          with self.subTest(dtype=dtype, **attrs):
            self._near(lambda: tf.raw_ops.SparseMatrixMatMul(a=csr(tf.constant(a)), b=b, **attrs),
                       wanted)

  def test_sparse_products(self):
    for dtype, kind in ((np.float64, tf.float64), (np.complex128, tf.complex128)):
      a, b = numbers((2, 3, 4), dtype), numbers((2, 3, 5), dtype, 2)
      with self.subTest(dtype=dtype):
        self._near(lambda: dense(tf.raw_ops.SparseMatrixSparseMatMul(
            a=csr(tf.constant(a)), b=csr(tf.constant(b)), type=kind, adjoint_a=True), kind),
                   np.swapaxes(a.conj(), 1, 2) @ b)
        self._near(lambda: dense(tf.raw_ops.SparseMatrixTranspose(
            input=csr(tf.constant(a)), type=kind, conjugate=True), kind),
                   np.swapaxes(a.conj(), 1, 2))

  def test_a_sum_that_is_zero_stays(self):
    def build():
      product = tf.raw_ops.SparseMatrixSparseMatMul(
          a=csr(tf.constant([[1., 1.]])), b=csr(tf.constant([[1.], [-1.]])), type=tf.float32)
      return tf.raw_ops.SparseMatrixNNZ(sparse_matrix=product)
    self.assertEqual(self._run(build), 1)

  def test_shapes(self):
    with tf.Graph().as_default():
      a, b = tf.placeholder(tf.float32, [4, None, 3]), tf.placeholder(tf.float32, [4, 3, 5])
      matrix = tf.raw_ops.DenseToCSRSparseMatrix(dense_input=a,
                                                 indices=tf.placeholder(tf.int64, [None, 3]))
      transposed = tf.raw_ops.SparseMatrixTranspose(input=matrix, type=tf.float32)
      self.assertEqual(dense(transposed, tf.float32).shape.as_list(), [4, 3, None])
      self.assertEqual(tf.raw_ops.SparseMatrixMatMul(a=matrix, b=b).shape.as_list(), [4, None, 5])
      self.assertEqual(tf.raw_ops.SparseMatrixNNZ(sparse_matrix=matrix).shape.as_list(), [4])
      with self.assertRaises(ValueError):
        tf.raw_ops.SparseMatrixMatMul(a=transposed, b=tf.placeholder(tf.float32, [3, 5]))

  def test_cholesky(self):
    order = [2, 0, 3, 1]
    permuted = C[order][:, order]
    for value in (C, np.tril(C)):
      self._near(lambda: dense(tf.raw_ops.SparseMatrixSparseCholesky(
          input=csr(tf.constant(value)), permutation=order, type=tf.float64), tf.float64),
                 np.linalg.cholesky(permuted))

  def test_gradients(self):
    values = {'a': A, 'b': B, 'at': A.T, 'bt': B.T}
    for name_a, name_b, attrs in (('a', 'b', {}), ('at', 'b', {'transpose_a': True}),
                                  ('a', 'bt', {'adjoint_b': True}),
                                  ('at', 'bt', {'adjoint_a': True, 'adjoint_b': True})):
      for is_sparse in (False, True):
        def build():
          a, b = tf.constant(values[name_a]), tf.constant(values[name_b])
          if is_sparse:
            y = dense(tf.raw_ops.SparseMatrixSparseMatMul(a=csr(a), b=csr(b), type=tf.float64,
                                                          **attrs), tf.float64)
          else:
            y = tf.raw_ops.SparseMatrixMatMul(a=csr(a), b=b, **attrs)
          return tf.gradients(y * y, [a, b])
        with self.subTest(is_sparse=is_sparse, **attrs):
          dy = 2 * A @ B
          da, db = self._run(build)
          wanted_a, wanted_b = dy @ B.T * (A != 0), A.T @ dy
          if is_sparse:
            wanted_b = wanted_b * (B != 0)
          np.testing.assert_allclose(da, wanted_a if name_a == 'a' else wanted_a.T)
          np.testing.assert_allclose(db, wanted_b if name_b == 'b' else wanted_b.T)

  def test_gradients_of_conversions(self):
    def gradient(read):
      def build():
        x = tf.constant([5., 6.])
        matrix = tf.raw_ops.SparseTensorToCSRSparseMatrix(
            indices=[[0, 1], [1, 0]], values=x, dense_shape=tf.constant([2, 2], tf.int64))
        y = read(tf.raw_ops.SparseMatrixTranspose(input=matrix, type=tf.float32))
        return tf.gradients(y * y, x)[0]
      return self._run(build).tolist()
    self.assertEqual(gradient(lambda m: dense(m, tf.float32)), [10., 12.])
    self.assertEqual(gradient(lambda m: tf.raw_ops.CSRSparseMatrixToSparseTensor(
        sparse_matrix=m, type=tf.float32).values), [10., 12.])

  def test_refusals(self):
    for build in (
        lambda: tf.raw_ops.CSRSparseMatrixComponents(
            csr_sparse_matrix=csr(tf.constant([[1., 2.]])), index=1, type=tf.float32)[0],
        lambda: dense(csr(tf.constant([[1., 2.]])), tf.float64),
        lambda: tf.raw_ops.SparseMatrixMatMul(a=csr(tf.constant(A)), b=A),
        lambda: tf.raw_ops.SparseMatrixSparseCholesky(
            input=csr(tf.constant(-C)), permutation=[0, 1, 2, 3], type=tf.float64).op,
        lambda: tf.raw_ops.SparseMatrixNNZ(sparse_matrix=tf.raw_ops.SparseTensorToCSRSparseMatrix(
            indices=[[2, 0]], values=[1.], dense_shape=tf.constant([2, 2], tf.int64)))):
      with self.assertRaises((tf.errors.InvalidArgumentError, ValueError)):
        self._run(build)


if __name__ == '__main__':
  unittest.main()
