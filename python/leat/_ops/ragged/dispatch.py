"""Which functions of the API take ragged tensors too, and how a call finds the function for them.

A module of this folder marks a function with `@for_ragged('gather')`, or with `@around('abs')`
where it calls the public function itself; `RAGGED = {name: function}` says the same of functions
that are not made by `def`. The build notes these names (python/make_package.py), and a public
function of such a name looks at its arguments: where one is ragged, or a list has a ragged one in
it, the function of this folder is called.
"""
from __future__ import annotations


def for_ragged(*names):
  """Marks what is called instead of the public functions `names` when an argument is ragged."""
  del names  # for those who read the source

  def mark(item):
    return item
  return mark


def around(*names):
  """Marks what is called for the public functions `names`, each argument perhaps several names,
  when an argument is ragged; its first argument is the public function."""
  return for_ragged(*names)


def has_ragged(values):
  """Whether one of the values, or an item of a list among them, is ragged."""
  for value in values:
    if getattr(value, '_is_ragged', False):
      return True
    if type(value) is list or type(value) is tuple:
      for item in value:
        if getattr(item, '_is_ragged', False):
          return True
  return False


def with_ragged(function, find, around):
  """The function, which calls that of `find()` where an argument is ragged."""
  import functools

  @functools.wraps(function)
  def call(*args, **named):
    if has_ragged(args) or named and has_ragged(named.values()):
      return find()(function, *args, **named) if around else find()(*args, **named)
    return function(*args, **named)
  return call
