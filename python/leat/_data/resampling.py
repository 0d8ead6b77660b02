"""rejection_resample: elements are left out at random to give classes a wished distribution.

Elements come from two streams: all elements, and those that pass a random test which depends on
their class. With p the distribution of the classes and t the wished one, an element is taken from
the first stream with probability m = min(t / p), and an element of class i passes the test with a
probability in proportion to t[i] / p[i] - m, which is 1 for the class that is rarest in comparison.
So m p + (1 - m) q = t, where q is the distribution of the second stream.
"""
from __future__ import annotations

from leat._data import element as elements
from leat._data.dataset import Dataset
from leat._data.transformations import sample_from_datasets
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.conversion import constant_of, convert


@export('data.experimental.rejection_resample')
def rejection_resample(class_func, target_dist, initial_dist=None, seed=None):
  """For Dataset.apply: pairs (class, element), of which some are left out so that the classes are
  distributed as `target_dist`.

  Args:
    class_func: gives the class of an element, a scalar int32 from 0 on.
    target_dist: float vector [classes].
    initial_dist: how classes are distributed in the dataset, float vector [classes]; None: as
      the elements that have been seen, each class counted once more.
    seed: of the random choices.
  """
  from leat._ops import random
  target = convert(target_dist, name='target_dist')

  def apply(dataset):
    classes = dataset.map(class_func)
    if not elements.is_compatible(elements.TensorSpec([], classes.output_types), classes._element):
      raise TypeError('`class_func` must return a scalar, got %s.' % (classes._element,))
    pairs = Dataset.zip((classes, dataset))
    if initial_dist is None:
      chances = _estimated(classes, target).map(lambda p: _chances(p, target))
    else:
      initial = convert(initial_dist, name='initial_dist')
      chances = Dataset.from_tensors(_chances(initial, target)).repeat()

    def passes(pair, chance):
      return random.random_uniform([], seed=seed, dtype=target.dtype) < chance[0][pair[0]]
    filtered = Dataset.zip((pairs, chances)).filter(passes).map(lambda pair, unused_chance: pair)
    shares = chances.map(lambda unused_pass, share: (share, 1 - share))
    return sample_from_datasets([pairs, filtered], shares, seed)
  return apply


def _estimated(classes, target):
  """The distribution of the classes up to each element."""
  from leat._data.folding import scan
  from leat._ops import array, math

  def count(counts, number):
    counts = counts + array.one_hot(number, array.shape(target)[0], dtype=dtypes.int64)
    return counts, math.cast(counts, target.dtype) / math.cast(
        math.reduce_sum(counts), target.dtype)
  return classes.apply(scan(array.ones_like(target, dtypes.int64), count))


def _chances(initial, target):
  """(the probability to pass for each class, the share of the stream of all elements)."""
  from leat._ops import math
  tiny, one = (constant_of(v, target.dtype.base_dtype) for v in (1e-12, 1.0))
  ratio = target / apply_op('Maximum', x=initial, y=tiny)
  least = math.reduce_min(ratio)
  spread = apply_op('Maximum', x=math.reduce_max(ratio) - least, y=tiny)
  return (ratio - least) / spread, apply_op('Minimum', x=least, y=one)
