"""Input receivers of exported models: the placeholders that a server feeds, and the features that
are made of them."""
from __future__ import annotations

import collections

from leat import _leat
from leat._estimator.inputs import parsed
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.conversion import convert
from leat._ops import array
from leat._ops.sparse import SparseTensor


def _is_feature(value):
  if isinstance(value, (_leat.Output, SparseTensor)):
    return True
  try:
    convert(value)
    return not isinstance(value, (str, bytes, int, float, list, tuple, dict))
  except (TypeError, ValueError):
    return False


def _checked_features(features, single, kind='feature'):
  """{name: tensor}; a single one has the name `single`."""
  if features is None:
    raise ValueError('%ss must be defined.' % kind)
  features = features if isinstance(features, dict) else {single: features}
  for name, value in features.items():
    if not isinstance(name, str):
      raise ValueError('%s keys must be strings: %s.' % (kind, name))
    if not _is_feature(value):
      raise ValueError('%s %s must be a Tensor or SparseTensor.' % (kind, name))
  return features


def _checked_receivers(receivers):
  if receivers is None:
    raise ValueError('receiver_tensors must be defined.')
  receivers = receivers if isinstance(receivers, dict) else {'input': receivers}
  for name, value in receivers.items():
    if not isinstance(name, str):
      raise ValueError('receiver_tensor keys must be strings: %s.' % (name,))
    if not isinstance(value, _leat.Output):
      raise ValueError('receiver_tensor %s must be a Tensor.' % name)
  return receivers


def _checked_alternatives(alternatives):
  if alternatives is None:
    return None
  if not isinstance(alternatives, dict):
    raise ValueError('receiver_tensors_alternatives must be a dict: %s.' % (alternatives,))
  return {name: _checked_receivers(receivers) for name, receivers in alternatives.items()}


@export('estimator.export.ServingInputReceiver')
class ServingInputReceiver(collections.namedtuple('ServingInputReceiver', [
    'features', 'receiver_tensors', 'receiver_tensors_alternatives'])):
  """features, a tensor or {name: tensor}, for the model; receiver_tensors, {name: placeholder},
  that a server feeds; and other sets of tensors that may be fed in their place,
  {name: {name: tensor}}."""
  __slots__ = ()

  def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
    return super().__new__(cls, _checked_features(features, 'feature'),
                           _checked_receivers(receiver_tensors),
                           _checked_alternatives(receiver_tensors_alternatives))


@export('estimator.export.TensorServingInputReceiver')
class TensorServingInputReceiver(collections.namedtuple('TensorServingInputReceiver', [
    'features', 'receiver_tensors', 'receiver_tensors_alternatives'])):
  """The same for a model function whose features are one tensor, not a dict."""
  __slots__ = ()

  def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
    if features is None:
      raise ValueError('features must be defined.')
    if not _is_feature(features):
      raise ValueError('feature must be a Tensor or SparseTensor.')
    return super().__new__(cls, features, _checked_receivers(receiver_tensors),
                           _checked_alternatives(receiver_tensors_alternatives))


class UnsupervisedInputReceiver(ServingInputReceiver):
  """A receiver of features alone, for training or evaluation."""
  __slots__ = ()

  def __new__(cls, features, receiver_tensors):
    return super().__new__(cls, features, receiver_tensors, None)


class SupervisedInputReceiver(collections.namedtuple('SupervisedInputReceiver', [
    'features', 'labels', 'receiver_tensors'])):
  """A receiver of features and labels, for training or evaluation."""
  __slots__ = ()

  def __new__(cls, features, labels, receiver_tensors):
    labels_checked = _checked_features(labels, 'label', 'label')
    return super().__new__(cls, _checked_features(features, 'feature') if isinstance(
        features, dict) else features, labels if not isinstance(labels, dict) else labels_checked,
                           _checked_receivers(receiver_tensors))


@export('estimator.export.build_parsing_serving_input_receiver_fn')
def build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size=None):
  """A function that makes a receiver of serialized Examples [batch], which are parsed as
  feature_spec says (tf.parse_example)."""
  def receiver():
    from leat._ops import parsing
    examples = array.placeholder(dtypes.string, [default_batch_size], 'input_example_tensor')
    return ServingInputReceiver(parsing.parse_example(examples, feature_spec),
                                {'examples': examples})
  return receiver


def _placeholders(tensors, batch_size):
  """A placeholder for each tensor, with the batch as its first size."""
  made = {}
  for name, tensor in tensors.items():
    shape = tensor.get_shape().as_list() if tensor.get_shape().ndims is not None else None
    if shape:
      shape[0] = batch_size
    made[name] = array.placeholder(tensor.dtype.base_dtype, shape, tensor.op.name)
  return made


@export('estimator.export.build_raw_serving_input_receiver_fn')
def build_raw_serving_input_receiver_fn(features, default_batch_size=None):
  """A function that makes a receiver of the features themselves, {name: tensor}, which say types
  and shapes."""
  def receiver():
    made = _placeholders(features, default_batch_size)
    return ServingInputReceiver(made, dict(made))
  return receiver


def _named(values, single):
  return values if isinstance(values, dict) else {single: values}


@export('estimator.experimental.build_raw_supervised_input_receiver_fn')
def build_raw_supervised_input_receiver_fn(features, labels, default_batch_size=None):
  """The same with labels, for a model that is exported for training or evaluation."""
  inputs, targets = _named(features, 'input'), _named(labels, 'label')
  shared = set(inputs) & set(targets)
  if shared:
    raise ValueError('Features and labels must have distinct keys. Found overlapping keys: %s' %
                     sorted(shared))

  def receiver():
    made, wanted = _placeholders(inputs, default_batch_size), _placeholders(
        targets, default_batch_size)
    back = lambda values, like: values if isinstance(like, dict) else next(iter(values.values()))
    return SupervisedInputReceiver(back(made, features), back(wanted, labels),
                                   dict(made, **wanted))
  return receiver


def build_supervised_input_receiver_fn_from_input_fn(input_fn, **input_fn_args):
  """A function that makes a receiver with the types and shapes of what input_fn gives."""
  from leat._graph.graph import Graph
  with Graph().as_default():
    features, labels, _ = parsed(input_fn(**input_fn_args))
    plain = lambda values: {k: (v.dtype.base_dtype, v.get_shape()) for k, v in values.items()}
    inputs, targets = plain(_named(features, 'input')), plain(_named(labels, 'label'))

  def receiver():
    made = {k: array.placeholder(d, s, k) for k, (d, s) in inputs.items()}
    wanted = {k: array.placeholder(d, s, k) for k, (d, s) in targets.items()}
    return SupervisedInputReceiver(made, wanted, dict(made, **wanted))
  return receiver
