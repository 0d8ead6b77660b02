"""contrib.metrics of numbers: counts, covariance, correlation, all values so far, and areas below
curves that are exact because all values are kept."""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies
from leat._ops import array, assign, control, control_flow, embedding, math
from leat._ops.assign import assign_add
from leat._ops.metrics import collected, fitted, metric_variable, safe_div
from leat._ops.variable_scope import variable_scope
from leat._ops.weights import broadcast_weights


@export('contrib.metrics.count')
def count(values, weights=None, metrics_collections=None, updates_collections=None, name=None):
  """The number of values, or the sum of their weights: (value, update), scalars of float32."""
  with variable_scope(name, 'count', (values, weights)):
    values = convert(values)
    total = metric_variable([], dtypes.float32, name='count')
    if weights is None:
      number = math.cast(array.size(values), dtypes.float32)
    else:
      values, _, weights = fitted(values, None, weights)
      weights = broadcast_weights(math.cast(weights, dtypes.float32), values)
      number = math.reduce_sum(weights)
    with control_dependencies([values]):
      update = assign_add(total, number)
    return collected(array.identity(total), update, metrics_collections, updates_collections)


@export('contrib.metrics.streaming_covariance')
def streaming_covariance(predictions, labels, weights=None, metrics_collections=None,
                         updates_collections=None, name=None):
  """The unbiased covariance of predictions and labels: the sum of products of what differs from the
  means, divided by the number of values less one. NaN of fewer than two values.

  Means move with each batch, and the sum of products is corrected by how far they moved (Chan,
  Golub and LeVeque's method), so that large means cost no precision."""
  with variable_scope(name, 'covariance', (predictions, labels, weights)):
    predictions, labels, weights = fitted(predictions, labels, weights)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    total, mean_p, mean_l, products = [metric_variable([], dtypes.float32, name=n) for n in (
        'count', 'mean_prediction', 'mean_label', 'comoment')]
    if weights is None:
      number = math.cast(array.size(labels), dtypes.float32)
      weighted = lambda x: x
    else:
      weights = broadcast_weights(math.cast(weights, dtypes.float32), labels)
      number = math.reduce_sum(weights)
      weighted = lambda x: x * weights
    new_total = assign_add(total, number)
    batch_p, batch_l = [safe_div(math.reduce_sum(weighted(x)), number)
                        for x in (predictions, labels)]
    step_p, step_l = [safe_div((batch - mean) * number, new_total)
                      for batch, mean in ((batch_p, mean_p), (batch_l, mean_l))]
    new_p, new_l = assign_add(mean_p, step_p), assign_add(mean_l, step_l)
    before_p, before_l = new_p - step_p, new_l - step_l
    own = math.reduce_sum(weighted((predictions - batch_p) * (labels - batch_l)))
    moved = (before_p - batch_p) * (before_l - batch_l) * safe_div(
        (new_total - number) * number, new_total)
    new_products = assign_add(products, own + moved)

    def covariance(products, number, part):
      few = apply_op('LessEqual', x=number, y=1.)
      return array.where(few, float('nan'), math.truediv(products, number - 1), name=part)
    value = covariance(convert(products), convert(total), 'covariance')
    with control_dependencies([new_products]):
      update = covariance(new_products, new_total, 'update_op')
    return collected(value, update, metrics_collections, updates_collections)


@export('contrib.metrics.streaming_pearson_correlation')
def streaming_pearson_correlation(predictions, labels, weights=None, metrics_collections=None,
                                  updates_collections=None, name=None):
  """The covariance, divided by both standard deviations."""
  with variable_scope(name, 'pearson_r', (predictions, labels, weights)):
    predictions, labels, weights = fitted(predictions, labels, weights)
    parts = [streaming_covariance(a, b, weights, name=n) for a, b, n in (
        (predictions, labels, 'covariance'), (predictions, predictions, 'variance_predictions'),
        (labels, labels, 'variance_labels'))]
    value, update = [math.truediv(both, math.sqrt(of_p) * math.sqrt(of_l), name=part)
                     for (both, of_p, of_l), part in zip(zip(*parts), ('pearson_r', 'update_op'))]
    return collected(value, update, metrics_collections, updates_collections)


@export('contrib.metrics.streaming_concat')
def streaming_concat(values, axis=0, max_size=None, metrics_collections=None,
                     updates_collections=None, name=None):
  """All values so far, one batch behind the other along the axis, at most `max_size` of them.
  ValueError where the rank, or a size other than that along the axis, is not known."""
  with variable_scope(name, 'streaming_concat', (values,)):
    values = convert(values)
    known = values.get_shape()
    if known.ndims is None:
      raise ValueError('`values` must have known statically known rank')
    axis = axis + known.ndims if axis < 0 else axis
    if not 0 <= axis < known.ndims:
      raise ValueError('axis = %r not in [0, %r)' % (axis, known.ndims))
    rest = known.as_list()[:axis] + known.as_list()[axis + 1:]
    if None in rest:
      raise ValueError('all dimensions of `values` must be statically known, besides %d: %s' % (
          axis, known))
    kept = metric_variable(rest[:axis] + [0] + rest[axis:], values.dtype.base_dtype,
                           validate_shape=False, name='array')
    old = convert(kept)
    old.set_shape(rest[:axis] + [None] + rest[axis:])
    if max_size is not None:
      free = max_size - array.shape(old)[axis]
      sizes = [-1] * known.ndims
      sizes[axis] = apply_op('Minimum', x=free, y=array.shape(values)[axis])
      values = array.slice(values, [0] * known.ndims, array.stack(sizes))
    update = assign.assign(kept, array.concat([old, values], axis), validate_shape=False)
    return collected(old, update.op, metrics_collections, updates_collections)


@export('contrib.metrics.aggregate_metrics')
def aggregate_metrics(*value_update_tuples):
  """(list of values, list of updates) of metrics."""
  if not value_update_tuples:
    raise ValueError('Expected at least one value_tensor/update_op pair')
  values, updates = zip(*value_update_tuples)
  return list(values), list(updates)


@export('contrib.metrics.aggregate_metric_map')
def aggregate_metric_map(names_to_tuples):
  """({name: value}, {name: update}) of {name: metric}."""
  return ({n: value for n, (value, _) in names_to_tuples.items()},
          {n: update for n, (_, update) in names_to_tuples.items()})


# ---- Exact areas --------------------------------------------------------------------------------


def _all(labels, predictions, weights):
  """(labels, predictions, weights of all batches as float32 vectors; the update)."""
  labels, predictions = convert(labels), convert(predictions)
  predictions.get_shape().assert_is_compatible_with(labels.get_shape())
  flat = lambda x: array.reshape(math.cast(x, dtypes.float32), [-1])
  if weights is None:
    weights = array.ones_like(math.cast(labels, dtypes.float32))
  else:
    weights = broadcast_weights(math.cast(weights, dtypes.float32), predictions)
  pairs = [streaming_concat(flat(x), name=n) for x, n in (
      (labels, 'concat_labels'), (predictions, 'concat_preds'), (weights, 'concat_weights'))]
  return [value for value, _ in pairs], control.group(*[update for _, update in pairs])


def _ordered(predictions, *others):
  """(predictions from the largest to the smallest, the others in that order, for each which of the
  distinct predictions it is)."""
  ordered, places = embedding.top_k(predictions, k=array.size(predictions))
  differs = math.cast(math.not_equal(ordered[1:], ordered[:-1]), dtypes.int32)
  group = array.concat([[0], math.cumsum(differs)], 0)
  return ordered, [array.gather(o, places) for o in others], group


def _area(curve, labels, predictions, weights):
  _, (labels, weights), group = _ordered(predictions, labels, weights)
  at_end = lambda x: apply_op('SegmentMax', data=math.cumsum(x), segment_ids=group)
  tp, fp = at_end(labels * weights), at_end((1. - labels) * weights)
  recall = tp / tp[-1]
  if curve == 'PR':
    x, y, first = recall, tp / (tp + fp), 1.
  else:
    x, y, first = fp / fp[-1], recall, 0.
  x, y = array.concat([[0.], x], 0), array.concat([[first], y], 0)
  return math.reduce_sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2.)


@export('contrib.metrics.streaming_dynamic_auc')
def streaming_dynamic_auc(labels, predictions, curve='ROC', metrics_collections=(),
                          updates_collections=(), name=None, weights=None):
  """The area below the curve ROC or PR through all predictions so far, which are kept. Labels are 0
  and 1, predictions any numbers; 0 where all labels are the same."""
  if curve not in ('PR', 'ROC'):
    raise ValueError('curve must be either ROC or PR, %s unknown' % (curve,))
  with variable_scope(name, 'dynamic_auc', (labels, predictions, weights)):
    (labels, predictions, weights), update = _all(labels, predictions, weights)
    both = _has_both(labels, weights)
    value = control_flow.cond(both, lambda: _area(curve, labels, predictions, weights),
                              lambda: convert(0.))
    return collected(value, update, metrics_collections, updates_collections)


def _has_both(labels, weights):
  """Whether there are positives and negatives with a weight."""
  positive = math.reduce_sum(labels * weights)
  negative = math.reduce_sum((1. - labels) * weights)
  return apply_op('LogicalAnd', x=positive > 0., y=negative > 0.)


AucWithConfidenceIntervalData = collections.namedtuple(
    'AucWithConfidenceIntervalData', ['auc', 'lower', 'upper'])


@export('contrib.metrics.auc_with_confidence_intervals')
def auc_with_confidence_intervals(labels, predictions, weights=None, alpha=0.95,
                                  logit_transformation=True, metrics_collections=(),
                                  updates_collections=(), name=None):
  """(area below the ROC curve with the limits of its confidence interval, update). `alpha` is the
  probability of the interval, which is of the area's logit with logit_transformation. ValueError
  where alpha is not between 0 and 1."""
  if not 0 < alpha < 1:
    raise ValueError('alpha must be between 0 and 1; currently %.02f' % alpha)
  with variable_scope(name, 'auc_with_confidence_intervals', (labels, predictions, weights)):
    (labels, predictions, weights), update = _all(labels, predictions, weights)
    found = control_flow.cond(
        _has_both(labels, weights),
        lambda: _interval(labels, predictions, weights, alpha, logit_transformation),
        lambda: (convert(0.), convert(0.), convert(0.)))
    return collected(AucWithConfidenceIntervalData(*found), update, metrics_collections,
                     updates_collections)


def _interval(labels, predictions, weights, alpha, logit_transformation):
  """(area, lower, upper), by the placement of each example among those of the other label (DeLong,
  DeLong and Clarke-Pearson): the share of these that it is ranked above, ties counted by half."""
  import statistics
  _, (labels, weights), group = _ordered(predictions, labels, weights)
  positive, negative = labels * weights, (1. - labels) * weights

  def placement(own):
    """Of each example, the share of `own` with larger predictions, and half of that with equal."""
    sums = apply_op('SegmentSum', data=own, segment_ids=group)
    larger = math.cumsum(sums) - sums
    return array.gather((larger + sums / 2.) / math.reduce_sum(own), group)

  def moments(place, own):
    total = math.reduce_sum(own)
    mean = math.reduce_sum(place * own) / total
    variance = math.reduce_sum(own * math.square(place - mean)) / (total - 1.)
    return mean, variance / total
  area, by_negatives = moments(placement(positive), negative)
  _, by_positives = moments(1. - placement(negative), positive)
  deviation = math.sqrt(by_negatives + by_positives)
  z = statistics.NormalDist().inv_cdf((1. - alpha) / 2.)
  if logit_transformation:
    logit = apply_op('Log', x=area / (1. - area))
    width = z * deviation / (area * (1. - area))
    lower, upper = math.sigmoid(logit + width), math.sigmoid(logit - width)
  else:
    lower, upper = area + z * deviation, area - z * deviation
  # An area of 0 or 1 has no variance.
  certain = apply_op('LogicalOr', x=math.equal(area, 0.), y=math.equal(area, 1.))
  return area, array.where(certain, area, lower), array.where(certain, area, upper)
