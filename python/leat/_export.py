"""Public names: which module of the package has which name of TensorFlow's API.

A module says at each definition under which public names it is to be had. The build reads that
from the sources (python/make_package.py) and writes `leat/_names.py`, so that `import leat` loads
no module but those that a program's names lead to.
"""


def export(*names):
  """Marks a function or class as public under `names` ('nn.relu')."""
  del names  # for those who read the source

  def mark(item):
    return item
  return mark
