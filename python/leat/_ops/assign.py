"""Assignments to variables, whole and in parts."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph.apply import apply_op, make_op
from leat._graph.conversion import convert
from leat._ops.variables import RefVariable


def _is_ref(ref):
  return isinstance(ref, _leat.Output) and ref.dtype._is_ref_dtype or isinstance(ref, RefVariable)


@export('assign')
def assign(ref, value, validate_shape=None, use_locking=None, name=None):
  """Sets a variable to `value`, when the result runs or is read: it is the variable with the new
  value. ValueError where shapes differ, unless validate_shape is False."""
  if _is_ref(ref):
    return apply_op('Assign', name=name, ref=ref, value=value, validate_shape=validate_shape,
                    use_locking=use_locking)
  return ref.assign(value, name=name)


@export('assign_add')
def assign_add(ref, value, use_locking=None, name=None):
  """Adds `value` to a variable, when the result runs or is read: it is the variable with the new
  value."""
  if _is_ref(ref):
    return apply_op('AssignAdd', name=name, ref=ref, value=value, use_locking=use_locking)
  return ref.assign_add(value)


@export('assign_sub')
def assign_sub(ref, value, use_locking=None, name=None):
  """Subtracts `value` from a variable, when the result runs or is read: it is the variable with the
  new value."""
  if _is_ref(ref):
    return apply_op('AssignSub', name=name, ref=ref, value=value, use_locking=use_locking)
  return ref.assign_sub(value)


@export('count_up_to')
def count_up_to(ref, limit, name=None):
  """Adds one to a variable that is below the limit."""
  if _is_ref(ref):
    return apply_op('CountUpTo', name=name, ref=ref, limit=limit)
  return apply_op('ResourceCountUpTo', name=name, resource=ref.handle, limit=limit, T=ref.dtype)


def _scatter_function(name, op):
  locks = op.endswith('Update')

  def function(ref, indices, updates, use_locking=locks, name=None):
    if _is_ref(ref):
      return apply_op(op, name=name, ref=ref, indices=indices, updates=updates,
                      use_locking=use_locking)
    handle = {'ref' if 'Nd' in op else 'resource': ref.handle}
    return ref._changed(make_op('Resource' + op, name=name, indices=indices,
                                updates=convert(updates, ref.dtype), **handle), True)
  function.__name__ = name
  function.__doc__ = 'The op %s on a variable.' % op
  return function


scatter_update = _scatter_function('scatter_update', 'ScatterUpdate')
scatter_add = _scatter_function('scatter_add', 'ScatterAdd')
scatter_sub = _scatter_function('scatter_sub', 'ScatterSub')
scatter_mul = _scatter_function('scatter_mul', 'ScatterMul')
scatter_div = _scatter_function('scatter_div', 'ScatterDiv')
scatter_min = _scatter_function('scatter_min', 'ScatterMin')
scatter_max = _scatter_function('scatter_max', 'ScatterMax')
scatter_nd_update = _scatter_function('scatter_nd_update', 'ScatterNdUpdate')
scatter_nd_add = _scatter_function('scatter_nd_add', 'ScatterNdAdd')
scatter_nd_sub = _scatter_function('scatter_nd_sub', 'ScatterNdSub')

EXPORTS = {'scatter_update': 'scatter_update', 'scatter_add': 'scatter_add',
           'scatter_sub': 'scatter_sub', 'scatter_mul': 'scatter_mul',
           'scatter_div': 'scatter_div', 'scatter_min': 'scatter_min',
           'scatter_max': 'scatter_max', 'scatter_nd_update': 'scatter_nd_update',
           'scatter_nd_add': 'scatter_nd_add', 'scatter_nd_sub': 'scatter_nd_sub'}
