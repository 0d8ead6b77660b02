"""prefetch_to_device: elements that come on a device."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.scope import device as on_device


@export('data.experimental.prefetch_to_device')
def prefetch_to_device(device, buffer_size=None):
  """For Dataset.apply, as the last transformation: what get_next() of an iterator over the dataset
  gives is on `device`. `buffer_size` is as for Dataset.prefetch."""
  def apply(dataset):
    found = dataset.prefetch(buffer_size)
    found._device = device
    return found
  return apply


def brought_to(device, tensors):
  """The tensors, on the device; variants, which carry other kinds of components, stay."""
  with on_device(device):
    return [t if t.dtype == dtypes.variant else apply_op('Identity', input=t) for t in tensors]
