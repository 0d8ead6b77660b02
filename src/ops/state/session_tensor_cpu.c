// The CPU kernels of GetSessionHandle, GetSessionTensor and DeleteSessionTensor. A session keeps
// tensors between steps in a store (kernel/session_tensors.h), so that a client can pass the result
// of one step to another without fetching it. The handle is the text under which the store keeps a
// tensor; GetSessionHandleV2 gives it as the name of a resource handle. Without a session, as in a
// kernel that is run by itself, there is no store and the kernels fail.
#include "kernel/session_tensors.h"

#include "ops/kernel_rows.h"

static leat_status_t find_store(const leat_kernel_context_t* c,
                                leat_session_tensors_t** out_store) {
  *out_store = c->services->session_tensors;
  if (*out_store) return leat_ok_status();
  return leat_kernel_error(c, LEAT_FAILED_PRECONDITION, "no session keeps tensors here");
}

// ---- GetSessionHandle ---------------------------------------------------------------------------

// Output 0 becomes the handle |text|, a string or the name of a resource handle.
static leat_status_t set_handle(leat_kernel_context_t* c, leat_string_view_t text) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  if (output->dtype == LEAT_DTYPE_STRING) return leat_tensor_set_string(output, 0, text);
  return leat_resource_handle_create(c->kernel->device->name, LEAT_SV(""), text,
                                     LEAT_SV("TensorHandle"),
                                     leat_tensor_data(output, leat_resource_handle_t*));
}

static leat_status_t get_session_handle__cpu(leat_kernel_context_t* c) {
  leat_session_tensors_t* store;
  leat_tensor_t value;
  leat_string_builder_t handle;
  LEAT_RETURN_IF_ERROR(find_store(c, &store));
  LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, 0, &value));
  leat_string_builder_initialize(leat_allocator_system(), &handle);
  leat_status_t status = leat_session_tensors_add(store, c->kernel->node_name,
                                                  c->kernel->device->name, &value, &handle);
  if (!status) status = set_handle(c, leat_string_builder_view(&handle));
  leat_string_builder_deinitialize(&handle);
  leat_tensor_release(&value);
  return status;
}

// ---- GetSessionTensor and DeleteSessionTensor ---------------------------------------------------

// Reads the handle at input 0 and finds the session's store.
static leat_status_t read_handle(const leat_kernel_context_t* c,
                                 leat_session_tensors_t** out_store,
                                 leat_string_view_t* out_handle) {
  const leat_tensor_t* handle = leat_kernel_input(c, 0);
  if (handle->shape.rank != 0) {
    return leat_kernel_invalid(c, "handle has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(&handle->shape));
  }
  *out_handle = leat_tensor_string_at(handle, 0);
  return find_store(c, out_store);
}

static leat_status_t get_session_tensor__cpu(leat_kernel_context_t* c) {
  leat_session_tensors_t* store;
  leat_string_view_t handle;
  leat_tensor_t value;
  LEAT_RETURN_IF_ERROR(read_handle(c, &store, &handle));
  LEAT_RETURN_IF_ERROR(leat_session_tensors_get(store, handle, &value));
  if (value.dtype != c->kernel->output_types[0]) {
    leat_status_t status = leat_kernel_invalid(
        c, "handle names a tensor of type %s, must be of type %s", leat_dtype_name(value.dtype),
        leat_dtype_name(c->kernel->output_types[0]));
    leat_tensor_release(&value);
    return status;
  }
  leat_kernel_set_output(c, 0, value);
  return leat_ok_status();
}

static leat_status_t delete_session_tensor__cpu(leat_kernel_context_t* c) {
  leat_session_tensors_t* store;
  leat_string_view_t handle;
  LEAT_RETURN_IF_ERROR(read_handle(c, &store, &handle));
  return leat_session_tensors_remove(store, handle);
}

const leat_kernel_row_t leat_session_tensor_kernels_cpu[] = {
    {.op = "GetSessionHandle", .device_type = "CPU", .compute = get_session_handle__cpu},
    {.op = "GetSessionHandleV2", .device_type = "CPU", .compute = get_session_handle__cpu},
    {.op = "GetSessionTensor", .device_type = "CPU", .compute = get_session_tensor__cpu},
    {.op = "DeleteSessionTensor", .device_type = "CPU", .compute = delete_session_tensor__cpu},
    LEAT_KERNEL_ROWS_END,
};
