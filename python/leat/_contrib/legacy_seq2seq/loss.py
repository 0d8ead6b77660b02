"""Losses over lists of steps, and models for sequences of several lengths (buckets)."""
from __future__ import annotations

from leat._export import export
from leat._graph.scope import name_scope
from leat._ops import array, math, matrix, nn
from leat._ops.variable_scope import get_variable_scope, variable_scope


@export('contrib.legacy_seq2seq.sequence_loss_by_example')
def sequence_loss_by_example(logits, targets, weights, average_across_timesteps=True,
                             softmax_loss_function=None, name=None):
  """The weighted cross entropy of each sequence, [batch], of lists of logits [batch, classes],
  targets [batch] and weights [batch]. `softmax_loss_function(labels, logits)` takes the place of
  sparse_softmax_cross_entropy_with_logits."""
  if len(targets) != len(logits) or len(weights) != len(logits):
    raise ValueError('Lengths of logits, weights, and targets must be the same %d, %d, %d.' % (
        len(logits), len(weights), len(targets)))
  with name_scope(name, 'sequence_loss_by_example', list(logits) + list(targets) + list(weights)):
    losses = []
    for logit, target, weight in zip(logits, targets, weights):
      if softmax_loss_function is None:
        target = array.reshape(target, [-1])
        loss = nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logit)
      else:
        loss = softmax_loss_function(labels=target, logits=logit)
      losses.append(loss * weight)
    total = matrix.add_n(losses)
    # Where all weights of a sequence are 0, its loss is 0.
    return total / (matrix.add_n(weights) + 1e-12) if average_across_timesteps else total


@export('contrib.legacy_seq2seq.sequence_loss')
def sequence_loss(logits, targets, weights, average_across_timesteps=True,
                  average_across_batch=True, softmax_loss_function=None, name=None):
  """The sum of the losses of all sequences, divided by their number where it is averaged."""
  with name_scope(name, 'sequence_loss', list(logits) + list(targets) + list(weights)):
    cost = math.reduce_sum(sequence_loss_by_example(
        logits, targets, weights, average_across_timesteps, softmax_loss_function))
    if not average_across_batch:
      return cost
    return cost / math.cast(array.shape(targets[0])[0], cost.dtype)


@export('contrib.legacy_seq2seq.model_with_buckets')
def model_with_buckets(encoder_inputs, decoder_inputs, targets, weights, buckets, seq2seq,
                       softmax_loss_function=None, per_example_loss=False, name=None):
  """(outputs, losses) for each bucket (length of inputs, length of outputs): the model
  seq2seq(encoder inputs, decoder inputs) over the beginnings of the lists, with the same
  variables."""
  for items, place, what in ((encoder_inputs, 0, 'encoder_inputs'), (targets, 1, 'targets'),
                             (weights, 1, 'weights')):
    if len(items) < buckets[-1][place]:
      raise ValueError('Length of %s (%d) must be at least that of last bucket (%d).' % (
          what, len(items), buckets[-1][place]))
  losses, outputs = [], []
  with name_scope(name, 'model_with_buckets', list(encoder_inputs) + list(decoder_inputs)):
    for number, (read, written) in enumerate(buckets):
      with variable_scope(get_variable_scope(), reuse=True if number > 0 else None):
        found, _ = seq2seq(encoder_inputs[:read], decoder_inputs[:written])
        outputs.append(found)
        function = sequence_loss_by_example if per_example_loss else sequence_loss
        losses.append(function(found, targets[:written], weights[:written],
                               softmax_loss_function=softmax_loss_function))
  return outputs, losses
