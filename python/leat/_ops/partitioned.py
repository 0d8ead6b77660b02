"""Variables in parts: what get_variable makes where a partitioner is set."""
from __future__ import annotations

from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.shape import TensorShape
from leat._ops import variables


class _PartitionInfo:
  """Which part of the whole an initializer makes."""

  def __init__(self, full_shape, var_offset):
    self.full_shape, self.var_offset = full_shape, var_offset

  def single_offset(self, shape):
    return self.var_offset[self.single_slice_dim(shape) or 0]

  def single_slice_dim(self, shape):
    for i, (part, whole) in enumerate(zip(shape, self.full_shape)):
      if part != whole:
        return i
    return None


class PartitionedVariable:
  """A variable in parts along one dimension; used as a tensor it is the whole."""

  def __init__(self, name, shape, dtype, variable_list, partitions):
    self._name, self._shape, self._dtype = name, TensorShape(shape), dtype
    self._variable_list, self._partitions = list(variable_list), list(partitions)
    self._concatenated = None

  name = property(lambda self: self._name)
  dtype = property(lambda self: self._dtype)
  shape = property(lambda self: self._shape)

  def get_shape(self):
    return self._shape

  def __iter__(self):
    return iter(self._variable_list)

  def __len__(self):
    return len(self._variable_list)

  def _get_variable_list(self):
    return self._variable_list

  def _get_partitions(self):
    return self._partitions

  def _axes(self):
    axes = [i for i, n in enumerate(self._partitions) if n > 1]
    return axes or [0]

  def as_tensor(self):
    """The parts joined."""
    from leat._ops import array
    axes = self._axes()
    if len(axes) > 1:
      raise NotImplementedError('Cannot concatenate along more than one dimension: %s. Multi-axis '
                                'partition concat is not supported' % axes)
    if self._concatenated is None:
      # All of a program reads one tensor, which must not wait for what is around its first use.
      with control_dependencies(None), name_scope(None):
        joined = self._variable_list[0]
        if len(self._variable_list) > 1:
          with name_scope(self._name + '/ConcatPartitions/'):
            joined = array.concat(self._variable_list, axes[0])
        self._concatenated = array.identity(joined, name=self._name)
    return self._concatenated

  def _as_graph_element(self):
    return self.as_tensor()

  def assign(self, value, use_locking=False):
    return self._each('assign', value, use_locking)

  def assign_add(self, value, use_locking=False):
    return self._each('assign_add', value, use_locking)

  def assign_sub(self, value, use_locking=False):
    return self._each('assign_sub', value, use_locking)

  def _each(self, method, value, use_locking):
    from leat._ops import array
    values = list(value) if isinstance(value, PartitionedVariable) else array.split(
        conversion.convert(value), [v.get_shape().as_list()[self._axes()[0]]
                                    for v in self._variable_list], axis=self._axes()[0])
    return [getattr(v, method)(part, use_locking=use_locking)
            for v, part in zip(self._variable_list, values)]


def _of_partitioned(value, dtype=None, name=None, as_ref=False):
  del name
  if as_ref:
    raise NotImplementedError('PartitionedVariable doesn\'t support being used as a reference.')
  if dtype is not None and not dtype.is_compatible_with(value.dtype):
    raise ValueError("Incompatible type conversion requested to type '%s' for variable of type '%s'"
                     % (dtype.name, value.dtype.name))
  return value.as_tensor()


conversion.register_tensor_conversion_function(PartitionedVariable, _of_partitioned)


def get(store, name, shape, dtype, initializer, regularizer, reuse, trainable, collections,
        caching_device, partitioner, validate_shape, use_resource, constraint):
  """The parts of a variable: those that are there, for which no partitioner is needed, or new
  ones."""
  found = store.partitioned.get(name)
  if not callable(partitioner) and not (found is not None and partitioner is None):
    raise ValueError('Partitioner must be callable, but received: %s' % partitioner)
  dtype = dtypes.as_dtype(dtype)
  if found is not None:
    if reuse is False:
      raise ValueError('Partitioned variable with name %s already exists. Did you mean to set '
                       'reuse=True or reuse=tf.AUTO_REUSE in VarScope?' % name)
    if not shape.is_compatible_with(found.get_shape()):
      raise ValueError('Trying to reuse partitioned variable %s, but specified shape %s and found '
                       'shape %s.' % (name, shape, found.get_shape()))
    if not dtype.is_compatible_with(found.dtype):
      raise ValueError('Trying to reuse partitioned variable %s, but specified dtype %s and found '
                       'dtype %s.' % (name, dtype.name, found.dtype.name))
    if partitioner is not None:
      partitions = list(partitioner(shape=found.get_shape(), dtype=dtype))
      if partitions != found._get_partitions():
        raise ValueError('Trying to reuse partitioned variable %s, but specified partitions %s and '
                         'found partitions %s.' % (name, partitions, found._get_partitions()))
    return found
  if reuse is True:
    raise ValueError('PartitionedVariable %s does not exist, or was not created with '
                     'tf.get_variable(). Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in '
                     'VarScope?' % name)
  partitions = list(partitioner(shape=shape, dtype=dtype))
  _check(partitions, shape)
  if name in store.variables:
    raise ValueError('A partitioner was provided, but an unpartitioned version of the variable was '
                     'found: %s. Perhaps a variable of the same name was already created without '
                     'partitioning?' % name)
  sizes = shape.as_list()
  axis = next((i for i, n in enumerate(partitions) if n > 1), 0)
  count = partitions[axis]
  least, more = divmod(sizes[axis], count)
  parts, offset = [], 0
  for i in range(count):
    length = least + (1 if i < more else 0)
    part_shape = sizes[:axis] + [length] + sizes[axis + 1:]
    place = [0] * axis + [offset] + [0] * (len(sizes) - axis - 1)
    init, given_shape = initializer, part_shape
    if initializer is not None and not callable(initializer):
      from leat._ops import array
      init, given_shape = array.slice(conversion.convert(initializer), place, part_shape), None
    part = store.get_single('%s/part_%d' % (name, i), given_shape, dtype, init, regularizer, reuse,
                            trainable, collections, caching_device, validate_shape, use_resource,
                            constraint, _PartitionInfo(sizes, place))
    part._set_save_slice_info(variables.Variable.SaveSliceInfo(name, sizes, place, part_shape))
    parts.append(part)
    offset += length
  result = store.partitioned[name] = PartitionedVariable(name, sizes, dtype, parts, partitions)
  return result


def _check(partitions, shape):
  if not isinstance(partitions, (list, tuple)) or len(partitions) != shape.ndims:
    raise ValueError('Partitioner returned a partition list that does not match the Variable\'s '
                     'rank: %s vs. %s' % (partitions, shape))
  if any(p < 1 for p in partitions):
    raise ValueError('Partitioner returned zero partitions for some axes: %s' % partitions)
  if len([p for p in partitions if p > 1]) > 1:
    raise ValueError('Can only slice a variable along one dimension: shape: %s, partitioning: %s' %
                     (shape, partitions))


@export('fixed_size_partitioner')
def fixed_size_partitioner(num_shards, axis=0):
  """Cuts a dimension into a number of parts."""
  def partitioner(shape, **unused):
    parts = [1] * len(shape)
    parts[axis] = min(num_shards, shape.as_list()[axis])
    return parts
  return partitioner


@export('variable_axis_size_partitioner')
def variable_axis_size_partitioner(max_shard_bytes, axis=0, bytes_per_string_element=16,
                                   max_shards=None):
  """Cuts a dimension so that no part is larger than max_shard_bytes."""
  if max_shard_bytes < 1 or bytes_per_string_element < 1:
    raise ValueError('Both max_shard_bytes and bytes_per_string_element must be positive. '
                     'Currently: %s and %s' % (max_shard_bytes, bytes_per_string_element))
  if max_shards and max_shards < 1:
    raise ValueError('max_shards must be positive.')

  def partitioner(shape, dtype):
    import math
    element = bytes_per_string_element if dtype.base_dtype == dtypes.string else dtype.size
    parts = [1] * shape.ndims
    size = shape.as_list()[axis]
    slice_bytes = shape.num_elements() // size * element
    per_part = max(1, max_shard_bytes // slice_bytes) if slice_bytes else size
    count = int(math.ceil(1.0 * size / per_part))
    parts[axis] = max(1, min(count, max_shards or count))
    return parts
  return partitioner


@export('min_max_variable_partitioner')
def min_max_variable_partitioner(max_partitions=1, axis=0, min_slice_size=256 << 10,
                                 bytes_per_string_element=16):
  """Cuts a dimension into at most max_partitions parts of at least min_slice_size bytes."""
  def partitioner(shape, dtype):
    if axis >= len(shape):
      raise ValueError('Cannot partition variable along axis %d when shape is only %s' % (
          axis, shape))
    element = bytes_per_string_element if dtype.base_dtype == dtypes.string else dtype.size
    total = shape.num_elements() * element
    parts = [1] * len(shape)
    parts[axis] = max(1, min(shape.as_list()[axis], max_partitions, total // min_slice_size))
    return parts
  return partitioner


@export('create_partitioned_variables')
def create_partitioned_variables(shape, slicing, initializer, dtype=dtypes.float32, trainable=True,
                                 collections=None, name=None, reuse=None):
  """The variables that a tensor of `shape` is cut into, slicing[i] of them along dimension i.

  Args:
    slicing: a number for each dimension, at most one of which is more than 1.
    initializer: a function of a shape, or a tensor.
    name: of the whole, 'PartitionedVariable' if None.

  Raises:
    ValueError: if the slices do not fit the shape.
  """
  from leat._ops import variable_scope
  if len(shape) != len(slicing):
    raise ValueError("The 'shape' and 'slicing' of a partitioned Variable must have the length: "
                     'shape: %s, slicing: %s' % (shape, slicing))
  if any(parts > size for parts, size in zip(slicing, shape)):
    raise ValueError('A dimension cannot have more slices than it is long: shape: %s, slicing: %s' %
                     (shape, slicing))
  with variable_scope.variable_scope(name, 'PartitionedVariable', reuse=reuse) as scope:
    with name_scope(None):
      return list(get(variable_scope._store(), scope.name, TensorShape(shape), dtype, initializer,
                      scope.regularizer, scope.reuse, trainable, collections,
                      scope.caching_device, lambda **unused: list(slicing), True,
                      scope.use_resource, None))
