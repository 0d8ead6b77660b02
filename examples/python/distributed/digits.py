"""Handwritten digits in shards.

What is read is shuffled once, always in the same way. So the shard of a number holds the same
pictures on each task that asks for it, and which task works on it makes no difference.
"""
import os
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import data_files  # noqa: E402, the module beside this folder


class Digits:
  """Pictures, float32 [count, 784] from 0 to 1, and their labels, int32 [count]."""

  def __init__(self, part, smoke):
    """Reads MNIST's |part|, 'train' or 't10k', or made digits in a trial run."""
    images, labels = data_files.mnist(part, smoke)
    order = np.random.RandomState(1).permutation(len(labels))
    self.images, self.labels = images[order], labels[order].astype(np.int32)

  def shard(self, number, size):
    """The pictures and labels of a shard. After the last comes the first again."""
    rows = np.arange(number * size, (number + 1) * size) % len(self.labels)
    return self.images[rows], self.labels[rows]
