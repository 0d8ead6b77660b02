"""x[...]: slices of tensors and of variables, and what they are assigned."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.scope import name_scope
from leat._graph.shape import Dimension

newaxis = None
EXPORTS = {'newaxis': 'newaxis'}


def _check_index(index):
  if isinstance(index, (int, Dimension)) or hasattr(index, '__index__'):
    return
  if isinstance(index, _leat.Output) or hasattr(index, '_as_graph_element'):
    if index.dtype.base_dtype in (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.uint16,
                                  dtypes.int32, dtypes.int64, dtypes.uint32, dtypes.uint64):
      return
  raise TypeError('Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar '
                  'tf.int32/tf.int64 tensors are valid indices, got %r' % (index,))


def _parts(key):
  """begin, end, strides and the masks of StridedSlice."""
  if not isinstance(key, (list, tuple)):
    key = (key,)
  begin, end, strides = [], [], []
  masks = dict.fromkeys(('begin_mask', 'end_mask', 'ellipsis_mask', 'new_axis_mask',
                         'shrink_axis_mask'), 0)
  for i, item in enumerate(key):
    bit = 1 << i
    if isinstance(item, slice):
      for part, values, mask in ((item.start, begin, 'begin_mask'), (item.stop, end, 'end_mask')):
        if part is None:
          masks[mask] |= bit
          values.append(0)
        else:
          _check_index(part)
          values.append(part)
      if item.step is not None:
        _check_index(item.step)
      strides.append(1 if item.step is None else item.step)
    elif item is Ellipsis or item is None:
      masks['ellipsis_mask' if item is Ellipsis else 'new_axis_mask'] |= bit
      begin.append(0)
      end.append(0)
      strides.append(1)
    else:
      _check_index(item)
      begin.append(item)
      end.append(item + 1)
      strides.append(1)
      masks['shrink_axis_mask'] |= bit
  return begin, end, strides, masks


def _stack(values, name):
  return conversion.convert([v.value if isinstance(v, Dimension) else v for v in values], None,
                            name)


def index(tensor, key, variable=None):
  """tensor[key]; `variable` is what assign() on the result changes."""
  if getattr(key, 'dtype', None) in (dtypes.bool, dtypes.bool._as_ref) if isinstance(
      key, _leat.Output) else getattr(getattr(key, 'dtype', None), 'kind', None) == 'b':
    from leat._ops import array
    return array.boolean_mask(tensor, key)
  begin, end, strides, masks = _parts(key)
  with name_scope(None, 'strided_slice', [tensor] + begin + end + strides) as scope:
    if begin:
      packed = [_stack(begin, 'stack'), _stack(end, 'stack_1'), _stack(strides, 'stack_2')]
      if any(p.dtype == dtypes.int64 for p in packed):
        packed = [p if p.dtype == dtypes.int64 else apply_op('Cast', x=p, DstT=dtypes.int64)
                  for p in packed]
    else:
      packed = [conversion.constant_of([], dtypes.int32)] * 3
    result = strided_slice(tensor, *packed, name=scope, var=variable, **masks)
  return result


@export('strided_slice')
def strided_slice(input_, begin, end=None, strides=None, begin_mask=0, end_mask=0, ellipsis_mask=0,
                  new_axis_mask=0, shrink_axis_mask=0, var=None, name=None):
  """The part of a tensor that begin, end and strides say, as numpy's slices do."""
  scope = name
  if end is None:
    end = begin
    begin = conversion.constant_of([0])
  if strides is None:
    begin = conversion.convert(begin)
    strides = apply_op('OnesLike', x=begin)
  masks = {'begin_mask': begin_mask, 'end_mask': end_mask, 'ellipsis_mask': ellipsis_mask,
           'new_axis_mask': new_axis_mask, 'shrink_axis_mask': shrink_axis_mask}
  result = apply_op('StridedSlice', name=name, input=input_, begin=begin, end=end, strides=strides,
                    **masks)
  if var is not None:
    def assign(value, name=None):
      """Assigns to the part of the variable."""
      return var._assign_slice(begin, end, strides, value, name or parent + '_assign', masks)
    parent = scope or 'strided_slice'
    result.assign = assign
  return result
