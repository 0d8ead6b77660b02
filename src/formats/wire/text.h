// The text form of protocol buffers (`node { name: "x" }`), by the same tables as the wire form.
#ifndef LEAT_FORMATS_WIRE_TEXT_H_
#define LEAT_FORMATS_WIRE_TEXT_H_

#include "base/string_builder.h"
#include "formats/wire/message.h"

#define LEAT_TEXT_MAX_DEPTH 100

// Parses |text|, which must outlive the message (strings without escapes are views of it), into
// |out_message|, the struct of |descriptor|. Takes what protobuf's own parser takes: `{}` or `<>`,
// `[a, b]` for lists, `;` or `,` after a field, `#` comments, enums by name or number, adjacent
// strings; not Any messages spelled out (`[type.url/name] { }`). INVALID_ARGUMENT names line and
// column; unknown names, fields given twice and numbers out of range are errors.
LEAT_MUST_USE leat_status_t leat_text_parse(const leat_message_descriptor_t* descriptor,
                                            leat_string_view_t text, leat_arena_t* arena,
                                            void* out_message);

typedef enum leat_text_style_e {
  LEAT_TEXT_LINES,  // a field a line, two spaces deeper a message
  LEAT_TEXT_SHORT,  // all on one line, for messages to people
} leat_text_style_t;

// Appends |message| as text: fields by number, map entries by key, all but printable ASCII escaped.
// INVALID_ARGUMENT when messages nest deeper than LEAT_TEXT_MAX_DEPTH.
LEAT_MUST_USE leat_status_t leat_text_print(const leat_message_descriptor_t* descriptor,
                                            const void* message, leat_text_style_t style,
                                            leat_string_builder_t* out);

#endif  // LEAT_FORMATS_WIRE_TEXT_H_
