// Contexts and tensor handles of eager/c_api.h. A context owns a session on an empty graph, which
// gives it a device and a thread pool, and its own resource managers. A tensor handle is a
// reference-counted tensor. Everything runs synchronously, here on the one CPU device, so that the
// functions for asynchronous execution and placement have nothing to do, and a copy to the device
// shares the tensor. What other tasks of a cluster have to do with it is in eager_cluster.c.
#include "capi/eager/custom_device.h"
#include "capi/eager/eager_cluster.h"

#include <string.h>

#include "graph/function/graph_functions.h"
#include "tensorflow/c/c_api_experimental.h"

#define DEVICE_NAME "/job:localhost/replica:0/task:0/device:CPU:0"
#define PACKED_NAME "/job:localhost/replica:0/task:0/device:COMPOSITE:0"

// ---- Options ------------------------------------------------------------------------------------

struct TFE_ContextOptions {
  TF_SessionOptions* session;
  bool is_async;
  TFE_ContextDevicePlacementPolicy policy;
};

TFE_ContextOptions* TFE_NewContextOptions(void) {
  TFE_ContextOptions* options = leat_capi_allocate(sizeof *options);
  if (!options) return NULL;
  options->policy = TFE_DEVICE_PLACEMENT_SILENT;
  options->session = TF_NewSessionOptions();
  if (options->session) return options;
  TFE_DeleteContextOptions(options);
  return NULL;
}

void TFE_DeleteContextOptions(TFE_ContextOptions* options) {
  if (options) TF_DeleteSessionOptions(options->session);
  leat_allocator_free(leat_allocator_system(), options);
}

void TFE_ContextOptionsSetConfig(TFE_ContextOptions* options, const void* proto, size_t proto_len,
                                 TF_Status* status) {
  TF_SetConfig(options->session, proto, proto_len, status);
}

// Execution is always synchronous; the executors of threads say what was asked for.
void TFE_ContextOptionsSetAsync(TFE_ContextOptions* options, unsigned char enable) {
  options->is_async = enable != 0;
}

void TFE_ContextOptionsSetDevicePlacementPolicy(TFE_ContextOptions* options,
                                                TFE_ContextDevicePlacementPolicy policy) {
  options->policy = policy;
}

// ---- Contexts -----------------------------------------------------------------------------------

// The number of devices that a session with |options| may have.
static int count_devices(const leat_session_options_t* options) {
  int count = options->cpu_device_count > 0 ? options->cpu_device_count : 1;
  for (int i = 0; i < LEAT_SESSION_DEVICE_TYPES; ++i) count += options->device_counts[i].count;
  return count;
}

static leat_status_t make_resources(TFE_Context* context, int count) {
  leat_allocator_t* allocator = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, (size_t)count, &context->resources));
  for (; context->resource_count < count; ++context->resource_count) {
    LEAT_RETURN_IF_ERROR(leat_resource_manager_create(
        allocator, &context->resources[context->resource_count]));
  }
  return leat_resource_manager_create(allocator, &context->step_resources);
}

// Fills in what the context's kernels are made with and lent.
static leat_status_t lend(TFE_Context* context) {
  const leat_runtime_t* runtime = NULL;
  leat_eager_kernels_t* kernels = &context->kernels;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  kernels->ops = runtime->ops;
  kernels->registry = runtime->kernels;
  kernels->functions = leat_session_master_options(context->session->session)->functions;
  kernels->device = context->device;
  kernels->resources = context->resources[0];
  kernels->step_resources = context->step_resources;
  return leat_ok_status();
}

// Opens the session, whose kernels find the resources of eager ops, and the library of functions.
static leat_status_t open_context(TFE_Context* context, const TFE_ContextOptions* opts) {
  TF_SessionOptions options = *opts->session;
  LEAT_RETURN_IF_ERROR(make_resources(context, count_devices(&options.options)));
  options.options.resources = context->resources;
  options.options.isolate_state = true;
  options.options.omits_plugin_devices = true;
  context->graph = TF_NewGraph();
  LEAT_RETURN_IF_ERROR(
      leat_capi_session_create(context->graph, NULL, &options, &context->session));
  context->device = leat_session_local_device(context->session->session, 0);
  LEAT_RETURN_IF_ERROR(lend(context));
  LEAT_RETURN_IF_ERROR(
      leat_graph_own_functions(context->graph->shared->graph, &context->functions));
  leat_eager_use_functions(context);
  return leat_cancellation_create(leat_allocator_system(), &context->cancellation);
}

TFE_Context* TFE_NewContext(const TFE_ContextOptions* opts, TF_Status* status) {
  TFE_Context* context = leat_capi_allocate(sizeof *context);
  leat_status_t result = leat_ok_status();
  if (!context || !opts) {
    result = leat_make_status(context ? LEAT_INVALID_ARGUMENT : LEAT_RESOURCE_EXHAUSTED,
                              "Making an eager context failed: no %s",
                              context ? "options" : "memory");
    leat_allocator_free(leat_allocator_system(), context);
    leat_capi_status_set(status, result);
    return NULL;
  }
  leat_mutex_initialize(&context->mutex);
  leat_eager_kernels_initialize(&context->kernels);
  leat_string_map_initialize(leat_allocator_system(), &context->function_uses);
  static _Atomic uint64_t ids;
  context->policy = opts->policy;
  context->is_async = opts->is_async;
  context->has_async = opts->is_async;
  context->id = atomic_fetch_add(&ids, 1) + 1;
  result = open_context(context, opts);
  if (result) {
    TFE_DeleteContext(context);
    context = NULL;
  }
  leat_capi_status_set(status, result);
  return context;
}

void TFE_ContextClearCaches(TFE_Context* ctx) { leat_eager_kernels_clear(&ctx->kernels); }

// The session goes before the resources, which its kernels use.
void TFE_DeleteContext(TFE_Context* ctx) {
  if (!ctx) return;
  TF_Status* status = TF_NewStatus();
  leat_capi_cluster_leave_context(ctx);
  leat_eager_kernels_deinitialize(&ctx->kernels);
  leat_eager_threads_free(ctx);
  leat_eager_collection_release(ctx->collection);
  leat_custom_devices_free(ctx);
  if (ctx->cancellation) leat_cancellation_release(ctx->cancellation);
  if (ctx->session) TF_DeleteSession(ctx->session, status);
  leat_resource_manager_free(ctx->step_resources);
  while (ctx->resource_count > 0) leat_resource_manager_free(ctx->resources[--ctx->resource_count]);
  leat_allocator_free(leat_allocator_system(), ctx->resources);
  TF_DeleteGraph(ctx->graph);
  leat_string_map_deinitialize(&ctx->function_uses);
  leat_mutex_deinitialize(&ctx->mutex);
  leat_allocator_free(leat_allocator_system(), ctx);
  TF_DeleteStatus(status);
}

TF_DeviceList* TFE_ContextListDevices(TFE_Context* ctx, TF_Status* status) {
  TF_DeviceList* list = NULL;
  leat_eager_cluster_t* cluster = leat_capi_cluster_of(ctx);
  if (!cluster) return TF_SessionListDevices(ctx->session, status);
  leat_capi_status_set(status, leat_capi_cluster_describe(cluster, &list));
  leat_eager_cluster_release(cluster);
  return list;
}

// There is one device, so that the policy is kept only to be read back.
void TFE_ContextSetThreadLocalDevicePlacementPolicy(TFE_Context* ctx,
                                                    TFE_ContextDevicePlacementPolicy policy) {
  ctx->policy = policy;
}

TFE_ContextDevicePlacementPolicy TFE_ContextGetDevicePlacementPolicy(TFE_Context* ctx) {
  return ctx->policy;
}

// Steps have no meaning for synchronous execution.
void TFE_ContextStartStep(TFE_Context* ctx) {}
void TFE_ContextEndStep(TFE_Context* ctx) {}

// ---- Tensor handles -----------------------------------------------------------------------------

static leat_status_t missing(void) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid handle");
}

// Returns |h|, or NULL with an error in |status|, also where the op failed that was to give it.
static const TFE_TensorHandle* check(const TFE_TensorHandle* h, TF_Status* status) {
  leat_status_t result = h ? leat_status_clone(h->error) : missing();
  const bool is_usable = !result;
  leat_capi_status_set(status, result);
  return is_usable ? h : NULL;
}

leat_status_t leat_eager_handle_create(leat_tensor_t* tensor, TFE_TensorHandle** out_handle) {
  *out_handle = leat_capi_allocate(sizeof **out_handle);
  if (!*out_handle) {
    leat_tensor_release(tensor);
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a handle ran out");
  }
  (*out_handle)->references = 1;
  (*out_handle)->tensor = *tensor;
  return leat_ok_status();
}

// Makes a handle of |tensor|, which is taken unless |result| is an error.
static TFE_TensorHandle* wrap(leat_status_t result, leat_tensor_t* tensor, TF_Status* status) {
  TFE_TensorHandle* handle = NULL;
  if (!result) result = leat_eager_handle_create(tensor, &handle);
  leat_capi_status_set(status, result);
  return handle;
}

TFE_TensorHandle* TFE_NewTensorHandle(const TF_Tensor* t, TF_Status* status) {
  leat_tensor_t tensor = {0};
  leat_status_t result = leat_capi_tensor_value(t, &tensor);
  return wrap(result, &tensor, status);
}

void TFE_DeleteTensorHandle(TFE_TensorHandle* h) {
  if (!h || !leat_reference_count_release(&h->references)) return;
  leat_tensor_release(&h->tensor);
  leat_custom_tensor_release(h->custom);
  leat_status_free(h->error);
  if (LEAT_UNLIKELY(h->remote)) leat_remote_tensor_release(h->remote);
  leat_allocator_free(leat_allocator_system(), h);
}

// INTERNAL for a packed handle, as TensorFlow has it.
static leat_status_t check_copy(const TFE_TensorHandle* h) {
  if (!h) return missing();
  LEAT_RETURN_IF_ERROR(leat_status_clone(h->error));
  return !h->is_packed ? leat_ok_status()
                       : leat_make_status(LEAT_INTERNAL, "Invalid Tensor call on a PACKED handle");
}

TFE_TensorHandle* TFE_TensorHandleCopySharingTensor(TFE_TensorHandle* h, TF_Status* status) {
  leat_tensor_t tensor = {0};
  leat_status_t result = check_copy(h);
  if (!result) tensor = leat_tensor_share(&h->tensor);
  TFE_TensorHandle* copy = wrap(result, &tensor, status);
  if (copy) {
    copy->custom = h->custom;
    copy->remote = h->remote;
    copy->device = h->device;
    leat_custom_tensor_retain(copy->custom);
    leat_remote_tensor_retain(copy->remote);
  }
  return copy;
}

// Without a cluster, the one device of the context's own has the tensor already.
TFE_TensorHandle* TFE_TensorHandleCopyToDevice(TFE_TensorHandle* h, TFE_Context* ctx,
                                               const char* device_name, TF_Status* status) {
  const leat_custom_device_t* device = leat_custom_device_find(ctx, device_name);
  if (h && device && !(h->custom && h->custom->device == device)) {
    return leat_custom_device_copy_to(device, h, status);
  }
  if (h && h->custom && !device) return leat_custom_device_copy_from(h, device_name, status);
  if (h && !h->custom && atomic_load(&ctx->has_other_devices)) {
    return leat_capi_cluster_copy(ctx, h, device_name, status);
  }
  leat_status_t known = device ? leat_ok_status() : leat_eager_check_device(device_name);
  leat_capi_status_set(status, known);
  return known ? NULL : TFE_TensorHandleCopySharingTensor(h, status);
}

// Strings are refused, because |data| would be a TF_TString whose owner is not known.
TFE_TensorHandle* TFE_NewTensorHandleFromScalar(TF_DataType data_type, void* data, size_t len,
                                                TF_Status* status) {
  TF_Tensor* scalar = TF_AllocateTensor(data_type, NULL, 0, len);
  if (scalar && len > 0 && data_type != TF_STRING) memcpy(TF_TensorData(scalar), data, len);
  TFE_TensorHandle* handle = TFE_NewTensorHandle(data_type == TF_STRING ? NULL : scalar, status);
  TF_DeleteTensor(scalar);
  return handle;
}

TF_Tensor* TFE_TensorHandleResolve(TFE_TensorHandle* h, TF_Status* status) {
  TF_Tensor* tensor = NULL;
  leat_tensor_t value = {0};
  if (h && h->custom) {
    TFE_TensorHandle* copy = leat_custom_device_copy_from(h, DEVICE_NAME, status);
    if (copy && !copy->custom) tensor = TFE_TensorHandleResolve(copy, status);
    TFE_DeleteTensorHandle(copy);
    return tensor;
  }
  leat_status_t result = h ? leat_status_clone(h->error) : missing();
  if (h && h->is_packed) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Resolve() is not supported on packed TensorHandles.");
  }
  if (!result) result = leat_capi_cluster_value(h, &value);
  if (!result) result = leat_capi_tensor_wrap(&value, &tensor);
  leat_capi_status_set(status, result);
  return tensor;
}

TF_DataType TFE_TensorHandleDataType(TFE_TensorHandle* h) {
  return (TF_DataType)(h ? h->tensor.dtype : 0);
}

int TFE_TensorHandleNumDims(TFE_TensorHandle* h, TF_Status* status) {
  if (!check(h, status)) return -1;
  return h->custom ? h->custom->methods.num_dims(h->custom->data, status) : h->tensor.shape.rank;
}

int64_t TFE_TensorHandleNumElements(TFE_TensorHandle* h, TF_Status* status) {
  if (!check(h, status)) return -1;
  if (!h->custom) return h->tensor.shape.element_count;
  const int rank = TFE_TensorHandleNumDims(h, status);
  int64_t count = rank < 0 ? -1 : 1;
  for (int i = 0; i < rank && count >= 0; ++i) {
    const int64_t dim = TFE_TensorHandleDim(h, i, status);
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) count = -1;
  }
  return count;
}

int64_t TFE_TensorHandleDim(TFE_TensorHandle* h, int dim_index, TF_Status* status) {
  if (!check(h, status)) return -1;
  if (h->custom) return h->custom->methods.dim(h->custom->data, dim_index, status);
  if (dim_index >= 0 && dim_index < h->tensor.shape.rank) {
    return leat_shape_dim(&h->tensor.shape, dim_index);
  }
  leat_capi_status_set(status, leat_make_status(LEAT_INVALID_ARGUMENT,
                                                "Dimension is %d, must be in [0, %d)", dim_index,
                                                h->tensor.shape.rank));
  return -1;
}

const char* TFE_TensorHandleDeviceName(TFE_TensorHandle* h, TF_Status* status) {
  if (!check(h, status)) return NULL;
  if (h->custom) return h->custom->device->name;
  return h->is_packed ? PACKED_NAME : h->device ? h->device : DEVICE_NAME;
}

const char* TFE_TensorHandleBackingDeviceName(TFE_TensorHandle* h, TF_Status* status) {
  return TFE_TensorHandleDeviceName(h, status);
}

// The debug information of a tensor is another handle of it.
TFE_TensorDebugInfo* TFE_TensorHandleTensorDebugInfo(TFE_TensorHandle* h, TF_Status* status) {
  return (TFE_TensorDebugInfo*)TFE_TensorHandleCopySharingTensor(h, status);
}

void TFE_DeleteTensorDebugInfo(TFE_TensorDebugInfo* debug_info) {
  TFE_DeleteTensorHandle((TFE_TensorHandle*)debug_info);
}

int TFE_TensorDebugInfoOnDeviceNumDims(TFE_TensorDebugInfo* debug_info) {
  return ((TFE_TensorHandle*)debug_info)->tensor.shape.rank;
}

int64_t TFE_TensorDebugInfoOnDeviceDim(TFE_TensorDebugInfo* debug_info, int dim_index) {
  const leat_shape_t* shape = &((TFE_TensorHandle*)debug_info)->tensor.shape;
  return dim_index >= 0 && dim_index < shape->rank ? leat_shape_dim(shape, dim_index) : -1;
}
