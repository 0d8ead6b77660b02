"""Sums and means of rows by segment, where the rows are chosen by their indices."""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op


def _segment(op, data, indices, segment_ids, name, num_segments):
  values = dict(data=data, indices=indices, segment_ids=segment_ids)
  if num_segments is not None:
    op, values['num_segments'] = op + 'WithNumSegments', num_segments
  return apply_op(op, name=name, **values)


@export('sparse_segment_sum', 'sparse.segment_sum')
def sparse_segment_sum(data, indices, segment_ids, name=None, num_segments=None):
  """Row i of the result is the sum of the rows data[indices[j]] for which segment_ids[j] is i.

  segment_ids are sorted. There are as many rows as the last of them says, or num_segments.
  """
  return _segment('SparseSegmentSum', data, indices, segment_ids, name, num_segments)


@export('sparse_segment_mean', 'sparse.segment_mean')
def sparse_segment_mean(data, indices, segment_ids, name=None, num_segments=None):
  """The same with means."""
  return _segment('SparseSegmentMean', data, indices, segment_ids, name, num_segments)


@export('sparse_segment_sqrt_n', 'sparse.segment_sqrt_n')
def sparse_segment_sqrt_n(data, indices, segment_ids, name=None, num_segments=None):
  """The same with sums divided by the square root of their number of rows."""
  return _segment('SparseSegmentSqrtN', data, indices, segment_ids, name, num_segments)
