"""The canned models of contrib.learn: linear models, hidden layers, and both. They are those of
tf.estimator, with the mean in place of the sum as their loss, and predict classes or values."""
from __future__ import annotations

from leat._export import export
from leat._contrib.learn.estimator import BaseEstimator
from leat._contrib.linear_optimizer.optimizer import SDCAOptimizer
from leat._estimator import dnn, head as heads, linear, optimizers
from leat._feature import layers as layers_of_columns
from leat._feature.column import FeatureColumn
from leat._graph import graph as graphs
from leat._graph.scope import GraphKeys, control_dependencies
from leat._ops import array, assign, clip, control, losses
from leat._ops.variable_scope import variable_scope
from leat._train import step as steps


def _minimize(optimizer, loss, clip_norm, step=None, scope=None):
  """The operation that an optimizer minimizes the loss with, after clipping the gradients of the
  variables of a scope."""
  variables = graphs.get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)
  pairs = [(g, v) for g, v in optimizer.compute_gradients(loss, var_list=variables)
           if g is not None]
  if clip_norm is not None:
    gradients, _ = clip.clip_by_global_norm([g for g, _ in pairs], clip_norm)
    pairs = list(zip(gradients, [v for _, v in pairs]))
  return optimizer.apply_gradients(pairs, global_step=step)


def _are_core(columns):
  """Whether the columns are those of tf.feature_column; else they are those of contrib.layers."""
  return all(isinstance(c, FeatureColumn) for c in columns)


def _sums(features, columns, units, joint):
  """(the logits of a linear model, {column: [its variable]}, the bias), the latter two None for
  core columns; with `joint` all columns have one variable."""
  if _are_core(columns):
    return linear.logits_of(features, columns, units, 'sum'), None, None
  from leat.contrib import layers
  function = layers.joint_weighted_sum_from_feature_columns if joint else \
      layers.weighted_sum_from_feature_columns
  return function(columns_to_tensors=features, feature_columns=columns, num_outputs=units)


def _inputs(features, columns):
  """The input of hidden layers."""
  if _are_core(columns):
    return layers_of_columns.input_layer(features, columns)
  from leat.contrib import layers
  return layers.input_from_feature_columns(columns_to_tensors=features, feature_columns=columns)


_SDCA_LOSSES = {heads.BinaryHead: 'logistic_loss', heads.RegressionHead: 'squared_loss'}


def _dual_step(optimizer, head, features, labels, logits, columns_to_variables, bias):
  """The operation that trains a linear model by an SDCAOptimizer, and raises the global step. The
  bias is the weight of a column of ones."""
  loss_type = _SDCA_LOSSES.get(type(head))
  if loss_type is None or head.logits_dimension != 1:
    raise ValueError('SDCAOptimizer does not apply: the model has %d logits, must have 1' %
                     head.logits_dimension)
  if columns_to_variables is None:
    raise ValueError('SDCAOptimizer needs the feature columns of contrib.layers')
  from leat.contrib import layers
  ones = layers.real_valued_column('tf_virtual_bias_column')
  targets = head._loss(logits, labels)[1]
  model, train = optimizer.get_train_step(
      {**columns_to_variables, ones: [bias]}, head._weight_column, loss_type,
      {**features, ones: array.ones_like(targets)}, targets, steps.get_global_step())
  return model.update_weights(train)


class _Canned(BaseEstimator):
  """A head over the sum of a linear model and hidden layers, one of which may lack."""

  def __init__(self, head, wide=None, deep=None, clip_norm=None, model_dir=None, config=None,
               feature_engineering_fn=None, joint=False):
    self._joint = joint
    self._head, self._wide, self._deep, self._clip_norm = head, wide, deep, clip_norm
    self._feature_engineering_fn = feature_engineering_fn
    super().__init__(model_dir, config)

  def _ops(self, features, labels, mode):
    if self._feature_engineering_fn is not None:
      features, labels = self._feature_engineering_fn(features, labels)
    features = features if isinstance(features, dict) else {'': features}
    parts, trained = [], []
    split = linear.partitioner(self._config)
    if self._deep:
      columns, optimizer, *above = self._deep
      with variable_scope('dnn', values=list(features.values()),
                          partitioner=linear.partitioner(self._config, linear.SMALL)):
        with variable_scope('input_from_feature_columns', partitioner=split):
          net = _inputs(features, columns)
        parts.append(dnn.logits_above(net, mode, self._head.logits_dimension, *above, False))
      trained.append((optimizers.instance(optimizer or 'Adagrad', 0.05), 'dnn/'))
    is_dual = bool(self._wide) and isinstance(self._wide[1], SDCAOptimizer)
    if is_dual and self._deep:
      raise ValueError('SDCAOptimizer trains linear models alone')
    if self._wide:
      columns, optimizer = self._wide
      with variable_scope('linear', values=list(features.values()), partitioner=split):
        logits, weights, bias = _sums(features, columns, self._head.logits_dimension, self._joint)
      parts.append(logits)
      if not is_dual:
        trained.append((optimizers.instance(optimizer or linear.default_optimizer(columns), 0.2),
                        'linear/'))

    def train_op(loss):
      if is_dual:
        return _dual_step(optimizer, self._head, features, labels, logits, weights, bias)
      done = control.group(*[_minimize(o, loss, self._clip_norm, scope=s) for o, s in trained])
      with control_dependencies([done]):
        return assign.assign_add(steps.get_global_step(), 1).op
    logits = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    return self._head.spec(features, mode, logits, labels, train_op_fn=train_op)


class _Classifier(_Canned):
  """Predicts classes: their numbers, or their names where label_keys gives them."""

  def export(self, export_dir, input_fn=None, input_feature_key=None,
             use_deprecated_input_fn=True, signature_fn=None, prediction_key='probabilities',
             default_batch_size=1, exports_to_keep=None, checkpoint_path=None):
    """The same, by default with the signature of a classification that gives probabilities."""
    from leat._contrib.learn import exports
    return super().export(export_dir, input_fn, input_feature_key, use_deprecated_input_fn,
                          signature_fn or exports.classification_signature_fn_with_prob,
                          prediction_key, default_batch_size, exports_to_keep, checkpoint_path)

  def predict_classes(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
    key = 'classes' if self._head._vocabulary else 'class_ids'
    return self._only(key, as_iterable, x=x, input_fn=input_fn, batch_size=batch_size,
                      first=True)

  def predict_proba(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
    """The probabilities of the classes."""
    return self._only('probabilities', as_iterable, x=x, input_fn=input_fn, batch_size=batch_size)

  def predict(self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True,
              iterate_batches=False):
    """The classes; with `outputs` or iterate_batches what other estimators give."""
    if outputs is None and not iterate_batches:
      return self.predict_classes(x, input_fn, batch_size, as_iterable)
    return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)

  def _only(self, key, as_iterable, first=False, **given):
    """One of the predictions of each example, or its first value."""
    found = _Canned.predict(self, outputs=[key], as_iterable=as_iterable, **given)
    if as_iterable:
      return (p[key][0] if first else p[key] for p in found)
    return found[key][:, 0] if first else found[key]


class _Regressor(_Canned):
  """Predicts values."""

  def export(self, export_dir, input_fn=None, input_feature_key=None,
             use_deprecated_input_fn=True, signature_fn=None, prediction_key='predictions',
             default_batch_size=1, exports_to_keep=None, checkpoint_path=None):
    """The same, by default with the signature of a regression."""
    from leat._contrib.learn import exports
    return super().export(export_dir, input_fn, input_feature_key, use_deprecated_input_fn,
                          signature_fn or exports.regression_signature_fn, prediction_key,
                          default_batch_size, exports_to_keep, checkpoint_path)

  def predict_scores(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
    found = _Canned.predict(self, x=x, input_fn=input_fn, batch_size=batch_size,
                            as_iterable=as_iterable)
    single = self._head.logits_dimension == 1
    if as_iterable:
      return (p['predictions'][0] if single else p['predictions'] for p in found)
    return found['predictions'][:, 0] if single else found['predictions']

  def predict(self, x=None, input_fn=None, batch_size=None, outputs=None, as_iterable=True,
              iterate_batches=False):
    """The values; with `outputs` or iterate_batches what other estimators give."""
    if outputs is None and not iterate_batches:
      return self.predict_scores(x, input_fn, batch_size, as_iterable)
    return super().predict(x, input_fn, batch_size, outputs, as_iterable, iterate_batches)


def _check_unused(enable_centered_bias):
  if enable_centered_bias:
    raise NotImplementedError('enable_centered_bias is not available')


def _class_head(n_classes, weights, label_keys):
  return heads.classifier_head(n_classes, weight_column=weights, label_vocabulary=label_keys,
                               loss_reduction=losses.Reduction.SUM_BY_NONZERO_WEIGHTS)


def _value_head(label_dimension, weights):
  return heads.RegressionHead(label_dimension, weight_column=weights,
                              loss_reduction=losses.Reduction.SUM_BY_NONZERO_WEIGHTS)


@export('contrib.learn.LinearClassifier')
class LinearClassifier(_Classifier):
  """Classes by a weighted sum of feature columns."""

  def __init__(self, feature_columns, model_dir=None, n_classes=2, weight_column_name=None,
               optimizer=None, gradient_clip_norm=None, enable_centered_bias=False,
               _joint_weight=False, config=None, feature_engineering_fn=None, label_keys=None):
    _check_unused(enable_centered_bias)
    super().__init__(_class_head(n_classes, weight_column_name, label_keys),
                     wide=(list(feature_columns), optimizer), clip_norm=gradient_clip_norm,
                     model_dir=model_dir, config=config, joint=_joint_weight,
                     feature_engineering_fn=feature_engineering_fn)


@export('contrib.learn.LinearRegressor')
class LinearRegressor(_Regressor):
  """Values by a weighted sum of feature columns."""

  def __init__(self, feature_columns, model_dir=None, weight_column_name=None, optimizer=None,
               gradient_clip_norm=None, enable_centered_bias=False, label_dimension=1,
               config=None, feature_engineering_fn=None):
    _check_unused(enable_centered_bias)
    super().__init__(_value_head(label_dimension, weight_column_name),
                     wide=(list(feature_columns), optimizer), clip_norm=gradient_clip_norm,
                     model_dir=model_dir, config=config,
                     feature_engineering_fn=feature_engineering_fn)


@export('contrib.learn.DNNClassifier')
class DNNClassifier(_Classifier):
  """Classes by hidden layers of hidden_units."""

  def __init__(self, hidden_units, feature_columns, model_dir=None, n_classes=2,
               weight_column_name=None, optimizer=None, activation_fn=dnn.relu, dropout=None,
               gradient_clip_norm=None, enable_centered_bias=False, config=None,
               feature_engineering_fn=None, label_keys=None):
    _check_unused(enable_centered_bias)
    super().__init__(_class_head(n_classes, weight_column_name, label_keys), deep=(
        list(feature_columns), optimizer, hidden_units, activation_fn, dropout),
                     clip_norm=gradient_clip_norm, model_dir=model_dir, config=config,
                     feature_engineering_fn=feature_engineering_fn)


@export('contrib.learn.DNNRegressor')
class DNNRegressor(_Regressor):
  """Values by hidden layers of hidden_units."""

  def __init__(self, hidden_units, feature_columns, model_dir=None, weight_column_name=None,
               optimizer=None, activation_fn=dnn.relu, dropout=None, gradient_clip_norm=None,
               enable_centered_bias=False, config=None, feature_engineering_fn=None,
               label_dimension=1):
    _check_unused(enable_centered_bias)
    super().__init__(_value_head(label_dimension, weight_column_name), deep=(
        list(feature_columns), optimizer, hidden_units, activation_fn, dropout),
                     clip_norm=gradient_clip_norm, model_dir=model_dir, config=config,
                     feature_engineering_fn=feature_engineering_fn)


def _both(linear_columns, linear_optimizer, dnn_columns, dnn_optimizer, hidden_units,
          activation_fn, dropout):
  """The two parts of a combined model."""
  if not linear_columns and not dnn_columns:
    raise ValueError('Either linear_feature_columns or dnn_feature_columns must be defined.')
  if dnn_columns and not hidden_units:
    raise ValueError('dnn_hidden_units must be defined when dnn_feature_columns is specified.')
  return {'wide': (list(linear_columns), linear_optimizer) if linear_columns else None,
          'deep': (list(dnn_columns), dnn_optimizer, hidden_units, activation_fn, dropout)
                  if dnn_columns else None}


@export('contrib.learn.DNNLinearCombinedClassifier')
class DNNLinearCombinedClassifier(_Classifier):
  """Classes by a linear model and hidden layers."""

  def __init__(self, model_dir=None, n_classes=2, weight_column_name=None,
               linear_feature_columns=None, linear_optimizer=None, dnn_feature_columns=None,
               dnn_optimizer=None, dnn_hidden_units=None, dnn_activation_fn=dnn.relu,
               dnn_dropout=None, gradient_clip_norm=None, enable_centered_bias=False, config=None,
               feature_engineering_fn=None, label_keys=None):
    _check_unused(enable_centered_bias)
    super().__init__(
        _class_head(n_classes, weight_column_name, label_keys), clip_norm=gradient_clip_norm,
        model_dir=model_dir, config=config, feature_engineering_fn=feature_engineering_fn,
        **_both(linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
                dnn_hidden_units, dnn_activation_fn, dnn_dropout))


@export('contrib.learn.DNNLinearCombinedRegressor')
class DNNLinearCombinedRegressor(_Regressor):
  """Values by a linear model and hidden layers."""

  def __init__(self, model_dir=None, weight_column_name=None, linear_feature_columns=None,
               linear_optimizer=None, dnn_feature_columns=None, dnn_optimizer=None,
               dnn_hidden_units=None, dnn_activation_fn=dnn.relu, dnn_dropout=None,
               gradient_clip_norm=None, enable_centered_bias=False, label_dimension=1,
               config=None, feature_engineering_fn=None):
    _check_unused(enable_centered_bias)
    super().__init__(
        _value_head(label_dimension, weight_column_name), clip_norm=gradient_clip_norm,
        model_dir=model_dir, config=config, feature_engineering_fn=feature_engineering_fn,
        **_both(linear_feature_columns, linear_optimizer, dnn_feature_columns, dnn_optimizer,
                dnn_hidden_units, dnn_activation_fn, dnn_dropout))
