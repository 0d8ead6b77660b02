"""A linear model that is trained by stochastic dual coordinate ascent (SDCA).

Each example has a dual variable, which a step improves by itself, so that there is no rate of
learning, and the gap between the losses of both problems tells how far the model is from its best.
The state of the examples that were seen (dual variable, loss, dual loss, weight) is in a table, by
the fingerprint of an example's id:

  ids ─▶ SdcaFprint ─▶ states ─▶ SdcaOptimizer ─▶ new states, changes of the weights

The changes go to variables beside the model's, 'unshrinked', since the L1 norm moves the model's
weights toward 0 after each step (update_weights) and must not do so again and again.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op, make_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._ops import array, assign, control, lookup, math, matrix, nn
from leat._ops.variables import Variable
from leat._train import summary

_LOSSES = ('logistic_loss', 'squared_loss', 'hinge_loss', 'smooth_hinge_loss', 'poisson_loss')
_KINDS = ('sparse_features_weights', 'dense_features_weights')


@export('contrib.linear_optimizer.SparseFeatureColumn')
class SparseFeatureColumn:
  """A sparse feature of a batch: example_indices and feature_indices [n], int64, say which features
  an example has; feature_values [n], float, which values, 1 where they are None."""

  def __init__(self, example_indices, feature_indices, feature_values):
    with name_scope(None, 'SparseFeatureColumn', [example_indices, feature_indices]):
      self.example_indices = convert(example_indices, dtypes.int64, 'example_indices')
      self.feature_indices = convert(feature_indices, dtypes.int64, 'feature_indices')
      self.feature_values = None if feature_values is None else convert(
          feature_values, dtypes.float32, 'feature_values')


def _check(names, given, are_lists=False):
  for name in names:
    if given.get(name) is None:
      raise ValueError('%s has to be specified.' % name)
    if are_lists and not isinstance(given[name], list):
      raise ValueError('%s must be a list.' % name)


@export('contrib.linear_optimizer.SdcaModel')
class SdcaModel:
  """The model of a batch of examples.

  examples: 'sparse_features', a list of SparseFeatureColumns; 'dense_features', a list of tensors
  [batch, n]; 'example_labels' and 'example_weights' [batch]; 'example_ids' [batch], strings.
  variables: 'sparse_features_weights' and 'dense_features_weights', lists of variables, none of
  which is a resource. options: 'loss_type', 'symmetric_l1_regularization' and
  'symmetric_l2_regularization', of which the latter is 1 at least; 'adaptive' and
  'num_loss_partitions' may lack."""

  def __init__(self, examples, variables, options):
    if not examples or not variables or not options:
      raise ValueError('examples, variables and options must all be specified.')
    _check(('example_labels', 'example_weights', 'example_ids'), examples)
    _check(('sparse_features', 'dense_features'), examples, True)
    _check(_KINDS, variables, True)
    _check(('loss_type', 'symmetric_l1_regularization', 'symmetric_l2_regularization'), options)
    if options['loss_type'] not in _LOSSES:
      raise ValueError('Unsupported loss_type: %s' % options['loss_type'])
    for name in ('symmetric_l1_regularization', 'symmetric_l2_regularization'):
      if options[name] < 0.0:
        raise ValueError('%s should be non-negative. Found (%f)' % (name, options[name]))
    self._examples, self._variables, self._options = examples, variables, options
    self._l1 = float(options['symmetric_l1_regularization'])
    self._l2 = max(float(options['symmetric_l2_regularization']), 1.0)
    self._unshrinked = {kind: [self._beside(v) for v in variables[kind]] for kind in _KINDS}
    # The fingerprints have neither 0 nor 1 in their lower half.
    self._states = lookup.DenseHashTable(dtypes.int64, dtypes.float32, [0.0] * 4, [0, 0], [1, 1])
    summary.scalar('approximate_duality_gap', self.approximate_duality_gap())
    summary.scalar('examples_seen', self._states.size())

  @staticmethod
  def _beside(variable):
    return Variable(array.zeros_like(variable.initialized_value()), trainable=False,
                    name=variable.op.name + '_unshrinked/SDCAOptimizer')

  # Training --------------------------------------------------------------------------------------

  def minimize(self, global_step=None, name=None):
    """The operation that makes a pass over the examples, and then raises the global step. The
    model's own variables change by update_weights."""
    with name_scope(name, 'sdca/minimize'):
      examples, dense = self._examples, self._unshrinked['dense_features_weights']
      # The op wants the features that have values in front of those that have none.
      pairs = sorted(zip(examples['sparse_features'], self._unshrinked['sparse_features_weights']),
                     key=lambda pair: pair[0].feature_values is None)
      sparse, weights = [f for f, _ in pairs], [w for _, w in pairs]
      ids = apply_op('SdcaFprint', input=convert(examples['example_ids'], dtypes.string))
      rows = [apply_op('Unique', x=f.feature_indices)[0] for f in sparse]
      states, of_sparse, of_dense = apply_op(
          'SdcaOptimizerV2',
          sparse_example_indices=[f.example_indices for f in sparse],
          sparse_feature_indices=[f.feature_indices for f in sparse],
          sparse_feature_values=[f.feature_values for f in sparse if f.feature_values is not None],
          dense_features=[convert(f, dtypes.float32) for f in examples['dense_features']],
          example_weights=convert(examples['example_weights'], dtypes.float32),
          example_labels=convert(examples['example_labels'], dtypes.float32), sparse_indices=rows,
          sparse_weights=[array.gather(w, i) for w, i in zip(weights, rows)],
          dense_weights=[w.value() for w in dense], example_state_data=self._states.lookup(ids),
          loss_type=self._options['loss_type'], l1=self._l1, l2=self._l2, num_inner_iterations=1,
          adaptive=self._options.get('adaptive', True),
          num_loss_partitions=self._options.get('num_loss_partitions') or 1)
      with control_dependencies([states]):
        done = [self._states.insert(ids, states)]
        done += [assign.scatter_add(w, i, change).op
                 for w, i, change in zip(weights, rows, of_sparse)]
        done += [w.assign_add(change).op for w, change in zip(dense, of_dense)]
      if global_step is None:
        return control.group(*done)
      with control_dependencies(done):
        return assign.assign_add(global_step, 1, name=name).op

  def update_weights(self, train_op):
    """The operation that gives the model's variables the weights after train_op, moved toward 0 as
    the L1 norm demands."""
    with control_dependencies([train_op]):
      copied = [v.assign(u.value()).op for kind in _KINDS
                for v, u in zip(self._variables[kind], self._unshrinked[kind])]
    with control_dependencies(copied):
      every = [v._ref() for kind in _KINDS for v in self._variables[kind]]
      return make_op('SdcaShrinkL1', weights=every, l1=self._l1, l2=self._l2)

  # Predictions and losses ------------------------------------------------------------------------

  def _linear(self, examples):
    """The weighted sum of the features of each example [batch]."""
    with name_scope('sdca/prediction'):
      count = array.size(convert(examples['example_ids']))
      total = array.zeros([count], dtypes.float32)
      for feature, weights in zip(examples['sparse_features'], self._variables[_KINDS[0]]):
        found = array.reshape(array.gather(weights, feature.feature_indices), [-1])
        if feature.feature_values is not None:
          found = found * feature.feature_values
        total += apply_op('UnsortedSegmentSum', data=found, segment_ids=feature.example_indices,
                          num_segments=count)
      for feature, weights in zip(examples['dense_features'], self._variables[_KINDS[1]]):
        column = array.reshape(weights.value(), [-1, 1])
        total += array.reshape(matrix.matmul(convert(feature, dtypes.float32), column), [-1])
      return total

  def predictions(self, examples):
    """Probabilities of a logistic loss, rates of a poisson loss, else the weighted sums."""
    with name_scope('sdca/prediction'):
      sums = self._linear(examples)
      function = {'logistic_loss': math.sigmoid, 'poisson_loss': math.exp}.get(
          self._options['loss_type'], lambda x: x)
      return function(sums)

  def _over_all(self, function):
    """The sum of a function over all weights."""
    return matrix.add_n([math.reduce_sum(function(math.cast(v.value(), dtypes.float64)))
                         for kind in _KINDS for v in self._variables[kind]])

  def _norms(self, factor=1.0):
    """The loss of the norms of the weights; that of L2 times the factor."""
    return self._l1 * self._over_all(math.abs) + factor * self._l2 / 2.0 * self._over_all(
        math.square)

  def approximate_duality_gap(self):
    """How far the losses of the two problems are from each other, by example, over all examples
    that were seen; NaN where there is none."""
    with name_scope('sdca/approximate_duality_gap'):
      _, values = self._states.export()
      sums = math.reduce_sum(math.cast(values, dtypes.float64), 0)
      return (sums[1] + sums[2] + self._norms(2.0)) / sums[3]

  def unregularized_loss(self, examples):
    """The mean loss of examples by their weights."""
    with name_scope('sdca/unregularized_loss'):
      double = lambda x: math.cast(convert(x), dtypes.float64)
      sums, labels = double(self._linear(examples)), double(examples['example_labels'])
      weights, loss_type = double(examples['example_weights']), self._options['loss_type']
      if loss_type == 'logistic_loss':
        found = nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=sums)
      elif loss_type == 'poisson_loss':
        found = nn.log_poisson_loss(targets=labels, log_input=sums)
      elif loss_type == 'squared_loss':
        found = math.square(labels - sums) / 2.0
      else:   # labels are 0 and 1
        found = apply_op('Relu', features=1.0 - (2.0 * labels - 1.0) * sums)
      return math.reduce_sum(found * weights) / math.reduce_sum(weights)

  def regularized_loss(self, examples):
    """The same with the norms of the weights."""
    with name_scope('sdca/regularized_loss'):
      weights = math.cast(convert(examples['example_weights']), dtypes.float64)
      return self._norms() / math.reduce_sum(weights) + self.unregularized_loss(examples)
