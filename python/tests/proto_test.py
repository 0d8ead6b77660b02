"""tf.io.decode_proto and tf.io.encode_proto: messages whose type is in a FileDescriptorSet."""
import os
import struct
import tempfile
import unittest

import numpy as np

import leat as tf


def varint(value):
  value &= 2**64 - 1
  text = bytearray()
  while value > 127:
    text.append(value & 127 | 128)
    value >>= 7
  text.append(value)
  return bytes(text)


def field(number, value):
  """A field of a serialized message: of an integer, of bytes, or of text."""
  if isinstance(value, int):
    return varint(number << 3) + varint(value)
  value = value.encode() if isinstance(value, str) else value
  return varint(number << 3 | 2) + varint(len(value)) + value


OPTIONAL, REPEATED = 1, 3
FLOAT, INT64, INT32, STRING, MESSAGE, BYTES, ENUM, SINT32 = 2, 3, 5, 9, 11, 12, 14, 17


def described(name, number, label, kind, type_name='', default='', packed=None, extendee=''):
  text = field(1, name) + field(3, number) + field(4, label) + field(5, kind)
  for place, value in ((2, extendee), (6, type_name), (7, default)):
    text += field(place, value) if value else b''
  return text if packed is None else text + field(8, field(2, packed))


def descriptors(syntax=''):
  """A FileDescriptorSet with messages test.M and test.M.Inner, and the enumeration test.E."""
  value = lambda name, number: field(1, name) + field(2, number)
  inner = field(1, 'Inner') + field(2, described('x', 1, OPTIONAL, INT32))
  inner += field(6, described('more', 101, OPTIONAL, INT32, extendee='.test.M'))
  message = field(1, 'M') + field(3, inner)
  for part in (
      described('number', 1, OPTIONAL, INT32, default='-7'),
      described('words', 2, REPEATED, STRING),
      described('packed', 3, REPEATED, SINT32, packed=1),
      described('loose', 4, REPEATED, INT32),
      described('real', 5, OPTIONAL, FLOAT, default='2.5'),
      described('inner', 6, OPTIONAL, MESSAGE, '.test.M.Inner'),
      described('kind', 7, OPTIONAL, ENUM, '.test.E', default='TEN'),
      described('raw', 8, OPTIONAL, BYTES, default='a\\001\\"'),
      described('long', 9, OPTIONAL, INT64),
      described('first', 10, OPTIONAL, ENUM, '.test.E')):
    message += field(2, part)
  enum = field(1, 'E') + field(2, value('THREE', 3)) + field(2, value('TEN', 10))
  extension = described('extra', 100, REPEATED, INT32, extendee='.test.M')
  file = field(1, 'test.proto') + field(2, 'test') + field(4, message) + field(5, enum)
  file += field(7, extension)
  file += field(7, described('other', 100, REPEATED, INT32, extendee='.test.M.Inner'))
  return field(1, file + (field(12, syntax) if syntax else b''))


SOURCE = b'bytes://' + descriptors()


class ProtoCase(unittest.TestCase):

  def setUp(self):
    tf.reset_default_graph()

  def decode(self, messages, names, types, message_type='test.M', source=SOURCE, **arguments):
    fetches = tf.io.decode_proto(messages, message_type, names, types, source, **arguments)
    with tf.Session() as session:
      sizes, values = session.run(fetches)
    return sizes.tolist(), [v.tolist() for v in values]

  def encode(self, sizes, values, names, message_type='test.M', source=SOURCE):
    message = tf.io.encode_proto(sizes, values, names, message_type, source)
    with tf.Session() as session:
      return session.run(message).tolist()

  def assert_refused(self, error, text, call, *arguments, **more):
    with self.assertRaisesRegex(error, text):
      call(*arguments, **more)


class DecodeTest(ProtoCase):

  def test_values_are_padded_to_the_longest_message(self):
    messages = [field(1, -3) + field(4, 1) + field(2, 'a') + field(4, 2) + field(2, 'b'),
                field(4, 5)]
    sizes, values = self.decode(messages, ['loose', 'number', 'words'],
                                [tf.int32, tf.int32, tf.string])
    self.assertEqual(sizes, [[2, 1, 2], [1, 0, 0]])
    self.assertEqual(values, [[[1, 2], [5, 0]], [[-3], [-7]], [[b'a', b'b'], [b'', b'']]])

  def test_packed_and_loose_values_are_both_read(self):
    message = field(3, varint(1) + varint(2)) + field(3, 4) + field(4, varint(7) + varint(8))
    sizes, values = self.decode(message, ['packed', 'loose'], [tf.int64, tf.int32])
    self.assertEqual((sizes, values), ([3, 2], [[-1, 1, 2], [7, 8]]))

  def test_an_absent_field_has_its_default(self):
    names = ['number', 'real', 'kind', 'raw', 'first', 'inner', 'long']
    types = [tf.int64, tf.float64, tf.int32, tf.string, tf.int32, tf.string, tf.int64]
    _, values = self.decode(b'', names, types)
    self.assertEqual(values, [[-7], [2.5], [10], [b'a\x01"'], [3], [b''], [0]])

  def test_the_last_of_several_values_counts_and_others_are_skipped(self):
    group = varint(50 << 3 | 3) + field(1, 9) + varint(50 << 3 | 4)
    wrong = varint(1 << 3 | 5) + struct.pack('<I', 1)
    sizes, values = self.decode([group + field(1, 4) + wrong + field(1, 5)], ['number'],
                                [tf.int32])
    self.assertEqual((sizes, values), ([[1]], [[[5]]]))

  def test_nested_messages_extensions_and_files(self):
    inner = field(1, 12)
    message = field(6, inner) + field(100, 1) + field(100, 2) + field(101, 3)
    sizes, values = self.decode(message, ['inner', 'test.extra', 'test.M.Inner.more'],
                                [tf.string, tf.int32, tf.int32])
    self.assertEqual((sizes, values), ([1, 2, 1], [[inner], [1, 2], [3]]))
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'test.desc')
      with open(path, 'wb') as out:
        out.write(descriptors())
      self.assertEqual(self.decode(inner, ['x'], [tf.int32], 'test.M.Inner', path), ([1], [[12]]))

  def test_shapes_follow_the_batch(self):
    sizes, (value,) = tf.io.decode_proto(tf.placeholder(tf.string, [None, 2]), 'test.M',
                                         ['loose'], [tf.int32], SOURCE)
    self.assertEqual(sizes.shape.as_list(), [None, 2, 1])
    self.assertEqual(value.shape.as_list(), [None, 2, None])

  def test_messages_as_text(self):
    sizes, values = self.decode([b'number: 4 words: ["a", "b"]', b'loose: 1 loose: 2'],
                                ['number', 'words', 'loose'], [tf.int32, tf.string, tf.int32],
                                message_format='text')
    self.assertEqual(sizes, [[1, 2, 0], [0, 0, 2]])
    self.assertEqual(values, [[[4], [-7]], [[b'a', b'b'], [b'', b'']], [[0, 0], [1, 2]]])

  def test_what_is_refused(self):
    invalid, lost = tf.errors.InvalidArgumentError, tf.errors.DataLossError
    for text, names, types, more in (
        ('Unknown field: none', ['none'], [tf.int32], {}),
        ('Unknown field: extra', ['extra'], [tf.int32], {}),
        ('Unknown field: test.other', ['test.other'], [tf.int32], {}),
        ('Unexpected output type', ['number'], [tf.float32], {}),
        ('same length', ['number'], [], {}),
        ('No descriptor', ['number'], [tf.int32], {'message_type': '.test.M'}),
        ('No descriptor', ['number'], [tf.int32], {'source': 'local://'}),
        ('', ['number'], [tf.int32], {'source': '/no/such/file'}),
        ('', ['number'], [tf.int32], {'source': b'bytes://\x0a\x7f'}),
        ('binary or text', ['number'], [tf.int32], {'message_format': 'json'})):
      self.assert_refused(invalid, text, self.decode, [b''], names, types, **more)
    self.assert_refused(invalid, 'at least one', self.decode, np.zeros(0, object), ['x'],
                        [tf.int32], 'test.M.Inner')
    self.assert_refused(lost, 'text protobuf', self.decode, [b'number: x'], ['number'], [tf.int32],
                        message_format='text')
    for message in (b'\x08', b'\xff', b'\x12\x05ab', b'\x0b', b'\x1a\x01\x80', b'\x07'):
      self.assert_refused(lost, 'malformed', self.decode, [message], ['number', 'packed', 'words'],
                          [tf.int32, tf.int32, tf.string])


class EncodeTest(ProtoCase):

  def test_fields_are_written_in_the_order_of_their_numbers(self):
    values = [np.array([[5, 6]], np.int32), np.array([[-1]], np.int64),
              np.array([[b'xy', b'']], object)]
    message = self.encode([[2, 1, 1]], values, ['loose', 'number', 'words'])
    self.assertEqual(message, [field(1, -1) + field(2, 'xy') + field(4, 5) + field(4, 6)])

  def test_packed_fields_are_packed(self):
    values = [np.array([[-1, 1], [150, 0]], np.int32)]
    self.assertEqual(self.encode([[2], [0]], values, ['packed']),
                     [field(3, varint(1) + varint(2)), b''])
    loose = np.array([[1, 2]], np.int32)
    source = b'bytes://' + descriptors('proto3')
    self.assertEqual(self.encode([[2]], [loose], ['loose'], source=source),
                     [field(4, varint(1) + varint(2))])

  def test_what_was_decoded_is_encoded_again(self):
    message = field(1, 3) + varint(5 << 3 | 5) + struct.pack('<f', 1.5)
    message += field(6, field(1, 2)) + field(7, 3)
    names, types = ['number', 'real', 'inner', 'kind'], [tf.int64, tf.float64, tf.string, tf.int32]
    sizes, values = tf.io.decode_proto([message], 'test.M', names, types, SOURCE)
    again = tf.io.encode_proto(sizes, values, names, 'test.M', SOURCE)
    with tf.Session() as session:
      self.assertEqual(session.run(again).tolist(), [message])

  def test_what_is_refused(self):
    one, invalid = np.array([[1]], np.int32), tf.errors.InvalidArgumentError
    for text, sizes, values, names in (
        ('larger than value', [[2]], [one], ['loose']),
        ('batch_size', [[1, 1]], [one], ['loose']),
        ('batch_size', [[1], [1]], [one], ['loose']),
        ('Incompatible type', [[1]], [one], ['long']),
        ('Unknown field', [[1]], [one], ['test.extra']),
        ('match field_names', [[1]], [one], ['loose', 'number']),
        ('', [[1, 1]], [one, np.ones([2, 1], np.int32)], ['loose', 'number'])):
      self.assert_refused((invalid, ValueError), text, self.encode, sizes, values, names)


if __name__ == '__main__':
  unittest.main()
