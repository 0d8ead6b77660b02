"""TensorArray: a list of tensors that operations write and read one by one."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op, make_op
from leat._graph.conversion import convert
from leat._graph.scope import colocate_with, name_scope
from leat._graph.shape import TensorShape, as_shape
from leat._graph.value import constant_value


@export('TensorArray')
class TensorArray:
  """Each write gives a new TensorArray, whose `flow` says that it comes after the earlier ones."""

  def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None,
               tensor_array_name=None, handle=None, flow=None, infer_shape=True,
               element_shape=None, colocate_with_first_write_call=True, name=None):
    if handle is not None and tensor_array_name:
      raise ValueError('Cannot provide both `handle` and `tensor_array_name` arguments at the same '
                       'time.')
    if handle is not None and not isinstance(handle, _leat.Output):
      raise TypeError('Expected `handle` to be a Tensor, but got %s' % handle)
    if handle is None and size is None:
      raise ValueError('Argument `size` must be provided if handle is not provided.')
    if handle is not None and size is not None:
      raise ValueError('Cannot provide both a `handle` and `size` arguments at the same time.')
    for value, what in ((element_shape, 'element_shape'), (dynamic_size, 'dynamic_size'),
                        (clear_after_read, 'clear_after_read')):
      if handle is not None and value is not None:
        raise ValueError('Cannot provide both `handle` and `%s` arguments at the same time.' % what)
    self._dtype = dtypes.as_dtype(dtype).base_dtype
    self._colocates = colocate_with_first_write_call
    self._infer = infer_shape
    self._shape = [as_shape(element_shape)] if element_shape is not None else [TensorShape(None)]
    self._check = infer_shape or element_shape is not None
    self._dynamic_size = bool(dynamic_size)
    self._size = None  # where it is known and does not change
    with name_scope(name, 'TensorArray', [handle, size, flow]) as scope:
      if handle is not None:
        self._handle = handle
        if flow is None:
          raise ValueError('flow must be provided if handle is provided')
        self._flow = flow
        return
      if not dynamic_size:
        self._size = constant_value(size) if isinstance(size, _leat.Output) else size
      made = apply_op('TensorArrayV3', name=scope, dtype=self._dtype, size=size,
                      element_shape=self._shape[0], identical_element_shapes=infer_shape,
                      dynamic_size=bool(dynamic_size),
                      clear_after_read=True if clear_after_read is None else clear_after_read,
                      tensor_array_name=tensor_array_name or '')
      self._handle, self._flow = made

  handle = property(lambda self: self._handle)
  flow = property(lambda self: self._flow)
  dtype = property(lambda self: self._dtype)
  dynamic_size = property(lambda self: self._dynamic_size)
  op = property(lambda self: self._handle.op)

  @property
  def element_shape(self):
    """The shape of an element as far as it is known."""
    return self._shape[0]

  def _merge(self, shape):
    """Learns the shape of the elements from one of them."""
    if not self._check:
      return
    if not shape.is_compatible_with(self._shape[0]):
      raise ValueError('Inconsistent shapes: saw %s but expected %s (and infer_shape=True)' % (
          shape, self._shape[0]))
    if self._infer:
      self._shape[0] = self._shape[0].merge_with(shape)

  def _next(self, flow):
    made = TensorArray(dtype=self._dtype, handle=self._handle, flow=flow)
    made._shape, made._infer, made._check = self._shape, self._infer, self._check
    made._colocates, made._dynamic_size = self._colocates, self._dynamic_size
    made._size = self._size
    return made

  def mark_used(self):
    """TensorFlow warns of arrays that are written and not used further; this library does not."""

  def identity(self):
    """The same array, after the control dependencies of the place."""
    return self._next(apply_op('Identity', input=self._flow))

  def grad(self, source, flow=None, name=None):
    """The array of the gradients."""
    flow = self._flow if flow is None else flow
    with name_scope(name, 'TensorArrayGrad', [self._handle]):
      with colocate_with(self._handle):
        handle, _ = apply_op('TensorArrayGradV3', name=name, handle=self._handle, source=source,
                             flow_in=flow)
        flow = apply_op('Identity', name='gradient_flow', input=flow)
        made = self._next(flow)
        made._handle = handle
        return made

  def read(self, index, name=None):
    """The element at an index, which a later step of a loop cannot read again where
    clear_after_read is set."""
    value = apply_op('TensorArrayReadV3', name=name, handle=self._handle, index=index,
                     flow_in=self._flow, dtype=self._dtype)
    value.set_shape(self._shape[0])
    return value

  def write(self, index, value, name=None):
    """The array with an element written at an index: what comes after must use the array that is
    returned. Each index is written once."""
    with name_scope(name, 'TensorArrayWrite', [self._handle, index, value]):
      # A value of another type is refused when the step runs.
      value = convert(value, name='value', preferred=self._dtype)
      self._merge(value.get_shape())
      return self._next(apply_op('TensorArrayWriteV3', handle=self._handle, index=index,
                                 value=value, flow_in=self._flow))

  def stack(self, name=None):
    """All elements as one tensor."""
    from leat._ops import math
    with colocate_with(self._handle):
      with name_scope(name, 'TensorArrayStack', [self._handle]):
        value = self.gather(math.range(0, self.size()), name=name)
        if self._size is not None and self._shape[0].ndims is not None:
          value.set_shape(TensorShape([self._size]).concatenate(self._shape[0]))
        return value

  def gather(self, indices, name=None):
    """The elements at indices as one tensor."""
    shape = self._shape[0]
    value = apply_op('TensorArrayGatherV3', name=name, handle=self._handle, indices=indices,
                     flow_in=self._flow, dtype=self._dtype, element_shape=shape)
    if shape.ndims is not None:
      value.set_shape(TensorShape([None]).concatenate(shape))
    return value

  def concat(self, name=None):
    """All elements joined along their first dimension."""
    shape = self._shape[0]
    rest = shape[1:] if shape.ndims is not None else TensorShape(None)
    value = apply_op('TensorArrayConcatV3', name=name, handle=self._handle, flow_in=self._flow,
                     dtype=self._dtype, element_shape_except0=rest)
    if shape.ndims is not None:
      value.value.set_shape(TensorShape([None]).concatenate(rest))
    return value.value

  def unstack(self, value, name=None):
    """The slices of the first dimension as the elements."""
    from leat._ops import array, math
    with name_scope(name, 'TensorArrayUnstack', [self._handle, value]):
      value = convert(value, self._dtype, 'value')
      return self.scatter(math.range(0, array.shape(value)[0]), value, name=name)

  def scatter(self, indices, value, name=None):
    """Writes slices at indices."""
    with name_scope(name, 'TensorArrayScatter', [self._handle, value, indices]):
      value = convert(value, self._dtype, 'value')
      if value.get_shape().ndims is not None:
        self._merge(value.get_shape()[1:])
      return self._next(apply_op('TensorArrayScatterV3', handle=self._handle, indices=indices,
                                 value=value, flow_in=self._flow))

  def split(self, value, lengths, name=None):
    """Pieces of the first dimension of those lengths as the elements."""
    with name_scope(name, 'TensorArraySplit', [self._handle, value, lengths]):
      value = convert(value, self._dtype, 'value')
      lengths = convert(lengths)
      lengths = apply_op('Cast', x=lengths, DstT=dtypes.int64) if lengths.dtype != dtypes.int64 \
          else lengths
      sizes = constant_value(lengths)
      if sizes is not None and value.get_shape().ndims is not None and \
          len(set(sizes.tolist())) == 1:
        self._merge(TensorShape([int(sizes[0])]).concatenate(value.get_shape()[1:]))
      return self._next(apply_op('TensorArraySplitV3', handle=self._handle, value=value,
                                 lengths=lengths, flow_in=self._flow))

  def size(self, name=None):
    """How many elements there are."""
    return apply_op('TensorArraySizeV3', name=name, handle=self._handle, flow_in=self._flow)

  def close(self, name=None):
    """Frees the elements."""
    return make_op('TensorArrayCloseV3', name=name, handle=self._handle)
