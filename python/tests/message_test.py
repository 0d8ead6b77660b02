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

  def test_keys_of_maps_fall_and_beginnings_come_first(self):
    node = tf.NodeDef()
    for key in ('T', 'ab', 'Tshape', 'a', '_a'):
      node.attr[key].b = True
    printed = [line.split('"')[1] for line in str(node).split('\n') if 'key' in line]
    self.assertEqual(printed, ['a', 'ab', '_a', 'T', 'Tshape'])

  def test_constants_are_listed_or_raw_bytes(self):
    """The forms that tf.make_tensor_proto has, and the same in a graph, also after an import."""
    def form(message):
      fields = dict((field.name, value) for field, value in message.ListFields())
      self.assertEqual(fields.pop('dtype'), message.dtype)
      fields.pop('tensor_shape')
      return {name: value if isinstance(value, bytes) else list(value)
              for name, value in fields.items()}
    for arguments, expected in [
        (dict(value=3), {'int_val': [3]}), (dict(value=[7]), {'int_val': [7]}),
        (dict(value=[1, 1], dtype=tf.int8), {'tensor_content': b'\1\1'}),
        (dict(value=[True, True]), {'bool_val': [True, True]}),
        (dict(value=[1j, 2], dtype=tf.complex64), {'scomplex_val': [0., 1., 2., 0.]}),
        (dict(value=[1, 2], dtype=tf.uint16), {'int_val': [1, 2]}),
        (dict(value=1, dtype=tf.float16), {'half_val': [0x3c00]}),
        (dict(value=0.5, shape=[1000]), {'float_val': [0.5]}),
        (dict(value=[1, 2], shape=[2, 2]), {'int_val': [1, 2]}),
        (dict(value='a', shape=[3]), {'string_val': [b'a']}), (dict(value=[]), {}),
    ]:
      with tf.Graph().as_default() as graph:
        tf.constant(name='c', **arguments)
      with tf.Graph().as_default() as imported:
        tf.import_graph_def(graph.as_graph_def(), name='')
      arguments['values'] = arguments.pop('value')
      self.assertEqual(form(tf.make_tensor_proto(**arguments)), expected)
      for g in (graph, imported):
        self.assertEqual(form(g.as_graph_def().node[0].attr['value'].tensor), expected)

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
