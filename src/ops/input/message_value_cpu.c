// Reads messages of any type from their binary form into values, and writes values
// (ops/input/message_value_cpu.h). As in protobuf's C++ library the last value of a singular field
// counts, but a message is merged into the one before it; values whose wire type does not fit, and
// numbers that a closed enumeration does not have, are unknown fields, which are kept and written
// behind all others. Calls nest as deep as messages do, up to LEAT_MESSAGE_MAX_DEPTH.
#include "ops/input/message_value_cpu.h"

#include <string.h>

#include "base/string_builder.h"
#include "formats/wire/utf8.h"

// ---- Values -------------------------------------------------------------------------------------

leat_status_t leat_message_create(const leat_type_t* type, leat_arena_t* arena,
                                  leat_any_message_t** out_message) {
  leat_any_message_t* message;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &message));
  *message = (leat_any_message_t){.type = type};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, type->count, &message->fields));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, type->oneof_count, &message->oneofs));
  *out_message = message;
  return leat_ok_status();
}

static leat_status_t append_value(leat_values_t* values, leat_arena_t* arena,
                                  leat_value_t** out_value) {
  leat_value_t* value;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value));
  if (values->last) {
    values->last->next = value;
  } else {
    values->first = value;
  }
  values->last = *out_value = value;
  return leat_ok_status();
}

leat_status_t leat_message_put(leat_any_message_t* message, const leat_type_member_t* member,
                               leat_arena_t* arena, leat_value_t** out_value) {
  leat_values_t* values = &message->fields[member - message->type->members];
  if (member->oneof >= 0) {
    leat_values_t** set = &message->oneofs[member->oneof];
    if (*set && *set != values) **set = (leat_values_t){0};
    *set = values;
  }
  if (member->field.is_repeated || !values->first) {
    LEAT_RETURN_IF_ERROR(append_value(values, arena, out_value));
  } else {
    *out_value = values->first;
  }
  if (!member->message || (*out_value)->message) return leat_ok_status();
  return leat_message_create(member->message, arena, &(*out_value)->message);
}

// ---- Reading ------------------------------------------------------------------------------------

typedef struct reading_s {
  leat_arena_t* arena;
  const uint8_t* end;
} reading_t;

static leat_status_t malformed(void) {
  return leat_make_status(LEAT_DATA_LOSS, "Unable to parse binary protobuf");
}

static leat_status_t keep_unknown(leat_any_message_t* message, const uint8_t* begin,
                                  const uint8_t* end, leat_arena_t* arena) {
  leat_value_t* value;
  LEAT_RETURN_IF_ERROR(append_value(&message->unknown, arena, &value));
  value->item.text = leat_string_view_make((const char*)begin, (size_t)(end - begin));
  return leat_ok_status();
}

// Whether the field has this value. A number is unknown where its enumeration is closed and lacks
// it.
static bool is_known(const leat_type_member_t* member, leat_wire_item_t item) {
  return !member->is_closed || leat_type_enum_has(member, (int32_t)item.bits);
}

static leat_status_t put_item(leat_any_message_t* message, const leat_type_member_t* member,
                              leat_wire_item_t item, leat_arena_t* arena) {
  leat_value_t* value;
  if (member->is_utf8 && !leat_utf8_is_valid(item.text)) return malformed();
  LEAT_RETURN_IF_ERROR(leat_message_put(message, member, arena, &value));
  value->item = item;
  return leat_ok_status();
}

// Of packed numbers that are unknown, each becomes a field of its own.
static leat_status_t keep_unknown_number(leat_any_message_t* message,
                                         const leat_type_member_t* member, uint64_t bits,
                                         leat_arena_t* arena) {
  uint8_t* bytes;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 2 * LEAT_WIRE_MAX_VARINT_BYTES, &bytes));
  uint8_t* end = leat_wire_write_varint(bytes, (uint64_t)member->field.number << 3);
  return keep_unknown(message, bytes, leat_wire_write_varint(end, bits), arena);
}

static leat_status_t read_packed(leat_any_message_t* message, const leat_type_member_t* member,
                                 leat_string_view_t bytes, leat_arena_t* arena) {
  const uint8_t* next = (const uint8_t*)bytes.data;
  const uint8_t* end = next + bytes.size;
  while (next < end) {
    leat_wire_item_t item = {0};
    next = leat_type_field_read(&member->field, next, end, &item);
    if (!next) return malformed();
    LEAT_RETURN_IF_ERROR(is_known(member, item)
                             ? put_item(message, member, item, arena)
                             : keep_unknown_number(message, member, item.bits, arena));
  }
  return leat_ok_status();
}

// Reads the fields up to |r->end|, or, where |group| is not 0, up to its end tag. |*inout_next| is
// moved behind what was read.
static leat_status_t read_fields(leat_any_message_t* message, reading_t* r, uint32_t group,
                                 int depth, const uint8_t** inout_next);

static leat_status_t read_message(leat_any_message_t* message, leat_string_view_t bytes,
                                  leat_arena_t* arena, int depth) {
  const uint8_t* next = (const uint8_t*)bytes.data;
  reading_t inner = {arena, next + bytes.size};
  return read_fields(message, &inner, 0, depth, &next);
}

// Reads the value of a field that |message| has, whose tag was read.
static leat_status_t read_value(leat_any_message_t* message, const leat_type_member_t* member,
                                reading_t* r, int depth, const uint8_t* tag,
                                const uint8_t** inout_next) {
  leat_value_t* value;
  leat_wire_item_t item = {0};
  if (member->field.wire_type == LEAT_WIRE_GROUP_BEGIN) {
    LEAT_RETURN_IF_ERROR(leat_message_put(message, member, r->arena, &value));
    return read_fields(value->message, r, member->field.number, depth + 1, inout_next);
  }
  *inout_next = leat_type_field_read(&member->field, *inout_next, r->end, &item);
  if (!*inout_next) return malformed();
  if (member->message) {
    LEAT_RETURN_IF_ERROR(leat_message_put(message, member, r->arena, &value));
    return read_message(value->message, item.text, r->arena, depth + 1);
  }
  return is_known(member, item) ? put_item(message, member, item, r->arena)
                                : keep_unknown(message, tag, *inout_next, r->arena);
}

static leat_status_t read_fields(leat_any_message_t* message, reading_t* r, uint32_t group,
                                 int depth, const uint8_t** inout_next) {
  const uint8_t* next = *inout_next;
  if (depth > LEAT_MESSAGE_MAX_DEPTH) return malformed();
  while (next < r->end) {
    uint32_t number, type;
    leat_string_view_t packed;
    const uint8_t* tag = next;
    next = leat_wire_read_tag(next, r->end, &number, &type);
    if (!next) return malformed();
    if (type == LEAT_WIRE_GROUP_END) {
      *inout_next = next;
      return group && number == group ? leat_ok_status() : malformed();
    }
    const leat_type_member_t* member = leat_type_member_by_number(message->type, number);
    if (member && type == member->field.wire_type) {
      LEAT_RETURN_IF_ERROR(read_value(message, member, r, depth, tag, &next));
    } else if (member && type == LEAT_WIRE_LENGTH && member->field.is_repeated &&
               member->field.wire_type != LEAT_WIRE_GROUP_BEGIN) {
      next = leat_wire_read_bytes(next, r->end, &packed);
      if (!next) return malformed();
      LEAT_RETURN_IF_ERROR(read_packed(message, member, packed, r->arena));
    } else {
      next = leat_wire_skip(next, r->end, number, type);
      if (!next) return malformed();
      LEAT_RETURN_IF_ERROR(keep_unknown(message, tag, next, r->arena));
    }
  }
  *inout_next = next;
  return group ? malformed() : leat_ok_status();
}

// Whether each message has the fields that it must have.
static bool is_complete(const leat_any_message_t* message) {
  for (size_t i = 0; i < message->type->count; ++i) {
    const leat_type_member_t* member = &message->type->members[i];
    const leat_value_t* value = message->fields[i].first;
    if (member->is_required && !value) return false;
    for (; value && member->message; value = value->next) {
      if (!is_complete(value->message)) return false;
    }
  }
  return true;
}

// ---- Writing ------------------------------------------------------------------------------------

static void append_varint(leat_string_builder_t* out, uint64_t value) {
  uint8_t bytes[LEAT_WIRE_MAX_VARINT_BYTES];
  const uint8_t* end = leat_wire_write_varint(bytes, value);
  leat_string_builder_append(out, leat_string_view_make((const char*)bytes, (size_t)(end - bytes)));
}

static void append_tag(leat_string_builder_t* out, const leat_type_field_t* field,
                       uint32_t wire_type) {
  append_varint(out, (uint64_t)field->number << 3 | wire_type);
}

static void append_text(leat_string_builder_t* out, leat_string_view_t text) {
  append_varint(out, text.size);
  leat_string_builder_append(out, text);
}

// The inverse of leat_type_field_read.
static void append_item(leat_string_builder_t* out, const leat_type_field_t* field,
                        leat_wire_item_t item) {
  char bytes[8];
  uint64_t bits = item.bits;
  leat_wire_store64(bytes, bits);
  switch (field->wire_type) {
    case LEAT_WIRE_LENGTH: append_text(out, item.text); return;
    case LEAT_WIRE_FIXED32:
    case LEAT_WIRE_FIXED64: {
      const size_t size = field->wire_type == LEAT_WIRE_FIXED32 ? 4 : 8;
      leat_string_builder_append(out, leat_string_view_make(bytes, size));
      return;
    }
    default: break;
  }
  if (field->kind == LEAT_FIELD_SINT32) {
    bits = (uint32_t)bits << 1 ^ (0 - ((uint32_t)bits >> 31));
  } else if (field->kind == LEAT_FIELD_SINT64) {
    bits = bits << 1 ^ (0 - (bits >> 63));
  }
  append_varint(out, bits);
}

static leat_status_t append_message(const leat_any_message_t* message, leat_string_builder_t* out);

static leat_status_t append_value_of(const leat_type_member_t* member, const leat_value_t* value,
                                     leat_string_builder_t* out) {
  const leat_type_field_t* field = &member->field;
  append_tag(out, field, field->wire_type);
  if (!member->message) {
    append_item(out, field, value->item);
    return leat_ok_status();
  }
  if (field->wire_type == LEAT_WIRE_GROUP_BEGIN) {
    LEAT_RETURN_IF_ERROR(append_message(value->message, out));
    append_tag(out, field, LEAT_WIRE_GROUP_END);
    return leat_ok_status();
  }
  leat_string_builder_t inner;
  leat_string_builder_initialize(leat_allocator_system(), &inner);
  leat_status_t status = append_message(value->message, &inner);
  if (!status) append_text(out, leat_string_builder_view(&inner));
  leat_string_builder_deinitialize(&inner);
  return status;
}

static leat_status_t append_packed(const leat_type_field_t* field, const leat_value_t* value,
                                   leat_string_builder_t* out) {
  leat_string_builder_t inner;
  leat_string_builder_initialize(leat_allocator_system(), &inner);
  for (; value; value = value->next) append_item(&inner, field, value->item);
  leat_status_t status = leat_status_clone(inner.status);
  append_tag(out, field, LEAT_WIRE_LENGTH);
  append_text(out, leat_string_builder_view(&inner));
  leat_string_builder_deinitialize(&inner);
  return status;
}

static bool is_zero(const leat_value_t* value) {
  return !value->item.bits && !value->item.text.size;
}

// Appends an absent field of an entry of a map: 0, or empty.
static void append_absent(const leat_type_member_t* member, leat_string_builder_t* out) {
  append_tag(out, &member->field, member->field.wire_type);
  append_item(out, &member->field, (leat_wire_item_t){0});
}

static leat_status_t append_message(const leat_any_message_t* message, leat_string_builder_t* out) {
  for (size_t i = 0; i < message->type->count; ++i) {
    const leat_type_member_t* member = &message->type->members[i];
    const leat_type_field_t* field = &member->field;
    const leat_value_t* value = message->fields[i].first;
    if (!value && message->type->is_map_entry) append_absent(member, out);
    if (!value || (!field->is_repeated && !member->has_presence && is_zero(value))) continue;
    if (field->is_packed) {
      LEAT_RETURN_IF_ERROR(append_packed(field, value, out));
      continue;
    }
    for (; value; value = value->next) LEAT_RETURN_IF_ERROR(append_value_of(member, value, out));
  }
  for (const leat_value_t* value = message->unknown.first; value; value = value->next) {
    leat_string_builder_append(out, value->item.text);
  }
  return leat_status_clone(out->status);
}

// ---- The whole ----------------------------------------------------------------------------------

static leat_status_t rewrite(const leat_type_t* type, bool is_text, leat_string_view_t bytes,
                             leat_arena_t* arena, leat_string_builder_t* out) {
  leat_any_message_t* message;
  LEAT_RETURN_IF_ERROR(leat_message_create(type, arena, &message));
  LEAT_RETURN_IF_ERROR(is_text ? leat_message_read_text(message, bytes, arena)
                               : read_message(message, bytes, arena, 0));
  if (is_complete(message)) return append_message(message, out);
  return leat_make_status(LEAT_DATA_LOSS,
                          "Unable to parse %s protobuf: a field is missing that must be there",
                          is_text ? "text" : "binary");
}

leat_status_t leat_message_rewrite(const leat_type_t* type, bool is_text, leat_string_view_t bytes,
                                   leat_tensor_t* out, int64_t index) {
  leat_arena_t arena;
  leat_string_builder_t text;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = rewrite(type, is_text, bytes, &arena, &text);
  if (!status) status = leat_tensor_set_string(out, index, leat_string_builder_view(&text));
  leat_string_builder_deinitialize(&text);
  leat_arena_deinitialize(&arena);
  return status;
}
