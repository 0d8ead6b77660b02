"""tf.data.experimental.Optional: a value that may not be there."""
from __future__ import annotations

from leat._data import element as elements
from leat._export import export
from leat._graph.apply import apply_op
from leat._graph.scope import name_scope


@export('data.experimental.Optional', 'experimental.Optional')
class Optional:
  """A value that may not be there, as the next element of an iterator at its end."""

  def __init__(self, variant, element):
    self._variant, self._element = variant, element

  @staticmethod
  def from_value(value):
    """One that is there."""
    with name_scope('optional') as scope:
      components, element = elements.normalized(value, 'value')
      made = apply_op('OptionalFromValue', name=scope,
                      components=elements.carriers(element, components))
    return Optional(made, element)

  @staticmethod
  def none_from_structure(value_structure):
    """One that is not there, of the specs that a Structure says."""
    return Optional(apply_op('OptionalNone'), value_structure)

  @staticmethod
  def empty(element_spec):
    """One that is not there."""
    return Optional.none_from_structure(element_spec)

  def has_value(self, name=None):
    """Whether it is there, a scalar bool tensor."""
    return apply_op('OptionalHasValue', name=name, optional=self._variant)

  def get_value(self, name=None):
    """The value; the step fails with InvalidArgumentError where it is not there."""
    with name_scope(name, 'OptionalGetValue', [self._variant]) as scope:
      found = apply_op('OptionalGetValue', name=scope, optional=self._variant,
                       **elements.described(self._element))
      return elements.value_of(self._element, found)

  @property
  def value_structure(self):
    return self._element

  element_spec = value_structure
