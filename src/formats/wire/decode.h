// Decodes the bytes of a protocol buffer into the C struct that a descriptor describes
// (formats/wire/message.h). The bytes may come from anybody: depth, size and memory are limited,
// and malformed input gives a status and never a crash.
#ifndef LEAT_FORMATS_WIRE_DECODE_H_
#define LEAT_FORMATS_WIRE_DECODE_H_

#include "formats/wire/message.h"

#define LEAT_DECODE_MAX_DEPTH 100

typedef struct leat_decode_limits_s {
  uint32_t max_depth;       // messages inside messages; 0: 100, which is also the most
  uint64_t max_size_bytes;  // of the encoded message; 0: any
  uint64_t max_memory_bytes;  // taken from the arena; 0: any (at most some 200 times the size)
} leat_decode_limits_t;

// Decodes |bytes|, which must outlive the message: strings are views of it. |out_message| is the
// struct of |descriptor|; its old content is ignored. Semantics are proto3's: unknown fields are
// skipped, the last of several scalars wins, several of a singular message are merged, packed and
// unpacked lists are both read, the last of equal map keys wins. Work and memory are linear in the
// size, whatever the bytes. INVALID_ARGUMENT says which byte of which message breaks which rule;
// the struct must not be read then.
LEAT_MUST_USE leat_status_t leat_message_decode(const leat_message_descriptor_t* descriptor,
                                                leat_string_view_t bytes, leat_arena_t* arena,
                                                const leat_decode_limits_t* limits,
                                                void* out_message);

#endif  // LEAT_FORMATS_WIRE_DECODE_H_
