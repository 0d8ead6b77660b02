"""Strings and characters: what TensorFlow gives for each expression. The tests pass in TensorFlow
too."""
import os
import unittest

import numpy as np

if os.environ.get('LEAT_TEST_WITH') == 'tensorflow':
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
else:
  import leat as tf


def plain(value):
  if hasattr(value, 'dense_shape'):
    return [np.asarray(part).tolist() for part in value]
  return value.to_list() if hasattr(value, 'to_list') else np.asarray(value).tolist()


class StringsTest(unittest.TestCase):

  def _check(self, cases):
    with tf.Graph().as_default(), tf.Session() as session:
      for i, (build, expected) in enumerate(cases):
        with self.subTest(number=i, line=build.__code__.co_firstlineno):
          self.assertEqual(plain(session.run(build())), expected)

  def test_values(self):
    self._check([
        (lambda: tf.strings.split(['a b  c', ' d']),
         [[[0, 0], [0, 1], [0, 2], [1, 0]], [b'a', b'b', b'c', b'd'], [2, 3]]),
        (lambda: tf.strings.split(['a,b,,c', 'd'], ','),
         [[[0, 0], [0, 1], [0, 2], [0, 3], [1, 0]], [b'a', b'b', b'', b'c', b'd'], [2, 4]]),
        (lambda: tf.strings.split(['a,b,,c', 'd'], ',', maxsplit=1),
         [[[0, 0], [0, 1], [1, 0]], [b'a', b'b,,c', b'd'], [2, 2]]),
        (lambda: tf.string_split(['a b  c', ' d']),
         [[[0, 0], [0, 1], [0, 2], [1, 0]], [b'a', b'b', b'c', b'd'], [2, 3]]),
        (lambda: tf.string_split(['a b  c', ' d'], skip_empty=False),
         [[[0, 0], [0, 1], [0, 2], [0, 3], [1, 0], [1, 1]], [b'a', b'b', b'', b'c', b'', b'd'], [2,
          4]]),
        (lambda: tf.string_split(['abc'], ''),
         [[[0, 0], [0, 1], [0, 2]], [b'a', b'b', b'c'], [1, 3]]),
        (lambda: tf.string_split(['a,b;c'], ',;'),
         [[[0, 0], [0, 1], [0, 2]], [b'a', b'b', b'c'], [1, 3]]),
        (lambda: tf.strings.format('x={} y={}', [tf.constant([1, 2]), tf.constant(3.5)]),
         b'x=[1 2] y=3.5'),
        (lambda: tf.strings.reduce_join([['a', 'b'], ['c', 'd']]), b'abcd'),
        (lambda: tf.strings.reduce_join([['a', 'b'], ['c', 'd']], axis=0, separator='-'),
         [b'a-c', b'b-d']),
        (lambda: tf.strings.reduce_join([['a', 'b'], ['c', 'd']], axis=[1, 0]), b'abcd'),
        (lambda: tf.strings.reduce_join([['a', 'b'], ['c', 'd']], axis=1, keepdims=True),
         [[b'ab'], [b'cd']]),
        (lambda: tf.strings.unicode_encode([[104, 233], [8364, 128522]], 'UTF-8'),
         [b'h\xc3\xa9', b'\xe2\x82\xac\xf0\x9f\x98\x8a']),
        (lambda: tf.strings.unicode_decode(['hé', '€'], 'UTF-8'), [[104, 233], [8364]]),
        (lambda: tf.strings.unicode_decode('hé', 'UTF-8'), [104, 233]),
        (lambda: tf.strings.unicode_decode_with_offsets(['héx'], 'UTF-8')[1], [[0, 1, 3]]),
        (lambda: tf.strings.unicode_split(['hé', '€'], 'UTF-8'),
         [[b'h', b'\xc3\xa9'], [b'\xe2\x82\xac']]),
        (lambda: tf.strings.unicode_transcode(['hé'], 'UTF-8', 'UTF-16-BE'), [b'\x00h\x00\xe9']),
        (lambda: tf.strings.unicode_decode([b'a\xffb'], 'UTF-8', errors='ignore'), [[97, 98]]),
        (lambda: tf.strings.unicode_decode([b'a\xe2\x82b\xed\xa0\x80'], 'UTF-8',
          replacement_char=63),
         [[97, 63, 98, 63, 63, 63]]),
        (lambda: tf.strings.unicode_decode([b'\x01b'], 'UTF-8', replace_control_characters=True),
         [[65533, 98]]),
        (lambda: tf.encode_base64(['foo', 'fo'], pad=True), [b'Zm9v', b'Zm8=']),
        (lambda: tf.decode_base64(['Zm9v', 'Zm8']), [b'foo', b'fo']),
    ])

  def test_mistakes_of_encoding(self):
    with tf.Graph().as_default(), tf.Session() as session:
      for wrong in (lambda: tf.strings.unicode_decode([b'\xff'], 'UTF-8', errors='strict'),
                    lambda: tf.strings.unicode_encode([0xD800], 'UTF-8', errors='strict'),
                    lambda: tf.decode_base64('?')):
        with self.assertRaises(tf.errors.InvalidArgumentError):
          session.run(wrong())


if __name__ == '__main__':
  unittest.main()
