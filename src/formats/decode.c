// Decoding by tables, without recursion: each message being read is a frame on a stack of fixed
// depth. A message is read in two passes over its own fields (what is inside submessages is stepped
// over): the first counts the items of each list and checks the framing, so that lists are allocated
// once at their size; the second stores.
//
// Every message struct is filled from exactly one range of bytes. Where a singular message occurs
// several times, its occurrences are joined into one range first: merging is decoding the
// concatenation. The bytes scanned for that are budgeted, since hostile input may alternate the
// members of a oneof.
#include "formats/decode.h"

#include "formats/decode_map.h"
#include "formats/utf8.h"
#include "formats/wire.h"

#define MERGE_SCAN_FACTOR 64

typedef struct frame_s {
  const leat_message_descriptor_t* descriptor;
  char* message;
  const uint8_t* begin;
  const uint8_t* next;
  const uint8_t* end;
  uint64_t merged;  // by field index: all occurrences were joined, later ones are stepped over
} frame_t;

typedef struct decoder_s {
  leat_arena_t* arena;
  const uint8_t* begin;
  const uint8_t* end;
  size_t memory_left;
  size_t merge_scan_left;
  size_t depth;
  size_t max_depth;
  frame_t frames[LEAT_DECODE_MAX_DEPTH + 1];
} decoder_t;

static const uint8_t wire_types[] = {
    [LEAT_FIELD_DOUBLE] = LEAT_WIRE_FIXED64,   [LEAT_FIELD_FLOAT] = LEAT_WIRE_FIXED32,
    [LEAT_FIELD_INT32] = LEAT_WIRE_VARINT,     [LEAT_FIELD_INT64] = LEAT_WIRE_VARINT,
    [LEAT_FIELD_UINT32] = LEAT_WIRE_VARINT,    [LEAT_FIELD_UINT64] = LEAT_WIRE_VARINT,
    [LEAT_FIELD_SINT32] = LEAT_WIRE_VARINT,    [LEAT_FIELD_SINT64] = LEAT_WIRE_VARINT,
    [LEAT_FIELD_FIXED32] = LEAT_WIRE_FIXED32,  [LEAT_FIELD_FIXED64] = LEAT_WIRE_FIXED64,
    [LEAT_FIELD_SFIXED32] = LEAT_WIRE_FIXED32, [LEAT_FIELD_SFIXED64] = LEAT_WIRE_FIXED64,
    [LEAT_FIELD_BOOL] = LEAT_WIRE_VARINT,      [LEAT_FIELD_ENUM] = LEAT_WIRE_VARINT,
    [LEAT_FIELD_STRING] = LEAT_WIRE_LENGTH,    [LEAT_FIELD_BYTES] = LEAT_WIRE_LENGTH,
    [LEAT_FIELD_MESSAGE] = LEAT_WIRE_LENGTH,
};

LEAT_COLD static leat_status_t malformed(const decoder_t* decoder, const frame_t* frame,
                                         const uint8_t* at, const char* what, const char* rule) {
  // A range that was joined from several is not part of the input; count from its own start then.
  const uint8_t* origin = at >= decoder->begin && at <= decoder->end ? decoder->begin : frame->begin;
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "decode failed for message '%s': %s at byte %zu of %zu, must be %s",
                          frame->descriptor->name, what, (size_t)(at - origin),
                          (size_t)(decoder->end - decoder->begin), rule);
}

static leat_status_t malformed_value(const decoder_t* decoder, const frame_t* frame,
                                     const uint8_t* at) {
  return malformed(decoder, frame, at, "value is cut off or malformed", "whole");
}

static leat_status_t allocate(decoder_t* decoder, size_t count, size_t item_bytes,
                              void** out_items) {
  size_t size;
  if (__builtin_mul_overflow(count, item_bytes, &size) || size > decoder->memory_left) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "decode failed: memory is %zu items of %zu bytes more, must be within "
                            "the limit", count, item_bytes);
  }
  decoder->memory_left -= size;
  return leat_arena_allocate(decoder->arena, size, out_items);
}

static inline const leat_message_field_t* find_field(const leat_message_descriptor_t* descriptor,
                                                     uint32_t number) {
  if (LEAT_LIKELY(number < descriptor->field_by_number_count)) {
    uint8_t index = descriptor->field_by_number[number];
    return index ? &descriptor->fields[index - 1] : NULL;
  }
  return leat_message_find_field(descriptor, number);
}

// Is this the packed form of a list of scalars?
static inline bool is_packed(const leat_message_field_t* field, uint32_t type) {
  return type == LEAT_WIRE_LENGTH && field->list_index >= 0 &&
         wire_types[field->kind] != LEAT_WIRE_LENGTH;
}

// Items in a packed list, SIZE_MAX when its bytes are no whole number of them.
static size_t packed_count(uint32_t item_type, const uint8_t* data, size_t size) {
  if (item_type == LEAT_WIRE_FIXED32) return size % 4 ? SIZE_MAX : size / 4;
  if (item_type == LEAT_WIRE_FIXED64) return size % 8 ? SIZE_MAX : size / 8;
  size_t count = 0;
  for (size_t i = 0; i < size; ++i) count += data[i] < 0x80;
  return size > 0 && data[size - 1] >= 0x80 ? SIZE_MAX : count;
}

// First pass: counts and allocates the lists of the frame's message.
static leat_status_t allocate_lists(decoder_t* decoder, frame_t* frame) {
  const leat_message_descriptor_t* descriptor = frame->descriptor;
  size_t counts[LEAT_MESSAGE_MAX_LISTS];
  memset(counts, 0, descriptor->list_count * sizeof(counts[0]));
  const uint8_t* next = frame->next;
  while (next < frame->end) {
    const uint8_t* begin = next;
    uint32_t number, type;
    next = leat_wire_read_tag(next, frame->end, &number, &type);
    const uint8_t* value = next;
    if (next) next = leat_wire_skip(next, frame->end, number, type);
    if (LEAT_UNLIKELY(!next)) return malformed_value(decoder, frame, begin);
    const leat_message_field_t* field = find_field(descriptor, number);
    if (!field || field->list_index < 0) continue;
    if (type == wire_types[field->kind]) {
      ++counts[field->list_index];
    } else if (is_packed(field, type)) {
      size_t size = 0;
      value = leat_wire_read_length(value, frame->end, &size);
      size_t count = packed_count(wire_types[field->kind], value, size);
      if (count == SIZE_MAX) {
        return malformed(decoder, frame, begin, "packed list ends inside an item", "whole");
      }
      counts[field->list_index] += count;
    }
  }
  for (size_t i = 0; i < descriptor->field_count; ++i) {
    const leat_message_field_t* field = &descriptor->fields[i];
    if (field->list_index < 0 || counts[field->list_index] == 0) continue;
    leat_pb_list_t* list = (leat_pb_list_t*)(frame->message + field->offset);
    LEAT_RETURN_IF_ERROR(allocate(decoder, counts[field->list_index],
                                  leat_message_field_size(field), &list->items));
  }
  return leat_ok_status();
}

static inline leat_status_t push(decoder_t* decoder, const leat_message_descriptor_t* descriptor,
                                 void* message, const uint8_t* data, size_t size) {
  if (LEAT_UNLIKELY(decoder->depth > decoder->max_depth)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "decode failed for message '%s': depth is over %zu, must be within it",
                            descriptor->name, decoder->max_depth);
  }
  frame_t* frame = &decoder->frames[decoder->depth++];
  *frame = (frame_t){.descriptor = descriptor, .message = (char*)message, .begin = data,
                     .next = data, .end = data + size};
  return descriptor->list_count ? allocate_lists(decoder, frame) : leat_ok_status();
}

static inline int64_t zigzag(uint64_t raw) { return (int64_t)(raw >> 1) ^ -(int64_t)(raw & 1); }

// Reads one scalar into |slot|; NULL when cut off.
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
  if (!next) return NULL;
  end = next + size;
  char* slot = (char*)list->items + list->count * item_bytes;
  while (next && next < end) {
    next = read_scalar(field->kind, next, end, slot);
    slot += item_bytes;
    ++list->count;
  }
  return next;
}

// Makes |field| the one that is set; the member that was set before is cleared.
static void set_case(frame_t* frame, const leat_message_field_t* field) {
  uint32_t* set = (uint32_t*)(frame->message + field->case_offset);
  if (*set != 0 && *set != field->number) {
    const leat_message_field_t* old = find_field(frame->descriptor, *set);
    memset(frame->message + old->offset, 0, leat_message_field_size(old));
    frame->merged &= ~(UINT64_C(1) << (old - frame->descriptor->fields));
  }
  *set = field->number;
}

// The part of the frame in which occurrences of |field| merge: all of it, or for a member of a oneof
// what lies between other members. |here| is inside it. |out_size|: bytes of the occurrences.
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
    const leat_message_field_t* found = next ? find_field(frame->descriptor, number) : NULL;
    const uint8_t* value = next;
    if (next) next = leat_wire_skip(next, frame->end, number, type);
    if (!next) break;  // reported when the second pass gets there
    if (!found || type != wire_types[found->kind]) continue;
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

// A singular message occurs again, at |here|: joins all its occurrences and decodes them as one.
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

// |data| is the content of a submessage whose tag stands at |begin|; frame->next is past it.
static inline leat_status_t decode_submessage(decoder_t* decoder, frame_t* frame,
                                              const leat_message_field_t* field,
                                              const uint8_t* begin, const uint8_t* data,
                                              size_t size) {
  if (field->list_index >= 0) {
    leat_pb_list_t* list = (leat_pb_list_t*)(frame->message + field->offset);
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

static inline leat_status_t decode_length(decoder_t* decoder, frame_t* frame,
                                          const leat_message_field_t* field,
                                          const uint8_t* begin, const uint8_t* next) {
  size_t size;
  next = leat_wire_read_length(next, frame->end, &size);
  if (LEAT_UNLIKELY(!next)) return malformed_value(decoder, frame, begin);
  frame->next = next + size;
  if (field->kind == LEAT_FIELD_MESSAGE) {
    return decode_submessage(decoder, frame, field, begin, next, size);
  }
  leat_string_view_t text = {(const char*)next, size};
  if (field->kind == LEAT_FIELD_STRING && LEAT_UNLIKELY(!leat_utf8_is_valid(text))) {
    return malformed(decoder, frame, begin, "string is not UTF-8", "UTF-8");
  }
  leat_string_view_t* slot = (leat_string_view_t*)(frame->message + field->offset);
  if (field->list_index >= 0) {
    leat_pb_string_list_t* list = (leat_pb_string_list_t*)slot;
    slot = &list->items[list->count++];
  }
  *slot = text;
  return leat_ok_status();
}

static inline leat_status_t decode_scalar(decoder_t* decoder, frame_t* frame,
                                          const leat_message_field_t* field,
                                          const uint8_t* begin, const uint8_t* next) {
  char* slot = frame->message + field->offset;
  if (field->list_index >= 0) {
    leat_pb_list_t* list = (leat_pb_list_t*)slot;
    slot = (char*)list->items + list->count++ * leat_message_field_size(field);
  }
  frame->next = read_scalar(field->kind, next, frame->end, slot);
  return LEAT_LIKELY(frame->next != NULL) ? leat_ok_status()
                                          : malformed_value(decoder, frame, begin);
}

static leat_status_t finish_message(decoder_t* decoder, frame_t* frame) {
  const leat_message_descriptor_t* descriptor = frame->descriptor;
  if (descriptor->is_map_entry && descriptor->fields[1].kind == LEAT_FIELD_MESSAGE) {
    const leat_message_field_t* value = &descriptor->fields[1];
    void** slot = (void**)(frame->message + value->offset);
    if (!*slot) LEAT_RETURN_IF_ERROR(allocate(decoder, 1, value->message->size_bytes, slot));
  }
  if (!descriptor->has_map) return leat_ok_status();
  for (size_t i = 0; i < descriptor->field_count; ++i) {
    const leat_message_field_t* field = &descriptor->fields[i];
    if (field->label != LEAT_FIELD_MAP) continue;
    leat_pb_list_t* list = (leat_pb_list_t*)(frame->message + field->offset);
    if (list->count < 2) continue;
    LEAT_RETURN_IF_ERROR(
        leat_decode_drop_repeated_keys(decoder->arena->allocator, field->message, list));
  }
  return leat_ok_status();
}

// Second pass: stores fields until the message ends or a submessage begins.
static leat_status_t decode_fields(decoder_t* decoder, frame_t* frame) {
  size_t depth = decoder->depth;
  while (frame->next < frame->end) {
    const uint8_t* begin = frame->next;
    uint32_t number, type;
    const uint8_t* next = leat_wire_read_tag(begin, frame->end, &number, &type);
    if (LEAT_UNLIKELY(!next)) {
      return malformed(decoder, frame, begin, "tag is malformed", "a field number and wire type");
    }
    const leat_message_field_t* field = find_field(frame->descriptor, number);
    if (field && type == wire_types[field->kind]) {
      if (field->case_offset >= 0) set_case(frame, field);
      if (type != LEAT_WIRE_LENGTH) {
        LEAT_RETURN_IF_ERROR(decode_scalar(decoder, frame, field, begin, next));
      } else {
        LEAT_RETURN_IF_ERROR(decode_length(decoder, frame, field, begin, next));
        if (decoder->depth != depth) return leat_ok_status();
      }
      continue;
    }
    if (field && is_packed(field, type)) {
      frame->next = read_packed(field, (leat_pb_list_t*)(frame->message + field->offset), next,
                                frame->end);
    } else {
      frame->next = leat_wire_skip(next, frame->end, number, type);
    }
    if (LEAT_UNLIKELY(!frame->next)) return malformed_value(decoder, frame, begin);
  }
  LEAT_RETURN_IF_ERROR(finish_message(decoder, frame));
  --decoder->depth;
  return leat_ok_status();
}

leat_status_t leat_message_decode(const leat_message_descriptor_t* descriptor,
                                  leat_string_view_t bytes, leat_arena_t* arena,
                                  const leat_decode_limits_t* limits, void* out_message) {
  leat_decode_limits_t none = {0};
  if (!limits) limits = &none;
  memset(out_message, 0, descriptor->size_bytes);
  if (limits->max_size_bytes && bytes.size > limits->max_size_bytes) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "decode failed for message '%s': size is %zu bytes, must be within %llu",
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
  decoder.depth = 0;
  decoder.max_depth = limits->max_depth && limits->max_depth < LEAT_DECODE_MAX_DEPTH
                          ? limits->max_depth : LEAT_DECODE_MAX_DEPTH;
  LEAT_RETURN_IF_ERROR(push(&decoder, descriptor, out_message, data, bytes.size));
  while (decoder.depth > 0) {
    LEAT_RETURN_IF_ERROR(decode_fields(&decoder, &decoder.frames[decoder.depth - 1]));
  }
  return leat_ok_status();
}
