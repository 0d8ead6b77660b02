"""Small models of SentencePiece, written field by field: no trainer is needed, and each run has the
same one."""
import struct

# Fields of ModelProto, of its pieces, and of the specifications of trainer and normalizer.
PIECES, TRAINER, NORMALIZER = 1, 2, 3
PIECE, SCORE, TYPE = 1, 2, 3
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
MODEL_TYPE, BYTE_FALLBACK = 3, 35
KINDS = {'unigram': 1, 'bpe': 2, 'bytes': 1}
WORDS = ['\u2581the', '\u2581', 'the', 'fox', '\u2581fox', 'qu', 'ick', 'quick', 'th', 'he', 'er',
         'ing', 'ow', 'ov', 'over', '\u2581over', 'la', 'zy', 'do', 'og', 'dog', '\u4f60\u597d',
         '\u2581\u041f', '\u0440\u0438', 'str', 'as', 'ss', '.', ',', '!']


def varint(value):
  out = b''
  while value >= 128:
    out += bytes([value & 127 | 128])
    value >>= 7
  return out + bytes([value])


def field(number, value):
  """A varint, a float, or bytes."""
  if isinstance(value, float):
    return varint(number << 3 | 5) + struct.pack('<f', value)
  if isinstance(value, int):
    return varint(number << 3) + varint(value)
  value = value.encode() if isinstance(value, str) else value
  return varint(number << 3 | 2) + varint(len(value)) + value


def piece(text, score, kind):
  return field(PIECES, field(PIECE, text) + field(SCORE, score) + field(TYPE, kind))


def model_of(kind):
  """The bytes of a model: 'unigram', 'bpe' (whose merges are ranked by the scores), or 'bytes', a
  unigram model that writes characters which it does not know as their bytes."""
  pieces = [piece('<unk>', 0., UNKNOWN), piece('<s>', 0., CONTROL), piece('</s>', 0., CONTROL),
            piece('[SEP]', 0., USER_DEFINED)]
  if kind == 'bytes':
    pieces += [piece('<0x%02X>' % b, -20., BYTE) for b in range(256)]
  letters = [chr(c) for c in range(ord('a'), ord('z') + 1)] + list('ABT\u00e9\u4f60\u597d\u041f')
  texts = WORDS + letters
  pieces += [piece(t, -1. - .25 * i, NORMAL) for i, t in enumerate(texts)]
  trainer = field(MODEL_TYPE, KINDS[kind]) + field(BYTE_FALLBACK, int(kind == 'bytes'))
  normalizer = field(1, 'identity') + field(3, 1) + field(4, 1) + field(5, 1)
  return b''.join(pieces) + field(TRAINER, trainer) + field(NORMALIZER, normalizer)
