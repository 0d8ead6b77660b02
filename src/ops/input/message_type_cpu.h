// The fields of a message type that is not known when the library is built, as the ops on messages
// of any type need them. The type comes from a FileDescriptorSet: what protoc writes of .proto
// files. It is looked up once, when a kernel is made.
#ifndef LEAT_OPS_INPUT_MESSAGE_TYPE_CPU_H_
#define LEAT_OPS_INPUT_MESSAGE_TYPE_CPU_H_

#include "base/arena.h"
#include "formats/wire/message.h"
#include "formats/wire/wire.h"
#include "kernel/kernel.h"

// A value on its way between wire and tensor: the bits of a number, an integer of 32 bits with a
// sign extended to 64, or text.
typedef struct leat_wire_item_s {
  uint64_t bits;
  leat_string_view_t text;  // of strings, bytes and messages
} leat_wire_item_t;

// One field that an op reads or writes. It borrows from the arena that it was looked up with.
typedef struct leat_type_field_s {
  leat_string_view_t name;  // as the node's attribute has it
  uint32_t number;
  uint8_t kind;       // leat_field_kind_t
  uint8_t wire_type;  // leat_wire_type_t of one item
  bool is_repeated;
  bool is_packed;  // written packed; both forms are read
  int32_t place;   // in the node's list of fields
  leat_wire_item_t default_item;  // of a singular field that is absent; 0 or "" of others
} leat_type_field_t;

// The fields of a node, ordered by number and then by place.
typedef struct leat_type_fields_s {
  leat_type_field_t* items;
  int32_t count;
} leat_type_fields_t;

// Looks up the fields that the node's attribute "field_names" names, in the type "message_type" of
// "descriptor_source": a file, or "bytes://" and the bytes of one. Names of extensions are full
// ones, and are only known where |with_extensions|. INVALID_ARGUMENT for a source that is no
// FileDescriptorSet, and for a type or a field that it does not have. A group is a message whose
// wire type is LEAT_WIRE_GROUP_BEGIN.
// Nothing is known of "local://", the types that are linked into TensorFlow.
LEAT_MUST_USE leat_status_t leat_type_fields_find(const leat_kernel_creation_t* c,
                                                  bool with_extensions, leat_arena_t* arena,
                                                  leat_type_fields_t* out_fields);

// Whether tensors of |dtype| may hold the field: its own type, or for numbers of 32 bits the one of
// 64 bits.
bool leat_type_field_fits(const leat_type_field_t* field, int dtype);
// The name of the field's type in .proto files.
const char* leat_type_field_type_name(const leat_type_field_t* field);

// Reads one value of the field. NULL when the bytes end early or break a rule.
const uint8_t* leat_type_field_read(const leat_type_field_t* field, const uint8_t* next,
                                    const uint8_t* end, leat_wire_item_t* out_item);

// Reads the set of descriptors that the node's attribute "descriptor_source" names.
struct leat_pb_file_descriptor_set_s;
LEAT_MUST_USE leat_status_t leat_type_set_read(const leat_kernel_creation_t* c,
                                               leat_arena_t* arena,
                                               struct leat_pb_file_descriptor_set_s* out_set);
// Fills what is known of a field without a look at others: its number and how it is written.
struct leat_pb_field_descriptor_proto_s;
LEAT_MUST_USE leat_status_t leat_type_field_describe(
    const struct leat_pb_field_descriptor_proto_s* given, bool is_proto3,
    leat_type_field_t* inout_field);

#endif  // LEAT_OPS_INPUT_MESSAGE_TYPE_CPU_H_
