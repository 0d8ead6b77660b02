"""GraphDefs with the shapes of all outputs."""
import unittest

import leat as tf
from leat.python.framework.function import Defun


class OutputShapesTest(unittest.TestCase):

  def setUp(self):
    self.graph = self.enterContext(tf.Graph().as_default())

  def shapes(self, graph_def):
    """{name of a node: the list of its outputs' shapes}, shapes as messages."""
    return {node.name: list(node.attr['_output_shapes'].list.shape)
            for node in graph_def.node if '_output_shapes' in node.attr}

  def test_shapes_of_all_kinds(self):
    tf.placeholder(tf.float32, None, 'unknown')
    tf.placeholder(tf.float32, [], 'scalar')
    tf.placeholder(tf.float32, [None, 0, 300], 'partly')
    tf.split(tf.zeros([4, 6]), 2, axis=1, name='two')
    tf.no_op('none')
    found = self.shapes(self.graph.as_graph_def(add_shapes=True))
    unknown, = found['unknown']
    self.assertTrue(unknown.unknown_rank)
    scalar, = found['scalar']
    self.assertFalse(scalar.unknown_rank)
    self.assertEqual(len(scalar.dim), 0)
    partly, = found['partly']
    self.assertEqual([d.size for d in partly.dim], [-1, 0, 300])
    self.assertEqual([[d.size for d in shape.dim] for shape in found['two']], [[4, 3], [4, 3]])
    self.assertNotIn('none', found)

  def test_the_rest_of_the_graph_stays_as_it_is(self):
    @Defun(tf.float32)
    def twice(x):
      return 2.0 * x
    twice(tf.constant([1.0], name='x' * 200))
    with_shapes = self.graph.as_graph_def(add_shapes=True)
    for node in with_shapes.node:
      del node.attr['_output_shapes']
    self.assertEqual(with_shapes, self.graph.as_graph_def())
    self.assertEqual([f.signature.name for f in with_shapes.library.function],
                     [f.signature.name for f in self.graph.as_graph_def().library.function])

  def test_only_the_last_nodes(self):
    tf.constant(1.0, name='old')
    version = self.graph.version
    tf.constant([1.0, 2.0], name='new')
    found = self.shapes(self.graph.as_graph_def(from_version=version, add_shapes=True))
    self.assertEqual([list(found), found['new'][0].dim[0].size], [['new'], 2])

  def test_what_is_exported_can_be_imported(self):
    tf.placeholder(tf.float32, [None, 3], 'x')
    meta = tf.train.export_meta_graph()
    self.assertEqual(sorted(op.name for op in meta.meta_info_def.stripped_op_list.op),
                     ['Placeholder'])
    with tf.Graph().as_default() as graph:
      tf.train.import_meta_graph(meta)
      self.assertEqual(graph.get_tensor_by_name('x:0').shape.as_list(), [None, 3])


if __name__ == '__main__':
  unittest.main()
