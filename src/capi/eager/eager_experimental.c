// Functions of eager/c_api_experimental.h: cancellation, and more of contexts and handles. Others
// have files of their own: metrics (monitoring.c), executors, attributes, traces. Cancellation is
// real: a manager wraps a leat_cancellation_t, on which the kernels of an op that was given the
// manager wait. Functions whose subject does not exist here (TFRT, streaming) succeed and do
// nothing, so that a binding that calls them at its start still works.
#include "tensorflow/c/eager/c_api_experimental.h"

#include <string.h>

#include "capi/eager/custom_device.h"
#include "capi/eager/eager_cluster.h"

// ---- Cancellation -------------------------------------------------------------------------------

// A registered callback. It stays in the list after it was called or deregistered, until the
// manager is deleted, because the cancellation may still hold its address.
typedef struct callback_s {
  struct callback_s* next;
  TFE_CancellationToken token;
  uint64_t registered;  // the token of the leat_cancellation_t
  TFE_CancelCallback callback;
} callback_t;

TFE_CancellationManager* TFE_NewCancellationManager(void) {
  TFE_CancellationManager* manager = leat_capi_allocate(sizeof *manager);
  if (!manager) return NULL;
  leat_status_t status =
      leat_cancellation_create(leat_allocator_system(), &manager->cancellation);
  if (!status) {
    leat_mutex_initialize(&manager->mutex);
    return manager;
  }
  leat_status_free(status);
  leat_allocator_free(leat_allocator_system(), manager);
  return NULL;
}

void TFE_DeleteCancellationManager(TFE_CancellationManager* manager) {
  if (!manager) return;
  for (callback_t* c = manager->callbacks; c;) {
    callback_t* next = c->next;
    leat_cancellation_deregister(manager->cancellation, c->registered);
    leat_allocator_free(leat_allocator_system(), c);
    c = next;
  }
  leat_cancellation_release(manager->cancellation);
  leat_mutex_deinitialize(&manager->mutex);
  leat_allocator_free(leat_allocator_system(), manager);
}

void TFE_CancellationManagerStartCancel(TFE_CancellationManager* manager) {
  atomic_store(&manager->is_cancelling, true);
  leat_cancellation_cancel(manager->cancellation);
  atomic_store(&manager->is_cancelling, false);
}

bool TFE_CancellationManagerIsCancelled(TFE_CancellationManager* manager) {
  return leat_cancellation_is_cancelled(manager->cancellation);
}

bool TFE_CancellationManagerIsCancelling(TFE_CancellationManager* manager) {
  return atomic_load(&manager->is_cancelling);
}

TFE_CancellationToken TFE_CancellationManagerGetToken(TFE_CancellationManager* manager) {
  return atomic_fetch_add(&manager->next_token, 1);
}

static void call(void* data) {
  const callback_t* c = data;
  c->callback.callback(c->callback.context);
}

// The list's mutex is held while the callback is registered, so that a deregistration on another
// thread finds it complete.
bool TFE_CancellationManagerRegisterCallback(TFE_CancellationManager* manager,
                                             TFE_CancellationToken token,
                                             const TFE_CancelCallback* c_callback,
                                             const char* callback_name) {
  callback_t* c = c_callback && c_callback->callback ? leat_capi_allocate(sizeof *c) : NULL;
  if (!c) return false;
  *c = (callback_t){.token = token, .callback = *c_callback};
  leat_mutex_lock(&manager->mutex);
  bool done = leat_cancellation_register(manager->cancellation, call, c, &c->registered);
  if (done) {
    c->next = manager->callbacks;
    manager->callbacks = c;
  }
  leat_mutex_unlock(&manager->mutex);
  if (!done) leat_allocator_free(leat_allocator_system(), c);
  return done;
}

bool TFE_CancellationManagerDeregisterCallback(TFE_CancellationManager* manager,
                                               TFE_CancellationToken token) {
  uint64_t registered = 0;
  leat_mutex_lock(&manager->mutex);
  const callback_t* c = manager->callbacks;
  while (c && c->token != token) c = c->next;
  if (c) registered = c->registered;
  leat_mutex_unlock(&manager->mutex);
  return c && leat_cancellation_deregister(manager->cancellation, registered);
}

bool TFE_CancellationManagerTryDeregisterCallback(TFE_CancellationManager* manager,
                                                  TFE_CancellationToken token) {
  return TFE_CancellationManagerDeregisterCallback(manager, token);
}

// ---- Contexts -----------------------------------------------------------------------------------

void TFE_ContextOptionsSetTfrt(TFE_ContextOptions* options, bool use_tfrt) {}

uint64_t TFE_GetContextId(TFE_Context* ctx) { return ctx->id; }

void TFE_ContextSetSoftDevicePlacement(TFE_Context* ctx, unsigned char enable,
                                       TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
}

// Whether ops run as functions of one node, and whether functions that ask for a compiler are
// rewritten, changes nothing that a client sees.
void TFE_ContextSetRunEagerOpAsFunction(TFE_Context* ctx, unsigned char enable,
                                        TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
}

void TFE_ContextSetJitCompileRewrite(TFE_Context* ctx, unsigned char enable, TF_Status* status) {
  leat_capi_status_set(status, leat_ok_status());
}

void TFE_HostAddressSpace(TFE_Context* ctx, TF_Buffer* buf) {
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_capi_cluster_print_task(ctx, &text);
  leat_status_free(leat_capi_buffer_take(&text, buf));
}

// ---- Handles ------------------------------------------------------------------------------------

// INVALID_ARGUMENT, as TensorFlow has it, for a tensor on another task.
static bool check_is_here(const TFE_TensorHandle* h, const char* function, TF_Status* status) {
  if (h->remote) {
    leat_capi_status_set(status, leat_make_status(LEAT_INVALID_ARGUMENT,
                                                  "TFE_TensorHandle%s may not be called on a "
                                                  "remote tensor handle.",
                                                  function));
  }
  return !h->remote;
}

void* TFE_TensorHandleDevicePointer(TFE_TensorHandle* h, TF_Status* status) {
  if (!TFE_TensorHandleDeviceName(h, status) || !check_is_here(h, "DevicePointer", status)) {
    return NULL;
  }
  return h->custom ? h->custom->data : h->tensor.data;
}

size_t TFE_TensorHandleDeviceMemorySize(TFE_TensorHandle* h, TF_Status* status) {
  const bool is_here = TFE_TensorHandleDeviceName(h, status) &&
                       check_is_here(h, "DeviceMemorySize", status);
  return is_here ? leat_tensor_size_bytes(&h->tensor) : 0;
}

const char* TFE_TensorHandleDeviceType(TFE_TensorHandle* h, TF_Status* status) {
  if (!TFE_TensorHandleDeviceName(h, status)) return NULL;
  return h->custom ? leat_capi_keep_name(h->custom->device->parsed.type)
                   : h->is_packed ? "COMPOSITE" : "CPU";
}

int TFE_TensorHandleDeviceID(TFE_TensorHandle* h, TF_Status* status) {
  if (!TFE_TensorHandleDeviceName(h, status)) return -1;
  return h->custom ? h->custom->device->parsed.index : 0;
}

void TFE_TensorHandleGetStatus(TFE_TensorHandle* h, TF_Status* status) {
  TFE_TensorHandleDeviceName(h, status);
}

TFE_TensorHandle* TFE_NewTensorHandleFromTensor(TFE_Context* ctx, TF_Tensor* t,
                                                TF_Status* status) {
  return TFE_NewTensorHandle(t, status);
}

TFE_TensorHandle* TFE_NewTensorHandleFromDeviceMemory(
    TFE_Context* ctx, const char* device_name, TF_DataType dtype, const int64_t* dims,
    int num_dims, void* data, size_t len, void (*deallocator)(void* data, size_t len, void* arg),
    void* deallocator_arg, TF_Status* status) {
  TF_Tensor* tensor = TF_NewTensor(dtype, dims, num_dims, data, len, deallocator, deallocator_arg);
  TFE_TensorHandle* handle = TFE_NewTensorHandle(tensor, status);
  TF_DeleteTensor(tensor);
  return handle;
}

TF_Tensor* TFE_AllocateHostTensor(TFE_Context* ctx, TF_DataType dtype, const int64_t* dims,
                                  int num_dims, TF_Status* status) {
  size_t bytes = dtype == TF_STRING ? sizeof(TF_TString) : TF_DataTypeSize(dtype);
  bool fits = num_dims >= 0 && (num_dims == 0 || dims);
  for (int i = 0; fits && i < num_dims; ++i) {
    fits = dims[i] >= 0 && !__builtin_mul_overflow(bytes, (size_t)dims[i], &bytes);
  }
  TF_Tensor* tensor = fits ? TF_AllocateTensor(dtype, dims, num_dims, bytes) : NULL;
  leat_capi_status_set(status, tensor ? leat_ok_status()
                                      : leat_make_status(LEAT_INVALID_ARGUMENT,
                                                         "Allocating a tensor failed: no such "
                                                         "type and shape, or no memory"));
  return tensor;
}
