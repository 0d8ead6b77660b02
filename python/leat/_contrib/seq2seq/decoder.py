"""dynamic_decode: a loop of the graph that calls a Decoder once for each step, until every sequence
of the batch has ended.

A Decoder says how one step is made and which sequences have ended after it; the loop here gathers
the outputs of all steps in TensorArrays, counts the length of each sequence, and, where it is asked
to (`impute_finished`), keeps the state of a sequence that has ended and gives zeros as its
outputs.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value
from leat._ops import array, control_flow, math, nest
from leat._ops.rnn import _transposed
from leat._ops.tensor_array import TensorArray
from leat._ops.variable_scope import variable_scope


@export('contrib.seq2seq.Decoder')
class Decoder:
  """The base of decoders: what dynamic_decode asks for."""

  @property
  def batch_size(self):
    """How many sequences are decoded at once: a scalar int32 tensor or an int."""
    raise NotImplementedError

  @property
  def output_size(self):
    """The structure of the shapes of one step's output, without the batch."""
    raise NotImplementedError

  @property
  def output_dtype(self):
    """The structure of the types of one step's output."""
    raise NotImplementedError

  def initialize(self, name=None):
    """(finished [batch], first inputs, first state)."""
    raise NotImplementedError

  def step(self, time, inputs, state, name=None):
    """(outputs, next state, next inputs, finished [batch]) of one step."""
    raise NotImplementedError

  def finalize(self, outputs, final_state, sequence_lengths):
    """(outputs, state) of the whole decoding, of the stacked outputs [time, batch, ...]."""
    raise NotImplementedError

  @property
  def tracks_own_finished(self):
    """Whether `finished` of a step is all that is to be known. Else a sequence that has once ended
    stays so."""
    return False


def known_batch(batch_size):
  """The size of the batch as an int, None where only a step says it."""
  if isinstance(batch_size, _leat.Output):
    value = constant_value(batch_size)
    return None if value is None else int(value)
  return int(batch_size)


def zeros_for(size, batch_size, dtype):
  """A structure of zeros [batch, ...] for a structure of shapes or widths."""
  def make(rest, kind):
    rest = TensorShape(rest)
    shape = array.concat([[batch_size], rest.as_list()], 0) if rest.ndims else [batch_size]
    zeros = array.zeros(shape, kind)
    zeros.set_shape(TensorShape([known_batch(batch_size)]).concatenate(rest))
    return zeros
  if nest.is_nested(dtype):
    return nest.map_structure(make, size, dtype)
  return nest.map_structure(lambda rest: make(rest, dtype), size)


def _arrays(decoder):
  batch = known_batch(decoder.batch_size)

  def make(size, dtype):
    shape = TensorShape([batch]).concatenate(TensorShape(size))
    return TensorArray(dtype, size=0, dynamic_size=True, element_shape=shape)
  return nest.map_structure(make, _shapes(decoder.output_size), decoder.output_dtype)


def _shapes(sizes):
  """Widths as shapes of rank 1."""
  return nest.map_structure(
      lambda s: s if isinstance(s, TensorShape) else TensorShape(s), sizes)


def _kept_where_finished(finished, old, new):
  """Of sequences that had ended the old value; what has no batch dimension is new."""
  if isinstance(old, TensorArray):
    return new
  new.set_shape(old.get_shape())
  return new if new.get_shape().ndims == 0 else array.where(finished, old, new)


@export('contrib.seq2seq.dynamic_decode')
def dynamic_decode(decoder, output_time_major=False, impute_finished=False,
                   maximum_iterations=None, parallel_iterations=32, swap_memory=False, scope=None):
  """(outputs, last state, lengths [batch]) of a Decoder that runs until all sequences have ended,
  or for maximum_iterations steps. Outputs are [batch, time, ...], or [time, batch, ...] where
  `output_time_major`."""
  if not isinstance(decoder, Decoder):
    raise TypeError('Expected decoder to be type Decoder, but saw: %s' % type(decoder))
  with variable_scope(scope, 'decoder'):
    if maximum_iterations is not None:
      maximum_iterations = convert(maximum_iterations, dtypes.int32, 'maximum_iterations')
      if maximum_iterations.get_shape().ndims != 0:
        raise ValueError('maximum_iterations must be a scalar')
    outputs, state, lengths = _loop(decoder, impute_finished, maximum_iterations,
                                    parallel_iterations, swap_memory)
    outputs = nest.map_structure(lambda a: a.stack(), outputs)
    try:
      outputs, state = decoder.finalize(outputs, state, lengths)
    except NotImplementedError:
      pass
    if not output_time_major:
      outputs = nest.map_structure(_transposed, outputs)
    return outputs, state, lengths


def _loop(decoder, impute_finished, maximum_iterations, parallel_iterations, swap_memory):
  finished, inputs, state = decoder.initialize()
  # Made outside of the loop, which then takes them in.
  zeros = zeros_for(decoder.output_size, decoder.batch_size, decoder.output_dtype) \
      if impute_finished else None
  if maximum_iterations is not None:
    finished = apply_op('LogicalOr', x=finished, y=0 >= maximum_iterations)
  lengths = array.zeros_like(finished, dtype=dtypes.int32)

  def body(time, arrays, state, inputs, finished, lengths):
    outputs, new_state, new_inputs, ended = decoder.step(time, inputs, state)
    nest.assert_same_structure(arrays, outputs)
    nest.assert_same_structure(state, new_state)
    nest.assert_same_structure(inputs, new_inputs)
    if not decoder.tracks_own_finished:
      ended = apply_op('LogicalOr', x=ended, y=finished)
    lengths = array.where(finished, lengths, array.fill(array.shape(lengths), time + 1))
    if maximum_iterations is not None:
      ended = apply_op('LogicalOr', x=ended, y=time + 1 >= maximum_iterations)
    if impute_finished:
      outputs = nest.map_structure(lambda z, o: array.where(finished, z, o), zeros, outputs)
      new_state = nest.map_structure(
          lambda old, new: _kept_where_finished(finished, old, new), state, new_state)
    arrays = nest.map_structure(lambda a, o: a.write(time, o), arrays, outputs)
    return time + 1, arrays, new_state, new_inputs, ended, lengths

  _, arrays, state, _, _, lengths = control_flow.while_loop(
      lambda time, arrays, state, inputs, finished, lengths: apply_op(
          'LogicalNot', x=math.reduce_all(finished)),
      body, (constant_of(0, dtypes.int32, 'time'), _arrays(decoder), state, inputs, finished,
             lengths),
      parallel_iterations=parallel_iterations, swap_memory=swap_memory)
  return arrays, state, lengths
