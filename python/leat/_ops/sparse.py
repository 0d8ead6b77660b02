"""SparseTensor and IndexedSlices: several tensors that stand for one value."""
from __future__ import annotations

import collections

from leat import _leat
from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph import value as values_module
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._session import fetch as fetches

SparseTensorValue = collections.namedtuple('SparseTensorValue', 'indices values dense_shape')
IndexedSlicesValue = collections.namedtuple('IndexedSlicesValue',
                                            ['values', 'indices', 'dense_shape'])
EXPORTS = {'SparseTensorValue': 'SparseTensorValue',
           'compat.v1.SparseTensorValue': 'SparseTensorValue',
           'IndexedSlicesValue': 'IndexedSlicesValue'}


@export('SparseTensor', 'sparse.SparseTensor')
class SparseTensor:
  """A tensor of which only some elements are held: values [n] at indices [n, rank] int64, in a
  shape dense_shape [rank] int64; all others are 0 or empty. Most functions of tf.sparse ask for
  indices in the order of rows."""
  _is_composite = True

  @classmethod
  def from_value(cls, sparse_tensor_value):
    """The SparseTensor of a SparseTensorValue; a SparseTensor is given back. TypeError for anything
    else."""
    if not isinstance(sparse_tensor_value, (SparseTensor, SparseTensorValue)):
      raise TypeError('Neither a SparseTensor nor SparseTensorValue: %s.' % (sparse_tensor_value,))
    return SparseTensor(*[getattr(sparse_tensor_value, n)
                          for n in ('indices', 'values', 'dense_shape')])

  def __init__(self, indices, values, dense_shape=None, shape=None):
    dense_shape = shape if dense_shape is None else dense_shape
    with name_scope(None, 'SparseTensor', [indices, values, dense_shape]):
      self._indices = convert(indices, dtypes.int64, 'indices')
      self._values = convert(values, name='values')
      self._dense_shape = convert(dense_shape, dtypes.int64, 'dense_shape')
    rows = self._indices.get_shape().with_rank(2)
    self._values.get_shape().with_rank(1)
    sizes = self._dense_shape.get_shape().with_rank(1)
    rows[0].merge_with(self._values.get_shape().with_rank(1)[0])
    rows[1].merge_with(sizes.with_rank(1)[0])

  indices = property(lambda self: self._indices)
  values = property(lambda self: self._values)
  dense_shape = property(lambda self: self._dense_shape)
  op = property(lambda self: self._values.op)
  dtype = property(lambda self: self._values.dtype)
  graph = property(lambda self: self._indices.graph)
  _graph_element = property(lambda self: self._values)

  def get_shape(self):
    """The TensorShape as far as it is known while the graph is built."""
    return values_module.constant_shape(self._dense_shape)

  shape = property(get_shape)

  def _map(self, function):
    return SparseTensor(function(self._indices), function(self._values),
                        function(self._dense_shape))

  def eval(self, feed_dict=None, session=None):
    """The SparseTensorValue, computed in `session` or the default one."""
    from leat._session import session as sessions
    return sessions.of_run(session, self.graph, 'eval').run(self, feed_dict)

  def __str__(self):
    return 'SparseTensor(indices=%s, values=%s, dense_shape=%s)' % (
        self._indices, self._values, self._dense_shape)

  __repr__ = __str__

  @staticmethod
  def _override_operator(operator, function):
    setattr(SparseTensor, operator, function)

  def __mul__(self, y):
    return self._with_dense('SparseDenseCwiseMul', 'mul', y)

  def __truediv__(self, y):
    if self.dtype.is_integer:
      from leat._ops import math
      wide = dtypes.float64 if self.dtype.size > 2 else dtypes.float32
      return math.cast(self, wide)._with_dense('SparseDenseCwiseDiv', 'truediv', math.cast(y, wide))
    return self._with_dense('SparseDenseCwiseDiv', 'truediv', y)

  def __div__(self, y):
    return self._with_dense('SparseDenseCwiseDiv', 'div', y)

  def _with_dense(self, op, name, y):
    with name_scope(None, name, [self._indices, self._values, self._dense_shape, y]) as scope:
      y = convert(y, self.dtype.base_dtype, 'y')
      made = apply_op(op, name=scope, sp_indices=self._indices, sp_values=self._values,
                      sp_shape=self._dense_shape, dense=y)
      return SparseTensor(self._indices, made, self._dense_shape)


def dense_times_sparse(x, y, name):
  made = apply_op('SparseDenseCwiseMul', name=name, sp_indices=y.indices, sp_values=y.values,
                  sp_shape=y.dense_shape, dense=x)
  return SparseTensor(y.indices, made, y.dense_shape)


@export('IndexedSlices')
class IndexedSlices:
  """Slices of a tensor of the shape dense_shape: values[i] stands at indices[i] of the first
  dimension, and slices at the same place add up. It is the gradient of tf.gather."""

  def __init__(self, values, indices, dense_shape=None):
    self._values, self._indices, self._dense_shape = values, indices, dense_shape

  values = property(lambda self: self._values)
  indices = property(lambda self: self._indices)
  dense_shape = property(lambda self: self._dense_shape)
  name = property(lambda self: self._values.name)
  device = property(lambda self: self._values.device)
  op = property(lambda self: self._values.op)
  dtype = property(lambda self: self._values.dtype)
  graph = property(lambda self: self._values.graph)
  _graph_element = property(lambda self: self._values)
  _as_graph_element_of_control = _graph_element

  @property
  def shape(self):
    """The TensorShape of the tensor that they are slices of, as far as it is known."""
    return TensorShape(None) if self._dense_shape is None else \
        values_module.constant_shape(self._dense_shape)

  def _map(self, function):
    return IndexedSlices(function(self._values), function(self._indices), self._dense_shape)

  def __neg__(self):
    return IndexedSlices(-self._values, self._indices, self._dense_shape)

  def __str__(self):
    return 'IndexedSlices(indices=%s, values=%s%s)' % (
        self._indices, self._values,
        '' if self._dense_shape is None else ', dense_shape=%s' % self._dense_shape)


def _of_slices(value, dtype=None, name=None, as_ref=False):
  """IndexedSlices as a dense tensor."""
  del as_ref
  if dtype and not dtype.is_compatible_with(value.dtype):
    raise ValueError('Tensor conversion requested dtype %s for IndexedSlices with dtype %s' %
                     (dtype.name, value.dtype.name))
  if value.dense_shape is None:
    raise ValueError('Tensor conversion requested for IndexedSlices without dense_shape: %s' %
                     value)
  return apply_op('UnsortedSegmentSum', name=name, data=value.values, segment_ids=value.indices,
                  num_segments=value.dense_shape[0])


conversion.register_tensor_conversion_function(IndexedSlices, _of_slices)
fetches.conversions += [
    (SparseTensor, lambda f: ([f.indices, f.values, f.dense_shape],
                              lambda v: SparseTensorValue(*v))),
    (IndexedSlices, lambda f: ([f.values, f.indices] + (
        [] if f.dense_shape is None else [f.dense_shape]),
                               lambda v: IndexedSlicesValue(*(v if len(v) == 3 else v + [None]))))]
fetches.feed_conversions += [
    (SparseTensor, lambda feed, v: list(zip(
        [feed.indices, feed.values, feed.dense_shape], v if v is not None else [None] * 3))),
    (IndexedSlices, lambda feed, v: list(zip(
        [feed.values, feed.indices] + ([] if feed.dense_shape is None else [feed.dense_shape]),
        v if v is not None else [None] * 3)))]


@export('convert_to_tensor_or_sparse_tensor')
def convert_to_tensor_or_sparse_tensor(value, dtype=None, name=None):
  """A tensor, or the sparse tensor that value is."""
  if isinstance(value, SparseTensorValue):
    value = SparseTensor.from_value(value)
  if isinstance(value, SparseTensor):
    if dtype and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
      raise RuntimeError('Sparse dtype mismatch. Requested: %s,  Actual: %s' % (
          dtypes.as_dtype(dtype).name, value.dtype.name))
    return value
  return convert(value, dtype, name)


@export('sparse_placeholder', 'sparse.placeholder')
def sparse_placeholder(dtype, shape=None, name=None):
  """A SparseTensor that must be fed: with a SparseTensorValue, or a tuple (indices, values, shape).
  """
  from leat._ops import array
  if name is None:
    suffixes = (None, None, None)
  else:
    suffixes = (name + '/shape', name + '/values', name + '/indices')
  rank = None
  if shape is not None and not isinstance(shape, _leat.Output):
    known = TensorShape(shape)
    rank = known.ndims
    shape = conversion.constant_of(known.as_list(), dtypes.int64) \
        if known.is_fully_defined() else None
  if shape is None:
    shape = array.placeholder(dtypes.int64, [rank], suffixes[0])
  return SparseTensor(values=array.placeholder(dtype, [None], suffixes[1]),
                      indices=array.placeholder(dtypes.int64, [None, rank], suffixes[2]),
                      dense_shape=shape)


@export('sparse_tensor_to_dense', 'sparse.to_dense')
def sparse_tensor_to_dense(sp_input, default_value=None, validate_indices=True, name=None):
  """The dense tensor, default_value where nothing is."""
  if default_value is None:
    default_value = '' if sp_input.dtype == dtypes.string else False \
        if sp_input.dtype == dtypes.bool else 0
  return apply_op('SparseToDense', name=name, sparse_indices=sp_input.indices,
                  output_shape=sp_input.dense_shape, sparse_values=sp_input.values,
                  default_value=convert(default_value, sp_input.dtype),
                  validate_indices=validate_indices)


@export('sparse_to_dense')
def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0,
                    validate_indices=True, name=None):
  """The same of its parts."""
  return apply_op('SparseToDense', name=name, sparse_indices=sparse_indices,
                  output_shape=output_shape, sparse_values=sparse_values,
                  default_value=default_value, validate_indices=validate_indices)


@export('sparse_tensor_dense_matmul', 'sparse.sparse_dense_matmul', 'sparse.matmul')
def sparse_tensor_dense_matmul(sp_a, b, adjoint_a=False, adjoint_b=False, name=None):
  """The product of a SparseTensor [n, k] and a tensor [k, m], each transposed and conjugated first
  where it is asked for: [n, m]."""
  with name_scope(name, 'SparseTensorDenseMatMul', [sp_a.indices, sp_a.values, b]) as scope:
    return apply_op('SparseTensorDenseMatMul', name=scope, a_indices=sp_a.indices,
                    a_values=sp_a.values, a_shape=sp_a.dense_shape, b=convert(b, name='b'),
                    adjoint_a=adjoint_a, adjoint_b=adjoint_b)


@export('sparse_reorder', 'sparse.reorder')
def sparse_reorder(sp_input, name=None):
  """In the order of the indices."""
  indices, values = apply_op('SparseReorder', name=name, input_indices=sp_input.indices,
                             input_values=sp_input.values, input_shape=sp_input.dense_shape)
  return SparseTensor(indices, values, apply_op('Identity', input=sp_input.dense_shape))


@export('sparse_mask', 'sparse.mask')
def sparse_mask(a, mask_indices, name=None):
  """IndexedSlices without the slices at mask_indices."""
  from leat._ops import array
  with name_scope(name, 'sparse_mask', [a.values, mask_indices]) as scope:
    kept, places = array.setdiff1d(a.indices, mask_indices)
    return IndexedSlices(array.gather(a.values, places, name=scope), kept, a.dense_shape)
