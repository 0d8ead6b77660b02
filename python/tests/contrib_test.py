"""tf.contrib: arg_scope, layers and their variables, losses, names of networks."""
import subprocess
import sys
import unittest

import leat as tf


class ContribTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def run_once(self, fetches, feeds=None):
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      return session.run(fetches, feeds)


class NamesTest(ContribTest):

  def test_nothing_is_loaded_with_the_package(self):
    program = ('import sys, leat; leat.contrib; '
               'assert not [m for m in sys.modules if m.startswith("leat._contrib")]; '
               'leat.contrib.slim.arg_scope; assert "leat._contrib.layers" not in sys.modules')
    subprocess.run([sys.executable, '-c', program], check=True)

  def test_inner_modules(self):
    from leat.contrib.layers.python.layers import layers, utils
    from leat.contrib.slim.python.slim.nets import vgg
    from leat.contrib.framework.python.ops import add_arg_scope
    import leat.contrib.slim.python.slim.data.dataset as dataset
    self.assertIs(dataset.Dataset, tf.contrib.slim.dataset.Dataset)
    self.assertIs(layers.conv2d, tf.contrib.slim.conv2d)
    self.assertIs(utils.collect_named_outputs, tf.contrib.slim.utils.collect_named_outputs)
    self.assertIs(vgg.vgg_16, tf.contrib.slim.nets.vgg.vgg_16)
    self.assertIs(add_arg_scope, tf.contrib.framework.add_arg_scope)


class ArgScopeTest(ContribTest):

  def setUp(self):
    super().setUp()

    @tf.contrib.framework.add_arg_scope
    def f(x, a=1, b=2):
      return x, a, b
    self.f = f

  def test_scopes_nest_and_calls_win(self):
    arg_scope, f = tf.contrib.framework.arg_scope, self.f
    with arg_scope([f], a=10):
      self.assertEqual(f(0), (0, 10, 2))
      with arg_scope([f], b=20) as kept:
        self.assertEqual(f(0), (0, 10, 20))
        self.assertEqual(f(0, b=3), (0, 10, 3))
      self.assertEqual(f(0), (0, 10, 2))
    self.assertEqual(f(0), (0, 1, 2))
    with arg_scope(kept):
      self.assertEqual(f(0), (0, 10, 20))
      with arg_scope([f], a=5):
        self.assertEqual(f(0), (0, 5, 20))
    with arg_scope(kept):  # what was set inside of it stays there
      self.assertEqual(f(0), (0, 10, 20))

  def test_a_scope_ends_with_an_error(self):
    with self.assertRaises(KeyError):
      with tf.contrib.framework.arg_scope([self.f], a=10):
        raise KeyError
    self.assertEqual(self.f(0), (0, 1, 2))

  def test_what_is_refused(self):
    arg_scope = tf.contrib.framework.arg_scope
    with self.assertRaisesRegex(ValueError, 'not decorated'), arg_scope([len], a=1):
      pass
    with self.assertRaisesRegex(TypeError, 'list/tuple'), arg_scope(self.f, a=1):
      pass
    with self.assertRaisesRegex(ValueError, 'kwargs must be empty'), arg_scope({}, a=1):
      pass
    self.assertEqual(tf.contrib.framework.arg_scoped_arguments(self.f), ('a', 'b'))


class MarksTest(ContribTest):

  def test_a_marked_function_warns_once(self):
    framework = tf.contrib.framework

    @framework.deprecated('2016-11-01', 'Use g.')
    def f(x):
      """Twice x."""
      return 2 * x

    @framework.deprecated_args(None, 'Leave y out.', 'y', ('z', None))
    def g(x, y=1, z=None):
      return x + y
    with self.assertLogs('tensorflow', 'WARNING') as logs:
      self.assertEqual((f(1), f(2)), (2, 4))
      self.assertEqual((g(1), g(1, 2), g(1, y=3), g(1, z=None)), (2, 3, 4, 2))
    self.assertEqual(len(logs.output), 2)
    self.assertIn('after 2016-11-01', logs.output[0])
    self.assertIn('Twice x.', f.__doc__)
    with self.assertRaisesRegex(ValueError, 'YYYY'):
      framework.deprecated('soon', 'Use g.')
    with self.assertRaisesRegex(ValueError, 'not present'):
      framework.deprecated_args(None, 'No.', 'w')(g)


class LayersTest(ContribTest):

  def test_variables_of_the_model(self):
    layers = tf.contrib.layers
    x = tf.ones([2, 8, 8, 3])
    with tf.contrib.framework.arg_scope([layers.conv2d], normalizer_fn=layers.batch_norm,
                                        weights_regularizer=layers.l2_regularizer(0.1)):
      net = layers.conv2d(x, 4, 3, scope='c', variables_collections={'weights': ['mine']},
                          outputs_collections='out')
      layers.conv2d(x, 4, 3, scope='c', reuse=True)
    layers.fully_connected(layers.flatten(net), 5)
    names = ['c/weights', 'c/BatchNorm/beta', 'c/BatchNorm/moving_mean',
             'c/BatchNorm/moving_variance', 'fully_connected/weights', 'fully_connected/biases']
    self.assertEqual([v.op.name for v in tf.contrib.framework.get_model_variables()], names)
    self.assertEqual([v.op.name for v in tf.global_variables()], names)
    self.assertEqual([v.op.name for v in tf.get_collection('mine')], ['c/weights'])
    self.assertEqual(list(layers.utils.convert_collection_to_dict('out')), ['c'])
    losses = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    self.assertEqual([l.op.name for l in losses], ['c/kernel/Regularizer/l2_regularizer'])
    self.assertEqual(len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)), 4)

  def test_variables_are_placed_by_a_scope(self):
    framework, layers = tf.contrib.framework, tf.contrib.layers
    chooser = framework.VariableDeviceChooser(num_tasks=2)
    with framework.arg_scope([framework.model_variable], device=chooser):
      layers.fully_connected(tf.ones([2, 3]), 4)
    self.assertEqual([v.device for v in tf.global_variables()], [
        '/job:ps/task:0/device:CPU:0', '/job:ps/task:1/device:CPU:0'])

  def test_batch_norm_moves_its_averages(self):
    import numpy as np
    x = np.random.RandomState(1).rand(6, 5, 5, 3).astype(np.float32)
    for fused in (False, True):
      for training in (True, tf.placeholder(tf.bool)):
        with tf.Graph().as_default():
          if training is not True:
            training = tf.placeholder(tf.bool)
          y = tf.contrib.layers.batch_norm(tf.constant(x), decay=0.5, updates_collections=None,
                                           fused=fused, is_training=training)
          mean = tf.contrib.framework.get_unique_variable('BatchNorm/moving_mean')
          feeds = {} if training is True else {training: True}
          with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            y1 = session.run(y, feeds)
            np.testing.assert_allclose(session.run(mean), 0.5 * x.mean((0, 1, 2)), rtol=1e-4)
            np.testing.assert_allclose(y1.mean((0, 1, 2)), np.zeros(3), atol=1e-4)
            if feeds:
              before = session.run(mean)
              session.run(y, {training: False})
              np.testing.assert_array_equal(session.run(mean), before)

  def test_weights_of_examples_in_batch_norm(self):
    import numpy as np
    x = np.random.RandomState(2).rand(4, 3).astype(np.float32)
    y = tf.contrib.layers.batch_norm(tf.constant(x), batch_weights=[1.0, 0.0, 1.0, 2.0],
                                     epsilon=0.0)
    copies = x[[0, 2, 3, 3]]
    expected = (x - copies.mean(0)) / copies.std(0)
    np.testing.assert_allclose(self.run_once(y), expected, rtol=1e-3, atol=1e-4)

  def test_small_layers(self):
    import numpy as np
    layers = tf.contrib.layers
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    found = self.run_once([
        layers.maxout(tf.constant(x), 3), layers.unit_norm(tf.constant(x), 1, epsilon=0.0),
        layers.one_hot_encoding([1, 0], 2),
        layers.sequence_to_images(layers.images_to_sequence(x.reshape(1, 3, 2, 2)), 3)])
    np.testing.assert_array_equal(found[0], x.reshape(2, 3, 2).max(2))
    np.testing.assert_allclose(found[1], x / np.linalg.norm(x, axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_array_equal(found[2], [[0, 1], [1, 0]])
    np.testing.assert_array_equal(found[3], x.reshape(1, 3, 2, 2))

  def test_gradients_are_scaled(self):
    x = tf.constant([3.0])
    y = tf.contrib.layers.scale_gradient(x, 0.25)
    value, gradient = self.run_once([y, tf.gradients(y * y, x)[0]])
    self.assertEqual((value[0], gradient[0]), (3.0, 1.5))


class LossesTest(ContribTest):

  def test_weights_count_for_the_dimensions_behind(self):
    losses = tf.contrib.losses
    predictions = tf.constant([[1.0, 2.0], [3.0, 5.0]])
    found = self.run_once([
        losses.absolute_difference(predictions, tf.zeros([2, 2]), [1.0, 0.0]),
        losses.absolute_difference(predictions, tf.zeros([2, 2]), [[2.0], [1.0]]),
        losses.get_total_loss()])
    self.assertEqual(list(found), [1.5, 3.5, 5.0])

  def test_triplets(self):
    import numpy as np
    random = np.random.RandomState(3)
    labels, x = np.array([0, 0, 1, 1, 1, 2]), random.rand(6, 4).astype(np.float32)
    x[1] = 3.0  # farther from its kind than all others are
    d = ((x[:, None] - x[None]) ** 2).sum(2)
    terms = []
    for a in range(6):
      for p in range(6):
        if a != p and labels[a] == labels[p]:
          negative = d[a][labels != labels[a]]
          farther = negative[negative > d[a, p]]
          terms.append(max(0.5 + d[a, p] - (farther.min() if len(farther) else negative.max()), 0))
    loss = tf.contrib.losses.metric_learning.triplet_semihard_loss(labels, tf.constant(x), 0.5)
    np.testing.assert_allclose(self.run_once(loss), np.mean(terms), rtol=1e-4)

  def test_lifted_structure(self):
    import numpy as np
    random = np.random.RandomState(4)
    labels, x = np.array([0, 0, 1, 1, 1]), random.rand(5, 3).astype(np.float32)
    d = np.sqrt(((x[:, None] - x[None]) ** 2).sum(2))
    terms = []
    for i in range(5):
      for j in range(i):
        if labels[i] == labels[j]:
          far = [np.exp(1.0 - d[k][labels != labels[k]]).sum() for k in (i, j)]
          terms.append(max(np.log(sum(far)) + d[i, j], 0) ** 2)
    loss = tf.contrib.losses.metric_learning.lifted_struct_loss(labels, tf.constant(x), 1.0)
    np.testing.assert_allclose(self.run_once(loss), np.mean(terms) / 2, rtol=1e-4)


class NetworksTest(ContribTest):

  def test_names_are_those_of_published_checkpoints(self):
    slim = tf.contrib.slim
    with slim.arg_scope(slim.nets.inception.inception_v3_arg_scope()):
      slim.nets.inception.inception_v3(tf.zeros([1, 299, 299, 3]), 1001)
    names = {v.op.name: v.shape.as_list() for v in slim.get_model_variables()}
    self.assertEqual(names['InceptionV3/Mixed_5c/Branch_1/Conv_1_0c_5x5/weights'], [5, 5, 48, 64])
    self.assertEqual(names['InceptionV3/Mixed_6a/Branch_0/Conv2d_1a_1x1/weights'],
                     [3, 3, 288, 384])
    self.assertEqual(names['InceptionV3/Mixed_7b/Branch_1/Conv2d_0b_3x1/BatchNorm/beta'], [384])
    self.assertEqual(names['InceptionV3/AuxLogits/Conv2d_2a_5x5/weights'], [5, 5, 128, 768])
    self.assertEqual(names['InceptionV3/Logits/Conv2d_1c_1x1/biases'], [1001])
    self.assertEqual(len(names), 4 * 96 + 4)

  def test_residual_networks(self):
    v1, v2 = tf.contrib.slim.nets.resnet_v1, tf.contrib.slim.nets.resnet_v2
    with tf.contrib.slim.arg_scope(v1.resnet_arg_scope()):
      logits, points = v1.resnet_v1_50(tf.zeros([2, 224, 224, 3]), 10)
      net, _ = v2.resnet_v2_50(tf.zeros([2, 65, 65, 3]), global_pool=False, output_stride=8)
    self.assertEqual(logits.shape.as_list(), [2, 1, 1, 10])
    self.assertEqual(points['resnet_v1_50/block3'].shape.as_list(), [2, 7, 7, 1024])
    self.assertEqual(net.shape.as_list(), [2, 9, 9, 2048])
    rates = [tf.get_default_graph().get_operation_by_name(
        'resnet_v2_50/block%d/unit_3/bottleneck_v2/conv2/Conv2D' % n).get_attr('dilations')[1]
             for n in (1, 2, 3, 4)]
    self.assertEqual(rates, [1, 1, 2, 4])
    weights = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
    self.assertEqual(weights['resnet_v1_50/block1/unit_1/bottleneck_v1/shortcut/weights'],
                     [1, 1, 64, 256])
    self.assertIn('resnet_v2_50/postnorm/gamma', weights)
    with self.assertRaisesRegex(ValueError, 'cannot be reached'):
      v1.resnet_v1_50(tf.zeros([1, 64, 64, 3]), output_stride=12, scope='b')


if __name__ == '__main__':
  unittest.main()
