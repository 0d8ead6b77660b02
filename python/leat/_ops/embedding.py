"""Choosing the largest, and looking up rows of embeddings."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import colocate_with, name_scope
from leat._ops import array, clip, math


@export('nn.top_k', 'math.top_k')
def top_k(input, k=1, sorted=True, name=None):
  """(the k largest of each row, largest first, their indices) of input [..., n]: both [..., k]."""
  return apply_op('TopKV2', name=name, input=input, k=k, sorted=sorted)


@export('nn.in_top_k', 'math.in_top_k')
def in_top_k(predictions, targets, k, name=None):
  """Whether the class that targets [batch] says is among the k largest predictions [batch,
  classes]."""
  with name_scope(name, 'in_top_k'):
    return apply_op('InTopKV2', predictions=predictions, targets=targets, k=k)


def _parts(params):
  """The tensors and variables that the rows are in."""
  several = isinstance(params, (list, tuple)) or hasattr(params, '_get_variable_list')
  return [p if hasattr(p, 'get_shape') else convert(p) for p in (params if several else [params])]


@export('nn.embedding_lookup')
def embedding_lookup(params, ids, partition_strategy='mod', name=None, validate_indices=True,
                     max_norm=None):
  """The rows of params at `ids`: ids of the shape s give s + [row]. params may be a list, or a
  partitioned variable: row i is then in params[i % n] ('mod'), or in blocks ('div'). With max_norm
  longer rows are shortened to it."""
  del validate_indices
  if params is None:
    raise ValueError('params must be specified')
  if isinstance(params, (list, tuple)) and not params:
    raise ValueError('Length of params is currently 0. Need at least one param.')
  params = _parts(params)
  with name_scope(name, 'embedding_lookup', [p for p in params if isinstance(p, _leat.Output)] + [
      ids]) as scope:
    ids = convert(ids, name='ids')
    if len(params) == 1:
      with colocate_with(params[0]):
        rows = _clipped(array.gather(params[0], ids, name=scope), ids, max_norm)
      return array.identity(rows)   # not colocated with the variable
    return _lookup_parts(params, ids, partition_strategy, max_norm, scope)


def _clipped(embeddings, ids, max_norm):
  if max_norm is None:
    return embeddings
  rank = ids.get_shape().ndims
  return clip.clip_by_norm(embeddings, max_norm,
                           axes=list(range(rank, embeddings.get_shape().ndims)))


def _lookup_parts(params, ids, strategy, max_norm, scope):
  count = len(params)
  flat = array.reshape(ids, [-1])
  positions = math.range(array.size(flat))
  if strategy == 'mod':
    which, places = flat % count, flat // count
  elif strategy == 'div':
    sizes = [p.get_shape().as_list()[0] if p.get_shape().ndims is not None else None
             for p in params]
    total = sum(sizes) if None not in sizes else sum(
        [math.cast(array.shape(p)[0], flat.dtype) for p in params])
    total = convert(total, flat.dtype)
    each, extra = apply_op('FloorDiv', x=total, y=count), apply_op('FloorMod', x=total, y=count)
    which = apply_op('Maximum', x=apply_op('FloorDiv', x=flat, y=each + 1),
                     y=apply_op('FloorDiv', x=flat - extra, y=each))
    places = array.where(which < extra, apply_op('FloorMod', x=flat, y=each + 1),
                         apply_op('FloorMod', x=flat - extra, y=each))
  else:
    raise ValueError('Unrecognized partition strategy: %s. Must be one of either `mod` or `div`.' %
                     strategy)
  which = math.cast(which, dtypes.int32)
  places = apply_op('DynamicPartition', data=places, partitions=which, num_partitions=count)
  origins = apply_op('DynamicPartition', data=positions, partitions=which, num_partitions=count)
  found = []
  for part, place in zip(params, places):
    with colocate_with(part):
      found.append(_clipped(array.gather(part, place), place, max_norm))
  result = apply_op('ParallelDynamicStitch', name=scope, indices=origins, data=found)
  element = params[0].get_shape()[1:]
  for part in params[1:]:
    element = element.merge_with(part.get_shape()[1:])
  if element.is_fully_defined():
    sizes = array.concat([array.shape(ids), element], 0)
  else:
    sizes = array.concat([array.shape(ids), array.slice(array.shape(result), [1], [-1])], 0)
  result = array.reshape(result, sizes)
  result.set_shape(ids.get_shape().concatenate(element))
  return result


@export('nn.embedding_lookup_sparse')
def embedding_lookup_sparse(params, sp_ids, sp_weights, partition_strategy='mod', name=None,
                            combiner=None, max_norm=None):
  """The rows at the ids of each row of sp_ids, combined by sum, mean or sqrtn."""
  combiner = 'mean' if combiner is None else combiner
  if combiner not in ('mean', 'sqrtn', 'sum'):
    raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
  if not hasattr(sp_ids, 'dense_shape'):
    raise TypeError('sp_ids must be SparseTensor')
  params = _parts(params)
  with name_scope(name, 'embedding_lookup_sparse', [sp_ids.values]) as scope:
    segments = math.cast(sp_ids.indices[:, 0], dtypes.int32)
    ids, places = array.unique(sp_ids.values)
    rows = embedding_lookup(params, ids, partition_strategy, max_norm=max_norm)
    if sp_weights is None:
      op = {'sum': 'SparseSegmentSum', 'mean': 'SparseSegmentMean', 'sqrtn': 'SparseSegmentSqrtN'}
      return apply_op(op[combiner], name=scope, data=rows, indices=places, segment_ids=segments)
    rows = array.gather(rows, places)
    weights = math.cast(sp_weights.values, rows.dtype)
    column = array.reshape(weights, array.concat(
        [array.shape(weights), array.fill(array.expand_dims(array.rank(rows) - 1, 0), 1)], 0))
    known = weights.get_shape().concatenate([1] * (rows.get_shape().ndims - 1))
    column.set_shape(known)
    total = apply_op('SegmentSum', name=scope if combiner == 'sum' else None, data=rows * column,
                     segment_ids=segments)
    if combiner == 'sum':
      return total
    norm = column if combiner == 'mean' else math.square(column)
    norm = apply_op('SegmentSum', data=norm, segment_ids=segments)
    if combiner == 'sqrtn':
      norm = math.sqrt(norm)
    return math.divide(total, norm, name=scope)
