"""sequence_loss: the cross entropy of sequences of logits, with a weight for each step."""
from __future__ import annotations

from leat._export import export
from leat._graph.scope import name_scope
from leat._ops import array, math, nn


@export('contrib.seq2seq.sequence_loss')
def sequence_loss(logits, targets, weights, average_across_timesteps=True,
                  average_across_batch=True, sum_over_timesteps=False, sum_over_batch=False,
                  softmax_loss_function=None, name=None):
  """The weighted cross entropy of `logits` [batch, time, classes] and `targets` [batch, time] with
  `weights` [batch, time]: one number, or [batch], [time] or [batch, time] for what is neither
  averaged nor summed up. `softmax_loss_function(labels, logits)` takes the place of
  sparse_softmax_cross_entropy_with_logits."""
  for value, rank, what in ((logits, 3, 'Logits must be a [batch_size x sequence_length x logits]'),
                            (targets, 2, 'Targets must be a [batch_size x sequence_length]'),
                            (weights, 2, 'Weights must be a [batch_size x sequence_length]')):
    if len(value.get_shape()) != rank:
      raise ValueError('%s tensor, has shape %s' % (what, value.get_shape()))
  for average, total, what in ((average_across_timesteps, sum_over_timesteps, 'timesteps'),
                               (average_across_batch, sum_over_batch, 'batch')):
    if average and total:
      raise ValueError('average_across_%s and sum_over_%s cannot be set to True at same time.' % (
          what, what))
  with name_scope(name, 'sequence_loss', [logits, targets, weights]):
    classes = array.shape(logits)[2]
    logits = array.reshape(logits, [-1, classes])
    flat = array.reshape(targets, [-1])
    losses = nn.sparse_softmax_cross_entropy_with_logits(labels=flat, logits=logits) \
        if softmax_loss_function is None else softmax_loss_function(labels=flat, logits=logits)
    losses = losses * array.reshape(weights, [-1])
    average = _axes(average_across_batch, average_across_timesteps)
    total = _axes(sum_over_batch, sum_over_timesteps)
    if not average and not total:
      return array.reshape(losses, array.shape(targets))
    # What is averaged over one dimension and summed up over the other keeps the other one.
    axes = average if average and len(total) < 2 else total
    losses = math.reduce_sum(array.reshape(losses, array.shape(targets)), axis=axes)
    size = math.reduce_sum(weights, axis=axes) if axes is average else math.cast(
        math.count_nonzero(weights, axis=axes), losses.dtype)
    return math.div_no_nan(losses, size)


def _axes(batch, timesteps):
  return [axis for axis, is_reduced in enumerate((batch, timesteps)) if is_reduced]
