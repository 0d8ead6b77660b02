"""tf.nn.dynamic_rnn and tf.nn.static_rnn: a cell over the steps of sequences, and the same in both
directions.

The first is a loop of the graph over any number of steps, the second adds the cell's operations
once for each step of a list. Of sequences that are shorter than others, outputs behind their end
are zeros and the state stays what it was at the end.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import control_dependencies, name_scope
from leat._graph.shape import TensorShape
from leat._ops import array, control_flow, math, nest, rnn_cells, sequences
from leat._ops.tensor_array import TensorArray
from leat._ops.variable_scope import variable_scope


def _batch_of(tensor, axis):
  """The size of the batch: an int where it is known."""
  known = tensor.get_shape()
  size = known.as_list()[axis] if known.ndims is not None else None
  return size if size is not None else array.shape(tensor)[axis]


def _initial(cell, batch_size, initial_state, dtype):
  if initial_state is not None:
    return initial_state
  if dtype is None:
    raise ValueError('If there is no initial_state, you must give a dtype.')
  return cell.zero_state(batch_size, dtype)


def _lengths(sequence_length):
  if sequence_length is None:
    return None
  lengths = math.cast(convert(sequence_length), dtypes.int32)
  if lengths.get_shape().ndims not in (None, 1):
    raise ValueError('sequence_length must be a vector of length batch_size, but saw shape: %s' %
                     lengths.get_shape())
  return lengths


def _where_running(is_over, old, new):
  """Of each sequence that is over the old value, of others the new one."""
  if isinstance(new, TensorArray) or new.get_shape().ndims == 0:
    return new
  kept = array.where(is_over, old, new)
  kept.set_shape(new.get_shape())
  return kept


def _step(time, lengths, cell, inputs, state, zeros):
  """(output, new state) of one step; `zeros` are what sequences that are over give."""
  output, new = cell(inputs, state)
  nest.assert_same_structure(state, new)
  if lengths is None:
    return output, new
  is_over = time >= lengths
  output = nest.map_structure(lambda z, o: _where_running(is_over, z, o), zeros(output), output)
  return output, nest.map_structure(lambda old, n: _where_running(is_over, old, n), state, new)


def _zeros_of(batch_size):
  def make(output):
    return nest.map_structure(
        lambda o: array.zeros(rnn_cells.state_shape(batch_size, o.get_shape().as_list()[1:]),
                              o.dtype), output)
  return make


def _transposed(tensor):
  """The first two dimensions change places."""
  tensor = convert(tensor)
  rank = tensor.get_shape().ndims
  if rank is not None and rank < 2:
    raise ValueError('Expected input tensor %s to have rank at least 2, but saw shape: %s' % (
        tensor.name, tensor.get_shape()))
  order = [1, 0] + list(range(2, rank)) if rank is not None else array.concat(
      [[1, 0], math.range(2, array.rank(tensor))], 0)
  return array.transpose(tensor, order)


@export('nn.dynamic_rnn')
def dynamic_rnn(cell, inputs, sequence_length=None, initial_state=None, dtype=None,
                parallel_iterations=None, swap_memory=False, time_major=False, scope=None):
  """(outputs, last state) of a cell that runs over `inputs` [batch, time, ...], or [time, batch,
  ...] with time_major; outputs have the same order.

  The cell is one of tf.nn.rnn_cell. The state begins as initial_state, or as zeros of `dtype`, of
  which one must be given: ValueError. Behind the sequence_length [batch] of an example outputs are
  zeros and the state stays. It is a loop: the time may differ from step to step.
  """
  rnn_cells.check_cell('cell', cell)
  with variable_scope(scope or 'rnn'):
    items = [convert(i) for i in nest.flatten(inputs)]
    if not time_major:
      items = [_transposed(i) for i in items]
    batch_size = _batch_of(items[0], 1)
    lengths = _lengths(sequence_length)
    state = _initial(cell, batch_size, initial_state, dtype)
    outputs, state = _loop(cell, inputs, items, lengths, state, dtype, batch_size,
                           parallel_iterations or 32, swap_memory)
    if not time_major:
      outputs = nest.map_structure(_transposed, outputs)
    return outputs, state


def _loop(cell, inputs, items, lengths, state, dtype, batch_size, parallel_iterations,
          swap_memory):
  steps = array.shape(items[0])[0]
  known_steps = items[0].get_shape().as_list()[0] if items[0].get_shape().ndims else None
  with name_scope('dynamic_rnn'):
    sizes = nest.flatten(cell.output_size)
    kinds = dtype or nest.flatten(state)[0].dtype.base_dtype
    written = [TensorArray(kinds, size=steps, tensor_array_name='output_%d' % n)
               for n in range(len(sizes))]
    read = [TensorArray(i.dtype.base_dtype, size=steps, tensor_array_name='input_%d' % n).unstack(i)
            for n, i in enumerate(items)]
  shapes = [i.get_shape()[1:] if i.get_shape().ndims is not None else TensorShape(None)
            for i in items]

  def body(time, written, state):
    values = [r.read(time) for r in read]
    for value, shape in zip(values, shapes):
      value.set_shape(shape)
    output, new = _step(time, lengths, cell, nest.pack_sequence_as(inputs, values), state,
                        _zeros_of(batch_size))
    written = [w.write(time, o) for w, o in zip(written, nest.flatten(output))]
    return time + 1, written, new

  _, written, last = control_flow.while_loop(
      lambda time, *unused: time < steps, body, (convert(0, name='time'), written, state),
      parallel_iterations=parallel_iterations, swap_memory=swap_memory)
  outputs = [w.stack() for w in written]
  known_batch = batch_size if isinstance(batch_size, int) else None
  for output, size in zip(outputs, sizes):
    rest = [size] if isinstance(size, int) else TensorShape(size).as_list()
    output.set_shape([known_steps, known_batch] + rest)
  return nest.pack_sequence_as(cell.output_size, outputs), last


@export('nn.static_rnn', 'contrib.rnn.static_rnn')
def static_rnn(cell, inputs, initial_state=None, dtype=None, sequence_length=None, scope=None):
  """(list of outputs, last state) of a list of inputs [batch, ...], one for each step."""
  if not isinstance(inputs, (list, tuple)):
    raise TypeError('inputs must be a sequence')
  if not inputs:
    raise ValueError('inputs must not be empty')
  with variable_scope(scope or 'rnn') as found:
    first = convert(nest.flatten(inputs[0])[0])
    batch_size = _batch_of(first, 0)
    lengths = _lengths(sequence_length)
    state = _initial(cell, batch_size, initial_state, dtype)
    outputs = []
    for time, item in enumerate(inputs):
      if time > 0:
        found.reuse_variables()
      output, state = _step(time, lengths, cell, item, state, _zeros_of(batch_size))
      outputs.append(output)
    return outputs, state


@export('nn.static_state_saving_rnn', 'nn.state_saving_rnn', 'contrib.rnn.static_state_saving_rnn')
def static_state_saving_rnn(cell, inputs, state_saver, state_name, sequence_length=None,
                            scope=None):
  """static_rnn from a state that `state_saver` has by name, and which it keeps afterwards:
  state_saver.state(name) is a tensor, state_saver.save_state(name, tensor) an operation or tensor.
  Names have the structure of the cell's state; the last output runs what saves."""
  sizes = cell.state_size
  if nest.is_nested(state_name) != nest.is_nested(sizes):
    raise ValueError('state_name should be the same type as cell.state_size.  state_name: %s, '
                     'cell.state_size: %s' % (state_name, sizes))
  names = nest.flatten(state_name)
  if len(names) != len(nest.flatten(sizes)):
    raise ValueError('#elems(state_name) != #elems(state_size): %d vs. %d' % (
        len(names), len(nest.flatten(sizes))))
  initial = nest.pack_sequence_as(sizes, [state_saver.state(name) for name in names])
  outputs, state = static_rnn(cell, inputs, initial_state=initial, sequence_length=sequence_length,
                              scope=scope)
  saved = [state_saver.save_state(name, part) for name, part in zip(names, nest.flatten(state))]
  with control_dependencies(saved):
    outputs[-1] = nest.map_structure(array.identity, outputs[-1])
    state = nest.map_structure(array.identity, state)
  return outputs, state


def _reversed(tensor, lengths, time_axis, batch_axis):
  if lengths is None:
    return apply_op('ReverseV2', 'ReverseV2', tensor=tensor, axis=[time_axis])
  return sequences.reverse_sequence(tensor, lengths, seq_axis=time_axis, batch_axis=batch_axis)


@export('nn.bidirectional_dynamic_rnn')
def bidirectional_dynamic_rnn(cell_fw, cell_bw, inputs, sequence_length=None,
                              initial_state_fw=None, initial_state_bw=None, dtype=None,
                              parallel_iterations=None, swap_memory=False, time_major=False,
                              scope=None):
  """((outputs, outputs), (state, state)): dynamic_rnn from the beginning to the end, and with
  another cell from the end to the beginning. Outputs of both are in the order of time."""
  axes = (0, 1) if time_major else (1, 0)
  common = dict(sequence_length=sequence_length, dtype=dtype, swap_memory=swap_memory,
                parallel_iterations=parallel_iterations, time_major=time_major)
  with variable_scope(scope or 'bidirectional_rnn'):
    with variable_scope('fw') as forward:
      output_fw, state_fw = dynamic_rnn(cell_fw, inputs, initial_state=initial_state_fw,
                                        scope=forward, **common)
    with variable_scope('bw') as backward:
      turned = nest.map_structure(lambda i: _reversed(i, sequence_length, *axes), inputs)
      output_bw, state_bw = dynamic_rnn(cell_bw, turned, initial_state=initial_state_bw,
                                        scope=backward, **common)
  output_bw = nest.map_structure(lambda o: _reversed(o, sequence_length, *axes), output_bw)
  return (output_fw, output_bw), (state_fw, state_bw)


def _reversed_list(items, lengths):
  if lengths is None:
    return list(reversed(items))
  columns = [[convert(i) for i in column] for column in zip(*map(nest.flatten, items))]
  turned = []
  for column in columns:
    stacked = sequences.reverse_sequence(array.stack(column), lengths, seq_axis=0, batch_axis=1)
    turned.append(array.unstack(stacked, len(column)))
    for old, new in zip(column, turned[-1]):
      new.set_shape(old.get_shape())
  return [nest.pack_sequence_as(items[0], list(row)) for row in zip(*turned)]


@export('nn.static_bidirectional_rnn', 'nn.bidirectional_rnn',
        'contrib.rnn.static_bidirectional_rnn')
def static_bidirectional_rnn(cell_fw, cell_bw, inputs, initial_state_fw=None,
                             initial_state_bw=None, dtype=None, sequence_length=None, scope=None):
  """(outputs, state, state) of static_rnn in both directions; an output is that of both cells, one
  behind the other."""
  if not isinstance(inputs, (list, tuple)):
    raise TypeError('inputs must be a sequence')
  if not inputs:
    raise ValueError('inputs must not be empty')
  with variable_scope(scope or 'bidirectional_rnn'):
    with variable_scope('fw') as forward:
      output_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length,
                                       scope=forward)
    with variable_scope('bw') as backward:
      turned = _reversed_list(inputs, sequence_length)
      output_bw, state_bw = static_rnn(cell_bw, turned, initial_state_bw, dtype, sequence_length,
                                       scope=backward)
  output_bw = _reversed_list(output_bw, sequence_length)
  outputs = [
      nest.pack_sequence_as(fw, [array.concat([f, b], 1) for f, b in
                                 zip(nest.flatten(fw), nest.flatten(bw))])
      for fw, bw in zip(output_fw, output_bw)]
  return outputs, state_fw, state_bw
