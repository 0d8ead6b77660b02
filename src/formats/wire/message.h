// Protocol buffer messages as plain C structs, described by tables. dev/generate-messages makes a
// struct and a descriptor for each message of src/formats/proto/; the decoder, the encoder, the
// text format and JSON all work from the descriptor alone, so that one piece of code serves every
// message.
//
//   string, bytes      leat_string_view_t, borrowed
//   message            pointer, NULL when absent
//   repeated X         leat_<x>_list_t { X* items; size_t count; }; messages lie in it by value
//   map<K, V>          list of entries { key; value }, no key twice; a message value is a pointer
//   enum               int32_t
//   oneof              plain fields, and <name>_case: the number of the one that is set, 0 for none
//
// A zeroed struct is an empty message, so one that is written by hand states only what it sets:
//
//   leat_pb_tensor_shape_proto_t shape = {.unknown_rank = true};
//   leat_message_encode(&leat_pb_tensor_shape_proto_descriptor, &shape, &bytes);
//
// Structs own nothing: everything lies in the arena that they were decoded into (strings: in the
// decoded bytes). Descriptors are constant.
#ifndef LEAT_FORMATS_WIRE_MESSAGE_H_
#define LEAT_FORMATS_WIRE_MESSAGE_H_

#include "base/arena.h"
#include "base/status.h"
#include "base/string_view.h"

// The types of the language of .proto files, which decide how a value is encoded and which C type
// holds it. INT32 and INT64 are varints of the two's complement, SINT32 and SINT64 varints with the
// sign in the lowest bit, and the FIXED ones take four or eight bytes.
typedef enum leat_field_kind_e {
  LEAT_FIELD_DOUBLE,
  LEAT_FIELD_FLOAT,
  LEAT_FIELD_INT32,
  LEAT_FIELD_INT64,
  LEAT_FIELD_UINT32,
  LEAT_FIELD_UINT64,
  LEAT_FIELD_SINT32,
  LEAT_FIELD_SINT64,
  LEAT_FIELD_FIXED32,
  LEAT_FIELD_FIXED64,
  LEAT_FIELD_SFIXED32,
  LEAT_FIELD_SFIXED64,
  LEAT_FIELD_BOOL,
  LEAT_FIELD_ENUM,
  LEAT_FIELD_STRING,
  LEAT_FIELD_BYTES,
  LEAT_FIELD_MESSAGE,
} leat_field_kind_t;

// How often a field occurs.
typedef enum leat_field_label_e {
  LEAT_FIELD_SINGULAR,
  LEAT_FIELD_REPEATED,  // each item is written with its tag
  LEAT_FIELD_PACKED,    // repeated scalars, written packed; read either way
  LEAT_FIELD_MAP,       // repeated, of entries
} leat_field_label_t;

typedef struct leat_message_descriptor_s leat_message_descriptor_t;
typedef struct leat_enum_descriptor_s leat_enum_descriptor_t;

// One field of a message.
typedef struct leat_message_field_s {
  const char* name;
  uint32_t number;
  // A leat_field_kind_t, and next to it a leat_field_label_t.
  uint8_t kind;
  uint8_t label;
  uint8_t wire_type;    // leat_wire_type_t of one item
  int8_t list_index;    // of the repeated field among the message's repeated fields, or -1
  // Where the field lies in the struct of the message, in bytes.
  int32_t offset;
  int32_t case_offset;  // of the oneof's case, or -1
  // What a field of kind MESSAGE or a map holds, and the values of an ENUM; NULL for other kinds.
  const leat_message_descriptor_t* message;
  const leat_enum_descriptor_t* enumeration;
} leat_message_field_t;

// Limits on which the codec sizes its arrays; dev/generate-messages refuses a message beyond them.
#define LEAT_MESSAGE_MAX_FIELDS 64
#define LEAT_MESSAGE_MAX_LISTS 32
// Tags that one byte holds: those of the fields 1 to 15.
#define LEAT_MESSAGE_SHORT_TAGS 128

// A message: its name, the size of its struct, and its fields.
struct leat_message_descriptor_s {
  const char* name;  // "tensorflow.NodeDef"
  uint32_t size_bytes;
  uint16_t field_count;  // <= LEAT_MESSAGE_MAX_FIELDS
  uint16_t list_count;   // <= LEAT_MESSAGE_MAX_LISTS
  const leat_message_field_t* fields;  // by number
  const uint8_t* field_by_tag;  // of one-byte tags (number << 3 | wire type): field index + 1, or 0
  bool is_map_entry;  // fields: key 1, value 2
};

// One name of an enumeration; several names may have one number.
typedef struct leat_enum_value_s {
  const char* name;
  int32_t number;
} leat_enum_value_t;

// An enumeration: its values in the order of the .proto file.
struct leat_enum_descriptor_s {
  const char* name;
  const leat_enum_value_t* values;
  size_t value_count;
};

// Lists of scalars; those of messages are in the generated headers. |items| is NULL or an array in
// an arena; a reader needs no test of it where |count| is 0.
#define LEAT_PB_LIST_TYPE_(name, type)  \
  typedef struct leat_pb_##name##_s {   \
    type* items;                        \
    size_t count;                       \
  } leat_pb_##name##_t
LEAT_PB_LIST_TYPE_(int32_list, int32_t);
LEAT_PB_LIST_TYPE_(int64_list, int64_t);
LEAT_PB_LIST_TYPE_(uint32_list, uint32_t);
LEAT_PB_LIST_TYPE_(uint64_list, uint64_t);
LEAT_PB_LIST_TYPE_(float_list, float);
LEAT_PB_LIST_TYPE_(double_list, double);
LEAT_PB_LIST_TYPE_(bool_list, bool);
LEAT_PB_LIST_TYPE_(string_list, leat_string_view_t);
// Any of the lists, as the codec sees them.
LEAT_PB_LIST_TYPE_(list, void);

// The field with |number|, by bisection. NULL when the message has no such field.
const leat_message_field_t* leat_message_find_field(const leat_message_descriptor_t* descriptor,
                                                    uint32_t number);
// The field with |name|, by a walk over all; NULL when there is none. It serves text formats only.
const leat_message_field_t* leat_message_find_field_by_name(
    const leat_message_descriptor_t* descriptor, leat_string_view_t name);
// Bytes of one value of the field: a scalar, a view, a pointer; of a list, one item.
size_t leat_message_field_size(const leat_message_field_t* field);
// "DT_FLOAT"; NULL when the number has no name.
const char* leat_enum_name(const leat_enum_descriptor_t* descriptor, int32_t number);
// The number of an enumerator; false when |name| is none, and |*out_number| is then unchanged.
bool leat_enum_number(const leat_enum_descriptor_t* descriptor, leat_string_view_t name,
                      int32_t* out_number);

// Adds a zeroed item to a list that only this function grew, and gives its address. The room
// doubles, so earlier items move and the old room stays in the arena. |list| is any
// leat_pb_*_list_t.
LEAT_MUST_USE leat_status_t leat_message_list_append(leat_arena_t* arena, void* list,
                                                     size_t item_bytes, void** out_item);

#endif  // LEAT_FORMATS_WIRE_MESSAGE_H_
