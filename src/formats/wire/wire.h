// The primitives of the protocol buffer wire format: varints, tags, lengths and fixed-size numbers.
// The decoder and encoder of messages are built of them, and so are the readers of tables,
// checkpoints and records, which use the same encodings.
//
//   varint   seven bits a byte, the lowest first; the high bit says that more follow:  300 = ac 02
//   field    tag (varint: number << 3 | wire type), then the value
//   length   varint size, then as many bytes: text, messages, packed lists
//
// Readers take a range [next, end) and return where the next thing begins. They return NULL when
// the bytes end early or break a rule, and never read a byte at or behind |end|; the caller turns
// NULL into a status that says what was being read:
//
//   next = leat_wire_read_tag(next, end, &number, &type);
//   if (!next) return malformed("tag");
//
// Each has a short inline path for the values of one byte, which most tags, sizes and numbers have,
// since decoding a graph is mostly that. Numbers of a fixed size are little-endian on every
// machine.
#ifndef LEAT_FORMATS_WIRE_WIRE_H_
#define LEAT_FORMATS_WIRE_WIRE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "base/string_view.h"

// How the end of a value is found, so that a reader can skip fields that it does not know. Groups
// are an old form of messages, which are skipped and never written.
typedef enum leat_wire_type_e {
  LEAT_WIRE_VARINT = 0,
  LEAT_WIRE_FIXED64 = 1,
  LEAT_WIRE_LENGTH = 2,
  LEAT_WIRE_GROUP_BEGIN = 3,
  LEAT_WIRE_GROUP_END = 4,
  LEAT_WIRE_FIXED32 = 5,
} leat_wire_type_t;

// Limits of the format: a varint of 64 bits takes at most ten bytes. The third is ours: groups nest
// at most so deep, since a stack of fixed size holds those that are open.
#define LEAT_WIRE_MAX_VARINT_BYTES 10
#define LEAT_WIRE_MAX_FIELD_NUMBER ((1u << 29) - 1)
#define LEAT_WIRE_MAX_GROUP_DEPTH 100

// What leat_wire_read_varint calls for values of several bytes. NULL when the varint has more than
// ten bytes or no end.
const uint8_t* leat_wire_read_long_varint(const uint8_t* next, const uint8_t* end,
                                          uint64_t* out_value);
// An unsigned number of up to 64 bits. Signed ones are stored as their two's complement, or, as
// sint, with the sign in the lowest bit.
static inline const uint8_t* leat_wire_read_varint(const uint8_t* next, const uint8_t* end,
                                                   uint64_t* out_value) {
  if (LEAT_LIKELY(next < end && *next < 0x80)) {
    *out_value = *next;
    return next + 1;
  }
  return leat_wire_read_long_varint(next, end, out_value);
}

// Reads the tag of a field and refuses field numbers outside 1 to 2^29 - 1 and unknown wire types.
// |*out_type| is a leat_wire_type_t.
static inline const uint8_t* leat_wire_read_tag(const uint8_t* next, const uint8_t* end,
                                                uint32_t* out_number, uint32_t* out_type) {
  uint64_t tag;
  next = leat_wire_read_varint(next, end, &tag);
  *out_number = (uint32_t)(tag >> 3);
  *out_type = (uint32_t)(tag & 7);
  bool valid = next && tag >> 3 != 0 && tag <= UINT32_MAX && (tag & 7) <= LEAT_WIRE_FIXED32;
  return LEAT_LIKELY(valid) ? next : NULL;
}

// Reads a length and refuses one that exceeds the bytes left. Lengths of two bytes, which nodes and
// longer texts have, are read inline as well.
static inline const uint8_t* leat_wire_read_length(const uint8_t* next, const uint8_t* end,
                                                   size_t* out_size) {
  uint64_t size;
  if (LEAT_LIKELY(next < end && *next < 0x80)) {
    size = *next++;
  } else if (end - next >= 2 && next[1] < 0x80) {
    size = (next[0] & 0x7f) | (uint64_t)next[1] << 7;
    next += 2;
  } else {
    next = leat_wire_read_long_varint(next, end, &size);
    if (LEAT_UNLIKELY(!next)) return NULL;
  }
  if (LEAT_UNLIKELY(size > (uint64_t)(end - next))) return NULL;
  *out_size = (size_t)size;
  return next;
}

// Reads a length and as many bytes, which are borrowed from the input. NULL when fewer follow.
static inline const uint8_t* leat_wire_read_bytes(const uint8_t* next, const uint8_t* end,
                                                  leat_string_view_t* out_bytes) {
  size_t size = 0;
  next = leat_wire_read_length(next, end, &size);
  if (LEAT_UNLIKELY(!next)) return NULL;
  *out_bytes = leat_string_view_make((const char*)next, size);
  return next + size;
}

// Little-endian numbers at any address, to and from memory that the caller has checked to be there.
static inline uint32_t leat_wire_load32(const void* data) {
  const uint8_t* b = (const uint8_t*)data;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t leat_wire_load64(const void* data) {
  return leat_wire_load32(data) | (uint64_t)leat_wire_load32((const uint8_t*)data + 4) << 32;
}
// Writes the number at |data|, where there must be room.
static inline void leat_wire_store32(void* data, uint32_t value) {
  uint8_t* b = (uint8_t*)data;
  for (int i = 0; i < 4; ++i) b[i] = (uint8_t)(value >> 8 * i);
}
static inline void leat_wire_store64(void* data, uint64_t value) {
  leat_wire_store32(data, (uint32_t)value);
  leat_wire_store32((uint8_t*)data + 4, (uint32_t)(value >> 32));
}

// Skips all that a group contains, up to its end with the same |number|; NULL where groups are
// nested too deeply or end wrongly.
const uint8_t* leat_wire_skip_group(const uint8_t* next, const uint8_t* end, uint32_t number);
// Skips the value of a tag (|number|, |type|) that was just read, so that a reader passes over
// fields that it does not know.
static inline const uint8_t* leat_wire_skip(const uint8_t* next, const uint8_t* end,
                                            uint32_t number, uint32_t type) {
  uint64_t value;
  size_t size;
  switch (type) {
    case LEAT_WIRE_VARINT:
      return leat_wire_read_varint(next, end, &value);
    case LEAT_WIRE_FIXED64:
      return end - next >= 8 ? next + 8 : NULL;
    case LEAT_WIRE_LENGTH:
      next = leat_wire_read_length(next, end, &size);
      return next ? next + size : NULL;
    case LEAT_WIRE_GROUP_BEGIN:
      return leat_wire_skip_group(next, end, number);
    case LEAT_WIRE_FIXED32:
      return end - next >= 4 ? next + 4 : NULL;
    default:
      return NULL;
  }
}

// The bytes that leat_wire_write_varint writes, 1 to 10.
static inline size_t leat_wire_varint_size(uint64_t value) {
  int bits = 64 - __builtin_clzll(value | 1);
  return (size_t)(bits + 6) / 7;
}
// Writes |value| at |out|, where there must be room, and returns where the next thing goes.
static inline uint8_t* leat_wire_write_varint(uint8_t* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = (uint8_t)(value | 0x80);
    value >>= 7;
  }
  *out++ = (uint8_t)value;
  return out;
}

#endif  // LEAT_FORMATS_WIRE_WIRE_H_
