"""resample_at_rate, weighted_resample: batches in which examples stand as often as they should."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.scope import name_scope
from leat._ops import array, initializers, math, random, sequences
from leat._ops.variable_scope import get_local_variable, variable_scope


def repeated(counts):
  """Each position as often as counts [n] says: [2, 0, 1] gives [0, 0, 2]."""
  counts = convert(counts)
  return array.where(sequences.sequence_mask(counts))[:, 0]


@export('contrib.training.resample_at_rate')
def resample_at_rate(inputs, rates, scope=None, seed=None, back_prop=False):
  """The rows of each tensor in a list, each as often as a Poisson distribution with its rate says;
  `rates` is [batch]."""
  with name_scope(scope, 'resample_at_rate', list(inputs) + [rates]):
    rates = convert(rates, name='rates')
    places = repeated(math.cast(random.random_poisson(rates, [], rates.dtype, seed), dtypes.int32))
    if not back_prop:
      places = apply_op('StopGradient', input=places)
    return [array.gather(x, places) for x in inputs]


@export('contrib.training.weighted_resample')
def weighted_resample(inputs, weights, overall_rate, scope=None, mean_decay=0.999, seed=None):
  """(tensors, rates): rows resampled with rates in proportion to `weights` [batch], so that on
  average overall_rate of all remain; and the rate of each that is there. The mean of the weights is
  a moving average over the batches, a local variable."""
  from leat._train.average import assign_moving_average
  with name_scope(scope, 'weighted_resample', list(inputs)) as op_scope:
    with variable_scope(scope, 'estimate_mean', inputs):
      average = get_local_variable('estimated_mean', [], dtypes.float32,
                                   initializers.zeros_initializer())
      mean = assign_moving_average(average, math.reduce_mean(weights), mean_decay)
    rates = weights * overall_rate / mean
    results = resample_at_rate([rates] + list(inputs), rates, scope=op_scope, seed=seed)
    return results[1:], results[0]
