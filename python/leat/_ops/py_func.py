"""tf.py_func: an operation that calls a function of Python with arrays.

The operation knows its function by a token, a string; the extension calls `_call` here with it. A
graph owns its functions: the table below refers to them weakly, so that they go with their graph,
and a graph that was imported finds only functions of graphs that are still there.
"""
from __future__ import annotations

import itertools
import traceback
import weakref

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import errors
from leat._graph import value as values
from leat._graph.apply import make_op

_functions = weakref.WeakValueDictionary()   # token -> an object with call(inputs, types)
_numbers = itertools.count()

# The status that an exception of the function becomes.
_CODES = ((StopIteration, errors.OUT_OF_RANGE), (MemoryError, errors.RESOURCE_EXHAUSTED),
          (NotImplementedError, errors.UNIMPLEMENTED),
          ((TypeError, ValueError), errors.INVALID_ARGUMENT))
_OWN = (__name__, 'leat._ops.py_function')   # whose frames a traceback does not begin with


class _Failure(Exception):
  """The operation fails, but not by an exception of the function; args are (code, message)."""


def _call(token, inputs, types):
  """Called by the kernel with Values and the DataTypes of its outputs: a list of Values, or the
  (code, message) of an error."""
  try:
    function = _functions.get(token)
    if function is None:
      raise _Failure(errors.INVALID_ARGUMENT, 'ValueError: callback %s is not found: the graph '
                     'that it was made for is gone, or is in another process' % token)
    return function.call(inputs, [dtypes._by_number[t] for t in types])
  except _Failure as error:
    return error.args[0], error.args[1].encode()
  except BaseException as error:  # also those that would end a thread of Python
    return _status(error)


def _status(error):
  """(code, message) of an exception; the traceback begins at the function."""
  code = next((code for classes, code in _CODES if isinstance(error, classes)), errors.UNKNOWN)
  trace = error.__traceback__
  while trace.tb_next is not None and trace.tb_frame.f_globals.get('__name__') in _OWN:
    trace = trace.tb_next
  text = '%s: %s\n%s' % (type(error).__name__, error,
                         ''.join(traceback.format_exception(type(error), error, trace)))
  return code, text.encode('utf-8', 'replace').replace(b'\0', b'?')


_leat.register_py_func(_call)


def _type_name(dtype):
  """What the library calls the type."""
  return {'float32': 'float', 'float64': 'double', 'float16': 'half'}.get(dtype.name, dtype.name)


class _ArrayFunction:
  """A function of arrays. It returns an array, or a list or tuple of as many as there are outputs,
  of exactly their types; strings may be bytes or str."""

  def __init__(self, function):
    self.function = function

  def call(self, inputs, types):
    result = self.function(*map(values.to_numpy, inputs))
    if result is None:
      result = []
    elif not isinstance(result, (list, tuple)):
      result = [result]
    if len(result) != len(types):
      raise _Failure(errors.INVALID_ARGUMENT, '%s returns %d values, but expects to see %d '
                         'values.' % (self.token, len(result), len(types)))
    return [self._value(i, item, dtype) for i, (item, dtype) in enumerate(zip(result, types))]

  def _value(self, i, item, dtype):
    """The Value of result number i."""
    import numpy as np
    if isinstance(item, _leat.Value):     # an input of a type that numpy does not have
      found, make = dtypes._by_number[item.dtype_], lambda: item
    else:
      array = np.array(item, object) if isinstance(item, (bytes, str)) else np.asarray(item)
      if array.dtype.kind in 'SU' and not isinstance(item, np.ndarray):
        array = np.array(item, object)    # numpy's strings lose the zeros at their ends
      array = array.astype(array.dtype.newbyteorder('='), copy=False)
      found, make = self._type(array), lambda: values.of_array(array, dtype)
    is_bits = dtype is dtypes.bfloat16 and found is dtypes.uint16   # as such inputs are
    if found is not dtype and not is_bits:
      raise _Failure(errors.INVALID_ARGUMENT, '%d-th value returned by %s is %s, but expects '
                         '%s' % (i, self.token, _type_name(found), _type_name(dtype)))
    return make()

  def _type(self, array):
    if array.dtype.kind == 'O':
      wrong = next((s for s in array.flat if not isinstance(s, (bytes, str))), None)
      if wrong is not None or None in array.ravel().tolist():
        raise _Failure(errors.INTERNAL, 'Unsupported object type %s' % type(wrong).__name__)
      return dtypes.string
    found = dtypes._numpy_dtype(array.dtype)
    if found is None:
      raise _Failure(errors.INTERNAL, 'Unsupported numpy type: %s' % array.dtype)
    return found


def check_count(token, results, types):
  """Fails the operation where the function did not return as many results as there are outputs."""
  if len(results) != len(types):
    raise _Failure(errors.INVALID_ARGUMENT, '%s returns %d values, but expects to see %d values.' %
                   (token, len(results), len(types)))


def function_of(op):
  """The object that was kept for an operation."""
  return _functions[op.get_attr('token').decode()]


def keep(function, graph):
  """Makes the function live as long as the graph, or as those around where that is the body of a
  function."""
  while graph is not None:
    graph._py_functions.append(function)
    graph = getattr(graph, 'outer', None)


def apply_function(op_type, function, inp, Tout, name):
  """The outputs of an operation that calls `function`: a list for a list of types, a tensor for one
  type. Without outputs it is the Operation where that has state, else an empty list. The function
  is an object with a method call(inputs, types), which gets a token."""
  function.token = 'pyfunc_%d' % next(_numbers)
  _functions[function.token] = function
  single = not isinstance(Tout, (list, tuple))
  types = [dtypes.as_dtype(t) for t in ([Tout] if single else Tout)]
  op = make_op(op_type, name=name, input=list(inp), token=function.token, Tout=types)
  keep(function, op.graph)
  if not types and op_type != 'PyFuncStateless':
    return op
  return op.outputs[0] if single else list(op.outputs)


def check_callable(func):
  if not callable(func):
    raise ValueError('Expected func to be callable. Received func=%r of type %s.' %
                     (func, type(func)))


@export('py_func')
def py_func(func, inp, Tout, stateful=True, name=None):
  """Calls func with the values of the tensors `inp`, as numpy's arrays, each time the operation
  runs, and gives its results, whose types are Tout, a type or a list of them. The function runs in
  this process, on any thread, under the GIL. It has no gradient and its results no known shape.

  An operation that is not stateful may run once where it is there twice, or before the step."""
  check_callable(func)
  return apply_function('PyFunc' if stateful else 'PyFuncStateless', _ArrayFunction(func), inp,
                        Tout, name)


@export('numpy_function')
def numpy_function(func=None, inp=None, Tout=None, stateful=True, name=None):
  """py_func by its later name."""
  return py_func(func, inp, Tout, stateful, name)
