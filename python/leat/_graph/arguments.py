"""Arguments that have two names, an old and a new one."""
from __future__ import annotations


def either(new_name, new, old_name, old):
  """The one that is given; ValueError where both are."""
  if old is None:
    return new
  if new is not None:
    raise ValueError("Cannot specify both '%s' and '%s'." % (old_name, new_name))
  return old
