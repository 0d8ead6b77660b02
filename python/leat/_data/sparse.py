"""Datasets of the rows of sparse tensors, and the slices of elements."""
from __future__ import annotations

from leat._data import element as elements
from leat._data import nest
from leat._data.dataset import Dataset
from leat._data.function import traced
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies
from leat._graph.shape import TensorShape, as_shape
from leat._ops.sparse import SparseTensor


def sparse_slices(sparse_tensor):
  """The rows of a sparse tensor, as their indices, values and shape."""
  if not isinstance(sparse_tensor, SparseTensor):
    raise TypeError('Invalid `sparse_tensor`. `sparse_tensor` must be a `tf.SparseTensor`. Got %s.'
                    % type(sparse_tensor))
  rank = sparse_tensor.dense_shape.get_shape()[0].value
  rank = None if rank is None else rank - 1
  element = (elements.TensorSpec([None, rank], dtypes.int64),
             elements.TensorSpec([None], sparse_tensor.dtype),
             elements.TensorSpec([rank], dtypes.int64))
  return Dataset(apply_op('SparseTensorSliceDataset', indices=sparse_tensor.indices,
                          values=sparse_tensor.values, dense_shape=sparse_tensor.dense_shape),
                 element)


def unbatched(dataset):
  """The slices of the elements along their first dimension; sparse tensors are carried by one row
  of variants for each."""
  flat = nest.flatten(dataset._element)
  for spec in flat:
    if spec.shape.ndims == 0:
      raise ValueError('Cannot unbatch an input with scalar components.')
  sizes = {s.shape[0].value for s in flat if s.shape.ndims} - {None}
  if len(sizes) > 1:
    raise ValueError('Cannot unbatch an input whose components have different batch sizes.')
  element = elements.unbatched(dataset._element)
  if all(isinstance(s, elements.TensorSpec) for s in flat):
    return dataset._made('UnbatchDataset', element)
  carried = _Rows(dataset._element)
  made = traced(carried.of_components, 'unbatch', dataset._element, carried.as_tensors)
  rows = dataset._made('MapDataset', made.element, other_arguments=made.captured, f=made.name)
  return rows._made('UnbatchDataset', element)


class _Rows:
  """Turns components into tensors of which each row carries a slice."""

  def __init__(self, element):
    self._element = element

  def of_components(self, *components):
    value = components if type(self._element) is tuple else components[0]
    return tuple(elements.batched_carriers(self._element, value))

  def as_tensors(self, tensors):
    """(components, specs) of tensors that are taken as they are."""
    specs = tuple(elements.TensorSpec(TensorShape(None), t.dtype) for t in tensors)
    return tensors, specs


@export('data.experimental.dense_to_sparse_batch')
def dense_to_sparse_batch(batch_size, row_shape):
  """For Dataset.apply: batch_size tensors of different sizes as a sparse tensor, with all of their
  values. `row_shape` is the dense shape of each; a size that is None is the largest in the batch.
  A step fails with InvalidArgumentError where a tensor is larger."""
  from leat._ops import array, math
  from leat._ops.control_flow import Assert
  row = as_shape(row_shape)
  sizes = convert([-1 if d is None else d for d in row.as_list()], dtypes.int64)

  def sparse(tensor):
    tensor = array.identity(tensor)
    tensor.set_shape([None] * row.ndims)
    shape = array.shape(tensor, out_type=dtypes.int64)
    fits = math.reduce_all(apply_op('LogicalOr', x=sizes < 0, y=shape <= sizes))
    with control_dependencies([Assert(fits, ['A tensor is larger than `row_shape`:', shape])]):
      dense_shape = array.where(sizes < 0, shape, sizes)
    # Where needs a dimension, which a scalar has not: there is one more, of size 1, for a moment.
    present = apply_op('Fill', dims=array.concat([[1], shape], 0), value=True)
    return SparseTensor(array.where(present)[:, 1:], array.reshape(tensor, [-1]), dense_shape)

  def apply(dataset):
    spec = dataset._element
    if not isinstance(spec, elements.TensorSpec):
      raise TypeError('`dense_to_sparse_batch` requires an input dataset whose elements have a '
                      'single component, a tensor. Got %s.' % (spec,))
    if spec.shape.ndims not in (None, row.ndims):
      raise ValueError('`row_shape` %s must be of the rank of the elements, whose shape is %s.' % (
          row, spec.shape))
    batches = dataset.map(sparse).batch(batch_size)
    return Dataset(batches._variant, elements.SparseTensorSpec(
        TensorShape([None]).concatenate(row), spec.dtype), (dataset,))
  return apply
