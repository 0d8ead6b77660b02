"""Saver: checkpoints of variables."""
from __future__ import annotations

import os
import time

from leat import _leat
from leat._export import export
from leat._graph import device as devices_
from leat._graph import errors
from leat._graph import graph as graphs
from leat._graph import message
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of
from leat._graph.scope import GraphKeys, control_dependencies, device, name_scope
from leat._ops import array, control, variables
from leat._platform import paths
from leat._train import checkpoint_state


class _Saved:
  """What is saved under one name: a variable, or the parts of one."""

  def __init__(self, name, parts):
    self.name, self.parts = name, parts

  def specs(self):
    """[(name, slice, part)]."""
    found = []
    for part in self.parts:
      info = getattr(part, '_save_slice_info', None)
      found.append((info.full_name, info.spec, part) if info else (self.name, '', part))
    return found

  def restore(self, values, reshape):
    """Functions that each add an operation that restores."""
    return [lambda part=part, value=value: _restored(part, value, reshape)
            for part, value in zip(self.parts, values)]


class _SavedObject(_Saved):
  """What says itself which tensors are saved of it (`specs`) and how they are restored: a table."""

  def specs(self):
    return [(s.name, s.slice_spec, s.tensor) for s in self.parts[0].specs]

  def restore(self, values, reshape):
    return [lambda: self.parts[0].restore(values, None)]


def _parts(var_list):
  """The variables of a list, those in parts as their parts."""
  for v in var_list:
    if hasattr(v, '_get_variable_list'):
      yield from v
    else:
      yield v


def _named(var_list):
  """[_Saved] of a list of variables, or a dict from names to them; sorted by name."""
  if isinstance(var_list, dict):
    items = var_list
  else:
    items = {}
    for v in _parts(var_list):
      info = getattr(v, '_save_slice_info', None)
      if info is not None:
        items.setdefault(info.full_name, []).append(v)
        continue
      if not hasattr(v, 'op') and not isinstance(v, _leat.Output):
        raise TypeError('Variable to save is not a Variable: %s' % v)
      name = v.name if hasattr(v, 'specs') else v.op.name
      if name in items:
        raise ValueError('At least two variables have the same name: %s' % name)
      items[name] = v
  found, seen = [], set()
  for name in sorted(items):
    if not isinstance(name, str):
      raise TypeError('names_to_saveables must be a dict mapping string names to checkpointable '
                      'operations. Name is not a string: %s' % (name,))
    item = items[name]
    several = isinstance(item, (list, tuple)) or hasattr(item, '_get_variable_list')
    parts = list(item) if several else [item]
    for part in parts:
      if not isinstance(part, variables.Variable) and not (isinstance(
          part, _leat.Output) and part.op.type in ('Variable', 'VariableV2')) and not hasattr(
              part, 'specs'):
        raise TypeError('names_to_saveables must be a dict mapping string names to '
                        'Tensors/Variables.'
                        ' Not a variable: %s' % part)
      if part.op in seen:
        raise ValueError('The same saveable will be restored with two names: %s' % name)
      seen.add(part.op)
    found.append((_SavedObject if hasattr(parts[0], 'specs') else _Saved)(name, parts))
  return found


def _scoped_def(saver_def, scope):
  """The SaverDef with the names of its operations below a scope."""
  found = message.of('SaverDef')()
  found.CopyFrom(saver_def)
  if scope:
    for field in ('filename_tensor_name', 'save_tensor_name', 'restore_op_name'):
      setattr(found, field, scope + '/' + getattr(found, field))
  return found


def _by_device(saved):
  """[(device, [_Saved])], sorted by the name of the device."""
  found = {}
  for item in saved:
    devices = {devices_.canonical(part.op.device) for part in item.parts}
    if len(devices) > 1:
      raise ValueError('All tensors of a saveable object must be on the same device: %s' %
                       item.name)
    found.setdefault(devices.pop(), []).append(item)
  return sorted(found.items())


def _first_cpu(where):
  """The CPU beside a device, where files are read and written."""
  return devices_.merge(where, '/device:CPU:0')


def _saved_tensor(part):
  """The tensor whose value is saved; what is read by a handle elsewhere is brought to the CPU."""
  if not isinstance(part, variables.Variable):
    return part
  if part._handle is None:
    return part._ref()
  read = part._as_tensor()
  if devices_.DeviceSpec.from_string(part.device).device_type in (None, 'CPU'):
    return read
  with device(_first_cpu(part.device)):
    return array.identity(read)


def _restored(part, value, reshape):
  """Assigns what was read to a variable."""
  if reshape:
    shape = part.get_shape()
    if shape.is_fully_defined():
      value = array.reshape(value, shape.as_list())
  if getattr(part, '_handle', None) is not None:
    from leat._graph.apply import make_op
    return make_op('AssignVariableOp', resource=part.handle, value=value)
  ref = part._ref() if isinstance(part, variables.Variable) else part
  return apply_op('Assign', ref=ref, value=value,
                  validate_shape=not reshape and part.get_shape().is_fully_defined()).op


@export('train.Saver')
class Saver:
  """Saves variables in checkpoints, and restores them.

  var_list is a list of variables, or a dict of them by the names that they have in the checkpoint;
  all variables by default. The newest max_to_keep checkpoints are kept, and one for each
  keep_checkpoint_every_n_hours. With `reshape` values are fitted into variables of another shape;
  with `sharded` each device writes a file of its own. ValueError where there is nothing to save.
  """

  def __init__(self, var_list=None, reshape=False, sharded=False, max_to_keep=5,
               keep_checkpoint_every_n_hours=10000.0, name=None, restore_sequentially=False,
               saver_def=None, builder=None, defer_build=False, allow_empty=False,
               write_version=2, pad_step_number=False, save_relative_paths=False, filename=None):
    if defer_build and var_list:
      raise ValueError('If `var_list` is provided then build cannot be deferred. Either set '
                       'defer_build=False or var_list=None.')
    self._var_list, self._reshape, self._sharded = var_list, reshape, sharded
    self._max_to_keep = max_to_keep
    self._keep_hours = keep_checkpoint_every_n_hours
    self._name, self._sequential, self._allow_empty = name, restore_sequentially, allow_empty
    self._version, self._pad = write_version, pad_step_number
    self._relative, self._filename = save_relative_paths, filename
    self._is_built = self._is_empty = False
    self._last, self._to_be_removed = [], []
    self.saver_def = _scoped_def(saver_def, name) if saver_def is not None else None
    if saver_def is not None:
      self._max_to_keep, self._sharded = saver_def.max_to_keep, saver_def.sharded
      self._keep_hours, self._version = (saver_def.keep_checkpoint_every_n_hours,
                                         saver_def.version)
    self._next_kept = time.time() + self._keep_hours * 3600
    if saver_def is not None:
      self._is_built = True
    elif not defer_build:
      self.build()

  # Building -----------------------------------------------------------------------------------

  def build(self):
    """Adds the operations that save and restore."""
    if self._is_built:
      return
    self._is_built = True
    if self._var_list is None:
      graph = graphs.get_default_graph()
      self._var_list = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(
          GraphKeys.SAVEABLE_OBJECTS)
    if not self._var_list:
      if not self._allow_empty:
        raise ValueError('No variables to save')
      self._is_empty = True
      return
    saved = _named(self._var_list)
    with name_scope(self._name, 'save', []):
      name = array.placeholder_with_default(self._filename or 'model', (), 'filename')
      prefix = array.placeholder_with_default(name, (), 'Const')
      if self._sharded:
        shards = _by_device(saved)
        written = self._add_sharded_save(prefix, shards)
        restore = self._add_sharded_restore(prefix, shards)
      else:
        written = self._add_save(prefix, saved)
        restore = self._add_restore(prefix, saved, 'restore_all')
    self.saver_def = message.of('SaverDef')(
        filename_tensor_name=prefix.name, save_tensor_name=written.name,
        restore_op_name=restore.name, max_to_keep=self._max_to_keep or 0, sharded=self._sharded,
        keep_checkpoint_every_n_hours=self._keep_hours, version=self._version)

  def _add_save(self, prefix, saved):
    names, slices, tensors = [], [], []
    for item in saved:
      for name, spec, part in item.specs():
        names.append(name)
        slices.append(spec)
        tensors.append(_saved_tensor(part))
    if self._version == 1:
      op = apply_op('SaveSlices', name='SaveSlices', filename=prefix, tensor_names=names,
                    shapes_and_slices=slices, data=tensors)
    else:
      op = apply_op('SaveV2', name='SaveV2', prefix=prefix, tensor_names=names,
                    shape_and_slices=slices, tensors=tensors)
    return control.with_dependencies([op], prefix)

  def _add_sharded_save(self, prefix, shards):
    """Each device writes what it has, with version 2 under a temporary prefix, from which the files
    are moved together."""
    if self._version != 1:
      with device('CPU'):
        on_s3 = apply_op('StaticRegexFullMatch', input=prefix, pattern='^s3://.*')
        suffix = array.where(on_s3, constant_of('.part'), constant_of('_temp/part'))
        written_to = apply_op('StringJoin', inputs=[prefix, suffix])
    else:
      written_to = prefix
    count = constant_of(len(shards), name='num_shards')
    names, writes = [], []
    for i, (where, saved) in enumerate(shards):
      with device(_first_cpu(where)):
        names.append(apply_op('ShardedFilename', basename=written_to, shard=i, num_shards=count))
        writes.append(self._add_save(names[-1], saved))
    with control_dependencies([w.op for w in writes]):
      if self._version == 1:
        return apply_op('ShardedFilespec', basename=prefix, num_shards=count)
      with device(_first_cpu(shards[-1][0])):
        merge = apply_op('MergeV2Checkpoints', destination_prefix=prefix, delete_old_dirs=True,
                         checkpoint_prefixes=array.stack(
                             names, name='MergeV2Checkpoints/checkpoint_prefixes'))
        with control_dependencies([merge]):
          return array.identity(prefix)

  def _add_sharded_restore(self, prefix, shards):
    restores = []
    for where, saved in shards:
      with device(where):
        restores.append(self._add_restore(prefix, saved, 'restore_shard', _first_cpu(where)))
    return control.group(*restores, name='restore_all')

  def _add_restore(self, prefix, saved, group_name, read_on='/cpu:0'):
    specs = [spec for item in saved for spec in item.specs()]
    dtype_list = [part.dtype.base_dtype for _, _, part in specs]
    with device(read_on):
      values = apply_op('RestoreV2', name='RestoreV2', prefix=prefix,
                        tensor_names=[n for n, _, _ in specs],
                        shape_and_slices=[s for _, s, _ in specs], dtypes=dtype_list)
    updates, values = [], list(values)
    for item in saved:
      own = [values.pop(0) for _ in item.specs()]
      for restore in item.restore(own, self._reshape):
        with control_dependencies(updates[-1:] if self._sequential else []):
          updates.append(restore())
    return control.group(*updates, name=group_name)

  def _check_built(self):
    if not self._is_built:
      raise RuntimeError('`build()` should be called before save if defer_build==True')

  # Saving -------------------------------------------------------------------------------------

  def save(self, sess, save_path, global_step=None, latest_filename=None,
           meta_graph_suffix='meta', write_meta_graph=True, write_state=True,
           strip_default_attrs=False, save_debug_info=False):
    """Writes a checkpoint and gives its path: save_path, with '-step' where global_step is given.
    The state file of the folder, which latest_checkpoint reads, names it."""
    del save_debug_info
    self._check_built()
    if latest_filename is not None and os.path.split(latest_filename)[0]:
      raise ValueError("'latest_filename' must not contain path components")
    if global_step is not None:
      if not isinstance(global_step, int):
        global_step = int(sess.run(global_step)) if hasattr(global_step, 'graph') else int(
            global_step)
      prefix = '%s-%08d' % (save_path, global_step) if self._pad else '%s-%d' % (
          save_path, global_step)
    else:
      if os.path.basename(save_path) == (latest_filename or 'checkpoint') and not self._sharded:
        raise ValueError("'latest_filename' collides with 'save_path': '%s' and '%s'" % (
            latest_filename or 'checkpoint', save_path))
      prefix = save_path
    if not self._is_empty:
      try:
        prefix = sess.run(self.saver_def.save_tensor_name,
                          {self.saver_def.filename_tensor_name: prefix}).decode()
      except (errors.FailedPreconditionError, errors.NotFoundError) as error:
        if not paths.isdir(os.path.dirname(paths.abspath(save_path))):
          raise ValueError("Parent directory of {} doesn't exist, can't save.".format(
              save_path)) from error
        raise
      if write_state:
        self._record(prefix, meta_graph_suffix)
        checkpoint_state.write(os.path.dirname(save_path), prefix, self.last_checkpoints,
                               latest_filename, self._relative)
    if write_meta_graph:
      from leat._graph import meta_graph
      meta_graph.write(checkpoint_state.meta_name(prefix, meta_graph_suffix), sess.graph,
                       self.saver_def, strip_default_attrs)
    return None if self._is_empty else prefix

  def _record(self, prefix, suffix):
    """Notes the newest checkpoint, and removes one when there are too many."""
    if not self._max_to_keep:
      return
    self._last = [(p, t) for p, t in self._last if p != prefix]
    self._last.append((prefix, time.time()))
    if len(self._last) <= self._max_to_keep:
      return
    path, when = self._last.pop(0)
    if when > self._next_kept:
      self._next_kept += self._keep_hours * 3600
      return
    checkpoint_state.remove_checkpoint(path, meta_graph_suffix=suffix)

  @property
  def last_checkpoints(self):
    """The paths of the checkpoints that it keeps, oldest first."""
    return [p for p, _ in self._last]

  def set_last_checkpoints(self, last_checkpoints):
    """Replaces the list of checkpoints that it keeps, oldest first."""
    assert isinstance(last_checkpoints, list)
    self._last = [(p, float('inf')) for p in last_checkpoints]

  def set_last_checkpoints_with_time(self, last_checkpoints_with_time):
    """Replaces the list of checkpoints that it keeps by (path, seconds since 1970), oldest first.
    """
    assert isinstance(last_checkpoints_with_time, list)
    self._last = last_checkpoints_with_time

  def recover_last_checkpoints(self, checkpoint_paths):
    """Goes on with checkpoints that an earlier program wrote: of the paths, those that are there.
    """
    existing = [p for p in checkpoint_paths if checkpoint_state.checkpoint_exists(p)]
    self._last = list(zip(existing, checkpoint_state.get_checkpoint_mtimes(existing)))

  def as_saver_def(self):
    """The message SaverDef, with which others can save and restore."""
    return self.saver_def

  def to_proto(self, export_scope=None):
    """The message SaverDef; None where its names are not in export_scope."""
    del export_scope
    return self.saver_def

  @staticmethod
  def from_proto(saver_def, import_scope=None):
    """A Saver of a SaverDef, with import_scope before its names."""
    return Saver(saver_def=saver_def, name=import_scope)

  def export_meta_graph(self, filename=None, collection_list=None, as_text=False,
                        export_scope=None, clear_devices=False, clear_extraneous_savers=False,
                        strip_default_attrs=False, save_debug_info=False):
    """The MetaGraphDef of the default graph, which is also written to the file where one is given.
    """
    from leat._graph import meta_graph
    del save_debug_info
    return meta_graph.export_meta_graph(
        filename, saver_def=self.saver_def, collection_list=collection_list, as_text=as_text,
        export_scope=export_scope, clear_devices=clear_devices,
        clear_extraneous_savers=clear_extraneous_savers, strip_default_attrs=strip_default_attrs)

  # Restoring ----------------------------------------------------------------------------------

  def restore(self, sess, save_path):
    """Gives the variables the values of a checkpoint, a path as `save` or latest_checkpoint gave
    it. They need not be initialized. ValueError where there is no such checkpoint; NotFoundError
    where a variable is not in it."""
    if self._is_empty:
      return
    if save_path is None:
      raise ValueError("Can't load save_path when it is None.")
    if not checkpoint_state.checkpoint_exists(save_path):
      raise ValueError('The passed save_path is not a valid checkpoint: %s' % save_path)
    try:
      sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: save_path})
    except errors.NotFoundError as error:
      raise errors.NotFoundError(
          error.node_def, error.op, 'Restoring from checkpoint failed. This is most likely due to '
                                    'a '
          'Variable name or other graph key that is missing from the checkpoint. %s' %
          error.message) from None
    except errors.InvalidArgumentError as error:
      raise errors.InvalidArgumentError(
          error.node_def, error.op, 'Restoring from checkpoint failed. This is most likely due to '
                                    'a '
          'mismatch between the current graph and the graph from the checkpoint. %s' %
          error.message) from None
