"""tf.version, tf.sysconfig and tf.test.is_built_with_*: how the package was built and where its
files are."""
from __future__ import annotations

import os

from leat._export import export
import leat

_FOLDER = os.path.dirname(os.path.abspath(leat.__file__))

VERSION, GIT_VERSION = leat.VERSION, leat.GIT_VERSION
COMPILER_VERSION = leat.COMPILER_VERSION
GRAPH_DEF_VERSION = leat.GRAPH_DEF_VERSION
GRAPH_DEF_VERSION_MIN_CONSUMER = leat.GRAPH_DEF_VERSION_MIN_CONSUMER
GRAPH_DEF_VERSION_MIN_PRODUCER = leat.GRAPH_DEF_VERSION_MIN_PRODUCER
CXX11_ABI_FLAG = MONOLITHIC_BUILD = 0
CXX_VERSION = 0   # the library is C

EXPORTS = {'version.VERSION': 'VERSION', 'version.GIT_VERSION': 'GIT_VERSION',
           'version.COMPILER_VERSION': 'COMPILER_VERSION',
           'version.GRAPH_DEF_VERSION': 'GRAPH_DEF_VERSION',
           'version.GRAPH_DEF_VERSION_MIN_CONSUMER': 'GRAPH_DEF_VERSION_MIN_CONSUMER',
           'version.GRAPH_DEF_VERSION_MIN_PRODUCER': 'GRAPH_DEF_VERSION_MIN_PRODUCER',
           'CXX_VERSION': 'CXX_VERSION', 'sysconfig.CXX_VERSION': 'CXX_VERSION',
           'sysconfig.CXX11_ABI_FLAG': 'CXX11_ABI_FLAG',
           'sysconfig.MONOLITHIC_BUILD': 'MONOLITHIC_BUILD'}


@export('sysconfig.get_lib')
def get_lib():
  """The folder of the shared library: of the package, or of the build tree that it is in."""
  own = os.path.join(_FOLDER, 'lib')
  return own if os.path.isdir(own) else os.path.normpath(os.path.join(_FOLDER, '..', '..', 'lib'))


@export('sysconfig.get_include')
def get_include():
  """The folder of the headers of the C API. It is there in a build tree and where the library was
  installed; a wheel holds none."""
  return os.path.normpath(os.path.join(get_lib(), '..', 'include'))


@export('sysconfig.get_compile_flags')
def get_compile_flags():
  """What a compiler needs to find the headers."""
  return ['-I' + get_include()]


@export('sysconfig.get_link_flags')
def get_link_flags():
  """What a linker needs to find the library."""
  return ['-L' + get_lib(), '-lleat']


@export('sysconfig.get_build_info')
def get_build_info():
  """{what: whether the library was built with it}."""
  return {'is_cuda_build': is_built_with_cuda(), 'is_rocm_build': False,
          'is_tensorrt_build': False}


@export('test.is_built_with_cuda', 'test.is_built_with_gpu_support')
def is_built_with_cuda():
  """Whether sessions of this machine have a GPU: its code is a module, loaded where one is
  found."""
  from leat._platform.testing import is_gpu_available
  return is_gpu_available()


@export('test.is_built_with_rocm')
def is_built_with_rocm():
  """False: there is no code for AMD's GPUs."""
  return False


@export('test.is_built_with_xla')
def is_built_with_xla():
  """False: nothing is compiled just in time."""
  return False


# ---- Files beside a program ----------------------------------------------------------------------


def _folder_of_caller():
  """The folder of the source that called a function of this module."""
  import inspect
  frame = inspect.currentframe()
  while frame is not None and frame.f_globals.get('__name__') == __name__:
    frame = frame.f_back
  return os.path.dirname(os.path.abspath(frame.f_code.co_filename)) if frame else os.getcwd()


@export('resource_loader.get_data_files_path')
def get_data_files_path():
  """The folder of the source that calls this."""
  return _folder_of_caller()


@export('resource_loader.get_path_to_datafile')
def get_path_to_datafile(path):
  """The path of a file whose place is given from the source that calls this."""
  return os.path.join(_folder_of_caller(), path)


@export('resource_loader.get_root_dir_with_all_resources')
def get_root_dir_with_all_resources():
  """The folder of the source that calls this."""
  return _folder_of_caller()


@export('resource_loader.load_resource')
def load_resource(path):
  """What is in a file whose place is given from the source that calls this, as bytes."""
  with open(os.path.join(_folder_of_caller(), path), 'rb') as f:
    return f.read()


@export('resource_loader.readahead_file_path')
def readahead_file_path(path, readahead='128M'):
  """The path: nothing is read ahead."""
  del readahead
  return path
