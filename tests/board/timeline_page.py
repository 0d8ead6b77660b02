"""The page of recordings of threads: steps and delays, the drawing, its keys and its ruler."""
import json
import os
import shutil
import tempfile
import urllib.parse

import event_log
import trace_log
from page_case import PageCase, serve


class TimelinePageTest(PageCase):

  def test_timeline_tells_why_a_step_was_slow(self):
    self.open('timeline')
    self.wait_text('.timeline .sentence', '3 steps are alike; the median takes 1.1 ms')
    self.wait_text('.details ol', 'The step went on 30.0 µs after it could')
    self.click('#timeline-slowest')
    self.wait_text('.timeline .sentence', 'Step 2 took 4.1 ms; the median of the 3 steps')
    self.wait_text('.details ol li:first-child', "3 ms QueueDequeueV2 'next' waited 3.10 ms for "
                   "input, while thread 101 (feeder) ran DecodePng 'decode' (median step: 100 µs)")
    self.assertIn('"step":3', urllib.parse.unquote(self.page.evaluate('location.hash')))
    self.change('#timeline-view', 'tables')
    self.wait_text('.timeline table:nth-child(2)', 'the critical path of step 2')
    self.wait_text('.timeline table:nth-child(2)', 'input being made')
    self.wait_text('.timeline table:nth-child(3)', 'Add short')
    self.assertTrue(self.page.evaluate('document.querySelector(".timeline-canvas").hidden'))
    self.assertEqual(self.violations(), [])

  def test_a_step_is_shown_with_its_row(self):
    """Who has scrolled to other rows sees the same as who has not."""
    picture = 'document.querySelector(".timeline-canvas").toDataURL()'
    pictures = []
    for keys in ([], ['PageDown'] * 3):
      self.open('timeline')
      self.wait_text('.timeline .sentence', '3 steps are alike')
      # Room for one row.
      self.page.evaluate('document.querySelector(".timeline-canvas").style.flex = "0 0 60px"')
      self.page.evaluate('new Promise(done => setTimeout(done, 500))')
      self.focus('.timeline-canvas')
      before = self.page.evaluate(picture)
      self.page.press(*keys)
      self.page.evaluate('new Promise(done => setTimeout(done, 300))')
      self.assertEqual(before != self.page.evaluate(picture), bool(keys))
      self.click('#timeline-slowest')
      self.wait_text('.timeline .sentence', 'Step 2 took 4.1 ms')
      self.page.evaluate('new Promise(done => setTimeout(done, 500))')
      pictures.append(self.page.evaluate(picture))
    self.assertTrue(pictures[0] == pictures[1])

  def test_timeline_is_drawn_before_its_delays_are_found(self):
    script = self.page.call('Page.addScriptToEvaluateOnNewDocument', source='''
        window.arePending = true;
        const ask = window.fetch;
        window.fetch = (url, ...rest) => arePending && String(url).includes('/trace/steps')
            ? Promise.resolve(new Response('{"status":"pending"}')) : ask(url, ...rest);''')
    try:
      self.open('timeline')
      self.wait_text('.timeline .sentence', 'Its steps and their delays are being found.')
      self.wait_text('.timeline .details', 'Delays are being found.')
      self.page.wait(self.has_ink('.timeline-canvas'))
      self.change('#timeline-view', 'tables')
      self.wait_text('.timeline table:nth-child(2)', 'Add short')
      self.assertFalse(self.page.evaluate('!!document.querySelector("#timeline-slowest")'))
      self.page.evaluate('window.arePending = false')
      self.wait_text('.timeline .sentence', '3 steps are alike; the median takes 1.1 ms')
      self.click('#timeline-slowest')
      self.wait_text('.details ol li:first-child', "QueueDequeueV2 'next' waited 3.10 ms")
    finally:
      self.page.call('Page.removeScriptToEvaluateOnNewDocument', identifier=script['identifier'])

  def test_timeline_is_drawn_and_walked(self):
    self.open('timeline')
    canvas = '.timeline-canvas'
    self.wait_text('.timeline .sentence', '4022 slices on 4 rows')
    self.page.wait(self.has_ink(canvas))
    # The search shows a kernel; from there the arrow keys go to those beside and around it.
    self.focus('#timeline-search')
    self.page.press(*'conv1')
    self.wait_text('.timeline [role=status]', '1 found')
    self.click('.timeline .found button')
    self.wait_text('.details h3', 'Conv2D conv1')
    self.wait_text('.details dl', '64 KiB')
    self.focus(canvas)
    self.page.press('ArrowRight')
    self.wait_text('.timeline .reading', event_log.MARKUP)
    self.page.press('ArrowUp')
    self.wait_text('.timeline .reading', 'step, 1.1 ms from 100 µs on, of main (100); step: 1')
    self.page.press('ArrowRight')
    self.wait_text('.timeline .reading', 'step, 4.1 ms')
    for key in ('w', 'd', 's', '0'):
      before = self.picture(canvas)
      self.page.press(key)
      self.page.wait('document.querySelector("%s").toDataURL() !== %s' % (
          canvas, json.dumps(before)))
    self.page.press('Escape')
    self.assertEqual(self.text('.timeline .reading'), '')
    self.assertIsNone(self.page.evaluate('window.broken'))

  # Notes what a timeline draws: where the marks of its ruler are, and its labels with their widths.
  NOTE_RULER = '''
      window.marks = [];
      window.labels = [];
      (pen => {
        const {moveTo, fillText} = pen;
        pen.moveTo = function(x, y) {
          if (y === 16) marks.push(x);
          moveTo.call(this, x, y);
        };
        pen.fillText = function(text, x, y) {
          if (y === 11) labels.push([x, this.measureText(text).width, text]);
          fillText.call(this, text, x, y);
        };
      })(CanvasRenderingContext2D.prototype);'''

  def ruler(self):
    """The marks and the labels of the ruler, drawn anew, and the width of the drawing."""
    return self.page.evaluate('''(async () => {
        marks.length = labels.length = 0;
        dispatchEvent(new Event('scroll'));
        while (!marks.length) await new Promise(requestAnimationFrame);
        return [marks, labels, document.querySelector('.timeline-canvas').clientWidth];
      })()''')

  def expect_labels(self):
    """Each mark whose label fits has one, and they lie beside each other."""
    marks, labels, width = self.ruler()
    self.assertGreater(len(labels), 1)
    room = {x: size for x, size, _ in labels}
    widest = max(room.values())
    for x in marks:
      if x + 3 + widest <= width:
        self.assertIn(x + 3, room)
    for (x, size, text), (after, *_) in zip(labels, labels[1:]):
      self.assertLess(x + size + 8, after, text)
    self.assertLessEqual(labels[-1][0] + labels[-1][1], width)

  def test_the_ruler_of_a_timeline_labels_its_marks(self):
    script = self.page.call('Page.addScriptToEvaluateOnNewDocument', source=self.NOTE_RULER)
    try:
      self.open('timeline')
      self.wait_text('.timeline .sentence', '3 steps are alike')
      for width in range(1000, 1300, 12):
        self.page.resize(width, 860)
        self.expect_labels()
    finally:
      self.page.call('Page.removeScriptToEvaluateOnNewDocument', identifier=script['identifier'])

  def test_timeline_of_an_hour_with_great_steps(self):
    """Step numbers are told to the last digit, and long labels of the ruler do not meet."""
    folder = tempfile.mkdtemp(prefix='leat-test-board-hour')
    trace_log.write_long_recording(os.path.join(folder, 'leat-1.perfetto-trace'))
    server, url = serve(folder)
    script = self.page.call('Page.addScriptToEvaluateOnNewDocument', source=self.NOTE_RULER)
    great = trace_log.GREAT_STEP
    try:
      self.page.open(url + '#' + urllib.parse.quote(json.dumps({'page': 'timeline'})))
      self.wait_text('#timeline-step', 'step %d: 2 ms' % (great + 2))
      self.wait_text('.timeline .sentence', 'A step of this kind ran once and took 2 ms.')
      self.change('#timeline-step', '1')
      self.wait_text('.timeline .sentence', 'Step %d took 2 ms; no other is like it.' %
                     (great + 2))
      self.focus('#timeline-search')
      self.page.press(*'late')
      self.wait_text('.timeline [role=status]', '1 found')
      self.click('.timeline .found button')
      self.wait_text('.timeline .reading', 'Add late')
      self.focus('.timeline-canvas')
      self.page.press('ArrowUp')
      self.wait_text('.timeline .reading', 'step: %d' % (great + 2))
      self.wait_text('.details dl', str(great + 2))
      self.page.press(*['w'] * 8)  # to less than a nanosecond a pixel
      for _ in range(16):
        self.expect_labels()
        self.page.press('s')
    finally:
      self.page.call('Page.removeScriptToEvaluateOnNewDocument', identifier=script['identifier'])
      self.page.open('about:blank')
      server.terminate()
      server.communicate()
      shutil.rmtree(folder)

  def test_timeline_tells_who_took_a_core(self):
    self.open('timeline')
    self.wait_text('.timeline .sentence', '3 steps are alike')
    self.focus('#timeline-search')
    self.page.press(*'ninja')
    self.wait_text('.timeline [role=status]', '1 found')
    self.click('.timeline .found button')
    self.wait_text('.details h3', 'preempted by ninja')
    self.wait_text('.details dl', 'another thread had the core')
    self.wait_text('.details dl', 'Taken byninja (4711)')
    self.wait_text('.timeline .reading', 'preempted by ninja, off core, 90 µs from 21.1 ms on, of '
                   'feeder (101); why: another thread had the core; taken by: ninja (4711)')

  def test_timeline_follows_the_mouse(self):
    self.open('timeline')
    canvas = '.timeline-canvas'
    # What is seen was asked for in the frame before the last, and has come.
    frame = 'new Promise(requestAnimationFrame)'
    seen = ('%s.then(() => %s).then(() => !document.querySelector("%s").hasAttribute("aria-busy"))'
            % (frame, frame, canvas))
    self.wait_text('.timeline .sentence', '3 steps are alike')
    self.page.wait(seen)
    x, y = self.page.evaluate('(r => [r.left, r.top])'
                              '(document.querySelector("%s").getBoundingClientRect())' % canvas)
    width = self.page.evaluate('document.querySelector("%s").clientWidth' % canvas) - 150
    # The 4,000 short kernels, in the third row, are drawn as a few items.
    at = x + 150 + width * 7 / 21.2
    rows_above = 22 + 18 + (2 * 15 + 5) * 2
    self.page.click(at, y + rows_above + 7)
    self.wait_text('.timeline .reading', 'of leat_pool (102), the first Add short: zoom in')
    for _ in range(5):  # to some 300 ns a pixel
      self.page.call('Input.dispatchMouseEvent', type='mouseWheel', x=at, y=y + rows_above + 7,
                     deltaX=0, deltaY=-600)
    self.page.wait(seen)
    self.page.click(at, y + rows_above + 7)
    self.wait_text('.timeline .reading', 'Add short, kernel, 400 ns')
    before = self.picture(canvas)
    for kind, shift in (('mousePressed', 0), ('mouseMoved', -80), ('mouseReleased', -80)):
      self.page.call('Input.dispatchMouseEvent', type=kind, x=at + shift, y=y + 400, button='left',
                     buttons=1, clickCount=1)
    self.page.wait('document.querySelector("%s").toDataURL() !== %s' % (
        canvas, json.dumps(before)))
