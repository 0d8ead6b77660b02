"""Heads of canned models: what is done with the logits of a model in each mode.

A head turns logits [batch, width] into predictions and signatures, with labels into a loss for each
example, and these, weighted, into the loss that is trained and the metrics of an evaluation. There
is one for values (regression), one for two classes (a logit), one for several (softmax).
"""
from __future__ import annotations

from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import GraphKeys, control_dependencies, name_scope
from leat._estimator import export_outputs as outputs
from leat._estimator.model_fn import EstimatorSpec, ModeKeys
from leat._ops import (array, control, control_flow, losses, math, matrix, metrics, nn,
                       threshold_metrics)
from leat._train import step as steps, summary


def _shaped_labels(labels, logits, width):
  """labels as [batch, width]; ValueError, or an error of the step, where their shape is another."""
  if labels is None:
    raise ValueError('You must provide a labels Tensor. Given: None. Suggested troubleshooting '
                     'steps: Check that your data contain your label feature. Check that your '
                     'input_fn properly parses and returns labels.')
  if hasattr(labels, 'dense_shape'):
    if width > 1:
      raise ValueError('SparseTensor labels are not supported. labels must be a Tensor of shape '
                       '[D0, D1, ..., DN, %s].' % width)
    labels = apply_op('SparseToDense', sparse_indices=labels.indices,
                      output_shape=labels.dense_shape, sparse_values=labels.values, default_value=
                      '' if labels.dtype == dtypes.string else convert(0, labels.dtype))
  labels = convert(labels, name='labels')
  rank, expected = labels.get_shape().ndims, logits.get_shape().ndims
  if rank is not None and rank == (expected or 2) - 1:
    labels = array.expand_dims(labels, -1)
  last = labels.get_shape()[-1].value if labels.get_shape().ndims else None
  if last is not None and last != width:
    raise ValueError('Mismatched label shape. Expected labels dimension=%s.  Received %s. Labels '
                     'are numbers of classes, not one-hot vectors: check n_classes and the shape '
                     'of the labels.' % (width, last))
  wanted = array.concat([array.shape(logits)[:-1], [width]], 0)
  check = control_flow.Assert(math.reduce_all(math.equal(wanted, array.shape(labels))), [
      'expected_labels_shape: ', wanted, 'labels_shape: ', array.shape(labels)])
  with control_dependencies([check]):
    return array.identity(labels)


def _weights(features, column):
  """The weights of examples, [batch, 1], or 1."""
  if column is None:
    return 1.0
  if isinstance(column, str):
    weights = features[column]
  else:
    from leat._feature import layers
    weights = layers.transformed(features, column)
  weights = convert(weights, name='weights')
  if not (weights.dtype.is_floating or weights.dtype.is_integer):
    raise ValueError('Weight column should be castable to float. Given dtype: %s' % weights.dtype)
  weights = math.cast(weights, dtypes.float32)
  return array.expand_dims(weights, -1) if weights.get_shape().ndims == 1 else weights


def _in_range(labels, top):
  fine = apply_op('LogicalAnd', x=math.reduce_all(labels <= top), y=math.reduce_all(labels >= 0))
  check = control_flow.Assert(fine, ['Labels must be from 0 to %s, are' % top, labels])
  with control_dependencies([check]):
    return array.identity(labels)


class Head:
  """The base of heads. `logits_dimension` is the width of the logits."""

  def __init__(self, logits_dimension, weight_column=None, loss_reduction=losses.Reduction.SUM,
               name=None):
    losses.Reduction.validate(loss_reduction)
    if loss_reduction == losses.Reduction.NONE:
      raise ValueError('Invalid loss_reduction: %s' % loss_reduction)
    self.logits_dimension, self._weight_column = logits_dimension, weight_column
    self._reduction, self._name = loss_reduction, name

  def _key(self, name):
    return '%s/%s' % (name, self._name) if self._name else name

  def spec(self, features, mode, logits, labels=None, optimizer=None, train_op_fn=None,
           regularization_losses=None):
    """The EstimatorSpec for these logits [batch, logits_dimension]."""
    with name_scope(self._name, 'head'):
      logits = convert(logits, name='logits')
      if logits.get_shape().ndims is not None and \
          logits.get_shape()[-1].value not in (None, self.logits_dimension):
        raise ValueError('logits must have the width %d, have the shape %s' % (
            self.logits_dimension, logits.get_shape()))
      predictions = self._predictions(logits)
      if mode == ModeKeys.PREDICT:
        return EstimatorSpec(mode, predictions, export_outputs=self._outputs(predictions))
      unweighted, labels = self._loss(logits, labels)
      weights = _weights(features, self._weight_column)
      training = losses.compute_weighted_loss(unweighted, weights=weights,
                                              reduction=self._reduction)
      extra = matrix.add_n(regularization_losses) if regularization_losses else None
      total = training if extra is None else training + extra
      if mode == ModeKeys.EVAL:
        found = {self._key(k): v for k, v in self._metrics(
            predictions, labels, unweighted, weights).items()}
        if extra is not None:
          found[self._key('loss/regularization')] = metrics.mean(extra)
        return EstimatorSpec(mode, predictions, total, eval_metric_ops=found)
      train_op = self._train_op(total, optimizer, train_op_fn)
    with name_scope(''):
      summary.scalar(self._key('loss'), total)
      if self._reduction == losses.Reduction.SUM:
        count = math.reduce_sum(array.ones_like(unweighted) * weights)
        summary.scalar(self._key('average_loss'), training / count)
    return EstimatorSpec(mode, predictions, total, train_op)

  def create_estimator_spec(self, features, mode, logits, labels=None, optimizer=None,
                            train_op_fn=None, regularization_losses=None):
    """The EstimatorSpec, as programs ask a head of contrib.estimator for it."""
    return self.spec(features, mode, logits, labels, optimizer, train_op_fn, regularization_losses)

  @staticmethod
  def _train_op(loss, optimizer, train_op_fn):
    if optimizer is not None:
      if train_op_fn is not None:
        raise ValueError('train_op_fn and optimizer cannot both be set.')
      train_op = optimizer.minimize(loss, global_step=steps.get_global_step())
    elif train_op_fn is not None:
      train_op = train_op_fn(loss)
    else:
      raise ValueError('train_op_fn and optimizer cannot both be None.')
    updates = graphs.get_default_graph().get_collection(GraphKeys.UPDATE_OPS)
    return control.group(train_op, *updates) if updates else train_op


class RegressionHead(Head):
  """Values: the squared error."""

  def __init__(self, label_dimension=1, inverse_link_fn=None, **kwargs):
    super().__init__(label_dimension, **kwargs)
    if label_dimension < 1:
      raise ValueError('Invalid label_dimension %s.' % label_dimension)
    self._inverse_link = inverse_link_fn

  def _predictions(self, logits):
    if self._inverse_link is None:
      return {'predictions': logits}
    return {'predictions': self._inverse_link(logits), 'logits': logits}

  def _outputs(self, predictions):
    regression = outputs.RegressionOutput(predictions['predictions'])
    return {outputs.DEFAULT_SIGNATURE: regression, 'regression': regression,
            'predict': outputs.PredictOutput(predictions)}

  def _loss(self, logits, labels):
    labels = math.cast(_shaped_labels(labels, logits, self.logits_dimension), dtypes.float32)
    values = self._predictions(logits)['predictions']
    return losses.mean_squared_error(labels, values, reduction=losses.Reduction.NONE), labels

  def _metrics(self, predictions, labels, unweighted, weights):
    return {'average_loss': metrics.mean(unweighted, weights),
            'prediction/mean': metrics.mean(predictions['predictions'], weights),
            'label/mean': metrics.mean(labels, weights)}


class _ClassHead(Head):
  """Classes as numbers, or as the texts of a vocabulary."""

  def __init__(self, n_classes, logits_dimension, label_vocabulary=None, **kwargs):
    super().__init__(logits_dimension, **kwargs)
    if label_vocabulary is not None and not isinstance(label_vocabulary, (list, tuple)):
      raise ValueError('label_vocabulary should be a list or a tuple. Given type: %s' %
                       type(label_vocabulary))
    if label_vocabulary and len(label_vocabulary) != n_classes:
      raise ValueError('Length of label_vocabulary must be n_classes (%d). Given: %d' % (
          n_classes, len(label_vocabulary)))
    self._n_classes, self._vocabulary = n_classes, label_vocabulary

  def _label_ids(self, labels):
    """The numbers of the classes of labels."""
    if not self._vocabulary:
      return labels
    if labels.dtype.base_dtype != dtypes.string:
      raise ValueError('Labels dtype should be string if there is a vocabulary. Instead got %s' %
                       labels.dtype)
    from leat._ops import lookup
    ids = constant_of(list(range(self._n_classes)), dtypes.int64)
    table = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(
        constant_of(list(self._vocabulary), dtypes.string), ids), -1)
    return table.lookup(labels)

  def _names(self):
    """The name of each class, string [classes]."""
    if self._vocabulary:
      return constant_of(list(self._vocabulary), dtypes.string)
    return apply_op('AsString', input=math.range(self._n_classes), name='str_classes')

  def _classes(self, class_ids):
    return array.gather(self._names(), class_ids, name='classes')

  def _classification(self, probabilities):
    """The signature of classes: each has its score."""
    names = apply_op('Tile', input=array.expand_dims(self._names(), 0), multiples=array.stack(
        [array.shape(probabilities)[0], 1]))
    return outputs.ClassificationOutput(scores=probabilities, classes=names)


class MultiClassHead(_ClassHead):
  """One of several classes: the cross entropy of softmax."""

  def __init__(self, n_classes, **kwargs):
    if n_classes is None or n_classes <= 2:
      raise ValueError('n_classes must be > 2: %s. For 2 classes, use the binary head' % n_classes)
    super().__init__(n_classes, n_classes, **kwargs)

  def _predictions(self, logits):
    with name_scope(None, 'predictions', [logits]):
      ids = array.expand_dims(math.argmax(logits, -1, name='class_ids'), -1)
      return {'logits': logits, 'probabilities': nn.softmax(logits, name='probabilities'),
              'class_ids': ids, 'classes': self._classes(ids)}

  def _outputs(self, predictions):
    found = self._classification(predictions['probabilities'])
    return {outputs.DEFAULT_SIGNATURE: found, 'classification': found,
            'predict': outputs.PredictOutput(predictions)}

  def _loss(self, logits, labels):
    labels = self._label_ids(_shaped_labels(labels, logits, 1))
    if not labels.dtype.base_dtype.is_integer:
      raise ValueError('Labels dtype should be integer. Instead got %s.' % labels.dtype)
    ids = _in_range(math.cast(labels, dtypes.int64), self._n_classes - 1)
    loss = losses.sparse_softmax_cross_entropy(array.squeeze(ids, [-1]), logits,
                                               reduction=losses.Reduction.NONE)
    return array.expand_dims(loss, -1), ids

  def _metrics(self, predictions, labels, unweighted, weights):
    return {'average_loss': metrics.mean(unweighted, weights),
            'accuracy': metrics.accuracy(labels, predictions['class_ids'], weights)}


class BinaryHead(_ClassHead):
  """Two classes, or a probability as the label: the cross entropy of the sigmoid of one logit."""

  def __init__(self, thresholds=None, **kwargs):
    super().__init__(2, 1, **kwargs)
    self._thresholds = tuple(thresholds or ())
    for t in self._thresholds:
      if not 0 < t < 1:
        raise ValueError('thresholds not in (0, 1): %s.' % (self._thresholds,))

  def _predictions(self, logits):
    with name_scope(None, 'predictions', [logits]):
      both = array.concat([array.zeros_like(logits), logits], -1, name='two_class_logits')
      ids = array.expand_dims(math.argmax(both, -1, name='class_ids'), -1)
      return {'logits': logits, 'logistic': math.sigmoid(logits, name='logistic'),
              'probabilities': nn.softmax(both, name='probabilities'), 'class_ids': ids,
              'classes': self._classes(ids)}

  def _outputs(self, predictions):
    found = self._classification(predictions['probabilities'])
    return {outputs.DEFAULT_SIGNATURE: found, 'classification': found,
            'regression': outputs.RegressionOutput(predictions['logistic']),
            'predict': outputs.PredictOutput(predictions)}

  def _loss(self, logits, labels):
    labels = self._label_ids(_shaped_labels(labels, logits, 1))
    labels = _in_range(math.cast(labels, dtypes.float32), 1)
    return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits), labels

  def _metrics(self, predictions, labels, unweighted, weights):
    from leat._ops.metrics import mean
    logistic, ids = predictions['logistic'], predictions['class_ids']
    weights = weights * array.ones_like(logistic)
    label_mean, label_update = mean(labels, weights)
    baseline = apply_op('Maximum', x=label_mean, y=1 - label_mean)
    at = threshold_metrics
    found = {
        'average_loss': mean(unweighted, weights),
        'accuracy': metrics.accuracy(labels, ids, weights),
        'precision': at.precision(labels, ids, weights), 'recall': at.recall(labels, ids, weights),
        'prediction/mean': mean(logistic, weights), 'label/mean': (label_mean, label_update),
        'accuracy_baseline': (baseline, apply_op('Maximum', x=label_update, y=1 - label_update)),
        'auc': at.auc(labels, logistic, weights),
        'auc_precision_recall': at.auc(labels, logistic, weights, curve='PR')}
    for threshold in self._thresholds:
      above = math.cast(logistic >= threshold, dtypes.float32)
      for name, metric in (('accuracy', metrics.accuracy), ('precision', at.precision),
                           ('recall', at.recall)):
        found['%s/positive_threshold_%g' % (name, threshold)] = metric(labels, above, weights)
    return found


def classifier_head(n_classes, **kwargs):
  """The head for so many classes."""
  return BinaryHead(**kwargs) if n_classes == 2 else MultiClassHead(n_classes, **kwargs)
