"""tfdbg (tensorflow.python.debug) without its command line: sessions that look at every tensor of a
step, print those that a filter picks out, or write all into files.

A wrapper runs the step with further fetches: the tensors on which the fetches depend, but for those
inside of loops and conditionals, which cannot be fetched, and references. So a step costs what it
computes and the copies; nothing is added to the graph.
"""
from __future__ import annotations

import os
import time

from leat._export import export
from leat._graph.tensor import Tensor
from leat._ops.control import op_of
from leat._ops import nest



@export('python.debug.has_inf_or_nan')
def has_inf_or_nan(datum, tensor):
  """The filter for tensors that have an infinity or what is no number."""
  del datum
  import numpy as np
  if not isinstance(tensor, np.ndarray) or not (
      np.issubdtype(tensor.dtype, np.floating) or np.issubdtype(tensor.dtype, np.complexfloating)):
    return False
  return bool(np.any(~np.isfinite(tensor)))


@export('python.debug.DebugTensorDatum')
class DebugTensorDatum:
  """A tensor of a step: its name and its value."""

  def __init__(self, tensor, value):
    self.tensor_name, self._value = tensor.name, value
    self.node_name, self.output_slot = tensor.op.name, tensor.value_index
    self.op_type, self.debug_op = tensor.op.type, 'DebugIdentity'
    self.timestamp = time.time()

  def get_tensor(self):
    return self._value


class _Wrapper:
  """A session in whose place this one is used."""

  def __init__(self, sess):
    self._sess = sess
    self._filters, self._steps = {}, 0

  def __getattr__(self, name):
    return getattr(self.__dict__['_sess'], name)

  def __enter__(self):
    self._sess.__enter__()
    return self

  def __exit__(self, *error):
    return self._sess.__exit__(*error)

  session = property(lambda self: self._sess)

  def add_tensor_filter(self, filter_name, tensor_filter):
    """A function (datum, value) that says whether a tensor is to be shown."""
    if not isinstance(filter_name, str):
      raise TypeError('Input argument filter_name is expected to be str, but is not.')
    if not filter_name:
      raise ValueError('Input argument filter_name cannot be empty.')
    if not callable(tensor_filter):
      raise TypeError('Input argument filter_callable is expected to be callable, but is not.')
    self._filters[filter_name] = tensor_filter

  def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
    """The step, and what is done with its tensors."""
    self._steps += 1
    graph = self._sess.graph
    tensors = _tensors_of(graph, fetches, feed_dict)
    found, values = self._sess.run((fetches, tensors), feed_dict, options, run_metadata)
    self._seen([DebugTensorDatum(t, v) for t, v in zip(tensors, values)])
    return found

  def _seen(self, data):
    raise NotImplementedError


def _tensors_of(graph, fetches, feed_dict):
  """The tensors that a step computes and that may be fetched, inputs first."""
  fed = {graph.as_graph_element(f) if not isinstance(f, Tensor) else f
         for f in nest.flatten(list(feed_dict or ())) if isinstance(f, (str, Tensor))}
  waiting = [op_of(graph.as_graph_element(f)) for f in nest.flatten(fetches)
             if not hasattr(f, 'dense_shape')]
  ops = set()
  while waiting:
    op = waiting.pop()
    if op not in ops:
      ops.add(op)
      waiting += [x.op for x in op.inputs if x not in fed] + list(op.control_inputs)
  inside = _inside(op for op in graph.get_operations() if op in ops)
  return [t for op in graph.get_operations() if op in ops and not inside[op]
          for t in op.outputs if not t.dtype._is_ref_dtype and graph.is_fetchable(t) and
          t.dtype.name not in ('resource', 'variant')]


def _inside(operations):
  """{operation: the loops and conditionals that it is in, outermost first}, of operations in the
  order in which they were added; those of gradients too."""
  found = {}
  for op in operations:
    around = max((found.get(source, ()) for source in [x.op for x in op.inputs] +
                  list(op.control_inputs)), key=len, default=())
    kind = op.type.removeprefix('Ref')
    if kind == 'Enter':
      around += (op.get_attr('frame_name'),)
    elif kind == 'Switch' and op.inputs[1].op.type != 'LoopCond':
      around += (op.inputs[1].name,)
    elif around and (kind == 'Exit' or kind == 'Merge' and not any(
        x.op.type.endswith(('Enter', 'NextIteration')) for x in op.inputs)):
      around = around[:-1]
    found[op] = around
  return found


@export('python.debug.LocalCLIDebugWrapperSession')
class LocalCLIDebugWrapperSession(_Wrapper):
  """A session that prints the tensors which a filter picks out, in the order in which the graph has
  them; there is no command line. Without a filter of the program, has_inf_or_nan is used."""

  def __init__(self, sess, dump_root=None, log_usage=True, ui_type='curses',
               thread_name_filter=None, config_file_path=None):
    super().__init__(sess)
    self._dump_root = dump_root

  def _seen(self, data):
    filters = self._filters or {'has_inf_or_nan': has_inf_or_nan}
    for name, picks in filters.items():
      for datum in data:
        if picks(datum, datum.get_tensor()):
          print('tfdbg: step %d, %s: %s (%s) %s' % (
              self._steps, name, datum.tensor_name, datum.op_type, datum.get_tensor()))
    if self._dump_root:
      _dump(self._dump_root, self._steps, data)


@export('python.debug.DumpingDebugWrapperSession')
class DumpingDebugWrapperSession(_Wrapper):
  """A session that writes the tensors of each step into a folder of session_root: a .npy file for
  each, whose path is the name of the operation and the number of the output."""

  def __init__(self, session, session_root, watch_fn=None, thread_name_filter=None,
               pass_through_operrors=None, log_usage=True):
    super().__init__(session)
    if os.path.isdir(session_root) and os.listdir(session_root):
      raise ValueError('session_root path points to a non-empty directory: %s' % session_root)
    self._root = session_root

  def _seen(self, data):
    _dump(self._root, self._steps, data)


def _dump(root, step, data):
  import numpy as np
  for datum in data:
    value = np.asarray(datum.get_tensor())
    if value.dtype == object:   # texts
      value = value.astype('S')
    path = os.path.join(root, 'run_%d' % step, '%s_%d.npy' % (datum.node_name, datum.output_slot))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    np.save(path, value)
