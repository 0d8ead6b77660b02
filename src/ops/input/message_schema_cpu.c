// The types of messages as values (ops/input/message_value_cpu.h), from a FileDescriptorSet. First
// all messages, enumerations and extensions of the set are found by their full names, and then each
// type gets its fields, which refer to each other's types by pointers. So a type may contain
// itself, and nothing is searched twice.
#include <stdlib.h>

#include "base/checked.h"
#include "base/map.h"
#include "base/string_builder.h"
#include "ops/input/message_value_cpu.h"

enum { LABEL_REQUIRED = 2 };

typedef struct extension_s {
  const leat_pb_field_descriptor_proto_t* given;
  const leat_pb_file_descriptor_proto_t* file;
  leat_string_view_t name;
  struct extension_s* next;  // of the same message
} extension_t;

// Maps from full names. The names lie in the arena.
typedef struct schema_s {
  leat_arena_t* arena;
  leat_string_map_t types;       // -> leat_type_t
  leat_string_map_t enums;       // -> leat_pb_enum_descriptor_proto_t
  leat_string_map_t extensions;  // of the message that is extended -> extension_t, the first
} schema_t;

static leat_status_t join_names(schema_t* schema, leat_string_view_t scope, leat_string_view_t name,
                                leat_string_view_t* out_name) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_print(&text, "%.*s%s%.*s", LEAT_SV_ARG(scope), scope.size ? "." : "",
                            LEAT_SV_ARG(name));
  leat_status_t status = leat_status_clone(text.status);
  if (!status) {
    status = leat_arena_copy_string(schema->arena, leat_string_builder_view(&text), out_name);
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

// The name that a descriptor refers to: a full one, behind a dot.
static leat_string_view_t referred(leat_string_view_t name) {
  return name.size && name.data[0] == '.' ? leat_string_view_from_index(name, 1) : name;
}

// ---- Finding what there is ----------------------------------------------------------------------

static leat_status_t add_extensions(schema_t* schema, const leat_pb_file_descriptor_proto_t* file,
                                    leat_string_view_t scope,
                                    leat_pb_field_descriptor_proto_list_t list) {
  for (size_t i = 0; i < list.count; ++i) {
    extension_t* extension;
    uint64_t word = 0;
    const leat_string_view_t extended = referred(list.items[i].extendee);
    LEAT_RETURN_IF_ERROR(LEAT_NEW(schema->arena, 1, &extension));
    (void)leat_string_map_get(&schema->extensions, extended, &word);
    *extension = (extension_t){.given = &list.items[i], .file = file, .next = (extension_t*)word};
    LEAT_RETURN_IF_ERROR(join_names(schema, scope, list.items[i].name, &extension->name));
    LEAT_RETURN_IF_ERROR(
        leat_string_map_set(&schema->extensions, extended, (uint64_t)(uintptr_t)extension));
  }
  return leat_ok_status();
}

static leat_status_t add_enums(schema_t* schema, leat_string_view_t scope,
                               leat_pb_enum_descriptor_proto_list_t list) {
  for (size_t i = 0; i < list.count; ++i) {
    leat_string_view_t name;
    LEAT_RETURN_IF_ERROR(join_names(schema, scope, list.items[i].name, &name));
    LEAT_RETURN_IF_ERROR(
        leat_string_map_set(&schema->enums, name, (uint64_t)(uintptr_t)&list.items[i]));
  }
  return leat_ok_status();
}

// Messages nest no deeper in the set than the decoder reads them.
static leat_status_t add_messages(schema_t* schema, const leat_pb_file_descriptor_proto_t* file,
                                  leat_string_view_t scope,
                                  leat_pb_descriptor_proto_list_t list) {
  for (size_t i = 0; i < list.count; ++i) {
    const leat_pb_descriptor_proto_t* given = &list.items[i];
    leat_type_t* type;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(schema->arena, 1, &type));
    *type = (leat_type_t){.given = given, .file = file};
    LEAT_RETURN_IF_ERROR(join_names(schema, scope, given->name, &type->name));
    LEAT_RETURN_IF_ERROR(
        leat_string_map_set(&schema->types, type->name, (uint64_t)(uintptr_t)type));
    LEAT_RETURN_IF_ERROR(add_enums(schema, type->name, given->enum_type));
    LEAT_RETURN_IF_ERROR(add_extensions(schema, file, type->name, given->extension));
    LEAT_RETURN_IF_ERROR(add_messages(schema, file, type->name, given->nested_type));
  }
  return leat_ok_status();
}

static leat_status_t add_files(schema_t* schema, const leat_pb_file_descriptor_set_t* set) {
  for (size_t i = 0; i < set->file.count; ++i) {
    const leat_pb_file_descriptor_proto_t* file = &set->file.items[i];
    LEAT_RETURN_IF_ERROR(add_enums(schema, file->package, file->enum_type));
    LEAT_RETURN_IF_ERROR(add_extensions(schema, file, file->package, file->extension));
    LEAT_RETURN_IF_ERROR(add_messages(schema, file, file->package, file->message_type));
  }
  return leat_ok_status();
}

// ---- Fields -------------------------------------------------------------------------------------

// The name of a type without its scope.
static leat_string_view_t last_name(leat_string_view_t name) {
  const size_t dot = leat_string_view_find_last(name, '.');
  return dot == SIZE_MAX ? name : leat_string_view_from_index(name, dot + 1);
}

static leat_status_t fill_member(const schema_t* schema,
                                 const leat_pb_field_descriptor_proto_t* given,
                                 const leat_pb_file_descriptor_proto_t* file, bool is_map_entry,
                                 leat_type_member_t* member) {
  const bool is_proto3 = leat_string_view_equals(file->syntax, "proto3");
  const leat_string_view_t type = referred(given->type_name);
  uint64_t word = 0;
  member->field.name = given->name;
  LEAT_RETURN_IF_ERROR(leat_type_field_describe(given, is_proto3, &member->field));
  const bool is_message = member->field.kind == LEAT_FIELD_MESSAGE;
  if (is_message && !leat_string_map_get(&schema->types, type, &word)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "field %.*s has the message type %.*s, must be "
                            "one of the descriptors", LEAT_SV_ARG(given->name), LEAT_SV_ARG(type));
  }
  member->message = (const leat_type_t*)(uintptr_t)word;
  if (member->field.wire_type == LEAT_WIRE_GROUP_BEGIN) member->group_name = last_name(type);
  word = 0;
  if (member->field.kind == LEAT_FIELD_ENUM) {
    (void)leat_string_map_get(&schema->enums, type, &word);
  }
  member->enumeration = (const leat_pb_enum_descriptor_proto_t*)(uintptr_t)word;
  member->oneof = given->membership_case ? given->oneof_index : -1;
  member->is_required = given->label == LABEL_REQUIRED;
  member->has_presence = !is_proto3 || is_message || is_map_entry || member->oneof >= 0;
  member->is_closed = member->enumeration && !is_proto3;
  member->is_utf8 = is_proto3 && member->field.kind == LEAT_FIELD_STRING;
  return leat_ok_status();
}

static int compare_members(const void* a, const void* b) {
  const uint32_t one = ((const leat_type_member_t*)a)->field.number;
  const uint32_t other = ((const leat_type_member_t*)b)->field.number;
  return (one > other) - (one < other);
}

static int compare_names(const void* a, const void* b) {
  const leat_type_name_t *one = a, *other = b;
  if (one->is_extension != other->is_extension) return one->is_extension ? 1 : -1;
  return leat_string_view_compare(one->name, other->name);
}

// A group has two names.
static leat_status_t fill_names(const schema_t* schema, leat_type_t* type) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(schema->arena, 2 * type->count, &type->names));
  for (size_t i = 0; i < type->count; ++i) {
    const leat_type_member_t* member = &type->members[i];
    type->names[type->name_count++] =
        (leat_type_name_t){member->field.name, member->is_extension, member};
    if (!member->group_name.size) continue;
    type->names[type->name_count++] =
        (leat_type_name_t){member->group_name, member->is_extension, member};
  }
  if (type->name_count) {
    qsort(type->names, type->name_count, sizeof *type->names, compare_names);
  }
  return leat_ok_status();
}

static leat_status_t count_oneofs(leat_type_t* type) {
  for (size_t i = 0; i < type->count; ++i) {
    const leat_type_member_t* member = &type->members[i];
    if (member->oneof >= (int64_t)type->count || member->oneof < -1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "field %.*s has the oneof_index %d, must be "
                              "within the %zu fields of its message",
                              LEAT_SV_ARG(member->field.name), member->oneof, type->count);
    }
    type->oneof_count = LEAT_MAX(type->oneof_count, (size_t)(member->oneof + 1));
  }
  return leat_ok_status();
}

static leat_status_t fill_type(const schema_t* schema, leat_type_t* type) {
  const leat_pb_descriptor_proto_t* given = type->given;
  type->is_map_entry = given->options && given->options->map_entry;
  uint64_t word = 0;
  size_t count = given->field.count;
  (void)leat_string_map_get(&schema->extensions, type->name, &word);
  extension_t* first = (extension_t*)(uintptr_t)word;
  for (const extension_t* e = first; e; e = e->next) ++count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(schema->arena, count, &type->members));
  for (size_t i = 0; i < given->field.count; ++i) {
    LEAT_RETURN_IF_ERROR(fill_member(schema, &given->field.items[i], type->file, type->is_map_entry,
                                     &type->members[type->count++]));
  }
  for (const extension_t* e = first; e; e = e->next) {
    leat_type_member_t* member = &type->members[type->count++];
    LEAT_RETURN_IF_ERROR(fill_member(schema, e->given, e->file, true, member));
    member->is_extension = true;
    member->field.name = e->name;
  }
  if (count) qsort(type->members, count, sizeof *type->members, compare_members);
  LEAT_RETURN_IF_ERROR(count_oneofs(type));
  return fill_names(schema, type);
}

static leat_status_t make_types(schema_t* schema, const leat_pb_file_descriptor_set_t* set,
                                leat_string_view_t name, const leat_type_t** out_type) {
  uint64_t word;
  LEAT_RETURN_IF_ERROR(add_files(schema, set));
  for (size_t i = 0; i < schema->types.count; ++i) {
    LEAT_RETURN_IF_ERROR(
        fill_type(schema, (leat_type_t*)(uintptr_t)schema->types.entries[i].value));
  }
  if (leat_string_map_get(&schema->types, name, &word)) {
    *out_type = (const leat_type_t*)(uintptr_t)word;
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "No descriptor found for message type %.*s",
                          LEAT_SV_ARG(name));
}

leat_status_t leat_type_find(const leat_kernel_creation_t* c, leat_arena_t* arena,
                             const leat_type_t** out_type) {
  leat_string_view_t name;
  leat_pb_file_descriptor_set_t set;
  schema_t schema = {.arena = arena};
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "message_type", &name));
  LEAT_RETURN_IF_ERROR(leat_type_set_read(c, arena, &set));
  leat_string_map_initialize(leat_allocator_system(), &schema.types);
  leat_string_map_initialize(leat_allocator_system(), &schema.enums);
  leat_string_map_initialize(leat_allocator_system(), &schema.extensions);
  leat_status_t status = make_types(&schema, &set, name, out_type);
  leat_string_map_deinitialize(&schema.types);
  leat_string_map_deinitialize(&schema.enums);
  leat_string_map_deinitialize(&schema.extensions);
  return status;
}

// ---- Looking up ---------------------------------------------------------------------------------

static int compare_number(const void* key, const void* item) {
  const uint32_t number = *(const uint32_t*)key;
  const uint32_t other = ((const leat_type_member_t*)item)->field.number;
  return (number > other) - (number < other);
}

const leat_type_member_t* leat_type_member_by_number(const leat_type_t* type, uint32_t number) {
  if (!type->count) return NULL;
  return bsearch(&number, type->members, type->count, sizeof *type->members, compare_number);
}

const leat_type_member_t* leat_type_member_by_name(const leat_type_t* type,
                                                   leat_string_view_t name, bool is_extension) {
  const leat_type_name_t key = {.name = name, .is_extension = is_extension};
  if (!type->name_count) return NULL;
  const leat_type_name_t* found =
      bsearch(&key, type->names, type->name_count, sizeof *type->names, compare_names);
  return found ? found->member : NULL;
}

bool leat_type_enum_number(const leat_type_member_t* member, leat_string_view_t name,
                           int32_t* out_number) {
  const leat_pb_enum_descriptor_proto_t* type = member->enumeration;
  for (size_t i = 0; type && i < type->value.count; ++i) {
    if (!leat_string_view_equal(type->value.items[i].name, name)) continue;
    *out_number = type->value.items[i].number;
    return true;
  }
  return false;
}

bool leat_type_enum_has(const leat_type_member_t* member, int32_t number) {
  const leat_pb_enum_descriptor_proto_t* type = member->enumeration;
  for (size_t i = 0; type && i < type->value.count; ++i) {
    if (type->value.items[i].number == number) return true;
  }
  return false;
}
