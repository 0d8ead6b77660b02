"""Handwritten digits: MNIST's files, or made ones where there are none.

What is read is shuffled once, always in the same way. So the shard of a number holds the same
pictures on each task that asks for it, and which task works on it makes no difference.
"""
import gzip
import os

import numpy as np


def default_path():
  """The folder of MNIST's four files in $LEAT_DATA_DIR, which need not be there."""
  return os.path.join(os.environ.get('LEAT_DATA_DIR', ''), 'mnist')


def _idx(path):
  """The uint8 array in a gzipped IDX file: two zeros, a type, a rank, big-endian sizes, values."""
  with gzip.open(path) as f:
    rank = f.read(4)[3]
    shape = np.frombuffer(f.read(4 * rank), '>i4')
    return np.frombuffer(f.read(), np.uint8).reshape(shape)


def _made(count, random):
  """Ten fixed pictures of dots, each of which stands for a digit, under noise."""
  pictures = np.random.RandomState(0).rand(10, 784) < 0.1
  labels = random.randint(10, size=count).astype(np.int32)
  return (0.7 * pictures[labels] + 0.3 * random.rand(count, 784)).astype(np.float32), labels


class Digits:
  """Pictures, float32 [count, 784] from 0 to 1, and their labels, int32 [count]."""

  def __init__(self, folder, prefix):
    """Reads |prefix|-images-idx3-ubyte.gz and its labels; |prefix| is 'train' or 't10k'."""
    random = np.random.RandomState(1)
    images = os.path.join(folder, prefix + '-images-idx3-ubyte.gz')
    if os.path.exists(images):
      labels = _idx(os.path.join(folder, prefix + '-labels-idx1-ubyte.gz'))
      order = random.permutation(len(labels))
      self.images = (_idx(images)[order].reshape(len(order), -1) / 255).astype(np.float32)
      self.labels = labels[order].astype(np.int32)
    else:
      self.images, self.labels = _made(2000, random)

  def shard(self, number, size):
    """The pictures and labels of a shard. After the last comes the first again."""
    rows = np.arange(number * size, (number + 1) * size) % len(self.labels)
    return self.images[rows], self.labels[rows]
