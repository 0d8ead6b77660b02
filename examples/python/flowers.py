"""Pictures in folders, one a class, read by queues and threads of the graph while it trains.

    files and labels ─► queue ─► read, decode, distort (threads) ─► queue ─► batches

The default is the flowers of $LEAT_DATA_DIR/images: daisies, dandelions, roses, sunflowers, tulips.
Where a folder has none, pictures of plain colours are made in it.
"""
import os

import numpy as np

import leat as tf


def default_folder():
  return os.path.join(os.environ.get('LEAT_DATA_DIR', '/tmp/leat_flowers'), 'images', 'flowers')


def _make(folder):
  """Writes five classes of eight pictures, each of a colour of its own under noise."""
  random = np.random.RandomState(0)
  pixels = tf.placeholder(tf.uint8, [64, 64, 3])
  jpeg = tf.image.encode_jpeg(pixels)
  with tf.Session() as session:
    for name, colour in (('blue', (40, 60, 200)), ('green', (40, 160, 60)), ('grey', (128,) * 3),
                         ('red', (200, 40, 50)), ('yellow', (220, 210, 60))):
      os.makedirs(os.path.join(folder, name))
      for i in range(8):
        picture = np.clip(random.normal(colour, 20, [64, 64, 3]), 0, 255)
        with open(os.path.join(folder, name, '%d.jpg' % i), 'wb') as f:
          f.write(session.run(jpeg, {pixels: picture}))


class Flowers:
  """|training| and |validation|, each ([paths], [labels]); each fifth picture is for validation."""

  def __init__(self, folder):
    if not os.path.isdir(folder):
      print('No folder %s: pictures are made there.' % folder)
      with tf.Graph().as_default():
        _make(folder)
    self.classes = sorted(name for name in os.listdir(folder)
                          if os.path.isdir(os.path.join(folder, name)))
    self.training, self.validation = ([], []), ([], [])
    for label, name in enumerate(self.classes):
      for i, path in enumerate(sorted(os.listdir(os.path.join(folder, name)))):
        paths, labels = self.validation if i % 5 == 4 else self.training
        paths.append(os.path.join(folder, name, path))
        labels.append(label)


def read(path, size):
  """The picture in a JPEG file, float32 [size, size, 3] from -1 to 1. |path| is a string tensor."""
  picture = tf.image.decode_jpeg(tf.read_file(path), channels=3)
  picture = tf.image.convert_image_dtype(picture, tf.float32)
  picture = tf.image.resize_images(picture, [size, size])
  picture.set_shape([size, size, 3])
  return 2.0 * picture - 1.0


def _distort(picture, size):
  """A part of the picture, mirrored perhaps, a little lighter or darker."""
  picture = tf.random_crop(picture, [size, size, 3])
  picture = tf.image.random_flip_left_right(picture)
  return tf.clip_by_value(tf.image.random_brightness(picture, 0.2), -1.0, 1.0)


def batches(examples, size, batch, threads=2):
  """(pictures float32 [batch, size, size, 3], labels int32 [batch]), distorted, without an end."""
  paths, labels = examples
  with tf.name_scope('flowers'), tf.device('/cpu:0'):
    path, label = tf.train.slice_input_producer([paths, labels], shuffle=True)
    picture = _distort(read(path, size * 9 // 8), size)
    return tf.train.batch([picture, label], batch, num_threads=threads, capacity=4 * batch)


def whole(examples, size):
  """(pictures, labels) of all examples as one batch, as they are."""
  paths, labels = examples
  pictures = tf.map_fn(lambda path: read(path, size), tf.constant(paths), dtype=tf.float32)
  return tf.reshape(pictures, [len(paths), size, size, 3]), tf.constant(labels)
