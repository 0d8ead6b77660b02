"""Datasets of what iterators of Python give.

Each pass over the dataset calls the program's function for an iterator of its own, which a number
stands for in the graph: it is the state of a GeneratorDataset, whose functions make the iterator,
ask it for the next element, and forget it when the pass ends or is given up.
"""
from __future__ import annotations

import itertools
import threading

from leat._data import element as elements
from leat._data import nest
from leat._data.function import traced
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import convert
from leat._ops.py_func import py_func


class _Iterators:
  """The iterators of the passes that have begun and not ended, by their numbers."""

  def __init__(self, generator):
    self._generator = generator
    self._lock, self._numbers, self._open = threading.Lock(), itertools.count(), {}

  def begin(self, *args):
    """The number of a new iterator, an int64."""
    import numpy as np
    made = iter(self._generator(*args))
    with self._lock:
      number = next(self._numbers)
      self._open[number] = made
    return np.int64(number)

  def next(self, number):
    """The next element of an iterator; StopIteration where it has ended."""
    with self._lock:
      found = self._open[int(number)]
    return next(found)

  def end(self, number):
    """Forgets an iterator."""
    with self._lock:
      del self._open[int(number)]
    return number


def _array(value, dtype):
  """A component as an array of its type."""
  import numpy as np
  try:
    if dtype != dtypes.string:
      return np.asarray(value, dtype=dtype.as_numpy_dtype)
    array = np.asarray(value, dtype=object)
    if all(isinstance(item, (str, bytes)) for item in array.flat):
      return array
  except (TypeError, ValueError, OverflowError):
    pass
  raise TypeError('`generator` yielded an element that could not be converted to the expected '
                  'type. The expected type was %s, but the yielded element was %s.' % (
                      dtype.name, value))


def _checked(element, value):
  """The components of what a generator gave, as arrays of the wanted types and shapes."""
  try:
    parts = nest.flatten_up_to(element, value)
  except (TypeError, ValueError):
    raise TypeError('`generator` yielded an element that did not match the expected structure. The '
                    'expected structure was %s, but the yielded element was %s.' % (
                        elements.types_of(element), value)) from None
  arrays = []
  for part, spec in zip(parts, nest.flatten(element)):
    array = _array(part, spec.dtype)
    if not spec.shape.is_compatible_with(array.shape):
      raise ValueError('`generator` yielded an element of shape %s where an element of shape %s '
                       'was expected.' % (array.shape, spec.shape))
    arrays.append(array)
  return arrays


def from_generator(generator, output_types, output_shapes, args):
  """The elements of `generator(*args)`, structures of arrays of these types and shapes."""
  from leat._data.dataset import Dataset
  if not callable(generator):
    raise TypeError('`generator` must be callable.')
  element = elements.of_types(output_types, output_shapes)
  flat = nest.flatten(element)
  args = () if args is None else tuple(convert(a, name='args') for a in args)
  iterators = _Iterators(generator)

  def begin(*given):
    number = py_func(iterators.begin, given, dtypes.int64)
    number.set_shape([])
    return number

  def next_element(number):
    found = py_func(lambda n: _checked(element, iterators.next(n)), [number],
                    [s.dtype for s in flat])
    return elements.value_of(element, found)

  def end(number):
    return py_func(iterators.end, [number], dtypes.int64)

  def one_pass(unused, *given):
    init = traced(lambda: begin(*given), 'from_generator', ())
    following = traced(next_element, 'from_generator', init.element)
    last = traced(end, 'from_generator', init.element)
    variant = apply_op(
        'GeneratorDataset', init_func=init.name, init_func_other_args=init.captured,
        next_func=following.name, next_func_other_args=following.captured,
        finalize_func=last.name, finalize_func_other_args=last.captured,
        **elements.described(following.element))
    return Dataset(variant, following.element, ())
  return Dataset.from_tensors((0,) + args).flat_map(one_pass)
