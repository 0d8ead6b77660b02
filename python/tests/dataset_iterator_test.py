"""Iterators over datasets. The tests pass in TensorFlow too."""
import os
import tempfile
import unittest

import numpy as np

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
else:
  import leat as tf

D = tf.data.Dataset
X = tf.data.experimental


class IteratorTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def test_one_shot(self):
    inner = D.range(10, 12)
    scale = tf.constant([5, 6], tf.int64)
    dataset = D.range(2).flat_map(lambda x: inner.map(lambda y: y + x * scale[1]))
    following = tf.data.make_one_shot_iterator(dataset).get_next()
    with tf.Session() as session:
      self.assertEqual([session.run(following) for _ in range(4)], [10, 11, 16, 17])
      for _ in range(2):
        with self.assertRaises(tf.errors.OutOfRangeError):
          session.run(following)
    with tf.Session() as session:   # another session has an iterator of its own
      self.assertEqual(session.run(following), 10)

  def test_one_shot_has_no_state(self):
    variable = tf.Variable(3, dtype=tf.int64)
    for dataset in (D.range(tf.placeholder(tf.int64, [])), D.range(variable),
                    D.range(3).map(lambda x: x + variable)):
      with self.assertRaisesRegex(ValueError, 'Cannot capture a (placeholder|stateful node)'):
        tf.data.make_one_shot_iterator(dataset)

  def test_initializable(self):
    start = tf.placeholder(tf.int64, [])
    iterator = tf.data.make_initializable_iterator(D.range(start, 9))
    following = iterator.get_next()
    with tf.Session() as session:
      with self.assertRaisesRegex(tf.errors.FailedPreconditionError, 'not been initialized'):
        session.run(following)
      for first in (7, 3):
        session.run(iterator.initializer, {start: first})
        self.assertEqual(session.run(following), first)

  def test_one_step_takes_one_element(self):
    first, second = tf.data.make_one_shot_iterator(
        D.zip((D.range(5), D.range(5, 10)))).get_next()
    with tf.Session() as session:
      self.assertEqual(session.run([first, second, first + second]), [0, 5, 5])
      self.assertEqual(session.run(second), 6)
      self.assertEqual(session.run(first), 2)

  def test_random_ops_begin_again(self):
    def numbers(_):
      return tf.random_uniform([], seed=1)

    def run(session, following, count):
      return [float(session.run(following)) for _ in range(count)]

    dataset = D.range(3).map(numbers)
    ways = {'repeated': dataset.repeat(2),
            'parallel': D.range(3).map(numbers, num_parallel_calls=1).repeat(2),
            'inner': D.range(3).flat_map(lambda x: D.range(2).map(numbers)),
            'in a branch': D.range(6).map(lambda x: tf.cond(x < 9, lambda: numbers(x),
                                                            lambda: 0.)),
            'of two functions': D.range(6).map(numbers).map(
                lambda x: tf.where(tf.equal(x, numbers(x)), x, -1.)),
            'kept': D.range(40).filter(lambda x: numbers(x) < .5)}
    for name, way in ways.items():
      with self.subTest(name), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(way)
        following, passes = iterator.get_next(), []
        for _ in range(2):
          session.run(iterator.initializer)
          passes.append(run(session, following, 6))
        self.assertEqual(passes[0], passes[1])
        self.assertEqual(len(set(passes[0])), 6)   # within a pass they go on
    iterators = [tf.data.make_initializable_iterator(dataset) for _ in range(2)]
    total = dataset.reduce(0., lambda s, x: 10 * s + x)
    unseeded = tf.data.make_initializable_iterator(D.range(3).map(lambda x: tf.random_uniform([])))
    with tf.Session() as session:
      session.run([i.initializer for i in iterators])
      pairs = [session.run([i.get_next() for i in iterators]) for _ in range(3)]
      self.assertEqual([x for x, _ in pairs], [x for _, x in pairs])
      self.assertEqual(session.run(total), session.run(total))
      passes = []
      for _ in range(2):
        session.run(unseeded.initializer)
        passes.append(run(session, unseeded.get_next(), 3))
      self.assertNotEqual(passes[0], passes[1])

  def test_from_structure(self):
    iterator = tf.data.Iterator.from_structure(tf.int64, [None])
    following = iterator.get_next()
    ways = [iterator.make_initializer(d) for d in (D.range(4).batch(2), D.from_tensors(
        np.array([7, 8, 9])))]
    with tf.Session() as session:
      for way, expected in zip(ways, ([0, 1], [7, 8, 9])):
        session.run(way)
        self.assertEqual(session.run(following).tolist(), expected)
    for dataset, error in ((D.from_tensors([1.0]), TypeError), (D.range(3), TypeError),
                           (D.zip((D.range(2), D.range(2))), ValueError)):
      with self.assertRaises(error):
        iterator.make_initializer(dataset)
    with self.assertRaisesRegex(ValueError, 'initializer'):
      iterator.initializer

  def test_descriptions(self):
    iterator = tf.data.Iterator.from_structure((tf.int64, {'a': tf.float64}))
    self.assertEqual(tf.data.get_output_types(iterator), (tf.int64, {'a': tf.float64}))
    self.assertEqual(str(tf.data.get_output_shapes(iterator)),
                     "(TensorShape(None), {'a': TensorShape(None)})")
    sparse = D.range(3).map(lambda x: tf.SparseTensor([[x]], [x], [4])).batch(2)
    iterator = tf.data.Iterator.from_structure(*(f(sparse) for f in (
        tf.data.get_output_types, tf.data.get_output_shapes)),
                                               output_classes=tf.data.get_output_classes(sparse))
    following, start = iterator.get_next(), iterator.make_initializer(sparse)
    self.assertEqual(following.get_shape().as_list(), [None, 4])
    with tf.Session() as session:
      session.run(start)
      self.assertEqual(session.run(following).values.tolist(), [0, 1])

  def test_string_handle(self):
    first = tf.data.make_one_shot_iterator(D.range(2))
    second = tf.data.make_initializable_iterator(D.range(5, 7))
    handle = tf.placeholder(tf.string, [])
    iterator = tf.data.Iterator.from_string_handle(handle, tf.int64, [])
    following = iterator.get_next()
    other = tf.data.Iterator.from_string_handle(handle, tf.float32, []).get_next()
    with tf.Session() as session:
      session.run(second.initializer)
      handles = session.run([first.string_handle(), second.string_handle('named')])
      self.assertEqual([session.run(following, {handle: handles[i]}) for i in (0, 1, 0)],
                       [0, 5, 1])
      with self.assertRaises(tf.errors.OutOfRangeError):
        session.run(following, {handle: handles[0]})
      with self.assertRaises(tf.errors.InvalidArgumentError):
        session.run(other, {handle: handles[1]})

  def test_names(self):
    iterator = tf.data.make_initializable_iterator(D.range(3).batch(2))
    iterator.get_next('following')
    iterator.string_handle('named')
    tf.data.make_one_shot_iterator(D.range(4)).get_next()
    self.assertEqual([op.name for op in tf.get_default_graph().get_operations()], [
        'start', 'stop', 'step', 'RangeDataset', 'batch_size', 'drop_remainder', 'BatchDatasetV2',
        'IteratorV2', 'MakeIterator', 'IteratorToStringHandle', 'following', 'named', 'start_1',
        'stop_1', 'step_1', 'RangeDataset_1', 'OneShotIterator', 'IteratorToStringHandle_1',
        'IteratorGetNext'])

  def test_elements_on_a_device(self):
    dataset = D.range(2).map(lambda x: (x, tf.SparseTensor([[0]], [x], [1])))
    dataset = dataset.apply(X.prefetch_to_device('/cpu:0', 1))
    number, sparse = tf.data.make_one_shot_iterator(dataset).get_next()
    self.assertEqual(number.device.lower(), '/device:cpu:0')
    with tf.Session() as session:
      self.assertEqual(session.run([number, sparse.values]), [0, [0]])

  def test_many_calls_of_get_next_warn(self):
    import warnings
    iterator = tf.data.make_one_shot_iterator(D.range(3))
    with warnings.catch_warnings(record=True) as caught:
      warnings.simplefilter('always')
      for _ in range(100):
        iterator.get_next()
    self.assertTrue(any('high number of `Iterator.get_next()`' in str(w.message) for w in caught))


class SavedIteratorTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.prefix = os.path.join(folder.name, 'model')

  def _check(self, iterator):
    """What comes after a position that was saved comes again after it is restored, in the session
    and in another one."""
    following = iterator.get_next()
    saver = tf.train.Saver([X.make_saveable_from_iterator(iterator)])
    starts = [iterator.initializer] if iterator is not self.one_shot else []
    with tf.Session() as session:
      session.run(starts)
      for _ in range(3):
        session.run(following)
      path = saver.save(session, self.prefix)
      wanted = [session.run(following).tolist() for _ in range(4)]
      saver.restore(session, path)
      self.assertEqual([session.run(following).tolist() for _ in range(4)], wanted)
    with tf.Session() as session:
      session.run(starts)
      saver.restore(session, path)
      self.assertEqual([session.run(following).tolist() for _ in range(4)], wanted)
    return wanted

  def test_position(self):
    dataset = D.range(10).shuffle(5, seed=2).repeat(2).batch(2)
    self.one_shot = tf.data.make_one_shot_iterator(dataset)
    found = self._check(self.one_shot)
    self.assertEqual(self._check(tf.data.make_initializable_iterator(dataset)), found)

  def test_end(self):
    iterator = tf.data.make_initializable_iterator(D.range(2))
    following = iterator.get_next()
    saver = tf.train.Saver([X.make_saveable_from_iterator(iterator)])
    with tf.Session() as session:
      session.run(iterator.initializer)
      for _ in range(2):
        session.run(following)
      path = saver.save(session, self.prefix)
      session.run(iterator.initializer)
      saver.restore(session, path)
      with self.assertRaises(tf.errors.OutOfRangeError):
        session.run(following)

  def test_checkpoint(self):
    iterator = tf.data.make_initializable_iterator(D.range(9))
    following = iterator.get_next()
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    with tf.Session() as session:
      checkpoint.restore(None).initialize_or_restore(session)
      self.assertEqual([session.run(following) for _ in range(3)], [0, 1, 2])
      path = checkpoint.save(self.prefix, session)
      self.assertEqual(session.run(following), 3)
      checkpoint.restore(path).initialize_or_restore(session)
      self.assertEqual(session.run(following), 3)

  def test_not_initialized(self):
    iterator = tf.data.make_initializable_iterator(D.range(9))
    saver = tf.train.Saver([X.make_saveable_from_iterator(iterator)])
    with tf.Session() as session, self.assertRaises(tf.errors.FailedPreconditionError):
      saver.save(session, self.prefix)


class OptionalTest(unittest.TestCase):

  def test_values(self):
    with tf.Graph().as_default(), tf.Session() as session:
      some = X.Optional.from_value((1, {'a': [2.0]}))
      self.assertTrue(session.run(some.has_value()))
      self.assertEqual(str(session.run(some.get_value()[1]['a'])), '[2.]')
      sparse = X.Optional.from_value(tf.SparseTensor([[0]], [5], [1])).get_value()
      self.assertEqual(session.run(sparse).values.tolist(), [5])

  def test_no_value(self):
    with tf.Graph().as_default(), tf.Session() as session:
      none = X.Optional.empty((tf.TensorSpec([], tf.int32), {'a': tf.TensorSpec([2], tf.string)}))
      self.assertFalse(session.run(none.has_value()))
      number, texts = none.get_value()[0], none.get_value()[1]['a']
      self.assertEqual([number.dtype, texts.get_shape().as_list()], [tf.int32, [2]])
      with self.assertRaises(tf.errors.InvalidArgumentError):
        session.run(number)

  def test_next_element(self):
    with tf.Graph().as_default(), tf.Session() as session:
      following = X.get_next_as_optional(tf.data.make_one_shot_iterator(D.range(2)))
      has, value = following.has_value(), following.get_value()
      self.assertEqual(session.run([has, value]), [True, 0])
      self.assertEqual(session.run([has, value]), [True, 1])
      self.assertFalse(session.run(has))
      with self.assertRaises(tf.errors.InvalidArgumentError):
        session.run(value)

  def test_as_component(self):
    with tf.Graph().as_default(), tf.Session() as session:
      dataset = D.range(2).map(X.Optional.from_value).map(lambda o: o.get_value() + 1)
      following = tf.data.make_one_shot_iterator(dataset).get_next()
      self.assertEqual([session.run(following) for _ in range(2)], [1, 2])


if __name__ == '__main__':
  unittest.main()
