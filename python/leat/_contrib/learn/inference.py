"""Real valued columns that are read off an input, and input functions of servers."""
from __future__ import annotations

import collections

from leat._contrib.layers.feature_columns import infer_real_valued_columns
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._graph.graph import Graph
from leat._ops import array


@export('contrib.learn.infer_real_valued_columns_from_input_fn')
def infer_real_valued_columns_from_input_fn(input_fn):
  """A column for each feature that an input function gives; a single one has the name ''."""
  with Graph().as_default():
    features, _ = input_fn()
    return infer_real_valued_columns(features)


@export('contrib.learn.infer_real_valued_columns_from_input')
def infer_real_valued_columns_from_input(x):
  """The same of an array or a dict of arrays."""
  return infer_real_valued_columns_from_input_fn(lambda: (
      {k: convert(v) for k, v in x.items()} if isinstance(x, dict) else convert(x), None))


@export('contrib.learn.InputFnOps')
class InputFnOps(collections.namedtuple('InputFnOps', ['features', 'labels', 'default_inputs'])):
  """The features and labels of a served model, and the placeholders that they are made of."""
  __slots__ = ()


@export('contrib.learn.build_parsing_serving_input_fn',
        'contrib.learn.utils.build_parsing_serving_input_fn')
def build_parsing_serving_input_fn(feature_spec, default_batch_size=None):
  """A function that gives InputFnOps of serialized Examples."""
  def input_fn():
    from leat._ops import parsing
    examples = array.placeholder(dtypes.string, [default_batch_size], 'input_example_tensor')
    return InputFnOps(parsing.parse_example(examples, feature_spec), None, {'examples': examples})
  return input_fn


@export('contrib.learn.utils.build_default_serving_input_fn')
def build_default_serving_input_fn(features, default_batch_size=None):
  """A function that gives InputFnOps of the features themselves."""
  def input_fn():
    from leat._estimator.receivers import _placeholders
    made = _placeholders(features, default_batch_size)
    return InputFnOps(made, None, dict(made))
  return input_fn
