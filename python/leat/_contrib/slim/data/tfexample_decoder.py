"""contrib.slim.tfexample_decoder: what turns an Example into items.

A decoder has features of Examples by key, and for each item a handler, which makes a tensor of the
features that it names in `keys`.
"""
from __future__ import annotations

from leat._contrib.slim.data.providers import DataDecoder
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops import array, control_flow, functional, image_files, math, parsing, sparse


@export('contrib.slim.tfexample_decoder.ItemHandler')
class ItemHandler:
  """The base of handlers: the keys of features that it needs, one or a list, and what makes the
  item of {key: tensor}."""

  def __init__(self, keys):
    self._keys = keys if isinstance(keys, (tuple, list)) else [keys]

  keys = property(lambda self: self._keys)

  def tensors_to_item(self, keys_to_tensors):
    raise NotImplementedError('tensors_to_item of %s' % type(self).__name__)


@export('contrib.slim.tfexample_decoder.ItemHandlerCallback')
class ItemHandlerCallback(ItemHandler):
  """A function of {key: tensor}."""

  def __init__(self, keys, func):
    super().__init__(keys)
    self._func = func

  def tensors_to_item(self, keys_to_tensors):
    return self._func(keys_to_tensors)


@export('contrib.slim.tfexample_decoder.BoundingBox')
class BoundingBox(ItemHandler):
  """Boxes [n, 4] of four features with one number for each box, by default ymin, xmin, ymax, xmax
  with a prefix."""

  def __init__(self, keys=None, prefix=''):
    if keys is None:
      keys = ['ymin', 'xmin', 'ymax', 'xmax']
    elif len(keys) != 4:
      raise ValueError('BoundingBox expects 4 keys but got %d' % len(keys))
    self._prefix = prefix
    self._full_keys = [prefix + k for k in keys]
    super().__init__(self._full_keys)

  def tensors_to_item(self, keys_to_tensors):
    sides = []
    for key in self._full_keys:
      side = keys_to_tensors[key]
      side = side.values if isinstance(side, sparse.SparseTensor) else side
      sides.append(array.expand_dims(side, 0))
    return array.transpose(array.concat(sides, 0))


@export('contrib.slim.tfexample_decoder.Tensor')
class Tensor(ItemHandler):
  """The tensor of a feature, in a shape that is given, or that another feature has (a list of
  features with a size each). A sparse one becomes dense; without a shape it is its values."""

  def __init__(self, tensor_key, shape_keys=None, shape=None, default_value=0):
    if shape_keys and shape is not None:
      raise ValueError('Cannot specify both shape_keys and shape parameters.')
    if shape_keys and not isinstance(shape_keys, list):
      shape_keys = [shape_keys]
    self._tensor_key, self._shape_keys, self._shape = tensor_key, shape_keys, shape
    self._default_value = default_value
    super().__init__([tensor_key] + (shape_keys or []))

  def tensors_to_item(self, keys_to_tensors):
    tensor, shape = keys_to_tensors[self._tensor_key], self._shape
    if self._shape_keys:
      sizes = []
      for key in self._shape_keys:
        size = keys_to_tensors[key]
        sizes.append(sparse.sparse_tensor_to_dense(size) if isinstance(
            size, sparse.SparseTensor) else size)
      shape = array.reshape(array.concat([array.reshape(s, [-1]) for s in sizes], 0), [-1])
    if isinstance(tensor, sparse.SparseTensor):
      if shape is not None:
        tensor = _reshaped(tensor, shape)
      return sparse.sparse_tensor_to_dense(tensor, self._default_value)
    return tensor if shape is None else array.reshape(tensor, shape)


def _reshaped(tensor, shape):
  shape = math.cast(convert(list(shape) if not hasattr(shape, 'op') else shape), dtypes.int64)
  indices, sizes = apply_op('SparseReshape', input_indices=tensor.indices,
                            input_shape=tensor.dense_shape, new_shape=shape)
  return sparse.SparseTensor(indices, tensor.values, sizes)


@export('contrib.slim.tfexample_decoder.LookupTensor')
class LookupTensor(Tensor):
  """A tensor whose elements are looked up in a table of contrib.lookup."""

  def __init__(self, tensor_key, table, shape_keys=None, shape=None, default_value=''):
    self._table = table
    super().__init__(tensor_key, shape_keys, shape, default_value)

  def tensors_to_item(self, keys_to_tensors):
    return self._table.lookup(super().tensors_to_item(keys_to_tensors))


@export('contrib.slim.tfexample_decoder.BackupHandler')
class BackupHandler(ItemHandler):
  """The item of one handler, or that of another where it is empty. Both must be of one type."""

  def __init__(self, handler, backup):
    for what in (handler, backup):
      if not isinstance(what, ItemHandler):
        raise ValueError('handler and backup must be ItemHandlers: %r' % (what,))
    self._handler, self._backup = handler, backup
    super().__init__(list(handler.keys) + list(backup.keys))

  def tensors_to_item(self, keys_to_tensors):
    item = self._handler.tensors_to_item(keys_to_tensors)
    return control_flow.cond(math.equal(math.reduce_prod(array.shape(item)), 0),
                             lambda: self._backup.tensors_to_item(keys_to_tensors), lambda: item)


@export('contrib.slim.tfexample_decoder.SparseTensor')
class SparseTensor(ItemHandler):
  """A SparseTensor of features with its indices and values, and one with its shape or a shape that
  is given; a dense tensor if `densify`."""

  def __init__(self, indices_key=None, values_key=None, shape_key=None, shape=None, densify=False,
               default_value=0):
    indices_key, values_key = indices_key or 'indices', values_key or 'values'
    self._indices_key, self._values_key, self._shape_key = indices_key, values_key, shape_key
    self._shape, self._densify, self._default_value = shape, densify, default_value
    super().__init__([indices_key, values_key] + ([shape_key] if shape_key else []))

  def tensors_to_item(self, keys_to_tensors):
    indices = keys_to_tensors[self._indices_key].values
    values = keys_to_tensors[self._values_key].values
    shape = keys_to_tensors[self._shape_key].values if self._shape_key else convert(
        self._shape, dtypes.int64)
    indices = array.reshape(indices, array.stack([-1, array.shape(shape)[0]]))
    values = array.reshape(values, [-1])
    found = sparse.SparseTensor(indices, values, shape)
    return sparse.sparse_tensor_to_dense(found, self._default_value) if self._densify else found


@export('contrib.slim.tfexample_decoder.Image')
class Image(ItemHandler):
  """The image of a feature with its bytes and one with their format, 'image/encoded' and
  'image/format' by default.

  A format of 'raw' or 'RAW' has the elements themselves, of type `dtype`, and needs `shape`. Others
  are found by the bytes (tf.image.decode_image), and cast to the type. With `repeated` the feature
  has any number of images of one size."""

  def __init__(self, image_key=None, format_key=None, shape=None, channels=3, dtype=dtypes.uint8,
               repeated=False, dct_method=''):
    self._image_key = image_key or 'image/encoded'
    self._format_key = format_key or 'image/format'
    self._shape, self._channels, self._repeated = shape, channels, repeated
    self._dtype, self._dct_method = dtypes.as_dtype(dtype), dct_method
    super().__init__([self._image_key, self._format_key])

  def tensors_to_item(self, keys_to_tensors):
    buffers, kind = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
    if self._repeated:
      return functional.map_fn(lambda buffer: self._decode(buffer, kind), buffers,
                               dtype=self._dtype)
    return self._decode(buffers, kind)

  def _decode(self, buffer, kind):
    def jpeg():
      return apply_op('DecodeJpeg', contents=buffer, channels=self._channels or 0,
                      dct_method=self._dct_method)

    def encoded():
      image = control_flow.cond(
          image_files.is_jpeg(buffer), jpeg,
          lambda: image_files.decode_image(buffer, channels=self._channels))
      return math.cast(image, self._dtype)

    def raw():
      return parsing.decode_raw(buffer, out_type=self._dtype)
    is_raw = apply_op('LogicalOr', x=math.equal(kind, 'raw'), y=math.equal(kind, 'RAW'))
    image = control_flow.case([(is_raw, raw)], default=encoded, exclusive=True)
    image.set_shape([None, None, self._channels])
    return image if self._shape is None else array.reshape(image, self._shape)


@export('contrib.slim.tfexample_decoder.TFExampleDecoder')
class TFExampleDecoder(DataDecoder):
  """A decoder of serialized Examples: features by key, and handlers by item."""

  def __init__(self, keys_to_features, items_to_handlers):
    self._keys_to_features, self._items_to_handlers = keys_to_features, items_to_handlers

  def list_items(self):
    """The names of all items."""
    return list(self._items_to_handlers)

  def decode(self, serialized_example, items=None):
    """The tensors of the items, of all where it is None, of a scalar string."""
    example = parsing.parse_single_example(serialized_example, self._keys_to_features)
    for key in self._keys_to_features:
      # What has a shape that is known is brought into it.
      feature = self._keys_to_features[key]
      if isinstance(feature, parsing.FixedLenFeature):
        example[key] = array.reshape(example[key], feature.shape)
    found = []
    for item in items or self._items_to_handlers:
      handler = self._items_to_handlers[item]
      found.append(handler.tensors_to_item({key: example[key] for key in handler.keys}))
    return found
