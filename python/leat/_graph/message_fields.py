"""Repeated fields and maps of messages. They tell their message of changes, which makes it present
in the one that holds it."""
from __future__ import annotations

from leat._graph import message
from leat._graph.wire import checked


class Scalars(list):
  """A repeated field of scalars."""
  __slots__ = ('_owner', '_field')

  def _bind(self, owner, field):
    self._owner, self._field = owner, field
    return self

  def append(self, value):
    list.append(self, checked(self._field, value))
    self._owner._touch()

  def extend(self, values):
    list.extend(self, [checked(self._field, v) for v in values or ()])
    self._owner._touch()

  def insert(self, index, value):
    list.insert(self, index, checked(self._field, value))
    self._owner._touch()

  def __setitem__(self, key, value):
    if isinstance(key, slice):
      value = [checked(self._field, v) for v in value]
    else:
      value = checked(self._field, value)
    list.__setitem__(self, key, value)
    self._owner._touch()

  def MergeFrom(self, other):
    self.extend(other)

  def __deepcopy__(self, memo):
    return list(self)

  def __reduce__(self):
    return list, (list(self),)


class Messages(list):
  """A repeated field of messages."""
  __slots__ = ('_owner', '_field')

  def _bind(self, owner, field):
    self._owner, self._field = owner, field
    return self

  def add(self, **values):
    item = message.of(self._field.type)(**values)
    item._parent = self._owner
    list.append(self, item)
    self._owner._touch()
    return item

  def append(self, value):
    if not isinstance(value, message.of(self._field.type)):
      raise TypeError('Parameter to append() must be an instance of %s, not %s' %
                      (self._field.type, type(value).__name__))
    self.add().CopyFrom(value)

  def extend(self, values):
    for value in list(values):
      self.append(value)
    self._owner._touch()

  MergeFrom = extend

  def __setitem__(self, key, value):
    raise TypeError('items of a repeated message cannot be assigned')

  def __deepcopy__(self, memo):
    return [m.__deepcopy__(memo) for m in self]


class Map(dict):
  """A map; one of messages makes what is asked for."""
  __slots__ = ('_owner', '_key', '_value')

  def _bind(self, owner, field):
    entry = message.of(field.type)
    self._owner, self._key, self._value = owner, entry._by_name['key'], entry._by_name['value']
    return self

  def __missing__(self, key):
    key = checked(self._key, key)
    if self._value.kind == 'message':
      item = message.of(self._value.type)()
      item._parent = self._owner
      dict.__setitem__(self, key, item)
      self._owner._touch()
      return item
    value = self._value.default
    dict.__setitem__(self, key, value)
    return value

  def get_or_create(self, key):
    return self[key]

  def __setitem__(self, key, value):
    if self._value.kind == 'message':
      raise ValueError('May not set values directly, call my_map[key].foo = 5')
    dict.__setitem__(self, checked(self._key, key), checked(self._value, value))
    self._owner._touch()

  def update(self, other):
    for key, value in other.items():
      self[key] = value

  def MergeFrom(self, other):
    for key, value in other.items():
      if self._value.kind == 'message':
        self[key].CopyFrom(value)
      else:
        self[key] = value
