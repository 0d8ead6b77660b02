// Ops that a plug-in's kernel runs within its own run (leat/kernel_op.h). The op's kernel is made
// as that of an eager op is, without a plan, and kept by the kernel that runs it; it runs with the
// services of that kernel's step, so that it finds the same resources and is cancelled with it.
#include "leat/kernel_op.h"

#include "capi/plugin/plugin.h"
#include "init.h"
#include "kernel/resource.h"
#include "worker/eager_kernel.h"

void leat_plugin_ops_free(leat_eager_kernels_t* ops) {
  if (!ops) return;
  leat_eager_kernels_deinitialize(ops);
  leat_allocator_free(leat_allocator_system(), ops);
}

// The kernels that |ctx|'s kernel keeps. The first run makes the list, of several at once the one
// that comes first.
static leat_status_t find_list(const TF_OpKernelContext* ctx, leat_eager_kernels_t** out_list) {
  const leat_runtime_t* runtime;
  leat_plugin_state_t* state = leat_plugin_state(ctx);
  *out_list = atomic_load(&state->ops);
  if (*out_list) return leat_ok_status();
  if (!ctx->context->services->resources) {  // the optimizer tries whether the node is a constant
    return leat_make_status(LEAT_FAILED_PRECONDITION, "There are no resources outside of a step");
  }
  LEAT_RETURN_IF_ERROR(leat_runtime_get(&runtime));
  leat_eager_kernels_t *made = leat_capi_allocate(sizeof *made), *expected = NULL;
  if (!made) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for kernels ran out");
  const leat_kernel_context_t* c = ctx->context;
  *made = (leat_eager_kernels_t){.ops = runtime->ops,
                                 .registry = runtime->kernels,
                                 .functions = c->services->functions,
                                 .device = c->kernel->device,
                                 .resources = c->services->resources};
  leat_resource_manager_print_private(c->services->resources, made->prefix);
  leat_eager_kernels_initialize(made);
  if (atomic_compare_exchange_strong(&state->ops, &expected, made)) {
    *out_list = made;
  } else {
    leat_plugin_ops_free(made);
    *out_list = expected;
  }
  return leat_ok_status();
}

// Runs the kernel, and makes handles of its outputs: all of them, or none after a failure.
static leat_status_t invoke(const TF_OpKernelContext* ctx, const leat_kernel_t* kernel,
                            const leat_tensor_t* inputs, TF_Tensor** outputs) {
  leat_tensor_t values[LEAT_KERNEL_OP_MAX] = {0};
  LEAT_RETURN_IF_ERROR(leat_kernel_invoke(kernel, ctx->context->services, inputs, values));
  LEAT_RETURN_IF_ERROR(leat_eager_kernel_check_references(kernel, values));
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < kernel->output_count; ++i) {
    status = leat_status_join(status, leat_capi_tensor_wrap(&values[i], &outputs[i]));
  }
  for (int i = 0; status && i < kernel->output_count; ++i) {
    TF_DeleteTensor(outputs[i]);
    outputs[i] = NULL;
  }
  return status;
}

static leat_status_t run(const TF_OpKernelContext* ctx, const char* name,
                         const leat_tensor_t* inputs, int input_count, TF_Tensor** outputs,
                         int output_count) {
  leat_eager_kernels_t* list;
  leat_eager_kernel_t* kernel;
  leat_eager_request_t request = {.inputs = inputs, .input_count = input_count};
  LEAT_RETURN_IF_ERROR(find_list(ctx, &list));
  LEAT_RETURN_IF_ERROR(
      leat_op_registry_find(list->ops, leat_string_view_from(name), &request.op));
  LEAT_RETURN_IF_ERROR(leat_eager_kernel_find(list, &request, &kernel));
  leat_status_t status =
      kernel->kernel->output_count == output_count
          ? invoke(ctx, kernel->kernel, inputs, outputs)
          : leat_make_status(LEAT_INVALID_ARGUMENT, "output_count is %d, must be %d", output_count,
                             kernel->kernel->output_count);
  leat_eager_kernel_release(kernel);
  return status;
}

void leat_kernel_run_op(TF_OpKernelContext* ctx, const char* op, TF_Tensor* const* inputs,
                        int input_count, TF_Tensor** outputs, int output_count,
                        TF_Status* status) {
  leat_tensor_t values[LEAT_KERNEL_OP_MAX] = {0};
  leat_status_t result = leat_ok_status();
  if (!op || input_count < 0 || input_count > LEAT_KERNEL_OP_MAX || output_count < 0 ||
      output_count > LEAT_KERNEL_OP_MAX) {
    result = leat_make_status(LEAT_INVALID_ARGUMENT, "op is %s with %d inputs and %d outputs, "
                              "must be a name, with 0 to %d of both",
                              op ? op : "NULL", input_count, output_count, LEAT_KERNEL_OP_MAX);
    leat_capi_status_set(status, result);
    return;
  }
  for (int i = 0; i < output_count; ++i) outputs[i] = NULL;
  for (int i = 0; i < input_count && !result; ++i) {
    result = leat_capi_tensor_value(inputs[i], &values[i]);
  }
  if (!result) result = run(ctx, op, values, input_count, outputs, output_count);
  for (int i = 0; i < input_count; ++i) leat_tensor_release(&values[i]);
  leat_capi_status_set(status,
                       leat_status_annotate(result, "Running op '%s' within a kernel failed", op));
}
