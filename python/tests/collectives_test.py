"""Collectives among the CPU devices of one session: values, agreement, and how rounds fail."""
import threading
import unittest

import numpy as np

from free_ports import free_ports
import leat as tf
from leat.python.ops import collective_ops

raw = tf.raw_ops


def session(devices):
  return tf.Session(config=tf.ConfigProto(device_count={'CPU': devices}))


def on_devices(count, make):
  """[make(0), make(1), ...], each made for another device."""
  made = []
  for number in range(count):
    with tf.device('/cpu:%d' % number):
      made.append(make(number))
  return made


def reduce_all(values, merge='Add', final='Id', instance=1, group=1, timeout=0):
  size = len(values)
  return on_devices(size, lambda n: collective_ops.all_reduce(
      values[n], size, group, instance, merge, final, timeout=timeout))


class ValuesTest(unittest.TestCase):

  def setUp(self):
    tf.reset_default_graph()

  def test_reductions_of_all_types(self):
    inputs = [np.arange(1, 40).reshape(13, 3) * (n + 1) % 11 + 1 for n in range(3)]
    stacked = np.stack(inputs)
    wanted = {'Add': stacked.sum(0), 'Mul': stacked.prod(0), 'Min': stacked.min(0),
              'Max': stacked.max(0)}
    instance = 0
    for dtype in ('float32', 'float64', 'float16', 'int32', 'int64'):
      for merge, result in wanted.items():
        instance += 1
        made = reduce_all([x.astype(dtype) for x in inputs], merge, 'Div', instance)
        with session(3) as s:
          for value in s.run(made):
            self.assertEqual(value.dtype, dtype)
            exact = result / 3 if dtype.startswith('f') else result // 3
            np.testing.assert_allclose(value, exact.astype(dtype), rtol=2e-3)

  def test_all_members_get_the_same_bits(self):
    random = np.random.RandomState(3)
    inputs = [random.randn(100003).astype('float32') for _ in range(5)]
    made = reduce_all(inputs)
    with session(5) as s:
      first, *others = s.run(made)
      again = s.run(made[0:1] + made[1:])[0]
    np.testing.assert_allclose(first, np.sum(inputs, 0), rtol=1e-4, atol=1e-5)
    for other in others + [again]:
      np.testing.assert_array_equal(first, other)

  def test_a_nan_stays_in_extrema(self):
    made = reduce_all([np.float32([np.nan, 1]), np.float32([1, np.nan])], 'Max')
    with session(2) as s:
      self.assertTrue(np.isnan(s.run(made)).all())

  def test_the_input_is_left_alone(self):
    with tf.Graph().as_default(), session(2) as s:
      inputs = on_devices(2, lambda n: tf.identity(tf.Variable(np.float32([1, 2]) + n)))
      made = reduce_all(inputs)
      s.run(tf.global_variables_initializer())
      values = s.run([made, inputs])
      np.testing.assert_array_equal(values[1], [[1, 2], [2, 3]])
      np.testing.assert_array_equal(values[0], [[3, 5], [3, 5]])

  def test_gather_broadcast_all_to_all_and_scatter(self):
    x = np.arange(24, dtype='float32').reshape(4, 3, 2)
    gathered = on_devices(4, lambda n: collective_ops.all_gather(x[n], 4, 1, 1))
    sent = on_devices(4, lambda n: (
        collective_ops.broadcast_send(tf.constant(x[2]), [3, 2], tf.float32, 4, 1, 2) if n == 2
        else collective_ops.broadcast_recv([3, 2], tf.float32, 4, 1, 2)))
    crossed = on_devices(4, lambda n: collective_ops.all_to_all_v2(x + 100 * n, 4, 1, 3))
    scattered = on_devices(4, lambda n: raw.CollectiveReduceScatterV2(
        input=x, group_size=4, group_key=1, instance_key=4, merge_op='Add', final_op='Id',
        ordering_token=[]))
    self.assertEqual(gathered[0].shape.as_list(), [12, 2])
    with session(4) as s:
      for value in s.run(gathered):
        np.testing.assert_array_equal(value, x.reshape(12, 2))
      for value in s.run(sent):
        np.testing.assert_array_equal(value, x[2])
      for n, value in enumerate(s.run(crossed)):
        np.testing.assert_array_equal(value, [x[n] + 100 * m for m in range(4)])
      for n, value in enumerate(s.run(scattered)):
        np.testing.assert_array_equal(value, 4 * x[n:n + 1])

  def test_chunks_go_around_the_rings_that_the_op_says(self):
    random = np.random.RandomState(4)
    inputs = [random.randn(5000).astype('float32') for _ in range(4)]
    made = []
    for instance, offsets in enumerate(([], [0], [1, -2, 0], [7])):
      made.append(on_devices(4, lambda n: collective_ops.all_reduce(
          inputs[n], 4, 1, instance, subdiv_offsets=offsets, communication_hint='ring')))
    with session(4) as s:
      for values in s.run(made):
        np.testing.assert_allclose(values[0], np.sum(inputs, 0), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(values[1:], [values[0]] * 3)

  def test_communicators(self):
    handles = on_devices(2, lambda n: collective_ops.initialize_communicator(7, n, 2))
    made = on_devices(2, lambda n: collective_ops.all_reduce_v3(handles[n], tf.constant([1., n])))
    twice = on_devices(2, lambda n: collective_ops.all_reduce_v3(handles[n], made[n], 'Max'))
    with session(2) as s:
      np.testing.assert_array_equal(s.run(twice), [[2, 1], [2, 1]])

  def test_groups_from_an_assignment(self):
    size, key = collective_ops.assign_group_v2([[0, 1], [2, 3]], 2, 100)
    with session(1) as s:
      self.assertEqual(s.run([size, key]), [2, 101])

  def test_in_a_loop_each_iteration_is_a_round(self):
    def body(i, *values):
      return [i + 1] + reduce_all([x + n for n, x in enumerate(values)])
    made = tf.while_loop(lambda i, *values: i < 5, body, [tf.constant(0)] + [tf.constant([1.])] * 2)
    with session(2) as s:
      values = s.run(made)
    x = 1.
    for _ in range(5):
      x = 2 * x + 1
    np.testing.assert_array_equal(values[1:], [[x], [x]])

  def test_runs_side_by_side_do_not_mix(self):
    fed = tf.placeholder(tf.float32, [1000])
    made = reduce_all(on_devices(3, lambda n: fed * (n + 1)))
    failures = []

    def run(s, number):
      for _ in range(20):
        for value in s.run(made, {fed: np.full(1000, number)}):
          if not (value == 6 * number).all():
            failures.append(number)

    with session(3) as s:
      threads = [threading.Thread(target=run, args=(s, n)) for n in range(4)]
      for thread in threads:
        thread.start()
      for thread in threads:
        thread.join()
    self.assertEqual(failures, [])


class ClusterTest(unittest.TestCase):
  """Three tasks, of which the second leads; all servers are in this process."""

  @classmethod
  def setUpClass(cls):
    config = tf.ConfigProto()
    config.experimental.collective_group_leader = '/job:worker/replica:0/task:1'
    cluster = tf.train.ClusterSpec({'worker': ['localhost:%d' % p for p in free_ports(3)]})
    cls.servers = [tf.train.Server(cluster, 'worker', n, config=config) for n in range(3)]

  def setUp(self):
    tf.reset_default_graph()

  def on_tasks(self, make):
    made = []
    for number in range(3):
      with tf.device('/job:worker/task:%d' % number):
        made.append(make(number))
    return made

  def test_values(self):
    x = tf.placeholder(tf.float32, [3, None])
    reduced = self.on_tasks(lambda n: collective_ops.all_reduce(x[n] * 1, 3, 1, 1, final_op='Div'))
    again = self.on_tasks(lambda n: collective_ops.all_reduce_v2(reduced[n] + n, 3, 1, 2, 'Max'))
    gathered = self.on_tasks(lambda n: collective_ops.all_gather_v2(x[n] * 1, 3, 1, 3))
    sent = self.on_tasks(lambda n: (
        collective_ops.broadcast_send_v2(x[n] * 1, 3, 1, 4) if n == 2
        else collective_ops.broadcast_recv_v2(tf.shape(x)[1:], tf.float32, 3, 1, 4)))
    rows = tf.placeholder(tf.float32, [3, 3, 2])
    crossed = self.on_tasks(lambda n: collective_ops.all_to_all_v2(rows[n] * 1, 3, 1, 5))
    random = np.random.RandomState(5)
    with tf.Session(self.servers[0].target) as s:
      for size in (5, 0, 1000, 40000):
        fed = random.randn(3, size).astype('float32')
        values = s.run([reduced, again, gathered, sent], {x: fed})
        np.testing.assert_allclose(values[0][0], fed.mean(0), rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(values[0][1:], [values[0][0]] * 2)
        np.testing.assert_array_equal(values[1], [values[0][0] + 2] * 3)
        np.testing.assert_array_equal(values[2], [fed.reshape(-1)] * 3)
        np.testing.assert_array_equal(values[3], [fed[2]] * 3)
      fed = random.randn(3, 3, 2).astype('float32')
      for n, value in enumerate(s.run(crossed, {rows: fed})):
        np.testing.assert_array_equal(value, fed[:, n])

  def test_failures_end_the_step_and_not_the_session(self):
    fed = tf.placeholder(tf.float32, [2])
    made = self.on_tasks(lambda n: collective_ops.all_reduce_v2(
        tf.debugging.check_numerics(fed, 'bad') if n == 1 else fed * 1, 3, 1, 6))
    with tf.device('/job:worker/task:0'):
      alone = collective_ops.all_reduce_v2(fed, 3, 1, 8, timeout=0.05)
    types = self.on_tasks(lambda n: collective_ops.all_reduce_v2(
        tf.ones([2], tf.int32 if n == 2 else tf.float32), 3, 1, 7))
    with tf.Session(self.servers[2].target) as s:
      for _ in range(3):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'bad'):
          s.run(made, {fed: [1, np.nan]})
        with self.assertRaises(tf.errors.DeadlineExceededError):
          s.run(alone, {fed: [1, 2]})
        with self.assertRaisesRegex(tf.errors.InternalError, 'data_type'):
          s.run(types)
        np.testing.assert_array_equal(s.run(made, {fed: [1, 2]}), [[3, 6]] * 3)


class FailuresTest(unittest.TestCase):

  def setUp(self):
    tf.reset_default_graph()

  def fails(self, error, text, made, devices=2):
    with session(devices) as s:
      with self.assertRaisesRegex(error, text):
        s.run(made)

  def test_members_must_agree(self):
    one, two = tf.ones([3]), tf.ones([4])
    self.fails(tf.errors.InvalidArgumentError, 'Shape mismatch', reduce_all([one, two]))
    self.fails(tf.errors.InternalError, 'data_type', reduce_all([one, tf.ones([3], tf.int32)]))
    sizes = on_devices(2, lambda n: collective_ops.all_reduce(one, 2 + n, 1, 1))
    self.fails(tf.errors.InternalError, 'group with size', sizes)
    kinds = on_devices(2, lambda n: collective_ops.all_reduce(one, 2, 1, 1) if n else
                       collective_ops.broadcast_recv([3], tf.float32, 2, 1, 1))
    self.fails(tf.errors.InternalError, 'expected type', kinds)
    sources = on_devices(2, lambda n: collective_ops.broadcast_send(one, [3], tf.float32, 2, 1, 1))
    self.fails(tf.errors.InternalError, 'already has a source', sources)
    none = on_devices(2, lambda n: collective_ops.broadcast_recv([3], tf.float32, 2, 1, 1))
    self.fails(tf.errors.InternalError, 'no source', none)
    with tf.device('/cpu:0'):
      same = [collective_ops.all_reduce(one, 2, 1, 1) for _ in range(2)]
    self.fails(tf.errors.InternalError, 'twice', same)

  def test_sizes_and_ranks(self):
    with tf.device('/cpu:0'):
      made = raw.CollectiveReduce(input=[1.], group_size=0, group_key=1, instance_key=1,
                                  merge_op='Add', final_op='Id', subdiv_offsets=[])
    self.fails(tf.errors.InvalidArgumentError, 'group_size must be positive', made)
    for ranks, text in (([0, 0], 'Duplicate ranks'), ([0, 2], 'less than'), ([0, -1], 'negative')):
      made = on_devices(2, lambda n: collective_ops.initialize_communicator(1, ranks[n], 2))
      self.fails(tf.errors.InvalidArgumentError, text, [h.op for h in made])
    with tf.device('/cpu:0'):
      made = collective_ops.all_reduce([1.], 1, 1, 1, subdiv_offsets=[0, 1 << 32])
    self.fails(tf.errors.InvalidArgumentError, 'item 1 of subdiv_offsets', made)
    with self.assertRaises(ValueError):
      collective_ops.broadcast_send([1.], [1], tf.float32, 1, 1, 1)

  def test_a_timeout_ends_the_step_and_not_the_session(self):
    timed = reduce_all([[1.], [2.]], timeout=0.05)
    made = reduce_all([[1.], [2.]])
    with session(2) as s:
      with self.assertRaisesRegex(tf.errors.DeadlineExceededError, 'waiting for other workers'):
        s.run(timed[0])
      np.testing.assert_array_equal(s.run(made), [[3], [3]])

  def test_a_failure_elsewhere_ends_those_who_wait(self):
    fed = tf.placeholder(tf.float32, [2])
    values = on_devices(2, lambda n: tf.debugging.check_numerics(fed, 'bad') if n else fed)
    made = reduce_all(values)
    with session(2) as s:
      for _ in range(20):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, 'bad'):
          s.run(made, {fed: [1, np.nan]})
        np.testing.assert_array_equal(s.run(made, {fed: [1, 2]}), [[2, 4], [2, 4]])

  def test_closing_the_session_ends_those_who_wait(self):
    made = reduce_all([[1.], [2.]])
    s = session(2)
    seen = []

    def run():
      try:
        s.run(made[0])
      except (tf.errors.OpError, RuntimeError) as error:   # the latter where it is closed already
        seen.append(type(error))

    options = tf.RunOptions(timeout_in_ms=50)
    with self.assertRaises(tf.errors.DeadlineExceededError):
      s.run(made[0], options=options)
    thread = threading.Thread(target=run)
    thread.start()
    s.close()
    thread.join()
    self.assertEqual(len(seen), 1)


if __name__ == '__main__':
  unittest.main()
