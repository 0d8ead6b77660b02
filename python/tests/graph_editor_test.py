"""contrib.graph_editor: what is selected, which inputs move, what copies are made of."""
import unittest

import leat as tf

ge = tf.contrib.graph_editor


def names(items):
  return [i.name for i in items]


class GraphEditorTest(unittest.TestCase):

  def setUp(self):
    self.graph = tf.Graph()
    self.enterContext(self.graph.as_default())
    with tf.name_scope('in'):
      self.a = tf.constant([1.0, 2.0], name='a')
      self.b = tf.constant([3.0, 4.0], name='b')
    with tf.name_scope('net'):
      self.sum = tf.add(self.a, self.b, name='sum')
      self.square = tf.square(self.sum, name='square')
    self.out = tf.negative(self.square, name='out')

  def _run(self, fetch):
    with tf.Session(graph=self.graph) as session:
      return session.run(fetch)

  def test_by_names(self):
    self.assertEqual(names(ge.select_ops('^net/', graph=self.graph)), ['net/sum', 'net/square'])
    self.assertEqual(names(ge.select_ops(self.out.op, 'in/a', graph=self.graph)), ['out', 'in/a'])
    self.assertEqual(names(ge.select_ts('s.*:0$', graph=self.graph)), ['net/sum:0', 'net/square:0'])
    self.assertEqual(names(ge.get_name_scope_ops(self.graph, 'net/')), ['net/sum', 'net/square'])
    self.assertEqual(names(ge.filter_ts_from_regex([self.square.op], 'square|in')),
                     ['net/square:0'])
    self.assertEqual(names(ge.filter_ts([self.square.op], True)), ['net/sum:0', 'net/square:0'])
    self.assertEqual(len(ge.get_tensors(self.graph)), 5)
    with self.assertRaisesRegex(ValueError, "keyword argument 'graph'"):
      ge.select_ops('net')
    with self.assertRaisesRegex(TypeError, 'Expected a tf.Operation'):
      ge.filter_ops([self.a], True)

  def test_walks(self):
    forward, backward = ge.get_forward_walk_ops, ge.get_backward_walk_ops
    self.assertEqual(names(forward(self.a)), ['net/sum', 'net/square', 'out'])
    self.assertEqual(names(forward(self.a.op, inclusive=False)), ['net/sum', 'net/square', 'out'])
    self.assertEqual(names(forward(self.a.op, stop_at_ts=[self.square])),
                     ['in/a', 'net/sum', 'net/square'])
    self.assertEqual(names(forward(self.a, within_ops=[self.sum.op, self.out.op])), ['net/sum'])
    self.assertEqual(names(backward(self.square, within_ops_fn=lambda op: op.name != 'in/b')),
                     ['net/square', 'net/sum', 'in/a'])
    with tf.control_dependencies([self.a]):
      late = tf.no_op('late')
    self.assertEqual(names(backward(late)), ['late'])
    self.assertEqual(names(backward(late, control_inputs=True)), ['late', 'in/a'])
    waiting = ge.ControlOutputs(self.graph)
    self.assertIn(late, forward(self.a.op, control_outputs=waiting))
    self.assertEqual(names(ge.get_walks_intersection_ops(self.sum.op, self.square.op)),
                     ['net/sum', 'net/square'])
    self.assertEqual(len(ge.get_walks_union_ops(self.square, self.sum)), 4)

  def test_views(self):
    view = ge.make_view_from_scope('net', self.graph)
    self.assertEqual([names(view.inputs), names(view.outputs)],
                     [['in/a:0', 'in/b:0'], ['net/square:0']])
    self.assertEqual(names(view.consumers()), ['out'])
    self.assertEqual((view.input_index(self.b), view.output_index(self.square)), (1, 0))
    self.assertIs(view.find_op_by_name('net/sum'), self.sum.op)
    with self.assertRaisesRegex(ValueError, "Can't find net/sum:0 in input list"):
      view.input_index(self.sum)
    tf.identity(self.sum)   # now an operation outside takes it
    self.assertEqual(names(ge.sgv(view.ops).outputs), ['net/sum:0', 'net/square:0'])
    with self.assertRaisesRegex(ValueError, 'one graph'):
      with tf.Graph().as_default():
        ge.SubGraphView([self.sum.op, tf.no_op()])

  def test_rerouting(self):
    other = tf.constant([10.0, 20.0])
    late = tf.square(self.sum)
    self.assertEqual(ge.reroute_ts([other], [self.sum], can_modify=[self.square.op]), 1)
    self.assertEqual(self._run([self.out, late])[0].tolist(), [-100, -400])
    self.assertEqual(self._run(late).tolist(), [16, 36])
    self.assertEqual(ge.reroute_ts(other, self.sum, cannot_modify=[late.op]), 0)
    self.assertEqual(ge.swap_ts(other, self.sum), 2)
    self.assertEqual([x.tolist() for x in self._run([self.out, late])], [[-16, -36], [100, 400]])
    with self.assertRaisesRegex(ValueError, 'cannot take the place'):
      ge.reroute_ts(tf.constant([1, 2]), self.sum)
    with self.assertRaisesRegex(ValueError, '1 != 2'):
      ge.reroute_ts([other], [self.sum, self.a])

  def test_each_input_moves(self):
    first, second = tf.split(tf.constant([1.0, 2.0, 3.0, 4.0]), 2)
    square, difference = first * first, first - second
    self.assertEqual(ge.reroute_ts(self.b, first), 3)
    self.assertEqual(self._run([square, difference])[0].tolist(), [9, 16])
    self.assertEqual(self._run(difference).tolist(), [3 - 3, 4 - 4])

  def test_control_inputs(self):
    late = tf.no_op('late')
    ge.add_control_inputs(late, [self.a.op, self.b.op])
    ge.remove_control_inputs(late, self.a.op)
    self.assertEqual(late.control_inputs, [self.b.op])
    with self.assertRaisesRegex(ValueError, 'already a control_input'):
      ge.add_control_inputs(late, self.b.op)
    with self.assertRaisesRegex(ValueError, 'not a control_input'):
      ge.remove_control_inputs(late, self.a.op)

  def test_copies(self):
    with tf.name_scope('elsewhere'):
      view, info = ge.copy(ge.sgv_scope('net', self.graph), dst_scope='again', src_scope='net')
    self.assertEqual(names(view.ops), ['again/sum', 'again/square'])
    self.assertEqual(names(view.inputs), ['in/a:0', 'in/b:0'])
    copy = info.transformed(self.square)
    self.assertEqual(self._run(copy).tolist(), [16, 36])
    self.assertEqual((info.original(copy), info.transformed(self.out)), (self.square, None))
    self.assertEqual(info.transformed({'x': [self.sum.op]}), {'x': [view.op(0)]})
    view, _ = ge.copy([self.square.op], dst_scope='again')
    self.assertEqual(names(view.ops), ['again_1/net/square'])
    product = tf.matmul([[1.0, 2.0]], [[3.0, 4.0]], transpose_b=True)
    product = ge.copy(ge.get_backward_walk_ops(product))[1].transformed(product)
    self.assertEqual(self._run(product).tolist(), [[11]])
    view, _ = ge.copy([self.square.op])
    self.assertEqual(names(view.ops), ['net/square_1'])
    with self.assertRaisesRegex(ValueError, 'does not belong to source scope'):
      ge.copy([self.out.op], src_scope='net')

  def test_a_copy_in_another_graph(self):
    with tf.control_dependencies([self.sum]), tf.device('/cpu:0'):
      late = tf.identity(self.square, name='late')
    other = tf.Graph()
    view, info = ge.copy([self.sum.op, self.square.op, late.op], dst_graph=other)
    self.assertEqual(names(view.inputs), ['geph__a_0:0', 'geph__b_0:0'])
    copy = info.transformed(late)
    self.assertEqual((names(copy.op.control_inputs), copy.op.device),
                     (['net/sum'], late.op.device))
    with tf.Session(graph=other) as session:
      self.assertEqual(session.run(copy, {t: [1, 1] for t in view.inputs}).tolist(), [4, 4])

  def test_replaced_inputs(self):
    found, kept = ge.graph_replace([self.out, self.b], {self.sum: tf.constant([5.0, 6.0])}, 'new')
    self.assertEqual(found.op.name, 'new/out')
    self.assertIs(kept, self.b)
    self.assertEqual(self._run(found).tolist(), [-25, -36])
    self.assertEqual(self._run(self.out).tolist(), [-16, -36])
    with self.assertRaisesRegex(ValueError, 'not connected'):
      ge.graph_replace(self.sum, {self.square: self.a})

  def test_loops_are_refused(self):
    tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    with self.assertRaisesRegex(ValueError, 'it is in a loop'):
      ge.copy(self.graph.get_operations()[::-1], dst_scope='c')

  def test_detached_inputs(self):
    with tf.control_dependencies([self.a]):
      late = tf.identity(self.sum)
    _, made = ge.detach_inputs([self.sum.op, late.op], control_inputs=True)
    self.assertEqual(names(made), ['geph__a_0:0', 'geph__b_0:0'])
    self.assertEqual(late.op.control_inputs, [])
    with tf.Session(graph=self.graph) as session:
      self.assertEqual(session.run(late, dict.fromkeys(made, [1, 2])).tolist(), [2, 4])

  def test_a_gradient_that_computes_the_forward_pass_again(self):
    x = tf.get_variable('x', initializer=[0.5, 1.5])
    middle = tf.tanh(x * 2.0, name='middle')
    loss = tf.reduce_sum(tf.sin(middle) * middle)
    plain, = tf.gradients(loss, x)
    again = tf.gradients(loss, x)[0]
    backward = ge.get_backward_walk_ops(again.op, within_ops_fn=lambda op: op.name.startswith(
        'gradients_1'))
    copied, info = ge.copy_with_input_replacements(
        ge.sgv(ge.get_walks_intersection_ops(x.op, loss.op)[1:]), {}, dst_scope='recomputed')
    ge.reroute_ts(list(info._transformed_ts.values()), list(info._transformed_ts),
                  can_modify=backward)
    self.assertIn(info.transformed(middle),
                  [t for op in backward for t in op.inputs])
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      first, second = session.run([plain, again])
    self.assertEqual(first.tolist(), second.tolist())


if __name__ == '__main__':
  unittest.main()
