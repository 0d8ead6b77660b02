// Reads and writes fields in the wire format of protocol buffers. Malformed bytes end a message.
#include "wire.h"

#include <stdlib.h>
#include <string.h>

static bool read_varint(const uint8_t** next, const uint8_t* end, uint64_t* out_value) {
  *out_value = 0;
  for (int shift = 0; *next < end && shift < 64; shift += 7) {
    uint8_t byte = *(*next)++;
    *out_value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

bool wire_next(wire_t* w) {
  uint64_t tag, value;
  const uint8_t* next = w->next;
  w->begin = next;
  w->value = NULL;
  w->size = 0;
  if (!next || next == w->end || !read_varint(&next, w->end, &tag)) return false;
  size_t left = (size_t)(w->end - next), skip = 0;
  switch (tag & 7) {
    case 0:
      if (!read_varint(&next, w->end, &value)) return false;
      break;
    case 1: skip = 8; break;
    case 5: skip = 4; break;
    case 2:
      if (!read_varint(&next, w->end, &value) || value > (uint64_t)(w->end - next)) return false;
      w->value = next;
      w->size = skip = (size_t)value;
      break;
    default: return false;
  }
  if (skip > left) return false;
  w->number = (uint32_t)(tag >> 3);
  w->next = next + skip;
  return true;
}

wire_t wire_find(wire_t message, uint32_t number) {
  while (wire_next(&message)) {
    if (message.number == number && message.value) return wire_of(message.value, message.size);
  }
  return (wire_t){0};
}

void bytes_append(bytes_t* bytes, const void* data, size_t size) {
  if (bytes->capacity - bytes->size < size) {
    size_t capacity = bytes->capacity * 2 + size + 64;
    uint8_t* grown = realloc(bytes->data, capacity);
    if (!grown) bytes->failed = true;
    if (!grown) return;
    bytes->data = grown;
    bytes->capacity = capacity;
  }
  if (size) memcpy(bytes->data + bytes->size, data, size);
  bytes->size += size;
}

void bytes_append_field(bytes_t* bytes, uint32_t number, const void* data, size_t size) {
  uint8_t header[11] = {(uint8_t)(number << 3 | 2)};
  int used = 1;
  size_t left = size;
  for (; left >= 128; left >>= 7) header[used++] = (uint8_t)(left | 128);
  header[used++] = (uint8_t)left;
  bytes_append(bytes, header, (size_t)used);
  bytes_append(bytes, data, size);
}
