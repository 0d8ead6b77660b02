"""contrib.framework: conditionals that are decided while building where their predicates are
known."""
from __future__ import annotations

from leat import _leat
from leat._export import export
from leat._graph.value import constant_value
from leat._ops import control_flow


@export('contrib.framework.smart_constant_value')
def smart_constant_value(pred):
  """The bool of a predicate (a bool, 0, 1 or a tensor); None where only a step can say. TypeError
  of anything else."""
  if isinstance(pred, bool) or isinstance(pred, int) and pred in (0, 1):
    return bool(pred)
  if isinstance(pred, _leat.Output):
    value = constant_value(pred)
    return None if value is None else bool(value)
  raise TypeError('`pred` must be a Tensor, or a Python bool, or 1 or 0. Found instead: %r' % (
      pred,))


@export('contrib.framework.smart_cond')
def smart_cond(pred, true_fn=None, false_fn=None, name=None):
  """What one of two functions gives; a conditional where only a step can say which."""
  for argument, function in (('true_fn', true_fn), ('false_fn', false_fn)):
    if not callable(function):
      raise TypeError('`%s` must be callable.' % argument)
  known = smart_constant_value(pred)
  if known is not None:
    return true_fn() if known else false_fn()
  return control_flow.cond(pred, true_fn=true_fn, false_fn=false_fn, name=name)


@export('contrib.framework.smart_case')
def smart_case(pred_fn_pairs, default=None, exclusive=False, name='smart_case'):
  """tf.case, which is the function of the first predicate that is known to be true where all before
  it are known."""
  pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
  if not exclusive:
    for pred, function in pairs:
      known = smart_constant_value(pred)
      if known is None:
        break
      if known:
        return function()
    else:
      if default is not None:
        return default()
  return control_flow.case(pred_fn_pairs, default=default, exclusive=exclusive, name=name)
