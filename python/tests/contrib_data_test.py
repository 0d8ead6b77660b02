"""tf.contrib.data: names and transformations that tf.data.experimental does not have."""
import unittest

import leat as tf

from dataset_test import D, elements, filled

C = tf.contrib.data


class ContribDataTest(unittest.TestCase):

  def setUp(self):
    graph = tf.Graph().as_default()
    graph.__enter__()
    self.addCleanup(graph.__exit__, None, None, None)

  def test_names(self):
    self.assertIs(C.map_and_batch, tf.data.experimental.map_and_batch)
    self.assertIs(C.TextLineDataset, tf.data.TextLineDataset)

  def test_batches(self):
    self.assertEqual(elements(D.range(5).apply(C.batch_and_drop_remainder(2))), [[0, 1], [2, 3]])
    self.assertEqual(elements(filled(1, 2, 3).apply(C.padded_batch_and_drop_remainder(2, [None]))),
                     [[[1, 0], [2, 2]]])
    self.assertEqual(elements(D.range(5).apply(C.sliding_window_batch(3))),
                     [[0, 1, 2], [1, 2, 3], [2, 3, 4]])
    pairs = D.zip((D.range(6), D.range(6, 12)))
    self.assertEqual(
        elements(pairs.apply(C.sliding_window_batch(2, window_shift=2, window_stride=2))),
        [([0, 2], [6, 8]), ([2, 4], [8, 10])])
    with self.assertRaisesRegex(ValueError, 'both'):
      C.sliding_window_batch(2, 1, 1)

  def test_interleave(self):
    found = elements(D.range(1, 4).apply(C.sloppy_interleave(
        lambda x: D.from_tensors(x).repeat(x), 2)))
    self.assertEqual(sorted(found), [1, 2, 2, 3, 3, 3])

  def test_shapes(self):
    rows = D.from_tensors({'a': tf.placeholder_with_default([[1, 2]], None)})
    checked = rows.apply(C.assert_element_shape({'a': [None, 2]}))
    self.assertEqual(checked.output_shapes['a'].as_list(), [None, 2])
    self.assertEqual(elements(checked), [{'a': [[1, 2]]}])
    for shape in ([None, 3], [2]):
      with self.assertRaises(tf.errors.InvalidArgumentError):
        elements(rows.apply(C.assert_element_shape({'a': shape})))
    with self.assertRaisesRegex(ValueError, 'shape'):
      D.range(3).apply(C.assert_element_shape([2]))


if __name__ == '__main__':
  unittest.main()
