"""contrib.framework: marks of functions and arguments that a program shall not use any more. Each
one is logged as a warning, once for a function unless it is asked for each time."""
from __future__ import annotations

import functools
import inspect
import re

from leat._export import export
from leat._platform import log


def _check(date, instructions):
  """ValueError where the date is neither None nor YYYY-MM-DD, or where there are no
  instructions."""
  if date is not None and not re.match(r'20\d\d-[01]\d-[0123]\d$', date):
    raise ValueError('Date must be YYYY-MM-DD.')
  if not instructions:
    raise ValueError("Don't deprecate things without conversion instructions!")


def _when(date):
  return 'in a future version' if date is None else 'after %s' % date


def _documented(function, note):
  """The beginning of the documentation of a marked function, and its note."""
  text = inspect.getdoc(function) or 'DEPRECATED FUNCTION'
  return '%s\n\n%s' % (text, note)


@export('contrib.framework.deprecated')
def deprecated(date, instructions, warn_once=True):
  """Marks a function that is taken away after a date (None: some day); instructions say what to
  use."""
  _check(date, instructions)

  def mark(function):
    told = []

    @functools.wraps(function)
    def call(*args, **kwargs):
      if not told or not warn_once:
        told.append(True)
        log.warning('%s is deprecated and will be removed %s.\nInstructions for updating:\n%s',
                    function.__qualname__, _when(date), instructions)
      return function(*args, **kwargs)
    call.__doc__ = _documented(function, 'Deprecated: it will be removed %s. %s' % (
        _when(date), instructions))
    return call
  return mark


def _arguments_mark(date, instructions, warn_once, names, is_used, text):
  """A mark of functions whose arguments are logged where is_used(name, value)."""
  def mark(function):
    signature = inspect.signature(function)
    for name in names:
      if name not in signature.parameters:
        raise ValueError('The following deprecated arguments are not present in the function '
                         'signature: %s. Found next arguments: %s.' % (
                             [name], list(signature.parameters)))
    told = set()

    @functools.wraps(function)
    def call(*args, **kwargs):
      try:
        given = signature.bind(*args, **kwargs).arguments
      except TypeError:
        given = {}  # the call itself says what is wrong
      for name in names:
        if name in given and is_used(name, given[name]) and not (warn_once and name in told):
          told.add(name)
          log.warning('calling %s with %s is deprecated and will be removed %s.\nInstructions for '
                      'updating:\n%s', function.__qualname__, text(name), _when(date),
                      instructions)
      return function(*args, **kwargs)
    call.__doc__ = _documented(function, 'Deprecated arguments: %s will be removed %s. %s' % (
        ', '.join(text(n) for n in names), _when(date), instructions))
    return call
  return mark


@export('contrib.framework.deprecated_args')
def deprecated_args(date, instructions, *deprecated_arg_names_or_tuples, **kwargs):
  """Marks arguments of a function; (name, value) is one that is fine with that value. ValueError
  where the function has no such argument."""
  _check(date, instructions)
  if not deprecated_arg_names_or_tuples:
    raise ValueError('Specify which argument is deprecated.')
  fine = dict(item if isinstance(item, tuple) else (item, _NONE)
              for item in deprecated_arg_names_or_tuples)
  return _arguments_mark(date, instructions, kwargs.get('warn_once', True), list(fine),
                         lambda name, value: fine[name] is _NONE or value != fine[name], str)


_NONE = object()


@export('contrib.framework.deprecated_arg_values')
def deprecated_arg_values(date, instructions, warn_once=True, **deprecated_kwargs):
  """Marks values of arguments of a function."""
  _check(date, instructions)
  if not deprecated_kwargs:
    raise ValueError('Specify which argument values are deprecated.')
  return _arguments_mark(date, instructions, warn_once, list(deprecated_kwargs),
                         lambda name, value: value == deprecated_kwargs[name],
                         lambda name: '%s=%s' % (name, deprecated_kwargs[name]))
