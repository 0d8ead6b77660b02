"""Structures of tf.data: tuples and dicts hold items, but a list is a value that becomes a tensor.

That is the difference from tf.nest, where lists are structures too. A SparseTensorValue is a tuple
for Python and one value here.
"""
from __future__ import annotations

from leat._ops import nest
from leat._ops.sparse import SparseTensorValue


def is_nested(x):
  """Whether it is a structure of items."""
  if isinstance(x, (tuple, dict)):
    return not isinstance(x, SparseTensorValue)
  return hasattr(type(x), '__attrs_attrs__')


def flatten(structure):
  """The items in order; those of dicts by their keys."""
  if not is_nested(structure):
    return [structure]
  return [leaf for item in nest._items(structure) for leaf in flatten(item)]


def _packed(structure, items):
  if not is_nested(structure):
    return next(items)
  if isinstance(structure, dict):
    found = {key: _packed(structure[key], items) for key in sorted(structure)}
    ordered = [(key, found[key]) for key in structure]
    if hasattr(structure, 'default_factory'):
      return type(structure)(structure.default_factory, ordered)
    return type(structure)(ordered)
  found = [_packed(item, items) for item in nest._items(structure)]
  if hasattr(structure, '_fields') or hasattr(type(structure), '__attrs_attrs__'):
    return type(structure)(*found)
  return type(structure)(found)


def pack_sequence_as(structure, flat_sequence):
  """The structure with the items of a flat list."""
  flat_sequence = list(flat_sequence)
  count = len(flatten(structure))
  if count != len(flat_sequence):
    raise ValueError('Could not pack sequence. Structure had %d elements, but flat_sequence had %d '
                     'elements. Structure: %s, flat_sequence: %s.' % (
                         count, len(flat_sequence), structure, flat_sequence))
  return _packed(structure, iter(flat_sequence))


def map_structure(function, *structures):
  """The structure of what the function gives for the items of the structures, which are alike."""
  for other in structures[1:]:
    assert_same_structure(structures[0], other)
  return pack_sequence_as(structures[0], [
      function(*items) for items in zip(*[flatten(s) for s in structures])])


def assert_same_structure(first, second, check_types=True):
  """ValueError where the items do not stand at the same places, TypeError where the types of the
  structures differ."""
  if is_nested(first) != is_nested(second):
    raise ValueError("The two structures don't have the same nested structure. First structure: "
                     '%s, second structure: %s.' % (first, second))
  if not is_nested(first):
    return
  if check_types and type(first) is not type(second) and not (
      isinstance(first, dict) and isinstance(second, dict)):
    raise TypeError("The two structures don't have the same sequence type. First structure has "
                    'type %s, while second structure has type %s.' % (type(first), type(second)))
  if isinstance(first, dict) and set(first) != set(second):
    raise ValueError("The two dictionaries don't have the same set of keys. First structure has "
                     'keys %s, while second structure has keys %s.' % (list(first), list(second)))
  ours, theirs = nest._items(first), nest._items(second)
  if len(ours) != len(theirs):
    raise ValueError("The two structures don't have the same number of elements. First structure: "
                     '%s. Second structure: %s' % (first, second))
  for a, b in zip(ours, theirs):
    assert_same_structure(a, b, check_types)


def flatten_up_to(shallow, deep):
  """The parts of `deep` that stand where `shallow` has items; they may be structures again."""
  if not is_nested(shallow):
    return [deep]
  if not is_nested(deep) and not isinstance(deep, list):
    raise TypeError('If shallow structure is a sequence, input must also be a sequence. Input has '
                    'type: %s.' % type(deep).__name__)
  if isinstance(shallow, dict):
    if not isinstance(deep, dict) or set(shallow) != set(deep):
      raise ValueError('The two structures must have the same keys: %s and %s.' % (shallow, deep))
  elif isinstance(deep, list) or type(shallow) is not type(deep):
    raise TypeError('The two structures must have the same type. Shallow structure has type %s, '
                    'while input has type %s.' % (type(shallow), type(deep)))
  ours, theirs = nest._items(shallow), nest._items(deep)
  if len(ours) != len(theirs):
    raise ValueError('The two structures must have the same length: %d and %d.' % (
        len(ours), len(theirs)))
  return [part for a, b in zip(ours, theirs) for part in flatten_up_to(a, b)]


def map_structure_up_to(shallow, function, *deep):
  """The structure `shallow` of what the function gives for the parts of `deep` at its items."""
  parts = [flatten_up_to(shallow, d) for d in deep]
  return pack_sequence_as(shallow, [function(*items) for items in zip(*parts)])
