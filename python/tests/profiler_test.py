"""Counts of parameters and of floating-point operations."""
import contextlib
import io
import os
import tempfile
import unittest

import leat as tf

Builder = tf.profiler.ProfileOptionBuilder


class ProfilerTest(unittest.TestCase):

  def setUp(self):
    default = tf.Graph().as_default()
    self.graph = default.__enter__()
    self.addCleanup(default.__exit__, None, None, None)
    tf.get_variable('w', [3, 4])
    with tf.variable_scope('net'):
      tf.get_variable('b', [5])
      tf.get_variable('s', [], use_resource=True)
      tf.get_variable('fixed', [7], trainable=False)

  def test_parameters_by_scope(self):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
      root = tf.profiler.profile()
    self.assertEqual(root.total_parameters, 18)
    self.assertEqual([(c.name, c.total_parameters) for c in root.children], [('net', 6), ('w', 12)])
    self.assertIn('\n  net (--/6 params)\n    net/b (5, 5/5 params)\n    net/s (1, 1/1 params)\n'
                  '  w (3x4, 12/12 params)\n', shown.getvalue())
    again = type(root).FromString(root.SerializeToString())
    self.assertEqual(again.children[0].children[1].name, 'net/s')

  def test_what_is_hidden_may_count(self):
    quiet = Builder(Builder.trainable_variables_parameter()).with_empty_output()
    large = quiet.with_min_parameters(6).build()
    self.assertEqual(tf.profiler.profile(options=large).total_parameters, 12)
    large = quiet.account_displayed_op_only(False).build()
    self.assertEqual(tf.profiler.profile(options=large).total_parameters, 18)
    below = Builder(Builder.trainable_variables_parameter()).with_empty_output().with_node_names(
        start_name_regexes=['net'], hide_name_regexes=['.*/s']).build()
    root = tf.profiler.profile(options=below)
    self.assertEqual((root.total_parameters, root.children[0].name), (5, 'net'))

  def test_operations_by_op(self):
    tf.matmul(tf.ones([2, 3]), tf.ones([4, 3]), transpose_b=True)
    x = tf.placeholder(tf.float32, [None, 3])
    tf.matmul(x, tf.ones([3, 3]))   # of an unknown shape, it counts nothing
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'table')
      options = Builder(Builder.float_operation()).with_accounted_types(['MatMul'])
      root = tf.profiler.profile(cmd='op', options=options.with_file_output(path).build())
      with open(path, encoding='utf-8') as f:
        self.assertIn('48 float_ops (100.00%, 100.00%)', f.read())
    self.assertEqual(root.total_float_ops, 48)
    self.assertEqual([n.float_ops for n in root.children[0].graph_nodes], [48, 0])

  def test_other_views_are_refused(self):
    with self.assertRaisesRegex(ValueError, 'scope and op'):
      tf.profiler.profile(cmd='code')
    with self.assertRaisesRegex(ValueError, 'micros'):
      tf.profiler.profile(options=Builder().build())


if __name__ == '__main__':
  unittest.main()
