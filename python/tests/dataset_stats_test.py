"""Statistics of datasets. TensorFlow 1.15 gives the same Summaries, but for latencies."""
import unittest

import leat as tf

X = tf.data.experimental


def told(aggregator, session):
  """{tag: histogram} of the aggregator's Summary."""
  summary = tf.Summary.FromString(session.run(aggregator.get_summary()))
  return {value.tag: value.histo for value in summary.value}


def read(dataset, session):
  iterator = dataset.make_initializable_iterator()
  following = iterator.get_next()
  session.run(iterator.initializer)
  found = []
  while True:
    try:
      found.append(session.run(following))
    except tf.errors.OutOfRangeError:
      return found


def with_stats(dataset, **said):
  options = tf.data.Options()
  for name, value in said.items():
    setattr(options.experimental_stats, name, value)
  return dataset.with_options(options)


class StatsTest(unittest.TestCase):

  def test_bytes_under_tags(self):
    with tf.Graph().as_default(), tf.Session() as session:
      aggregator = X.StatsAggregator()
      dataset = tf.data.Dataset.range(4).apply(X.bytes_produced_stats('wide'))
      dataset = dataset.map(lambda x: tf.cast(x, tf.int32)).apply(X.bytes_produced_stats('narrow'))
      dataset = with_stats(dataset, aggregator=aggregator)
      self.assertEqual(told(aggregator, session), {})
      self.assertEqual(read(dataset, session), [0, 1, 2, 3])
      found = told(aggregator, session)
      self.assertEqual(sorted(found), ['narrow', 'wide'])
      self.assertEqual([(h.num, h.min, h.max, h.sum) for _, h in sorted(found.items())],
                       [(4, 4, 4, 16), (4, 8, 8, 32)])

  def test_a_prefix_and_latencies(self):
    with tf.Graph().as_default(), tf.Session() as session:
      aggregator = X.StatsAggregator()
      dataset = tf.data.Dataset.range(3).apply(X.latency_stats('time'))
      dataset = with_stats(dataset, aggregator=aggregator, prefix='train')
      read(dataset, session)
      found = told(aggregator, session)
      self.assertEqual(list(found), ['train::time'])
      self.assertEqual(found['train::time'].num, 3)

  def test_two_aggregators_and_two_sessions(self):
    with tf.Graph().as_default():
      aggregators = [X.StatsAggregator(), X.StatsAggregator()]
      dataset = tf.data.Dataset.range(2).apply(X.bytes_produced_stats('b'))
      datasets = [with_stats(dataset, aggregator=a) for a in aggregators]
      for _ in range(2):
        with tf.Session() as session:
          read(datasets[0], session)
          self.assertEqual(told(aggregators[0], session)['b'].num, 2)
          self.assertEqual(told(aggregators[1], session), {})

  def test_without_an_aggregator_nobody_is_told(self):
    with tf.Graph().as_default(), tf.Session() as session:
      dataset = tf.data.Dataset.range(3).apply(X.latency_stats('t')).apply(
          X.bytes_produced_stats('b'))
      self.assertEqual(read(dataset, session), [0, 1, 2])

  def test_options_are_checked(self):
    with self.assertRaises(AttributeError):
      X.StatsOptions().tag = 'x'
    with self.assertRaises(TypeError):
      X.StatsOptions().prefix = 3


if __name__ == '__main__':
  unittest.main()
