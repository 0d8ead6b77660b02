"""Tensors that stay in a session from one step to another, under handles.

A step that fetches get_session_handle(t) gives a TensorHandle; its value stays in the session until
the handle is deleted or forgotten. A later step reads it through get_session_tensor, whose
placeholder is fed with the handle, or is fed a handle in place of a tensor's value.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.apply import apply_op
from leat._graph.scope import colocate_with, device

_KINDS = ('GetSessionHandle', 'GetSessionHandleV2')
# So many forgotten handles are deleted together, before a step.
_FORGOTTEN = 10


class TensorHandle:
  """The handle of a tensor in a session. The tensor is deleted with the last reference to the
  handle, unless get_raw_handle() was called."""

  def __init__(self, handle, dtype, session):
    self._handle = handle.decode() if isinstance(handle, bytes) else str(handle)
    self._dtype, self._session = dtype, session
    self._owns = True

  def __del__(self):
    if self._owns:
      self._session._forgotten_handles.append(self._handle)

  def __str__(self):
    return self._handle

  @property
  def handle(self):
    """The text that get_session_tensor and feeds take."""
    return self._handle

  @property
  def dtype(self):
    return self._dtype

  def eval(self):
    """The value of the tensor."""
    if not self._owns:
      raise TypeError('Persistent tensor %s may have already been deleted.' % self._handle)
    holder, tensor = _reader(self._session.graph, self._handle, self._dtype)
    return self._session.run(tensor, feed_dict={holder: self._handle})

  def delete(self):
    """Frees the tensor; the handle cannot be used any more."""
    if not self._owns:
      raise TypeError('Persistent tensor %s may have already been deleted.' % self._handle)
    self._owns = False
    _delete(self._session, [self._handle])

  def get_raw_handle(self):
    """The handle as a text; the program deletes the tensor itself by delete_session_tensor."""
    self._owns = False
    return self._handle

  def to_numpy_array(self):
    """The text as an array, as it is fed."""
    import numpy as np
    return np.array(self._handle.encode(), dtype=object)


def _device_of(handle):
  """The device in a handle, '<name>;<number>;<device>'."""
  handle = handle.decode() if isinstance(handle, bytes) else str(handle)
  return handle.rpartition(';')[2]


def _reader(graph, handle, dtype):
  """(placeholder, tensor) that read a handle; made once for each type and device of a graph."""
  key = _device_of(handle), dtype
  found = graph._handle_readers.get(key)
  if found is None:
    with graph.as_default():
      found = graph._handle_readers[key] = get_session_tensor(handle, dtype)
  return found


def _delete(session, handles):
  """Deletes tensors of a session."""
  graph = session.graph
  for handle in handles:
    key = _device_of(handle), None
    if key not in graph._handle_readers:
      with graph.as_default():
        graph._handle_readers[key] = delete_session_tensor(handle)
    holder, deleter = graph._handle_readers[key]
    session.run(deleter, feed_dict={holder: handle})


def delete_forgotten(session):
  """Deletes the tensors whose handles the program has forgotten, once there are some."""
  forgotten = session._forgotten_handles
  if len(forgotten) < _FORGOTTEN or session.graph.finalized and (
      _device_of(forgotten[0]), None) not in session.graph._handle_readers:
    return
  taken, session._forgotten_handles[:] = list(forgotten), []
  _delete(session, taken)


def wrapped(tensor, value, session):
  """What a fetch of `tensor` gives: a TensorHandle for a handle."""
  if tensor.op.type not in _KINDS:
    return value
  return TensorHandle(value, tensor.op.inputs_[0].dtype.base_dtype, session)


def value_to_feed(graph, tensor, handle):
  """What is fed to a tensor when a program feeds a handle: its text to the placeholder of
  get_session_tensor, else the value behind it."""
  if tensor.op.name in graph._handle_feeders:
    return handle.to_numpy_array()
  return handle.eval()


@export('get_session_handle')
def get_session_handle(data, name=None):
  """A tensor that stands for the value of `data` in later steps; fetching it gives a TensorHandle.
  """
  if not isinstance(data, _leat.Output):
    raise TypeError('`data` must be of type Tensor, but got %s' % type(data).__name__)
  with colocate_with(data.op):
    return apply_op('GetSessionHandle', name=name, value=data)


@export('get_session_tensor')
def get_session_tensor(handle, dtype, name=None):
  """(placeholder, tensor): the tensor has the value of the handle that the placeholder is fed with.
  `handle` says on which device it is."""
  from leat._ops import array
  dtype = dtypes.as_dtype(dtype)
  with device(_device_of(handle)):
    holder = array.placeholder(dtypes.string)
    graphs.get_default_graph()._handle_feeders[holder.op.name] = dtype
    return holder, apply_op('GetSessionTensor', name=name, handle=holder, dtype=dtype)


@export('delete_session_tensor')
def delete_session_tensor(handle, name=None):
  """(placeholder, operation): the operation deletes the tensor whose handle is fed."""
  from leat._ops import array
  with device(_device_of(handle)):
    holder = array.placeholder(dtypes.string)
    op = apply_op('DeleteSessionTensor', name=name, handle=holder)
    return holder, op
