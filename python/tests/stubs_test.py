"""The stubs of the package (leat-stubs) as type checkers see them: programs without a mistake pass,
each marked line of typed/wrong.py is reported, and the stubs say what the package has.

mypy and pyright come with the environment of dev/test-python. pyright tells what mypy does not, and
the other way round, so that both look at all programs.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import leat

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.dirname(os.path.dirname(os.path.abspath(leat.__file__)))
PROGRAMS = os.path.join(HERE, 'typed')
# The fields of messages can be set, which goes by __setattr__; stubtest sees properties.
ALLOWED = (r'leat\.(_graph\.message|_contrib\.projector|_profiler\.messages|'
           r'_contrib\.session_bundle\.manifest)\.\w+(\.\w+)*\.[a-z_0-9]+')


def wrong_lines():
  with open(os.path.join(PROGRAMS, 'wrong.py'), encoding='utf-8') as f:
    return [n for n, line in enumerate(f, 1) if line.endswith('# wrong\n')]


class StubsTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(cls.folder.cleanup)
    # On a path of sources, as opposed to an installation, checkers look for the package's own name.
    os.symlink(os.path.join(BUILT, 'leat-stubs'), os.path.join(cls.folder.name, 'leat'))
    os.symlink(PROGRAMS, os.path.join(cls.folder.name, 'typed'))
    with open(os.path.join(cls.folder.name, 'mypy.ini'), 'w', encoding='utf-8') as f:
      f.write('[mypy]\nmypy_path = %s\n' % cls.folder.name)
    with open(os.path.join(cls.folder.name, 'allowed'), 'w', encoding='utf-8') as f:
      f.write(ALLOWED + '\n')
    with open(os.path.join(cls.folder.name, 'pyrightconfig.json'), 'w', encoding='utf-8') as f:
      json.dump({'include': ['typed'], 'typeCheckingMode': 'basic',
                 'reportUnusedExpression': False}, f)

  def run_tool(self, module, *arguments):
    bin_folder = os.path.dirname(sys.executable)
    environment = dict(os.environ, PYTHONPATH=BUILT,
                       PATH=bin_folder + os.pathsep + os.environ['PATH'])
    found = subprocess.run([sys.executable, '-m', module, *arguments], cwd=self.folder.name,
                           env=environment, capture_output=True, text=True, check=False)
    return found.returncode, found.stdout + found.stderr

  def check(self, reports):
    """`reports` are lines `file:line:... error ...` of a type checker."""
    found = [re.search(r'(\w+)\.py:(\d+):.*error', line) for line in reports.splitlines()]
    found = [(m.group(1), int(m.group(2))) for m in found if m]
    self.assertEqual([f for f in found if f[0] != 'wrong'], [], reports)
    self.assertEqual(sorted({n for name, n in found if name == 'wrong'}), wrong_lines(), reports)

  def test_mypy(self):
    self.check(self.run_tool('mypy', '--config-file', 'mypy.ini', 'typed')[1])

  def test_pyright(self):
    self.check(self.run_tool('pyright', '--pythonpath', sys.executable)[1])

  def test_stubs_agree_with_the_package(self):
    code, text = self.run_tool('mypy.stubtest', 'leat', '--ignore-missing-stub', '--concise',
                               '--mypy-config-file', 'mypy.ini', '--allowlist', 'allowed',
                               '--ignore-unused-allowlist')
    self.assertEqual((code, text[:3000]), (0, ''))

  def test_every_public_name_has_a_stub(self):
    from leat import _names
    texts = {}
    for name in (*_names.EXPORTS, *_names.ENDPOINTS):
      space, _, last = name.rpartition('.')
      if space not in texts:
        path = os.path.join(BUILT, 'leat-stubs', *space.split('.'), '__init__.pyi')
        with open(path, encoding='utf-8') as f:
          texts[space] = set(re.findall(r'(?:import \w+ as |^def |^)(\w+)(?=$|:|\()', f.read(),
                                        re.MULTILINE))
      if space != 'compat.v1':  # it has all names of the package
        self.assertIn(last, texts[space], name)


if __name__ == '__main__':
  unittest.main()
