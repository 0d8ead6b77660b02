"""The wire form of protocol messages: fields, varints, scalars, by the library's descriptors."""
from __future__ import annotations

import struct

from leat import _leat

_loaded = []


def tables():
  """{'messages': {name: fields}, 'enums': {name: {value: number}}} of the library."""
  if not _loaded:
    import json
    _loaded.append(json.loads(_leat.messages_json()))
  return _loaded[0]


def define(message, fields):
  """Adds a message that the library does not have; its fields are listed as the library does."""
  tables()['messages'].setdefault(message, fields)


class Field:
  """A field of a message, by its descriptor."""
  __slots__ = ('name', 'number', 'kind', 'label', 'type', 'oneof', 'tag', 'wire', 'default')

  def __init__(self, name, number, kind, label, type_name, oneof):
    self.name, self.number, self.kind, self.label = name, number, kind, label
    self.type, self.oneof = type_name, oneof
    self.wire = {'double': 1, 'fixed64': 1, 'sfixed64': 1, 'float': 5, 'fixed32': 5, 'sfixed32': 5,
                 'string': 2, 'bytes': 2, 'message': 2}.get(kind, 0)
    self.tag = varint(number << 3 | (2 if label == 'packed' else self.wire))
    self.default = '' if kind == 'string' else b'' if kind == 'bytes' else False \
        if kind == 'bool' else 0.0 if kind in ('float', 'double') else 0

  def takes(self, wire):
    """Whether a value of that form on the wire is one of the field's."""
    return wire == self.wire or wire == 2 and self.label in ('repeated', 'packed')


def varint(value):
  if value < 128:
    return bytes((value,))
  out = bytearray()
  while value > 127:
    out.append(value & 127 | 128)
    value >>= 7
  out.append(value)
  return bytes(out)


def read_varint(data, at):
  byte = data[at]
  if byte < 128:
    return byte, at + 1
  value, shift = byte & 127, 7
  at += 1
  while True:
    if shift > 63:
      raise IndexError('a varint has more than 10 bytes')
    byte = data[at]
    at += 1
    value |= (byte & 127) << shift
    if byte < 128:
      return value & 0xffffffffffffffff, at
    shift += 7


STRUCTS = {'double': struct.Struct('<d'), 'float': struct.Struct('<f'),
            'fixed32': struct.Struct('<I'), 'fixed64': struct.Struct('<Q'),
            'sfixed32': struct.Struct('<i'), 'sfixed64': struct.Struct('<q')}
SIGNED = ('int32', 'int64', 'enum')


def encode_scalar(kind, value):
  if kind in STRUCTS:
    return STRUCTS[kind].pack(value)
  if kind == 'string':
    value = value.encode('utf-8', 'surrogateescape')
    return varint(len(value)) + value
  if kind == 'bytes':
    return varint(len(value)) + value
  if kind in ('sint32', 'sint64'):
    value = value << 1 ^ value >> 63
  return varint(int(value) & 0xffffffffffffffff)


def of_varint(kind, value):
  if kind in SIGNED:
    value = value - (1 << 64) if value >> 63 else value
    return value if kind == 'int64' else (value + 2 ** 31) % 2 ** 32 - 2 ** 31
  if kind == 'bool':
    return value != 0
  if kind == 'uint32':
    return value & 0xffffffff
  if kind in ('sint32', 'sint64'):
    return value >> 1 ^ -(value & 1)
  return value


def checked(field, value):
  """`value` in the form that a field keeps; TypeError or ValueError where it does not fit."""
  kind = field.kind
  if kind == 'string':
    if isinstance(value, bytes):
      return value.decode('utf-8')
    if not isinstance(value, str):
      raise TypeError('bad argument type for built-in operation: %s is %r, must be str' %
                      (field.name, value))
    return value
  if kind == 'bytes':
    if isinstance(value, (str, int)):
      raise TypeError('%s is %r, must be bytes' % (field.name, value))
    return bytes(value)
  if kind in ('float', 'double'):
    if isinstance(value, (str, bytes)):
      raise TypeError('%s is %r, must be a number' % (field.name, value))
    value = float(value)
    return STRUCTS['float'].unpack(STRUCTS['float'].pack(value))[0] if kind == 'float' and \
        abs(value) < 3.4e38 else value
  if kind == 'bool':
    return bool(value)
  if kind == 'enum' and isinstance(value, str):
    return tables()['enums'][field.type][value]
  if isinstance(value, (str, bytes, float)):
    raise TypeError('%s is %r, must be an integer' % (field.name, value))
  value = int(value)
  low, high = {'int32': (-2 ** 31, 2 ** 31), 'enum': (-2 ** 31, 2 ** 31), 'uint32': (0, 2 ** 32),
               'uint64': (0, 2 ** 64), 'fixed32': (0, 2 ** 32),
               'fixed64': (0, 2 ** 64)}.get(kind, (-2 ** 63, 2 ** 63))
  if not low <= value < high:
    raise ValueError('Value out of range: %d' % value)
  return value
