"""Names of devices, in whole or in part, and how nested requests for them are merged."""
from __future__ import annotations

import functools

from leat._export import export


_short = {'CPU', 'GPU', 'SIM', 'TPU'}   # the types that "/TYPE:0" names without "device:"


def add_types(types):
  """Makes names of devices of plug-ins' `types` short ones too."""
  _short.update(types)
  _canonical.cache_clear()
  merge.cache_clear()


@export('DeviceSpec')
class DeviceSpec:
  """Parts of a device's name: job, replica, task, type and index; each may be None."""
  __slots__ = ('job', 'replica', 'task', 'device_type', 'device_index')

  def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
    self.job = job
    self.replica = None if replica is None else int(replica)
    self.task = None if task is None else int(task)
    self.device_type = device_type if device_type is None or device_type.upper() not in (
        'CPU', 'GPU') else device_type.upper()
    self.device_index = None if device_index is None else int(device_index)

  @staticmethod
  def from_string(spec):
    return DeviceSpec().parse_from_string(spec)

  def parse_from_string(self, spec):
    """Sets the parts that `spec` has; ValueError where it is malformed."""
    self.__init__()
    parts = [part.split(':') for part in (spec or '').split('/')]
    try:
      for part in parts:
        key, count = part[0], len(part)
        if key == 'job' and count == 2:
          self.job = part[1]
        elif key == 'replica' and count == 2:
          self.replica = int(part[1])
        elif key == 'task' and count == 2:
          self.task = int(part[1])
        elif count in (1, 2) and key.upper() in _short:
          self._device(spec, key.upper(), part[1] if count == 2 else '*')
        elif key == 'device' and count in (2, 3):
          self._device(spec, part[1], part[2] if count == 3 else '*')
        elif key and key != '':
          raise ValueError("Unknown attribute: '%s' in '%s'" % (key, spec))
    except ValueError as error:
      if 'invalid literal' in str(error):
        raise ValueError("Unknown attribute: '%s'" % spec) from None
      raise
    return self

  def _device(self, spec, kind, index):
    if self.device_type is not None:
      raise ValueError('Cannot specify multiple device types: %s' % spec)
    self.device_type = kind
    self.device_index = None if index == '*' else int(index)

  def merge_from(self, other):
    """Takes over the parts that `other` has."""
    for part in ('job', 'replica', 'task', 'device_type'):
      value = getattr(other, part)
      if value is not None:
        setattr(self, part, value)
    if other.device_type is not None or other.device_index is not None:
      if other.device_index is not None:
        self.device_index = other.device_index

  def to_string(self):
    text = ''
    if self.job is not None:
      text += '/job:' + self.job
    if self.replica is not None:
      text += '/replica:%d' % self.replica
    if self.task is not None:
      text += '/task:%d' % self.task
    if self.device_type is not None:
      text += '/device:%s:%s' % (self.device_type,
                                 '*' if self.device_index is None else self.device_index)
    return text

  def __eq__(self, other):
    return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

  def __hash__(self):
    return hash(self.to_string())


def canonical(device):
  """The text of a device given as a text, a DeviceSpec or None."""
  if device is None:
    return ''
  if hasattr(device, 'to_string'):
    return device.to_string()
  return _canonical(device)


@functools.lru_cache(maxsize=1000)
def _canonical(text):
  return DeviceSpec.from_string(text).to_string() if text else ''


@functools.lru_cache(maxsize=1000)
def merge(outer, inner):
  """The device that is asked for by `inner` inside `outer`: parts that inner has count."""
  if not outer:
    return inner
  if not inner:
    return outer
  spec = DeviceSpec.from_string(outer)
  new = DeviceSpec.from_string(inner)
  if new.device_type is not None:
    spec.device_index = None
  spec.merge_from(new)
  return spec.to_string()
