"""Small packages of tf.contrib and what stands beside the core: images, predictors, estimators with
more metrics, staging areas, tfdbg's filters, graphs for inference, loops of raw_rnn."""
import contextlib
import io
import os
import tempfile
import unittest

import numpy as np

import leat as tf


def _run(*tensors):
  with tf.Session() as session:
    return session.run(list(tensors))


class ImageTest(unittest.TestCase):

  def test_images_are_turned_and_moved(self):
    with tf.Graph().as_default():
      image = np.arange(16, dtype=np.float32).reshape(4, 4)
      turned, moved, shifted = _run(
          tf.contrib.image.rotate(image, np.pi / 2),
          tf.contrib.image.translate(image[None, :, :, None], [[1., 2.]]),
          tf.contrib.image.transform(image[:, :, None], tf.contrib.image.compose_transforms(
              [1., 0, 1, 0, 1, 0, 0, 0], [1., 0, 0, 0, 1, 1, 0, 0])))
    np.testing.assert_array_equal(turned, np.rot90(image))
    expected = np.zeros([4, 4])
    expected[2:, 1:] = image[:2, :3]
    np.testing.assert_array_equal(moved[0, :, :, 0], expected)
    expected = np.zeros([4, 4])
    expected[:3, :3] = image[1:, 1:]
    np.testing.assert_array_equal(shifted[:, :, 0], expected)

  def test_warps_interpolate(self):
    with tf.Graph().as_default():
      image = tf.constant(np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1))
      flow = tf.constant([.5, 1.]) * tf.ones([1, 4, 4, 2])
      warped, sampled = _run(
          tf.contrib.image.dense_image_warp(image, flow),
          tf.contrib.resampler.resampler(image, [[[.5, .25], [3., 3.], [3.5, 0.], [-2., 1.]]]))
      slope = tf.gradients(tf.contrib.image.dense_image_warp(image, flow), flow)[0]
      self.assertTrue(np.any(_run(slope)[0]))
    self.assertEqual(warped[0, 2, 2, 0], (5 + 9) / 2)   # at (1.5, 1)
    self.assertEqual(warped[0, 0, 0, 0], 0)             # outside: the border
    np.testing.assert_allclose(sampled[0, :, 0], [1.5, 15., 1.5, 0.])


class InferenceTest(unittest.TestCase):

  def test_a_normalization_is_folded_into_its_convolution(self):
    for fused in (False, True):
      r = np.random.RandomState(0)
      with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [1, 5, 5, 2], name='x')
        c = tf.nn.conv2d(x, r.rand(3, 3, 2, 4).astype(np.float32), [1] * 4, 'SAME', name='c')
        mean, variance, beta, gamma = (r.rand(4).astype(np.float32) for _ in range(4))
        if fused:
          y = tf.nn.fused_batch_norm(c, gamma, beta, mean, variance, is_training=False)[0]
        else:
          y = tf.nn.batch_norm_with_global_normalization(c, mean, variance, beta, gamma, 1e-3, True)
        y = tf.identity(y, name='y')
      from leat.python.tools import optimize_for_inference_lib
      small = optimize_for_inference_lib.optimize_for_inference(
          graph.as_graph_def(), ['x'], ['y'], tf.float32.as_datatype_enum)
      if fused:
        self.assertIn('BiasAdd', [n.op for n in small.node])
        self.assertFalse([n for n in small.node if 'BatchNorm' in n.op])
      value = r.rand(1, 5, 5, 2)
      with tf.Session(graph=graph) as session:
        expected = session.run(y, {x: value})
      with tf.Graph().as_default() as other, tf.Session(graph=other) as session:
        tf.import_graph_def(small, name='')
        np.testing.assert_allclose(session.run('y:0', {'x:0': value}), expected, rtol=1e-4)

  def test_predictors(self):
    folder = os.path.join(tempfile.mkdtemp(), 'model')
    with tf.Graph().as_default(), tf.Session() as session:
      x = tf.placeholder(tf.float32, [None])
      w = tf.Variable(3.)
      y = x * w
      session.run(w.initializer)
      tf.saved_model.simple_save(session, folder, {'x': x}, {'y': y})
    predict = tf.contrib.predictor.from_saved_model(folder)
    np.testing.assert_array_equal(predict({'x': [1., 2.]})['y'], [3., 6.])
    with self.assertRaisesRegex(ValueError, 'unexpected keys'):
      predict({'z': [1.]})
    with self.assertRaisesRegex(ValueError, "Available signatures"):
      tf.contrib.predictor.from_saved_model(folder, signature_def_key='other')

  def test_estimators_with_more(self):
    def model_fn(features, labels, mode):
      y = tf.layers.dense(features['x'], 1)
      head = tf.contrib.estimator.regression_head()
      return head.create_estimator_spec(
          features, mode, y, labels,
          train_op_fn=lambda loss: tf.train.GradientDescentOptimizer(.1).minimize(
              loss, tf.train.get_global_step()))
    x = np.ones([4, 1], np.float32)
    data = lambda: tf.data.Dataset.from_tensors(({'x': x, 'key': np.arange(4)}, x)).repeat(5)
    estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp())
    estimator.train(data)
    more = tf.contrib.estimator.add_metrics(
        estimator, lambda labels, features: {'keys': tf.metrics.mean(features['key'])})
    self.assertEqual(more.evaluate(data)['keys'], 1.5)
    rows = list(tf.contrib.estimator.forward_features(estimator, 'key').predict(data))
    self.assertEqual([r['key'] for r in rows[:4]], [0, 1, 2, 3])
    receiver = lambda: tf.estimator.export.ServingInputReceiver(
        {'x': tf.placeholder(tf.float32, [None, 1], name='given')},
        {'x': tf.get_default_graph().get_tensor_by_name('given:0')})
    predict = tf.contrib.predictor.from_estimator(estimator, receiver, 'predict')
    self.assertEqual(predict({'x': x})['predictions'].shape, (4, 1))
    with self.assertRaisesRegex(ValueError, 'unexpected arguments'):
      tf.contrib.estimator.add_metrics(estimator, lambda other: {})

  def test_training_stops_when_a_metric_gets_no_better(self):
    folder = tempfile.mkdtemp()
    writer = tf.summary.FileWriter(folder)
    for step, value in ((10, 3.), (20, 2.), (30, 2.5), (40, 2.4)):
      writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag='loss', simple_value=value)]), step)
    writer.close()
    estimator = type('Estimator', (), {'eval_dir': lambda self: folder})()
    for most, is_over in ((20, True), (30, False)):
      hook = tf.contrib.estimator.stop_if_no_decrease_hook(
          estimator, 'loss', most, run_every_secs=None, run_every_steps=1)
      self.assertEqual(hook._should_stop(), is_over)


class SessionTest(unittest.TestCase):

  def test_a_debug_session_shows_what_is_no_number(self):
    from leat.python import debug
    with tf.Graph().as_default():
      x = tf.placeholder(tf.float32, [2])
      y = tf.log(x, name='log')
      total = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.), [0, y])[1]
      chosen = tf.cond(x[0] > 0., lambda: x + 1., lambda: x * 2.)
      slope = tf.gradients(tf.reduce_sum(total) + tf.reduce_sum(chosen), x)
      session = debug.LocalCLIDebugWrapperSession(tf.Session())
      session.add_tensor_filter('has_inf_or_nan', debug.has_inf_or_nan)
      printed = io.StringIO()
      with contextlib.redirect_stdout(printed):
        session.run(slope, {x: [1., 2.]})
        self.assertEqual(printed.getvalue(), '')
        session.run([slope, total], {x: [0., 1.]})
      self.assertIn('step 2, has_inf_or_nan: log:0 (Log) [-inf', printed.getvalue())
      folder = os.path.join(tempfile.mkdtemp(), 'steps')
      with debug.DumpingDebugWrapperSession(tf.Session(), folder) as dumping:
        dumping.run(total, {x: [1., 2.]})
      np.testing.assert_allclose(np.load(folder + '/run_1/log_0.npy'), [0., np.log(2)], rtol=1e-6)

  def test_staging_areas_are_queues_between_steps(self):
    with tf.Graph().as_default(), tf.Session() as session:
      area = tf.contrib.staging.StagingArea([tf.float32, tf.int32], [[2], []], ['a', 'b'])
      put = area.put({'b': 7, 'a': [1., 2.]})
      got, size, clear = area.get(), area.size(), area.clear()
      self.assertEqual(got['a'].shape, [2])
      for _ in range(2):
        session.run(put)
      found = session.run(got)
      self.assertEqual((found['a'].tolist(), found['b']), ([1., 2.], 7))
      self.assertEqual(session.run(size), 1)
      session.run(clear)
      self.assertEqual(session.run(size), 0)
      with self.assertRaisesRegex(ValueError, 'must have'):
        area.put({'a': [1., 2.]})


class FunctionsTest(unittest.TestCase):

  def test_a_raw_loop_over_a_cell_is_dynamic_rnn(self):
    with tf.Graph().as_default(), tf.Session() as session:
      cell = tf.nn.rnn_cell.LSTMCell(4)
      inputs = tf.constant(np.random.RandomState(0).rand(5, 3, 2), tf.float32)
      lengths = tf.constant([5, 3, 1])
      read = tf.TensorArray(tf.float32, 5).unstack(inputs)

      def loop(time, output, state, calls):
        state = cell.zero_state(3, tf.float32) if output is None else state
        finished = time >= lengths
        following = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([3, 2]),
                            lambda: read.read(time))
        following.set_shape([3, 2])
        return finished, following, state, output, 0 if calls is None else calls + 1
      arrays, state, calls = tf.nn.raw_rnn(cell, loop)
      with tf.variable_scope('', reuse=True):
        outputs, last = tf.nn.dynamic_rnn(cell, inputs, lengths, dtype=tf.float32, time_major=True)
      session.run(tf.global_variables_initializer())
      found = session.run([arrays.stack(), state, outputs, last, calls])
      np.testing.assert_allclose(found[0], found[2], rtol=1e-6)
      np.testing.assert_allclose(found[1].c, found[3].c, rtol=1e-6)
      self.assertEqual(found[4], 5)

  def test_branches_by_number_and_maps(self):
    with tf.Graph().as_default(), tf.Session() as session:
      n = tf.placeholder(tf.int32, [])
      branches = [lambda k=k: tf.constant(k) for k in (10, 20, 30)]
      listed = tf.switch_case(n, branches)
      chosen = tf.switch_case(n, {5: branches[0], 2: branches[1]}, default=branches[2])
      self.assertEqual([session.run([listed, chosen], {n: k}) for k in (0, 1, 2, 5, -1)],
                       [[10, 30], [20, 30], [30, 20], [30, 10], [30, 30]])
      mapped = tf.vectorized_map(lambda e: (e[0] + e[1], tf.cast(e[0] > 1, tf.int64)),
                                 (tf.constant([1, 2]), tf.constant([3, 4])))
      found = session.run(mapped)
      self.assertEqual([f.tolist() for f in found], [[4, 6], [0, 1]])

  def test_names_of_small_packages(self):
    with tf.Graph().as_default():
      x = tf.constant([1., 2.])
      sums = tf.contrib.nccl.all_sum([x, x + 1.])
      others = [function([x, 3. - x])[1] for function in (
          tf.contrib.nccl.all_prod, tf.contrib.nccl.all_min, tf.contrib.nccl.all_max)]
      found = _run(*sums, tf.contrib.nn.scaled_softplus(x, 2., clip=2.),
                   tf.contrib.memory_stats.BytesInUse(), tf.contrib.memory_stats.MaxBytesInUse(),
                   tf.strings.unicode_script([65, 0x3b1]), tf.math.special.bessel_j0(0.), *others)
    np.testing.assert_array_equal(found[:2], [[3., 5.]] * 2)
    np.testing.assert_allclose(found[2], [2 * np.log1p(np.exp(.5)), 2.], rtol=1e-6)
    self.assertGreater(found[3], 1 << 20)   # an interpreter with numpy
    self.assertGreater(found[4], 1 << 20)
    self.assertEqual((found[5].tolist(), found[6]), ([25, 14], 1.))
    np.testing.assert_array_equal(found[7:], [[2., 2.], [1., 1.], [2., 2.]])

  def test_alpha_dropout_keeps_mean_and_variance(self):
    with tf.Graph().as_default():
      x = tf.random_normal([100000], seed=1)
      found, = _run(tf.contrib.nn.alpha_dropout(x, .7, seed=2))
    self.assertAlmostEqual(found.mean(), 0., 1)
    self.assertAlmostEqual(found.std(), 1., 1)


if __name__ == '__main__':
  unittest.main()
