"""Sessions: fetches of any structure, feeds, strings and rare types, partial runs, threads."""
import collections
import sys
import threading
import time
import unittest

import leat as tf
import program


class FetchTest(unittest.TestCase):

  def setUp(self):
    self._graph = tf.Graph().as_default()
    self._graph.__enter__()
    self.addCleanup(self._graph.__exit__, None, None, None)

  def test_structures(self):
    Pair = collections.namedtuple('Pair', 'first second')
    a, b = tf.constant(1.0), tf.constant([2, 3])
    with tf.Session() as session:
      found = session.run({'x': [a, (b, a)], 'y': Pair(a, b.op), 'z': 'Const:0'})
    self.assertEqual(found['x'][0], 1.0)
    self.assertEqual(found['x'][1][0].tolist(), [2, 3])
    self.assertIsInstance(found['x'][1], tuple)
    self.assertEqual(found['y'], Pair(1.0, None))
    self.assertEqual(found['z'], 1.0)

  def test_a_fetch_that_is_fed(self):
    x = tf.placeholder(tf.int32, [2])
    with tf.Session() as session:
      self.assertEqual(session.run([x, x + 1], {x: [1, 2]})[0].tolist(), [1, 2])

  def test_fetched_arrays_are_the_callers(self):
    import numpy as np
    v = tf.Variable(np.zeros([1000], np.float32))
    with tf.Session() as session:
      session.run(v.initializer)
      found = session.run(v)
      found[:] = 7
      self.assertEqual(session.run(v).max(), 0)

  def test_scalars_are_numpys_numbers(self):
    import numpy as np
    types = [np.float16, np.float32, np.float64, np.complex64, np.complex128, np.bool_, np.int8,
             np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
    ones, twos = ([tf.constant(dtype(number)) for dtype in types] for number in (1, 2))
    with tf.Session() as session:
      first, second = session.run([ones, twos])
      alone = [session.run(one) for one in ones]
    # A number does not change when others are made.
    for dtype, one, two, again in zip(types, first, second, alone):
      self.assertEqual([type(one), type(two), type(again)], [dtype] * 3)
      self.assertEqual([one, two, again], [dtype(1), dtype(2), dtype(1)])
    self.assertEqual(float(tf.Session().run(tf.constant(1.5, tf.bfloat16))), 1.5)

  def test_numbers_of_several_threads(self):
    x = tf.placeholder(tf.int64, [])
    y = x * 3
    wrong = []
    with tf.Session() as session:
      def run(start):
        for number in range(start, start + 500):
          found = session.run(y, {x: number})
          if found != 3 * number:
            wrong.append((number, found))
      threads = [threading.Thread(target=run, args=(1000 * i,)) for i in range(4)]
      for thread in threads:
        thread.start()
      for thread in threads:
        thread.join()
    self.assertEqual(wrong, [])

  def test_variables_without_elements_have_their_value(self):
    empty, full = tf.Variable(tf.zeros([0, 2]), name='empty'), tf.Variable([1.0], name='full')
    with tf.Session() as session:
      self.assertEqual(session.run(empty).shape, (0, 2))
      self.assertEqual(session.run(tf.report_uninitialized_variables()).tolist(), [b'full'])
      grown = tf.assign(empty, tf.ones([3, 2]), validate_shape=False)
      self.assertEqual(session.run(grown).shape, (3, 2))
      with self.assertRaisesRegex(tf.errors.FailedPreconditionError, 'uninitialized value full'):
        session.run(full)

  def test_fed_arrays_are_read_in_place_and_released(self):
    import sys
    import numpy as np
    x = tf.placeholder(tf.float32, [None])
    y = x + 1.0
    array = np.arange(100000, dtype=np.float32)
    with tf.Session() as session:
      before = sys.getrefcount(array)
      for _ in range(3):
        session.run(y, {x: array})
      self.assertEqual(sys.getrefcount(array), before)
      self.assertEqual(session.run(y, {x: array[::2]})[-1], 99999.0)

  def test_strings(self):
    with tf.Session() as session:
      text = tf.placeholder(tf.string, [None])
      joined = tf.identity(text)
      found = session.run(joined, {text: ['a', b'\0b\xff', 'ü']})
      self.assertEqual(found.tolist(), [b'a', b'\0b\xff', 'ü'.encode()])
      self.assertEqual(session.run(tf.constant('one')), b'one')
      self.assertEqual(session.run(tf.constant([], tf.string)).shape, (0,))

  def test_half_and_bool_and_complex(self):
    import numpy as np
    for dtype, value in ((tf.float16, [1.5, -2]), (tf.bool, [True, False]),
                         (tf.complex64, [1 + 2j, 0]), (tf.uint8, [0, 255]),
                         (tf.int64, [2 ** 40, -1])):
      x = tf.placeholder(dtype, [2])
      with tf.Session() as session:
        found = session.run([tf.identity(x), tf.constant(value, dtype)], {x: value})
      self.assertEqual(found[0].dtype, np.dtype(dtype.as_numpy_dtype))
      self.assertEqual(found[0].tolist(), value)
      self.assertEqual(found[1].tolist(), value)

  def test_quantized_numbers_are_plain(self):
    import numpy as np
    with tf.Graph().as_default(), tf.Session() as session:
      made = [tf.cast(tf.constant([1, 2]), t) for t in (tf.qint8, tf.quint8, tf.qint32)]
      found = session.run(made + [tf.cast(3, tf.qint8)])
      self.assertEqual([a.dtype for a in found], [np.int8, np.uint8, np.int32, np.int8])
      self.assertEqual(found[0].tolist(), [1, 2])
      self.assertEqual(session.run(tf.cast(made[0], tf.int32), {made[0]: found[0]}).tolist(),
                       [1, 2])

  def test_bad_feeds(self):
    x = tf.placeholder(tf.float32, [2, 2])
    with tf.Session() as session:
      with self.assertRaisesRegex(ValueError, r'Cannot feed value of shape \(3,\)'):
        session.run(x, {x: [1, 2, 3]})
      with self.assertRaisesRegex(TypeError, 'cannot be a tf.Tensor object'):
        session.run(x, {x: tf.ones([2, 2])})
      with self.assertRaisesRegex(TypeError, 'Cannot interpret feed_dict key as Tensor'):
        session.run(x, {'nothing:0': 1})

  def test_closed(self):
    a = tf.constant(1)
    session = tf.Session()
    session.close()
    with self.assertRaisesRegex(RuntimeError, 'closed Session'):
      session.run(a)

  def test_an_interactive_session_places_what_a_step_needs(self):
    given = tf.ConfigProto(inter_op_parallelism_threads=1)
    for config in (None, given):
      with tf.Graph().as_default():
        session = tf.InteractiveSession(config=config)
        with tf.device('/gpu:7'):
          nowhere = tf.constant(1.0)
        self.assertEqual(tf.constant(2.0).eval(), 2.0)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, '/device:GPU:7'):
          nowhere.eval()
        session.close()
    self.assertFalse(given.graph_options.place_pruned_graph)   # the program's own stays as it was

  def test_closing_while_steps_end(self):
    def take(session, op):
      try:
        session.run(op)
      except (tf.errors.CancelledError, RuntimeError):
        pass

    with tf.Graph().as_default():
      queue = tf.FIFOQueue(1, tf.float32, [[]])
      takes = [queue.dequeue().op, queue.dequeue_many(1).op] * 2
      for round in range(500):
        session = tf.Session()
        threads = [threading.Thread(target=take, args=(session, op)) for op in takes]
        for thread in threads:
          thread.start()
        time.sleep(round % 50 * 1e-4)
        session.close()   # beside steps that it cancels, the last of which frees what is left
        for thread in threads:
          thread.join()

  def test_partial_run(self):
    a, b = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    c = a + 1.0
    d = c * b
    with tf.Session() as session:
      handle = session.partial_run_setup([c, d], [a, b])
      self.assertEqual(session.partial_run(handle, c, {a: 1.0}), 2.0)
      self.assertEqual(session.partial_run(handle, d, {b: 3.0}), 6.0)

  def test_callables_and_metadata(self):
    x = tf.placeholder(tf.float32, [2])
    y = x * 2.0
    with tf.Session() as session:
      double = session.make_callable([y, y.op], [x])
      self.assertEqual(double([1, 2])[0].tolist(), [2, 4])
      self.assertIsNone(double([1, 2])[1])
      metadata = tf.RunMetadata()
      session.run(y, {x: [1, 2]}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
      self.assertTrue(metadata.step_stats.dev_stats)

  def test_step_statistics_have_constants(self):
    """As TensorFlow's have, also what folding made; it takes no time."""
    with tf.device('/cpu:0'):
      x = tf.placeholder(tf.float32, [2])
      folded = tf.add(tf.constant(2.0, name='two'), tf.constant(3.0, name='three'), name='five')
      y = x * tf.constant([1.0, 2.0], name='pair') + folded
    with tf.Session() as session:
      metadata = tf.RunMetadata()
      session.run(y, {x: [1, 2]}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
    found = {n.node_name: n for d in metadata.step_stats.dev_stats for n in d.node_stats}
    self.assertNotIn('two', found)
    for name, size in (('five/_folded', 4), ('pair', 8)):
      stats = found[name]
      self.assertEqual(stats.timeline_label, name + ' = Const()')
      self.assertEqual((stats.op_end_rel_nanos, len(stats.output)), (0, 1))
      tensor = stats.output[0].tensor_description
      self.assertEqual(tensor.allocation_description.requested_bytes, size)

  def test_threads_run_while_a_step_waits(self):
    queue = tf.FIFOQueue(1, tf.float32, [[]])
    take, put = queue.dequeue(), queue.enqueue(5.0)
    found = []
    with tf.Session() as session:
      waiter = threading.Thread(target=lambda: found.append(session.run(take)))
      waiter.start()
      session.run(put)
      waiter.join(60)
    self.assertEqual(found, [5.0])

  def test_closing_ends_a_step_that_waits(self):
    take = tf.FIFOQueue(1, tf.float32, [[]]).dequeue()
    session, failed = tf.Session(), []

    def run():
      try:
        session.run(take)
      except tf.errors.CancelledError as error:
        failed.append(error)
    waiter = threading.Thread(target=run)
    waiter.start()
    while not session._session.runs_:
      pass
    session.close()
    waiter.join(60)
    self.assertEqual(len(failed), 1)


class TensorHandleTest(unittest.TestCase):

  def test_tensors_stay_in_the_session_until_they_are_forgotten(self):
    with tf.Graph().as_default(), tf.Session() as session:
      x = tf.placeholder(tf.float32, [])
      stored = tf.get_session_handle(x * 2)
      handle = session.run(stored, {x: 3.0})
      self.assertEqual(handle.eval(), 6.0)
      holder, value = tf.get_session_tensor(handle.handle, tf.float32)
      self.assertEqual(session.run(value + 1, {holder: handle}), 7.0)
      self.assertEqual(session.run(x * 10, {x: handle}), 60.0)
      text = handle.handle
      del handle
      for _ in range(20):
        session.run(stored, {x: 0.0})   # each is forgotten at once
      with self.assertRaises(tf.errors.InvalidArgumentError):
        session.run(value, {holder: text})
      kept = session.run(stored, {x: 4.0}).get_raw_handle()
      self.assertEqual(session.run(value, {holder: kept}), 8.0)
      place, delete = tf.delete_session_tensor(kept)
      session.run(delete, {place: kept})
      with self.assertRaises(tf.errors.InvalidArgumentError):
        session.run(value, {holder: kept})

  def test_reset_forgets_a_container(self):
    with tf.Graph().as_default():
      with tf.container('mine'):
        queue = tf.FIFOQueue(5, [tf.float32], shared_name='queue')
      session = tf.Session()
      session.run(queue.enqueue(1.0))
      tf.Session.reset('', ['mine'])
      with self.assertRaises((tf.errors.OpError, RuntimeError)):
        session.run(queue.size())   # it was closed
      with tf.Session() as session:
        self.assertEqual(session.run(queue.size()), 0)
    with self.assertRaises(TypeError):
      tf.Session.reset('', 'mine')


class PlacementLogTest(unittest.TestCase):
  PROGRAM = """
import leat as tf
x = tf.placeholder(tf.float32, [], name='x')
y = tf.add(x, tf.constant(2.0, name='two'), name='y')
with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
  session.run(y, {x: 1.0})
  session.run([x, y], {x: 1.0})   # nothing new
  print('more', flush=True)
  session.run(tf.negative(y, name='z'), {x: 1.0})
"""

  def test_whole_graphs_are_printed(self):
    printed = program.run(self, self.PROGRAM)
    line = lambda name, op: '%s: (%s): /job:localhost/replica:0/task:0/device:CPU:0' % (name, op)
    self.assertEqual(printed.splitlines(), [
        line('y', 'AddV2'), line('x', 'Placeholder'), line('two', 'Const'), 'more',
        line('y', 'AddV2'), line('z', 'Neg'), line('x', 'Placeholder'), line('two', 'Const')])


if __name__ == '__main__':
  unittest.main()
