"""Which arguments a function takes, so that it is given those that it asks for."""
from __future__ import annotations

import functools
import inspect


def names(function):
  """The names of the arguments of a function, a method, a partial or a callable object, without
  `self` and what a partial has bound."""
  if isinstance(function, functools.partial):
    bound = set(function.keywords or ())
    return tuple(n for n in names(function.func)[len(function.args):] if n not in bound)
  parameters = inspect.signature(function).parameters.values()
  return tuple(p.name for p in parameters
               if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))


def chosen(function, **values):
  """Those of the values that the function takes by their name."""
  taken = names(function)
  return {n: v for n, v in values.items() if n in taken}
