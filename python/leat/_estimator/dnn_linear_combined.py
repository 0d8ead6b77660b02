"""DNNLinearCombinedClassifier, DNNLinearCombinedRegressor: the sum of a linear model and of hidden
layers, each trained by an optimizer of its own (wide and deep learning, arXiv:1606.07792)."""
from __future__ import annotations

from leat._export import export
from leat._estimator import dnn, linear, optimizers
from leat._estimator import head as heads
from leat._estimator.estimator import Estimator
from leat._graph import graph as graphs
from leat._graph.scope import GraphKeys, control_dependencies
from leat._ops import assign, control, losses
from leat._ops.variable_scope import variable_scope
from leat._train import step as steps

_DNN_LEARNING_RATE, _LINEAR_LEARNING_RATE = 0.05, 0.005


def _trainable(scope):
  return graphs.get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def _model_fn(head, wide, deep, input_layer_partitioner):
  """`wide` is (columns, optimizer, combiner), `deep` (columns, optimizer, hidden units, activation,
  dropout, batch_norm)."""
  if not wide[0] and not deep[0]:
    raise ValueError('Either linear_feature_columns or dnn_feature_columns must be defined.')
  if deep[0] and not deep[2]:
    raise ValueError('dnn_hidden_units must be defined when dnn_feature_columns is specified.')

  def model_fn(features, labels, mode, config):
    if not isinstance(features, dict):
      raise ValueError('features should be a dictionary of `Tensor`s. Given type: %s' %
                       type(features))
    split = input_layer_partitioner or linear.partitioner(config)
    parts, trained = [], []
    if deep[0]:
      columns, optimizer, hidden_units, activation_fn, dropout, batch_norm = deep
      with variable_scope('dnn', values=list(features.values()),
                          partitioner=linear.partitioner(config, linear.SMALL)) as scope:
        parts.append(dnn.logits_of(features, mode, head.logits_dimension, hidden_units, columns,
                                   activation_fn, dropout, split, batch_norm))
      trained.append((optimizers.instance(optimizer, _DNN_LEARNING_RATE), scope.name))
    if wide[0]:
      columns, optimizer, combiner = wide
      rate = min(_LINEAR_LEARNING_RATE, len(columns) ** -0.5)
      with variable_scope('linear', values=list(features.values()), partitioner=split) as scope:
        parts.append(linear.logits_of(features, columns, head.logits_dimension, combiner))
      trained.append((optimizers.instance(optimizer, rate), scope.name))
    logits = parts[0] + parts[1] if len(parts) == 2 else parts[0]

    def train_op_fn(loss):
      done = control.group(*[found.minimize(loss, var_list=_trainable(name))
                             for found, name in trained])
      with control_dependencies([done]):
        return assign.assign_add(steps.get_global_step(), 1).op
    return head.spec(features, mode, logits, labels, train_op_fn=train_op_fn)
  return model_fn


@export('estimator.DNNLinearCombinedClassifier')
class DNNLinearCombinedClassifier(Estimator):
  """Classes by a linear model and hidden layers."""

  def __init__(self, model_dir=None, linear_feature_columns=None, linear_optimizer='Ftrl',
               dnn_feature_columns=None, dnn_optimizer='Adagrad', dnn_hidden_units=None,
               dnn_activation_fn=dnn.relu, dnn_dropout=None, n_classes=2, weight_column=None,
               label_vocabulary=None, input_layer_partitioner=None, config=None,
               warm_start_from=None, loss_reduction=losses.Reduction.SUM, batch_norm=False,
               linear_sparse_combiner='sum'):
    head = heads.classifier_head(n_classes, weight_column=weight_column,
                                 label_vocabulary=label_vocabulary, loss_reduction=loss_reduction)
    super().__init__(_model_fn(
        head, (list(linear_feature_columns or []), linear_optimizer, linear_sparse_combiner),
        (list(dnn_feature_columns or []), dnn_optimizer, dnn_hidden_units or [], dnn_activation_fn,
         dnn_dropout, batch_norm), input_layer_partitioner), model_dir, config, None,
                     warm_start_from)


@export('estimator.DNNLinearCombinedRegressor')
class DNNLinearCombinedRegressor(Estimator):
  """Values by a linear model and hidden layers."""

  def __init__(self, model_dir=None, linear_feature_columns=None, linear_optimizer='Ftrl',
               dnn_feature_columns=None, dnn_optimizer='Adagrad', dnn_hidden_units=None,
               dnn_activation_fn=dnn.relu, dnn_dropout=None, label_dimension=1, weight_column=None,
               input_layer_partitioner=None, config=None, warm_start_from=None,
               loss_reduction=losses.Reduction.SUM, batch_norm=False,
               linear_sparse_combiner='sum'):
    head = heads.RegressionHead(label_dimension, weight_column=weight_column,
                                loss_reduction=loss_reduction)
    super().__init__(_model_fn(
        head, (list(linear_feature_columns or []), linear_optimizer, linear_sparse_combiner),
        (list(dnn_feature_columns or []), dnn_optimizer, dnn_hidden_units or [], dnn_activation_fn,
         dnn_dropout, batch_norm), input_layer_partitioner), model_dir, config, None,
                     warm_start_from)
