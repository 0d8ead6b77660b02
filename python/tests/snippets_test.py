"""Every piece of Python in the documentation runs: examples (`>>>`) in docstrings of what is public
say what they show, and blocks of Python in the pages run, those of a page one after the other."""
import doctest
import glob
import inspect
import io
import os
import re
import tempfile
import unittest

import leat as tf
from leat import _names, _namespace

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ('README.md', 'docs/*.md', 'examples/**/*.md')
BLOCK = re.compile(r'^```python\n(.*?)^```', re.S | re.M)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented():
  """(name, object) of each public thing, and of what public classes define."""
  seen = set()
  for name in sorted({**_names.EXPORTS, **_names.ENDPOINTS}):
    item = _namespace._find(name)
    if not (inspect.isclass(item) or inspect.isroutine(item)) or item in seen:
      continue
    seen.add(item)
    yield name, item
    for cls in item.__mro__ if inspect.isclass(item) else ():
      if cls.__module__.startswith('leat.') and cls not in seen - {item}:
        seen.add(cls)
        for member, value in sorted(vars(cls).items()):
          if not member.startswith('_'):
            yield name + '.' + member, getattr(value, '__func__', value)


def run(text, name, names, line=0):
  """How an example differs from what it shows, '' where it does not."""
  test = doctest.DocTestParser().get_doctest(text, names, name, name, line)
  report = io.StringIO()
  doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.write, clear_globs=False)
  return report.getvalue()


class SnippetsTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(folder.name)

  @staticmethod
  def names():
    import numpy as np
    tf.reset_default_graph()
    return {'tf': tf, 'np': np, '__name__': '__main__'}

  def test_docstrings(self):
    count = 0
    for name, item in documented():
      text = inspect.getdoc(item) or ''
      if '>>>' in text:
        count += 1
        with self.subTest(name):
          self.assertEqual(run(text, name, self.names()), '')
    self.assertGreater(count, 20)

  def test_pages(self):
    for pattern in PAGES:
      for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True)):
        with open(path, encoding='utf-8') as f:
          page = f.read()
        names = self.names()
        for block in BLOCK.finditer(page):
          line = page.count('\n', 0, block.start()) + 1
          with self.subTest('%s:%d' % (os.path.relpath(path, ROOT), line)):
            if '>>>' in block.group(1):
              self.assertEqual(run(block.group(1), path, names, line), '')
            else:
              exec(compile('\n' * line + block.group(1), path, 'exec'), names)

  def test_an_example_that_is_wrong_is_found(self):
    self.assertIn('Got:', run('>>> tf.constant(1).name\n2', 'x', self.names()))


if __name__ == '__main__':
  unittest.main()
