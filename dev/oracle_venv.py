"""The virtual environment with TensorFlow that tests and benchmarks compare with.

It lives outside the tree, in $XDG_CACHE_HOME/leat/oracle, is made on first use from
dev/oracle-requirements.txt and dev/oracle-requirements-alone.txt, and made anew when one of them
changes. $LEAT_ORACLE_VENV names another one, which is used as it is.
"""
import contextlib
import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def folder():
  """Where the environment is."""
  cache = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
  return os.environ.get('LEAT_ORACLE_VENV') or os.path.join(cache, 'leat', 'oracle')


def python():
  """Path of the environment's interpreter; makes the environment where it is not ready."""
  venv, wanted = folder(), os.path.join(HERE, 'oracle-requirements.txt')
  alone = os.path.join(HERE, 'oracle-requirements-alone.txt')
  stamp = os.path.join(venv, 'leat-stamp')
  version = hashlib.sha256(open(wanted, 'rb').read() + open(alone, 'rb').read()).hexdigest()
  interpreter = os.path.join(venv, 'bin', 'python')
  if 'LEAT_ORACLE_VENV' in os.environ:
    return interpreter
  os.makedirs(os.path.dirname(venv), exist_ok=True)
  with open(venv + '.lock', 'w') as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    if os.path.exists(stamp) and open(stamp).read() == version:
      return interpreter
    print('oracle: installing TensorFlow into', venv, file=sys.stderr, flush=True)
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.check_call([sys.executable, '-m', 'venv', venv])
    install = [interpreter, '-m', 'pip', 'install', '-q', '--disable-pip-version-check']
    subprocess.check_call(install + ['-r', wanted])
    subprocess.check_call(install + ['--no-deps', '-r', alone])
    with open(stamp, 'w') as f:
      f.write(version)
  return interpreter


def library_folder():
  """A folder with TensorFlow's libraries under the names that its C programs ask for."""
  python()
  found = glob.glob(os.path.join(folder(), 'lib/python3*/site-packages/tensorflow'))
  if not found:
    raise SystemExit('oracle: no TensorFlow in ' + folder())
  links = os.path.join(folder(), 'lib', 'leat-capi')
  os.makedirs(links, exist_ok=True)
  for name, target in [('libtensorflow.so.2', 'libtensorflow_cc.so.2'),
                       ('libtensorflow_cc.so.2', 'libtensorflow_cc.so.2'),
                       ('libtensorflow_framework.so.2', 'libtensorflow_framework.so.2')]:
    link = os.path.join(links, name)
    with contextlib.suppress(FileExistsError):  # another script may make it too
      os.symlink(os.path.join(found[0], target), link)
  return links


if __name__ == '__main__':
  print(python())
