"""Makes the Python package in the build tree: make_package.py SOURCES PACKAGE.

SOURCES is the folder python/ of the source tree. In PACKAGE (build/python/leat, where the extension
lies already) it puts
  - a link to each source of python/leat/,
  - _names.py: where each public name is defined, read from the `@export(...)` and `EXPORTS = {...}`
    of the sources, and the wrappers of ops that are public, read from endpoints.txt; a source's
    `ALIASES = {...}` gives further names to what has a public name already, or to all names with a
    common beginning ('contrib.slim.*': 'contrib.layers.*'),
and beside it leat-stubs, the signatures for type checkers and editors (make_stubs.py).
"""
import ast
import gc
import os
import sys

import make_stubs


def link_sources(source, package):
  """Links the files of the tree, and takes links away whose file is gone."""
  wanted = set()
  for folder, folders, files in os.walk(source):
    folders[:] = [f for f in folders if f != '__pycache__']
    below = os.path.relpath(folder, source)
    for name in files:
      if name.endswith(('.py', '.pyi', '.typed')):
        wanted.add(os.path.normpath(os.path.join(below, name)))
  for name in wanted:
    link, target = os.path.join(package, name), os.path.join(source, name)
    os.makedirs(os.path.dirname(link), exist_ok=True)
    if not os.path.islink(link) or os.readlink(link) != target:
      if os.path.lexists(link):
        os.remove(link)
      os.symlink(target, link)
  for folder, _, files in os.walk(package):
    for name in files:
      path = os.path.join(folder, name)
      if os.path.islink(path) and os.path.normpath(os.path.relpath(path, package)) not in wanted:
        os.remove(path)
  return sorted(wanted)


def exports_of(path, module, ragged):
  """({public name: (module, attribute)}, {further public name: public name}) of a source; adds to
  `ragged` what is called in place of public functions when an argument is ragged
  (_ops/ragged/dispatch.py)."""
  found, aliases = {}, {}
  with open(path, encoding='utf-8') as f:
    tree = ast.parse(f.read(), path)
  for node in tree.body:
    for mark in getattr(node, 'decorator_list', ()):
      if isinstance(mark, ast.Call) and getattr(mark.func, 'id', '') == 'export':
        for argument in mark.args:
          found[argument.value] = (module, node.name)
      elif isinstance(mark, ast.Call) and getattr(mark.func, 'id', '') in ('for_ragged', 'around'):
        for argument in mark.args:
          for name in argument.value.split():
            ragged[name] = (module, node.name, mark.func.id == 'around')
    if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == 'EXPORTS':
      for public, attribute in _pairs(node.value, path):
        found[public] = (module, attribute)
    if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == 'ALIASES':
      aliases.update(_pairs(node.value, path))
    if isinstance(node, ast.Assign) and getattr(node.targets[0], 'id', '') == 'RAGGED':
      for public, attribute in _pairs(node.value, path):
        ragged[public] = (module, attribute, False)
  return found, aliases


def add_aliases(aliases, exports, public):
  """Gives further names to functions of ours and to wrappers of ops."""
  for name, target in sorted(aliases.items(), key=lambda item: item[0].endswith('*')):
    if target.endswith('.*'):
      for known, place in list(exports.items()):
        if known.startswith(target[:-1]):
          exports.setdefault(name[:-1] + known[len(target) - 1:], place)
    elif target in exports:
      exports[name] = exports[target]
    elif target in public:
      public[name] = public[target]
    else:
      raise SystemExit('%s: no public name %s' % (name, target))


def _pairs(value, path):
  if isinstance(value, ast.Dict):
    return list(ast.literal_eval(value).items())
  if isinstance(value, ast.DictComp):  # {f(name): name for name in (...)}
    code = compile(ast.fix_missing_locations(ast.Expression(value)), path, 'eval')
    return list(eval(code, {'__builtins__': {}}).items())  # the source is ours
  raise SystemExit('%s: EXPORTS and ALIASES must be dicts' % path)


def endpoints(path):
  """({public name: op}, {op: parameters as text}) of endpoints.txt."""
  public, parameters = {}, {}
  with open(path, encoding='utf-8') as f:
    for line in f:
      if line.startswith('#') or not line.strip():
        continue
      op, names, words = (line.rstrip('\n').split('\t') + ['', ''])[:3]
      for name in names.split(','):
        if name:
          public[name] = op
      if words:
        parameters[op] = words
  return public, parameters


def write_names(package, exports, ragged, public, parameters):
  lines = ['"""Made by python/make_package.py from the sources; where public names are."""', '',
           'EXPORTS = {']
  lines += ['  %r: %r,' % item for item in sorted(exports.items())]
  lines += ['}', 'RAGGED = {']
  lines += ['  %r: %r,' % item for item in sorted(ragged.items())]
  lines += ['}', 'ENDPOINTS = {']
  lines += ['  %r: %r,' % item for item in sorted(public.items()) if item[0] not in exports]
  lines += ['}', 'PARAMETERS = {']
  lines += ['  %r: %r,' % item for item in sorted(parameters.items())]
  lines += ['}', '']
  with open(os.path.join(package, '_names.py'), 'w', encoding='utf-8') as f:
    f.write('\n'.join(lines))


def main():
  sources, package = sys.argv[1:]
  gc.disable()  # it would look at millions of syntax nodes that stay: a third of all time
  exports, aliases, ragged = {}, {}, {}
  for name in link_sources(os.path.join(sources, 'leat'), package):
    if name.endswith('.py'):
      module = 'leat.' + name[:-3].replace(os.sep, '.')
      found, further = exports_of(os.path.join(sources, 'leat', name), module,
                                  ragged)
      for public, place in found.items():
        if exports.setdefault(public, place) != place:
          raise SystemExit('%s is defined twice, in %s and %s' % (public, exports[public], place))
      aliases.update(further)
  public, parameters = endpoints(os.path.join(sources, 'endpoints.txt'))
  add_aliases(aliases, exports, public)
  write_names(package, exports, ragged, public, parameters)
  make_stubs.main(os.path.dirname(package))


if __name__ == '__main__':
  main()
