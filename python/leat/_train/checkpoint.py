"""tf.train.Checkpoint: saves and restores the variables that objects hold (trackable.py).

Values are saved under the names of attributes, together with the graph of objects. What a restore
finds is decided when its operations are run, so that variables may be made between restore() and
that.
"""
from __future__ import annotations

import os

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import message
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of
from leat._graph.scope import control_dependencies, device
from leat._ops import array, control, variables
from leat._platform import paths
from leat._train import checkpoint_reader, checkpoint_state, trackable
from leat._train.saver import _restored

_GRAPH_KEY = '_CHECKPOINTABLE_OBJECT_GRAPH'


def _session(session):
  from leat._session import session as sessions
  found = session or sessions.get_default_session()
  if found is None:
    raise ValueError('A session is needed to save or restore: pass `session`, or make one the '
                     'default by `with`.')
  return found


def _tensor_of(saved):
  """The tensor that is written of a variable or the state of an iterator."""
  if not isinstance(saved, variables.Variable):
    return saved.tensor
  return saved._as_tensor() if saved._handle is not None else saved._ref()


def _restore_one(saved, value):
  """The operation that sets a variable or the state of an iterator to what was read."""
  if not isinstance(saved, variables.Variable):
    return saved.restore([value])
  return _restored(saved, value, False)


@export('train.Checkpoint')
class Checkpoint:
  """Holds objects by name: variables, optimizers, layers, Checkpoints, lists and dicts of them.
  save() writes the values of their variables, restore() sets them."""

  def __init__(self, **kwargs):
    for name, value in sorted(kwargs.items()):
      if not trackable.is_trackable(value):
        raise ValueError('`Checkpoint` was expecting %s to be a trackable object (a variable, '
                         'optimizer, layer, list or dict), got %r.' % (name, value))
      setattr(self, name, value)
    self._save_counter = self._count = None
    self._saves = {}   # what is saved -> (placeholder of the prefix, the saving tensor)

  def _checkpoint_children(self):
    own = [(k, v) for k, v in vars(self).items()
           if not k.startswith('_') and trackable.is_trackable(v)]
    return own + ([] if self._save_counter is None else [('save_counter', self._save_counter)])

  @property
  def save_counter(self):
    """The variable that counts calls of save()."""
    self._make_counter()
    return self._save_counter

  def _make_counter(self):
    if self._save_counter is None:
      self._save_counter = variables.Variable(constant_of(0, dtypes.int64), trainable=False,
                                              name='save_counter', use_resource=True,
                                              collections=[])
      self._count = self._save_counter.assign_add(1)
      self._is_counting = variables.is_variable_initialized(self._save_counter)

  def _next_number(self, session):
    """Counts one more save in the session."""
    self._make_counter()
    if not session.run(self._is_counting):
      session.run(self._save_counter.initializer)
    return int(session.run(self._count))

  def write(self, file_prefix, session=None, options=None):
    """Writes a checkpoint of that name, without counting it; gives the path."""
    del options
    session = _session(session)
    with session.graph.as_default():
      graph = trackable.ObjectGraph(self)
      held = graph.variables()
      key = tuple((k, id(v)) for k, v in held.items())
      if key not in self._saves:
        self._saves[key] = self._add_save(graph, held)
    prefix, written = self._saves[key]
    paths.makedirs(os.path.dirname(paths.abspath(file_prefix)), exist_ok=True)
    return session.run(written, {prefix: file_prefix}).decode()

  @staticmethod
  def _add_save(graph, held):
    prefix = array.placeholder(dtypes.string, [])
    names = sorted(held)
    with device('/cpu:0'):
      objects = constant_of(graph.to_message().SerializeToString())
      op = apply_op('SaveV2', prefix=prefix, tensor_names=[_GRAPH_KEY] + names,
                    shape_and_slices=[''] * (len(names) + 1),
                    tensors=[objects] + [_tensor_of(held[n]) for n in names])
      with control_dependencies([op]):
        return prefix, array.identity(prefix)

  def save(self, file_prefix, session=None, options=None):
    """Writes <file_prefix>-<number of the save> and notes it as the newest checkpoint of its
    folder; gives the path."""
    session = _session(session)
    with session.graph.as_default():
      number = self._next_number(session)
    path = self.write('%s-%d' % (file_prefix, number), session, options)
    checkpoint_state.write(os.path.dirname(file_prefix), path, [path], relative=True)
    return path

  def restore(self, save_path):
    """Finds what a checkpoint has. run_restore_ops() or initialize_or_restore() of what is given
    back set the variables; assert_consumed() fails where something of the checkpoint is of no
    use. None stands for no checkpoint."""
    self._make_counter()
    return CheckpointLoadStatus(self, save_path)


class CheckpointLoadStatus:
  """A checkpoint that objects are restored from."""

  def __init__(self, root, path):
    self._root, self._path, self._saved = root, path, None
    if path is None:
      return
    self._reader = checkpoint_reader.NewCheckpointReader(path)
    if self._reader.has_tensor(_GRAPH_KEY):
      self._saved = message.of('TrackableObjectGraph').FromString(
          self._reader.get_tensor(_GRAPH_KEY))

  def _variables(self):
    """All variables below the root."""
    return list(trackable.ObjectGraph(self._root).variables().values())

  def _found(self):
    """({key: variable}, the saved nodes that are of use): by the objects, or in a checkpoint of a
    Saver by the names of the variables."""
    if self._path is None:
      return {}, set()
    if self._saved is not None:
      return trackable.matched(self._root, self._saved)
    return {v.op.name: v for v in self._variables() if self._reader.has_tensor(v.op.name)}, set()

  def assert_consumed(self):
    """AssertionError where an object or value of the checkpoint is not found below the root, or a
    variable not in the checkpoint."""
    if self._path is None:
      raise AssertionError('No checkpoint specified (save_path=None); nothing is being restored.')
    _, used = self._found()
    for i, node in enumerate(self._saved.nodes if self._saved is not None else ()):
      if i not in used:
        raise AssertionError('Unresolved object in checkpoint: %s' % node)
    return self.assert_existing_objects_matched()

  def assert_existing_objects_matched(self):
    """AssertionError where a variable is not in the checkpoint."""
    if self._path is None:
      raise AssertionError('No checkpoint specified (save_path=None); nothing is being restored.')
    found = {id(v) for v in self._found()[0].values()}
    missing = [v for v in self._variables() if id(v) not in found]
    if missing:
      raise AssertionError('Object not assigned a value from checkpoint: %s' % missing[0])
    return self

  def assert_nontrivial_match(self):
    """AssertionError where nothing but the root is found."""
    if not self._found()[0]:
      raise AssertionError('Nothing except the root object matched a checkpointed value.')
    return self

  def expect_partial(self):
    """Nothing is said about values of no use anyway."""
    return self

  def run_restore_ops(self, session=None):
    """Sets the variables that are found."""
    if self._path is None:
      raise AssertionError('No checkpoint specified, so no restore ops are available '
                           '(save_path=None to Saver.restore).')
    session = _session(session)
    with session.graph.as_default():
      found, _ = self._found()
      if found:
        session.run(self._restore_op(found))

  def _restore_op(self, found):
    names = sorted(found)
    with device('/cpu:0'):
      values = apply_op('RestoreV2', prefix=self._path, tensor_names=names,
                        shape_and_slices=[''] * len(names),
                        dtypes=[found[n].dtype.base_dtype for n in names])
    return control.group(*[_restore_one(found[n], v) for n, v in zip(names, values)])

  def initialize_or_restore(self, session=None):
    """Sets the variables that are found and initializes the others."""
    session = _session(session)
    with session.graph.as_default():
      found = {id(v) for v in self._found()[0].values()}
      counter = self._root._save_counter
      rest = [v.initializer for v in self._variables()
              if id(v) not in found and v.initializer is not None]
      if rest:
        session.run(rest)
      if counter is not None and id(counter) not in found:
        session.run(counter.initializer)
    if self._path is not None:
      self.run_restore_ops(session)
