"""contrib.layers: what a model reads of feature columns: numbers for a network, or their weighted
sum."""
from __future__ import annotations

import math as python_math

from leat._contrib import variables
from leat._contrib.layers.embeddings import safe_embedding_lookup_sparse
from leat._contrib.layers.feature_columns import (EmbeddingColumn, Features,
                                                  create_feature_spec_for_parsing)
from leat._export import export
from leat._graph import dtype as dtypes
from leat._ops import array, matrix, nn, parsing
from leat._ops.initializers import truncated_normal_initializer, zeros_initializer
from leat._ops.sparse import SparseTensor
from leat._ops.variable_scope import AUTO_REUSE, variable_scope


def _sorted(feature_columns):
  """The columns, each once, in the order of their keys. ValueError of two with one name."""
  found = sorted(set(feature_columns), key=lambda c: c.key)
  check_feature_columns(found)
  return found


@export('contrib.layers.check_feature_columns')
def check_feature_columns(feature_columns):
  """ValueError where there is no column, or two have one name."""
  if feature_columns is None:
    raise ValueError('`feature_columns` argument should not be None.')
  names = [c.name for c in feature_columns]
  for name in names:
    if names.count(name) > 1:
      raise ValueError('Duplicate feature column name found: %s' % name)


def _scope(scope, default_name, columns_to_tensors):
  values = [v for v in columns_to_tensors.values() if not isinstance(v, (SparseTensor, tuple))]
  return variable_scope(scope, default_name, values)


def _restored(variable, column):
  """The variable, whose initial value is in a checkpoint where the column names one."""
  if getattr(column, 'ckpt_to_load_from', None) is not None:
    from leat import train
    train.init_from_checkpoint(column.ckpt_to_load_from, {column.tensor_name_in_ckpt: variable})
  return variable


def _weights(column, width, initializer, weight_collections, trainable):
  return _restored(variables.model_variable(
      'weights', shape=[column.length, width], dtype=dtypes.float32, initializer=initializer,
      trainable=trainable, collections=weight_collections), column)


def _embedded(column, features, weight_collections, trainable):
  """Embeddings of a column, [batch, dimension]."""
  initializer = column.initializer or truncated_normal_initializer(
      0.0, 1 / python_math.sqrt(column.length))
  shared = column.shared_name is not None
  reuse = AUTO_REUSE if shared else None
  opened = variable_scope(column.shared_name, reuse=reuse) if shared else variable_scope(
      None, default_name=column.name)
  with opened:
    weights = _weights(column, column.dimension, initializer, weight_collections,
                       trainable and column.trainable)
  ids, id_weights = column.sparse_id_column.ids(features)
  return safe_embedding_lookup_sparse(weights, ids, id_weights, combiner=column.combiner,
                                      name=column.name + '_weights', max_norm=column.max_norm)


@export('contrib.layers.input_from_feature_columns')
def input_from_feature_columns(columns_to_tensors, feature_columns, weight_collections=None,
                               trainable=True, scope=None, cols_to_outs=None):
  """The numbers of all columns, [batch, n], in the order of their keys; embeddings are variables of
  the model. `cols_to_outs`, a dict, gets the tensor of each. ValueError of a column of ids that is
  neither embedded nor one-hot."""
  columns, features = _sorted(feature_columns), Features(columns_to_tensors)
  with _scope(scope, 'input_from_feature_columns', columns_to_tensors):
    outputs = []
    for column in columns:
      if isinstance(column, EmbeddingColumn):
        output = _embedded(column, features, weight_collections, trainable)
      else:
        with variable_scope(None, default_name=column.name):
          output = column.dense(features)
      outputs.append(output)
      if cols_to_outs is not None:
        cols_to_outs[column] = output
    return array.concat(outputs, 1)


def _sum_of(column, features, num_outputs, weight_collections, trainable):
  """(weighted sum [batch, num_outputs], variable) of a column."""
  with variable_scope(None, default_name=column.name):
    try:
      ids, id_weights = column.ids(features)
    except NotImplementedError:
      numbers = column.dense(features)
      weight = variables.model_variable(
          'weight', shape=[numbers.get_shape().as_list()[1], num_outputs],
          initializer=zeros_initializer(), trainable=trainable, collections=weight_collections)
      return matrix.matmul(numbers, weight), weight
    weights = _weights(column, num_outputs, zeros_initializer(), weight_collections, trainable)
    found = safe_embedding_lookup_sparse(weights, ids, id_weights, combiner=column.combiner,
                                         name=column.name + '_weights')
    return array.reshape(found, [-1, num_outputs]), weights


def _with_bias(sums, num_outputs, weight_collections, trainable):
  bias = variables.model_variable('bias_weight', shape=[num_outputs],
                                  initializer=zeros_initializer(), trainable=trainable,
                                  collections=weight_collections)
  return nn.bias_add(matrix.add_n(sums), bias), bias


@export('contrib.layers.weighted_sum_from_feature_columns')
def weighted_sum_from_feature_columns(columns_to_tensors, feature_columns, num_outputs,
                                      weight_collections=None, trainable=True, scope=None):
  """(sum [batch, num_outputs] over all columns of weights times numbers, or of the weights of ids,
  and a bias; {column: [its variable]}; the bias). Weights begin as zeros."""
  columns, features = _sorted(feature_columns), Features(columns_to_tensors)
  with _scope(scope, 'weighted_sum_from_feature_columns', columns_to_tensors):
    sums, found = [], {}
    for column in columns:
      total, variable = _sum_of(column, features, num_outputs, weight_collections, trainable)
      sums.append(total)
      found[column] = [variable]
    predictions, bias = _with_bias(sums, num_outputs, weight_collections, trainable)
    return predictions, found, bias


@export('contrib.layers.joint_weighted_sum_from_feature_columns')
def joint_weighted_sum_from_feature_columns(columns_to_tensors, feature_columns, num_outputs,
                                            weight_collections=None, trainable=True, scope=None):
  """The same of columns of ids whose weights are one variable, 'weights', one column behind the
  other."""
  columns, features = _sorted(feature_columns), Features(columns_to_tensors)
  with _scope(scope, 'joint_weighted_sum_from_feature_columns', columns_to_tensors):
    weights = variables.model_variable(
        'weights', shape=[sum(c.length for c in columns), num_outputs],
        initializer=zeros_initializer(), trainable=trainable, collections=weight_collections)
    sums, start = [], 0
    for column in columns:
      ids, id_weights = column.ids(features)
      rows = array.slice(weights, [start, 0], [column.length, -1])
      found = safe_embedding_lookup_sparse(rows, ids, id_weights, combiner='sum')
      sums.append(array.reshape(found, [-1, num_outputs]))
      start += column.length
    predictions, bias = _with_bias(sums, num_outputs, weight_collections, trainable)
    return predictions, {column: [weights] for column in columns}, bias


@export('contrib.layers.parse_feature_columns_from_examples')
def parse_feature_columns_from_examples(serialized, feature_columns, name=None,
                                        example_names=None):
  """{name or column: tensor} of serialized Examples [batch]: the features that columns read, and
  what each column makes of them."""
  check_feature_columns(feature_columns)
  tensors = parsing.parse_example(serialized, create_feature_spec_for_parsing(feature_columns),
                                  name=name, example_names=example_names)
  features, made = Features(tensors), dict(tensors)
  for column in _sorted(feature_columns):
    made[column] = features.of(column) if hasattr(column, 'transformed') else features.of(
        column.sparse_id_column)
  return made
