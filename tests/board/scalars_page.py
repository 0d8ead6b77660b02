"""The page of scalars: lines, pinned cards, names and groups of runs, axes, sound, news."""
import json
import os
import shutil
import tempfile
import urllib.parse
import xml.etree.ElementTree

import event_log
from page_case import PageCase, serve


class ScalarsPageTest(PageCase):

  def test_scalars(self):
    self.open('scalars')
    self.wait_text('[data-key="loss/total"] .sentence', 'train fell from 2.2')
    self.page.wait(self.has_ink('[data-key="loss/total"] canvas.chart'))
    self.focus('[data-key="loss/total"] canvas.chart')
    self.page.press('End')
    self.wait_text('[data-key="loss/total"] .reading', 'at step 59')
    self.page.press('ArrowLeft')
    self.wait_text('[data-key="loss/total"] .reading', 'at step 58')
    self.page.press('+')
    self.wait_text('[data-key="loss/total"] .reading', 'Zoomed: 29')
    self.page.press('0')
    self.click('[data-key="loss/total"] [aria-expanded]')
    self.wait_text('[data-key="loss/total"] caption', '60 steps')
    self.assertIn('train,loss/total,59,', self.saved('[data-key="loss/total"]', 1))
    points = json.loads(self.saved('[data-key="loss/total"]', 2))[0]['points']
    self.assertEqual([points[59]['step'], len(points)], [59, 60])
    picture = xml.etree.ElementTree.fromstring(self.saved('[data-key="loss/total"]', 3))
    self.assertEqual(picture[0].text, 'loss/total')
    self.assertGreater(len(picture.findall('.//{http://www.w3.org/2000/svg}path')), 6)
    self.click('#none')
    self.wait_text('[data-key="accuracy"] .sentence', 'No run that is shown')
    self.assertIn('hidden', urllib.parse.unquote(self.page.evaluate('location.hash')))

  def test_pinned_cards(self):
    self.open('scalars')
    self.wait_text(self.card('loss/total') + ' .sentence', 'train fell')
    self.click(self.card('loss/total') + ' .top button')
    self.wait_text('#content summary', 'Pinned (1)')
    self.assertEqual(self.hash()['pinned'], ['loss/total'])
    self.assertEqual(self.page.evaluate('document.activeElement.textContent'), 'Unpin')
    # Pinned cards have the whole tag, and stay whatever the filter says.
    self.assertEqual(self.text(self.card('pinned loss/total') + ' h3'), 'loss/total')
    self.focus('#tag-filter')
    self.page.press(*'accu')
    self.page.wait('document.querySelectorAll(".card").length === 2')
    self.wait_text(self.card('pinned loss/total') + ' .sentence', 'train fell')
    self.click(self.card('pinned loss/total') + ' .top button')
    self.page.wait('document.querySelectorAll(".card").length === 1')
    self.assertNotIn('pinned', self.hash())

  def test_a_run_gets_another_name(self):
    self.open('scalars')
    self.click('li[data-run=train] button')
    self.page.wait('document.activeElement.getAttribute("aria-label") === "Name of train"')
    self.page.press('b', 'e', 's', 't', 'Enter')
    self.wait_text(self.card('loss/total') + ' .sentence', 'best fell from 2.2')
    self.assertEqual(self.hash()['names'], [['train', 'best']])
    self.assertEqual(self.page.evaluate('document.activeElement.getAttribute("aria-label")'),
                     'Rename best')
    # Without the link the name is that of the last visit; Escape leaves it, and no name ends it.
    self.open('histograms')
    self.wait_text(self.key('layer_1/weights', 'train') + ' .run', 'best')
    self.click('li[data-run=train] button')
    self.page.press('x', 'Escape')
    self.wait_text('li[data-run=train] label', 'best')
    self.click('li[data-run=train] button')
    self.page.evaluate('document.activeElement.value = ""')
    self.page.press('Enter')
    self.wait_text('li[data-run=train] label', 'train')
    self.wait_text(self.key('layer_1/weights', 'train') + ' .run', 'train')
    self.assertEqual(self.page.evaluate(
        'Object.keys(localStorage).filter(k => k.startsWith("leat-names")).length'), 0)

  def test_a_run_is_deleted(self):
    self.open('scalars')
    self.assertIsNone(self.text('[data-act=delete]'))   # this server does not allow it
    folder = tempfile.mkdtemp(prefix='leat-test-board-deleting')
    for run in ('one', 'two', 'three'):
      shutil.copytree(os.path.join(self.folder, 'eval'), os.path.join(folder, run))
    server, url = serve(folder, '--delete_runs')
    try:
      self.page.open(url)
      self.wait_text('li[data-run=two] label', 'two')
      self.click('li[data-run=two] [data-act=delete]')
      self.wait_text('li[data-run=two]', 'Delete the event files of two from the disk?')
      self.assertEqual(self.page.evaluate('document.activeElement.textContent'), 'Keep')
      self.page.press('Escape')
      self.wait_text('li[data-run=two] label', 'two')
      self.assertEqual(self.page.evaluate('document.activeElement.getAttribute("aria-label")'),
                       'Delete two')
      self.page.press('Enter', 'Tab', 'Enter')   # its button, and past Keep to Delete
      self.page.wait('!document.querySelector("li[data-run=two]")')
      self.assertEqual(sorted(os.listdir(folder)), ['one', 'three'])
      # What the server says against it is shown: a directory that is not empty cannot be removed.
      os.makedirs(os.path.join(folder, 'one', 'tfevents', 'kept'))
      self.click('li[data-run=one] [data-act=delete]')
      self.page.press('Tab', 'Enter')
      self.wait_text('li[data-run=one]', os.path.join(folder, 'one', 'tfevents'))
      self.assertEqual(self.page.evaluate('document.activeElement.textContent'), 'Keep')
      self.page.press('Enter')
      self.wait_text('li[data-run=one] label', 'one')
      self.assertEqual(sorted(os.listdir(folder)), ['one', 'three'])
      self.assertEqual([error.split(' http')[0] for error in self.page.errors], [
          'Failed to load resource: the server responded with a status of 500 '
          '(Internal Server Error)'])
      self.page.errors.clear()
    finally:
      self.open('scalars')   # nobody looks on when the server ends
      server.terminate()
      server.wait()
      server.stdout.close()
      shutil.rmtree(folder)

  def test_lists_of_a_link_may_be_anything(self):
    self.open('scalars', names=[['train', event_log.MARKUP], None, 7, [['x'], {'a': 1}], {}],
              pinned=[None, {}, 3])
    self.wait_text('li[data-run=train] label', event_log.MARKUP)
    self.assertIsNone(self.page.evaluate('window.broken'))
    self.page.evaluate('localStorage.clear()')

  def styles_of(self, **settings):
    """The colours and the dashes of the lines of "train" and "eval" in a saved chart."""
    self.open('scalars', smoothing=0, **settings)
    self.wait_text(self.card('accuracy') + ' .sentence', 'train rose')
    picture = xml.etree.ElementTree.fromstring(self.saved(self.card('accuracy'), 3))
    return [(path.get('stroke'), path.get('stroke-dasharray'))
            for path in picture.iter('{http://www.w3.org/2000/svg}path')
            if path.get('stroke-width') == '2']

  def test_training_and_evaluation_are_paired(self):
    apart = self.styles_of()
    self.assertNotEqual(apart[0][0], apart[1][0])
    together = self.styles_of(pairs=True)
    self.assertEqual(together[0][0], together[1][0])
    self.assertEqual(sorted(dash is None for _, dash in together), [False, True])

  def test_means_of_groups(self):
    folder = os.path.join(self.folder, 'seeds')
    # 1, 3 and 5 at step 0 make a mean of 3 with a deviation of 2. The third run ends early, and the
    # second has no value at step 10, where it is on its way from 3 to 7.
    courses = {'sgd_1': {0: 1, 10: 2, 20: 4}, 'sgd_2': {0: 3, 20: 7}, 'sgd_3': {0: 5, 10: 5},
               'adam-seed7': {0: 9}}
    card = self.card('many')
    try:
      for name, course in courses.items():
        os.makedirs(os.path.join(folder, name))
        with open(os.path.join(folder, name, 'events.out.tfevents.1.host'), 'wb') as f:
          f.write(event_log.VERSION)
          for step, value in course.items():
            f.write(event_log.event(step, event_log.scalar('many', value)))
      self.open('scalars', hidden=['train', 'eval'])
      self.wait_text('#runs', 'seeds/sgd_3')
      self.click('#means')
      self.wait_text(card + ' .sentence', 'seeds/sgd (mean of 3 runs) rose from 3 to 5.5')
      self.wait_text(card + ' .sentence', 'seeds/adam (mean of 1 run) is 9 at step 0')
      self.assertTrue(self.hash()['means'])
      self.focus(card + ' canvas.chart')
      self.page.press('Home', 'ArrowRight')
      self.wait_text(card + ' .reading', 'seeds/sgd (mean of 3 runs): 4 at step 10')
      sgd = [c for c in json.loads(self.saved(card, 2)) if c['run'] == 'seeds/sgd'][0]
      self.assertEqual([sgd['points'][0][name] for name in ('step', 'value', 'low', 'high')],
                       [0, 3, 1, 5])
      self.set_value('#group', '/.*')
      self.wait_text(card + ' .sentence', 'seeds (mean of 4 runs)')
      self.set_value('#group', '(')
      self.wait_text(card + ' .sentence', 'seeds/sgd_1 (mean of 1 run)')
    finally:
      shutil.rmtree(folder)

  def test_the_axis_of_steps_is_logarithmic(self):
    self.open('scalars', smoothing=0)
    card = self.card('accuracy')
    self.wait_text(card + ' .sentence', 'train rose')
    def ticks():
      texts = xml.etree.ElementTree.fromstring(self.saved(card, 3)).iter(
          '{http://www.w3.org/2000/svg}text')
      return [float(t.text) for t in texts if t.get('text-anchor') == 'middle']
    self.assertEqual(ticks()[0], 0)
    self.click('#logX')
    whole = ticks()
    self.assertEqual(whole[:4], [1, 2, 5, 10])
    self.assertTrue(self.hash()['logX'])
    self.focus(card + ' canvas.chart')
    self.page.press('End', '+', '+')
    self.assertGreater(ticks()[0], 10)
    self.focus(card + ' canvas.chart')
    self.page.press('0')
    self.assertEqual(ticks(), whole)

  def test_all_cards_show_one_step(self):
    self.open('scalars')
    self.wait_text(self.card('accuracy') + ' .sentence', 'train rose')
    self.assertEqual(self.text('#step-value'), 'newest')
    self.focus('#step')
    self.page.press('Home', *['ArrowRight'] * 8)
    self.wait_text(self.card('accuracy') + ' .sentence', 'At step 8: eval 0.292')
    self.assertEqual(self.hash()['step'], 8)
    # Images follow, with the last that was written up to then.
    self.click('#pages a[data-page=images]')
    picture = self.key('input/picture', 'train') + ' .steps output'
    self.wait_text(picture, 'Step 0')
    self.focus('#step')
    self.page.press(*['ArrowRight'] * 10)
    self.wait_text(picture, 'Step 15')
    self.page.press('End')
    self.wait_text(picture, 'Step 45')
    self.assertNotIn('step', self.hash())

  def test_curves_can_be_heard(self):
    self.open('scalars')
    self.wait_text(self.card('accuracy') + ' .sentence', 'train rose')
    button = json.dumps(self.card('accuracy') + ' .top > div > button:nth-of-type(2)')
    self.assertTrue(self.page.evaluate('document.querySelector(%s).hidden' % button))
    self.page.evaluate('''(set => {
      window.tones = [];
      AudioParam.prototype.setValueAtTime = function(value, time) {
        window.tones.push(value);
        return set.call(this, value, time);
      };
    })(AudioParam.prototype.setValueAtTime)''')
    self.click('#sound')
    self.page.evaluate('document.querySelector(%s).click()' % button)
    self.wait_text(self.card('accuracy') + ' .reading', 'Playing eval')
    # A line that rises sounds higher and higher, within two octaves from 220 Hz on.
    tones = self.page.evaluate('window.tones')
    self.assertEqual(tones[:100], sorted(tones[:100]))
    self.assertAlmostEqual(min(tones), 220, 1)
    self.assertAlmostEqual(max(tones), 880, 1)
    self.page.evaluate('document.querySelector(%s).click()' % button)
    self.page.wait('document.querySelector(%s).getAttribute("aria-pressed") === "false"' % button)
    self.assertTrue(self.hash()['sound'])

  def test_what_is_written_appears(self):
    self.open('scalars')
    self.wait_text('[data-key="accuracy"] .sentence', 'eval')
    with open(os.path.join(self.folder, 'eval', 'events.out.tfevents.1.host'), 'ab') as f:
      f.write(event_log.event(99, event_log.scalar('fresh/tag', 5)))
    self.wait_text('[data-key="fresh/tag"] .sentence', 'eval is 5 at step 99')

  def test_what_has_the_focus_keeps_it_when_something_is_written(self):
    self.open('scalars')
    self.wait_text(self.card('accuracy') + ' .sentence', 'eval')
    self.focus(self.card('accuracy') + ' canvas.chart')
    with open(os.path.join(self.folder, 'eval', 'events.out.tfevents.1.host'), 'ab') as f:
      f.write(event_log.event(500, event_log.scalar('accuracy', 0.75)))
    self.wait_text(self.card('accuracy') + ' .sentence', 'to 0.75 between the steps 0 and 500')
    self.assertEqual(self.page.evaluate('document.activeElement.closest(".card")?.dataset.key'),
                     'accuracy')

  def test_the_first_charts_wait_for_two_answers(self):
    self.open('scalars')
    self.wait_text(self.card('accuracy') + ' .sentence', 'eval')
    self.page.wait('performance.getEntriesByType("resource").some('
                   'e => e.name.endsWith("plugins_listing"))')
    names = self.page.evaluate('performance.getEntriesByType("resource")'
                               '.map(e => e.name.split("/").pop())')
    first = names[:names.index('plugins_listing')]
    self.assertEqual(sorted(set(first)), ['columns', 'overview', 'page.css', 'page.js'])
    self.assertEqual(first.count('overview'), 1)  # what was loaded before the script is used

  def test_the_browser_goes_back(self):
    self.open('scalars')
    self.click('#pages a[data-page=graphs]')
    self.page.wait('!!document.querySelector("canvas.graph")')
    self.page.evaluate('history.back()')
    self.page.wait('!!document.querySelector("canvas.chart")')
