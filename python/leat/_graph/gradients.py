"""tf.gradients: the library adds the operations, this says between which tensors.

Functions of tf.RegisterGradient are called by the library while it walks over the graph, with the
derivatives of an operation's outputs; what they add belongs to the walk, in loops too."""
from __future__ import annotations

import contextlib

from leat import _leat
from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph import graph as graphs
from leat._graph.conversion import convert
from leat._graph.scope import name_scope

# Functions, None for no gradient, by op types and by names of gradient_override_map. The library
# knows nothing of the ops of the extension.
_registry = {'PyFunc': None, 'PyFuncStateless': None}


@export('AggregationMethod')
class AggregationMethod:
  """How gradients that meet are summed; the library chooses by itself."""
  ADD_N = DEFAULT = 0
  EXPERIMENTAL_TREE = 1
  EXPERIMENTAL_ACCUMULATE_N = 2


@export('UnconnectedGradients')
class UnconnectedGradients:
  """What the gradient of an x is that no y depends on."""
  NONE, ZERO = 'none', 'zero'


@export('RegisterGradient')
class RegisterGradient:
  """Decorates the gradient function of an op type: function(op, *gradients of its outputs) gives
  the gradients of its inputs, None for those that have none. It is used in place of the library's,
  and for operations that gradient_override_map gives this type."""

  def __init__(self, op_type):
    if not isinstance(op_type, str):
      raise TypeError('op_type must be a string')
    self._op_type = op_type

  def __call__(self, function):
    _register(self._op_type, function)
    return function


def _register(op_type, function):
  if op_type in _registry:
    raise KeyError("Registering two gradient with name '%s'! (Previous registration was in %s)" % (
        op_type, _registry[op_type].__module__ if _registry[op_type] else 'leat'))
  _registry[op_type] = function


@export('NotDifferentiable', 'NoGradient', 'no_gradient')
def NotDifferentiable(op_type):
  """Says that an op has no gradient."""
  if not isinstance(op_type, str):
    raise TypeError('op_type must be a string')
  _register(op_type, None)


def _as_list(x):
  return list(x) if isinstance(x, (list, tuple)) else [x]


def _source(x):
  """The tensor whose gradient is asked for: a variable's reference or handle."""
  if hasattr(x, '_ref') and hasattr(x, '_as_graph_element'):
    return x._ref()
  if getattr(x, '_is_composite', False):
    return x.values
  return convert(x, name='x', as_ref=True)


@export('gradients')
def gradients(ys, xs, grad_ys=None, name='gradients', colocate_gradients_with_ops=False,
              gate_gradients=False, aggregation_method=None, stop_gradients=None,
              unconnected_gradients=UnconnectedGradients.NONE):
  """The derivatives of the sum of ys by each of xs, as a list of tensors: None where a y does not
  depend on the x, or zeros where unconnected_gradients is 'zero'.

  grad_ys are the gradients to start from, ones where they are None; stop_gradients are taken as
  constants. With gate_gradients the gradient of a variable is there only once the other gradients
  do not read the variable any more. The gradient of tf.gather by params is IndexedSlices.
  aggregation_method changes nothing: gradients that meet are added by one AddN. LookupError where
  an operation on the way has no gradient.

  >>> x = tf.constant(3.0)
  >>> float(tf.Session().run(tf.gradients(x * x, x)[0]))
  6.0
  """
  if aggregation_method not in (None, 0, 1, 2):
    raise ValueError('Invalid aggregation_method specified %s.' % aggregation_method)
  if unconnected_gradients not in ('none', 'zero'):
    raise ValueError("Unknown value for unconnected_gradients: '%s'" % unconnected_gradients)
  ys, xs = _as_list(ys), _as_list(xs)
  graph = graphs.of_inputs([y for y in ys if isinstance(y, _leat.Output)])
  if graph._is_function:
    given = [x for x in _as_list(grad_ys) + _as_list(stop_gradients or []) if x is not None]
    around = _graph_around(graph, ys + xs + given)
    if around is not None:
      with around.as_default():
        return gradients(ys, xs, grad_ys, name, colocate_gradients_with_ops, gate_gradients,
                         aggregation_method, stop_gradients, unconnected_gradients)
  with graph.as_default(), name_scope(name, 'gradients') as scope:
    targets = [convert(y.values if type(y).__name__ == 'IndexedSlices' else y, name='y')
               for y in ys]
    for y in targets:
      if y.dtype.is_complex and grad_ys is None:
        raise TypeError('Gradients of complex tensors %s must set grad_ys (y.dtype = %s)' % (
            y, y.dtype.name))
    starts = _starts(targets, grad_ys)
    sources = [_source(x) for x in xs]
    stops = [_source(x) for x in _as_list(stop_gradients or [])]
    for x in sources:
      if x.graph is not graph:
        raise ValueError('%s must be from the same graph as %s.' % (x, targets[0]))
    if not targets:
      return [None] * len(xs)
    graph._check_not_finalized()
    # The scope as it is; what is there of it already are the gradients that the program gives.
    prefix = scope or graph.unique_name_('grad', True) + '/'
    start = graph.count()
    walk = _Walk(graph, colocate_gradients_with_ops)
    try:
      found = graph.gradients_(prefix, targets, sources, starts, stops,
                               bool(colocate_gradients_with_ops), walk.functions, walk.build)
    except _leat.StatusError as error:
      code, message = error.args
      if code == 5:
        raise LookupError(message) from None
      raise graphs._build_error(error) from None
    finally:
      graph._adopt(start)
    for g, x in zip(found, sources):
      # What comes out of a loop may have lost its shape on the way.
      if isinstance(g, _leat.Output) and x.dtype.base_dtype != dtypes.resource:
        if g.get_shape().is_compatible_with(x.get_shape()):
          g.set_shape(x.get_shape())
    found = [_from_library(g) for g in found]
    if gate_gradients:
      from leat._graph import gates
      found = gates.gated(graph, prefix, targets, found, sources, start)
    if graph._functions_python and None in found:
      found = _with_zeros_of_calls(graph, targets, sources, stops, found)
    if unconnected_gradients == 'zero':
      from leat._ops import array
      found = [array.zeros_like(convert(x)) if g is None else g for g, x in zip(found, xs)]
  return found


def _graph_around(body, items):
  """The graph around the body of a function of which all items are tensors or variables, or None.
  The derivatives between such are the same in each call. They are added to that graph, and the body
  captures those that it uses: what it would capture of ys and xs has no way between the two."""
  found = {x.graph if isinstance(x, _leat.Output) else
           x._as_graph_element().graph if hasattr(x, '_as_graph_element') else None for x in items}
  if len(found) != 1 or None in found or body in found:
    return None
  return found.pop()


def _with_zeros_of_calls(graph, targets, sources, stops, found):
  """The derivatives, with zeros for a source that is an argument of a function of the program and
  on which no result of it depends. The library looks into the function and finds none."""
  from leat._ops import array
  arguments = _arguments_of_calls(graph, targets, set(stops))
  return [array.zeros_like(x) if g is None and x in arguments and _is_trainable(x.dtype) else g
          for g, x in zip(found, sources)]


def _arguments_of_calls(graph, targets, stops):
  """The arguments of all calls on which the targets depend, and the variables that they are read
  from."""
  waiting, seen, arguments = [t.op for t in targets], set(), set()
  while waiting:
    op = waiting.pop()
    if op in seen or op.type == 'StopGradient':
      continue
    seen.add(op)
    inputs = [x for x in op.inputs if x not in stops]
    if op.type in graph._functions_python:
      arguments.update(inputs)
      arguments.update(x.op.inputs[0] for x in inputs if x.op.type == 'Identity')
    waiting.extend(x.op for x in inputs)
  return arguments


def _from_library(derivative):
  """A derivative as the library gives it, as None, a Tensor or IndexedSlices."""
  if not isinstance(derivative, tuple):
    return derivative
  from leat._ops.sparse import IndexedSlices
  return IndexedSlices(*derivative)


class _Walk:
  """The gradient functions of Python in one call of tf.gradients."""

  def __init__(self, graph, colocate):
    self._graph, self._colocate = graph, colocate
    own = {name: f.python_grad_func for name, f in graph._functions_python.items()
           if f.python_grad_func is not None}
    own.update(graph._gradient_functions)
    self.functions = {**_registry, **own} if own else _registry

  def build(self, op, entry, name, of_outputs):
    """The derivatives of the inputs of `op`, from those of its outputs."""
    function = self.functions[entry]
    if function is None:
      return [None] * len(op.inputs)
    from leat._ops import array
    graph, building = self._graph, self._graph._building
    outer, building.original_op = building.original_op, op
    try:
      with name_scope(name + '/'), contextlib.ExitStack() as stack:
        if self._colocate:
          stack.enter_context(graph.colocate_with(op))
        gradients_of = [_from_library(g) for g in of_outputs]
        for i, y in enumerate(op.outputs):
          if gradients_of[i] is None and _is_trainable(y.dtype):
            gradients_of[i] = array.zeros_like(y)
        results = function(op, *gradients_of)
        results = [] if results is None and not op.inputs else _as_list(results)
        if len(results) != len(op.inputs):
          raise ValueError('Num gradients %d generated for op %s do not match num inputs %d' % (
              len(results), op.node_def, len(op.inputs)))
        return [_to_library(g, x) for g, x in zip(results, op.inputs)]
    finally:
      building.original_op = outer


def _is_trainable(dtype):
  dtype = dtype.base_dtype
  return dtype.is_floating or dtype.is_complex


def _to_library(derivative, x):
  """What a gradient function gave for the input x, as the library takes it."""
  if derivative is None:
    return None
  if type(derivative).__name__ != 'IndexedSlices':
    return convert(derivative)
  if derivative.dense_shape is not None:
    return derivative.values, derivative.indices, derivative.dense_shape
  from leat._ops import array
  return derivative.values, derivative.indices, array.shape(x)


def _starts(targets, grad_ys):
  """The gradients to start from: ones where none is given."""
  if grad_ys is None:
    grad_ys = [None] * len(targets)
  grad_ys = _as_list(grad_ys)
  if len(grad_ys) != len(targets):
    raise ValueError('Must pass one grad_y for each y in ys; got %d grad_ys and %d ys' % (
        len(grad_ys), len(targets)))
  if all(g is None for g in grad_ys):
    return None
  from leat._ops import array
  from leat._ops.sparse import IndexedSlices
  found = []
  for i, (g, y) in enumerate(zip(grad_ys, targets)):
    if g is None:
      found.append(array.ones_like(y, name='grad_ys_%d' % i))
    else:
      if isinstance(g, IndexedSlices) and g.dense_shape is None:
        g = IndexedSlices(g.values, g.indices, array.shape(y))
      g = convert(g, y.dtype.base_dtype, 'grad_ys_%d' % i)
      if g.dtype != y.dtype.base_dtype:
        raise TypeError('Gradient type %s generated for tensor %s of type %s' % (g.dtype, y,
                                                                              y.dtype))
      if not g.get_shape().is_compatible_with(y.get_shape()):
        g = array.reshape(g, array.shape(y))  # [1] for [], which TensorFlow takes too
      found.append(g)
  return found


@export('hessians')
def hessians(ys, xs, name='hessians', colocate_gradients_with_ops=False, gate_gradients=False,
             aggregation_method=None):
  """The second derivatives of the sum of ys by each of xs."""
  from leat._ops import array
  from leat._ops.control_flow import while_loop
  from leat._ops.tensor_array import TensorArray
  del name, colocate_gradients_with_ops, gate_gradients, aggregation_method
  found = []
  for gradient, x in zip(gradients(ys, xs), _as_list(xs)):
    rows = array.reshape(gradient, [-1])
    count, sizes = array.size(x), array.shape(x)

    def row(i, result, rows=rows, x=x):
      return i + 1, result.write(i, gradients(rows[i], x)[0])
    _, result = while_loop(lambda i, _, count=count: i < count, row,
                           [0, TensorArray(x.dtype, count)])
    found.append(array.reshape(result.stack(), array.concat([sizes, sizes], 0)))
  return found
