"""Names of the nodes that tf.gradients adds, as TensorFlow 1 gives them."""
import unittest

import leat as tf


def _names(graph, op_type):
  return [op.name for op in graph.get_operations() if op.type == op_type]


class GradientNamesTest(unittest.TestCase):

  def test_sums_are_numbered_in_the_scope_of_all_gradients(self):
    with tf.Graph().as_default() as graph:
      x = tf.placeholder(tf.float32, [2], name='x')
      y = tf.exp(x, name='y')
      tf.gradients(y * x + tf.sin(y), x)
    self.assertEqual(_names(graph, 'AddN'), ['gradients/AddN', 'gradients/AddN_1'])

  def test_a_scope_around_the_gradients_is_before_their_own(self):
    with tf.Graph().as_default() as graph, tf.name_scope('train'):
      x = tf.placeholder(tf.float32, [2], name='x')
      tf.gradients(x * x, x, name='slopes')
    self.assertEqual(_names(graph, 'AddN'), ['train/slopes/AddN'])

  def test_sums_of_rows_are_there_too(self):
    with tf.Graph().as_default() as graph:
      table = tf.Variable(tf.zeros([5, 2]), name='table')
      y = tf.gather(table, [0, 1]) + tf.gather(table, [1, 2])
      tf.gradients(y, table)
    self.assertEqual([name.rpartition('/')[0] for name in _names(graph, 'ConcatV2')],
                     ['gradients/GatherV2_grad', 'gradients/GatherV2_1_grad', 'gradients',
                      'gradients'])

  def test_results_have_the_names_that_tensorflow_gives(self):
    x, y = (lambda: tf.placeholder(tf.float32, [2, 3])), (lambda: tf.placeholder(tf.float32, [3]))
    rows = lambda: tf.placeholder(tf.float32, [None, 3])
    for make, inputs, names in (
        (lambda a, b: a * b, (x, x), 'mul_grad/Mul mul_grad/Mul_1'),
        (lambda a, b: a * b, (x, y), 'mul_grad/Mul mul_grad/Reshape'),
        (lambda a, b: a + b, (x, y), 'grad_ys_0 add_grad/Reshape'),
        (lambda a, b: a / b, (x, x), 'truediv_grad/RealDiv truediv_grad/mul'),
        (tf.maximum, (x, x), 'Maximum_grad/SelectV2 Maximum_grad/SelectV2_1'),
        (lambda a: tf.nn.softmax(a), (x,), 'Softmax_grad/mul_1'),
        (lambda a: tf.nn.log_softmax(a), (x,), 'LogSoftmax_grad/sub'),
        (tf.log, (x,), 'Log_grad/mul'), (tf.exp, (x,), 'Exp_grad/mul'),
        (tf.square, (x,), 'Square_grad/Mul_1'), (tf.nn.softplus, (x,), 'Softplus_grad/mul'),
        (tf.reduce_mean, (x,), 'Mean_grad/truediv'),
        (tf.transpose, (x,), 'transpose_grad/transpose'),
        (lambda a: tf.unstack(a)[0], (x,), 'unstack_grad/stack'),
        (lambda a: tf.split(a, 3, 1)[0], (x,), 'split_grad/concat'),
        (lambda a, b: tf.stack([a, b]), (x, x), 'stack_grad/unstack stack_grad/unstack'),
        (tf.nn.l2_loss, (x,), 'L2Loss_grad/mul'),
        (lambda a: tf.reduce_prod(a, 1), (x,), 'Prod_grad/Reshape_4'),
        (lambda a: tf.reduce_prod(a, 1, keepdims=True), (x,), 'Prod_grad/Reshape_4'),
        (lambda a: tf.tile(a, [2, 1]), (x,), 'Tile_grad/Sum'),
        (tf.reduce_sum, (rows,), 'Sum_grad/Tile'),
        (lambda a: tf.reduce_sum(a, 1), (rows,), 'Sum_grad/BroadcastTo'),
        (lambda a: tf.gather(a, [0, 1], axis=1), (x,), 'GatherV2_grad/Reshape_2'),
        (tf.matrix_diag, (x,), 'diag_grad/diag_part'),
        (tf.atan2, (x, x), 'Atan2_grad/mul Atan2_grad/mul_1'),
        (lambda a: tf.nn.dropout(a, 0.5), (x,), 'dropout/Mul_grad/Mul'),
        (lambda a: tf.nn.dropout(a, rate=tf.placeholder(tf.float32, [])), (x,),
         'dropout/RealDiv_grad/RealDiv')):
      with tf.Graph().as_default():
        given = [i() for i in inputs]
        found = [g.op.name for g in tf.gradients(make(*given), given)]
      wanted = ['gradients/' + name for name in names.split()]
      self.assertEqual(found, wanted)

  def test_rows_have_the_names_that_tensorflow_gives(self):
    with tf.Graph().as_default():
      found, = tf.gradients(tf.gather(tf.placeholder(tf.float32, [2, 3], name='x'), [0]),
                            tf.get_default_graph().get_tensor_by_name('x:0'))
    self.assertEqual([found.values.op.name, found.indices.op.name, found.dense_shape.op.name],
                     ['gradients/GatherV2_grad/' + name
                      for name in ('Reshape', 'Reshape_1', 'Shape')])

  def test_the_gradient_of_a_tile_has_its_shape(self):
    with tf.Graph().as_default():
      for shape, known in ((None, None), ([None, 3], [None, 3])):
        x = tf.placeholder(tf.float32, shape)
        found, = tf.gradients(tf.tile(x, tf.placeholder(tf.int64, [2])), x)
        sizes = found.get_shape()
        self.assertEqual(None if sizes.ndims is None else sizes.as_list(), known)

  def test_results_of_common_functions_have_the_names_that_tensorflow_gives(self):
    x = lambda: tf.placeholder(tf.float32, [2, 3])
    for make, name in (
        (lambda: tf.nn.dropout(x(), 0.5), 'dropout/SelectV2'),
        (lambda: tf.random_uniform([2]), 'random_uniform/RandomUniform'),
        (lambda: tf.random_uniform([2], 0, 2), 'random_uniform/Mul'),
        (lambda: tf.random_uniform([2], -1, 1), 'random_uniform'),
        (lambda: tf.random_uniform([2], 0, 5, tf.int32), 'random_uniform'),
        (lambda: tf.nn.embedding_lookup(x(), [0]), 'embedding_lookup/Identity'),
        (lambda: tf.nn.embedding_lookup([x(), x()], [0]), 'embedding_lookup/Reshape_1'),
        (lambda: tf.nn.in_top_k(x(), [0, 1], 1), 'in_top_k/InTopKV2'),
        (lambda: tf.eye(3), 'eye/diag'), (lambda: tf.eye(3, 2), 'eye/set_diag'),
        (lambda: tf.image.adjust_brightness(tf.zeros([2, 2, 3]), 0.1),
         'adjust_brightness/Identity')):
      with tf.Graph().as_default():
        self.assertEqual(make().op.name, name)

  def test_given_gradients_are_in_the_same_scope(self):
    with tf.Graph().as_default():
      x = tf.placeholder(tf.float32, [2])
      for scope in ('gradients', 'gradients_1'):
        found, = tf.gradients(tf.exp(x, name='y'), x, grad_ys=[[1., 2.]])
        self.assertEqual(found.op.inputs[0].op.name, scope + '/grad_ys_0')
        self.assertRegex(found.op.name, scope + '/y(_1)?_grad/mul')

  def test_a_depthwise_convolution_has_the_name_of_its_scope(self):
    with tf.Graph().as_default():
      y = tf.nn.depthwise_conv2d(tf.zeros([1, 4, 4, 2]), tf.zeros([2, 2, 2, 3]), [1] * 4, 'SAME',
                                 name='d')
    self.assertEqual(y.op.name, 'd')


if __name__ == '__main__':
  unittest.main()
