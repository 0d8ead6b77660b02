// Decodes the binary form of protocol buffers by descriptors. There is no recursion: each message
// being read is a frame on a stack of fixed depth, so that hostile bytes cannot overflow the
// thread's stack.
//
// Lists are arrays of exactly the size that they need. At the first item of a list, the run of
// items of the same field that follows is counted, and room for it is taken from the arena; writers
// put all items of a list into one run. Should the list go on behind other fields, then the items
// in all the rest of the message are counted, once.
//
// Every message struct is filled from exactly one range of bytes. Where a field that is a single
// message occurs several times, its occurrences are first copied into one range, because merging
// messages means decoding the concatenation of their bytes. The bytes that are scanned for this are
// limited in all, since hostile input could alternate the members of a oneof and make each
// occurrence a scan.
//
// Strings are views of the input, which must outlive the message. Graph import (for what its own
// reader of nodes does not know), checkpoints, events, options, and the messages between master and
// worker are decoded here.
#include "formats/wire/decode.h"

#include "base/checked.h"
#include "formats/wire/map_entries.h"
#include "formats/wire/utf8.h"
#include "formats/wire/wire.h"

#define MERGE_SCAN_FACTOR 64
#define SMALL_BYTES 1024
// Marks functions that run for every field; as calls they took a tenth of the decoding time.
#define HOT static inline __attribute__((always_inline))

typedef struct frame_s {
  const leat_message_descriptor_t* descriptor;
  char* message;
  const uint8_t* begin;
  const uint8_t* next;
  const uint8_t* end;
  const uint8_t* run_end;  // the end of the run of list items for which room was taken last
  uint64_t merged;    // bit of a field: its occurrences were joined, so later ones are skipped
  uint32_t reserved;  // bit of a list: there is room for all items that are left in the message
  bool has_entries;   // some map has several entries, among which keys may be repeated
} frame_t;

typedef struct decoder_s {
  leat_arena_t* arena;
  const uint8_t* begin;
  const uint8_t* end;
  size_t memory_left;
  size_t merge_scan_left;
  frame_t* top;  // the frame being read; frames[0] stands for none
  frame_t* last;
  frame_t frames[LEAT_DECODE_MAX_DEPTH + 2];
} decoder_t;

LEAT_COLD static leat_status_t malformed(const decoder_t* decoder, const frame_t* frame,
                                         const uint8_t* at, const char* what, const char* rule) {
  // A range that was joined from several is not part of the input; count from its own start then.
  bool is_input = at >= decoder->begin && at <= decoder->end;
  const uint8_t* origin = is_input ? decoder->begin : frame->begin;
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "decode failed for message '%s': %s at byte %zu of %zu, must be %s",
                          frame->descriptor->name, what, (size_t)(at - origin),
                          (size_t)(decoder->end - decoder->begin), rule);
}

static leat_status_t malformed_value(const decoder_t* decoder, const frame_t* frame,
                                     const uint8_t* at) {
  return malformed(decoder, frame, at, "value is cut off or malformed", "whole");
}

LEAT_COLD static leat_status_t refuse_memory(size_t count, size_t item_bytes) {
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                          "decode failed: memory is %zu items of %zu bytes more, must be within "
                          "the limit", count, item_bytes);
}

HOT leat_status_t allocate(decoder_t* decoder, size_t count, size_t item_bytes,
                           void** out_items) {
  size_t size;
  if (__builtin_mul_overflow(count, item_bytes, &size) || size > decoder->memory_left) {
    return refuse_memory(count, item_bytes);
  }
  decoder->memory_left -= size;
  // Most allocations are small and fit into the arena's block; those are taken without a call.
  leat_arena_t* arena = decoder->arena;
  size_t bytes = leat_align_up(size, 16);
  if (LEAT_LIKELY((size_t)(arena->end - arena->next) >= bytes && size - 1 < SMALL_BYTES)) {
    *out_items = arena->next;
    arena->next += bytes;
    arena->used_bytes += bytes;
    return leat_ok_status();
  }
  return leat_arena_allocate(arena, size, out_items);
}

// Whether the value is the packed form of a list of scalars.
static inline bool is_packed(const leat_message_field_t* field, uint32_t type) {
  return type == LEAT_WIRE_LENGTH && field->list_index >= 0 &&
         field->wire_type != LEAT_WIRE_LENGTH;
}

// The number of items in a packed list; SIZE_MAX when the last one is cut off.
static size_t packed_count(uint32_t item_type, const uint8_t* data, size_t size) {
  if (item_type == LEAT_WIRE_FIXED32) return size % 4 ? SIZE_MAX : size / 4;
  if (item_type == LEAT_WIRE_FIXED64) return size % 8 ? SIZE_MAX : size / 8;
  size_t count = 0;
  for (size_t i = 0; i < size; ++i) count += data[i] < 0x80;
  return size > 0 && data[size - 1] >= 0x80 ? SIZE_MAX : count;
}

// Counts the run of strings or messages at |next| whose tags are the byte |tag|.
static inline size_t count_short(const uint8_t* next, const uint8_t* end, uint8_t tag,
                                 const uint8_t** out_end) {
  size_t count = 0, size = 0;
  while (next < end && *next == tag) {
    const uint8_t* value = leat_wire_read_length(next + 1, end, &size);
    if (!value) break;
    next = value + size;
    ++count;
  }
  *out_end = next;
  return count;
}

// Counts items of |field| from the one at |next| on: those of the run if |run_only|, else all up to
// the frame's end. Counting stops at a malformed field, which decoding reports when it gets there;
// |*out_end| is where it stopped.
static size_t count_items(const frame_t* frame, const leat_message_field_t* field,
                          const uint8_t* next, bool run_only, const uint8_t** out_end) {
  size_t count = 0;
  *out_end = next;
  while (next < frame->end) {
    const uint8_t* begin = next;
    uint32_t number, type;
    next = leat_wire_read_tag(next, frame->end, &number, &type);
    const uint8_t* value = next;
    if (next) next = leat_wire_skip(next, frame->end, number, type);
    *out_end = begin;
    if (!next) return count;
    if (number == field->number && type == field->wire_type) {
      ++count;
    } else if (number == field->number && is_packed(field, type)) {
      size_t size = 0;
      value = leat_wire_read_length(value, frame->end, &size);
      size_t items = packed_count(field->wire_type, value, size);
      if (items == SIZE_MAX) return count;
      count += items;
    } else if (run_only) {
      return count;
    }
  }
  *out_end = next;
  return count;
}

// Takes room for items of the list |field|, the next of which, or a packed group of which, is at
// |here|.
static leat_status_t reserve_slowly(decoder_t* decoder, frame_t* frame,
                                    const leat_message_field_t* field, const uint8_t* here) {
  leat_pb_list_t* list = (leat_pb_list_t*)(frame->message + field->offset);
  size_t item_bytes = leat_message_field_size(field), old_count = list->count;
  bool is_first = old_count == 0;
  void* items = NULL;
  const uint8_t* end = here;
  size_t count = count_items(frame, field, here, is_first, &end);
  if (count > SIZE_MAX - old_count) return refuse_memory(count, item_bytes);
  if (is_first) {
    frame->run_end = end;
  } else {
    frame->reserved |= UINT32_C(1) << field->list_index;
  }
  if (count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(allocate(decoder, old_count + count, item_bytes, &items));
  if (!is_first) memcpy(items, list->items, old_count * item_bytes);
  list->items = items;
  return leat_ok_status();
}

// Reserves as reserve_slowly does, but quickly in the usual case: the first item of a list of
// strings or messages whose tag is one byte.
static inline leat_status_t reserve_run(decoder_t* decoder, frame_t* frame,
                                        const leat_message_field_t* field, const uint8_t* here,
                                        leat_pb_list_t* list) {
  size_t item_bytes = field->kind == LEAT_FIELD_MESSAGE ? field->message->size_bytes
                                                        : sizeof(leat_string_view_t);
  size_t count = count_short(here, frame->end, *here, &frame->run_end);
  return allocate(decoder, count, item_bytes, &list->items);
}

static inline leat_status_t reserve(decoder_t* decoder, frame_t* frame,
                                    const leat_message_field_t* field, const uint8_t* here) {
  if (LEAT_LIKELY(here < frame->run_end || frame->reserved >> field->list_index & 1)) {
    return leat_ok_status();
  }
  leat_pb_list_t* list = (leat_pb_list_t*)(frame->message + field->offset);
  if (list->count == 0 && field->wire_type == LEAT_WIRE_LENGTH && *here < 0x80) {
    return reserve_run(decoder, frame, field, here, list);
  }
  return reserve_slowly(decoder, frame, field, here);
}

LEAT_COLD static leat_status_t refuse_depth(const decoder_t* decoder,
                                            const leat_message_descriptor_t* descriptor) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "decode failed for message '%s': depth is over %d, must be within it",
                          descriptor->name, (int)(decoder->last - decoder->frames) - 1);
}

static inline leat_status_t push(decoder_t* decoder, const leat_message_descriptor_t* descriptor,
                                 void* message, const uint8_t* data, size_t size) {
  frame_t* frame = decoder->top;
  if (LEAT_UNLIKELY(frame == decoder->last)) return refuse_depth(decoder, descriptor);
  decoder->top = ++frame;
  frame->descriptor = descriptor;
  frame->message = (char*)message;
  frame->begin = frame->next = frame->run_end = data;
  frame->end = data + size;
  frame->merged = 0;
  frame->reserved = 0;
  frame->has_entries = false;
  return leat_ok_status();
}

static inline int64_t zigzag(uint64_t raw) { return (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1); }

// Reads one scalar into |slot|; NULL when the bytes end within it.
static inline const uint8_t* read_scalar(uint8_t kind, const uint8_t* next, const uint8_t* end,
                                         void* slot) {
  uint64_t raw = 0;
  uint32_t low;
  switch ((leat_field_kind_t)kind) {
    case LEAT_FIELD_DOUBLE:
    case LEAT_FIELD_FIXED64:
    case LEAT_FIELD_SFIXED64:
      if (end - next < 8) return NULL;
      raw = leat_wire_load64(next);
      memcpy(slot, &raw, 8);
      return next + 8;
    case LEAT_FIELD_FLOAT:
    case LEAT_FIELD_FIXED32:
    case LEAT_FIELD_SFIXED32:
      if (end - next < 4) return NULL;
      low = leat_wire_load32(next);
      memcpy(slot, &low, 4);
      return next + 4;
    default:
      break;
  }
  next = leat_wire_read_varint(next, end, &raw);
  // Nothing is stored then: an item that is cut off was not counted, so there is no room for it.
  if (LEAT_UNLIKELY(!next)) return NULL;
  switch ((leat_field_kind_t)kind) {
    case LEAT_FIELD_INT64:
    case LEAT_FIELD_UINT64:
      *(uint64_t*)slot = raw;
      break;
    case LEAT_FIELD_SINT64:
      *(int64_t*)slot = zigzag(raw);
      break;
    case LEAT_FIELD_SINT32:
      *(int32_t*)slot = (int32_t)zigzag((uint32_t)raw);
      break;
    case LEAT_FIELD_BOOL:
      *(bool*)slot = raw != 0;
      break;
    default:
      *(uint32_t*)slot = (uint32_t)raw;
      break;
  }
  return next;
}

static const uint8_t* read_packed(const leat_message_field_t* field, leat_pb_list_t* list,
                                  const uint8_t* next, const uint8_t* end) {
  size_t size, item_bytes = leat_message_field_size(field);
  next = leat_wire_read_length(next, end, &size);
  // There is room for the items only if they could be counted.
  if (!next || packed_count(field->wire_type, next, size) == SIZE_MAX) return NULL;
  if (size == 0) return next;
  end = next + size;
  char* slot = (char*)list->items + list->count * item_bytes;
  while (next && next < end) {
    next = read_scalar(field->kind, next, end, slot);
    slot += item_bytes;
    ++list->count;
  }
  return next;
}

// Clears the member |number| of a oneof, because another member is being set.
LEAT_COLD static void clear_member(frame_t* frame, uint32_t number) {
  const leat_message_field_t* old = leat_message_find_field(frame->descriptor, number);
  memset(frame->message + old->offset, 0, leat_message_field_size(old));
  frame->merged &= ~(UINT64_C(1) << (old - frame->descriptor->fields));
}
static inline void set_case(frame_t* frame, const leat_message_field_t* field) {
  uint32_t* set = (uint32_t*)(frame->message + field->case_offset);
  if (LEAT_UNLIKELY(*set != 0 && *set != field->number)) clear_member(frame, *set);
  *set = field->number;
}

// Finds the part of the frame in which occurrences of |field| are merged: all of it, or, for a
// member of a oneof, the part around |here| between other members of that oneof. |*out_size| is the
// number of bytes that the occurrences have together.
static void find_run(const frame_t* frame, const leat_message_field_t* field, const uint8_t* here,
                     const uint8_t** out_begin, const uint8_t** out_end, size_t* out_size) {
  const uint8_t* next = frame->begin;
  *out_begin = frame->begin;
  *out_end = frame->end;
  *out_size = 0;
  while (next < frame->end) {
    const uint8_t* begin = next;
    uint32_t number, type;
    size_t size;
    next = leat_wire_read_tag(next, frame->end, &number, &type);
    const uint8_t* value = next;
    if (next) next = leat_wire_skip(next, frame->end, number, type);
    if (!next) break;  // reported when decoding gets there
    const leat_message_field_t* found = leat_message_find_field(frame->descriptor, number);
    if (!found || type != found->wire_type) continue;
    if (found == field) {
      if (leat_wire_read_length(value, frame->end, &size)) *out_size += size;
    } else if (field->case_offset >= 0 && found->case_offset == field->case_offset) {
      if (begin > here) {
        *out_end = begin;
        return;
      }
      *out_begin = next;
      *out_size = 0;
    }
  }
}

// Called when a single message occurs for the second time, at |here|: joins all its occurrences and
// decodes them as one.
static leat_status_t push_merged(decoder_t* decoder, frame_t* frame,
                                 const leat_message_field_t* field, const uint8_t* here) {
  size_t scan = (size_t)(frame->end - frame->begin), total, filled = 0;
  if (scan > decoder->merge_scan_left) {
    return malformed(decoder, frame, here, "singular message occurs too often", "there once");
  }
  decoder->merge_scan_left -= scan;
  const uint8_t *next, *end;
  find_run(frame, field, here, &next, &end, &total);
  void *joined = NULL, *message = NULL;
  if (total > 0) LEAT_RETURN_IF_ERROR(allocate(decoder, total, 1, &joined));
  while (next && next < end && filled < total) {
    uint32_t number, type;
    size_t size;
    next = leat_wire_read_tag(next, end, &number, &type);
    if (!next) break;
    if (number == field->number && type == LEAT_WIRE_LENGTH) {
      const uint8_t* value = leat_wire_read_length(next, end, &size);
      if (!value) break;
      memcpy((char*)joined + filled, value, size);
      filled += size;
    }
    next = leat_wire_skip(next, end, number, type);
  }
  LEAT_RETURN_IF_ERROR(allocate(decoder, 1, field->message->size_bytes, &message));
  *(void**)(frame->message + field->offset) = message;
  frame->merged |= UINT64_C(1) << (field - frame->descriptor->fields);
  return push(decoder, field->message, message, (const uint8_t*)(joined ? joined : ""), filled);
}

// Begins the message in field |field|, whose tag is at |begin| and whose content is at |data|.
HOT leat_status_t begin_submessage(decoder_t* decoder, frame_t* frame,
                                   const leat_message_field_t* field,
                                   const uint8_t* begin, const uint8_t* data,
                                   size_t size) {
  if (field->list_index >= 0) {
    LEAT_RETURN_IF_ERROR(reserve(decoder, frame, field, begin));
    leat_pb_list_t* list = (leat_pb_list_t*)(frame->message + field->offset);
    frame->has_entries |= list->count > 0 && field->label == LEAT_FIELD_MAP;
    char* item = (char*)list->items + list->count++ * field->message->size_bytes;
    return push(decoder, field->message, item, data, size);
  }
  void** slot = (void**)(frame->message + field->offset);
  if (LEAT_UNLIKELY(*slot)) {
    if (frame->merged >> (field - frame->descriptor->fields) & 1) return leat_ok_status();
    return push_merged(decoder, frame, field, begin);
  }
  LEAT_RETURN_IF_ERROR(allocate(decoder, 1, field->message->size_bytes, slot));
  return push(decoder, field->message, *slot, data, size);
}

HOT leat_status_t store_string(decoder_t* decoder, frame_t* frame,
                               const leat_message_field_t* field, const uint8_t* begin,
                               leat_string_view_t text) {
  if (field->kind == LEAT_FIELD_STRING && LEAT_UNLIKELY(!leat_utf8_is_valid(text))) {
    return malformed(decoder, frame, begin, "string is not UTF-8", "UTF-8");
  }
  leat_string_view_t* slot = (leat_string_view_t*)(frame->message + field->offset);
  if (field->list_index >= 0) {
    LEAT_RETURN_IF_ERROR(reserve(decoder, frame, field, begin));
    leat_pb_string_list_t* list = (leat_pb_string_list_t*)slot;
    slot = &list->items[list->count++];
  }
  *slot = text;
  return leat_ok_status();
}

// Appends one scalar, or a packed group of them, to a list.
static leat_status_t append_scalars(decoder_t* decoder, frame_t* frame,
                                    const leat_message_field_t* field, const uint8_t* begin,
                                    uint32_t type, const uint8_t** inout_next) {
  leat_pb_list_t* list = (leat_pb_list_t*)(frame->message + field->offset);
  LEAT_RETURN_IF_ERROR(reserve(decoder, frame, field, begin));
  if (type == LEAT_WIRE_LENGTH) {
    *inout_next = read_packed(field, list, *inout_next, frame->end);
    return leat_ok_status();
  }
  if (!list->items) {  // not even the first item is whole, so none was counted
    *inout_next = NULL;
    return leat_ok_status();
  }
  char* slot = (char*)list->items + list->count++ * leat_message_field_size(field);
  *inout_next = read_scalar(field->kind, *inout_next, frame->end, slot);
  return leat_ok_status();
}

// Decodes the fields that decode_fields does not handle inline: those with tags of several bytes,
// lists of scalars and unknown fields. Sets |*inout_next| past the field, or to NULL when the field
// is malformed.
static leat_status_t decode_other(decoder_t* decoder, frame_t* frame, const uint8_t** inout_next) {
  const uint8_t *begin = *inout_next, *end = frame->end;
  uint32_t number, type;
  size_t size = 0;
  const uint8_t* next = leat_wire_read_tag(begin, end, &number, &type);
  *inout_next = next;
  if (!next) return leat_ok_status();
  const leat_message_field_t* field = leat_message_find_field(frame->descriptor, number);
  if (!field || (type != field->wire_type && !is_packed(field, type))) {
    *inout_next = leat_wire_skip(next, end, number, type);
    return leat_ok_status();
  }
  if (field->list_index >= 0 && field->wire_type != LEAT_WIRE_LENGTH) {
    return append_scalars(decoder, frame, field, begin, type, inout_next);
  }
  if (field->case_offset >= 0) set_case(frame, field);
  if (type != LEAT_WIRE_LENGTH) {
    *inout_next = read_scalar(field->kind, next, end, frame->message + field->offset);
    return leat_ok_status();
  }
  next = leat_wire_read_length(next, end, &size);
  *inout_next = next ? next + size : NULL;
  if (!next) return leat_ok_status();
  if (field->kind == LEAT_FIELD_MESSAGE) {
    frame->next = next + size;
    return begin_submessage(decoder, frame, field, begin, next, size);
  }
  return store_string(decoder, frame, field, begin,
                      leat_string_view_make((const char*)next, size));
}

static leat_status_t finish_entries(decoder_t* decoder, frame_t* frame) {
  const leat_message_descriptor_t* descriptor = frame->descriptor;
  for (size_t i = 0; i < descriptor->field_count; ++i) {
    const leat_message_field_t* field = &descriptor->fields[i];
    if (field->label != LEAT_FIELD_MAP) continue;
    leat_pb_list_t* list = (leat_pb_list_t*)(frame->message + field->offset);
    if (list->count < 2) continue;
    LEAT_RETURN_IF_ERROR(
        leat_map_entries_drop_repeated(decoder->arena->allocator, field->message, list));
  }
  return leat_ok_status();
}

// Ends the frame's message: gives a map entry without a value an empty one, and removes repeated
// keys from maps.
static inline leat_status_t pop(decoder_t* decoder, frame_t* frame) {
  const leat_message_descriptor_t* descriptor = frame->descriptor;
  if (descriptor->is_map_entry && descriptor->fields[1].kind == LEAT_FIELD_MESSAGE) {
    const leat_message_field_t* value = &descriptor->fields[1];
    void** slot = (void**)(frame->message + value->offset);
    if (!*slot) LEAT_RETURN_IF_ERROR(allocate(decoder, 1, value->message->size_bytes, slot));
  }
  if (LEAT_UNLIKELY(frame->has_entries)) LEAT_RETURN_IF_ERROR(finish_entries(decoder, frame));
  decoder->top = frame - 1;
  return leat_ok_status();
}

// Stores fields until the frame's message ends or a submessage begins.
static inline leat_status_t decode_fields(decoder_t* decoder, frame_t* frame) {
  const leat_message_descriptor_t* descriptor = frame->descriptor;
  const uint8_t *next = frame->next, *end = frame->end;
  while (next < end) {
    const uint8_t* begin = next;
    uint8_t index = *next < LEAT_MESSAGE_SHORT_TAGS ? descriptor->field_by_tag[*next] : 0;
    const leat_message_field_t* field = &descriptor->fields[index ? index - 1 : 0];
    if (LEAT_LIKELY(index) && field->wire_type == LEAT_WIRE_LENGTH) {
      if (field->case_offset >= 0) set_case(frame, field);
      size_t size = 0;
      next = leat_wire_read_length(next + 1, end, &size);
      if (LEAT_UNLIKELY(!next)) return malformed_value(decoder, frame, begin);
      if (field->kind == LEAT_FIELD_MESSAGE) {
        frame->next = next + size;
        return begin_submessage(decoder, frame, field, begin, next, size);
      }
      leat_string_view_t text = {(const char*)next, size};
      LEAT_RETURN_IF_ERROR(store_string(decoder, frame, field, begin, text));
      next += size;
    } else if (index && field->list_index < 0) {
      if (field->case_offset >= 0) set_case(frame, field);
      next = read_scalar(field->kind, next + 1, end, frame->message + field->offset);
      if (LEAT_UNLIKELY(!next)) return malformed_value(decoder, frame, begin);
    } else {
      LEAT_RETURN_IF_ERROR(decode_other(decoder, frame, &next));
      if (LEAT_UNLIKELY(!next)) return malformed_value(decoder, frame, begin);
      if (decoder->top != frame) return leat_ok_status();
    }
  }
  return pop(decoder, frame);
}

leat_status_t leat_message_decode(const leat_message_descriptor_t* descriptor,
                                  leat_string_view_t bytes, leat_arena_t* arena,
                                  const leat_decode_limits_t* limits, void* out_message) {
  leat_decode_limits_t none = {0};
  if (!limits) limits = &none;
  memset(out_message, 0, descriptor->size_bytes);
  if (limits->max_size_bytes && bytes.size > limits->max_size_bytes) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "decode failed for message '%s': size is %zu bytes, must be within "
                            "%llu",
                            descriptor->name, bytes.size,
                            (unsigned long long)limits->max_size_bytes);
  }
  decoder_t decoder;
  const uint8_t* data = (const uint8_t*)(bytes.size ? bytes.data : "");
  decoder.arena = arena;
  decoder.begin = data;
  decoder.end = data + bytes.size;
  decoder.memory_left = limits->max_memory_bytes ? limits->max_memory_bytes : SIZE_MAX;
  decoder.merge_scan_left = bytes.size < SIZE_MAX / MERGE_SCAN_FACTOR
                                ? bytes.size * MERGE_SCAN_FACTOR : SIZE_MAX;
  uint32_t max_depth = LEAT_DECODE_MAX_DEPTH;
  if (limits->max_depth && limits->max_depth < max_depth) max_depth = limits->max_depth;
  decoder.top = decoder.frames;
  decoder.last = decoder.frames + 1 + max_depth;
  LEAT_RETURN_IF_ERROR(push(&decoder, descriptor, out_message, data, bytes.size));
  while (decoder.top != decoder.frames) {
    LEAT_RETURN_IF_ERROR(decode_fields(&decoder, decoder.top));
  }
  return leat_ok_status();
}
