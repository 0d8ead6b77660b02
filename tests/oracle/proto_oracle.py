"""DecodeProtoV2 of messages in text and of messages that are sanitized, in both libraries:
presence, defaults, groups, oneofs, extensions, maps, enumerations, unknown fields, what is
malformed."""
import os

os.environ.update(CUDA_VISIBLE_DEVICES='', TF_ENABLE_ONEDNN_OPTS='0')

from google.protobuf import descriptor_pb2, text_format  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

from dataset_kit import LEAT, capi  # noqa: E402
from outcome import report  # noqa: E402

TYPES = '''
file { name: 'a.proto' package: 'p' syntax: 'proto2'
  message_type { name: 'M'
    field { name: 'i' number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
    field { name: 'r' number: 2 type: TYPE_INT32 label: LABEL_REPEATED }
    field { name: 's' number: 3 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: 'm' number: 4 type: TYPE_MESSAGE label: LABEL_OPTIONAL type_name: '.p.M' }
    field { name: 'e' number: 5 type: TYPE_ENUM label: LABEL_OPTIONAL type_name: '.p.E' }
    field { name: 'rp' number: 7 type: TYPE_INT32 label: LABEL_REPEATED options { packed: true } }
    field { name: 'f' number: 8 type: TYPE_FLOAT label: LABEL_OPTIONAL }
    field { name: 'b' number: 9 type: TYPE_BOOL label: LABEL_OPTIONAL }
    field { name: 'y' number: 10 type: TYPE_BYTES label: LABEL_OPTIONAL }
    field { name: 'u' number: 11 type: TYPE_UINT64 label: LABEL_OPTIONAL }
    field { name: 'z' number: 12 type: TYPE_SINT32 label: LABEL_OPTIONAL }
    field { name: 'g' number: 13 type: TYPE_GROUP label: LABEL_REPEATED type_name: '.p.M.G' }
    field { name: 'rr' number: 14 type: TYPE_MESSAGE label: LABEL_REPEATED type_name: '.p.R' }
    field { name: 'd' number: 15 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
    field { name: 'x' number: 16 type: TYPE_SFIXED32 label: LABEL_OPTIONAL }
    field { name: 're' number: 17 type: TYPE_ENUM label: LABEL_REPEATED type_name: '.p.E' }
    nested_type { name: 'G' field { name: 'x' number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL } }
    extension_range { start: 100 end: 200 } }
  message_type { name: 'R'
    field { name: 'q' number: 1 type: TYPE_INT32 label: LABEL_REQUIRED }
    field { name: 'i' number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL } }
  enum_type { name: 'E' value { name: 'A' number: 0 } value { name: 'B' number: 3 } }
  extension { name: 'ext' number: 100 type: TYPE_INT32 label: LABEL_OPTIONAL extendee: '.p.M' } }
file { name: 'b.proto' package: 'p3' syntax: 'proto3'
  message_type { name: 'M'
    field { name: 'i' number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL }
    field { name: 's' number: 2 type: TYPE_STRING label: LABEL_OPTIONAL }
    field { name: 'r' number: 3 type: TYPE_INT32 label: LABEL_REPEATED }
    field { name: 'a' number: 4 type: TYPE_INT32 label: LABEL_OPTIONAL oneof_index: 0 }
    field { name: 'c' number: 5 type: TYPE_INT32 label: LABEL_OPTIONAL oneof_index: 0 }
    field { name: 'op' number: 6 type: TYPE_INT32 label: LABEL_OPTIONAL oneof_index: 1
            proto3_optional: true }
    field { name: 'mp' number: 7 type: TYPE_MESSAGE label: LABEL_REPEATED
            type_name: '.p3.M.MpEntry' }
    field { name: 'e' number: 8 type: TYPE_ENUM label: LABEL_OPTIONAL type_name: '.p3.E' }
    field { name: 'm' number: 9 type: TYPE_MESSAGE label: LABEL_OPTIONAL type_name: '.p3.M' }
    oneof_decl { name: 'o' } oneof_decl { name: '_op' }
    nested_type { name: 'MpEntry' options { map_entry: true }
      field { name: 'key' number: 1 type: TYPE_STRING label: LABEL_OPTIONAL }
      field { name: 'value' number: 2 type: TYPE_INT32 label: LABEL_OPTIONAL } } }
  enum_type { name: 'E' value { name: 'A' number: 0 } value { name: 'B' number: 3 } } }
'''
SOURCE = b'bytes://' + text_format.Parse(
    TYPES, descriptor_pb2.FileDescriptorSet()).SerializeToString()
FIELDS = {
    'p.M': dict(i=tf.int32, r=tf.int32, s=tf.string, m=tf.string, e=tf.int32, rp=tf.int32,
                f=tf.float32, b=tf.bool, y=tf.string, u=tf.uint64, z=tf.int32, g=tf.string,
                rr=tf.string, d=tf.float64, x=tf.int32, re=tf.int32, **{'p.ext': tf.int32}),
    'p3.M': dict(i=tf.int32, s=tf.string, r=tf.int32, a=tf.int32, c=tf.int32, op=tf.int32,
                 mp=tf.string, e=tf.int32, m=tf.string)}


def compare(message, kind, form):
  graph = tf.Graph()
  with graph.as_default():
    sizes, values = tf.raw_ops.DecodeProtoV2(
        bytes=np.array([message, message], object), message_type=kind,
        field_names=list(FIELDS[kind]), output_types=list(FIELDS[kind].values()),
        descriptor_source=SOURCE, message_format=form, sanitize=form == 'binary')
    names = [sizes.name] + [v.name for v in values]
  with tf.Session(graph=graph) as session:
    try:
      want = session.run(names)
    except tf.errors.OpError as error:
      want = error.error_code
  try:
    session = capi.Session(LEAT, graph.as_graph_def().SerializeToString())
    got = session.run(names)
  except capi.Error as error:
    got = error.code
  same = got == want if isinstance(want, int) or isinstance(got, int) else all(
      np.array_equal(a, b, equal_nan=a.dtype.kind == 'f') for a, b in zip(got, want))
  return '' if same else '%s, must be %s' % (got, want)


TEXTS = {
    'p.M': [
        'i: 5 r: 1 r: [2,3] s: "x" "y" m { i: 0 r: 4 }', 'i: 0', '', 'nope: 1', 'i: 1 i: 2', 'i: x',
        'r: []', 'm <i:1> ; i: 3,', 'i: 99999999999', 'i: -2147483648', 'i: -2147483649', 'e: B',
        'e: 3', 'e: 7', 'e: Z', 'G { x: 4 } G {}', 'g { x: 4 }', '[p.ext]: 5', '[ p . ext ] : 5',
        '[p.no]: 5', 'rr { i: 1 }', 'rr { q: 1 } rr { i: 2 q: 0 }', 'rr: [{ q: 1 }, { q: 2 }]',
        'm: { i: 1 }', 'f: inf b: t y: "\\001\\xff" u: 18446744073709551615 z: -3', 's: "\\xff"',
        'm { m { rp: [1,2] i: 7 f: 1.5 } r: 1 }', '1: 5', 'i: -0x10', 'i: 010', 'i: 1.0', 'f: 3',
        "s: 'a' # c\n i: 2", 'd: -1e300 f: nan x: -7 z: 2147483647', 'b: 1', 'b: 2', 'm {', 'm }',
        'rp: [1, -1, 3] re: [B, A] re: 3', 'i 5', 's: "open', 'u: -1', 'i: 1; i: 2'],
    'p3.M': [
        'i: 0 s: ""', 'i: 0 s: "" i: 2 s: "b"', 'i: 2 i: 0', 'a: 0 a: 0', 'a: 1 c: 2', 'a: 0',
        'op: 0', 'e: 9', 's: "\\xff"', 'e: -1', 'r: [0, 1]',
        'mp {key:"k" value: 0} mp {key:"k" value:2} mp {}', 'm { i: 0 } r: 0', 'm { a: 0 op: 0 }']}
BINARY = {
    'p.M': [
        '2202080122021002', '08010802', '120201021003', '2807', '2204f8010508', '2205f801050801',
        '08', '1a01ff', '22073a020102380310', '22063a0201023803', '22022807', '6b08046c6b6c', '6b',
        '6b0804', '6b08046d', '72021001', '72020801', '8a01020307', '22048a01020307', 'a00605',
        '2203a00605', '604b', '', '0a', 'f8ffffff0f01', '0001', '7a00',
        'f2070201029208037878780801'],
    'p3.M': [
        '1201ff', '20012802', '28022001', '0800', '3a030a016b3a050a016b1002', '4009',
        '4a0440094a00', '3000', '4a0208004a021800', '18011a020203', '22', '12024142']}



def nested(depth):
  """A message of so many messages in each other."""
  message = b''
  for _ in range(depth):
    size = len(message)
    length = [size] if size < 128 else [size & 127 | 128, size >> 7]
    message = bytes([0x22] + length) + message
  return message


for kind, texts in TEXTS.items():
  for text in texts:
    report('proto text %r of %s' % (text, kind), compare, text.encode(), kind, 'text')
for kind, messages in BINARY.items():
  for message in messages:
    report('proto sanitized %s of %s' % (message or 'nothing', kind), compare,
           bytes.fromhex(message), kind, 'binary')
for depth in 99, 100, 101:
  report('proto sanitized %d deep' % depth, compare, nested(depth), 'p.M', 'binary')
