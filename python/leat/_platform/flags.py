"""tf.app and tf.flags: options of the command line, parsed when the first is read."""
from __future__ import annotations

import argparse
import sys

from leat._export import export


class _Flags:
  """tf.flags.FLAGS: the values by name."""

  def __init__(self):
    self.__dict__.update(_parser=argparse.ArgumentParser(allow_abbrev=False), _defaults={},
                         _values={}, _parsed=False, _unparsed=[], _required=set())

  def _define(self, name, default, docstring, convert):
    if convert is _bool:
      self._parser.add_argument('--' + name, nargs='?', const=True, default=default,
                                type=_bool, help=docstring)
      self._parser.add_argument('--no' + name, action='store_false', dest=name, default=default)
    else:
      self._parser.add_argument('--' + name, default=default, type=convert, help=docstring)
    self._defaults[name] = default
    self._values.setdefault(name, default)

  def _parse(self, arguments=None):
    found, rest = self._parser.parse_known_args(sys.argv[1:] if arguments is None else arguments)
    self._values.update(vars(found))
    self.__dict__['_parsed'] = True
    self.__dict__['_unparsed'] = rest
    return rest

  def __call__(self, argv, known_only=False):
    del known_only
    return [argv[0]] + self._parse(list(argv[1:]))

  def __getattr__(self, name):
    if name.startswith('__'):
      raise AttributeError(name)
    if not self.__dict__['_parsed']:
      self._parse()
    try:
      return self._values[name]
    except KeyError:
      raise AttributeError(name) from None

  def __setattr__(self, name, value):
    if not self._parsed:
      self._parse()
    self._values[name] = value

  def __contains__(self, name):
    return name in self._defaults

  def __iter__(self):
    return iter(self._defaults)

  def __getitem__(self, name):
    return type('Flag', (), {'value': getattr(self, name), 'default': self._defaults[name],
                             'name': name})()

  def __delattr__(self, name):
    self._defaults.pop(name, None)
    self._values.pop(name, None)

  def mark_as_parsed(self):
    self.__dict__['_parsed'] = True

  def is_parsed(self):
    return self._parsed

  def flag_values_dict(self):
    return {n: getattr(self, n) for n in self._defaults}


def _bool(text):
  if isinstance(text, bool):
    return text
  if text.lower() in ('true', 't', '1', 'yes'):
    return True
  if text.lower() in ('false', 'f', '0', 'no'):
    return False
  raise argparse.ArgumentTypeError('%r is no truth value' % text)


FLAGS = _Flags()


def DEFINE_string(flag_name, default_value, docstring='', **unused):
  FLAGS._define(flag_name, default_value, docstring, str)


def DEFINE_integer(flag_name, default_value, docstring='', **unused):
  FLAGS._define(flag_name, default_value, docstring, int)


def DEFINE_float(flag_name, default_value, docstring='', **unused):
  FLAGS._define(flag_name, default_value if default_value is None else float(default_value),
                docstring, float)


def DEFINE_boolean(flag_name, default_value, docstring='', **unused):
  FLAGS._define(flag_name, default_value, docstring, _bool)


def DEFINE_enum(flag_name, default_value, enum_values, docstring='', **unused):
  del enum_values
  FLAGS._define(flag_name, default_value, docstring, str)


def DEFINE_list(flag_name, default_value, docstring='', **unused):
  split = lambda text: [t.strip() for t in text.split(',')] if text else []
  FLAGS._define(flag_name, split(default_value) if isinstance(default_value, str) else
                default_value, docstring, split)


def mark_flag_as_required(flag_name):
  FLAGS._required.add(flag_name)


DEFINE_bool = DEFINE_boolean
EXPORTS = {prefix + n: n for prefix in ('flags.', 'app.flags.') for n in (
    'FLAGS', 'DEFINE_string', 'DEFINE_integer', 'DEFINE_float', 'DEFINE_boolean', 'DEFINE_bool',
    'DEFINE_enum', 'DEFINE_list', 'mark_flag_as_required')}


@export('app.run')
def run(main=None, argv=None):
  """Parses the flags, calls main(rest of the command line) and ends the program."""
  argv = sys.argv if argv is None else argv
  rest = FLAGS([argv[0]] + list(argv[1:]))
  for name in FLAGS._required:
    if FLAGS._values.get(name) is None:
      raise SystemExit('Flag --%s must have a value other than None.' % name)
  main = main or sys.modules['__main__'].main
  sys.exit(main(rest))
