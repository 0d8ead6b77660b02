// The slow halves of the wire primitives.
#include "formats/wire/wire.h"

// Takes the seven low bits of each byte together.
static uint64_t join_sevens(uint64_t word) {
  word &= UINT64_C(0x7f7f7f7f7f7f7f7f);
  word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
  word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
  return (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
}

// A varint of up to eight bytes, as a time is, is read at once where so many bytes are there.
const uint8_t* leat_wire_read_long_varint(const uint8_t* next, const uint8_t* end,
                                          uint64_t* out_value) {
  uint64_t value = 0;
  if (LEAT_LIKELY(end - next >= 8)) {
    const uint64_t word = leat_wire_load64(next);
    const uint64_t last = ~word & UINT64_C(0x8080808080808080);  // the high bits that are not set
    if (LEAT_LIKELY(last)) {
      *out_value = join_sevens(word & (last ^ (last - 1)));
      return next + __builtin_ctzll(last) / 8 + 1;
    }
  }
  for (int i = 0; i < LEAT_WIRE_MAX_VARINT_BYTES && next < end; ++i) {
    uint8_t byte = *next++;
    value |= (uint64_t)(byte & 0x7f) << 7 * i;
    if (byte < 0x80) {
      *out_value = value;
      return next;
    }
  }
  *out_value = 0;
  return NULL;
}

// Groups nest: the numbers that are open wait on a stack of fixed depth.
const uint8_t* leat_wire_skip_group(const uint8_t* next, const uint8_t* end, uint32_t number) {
  uint32_t open[LEAT_WIRE_MAX_GROUP_DEPTH];
  size_t depth = 0;
  open[depth++] = number;
  while (depth > 0) {
    uint32_t inner, type;
    next = leat_wire_read_tag(next, end, &inner, &type);
    if (!next) return NULL;
    if (type == LEAT_WIRE_GROUP_END) {
      if (inner != open[--depth]) return NULL;
    } else if (type == LEAT_WIRE_GROUP_BEGIN) {
      if (depth == LEAT_WIRE_MAX_GROUP_DEPTH) return NULL;
      open[depth++] = inner;
    } else {
      next = leat_wire_skip(next, end, inner, type);
      if (!next) return NULL;
    }
  }
  return next;
}
