"""Pictures in folders, one a class, read by tf.data while the model trains.

    (path, label) ─► shuffle ─► read, decode, distort (several at a time) ─► batch ─► prefetch
"""
import os
import tempfile

import leat as tf
import numpy as np

import data_files

_COLOURS = {'blue': (40, 60, 200), 'green': (40, 160, 60), 'grey': (128, 128, 128),
            'red': (200, 40, 50), 'yellow': (220, 210, 60)}


def _folder(path, smoke):
  try:
    return path or data_files.path_of('images', 'flowers')
  except FileNotFoundError:
    if not smoke:
      raise
    return _made()


def _made():
  """A folder with five classes of five pictures, each of a colour of its own under noise."""
  folder = os.path.join(tempfile.gettempdir(), 'leat-colours-%d' % os.getuid())
  random = np.random.RandomState(0)
  with tf.Graph().as_default(), tf.Session() as session:
    pixels = tf.placeholder(tf.uint8, [64, 64, 3])
    jpeg = tf.image.encode_jpeg(pixels)
    for name, colour in _COLOURS.items():
      os.makedirs(os.path.join(folder, name), exist_ok=True)
      for i in range(5):
        picture = np.clip(random.normal(colour, 20, [64, 64, 3]), 0, 255)
        with open(os.path.join(folder, name, '%d.jpg' % i), 'wb') as f:
          f.write(session.run(jpeg, {pixels: picture}))
  return folder


class Flowers:
  """|training| and |validation|, each ([paths], [labels]); each fifth picture is for validation.

  Without a path the folder is images/flowers of $LEAT_DATA_DIR. A trial run has pictures of plain
  colours where that is absent, and five of each class at most.
  """

  def __init__(self, path, smoke):
    folder = _folder(path, smoke)
    self.classes = sorted(name for name in os.listdir(folder)
                          if os.path.isdir(os.path.join(folder, name)))
    self.training, self.validation = ([], []), ([], [])
    for label, name in enumerate(self.classes):
      pictures = sorted(os.listdir(os.path.join(folder, name)))
      for i, picture in enumerate(pictures[:5] if smoke else pictures):
        paths, labels = self.validation if i % 5 == 4 else self.training
        paths.append(os.path.join(folder, name, picture))
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


def batches(examples, size, batch_size, parallel=2):
  """(pictures float32 [batch_size, size, size, 3], labels int32 [batch_size]), distorted, without
  an end."""
  paths, labels = examples

  def load(path, label):
    return _distort(read(path, size * 9 // 8), size), label

  with tf.name_scope('flowers'), tf.device('/cpu:0'):
    dataset = tf.data.Dataset.from_tensor_slices((paths, labels))
    dataset = dataset.shuffle(len(paths)).repeat().map(load, num_parallel_calls=parallel)
    dataset = dataset.batch(batch_size, drop_remainder=True).prefetch(1)
    return dataset.make_one_shot_iterator().get_next()


def whole(examples, size):
  """(pictures, labels) of all examples as one batch, as they are."""
  paths, labels = examples
  pictures = tf.map_fn(lambda path: read(path, size), tf.constant(paths), dtype=tf.float32)
  return tf.reshape(pictures, [len(paths), size, size, 3]), tf.constant(labels)
