"""Clipping: of values and of norms."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import math


@export('clip_by_value')
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
  """The tensor with what is below clip_value_min raised to it, and what is above clip_value_max
  lowered."""
  with name_scope(name, 'clip_by_value', [t, clip_value_min, clip_value_max]) as scope:
    if type(t).__name__ == 'IndexedSlices':
      return type(t)(clip_by_value(t.values, clip_value_min, clip_value_max), t.indices,
                     t.dense_shape)
    t = convert(t, name='t')
    low = apply_op('Minimum', x=t, y=clip_value_max)
    t.get_shape().assert_is_compatible_with(low.get_shape())
    result = apply_op('Maximum', name=scope, x=low, y=clip_value_min)
    t.get_shape().assert_is_compatible_with(result.get_shape())
    return result


@export('clip_by_norm')
def clip_by_norm(t, clip_norm, axes=None, name=None):
  """The tensor, multiplied by clip_norm / norm where its norm is above clip_norm; the norm is over
  `axes`, or all."""
  with name_scope(name, 'clip_by_norm', [t, clip_norm]) as scope:
    slices = type(t).__name__ == 'IndexedSlices'
    values = convert(t.values if slices else t, name='t')
    squares = math.reduce_sum(values * values, axes, keepdims=True)
    positive = squares > 0
    safe = apply_op('Select', condition=positive, t=squares, e=apply_op('OnesLike', x=squares))
    norm = apply_op('Select', condition=positive, t=math.sqrt(safe), e=squares)
    scaled = values * clip_norm
    values.get_shape().assert_is_compatible_with(scaled.get_shape())
    clipped = apply_op('Identity', name=scope,
                       input=scaled / apply_op('Maximum', x=norm, y=clip_norm))
    return type(t)(clipped, t.indices, t.dense_shape) if slices else clipped


@export('clip_by_average_norm')
def clip_by_average_norm(t, clip_norm, name=None):
  """Scaled so that the norm divided by the number of elements is at most clip_norm."""
  from leat._ops import array
  with name_scope(name, 'clip_by_average_norm', [t, clip_norm]) as scope:
    t = convert(t, name='t')
    count = math.cast(array.size(t), dtypes.float32)
    inverse = math.rsqrt(math.reduce_sum(t * t, math.range(array.rank(t)), keepdims=True))
    limit = apply_op('Minimum', x=inverse * count, y=convert(1.0) / clip_norm)
    return apply_op('Identity', name=scope, input=t * clip_norm * limit)


@export('global_norm', 'linalg.global_norm')
def global_norm(t_list, name=None):
  """The root of the sum of all squares."""
  if not isinstance(t_list, (list, tuple)):
    raise TypeError('`t_list` should be a sequence of tensors. Received %s.' % type(t_list))
  with name_scope(name, 'global_norm', [t for t in t_list if isinstance(t, _leat.Output)]):
    halves = []
    for t in t_list:
      if t is not None:
        values = convert(t.values if type(t).__name__ == 'IndexedSlices' else t)
        with _beside(values):
          halves.append(apply_op('L2Loss', t=values))
    from leat._ops import array
    total = math.reduce_sum(array.stack(halves))
    return math.sqrt(total * convert(2.0, total.dtype), name='global_norm')


def _beside(tensor):
  from leat._graph.scope import colocate_with
  return colocate_with(tensor)


@export('clip_by_global_norm')
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
  """(the tensors scaled, the global norm): where the norm of all elements together is above
  clip_norm, each is multiplied by clip_norm / norm. None and IndexedSlices may be among them. It
  keeps the direction of gradients.

  >>> tensors, norm = tf.clip_by_global_norm([tf.constant([3.0]), tf.constant([4.0])], 1.0)
  >>> float(tf.Session().run(norm))
  5.0
  """
  if not isinstance(t_list, (list, tuple)):
    raise TypeError('`t_list` should be a sequence of tensors. Received %s.' % type(t_list))
  norm = global_norm(t_list, name) if use_norm is None else use_norm
  with name_scope(name, 'clip_by_global_norm',
                  [t for t in t_list if isinstance(t, _leat.Output)] + [clip_norm]) as scope:
    one = convert(1.0, norm.dtype)
    scale = clip_norm * apply_op('Minimum', x=1.0 / norm, y=one / clip_norm)
    scale = scale + (norm - norm)  # a norm that is no number shows in what is clipped
    result = []
    for i, t in enumerate(t_list):
      if t is None:
        result.append(None)
        continue
      slices = type(t).__name__ == 'IndexedSlices'
      values = convert(t.values if slices else t)
      with _beside(values):
        clipped = apply_op('Identity', name='%s_%d' % (scope, i),
                           input=values * math.cast(scale, values.dtype.base_dtype))
      result.append(type(t)(clipped, t.indices, t.dense_shape) if slices else clipped)
  return result, norm
