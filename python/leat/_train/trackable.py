"""Objects that hold variables, as a graph: what tf.train.Checkpoint saves and restores.

A node of the graph is an object, an edge the name by which one holds another: a keyword of a
Checkpoint, an attribute, a key of a dict, the number of an item of a list. A variable is saved
under the names on the shortest way to it, so that the program that restores need not name its
operations as the one that saved did. An optimizer's slots are saved beside their variable.
"""
from __future__ import annotations

import collections

from leat._graph import message
from leat._ops import variables
from leat._train.optimizer import Optimizer

_VALUE = '/.ATTRIBUTES/VARIABLE_VALUE'


def _escaped(name):
  return name.replace('.', '..').replace('/', '.S')


def saved_of(value):
  """What is saved of an object itself: a variable, or the state of an iterator over a dataset; None
  for an object that only holds others."""
  if isinstance(value, variables.Variable):
    return value
  return value._saveable() if hasattr(value, '_saveable') else None


def is_trackable(value):
  """Whether a value holds variables, or may later."""
  if isinstance(value, (variables.Variable, Optimizer, dict, list, tuple)):
    return True
  return any(hasattr(value, name)
             for name in ('_saveable', '_checkpoint_children', 'trainable_weights'))


def children(value):
  """[(name, object)] that an object holds."""
  own = getattr(value, '_checkpoint_children', None)
  if own is not None:
    return own()
  if saved_of(value) is not None:
    return []
  if isinstance(value, Optimizer):
    from leat._graph import graph as graphs
    graph = graphs.get_default_graph()
    return sorted(((name, v) for (name, g), v in value._non_slots.items() if g is graph),
                  key=lambda item: item[0])
  if isinstance(value, dict):
    items = ((k, v) for k, v in value.items() if isinstance(k, str))
  elif isinstance(value, (list, tuple)):
    items = ((str(i), v) for i, v in enumerate(value))
  else:
    items = ((k, v) for k, v in sorted(vars(value).items()) if not k.startswith('_'))
  return [(k, v) for k, v in items if is_trackable(v)]


class ObjectGraph:
  """The objects below a root, each once, those nearer to the root first."""

  def __init__(self, root):
    self.objects, self.names, self.edges = [], [], []   # by number; names are the ways to objects
    self._numbers, waiting = {}, collections.deque()
    self._add(root, '', waiting)
    while waiting:
      number = waiting.popleft()
      for name, child in children(self.objects[number]):
        found = self._numbers.get(id(child))
        if found is None:
          way = self.names[number]
          found = self._add(child, way + '/' + _escaped(name) if way else _escaped(name), waiting)
        self.edges[number].append((name, found))
    self.slots = list(self._slots())

  def _add(self, value, name, waiting):
    number = self._numbers[id(value)] = len(self.objects)
    self.objects.append(value)
    self.names.append(name)
    self.edges.append([])
    waiting.append(number)
    return number

  def _slots(self):
    """(number of the optimizer, of the variable, the slot's name, the slot)."""
    held = [i for i, o in enumerate(self.objects) if isinstance(o, variables.Variable)]
    for i, optimizer in enumerate(self.objects):
      if isinstance(optimizer, Optimizer):
        for slot_name in sorted(optimizer.get_slot_names()):
          for j in held:
            slot = optimizer.get_slot(self.objects[j], slot_name)
            if slot is not None:
              yield i, j, slot_name, slot

  def variables(self):
    """{key in a checkpoint: variable, or state of an iterator}."""
    saved = ((self.names[i] + _VALUE, saved_of(o)) for i, o in enumerate(self.objects))
    found = {key: value for key, value in saved if value is not None}
    for optimizer, variable, slot_name, slot in self.slots:
      found['%s/.OPTIMIZER_SLOT/%s/%s%s' % (self.names[variable], self.names[optimizer],
                                            _escaped(slot_name), _VALUE)] = slot
    return found

  def to_message(self):
    """The TrackableObjectGraph that is saved with the values."""
    graph = message.of('TrackableObjectGraph')()
    for i, value in enumerate(self.objects):
      node = graph.nodes.add()
      for name, child in self.edges[i]:
        node.children.add(node_id=child, local_name=name)
      saved = saved_of(value)
      if saved is not None:
        node.attributes.add(name='VARIABLE_VALUE', full_name=saved.op.name,
                            checkpoint_key=self.names[i] + _VALUE)
    for key, slot in self.variables().items():
      if '/.OPTIMIZER_SLOT/' not in key:
        continue
      optimizer, variable, slot_name = next((o, v, n) for o, v, n, s in self.slots if s is slot)
      graph.nodes[optimizer].slot_variables.add(
          original_variable_node_id=variable, slot_name=slot_name,
          slot_variable_node_id=len(graph.nodes))
      graph.nodes.add().attributes.add(name='VARIABLE_VALUE', full_name=slot.op.name,
                                       checkpoint_key=key)
    return graph


def matched(root, saved):
  """({key in the checkpoint: variable}, the numbers of saved nodes that an object was found for),
  of the objects below `root` and a TrackableObjectGraph."""
  graph = ObjectGraph(root)
  found, places = {}, {0: 0}   # saved node -> object
  waiting = collections.deque([0])
  while waiting:
    node = waiting.popleft()
    here = dict(graph.edges[places[node]])
    for child in saved.nodes[node].children:
      if child.local_name in here and child.node_id not in places:
        places[child.node_id] = here[child.local_name]
        waiting.append(child.node_id)
  for node, place in list(places.items()):
    value = graph.objects[place]
    own = saved_of(value)
    if own is not None:
      for attribute in saved.nodes[node].attributes:
        found[attribute.checkpoint_key] = own
    for slot in saved.nodes[node].slot_variables:
      original = places.get(slot.original_variable_node_id)
      if original is None or not isinstance(value, Optimizer):
        continue
      own = value.get_slot(graph.objects[original], slot.slot_name)
      if own is not None:
        places[slot.slot_variable_node_id] = -1
        for attribute in saved.nodes[slot.slot_variable_node_id].attributes:
          found[attribute.checkpoint_key] = own
  return found, set(places)
