"""The state of an iterator in checkpoints: how many elements of its dataset it has given.

Restoring reads the dataset from its start and drops as many elements. So an iterator goes on where
it was saved if its dataset gives the same elements each time: a shuffle needs a seed.
"""
from __future__ import annotations

import collections

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op, make_op

_Spec = collections.namedtuple('_Spec', ['tensor', 'slice_spec', 'name'])


class IteratorState:
  """What Saver and Checkpoint save of an iterator: a scalar, its position."""
  dtype = dtypes.int64

  def __init__(self, iterator):
    if iterator._dataset is None:
      raise ValueError('Only an iterator over one dataset can be saved: it must be made by '
                       'make_one_shot_iterator() or make_initializable_iterator().')
    self._iterator = iterator
    resource = iterator._iterator_resource
    self.op, self.name = resource.op, resource.op.name
    self.initializer = iterator._initializer   # None where it needs none
    with resource.graph.colocate_with(resource):
      self.tensor = apply_op('_IteratorPosition', name='IteratorPosition', iterator=resource)
    self.specs = [_Spec(self.tensor, '', self.name + '-position')]

  def restore(self, restored_tensors, restored_shapes=None):
    """The operation that brings the iterator to a position that was read."""
    del restored_shapes
    resource = self._iterator._iterator_resource
    with resource.graph.colocate_with(resource):
      return make_op('_RestoreIterator', name='RestoreIterator',
                     dataset=self._iterator._dataset._variant, iterator=resource,
                     position=restored_tensors[0])


@export('data.experimental.make_saveable_from_iterator')
def make_saveable_from_iterator(iterator):
  """What Saver saves and restores of an iterator; it is added to tf.GraphKeys.SAVEABLE_OBJECTS, or
  to the variables of a Saver. ValueError for an iterator that is not of one dataset."""
  return iterator._saveable()
