"""contrib.layers: summaries of tensors by what they are, and of collections."""
from __future__ import annotations

import re

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._graph.graph import get_default_graph
from leat._graph.scope import GraphKeys
from leat._ops import math
from leat._train import summary


@export('contrib.layers.summarize_tensor')
def summarize_tensor(tensor, tag=None):
  """A scalar summary of a scalar, else a histogram; None for strings and bools."""
  if tensor.dtype.base_dtype in (dtypes.string, dtypes.bool):
    return None
  tag = tag or '%s_summary' % tensor.op.name
  return (summary.scalar if tensor.get_shape().ndims == 0 else summary.histogram)(tag, tensor)


@export('contrib.layers.summarize_activation')
def summarize_activation(op):
  """A histogram of an activation (a tensor). Of Relu, Softplus and Relu6 also the share of inputs
  that are less than 0, of Relu6 that of inputs greater than 6."""
  share = lambda condition: math.reduce_mean(math.cast(condition, dtypes.float32))
  source = op.op.inputs[0] if op.op.inputs else None
  if op.op.type in ('Relu', 'Softplus', 'Relu6'):
    zeros = apply_op('Less', x=source, y=convert(0, source.dtype))
    summary.scalar('%s/zeros' % op.op.name, share(zeros))
  if op.op.type == 'Relu6':
    sixes = apply_op('Greater', x=source, y=convert(6, source.dtype))
    summary.scalar('%s/sixes' % op.op.name, share(sixes))
  return summary.histogram('%s/activation' % op.op.name, op)


@export('contrib.layers.summarize_tensors')
def summarize_tensors(tensors, summarizer=summarize_tensor):
  """Their summaries in a list."""
  return [summarizer(tensor) for tensor in tensors]


@export('contrib.layers.summarize_collection')
def summarize_collection(collection, name_filter=None, summarizer=summarize_tensor):
  """Summaries of the tensors of a collection whose operation's name matches the regular
  expression."""
  return summarize_tensors([t for t in get_default_graph().get_collection(collection)
                            if name_filter is None or re.match(name_filter, t.op.name)], summarizer)


def _of_collection(key, default=summarize_tensor):
  def function(name_filter=None, summarizer=default):
    return summarize_collection(key, name_filter, summarizer)
  function.__doc__ = 'summarize_collection of the collection %s.' % key
  return function


summarize_variables = _of_collection(GraphKeys.GLOBAL_VARIABLES)
summarize_weights = _of_collection(GraphKeys.WEIGHTS)
summarize_biases = _of_collection(GraphKeys.BIASES)
summarize_activations = _of_collection(GraphKeys.ACTIVATIONS, summarize_activation)
EXPORTS = {'contrib.layers.summarize_' + n: 'summarize_' + n for n in (
    'variables', 'weights', 'biases', 'activations')}
