"""Sequences of different lengths in one array: which places are theirs, turning them round, and how
far they are from each other."""
from __future__ import annotations

from leat._export import export
from leat._graph import conversion
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.arguments import either
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._graph.value import constant_value
from leat._ops import array
from leat._ops import math


@export('sequence_mask')
def sequence_mask(lengths, maxlen=None, dtype=dtypes.bool, name=None):
  """Row i is true in the first lengths[i] places."""
  with name_scope(name, 'SequenceMask', [lengths, maxlen]):
    lengths = convert(lengths)
    known = None
    if maxlen is None:
      known = constant_value(lengths)
      rank = lengths.get_shape().ndims
      maxlen = math.reduce_max(lengths, None if rank is None else list(range(rank)))
      maxlen = apply_op('Maximum', x=conversion.constant_of(0, maxlen.dtype), y=maxlen)
    else:
      maxlen = convert(maxlen)
    if maxlen.shape_ not in (None, ()):
      raise ValueError('maxlen must be scalar for sequence_mask')
    row = math.range(conversion.constant_of(0, maxlen.dtype), maxlen,
                     conversion.constant_of(1, maxlen.dtype))
    column = math.cast(array.expand_dims(lengths, -1), maxlen.dtype)
    result = row < column
    if known is not None and known.size:  # the shape function of Range knows no maximum
      result.set_shape([*known.shape, max(0, known.max())])
    return result if dtype is None or dtypes.as_dtype(dtype) == dtypes.bool else \
        math.cast(result, dtype)


@export('reverse_sequence')
def reverse_sequence(input, seq_lengths, seq_axis=None, batch_axis=None, name=None, seq_dim=None,
                     batch_dim=None):
  """The first seq_lengths[i] elements of each sequence reversed."""
  seq = either('seq_axis', seq_axis, 'seq_dim', seq_dim)
  batch = either('batch_axis', batch_axis, 'batch_dim', batch_dim)
  return apply_op('ReverseSequence', name=name, input=input, seq_lengths=seq_lengths, seq_dim=seq,
                  batch_dim=0 if batch is None else batch)


@export('edit_distance')
def edit_distance(hypothesis, truth, normalize=True, name='edit_distance'):
  """The Levenshtein distance of sequences, SparseTensors of the same rank whose last dimension is
  the sequence; with `normalize` divided by the length of truth."""
  return apply_op('EditDistance', name=name, hypothesis_indices=hypothesis.indices,
                  hypothesis_values=hypothesis.values, hypothesis_shape=hypothesis.dense_shape,
                  truth_indices=truth.indices, truth_values=truth.values,
                  truth_shape=truth.dense_shape, normalize=normalize)
