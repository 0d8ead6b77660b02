"""Arrays: placeholders, shapes, joining and cutting, gathering."""
from __future__ import annotations

from builtins import range as builtins_range

from leat import _leat
from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.arguments import either
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.shape import Dimension, TensorShape, as_shape
from leat._graph.value import constant_value


@export('placeholder')
def placeholder(dtype=dtypes.float32, shape=None, name=None):
  """A tensor whose value is given at each step: `sess.run(y, feed_dict={x: value})`. A step that
  needs it and does not feed it fails with InvalidArgumentError.

  Sizes of `shape` that are None can differ from step to step; without a shape all is open. Without
  a type it is float32, as in figure 1 of the white paper.

  >>> x = tf.placeholder(tf.float32, [None, 2], name='x')
  >>> x
  <tf.Tensor 'x:0' shape=(?, 2) dtype=float32>
  """
  return apply_op('Placeholder', name=name, dtype=dtype, shape=as_shape(shape))


@export('placeholder_with_default')
def placeholder_with_default(input, shape, name=None):
  """A tensor that can be fed as a placeholder can; where it is not, it is `input`, which must fit
  the shape."""
  return apply_op('PlaceholderWithDefault', name=name, input=input, shape=as_shape(shape))


@export('identity')
def identity(input, name=None):
  """A new tensor of the same value. Added in `with tf.control_dependencies(...)` it is the value
  after these have run; of a variable it is the value when it is read."""
  if getattr(input, '_is_composite', False):
    return input._map(lambda t: apply_op('Identity', name=name, input=t))
  return apply_op('Identity', name=name, input=input)


@export('stop_gradient')
def stop_gradient(input, name=None):
  """The same value, which tf.gradients takes as a constant."""
  return apply_op('StopGradient', name=name, input=input)


# ---- Shapes -------------------------------------------------------------------------------------


def _is_sparse(value):
  """Whether it is a SparseTensor, or the value of one."""
  return getattr(value, '_is_composite', False) or hasattr(value, 'dense_shape') and hasattr(
      value, 'indices')


@export('shape')
def shape(input, name=None, out_type=dtypes.int32):
  """The sizes as a tensor [rank] of out_type, int32 or int64: of a step where they are not known
  before, else a constant. Tensor.shape is what is known while the graph is built."""
  with name_scope(name, 'Shape', [input]) as scope:
    if _is_sparse(input):
      from leat._ops import math
      return math.cast(input.dense_shape, out_type)
    input = convert(input)
    known = input.get_shape()
    if known.is_fully_defined():
      return conversion.constant_of(known.as_list(), dtypes.as_dtype(out_type), name=scope)
    return apply_op('Shape', name=scope, input=input, out_type=out_type)


@export('shape_n')
def shape_n(input, out_type=dtypes.int32, name=None):
  """The sizes of each."""
  return apply_op('ShapeN', name=name, input=input, out_type=out_type)


@export('size')
def size(input, name=None, out_type=dtypes.int32):
  """How many elements a tensor has, a scalar of out_type."""
  with name_scope(name, 'Size', [input]) as scope:
    if _is_sparse(input):
      from leat._ops import math
      return math.reduce_prod(math.cast(input.dense_shape, out_type), 0, name=scope)
    input = convert(input)
    count = input.get_shape().num_elements()
    if count is not None:
      return conversion.constant_of(count, dtypes.as_dtype(out_type), name=scope)
    return apply_op('Size', name=scope, input=input, out_type=out_type)


@export('rank')
def rank(input, name=None):
  """How many dimensions there are."""
  with name_scope(name, 'Rank', [input]) as scope:
    if _is_sparse(input):
      return size(input.dense_shape, name=scope)
    input = convert(input)
    if input.shape_ is not None:
      return conversion.constant_of(len(input.shape_), dtypes.int32, name=scope)
    return apply_op('Rank', name=scope, input=input)


@export('reshape', 'manip.reshape')
def reshape(tensor, shape, name=None):
  """The same elements in another shape, in the order of rows. One size may be -1: it follows from
  the others. ValueError, or InvalidArgumentError in a step, where the numbers of elements differ.

  >>> tf.reshape(tf.zeros([2, 6]), [3, -1]).shape
  TensorShape([Dimension(3), Dimension(4)])
  """
  return apply_op('Reshape', name=name, tensor=tensor, shape=shape)


@export('expand_dims')
def expand_dims(input, axis=None, name=None, dim=None):
  """The tensor with one more dimension, of size 1, at the place `axis`: 0 is before the first, -1
  behind the last. `dim` is an older name of axis."""
  if dim is not None:
    if axis is not None:
      raise ValueError("Cannot specify both 'axis' and 'dim'.")
    axis = dim
  if axis is None:
    raise ValueError('Must specify an axis argument to tf.expand_dims()')
  return apply_op('ExpandDims', name=name, input=input, dim=axis)


@export('squeeze')
def squeeze(input, axis=None, name=None, squeeze_dims=None):
  """The tensor without its dimensions of size 1, or those in `axis`, which must be of size 1."""
  axis = either('axis', axis, 'squeeze_dims', squeeze_dims)
  if axis is None:
    axis = []
  if isinstance(axis, int):
    axis = [axis]
  return apply_op('Squeeze', name=name, input=input, squeeze_dims=axis)


@export('transpose')
def transpose(a, perm=None, name='transpose', conjugate=False):
  """The dimensions in another order: dimension i of the result is perm[i] of `a`; without `perm`
  the order is reversed. With `conjugate` complex numbers are conjugated too."""
  with name_scope(name, 'transpose', [a]) as scope:
    op = 'ConjugateTranspose' if conjugate and convert(a).dtype.is_complex else 'Transpose'
    if perm is None:
      a = convert(a, name='a')
      if a.shape_ is not None:
        perm = list(builtins_range(len(a.shape_)))[::-1]
        perm = conversion.constant_of(perm, dtypes.int32, 'perm')
      else:
        from leat._ops import math
        r = rank(a)
        perm = (r - 1) - math.range(0, r, 1)
    return apply_op(op, name=scope, x=a, perm=perm)


@export('matrix_transpose', 'linalg.matrix_transpose', 'linalg.transpose')
def matrix_transpose(a, name='matrix_transpose', conjugate=False):
  """The last two dimensions exchanged."""
  with name_scope(name, values=[a]):
    a = convert(a, name='a')
    if a.shape_ is not None:
      n = len(a.shape_)
      if n < 2:
        raise ValueError("Argument 'a' should be a (batch) matrix, with rank >= 2. Found: %s" %
                         a.get_shape())
      return transpose(a, list(builtins_range(n - 2)) + [n - 1, n - 2], conjugate=conjugate)
    from leat._ops import math
    r = rank(a)
    perm = concat([math.range(r - 2), [r - 1, r - 2]], 0)
    return transpose(a, perm, conjugate=conjugate)


@export('broadcast_static_shape')
def broadcast_static_shape(shape_x, shape_y):
  """The shape of what two shapes are broadcast to, as far as it is known."""
  x, y = as_shape(shape_x), as_shape(shape_y)
  if x.ndims is None or y.ndims is None:
    return TensorShape(None)
  a, b = x.as_list(), y.as_list()
  n = max(len(a), len(b))
  a, b = [1] * (n - len(a)) + a, [1] * (n - len(b)) + b
  result = []
  for p, q in zip(a, b):
    if p is None and q is None:
      result.append(None)
    elif p is None or q is None:
      known = q if p is None else p
      result.append(known if known > 1 else None)
    elif p == q or q == 1:
      result.append(p)
    elif p == 1:
      result.append(q)
    else:
      raise ValueError('Incompatible shapes for broadcasting: %s and %s' % (shape_x, shape_y))
  return TensorShape(result)


@export('broadcast_dynamic_shape')
def broadcast_dynamic_shape(shape_x, shape_y):
  """The same of tensors of sizes."""
  return apply_op('BroadcastArgs', s0=shape_x, s1=shape_y)


# ---- Filled -------------------------------------------------------------------------------------


def _shape_tensor(shape, name):
  """A shape as a tensor of int32, or of int64 where sizes need it."""
  if isinstance(shape, _leat.Output):
    return shape
  if isinstance(shape, (TensorShape, Dimension)) or not isinstance(shape, (list, tuple)):
    return convert(shape, None if isinstance(shape, (TensorShape, Dimension)) or hasattr(
        shape, 'dtype') else dtypes.int32, name)
  shape = [d.value if isinstance(d, Dimension) else d for d in shape]
  if any(conversion.is_tensor_like(d) or isinstance(d, (list, tuple)) for d in shape):
    return convert(shape, None, name)
  if any(isinstance(d, (list, tuple)) for d in shape):
    raise ValueError('%s is %s, must be a list of sizes.' % (name, shape))
  return convert(shape, dtypes.int32 if not shape or max(map(int, shape)) < 2 ** 31 else
                 dtypes.int64, name)


def _filled(value_of, name_default, note):
  def function(shape, dtype=dtypes.float32, name=None):
    dtype = dtypes.as_dtype(dtype).base_dtype
    with name_scope(name, name_default, [shape]) as scope:
      value = value_of(dtype)
      if not isinstance(shape, _leat.Output):
        try:
          sizes = as_shape(shape)
          if sizes.is_fully_defined() and sizes.num_elements() < 1000:
            return conversion.constant_of(value, dtype, name=scope, shape=sizes)
        except (TypeError, ValueError):
          pass
      made = _shape_tensor(shape, 'shape_as_tensor')
      if made.shape_ is not None and len(made.shape_) != 1:
        made = reshape(made, [-1])
      return apply_op('Fill', name=scope, dims=made,
                      value=conversion.constant_of(value, dtype, name='Const'))
  function.__doc__ = note
  return function


def _zero(dtype):
  return False if dtype == dtypes.bool else '' if dtype == dtypes.string else 0


zeros = _filled(_zero, 'zeros', """A tensor of zeros; of bools it is False, of strings ''.

  `shape` is a list of sizes or a tensor of them.

  >>> tf.Session().run(tf.zeros([2, 3], tf.int32))
  array([[0, 0, 0],
         [0, 0, 0]], dtype=int32)
  """)
ones = _filled(lambda dtype: True if dtype == dtypes.bool else 1, 'ones',
               """A tensor of ones; of bools it is True. `shape` is a list of sizes or a tensor.""")
EXPORTS = {'zeros': 'zeros', 'ones': 'ones'}


@export('zeros_like')
def zeros_like(tensor, dtype=None, name=None, optimize=True):
  """Zeros in the shape, and without `dtype` the type, of a tensor."""
  with name_scope(name, 'zeros_like', [tensor]) as scope:
    tensor = convert(tensor, name='tensor')
    dtype = tensor.dtype.base_dtype if dtype is None else dtypes.as_dtype(dtype).base_dtype
    if optimize and tensor.get_shape().is_fully_defined() and tensor.dtype != dtypes.variant:
      return zeros(tensor.get_shape(), dtype, scope)
    if dtype != tensor.dtype.base_dtype and dtype != dtypes.variant:
      return zeros(shape(tensor), dtype, scope)
    return apply_op('ZerosLike', name=scope, x=tensor)


@export('ones_like')
def ones_like(tensor, dtype=None, name=None, optimize=True):
  """Ones in the shape, and without `dtype` the type, of a tensor."""
  with name_scope(name, 'ones_like', [tensor]) as scope:
    tensor = convert(tensor, name='tensor')
    if dtype is None:
      dtype = tensor.dtype.base_dtype
    if optimize and tensor.get_shape().is_fully_defined():
      with name_scope('Shape'):
        sizes = _shape_tensor(tensor.get_shape(), 'shape_as_tensor')
    else:
      sizes = apply_op('Shape', name='Shape', input=tensor)
    result = ones(sizes, dtype, scope)
    result.set_shape(tensor.get_shape())
    return result


@export('fill')
def fill(dims, value, name=None):
  """A tensor of the shape `dims`, a list or tensor of sizes, with one value everywhere."""
  with name_scope(name, 'Fill', [dims, value]) as scope:
    return apply_op('Fill', name=scope, dims=_shape_tensor(dims, 'dims'), value=value)


@export('one_hot')
def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
  """A row for each index: on_value (1) at that place, off_value (0) at the others: indices [n]
  become [n, depth]. An index that is not from 0 to below depth gives a row without an on_value. The
  new dimension is the last, or `axis`. Without `dtype` it is that of the values, or float32."""
  with name_scope(name, 'one_hot', [indices, depth, on_value, off_value, axis, dtype]) as scope:
    on_dtype = None if on_value is None else convert(on_value).dtype.base_dtype
    off_dtype = None if off_value is None else convert(off_value).dtype.base_dtype
    if on_dtype or off_dtype:
      if dtype:
        for given, what in ((on_dtype, 'on_value'), (off_dtype, 'off_value')):
          if given and given != dtypes.as_dtype(dtype):
            raise TypeError('dtype {0} of {1} does not match dtype parameter {2}'.format(
                given, what, dtype))
      dtype = on_dtype or off_dtype
    elif dtype is None:
      dtype = dtypes.float32
    dtype = dtypes.as_dtype(dtype)
    if on_value is None:
      on_value = conversion.constant_of(1 if not dtype.is_bool else True, dtype, 'on_value')
      on_dtype = dtype
    if off_value is None:
      off_value = conversion.constant_of(0 if not dtype.is_bool else False, dtype, 'off_value')
      off_dtype = dtype
    if on_dtype and off_dtype and on_dtype != off_dtype:
      raise TypeError('dtype {0} of on_value does not match dtype {1} of off_value'.format(
          on_dtype, off_dtype))
    return apply_op('OneHot', name=scope, indices=indices, depth=depth, on_value=on_value,
                    off_value=off_value, axis=-1 if axis is None else axis)


# ---- Joining and cutting ------------------------------------------------------------------------


@export('concat', 'concat_v2')
def concat(values, axis, name='concat'):
  """Tensors joined along a dimension that they have: [2, 3] and [4, 3] along axis 0 are [6, 3]. All
  other sizes must be equal. The order (axis, values), which was that of TensorFlow 0.x, is
  understood where `axis` is a list."""
  if isinstance(axis, (list, tuple)) and not isinstance(values, (list, tuple)):
    values, axis = axis, values
  if not isinstance(values, (list, tuple)):
    values = [values]
  if len(values) == 1:
    with name_scope(name):
      convert(axis, dtypes.int32, 'concat_dim').get_shape().assert_has_rank(0)
      return identity(values[0], name=name)
  return apply_op('ConcatV2', name=name, values=list(values), axis=axis)


@export('stack')
def stack(values, axis=0, name='stack'):
  """Tensors of one shape joined along a new dimension, `axis`: three of [2] are [3, 2], or [2, 3]
  with axis 1."""
  if axis == 0 and not conversion._has_tensor(values):
    return convert(values if isinstance(values, (list, tuple)) else list(values), name=name)
  first = convert(values[0], name=None).get_shape()
  if first.ndims is not None:
    expanded = first.ndims + 1
    if axis < -expanded or axis >= expanded:
      raise ValueError('Argument `axis` = %d not in range [%d, %d)' % (axis, -expanded, expanded))
  if axis == 0 and not any(conversion.is_tensor_like(v) for v in values):
    try:
      return convert(values, name=name)  # one constant
    except (TypeError, ValueError):
      pass
  return apply_op('Pack', name=name, values=list(values), axis=axis)


@export('parallel_stack')
def parallel_stack(values, name='parallel_stack'):
  """Joined along a new first dimension."""
  return stack(values, 0, name)


@export('unstack')
def unstack(value, num=None, axis=0, name='unstack'):
  """A list of the pieces along a dimension, without it: [3, 2] is three of [2]. `num` is needed
  where the size is not known; ValueError otherwise."""
  if num is None:
    value = convert(value)
    known = value.get_shape()
    if known.ndims is not None:
      if axis < -known.ndims or axis >= known.ndims:
        raise ValueError('Argument `axis` = %d not in range [%d, %d)' % (axis, -known.ndims,
                                                                       known.ndims))
      num = known.as_list()[axis]
    if num is None:
      raise ValueError('Cannot infer argument `num` from shape %s' % known)
  return apply_op('Unpack', name=name, value=value, num=num, axis=axis)


@export('split')
def split(value, num_or_size_splits, axis=0, num=None, name='split'):
  """A list of pieces along `axis`: num_or_size_splits equal ones, or one for each size of a list.
  `num` says how many where that is a tensor of unknown shape. The order (axis, number, value),
  which was that of TensorFlow 0.x, is understood where `value` is a number."""
  if isinstance(value, int) and conversion.is_tensor_like(axis):
    value, axis = axis, value
  if isinstance(num_or_size_splits, (int, Dimension)) or hasattr(
      num_or_size_splits, '__index__') and not getattr(num_or_size_splits, 'shape', ()):
    return apply_op('Split', name=name, split_dim=axis, num_split=int(num_or_size_splits),
                    value=value)
  sizes = convert(num_or_size_splits)
  if sizes.shape_ == ():
    raise ValueError('Rank-0 tensors are not supported as the num_or_size_splits argument to '
                     'split. '
                     'Argument provided: %s' % (num_or_size_splits,))
  if num is None:
    known = sizes.shape_
    if known is None or known[0] < 0:
      raise ValueError('Cannot infer argument `num` from shape %s' % (num_or_size_splits,))
    num = known[0]
  return apply_op('SplitV', name=name, value=value, size_splits=sizes, split_dim=axis,
                  num_split=num)


@export('slice')
def slice(input_, begin, size, name=None):
  """The part of a tensor that begins at `begin` and has the sizes `size`, where -1 is all that is
  left; `input_[1:3, :2]` says it more shortly."""
  return apply_op('Slice', name=name, input=input_, begin=begin, size=size)


@export('pad')
def pad(tensor, paddings, mode='CONSTANT', name=None, constant_values=0):
  """A border around a tensor: paddings [rank, 2] say how much before and behind each dimension. The
  mode 'CONSTANT' adds constant_values, 'REFLECT' mirrors without the outer element, 'SYMMETRIC'
  with it."""
  mode = mode.upper()
  if mode == 'CONSTANT':
    if conversion.is_tensor_like(constant_values) or constant_values != 0:
      result = apply_op('PadV2', name=name, input=tensor, paddings=paddings,
                        constant_values=constant_values)
    else:
      result = apply_op('Pad', name=name, input=tensor, paddings=paddings)
  elif mode in ('REFLECT', 'SYMMETRIC'):
    result = apply_op('MirrorPad', name=name, input=tensor, paddings=paddings, mode=mode)
  else:
    raise ValueError('Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or '
                     '"SYMMETRIC". Received `mode` = %s' % mode)
  return result


@export('meshgrid')
def meshgrid(*args, **kwargs):
  """Coordinates of a grid, as numpy's."""
  indexing, name = kwargs.pop('indexing', 'xy'), kwargs.pop('name', 'meshgrid')
  if kwargs:
    raise TypeError("'{}' is an invalid keyword argument for this function".format(
        list(kwargs)[0]))
  if indexing not in ('xy', 'ij'):
    raise ValueError("Argument `indexing` parameter must be either 'xy' or 'ij', got '%s'" %
                     indexing)
  with name_scope(name, 'meshgrid', args):
    count = len(args)
    output = []
    for i, x in enumerate(args):
      output.append(reshape(stack(x), [1] * i + [-1] + [1] * (count - i - 1))
                    if isinstance(x, (list, tuple)) else
                    reshape(x, [1] * i + [-1] + [1] * (count - i - 1)))
    sizes = [size(x) for x in args]
    if indexing == 'xy' and count > 1:
      for i, s in ((0, [1, -1]), (1, [-1, 1])):
        output[i] = reshape(output[i], s + [1] * (count - 2))
      sizes[0], sizes[1] = sizes[1], sizes[0]
    return [x * fill(stack(sizes), conversion.constant_of(
        True if x.dtype.is_bool else 1, x.dtype)) for x in output]


# ---- Gathering ----------------------------------------------------------------------------------


@export('gather')
def gather(params, indices, validate_indices=None, name=None, axis=None, batch_dims=0):
  """The slices of params at `indices` along `axis`: params[i] for each i; the shape of indices
  takes the place of that dimension. The first batch_dims dimensions are common to both. On the CPU
  an index outside fails with InvalidArgumentError."""
  del validate_indices
  if axis is None:
    axis = batch_dims
  if hasattr(params, 'sparse_read') and axis == 0 and batch_dims == 0:
    return params.sparse_read(indices, name=name)
  return apply_op('GatherV2', name=name, params=params, indices=indices, axis=axis,
                  batch_dims=batch_dims)


@export('gather_nd', 'manip.gather_nd')
def gather_nd(params, indices, name=None, batch_dims=0):
  """The slices of params at places of several dimensions: indices [..., depth] give [...] + the
  dimensions of params after the first `depth`."""
  if hasattr(params, 'gather_nd') and batch_dims == 0:
    return params.gather_nd(indices, name=name)
  if batch_dims:
    return _gather_nd_in_batches(params, indices, batch_dims, name)
  return apply_op('GatherNd', name=name, params=params, indices=indices)


def _gather_nd_in_batches(params, indices, batch_dims, name):
  """gather_nd in each batch: the places of the batch itself are put before the indices."""
  from leat._ops import math
  with name_scope(name, 'GatherNd', [params, indices]) as scope:
    params, indices = convert(params, name='params'), convert(indices, name='indices')
    rank = indices.get_shape().ndims
    if not isinstance(batch_dims, int) or batch_dims < 0:
      raise ValueError('batch_dims = %s must be an integer that is not negative' % (batch_dims,))
    if rank is None:
      raise ValueError('batch_dims = %d needs indices of known rank' % batch_dims)
    if batch_dims >= rank:
      raise ValueError('batch_dims = %d must be less than rank(indices) = %d' % (batch_dims, rank))
    known = params.get_shape().ndims
    if known is not None and batch_dims >= known:
      raise ValueError('batch_dims = %d must be less than rank(params) = %d' % (batch_dims, known))
    sizes, kind = shape(indices, out_type=indices.dtype), indices.dtype
    column = concat([sizes[:-1], [1]], 0)
    places = []
    for i in builtins_range(batch_dims):
      numbers = math.range(math.cast(0, kind), sizes[i], math.cast(1, kind))
      numbers = reshape(numbers, [-1 if j == i else 1 for j in builtins_range(rank)])
      places.append(numbers + zeros(column, kind))
    return apply_op('GatherNd', name=scope, params=params, indices=concat(places + [indices], -1))


@export('where')
def where(condition, x=None, y=None, name=None):
  """Without x and y: where `condition` is true, as indices [n, rank] int64. With both: x where it
  is true, else y, of one shape; a vector as condition chooses whole rows. ValueError where only one
  is given."""
  if x is None and y is None:
    with name_scope(name, 'Where', [condition]) as scope:
      return apply_op('Where', name=scope, input=convert(condition, dtypes.bool, 'condition'))
  if x is None or y is None:
    raise ValueError('x and y must both be non-None or both be None.')
  return apply_op('Select', name=name, condition=condition, t=x, e=y)


@export('where_v2')
def where_v2(condition, x=None, y=None, name=None):
  """The same, broadcast."""
  if x is None or y is None:
    return where(condition, x, y, name)
  return apply_op('SelectV2', name=name, condition=condition, t=x, e=y)


@export('boolean_mask')
def boolean_mask(tensor, mask, name='boolean_mask', axis=None):
  """The slices of a tensor where `mask`, bools of known rank, is true: the dimensions of the mask,
  from `axis` on, become one."""
  from leat._ops import math
  with name_scope(name, values=[tensor, mask]):
    tensor, mask = convert(tensor, name='tensor'), convert(mask, name='mask')
    axis = 0 if axis is None else axis
    mask_shape, tensor_shape = mask.get_shape(), tensor.get_shape()
    n = mask_shape.ndims
    if n == 0:
      raise ValueError('mask cannot be scalar.')
    if n is None:
      raise ValueError('Number of mask dimensions must be specified, even if some dimensions are '
                       'None.  E.g. shape=[None] is ok, but shape=None is not.')
    axis = constant_value(axis) if isinstance(axis, _leat.Output) else axis
    axis = int(axis)
    if axis < 0:
      axis += tensor_shape.ndims
    tensor_shape[axis:axis + n].assert_is_compatible_with(mask_shape)
    leading = math.reduce_prod(shape(tensor)[axis:axis + n], [0])
    tensor = reshape(tensor, concat([shape(tensor)[:axis], [leading], shape(tensor)[axis + n:]], 0))
    first = TensorShape(tensor_shape[axis:axis + n]).num_elements()
    tensor.set_shape(TensorShape(tensor_shape[:axis]).concatenate([first]).concatenate(
        tensor_shape[axis + n:]))
    mask = reshape(mask, [-1])
    indices = squeeze(where(mask), axis=[1])
    return gather(tensor, indices, axis=axis)


@export('unique')
def unique(x, out_idx=dtypes.int32, name=None):
  """(the distinct elements of a vector in the order of their first, the place of each element among
  them)."""
  return apply_op('Unique', name=name, x=x, out_idx=out_idx)


@export('unique_with_counts')
def unique_with_counts(x, out_idx=dtypes.int32, name=None):
  """The same with how often each occurs."""
  return apply_op('UniqueWithCounts', name=name, x=x, out_idx=out_idx)


@export('setdiff1d')
def setdiff1d(x, y, index_dtype=dtypes.int32, name=None):
  """(elements of x that are not in y, their places)."""
  return apply_op('ListDiff', name=name, x=x, y=y, out_idx=index_dtype)
