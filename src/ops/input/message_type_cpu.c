// Looks up fields in a FileDescriptorSet. Names are full: "package.Message.Nested". The package is
// one prefix of them, and what follows is a path through nested messages, which is walked name by
// name. Defaults, which a descriptor states as text, become items here, so that the kernels do not
// know their rules.
#include "ops/input/message_type_cpu.h"

#include <stdlib.h>

#include "base/file_system.h"
#include "formats/generated/descriptor.h"
#include "formats/wire/decode.h"
#include "formats/wire/text_scanner.h"

// The numbers of types in descriptors begin with 1.
#define LABEL_REPEATED 3
static const struct {
  uint8_t kind, wire_type;
  uint8_t dtype, wide_dtype;  // which tensors may hold it; 0: none
  const char* name;
} kTypes[] = {
    {LEAT_FIELD_DOUBLE, LEAT_WIRE_FIXED64, LEAT_DTYPE_DOUBLE, 0, "double"},
    {LEAT_FIELD_FLOAT, LEAT_WIRE_FIXED32, LEAT_DTYPE_FLOAT, LEAT_DTYPE_DOUBLE, "float"},
    {LEAT_FIELD_INT64, LEAT_WIRE_VARINT, LEAT_DTYPE_INT64, 0, "int64"},
    {LEAT_FIELD_UINT64, LEAT_WIRE_VARINT, LEAT_DTYPE_UINT64, 0, "uint64"},
    {LEAT_FIELD_INT32, LEAT_WIRE_VARINT, LEAT_DTYPE_INT32, LEAT_DTYPE_INT64, "int32"},
    {LEAT_FIELD_FIXED64, LEAT_WIRE_FIXED64, LEAT_DTYPE_UINT64, 0, "fixed64"},
    {LEAT_FIELD_FIXED32, LEAT_WIRE_FIXED32, LEAT_DTYPE_UINT32, LEAT_DTYPE_UINT64, "fixed32"},
    {LEAT_FIELD_BOOL, LEAT_WIRE_VARINT, LEAT_DTYPE_BOOL, 0, "bool"},
    {LEAT_FIELD_STRING, LEAT_WIRE_LENGTH, LEAT_DTYPE_STRING, 0, "string"},
    {LEAT_FIELD_MESSAGE, LEAT_WIRE_GROUP_BEGIN, LEAT_DTYPE_STRING, 0, "group"},
    {LEAT_FIELD_MESSAGE, LEAT_WIRE_LENGTH, LEAT_DTYPE_STRING, 0, "message"},
    {LEAT_FIELD_BYTES, LEAT_WIRE_LENGTH, LEAT_DTYPE_STRING, 0, "bytes"},
    {LEAT_FIELD_UINT32, LEAT_WIRE_VARINT, LEAT_DTYPE_UINT32, LEAT_DTYPE_UINT64, "uint32"},
    {LEAT_FIELD_ENUM, LEAT_WIRE_VARINT, LEAT_DTYPE_INT32, 0, "enum"},
    {LEAT_FIELD_SFIXED32, LEAT_WIRE_FIXED32, LEAT_DTYPE_INT32, LEAT_DTYPE_INT64, "sfixed32"},
    {LEAT_FIELD_SFIXED64, LEAT_WIRE_FIXED64, LEAT_DTYPE_INT64, 0, "sfixed64"},
    {LEAT_FIELD_SINT32, LEAT_WIRE_VARINT, LEAT_DTYPE_INT32, LEAT_DTYPE_INT64, "sint32"},
    {LEAT_FIELD_SINT64, LEAT_WIRE_VARINT, LEAT_DTYPE_INT64, 0, "sint64"},
};
#define TYPE_COUNT (int)(sizeof kTypes / sizeof *kTypes)

// The row of kTypes for a field that was found. A group is a message with another wire type.
static int type_of(const leat_type_field_t* field) {
  int type = 0;
  while (kTypes[type].kind != field->kind || kTypes[type].wire_type != field->wire_type) {
    ++type;
    LEAT_DCHECK(type < TYPE_COUNT);
  }
  return type;
}

bool leat_type_field_fits(const leat_type_field_t* field, int dtype) {
  const int type = type_of(field);
  return dtype != 0 && (dtype == kTypes[type].dtype || dtype == kTypes[type].wide_dtype);
}

const char* leat_type_field_type_name(const leat_type_field_t* field) {
  return kTypes[type_of(field)].name;
}

const uint8_t* leat_type_field_read(const leat_type_field_t* field, const uint8_t* next,
                                    const uint8_t* end, leat_wire_item_t* out_item) {
  switch (field->wire_type) {
    case LEAT_WIRE_LENGTH: return leat_wire_read_bytes(next, end, &out_item->text);
    case LEAT_WIRE_FIXED32:
      if (end - next < 4) return NULL;
      out_item->bits = leat_wire_load32(next);
      if (field->kind == LEAT_FIELD_SFIXED32) {
        out_item->bits = (uint64_t)(int64_t)(int32_t)out_item->bits;
      }
      return next + 4;
    case LEAT_WIRE_FIXED64:
      if (end - next < 8) return NULL;
      out_item->bits = leat_wire_load64(next);
      return next + 8;
    default: break;
  }
  next = leat_wire_read_varint(next, end, &out_item->bits);
  if (!next) return NULL;
  const uint64_t bits = out_item->bits;
  switch (field->kind) {
    case LEAT_FIELD_INT32:
    case LEAT_FIELD_ENUM: out_item->bits = (uint64_t)(int64_t)(int32_t)bits; break;
    case LEAT_FIELD_UINT32: out_item->bits = (uint32_t)bits; break;
    case LEAT_FIELD_SINT32: {
      const uint32_t low = (uint32_t)bits;
      out_item->bits = (uint64_t)(int64_t)(int32_t)(low >> 1 ^ (0 - (low & 1)));
      break;
    }
    case LEAT_FIELD_SINT64: out_item->bits = bits >> 1 ^ (0 - (bits & 1)); break;
    case LEAT_FIELD_BOOL: out_item->bits = bits != 0; break;
    default: break;
  }
  return next;
}

// ---- Names --------------------------------------------------------------------------------------

// Takes |prefix| and a dot off the front of |*inout_name|; an empty prefix is always there.
static bool take_scope(leat_string_view_t* inout_name, leat_string_view_t prefix) {
  leat_string_view_t name = *inout_name;
  if (prefix.size == 0) return true;
  if (!leat_string_view_starts_with(name, prefix) || name.size <= prefix.size ||
      name.data[prefix.size] != '.') {
    return false;
  }
  *inout_name = leat_string_view_from_index(name, prefix.size + 1);
  return true;
}

// Cuts the last name off a path: "a.b.c" into the scope "a.b" and "c".
static void split_name(leat_string_view_t path, leat_string_view_t* out_scope,
                       leat_string_view_t* out_name) {
  const size_t dot = leat_string_view_find_last(path, '.');
  const bool has_scope = dot != SIZE_MAX;
  *out_scope = leat_string_view_make(path.data, has_scope ? dot : 0);
  *out_name = has_scope ? leat_string_view_from_index(path, dot + 1) : path;
}

static const leat_pb_descriptor_proto_t* find_message_below(leat_pb_descriptor_proto_list_t list,
                                                            leat_string_view_t path) {
  for (size_t i = 0; i < list.count;) {
    const leat_pb_descriptor_proto_t* message = &list.items[i++];
    if (leat_string_view_equal(message->name, path)) return message;
    if (message->name.size == 0 || !take_scope(&path, message->name)) continue;
    list = message->nested_type;
    i = 0;
  }
  return NULL;
}

// The message called |name|, and the file that it is in; NULL: there is none.
static const leat_pb_descriptor_proto_t* find_message(const leat_pb_file_descriptor_set_t* set,
                                                      leat_string_view_t name,
                                                      const leat_pb_file_descriptor_proto_t**
                                                          out_file) {
  for (size_t i = 0; i < set->file.count; ++i) {
    *out_file = &set->file.items[i];
    leat_string_view_t path = name;
    if (!take_scope(&path, (*out_file)->package)) continue;
    const leat_pb_descriptor_proto_t* message =
        find_message_below((*out_file)->message_type, path);
    if (message) return message;
  }
  return NULL;
}

static const leat_pb_field_descriptor_proto_t* find_field(
    leat_pb_field_descriptor_proto_list_t list, leat_string_view_t name) {
  for (size_t i = 0; i < list.count; ++i) {
    if (leat_string_view_equal(list.items[i].name, name)) return &list.items[i];
  }
  return NULL;
}

// Extensions lie in a file or in a message, which is their scope.
static const leat_pb_field_descriptor_proto_t* find_extension(
    const leat_pb_file_descriptor_set_t* set, leat_string_view_t path,
    leat_string_view_t extended) {
  leat_string_view_t scope, name;
  const leat_pb_file_descriptor_proto_t* file;
  const leat_pb_field_descriptor_proto_t* field = NULL;
  split_name(path, &scope, &name);
  for (size_t i = 0; i < set->file.count && !field; ++i) {
    file = &set->file.items[i];
    if (leat_string_view_equal(file->package, scope)) field = find_field(file->extension, name);
  }
  const leat_pb_descriptor_proto_t* message = field ? NULL : find_message(set, scope, &file);
  if (message) field = find_field(message->extension, name);
  const bool fits = field && field->extendee.size > 0 && field->extendee.data[0] == '.' &&
                    leat_string_view_equal(leat_string_view_from_index(field->extendee, 1),
                                           extended);
  return fits ? field : NULL;
}

static const leat_pb_enum_descriptor_proto_t* find_enum_in(
    leat_pb_enum_descriptor_proto_list_t list, leat_string_view_t name) {
  for (size_t i = 0; i < list.count; ++i) {
    if (leat_string_view_equal(list.items[i].name, name)) return &list.items[i];
  }
  return NULL;
}

// The enumeration called ".|path|"; NULL: there is none.
static const leat_pb_enum_descriptor_proto_t* find_enum(const leat_pb_file_descriptor_set_t* set,
                                                        leat_string_view_t path) {
  leat_string_view_t scope, name;
  if (path.size == 0) return NULL;
  split_name(leat_string_view_from_index(path, 1), &scope, &name);
  for (size_t i = 0; i < set->file.count; ++i) {
    const leat_pb_file_descriptor_proto_t* file = &set->file.items[i];
    if (!leat_string_view_equal(file->package, scope)) continue;
    const leat_pb_enum_descriptor_proto_t* found = find_enum_in(file->enum_type, name);
    if (found) return found;
  }
  const leat_pb_file_descriptor_proto_t* unused;
  const leat_pb_descriptor_proto_t* message = find_message(set, scope, &unused);
  return message ? find_enum_in(message->enum_type, name) : NULL;
}

// ---- Defaults -----------------------------------------------------------------------------------

// The default of an enumeration is its first value, unless the field names another.
static void take_enum_default(const leat_pb_file_descriptor_set_t* set,
                              const leat_pb_field_descriptor_proto_t* given,
                              leat_type_field_t* field) {
  const leat_pb_enum_descriptor_proto_t* type = find_enum(set, given->type_name);
  for (size_t i = 0; type && i < type->value.count; ++i) {
    const bool is_named = leat_string_view_equal(type->value.items[i].name, given->default_value);
    if (i > 0 && !is_named) continue;
    field->default_item.bits = (uint64_t)(int64_t)type->value.items[i].number;
    if (is_named) return;
  }
}

// Descriptors escape the default of bytes as C does.
static leat_status_t take_bytes_default(const leat_pb_field_descriptor_proto_t* given,
                                        leat_arena_t* arena, leat_type_field_t* field) {
  const leat_string_view_t text = given->default_value;
  char* quoted;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, text.size + 2, (void**)&quoted));
  quoted[0] = quoted[text.size + 1] = '"';
  if (text.size) memcpy(quoted + 1, text.data, text.size);
  leat_text_scanner_t scanner = {quoted, quoted, quoted + text.size + 2};
  return leat_text_scanner_string(&scanner, arena, &field->default_item.text);
}

static leat_status_t take_default(const leat_pb_file_descriptor_set_t* set,
                                  const leat_pb_field_descriptor_proto_t* given,
                                  leat_arena_t* arena, leat_type_field_t* field) {
  const leat_string_view_t text = given->default_value;
  int64_t integer = 0;
  double number = 0;
  switch (field->kind) {
    case LEAT_FIELD_ENUM: take_enum_default(set, given, field); break;
    case LEAT_FIELD_BYTES: return take_bytes_default(given, arena, field);
    case LEAT_FIELD_STRING: field->default_item.text = text; break;
    case LEAT_FIELD_BOOL: field->default_item.bits = leat_string_view_equals(text, "true"); break;
    case LEAT_FIELD_DOUBLE:
      (void)leat_string_view_to_double(text, &number);
      memcpy(&field->default_item.bits, &number, sizeof number);
      break;
    case LEAT_FIELD_FLOAT: {
      (void)leat_string_view_to_double(text, &number);
      const float single = (float)number;
      memcpy(&field->default_item.bits, &single, sizeof single);
      break;
    }
    case LEAT_FIELD_MESSAGE: break;
    default:
      if (leat_string_view_to_int64(text, &integer)) {
        field->default_item.bits = (uint64_t)integer;
      } else {
        (void)leat_text_to_uint64(text, &field->default_item.bits);
      }
  }
  return leat_ok_status();
}

// ---- Looking up ---------------------------------------------------------------------------------

leat_status_t leat_type_set_read(const leat_kernel_creation_t* c, leat_arena_t* arena,
                                 leat_pb_file_descriptor_set_t* out_set) {
  leat_string_view_t source, bytes = {0};
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "descriptor_source", &source));
  if (leat_string_view_starts_with(source, LEAT_SV("bytes://"))) {
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, leat_string_view_from_index(source, 8),
                                                &bytes));
  } else if (source.size > 0 && !leat_string_view_equals(source, "local://")) {
    leat_string_view_t name;
    char* data;
    size_t size;
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, source, &name));
    leat_status_t status = leat_file_read_all(leat_file_system_default(), name.data,
                                              leat_allocator_system(), &data, &size);
    if (!status) {
      status = leat_arena_copy_string(arena, leat_string_view_make(data, size), &bytes);
      leat_allocator_free(leat_allocator_system(), data);
    }
    if (status) {
      // TensorFlow has one code for all that may be wrong with the source.
      leat_status_t refused =
          leat_make_status(LEAT_INVALID_ARGUMENT, "%s", leat_status_message(status));
      leat_status_free(status);
      return refused;
    }
  }
  return leat_message_decode(&leat_pb_file_descriptor_set_descriptor, bytes, arena, NULL, out_set);
}

leat_status_t leat_type_field_describe(const leat_pb_field_descriptor_proto_t* given,
                                       bool is_proto3, leat_type_field_t* field) {
  if (given->type < 1 || given->type > TYPE_COUNT || given->number < 1 ||
      (uint32_t)given->number > LEAT_WIRE_MAX_FIELD_NUMBER) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "field %.*s has type %d and number %d",
                            LEAT_SV_ARG(field->name), given->type, given->number);
  }
  field->number = (uint32_t)given->number;
  field->kind = kTypes[given->type - 1].kind;
  field->wire_type = kTypes[given->type - 1].wire_type;
  field->is_repeated = given->label == LABEL_REPEATED;
  const bool is_set = given->options && given->options->presence_case;
  field->is_packed = field->is_repeated && field->kind != LEAT_FIELD_STRING &&
                     field->kind != LEAT_FIELD_BYTES && field->kind != LEAT_FIELD_MESSAGE &&
                     (is_set ? given->options->packed : is_proto3);
  return leat_ok_status();
}

static int compare_fields(const void* a, const void* b) {
  const leat_type_field_t *x = a, *y = b;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return (x->place > y->place) - (x->place < y->place);
}

leat_status_t leat_type_fields_find(const leat_kernel_creation_t* c, bool with_extensions,
                                    leat_arena_t* arena, leat_type_fields_t* out_fields) {
  leat_string_view_t type;
  const leat_attr_value_t* names;
  leat_pb_file_descriptor_set_t set;
  const leat_pb_file_descriptor_proto_t* file;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "field_names", &names));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "message_type", &type));
  LEAT_RETURN_IF_ERROR(leat_type_set_read(c, arena, &set));
  const leat_pb_descriptor_proto_t* message = find_message(&set, type, &file);
  if (!message) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "No descriptor found for message type %.*s",
                            LEAT_SV_ARG(type));
  }
  const bool is_proto3 = leat_string_view_equals(file->syntax, "proto3");
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, names->count, &out_fields->items));
  out_fields->count = (int32_t)names->count;
  for (uint32_t i = 0; i < names->count; ++i) {
    leat_type_field_t* field = &out_fields->items[i];
    *field = (leat_type_field_t){.place = (int32_t)i};
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, names->strings[i], &field->name));
    const leat_pb_field_descriptor_proto_t* given = find_field(message->field, field->name);
    if (!given && with_extensions) given = find_extension(&set, field->name, type);
    if (!given) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "Unknown field: %.*s in message type %.*s",
                              LEAT_SV_ARG(field->name), LEAT_SV_ARG(type));
    }
    LEAT_RETURN_IF_ERROR(leat_type_field_describe(given, is_proto3, field));
    if (!field->is_repeated) LEAT_RETURN_IF_ERROR(take_default(&set, given, arena, field));
  }
  if (names->count > 0) {
    qsort(out_fields->items, names->count, sizeof *out_fields->items, compare_fields);
  }
  return leat_ok_status();
}
