"""Namespaces of the API: leat.nn, leat.train, ... and how a name in them is found.

A public name is an item of a module of ours (`_names.EXPORTS`), the wrapper of an op
(`_names.ENDPOINTS`), or a namespace, which is whatever stands before a dot in another public name.
Each is made when it is first asked for, and kept in its namespace.
"""
import importlib
import importlib.machinery
import sys
import types

from leat import _leat


def versions():
  return _leat.version()


_spaces = set()


def _inner(path):
  """The namespace for an inner module of TensorFlow (leat/_inner.py), None where there is none."""
  if path.partition('.')[0] not in ('python', 'contrib', 'core', 'models'):
    return None
  from leat import _inner as inner
  return inner.space_of(path, _spaces)


def _names():
  """The module of names; while the package is being made it is not there yet."""
  try:
    from leat import _names as names
  except ImportError:
    names = types.ModuleType('leat._names')
    names.EXPORTS, names.RAGGED, names.ENDPOINTS, names.PARAMETERS = {}, {}, {}, {}
    return names
  if not _spaces:
    for table in (names.EXPORTS, names.ENDPOINTS):
      for name in table:
        while '.' in name:
          name = name.rpartition('.')[0]
          _spaces.add(name)
    _spaces.update(('compat', 'compat.v1', 'raw_ops'))
  return names


def _find(name):
  """The item of that public name. KeyError where there is none."""
  names = _names()
  place = names.EXPORTS.get(name)
  op = names.ENDPOINTS.get(name)
  if place is not None:
    item = getattr(importlib.import_module(place[0]), place[1])
  elif op is not None:
    from leat import raw_ops
    item = raw_ops.wrapper(op, name.rpartition('.')[2])
  elif name in _spaces:
    return importlib.import_module('leat.' + name)
  else:
    raise KeyError(name)
  ragged = names.RAGGED.get(name)
  return item if ragged is None else _with_ragged(item, *ragged)


def _find_module(path):
  """The namespace or inner module of that path. KeyError where there is none."""
  if path not in _spaces and _inner(path) is None:
    raise KeyError(path)
  return importlib.import_module('leat.' + path)


def _find_inner(path, space, full, name):
  """The item of the inner module at `path`, which stands for `space`."""
  from leat import _inner as inner
  public = inner.public_name(path, name)
  if public is not None:
    return _find(public)
  return _first((lambda: inner.find(space, name), lambda: _find(full), lambda: _find(name),
                 lambda: vars(sys.modules['leat'])[name]))


def _first(finds):
  """What the first of the functions gives that does not raise KeyError."""
  for find in finds:
    try:
      return find()
    except KeyError:
      pass
  raise KeyError


_wrapped = {}


def _with_ragged(item, module, attribute, around):
  """The function, which calls that of the module when an argument is ragged; one for all names."""
  found = _wrapped.get(item)
  if found is None:
    from leat._ops.ragged import dispatch
    found = _wrapped[item] = dispatch.with_ragged(
        item, lambda: getattr(importlib.import_module(module), attribute), around)
  return found


class Namespace(types.ModuleType):
  """A module whose items are public names with a common beginning."""

  def __init__(self, name, prefix):
    super().__init__(name, 'Public names of TensorFlow 1: %s.' % (prefix or 'all'))
    self.__path__ = []
    self.__dict__['_prefix'] = prefix

  def __getattr__(self, name):
    if name.startswith('__'):
      raise AttributeError(name)
    prefix = self.__dict__['_prefix']
    full = prefix + '.' + name if prefix else name
    try:
      item = self._find(full, name)
    except KeyError:
      raise AttributeError("leat has no '%s'" % full) from None
    self.__dict__[name] = item
    return item

  def _find(self, full, name):
    path = self.__name__.partition('.')[2]
    module = lambda: _find_module(path + '.' + name)
    if path == self._prefix or path.startswith('contrib.'):
      return _first((lambda: _find(full), module))
    return _first((lambda: _find(path + '.' + name), module,   # an inner module
                   lambda: _find_inner(path, self._prefix, full, name)))

  def __dir__(self):
    return members(self.__dict__['_prefix'])


def members(prefix):
  """The names in a namespace."""
  names = _names()
  start = prefix + '.' if prefix else ''
  return sorted({n[len(start):].partition('.')[0] for table in (names.EXPORTS, names.ENDPOINTS)
                 for n in table if n.startswith(start)})


def getter(module, prefix):
  """__getattr__ of the package itself."""
  def __getattr__(name):
    if name.startswith('_'):
      raise AttributeError(name)
    try:
      item = _first((lambda: _find(prefix + name), lambda: _find_module(prefix + name)))
    except KeyError:
      raise AttributeError("module '%s' has no attribute '%s'" % (module, name)) from None
    setattr(sys.modules[module], name, item)
    return item
  return __getattr__


def lister(items, prefix):
  return lambda: sorted(set(n for n in items if not n.startswith('_')) | set(members(prefix)))


class _Finder:
  """Finds `leat.nn` and, once installed, `tensorflow.nn`, for import statements."""

  def __init__(self):
    self.roots = {'leat': ''}

  def find_spec(self, fullname, path=None, target=None):
    del path, target
    root, _, rest = fullname.partition('.')
    if root not in self.roots or rest.startswith('_'):
      return None  # our own modules are files
    _names()
    if root != 'leat':
      return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
    space = rest.removeprefix('compat.v1.')
    if _inner(rest) is not None or space in _spaces and space != 'raw_ops':
      return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
    return None

  def create_module(self, spec):
    root, _, rest = spec.name.partition('.')
    if root != 'leat':
      return importlib.import_module('leat.' + rest if rest else 'leat')
    if rest == 'compat.v1':
      return Namespace(spec.name, '')
    inner = _inner(rest)
    if inner is not None:
      return Namespace(spec.name, inner)
    if rest.startswith('compat.v1.'):
      return importlib.import_module('leat.' + rest.removeprefix('compat.v1.'))
    return Namespace(spec.name, rest)

  def exec_module(self, module):
    pass


_finder = _Finder()
sys.meta_path.append(_finder)


def install(root):
  """Lets `import <root>` give this package."""
  _finder.roots[root] = ''
  sys.meta_path.remove(_finder)
  sys.meta_path.insert(0, _finder)
  sys.modules[root] = sys.modules['leat']
