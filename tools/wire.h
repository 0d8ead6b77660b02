// Protocol buffers on the wire, as far as a GraphDef is taken apart and put together again.
#ifndef LEAT_TOOLS_WIRE_H_
#define LEAT_TOOLS_WIRE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wire_s {
  const uint8_t *begin, *next, *end;  // the field that was read, and what follows
  uint32_t number;
  const uint8_t* value;  // of a field with a length; NULL for others
  size_t size;
} wire_t;

static inline wire_t wire_of(const void* data, size_t size) {
  const uint8_t* bytes = (const uint8_t*)data;
  return (wire_t){.next = bytes, .end = bytes ? bytes + size : bytes};
}
// The next field; false at the end and at bytes that make no sense.
bool wire_next(wire_t* wire);
// The value of the first field |number| that has a length; an empty one when there is none.
wire_t wire_find(wire_t message, uint32_t number);

// Bytes that grow; |failed| once memory is gone.
typedef struct bytes_s {
  uint8_t* data;
  size_t size, capacity;
  bool failed;
} bytes_t;
void bytes_append(bytes_t* bytes, const void* data, size_t size);
// A field with a length (|number| < 16).
void bytes_append_field(bytes_t* bytes, uint32_t number, const void* data, size_t size);

#endif  // LEAT_TOOLS_WIRE_H_
