// Tensors that arrive as serialized messages: TensorProto, and resource handles, which a caller
// feeds as a ResourceHandleProto in the block of a scalar.
#include "capi/handles.h"
#include "formats/wire/decode.h"
#include "formats/wire/tensor_proto.h"

// Makes a resource tensor of the serialized handle |bytes|.
static leat_status_t decode_handle(leat_string_view_t bytes, leat_tensor_t* out_tensor) {
  leat_arena_t arena;
  leat_pb_resource_handle_proto_t handle = {.hash_code = 0};
  leat_pb_tensor_shape_proto_t scalar = {.unknown_rank = false};
  leat_pb_tensor_proto_t proto = {.dtype = LEAT_DTYPE_RESOURCE,
                                  .tensor_shape = &scalar,
                                  .resource_handle_val = {&handle, 1}};
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status = leat_message_decode(&leat_pb_resource_handle_proto_descriptor, bytes,
                                             &arena, NULL, &handle);
  if (!status) status = leat_tensor_from_proto(&proto, leat_buffer_source_host(), out_tensor);
  leat_arena_deinitialize(&arena);
  return leat_status_annotate(status, "Malformed TF_RESOURCE tensor");
}

leat_status_t leat_capi_tensor_value(const TF_Tensor* handle, leat_tensor_t* out_tensor) {
  *out_tensor = (leat_tensor_t){0};
  if (!handle) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Taking a value failed: tensor is NULL");
  }
  if (!leat_capi_tensor_is_raw(handle)) {
    *out_tensor = leat_tensor_share(&handle->tensor);
    leat_status_t status = leat_tensor_normalize_bools(leat_buffer_source_host(), out_tensor);
    if (status) leat_tensor_release(out_tensor);
    return status;
  }
  if (handle->tensor.dtype == LEAT_DTYPE_VARIANT) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Taking a value failed: bytes of a caller are no TF_VARIANT, must come "
                            "from a session");
  }
  if (handle->tensor.shape.rank != 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Malformed TF_RESOURCE tensor: expected a scalar, got a tensor with "
                            "shape %s", LEAT_SHAPE_TEXT(&handle->tensor.shape));
  }
  return decode_handle(leat_string_view_make(handle->tensor.data, handle->size_bytes), out_tensor);
}

void TF_TensorFromProto(const TF_Buffer* from, TF_Tensor* to, TF_Status* status) {
  leat_arena_t arena;
  leat_tensor_t tensor = {0};
  leat_pb_tensor_proto_t proto = {0};
  leat_arena_initialize(leat_allocator_system(), 4096, &arena);
  leat_status_t result = leat_message_decode(&leat_pb_tensor_proto_descriptor,
                                             leat_capi_buffer_bytes(from), &arena, NULL, &proto);
  if (!result) result = leat_tensor_from_proto(&proto, leat_buffer_source_host(), &tensor);
  if (!result) {
    leat_tensor_release(&to->tensor);
    leat_capi_tensor_fill(to, &tensor);
  }
  leat_arena_deinitialize(&arena);
  leat_capi_status_set(status, leat_status_annotate(result, "Unparseable tensor proto"));
}
