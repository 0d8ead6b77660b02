"""Tensors that stay in the session: a step gives a handle, and later steps take it for the tensor.

The library keeps the tensor under the name that the op GetSessionHandle gives. What run() returns
for it is a TensorHandle; `get_session_tensor` adds the op that reads it in another step.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.scope import device
from leat._graph.shape import TensorShape

GIVE_HANDLES = ('GetSessionHandle', 'GetSessionHandleV2')


class TensorHandle:
  """A tensor in a session. It is freed by `delete`, or with the session."""

  def __init__(self, handle, dtype, session):
    self._handle, self._dtype, self._session = handle, dtype, session

  handle = property(lambda self: self._handle)

  def __str__(self):
    return self._handle

  def get_raw_handle(self):
    """The handle as a text."""
    return self._handle

  def eval(self):
    """The value, of the session that keeps it."""
    graph = self._session.graph
    readers = graph.__dict__.setdefault('_handle_readers', {})
    with graph.as_default():
      if self._dtype not in readers:
        readers[self._dtype] = get_session_tensor(self._handle, self._dtype)
      holder, reader = readers[self._dtype]
    return self._session.run(reader, {holder: self._handle})

  to_numpy_array = eval

  def delete(self):
    """Frees the tensor."""
    graph = self._session.graph
    with graph.as_default():
      if '_handle_deleter' not in graph.__dict__:
        graph._handle_deleter = delete_session_tensor(self._handle)
      holder, deleter = graph._handle_deleter
    self._session.run(deleter, {holder: self._handle})


def of_value(value, tensor, session):
  """The TensorHandle of what the op that gives `tensor` gave."""
  text = value.decode() if isinstance(value, bytes) else value.item().decode() if hasattr(
      value, 'item') else value
  return TensorHandle(text, dtypes.as_dtype(tensor.op.get_attr('T')), session)


@export('get_session_handle')
def get_session_handle(data, name=None):
  """A tensor for which run() gives a TensorHandle: `data` stays in the session."""
  return apply_op('GetSessionHandle', name=name, value=data)


def _holder():
  from leat._ops import array
  return array.placeholder(dtypes.string, TensorShape([]))


@export('get_session_tensor')
def get_session_tensor(handle, dtype, name=None):
  """(a placeholder for a handle, the tensor that it stands for, of that type)."""
  del handle  # every device can read what the session keeps
  with device(None):
    holder = _holder()
    return holder, apply_op('GetSessionTensor', name=name, handle=holder, dtype=dtype)


@export('delete_session_tensor')
def delete_session_tensor(handle, name=None):
  """(a placeholder for a handle, an operation that frees its tensor)."""
  del handle
  with device(None):
    holder = _holder()
    return holder, apply_op('DeleteSessionTensor', name=name, handle=holder)
