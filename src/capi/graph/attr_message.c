// Attribute values and shapes as serialized messages: decoding for the setters
// (operation_builder_attr.c, mutation.c), and the getters of the C API that give a TensorShapeProto
// or an AttrValue. Bindings in other languages use these forms, since they have protocol buffers of
// their own. The getters copy under the graph's lock, so that what they return does not change with
// the graph. A list of messages is returned completely or, after a failure, not at all: the buffers
// made so far are deleted.
#include "capi/graph/attr_message.h"

#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "graph/op/attr_proto.h"

leat_status_t leat_capi_attr_decode(leat_string_view_t bytes, leat_graph_storage_t* storage,
                                    leat_attr_value_t* out_value) {
  leat_arena_t arena;
  leat_pb_attr_value_t proto = {0};
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_attr_value_descriptor, bytes, &arena, NULL, &proto);
  status = leat_status_annotate(status, "Unparseable AttrValue proto");
  if (!status) status = leat_attr_value_from_proto(&proto, storage, out_value);
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_capi_shape_decode(leat_string_view_t bytes, leat_arena_t* arena,
                                     leat_partial_shape_t* out_shape) {
  leat_arena_t decoded;
  leat_pb_tensor_shape_proto_t proto = {.unknown_rank = false};
  leat_arena_initialize(leat_allocator_system(), 1024, &decoded);
  leat_status_t status = leat_message_decode(&leat_pb_tensor_shape_proto_descriptor, bytes,
                                             &decoded, NULL, &proto);
  status = leat_status_annotate(status, "Unparseable TensorShapeProto");
  if (!status) status = leat_partial_shape_from_proto(&proto, arena, out_shape);
  leat_arena_deinitialize(&decoded);
  return status;
}

// ---- Getters that give messages -----------------------------------------------------------------

// INVALID_ARGUMENT where the operation has no such attribute. The caller of this and the following
// functions holds the graph's lock.
static leat_status_t find_attr(const TF_Operation* oper, const char* attr_name,
                               const leat_attr_value_t** out_value) {
  const leat_node_t* node = leat_capi_node(oper);
  *out_value = leat_node_attr(node, leat_string_view_from(attr_name));
  if (*out_value) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Operation '%.*s' has no attr named '%s'.",
                          LEAT_SV_ARG(node->name), attr_name);
}

// Finds the attribute, which must be a shape or, with |is_list|, a list of shapes. An empty list
// has no kind of its own and fits.
static leat_status_t find_shape(const TF_Operation* oper, const char* attr_name, bool is_list,
                                const leat_attr_value_t** out_value) {
  LEAT_RETURN_IF_ERROR(find_attr(oper, attr_name, out_value));
  const leat_attr_value_t* value = *out_value;
  bool empty = is_list && value->count == 0;
  if (value->is_list == is_list && (value->kind == LEAT_ATTR_SHAPE || empty)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Attribute '%s' has type %s, must be %s",
                          attr_name,
                          leat_attr_kind_name((leat_attr_kind_t)value->kind, value->is_list),
                          leat_attr_kind_name(LEAT_ATTR_SHAPE, is_list));
}

// Moves the encoded message into |out_buffer|, which must be empty.
static leat_status_t encode(const leat_message_descriptor_t* descriptor, const void* message,
                            TF_Buffer* out_buffer) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_message_encode(descriptor, message, &bytes);
  if (!status) return leat_capi_buffer_take(&bytes, out_buffer);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

static leat_status_t encode_shape(leat_partial_shape_t shape, TF_Buffer* out_buffer) {
  leat_arena_t arena;
  leat_pb_tensor_shape_proto_t* proto = NULL;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status = leat_partial_shape_to_proto(shape, &arena, &proto);
  if (!status) status = encode(&leat_pb_tensor_shape_proto_descriptor, proto, out_buffer);
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t get_shape(const TF_Operation* oper, const char* attr_name,
                               TF_Buffer* out_buffer) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_shape(oper, attr_name, false, &value));
  return encode_shape(value->shape, out_buffer);
}

void TF_OperationGetAttrTensorShapeProto(TF_Operation* oper, const char* attr_name,
                                         TF_Buffer* value, TF_Status* status) {
  leat_capi_lock(oper->graph);
  leat_capi_status_set(status, get_shape(oper, attr_name, value));
  leat_capi_unlock(oper->graph);
}

static leat_status_t new_shape_buffer(leat_partial_shape_t shape, TF_Buffer** out_buffer) {
  *out_buffer = TF_NewBuffer();
  if (!*out_buffer) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a buffer ran out");
  }
  leat_status_t status = encode_shape(shape, *out_buffer);
  if (!status) return leat_ok_status();
  TF_DeleteBuffer(*out_buffer);
  *out_buffer = NULL;
  return status;
}

// Makes a buffer for each of the first |room| shapes of the list.
static leat_status_t get_shapes(const TF_Operation* oper, const char* attr_name,
                                TF_Buffer** buffers, int room) {
  const leat_attr_value_t* value = NULL;
  LEAT_RETURN_IF_ERROR(find_shape(oper, attr_name, true, &value));
  for (int i = 0; i < room && (uint32_t)i < value->count; ++i) {
    leat_status_t status = new_shape_buffer(value->shapes[i], &buffers[i]);
    if (!status) continue;
    while (i > 0) {
      TF_DeleteBuffer(buffers[--i]);
      buffers[i] = NULL;
    }
    return status;
  }
  return leat_ok_status();
}

void TF_OperationGetAttrTensorShapeProtoList(TF_Operation* oper, const char* attr_name,
                                             TF_Buffer** values, int max_values,
                                             TF_Status* status) {
  leat_capi_lock(oper->graph);
  leat_capi_status_set(status, get_shapes(oper, attr_name, values, max_values));
  leat_capi_unlock(oper->graph);
}

static leat_status_t get_value(const TF_Operation* oper, const char* attr_name,
                               TF_Buffer* out_buffer) {
  leat_arena_t arena;
  const leat_attr_value_t* value = NULL;
  leat_pb_attr_value_t proto = {0};
  LEAT_RETURN_IF_ERROR(find_attr(oper, attr_name, &value));
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status = leat_attr_value_to_proto(value, &arena, &proto);
  if (!status) status = encode(&leat_pb_attr_value_descriptor, &proto, out_buffer);
  leat_arena_deinitialize(&arena);
  return status;
}

void TF_OperationGetAttrValueProto(TF_Operation* oper, const char* attr_name,
                                   TF_Buffer* output_attr_value, TF_Status* status) {
  leat_capi_lock(oper->graph);
  leat_capi_status_set(status, get_value(oper, attr_name, output_attr_value));
  leat_capi_unlock(oper->graph);
}
