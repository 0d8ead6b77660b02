"""Public names: where they are found, what importing loads, and standing in for tensorflow."""
import importlib
import subprocess
import sys
import unittest

import leat as tf


def _run(code):
  """What a program prints, in a process of its own."""
  return subprocess.run([sys.executable, '-c', code], check=True, capture_output=True,
                        text=True).stdout.split()


class NamespaceTest(unittest.TestCase):

  def test_one_thing_under_several_names(self):
    self.assertIs(tf.nn.sigmoid, tf.sigmoid)
    self.assertIs(tf.compat.v1.Session, tf.Session)
    self.assertIs(tf.compat.v1.nn.relu6, tf.nn.relu6)
    self.assertIs(importlib.import_module('leat.compat.v1.nn'), tf.nn)
    self.assertIn('reduce_sum', dir(tf))
    self.assertIn('relu6', dir(tf.nn))

  def test_names_that_are_not_there(self):
    with self.assertRaisesRegex(AttributeError, 'no_such_name'):
      tf.no_such_name
    with self.assertRaisesRegex(AttributeError, 'nn.no_such_name'):
      tf.nn.no_such_name
    with self.assertRaisesRegex(AttributeError, 'NoSuchOp'):
      tf.raw_ops.NoSuchOp
    with self.assertRaises(ImportError):
      import leat.python.framework.nothing  # noqa: F401

  def test_inner_modules_are_attributes_too(self):
    code = 'import leat as tf; from leat.python.training import moving_averages; ' \
           'print(tf.python.client.timeline.Timeline.__name__, moving_averages.__name__)'
    self.assertEqual(_run(code), ['Timeline', 'leat.python.training.moving_averages'])
    from leat.python.estimator import model_fn
    from leat.python.ops import control_flow_ops
    self.assertIs(model_fn.EstimatorSpec, tf.estimator.EstimatorSpec)
    self.assertEqual(control_flow_ops.with_dependencies.__name__, 'with_dependencies')

  def test_names_from_before_1_0(self):
    self.assertIs(tf.nn.deconv2d, tf.nn.conv2d_transpose)
    self.assertIs(tf.nn.seq2seq.sequence_loss, tf.contrib.legacy_seq2seq.sequence_loss)
    with tf.Graph().as_default(), tf.Session() as session:
      a, b = tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])
      self.assertEqual(session.run(tf.concat(1, [a, b])).tolist(), [[1, 2, 3, 4]])
      self.assertEqual(session.run(tf.neg(tf.mul(a, b))).tolist(), [[-3, -8]])
      self.assertEqual(session.run(tf.split(1, 2, a))[1].tolist(), [[2]])
      self.assertEqual(session.run(tf.batch_matmul(a, b, adj_y=True)).tolist(), [[11]])
      self.assertEqual(session.run(tf.select([True], a, b)).tolist(), [[1, 2]])
      with tf.name_scope('scope'):
        tf.scalar_summary('loss', 0.5)
      found = tf.Summary.FromString(session.run(tf.merge_all_summaries()))
    self.assertEqual([value.tag for value in found.value], ['loss'])

  def test_importing_loads_little(self):
    loaded = _run('import sys, leat as tf; print(*[m for m in sys.modules if m.startswith("leat") '
                  'or m == "numpy"])')
    self.assertEqual(sorted(loaded), ['leat', 'leat._leat', 'leat._namespace'])
    code = 'import sys, leat as tf; s = tf.Session(); s.run((tf.constant(2.0) * 3.0).op); ' \
           'print("numpy" in sys.modules)'
    self.assertEqual(_run(code), ['False'])

  def test_standing_in_for_tensorflow(self):
    code = 'import leat; leat.install_as_tensorflow()\n' \
           'import tensorflow as tf, tensorflow.compat.v1 as tf1\n' \
           'from tensorflow.python.framework import ops\n' \
           'ops.reset_default_graph()\n' \
           'print(tf.Session is leat.Session, tf1.nn.relu is tf.nn.relu, tf.__version__)'
    self.assertEqual(_run(code)[:2], ['True', 'True'])

  def test_wrappers_are_documented(self):
    import inspect
    self.assertIn('a: a tensor of type T (', tf.raw_ops.MatMul.__doc__)
    with self.assertRaisesRegex(TypeError, 'only takes keyword args'):
      tf.raw_ops.MatMul([[1.0]], [[1.0]])
    with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'c'"):
      tf.raw_ops.MatMul(a=[[1.0]], b=[[1.0]], c=1)
    self.assertTrue(inspect.isfunction(tf.acosh))


if __name__ == '__main__':
  unittest.main()
