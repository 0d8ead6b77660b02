"""Functions of single elements applied to ragged tensors: to their flat values.

Where two arguments have elements, both are brought to the same rows first, as tensors are
broadcast: dimensions of one slice are repeated. Which rows of which are repeated is worked out by
row splits; values are then gathered.
"""
from __future__ import annotations

from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._ops import array, math
from leat._ops.ragged import rows
from leat._ops.ragged.dense import coordinates
from leat._ops.ragged.dispatch import around
from leat._ops.ragged.gather import pick
from leat._ops.ragged.tensor import (RaggedTensor, as_ragged, is_ragged, same_splits_dtype)


@around(
    'abs math.abs acos math.acos acosh math.acosh angle math.angle asin math.asin asinh '
    'math.asinh atan math.atan atanh math.atanh cast dtypes.cast ceil math.ceil conj math.conj '
    'cos math.cos cosh math.cosh digamma math.digamma erf math.erf erfc math.erfc exp math.exp '
    'expm1 math.expm1 floor math.floor imag math.imag is_finite math.is_finite '
    'debugging.is_finite is_inf math.is_inf debugging.is_inf is_nan math.is_nan '
    'debugging.is_nan lgamma math.lgamma log math.log log1p math.log1p log_sigmoid '
    'math.log_sigmoid nn.log_sigmoid logical_not math.logical_not negative math.negative real '
    'math.real reciprocal math.reciprocal rint math.rint round math.round rsqrt math.rsqrt '
    'saturate_cast dtypes.saturate_cast sigmoid nn.sigmoid math.sigmoid sign math.sign sin '
    'math.sin sinh math.sinh sqrt math.sqrt square math.square tan math.tan tanh math.tanh '
    'nn.tanh to_float to_double to_int32 to_int64 identity stop_gradient ones_like zeros_like '
    'check_numerics debugging.check_numerics clip_by_value nn.relu nn.elu nn.softplus '
    'nn.softsign nn.dropout as_string dtypes.as_string strings.as_string decode_base64 '
    'io.decode_base64 encode_base64 io.encode_base64 decode_compressed io.decode_compressed '
    'regex_replace strings.regex_replace strings.regex_full_match string_strip strings.strip '
    'string_length strings.length string_to_hash_bucket strings.to_hash_bucket '
    'string_to_hash_bucket_fast strings.to_hash_bucket_fast string_to_hash_bucket_strong '
    'strings.to_hash_bucket_strong string_to_number strings.to_number strings.upper '
    'strings.lower substr strings.substr strings.unicode_script strings.unicode_transcode')
def unary(function, *args, **named):
  """The function of the flat values of the first argument."""
  args = list(args)
  key = None if args else _first_ragged(named)
  ragged = as_ragged(args[0] if args else named[key])
  if not isinstance(ragged, RaggedTensor):
    raise TypeError('%s takes a ragged tensor only as its first argument' % function.__name__)
  if args:
    args[0] = ragged.flat_values
  else:
    named[key] = ragged.flat_values
  return ragged.with_flat_values(function(*args, **named))


def _first_ragged(named):
  return next(k for k, v in named.items() if is_ragged(v))


@around(
    'add math.add atan2 math.atan2 complex dtypes.complex div div_no_nan math.divide_no_nan '
    'divide math.divide equal math.equal floor_div floordiv math.floordiv floormod '
    'math.floormod mod math.mod greater math.greater greater_equal math.greater_equal less '
    'math.less less_equal math.less_equal logical_and math.logical_and logical_or '
    'math.logical_or logical_xor math.logical_xor maximum math.maximum minimum math.minimum '
    'multiply math.multiply not_equal math.not_equal pow math.pow realdiv squared_difference '
    'math.squared_difference subtract math.subtract truediv math.truediv truncatediv '
    'truncatemod bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift '
    'bitwise.right_shift')
def binary(function, *args, **named):
  """The function of the flat values of its first two arguments, brought to the same rows."""
  args = list(args)
  keys = [k for k in named if k != 'name'][:2 - min(len(args), 2)]
  pair = args[:2] + [named[k] for k in keys]
  if len(pair) != 2:
    raise TypeError('%s takes two arguments' % function.__name__)
  x, y = _converted(*pair)
  x, y, ragged = broadcast(x, y)
  flat = [x, y]
  args[:2] = flat[:len(args[:2])]
  named.update(zip(keys, flat[2 - len(keys):]))
  return ragged.with_flat_values(function(*args, **named))


def _converted(x, y):
  """Both as tensors, ragged or not; what has no type takes that of the other."""
  if not is_ragged(x):
    y = as_ragged(y)
    x = convert(x, None, 'x', preferred=y.dtype.base_dtype)
  else:
    x = as_ragged(x)
    y = as_ragged(y) if is_ragged(y) else convert(y, None, 'y', preferred=x.dtype.base_dtype)
  return same_splits_dtype(x, y)


@around('add_n math.add_n string_join strings.join')
def of_list(function, inputs, *args, **named):
  """The function of a list of flat values; tensors that are not ragged must be scalars."""
  values = [as_ragged(v) for v in inputs]
  ragged = [v for v in values if isinstance(v, RaggedTensor)]
  if not ragged:
    raise TypeError('%s takes ragged tensors only in its list' % function.__name__)
  splits = same_rows(ragged)
  flat = [v.flat_values if isinstance(v, RaggedTensor) else v for v in values]
  return RaggedTensor.from_nested_row_splits(function(flat, *args, **named), splits,
                                             validate=False)


def same_rows(values):
  """The row splits that the ragged tensors have in common; a step fails where they differ."""
  first = values[0]
  splits = list(first.nested_row_splits)
  for other in values[1:]:
    if other.ragged_rank != first.ragged_rank:
      raise ValueError('Inputs must have identical ragged splits, but have ragged ranks %d and %d' %
                       (first.ragged_rank, other.ragged_rank))
    for i, theirs in enumerate(other.nested_row_splits):
      if not rows.surely_equal(splits[i], theirs):
        theirs.get_shape().assert_is_compatible_with(splits[i].get_shape())
        splits[i] = rows.checked(splits[i], rows.all_equal(splits[i], theirs),
                                 'Inputs must have identical ragged splits', splits[i], theirs)
  return splits


@export('ragged.map_flat_values')
def map_flat_values(op, *args, **kwargs):
  """What op makes of the flat values of all ragged arguments, with their rows."""
  found = []

  def flat(value):
    if is_ragged(value):
      value = as_ragged(value)
      found.append(value)
      return value.flat_values
    if isinstance(value, (list, tuple)):
      return type(value)(flat(v) for v in value)
    return value
  args = [flat(a) for a in args]
  kwargs = {k: flat(v) for k, v in kwargs.items()}
  if not found:
    return op(*args, **kwargs)
  found = same_splits_dtype(*found)
  splits = same_rows(found)
  made = op(*args, **kwargs)
  made.get_shape().with_rank_at_least(1)[:1].assert_is_compatible_with(
      found[0].flat_values.get_shape()[:1])
  return RaggedTensor.from_nested_row_splits(made, splits, validate=False)


# ---- Broadcasting -------------------------------------------------------------------------------


def broadcast(x, y):
  """(flat values of x, flat values of y, a ragged tensor with the rows of both)."""
  if not isinstance(y, RaggedTensor):
    return _with_dense(x, y)
  if not isinstance(x, RaggedTensor):
    flat, other, ragged = _with_dense(y, x)
    return other, flat, ragged
  if x.ragged_rank == y.ragged_rank and all(
      rows.surely_equal(a, b) for a, b in zip(x.nested_row_splits, y.nested_row_splits)):
    return x.flat_values, y.flat_values, x
  x, y = _same_rank(x, y)
  x, y = _same_first(x, y)
  x, y = _both(x, y)
  return x.flat_values, y.flat_values, x


def _same_rank(x, y):
  """Both with the same number of dimensions, and of ragged ones."""
  while x.shape.ndims < y.shape.ndims:
    x = RaggedTensor.from_uniform_row_length(x, x.nrows(), nrows=1, validate=False)
  while y.shape.ndims < x.shape.ndims:
    y = RaggedTensor.from_uniform_row_length(y, y.nrows(), nrows=1, validate=False)
  rank = max(x.ragged_rank, y.ragged_rank)
  return _as_ragged_as(x, rank), _as_ragged_as(y, rank)


def _as_ragged_as(value, rank):
  if isinstance(value, RaggedTensor):
    return value.with_values(_as_ragged_as(value.values, rank - 1))
  return RaggedTensor.from_tensor(value, ragged_rank=rank) if rank > 0 else value


def _same_first(x, y):
  """Both with as many rows: a single row is repeated."""
  kind = x.row_splits.dtype.base_dtype
  first, second = rows.static_rows(x.row_splits), rows.static_rows(y.row_splits)
  if first is not None and first == second:
    return x, y
  count = apply_op('Maximum', x=x.nrows(), y=y.nrows())
  if 0 in (first, second):
    count = constant_of(0, kind)
  places = rows.numbers(count)

  def repeated(value):
    number = value.nrows()
    one = apply_op('Equal', x=number, y=constant_of(1, kind))
    index = array.where_v2(one, array.zeros_like(places), places)
    index = rows.checked(index, apply_op('LogicalOr', x=one, y=apply_op(
        'Equal', x=number, y=count)), 'Incompatible shapes: both must have as many rows', number,
                         count)
    return pick(value, index)
  return repeated(x), repeated(y)


def _both(x, y):
  """Ragged tensors with as many rows, each row as long as the longer of the two."""
  if not isinstance(x, RaggedTensor):
    return x, y
  if rows.surely_equal(x.row_splits, y.row_splits):
    splits = x.row_splits
    inside = _both(x.values, y.values)
  else:
    one = constant_of(1, x.row_splits.dtype.base_dtype)
    mine, theirs = x.row_lengths(), y.row_lengths()
    single = apply_op('Equal', x=mine, y=one), apply_op('Equal', x=theirs, y=one)
    lengths = array.where(single[0], theirs, mine)
    good = apply_op('LogicalOr', x=single[1], y=apply_op('Equal', x=theirs, y=lengths))
    splits = rows.checked(rows.of_lengths(lengths), math.reduce_all(good),
                          'Incompatible shapes: rows must have the same lengths or length 1', mine,
                          theirs)
    ids = rows.ids_of_splits(splits)
    places = rows.numbers(splits[-1]) - array.gather(splits, ids)
    inside = []
    for value, alone in zip((x, y), single):
      place = array.where(array.gather(alone, ids), array.zeros_like(places), places)
      inside.append(pick(value.values, place + array.gather(value.row_starts(), ids)))
    inside = _both(*inside)
  return tuple(RaggedTensor.from_row_splits(v, splits, validate=False) for v in inside)


def _with_dense(ragged, tensor):
  """A ragged tensor and a tensor: for each flat value, the slice that belongs to it."""
  rank = tensor.get_shape().ndims
  if rank is None:
    raise ValueError('Unable to broadcast: dimension size mismatch or unknown rank of %s' % tensor)
  outer = ragged.ragged_rank + 1
  inner = ragged.shape.ndims - outer
  if rank <= inner:
    return ragged.flat_values, tensor, ragged
  if rank > ragged.shape.ndims:
    return _with_more_dimensions(ragged, tensor)
  outer_sizes = tensor.get_shape()[:rank - inner]
  if outer_sizes.is_fully_defined() and outer_sizes.num_elements() == 1:
    tensor = array.squeeze(tensor, list(range(rank - inner)))
    return ragged.flat_values, tensor, ragged
  for _ in range(ragged.shape.ndims - rank):
    tensor = array.expand_dims(tensor, 0)
  first = tensor.get_shape()[0].value
  if first != 1 and rows.static_rows(ragged.row_splits) == 1:
    ragged = pick(ragged, array.zeros([array.shape(tensor)[0]], ragged.row_splits.dtype))
  return ragged.flat_values, _slices(ragged, tensor, outer), ragged


def _slices(ragged, tensor, outer):
  """The slice of the tensor for each flat value, found by its coordinates."""
  kind = ragged.row_splits.dtype.base_dtype
  zero, one = constant_of(0, kind), constant_of(1, kind)
  sizes = array.shape(tensor, out_type=kind)
  lengths = [array.expand_dims(ragged.nrows(), 0)] + list(ragged.nested_row_lengths())
  index = []
  for i, places in enumerate(coordinates(ragged)):
    size, known = sizes[i], tensor.get_shape()[i].value
    if known == 1:
      index.append(array.zeros_like(places))
      continue
    single = apply_op('Equal', x=size, y=one)
    fits = math.reduce_all(apply_op('Equal', x=lengths[i], y=size))
    places = rows.checked(places, apply_op('LogicalOr', x=single, y=fits),
                          'Incompatible shapes: dimension %d of the tensor must have size 1 or '
                          'that of all rows' % i, size, lengths[i])
    index.append(places * array.where_v2(single, zero, one))
  return array.gather_nd(tensor, array.stack(index, 1))


def _with_more_dimensions(ragged, tensor):
  """The tensor has more dimensions: both become ragged ones of the same rank."""
  other = RaggedTensor.from_tensor(tensor, ragged_rank=tensor.get_shape().ndims - (
      ragged.shape.ndims - ragged.ragged_rank), row_splits_dtype=ragged.row_splits.dtype)
  return broadcast(ragged, other)
