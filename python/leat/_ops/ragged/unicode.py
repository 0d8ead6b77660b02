"""Texts as the numbers of their characters, as ragged tensors, and back."""
from __future__ import annotations

from leat._export import export
from leat._graph import dtype as dtypes
from leat._graph.apply import apply_op
from leat._graph.scope import name_scope
from leat._ops import array
from leat._ops.ragged.join import expand_dims
from leat._ops.ragged.tensor import RaggedTensor, as_ragged


@export('strings.unicode_encode')
def unicode_encode(input, output_encoding, errors='replace', replacement_char=65533, name=None):
  """A string for each vector of characters: input [..., (characters)] int32 -> [...] string. What
  is no character is replaced, left out ('ignore') or an error ('strict')."""
  with name_scope(name, 'UnicodeEncode'):
    return _encoded(as_ragged(input, name='input'), {
        'output_encoding': output_encoding, 'errors': errors, 'replacement_char': replacement_char})


def _encoded(characters, options):
  rank = characters.shape.ndims
  if rank is None:
    raise ValueError('Rank of input_tensor must be statically known.')
  if not isinstance(characters, RaggedTensor):
    if rank == 0:
      raise ValueError("input_tensor's rank must be at least 1.")
    if rank == 1:
      return array.reshape(_encoded(array.expand_dims(characters, 0), options), [])
    if rank == 2:
      return _encoded(RaggedTensor.from_tensor(characters), options)
    sizes = array.shape(characters)
    flat = array.reshape(characters, array.stack([-1, sizes[-1]]))
    return array.reshape(_encoded(flat, options), sizes[:-1])
  if isinstance(characters.values, RaggedTensor) or characters.flat_values.get_shape().ndims > 1:
    return characters.with_values(_encoded(characters.values, options))
  return apply_op('UnicodeEncode', input_values=characters.values,
                  input_splits=characters.row_splits, **options)


@export('strings.unicode_decode')
def unicode_decode(input, input_encoding, errors='replace', replacement_char=65533,
                   replace_control_characters=False, name=None):
  """The characters of each string: input [...] string -> [..., (characters)] int32."""
  with name_scope(name, 'UnicodeDecode'):
    return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters,
                    False)


@export('strings.unicode_decode_with_offsets')
def unicode_decode_with_offsets(input, input_encoding, errors='replace', replacement_char=65533,
                                replace_control_characters=False, name=None):
  """(the characters of each string, the byte at which each begins)."""
  with name_scope(name, 'UnicodeDecodeWithOffsets'):
    return _decoded(input, input_encoding, errors, replacement_char, replace_control_characters,
                    True)


@export('strings.unicode_split')
def unicode_split(input, input_encoding, errors='replace', replacement_char=65533, name=None):
  """Each string as strings of one character."""
  with name_scope(name, 'UnicodeSplit'):
    characters = _decoded(input, input_encoding, errors, replacement_char, False, False)
    return _each_encoded(characters, input_encoding, errors, replacement_char)


@export('strings.unicode_split_with_offsets')
def unicode_split_with_offsets(input, input_encoding, errors='replace', replacement_char=65533,
                               name=None):
  """(each string as strings of one character, the byte at which each begins)."""
  with name_scope(name, 'UnicodeSplitWithOffsets'):
    characters, offsets = _decoded(input, input_encoding, errors, replacement_char, False, True)
    return _each_encoded(characters, input_encoding, errors, replacement_char), offsets


def _each_encoded(characters, encoding, errors, replacement_char):
  if isinstance(characters, RaggedTensor):
    one = expand_dims(characters, -1)
  else:
    one = array.expand_dims(characters, -1)
  return unicode_encode(one, encoding, errors, replacement_char)


def _decoded(input, encoding, errors, replacement_char, replace_controls, with_offsets):
  strings = as_ragged(input, dtypes.string, 'input')
  rank = strings.shape.ndims
  if rank is None:
    raise ValueError('Rank of `input` must be statically known.')
  if not isinstance(strings, RaggedTensor) and rank > 1:
    strings = RaggedTensor.from_tensor(strings, ragged_rank=rank - 1)
  flat = strings.flat_values if isinstance(strings, RaggedTensor) else strings
  if isinstance(strings, RaggedTensor) and flat.get_shape().ndims > 1:
    strings = strings.with_flat_values(RaggedTensor.from_tensor(
        flat, ragged_rank=flat.get_shape().ndims - 1))
    flat = strings.flat_values
  made = apply_op('UnicodeDecodeWithOffsets' if with_offsets else 'UnicodeDecode',
                  input=array.reshape(flat, [-1]), input_encoding=encoding, errors=errors,
                  replacement_char=replacement_char, replace_control_characters=replace_controls)

  def shaped(values):
    if rank == 0:
      return values
    rows = RaggedTensor.from_row_splits(values, made.row_splits, validate=False)
    return strings.with_flat_values(rows) if isinstance(strings, RaggedTensor) else rows
  if with_offsets:
    return shaped(made.char_values), shaped(made.char_to_byte_starts)
  return shaped(made.char_values)
