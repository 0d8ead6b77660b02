"""contrib.losses.metric_learning: losses of embeddings that bring examples of one class together
and keep those of others apart.

Distances are matrices over a batch; where a loss is of triples (anchor, positive, negative), a
third dimension is of negatives. """
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops import array, diagonal, math, matrix, nn


def _maximum(x, y):
  return apply_op('Maximum', x=x, y=y)


def _log(x):
  return apply_op('Log', x=x)


def _distances(embeddings, squared=False):
  """The distances of all pairs, [batch, batch]: not negative, and exactly 0 from each to itself.
  The root has no gradient where a distance is 0."""
  lengths = math.reduce_sum(math.square(embeddings), 1, keepdims=True)
  products = matrix.matmul(embeddings, embeddings, transpose_b=True)
  squares = _maximum(lengths + array.transpose(lengths) - 2.0 * products, 0.0)
  is_zero = squares <= 0.0
  if not squared:
    zeros = math.cast(is_zero, squares.dtype)
    squares = math.sqrt(squares + zeros * 1e-16)
    squares = squares * (1.0 - zeros)
  return squares * (1.0 - diagonal.eye(array.shape(embeddings)[0], dtype=squares.dtype))


def _same(labels):
  """Whether two examples are of one class, [batch, batch]."""
  column = array.reshape(labels, [-1, 1])
  return math.equal(column, array.transpose(column))


def _positives(same):
  """1.0 for pairs of one class, 0.0 from each example to itself."""
  return math.cast(same, dtypes.float32) - diagonal.eye(array.shape(same)[0])


@export('contrib.losses.metric_learning.contrastive_loss')
def contrastive_loss(labels, embeddings_anchor, embeddings_positive, margin=1.0):
  """Pairs of embeddings [batch, n] with the label 1 come together, those with 0 are kept the margin
  apart."""
  distances = math.sqrt(math.reduce_sum(
      apply_op('SquaredDifference', x=embeddings_anchor, y=embeddings_positive), 1))
  labels = math.cast(labels, dtypes.float32)
  return math.reduce_mean(
      labels * math.square(distances) + (1. - labels) * math.square(_maximum(margin - distances,
                                                                            0.)),
      name='contrastive_loss')


@export('contrib.losses.metric_learning.triplet_semihard_loss')
def triplet_semihard_loss(labels, embeddings, margin=1.0):
  """Of each pair of one class, how far the negative is not the margin farther than the positive
  (arXiv:1503.03832). The negative is the nearest that is farther than the positive, or the farthest
  of all where there is none. labels [batch], embeddings [batch, n], of length 1."""
  labels = convert(labels)
  distances, same = _distances(embeddings, squared=True), _same(labels)
  negative = apply_op('LogicalNot', x=same)
  to_positive, to_negative = array.expand_dims(distances, 2), array.expand_dims(distances, 1)
  farther = apply_op('LogicalAnd', x=to_negative > to_positive, y=array.expand_dims(negative, 1))
  farther = math.cast(farther, dtypes.float32)
  # The smallest of those that count: what does not count is as large as the largest of the row.
  largest = math.reduce_max(to_negative, 2, keepdims=True)
  outside = math.reduce_min((to_negative - largest) * farther, 2, keepdims=True) + largest
  smallest = math.reduce_min(distances, 1, keepdims=True)
  inside = math.reduce_max((distances - smallest) * math.cast(negative, dtypes.float32), 1,
                           keepdims=True) + smallest
  found = math.reduce_sum(farther, 2) > 0.0
  chosen = array.where(found, array.squeeze(outside, [2]), inside + array.zeros_like(distances))
  positives = _positives(same)
  losses = _maximum((margin + distances - chosen) * positives, 0.0)
  return math.truediv(math.reduce_sum(losses), math.reduce_sum(positives),
                      name='triplet_semihard_loss')


@export('contrib.losses.metric_learning.lifted_struct_loss')
def lifted_struct_loss(labels, embeddings, margin=1.0):
  """Of each pair of one class, its distance against a soft minimum of both's distances to all of
  other classes (arXiv:1511.06452). labels [batch], embeddings [batch, n]."""
  labels = convert(labels)
  distances, same = _distances(embeddings), _same(labels)
  negative = math.cast(apply_op('LogicalNot', x=same), dtypes.float32)
  short = margin - distances
  smallest = math.reduce_min(short, 1, keepdims=True)
  largest = math.reduce_max((short - smallest) * negative, 1, keepdims=True) + smallest
  largest = _maximum(largest, array.transpose(largest))
  exponents = math.exp(array.expand_dims(short, 1) - array.expand_dims(largest, 2))
  sums = math.reduce_sum(exponents * array.expand_dims(negative, 1), 2)
  losses = largest + _log(sums + array.transpose(sums)) + distances
  positives = _positives(same)
  squares = math.square(_maximum(losses * positives, 0.0))
  # Each pair is there twice.
  return math.truediv(0.25 * math.reduce_sum(squares), math.reduce_sum(positives) / 2.0,
                      name='liftedstruct_loss')


@export('contrib.losses.metric_learning.npairs_loss')
def npairs_loss(labels, embeddings_anchor, embeddings_positive, reg_lambda=0.002,
                print_losses=False):
  """The cross entropy of each anchor's products with all positives, against those of its class, and
  a regularization of the lengths. labels [batch], embeddings [batch, n]."""
  length = lambda e: math.reduce_mean(math.reduce_sum(math.square(e), 1))
  regularization = math.multiply(
      0.25 * reg_lambda, length(embeddings_anchor) + length(embeddings_positive),
      name='l2regularization')
  products = matrix.matmul(embeddings_anchor, embeddings_positive, transpose_a=False,
                           transpose_b=True)
  targets = math.cast(_same(convert(labels)), dtypes.float32)
  targets /= math.reduce_sum(targets, 1, keepdims=True)
  entropy = nn.softmax_cross_entropy_with_logits(logits=products, labels=targets)
  entropy = math.reduce_mean(entropy, name='xentropy')
  if print_losses:
    from leat._ops import control
    entropy = control.Print(entropy, ['cross entropy:', entropy, 'l2loss:', regularization])
  return regularization + entropy
