"""The reference of the API (python/make_reference.py): every public name has a docstring and is
described once, and links lead somewhere."""
import collections
import inspect
import os
import re
import sys
import tempfile
import unittest

from leat import _names, _namespace

SOURCES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, SOURCES)
import make_reference  # noqa: E402


class ReferenceTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.pages = make_reference.Reference().pages()

  def test_every_public_function_and_class_has_a_docstring(self):
    missing = []
    for name in {**_names.EXPORTS, **_names.ENDPOINTS}:
      item = _namespace._find(name)
      if inspect.isclass(item) and not vars(item).get('__doc__') or \
          inspect.isroutine(item) and not item.__doc__:
        missing.append(name)
    self.assertEqual(missing, [])

  def test_every_name_is_listed_and_described_once(self):
    described = collections.Counter()
    for name, page in self.pages.items():
      space = name[3:-3] + '.' if name not in ('tf.md', 'index.md') else ''
      described.update(space + found for found in re.findall(r'^## <a id="(\w+)">', page, re.M))
      for alias in re.findall(r'^Also: (.*)\.$', page, re.M):
        described.update(re.findall(r'`tf\.([\w.]+)`', alias))
    wanted = [n for n in {**_names.EXPORTS, **_names.ENDPOINTS}
              if type(_namespace._find(n)).__name__ != 'module']
    self.assertEqual([n for n in wanted if described[n] != 1], [])

  def test_links_lead_somewhere(self):
    anchors = {(name, a) for name, page in self.pages.items()
               for a in re.findall(r'<a id="(\w+)">', page)}
    for name, page in self.pages.items():
      for file, anchor in re.findall(r'\]\(([\w.]*)#?(\w*)\)', page):
        where = file or name, anchor
        self.assertIn(where[0], self.pages, name)
        self.assertTrue(not anchor or where in anchors, '%s: %s' % (name, where))

  def test_sources_are_where_the_page_says(self):
    page = self.pages['tf.train.md']
    place = re.search(r'<a id="Saver">.*?Source: `python/([\w/.]+):(\d+)`', page, re.S)
    with open(os.path.join(SOURCES, place.group(1)), encoding='utf-8') as f:
      self.assertEqual(f.read().split('\n')[int(place.group(2)) - 1], 'class Saver:')
    self.assertIn('Source: the op Tile.', self.pages['tf.md'])

  def test_a_page_says_how_a_function_is_called(self):
    self.assertIn('tf.nn.dropout(x, keep_prob=None, noise_shape=None, seed=None, name=None, '
                  'rate=None)', self.pages['tf.nn.md'])
    self.assertIn("tf.io.decode_png(contents, channels=0, dtype=tf.uint8, name=None)",
                  self.pages['tf.io.md'])
    for name, page in self.pages.items():  # no object shows as its address
      self.assertNotRegex(page, r'\b0x[0-9a-f]{6}', name)

  def test_fields_of_messages_have_their_types(self):
    page = self.pages['tf.md']
    self.assertIn('| device\\_count | map of string to int32 |', page)
    self.assertIn('| device\\_filters | repeated string |', page)
    self.assertIn('| gpu\\_options | tensorflow.GPUOptions |', page)

  def test_docstrings_become_markdown(self):
    text = 'Adds a_b * c.\n\nArgs:\n  x: a <tensor>.\n  y: more\n    of it.\n\n>>> f(1)\n2'
    self.assertEqual(make_reference.markdown(text).split('\n'), [
        r'Adds `a_b` \* c.', '', '**Args**', '', r'- `x`: a \<tensor>.', '- `y`: more',
        '  of it.', '', '```python', '>>> f(1)', '2', '```', ''])
    self.assertEqual(make_reference.summary('The first sentence, `x`. And more.'),
                     'The first sentence, `x`.')
    self.assertEqual(make_reference.default_text((len, [None], 'a')), "(<built-in function len>, "
                     "[None], 'a')")

  def test_pages_are_written(self):
    with tempfile.TemporaryDirectory() as folder:
      self.assertEqual(make_reference.write(os.path.join(folder, 'new')), len(self.pages))
      self.assertEqual(set(os.listdir(os.path.join(folder, 'new'))), set(self.pages))


if __name__ == '__main__':
  unittest.main()
