// A message struct into protocol buffer bytes.
#ifndef LEAT_FORMATS_WIRE_ENCODE_H_
#define LEAT_FORMATS_WIRE_ENCODE_H_

#include "base/string_builder.h"
#include "formats/wire/message.h"

// Deeper messages are refused (INVALID_ARGUMENT): nobody's decoder would take them.
#define LEAT_ENCODE_MAX_DEPTH 200

// Appends |message| to |out|. Equal messages give equal bytes: fields by number, map entries by
// key, proto3 defaults left out except in a oneof; map entries have both fields. Linear in the
// output.
LEAT_MUST_USE leat_status_t leat_message_encode(const leat_message_descriptor_t* descriptor,
                                                const void* message, leat_string_builder_t* out);
// Appends field |number| of a message that is encoded piece by piece: |bytes| are an encoded
// message or text.
void leat_message_append_field(leat_string_builder_t* out, uint32_t number,
                               leat_string_view_t bytes);
// Appends a varint.
void leat_wire_append_varint(leat_string_builder_t* out, uint64_t value);

#endif  // LEAT_FORMATS_WIRE_ENCODE_H_
