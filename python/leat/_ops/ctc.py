"""Connectionist temporal classification: the loss of sequences of labels without their times, and
decoders. Classes of inputs are the labels and, as one more, the blank."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, math, sequences
from leat._ops.functional import map_fn
from leat._ops.sparse import SparseTensor, SparseTensorValue


@export('nn.ctc_loss')
def ctc_loss(labels, inputs=None, sequence_length=None, preprocess_collapse_repeated=False,
             ctc_merge_repeated=True, ignore_longer_outputs_than_inputs=False, time_major=True,
             logits=None):
  """Minus the log of the probability of each sequence of labels. inputs [time, batch, classes], the
  blank the last class; labels a SparseTensor of int32 [batch, time]."""
  inputs = logits if inputs is None else inputs
  if isinstance(labels, SparseTensorValue):
    labels = SparseTensor.from_value(labels)
  if not isinstance(labels, SparseTensor):
    raise TypeError('Expected labels (first argument) to be a SparseTensor')
  if not time_major:
    inputs = array.transpose(inputs, [1, 0, 2])
  inputs = convert(inputs, name='inputs')
  kind = inputs.dtype
  if kind in (dtypes.float16, dtypes.bfloat16):
    inputs = math.cast(inputs, dtypes.float32)
  loss = apply_op('CTCLoss', inputs=inputs, labels_indices=labels.indices,
                  labels_values=labels.values, sequence_length=sequence_length,
                  preprocess_collapse_repeated=preprocess_collapse_repeated,
                  ctc_merge_repeated=ctc_merge_repeated,
                  ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs).loss
  return math.cast(loss, kind)


@export('nn.ctc_loss_v2')
def ctc_loss_v2(labels, logits, label_length, logit_length, logits_time_major=True, unique=None,
                blank_index=None, name=None):
  """The loss of labels: a SparseTensor, or a tensor [batch, time] with label_length [batch].
  blank_index is the class of the blank: 0 for a tensor, and must be given for a SparseTensor."""
  del unique  # it is nothing but a help for a way to compute the loss
  with name_scope(name, 'ctc_loss'):
    logits = convert(logits, name='logits')
    if isinstance(labels, (SparseTensor, SparseTensorValue)):
      if blank_index is None:
        raise ValueError('blank_index must be given when using SparseTensor labels.')
      if isinstance(labels, SparseTensorValue):
        labels = SparseTensor.from_value(labels)
    else:
      blank_index = 0 if blank_index is None else blank_index
      labels = _sparse(convert(labels, name='labels'), convert(label_length, name='label_length'))
    classes = logits.get_shape()[2].value if logits.get_shape().ndims is not None else None
    if blank_index < 0:
      if classes is None:
        raise ValueError('blank_index is %d, but the number of classes is not known' % blank_index)
      blank_index += classes
    if blank_index != (classes or 0) - 1:
      logits = array.concat([logits[:, :, :blank_index], logits[:, :, blank_index + 1:],
                             logits[:, :, blank_index:blank_index + 1]], 2)
      values = labels.values
      labels = SparseTensor(labels.indices, array.where(values < blank_index, values, values - 1),
                            labels.dense_shape)
    labels = SparseTensor(labels.indices, math.cast(labels.values, dtypes.int32),
                          labels.dense_shape)
    return ctc_loss(labels, logits, math.cast(convert(logit_length), dtypes.int32),
                    time_major=logits_time_major)


def _sparse(labels, lengths):
  """The first lengths[i] labels of each row as a SparseTensor."""
  mask = sequences.sequence_mask(lengths, array.shape(labels, out_type=lengths.dtype)[1])
  indices = apply_op('Where', input=mask)
  return SparseTensor(indices, array.gather_nd(labels, indices),
                      array.shape(labels, out_type=dtypes.int64))


@export('nn.ctc_greedy_decoder')
def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
  """([the likeliest class at each time, without blanks, as a SparseTensor], minus the sum of the
  logits [batch, 1])."""
  made = apply_op('CTCGreedyDecoder', inputs=inputs, sequence_length=sequence_length,
                  merge_repeated=merge_repeated, blank_index=-1 if blank_index is None else
                  blank_index)
  return [SparseTensor(made.decoded_indices, made.decoded_values,
                       made.decoded_shape)], made.log_probability


@export('nn.ctc_beam_search_decoder')
def ctc_beam_search_decoder(inputs, sequence_length, beam_width=100, top_paths=1,
                            merge_repeated=True):
  """(the likeliest sequences, a list of top_paths SparseTensors, their log probabilities)."""
  made = apply_op('CTCBeamSearchDecoder', inputs=inputs, sequence_length=sequence_length,
                  beam_width=beam_width, top_paths=top_paths, merge_repeated=merge_repeated)
  return [SparseTensor(i, v, s) for i, v, s in zip(
      made.decoded_indices, made.decoded_values, made.decoded_shape)], made.log_probability


@export('nn.ctc_beam_search_decoder_v2')
def ctc_beam_search_decoder_v2(inputs, sequence_length, beam_width=100, top_paths=1):
  """The same without joining labels that repeat."""
  return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, False)


@export('nn.collapse_repeated')
def collapse_repeated(labels, seq_length, name=None):
  """(the labels with each run of equal ones as one, padded with zeros, their lengths)."""
  with name_scope(name, 'collapse_repeated_labels', [labels, seq_length]):
    labels = convert(labels, name='labels')
    seq_length = convert(seq_length, name='seq_length')
    kind = seq_length.dtype.base_dtype
    first = array.ones_like(labels[:, :1], dtype=dtypes.bool)
    fresh = array.concat([first, apply_op('NotEqual', x=labels[:, 1:], y=labels[:, :-1])], 1)
    width = array.shape(labels, out_type=kind)[1]
    fresh = apply_op('LogicalAnd', x=fresh, y=sequences.sequence_mask(seq_length, width))
    lengths = math.reduce_sum(math.cast(fresh, kind), 1)
    longest = math.reduce_max(lengths)
    places = apply_op('Where', input=sequences.sequence_mask(lengths, longest))
    shape = array.stack([array.shape(labels, out_type=dtypes.int64)[0],
                         math.cast(longest, dtypes.int64)])
    collapsed = apply_op('ScatterNd', indices=places, updates=array.boolean_mask(labels, fresh),
                         shape=shape)
    collapsed.set_shape([labels.get_shape()[0], None])
    return collapsed, lengths


@export('nn.ctc_unique_labels')
def ctc_unique_labels(labels, name=None):
  """(the different labels of each row, padded with zeros, of int64; for each label its place among
  them, of int32)."""
  with name_scope(name, 'ctc_unique_labels', [labels]):
    labels = convert(labels, name='labels')

    def row(x):
      found, places = array.unique(x)
      rest = array.size(x) - array.size(found)
      return math.cast(array.pad(found, [[0, rest]]), dtypes.int64), places
    made = map_fn(row, labels, dtype=(dtypes.int64, dtypes.int32))
    for part in made:
      part.set_shape(labels.get_shape())
    return made
