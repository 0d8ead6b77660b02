"""tf.py_function: an operation that calls a function of Python with tensors that have values.

Each call makes an ImmediateGraph. The function adds its operations there, may look at their values,
and returns tensors or anything that becomes one. The gradient is an operation that calls the
function once more and differentiates what it has built.
"""
from __future__ import annotations

from leat._export import export
from leat._graph import value as values
from leat._graph.conversion import constant, convert
from leat._graph.gradients import RegisterGradient, gradients
from leat._graph.immediate import ImmediateGraph
from leat._ops import array
from leat._ops import py_func


class _TensorFunction:
  """A function of tensors that have values."""

  def __init__(self, function, types):
    self.function, self.types = function, types

  def build(self, tensors):
    """Calls the function in the graph of the tensors: tensors of the types that are wanted."""
    results = self.function(*tensors)
    if results is None:
      results = []
    elif not isinstance(results, (list, tuple)):
      results = [results]
    py_func.check_count(self.token, results, self.types)
    return [_tensor(*pair) for pair in zip(results, self.types)]

  def call(self, inputs, types):
    del types
    return _immediately(self.build, inputs)


class _Gradient:
  """The derivatives of the inputs of a _TensorFunction; its inputs are those of the function, then
  the derivatives of the outputs."""

  def __init__(self, function, count):
    self.function, self.count = function, count

  def build(self, tensors):
    inputs, of_outputs = tensors[:self.count], tensors[self.count:]
    outputs = self.function.build(inputs)
    pairs = [(y, g) for y, g in zip(outputs, of_outputs) if y.dtype.is_floating or
             y.dtype.is_complex]
    found = gradients([y for y, _ in pairs], inputs, [g for _, g in pairs])
    return [array.zeros_like(x) if g is None else convert(g) for x, g in zip(inputs, found)]

  def call(self, inputs, types):
    del types
    return _immediately(self.build, inputs)


def _immediately(build, inputs):
  """The Values of what `build` makes of the inputs, which are Values."""
  graph = ImmediateGraph()
  try:
    with graph.as_default():
      outputs = build([constant(v) for v in inputs])
      found = graph.values_of(outputs)
    return [values.make(v, y.dtype) for v, y in zip(found, outputs)]
  finally:
    graph.close()


def _tensor(result, dtype):
  if hasattr(result, '_as_graph_element') and hasattr(result, 'initializer'):
    raise RuntimeError(
        'Attempting to return a variable from an eagerly executed py_func. Return its value, '
        'read_value(), instead: %s' % result)
  return convert(result, dtype)


@RegisterGradient('EagerPyFunc')
def _gradient_of(op, *of_outputs):
  function = py_func.function_of(op)
  inputs = list(op.inputs)
  return py_func.apply_function('EagerPyFunc', _Gradient(function, len(inputs)),
                                inputs + list(of_outputs), [x.dtype for x in inputs], None)


@export('py_function')
def py_function(func=None, inp=None, Tout=None, name=None):
  """Calls func with the tensors `inp`, which have values: numpy(), bool(), float(), and operations
  on them, which are computed when their values are asked for. It returns tensors, or what becomes
  tensors of the types Tout, a type or a list of them. The gradient calls func again."""
  py_func.check_callable(func)
  types = list(Tout) if isinstance(Tout, (list, tuple)) else [Tout]
  return py_func.apply_function('EagerPyFunc', _TensorFunction(func, types), inp, Tout, name)
