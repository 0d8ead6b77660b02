// The fast reading of NodeDefs. A plain node has its fields in the order in which every encoder
// writes them, name, op, inputs, device, attributes, and each attribute is an entry of key and
// value:
//
//   name | op | input ... | device | attr attr "_class" attr ...
//                                    '-- before ---'      '-- after --'     = its writing
//
// Reading stops early in the usual case. A glance at the last bytes of the attributes guesses which
// earlier node has the same ones; if the bytes agree, nothing is looked for among them but
// "_class". Otherwise the entries are found and looked up by their hash; only a node that repeats
// none has its entries split into names and values. At the first thing that is not plain (an
// unknown field, a name twice, another order) this reader gives up, and the general decoder reads
// the bytes instead and decides whether they are malformed.
#include "graph/import/node_def_reader.h"

#include "formats/wire/decode.h"
#include "formats/wire/utf8.h"
#include "formats/wire/wire.h"

// Tags: field number << 3 | wire type.
enum { NODE_NAME = 0x0a, NODE_OP = 0x12, NODE_INPUT = 0x1a, NODE_DEVICE = 0x22, NODE_ATTR = 0x2a };
enum { ENTRY_KEY = 0x0a, ENTRY_VALUE = 0x12 };

void leat_node_def_reader_initialize(leat_arena_t* arena, leat_node_patterns_t* patterns,
                                     leat_node_def_reader_t* out_reader) {
  out_reader->arena = arena;
  out_reader->patterns = patterns;
  out_reader->inputs = NULL;
  out_reader->input_capacity = 0;
}

void leat_node_def_reader_deinitialize(leat_node_def_reader_t* reader) {
  leat_allocator_free(reader->arena->allocator, reader->inputs);
}

// Takes the field at |next|, whose tag is one byte, and returns where it ends; NULL when it is cut
// off. A field below 128 bytes, as nearly all are, has a length of one byte and needs no call.
static inline const uint8_t* take_bytes(const uint8_t* next, const uint8_t* end,
                                        leat_string_view_t* out_bytes) {
  if (LEAT_UNLIKELY(end - next < 2 || next[1] >= 0x80)) {
    return leat_wire_read_bytes(next + 1, end, out_bytes);
  }
  size_t size = next[1];
  next += 2;
  if (LEAT_UNLIKELY(size > (size_t)(end - next))) return NULL;
  *out_bytes = leat_string_view_make((const char*)next, size);
  return next + size;
}

// Splits an entry into key and value; false when anything else is in it.
static bool read_entry(leat_string_view_t entry, leat_attr_def_t* out_attr) {
  const uint8_t* next = (const uint8_t*)entry.data;
  const uint8_t* end = next + entry.size;
  if (next == end || *next != ENTRY_KEY) return false;
  next = take_bytes(next, end, &out_attr->name);
  if (!next || next == end || *next != ENTRY_VALUE) return false;
  out_attr->message = NULL;
  return take_bytes(next, end, &out_attr->bytes) == end;
}

static bool is_repeated(const leat_attr_def_t* attrs, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (leat_string_view_equal(attrs[i].name, attrs[count].name)) return true;
  }
  return false;
}

// Whether an entry is "_class", from its first bytes.
static inline bool is_class(leat_string_view_t entry) {
  static const char head[] = {ENTRY_KEY, 6, '_', 'c', 'l', 'a', 's', 's', ENTRY_VALUE};
  return entry.size >= sizeof(head) && memcmp(entry.data, head, sizeof(head)) == 0;
}

// Finds the entries of the attributes from |next| to |end|, into reader->attrs[i].bytes, and
// "_class" among them; false when something else stands there.
static bool split_attrs(leat_node_def_reader_t* reader, const uint8_t* next, const uint8_t* end,
                        leat_node_def_t* def) {
  const uint8_t *begin = next, *class_begin = end, *class_end = end;
  size_t count = 0;
  while (next < end) {
    const uint8_t* entry_begin = next;
    leat_string_view_t entry;
    if (LEAT_UNLIKELY(*next != NODE_ATTR || count == LEAT_NODE_DEF_PLAIN_ATTRS)) return false;
    next = take_bytes(next, end, &entry);
    if (LEAT_UNLIKELY(!next)) return false;
    reader->attrs[count++].bytes = entry;
    if (!is_class(entry)) continue;
    if (class_begin != end || !read_entry(entry, &def->class_attr)) return false;
    class_begin = entry_begin;
    class_end = next;
  }
  def->attr_count = count;
  def->writing.before =
      leat_string_view_make((const char*)begin, (size_t)(class_begin - begin));
  def->writing.after = leat_string_view_make((const char*)class_end, (size_t)(end - class_end));
  def->writing.has_class = class_begin != end;
  return true;
}

// Whether the attributes from |next| to |end| are, apart from "_class", those of the pattern that a
// glance guesses. Then def->pattern is set, and nothing else needs to be found among them.
static bool is_as_guessed(const leat_node_def_reader_t* reader, const uint8_t* next,
                          const uint8_t* end, leat_node_def_t* def) {
  const leat_node_pattern_t* guess =
      leat_node_patterns_guess(reader->patterns, def->writing.glance);
  if (!guess) return false;
  size_t size = (size_t)(end - next), same = (size_t)guess->before_bytes + guess->after_bytes;
  if (guess->has_class ? size <= same : size != same) return false;
  const uint8_t* class_begin = next + guess->before_bytes;
  const uint8_t* class_end = end - guess->after_bytes;
  if (guess->has_class) {
    leat_string_view_t entry;
    if (*class_begin != NODE_ATTR || take_bytes(class_begin, class_end, &entry) != class_end) {
      return false;
    }
    if (!is_class(entry) || !read_entry(entry, &def->class_attr)) return false;
  }
  def->writing.before = leat_string_view_make((const char*)next, guess->before_bytes);
  def->writing.after = leat_string_view_make((const char*)class_end, guess->after_bytes);
  def->writing.has_class = guess->has_class;
  if (leat_node_pattern_matches(guess, &def->writing)) def->pattern = guess;
  return def->pattern != NULL;
}

// Splits the entries into names and values; false when one is not plain or a name repeats.
static bool read_attrs(leat_node_def_reader_t* reader, leat_node_def_t* def) {
  for (size_t i = 0; i < def->attr_count; ++i) {
    if (!read_entry(reader->attrs[i].bytes, &reader->attrs[i])) return false;
    if (is_repeated(reader->attrs, i)) return false;
  }
  def->attrs = reader->attrs;
  return true;
}

LEAT_COLD static leat_status_t grow_inputs(leat_node_def_reader_t* reader) {
  void* inputs = reader->inputs;
  LEAT_RETURN_IF_ERROR(leat_allocator_grow_array(reader->arena->allocator,
                                                 reader->input_capacity + 1,
                                                 sizeof(leat_string_view_t), &inputs,
                                                 &reader->input_capacity));
  reader->inputs = inputs;
  return leat_ok_status();
}

// Takes the text at |*inout_next| if it has |tag|; false when it is cut off.
static inline bool take_text(uint8_t tag, const uint8_t** inout_next, const uint8_t* end,
                             leat_string_view_t* out_text) {
  *out_text = (leat_string_view_t){NULL, 0};
  if (*inout_next == end || **inout_next != tag) return true;
  *inout_next = take_bytes(*inout_next, end, out_text);
  return *inout_next != NULL;
}

// Reads what stands before the attributes, then recognises the attributes or finds their entries.
static leat_status_t read_head(leat_node_def_reader_t* reader, leat_node_def_t* def,
                               bool* out_plain) {
  const uint8_t* next = (const uint8_t*)def->bytes.data;
  const uint8_t* end = next + def->bytes.size;
  size_t inputs = 0;
  *out_plain = false;
  if (!take_text(NODE_NAME, &next, end, &def->name)) return leat_ok_status();
  if (!take_text(NODE_OP, &next, end, &def->op)) return leat_ok_status();
  for (; next < end && *next == NODE_INPUT; ++inputs) {
    if (LEAT_UNLIKELY(inputs == reader->input_capacity)) {
      LEAT_RETURN_IF_ERROR(grow_inputs(reader));
    }
    next = take_bytes(next, end, &reader->inputs[inputs]);
    if (LEAT_UNLIKELY(!next)) return leat_ok_status();
  }
  if (!take_text(NODE_DEVICE, &next, end, &def->device)) return leat_ok_status();
  if (def->device.size && !leat_utf8_is_valid(def->device)) return leat_ok_status();
  def->inputs = reader->inputs;
  def->input_count = inputs;
  def->writing.op = def->op;
  def->writing.glance = leat_node_patterns_glance(
      def->op, leat_string_view_make((const char*)next, (size_t)(end - next)));
  *out_plain = is_as_guessed(reader, next, end, def) || split_attrs(reader, next, end, def);
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
  out_def->bytes = bytes;
  out_def->attr_count = 0;
  out_def->pattern = NULL;
  bool is_plain = false;
  LEAT_RETURN_IF_ERROR(read_head(reader, out_def, &is_plain));
  if (LEAT_LIKELY(is_plain)) {
    if (out_def->pattern) return leat_ok_status();
    out_def->pattern =
        leat_node_patterns_find(reader->patterns, &out_def->writing, &out_def->pattern_place);
    if (out_def->pattern) out_def->attr_count = 0;
    if (out_def->pattern || read_attrs(reader, out_def)) return leat_ok_status();
  }
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
