// Eager contexts in a cluster. Once a context was told of one, each of its ops goes to a task by
// TensorFlow's rules:
//
//   one of its inputs is a resource, and it is no function's    the task of the first of these
//   the client named a device of another task                   that one
//   anything else                                               this process; inputs are fetched
//
// A function that runs in this process may need other tasks: then it is a step over these.
//
// An op that runs on another task becomes the node that it would be here (worker/eager_kernel.h),
// so that mistakes in its description are found here, with all attributes that follow from others.
// Its outputs become handles with a type and a shape and no elements. The cluster belongs to the
// context and is retained by whoever uses it; a context without one pays nothing but a look at
// |has_other_devices|.
#include "capi/eager/eager_cluster.h"

#include <string.h>

#include "device/device_name.h"

#define LOCAL_TASK "/job:localhost/replica:0/task:0"

// ---- The cluster of a context -------------------------------------------------------------------

leat_eager_cluster_t* leat_capi_cluster_of(TFE_Context* context) {
  if (!context || !atomic_load_explicit(&context->has_other_devices, memory_order_acquire)) {
    return NULL;
  }
  leat_mutex_lock(&context->mutex);
  leat_eager_cluster_t* cluster = context->cluster;
  if (cluster) leat_eager_cluster_retain(cluster);
  leat_mutex_unlock(&context->mutex);
  return cluster;
}

// Puts |cluster| (taken; NULL: none) in the place of the one that the context has, which is closed.
static void replace_cluster(TFE_Context* context, leat_eager_cluster_t* cluster) {
  leat_mutex_lock(&context->mutex);
  leat_eager_cluster_t* former = context->cluster;
  context->cluster = cluster;
  if (cluster) atomic_store(&context->has_other_devices, true);
  leat_mutex_unlock(&context->mutex);
  if (former) leat_eager_cluster_close(former);
  leat_eager_cluster_release(former);
}

void leat_capi_cluster_leave_context(TFE_Context* context) { replace_cluster(context, NULL); }

static leat_status_t set_server_def(TFE_Context* context, leat_eager_cluster_options_t* options,
                                    int retries) {
  leat_eager_cluster_t* cluster = NULL;
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&options->runtime));
  options->home = (leat_eager_home_t){.graph = context->graph->shared,
                                      .functions = context->functions,
                                      .session = context->session->session,
                                      .resources = context->resources,
                                      .resource_count = context->resource_count};
  options->is_async = context->is_async;
  replace_cluster(context, NULL);  // its server may listen where the new one shall
  leat_status_t status = leat_eager_cluster_create(options, &cluster);
  for (; status && retries > 0; --retries) {
    leat_status_free(status);
    status = leat_eager_cluster_create(options, &cluster);
  }
  if (!status) replace_cluster(context, cluster);
  return status;
}

void TFE_ContextSetServerDefWithTimeoutAndRetries(TFE_Context* ctx, int keep_alive_secs,
                                                  const void* proto, size_t proto_len,
                                                  int64_t init_timeout_in_ms, int retries,
                                                  TF_Status* status,
                                                  bool clear_existing_contexts) {
  leat_eager_cluster_options_t options = {
      .server_def = leat_string_view_make(proto, proto_len),
      .keep_alive_secs = keep_alive_secs,
      .timeout_ms = init_timeout_in_ms,
      .clears_contexts = clear_existing_contexts};
  leat_capi_status_set(status, set_server_def(ctx, &options, retries));
}

void TFE_ContextSetServerDefWithTimeout(TFE_Context* ctx, int keep_alive_secs, const void* proto,
                                        size_t proto_len, int64_t init_timeout_in_ms,
                                        TF_Status* status, bool clear_existing_contexts) {
  TFE_ContextSetServerDefWithTimeoutAndRetries(ctx, keep_alive_secs, proto, proto_len,
                                               init_timeout_in_ms, 0, status,
                                               clear_existing_contexts);
}

void TFE_ContextSetServerDef(TFE_Context* ctx, int keep_alive_secs, const void* proto,
                             size_t proto_len, TF_Status* status) {
  TFE_ContextSetServerDefWithTimeout(ctx, keep_alive_secs, proto, proto_len, 0, status, false);
}

static leat_status_t no_cluster(void) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "The context has no cluster: TFE_ContextSetServerDef makes one");
}

void TFE_ContextUpdateServerDefWithTimeout(TFE_Context* ctx, int keep_alive_secs,
                                           const void* proto, size_t proto_len,
                                           int64_t init_timeout_in_ms, TF_Status* status) {
  const leat_eager_cluster_options_t options = {
      .server_def = leat_string_view_make(proto, proto_len),
      .keep_alive_secs = keep_alive_secs,
      .timeout_ms = init_timeout_in_ms,
      .is_async = ctx->is_async};
  leat_eager_cluster_t* cluster = leat_capi_cluster_of(ctx);
  leat_capi_status_set(status,
                       cluster ? leat_eager_cluster_update(cluster, &options) : no_cluster());
  leat_eager_cluster_release(cluster);
}

void TFE_ContextUpdateServerDef(TFE_Context* ctx, int keep_alive_secs, const void* proto,
                                size_t proto_len, TF_Status* status) {
  TFE_ContextUpdateServerDefWithTimeout(ctx, keep_alive_secs, proto, proto_len, 0, status);
}

bool TFE_ContextCheckAlive(TFE_Context* ctx, const char* worker_name, TF_Status* status) {
  bool is_alive = false;
  leat_eager_cluster_t* cluster = leat_capi_cluster_of(ctx);
  leat_string_view_t name = leat_string_view_from(worker_name ? worker_name : "");
  leat_capi_status_set(status, cluster ? leat_eager_cluster_check_alive(cluster, name, &is_alive)
                                       : no_cluster());
  leat_eager_cluster_release(cluster);
  return is_alive;
}

// ---- Devices ------------------------------------------------------------------------------------

leat_status_t leat_capi_cluster_describe(leat_eager_cluster_t* cluster, TF_DeviceList** out_list) {
  leat_placement_device_t* devices;
  leat_arena_t arena;
  int count = 0;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_eager_cluster_list_devices(cluster, &arena, &devices, &count);
  if (!status) status = leat_capi_list_devices(devices, count, out_list);
  leat_arena_deinitialize(&arena);
  return status;
}

static const char* keep_name(const char* name) {
  return leat_capi_keep_name(leat_string_view_from(name));
}

// "/job:localhost" is this process, as its handles say that are older than the cluster, unless the
// cluster has such a job.
leat_status_t leat_capi_cluster_place(leat_eager_cluster_t* cluster, const char* name,
                                      const char** out_remote) {
  const leat_string_view_t text = leat_string_view_from(name);
  const char* found = NULL;
  bool is_local = false;
  leat_status_t status = leat_eager_cluster_find_device(cluster, text, &found, &is_local);
  if (status && leat_string_view_starts_with(text, LEAT_SV(LOCAL_TASK "/"))) {
    const leat_string_view_t device = leat_string_view_from_index(text, strlen(LOCAL_TASK));
    leat_status_free(status);
    status = leat_eager_cluster_find_device(cluster, device, &found, &is_local);
  }
  *out_remote = status || is_local ? NULL : keep_name(found);
  return status;
}

const char* leat_capi_cluster_own_device(TFE_Context* context) {
  leat_eager_cluster_t* cluster = leat_capi_cluster_of(context);
  if (!cluster) return LOCAL_TASK "/device:CPU:0";
  const char* name = keep_name(leat_eager_cluster_local_device(cluster));
  leat_eager_cluster_release(cluster);
  return name;
}

void leat_capi_cluster_print_task(TFE_Context* context, leat_string_builder_t* out) {
  const leat_string_view_t device = leat_string_view_from(leat_capi_cluster_own_device(context));
  leat_string_builder_append(
      out, leat_string_view_make(device.data, leat_string_view_find_last(device, '/')));
}

// ---- Tensors ------------------------------------------------------------------------------------

leat_status_t leat_capi_cluster_value(const TFE_TensorHandle* handle, leat_tensor_t* out_tensor) {
  if (LEAT_UNLIKELY(handle->remote)) return leat_remote_tensor_fetch(handle->remote, out_tensor);
  *out_tensor = leat_tensor_share(&handle->tensor);
  return leat_ok_status();
}

// Makes a handle of |remote| (taken in any case) with |shape| (moved).
static leat_status_t wrap_remote(leat_remote_tensor_t* remote, leat_shape_t* shape,
                                 TFE_TensorHandle** out_handle) {
  leat_tensor_t tensor = {.dtype = remote->dtype, .shape = *shape};
  leat_status_t status = leat_eager_handle_create(&tensor, out_handle);
  if (status) {
    leat_remote_tensor_release(remote);
    return status;
  }
  (*out_handle)->remote = remote;
  (*out_handle)->device = keep_name(remote->device);
  return status;
}

// The tensor of |handle| here, in a new handle.
static leat_status_t fetch(TFE_Context* context, const TFE_TensorHandle* handle,
                           TFE_TensorHandle** out_handle) {
  leat_tensor_t value = {0};
  LEAT_RETURN_IF_ERROR(leat_capi_cluster_value(handle, &value));
  LEAT_RETURN_IF_ERROR(leat_eager_handle_create(&value, out_handle));
  (*out_handle)->device = leat_capi_cluster_own_device(context);
  return leat_ok_status();
}

static leat_status_t send(leat_eager_cluster_t* cluster, const TFE_TensorHandle* handle,
                          const char* device, TFE_TensorHandle** out_handle) {
  leat_remote_tensor_t* remote = NULL;
  leat_tensor_t value = {0};
  LEAT_RETURN_IF_ERROR(leat_capi_cluster_value(handle, &value));
  leat_status_t status = leat_eager_cluster_send(cluster, device, &value, &remote);
  if (!status) {
    leat_shape_t shape;
    leat_shape_share(&value.shape, &shape);
    status = wrap_remote(remote, &shape, out_handle);
  }
  leat_tensor_release(&value);
  return status;
}

static leat_status_t copy(TFE_Context* context, TFE_TensorHandle* handle, const char* name,
                          TFE_TensorHandle** out_handle) {
  leat_eager_cluster_t* cluster = leat_capi_cluster_of(context);
  const char* remote = NULL;
  leat_status_t status = leat_ok_status();
  if (cluster && name && *name) status = leat_capi_cluster_place(cluster, name, &remote);
  if (!status && remote) {
    status = send(cluster, handle, remote, out_handle);
  } else if (!status) {
    status = fetch(context, handle, out_handle);
  }
  leat_eager_cluster_release(cluster);
  return status;
}

TFE_TensorHandle* leat_capi_cluster_copy(TFE_Context* context, TFE_TensorHandle* handle,
                                         const char* name, TF_Status* status) {
  TFE_TensorHandle* result = NULL;
  if (handle->is_packed || (handle->remote && name && strcmp(name, handle->device) == 0)) {
    return TFE_TensorHandleCopySharingTensor(handle, status);
  }
  leat_capi_status_set(status, copy(context, handle, name, &result));
  return result;
}

// ---- Ops ----------------------------------------------------------------------------------------

static bool is_function(const TFE_Op* op) {
  return !leat_op_registry_has(op->context->kernels.ops, op->op->name);
}

// The device of another task that the op goes to; NULL: it is this process's.
static const char* choose_device(const TFE_Op* op) {
  if (op->call) return NULL;
  for (size_t i = 0; i < op->input_count && !is_function(op); ++i) {
    const TFE_TensorHandle* input = op->inputs[i];
    if (input->tensor.dtype == LEAT_DTYPE_RESOURCE) {
      return input->remote ? input->device : NULL;
    }
  }
  return op->remote_device;
}

static leat_status_t bring_inputs(TFE_Op* op) {
  for (size_t i = 0; i < op->input_count; ++i) {
    TFE_TensorHandle* here = NULL;
    if (!op->inputs[i]->remote) continue;
    LEAT_RETURN_IF_ERROR(fetch(op->context, op->inputs[i], &here));
    TFE_DeleteTensorHandle(op->inputs[i]);
    op->inputs[i] = here;
  }
  return leat_ok_status();
}

static leat_status_t wrap_outputs(leat_remote_tensor_t** outputs, leat_shape_t* shapes, int count,
                                  TFE_TensorHandle** retvals) {
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count; ++i) {
    retvals[i] = NULL;
    status = leat_status_join(status, wrap_remote(outputs[i], &shapes[i], &retvals[i]));
  }
  for (int i = 0; status && i < count; ++i) {
    TFE_DeleteTensorHandle(retvals[i]);
    retvals[i] = NULL;
  }
  return status;
}

static leat_status_t write_inputs(const TFE_Op* op, leat_arena_t* arena,
                                  leat_eager_input_t** out_inputs) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, op->input_count + 1, out_inputs));
  for (size_t i = 0; i < op->input_count; ++i) {
    const TFE_TensorHandle* input = op->inputs[i];
    if (input->is_packed) {
      return leat_make_status(LEAT_UNIMPLEMENTED,
                              "Executing op '%.*s' failed: input %zu is packed, must be one tensor",
                              LEAT_SV_ARG(op->op->name), i);
    }
    (*out_inputs)[i] = (leat_eager_input_t){&input->tensor, input->remote};
  }
  return leat_ok_status();
}

// Runs the op of |graph| on |device|.
static leat_status_t run_on(leat_eager_cluster_t* cluster, const TFE_Op* op, const char* device,
                            leat_graph_t* graph, TFE_TensorHandle** retvals, int* num_retvals) {
  const leat_node_t* node = leat_eager_graph_node(graph);
  leat_remote_tensor_t** outputs;
  leat_shape_t* shapes;
  leat_eager_input_t* inputs;
  leat_arena_t* arena = leat_graph_arena(graph);
  const size_t count = (size_t)node->output_count;
  LEAT_RETURN_IF_ERROR(leat_eager_check_room(node->output_count, num_retvals));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &outputs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, count + 1, &shapes));
  LEAT_RETURN_IF_ERROR(write_inputs(op, arena, &inputs));
  const leat_eager_remote_op_t remote = {
      .device = device,
      .node = node,
      .is_function = is_function(op),
      .inputs = inputs,
      .cancellation =
          op->cancellation ? op->cancellation->cancellation : op->context->cancellation};
  LEAT_RETURN_IF_ERROR(leat_eager_cluster_execute(cluster, &remote, outputs, shapes));
  LEAT_RETURN_IF_ERROR(wrap_outputs(outputs, shapes, node->output_count, retvals));
  *num_retvals = node->output_count;
  return leat_ok_status();
}

// Calls a function of this process, whose inputs are here, where it needs other tasks; else
// |*out_is_done| is false.
static leat_status_t call_function(leat_eager_cluster_t* cluster, const TFE_Op* op,
                                   leat_graph_t* graph, TFE_TensorHandle** retvals,
                                   int* num_retvals, bool* out_is_done) {
  leat_arena_t* arena = leat_graph_arena(graph);
  leat_tensor_t *inputs, *outputs;
  int count;
  LEAT_RETURN_IF_ERROR(
      leat_eager_check_room(leat_eager_graph_node(graph)->output_count, num_retvals));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, op->input_count + 1, &inputs));
  const leat_eager_request_t request = leat_eager_request_of(op, inputs);
  const leat_eager_call_t call = {
      .device = leat_string_view_from(leat_eager_cluster_local_device(cluster)),
      .kernels = &op->context->kernels,
      .function = {op->op->name, request.attrs, request.attr_count},
      .arguments = inputs,
      .argument_count = request.input_count,
      .cancellation =
          op->cancellation ? op->cancellation->cancellation : op->context->cancellation,
      .arena = arena};
  LEAT_RETURN_IF_ERROR(leat_eager_cluster_call(cluster, &call, out_is_done, &outputs, &count));
  if (!*out_is_done) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_eager_wrap_outputs(outputs, count, retvals));
  const char* device = leat_capi_cluster_own_device(op->context);
  for (int i = 0; i < count; ++i) retvals[i]->device = device;
  *num_retvals = count;
  return leat_ok_status();
}

leat_status_t leat_capi_cluster_run(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals,
                                    bool* out_is_done) {
  const char* device = choose_device(op);
  leat_graph_t* graph = NULL;
  *out_is_done = device != NULL;
  if (!device) LEAT_RETURN_IF_ERROR(bring_inputs(op));
  if (!device && (op->call || !is_function(op))) return leat_ok_status();
  leat_eager_cluster_t* cluster = leat_capi_cluster_of(op->context);
  if (!cluster) return device ? no_cluster() : leat_ok_status();
  leat_status_t status = leat_eager_op_graph(op, &graph);
  if (!status && device) {
    status = run_on(cluster, op, device, graph, retvals, num_retvals);
  } else if (!status) {
    status = call_function(cluster, op, graph, retvals, num_retvals, out_is_done);
  }
  leat_graph_free(graph);
  leat_eager_cluster_release(cluster);
  return status;
}
