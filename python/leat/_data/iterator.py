"""tf.data.Iterator: a place in a dataset, that lives in the session between steps."""
from __future__ import annotations

from leat._data import element as elements
from leat._data.function import by_value
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op, make_op
from leat._graph.conversion import convert

_MOST_CALLS = 32


@export('data.Iterator')
class Iterator:
  """Gives the elements of a dataset, one for each step that asks for the tensors of get_next().
  Its end is tf.errors.OutOfRangeError."""

  def __init__(self, iterator_resource, initializer, output_types, output_shapes, output_classes):
    self._setup(iterator_resource, initializer,
                elements.of_types(output_types, output_shapes, output_classes))

  def _setup(self, resource, initializer, element, dataset=None):
    self._iterator_resource, self._initializer, self._element = resource, initializer, element
    self._dataset, self._state = dataset, None
    self._string_handle = apply_op('IteratorToStringHandle', resource_handle=resource)
    self._calls = 0

  @classmethod
  def _of(cls, resource, initializer, element, dataset=None):
    made = cls.__new__(cls)
    made._setup(resource, initializer, element, dataset)
    return made

  @staticmethod
  def from_structure(output_types, output_shapes=None, shared_name=None, output_classes=None):
    """One without a dataset: make_initializer() sets it to the start of any with such elements."""
    element = elements.of_types(output_types, output_shapes, output_classes)
    return Iterator._of(_resource(element, shared_name), None, element)

  @staticmethod
  def from_string_handle(string_handle, output_types, output_shapes=None, output_classes=None):
    """The iterator whose string_handle() had this value."""
    element = elements.of_types(output_types, output_shapes, output_classes)
    string_handle = convert(string_handle, dtypes.string)
    return Iterator._of(apply_op('IteratorFromStringHandleV2', string_handle=string_handle,
                                 **elements.described(element)), None, element)

  @property
  def initializer(self):
    """The operation that sets it to the start."""
    if self._initializer is None:
      raise ValueError('Iterator does not have an initializer.')
    return self._initializer

  def make_initializer(self, dataset, name=None):
    """An operation that sets it to the start of the dataset, whose elements must be of its specs:
    TypeError where types or shapes differ, ValueError where structures do."""
    ours, theirs = self._element, dataset._element
    elements.nest.assert_same_structure(ours, theirs)
    for mine, other in zip(elements.nest.flatten(ours), elements.nest.flatten(theirs)):
      if mine.value_type is not other.value_type and not mine.is_compatible_with(other) or \
          mine.dtype != other.dtype:
        raise TypeError('Expected output types %r and classes %r but got dataset with output types '
                        '%r and classes %r.' % (self.output_types, self.output_classes,
                                                dataset.output_types, dataset.output_classes))
      if not mine.is_compatible_with(other):
        raise TypeError('Expected output shapes compatible with %r but got dataset with output '
                        'shapes %r.' % (self.output_shapes, dataset.output_shapes))
    with self._iterator_resource.graph.colocate_with(self._iterator_resource):
      return make_op('MakeIterator', name=name, dataset=dataset._with_settings()._variant,
                     iterator=self._iterator_resource)

  def get_next(self, name=None):
    """The components of the next element. A step that asks for any of them moves on by one."""
    self._calls += 1
    if self._calls == _MOST_CALLS + 1:
      import warnings
      warnings.warn('An unusually high number of `Iterator.get_next()` calls was detected. This '
                    'often indicates that `Iterator.get_next()` is being called inside a training '
                    'loop, which will cause gradual slowdown and eventual resource exhaustion. If '
                    'this is the case, restructure your code to call `next_element = '
                    'iterator.get_next()` once outside the loop, and use `next_element` as the '
                    'input to some computation that is invoked inside the loop.')
    with self._iterator_resource.graph.colocate_with(self._iterator_resource):
      found = apply_op('IteratorGetNext', name=name, iterator=self._iterator_resource,
                       **elements.described(self._element))
    if self._dataset is not None and self._dataset._device is not None:
      from leat._data.device import brought_to
      found = brought_to(self._dataset._device, found)
    return elements.value_of(self._element, found)

  def string_handle(self, name=None):
    """A scalar string tensor whose value names it in other sessions' feeds."""
    if name is None:
      return self._string_handle
    return apply_op('IteratorToStringHandle', name=name, resource_handle=self._iterator_resource)

  def _saveable(self):
    """What checkpoints hold of it (iterator_state.py)."""
    if self._state is None:
      from leat._data.iterator_state import IteratorState
      self._state = IteratorState(self)
    return self._state

  output_types = property(lambda self: elements.types_of(self._element))
  output_shapes = property(lambda self: elements.shapes_of(self._element))
  output_classes = property(lambda self: elements.classes_of(self._element))
  element_spec = property(lambda self: self._element)


def _resource(element, shared_name):
  return apply_op('IteratorV2', shared_name=shared_name or '',
                  container=graphs.get_default_graph()._container or '',
                  **elements.described(element))


@export('data.make_initializable_iterator')
def make_initializable_iterator(dataset, shared_name=None):
  """An iterator that its `initializer` sets to the start of the dataset."""
  dataset._check_graph()
  dataset = dataset._with_settings()
  resource = _resource(dataset._element, shared_name)
  with resource.graph.colocate_with(resource):
    initializer = make_op('MakeIterator', dataset=dataset._variant, iterator=resource)
  return Iterator._of(resource, initializer, dataset._element, dataset)


@export('data.make_one_shot_iterator')
def make_one_shot_iterator(dataset):
  """An iterator that starts by itself and cannot be set back. The dataset is copied into a function
  of the library; ValueError where it needs placeholders, variables or tables, which cannot be
  copied."""
  dataset._check_graph()
  dataset = dataset._with_settings()
  try:
    factory = by_value(dataset._variant, '_make_dataset', dataset._operations())
  except ValueError as error:
    if 'Cannot capture' not in str(error):
      raise
    raise ValueError('Failed to create a one-shot iterator for a dataset. `Dataset.'
                     'make_one_shot_iterator()` does not support datasets that capture stateful '
                     'objects, such as a `Variable` or `LookupTable`. In these cases, use '
                     '`Dataset.make_initializable_iterator()`. (Original error: %s)' % error
                     ) from None
  resource = apply_op('OneShotIterator', dataset_factory=factory,
                      **elements.described(dataset._element))
  return Iterator._of(resource, None, dataset._element, dataset)


@export('data.experimental.get_next_as_optional')
def get_next_as_optional(iterator):
  """The next element as an Optional, which has no value at the end."""
  from leat._data.optional import Optional
  resource = iterator._iterator_resource
  with resource.graph.colocate_with(resource):
    found = apply_op('IteratorGetNextAsOptional', iterator=resource,
                     **elements.described(iterator._element))
  return Optional(found, iterator._element)


@export('data.get_output_types')
def get_output_types(dataset_or_iterator):
  """The types of an element's components."""
  return dataset_or_iterator.output_types


@export('data.get_output_shapes')
def get_output_shapes(dataset_or_iterator):
  """The shapes of an element's components."""
  return dataset_or_iterator.output_shapes


@export('data.get_output_classes')
def get_output_classes(dataset_or_iterator):
  """The classes of an element's components."""
  return dataset_or_iterator.output_classes
