// The plain path gives up at the first thing that is not plain (an unknown field, a field twice, a
// value in two parts, a byte that is no UTF-8) and leaves the verdict to the general decoder.
#include "graph/node_def_reader.h"

#include "formats/decode.h"
#include "formats/utf8.h"
#include "formats/wire.h"

#define ARENA_LIMIT_BYTES (256 * 1024)
#define MAX_PLAIN_ATTRS 32

// Tags: field number << 3 | wire type.
enum { NODE_NAME = 0x0a, NODE_OP = 0x12, NODE_INPUT = 0x1a, NODE_DEVICE = 0x22, NODE_ATTR = 0x2a };
enum { ENTRY_KEY = 0x0a, ENTRY_VALUE = 0x12 };
enum { VALUE_S = 0x12, VALUE_I = 0x18, VALUE_F = 0x25, VALUE_B = 0x28, VALUE_TYPE = 0x30 };

void leat_node_def_reader_initialize(leat_allocator_t* allocator,
                                     leat_node_def_reader_t* out_reader) {
  *out_reader = (leat_node_def_reader_t){.allocator = allocator};
  leat_arena_initialize(allocator, 0, &out_reader->arena);
}

void leat_node_def_reader_deinitialize(leat_node_def_reader_t* reader) {
  leat_allocator_free(reader->allocator, reader->inputs);
  leat_allocator_free(reader->allocator, reader->entries);
  leat_allocator_free(reader->allocator, reader->values);
  leat_arena_deinitialize(&reader->arena);
}

// A length and as many bytes; NULL when they are not there.
static inline const uint8_t* read_bytes(const uint8_t* next, const uint8_t* end,
                                        leat_string_view_t* out_bytes) {
  size_t size = 0;
  next = leat_wire_read_length(next, end, &size);
  if (!next) return NULL;
  *out_bytes = leat_string_view_make((const char*)next, size);
  return next + size;
}

static inline const uint8_t* read_text(const uint8_t* next, const uint8_t* end,
                                       leat_string_view_t* out_text) {
  next = read_bytes(next, end, out_text);
  return next && leat_utf8_is_valid(*out_text) ? next : NULL;
}

// A single scalar that fills |bytes|, or nothing at all.
static bool read_plain_value(leat_string_view_t bytes, leat_pb_attr_value_t* out_value) {
  const uint8_t* next = (const uint8_t*)bytes.data;
  const uint8_t* end = next + bytes.size;
  uint64_t number = 0;
  uint32_t bits = 0;
  out_value->value_case = 0;
  if (bytes.size == 0) return true;
  out_value->value_case = *next >> 3;
  switch (*next++) {
    case VALUE_S: return read_bytes(next, end, &out_value->s) == end;
    case VALUE_I:
      if (leat_wire_read_varint(next, end, &number) != end) return false;
      out_value->i = (int64_t)number;
      return true;
    case VALUE_B:
      if (leat_wire_read_varint(next, end, &number) != end) return false;
      out_value->b = number != 0;
      return true;
    case VALUE_TYPE:
      if (leat_wire_read_varint(next, end, &number) != end) return false;
      out_value->type = (int32_t)number;
      return true;
    case VALUE_F:
      if (end - next != 4) return false;
      bits = leat_wire_load32(next);
      memcpy(&out_value->f, &bits, sizeof(bits));
      return true;
    default: return false;
  }
}

static leat_status_t read_value(leat_node_def_reader_t* reader, leat_string_view_t bytes,
                                leat_pb_attr_value_t* out_value) {
  if (read_plain_value(bytes, out_value)) return leat_ok_status();
  return leat_message_decode(&leat_pb_attr_value_descriptor, bytes, &reader->arena, NULL,
                             out_value);
}

// Key, then value, then nothing.
static bool read_entry(leat_string_view_t bytes, leat_string_view_t* out_key,
                       leat_string_view_t* out_value) {
  const uint8_t* next = (const uint8_t*)bytes.data;
  const uint8_t* end = next + bytes.size;
  if (next == end || *next++ != ENTRY_KEY) return false;
  next = read_text(next, end, out_key);
  if (!next || next == end || *next++ != ENTRY_VALUE) return false;
  return read_bytes(next, end, out_value) == end;
}

static bool is_repeated(const leat_pb_node_def_attr_entry_list_t* list, leat_string_view_t key) {
  for (size_t i = 0; i < list->count; ++i) {
    if (leat_string_view_equal(list->items[i].key, key)) return true;
  }
  return false;
}

static leat_status_t add_input(leat_node_def_reader_t* reader, leat_string_view_t input,
                               leat_pb_string_list_t* list) {
  void* inputs = reader->inputs;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(reader->allocator, list->count + 1,
                                                 sizeof(leat_string_view_t), &inputs,
                                                 &reader->input_capacity));
  list->items = reader->inputs = inputs;
  list->items[list->count++] = input;
  return leat_ok_status();
}

// |*inout_plain| false when the entry is not plain.
static leat_status_t add_attr(leat_node_def_reader_t* reader, leat_string_view_t bytes,
                              leat_pb_node_def_attr_entry_list_t* list, bool* inout_plain) {
  leat_string_view_t key, value;
  *inout_plain = list->count < MAX_PLAIN_ATTRS && read_entry(bytes, &key, &value) &&
                 !is_repeated(list, key);
  if (!*inout_plain) return leat_ok_status();
  void *entries = reader->entries, *values = reader->values;
  if (reader->value_capacity < MAX_PLAIN_ATTRS) {  // at once, since entries point at values
    LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(reader->allocator, MAX_PLAIN_ATTRS,
                                                   sizeof(leat_pb_node_def_attr_entry_t), &entries,
                                                   &reader->entry_capacity));
    reader->entries = entries;
    LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(reader->allocator, MAX_PLAIN_ATTRS,
                                                   sizeof(leat_pb_attr_value_t), &values,
                                                   &reader->value_capacity));
    reader->values = values;
  }
  list->items = reader->entries;
  list->items[list->count] =
      (leat_pb_node_def_attr_entry_t){key, &reader->values[list->count]};
  return read_value(reader, value, &reader->values[list->count++]);
}

static leat_status_t read_plain(leat_node_def_reader_t* reader, leat_string_view_t bytes,
                                leat_pb_node_def_t* def, bool* out_plain) {
  const uint8_t* next = (const uint8_t*)bytes.data;
  const uint8_t* end = next + bytes.size;
  leat_status_t status = leat_ok_status();
  leat_string_view_t text;
  *out_plain = true;
  while (next < end && *out_plain && !status) {
    switch (*next++) {
      case NODE_NAME: next = read_text(next, end, &def->name); break;
      case NODE_OP: next = read_text(next, end, &def->op); break;
      case NODE_DEVICE: next = read_text(next, end, &def->device); break;
      case NODE_INPUT:
        next = read_text(next, end, &text);
        if (next) status = add_input(reader, text, &def->input);
        break;
      case NODE_ATTR:
        next = read_bytes(next, end, &text);
        if (next) status = add_attr(reader, text, &def->attr, out_plain);
        break;
      default: next = NULL;
    }
    *out_plain = *out_plain && next;
  }
  return status;
}

leat_status_t leat_node_def_read(leat_node_def_reader_t* reader, leat_string_view_t bytes,
                                 leat_pb_node_def_t* out_def) {
  if (reader->arena.used_bytes > ARENA_LIMIT_BYTES) {
    leat_arena_deinitialize(&reader->arena);
    leat_arena_initialize(reader->allocator, 0, &reader->arena);
  }
  *out_def = (leat_pb_node_def_t){.name = {NULL, 0}};
  if (bytes.size == 0) return leat_ok_status();
  bool is_plain = false;
  LEAT_RETURN_IF_ERROR(read_plain(reader, bytes, out_def, &is_plain));
  if (is_plain) return leat_ok_status();
  return leat_message_decode(&leat_pb_node_def_descriptor, bytes, &reader->arena, NULL, out_def);
}
