"""Handles, names, scopes, devices, control inputs, errors: what building a graph promises."""
import gc
import unittest
import weakref

import leat as tf


class HandleTest(unittest.TestCase):

  def test_a_tensor_is_itself(self):
    with tf.Graph().as_default() as graph:
      a = tf.constant(1.0, name='a')
      b = a + 2.0
      self.assertIs(b.op.inputs[0], a)
      self.assertIs(graph.get_tensor_by_name('a:0'), a)
      self.assertIs(graph.get_operation_by_name('a'), a.op)
      self.assertIs(a.op.outputs[0], a)
      self.assertEqual([op.name for op in graph.get_operations()], ['a', 'add/y', 'add'])

  def test_graphs_are_freed(self):
    graph = tf.Graph()
    with graph.as_default():
      op = (tf.constant([1.0]) * 2.0).op
    seen = weakref.ref(graph)
    del graph
    gc.collect()
    self.assertIsNotNone(seen())  # an operation keeps its graph
    self.assertEqual(op.type, 'Mul')
    del op
    gc.collect()
    self.assertIsNone(seen())

  def test_shapes_are_the_librarys(self):
    with tf.Graph().as_default():
      x = tf.placeholder(tf.float32, [None, 3])
      x.set_shape([5, None])
      self.assertEqual(x.get_shape().as_list(), [5, 3])
      self.assertEqual((x + 1.0).get_shape().as_list(), [5, 3])
      with self.assertRaises(ValueError):
        x.set_shape([4, 3])


class NameTest(unittest.TestCase):

  def test_names_of_tensorflow_1(self):
    with tf.Graph().as_default() as graph:
      self.assertEqual(tf.constant(1).name, 'Const:0')
      self.assertEqual(tf.constant(1).name, 'Const_1:0')
      with tf.name_scope('layer') as scope:
        self.assertEqual(scope, 'layer/')
        self.assertEqual(tf.constant(1, name='w').name, 'layer/w:0')
      with tf.name_scope('Layer') as scope:
        self.assertEqual(scope, 'Layer_1/')
      with tf.name_scope('layer/'):
        self.assertEqual(tf.constant(1, name='w').name, 'layer/w_1:0')
      self.assertEqual(graph.unique_name('layer', mark_as_used=False), 'layer_2')
      tf.import_graph_def(tf.Graph().as_graph_def(), name='')
      with tf.name_scope('a'):
        with tf.name_scope(None):
          self.assertEqual(tf.constant(1, name='root').name, 'root:0')

  def test_bad_names(self):
    with tf.Graph().as_default():
      with self.assertRaisesRegex(ValueError, 'not a valid'):
        tf.constant(1, name='a b')
      with self.assertRaisesRegex(ValueError, 'not a valid root scope name'):
        with tf.name_scope('-x'):
          pass


class SettingTest(unittest.TestCase):

  def test_devices_are_merged(self):
    with tf.Graph().as_default():
      with tf.device('/job:ps/task:1'):
        with tf.device('/cpu:0'):
          self.assertEqual(tf.constant(1).device, '/job:ps/task:1/device:CPU:0')
        with tf.device(lambda op: '/job:worker' if op.type == 'Const' else ''):
          self.assertEqual(tf.constant(1).device, '/job:worker/task:1')
        with tf.device(None):
          self.assertEqual(tf.constant(1).device, '')

  def test_control_inputs(self):
    with tf.Graph().as_default():
      a, b = tf.constant(1, name='a'), tf.constant(2, name='b')
      with tf.control_dependencies([a, b.op, a]):
        c = tf.identity(a, name='c')
        d = tf.identity(c, name='d')
        with tf.control_dependencies(None):
          e = tf.constant(3)
      # a is an input of c already, and d waits for b through c.
      self.assertEqual([op.name for op in c.op.control_inputs], ['b'])
      self.assertEqual(d.op.control_inputs, [])
      self.assertEqual(e.op.control_inputs, [])

  def test_what_others_wait_for_is_marked(self):
    with tf.Graph().as_default() as graph:
      a, b = tf.constant(1, name='a'), tf.constant(2, name='b')
      tf.control_dependencies([a])
      tf.group(b, tf.identity(a, name='c'), name='d')
      tf.cond(tf.placeholder(tf.bool, [], name='p'), lambda: a + 1, lambda: b)
      marked = [n.name for n in graph.as_graph_def().node
                if n.attr['_has_manual_control_dependencies'].b]
    self.assertEqual(marked, ['a', 'b', 'c'])

  def test_colocation(self):
    with tf.Graph().as_default():
      a = tf.constant(1, name='a')
      with tf.colocate_with(a):
        b = tf.constant(2, name='b')
      self.assertEqual(b.op.colocation_groups(), [b'loc:@a'])

  def test_container(self):
    with tf.Graph().as_default() as graph, graph.container('box'):
      self.assertEqual(tf.FIFOQueue(1, tf.float32).queue_ref.op.get_attr('container'), b'box')


class ErrorTest(unittest.TestCase):

  def test_types_that_do_not_fit(self):
    with tf.Graph().as_default():
      with self.assertRaisesRegex(TypeError, "Input 'b' of 'MatMul' Op has type int32 that does "
                                             "not match type float32 of argument 'a'."):
        tf.raw_ops.MatMul(a=[[1.0]], b=tf.constant([[1]]))
      with self.assertRaisesRegex(TypeError, 'not in list of allowed values: '):
        tf.raw_ops.MatMul(a=[['x']], b=[['y']])
      with self.assertRaisesRegex(TypeError, 'Expected int32, but got 1.5 of type \'float\'.'):
        tf.constant(1.5, tf.int32)

  def test_a_failed_operation_leaves_the_graph_alone(self):
    with tf.Graph().as_default() as graph:
      a = tf.constant([1.0, 2.0])
      before = len(graph.get_operations())
      with self.assertRaises(ValueError):
        tf.raw_ops.AddV2(x=a, y=tf.constant([1.0, 2.0, 3.0], name='b'))
      with self.assertRaises(TypeError):
        graph.add('AddV2', 'c', [a, 'no tensor'])
      with self.assertRaises(TypeError):
        graph.add('NoOp', 'd', [], [('_note', 'i', 'no integer')])
      names = [op.name for op in graph.get_operations()[before:]]
      self.assertEqual(names, ['b'])

  def test_errors_of_steps_name_the_line(self):
    with tf.Graph().as_default(), tf.Session() as session:
      x = tf.placeholder(tf.float32, [2], name='in')
      y = x * 2.0
      with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
        session.run(y)
    self.assertEqual(caught.exception.op.name, 'in')
    self.assertEqual(caught.exception.error_code, tf.errors.INVALID_ARGUMENT)
    self.assertEqual(caught.exception.node_def.op, 'Placeholder')
    self.assertRegex(str(caught.exception), r'graph_test.py:\d+, in test_errors_of_steps')

  def test_finalized_graphs_do_not_grow(self):
    graph = tf.Graph()
    graph.finalize()
    with graph.as_default(), self.assertRaisesRegex(RuntimeError, 'finalized'):
      tf.constant(1)


if __name__ == '__main__':
  unittest.main()
