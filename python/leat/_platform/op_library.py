"""tf.load_op_library and its kin: shared libraries that bring ops, kernels or file systems of their
own, written against TensorFlow's C API (tensorflow/c/ops.h, kernels.h). Libraries of C++ ops that
use TensorFlow's classes cannot be loaded, since these classes are not here."""
from __future__ import annotations

import os
import re
import types

from leat import _leat
from leat._export import export
from leat._graph import errors

_loaded = {}   # path -> module


def _snake(name):
  """The name of the function for an op: ZeroOut is zero_out."""
  return re.sub(r'(?<!^)[A-Z](?=[a-z])|(?<=[a-z])[A-Z]', lambda m: '_' + m.group(0), name).lower()


def _load(path, load=_leat.load_library):
  try:
    return load(os.fspath(path))
  except _leat.StatusError as error:
    raise errors.of_status(error) from None


@export('load_op_library')
def load_op_library(library_filename):
  """Loads a library of ops and gives a module with a function for each of them: that of ZeroOut is
  zero_out. OP_LIST in it has their definitions. NotFoundError where the file is no library that can
  be loaded. A library is loaded once and stays."""
  from leat import raw_ops
  from leat._graph import message
  path = os.fspath(library_filename)
  if path not in _loaded:
    ops = message.of('OpList').FromString(_load(path))
    name = re.sub(r'\W', '_', os.path.splitext(os.path.basename(path))[0])
    module = types.ModuleType(name, 'The ops of %s.' % path)
    module.OP_LIST = ops
    for op in ops.op:
      function = raw_ops.wrapper(op.name, _snake(op.name))
      setattr(module, _snake(op.name), function)
      setattr(module, op.name, function)
    _loaded[path] = module
  return _loaded[path]


def _libraries(location, what):
  """The file |location|, or the libraries in that folder; NotFoundError where there is neither."""
  if not os.path.exists(location):
    raise errors.NotFoundError(None, None, 'The file or folder to load %s from does not exist: %s' %
                               (what, location))
  if not os.path.isdir(location):
    return [location]
  return [os.path.join(location, name) for name in sorted(os.listdir(location))
          if name.endswith('.so')]


@export('load_library')
def load_library(library_location):
  """Loads a library, or all those (.so) in a folder. NotFoundError where there is none."""
  for path in _libraries(library_location, 'kernel libraries'):
    _load(path)


@export('load_pluggable_device_library')
def load_pluggable_device_library(library_location):
  """Loads a library, or all those (.so) in a folder, that brings devices, kernels for them, graph
  optimizers or profilers, written against TensorFlow's C API (tensorflow/c/experimental/
  stream_executor/, grappler/, pluggable_profiler/). Sessions that are made from then on have these
  devices, which are named "/TYPE:0". NotFoundError where there is no such file or folder."""
  from leat._graph import device, graph
  from leat._session import session
  for path in _libraries(library_location, 'pluggable device libraries'):
    _load(path, _leat.load_pluggable_device_library)
  # From now on "/NPU:0" is a name like "/CPU:0". A session says which types there are.
  with session.Session(graph=graph.Graph()) as opened:
    device.add_types(d.device_type for d in opened.list_devices())


@export('load_file_system_library', 'experimental.register_filesystem_plugin')
def load_file_system_library(library_filename):
  """Loads a library that brings a file system, written against TensorFlow's C API
  (tensorflow/c/experimental/filesystem/filesystem_interface.h). From then on paths with its scheme
  are its own, in ops as well as in tf.gfile, savers and writers."""
  try:
    _leat.load_file_system(os.fspath(library_filename))
  except _leat.StatusError as error:
    raise errors.of_status(error) from None
