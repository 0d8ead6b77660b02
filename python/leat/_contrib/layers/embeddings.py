"""contrib.layers: lookups of embeddings that cope with missing ids, and encoders of sequences of
ids."""
from __future__ import annotations

from leat import _leat
from leat._contrib import variables
from leat._contrib.layers.dense import dense_to_sparse
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, embedding, math
from leat._ops.sparse import SparseTensor
from leat._ops.variable_scope import variable_scope
from leat._ops.variables import Variable


@export('contrib.layers.safe_embedding_lookup_sparse')
def safe_embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights=None, combiner=None,
                                 default_id=None, name=None, partition_strategy='div',
                                 max_norm=None):
  """embedding_lookup_sparse of ids [d0, ..., dn], combined over the last dimension: [d0, ..., dn-1,
  size of an embedding].

  Ids below 0 and ids with a weight that is not positive are left out. Rows without an id are the
  embedding of `default_id`, or zeros where that is None. ValueError where there are no embeddings,
  or where their types differ or are not that of the weights."""
  if embedding_weights is None or (isinstance(embedding_weights, (list, tuple))
                                   and not embedding_weights):
    raise ValueError('Missing embedding_weights %s.' % (embedding_weights,))
  if hasattr(embedding_weights, '_get_variable_list'):
    embedding_weights = list(embedding_weights)
  if not isinstance(embedding_weights, (list, tuple)):
    embedding_weights = [embedding_weights]
  dtype = None if sparse_weights is None else sparse_weights.dtype
  embedding_weights = [w if isinstance(w, Variable) and dtype in (None, w.dtype.base_dtype)
                       else convert(w, dtype) for w in embedding_weights]
  kinds = {w.dtype.base_dtype for w in embedding_weights}
  if len(kinds) > 1:
    raise ValueError('embedding_weights have several types: %s' % sorted(k.name for k in kinds))
  with name_scope(name, 'embedding_lookup', embedding_weights + [sparse_ids]) as scope:
    shape = sparse_ids.dense_shape
    known_rank = sparse_ids.get_shape().ndims
    rank = array.size(shape) if known_rank is None else known_rank
    flat = _rows(sparse_ids, shape, rank)
    weights = None if sparse_weights is None else SparseTensor(flat.indices, sparse_weights.values,
                                                               flat.dense_shape)
    flat, weights = _valid(flat, weights)
    flat, is_empty = _filled(flat, default_id or 0)
    if weights is not None:
      weights, _ = _filled(weights, 1.0)
    result = embedding.embedding_lookup_sparse(
        embedding_weights, flat, weights, combiner=combiner, partition_strategy=partition_strategy,
        name=None if default_id is None else scope, max_norm=max_norm)
    if default_id is None:
      empty = apply_op('Tile', input=array.reshape(is_empty, [-1, 1]),
                       multiples=array.stack([1, array.shape(result)[1]]))
      result = array.where(empty, array.zeros_like(result), result, name=scope)
    sizes = array.slice(math.cast(shape, dtypes.int32), [0], [rank - 1])
    final = array.reshape(result, array.concat([sizes, array.slice(array.shape(result), [1],
                                                                   [-1])], 0))
    rows = [None] * (known_rank - 1) if known_rank is not None else None
    if rows is not None and result.get_shape().ndims is not None:
      final.set_shape(rows + result.get_shape().as_list()[1:])
    return final


def _rows(sparse_ids, shape, rank):
  """The ids as a matrix: all dimensions but the last one are its rows."""
  rows = math.reduce_prod(array.slice(shape, [0], [rank - 1]))
  indices, sizes = apply_op('SparseReshape', input_indices=sparse_ids.indices, input_shape=shape,
                            new_shape=array.stack([rows, array.gather(shape, rank - 1)]))
  return SparseTensor(indices, sparse_ids.values, sizes)


def _valid(ids, weights):
  """Without ids below 0, and those whose weight is not positive."""
  keep = apply_op('GreaterEqual', x=ids.values, y=convert(0, ids.values.dtype))
  if weights is not None:
    positive = apply_op('Greater', x=weights.values, y=array.zeros_like(weights.values))
    keep = apply_op('LogicalAnd', x=keep, y=positive)
  places = array.reshape(array.where(keep), [-1])
  kept = lambda s: None if s is None else SparseTensor(
      array.gather(s.indices, places), array.gather(s.values, places), s.dense_shape)
  return kept(ids), kept(weights)


def _filled(ids, value):
  """(the ids with `value` in each row that has none, which rows those are)."""
  made = apply_op('SparseFillEmptyRows', indices=ids.indices, values=ids.values,
                  dense_shape=ids.dense_shape, default_value=convert(value, ids.values.dtype))
  return SparseTensor(made[0], made[1], ids.dense_shape), made[2]


@export('contrib.layers.embedding_lookup_unique')
def embedding_lookup_unique(params, ids, partition_strategy='mod', name=None):
  """embedding_lookup that looks each id up once, which is less work where ids come often."""
  with name_scope(name, 'EmbeddingLookupUnique', [ids] + [p for p in (
      params if isinstance(params, list) else [params]) if isinstance(p, _leat.Output)]):
    ids = convert(ids)
    unique, places = array.unique(array.reshape(ids, [-1]))
    found = embedding.embedding_lookup(params, unique, partition_strategy)
    flat = array.gather(found, places)
    result = array.reshape(flat, array.concat([array.shape(ids), array.slice(
        array.shape(found), [1], [-1])], 0))
    result.set_shape(ids.get_shape().concatenate(found.get_shape()[1:]))
    return result


def _embeddings(vocab_size, embed_dim, initializer, regularizer, trainable):
  return variables.model_variable('embeddings', shape=[vocab_size, embed_dim],
                                  initializer=initializer, regularizer=regularizer,
                                  trainable=trainable)


@export('contrib.layers.embed_sequence')
def embed_sequence(ids, vocab_size=None, embed_dim=None, unique=False, initializer=None,
                   regularizer=None, trainable=True, scope=None, reuse=None):
  """Embeddings of ids [batch, length]: [batch, length, embed_dim]. With `reuse` the variable
  'embeddings' of the scope is taken. ValueError where a size is missing without it."""
  if not (reuse or (vocab_size and embed_dim)):
    raise ValueError('Must specify vocab size and embedding dimension when not reusing. Got '
                     'vocab_size=%s and embed_dim=%s' % (vocab_size, embed_dim))
  with variable_scope(scope, 'EmbedSequence', [ids], reuse=reuse):
    shape = None if reuse and not (vocab_size and embed_dim) else [vocab_size, embed_dim]
    embeddings = variables.model_variable('embeddings', shape=shape, initializer=initializer,
                                          regularizer=regularizer, trainable=trainable)
    if unique:
      return embedding_lookup_unique(embeddings, ids)
    return embedding.embedding_lookup(embeddings, ids)


@export('contrib.layers.bow_encoder')
def bow_encoder(ids, vocab_size, embed_dim, sparse_lookup=True, initializer=None, regularizer=None,
                trainable=True, scope=None, reuse=None):
  """The mean of the embeddings of ids [batch, length] (a tensor, or a SparseTensor, which needs
  sparse_lookup): [batch, embed_dim]. With sparse_lookup the id 0 of a tensor is no id."""
  is_sparse = isinstance(ids, SparseTensor)
  if is_sparse and not sparse_lookup:
    raise TypeError('ids are expected to be a Tensor without sparse_lookup, got: %s' % (ids,))
  with variable_scope(scope, 'bow_encoder', [ids], reuse=reuse):
    embeddings = _embeddings(vocab_size, embed_dim, initializer, regularizer, trainable)
    if sparse_lookup:
      return safe_embedding_lookup_sparse([embeddings], ids if is_sparse else dense_to_sparse(ids),
                                          combiner='mean', default_id=0)
    return math.reduce_mean(embedding.embedding_lookup(embeddings, convert(ids)), axis=1)
