"""input_layer, linear_model: all columns as one tensor, and as a sum of what each is worth."""
from __future__ import annotations

from leat._export import export
from leat._feature.column import CategoricalColumn, DenseColumn, Features, checked_list
from leat._feature.embedding import combined
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import GraphKeys
from leat._ops import array, initializers, matrix, nn
from leat._ops.sparse import SparseTensor
from leat._ops.variable_scope import get_variable, variable_scope


def collections_of(weight_collections):
  """The collections of the weights of columns: the given ones and those of all models."""
  found = list(weight_collections or [])
  for name in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES):
    if name not in found:
      found.append(name)
  return found


def scope_of(column):
  """The name of the scope of a column's variables."""
  return getattr(column, 'scope_name', column.name)


def _variables_of(scope):
  """The variables of a scope, in the order in which they were made."""
  from leat._graph import graph as graphs
  found = graphs.get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope + '/')
  return found


@export('feature_column.input_layer')
def input_layer(features, feature_columns, weight_collections=None, trainable=True,
                cols_to_vars=None, cols_to_output_tensors=None):
  """The dense columns beside each other in the order of their names, [batch, width]; `features` is
  {key: tensor}. The dicts get the variables and the tensor of each column."""
  columns = checked_list(feature_columns)
  for column in columns:
    if not isinstance(column, DenseColumn):
      raise ValueError('Items of feature_columns must be a _DenseColumn. You can wrap a '
                       'categorical column with an embedding_column or indicator_column. Given: %s'
                       % (column,))
  collections = collections_of(weight_collections)
  with variable_scope(None, default_name='input_layer', values=list(features.values())):
    found, batch = Features(features), []
    for column in sorted(columns, key=lambda c: c.name):
      with variable_scope(None, default_name=scope_of(column)) as scope:
        tensor = column.dense(found, collections, trainable)
        width = column.variable_shape.num_elements()
        tensor = array.reshape(tensor, [array.shape(tensor)[0], width])
        batch.append(tensor)
        if cols_to_vars is not None:
          cols_to_vars[column] = _variables_of(scope.name)
        if cols_to_output_tensors is not None:
          cols_to_output_tensors[column] = tensor
    check_batch(batch)
    return array.concat(batch, 1)


def check_batch(tensors):
  """ValueError where the first dimensions of the columns are known to differ."""
  sizes = {t.get_shape()[0].value for t in tensors} - {None}
  if len(sizes) > 1:
    raise ValueError('Batch size (first dimension) of each feature must be same. Batch sizes: %s' %
                     sorted(sizes))


@export('feature_column.linear_model')
def linear_model(features, feature_columns, units=1, sparse_combiner='sum',
                 weight_collections=None, trainable=True, cols_to_vars=None):
  """The sum of all columns times their weights, and a bias, [batch, units]. A category has a weight
  of its own; those of an example are combined by sparse_combiner. The variables are linear_model/
  <column>/weights and bias_weights."""
  columns = checked_list(feature_columns)
  for column in columns:
    if not isinstance(column, (DenseColumn, CategoricalColumn)):
      raise ValueError('Items of feature_columns must be either a _DenseColumn or '
                       '_CategoricalColumn. Given: %s' % (column,))
  collections = collections_of(weight_collections)
  with variable_scope(None, 'linear_model', list(features.values())):
    found, sums = Features(features), []
    for column in sorted(columns, key=lambda c: c.name):
      with variable_scope(None, default_name=column.name) as scope:
        sums.append(_weighted(column, found, units, sparse_combiner, collections, trainable))
        if cols_to_vars is not None:
          cols_to_vars[column] = _variables_of(scope.name)
    check_batch(sums)
    total = matrix.add_n(sums, name='weighted_sum_no_bias')
    bias = get_variable('bias_weights', [units], dtypes.float32, initializers.zeros_initializer(),
                        trainable=trainable, collections=collections)
    if cols_to_vars is not None:
      cols_to_vars['bias'] = list(bias) if hasattr(bias, '_get_variable_list') else [bias]
    return nn.bias_add(total, bias, name='weighted_sum')


def _weighted(column, features, units, combiner, collections, trainable):
  """The column times its weights, [batch, units]."""
  weight = lambda rows: get_variable('weights', [rows, units], dtypes.float32,
                                     initializers.zeros_initializer(), trainable=trainable,
                                     collections=collections)
  if isinstance(column, CategoricalColumn):
    pair = column.sparse(features)
    found = combined(weight(column.num_buckets), pair._replace(
        id_tensor=_two_dimensional(pair.id_tensor)), combiner)
    found.set_shape([None, units])
    return found
  width = column.variable_shape.num_elements()
  weights = weight(width)  # made before the column's own variables, which it precedes in lists
  tensor = column.dense(features, collections, trainable)
  tensor = array.reshape(tensor, [array.shape(tensor)[0], width])
  return matrix.matmul(tensor, weights, name='weighted_sum')


def _two_dimensional(sparse):
  """The SparseTensor as [batch, all other dimensions]."""
  rank = sparse.dense_shape.get_shape()[0].value
  if rank == 2:
    return sparse
  indices, shape = apply_op('SparseReshape', input_indices=sparse.indices,
                            input_shape=sparse.dense_shape, new_shape=array.stack(
                                [sparse.dense_shape[0], convert(-1, dtypes.int64)]))
  return SparseTensor(indices, sparse.values, shape)


def transformed(features, column):
  """The dense tensor of one column for {key: tensor}."""
  return column.dense(Features(features))
