// Decompresses blocks in Snappy's format, which old tables and some text files use
// (docs/decisions/0002 says why the code is our own). A block is the varint of the decompressed
// size, followed by elements. The low two bits of an element's first byte say what the element is:
//
//   00  literal: 1 + (byte >> 2) bytes, or for 60 .. 63 there as many as the 1 .. 4 next bytes say
//   01  copy of 4 + 3 bits, from 11 bits back
//   10  copy of 1 + 6 bits, from 16 bits back
//   11  copy of 1 + 6 bits, from 32 bits back
//
// A copy may overlap its own target and then repeats the bytes. Every length and distance is tested
// against what was read and written before it is used, and a stated size that so few bytes cannot
// stand for is refused before memory is taken.
#include "formats/record/snappy_block.h"

#include "formats/wire/wire.h"

// At best, an element of 3 bytes stands for 64, so a byte stands for at most 22.
#define MOST_BYTES_PER_BYTE 22

typedef struct snappy_s {
  const uint8_t* next;
  const uint8_t* end;
  char* out;
  size_t filled;
  size_t size;
} snappy_t;

// Reads |count| bytes as a little-endian number; false when there are fewer.
static bool read_number(snappy_t* snappy, size_t count, uint32_t* out_number) {
  if ((size_t)(snappy->end - snappy->next) < count) return false;
  *out_number = 0;
  for (size_t i = 0; i < count; ++i) *out_number |= (uint32_t)*snappy->next++ << 8 * i;
  return true;
}

static bool read_literal(snappy_t* snappy, uint8_t tag) {
  uint32_t length = tag >> 2;
  if (length >= 60 && !read_number(snappy, length - 59, &length)) return false;
  size_t count = (size_t)length + 1;
  if (count > (size_t)(snappy->end - snappy->next) || count > snappy->size - snappy->filled) {
    return false;
  }
  memcpy(snappy->out + snappy->filled, snappy->next, count);
  snappy->filled += count;
  snappy->next += count;
  return true;
}

// Reads an element that copies earlier output, byte by byte, because it may reach into what it
// writes itself.
static bool read_copy(snappy_t* snappy, uint8_t tag) {
  size_t count = 1 + (tag >> 2);
  uint32_t distance = 0;
  if ((tag & 3) == 1) {
    if (!read_number(snappy, 1, &distance)) return false;
    count = 4 + ((tag >> 2) & 7);
    distance |= (uint32_t)(tag >> 5) << 8;
  } else if (!read_number(snappy, (tag & 3) == 2 ? 2 : 4, &distance)) {
    return false;
  }
  if (distance == 0 || distance > snappy->filled || count > snappy->size - snappy->filled) {
    return false;
  }
  char* to = snappy->out + snappy->filled;
  const char* from = to - distance;
  for (size_t i = 0; i < count; ++i) to[i] = from[i];
  snappy->filled += count;
  return true;
}

leat_status_t leat_snappy_decompress(leat_string_view_t bytes, leat_allocator_t* allocator,
                                     char** out_data, size_t* out_size) {
  uint64_t size = 0;
  const uint8_t* begin = (const uint8_t*)bytes.data;
  const uint8_t* next = leat_wire_read_varint(begin, begin + bytes.size, &size);
  *out_data = NULL;
  *out_size = 0;
  if (!next || size > UINT32_MAX || size / MOST_BYTES_PER_BYTE > bytes.size) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "Snappy decompression failed: size is %llu, must be what %zu bytes can "
                            "stand for", (unsigned long long)size, bytes.size);
  }
  snappy_t snappy = {.next = next, .end = begin + bytes.size, .size = (size_t)size};
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(allocator, 16, snappy.size + 1,
                                                             (void**)&snappy.out));
  bool valid = true;
  while (valid && snappy.next < snappy.end) {
    uint8_t tag = *snappy.next++;
    valid = tag & 3 ? read_copy(&snappy, tag) : read_literal(&snappy, tag);
  }
  if (!valid || snappy.filled != snappy.size) {
    leat_allocator_free(allocator, snappy.out);
    return leat_make_status(LEAT_DATA_LOSS,
                            "Snappy decompression failed: element at byte %zu is malformed",
                            (size_t)(snappy.next - begin));
  }
  *out_data = snappy.out;
  *out_size = snappy.size;
  return leat_ok_status();
}
