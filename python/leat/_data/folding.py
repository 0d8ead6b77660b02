"""Functions of a state and an element: reduce, whose result is the last state, and scan."""
from __future__ import annotations

from leat._data import element as elements
from leat._data import nest
from leat._data.function import traced
from leat._export import export
from leat._graph.apply import apply_op


def trace_fold(function, where, state, element, parts):
  """The function, traced, and the specs of its state. Where it gives a state whose shape is another
  one than it takes, both are weakened until they fit. `parts` gives (next state, the rest)."""
  while True:
    made = traced(function, where, (state, element))
    next_state = parts(made.element)
    nest.assert_same_structure(state, next_state)
    for ours, theirs in zip(nest.flatten(state), nest.flatten(next_state)):
      for what, mine, other in (('classes', ours.value_type, theirs.value_type),
                                ('types', ours.dtype, theirs.dtype)):
        if mine != other:
          raise TypeError('The element %s for the new state must match the initial state. Expected '
                          '%s; got %s.' % (what, mine, other))
    weaker = elements.joined(state, next_state)
    if weaker == state:
      return made, state
    state = weaker


def reduce(dataset, initial_state, reduce_func):
  """The last state, a structure of tensors."""
  components, state = elements.normalized(initial_state, 'initial_state')
  made, state = trace_fold(reduce_func, 'reduce', state, dataset._element, lambda specs: specs)
  found = apply_op('ReduceDataset', input_dataset=dataset._variant,
                   initial_state=elements.carriers(state, components),
                   other_arguments=made.captured, f=made.name, **elements.described(state))
  return elements.value_of(state, found)


def _pair(specs):
  if not isinstance(specs, (tuple, list)) or len(specs) != 2:
    raise TypeError('The scan function must return a pair comprising the new state and the output '
                    'value.')
  return specs[0]


@export('data.experimental.scan')
def scan(initial_state, scan_func):
  """For Dataset.apply: scan_func(state, element) gives (the next state, an element)."""
  def apply(dataset):
    components, state = elements.normalized(initial_state, 'initial_state')
    made, first = trace_fold(scan_func, 'scan', state, dataset._element, _pair)
    return dataset._made('ScanDataset', made.element[1],
                         initial_state=elements.carriers(first, components),
                         other_arguments=made.captured, f=made.name)
  return apply
