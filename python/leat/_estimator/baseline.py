"""BaselineClassifier, BaselineRegressor: models that ignore the features and learn the distribution
of the labels alone, as something to compare other models with."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._estimator import head as heads
from leat._estimator import optimizers
from leat._estimator.estimator import Estimator
from leat._ops import array, initializers, losses
from leat._ops.variable_scope import get_variable, variable_scope

_LEARNING_RATE = 0.3


def _batch_size(features):
  values = list(features.values()) if isinstance(features, dict) else [features]
  if not values:
    raise ValueError('features should be a dictionary of `Tensor`s with at least one of them')
  first = values[0]
  if hasattr(first, 'dense_shape'):
    return array.gather(first.dense_shape, 0)
  return array.shape(convert(first))[0]


def _logits(features, width):
  """The bias for each example, [batch, width]."""
  with variable_scope('baseline', values=list(features.values())):
    bias = get_variable('bias', [width], dtypes.float32, initializers.zeros_initializer())
    return bias * array.ones([_batch_size(features), width])


def _model_fn(head, optimizer):
  def model_fn(features, labels, mode, config):
    del config
    if not isinstance(features, dict):
      raise ValueError('features should be a dictionary of `Tensor`s. Given type: %s' %
                       type(features))
    return head.spec(features, mode, _logits(features, head.logits_dimension), labels,
                     optimizers.instance(optimizer, _LEARNING_RATE))
  return model_fn


@export('estimator.BaselineClassifier')
class BaselineClassifier(Estimator):
  """Predicts how often each of n_classes classes is there."""

  def __init__(self, model_dir=None, n_classes=2, weight_column=None, label_vocabulary=None,
               optimizer='Ftrl', config=None, loss_reduction=losses.Reduction.SUM):
    head = heads.classifier_head(n_classes, weight_column=weight_column,
                                 label_vocabulary=label_vocabulary, loss_reduction=loss_reduction)
    super().__init__(_model_fn(head, optimizer), model_dir, config)


@export('estimator.BaselineRegressor')
class BaselineRegressor(Estimator):
  """Predicts the mean of the labels."""

  def __init__(self, model_dir=None, label_dimension=1, weight_column=None, optimizer='Ftrl',
               config=None, loss_reduction=losses.Reduction.SUM):
    head = heads.RegressionHead(label_dimension, weight_column=weight_column,
                                loss_reduction=loss_reduction)
    super().__init__(_model_fn(head, optimizer), model_dir, config)
