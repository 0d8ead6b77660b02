"""Reductions of ragged tensors: reduce_sum, ..., and segment_sum, ... of rows.

A reduction along the first dimension joins what stands at the same place in different rows, one
along the second what stands in the same row: both are reductions of segments of the values. Along
a further dimension it is the same for the values.
"""
from __future__ import annotations

from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.value import constant_value
from leat._ops import array, math
from leat._ops.ragged import elementwise, join, rows
from leat._ops.ragged.dense import coordinates
from leat._ops.ragged.tensor import (RaggedTensor, as_ragged, positive_axis, same_splits_dtype)

RAGGED = {
    'reduce_sum': 'reduce_sum', 'math.reduce_sum': 'reduce_sum', 'reduce_prod': 'reduce_prod',
    'math.reduce_prod': 'reduce_prod', 'reduce_min': 'reduce_min', 'math.reduce_min': 'reduce_min',
    'reduce_max': 'reduce_max', 'math.reduce_max': 'reduce_max', 'reduce_mean': 'reduce_mean',
    'math.reduce_mean': 'reduce_mean', 'reduce_all': 'reduce_all', 'math.reduce_all': 'reduce_all',
    'reduce_any': 'reduce_any', 'math.reduce_any': 'reduce_any',
    'unsorted_segment_sum': 'segment_sum', 'math.unsorted_segment_sum': 'segment_sum',
    'unsorted_segment_prod': 'segment_prod', 'math.unsorted_segment_prod': 'segment_prod',
    'unsorted_segment_min': 'segment_min', 'math.unsorted_segment_min': 'segment_min',
    'unsorted_segment_max': 'segment_max', 'math.unsorted_segment_max': 'segment_max',
    'unsorted_segment_mean': 'segment_mean', 'math.unsorted_segment_mean': 'segment_mean',
    'unsorted_segment_sqrt_n': 'segment_sqrt_n', 'math.unsorted_segment_sqrt_n': 'segment_sqrt_n',
    'size': 'size', 'rank': 'rank'}


# ---- Segments -----------------------------------------------------------------------------------


def _segments(op, data, segment_ids, count):
  """The values of each segment joined by the op; of ragged data, place by place in the rows."""
  if isinstance(segment_ids, RaggedTensor):
    if not isinstance(data, RaggedTensor):
      raise ValueError('if segment_ids is ragged, then data must be ragged.')
    splits, = elementwise.same_rows([_outer(data), _outer(segment_ids)])
    with control_dependencies([splits]):
      return _segments(op, data.values, segment_ids.values, count)
  if not isinstance(data, RaggedTensor):
    return apply_op(op, data=data, segment_ids=segment_ids, num_segments=count)
  kind = data.row_splits.dtype.base_dtype
  segment_ids.get_shape().assert_has_rank(1)
  data.shape[:1].assert_is_compatible_with(segment_ids.get_shape())
  lengths = apply_op('UnsortedSegmentMax', data=data.row_lengths(), segment_ids=segment_ids,
                     num_segments=count)
  lengths = apply_op('Maximum', x=lengths, y=constant_of(0, kind))
  splits = rows.of_lengths(lengths)
  known = constant_value(count) if hasattr(count, 'op') else count
  if known is not None:
    splits.set_shape([int(known) + 1])
  ids, places = coordinates(_outer(data))
  target = array.gather(splits, array.gather(segment_ids, ids)) + places
  return RaggedTensor.from_row_splits(_segments(op, data.values, target, splits[-1]), splits,
                                      validate=False)


def _outer(ragged):
  """The rows alone: their values are only counted."""
  values = ragged.values
  if isinstance(values, RaggedTensor):
    values = values.row_starts()
  return RaggedTensor.from_row_splits(values, ragged.row_splits, validate=False)


def _mean(data, segment_ids, count, root=False):
  total = _segments('UnsortedSegmentSum', data, segment_ids, count)
  ones = elementwise.unary(array.ones_like, data) if isinstance(data, RaggedTensor) else \
      array.ones_like(data)
  number = _segments('UnsortedSegmentSum', ones, segment_ids, count)

  def quotient(a, b):
    if root:
      return a / math.sqrt(b if b.dtype.is_floating else math.cast(b, dtypes.float64))
    return a / b
  if isinstance(total, RaggedTensor):
    return total.with_flat_values(quotient(total.flat_values, number.flat_values))
  return quotient(total, number)


def _segment_function(reduction):
  def function(data, segment_ids, num_segments, name=None):
    with name_scope(name, 'RaggedSegment'):
      data, ids = as_ragged(data, name='data'), as_ragged(segment_ids, name='segment_ids')
      data, ids = same_splits_dtype(data, ids)
      if ids.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
        raise ValueError('segment_ids must have dtype int32 or int64.')
      return reduction(data, ids, num_segments)
  return function


def _by(op):
  return lambda data, ids, count: _segments(op, data, ids, count)


_SUM, _PROD = _by('UnsortedSegmentSum'), _by('UnsortedSegmentProd')
_MIN, _MAX = _by('UnsortedSegmentMin'), _by('UnsortedSegmentMax')
segment_sum, segment_prod = _segment_function(_SUM), _segment_function(_PROD)
segment_min, segment_max = _segment_function(_MIN), _segment_function(_MAX)
segment_mean = _segment_function(_mean)
segment_sqrt_n = _segment_function(lambda d, i, n: _mean(d, i, n, True))


# ---- Reductions ---------------------------------------------------------------------------------


def _axes(axis, rank):
  """The axes counted from 0 and in order; None for all."""
  if hasattr(axis, 'op'):
    axis = constant_value(axis)
    if axis is None:
      raise ValueError('axis must be known at graph construction time.')
    axis = axis.tolist()
  if axis is None:
    return None
  if not isinstance(axis, (list, tuple)):
    axis = [axis]
  found = sorted(positive_axis(int(a) if hasattr(a, '__index__') else a, rank) for a in axis)
  if len(set(found)) != len(found):
    raise ValueError('axis %s has a dimension twice' % (axis,))
  return found


def _along(segments, whole, value, axis):
  """The reduction along one axis."""
  if not isinstance(value, RaggedTensor):
    return whole(value, axis)
  kind = value.row_splits.dtype.base_dtype
  if axis == 0:
    longest = math.reduce_max(array.concat([constant_of([0], kind), value.row_lengths()], 0))
    _, places = coordinates(_outer(value))
    return segments(value.values, places, longest)
  if axis == 1:
    made = segments(value.values, value.value_rowids(), value.nrows())
    if not isinstance(made, RaggedTensor) and made.get_shape().ndims is not None:
      made.set_shape([rows.static_rows(value.row_splits)] + made.get_shape().as_list()[1:])
    return made
  return value.with_values(_along(segments, whole, value.values, axis - 1))


def _reduced(segments, whole, value, axes, keepdims):
  if axes is None:
    result = whole(value.flat_values, None)
    for _ in range(value.shape.ndims if keepdims else 0):
      result = array.expand_dims(result, 0)
    return result
  for axis in reversed(axes):
    value = _along(segments, whole, value, axis)
  for axis in axes if keepdims else ():
    value = join.expand_dims(value, axis)
  return value


def _reduction(segments, whole, scope, boolean=None):
  def function(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None,
               keep_dims=None):
    keepdims = bool(keep_dims if keepdims is None else keepdims)
    axis = reduction_indices if axis is None else axis
    with name_scope(name, scope):
      value = as_ragged(input_tensor, dtypes.bool if boolean else None, 'rt_input')
      if boolean:
        value = value.with_flat_values(math.cast(value.flat_values, dtypes.int32))
      result = _reduced(segments, whole, value, _axes(axis, value.shape.ndims), keepdims)
      if not boolean:
        return result
      if isinstance(result, RaggedTensor):
        return result.with_flat_values(math.cast(result.flat_values, dtypes.bool))
      return math.cast(result, dtypes.bool)
  return function


reduce_sum = _reduction(_SUM, math.reduce_sum, 'RaggedReduceSum')
reduce_prod = _reduction(_PROD, math.reduce_prod, 'RaggedReduceProd')
reduce_min = _reduction(_MIN, math.reduce_min, 'RaggedReduceMin')
reduce_max = _reduction(_MAX, math.reduce_max, 'RaggedReduceMax')
reduce_all = _reduction(_PROD, math.reduce_prod, 'RaggedReduceAll', True)
reduce_any = _reduction(_SUM, math.reduce_sum, 'RaggedReduceAny', True)


def reduce_mean(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None,
                keep_dims=None):
  """The sum divided by the number of what was added."""
  with name_scope(name, 'RaggedReduceMean'):
    value = as_ragged(input_tensor, name='rt_input')
    options = {'axis': axis, 'keepdims': keepdims, 'reduction_indices': reduction_indices,
               'keep_dims': keep_dims}
    total = reduce_sum(value, **options)
    number = reduce_sum(value.with_flat_values(array.ones_like(value.flat_values)), **options)
    if isinstance(total, RaggedTensor):
      return total.with_flat_values(total.flat_values / number.flat_values)
    return total / number


def size(input, name=None, out_type=dtypes.int32):
  """How many elements there are."""
  return array.size(as_ragged(input).flat_values, name, out_type)


def rank(input, name=None):
  """How many dimensions there are."""
  with name_scope(name, 'RaggedRank'):
    value = as_ragged(input)
    known = value.shape.ndims
    if known is not None:
      return constant_of(known, dtypes.int32)
    return array.rank(value.flat_values) + constant_of(value.ragged_rank)
