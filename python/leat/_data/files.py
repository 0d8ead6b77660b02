"""What datasets of examples in files have in common: the files that patterns name, and the order,
number and batches of the examples."""
from __future__ import annotations

from leat._data.dataset import Dataset
from leat._data.transformations import parallel_interleave, shuffle_and_repeat


def matching(patterns):
  """The names of the files that a pattern or a list of them names, in order; ValueError where there
  is none."""
  from leat._platform import files
  if isinstance(patterns, (str, bytes)):
    patterns = [patterns]
  if not patterns:
    raise ValueError('Invalid `file_pattern`: it must hold one pattern at least.')
  found = sorted(name for pattern in patterns for name in files.Glob(pattern))
  if not found:
    raise ValueError('No files match `file_pattern` %s.' % (patterns,))
  return found


def examples_in(names, read, shuffle, seed, parallel_reads, sloppy):
  """The elements of the datasets that `read` gives for the names of files; `parallel_reads` of them
  are open at once, and `shuffle` puts the files in a random order."""
  dataset = Dataset.from_tensor_slices(names)
  if shuffle:
    dataset = dataset.shuffle(len(names), seed)
  return dataset.apply(parallel_interleave(read, parallel_reads, sloppy=sloppy))


def epochs_of(dataset, num_epochs, shuffle, buffer_size, seed):
  """The dataset num_epochs times over, without end for None, in a random order where `shuffle`."""
  if shuffle and num_epochs != 1:
    return dataset.apply(shuffle_and_repeat(buffer_size, num_epochs, seed))
  if shuffle:
    return dataset.shuffle(buffer_size, seed)
  return dataset.repeat(num_epochs) if num_epochs != 1 else dataset
