// TensorFlow's OrderedCode: an encoding of strings and numbers whose bytes compare, by memcmp, as
// the values do. The keys of slices in checkpoints are made of it (tensor_slice.c), so that a table
// sorts them by tensor and position. The codes stand one behind the other, and each says itself
// where it ends.
//
// - An unsigned number is the count of its bytes, then the bytes, most significant first.
// - A string is its bytes, with the bytes 00 and ff followed by their complement, and ends in 00
//   01.
// - A signed number is more compact: n bytes for 7 n - 1 bits. The first n bits of the code are set
//   and give the length; the number fills the rest. A negative number is the code of its complement
//   with all bits inverted, so that it sorts before the others, and the more negative the earlier.
//
// Readers return false when the bytes are no such code, since keys come from files.
#include "formats/checkpoint/ordered_code.h"

#define MAX_INT64_BYTES 10

void leat_ordered_code_append_uint64(leat_string_builder_t* out, uint64_t value) {
  char code[9];
  size_t size = 0;
  for (uint64_t rest = value; rest > 0; rest >>= 8) ++size;
  code[0] = (char)size;
  for (size_t i = 0; i < size; ++i) code[size - i] = (char)(value >> 8 * i);
  leat_string_builder_append(out, leat_string_view_make(code, size + 1));
}

void leat_ordered_code_append_string(leat_string_builder_t* out, leat_string_view_t string) {
  for (size_t i = 0; i < string.size; ++i) {
    uint8_t byte = (uint8_t)string.data[i];
    leat_string_builder_append_char(out, (char)byte);
    if (byte == 0 || byte == 0xff) leat_string_builder_append_char(out, (char)~byte);
  }
  leat_string_builder_append(out, leat_string_view_make("\0\1", 2));
}

void leat_ordered_code_append_int64(leat_string_builder_t* out, int64_t value) {
  uint64_t magnitude = value < 0 ? ~(uint64_t)value : (uint64_t)value;
  size_t size = 1;
  while (size < MAX_INT64_BYTES && magnitude >> (7 * size - 1)) ++size;
  uint8_t code[MAX_INT64_BYTES] = {0};
  for (size_t i = 0; i < size && i < 8; ++i) code[size - 1 - i] = (uint8_t)(magnitude >> 8 * i);
  for (size_t bit = 0; bit < size; ++bit) code[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
  for (size_t i = 0; value < 0 && i < size; ++i) code[i] = (uint8_t)~code[i];
  leat_string_builder_append(out, leat_string_view_make((const char*)code, size));
}

bool leat_ordered_code_read_uint64(leat_string_view_t* inout_code, uint64_t* out_value) {
  size_t size = inout_code->size > 0 ? (uint8_t)inout_code->data[0] : 9;
  if (size > 8 || size + 1 > inout_code->size) return false;
  *out_value = 0;
  for (size_t i = 1; i <= size; ++i) {
    *out_value = *out_value << 8 | (uint8_t)inout_code->data[i];
  }
  *inout_code = leat_string_view_from_index(*inout_code, size + 1);
  return true;
}

bool leat_ordered_code_read_string(leat_string_view_t* inout_code, leat_string_builder_t* out) {
  const char* data = inout_code->data;
  for (size_t i = 0; i < inout_code->size; ++i) {
    uint8_t byte = (uint8_t)data[i];
    if (byte == 0 || byte == 0xff) {
      if (++i == inout_code->size) return false;
      uint8_t second = (uint8_t)data[i];
      if (byte == 0 && second == 1) {
        *inout_code = leat_string_view_from_index(*inout_code, i + 1);
        return true;
      }
      if ((second ^ byte) != 0xff) return false;
    }
    leat_string_builder_append_char(out, (char)byte);
  }
  return false;
}

bool leat_ordered_code_read_int64(leat_string_view_t* inout_code, int64_t* out_value) {
  if (inout_code->size == 0) return false;
  const uint8_t* data = (const uint8_t*)inout_code->data;
  uint8_t flip = data[0] & 0x80 ? 0 : 0xff;
  size_t size = 0, limit = inout_code->size * 8;
  while (size < limit && size <= MAX_INT64_BYTES &&
         ((data[size / 8] ^ flip) & 0x80 >> size % 8)) {
    ++size;
  }
  if (size == 0 || size > MAX_INT64_BYTES || size > inout_code->size) return false;
  uint64_t magnitude = 0;
  for (size_t i = 0; i < size; ++i) {
    uint8_t byte = data[i] ^ flip;
    // The leading bits that give the length are not part of the number.
    for (size_t bit = 8 * i; bit < size && bit < 8 * (i + 1); ++bit) {
      byte &= (uint8_t)~(0x80 >> bit % 8);
    }
    if (magnitude >> 56) return false;
    magnitude = magnitude << 8 | byte;
  }
  if (magnitude >> 63) return false;
  *out_value = flip ? (int64_t)~magnitude : (int64_t)magnitude;
  *inout_code = leat_string_view_from_index(*inout_code, size);
  return true;
}
