// Encodes messages in the binary form of protocol buffers, by their descriptors. A nested message
// stands behind its size, which is known only when all of it has been visited, so encoding takes
// two passes over the message. The first one measures, and notes in a list of words what the second
// needs again: the sizes of nested messages and packed lists, and the order of map entries. The
// second pass visits the message in the same order, takes the words one after the other, and
// writes.
//
//   measure:  message ─▶ words [ size, size, order, order, size, ... ] and the total
//   write:    message + words, in the same order ─▶ bytes, into room of exactly the total
//
// Each size is thus computed once, however deep the message is, and each byte is written once. The
// result is deterministic: fields come in the order of their numbers and map entries in that of
// their keys, so that equal messages give equal bytes, on which checkpoints and signatures of
// functions rely.
#include "formats/wire/encode.h"

#include "formats/wire/map_entries.h"
#include "formats/wire/wire.h"

typedef struct encoder_s {
  leat_allocator_t* allocator;
  size_t* words;
  size_t word_count;
  size_t word_capacity;
  size_t next_word;  // of the second pass
  uint32_t depth;
} encoder_t;

// Adds |count| words to the end of the list, for the second pass; |*out_index| is the first of
// them. The list may move, so callers keep the index and no pointer.
static leat_status_t add_words(encoder_t* encoder, size_t count, size_t* out_index) {
  size_t needed = encoder->word_count + count;
  if (needed > encoder->word_capacity) {
    LEAT_RETURN_IF_ERROR(
        LEAT_GROW(encoder->allocator, needed, &encoder->words, &encoder->word_capacity));
  }
  *out_index = encoder->word_count;
  encoder->word_count = needed;
  return leat_ok_status();
}

static inline size_t tag_size(const leat_message_field_t* field) {
  return leat_wire_varint_size((uint64_t)field->number << 3);
}
static inline uint8_t* write_tag(const leat_message_field_t* field, uint8_t type, uint8_t* out) {
  return leat_wire_write_varint(out, (uint64_t)field->number << 3 | type);
}
static inline size_t delimited_size(size_t size) { return leat_wire_varint_size(size) + size; }

// The bits of a scalar on the wire: the value of the varint, or the fixed-size number.
static uint64_t scalar_bits(const leat_message_field_t* field, const void* slot) {
  int64_t number;
  switch ((leat_field_kind_t)field->kind) {
    case LEAT_FIELD_INT32:
    case LEAT_FIELD_ENUM:
      return (uint64_t)(int64_t)*(const int32_t*)slot;
    case LEAT_FIELD_SINT32:
      number = *(const int32_t*)slot;
      return (uint32_t)((uint32_t)number << 1 ^ (uint32_t)(number >> 63));
    case LEAT_FIELD_SINT64:
      number = *(const int64_t*)slot;
      return (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
    case LEAT_FIELD_BOOL:
      return *(const bool*)slot;
    default:
      break;
  }
  if (leat_message_field_size(field) == 4) return *(const uint32_t*)slot;
  return *(const uint64_t*)slot;
}

static size_t scalar_size(const leat_message_field_t* field, const void* slot) {
  switch (field->wire_type) {
    case LEAT_WIRE_FIXED32:
      return 4;
    case LEAT_WIRE_FIXED64:
      return 8;
    default:
      return leat_wire_varint_size(scalar_bits(field, slot));
  }
}

static uint8_t* write_scalar(const leat_message_field_t* field, const void* slot, uint8_t* out) {
  uint64_t bits = scalar_bits(field, slot);
  switch (field->wire_type) {
    case LEAT_WIRE_FIXED32:
      leat_wire_store32(out, (uint32_t)bits);
      return out + 4;
    case LEAT_WIRE_FIXED64:
      leat_wire_store64(out, bits);
      return out + 8;
    default:
      return leat_wire_write_varint(out, bits);
  }
}

// The size of a list's scalars without tags and length. Only varints have to be measured one by
// one.
static size_t scalars_size(const leat_message_field_t* field, const leat_pb_list_t* list) {
  uint8_t type = field->wire_type;
  if (type != LEAT_WIRE_VARINT) return list->count * (type == LEAT_WIRE_FIXED32 ? 4 : 8);
  size_t item_bytes = leat_message_field_size(field), size = 0;
  for (size_t i = 0; i < list->count; ++i) {
    size += scalar_size(field, (const char*)list->items + i * item_bytes);
  }
  return size;
}

static uint8_t* write_scalars(const leat_message_field_t* field, const leat_pb_list_t* list,
                              uint8_t* out) {
  const bool is_packed = field->label == LEAT_FIELD_PACKED;
  size_t item_bytes = leat_message_field_size(field);
  for (size_t i = 0; i < list->count; ++i) {
    if (!is_packed) out = write_tag(field, field->wire_type, out);
    out = write_scalar(field, (const char*)list->items + i * item_bytes, out);
  }
  return out;
}

// Whether a singular field is written: proto3 leaves out what has its default, except in map
// entries and oneofs.
static bool is_present(const leat_message_descriptor_t* descriptor,
                       const leat_message_field_t* field, const char* message) {
  const char* slot = message + field->offset;
  if (descriptor->is_map_entry) return true;
  if (field->case_offset >= 0) {
    return *(const uint32_t*)(message + field->case_offset) == field->number;
  }
  switch ((leat_field_kind_t)field->kind) {
    case LEAT_FIELD_STRING:
    case LEAT_FIELD_BYTES:
      return ((const leat_string_view_t*)slot)->size > 0;
    case LEAT_FIELD_MESSAGE:
      return *(void* const*)slot != NULL;
    default:
      return scalar_bits(field, slot) != 0;
  }
}

static leat_status_t measure_message(encoder_t* encoder,
                                     const leat_message_descriptor_t* descriptor,
                                     const char* message, size_t* out_size);

// Adds the size of a nested message, its tag and its length to |*inout_size|. A NULL |message|
// stands for an empty one.
static leat_status_t measure_submessage(encoder_t* encoder, const leat_message_field_t* field,
                                        const char* message, size_t* inout_size) {
  size_t index, size = 0;
  LEAT_RETURN_IF_ERROR(add_words(encoder, 1, &index));
  if (message) LEAT_RETURN_IF_ERROR(measure_message(encoder, field->message, message, &size));
  encoder->words[index] = size;
  *inout_size += tag_size(field) + delimited_size(size);
  return leat_ok_status();
}

// Measures a list of messages. The order of a map's entries is kept in the list of words, so that
// the second pass need not sort them again.
static leat_status_t measure_messages(encoder_t* encoder, const leat_message_field_t* field,
                                      const leat_pb_list_t* list, size_t* inout_size) {
  size_t order = 0, item_bytes = field->message->size_bytes;
  bool is_map = field->label == LEAT_FIELD_MAP;
  if (is_map) {
    LEAT_RETURN_IF_ERROR(add_words(encoder, list->count, &order));
    leat_map_entries_order(field->message, list, encoder->words + order);
  }
  for (size_t i = 0; i < list->count; ++i) {
    size_t index = is_map ? encoder->words[order + i] : i;
    const char* item = (const char*)list->items + index * item_bytes;
    LEAT_RETURN_IF_ERROR(measure_submessage(encoder, field, item, inout_size));
  }
  return leat_ok_status();
}

static leat_status_t measure_list(encoder_t* encoder, const leat_message_field_t* field,
                                  const leat_pb_list_t* list, size_t* inout_size) {
  if (list->count == 0) return leat_ok_status();
  if (field->label == LEAT_FIELD_PACKED) {
    size_t index, size = scalars_size(field, list);
    LEAT_RETURN_IF_ERROR(add_words(encoder, 1, &index));
    encoder->words[index] = size;
    *inout_size += tag_size(field) + delimited_size(size);
    return leat_ok_status();
  }
  if (field->kind == LEAT_FIELD_MESSAGE) {
    return measure_messages(encoder, field, list, inout_size);
  }
  if (field->wire_type != LEAT_WIRE_LENGTH) {
    *inout_size += list->count * tag_size(field) + scalars_size(field, list);
    return leat_ok_status();
  }
  const leat_string_view_t* strings = (const leat_string_view_t*)list->items;
  for (size_t i = 0; i < list->count; ++i) {
    *inout_size += tag_size(field) + delimited_size(strings[i].size);
  }
  return leat_ok_status();
}

static leat_status_t measure_message(encoder_t* encoder,
                                     const leat_message_descriptor_t* descriptor,
                                     const char* message, size_t* out_size) {
  size_t size = 0;
  if (++encoder->depth > LEAT_ENCODE_MAX_DEPTH) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "encode failed for message '%s': depth is over %d, must be within it",
                            descriptor->name, LEAT_ENCODE_MAX_DEPTH);
  }
  for (size_t i = 0; i < descriptor->field_count; ++i) {
    const leat_message_field_t* field = &descriptor->fields[i];
    const char* slot = message + field->offset;
    if (field->list_index >= 0) {
      LEAT_RETURN_IF_ERROR(measure_list(encoder, field, (const leat_pb_list_t*)slot, &size));
    } else if (!is_present(descriptor, field, message)) {
      continue;
    } else if (field->kind == LEAT_FIELD_MESSAGE) {
      LEAT_RETURN_IF_ERROR(measure_submessage(encoder, field, *(char* const*)slot, &size));
    } else if (field->wire_type == LEAT_WIRE_LENGTH) {
      size += tag_size(field) + delimited_size(((const leat_string_view_t*)slot)->size);
    } else {
      size += tag_size(field) + scalar_size(field, slot);
    }
  }
  --encoder->depth;
  *out_size = size;
  return leat_ok_status();
}

static uint8_t* write_message(encoder_t* encoder, const leat_message_descriptor_t* descriptor,
                              const char* message, uint8_t* out);

static uint8_t* write_submessage(encoder_t* encoder, const leat_message_field_t* field,
                                 const char* message, uint8_t* out) {
  out = write_tag(field, LEAT_WIRE_LENGTH, out);
  out = leat_wire_write_varint(out, encoder->words[encoder->next_word++]);
  return message ? write_message(encoder, field->message, message, out) : out;
}

static uint8_t* write_string(const leat_message_field_t* field, leat_string_view_t string,
                             uint8_t* out) {
  out = write_tag(field, LEAT_WIRE_LENGTH, out);
  out = leat_wire_write_varint(out, string.size);
  if (string.size > 0) memcpy(out, string.data, string.size);
  return out + string.size;
}

// Writes the list in the order in which measure_list has added its words: first the order of a
// map's entries, then the size of each message.
static uint8_t* write_list(encoder_t* encoder, const leat_message_field_t* field,
                           const leat_pb_list_t* list, uint8_t* out) {
  if (list->count == 0) return out;
  if (field->label == LEAT_FIELD_PACKED) {
    out = write_tag(field, LEAT_WIRE_LENGTH, out);
    out = leat_wire_write_varint(out, encoder->words[encoder->next_word++]);
  }
  if (field->wire_type != LEAT_WIRE_LENGTH) return write_scalars(field, list, out);
  if (field->kind != LEAT_FIELD_MESSAGE) {
    const leat_string_view_t* strings = (const leat_string_view_t*)list->items;
    for (size_t i = 0; i < list->count; ++i) out = write_string(field, strings[i], out);
    return out;
  }
  bool is_map = field->label == LEAT_FIELD_MAP;
  size_t order = encoder->next_word;
  if (is_map) encoder->next_word += list->count;
  for (size_t i = 0; i < list->count; ++i) {
    size_t index = is_map ? encoder->words[order + i] : i;
    const char* item = (const char*)list->items + index * field->message->size_bytes;
    out = write_submessage(encoder, field, item, out);
  }
  return out;
}

static uint8_t* write_message(encoder_t* encoder, const leat_message_descriptor_t* descriptor,
                              const char* message, uint8_t* out) {
  for (size_t i = 0; i < descriptor->field_count; ++i) {
    const leat_message_field_t* field = &descriptor->fields[i];
    const char* slot = message + field->offset;
    if (field->list_index >= 0) {
      out = write_list(encoder, field, (const leat_pb_list_t*)slot, out);
    } else if (!is_present(descriptor, field, message)) {
      continue;
    } else if (field->kind == LEAT_FIELD_MESSAGE) {
      out = write_submessage(encoder, field, *(char* const*)slot, out);
    } else if (field->wire_type == LEAT_WIRE_LENGTH) {
      out = write_string(field, *(const leat_string_view_t*)slot, out);
    } else {
      out = write_scalar(field, slot, write_tag(field, field->wire_type, out));
    }
  }
  return out;
}

leat_status_t leat_message_encode(const leat_message_descriptor_t* descriptor, const void* message,
                                  leat_string_builder_t* out) {
  encoder_t encoder = {.allocator = out->allocator};
  size_t size;
  leat_status_t status = measure_message(&encoder, descriptor, (const char*)message, &size);
  if (leat_status_is_ok(status) && size > 0) {
    char* room = leat_string_builder_reserve(out, size);
    if (room) {
      write_message(&encoder, descriptor, (const char*)message, (uint8_t*)room);
    } else {
      status = leat_status_clone(out->status);
    }
  }
  leat_allocator_free(out->allocator, encoder.words);
  return status;
}

void leat_message_append_field(leat_string_builder_t* out, uint32_t number,
                               leat_string_view_t bytes) {
  uint8_t head[2 * LEAT_WIRE_MAX_VARINT_BYTES];
  uint8_t* end = leat_wire_write_varint(head, (uint64_t)number << 3 | LEAT_WIRE_LENGTH);
  end = leat_wire_write_varint(end, bytes.size);
  leat_string_builder_append(out, leat_string_view_make((const char*)head, (size_t)(end - head)));
  leat_string_builder_append(out, bytes);
}

void leat_wire_append_varint(leat_string_builder_t* out, uint64_t value) {
  uint8_t bytes[LEAT_WIRE_MAX_VARINT_BYTES];
  const size_t size = (size_t)(leat_wire_write_varint(bytes, value) - bytes);
  leat_string_builder_append(out, leat_string_view_make((const char*)bytes, size));
}
