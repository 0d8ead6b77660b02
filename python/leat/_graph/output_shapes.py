"""The attribute _output_shapes of each node of a GraphDef, added to its bytes.

Summaries and checkpoints hold the graph with the shapes of all outputs. The graph of a large model
has tens of thousands of nodes, so that nothing is decoded here: the attribute is appended to the
bytes of its node, which are a message still.
"""
from __future__ import annotations

from leat._graph.wire import read_varint, varint

_NODE = 0x0a        # GraphDef.node, and NodeDef.name within
_UNKNOWN = b'\x18\x01'  # TensorShapeProto.unknown_rank


def _field(tag, data):
  return tag + varint(len(data)) + data


def _shape(sizes):
  """A TensorShapeProto of sizes, of which those below 0 are unknown; None is no known rank."""
  if sizes is None:
    return _UNKNOWN
  dims = (b'\x08' + varint(size & 0xffffffffffffffff) if size else b'' for size in sizes)
  return b''.join(_field(b'\x12', dim) for dim in dims)


def _attribute(shapes):
  """An entry of NodeDef.attr: the name, and an AttrValue with a list of shapes."""
  value = b''.join(_field(b'\x3a', _shape(sizes)) for sizes in shapes)
  return _field(b'\x2a', _field(b'\x0a', b'_output_shapes')
                + _field(b'\x12', _field(b'\x0a', value)))


def added(graph, data):
  """The bytes of a GraphDef of |graph| with the attribute."""
  parts, at, known = [], 0, {}
  while at < len(data):
    start = at
    tag, at = read_varint(data, at)
    size, at = read_varint(data, at)
    node, at = data[at:at + size], at + size
    if tag != _NODE:
      parts.append(data[start:at])
      continue
    length, name = read_varint(node, 1)
    shapes = tuple(o.shape_ for o in graph.operation(node[name:name + length].decode()).outputs)
    if shapes and shapes not in known:
      known[shapes] = _attribute(shapes)
    parts.append(_field(b'\x0a', node + known.get(shapes, b'')))
  return b''.join(parts)
