"""Names that TensorFlow 1.0 took away, for programs that were written before it.

They take what they took then, so that such a program runs unchanged: `tf.mul`, `tf.pack`,
`tf.batch_matmul`. Most are another name for a function of today; here are the functions whose
arguments had other names. What 1.0 gave another meaning under the same name is not here:
tf.concat and tf.split see by their arguments which order is meant (array.py), and
tf.nn.softmax_cross_entropy_with_logits still asks for named arguments.
"""
from __future__ import annotations

from leat._export import export
from leat._ops import array
from leat._ops import matrix

ALIASES = {
    'mul': 'multiply', 'sub': 'subtract', 'neg': 'negative', 'inv': 'reciprocal',
    'pack': 'stack', 'unpack': 'unstack', 'listdiff': 'setdiff1d', 'complex_abs': 'abs',
    'batch_cholesky': 'cholesky', 'batch_cholesky_solve': 'cholesky_solve',
    'batch_matrix_band_part': 'matrix_band_part', 'batch_matrix_determinant': 'matrix_determinant',
    'batch_matrix_diag': 'matrix_diag', 'batch_matrix_diag_part': 'matrix_diag_part',
    'batch_matrix_inverse': 'matrix_inverse', 'batch_matrix_set_diag': 'matrix_set_diag',
    'batch_matrix_solve': 'matrix_solve', 'batch_matrix_solve_ls': 'matrix_solve_ls',
    'batch_matrix_transpose': 'matrix_transpose',
    'batch_matrix_triangular_solve': 'matrix_triangular_solve',
    'batch_self_adjoint_eig': 'self_adjoint_eig',
    'batch_self_adjoint_eigvals': 'self_adjoint_eigvals', 'batch_svd': 'svd',
    'batch_fft': 'fft', 'batch_ifft': 'ifft', 'batch_fft2d': 'fft2d', 'batch_ifft2d': 'ifft2d',
    'batch_fft3d': 'fft3d', 'batch_ifft3d': 'ifft3d',
    'image.per_image_whitening': 'image.per_image_standardization',
    'nn.deconv2d': 'nn.conv2d_transpose', 'nn.rnn': 'nn.static_rnn',
    'nn.bidirectional_rnn': 'nn.static_bidirectional_rnn',
    'nn.state_saving_rnn': 'nn.static_state_saving_rnn',
    'nn.seq2seq.*': 'contrib.legacy_seq2seq.*',
}


@export('select')
def select(condition, t, e, name=None):
  """tf.where by its earlier name: `t` where `condition` is true, else `e`."""
  return array.where(condition, t, e, name=name)


@export('batch_matmul')
def batch_matmul(x, y, adj_x=False, adj_y=False, name=None):
  """tf.matmul by its earlier name; adj_x and adj_y take the adjoints of the matrices."""
  return matrix.matmul(x, y, adjoint_a=adj_x, adjoint_b=adj_y, name=name)
