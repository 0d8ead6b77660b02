"""BasicDecoder: a cell whose inputs a Helper chooses, with a layer above its outputs."""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph.scope import name_scope
from leat._graph.shape import TensorShape
from leat._contrib.seq2seq.decoder import Decoder
from leat._contrib.seq2seq.step_inputs import Helper
from leat._ops import nest, rnn_cells
from leat._ops.layers import Layer


@export('contrib.seq2seq.BasicDecoderOutput')
class BasicDecoderOutput(collections.namedtuple('BasicDecoderOutput', ('rnn_output', 'sample_id'))):
  """What the cell, or the layer above it, gives in a step, and what the helper drew of it."""
  __slots__ = ()


def check_cell(cell):
  """TypeError where `cell` is not a cell of a recurrent network."""
  if not isinstance(cell, rnn_cells.RNNCell) and not all(
      hasattr(cell, name) for name in ('output_size', 'state_size', 'zero_state', '__call__')):
    raise TypeError('cell must be an RNNCell, received: %s' % type(cell))


def check_output_layer(layer):
  if layer is not None and not isinstance(layer, Layer):
    raise TypeError('output_layer must be a Layer, received: %s' % type(layer))


def depth_above(layer, sizes):
  """The structure of output sizes of a cell, with the layer above it applied to it: the layer is
  asked for its shape only, no operation is added."""
  if layer is None:
    return sizes
  shapes = nest.map_structure(lambda s: TensorShape([None]).concatenate(TensorShape(s)), sizes)
  found = nest.map_structure(lambda s: layer.compute_output_shape(s)[1:], shapes)
  return nest.map_structure(
      lambda s: s[0].value if s.ndims == 1 else s, found)


@export('contrib.seq2seq.BasicDecoder')
class BasicDecoder(Decoder):
  """A step calls the cell, then the layer, and asks the helper for the next inputs."""

  def __init__(self, cell, helper, initial_state, output_layer=None):
    check_cell(cell)
    if not isinstance(helper, Helper):
      raise TypeError('helper must be a Helper, received: %s' % type(helper))
    check_output_layer(output_layer)
    self._cell, self._helper = cell, helper
    self._initial_state, self._output_layer = initial_state, output_layer

  @property
  def batch_size(self):
    return self._helper.batch_size

  @property
  def output_size(self):
    return BasicDecoderOutput(depth_above(self._output_layer, self._cell.output_size),
                              self._helper.sample_ids_shape)

  @property
  def output_dtype(self):
    """The cell's outputs have the type of its state."""
    kind = nest.flatten(self._initial_state)[0].dtype.base_dtype
    return BasicDecoderOutput(nest.map_structure(lambda _: kind, self.output_size.rnn_output),
                              self._helper.sample_ids_dtype)

  def initialize(self, name=None):
    return self._helper.initialize() + (self._initial_state,)

  def step(self, time, inputs, state, name=None):
    with name_scope(name, 'BasicDecoderStep', [time]):
      outputs, state = self._cell(inputs, state)
      if self._output_layer is not None:
        outputs = self._output_layer(outputs)
      sample_ids = self._helper.sample(time=time, outputs=outputs, state=state)
      finished, inputs, state = self._helper.next_inputs(
          time=time, outputs=outputs, state=state, sample_ids=sample_ids)
      return BasicDecoderOutput(outputs, sample_ids), state, inputs, finished
