"""Makes the stubs of the public API for type checkers and editors: make_stubs.py BUILD/python.

The stubs are a package of their own, `leat-stubs` (PEP 561), beside the package: type checkers look
there first, and Python never looks there, so that a folder `nn` in it does not hide the namespace
`leat.nn`, which the package makes when it is asked for. In it is
  - a module for each module of the package that defines a public name, with those names,
  - a package for each namespace, which imports the names of these modules,
  - raw_ops.pyi, the wrappers of all ops.
Names, classes and parameters are those of the built package, which is imported for it. What a
function returns is read from its source: the class that it makes, the outputs of the op that it
applies, the function that it calls. What cannot be known so is Any; a stub never refuses what the
package takes. Parameters have a type where their name has one meaning in the whole API (OPTIONAL,
REQUIRED).
"""
import abc
import ast
import builtins
import collections
import contextlib
import enum
import functools
import importlib
import inspect
import os
import shutil
import sys
import types

from stub_returns import Returns, syntax

HEAD = '''"""Made by python/make_stubs.py."""
# mypy: ignore-errors
import builtins
import contextlib
import typing
from typing import Any, NamedTuple
import typing_extensions
from typing_extensions import Self

from leat.raw_ops import _DTypeLike
'''
# Types of parameters by their names: of those with a default, and of those that are required.
OPTIONAL = {'name': 'builtins.str | None', 'dtype': '_DTypeLike', 'out_type': '_DTypeLike',
            'output_type': '_DTypeLike', 'feed_dict': 'typing.Mapping[Any, Any] | None',
            'data_format': 'builtins.str | None', 'op_type_name': 'builtins.str | None'}
REQUIRED = {'dtype': '_DTypeLike', 'feed_dict': 'typing.Mapping[Any, Any] | None'}
# What methods with these names return.
SPECIAL = {'__bool__': 'builtins.bool', '__len__': 'builtins.int', '__hash__': 'builtins.int',
            '__str__': 'builtins.str', '__repr__': 'builtins.str', '__init__': 'None',
            '__contains__': 'builtins.bool', '__index__': 'builtins.int', '__int__': 'builtins.int',
            '__float__': 'builtins.float', '__nonzero__': 'builtins.bool'}
# What is known of the members that programs use most, and not read from their source.
MEMBERS = {'Tensor.dtype': ('leat._graph.dtype', 'DType'),
           'Tensor.shape': ('leat._graph.shape', 'TensorShape'),
           'Tensor.get_shape': ('leat._graph.shape', 'TensorShape'),
           'Tensor.graph': ('leat._graph.graph', 'Graph'),
           'Operation.graph': ('leat._graph.graph', 'Graph'),
           'Output.op': ('leat._graph.operation', 'Operation'),
           'BaseSession.graph': ('leat._graph.graph', 'Graph')}
# Members of a class that say nothing to its users.
HIDDEN = {'__module__', '__dict__', '__weakref__', '__doc__', '__slots__', '__qualname__',
          '__annotations__', '__abstractmethods__', '__static_attributes__', '__firstlineno__',
          '__orig_bases__', '__parameters__', '__getstate__', '__match_args__', '__getnewargs__'}


def public(name):
  return not name.startswith('_') and name.isidentifier() and not name.endswith('_')


# ---- The package --------------------------------------------------------------------------------


class Package:
  """The built package, and the modules of stubs that are made for it."""

  def __init__(self):
    import leat
    from leat import _names, _namespace, raw_ops
    from leat._graph import apply, definition, message, operation, tensor
    self.leat, self.names, self.namespace, self.raw_ops = leat, _names, _namespace, raw_ops
    self.apply_op, self.definitions = apply.apply_op, definition
    self.message, self.operation, self.tensor = message.Message, operation.Operation, tensor.Tensor
    self.operators = set(tensor.OPERATORS)
    self.returns = Returns(self)
    self.modules = {}  # {module: {name: lines}}
    self.imports = collections.defaultdict(set)
    # What takes ragged tensors too may return one.
    self.ragged = {_names.EXPORTS[n] for n in _names.RAGGED if n in _names.EXPORTS}

  def returned_by_op(self, op):
    try:
      outputs = self.definitions.of(None, op).outputs
    except KeyError:
      return None
    if not outputs:
      return self.operation
    if len(outputs) > 1:
      return None
    return list if outputs[0].is_list else self.tensor

  def require(self, module, name, item):
    """Sees to it that the stub of `module` defines `name`."""
    defined = self.modules.setdefault(module, {})
    if name not in defined:
      defined[name] = ()  # for what refers to itself
      defined[name] = self.define(module, name, item)

  def class_text(self, item, module):
    """How the stub of `module` names the class; None where it cannot."""
    if item.__module__ == 'builtins':
      return 'builtins.' + item.__qualname__
    place, name = item.__module__, item.__qualname__
    if '<' in name:
      return None
    if place.partition('.')[0] == 'leat':
      outer = name.partition('.')[0]
      owner = vars(sys.modules[place]).get(outer) if place in sys.modules else None
      if place == 'leat' or owner is None or \
          functools.reduce(getattr, name.split('.')[1:], owner) is not item:
        return self._message_text(item, module)
      self.require(place, outer, owner)
    if place != module:
      self.imports[module].add(place)
    return place + '.' + name if place != module else name

  def _message_text(self, item, module):
    """Messages are made when they are asked for; their classes are in the module of messages."""
    if not issubclass(item, self.message):
      return None
    place, package, name = self._message_place(item, module)
    if name is None:
      return None
    outer = name.partition('.')[0]
    self.require(self.message.__module__, 'Message', self.message)
    self.require(place, outer, self.message_of(package + outer))
    if place != module:
      self.imports[module].add(place)
    return place + '.' + name if place != module else name

  def _message_place(self, item, module):
    """(module, package, name) of a message, whose name is None where it is none of TensorFlow's.
    Those of a package of their own, tfprof. say, are in the modules that define them."""
    root, _, name = item.DESCRIPTOR.full_name.partition('.')
    if root != 'tensorflow':
      return module, '', None
    package = name[:name.index('.') + 1] if name[0].islower() else ''
    return module if package else self.message.__module__, package, name[len(package):]

  def type_text(self, kind, module):
    """The text for what Returns found."""
    if kind is None:
      return 'Any'
    if isinstance(kind, str):
      return kind
    plain = {list: 'builtins.list[Any]', dict: 'builtins.dict[Any, Any]', set: 'builtins.set[Any]',
             tuple: 'builtins.tuple[Any, ...]', types.NoneType: 'None'}.get(kind)
    return plain or self.class_text(kind, module) or 'Any'

  def value_text(self, value, module):
    kind = type(value)
    known = kind in (str, bytes, int, float, bool, list, dict, set, tuple, types.NoneType)
    if value is None or not known and kind.__module__.partition('.')[0] != 'leat':
      return 'Any'
    return self.type_text(kind, module)

  # Definitions ----------------------------------------------------------------------------------

  def define(self, module, name, item):
    """The lines that define it."""
    if inspect.isclass(item):
      if issubclass(item, self.message) and item is not self.message:
        if (module, name) != self._message_place(item, module)[::2]:
          return ['%s = %s' % (name, self._message_text(item, module))]
        return list(self.message_class(module, name, item))
      if (item.__module__, item.__qualname__) != (module, name):
        text = self.class_text(item, module)
        if text:
          return ['%s = %s' % (name, text)]
      return list(self.class_lines(module, name, item))
    if inspect.isfunction(item):
      return self.function_lines(module, name, item,
                                 'Any' if (module, name) in self.ragged else None)
    return ['%s: %s' % (name, self.value_text(item, module))]

  def function_lines(self, module, name, item, returned=None, decorator=None):
    returned = returned or self.returned(item, name, module)
    text = 'def %s(%s) -> %s: ...' % (name, self.parameters(item), returned)
    lines = [decorator] if decorator else []
    note = (inspect.getdoc(item) or '').split('\n\n')[0].replace('\\', '\\\\').replace('"""', "'''")
    if not note or name.startswith('__'):
      return lines + [text]
    note = ' '.join(note.split())
    return lines + [text[:-4], '  """%s"""' % (note + ' ' if note.endswith('"') else note)]

  def known_member(self, name, module):
    """The class that MEMBERS gives for a member, as the stub of `module` names it; None without."""
    if name not in MEMBERS:
      return None
    place, cls = MEMBERS[name]
    return self.class_text(getattr(importlib.import_module(place), cls), module)

  def returned(self, item, name, module):
    if name in SPECIAL:
      return SPECIAL[name]
    known = self.known_member(item.__qualname__, module)
    if known:
      return known
    inner = inspect.unwrap(item)
    if inspect.isgeneratorfunction(inner):
      return 'typing.Iterator[Any]' if inner is item else 'contextlib.AbstractContextManager[Any]'
    return self.type_text(self.returns.of(inner), module)

  def parameters(self, item):
    try:
      signature = inspect.signature(item)
    except (ValueError, TypeError):
      return '*args: Any, **kwargs: Any'
    words, star, slash = [], False, False
    for place, parameter in enumerate(signature.parameters.values()):
      name, kind = parameter.name, parameter.kind
      if slash and kind is not parameter.POSITIONAL_ONLY:
        words.append('/')
      slash = kind is parameter.POSITIONAL_ONLY
      if kind is parameter.VAR_POSITIONAL:
        words.append('*%s: Any' % name)
        star = True
      elif kind is parameter.VAR_KEYWORD:
        words.append('**%s: Any' % name)
      else:
        if kind is parameter.KEYWORD_ONLY and not star:
          words.append('*')
          star = True
        words.append(self._parameter(name, parameter, place))
    return ', '.join(words + ['/'] * slash)

  @staticmethod
  def _parameter(name, parameter, place):
    if name in ('self', 'cls') and place == 0:
      return name
    required = parameter.default is parameter.empty
    kind = (REQUIRED if required else OPTIONAL).get(name, 'Any')
    return '%s: %s%s' % (name, kind, '' if required else ' = ...')

  # Classes --------------------------------------------------------------------------------------

  def class_lines(self, module, name, item):
    if issubclass(item, tuple) and '_field_defaults' in vars(item):
      yield from self.tuple_lines(name, item)
      return
    bases = []
    for base in item.__bases__:
      text = self.class_text(base, module)
      if not text and issubclass(base, tuple) and hasattr(base, '_fields'):
        text = '_%sFields' % name
        yield from self.tuple_lines(text, base)
      if base is not object:
        bases.append(text or 'Any')
    if type(item) not in {type, enum.EnumMeta, *map(type, item.__bases__)}:
      text = self.class_text(type(item), module)
      bases.append('metaclass=' + (text or 'abc.ABCMeta'))
      self.imports[module].add('abc')
    if module == 'leat._leat' and item.__base__ is object or \
        '_%sFields' % name in bases and '__slots__' not in vars(item):
      yield '@typing_extensions.disjoint_base'
    yield 'class %s%s:' % (name, '(%s)' % ', '.join(bases) if bases else '')
    note = ' '.join((vars(item).get('__doc__') or '').split('\n\n')[0].split())
    if note:
      yield '  """%s"""' % note.replace('\\', '\\\\').replace('"', "'")
    members = list(self.members(module, item))
    if '__slots__' in vars(item):
      members.insert(0, '__slots__ = %r' % (tuple(item.__slots__),))
    for line in members:
      yield '  ' + line
    if not members:
      yield '  ...'

  @staticmethod
  def tuple_lines(name, item):
    yield 'class %s(NamedTuple):' % name
    for field in item._fields:
      yield '  %s: Any%s' % (field, ' = ...' if field in item._field_defaults else '')

  def members(self, module, item):
    for name, value in sorted(vars(item).items()):
      special = name.startswith('__') and name.endswith('__')
      if name in HIDDEN or not (public(name) or special) or \
          item is self.message and name == '__setattr__':  # it would take any name
        continue
      yield from self.member(module, item, name, value, special)
    for name in sorted(self.attributes_of_objects(item)):
      yield name + ': Any'

  def member(self, module, item, name, value, special):
    if isinstance(value, staticmethod):
      yield from self.function_lines(module, name, value.__func__, decorator='@staticmethod')
    elif isinstance(value, classmethod):
      yield from self.function_lines(module, name, value.__func__, decorator='@classmethod')
    elif isinstance(value, property):
      yield from self.property_lines(module, name, value)
    elif inspect.isfunction(value):
      operator = item is self.tensor and name in self.operators
      lines = self.function_lines(module, name, value, 'Tensor' if operator else None)
      if getattr(value, '__isabstractmethod__', False):
        self.imports[module].add('abc')
        lines.insert(0, '@abc.abstractmethod')
      yield from lines
    elif inspect.isclass(value):
      yield from self.class_lines(module, name, value) if value.__qualname__ == \
          item.__qualname__ + '.' + name else ['%s: Any' % name]
    elif issubclass(item, enum.Enum) and isinstance(value, item):
      yield '%s = %r' % (name, value.value)
    elif inspect.ismethoddescriptor(value) and not special:
      yield 'def %s(self, *args: Any, **kwargs: Any) -> Any: ...' % name
    elif name == '__hash__':
      yield '__hash__: None' if value is None else 'def __hash__(self) -> builtins.int: ...'
    elif not special:
      known = self.known_member(item.__qualname__ + '.' + name, module)
      yield '%s: %s' % (name, known or self.value_text(value, module))

  def property_lines(self, module, name, value):
    kind = self.returned(value.fget, name, module) if inspect.isfunction(value.fget) else 'Any'
    yield '@property'
    yield 'def %s(self) -> %s: ...' % (name, kind)
    if value.fset:
      yield '@%s.setter' % name
      yield 'def %s(self, value: Any) -> None: ...' % name

  @staticmethod
  def attributes_of_objects(item):
    """Names that methods of the class set in their object, and no class of it has."""
    node = syntax(item.__module__).get(item.__qualname__)
    found = set()
    for method in node.body if isinstance(node, ast.ClassDef) else ():
      for part in ast.walk(method):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and \
            isinstance(part.value, ast.Name) and part.value.id == 'self' and public(part.attr):
          found.add(part.attr)
    return {n for n in found if not hasattr(item, n)}

  SCALARS = {'string': 'builtins.str', 'bytes': 'builtins.bytes', 'bool': 'builtins.bool',
             'double': 'builtins.float', 'float': 'builtins.float'}

  def message_class(self, module, name, item):
    yield 'class %s(%s):' % (name, self.class_text(self.message, module))
    yield '  """%s"""' % item.__doc__
    words = []
    for field in item._fields:
      of = self.message_field(module, field)
      if field.label == 'singular' and field.kind != 'message':
        yield '  %s: %s' % (field.name, of)
      else:
        yield '  @property'
        yield '  def %s(self) -> %s: ...' % (field.name, of)
      words.append('%s: Any = ...' % field.name)
    yield '  def __init__(self%s) -> None: ...' % ''.join(
        [', *'] + [', ' + w for w in words] if words else [])
    for other, value in sorted(vars(item).items()):
      if public(other) and other not in item._by_name:
        if inspect.isclass(value) and issubclass(value, self.message):
          for line in self.message_class(module, other, value):
            yield '  ' + line
        elif not callable(value):
          yield '  %s: %s' % (other, self.value_text(value, module))

  def message_field(self, module, field):
    if field.label == 'map' or field.kind == 'message' and field.label != 'singular':
      return 'Any'  # lists and maps with methods of their own
    if field.kind == 'message':
      return self._message_text(self.message_of(field.type), module) or 'Any'
    kind = self.SCALARS.get(field.kind, 'builtins.int')
    return kind if field.label == 'singular' else 'builtins.list[%s]' % kind

  @staticmethod
  def message_of(name):
    from leat._graph import message
    return message.of(name)

  # Namespaces -----------------------------------------------------------------------------------

  def namespaces(self):
    """{namespace: lines}"""
    found = collections.defaultdict(list)
    for name, (module, attribute) in sorted(self.names.EXPORTS.items()):
      space, _, last = name.rpartition('.')
      item = getattr(importlib.import_module(module), attribute)
      if isinstance(item, types.ModuleType):
        found[space].append('%s: Any' % last)
        continue
      self.require(module, attribute, item)
      found[space].append('from %s import %s as %s' % (module, attribute, last))
    for name, op in sorted(self.names.ENDPOINTS.items()):
      space, _, last = name.rpartition('.')
      found[space].append(op_stub(self, op, last, positional=True,
                                  returned='Any' if name in self.names.RAGGED else None))
    for space in self.namespace._spaces - {'raw_ops'}:
      found[space] += []
      before, _, last = space.rpartition('.')
      parent = 'leat.' + before if before else 'leat'
      found[before].append('from %s import %s as %s' % (parent, last, last))
    found[''].append('from leat import raw_ops as raw_ops')
    for name, value in sorted(vars(self.leat).items()):
      if name in ('__version__', '__git_version__', '__compiler_version__', '__leat_version__') or \
          name.isupper() and public(name):
        found[''].append('%s: %s' % (name, self.value_text(value, 'leat')))
    found[''].append('def install_as_tensorflow() -> None: ...')
    found['compat.v1'] = ['from leat import *']
    return found


# ---- Ops ----------------------------------------------------------------------------------------

OPS_HEAD = '''"""Made by python/make_stubs.py from the library's registry of ops."""
# mypy: ignore-errors
import builtins
import typing

from leat._graph.dtype import DType
from leat._graph.operation import Operation
from leat._graph.tensor import Tensor


class _ArrayType(typing.Protocol):
  """numpy's dtype, which need not be installed."""
  @property
  def itemsize(self) -> int: ...
  @property
  def kind(self) -> typing.Any: ...


_DTypeLike = DType | str | int | type[typing.Any] | _ArrayType | None
'''


def op_stub(package, op, name, positional, returned=None):
  """The line that defines the wrapper of an op under that name."""
  definition = package.definitions.of(None, op)
  inputs = {a.name: a for a in definition.inputs}
  words = [] if positional else ['*']
  for parameter, argument, default in package.raw_ops._parameters(op, definition):
    attribute = definition.by_name.get(argument)
    kind = '_DTypeLike' if argument not in inputs and attribute.type == 'type' else 'typing.Any'
    words.append('%s: %s%s' % (parameter, kind, '' if default is None else ' = ...'))
  returned = returned or {
      package.tensor: 'Tensor', package.operation: 'Operation',
      list: 'builtins.list[Tensor]'}.get(package.returned_by_op(op), 'typing.Any')
  words.append('name: builtins.str | None = ...')
  return 'def %s(%s) -> %s: ...' % (name, ', '.join(words), returned)


# ---- Files --------------------------------------------------------------------------------------


def write(path, lines):
  os.makedirs(os.path.dirname(path), exist_ok=True)
  with open(path, 'w', encoding='utf-8') as f:
    f.write('\n'.join(lines) + '\n')


def main(root):
  """Writes leat-stubs into the folder `root`, which has the package."""
  root = os.path.abspath(root)
  sys.path.insert(0, root)
  package = Package()
  folder = os.path.join(root, 'leat-stubs')
  shutil.rmtree(folder, ignore_errors=True)  # of modules that are gone
  for space, lines in package.namespaces().items():
    path = os.path.join(folder, *space.split('.') if space else (), '__init__.pyi')
    write(path, HEAD.split('\n') + ['from leat._graph.operation import Operation',
                                    'from leat._graph.tensor import Tensor', ''] + sorted(lines))
  for module, defined in package.modules.items():
    parts = module.split('.')[1:]
    imports = ['import ' + name for name in sorted(package.imports[module] - {'builtins'})]
    body = [line for name in sorted(defined, key=lambda n: (n in dir(builtins), n))
            for line in defined[name]]
    path = os.path.join(folder, *parts) + '.pyi'
    write(path, HEAD.split('\n') + imports + [''] + body)
    for n in range(1, len(parts)):
      write(os.path.join(folder, *parts[:n], '__init__.pyi'), ['"""Modules of the package."""'])
  write(os.path.join(folder, 'raw_ops.pyi'), OPS_HEAD.split('\n') + [
      op_stub(package, op, op, positional=False) for op in dir(package.raw_ops)])


if __name__ == '__main__':
  main(sys.argv[1])
