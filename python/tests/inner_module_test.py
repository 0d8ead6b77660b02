"""Inner modules of TensorFlow that programs import by their path, and its tools."""
import contextlib
import importlib
import io
import os
import tempfile
import unittest

import leat as tf
import program


def _module(path):
  return importlib.import_module('leat.' + path)


class InnerModuleTest(unittest.TestCase):

  def test_names_of_a_namespace_and_of_the_top(self):
    array_ops, image_ops = _module('python.ops.array_ops'), _module('python.ops.image_ops')
    self.assertIs(array_ops.concat, tf.concat)
    self.assertIs(image_ops.resize_images, tf.image.resize_images)
    self.assertIs(image_ops.reshape, tf.reshape)
    self.assertIs(_module('python.training.optimizer').Optimizer, tf.train.Optimizer)
    self.assertIs(_module('python.layers.core').Dense, tf.layers.Dense)
    self.assertIs(_module('python.saved_model.tag_constants').SERVING,
                  tf.saved_model.tag_constants.SERVING)
    with self.assertRaisesRegex(AttributeError, 'no_such_name'):
      array_ops.no_such_name
    with self.assertRaises(ImportError):
      _module('python.ops.no_such_module')

  def test_a_module_goes_before_a_function_of_its_name(self):
    gradients, ops = _module('python.ops.gradients'), _module('python.ops')
    self.assertIs(ops.gradients, gradients)
    self.assertIs(gradients.gradients, tf.gradients)
    self.assertIs(_module('python.ops.template').make_template, tf.make_template)

  def test_names_that_only_an_inner_module_has(self):
    self.assertIs(_module('python.ops.init_ops').Zeros, tf.zeros_initializer)
    self.assertIs(_module('python.lib.io.file_io').file_exists, tf.gfile.Exists)
    self.assertEqual(_module('python.framework.versions').VERSION, tf.VERSION)
    moving_averages = _module('python.training.moving_averages')
    self.assertIs(moving_averages.ExponentialMovingAverage, tf.train.ExponentialMovingAverage)
    self.assertEqual(moving_averages.assign_moving_average.__name__, 'assign_moving_average')

  def test_modules_below_contrib(self):
    self.assertIs(tf.contrib.framework.python.ops.arg_scope, tf.contrib.framework.arg_scope)
    self.assertIs(tf.contrib.layers.python.layers.layers.conv2d, tf.contrib.layers.conv2d)
    self.assertIs(_module('contrib.slim.python.slim.nets.vgg').vgg_16,
                  tf.contrib.slim.nets.vgg.vgg_16)

  def test_wrappers_of_ops(self):
    gen_nn_ops = _module('python.ops.gen_nn_ops')
    with tf.Graph().as_default(), tf.Session() as session:
      slope = gen_nn_ops._relu_grad([2.0, 3.0], [1.0, -1.0])
      self.assertEqual(slope.op.type, 'ReluGrad')
      self.assertEqual(session.run(slope).tolist(), [2, 0])
    with self.assertRaises(AttributeError):
      gen_nn_ops.no_such_op

  def test_messages(self):
    self.assertIs(_module('core.framework.graph_pb2').GraphDef, tf.GraphDef)
    self.assertIs(_module('core.protobuf.config_pb2').ConfigProto, tf.ConfigProto)
    self.assertIs(_module('core.example.example_pb2').Example, tf.train.Example)
    types = _module('core.framework.types_pb2')
    self.assertEqual((types.DT_FLOAT, types.DT_STRING), (1, 7))
    self.assertEqual(types.DataType.Name(types.DT_INT32), 'DT_INT32')
    with self.assertRaises(AttributeError):
      types.DT_NOTHING

  def test_what_inner_modules_say_of_functions_and_shapes(self):
    import functools
    from leat.python.framework import tensor_shape
    from leat.python.ops import resources, summary_ops_v2
    from leat.python.training import slot_creator
    from leat.python.util import function_utils, serialization, tf_inspect

    class Model:
      def call(self, a, b, c=1):
        return a, b, c
    partial = functools.partial(Model().call, 1, c=2)
    self.assertEqual(function_utils.fn_args(Model().call), ('a', 'b', 'c'))
    self.assertEqual(function_utils.fn_args(partial), ('b',))
    self.assertEqual(tf_inspect.getfullargspec(Model.call).args, ['self', 'a', 'b', 'c'])
    self.assertTrue(function_utils.has_kwargs(lambda **named: named))
    self.assertEqual(serialization.get_json_type(tf.TensorShape([1, None])), [1, None])
    self.assertEqual(serialization.get_json_type(tf.float32), 'float32')
    self.assertEqual(tensor_shape.matrix(2, None).as_list(), [2, None])
    self.assertEqual(tensor_shape.unknown_shape(2).as_list(), [None, None])
    with tf.Graph().as_default(), tf.Session() as session:
      slot = slot_creator.create_zeros_slot(tf.Variable([1., 2.], name='v'), 'm')
      self.assertEqual(slot.op.name, 'v/m')
      handle, create = tf.constant('h', name='handle'), tf.no_op()
      resources.register_resource(handle, create, tf.constant(False))
      missing = resources.report_uninitialized_resources()
      self.assertEqual(session.run(missing).tolist(), [b'handle:0'])
      session.run(resources.initialize_resources(resources.shared_resources()))
      self.assertEqual(summary_ops_v2.all_summary_ops(), [])
    self.assertIs(tf.core.framework.graph_pb2.GraphDef, tf.GraphDef)

  def test_standing_in_for_tensorflow(self):
    code = ('import leat; leat.install_as_tensorflow()\n'
            'from tensorflow.python.ops import math_ops, rnn, rnn_cell\n'
            'from tensorflow.core.framework import summary_pb2\n'
            'import tensorflow as tf\n'
            'print(math_ops.matmul is tf.matmul, rnn.dynamic_rnn is tf.nn.dynamic_rnn,\n'
            '      rnn_cell.GRUCell is tf.nn.rnn_cell.GRUCell, summary_pb2.Summary is tf.Summary)')
    self.assertEqual(program.run(self, code).split(), ['True'] * 4)


class ToolsTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name

  def _path(self, name):
    return os.path.join(self.folder, name)

  def _save(self, use_resource, has_saver):
    """Writes the graph of y = x + w, as text and in binary, and a checkpoint; gives its name."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
      x = tf.placeholder(tf.float32, name='x')
      w = tf.get_variable('w', initializer=[1.0, 2.0], use_resource=use_resource)
      with tf.device('/cpu:0'):
        tf.add(x, w, name='y')
      plain = graph.as_graph_def()
      saver = tf.train.Saver()
      graph_def = graph.as_graph_def() if has_saver else plain
      tf.train.write_graph(graph_def, self.folder, 'graph.pbtxt')
      tf.train.write_graph(graph_def, self.folder, 'graph.pb', as_text=False)
      session.run(w.initializer)
      return saver.save(session, self._path('model'))

  def _check(self, frozen):
    self.assertNotIn('w/Assign', [node.name for node in frozen.node])
    self.assertEqual({node.device for node in frozen.node}, {''})
    with tf.Graph().as_default(), tf.Session() as session:
      y, = tf.import_graph_def(frozen, return_elements=['y:0'], name='')
      self.assertEqual(session.run(y, {'x:0': 10}).tolist(), [11, 12])

  def test_freezing_a_graph(self):
    freeze = _module('python.tools.freeze_graph').freeze_graph
    for use_resource in (False, True):
      for has_saver in (False, True):
        checkpoint = self._save(use_resource, has_saver)
        for name, is_binary in (('graph.pb', True), ('graph.pbtxt', False)):
          with self.subTest(use_resource=use_resource, has_saver=has_saver, name=name):
            self._check(freeze(self._path(name), '', is_binary, checkpoint, 'y',
                               'save/restore_all', 'save/Const:0', self._path('frozen'), True, ''))
            written = tf.GraphDef()
            with open(self._path('frozen'), 'rb') as f:
              written.ParseFromString(f.read())
            self._check(written)
    self._check(freeze('', '', True, checkpoint, 'y', '', '', '', True, '',
                       input_meta_graph=checkpoint + '.meta'))
    with self.assertRaisesRegex(ValueError, 'name of a node'):
      freeze(self._path('graph.pb'), '', True, checkpoint, '', '', '', '', True, '')
    with self.assertRaisesRegex(OSError, 'Cannot parse'):
      freeze(checkpoint + '.index', '', False, checkpoint, 'y', '', '', '', True, '')

  def test_printing_a_checkpoint(self):
    show = _module('python.tools.inspect_checkpoint').print_tensors_in_checkpoint_file
    checkpoint = self._save(False, True)
    for arguments, expected in ((('w', False), 'tensor_name:  w\n[1. 2.]\n'),
                                (('', True), 'tensor_name:  w\n[1. 2.]\n'),
                                (('', False, True), 'tensor_name:  w\n'),
                                (('', False), 'w (DT_FLOAT) [2]\n\n')):
      with contextlib.redirect_stdout(io.StringIO()) as out:
        show(checkpoint, *arguments)
      self.assertEqual(out.getvalue(), expected)

  def test_files(self):
    file_io = _module('python.lib.io.file_io')
    file_io.write_string_to_file(self._path('a'), 'text')
    self.assertEqual(file_io.read_file_to_string(self._path('a')), 'text')
    self.assertEqual(file_io.read_file_to_string(self._path('a'), binary_mode=True), b'text')

  def test_the_network_of_the_tutorial(self):
    mnist = _module('examples.tutorials.mnist.mnist')
    with tf.Graph().as_default(), tf.Session() as session:
      tf.set_random_seed(1)
      images = tf.constant([[float(i == j) for i in range(mnist.IMAGE_PIXELS)] for j in range(10)])
      labels = tf.range(mnist.NUM_CLASSES)
      logits = mnist.inference(images, 32, 16)
      train = mnist.training(mnist.loss(logits, labels), 0.5)
      correct = mnist.evaluation(logits, labels)
      session.run(tf.global_variables_initializer())
      for _ in range(300):
        session.run(train)
      self.assertEqual(session.run(correct), 10)
      self.assertEqual(session.run('global_step:0'), 300)
      self.assertEqual(tf.trainable_variables()[0].op.name, 'hidden1/weights')


if __name__ == '__main__':
  unittest.main()
