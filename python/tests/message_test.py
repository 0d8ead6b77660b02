"""Messages: presence, oneofs, maps, wire and text forms. The library reads what Python wrote."""
import copy
import pickle
import unittest

import leat as tf
from leat import _leat
from leat._graph import message_text


class MessageTest(unittest.TestCase):

  def graph_def(self):
    graph = tf.GraphDef()
    node = graph.node.add(name='n', op='Const', input=['a', '^b'])
    node.attr['T'].type = tf.float32.as_datatype_enum
    node.attr['s'].s = b'\x00"\n\xff'
    node.attr['f'].f = -0.1
    node.attr['l'].list.i.extend([1, -2, 2 ** 40])
    node.attr['e'].list.SetInParent()
    graph.versions.producer = 9
    return graph

  def test_the_library_agrees(self):
    graph = self.graph_def()
    data = graph.SerializeToString()
    self.assertEqual(_leat.message_to_text('GraphDef', data).decode(), message_text.of(graph))
    self.assertLess(str(graph).index('key: "s"'), str(graph).index('key: "l"'))
    self.assertEqual(_leat.message_from_text('GraphDef', str(graph).encode()), data)
    self.assertEqual(tf.GraphDef.FromString(data), graph)

  def test_presence(self):
    config = tf.ConfigProto()
    self.assertFalse(config.HasField('gpu_options'))
    self.assertFalse(config.gpu_options.allow_growth)      # looking makes nothing present
    self.assertEqual(config.SerializeToString(), b'')
    config.gpu_options.allow_growth = True
    self.assertTrue(config.HasField('gpu_options'))
    config.ClearField('gpu_options')
    self.assertEqual(config.SerializeToString(), b'')

  def test_oneof(self):
    value = tf.AttrValue(i=3)
    self.assertEqual(value.WhichOneof('value'), 'i')
    value.s = b'x'
    self.assertEqual(value.WhichOneof('value'), 's')
    self.assertFalse(value.HasField('i'))
    value.list.f.append(1.5)
    self.assertEqual(value.WhichOneof('value'), 'list')
    self.assertFalse(value.HasField('s'))

  def test_changes_below_show_above(self):
    graph = tf.GraphDef.FromString(self.graph_def().SerializeToString())
    graph.node[0].attr['f'].f = 2.0
    again = tf.GraphDef.FromString(graph.SerializeToString())
    self.assertEqual(again.node[0].attr['f'].f, 2.0)
    self.assertNotEqual(graph, self.graph_def())

  def test_copies(self):
    graph = self.graph_def()
    other = copy.deepcopy(graph)
    other.node[0].name = 'm'
    self.assertEqual(graph.node[0].name, 'n')
    self.assertEqual(pickle.loads(pickle.dumps(graph)), graph)

  def test_wrong_types(self):
    with self.assertRaises(TypeError):
      tf.GraphDef().node.add(name=3)
    with self.assertRaises(AttributeError):
      tf.GraphDef().nothing = 3
    with self.assertRaises(ValueError):
      tf.GraphDef(nothing=3)

  def test_damaged_bytes(self):
    data = self.graph_def().SerializeToString()
    for size in range(len(data)):
      try:
        str(tf.GraphDef.FromString(data[:size]))
      except Exception as error:
        self.assertEqual(type(error).__name__, 'DecodeError')


if __name__ == '__main__':
  unittest.main()
