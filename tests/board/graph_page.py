"""The graph page's stages of compiling, reasons of the placer, and values of a dump."""
import json
import unittest

import page_case


class GraphPageTest(page_case.PageCase):

  def open_stage(self, stage, **graph):
    """The graph after a stage, or what the devices ran (-1), in the link's words."""
    self.open('graphs', graph=dict({'run': 'train', 'tag': 'step 1', 'placed': True, 'stage': stage,
                                    'colour': 'change'}, **graph))
    self.page.wait('!!document.querySelector("#graph-stage")')

  def test_stages_are_chosen(self):
    self.open('graphs')
    self.wait_text('.details', '68 nodes')
    texts = self.page.evaluate(
        '[...document.querySelectorAll("#graph-stage option")].map(o => o.text)')
    self.assertEqual(texts, [
        'as written', 'after prune: −56 ≈2', 'after fold: −1 +1 ≈1', 'after cse: nothing changed',
        'after place: →1', 'after rules: −2 +1 ≈1', 'as the devices ran it'])
    # What is open and selected stays so, in graphs whose items have other numbers.
    self.focus('#graph-search')
    self.page.press(*'layer_1/Relu')
    self.wait_text('.side [role=status]', '1 found')
    self.page.press('Enter')
    self.wait_text('.details h3', 'Relu')
    self.focus('#graph-stage')
    self.change('#graph-stage', '4')
    self.wait_text('.details', 'After rules')
    self.wait_text('.details h3', 'Relu')
    self.wait_text('.details .change', 'It is changed.')
    self.wait_text('.details', 'layer_1/BiasAdd/_fused')
    self.assertEqual(self.page.evaluate('document.activeElement.id'), 'graph-stage')
    self.assertEqual(self.hash()['graph']['stage'], 4)
    self.assertIn('After rules: 2 nodes are gone, 1 is new, 1 is changed; 8 nodes in all.',
                  self.text('.middle .reading'))
    rows = self.page.evaluate('[...document.querySelectorAll("[role=treeitem]")].map('
                              'r => r.textContent)')
    self.assertIn('+layer_1', [r.replace('−', '+')[:8] for r in rows])
    self.assertTrue(any(r.endswith('MatMul MatMul, gone') for r in rows), rows)
    self.change('#graph-stage', 'ran')
    self.wait_text('.middle .reading', 'as the devices ran it')
    self.assertEqual(self.page.evaluate('document.querySelector("#graph-colour").value'),
                     'structure')

  def test_stages_by_keyboard(self):
    self.open_stage(0)
    self.wait_text('.details h3', 'After prune')
    self.page.wait(self.has_ink('canvas.graph'))
    self.focus('canvas.graph')
    self.page.press(']')
    self.wait_text('.middle .reading', 'After fold: 1 node is gone, 1 is new, 1 is changed')
    self.wait_text('.details caption', '3 changes')
    seen = []
    for _ in range(3):
      self.page.press('n')
      self.page.evaluate('new Promise(done => setTimeout(done, 300))')
      seen.append(self.text('.middle .reading'))
    self.assertEqual(sorted(seen), ['node (labels), Placeholder, gone', 'node _folded, Const, new',
                                    'node xent, SoftmaxXent, changed'])
    self.page.press('p')
    self.page.wait('document.querySelector(".middle .reading").textContent === %s' %
                   json.dumps(seen[1]))
    self.page.press('Escape', 'Escape', 'Escape')
    for text in ('After prune', 'The graph as it was written.'):
      self.page.press('[')
      self.wait_text('.middle .reading', text)
    self.page.press('[')  # there is none before
    self.wait_text('.middle .reading', 'as it was written')

  def test_changes_have_colours_and_signs(self):
    self.open_stage(4)
    self.wait_text('.details .stage-counts', '2 nodes are gone')
    self.page.wait(self.has_ink('canvas.graph'))
    before = self.picture('canvas.graph')
    self.change('#graph-colour', 'kind')
    self.page.wait('document.querySelector("canvas.graph").toDataURL() !== %s' % json.dumps(before))
    self.click('.details table button')
    self.wait_text('.details .change', 'It is ')

  def drawn(self):
    """How often each text is drawn on the canvas from now on, until the page is left."""
    self.page.evaluate('''{
      window.drawn = [];
      const draw = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
        window.drawn.push([text, this.fillStyle]);
        return draw.call(this, text, ...at);
      };
    }''')

  def test_colours_of_ops(self):
    self.open_stage(4)
    self.wait_text('.details h3', 'After rules')
    self.page.wait(self.has_ink('canvas.graph'))
    self.drawn()
    before = self.picture('canvas.graph')
    self.change('#graph-colour', 'op')
    self.wait_text('.middle .reading', 'Nodes of one op, which stands below each')
    self.page.wait('document.querySelector("canvas.graph").toDataURL() !== %s' % json.dumps(before))
    # The op stands there as text, so that the colour is not all that tells it.
    self.page.wait('window.drawn.some(([text]) => text === "Placeholder")')

  def test_fused_nodes_have_a_colour_and_a_sign(self):
    self.open('graphs')
    self.wait_text('.details', '68 nodes')
    options = '[...document.querySelectorAll("#graph-colour option")].map(o => o.value)'
    self.assertIn('op', self.page.evaluate(options))
    self.assertNotIn('fused', self.page.evaluate(options))  # no optimizer has seen this graph
    self.open_stage(4)
    self.wait_text('.details h3', 'After rules')
    self.page.wait(self.has_ink('canvas.graph'))
    self.drawn()
    before = self.picture('canvas.graph')
    self.change('#graph-colour', 'fused')
    self.wait_text('.middle .reading', 'the sign ◆')
    self.page.wait('document.querySelector("canvas.graph").toDataURL() !== %s' % json.dumps(before))
    self.page.wait('window.drawn.some(([text]) => /^◆ 1 of \\d+$/.test(text))')
    self.page.evaluate('[...document.querySelectorAll(".details table button")].find('
                       'b => b.textContent === "layer_1/BiasAdd/_fused").click()')
    self.wait_text('.middle .reading', '_FusedMatMul, fused')
    self.page.wait('window.drawn.some(([text]) => text.startsWith("◆ ") && text.includes("fused"))')
    self.assertEqual(self.violations(), [])

  def test_placement_is_explained(self):
    for name, text in (
        ('layer_1/Relu', 'it takes an estimated 40 µs on GPU:0, and would take 250 µs on CPU:0. '
                         'It ends 1200 µs after the step begins.'),
        ('layer_1/bias', 'It must be where layer_1/weights is.'),
        ('x', 'Only CPU:0 has a kernel for it'),
        ('layer_1/BiasAdd/_fused', 'The pass rules made it')):
      self.open_stage(4)
      self.wait_text('.details h3', 'After rules')
      self.focus('#graph-search')
      self.set_value('#graph-search', name)
      self.page.wait('[...document.querySelectorAll(".found button")].some('
                     'b => b.textContent === %s)' % json.dumps(name))
      self.page.evaluate('[...document.querySelectorAll(".found button")].find('
                         'b => b.textContent === %s).click()' % json.dumps(name))
      self.wait_text('.details .placement', text)

  def test_values_of_a_dump(self):
    self.open('graphs')
    self.wait_text('.details', '68 nodes')
    self.focus('#graph-values')
    self.change('#graph-values', 'train/debug/run_1')
    self.wait_text('.details', 'The dump has 2 outputs; 1 have NaN or infinities.')
    self.assertEqual(self.page.evaluate('document.querySelector("#graph-colour").value'), 'health')
    self.assertEqual(self.page.evaluate('document.activeElement.id'), 'graph-values')
    self.page.wait(self.has_ink('canvas.graph'))
    self.page.evaluate('[...document.querySelectorAll(".details table button")].find('
                       'b => b.textContent === "layer_1/Relu:0").click()')
    self.wait_text('.details .values', ':0 float [6]. 6 elements: 1 NaN, 1 +∞; 0 to 2, mean 0.875')
    self.assertEqual(self.page.evaluate(
        '[...document.querySelectorAll(".buckets rect")].length'), 24)
    self.assertIn('Histogram of output 0: most elements, 1,', self.page.evaluate(
        'document.querySelector(".buckets").getAttribute("aria-label")'))
    self.wait_text('.middle .reading', '2 NaN or infinite, up to 2')
    before = self.picture('canvas.graph')
    self.change('#graph-colour', 'magnitude')
    self.page.wait('document.querySelector("canvas.graph").toDataURL() !== %s' % json.dumps(before))
    self.change('#graph-values', '')
    self.page.wait('!document.querySelector(".details .values")')

  def test_accessibility_of_stages_and_values(self):
    for theme in ('light', 'dark'):
      self.open_stage(4, values='train/debug/run_1')
      self.page.evaluate('localStorage.setItem("leat-theme", "%s")' % theme)
      self.open('scalars')
      self.open_stage(4, values='train/debug/run_1')
      self.wait_text('.details', 'The dump has')
      with self.subTest(theme=theme, selected='nothing'):
        self.assertEqual(self.violations(), [])
      self.page.evaluate('[...document.querySelectorAll(".details table button")].find('
                         'b => b.textContent === "layer_1/Relu").click()')
      self.wait_text('.details .values', '6 elements')
      with self.subTest(theme=theme, selected='a node'):
        self.assertEqual(self.violations(), [])

  def test_links_from_elsewhere_do_no_harm(self):
    """A stage, a step and a dump that are not there: the page shows what there is."""
    self.open('graphs', graph={'run': 'train', 'tag': 'step 1', 'placed': True, 'stage': 99,
                               'values': '../../etc', 'colour': 'magnitude'})
    self.wait_text('.details', '4 nodes and 2 edges')
    self.open('graphs', graph={'run': 'train', 'tag': '', 'placed': False, 'stage': 2})
    self.wait_text('.details', '68 nodes')


if __name__ == '__main__':
  unittest.main()
