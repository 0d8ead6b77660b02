"""rejection_sample, stratified_sample: batches of the examples that chance accepts."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.value import constant_value
from leat._contrib.training.stored_sparse import int32_ids
from leat._ops import array, control_flow, math, random, variables
from leat._platform import log
from leat._train import batch as batching


def _checked(tensors, enqueue_many):
  """The tensors of a list; ValueError where their batches differ."""
  found = [convert(t) for t in tensors]
  if enqueue_many:
    size = None
    for t in found:
      shape = t.get_shape().with_rank_at_least(1)
      size = shape[0] if size is None else size.merge_with(shape[0])
  return found


def _one_by_one(tensors, name, capacity, threads):
  """The rows of batches, one in each step."""
  rows = batching.batch(tensors, 1, num_threads=threads, capacity=capacity, enqueue_many=True,
                      name=name)
  rows = rows if isinstance(rows, list) else [rows]
  return [array.squeeze(r, [0]) for r in rows]


@export('contrib.training.rejection_sample')
def rejection_sample(tensors, accept_prob_fn, batch_size, queue_threads=1, enqueue_many=False,
                     prebatch_capacity=16, prebatch_threads=1, runtime_checks=False, name=None):
  """Batches, a list of tensors, of the examples that are accepted with the probability
  accept_prob_fn(tensors), a scalar from 0 to 1, which a step checks with `runtime_checks`. With
  `enqueue_many`, the tensors are batches of examples."""
  tensors = list(tensors)
  with name_scope(name, 'rejection_sample', [t for t in tensors if isinstance(t, _leat.Output)]):
    tensors = _checked(tensors, enqueue_many)
    if enqueue_many:
      tensors = _one_by_one(tensors, 'prebatch', prebatch_capacity, prebatch_threads)
    probability = convert(accept_prob_fn(tensors))
    probability.get_shape().assert_has_rank(0)
    if runtime_checks:
      in_range = apply_op('LogicalAnd', x=probability >= 0.0, y=probability <= 1.0)
      check = control_flow.Assert(in_range, [
          'The result of accept_prob_fn must be from 0 to 1, is', probability])
      with control_dependencies([check]):
        probability = array.identity(probability, name='prob_with_checks')
    found = batching.maybe_batch(tensors, random.random_uniform([]) < probability, batch_size,
                                 queue_threads)
    return found if isinstance(found, list) else [found]


def _check_probabilities(values, what):
  """Operations that fail where these are no probabilities; ValueError where that is known."""
  known = constant_value(values)
  if known is not None:
    import numpy as np
    if (known < 0).any() or abs(np.sum(known) - 1) > 1e-4:
      raise ValueError('%s must be positive and have the sum 1, are %s' % (what, known))
    return []
  fine = apply_op('LogicalAnd', x=math.reduce_all(values >= 0.0),
                  y=math.abs(math.reduce_sum(values) - 1.0) < 1e-4)
  return [control_flow.Assert(fine, ['%s must be positive and have the sum 1, are' % what, values])]


def _seen_distribution(labels, classes):
  """How often each class was seen among all labels so far, as probabilities [classes]."""
  seen = variables.Variable(array.zeros([classes], dtypes.int64), trainable=False,
                            name='class_count', dtype=dtypes.int64)
  hot = array.one_hot(labels, classes, dtype=dtypes.int64)
  if hot.get_shape().ndims == 2:
    hot = math.reduce_sum(hot, 0)
  counts = seen.assign_add(hot)
  return math.cast(math.truediv(counts, math.reduce_sum(counts)), dtypes.float32)


def _acceptance(initial, target):
  """The probability of accepting each class: target / initial, the largest of which is 1."""
  ratios = target / initial
  ratios = array.where(apply_op('IsNan', x=ratios), array.zeros_like(ratios), ratios)
  return ratios / math.reduce_max(ratios)


@export('contrib.training.stratified_sample')
def stratified_sample(tensors, labels, target_probs, batch_size, init_probs=None,
                      enqueue_many=False, queue_capacity=16, threads_per_queue=1, name=None):
  """(list of tensors, labels [batch]): batches in which each class stands with its probability in
  `target_probs` [classes]. `init_probs` are those of the data; without them they are counted while
  the data come. An example is in `tensors`, with its class in `labels`; with `enqueue_many`, both
  are batches."""
  tensors = list(tensors)
  with name_scope(name, 'stratified_sample', [labels]):
    tensors = _checked(tensors, False)
    labels = int32_ids(labels)
    if enqueue_many:
      _checked(tensors + [labels], True)
    elif labels.get_shape().ndims not in (None, 0):
      raise ValueError('labels must be a scalar, has the shape %s' % labels.get_shape())
    target = math.cast(convert(target_probs), dtypes.float32)
    target.get_shape().assert_has_rank(1)
    classes = target.get_shape()[0].value
    checks = _check_probabilities(target, 'target_probs')
    if init_probs is None:
      initial = _seen_distribution(labels, classes)
    else:
      initial = math.cast(convert(init_probs), dtypes.float32)
      initial.get_shape().assert_is_compatible_with(target.get_shape())
      checks += _check_probabilities(initial, 'init_probs')
    checks.append(control_flow.Assert(
        math.reduce_all(apply_op('LogicalAnd', x=labels >= 0, y=labels < classes)),
        ['labels must be from 0 to %d, are' % (classes - 1), labels]))
    with control_dependencies(checks):
      labels = array.identity(labels)
      accept = _acceptance(initial, target)
    _warn_of_waste(initial, target)
    if enqueue_many:
      rows = _one_by_one(tensors + [labels], 'prebatch', queue_capacity, threads_per_queue)
      tensors, labels = rows[:-1], rows[-1]
    batch = rejection_sample(tensors + [labels], lambda items: array.gather(accept, items[-1]),
                             batch_size, threads_per_queue, prebatch_capacity=queue_capacity)
    return batch[:-1], batch[-1]


def _warn_of_waste(initial, target):
  """Says so where more than half of the data will be thrown away."""
  initial, target = constant_value(initial), constant_value(target)
  if initial is None or target is None:
    return
  import numpy as np
  with np.errstate(divide='ignore', invalid='ignore'):
    ratios = np.nan_to_num(target / initial, posinf=np.inf)
  if np.max(ratios) > 2:
    log.warning('stratified_sample will reject %d %% of the examples', 100 - 100 / np.max(ratios))
