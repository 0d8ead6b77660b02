// What a plugin's kernel asks while it runs: its inputs, memory for its outputs, and where and in
// which step it runs. The tensors that the plugin gets share the buffers of the step's tensors, so
// that nothing is copied.
//
// Errors of two kinds meet here. A function that the plugin may ignore the status of also fails the
// run (refuse), so that a wrong output is never used. After the run leat_plugin_run_status adds
// what a plugin may have forgotten: every output must be set, and booleans must be 0 or 1. An
// output may reuse the buffer of an input that nobody reads any more; since the plugin may still
// ask for that input, both then own the buffer (share_back).
#include "capi/plugin/plugin_device.h"
#include "formats/generated/tensor.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_proto.h"
#include "kernel/resource.h"
#include "tensorflow/c/kernels_experimental.h"

static leat_status_t out_of_range(const char* what) {
  return leat_make_status(LEAT_OUT_OF_RANGE, "%s index out of range", what);
}

static bool has_input(const TF_OpKernelContext* ctx, int64_t i) {
  return i >= 0 && i < ctx->context->kernel->input_count;
}

static bool has_output(const TF_OpKernelContext* ctx, int64_t i) {
  return i >= 0 && i < ctx->context->kernel->output_count;
}

// Whether |name| is in a list such as "a; b".
static bool lists_name(const char* list, leat_string_view_t name) {
  for (leat_string_view_t rest = leat_string_view_from(list ? list : ""); rest.size > 0;) {
    size_t end = leat_string_view_find(rest, ';');
    leat_string_view_t part = rest;
    if (end != SIZE_MAX) part.size = end;
    if (leat_string_view_equal(leat_string_view_trim(part), name)) return true;
    rest = leat_string_view_from_index(rest, end == SIZE_MAX ? end : end + 1);
  }
  return false;
}

// Whether the kernel declares tensor |i| of |arguments| as host memory.
static bool is_declared_host(const TF_OpKernelContext* ctx, int i,
                             const leat_op_argument_t* arguments, int count,
                             const int32_t* starts) {
  int argument = 0;
  while (argument + 1 < count && starts[argument + 1] <= i) ++argument;
  return lists_name(ctx->context->kernel->row->host_memory, arguments[argument].name);
}

bool leat_plugin_input_is_host(const TF_OpKernelContext* ctx, int index) {
  const leat_kernel_t* kernel = ctx->context->kernel;
  return kernel->device->shares_host_memory ||
         leat_dtype_in(leat_dtype_base(kernel->input_types[index]), LEAT_DTYPES_OBJECT) ||
         is_declared_host(ctx, index, kernel->op->inputs, kernel->op->input_count,
                          leat_plugin_state(ctx)->starts);
}

static bool output_is_host(const TF_OpKernelContext* ctx, int index) {
  const leat_kernel_t* kernel = ctx->context->kernel;
  return kernel->device->shares_host_memory ||
         leat_dtype_in(leat_dtype_base(kernel->output_types[index]), LEAT_DTYPES_OBJECT) ||
         is_declared_host(ctx, index, kernel->op->outputs, kernel->op->output_count,
                          leat_plugin_state(ctx)->starts + kernel->op->input_count + 1);
}

int TF_NumInputs(TF_OpKernelContext* ctx) { return ctx->context->kernel->input_count; }

int TF_NumOutputs(TF_OpKernelContext* ctx) { return ctx->context->kernel->output_count; }

// ---- Failure ------------------------------------------------------------------------------------

// Fails the run with |status|, which is taken, unless it has failed before.
static void fail(TF_OpKernelContext* ctx, leat_status_t status) {
  ctx->failure = leat_status_join(ctx->failure, status);
}

void TF_OpKernelContext_Failure(TF_OpKernelContext* ctx, TF_Status* status) {
  if (status) fail(ctx, leat_status_clone(status->status));
}

// Sets |status| and, where |problem| is an error, fails the run too.
static void refuse(TF_OpKernelContext* ctx, leat_status_t problem, TF_Status* status) {
  fail(ctx, leat_status_clone(problem));
  leat_capi_status_set(status, problem);
}

leat_status_t leat_plugin_run_status(TF_OpKernelContext* ctx) {
  const leat_kernel_context_t* c = ctx->context;
  leat_status_t failure = ctx->failure;
  ctx->failure = leat_ok_status();
  for (int i = 0; i < c->kernel->output_count && !failure; ++i) {
    if (c->outputs[i].tensor.dtype != 0 || c->outputs[i].ref) continue;
    failure = leat_make_status(LEAT_INTERNAL, "Missing %d-th output from {{node %.*s}}", i,
                               LEAT_SV_ARG(c->kernel->node_name));
  }
  // A plugin is compiled elsewhere and may leave any byte in a boolean; those in a device are not
  // read.
  for (int i = 0; i < c->kernel->output_count && !failure; ++i) {
    if (c->outputs[i].tensor.dtype != LEAT_DTYPE_BOOL || !output_is_host(ctx, i)) continue;
    failure = leat_tensor_normalize_bools(c->services->memory, &c->outputs[i].tensor);
  }
  return failure;
}

// ---- Inputs -------------------------------------------------------------------------------------

// Gives a handle of input i. A reference gives the variable's value, which must be initialized.
static leat_status_t share_input(const TF_OpKernelContext* ctx, int i, TF_Tensor** tensor) {
  if (!has_input(ctx, i)) return out_of_range("input");
  leat_cell_t* cell = leat_kernel_input_ref(ctx->context, i);
  leat_tensor_t value = {0};
  if (!cell) {
    value = leat_tensor_share(leat_kernel_input(ctx->context, i));
  } else if (!leat_cell_read(cell, &value)) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Attempting to use uninitialized value at input %d", i);
  }
  TF_Tensor* handle = NULL;
  LEAT_RETURN_IF_ERROR(leat_capi_tensor_wrap(&value, &handle));
  *tensor = handle;
  return leat_ok_status();
}

void TF_GetInput(TF_OpKernelContext* ctx, int i, TF_Tensor** tensor, TF_Status* status) {
  leat_capi_status_set(status, share_input(ctx, i, tensor));
}

// Finds the range [start, stop) of the tensors of argument |name|.
static leat_status_t find_range(const TF_OpKernelContext* ctx, const char* name, int* out_start,
                                int* out_stop) {
  const leat_op_t* op = ctx->context->kernel->op;
  const int32_t* starts = leat_plugin_state(ctx)->starts;
  for (int i = 0; name && i < op->input_count; ++i) {
    if (!leat_string_view_equals(op->inputs[i].name, name)) continue;
    *out_start = starts[i];
    *out_stop = starts[i + 1];
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Unknown input name: %s", name ? name : "");
}

void TF_InputRange(TF_OpKernelContext* ctx, const char* name, TF_InputRange_Args* args) {
  args->start = args->stop = -1;
  leat_capi_status_set(args->status, find_range(ctx, name, &args->start, &args->stop));
}

void TF_GetInputByName(TF_OpKernelContext* ctx, const char* inputName, TF_Tensor** tensor,
                       TF_Status* status) {
  int start = -1, stop = -1;
  leat_status_t result = find_range(ctx, inputName, &start, &stop);
  if (!result && stop != start + 1) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "OpKernel used list-valued input name '%s' when single-valued input "
                              "was expected",
                              inputName);
  }
  if (!result) result = share_input(ctx, start, tensor);
  leat_capi_status_set(status, result);
}

TF_DataType TF_InputDatatype(TF_OpKernelContext* ctx, int index) {
  return (TF_DataType)(has_input(ctx, index) ? ctx->context->kernel->input_types[index] : 0);
}

bool TF_IsRefInput(TF_OpKernelContext* ctx, int i, TF_Status* status) {
  bool exists = has_input(ctx, i);
  leat_capi_status_set(status, exists ? leat_ok_status() : out_of_range("input"));
  return exists && leat_dtype_is_ref(ctx->context->kernel->input_types[i]);
}

// Writes the handle at input |i| as a ResourceHandleProto, the part of its TensorProto that
// describes it.
static leat_status_t serialize_handle(const TF_OpKernelContext* ctx, int i, TF_Buffer* buffer) {
  LEAT_RETURN_IF_ERROR(leat_capi_buffer_check_empty(buffer));
  if (!has_input(ctx, i)) return out_of_range("input");
  const leat_tensor_t* handle = leat_kernel_input(ctx->context, i);
  if (handle->dtype != LEAT_DTYPE_RESOURCE || handle->shape.element_count == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Input %d is %s, must be a resource", i,
                            leat_dtype_name(handle->dtype));
  }
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_pb_tensor_proto_t proto = {.dtype = 0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_tensor_to_proto(handle, &arena, &proto);
  if (!status && proto.resource_handle_val.count == 0) {
    status = leat_make_status(LEAT_INTERNAL, "The handle at input %d has no message",
                              i);
  }
  if (!status) {
    status = leat_message_encode(&leat_pb_resource_handle_proto_descriptor,
                                 &proto.resource_handle_val.items[0], &bytes);
  }
  leat_arena_deinitialize(&arena);
  if (!status) return leat_capi_buffer_take(&bytes, buffer);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

void TF_GetSerializedResourceHandleProto(TF_OpKernelContext* ctx, int i,
                                         TF_Buffer* serialized_resource_handle_proto,
                                         TF_Status* status) {
  leat_capi_status_set(status, serialize_handle(ctx, i, serialized_resource_handle_proto));
}

// ---- Outputs ------------------------------------------------------------------------------------

TF_DataType TF_ExpectedOutputDataType(TF_OpKernelContext* ctx, int i) {
  return (TF_DataType)(has_output(ctx, i) ? ctx->context->kernel->output_types[i] : 0);
}

static leat_status_t check_type(const TF_OpKernelContext* ctx, int i, int dtype) {
  if (!has_output(ctx, i)) return out_of_range("output");
  int expected = ctx->context->kernel->output_types[i];
  if (dtype == expected) return leat_ok_status();
  return leat_kernel_invalid(ctx->context, "output %d is %s, must be %s", i,
                             leat_dtype_name(dtype), leat_dtype_name(expected));
}

// Sets output |i|, which shares the tensor's buffer; a value that was set before is released.
static leat_status_t set_output(TF_OpKernelContext* ctx, int i, const TF_Tensor* tensor) {
  leat_tensor_t value = {0};
  if (tensor && has_output(ctx, i) && !output_is_host(ctx, i)) {
    value = leat_tensor_share(&tensor->tensor);  // its bytes are not for the host
  } else {
    LEAT_RETURN_IF_ERROR(leat_capi_tensor_value(tensor, &value));
  }
  leat_status_t status = check_type(ctx, i, value.dtype);
  if (status) {
    leat_tensor_release(&value);
    return status;
  }
  leat_buffer_mark_lent(value.buffer);  // the plug-in may keep its handle and write through it
  leat_slot_release(&ctx->context->outputs[i]);
  leat_kernel_set_output(ctx->context, i, value);
  return status;
}

void TF_SetOutput(TF_OpKernelContext* ctx, int i, const TF_Tensor* tensor, TF_Status* status) {
  refuse(ctx, set_output(ctx, i, tensor), status);
}

TF_Tensor* TF_GetMutableOutput(TF_OpKernelContext* ctx, int i, TF_Status* status) {
  TF_Tensor* handle = NULL;
  leat_status_t result = leat_ok_status();
  if (!has_output(ctx, i)) {
    result = out_of_range("output");
  } else if (ctx->context->outputs[i].tensor.dtype == 0) {
    result = leat_make_status(LEAT_FAILED_PRECONDITION, "Output %d is not set yet", i);
  } else {
    leat_tensor_t value = leat_tensor_share(leat_kernel_output(ctx->context, i));
    result = leat_capi_tensor_wrap(&value, &handle);
  }
  leat_capi_status_set(status, result);
  return handle;
}

void TF_OpKernelContext_ForwardRefInputToRefOutput(TF_OpKernelContext* ctx, int32_t input_index,
                                                   int32_t output_index) {
  const leat_kernel_t* kernel = ctx->context->kernel;
  if (has_input(ctx, input_index) && has_output(ctx, output_index) &&
      kernel->input_types[input_index] == kernel->output_types[output_index] &&
      leat_kernel_input_ref(ctx->context, input_index)) {
    leat_kernel_pass_ref(ctx->context, input_index, output_index);
  } else {
    fail(ctx, leat_kernel_invalid(ctx->context, "references %d and %d are not of one type",
                                  (int)input_index, (int)output_index));
  }
}

// ---- Memory -------------------------------------------------------------------------------------

static leat_status_t make_shape(const int64_t* dims, int num_dims, leat_shape_t* out_shape) {
  if (num_dims < 0 || (num_dims > 0 && !dims)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Shape has %d dims, must have some", num_dims);
  }
  return leat_shape_create(num_dims, dims, out_shape);
}

// INVALID_ARGUMENT for types whose elements a plugin cannot write: handles of resources and
// variants are made by their own ops.
static leat_status_t check_plain(int dtype) {
  if (dtype != LEAT_DTYPE_RESOURCE && dtype != LEAT_DTYPE_VARIANT && leat_dtype_size(dtype) > 0 &&
      !leat_dtype_is_ref(dtype)) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Type is %s, must be one with elements to write",
                          leat_dtype_name(dtype));
}

// An input whose buffer was moved to |output| becomes a second owner of it, because the plugin may
// still ask for the input. |inputs| is the set of candidates, by bit.
static void share_back(const leat_kernel_context_t* c, uint64_t inputs,
                       const leat_tensor_t* output) {
  for (; inputs; inputs &= inputs - 1) {
    leat_tensor_t* input = &c->slots[c->input_slots[__builtin_ctzll(inputs)]].tensor;
    if (input->buffer || !output->buffer || input->data != output->data) continue;
    leat_buffer_retain(output->buffer);
    input->buffer = output->buffer;
  }
}

// Of |inputs|, those whose memory an output could have: the host's or the device's.
static uint64_t inputs_in_memory(const TF_OpKernelContext* ctx, uint64_t inputs, bool is_host) {
  uint64_t found = 0;
  for (; inputs; inputs &= inputs - 1) {
    if (leat_plugin_input_is_host(ctx, __builtin_ctzll(inputs)) == is_host) {
      found |= inputs & -inputs;
    }
  }
  return found;
}

// Allocates output |index|, or gives it the buffer of one of |inputs|, in the memory that it must
// lie in.
static leat_status_t allocate_in_memory(TF_OpKernelContext* ctx, int index, uint64_t inputs,
                                        const leat_shape_t* shape, leat_tensor_t** out_tensor) {
  leat_kernel_context_t* c = ctx->context;
  const leat_step_services_t* services = c->services;
  const leat_device_t* device = c->kernel->device;
  if (device->shares_host_memory) {
    return leat_kernel_forward_any_or_allocate(c, inputs, index, shape, out_tensor);
  }
  const bool is_host = output_is_host(ctx, index);
  leat_step_services_t with_memory = *services;
  with_memory.memory = is_host ? device->host_memory : device->memory;
  c->services = &with_memory;
  leat_status_t status = leat_kernel_forward_any_or_allocate(
      c, inputs_in_memory(ctx, inputs, is_host), index, shape, out_tensor);
  c->services = services;
  return status;
}

// Allocates output |index| or gives it the buffer of one of |inputs|, and wraps it.
static leat_status_t allocate_output(TF_OpKernelContext* ctx, int index, uint64_t inputs,
                                     const int64_t* dims, int num_dims, TF_Tensor** out_handle) {
  leat_shape_t shape;
  leat_tensor_t* tensor = NULL;
  LEAT_RETURN_IF_ERROR(check_plain(ctx->context->kernel->output_types[index]));
  LEAT_RETURN_IF_ERROR(make_shape(dims, num_dims, &shape));
  leat_status_t status = allocate_in_memory(ctx, index, inputs, &shape, &tensor);
  leat_shape_release(&shape);
  if (status) {
    leat_slot_release(&ctx->context->outputs[index]);
    return status;
  }
  share_back(ctx->context, inputs, tensor);
  leat_tensor_t value = leat_tensor_share(tensor);
  return leat_capi_tensor_wrap(&value, out_handle);
}

TF_Tensor* TF_AllocateOutput(TF_OpKernelContext* context, int index, TF_DataType dtype,
                             const int64_t* dims, int num_dims, size_t len, TF_Status* status) {
  TF_Tensor* handle = NULL;
  leat_status_t result = check_type(context, index, (int)dtype);
  if (!result) result = allocate_output(context, index, 0, dims, num_dims, &handle);
  refuse(context, result, status);
  return handle;
}

// Candidates from the 64th input on are never forwarded, since the set of candidates has 64 bits.
TF_Tensor* TF_ForwardInputOrAllocateOutput(TF_OpKernelContext* context,
                                           const int* candidate_input_indices,
                                           int num_candidate_input_indices, int output_index,
                                           const int64_t* output_dims, int output_num_dims,
                                           int* forwarded_input, TF_Status* status) {
  TF_Tensor* handle = NULL;
  int forwarded = -1;
  uint64_t inputs = 0;
  leat_status_t result = has_output(context, output_index) ? leat_ok_status()
                                                           : out_of_range("output");
  for (int i = 0; i < num_candidate_input_indices && !result; ++i) {
    int input = candidate_input_indices[i];
    if (!has_input(context, input)) result = out_of_range("input");
    if (!result && input < 64) inputs |= UINT64_C(1) << input;
  }
  if (!result) {
    result = allocate_output(context, output_index, inputs, output_dims, output_num_dims, &handle);
  }
  for (int i = 0; i < num_candidate_input_indices && handle && handle->tensor.buffer; ++i) {
    int input = candidate_input_indices[i];
    if (leat_kernel_input(context->context, input)->buffer == handle->tensor.buffer) {
      forwarded = input;
    }
  }
  if (forwarded_input) *forwarded_input = forwarded;
  refuse(context, result, status);
  return handle;
}

TF_Tensor* TF_AllocateTemp(TF_OpKernelContext* context, TF_DataType dtype, const int64_t* dims,
                           int num_dims, TF_AllocatorAttributes* alloc_attrs, TF_Status* status) {
  TF_Tensor* handle = NULL;
  leat_shape_t shape;
  leat_tensor_t tensor = {0};
  leat_status_t result = leat_ok_status();
  if (alloc_attrs && alloc_attrs->struct_size == 0) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "struct_size of TF_AllocatorAttributes must be "
                              "TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE");
  }
  if (!result) result = check_plain((int)dtype);
  if (!result) result = make_shape(dims, num_dims, &shape);
  if (!result) {
    const leat_device_t* device = context->context->kernel->device;
    const bool is_host = leat_dtype_in((int)dtype, LEAT_DTYPES_OBJECT) ||
                         (alloc_attrs && alloc_attrs->on_host);
    result = is_host && !device->shares_host_memory
                 ? leat_tensor_allocate(device->host_memory, (int)dtype, &shape, &tensor)
                 : leat_kernel_allocate_temporary(context->context, (int)dtype, &shape, &tensor);
    leat_shape_release(&shape);
  }
  if (!result) result = leat_capi_tensor_wrap(&tensor, &handle);
  leat_capi_status_set(status, result);
  return handle;
}

// ---- Places and steps ---------------------------------------------------------------------------

// Whether a tensor lies in host memory, as TensorFlow says it: what the kernel does not declare as
// host memory counts as device memory, even on a CPU; only strings and resource handles are always
// in host memory.
static bool is_in_host_memory(const TF_OpKernelContext* ctx, int i, int dtype,
                              const leat_op_argument_t* arguments, int count,
                              const int32_t* starts) {
  if (leat_dtype_in(leat_dtype_base(dtype), LEAT_DTYPES_OBJECT) &&
      leat_dtype_base(dtype) != LEAT_DTYPE_VARIANT) {
    return true;
  }
  return is_declared_host(ctx, i, arguments, count, starts);
}

bool TF_IsHostMemoryInput(TF_OpKernelContext* ctx, int i, TF_Status* status) {
  const leat_kernel_t* kernel = ctx->context->kernel;
  bool exists = has_input(ctx, i);
  leat_capi_status_set(status, exists ? leat_ok_status() : out_of_range("input"));
  return exists && is_in_host_memory(ctx, i, kernel->input_types[i], kernel->op->inputs,
                                     kernel->op->input_count, leat_plugin_state(ctx)->starts);
}

bool TF_IsHostMemoryOutput(TF_OpKernelContext* ctx, int i, TF_Status* status) {
  const leat_kernel_t* kernel = ctx->context->kernel;
  bool exists = has_output(ctx, i);
  leat_capi_status_set(status, exists ? leat_ok_status() : out_of_range("output"));
  return exists &&
         is_in_host_memory(ctx, i, kernel->output_types[i], kernel->op->outputs,
                           kernel->op->output_count,
                           leat_plugin_state(ctx)->starts + kernel->op->input_count + 1);
}

int64_t TF_StepId(TF_OpKernelContext* ctx) { return ctx->context->services->step_id; }

int64_t TF_GetStepId(TF_OpKernelContext* ctx) { return TF_StepId(ctx); }

uint64_t TF_GetFrameId(TF_OpKernelContext* ctx) { return ctx->context->frame_id; }

int64_t TF_GetIterId(TF_OpKernelContext* ctx) { return ctx->context->iteration; }

static TF_StringView view_of(leat_string_view_t text) {
  return (TF_StringView){text.data, text.size};
}

TF_StringView TF_GetDeviceName(TF_OpKernelContext* ctx) {
  return view_of(ctx->context->kernel->device->name);
}

// The number at the end of the device's name.
int TF_GetDeviceId(TF_OpKernelContext* ctx) {
  leat_string_view_t name = ctx->context->kernel->device->name;
  int id = 0, scale = 1;
  for (size_t i = name.size; i > 0 && name.data[i - 1] >= '0' && name.data[i - 1] <= '9'; --i) {
    id += (name.data[i - 1] - '0') * scale;
    scale *= 10;
  }
  return id;
}

TF_StringView TF_GetOpKernelName(TF_OpKernelContext* ctx) {
  return view_of(ctx->context->kernel->node_name);
}

TF_StringView TF_GetResourceMgrDefaultContainerName(TF_OpKernelContext* ctx) {
  return view_of(LEAT_SV(LEAT_DEFAULT_CONTAINER));
}

int TF_GetGraphDefVersion(TF_OpKernelContext* ctx) { return LEAT_GRAPH_DEF_VERSION; }

SP_Stream TF_GetStream(TF_OpKernelContext* ctx, TF_Status* status) {
  SP_Stream stream = leat_plugin_device_stream(ctx->context->kernel->device);
  leat_capi_status_set(
      status, stream ? leat_ok_status()
                     : leat_make_status(LEAT_FAILED_PRECONDITION,
                                        "Accessing device stream is not supported for a CPU "
                                        "device."));
  return stream;
}
