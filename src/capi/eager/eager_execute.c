// TFE_Execute: calling the kernel of an op on the caller's thread, with the tensors of its handles,
// and wrapping what it gives. The kernel is called as every executor calls it (kernel/invoke.c);
// one that is asynchronous, or calls a function, is waited for. What a kernel may ask of a step
// comes from the context: its device's memory and threads, its resources, its cancellation, and
// the functions of its session.
#include "capi/eager/custom_device.h"
#include "master/master.h"

// An op with at most so many inputs and outputs is executed without an allocation for them.
#define INLINE_TENSORS 16

// ---- Lengths ------------------------------------------------------------------------------------

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
  LEAT_RETURN_IF_ERROR(leat_eager_graph_create(op, &graph));
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

// Calls the kernel. |tensors| has room for its inputs and outputs.
static leat_status_t invoke(const TFE_Op* op, const leat_kernel_t* kernel, leat_tensor_t* tensors,
                            TFE_TensorHandle** retvals) {
  TFE_Context* context = op->context;
  leat_tensor_t* outputs = tensors + op->input_count;
  for (size_t i = 0; i < op->input_count; ++i) tensors[i] = op->inputs[i]->tensor;
  const leat_eager_event_t event = leat_eager_event_begin(op);
  const leat_step_services_t services = {
      .step_id = atomic_fetch_add(&context->runs, 1),
      .memory = context->device->memory,
      .pool = context->device->pool,
      .resources = context->resources[0],
      .step_resources = context->step_resources,
      .functions = leat_session_master_options(context->session->session)->functions,
      .cancellation = op->cancellation ? op->cancellation->cancellation : context->cancellation,
      .collector = event.collector};
  leat_status_t status = leat_kernel_invoke(kernel, &services, tensors, outputs);
  leat_eager_event_end(&event, op, kernel, outputs);
  LEAT_RETURN_IF_ERROR(status);
  return leat_eager_wrap_outputs(outputs, kernel->output_count, retvals);
}

static leat_status_t invoke_with_room(const TFE_Op* op, const leat_kernel_t* kernel,
                                      TFE_TensorHandle** retvals) {
  leat_tensor_t inline_tensors[INLINE_TENSORS];
  size_t count = op->input_count + (size_t)kernel->output_count;
  if (LEAT_LIKELY(count <= INLINE_TENSORS)) return invoke(op, kernel, inline_tensors, retvals);
  leat_tensor_t* tensors = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count, &tensors));
  leat_status_t status = invoke(op, kernel, tensors, retvals);
  leat_allocator_free(leat_allocator_system(), tensors);
  return status;
}

leat_status_t leat_eager_check_room(int count, const int* num_retvals) {
  if (LEAT_LIKELY(*num_retvals >= count)) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Expecting %d outputs, but *num_retvals is %d",
                          count, *num_retvals);
}

static leat_status_t execute(const TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals) {
  leat_eager_kernel_t* kernel = NULL;
  if (LEAT_UNLIKELY(op->call)) return leat_eager_call_run(op, retvals, num_retvals);
  LEAT_RETURN_IF_ERROR(leat_eager_kernel_find(op, &kernel));
  int count = kernel->kernel->output_count;
  leat_status_t status = leat_eager_check_room(count, num_retvals);
  if (!status) status = invoke_with_room(op, kernel->kernel, retvals);
  if (!status) *num_retvals = count;
  leat_eager_kernel_release(kernel);
  return status;
}

void TFE_Execute(TFE_Op* op, TFE_TensorHandle** retvals, int* num_retvals, TF_Status* status) {
  if (LEAT_UNLIKELY(atomic_load_explicit(&op->context->has_custom_devices,
                                         memory_order_relaxed)) &&
      leat_custom_device_execute(op, retvals, num_retvals, status)) {
    return;
  }
  leat_capi_status_set(status, execute(op, retvals, num_retvals));
}
