"""Checkpoints without the graph that wrote them: what is in one, the values of its tensors, and
variables of another graph that begin with them."""
from __future__ import annotations

import os
import time

from leat._export import export
from leat import _leat
from leat._graph import errors
from leat._graph import value as values
from leat._graph.apply import apply_op, make_op
from leat._graph.dtype import as_dtype
from leat._graph.scope import device, init_scope
from leat._graph.wire import tables
from leat._ops import variable_collections
from leat._ops import variables
from leat._platform import log, paths
from leat._train import checkpoint_state


def _unreadable(prefix, error):
  """The error for a checkpoint that the library cannot open."""
  found = errors.of_status(error)
  if not isinstance(found, errors.NotFoundError):
    return found
  return errors.NotFoundError(None, None, 'Unsuccessful TensorSliceReader constructor: there are '
                              'no files of a checkpoint %s' % prefix)


class CheckpointReader:
  """The tensors of a checkpoint."""

  def __init__(self, prefix):
    self._prefix = prefix
    try:
      self._reader = _leat.CheckpointReader(prefix)
    except _leat.StatusError as error:
      raise _unreadable(prefix, error) from None
    self._tensors = {name: (as_dtype(number), shape)
                     for name, number, shape in self._reader.entries()}

  def get_variable_to_shape_map(self):
    """{name: [sizes]}"""
    return {name: list(shape) for name, (_, shape) in self._tensors.items()}

  def get_variable_to_dtype_map(self):
    """{name: DType}"""
    return {name: dtype for name, (dtype, _) in self._tensors.items()}

  def has_tensor(self, tensor_str):
    return _text(tensor_str) in self._tensors

  def get_tensor(self, tensor_str):
    """The value of a tensor; NotFoundError where there is none of that name."""
    name = _text(tensor_str)
    if name not in self._tensors:
      raise errors.NotFoundError(None, None, 'Key %s not found in checkpoint' % name)
    try:
      return values.to_numpy(self._reader.read(name))
    except _leat.StatusError as error:
      raise errors.of_status(error) from None

  def debug_string(self):
    """A line for each tensor, as bytes."""
    names = {number: name for name, number in tables()['enums']['tensorflow.DataType'].items()}
    return ''.join('%s (%s) [%s]\n' % (name, names[dtype.as_datatype_enum],
                                       ','.join(map(str, shape)))
                   for name, (dtype, shape) in sorted(self._tensors.items())).encode()

  def _repr_html_(self):
    from leat._platform import notebook
    return notebook.of_checkpoint(self)


def _text(value):
  return value.decode() if isinstance(value, bytes) else value


@export('train.NewCheckpointReader')
def NewCheckpointReader(filepattern):
  """The reader of a checkpoint; NotFoundError where there is none."""
  return CheckpointReader(_text(filepattern))


def _checkpoint_of(folder_or_prefix):
  """The prefix of a checkpoint, the newest one of a folder."""
  path = os.fspath(folder_or_prefix)
  if paths.isdir(path):
    newest = checkpoint_state.latest_checkpoint(path)
    return path if newest is None else newest
  return path


@export('train.load_checkpoint', 'contrib.framework.load_checkpoint')
def load_checkpoint(ckpt_dir_or_file):
  """The reader of a checkpoint, or of the newest one of a folder; ValueError where the folder has
  none."""
  prefix = _checkpoint_of(ckpt_dir_or_file)
  if paths.isdir(prefix):
    raise ValueError("Couldn't find 'checkpoint' file or checkpoints in given directory %s" %
                     ckpt_dir_or_file)
  return NewCheckpointReader(prefix)


@export('train.load_variable', 'contrib.framework.load_variable')
def load_variable(ckpt_dir_or_file, name):
  """The value of a variable of a checkpoint."""
  name = _text(name)
  return load_checkpoint(ckpt_dir_or_file).get_tensor(name[:-2] if name.endswith(':0') else name)


@export('train.list_variables', 'contrib.framework.list_variables')
def list_variables(ckpt_dir_or_file):
  """[(name, [sizes])] of a checkpoint, by name."""
  shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
  return sorted(shapes.items())


@export('contrib.training.wait_for_new_checkpoint')
def wait_for_new_checkpoint(checkpoint_dir, last_checkpoint=None, seconds_to_sleep=1, timeout=None):
  """The path of a checkpoint other than the last one, as soon as there is one; None after `timeout`
  seconds."""
  log.info('Waiting for new checkpoint at %s', checkpoint_dir)
  ends = None if timeout is None else time.monotonic() + timeout
  while True:
    path = checkpoint_state.latest_checkpoint(checkpoint_dir)
    if path is not None and path != last_checkpoint:
      log.info('Found new checkpoint at %s', path)
      return path
    if ends is not None and time.monotonic() + seconds_to_sleep > ends:
      return None
    time.sleep(seconds_to_sleep)


@export('contrib.training.checkpoints_iterator', 'train.checkpoints_iterator')
def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
  """Yields the path of each new checkpoint, one in min_interval_secs at most. After `timeout`
  seconds without one it asks timeout_fn whether that is the end, and ends where there is none."""
  path = None
  while True:
    new = wait_for_new_checkpoint(checkpoint_dir, path, timeout=timeout)
    if new is None:
      if not timeout_fn:
        log.info('Timed-out waiting for a checkpoint.')
        return
      if timeout_fn():
        return
      continue
    start = time.monotonic()
    path = new
    yield path
    rest = start + min_interval_secs - time.monotonic()
    if rest > 0:
      time.sleep(rest)


# ---- Variables that begin with values of a checkpoint -------------------------------------------


@export('train.init_from_checkpoint', 'contrib.framework.init_from_checkpoint')
def init_from_checkpoint(ckpt_dir_or_file, assignment_map):
  """Replaces the initializers of variables of the default graph by values of a checkpoint.

  assignment_map is a dict from names in the checkpoint to variables, lists of their parts, or their
  names; 'scope/': 'other/' and '/': 'other/' stand for all variables of a scope.
  """
  reader = load_checkpoint(ckpt_dir_or_file)
  prefix = _checkpoint_of(ckpt_dir_or_file)
  shapes = reader.get_variable_to_shape_map()
  for source, target in sorted(assignment_map.items(), key=lambda item: str(item[0])):
    if _is_variable(target) or isinstance(target, (list, tuple)) and all(
        _is_variable(v) for v in target) or hasattr(target, '_get_variable_list'):
      _init_checked(prefix, source, target, shapes)
      continue
    known = _variables_by_name()
    if '/' in target[-1:]:
      _init_scope(prefix, source, target, shapes, known)
      continue
    if target not in known:
      raise ValueError('Variable %s is not found in graph (%s)' % (target, sorted(known)))
    _init_checked(prefix, source, known[target], shapes)


def _is_variable(value):
  return isinstance(value, variables.Variable)


def _variables_by_name():
  """{name: variable, or the parts of one} of the default graph."""
  found = {}
  for v in variable_collections.global_variables():
    info = v._get_save_slice_info()
    if info is None:
      found[v.op.name] = v
    else:
      found.setdefault(info.full_name, []).append(v)
  return found


def _init_scope(prefix, source, target, shapes, known):
  """Initializes all variables below the scope `target` from those below `source`."""
  if not source.endswith('/'):
    raise ValueError("Assignment map with scope only name %s should map to scope only %s. Should "
                     "be 'scope/': 'other_scope/'." % (target, source))
  scope, source = target.rstrip('/'), source.rstrip('/')
  found = False
  for name in sorted(known):
    if scope and not name.startswith(scope + '/'):
      continue
    rest = name[len(scope) + 1:] if scope else name
    full = source + '/' + rest if source else rest
    if full not in shapes:
      raise ValueError('Tensor %s (%s in %s) is not found in %s checkpoint %s' % (
          name, rest, source, prefix, sorted(shapes)))
    _init_checked(prefix, full, known[name], shapes)
    found = True
  if not found:
    raise ValueError('No variables of scope %s in the graph' % target)


def _init_checked(prefix, name, variable, shapes):
  """Initializes a variable from the tensor of that name, whose shape must be its own."""
  if hasattr(variable, '_get_variable_list'):
    variable = variable._get_variable_list()
  parts = list(variable) if isinstance(variable, (list, tuple)) else [variable]
  if name not in shapes:
    raise ValueError('Tensor %s is not found in %s checkpoint %s' % (name, prefix, shapes))
  info = parts[0]._get_save_slice_info()
  own = list(info.full_shape) if info is not None else parts[0].get_shape().as_list()
  if not parts[0].get_shape().is_compatible_with(shapes[name]) and own != shapes[name]:
    raise ValueError("Shape of variable %s (%s) doesn't match with shape of tensor %s (%s) from "
                     'checkpoint reader.' % (parts[0].name, own, name, shapes[name]))
  for part in parts:
    _set_initializer(part, prefix, name)
  log.debug('Initialize variable %s from checkpoint %s with %s', [p.name for p in parts], prefix,
            name)


def _set_initializer(variable, prefix, name):
  """Makes the variable begin with a tensor of a checkpoint, or its part of it."""
  info = variable._get_save_slice_info()
  with init_scope(), device(variable.device), device('/cpu:0'):
    value, = apply_op('RestoreV2', name='checkpoint_initializer', prefix=prefix,
                      tensor_names=[name], shape_and_slices=[info.spec if info else ''],
                      dtypes=[variable.dtype.base_dtype])
    value.set_shape(variable.get_shape())
    if variable._handle is not None:
      variable._initializer = make_op('AssignVariableOp', resource=variable._handle, value=value)
    else:
      variable._initializer = apply_op('Assign', ref=variable._ref(), value=value).op
    variable._initial_value = value
