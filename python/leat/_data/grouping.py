"""Transformations that gather elements by a key, or end with one."""
from __future__ import annotations

from leat._data import element as elements
from leat._data import nest
from leat._data.dataset import Dataset
from leat._data.folding import trace_fold
from leat._data.function import traced
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert

_SCALAR = elements.TensorSpec([], dtypes.int64)


def _scalar(result, name):
  """The specs must be one int64 scalar."""
  if result.element != _SCALAR:
    raise ValueError('`%s` must return a single tf.int64 tensor, a scalar. Got %s.' % (
        name, result.element))


@export('data.experimental.group_by_window')
def group_by_window(key_func, reduce_func, window_size=None, window_size_func=None):
  """For Dataset.apply: elements of one key are gathered; when there are as many as the window's
  size, reduce_func(key, dataset of them) gives the dataset whose elements come out."""
  if (window_size is None) == (window_size_func is None):
    raise ValueError('Either the `window_size` argument or the `window_size_func` argument must be '
                     'specified.')
  if window_size_func is None:
    def window_size_func(unused_key):
      return convert(window_size, dtypes.int64, 'window_size')

  def apply(dataset):
    key = traced(key_func, 'group_by_window', dataset._element)
    _scalar(key, 'key_func')
    size = traced(window_size_func, 'group_by_window', _SCALAR)
    _scalar(size, 'window_size_func')
    group = traced(reduce_func, 'group_by_window',
                   (_SCALAR, elements.DatasetSpec(dataset._element)))
    if not isinstance(group.element, elements.DatasetSpec):
      raise TypeError('`reduce_func` must return a `Dataset` object. Got %s.' % (group.element,))
    return dataset._made(
        'GroupByWindowDataset', group.element.element_spec, key_func=key.name,
        reduce_func=group.name, window_size_func=size.name,
        key_func_other_arguments=key.captured, reduce_func_other_arguments=group.captured,
        window_size_func_other_arguments=size.captured)
  return apply


@export('data.experimental.bucket_by_sequence_length')
def bucket_by_sequence_length(element_length_func, bucket_boundaries, bucket_batch_sizes,
                              padded_shapes=None, padding_values=None,
                              pad_to_bucket_boundary=False, no_padding=False,
                              drop_remainder=False):
  """For Dataset.apply: batches of elements whose lengths lie between the same boundaries, padded
  to the longest, or to the boundary less one."""
  if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
    raise ValueError('`len(bucket_batch_sizes)` must equal `len(bucket_boundaries) + 1` but '
                     '`len(bucket_batch_sizes)=%d` and `len(bucket_boundaries)=%d`.' % (
                         len(bucket_batch_sizes), len(bucket_boundaries)))
  sizes = convert(bucket_batch_sizes, dtypes.int64)
  least = convert([-2 ** 31] + list(bucket_boundaries), dtypes.int32)
  most = convert(list(bucket_boundaries) + [2 ** 31 - 1], dtypes.int32)

  def key_of(*components):
    length = apply_op('Cast', x=element_length_func(*components), DstT='int32')
    inside = apply_op('LogicalAnd', x=apply_op('LessEqual', x=least, y=length),
                      y=apply_op('Less', x=length, y=most))
    return apply_op('ArgMax', input=apply_op('Cast', x=inside, DstT='int32'), dimension=0)

  def size_of(key):
    return apply_op('GatherV2', params=sizes, indices=key, axis=0)

  def batch(key, group):
    size = size_of(key)
    if no_padding:
      return group.batch(size, drop_remainder)
    shapes = group.output_shapes if padded_shapes is None else padded_shapes
    if pad_to_bucket_boundary:
      shapes = _at_boundary(group._element, shapes, key, bucket_boundaries)
    return group.padded_batch(size, shapes, padding_values, drop_remainder)
  return lambda dataset: dataset.apply(group_by_window(key_of, batch, window_size_func=size_of))


def _at_boundary(element, shapes, key, boundaries):
  """The shapes with sizes that are not known as the boundary of the bucket less one. The last
  bucket has none: an element of it fails the step."""
  from leat._graph.scope import control_dependencies
  from leat._graph.shape import as_shape
  from leat._ops.control_flow import Assert
  limits = convert(list(boundaries), dtypes.int64)
  is_bounded = apply_op('Less', x=key, y=convert(len(boundaries), dtypes.int64))
  with control_dependencies([Assert(is_bounded, [convert(
      'When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries).')])]):
    limit = apply_op('GatherV2', params=limits, indices=key, axis=0) - 1

  def bounded(shape):
    return apply_op('Pack', values=[limit if d is None else convert(d, dtypes.int64)
                                    for d in as_shape(shape).as_list()])
  return nest.map_structure_up_to(element, bounded, shapes)


@export('data.experimental.take_while')
def take_while(predicate):
  """For Dataset.apply: the elements before the first for which the function gives False."""
  def apply(dataset):
    made = traced(predicate, 'take_while', dataset._element)
    if not elements.is_compatible(elements.TensorSpec([], dtypes.bool), made.element):
      raise ValueError('`predicate` must return a scalar boolean tensor, got %s.' % (made.element,))
    return dataset._made('TakeWhileDataset', other_arguments=made.captured, predicate=made.name)
  return apply


@export('data.experimental.get_single_element')
def get_single_element(dataset):
  """The components of the only element; the step fails with InvalidArgumentError where there is
  none or more than one."""
  if not isinstance(dataset, Dataset):
    raise TypeError('Invalid `dataset`. Expected a `tf.data.Dataset` object but got %s.' %
                    type(dataset))
  found = apply_op('DatasetToSingleElement', dataset=dataset._variant,
                   **elements.described(dataset._element))
  return elements.value_of(dataset._element, found)


@export('data.experimental.Reducer')
class Reducer:
  """What group_by_reducer does with the elements of one key: init_func(key) gives the first state,
  reduce_func(state, element) the next one, finalize_func(state) an element of the result."""

  def __init__(self, init_func, reduce_func, finalize_func):
    self._functions = init_func, reduce_func, finalize_func

  init_func = property(lambda self: self._functions[0])
  reduce_func = property(lambda self: self._functions[1])
  finalize_func = property(lambda self: self._functions[2])


@export('data.experimental.group_by_reducer')
def group_by_reducer(key_func, reducer):
  """For Dataset.apply: one element for each key, what the reducer makes of its elements, in the
  order of the keys, when the dataset has ended."""
  def apply(dataset):
    where = 'group_by_reducer'
    key = traced(key_func, where, dataset._element)
    _scalar(key, 'key_func')
    first = traced(reducer.init_func, where, _SCALAR)
    step, state = trace_fold(reducer.reduce_func, where, first.element, dataset._element,
                             lambda specs: specs)
    last = traced(reducer.finalize_func, where, state)
    return dataset._made(
        'GroupByReducerDataset', last.element, key_func=key.name, init_func=first.name,
        reduce_func=step.name, finalize_func=last.name, key_func_other_arguments=key.captured,
        init_func_other_arguments=first.captured, reduce_func_other_arguments=step.captured,
        finalize_func_other_arguments=last.captured)
  return apply


@export('data.experimental.unique')
def unique():
  """For Dataset.apply: the elements that are unlike all before them, tensors of int32, int64 or
  string."""
  def apply(dataset):
    spec = dataset._element
    if not isinstance(spec, elements.TensorSpec) or spec.dtype not in (
        dtypes.int32, dtypes.int64, dtypes.string):
      raise TypeError('`unique` is for datasets of one component, a tensor of tf.int32, tf.int64 '
                      'or tf.string. Got %s.' % (spec,))
    return dataset._made('UniqueDataset')
  return apply
