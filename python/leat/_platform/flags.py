"""tf.app and tf.flags: options of the command line, parsed when the first is read."""
from __future__ import annotations

import argparse
import sys

from leat._export import export


class Error(Exception):
  """What is wrong with the flags of a program."""


class IllegalFlagValueError(Error):
  """A value that a flag does not take."""


class UnrecognizedFlagError(Error):
  """A flag that was not defined."""


class DuplicateFlagError(Error):
  """A flag that is defined twice."""


class _Parser(argparse.ArgumentParser):
  def error(self, message):
    raise IllegalFlagValueError(message)


class _Several(argparse.Action):
  """The values of all times that an option is given, which take the place of its default."""

  def __call__(self, parser, namespace, values, option_string=None):
    former = getattr(namespace, self.dest)
    setattr(namespace, self.dest, [values] if former is self.default else former + [values])


class _Flags:
  """The values of the flags by their names: `tf.flags.FLAGS.batch_size`. The command line is parsed
  when the first value is read, or by tf.app.run."""

  def __init__(self):
    self.__dict__.update(_parser=_Parser(allow_abbrev=False), _defaults={}, _aliases={},
                         _values={}, _parsed=False, _unparsed=[], _required=set(), _checks=[])

  def _define(self, name, default, docstring, convert, several=False):
    if name in self._defaults:
      raise DuplicateFlagError("The flag '%s' is defined twice." % name)
    if several:
      self._parser.add_argument('--' + name, default=default, type=convert, help=docstring,
                                action=_Several)
    elif convert is _bool:
      self._parser.add_argument('--' + name, nargs='?', const=True, default=default,
                                type=_bool, help=docstring)
      self._parser.add_argument('--no' + name, action='store_false', dest=name, default=default)
    else:
      self._parser.add_argument('--' + name, default=default, type=convert, help=docstring)
    self._defaults[name] = default
    self._values.setdefault(name, default)

  def _alias(self, name, original):
    self._aliases[name] = original

  def _set_default(self, name, value):
    if name not in self._defaults:
      raise UnrecognizedFlagError("Unknown command line flag '%s'" % name)
    if self._values.get(name) == self._defaults[name]:
      self._values[name] = value
    self._defaults[name] = value
    self._parser.set_defaults(**{name: value})

  def _renamed(self, argument):
    """An argument of the command line with the name that an alias stands for."""
    name, mark, value = argument.lstrip('-').partition('=')
    if argument.startswith('-') and name in self._aliases:
      return '--' + self._aliases[name] + mark + value
    return argument

  def _parse(self, arguments=None, known_only=False):
    found, rest = self._parser.parse_known_args(
        [self._renamed(a) for a in (sys.argv[1:] if arguments is None else arguments)])
    unknown = [a for a in rest if a.startswith('-') and a not in ('-', '--')]
    if unknown and not known_only:
      raise UnrecognizedFlagError("Unknown command line flag '%s'" %
                                  unknown[0].lstrip('-').partition('=')[0])
    for name in self._required:
      if getattr(found, name) is None:
        raise IllegalFlagValueError('Flag --%s must have a value other than None.' % name)
    for names, checker, message in self._checks:
      if not checker({n: getattr(found, n) for n in names}):
        raise IllegalFlagValueError('flags %s: %s' % (', '.join(
            '%s=%s' % (n, getattr(found, n)) for n in names), message))
    self._values.update(vars(found))
    self.__dict__['_parsed'] = True
    self.__dict__['_unparsed'] = rest
    return rest

  def __call__(self, argv, known_only=False):
    return [argv[0]] + self._parse(list(argv[1:]), known_only)

  def __getattr__(self, name):
    if name.startswith('__'):
      raise AttributeError(name)
    if not self.__dict__['_parsed']:
      self._parse()
    name = self._aliases.get(name, name)
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


def _bounded(convert, low, high):
  """`convert`, with an error where the number is not between the bounds that are given."""
  def checked(text):
    value = convert(text)
    if low is not None and value < low or high is not None and value > high:
      raise argparse.ArgumentTypeError('%s is not in [%s, %s]' % (text, low, high))
    return value
  return checked


def DEFINE_string(flag_name, default_value, docstring='', **unused):
  """Defines the option --flag_name of the command line, a text. Its value is
  `tf.flags.FLAGS.<flag_name>`: default_value where the option is not given. `docstring` is what
  --help says. DuplicateFlagError where the name is taken."""
  FLAGS._define(flag_name, default_value, docstring, str)


def DEFINE_integer(flag_name, default_value, docstring='', lower_bound=None,
                   upper_bound=None, **unused):
  """Defines the option --flag_name, an integer, within the bounds that are given; otherwise as
  DEFINE_string. A value that is none raises IllegalFlagValueError when the flags are parsed."""
  FLAGS._define(flag_name, default_value, docstring, _bounded(int, lower_bound, upper_bound))


def DEFINE_float(flag_name, default_value, docstring='', lower_bound=None, upper_bound=None,
                 **unused):
  """Defines the option --flag_name, a number, within the bounds that are given; otherwise as
  DEFINE_integer."""
  FLAGS._define(flag_name, default_value if default_value is None else float(default_value),
                docstring, _bounded(float, lower_bound, upper_bound))


def DEFINE_boolean(flag_name, default_value, docstring='', **unused):
  """Defines the options --flag_name, --flag_name=false and --noflag_name; otherwise as
  DEFINE_string."""
  FLAGS._define(flag_name, default_value, docstring, _bool)


def DEFINE_enum(flag_name, default_value, enum_values, docstring='', **unused):
  """Defines the option --flag_name, one of the texts in enum_values; otherwise as DEFINE_string."""
  def one_of(text):
    if text not in enum_values:
      raise argparse.ArgumentTypeError('%s should be one of <%s>' % (text, '|'.join(enum_values)))
    return text
  FLAGS._define(flag_name, default_value, docstring, one_of)


def DEFINE_list(flag_name, default_value, docstring='', **unused):
  """Defines the option --flag_name, texts with commas between them, whose value is a list;
  otherwise as DEFINE_string."""
  split = lambda text: [t.strip() for t in text.split(',')] if text else []
  FLAGS._define(flag_name, split(default_value) if isinstance(default_value, str) else
                default_value, docstring, split)


def DEFINE_enum_class(flag_name, default_value, enum_class, docstring='', case_sensitive=False,
                      **unused):
  """Defines the option --flag_name, the name of a member of an enum, which is its value; otherwise
  as DEFINE_string."""
  members = {n if case_sensitive else n.lower(): m for n, m in enum_class.__members__.items()}

  def member(text):
    found = members.get(text if case_sensitive else text.lower())
    if found is None:
      raise argparse.ArgumentTypeError('%s should be one of <%s>' % (text, '|'.join(members)))
    return found
  default = member(default_value) if isinstance(default_value, str) else default_value
  FLAGS._define(flag_name, default, docstring, member)


def DEFINE_spaceseplist(flag_name, default_value, docstring='', comma_compat=False, **unused):
  """Defines the option --flag_name, texts with spaces between them; otherwise as DEFINE_list."""
  split = lambda text: (text.replace(',', ' ') if comma_compat else text).split()
  FLAGS._define(flag_name, split(default_value) if isinstance(default_value, str) else
                default_value, docstring, split)


def _define_several(flag_name, default_value, docstring, convert):
  """An option that may be given several times; its value is a list."""
  if default_value is not None:
    items = [default_value] if isinstance(default_value, (str, int, float)) else default_value
    default_value = [convert(i) if isinstance(i, str) else i for i in items]
  FLAGS._define(flag_name, default_value, docstring, convert, several=True)


def DEFINE_multi_string(flag_name, default_value, docstring='', **unused):
  """Defines the option --flag_name, which may be given several times: a list of texts."""
  _define_several(flag_name, default_value, docstring, str)


def DEFINE_multi_integer(flag_name, default_value, docstring='', lower_bound=None,
                         upper_bound=None, **unused):
  """Defines the option --flag_name, which may be given several times: a list of integers."""
  _define_several(flag_name, default_value, docstring, _bounded(int, lower_bound, upper_bound))


def DEFINE_multi_float(flag_name, default_value, docstring='', lower_bound=None, upper_bound=None,
                       **unused):
  """Defines the option --flag_name, which may be given several times: a list of numbers."""
  _define_several(flag_name, default_value, docstring, _bounded(float, lower_bound, upper_bound))


def DEFINE_multi_enum(flag_name, default_value, enum_values, docstring='', **unused):
  """Defines the option --flag_name, which may be given several times: a list of texts of
  enum_values."""
  def one_of(text):
    if text not in enum_values:
      raise argparse.ArgumentTypeError('%s should be one of <%s>' % (text, '|'.join(enum_values)))
    return text
  _define_several(flag_name, default_value, docstring, one_of)


def DEFINE_alias(name, original_name, **unused):
  """Lets --name mean --original_name."""
  FLAGS._alias(name, original_name)


def mark_flag_as_required(flag_name, **unused):
  """Parsing the flags raises IllegalFlagValueError where that flag has no value."""
  FLAGS._required.add(flag_name)


def mark_flags_as_required(flag_names, **unused):
  """mark_flag_as_required of several flags."""
  FLAGS._required.update(flag_names)


def register_validator(flag_name, checker, message='Flag validation failed', **unused):
  """Parsing the flags raises IllegalFlagValueError where checker(value of the flag) is false."""
  FLAGS._checks.append(([flag_name], lambda values: checker(values[flag_name]), message))


def register_multi_flags_validator(flag_names, multi_flags_checker,
                                   message='Flags validation failed', **unused):
  """Parsing the flags raises IllegalFlagValueError where the checker of {name: value} is false."""
  FLAGS._checks.append((list(flag_names), multi_flags_checker, message))


def validator(flag_name, message='Flag validation failed', **unused):
  """Decorates the function that checks a flag, as register_validator takes it."""
  def mark(checker):
    register_validator(flag_name, checker, message)
    return checker
  return mark


def multi_flags_validator(flag_names, message='Flag validation failed', **unused):
  """Decorates the function that checks several flags."""
  def mark(checker):
    register_multi_flags_validator(flag_names, checker, message)
    return checker
  return mark


def mark_flags_as_mutual_exclusive(flag_names, required=False, **unused):
  """Parsing the flags raises IllegalFlagValueError where more than one of them has a value, or,
  with `required`, none."""
  def checker(values):
    count = sum(v is not None for v in values.values())
    return count == 1 or not required and count == 0
  register_multi_flags_validator(flag_names, checker, '%s one of (%s) must have a value' % (
      'Exactly' if required else 'At most', ', '.join(flag_names)))


def mark_bool_flags_as_mutual_exclusive(flag_names, required=False, **unused):
  """The same for flags that are True."""
  def checker(values):
    count = sum(bool(v) for v in values.values())
    return count == 1 or not required and count == 0
  register_multi_flags_validator(flag_names, checker, '%s one of (%s) must be True' % (
      'Exactly' if required else 'At most', ', '.join(flag_names)))


def set_default(flag, value):
  """Gives a flag, by its name or as FLAGS[name], another default."""
  FLAGS._set_default(getattr(flag, 'name', flag), value)


def adopt_module_key_flags(module, **unused):
  """All flags of a process are key flags here."""


declare_key_flag = disclaim_key_flags = adopt_module_key_flags


DEFINE_bool = DEFINE_boolean
EXPORTS = {prefix + n: n for prefix in ('flags.', 'app.flags.') for n in (
    'FLAGS', 'DEFINE_string', 'DEFINE_integer', 'DEFINE_float', 'DEFINE_boolean', 'DEFINE_bool',
    'DEFINE_enum', 'DEFINE_list', 'mark_flag_as_required', 'Error', 'IllegalFlagValueError',
    'UnrecognizedFlagError', 'DuplicateFlagError', 'DEFINE_enum_class', 'DEFINE_spaceseplist',
    'DEFINE_multi_string', 'DEFINE_multi_integer', 'DEFINE_multi_float', 'DEFINE_multi_enum',
    'DEFINE_alias', 'mark_flags_as_required', 'register_validator', 'validator', 'set_default',
    'register_multi_flags_validator', 'multi_flags_validator', 'mark_flags_as_mutual_exclusive',
    'mark_bool_flags_as_mutual_exclusive', 'adopt_module_key_flags', 'declare_key_flag',
    'disclaim_key_flags')}


@export('app.run')
def run(main=None, argv=None):
  """Parses the flags, calls main(rest of the command line) and ends the program with what it
  returns. Without `main` it is the function of that name in the program."""
  argv = sys.argv if argv is None else argv
  try:
    rest = FLAGS([argv[0]] + list(argv[1:]), known_only=True)
  except Error as error:
    raise SystemExit('FATAL Flags parsing error: %s' % error) from None
  main = main or sys.modules['__main__'].main
  sys.exit(main(rest))
