"""Tensor: a handle of an output of the C graph, with TensorFlow's names and Python's operators.

The operators are those of `leat._ops.operators`, which is loaded when the first of them is used and
then puts its functions in the place of those here.
"""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.operation import Operation
from leat._graph.shape import TensorShape, as_shape

_by_number = dtypes._by_number


@export('Tensor')
class Tensor(_leat.Output):
  """A value that an operation will compute: one of its outputs. It has a type, a shape, of which
  sizes may be unknown, and a name ('op:0'), but no value: that is given by Session.run or `eval`.

  Python's operators add operations: `a + b`, `a @ b`, `a[1:3]`, `a < b`. `==` compares the objects;
  tf.equal compares values.
  """
  __array_priority__ = 100

  @property
  def dtype(self):
    """The type of its elements, a DType."""
    return _by_number[self.dtype_]

  @property
  def name(self):
    """Its name: that of the operation, a colon, which of its outputs it is."""
    return '%s:%d' % (self.op.name, self.value_index)

  @property
  def device(self):
    """The device that its operation asks for."""
    return self.op.device

  @property
  def shape(self):
    """The TensorShape as far as it is known while the graph is built."""
    return TensorShape._known(self.shape_)

  def get_shape(self):
    """The tf.TensorShape as far as it is known while the graph is built; tf.shape gives a tensor
    with the sizes of a step."""
    return TensorShape._known(self.shape_)

  @property
  def _shape(self):
    return TensorShape._known(self.shape_)

  def _shape_tuple(self):
    shape = self.shape_
    return None if shape is None else tuple(None if d < 0 else d for d in shape)

  def _rank(self):
    shape = self.shape_
    return None if shape is None else len(shape)

  def set_shape(self, shape):
    """Adds what is known of the shape. ValueError where it contradicts what is known already."""
    shape = as_shape(shape)
    try:
      self.merge_shape(shape._sizes())
    except _leat.StatusError as error:
      raise ValueError(error.args[1]) from None

  def consumers(self):
    """The operations that read it."""
    found = []
    for op in self.consumers_():
      if op not in found:
        found.append(op)
    return found

  def _as_node_def_input(self):
    return self.op.name if self.value_index == 0 else self.name

  def _as_graph_element(self):
    return None

  @property
  def _handle_data(self):
    return self.handle_data_()

  def eval(self, feed_dict=None, session=None):
    """The value, computed in `session`, or the default one: `session.run(tensor, feed_dict)`.
    ValueError where there is no session."""
    from leat._session import session as sessions
    return sessions.of_run(session, self.graph, 'eval').run(self, feed_dict)

  def experimental_ref(self):
    """An object that compares and hashes by the tensor itself, for keys of dicts; its deref() is
    the tensor."""
    return Reference(self)

  ref = experimental_ref

  def __iter__(self):
    shape = self.shape_
    if shape is None:
      raise TypeError('Cannot iterate over a tensor with unknown rank.')
    if not shape:
      raise TypeError('Cannot iterate over a scalar tensor.')
    if shape[0] < 0:
      raise TypeError('Cannot iterate over a tensor with unknown first dimension.')
    return iter([self[i] for i in range(shape[0])])

  @property
  def numpy(self):
    """A method that gives its value, where the graph has values (immediate.py)."""
    graph = self.op.graph
    if not graph._is_immediate:
      raise AttributeError("'Tensor' object has no attribute 'numpy'")
    return lambda: graph.values_of([self])[0]

  def __len__(self):
    if self.op.graph._is_immediate:
      return len(self.numpy())
    raise TypeError('len is not well defined for a symbolic Tensor (%s). Please call `x.shape` '
                    'rather than `len(x)` for shape information.' % self.name)

  def __bool__(self):
    if self.op.graph._is_immediate:
      return bool(self.numpy())
    raise TypeError('Using a `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not '
                    'None:` '
                    'instead of `if t:` to test if a tensor is defined, and use TensorFlow ops '
                    'such '
                    'as tf.cond to execute subgraphs conditioned on the value of a tensor.')

  __nonzero__ = __bool__

  def __array__(self, dtype=None, copy=None):
    if self.op.graph._is_immediate:
      import numpy as np
      return np.array(self.numpy(), dtype)
    raise NotImplementedError('Cannot convert a symbolic tf.Tensor (%s) to a numpy array. This '
                              'error may indicate that you\'re trying to pass a Tensor to a NumPy '
                              'call, which is not supported.' % self.name)

  __hash__ = object.__hash__

  def __eq__(self, other):
    return self is other

  def __ne__(self, other):
    return self is not other

  def __copy__(self):
    return self

  def __repr__(self):
    return "<tf.Tensor '%s' shape=%s dtype=%s>" % (self.name, self.shape, self.dtype.name)

  def __str__(self):
    shape = self.shape
    return 'Tensor("%s"%s, dtype=%s%s)' % (
        self.name, ', shape=%s' % shape if shape.ndims is not None else '', self.dtype.name,
        ', device=%s' % self.device if self.device else '')

  def _repr_html_(self):
    from leat._platform import notebook
    return notebook.of_tensor(self)

  @staticmethod
  def _override_operator(operator, function):
    setattr(Tensor, operator, function)


class Reference:
  """Compares and hashes a tensor by what it is."""
  __slots__ = ('_item',)

  def __init__(self, item):
    self._item = item

  def deref(self):
    return self._item

  def __eq__(self, other):
    return isinstance(other, Reference) and self._item is other._item

  def __hash__(self):
    return id(self._item)


OPERATORS = ('__add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __div__ __rdiv__ __truediv__ '
             '__rtruediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __lt__ __le__ __gt__ __ge__ '
             '__and__ __rand__ __or__ __ror__ __xor__ __rxor__ __getitem__ __pow__ __rpow__ '
             '__invert__ __neg__ __abs__ __matmul__ __rmatmul__').split()


def _operator(name):
  def call(self, *operands):
    from leat._ops import operators
    operators.install()
    return operators.TABLE[name](self, *operands)
  call.__name__ = name
  return call


def _number(name, function):
  def call(self):
    if not self.op.graph._is_immediate:
      raise TypeError("%s() argument must be a number, not a 'Tensor' without a value" %
                      function.__name__)
    return function(self.numpy())
  call.__name__ = name
  return call


for _name, _function in (('__float__', float), ('__int__', int)):
  setattr(Tensor, _name, _number(_name, _function))
LOADING = {_name: _operator(_name) for _name in OPERATORS}
for _name, _loading in LOADING.items():
  setattr(Tensor, _name, _loading)
EXPORTS = {}
_leat.set_classes(Operation, Tensor)


@export('is_tensor', 'is_symbolic_tensor')
def is_tensor(x):
  """Whether x is a tensor or stands for one: a variable, a SparseTensor."""
  return isinstance(x, Tensor) or hasattr(x, '_as_graph_element') and hasattr(x, 'dtype') or \
      hasattr(x, '_tensor_like')
