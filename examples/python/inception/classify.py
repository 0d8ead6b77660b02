"""Says what pictures show: python classify.py --graph GRAPH --labels LABELS a.jpg b.jpg

GRAPH is a frozen graph, in which the variables have become constants.
Any network that takes [batch, height, width, 3] and gives [batch, classes] will do: Inception,
MobileNet, a graph that was retrained. The defaults are a MobileNet in $LEAT_DATA_DIR/models, and
the smaller one that --smoke makes itself.
"""
import gzip
import os
import tempfile

import leat as tf
import numpy as np

flags = tf.app.flags
_MODELS = os.path.join(os.environ.get('LEAT_DATA_DIR', ''), 'models')
flags.DEFINE_string('graph', os.path.join(
    _MODELS, 'graphdef/haithienld_tfmobile/tf_files/models/mobilenet_0.50_224/'
    'mobilenet_v1_0.50_224/quantized_graph.pb'), 'File with a GraphDef; it may be gzipped.')
flags.DEFINE_string('labels', os.path.join(_MODELS, 'labels/imagenet_1001_labels.txt'),
                    'File with the name of each class on a line.')
flags.DEFINE_string('input', 'input:0', 'Tensor for the pictures.')
flags.DEFINE_string('output', 'MobilenetV1/Predictions/Reshape_1:0',
                    'Tensor of the likelihoods.')
flags.DEFINE_integer('size', 224, 'Height and width of the pictures.')
flags.DEFINE_integer('top', 3, 'How many classes of each picture are shown.')
flags.DEFINE_bool('smoke', False, 'Makes a graph and a picture, to see that all works.')
FLAGS = flags.FLAGS


def load(path):
  """The GraphDef in a file."""
  with (gzip.open if path.endswith('.gz') else open)(path, 'rb') as f:
    return tf.GraphDef.FromString(f.read())


class Classifier:
  """A frozen graph behind the operations that read a picture."""

  def __init__(self, graph_def, input_name, output_name, size):
    with tf.Graph().as_default() as graph:
      self._path = tf.placeholder(tf.string, [])
      picture = tf.image.decode_jpeg(tf.read_file(self._path), channels=3,
                                     dct_method='INTEGER_ACCURATE')
      pictures = tf.image.resize_bilinear(picture[tf.newaxis], [size, size])
      likelihoods, = tf.import_graph_def(
          graph_def, {input_name: (pictures - 127.5) / 127.5}, [output_name])
      self._likelihoods = likelihoods[0]
    self._session = tf.Session(graph=graph)

  def __call__(self, path):
    """The likelihood of each class for the picture in a file, float32 [classes]."""
    return self._session.run(self._likelihoods, {self._path: path})


def make(folder):
  """A GraphDef of a network that tells the brightest colour, and the path of a red picture."""
  with tf.Graph().as_default() as graph, tf.Session() as session:
    pictures = tf.placeholder(tf.float32, [1, FLAGS.size, FLAGS.size, 3], 'input')
    tf.nn.softmax(tf.reduce_mean(pictures, [1, 2]), name='output')
    path = os.path.join(folder, 'red.jpg')
    with open(path, 'wb') as f:
      red = np.zeros([8, 8, 3], np.uint8) + np.array([255, 0, 0], np.uint8)
      f.write(session.run(tf.image.encode_jpeg(red)))
    return graph.as_graph_def(), path


def show(classifier, labels, paths):
  for path in paths:
    found = classifier(path)
    print(path)
    for i in found.argsort()[::-1][:FLAGS.top]:
      print('  %.3f  %4d  %s' % (found[i], i, labels[i]))


def main(arguments):
  if FLAGS.smoke:
    with tempfile.TemporaryDirectory() as folder:
      graph_def, picture = make(folder)
      show(Classifier(graph_def, 'input:0', 'output:0', FLAGS.size), ['red', 'green', 'blue'],
           [picture])
    return
  with open(FLAGS.labels, encoding='utf-8') as f:
    labels = f.read().splitlines()
  show(Classifier(load(FLAGS.graph), FLAGS.input, FLAGS.output, FLAGS.size), labels, arguments[1:])


if __name__ == '__main__':
  tf.app.run()
