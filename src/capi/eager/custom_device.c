// Custom devices (TFE_RegisterCustomDevice): devices that a client writes in functions of its own,
// which execute ops and copy tensors to and from them. A tensor there is a handle without elements,
// which only the device can read. An op goes to a custom device by TensorFlow's rules:
//
//   it, or a resource among its inputs, is on one      that one
//   it names the CPU, or has a resource of the CPU     the CPU; inputs are copied there
//   one of its inputs is on one                        that one, unless the device says no
//
// Inputs on two custom devices are an error. A device and its tensors may be used on any thread;
// the list of devices is guarded by the context's mutex and only grows.
#include "capi/eager/custom_device.h"

#include <string.h>

#define HOST "/job:localhost/replica:0/task:0/device:CPU:0"

// ---- Registration -------------------------------------------------------------------------------

static leat_status_t check_name(TFE_Context* context, const char* name) {
  leat_device_name_t parsed, cpu;
  leat_status_t status = leat_device_name_parse(leat_string_view_from(name ? name : ""), &parsed);
  const bool is_full = !status && parsed.job.size > 0 && parsed.replica >= 0 && parsed.task >= 0 &&
                       parsed.type.size > 0 && parsed.index >= 0;
  leat_status_free(status);
  if (!is_full) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "%s could not be parsed as a device name. Use the full "
                            "/job:<name>/replica:<replica>/task:<task>/device:<type>:<device_num> "
                            "format.",
                            name ? name : "");
  }
  if (leat_custom_device_find(context, name)) {
    return leat_make_status(LEAT_ALREADY_EXISTS, "%s already registered as a custom device.",
                            name);
  }
  LEAT_RETURN_IF_ERROR(leat_device_name_parse(context->device->name, &cpu));
  if (!leat_device_name_matches(&parsed, &cpu)) return leat_ok_status();
  return leat_make_status(LEAT_ALREADY_EXISTS, "%s already registered as a physical device.", name);
}

static leat_status_t add_device(TFE_Context* context, TFE_CustomDevice functions, const char* name,
                                void* info) {
  LEAT_RETURN_IF_ERROR(check_name(context, name));
  const size_t size = strlen(name);
  leat_custom_device_t* device = leat_capi_allocate(sizeof *device + size + 1);
  if (!device) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a device ran out");
  *device = (leat_custom_device_t){.context = context, .functions = functions, .info = info};
  memcpy(device->name, name, size);
  leat_status_t status =
      leat_device_name_parse(leat_string_view_make(device->name, size), &device->parsed);
  if (status) {
    leat_allocator_free(leat_allocator_system(), device);
    return status;
  }
  leat_mutex_lock(&context->mutex);
  device->next = context->custom_devices;
  context->custom_devices = device;
  atomic_store(&context->has_other_devices, true);
  leat_mutex_unlock(&context->mutex);
  return status;
}

void TFE_RegisterCustomDevice(TFE_Context* ctx, TFE_CustomDevice device, const char* device_name,
                              void* device_info, TF_Status* status) {
  leat_status_t result = add_device(ctx, device, device_name, device_info);
  if (result && device.delete_device) device.delete_device(device_info);
  leat_capi_status_set(status, result);
}

void leat_custom_devices_free(TFE_Context* context) {
  leat_custom_device_t* device = context->custom_devices;
  while (device) {
    leat_custom_device_t* next = device->next;
    if (device->functions.delete_device) device->functions.delete_device(device->info);
    leat_allocator_free(leat_allocator_system(), device);
    device = next;
  }
}

const leat_custom_device_t* leat_custom_device_find(TFE_Context* context, const char* name) {
  leat_device_name_t wanted;
  if (!atomic_load_explicit(&context->has_other_devices, memory_order_acquire)) return NULL;
  leat_status_t status = leat_device_name_parse(leat_string_view_from(name ? name : ""), &wanted);
  const bool names_one = !status && wanted.type.size > 0 && wanted.index >= 0;
  leat_status_free(status);
  leat_mutex_lock(&context->mutex);
  const leat_custom_device_t* device = names_one ? context->custom_devices : NULL;
  while (device && !leat_device_name_matches(&wanted, &device->parsed)) device = device->next;
  leat_mutex_unlock(&context->mutex);
  return device;
}

bool TFE_IsCustomDevice(TFE_Context* ctx, const char* device_name) {
  return leat_custom_device_find(ctx, device_name) != NULL;
}

// ---- Tensors ------------------------------------------------------------------------------------

void leat_custom_tensor_release(leat_custom_tensor_t* tensor) {
  if (!tensor || !leat_reference_count_release(&tensor->references)) return;
  if (tensor->methods.deallocator) tensor->methods.deallocator(tensor->data);
  leat_allocator_free(leat_allocator_system(), tensor);
}

static leat_status_t make_tensor(const leat_custom_device_t* device, const char* name,
                                 TF_DataType dtype, void* data,
                                 TFE_CustomDeviceTensorHandle methods,
                                 TFE_TensorHandle** out_handle) {
  leat_tensor_t typed = {.dtype = (leat_dtype_t)dtype};
  if (!device) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Making a tensor of a custom device failed: device is '%s', must be "
                            "one that was registered",
                            name ? name : "");
  }
  leat_custom_tensor_t* tensor = leat_capi_allocate(sizeof *tensor);
  if (!tensor) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a tensor ran out");
  *tensor = (leat_custom_tensor_t){1, device, methods, data};
  leat_status_t status = leat_eager_handle_create(&typed, out_handle);
  if (!status) {
    (*out_handle)->custom = tensor;
    return status;
  }
  leat_allocator_free(leat_allocator_system(), tensor);
  return status;
}

TFE_TensorHandle* TFE_NewCustomDeviceTensorHandle(TFE_Context* ctx, const char* device_name,
                                                  TF_DataType dtype, void* data,
                                                  TFE_CustomDeviceTensorHandle methods,
                                                  TF_Status* status) {
  TFE_TensorHandle* handle = NULL;
  leat_status_t result = make_tensor(leat_custom_device_find(ctx, device_name), device_name, dtype,
                                     data, methods, &handle);
  if (result && methods.deallocator) methods.deallocator(data);
  leat_capi_status_set(status, result);
  return handle;
}

TFE_TensorHandle* leat_custom_device_copy_from(TFE_TensorHandle* handle, const char* name,
                                               TF_Status* status) {
  const leat_custom_device_t* device = handle->custom->device;
  leat_capi_status_set(status, leat_ok_status());
  return device->functions.copy_tensor_from_device(device->context, handle,
                                                   name && *name ? name : HOST, status,
                                                   device->info);
}

TFE_TensorHandle* leat_custom_device_copy_to(const leat_custom_device_t* device,
                                             TFE_TensorHandle* handle, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
  return device->functions.copy_tensor_to_device(device->context, handle, status, device->info);
}

// ---- Execution ----------------------------------------------------------------------------------

// The one custom device that inputs of |op| are on; NULL: none is.
static leat_status_t device_of_inputs(const TFE_Op* op, const leat_custom_device_t** out_device) {
  *out_device = NULL;
  for (size_t i = 0; i < op->input_count; ++i) {
    const leat_custom_tensor_t* tensor = op->inputs[i]->custom;
    if (!tensor) continue;
    if (*out_device && *out_device != tensor->device) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "If an operation has one of its inputs in a custom device, then all "
                              "inputs should be on that same custom device or another physical "
                              "device. Operation %.*s has one input in custom device %s, and "
                              "another in %s",
                              LEAT_SV_ARG(op->op->name), (*out_device)->name,
                              tensor->device->name);
    }
    *out_device = tensor->device;
  }
  return leat_ok_status();
}

// Chooses the custom device for |op|; NULL: it is the CPU's.
static leat_status_t choose(const TFE_Op* op, const leat_custom_device_t** out_device) {
  const leat_custom_device_t* of_inputs = NULL;
  TF_Status said = {0};
  LEAT_RETURN_IF_ERROR(device_of_inputs(op, &of_inputs));
  *out_device = op->custom_device;
  for (size_t i = 0; i < op->input_count; ++i) {
    if (op->inputs[i]->tensor.dtype != LEAT_DTYPE_RESOURCE) continue;
    *out_device = op->inputs[i]->custom ? of_inputs : NULL;
    return leat_ok_status();
  }
  if (*out_device || op->has_device || !of_inputs) return leat_ok_status();
  *out_device = of_inputs;
  if (!of_inputs->functions.shall_pin_to_this_device) return leat_ok_status();
  if (!of_inputs->functions.shall_pin_to_this_device(op, &said)) *out_device = NULL;
  return leat_capi_status_take(&said);
}

// Puts copies on the CPU in the place of inputs on a custom device.
static leat_status_t bring_inputs(TFE_Op* op) {
  for (size_t i = 0; i < op->input_count; ++i) {
    TF_Status status = {0};
    if (!op->inputs[i]->custom) continue;
    TFE_TensorHandle* copy = leat_custom_device_copy_from(op->inputs[i], HOST, &status);
    LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
    if (!copy || copy->custom) {
      TFE_DeleteTensorHandle(copy);
      return leat_make_status(LEAT_INTERNAL,
                              "Copying input %zu of op '%.*s' to the CPU failed: the custom device "
                              "gave no tensor there",
                              i, LEAT_SV_ARG(op->op->name));
    }
    TFE_DeleteTensorHandle(op->inputs[i]);
    op->inputs[i] = copy;
  }
  return leat_ok_status();
}

bool leat_custom_device_execute(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals,
                                TF_Status* status) {
  const leat_custom_device_t* device = NULL;
  leat_status_t result = choose(op, &device);
  if (!result && !device) result = bring_inputs(op);
  leat_capi_status_set(status, result);
  if (!result && !device) return false;
  if (device && !status->status) {
    device->functions.execute(op, num_retvals, retvals, status, device->info);
  }
  return true;
}

// ---- Packed tensors -----------------------------------------------------------------------------

// Packs handles of the CPU: the first one stands for all where an op of the CPU reads them.
static leat_status_t pack(TFE_TensorHandle** handles, int count, TFE_TensorHandle** out_handle) {
  if (count <= 0) return leat_make_status(LEAT_INVALID_ARGUMENT, "Handles should not be empty.");
  for (int i = 0; i < count; ++i) {
    if (!handles[i]->remote) continue;
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Packing tensors failed: handle %d is on %s, must be of this process",
                            i, handles[i]->device);
  }
  leat_tensor_t first = leat_tensor_share(&handles[0]->tensor);
  LEAT_RETURN_IF_ERROR(leat_eager_handle_create(&first, out_handle));
  (*out_handle)->is_packed = true;
  return leat_ok_status();
}

TFE_TensorHandle* TFE_CreatePackedTensorHandle(TFE_Context* ctx, TFE_TensorHandle** handles,
                                               int* num_handles, TF_Status* status) {
  TFE_TensorHandle* handle = NULL;
  const leat_custom_device_t* device = NULL;
  for (int i = 0; i < *num_handles && !device; ++i) {
    if (handles[i]->custom) device = handles[i]->custom->device;
  }
  if (device && device->functions.pack) {
    leat_capi_status_set(status, leat_ok_status());
    return device->functions.pack(ctx, handles, *num_handles, status, device->info);
  }
  leat_capi_status_set(status, device ? leat_make_status(LEAT_UNIMPLEMENTED,
                                                         "Packing tensors failed: device %s has no "
                                                         "function to pack",
                                                         device->name)
                                      : pack(handles, *num_handles, &handle));
  return handle;
}
