"""Protocol messages (GraphDef, ConfigProto, ...) as Python objects.

The classes are made of the library's descriptors when they are first asked for. A message that is
read stays bytes until one of its fields is looked at, and so does each message in it: to hand on a
GraphDef, or to look at a few of its nodes, costs what is looked at.

A message knows its parent: to change a field of a message inside another makes the inner one
present, and chooses it where it is the member of a oneof.
"""
from __future__ import annotations

import struct

from leat._graph import message_fields
from leat._graph.message_summaries import docstring_of
from leat._graph.wire import (STRUCTS, Field, checked, encode_scalar, of_varint, read_varint,
                              tables, varint)

EXPORTS = {n: n.rpartition('.')[2] for n in (
    'GraphDef', 'NodeDef', 'AttrValue', 'NameAttrList', 'ConfigProto', 'GPUOptions',
    'GraphOptions', 'OptimizerOptions', 'RunOptions', 'RunMetadata', 'Event', 'Summary',
    'HistogramProto', 'LogMessage', 'SessionLog', 'MetaGraphDef', 'SummaryMetadata',
    'TensorInfo', 'train.CheckpointState', 'train.SaverDef', 'train.ClusterDef', 'train.ServerDef',
    'train.JobDef', 'train.Example', 'train.SequenceExample', 'train.Feature', 'train.Features',
    'train.FeatureList', 'train.FeatureLists', 'train.BytesList', 'train.FloatList',
    'train.Int64List', 'train.QueueRunnerDef', 'summary.Summary', 'summary.Event',
    'summary.SessionLog', 'summary.TaggedRunMetadata')}


# ---- Messages -----------------------------------------------------------------------------------


class _Descriptor:
  def __init__(self, full_name, fields):
    self.full_name, self.name = full_name, full_name.rpartition('.')[2]
    self.fields = fields
    self.fields_by_name = {f.name: f for f in fields}


class Message:
  """The base of all messages."""
  __slots__ = ('_raw', '_values', '_parent', '_set', '_unknown', '__weakref__')

  def __init__(self, **values):
    self._raw, self._values, self._parent, self._set = None, {}, None, False
    self._unknown = b''   # fields that the message type does not have, as they came
    for name, value in values.items():
      field = self._by_name.get(name)
      if field is None:
        raise ValueError("Protocol message %s has no \"%s\" field." %
                         (self.DESCRIPTOR.name, name))
      if value is None:
        continue
      if field.label == 'map':
        getattr(self, name).MergeFrom(value)
      elif field.label != 'singular':
        getattr(self, name).extend(value)
      elif field.kind == 'message':
        if isinstance(value, dict):
          value = of(field.type)(**value)
        getattr(self, name).CopyFrom(value)
      else:
        setattr(self, name, value)

  def _touch(self):
    """The message was changed: it is present in its parent."""
    self._set = True
    parent = self._parent
    if parent is not None:
      if type(parent) is tuple:
        owner, field = parent
        owner._choose(field)
        owner._touch()
      else:
        parent._touch()

  def _choose(self, field):
    """Clears the other members of the field's oneof."""
    if field.oneof >= 0:
      for other in self._fields:
        if other.oneof == field.oneof and other is not field:
          self._values.pop(other.name, None)

  def _get(self, field):
    if self._raw is not None:
      self._decode()
    value = self._values.get(field.name)
    if value is not None:
      return value
    if field.label == 'map':
      value = message_fields.Map()._bind(self, field)
    elif field.label != 'singular':
      made = message_fields.Messages if field.kind == 'message' else message_fields.Scalars
      value = made()._bind(self, field)
    elif field.kind == 'message':
      value = of(field.type)()
      value._parent = (self, field)
    else:
      return field.default
    self._values[field.name] = value
    return value

  def _assign(self, field, value):
    if self._raw is not None:
      self._decode()
    if field.label != 'singular' or field.kind == 'message':
      raise AttributeError('Assignment not allowed to %s field "%s" in protocol message object.' % (
          'message' if field.label == 'singular' else 'repeated', field.name))
    value = checked(field, value)
    self._choose(field)
    self._values[field.name] = value
    self._touch()

  def __setattr__(self, name, value):
    field = self._by_name.get(name)
    if field is not None:
      self._assign(field, value)
    elif name in Message.__slots__:
      object.__setattr__(self, name, value)
    else:
      raise AttributeError('Assignment not allowed (no field "%s" in protocol message object).' %
                           name)

  def _present(self, field):
    value = self._values.get(field.name)
    if value is None:
      return False
    if field.label != 'singular':
      return bool(value)
    if field.kind == 'message':
      return value._set
    return field.oneof >= 0 or value != field.default or value.__class__ is float and \
        str(value) == '-0.0'

  # Decoding -----------------------------------------------------------------------------------

  def _decode(self):
    data, self._raw = self._raw, None
    try:
      self._decode_into(data)
    except DecodeError:
      self._raw, self._values, self._unknown = data, {}, b''   # the next look fails too
      raise

  def _decode_into(self, data):
    try:
      self._decode_fields(data)
    except (IndexError, struct.error):
      raise DecodeError("Error parsing message with type '%s': it is truncated" %
                        self.DESCRIPTOR.full_name) from None

  def _decode_fields(self, data):
    at, end, values = 0, len(data), self._values
    by_number = self._by_number
    while at < end:
      start = at
      tag, at = read_varint(data, at)
      field, wire = by_number.get(tag >> 3), tag & 7
      if wire == 0:
        raw, at = read_varint(data, at)
      elif wire == 2:
        size, at = read_varint(data, at)
        if at + size > end:
          raise DecodeError('Error parsing message: it is truncated')
        raw = data[at:at + size]
        at += size
      elif wire in (1, 5):
        size = 8 if wire == 1 else 4
        if at + size > end:
          raise DecodeError('Error parsing message: it is truncated')
        raw = data[at:at + size]
        at += size
      if wire not in (0, 1, 2, 5) or tag < 8:
        raise DecodeError("Error parsing message with type '%s'" % self.DESCRIPTOR.full_name)
      if field is None or not field.takes(wire):
        self._unknown += data[start:at]
        continue
      if field.label == 'singular':
        if field.oneof >= 0:
          self._choose(field)
        if field.kind == 'message':
          self._decode_message(field, raw)
        else:
          values[field.name] = self._decode_scalar(field, wire, raw)
      elif field.label == 'map':
        entry = of(field.type)()
        entry._raw = raw
        key = entry.key
        if entry._by_name['value'].kind == 'message':
          item = entry.value
          item._parent, item._set = self, True
          dict.__setitem__(self._get(field), key, item)
        else:
          dict.__setitem__(self._get(field), key, entry.value)
      elif field.kind == 'message':
        item = of(field.type)()
        item._raw, item._parent, item._set = raw, self, True
        list.append(self._get(field), item)
      else:
        self._decode_list(field, wire, raw)

  def _decode_message(self, field, raw):
    known = self._values.get(field.name)
    if known is not None and known._set:
      known.MergeFromString(raw)
      return
    item = of(field.type)()
    item._raw, item._parent, item._set = raw, (self, field), True
    self._values[field.name] = item

  @staticmethod
  def _decode_scalar(field, wire, raw):
    if wire == 0:
      return of_varint(field.kind, raw)
    if field.kind == 'string':
      return raw.decode('utf-8', 'surrogateescape')
    if field.kind == 'bytes':
      return raw
    return STRUCTS[field.kind].unpack(raw)[0]

  def _decode_list(self, field, wire, raw):
    items = self._get(field)
    if wire != 2 or field.kind in ('string', 'bytes'):
      list.append(items, self._decode_scalar(field, wire, raw))
    elif field.kind in STRUCTS:
      size = STRUCTS[field.kind].size
      letter = STRUCTS[field.kind].format[1:]
      list.extend(items, struct.unpack('<%d%s' % (len(raw) // size, letter), raw))
    else:
      at, end = 0, len(raw)
      while at < end:
        value, at = read_varint(raw, at)
        list.append(items, of_varint(field.kind, value))

  # Encoding -----------------------------------------------------------------------------------

  def _encode(self, out, canonical):
    if self._raw is not None:
      if not canonical:
        out.append(self._raw)
        return
      self._decode()
    for field in self._fields:
      if not self._present(field):
        continue
      value = self._values[field.name]
      if field.label == 'map':
        key_field, value_field = value._key, value._value
        for key in sorted(value):
          entry = [key_field.tag, encode_scalar(key_field.kind, key)]
          item = value[key]
          if value_field.kind == 'message':
            data = item._bytes(canonical)
            entry += [value_field.tag, varint(len(data)), data]
          else:
            entry += [value_field.tag, encode_scalar(value_field.kind, item)]
          data = b''.join(entry)
          out += [field.tag, varint(len(data)), data]
      elif field.kind == 'message':
        for item in value if field.label != 'singular' else (value,):
          data = item._bytes(canonical)
          out += [field.tag, varint(len(data)), data]
      elif field.label == 'packed':
        data = b''.join([encode_scalar(field.kind, v) for v in value])
        out += [field.tag, varint(len(data)), data]
      elif field.label == 'repeated':
        for item in value:
          out += [field.tag, encode_scalar(field.kind, item)]
      else:
        out += [field.tag, encode_scalar(field.kind, value)]
    if self._unknown:
      out.append(self._unknown)

  def _bytes(self, canonical=False):
    out = []
    self._encode(out, canonical)
    return b''.join(out)

  # What programs call ---------------------------------------------------------------------------

  def SerializeToString(self, deterministic=True):
    del deterministic
    return self._bytes()

  SerializePartialToString = SerializeToString

  def ParseFromString(self, data):
    self.Clear()
    return self.MergeFromString(data)

  def MergeFromString(self, data):
    data = bytes(data)
    if self._raw is None and not self._values:
      self._raw = data
      self._decode()   # errors show here; messages inside wait
    else:
      if self._raw is not None:
        self._decode()
      self._decode_into(data)
    self._touch()
    return len(data)

  @classmethod
  def FromString(cls, data):
    message = cls()
    message.ParseFromString(data)
    return message

  def Clear(self):
    self._raw, self._values, self._unknown = None, {}, b''
    self._touch()

  def CopyFrom(self, other):
    if other is self:
      return
    self._check_class(other)
    data = other._bytes()
    self._values, self._raw, self._unknown = {}, data, b''
    self._touch()

  def MergeFrom(self, other):
    self._check_class(other)
    self.MergeFromString(other._bytes())

  def _check_class(self, other):
    if not isinstance(other, type(self)):
      raise TypeError('Parameter to CopyFrom() must be instance of same class: expected %s got %s.'
                      % (self.DESCRIPTOR.full_name, type(other).__name__))

  def SetInParent(self):
    self._touch()

  def IsInitialized(self):
    return True

  def ByteSize(self):
    return len(self._bytes())

  def _field(self, name):
    field = self._by_name.get(name)
    if field is None:
      raise ValueError('Protocol message %s has no field %s.' % (self.DESCRIPTOR.name, name))
    if self._raw is not None:
      self._decode()
    return field

  def HasField(self, name):
    if name not in self._by_name and name == self._oneof_name():
      return self.WhichOneof(name) is not None
    return self._present(self._field(name))

  def ClearField(self, name):
    field = self._field(name)
    self._values.pop(field.name, None)
    self._touch()

  def WhichOneof(self, name):
    """The member that is set, of the oneof `name`."""
    if name != self._oneof_name():
      raise ValueError('Protocol message %s has no oneof "%s" field.' % (
          self.DESCRIPTOR.name, name))
    if self._raw is not None:
      self._decode()
    for field in self._fields:
      if field.oneof >= 0 and self._present(field):
        return field.name
    return None

  def _oneof_name(self):
    return _ONEOFS.get(self.DESCRIPTOR.full_name.partition('.')[2])

  def ListFields(self):
    if self._raw is not None:
      self._decode()
    return [(f, self._get(f)) for f in self._fields if self._present(f)]

  def __eq__(self, other):
    if not isinstance(other, Message) or type(self) is not type(other):
      return NotImplemented
    return self._bytes(True) == other._bytes(True)

  __hash__ = None

  def __str__(self):
    """The text form; maps begin with their last key, as the protobuf package (upb) has it."""
    from leat._graph import message_text
    return message_text.of(self, last_key_first=True)

  __repr__ = __str__

  def __deepcopy__(self, memo):
    copy = type(self)()
    copy.CopyFrom(self)
    return copy

  __copy__ = lambda self: self.__deepcopy__(None)

  def __reduce__(self):
    return _unpickle, (self.DESCRIPTOR.full_name, self._bytes())


# The descriptors number the oneofs of a message, of which none has two, and do not name them.
_ONEOFS = {'AttrValue': 'value', 'CollectionDef': 'kind', 'Event': 'what', 'Feature': 'kind',
           'FullTypeDef': 'attr', 'HParamDef.HParamType': 'kind', 'SavedObject': 'kind',
           'StructuredValue': 'kind', 'Summary.Value': 'value', 'TensorInfo': 'encoding',
           'TensorSliceProto.Extent': 'has_length', 'serving.Signature': 'type'}


class DecodeError(Exception):
  """Bytes that are no message of the type."""


def _unpickle(name, data):
  return of(name).FromString(data)


# ---- Classes ------------------------------------------------------------------------------------

_classes = {}


def _full_name(name):
  table = tables()['messages']
  for candidate in (name, 'tensorflow.' + name, 'tensorflow.eager.' + name):
    if candidate in table:
      return candidate
  raise KeyError(name)


def _property(field):
  return property(lambda self: self._get(field))


def of(name):
  """The class of a message, by its name with or without 'tensorflow.'."""
  found = _classes.get(name)
  if found is not None:
    return found
  full = _full_name(name)
  if full in _classes:
    found = _classes[name] = _classes[full]
    return found
  fields = sorted((Field(*f) for f in tables()['messages'][full]), key=lambda f: f.number)
  items = {'__slots__': (), '_fields': fields, '_by_name': {f.name: f for f in fields},
           '_by_number': {f.number: f for f in fields}, 'DESCRIPTOR': _Descriptor(full, fields),
           '__module__': 'leat', '__doc__': docstring_of(full)}
  if full == 'google.protobuf.Any':
    from leat._graph import any_message
    items.update(any_message.METHODS)
  for field in fields:
    items[field.name] = _property(field)
    items[field.name.upper() + '_FIELD_NUMBER'] = field.number
  for enum, values in tables()['enums'].items():
    if enum.rpartition('.')[0] == full:
      items.update(values)
      items[enum.rpartition('.')[2]] = _Enum(enum, values)
  found = _classes[full] = _classes[name] = type(full.rpartition('.')[2], (Message,), items)
  for other in list(tables()['messages']):
    if other.rpartition('.')[0] == full and not other.endswith('_entry'):
      setattr(found, other.rpartition('.')[2], of(other))
  return found


class _Enum:
  """Names and numbers of an enum."""

  def __init__(self, name, values):
    self.DESCRIPTOR = type('EnumDescriptor', (), {'full_name': name})
    self._by_name = values
    self.__dict__.update(values)

  def Name(self, number):
    for name, value in self._by_name.items():
      if value == number:
        return name
    raise ValueError('Enum has no name defined for value %r' % number)

  def Value(self, name):
    return self._by_name[name]

  def keys(self):
    return list(self._by_name)

  def values(self):
    return list(self._by_name.values())

  def items(self):
    return list(self._by_name.items())


def __getattr__(name):
  if name.startswith('_'):
    raise AttributeError(name)
  try:
    return of(name)
  except KeyError:
    raise AttributeError("no message '%s'" % name) from None
