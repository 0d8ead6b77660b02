"""AttentionWrapper: a cell whose inputs and outputs know where a decoder attends to.

A step puts the attention of the step before behind the inputs, calls the cell, asks each mechanism
how much its output belongs to each place of the memory, and makes the new attention of the memory's
mean by these weights.
"""
from __future__ import annotations

import collections

from leat import _leat
from leat._export import export
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.shape import TensorShape
from leat._contrib.seq2seq.attention import AttentionMechanism
from leat._contrib.seq2seq.basic_decoder import check_cell
from leat._contrib.seq2seq.decoder import zeros_for
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._ops import array, control_flow, math, matrix, nest
from leat._ops.layers import Dense
from leat._ops.rnn_cells import RNNCell
from leat._ops.tensor_array import TensorArray


def _same_shape(old, new):
  """The new value with the shape of the old one; ValueError, or an error of the step, where it has
  another."""
  if not isinstance(old, _leat.Output) or not isinstance(new, _leat.Output):
    return new
  known, given = old.get_shape(), new.get_shape()
  if not given.is_compatible_with(known):
    raise ValueError('The shape of a value of AttentionWrapperState is %s, must be %s' % (
        given, known))
  if given.is_fully_defined():
    return new
  wanted, found = array.shape(old), array.shape(new)
  same = math.reduce_all(math.equal(wanted, found)) if None not in (known.ndims, given.ndims) \
      else math.equal(array.rank(old), array.rank(new))
  check = control_flow.Assert(same, ['The shape of a value of AttentionWrapperState is', found,
                                     'must be', wanted])
  with control_dependencies([check]):
    new = array.identity(new)
  new.set_shape(known)
  return new


@export('contrib.seq2seq.AttentionWrapperState')
class AttentionWrapperState(collections.namedtuple('AttentionWrapperState', (
    'cell_state', 'attention', 'time', 'alignments', 'alignment_history', 'attention_state'))):
  """The state of the cell, the last attention [batch, depth], how many steps were made, the last
  alignments [batch, time], those of all steps as a TensorArray or (), and the mechanisms'
  states."""
  __slots__ = ()

  def clone(self, **kwargs):
    """A copy with other values in some fields, which must have the shapes of the old ones."""
    return nest.map_structure(_same_shape, self, self._replace(**kwargs), check_types=False)


@export('contrib.seq2seq.hardmax')
def hardmax(logits, name=None):
  """1 at the largest value of the last dimension, else 0."""
  with name_scope(name, 'Hardmax', [logits]):
    logits = convert(logits, name='logits')
    depth = logits.get_shape()[-1].value
    depth = array.shape(logits)[-1] if depth is None else depth
    return array.one_hot(math.argmax(logits, -1), depth, dtype=logits.dtype)


def compute_attention(mechanism, cell_output, attention_state, attention_layer):
  """(attention, alignments, next state of the mechanism) for an output of a cell."""
  alignments, next_state = mechanism(cell_output, state=attention_state)
  context = matrix.matmul(array.expand_dims(alignments, 1), mechanism.values)
  context = array.squeeze(context, [1])
  if attention_layer is not None:
    context = attention_layer(array.concat([cell_output, context], 1))
  return context, alignments, next_state


def _attention_layers(sizes, layers, mechanisms, cell):
  """(layers or None, width of all attention)."""
  if sizes is not None and layers is not None:
    raise ValueError('Only one of attention_layer_size and attention_layer should be set')
  if sizes is not None:
    sizes = tuple(sizes if isinstance(sizes, (list, tuple)) else (sizes,))
    if len(sizes) != len(mechanisms):
      raise ValueError('If provided, attention_layer_size must contain exactly one integer per '
                       'attention_mechanism, saw: %d vs %d' % (len(sizes), len(mechanisms)))
    return tuple(Dense(size, name='attention_layer', use_bias=False, dtype=m.dtype)
                 for size, m in zip(sizes, mechanisms)), sum(sizes)
  if layers is not None:
    layers = tuple(layers if isinstance(layers, (list, tuple)) else (layers,))
    if len(layers) != len(mechanisms):
      raise ValueError('If provided, attention_layer must contain exactly one layer per '
                       'attention_mechanism, saw: %d vs %d' % (len(layers), len(mechanisms)))
    return layers, sum(
        layer.compute_output_shape(TensorShape([
            None, cell.output_size + m.values.get_shape()[-1].value]))[-1].value
        for layer, m in zip(layers, mechanisms))
  return None, sum(m.values.get_shape()[-1].value for m in mechanisms)


@export('contrib.seq2seq.AttentionWrapper')
class AttentionWrapper(RNNCell):
  """A cell with one attention mechanism or with a list of them. attention_layer_size, a number or
  one for each mechanism, is the width of a layer without bias over the cell's output and the
  context; `attention_layer` is such a layer; without both, attention is the context. With
  `output_attention` the attention is the output, else it is that of the cell. `attention_fn` takes
  the place of the whole (mechanism, output, state, layer) -> (attention, alignments, state)."""

  def __init__(self, cell, attention_mechanism, attention_layer_size=None,
               alignment_history=False, cell_input_fn=None, output_attention=True,
               initial_cell_state=None, name=None, attention_layer=None, attention_fn=None):
    super().__init__(name=name)
    check_cell(cell)
    self._is_multi = isinstance(attention_mechanism, (list, tuple))
    mechanisms = tuple(attention_mechanism) if self._is_multi else (attention_mechanism,)
    for mechanism in mechanisms:
      if not isinstance(mechanism, AttentionMechanism):
        raise TypeError('attention_mechanism must contain only instances of AttentionMechanism, '
                        'saw type: %s' % type(mechanism).__name__)
    if cell_input_fn is None:
      cell_input_fn = lambda inputs, attention: array.concat([inputs, attention], -1)
    elif not callable(cell_input_fn):
      raise TypeError('cell_input_fn must be callable, saw type: %s' %
                      type(cell_input_fn).__name__)
    self._attention_layers, self._attention_layer_size = _attention_layers(
        attention_layer_size, attention_layer, mechanisms, cell)
    self._attention_fn = attention_fn or compute_attention
    self._cell, self._attention_mechanisms = cell, mechanisms
    self._cell_input_fn, self._output_attention = cell_input_fn, output_attention
    self._alignment_history = alignment_history
    with name_scope(name, 'AttentionWrapperInit'):
      self._initial_cell_state = initial_cell_state
      if initial_cell_state is not None:
        self._initial_cell_state = self._checked_initial_state(initial_cell_state)

  def _checked_initial_state(self, state):
    last = nest.flatten(state)[-1]
    batch = last.get_shape()[0].value
    batch = array.shape(last)[0] if batch is None else batch
    text = ('When constructing AttentionWrapper %s: Non-matching batch sizes between the memory '
            '(encoder output) and initial_cell_state.  Are you using the BeamSearchDecoder?  You '
            'may need to tile your initial state via the tf.contrib.seq2seq.tile_batch function '
            'with argument multiple=beam_width.' % self._base_name)
    with control_dependencies(self._batch_size_checks(batch, text)):
      return nest.map_structure(
          lambda s: array.identity(s, name='check_initial_cell_state'), state)

  def _batch_size_checks(self, batch_size, text):
    """Operations that fail where a memory has another batch."""
    checks = []
    for mechanism in self._attention_mechanisms:
      own = mechanism.batch_size
      if isinstance(own, int) and isinstance(batch_size, int):
        if own != batch_size:
          raise ValueError('%s  The batch is %d, must be %d.' % (text, batch_size, own))
        continue
      checks.append(control_flow.Assert(math.equal(batch_size, own), [text, batch_size, own]))
    return checks

  def _item_or_tuple(self, items):
    items = tuple(items)
    return items if self._is_multi else items[0]

  @property
  def output_size(self):
    return self._attention_layer_size if self._output_attention else self._cell.output_size

  @property
  def state_size(self):
    return AttentionWrapperState(
        cell_state=self._cell.state_size, time=TensorShape([]),
        attention=self._attention_layer_size,
        alignments=self._item_or_tuple(m.alignments_size for m in self._attention_mechanisms),
        attention_state=self._item_or_tuple(m.state_size for m in self._attention_mechanisms),
        alignment_history=self._item_or_tuple(
            m.alignments_size if self._alignment_history else ()
            for m in self._attention_mechanisms))

  def zero_state(self, batch_size, dtype):
    """The state before the first step: the cell's or initial_cell_state, and no attention."""
    with name_scope(type(self).__name__ + 'ZeroState', values=[batch_size]):
      cell_state = self._cell.zero_state(batch_size, dtype) if self._initial_cell_state is None \
          else self._initial_cell_state
      text = ('When calling zero_state of AttentionWrapper %s: Non-matching batch sizes between '
              'the memory (encoder output) and the requested batch size.  Are you using the '
              'BeamSearchDecoder?  If so, make sure your encoder output has been tiled to '
              'beam_width via tf.contrib.seq2seq.tile_batch, and the batch_size= argument passed '
              'to zero_state is batch_size * beam_width.' % self._base_name)
      with control_dependencies(self._batch_size_checks(batch_size, text)):
        cell_state = nest.map_structure(
            lambda s: array.identity(s, name='checked_cell_state'), cell_state)
      alignments = [m.initial_alignments(batch_size, dtype) for m in self._attention_mechanisms]
      return AttentionWrapperState(
          cell_state=cell_state, time=array.zeros([], dtypes.int32),
          attention=zeros_for(self._attention_layer_size, batch_size, dtype),
          alignments=self._item_or_tuple(alignments),
          attention_state=self._item_or_tuple(m.initial_state(batch_size, dtype)
                                              for m in self._attention_mechanisms),
          alignment_history=self._item_or_tuple(
              TensorArray(dtype, size=0, dynamic_size=True, element_shape=a.get_shape())
              if self._alignment_history else () for a in alignments))

  def call(self, inputs, state):
    if not isinstance(state, AttentionWrapperState):
      raise TypeError('Expected state to be instance of AttentionWrapperState. Received type %s '
                      'instead.' % type(state))
    cell_output, cell_state = self._cell(self._cell_input_fn(inputs, state.attention),
                                         state.cell_state)
    batch = cell_output.get_shape()[0].value
    batch = array.shape(cell_output)[0] if batch is None else batch
    text = ('When applying AttentionWrapper %s: Non-matching batch sizes between the memory '
            '(encoder output) and the query (decoder output).  Are you using the '
            'BeamSearchDecoder?  You may need to tile your memory input via the '
            'tf.contrib.seq2seq.tile_batch function with argument multiple=beam_width.' % self.name)
    with control_dependencies(self._batch_size_checks(batch, text)):
      cell_output = array.identity(cell_output, name='checked_cell_output')
    attentions, alignments, states, histories = [], [], [], []
    items = lambda field: field if self._is_multi else (field,)
    for n, mechanism in enumerate(self._attention_mechanisms):
      layer = self._attention_layers[n] if self._attention_layers else None
      attention, alignment, attention_state = self._attention_fn(
          mechanism, cell_output, items(state.attention_state)[n], layer)
      history = items(state.alignment_history)[n]
      attentions.append(attention)
      alignments.append(alignment)
      states.append(attention_state)
      histories.append(history.write(state.time, alignment) if self._alignment_history else ())
    attention = array.concat(attentions, 1)
    new = AttentionWrapperState(
        time=state.time + 1, cell_state=cell_state, attention=attention,
        attention_state=self._item_or_tuple(states),
        alignments=self._item_or_tuple(alignments),
        alignment_history=self._item_or_tuple(histories))
    return (attention if self._output_attention else cell_output), new
