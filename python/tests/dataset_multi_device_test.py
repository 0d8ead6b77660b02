"""Iterators that deal out elements to several devices."""
import unittest

import leat as tf

_TYPES = dict(output_types=[tf.int64], output_shapes=[[]])


class MultiDeviceIteratorTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)
    self.shard = tf.placeholder(tf.int32, [])
    self.incarnation = tf.placeholder(tf.int64, [])

  def _iterator(self, name='one', devices=2):
    return tf.raw_ops.MultiDeviceIterator(devices=['/cpu:%d' % i for i in range(devices)],
                                          shared_name=name, container='', **_TYPES)

  def _begin(self, dataset, iterator):
    return tf.raw_ops.MultiDeviceIteratorInit(
        dataset=dataset._variant, multi_device_iterator=iterator, max_buffer_size=2)

  def _following(self, iterator):
    return tf.raw_ops.MultiDeviceIteratorGetNextFromShard(
        multi_device_iterator=iterator, shard_num=self.shard, incarnation_id=self.incarnation,
        **_TYPES)[0]

  def _all(self, session, following, shard, incarnation):
    found = []
    while True:
      try:
        found.append(session.run(following, {self.shard: shard, self.incarnation: incarnation}))
      except tf.errors.OutOfRangeError:
        return found

  def test_elements_are_dealt_out_in_turn(self):
    iterator = self._iterator()
    begin, following = self._begin(tf.data.Dataset.range(7), iterator), self._following(iterator)
    with tf.Session() as session:
      self.assertEqual([session.run(begin), session.run(begin)], [1, 2])
      self.assertEqual(self._all(session, following, 1, 2), [1, 3, 5])
      self.assertEqual(self._all(session, following, 0, 2), [0, 2, 4, 6])
      for shard, incarnation in ((0, 1), (0, 3), (2, 2), (-1, 2)):
        with self.assertRaises(tf.errors.InvalidArgumentError):
          session.run(following, {self.shard: shard, self.incarnation: incarnation})

  def test_a_failure_goes_to_its_shard(self):
    dataset = tf.data.Dataset.range(4).map(
        lambda x: x + tf.cast(tf.check_numerics(1 / tf.cast(x - 1, tf.float32), ''), tf.int64) * 0)
    iterator = self._iterator()
    begin, following = self._begin(dataset, iterator), self._following(iterator)
    with tf.Session() as session:
      incarnation = session.run(begin)
      self.assertEqual(self._all(session, following, 0, incarnation), [0, 2])
      with self.assertRaises(tf.errors.InvalidArgumentError):
        session.run(following, {self.shard: 1, self.incarnation: incarnation})
      self.assertEqual(self._all(session, following, 1, incarnation), [3])

  def test_strings_name_it(self):
    iterator = self._iterator()
    named = tf.raw_ops.MultiDeviceIteratorFromStringHandle(
        string_handle=tf.raw_ops.MultiDeviceIteratorToStringHandle(multi_device_iterator=iterator),
        **_TYPES)
    begin, following = self._begin(tf.data.Dataset.range(3), iterator), self._following(named)
    with tf.Session() as session:
      incarnation = session.run(begin)
      self.assertEqual(self._all(session, following, 0, incarnation), [0, 2])

  def test_one_that_was_not_begun(self):
    following = self._following(self._iterator())
    with tf.Session() as session:
      with self.assertRaises(tf.errors.FailedPreconditionError):
        session.run(following, {self.shard: 0, self.incarnation: 0})


if __name__ == '__main__':
  unittest.main()
