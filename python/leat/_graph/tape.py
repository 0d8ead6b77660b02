"""tf.GradientTape over a graph.

A tape notes which operations are added while it records. When a gradient is asked for, it walks
over them in their order and finds those that count: an operation counts if one of its inputs is
watched, and its outputs are then watched too. The derivatives are tf.gradients' between the targets
and the sources; operations that do not count are cut off by taking what they compute as constant:

    with tape:            x ──► y = x * x ──► z = y * u       u = f(x) was added before the tape
      tape.watch(x)                               ▲           recorded: u is no way to x
      y = x * x                              u ───┘ cut
      z = y * u

A variable is watched by its reference or handle and by the tensor that reads it, since both are
there before the tape begins.
"""
from __future__ import annotations

import contextlib

from leat import _leat
from leat._export import export
from leat._graph import gradients as walk
from leat._graph import graph as graphs
from leat._graph.conversion import convert


def _is_variable(x):
  return hasattr(x, '_ref') and hasattr(x, '_snapshot')


def _tensors(x):
  """The tensors whose being watched means that x is."""
  return [x._ref(), x._snapshot] if _is_variable(x) else [convert(x, as_ref=True)]


def _forwards(operations, is_reached):
  """Walks over operations until nothing changes any more, since loops lead back; is_reached says of
  an operation whether it is reached now, and is not asked again about one that is."""
  reached, changed = set(), True
  while changed:
    before = len(reached)
    for op in operations:
      if op not in reached and is_reached(op):
        reached.add(op)
    changed = len(reached) > before
  return reached


@export('GradientTape')
class GradientTape:
  """Records the operations that are added to the graph while it is entered, and gives derivatives
  along those that depend on what is watched. Trainable variables are watched, unless
  watch_accessed_variables is False, and so is what `watch` is called with before it is used. A tape
  gives gradients once, a persistent one any number of times, also while it records.

  >>> x = tf.constant(3.0)
  >>> with tf.GradientTape() as tape:
  ...   tape.watch(x)
  ...   y = x * x
  >>> float(tf.Session().run(tape.gradient(y, x)))
  6.0
  """

  def __init__(self, persistent=False, watch_accessed_variables=True):
    self._persistent = persistent
    self._watches_variables = watch_accessed_variables
    self._is_used = False
    self._begin = None   # while it records: how many operations there were when it began
    self.reset()

  def reset(self):
    """Forgets what was recorded and watched."""
    self._graph = graphs.get_default_graph()
    self._pieces = []    # of what was recorded: (first operation, the one behind the last)
    self._watched = []   # (how many operations there were then, tensor or variable)
    if self._begin is not None:
      self._begin = self._graph.count()

  def __enter__(self):
    if self._begin is not None:
      raise ValueError('Tape is already recording.')
    graph = graphs.get_default_graph()
    if graph is not self._graph:
      if self._pieces or self._watched:
        raise ValueError('The tape has recorded operations of another graph.')
      self._graph = graph
    self._begin = graph.count()
    return self

  def __exit__(self, *unused):
    if self._begin is not None:
      self._stop()

  def _stop(self):
    self._pieces.append((self._begin, self._graph.count()))
    self._begin = None

  @contextlib.contextmanager
  def stop_recording(self):
    """What is added inside is not recorded."""
    if self._begin is None:
      raise RuntimeError('Trying to stop recording a tape which is not recording.')
    self._stop()
    try:
      yield
    finally:
      self._begin = self._graph.count()

  def watch(self, tensor):
    """Watches a tensor or variable, or all of a structure of them, from now on."""
    from leat._ops import nest
    for x in nest.flatten(tensor):
      if not _is_variable(x) and not isinstance(x, _leat.Output):
        raise ValueError('Passed in object of type %s, not tf.Tensor' % type(x))
      self._watched.append((self._graph.count(), x))

  def watched_variables(self):
    """The variables that are watched and were used while it recorded."""
    used = {t for op in self._operations() for t in op.inputs}
    explicit = [x for _, x in self._watched if _is_variable(x)]
    found = explicit + [v for v in self._trainable()
                        if not used.isdisjoint(_tensors(v)) and not any(v is w for w in explicit)]
    return tuple(found)

  def _trainable(self):
    from leat._ops.variable_collections import trainable_variables
    if not self._watches_variables:
      return []
    with self._graph.as_default():
      return [v for v in trainable_variables() if _is_variable(v)]

  def _operations(self):
    pieces = list(self._pieces)
    if self._begin is not None:
      pieces.append((self._begin, self._graph.count()))
    every = self._graph.get_operations()
    return [op for first, end in pieces for op in every[first:end]]

  def _recorded(self):
    """The operations that count, and the tensors that are watched."""
    since = {}   # tensor -> how many operations there were when it was watched
    for v in self._trainable():
      since.update((t, 0) for t in _tensors(v))
    for count, x in self._watched:
      for t in _tensors(x):
        since[t] = min(count, since.get(t, count))
    places = {op: i for i, op in enumerate(self._graph.get_operations())}

    def is_reached(op):
      place = places[op]
      if not any(t in since and since[t] <= place for t in op.inputs):
        return False
      since.update((t, 0) for t in op.outputs)
      return True
    return _forwards(self._operations(), is_reached), set(since)

  def _cuts(self, recorded, watched, sources):
    """The inputs of recorded operations that are not watched and yet depend on a source."""
    inputs = {t for op in recorded for t in op.inputs if t not in watched}
    if not inputs:
      return []
    depend = set(sources)

    def is_reached(op):
      if depend.isdisjoint(op.inputs):
        return False
      depend.update(op.outputs)
      return True
    _forwards(self._graph.get_operations(), is_reached)
    return [t for t in inputs if t in depend]

  def gradient(self, target, sources, output_gradients=None,
               unconnected_gradients=walk.UnconnectedGradients.NONE):
    """The derivatives of target (the sum of a structure of them) by the sources, in the structure
    of these: None, or zeros, for a source that is not watched or on which nothing recorded depends.
    output_gradients are those to start from, in the structure of target."""
    from leat._ops import array, nest
    if self._is_used and not self._persistent:
      raise RuntimeError('A non-persistent GradientTape can only be used to compute one set of '
                         'gradients (GradientTape.gradient can only be called once on '
                         'non-persistent tapes)')
    if self._begin is not None and not self._persistent:
      self._stop()
    self._is_used = True
    recorded, watched = self._recorded()
    flat = nest.flatten(sources)
    targets = [convert(t, name='y') for t in nest.flatten(target)]
    starts = [None] * len(targets) if output_gradients is None else nest.flatten(output_gradients)
    pairs = [(y, g) for y, g in zip(targets, starts) if y in watched]
    found = [None] * len(flat)
    asked = [i for i, x in enumerate(flat) if not watched.isdisjoint(_tensors(x))]
    if pairs and asked:
      tensors = [t for i in asked for t in _tensors(flat[i])]
      given = None if output_gradients is None else [g for _, g in pairs]
      values = walk.gradients([y for y, _ in pairs], [flat[i] for i in asked], given,
                              stop_gradients=self._cuts(recorded, watched, tensors))
      for i, value in zip(asked, values):
        found[i] = value
    if unconnected_gradients == walk.UnconnectedGradients.ZERO:
      found = [array.zeros_like(convert(x)) if g is None else g for g, x in zip(found, flat)]
    return nest.pack_sequence_as(sources, found)
