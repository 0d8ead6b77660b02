"""tf.confusion_matrix, and how labels, predictions and weights are brought to one rank.

Programs give labels as [batch] or [batch, 1]. The functions here take a last dimension of 1 away
where the other value has none, while building if the ranks are known, else in the step.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._ops import array, checks, control_flow, math


def _may_end_in_one(tensor):
  sizes = tensor.get_shape()
  return sizes.ndims is None or sizes.ndims > 0 and sizes[-1].is_compatible_with(1)


def squeezed_if(condition, tensor):
  """The tensor without its last dimension where the condition holds in the step."""
  return control_flow.cond(condition, lambda: array.squeeze(tensor, [-1]),
                           lambda: array.identity(tensor))


def remove_squeezable_dimensions(labels, predictions, expected_rank_diff=0, name=None):
  """(labels, predictions), one of them without its last dimension where the ranks differ by one
  more than rank(predictions) - rank(labels) = expected_rank_diff."""
  with name_scope(name, 'remove_squeezable_dimensions', [labels, predictions]):
    labels, predictions = convert(labels), convert(predictions)
    a, b = labels.get_shape().ndims, predictions.get_shape().ndims
    if a is not None and b is not None:
      if b - a == expected_rank_diff + 1:
        predictions = array.squeeze(predictions, [-1])
      elif b - a == expected_rank_diff - 1:
        labels = array.squeeze(labels, [-1])
      return labels, predictions
    difference = array.rank(predictions) - array.rank(labels)
    squeezed = predictions
    if _may_end_in_one(predictions):
      squeezed = squeezed_if(math.equal(expected_rank_diff + 1, difference), predictions)
    if _may_end_in_one(labels):
      labels = squeezed_if(math.equal(expected_rank_diff - 1, difference), labels)
    return labels, squeezed


def without_extra_dimension(weights, labels):
  """The weights without a last dimension of 1 that the labels do not have."""
  a, b = weights.get_shape().ndims, labels.get_shape().ndims
  if a is not None and b is not None:
    return array.squeeze(weights, [-1]) if a == b + 1 else weights
  if a == 0 or not _may_end_in_one(weights):
    return weights
  return squeezed_if(math.equal(array.rank(weights), array.rank(labels) + 1), weights)


@export('confusion_matrix', 'train.confusion_matrix', 'math.confusion_matrix')
def confusion_matrix(labels, predictions, num_classes=None, dtype=dtypes.int32, name=None,
                     weights=None):
  """How often label i was predicted as j, at [i, j], each time counted with its weight.

  Args:
    labels, predictions: integers, [n] or [n, 1].
    num_classes: the size of the matrix; one more than the largest label or prediction, if None.
    weights: of the shape of `predictions`.

  Returns:
    [num_classes, num_classes] of `dtype`.
  """
  with name_scope(name, 'confusion_matrix', [predictions, labels, num_classes, weights]) as scope:
    labels, predictions = remove_squeezable_dimensions(
        convert(labels, name='labels'), convert(predictions, name='predictions'))
    predictions, labels = math.cast(predictions, dtypes.int64), math.cast(labels, dtypes.int64)
    labels = _checked(labels, checks.assert_non_negative(
        labels, message='`labels` contains negative values'))
    predictions = _checked(predictions, checks.assert_non_negative(
        predictions, message='`predictions` contains negative values'))
    if num_classes is None:
      num_classes = apply_op('Maximum', x=math.reduce_max(predictions),
                             y=math.reduce_max(labels)) + 1
    else:
      classes = math.cast(num_classes, dtypes.int64)
      labels = _checked(labels, checks.assert_less(
          labels, classes, message='`labels` out of bound'))
      predictions = _checked(predictions, checks.assert_less(
          predictions, classes, message='`predictions` out of bound'))
    if weights is None:
      values = array.ones_like(predictions, dtype)
    else:
      weights = convert(weights, name='weights')
      predictions.get_shape().assert_is_compatible_with(weights.get_shape())
      values = math.cast(weights, dtype)
    shape = math.cast(array.stack([num_classes, num_classes]), dtypes.int64)
    indices = array.stack([labels, predictions], axis=1)
    return apply_op('ScatterNd', name=scope, indices=indices, updates=values, shape=shape)


def _checked(tensor, check):
  with control_dependencies([check]):
    return array.identity(tensor)
