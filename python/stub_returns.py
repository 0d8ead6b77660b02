"""What functions of the package return, read from their source for the stubs (make_stubs.py).

A function returns a tensor where each `return` of it applies an op with one output, or calls
another function that returns a tensor; an object, where it makes one of a class of the package; a
list, dict or text, where that is written there. Names are looked up in the imported modules.
"""
import ast
import collections
import contextlib
import functools
import importlib
import inspect
import sys
import types


@functools.cache
def syntax(module):
  """{qualified name: node} of the classes and functions of a module of the package."""
  path = getattr(sys.modules.get(module), '__file__', None)
  if not path or not path.endswith('.py'):
    return {}
  with open(path, encoding='utf-8') as f:
    found, waiting = {}, [('', ast.parse(f.read()).body)]
  while waiting:
    prefix, body = waiting.pop()
    for node in body:
      if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        found.setdefault(prefix + node.name, node)
        inner = '.' if isinstance(node, ast.ClassDef) else '.<locals>.'
        waiting.append((prefix + node.name + inner, node.body))
  return found


def own_nodes(function):
  """The nodes of a function without those of the functions in it."""
  waiting = list(function.body)
  while waiting:
    node = waiting.pop()
    yield node
    if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
      waiting.extend(ast.iter_child_nodes(node))


class Returns:
  """of(function) is a class, a text for the stub, or None where that is not known."""
  LITERALS = {ast.List: list, ast.ListComp: list, ast.Dict: dict, ast.DictComp: dict,
              ast.Tuple: tuple, ast.JoinedStr: str, ast.Compare: bool}

  def __init__(self, package):
    self.package = package
    from leat._graph import conversion
    self.known = {function: package.tensor for function in (
        conversion.constant, conversion.convert, conversion.convert_to_tensor,
        conversion.constant_of)}

  def of(self, function):
    if function in self.known:
      return self.known[function]
    self.known[function] = None  # for one that calls itself
    node = syntax(function.__module__).get(function.__qualname__)
    if isinstance(node, ast.FunctionDef):
      self.known[function] = self._of_node(node, sys.modules[function.__module__])
    return self.known[function]

  def _of_node(self, node, module):
    nodes = list(own_nodes(node))
    if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in nodes):
      return 'typing.Iterator[Any]'
    returns = [n for n in nodes if isinstance(n, ast.Return)]
    if not returns:
      # A method that subclasses replace may raise an error, or do nothing.
      told = [n for n in node.body if not isinstance(n, (ast.Pass, ast.Raise)) and
              not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
      return 'None' if told and not any(isinstance(n, ast.Raise) for n in node.body) else None
    arguments = [a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)]
    scope = self._scope(nodes, module)
    scope.update(dict.fromkeys(arguments))
    if arguments[:1] == ['self']:
      scope['self'] = ('type', 'Self')
    found = {self._of_value(n.value, scope) for n in returns}
    return found.pop() if len(found) == 1 else None

  def _scope(self, nodes, module):
    """{name: what is known of it in a function}: ('object', what a module binds it to), ('value',
    the node of the only value that it is set to), ('type', as `of` says), or None."""
    scope = {name: ('object', value) for name, value in vars(module).items()}
    for node in nodes:
      if isinstance(node, ast.ImportFrom) and node.module.partition('.')[0] == 'leat':
        for alias in node.names:
          with contextlib.suppress(ImportError, AttributeError):
            source = importlib.import_module(node.module)
            scope[alias.asname or alias.name] = ('object', getattr(source, alias.name))
    stored = collections.Counter(n.id for n in nodes if isinstance(n, ast.Name) and
                                 isinstance(n.ctx, ast.Store))
    scope.update(dict.fromkeys(stored))
    for node in nodes:
      if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and \
          stored[node.targets[0].id] == 1:
        scope[node.targets[0].id] = ('value', node.value)
    return scope

  def _of_value(self, node, scope):
    if isinstance(node, ast.Call):
      return self._of_call(node, scope)
    if isinstance(node, ast.Name):
      kind, what = scope.get(node.id) or (None, None)
      if kind == 'type':
        return what
      if kind == 'value':
        return self._of_value(what, dict(scope, **{node.id: None}))
      return None
    if isinstance(node, ast.IfExp):
      both = {self._of_value(n, scope) for n in (node.body, node.orelse)}
      return both.pop() if len(both) == 1 else None
    if isinstance(node, ast.BinOp):
      tensor = self.package.tensor
      if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
        return str
      sides = (self._of_value(node.left, scope), self._of_value(node.right, scope))
      return tensor if tensor in sides else None
    if isinstance(node, ast.Constant):
      return 'None' if node.value is None else type(node.value)
    return self.LITERALS.get(type(node))

  def _of_call(self, node, scope):
    called = self._object(node.func, scope)
    if called is self.package.apply_op:
      name = node.args[0] if node.args else None
      if isinstance(name, ast.Constant):
        return self.package.returned_by_op(name.value)
      return None
    if inspect.isclass(called):
      return called if called.__module__.startswith('leat.') else None
    if hasattr(called, '_leat_parameters'):
      return self.package.returned_by_op(called.__name__)
    if inspect.isfunction(called) and called.__module__.startswith('leat.') and \
        not hasattr(called, '__wrapped__'):
      return self.of(called)
    return None

  def _object(self, node, scope):
    if isinstance(node, ast.Name):
      kind, what = scope.get(node.id) or (None, None)
      return what if kind == 'object' else None
    if isinstance(node, ast.Attribute):
      base = self._object(node.value, scope)
      return getattr(base, node.attr, None) if isinstance(base, types.ModuleType) else None
    return None
