"""tf.make_template: a function that makes its variables at its first call and uses them again at
each later one."""
from __future__ import annotations

import functools

from leat._export import export
from leat._graph import graph as graphs
from leat._graph.scope import GraphKeys
from leat._ops.variable_scope import variable_scope


@export('make_template')
def make_template(name_, func_, create_scope_now_=False, unique_name_=None, custom_getter_=None,
                  **kwargs):
  """A Template of `func_`, which makes its variables with tf.get_variable. They lie in a variable
  scope of its own, by the name `name_`, made unique, or `unique_name_` as it is. `kwargs` are given
  to the function at each call."""
  function = functools.partial(func_, **kwargs) if kwargs else func_
  return Template(name_, function, create_scope_now_, unique_name_, custom_getter_)


class Template:
  """A function with its variables."""

  def __init__(self, name, func, create_scope_now=False, unique_name=None, custom_getter=None):
    if name is None:
      raise ValueError('name cannot be None.')
    self._name, self._func, self._unique_name = name, func, unique_name
    self._custom_getter = custom_getter
    self._variable_scope = None
    self._is_called = False
    if create_scope_now:
      with variable_scope(unique_name, name, custom_getter=custom_getter,
                          auxiliary_name_scope=False) as self._variable_scope:
        pass

  def __call__(self, *args, **kwargs):
    if self._variable_scope is None:
      with variable_scope(self._unique_name, self._name,
                          custom_getter=self._custom_getter) as self._variable_scope:
        return self._call(args, kwargs)
    with variable_scope(self._variable_scope, reuse=self._is_called):
      return self._call(args, kwargs)

  def _call(self, args, kwargs):
    graph = graphs.get_default_graph()
    before = len(graph.get_collection(GraphKeys.TRAINABLE_VARIABLES))
    result = self._func(*args, **kwargs)
    made = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)[before:]
    if self._is_called and made:
      raise ValueError('Trainable variable created when calling a template after the first time, '
                       'perhaps you used tf.Variable when you meant tf.get_variable: %s' % (made,))
    self._is_called = True
    return result

  @property
  def name(self):
    return self._name

  @property
  def func(self):
    return self._func

  @property
  def variable_scope(self):
    """The scope; None before the first call, unless it was made at once."""
    return self._variable_scope

  var_scope = variable_scope

  @property
  def variable_scope_name(self):
    """Its name with a slash at the end."""
    if self._variable_scope is None:
      return None
    name = self._variable_scope.name
    return name if not name or name.endswith('/') else name + '/'

  def _collection(self, key):
    return graphs.get_default_graph().get_collection(key, self.variable_scope_name)

  @property
  def variables(self):
    return self.global_variables + self.local_variables

  @property
  def trainable_variables(self):
    return self._collection(GraphKeys.TRAINABLE_VARIABLES)

  @property
  def non_trainable_variables(self):
    trainable = self.trainable_variables
    return [v for v in self.variables if not any(v is t for t in trainable)]

  @property
  def global_variables(self):
    return self._collection(GraphKeys.GLOBAL_VARIABLES)

  @property
  def local_variables(self):
    return self._collection(GraphKeys.LOCAL_VARIABLES)
