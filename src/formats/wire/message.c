// Look-ups in message descriptors, and lists that grow in an arena. A descriptor is the table of
// one protocol buffer message: each field's name, number, kind and offset in the C struct. All
// readers and writers (binary, text, JSON) work by these tables, which dev/generate-messages makes
// from formats/proto/.
//
// Fields lie in the order of their numbers, so they are found by bisection. A look-up by name walks
// all of them: it serves the text formats, where the messages have few fields. A list in a message
// is only a pointer and a count, as the generated structs declare it, and does not store its
// capacity; leat_message_list_append() recovers the capacity from the count.
#include "formats/wire/message.h"

#include "base/checked.h"

// NULL when the message has no field of that number, which is an unknown field to be skipped.
const leat_message_field_t* leat_message_find_field(const leat_message_descriptor_t* descriptor,
                                                    uint32_t number) {
  size_t low = 0, high = descriptor->field_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const leat_message_field_t* field = &descriptor->fields[middle];
    if (field->number == number) return field;
    if (field->number < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

const leat_message_field_t* leat_message_find_field_by_name(
    const leat_message_descriptor_t* descriptor, leat_string_view_t name) {
  for (size_t i = 0; i < descriptor->field_count; ++i) {
    if (leat_string_view_equals(name, descriptor->fields[i].name)) return &descriptor->fields[i];
  }
  return NULL;
}

size_t leat_message_field_size(const leat_message_field_t* field) {
  switch ((leat_field_kind_t)field->kind) {
    case LEAT_FIELD_DOUBLE:
    case LEAT_FIELD_INT64:
    case LEAT_FIELD_UINT64:
    case LEAT_FIELD_SINT64:
    case LEAT_FIELD_FIXED64:
    case LEAT_FIELD_SFIXED64:
      return 8;
    case LEAT_FIELD_BOOL:
      return sizeof(bool);
    case LEAT_FIELD_STRING:
    case LEAT_FIELD_BYTES:
      return sizeof(leat_string_view_t);
    case LEAT_FIELD_MESSAGE:
      return field->label == LEAT_FIELD_SINGULAR ? sizeof(void*) : field->message->size_bytes;
    default:
      return 4;
  }
}

const char* leat_enum_name(const leat_enum_descriptor_t* descriptor, int32_t number) {
  for (size_t i = 0; i < descriptor->value_count; ++i) {
    if (descriptor->values[i].number == number) return descriptor->values[i].name;
  }
  return NULL;
}

bool leat_enum_number(const leat_enum_descriptor_t* descriptor, leat_string_view_t name,
                      int32_t* out_number) {
  for (size_t i = 0; i < descriptor->value_count; ++i) {
    if (leat_string_view_equals(name, descriptor->values[i].name)) {
      *out_number = descriptor->values[i].number;
      return true;
    }
  }
  return false;
}

// The capacity is 4 and then the next power of two, so it follows from the count, provided that
// every item was appended here. Growing copies into new room in the arena and leaves the old room
// unused until the arena ends, which costs at most as much again.
leat_status_t leat_message_list_append(leat_arena_t* arena, void* list, size_t item_bytes,
                                       void** out_item) {
  leat_pb_list_t* items = (leat_pb_list_t*)list;
  size_t count = items->count;
  if (count == 0 || (count >= 4 && (count & (count - 1)) == 0)) {
    void* grown;
    size_t room = count == 0 ? 4 : count * 2;
    LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(arena, room, item_bytes, &grown));
    if (count > 0) memcpy(grown, items->items, count * item_bytes);
    items->items = grown;
  }
  *out_item = (char*)items->items + count * item_bytes;
  items->count = count + 1;
  return leat_ok_status();
}
