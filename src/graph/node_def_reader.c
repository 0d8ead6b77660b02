// The plain path gives up at the first thing that is not plain (an unknown field, an attribute
// twice, an entry in another order) and leaves the verdict to the general decoder.
#include "graph/node_def_reader.h"

#include "formats/decode.h"
#include "formats/utf8.h"
#include "formats/wire.h"

// Tags: field number << 3 | wire type.
enum { NODE_NAME = 0x0a, NODE_OP = 0x12, NODE_INPUT = 0x1a, NODE_DEVICE = 0x22, NODE_ATTR = 0x2a };
enum { ENTRY_KEY = 0x0a, ENTRY_VALUE = 0x12 };

void leat_node_def_reader_initialize(leat_arena_t* arena, leat_node_def_reader_t* out_reader) {
  out_reader->arena = arena;
  out_reader->inputs = NULL;
  out_reader->input_capacity = 0;
}

void leat_node_def_reader_deinitialize(leat_node_def_reader_t* reader) {
  leat_allocator_free(reader->arena->allocator, reader->inputs);
}

// Key, then value, then nothing.
static bool read_entry(const uint8_t* next, const uint8_t* end, leat_attr_def_t* out_attr) {
  if (next == end || *next++ != ENTRY_KEY) return false;
  next = leat_wire_read_bytes(next, end, &out_attr->name);
  if (!next || next == end || *next++ != ENTRY_VALUE) return false;
  out_attr->message = NULL;
  return leat_wire_read_bytes(next, end, &out_attr->bytes) == end;
}

static bool is_repeated(const leat_attr_def_t* attrs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (leat_string_view_equal(attrs[i].name, attrs[count].name)) return true;
  }
  return false;
}

static leat_status_t grow_inputs(leat_node_def_reader_t* reader) {
  void* inputs = reader->inputs;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(reader->arena->allocator,
                                                 reader->input_capacity + 1,
                                                 sizeof(leat_string_view_t), &inputs,
                                                 &reader->input_capacity));
  reader->inputs = inputs;
  return leat_ok_status();
}

static leat_status_t read_plain(leat_node_def_reader_t* reader, leat_node_def_t* def,
                                bool* out_plain) {
  const uint8_t* next = (const uint8_t*)def->bytes.data;
  const uint8_t* end = next + def->bytes.size;
  size_t inputs = 0, attrs = 0;
  *out_plain = false;
  while (next < end) {
    uint8_t tag = *next;
    leat_string_view_t text;
    next = leat_wire_read_bytes(next + 1, end, &text);
    if (!next) return leat_ok_status();
    switch (tag) {
      case NODE_NAME: def->name = text; break;
      case NODE_OP: def->op = text; break;
      case NODE_INPUT:
        if (LEAT_UNLIKELY(inputs == reader->input_capacity)) {
          LEAT_RETURN_IF_ERROR(grow_inputs(reader));
        }
        reader->inputs[inputs++] = text;
        break;
      case NODE_DEVICE:
        if (!leat_utf8_is_valid(text)) return leat_ok_status();
        def->device = text;
        break;
      case NODE_ATTR:
        if (attrs == LEAT_NODE_DEF_PLAIN_ATTRS) return leat_ok_status();
        if (!read_entry(next - text.size, next, &reader->attrs[attrs])) return leat_ok_status();
        if (is_repeated(reader->attrs, attrs++)) return leat_ok_status();
        break;
      default: return leat_ok_status();
    }
  }
  def->inputs = reader->inputs;
  def->input_count = inputs;
  def->attrs = reader->attrs;
  def->attr_count = attrs;
  *out_plain = true;
  return leat_ok_status();
}

leat_status_t leat_node_def_of_message(const leat_pb_node_def_t* message, leat_arena_t* arena,
                                       leat_node_def_t* out_def) {
  static const leat_pb_attr_value_t nothing = {0};
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, message->attr.count,
                                                 sizeof(leat_attr_def_t), &memory));
  leat_attr_def_t* attrs = memory;
  for (size_t i = 0; i < message->attr.count; ++i) {
    const leat_pb_node_def_attr_entry_t* entry = &message->attr.items[i];
    attrs[i].name = entry->key;
    attrs[i].message = entry->value ? entry->value : &nothing;
  }
  *out_def = (leat_node_def_t){
      .name = message->name,
      .op = message->op,
      .device = message->device,
      .inputs = message->input.items,
      .attrs = attrs,
      .input_count = message->input.count,
      .attr_count = message->attr.count,
  };
  return leat_ok_status();
}

static leat_status_t decode(leat_string_view_t bytes, leat_arena_t* arena,
                            leat_pb_node_def_t** out_message) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(arena, sizeof(leat_pb_node_def_t), &memory));
  *out_message = memory;
  return leat_message_decode(&leat_pb_node_def_descriptor, bytes, arena, NULL, memory);
}

leat_status_t leat_node_def_read(leat_node_def_reader_t* reader, leat_string_view_t bytes,
                                 leat_node_def_t* out_def) {
  *out_def = (leat_node_def_t){.bytes = bytes};
  bool is_plain = false;
  LEAT_RETURN_IF_ERROR(read_plain(reader, out_def, &is_plain));
  if (LEAT_LIKELY(is_plain)) return leat_ok_status();
  leat_pb_node_def_t* message = NULL;
  LEAT_RETURN_IF_ERROR(decode(bytes, reader->arena, &message));
  return leat_node_def_of_message(message, reader->arena, out_def);
}

leat_status_t leat_node_def_check(const leat_node_def_t* def, leat_arena_t* arena) {
  if (def->bytes.size == 0) return leat_ok_status();
  for (size_t i = 0; i < def->attr_count; ++i) {
    leat_pb_attr_value_t value;
    LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_attr_value_descriptor, def->attrs[i].bytes,
                                             arena, NULL, &value));
  }
  leat_pb_node_def_t* message = NULL;
  return decode(def->bytes, arena, &message);
}
