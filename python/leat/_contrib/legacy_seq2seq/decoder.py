"""Decoders over lists: a cell that is called once for each step of a list of inputs.

A loop function makes the input of a step of the output of the step before; that is how a model is
used once it is trained. The same decoders with attention see the states of an encoder
[batch, length, size] (Vinyals et al., arXiv:1412.7449).
"""
from __future__ import annotations

from leat._export import export
from leat._contrib.rnn.linear import linear
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.shape import TensorShape
from leat._ops import array, embedding as embeddings, math, nest, nn
from leat._ops.rnn_cells import state_shape
from leat._ops.variable_scope import get_variable, get_variable_scope, variable_scope


def argmax_and_embed(table, output_projection=None, update_embedding=True):
  """A loop function: the embedding of the largest output, after a projection (weights, biases)."""
  def loop_function(previous, _):
    if output_projection is not None:
      previous = nn.xw_plus_b(previous, output_projection[0], output_projection[1])
    found = embeddings.embedding_lookup(table, math.argmax(previous, 1))
    return found if update_embedding else apply_op('StopGradient', input=found)
  return loop_function


def _next_input(item, previous, number, loop_function):
  if loop_function is None or previous is None:
    return item
  with variable_scope('loop_function', reuse=True):
    return loop_function(previous, number)


@export('contrib.legacy_seq2seq.rnn_decoder')
def rnn_decoder(decoder_inputs, initial_state, cell, loop_function=None, scope=None):
  """(outputs, last state) of a cell over a list of inputs [batch, size]; after the first one the
  inputs are loop_function(output before, number), where there is one."""
  with variable_scope(scope or 'rnn_decoder'):
    state, outputs, previous = initial_state, [], None
    for number, item in enumerate(decoder_inputs):
      item = _next_input(item, previous, number, loop_function)
      if number > 0:
        get_variable_scope().reuse_variables()
      output, state = cell(item, state)
      outputs.append(output)
      previous = output
  return outputs, state


def _check_projection(projection, width, dtype):
  """ValueError where a projection (weights, biases) does not give that width."""
  if projection is None:
    return
  weights, biases = (convert(p, dtype) for p in projection)
  if width is not None:
    weights.get_shape().assert_is_compatible_with(TensorShape([None, width]))
    biases.get_shape().assert_is_compatible_with(TensorShape([width]))


@export('contrib.legacy_seq2seq.embedding_rnn_decoder')
def embedding_rnn_decoder(decoder_inputs, initial_state, cell, num_symbols, embedding_size,
                          output_projection=None, feed_previous=False,
                          update_embedding_for_previous=True, scope=None):
  """rnn_decoder over ids [batch], which are looked up in a variable [num_symbols, embedding_size].
  With `feed_previous`, only the first id is used; the others are the largest outputs."""
  with variable_scope(scope or 'embedding_rnn_decoder') as found:
    _check_projection(output_projection, num_symbols, found.dtype)
    table = get_variable('embedding', [num_symbols, embedding_size])
    loop_function = argmax_and_embed(table, output_projection, update_embedding_for_previous) \
        if feed_previous else None
    inputs = [embeddings.embedding_lookup(table, i) for i in decoder_inputs]
    return rnn_decoder(inputs, initial_state, cell, loop_function=loop_function)


class _Attention:
  """What each of several heads attends to: softmax(v * tanh(W memory + W' query)) of the memory."""

  def __init__(self, states, heads):
    self._length = states.get_shape()[1].value
    if self._length is None:
      self._length = array.shape(states)[1]
    self.size = states.get_shape()[2].value
    # As an image of height `length`, so that a convolution applies W to each place.
    self._memory = array.reshape(states, [-1, self._length, 1, self.size])
    self._features, self._vectors = [], []
    for head in range(heads):
      kernel = get_variable('AttnW_%d' % head, [1, 1, self.size, self.size])
      self._features.append(nn.conv2d(self._memory, kernel, [1, 1, 1, 1], 'SAME'))
      self._vectors.append(get_variable('AttnV_%d' % head, [self.size]))

  def read(self, query):
    """A tensor [batch, size] for each head; `query` is a state."""
    parts = nest.flatten(query)
    query = array.concat(parts, 1) if len(parts) > 1 else parts[0]
    found = []
    for head, (features, vector) in enumerate(zip(self._features, self._vectors)):
      with variable_scope('Attention_%d' % head):
        wanted = array.reshape(linear(query, self.size, True), [-1, 1, 1, self.size])
        scores = math.reduce_sum(vector * math.tanh(features + wanted), [2, 3])
        weights = array.reshape(nn.softmax(scores), [-1, self._length, 1, 1])
        read = math.reduce_sum(weights * self._memory, [1, 2])
        found.append(array.reshape(read, [-1, self.size]))
    return found


@export('contrib.legacy_seq2seq.attention_decoder')
def attention_decoder(decoder_inputs, initial_state, attention_states, cell, output_size=None,
                      num_heads=1, loop_function=None, dtype=None, scope=None,
                      initial_state_attention=False):
  """rnn_decoder with attention: an input is a projection of itself and of what was attended to, and
  an output [batch, output_size] one of the cell's output and of what is attended to then. Without
  initial_state_attention the first step attends to nothing."""
  if not decoder_inputs:
    raise ValueError('Must provide at least 1 input to attention decoder.')
  if num_heads < 1:
    raise ValueError('With less than 1 heads, use a non-attention decoder.')
  attention_states = convert(attention_states)
  if attention_states.get_shape()[2].value is None:
    raise ValueError('Shape[2] of attention_states must be known: %s' %
                     attention_states.get_shape())
  output_size = cell.output_size if output_size is None else output_size
  with variable_scope(scope or 'attention_decoder', dtype=dtype) as found:
    attention = _Attention(attention_states, num_heads)
    state, outputs, previous = initial_state, [], None
    batch = array.shape(decoder_inputs[0])[0]
    attended = []
    for _ in range(num_heads):
      zeros = array.zeros(state_shape(batch, attention.size), found.dtype)
      zeros.set_shape([None, attention.size])
      attended.append(zeros)
    if initial_state_attention:
      attended = attention.read(initial_state)
    for number, item in enumerate(decoder_inputs):
      if number > 0:
        get_variable_scope().reuse_variables()
      item = _next_input(item, previous, number, loop_function)
      size = item.get_shape().with_rank(2)[1].value
      if size is None:
        raise ValueError('Could not infer input size from input: %s' % item.name)
      output, state = cell(linear([item] + attended, size, True), state)
      if number == 0 and initial_state_attention:
        with variable_scope(get_variable_scope(), reuse=True):
          attended = attention.read(state)
      else:
        attended = attention.read(state)
      with variable_scope('AttnOutputProjection'):
        output = linear([output] + attended, output_size, True)
      outputs.append(output)
      previous = output
  return outputs, state


@export('contrib.legacy_seq2seq.embedding_attention_decoder')
def embedding_attention_decoder(decoder_inputs, initial_state, attention_states, cell, num_symbols,
                                embedding_size, num_heads=1, output_size=None,
                                output_projection=None, feed_previous=False,
                                update_embedding_for_previous=True, dtype=None, scope=None,
                                initial_state_attention=False):
  """attention_decoder over ids [batch], as embedding_rnn_decoder."""
  output_size = cell.output_size if output_size is None else output_size
  with variable_scope(scope or 'embedding_attention_decoder', dtype=dtype) as found:
    _check_projection(output_projection, num_symbols, found.dtype)
    table = get_variable('embedding', [num_symbols, embedding_size])
    loop_function = argmax_and_embed(table, output_projection, update_embedding_for_previous) \
        if feed_previous else None
    inputs = [embeddings.embedding_lookup(table, i) for i in decoder_inputs]
    return attention_decoder(inputs, initial_state, attention_states, cell,
                             output_size=output_size, num_heads=num_heads,
                             loop_function=loop_function,
                             initial_state_attention=initial_state_attention)
