// TFE_Execute: calling the kernel of an op on the caller's thread, with the tensors of its handles,
// and wrapping what it gives. The kernel is called as every executor calls it (kernel/invoke.c);
// one that is asynchronous, or calls a function, is waited for. What a kernel may ask of a step
// comes from the context: its device's memory and threads, its resources, its cancellation, and
// the functions of its session.
#include "capi/eager/custom_device.h"
#include "capi/eager/eager_cluster.h"

// An op with at most so many inputs and outputs is executed without an allocation for them.
#define INLINE_TENSORS 16

// ---- Lengths ------------------------------------------------------------------------------------

leat_status_t leat_eager_op_graph(const TFE_Op* op, leat_graph_t** out_graph) {
  leat_tensor_t* tensors = NULL;
  *out_graph = NULL;
  LEAT_RETURN_IF_ERROR(leat_status_clone(op->description->status));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), op->input_count + 1, &tensors));
  const leat_eager_request_t request = leat_eager_request_of(op, tensors);
  leat_status_t status = leat_eager_graph_create(&op->context->kernels, &request, out_graph);
  leat_allocator_free(leat_allocator_system(), tensors);
  return status;
}

// The number of tensors in an argument of the op. It may follow from attributes that only the
// op's node has.
static leat_status_t argument_length(const TFE_Op* op, const char* name, bool is_input,
                                     int* out_length) {
  leat_graph_t* graph = NULL;
  int begin = 0, count = is_input ? op->op->input_count : op->op->output_count;
  const leat_op_argument_t* arguments = is_input ? op->op->inputs : op->op->outputs;
  int index = 0;
  while (index < count && !leat_string_view_equals(arguments[index].name, name ? name : "")) {
    ++index;
  }
  if (index == count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Argument '%s' not found", name ? name : "");
  }
  LEAT_RETURN_IF_ERROR(leat_eager_op_graph(op, &graph));
  const leat_node_t* node = leat_eager_graph_node(graph);
  *out_length = is_input ? leat_node_input_argument(node, index, &begin)
                         : leat_node_output_argument(node, index, &begin);
  leat_graph_free(graph);
  return leat_ok_status();
}

int TFE_OpGetInputLength(TFE_Op* op, const char* input_name, TF_Status* status) {
  int length = -1;
  leat_capi_status_set(status, argument_length(op, input_name, true, &length));
  return length;
}

int TFE_OpGetOutputLength(TFE_Op* op, const char* output_name, TF_Status* status) {
  int length = -1;
  leat_capi_status_set(status, argument_length(op, output_name, false, &length));
  return length;
}

// ---- Execution ----------------------------------------------------------------------------------

leat_status_t leat_eager_wrap_outputs(leat_tensor_t* outputs, int count,
                                      TFE_TensorHandle** retvals) {
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count; ++i) {
    status = leat_status_join(status, leat_eager_handle_create(&outputs[i], &retvals[i]));
  }
  for (int i = 0; status && i < count; ++i) {
    TFE_DeleteTensorHandle(retvals[i]);
    retvals[i] = NULL;
  }
  return status;
}

leat_status_t leat_eager_check_room(int count, const int* num_retvals) {
  if (LEAT_LIKELY(*num_retvals >= count)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Expecting %d outputs, but *num_retvals is %d",
                          count, *num_retvals);
}

// Makes handles with |error| in place of the tensors that |kernel| should have given.
static leat_status_t wrap_error(const leat_kernel_t* kernel, leat_status_t error,
                                TFE_TensorHandle** retvals) {
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < kernel->output_count; ++i) {
    leat_tensor_t nothing = {.dtype = leat_dtype_base(kernel->output_types[i])};
    status = leat_status_join(status, leat_eager_handle_create(&nothing, &retvals[i]));
    if (retvals[i]) retvals[i]->error = leat_status_clone(error);
  }
  for (int i = 0; status && i < kernel->output_count; ++i) {
    TFE_DeleteTensorHandle(retvals[i]);
    retvals[i] = NULL;
  }
  return status;
}

// Calls the kernel and makes handles of what it gives, for which |outputs| has room. An error of
// the kernel goes to |out_late| unless that is NULL, and then into the handles.
static leat_status_t invoke(const TFE_Op* op, const leat_kernel_t* kernel,
                            const leat_tensor_t* inputs, leat_tensor_t* outputs,
                            TFE_TensorHandle** retvals, leat_status_t* out_late) {
  TFE_Context* context = op->context;
  const leat_eager_event_t event = leat_eager_event_begin(op);
  leat_status_t status = leat_eager_kernel_run(
      &context->kernels, kernel, inputs,
      op->cancellation ? op->cancellation->cancellation : context->cancellation, event.collector,
      outputs);
  leat_eager_event_end(&event, op, kernel, outputs);
  if (LEAT_UNLIKELY(status && out_late)) {
    *out_late = status;
    return wrap_error(kernel, status, retvals);
  }
  LEAT_RETURN_IF_ERROR(status);
  return leat_eager_wrap_outputs(outputs, kernel->output_count, retvals);
}

// The inputs, and the outputs behind them, lie in |room| as far as it is large enough.
static leat_status_t execute(const TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals,
                             leat_status_t* out_late) {
  leat_allocator_t* allocator = leat_allocator_system();
  leat_tensor_t room[INLINE_TENSORS];
  leat_tensor_t *inputs = room, *outputs = NULL;
  leat_eager_kernel_t* kernel = NULL;
  if (LEAT_UNLIKELY(op->call)) return leat_eager_call_run(op, retvals, num_retvals);
  LEAT_RETURN_IF_ERROR(leat_status_clone(op->description->status));
  if (LEAT_UNLIKELY(op->input_count > INLINE_TENSORS)) {
    LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, op->input_count, &inputs));
  }
  const leat_eager_request_t request = leat_eager_request_of(op, inputs);
  leat_status_t status = leat_eager_kernel_find(&op->context->kernels, &request, &kernel);
  const int count = status ? 0 : kernel->kernel->output_count;
  const bool has_room = op->input_count + (size_t)count <= INLINE_TENSORS;
  if (!status) status = leat_eager_check_room(count, num_retvals);
  if (LEAT_LIKELY(has_room)) {
    outputs = room + op->input_count;
  } else if (!status) {
    status = LEAT_ALLOCATE(allocator, (size_t)count, &outputs);
  }
  if (!status) status = invoke(op, kernel->kernel, inputs, outputs, retvals, out_late);
  if (!status) *num_retvals = count;
  leat_eager_kernel_release(kernel);
  if (LEAT_UNLIKELY(!has_room)) leat_allocator_free(allocator, outputs);
  if (LEAT_UNLIKELY(inputs != room)) leat_allocator_free(allocator, inputs);
  return status;
}

// Where there are other devices than the context's own: an op may be theirs.
static LEAT_COLD void execute_somewhere(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals,
                                        leat_status_t* out_late, TF_Status* status) {
  bool is_done = false;
  if (leat_custom_device_execute(op, retvals, num_retvals, status)) return;
  leat_status_t result = leat_capi_cluster_run(op, retvals, num_retvals, &is_done);
  if (!result && !is_done) {
    result = execute(op, retvals, num_retvals, out_late);
    const char* device = result ? NULL : leat_capi_cluster_own_device(op->context);
    for (int i = 0; device && i < *num_retvals; ++i) retvals[i]->device = device;
  }
  leat_capi_status_set(status, result);
}

static inline void execute_here_or_there(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals,
                                         leat_status_t* out_late, TF_Status* status) {
  if (LEAT_UNLIKELY(atomic_load_explicit(&op->context->has_other_devices,
                                         memory_order_relaxed))) {
    execute_somewhere(op, retvals, num_retvals, out_late, status);
    return;
  }
  leat_capi_status_set(status, execute(op, retvals, num_retvals, out_late));
}

// By the executor of the calling thread, which may be asynchronous. The op is then refused while
// the executor has an error, and the failure of its kernel is known to the executor and to the
// op's handles alone.
static LEAT_COLD void execute_by_executor(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals,
                                          TF_Status* status) {
  TFE_Executor* executor = TFE_ContextGetExecutorForThread(op->context);
  const bool is_async = executor && TFE_ExecutorIsAsync(executor);
  leat_status_t late = leat_ok_status();
  leat_status_t earlier = is_async ? leat_eager_executor_error(executor) : leat_ok_status();
  if (earlier) {
    leat_capi_status_set(status, earlier);
  } else {
    execute_here_or_there(op, retvals, num_retvals, is_async ? &late : NULL, status);
  }
  if (late) leat_eager_executor_fail(executor, late);
  TFE_DeleteExecutor(executor);
}

void TFE_Execute(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals, TF_Status* status) {
  if (LEAT_UNLIKELY(atomic_load_explicit(&op->context->has_async, memory_order_relaxed))) {
    execute_by_executor(op, retvals, num_retvals, status);
  } else {
    execute_here_or_there(op, retvals, num_retvals, NULL, status);
  }
}
