"""The virtual environment in which the Python package is tested and measured.

It holds numpy and the type checkers of dev/python-requirements.txt, and lies outside the source
tree in $XDG_CACHE_HOME/leat/python-HASH. HASH is that of the requirements and of the interpreter
that makes the environment, so that trees with other requirements have their own. $LEAT_PYTHON names
another interpreter, which is used as it is.
"""
import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = os.path.join(HERE, 'python-requirements.txt')


def version():
  """The hash of what the environment is made of."""
  with open(REQUIREMENTS, 'rb') as f:
    return hashlib.sha256(f.read() + sys.version.encode()).hexdigest()


def folder():
  """Where the environment is."""
  cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
  return os.path.join(cache, 'leat', 'python-' + version()[:12])


def python():
  """Path of the environment's interpreter; makes the environment where it is not ready."""
  if os.environ.get('LEAT_PYTHON'):
    return os.environ['LEAT_PYTHON']
  venv = folder()
  stamp = os.path.join(venv, 'leat-stamp')  # there when all was installed
  interpreter = os.path.join(venv, 'bin', 'python')
  if os.path.exists(stamp):
    return interpreter
  shutil.rmtree(venv, ignore_errors=True)
  subprocess.check_call([sys.executable, '-m', 'venv', venv])
  subprocess.check_call([interpreter, '-m', 'pip', 'install', '-q', '--disable-pip-version-check',
                         '-r', REQUIREMENTS])
  with open(stamp, 'w', encoding='utf-8') as f:
    f.write(version() + '\n')
  return interpreter


if __name__ == '__main__':
  print(python())
