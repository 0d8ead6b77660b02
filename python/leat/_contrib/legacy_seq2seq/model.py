"""Models of two networks over lists: one reads a sequence, and another one, which begins with its
state, writes one."""
from __future__ import annotations

import copy

from leat import _leat
from leat._export import export
from leat._contrib.legacy_seq2seq import decoder as decoders
from leat._contrib.rnn.wrappers import EmbeddingWrapper, OutputProjectionWrapper
from leat._graph import dtype as dtypes
from leat._ops import array, control_flow, embedding as embeddings, nest
from leat._ops.layer import Layer
from leat._ops.rnn import static_rnn
from leat._ops.variable_scope import (VariableScope, get_variable, get_variable_scope,
                                      variable_scope)


def _layers(cell):
  """A cell and those that it is made of."""
  yield cell
  for inner in list(getattr(cell, '_cells', ())) + [getattr(cell, '_cell', None)]:
    if isinstance(inner, Layer):
      yield from _layers(inner)


def _another(cell):
  """A cell with the same settings that has no variables yet."""
  is_kept = lambda value: isinstance(value, _leat.Output) or hasattr(value, 'initializer') and \
      hasattr(value, 'op')
  memo = {}   # what is not copied: tensors, variables and scopes
  for layer in _layers(cell):
    for value in vars(layer).values():
      for item in value if isinstance(value, list) else [value]:
        if is_kept(item) or isinstance(item, VariableScope):
          memo[id(item)] = item
  made = copy.deepcopy(cell, memo)
  for layer in _layers(made):
    layer.built, layer._scope = False, None
    layer._trainable_weights, layer._other_weights = [], []
  return made


@export('contrib.legacy_seq2seq.basic_rnn_seq2seq')
def basic_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, dtype=dtypes.float32, scope=None):
  """(outputs, last state): two cells of one kind with weights of their own."""
  with variable_scope(scope or 'basic_rnn_seq2seq'):
    _, state = static_rnn(_another(cell), encoder_inputs, dtype=dtype)
    return decoders.rnn_decoder(decoder_inputs, state, cell)


@export('contrib.legacy_seq2seq.tied_rnn_seq2seq')
def tied_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, loop_function=None,
                     dtype=dtypes.float32, scope=None):
  """The same with one cell for both."""
  with variable_scope('combined_tied_rnn_seq2seq'):
    scope = scope or 'tied_rnn_seq2seq'
    _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
    get_variable_scope().reuse_variables()
    return decoders.rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function,
                                scope=scope)


def _fed(feed_previous, decode):
  """(outputs, state) of decode(feed_previous): a bool, or a tensor that chooses in each step."""
  if not isinstance(feed_previous, _leat.Output):
    return decode(feed_previous)
  structure = []

  def branch(is_fed):
    # Both branches have the same variables, which the first one makes.
    with variable_scope(get_variable_scope(), reuse=None if is_fed else True):
      outputs, state = decode(is_fed)
      structure.append((len(outputs), state))
      return list(outputs) + nest.flatten(state)
  found = control_flow.cond(feed_previous, lambda: branch(True), lambda: branch(False))
  count, state = structure[0]
  return found[:count], nest.pack_sequence_as(state, found[count:])


@export('contrib.legacy_seq2seq.embedding_rnn_seq2seq')
def embedding_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, num_encoder_symbols,
                          num_decoder_symbols, embedding_size, output_projection=None,
                          feed_previous=False, dtype=None, scope=None):
  """(outputs, last state) over ids [batch], which are embedded. Without output_projection (weights,
  biases) outputs are [batch, num_decoder_symbols]. feed_previous is a bool or a bool tensor."""
  with variable_scope(scope or 'embedding_rnn_seq2seq', dtype=dtype) as found:
    encoder = EmbeddingWrapper(_another(cell), num_encoder_symbols, embedding_size)
    _, state = static_rnn(encoder, encoder_inputs, dtype=found.dtype)
    if output_projection is None:
      cell = OutputProjectionWrapper(cell, num_decoder_symbols)
    return _fed(feed_previous, lambda is_fed: decoders.embedding_rnn_decoder(
        decoder_inputs, state, cell, num_decoder_symbols, embedding_size,
        output_projection=output_projection, feed_previous=is_fed,
        update_embedding_for_previous=not isinstance(feed_previous, _leat.Output)))


@export('contrib.legacy_seq2seq.embedding_tied_rnn_seq2seq')
def embedding_tied_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, num_symbols, embedding_size,
                               num_decoder_symbols=None, output_projection=None,
                               feed_previous=False, dtype=None, scope=None):
  """The same with one cell and one embedding for both."""
  with variable_scope(scope or 'embedding_tied_rnn_seq2seq', dtype=dtype) as found:
    dtype = found.dtype
    decoders._check_projection(output_projection, num_decoder_symbols or num_symbols, dtype)
    table = get_variable('embedding', [num_symbols, embedding_size], dtype=dtype)
    embed = lambda ids: [embeddings.embedding_lookup(table, i) for i in ids]
    inputs, targets = embed(encoder_inputs), embed(decoder_inputs)
    if output_projection is None:
      cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)
    updates = not isinstance(feed_previous, _leat.Output)

    def decode(is_fed):
      loop_function = decoders.argmax_and_embed(table, output_projection, updates) \
          if is_fed else None
      return tied_rnn_seq2seq(inputs, targets, cell, loop_function=loop_function, dtype=dtype)
    return _fed(feed_previous, decode)


@export('contrib.legacy_seq2seq.embedding_attention_seq2seq')
def embedding_attention_seq2seq(encoder_inputs, decoder_inputs, cell, num_encoder_symbols,
                                num_decoder_symbols, embedding_size, num_heads=1,
                                output_projection=None, feed_previous=False, dtype=None,
                                scope=None, initial_state_attention=False):
  """embedding_rnn_seq2seq with attention to the encoder's outputs."""
  with variable_scope(scope or 'embedding_attention_seq2seq', dtype=dtype) as found:
    dtype = found.dtype
    encoder = EmbeddingWrapper(_another(cell), num_encoder_symbols, embedding_size)
    read, state = static_rnn(encoder, encoder_inputs, dtype=dtype)
    memory = array.concat([array.reshape(r, [-1, 1, cell.output_size]) for r in read], 1)
    output_size = None
    if output_projection is None:
      cell = OutputProjectionWrapper(cell, num_decoder_symbols)
      output_size = num_decoder_symbols
    return _fed(feed_previous, lambda is_fed: decoders.embedding_attention_decoder(
        decoder_inputs, state, memory, cell, num_decoder_symbols, embedding_size,
        num_heads=num_heads, output_size=output_size, output_projection=output_projection,
        feed_previous=is_fed, initial_state_attention=initial_state_attention,
        update_embedding_for_previous=not isinstance(feed_previous, _leat.Output)))


@export('contrib.legacy_seq2seq.one2many_rnn_seq2seq')
def one2many_rnn_seq2seq(encoder_inputs, decoder_inputs_dict, enc_cell, dec_cells_dict,
                         num_encoder_symbols, num_decoder_symbols_dict, embedding_size,
                         feed_previous=False, dtype=None, scope=None):
  """({name: outputs}, {name: last state}) of several decoders that begin with one encoder's
  state."""
  outputs, states = {}, {}
  with variable_scope(scope or 'one2many_rnn_seq2seq', dtype=dtype) as found:
    encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
    _, start = static_rnn(encoder, encoder_inputs, dtype=found.dtype)
    for name, inputs in decoder_inputs_dict.items():
      symbols = num_decoder_symbols_dict[name]
      with variable_scope('one2many_decoder_' + str(name)):
        cell = OutputProjectionWrapper(dec_cells_dict[name], symbols)
        outputs[name], states[name] = _fed(
            feed_previous, lambda is_fed, inputs=inputs, cell=cell, symbols=symbols:
            decoders.embedding_rnn_decoder(inputs, start, cell, symbols, embedding_size,
                                           feed_previous=is_fed))
  return outputs, states
