"""What notebooks show of objects, and the hook that shows how far training is."""
import io
import os
import sys
import tempfile
import types
import unittest
import xml.dom.minidom
from unittest import mock

import leat as tf
from leat import _tool
from leat._platform import notebook
from leat._train import progress_hook


def texts(html):
  """The texts of an XML fragment, in their order."""
  def walk(node):
    if node.nodeType == node.TEXT_NODE:
      yield node.data
    for child in node.childNodes:
      yield from walk(child)
  return [t.strip() for t in walk(xml.dom.minidom.parseString('<div>%s</div>' % html))
          if t.strip()]


class NotebookTest(unittest.TestCase):

  def setUp(self):
    tf.reset_default_graph()

  def test_tensors_operations_and_variables(self):
    x = tf.placeholder(tf.float32, [None, 3], name='x')
    w = tf.ones([3, 2], name='w')
    with tf.control_dependencies([tf.no_op(name='first')]), tf.device('/cpu:0'):
      y = tf.matmul(x, w, name='y')
    self.assertEqual(texts(x._repr_html_()),
                     ['Tensor', 'x:0', 'shape', '(?, 3)', 'type', 'float32', 'op', 'Placeholder'])
    shown = texts(y.op._repr_html_())
    self.assertEqual(shown[:6], ['Operation', 'y', 'op', 'MatMul', 'inputs',
                                 'x:0 float32 (?, 3), w:0 float32 (3, 2)'])
    self.assertEqual(shown[6:12], ['outputs', 'y:0 float32 (?, 2)', 'waits for', 'first',
                                   'device', '/device:CPU:0'])
    self.assertEqual(shown[12:16], ['T', 'float32', 'grad_a', 'False'])
    v = tf.Variable([1.0, 2.0], name='v', trainable=False)
    self.assertEqual(texts(v._repr_html_()), ['Variable', 'v:0', 'shape', '(2,)', 'type',
                                              'float32', 'trainable', 'False'])

  def test_texts_are_escaped_and_tables_end(self):
    self.assertIn('a&lt;b&gt;', notebook.table([('a<b>',)]))
    rows = texts(notebook.table([(n,) for n in range(203)]))
    self.assertEqual((len(rows), rows[-1]), (201, 'and 3 more'))

  @unittest.skipUnless(os.path.exists(_tool.path()), 'the tool is not built')
  def test_a_small_graph_is_drawn_whole(self):
    with tf.name_scope('layer'):
      tf.add(1.0, 2.0, name='sum')
    graph = tf.get_default_graph()
    self.assertIn('<title>layer/sum\nAddV2</title>', graph._repr_html_())
    self.assertEqual(texts(graph._repr_html_())[:2], ['Graph', 'of 3 operations'])

  @unittest.skipUnless(os.path.exists(_tool.path()), 'the tool is not built')
  def test_scopes_of_a_large_graph_are_closed(self):
    for scope in ('a', 'b'):
      with tf.name_scope(scope):
        for n in range(100):
          tf.constant(n, name='c%dx' % n)
    drawing = tf.get_default_graph()._repr_html_()
    self.assertIn('<title>a\n100 nodes</title>', drawing)
    self.assertNotIn('a/c', drawing)
    opened = notebook.draw(tf.get_default_graph(), ['a'])
    self.assertIn('<g class="scope s0 open"><title>a\n', opened)

  def test_a_graph_without_the_tool_is_a_table(self):
    tf.constant(1), tf.constant(2), tf.no_op()
    with mock.patch.object(_tool, 'path', lambda: '/nowhere/leat'):
      shown = texts(tf.get_default_graph()._repr_html_())
    self.assertEqual(shown, ['Graph', 'of 3 operations', 'op', 'how often', 'Const', '2', 'NoOp',
                             '1'])
    self.assertEqual(texts(tf.Graph()._repr_html_()), ['Graph', 'of 0 operations'])

  def test_checkpoints(self):
    tf.Variable(tf.zeros([10, 3]), name='w')
    tf.Variable(7, name='n', dtype=tf.int64)
    with tempfile.TemporaryDirectory() as folder, tf.Session() as sess:
      sess.run(tf.global_variables_initializer())
      path = tf.train.Saver().save(sess, os.path.join(folder, 'model'))
      shown = texts(tf.train.NewCheckpointReader(path)._repr_html_())
    self.assertEqual(shown, ['Checkpoint', path, ': 2 tensors, 31 elements, 128 bytes', 'tensor',
                             'type', 'shape', 'n', 'int64', '[]', 'w', 'float32', '[10, 3]'])


class Bar:
  """A bar that notes what is done with it."""

  def __init__(self, **arguments):
    self.arguments, self.calls = arguments, []

  def set_postfix_str(self, text, refresh):
    self.calls.append(text)

  def update(self, steps):
    self.calls.append(steps)

  def close(self):
    self.calls.append('closed')


class ProgressHookTest(unittest.TestCase):

  def setUp(self):
    tf.reset_default_graph()
    self.bars = []

  def make(self, **arguments):
    self.bars.append(Bar(**arguments))
    return self.bars[-1]

  def train(self, steps, **arguments):
    step = tf.train.get_or_create_global_step()
    with tf.control_dependencies([tf.constant(0.5, name='loss')]):
      train = tf.assign_add(step, 1)
    hook = tf.train.ProgressHook(**arguments)
    with tf.train.MonitoredSession(hooks=[hook]) as sess:
      for _ in range(steps):
        sess.run(train)

  def test_steps_are_counted_to_the_end(self):
    self.train(3, last_step=3, tensors={'loss': 'loss'}, description='training', bar=self.make)
    bar, = self.bars
    self.assertEqual(bar.arguments, {'total': 3, 'initial': 0, 'desc': 'training'})
    self.assertEqual(sum(c for c in bar.calls if isinstance(c, int)), 3)
    self.assertEqual(bar.calls[0], 'loss=0.5')
    self.assertEqual((bar.calls[-1], bar.calls.count('closed')), ('closed', 1))

  def test_tqdm_is_used_where_it_is_installed(self):
    auto = types.ModuleType('tqdm.auto')
    auto.tqdm = self.make
    with mock.patch.dict(sys.modules, {'tqdm': types.ModuleType('tqdm'), 'tqdm.auto': auto}):
      self.train(1)
    self.assertEqual(self.bars[0].arguments['total'], None)
    with mock.patch.dict(sys.modules, {'tqdm': None, 'tqdm.auto': None}):
      self.assertIs(progress_hook._default_bar(), progress_hook.Line)

  def test_a_new_session_has_a_new_bar(self):
    step = tf.train.get_or_create_global_step()
    hook = tf.train.ProgressHook(bar=self.make)
    hook.begin()
    for first in (4, 6):
      with tf.Session() as sess:
        sess.run(step.assign(first))
        hook.after_create_session(sess, None)
    self.assertEqual([b.arguments['initial'] for b in self.bars], [4, 6])
    self.assertEqual([b.calls for b in self.bars], [['closed'], []])

  def test_a_graph_without_a_step_is_refused(self):
    with self.assertRaisesRegex(RuntimeError, 'Global step should be created'):
      tf.train.ProgressHook().begin()

  def test_the_line(self):
    out, now = io.StringIO(), [10.0]
    line = progress_hook.Line(total=200, initial=100, desc='eval', out=out, clock=lambda: now[0])
    for _ in range(5):   # 0.25 s: the first, and each that is a tenth of a second later
      now[0] += 0.0625
      line.set_postfix_str('loss=%.2f' % now[0])
      line.update(5)
    line.close()
    self.assertEqual(out.getvalue().split('\r')[1:], [
        'eval: 52% 105/200 80.0 steps/s loss=10.06', 'eval: 57% 115/200 80.0 steps/s loss=10.19',
        'eval: 62% 125/200 80.0 steps/s loss=10.31', 'eval: 62% 125/200 80.0 steps/s loss=10.31\n'])


if __name__ == '__main__':
  unittest.main()
