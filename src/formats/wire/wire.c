// The slow halves of the wire primitives.
#include "formats/wire/wire.h"

const uint8_t* leat_wire_read_long_varint(const uint8_t* next, const uint8_t* end,
                                          uint64_t* out_value) {
  uint64_t value = 0;
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
