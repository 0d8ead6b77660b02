"""What tests of the board's pages need: a log with values of every kind, `leat board` on it, and a
headless Chromium, with what a user does there. axe-core looks for what people with disabilities
could not use; it comes with the tools that bundle the page (dev/board-page). Without a browser, and
for axe without it, the tests say SKIP.
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse

import browser
import event_log
import trace_log

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, 'build')
CACHE = os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache')
AXE = os.path.join(CACHE, 'leat', 'board-page', 'node_modules', 'axe-core', 'axe.min.js')


def skip(why):
  print('SKIP ' + why, flush=True)
  raise unittest.SkipTest(why)


def serve(folder, *options):
  """Starts a board, whose process and address are returned."""
  command = [os.path.join(BUILD, 'bin', 'leat'), 'board', '--logdir', folder, '--port', '0',
             '--json', '--no_cache', '--reload_interval', '1', *options]
  server = subprocess.Popen(command, stdout=subprocess.PIPE)
  return server, json.loads(server.stdout.readline())['url']


class PageCase(unittest.TestCase):
  """One board and one browser for all tests of a class."""

  @classmethod
  def setUpClass(cls):
    path = browser.find()
    if not path:
      skip('the pages in a browser: there is no Chromium (apt: chromium)')
    cls.folder = tempfile.mkdtemp(prefix='leat-test-board-logs')
    event_log.write_logs(cls.folder)
    trace_log.write_recording(os.path.join(cls.folder, 'train', 'leat-7.perfetto-trace'))
    cls.server, cls.url = serve(cls.folder, '--path_prefix', '/x')
    cls.page = browser.Browser(path)

  @classmethod
  def tearDownClass(cls):
    cls.page.close()
    cls.server.terminate()
    cls.server.wait()
    cls.server.stdout.close()
    shutil.rmtree(cls.folder)

  def setUp(self):
    self.page.errors.clear()
    self.page.resize(1280, 860)

  def tearDown(self):
    self.assertEqual('\n'.join(self.page.errors), '')

  def serve_alone(self, folder):
    """The address of a board of one test's own, which ends with the test; the folder goes too. The
    page is left first: one whose board has ended says so, in the next test."""
    server, url = serve(folder)

    def stop():
      self.page.open('about:blank')
      server.terminate()
      server.communicate()
      shutil.rmtree(folder)
    self.addCleanup(stop)
    return url

  def open(self, name, **settings):
    settings['page'] = name
    self.page.open(self.url + '#' + urllib.parse.quote(json.dumps(settings)))
    self.page.wait('document.querySelector("#pages a[aria-current]")?.dataset.page === "%s"' % name)

  def pages(self):
    self.open('scalars')
    return self.page.evaluate(
        '[...document.querySelectorAll("#pages a")].map(a => a.dataset.page)')

  def text(self, selector):
    return self.page.evaluate('document.querySelector(%s)?.textContent' % json.dumps(selector))

  def wait_text(self, selector, text):
    self.page.wait('document.querySelector(%s)?.textContent.includes(%s)' % (
        json.dumps(selector), json.dumps(text)))

  def click(self, selector):
    self.page.wait('!!document.querySelector(%s)' % json.dumps(selector))
    self.page.evaluate('document.querySelector(%s).click()' % json.dumps(selector))

  def focus(self, selector):
    self.page.evaluate('document.querySelector(%s).focus()' % json.dumps(selector))

  def saved(self, card, which):
    """What the button |which| of "Save" would save: the link does not get the file."""
    self.page.evaluate('''window.saved = new Promise(done => {
        URL.createObjectURL = blob => { blob.text().then(done); return 'blob:none'; };
      }); HTMLAnchorElement.prototype.click = () => {}; 0''')
    self.click('%s .save button:nth-child(%d)' % (card, which))
    return self.page.evaluate('window.saved')

  def has_ink(self, selector):
    """Whether a canvas has more than one colour."""
    return '''(() => {
      const canvas = document.querySelector(%s);
      if (!canvas || !canvas.width) return false;
      const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      return new Set(new Uint32Array(data.buffer)).size > 2;
    })()''' % json.dumps(selector)

  def hash(self):
    return json.loads(urllib.parse.unquote(self.page.evaluate('location.hash'))[1:] or '{}')

  def card(self, key):
    return '[data-key="%s"]' % key

  def key(self, tag, run):
    return '[data-key="%s\\a %s\\a 0"]' % (tag, run)

  def set_value(self, selector, value):
    """What typing or dragging does, at once."""
    self.page.evaluate('(e => { e.value = %s; e.dispatchEvent(new Event("input")); })'
                       '(document.querySelector(%s))' % (json.dumps(value), json.dumps(selector)))

  def picture(self, selector):
    return self.page.evaluate('document.querySelector(%s).toDataURL()' % json.dumps(selector))

  def change(self, selector, value):
    self.page.evaluate('''(s => { s.value = %s; s.dispatchEvent(new Event('change')); })(
                          document.querySelector(%s))''' % (
        json.dumps(value), json.dumps(selector)))

  def violations(self):
    """What axe-core finds on the page that is shown."""
    if not os.path.exists(AXE):
      skip('accessibility: there is no axe-core (run dev/board-page once)')
    with open(AXE, encoding='utf-8') as f:
      self.page.evaluate(f.read() + ';0')
    return self.page.evaluate('''axe.run().then(r => r.violations.map(v =>
        v.id + ': ' + v.nodes.slice(0, 4).map(n => n.html.slice(0, 200)).join('\\n  ')))''')
