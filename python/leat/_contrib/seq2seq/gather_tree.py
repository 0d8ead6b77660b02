"""gather_tree: the sequences of beam search, read backwards from the last step along the parents.

The library has no op for it; the function is a loop of the graph from the last step to the first.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert
from leat._graph.scope import control_dependencies, name_scope
from leat._ops import array, control_flow, math, sequences
from leat._ops.tensor_array import TensorArray


def _check_parents(parents, is_used, batch, beams, time):
  """An operation that fails where a parent that is used is no beam."""
  wrong = apply_op('LogicalAnd', x=is_used, y=apply_op('LogicalOr', x=parents < 0,
                                                       y=parents >= beams))
  flat = array.reshape(wrong, [-1])
  place = math.argmax(math.cast(flat, dtypes.int32), axis=0, output_type=dtypes.int32)
  fine = apply_op('LogicalNot', x=math.reduce_any(flat))

  def fail():
    words = ['Saw invalid parent id ', array.reshape(parents, [-1])[place],
             ' at (batch, time, beam) == (', apply_op('FloorDiv', x=place, y=beams), ', ', time,
             ', ', apply_op('FloorMod', x=place, y=beams), ')']
    text = apply_op('StringJoin', inputs=[
        w if isinstance(w, str) else apply_op('AsString', input=w) for w in words])
    return apply_op('Assert', condition=fine, data=[text])
  return control_flow.cond(fine, lambda: apply_op('NoOp'), fail).op


@export('contrib.seq2seq.gather_tree')
def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token, name=None):
  """The ids of whole sequences, int32 [time, batch, beam], of the ids that each step chose and of
  the beam of the step before that each of them belongs to, both int32 [time, batch, beam]. Of
  sequence b the first max_sequence_lengths[b] steps are read; behind them, and behind the first
  end_token, there are end_tokens. A parent that is no beam is an InvalidArgumentError."""
  with name_scope(name, 'GatherTree', [step_ids, parent_ids, max_sequence_lengths, end_token]):
    step_ids = convert(step_ids, dtypes.int32, 'step_ids')
    parent_ids = convert(parent_ids, dtypes.int32, 'parent_ids')
    lengths = convert(max_sequence_lengths, dtypes.int32, 'max_sequence_lengths')
    end_token = convert(end_token, dtypes.int32, 'end_token')
    shape = step_ids.get_shape().with_rank(3).merge_with(parent_ids.get_shape())
    lengths.get_shape().assert_has_rank(1)
    shape[1].assert_is_compatible_with(lengths.get_shape()[0])
    end_token.get_shape().assert_has_rank(0)
    sizes = array.shape(step_ids)
    steps, batch, beams = sizes[0], sizes[1], sizes[2]
    # The parents of the step behind the last one that is read: each beam is its own.
    own = apply_op('Tile', input=array.expand_dims(math.range(beams), 0), multiples=[batch, 1])
    first = array.expand_dims(math.range(batch), 1) * beams
    lengths = array.expand_dims(apply_op('Minimum', x=lengths, y=steps), 1)

    def body(time, parents, ids):
      is_read = apply_op('Tile', input=lengths > time, multiples=[1, beams])
      with control_dependencies([_check_parents(parents, is_read, batch, beams, time)]):
        place = array.where(is_read, parents, own) + first
      rows = [array.gather(array.reshape(values[time], [-1]), place)
              for values in (step_ids, parent_ids)]
      ended = array.fill(array.shape(own), end_token)
      return (time - 1, array.where(is_read, rows[1], own),
              ids.write(time, array.where(is_read, rows[0], ended)))

    arrays = TensorArray(dtypes.int32, size=steps, element_shape=shape[1:])
    _, _, arrays = control_flow.while_loop(
        lambda time, *_: time >= 0, body, (steps - 1, own, arrays))
    found = arrays.stack()
    # A sequence stays ended once it has an end_token.
    ends = math.cast(math.equal(found, end_token), dtypes.int32)
    is_behind = math.cumsum(ends, axis=0, exclusive=True) > 0
    found = array.where(is_behind, array.fill(array.shape(found), end_token), found)
    found.set_shape(shape)
    return found


def gather_tree_from_array(tensor, parent_ids, sequence_length):
  """A tensor [time, batch, beam, ...], or one whose batch and beams are one dimension, with the
  values of each step in the order of the whole sequences. `parent_ids` is [time, batch, beam],
  `sequence_length` [batch, beam]."""
  sizes = array.shape(parent_ids)
  steps, batch, beams = sizes[0], sizes[1], sizes[2]
  own = apply_op('Tile', input=array.reshape(math.range(beams), [1, 1, -1]),
                 multiples=array.stack([steps, batch, constant_of(1)]))
  sequence_length = convert(sequence_length)
  longest = math.cast(math.reduce_max(sequence_length, axis=1), dtypes.int32)
  found = gather_tree(own, parent_ids, longest, beams + 1)
  is_in = array.transpose(sequences.sequence_mask(sequence_length, maxlen=steps), [2, 0, 1])
  found = array.where(is_in, found, own)
  place = (array.reshape(math.range(steps), [-1, 1, 1]) * batch +
           array.reshape(math.range(batch), [1, -1, 1])) * beams + found
  rows = array.reshape(tensor, array.stack([steps * batch * beams, constant_of(-1)]))
  result = array.reshape(array.gather(rows, array.reshape(place, [-1])), array.shape(tensor))
  result.set_shape(tensor.get_shape())
  return result
