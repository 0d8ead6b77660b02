// JSON into the bytes of a protocol buffer.
#ifndef LEAT_FORMATS_WIRE_JSON_WIRE_H_
#define LEAT_FORMATS_WIRE_JSON_WIRE_H_

#include "base/string_builder.h"
#include "formats/wire/message.h"

// Appends the message of |descriptor| that |json| states, its fields in the order of the text and
// lists unpacked, as protobuf's converter writes them. Names are the fields' own or in lower camel
// case; bytes are in base64; null leaves a field out. A google.protobuf.Value is the value itself.
// INVALID_ARGUMENT says where the text breaks which rule.
LEAT_MUST_USE leat_status_t leat_json_to_wire(const leat_message_descriptor_t* descriptor,
                                              leat_string_view_t json, leat_string_builder_t* out);

#endif  // LEAT_FORMATS_WIRE_JSON_WIRE_H_
