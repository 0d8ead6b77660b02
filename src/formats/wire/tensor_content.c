// Tensors whose elements are all in tensor_content. For strings, handles and variants the lists of
// TensorProto are the common form: writing makes the lists (formats/wire/tensor_proto.h) and packs
// them, and reading unpacks tensor_content into the lists and reads these. That way every rule
// about elements exists once. Sizes come from a peer and may lie, so each is held against the bytes
// that are left before it is used.
#include "formats/wire/tensor_content.h"

#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_proto.h"
#include "formats/wire/wire.h"

// ---- Writing ------------------------------------------------------------------------------------

// A list of messages: its items one after the other.
typedef struct items_s {
  const leat_message_descriptor_t* descriptor;  // NULL: the items are strings
  const char* first;
  size_t item_bytes;
  size_t count;
} items_t;

static leat_status_t append_item(const items_t* items, size_t index, leat_string_builder_t* out) {
  const char* item = items->first + index * items->item_bytes;
  if (items->descriptor) return leat_message_encode(items->descriptor, item, out);
  leat_string_builder_append(out, *(const leat_string_view_t*)item);
  return leat_ok_status();
}

// Packs the items into |*out_content|, in |arena|. Each is encoded behind the last one into
// |texts|; its size is how much longer that became.
static leat_status_t pack(const items_t* items, leat_arena_t* arena,
                          leat_string_view_t* out_content) {
  leat_string_builder_t sizes, texts;
  leat_status_t status = leat_ok_status();
  leat_string_builder_initialize(leat_allocator_system(), &sizes);
  leat_string_builder_initialize(leat_allocator_system(), &texts);
  for (size_t i = 0; i < items->count && !status; ++i) {
    const size_t before = texts.size;
    status = append_item(items, i, &texts);
    leat_wire_append_varint(&sizes, texts.size - before);
  }
  leat_string_builder_append(&sizes, leat_string_builder_view(&texts));
  if (!status) status = leat_status_clone(texts.status);
  if (!status) status = leat_status_clone(sizes.status);
  if (!status) {
    status = leat_arena_copy_string(arena, leat_string_builder_view(&sizes), out_content);
  }
  leat_string_builder_deinitialize(&sizes);
  leat_string_builder_deinitialize(&texts);
  return status;
}

// Packs the list of a tensor of objects, and empties it.
static leat_status_t pack_objects(leat_arena_t* arena, leat_pb_tensor_proto_t* proto) {
  items_t items = {0};
  switch (proto->dtype) {
    case LEAT_DTYPE_RESOURCE:
      items = (items_t){&leat_pb_resource_handle_proto_descriptor,
                        (const char*)proto->resource_handle_val.items,
                        sizeof *proto->resource_handle_val.items,
                        proto->resource_handle_val.count};
      break;
    case LEAT_DTYPE_VARIANT:
      items = (items_t){&leat_pb_variant_tensor_data_proto_descriptor,
                        (const char*)proto->variant_val.items, sizeof *proto->variant_val.items,
                        proto->variant_val.count};
      break;
    default:
      items = (items_t){NULL, (const char*)proto->string_val.items,
                        sizeof *proto->string_val.items, proto->string_val.count};
      break;
  }
  LEAT_RETURN_IF_ERROR(pack(&items, arena, &proto->tensor_content));
  proto->resource_handle_val.count = proto->variant_val.count = proto->string_val.count = 0;
  return leat_ok_status();
}

leat_status_t leat_tensor_to_content(const leat_tensor_t* tensor, leat_arena_t* arena,
                                     leat_pb_tensor_proto_t* out_proto) {
  *out_proto = (leat_pb_tensor_proto_t){0};
  if (leat_dtype_in(tensor->dtype, LEAT_DTYPES_OBJECT)) {
    LEAT_RETURN_IF_ERROR(leat_tensor_to_proto(tensor, arena, out_proto));
    return pack_objects(arena, out_proto);
  }
  out_proto->dtype = tensor->dtype;
  out_proto->tensor_content = leat_string_view_make(tensor->data, leat_tensor_size_bytes(tensor));
  return leat_partial_shape_to_proto(leat_partial_shape_of(&tensor->shape), arena,
                                     &out_proto->tensor_shape);
}

// ---- Reading ------------------------------------------------------------------------------------

static leat_status_t malformed(const leat_pb_tensor_proto_t* proto, size_t count) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor decode failed: tensor_content has %zu bytes, must be the sizes "
                          "and the bytes of %zu elements of %s",
                          proto->tensor_content.size, count, leat_dtype_name(proto->dtype));
}

// Decodes |count| messages of |descriptor|, of |item_bytes| each, into |items|.
static leat_status_t unpack(const leat_pb_tensor_proto_t* proto,
                            const leat_message_descriptor_t* descriptor, size_t count,
                            size_t item_bytes, leat_arena_t* arena, char* items) {
  const uint8_t* size_at = (const uint8_t*)proto->tensor_content.data;
  const uint8_t* end = size_at + proto->tensor_content.size;
  const uint8_t* text = size_at;
  uint64_t size;
  for (size_t i = 0; i < count && text; ++i) text = leat_wire_read_varint(text, end, &size);
  if (!text) return malformed(proto, count);
  for (size_t i = 0; i < count; ++i) {
    size_at = leat_wire_read_varint(size_at, end, &size);
    if (size > (uint64_t)(end - text)) return malformed(proto, count);
    LEAT_RETURN_IF_ERROR(leat_message_decode(descriptor,
                                             leat_string_view_make((const char*)text, (size_t)size),
                                             arena, NULL, items + i * item_bytes));
    text += size;
  }
  return text == end ? leat_ok_status() : malformed(proto, count);
}

// The same value with its handles or variants in the list. An element takes at least one byte, so
// that a shape which lies takes no memory.
static leat_status_t unpack_objects(const leat_pb_tensor_proto_t* proto, leat_arena_t* arena,
                                    leat_pb_tensor_proto_t* out_proto) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_from_proto(proto->tensor_shape, &shape));
  const int64_t elements = shape.element_count;
  leat_shape_release(&shape);
  const size_t count = (size_t)elements;
  if (count > proto->tensor_content.size) return malformed(proto, count);
  *out_proto = *proto;
  out_proto->tensor_content = (leat_string_view_t){0};
  if (proto->dtype == LEAT_DTYPE_RESOURCE) {
    leat_pb_resource_handle_proto_list_t* list = &out_proto->resource_handle_val;
    list->count = count;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &list->items));
    return unpack(proto, &leat_pb_resource_handle_proto_descriptor, count, sizeof *list->items,
                  arena, (char*)list->items);
  }
  leat_pb_variant_tensor_data_proto_list_t* list = &out_proto->variant_val;
  list->count = count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &list->items));
  return unpack(proto, &leat_pb_variant_tensor_data_proto_descriptor, count, sizeof *list->items,
                arena, (char*)list->items);
}

leat_status_t leat_tensor_from_content(const leat_pb_tensor_proto_t* proto, leat_arena_t* arena,
                                       leat_buffer_source_t* source, leat_tensor_t* out_tensor) {
  leat_pb_tensor_proto_t unpacked;
  const bool packs =
      proto->dtype == LEAT_DTYPE_RESOURCE || proto->dtype == LEAT_DTYPE_VARIANT;
  *out_tensor = (leat_tensor_t){0};
  if (packs && proto->tensor_content.size > 0) {
    LEAT_RETURN_IF_ERROR(unpack_objects(proto, arena, &unpacked));
    proto = &unpacked;
  }
  return leat_tensor_from_proto(proto, source, out_tensor);
}
