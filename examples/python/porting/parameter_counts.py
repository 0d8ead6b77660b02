"""Counts the parameters of a model by scope.

Section 6 of the white paper tells how Inception was ported to TensorFlow, and what its authors
learned. The first lesson: build tools to gain insight into the exact number of parameters in a
given model, for a layer that is missing or too wide shows there. Compare the table with the one
that you compute from the description of the model.

  python parameter_counts.py                                Inception v1
  python parameter_counts.py --meta /tmp/cnn/model.ckpt-2811.meta   a graph that was saved
"""
import leat as tf

flags = tf.app.flags
flags.DEFINE_string('meta', '', 'file of a MetaGraph; empty: the network of --net is built')
flags.DEFINE_string('net', 'inception_v1', 'inception_v1, inception_v2, inception_v3 or vgg_a')
flags.DEFINE_integer('depth', 2, 'how many levels of scopes are shown')
flags.DEFINE_string('log_dir', '', 'folder for the graph, which the board shows')
flags.DEFINE_bool('smoke', False, 'changes nothing: the program takes a moment')
FLAGS = flags.FLAGS


def counts_by_scope(variables):
  """{scope: number of elements of the variables in it}; '' is the scope of all."""
  counts = {}
  for variable in variables:
    elements = variable.get_shape().num_elements()
    parts = variable.op.name.split('/')
    for depth in range(len(parts) + 1):
      scope = '/'.join(parts[:depth])
      counts[scope] = counts.get(scope, 0) + elements
  return counts


def build(net):
  """Adds one of slim's networks to the graph."""
  nets = tf.contrib.slim.nets
  networks = {'inception_v1': nets.inception.inception_v1,
              'inception_v2': nets.inception.inception_v2,
              'inception_v3': nets.inception.inception_v3,
              'vgg_a': nets.vgg.vgg_a}
  size = 299 if net == 'inception_v3' else 224
  networks[net](tf.placeholder(tf.float32, [None, size, size, 3], name='images'))


def main(_):
  if FLAGS.meta:
    tf.train.import_meta_graph(FLAGS.meta)
  else:
    build(FLAGS.net)
  if FLAGS.log_dir:
    tf.summary.FileWriter(FLAGS.log_dir, tf.get_default_graph()).close()
  counts = counts_by_scope(tf.trainable_variables())
  for scope, elements in counts.items():
    depth = scope.count('/') + bool(scope)
    if depth <= FLAGS.depth:
      name = '  ' * depth + (scope.rpartition('/')[2] or 'all')
      print('%-50s %12s' % (name, format(elements, ',')))


if __name__ == '__main__':
  tf.app.run()
