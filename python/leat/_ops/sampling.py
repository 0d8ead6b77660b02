"""Losses over many classes of which only samples are computed, and what draws the samples."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import get_seed, name_scope
from leat._graph.value import constant_value
from leat._ops import array, embedding, math, matrix, nn


def _sampled(op, true_classes, num_true, num_sampled, unique, seed, name, **more):
  """(sampled classes, expected counts of the true ones, of the sampled ones)."""
  first, second = get_seed(seed)
  return apply_op(op, name=name, true_classes=true_classes, num_true=num_true,
                  num_sampled=num_sampled, unique=unique, seed=first or 0, seed2=second or 0,
                  **more)


@export('nn.uniform_candidate_sampler', 'random.uniform_candidate_sampler')
def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None,
                              name=None):
  """Classes below range_max, each as likely as the others."""
  return _sampled('UniformCandidateSampler', true_classes, num_true, num_sampled, unique, seed,
                  name, range_max=range_max)


@export('nn.log_uniform_candidate_sampler', 'random.log_uniform_candidate_sampler')
def log_uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None,
                                  name=None):
  """Classes of which lower ones are likelier, as words sorted by frequency are."""
  return _sampled('LogUniformCandidateSampler', true_classes, num_true, num_sampled, unique, seed,
                  name, range_max=range_max)


@export('nn.learned_unigram_candidate_sampler', 'random.learned_unigram_candidate_sampler')
def learned_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max,
                                      seed=None, name=None):
  """Classes as likely as they were among the true ones so far."""
  return _sampled('LearnedUnigramCandidateSampler', true_classes, num_true, num_sampled, unique,
                  seed, name, range_max=range_max)


@export('nn.fixed_unigram_candidate_sampler', 'random.fixed_unigram_candidate_sampler')
def fixed_unigram_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max,
                                    vocab_file='', distortion=1.0, num_reserved_ids=0, num_shards=1,
                                    shard=0, unigrams=(), seed=None, name=None):
  """Classes with the odds that a file or a list gives."""
  return _sampled('FixedUnigramCandidateSampler', true_classes, num_true, num_sampled, unique, seed,
                  name, range_max=range_max, vocab_file=vocab_file, distortion=distortion,
                  num_reserved_ids=num_reserved_ids, num_shards=num_shards, shard=shard,
                  unigrams=list(unigrams))


@export('nn.all_candidate_sampler', 'random.all_candidate_sampler')
def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
  """All classes, for tests."""
  return _sampled('AllCandidateSampler', true_classes, num_true, num_sampled, unique, seed, name)


@export('nn.compute_accidental_hits')
def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
  """(rows, places, weights) of samples that are true classes."""
  first, second = get_seed(seed)
  return apply_op('ComputeAccidentalHits', name=name, true_classes=true_classes,
                  sampled_candidates=sampled_candidates, num_true=num_true, seed=first or 0,
                  seed2=second or 0)


def _compute_sampled_logits(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1,
                            sampled_values=None, subtract_log_q=True, remove_accidental_hits=False,
                            partition_strategy='mod', name=None, seed=None):
  """(logits, labels) [batch, num_true + num_sampled] of the true and the sampled classes."""
  weights = list(weights) if isinstance(weights, (list, tuple)) or hasattr(
      weights, '_get_variable_list') else [weights]
  with name_scope(name, 'compute_sampled_logits', weights + [biases, inputs, labels]):
    labels = convert(labels)
    if labels.dtype != dtypes.int64:
      labels = math.cast(labels, dtypes.int64)
    flat = array.reshape(labels, [-1])
    if sampled_values is None:
      sampled_values = log_uniform_candidate_sampler(labels, num_true, num_sampled, True,
                                                     num_classes, seed)
    sampled, true_count, sampled_count = [array.stop_gradient(s) for s in sampled_values]
    sampled = math.cast(sampled, dtypes.int64)
    every = array.concat([flat, sampled], 0)
    rows = embedding.embedding_lookup(weights, every, partition_strategy)
    some_biases = embedding.embedding_lookup(biases, every, partition_strategy)
    if rows.dtype != inputs.dtype:
      rows = math.cast(rows, inputs.dtype)
      some_biases = math.cast(some_biases, inputs.dtype)
    count = array.shape(flat)[0]
    true_rows, true_biases = rows[:count], some_biases[:count]
    sampled_logits = matrix.matmul(inputs, rows[count:], transpose_b=True) + some_biases[count:]
    width = array.shape(true_rows)[1:2]
    products = array.expand_dims(inputs, 1) * array.reshape(true_rows, array.concat(
        [[-1, num_true], width], 0))
    true_logits = math.reduce_sum(products, 2) + array.reshape(true_biases, [-1, num_true])
    if remove_accidental_hits:
      sampled_logits += _accidental(labels, sampled, num_true, sampled_logits)
    if subtract_log_q:
      true_logits -= apply_op('Log', x=true_count)
      sampled_logits -= apply_op('Log', x=sampled_count)
    truth = array.concat([array.ones_like(true_logits) / num_true,
                          array.zeros_like(sampled_logits)], 1)
    return array.concat([true_logits, sampled_logits], 1), truth


def _accidental(labels, sampled, num_true, like):
  """What makes the logits of samples that are true classes very small."""
  row, place, weight = compute_accidental_hits(labels, sampled, num_true)
  indices = array.stack([row, math.cast(place, dtypes.int32)], 1)
  if weight.dtype != like.dtype:
    weight = math.cast(weight, like.dtype)
  return apply_op('SparseToDense', sparse_indices=indices, output_shape=array.shape(like),
                  sparse_values=weight, default_value=convert(0.0, like.dtype),
                  validate_indices=False)


@export('nn.nce_loss')
def nce_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1,
             sampled_values=None, remove_accidental_hits=False, partition_strategy='mod',
             name='nce_loss'):
  """The loss of telling true classes from sampled ones, a value for each example."""
  logits, truth = _compute_sampled_logits(
      weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True,
      remove_accidental_hits, partition_strategy, name)
  losses = nn.sigmoid_cross_entropy_with_logits(labels=truth, logits=logits, name='sampled_losses')
  return math.reduce_sum(losses, 1)


@export('nn.sampled_softmax_loss')
def sampled_softmax_loss(weights, biases, labels, inputs, num_sampled, num_classes, num_true=1,
                         sampled_values=None, remove_accidental_hits=True,
                         partition_strategy='mod', name='sampled_softmax_loss', seed=None):
  """The softmax loss over true and sampled classes, a value for each example."""
  logits, truth = _compute_sampled_logits(
      weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, True,
      remove_accidental_hits, partition_strategy, name, seed)
  truth = array.stop_gradient(truth, name='labels_stop_gradient')
  return nn.softmax_cross_entropy_with_logits_v2(labels=truth, logits=logits)


@export('nn.safe_embedding_lookup_sparse')
def safe_embedding_lookup_sparse(embedding_weights, sparse_ids, sparse_weights=None,
                                 combiner='mean', default_id=None, name=None,
                                 partition_strategy='div', max_norm=None):
  """embedding_lookup_sparse that accepts invalid ids, weights that are not positive, and rows
  without ids, which have the embedding of default_id or zeros. Ids may have more than two
  dimensions."""
  from leat._ops import sparse_shape
  if embedding_weights is None:
    raise ValueError('Missing embedding_weights %s.' % embedding_weights)
  weights = list(embedding_weights) if isinstance(embedding_weights, (list, tuple)) or hasattr(
      embedding_weights, '_get_variable_list') else [embedding_weights]
  if not weights:
    raise ValueError('Missing embedding_weights %s.' % embedding_weights)
  kind = None if sparse_weights is None else sparse_weights.dtype
  weights = [convert(w, kind) if kind is not None else w for w in weights]
  with name_scope(name, 'embedding_lookup', [sparse_ids.values]) as scope:
    shape, original = sparse_ids.dense_shape, sparse_ids
    known = sparse_ids.dense_shape.get_shape()[0].value
    rank = array.size(shape) if known is None else known
    outer = math.reduce_prod(shape[:rank - 1])
    flat = array.stack([outer, shape[rank - 1]])
    sparse_ids = sparse_shape.sparse_reshape(sparse_ids, flat)
    if sparse_weights is not None:
      sparse_weights = _with_indices(sparse_ids, sparse_weights.values)
    sparse_ids, sparse_weights = _pruned(sparse_ids, sparse_weights, combiner)
    sparse_ids, empty = sparse_shape.sparse_fill_empty_rows(sparse_ids, default_id or 0)
    if sparse_weights is not None:
      sparse_weights, _ = sparse_shape.sparse_fill_empty_rows(sparse_weights, 1.0)
    result = embedding.embedding_lookup_sparse(
        weights, sparse_ids, sparse_weights, partition_strategy,
        None if default_id is None else scope, combiner, max_norm)
    if default_id is None:
      mask = array.reshape(empty, [-1, 1])
      mask = apply_op('Tile', input=mask, multiples=array.stack([1, array.shape(result)[1]]))
      result = array.where(mask, array.zeros_like(result), result, name=scope)
    made = array.reshape(result, array.concat(
        [math.cast(original.dense_shape, dtypes.int32)[:rank - 1], array.shape(result)[1:]], 0))
    first = constant_value(original.dense_shape)
    if first is not None:
      made.set_shape([int(d) for d in first[:-1]] + result.get_shape().as_list()[1:])
    elif known is not None:
      made.set_shape([None] * (known - 1) + result.get_shape().as_list()[1:])
    return made


def _with_indices(sparse, values):
  from leat._ops.sparse import SparseTensor
  return SparseTensor(sparse.indices, values, sparse.dense_shape)


def _pruned(ids, weights, combiner):
  """Without negative ids and, unless they are summed, without weights that are not positive."""
  from leat._ops import sparse_shape
  valid = ids.values >= math.cast(0, ids.values.dtype)
  if weights is not None and combiner != 'sum':
    valid = apply_op('LogicalAnd', x=valid,
                     y=weights.values > math.cast(0, weights.values.dtype))
  ids = sparse_shape.sparse_retain(ids, valid)
  return ids, None if weights is None else sparse_shape.sparse_retain(weights, valid)
