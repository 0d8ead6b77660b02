"""Writes the reference of the Python API: make_reference.py FOLDER [--package BUILD/python].

FOLDER gets a page of Markdown for each namespace (tf.md, tf.nn.md, ...), which lists its names and
then says, of each: how it is called, its docstring, under which other names it is known, and where
its source is. index.md lists the pages. What has several names is described under one of them, the
shortest, and the others lead there. Nothing is written that is not in the built package, which is
imported for it: names come from its table (leat/_names.py), the rest from the objects themselves.
"""
import argparse
import ast
import collections
import functools
import importlib
import inspect
import os
import re
import sys
import types

HEAD = '<!-- Made by python/make_reference.py. -->\n'
# What is in the namespaces that programs use most; index.md says it.
ABOUT = {
    '': 'graphs, sessions, variables, and the functions that add operations',
    'app': 'the main function of a program', 'bitwise': 'bits of integers',
    'compat': 'text and bytes', 'data': 'pipelines of input', 'debugging': 'checks of values',
    'contrib.layers': 'layers, regularizers and summaries, older than tf.layers',
    'contrib.slim': 'layers with shared defaults, training loops, data sets',
    'distributions': 'probability distributions', 'errors': 'exceptions of a step',
    'estimator': 'models that are trained, evaluated and exported as a whole',
    'feature_column': 'features of examples as columns of numbers', 'flags': 'the command line',
    'gfile': 'files and folders', 'graph_util': 'extracting and freezing graphs',
    'image': 'pictures', 'initializers': 'first values of variables', 'io': 'records and parsing',
    'layers': 'layers with their variables', 'linalg': 'linear algebra', 'logging': 'messages',
    'losses': 'losses, weighted and collected', 'lookup': 'tables', 'math': 'arithmetic',
    'metrics': 'measures that add up over batches', 'nn': 'parts of neural networks',
    'nn.rnn_cell': 'cells of recurrent networks', 'profiler': 'counts of parameters and operations',
    'python_io': 'files of records', 'quantization': 'numbers in few bits',
    'ragged': 'tensors whose rows differ in length', 'random': 'random numbers',
    'raw_ops': 'every op of the library, by its own name', 'saved_model': 'exported models',
    'sets': 'sets as rows', 'signal': 'spectra, frames, windows', 'sparse': 'sparse tensors',
    'strings': 'texts', 'summary': 'what the board shows', 'test': 'tests of programs',
    'train': 'optimizers, checkpoints, sessions that recover, input queues',
}
SECTION = re.compile(r'(Args|Returns|Raises|Yields|Attributes|Example|Examples):$')
ITEM = re.compile(r'  (\*{0,2}\w+(?:, \*{0,2}\w+)*): ?(.*)$')


# ---- What the package has -----------------------------------------------------------------------


class Entry:
  """A public thing under all of its names."""

  def __init__(self, item, source):
    self.item, self.source, self.names = item, source, []

  @property
  def name(self):
    """The name that it is described under."""
    return min(self.names, key=lambda n: (n.startswith('contrib.'), n.count('.'), len(n), n))


@functools.cache
def _lines(module):
  """{name: line of its definition} in the source of a module."""
  path = inspect.getsourcefile(importlib.import_module(module))
  if path is None or not os.path.exists(path):
    return {}
  with open(path, encoding='utf-8') as f:
    tree = ast.parse(f.read())
  found = {}
  for node in tree.body:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
      found[node.name] = node.lineno
    elif isinstance(node, ast.Assign):
      for part in ast.walk(node.targets[0]):
        if isinstance(part, ast.Name):
          found.setdefault(part.id, node.lineno)
  return found


def source_of(module, attribute):
  """'python/leat/_ops/math.py:12', without the line where it is made by other means."""
  line = _lines(module).get(attribute)
  package = hasattr(importlib.import_module(module), '__path__')
  path = 'python/%s%s.py' % (module.replace('.', '/'), '/__init__' if package else '')
  return '%s:%d' % (path, line) if line else path


def entries():
  """All public things, and the ops of the library."""
  from leat import _names, _namespace, raw_ops
  found = {}
  for name, place in sorted(_names.EXPORTS.items()):
    if place not in found:
      found[place] = Entry(_namespace._find(name), source_of(*place))
    found[place].names.append(name)
  for name, op in sorted(_names.ENDPOINTS.items()):
    if op not in found:
      found[op] = Entry(_namespace._find(name), 'the op %s' % op)
    found[op].names.append(name)
  result = [e for e in found.values() if not isinstance(e.item, types.ModuleType)]
  for op in dir(raw_ops):
    entry = Entry(getattr(raw_ops, op), 'the op %s' % op)
    entry.names.append('raw_ops.' + op)
    result.append(entry)
  return result


# ---- Signatures ---------------------------------------------------------------------------------


def default_text(value):
  """The default of a parameter, as a reader would write it: objects show by their names."""
  if isinstance(value, (list, tuple)):
    inner = ', '.join(default_text(v) for v in value)
    return '[%s]' % inner if isinstance(value, list) else '(%s%s)' % (
        inner, ',' if len(value) == 1 else '')
  text = repr(value)
  if ' at 0x' not in text:
    return text
  name = getattr(value, '__qualname__', None)
  return name.split('.')[0] if name else type(value).__name__ + '()'


def signature_text(item, skip_first=False):
  """'(x, axis=None)'; '(...)' where Python does not know."""
  try:
    signature = inspect.signature(item)
  except (ValueError, TypeError):  # the default of a wrapper of an op is no literal, a type, say
    return getattr(item, '__text_signature__', None) or '(...)'
  words, star = [], False
  for place, parameter in enumerate(signature.parameters.values()):
    if skip_first and place == 0:
      continue
    if parameter.kind is parameter.VAR_POSITIONAL:
      star = True
    elif parameter.kind is parameter.KEYWORD_ONLY and not star:
      words.append('*')
      star = True
    word = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
      word = ('*' if parameter.kind is parameter.VAR_POSITIONAL else '**') + word
    elif parameter.default is not parameter.empty:
      word += '=' + default_text(parameter.default)
    words.append(word)
  return '(%s)' % ', '.join(words)


def code(text):
  """A block of code, broken after commas where it is long."""
  lines, rest = [], text
  while len(rest) > 96:
    cut = rest.rfind(', ', 0, 96)
    if cut < 0:
      break
    lines.append(rest[:cut + 1])
    rest = '    ' + rest[cut + 2:]
  return '```python\n%s\n```\n' % '\n'.join(lines + [rest])


# ---- Docstrings ---------------------------------------------------------------------------------


def escaped(text):
  """Text whose signs mean themselves."""
  return re.sub(r'([*<|\\_\[\]])', r'\\\1', text)


def prose(text):
  """Text of a docstring: what stands between backquotes, and names with a `_` in them, are code."""
  parts = re.split(r'(`[^`]*`|(?<![\w/.])[a-zA-Z][\w.]*_\w+)', text)
  return ''.join('`%s`' % p.strip('`') if n % 2 else escaped(p) for n, p in enumerate(parts))


def summary(text):
  """The first sentence or paragraph of a docstring, for a list."""
  first = ' '.join(inspect.cleandoc(text or '').split('\n\n')[0].split())
  match = re.match(r'.{20,}?[.:](?= [A-Z`])', first)
  return prose(match.group(0) if match else first)


def _section(lines):
  yield '**%s**' % lines[0].rstrip(':')
  yield ''
  for line in lines[1:]:
    item = ITEM.match(line)
    if item:
      yield '- `%s`: %s' % (item.group(1), prose(item.group(2)))
    else:
      yield '  ' + prose(line.strip())


def markdown(text):
  """A docstring as Markdown: paragraphs, `Args:` lists, examples, blocks that are indented."""
  out = []
  for block in re.split(r'\n\s*\n', inspect.cleandoc(text or '')):
    lines = block.split('\n')
    if block.startswith('>>>'):
      out += ['```python', block, '```']
    elif SECTION.match(lines[0]):
      out += _section(lines)
    elif all(line.startswith('  ') for line in lines):
      out += ['```', inspect.cleandoc(block), '```']
    else:
      out += [prose(line.strip()) for line in lines]
    out.append('')
  return '\n'.join(out)


# ---- Pages --------------------------------------------------------------------------------------


def anchor(name):
  return name.rpartition('.')[2]


def is_method(member):
  """Whether what a class has under a name is called, with an object or without."""
  return inspect.isroutine(getattr(member, '__func__', member))


def page_of(name):
  space = name.rpartition('.')[0]
  return 'tf.%s.md' % space if space else 'tf.md'


class Reference:
  """The pages by their names in the folder."""

  def __init__(self):
    from leat._graph.message import Message
    self.message = Message
    self.entries = entries()
    self.classes = {e.item: e for e in self.entries if inspect.isclass(e.item)}
    self.spaces = collections.defaultdict(list)
    for entry in self.entries:
      for name in entry.names:
        self.spaces[name.rpartition('.')[0]].append((anchor(name), name, entry))

  def pages(self):
    """{file: text}"""
    found = {'index.md': self.index()}
    for space in self.spaces:
      found[page_of(space + '.' if space else 'x')] = self.page(space)
    return found

  def index(self):
    lines = [HEAD, '# The reference of `leat`, imported as `tf`\n',
             '| | names | |', '|---|---|---|']
    for space in sorted(self.spaces):
      full = 'tf.' + space if space else 'tf'
      lines.append('| [%s](%s.md) | %d | %s |' % (full, full, len(self.spaces[space]),
                                                ABOUT.get(space, '')))
    return '\n'.join(lines) + '\n'

  def page(self, space):
    full = 'tf.' + space if space else 'tf'
    lines = [HEAD, '# %s\n' % full]
    if space in ABOUT:
      lines.append(ABOUT[space][0].upper() + ABOUT[space][1:] + '.\n')
    lines += ['[All pages](index.md)\n', '| | |', '|---|---|']
    own = sorted(self.spaces[space], key=lambda row: (row[0].lower(), row[0]))
    for last, _, entry in own:
      lines.append('| [%s](%s#%s) | %s |' % (escaped(last), '' if page_of(entry.name) ==
                   '%s.md' % full else page_of(entry.name), anchor(entry.name),
                   self.line(entry)))
    for _, name, entry in own:
      if name == entry.name:
        lines += ['', *self.entry(entry)]
    return '\n'.join(lines) + '\n'

  def is_message(self, item):
    return inspect.isclass(item) and issubclass(item, self.message) and item is not self.message

  def line(self, entry):
    """What the list of names says of it."""
    if inspect.isclass(entry.item) or inspect.isroutine(entry.item):
      return summary(entry.item.__doc__)
    return self.value(entry.item)

  @staticmethod
  def value(item):
    text = repr(item)
    return '`%s`' % text.replace('|', '\\|') if len(text) < 60 and '0x' not in text else \
        'of the type `%s`' % type(item).__name__

  def entry(self, entry):
    item, full = entry.item, 'tf.' + entry.name
    yield '## <a id="%s"></a>%s\n' % (anchor(entry.name), escaped(full))
    if self.is_message(item):
      yield from self.message_body(item)
    elif inspect.isclass(item):
      yield from self.class_body(full, item)
    elif inspect.isroutine(item):
      yield code(full + signature_text(item))
      yield markdown(item.__doc__)
    else:
      yield self.value(item) + '\n'
    others = [n for n in entry.names if n != entry.name]
    if others:
      yield 'Also: %s.\n' % ', '.join('`tf.%s`' % n for n in others)
    yield '\nSource: %s.' % (entry.source if entry.source.startswith('the op') else
                           '`%s`' % entry.source)

  def message_body(self, item):
    yield markdown(item.__doc__)
    yield '| field | type |\n|---|---|'
    for field in item.DESCRIPTOR.fields:
      yield '| %s | %s |' % (escaped(field.name), escaped(self.field_type(field)))
    yield ''

  def field_type(self, field):
    """'repeated string', 'map of string to int32', ..."""
    from leat._graph import message
    if field.label == 'map':
      entry = message.of(field.type)._by_name
      return 'map of %s to %s' % tuple(self.field_type(entry[n]) for n in ('key', 'value'))
    kind = field.type if field.kind in ('message', 'enum') and field.type else field.kind
    return kind if field.label == 'singular' else '%s %s' % (field.label, kind)

  def class_body(self, full, item):
    yield code(full + signature_text(item))
    yield markdown(vars(item).get('__doc__'))
    bases = [self.classes[b] for b in item.__mro__[1:] if b in self.classes]
    if bases:
      yield 'A kind of %s.\n' % ', '.join(
          '[tf.%s](%s#%s)' % (escaped(b.name), page_of(b.name), anchor(b.name)) for b in bases)
    # What has a value comes first, and then what is called.
    for owner, name, value in sorted(self.members(item), key=lambda row: is_method(row[2])):
      yield from self.member(full, owner, name, value)

  def members(self, item):
    """(class, name, what it is) of what the class has, and no public class above it has."""
    inherited = {n for b in item.__mro__[1:] if b in self.classes for n in vars(b)}
    seen = set()
    for owner in item.__mro__:
      if owner.__module__.partition('.')[0] != 'leat' or owner is not item and \
          owner in self.classes:
        continue
      binding = owner.__module__ == 'leat._leat'  # whose methods are for the package alone
      for name, value in sorted(vars(owner).items()):
        if name.startswith('_') or name.endswith('_') or name in seen or \
            owner is not item and name in inherited or \
            binding and not inspect.isgetsetdescriptor(value):
          continue
        seen.add(name)
        yield owner, name, value

  def member(self, full, owner, name, value):
    function = getattr(value, '__func__', value)
    if isinstance(value, property) or inspect.isdatadescriptor(value):
      text = inspect.getdoc(value)
      yield '- **`%s`**%s' % (name, ': ' + prose(' '.join(text.split())) if text else '')
    elif is_method(value):
      yield '\n#### %s.%s\n' % (escaped(full), escaped(name))
      yield code(name + signature_text(function, not isinstance(value, staticmethod)))
      yield markdown(inspect.getdoc(getattr(owner, name, function)))
    elif not inspect.isclass(value):
      yield '- **`%s`** = %s' % (name, self.value(value))


def write(folder):
  """Writes all pages -> how many."""
  os.makedirs(folder, exist_ok=True)
  pages = Reference().pages()
  for name, text in pages.items():
    with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
      f.write(re.sub(r'\n{3,}', '\n\n', text))
  return len(pages)


def main():
  parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
  parser.add_argument('folder')
  parser.add_argument('--package', help='the folder to import leat from')
  arguments = parser.parse_args()
  if arguments.package:
    sys.path.insert(0, arguments.package)
  print('%d pages in %s' % (write(arguments.folder), arguments.folder))


if __name__ == '__main__':
  main()
