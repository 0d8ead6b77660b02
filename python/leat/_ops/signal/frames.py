"""Signals cut into frames that overlap, and added up again."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import array, math


def _scalar(value, name):
  made = convert(value, dtypes.int32, name)
  made.get_shape().assert_has_rank(0)
  known = constant_value(made)
  return made if known is None else int(known)


@export('signal.frame')
def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
  """Frames of frame_length along a dimension, each frame_step behind the one before: the dimension
  becomes two, [frames, frame_length]. With pad_end there are as many as begin in the signal, which
  is filled up with pad_value; else those that lie in it."""
  with name_scope(name, 'frame', [signal, frame_length, frame_step, pad_value]):
    signal = convert(signal, name='signal')
    length, step = _scalar(frame_length, 'frame_length'), _scalar(frame_step, 'frame_step')
    axis = _scalar(axis, 'axis')
    rank = signal.get_shape().ndims
    if rank is None and axis >= 0 or not isinstance(axis, int):
      raise ValueError('axis must be a constant, and negative where the rank is not known')
    if rank is not None:
      if not -rank <= axis < rank:
        raise ValueError('axis is %d, must be in [%d, %d)' % (axis, -rank, rank))
      axis %= rank
    size = signal.get_shape().as_list()[axis] if rank is not None else None
    outer = signal.get_shape()
    if size is None:
      size = array.shape(signal)[axis]
    count = _count(size, length, step, pad_end)
    if pad_end:
      signal = _filled(signal, axis, size, length, step, count, pad_value)
    starts = math.range(count) * step
    places = array.expand_dims(starts, 1) + array.expand_dims(math.range(length), 0)
    if rank is None:
      axis = array.rank(signal) + axis
    # As three dimensions, those before the axis, the axis and those behind it.
    sizes = array.shape(signal)
    outer_sizes, inner_sizes = sizes[:axis], sizes[axis + 1:]
    flat = array.reshape(signal, array.stack([math.reduce_prod(outer_sizes), sizes[axis],
                                              math.reduce_prod(inner_sizes)]))
    made = array.reshape(apply_op('GatherV2', params=flat, indices=places, axis=1), array.concat(
        [outer_sizes, array.shape(places), inner_sizes], 0))
    if rank is not None:
      sizes = outer.as_list()
      known = [n if isinstance(n, int) else None for n in (count, length)]
      made.set_shape(sizes[:axis] + known + sizes[axis + 1:])
    return made


def _count(size, length, step, pad_end):
  """How many frames there are: a number where all is known, else a tensor."""
  if pad_end:
    return -(-size // step)
  count = 1 + (size - length) // step
  if isinstance(count, int):
    return max(0, count)
  return apply_op('Maximum', x=constant_of(0), y=count)


def _filled(signal, axis, size, length, step, count, value):
  """The signal with values behind it, up to the end of the last frame."""
  behind = length + step * (count - 1) - size
  behind = max(0, behind) if isinstance(behind, int) else apply_op('Maximum', x=constant_of(0),
                                                                   y=behind)
  rank = signal.get_shape().ndims
  if rank is None:
    place = array.rank(signal) + axis
    column = array.one_hot(place, array.rank(signal), dtype=dtypes.int32) * behind
  else:
    column = array.stack([behind if i == axis else 0 for i in range(rank)])
  paddings = array.stack([array.zeros_like(column), column], 1)
  value = convert(value, signal.dtype.base_dtype, 'pad_value')
  return apply_op('PadV2', input=signal, paddings=paddings, constant_values=value)


@export('signal.overlap_and_add')
def overlap_and_add(signal, frame_step, name=None):
  """What frames [..., frames, frame_length] give where each is added frame_step behind the one
  before."""
  with name_scope(name, 'overlap_and_add', [signal, frame_step]):
    signal = convert(signal, name='signal')
    signal.get_shape().with_rank_at_least(2)
    step = convert(frame_step, name='frame_step')
    if not step.dtype.is_integer:
      raise ValueError('frame_step must be an integer. Got %s' % step.dtype)
    if step.get_shape().ndims not in (None, 0):
      raise ValueError('frame_step must be a scalar. Got shape %s' % step.get_shape())
    step = math.cast(step, dtypes.int32)
    known_step = constant_value(step)
    sizes = array.shape(signal)
    frames, length = sizes[-2], sizes[-1]
    total = (frames - 1) * step + length
    places = array.expand_dims(math.range(frames) * step, 1) + array.expand_dims(
        math.range(length), 0)
    flat = array.reshape(signal, array.stack([-1, frames * length]))
    made = apply_op('UnsortedSegmentSum', data=array.transpose(flat), segment_ids=array.reshape(
        places, [-1]), num_segments=total)
    made = array.reshape(array.transpose(made), array.concat(
        [sizes[:-2], array.expand_dims(total, 0)], 0))
    if signal.get_shape().ndims is not None:
      shape = signal.get_shape().as_list()
      last = None
      if known_step is not None and None not in shape[-2:]:
        last = (shape[-2] - 1) * int(known_step) + shape[-1]
      made.set_shape(shape[:-2] + [last])
    return made
