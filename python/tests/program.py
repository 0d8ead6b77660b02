"""Programs that a test runs in an interpreter of their own, which must end well and say nothing to
stderr."""
import os
import subprocess
import sys

SANITIZED = 'LD_PRELOAD' in os.environ  # dev/test-python loads the runtime of the sanitizer so


def run(test, text, frees=True):
  """What the program `text` printed. It fails `test` where the program fails or complains. One that
  ends amid steps of other threads, or in a child of a fork, frees not all (`frees`)."""
  environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
  if not frees:
    environment['ASAN_OPTIONS'] = environment.get('ASAN_OPTIONS', '') + ':detect_leaks=0'
  found = subprocess.run([sys.executable, '-c', text], timeout=600, text=True, env=environment,
                         capture_output=True, check=False)
  test.assertEqual((found.returncode, found.stderr), (0, ''))
  return found.stdout
