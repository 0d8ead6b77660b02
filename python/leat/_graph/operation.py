"""Operation: a handle of an operation of the C graph, with TensorFlow's names."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import device as device_names
from leat._graph import dtype as dtypes


class _Inputs:
  """The tensors that an operation takes: a sequence that cannot be changed."""
  __slots__ = ('_items',)

  def __init__(self, items):
    self._items = items

  def __iter__(self):
    return iter(self._items)

  def __len__(self):
    return len(self._items)

  def __bool__(self):
    return bool(self._items)

  def __getitem__(self, i):
    return list(self._items[i]) if isinstance(i, slice) else self._items[i]

  def __repr__(self):
    return repr(list(self._items))


@export('Operation')
class Operation(_leat.Operation):
  """A node of a graph: its type ('MatMul'), its name, inputs and outputs, attributes and device."""
  _code = None         # of the Python function that added it, and the line there
  _line = 0
  _original_op = None

  @property
  def inputs(self):
    """The tensors that it reads."""
    return _Inputs(self.inputs_)

  @property
  def outputs(self):
    """The tensors that it computes, as a list."""
    return list(self.outputs_)

  @property
  def _output_types(self):
    return [o.dtype_ for o in self.outputs_]

  @property
  def _input_types(self):
    return [dtypes.as_dtype(t) for t in self.input_types_]

  @property
  def _control_outputs(self):
    return self.control_outputs_

  def values(self):
    """The tensors that it computes, as a tuple."""
    return tuple(self.outputs_)

  def _come_from(self, frame):
    """Keeps the line of the program that added it, which recordings tell too."""
    self._code, self._line = frame.f_code, frame.f_lineno
    self.set_source_(frame.f_code.co_filename, frame.f_lineno)

  def _where(self):
    """'file:line, in function', or '' where it is not known."""
    if self._code is None:
      return ''
    return '%s:%d, in %s' % (self._code.co_filename, self._line, self._code.co_name)

  @property
  def traceback(self):
    """The line of the program that added it, as a list of one (file, line, function, None)."""
    if self._code is None:
      return []
    return [(self._code.co_filename, self._line, self._code.co_name, None)]

  @property
  def node_def(self):
    """The message NodeDef of it."""
    from leat._graph import message
    return message.of('NodeDef').FromString(self.node_def_())

  @property
  def _node_def(self):
    return self.node_def

  @property
  def op_def(self):
    """The message OpDef of its op."""
    from leat._graph import definition
    return definition.message_of(self.graph, self.type)

  def get_attr(self, name):
    """The value of an attribute: bytes, int, float, bool, DType, a message, or a list of these.
    ValueError where there is no attribute of that name."""
    found = self.attribute(name)
    if found is None:
      raise ValueError("Operation '%s' has no attr named '%s'." % (self.name, name))
    kind, value = found
    if kind in ('s', 'i', 'f', 'b', 'ls', 'li', 'lf', 'lb'):
      return value
    if kind == 't':
      return dtypes.as_dtype(value)
    if kind == 'lt':
      return [dtypes.as_dtype(t) for t in value]
    from leat._graph import message
    if kind == 'h':
      from leat._graph.shape import TensorShape
      return TensorShape._known(value).as_proto()
    if kind == 'v':
      from leat._graph import value as values
      return values.to_proto(value)
    attribute = message.of('AttrValue').FromString(value)
    which = attribute.WhichOneof('value')
    if which != 'list':
      return getattr(attribute, which)
    for field in ('shape', 'tensor', 'func'):
      found = getattr(attribute.list, field)
      if found:
        return list(found)
    return []

  def _set_attr(self, attr_name, attr_value):
    self.set_attribute(attr_name, attr_value.SerializeToString())

  def _set_groups(self, groups):
    """Sets the groups of colocation, bytes."""
    from leat._graph import message
    value = message.of('AttrValue')()
    value.list.s.extend(groups)
    self._set_attr('_class', value)

  def _set_device(self, device):
    self.set_device_(device_names.canonical(device))

  def _add_control_input(self, op):
    if op.graph is not self.graph:
      raise ValueError('%r must be from the same graph as %r.' % (op, self))
    self.add_control_input_(op)

  def _add_control_inputs(self, ops):
    for op in ops:
      self._add_control_input(op)

  def _remove_all_control_inputs(self):
    self.clear_control_inputs()

  def _update_input(self, index, tensor):
    if tensor.graph is not self.graph:
      raise ValueError('Tensor %s must be from the same graph as %s.' % (tensor, self))
    try:
      self.set_input(index, tensor)
    except _leat.StatusError as error:
      from leat._graph import errors
      raise errors.of_status(error) from None

  def colocation_groups(self):
    """The groups ('loc:@name' as bytes) of operations that must lie together."""
    _, groups = self.attribute('_class') or (None, ())
    found = [g for g in groups if g.startswith(b'loc:@')]
    return found or [('loc:@%s' % self.name).encode()]

  def run(self, feed_dict=None, session=None):
    """Runs it in `session`, or the default one: `session.run(op, feed_dict)`. ValueError where
    there is no session."""
    from leat._session import session as sessions
    sessions.of_run(session, self.graph, 'run').run(self, feed_dict)

  def __repr__(self):
    return "<tf.Operation '%s' type=%s>" % (self.name, self.type)

  def __str__(self):
    return str(self.node_def)

  def _repr_html_(self):
    from leat._platform import notebook
    return notebook.of_operation(self)

  def __reduce__(self):
    raise TypeError('Operations cannot be pickled')
