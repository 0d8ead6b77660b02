"""Barrier: components of values that wait under the key of their value until all are there."""
from __future__ import annotations

from leat._graph.apply import apply_op, make_op


class Barrier:
  """Components of these types and shapes [...] of one element."""

  def __init__(self, types, shapes, name='barrier'):
    self._types = list(types)
    self._ref = apply_op('Barrier', name=name, component_types=types, shapes=shapes)

  barrier_ref = property(lambda self: self._ref)
  name = property(lambda self: self._ref.op.name)

  def insert_many(self, component_index, keys, values, name=None):
    """Adds a component [n, ...] to the elements under the keys [n]."""
    return make_op('BarrierInsertMany', name=name, handle=self._ref, keys=keys, values=values,
                   component_index=component_index)

  def take_many(self, num_elements, allow_small_batch=False, name=None):
    """(indices [n], keys [n], components): the oldest complete elements; waits for them."""
    taken = apply_op('BarrierTakeMany', name=name, handle=self._ref, num_elements=num_elements,
                     component_types=self._types, allow_small_batch=allow_small_batch)
    return taken.indices, taken.keys, list(taken.values)

  def close(self, cancel_pending_enqueues=False, name=None):
    """No new keys are taken from now on, and with `cancel_pending_enqueues` no components."""
    return make_op('BarrierClose', name=name, handle=self._ref,
                   cancel_pending_enqueues=cancel_pending_enqueues)

  def ready_size(self, name=None):
    """How many elements are complete."""
    return apply_op('BarrierReadySize', name=name, handle=self._ref)

  def incomplete_size(self, name=None):
    return apply_op('BarrierIncompleteSize', name=name, handle=self._ref)
