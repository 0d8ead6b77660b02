"""Datasets that make elements ahead: what is in flight, in which order elements come, failures,
cancelled steps, and the end of iterators and sessions."""
import os
import tempfile
import threading
import unittest

import leat as tf
import numpy as np

D = tf.data.Dataset
X = tf.data.experimental


def _called(function):
  """For Dataset.map: calls a function of Python with an int64, which gives one."""
  def apply(x):
    made = tf.py_func(function, [x], tf.int64)
    made.set_shape([])
    return made
  return apply


def _all(session, following):
  found = []
  while True:
    try:
      found.append(session.run(following))
    except tf.errors.OutOfRangeError:
      return found


def _some_order():
  options = tf.data.Options()
  options.experimental_deterministic = False
  return options


class _Meeting:
  """Counts calls, which wait until `wanted` of them are there."""

  def __init__(self, wanted):
    self._barrier = threading.Barrier(wanted)

  def __call__(self, x):
    self._barrier.wait(60)
    return np.int64(x)


class AheadTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def _next(self, dataset):
    return tf.data.make_one_shot_iterator(dataset).get_next()

  def _initialized(self, dataset):
    """As _next, for a dataset with state; an operation in TABLE_INITIALIZERS begins it."""
    iterator = tf.data.make_initializable_iterator(dataset)
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next()

  # What is in flight ----------------------------------------------------------------------------

  def test_map_makes_several_calls(self):
    dataset = D.range(12).map(_called(_Meeting(4)), num_parallel_calls=4)
    with tf.Session() as session:
      self.assertEqual(_all(session, self._next(dataset)), list(range(12)))

  def test_map_makes_no_more_calls(self):
    lock, state = threading.Lock(), {'running': 0, 'most': 0}

    def count(x):
      with lock:
        state['running'] += 1
        state['most'] = max(state['most'], state['running'])
      threading.Event().wait(0.002)
      with lock:
        state['running'] -= 1
      return np.int64(x)

    dataset = D.range(30).map(_called(count), num_parallel_calls=3)
    with tf.Session() as session:
      self.assertEqual(_all(session, self._next(dataset)), list(range(30)))
    self.assertLessEqual(state['most'], 3)

  def test_map_and_batch_makes_several_calls(self):
    with tf.Session() as session:
      for arguments in ({'num_parallel_calls': 4}, {'num_parallel_batches': 2}):
        dataset = D.range(8).apply(X.map_and_batch(_called(_Meeting(4)), 2, **arguments))
        found = _all(session, self._next(dataset))
        self.assertEqual(np.concatenate(found).tolist(), list(range(8)))

  def test_interleave_reads_several_datasets(self):
    meeting = _Meeting(3)
    for sloppy in (False, True):
      dataset = D.range(3).interleave(lambda x: D.from_tensors(x).map(_called(meeting)).repeat(2),
                                      cycle_length=3, num_parallel_calls=3,
                                      deterministic=not sloppy)
      with tf.Session() as session:
        self.assertEqual(sorted(_all(session, self._next(dataset))), [0, 0, 1, 1, 2, 2])

  def test_prefetch_fills_its_buffer_between_steps(self):
    made = [threading.Event() for _ in range(8)]

    def note(x):
      made[x].set()
      return np.int64(x)

    following = self._next(D.range(8).map(_called(note)).prefetch(3))
    with tf.Session() as session:
      self.assertEqual(session.run(following), 0)
      for event in made[:4]:
        self.assertTrue(event.wait(60))
      self.assertFalse(made[5].is_set())
      self.assertEqual(_all(session, following), list(range(1, 8)))

  # Order ----------------------------------------------------------------------------------------

  def test_order_is_kept(self):
    def uneven(x):
      threading.Event().wait(0.001 * (7 * x % 5))
      return np.int64(x)

    dataset = D.range(40).map(_called(uneven), num_parallel_calls=7).prefetch(2)
    with tf.Session() as session:
      self.assertEqual(_all(session, self._next(dataset)), list(range(40)))

  def test_any_order_passes_what_waits(self):
    gate = threading.Event()

    def first_waits(x):
      if x == 0:
        gate.wait(60)
      return np.int64(x)

    for dataset in (
        D.range(6).map(_called(first_waits), num_parallel_calls=2).with_options(_some_order()),
        D.range(6).map(_called(first_waits), num_parallel_calls=2, deterministic=False)):
      gate.clear()
      following = self._next(dataset)
      with tf.Session() as session:
        self.assertEqual(sorted(session.run(following) for _ in range(5)), [1, 2, 3, 4, 5])
        gate.set()
        self.assertEqual(_all(session, following), [0])

  def test_any_order_of_interleave_passes_what_waits(self):
    gate = threading.Event()

    def first_waits(x):
      if x == 0:
        gate.wait(60)
      return np.int64(x)

    dataset = D.range(4).apply(X.parallel_interleave(
        lambda x: D.from_tensors(x).map(_called(first_waits)), cycle_length=2, sloppy=True))
    following = self._next(dataset)
    with tf.Session() as session:
      self.assertEqual(sorted(session.run(following) for _ in range(3)), [1, 2, 3])
      gate.set()
      self.assertEqual(_all(session, following), [0])

  def test_parallel_interleave_has_the_order_of_interleave(self):
    numbers = np.random.RandomState(3)
    with tf.Session() as session:
      for _ in range(12):
        lengths = tf.constant(numbers.randint(0, 5, 9), tf.int64)
        cycle, block = int(numbers.randint(1, 6)), int(numbers.randint(1, 4))
        calls = int(numbers.randint(1, cycle + 1))

        def inner(x, lengths=lengths):
          return D.range(100 * x, 100 * x + lengths[x])

        plain = D.range(9).interleave(inner, cycle, block)
        ahead = D.range(9).interleave(inner, cycle, block, num_parallel_calls=calls)
        self.assertEqual(_all(session, self._next(ahead)), _all(session, self._next(plain)))

  def test_blocks_of_the_first_parallel_interleave(self):
    # As TensorFlow gives them: where no dataset follows, the next place gives the rest of a block.
    lengths = tf.constant([0, 2, 2, 0, 4, 3, 4, 5, 0], tf.int64)
    dataset = D.range(9).apply(X.parallel_interleave(
        lambda x: D.range(100 * x, 100 * x + lengths[x]), 5, 4))
    with tf.Session() as session:
      self.assertEqual(_all(session, self._next(dataset)), [
          100, 101, 200, 201, 400, 401, 402, 403, 500, 501, 502, 600, 700, 701, 702, 703,
          601, 602, 603, 704])

  def test_nested(self):
    def inner(x):
      return D.range(x, x + 3).map(lambda y: y * 10, num_parallel_calls=2).prefetch(1)

    dataset = D.range(5).interleave(inner, 2, 1, num_parallel_calls=2)
    dataset = dataset.prefetch(2).batch(4).map(lambda x: x + 1, num_parallel_calls=3).prefetch(1)
    plain = D.range(5).interleave(lambda x: D.range(x, x + 3).map(lambda y: y * 10), 2, 1)
    plain = plain.batch(4).map(lambda x: x + 1)
    with tf.Session() as session:
      wanted = np.concatenate(_all(session, self._next(plain))).tolist()
      for _ in range(5):
        self.assertEqual(np.concatenate(_all(session, self._next(dataset))).tolist(), wanted)

  def test_passes_over_a_shuffle_are_the_same(self):
    def dataset(ahead):
      made = D.range(20).shuffle(7, seed=5).repeat(2)
      return made.map(lambda x: x + 1, num_parallel_calls=3).prefetch(4) if ahead else \
          made.map(lambda x: x + 1)
    with tf.Session() as session:
      self.assertEqual(_all(session, self._next(dataset(True))),
                       _all(session, self._next(dataset(False))))

  # Failures -------------------------------------------------------------------------------------

  def _outcomes(self, session, following):
    found = []
    while True:
      try:
        found.append(int(session.run(following)))
      except tf.errors.OutOfRangeError:
        return found
      except tf.errors.InvalidArgumentError:
        found.append('failure')

  def test_failures_come_in_their_place(self):
    def checked(x):
      with tf.control_dependencies([tf.check_numerics(1 / tf.cast(x % 4 - 2, tf.float32), 'zero')]):
        return tf.identity(x)

    wanted = [0, 1, 'failure', 3, 4, 5, 'failure', 7]
    with tf.Session() as session:
      for dataset in (D.range(8).map(checked, num_parallel_calls=3),
                      D.range(8).map(checked).prefetch(3),
                      D.range(8).map(checked, num_parallel_calls=1).prefetch(1),
                      D.range(8).map(checked).map(lambda x: x, num_parallel_calls=2)):
        self.assertEqual(self._outcomes(session, self._next(dataset)), wanted)

  # Steps ----------------------------------------------------------------------------------------

  def test_a_cancelled_step_loses_nothing(self):
    gate = threading.Event()

    def third_waits(x):
      if x == 2:
        gate.wait(60)
      return np.int64(x)

    brief = tf.RunOptions(timeout_in_ms=30)
    for dataset in (D.range(6).map(_called(third_waits), num_parallel_calls=2),
                    D.range(6).map(_called(third_waits)).prefetch(1),
                    D.range(6).map(_called(third_waits)).prefetch(2).batch(1).map(lambda x: x[0])):
      gate.clear()
      following = self._next(dataset)
      with tf.Session() as session:
        found = [session.run(following) for _ in range(2)]
        for _ in range(3):
          with self.assertRaises(tf.errors.DeadlineExceededError):
            session.run(following, options=brief)
        gate.set()
        self.assertEqual(found + _all(session, following), list(range(6)))

  def test_an_element_that_waits_for_another_step(self):
    queue = tf.FIFOQueue(10, [tf.int64], [[]])
    waiting = self._initialized(D.range(4).map(lambda x: x + queue.dequeue(), num_parallel_calls=2)
                                .prefetch(2))
    other = self._next(D.range(50).map(lambda x: x * x, num_parallel_calls=4).prefetch(4))
    put = queue.enqueue(tf.constant(100, tf.int64))
    with tf.Session() as session:
      session.run(tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS))
      found = []
      thread = threading.Thread(target=lambda: found.extend(_all(session, waiting)))
      thread.start()
      self.assertEqual(_all(session, other), [x * x for x in range(50)])
      for _ in range(4):
        session.run(put)
      thread.join(60)
      self.assertEqual(found, [100, 101, 102, 103])

  def test_many_steps_at_once(self):
    following = self._next(D.range(400).map(lambda x: x + 1, num_parallel_calls=4).prefetch(3))
    with tf.Session() as session:
      found = [[] for _ in range(4)]
      threads = [threading.Thread(target=lambda one: one.extend(_all(session, following)),
                                  args=(one,)) for one in found]
      for thread in threads:
        thread.start()
      for thread in threads:
        thread.join(60)
      self.assertEqual(sorted(sum(found, [])), list(range(1, 401)))

  # Ends -----------------------------------------------------------------------------------------

  def _endless(self):
    return D.range(10 ** 9).map(lambda x: x + 1, num_parallel_calls=3).prefetch(5).interleave(
        lambda x: D.from_tensors(x).repeat(3).prefetch(1), 2, 1, num_parallel_calls=2).prefetch(5)

  def test_a_session_ends_what_goes_on(self):
    following = self._next(self._endless())
    for _ in range(20):
      with tf.Session() as session:
        self.assertEqual([session.run(following) for _ in range(3)], [1, 2, 1])

  def test_an_iterator_is_begun_anew(self):
    iterator = tf.data.make_initializable_iterator(self._endless())
    following = iterator.get_next()
    with tf.Session() as session:
      for _ in range(30):
        session.run(iterator.initializer)
        self.assertEqual(session.run(following), 1)

  def test_a_session_is_closed_while_functions_wait(self):
    queue = tf.FIFOQueue(10, [tf.int64], [[]])
    following = self._initialized(
        D.range(9).map(lambda x: x + queue.dequeue(), num_parallel_calls=3))
    session = tf.Session()
    session.run(tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS))
    failures = []

    def run():
      try:
        session.run(following)
      except (tf.errors.CancelledError, RuntimeError) as error:   # the latter: it is closed already
        failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    threading.Event().wait(0.02)
    session.close()
    thread.join(60)
    self.assertFalse(thread.is_alive())
    self.assertEqual(len(failures), 1)

  def test_a_restored_iterator_loses_nothing(self):
    iterator = tf.data.make_initializable_iterator(
        D.range(20).map(lambda x: x * 2, num_parallel_calls=4).prefetch(6))
    following = iterator.get_next()
    saver = tf.train.Saver([X.make_saveable_from_iterator(iterator)])
    path = os.path.join(tempfile.mkdtemp(), 'state')
    with tf.Session() as session:
      session.run(iterator.initializer)
      self.assertEqual([session.run(following) for _ in range(5)], [0, 2, 4, 6, 8])
      saver.save(session, path)
      session.run(following)
      saver.restore(session, path)
      self.assertEqual(_all(session, following), list(range(10, 40, 2)))


if __name__ == '__main__':
  unittest.main()
