"""Leat: TensorFlow 1's API over the graph runtime in C. `import leat as tf`.

Importing loads the extension and the names alone. What a name stands for is loaded when the name is
used first, so that a program pays for what it uses; numpy is loaded with the first array.
"""
from leat import _namespace

# The version is that of the TensorFlow whose semantics these are, which programs compare with.
__leat_version__, __version__ = _namespace.versions()
VERSION = __version__
GIT_VERSION = __git_version__ = 'leat ' + __leat_version__
COMPILER_VERSION = __compiler_version__ = 'cc'
CXX11_ABI_FLAG = MONOLITHIC_BUILD = 0
GRAPH_DEF_VERSION = 2474
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0

__getattr__ = _namespace.getter(__name__, '')
__dir__ = _namespace.lister(globals(), '')


def install_as_tensorflow():
  """Makes `import tensorflow` mean this package, for programs that cannot be edited."""
  _namespace.install('tensorflow')
