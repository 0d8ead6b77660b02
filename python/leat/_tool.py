"""The command `leat`: the tool in the package, in the place of this process."""
import os
import sys


def path():
  """Where the tool is: in the package, or in the build tree that the package was built in."""
  package = os.path.dirname(os.path.abspath(__file__))
  own = os.path.join(package, 'bin', 'leat')
  return own if os.path.exists(own) else os.path.normpath(
      os.path.join(package, '..', '..', 'bin', 'leat'))


def main():
  os.execv(path(), ['leat'] + sys.argv[1:])
