"""The text form of messages, as protocol buffers print it."""
from __future__ import annotations

from leat import _leat
from leat._graph.wire import STRUCTS, tables


def for_file(message, as_text):
  """What a file of a message holds: its bytes, or the bytes of its text, which the library prints
  with the keys of maps in order."""
  data = message.SerializeToString()
  return _leat.message_to_text(message.DESCRIPTOR.full_name.partition('.')[2], data) if as_text \
      else data


def parse(kind, data, path):
  """The message that the text `data`, of the file `path`, stands for; OSError where it is
  malformed."""
  from leat._graph import message
  try:
    return message.of(kind).FromString(_leat.message_from_text(kind, data))
  except _leat.StatusError as error:
    raise OSError('Cannot parse file %s: %s.' % (path, error.args[1])) from None


def of(message, last_key_first=False):
  """The text of a message. Maps are printed in the order of their keys, or in that of
  _last_text_first."""
  lines = []
  _print(message, '', lines, last_key_first)
  return ''.join(lines)


_ESCAPES = {byte: '\\%03o' % byte for byte in range(256) if not 32 <= byte < 127}
_ESCAPES.update({ord('\n'): '\\n', ord('\r'): '\\r', ord('\t'): '\\t'})
_ESCAPES.update({ord(char): '\\' + char for char in '"\'\\'})


def _quoted(data):
  if isinstance(data, str):
    data = data.encode('utf-8', 'surrogateescape')
  return '"%s"' % data.decode('latin-1').translate(_ESCAPES)


def _scalar_text(field, value):
  if field.kind in ('string', 'bytes'):
    return _quoted(value)
  if field.kind == 'bool':
    return 'true' if value else 'false'
  if field.kind == 'enum':
    for name, number in tables()['enums'][field.type].items():
      if number == value:
        return name
    return str(value)
  if field.kind in ('float', 'double'):
    if value != value:
      return 'nan'
    if value in (float('inf'), float('-inf')):
      return 'inf' if value > 0 else '-inf'
    for digits in range(6, 10) if field.kind == 'float' else (15, 16, 17):
      text = '%.*g' % (digits, value)
      back = float(text)
      if field.kind == 'float':
        back = STRUCTS['float'].unpack(STRUCTS['float'].pack(back))[0]
      if back == value:
        break
    return text
  return str(value)


def _last_text_first(key):
  """Sorts texts by falling bytes, but one that another begins with before that one, as protocol
  buffers print the keys of a map; numbers rise."""
  return [-byte for byte in key.encode()] if isinstance(key, str) else key


def _print(message, indent, lines, last_key_first):
  for field, value in message.ListFields():
    if field.label == 'map':
      for key in sorted(value, key=_last_text_first if last_key_first else None):
        lines.append('%s%s {\n%s  key: %s\n' % (indent, field.name, indent,
                                                _scalar_text(value._key, key)))
        if value._value.kind == 'message':
          lines.append('%s  value {\n' % indent)
          _print(value[key], indent + '    ', lines, last_key_first)
          lines.append('%s  }\n%s}\n' % (indent, indent))
        else:
          lines.append('%s  value: %s\n%s}\n' % (indent, _scalar_text(value._value, value[key]),
                                                 indent))
      continue
    for item in value if field.label != 'singular' else (value,):
      if field.kind == 'message':
        lines.append('%s%s {\n' % (indent, field.name))
        _print(item, indent + '  ', lines, last_key_first)
        lines.append('%s}\n' % indent)
      else:
        lines.append('%s%s: %s\n' % (indent, field.name, _scalar_text(field, item)))
