"""Diagonals of matrices: made, read and replaced, the main one or a band of them.

The main diagonal has ops of its own. Diagonal k is k places right of it, or left where k is
negative; a pair is a band, whose diagonals are rows of one array and begin or end with padding as
`align` says.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array

_ALIGN = 'RIGHT_LEFT'


def _is_main(k):
  return isinstance(k, int) and k == 0


@export('matrix_diag', 'linalg.diag')
def matrix_diag(diagonal, name='diag', k=0, num_rows=-1, num_cols=-1, padding_value=0,
                align=_ALIGN):
  """Matrices with the vectors on the diagonals k and padding_value elsewhere. They are the smallest
  that hold the diagonals where num_rows or num_cols is -1."""
  diagonal = convert(diagonal, name='diagonal')
  if _is_main(k) and num_rows == num_cols == -1 and padding_value in (0, False):
    return apply_op('MatrixDiag', name=name, diagonal=diagonal)
  return apply_op('MatrixDiagV3', name=name, diagonal=diagonal, k=k, num_rows=num_rows,
                  num_cols=num_cols, align=align,
                  padding_value=convert(padding_value, diagonal.dtype.base_dtype))


@export('matrix_diag_part', 'linalg.diag_part')
def matrix_diag_part(input, name='diag_part', k=0, padding_value=0, align=_ALIGN):
  """The diagonals k of matrices; those of a band have one length, filled with padding_value."""
  input = convert(input, name='input')
  if _is_main(k):
    return apply_op('MatrixDiagPart', name=name, input=input)
  return apply_op('MatrixDiagPartV3', name=name, input=input, k=k,
                  padding_value=convert(padding_value, input.dtype.base_dtype), align=align)


@export('matrix_set_diag', 'linalg.set_diag')
def matrix_set_diag(input, diagonal, name='set_diag', k=0, align=_ALIGN):
  """The matrices with other values on the diagonals k."""
  if _is_main(k):
    return apply_op('MatrixSetDiag', name=name, input=input, diagonal=diagonal)
  return apply_op('MatrixSetDiagV3', name=name, input=input, diagonal=diagonal, k=k, align=align)


@export('diag_part', 'linalg.tensor_diag_part')
def diag_part(input, name=None):
  """The diagonal of a tensor of even rank."""
  return apply_op('DiagPart', name=name, input=input)


@export('eye', 'linalg.eye')
def eye(num_rows, num_columns=None, batch_shape=None, dtype=dtypes.float32, name=None):
  """The identity matrix, for each of batch_shape."""
  with name_scope(name, 'eye', [num_rows, num_columns, batch_shape]):
    columns = num_rows if num_columns is None else num_columns
    static = not any(conversion.is_tensor_like(x) for x in (num_rows, columns))
    diagonal = min(int(num_rows), int(columns)) if static else apply_op(
        'Minimum', x=num_rows, y=columns)
    batch = [] if batch_shape is None else batch_shape
    if isinstance(batch, _leat.Output):
      full = array.concat([batch, [diagonal]], 0)
    else:
      full = list(batch) + [diagonal]
    ones_of = array.ones(full, dtype)
    if num_columns is None:
      return apply_op('MatrixDiag', name='diag', diagonal=ones_of)
    if isinstance(batch, _leat.Output):
      full = array.concat([batch, [num_rows, columns]], 0)
    else:
      full = list(batch) + [num_rows, columns]
    return apply_op('MatrixSetDiag', name='set_diag', input=array.zeros(full, dtype),
                    diagonal=ones_of)
