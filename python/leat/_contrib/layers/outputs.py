"""contrib.layers.utils: the outputs of layers in collections under their names, collections that
are given for each variable, and arguments that are a number or a list."""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph.graph import get_default_graph
from leat._graph.shape import TensorShape
from leat._graph.value import constant_value as _constant_value
from leat._ops import control_flow, variables


@export('contrib.layers.utils.collect_named_outputs')
def collect_named_outputs(collections, alias, outputs):
  """Adds the output of a layer to collections (a name or a list of names), under an alias; the
  output itself."""
  if collections:
    append_tensor_alias(outputs, alias)
    get_default_graph().add_to_collections(collections, outputs)
  return outputs


@export('contrib.layers.utils.append_tensor_alias')
def append_tensor_alias(tensor, alias):
  """Gives a tensor one more name, without the slash at its end; the tensor itself."""
  alias = alias[:-1] if alias.endswith('/') else alias
  tensor.aliases = getattr(tensor, 'aliases', []) + [alias]
  return tensor


@export('contrib.layers.utils.gather_tensors_aliases')
def gather_tensors_aliases(tensors):
  """The aliases of all tensors in one list."""
  return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


@export('contrib.layers.utils.get_tensor_aliases')
def get_tensor_aliases(tensor):
  """The aliases of a tensor, or its name as an alias where it has none."""
  if hasattr(tensor, 'aliases'):
    return tensor.aliases
  name = tensor.name[:-2] if tensor.name.endswith(':0') else tensor.name
  return [name]


@export('contrib.layers.utils.convert_collection_to_dict')
def convert_collection_to_dict(collection, clear_collection=False):
  """{alias: output} of a collection, which is emptied afterwards if asked for."""
  found = collections.OrderedDict(
      (alias, tensor) for tensor in get_default_graph().get_collection(collection)
      for alias in get_tensor_aliases(tensor))
  if clear_collection:
    get_default_graph().clear_collection(collection)
  return found


@export('contrib.layers.utils.constant_value')
def constant_value(value_or_tensor_or_var, dtype=None):
  """The value where it is known while building, else None. TypeError where the argument is neither
  a value of `dtype` (a Python type) nor a tensor or variable."""
  value = value_or_tensor_or_var
  if value is None:
    raise ValueError('value_or_tensor_or_var cannot be None')
  if hasattr(value, 'op') or isinstance(value, variables.Variable):
    return None if isinstance(value, variables.Variable) else _constant_value(value)
  if dtype is not None and not isinstance(value, dtype):
    raise ValueError('The value %r must be of type %s' % (value, dtype))
  return value


@export('contrib.layers.utils.static_cond')
def static_cond(pred, fn1, fn2):
  """fn1() or fn2(), as a Python bool says."""
  for name, function in (('fn1', fn1), ('fn2', fn2)):
    if not callable(function):
      raise TypeError('%s must be callable.' % name)
  return fn1() if pred else fn2()


@export('contrib.layers.utils.smart_cond')
def smart_cond(pred, fn1, fn2, name=None):
  """One of both functions where the predicate is known while building, else a conditional."""
  known = constant_value(pred)
  if known is not None:
    return static_cond(known, fn1, fn2)
  return control_flow.cond(pred, fn1, fn2, name=name)


@export('contrib.layers.utils.get_variable_collections')
def get_variable_collections(variables_collections, name):
  """The collections for the variable of that name, of a dict, or of a list for all of them."""
  if isinstance(variables_collections, dict):
    return variables_collections.get(name, None)
  return variables_collections


def add_variable_to_collections(variable, variables_collections, name):
  """Adds a variable, or each part of one, to its collections, once."""
  found = get_variable_collections(variables_collections, name) or []
  parts = list(variable) if hasattr(variable, '_get_variable_list') else [variable]
  graph = get_default_graph()
  for key in found if isinstance(found, (list, tuple)) else [found]:
    for part in parts:
      if not any(part is other for other in graph.get_collection(key)):
        graph.add_to_collection(key, part)


def _dimension(shape, index, min_rank):
  shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
  if shape.ndims is None:
    raise ValueError('dims of shape must be known but is None')
  if shape.ndims < min_rank:
    raise ValueError('rank of shape must be at least %d not: %d' % (min_rank, shape.ndims))
  value = shape.as_list()[index]
  if value is None:
    raise ValueError('dimension %d shape must be known but is None' % index)
  return value


@export('contrib.layers.utils.channel_dimension')
def channel_dimension(shape, data_format, min_rank=1):
  """The number of channels of NHWC (the last) or NCHW (the second). ValueError where it is not
  known, or where the rank is less than `min_rank`."""
  return _dimension(shape, 1 if data_format == 'NCHW' else -1, min_rank)


@export('contrib.layers.utils.last_dimension')
def last_dimension(shape, min_rank=1):
  """The last size, under the same rules."""
  return _dimension(shape, -1, min_rank)


@export('contrib.layers.utils.two_element_tuple')
def two_element_tuple(int_or_tuple):
  """(n, n) of a number; a pair stays. ValueError for anything else."""
  if isinstance(int_or_tuple, (list, tuple)):
    if len(int_or_tuple) != 2:
      raise ValueError('Must be a list with 2 elements: %s' % (int_or_tuple,))
    return int(int_or_tuple[0]), int(int_or_tuple[1])
  if isinstance(int_or_tuple, int):
    return int(int_or_tuple), int(int_or_tuple)
  if isinstance(int_or_tuple, TensorShape) and len(int_or_tuple) == 2:
    return tuple(int_or_tuple.as_list())
  raise ValueError('Must be an int, a list with 2 elements or a TensorShape of length 2')


@export('contrib.layers.utils.n_positive_integers')
def n_positive_integers(n, value):
  """`value` n times where it is a number, else its n items; all must be positive integers."""
  text = 'n must be a positive integer: %r' % (n,)
  if isinstance(n, bool) or int(n) != n or n < 1:
    raise ValueError(text)
  if isinstance(value, int):
    found = (value,) * int(n)
  else:
    found = tuple(value.as_list() if isinstance(value, TensorShape) else value)
    if len(found) != n:
      raise ValueError('value must have %d items: %r' % (n, value))
  if any(int(v) != v or v < 1 for v in found):
    raise ValueError('value must be positive integers: %r' % (value,))
  return tuple(int(v) for v in found)
