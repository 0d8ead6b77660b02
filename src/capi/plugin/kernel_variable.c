// Variables in kernels of plugins (kernels_experimental.h). A variable is a cell
// (kernel/resource.h) that an input names, by a resource handle or by a reference. What a plugin
// writes into a variable it writes into bytes that nobody else reads: before it gets them they are
// copied if they are shared, so that a value which a step has read never changes. The plugin gives
// the functions that copy, update or allocate on its device; they are called on this thread, and
// what they report by TF_OpKernelContext_Failure fails the run. Those that copy or update own the
// handles that they are given, as in TensorFlow: they delete them, and nobody here may. Sums and
// zeros of variants, which the same header has, stand at the end.
#include "capi/plugin/plugin_device.h"
#include "kernel/resource.h"
#include "kernel/tensor_sum.h"
#include "tensorflow/c/kernels_experimental.h"

typedef void (*copy_fn_t)(TF_OpKernelContext* ctx, TF_Tensor* source, TF_Tensor* dest);

// ---- Finding ------------------------------------------------------------------------------------

leat_status_t leat_plugin_find_variable(const TF_OpKernelContext* ctx, int index,
                                        leat_cell_t** out_cell) {
  leat_kernel_context_t* c = ctx->context;
  if (index < 0 || index >= c->kernel->input_count) {
    return leat_make_status(LEAT_OUT_OF_RANGE, "input index out of range");
  }
  *out_cell = leat_kernel_input_ref(c, index);
  if (!*out_cell) {
    return leat_cell_of_handle(c->services->resources, leat_kernel_input(c, index), out_cell);
  }
  leat_cell_retain(*out_cell);
  return leat_ok_status();
}

static leat_status_t make_cell(void* data, leat_resource_t** out_resource) {
  leat_cell_t* cell;
  LEAT_RETURN_IF_ERROR(leat_cell_create(LEAT_SV(""), NULL, &cell));
  *out_resource = &cell->resource;
  return leat_ok_status();
}

// The first assignment makes the cell that a handle names.
static leat_status_t find_or_make_cell(const TF_OpKernelContext* ctx, int index,
                                       leat_cell_t** out_cell) {
  leat_status_t status = leat_plugin_find_variable(ctx, index, out_cell);
  if (leat_status_code(status) != LEAT_NOT_FOUND) return status;
  leat_status_free(status);
  const leat_resource_handle_t* handle =
      *leat_tensor_data(leat_kernel_input(ctx->context, index), leat_resource_handle_t*);
  leat_resource_t* resource;
  LEAT_RETURN_IF_ERROR(leat_resource_manager_find_or_make(
      ctx->context->services->resources, handle->container, handle->name, &leat_cell_kind,
      make_cell, NULL, &resource));
  *out_cell = (leat_cell_t*)resource;
  return leat_ok_status();
}

static leat_status_t check_initialized(const leat_cell_t* cell, int index) {
  if (cell->tensor.dtype != 0) return leat_ok_status();
  return leat_make_status(LEAT_FAILED_PRECONDITION,
                          "Attempting to use uninitialized value at input %d", index);
}

// The value of input |index|, which is no variable; borrowed.
static leat_status_t find_value(const TF_OpKernelContext* ctx, int index,
                                const leat_tensor_t** out_value) {
  if (index < 0 || index >= ctx->context->kernel->input_count) {
    return leat_make_status(LEAT_OUT_OF_RANGE, "input index out of range");
  }
  *out_value = leat_kernel_input(ctx->context, index);
  return leat_ok_status();
}

static leat_status_t check_shape(const leat_shape_t* variable, const leat_shape_t* value) {
  if (leat_shape_equal(variable, value)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "value has shape %s, must be the variable's, %s",
                          LEAT_SHAPE_TEXT(value), LEAT_SHAPE_TEXT(variable));
}

// ---- Copying ------------------------------------------------------------------------------------

static leat_status_t wrap_shared(const leat_tensor_t* tensor, TF_Tensor** out_handle) {
  leat_tensor_t shared = leat_tensor_share(tensor);
  return leat_capi_tensor_wrap(&shared, out_handle);
}

// Makes two handles for a function of the plugin, which then owns both; neither on failure.
static leat_status_t wrap_both(const leat_tensor_t* first, TF_Tensor** out_first,
                               const leat_tensor_t* second, TF_Tensor** out_second) {
  LEAT_RETURN_IF_ERROR(wrap_shared(first, out_first));
  leat_status_t status = wrap_shared(second, out_second);
  if (status) TF_DeleteTensor(*out_first);
  return status;
}

// The failure that a function of the plugin has reported, if any.
static leat_status_t failure_of(const TF_OpKernelContext* ctx) {
  return leat_status_clone(ctx->failure);
}

// Copies |value| into new memory, by the plugin's function.
static leat_status_t copy_by(TF_OpKernelContext* ctx, copy_fn_t copy, const leat_tensor_t* value,
                             leat_tensor_t* out_copy) {
  leat_buffer_source_t* memory = ctx->context->services->memory;
  leat_device_t* device = ctx->context->kernel->device;
  const bool is_within = !copy && leat_plugin_device_stream(device) &&
                         !leat_dtype_in(value->dtype, LEAT_DTYPES_OBJECT);
  if (!copy && !is_within) return leat_tensor_copy(memory, value, out_copy);
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(memory, value->dtype, &value->shape, out_copy));
  if (is_within) {
    leat_status_t copied = leat_plugin_device_copy(device, value, out_copy);
    if (copied) leat_tensor_release(out_copy);
    return copied;
  }
  TF_Tensor *source = NULL, *target = NULL;
  leat_status_t status = wrap_both(value, &source, out_copy, &target);
  if (!status) {
    copy(ctx, source, target);
    status = failure_of(ctx);
  }
  if (status) leat_tensor_release(out_copy);
  return status;
}

// Makes the cell, whose mutex is held, the only owner of its value's bytes.
static leat_status_t make_exclusive(TF_OpKernelContext* ctx, copy_fn_t copy, leat_cell_t* cell) {
  leat_tensor_t own;
  if (!cell->tensor.buffer || leat_buffer_is_exclusive(cell->tensor.buffer)) {
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(copy_by(ctx, copy, &cell->tensor, &own));
  leat_cell_set(cell, own);
  return leat_ok_status();
}

// ---- Assigning ----------------------------------------------------------------------------------

// Gives the cell, whose mutex is held, a copy of |value|.
static leat_status_t assign(TF_OpKernelContext* ctx, leat_cell_t* cell, const leat_tensor_t* value,
                            bool validates_shape, copy_fn_t copy) {
  leat_tensor_t own;
  if (cell->dtype && cell->dtype != value->dtype) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "value has type %s, must be the variable's, %s",
                            leat_dtype_name(value->dtype), leat_dtype_name(cell->dtype));
  }
  if (validates_shape && cell->tensor.dtype) {
    LEAT_RETURN_IF_ERROR(check_shape(&cell->tensor.shape, &value->shape));
  }
  LEAT_RETURN_IF_ERROR(copy_by(ctx, copy, value, &own));
  leat_cell_set(cell, own);
  return leat_ok_status();
}

static leat_status_t assign_variable(TF_OpKernelContext* ctx, int input_index, int value_index,
                                     bool validates_shape, copy_fn_t copy) {
  const leat_tensor_t* value = NULL;
  leat_cell_t* cell = NULL;
  LEAT_RETURN_IF_ERROR(find_value(ctx, value_index, &value));
  LEAT_RETURN_IF_ERROR(find_or_make_cell(ctx, input_index, &cell));
  leat_mutex_lock(&cell->mutex);
  leat_status_t status = assign(ctx, cell, value, validates_shape, copy);
  leat_mutex_unlock(&cell->mutex);
  leat_cell_release(cell);
  return status;
}

void TF_AssignVariable(TF_OpKernelContext* ctx, int input_index, int value_index,
                       bool validate_shape, copy_fn_t copyFunc, TF_Status* status) {
  leat_capi_status_set(
      status, assign_variable(ctx, input_index, value_index, validate_shape, copyFunc));
}

// An update always holds the variable's lock, also without |use_locking|.
void TF_AssignRefVariable(TF_OpKernelContext* ctx, int input_ref_index, int output_ref_index,
                          int value_index, bool use_locking, bool validate_shape,
                          copy_fn_t copyFunc, TF_Status* status) {
  TF_OpKernelContext_ForwardRefInputToRefOutput(ctx, input_ref_index, output_ref_index);
  leat_status_t result = failure_of(ctx);
  if (!result) {
    result = assign_variable(ctx, input_ref_index, value_index, validate_shape, copyFunc);
  }
  leat_capi_status_set(status, result);
}

typedef void (*update_fn_t)(TF_OpKernelContext* ctx, TF_Tensor* tensor, TF_Tensor* value, int Op);

// Lets the plugin change the cell's value in place, with the cell's mutex held.
static leat_status_t update(TF_OpKernelContext* ctx, leat_cell_t* cell, const leat_tensor_t* value,
                            int op, copy_fn_t copy, update_fn_t update_by) {
  TF_Tensor *own = NULL, *operand = NULL;
  LEAT_RETURN_IF_ERROR(check_shape(&cell->tensor.shape, &value->shape));
  LEAT_RETURN_IF_ERROR(make_exclusive(ctx, copy, cell));
  LEAT_RETURN_IF_ERROR(wrap_both(&cell->tensor, &own, value, &operand));
  update_by(ctx, own, operand, op);
  return failure_of(ctx);
}

static leat_status_t update_variable(TF_OpKernelContext* ctx, int input_index, int value_index,
                                     int op, copy_fn_t copy, update_fn_t update_by) {
  const leat_tensor_t* value = NULL;
  leat_cell_t* cell = NULL;
  LEAT_RETURN_IF_ERROR(find_value(ctx, value_index, &value));
  LEAT_RETURN_IF_ERROR(leat_plugin_find_variable(ctx, input_index, &cell));
  leat_mutex_lock(&cell->mutex);
  leat_status_t status = check_initialized(cell, input_index);
  if (!status) status = update(ctx, cell, value, op, copy, update_by);
  leat_mutex_unlock(&cell->mutex);
  leat_cell_release(cell);
  return status;
}

void TF_AssignUpdateVariable(TF_OpKernelContext* ctx, int input_index, int value_index, int Op,
                             int isVariantType, copy_fn_t copyFunc, update_fn_t updateFunc,
                             TF_Status* status) {
  leat_capi_status_set(
      status, update_variable(ctx, input_index, value_index, Op, copyFunc, updateFunc));
}

// ---- Locking several ----------------------------------------------------------------------------

// The cells in the order of their addresses, each once: two kernels that lock the same variables in
// another order would wait for each other.
struct TF_VariableInputLockHolder {
  bool is_locked;
  size_t count;
  leat_cell_t* cells[];  // retained
};

void TF_ReleaseVariableInputLockHolder(TF_VariableInputLockHolder* lockHolder) {
  if (!lockHolder) return;
  for (size_t i = lockHolder->count; i-- > 0;) {
    if (lockHolder->is_locked) leat_mutex_unlock(&lockHolder->cells[i]->mutex);
    leat_cell_release(lockHolder->cells[i]);
  }
  leat_allocator_free(leat_allocator_system(), lockHolder);
}

// Inserts |cell|, which is taken, unless it is there.
static void insert_ordered(TF_VariableInputLockHolder* holder, leat_cell_t* cell) {
  size_t at = 0;
  while (at < holder->count && holder->cells[at] < cell) ++at;
  if (at < holder->count && holder->cells[at] == cell) {
    leat_cell_release(cell);
    return;
  }
  for (size_t i = holder->count; i > at; --i) holder->cells[i] = holder->cells[i - 1];
  holder->cells[at] = cell;
  ++holder->count;
}

static leat_status_t find_cells(const TF_OpKernelContext* ctx, const int* inputs, size_t count,
                                TF_VariableInputLockHolder* holder) {
  const leat_kernel_t* kernel = ctx->context->kernel;
  for (size_t i = 0; i < count; ++i) {
    leat_cell_t* cell = NULL;
    const int input = inputs[i];
    if (input >= 0 && input < kernel->input_count &&
        kernel->input_types[input] != LEAT_DTYPE_RESOURCE &&
        !leat_dtype_is_ref(kernel->input_types[input])) {
      continue;  // plug-ins may name all inputs; what is no variable has no lock
    }
    LEAT_RETURN_IF_ERROR(leat_plugin_find_variable(ctx, input, &cell));
    insert_ordered(holder, cell);
  }
  return leat_ok_status();
}

void TF_MaybeLockVariableInputMutexesInOrder(TF_OpKernelContext* ctx, bool do_lock, bool sparse,
                                             const int* const inputs, size_t len,
                                             copy_fn_t copyFunc,
                                             TF_VariableInputLockHolder** lockHolder,
                                             TF_Status* status) {
  TF_VariableInputLockHolder* holder =
      leat_capi_allocate(sizeof *holder + (len + 1) * sizeof *holder->cells);
  leat_status_t result = holder ? find_cells(ctx, inputs, len, holder)
                                : leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                                                   "Memory for a list of variables ran out");
  if (result) {
    TF_ReleaseVariableInputLockHolder(holder);
    holder = NULL;
  }
  for (size_t i = 0; do_lock && holder && i < holder->count; ++i) {
    leat_mutex_lock(&holder->cells[i]->mutex);
  }
  if (holder) holder->is_locked = do_lock;
  *lockHolder = holder;
  leat_capi_status_set(status, result);
}

// With the cell's mutex held.
static leat_status_t share_to_write(TF_OpKernelContext* ctx, leat_cell_t* cell, int input,
                                    copy_fn_t copy, TF_Tensor** out) {
  LEAT_RETURN_IF_ERROR(check_initialized(cell, input));
  LEAT_RETURN_IF_ERROR(make_exclusive(ctx, copy, cell));
  return wrap_shared(&cell->tensor, out);
}

void TF_GetInputTensorFromVariable(TF_OpKernelContext* ctx, int input, bool lock_held,
                                   bool isVariantType, bool sparse, copy_fn_t copyFunc,
                                   TF_Tensor** out, TF_Status* status) {
  leat_cell_t* cell = NULL;
  leat_status_t result = leat_plugin_find_variable(ctx, input, &cell);
  if (!result) {
    if (!lock_held) leat_mutex_lock(&cell->mutex);
    result = share_to_write(ctx, cell, input, copyFunc, out);
    if (!lock_held) leat_mutex_unlock(&cell->mutex);
    leat_cell_release(cell);
  }
  leat_capi_status_set(status, result);
}

// ---- Temporary variables ------------------------------------------------------------------------

// Where variables of a step live: the step's container, or the device's where there is no step.
static leat_resource_manager_t* container_of_step(const TF_OpKernelContext* ctx) {
  const leat_step_services_t* services = ctx->context->services;
  return services->step_resources ? services->step_resources : services->resources;
}

// The name of the variable in this iteration of this step, printed to |out|, which the caller
// deinitializes.
static leat_string_view_t name_in_step(const TF_OpKernelContext* ctx, const TF_StringView* name,
                                       leat_string_builder_t* out) {
  leat_string_builder_initialize(leat_allocator_system(), out);
  leat_string_builder_print(out, "%.*s/%llx/%llx:%llx", (int)name->len, name->data,
                            (unsigned long long)ctx->context->services->step_id,
                            (unsigned long long)ctx->context->frame_id,
                            (unsigned long long)ctx->context->iteration);
  return leat_string_builder_view(out);
}

typedef void (*allocate_fn_t)(TF_OpKernelContext* ctx, TF_Tensor* tensor, TF_DataType dtype,
                              const int64_t* dims, int num_dims, TF_Status* status);

// Lets the plugin put a tensor into an empty handle, and takes it out.
static leat_status_t allocate_by(TF_OpKernelContext* ctx, allocate_fn_t allocate,
                                 TF_DataType dtype, const int64_t* dims, int num_dims,
                                 leat_tensor_t* out_tensor) {
  TF_Tensor* handle = leat_capi_tensor_new();
  if (!handle) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a tensor ran out");
  *handle = (TF_Tensor){0};
  TF_Status reported = {0};
  allocate(ctx, handle, dtype, dims, num_dims, &reported);
  leat_status_t status = leat_capi_status_take(&reported);
  if (!status && handle->tensor.dtype != (int)dtype) {
    status = leat_make_status(LEAT_INTERNAL,
                              "The plugin's allocator gave a tensor of type %s, must be %s",
                              leat_dtype_name(handle->tensor.dtype), leat_dtype_name((int)dtype));
  }
  if (!status) *out_tensor = leat_tensor_share(&handle->tensor);
  TF_DeleteTensor(handle);
  return status;
}

static leat_status_t make_temporary(TF_OpKernelContext* ctx, const TF_StringView* name,
                                    leat_tensor_t* value) {
  leat_cell_t* cell = NULL;
  leat_string_builder_t text;
  leat_status_t status = leat_cell_create(ctx->context->kernel->node_name, NULL, &cell);
  if (status) {
    leat_tensor_release(value);
    return status;
  }
  leat_cell_set(cell, *value);
  leat_string_view_t key = name_in_step(ctx, name, &text);
  status = leat_resource_manager_add(container_of_step(ctx), LEAT_SV(""), key, &cell->resource);
  if (!status) leat_kernel_set_output_ref(ctx->context, 0, cell);
  leat_string_builder_deinitialize(&text);
  leat_cell_release(cell);
  return status;
}

void TF_TemporaryVariable(TF_OpKernelContext* ctx, TF_DataType dtype, const int64_t* dims,
                          int num_dims, TF_StringView* var_name, allocate_fn_t plugin_allocator,
                          TF_Status* tf_status) {
  leat_tensor_t value = {0};
  leat_status_t result = allocate_by(ctx, plugin_allocator, dtype, dims, num_dims, &value);
  if (!result) result = make_temporary(ctx, var_name, &value);
  leat_capi_status_set(tf_status, result);
}

static leat_status_t destroy_temporary(TF_OpKernelContext* ctx, int index,
                                       const TF_StringView* name) {
  leat_cell_t* cell = NULL;
  leat_tensor_t value = {0};
  leat_string_builder_t text;
  LEAT_RETURN_IF_ERROR(leat_plugin_find_variable(ctx, index, &cell));
  bool has_value = leat_cell_read(cell, &value);
  leat_cell_release(cell);
  if (!has_value) {
    return leat_make_status(LEAT_FAILED_PRECONDITION, "The temporary variable has no value");
  }
  leat_kernel_set_output(ctx->context, 0, value);
  leat_string_view_t key = name_in_step(ctx, name, &text);
  leat_status_t status =
      leat_resource_manager_remove(container_of_step(ctx), LEAT_SV(""), key, &leat_cell_kind);
  leat_string_builder_deinitialize(&text);
  return status;
}

void TF_DestroyTemporaryVariable(TF_OpKernelContext* ctx, const int index, TF_StringView* var_name,
                                 TF_Status* tf_status) {
  leat_capi_status_set(tf_status, destroy_temporary(ctx, index, var_name));
}

// ---- Variants -----------------------------------------------------------------------------------

// Sums of variants are host work whatever the plugin's device is: lists and optionals add what they
// hold by their own functions (kernel/tensor_sum.h), and so the plugin's function is not called.
static leat_status_t add_inputs(TF_OpKernelContext* ctx) {
  leat_tensor_t sum = leat_tensor_share(leat_kernel_input(ctx->context, 0));
  leat_status_t status = leat_ok_status();
  for (int i = 1; !status && i < ctx->context->kernel->input_count; ++i) {
    leat_tensor_t next = {0};
    status = leat_tensor_sum(&sum, leat_kernel_input(ctx->context, i), &next);
    leat_tensor_release(&sum);
    sum = next;
  }
  if (!status) leat_kernel_set_output(ctx->context, 0, sum);
  return status;
}

// INVALID_ARGUMENT unless there is an input and an output, and the first |count| inputs are
// variants.
static leat_status_t check_variants(const TF_OpKernelContext* ctx, int count) {
  const leat_kernel_t* kernel = ctx->context->kernel;
  leat_status_t status = leat_ok_status();
  if (kernel->input_count < 1 || kernel->output_count < 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "The kernel has no input or no output");
  }
  for (int i = 0; !status && i < count; ++i) {
    if (kernel->input_types[i] == LEAT_DTYPE_VARIANT) continue;
    status = leat_make_status(LEAT_INVALID_ARGUMENT, "Input %d is %s, must be a variant", i,
                              leat_dtype_name(kernel->input_types[i]));
  }
  return status;
}

void TF_AddNVariant(TF_OpKernelContext* ctx,
                    void (*binary_add_func)(TF_OpKernelContext* ctx, TF_Tensor* a, TF_Tensor* b,
                                            TF_Tensor* out),
                    TF_Status* status) {
  leat_status_t result = check_variants(ctx, ctx->context->kernel->input_count);
  if (!result) result = add_inputs(ctx);
  leat_capi_status_set(status, result);
}

void TF_ZerosLikeVariant(TF_OpKernelContext* ctx,
                         void (*zeros_like_func)(TF_OpKernelContext* ctx, TF_Tensor* input,
                                                 TF_Tensor* out),
                         TF_Status* status) {
  leat_tensor_t zeros = {0};
  leat_status_t result = check_variants(ctx, 1);
  if (!result) result = leat_tensor_zeros_like(leat_kernel_input(ctx->context, 0), &zeros);
  if (!result) leat_kernel_set_output(ctx->context, 0, zeros);
  leat_capi_status_set(status, result);
}
