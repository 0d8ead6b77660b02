"""The command `leat`: the tool in the package, in the place of this process."""
import os
import sys


def main():
  tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'bin', 'leat')
  os.execv(tool, ['leat'] + sys.argv[1:])
