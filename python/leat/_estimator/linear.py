"""LinearClassifier, LinearRegressor: a weighted sum of feature columns."""
from __future__ import annotations

import math as plain_math

from leat._export import export
from leat._estimator import head as heads
from leat._estimator import optimizers
from leat._estimator.estimator import Estimator
from leat._feature import layers
from leat._ops import array, losses, nn, partitioned
from leat._ops.variable_scope import variable_scope
from leat._train import summary
from leat._train.optimizers import FtrlOptimizer

_LEARNING_RATE = 0.2
LARGE, SMALL = 64 << 20, 256 << 10   # bytes of the smallest part of a variable that is split


def partitioner(config, least=LARGE):
  """Large variables are spread over the parameter servers."""
  return partitioned.min_max_variable_partitioner(
      max_partitions=max(1, config.num_ps_replicas if config else 0), min_slice_size=least)


def logits_of(features, feature_columns, units, sparse_combiner):
  """The logits [batch, units], with summaries of the weights."""
  variables = {}
  logits = layers.linear_model(features, feature_columns, units, sparse_combiner,
                               cols_to_vars=variables)
  bias = variables.pop('bias')
  weights = [array.reshape(v, [-1]) for found in variables.values() for v in found]
  if units > 1:
    summary.histogram('bias', bias[0])
  else:
    summary.scalar('bias', array.reshape(bias[0], []))
  summary.scalar('fraction_of_zero_weights', nn.zero_fraction(array.concat(weights, 0)))
  return logits


def default_optimizer(feature_columns, learning_rate=_LEARNING_RATE):
  rate = min(learning_rate, 1.0 / plain_math.sqrt(len(feature_columns)))
  return FtrlOptimizer(learning_rate=rate)


def _model_fn(head, feature_columns, optimizer, given_partitioner, sparse_combiner):
  def model_fn(features, labels, mode, config):
    if not isinstance(features, dict):
      raise ValueError('features should be a dictionary of `Tensor`s. Given type: %s' %
                       type(features))
    found = optimizers.instance(optimizer or default_optimizer(feature_columns), _LEARNING_RATE)
    with variable_scope('linear', values=list(features.values()),
                        partitioner=given_partitioner or partitioner(config)):
      logits = logits_of(features, feature_columns, head.logits_dimension, sparse_combiner)
      return head.spec(features, mode, logits, labels, found)
  return model_fn


@export('estimator.LinearClassifier')
class LinearClassifier(Estimator):
  """Classes by a weighted sum of feature columns."""

  def __init__(self, feature_columns, model_dir=None, n_classes=2, weight_column=None,
               label_vocabulary=None, optimizer='Ftrl', config=None, partitioner=None,
               warm_start_from=None, loss_reduction=losses.Reduction.SUM, sparse_combiner='sum'):
    head = heads.classifier_head(n_classes, weight_column=weight_column,
                                 label_vocabulary=label_vocabulary, loss_reduction=loss_reduction)
    super().__init__(_model_fn(head, tuple(feature_columns or []), optimizer, partitioner,
                               sparse_combiner), model_dir, config, None, warm_start_from)


@export('estimator.LinearRegressor')
class LinearRegressor(Estimator):
  """Values by a weighted sum of feature columns."""

  def __init__(self, feature_columns, model_dir=None, label_dimension=1, weight_column=None,
               optimizer='Ftrl', config=None, partitioner=None, warm_start_from=None,
               loss_reduction=losses.Reduction.SUM, sparse_combiner='sum'):
    head = heads.RegressionHead(label_dimension, weight_column=weight_column,
                                loss_reduction=loss_reduction)
    super().__init__(_model_fn(head, tuple(feature_columns or []), optimizer, partitioner,
                               sparse_combiner), model_dir, config, None, warm_start_from)
