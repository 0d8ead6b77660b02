"""tf.nn.raw_rnn: a loop over a cell in which a function of the program decides, step by step, what
the next input is, what is given out and which sequences are over.

It is the loop below dynamic_rnn for decoders that feed themselves. Outputs of a sequence that is
over are zeros and its state stays, which this module sees to; the function sees the cell's own
output and state. The function is called twice while the graph is built: once before the loop, with
None for what no step has made yet, and once in the loop's body.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.shape import TensorShape
from leat._ops import array, control_flow, math, nest, rnn_cells
from leat._ops.rnn import _where_running
from leat._ops.tensor_array import TensorArray
from leat._ops.variable_scope import variable_scope


def _batch_of(inputs):
  """The size of the batch: an int where some input tells it."""
  for item in inputs:
    if isinstance(item, TensorArray) or item.get_shape().ndims is None:
      continue
    known = item.get_shape().as_list()[0]
    if known is not None:
      return known
  return array.shape(inputs[0])[0]


def _emitted(cell, emit, state, batch_size):
  """(structure, arrays, zeros) of what the loop gives out: as the first call of the program's
  function says by tensors of one example, or as the cell's outputs."""
  if emit is None:
    structure, sizes = cell.output_size, nest.flatten(cell.output_size)
    kinds = [nest.flatten(state)[0].dtype.base_dtype] * len(sizes)
  else:
    structure = emit
    items = [convert(e, name='emit') for e in nest.flatten(emit)]
    sizes = [e.get_shape() if e.get_shape().is_fully_defined() else array.shape(e) for e in items]
    kinds = [e.dtype.base_dtype for e in items]
  arrays, zeros = [], []
  for n, (size, kind) in enumerate(zip(sizes, kinds)):
    known = isinstance(size, (int, TensorShape))
    size = [size] if isinstance(size, int) else size
    batch = TensorShape([batch_size if isinstance(batch_size, int) else None])
    arrays.append(TensorArray(
        kind, size=0, dynamic_size=True, tensor_array_name='rnn_output_%d' % n,
        element_shape=batch.concatenate(size) if known else None))
    zeros.append(array.zeros(rnn_cells.state_shape(batch_size, TensorShape(size).as_list())
                             if known else array.concat([[batch_size], size], 0), kind))
  return structure, nest.pack_sequence_as(structure, arrays), nest.pack_sequence_as(
      structure, zeros)


@export('nn.raw_rnn')
def raw_rnn(cell, loop_fn, parallel_iterations=None, swap_memory=False, scope=None):
  """(outputs, last state, last loop state) of a cell whose inputs a function gives. Outputs are
  TensorArrays, one tensor [batch, ...] for each step.

  loop_fn(time, cell_output, cell_state, loop_state) gives (finished, next_input, next_cell_state,
  emit_output, next_loop_state): which sequences [batch] are over, the input and the state of the
  next step, what this step gives out and anything that the next call needs. Before the first step
  the function is called with time 0 and None for the rest; next_cell_state is then the first state
  and emit_output a structure of tensors with the shape and type of one example's output, None for
  the cell's output. The loop ends when all sequences are over.
  """
  rnn_cells.check_cell('cell', cell)
  if not callable(loop_fn):
    raise TypeError('loop_fn must be a callable')
  with variable_scope(scope or 'rnn'):
    time = constant_of(0, dtypes.int32, 'time')
    finished, inputs, state, emit, first_loop_state = loop_fn(time, None, None, None)
    loop_state = constant_of(0, dtypes.int32) if first_loop_state is None else first_loop_state
    flat = [i if isinstance(i, TensorArray) else convert(i) for i in nest.flatten(inputs)]
    if any(not isinstance(i, TensorArray) and i.get_shape().ndims == 0 for i in flat):
      raise ValueError('next_input of loop_fn must have a batch dimension, is %s' % (inputs,))
    batch_size = _batch_of(flat)
    nest.assert_same_structure(state, cell.state_size)
    structure, arrays, zeros = _emitted(cell, emit, state, batch_size)

    def body(time, finished, current, arrays, state, loop_state):
      output, cell_state = cell(current, state)
      nest.assert_same_structure(state, cell_state)
      after = time + 1
      over, following, new_state, given, new_loop_state = loop_fn(after, output, cell_state,
                                                                  loop_state)
      nest.assert_same_structure(state, new_state)
      nest.assert_same_structure(current, following)
      nest.assert_same_structure(structure, given)
      keep = lambda old, new: _where_running(
          finished, old, new if isinstance(new, TensorArray) else convert(new))
      given = nest.map_structure(keep, zeros, given)
      new_state = nest.map_structure(keep, state, new_state)
      arrays = nest.map_structure(lambda a, value: a.write(time, value), arrays, given)
      return (after, apply_op('LogicalOr', x=finished, y=over), following, arrays, new_state,
              loop_state if new_loop_state is None else new_loop_state)

    _, _, _, arrays, state, loop_state = control_flow.while_loop(
        lambda time, finished, *unused: apply_op('LogicalNot', x=math.reduce_all(finished)), body,
        (time, convert(finished), inputs, arrays, state, loop_state),
        parallel_iterations=parallel_iterations or 32, swap_memory=swap_memory)
    return arrays, state, None if first_loop_state is None else loop_state
