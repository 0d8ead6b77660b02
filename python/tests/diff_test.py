"""`leat diff`: where two graphs, or a graph and a recording, begin to differ."""
import json
import os
import subprocess
import tempfile
import unittest
import zipfile

import numpy as np

import leat as tf
from leat import _tool

FEED = ['--feed', 'x=[[1,2,3,4]]']


@unittest.skipUnless(os.path.exists(_tool.path()), 'the tool is not built')
class DiffTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name

  def path(self, name):
    return os.path.join(self.folder, name)

  def graph(self, name, build):
    """Writes the graph that a function builds; gives its path."""
    with tf.Graph().as_default() as graph:
      build()
      tf.variables_initializer(tf.global_variables(), name='init')
    with open(self.path(name), 'wb') as f:
      f.write(graph.as_graph_def().SerializeToString())
    return self.path(name)

  @staticmethod
  def layers(factor=2.0, scope='layer2'):
    def build():
      x = tf.placeholder(tf.float32, [None, 4], name='x')
      w = tf.get_variable('layer1/w', initializer=np.ones([4, 3], np.float32))
      h = tf.nn.relu(tf.matmul(x, w, name='layer1/product'), name='layer1/relu')
      y = tf.multiply(h, tf.constant(factor, name='c'), name=scope + '/scaled')
      tf.reduce_mean(y, name='loss')
    return build

  def run_tool(self, *arguments):
    done = subprocess.run([_tool.path(), 'diff', *arguments], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout + done.stderr

  def diff(self, *arguments):
    """The result as JSON says it."""
    code, out = self.run_tool(*arguments, '--json')
    self.assertIn(code, (0, 1), out)
    found = json.loads(out)
    self.assertEqual(code, 0 if found['first'] is None else 1)
    return found

  def test_equal_graphs(self):
    a, b = self.graph('a.pb', self.layers()), self.graph('b.pb', self.layers())
    found = self.diff(a, b, *FEED, '--init', 'init')
    self.assertEqual((found['first'], found['compared'], found['missing']),
                     (None, found['equal'], 0))
    self.assertGreater(found['compared'], 5)
    code, out = self.run_tool(a, b, *FEED, '--init', 'init')
    self.assertEqual(code, 0)
    self.assertIn('all %d are equal' % found['compared'], out)

  def test_the_first_that_differs(self):
    a, b = self.graph('a.pb', self.layers()), self.graph('b.pb', self.layers(2.5))
    found = self.diff(a, b, *FEED, '--init', 'init', '--fetch', 'loss')
    self.assertEqual((found['first']['name'], found['first']['largest']), ('c', 0.5))
    self.assertEqual(found['first']['at'], [])
    code, out = self.run_tool(a, b, *FEED, '--init', 'init', '--svg', self.path('w.svg'))
    self.assertEqual(code, 1)
    self.assertIn('the first that differs: c:0 (Const)', out)
    self.assertIn('at []: A 2, B 2.5', out)
    self.assertIn('! read by layer2/scaled (Mul): differs by 5', out)
    with open(self.path('w.svg'), encoding='utf-8') as f:
      self.assertIn('<g class="node marked"><title>c\nConst</title>', f.read())

  def test_the_order_is_that_of_computation(self):
    def build(first, second):
      def inner():
        early = tf.add(tf.constant(1.0), first, name='early')
        tf.add(early, second, name='late')
      return inner
    a = self.graph('a.pb', build(1.0, 1.0))
    found = self.diff(a, self.graph('b.pb', build(1.0, 2.0)))
    self.assertEqual(found['first']['name'], 'late/y')
    found = self.diff(a, self.graph('c.pb', build(3.0, 2.0)), '--feed', 'early/y=1')
    self.assertEqual(found['first']['name'], 'late/y')
    found = self.diff(a, self.graph('d.pb', build(3.0, 2.0)))
    self.assertEqual(found['first']['name'], 'early/y')

  def test_nothing_is_computed_for_what_is_fed(self):
    a, b = self.graph('a.pb', self.layers()), self.graph('b.pb', self.layers(2.5))
    found = self.diff(a, b, '--feed', 'layer1/relu=[[1,2,3]]', '--feed', 'c=4')
    self.assertEqual((found['first'], found['compared']), (None, 3))

  def test_loops_and_branches_are_passed_over(self):
    def build(step):
      def inner():
        n = tf.constant(2.0, name='n') * 3.0
        _, total = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + n * step),
                                 [0, 0.0])
        chosen = tf.cond(total > 1.0, lambda: total * 2.0, lambda: total - 1.0)
        tf.identity(chosen, name='end')
      return inner
    a = self.graph('a.pb', build(1.0))
    self.assertIsNone(self.diff(a, a)['first'])
    found = self.diff(a, self.graph('b.pb', build(2.0)))['first']
    self.assertEqual((found['op'], found['largest']), ('Exit', 18.0))
    names = self.run_tool(a, '--list')[1].split()
    self.assertLess(names.index('mul:0'), names.index('while/Exit_1:0'))  # captured in the body
    self.assertIn('cond/Merge:0', names)
    self.assertFalse([n for n in names if 'cond/mul' in n or 'while/Less' in n], names)

  def test_shapes_types_and_numbers(self):
    types = {int: tf.int64, complex: tf.complex64}
    cases = [
        ([1.0, 2.0], [1.0, 2.0, 3.0], 'shape'), ([1.0], [1], 'type'),
        ([1, 2 ** 62 + 1], [1, 2 ** 62], 'value'), (['a', 'b'], ['a', 'c'], 'value'),
        ([True], [False], 'value'), ([float('nan')], [0.0], 'value'),
        ([float('inf')], [-float('inf')], 'value'), ([1 + 2j], [1 + 3j], 'value'),
        ([float('nan'), -0.0], [float('nan'), 0.0], None), ([1.0], [1.00001], None),
        ([complex(float('inf'), 0.0), complex(float('nan'), 1)],
         [complex(float('inf'), -0.0), complex(float('nan'), 1.00001)], None),
        ([complex(float('nan'), 1)], [complex(float('nan'), 2)], 'value'),
        ([1.0], [1.001], 'value')]
    for x, y, kind in cases:
      a, b = (self.graph(name, lambda v=v: tf.constant(v, types.get(type(v[0])), name='v'))
              for name, v in (('a.pb', x), ('b.pb', y)))
      first = self.diff(a, b, '--fetch', 'v')['first']
      self.assertEqual(first and first['kind'], kind, (x, y))
    loose = self.diff(a, b, '--fetch', 'v', '--rtol', '0.01')
    self.assertIsNone(loose['first'])

  def test_names_and_what_is_missing(self):
    a = self.graph('a.pb', self.layers(scope='old/inner'))
    b = self.graph('b.pb', self.layers(scope='new/inner'))
    arguments = [a, b, *FEED, '--init', 'init']
    self.assertEqual(self.diff(*arguments)['missing'], 1)
    self.assertEqual(self.diff(*arguments, '--rename', 'old/=new/')['missing'], 0)
    c = self.graph('c.pb', lambda: tf.constant(1.0, name='alone'))
    self.assertIn('have no tensor in common', self.run_tool(c, b, '--fetch', 'alone')[1])

  def test_steps(self):
    def build(rate):
      def inner():
        v = tf.Variable(1.0, name='v')
        with tf.control_dependencies([tf.assign_sub(v, rate, name='train')]):
          tf.identity(v, name='after')
      return inner
    a, b = self.graph('a.pb', build(0.0)), self.graph('b.pb', build(0.00006))
    arguments = ['--init', 'init', '--fetch', 'after']
    self.assertIsNone(self.diff(a, a, *arguments, '--steps', '5')['first'])
    found = self.diff(a, b, *arguments, '--steps', '5', '--rtol', '1e-4', '--atol', '1e-4')
    self.assertEqual(found['step'], 4)

  def test_recordings(self):
    a, b = self.graph('a.pb', self.layers()), self.graph('b.pb', self.layers(2.5))
    code, out = self.run_tool(b, '--record', self.path('values'), *FEED, '--init', 'init')
    self.assertEqual(code, 0, out)
    value = np.load(self.path('values/layer1/relu:0.npy'))
    self.assertEqual(value.tolist(), [[10.0] * 3])
    # The recorded x is fed.
    self.assertIsNone(self.diff(b, self.path('values'), '--init', 'init')['first'])
    arrays = {'x:0': np.array([[1, 2, 3, 4]], 'f'), 'layer2/scaled:0': np.full([1, 3], 25, 'f'),
              'other:0': np.zeros(3)}
    for name, save in (('s.npz', np.savez), ('c.npz', np.savez_compressed)):
      save(self.path(name), **arrays)
      found = self.diff(a, self.path(name), '--init', 'init', '--fetch', 'loss')
      self.assertEqual((found['compared'], found['first']['name']), (1, 'layer2/scaled'))
      self.assertEqual((found['first']['largest'], found['missing']), (5.0, 7))

  def test_damaged_recordings(self):
    a, path = self.graph('a.pb', self.layers()), self.path('r.npz')
    np.savez_compressed(path, **{'layer1/relu:0': np.arange(3000).reshape(1000, 3).astype('f')})
    with open(path, 'rb') as f:
      whole = f.read()
    arguments = [a, path, *FEED, '--init', 'init']
    self.assertIn('the shapes differ', self.run_tool(*arguments)[1])
    for damaged in (b'', whole[:-30], b'PK\5\6' + b'\xff' * 18, whole[:100] + whole[140:],
                    whole[:60] + b'\0' * 40 + whole[100:]):
      with open(path, 'wb') as f:
        f.write(damaged)
      code, out = self.run_tool(*arguments)
      self.assertEqual(code, 1, out)
      self.assertRegex(out, 'r.npz: (this is no .npz file|the archive is damaged|a member of the '
                            'archive is damaged)')
    with zipfile.ZipFile(path, 'w') as archive:
      archive.writestr('layer1/relu:0.npy', b'no array')
    self.assertIn('this is no .npy file', self.run_tool(*arguments)[1])

  def test_misuse(self):
    a = self.graph('a.pb', self.layers())
    for arguments, part in (((), 'no graph is named'), ((a,), 'compared with nothing'),
                            ((a, a, a), 'two graphs at a time'),
                            ((a, a, '--rename', 'x'), "must be FROM=TO"),
                            ((a, a, '--rtol', '-1'), 'must be a number from 0'),
                            ((a, a, '--record', 'd'), '--record is for one graph')):
      code, out = self.run_tool(*arguments)
      self.assertEqual(code, 2, out)
      self.assertIn(part, out)
    code, out = self.run_tool(a, a, '--fetch', 'lost')
    self.assertEqual(code, 1)
    self.assertIn("lost", out)
    self.assertIn('You must feed a value', self.run_tool(a, a, '--init', 'init')[1])


if __name__ == '__main__':
  unittest.main()
