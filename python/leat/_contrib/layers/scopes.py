"""How the variables of contrib's layers are made: as variables of the model, under contrib's names.

The layers of tf.layers call their variables 'kernel' and 'bias', those of contrib 'weights' and
'biases'. Both are the same code: within `layer_scope` get_variable renames, and makes its variables
by contrib.framework.model_variable, whose arguments an arg_scope may set. """
from __future__ import annotations

from leat._contrib import variables
from leat._contrib.layers.outputs import collect_named_outputs
from leat._ops.variable_scope import variable_scope

_RENAMED = {'kernel': 'weights', 'bias': 'biases'}


def _getter(renamed):
  def getter(getter, name, **named):
    scope, _, short = name.rpartition('/')
    name = (scope + '/' if scope else '') + renamed.get(short, short)
    rest = {n: named.pop(n) for n in ('constraint', 'validate_shape', 'reuse') if n in named}
    # The scope of get_variable is in the name already, so that the inner getter is asked.
    return variables.model_variable(
        name, custom_getter=lambda *args, **more: getter(*args, **dict(more, **rest)), **named)
  return getter


def layer_scope(scope, default_name, inputs, reuse, renamed=None):
  """The variable scope of a layer. `renamed` replaces 'weights' and 'biases'."""
  return variable_scope(scope, default_name, [inputs], reuse=reuse,
                        custom_getter=_getter(_RENAMED if renamed is None else renamed))


def finished(outputs, activation_fn, outputs_collections, name):
  """The activation of outputs, kept in collections."""
  if activation_fn is not None:
    outputs = activation_fn(outputs)
  return collect_named_outputs(outputs_collections, name, outputs)


def normalized(outputs, normalizer_fn, normalizer_params):
  return outputs if normalizer_fn is None else normalizer_fn(outputs, **(normalizer_params or {}))
