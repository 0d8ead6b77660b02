"""HParams: named values that a program takes from a text ('learning_rate=0.1,units=[3,4]'), a JSON
object or a message; each keeps the type that it was first given."""
from __future__ import annotations

import json
import numbers
import re

from leat._export import export

_ASSIGNMENT = re.compile(r'(?P<name>[a-zA-Z][\w.]*)(\[\s*(?P<index>\d+)\s*\])?\s*=\s*'
                         r'((?P<value>[^,\[]*)|\[(?P<items>[^\]]*)\])($|,\s*)')


def _bool(text):
  if text in ('true', 'True'):
    return True
  if text in ('false', 'False'):
    return False
  return bool(int(text))


def _parsed(kind, text, name, values):
  try:
    return _bool(text) if kind is bool else kind(text)
  except ValueError:
    raise ValueError("Could not parse hyperparameter '%s' of type '%s' from '%s' in %s" % (
        name, kind.__name__, text, values)) from None


def _assign_item(found, name, index, value, values):
  """found[name][index] = value, where neither has a value."""
  items = found.setdefault(name, {})
  if not isinstance(items, dict):
    raise ValueError("Multiple assignments to variable '%s' in %s" % (name, values))
  if index in items:
    raise ValueError("Multiple assignments to variable '%s[%d]' in %s" % (name, index, values))
  items[index] = value


@export('contrib.training.parse_values')
def parse_values(values, type_map, ignore_unknown=False):
  """{name: value} of a text 'name=value,name=[value,value],name[index]=value'. The values have the
  types of `type_map`; those of a name with indices are {index: value}. ValueError where the text is
  malformed, assigns twice, or has another name (unless `ignore_unknown`)."""
  found, position = {}, 0
  while position < len(values):
    match = _ASSIGNMENT.match(values, position)
    if match is None:
      raise ValueError('Malformed hyperparameter value: %s' % values[position:])
    position = match.end()
    name, index, text, items = (match.group(n) for n in ('name', 'index', 'value', 'items'))
    if name not in type_map:
      if ignore_unknown:
        continue
      raise ValueError('Unknown hyperparameter type for %s' % name)
    kind = type_map[name]
    if index is not None:
      if items is not None:
        raise ValueError('Assignment of a list to a list index.')
      _assign_item(found, name, int(index), _parsed(kind, text, name, values), values)
      continue
    if name in found:
      raise ValueError("Multiple assignments to variable '%s' in %s" % (name, values))
    if items is not None:
      found[name] = [_parsed(kind, t, name, values) for t in re.split('[ ,]', items) if t]
    else:
      found[name] = _parsed(kind, text, name, values)
  return found


def _cast(name, kind, value):
  """The value as one of that type; ValueError where it would lose something."""
  text = isinstance(value, (str, bytes))
  fits = kind is type(None) or issubclass(kind, (str, bytes)) == text
  if issubclass(kind, bool):
    fits = isinstance(value, bool)
  elif issubclass(kind, numbers.Number) and isinstance(value, bool):
    fits = False
  elif issubclass(kind, numbers.Integral):
    fits = isinstance(value, numbers.Integral)
  elif issubclass(kind, float):
    fits = isinstance(value, numbers.Number)
  if not fits:
    raise ValueError("Could not cast hyperparameter '%s' of type '%s' from value %r" % (
        name, kind, value))
  if kind is type(None):
    return value
  return value.decode() if kind is str and isinstance(value, bytes) else kind(value)


def _field(kind):
  """The beginning of the names of the fields of a message that keep a type."""
  for base, field in ((bool, 'bool'), (int, 'int64'), (str, 'bytes'), (bytes, 'bytes'),
                      (float, 'float')):
    if issubclass(kind, base):
      return field
  raise ValueError('Unsupported parameter type: %s' % kind)


@export('contrib.training.HParams')
class HParams:
  """Hyperparameters as attributes. A value is a number, a bool, a text, or a list of these."""

  def __init__(self, hparam_def=None, model_structure=None, **kwargs):
    self._hparam_types = {}
    self._model_structure = model_structure
    if hparam_def is not None:
      self._init_from_proto(hparam_def)
    else:
      for name, value in kwargs.items():
        self.add_hparam(name, value)

  def _init_from_proto(self, hparam_def):
    from leat._contrib.training.hparam_message import hparam_def as message_class
    assert isinstance(hparam_def, message_class()), 'hparam_def must be an HParamDef'
    text = lambda value: value.decode() if isinstance(value, bytes) else value
    for name, value in hparam_def.hparam.items():
      kind = value.WhichOneof('kind')
      found = getattr(value, kind)
      if kind.endswith('_list'):
        self.add_hparam(name, [text(v) for v in found.value])
      else:
        self.add_hparam(name, text(found))

  def add_hparam(self, name, value):
    """A new one; its value says its type."""
    if getattr(self, name, None) is not None:
      raise ValueError('Hyperparameter name is reserved: %s' % name)
    if isinstance(value, (list, tuple)):
      if not value:
        raise ValueError('Multi-valued hyperparameters cannot be empty: %s' % name)
      self._hparam_types[name] = (type(value[0]), True)
    else:
      self._hparam_types[name] = (type(value), False)
    setattr(self, name, value)

  def set_hparam(self, name, value):
    """Another value of the same type."""
    kind, is_list = self._hparam_types[name]
    if isinstance(value, list):
      if not is_list:
        raise ValueError('Must not pass a list for single-valued parameter: %s' % name)
      value = [_cast(name, kind, v) for v in value]
    elif is_list:
      raise ValueError('Must pass a list for multi-valued parameter: %s.' % name)
    else:
      value = _cast(name, kind, value)
    setattr(self, name, value)

  def del_hparam(self, name):
    if hasattr(self, name):
      delattr(self, name)
      del self._hparam_types[name]

  def parse(self, values):
    """Takes values from a text; see parse_values. ValueError where a name is not there."""
    types = {name: kind for name, (kind, _) in self._hparam_types.items()}
    try:
      found = parse_values(values, types)
    except ValueError as error:
      if str(error).startswith('Unknown hyperparameter type for '):
        raise ValueError('Unknown hyperparameter: %s in %s' % (
            str(error).rpartition(' ')[2], values)) from None
      raise
    return self.override_from_dict(found)

  def override_from_dict(self, values_dict):
    for name, value in values_dict.items():
      self.set_hparam(name, value)
    return self

  set_from_map = override_from_dict

  def set_model_structure(self, model_structure):
    self._model_structure = model_structure

  def get_model_structure(self):
    return self._model_structure

  def to_json(self, indent=None, separators=None, sort_keys=False):
    """The values as a JSON object; functions are left out."""
    def plain(x):
      if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items() if not callable(v)}
      return [plain(v) for v in x if not callable(v)] if isinstance(x, list) else x
    return json.dumps(plain(self.values()), indent=indent, separators=separators,
                      sort_keys=sort_keys)

  def parse_json(self, values_json):
    return self.override_from_dict(json.loads(values_json))

  def values(self):
    """{name: value}."""
    return {name: getattr(self, name) for name in self._hparam_types}

  def get(self, key, default=None):
    """The value, or `default` where there is none, which must have the type of the value."""
    if key not in self._hparam_types:
      return default
    if default is not None:
      kind, is_list = self._hparam_types[key]
      text = "Hparam '%s' of type '%s' is incompatible with default=%s" % (
          key, 'list<%s>' % kind if is_list else kind, default)
      if isinstance(default, list) != is_list:
        raise ValueError(text)
      try:
        for item in default if is_list else [default]:
          _cast(key, kind, item)
      except ValueError as error:
        raise ValueError('%s. %s' % (text, error)) from None
    return getattr(self, key)

  def to_proto(self, export_scope=None):
    """An HParamDef."""
    del export_scope
    from leat._contrib.training.hparam_message import hparam_def
    made = hparam_def()()
    for name, (kind, is_list) in self._hparam_types.items():
      value = getattr(self, name)
      encoded = lambda v: v.encode() if isinstance(v, str) else v
      field = _field(kind)
      if is_list:
        getattr(made.hparam[name], field + '_list').value.extend([encoded(v) for v in value])
      else:
        setattr(made.hparam[name], field + '_value', encoded(value))
    return made

  @staticmethod
  def from_proto(hparam_def, import_scope=None):
    del import_scope
    return HParams(hparam_def=hparam_def)

  def __contains__(self, key):
    return key in self._hparam_types

  def __str__(self):
    return str(sorted(self.values().items()))

  def __repr__(self):
    return '%s(%s)' % (type(self).__name__, self)
