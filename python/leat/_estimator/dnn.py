"""DNNClassifier, DNNRegressor: fully connected layers over feature columns."""
from __future__ import annotations

from leat._export import export
from leat._estimator import head as heads
from leat._estimator import linear, optimizers
from leat._estimator.estimator import Estimator
from leat._estimator.model_fn import ModeKeys
from leat._feature import layers as columns
from leat._graph.apply import apply_op
from leat._ops import initializers, layers, losses, nn
from leat._ops.variable_scope import variable_scope
from leat._train import summary

_LEARNING_RATE = 0.05


def relu(features, name=None):
  return apply_op('Relu', name=name, features=features)


def _summarize(value, tag):
  summary.scalar('%s/fraction_of_zero_values' % tag, nn.zero_fraction(value))
  summary.histogram('%s/activation' % tag, value)


def logits_of(features, mode, units, hidden_units, feature_columns, activation_fn, dropout,
              input_layer_partitioner, batch_norm):
  """The logits [batch, units] above hidden layers of hidden_units."""
  with variable_scope('input_from_feature_columns', values=list(features.values()),
                      partitioner=input_layer_partitioner):
    net = columns.input_layer(features, feature_columns)
  return logits_above(net, mode, units, hidden_units, activation_fn, dropout, batch_norm)


def logits_above(net, mode, units, hidden_units, activation_fn, dropout, batch_norm):
  """The same above an input [batch, width]."""
  training = mode == ModeKeys.TRAIN
  for number, width in enumerate(hidden_units):
    name = 'hiddenlayer_%d' % number
    net = layers.dense(net, width, activation=activation_fn, name=name,
                       kernel_initializer=initializers.glorot_uniform_initializer())
    if dropout is not None and training:
      net = layers.dropout(net, rate=dropout, training=True)
    if batch_norm:
      with variable_scope(name):
        net = layers.batch_normalization(net, momentum=0.999, training=training,
                                         name='batchnorm_%d' % number)
    _summarize(net, 'dnn/' + name)
  logits = layers.dense(net, units, activation=None, name='logits',
                        kernel_initializer=initializers.glorot_uniform_initializer())
  _summarize(logits, 'dnn/logits')
  return logits


def _model_fn(head, hidden_units, feature_columns, optimizer, activation_fn, dropout,
              input_layer_partitioner, batch_norm):
  def model_fn(features, labels, mode, config):
    if not isinstance(features, dict):
      raise ValueError('features should be a dictionary of `Tensor`s. Given type: %s' %
                       type(features))
    found = optimizers.instance(optimizer, _LEARNING_RATE)
    with variable_scope('dnn', values=list(features.values()),
                        partitioner=linear.partitioner(config, linear.SMALL)):
      logits = logits_of(
          features, mode, head.logits_dimension, hidden_units, feature_columns, activation_fn,
          dropout, input_layer_partitioner or linear.partitioner(config), batch_norm)
      return head.spec(features, mode, logits, labels, found)
  return model_fn


@export('estimator.DNNClassifier')
class DNNClassifier(Estimator):
  """Classes by hidden layers of hidden_units."""

  def __init__(self, hidden_units, feature_columns, model_dir=None, n_classes=2,
               weight_column=None, label_vocabulary=None, optimizer='Adagrad',
               activation_fn=relu, dropout=None, input_layer_partitioner=None, config=None,
               warm_start_from=None, loss_reduction=losses.Reduction.SUM, batch_norm=False):
    head = heads.classifier_head(n_classes, weight_column=weight_column,
                                 label_vocabulary=label_vocabulary, loss_reduction=loss_reduction)
    super().__init__(_model_fn(
        head, hidden_units, tuple(feature_columns or []), optimizer, activation_fn, dropout,
        input_layer_partitioner, batch_norm), model_dir, config, None, warm_start_from)


@export('estimator.DNNRegressor')
class DNNRegressor(Estimator):
  """Values by hidden layers of hidden_units."""

  def __init__(self, hidden_units, feature_columns, model_dir=None, label_dimension=1,
               weight_column=None, optimizer='Adagrad', activation_fn=relu, dropout=None,
               input_layer_partitioner=None, config=None, warm_start_from=None,
               loss_reduction=losses.Reduction.SUM, batch_norm=False):
    head = heads.RegressionHead(label_dimension, weight_column=weight_column,
                                loss_reduction=loss_reduction)
    super().__init__(_model_fn(
        head, hidden_units, tuple(feature_columns or []), optimizer, activation_fn, dropout,
        input_layer_partitioner, batch_norm), model_dir, config, None, warm_start_from)
