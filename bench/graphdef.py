"""Reading and writing TensorFlow's encoded messages, and GraphDefs in particular, without protobuf.

A message is a list of fields: a varint of number and kind, then the value. Kind 0 is a varint, 2 a
length and as many bytes (a string or another message), 1 and 5 are eight and four bytes.
"""
import collections


def fields(message):
  """(number, value) of the fields of an encoded message: integers are int, all others bytes."""
  at = 0

  def varint():
    nonlocal at
    value = shift = 0
    while True:
      byte = message[at]
      at += 1
      value |= (byte & 127) << shift
      shift += 7
      if byte < 128:
        return value
  while at < len(message):
    key = varint()
    kind = key & 7
    if kind == 0:
      yield key >> 3, varint()
      continue
    size = varint() if kind == 2 else {1: 8, 5: 4}[kind]
    yield key >> 3, message[at:at + size]
    at += size


def varint(number):
  """The encoding of a number that is not negative."""
  out = b''
  while number > 127:
    out, number = out + bytes([number & 127 | 128]), number >> 7
  return out + bytes([number])


def encode(*fields):
  """A message of fields (number below 16, bytes, str or int)."""
  out = b''
  for number, value in fields:
    if isinstance(value, int):
      out += bytes([number << 3]) + varint(value)
      continue
    value = value.encode() if isinstance(value, str) else value
    out += bytes([number << 3 | 2]) + varint(len(value)) + value
  return out


def attribute(name, *value):
  """A field of NodeDef: the attribute |name|, whose value is an AttrValue of these fields."""
  return 5, encode((1, name), (2, encode(*value)))


class Node:
  """A NodeDef: its name, op, the names of the nodes that it reads or waits for, and attributes,
  each {field of AttrValue: value}."""

  def __init__(self, encoded):
    found = collections.defaultdict(list)
    for field, value in fields(encoded):
      found[field].append(value)
    self.name, self.op = found[1][0].decode(), found[2][0].decode()
    self.inputs = [i.decode().lstrip('^').split(':')[0] for i in found[3]]
    self.attributes = {entry[1].decode(): dict(fields(entry[2]))
                       for entry in (dict(fields(value)) for value in found[5])}
    self.is_input = self.op in ('Placeholder', 'PlaceholderV2')
    self.dtype = self.attributes['dtype'][6] if self.is_input else None

  def shape(self, unknown):
    """The shape in capibench's words, with |unknown| for sizes that the graph does not have."""
    dims = [dict(fields(value)).get(1, 0)
            for field, value in fields(self.attributes['shape'].get(7, b'')) if field == 2]
    return ','.join(str(unknown if d >= 1 << 63 else d) for d in dims) or '-'


def shaped_placeholder(node, unknown):
  """Encoded node of a GraphDef: the placeholder with |unknown| for sizes that are not known."""
  dims = [] if node.shape(unknown) == '-' else node.shape(unknown).split(',')
  shape = encode(*[(2, encode((1, int(d)))) for d in dims])
  return encode((1, encode((1, node.name), (2, node.op), attribute('dtype', (6, node.dtype)),
                           attribute('shape', (7, shape)))))


def cast_placeholder(node, fed):
  """Encoded nodes of a GraphDef: a float placeholder |fed|, and |node| as a cast of it."""
  shape = attribute('shape', (7, node.attributes['shape'][7]))
  placeholder = [(1, fed), (2, 'Placeholder'), attribute('dtype', (6, 1)), shape]
  cast = [(1, node.name), (2, 'Cast'), (3, fed), attribute('SrcT', (6, 1)),
          attribute('DstT', (6, node.dtype))]
  return encode((1, encode(*placeholder)), (1, encode(*cast)))
