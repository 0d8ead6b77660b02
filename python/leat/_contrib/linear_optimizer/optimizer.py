"""SDCAOptimizer: how an estimator with feature columns of contrib.layers asks for an SdcaModel."""
from __future__ import annotations

from leat._contrib.layers.feature_columns import Features
from leat._contrib.linear_optimizer.model import SdcaModel, SparseFeatureColumn
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._ops import array, math
from leat._ops.partitioned import PartitionedVariable


@export('contrib.linear_optimizer.SDCAOptimizer')
class SDCAOptimizer:
  """The optimizer of contrib.learn's linear models for one logit. example_id_column names the
  feature by which an example is known again; the others are options of SdcaModel. The states of
  examples are in one table, whatever num_table_shards says."""

  def __init__(self, example_id_column, num_loss_partitions=1, num_table_shards=None,
               symmetric_l1_regularization=0.0, symmetric_l2_regularization=1.0, adaptive=True):
    self._example_id_column = example_id_column
    self._num_loss_partitions, self._num_table_shards = num_loss_partitions, num_table_shards
    self._l1, self._l2 = symmetric_l1_regularization, symmetric_l2_regularization
    self._adaptive = adaptive

  example_id_column = property(lambda self: self._example_id_column)
  num_loss_partitions = property(lambda self: self._num_loss_partitions)
  num_table_shards = property(lambda self: self._num_table_shards)
  symmetric_l1_regularization = property(lambda self: self._l1)
  symmetric_l2_regularization = property(lambda self: self._l2)
  adaptive = property(lambda self: self._adaptive)

  def get_name(self):
    return 'SDCAOptimizer'

  def get_train_step(self, columns_to_variables, weight_column_name, loss_type, features, targets,
                     global_step):
    """(SdcaModel, the operation that trains it) for {column: [its variable]}. `features` are the
    tensors of features by name, and of columns that were transformed already. ValueError of a
    variable in several parts."""
    made = Features(features)
    lists = {'sparse_features': [], 'dense_features': [], 'sparse_features_weights': [],
             'dense_features_weights': []}
    for column in sorted(columns_to_variables, key=lambda c: c.key):
      variables = [part for v in columns_to_variables[column]
                   for part in (v if isinstance(v, PartitionedVariable) else [v])]
      if len(variables) != 1:
        raise ValueError('SDCAOptimizer: the variable of column %s has %d parts, must have 1' % (
            column.name, len(variables)))
      try:
        ids, weights = column.ids(made)
      except NotImplementedError:
        kind, feature = 'dense_features', column.dense(made)
      else:
        kind, feature = 'sparse_features', SparseFeatureColumn(
            ids.indices[:, 0], array.reshape(ids.values, [-1]),
            None if weights is None else array.reshape(weights.values, [-1]))
      lists[kind].append(feature)
      lists[kind + '_weights'].append(variables[0])
    labels = math.cast(array.reshape(convert(targets), [-1]), dtypes.float32)
    weights = array.ones_like(labels) if not weight_column_name else math.cast(
        array.reshape(made.raw(weight_column_name), [-1]), dtypes.float32)
    model = SdcaModel(
        {'sparse_features': lists['sparse_features'], 'dense_features': lists['dense_features'],
         'example_labels': labels, 'example_weights': weights,
         'example_ids': array.reshape(made.raw(self._example_id_column), [-1])},
        {kind: lists[kind] for kind in ('sparse_features_weights', 'dense_features_weights')},
        {'symmetric_l1_regularization': self._l1, 'symmetric_l2_regularization': self._l2,
         'adaptive': self._adaptive, 'num_loss_partitions': self._num_loss_partitions,
         'loss_type': loss_type})
    return model, model.minimize(global_step=global_step)
