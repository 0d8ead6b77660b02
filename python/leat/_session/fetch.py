"""What run() is asked for: any structure of tensors, operations, names and variables, and the same
structure of values afterwards."""
from __future__ import annotations

from leat import _leat

# (class, function) pairs: fetch -> (list of elements, function of their values), newest first.
conversions = []
feed_conversions = []


class Plan:
  """The distinct tensors and operations of a structure, and how its values are put together."""

  def __init__(self, graph, fetches):
    self._graph = graph
    self.tensors, self.targets = [], []
    self.has_handles = False   # whether one is the handle of a tensor that stays in the session
    self._places, self._known_targets = {}, set()
    self.build = self._of(fetches)

  def _element(self, fetch):
    """The number of a tensor among those fetched, or None for an operation."""
    try:
      element = self._graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
    except TypeError as error:
      raise TypeError('Fetch argument %r has invalid type %r, must be a string or Tensor. (%s)' %
                      (fetch, type(fetch), error)) from None
    except ValueError as error:
      raise ValueError('Fetch argument %r cannot be interpreted as a Tensor. (%s)' %
                       (fetch, error)) from None
    except KeyError as error:
      raise ValueError('Fetch argument %r cannot be interpreted as a Tensor. (%s)' %
                       (fetch, error)) from None
    if not self._graph.is_fetchable(element):
      raise ValueError('%s %s has been marked as not fetchable.' % (
          'Operation' if isinstance(element, _leat.Operation) else 'Tensor', element.name))
    if isinstance(element, _leat.Operation):
      if element not in self._known_targets:
        self._known_targets.add(element)
        self.targets.append(element)
      return None
    place = self._places.get(element)
    if place is None:
      place = self._places[element] = len(self.tensors)
      self.tensors.append(element)
      if element.op.type.startswith('GetSessionHandle'):
        self.has_handles = True
    return place

  def _of(self, fetch):
    """The function that makes the value of `fetch` of the list of all values."""
    if fetch is None:
      raise TypeError('Fetch argument %r has invalid type %r' % (fetch, type(fetch)))
    if isinstance(fetch, (_leat.Output, _leat.Operation, str, bytes)):
      return self._leaf(fetch)
    if isinstance(fetch, dict):
      keys = list(fetch)
      parts = [self._of(fetch[k]) for k in keys]
      kind = type(fetch)
      if kind is not dict and hasattr(fetch, 'default_factory'):
        kind = lambda pairs: type(fetch)(fetch.default_factory, pairs)
      return lambda values: kind([(k, part(values)) for k, part in zip(keys, parts)])
    if isinstance(fetch, (list, tuple)) and not _is_special(fetch):
      parts = [self._of(f) for f in fetch]
      kind = type(fetch)
      if kind is list:
        return lambda values: [part(values) for part in parts]
      if hasattr(fetch, '_fields'):
        return lambda values: kind(*[part(values) for part in parts])
      return lambda values: kind([part(values) for part in parts])
    for cls, function in conversions:
      if isinstance(fetch, cls):
        elements, contract = function(fetch)
        parts = [self._leaf(e) for e in elements]
        return lambda values: contract([part(values) for part in parts])
    if hasattr(type(fetch), '__attrs_attrs__'):
      names = [a.name for a in type(fetch).__attrs_attrs__]
      parts = [self._of(getattr(fetch, n)) for n in names]
      return lambda values: type(fetch)(*[part(values) for part in parts])
    return self._leaf(fetch)

  def _leaf(self, fetch):
    place = self._element(fetch)
    return (lambda values: None) if place is None else (lambda values: values[place])


def _is_special(fetch):
  return any(isinstance(fetch, cls) for cls, _ in conversions)


def register_session_run_conversion_functions(tensor_type, fetch_function, feed_function=None,
                                              feed_function_for_partial_run=None):
  """Lets run() fetch and feed objects of another type."""
  del feed_function_for_partial_run
  for cls, _ in conversions:
    if issubclass(tensor_type, cls) and cls is tensor_type:
      raise ValueError('%s has already been registered so ignore it.' % tensor_type)
  conversions.insert(0, (tensor_type, fetch_function))
  if feed_function is not None:
    feed_conversions.insert(0, (tensor_type, feed_function))
