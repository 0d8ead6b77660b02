"""google.protobuf.Any: a message that holds one of any type, with the name of the type."""
from __future__ import annotations


def pack(self, msg, type_url_prefix='type.googleapis.com/'):
  """Holds `msg` from now on."""
  separator = '' if not type_url_prefix or type_url_prefix.endswith('/') else '/'
  self.type_url = type_url_prefix + separator + msg.DESCRIPTOR.full_name
  self.value = msg.SerializeToString()


def unpack(self, msg):
  """Copies what is held into `msg`; False where it is of another type."""
  if not holds(self, msg.DESCRIPTOR):
    return False
  msg.ParseFromString(self.value)
  return True


def type_name(self):
  return self.type_url.rpartition('/')[2]


def holds(self, descriptor):
  return '/' in self.type_url and type_name(self) == descriptor.full_name


METHODS = {'Pack': pack, 'Unpack': unpack, 'TypeName': type_name, 'Is': holds}
