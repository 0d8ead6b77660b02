"""ImmediateGraph: a graph whose tensors have values at once, for functions that are written as if
operations were computed where they are added.

Operations with state run when they are added, once, in the program's order. All others run when a
value is asked for (`tensor.numpy()`, `if tensor`, `float(tensor)`). Values that are known are fed
to later runs, so that nothing is computed twice. The operations of a loop or conditional run as a
whole.
"""
from __future__ import annotations

from leat import _leat
from leat._graph import graph as graphs
from leat._graph import dtype as dtypes


class ImmediateGraph(graphs.Graph):
  """A graph with a session of its own, for one thread."""
  _is_immediate = True

  def __init__(self):
    super().__init__()
    self._known = {}   # tensor -> its value
    self._done = set()   # operations with state that have run
    self._own_session = None

  def values_of(self, tensors):
    """The values of the tensors, as fetches give them."""
    unknown = [t for t in tensors if t not in self._known]
    if unknown:
      self._known.update(zip(unknown, self._run(unknown)))
    return [self._known[t] for t in tensors]

  def _run(self, fetches):
    from leat._session import session
    if self._own_session is None:
      self._own_session = session.Session(graph=self)
    return self._own_session.run(fetches, self._known)

  def control_dependencies(self, control_inputs):
    """Nothing waits for what has run, which would make it run again."""
    found = super().control_dependencies(control_inputs)
    found._operations = found._operations and [op for op in found._operations
                                               if op not in self._done]
    return found

  def _add_or_refuse(self, op_type, name, inputs, attributes):
    op = super()._add_or_refuse(op_type, name, inputs, attributes)
    if op.op_def.is_stateful and _leat.flow_of(op) is None and all(map(_has_value, op.outputs)):
      self._done.add(op)
      if op.outputs:
        self.values_of(op.outputs)
      else:
        self._run(op)
    return op

  def close(self):
    """Frees what the session holds."""
    if self._own_session is not None:
      self._own_session.close()


def _has_value(tensor):
  """Whether it is data: no reference, and no handle of something that stays in the session."""
  dtype = tensor.dtype
  return not dtype._is_ref_dtype and dtype not in (dtypes.resource, dtypes.variant)
