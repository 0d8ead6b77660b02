"""What TensorFlow does in corners that are easily forgotten: gradients of rows, what a finalized
graph refuses, seeds, arguments that contradict each other. The numbers are TensorFlow's."""
import threading
import types
import unittest

import numpy as np

import leat as tf


class GraphCase(unittest.TestCase):
  """Each test has a graph of its own."""

  def setUp(self):
    self._default = tf.Graph().as_default()
    self.graph = self._default.__enter__()
    self.addCleanup(self._default.__exit__, None, None, None)

  def run_all(self, *fetches, feed=None):
    """The values of the fetches, with variables initialized."""
    with tf.Session() as session:
      session.run(tf.global_variables_initializer())
      return [session.run(f, feed) for f in fetches]


class ConversionTest(GraphCase):

  def test_an_array_keeps_its_type_where_the_op_takes_it(self):
    image = np.zeros((1, 1, 3), np.uint16)
    self.assertEqual(tf.raw_ops.EncodePng(image=image).op.get_attr('T'), tf.uint16)
    self.assertEqual(tf.raw_ops.EncodePng(image=[[[1]]]).op.get_attr('T'), tf.uint8)
    tiled = tf.raw_ops.Tile(input=[1.0], multiples=np.array([2], np.int64))
    self.assertEqual(tiled.op.inputs[1].dtype, tf.int64)


class RowGradientTest(GraphCase):

  def test_gathers_have_gradients_of_rows(self):
    for resource in (False, True):
      v = tf.Variable(np.ones((3, 2), np.float32), use_resource=resource)
      ids = tf.placeholder(tf.int32, [None])
      for y in (tf.gather(v, ids), tf.nn.embedding_lookup(v, ids)):
        g = tf.gradients(y * 3.0, v)[0]
        self.assertIsInstance(g, tf.IndexedSlices)
        found = self.run_all(g, tf.convert_to_tensor(g), feed={ids: [2, 0, 2]})
        self.assertEqual(found[0].indices.tolist(), [2, 0, 2])
        self.assertEqual(found[0].values.tolist(), [[3, 3]] * 3)
        self.assertEqual(found[0].dense_shape.tolist(), [3, 2])
        self.assertEqual(found[1].tolist(), [[3, 3], [0, 0], [6, 6]])
      both = tf.gradients(tf.gather(v, [0]) + tf.gather(v, [1]), v)[0]
      self.assertIsInstance(both, tf.IndexedSlices)
      self.assertIsInstance(tf.gradients(tf.gather(v, [0]) + v, v)[0], tf.Tensor)

  def test_a_segment_sum_of_the_program_stays_dense(self):
    x = tf.placeholder(tf.float32, [3, 1])
    y = tf.gather(tf.unsorted_segment_sum(x, [0, 1, 0], 2), [0, 0])
    self.assertIsInstance(tf.gradients(y, x)[0], tf.Tensor)

  def test_optimizers_leave_other_rows_alone(self):
    for resource in (False, True):
      v = tf.Variable(np.ones((3, 1), np.float32), use_resource=resource)
      ids = tf.placeholder(tf.int32, [None])
      step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(tf.gather(v, ids)))
      gated = tf.train.GradientDescentOptimizer(0.1).compute_gradients(
          tf.reduce_sum(tf.gather(v, ids)), [v], gate_gradients=tf.train.Optimizer.GATE_GRAPH)
      self.assertIsInstance(gated[0][0], tf.IndexedSlices)
      with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for row in (0, 1):
          session.run(step, {ids: [row]})
        np.testing.assert_allclose(session.run(v).ravel(), [0.9, 0.9, 1.0], rtol=1e-6)


class LibraryOperationsTest(GraphCase):
  """Operations that the library adds by itself are made as the program's are."""

  def test_a_finalized_graph_refuses_them(self):
    x = tf.placeholder(tf.float32, [2])
    y = tf.tanh(x)
    graph_def = self.graph.as_graph_def()
    self.graph.finalize()
    with self.assertRaisesRegex(RuntimeError, 'finalized'):
      tf.gradients(y, x)
    with self.assertRaisesRegex(RuntimeError, 'finalized'):
      tf.import_graph_def(graph_def)

  def test_the_settings_hold_for_them(self):
    first, x = tf.no_op(name='first'), tf.placeholder(tf.float32, [2])
    y = tf.tanh(x)
    start = len(self.graph.get_operations())
    with tf.control_dependencies([first]), tf.device('/cpu:0'):
      tf.gradients(y, x)
    added = self.graph.get_operations()[start:]
    self.assertTrue(added)
    self.assertEqual({op.device for op in added}, {'/device:CPU:0'})
    self.assertTrue(any(first in op.control_inputs for op in added))
    self.assertTrue(all('semantics_test' in op.traceback[0][0] for op in added))
    with tf.colocate_with(first):
      g = tf.gradients(y, x)[0]
    self.assertEqual(g.op.colocation_groups(), [b'loc:@first'])
    with tf.Graph().as_default() as other:
      tf.constant(1.0, name='c')
    with tf.control_dependencies([first]), tf.colocate_with(first):
      tf.import_graph_def(other.as_graph_def(), name='i')
    op = self.graph.get_operation_by_name('i/c')
    self.assertEqual([c.name for c in op.control_inputs], ['first'])
    self.assertEqual(op.colocation_groups(), [b'loc:@first'])
    self.assertIn('semantics_test', op.traceback[0][0])

  def test_the_version_is_the_number_of_operations(self):
    x = tf.placeholder(tf.float32, [2])
    tf.gradients(tf.tanh(x), x)
    self.assertEqual(self.graph.version, len(self.graph.get_operations()))

  def test_arguments_are_checked(self):
    x = tf.placeholder(tf.float32, [2])
    with self.assertRaisesRegex(ValueError, 'aggregation_method'):
      tf.gradients(x * x, x, aggregation_method=77)
    with tf.Graph().as_default():
      stranger = tf.no_op()
    with self.assertRaisesRegex(ValueError, 'same graph'):
      tf.no_op()._add_control_input(stranger)

  def test_control_dependencies_on_what_stands_for_tensors(self):
    v = tf.Variable(1.0, name='v', use_resource=True)
    slices = tf.IndexedSlices(tf.constant([1.0], name='values'), tf.constant([0]))
    with tf.control_dependencies([v, slices]):
      op = tf.no_op()
    self.assertEqual(sorted(c.name for c in op.control_inputs), ['v', 'values'])


class SeedTest(GraphCase):

  def test_seeds_are_tensorflows(self):
    tf.set_random_seed(2 ** 31 + 4)
    self.assertEqual(tf.get_seed(2 ** 31 - 1), (5, 0))
    tf.set_random_seed(0)
    self.assertEqual(tf.get_seed(2 ** 31 - 1), (0, 2 ** 31 - 1))
    tf.set_random_seed(7)
    tf.constant(1)
    seeds = []
    for make in (tf.random_normal, tf.random_uniform, tf.random_normal):
      make([2])
      seeds.append([op for op in self.graph.get_operations()
                    if op.type.startswith('Random')][-1].get_attr('seed2'))
    self.assertEqual(seeds, [0, 1, 2])


class VariableTest(GraphCase):

  def test_parts_of_resource_variables_are_assigned(self):
    for resource in (False, True):
      v = tf.Variable([1.0, 2.0, 3.0], use_resource=resource)
      self.assertEqual(self.run_all(v[1:2].assign([9.0]), v)[1].tolist(), [1, 9, 3])
      self.assertEqual(self.run_all(tf.scatter_nd_update(v, [[1]], [8.0]), v)[1].tolist(),
                       [1, 8, 3])
      self.assertEqual(self.run_all(v.scatter_nd_add([[0]], [2.0]), v)[1].tolist(), [3, 2, 3])

  def test_what_is_synchronized_on_read_is_not_trained(self):
    on_read = tf.VariableSynchronization.ON_READ
    v = tf.get_variable('a', [], synchronization=on_read, aggregation=tf.VariableAggregation.SUM)
    self.assertFalse(v.trainable)
    self.assertEqual(tf.trainable_variables(), [])
    self.assertEqual((v.synchronization, v.aggregation), (on_read, tf.VariableAggregation.SUM))
    again = tf.Variable.from_proto(v.to_proto())
    self.assertEqual((again.synchronization, again.trainable), (on_read, False))
    with self.assertRaisesRegex(ValueError, 'ON_READ'):
      tf.Variable(1.0, trainable=True, synchronization=on_read)
    with self.assertRaisesRegex(ValueError, 'aggregation'):
      tf.Variable(1.0, aggregation='sum')

  def test_scopes(self):
    names = []

    def look():
      with self.graph.as_default():
        names.append(tf.get_variable_scope().name)
    with tf.variable_scope('a') as a:
      thread = threading.Thread(target=look)
      thread.start()
      thread.join()
    self.assertEqual(names, [''])
    with tf.variable_scope('o'), tf.variable_scope(a, auxiliary_name_scope=False) as inner:
      self.assertEqual(inner.original_name_scope, 'a/')

  def test_slots_come_from_the_getter_of_the_scope(self):
    names = []

    def getter(inner, name, *args, **named):
      names.append(name)
      return inner(name, *args, **named)
    with tf.variable_scope('a', custom_getter=getter):
      v = tf.get_variable('v', [2])
      tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(v * v))
    self.assertEqual(names, ['a/v', 'a/a/v/Momentum/'])

  def test_dual_averaging_names_its_slots(self):
    v = tf.Variable([1.0], name='v')
    tf.train.AdagradDAOptimizer(0.5, tf.train.get_or_create_global_step()).minimize(v * v)
    self.assertEqual(sorted(x.name for x in tf.global_variables()),
                     ['global_step:0', 'v/AdagradDA:0', 'v/AdagradDA_1:0', 'v:0'])

  def test_averages_of_tensors_lose_the_bias_to_zero(self):
    x = tf.constant(10.0)
    average = tf.train.ExponentialMovingAverage(0.9, zero_debias=True)
    step = average.apply([x])
    self.assertEqual(self.run_all(step, average.average(x))[1], 10.0)


class FunctionTest(GraphCase):

  def test_gather_nd_in_batches(self):
    x = tf.constant([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    unknown = tf.placeholder(tf.int32, [None, None])
    found = self.run_all(
        tf.gather_nd(x, [[1], [0]], batch_dims=1), tf.gather_nd(x, unknown, batch_dims=1),
        tf.gather_nd(x, [[[0], [1]], [[1], [1]]], batch_dims=2), feed={unknown: [[1], [0]]})
    self.assertEqual([f.tolist() for f in found], [[[3, 4], [5, 6]]] * 2 + [[[1, 4], [6, 8]]])

  def test_two_names_for_one_argument(self):
    x = tf.ones([1, 2])
    for call in (lambda: tf.nn.dropout(x, keep_prob=0.5, rate=0.3),
                 lambda: tf.argmax(x, axis=0, dimension=0),
                 lambda: tf.argmin(x, axis=0, dimension=0),
                 lambda: tf.squeeze(x, axis=0, squeeze_dims=0)):
      with self.assertRaisesRegex(ValueError, 'Cannot specify both'):
        call()
    with self.assertRaisesRegex(ValueError, 'data_format'):
      tf.nn.max_pool_with_argmax(tf.ones([1, 2, 4, 4]), [1, 1, 2, 2], [1, 1, 2, 2], 'SAME',
                                 data_format='NCHW')

  def test_weights_are_compared_in_the_step(self):
    values = tf.placeholder(tf.float32, [None, 3])
    weights = tf.placeholder(tf.float32, [None, None])
    loss = tf.losses.compute_weighted_loss(values, weights)
    ones = np.ones
    for shape in ((1, 1), (2, 1), (1, 3), (2, 3)):
      self.assertEqual(self.run_all(loss, feed={values: ones((2, 3)), weights: ones(shape)}), [1])
    for shape in ((3, 3), (2, 2)):
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'can not be broadcast'):
        self.run_all(loss, feed={values: ones((1, 3)), weights: ones(shape)})

  def test_feeds_and_devices(self):
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    self.assertEqual(self.run_all(a + b, feed={(a, b): (1.0, 2.0)}), [3])
    self.assertEqual(self.run_all(a + b, feed=types.MappingProxyType({a: 1.0, b: 2.0})), [3])
    with self.assertRaisesRegex(TypeError, 'feed_dict'):
      self.run_all(a, feed=[a])
    with self.assertRaisesRegex(ValueError, 'list or tuple of 2'):
      self.run_all(a, feed={(a, b): (1.0,)})
    with tf.Session() as session:
      devices = session.list_devices()
    self.assertIn('CPU', [d.device_type for d in devices])
    self.assertTrue(devices[0].name.endswith(':0'))


class ValueTest(GraphCase):

  def test_constants_and_types(self):
    self.assertEqual(self.run_all(tf.constant(True, tf.int32), tf.constant(True, tf.float32),
                                  tf.constant(300, tf.uint8)), [1, 1.0, 44])
    for call in (lambda: tf.constant(1.0) + tf.constant(1), lambda: tf.constant(1) + 1.5):
      with self.assertRaisesRegex(TypeError, "Input 'y' of 'AddV2' Op has type"):
        call()
    with self.assertRaisesRegex(TypeError, 'feed value 2'):
      x = tf.placeholder(tf.bool, [])
      self.run_all(x, feed={x: 2})

  def test_unknown_ranks(self):
    x = tf.placeholder(tf.int32)
    y = tf.placeholder(tf.float32)
    ones = tf.ones([3, 2])
    mask, product, last, taken = self.run_all(
        tf.sequence_mask(x), tf.tensordot(y, ones, [[1], [0]]), tf.tensordot(y, ones, 1),
        tf.constant([1, 2, 3])[tf.constant([True, False, True])],
        feed={x: [1, 2], y: np.ones((2, 3))})
    self.assertEqual(mask.tolist(), [[True, False], [True, True]])
    self.assertEqual((product.tolist(), last.tolist()), ([[3, 3]] * 2, [[3, 3]] * 2))
    self.assertEqual(taken.tolist(), [1, 3])
    self.assertEqual(tf.nn.dropout(tf.placeholder(tf.float32, [4, 5]), rate=0.5,
                                   noise_shape=[None, 1]).shape, [4, 5])

  def test_messages(self):
    data = b'\xfa\x3f\x03abc'
    message = tf.RunOptions.FromString(data)
    self.assertEqual(message.trace_level, 0)
    self.assertEqual(message.SerializeToString(), data)
    for ask in (tf.AttrValue(i=3).HasField, tf.AttrValue(i=3).WhichOneof):
      with self.assertRaises(ValueError):
        ask('bogus')
    with self.assertRaisesRegex(Exception, 'Error parsing'):
      tf.RunOptions.FromString(b'\xff' * 12)

  def test_meta_graphs_of_a_scope_and_savers(self):
    with tf.name_scope('s'):
      tf.Variable(1.0, name='v')
    tf.Variable(2.0, name='w')
    meta = tf.train.export_meta_graph(export_scope='s')
    self.assertEqual(sorted(n.name for n in meta.graph_def.node),
                     ['v', 'v/Assign', 'v/initial_value', 'v/read'])
    with self.assertRaises(TypeError):
      tf.train.export_meta_graph(bogus=1)
    definition = tf.train.Saver(keep_checkpoint_every_n_hours=0.5).as_saver_def()
    self.assertEqual(tf.train.Saver(saver_def=definition)._keep_hours, 0.5)
    with tf.Graph().as_default():
      tf.train.import_meta_graph(meta, import_scope='t')
      self.assertEqual([v.name for v in tf.global_variables()], ['t/v:0'])


class FlagTest(unittest.TestCase):

  def test_flags_are_checked(self):
    flags = tf.flags
    flags.DEFINE_enum('shape_of_it', 'a', ['a', 'b'], '')
    flags.DEFINE_integer('size_of_it', 3, '', lower_bound=0)
    with self.assertRaises(flags.DuplicateFlagError):
      flags.DEFINE_integer('size_of_it', 3, '')
    for text in ('--shape_of_it=c', '--size_of_it=-4'):
      with self.assertRaises(flags.IllegalFlagValueError):
        flags.FLAGS(['p', text])
    with self.assertRaises(flags.UnrecognizedFlagError):
      flags.FLAGS(['p', '--unknown=1'])
    self.assertEqual(flags.FLAGS(['p', '--unknown=1', '--size_of_it=5'], known_only=True),
                     ['p', '--unknown=1'])
    self.assertEqual(flags.FLAGS.size_of_it, 5)


class ArgumentTest(GraphCase):

  def test_diagonals_beside_the_main_one(self):
    with tf.Session() as session:
      m = tf.reshape(tf.range(9), [3, 3])
      self.assertEqual(session.run(tf.linalg.diag_part(m, k=1)).tolist(), [1, 5])
      self.assertEqual(session.run(tf.linalg.diag([1, 2], k=-1, padding_value=7)).tolist(),
                       [[7, 7, 7], [1, 7, 7], [7, 2, 7]])
      self.assertEqual(session.run(tf.linalg.set_diag(m, [0, 0], k=1))[0, 1], 0)

  def test_the_number_of_segments_may_be_given(self):
    with tf.Session() as session:
      rows = tf.constant([[1.0], [2.0], [4.0]])
      got = session.run(tf.sparse_segment_sum(rows, [0, 2], [0, 2], num_segments=4))
      self.assertEqual(got.ravel().tolist(), [1, 0, 4, 0])

  def test_the_length_of_an_array_is_known(self):
    array = tf.TensorArray(tf.float32, 3, element_shape=[2])
    self.assertEqual(array.stack().shape.as_list(), [3, 2])
    grows = tf.TensorArray(tf.float32, 3, dynamic_size=True, element_shape=[2])
    self.assertEqual(grows.stack().shape.as_list(), [None, 2])

  def test_errors_name_the_array(self):
    with tf.Graph().as_default(), tf.Session() as session:
      array = tf.TensorArray(tf.float32, 2, tensor_array_name='foo', infer_shape=False)
      written = array.write(1, 3.0)
      gradient = array.grad('grad').write(0, 1.0)
      for operation, text in (
          (written.write(1, 4.0).flow,
           r'TensorArray foo_\d+: Could not write to TensorArray index 1 because it has already '
           'been written to'),
          (written.read(7), r'TensorArray foo_\d+: Tried to read from index 7'),
          (gradient.write(0, [1.0]).flow,
           r'TensorArray foo_\d+@grad: Could not aggregate to TensorArray index 0')):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, text):
          session.run(operation)
      with tf.control_dependencies([array.close()]), self.assertRaisesRegex(
          tf.errors.InvalidArgumentError, r'TensorArray foo_\d+ has already been closed'):
        session.run(array.write(0, 1.0).flow)
      unnamed = tf.TensorArray(tf.float32, 2)
      with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                  r'TensorArray TensorArray_1_\d+:'):
        session.run(unnamed.write(2, 1.0).flow)

  def test_a_gradient_with_more_dimensions_has_a_shape(self):
    with tf.Graph().as_default():
      array = tf.TensorArray(tf.float32, 3, element_shape=[2, 3])
      handle, flow = tf.raw_ops.TensorArrayGradWithShape(
          handle=array.handle, flow_in=array.flow, shape_to_prepend=[4, 5], source='s')
      read = tf.TensorArray(tf.float32, handle=handle, flow=flow).read(0)
      self.assertEqual(read.shape.as_list(), [None, None, 2, 3])
      read = tf.raw_ops.TensorArrayReadV3(
          handle=tf.raw_ops.TensorArrayGradWithShape(
              handle=array.handle, flow_in=array.flow, source='s',
              shape_to_prepend=tf.placeholder(tf.int32, [None]))[0],
          index=0, flow_in=flow, dtype=tf.float32)
      self.assertIsNone(read.shape.ndims)


class VariableTypeTest(unittest.TestCase):

  def test_a_constant_says_the_type(self):
    for value, expected in ((3, tf.int32), ([1.5], tf.float32), (True, tf.bool), ('a', tf.string),
                            ([2 ** 40], tf.int64)):
      with tf.Graph().as_default(), tf.variable_scope('', dtype=tf.float64):
        v = tf.get_variable('v', initializer=value)
        self.assertEqual(v.dtype.base_dtype, expected)
        with tf.variable_scope('', reuse=True):
          self.assertIs(tf.get_variable('v', dtype=expected), v)
        with self.assertRaisesRegex(ValueError, "explicit dtype '<dtype: 'float16'>' don't match"):
          tf.get_variable('w', initializer=value, dtype=tf.float16)


if __name__ == '__main__':
  unittest.main()
