"""MNIST as the tutorials of TensorFlow 1 read it: `input_data.read_data_sets(folder)`.

The four files (images and labels of the training and of the test set, compressed, in the format of
the data's authors) lie in the folder, or are downloaded into it once. The first examples of the
training set become a validation set. Batches are drawn from a shuffled copy of the examples, which
is shuffled anew, by numpy's global generator, whenever all examples have been drawn; a batch that
reaches over that end has the rest of the old order and the beginning of the new one.
"""
from __future__ import annotations

import gzip

from leat._contrib.learn.datasets import Datasets, maybe_download
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.scope import get_seed

SOURCE_URL = 'https://storage.googleapis.com/cvdf-datasets/mnist/'
IMAGES, LABELS = 2051, 2049  # the numbers that the files begin with
FILES = (('train-images-idx3-ubyte.gz', 'train-labels-idx1-ubyte.gz'),
         ('t10k-images-idx3-ubyte.gz', 't10k-labels-idx1-ubyte.gz'))
PIXELS = 28 * 28

ALIASES = {'examples.tutorials.mnist.input_data.*': 'contrib.learn.datasets.mnist.*'}


def _bytes_of(f, magic, what):
  """(the sizes that the file f begins with, the bytes after them). ValueError where it begins with
  another number than `magic`."""
  import numpy as np
  with gzip.GzipFile(fileobj=f) as stream:
    data = stream.read()
  found = int.from_bytes(data[:4], 'big')
  if found != magic:
    raise ValueError('Invalid magic number %d in MNIST %s file: %s' % (found, what,
                                                                      getattr(f, 'name', f)))
  rank = magic & 255
  sizes = np.frombuffer(data, '>u4', rank, 4).tolist()
  return sizes, np.frombuffer(data, np.uint8, offset=4 + 4 * rank)


@export('contrib.learn.datasets.mnist.extract_images')
def extract_images(f):
  """The images of an open compressed file, [count, rows, columns, 1] uint8."""
  (count, rows, columns), data = _bytes_of(f, IMAGES, 'image')
  return data[:count * rows * columns].reshape(count, rows, columns, 1)


@export('contrib.learn.datasets.mnist.extract_labels')
def extract_labels(f, one_hot=False, num_classes=10):
  """The labels of an open compressed file, [count] uint8, or with one_hot [count, num_classes]."""
  (count,), data = _bytes_of(f, LABELS, 'label')
  return dense_to_one_hot(data[:count], num_classes) if one_hot else data[:count]


@export('contrib.learn.datasets.mnist.dense_to_one_hot')
def dense_to_one_hot(labels_dense, num_classes):
  """Rows of float64 with a 1 at the label."""
  import numpy as np
  return np.eye(num_classes)[np.asarray(labels_dense).ravel()]


@export('contrib.learn.datasets.mnist.DataSet')
class DataSet:
  """Images and their labels, from which batches are drawn. dtype uint8 leaves images as they are,
  float32 scales them to [0, 1]; reshape makes each a row of pixels. With fake_data it is a made-up
  set for tests."""

  def __init__(self, images, labels, fake_data=False, one_hot=False, dtype=dtypes.float32,
               reshape=True, seed=None):
    import numpy as np
    of_graph, of_op = get_seed(seed)
    np.random.seed(of_graph if seed is None else of_op)
    dtype = dtypes.as_dtype(dtype).base_dtype
    if dtype not in (dtypes.uint8, dtypes.float32):
      raise TypeError('Invalid image dtype %r, expected uint8 or float32' % dtype)
    self._fake, self.one_hot = fake_data, one_hot
    self._count = 10000 if fake_data else len(images)
    if not fake_data:
      if len(images) != len(labels):
        raise ValueError('images.shape: %s labels.shape: %s' % (images.shape, labels.shape))
      if reshape:
        images = images.reshape(len(images), images.shape[1] * images.shape[2])
      if dtype == dtypes.float32:
        images = images.astype(np.float32) * np.float32(1 / 255)
    self._images, self._labels = images, labels
    self._epochs, self._next = 0, 0

  images = property(lambda self: self._images)
  labels = property(lambda self: self._labels)
  num_examples = property(lambda self: self._count)
  epochs_completed = property(lambda self: self._epochs)

  def _shuffle(self):
    import numpy as np
    order = np.arange(self._count)
    np.random.shuffle(order)
    self._images, self._labels = self._images[order], self._labels[order]

  def next_batch(self, batch_size, fake_data=False, shuffle=True):
    """(images, labels) of the next examples."""
    import numpy as np
    if fake_data:
      label = [1] + [0] * 9 if self.one_hot else 0
      return [[1] * PIXELS for _ in range(batch_size)], [label for _ in range(batch_size)]
    begin, end = self._next, self._next + batch_size
    if self._epochs == 0 and begin == 0 and shuffle:
      self._shuffle()
    if end <= self._count:
      self._next = end
      return self._images[begin:end], self._labels[begin:end]
    self._epochs += 1
    rest = self._images[begin:], self._labels[begin:]
    if shuffle:
      self._shuffle()
    self._next = end - self._count
    return (np.concatenate([rest[0], self._images[:self._next]]),
            np.concatenate([rest[1], self._labels[:self._next]]))


def _pair(names, folder, source_url, one_hot):
  """The images and labels of one of the sets."""
  found = []
  for name, read in zip(names, (extract_images, lambda f: extract_labels(f, one_hot))):
    with open(maybe_download(name, folder, source_url + name), 'rb') as f:
      found.append(read(f))
  return found


@export('contrib.learn.datasets.mnist.read_data_sets')
def read_data_sets(train_dir, fake_data=False, one_hot=False, dtype=dtypes.float32, reshape=True,
                   validation_size=5000, seed=None, source_url=SOURCE_URL):
  """Datasets(train, validation, test), each a DataSet, of the files in train_dir."""
  import numpy as np
  options = {'dtype': dtype, 'reshape': reshape, 'seed': seed}
  if fake_data:
    return Datasets(*[DataSet(np.array([]), np.array([]), True, one_hot, **options)
                      for _ in range(3)])
  (images, labels), test = [
      _pair(names, train_dir, source_url or SOURCE_URL, one_hot) for names in FILES]
  if not 0 <= validation_size <= len(images):
    raise ValueError('Validation size should be between 0 and %d. Received: %s.' % (
        len(images), validation_size))
  cut = validation_size
  return Datasets(train=DataSet(images[cut:], labels[cut:], **options),
                  validation=DataSet(images[:cut], labels[:cut], **options),
                  test=DataSet(*test, **options))


@export('contrib.learn.datasets.mnist.load_mnist')
def load_mnist(train_dir='MNIST-data'):
  """The same with numbers of classes as labels."""
  return read_data_sets(train_dir)


@export('contrib.learn.datasets.load_dataset')
def load_dataset(name, size='small', test_with_fake_data=False):
  """The set called 'mnist'; the others of TensorFlow are not available."""
  del size, test_with_fake_data  # they are about a set of texts
  if name != 'mnist':
    raise ValueError('Name of dataset is not found: %s' % name)
  return load_mnist()
