"""A program built against the TensorFlow package, unchanged, runs on TensorFlow and on Leat."""
import os
import subprocess
import tempfile

import tensorflow

THEIRS = os.path.dirname(tensorflow.__file__)
SOURCE = os.path.join(os.environ['LEAT_SOURCE_DIR'], 'tests/install/version.c')
LIBRARIES = [os.path.join(THEIRS, n) for n in ('libtensorflow_cc.so.2',
                                               'libtensorflow_framework.so.2')]


def run(program, folder):
  env = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'LD_LIBRARY_PATH')}
  done = subprocess.run([program], env=dict(env, LD_LIBRARY_PATH=folder), text=True,
                        capture_output=True)
  works = done.returncode == 0 and done.stdout.rstrip().endswith('works')
  return '%s %s' % ('ok' if works else 'FAIL', ' '.join(
      (done.stdout if works else done.stdout + done.stderr).split())[-300:])


def main():
  with tempfile.TemporaryDirectory() as scratch:
    program = os.path.join(scratch, 'program')
    subprocess.run([os.environ.get('CC', 'cc'), '-I' + os.path.join(THEIRS, 'include'), SOURCE,
                    '-o', program, '-Wl,--no-as-needed', '-Wl,--allow-shlib-undefined', *LIBRARIES],
                   check=True)
    print('pip program on TensorFlow: ' + run(program, THEIRS))
    print('pip program on Leat: ' + run(program, os.path.join(os.environ['LEAT_BUILD_DIR'], 'lib')))


if __name__ == '__main__':
  main()
