"""The page of recordings of threads: steps and delays, the drawing, its keys and its ruler."""
import json
import os
import tempfile
import urllib.parse

import event_log
import trace_log
from page_case import PageCase


class TimelinePageTest(PageCase):
  # What is seen was asked for in the frame before the last, and has come.
  SEEN = ('new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))'
          '.then(() => !document.querySelector(".timeline-canvas[aria-busy]"))')

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
    url = self.serve_alone(folder)
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

  def serve_steps(self):
    """A board with a graph, and two recordings of a kernel of one of its nodes; its address."""
    folder = tempfile.mkdtemp(prefix='leat-test-board-steps')
    trace_log.write_steps(os.path.join(folder, 'fast.perfetto-trace'), [0, 0, 0, 200], self.NODE)
    trace_log.write_steps(os.path.join(folder, 'slow.perfetto-trace'), [0, 3000, 500],
                          self.NODE + '/_fused')
    os.utime(os.path.join(folder, 'fast.perfetto-trace'), (2e9, 2e9))  # the newest
    with open(os.path.join(folder, 'events.out.tfevents.1.host'), 'wb') as f:
      f.write(event_log.record(event_log.double(1, 1.7e9) + event_log.text(3, 'brain.Event:2')) +
              event_log.graph_event(event_log.network()))
    return self.serve_alone(folder)

  NODE = 'input_layer/MatMul'

  def open_steps(self, url, **timeline):
    self.page.open(url + '#' + urllib.parse.quote(json.dumps(
        {'page': 'timeline', 'timeline': timeline})))

  def test_a_kernel_tells_its_node_and_leads_to_the_graph_and_back(self):
    url = self.serve_steps()
    self.open_steps(url, file='slow.perfetto-trace')
    self.wait_text('.timeline .sentence', '3 steps are alike')
    self.focus('#timeline-search')
    self.page.press(*'fused')
    self.wait_text('.timeline [role=status]', '1 found')
    self.click('.timeline .found button')
    self.wait_text('.details dl', 'Device/job:w/device:CPU:0')
    self.wait_text('.details dl', 'Outputsfloat [16,32], int32 []')
    self.wait_text('.details dl', 'Operations64000 of floating point (0.0160 GFLOP/s)')
    self.wait_text('.details dl', 'Sourcemodel.py:12')
    self.assertEqual(self.hash()['timeline']['node'], self.NODE + '/_fused')
    # In the graph it is the node in whose place the optimizer put it.
    self.click('.timeline .details a')
    self.wait_text('.graph-page .details h3', 'MatMul')
    self.assertIn('input_layer', self.text('.graph-page .details .path'))
    self.page.evaluate("""[...document.querySelectorAll('.graph-page .details button')]
        .find(b => b.textContent === 'Show in the timeline').click()""")
    self.wait_text('.timeline .details h3', 'MatMul ' + self.NODE)
    self.assertEqual(self.hash()['timeline']['file'], 'fast.perfetto-trace')
    self.wait_text('.timeline .reading', 'of main (100)')
    # What has no node tells none, and no graph is linked.
    self.page.wait(self.SEEN)
    self.focus('.timeline-canvas')
    self.page.press('ArrowUp')
    self.wait_text('.details h3', 'step')
    self.assertFalse(self.page.evaluate('!!document.querySelector(".timeline .details a")'))
    self.assertEqual(self.violations(), [])

  def test_cores_show_who_had_them(self):
    self.open_steps(self.serve_steps(), file='slow.perfetto-trace')
    self.wait_text('.timeline .sentence', '3 steps are alike')
    self.focus('#timeline-search')
    self.page.press(*'main')
    self.wait_text('.timeline [role=status]', '1 found')
    self.click('.timeline .found button')
    self.wait_text('.details dl', 'Kindon core')
    self.wait_text('.details dl', 'Corecore 3')
    self.wait_text('.details dl', 'Threadmain (100)')
    # The row below is the first thread's, which has its step there.
    self.page.wait(self.SEEN)
    self.focus('.timeline-canvas')
    self.page.press('ArrowDown')
    self.wait_text('.timeline .reading', 'step, 1.1 ms')

  def test_loops_and_memory_have_rows(self):
    self.open_steps(self.serve_steps(), file='slow.perfetto-trace')
    self.wait_text('.timeline .sentence', '3 steps are alike')
    for wanted, expected in (
        ('iteration', ('Kinditeration', 'Rowloops 1', 'Number0', 'Withinloop')),
        ('mib', ('Kindmemory held', 'Rowmemory 1', 'Bytes1.5 MiB'))):
      self.page.evaluate('document.querySelector("#timeline-search").value = ""')
      self.focus('#timeline-search')
      self.page.press(*wanted)
      self.wait_text('.timeline [role=status]', '1 found')
      self.click('.timeline .found button')
      for text in expected:
        self.wait_text('.details dl', text)
    # How long an amount was held is no time that anything took.
    self.change('#timeline-view', 'tables')
    self.wait_text('.timeline .tall', 'while_context')
    self.assertNotIn('MiB', self.page.evaluate(
        'document.querySelector(".timeline .tall").textContent'))

  def test_the_greatest_delays_are_arrows(self):
    url = self.serve_steps()
    self.open_steps(url, file='slow.perfetto-trace')
    held = "MatMul '%s/_fused' waited %s for a lock that thread 101 (holder) held"
    self.wait_text('.timeline .details', 'The greatest delays in the window')
    first = held % (self.NODE, '3.00 ms')
    self.wait_text('.timeline .details', '3 ms ' + first)
    self.wait_text('.timeline .details', held % (self.NODE, '500.0 µs'))
    # N and P go from one to the next, and back to the first behind the last. The one that is told
    # is drawn in another colour.
    self.focus('.timeline-canvas')
    self.page.press('n')
    self.wait_text('.timeline .reading', '3 ms: ' + first)
    self.wait_text('.timeline li[aria-current]', first)
    self.page.evaluate('new Promise(done => setTimeout(done, 300))')
    self.page.wait(self.SEEN)
    before = self.picture('.timeline-canvas')
    self.page.press('n')
    self.wait_text('.timeline .reading', '500 µs: ' + held % (self.NODE, '500.0 µs'))
    self.page.wait('document.querySelector(".timeline-canvas").toDataURL() !== %s' %
                   json.dumps(before))
    self.page.press('n', 'p')
    self.wait_text('.timeline .reading', '500 µs: ')
    # In another window there are others.
    self.page.evaluate("""(b => { b.focus(); b.click(); })(
        [...document.querySelectorAll('.timeline .details button')]
        .find(b => b.getAttribute('aria-label')?.includes('500.0')))""")
    self.page.wait("""!document.querySelector('.timeline .details').textContent
        .includes('3 ms Mat')""")
    # The button that was pressed keeps the focus, though the list is another one.
    self.assertIn('500.0', self.page.evaluate(
        'document.activeElement.getAttribute("aria-label")') or '')

  def test_two_steps_are_compared(self):
    url = self.serve_steps()
    self.open_steps(url, file='fast.perfetto-trace')
    self.wait_text('.timeline .sentence', '4 steps are alike')
    # With another step of the recording; the slowest one stands above.
    self.change('#timeline-other', 'fast.perfetto-trace')
    self.wait_text('.timeline .middle .what', 'Below: step 1 of fast.perfetto-trace, 1.1 ms, which '
                   'is 200 µs shorter.')
    self.wait_text('.timeline .details tbody tr:first-child',
                   'lockMatMul input_layer/MatMul200 µs0 ns−200 µs')
    # With another recording, whose kernel has another name there.
    self.change('#timeline-other', 'slow.perfetto-trace')
    self.wait_text('.timeline .middle .what', 'Below: step 2 of slow.perfetto-trace, 4.1 ms, which '
                   'is 2.8 ms longer.')
    self.wait_text('.timeline .details tbody tr:first-child',
                   'lockMatMul input_layer/MatMul/_fused0 ns3 ms+3 ms')
    self.change('#timeline-other-step', '2')
    self.wait_text('.timeline .middle .what', 'Below: step 3 of slow.perfetto-trace, 1.6 ms')
    self.assertEqual(self.hash()['timeline']['otherStep'], 2)
    # Both drawings move together.
    canvases = ['.timeline-canvas', '.timeline-canvas ~ .timeline-canvas']
    for moved in canvases:
      self.page.wait(self.SEEN)
      before = [self.picture(canvas) for canvas in canvases]
      self.focus(moved)
      self.page.press('d')
      for canvas, picture in zip(canvases, before):
        self.page.wait('document.querySelector("%s").toDataURL() !== %s' % (
            canvas, json.dumps(picture)))
    self.assertEqual(self.violations(), [])
    # The link shows the same.
    link = self.page.evaluate('location.href')
    self.page.open('about:blank')
    self.page.open(link)
    self.wait_text('.timeline .middle .what', 'Below: step 3 of slow.perfetto-trace, 1.6 ms')
    self.change('#timeline-view', 'tables')
    self.page.wait('document.querySelectorAll(".timeline-canvas:not([hidden])").length === 0')
    self.wait_text('.timeline .details table', 'lockMatMul')
    self.change('#timeline-other', '')
    self.page.wait('document.querySelector(".timeline .middle .what").hidden')

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
    self.wait_text('.timeline .sentence', '3 steps are alike')
    self.page.wait(self.SEEN)
    x, y = self.page.evaluate('(r => [r.left, r.top])'
                              '(document.querySelector("%s").getBoundingClientRect())' % canvas)
    width = self.page.evaluate('document.querySelector("%s").clientWidth' % canvas) - 150
    # The 4,000 short kernels, in the third row, are drawn as a few items.
    at = x + 150 + width * 7 / 21.2
    rows_above = 22 + 18 + 18 + (2 * 15 + 5) * 2
    self.page.click(at, y + rows_above + 7)
    self.wait_text('.timeline .reading', 'of leat_pool (102), the first Add short: zoom in')
    for _ in range(5):  # to some 300 ns a pixel
      self.page.call('Input.dispatchMouseEvent', type='mouseWheel', x=at, y=y + rows_above + 7,
                     deltaX=0, deltaY=-600)
    self.page.wait(self.SEEN)
    self.page.click(at, y + rows_above + 7)
    self.wait_text('.timeline .reading', 'Add short, kernel, 400 ns')
    before = self.picture(canvas)
    for kind, shift in (('mousePressed', 0), ('mouseMoved', -80), ('mouseReleased', -80)):
      self.page.call('Input.dispatchMouseEvent', type=kind, x=at + shift, y=y + 400, button='left',
                     buttons=1, clickCount=1)
    self.page.wait('document.querySelector("%s").toDataURL() !== %s' % (
        canvas, json.dumps(before)))
