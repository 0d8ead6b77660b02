// The wire format of protocol buffers, as far as convert_freeze.c needs it to take a GraphDef apart
// and put it together again.
#ifndef LEAT_TOOLS_WIRE_H_
#define LEAT_TOOLS_WIRE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A position in a message, which is borrowed: the field that wire_next went to last. The bytes from
// |begin| to |next| are that whole field, tag included, so that it can be copied unread.
typedef struct wire_s {
  // where the current field began, where the next one begins, and the end of the message
  const uint8_t *begin, *next, *end;
  uint32_t number;  // of the current field
  const uint8_t* value;  // of a field with a length; NULL for other fields
  size_t size;
} wire_t;

// A position before the first field of the message in |data|.
static inline wire_t wire_of(const void* data, size_t size) {
  const uint8_t* bytes = (const uint8_t*)data;
  return (wire_t){.next = bytes, .end = bytes ? bytes + size : bytes};
}
// Goes to the next field. Returns false at the end and where the bytes are malformed.
bool wire_next(wire_t* wire);
// The content of the first field |number| that has a length; empty where there is none.
wire_t wire_find(wire_t message, uint32_t number);

// A buffer that grows; |failed| is set once there is no memory.
typedef struct bytes_s {
  uint8_t* data;
  size_t size, capacity;
  bool failed;
} bytes_t;
void bytes_append(bytes_t* bytes, const void* data, size_t size);
// Appends a field with a length; |number| must be less than 16.
void bytes_append_field(bytes_t* bytes, uint32_t number, const void* data, size_t size);

#endif  // LEAT_TOOLS_WIRE_H_
