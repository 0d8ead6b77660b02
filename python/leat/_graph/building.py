"""What holds for the operations that are being added: name scope, device, control inputs, ...

These are settings of a thread while it builds a graph, as `with tf.device(...)` makes them. They
say how the next operation is made; once it is made, all that is known of it is in the C graph.
"""
from __future__ import annotations

import sys
import threading

from leat import _leat
from leat._graph import device as device_names

_PACKAGE = __name__.split('.')[0] + '.'


class Building(threading.local):
  """The settings of one graph, for each thread that builds it."""

  def __init__(self):
    self.scope = ''         # name scope with a slash at the end, or ''
    self.devices = []       # functions or device strings, the innermost last
    self.controls = []      # ControlDependencies, the innermost last
    self.colocations = []   # Operations
    self.attributes = {}    # added to every operation: name -> (kind, value)
    self.container = ''
    self.original_op = None
    self.kernel_labels = {}
    self.gradient_types = {}


class NameScope:
  """The `with` in which names of new operations begin with a name."""
  __slots__ = ('_graph', '_name', '_outer')

  def __init__(self, graph, name):
    self._graph, self._name = graph, name

  def __enter__(self):
    building = self._graph._building
    scope = self._graph._new_scope(self._name)
    self._outer, building.scope = building.scope, scope
    return scope

  def __exit__(self, *unused):
    self._graph._building.scope = self._outer


class ControlDependencies:
  """The operations that new ones wait for, inside a `with`. Forgetting the outer ones leaves all
  loops and branches that are being built, too."""

  def __init__(self, graph, operations):
    self._graph, self._operations = graph, operations
    self._new_stack = operations is None
    self._seen = set()      # operations added under it, which wait already
    self._outer = None
    self._scope_controls = None

  def __enter__(self):
    building = self._graph._building
    if self._new_stack:
      self._outer, building.controls = building.controls, []
      _leat.flow_outside(self._graph)
    building.controls = building.controls + [self]

  def __exit__(self, *unused):
    building = self._graph._building
    building.controls = [c for c in building.controls if c is not self]
    if self._new_stack:
      building.controls = self._outer
      _leat.flow_leave(self._graph)

  @property
  def operations(self):
    return self._operations or []


def control_inputs(building, inputs):
  """The operations that a new one with `inputs` must wait for. Those that an input waits for
  already, being added under the same `with`, are left out."""
  found = {}   # in the order of finding
  for controls in building.controls:
    seen = controls._seen
    if seen and any(op in seen for op in inputs):
      continue
    for op in controls.operations:
      if op not in inputs:
        found[op] = None
  return list(found)


_own_files = set()   # files of this package that caller() came through


def caller():
  """The frame of the program, outside of this package, or None."""
  frame = sys._getframe(2)
  while frame is not None:
    file = frame.f_code.co_filename
    if file not in _own_files:
      if not frame.f_globals.get('__name__', '').startswith(_PACKAGE):
        return frame
      _own_files.add(file)
    frame = frame.f_back
  return None


def device_of(building):
  """The device that new operations ask for; None where functions choose, which are asked once an
  operation is there."""
  device = ''
  for d in building.devices:
    if callable(d):
      return None
    device = '' if d is None else device_names.merge(device, d)
  return device
