"""contrib.learn.models and contrib.learn.ops: small models as functions."""
from __future__ import annotations

from leat._export import export
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, embedding as embeddings, initializers, losses, math, matrix, nn
from leat._ops.variable_scope import get_variable, variable_scope


@export('contrib.learn.ops.mean_squared_error_regressor')
def mean_squared_error_regressor(tensor_in, labels, weights, biases, name=None):
  """(predictions, loss) of a linear regression."""
  with name_scope(name, 'mean_squared_error_regressor', [tensor_in, labels]):
    predictions = nn.xw_plus_b(tensor_in, weights, biases)
    if len(labels.get_shape()) == 1 and len(predictions.get_shape()) == 2:
      predictions = array.squeeze(predictions, [1])
    return predictions, losses.mean_squared_error(labels, predictions)


@export('contrib.learn.ops.softmax_classifier')
def softmax_classifier(tensor_in, labels, weights, biases, class_weight=None, name=None):
  """(probabilities, loss) of a softmax regression; labels are one-hot. class_weight [classes] is
  multiplied with the logits."""
  with name_scope(name, 'softmax_classifier', [tensor_in, labels]):
    logits = nn.xw_plus_b(tensor_in, weights, biases)
    if class_weight is not None:
      logits = logits * class_weight
    return nn.softmax(logits), losses.softmax_cross_entropy(labels, logits)


def _zeros(shape, dtype):
  zeros = initializers.zeros_initializer()
  return get_variable('weights', shape, dtype=dtype, initializer=zeros), \
      get_variable('bias', shape[1:], dtype=dtype, initializer=zeros)


@export('contrib.learn.models.linear_regression_zero_init')
def linear_regression_zero_init(x, y):
  """(predictions, loss) of a linear regression that begins with zeros, for x [batch, width] and
  y [batch] or [batch, values]."""
  with variable_scope('linear_regression'):
    x, y = convert(x), convert(y)
    kind = x.dtype.base_dtype
    values = 1 if len(y.get_shape()) == 1 else y.get_shape()[1].value
    weights, bias = _zeros([x.get_shape()[1].value, values], kind)
    return mean_squared_error_regressor(x, math.cast(y, kind), weights, bias)


@export('contrib.learn.models.logistic_regression_zero_init')
def logistic_regression_zero_init(x, y):
  """(probabilities, loss) of a softmax regression that begins with zeros; y is one-hot."""
  with variable_scope('logistic_regression'):
    x, y = convert(x), convert(y)
    weights, bias = _zeros([x.get_shape()[1].value, y.get_shape()[-1].value], x.dtype.base_dtype)
    return softmax_classifier(x, y, weights, bias)


@export('contrib.learn.ops.embedding_lookup')
def embedding_lookup(params, ids, name='embedding_lookup'):
  """The rows of params [n, width] at ids of any shape, which get a dimension more."""
  with name_scope(name, 'embedding_lookup', [params, ids]):
    return embeddings.embedding_lookup(params, convert(ids))


@export('contrib.learn.ops.categorical_variable')
def categorical_variable(tensor_in, n_classes, embedding_size, name):
  """A learned vector for each class in a tensor of classes."""
  with variable_scope(name):
    table = get_variable(name + '_embeddings', [n_classes, embedding_size])
    return embedding_lookup(table, tensor_in)


@export('contrib.learn.ops.seq2seq_inputs')
def seq2seq_inputs(x, y, input_length, output_length, sentinel=None, name=None):
  """(inputs of an encoder, of a decoder, outputs of the decoder), lists of tensors [batch, ...] for
  x [batch, input_length, ...] and y [batch, output_length, ...]. A sentinel (zeros) begins the
  inputs of the decoder and ends its outputs."""
  with name_scope(name, 'seq2seq_inputs', [x, y]):
    inputs, targets = array.unstack(x, axis=1), array.unstack(y, axis=1)
    if not sentinel:
      sentinel = array.zeros_like(targets[0])
      sentinel.set_shape(targets[0].get_shape())
    return inputs, [sentinel] + targets, targets + [sentinel]


@export('contrib.learn.ops.sequence_classifier')
def sequence_classifier(decoding, labels, sampling_decoding=None, name=None):
  """(probabilities [batch, steps, classes], loss) of the logits of each step, lists of tensors
  [batch, classes], and labels alike, which are one-hot or probabilities. The probabilities are
  those of sampling_decoding where it is given."""
  with name_scope(name, 'sequence_classifier', [*decoding, *labels]):
    losses_of = [nn.softmax_cross_entropy_with_logits(
        labels=labels[i], logits=logits, name='sequence_loss/xent_raw%d' % i)
                 for i, logits in enumerate(decoding)]
    loss = math.reduce_sum(matrix.add_n(losses_of, name='sequence_loss/xent'),
                           name='sequence_loss')
    predictions = [nn.softmax(logits) for logits in sampling_decoding or decoding]
    return array.stack(predictions, axis=1), loss


@export('contrib.learn.ops.rnn_decoder')
def rnn_decoder(decoder_inputs, initial_state, cell, scope=None):
  """(outputs, states, sampled outputs, sampled states): a cell over the inputs, and over its own
  outputs after the first input; both with the same weights."""
  with variable_scope(scope or 'dnn_decoder') as found:
    states, sampled_states = [initial_state], [initial_state]
    outputs, sampled = [], []
    with name_scope('training'):
      for n, item in enumerate(decoder_inputs):
        if n > 0:
          found.reuse_variables()
        output, state = cell(item, states[-1])
        outputs.append(output)
        states.append(state)
    with name_scope('sampling'):
      for n, item in enumerate(decoder_inputs):
        output, state = cell(item if n == 0 else sampled[-1], sampled_states[-1])
        sampled.append(output)
        sampled_states.append(state)
  return outputs, states, sampled, sampled_states
