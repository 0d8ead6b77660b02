"""tf.custom_gradient: functions whose gradients a program says, and what is made of them.

The results of such a function pass through an IdentityN together with its arguments and the
variables that it reads. The gradient of this operation is None for the results, which stops the
gradients of what computed them, and what the program's function says for the arguments and the
variables.
"""
from __future__ import annotations

import functools
import inspect
import itertools

from leat import _leat
from leat._export import export
from leat._graph import graph as graphs
from leat._graph.conversion import convert
from leat._graph.gradients import gradients
from leat._graph.scope import GraphKeys, control_dependencies
from leat._ops import nest
from leat._ops.control import identity_n
from leat._ops.variable_scope import get_variable_scope, variable_scope

_numbers = itertools.count()


@export('custom_gradient')
def custom_gradient(f=None):
  """Decorates a function that returns (results, gradient function). The gradient function gets the
  derivative of each result and gives those of the arguments. Where f reads variables that are no
  arguments, it must take `variables`, a list of them, and give a tuple: the derivatives of the
  arguments, and a list of those of the variables. Arguments and results may be nested structures of
  tensors; f also gets keyword arguments, but has no gradients by them."""
  return custom_gradient if f is None else _CustomGradient(f)


class _CustomGradient:
  """A decorated function, or method."""

  def __init__(self, f):
    self._f = f
    functools.update_wrapper(self, f)

  def __get__(self, instance, owner):
    return self if instance is None else _CustomGradient(self._f.__get__(instance, owner))

  def __call__(self, *args, **kwargs):
    return _apply(self._f, args, kwargs)


def _apply(f, args, kwargs):
  if any(isinstance(v, _leat.Output) or _is_variable(v) for v in nest.flatten(kwargs)):
    raise ValueError('A function with a custom_gradient takes tensors as positional arguments; the '
                     'keyword arguments are %s' % sorted(kwargs))
  graph = graphs.get_default_graph()
  passed = [v for v in nest.flatten(args) if _is_variable(v)]
  args = nest.map_structure(convert, args)
  before = set(_variables(graph))
  results, gradient = f(*args, **kwargs)
  _check_new_variables([v for v in _variables(graph) if v not in before])
  outputs = [convert(r) for r in nest.flatten(results)]
  inputs = nest.flatten(args)
  variables = [v for v in _variables_between(graph, inputs, outputs) if v not in passed]
  takes_variables = _takes_variables(gradient)
  if variables and not takes_variables:
    raise TypeError("The gradient function of a custom_gradient must accept the keyword argument "
                    "'variables', since the function uses the variables %s" % variables)

  def of_inputs(_, *of_outputs):
    of_outputs = of_outputs[:len(outputs)]
    if variables:
      of_arguments, of_variables = gradient(*of_outputs, variables=variables)
      if len(of_variables) != len(variables):
        raise ValueError('The gradient function of a custom_gradient must return a gradient for '
                         'each of the %d variables, but returned %d' % (
                             len(variables), len(of_variables)))
    else:
      of_arguments, of_variables = gradient(*of_outputs), []
    return [None] * len(outputs) + nest.flatten(of_arguments) + list(of_variables)
  sources = [v._ref() if v._handle is None else v._handle for v in variables]
  with graph.gradient_override_map({'IdentityN': _entry(graph, of_inputs)}):
    found = identity_n(outputs + inputs + sources)
  return nest.pack_sequence_as(results, found[:len(outputs)])


def _entry(graph, function):
  """A name for gradient_override_map, which lives as long as the graph, and those around it."""
  name = 'CustomGradient-%d' % next(_numbers)
  while graph is not None:
    graph._gradient_functions[name] = function
    graph = getattr(graph, 'outer', None)
  return name


# ---- Variables ----------------------------------------------------------------------------------


def _is_variable(value):
  return hasattr(value, '_ref') and hasattr(value, '_as_graph_element')


def _variables(graph):
  """The Variables of the graph, once each."""
  return dict.fromkeys(v for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES)
                       for v in graph.get_collection(key) if _is_variable(v))


def _check_new_variables(variables):
  for v in variables:
    if v._handle is None:
      raise TypeError('All variables used by a function wrapped with @custom_gradient must be '
                      '`ResourceVariable`s. Ensure that no `variable_scope` is created with '
                      '`use_resource=False`; %s is none' % v)


def _variables_between(graph, inputs, outputs):
  """The variables that the outputs depend on otherwise than through the inputs."""
  known = {v._variable.op: v for v in _variables(graph)}
  seen, waiting, found = {i.op for i in inputs}, [o.op for o in outputs], []
  while waiting:
    op = waiting.pop()
    if op in seen:
      continue
    seen.add(op)
    if op in known:
      found.append(known[op])
    waiting.extend(i.op for i in op.inputs)
  return found


def _takes_variables(function):
  spec = inspect.getfullargspec(function)
  return 'variables' in spec.args + spec.kwonlyargs or spec.varkw is not None


# ---- Made of it ---------------------------------------------------------------------------------


@export('grad_pass_through')
def grad_pass_through(f):
  """The function f, with the gradient of the identity."""
  @custom_gradient
  def identity(*args, **kwargs):
    def pass_through(*of_results, variables=None):
      return of_results if variables is None else (of_results, [None] * len(variables))
    return f(*args, **kwargs), pass_through

  @functools.wraps(f)
  def decorated(*args, **kwargs):
    return identity(*args, **kwargs)
  return decorated


@export('recompute_grad')
def recompute_grad(f):
  """The function f, which is computed once more for its gradient, so that what it computes on the
  way need not be kept until then. It must use the same variables, by the same names, each time."""
  @custom_gradient
  def once(*args):
    scope = get_variable_scope()
    results = f(*args)

    def again(*of_results, variables=()):
      with control_dependencies(of_results), variable_scope(scope, reuse=bool(variables) or None):
        results = nest.flatten(f(*args))
      inputs = nest.flatten(args)
      found = gradients(results, inputs + list(variables), list(of_results))
      found = found[:len(inputs)], found[len(inputs):]
      return found if variables else found[0]
    return results, again

  @functools.wraps(f)
  def decorated(*args, **kwargs):
    return once(*args) if not kwargs else recompute_grad(functools.partial(f, **kwargs))(*args)
  return decorated
