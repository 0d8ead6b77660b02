"""tf.nest: structures of lists, tuples and dicts, flat and back."""
from __future__ import annotations

from leat._export import export


def _is_structure(x):
  return isinstance(x, (list, tuple, dict)) or hasattr(type(x), '__attrs_attrs__')


def _items(x):
  if isinstance(x, dict):
    try:
      return [x[k] for k in sorted(x)]
    except TypeError:
      raise TypeError('nest only supports dicts with sortable keys.') from None
  if hasattr(type(x), '__attrs_attrs__'):
    return [getattr(x, a.name) for a in type(x).__attrs_attrs__]
  return list(x)


@export('nest.is_nested', 'contrib.framework.nest.is_sequence')
def is_nested(structure):
  """Whether it is a list, tuple or dict."""
  return _is_structure(structure)


@export('nest.flatten', 'contrib.framework.nest.flatten')
def flatten(structure, expand_composites=False):
  """The items of a structure of lists, tuples and dicts, nested as you like, in one list; those of
  a dict in the order of its keys."""
  if not _is_structure(structure):
    return [structure]
  return [leaf for item in _items(structure) for leaf in flatten(item, expand_composites)]


@export('nest.pack_sequence_as', 'contrib.framework.nest.pack_sequence_as')
def pack_sequence_as(structure, flat_sequence, expand_composites=False):
  """The structure with the items of a flat list."""
  del expand_composites
  if not isinstance(flat_sequence, (list, tuple)):
    raise TypeError('Attempted to pack value:\n  %s\ninto a structure, but found incompatible type '
                    '`%s` instead.' % (flat_sequence, type(flat_sequence)))
  if not _is_structure(structure):
    if len(flat_sequence) != 1:
      raise ValueError('The target structure is of type `%s`\n  %s\nHowever the input is a '
                       'sequence (%s) of length %d.' % (type(structure), structure,
                                                        type(flat_sequence), len(flat_sequence)))
    return flat_sequence[0]
  size = len(flatten(structure))
  if size != len(flat_sequence):
    raise ValueError('Could not pack sequence. Structure had %d atoms, but flat_sequence had %d '
                     'items.  Structure: %s, flat_sequence: %s.' % (size, len(flat_sequence),
                                                                    structure, flat_sequence))
  return _packed(structure, iter(flat_sequence))


def _packed(structure, items):
  if not _is_structure(structure):
    return next(items)
  if isinstance(structure, dict):
    found = {k: _packed(structure[k], items) for k in sorted(structure)}
    if hasattr(structure, 'default_factory'):
      return type(structure)(structure.default_factory, ((k, found[k]) for k in structure))
    return type(structure)((k, found[k]) for k in structure)
  found = [_packed(item, items) for item in _items(structure)]
  if hasattr(structure, '_fields') or hasattr(type(structure), '__attrs_attrs__'):
    return type(structure)(*found)
  return type(structure)(found)


@export('nest.assert_same_structure', 'contrib.framework.nest.assert_same_structure')
def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
  """ValueError where two structures have different shapes, TypeError where lists, tuples or dicts
  of them differ in type."""
  first, second = flatten(nest1), flatten(nest2)
  text = "The two structures don't have the same nested structure.\n\nFirst structure: %s\n\n" \
         'Second structure: %s' % (nest1, nest2)
  if len(first) != len(second):
    raise ValueError("The two structures don't have the same number of elements.\n\n" + text)
  _compare(nest1, nest2, check_types, text)
  del expand_composites


def _compare(a, b, check_types, text):
  if _is_structure(a) != _is_structure(b):
    raise ValueError(text)
  if not _is_structure(a):
    return
  if check_types and type(a) is not type(b):
    same_name = hasattr(a, '_fields') and hasattr(b, '_fields') and a._fields == b._fields and \
        type(a).__name__ == type(b).__name__
    both_dicts = isinstance(a, dict) and isinstance(b, dict)
    if not same_name and not both_dicts:
      raise TypeError(text)
  if isinstance(a, dict) and set(a) != set(b):
    raise ValueError(text)
  if len(_items(a)) != len(_items(b)):
    raise ValueError(text)
  for x, y in zip(_items(a), _items(b)):
    _compare(x, y, check_types, text)


@export('nest.map_structure', 'contrib.framework.nest.map_structure')
def map_structure(func, *structure, **kwargs):
  """A structure like the first one, whose items are func(item of each structure). ValueError or
  TypeError where the structures differ."""
  if not callable(func):
    raise TypeError('func must be callable, got: %s' % func)
  if not structure:
    raise ValueError('Must provide at least one structure')
  check = kwargs.pop('check_types', True)
  kwargs.pop('expand_composites', None)
  if kwargs:
    raise ValueError('Only valid keyword arguments are `check_types` and `expand_composites`, not: '
                     '`%s`' % ', '.join(kwargs))
  for other in structure[1:]:
    assert_same_structure(structure[0], other, check)
  return pack_sequence_as(structure[0], [func(*items) for items in zip(
      *[flatten(s) for s in structure])])
