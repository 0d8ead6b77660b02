"""What TensorFlow's inner modules tf_inspect, function_utils and serialization say of functions and
objects. Programs import them by their path, for estimators and hooks of their own above all:
`from tensorflow.python.util import function_utils`."""
from __future__ import annotations

import collections.abc
import functools
import inspect
from inspect import (currentframe, getcallargs, getdoc, getfile, getfullargspec, getmembers,
                     getmodule, getmro, getsource, getsourcefile, getsourcelines, isbuiltin,
                     isclass, isframe, isfunction, isgenerator, isgeneratorfunction, ismethod,
                     ismodule, isroutine, signature, stack)

from leat._export import export

ArgSpec = collections.namedtuple('ArgSpec', ['args', 'varargs', 'keywords', 'defaults'])
FullArgSpec = inspect.FullArgSpec

EXPORTS = {'python.util.tf_inspect.' + name: name for name in (
    'ArgSpec', 'FullArgSpec', 'currentframe', 'getcallargs', 'getdoc', 'getfile', 'getfullargspec',
    'getmembers', 'getmodule', 'getmro', 'getsource', 'getsourcefile', 'getsourcelines',
    'isbuiltin', 'isclass', 'isframe', 'isfunction', 'isgenerator', 'isgeneratorfunction',
    'ismethod', 'ismodule', 'isroutine', 'signature', 'stack')}


@export('python.util.tf_inspect.getargspec')
def getargspec(obj):
  """ArgSpec of a function: its positional arguments, and what Python 2 knew of them."""
  spec = getfullargspec(obj)
  return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


@export('python.util.function_utils.fn_args', 'contrib.learn.estimators.estimator.fn_args')
def fn_args(fn):
  """The names of a function's positional arguments: without `self`, and without what a partial has
  bound."""
  if isinstance(fn, functools.partial):
    bound = fn.keywords or ()
    return tuple(a for a in fn_args(fn.func)[len(fn.args):] if a not in bound)
  if not inspect.isroutine(fn) and not inspect.isclass(fn) and callable(fn):
    fn = fn.__call__
  found = list(getfullargspec(fn).args)
  return tuple(found[1:] if inspect.ismethod(fn) and found else found)


@export('python.util.function_utils.has_kwargs')
def has_kwargs(fn):
  """Whether a function takes any keyword arguments (**kwargs)."""
  if not callable(fn):
    raise TypeError('fn should be a function-like object, but is of type %s.' % type(fn))
  if isinstance(fn, functools.partial):
    return has_kwargs(fn.func)
  return getfullargspec(fn).varkw is not None


@export('python.util.function_utils.get_func_name')
def get_func_name(func):
  """The name of a function, of the function in a partial, or of the class of an object."""
  if not callable(func):
    raise ValueError('Argument `func` must be a callable. Received func=%s (of type %s)' % (
        func, type(func)))
  if isinstance(func, functools.partial):
    return get_func_name(func.func)
  return func.__name__ if isfunction(func) or ismethod(func) else str(type(func))


@export('python.util.serialization.get_json_type')
def get_json_type(obj):
  """What stands for an object in JSON: the `default` of json.dumps. TypeError where nothing
  does."""
  if hasattr(obj, 'get_config'):
    return {'class_name': type(obj).__name__, 'config': obj.get_config()}
  if type(obj).__module__ == 'numpy':
    return obj.tolist()
  from leat._graph import dtype, shape
  if isinstance(obj, dtype.DType):
    return obj.name
  if isinstance(obj, shape.Dimension):
    return obj.value
  if isinstance(obj, shape.TensorShape):
    return obj.as_list()
  if callable(obj):
    return obj.__name__
  if isinstance(obj, collections.abc.Mapping):
    return dict(obj)
  if obj is Ellipsis:
    return {'class_name': '__ellipsis__'}
  raise TypeError('Not JSON Serializable: %s' % (obj,))
