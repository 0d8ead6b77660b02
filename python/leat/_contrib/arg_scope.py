"""contrib.framework.arg_scope: default arguments for functions within a block.

A function that is marked with `add_arg_scope` looks, each time it is called, for its arguments in
the innermost scope, which is a dict from functions (their keys) to arguments. Arguments of the call
itself win. A scope contains all that the scopes around it set, so that it can be kept and entered
again elsewhere: `with arg_scope(kept):`. """
from __future__ import annotations

import contextlib
import functools
import inspect

from leat._export import export

_scopes = [{}]     # from the outermost to the innermost; the last one counts
_arguments = {}    # {key of a marked function: names of its arguments that have a default}


@export('contrib.framework.arg_scope_func_key', 'contrib.slim.arg_scope_func_key')
def arg_scope_func_key(op):
  """What stands for the function in a scope."""
  return getattr(op, '_key_op', str(op))


@export('contrib.framework.current_arg_scope', 'contrib.slim.current_arg_scope')
def current_arg_scope():
  """The dict of the innermost scope."""
  return _scopes[-1]


@export('contrib.framework.has_arg_scope', 'contrib.slim.has_arg_scope')
def has_arg_scope(func):
  """Whether the function is marked with add_arg_scope."""
  return arg_scope_func_key(func) in _arguments


@export('contrib.framework.arg_scoped_arguments', 'contrib.slim.arg_scoped_arguments')
def arg_scoped_arguments(func):
  """The names of the arguments that a scope can set. The function must be marked."""
  if not has_arg_scope(func):
    raise ValueError('%s is not marked with @add_arg_scope' % (func,))
  return _arguments[arg_scope_func_key(func)]


@export('contrib.framework.arg_scope', 'contrib.slim.arg_scope')
@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
  """Sets `kwargs` as defaults for a list of marked functions, or enters a scope (a dict) again. The
  value of `with` is the new scope.

  TypeError where the first argument is neither a list, a tuple nor a dict; ValueError where a
  function is not marked, or where arguments are given with a dict."""
  if isinstance(list_ops_or_scope, dict):
    if kwargs:
      raise ValueError('kwargs must be empty where a scope is entered again: %s' % sorted(kwargs))
    scope = list_ops_or_scope.copy()
  else:
    if not isinstance(list_ops_or_scope, (list, tuple)):
      raise TypeError('list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict): '
                      '%r' % (list_ops_or_scope,))
    scope = current_arg_scope().copy()
    for op in list_ops_or_scope:
      if not has_arg_scope(op):
        raise ValueError('%s is not decorated with @add_arg_scope' % (op,))
      key = arg_scope_func_key(op)
      scope[key] = dict(scope.get(key, {}), **kwargs)
  _scopes.append(scope)
  try:
    yield scope
  finally:
    _scopes.pop()


@export('contrib.framework.add_arg_scope', 'contrib.slim.add_arg_scope')
def add_arg_scope(func):
  """Marks a function, so that arg_scope can set its arguments."""
  key = arg_scope_func_key(func)

  @functools.wraps(func)
  def with_scope(*args, **kwargs):
    found = current_arg_scope().get(key)
    return func(*args, **(dict(found, **kwargs) if found else kwargs))

  with_scope._key_op = key
  _arguments[key] = tuple(name for name, p in inspect.signature(func).parameters.items()
                          if p.default is not p.empty)
  return with_scope
