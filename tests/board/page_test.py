#!/usr/bin/env python3
"""The board's pages in a real browser: tests/board/page_test.py BUILD [NAME]...

Each page is visited: what it shows, what the keyboard does, what comes when the log grows, and that
its console has no complaint (a violation of the content security policy is one).

With $LEAT_SCREENSHOTS the pages are saved there as pictures.
"""
import gzip
import http.server
import json
import os
import shutil
import sys
import tempfile
import threading
import unittest
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import event_log
import page_case
from page_case import serve
from graph_page import GraphPageTest  # for unittest.main too
from scalars_page import ScalarsPageTest  # for unittest.main, which runs what it finds here
from timeline_page import TimelinePageTest


class NotebookPage(http.server.BaseHTTPRequestHandler):
  """A page that shows another in a frame, and takes the title "loaded" then."""
  def do_GET(self):
    self.send_response(200)
    self.send_header('Content-Type', 'text/html')
    self.end_headers()
    self.wfile.write(b'<!doctype html><link rel="icon" href="data:,"><iframe src="%s" '
                     b'onload="document.title = \'loaded\'"></iframe>' %
                     self.server.frame.encode())

  def log_message(self, *_):
    pass


class PageTest(page_case.PageCase):

  # ---- graph ------------------------------------------------------------------------------------
  def test_graph(self):
    self.open('graphs')
    self.wait_text('.details', '68 nodes and 85 edges')
    self.page.wait(self.has_ink('canvas.graph'))
    # The mouse: the box in the middle of the first line.
    self.assertEqual(self.page.evaluate('document.querySelectorAll("[role=treeitem]").length'), 10)
    self.focus('[role=tree] [tabindex="0"]')
    self.page.press('ArrowDown', 'ArrowRight')
    self.page.wait('document.activeElement.getAttribute("aria-expanded") === "true"')
    self.assertIn('layer', self.page.evaluate('document.activeElement.textContent'))
    self.page.press('ArrowRight', 'Enter')
    self.wait_text('.details h3', 'layer_1')
    self.assertIn('The same structure', self.text('.details'))
    self.page.press('ArrowLeft', 'ArrowLeft')
    self.page.wait('document.activeElement.getAttribute("aria-expanded") === "false"')

  def test_graph_keys_and_search(self):
    self.open('graphs')
    self.wait_text('.details', '68 nodes')
    self.focus('#graph-search')
    self.page.press(*'layer_3/matmul')
    # The node and its gradient.
    self.wait_text('.side [role=status]', '2 found')
    self.page.press('Enter')
    self.wait_text('.details', 'Op')
    self.wait_text('.details', 'MatMul')
    self.assertIn('[?,784]', self.text('.details'))
    self.assertIn('/job:localhost/device:GPU:0', self.text('.details'))
    self.focus('canvas.graph')
    self.page.press('ArrowDown')
    self.wait_text('.middle .reading', 'node BiasAdd')
    self.page.press('Escape')
    self.wait_text('.middle .reading', 'scope layer_3, 5 nodes, open')
    self.page.press('Enter')
    self.page.wait('document.querySelector(".middle .reading").textContent === '
                   '"scope layer_3, 5 nodes"')

  def test_graph_of_a_recorded_step(self):
    self.open('graphs')
    self.wait_text('.details', '68 nodes')
    self.change('#graph-steps', 'step 1')
    self.page.wait('document.querySelector("#graph-colour").value === "time"')
    self.focus('[role=tree] [tabindex="0"]')
    self.page.press('ArrowDown', 'Enter')
    self.wait_text('.details h3', 'layer')
    self.wait_text('.details dl', '6 ms')
    self.wait_text('.details dl', '5.859 MiB')

  def test_graph_as_the_devices_ran_it(self):
    self.open('graphs')
    self.wait_text('.details', '68 nodes')
    self.page.evaluate('''(s => {
      s.value = [...s.options].find(o => o.text === 'train: step 1, as the devices ran it').value;
      s.dispatchEvent(new Event('change'));
    })(document.querySelector('#graph-run'))''')
    self.wait_text('.details', '4 nodes and 2 edges on 2 devices')
    self.assertTrue(self.hash()['graph']['placed'])
    self.focus('#graph-search')
    self.page.press(*'matmul')
    self.wait_text('.side [role=status]', '1 found')
    self.page.press('Enter')
    self.wait_text('.details', '_FusedMatMul')
    self.wait_text('.details', '/job:localhost/device:GPU:0')

  # ---- the other pages --------------------------------------------------------------------------
  def test_custom_scalars(self):
    self.open('custom_scalars')
    self.wait_text('[data-key="0/0"] .sentence', 'train: loss/total fell from 2.2')
    self.wait_text('[data-key="0/1"] .sentence', 'eval rose from 0.1 to 0.8')
    self.wait_text('[data-key="1/0"] .sentence', 'train fell')
    self.page.wait(self.has_ink('[data-key="1/0"] canvas.chart'))
    self.focus('[data-key="0/0"] canvas.chart')
    self.page.press('Home')
    self.wait_text('[data-key="0/0"] .reading', 'train: loss/total: 2.2 at step 0')
    # The band is in the picture, between the scalars "low" and "high".
    self.assertIn('opacity="0.2"', self.saved('[data-key="1/0"]', 3))

  def test_histograms(self):
    self.open('histograms')
    card = self.key('layer_1/weights', 'train')
    self.wait_text(card + ' .sentence', 'The median fell from 1.0')
    self.page.wait(self.has_ink(card + ' canvas.chart'))
    self.focus(card + ' canvas.chart')
    self.page.press('Home', 'ArrowRight')
    self.wait_text(card + ' .reading', 'step 6: median')
    self.click(card + ' [aria-expanded]')
    self.wait_text(card + ' caption', '10 steps')
    lines = self.saved(card, 2).split('\r\n')
    self.assertEqual(lines[0], 'step,wall_time,left,right,count')
    self.assertEqual(sum(float(line.split(',')[4]) for line in lines if line.startswith('6,')), 400)
    self.change('#histogram-form', 'bands')
    self.page.wait(self.has_ink(card + ' canvas.chart'))
    self.assertIn('bands', urllib.parse.unquote(self.page.evaluate('location.hash')))

  def test_histogram_with_narrow_buckets(self):
    """A bucket a millionth as wide as the others leaves room for these."""
    folder = tempfile.mkdtemp(prefix='leat-test-board-buckets')
    event_log.write_narrow_buckets(folder)
    url = self.serve_alone(folder)
    self.page.open(url + '#' + urllib.parse.quote(json.dumps({'page': 'histograms'})))
    self.page.wait(self.has_ink('canvas.chart'))
    # In a column in the middle, how many points of the picture are not of its ground.
    height = self.page.evaluate('''(canvas => {
      const x = Math.floor(canvas.width / 2), ratio = canvas.height / canvas.clientHeight;
      const data = canvas.getContext('2d').getImageData(x, 0, 1, canvas.height - 24 * ratio).data;
      return data.filter((v, i) => i % 4 === 3 && v).length / ratio;
    })(document.querySelector("canvas.chart"))''')
    self.assertGreater(height, 20)

  def test_images(self):
    self.open('images')
    card = self.key('input/picture', 'train')
    self.wait_text(card + ' .sentence', '32 × 24 pixels')
    self.assertIn('at step 45', self.page.evaluate(
        'document.querySelector(%s).alt' % json.dumps(card + ' img')))
    self.focus(card + ' input')
    self.page.press('Home')
    self.page.wait('document.querySelector(%s).alt.includes("at step 0,")' %
                   json.dumps(card + ' img'))
    self.focus('#brightness')
    self.page.press('ArrowRight')
    self.page.wait('getComputedStyle(document.querySelector(%s)).filter.includes("1.05")' %
                   json.dumps(card + ' img'))

  def test_audio(self):
    self.open('audio')
    self.wait_text(self.key('tone', 'train') + ' .sentence', '0.5 s, written')

  def test_text_is_no_markup(self):
    self.open('text')
    card = self.key('config', 'train')
    self.wait_text(card + ' .text h4', 'Configuration')
    for selector, text in (('td + td', '0.1'), ('strong', 'bold'), ('em', 'slanted'),
                           ('li li', 'inner'), ('ol li', 'one'), ('blockquote', 'A quotation'),
                           ('pre code', '# <not markup>')):
      self.wait_text('%s .text %s' % (card, selector), text)
    self.assertEqual(self.page.evaluate(
        'document.querySelectorAll(".text script, .text img, .text b, .text i").length'), 0)
    self.assertEqual(self.page.evaluate(
        '[...document.querySelectorAll(%s)].map(a => a.href).join()' %
        json.dumps(card + ' .text a')), 'https://example.com/')
    self.assertIsNone(self.page.evaluate('window.broken'))
    self.wait_text(self.key('samples', 'train') + ' .text tr:nth-child(2)', '<i>second</i>')

  def test_pr_curves(self):
    self.open('pr_curves')
    card = '[data-key="class_a"]'
    self.wait_text(card + ' .sentence', 'train: area 0.6')
    self.page.wait(self.has_ink(card + ' canvas.chart'))
    self.focus(card + ' canvas.chart')
    self.page.press('Home')
    self.wait_text(card + ' .reading', 'eval: precision 0.5, recall 1 at the threshold 0')
    self.click(card + ' [aria-expanded]')
    self.wait_text(card + ' caption', 'By threshold')
    self.assertIn('\r\neval,45,0,0.5,1\r\n', self.saved(card, 1))
    self.assertIn('<title>class_a</title>', self.saved(card, 3))

  def test_pr_curves_of_a_run_that_comes_later(self):
    folder = tempfile.mkdtemp(prefix='leat-test-board-curves')
    event_log.write_run(folder, 'first', 0.1)
    url = self.serve_alone(folder)
    sentence = '[data-key="class_a"] .sentence'
    self.page.open(url + '#' + urllib.parse.quote(json.dumps({'page': 'pr_curves'})))
    self.wait_text(sentence, 'first: area 0.6')
    event_log.write_run(folder, 'second', 0.1)
    self.wait_text(sentence, 'second: area 0.6')

  def test_hparams(self):
    self.open('hparams')
    self.wait_text('#content', 'They differ in rate, optimizer, shuffle')
    first = 'document.querySelector(".hparams tbody th").textContent.trim()'
    self.click('[data-sort="hparamsrate"]')
    self.page.wait(first + ' === "eval"')
    self.click('[data-sort="hparamsrate"]')
    self.page.wait(first + ' === "train"')
    self.assertEqual(self.page.evaluate(
        'document.querySelector("[aria-sort]").getAttribute("aria-sort")'), 'descending')
    self.assertIn('train,success,0.1,sgd,false', self.saved('#page-tools', 1))

  def test_hparams_as_pictures(self):
    for view in ('parallel', 'scatter'):
      self.open('hparams', hparams={'view': view, 'x': 'hparams/rate', 'y': 'metrics/accuracy'})
      self.page.wait(self.has_ink('.plot canvas'))
      self.focus('.plot canvas')
      self.page.press('ArrowRight', 'ArrowRight')
      self.wait_text('.reading', 'train: ')
      self.assertIn('rate 0.1', self.text('.reading'))
      self.assertIn('accuracy 0.99', self.text('.reading'))
    # A stretch of an axis that the mouse marks: the lower half of the first, where "eval" is.
    self.open('hparams', hparams={'view': 'parallel', 'x': '', 'y': ''})
    self.page.wait(self.has_ink('.plot canvas'))
    box = self.page.evaluate('(r => [r.left, r.top, r.height])'
                             '(document.querySelector(".plot canvas").getBoundingClientRect())')
    x = box[0] + 60
    for kind, y in (('mousePressed', 0.6), ('mouseMoved', 0.99), ('mouseReleased', 0.99)):
      self.page.call('Input.dispatchMouseEvent', type=kind, x=x, y=box[1] + y * box[2],
                     button='left', buttons=1, clickCount=1)
    self.wait_text('.reading', '1 of 2 runs pass')

  def test_hparams_in_pages(self):
    """No session is left out without a word: pages of 500, and how many are hidden."""
    folder = tempfile.mkdtemp(prefix='leat-test-board-sessions')
    event_log.write_many_sessions(folder, 1100)
    url = self.serve_alone(folder)
    self.page.open(url + '#' + urllib.parse.quote(json.dumps(
        {'page': 'hparams', 'hidden': ['run_0001', 'run_0002']})))
    self.wait_text('#content', '2 more runs with hyper-parameters are not shown.')
    self.click('#all')
    self.wait_text('#content', 'Rows 1 to 500 of 1100')
    self.focus('#hparams-next')
    self.page.press('Enter', 'Enter')
    self.wait_text('#content', 'Rows 1001 to 1100 of 1100')
    self.assertEqual(self.page.evaluate('document.activeElement.id'), 'hparams-next')
    self.page.press('Enter')  # there is none behind
    self.wait_text('#content', 'Rows 1001 to 1100 of 1100')
    self.assertEqual(self.page.evaluate(
        'document.querySelectorAll(".hparams tbody tr").length'), 100)
    self.wait_text('.hparams tbody tr:last-child th', 'run_1099')
    self.assertEqual(self.violations(), [])

  def test_meshes(self):
    self.open('mesh')
    card = self.key('ring', 'train')
    self.wait_text(card + ' .sentence',
                   '288 vertices, 576 faces, 5.6 × 1.6 × 5.6 in size, at step 40')
    self.page.wait(self.has_ink(card + ' canvas.mesh'))
    self.page.wait(self.has_ink(self.key('cloud', 'train') + ' canvas.mesh'))
    self.focus(card + ' input')
    self.page.press('Home')
    self.wait_text(card + ' .sentence', 'at step 0.')
    self.focus(card + ' canvas.mesh')
    picture = 'document.querySelector(%s).toDataURL()' % json.dumps(card + ' canvas.mesh')
    before = self.page.evaluate(picture)
    self.page.press('ArrowRight')
    turned = self.page.evaluate(picture)
    self.page.press('+')
    self.assertEqual(len({before, turned, self.page.evaluate(picture)}), 3)
    self.click(card + ' [aria-expanded]')
    self.wait_text(card + ' caption', 'The first 200 of 288 vertices')

  def test_projector(self):
    for method in ('tsne', 'umap', 'pca'):
      self.open('projector', projector={'method': method, 'dims': 3, 'colour': 'group', 'label': '',
                                        'run': '', 'tensor': '', 'perplexity': 10, 'pictures': '',
                                        'measure': 'distance'})
      self.wait_text('.projector .sentence', 'words has 60 rows of 4 numbers')
      self.page.wait(self.has_ink('.projector-canvas'))
    self.assertIn('The three directions hold', self.text('.projector .sentence'))
    self.wait_text('.legend', 'group b')
    # The neighbours of a row are those of its group, which has every third.
    self.focus('#projector-search')
    self.page.press(*'word 30')
    self.wait_text('.projector [role=status]', '1 found')
    self.click('.projector .found button')
    self.wait_text('.details h3', 'word 30')
    self.page.wait('document.querySelectorAll(".neighbours li").length === 12')
    rows = self.page.evaluate('[...document.querySelectorAll(".neighbours button")]'
                              '.map(b => Number(b.textContent.slice(5)) % 3)')
    self.assertEqual(rows, [0] * 12)
    self.focus('.projector-canvas')
    self.page.press('Home', 'ArrowRight')
    self.wait_text('.details h3', 'word 1')
    self.wait_text('.projector .reading', 'word 1: ')
    before = self.page.evaluate('document.querySelector(".projector-canvas").toDataURL()')
    self.page.press(']')
    self.assertNotEqual(
        self.page.evaluate('document.querySelector(".projector-canvas").toDataURL()'), before)
    self.assertIn('59,word 59,', self.saved('#content', 1))
    self.change('#projector-pictures', '1')
    self.page.wait('location.hash.includes("pictures%22%3A%221")')

  def test_hostile_logs_do_no_harm(self):
    folder = os.path.join(self.folder, 'hostile')
    os.makedirs(folder)
    event_log.write_hostile_run(folder)
    run = 'hostile/">' + event_log.MARKUP
    others = ['train', 'eval']
    try:
      self.open('scalars', hidden=others)
      self.wait_text('#runs', run)
      # Of 300 cards of a group the first are made, and the others when they are asked for.
      self.wait_text('details[data-group=many] summary', 'many (300)')
      self.click('details[data-group=many] summary')
      self.page.wait('document.querySelectorAll("details[data-group=many] .card").length === 60')
      self.click('details[data-group=many] > p button')
      self.page.wait('document.querySelectorAll("details[data-group=many] .card").length === 120')
      for name in self.pages():
        self.open(name, hidden=others, graph={'run': run, 'tag': '', 'open': [], 'selected': 0,
                                              'colour': 'device'},
                  projector={'run': run, 'tensor': '', 'method': 'pca', 'dims': 3, 'label': '',
                             'colour': event_log.MARKUP})
        self.page.wait('!!document.querySelector(".card, .details h3, .hparams, .neighbours, '
                       '#projector-colour")')
        self.page.evaluate('new Promise(done => setTimeout(done, 500))')
        self.assertIsNone(self.page.evaluate('window.broken'), name)
        self.assertEqual(self.page.evaluate('document.querySelectorAll("img[src=x]").length'), 0)
        if name in ('histograms', 'pr_curves'):
          self.page.wait('[...document.querySelectorAll(".sentence")].some('
                         'p => p.textContent.startsWith("Loading failed: "))')
      # What has lists of wrong lengths is refused, and the page says so.
      refused = [e for e in self.page.errors if 'tag=buckets' in e or 'tag=short' in e]
      self.assertTrue(all('400 (Bad Request)' in e for e in refused), refused)
      self.page.errors[:] = [e for e in self.page.errors if e not in refused]
      self.open('graphs', graph={'run': run, 'tag': '', 'open': [], 'selected': 0, 'colour': ''})
      self.wait_text('.details', '3004 nodes')
      self.focus('#graph-search')
      self.page.press(*'deep')
      self.wait_text('.side [role=status]', '1 found')
      self.page.press('Enter')
      self.wait_text('.details', 'Inputs: 1')
    finally:
      shutil.rmtree(folder)

  def test_a_thousand_runs(self):
    folder = tempfile.mkdtemp(prefix='leat-test-board-runs')
    event_log.write_many_runs(folder, 1000)
    url = self.serve_alone(folder)
    card = self.card('loss')
    self.page.open(url)
    self.wait_text('#state', '960 of 1000 runs are hidden')
    self.wait_text(card + ' .sentence', '37 more lines.')
    # The list is cut, and its filter reaches all runs.
    self.wait_text('#runs li:last-child', '500 more')
    self.focus('#run-filter')
    self.page.press(*'0999')
    self.page.wait('document.querySelectorAll("#runs li").length === 1')
    self.click('#runs input')
    self.wait_text(card + ' .sentence', 'run_0999 fell from 1 to 0.999 between')
    self.set_value('#run-filter', '')
    self.click('#all')
    self.wait_text('#state', '1000 runs')
    self.wait_text(card + ' .sentence', '997 more lines.')
    self.page.wait(self.has_ink(card + ' canvas.chart'))
    # All as one group: the mean of 0 to 0.999.
    self.click('#means')
    self.wait_text(card + ' .sentence', 'all (mean of 1000 runs) fell from 1 to 0.4995')

  # ---- all pages --------------------------------------------------------------------------------
  def test_accessibility(self):
    for theme in ('light', 'dark'):
      for name in self.pages():
        self.open(name)
        self.page.evaluate('localStorage.setItem("leat-theme", "%s")' % theme)
        self.open(name)
        self.page.wait('document.readyState === "complete"')
        self.page.evaluate('new Promise(done => setTimeout(done, 400))')
        with self.subTest(page=name, theme=theme):
          self.assertEqual(self.violations(), [])
          # So boxes, fields and players are the browser's for this theme.
          self.assertEqual(self.page.evaluate(
              'getComputedStyle(document.documentElement).colorScheme'), theme)
        folder = os.environ.get('LEAT_SCREENSHOTS')
        if folder:
          self.page.screenshot(os.path.join(folder, '%s-%s.png' % (name, theme)))

  def test_in_the_frame_of_a_notebook(self):
    """A page of another port may show the board in a frame where the board is told to allow it."""
    shown = []
    for options in ([], ['--notebook']):
      server, url = serve(self.folder, *options)
      notebook = http.server.ThreadingHTTPServer(('localhost', 0), NotebookPage)
      notebook.frame = url
      threading.Thread(target=notebook.serve_forever, daemon=True).start()
      try:
        self.page.open('http://localhost:%d/' % notebook.server_port)
        self.page.wait('document.title === "loaded"')
        shown.append(self.page.has_frame(url))
      finally:
        self.page.open('about:blank')
        notebook.shutdown()
        notebook.server_close()
        server.terminate()
        server.communicate()
      complaints = ' '.join(self.page.errors)
      self.page.errors.clear()
      self.assertEqual('frame-ancestors' in complaints, not options)
    self.assertEqual(shown, [False, True])

  def test_the_page_is_small(self):
    size = 0
    for name in ('', 'page.css', 'page.js'):
      request = urllib.request.Request(self.url + name, headers={'Accept-Encoding': 'gzip'})
      with urllib.request.urlopen(request) as answer:
        self.assertEqual(answer.headers['Content-Encoding'], 'gzip')
        compressed = answer.read()
      with urllib.request.urlopen(self.url + name) as answer:
        self.assertEqual(gzip.decompress(compressed), answer.read())
      size += len(compressed)
    self.assertLess(size, 150 << 10)

  def test_a_log_without_anything(self):
    """Each page says in a sentence what is not there yet, without empty frames around it."""
    folder = tempfile.mkdtemp(prefix='leat-test-board-empty')
    url = self.serve_alone(folder)
    for name in self.pages():
      self.page.open(url + '#' + urllib.parse.quote(json.dumps({'page': name})))
      self.wait_text('#state', '0 runs')
      with self.subTest(page=name):
        self.page.wait('/There (is|are) no|No (run|program)/.test('
                       'document.querySelector("#content").innerText)')
        frames = '#content canvas, #content .details, #content select'
        self.assertEqual(self.page.evaluate(
            '[...document.querySelectorAll("%s")].filter(e => e.checkVisibility()).length' %
            frames), 0)

  def test_tools_stand_in_line(self):
    for name, row in (('scalars', '#tools > div:first-child, #tools > .tools > div:not(.check)'),
                      ('graphs', '.graph-tools > div')):
      self.open(name)
      self.page.wait('document.querySelectorAll("%s").length > 2' % row)
      for part in ('label', 'input, select, button'):
        tops = self.page.evaluate('''[...document.querySelectorAll('%s')]
            .map(e => e.querySelector('%s')).filter(e => e?.checkVisibility())
            .map(e => Math.round(e.getBoundingClientRect().top))''' % (row, part))
        self.assertEqual(len(set(tops)), 1, (name, part, tops))

  def test_narrow_windows(self):
    self.page.resize(320, 640)
    for name in self.pages():
      self.open(name)
      self.page.evaluate('new Promise(done => setTimeout(done, 300))')
      with self.subTest(page=name):
        self.assertLessEqual(self.page.evaluate('document.documentElement.scrollWidth'), 320)


if __name__ == '__main__':
  if len(sys.argv) > 1 and os.path.isdir(sys.argv[1]):
    page_case.BUILD = os.path.abspath(sys.argv.pop(1))
  unittest.main()
