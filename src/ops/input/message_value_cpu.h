// Messages of any type as values: they are read from their text or binary form, with all messages
// inside, and written in the binary form that protobuf's C++ library writes. The types come from a
// FileDescriptorSet (ops/input/message_type_cpu.h). DecodeProtoV2 reads what comes of it.
//
//   text   ──▶ message_text_cpu.c ──▶ values ──▶ fields by number, then
//   binary ──▶ message_value_cpu.c ─▶            what is unknown
//
// Everything that a reading makes lies in its arena.
#ifndef LEAT_OPS_INPUT_MESSAGE_VALUE_CPU_H_
#define LEAT_OPS_INPUT_MESSAGE_VALUE_CPU_H_

#include "formats/generated/descriptor.h"
#include "ops/input/message_type_cpu.h"

// ---- Types (message_schema_cpu.c) ---------------------------------------------------------------

typedef struct leat_type_s leat_type_t;

// A field of a type, with what is known of it beside how it is written.
typedef struct leat_type_member_s {
  leat_type_field_t field;
  leat_string_view_t group_name;  // of a group: that of its type, by which the text form calls it
  const leat_type_t* message;                          // of a field of kind MESSAGE
  const leat_pb_enum_descriptor_proto_t* enumeration;  // NULL: none, or not in the set
  int32_t oneof;     // of the message; -1: none
  bool is_extension;
  bool is_required;
  bool has_presence;  // a value of zero is written too
  bool is_closed;     // an enumeration of which other values are unknown fields
  bool is_utf8;       // other bytes are refused in the binary form
} leat_type_member_t;

// A name of the text form.
typedef struct leat_type_name_s {
  leat_string_view_t name;
  bool is_extension;
  const leat_type_member_t* member;
} leat_type_name_t;

struct leat_type_s {
  leat_string_view_t name;      // the full one
  leat_type_member_t* members;  // by number
  leat_type_name_t* names;      // in order
  size_t count, name_count;
  size_t oneof_count;  // at most |count|
  bool is_map_entry;   // absent fields are written too
  // Of the set, while the types are made.
  const leat_pb_descriptor_proto_t* given;
  const leat_pb_file_descriptor_proto_t* file;
};

// Finds the type that the node's attributes "message_type" and "descriptor_source" name, with all
// types that it refers to, in |arena|. INVALID_ARGUMENT where a type is not in the set, or a field
// is none that there can be.
LEAT_MUST_USE leat_status_t leat_type_find(const leat_kernel_creation_t* c, leat_arena_t* arena,
                                           const leat_type_t** out_type);
// NULL: there is none.
const leat_type_member_t* leat_type_member_by_number(const leat_type_t* type, uint32_t number);
// Of a name in the text form, which is in brackets where |is_extension|.
const leat_type_member_t* leat_type_member_by_name(const leat_type_t* type,
                                                   leat_string_view_t name, bool is_extension);
// Finds the number of a value by its name; false: there is none.
bool leat_type_enum_number(const leat_type_member_t* member, leat_string_view_t name,
                           int32_t* out_number);
bool leat_type_enum_has(const leat_type_member_t* member, int32_t number);

// ---- Values (message_value_cpu.c) ---------------------------------------------------------------

#define LEAT_MESSAGE_MAX_DEPTH 100

typedef struct leat_any_message_s leat_any_message_t;

// One value of a field: a number or a text, or a message.
typedef struct leat_value_s {
  struct leat_value_s* next;  // of the same field
  leat_wire_item_t item;
  leat_any_message_t* message;
} leat_value_t;

typedef struct leat_values_s {
  leat_value_t *first, *last;
} leat_values_t;

struct leat_any_message_s {
  const leat_type_t* type;
  leat_values_t* fields;   // [type->count]
  leat_values_t** oneofs;  // [type->oneof_count] that of |fields| which is set; NULL: none
  leat_values_t unknown;  // the bytes of fields, with their tags
};

LEAT_MUST_USE leat_status_t leat_message_create(const leat_type_t* type, leat_arena_t* arena,
                                                leat_any_message_t** out_message);
// Makes room for a value of |member|: one more of a repeated field; else the one of the field,
// which excludes those of its oneof. That of a message that is there already stays, to be read
// into.
LEAT_MUST_USE leat_status_t leat_message_put(leat_any_message_t* message,
                                             const leat_type_member_t* member, leat_arena_t* arena,
                                             leat_value_t** out_value);

// Fills a message from its text. DATA_LOSS where that is none. (message_text_cpu.c)
LEAT_MUST_USE leat_status_t leat_message_read_text(leat_any_message_t* message,
                                                   leat_string_view_t text, leat_arena_t* arena);

// Sets element |index| of the string tensor |out| to the message in |bytes|, as it is written anew.
// DATA_LOSS where |bytes| are no message, or one without a field that it must have.
LEAT_MUST_USE leat_status_t leat_message_rewrite(const leat_type_t* type, bool is_text,
                                                 leat_string_view_t bytes, leat_tensor_t* out,
                                                 int64_t index);

#endif  // LEAT_OPS_INPUT_MESSAGE_VALUE_CPU_H_
